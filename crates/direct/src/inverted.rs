//! Entries of inverted indexes: one for each element of a row.
//!
//! Relies on: `ir::elements` for what a value's elements are.  Promises: one place that writes their keys; a row that changes keeps the
//! entries of the elements that stay.  Does not: lock anything: no entry is anybody's own, and the row is locked by whoever
//! changes it.
//!
//! ```text
//!   entry    which of the index's columns, a byte │ element │ row key        none if the row is not in a partial index
//! ```

use crate::context::{Env, Halt};
use crate::keys::check_length;
use quintet_base::{Bytes, Value};
use quintet_ir::{IndexDef, TableDef};
use std::collections::BTreeSet;

/// What the keys of the entries of an element begin with.
pub(crate) fn prefix(place: usize, element: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 + element.len() + 32);
    // No index has more than 32 columns.
    out.push(place as u8);
    out.extend_from_slice(element);
    out
}

/// The keys of a row's entries, in their order. The row is given as the table's frame.
pub(crate) fn entries(index: &IndexDef, row: &[Value], row_key: &[u8]) -> BTreeSet<Bytes> {
    if index.partial && row[index.columns[0]].is_null() {
        return BTreeSet::new();
    }
    let columns = index.inverted.iter().zip(index.asked()).enumerate();
    let of_column = columns.flat_map(|(place, (elements, &column))| {
        let elements = elements.of(&row[column]);
        elements.into_iter().map(move |element| {
            let mut key = prefix(place, &element);
            key.extend_from_slice(row_key);
            Bytes::from(key)
        })
    });
    of_column.collect()
}

/// Adds entries of a row.
pub(crate) fn put<'k>(
    table: &TableDef,
    index: &IndexDef,
    entries: impl IntoIterator<Item = &'k Bytes>,
    row_key: &Bytes,
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    for key in entries {
        check_length(key, &index.name)?;
        let put = env.txn.put(index.space, key, row_key);
        put.map_err(|error| env.halt(error, &table.name))?;
    }
    Ok(())
}

/// Takes entries of a row away.
pub(crate) fn remove<'k>(
    table: &TableDef,
    index: &IndexDef,
    entries: impl IntoIterator<Item = &'k Bytes>,
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    for key in entries {
        let removed = env.txn.delete(index.space, key.clone());
        removed.map_err(|error| env.halt(error, &table.name))?;
    }
    Ok(())
}
