//! What follows from a statement by foreign keys.
//!
//! Relies on: `ir::references`, which has all tables that a change may reach.  Promises: each row that is looked
//! for in another table, and each that goes or changes with one, is in a deed.  Does not: tell from which
//! action a deed comes.
//!
//! ```text
//!   child row added, or its columns set    Check parent: its columns = the child's
//!   parent row gone, or its columns set    Read child: its columns = the parent's as they were
//!                                          Delete or Update child, and what follows from that
//! ```
//! That a child appears while its parent goes need not be said from both sides: who adds it checks the parent.

use crate::columns::Columns;
use crate::deeds::{Effect, Pin, unique_indexes, written_together};
use crate::flow::Walk;
use quintet_ir::schema::TableRef;
use quintet_ir::{ForeignKey, References, ReferentialAction, TableDef};

/// What has happened to rows.
#[derive(Clone, Copy)]
pub(crate) enum Fate<'c> {
    Added,
    Removed,
    /// These columns were set.
    Set(&'c Columns),
}

/// How often one key is followed before it is taken for any row.
const TURNS_MAX: usize = 2;

impl Walk<'_> {
    /// Notes what follows from a change of rows of which this is known before and after it.
    pub fn follow(
        &mut self,
        table: &TableRef,
        fate: Fate<'_>,
        before: &[Vec<Pin>],
        after: &[Vec<Pin>],
    ) {
        if let Some(references) = table.references.clone() {
            let mut turns = vec![0; references.keys.len() * 2];
            self.follow_from((&references, 0), fate, [before, after], &mut turns);
        }
    }

    fn follow_from(
        &mut self,
        (references, table): (&References, usize),
        fate: Fate<'_>,
        [before, after]: [&[Vec<Pin>]; 2],
        turns: &mut [usize],
    ) {
        for (number, key) in references.keys.iter().enumerate() {
            let (child, parent) = (
                &references.tables[key.child],
                &references.tables[key.parent],
            );
            let refers = match fate {
                Fate::Added => true,
                Fate::Removed => false,
                Fate::Set(set) => key.columns.iter().any(|column| set.contains(column)),
            };
            if key.child == table && refers {
                let sought = moved(after, (child, &key.columns), (parent, &key.parent_columns));
                let columns = key.parent_columns.iter().copied().collect();
                self.deed(parent, Effect::Check(columns), &sought);
            }
            let goes = match fate {
                Fate::Added => false,
                Fate::Removed => true,
                Fate::Set(set) => key.parent_columns.iter().any(|column| set.contains(column)),
            };
            if key.parent != table || !goes {
                continue;
            }
            let turn = &mut turns[number * 2 + usize::from(matches!(fate, Fate::Removed))];
            *turn += 1;
            if *turn > TURNS_MAX {
                continue;
            }
            let found = match *turn {
                1 => moved(before, (parent, &key.parent_columns), (child, &key.columns)),
                _ => vec![Vec::new()],
            };
            self.deed(
                child,
                Effect::Read(key.columns.iter().copied().collect()),
                &found,
            );
            self.act((references, key), fate, &found, turns);
        }
    }

    /// What becomes of the rows that refer to one that is gone or has another key.
    fn act(
        &mut self,
        (references, key): (&References, &ForeignKey),
        fate: Fate<'_>,
        found: &[Vec<Pin>],
        turns: &mut [usize],
    ) {
        let child = &references.tables[key.child];
        let action = match fate {
            Fate::Removed => key.on_delete,
            _ => key.on_update,
        };
        match (action, fate) {
            (
                ReferentialAction::NoAction
                | ReferentialAction::Restrict
                | ReferentialAction::InSteps,
                _,
            ) => {}
            (ReferentialAction::Cascade, Fate::Removed) => {
                self.deed(child, Effect::Delete, found);
                for index in unique_indexes(child) {
                    self.deed(child, Effect::Release(index), found);
                }
                let sides = [found, &[]];
                self.follow_from((references, key.child), Fate::Removed, sides, turns);
            }
            _ => {
                let made = child.generated_from(&key.columns);
                let set: Columns = key.columns.iter().copied().chain(made).collect();
                let kept = |pins: &Vec<Pin>| -> Vec<Pin> {
                    let others = pins.iter().filter(|pin| !set.contains(&pin.column));
                    others.cloned().collect()
                };
                let after: Vec<Vec<Pin>> = found.iter().map(kept).collect();
                let moves = (child.key_columns().iter()).any(|column| set.contains(column));
                match moves {
                    true => {
                        self.deed(child, Effect::Delete, found);
                        self.deed(child, Effect::Insert, &after);
                    }
                    false => {
                        let written = written_together(child, &set);
                        self.deed(child, Effect::Update(written), found);
                    }
                }
                for index in unique_indexes(child) {
                    self.deed(child, Effect::Release(index), found);
                    self.deed(child, Effect::Claim(index), &after);
                }
                // Checks look at the rest of the row.
                let all = (0..child.columns.len()).collect();
                self.deed(child, Effect::Read(all), found);
                let sides = [found, &after[..]];
                self.follow_from((references, key.child), Fate::Set(&set), sides, turns);
            }
        }
    }
}

/// Shows the tables that a change of a table may look at or change by its foreign keys, and whether it writes there.
pub(crate) fn reached(table: &TableDef, only_adds: bool, see: &mut dyn FnMut(&TableRef, bool)) {
    let Some(references) = &table.references else {
        return;
    };
    for key in &references.keys {
        if key.child == 0 {
            see(&references.tables[key.parent], false);
        }
        if only_adds {
            continue;
        }
        let stays = |action| {
            matches!(
                action,
                ReferentialAction::NoAction
                    | ReferentialAction::Restrict
                    | ReferentialAction::InSteps
            )
        };
        let writes = !stays(key.on_delete) || !stays(key.on_update);
        see(&references.tables[key.child], writes);
        see(&references.tables[key.parent], false);
    }
}

/// What is known of the columns of one table, as of those of another that are equal to them. Of columns of different
/// types nothing is known.
fn moved(
    pins: &[Vec<Pin>],
    (from, columns): (&TableDef, &[usize]),
    (to, targets): (&TableDef, &[usize]),
) -> Vec<Vec<Pin>> {
    let moved = |pin: &Pin| {
        let place = columns.iter().position(|column| *column == pin.column)?;
        let target = targets[place];
        let same = from.columns[pin.column].ty == to.columns[target].ty;
        same.then(|| Pin {
            column: target,
            ..pin.clone()
        })
    };
    let all = |pins: &Vec<Pin>| pins.iter().filter_map(moved).collect();
    pins.iter().map(all).collect()
}
