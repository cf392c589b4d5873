//! Kept log onto a restored backup, up to a chosen commit.
//!
//! Relies on: records of the log are whole commits, in order (`quintet_wal::KeptLog`).  Promises: STORE has every
//! commit up to where this stopped and none above; memory is bounded by [`BATCH_BYTES`] and one commit.
//! Does not: checkpoint.
//!
//! ```text
//!   backup's position                       until
//!   ──────┬──────────────────────────────────┼───────── kept log
//!         └ commit ─ commit ─ … ─► batch ─► STORE, space by space, the newest version of each key
//! ```

use super::{Error, Header};
use bytes::Bytes;
use quintet_base::{Lsn, SpaceId};
use quintet_dc::{DataComponent, Operation};
use quintet_rt::Disk;
use quintet_tc::CommitRecord;
use quintet_wal::KeptLog;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Bytes of changes that are merged at once. Each merge is a file for each space in it.
const BATCH_BYTES: usize = 64 << 20;

/// What a change takes in a batch besides its bytes, about.
const CHANGE_BYTES: usize = 96;

/// How far the log is replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// To its end.
    Newest,
    /// Through every commit at or below a position.
    Position(Lsn),
    /// Up to, and without, the first commit after a time: microseconds since 2000-01-01 00:00 UTC.
    Time(i64),
}

/// The log to be replayed.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Archives, or the directory of a log.
    pub logs: Vec<PathBuf>,
    /// How far.
    pub until: Until,
}

/// What has been replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// Commits.
    pub commits: u64,
    /// When the last of them was, if it says so.
    pub newest_micros: Option<i64>,
}

/// Replays; returns where it stopped.
pub(super) fn replay(
    disk: &dyn Disk,
    store: &dyn DataComponent,
    replay: &Replay,
    backup: &Header,
) -> Result<(Lsn, Replayed), Error> {
    refuse_what_is_before(replay.until, backup)?;
    let mut log = KeptLog::open(disk, &replay.logs, backup.log_id, backup.position)?;
    let mut batch = Batch::default();
    let mut replayed = Replayed::default();
    let mut position = backup.position;
    let mut is_there = false;
    'log: while let Some(block) = log.next_block()? {
        for (lsn, payload) in block.records() {
            let bytes = block.bytes();
            let record = CommitRecord::decode(*lsn, &bytes[payload.clone()])?;
            is_there = match replay.until {
                Until::Newest => false,
                Until::Position(last) => *lsn > last,
                Until::Time(last) => {
                    let time = record.as_ref().and_then(CommitRecord::time_micros);
                    time.is_some_and(|time| time > last)
                }
            };
            if is_there {
                break 'log;
            }
            position = *lsn;
            if let Some(record) = record {
                replayed.commits += 1;
                replayed.newest_micros = record.time_micros();
                batch.take(*lsn, &record);
            }
            if batch.bytes >= BATCH_BYTES {
                batch.merge(store)?;
            }
        }
    }
    batch.merge(store)?;
    let is_short = match replay.until {
        Until::Position(last) => !is_there && position < last,
        Until::Newest | Until::Time(_) => !is_there && log.goes_on_at().is_some(),
    };
    if is_short {
        return Err(Error::Short {
            end: log.end(),
            goes_on_at: log.goes_on_at(),
        });
    }
    Ok((position, replayed))
}

fn refuse_what_is_before(until: Until, backup: &Header) -> Result<(), Error> {
    let is_before = match until {
        Until::Newest => false,
        Until::Position(last) => last < backup.position,
        Until::Time(last) => last < backup.taken_micros,
    };
    match is_before {
        true => Err(Error::Before {
            position: backup.position,
        }),
        false => Ok(()),
    }
}

/// What commits leave, until it is merged.
#[derive(Default)]
struct Batch {
    /// The newest change of each key, with its commit; `None`: removed.
    spaces: BTreeMap<SpaceId, BTreeMap<Bytes, (Lsn, Option<Bytes>)>>,
    dropped: BTreeSet<SpaceId>,
    bytes: usize,
}

impl Batch {
    fn take(&mut self, lsn: Lsn, record: &CommitRecord<'_>) {
        for change in record.changes() {
            let space = self.spaces.entry(change.space).or_default();
            // Copies: a slice of the block would keep all of it.
            let key = Bytes::copy_from_slice(change.key);
            let value = change.value.map(Bytes::copy_from_slice);
            self.bytes += CHANGE_BYTES + key.len() + value.as_ref().map_or(0, Bytes::len);
            space.insert(key, (lsn, value));
        }
        self.dropped.extend(record.dropped());
    }

    fn merge(&mut self, store: &dyn DataComponent) -> Result<(), Error> {
        for (space, changes) in std::mem::take(&mut self.spaces) {
            // Numbers of spaces are not given again, so nothing of it came after the drop.
            if self.dropped.contains(&space) {
                continue;
            }
            let mut run = changes.into_iter().map(|(key, (lsn, value))| match value {
                Some(value) => Operation::put(key, lsn, value),
                None => Operation::remove(key, lsn),
            });
            store.merge(space, &mut run)?;
        }
        for space in std::mem::take(&mut self.dropped) {
            store.drop_space(space)?;
        }
        self.bytes = 0;
        Ok(())
    }
}
