//! Window functions, partition by partition.
//!
//! Relies on: an input in order, frames of one partition side by side; `ir::window` for what there is.
//! Promises: frames in the input's order, with the results behind; arguments are evaluated only for
//! rows that somebody looks at.  Does not: sort, or spill to disk: a partition beyond the statement's
//! memory is refused; where functions only count the rows so far, one row is kept and no more.
//!
//! ```text
//!   input:  a a a a b b …        partition a:  rows | order values | peers | results per call
//!                   ▲ ahead: the first row of the next partition
//! ```

mod bounds;
mod evaluate;

use crate::context::{Env, Halt, row_bytes};
use crate::cursor::Cursor;
use crate::sort::{compare, sort_values};
use quintet_base::{SqlError, Value};
use quintet_ir::plan::SortKey;
use quintet_ir::window::{WindowCall, WindowFunction};
use quintet_ir::{Expr, Plan};

/// Where a run over windows has come to.
pub(crate) struct WindowCursor {
    input: Cursor,
    /// What the input sees, and the row that it gave last.
    frame: Vec<Value>,
    started: bool,
    done: bool,
    /// The first row of the partition to come.
    ahead: Option<Row>,
    /// Finished rows of the partition at hand.
    rows: std::vec::IntoIter<Vec<Value>>,
    bytes: usize,
    /// Where only rows so far are counted: the row before.
    before: Option<Counted>,
}

/// A row with what decides where it belongs.
struct Row {
    values: Vec<Value>,
    partition: Vec<u8>,
    order: Vec<Value>,
}

/// How far counting has come.
struct Counted {
    partition: Vec<u8>,
    order: Vec<Value>,
    number: i64,
    rank: i64,
    dense_rank: i64,
}

/// A partition with all its rows.
pub(crate) struct Partition<'p> {
    pub rows: &'p [Vec<Value>],
    /// What each row is ordered by.
    pub order: &'p [Vec<Value>],
    /// Which group of peers each row is in.
    pub group: Vec<usize>,
    /// Where each group begins; behind the last, the number of rows.
    pub starts: Vec<usize>,
    pub keys: &'p [SortKey],
}

impl WindowCursor {
    pub fn new(input: &Plan) -> WindowCursor {
        WindowCursor {
            input: Cursor::new(input),
            frame: Vec::new(),
            started: false,
            done: false,
            ahead: None,
            rows: Vec::new().into_iter(),
            bytes: 0,
            before: None,
        }
    }

    pub fn rewind(&mut self, input: &Plan, env: &mut Env<'_>) {
        env.release(std::mem::take(&mut self.bytes));
        self.input.rewind(input, env);
        self.started = false;
        self.done = false;
        self.ahead = None;
        self.rows = Vec::new().into_iter();
        self.before = None;
    }

    /// See [`Cursor::next`].
    pub fn next(
        &mut self,
        plan: &Plan,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        let Plan::Window {
            input,
            partition,
            order,
            calls,
        } = plan
        else {
            return Err(SqlError::internal("a window was run with another plan").into());
        };
        if !self.started {
            self.frame.clear();
            self.frame.extend_from_slice(&frame[..base]);
            self.started = true;
        }
        frame.truncate(base);
        if calls.iter().all(|call| call.function.looks_back_only()) {
            return self.count(input, (partition, order, calls), env, frame, base);
        }
        loop {
            if let Some(row) = self.rows.next() {
                frame.extend(row);
                return Ok(true);
            }
            if self.done {
                return Ok(false);
            }
            self.partition(input, (partition, order, calls), env, base)?;
        }
    }

    /// The next row of the input, which is the next of its partition or the first of another.
    fn row(
        &mut self,
        input: &Plan,
        (partition, order): (&[Expr], &[SortKey]),
        env: &mut Env<'_>,
        base: usize,
    ) -> Result<Option<Row>, Halt> {
        if !self.input.next(input, env, &mut self.frame, base)? {
            self.done = true;
            return Ok(None);
        }
        env.tick()?;
        let mut image = Vec::with_capacity(16 * partition.len());
        for key in partition {
            let value = env.eval(key, &self.frame)?;
            crate::keys::push(&value, key.ty(), &mut image);
        }
        Ok(Some(Row {
            partition: image,
            order: sort_values(order, env, &self.frame)?,
            values: match input.gives_frames_away() {
                true => self.frame.drain(base..).collect(),
                false => self.frame[base..].to_vec(),
            },
        }))
    }

    /// Functions that need no more than the row before: nothing is kept.
    fn count(
        &mut self,
        input: &Plan,
        (partition, order, calls): (&[Expr], &[SortKey], &[WindowCall]),
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        let Some(row) = self.row(input, (partition, order), env, base)? else {
            return Ok(false);
        };
        let now = match self.before.take() {
            Some(before) if before.partition == row.partition => {
                let number = before.number + 1;
                match compare(&before.order, &row.order, order).is_eq() {
                    true => Counted { number, ..before },
                    false => Counted {
                        partition: row.partition,
                        order: row.order,
                        number,
                        rank: number,
                        dense_rank: before.dense_rank + 1,
                    },
                }
            }
            _ => Counted {
                partition: row.partition,
                order: row.order,
                number: 1,
                rank: 1,
                dense_rank: 1,
            },
        };
        frame.extend(row.values);
        frame.extend(calls.iter().map(|call| {
            Value::Int8(match call.function {
                WindowFunction::RowNumber => now.number,
                WindowFunction::Rank => now.rank,
                _ => now.dense_rank,
            })
        }));
        self.before = Some(now);
        Ok(true)
    }

    /// Reads the next partition and computes its results.
    fn partition(
        &mut self,
        input: &Plan,
        (partition, order, calls): (&[Expr], &[SortKey], &[WindowCall]),
        env: &mut Env<'_>,
        base: usize,
    ) -> Result<(), Halt> {
        env.release(std::mem::take(&mut self.bytes));
        let first = match self.ahead.take() {
            Some(row) => row,
            None => match self.row(input, (partition, order), env, base)? {
                Some(row) => row,
                None => return Ok(()),
            },
        };
        let own = first.partition.clone();
        let (mut rows, mut values) = (Vec::new(), Vec::new());
        let mut next = Some(first);
        while let Some(row) = next {
            if row.partition != own {
                self.ahead = Some(row);
                break;
            }
            let bytes = row_bytes(&row.values)
                + row_bytes(&row.order)
                + calls.len() * 2 * size_of::<Value>();
            env.charge(bytes)?;
            self.bytes += bytes;
            rows.push(row.values);
            values.push(row.order);
            next = self.row(input, (partition, order), env, base)?;
        }
        let whole = Partition::new(&rows, &values, order);
        let mut results = Vec::with_capacity(calls.len());
        for call in calls {
            let (found, bytes) = evaluate::evaluate(call, &whole, &self.frame[..base], env)?;
            self.bytes += bytes;
            results.push(found.into_iter());
        }
        for row in &mut rows {
            row.extend(results.iter_mut().filter_map(Iterator::next));
        }
        self.rows = rows.into_iter();
        Ok(())
    }
}

impl<'p> Partition<'p> {
    fn new(rows: &'p [Vec<Value>], order: &'p [Vec<Value>], keys: &'p [SortKey]) -> Partition<'p> {
        let mut group = Vec::with_capacity(rows.len());
        let mut starts: Vec<usize> = Vec::new();
        for place in 0..rows.len() {
            if place == 0 || compare(&order[place - 1], &order[place], keys).is_ne() {
                starts.push(place);
            }
            group.push(starts.len() - 1);
        }
        starts.push(rows.len());
        Partition {
            rows,
            order,
            group,
            starts,
            keys,
        }
    }

    /// Where the peers of a row begin, and where they end.
    pub fn peers(&self, place: usize) -> (usize, usize) {
        let group = self.group[place];
        (self.starts[group], self.starts[group + 1])
    }
}
