//! Rows that wait in files until memory has room for their groups, those of one group in one file.
//!
//! Relies on: `row_file`.  Promises: rows come back as they were, with their numbers and the values of their keys, in the
//! order of their numbers in each file; groups that were in one file are spread over [`PARTS`] files when they
//! have to wait again.  Does not: group.

use crate::context::Env;
use crate::row_file::{RowFile, RowReader, RowWriter};
use foldhash::fast::FixedState;
use quintet_base::row::RowLayout;
use quintet_base::{SqlResult, SqlType, Value};
use std::hash::{BuildHasher, Hasher};

/// Files that rows are spread over.
pub(crate) const PARTS: usize = 16;

/// Bits of a hash that choose among them.
const PART_BITS: u32 = PARTS.ilog2();

/// Rows have been spread as often as a hash allows: groups of one hash must fit into memory.
const DEPTH_MAX: u32 = u64::BITS / PART_BITS;

/// How rows that wait are kept.
#[derive(Clone)]
pub(crate) struct Waiting {
    layout: RowLayout,
    keys: usize,
}

/// A row that has waited.
pub(crate) struct Waited {
    /// The number it was given.
    pub number: i64,
    pub keys: Vec<Value>,
    pub row: Vec<Value>,
}

/// Files that are being written.
pub(crate) struct Partitions {
    form: Waiting,
    files: [Option<RowWriter>; PARTS],
    depth: u32,
}

/// One that is complete.
pub(crate) struct Partition {
    form: Waiting,
    rows: RowFile,
    depth: u32,
}

impl Waiting {
    /// For rows of these types with keys of those.
    pub fn new(keys: &[SqlType], row: &[SqlType]) -> Waiting {
        let types = [SqlType::Int8].iter().chain(keys).chain(row);
        Waiting {
            layout: RowLayout::new(types.copied().collect::<Vec<_>>()),
            keys: keys.len(),
        }
    }

    /// Files for what comes first.
    pub fn partitions(self) -> Partitions {
        Partitions {
            form: self,
            files: Default::default(),
            depth: 0,
        }
    }
}

impl Partitions {
    /// Has a row wait whose keys have this image.
    ///
    /// # Errors
    /// What `Spill` says.
    pub fn push(
        &mut self,
        image: &[u8],
        (number, keys, row): (i64, &[Value], &[Value]),
        env: &Env<'_>,
    ) -> SqlResult<()> {
        let number = Value::Int8(number);
        let values: Vec<&Value> = [&number].into_iter().chain(keys).chain(row).collect();
        let file = &mut self.files[part_of(image, self.depth)];
        let writer = match file {
            Some(writer) => writer,
            None => file.insert(RowWriter::new(env)?),
        };
        writer.push(&self.form.layout, &values)
    }

    /// Those that have rows.
    ///
    /// # Errors
    /// What `Spill` says.
    pub fn finish(self) -> SqlResult<Vec<Partition>> {
        let finish = |file: RowWriter| {
            Ok(Partition {
                form: self.form.clone(),
                rows: file.finish()?,
                depth: self.depth,
            })
        };
        self.files.into_iter().flatten().map(finish).collect()
    }
}

impl Partition {
    /// Files for those of its rows that have to wait again; `None`: more spreading does not help.
    pub fn deeper(&self) -> Option<Partitions> {
        let depth = self.depth + 1;
        (depth < DEPTH_MAX).then(|| Partitions {
            depth,
            ..self.form.clone().partitions()
        })
    }

    /// Its rows, with their form.
    pub fn read(self, read_bytes: usize) -> (RowReader, Waiting) {
        (self.rows.read(read_bytes), self.form)
    }
}

impl Waiting {
    /// The next row of a file.
    ///
    /// # Errors
    /// What `Spill` says.
    pub fn next(&self, rows: &mut RowReader) -> SqlResult<Option<Waited>> {
        let Some(bytes) = rows.next()? else {
            return Ok(None);
        };
        let read = self.layout.open(bytes)?;
        let some = |from: usize, to: usize| -> SqlResult<Vec<Value>> {
            (from..to).map(|column| read.get(column)).collect()
        };
        let row_at = 1 + self.keys;
        Ok(Some(Waited {
            number: match read.get(0)? {
                Value::Int8(number) => number,
                _ => 0,
            },
            keys: some(1, row_at)?,
            row: some(row_at, self.layout.columns().len())?,
        }))
    }
}

fn part_of(image: &[u8], depth: u32) -> usize {
    // Who can choose keys that collide has them wait in one file, and be refused at last.
    let mut hasher = FixedState::with_seed(1).build_hasher();
    hasher.write(image);
    (hasher.finish() >> (depth * PART_BITS)) as usize % PARTS
}
