//! Ordered frames.
//!
//! Relies on: `Value::order`.  Promises: stable; with `top` it never holds more than twice as many
//! rows as are asked for.  Does not: spill to disk: a sort beyond the statement's memory is refused.
//!
//! With `top` = n, rows are gathered up to 2n, sorted, cut to n, and gathered again: each row takes
//! part in one or two sorts on average, and equal rows keep their order, which a heap would not do.

use crate::context::{Env, Halt, row_bytes};
use crate::cursor::{Cursor, row_count};
use quintet_base::{SqlState, SqlType, Value};
use quintet_ir::plan::SortKey;
use quintet_ir::{Expr, Plan};
use std::cmp::Ordering;

/// Rows are gathered at least up to here before a cut, so that a small `top` does not sort all the time.
const GATHER_ROWS_MIN: usize = 256;

/// Where a sort has come to.
pub(crate) struct SortCursor {
    input: Cursor,
    /// Sorted, with their keys; `None` until the input has been read.
    rows: Option<std::vec::IntoIter<Sorted>>,
    bytes: usize,
}

struct Sorted {
    keys: Vec<Value>,
    row: Vec<Value>,
}

impl SortCursor {
    pub fn new(input: &Plan) -> SortCursor {
        SortCursor {
            input: Cursor::new(input),
            rows: None,
            bytes: 0,
        }
    }

    pub fn rewind(&mut self, input: &Plan, env: &mut Env<'_>) {
        self.rows = None;
        env.release(std::mem::take(&mut self.bytes));
        self.input.rewind(input, env);
    }

    /// See [`Cursor::next`].
    pub fn next(
        &mut self,
        input: &Plan,
        keys: &[SortKey],
        top: Option<&Expr>,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        if self.rows.is_none() {
            let rows = self.sort(input, keys, top, env, frame, base)?;
            self.rows = Some(rows.into_iter());
        }
        frame.truncate(base);
        match self.rows.as_mut().and_then(Iterator::next) {
            Some(sorted) => {
                frame.extend(sorted.row);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn sort(
        &mut self,
        input: &Plan,
        keys: &[SortKey],
        top: Option<&Expr>,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<Vec<Sorted>, Halt> {
        let top = row_count(top, "LIMIT", SqlState::INVALID_ROW_COUNT_IN_LIMIT, env)?;
        let top = top.and_then(|top| usize::try_from(top).ok());
        let cut_at = top.map(|top| top.saturating_mul(2).max(GATHER_ROWS_MIN));
        let mut rows = Vec::new();
        while self.input.next(input, env, frame, base)? {
            let sorted = Sorted {
                keys: sort_values(keys, env, frame)?,
                row: frame[base..].to_vec(),
            };
            let bytes = sorted.bytes();
            env.charge(bytes)?;
            self.bytes += bytes;
            rows.push(sorted);
            if cut_at.is_some_and(|cut_at| rows.len() >= cut_at) {
                sort_rows(&mut rows, keys);
                self.cut(&mut rows, top, env);
            }
        }
        sort_rows(&mut rows, keys);
        self.cut(&mut rows, top, env);
        Ok(rows)
    }

    fn cut(&mut self, rows: &mut Vec<Sorted>, top: Option<usize>, env: &mut Env<'_>) {
        let top = top.unwrap_or(usize::MAX);
        if rows.len() > top {
            let freed: usize = rows.drain(top..).map(|sorted| sorted.bytes()).sum();
            self.bytes -= freed;
            env.release(freed);
        }
    }
}

impl Sorted {
    fn bytes(&self) -> usize {
        row_bytes(&self.keys) + row_bytes(&self.row)
    }
}

fn sort_rows(rows: &mut [Sorted], keys: &[SortKey]) {
    rows.sort_by(|a, b| compare(&a.keys, &b.keys, keys));
}

/// The values to order a frame by: `char(n)` without trailing blanks, as it compares.
pub(crate) fn sort_values(
    keys: &[SortKey],
    env: &mut Env<'_>,
    frame: &[Value],
) -> Result<Vec<Value>, Halt> {
    keys.iter()
        .map(|key| {
            let value = env.eval(&key.expr, frame)?;
            Ok(match value {
                Value::Text(text) if key.expr.ty() == SqlType::Bpchar => {
                    Value::text(text.trim_end_matches(' '))
                }
                value => value,
            })
        })
        .collect()
}

/// Order of two rows of sort values.
pub(crate) fn compare(a: &[Value], b: &[Value], keys: &[SortKey]) -> Ordering {
    for ((a, b), key) in a.iter().zip(b).zip(keys) {
        let order = match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if key.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if key.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if key.descending => b.order(a),
            (false, false) => a.order(b),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}
