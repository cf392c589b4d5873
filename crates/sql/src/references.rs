//! Foreign keys of the catalogue, as plans see them.
//!
//! Relies on: records that name tables and columns by their numbers.  Promises: a table's references hold all that a
//! change of it may have to look at or to change in turn, and nothing that it cannot reach; what triggers wait for, however far behind, is
//! left to steps (`routine::fire`).
//! Does not: check what a key may be between (`ddl::foreign_key`).

use crate::records::{ForeignKeyRecord, TriggerRecord};
use quintet_base::{ConstraintId, TableId};
use quintet_ir::references::Turn;
use quintet_ir::schema::TableRef;
use quintet_ir::statement::Arbiter;
use quintet_ir::{ForeignKey, References, ReferentialAction};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a table refers to and what refers to it; `None` if nothing does.
pub(crate) fn of_table(
    id: TableId,
    keys: &[Arc<ForeignKeyRecord>],
    tables: &BTreeMap<TableId, TableRef>,
    waits: &Waits,
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
        let child = changing.contains(&key.child) && !key.off.child;
        child || changing.contains(&key.parent) && !key.off.parent
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
            on_delete: action(key.on_delete, waits.for_action(key, Event::Delete)),
            on_update: action(key.on_update, waits.for_action(key, Event::Update)),
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
        turn: Turn::AtOnce,
    })
}

fn action(letter: char, in_steps: bool) -> ReferentialAction {
    match letter {
        'r' => ReferentialAction::Restrict,
        'c' | 'n' | 'd' if in_steps => ReferentialAction::InSteps,
        'c' => ReferentialAction::Cascade,
        'n' => ReferentialAction::SetNull,
        'd' => ReferentialAction::SetDefault,
        _ => ReferentialAction::NoAction,
    }
}

/// What becomes of a row of the parent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Event {
    Delete,
    Update,
}

/// Which actions of foreign keys something waits for.
pub(crate) struct Waits {
    deletes: BTreeSet<ConstraintId>,
    updates: BTreeSet<ConstraintId>,
}

/// Who waits for changes of tables' rows.
pub(crate) struct Waiting<'a> {
    /// The triggers that rows of a table may fire.
    pub triggers: BTreeMap<TableId, Vec<Arc<TriggerRecord>>>,
    /// Tables whose rows may have to call functions when they are written: that takes a statement.
    pub calling: &'a BTreeSet<TableId>,
}

/// A change of a table's rows: of these columns, or their removal.
#[derive(Clone, PartialEq, Eq)]
enum Change {
    Removal,
    Of(Vec<usize>),
}

impl Waits {
    /// Looks at all that each key brings about, and at what follows from that.
    pub fn of(keys: &[Arc<ForeignKeyRecord>], waiting: &Waiting<'_>) -> Waits {
        let mut waits = Waits {
            deletes: BTreeSet::new(),
            updates: BTreeSet::new(),
        };
        if waiting.calling.is_empty() && waiting.triggers.values().all(Vec::is_empty) {
            return waits;
        }
        let mut by_parent: BTreeMap<TableId, Vec<&ForeignKeyRecord>> = BTreeMap::new();
        for key in keys {
            by_parent.entry(key.parent).or_default().push(key);
        }
        for key in keys {
            if waiting.for_action(key, Event::Delete, &by_parent) {
                waits.deletes.insert(key.id);
            }
            if waiting.for_action(key, Event::Update, &by_parent) {
                waits.updates.insert(key.id);
            }
        }
        waits
    }

    fn for_action(&self, key: &ForeignKeyRecord, event: Event) -> bool {
        match event {
            Event::Delete => self.deletes.contains(&key.id),
            Event::Update => self.updates.contains(&key.id),
        }
    }
}

impl Waiting<'_> {
    fn for_action(
        &self,
        key: &ForeignKeyRecord,
        event: Event,
        by_parent: &BTreeMap<TableId, Vec<&ForeignKeyRecord>>,
    ) -> bool {
        let Some(change) = brought_about(key, event) else {
            return false;
        };
        let mut changes = vec![(key.child, change)];
        let mut at = 0;
        while let Some((table, change)) = changes.get(at).cloned() {
            at += 1;
            if self.of_change(table, &change) {
                return true;
            }
            for key in by_parent.get(&table).into_iter().flatten() {
                let event = match &change {
                    Change::Removal => Event::Delete,
                    Change::Of(columns) if meet(columns, &key.parent_columns) => Event::Update,
                    Change::Of(_) => continue,
                };
                let next = brought_about(key, event).map(|change| (key.child, change));
                changes.extend(next.filter(|next| !changes.contains(next)));
            }
        }
        false
    }

    fn of_change(&self, table: TableId, change: &Change) -> bool {
        if matches!(change, Change::Of(_)) && self.calling.contains(&table) {
            return true;
        }
        let mut triggers = self.triggers.get(&table).into_iter().flatten();
        triggers.any(|trigger| match change {
            _ if !trigger.is_enabled() => false,
            Change::Removal => trigger.delete,
            Change::Of(columns) => {
                trigger.update && (trigger.columns.is_empty() || meet(&trigger.columns, columns))
            }
        })
    }
}

fn brought_about(key: &ForeignKeyRecord, event: Event) -> Option<Change> {
    match (event, key.on_delete, key.on_update) {
        (Event::Delete, 'c', _) => Some(Change::Removal),
        (Event::Delete, 'n' | 'd', _) if !key.set.is_empty() => Some(Change::Of(key.set.clone())),
        (Event::Delete, 'n' | 'd', _) | (Event::Update, _, 'c' | 'n' | 'd') => {
            Some(Change::Of(key.columns.clone()))
        }
        _ => None,
    }
}

fn meet(columns: &[usize], others: &[usize]) -> bool {
    columns.iter().any(|column| others.contains(column))
}
