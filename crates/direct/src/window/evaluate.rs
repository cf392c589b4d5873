//! One window function over one partition.
//!
//! Relies on: `bounds` for the rows in a frame.  Promises: a frame that only grows, and count, sum and avg
//! of numbers that can be taken out again exactly, cost time in proportion to the partition.
//! Does not: avoid adding up anew, for each row, the other aggregates of frames that slide.

use super::Partition;
use super::bounds::{Bounds, Held};
use crate::context::{Env, Halt, row_bytes};
use quintet_base::{SqlError, SqlResult, SqlState, Value};
use quintet_ir::Expr;
use quintet_ir::aggregate::{Accumulator, AggregateCall, AggregateFunction};
use quintet_ir::window::{Exclusion, Sliding, WindowCall, WindowFunction};

/// What a call gives for each row, with the bytes charged for it.
pub(super) fn evaluate(
    call: &WindowCall,
    partition: &Partition<'_>,
    outer: &[Value],
    env: &mut Env<'_>,
) -> Result<(Vec<Value>, usize), Halt> {
    let mut run = Run {
        call,
        partition,
        frame: outer.to_vec(),
        outer: outer.len(),
        results: Vec::with_capacity(partition.rows.len()),
        bytes: 0,
    };
    match call.function {
        WindowFunction::RowNumber
        | WindowFunction::Rank
        | WindowFunction::DenseRank
        | WindowFunction::PercentRank
        | WindowFunction::CumeDist => run.places(),
        WindowFunction::Ntile => run.buckets(env)?,
        WindowFunction::Lag => run.neighbours(true, env)?,
        WindowFunction::Lead => run.neighbours(false, env)?,
        WindowFunction::FirstValue | WindowFunction::LastValue | WindowFunction::NthValue => {
            run.members(env)?;
        }
        WindowFunction::Aggregate(function) => run.aggregate(function, env)?,
    }
    Ok((run.results, run.bytes))
}

struct Run<'r> {
    call: &'r WindowCall,
    partition: &'r Partition<'r>,
    /// The outer frame, and behind it the row that something was last evaluated over.
    frame: Vec<Value>,
    outer: usize,
    results: Vec<Value>,
    bytes: usize,
}

impl Run<'_> {
    fn rows(&self) -> usize {
        self.partition.rows.len()
    }

    /// An expression over a row.
    fn eval(&mut self, expr: &Expr, place: usize, env: &mut Env<'_>) -> SqlResult<Value> {
        self.show(place);
        env.eval(expr, &self.frame)
    }

    fn show(&mut self, place: usize) {
        self.frame.truncate(self.outer);
        self.frame.extend_from_slice(&self.partition.rows[place]);
    }

    fn give(&mut self, value: Value, env: &mut Env<'_>) -> SqlResult<()> {
        let bytes = row_bytes(std::slice::from_ref(&value));
        env.charge(bytes)?;
        self.bytes += bytes;
        self.results.push(value);
        env.tick()
    }

    /// What follows from where a row stands.
    fn places(&mut self) {
        let rows = self.rows();
        let number = |place: usize| Value::Int8(place as i64);
        let share = |part: usize, whole: usize| Value::Float8(part as f64 / whole as f64);
        for place in 0..rows {
            let (first, end) = self.partition.peers(place);
            self.results.push(match self.call.function {
                WindowFunction::RowNumber => number(place + 1),
                WindowFunction::Rank => number(first + 1),
                WindowFunction::DenseRank => number(self.partition.group[place] + 1),
                WindowFunction::PercentRank if rows <= 1 => Value::Float8(0.0),
                WindowFunction::PercentRank => share(first, rows - 1),
                _ => share(end, rows),
            });
        }
    }

    /// ntile: as many rows in each bucket as in any other, or one more in the first ones. How many buckets
    /// there are is what the first row says that says something.
    fn buckets(&mut self, env: &mut Env<'_>) -> SqlResult<()> {
        let (rows, call) = (self.rows(), self.call);
        let mut dealt: Option<Buckets> = None;
        for place in 0..rows {
            let buckets = match &mut dealt {
                Some(buckets) => buckets,
                none => match self.eval(&call.args[0], place, env)?.as_i64() {
                    None => {
                        self.give(Value::Null, env)?;
                        continue;
                    }
                    Some(count) => none.insert(Buckets::new(rows, count)?),
                },
            };
            let bucket = buckets.next();
            self.give(Value::Int4(bucket), env)?;
        }
        Ok(())
    }

    /// lag and lead.
    fn neighbours(&mut self, back: bool, env: &mut Env<'_>) -> SqlResult<()> {
        let call = self.call;
        for place in 0..self.rows() {
            let by = match call.args.get(1) {
                None => Some(1),
                Some(by) => self.eval(by, place, env)?.as_i64(),
            };
            let Some(by) = by else {
                self.give(Value::Null, env)?;
                continue;
            };
            let there = place as i64 + if back { -by } else { by };
            let there = usize::try_from(there).ok().filter(|at| *at < self.rows());
            let value = match (there, call.args.get(2)) {
                (Some(there), _) => self.eval(&call.args[0], there, env)?,
                (None, Some(otherwise)) => self.eval(otherwise, place, env)?,
                (None, None) => Value::Null,
            };
            self.give(value, env)?;
        }
        Ok(())
    }

    /// first_value, last_value and nth_value.
    fn members(&mut self, env: &mut Env<'_>) -> SqlResult<()> {
        let call = self.call;
        let mut bounds = Bounds::new(&call.frame, &self.frame[..self.outer], env)?;
        for place in 0..self.rows() {
            let held = bounds.of(place, self.partition, env)?;
            let there = match call.function {
                WindowFunction::FirstValue => held.nth(0),
                WindowFunction::LastValue => held.count().checked_sub(1).and_then(|n| held.nth(n)),
                _ => match self.eval(&call.args[1], place, env)?.as_i64() {
                    None => None,
                    Some(number) if number <= 0 => {
                        return Err(SqlError::new(
                            SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE,
                            "argument of nth_value must be greater than zero",
                        ));
                    }
                    Some(number) => usize::try_from(number - 1).ok().and_then(|n| held.nth(n)),
                },
            };
            let value = match there {
                Some(there) => self.eval(&call.args[0], there, env)?,
                None => Value::Null,
            };
            self.give(value, env)?;
        }
        Ok(())
    }

    fn aggregate(&mut self, function: AggregateFunction, env: &mut Env<'_>) -> Result<(), Halt> {
        let call = self.call;
        let mut bounds = Bounds::new(&call.frame, &self.frame[..self.outer], env)?;
        let empty = Accumulator::new(&AggregateCall {
            function,
            args: call.args.clone(),
            distinct: false,
            filter: None,
            order: Vec::new(),
            ty: call.ty,
        });
        let mut given = Given::default();
        if bounds.only_grows() {
            self.growing(&mut bounds, empty, &mut given, env)?;
        } else {
            let sliding = Sliding::new(call).filter(|_| call.frame.exclusion == Exclusion::Nothing);
            match sliding {
                Some(sliding) => self.sliding(&mut bounds, sliding, &mut given, env)?,
                None => self.anew(&mut bounds, &empty, &mut given, env)?,
            }
        }
        env.release(given.bytes);
        Ok(())
    }

    /// Frames that begin with the partition.
    fn growing(
        &mut self,
        bounds: &mut Bounds,
        mut running: Accumulator,
        given: &mut Given,
        env: &mut Env<'_>,
    ) -> SqlResult<()> {
        let mut added = 0;
        let mut last: Option<Value> = None;
        for place in 0..self.rows() {
            let end = bounds.of(place, self.partition, env)?.count();
            while added < end {
                if let Some(args) = given.at(added, self, env)? {
                    running.add(args)?;
                    last = None;
                }
                added += 1;
                env.tick()?;
            }
            let value = match last {
                Some(value) => value,
                None => running.current()?,
            };
            last = Some(value.clone());
            self.give(value, env)?;
        }
        Ok(())
    }

    /// Frames whose ends both move on: what leaves is taken out.
    fn sliding(
        &mut self,
        bounds: &mut Bounds,
        mut running: Sliding,
        given: &mut Given,
        env: &mut Env<'_>,
    ) -> SqlResult<()> {
        let (mut first, mut end) = (0, 0);
        for place in 0..self.rows() {
            let [(wanted_first, wanted_end), ..] = bounds.of(place, self.partition, env)?.pieces;
            while first < end.min(wanted_first) {
                if let Some(args) = given.at(first, self, env)? {
                    running.remove(args)?;
                }
                first += 1;
                env.tick()?;
            }
            if first == end {
                (first, end) = (wanted_first, wanted_first);
            }
            while end < wanted_end {
                if let Some(args) = given.at(end, self, env)? {
                    running.add(args)?;
                }
                end += 1;
                env.tick()?;
            }
            self.give(running.current()?, env)?;
        }
        Ok(())
    }

    /// Any frames: added up anew when they change.
    fn anew(
        &mut self,
        bounds: &mut Bounds,
        empty: &Accumulator,
        given: &mut Given,
        env: &mut Env<'_>,
    ) -> SqlResult<()> {
        let mut last: Option<(Held, Value)> = None;
        for place in 0..self.rows() {
            let held = bounds.of(place, self.partition, env)?;
            let value = match &last {
                Some((before, value)) if *before == held => value.clone(),
                _ => {
                    let mut running = empty.clone();
                    for member in held.places() {
                        if let Some(args) = given.at(member, self, env)? {
                            running.add(args)?;
                        }
                        env.tick()?;
                    }
                    running.finish()?
                }
            };
            last = Some((held, value.clone()));
            self.give(value, env)?;
        }
        Ok(())
    }
}

/// Arguments of rows that have been looked at.
#[derive(Default)]
struct Given {
    /// By place; an inner `None` is a row that FILTER leaves out.
    rows: Vec<Option<Option<Vec<Value>>>>,
    bytes: usize,
}

impl Given {
    /// The arguments of a row; `None` if FILTER leaves it out.
    fn at(
        &mut self,
        place: usize,
        run: &mut Run<'_>,
        env: &mut Env<'_>,
    ) -> SqlResult<Option<&[Value]>> {
        if self.rows.is_empty() {
            self.rows.resize_with(run.rows(), || None);
        }
        if self.rows[place].is_none() {
            let call = run.call;
            run.show(place);
            let passes = match &call.filter {
                Some(filter) => env.holds(filter, &run.frame)?,
                None => true,
            };
            let args = match passes {
                true => {
                    let args = call.args.iter().map(|arg| env.eval(arg, &run.frame));
                    Some(args.collect::<SqlResult<Vec<Value>>>()?)
                }
                false => None,
            };
            let bytes = row_bytes(args.as_deref().unwrap_or_default());
            env.charge(bytes)?;
            self.bytes += bytes;
            self.rows[place] = Some(args);
        }
        Ok(self.rows[place].as_ref().and_then(Option::as_deref))
    }
}

/// Rows dealt to buckets in turn.
struct Buckets {
    bucket: i64,
    /// Rows in the bucket at hand.
    dealt: i64,
    /// How many it takes.
    size: i64,
    /// How many of the first buckets take one more.
    larger: i64,
}

impl Buckets {
    fn new(rows: usize, count: i64) -> SqlResult<Buckets> {
        if count <= 0 {
            return Err(SqlError::new(
                SqlState::INVALID_ARGUMENT_FOR_NTILE,
                "argument of ntile must be greater than zero",
            ));
        }
        let rows = rows as i64;
        let larger = if rows < count { 0 } else { rows % count };
        Ok(Buckets {
            bucket: 1,
            dealt: 0,
            size: (rows / count).max(1) + i64::from(larger > 0),
            larger,
        })
    }

    fn next(&mut self) -> i32 {
        self.dealt += 1;
        if self.dealt > self.size {
            if self.larger == self.bucket {
                self.size -= 1;
            }
            self.bucket += 1;
            self.dealt = 1;
        }
        // There are no more buckets than an integer counts.
        i32::try_from(self.bucket).unwrap_or(i32::MAX)
    }
}
