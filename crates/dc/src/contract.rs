//! The contract between the component above and a store: records, runs, generations.
//!
//! Relies on: the caller (see *the caller promises*).  Promises: see *a store promises*.
//! Does not: promise atomicity over more than one record, versions, order between records, or that
//! a merge survives a crash before the next checkpoint.
//!
//! **The caller promises**
//!
//! * One merge per space at a time; the operations of a run strictly ascend by key; no key is empty.
//! * Per key, the positions of successive runs never go down, with one exception: after a failure
//!   or a reopening it sends again, whole and in the old order, every run since some point at or
//!   before the redo start. While it does so it reads nothing through the store that such a run
//!   could still change (its own memory holds that), because a removed record leaves no position
//!   behind: an older put sent again may bring it back until the removal has been sent again too.
//! * A space is dropped only when the order to drop it can not be lost any more.
//!
//! **A store promises**
//!
//! * *Idempotence.* A put or removal at or below the position of the stored record changes nothing.
//! * *Visibility.* A merge that has returned `Ok` is in every generation taken afterwards. A
//!   generation taken while a merge runs, or after one that failed, holds a prefix (perhaps none,
//!   perhaps all) of its run.
//! * *Repeatability.* A generation never changes until dropped, whatever is merged or dropped later.
//! * *Durability.* After a crash [`DataComponent::redo_start`] is a value given to a `checkpoint`
//!   that began, at or above the last one that returned, and all merges that returned before that
//!   call are there. Later merges may be there in part.
//! * *Nothing else.* A store shows only records that were merged.
//!
//! ```text
//!   merge A   checkpoint(10)   merge B   drop 7    crash
//!   ───┼────────────┼─────────────┼─────────┼────────╳──► reopened: redo start 10, A there,
//!                                                        B and space 7 there or not
//! ```

use crate::error::Error;
use bytes::Bytes;
use quintet_base::{Lsn, SpaceId};
use std::any::Any;
use std::ops::{Bound, Deref};
use std::sync::Arc;

/// Longest key any store takes. Above `base::limits::KEY_BYTES_MAX`, so that a limit broken above
/// does not stop a merge for ever; storage formats count key bytes in 16 bits.
pub const STORED_KEY_BYTES_MAX: usize = 60 * 1024;

/// Longest value any store takes: a row with whatever its owner puts around it.
pub const STORED_VALUE_BYTES_MAX: usize = 1024 * 1024 * 1024;

/// A stored value and the log position of the operation that put it there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Of the operation that put the value.
    pub position: Lsn,
    /// The value; the store does not look into it.
    pub value: Bytes,
}

/// Bytes that an operation brings: lent until the merge has returned, or its own. A store copies what it keeps.
#[derive(Clone, Debug)]
pub enum Brought<'a> {
    /// Of whoever makes the run: nothing is copied, and nothing is counted, for a store that writes them away at once.
    Lent(&'a [u8]),
    /// Of the operation.
    Owned(Bytes),
}

impl Brought<'_> {
    /// To be kept.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Brought::Lent(bytes) => Bytes::copy_from_slice(bytes),
            Brought::Owned(bytes) => bytes,
        }
    }
}

impl Deref for Brought<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Brought::Lent(bytes) => bytes,
            Brought::Owned(bytes) => bytes,
        }
    }
}

impl PartialEq for Brought<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Brought<'_> {}

impl From<Bytes> for Brought<'_> {
    fn from(bytes: Bytes) -> Self {
        Brought::Owned(bytes)
    }
}

impl From<Vec<u8>> for Brought<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Brought::Owned(bytes.into())
    }
}

/// What an operation does to its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change<'a> {
    /// The record has this value from now on.
    Put(Brought<'a>),
    /// There is no record from now on.
    Remove,
}

/// One step of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation<'a> {
    /// Whose record.
    pub key: Brought<'a>,
    /// Where in the log the change is.
    pub position: Lsn,
    /// The change.
    pub change: Change<'a>,
}

impl Operation<'_> {
    /// The same with bytes of its own, to be kept.
    pub fn into_owned(self) -> Operation<'static> {
        Operation {
            key: Brought::Owned(self.key.into_bytes()),
            position: self.position,
            change: match self.change {
                Change::Put(value) => Change::Put(Brought::Owned(value.into_bytes())),
                Change::Remove => Change::Remove,
            },
        }
    }

    /// A put of bytes of its own.
    pub fn put(key: impl Into<Bytes>, position: Lsn, value: impl Into<Bytes>) -> Self {
        Operation {
            key: Brought::Owned(key.into()),
            position,
            change: Change::Put(Brought::Owned(value.into())),
        }
    }

    /// A removal.
    pub fn remove(key: impl Into<Bytes>, position: Lsn) -> Self {
        Operation {
            key: Brought::Owned(key.into()),
            position,
            change: Change::Remove,
        }
    }

    /// Refuses what no store takes; an implementation calls it on each operation it is handed. `previous`: the key of the one before,
    /// empty for the first.
    ///
    /// # Errors
    /// [`Error::TooLong`].
    ///
    /// # Panics
    /// If the key is empty, or `previous` is not below it: a bug of the caller.
    pub fn check(&self, previous: &[u8]) -> Result<(), Error> {
        assert!(
            *previous < *self.key,
            "run not ascending, or an empty key: {previous:?} before {:?}",
            self.key
        );
        if self.key.len() > STORED_KEY_BYTES_MAX {
            return Err(Error::TooLong {
                bytes: self.key.len(),
                limit: STORED_KEY_BYTES_MAX,
            });
        }
        if let Change::Put(value) = &self.change
            && value.len() > STORED_VALUE_BYTES_MAX
        {
            return Err(Error::TooLong {
                bytes: value.len(),
                limit: STORED_VALUE_BYTES_MAX,
            });
        }
        Ok(())
    }
}

/// The way a scan goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// From the lowest key up.
    Forward,
    /// From the highest key down.
    Backward,
}

/// A range of keys in byte order. A range whose bounds cross is empty, never an error.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KeyRange {
    /// Where it begins.
    pub lower: Bound<Bytes>,
    /// Where it ends.
    pub upper: Bound<Bytes>,
}

impl KeyRange {
    /// Every key.
    pub fn all() -> KeyRange {
        KeyRange {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        }
    }

    /// The keys that begin with `prefix`.
    pub fn prefix(prefix: impl Into<Bytes>) -> KeyRange {
        let prefix = prefix.into();
        let upper = match successor_of_prefix(&prefix) {
            Some(end) => Bound::Excluded(end),
            None => Bound::Unbounded,
        };
        KeyRange {
            lower: Bound::Included(prefix),
            upper,
        }
    }

    /// `key` alone.
    pub fn one(key: impl Into<Bytes>) -> KeyRange {
        let key = key.into();
        KeyRange {
            lower: Bound::Included(key.clone()),
            upper: Bound::Included(key),
        }
    }

    /// `key` and everything above.
    pub fn from(key: impl Into<Bytes>) -> KeyRange {
        KeyRange {
            lower: Bound::Included(key.into()),
            upper: Bound::Unbounded,
        }
    }

    /// Everything below `key`.
    pub fn until(key: impl Into<Bytes>) -> KeyRange {
        KeyRange {
            lower: Bound::Unbounded,
            upper: Bound::Excluded(key.into()),
        }
    }

    /// From `lower` on, below `upper`.
    pub fn between(lower: impl Into<Bytes>, upper: impl Into<Bytes>) -> KeyRange {
        KeyRange {
            lower: Bound::Included(lower.into()),
            upper: Bound::Excluded(upper.into()),
        }
    }

    /// Whether `key` lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        let above = match &self.lower {
            Bound::Included(lower) => key >= &lower[..],
            Bound::Excluded(lower) => key > &lower[..],
            Bound::Unbounded => true,
        };
        above
            && match &self.upper {
                Bound::Included(upper) => key <= &upper[..],
                Bound::Excluded(upper) => key < &upper[..],
                Bound::Unbounded => true,
            }
    }

    /// True if the bounds alone exclude every key. False does not mean that a key is there.
    pub fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (Bound::Included(lower), Bound::Excluded(upper))
            | (Bound::Excluded(lower), Bound::Included(upper)) => lower >= upper,
            (Bound::Excluded(lower), Bound::Excluded(upper)) => {
                // Nothing lies between a key and its direct successor, `key` + 0x00.
                lower >= upper
                    || (upper.len() == lower.len() + 1
                        && upper.ends_with(&[0])
                        && upper.starts_with(lower))
            }
            (Bound::Unbounded, Bound::Excluded(upper)) => upper.is_empty(),
            _ => false,
        }
    }
}

/// The lowest key above every key that begins with `prefix`; `None` if there is no such key.
fn successor_of_prefix(prefix: &[u8]) -> Option<Bytes> {
    let last = prefix.iter().rposition(|byte| *byte != 0xFF)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end.into())
}

/// What a merge did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MergeReport {
    /// Operations that took effect, or that removed what was not there.
    pub applied: u64,
    /// Operations at or below the position of the stored record: no effect.
    pub skipped: u64,
    /// Bytes of keys and values handed in.
    pub bytes: u64,
}

/// Figures for operators; each is right for some moment of the recent past.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DcStats {
    /// Live spaces.
    pub spaces: u64,
    /// Tablets (sorted files, or what an implementation has in their place) of live spaces.
    pub tablets: u64,
    /// Bytes of live spaces on the medium.
    pub disk_bytes: u64,
    /// Bytes of memory that hold data: caches and what is buffered.
    pub memory_bytes: u64,
    /// Spaces dropped whose files wait for a generation to go.
    pub spaces_leaving: u64,
    /// Merges since the store was opened.
    pub merges: u64,
    /// Operations of those merges that took effect.
    pub operations: u64,
    /// Checkpoints since the store was opened.
    pub checkpoints: u64,
    /// Compactions of tablets into tablets since the store was opened.
    pub compactions: u64,
    /// One is under way.
    pub compacting: bool,
    /// Compactions that failed; they are tried again after the next merge.
    pub compactions_failed: u64,
}

/// A store of records in spaces. All promises are in the file's header.
pub trait DataComponent: Send + Sync {
    /// The newest generation. Cheap: no I/O, no work that grows with the data.
    fn generation(&self) -> Arc<dyn Generation>;

    /// Takes a run for one space, which comes into being with its first merge (an empty run makes
    /// none). Merges into one space one at a time; merges into different spaces may run at once.
    ///
    /// # Errors
    /// On any error a prefix of the run may have been taken; send the run again, whole.
    fn merge(
        &self,
        space: SpaceId,
        run: &mut dyn Iterator<Item = Operation<'_>>,
    ) -> Result<MergeReport, Error>;

    /// Makes every merge and drop that has returned durable, and `redo_start` with them, in one
    /// step. `redo_start` never goes down.
    ///
    /// # Errors
    /// On an error either this redo start or the one before is in force after a crash, and all
    /// that belongs to it is durable; checkpoint again.
    fn checkpoint(&self, redo_start: Lsn) -> Result<(), Error>;

    /// The value of the last checkpoint, [`Lsn::ZERO`] before the first: the caller sends again
    /// what its log holds after this position.
    fn redo_start(&self) -> Lsn;

    /// Forgets a space; an unknown one is fine. Generations taken before still read it, and what it
    /// occupies is given back when the last of them is dropped. Durable with the next checkpoint
    /// at the latest. A later merge makes the space anew, empty.
    ///
    /// # Errors
    /// The space may be gone or not; drop it again.
    fn drop_space(&self, space: SpaceId) -> Result<(), Error>;

    /// The live spaces, ascending.
    fn spaces(&self) -> Vec<SpaceId>;

    /// About how many records a space has; removals that are still kept may be among them. Cheap: no work that grows
    /// with the data.
    fn records(&self, space: SpaceId) -> u64 {
        let _ = space;
        0
    }

    /// Bytes that the store keeps in memory of what it has read, to be found again. Cheap, and about right.
    fn cached_bytes(&self) -> u64 {
        0
    }

    /// Figures for operators.
    fn stats(&self) -> DcStats;
}

/// All spaces as they were at one moment; see *repeatability*. Dropping it lets the store give
/// back what only it could still read, so do not keep one for its own sake.
///
/// `Any`, so that whoever knows the store can measure what not knowing it costs.
pub trait Generation: Any + Send + Sync {
    /// The record of a key; none in an unknown space.
    ///
    /// # Errors
    /// The medium failed or is damaged.
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Record>, Error>;

    /// Says that a key will be asked for soon. A store on a slow medium may begin to fetch what it needs for
    /// that, so that the reads of several keys take place side by side; nothing else comes of it. Does not
    /// wait for data that it announces.
    fn announce(&self, space: SpaceId, key: &[u8]) {
        let _ = (space, key);
    }

    /// The spaces that have a record in it, and perhaps some that have none; ascending.
    fn spaces(&self) -> Vec<SpaceId>;

    /// The records of a range, in order. The scan keeps what it reads alive, also when the
    /// generation is dropped.
    ///
    /// # Errors
    /// The medium failed or is damaged.
    fn scan(
        &self,
        space: SpaceId,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Box<dyn RecordScan>, Error>;
}

/// A scan in progress.
pub trait RecordScan: Send {
    /// The next record, `None` at the end and ever after.
    ///
    /// # Errors
    /// The medium failed or is damaged; the scan is of no further use.
    fn next(&mut self) -> Result<Option<(Bytes, Record)>, Error>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_contain_what_their_bounds_say() {
        // Range, keys inside, keys outside.
        type Case<'a> = (KeyRange, &'a [&'a [u8]], &'a [&'a [u8]]);
        let table: &[Case] = &[
            (KeyRange::all(), &[b"", b"a", b"\xff\xff"], &[]),
            (
                KeyRange::prefix(&b"ab"[..]),
                &[b"ab", b"ab\0", b"ab\xff\xff"],
                &[b"aa\xff", b"ac"],
            ),
            (
                KeyRange::prefix(&b"a\xff"[..]),
                &[b"a\xff", b"a\xff\xff"],
                &[b"a\xfe", b"b"],
            ),
            (
                KeyRange::prefix(&b"\xff"[..]),
                &[b"\xff", b"\xff\xff"],
                &[b"\xfe\xff", b""],
            ),
            (KeyRange::prefix(&b""[..]), &[b"", b"\xff"], &[]),
            (KeyRange::one(&b"k"[..]), &[b"k"], &[b"k\0", b"j"]),
            (KeyRange::from(&b"k"[..]), &[b"k", b"z"], &[b"j\xff"]),
            (
                KeyRange::until(&b"k"[..]),
                &[b"", b"j\xff"],
                &[b"k", b"k\0"],
            ),
            (
                KeyRange::between(&b"b"[..], &b"d"[..]),
                &[b"b", b"c"],
                &[b"a\xff", b"d"],
            ),
        ];
        for (range, inside, outside) in table {
            for key in *inside {
                assert!(range.contains(key), "{range:?} {key:?}");
            }
            for key in *outside {
                assert!(!range.contains(key), "{range:?} {key:?}");
            }
            assert!(!range.is_empty(), "{range:?}");
        }
    }

    #[test]
    fn ranges_know_when_they_are_empty() {
        let excluded = |lower: &'static [u8], upper: &'static [u8]| KeyRange {
            lower: Bound::Excluded(lower.into()),
            upper: Bound::Excluded(upper.into()),
        };
        assert!(KeyRange::between(&b"b"[..], &b"b"[..]).is_empty());
        assert!(KeyRange::between(&b"c"[..], &b"b"[..]).is_empty());
        assert!(KeyRange::until(&b""[..]).is_empty());
        assert!(excluded(b"a", b"a\0").is_empty());
        assert!(!excluded(b"a", b"a\0\0").is_empty());
        assert!(!excluded(b"a", b"b").is_empty());
    }

    #[test]
    #[should_panic(expected = "run not ascending")]
    fn an_operation_out_of_order_is_a_bug() {
        let operation = Operation::remove(&b"a"[..], Lsn(1));
        let _ = operation.check(b"a");
    }
}
