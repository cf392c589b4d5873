//! ADD PRIMARY KEY USING INDEX, ADD UNIQUE USING INDEX: a unique index becomes a constraint's.
//!
//! Relies on: the table's record.  Promises: who refers to the index's columns refers to them still; the index is called as the constraint
//! is.  Does not: tables with partitions, primary keys whose index includes columns (0A000).

use super::constraint::Added;
use super::table::refuse_constraint_clauses;
use super::{foreign_key, hidden};
use crate::catalog::Relation;
use crate::draft::Draft;
use crate::planner::Planner;
use crate::records::{ForeignKeyRecord, IndexRecord, TableRecord};
use pg_query::NodeEnum;
use pg_query::protobuf::{AlterTableCmd, ConstrType, Constraint, RangeVar};
use quintet_base::{IndexId, SqlError, SqlResult, SqlState};

/// Says that a table with partitions, and a partition, has no such constraints.
///
/// # Errors
/// `0A000`.
pub(super) fn refuse_divided(
    planner: &Planner,
    relation: &RangeVar,
    commands: &[&AlterTableCmd],
) -> SqlResult<()> {
    let names_index = |command: &&AlterTableCmd| {
        let def = command.def.as_deref().and_then(crate::names::inner);
        matches!(def, Some(NodeEnum::Constraint(found)) if !found.indexname.is_empty())
    };
    if !commands.iter().any(names_index) {
        return Ok(());
    }
    let schema = Some(relation.schemaname.as_str()).filter(|name| !name.is_empty());
    let message = match planner.find_relation(schema, &relation.relname) {
        Some(Relation::Partition(_)) => "ADD CONSTRAINT USING INDEX of a partition",
        Some(Relation::Table(id))
            if (planner.catalog().table_by_id(id)).is_some_and(|t| t.partitions.is_some()) =>
        {
            let message =
                "ALTER TABLE / ADD CONSTRAINT USING INDEX is not supported on partitioned tables";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        _ => return Ok(()),
    };
    Err(SqlError::unsupported(message))
}

/// Makes the index that the constraint names its own.
pub(super) fn add(
    draft: &mut Draft,
    record: &mut TableRecord,
    constraint: &Constraint,
    added: &mut Added,
) -> SqlResult<Option<Vec<usize>>> {
    let place = find(draft.planner, record, constraint)?;
    let old = record.indexes[place].name.clone();
    let id = record.indexes[place].id;
    let name = match constraint.conname.as_str() {
        "" => old.clone(),
        name => name.to_string(),
    };
    if name != old {
        draft.planner.notice(format!(
            "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{old}\" to \"{name}\""
        ));
    }
    if constraint.contype() == ConstrType::ConstrPrimary {
        let index = record.indexes.remove(place);
        hidden::forget(draft.planner, record, &index);
        draft.free_name(&old);
        refer_to_primary_key(draft, record, id)?;
        added.dropped.push(index.space);
        return Ok(Some(index.columns));
    }
    if name != old {
        draft.take_name(&record.schema, &name)?;
        draft.free_name(&old);
    }
    let is_late = constraint.deferrable || constraint.initdeferred;
    if is_late {
        if foreign_key::is_referred_to(draft.planner, record, id) {
            return Err(SqlError::unsupported(
                "a DEFERRABLE constraint with an index that foreign keys refer to",
            ));
        }
        if record.more.nulls_equal.contains(&id) {
            return Err(SqlError::unsupported(
                "UNIQUE NULLS NOT DISTINCT that is DEFERRABLE",
            ));
        }
        // Its entries are written otherwise.
        record.more.late.push((id, constraint.initdeferred));
        added.dropped.push(record.indexes[place].space);
        record.indexes[place].space = draft.space();
        added.indexes.push(place);
    }
    let index = &mut record.indexes[place];
    index.name = name;
    index.constraint = true;
    Ok(None)
}

/// The place of the index in the record, if a constraint can have it.
fn find(planner: &Planner, record: &TableRecord, constraint: &Constraint) -> SqlResult<usize> {
    let unnamed = Constraint {
        indexname: String::new(),
        ..constraint.clone()
    };
    refuse_constraint_clauses(planner, &unnamed)?;
    let name = &constraint.indexname;
    let here = |state, message: String| planner.error(state, message, constraint.location);
    let taken = || {
        let message = format!("index \"{name}\" is already associated with a constraint");
        here(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
    };
    let own = record.indexes.iter().position(|index| index.name == *name);
    let Some(place) = own else {
        if record
            .primary_key
            .as_ref()
            .is_some_and(|key| key.name == *name)
        {
            return Err(taken());
        }
        return Err(match planner.find_relation(Some(&record.schema), name) {
            Some(Relation::PrimaryKey(_)) => taken(),
            Some(Relation::Index(table, index)) if table != record.id => {
                let table = planner.catalog().table_by_id(table);
                let index = table.and_then(|table| table.indexes.get(index));
                match index.is_some_and(|index| index.constraint) {
                    true => taken(),
                    false => {
                        let message = format!(
                            "index \"{name}\" does not belong to table \"{}\"",
                            record.name
                        );
                        here(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                    }
                }
            }
            None | Some(Relation::Index(..)) => here(
                SqlState::UNDEFINED_OBJECT,
                format!("index \"{name}\" does not exist"),
            ),
            Some(_) => SqlError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{name}\" is not an index"),
            ),
        });
    };
    let index = &record.indexes[place];
    if index.constraint {
        return Err(taken());
    }
    if let Some(message) = unfit(record, index) {
        return Err(here(SqlState::WRONG_OBJECT_TYPE, message)
            .detail("Cannot create a primary key or unique constraint using such an index."));
    }
    let includes = |(id, shown): &(IndexId, crate::records::ShownRecord)| {
        *id == index.id && !shown.included.is_empty()
    };
    if constraint.contype() == ConstrType::ConstrPrimary && record.more.shown.iter().any(includes) {
        let what = "a primary key with INCLUDE";
        return Err(planner.unsupported(what, constraint.location));
    }
    Ok(place)
}

/// Why no constraint is kept by such an index.
fn unfit(record: &TableRecord, index: &IndexRecord) -> Option<String> {
    let name = &index.name;
    if !index.unique {
        return Some(format!("\"{name}\" is not a unique index"));
    }
    let predicates = &record.more.hidden.predicates;
    let is_partial = predicates.iter().any(|(id, _)| *id == index.id);
    // The first column of a partial one says which rows are in it.
    let written = &index.columns[usize::from(is_partial)..];
    if written.iter().any(|number| record.is_hidden(*number)) {
        return Some(format!("index \"{name}\" contains expressions"));
    }
    if is_partial {
        return Some(format!("\"{name}\" is a partial index"));
    }
    let directions = record.directions(index.id);
    let unusual = directions.iter().position(|asked| *asked != (false, false));
    unusual.map(|place| {
        format!(
            "index \"{name}\" column number {} does not have default sorting behavior",
            place + 1
        )
    })
}

/// Foreign keys that refer to the index refer to the table's primary key from now on.
fn refer_to_primary_key(draft: &mut Draft, record: &TableRecord, id: IndexId) -> SqlResult<()> {
    let keys = draft.planner.catalog().foreign_keys_to(record.id);
    let keys: Vec<_> = keys.filter(|key| key.index == Some(id)).cloned().collect();
    for key in keys {
        draft.put_foreign_key(&ForeignKeyRecord {
            index: None,
            ..(*key).clone()
        })?;
    }
    Ok(())
}
