//! A file of rows that is written from one end to the other and read the same way.
//!
//! Relies on: `ir::Host::spill` for the file.  Promises: rows come back as they were, in the order in which they went in.
//! Does not: find a row (`kept` does), or charge anything: who reads says how much at a time.

use crate::context::Env;
use quintet_base::row::RowLayout;
use quintet_base::{SqlResult, Value};
use quintet_ir::Spill;

/// What is written at once, and what is read, at most and at least. Between them it is a share of the statement's
/// memory, since some dozens of files are open at a time.
const WRITE_BYTES_MAX: usize = 256 * 1024;
const READ_BYTES_MAX: usize = 64 * 1024;
const BYTES_MIN: usize = 1024;
const SHARE: usize = 256;

/// Before each row: how many bytes it has.
const LENGTH_BYTES: usize = 4;

/// A file that is complete.
pub(crate) struct RowFile {
    rows: Box<dyn Spill>,
    length: u64,
}

/// A file that is being written.
pub(crate) struct RowWriter {
    file: Box<dyn Spill>,
    length: u64,
    buffer: Vec<u8>,
    row: Vec<u8>,
    write_bytes: usize,
}

/// A file that is being read.
pub(crate) struct RowReader {
    file: RowFile,
    /// How much has come out of it.
    read: u64,
    buffer: Vec<u8>,
    /// How much of the buffer has been handed out.
    used: usize,
    read_bytes: usize,
}

impl RowWriter {
    /// A new file.
    ///
    /// # Errors
    /// What [`Spill`] says.
    pub fn new(env: &Env<'_>) -> SqlResult<RowWriter> {
        Ok(RowWriter {
            file: env.host.spill()?,
            length: 0,
            buffer: Vec::new(),
            row: Vec::new(),
            write_bytes: share_of(env, WRITE_BYTES_MAX),
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// What [`Spill`] says.
    pub fn push(&mut self, layout: &RowLayout, values: &[&Value]) -> SqlResult<()> {
        let mut row = std::mem::take(&mut self.row);
        layout.encode_into(values, &mut row)?;
        self.push_bytes(&row)?;
        self.row = row;
        Ok(())
    }

    /// Adds what a row is kept in.
    ///
    /// # Errors
    /// What [`Spill`] says.
    pub fn push_bytes(&mut self, row: &[u8]) -> SqlResult<()> {
        let length = row.len() as u32;
        self.buffer.extend_from_slice(&length.to_le_bytes());
        self.buffer.extend_from_slice(row);
        match self.buffer.len() >= self.write_bytes {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> SqlResult<()> {
        self.file.append(&self.buffer)?;
        self.length += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// That was all.
    ///
    /// # Errors
    /// What [`Spill`] says.
    pub fn finish(mut self) -> SqlResult<RowFile> {
        self.flush()?;
        Ok(RowFile {
            rows: self.file,
            length: self.length,
        })
    }
}

fn share_of(env: &Env<'_>, max: usize) -> usize {
    (env.host.statement_memory() / SHARE).clamp(BYTES_MIN, max)
}

/// What to read of a file at once.
pub(crate) fn read_bytes(env: &Env<'_>) -> usize {
    share_of(env, READ_BYTES_MAX)
}

impl RowFile {
    /// From its beginning, so many bytes at a time.
    pub fn read(self, read_bytes: usize) -> RowReader {
        RowReader {
            file: self,
            read: 0,
            buffer: Vec::new(),
            used: 0,
            read_bytes,
        }
    }
}

impl RowReader {
    /// The bytes of the next row.
    ///
    /// # Errors
    /// What [`Spill`] says.
    pub fn next(&mut self) -> SqlResult<Option<&[u8]>> {
        if self.read == self.file.length && self.used == self.buffer.len() {
            return Ok(None);
        }
        self.have(LENGTH_BYTES)?;
        let length = self.buffer[self.used..].first_chunk::<LENGTH_BYTES>();
        let length = length.map_or(0, |length| u32::from_le_bytes(*length) as usize);
        self.have(LENGTH_BYTES + length)?;
        let from = self.used + LENGTH_BYTES;
        self.used = from + length;
        Ok(Some(&self.buffer[from..self.used]))
    }

    /// Reads on until so many bytes are there that have not been handed out.
    fn have(&mut self, bytes: usize) -> SqlResult<()> {
        if self.buffer.len() - self.used >= bytes {
            return Ok(());
        }
        self.buffer.drain(..self.used);
        self.used = 0;
        let there = self.buffer.len();
        let left = usize::try_from(self.file.length - self.read).unwrap_or(usize::MAX);
        let more = (bytes - there).max(self.read_bytes.min(left));
        self.buffer.resize(there + more, 0);
        self.file.rows.read(self.read, &mut self.buffer[there..])?;
        self.read += more as u64;
        Ok(())
    }
}
