//! What functions say of an object by its number or name: `pg_get_indexdef`, `to_regclass`, `obj_description`.
//!
//! Relies on: the catalogue; `print` for expressions.  Promises: PostgreSQL's texts and SQLSTATEs.  Does not: describe
//! what is not there: that is NULL.  Sizes are not known (0 of what exists): rows of all tables share their files.

use super::constraints::{check_oid, printed_check};
use super::foreign_copies::shown_keys;
use super::functions;
use super::index_properties::method_name;
use super::indexes::{OF_A_PART, all_indexes, part_index, shape_of};
use super::layout;
use super::print::{key_text, quoted};
use super::pseudo_types;
use super::row_types::{array_type, relation_of, row_type, with_rows};
use crate::call::split_name;
use crate::databases::{DatabaseStand, FIRST_NAME};
use crate::dump::{clauses_of, late_words};
use crate::names;
use crate::parse;
use crate::planner::{PlanContext, Planner};
use crate::records::ForeignKeyRecord;
use crate::temporary::is_temporary;
use crate::types;
use crate::updatable::{possible, possible_with_triggers, updatable_columns};
use crate::view::definition;
use pg_query::NodeEnum;
use quintet_base::RoleId;
use quintet_base::lexemes::config_named;
use quintet_base::lexemes::textsearch::dictionary::{CONFIGS, Config};
use quintet_base::types::format_type;
use quintet_base::value::Array;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TableId, TypeMod, Value};
use quintet_ir::IndexDef;
use quintet_ir::function::unaccent::DICTIONARY as UNACCENT;
use quintet_ir::schema::TableDef;

/// The objects that a session knows.
pub struct Known<'c> {
    context: &'c PlanContext<'c>,
}

/// A relation of any kind, as far as its name goes.
struct Named {
    schema: String,
    name: String,
}

fn none(what: &str, name: &str) -> SqlError {
    SqlError::new(
        match what {
            "relation" => SqlState::UNDEFINED_TABLE,
            "function" => SqlState::UNDEFINED_FUNCTION,
            "schema" => SqlState::INVALID_SCHEMA_NAME,
            _ => SqlState::UNDEFINED_OBJECT,
        },
        format!("{what} \"{name}\" does not exist"),
    )
}

impl<'c> Known<'c> {
    /// By a context whose settings do not matter.
    pub fn new(context: &'c PlanContext<'c>) -> Known<'c> {
        Known { context }
    }

    pub(super) fn context(&self) -> &'c PlanContext<'c> {
        self.context
    }

    fn planner(&self) -> Planner<'c> {
        Planner::new(self.context, "", &[])
    }

    /// See [`quintet_base::objects::Objects::name`].
    pub fn name(&self, kind: SqlType, number: u32) -> Option<String> {
        match kind {
            SqlType::RegClass => self.relation(number).map(|named| self.shown(&named)),
            SqlType::RegType => match SqlType::built_in_with_oid(number) {
                Some(ty) => Some(format_type(ty, TypeMod::NONE)),
                None => match relation_of(number) {
                    Some((relation, is_array)) => {
                        let name = self.shown(&self.relation(relation)?);
                        Some(if is_array { name + "[]" } else { name })
                    }
                    None => pseudo_types::shown(number)
                        .or_else(|| self.planner().shown_type_number(number)),
                },
            },
            SqlType::RegNamespace => self.schema_name(number).map(|name| quoted(&name)),
            SqlType::RegRole => {
                let role = self.context.catalog.roles().get(RoleId(number));
                role.map(|role| quoted(&role.name))
            }
            SqlType::RegConfig => Config::by_number(number).map(|config| config.name.to_string()),
            SqlType::RegDictionary if number == UNACCENT.0 => Some(UNACCENT.1.to_string()),
            SqlType::RegDictionary => Config::of_dictionary(number).map(Config::dictionary_name),
            SqlType::RegProc | SqlType::RegProcedure
                if let Some(function) = functions::with_number(number) =>
            {
                Some(match kind {
                    SqlType::RegProcedure => function.signature(),
                    _ if function.shares_its_name() => {
                        format!("pg_catalog.{}", quoted(function.name))
                    }
                    _ => quoted(function.name),
                })
            }
            SqlType::RegProc | SqlType::RegProcedure => {
                let mut routines = self.context.catalog.all_routines();
                let routine = routines.find(|routine| routine.record.id.0 == number)?;
                let name = self.shown(&Named {
                    schema: routine.record.schema.clone(),
                    name: routine.record.name.clone(),
                });
                if kind == SqlType::RegProc {
                    return Some(name);
                }
                let signature = routine.signature(self.context.catalog).ok()?;
                let inputs = signature.parameters.iter().filter(|p| p.is_input());
                let types: Vec<String> = inputs.map(|p| p.type_text()).collect();
                let shown = format!("{name}({})", types.join(","));
                Some(self.planner().with_type_names(shown))
            }
            _ => None,
        }
    }

    /// See [`quintet_base::objects::Objects::named`].
    pub fn named(&self, text: &str) -> String {
        self.planner().with_type_names(text.to_string())
    }

    /// See [`quintet_base::objects::Objects::place`].
    ///
    /// # Errors
    /// As there.
    pub fn place(&self, ty: u32, label: &str) -> SqlResult<u32> {
        self.planner().place_of(ty, label)
    }

    /// See [`quintet_base::objects::Objects::number`].
    ///
    /// # Errors
    /// As there.
    pub fn number(&self, kind: SqlType, text: &str) -> SqlResult<u32> {
        match kind {
            SqlType::RegClass => self.relation_number(text),
            SqlType::RegType => self.type_number(text),
            SqlType::RegNamespace | SqlType::RegRole if split_name(text).0.is_some() => {
                Err(SqlError::new(SqlState::INVALID_NAME, "invalid name syntax"))
            }
            SqlType::RegNamespace => {
                let (_, name) = split_name(text);
                self.schema_number(&name)
                    .ok_or_else(|| none("schema", &name))
            }
            SqlType::RegRole => {
                let (_, name) = split_name(text);
                let found = self.context.catalog.roles().named(&name);
                found.map(|role| role.0).ok_or_else(|| none("role", &name))
            }
            SqlType::RegConfig => config_named(text).map(|config| config.number),
            SqlType::RegDictionary => {
                let (_, name) = split_name(text);
                if name == UNACCENT.1 {
                    return Ok(UNACCENT.0);
                }
                let mut all = CONFIGS.iter();
                let found = all.find(|config| config.dictionary_name() == name);
                found
                    .map(|config| config.dictionary)
                    .ok_or_else(|| none("text search dictionary", &name))
            }
            SqlType::RegOper | SqlType::RegOperator => Err(SqlError::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("operator does not exist: {text}"),
            )),
            _ => self.routine_number(text, kind == SqlType::RegProcedure),
        }
    }

    fn schema_name(&self, number: u32) -> Option<String> {
        let mut schemas = super::schemas(self.context.catalog).into_iter();
        schemas
            .find(|(oid, _)| *oid == number)
            .map(|(_, name)| name)
    }

    pub(super) fn schema_number(&self, name: &str) -> Option<u32> {
        let mut schemas = super::schemas(self.context.catalog).into_iter();
        schemas.find(|(_, known)| known == name).map(|(oid, _)| oid)
    }

    fn relation(&self, number: u32) -> Option<Named> {
        let named = |schema: &str, name: &str| {
            Some(Named {
                schema: schema.to_string(),
                name: name.to_string(),
            })
        };
        if let Some(layout) = layout::all().find(|layout| layout.oid == number) {
            return named(layout.schema, layout.name);
        }
        for table in self.context.catalog.tables() {
            if table.id.0 == number {
                return named(&table.schema, &table.name);
            }
            let mut indexes = all_indexes(table).into_iter();
            if let Some((_, name, ..)) = indexes.find(|index| index.0 == number) {
                return named(&table.schema, name);
            }
        }
        if let Some(own) = part_index(self.context.catalog, number) {
            return named(&own.part.schema, &own.name);
        }
        let mut types = self.context.catalog.user_types();
        let composite =
            types.find(|record| record.fields().is_some() && record.class_number() == number);
        if let Some(record) = composite {
            return named(&record.schema, &record.name);
        }
        if let Some(view) = self.context.catalog.view(TableId(number)) {
            return named(&view.schema, &view.name);
        }
        if let Some(part) = self.context.catalog.divisions().part(TableId(number)) {
            return named(&part.schema, &part.name);
        }
        let mut sequences = self.context.catalog.sequences();
        let sequence = sequences.find(|sequence| sequence.id.0 == number)?;
        named(&sequence.schema, &sequence.name)
    }

    /// With its schema, unless the bare name finds it.
    fn shown(&self, named: &Named) -> String {
        match self.is_visible(named) {
            true => quoted(&named.name),
            false => format!("{}.{}", quoted(&named.schema), quoted(&named.name)),
        }
    }

    fn is_visible(&self, named: &Named) -> bool {
        if named.schema == "pg_catalog" {
            return true;
        }
        self.planner().shows(&named.schema, &named.name)
    }

    fn relation_number(&self, text: &str) -> SqlResult<u32> {
        let (schema, name) = split_name(text);
        let missing = || none("relation", &shown_name(schema.as_deref(), &name));
        let system = schema.as_deref().unwrap_or("pg_catalog");
        if let Some(oid) = super::relation_oid(system, &name) {
            return Ok(oid);
        }
        let planner = self.planner();
        let found = planner.find_relation(schema.as_deref(), &name);
        if let (None, Some(record)) = (found, planner.find_type(schema.as_deref(), &name))
            && record.fields().is_some()
        {
            return Ok(record.class_number());
        }
        let found = found.ok_or_else(missing)?;
        Ok(self.context.catalog.number_of(found))
    }

    fn type_number(&self, text: &str) -> SqlResult<u32> {
        let parsed = parse::parse_expression(&format!("NULL::{text}"));
        let unknown = || none("type", text);
        let node = parsed.map_err(|_| unknown())?;
        let Some(NodeEnum::TypeCast(cast)) = node.node.as_ref() else {
            return Err(unknown());
        };
        let type_name = cast.type_name.as_ref().ok_or_else(unknown)?;
        let planner = self.planner();
        if let Some(record) = planner.user_type_of(type_name) {
            return Ok(match type_name.array_bounds.len() {
                0 => record.id,
                _ => record.array_number(),
            });
        }
        if let Some(record) = types::array_by_name(&planner, type_name)
            .and_then(|element| planner.user_type_of(&element))
        {
            return Ok(record.array_number());
        }
        let named = names::strings(&type_name.names);
        let of_rows = match named[..] {
            [name] => planner.find_relation(None, name),
            [schema, name] => planner.find_relation(Some(schema), name),
            _ => None,
        };
        if let Some(relation) = of_rows.and_then(with_rows) {
            return Ok(match type_name.array_bounds.len() {
                0 => row_type(relation),
                _ => array_type(relation),
            });
        }
        let of_array = match named[..] {
            [name] => planner.find_relation(None, name.strip_prefix('_').unwrap_or_default()),
            [schema, name] => {
                planner.find_relation(Some(schema), name.strip_prefix('_').unwrap_or_default())
            }
            _ => None,
        };
        if let Some(relation) = of_array.and_then(with_rows) {
            return Ok(array_type(relation));
        }
        if let ([name] | ["pg_catalog", name], []) = (&named[..], &type_name.array_bounds[..])
            && let Some(number) = pseudo_types::number(name)
        {
            return Ok(number);
        }
        // What PostgreSQL has and Quintet lacks has no number here.
        let (ty, _) = types::resolve(&planner, type_name).map_err(|_| unknown())?;
        Ok(ty.oid())
    }

    fn routine_number(&self, text: &str, with_arguments: bool) -> SqlResult<u32> {
        let (named, arguments) = match text.split_once('(') {
            Some((name, rest)) if with_arguments => (name, rest.trim_end_matches(')')),
            _ => (text, ""),
        };
        let (schema, name) = split_name(named);
        let catalog = self.context.catalog;
        let planner = self.planner();
        let is_system = matches!(schema.as_deref(), None | Some("pg_catalog"));
        let built_in = functions::named(&name).filter(|_| is_system);
        let mut built_in: Vec<_> = built_in.collect();
        let mut found = match schema.as_deref() {
            Some("pg_catalog") => Vec::new(),
            schema => planner.find_routines(schema, &name),
        };
        if with_arguments {
            let types = arguments
                .split(',')
                .map(str::trim)
                .filter(|ty| !ty.is_empty());
            let types: SqlResult<Vec<u32>> = types.map(|ty| self.type_number(ty)).collect();
            let types = types?;
            // What is built in comes first on the path.
            if let Some(function) = built_in.iter().find(|f| f.arguments == types) {
                return Ok(function.number);
            }
            built_in.clear();
            found.retain(|routine| {
                let signature = routine.signature(catalog);
                signature.is_ok_and(|signature| {
                    let inputs = signature.parameters.iter().filter(|p| p.is_input());
                    inputs
                        .map(|p| p.domain.unwrap_or(p.ty.oid()))
                        .eq(types.iter().copied())
                })
            });
        }
        match (&built_in[..], &found[..]) {
            ([], [one]) => Ok(one.record.id.0),
            ([one], []) if !one.shares_its_name() => Ok(one.number),
            ([], []) => Err(none("function", text)),
            _ => Err(SqlError::new(
                SqlState::AMBIGUOUS_FUNCTION,
                format!("more than one function named \"{text}\""),
            )),
        }
    }

    /// See [`quintet_base::objects::Objects::describe`].
    ///
    /// # Errors
    /// As the function's.
    pub fn describe(&self, function: &str, arguments: &[&Value]) -> SqlResult<Value> {
        let number = |place: usize| match arguments.get(place) {
            Some(Value::Oid(number)) => *number,
            Some(other) => other
                .as_i64()
                .and_then(|n| u32::try_from(n).ok())
                .unwrap_or(0),
            None => 0,
        };
        let yes = |place: usize| arguments.get(place).and_then(|v| v.as_bool()) == Some(true);
        let named = |text: String| Value::text(self.planner().with_type_names(text));
        let text = |found: Option<String>| found.map_or(Value::Null, named);
        Ok(match function {
            "aclexplode" => super::roles::exploded(&self.planner(), arguments[0])?,
            "acldefault" => super::roles::default_access(
                &self.planner(),
                arguments[0].as_str().unwrap_or_default(),
                number(1),
            )?,
            "pg_get_constraintdef" => text(self.constraint(number(0), yes(1))),
            "pg_get_indexdef" => text(self.index(number(0), number(1) as usize, yes(2))),
            "pg_get_triggerdef" => {
                let planner = self.planner();
                let trigger = super::triggers::with_number(planner.catalog(), number(0));
                let definition = trigger
                    .and_then(|trigger| super::triggers::definition(&planner, &trigger, yes(1)));
                text(definition)
            }
            "pg_get_serial_sequence" => {
                let name = |place: usize| arguments[place].as_str().unwrap_or_default();
                text(self.serial_sequence(name(0), name(1))?)
            }
            "pg_table_is_visible" => match self.relation(number(0)) {
                Some(named) => Value::Bool(self.is_visible(&named)),
                None => Value::Null,
            },
            "pg_type_is_visible" => match SqlType::built_in_with_oid(number(0)) {
                Some(_) => Value::Bool(true),
                None => match self.context.catalog.type_with(number(0)) {
                    Some(record) => {
                        let found = self.planner().find_type(None, &record.name);
                        Value::Bool(found.is_some_and(|found| found.id == record.id))
                    }
                    None => Value::Null,
                },
            },
            "pg_get_function_arguments"
            | "pg_get_function_identity_arguments"
            | "pg_get_function_result" => text(
                functions::with_number(number(0)).and_then(|built_in| built_in.described(function)),
            ),
            "pg_function_is_visible" if functions::with_number(number(0)).is_some() => {
                Value::Bool(true)
            }
            "pg_function_is_visible" => {
                let mut routines = self.context.catalog.all_routines();
                match routines.find(|routine| routine.record.id.0 == number(0)) {
                    Some(routine) => {
                        Value::Bool(self.planner().path().contains(&routine.record.schema))
                    }
                    None => Value::Null,
                }
            }
            "pg_relation_size" | "pg_table_size" | "pg_indexes_size" | "pg_total_relation_size" => {
                match self.relation(number(0)) {
                    Some(_) => Value::Int8(0),
                    None => Value::Null,
                }
            }
            "pg_database_size" => self.database_size(arguments[0])?,
            "oidvectortypes" => {
                let Value::Array(types) = arguments[0] else {
                    return Ok(Value::Null);
                };
                let name = |value: &Value| match value {
                    Value::Oid(number) => self
                        .name(SqlType::RegType, *number)
                        .unwrap_or_else(|| "???".to_string()),
                    _ => String::new(),
                };
                let names: Vec<String> = types.values.iter().map(name).collect();
                named(names.join(", "))
            }
            "pg_get_expr" => text(self.expression(arguments[0], number(1), yes(2))),
            "pg_relation_is_updatable" => {
                let planner = self.planner();
                let id = TableId(number(0));
                Value::Int4(match yes(1) {
                    true => possible_with_triggers(&planner, id),
                    false => possible(&planner, id),
                })
            }
            "pg_column_is_updatable" => {
                let planner = self.planner();
                let column = arguments[1]
                    .as_i64()
                    .and_then(|n| usize::try_from(n - 1).ok());
                let last = column.and_then(|column| {
                    updatable_columns(&planner, TableId(number(0)), column + 1).pop()
                });
                Value::Bool(last == Some(true))
            }
            "pg_get_viewdef" => text(self.view(arguments[0], yes(1))?),
            "obj_description" => {
                let class = arguments.get(1).and_then(|name| name.as_str());
                text(self.comment(number(0), class, 0))
            }
            "col_description" => {
                let column = arguments[1].as_i64().and_then(|n| i32::try_from(n).ok());
                text(self.comment(number(0), Some("pg_class"), column.unwrap_or(0)))
            }
            "current_schema" => match self.planner().named_path().first() {
                Some(schema) => Value::text(schema),
                None => Value::Null,
            },
            "current_schemas" => {
                let system = yes(0).then(|| Value::text("pg_catalog"));
                let own = self.planner();
                let temporary = own.path().iter().filter(|_| yes(0));
                let temporary = temporary.take(own.path().len() - own.named_path().len());
                let temporary = temporary.map(Value::text);
                let named = own.named_path().iter().map(Value::text);
                let before = temporary.chain(system);
                Value::Array(Box::new(Array {
                    shape: None,
                    element: SqlType::Name,
                    values: before.chain(named).collect(),
                }))
            }
            "row_security_active" => {
                let table = match arguments[0] {
                    Value::Text(name) => self.relation_number(name)?,
                    _ => number(0),
                };
                let role = self.context.user.role;
                let catalog = self.context.catalog;
                Value::Bool(catalog.hides_rows(TableId(table), role, true)?)
            }
            "pg_my_temp_schema" => {
                let planner = self.planner();
                let mut schemas = self.context.catalog.own_schemas();
                let own = schemas.find(|(_, name)| planner.temporary() == Some(*name));
                Value::Oid(own.map_or(0, |(number, _)| number))
            }
            "pg_is_other_temp_schema" => {
                let planner = self.planner();
                let mut schemas = self.context.catalog.own_schemas();
                let named = schemas.find(|(own, _)| *own == number(0));
                Value::Bool(named.is_some_and(|(_, name)| {
                    is_temporary(name) && planner.temporary() != Some(name)
                }))
            }
            "pg_relation_is_publishable" => {
                Value::Bool(self.context.catalog.rows_of(TableId(number(0))).is_some())
            }
            function => match self.of_partitions(function, number(0)) {
                Some(answer) => answer,
                None if function.starts_with("pg_index") => {
                    self.property(function, arguments).unwrap_or(Value::Null)
                }
                None => match self.inquire(function, arguments) {
                    Some(answer) => answer?,
                    None => Value::Null,
                },
            },
        })
    }

    /// Of any database that `pg_database` shows; see the file's header.
    fn database_size(&self, of: &Value) -> SqlResult<Value> {
        let is_there = |name: &str| {
            let known = self.context.catalog.database_named(name);
            name == self.context.database
                || name == FIRST_NAME
                || known.is_some_and(|record| record.stand != DatabaseStand::Gone)
        };
        match of {
            Value::Text(name) if is_there(name) => Ok(Value::Int8(0)),
            Value::Text(name) => Err(SqlError::new(
                SqlState::UNDEFINED_DATABASE,
                format!("database \"{name}\" does not exist"),
            )),
            Value::Oid(super::DATABASE) => Ok(Value::Int8(0)),
            _ => Ok(Value::Null),
        }
    }

    /// An expression of the catalogue about a table, as it is kept there or in the shorter form.
    fn expression(&self, kept: &Value, table: u32, pretty: bool) -> Option<String> {
        let source = kept.as_str()?;
        let table = self.context.catalog.table_by_id(TableId(table));
        Some(match table.filter(|_| pretty) {
            Some(table) => printed_check(&self.planner(), table, source, true),
            None => source.to_string(),
        })
    }

    fn view(&self, of: &Value, pretty: bool) -> SqlResult<Option<String>> {
        let number = match of {
            Value::Text(name) => self.relation_number(name)?,
            Value::Oid(number) => *number,
            _ => 0,
        };
        let catalog = self.context.catalog;
        let matview = || catalog.matview(TableId(number)).map(|own| &own.view);
        let view = catalog
            .view(TableId(number))
            .map(|view| &**view)
            .or_else(matview);
        Ok(view.map(|view| definition(self.context, view, pretty)))
    }

    /// A comment. Without a class, of whatever has the number.
    fn comment(&self, number: u32, class: Option<&str>, column: i32) -> Option<String> {
        let class = class.map(|name| super::relation_oid("pg_catalog", name).unwrap_or(0));
        let mut first = super::comments::of_the_first(self.context);
        let is_first = |(of, from, _): &(u32, u32, &str)| {
            number == *of && column == 0 && class.is_none_or(|class| class == *from)
        };
        if let Some((.., said)) = first.find(is_first) {
            return Some(said.to_string());
        }
        let record = self.context.catalog.comments(number)?;
        let is_it = |entry: &&crate::records::CommentRecord| {
            entry.column == column && class.is_none_or(|class| entry.class == class)
        };
        record
            .entries
            .iter()
            .find(is_it)
            .map(|entry| entry.text.clone())
    }

    fn serial_sequence(&self, table: &str, column: &str) -> SqlResult<Option<String>> {
        let number = self.relation_number(table)?;
        let catalog = self.context.catalog;
        let Some(table) = catalog.tables().find(|table| table.id.0 == number) else {
            return Ok(None);
        };
        let Some(column_number) = table.column(column) else {
            let message = format!(
                "column \"{column}\" of relation \"{}\" does not exist",
                table.name
            );
            return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
        };
        let owned = |sequence: &&std::sync::Arc<quintet_ir::SequenceDef>| {
            sequence.owned_by == Some((table.id, column_number))
        };
        Ok(catalog
            .sequences()
            .find(owned)
            .map(|sequence| format!("{}.{}", quoted(&sequence.schema), quoted(&sequence.name))))
    }

    /// `pg_get_indexdef`.
    pub(super) fn index(&self, number: u32, column: usize, pretty: bool) -> Option<String> {
        let own = part_index(self.context.catalog, number);
        let number = own.as_ref().map_or(number, |own| own.of_table);
        for table in self.context.catalog.tables() {
            for (oid, name, columns, unique, _) in all_indexes(table) {
                if oid != number {
                    continue;
                }
                let planner = self.planner();
                let keys = columns
                    .iter()
                    .map(|&c| key_text(&planner, table, c, pretty));
                let mut names: Vec<String> = keys.collect();
                let shape = shape_of(self.context.catalog, table, number, columns);
                let included = column_names(table, &shape.included);
                if column > 0 {
                    let mut all = names.into_iter().chain(included);
                    return Some(all.nth(column - 1).unwrap_or_default());
                }
                let record = self.context.catalog.record(table.id);
                let words = shape.classes.iter().zip(&shape.directions);
                for (name, ((_, class), direction)) in names.iter_mut().zip(words) {
                    if let Some(class) = class {
                        let path = self.planner();
                        let is_seen =
                            |schema: &str| path.path().iter().any(|known| known == schema);
                        let catalog = self.context.catalog;
                        *name += &format!(" {}", super::shown_class(catalog, class, is_seen));
                    }
                    *name += direction_words(*direction);
                }
                let table_name = match &own {
                    Some(own) => Named {
                        schema: own.part.schema.clone(),
                        name: own.part.name.clone(),
                    },
                    None => Named {
                        schema: table.schema.clone(),
                        name: table.name.clone(),
                    },
                };
                let name = own.as_ref().map_or(name, |own| &own.name);
                let on = match pretty {
                    true => self.shown(&table_name),
                    false => format!(
                        "{}.{}",
                        quoted(&table_name.schema),
                        quoted(&table_name.name)
                    ),
                };
                // As PostgreSQL says it: each partition's is made for itself.
                let divided = own
                    .as_ref()
                    .map_or(table.partitions.is_some(), |own| own.inner.is_some());
                let only = match divided {
                    true => "ONLY ",
                    false => "",
                };
                let predicate = record.and_then(|record| {
                    let text = record.predicate(quintet_base::IndexId(number))?;
                    Some(printed_check(&planner, table, text, pretty))
                });
                let included = included_words(table, &shape.included);
                let nulls = nulls_words(shape.nulls_equal);
                return Some(format!(
                    "CREATE {}INDEX {} ON {only}{on} USING {} ({}){included}{nulls}{}",
                    if unique { "UNIQUE " } else { "" },
                    quoted(name),
                    method_name(shape.method),
                    names.join(", "),
                    predicate.map_or_else(String::new, |text| format!(" WHERE {text}"))
                ));
            }
        }
        None
    }

    /// An EXCLUDE constraint.
    fn exclusion(&self, table: &TableDef, index: &IndexDef, pretty: bool) -> Option<String> {
        let catalog = self.context.catalog;
        let record = catalog.record(table.id)?;
        let own = record.indexes.iter().find(|own| own.id == index.id)?;
        let excluded = record.excluded(index.id)?;
        let planner = self.planner();
        let shape = shape_of(catalog, table, index.id.0, index.asked());
        let element = |(column, (_, class)): (&usize, &(_, Option<String>))| {
            let operator = excluded.operator(own, *column);
            let key = key_text(&planner, table, *column, pretty);
            let class = class.as_ref().map_or_else(String::new, |class| {
                let is_seen = |schema: &str| planner.path().iter().any(|known| known == schema);
                format!(" {}", super::shown_class(catalog, class, is_seen))
            });
            format!("{key}{class} WITH {operator}")
        };
        let elements = index.asked().iter().zip(&shape.classes).map(element);
        let elements: Vec<String> = elements.collect();
        let predicate = record.predicate(index.id).map(|text| {
            let text = printed_check(&planner, table, text, pretty);
            format!(" WHERE ({text})")
        });
        Some(format!(
            "EXCLUDE USING {} ({}){}{}{}",
            method_name(shape.method),
            elements.join(", "),
            included_words(table, &shape.included),
            predicate.unwrap_or_default(),
            late_words(catalog.late(table.id, index.id.0))
        ))
    }

    fn constraint(&self, number: u32, pretty: bool) -> Option<String> {
        let catalog = self.context.catalog;
        if let Some(key) = catalog.foreign_keys().find(|key| key.id.0 == number) {
            return self.foreign_key(key, key.parent);
        }
        if let Some(trigger) = catalog.trigger(number).filter(|t| t.constraint) {
            return Some(format!("TRIGGER{}", late_words(trigger.more.late)));
        }
        if number & OF_A_PART == OF_A_PART
            && let Some(shown) = (shown_keys(catalog).iter()).find(|shown| shown.number == number)
        {
            return self.foreign_key(shown.key, shown.parent);
        }
        let own = part_index(catalog, number);
        let number = own.map_or(number, |own| own.of_table);
        for table in &catalog.tables_and_parts() {
            let is_constraint = |oid: u32| {
                let mut indexes = table.indexes.iter();
                indexes.all(|index| index.id.0 != oid || index.constraint)
            };
            for (oid, _, columns, _, primary) in all_indexes(table) {
                let own = table.indexes.iter().find(|index| index.id.0 == oid);
                if let Some(index) = own.filter(|index| oid == number && index.excludes.is_some()) {
                    return self.exclusion(table, index, pretty);
                }
                if oid == number && is_constraint(oid) {
                    let words = if primary { "PRIMARY KEY" } else { "UNIQUE" };
                    let names = column_names(table, columns).join(", ");
                    let shape = shape_of(catalog, table, oid, columns);
                    let nulls = nulls_words(shape.nulls_equal);
                    let along = included_words(table, &shape.included);
                    let late = late_words(catalog.late(table.id, oid));
                    return Some(format!("{words}{nulls} ({names}){along}{late}"));
                }
            }
            for (place, check) in table.own_checks().enumerate() {
                if check_oid(table.relation(), place) == number {
                    let planner = self.planner();
                    let printed = printed_check(&planner, table, &check.text, pretty);
                    let valid = if check.validated { "" } else { " NOT VALID" };
                    return Some(format!("CHECK ({printed}){valid}"));
                }
            }
        }
        for record in catalog.user_types() {
            let Some(domain) = record.domain() else {
                continue;
            };
            if let Some(check) = domain.checks.iter().find(|check| check.id == number) {
                let planner = self.planner();
                let printed = super::types::printed_check(
                    &planner,
                    &record.schema,
                    domain,
                    &check.text,
                    pretty,
                );
                return Some(format!("CHECK ({printed})"));
            }
        }
        None
    }

    /// `parent`: what it refers to, or a part of that.
    fn foreign_key(&self, key: &ForeignKeyRecord, parent: TableId) -> Option<String> {
        let catalog = self.context.catalog;
        let child = catalog.table_by_id(key.child)?;
        let parent = &catalog.rows_of(parent)?;
        let mut text = format!(
            "FOREIGN KEY ({}) REFERENCES {}({})",
            column_names(child, &key.columns).join(", "),
            self.shown(&Named {
                schema: parent.schema.clone(),
                name: parent.name.clone(),
            }),
            column_names(parent, &key.parent_columns).join(", ")
        );
        text += &clauses_of(key, &column_names(child, &key.set).join(", "));
        Some(text)
    }
}

/// What stands behind a column of an index that descends, or has NULLs at the other end.
pub(crate) fn direction_words(direction: (bool, bool)) -> &'static str {
    match direction {
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
        (false, true) => " NULLS FIRST",
        (false, false) => "",
    }
}

/// What stands behind the columns of an index whose NULLs are equal, and before those of a constraint.
fn nulls_words(equal: bool) -> &'static str {
    match equal {
        true => " NULLS NOT DISTINCT",
        false => "",
    }
}

/// INCLUDE, if there is something to include.
fn included_words(table: &TableDef, included: &[usize]) -> String {
    match included {
        [] => String::new(),
        some => format!(" INCLUDE ({})", column_names(table, some).join(", ")),
    }
}

pub(super) fn shown_name(schema: Option<&str>, name: &str) -> String {
    match schema {
        Some(schema) => format!("{schema}.{name}"),
        None => name.to_string(),
    }
}

fn column_names(table: &TableDef, columns: &[usize]) -> Vec<String> {
    let names = columns
        .iter()
        .map(|&column| quoted(&table.columns[column].name));
    names.collect()
}
