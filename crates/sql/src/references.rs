//! Foreign keys of the catalogue, as plans see them.
//!
//! Relies on: records that name tables and columns by their numbers.  Promises: a table's references hold all that a
//! change of it may have to look at or to change in turn, and nothing that it cannot reach.
//! Does not: check what a key may be between (`ddl::foreign_key`).

use crate::records::ForeignKeyRecord;
use quintet_base::TableId;
use quintet_ir::schema::TableRef;
use quintet_ir::statement::Arbiter;
use quintet_ir::{ForeignKey, References, ReferentialAction};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a table refers to and what refers to it; `None` if nothing does.
pub(crate) fn of_table(
    id: TableId,
    keys: &[Arc<ForeignKeyRecord>],
    tables: &BTreeMap<TableId, TableRef>,
) -> Option<References> {
    // Tables whose rows may change: the table itself, and those that follow from its changes.
    let mut changing = vec![id];
    let mut at = 0;
    while let Some(&table) = changing.get(at) {
        at += 1;
        for key in keys.iter().filter(|key| key.parent == table) {
            let follows = |action| !matches!(action, 'a' | 'r');
            let changes = follows(key.on_delete) || follows(key.on_update);
            if changes && !changing.contains(&key.child) {
                changing.push(key.child);
            }
        }
    }
    let matters = |key: &&Arc<ForeignKeyRecord>| {
        changing.contains(&key.child) || changing.contains(&key.parent)
    };
    let mut numbers = changing.clone();
    let mut number_of = |table: TableId| {
        numbers
            .iter()
            .position(|known| *known == table)
            .unwrap_or_else(|| {
                numbers.push(table);
                numbers.len() - 1
            })
    };
    let mut found = Vec::new();
    for key in keys.iter().filter(matters) {
        let parent = tables.get(&key.parent)?;
        let target = match key.index {
            None => Arbiter::Primary,
            Some(index) => Arbiter::Index(parent.indexes.iter().position(|own| own.id == index)?),
        };
        found.push(ForeignKey {
            id: key.id,
            name: key.name.clone(),
            child: number_of(key.child),
            columns: key.columns.clone(),
            parent: number_of(key.parent),
            parent_columns: key.parent_columns.clone(),
            target,
            full: key.full,
            on_delete: action(key.on_delete),
            on_update: action(key.on_update),
            set: key.set.clone(),
            deferrable: key.deferrable,
            deferred: key.deferred,
        });
    }
    if found.is_empty() {
        return None;
    }
    let tables: Option<Vec<TableRef>> = numbers.iter().map(|id| tables.get(id).cloned()).collect();
    Some(References {
        tables: tables?,
        keys: found,
    })
}

fn action(letter: char) -> ReferentialAction {
    match letter {
        'r' => ReferentialAction::Restrict,
        'c' => ReferentialAction::Cascade,
        'n' => ReferentialAction::SetNull,
        'd' => ReferentialAction::SetDefault,
        _ => ReferentialAction::NoAction,
    }
}
