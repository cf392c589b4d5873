//! A file that is written once, from its beginning to its end.
//!
//! Relies on: nothing else writes the file.  Promises: whole pieces reach the system; the checksum is that of all bytes; the file is durable when
//! [`Output::finish`] has returned.  Does not: seek, or make the file's name durable.

use lsm_tree::Checksum;
use lsm_tree::checksum::ChecksummedWriter;
use quintet_rt::{Disk, DiskFile, OpenMode, RealDisk};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// What the system is given at once.
const PIECE_BYTES: usize = 256 * 1024;

/// See the header.
pub(crate) struct Output {
    piece: Vec<u8>,
    file: ChecksummedWriter<Pieces>,
}

/// The file, behind what has been written.
struct Pieces {
    file: Arc<dyn DiskFile>,
    end: u64,
}

impl Write for Pieces {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let written = self.file.write_at(piece, self.end);
        written.map_err(|error| error.source)?;
        self.end += piece.len() as u64;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output {
    /// A file that is not there yet.
    pub fn create(path: &Path) -> io::Result<Output> {
        if RealDisk.exists(path).map_err(|error| error.source)? {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let file = RealDisk.open(path, OpenMode::Create);
        let file = file.map_err(|error| error.source)?;
        Ok(Output {
            piece: Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 4),
            file: ChecksummedWriter::new(Pieces { file, end: 0 }),
        })
    }

    /// How many bytes were written.
    pub fn position(&mut self) -> u64 {
        self.file.inner_mut().end + self.piece.len() as u64
    }

    /// Gives the system so many bytes.
    fn give(&mut self, bytes: usize) -> io::Result<()> {
        if bytes > 0 {
            self.file.write_all(&self.piece[..bytes])?;
            self.piece.drain(..bytes);
        }
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<Checksum> {
        self.flush()?;
        let synced = self.file.inner_mut().file.sync_data();
        synced.map_err(|error| error.source)?;
        Ok(self.file.checksum())
    }
}

impl Write for Output {
    /// All of them: the library sums up what it offers, and would sum up again what was not taken.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        let whole = self.piece.len() - self.piece.len() % PIECE_BYTES;
        self.give(whole)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.give(self.piece.len())
    }
}

/// Whoever writes sections asks where he is, and goes nowhere.
impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Current(0) => Ok(self.position()),
            _ => Err(ErrorKind::Unsupported.into()),
        }
    }
}
