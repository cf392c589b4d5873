//! Sorted rows in files, for sorts beyond a statement's memory.
//!
//! Relies on: `row_file`.  Promises: rows come back as they were, in the order of their keys, those
//! that are equal in the order in which they were added; memory has a part of each of at most [`FAN_IN`] runs.
//! Does not: sort: each run comes sorted.
//!
//! ```text
//!   run ┬ run ┬ … ┬ run     as many as FAN_IN of one level, one after the other,
//!       └─────┴─┬─┘         are merged into one of the next level
//!          run of runs ┬ run ┬ run …          the rest is merged while rows are handed out
//! ```

use crate::context::Env;
use crate::row_file::{RowFile, RowReader, RowWriter, read_bytes};
use crate::sort::{Sorted, compare};
use quintet_base::row::RowLayout;
use quintet_base::{SqlResult, SqlType};
use quintet_ir::plan::SortKey;

/// Runs that are merged at once.
const FAN_IN: usize = 32;

/// See the module.
pub(crate) struct Runs {
    layout: RowLayout,
    /// Values of a row that are its sort values; they come first.
    keys: usize,
    /// In the order of their rows' coming.
    runs: Vec<Run>,
}

struct Run {
    rows: RowFile,
    level: u32,
}

/// Runs that are being merged.
pub(crate) struct Merge {
    layout: RowLayout,
    keys: usize,
    readers: Vec<RowReader>,
    /// The next row of each run that has one, with the run's number; the first one last.
    heads: Vec<(usize, Sorted)>,
    charged: usize,
}

impl Runs {
    /// For rows of these types, behind sort values of these.
    pub fn new(keys: &[SortKey], row: &[SqlType]) -> Runs {
        let types = keys.iter().map(|key| match key.expr.ty() {
            // Without trailing blanks, as it compares.
            SqlType::Bpchar => SqlType::Text,
            ty => ty,
        });
        Runs {
            layout: RowLayout::new(types.chain(row.iter().copied()).collect::<Vec<_>>()),
            keys: keys.len(),
            runs: Vec::new(),
        }
    }

    /// Adds sorted rows, which came after those of the run before.
    ///
    /// # Errors
    /// As `Spill` says; `57014`.
    pub fn add(&mut self, rows: &[Sorted], keys: &[SortKey], env: &mut Env<'_>) -> SqlResult<()> {
        let mut writer = RowWriter::new(env)?;
        for row in rows {
            env.tick()?;
            writer.push(&self.layout, &row.values())?;
        }
        let rows = writer.finish()?;
        self.runs.push(Run { rows, level: 0 });
        while let Some(level) = self.crowded() {
            self.merge_last(level + 1, keys, env)?;
        }
        Ok(())
    }

    /// Makes one run of the last ones.
    fn merge_last(&mut self, level: u32, keys: &[SortKey], env: &mut Env<'_>) -> SqlResult<()> {
        let runs = self.runs.split_off(self.runs.len() - FAN_IN);
        let mut merge = self.merge_of(runs, keys, env)?;
        let mut writer = RowWriter::new(env)?;
        while let Some(row) = merge.next(keys, env)? {
            writer.push(&self.layout, &row.values())?;
        }
        merge.release(env);
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
    pub fn merge(mut self, keys: &[SortKey], env: &mut Env<'_>) -> SqlResult<Merge> {
        // The last ones are the shortest.
        while self.runs.len() > FAN_IN {
            self.merge_last(0, keys, env)?;
        }
        let runs = std::mem::take(&mut self.runs);
        self.merge_of(runs, keys, env)
    }

    fn merge_of(&self, runs: Vec<Run>, keys: &[SortKey], env: &mut Env<'_>) -> SqlResult<Merge> {
        let read_bytes = read_bytes(env);
        let charged = runs.len() * read_bytes;
        env.charge(charged)?;
        let readers = runs.into_iter().map(|run| run.rows.read(read_bytes));
        let mut merge = Merge {
            layout: self.layout.clone(),
            keys: self.keys,
            readers: readers.collect(),
            heads: Vec::new(),
            charged,
        };
        for number in 0..merge.readers.len() {
            merge.refill(number, keys)?;
        }
        Ok(merge)
    }
}

impl Merge {
    /// The next row.
    ///
    /// # Errors
    /// As `Spill` says; `57014`.
    pub fn next(&mut self, keys: &[SortKey], env: &mut Env<'_>) -> SqlResult<Option<Sorted>> {
        env.tick()?;
        let Some((number, first)) = self.heads.pop() else {
            return Ok(None);
        };
        self.refill(number, keys)?;
        Ok(Some(first))
    }

    /// Puts the next row of a run in its place.
    fn refill(&mut self, number: usize, keys: &[SortKey]) -> SqlResult<()> {
        let Some(bytes) = self.readers[number].next()? else {
            return Ok(());
        };
        let values = self.layout.open(bytes)?;
        let value = |column| values.get(column);
        let row = Sorted {
            keys: (0..self.keys).map(value).collect::<SqlResult<_>>()?,
            row: (self.keys..self.layout.columns().len())
                .map(value)
                .collect::<SqlResult<_>>()?,
        };
        // Those that come later stand before it; of equal ones those of a later run do.
        let place = self.heads.partition_point(|(other, head)| {
            let order = compare(&head.keys, &row.keys, keys);
            order.then(other.cmp(&number)).is_gt()
        });
        self.heads.insert(place, (number, row));
        Ok(())
    }

    /// Gives back what was charged.
    pub fn release(self, env: &mut Env<'_>) {
        env.release(self.charged);
    }
}
