//! Where rows and index entries live, and which keys a range of a plan means.
//!
//! Relies on: `base::key` (the bytes' order is the values' order, NULL last) and the table in
//! `ir::schema`.  Promises: one place that writes keys, so readers and writers agree; `col > x` never
//! reaches the NULLs.  Does not: read or write anything.
//!
//! ```text
//!   row key        k1 k2 …                    primary key columns, or the hidden row id
//!   unique entry   c1 c2 …                    if none of them is NULL, or NULLs are equal
//!   other entry    c1 c2 … │ row key         none of a partial index if c1 is NULL; of inverted ones see `inverted`
//!
//!   range          e1 e2 … │ bound            equal │ then a bound on the next column
//!     > v          from the successor of …v   up to  NULL, exclusive
//!     ≥ v          from …v                    up to  NULL, exclusive
//!     < v          from the equal part        up to  …v, exclusive
//!     ≤ v          from the equal part        up to  the successor of …v, exclusive
//! ```

use crate::context::Env;
use quintet_base::limits::KEY_BYTES_MAX;
use quintet_base::{Bytes, SpaceId, SqlError, SqlResult, SqlState, SqlType, Value, key};
use quintet_dc::KeyRange as StoreRange;
use quintet_ir::{Expr, IndexDef, KeyRange, TableDef};
use std::borrow::Borrow;
use std::ops::Bound;

/// Appends a value as a column of this type has it in keys: `char(n)` without trailing blanks.
pub(crate) fn push(value: &Value, ty: SqlType, out: &mut Vec<u8>) {
    match value {
        Value::Text(text) if ty == SqlType::Bpchar && text.ends_with(' ') => {
            key::encode(&Value::text(text.trim_end_matches(' ')), out);
        }
        _ => key::encode(value, out),
    }
}

/// Appends the key of a row given as the table's frame.
pub(crate) fn push_row_key<V: Borrow<Value>>(table: &TableDef, row: &[V], out: &mut Vec<u8>) {
    match &table.primary_key {
        Some(primary) => {
            for &column in &primary.columns {
                push(row[column].borrow(), table.columns[column].ty, out);
            }
        }
        None => key::encode(row[table.columns.len()].borrow(), out),
    }
}

/// The key of a row given as the table's frame.
pub(crate) fn row_key(table: &TableDef, row: &[Value]) -> Bytes {
    let mut out = Vec::with_capacity(32);
    push_row_key(table, row, &mut out);
    Bytes::from(out)
}

/// An index entry's key.
pub(crate) struct EntryKey {
    pub key: Bytes,
    /// No other row may have an entry at this key.
    pub exclusive: bool,
    /// Whoever writes or removes it keeps others from entries that begin as it does, with so many bytes: the columns of a
    /// key that is looked at late, or those that must be equal for an exclusion.
    pub late: Option<usize>,
    /// There is no such entry: the index is a partial one and the row is not in it, or an inverted one.
    pub absent: bool,
}

/// The entry of a row, given as the table's frame and its key.
pub(crate) fn entry_key(
    table: &TableDef,
    index: &IndexDef,
    row: &[Value],
    row_key: &[u8],
) -> EntryKey {
    if index.is_inverted() {
        return EntryKey {
            key: Bytes::new(),
            exclusive: false,
            late: None,
            absent: true,
        };
    }
    let mut out = Vec::with_capacity(32 + row_key.len());
    let mut whole = true;
    let alike = index.excludes.as_ref().map(|excludes| {
        let predicate = usize::from(index.partial);
        predicate + excludes.equals
    });
    let mut begins = 0;
    for (place, &column) in index.columns.iter().enumerate() {
        if alike == Some(place) {
            begins = out.len();
        }
        whole &= index.nulls_equal || !row[column].is_null();
        push(&row[column], table.columns[column].ty, &mut out);
    }
    if alike.is_none_or(|alike| alike == index.columns.len()) {
        begins = out.len();
    }
    let exclusive = whole && index.unique;
    let looked_at = index.late.is_some() || alike.is_some();
    let late = (whole && looked_at).then_some(begins);
    if !exclusive {
        out.extend_from_slice(row_key);
    }
    EntryKey {
        key: Bytes::from(out),
        exclusive,
        late,
        absent: index.partial && row[index.columns[0]].is_null(),
    }
}

/// `54000` for a key that the stores do not take.
pub(crate) fn check_length(key: &[u8], owner: &str) -> SqlResult<()> {
    if key.len() <= KEY_BYTES_MAX {
        return Ok(());
    }
    Err(SqlError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!(
            "index row size {} exceeds maximum {KEY_BYTES_MAX} for index \"{owner}\"",
            key.len()
        ),
    )
    .hint("Values larger than this cannot be indexed."))
}

/// Name of the key that rows are kept by, for messages.
pub(crate) fn primary_name(table: &TableDef) -> &str {
    table
        .primary_key
        .as_ref()
        .map_or(&table.name, |primary| &primary.name)
}

/// The columns of an access path, for the types of its ranges.
#[derive(Clone, Copy)]
pub(crate) enum KeyColumns<'t> {
    /// Of the row key.
    Row(&'t TableDef),
    /// Of an index.
    Entry(&'t TableDef, &'t IndexDef),
}

impl KeyColumns<'_> {
    fn ty(&self, place: usize) -> SqlType {
        match self {
            KeyColumns::Row(table) => match &table.primary_key {
                Some(primary) => table.columns[primary.columns[place]].ty,
                None => SqlType::Int8,
            },
            KeyColumns::Entry(table, index) => table.columns[index.columns[place]].ty,
        }
    }

    /// Where the keys are.
    pub fn space(&self) -> SpaceId {
        match self {
            KeyColumns::Row(table) => table.space,
            KeyColumns::Entry(_, index) => index.space,
        }
    }

    fn width(&self) -> usize {
        match self {
            KeyColumns::Row(table) => table.primary_key.as_ref().map_or(1, |p| p.columns.len()),
            KeyColumns::Entry(_, index) => index.columns.len(),
        }
    }

    /// True if the range can hold one key only.
    pub fn is_point(&self, range: &KeyRange) -> bool {
        let unique = match self {
            KeyColumns::Row(_) => true,
            KeyColumns::Entry(_, index) => index.unique,
        };
        unique && range.equal.len() == self.width()
    }

    /// Appends the equal part; false if a NULL in it means that there are no rows.
    pub fn push_equal(
        &self,
        range: &KeyRange,
        env: &Env<'_>,
        outer: &[Value],
        out: &mut Vec<u8>,
    ) -> SqlResult<bool> {
        for (place, expr) in range.equal.iter().enumerate() {
            if !self.push_bound(place, expr, env, outer, out)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn push_bound(
        &self,
        place: usize,
        expr: &Expr,
        env: &Env<'_>,
        outer: &[Value],
        out: &mut Vec<u8>,
    ) -> SqlResult<bool> {
        let value = match quintet_ir::leaf(expr, outer, env.params) {
            Some(value) => value,
            None => &env.eval_plain(expr, outer)?,
        };
        if value.is_null() {
            return Ok(false);
        }
        push(value, self.ty(place), out);
        Ok(true)
    }

    /// The keys a range means; `None`: no rows, because of a NULL.
    pub fn range(
        &self,
        range: &KeyRange,
        env: &Env<'_>,
        outer: &[Value],
    ) -> SqlResult<Option<StoreRange>> {
        let mut equal = Vec::with_capacity(32);
        if !self.push_equal(range, env, outer, &mut equal)? {
            return Ok(None);
        }
        if self.is_point(range) {
            return Ok(Some(StoreRange::one(equal)));
        }
        if range.lower.is_none() && range.upper.is_none() {
            return Ok(Some(StoreRange::prefix(equal)));
        }
        let place = range.equal.len();
        let bound_key = |expr: &Expr| -> SqlResult<Option<Vec<u8>>> {
            let mut out = equal.clone();
            Ok(self
                .push_bound(place, expr, env, outer, &mut out)?
                .then_some(out))
        };
        let lower = match &range.lower {
            None => Bound::Included(Bytes::copy_from_slice(&equal)),
            Some(bound) => match bound_key(&bound.value)? {
                None => return Ok(None),
                Some(key) if bound.inclusive => Bound::Included(Bytes::from(key)),
                Some(key) => Bound::Included(after(&key)),
            },
        };
        let upper = match &range.upper {
            None => {
                // A comparison is never true for NULL, and NULL sorts last.
                let mut nulls = equal.clone();
                key::encode(&Value::Null, &mut nulls);
                Bound::Excluded(Bytes::from(nulls))
            }
            Some(bound) => match bound_key(&bound.value)? {
                None => return Ok(None),
                Some(key) if bound.inclusive => Bound::Excluded(after(&key)),
                Some(key) => Bound::Excluded(Bytes::from(key)),
            },
        };
        Ok(Some(StoreRange { lower, upper }))
    }
}

/// The lowest key above all that begin with `prefix`. There always is one: the prefix ends in a
/// column's encoding, which begins with a tag below FF.
fn after(prefix: &[u8]) -> Bytes {
    Bytes::from(key::successor(prefix).expect("the encoding's tag is not FF"))
}
