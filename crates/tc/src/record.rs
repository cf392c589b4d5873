//! The bytes of a commit record, the payload of one log record.
//!
//! Relies on: `wal` for length and checksum.  Promises: keys and values come back as slices of the
//! record's own bytes, so that versions share them.  Does not: hold a timestamp: a commit's
//! timestamp is the position of its record.
//!
//! ```text
//! offset 0   u8      kind: 1 = commit
//!        1   u8      format version: 1
//!        2   u16 LE  number of spaces fenced, f
//!        4   u16 LE  number of spaces dropped, d
//!        6   u16     zero
//!        8   u32 LE  number of changes, n
//!       12   u32 LE × f, then u32 LE × d   space numbers
//! then n changes:
//!            u32 LE  space
//!            u32 LE  key length, k
//!            u32 LE  value length + 1, or 0 for a removal, v
//!            k bytes key, v-1 bytes value
//! ```

use crate::error::Error;
use quintet_base::{Bytes, Lsn, SpaceId};

const KIND_COMMIT: u8 = 1;
const FORMAT: u8 = 1;
const HEADER: usize = 12;
const CHANGE_HEADER: usize = 12;

/// One change of a commit, pointing into the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub space: SpaceId,
    pub key: Bytes,
    pub value: Option<Bytes>,
}

/// A commit record: its bytes, and its changes as slices of them.
#[derive(Debug)]
pub(crate) struct CommitRecord {
    pub bytes: Bytes,
    pub changes: Vec<Change>,
    pub fenced: Vec<SpaceId>,
    pub dropped: Vec<SpaceId>,
}

impl CommitRecord {
    /// Writes a record; `changes` in the order they are to be kept.
    pub fn encode<'a>(
        changes: impl Iterator<Item = (SpaceId, &'a Bytes, Option<&'a Bytes>)> + Clone,
        fenced: &[SpaceId],
        dropped: &[SpaceId],
    ) -> CommitRecord {
        let (count, body) =
            changes
                .clone()
                .fold((0usize, 0usize), |(count, bytes), (_, key, value)| {
                    (
                        count + 1,
                        bytes + CHANGE_HEADER + key.len() + value.map_or(0, Bytes::len),
                    )
                });
        let mut out = Vec::with_capacity(HEADER + 4 * (fenced.len() + dropped.len()) + body);
        out.extend_from_slice(&[KIND_COMMIT, FORMAT]);
        out.extend_from_slice(&(fenced.len() as u16).to_le_bytes());
        out.extend_from_slice(&(dropped.len() as u16).to_le_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&(count as u32).to_le_bytes());
        for space in fenced.iter().chain(dropped) {
            out.extend_from_slice(&space.0.to_le_bytes());
        }
        let mut places = Vec::with_capacity(count);
        for (space, key, value) in changes {
            out.extend_from_slice(&space.0.to_le_bytes());
            out.extend_from_slice(&(key.len() as u32).to_le_bytes());
            out.extend_from_slice(&value.map_or(0, |v| v.len() as u32 + 1).to_le_bytes());
            let key_at = out.len();
            out.extend_from_slice(key);
            let value_at = out.len();
            if let Some(value) = value {
                out.extend_from_slice(value);
            }
            places.push((space, key_at, value_at, value.map(|_| out.len())));
        }
        let bytes = Bytes::from(out);
        let changes = places
            .into_iter()
            .map(|(space, key_at, value_at, end)| Change {
                space,
                key: bytes.slice(key_at..value_at),
                value: end.map(|end| bytes.slice(value_at..end)),
            })
            .collect();
        CommitRecord {
            bytes,
            changes,
            fenced: fenced.to_vec(),
            dropped: dropped.to_vec(),
        }
    }

    /// Reads a record back from the log.
    ///
    /// # Errors
    /// [`Error::Record`] if the bytes are no commit record.
    pub fn decode(lsn: Lsn, bytes: Bytes) -> Result<CommitRecord, Error> {
        let bad = |reason| Error::Record { lsn, reason };
        let u16_at = |at: usize| {
            bytes
                .get(at..at + 2)
                .map(|b| u16::from_le_bytes([b[0], b[1]]))
        };
        let u32_at = |at: usize| {
            bytes
                .get(at..at + 4)
                .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        };
        if bytes.len() < HEADER || bytes[0] != KIND_COMMIT {
            return Err(bad("unknown kind"));
        }
        if bytes[1] != FORMAT {
            return Err(bad("written by a newer version"));
        }
        let fences = u16_at(2).ok_or(bad("cut short"))? as usize;
        let drops = u16_at(4).ok_or(bad("cut short"))? as usize;
        let count = u32_at(8).ok_or(bad("cut short"))? as usize;
        let mut at = HEADER;
        let mut spaces = |n: usize| -> Result<Vec<SpaceId>, Error> {
            (0..n)
                .map(|_| {
                    let space = u32_at(at).map(SpaceId).ok_or(bad("cut short"));
                    at += 4;
                    space
                })
                .collect()
        };
        let fenced = spaces(fences)?;
        let dropped = spaces(drops)?;
        let mut changes = Vec::with_capacity(count.min(bytes.len() / CHANGE_HEADER));
        for _ in 0..count {
            let space = SpaceId(u32_at(at).ok_or(bad("cut short"))?);
            let key_len = u32_at(at + 4).ok_or(bad("cut short"))? as usize;
            let value_len = u32_at(at + 8).ok_or(bad("cut short"))? as usize;
            let key_at = at + CHANGE_HEADER;
            let value_at = key_at + key_len;
            let end = value_at + value_len.saturating_sub(1);
            if end > bytes.len() {
                return Err(bad("change out of bounds"));
            }
            changes.push(Change {
                space,
                key: bytes.slice(key_at..value_at),
                value: (value_len > 0).then(|| bytes.slice(value_at..end)),
            });
            at = end;
        }
        if at != bytes.len() {
            return Err(bad("bytes left over"));
        }
        Ok(CommitRecord {
            bytes,
            changes,
            fenced,
            dropped,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_and_shares_its_bytes() {
        let rows = [
            (
                SpaceId(7),
                Bytes::from_static(b"k1"),
                Some(Bytes::from_static(b"v1")),
            ),
            (SpaceId(7), Bytes::from_static(b"k2"), None),
            (
                SpaceId(9),
                Bytes::from_static(b""),
                Some(Bytes::from_static(b"")),
            ),
        ];
        let changes = rows
            .iter()
            .map(|(space, key, value)| (*space, key, value.as_ref()));
        let written = CommitRecord::encode(changes, &[SpaceId(3)], &[SpaceId(4), SpaceId(5)]);
        let read = CommitRecord::decode(Lsn(1), written.bytes.clone()).unwrap();
        assert_eq!(read.changes, written.changes);
        assert_eq!(
            (read.fenced, read.dropped),
            (vec![SpaceId(3)], vec![SpaceId(4), SpaceId(5)])
        );
        let base = written.bytes.as_ptr() as usize;
        let value = written.changes[0].value.as_ref().unwrap().as_ptr() as usize;
        assert!((base..base + written.bytes.len()).contains(&value));
    }

    #[test]
    fn damaged_records_are_refused() {
        let key = Bytes::from_static(b"key");
        let record = CommitRecord::encode([(SpaceId(1), &key, Some(&key))].into_iter(), &[], &[]);
        for cut in 0..record.bytes.len() {
            assert!(
                CommitRecord::decode(Lsn(1), record.bytes.slice(..cut)).is_err(),
                "cut at {cut}"
            );
        }
    }
}
