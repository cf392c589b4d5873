//! The bytes of a commit record, the payload of one log record.
//!
//! Relies on: `wal` for length and checksum.  Promises: keys and values are read as slices of the
//! record's own bytes, so that versions can point at them.  Does not: hold a timestamp: a commit's
//! timestamp is the position of its record.
//!
//! ```text
//! offset 0   u8      kind: 1 = commit, 2 = void (refused after its place was taken; the rest is nothing)
//!        1   u8      format version: 4; in 2 and 3 (p is not zero) no change is marked; in 1 there is no time, and the space numbers
//!                    follow the count
//!        2   u16 LE  number of spaces fenced, f
//!        4   u16 LE  number of spaces dropped, d
//!        6   u16 LE  number of spaces whose changes here went past memory, p
//!        8   u32 LE  number of changes, n
//!       12   i64 LE  when: microseconds since 2000-01-01 00:00 UTC by the clock of the machine. Of two commits
//!                    the later one may have the earlier time
//!       20   u32 LE × f, then u32 LE × d, then u32 LE × p   space numbers
//! then n changes:
//!            u32 LE  space
//!            u32 LE  key length, k; bit 31: marked, see [`Marked`]
//!            u32 LE  value length + 1, or 0 for a removal, v
//!            k bytes key, v-1 bytes value
//! ```

use crate::error::Error;
use quintet_base::{Lsn, SpaceId};

const KIND_COMMIT: u8 = 1;
const KIND_VOID: u8 = 2;
const FORMAT: u8 = 4;
/// The two before: nothing is marked, and only the later one tells of spaces whose changes are in no table of the process that has
/// written it.
const FORMAT_UNMARKED: u8 = 2;
const HEADER: usize = 20;
/// The one before: without a time.
const FORMAT_UNTIMED: u8 = 1;
const HEADER_UNTIMED: usize = 12;
const CHANGE_HEADER: usize = 12;
const MARK: u32 = 1 << 31;
const _: () = assert!(quintet_base::limits::KEY_BYTES_MAX < MARK as usize);

/// One change of a commit, pointing into the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// In which space.
    pub space: SpaceId,
    /// Of which record.
    pub key: &'a [u8],
    /// What it is from now on; `None`: removed.
    pub value: Option<&'a [u8]>,
}

impl Change<'_> {
    fn encoded_len(&self) -> usize {
        CHANGE_HEADER + self.key.len() + self.value.map_or(0, <[u8]>::len)
    }
}

/// A change, and whether it may be the first one of its record since the last freeze (`compact`): a pass looks up the records of such
/// changes alone. For the process that has written it, and nobody else.
pub(crate) type Marked<'a> = (Change<'a>, bool);

/// Of which spaces a record says something.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spaces<'a> {
    pub fenced: &'a [SpaceId],
    pub dropped: &'a [SpaceId],
    /// Changes of these are in the log alone, until STORE has them.
    pub past: &'a [SpaceId],
}

impl<'a> Spaces<'a> {
    fn all(self) -> impl Iterator<Item = &'a SpaceId> {
        self.fenced.iter().chain(self.dropped).chain(self.past)
    }
}

/// Bytes that a record will take.
pub(crate) fn encoded_len<'a>(
    changes: impl Iterator<Item = Change<'a>>,
    spaces: Spaces<'_>,
) -> usize {
    let body: usize = changes.map(|change| change.encoded_len()).sum();
    HEADER + 4 * spaces.all().count() + body
}

/// Writes a record of exactly `out`'s length; `changes` in the order they are to be kept.
pub(crate) fn encode<'a>(
    out: &mut [u8],
    changes: impl Iterator<Item = Marked<'a>>,
    spaces: Spaces<'_>,
    time_micros: i64,
) {
    let mut at = HEADER;
    let mut put = |bytes: &[u8]| {
        out[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    for space in spaces.all() {
        put(&space.0.to_le_bytes());
    }
    let mut count = 0u32;
    for (change, marked) in changes {
        count += 1;
        put(&change.space.0.to_le_bytes());
        let mark = if marked { MARK } else { 0 };
        put(&(change.key.len() as u32 | mark).to_le_bytes());
        put(&change.value.map_or(0, |v| v.len() as u32 + 1).to_le_bytes());
        put(change.key);
        put(change.value.unwrap_or_default());
    }
    assert_eq!(at, out.len(), "the length was told before");
    out[..2].copy_from_slice(&[KIND_COMMIT, FORMAT]);
    let lists = [spaces.fenced, spaces.dropped, spaces.past];
    for (at, spaces) in [2, 4, 6].into_iter().zip(lists) {
        out[at..at + 2].copy_from_slice(&(spaces.len() as u16).to_le_bytes());
    }
    out[8..12].copy_from_slice(&count.to_le_bytes());
    out[12..20].copy_from_slice(&time_micros.to_le_bytes());
}

/// Makes nothing of a record whose place was taken.
pub(crate) fn encode_void(out: &mut [u8]) {
    out[..2].copy_from_slice(&[KIND_VOID, FORMAT]);
}

/// A commit record being read.
#[derive(Clone, Debug)]
pub struct CommitRecord<'a> {
    /// Where the space numbers begin.
    header: usize,
    fences: usize,
    drops: usize,
    past: usize,
    count: usize,
    bytes: &'a [u8],
}

impl<'a> CommitRecord<'a> {
    /// Reads a record that this process has written; `None` for a void one.
    ///
    /// # Panics
    /// If it is none.
    pub(crate) fn own(bytes: &'a [u8]) -> Option<CommitRecord<'a>> {
        match bytes[0] {
            KIND_VOID => None,
            kind => {
                assert_eq!(kind, KIND_COMMIT, "kind of a record in memory");
                let header = match bytes[1] {
                    FORMAT_UNTIMED => HEADER_UNTIMED,
                    _ => HEADER,
                };
                Some(CommitRecord {
                    header,
                    fences: u16_at(bytes, 2).expect("whole") as usize,
                    drops: u16_at(bytes, 4).expect("whole") as usize,
                    past: match bytes[1] {
                        FORMAT_UNTIMED | FORMAT_UNMARKED => 0,
                        _ => u16_at(bytes, 6).expect("whole") as usize,
                    },
                    count: u32_at(bytes, 8).expect("whole") as usize,
                    bytes,
                })
            }
        }
    }

    /// Reads a record back from the log, looking at every length in it; `None` for a void one.
    ///
    /// # Errors
    /// [`Error::Record`] if the bytes are no commit record.
    pub fn decode(lsn: Lsn, bytes: &'a [u8]) -> Result<Option<CommitRecord<'a>>, Error> {
        let bad = |reason| Error::Record { lsn, reason };
        if bytes.len() < HEADER_UNTIMED || !matches!(bytes[0], KIND_COMMIT | KIND_VOID) {
            return Err(bad("unknown kind"));
        }
        match bytes[1] {
            FORMAT_UNTIMED => {}
            FORMAT_UNMARKED..=FORMAT if bytes.len() < HEADER => return Err(bad("cut short")),
            FORMAT_UNMARKED..=FORMAT => {}
            _ => return Err(bad("written by a newer version")),
        }
        let Some(record) = CommitRecord::own(bytes) else {
            return Ok(None);
        };
        let mut at = record.changes_at();
        for _ in 0..record.count {
            let lengths = u32_at(bytes, at + 4).zip(u32_at(bytes, at + 8));
            let (key, value) = lengths.ok_or(bad("cut short"))?;
            at += CHANGE_HEADER + (key & !MARK) as usize + (value as usize).saturating_sub(1);
            if at > bytes.len() {
                return Err(bad("change out of bounds"));
            }
        }
        if at != bytes.len() {
            return Err(bad("bytes missing or left over"));
        }
        Ok(Some(record))
    }

    /// When it was committed, in microseconds since 2000-01-01 00:00 UTC; older releases did not write that.
    pub fn time_micros(&self) -> Option<i64> {
        let bytes = self.bytes.get(HEADER_UNTIMED..self.header)?;
        Some(i64::from_le_bytes(*bytes.first_chunk()?))
    }

    /// Spaces fenced by the commit.
    pub fn fenced(&self) -> Vec<SpaceId> {
        self.spaces(0, self.fences)
    }

    /// Spaces dropped by the commit.
    pub fn dropped(&self) -> Vec<SpaceId> {
        self.spaces(self.fences, self.drops)
    }

    /// Spaces whose changes here are in no table of the process that has written them.
    pub(crate) fn past(&self) -> Vec<SpaceId> {
        self.spaces(self.fences + self.drops, self.past)
    }

    fn changes_at(&self) -> usize {
        self.header + 4 * (self.fences + self.drops + self.past)
    }

    fn spaces(&self, first: usize, count: usize) -> Vec<SpaceId> {
        (first..first + count)
            .map(|i| SpaceId(u32_at(self.bytes, self.header + 4 * i).expect("whole")))
            .collect()
    }

    /// How many changes it has.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The changes, in the order they were written.
    pub fn changes(&self) -> impl Iterator<Item = Change<'a>> + use<'a> {
        self.marked().map(|(change, _)| change)
    }

    /// The same, each with its mark.
    pub(crate) fn marked(&self) -> impl Iterator<Item = Marked<'a>> + use<'a> {
        let bytes = self.bytes;
        let mut at = self.changes_at();
        (0..self.count).map(move |_| {
            let space = SpaceId(u32_at(bytes, at).expect("whole"));
            let key_word = u32_at(bytes, at + 4).expect("whole");
            let key_len = (key_word & !MARK) as usize;
            let value_len = u32_at(bytes, at + 8).expect("whole") as usize;
            let key_at = at + CHANGE_HEADER;
            let value_at = key_at + key_len;
            at = value_at + value_len.saturating_sub(1);
            let change = Change {
                space,
                key: &bytes[key_at..value_at],
                value: (value_len > 0).then(|| &bytes[value_at..at]),
            };
            (change, key_word & MARK != 0)
        })
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_le_bytes(bytes.try_into().expect("two")))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().expect("four")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every other one is marked, beginning with the second.
    fn encoded(changes: &[Change<'_>], spaces: Spaces<'_>) -> Vec<u8> {
        let mut out = vec![0xAA; encoded_len(changes.iter().copied(), spaces)];
        let marks = [false, true].into_iter().cycle();
        encode(&mut out, changes.iter().copied().zip(marks), spaces, 77);
        out
    }

    #[test]
    fn a_record_reads_back_and_is_read_in_place() {
        let change = |space, key: &'static [u8], value: Option<&'static [u8]>| Change {
            space: SpaceId(space),
            key,
            value,
        };
        let changes = [
            change(7, b"k1", Some(b"v1")),
            change(7, b"k2", None),
            change(9, b"", Some(b"")),
        ];
        let mut spaces = Spaces {
            fenced: &[SpaceId(3)],
            dropped: &[SpaceId(4), SpaceId(5)],
            past: &[],
        };
        let bytes = encoded(&changes, spaces);
        assert_eq!(bytes[..8], [1, 4, 1, 0, 2, 0, 0, 0]);
        let read = CommitRecord::decode(Lsn(1), &bytes).unwrap().unwrap();
        assert_eq!(read.changes().collect::<Vec<_>>(), changes);
        assert_eq!((read.len(), read.time_micros()), (3, Some(77)));
        assert_eq!(read.fenced(), [SpaceId(3)]);
        assert_eq!(read.dropped(), [SpaceId(4), SpaceId(5)]);
        let marks: Vec<bool> = read.marked().map(|(_, marked)| marked).collect();
        assert_eq!(marks, [false, true, false]);
        let value = read.changes().next().unwrap().value.unwrap();
        assert!(bytes.as_ptr_range().contains(&value.as_ptr()));
        assert!(read.past().is_empty());

        spaces.past = &[SpaceId(9), SpaceId(7)];
        let bytes = encoded(&changes, spaces);
        let read = CommitRecord::decode(Lsn(1), &bytes).unwrap().unwrap();
        assert_eq!(read.changes().collect::<Vec<_>>(), changes);
        assert_eq!(read.dropped(), [SpaceId(4), SpaceId(5)]);
        assert_eq!(read.past(), [SpaceId(9), SpaceId(7)]);
    }

    /// The first format, byte by byte: logs that are kept have it for ever.
    #[test]
    fn records_without_a_time_are_read_for_ever() {
        let bytes = b"\x01\x01\x01\0\x01\0\0\0\x01\0\0\0\x03\0\0\0\x04\0\0\0\
            \x07\0\0\0\x01\0\0\0\x03\0\0\0kvv";
        let read = CommitRecord::decode(Lsn(1), bytes).unwrap().unwrap();
        assert_eq!(read.time_micros(), None);
        assert_eq!(
            (read.fenced(), read.dropped()),
            (vec![SpaceId(3)], vec![SpaceId(4)])
        );
        let change = Change {
            space: SpaceId(7),
            key: b"k",
            value: Some(b"vv"),
        };
        assert_eq!(read.changes().collect::<Vec<_>>(), [change]);
        let void = CommitRecord::decode(Lsn(1), b"\x02\x01..........").unwrap();
        assert!(void.is_none());
    }

    /// The second and third format, as logs have them that are kept.
    #[test]
    fn records_without_marks_are_read_for_ever() {
        let change = |past: &[u8]| {
            let begin = b"\0\0\0\0\x01\0\0\0\x05\0\0\0\0\0\0\0";
            let change = b"\x07\0\0\0\x01\0\0\0\0\0\0\0k";
            [past, begin, change].concat()
        };
        let timed = [&b"\x01\x02"[..], &change(b"\0\0")].concat();
        let mut past = [&b"\x01\x03"[..], &change(b"\0\0")].concat();
        past[6] = 1;
        past.splice(20..20, *b"\x09\0\0\0");
        for (bytes, spaces) in [(timed, vec![]), (past, vec![SpaceId(9)])] {
            let read = CommitRecord::decode(Lsn(1), &bytes).unwrap().unwrap();
            assert_eq!((read.time_micros(), read.past()), (Some(5), spaces));
            let removal = Change {
                space: SpaceId(7),
                key: b"k",
                value: None,
            };
            assert_eq!(read.marked().collect::<Vec<_>>(), [(removal, false)]);
        }
    }

    #[test]
    fn damaged_records_are_refused_and_void_ones_are_nothing() {
        let changes = [Change {
            space: SpaceId(1),
            key: b"key",
            value: Some(b"value"),
        }];
        let mut bytes = encoded(&changes, Spaces::default());
        for cut in 0..bytes.len() {
            let read = CommitRecord::decode(Lsn(1), &bytes[..cut]);
            assert!(read.is_err(), "cut at {cut}");
        }
        encode_void(&mut bytes);
        assert!(CommitRecord::decode(Lsn(1), &bytes).unwrap().is_none());
        assert!(CommitRecord::own(&bytes).is_none());
    }
}
