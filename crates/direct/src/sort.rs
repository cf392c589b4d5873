//! Ordered frames.
//!
//! Relies on: `packed` for rows in one piece, `runs`.  Promises: stable; with `top` it never holds more than twice as many
//! rows as are asked for; rows beyond the statement's memory go to files, sorted, and are merged as they are handed
//! out.  Does not: keep single rows that are too large for memory.
//!
//! With `top` = n, rows are gathered up to 2n, sorted, cut to n, and gathered again: each row takes
//! part in one or two sorts on average, and equal rows keep their order, which a heap would not do. After the first cut the
//! last of the n is known, and rows that come behind it are not kept; a table's are passed over where they lie (`sieve::Last`).

use crate::context::{Env, Halt};
use crate::cursor::{Cursor, row_count};
use crate::packed::{Draft, Packed, Piece, Shape};
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
    /// Sorted; `None` until the input has been read.
    rows: Option<Rows>,
    bytes: usize,
}

enum Rows {
    /// And the number of the next one.
    Memory(Shape, Packed, usize),
    /// And how many more are wanted.
    Files(Box<Merge>, usize),
}

/// What a sort looks for.
struct Wanted<'w> {
    keys: &'w [SortKey],
    /// So many rows, the first ones.
    top: usize,
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
            let top = row_count(top, "LIMIT", SqlState::INVALID_ROW_COUNT_IN_LIMIT, env)?;
            let top = top.map_or(usize::MAX, |top| usize::try_from(top).unwrap_or(usize::MAX));
            self.rows = Some(self.sort(input, &Wanted { keys, top }, env, frame, base)?);
        }
        frame.truncate(base);
        match &mut self.rows {
            Some(Rows::Memory(shape, rows, next)) => {
                let Some(row) = rows.row(*next) else {
                    return Ok(false);
                };
                *next += 1;
                shape.unpack(row, frame)?;
                Ok(true)
            }
            Some(Rows::Files(merge, left)) if *left > 0 => {
                *left -= 1;
                Ok(merge.next(env, frame)?)
            }
            _ => Ok(false),
        }
    }

    fn sort(
        &mut self,
        input: &Plan,
        wanted: &Wanted<'_>,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<Rows, Halt> {
        let Wanted { keys, top } = *wanted;
        let shape = Shape::new(keys, &input.frame_types(), base);
        let cut_at = top.saturating_mul(2).max(GATHER_ROWS_MIN);
        let (mut rows, mut draft) = (Packed::default(), Draft::default());
        let mut runs: Option<Runs> = None;
        // As soon as as many are there as are wanted, what comes behind the last of them need not be kept.
        let mut last: Option<Piece> = None;
        let mut probe = None;
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
            shape.draft(keys, env, (frame, base), &mut draft)?;
            if last.as_ref().is_some_and(|last| last.rank < draft.rank()) {
                continue;
            }
            shape.pack(&frame[base..], &mut draft);
            if let Some(last) = &last
                && last.rank == draft.rank()
                && shape.compare(&last.bytes, draft.bytes()).is_le()
            {
                continue;
            }
            let bytes = draft.kept_bytes();
            if !env.may_charge_rows(bytes) {
                if !rows.is_empty() {
                    let runs = runs.get_or_insert_with(|| Runs::new(shape.clone()));
                    self.put_away(&mut rows, &shape, runs, top, env)?;
                }
                env.charge(bytes)?;
            }
            self.bytes += bytes;
            rows.push(&draft);
            if rows.len() >= cut_at {
                rows.sort(&shape);
                self.cut(&mut rows, top, env);
                last = rows.piece(top.wrapping_sub(1));
                if let (Some(last), Plan::Scan(access)) = (&last, input) {
                    probe = probe.or_else(|| Last::new(keys, access, (env.params, env.host)));
                    if let Some(probe) = &mut probe {
                        probe.set(shape.first_of(&last.bytes)?);
                    }
                }
            }
        }
        let Some(mut runs) = runs else {
            rows.sort(&shape);
            self.cut(&mut rows, top, env);
            return Ok(Rows::Memory(shape, rows, 0));
        };
        self.put_away(&mut rows, &shape, &mut runs, top, env)?;
        Ok(Rows::Files(Box::new(runs.merge(env)?), top))
    }

    /// Memory has no room for more of them.
    fn put_away(
        &mut self,
        rows: &mut Packed,
        shape: &Shape,
        runs: &mut Runs,
        top: usize,
        env: &mut Env<'_>,
    ) -> Result<(), Halt> {
        rows.sort(shape);
        self.cut(rows, top, env);
        // Merging may need the memory.
        env.release(std::mem::take(&mut self.bytes));
        runs.add(std::mem::take(rows).rows(), env)?;
        Ok(())
    }

    fn cut(&mut self, rows: &mut Packed, top: usize, env: &mut Env<'_>) {
        if rows.len() > top {
            rows.cut(top);
            let freed = self.bytes - rows.bytes();
            self.bytes -= freed;
            env.release(freed);
        }
    }
}

/// The values to order a frame by: `char(n)` without trailing blanks, as it compares.
pub(crate) fn sort_values(
    keys: &[SortKey],
    env: &mut Env<'_>,
    frame: &[Value],
) -> Result<Vec<Value>, Halt> {
    keys.iter().map(|key| sort_value(key, env, frame)).collect()
}

/// One of them.
pub(crate) fn sort_value(key: &SortKey, env: &mut Env<'_>, frame: &[Value]) -> Result<Value, Halt> {
    let value = env.eval(&key.expr, frame)?;
    Ok(match value {
        Value::Text(text) if key.expr.ty() == SqlType::Bpchar => {
            Value::text(text.trim_end_matches(' '))
        }
        value => value,
    })
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
