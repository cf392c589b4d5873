//! The sequencer: validate, log, install, publish.
//!
//! Relies on: the write set is locked (here, in key order, where the transaction had not done it).
//! Promises: commits enter the log, the memtable and the visible timestamp in one order; a refused
//! commit leaves nothing.  Does not: wait for the disk; the answer does.
//!
//! ```text
//!   lock write set ─► first committer wins? ─► encode record ─┐   in parallel
//!                                                             ▼
//!   ╔ sequencer ══════════════════════════════════════════════════════╗
//!   ║ fences? reads still valid? ─► append to log ─► install ─► visible ║  one at a time
//!   ╚═════════════════════════════════════════════════════════════════╝
//!                                                             ▼
//!   release locks ─► answer when durable                          in parallel
//! ```
//!
//! Locks go before the disk is reached: whoever reads the new version and commits has a later
//! position in the same log, and a reader's answer waits for what it read (`Committed::durable`).

use crate::component::Shared;
use crate::error::{ConflictKind, Error};
use crate::locks::{Strength, WaitPolicy};
use crate::memtable::Version;
use crate::record::CommitRecord;
use crate::transaction::{Committed, Txn, space_lock};
use crate::view::View;
use quintet_base::{Durability, Level, Lsn, Timestamp};
use quintet_wal::Payload;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) fn commit(txn: &mut Txn, durability: Durability) -> Result<Committed, Error> {
    let shared = Arc::clone(&txn.shared);
    if !txn.has_writes() {
        return Ok(read_only(txn, &shared, durability));
    }
    shared.wait_for_room()?;
    // Bounds what the log writer has not written yet; a matter of milliseconds when it is met.
    shared.log.wait_for_room().map_err(Error::Log)?;
    lock_writes(txn)?;
    if txn.level != Level::ReadCommitted {
        for (space, writes) in &txn.writes {
            for key in writes.rows.keys() {
                txn.check_unchanged(*space, key)?;
            }
        }
    }
    let changes = txn.writes.iter().flat_map(|(space, writes)| {
        writes
            .rows
            .iter()
            .map(|(key, value)| (*space, key, value.as_ref()))
    });
    let record = CommitRecord::encode(changes, &txn.fenced, &txn.dropped);
    let payload = Payload::new(record.bytes.clone());
    // Most of the validation happens here, beside other commits; the sequencer looks again only at
    // spaces that were written since.
    let validated_at = match txn.level {
        Level::Serializable => {
            let visible = shared.snapshots.visible();
            validate_reads(txn, &shared.snapshots.view(), None)?;
            visible
        }
        _ => Timestamp::MAX,
    };

    let guard = shared.sequencer.lock();
    if let Some(space) = shared.closed_to(txn.id, txn.writes.keys().copied()) {
        drop(guard);
        // Wait for the schema change to end; the fence then says whether this commit still fits.
        txn.take_lock(space_lock(space), Strength::Shared, WaitPolicy::Queue)?;
        return commit(txn, durability);
    }
    check_fences(txn, &shared)?;
    if txn.level == Level::Serializable {
        validate_reads(txn, &shared.snapshots.view(), Some(validated_at))?;
    }
    let lsn = shared.log.append(payload).map_err(Error::Log)?;
    let timestamp = Timestamp(lsn.0);
    // From here the commit is a fact. A panic before it is visible would leave a hole in the order.
    let bomb = AbortProcessOnUnwind;
    apply(&shared, &shared.snapshots.view(), record, timestamp);
    shared.snapshots.publish(timestamp);
    std::mem::forget(bomb);
    drop(guard);

    shared.stats.commits.fetch_add(1, Ordering::Relaxed);
    shared.freeze_if_full();
    Ok(Committed {
        timestamp,
        durable_at: (durability == Durability::Sync).then_some(lsn),
    })
}

/// A transaction that wrote nothing is always valid: what it saw is the state at its snapshot. Its
/// answer must not tell of a version that a crash can still take back.
fn read_only(txn: &Txn, shared: &Shared, durability: Durability) -> Committed {
    let read = Lsn(txn.newest_read.get().0);
    let wait = durability == Durability::Sync && read > shared.log.durable();
    shared.stats.read_only.fetch_add(1, Ordering::Relaxed);
    Committed {
        timestamp: txn.snapshot.timestamp,
        durable_at: wait.then_some(read),
    }
}

fn lock_writes(txn: &mut Txn) -> Result<(), Error> {
    // Taken out for the loop because locking needs the transaction itself.
    let writes = std::mem::take(&mut txn.writes);
    let result = writes.iter().try_for_each(|(space, writes)| {
        writes.rows.keys().try_for_each(|key| {
            txn.take_lock(
                (*space, key.clone()),
                Strength::Exclusive,
                WaitPolicy::Queue,
            )
        })
    });
    txn.writes = writes;
    result
}

fn check_fences(txn: &Txn, shared: &Shared) -> Result<(), Error> {
    for (space, writes) in &txn.writes {
        if let Some(winner) = shared.fence_above(*space, writes.schema) {
            return Err(Error::Conflict {
                kind: ConflictKind::Schema,
                space: *space,
                key: None,
                winner,
            });
        }
    }
    Ok(())
}

/// Backward validation: nothing that was read has a newer version. With `since`, only spaces that
/// were written after that timestamp are looked at.
fn validate_reads(txn: &Txn, view: &View, since: Option<Timestamp>) -> Result<(), Error> {
    let snapshot = txn.snapshot.timestamp;
    if snapshot < view.validation_floor {
        return Err(Error::SnapshotTooOld);
    }
    let reads = txn.reads.borrow();
    let untouched = |space| match since {
        None => false,
        Some(since) => view.memtables().all(|table| {
            table
                .space(space)
                .is_none_or(|records| records.newest() <= since)
        }),
    };
    let mut checked = None;
    let mut skip = |space| {
        // Reads come in runs on one space; ask once per run.
        match checked {
            Some((last, answer)) if last == space => answer,
            _ => {
                let answer = untouched(space);
                checked = Some((space, answer));
                answer
            }
        }
    };
    for (space, key) in &reads.keys {
        if skip(*space) {
            continue;
        }
        if let Some(winner) = view.newer_than(*space, key, snapshot) {
            let kind = ConflictKind::ReadWrite;
            return Err(Error::Conflict {
                kind,
                space: *space,
                key: Some(key.clone()),
                winner,
            });
        }
    }
    for range in &reads.ranges {
        if skip(range.space) {
            continue;
        }
        if let Some((key, winner)) =
            view.newer_in_range(range.space, &range.lower, &range.upper, snapshot)
        {
            let kind = ConflictKind::Phantom;
            return Err(Error::Conflict {
                kind,
                space: range.space,
                key: Some(key),
                winner,
            });
        }
    }
    Ok(())
}

/// Installs a record's changes; shared by commits and recovery. Under the sequencer.
pub(crate) fn apply(shared: &Shared, view: &View, record: CommitRecord, timestamp: Timestamp) {
    let oldest = shared.snapshots.oldest();
    for change in record.changes {
        let version = Version {
            timestamp,
            value: change.value,
        };
        view.active
            .install(change.space, change.key, version, oldest);
    }
    if !record.fenced.is_empty() {
        shared.raise_fences(&record.fenced, timestamp);
    }
    if !record.dropped.is_empty() {
        shared
            .dropped
            .lock()
            .extend(record.dropped.iter().map(|space| (*space, timestamp)));
    }
}

/// A panic between the log append and the publication cannot be undone; the process must restart
/// and recover from the log.
struct AbortProcessOnUnwind;

impl Drop for AbortProcessOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}
