//! A routine's parameters and result.
//!
//! Relies on: `plpgsql::header`.  Promises: all types are decided against one catalogue.  Does not: look
//! at the body.

use crate::catalog::Relation;
use crate::composite::type_of_rows;
use crate::planner::{PlanContext, Planner};
use crate::plpgsql::{self, DataType, Header, ParameterMode, Returns, Volatility};
use crate::records::{TriggerRecord, TypeRecord};
use crate::types;
use pg_query::protobuf::{CreateFunctionStmt, Node, TypeName};
use quintet_base::objects::mark;
use quintet_base::types::{Any, format_type};
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::routine::Output;
use quintet_ir::schema::TableRef;
use quintet_ir::statement::OutputColumn;
use std::sync::Arc;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    /// Of the catalogue; of a form that was made for the types of a call, its own.
    pub id: RoutineId,
    pub name: String,
    /// What it takes as its declaration has it, if that is of any types.
    pub declared: Option<String>,
    /// CREATE PROCEDURE, not FUNCTION.
    pub procedure: bool,
    pub strict: bool,
    /// Neither STABLE nor IMMUTABLE.
    pub may_write: bool,
    /// IMMUTABLE.
    pub immutable: bool,
    /// LANGUAGE sql.
    pub of_sql: bool,
    /// All of them, OUT and TABLE ones too: the first slots, in this order.
    pub parameters: Vec<Parameter>,
    pub output: Output,
    /// What a row of the result has.
    pub columns: Vec<OutputColumn>,
    /// The row is the parameters that give results; else it is what RETURN says.
    pub of_parameters: bool,
    /// What it gives is a row, even of one column: of a table, or of several parameters.
    pub is_row: bool,
    /// The table or composite type whose row that is.
    pub row: Option<TableRef>,
    /// The domain that it returns.
    pub result_domain: Option<u32>,
    /// Types and domains that users made and that it is declared with; of enums their own types tell.
    pub types: Vec<u32>,
    /// RETURNS record: who calls it says the columns; until then there are none.
    pub record: bool,
    /// Of a trigger: rows that it finds as tables. Their columns come as arrays, behind the parameters.
    pub tables: Vec<RowsNamed>,
    /// RETURNS trigger. What it takes and gives is known when it is made for a trigger ([`Signature::for_trigger`]).
    pub trigger: bool,
}

/// Rows of a table that REFERENCING gives a name.
#[derive(Clone, Debug)]
pub(crate) struct RowsNamed {
    pub name: String,
    pub columns: Vec<OutputColumn>,
}

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub name: Option<String>,
    pub mode: ParameterMode,
    /// [`ROW`] for a row.
    pub ty: SqlType,
    pub modifier: TypeMod,
    pub default: Option<Node>,
    /// The table whose rows it takes: a slot for each of the columns.
    pub row: Option<TableRef>,
    /// The domain that it is of.
    pub domain: Option<u32>,
}

/// What stands for all rows where a type is asked for; no value of a call has it.
pub(crate) const ROW: SqlType = SqlType::Void;

/// Places in [`plpgsql::TRIGGER_VARIABLES`] of those that are no text.
pub(crate) const TG_RELID: usize = 6;
pub(crate) const TG_NARGS: usize = 10;
pub(crate) const TG_ARGV: usize = 11;

/// What a type in a routine may be.
pub(crate) enum Resolved {
    Scalar(SqlType, TypeMod),
    Domain(Arc<TypeRecord>),
    Row(TableRef),
    Record,
}

impl Resolved {
    /// Of a domain what it is over.
    pub fn plain(self) -> Resolved {
        match self {
            Resolved::Domain(record) => match record.domain() {
                Some(domain) => Resolved::Scalar(domain.base, domain.modifier),
                None => Resolved::Domain(record),
            },
            other => other,
        }
    }

    /// The number of the domain or composite type.
    fn user_type(&self) -> Option<u32> {
        match self {
            Resolved::Domain(record) => Some(record.id),
            Resolved::Row(table) => Some(table.id.0),
            _ => None,
        }
    }
}

impl Parameter {
    /// What its type is called, with a mark where users made it.
    pub fn type_text(&self) -> String {
        match self.domain {
            Some(domain) => mark(domain),
            None => format_type(self.ty, TypeMod::NONE),
        }
    }

    /// The type of the arguments that it takes all of.
    pub fn taken(&self) -> Option<SqlType> {
        let is_variadic = self.mode == ParameterMode::Variadic;
        self.ty.element().filter(|_| is_variadic)
    }

    /// Whether a caller gives it a value.
    pub fn is_input(&self) -> bool {
        use ParameterMode::{In, InOut, Variadic};
        matches!(self.mode, In | InOut | Variadic)
    }
}

impl Signature {
    /// Of a statement that creates a routine.
    ///
    /// # Errors
    /// `42704`, `42P01`, `0A000` for types; `42P13` for what cannot be.
    pub fn of(
        id: RoutineId,
        statement: &CreateFunctionStmt,
        text: &str,
        context: &PlanContext,
    ) -> SqlResult<Signature> {
        let (header, _) = plpgsql::header(statement, text)?;
        let planner = Planner::new(context, "", &[]);
        let name = header.name.last().cloned().unwrap_or_default();
        let trigger = header.returns == Returns::Trigger;
        let declared = match trigger {
            true => &[],
            false => header.parameters.as_slice(),
        };
        // As one of several columns of a function's row; alone it would be the row itself.
        let results = declared.iter().filter(|it| it.mode.is_result());
        let gives_rows = !header.procedure && results.count() > 1;
        let mut parameters = Vec::with_capacity(declared.len());
        let mut types = Vec::new();
        for parameter in declared {
            let resolved = resolve(&planner, &parameter.data_type).map_err(of_parameter)?;
            types.extend(resolved.user_type());
            let domain = match &resolved {
                Resolved::Domain(record) => Some(record.id),
                _ => None,
            };
            let (ty, row) = match resolved.plain() {
                Resolved::Scalar(ty, _) => (ty, None),
                Resolved::Row(table)
                    if parameter.mode == ParameterMode::In && parameter.default.is_none() =>
                {
                    (ROW, Some(table))
                }
                Resolved::Row(table) if gives_rows && parameter.mode == ParameterMode::Out => {
                    (ROW, Some(table))
                }
                Resolved::Row(_) => {
                    let what = "such a parameter that is a row, or a default for one";
                    return Err(SqlError::unsupported(what));
                }
                Resolved::Record | Resolved::Domain(_) => {
                    return Err(SqlError::unsupported("a parameter of type record"));
                }
            };
            parameters.push(Parameter {
                name: parameter.name.clone(),
                mode: parameter.mode,
                ty,
                // As in PostgreSQL, lengths of parameters are not kept.
                modifier: TypeMod::NONE,
                default: parameter.default.clone(),
                row,
                domain,
            });
        }
        let is_row = match &header.returns {
            Returns::Value(ty) | Returns::SetOf(ty) => {
                matches!(resolve(&planner, ty)?, Resolved::Row(_))
            }
            _ => {
                let results = parameters.iter().filter(|p| p.mode.is_result());
                results.count() > 1
            }
        };
        let mut result_domain = None;
        let mut row = None;
        if let Returns::Value(ty) | Returns::SetOf(ty) = &header.returns {
            let resolved = resolve(&planner, ty)?;
            types.extend(resolved.user_type());
            if let Resolved::Domain(record) = &resolved {
                result_domain = Some(record.id);
            }
            if let Resolved::Row(table) = resolved {
                row = Some(table);
            }
        }
        let of_sql = plpgsql::language(statement).as_deref() == Some("sql");
        if result_domain.is_some() && of_sql {
            return Err(SqlError::unsupported(
                "a function in SQL that returns a domain",
            ));
        }
        let record = match &header.returns {
            Returns::Value(ty) | Returns::SetOf(ty) => {
                matches!(resolve(&planner, ty)?, Resolved::Record)
            }
            _ => false,
        };
        let (output, of_parameters, columns) = result(&planner, &header, &name, &parameters)?;
        Ok(Signature {
            id,
            name,
            declared: None,
            procedure: header.procedure,
            strict: header.strict && !header.procedure,
            may_write: header.volatility == Volatility::Volatile,
            immutable: header.volatility == Volatility::Immutable,
            of_sql,
            result_domain,
            types,
            parameters,
            output,
            columns,
            of_parameters,
            is_row,
            row,
            record,
            tables: Vec::new(),
            trigger,
        })
    }

    /// The same function as it is called for a trigger of a table: it takes the row as it is to be, as it was, and what
    /// PostgreSQL calls `TG_…`; it gives whether there is a row, and the row.
    pub fn for_trigger(&self, table: &TableRef, trigger: &TriggerRecord) -> Signature {
        let parameter = |(number, name): (usize, &&str)| {
            let (ty, row) = match number {
                0 | 1 => (ROW, Some(TableRef::clone(table))),
                TG_RELID => (SqlType::Oid, None),
                TG_NARGS => (SqlType::Int4, None),
                TG_ARGV => (SqlType::TextArray, None),
                _ => (SqlType::Text, None),
            };
            Parameter {
                name: Some((*name).to_string()),
                mode: ParameterMode::In,
                ty,
                modifier: TypeMod::NONE,
                default: None,
                row,
                domain: None,
            }
        };
        let columns = table.visible_columns();
        let columns = columns.map(|(_, known)| column(&known.name, known.ty, known.modifier));
        let columns: Vec<OutputColumn> = columns.collect();
        let named = [&trigger.more.old_rows, &trigger.more.new_rows].into_iter();
        let tables = named.flatten().map(|name| RowsNamed {
            name: name.clone(),
            columns: columns.clone(),
        });
        Signature {
            tables: tables.collect(),
            parameters: plpgsql::TRIGGER_VARIABLES
                .iter()
                .enumerate()
                .map(parameter)
                .collect(),
            output: Output::Row,
            columns: [column("", SqlType::Bool, TypeMod::NONE)]
                .into_iter()
                .chain(columns)
                .collect(),
            is_row: true,
            ..self.clone()
        }
    }

    /// Types that tell it from others of its name: those of the parameters that take values; for a
    /// procedure also of those that only give some.
    pub fn key(&self) -> Vec<SqlType> {
        let counts = |parameter: &&Parameter| parameter.is_input();
        self.parameters
            .iter()
            .filter(counts)
            .map(|p| p.ty)
            .collect()
    }

    /// What a function that returns void gives.
    pub fn nothing(&self) -> Value {
        match self.of_sql {
            true => Value::Null,
            false => Value::text(""),
        }
    }

    /// `name(types)`, for messages.
    pub fn describe(&self) -> String {
        if self.trigger {
            return format!("{}()", self.name);
        }
        match &self.declared {
            Some(types) => format!("{}({types})", self.name),
            None => format!("{}({})", self.name, self.input_types()),
        }
    }

    /// The types of what it is given, with commas between.
    pub fn input_types(&self) -> String {
        let inputs = self.parameters.iter().filter(|p| p.is_input());
        let names = inputs.map(|parameter| match &parameter.row {
            Some(table) => table.name.clone(),
            None => parameter.type_text(),
        });
        names.collect::<Vec<String>>().join(", ")
    }

    /// True while nobody has said which columns the record that it returns has.
    pub fn is_open(&self) -> bool {
        self.record && self.columns.is_empty()
    }

    /// How many of them say whether a row is there that is given to a strict function: a row of NULLs is.
    pub fn markers(&self) -> usize {
        let rows = self.parameters.iter().filter(|it| it.row.is_some());
        match self.strict {
            true => rows.count(),
            false => 0,
        }
    }

    /// How many slots the arguments take: fields of rows one by one, and behind all of them the markers.
    pub fn slots(&self) -> usize {
        let widths = self
            .parameters
            .iter()
            .map(|parameter| match &parameter.row {
                Some(table) => table.visible_columns().count(),
                None => 1,
            });
        let arrays = self.tables.iter().map(|rows| rows.columns.len());
        widths.chain(arrays).sum::<usize>() + self.markers()
    }
}

/// PostgreSQL quotes the name of a type that is not there, but not for a parameter.
fn of_parameter(error: SqlError) -> SqlError {
    match error.state {
        SqlState::UNDEFINED_OBJECT => {
            let unquoted = error.message.replace('"', "");
            error.message(unquoted)
        }
        _ => error,
    }
}

/// `name(types)`.
pub(crate) fn describe(name: &str, types: &[SqlType]) -> String {
    let names = types.iter().map(|ty| format_type(*ty, TypeMod::NONE));
    format!("{name}({})", names.collect::<Vec<_>>().join(", "))
}

type ResultRow = (Output, bool, Vec<OutputColumn>);

fn result(
    planner: &Planner,
    header: &Header,
    name: &str,
    parameters: &[Parameter],
) -> SqlResult<ResultRow> {
    let given: Vec<OutputColumn> = parameters
        .iter()
        .filter(|parameter| parameter.mode.is_result())
        .enumerate()
        .map(|(number, parameter)| {
            let own = parameter.name.clone();
            let name = own.unwrap_or_else(|| format!("column{}", number + 1));
            let ty = match &parameter.row {
                Some(table) => type_of_rows(planner.catalog(), table.id).unwrap_or(parameter.ty),
                None => parameter.ty,
            };
            column(&name, ty, parameter.modifier)
        })
        .collect();
    Ok(match &header.returns {
        Returns::Trigger => (Output::Nothing, false, Vec::new()),
        Returns::Nothing if given.is_empty() => (Output::Nothing, false, Vec::new()),
        Returns::Nothing | Returns::Parameters => (Output::Row, true, given),
        Returns::SetOfParameters => (Output::Rows, true, given),
        Returns::Value(ty) => (Output::Row, false, columns_of(planner, ty, name)?),
        Returns::SetOf(ty) => (Output::Rows, false, columns_of(planner, ty, name)?),
    })
}

fn columns_of(planner: &Planner, ty: &DataType, name: &str) -> SqlResult<Vec<OutputColumn>> {
    match resolve(planner, ty)?.plain() {
        // Nor is a result's length kept.
        Resolved::Scalar(ty, _) => Ok(vec![column(name, ty, TypeMod::NONE)]),
        Resolved::Row(table) => Ok(table
            .visible_columns()
            .map(|(_, known)| column(&known.name, known.ty, known.modifier))
            .collect()),
        Resolved::Record | Resolved::Domain(_) => Ok(Vec::new()),
    }
}

fn column(name: &str, ty: SqlType, modifier: TypeMod) -> OutputColumn {
    OutputColumn {
        name: name.to_string(),
        ty,
        modifier,
        origin: None,
    }
}

/// A type as it is now.
///
/// # Errors
/// `42704`, `42P01`, `42703`, `0A000`.
pub(crate) fn resolve(planner: &Planner, ty: &DataType) -> SqlResult<Resolved> {
    match ty {
        DataType::Record => Ok(Resolved::Record),
        DataType::RowOf { names } => table(planner, names).map(Resolved::Row),
        DataType::TypeOf { names, array } => {
            let [table_name @ .., column] = names.as_slice() else {
                return Err(unknown_relation(names));
            };
            let table = table(planner, table_name)?;
            let Some(number) = table.column(column) else {
                return Err(SqlError::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!(
                        "column \"{column}\" of relation \"{}\" does not exist",
                        table.name
                    ),
                ));
            };
            let known = &table.columns[number];
            let stored = planner.catalog().record(table.id);
            let domain = stored.and_then(|record| record.domain(number));
            let domain = domain.and_then(|domain| planner.catalog().user_type(domain));
            if let (Some(record), false) = (domain, *array) {
                return Ok(Resolved::Domain(Arc::clone(record)));
            }
            if !array {
                return Ok(Resolved::Scalar(known.ty, known.modifier));
            }
            let array = known.ty.array_of();
            array
                .map(|ty| Resolved::Scalar(ty, TypeMod::NONE))
                .ok_or_else(|| SqlError::unsupported(format!("type {}[]", known.ty)))
        }
        DataType::Named { name, .. } if let Some(any) = any_of(name) => {
            Ok(Resolved::Scalar(SqlType::Any(any), TypeMod::NONE))
        }
        DataType::Named { name, .. } => match types::resolve_any(planner, name)? {
            (_, _, Some(record)) => Ok(Resolved::Domain(Arc::clone(record))),
            (ty @ SqlType::Composite(number), modifier, None) => {
                Ok(match planner.catalog().table_of_type(number) {
                    Some(table) => Resolved::Row(table),
                    None => Resolved::Scalar(ty, modifier),
                })
            }
            (SqlType::Cstring, ..) => Err(SqlError::unsupported("cstring in a routine")),
            (ty, modifier, None) => Ok(Resolved::Scalar(ty, modifier)),
        },
    }
}

/// The type that stands for that of an argument, if a name is that of one.
pub(crate) fn any_of(name: &TypeName) -> Option<Any> {
    match crate::names::strings(&name.names).as_slice() {
        [name] | ["pg_catalog", name] => Any::from_name(name),
        _ => None,
    }
    .filter(|_| name.array_bounds.is_empty())
}

fn table(planner: &Planner, names: &[String]) -> SqlResult<TableRef> {
    let (schema, name) = match names {
        [name] => (None, name.as_str()),
        [schema, name] => (Some(schema.as_str()), name.as_str()),
        _ => return Err(unknown_relation(names)),
    };
    let found = match planner.find_relation(schema, name) {
        Some(Relation::Table(id) | Relation::Partition(id)) => planner.catalog().rows_of(id),
        _ => None,
    };
    let composite = || {
        let record = planner.find_type(schema, name)?;
        planner.catalog().table_of_type(record.id)
    };
    found
        .or_else(composite)
        .ok_or_else(|| unknown_relation(names))
}

fn unknown_relation(names: &[String]) -> SqlError {
    SqlError::new(
        SqlState::UNDEFINED_TABLE,
        format!("relation \"{}\" does not exist", names.join(".")),
    )
}
