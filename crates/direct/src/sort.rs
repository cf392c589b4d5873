//! Ordered frames.
//!
//! Relies on: `Value::order`, `rank`, `runs`.  Promises: stable; with `top` it never holds more than twice as many
//! rows as are asked for; rows beyond the statement's memory go to files, sorted, and are merged as they are handed
//! out.  Does not: keep single rows that are too large for memory.
//!
//! With `top` = n, rows are gathered up to 2n, sorted, cut to n, and gathered again: each row takes
//! part in one or two sorts on average, and equal rows keep their order, which a heap would not do. After the first cut the
//! last of the n is known, and rows that come behind it are not kept; a table's are passed over where they lie (`sieve::Last`).

use crate::context::{Env, Halt, row_bytes};
use crate::cursor::{Cursor, row_count};
use crate::rank;
use crate::runs::{Merge, Runs};
use crate::sieve::{Last, Probe};
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
    rows: Option<Rows>,
    bytes: usize,
}

/// A row and the values that it is ordered by.
pub(crate) struct Sorted {
    pub keys: Vec<Value>,
    pub row: Vec<Value>,
}

enum Rows {
    Memory(std::vec::IntoIter<Sorted>),
    /// And how many more are wanted.
    Files(Box<Merge>, usize),
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
        if let Some(Rows::Files(merge, _)) = self.rows.take() {
            merge.release(env);
        }
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
            self.rows = Some(self.sort(input, keys, top, env, frame, base)?);
        }
        frame.truncate(base);
        let next = match &mut self.rows {
            Some(Rows::Memory(rows)) => rows.next(),
            Some(Rows::Files(merge, left)) if *left > 0 => {
                *left -= 1;
                merge.next(keys, env)?
            }
            _ => None,
        };
        match next {
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
    ) -> Result<Rows, Halt> {
        let top = row_count(top, "LIMIT", SqlState::INVALID_ROW_COUNT_IN_LIMIT, env)?;
        let top = top.map_or(usize::MAX, |top| usize::try_from(top).unwrap_or(usize::MAX));
        let cut_at = top.saturating_mul(2).max(GATHER_ROWS_MIN);
        let mut rows = Vec::new();
        let mut runs: Option<Runs> = None;
        // As soon as as many are there as are wanted, what comes behind the last of them need not be kept.
        let mut last: Option<Vec<Value>> = None;
        let mut probe = None;
        let spare = input.gives_frames_away();
        loop {
            let found = match (&mut self.input, input, &probe) {
                (Cursor::Scan(cursor), Plan::Scan(access), Some(last)) => {
                    cursor.next_probed(access, &Probe::Until(last), env, frame, base)?
                }
                (cursor, ..) => cursor.next(input, env, frame, base)?,
            };
            if !found {
                break;
            }
            let values = sort_values(keys, env, frame)?;
            if last
                .as_ref()
                .is_some_and(|last| compare(last, &values, keys).is_le())
            {
                continue;
            }
            let sorted = Sorted {
                keys: values,
                row: match spare {
                    true => frame.drain(base..).collect(),
                    false => frame[base..].to_vec(),
                },
            };
            let bytes = sorted.bytes();
            if !env.may_charge_rows(bytes) {
                if !rows.is_empty() {
                    let runs = runs.get_or_insert_with(|| Runs::new(keys, &input.frame_types()));
                    self.put_away(&mut rows, runs, (keys, top), env)?;
                }
                env.charge(bytes)?;
            }
            self.bytes += bytes;
            rows.push(sorted);
            if rows.len() >= cut_at {
                sort_rows(&mut rows, keys);
                self.cut(&mut rows, top, env);
                last = rows.get(top.wrapping_sub(1)).map(|row| row.keys.clone());
                if let (Some(last), Plan::Scan(access)) = (&last, input) {
                    probe = probe.or_else(|| Last::new(keys, access, (env.params, env.host)));
                    probe.iter_mut().for_each(|probe| probe.set(&last[0]));
                }
            }
        }
        let Some(mut runs) = runs else {
            sort_rows(&mut rows, keys);
            self.cut(&mut rows, top, env);
            return Ok(Rows::Memory(rows.into_iter()));
        };
        self.put_away(&mut rows, &mut runs, (keys, top), env)?;
        Ok(Rows::Files(Box::new(runs.merge(keys, env)?), top))
    }

    /// Memory has no room for more of them.
    fn put_away(
        &mut self,
        rows: &mut Vec<Sorted>,
        runs: &mut Runs,
        (keys, top): (&[SortKey], usize),
        env: &mut Env<'_>,
    ) -> Result<(), Halt> {
        sort_rows(rows, keys);
        self.cut(rows, top, env);
        // Merging may need the memory.
        env.release(std::mem::take(&mut self.bytes));
        let sorted = std::mem::take(rows);
        runs.add(&sorted, keys, env)?;
        Ok(())
    }

    fn cut(&mut self, rows: &mut Vec<Sorted>, top: usize, env: &mut Env<'_>) {
        if rows.len() > top {
            let freed: usize = rows.drain(top..).map(|sorted| sorted.bytes()).sum();
            self.bytes -= freed;
            env.release(freed);
        }
    }
}

impl Sorted {
    /// All of it, as `runs` keeps it.
    pub fn values(&self) -> Vec<&Value> {
        self.keys.iter().chain(&self.row).collect()
    }

    fn bytes(&self) -> usize {
        row_bytes(&self.keys) + row_bytes(&self.row) + size_of::<(u128, u32)>()
    }
}

fn sort_rows(rows: &mut Vec<Sorted>, keys: &[SortKey]) {
    rank::sort(rows, keys, |row| &row.keys);
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
