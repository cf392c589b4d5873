//! What went past memory, as a pass finds it in the log.
//!
//! Relies on: nothing of it is in memory, and no key comes twice (`Txn::catch_up`).  Promises: rows that come in the order of their
//! keys are handed out as they lie, and nothing is kept of each; others are noted like any row.  Does not: look anything up.
//!
//! A load of rows in order (row ids, a dump's primary key) is all that a pass has to do for seconds. A note of each is 72 bytes, for what is
//! in order from the beginning.

use crate::dirty::{Dirty, State};
use crate::record::{Change, CommitRecord};
use quintet_base::{Lsn, SpaceId, Timestamp};
use quintet_dc::{self as dc, Brought, Operation};
use std::collections::BTreeMap;

/// By space.
#[derive(Default)]
pub(super) struct Past<'a>(BTreeMap<SpaceId, Rows<'a>>);

/// Rows of a space.
#[derive(Default)]
struct Rows<'a> {
    /// What they are in, one behind the other; nothing if they have been noted.
    records: Vec<(Timestamp, CommitRecord<'a>)>,
    last: &'a [u8],
    count: usize,
    is_noted: bool,
}

/// A row and its commit.
type Row<'a> = (Timestamp, Change<'a>);

/// The rows of a space in a record.
fn rows_of<'a>(
    timestamp: Timestamp,
    record: &CommitRecord<'a>,
    space: SpaceId,
) -> impl Iterator<Item = Row<'a>> + use<'a> {
    let changes = record.changes().filter(move |change| change.space == space);
    changes.map(move |change| (timestamp, change))
}

impl<'a> Past<'a> {
    /// The rows that a record has in a space.
    pub fn take(
        &mut self,
        space: SpaceId,
        (timestamp, record): (Timestamp, &CommitRecord<'a>),
        dirty: &mut Dirty<'a>,
    ) {
        let known = self.0.entry(space).or_default();
        if !known.is_noted && known.goes_on(space, record) {
            known.records.push((timestamp, record.clone()));
            return;
        }
        known.note(space, dirty);
        note(rows_of(timestamp, record, space), dirty);
    }

    /// Has rows noted of spaces in which others are.
    pub fn join(&mut self, dirty: &mut Dirty<'a>) {
        let spaces = self.0.iter_mut();
        let mixed = spaces.filter(|(space, rows)| !rows.is_noted && dirty.has(**space));
        for (space, rows) in mixed.collect::<Vec<_>>() {
            rows.note(*space, dirty);
        }
    }

    /// Rows that have not been noted.
    pub fn len(&self) -> usize {
        self.0.values().map(|rows| rows.count).sum()
    }

    /// What STORE is to be told of the rows that have not been noted, space by space, in the order of keys.
    pub fn runs(&self) -> impl Iterator<Item = (SpaceId, impl Iterator<Item = Operation<'a>>)> {
        let ordered = self.0.iter().filter(|(_, rows)| !rows.is_noted);
        ordered.map(|(space, rows)| (*space, rows.operations(*space)))
    }
}

impl<'a> Rows<'a> {
    /// Whether the rows of a record are in order, and above those before.
    fn goes_on(&mut self, space: SpaceId, record: &CommitRecord<'a>) -> bool {
        let (mut last, mut count) = (self.last, 0);
        for (_, change) in rows_of(Timestamp::ZERO, record, space) {
            // No key is empty.
            if change.key <= last {
                return false;
            }
            last = change.key;
            count += 1;
        }
        self.last = last;
        self.count += count;
        true
    }

    /// Hands all over.
    fn note(&mut self, space: SpaceId, dirty: &mut Dirty<'a>) {
        for (timestamp, record) in std::mem::take(&mut self.records) {
            note(rows_of(timestamp, &record, space), dirty);
        }
        self.count = 0;
        self.is_noted = true;
    }

    fn operations(&self, space: SpaceId) -> impl Iterator<Item = Operation<'a>> {
        let records = self.records.iter();
        let rows = records.flat_map(move |(at, record)| rows_of(*at, record, space));
        rows.map(|(timestamp, change)| Operation {
            key: Brought::Lent(change.key),
            position: Lsn(timestamp.0),
            change: match change.value {
                Some(value) => dc::Change::Put(Brought::Lent(value)),
                None => dc::Change::Remove,
            },
        })
    }
}

fn note<'a>(rows: impl Iterator<Item = Row<'a>>, dirty: &mut Dirty<'a>) {
    for (timestamp, change) in rows {
        dirty.note(change.space, change.key, State::At(timestamp, change.value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dirty::Spare;
    use crate::record::{Spaces, encode, encoded_len};
    use quintet_base::Bytes;
    use quintet_rt::Rand;

    fn payload(rows: &[(SpaceId, u32)]) -> Vec<u8> {
        let keys: Vec<[u8; 4]> = rows.iter().map(|(_, row)| row.to_be_bytes()).collect();
        let changes = || {
            let rows = rows.iter().zip(&keys);
            rows.map(|((space, _), key)| Change {
                space: *space,
                key,
                value: Some(&key[2..]),
            })
        };
        let mut out = vec![0; encoded_len(changes(), Spaces::default())];
        let unmarked = changes().map(|change| (change, false));
        encode(&mut out, unmarked, Spaces::default(), 0);
        out
    }

    /// Rows of two spaces in records, in order or nearly, come once each and in order, from one side or the other.
    #[test]
    fn rows_come_in_order_as_they_lie_or_noted() {
        for seed in 0..200 {
            let mut rand = Rand::seeded(seed);
            let spaces = [SpaceId(7), SpaceId(9)];
            let mut next = [0; 2];
            let mut all: Vec<(SpaceId, u32)> = Vec::new();
            let mut payloads = Vec::new();
            for _ in 0..rand.below(6) {
                let mut rows = Vec::new();
                for _ in 0..rand.below(60) {
                    let which = rand.below(2) as usize;
                    next[which] += 2;
                    // Odd numbers come late, and once.
                    let late = rand.one_in(100);
                    let row = next[which] - if late { 1 + 2 * (next[which] / 4) } else { 0 };
                    if !all.contains(&(spaces[which], row)) {
                        all.push((spaces[which], row));
                        rows.push((spaces[which], row));
                    }
                }
                payloads.push(payload(&rows));
            }
            let is_in_order = |space: SpaceId| {
                let rows = all.iter().filter(|(of, _)| *of == space);
                rows.is_sorted()
            };
            let mut dirty = Dirty::within(Spare::default());
            let mut past = Past::default();
            for (at, payload) in (1..).zip(&payloads) {
                let record = CommitRecord::own(payload).expect("a commit");
                for space in spaces {
                    past.take(space, (Timestamp(at), &record), &mut dirty);
                }
            }
            let other = rand.one_in(2);
            if other {
                dirty.note(spaces[0], b"other", State::Unknown);
            }
            past.join(&mut dirty);
            for space in spaces {
                let mixed = other && space == spaces[0];
                assert_eq!(
                    dirty.has(space),
                    mixed || !is_in_order(space),
                    "seed {seed}"
                );
            }
            let mut found = Vec::new();
            for (space, run) in past.runs() {
                for operation in run {
                    let dc::Change::Put(value) = operation.change else {
                        panic!("all are puts")
                    };
                    assert_eq!(*value, operation.key[2..]);
                    assert!(operation.position > Lsn::ZERO);
                    found.push((space, operation.key.into_bytes()));
                }
            }
            assert_eq!(found.len(), past.len());
            assert!(found.is_sorted());
            while let Some((space, rows)) = dirty.next_space(|| {}) {
                for row in rows.rows().filter(|row| row.key() != b"other") {
                    found.push((space, Bytes::copy_from_slice(row.key())));
                }
            }
            found.sort();
            let mut expected: Vec<(SpaceId, Bytes)> = Vec::new();
            for (space, row) in all {
                expected.push((space, Bytes::copy_from_slice(&row.to_be_bytes())));
            }
            expected.sort();
            assert_eq!(found, expected, "seed {seed}");
        }
    }
}
