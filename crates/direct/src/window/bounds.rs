//! The rows of a partition that a frame holds.
//!
//! Relies on: rows asked for in their order.  Promises: bounds that only grow, in time proportional to the
//! partition for all of its rows; what an exclusion leaves out is cut out of the middle.
//! Does not: look at rows' values but for RANGE with an offset.

use super::Partition;
use crate::context::Env;
use quintet_base::{SqlError, SqlResult, SqlState, Value};
use quintet_ir::window::{Exclusion, FrameBound, FrameMode, WindowFrame, within};

/// The frames of one call over a partition.
pub(super) struct Bounds {
    mode: FrameMode,
    start: End,
    end: End,
    exclusion: Exclusion,
}

/// One end of the frame.
enum End {
    First,
    Last,
    Current,
    /// So many rows or groups further; before the current one if negative.
    Steps(i64),
    /// As far in the order's values. Where the search has come to goes along.
    Distance {
        offset: Value,
        before: bool,
        reached: usize,
    },
}

/// Pieces of a partition in order, each from its first place up to, not including, its second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Held {
    pub pieces: [(usize, usize); 3],
}

impl Bounds {
    /// # Errors
    /// `22004` and `22013` for offsets that are NULL or negative.
    pub fn new(frame: &WindowFrame, outer: &[Value], env: &mut Env<'_>) -> SqlResult<Bounds> {
        Ok(Bounds {
            mode: frame.mode,
            start: End::new(&frame.start, "starting", frame.mode, outer, env)?,
            end: End::new(&frame.end, "ending", frame.mode, outer, env)?,
            exclusion: frame.exclusion,
        })
    }

    /// True if the frame always begins where the partition begins and nothing is left out.
    pub fn only_grows(&self) -> bool {
        matches!(self.start, End::First) && self.exclusion == Exclusion::Nothing
    }

    /// The frame of a row.
    pub fn of(
        &mut self,
        place: usize,
        partition: &Partition<'_>,
        env: &Env<'_>,
    ) -> SqlResult<Held> {
        let rows = partition.rows.len();
        let start = match (&mut self.start, self.mode) {
            (End::First, _) => 0,
            (End::Last, _) => rows,
            (End::Current, FrameMode::Rows) => place,
            (End::Current, _) => partition.peers(place).0,
            (End::Steps(by), FrameMode::Rows) => moved(place, *by, rows),
            (End::Steps(by), _) => {
                let groups = partition.starts.len() - 1;
                partition.starts[moved(partition.group[place], *by, groups)]
            }
            (
                End::Distance {
                    offset,
                    before,
                    reached,
                },
                _,
            ) => {
                while *reached < rows
                    && !partition.at_least(*reached, place, offset, *before, env)?
                {
                    *reached += 1;
                }
                *reached
            }
        };
        let end = match (&mut self.end, self.mode) {
            (End::First, _) => 0,
            (End::Last, _) => rows,
            (End::Current, FrameMode::Rows) => place + 1,
            (End::Current, _) => partition.peers(place).1,
            (End::Steps(by), FrameMode::Rows) => moved(place, by.saturating_add(1), rows),
            (End::Steps(by), _) => {
                let groups = partition.starts.len() - 1;
                partition.starts[moved(partition.group[place], by.saturating_add(1), groups)]
            }
            (
                End::Distance {
                    offset,
                    before,
                    reached,
                },
                _,
            ) => {
                while *reached < rows && partition.at_most(*reached, place, offset, *before, env)? {
                    *reached += 1;
                }
                *reached
            }
        };
        let end = end.max(start);
        let nothing = (end, end);
        let (first, last) = match self.exclusion {
            Exclusion::Nothing => {
                return Ok(Held {
                    pieces: [(start, end), nothing, nothing],
                });
            }
            Exclusion::CurrentRow => (place, place + 1),
            Exclusion::Group | Exclusion::Ties => partition.peers(place),
        };
        let piece = |from: usize, to: usize| (from, to.max(from));
        let keeps = self.exclusion == Exclusion::Ties && (start..end).contains(&place);
        Ok(Held {
            pieces: [
                piece(start, end.min(first)),
                if keeps { (place, place + 1) } else { nothing },
                piece(start.max(last), end),
            ],
        })
    }
}

impl End {
    fn new(
        bound: &FrameBound,
        which: &str,
        mode: FrameMode,
        outer: &[Value],
        env: &mut Env<'_>,
    ) -> SqlResult<End> {
        let (offset, before) = match bound {
            FrameBound::UnboundedPreceding => return Ok(End::First),
            FrameBound::UnboundedFollowing => return Ok(End::Last),
            FrameBound::CurrentRow => return Ok(End::Current),
            FrameBound::Preceding(offset) => (offset, true),
            FrameBound::Following(offset) => (offset, false),
        };
        let offset = env.eval(offset, outer)?;
        if offset.is_null() {
            return Err(SqlError::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                format!("frame {which} offset must not be null"),
            ));
        }
        if mode == FrameMode::Range {
            return Ok(End::Distance {
                offset,
                before,
                reached: 0,
            });
        }
        let steps = offset.as_i64().unwrap_or(0);
        if steps < 0 {
            return Err(SqlError::new(
                SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
                format!("frame {which} offset must not be negative"),
            ));
        }
        Ok(End::Steps(if before { -steps } else { steps }))
    }
}

/// A place moved by so much, not beyond either end.
fn moved(place: usize, by: i64, end: usize) -> usize {
    let steps = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    match by < 0 {
        true => place.saturating_sub(steps),
        false => end.min(place.saturating_add(steps)),
    }
}

impl Held {
    /// How many rows there are.
    pub fn count(self) -> usize {
        self.pieces.iter().map(|(start, end)| end - start).sum()
    }

    /// The place of a row, counted from 0.
    pub fn nth(self, mut number: usize) -> Option<usize> {
        for (start, end) in self.pieces {
            match end - start {
                here if number < here => return Some(start + number),
                here => number -= here,
            }
        }
        None
    }

    /// The places in order.
    pub fn places(self) -> impl Iterator<Item = usize> {
        self.pieces.into_iter().flat_map(|(start, end)| start..end)
    }
}

impl Partition<'_> {
    /// Whether a row is not before the frame that begins `offset` before, or behind, the current row.
    fn at_least(
        &self,
        row: usize,
        current: usize,
        offset: &Value,
        before: bool,
        env: &Env<'_>,
    ) -> SqlResult<bool> {
        let (value, here, key) = (&self.order[row][0], &self.order[current][0], &self.keys[0]);
        Ok(match (value.is_null(), here.is_null()) {
            (true, true) => true,
            (true, false) => !key.nulls_first,
            (false, true) => key.nulls_first,
            (false, false) => {
                let before = before != key.descending;
                within(value, here, offset, before, key.descending, env.host)?
            }
        })
    }

    /// Whether a row is not behind the frame that ends `offset` before, or behind, the current row.
    fn at_most(
        &self,
        row: usize,
        current: usize,
        offset: &Value,
        before: bool,
        env: &Env<'_>,
    ) -> SqlResult<bool> {
        let (value, here, key) = (&self.order[row][0], &self.order[current][0], &self.keys[0]);
        Ok(match (value.is_null(), here.is_null()) {
            (true, true) => true,
            (true, false) => key.nulls_first,
            (false, true) => !key.nulls_first,
            (false, false) => {
                let before = before != key.descending;
                within(value, here, offset, before, !key.descending, env.host)?
            }
        })
    }
}
