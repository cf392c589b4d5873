//! Sorted rows in files, for sorts beyond a statement's memory.
//!
//! Relies on: `row_file`, `packed` for what a row looks like.  Promises: rows come back as they were, in the order of their keys, those
//! that are equal in the order in which they were added; memory has a part of each of at most [`FAN_IN`] runs.
//! Does not: sort: each run comes sorted.
//!
//! ```text
//!   run ┬ run ┬ … ┬ run     as many as FAN_IN of one level, one after the other,
//!       └─────┴─┬─┘         are merged into one of the next level
//!          run of runs ┬ run ┬ run …          the rest is merged while rows are handed out
//! ```

use crate::context::Env;
use crate::packed::{Piece, Shape};
use crate::row_file::{RowFile, RowReader, RowWriter, read_bytes};
use quintet_base::{SqlResult, Value};

/// Runs that are merged at once.
const FAN_IN: usize = 32;

/// See the module.
pub(crate) struct Runs {
    shape: Shape,
    /// In the order of their rows' coming.
    runs: Vec<Run>,
}

struct Run {
    rows: RowFile,
    level: u32,
}

/// Runs that are being merged.
pub(crate) struct Merge {
    shape: Shape,
    heads: Heads,
    charged: usize,
}

/// The next row of each run that is being merged.
struct Heads {
    readers: Vec<RowReader>,
    /// With the number of its run; the first row last.
    rows: Vec<(usize, Piece)>,
    /// The row that was taken last, and memory for one.
    taken: Vec<u8>,
}

impl Runs {
    /// For rows of this shape.
    pub fn new(shape: Shape) -> Runs {
        Runs {
            shape,
            runs: Vec::new(),
        }
    }

    /// Adds sorted rows, which came after those of the run before.
    ///
    /// # Errors
    /// As `Spill` says; `57014`.
    pub fn add<R: AsRef<[u8]>>(
        &mut self,
        rows: impl Iterator<Item = R>,
        env: &mut Env<'_>,
    ) -> SqlResult<()> {
        let mut writer = RowWriter::new(env)?;
        for row in rows {
            env.tick()?;
            writer.push_bytes(row.as_ref())?;
        }
        let rows = writer.finish()?;
        self.runs.push(Run { rows, level: 0 });
        while let Some(level) = self.crowded() {
            self.merge_last(level + 1, env)?;
        }
        Ok(())
    }

    /// Makes one run of the last ones.
    fn merge_last(&mut self, level: u32, env: &mut Env<'_>) -> SqlResult<()> {
        let runs = self.runs.split_off(self.runs.len() - FAN_IN);
        let charged = charge(&runs, env)?;
        let mut heads = Heads::of(runs, &self.shape, env)?;
        let mut writer = RowWriter::new(env)?;
        while let Some(row) = heads.take(&self.shape)? {
            env.tick()?;
            writer.push_bytes(row)?;
        }
        env.release(charged);
        let rows = writer.finish()?;
        self.runs.push(Run { rows, level });
        Ok(())
    }

    /// The level of the last runs, if there are as many of it as are merged at once.
    fn crowded(&self) -> Option<u32> {
        let rest = self.runs.len().checked_sub(FAN_IN)?;
        let level = self.runs[rest].level;
        self.runs[rest..]
            .iter()
            .all(|run| run.level == level)
            .then_some(level)
    }

    /// All of them, in order.
    ///
    /// # Errors
    /// As `Spill` says; `57014`; `53200` if memory has no room for a part of each.
    pub fn merge(mut self, env: &mut Env<'_>) -> SqlResult<Merge> {
        // The last ones are the shortest.
        while self.runs.len() > FAN_IN {
            self.merge_last(0, env)?;
        }
        let charged = charge(&self.runs, env)?;
        Ok(Merge {
            heads: Heads::of(self.runs, &self.shape, env)?,
            shape: self.shape,
            charged,
        })
    }
}

/// Charges what reading these runs takes; says how much.
fn charge(runs: &[Run], env: &mut Env<'_>) -> SqlResult<usize> {
    let bytes = runs.len() * read_bytes(env);
    env.charge(bytes)?;
    Ok(bytes)
}

impl Heads {
    fn of(runs: Vec<Run>, shape: &Shape, env: &Env<'_>) -> SqlResult<Heads> {
        let read_bytes = read_bytes(env);
        let readers = runs.into_iter().map(|run| run.rows.read(read_bytes));
        let mut heads = Heads {
            readers: readers.collect(),
            rows: Vec::new(),
            taken: Vec::new(),
        };
        for number in 0..heads.readers.len() {
            heads.refill(number, Vec::new(), shape)?;
        }
        Ok(heads)
    }

    /// The next row of all.
    fn take(&mut self, shape: &Shape) -> SqlResult<Option<&[u8]>> {
        let Some((number, first)) = self.rows.pop() else {
            return Ok(None);
        };
        let memory = std::mem::replace(&mut self.taken, first.bytes);
        self.refill(number, memory, shape)?;
        Ok(Some(&self.taken))
    }

    /// Puts the next row of a run in its place.
    fn refill(&mut self, number: usize, mut memory: Vec<u8>, shape: &Shape) -> SqlResult<()> {
        let Some(bytes) = self.readers[number].next()? else {
            return Ok(());
        };
        memory.clear();
        memory.extend_from_slice(bytes);
        let piece = Piece {
            rank: shape.rank_of(&memory)?,
            bytes: memory,
        };
        // Those that come later stand before it; of equal ones those of a later run do.
        let place = self.rows.partition_point(|(other, head)| {
            let by_value = || shape.compare(&head.bytes, &piece.bytes);
            let order = head.rank.cmp(&piece.rank).then_with(by_value);
            order.then(other.cmp(&number)).is_gt()
        });
        self.rows.insert(place, (number, piece));
        Ok(())
    }
}

impl Merge {
    /// Appends the next row to a frame, if there is one.
    ///
    /// # Errors
    /// As `Spill` says; `57014`.
    pub fn next(&mut self, env: &mut Env<'_>, frame: &mut Vec<Value>) -> SqlResult<bool> {
        env.tick()?;
        let Some(row) = self.heads.take(&self.shape)? else {
            return Ok(false);
        };
        self.shape.unpack(row, frame)?;
        Ok(true)
    }

    /// Gives back what was charged.
    pub fn release(self, env: &mut Env<'_>) {
        env.release(self.charged);
    }
}
