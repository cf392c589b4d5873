//! ALTER … SET SCHEMA, ALTER SCHEMA … RENAME.
//!
//! Relies on: `moving` for what texts name.  Promises: with a table go its indexes, constraints, row type and the sequences of its columns, not
//! its partitions; nothing but names changes.  Does not: move what is temporary or the system's, or rename `public` (0A000).

use super::moving::{self, Moves};
use super::schema;
use super::user_type::type_object;
use super::{changed_sequence, record_of, sequence_object};
use crate::catalog::Relation;
use crate::command::Planned;
use crate::draft::{Draft, owned_sequences, spaces_of};
use crate::from::find_named;
use crate::names::{self, inner, required};
use crate::parse;
use crate::planner::Planner;
use crate::records::{ExtensionRecord, MatviewRecord, RoutineRecord, TypeKind, TypeRecord};
use crate::role::THE_DATABASE;
use crate::routine;
use crate::system::PUBLIC;
use crate::temporary::is_temporary;
use pg_query::NodeEnum;
use pg_query::protobuf::{AlterObjectSchemaStmt, ObjectType, ObjectWithArgs, RangeVar, RenameStmt};
use quintet_base::{RoutineId, SequenceId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::ddl::Work;
use quintet_ir::function::quoted_identifier;
use quintet_ir::{Object, ObjectKind, Privileges};

/// ALTER … SET SCHEMA.
pub(super) fn alter(planner: &Planner, statement: &AlterObjectSchemaStmt) -> SqlResult<Planned> {
    let kind = statement.object_type();
    if let Some(named) = &statement.relation {
        return relation(planner, statement, named);
    }
    match statement.object.as_deref().and_then(inner) {
        Some(NodeEnum::ObjectWithArgs(object)) => routine(planner, statement, object),
        Some(NodeEnum::List(name))
            if matches!(kind, ObjectType::ObjectType | ObjectType::ObjectDomain) =>
        {
            user_type(planner, statement, &names::strings(&name.items))
        }
        _ => Err(unsupported()),
    }
}

fn unsupported() -> SqlError {
    SqlError::unsupported("ALTER … SET SCHEMA of this kind of object")
}

/// Refuses a schema that things can neither leave nor come to.
fn refuse_special(from: &str, to: &str) -> SqlResult<()> {
    let what = match [from, to] {
        both if both.iter().any(|it| is_temporary(it) || *it == "pg_temp") => "temporary schemas",
        [_, "pg_toast"] => "TOAST schema",
        _ => return Ok(()),
    };
    let message = format!("cannot move objects into or out of {what}");
    Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

/// Whether something may be made in a schema.
fn may_come(planner: &Planner, to: &str) -> SqlResult<()> {
    if !planner.catalog().has_schema(to) && !matches!(to, "pg_catalog" | "information_schema") {
        let message = format!("schema \"{to}\" does not exist");
        return Err(SqlError::new(SqlState::INVALID_SCHEMA_NAME, message));
    }
    planner.must_have(planner.schema_object(to), Privileges::CREATE)?;
    if matches!(to, "pg_catalog" | "information_schema") {
        return Err(SqlError::unsupported(format!(
            "a change of the schema {to}"
        )));
    }
    Ok(())
}

fn wrong(name: &str, what: &str) -> SqlError {
    let message = format!("\"{name}\" is {what}");
    SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
}

/// Tables, views, materialized views and sequences.
fn relation(
    planner: &Planner,
    statement: &AlterObjectSchemaStmt,
    named: &RangeVar,
) -> SqlResult<Planned> {
    let kind = statement.object_type();
    let tag = match kind {
        ObjectType::ObjectTable => "ALTER TABLE",
        ObjectType::ObjectView => "ALTER VIEW",
        ObjectType::ObjectMatview => "ALTER MATERIALIZED VIEW",
        ObjectType::ObjectSequence => "ALTER SEQUENCE",
        _ => return Err(unsupported()),
    };
    let catalog = planner.catalog();
    let Some(found) = find_named(planner, named)? else {
        let schema = Some(named.schemaname.as_str()).filter(|schema| !schema.is_empty());
        if let Some(composite) = planner
            .find_type(schema, &named.relname)
            .filter(|found| found.fields().is_some())
        {
            planner.must_own(type_object(composite.id))?;
            return Err(wrong(&named.relname, "a composite type").hint("Use ALTER TYPE instead."));
        }
        let message = match schema {
            Some(schema) => format!("relation \"{schema}.{}\" does not exist", named.relname),
            None => format!("relation \"{}\" does not exist", named.relname),
        };
        if statement.missing_ok {
            planner.notice(format!("{message}, skipping"));
            return Ok(planner.nothing(tag));
        }
        return Err(planner.error(SqlState::UNDEFINED_TABLE, message, -1));
    };
    let is_matview =
        matches!(found, Relation::Table(id) if planner.catalog().matview(id).is_some());
    match found {
        Relation::Table(id) | Relation::View(id) | Relation::Partition(id) => {
            planner.must_own_table(id)?;
        }
        Relation::Sequence(id) => planner.must_own(sequence_object(id))?,
        Relation::Index(id, _) | Relation::PrimaryKey(id) => {
            planner.must_own_index(id, &named.relname)?;
        }
    }
    let fits = match kind {
        ObjectType::ObjectView => matches!(found, Relation::View(_)),
        ObjectType::ObjectMatview => is_matview,
        ObjectType::ObjectSequence => matches!(found, Relation::Sequence(_)),
        _ => true,
    };
    if !fits {
        return Err(wrong(
            &named.relname,
            match kind {
                ObjectType::ObjectView => "not a view",
                ObjectType::ObjectMatview => "not a materialized view",
                _ => "not a sequence",
            },
        ));
    }
    if let Relation::Index(..) | Relation::PrimaryKey(_) = found {
        let message = format!("cannot change schema of index \"{}\"", named.relname);
        let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, message);
        return Err(error.hint("Change the schema of the table instead."));
    }
    if let Relation::Sequence(id) = found
        && let Some((table, _)) = catalog.sequence_by_id(id).and_then(|it| it.owned_by)
    {
        let table = catalog.rows_of(table);
        let table = table.map(|table| table.name.clone()).unwrap_or_default();
        let message = "cannot move an owned sequence into another schema";
        return Err(
            SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(format!(
                "Sequence \"{}\" is linked to table \"{table}\".",
                named.relname
            )),
        );
    }
    let from = catalog.schema_of(found).unwrap_or_default();
    let to = statement.newschema.as_str();
    refuse_special(&from, to)?;
    may_come(planner, to)?;
    if from == to {
        return Ok(planner.nothing(tag));
    }
    let mut draft = Draft::new(planner);
    let mut moves = Moves::new(&from, to);
    match found {
        Relation::Table(id) => table(&mut draft, &mut moves, id)?,
        Relation::View(id) => {
            let record = required(catalog.view(id))?;
            take(planner, &mut moves, &record.name)?;
            refuse_type(planner, to, &record.name)?;
            let mut record = (**record).clone();
            record.schema = to.to_string();
            draft.put_view(&record)?;
        }
        Relation::Sequence(id) => sequence(&mut draft, &mut moves, id)?,
        Relation::Partition(id) => {
            let mut record = (**required(catalog.divisions().part(id))?).clone();
            take(planner, &mut moves, &record.name)?;
            refuse_type(planner, to, &record.name)?;
            record.schema = to.to_string();
            draft.put_partition(&record)?;
        }
        Relation::Index(..) | Relation::PrimaryKey(_) => return Err(unsupported()),
    }
    moving::respell_others(&mut draft, &moves)?;
    draft.finish(tag)
}

/// A relation's name goes along, if the other schema has none like it.
fn take(planner: &Planner, moves: &mut Moves, name: &str) -> SqlResult<()> {
    if planner.catalog().relation(&moves.to, name).is_some() {
        let message = format!(
            "relation \"{name}\" already exists in schema \"{}\"",
            moves.to
        );
        return Err(SqlError::new(SqlState::DUPLICATE_TABLE, message));
    }
    moves.relations.insert(name.to_string());
    Ok(())
}

fn refuse_type(planner: &Planner, schema: &str, name: &str) -> SqlResult<()> {
    if planner.catalog().type_named(schema, name).is_none() {
        return Ok(());
    }
    let message = format!("type \"{name}\" already exists in schema \"{schema}\"");
    Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message))
}

fn table(draft: &mut Draft, moves: &mut Moves, id: TableId) -> SqlResult<()> {
    let planner = draft.planner;
    let catalog = planner.catalog();
    let known = required(catalog.table_by_id(id))?;
    let mut record = record_of(planner, known)?;
    take(planner, moves, &record.name)?;
    refuse_type(planner, &moves.to, &record.name)?;
    let keys = record.primary_key.iter().map(|key| &key.name);
    for name in keys.chain(record.indexes.iter().map(|index| &index.name)) {
        take(planner, moves, name)?;
    }
    for owned in owned_sequences(catalog, id, None) {
        sequence(draft, moves, owned)?;
    }
    let to = moves.to.clone();
    moving::table(planner, moves, &mut record, Some(&to))?;
    if let Some(own) = catalog.matview(id) {
        let mut own = MatviewRecord::clone(own);
        own.view.schema.clone_from(&to);
        draft.put_matview(&own)?;
    }
    record.schema = to;
    record.revision += 1;
    draft.put_table(&record)?;
    draft.work(Work::Fence(spaces_of(known)));
    Ok(())
}

fn sequence(draft: &mut Draft, moves: &mut Moves, id: SequenceId) -> SqlResult<()> {
    let to = moves.to.clone();
    let record = changed_sequence(draft.planner, id, |record| record.schema = to)?;
    take(draft.planner, moves, &record.name)?;
    draft.put_sequence(&record)
}

fn routine(
    planner: &Planner,
    statement: &AlterObjectSchemaStmt,
    object: &ObjectWithArgs,
) -> SqlResult<Planned> {
    let (what, procedure, tag) = match statement.object_type() {
        ObjectType::ObjectFunction => ("function", Some(false), "ALTER FUNCTION"),
        ObjectType::ObjectProcedure => ("procedure", Some(true), "ALTER PROCEDURE"),
        ObjectType::ObjectRoutine => ("routine", None, "ALTER ROUTINE"),
        _ => return Err(unsupported()),
    };
    let id = routine::find(planner, object, what, procedure)?;
    let catalog = planner.catalog();
    let stored = required(catalog.routine(id))?;
    let (from, to) = (stored.record.schema.clone(), statement.newschema.as_str());
    refuse_special(&from, to)?;
    may_come(planner, to)?;
    planner.must_own(Object {
        kind: ObjectKind::Routine,
        number: id.0,
    })?;
    if from == to {
        return Ok(planner.nothing(tag));
    }
    let key = stored.signature(catalog)?.key();
    for other in catalog.routines(to, &stored.record.name) {
        if other.signature(catalog)?.key() == key {
            let message = format!(
                "function {} already exists in schema \"{to}\"",
                routine::describe(&stored.record.name, &key)
            );
            return Err(SqlError::new(SqlState::DUPLICATE_FUNCTION, message));
        }
    }
    let mut draft = Draft::new(planner);
    let mut moves = Moves::new(&from, to);
    moves.routine = Some(stored.record.name.clone());
    put_routine(&mut draft, id, to)?;
    moving::respell_others(&mut draft, &moves)?;
    draft.finish(tag)
}

fn put_routine(draft: &mut Draft, id: RoutineId, to: &str) -> SqlResult<()> {
    let record = &required(draft.planner.catalog().routine(id))?.record;
    draft.put_routine(&RoutineRecord {
        schema: to.to_string(),
        text: with_schema(&record.text, to)?,
        ..(**record).clone()
    })
}

/// The text of a CREATE of a routine, its name with another schema if it has any.
fn with_schema(text: &str, schema: &str) -> SqlResult<String> {
    let words = parse::scan(text)?;
    let word = |(from, to): &(usize, usize)| &text[*from..*to];
    let is_comment = |text: &str| text.starts_with("--") || text.starts_with("/*");
    let words: Vec<(usize, usize)> = (words.iter().copied())
        .filter(|place| !is_comment(word(place)))
        .collect();
    let opens = words.iter().position(|place| word(place) == "(");
    let named = opens.and_then(|opens| words.get(opens.checked_sub(3)?..opens));
    match named {
        Some([own, dot, _]) if word(dot) == "." => {
            let (from, to) = *own;
            Ok(format!(
                "{}{}{}",
                &text[..from],
                quoted_identifier(schema),
                &text[to..]
            ))
        }
        _ => Ok(text.to_string()),
    }
}

/// Types and domains.
fn user_type(
    planner: &Planner,
    statement: &AlterObjectSchemaStmt,
    name: &[&str],
) -> SqlResult<Planned> {
    let of_domain = statement.object_type() == ObjectType::ObjectDomain;
    let tag = if of_domain {
        "ALTER DOMAIN"
    } else {
        "ALTER TYPE"
    };
    let found = match planner.type_of_name(name) {
        Ok(found) => found,
        Err(error) => return Err(no_type(planner, name).unwrap_or(error)),
    };
    if of_domain && found.domain().is_none() {
        let message = format!("{} is not a domain", planner.shown_type(found));
        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    if found.is_of_extension() {
        let what = "moving a type of an extension to another schema";
        return Err(SqlError::unsupported(what));
    }
    let (from, to) = (found.schema.clone(), statement.newschema.as_str());
    refuse_special(&from, to)?;
    may_come(planner, to)?;
    planner.must_own(type_object(found.id))?;
    if from == to {
        return Ok(planner.nothing(tag));
    }
    refuse_type(planner, to, &found.name)?;
    if planner.catalog().relation(to, &found.name).is_some() {
        let what = match found.fields() {
            Some(_) => "relation",
            None => "type",
        };
        let state = match found.fields() {
            Some(_) => SqlState::DUPLICATE_TABLE,
            None => SqlState::DUPLICATE_OBJECT,
        };
        let message = format!(
            "{what} \"{}\" already exists in schema \"{to}\"",
            found.name
        );
        return Err(SqlError::new(state, message));
    }
    let mut draft = Draft::new(planner);
    let mut moves = Moves::new(&from, to);
    moves.types.insert(found.name.clone());
    let mut record = TypeRecord::clone(found);
    record.schema = to.to_string();
    draft.put_type(&record)?;
    moving::respell_others(&mut draft, &moves)?;
    if matches!(record.kind, TypeKind::Domain(_)) {
        fence_domain(&mut draft, record.id)?;
    }
    draft.finish(tag)
}

/// Messages of a domain's checks have its schema: plans of its tables are made anew.
fn fence_domain(draft: &mut Draft, domain: u32) -> SqlResult<()> {
    let planner = draft.planner;
    for table in planner.catalog().tables() {
        let mut record = match draft.changed_table(table.id)? {
            Some(record) => record,
            None => record_of(planner, table)?,
        };
        if record.more.domains.iter().any(|(_, own)| *own == domain) {
            record.revision = table.revision + 1;
            draft.put_table(&record)?;
            draft.work(Work::Fence(spaces_of(table)));
        }
    }
    Ok(())
}

/// What is wrong with the name of a relation's rows, or of an array type.
fn no_type(planner: &Planner, name: &[&str]) -> Option<SqlError> {
    let (schema, bare) = match name {
        [bare] => (None, *bare),
        [schema, bare] => (Some(*schema), *bare),
        _ => return None,
    };
    let error = |message: String| SqlError::new(SqlState::WRONG_OBJECT_TYPE, message);
    if let Some(Relation::Table(_) | Relation::View(_) | Relation::Partition(_)) =
        planner.find_relation(schema, bare)
    {
        let message = format!("{bare} is a table's row type");
        return Some(error(message).hint("Use ALTER TABLE instead."));
    }
    let element = planner.find_type(schema, bare.strip_prefix('_')?)?;
    let shown = planner.shown_type(element);
    let message = format!("cannot alter array type {shown}[]");
    Some(error(message).hint(format!(
        "You can alter type {shown}, which will alter the array type as well."
    )))
}

/// ALTER SCHEMA … RENAME.
pub(super) fn rename(planner: &Planner, statement: &RenameStmt) -> SqlResult<Planned> {
    let (old, new) = (statement.subname.as_str(), statement.newname.as_str());
    let catalog = planner.catalog();
    let number = schema::own(planner, old)?;
    if catalog.has_schema(new) {
        let message = format!("schema \"{new}\" already exists");
        return Err(SqlError::new(SqlState::DUPLICATE_SCHEMA, message));
    }
    planner.must_own(planner.schema_object(old))?;
    planner.must_have(THE_DATABASE, Privileges::CREATE)?;
    schema::refuse_reserved(new)?;
    if number == PUBLIC || new == "public" {
        return Err(SqlError::unsupported("a change of the schema public"));
    }
    let mut draft = Draft::new(planner);
    let mut moves = Moves::new(old, new);
    moves.everything = true;
    draft.put_schema(number, new)?;
    for (_, relation) in catalog.relations_in(old) {
        match relation {
            Relation::Table(id) => {
                let known = required(catalog.table_by_id(id))?;
                let mut record = record_of(planner, known)?;
                moving::table(planner, &moves, &mut record, Some(new))?;
                if let Some(own) = catalog.matview(id) {
                    let mut own = MatviewRecord::clone(own);
                    own.view.schema = new.to_string();
                    draft.put_matview(&own)?;
                }
                record.schema = new.to_string();
                record.revision += 1;
                draft.put_table(&record)?;
                draft.work(Work::Fence(spaces_of(known)));
            }
            Relation::View(id) => {
                let mut record = (**required(catalog.view(id))?).clone();
                record.schema = new.to_string();
                draft.put_view(&record)?;
            }
            Relation::Partition(id) => {
                let mut record = (**required(catalog.divisions().part(id))?).clone();
                record.schema = new.to_string();
                draft.put_partition(&record)?;
            }
            Relation::Sequence(id) => {
                let record = changed_sequence(planner, id, |it| it.schema = new.to_string())?;
                draft.put_sequence(&record)?;
            }
            Relation::Index(..) | Relation::PrimaryKey(_) => {}
        }
    }
    for record in catalog.user_types().filter(|record| record.schema == old) {
        draft.put_type(&TypeRecord {
            schema: new.to_string(),
            ..TypeRecord::clone(record)
        })?;
    }
    let routines = catalog.all_routines();
    for stored in routines.filter(|stored| stored.record.schema == old) {
        put_routine(&mut draft, stored.record.id, new)?;
    }
    for (number, record) in catalog.extensions() {
        if record.schema == old {
            draft.change_extension(
                number,
                &ExtensionRecord {
                    name: record.name.clone(),
                    schema: new.to_string(),
                },
            )?;
        }
    }
    moving::respell_others(&mut draft, &moves)?;
    draft.finish("ALTER SCHEMA")
}
