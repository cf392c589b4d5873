//! DROP TYPE and DROP DOMAIN, and what goes with the type of a table's rows.
//!
//! Relies on: the signatures of routines, the texts of views.  Promises: a type that something is of stays (2BP01); with
//! CASCADE columns, views, routines and domains over it go along.  Does not: look into the bodies of routines, as
//! PostgreSQL does not.

use super::alter::drop_columns;
use super::user_type::{is_of, type_object};
use super::view;
use crate::catalog::Relation;
use crate::command::Planned;
use crate::draft::Draft;
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::records::{RecordKey, TypeKind, TypeRecord};
use crate::routine::Signature;
use crate::system::print::quoted;
use pg_query::NodeEnum;
use pg_query::protobuf::{DropBehavior, DropStmt, ObjectType};
use quintet_base::types::ROW_TYPE;
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::schema::TableDef;
use std::collections::BTreeMap;

pub(super) fn drop(planner: &Planner, statement: &DropStmt) -> SqlResult<Planned> {
    let domains = statement.remove_type() == ObjectType::ObjectDomain;
    let tag = if domains { "DROP DOMAIN" } else { "DROP TYPE" };
    let cascade = statement.behavior() == DropBehavior::DropCascade;
    let mut going = Vec::new();
    for object in &statement.objects {
        let name = match inner(object) {
            Some(NodeEnum::TypeName(name)) => names::strings(&name.names),
            Some(NodeEnum::List(list)) => names::strings(&list.items),
            _ => Vec::new(),
        };
        match planner.type_of_name(&name) {
            Ok(found) => {
                if domains && found.domain().is_none() {
                    let message = format!("\"{}\" is not a domain", name.join("."));
                    return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
                if found.is_of_extension() {
                    let name = &found.name;
                    let message =
                        format!("cannot drop type {name} because extension {name} requires it");
                    let hint = format!("You can drop extension {name} instead.");
                    let state = SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
                    return Err(SqlError::new(state, message).hint(hint));
                }
                planner.may_drop(type_object(found.id))?;
                if !going.contains(&found.id) {
                    going.push(found.id);
                }
            }
            Err(error) => {
                refuse_row(planner, &name)?;
                if !statement.missing_ok {
                    return Err(error);
                }
                planner.notice(format!("{}, skipping", error.message));
            }
        }
    }
    if going.is_empty() {
        return Ok(planner.nothing(tag));
    }
    let mut draft = Draft::new(planner);
    release(&mut draft, &going, cascade, &[], &[])?;
    draft.finish(tag)
}

/// The type of a table's rows goes with the table.
fn refuse_row(planner: &Planner, name: &[&str]) -> SqlResult<()> {
    let (schema, bare) = match name {
        [name] => (None, *name),
        [schema, name] => (Some(*schema), *name),
        _ => return Ok(()),
    };
    let word = match planner.find_relation(schema, bare) {
        Some(Relation::Table(_)) => "table",
        Some(Relation::View(_)) => "view",
        _ => return Ok(()),
    };
    let message = format!("cannot drop type {bare} because {word} {bare} requires it");
    Err(
        SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .hint(format!("You can drop {word} {bare} instead.")),
    )
}

/// What is of a type.
#[derive(Default)]
pub(super) struct Dependents {
    /// The types themselves, and those that go with them.
    going: Vec<u32>,
    /// Columns by table.
    columns: BTreeMap<TableId, Vec<String>>,
    views: Vec<TableId>,
    routines: Vec<RoutineId>,
    types: Vec<u32>,
    /// Fields of composite types.
    fields: BTreeMap<u32, Vec<String>>,
    /// As messages list them.
    pub words: Vec<String>,
    pub details: Vec<String>,
}

/// Drops types with what is of them. Tables and views in `together`, and routines, are going anyway.
///
/// # Errors
/// `2BP01` if there is anything, unless `cascade`.
pub(super) fn release(
    draft: &mut Draft,
    types: &[u32],
    cascade: bool,
    together: &[TableId],
    routines: &[RoutineId],
) -> SqlResult<()> {
    let planner = draft.planner;
    let found = dependents(planner, types, together, routines)?;
    if !found.words.is_empty() && !cascade {
        let record = types.iter().find_map(|id| planner.catalog().user_type(*id));
        let what = record.map_or_else(String::new, |record| {
            format!("type {}", planner.shown_type(record))
        });
        return Err(SqlError::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop {what} because other objects depend on it"),
        )
        .detail(found.details.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    if !found.words.is_empty() {
        planner.notice_cascade(&found.words);
    }
    drop_with(draft, found, together)
}

/// What is of types, and of what is of them.
pub(super) fn dependents(
    planner: &Planner,
    types: &[u32],
    together: &[TableId],
    routines: &[RoutineId],
) -> SqlResult<Dependents> {
    let mut going: Vec<u32> = types.to_vec();
    let mut found = Dependents::default();
    let mut next = 0;
    while let Some(number) = going.get(next).copied() {
        if let Some(record) = planner.catalog().user_type(number) {
            collect(planner, record, together, routines, &going, &mut found)?;
        }
        for number in std::mem::take(&mut found.types) {
            going.push(number);
        }
        next += 1;
    }
    found.going = going;
    Ok(found)
}

/// Drops types with what is of them.
pub(super) fn drop_with(
    draft: &mut Draft,
    found: Dependents,
    together: &[TableId],
) -> SqlResult<()> {
    let planner = draft.planner;
    let going = found.going;
    for id in found.views {
        if !draft.has_dropped_view(id) {
            view::release(draft, "view", id, None, true, together)?;
            draft.drop_view(id);
        }
    }
    for id in found.routines {
        draft.drop_routine(id);
    }
    for (table, columns) in found.columns {
        drop_columns(draft, table, &columns)?;
    }
    for (number, names) in found.fields {
        let record = planner.catalog().user_type(number);
        let Some(record) = record.filter(|_| !going.contains(&number)) else {
            continue;
        };
        let fields = record.fields().unwrap_or_default().iter();
        let left = fields.filter(|field| !names.contains(&field.name));
        draft.put_type(&TypeRecord {
            kind: TypeKind::Composite(left.cloned().collect()),
            ..(**record).clone()
        })?;
    }
    for number in going {
        if !draft.has_dropped(RecordKey::Type(number)) {
            draft.drop_type(number);
        }
    }
    Ok(())
}

fn collect(
    planner: &Planner,
    record: &TypeRecord,
    together: &[TableId],
    routines: &[RoutineId],
    going: &[u32],
    found: &mut Dependents,
) -> SqlResult<()> {
    let catalog = planner.catalog();
    let what = format!("type {}", planner.shown_type(record));
    let add = |word: String, found: &mut Dependents| {
        if !found.words.contains(&word) {
            found.details.push(format!("{word} depends on {what}"));
            found.words.push(word);
        }
    };
    for table in catalog
        .tables()
        .filter(|table| !together.contains(&table.id))
    {
        let stored = super::record_of(planner, table)?;
        for (number, column) in table.visible_columns() {
            if is_of(column.ty, record.id) || stored.domain(number) == Some(record.id) {
                let columns = found.columns.entry(table.id).or_default();
                if !columns.contains(&column.name) {
                    columns.push(column.name.clone());
                }
                let word = format!("column {} of table {}", column.name, table.name);
                add(word, found);
            }
        }
    }
    for view in catalog.views().filter(|view| !together.contains(&view.id)) {
        let names = names_word(&view.text, &record.name);
        if names
            || view
                .columns
                .iter()
                .any(|column| is_of(column.ty, record.id))
        {
            if !found.views.contains(&view.id) {
                found.views.push(view.id);
            }
            add(format!("view {}", view.name), found);
        }
    }
    for routine in catalog.all_routines() {
        let id = routine.record.id;
        // One that cannot be read any more names nothing that is there.
        let Ok(signature) = routine.signature(catalog) else {
            continue;
        };
        let types = signature.parameters.iter().map(|parameter| parameter.ty);
        let columns = signature.columns.iter().map(|column| column.ty);
        let uses = types.chain(columns).any(|ty| is_of(ty, record.id));
        if (uses || signature.types.contains(&record.id)) && !routines.contains(&id) {
            if !found.routines.contains(&id) {
                found.routines.push(id);
            }
            add(routine_word(planner, signature), found);
        }
    }
    for other in catalog.user_types() {
        let uses = match &other.kind {
            TypeKind::Domain(domain) => {
                domain.over == Some(record.id)
                    || domain.over.is_none() && is_of(domain.base, record.id)
            }
            TypeKind::Composite(fields) => {
                let own = fields.iter().filter(|field| is_of(field.ty, record.id));
                for field in own.filter(|_| !going.contains(&other.id)) {
                    let gone = found.fields.entry(other.id).or_default();
                    gone.push(field.name.clone());
                    let (name, of) = (&field.name, planner.shown_type(other));
                    add(format!("column {name} of composite type {of}"), found);
                }
                false
            }
            TypeKind::Enum(_) | TypeKind::Base(_) => false,
        };
        if uses && !going.contains(&other.id) {
            found.types.push(other.id);
            add(format!("type {}", planner.shown_type(other)), found);
        }
    }
    Ok(())
}

/// A routine as messages list it, a procedure, too.
pub(super) fn routine_word(planner: &Planner, signature: &Signature) -> String {
    let described = planner.with_type_names(signature.describe());
    // PostgreSQL leaves the blanks out here.
    let described = described.replace(", ", ",");
    let found = planner.find_routines(None, &signature.name);
    let record = planner.catalog().routine(signature.id);
    let schema = record.map_or("", |stored| &stored.record.schema);
    match found.iter().any(|stored| stored.record.id == signature.id) {
        true => format!("function {described}"),
        false => format!("function {}.{described}", quoted(schema)),
    }
}

/// Sees to it that no column, domain or routine is of the rows of a table any more. Tables in `together` are going anyway.
///
/// # Errors
/// `2BP01` if one is, unless `cascade`.
pub(super) fn release_rows(
    draft: &mut Draft,
    table: &TableDef,
    cascade: bool,
    together: &[TableId],
) -> SqlResult<()> {
    let planner = draft.planner;
    let rows = table.id.0 | ROW_TYPE;
    let mut words = Vec::new();
    let mut details = Vec::new();
    let mut add = |word: String| {
        details.push(format!("{word} depends on type {}", table.name));
        words.push(word);
    };
    let mut columns: Vec<(TableId, Vec<String>)> = Vec::new();
    let others = planner.catalog().tables();
    for other in others.filter(|other| other.id != table.id && !together.contains(&other.id)) {
        if draft.has_dropped(RecordKey::Table(other.id)) {
            continue;
        }
        let stored = super::record_of(planner, other)?;
        // One of a domain goes with that.
        let own = other
            .visible_columns()
            .filter(|(number, column)| is_of(column.ty, rows) && stored.domain(*number).is_none());
        let own: Vec<String> = own.map(|(_, column)| column.name.clone()).collect();
        for name in &own {
            add(format!("column {name} of table {}", other.name));
        }
        if !own.is_empty() {
            columns.push((other.id, own));
        }
    }
    let mut domains = Vec::new();
    for record in planner.catalog().user_types() {
        let is_over = record
            .domain()
            .is_some_and(|domain| is_of(domain.base, rows));
        if is_over && !draft.has_dropped(RecordKey::Type(record.id)) {
            add(format!("type {}", planner.shown_type(record)));
            domains.push(record.id);
        }
    }
    let mut found = Vec::new();
    for routine in planner.catalog().all_routines() {
        let id = routine.record.id;
        // One that cannot be read any more names no table that is there.
        let Ok(signature) = routine.signature(planner.catalog()) else {
            continue;
        };
        let gone = draft.has_dropped(RecordKey::Routine(id));
        if signature.types.contains(&table.id.0) && !gone {
            add(routine_word(planner, signature));
            found.push(id);
        }
    }
    if words.is_empty() {
        return Ok(());
    }
    let name = &table.name;
    if !cascade {
        return Err(SqlError::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop table {name} because other objects depend on it"),
        )
        .detail(details.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    planner.notice_cascade(&words);
    for (other, own) in columns {
        drop_columns(draft, other, &own)?;
    }
    found.into_iter().for_each(|id| draft.drop_routine(id));
    match domains.is_empty() {
        true => Ok(()),
        false => release(draft, &domains, true, together, &[]),
    }
}

/// Whether a text has a name in it that is not a part of a longer one.
pub(crate) fn names_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    })
}
