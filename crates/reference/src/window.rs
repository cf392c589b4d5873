//! Window functions, by their definition: each row looks at every other row of its partition.
//!
//! Relies on: `ir::window` for distances, `ir::aggregate` for sums.  Promises: the frames of the input in its order,
//! with the results behind.  Does not: sort; frames of one partition stand side by side already.

use crate::plan::{Run, as_grouped, behind, same, sort_order};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::aggregate::{Accumulator, AggregateCall};
use quintet_ir::plan::SortKey;
use quintet_ir::window::{
    Exclusion, FrameBound, FrameMode, WindowCall, WindowFrame, WindowFunction, within,
};

/// One partition: frames as expressions see them.
struct Partition<'p> {
    frames: &'p [Vec<Value>],
    /// What each is ordered by.
    order: Vec<Vec<Value>>,
    keys: &'p [SortKey],
    outer: &'p [Value],
}

/// Which end of a frame is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Start,
    End,
}

impl Run<'_> {
    /// The frames of a window's input, each with what the functions give.
    pub fn windowed(
        &self,
        frames: Vec<Vec<Value>>,
        outer: &[Value],
        (partition, order, calls): (&[Expr], &[SortKey], &[WindowCall]),
    ) -> SqlResult<Vec<Vec<Value>>> {
        let types: Vec<SqlType> = partition.iter().map(Expr::ty).collect();
        let key = |frame: &Vec<Value>| Ok(as_grouped(self.values(partition, frame)?, &types));
        let keys = frames.iter().map(key).collect::<SqlResult<Vec<_>>>()?;
        let mut done = Vec::new();
        let mut first = 0;
        while first < frames.len() {
            let alike = (first..frames.len()).take_while(|at| same(&keys[*at], &keys[first]));
            let end = first + alike.count();
            let members = &frames[first..end];
            let values = members.iter().map(|frame| self.sort_values(order, frame));
            let whole = Partition {
                frames: members,
                order: values.collect::<SqlResult<_>>()?,
                keys: order,
                outer,
            };
            for (place, member) in members.iter().enumerate() {
                let results = calls.iter().map(|call| self.result(call, place, &whole));
                let results = results.collect::<SqlResult<Vec<Value>>>()?;
                done.push(behind(member, results));
            }
            first = end;
        }
        Ok(done)
    }

    fn result(&self, call: &WindowCall, place: usize, of: &Partition<'_>) -> SqlResult<Value> {
        let rows = of.frames.len();
        let before = (0..rows)
            .filter(|at| of.compare(*at, place).is_lt())
            .count();
        let peers = (0..rows)
            .filter(|at| of.compare(*at, place).is_eq())
            .count();
        let argument = |number: usize, at: usize| match call.args.get(number) {
            Some(argument) => self.eval(argument, &of.frames[at]),
            None => Ok(Value::Null),
        };
        Ok(match call.function {
            WindowFunction::RowNumber => Value::Int8(place as i64 + 1),
            WindowFunction::Rank => Value::Int8(before as i64 + 1),
            WindowFunction::DenseRank => {
                let begins = |at: &usize| *at == 0 || of.compare(at - 1, *at).is_ne();
                Value::Int8((0..=place).filter(begins).count() as i64)
            }
            WindowFunction::PercentRank if rows == 1 => Value::Float8(0.0),
            WindowFunction::PercentRank => Value::Float8(before as f64 / (rows - 1) as f64),
            WindowFunction::CumeDist => Value::Float8((before + peers) as f64 / rows as f64),
            WindowFunction::Ntile => {
                // The first row that says how many buckets there are decides for those behind it.
                let mut said = None;
                for at in 0..=place {
                    if let Some(count) = argument(0, at)?.as_i64() {
                        said = Some((at, count));
                        break;
                    }
                }
                match said {
                    None => Value::Null,
                    Some((from, count)) => Value::Int4(bucket(place - from, rows, count)?),
                }
            }
            WindowFunction::Lag | WindowFunction::Lead => {
                let by = match call.args.len() {
                    1 => Some(1),
                    _ => argument(1, place)?.as_i64(),
                };
                let Some(by) = by else {
                    return Ok(Value::Null);
                };
                let there = match call.function {
                    WindowFunction::Lag => place as i64 - by,
                    _ => place as i64 + by,
                };
                match usize::try_from(there).ok().filter(|at| *at < rows) {
                    Some(there) => argument(0, there)?,
                    None => argument(2, place)?,
                }
            }
            WindowFunction::FirstValue | WindowFunction::LastValue | WindowFunction::NthValue => {
                let members = self.members(&call.frame, place, of)?;
                let there = match call.function {
                    WindowFunction::FirstValue => members.first(),
                    WindowFunction::LastValue => members.last(),
                    _ => match argument(1, place)?.as_i64() {
                        None => None,
                        Some(number) if number < 1 => {
                            return Err(SqlError::new(
                                SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE,
                                "argument of nth_value must be greater than zero",
                            ));
                        }
                        Some(number) => members.get(number as usize - 1),
                    },
                };
                there.map_or(Ok(Value::Null), |there| argument(0, *there))?
            }
            WindowFunction::Aggregate(function) => {
                let mut running = Accumulator::new(&AggregateCall {
                    function,
                    args: call.args.clone(),
                    distinct: false,
                    filter: None,
                    order: Vec::new(),
                    ty: call.ty,
                });
                for member in self.members(&call.frame, place, of)? {
                    let frame = &of.frames[member];
                    if self.passes(call.filter.as_ref(), frame)? {
                        running.add(&self.values(&call.args, frame)?)?;
                    }
                }
                running.finish()?
            }
        })
    }

    /// The rows in the frame of a row.
    fn members(
        &self,
        frame: &WindowFrame,
        place: usize,
        of: &Partition<'_>,
    ) -> SqlResult<Vec<usize>> {
        let mut members = Vec::new();
        for at in 0..of.frames.len() {
            let peer = of.compare(at, place).is_eq();
            let left_out = match frame.exclusion {
                Exclusion::Nothing => false,
                Exclusion::CurrentRow => at == place,
                Exclusion::Group => peer,
                Exclusion::Ties => peer && at != place,
            };
            if self.is_inside(frame, Side::Start, at, place, of)?
                && self.is_inside(frame, Side::End, at, place, of)?
                && !left_out
            {
                members.push(at);
            }
        }
        Ok(members)
    }

    /// Whether a row is not before the start, or not behind the end.
    fn is_inside(
        &self,
        frame: &WindowFrame,
        side: Side,
        at: usize,
        place: usize,
        of: &Partition<'_>,
    ) -> SqlResult<bool> {
        let (bound, which) = match side {
            Side::Start => (&frame.start, "starting"),
            Side::End => (&frame.end, "ending"),
        };
        let (offset, direction) = match bound {
            FrameBound::UnboundedPreceding => return Ok(side == Side::Start),
            FrameBound::UnboundedFollowing => return Ok(side == Side::End),
            FrameBound::CurrentRow => (&Value::Int8(0), 0),
            FrameBound::Preceding(offset) => (&self.eval(offset, of.outer)?, -1),
            FrameBound::Following(offset) => (&self.eval(offset, of.outer)?, 1),
        };
        if offset.is_null() {
            return Err(SqlError::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                format!("frame {which} offset must not be null"),
            ));
        }
        if frame.mode == FrameMode::Range && direction != 0 {
            return self.is_near(offset, direction < 0, side, at, place, of);
        }
        let steps = offset.as_i64().unwrap_or_default();
        if steps < 0 {
            return Err(SqlError::new(
                SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
                format!("frame {which} offset must not be negative"),
            ));
        }
        let number = |row: usize| match frame.mode {
            FrameMode::Rows => row as i128,
            _ => {
                let begins = |at: &usize| of.compare(at - 1, *at).is_ne();
                (1..=row).filter(begins).count() as i128
            }
        };
        let bound = number(place) + i128::from(steps) * direction;
        Ok(match side {
            Side::Start => number(at) >= bound,
            Side::End => number(at) <= bound,
        })
    }

    /// RANGE with an offset. A NULL is near NULLs only.
    fn is_near(
        &self,
        offset: &Value,
        before: bool,
        side: Side,
        at: usize,
        place: usize,
        of: &Partition<'_>,
    ) -> SqlResult<bool> {
        let (value, here, key) = (&of.order[at][0], &of.order[place][0], &of.keys[0]);
        if value.is_null() || here.is_null() {
            let order = of.compare(at, place);
            return Ok(match side {
                Side::Start => order.is_ge(),
                Side::End => order.is_le(),
            });
        }
        let smaller = before != key.descending;
        let at_most = (side == Side::End) != key.descending;
        within(value, here, offset, smaller, at_most, &self.interpreter)
    }
}

impl Partition<'_> {
    fn compare(&self, a: usize, b: usize) -> std::cmp::Ordering {
        sort_order(&self.order[a], &self.order[b], self.keys)
    }
}

/// The bucket of a row: they are as large as one another, the first ones perhaps by one larger.
fn bucket(place: usize, rows: usize, count: i64) -> SqlResult<i32> {
    if count <= 0 {
        return Err(SqlError::new(
            SqlState::INVALID_ARGUMENT_FOR_NTILE,
            "argument of ntile must be greater than zero",
        ));
    }
    let mut left = place as i64;
    for bucket in 1.. {
        let rows = rows as i64;
        let more = rows > count && bucket <= rows % count;
        let size = (rows / count).max(1) + i64::from(more);
        if left < size {
            return Ok(i32::try_from(bucket).unwrap_or(i32::MAX));
        }
        left -= size;
    }
    unreachable!("every place is in some bucket")
}
