//! The manifest: what the store knows of itself across a crash.
//!
//! Relies on: `rt::disk::replace_file`: after power loss there is the old file or the new one.
//! Promises: what is not exactly a manifest is refused, never guessed at.  Does not: list tablets;
//! each tree does that for itself.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic `QNTSTORE` |
//! | 8 | 4 | format version, 2 |
//! | 12 | 8 | redo start |
//! | 20 | 8 | ceiling: no stored position is above |
//! | 28 | 8 | high: at the checkpoint no stored position was above |
//! | 36 | 4 | number of spaces, n |
//! | 40 | 20 n | space (4), folder (8), number of the next merge (8), ascending by space |
//! | 40 + 20 n | 4 | CRC-32C of all bytes before |
//!
//! All numbers are little-endian. Version 1, which is still read, has neither *high* nor the numbers of
//! merges.
//!
//! *High and the ceiling* let a reopened store tell operations that may already be stored from those that
//! can not. High is the mark for a space into which nothing was merged since the checkpoint, as its
//! tree tells. For others, as after a kill between a merge and its checkpoint, it is the ceiling, which
//! is written before the first run that reaches above the one on disk becomes visible, and then a
//! good way ahead, so that this is rare ([`CEILING_AHEAD`]).

use quintet_base::{Lsn, SpaceId};
use quintet_dc::Error;
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) const FORMAT_VERSION: u32 = 2;
const MAGIC: &[u8; 8] = b"QNTSTORE";
const HEAD_BYTES: usize = 40;
const ENTRY_BYTES: usize = 20;
const CHECKSUM_BYTES: usize = 4;

/// How far ahead of the positions merged the ceiling is set, in bytes of log. A few times what a
/// merge usually brings, so that the manifest written at each checkpoint covers the next merge;
/// after a kill that came before a checkpoint, at most this much of the log is compared record by record
/// for nothing.
pub(crate) const CEILING_AHEAD: u64 = 256 * 1024 * 1024;

/// What a store knows of itself across a crash, as of its last checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Manifest {
    /// The caller's log is to be sent again from here.
    pub redo_start: Lsn,
    /// No stored position is above.
    pub ceiling: Lsn,
    /// At the checkpoint no stored position was above.
    pub high: Lsn,
    /// The live spaces.
    pub spaces: BTreeMap<SpaceId, Listed>,
}

/// A live space, as of the checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Its folder's name.
    pub folder: u64,
    /// The tree gives merges ascending numbers: those before the checkpoint are below this one. 0: it is
    /// not known.
    pub next_merge: u64,
}

impl Manifest {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.spaces.len() * ENTRY_BYTES + 4);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.redo_start.0.to_le_bytes());
        bytes.extend_from_slice(&self.ceiling.0.to_le_bytes());
        bytes.extend_from_slice(&self.high.0.to_le_bytes());
        let count = u32::try_from(self.spaces.len()).expect("space numbers have 32 bits");
        bytes.extend_from_slice(&count.to_le_bytes());
        for (space, listed) in &self.spaces {
            bytes.extend_from_slice(&space.0.to_le_bytes());
            bytes.extend_from_slice(&listed.folder.to_le_bytes());
            bytes.extend_from_slice(&listed.next_merge.to_le_bytes());
        }
        let checksum = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads the file at `path`, which has these bytes.
    ///
    /// # Errors
    /// [`Error::Format`] for another version, [`Error::Damaged`] for anything else that differs.
    pub fn decode(bytes: &[u8], path: &Path) -> Result<Manifest, Error> {
        let damaged = |what: &str| Error::Damaged {
            path: path.to_path_buf(),
            what: what.to_owned(),
        };
        let mut reader = Reader(bytes);
        if reader.take::<8>() != Some(*MAGIC) {
            return Err(damaged("not a manifest"));
        }
        let found = reader.u32().ok_or_else(|| damaged("no format version"))?;
        if !(1..=FORMAT_VERSION).contains(&found) {
            let path = path.to_path_buf();
            return Err(Error::Format {
                path,
                found,
                known: FORMAT_VERSION,
            });
        }
        let Some((body, checksum)) = bytes.split_last_chunk::<CHECKSUM_BYTES>() else {
            return Err(damaged("too short"));
        };
        if crc32c::crc32c(body) != u32::from_le_bytes(*checksum) {
            return Err(damaged("checksum does not fit"));
        }
        let mut manifest = Manifest::default();
        let mut read = || {
            manifest.redo_start = Lsn(reader.u64()?);
            manifest.ceiling = Lsn(reader.u64()?);
            manifest.high = match found {
                1 => manifest.ceiling,
                _ => Lsn(reader.u64()?),
            };
            for _ in 0..reader.u32()? {
                let space = SpaceId(reader.u32()?);
                let folder = reader.u64()?;
                let next_merge = match found {
                    1 => 0,
                    _ => reader.u64()?,
                };
                manifest.spaces.insert(space, Listed { folder, next_merge });
            }
            (reader.0.len() == CHECKSUM_BYTES).then_some(())
        };
        match read() {
            Some(()) => Ok(manifest),
            None => Err(damaged("length does not fit")),
        }
    }
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(folder: u64, next_merge: u64) -> Listed {
        Listed { folder, next_merge }
    }

    fn example() -> Manifest {
        Manifest {
            redo_start: Lsn(77),
            ceiling: Lsn(u64::MAX),
            high: Lsn(78),
            spaces: [
                (SpaceId(0), listed(3, 4)),
                (SpaceId(u32::MAX), listed(u64::MAX, u64::MAX)),
            ]
            .into(),
        }
    }

    #[test]
    fn manifests_survive_the_way_through_bytes() {
        for manifest in [Manifest::default(), example()] {
            assert_eq!(
                Manifest::decode(&manifest.encode(), Path::new("m")).unwrap(),
                manifest
            );
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_refused() {
        let good = example().encode();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Manifest::decode(&bad, Path::new("m")).is_err(), "bit {bit}");
        }
        for length in 0..good.len() {
            assert!(
                Manifest::decode(&good[..length], Path::new("m")).is_err(),
                "length {length}"
            );
        }
        let longer = [&good[..], &[0]].concat();
        assert!(Manifest::decode(&longer, Path::new("m")).is_err());
    }

    /// The first format, byte by byte: whatever comes later must go on reading it.
    #[test]
    fn the_first_format_is_read_for_ever() {
        let mut bytes =
            b"QNTSTORE\x01\0\0\0\x05\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x01\0\0\0".to_vec();
        bytes.extend_from_slice(b"\x07\0\0\0\x02\0\0\0\0\0\0\0");
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        let manifest = Manifest::decode(&bytes, Path::new("m")).unwrap();
        let spaces = [(SpaceId(7), listed(2, 0))].into();
        assert_eq!(
            manifest,
            Manifest {
                redo_start: Lsn(5),
                ceiling: Lsn(9),
                high: Lsn(9),
                spaces
            }
        );
    }

    #[test]
    fn another_format_is_named() {
        let mut bytes = example().encode();
        bytes[8] = 3;
        let error = Manifest::decode(&bytes, Path::new("m")).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Format {
                    found: 3,
                    known: 2,
                    ..
                }
            ),
            "{error}"
        );
    }
}
