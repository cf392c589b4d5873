//! Rows that are kept to be found by the hash of their keys: in memory, or beyond it in a file.
//!
//! Relies on: `ir::Host::spill` for a file. Promises: rows come back as they were, those of one hash in the
//! order in which they were kept; of a row that is kept in memory only the columns that its plan makes take room; in the file's
//! case memory has the way to each row, some 24 bytes, and no row. Does not: compare keys: a hash that two keys
//! share names the rows of both.
//!
//! ```text
//!   heads    by the low bits of the hash ──► row ──next──► row ──next──► …
//!   hashes   of each row, to pass by others of the same head
//!   rows     values, 1024 rows a piece   │   file: row │ row │ …, and where each ends
//! ```
//! A statement whose rows do not fit even so is refused (53200).

use crate::context::{Env, value_bytes};
use quintet_base::row::RowLayout;
use quintet_base::{SqlResult, SqlType, Value};
use quintet_ir::{Access, Expr, Plan, Spill, out_of_memory};
use std::hash::{BuildHasher, Hasher};

/// Rows of one piece.
const PIECE_ROWS: usize = 1024;

/// What a row takes beside its values: hash, next, and at most two heads.
const INDEX_BYTES: usize = 16;

/// What the file adds: where the row ends.
const END_BYTES: usize = 8;

/// Bytes that are gathered before they go to the file.
const BUFFER_BYTES: usize = 256 * 1024;

/// No row.
const NONE: u32 = u32::MAX;

/// A key's hash; never 0, which stands for no key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hash(u32);

/// Kept rows. Rows are pushed, then [`KeptRows::finish`]ed, then found.
pub(crate) struct KeptRows {
    /// Of a whole frame.
    width: usize,
    /// Which of its columns are kept; the others are NULL.
    columns: Vec<usize>,
    types: Vec<SqlType>,
    store: Store,
    hashes: Vec<u32>,
    heads: Vec<u32>,
    next: Vec<u32>,
    /// What all of it has been charged, and of that the values.
    bytes: usize,
    values_bytes: usize,
}

enum Store {
    Memory(Vec<Vec<Value>>),
    File(FileRows),
}

struct FileRows {
    file: Box<dyn Spill>,
    layout: RowLayout,
    /// Of each row, in the file.
    ends: Vec<u64>,
    /// What is still to be written.
    buffer: Vec<u8>,
}

impl KeptRows {
    /// For frames of this plan.
    pub fn new(plan: &Plan, env: &Env<'_>) -> KeptRows {
        let types = plan.frame_types();
        let columns = match env.whole_rows {
            true => (0..types.len()).collect(),
            false => made_columns(plan, types.len()),
        };
        KeptRows {
            width: types.len(),
            types: columns.iter().map(|&column| types[column]).collect(),
            columns,
            store: Store::Memory(Vec::new()),
            hashes: Vec::new(),
            heads: Vec::new(),
            next: Vec::new(),
            bytes: 0,
            values_bytes: 0,
        }
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.hashes.len() as u32
    }

    /// What has been charged for them.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether memory has room for one more.
    pub fn fits(&self, frame: &[Value], env: &mut Env<'_>) -> bool {
        let bytes = self.bytes_of(frame) + INDEX_BYTES;
        let fits = env.may_charge_rows(bytes);
        if fits {
            env.release(bytes);
        }
        fits
    }

    fn bytes_of(&self, frame: &[Value]) -> usize {
        let values = self.columns.iter().map(|&column| &frame[column]);
        values.map(value_bytes).sum()
    }

    /// Keeps a frame; without a hash it is found by its number only.
    ///
    /// # Errors
    /// `53200` if there is no room and no file, or what the file says.
    pub fn push(
        &mut self,
        frame: &[Value],
        hash: Option<Hash>,
        env: &mut Env<'_>,
    ) -> SqlResult<()> {
        if let Store::Memory(_) = self.store {
            let bytes = self.bytes_of(frame);
            if env.may_charge_rows(bytes + INDEX_BYTES) {
                self.bytes += bytes + INDEX_BYTES;
                self.values_bytes += bytes;
                self.push_values(frame);
                self.push_hash(hash);
                return Ok(());
            }
            self.move_to_file(env)?;
        }
        env.charge(INDEX_BYTES + END_BYTES)?;
        self.bytes += INDEX_BYTES + END_BYTES;
        if let Store::File(rows) = &mut self.store {
            rows.push(self.columns.iter().map(|&column| &frame[column]))?;
        }
        self.push_hash(hash);
        Ok(())
    }

    fn push_values(&mut self, frame: &[Value]) {
        let at = self.hashes.len();
        let Store::Memory(pieces) = &mut self.store else {
            return;
        };
        if at.is_multiple_of(PIECE_ROWS) {
            // The first piece may stay small.
            let rows = if at == 0 { 0 } else { PIECE_ROWS };
            pieces.push(Vec::with_capacity(rows * self.columns.len()));
        }
        if let Some(piece) = pieces.last_mut() {
            piece.extend(self.columns.iter().map(|&column| frame[column].clone()));
        }
    }

    fn push_hash(&mut self, hash: Option<Hash>) {
        self.hashes.push(hash.map_or(0, |hash| hash.0));
    }

    /// Memory has no room any more.
    fn move_to_file(&mut self, env: &mut Env<'_>) -> SqlResult<()> {
        let mut rows = FileRows {
            file: env.host.spill()?,
            layout: RowLayout::new(self.types.clone()),
            ends: Vec::with_capacity(self.hashes.len()),
            buffer: Vec::with_capacity(BUFFER_BYTES),
        };
        let width = self.columns.len();
        if let Store::Memory(pieces) = &mut self.store {
            let mut left = self.hashes.len();
            for piece in std::mem::take(pieces) {
                for row in 0..left.min(PIECE_ROWS) {
                    env.tick()?;
                    rows.push(piece[row * width..(row + 1) * width].iter())?;
                }
                left = left.saturating_sub(PIECE_ROWS);
            }
        }
        env.release(std::mem::take(&mut self.values_bytes));
        let ends = rows.ends.len() * END_BYTES;
        self.bytes = self.hashes.len() * INDEX_BYTES;
        env.charge(ends)?;
        self.bytes += ends;
        self.store = Store::File(rows);
        Ok(())
    }

    /// All have been kept: from now on they are found.
    ///
    /// # Errors
    /// What the file says; `53200` for more rows than can be numbered.
    pub fn finish(&mut self, env: &mut Env<'_>) -> SqlResult<()> {
        if let Store::File(rows) = &mut self.store {
            rows.flush()?;
        }
        let count = self.hashes.len();
        if count >= NONE as usize {
            return Err(out_of_memory(env.host.statement_memory()));
        }
        self.heads = vec![NONE; count.next_power_of_two()];
        self.next = vec![NONE; count];
        let mask = self.heads.len() - 1;
        // From the last one on, so that a chain is in the order of the rows.
        for row in (0..count).rev() {
            let hash = self.hashes[row];
            if hash != 0 {
                let head = &mut self.heads[hash as usize & mask];
                self.next[row] = std::mem::replace(head, row as u32);
            }
        }
        Ok(())
    }

    /// The first row of this hash.
    pub fn first(&self, hash: Hash) -> Option<u32> {
        let mask = self.heads.len().checked_sub(1)?;
        self.of_hash(self.heads[hash.0 as usize & mask], hash)
    }

    /// The row of this hash behind that one.
    pub fn after(&self, row: u32, hash: Hash) -> Option<u32> {
        self.of_hash(self.next[row as usize], hash)
    }

    fn of_hash(&self, mut row: u32, hash: Hash) -> Option<u32> {
        while row != NONE {
            if self.hashes[row as usize] == hash.0 {
                return Some(row);
            }
            row = self.next[row as usize];
        }
        None
    }

    /// Appends a row to a frame.
    ///
    /// # Errors
    /// What the file says.
    pub fn put(&self, row: u32, frame: &mut Vec<Value>) -> SqlResult<()> {
        let (row, at) = (row as usize, frame.len());
        frame.resize_with(at + self.width, Value::default);
        match &self.store {
            Store::Memory(pieces) => {
                let width = self.columns.len();
                let from = row % PIECE_ROWS * width;
                let values = &pieces[row / PIECE_ROWS][from..from + width];
                for (&column, value) in self.columns.iter().zip(values) {
                    frame[at + column] = value.clone();
                }
            }
            Store::File(rows) => {
                let bytes = rows.read(row)?;
                let read = rows.layout.open(&bytes)?;
                for (place, &column) in self.columns.iter().enumerate() {
                    frame[at + column] = read.get(place)?;
                }
            }
        }
        Ok(())
    }

    /// Gives back what was charged.
    pub fn release(self, env: &mut Env<'_>) {
        env.release(self.bytes);
    }
}

impl FileRows {
    fn push<'v>(&mut self, values: impl Iterator<Item = &'v Value>) -> SqlResult<()> {
        let values: Vec<&Value> = values.collect();
        let mut row = Vec::new();
        self.layout.encode_into(&values, &mut row)?;
        self.buffer.extend_from_slice(&row);
        let end = self.ends.last().copied().unwrap_or(0) + row.len() as u64;
        self.ends.push(end);
        match self.buffer.len() >= BUFFER_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> SqlResult<()> {
        self.file.append(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn read(&self, row: usize) -> SqlResult<Vec<u8>> {
        let from = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        let mut bytes = vec![0; (self.ends[row] - from) as usize];
        self.file.read(from, &mut bytes)?;
        Ok(bytes)
    }
}

/// What a value takes, about, of which nothing is known yet.
const VALUE_BYTES: usize = 40;

/// Whether memory has room for about so many rows as a table that is asked by key would be kept with.
pub(crate) fn has_room(access: &Access, env: &mut Env<'_>) -> bool {
    let columns = match &access.needed {
        Some(needed) if !env.whole_rows => needed.iter().filter(|needed| **needed).count(),
        _ => access.table.frame_width(),
    };
    let rows = access.kept_after.map_or(0, |after| after.rows) as usize;
    let bytes = rows.saturating_mul(INDEX_BYTES + VALUE_BYTES * (columns + 1));
    let fits = env.may_charge_rows(bytes);
    if fits {
        env.release(bytes);
    }
    fits
}

/// The columns of a plan's frame that are not NULL because nobody looks at them.
fn made_columns(plan: &Plan, width: usize) -> Vec<usize> {
    match plan {
        Plan::Scan(access) => match &access.needed {
            Some(needed) => (0..width)
                .filter(|&column| needed.get(column).copied().unwrap_or(true))
                .collect(),
            None => (0..width).collect(),
        },
        Plan::Join { outer, inner, .. } => {
            let outer_width = outer.frame_types().len();
            let mut columns = made_columns(outer, outer_width);
            let inner = made_columns(inner, width - outer_width).into_iter();
            columns.extend(inner.map(|column| outer_width + column));
            columns
        }
        Plan::Filter { input, .. }
        | Plan::Lock { input, .. }
        | Plan::Lookup { input, .. }
        | Plan::Hold { input } => made_columns(input, width),
        _ => (0..width).collect(),
    }
}

/// The hash of some expressions' values; `None`: a NULL among them, which equals nothing.
pub(crate) fn hash_of<'p>(
    exprs: impl Iterator<Item = &'p Expr>,
    env: &mut Env<'_>,
    frame: &[Value],
) -> SqlResult<Option<Hash>> {
    let mut image = std::mem::take(&mut env.workspace.image);
    image.clear();
    let whole = image_of(exprs, env, frame, &mut image);
    let hash = whole.map(|whole| whole.then(|| Hash::of(&image)));
    env.workspace.image = image;
    hash
}

/// Appends the image of some expressions' values; false for a NULL among them.
pub(crate) fn image_of<'p>(
    exprs: impl Iterator<Item = &'p Expr>,
    env: &Env<'_>,
    frame: &[Value],
    image: &mut Vec<u8>,
) -> SqlResult<bool> {
    for expr in exprs {
        let value = match quintet_ir::leaf(expr, frame, env.params) {
            Some(value) => value,
            None => &env.eval_plain(expr, frame)?,
        };
        if value.is_null() {
            return Ok(false);
        }
        crate::keys::push(value, expr.ty(), image);
    }
    Ok(true)
}

impl Hash {
    /// Of the image of a key.
    pub fn of(image: &[u8]) -> Hash {
        // Who can choose keys that collide can as well ask for a product of tables.
        let mut hasher = foldhash::fast::FixedState::with_seed(0).build_hasher();
        hasher.write(image);
        let hash = hasher.finish();
        Hash(((hash >> 32) as u32 ^ hash as u32).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tests/slt/cases/joins_kept.sql` joins rows of these two keys, which are not equal.
    #[test]
    fn two_keys_share_a_hash() {
        let hash = |number| {
            let mut image = Vec::new();
            crate::keys::push(&Value::Int4(number), SqlType::Int4, &mut image);
            Hash::of(&image)
        };
        assert_eq!(hash(204), hash(61_294));
        assert_ne!(hash(204), hash(205));
    }
}
