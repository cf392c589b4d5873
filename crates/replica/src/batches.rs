//! Which statements make the changes of a write set: as few as possible.
//!
//! Relies on: no triggers and no foreign keys act at an apply, so changes of different tables know nothing of one another.
//! Promises: changes of one table take effect in their order, and a row is in no batch twice.  Does not: run anything.
//!
//! ```text
//!   changes ─► table by table ─► runs of one kind ─► pieces of few different lengths ─► statements
//! ```
//!
//! A statement for each number of rows would be prepared and kept for each; so a run is cut into pieces of [`LENGTHS`].

use crate::apply_sql::{Apply, Fixed};
use crate::front::PREFIX;
use crate::write_set::{Change, Field, Identity, Relation, Tuple, WriteSet};
use std::sync::Arc;

/// Lengths of pieces, largest first. Any run of up to 19 rows, such as the lines of an order, is two pieces at most.
const LENGTHS: [usize; 8] = [16, 12, 8, 6, 4, 3, 2, 1];

/// Numbers of types below this are the same at every server; those of types that were created are not.
const FIRST_CREATED_TYPE: u32 = 16_384;

/// A statement, and the rows that it has to touch; nothing where the number says nothing.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    pub apply: Apply<'a>,
    pub rows: Option<(&'a Arc<Relation>, u64)>,
}

/// Consecutive changes of one table that may be made together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Insert,
    Update,
    Delete,
}

struct Run<'a> {
    kind: Kind,
    relation: &'a Arc<Relation>,
    rows: Vec<&'a Tuple>,
}

/// Statements for all changes.
pub(crate) fn batches<'a>(write_set: &'a WriteSet, fixed: &Fixed) -> Vec<Batch<'a>> {
    let mut batches = Vec::new();
    for changes in by_table(write_set.changes()) {
        let mut run: Option<Run<'a>> = None;
        for change in changes {
            let together = together(change, fixed);
            if let (Some((kind, relation, row)), Some(run)) = (together, &mut run)
                && run.takes(kind, relation, row)
            {
                run.rows.push(row);
                continue;
            }
            if let Some(run) = run.take() {
                run.end(fixed, &mut batches);
            }
            match together {
                Some((kind, relation, row)) => {
                    let rows = vec![row];
                    run = Some(Run {
                        kind,
                        relation,
                        rows,
                    });
                }
                None => batches.push(alone(change, fixed)),
            }
        }
        if let Some(run) = run {
            run.end(fixed, &mut batches);
        }
    }
    batches
}

/// How a change may be made together with others, if it may.
fn together<'a>(change: &'a Change, fixed: &Fixed) -> Option<(Kind, &'a Arc<Relation>, &'a Tuple)> {
    match change {
        Change::Insert { relation, new } if !is_calls(relation) => {
            Some((Kind::Insert, relation, new))
        }
        Change::Update {
            relation,
            old: None,
            new,
        } => {
            let fits = fixed.is_empty()
                && !is_calls(relation)
                && has_short_key(relation)
                && relation.columns.iter().any(|column| !column.key)
                && relation
                    .columns
                    .iter()
                    .all(|column| column.type_oid < FIRST_CREATED_TYPE);
            fits.then_some((Kind::Update, relation, new))
        }
        Change::Delete { relation, old } => {
            let mut keys = relation.columns.iter().filter(|column| column.key);
            let fits =
                has_short_key(relation) && keys.all(|column| column.type_oid < FIRST_CREATED_TYPE);
            fits.then_some((Kind::Delete, relation, old))
        }
        _ => None,
    }
}

/// A change by itself.
fn alone<'a>(change: &'a Change, fixed: &Fixed) -> Batch<'a> {
    let (relation, apply) = match change {
        Change::Insert { relation, new } => (relation, Apply::upsert(relation, new)),
        Change::Update { relation, old, new } => {
            let whole = !new.fields().any(|field| field == Field::Unchanged);
            let apply = if is_calls(relation) && whole {
                Apply::upsert(relation, new)
            } else {
                Apply::update(relation, old.as_ref(), new, fixed)
            };
            (relation, apply)
        }
        Change::Delete { relation, old } => (relation, Apply::delete(relation, old)),
        Change::Truncate {
            relations,
            cascade,
            restart,
        } => {
            let relations = relations.iter().map(|relation| &**relation);
            return Batch {
                apply: Apply::truncate(relations, *cascade, *restart),
                rows: None,
            };
        }
    };
    Batch {
        apply,
        rows: Some((relation, 1)),
    }
}

impl<'a> Run<'a> {
    fn takes(&self, kind: Kind, relation: &Arc<Relation>, row: &Tuple) -> bool {
        let same = self.kind == kind
            && (Arc::ptr_eq(self.relation, relation) || self.relation == relation);
        match kind {
            _ if !same || self.rows.len() == LENGTHS[0] => false,
            Kind::Insert => true,
            Kind::Update => {
                same_told(self.rows[0], row)
                    && !self.rows.iter().any(|other| same_key(relation, other, row))
            }
            // A row that went and came again has an insert in between, which ends the run.
            Kind::Delete => true,
        }
    }

    fn end(self, fixed: &Fixed, batches: &mut Vec<Batch<'a>>) {
        let Run {
            kind,
            relation,
            rows,
        } = self;
        let mut rest = &rows[..];
        while !rest.is_empty() {
            let length = LENGTHS
                .into_iter()
                .find(|length| *length <= rest.len())
                .unwrap_or(1);
            let (piece, after) = rest.split_at(length);
            rest = after;
            let apply = match (kind, piece) {
                (Kind::Insert, piece) => Apply::insert(relation, piece),
                (Kind::Update, [row]) => Apply::update(relation, None, row, fixed),
                (Kind::Update, piece) => Apply::update_many(relation, piece),
                (Kind::Delete, [row]) => Apply::delete(relation, row),
                (Kind::Delete, piece) => Apply::delete_many(relation, piece),
            };
            batches.push(Batch {
                apply,
                rows: Some((relation, length as u64)),
            });
        }
    }
}

/// Changes table by table, in the order of each table's first; all in their order if tables were emptied, which may concern others.
fn by_table(changes: &[Change]) -> Vec<Vec<&Change>> {
    let mut tables: Vec<(&Relation, Vec<&Change>)> = Vec::new();
    for change in changes {
        let relation = match change {
            Change::Insert { relation, .. }
            | Change::Update { relation, .. }
            | Change::Delete { relation, .. } => relation,
            Change::Truncate { .. } => return vec![changes.iter().collect()],
        };
        let is = |known: &Relation| {
            std::ptr::eq(known, &**relation)
                || known.name == relation.name && known.schema == relation.schema
        };
        // A transaction writes to few tables.
        match tables.iter_mut().find(|(known, _)| is(known)) {
            Some((_, changes)) => changes.push(change),
            None => tables.push((relation, vec![change])),
        }
    }
    tables.into_iter().map(|(_, changes)| changes).collect()
}

fn is_calls(relation: &Relation) -> bool {
    relation.schema == PREFIX && relation.name == "calls"
}

/// True if rows are told apart by fewer columns than all.
fn has_short_key(relation: &Relation) -> bool {
    relation.identity != Identity::Full && relation.has_key()
}

/// True if the same values of both are told.
fn same_told(one: &Tuple, other: &Tuple) -> bool {
    let told = |field: Field<'_>| field != Field::Unchanged;
    one.fields().map(told).eq(other.fields().map(told))
}

fn same_key(relation: &Relation, one: &Tuple, other: &Tuple) -> bool {
    let columns = relation.columns.iter();
    columns
        .zip(one.fields().zip(other.fields()))
        .all(|(column, (one, other))| !column.key || one == other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write_set::tests::{relation, tuple};

    fn sql(changes: Vec<Change>) -> Vec<String> {
        let mut set = WriteSet::default();
        changes.into_iter().for_each(|change| set.push(change));
        let batches = batches(&set, &Fixed::default());
        let word = |batch: &Batch<'_>| {
            let word = batch
                .apply
                .sql
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned();
            match batch.rows {
                Some((relation, rows)) => format!("{word} {} {rows}", relation.name),
                None => word,
            }
        };
        batches.iter().map(word).collect()
    }

    fn table(name: &str, type_oid: u32) -> Arc<Relation> {
        let mut table = (*relation(
            Identity::Default,
            &[("a", type_oid, true), ("b", 25, false)],
        ))
        .clone();
        table.name = name.to_owned();
        Arc::new(table)
    }

    fn insert(relation: &Arc<Relation>, key: usize) -> Change {
        Change::Insert {
            relation: relation.clone(),
            new: tuple(&[Some(&key.to_string()), None]),
        }
    }

    fn update(relation: &Arc<Relation>, key: usize, value: Option<&str>) -> Change {
        Change::Update {
            relation: relation.clone(),
            old: None,
            new: tuple(&[Some(&key.to_string()), value]),
        }
    }

    fn delete(relation: &Arc<Relation>, key: usize) -> Change {
        Change::Delete {
            relation: relation.clone(),
            old: tuple(&[Some(&key.to_string()), None]),
        }
    }

    #[test]
    fn changes_of_two_tables_in_turn_are_two_statements() {
        let (stock, line) = (table("stock", 23), table("line", 23));
        let changes = (0..6).flat_map(|key| [update(&stock, key, None), insert(&line, key)]);
        assert_eq!(sql(changes.collect()), ["UPDATE stock 6", "INSERT line 6"]);
    }

    #[test]
    fn a_run_is_cut_into_pieces_of_few_lengths() {
        let t = table("t", 23);
        let inserts = |count| sql((0..count).map(|key| insert(&t, key)).collect());
        assert_eq!(inserts(15), ["INSERT t 12", "INSERT t 3"]);
        assert_eq!(inserts(21), ["INSERT t 16", "INSERT t 4", "INSERT t 1"]);
        for count in 1..20 {
            assert!(inserts(count).len() <= 2, "{count}");
        }
    }

    #[test]
    fn the_order_within_a_table_stays() {
        let t = table("t", 23);
        let changes = vec![
            insert(&t, 1),
            insert(&t, 2),
            delete(&t, 1),
            insert(&t, 1),
            update(&t, 1, Some("x")),
            update(&t, 2, Some("x")),
            update(&t, 1, Some("y")),
            update(&t, 2, Some("~")),
        ];
        let expected = [
            "INSERT t 2",
            "DELETE t 1",
            "INSERT t 1",
            "UPDATE t 2",
            "UPDATE t 1",
            "UPDATE t 1",
        ];
        assert_eq!(sql(changes), expected);
    }

    #[test]
    fn rows_of_created_types_are_changed_one_by_one() {
        let t = table("t", 20_000);
        let changes = vec![
            update(&t, 1, None),
            update(&t, 2, None),
            delete(&t, 1),
            delete(&t, 2),
        ];
        assert_eq!(
            sql(changes),
            ["UPDATE t 1", "UPDATE t 1", "DELETE t 1", "DELETE t 1"]
        );
    }
}
