//! What a call has touched, row by row, for whoever said before which rows these would be.
//!
//! Relies on: nothing.  Promises: every row that a statement finds by its access paths, whether its filter takes
//! it or not; every row that one adds, changes, removes or locks, or tries to; every key of a unique
//! index that one takes or gives up. What a handler undoes stays noted.  Does not: note columns that are read.

use crate::constraint::{claim, unique_keys};
use crate::database::Key;
use quintet_base::Value;
use quintet_ir::TableDef;
use quintet_ir::schema::TableRef;
use quintet_ir::statement::Arbiter;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Something that was done to a row, or to a key of an index.
#[derive(Clone, Debug)]
pub struct Touched {
    /// Of this table.
    pub table: TableRef,
    /// What was done.
    pub deed: Deed,
    /// The values of the row's key, or of the index's columns, as they compare.
    pub key: Vec<Value>,
}

/// What was done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Deed {
    /// Looked at.
    Read,
    /// FOR UPDATE, FOR SHARE.
    Lock,
    /// These columns got other values.
    Update(BTreeSet<usize>),
    /// Added, or tried to.
    Insert,
    /// Removed.
    Delete,
    /// A key of this unique index was taken, or tried to.
    Claim(usize),
    /// A key of this unique index was given up.
    Release(usize),
}

/// All of it, in order.
#[derive(Debug, Default)]
pub struct Trace(RefCell<Vec<Touched>>);

impl Trace {
    /// What was touched.
    pub fn into_touched(self) -> Vec<Touched> {
        self.0.into_inner()
    }

    pub(crate) fn row(&self, table: &TableRef, deed: Deed, row: &[Value]) {
        self.note(table, deed, Key::of_row(table, row));
    }

    fn note(&self, table: &TableRef, deed: Deed, key: Key) {
        self.0.borrow_mut().push(Touched {
            table: TableRef::clone(table),
            deed,
            key: key.0,
        });
    }

    /// A new row.
    pub(crate) fn added(&self, table: &TableRef, row: &[Value]) {
        self.row(table, Deed::Insert, row);
        self.indexed(table, row, Deed::Claim);
    }

    /// A row that goes.
    pub(crate) fn removed(&self, table: &TableRef, row: &[Value]) {
        self.row(table, Deed::Delete, row);
        self.indexed(table, row, Deed::Release);
    }

    /// A row that gets other values.
    pub(crate) fn changed(&self, table: &TableRef, old: &[Value], new: &[Value]) {
        if Key::of_row(table, old) != Key::of_row(table, new) {
            self.removed(table, old);
            self.added(table, new);
            return;
        }
        let columns = (0..table.columns.len()).filter(|column| old[*column] != new[*column]);
        self.row(table, Deed::Update(columns.collect()), old);
        for index in indexes(table) {
            let [before, after] = [old, new].map(|row| claim(table, Arbiter::Index(index), row));
            if before != after {
                if let Some(key) = before {
                    self.note(table, Deed::Release(index), key);
                }
                if let Some(key) = after {
                    self.note(table, Deed::Claim(index), key);
                }
            }
        }
    }

    fn indexed(&self, table: &TableRef, row: &[Value], deed: impl Fn(usize) -> Deed) {
        for index in indexes(table) {
            if let Some(key) = claim(table, Arbiter::Index(index), row) {
                self.note(table, deed(index), key);
            }
        }
    }
}

/// Numbers of the unique indexes.
fn indexes(table: &TableDef) -> Vec<usize> {
    let unique = unique_keys(table).into_iter();
    unique
        .filter_map(|unique| match unique {
            Arbiter::Index(number) => Some(number),
            Arbiter::Primary => None,
        })
        .collect()
}
