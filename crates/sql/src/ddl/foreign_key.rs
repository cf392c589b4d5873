//! Foreign keys: made, and given up.
//!
//! Relies on: records whose columns and keys are complete.  Promises: PostgreSQL's names and errors; a key refers to
//! columns that a unique key of the other table has, of types whose values can be compared.
//! Does not: look at rows (`Work::VerifyReferences` does), or MATCH PARTIAL, which PostgreSQL has not, either.

use super::words;
use crate::draft::Draft;
use crate::from::target_table;
use crate::names::required;
use crate::planner::Planner;
use crate::records::{ForeignKeyRecord, KeyOff, TableRecord};
use pg_query::protobuf::Constraint;
use quintet_base::{ConstraintId, IndexId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::references::are_comparable;
use quintet_ir::{Need, Part, Privileges};

/// Adds a foreign key to a table. Gives its number.
pub(super) fn add(
    draft: &mut Draft,
    record: &TableRecord,
    column: Option<usize>,
    constraint: &Constraint,
) -> SqlResult<ConstraintId> {
    let planner = draft.planner;
    let relation = required(constraint.pktable.as_ref())?;
    let itself = relation.relname == record.name
        && (relation.schemaname.is_empty() || relation.schemaname == record.schema);
    let parent = match itself {
        true => record.clone(),
        false => {
            let table = target_table(planner, relation)?;
            may_refer(planner, table.id, Part::Any)?;
            match draft.changed_table(table.id)? {
                Some(changed) => changed,
                None => super::record_of(planner, &table)?,
            }
        }
    };
    super::temporary::refuse_reference(
        (&record.schema, record.more.on_commit),
        (&parent.schema, parent.more.on_commit),
    )?;
    let columns = match column {
        Some(column) if constraint.fk_attrs.is_empty() => vec![column],
        _ => numbers(planner, record, &words(&constraint.fk_attrs), constraint)?,
    };
    let (parent_columns, index) = target(planner, &parent, constraint)?;
    if !itself {
        for column in &parent_columns {
            let number = u16::try_from(*column + 1).unwrap_or(u16::MAX);
            may_refer(planner, parent.id, Part::Column(number))?;
        }
    }
    if columns.len() != parent_columns.len() {
        return Err(planner.error(
            SqlState::INVALID_FOREIGN_KEY,
            "number of referencing and referenced columns for foreign key disagree",
            constraint.location,
        ));
    }
    let name = match constraint.conname.as_str() {
        "" => {
            let names: Vec<&str> = columns
                .iter()
                .map(|column| record.columns[*column].name.as_str())
                .collect();
            draft.constraint_name(record, &names, "fkey")
        }
        name => {
            refuse_taken(draft, record, name)?;
            name.to_string()
        }
    };
    for (own, other) in columns.iter().zip(&parent_columns) {
        let (own, other) = (&record.columns[*own], &parent.columns[*other]);
        if !are_comparable(own.ty, other.ty) {
            let message = format!("foreign key constraint \"{name}\" cannot be implemented");
            return Err(planner
                .error(SqlState::DATATYPE_MISMATCH, message, constraint.location)
                .detail(format!(
                    "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                    own.name, other.name, own.ty, other.ty
                )));
        }
    }
    let set = match words(&constraint.fk_del_set_cols) {
        none if none.is_empty() => Vec::new(),
        names => {
            let set = numbers(planner, record, &names, constraint)?;
            if let Some(strange) = set.iter().find(|column| !columns.contains(column)) {
                let message = format!(
                    "column \"{}\" referenced in ON DELETE SET action must be part of foreign key",
                    record.columns[*strange].name
                );
                return Err(planner.error(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    message,
                    constraint.location,
                ));
            }
            set
        }
    };
    let letter = |text: &str| text.chars().next().unwrap_or('a');
    let key = ForeignKeyRecord {
        id: ConstraintId(draft.id()),
        name,
        child: record.id,
        columns,
        parent: parent.id,
        parent_columns,
        index,
        full: constraint.fk_matchtype == "f",
        on_delete: letter(&constraint.fk_del_action),
        on_update: letter(&constraint.fk_upd_action),
        set,
        deferrable: constraint.deferrable,
        deferred: constraint.initdeferred,
        validated: !constraint.skip_validation,
        off: KeyOff::default(),
    };
    draft.put_foreign_key(&key)?;
    Ok(key.id)
}

/// Only who may refer to a part of a table goes on.
///
/// # Errors
/// `42501`.
fn may_refer(planner: &Planner, table: TableId, part: Part) -> SqlResult<()> {
    let need = Need {
        object: super::table_object(table),
        privileges: Privileges::REFERENCES,
        role: None,
        part,
    };
    planner.catalog().allow(planner.context.user.role, &[need])
}

/// Numbers of the columns that refer.
fn numbers(
    planner: &Planner,
    record: &TableRecord,
    names: &[String],
    constraint: &Constraint,
) -> SqlResult<Vec<usize>> {
    let number = |name: &String| {
        record.column(name).ok_or_else(|| {
            let message =
                format!("column \"{name}\" referenced in foreign key constraint does not exist");
            planner.error(SqlState::UNDEFINED_COLUMN, message, constraint.location)
        })
    };
    names.iter().map(number).collect()
}

/// The columns that are referred to, and the unique key that has them.
fn target(
    planner: &Planner,
    parent: &TableRecord,
    constraint: &Constraint,
) -> SqlResult<(Vec<usize>, Option<IndexId>)> {
    if constraint.pk_attrs.is_empty() {
        let Some(primary) = &parent.primary_key else {
            let message = format!(
                "there is no primary key for referenced table \"{}\"",
                parent.name
            );
            return Err(planner.error(SqlState::UNDEFINED_OBJECT, message, constraint.location));
        };
        refuse_late(parent, "primary key", parent.late_primary())?;
        return Ok((primary.columns.clone(), None));
    }
    let columns = numbers(planner, parent, &words(&constraint.pk_attrs), constraint)?;
    let is_of = |key: &[usize]| {
        key.len() == columns.len() && key.iter().all(|column| columns.contains(column))
    };
    if let Some(primary) = &parent.primary_key
        && is_of(&primary.columns)
    {
        refuse_late(parent, "unique constraint", parent.late_primary())?;
        return Ok((columns, None));
    }
    let mut unique = parent.indexes.iter().filter(|index| index.unique);
    match unique.find(|index| is_of(&index.columns)) {
        Some(index) => {
            refuse_late(parent, "unique constraint", parent.late(index.id))?;
            Ok((columns.clone(), Some(index.id)))
        }
        None => Err(planner.error(
            SqlState::INVALID_FOREIGN_KEY,
            format!(
                "there is no unique constraint matching given keys for referenced table \"{}\"",
                parent.name
            ),
            constraint.location,
        )),
    }
}

/// `55000` for a key that rows may share for a while.
fn refuse_late(parent: &TableRecord, what: &str, late: Option<bool>) -> SqlResult<()> {
    if late.is_none() {
        return Ok(());
    }
    let table = &parent.name;
    let message = format!("cannot use a deferrable {what} for referenced table \"{table}\"");
    Err(SqlError::new(
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        message,
    ))
}

/// `42710` if a constraint of the table has this name.
pub(super) fn refuse_taken(draft: &Draft, record: &TableRecord, name: &str) -> SqlResult<()> {
    match draft.has_constraint(record, name) {
        false => Ok(()),
        true => Err(SqlError::new(
            SqlState::DUPLICATE_OBJECT,
            format!(
                "constraint \"{name}\" for relation \"{}\" already exists",
                record.name
            ),
        )),
    }
}

/// What of a table is about to go.
pub(super) enum Going<'g> {
    /// All of it.
    Table,
    /// A column, by number and name.
    Column(usize, &'g str),
    /// The primary key, or the unique index with this number; as a constraint or as an index.
    Key(Option<IndexId>, &'static str, &'g str),
}

/// Whether foreign keys refer to this index of the table.
pub(super) fn is_referred_to(planner: &Planner, table: &TableRecord, index: IndexId) -> bool {
    let mut keys = planner.catalog().foreign_keys_to(table.id);
    keys.any(|key| key.index == Some(index))
}

/// Gives up the foreign keys of others that need what goes.
///
/// # Errors
/// `2BP01` if there are any, unless `cascade`.
pub(super) fn release(
    draft: &mut Draft,
    table: &TableRecord,
    going: &Going<'_>,
    cascade: bool,
    besides: &[TableId],
) -> SqlResult<()> {
    let catalog = draft.planner.catalog();
    let needs = |key: &&std::sync::Arc<ForeignKeyRecord>| match going {
        Going::Table => !besides.contains(&key.child),
        Going::Column(number, _) => key.parent_columns.contains(number),
        Going::Key(index, ..) => key.index == *index,
    };
    let keys: Vec<_> = catalog.foreign_keys_to(table.id).filter(needs).collect();
    if keys.is_empty() {
        return Ok(());
    }
    let (what, on) = match going {
        Going::Table => (
            format!("table {}", table.name),
            format!("table {}", table.name),
        ),
        Going::Column(_, name) => {
            let column = format!("column {name} of table {}", table.name);
            (column.clone(), column)
        }
        Going::Key(_, "index", name) => (format!("index {name}"), format!("index {name}")),
        Going::Key(_, kind, name) => (
            format!("{kind} {name} on table {}", table.name),
            format!("index {name}"),
        ),
    };
    let child_name = |key: &ForeignKeyRecord| {
        let child = catalog.table_by_id(key.child);
        child.map_or(String::new(), |child| child.name.clone())
    };
    if !cascade {
        let lines: Vec<String> = keys
            .iter()
            .map(|key| {
                format!(
                    "constraint {} on table {} depends on {on}",
                    key.name,
                    child_name(key)
                )
            })
            .collect();
        return Err(SqlError::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop {what} because other objects depend on it"),
        )
        .detail(lines.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    for key in keys {
        draft.planner.notice(format!(
            "drop cascades to constraint {} on table {}",
            key.name,
            child_name(key)
        ));
        draft.drop_foreign_key(key.id);
    }
    Ok(())
}
