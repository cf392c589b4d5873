//! The bytes and names of a segment file.
//!
//! Relies on: `rt::Disk`.  Promises: a file under a segment's name was complete and synced, zeros
//! included, before it got that name.  Does not: look at records.
//!
//! ```text
//! offset  0   8 bytes  magic "QLOGSEGM"
//! offset  8   u32 LE   format version, 1
//! offset 12   u32 LE   where the stream begins in the file, 4096
//! offset 16   u64 LE   position in the stream of the byte at 4096
//! offset 24   u64 LE   bytes of the stream in this file
//! offset 32   u64 LE   id of the log: random, the same in all its files
//! offset 40   u32 LE   CRC-32C of bytes 0..40
//! offset 44   zeros    up to 4096
//! then        bytes    the stream
//! ```
//!
//! | name | what it is |
//! |---|---|
//! | `<start position, 16 hex digits>.log` | a segment |
//! | `<16 hex digits>.spare` | a segment whose records are no longer needed; kept to be renamed |
//! | `<16 hex digits>.new` | a segment in the making; left over after a crash, removed |
//!
//! ```text
//!   (nothing) ──make──► .new ──rename──► .log ──retire──► .spare ──reuse: new header, rename──► .log
//! ```

use crate::error::Error;
use quintet_base::Lsn;
use quintet_rt::{Disk, DiskFile, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes before the stream begins: a block, so that the stream keeps the alignment of the file.
pub const SEGMENT_HEADER_BYTES: u64 = 4096;

/// No log gets there (at a gigabyte a second it takes 146 years); below it, sums of a position and
/// the length of a record cannot overflow.
const POSITION_MAX: u64 = 1 << 62;

const MAGIC: [u8; 8] = *b"QLOGSEGM";
const FORMAT_VERSION: u32 = 1;
const CHECKED_BYTES: usize = 40;

/// An open segment. Clones share the file.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub start: u64,
    /// Position after the last byte that fits.
    pub end: u64,
    pub file: Arc<dyn DiskFile>,
    /// For writes in whole blocks past the system's cache; see `blocks`.
    pub direct: Option<Arc<dyn DiskFile>>,
    pub path: PathBuf,
}

impl Segment {
    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.end - self.start + SEGMENT_HEADER_BYTES
    }

    /// Where a position of the stream is in the file.
    pub fn offset_of(&self, position: u64) -> u64 {
        assert!(
            (self.start..=self.end).contains(&position),
            "position {position} is not in segment {}..{}",
            self.start,
            self.end
        );
        position - self.start + SEGMENT_HEADER_BYTES
    }

    /// Damage at a position of this segment.
    pub fn damaged(&self, position: u64, reason: &'static str) -> Error {
        Error::Damaged {
            lsn: Lsn(position),
            path: self.path.clone(),
            offset: self.offset_of(position),
            reason,
        }
    }
}

/// What the first block of a segment says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SegmentHeader {
    pub start: u64,
    pub capacity: u64,
    pub log_id: u64,
}

impl SegmentHeader {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SEGMENT_HEADER_BYTES as usize);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&(SEGMENT_HEADER_BYTES as u32).to_le_bytes());
        out.extend_from_slice(&self.start.to_le_bytes());
        out.extend_from_slice(&self.capacity.to_le_bytes());
        out.extend_from_slice(&self.log_id.to_le_bytes());
        let crc = crc32c::crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out.resize(SEGMENT_HEADER_BYTES as usize, 0);
        out
    }

    pub fn parse(bytes: &[u8]) -> Result<SegmentHeader, &'static str> {
        let Some(bytes) = bytes.first_chunk::<{ CHECKED_BYTES + 4 }>() else {
            return Err("the segment is shorter than its header");
        };
        let u32_at = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("inside"));
        let u64_at = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("inside"));
        if bytes[..8] != MAGIC {
            return Err("the file is no log segment");
        }
        if u32_at(CHECKED_BYTES) != crc32c::crc32c(&bytes[..CHECKED_BYTES]) {
            return Err("the segment's header fails its checksum");
        }
        if u32_at(8) != FORMAT_VERSION || u32_at(12) as u64 != SEGMENT_HEADER_BYTES {
            return Err("the segment has a format version that this release does not know");
        }
        let header = SegmentHeader {
            start: u64_at(16),
            capacity: u64_at(24),
            log_id: u64_at(32),
        };
        let aligned = header.start.is_multiple_of(crate::record::ALIGNMENT)
            && header.capacity.is_multiple_of(crate::record::ALIGNMENT);
        let end = header.start.saturating_add(header.capacity);
        if !aligned || header.capacity == 0 || end > POSITION_MAX {
            return Err("the segment's header is impossible");
        }
        Ok(header)
    }
}

/// What a file of the log directory is, by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileKind {
    Log,
    Spare,
    New,
}

impl FileKind {
    fn extension(self) -> &'static str {
        match self {
            FileKind::Log => "log",
            FileKind::Spare => "spare",
            FileKind::New => "new",
        }
    }

    /// The path of a file of this kind.
    pub fn path(self, directory: &Path, number: u64) -> PathBuf {
        directory.join(format!("{number:016x}.{}", self.extension()))
    }

    /// Kind and number of a name; `None` for what is not ours.
    pub fn of(name: &str) -> Option<(FileKind, u64)> {
        let (digits, extension) = name.split_once('.')?;
        let kind = [FileKind::Log, FileKind::Spare, FileKind::New]
            .into_iter()
            .find(|kind| kind.extension() == extension)?;
        let plain = digits.len() == 16
            && digits
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let number = u64::from_str_radix(digits, 16).ok()?;
        plain.then_some((kind, number))
    }
}

/// Opens the segment that is named after `start` and checks its header.
pub(crate) fn open(
    disk: &dyn Disk,
    directory: &Path,
    start: u64,
    mode: OpenMode,
) -> Result<(Segment, SegmentHeader), Error> {
    open_at(disk, &FileKind::Log.path(directory, start), start, mode)
}

/// The same, under any name.
pub(crate) fn open_at(
    disk: &dyn Disk,
    path: &Path,
    start: u64,
    mode: OpenMode,
) -> Result<(Segment, SegmentHeader), Error> {
    let damaged = |reason| Error::Damaged {
        lsn: Lsn(start),
        path: path.to_path_buf(),
        offset: 0,
        reason,
    };
    let file = disk.open(path, mode)?;
    let mut bytes = [0u8; CHECKED_BYTES + 4];
    let got = file.read_at(&mut bytes, 0)?;
    let header = SegmentHeader::parse(&bytes[..got]).map_err(damaged)?;
    if header.start != start {
        return Err(damaged("the segment was written under another name"));
    }
    if file.len()? < SEGMENT_HEADER_BYTES.saturating_add(header.capacity) {
        return Err(damaged("the segment has been cut short"));
    }
    let direct = match mode.writes() {
        true => disk.open_direct(path)?,
        false => None,
    };
    let segment = Segment {
        start,
        end: start + header.capacity,
        file,
        direct,
        path: path.to_path_buf(),
    };
    Ok((segment, header))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_header_reads_back_and_every_flipped_bit_is_noticed() {
        let header = SegmentHeader {
            start: 1 << 33,
            capacity: 65_536,
            log_id: 0x0123_4567_89AB_CDEF,
        };
        let bytes = header.encode();
        assert_eq!(bytes.len() as u64, SEGMENT_HEADER_BYTES);
        assert_eq!(SegmentHeader::parse(&bytes), Ok(header));
        for bit in 0..(CHECKED_BYTES + 4) * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentHeader::parse(&bad).is_err(), "bit {bit}");
        }
        assert!(SegmentHeader::parse(&bytes[..43]).is_err());
    }

    #[test]
    fn names_read_back_and_foreign_names_are_left_alone() {
        for kind in [FileKind::Log, FileKind::Spare, FileKind::New] {
            let path = kind.path(Path::new("d"), 0xabc);
            let name = path.file_name().and_then(|n| n.to_str()).unwrap();
            assert_eq!(FileKind::of(name), Some((kind, 0xabc)));
        }
        for name in [
            "LOCK",
            "0.log",
            "000000000000000A.log",
            "+00000000000000a.log",
            "000000000000000a.txt",
            "000000000000000a.log.new",
        ] {
            assert_eq!(FileKind::of(name), None, "{name}");
        }
    }
}
