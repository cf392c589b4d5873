//! From memory to STORE without stopping anyone (Solar, §3.3), and memory given back.
//!
//! Relies on: `dc` merges are idempotent by position and durable at the next checkpoint.
//! Promises: only what the log holds durably is merged; a crash at any point loses nothing, since
//! the log is cut only behind a checkpoint.  Does not: hold back a commit or a reader.
//!
//! ```text
//!  1 freeze      T := the log's end. m0 is what the buffers hold up to T, m1 what comes after
//!  2 wait        until the log is durable up to T
//!  3 settle      m0 in the order of commits: of each record that was changed, which its first change says, versions that a snapshot
//!                reads are copied out of the buffers, the others dropped; what it is as of T is noted, and
//!                what went past memory
//!  4 merge       what was noted, out of the buffers, space by space, in key order
//!  5 checkpoint  spaces dropped before T forgotten, STORE durable, redo starts at T
//!  6 publish     the generation as of T; the records of m0 are clean from here on, and those removed in it
//!                go when no snapshot is older (`removals`)
//!  7 truncate    log files before T
//!  8 reclaim     the buffers of m0: nothing is left in them, and the memory is used again
//!  9 evict       clean records that nobody has read lately, while the table is over its bound
//! ```
//! Posted continuously ([`Posting::Continuous`]), the log goes through 1 to 4 and 6 in small pieces, and
//! through 5 and 7 only when enough of it came since the last checkpoint. A record is looked up once, however often it was
//! changed (decision 115): all that has to be done to it is done then.
//!
//! Freezing is naming a position, so nobody straddles it: a transaction's versions all have its
//! timestamp, at or below T or above.

mod pace;
mod past;
#[cfg(all(test, not(shuttle)))]
mod tests;

use crate::component::Shared;
use crate::config::Posting;
use crate::dirty::{Dirty, Row, State};
use crate::entry::{Depth, Found, Locked, RecordEntry};
use crate::error::Error;
use crate::record::{Change, CommitRecord};
use crate::seats::Readers;
use crate::sim::{self, Planted, Point};
use crate::snapshot::Snapshot;
use crate::table::{Extent, Removed, Sweep, TOGETHER};
use foldhash::fast::FixedState;
use pace::Pace;
use past::Past;
use quintet_base::{Bytes, Lsn, SpaceId, Timestamp};
use quintet_dc::{self as dc, Brought, Operation};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Versions of one row that are worth another count of the readers: that looks at every seat.
const LONG_CHAIN: usize = 64;

/// How much of a pass it is to go through the log, the rest being what STORE is told; both as shares of all.
const LOG: (f64, f64) = (0.0, 0.3);
const MERGE: (f64, f64) = (LOG.1, 1.0);

/// How far ahead the log is asked for: what is found in it meanwhile takes longer than memory does.
const LOG_AHEAD_BYTES: usize = 2048;

/// Records that are looked up at a time: some 20 µs of work, in which nothing that others free is freed.
const LOOKED_UP_TOGETHER: usize = 4 * TOGETHER;

/// A change that is not marked is passed over in about so much less time than a marked one takes.
const MARKED_TAKES: usize = 8;

/// What somebody who fills in looks at for it: a part of a millisecond.
const RECORDS_OF_FILLER: usize = 8192;

/// Moves everything committed so far into STORE, with a checkpoint if one is due or `checkpoint`. One
/// at a time (the caller holds the compactor's turn).
pub(crate) fn compact(shared: &Shared, checkpoint: bool) -> Result<(), Error> {
    let snapshot = freeze(shared);
    post(shared, snapshot.timestamp, checkpoint)?;
    drop(snapshot);
    give_back(shared);
    Ok(())
}

/// Step 1.
///
/// A snapshot, so that commits leave the versions that STORE is to be told of: those that come after
/// them may be lost in a crash. It is read by keys alone, so queues go on losing what was taken out of them.
///
/// A commit marks a change in the log if it is the first one of its record since the last freeze, as far as it knows; a pass looks
/// up the records of marked changes, and no others. So whoever takes a place behind T must not go by the freeze before: it looks after it
/// has taken its place, and what it looks at is said before T is chosen. All four in one order (SeqCst): behind T, it sees what was said.
/// One that has an earlier place may mark too much.
pub(crate) fn freeze(shared: &Shared) -> Snapshot {
    shared.frozen.store(u64::MAX, Ordering::SeqCst);
    let snapshot = Snapshot::by_key(shared);
    let frozen = snapshot.timestamp.0;
    shared.frozen.store(frozen, Ordering::SeqCst);
    snapshot
}

/// Steps 2 to 7.
pub(crate) fn post(shared: &Shared, frozen: Timestamp, checkpoint: bool) -> Result<(), Error> {
    assert!(
        shared.frozen.load(Ordering::Relaxed) >= frozen.0,
        "nobody was told of a freeze at {frozen}"
    );
    let since = frozen.0 - shared.checkpointed.load(Ordering::Relaxed);
    let due = checkpoint
        || shared.config.posting == Posting::Frozen
        || since >= shared.config.freeze_bytes as u64
        // The log's buffers are short: what they wait for is the checkpoint.
        || since >= shared.log.ring_bytes() / 2;
    let posted = shared.generations.newest();
    let carried = std::mem::take(&mut *shared.carried.lock());
    if frozen == posted && carried.is_empty() && !(due && since > 0) {
        return Ok(());
    }
    let pace = Pace::new(shared, checkpoint);
    let result = post_from(shared, posted, frozen, &carried, due, &pace);
    if result.is_err() {
        let mut left = shared.carried.lock();
        let newer = std::mem::replace(&mut *left, carried);
        left.extend(newer);
    }
    result
}

fn post_from(
    shared: &Shared,
    posted: Timestamp,
    frozen: Timestamp,
    carried: &[(SpaceId, Bytes)],
    checkpoint: bool,
    pace: &Pace<'_>,
) -> Result<(), Error> {
    // Under durability `none` the log is never synced; written is all there is to wait for.
    if !sim::plants(Planted::PostEarly) {
        shared.log.flush().map_err(Error::Log)?;
    }
    sim::at(Point::Frozen);
    let redo_start = Lsn(frozen.0);
    let gone: HashSet<SpaceId, FixedState> = shared
        .dropped
        .lock()
        .iter()
        .filter(|(_, at)| *at <= frozen)
        .map(|(space, _)| *space)
        .collect();
    let mut settling = Settling {
        shared,
        frozen,
        gone: &gone,
        readers: shared.seats.readers(|| shared.end()).and(frozen),
        dirty: Dirty::within(std::mem::take(&mut shared.spare.lock())),
        removed: Vec::new(),
        past: Past::default(),
    };
    sim::at(Point::Counted);
    let from = posted.max(Timestamp(shared.log.reclaimed().0));
    let log_bytes = frozen.0.saturating_sub(from.0);
    let mut met = Vec::with_capacity(LOOKED_UP_TOGETHER);
    let mut passed = 0;
    for (lsn, payload) in shared.log.memory(Lsn(from.0), redo_start) {
        let record = CommitRecord::own(payload);
        let past = record.as_ref().map(CommitRecord::past).unwrap_or_default();
        if let Some(record) = record.as_ref().filter(|_| !past.is_empty()) {
            settling.take_past(&past, (Timestamp(lsn.0), record));
            pace.is_at(LOG, lsn.0 - from.0, log_bytes);
            pace.after(record.len());
        }
        let changes = record.iter().flat_map(CommitRecord::marked);
        for (Change { space, key, .. }, marked) in changes {
            quintet_index::prefetch(key.as_ptr().wrapping_add(LOG_AHEAD_BYTES));
            passed += 1;
            if marked {
                passed += MARKED_TAKES;
                let hash = crate::table::hash(space, key);
                met.push(Met { space, key, hash });
                if met.len() == LOOKED_UP_TOGETHER {
                    settling.settle_all(&met);
                    met.clear();
                }
            }
            if passed >= TOGETHER * MARKED_TAKES {
                passed = 0;
                pace.is_at(LOG, lsn.0 - from.0, log_bytes);
                pace.after(TOGETHER);
            }
        }
    }
    settling.settle_all(&met);
    for (space, key) in carried {
        settling.settle_carried(*space, key, from);
    }
    let Settling {
        mut dirty,
        mut removed,
        mut past,
        ..
    } = settling;
    past.join(&mut dirty);
    let (mut merged, rows_at_most) = (0, (dirty.len() + past.len()) as u64);
    let mut go_on = || {
        merged += 1;
        if merged % TOGETHER as u64 == 0 {
            pace.is_at(MERGE, merged, rows_at_most);
            pace.after(TOGETHER);
        }
    };
    for (space, run) in past.runs() {
        shared.store.merge(space, &mut run.inspect(|_| go_on()))?;
        sim::at(Point::Merged);
    }
    while let Some((space, rows)) = dirty.next_space(|| pace.pause()) {
        let run = rows.rows().inspect(|_| go_on());
        let mut run = run.filter_map(|row| operation(shared, space, row, frozen, &mut removed));
        shared.store.merge(space, &mut run)?;
        drop(run);
        shared.spare.lock().take_back(space, rows.into_rows());
        sim::at(Point::Merged);
    }
    shared.stats.posts.fetch_add(1, Ordering::Relaxed);
    if !checkpoint {
        shared
            .generations
            .publish(frozen, shared.store.generation());
        shared.removals.note_posted(frozen, removed);
        sim::at(Point::Published);
        return Ok(());
    }
    // Their drop is durable in the log; the checkpoint makes STORE's forgetting durable, too.
    for space in &gone {
        shared.store.drop_space(*space)?;
    }
    shared.store.checkpoint(redo_start)?;
    sim::at(Point::Checkpointed);
    shared
        .generations
        .publish(frozen, shared.store.generation());
    shared.removals.note_posted(frozen, removed);
    shared.checkpointed.store(frozen.0, Ordering::Relaxed);
    sim::at(Point::Published);
    shared.log.truncate(redo_start).map_err(Error::Log)?;
    let mut dropped = shared.dropped.lock();
    let (left, leaving) = dropped.drain(..).partition(|(_, at)| *at > frozen);
    *dropped = left;
    drop(dropped);
    let leaving: Vec<(SpaceId, Timestamp)> = leaving;
    shared.leaving.lock().extend(leaving);
    shared.stats.compactions.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Step 3.
struct Settling<'a> {
    shared: &'a Shared,
    frozen: Timestamp,
    /// Spaces that were dropped. STORE is told nothing of them, and old snapshots still read them.
    gone: &'a HashSet<SpaceId, FixedState>,
    readers: Readers,
    dirty: Dirty<'a>,
    removed: Vec<Removed>,
    past: Past<'a>,
}

/// The record of a marked change, and its hash.
struct Met<'a> {
    space: SpaceId,
    key: &'a [u8],
    hash: u64,
}

impl<'a> Settling<'a> {
    /// Does to the records of marked changes what has to be done to them, in the order in which they come.
    ///
    /// Looking them up is nothing but misses, and one after the other they took a third of two processors beside TPC-C. So the cache is asked
    /// for the places of all hashes, then for the entries, then for the rows that the frozen state shows and for older versions.
    fn settle_all(&mut self, met: &[Met<'a>]) {
        let guard = quintet_index::pin();
        let (table, frozen) = (&self.shared.table, self.frozen);
        for Met { hash, .. } in met {
            table.prefetch(*hash, &guard);
        }
        for Met { hash, .. } in met {
            table.prefetch_entry(*hash, &guard);
        }
        let mut found = Vec::with_capacity(met.len());
        for met in met {
            if let Some(entry) = table.find(met.hash, met.space, met.key, &guard) {
                entry.bring_shown(frozen, Depth::First, &guard);
                found.push((met, entry));
            }
        }
        for (_, entry) in &found {
            entry.bring_shown(frozen, Depth::Second, &guard);
        }
        for (met, entry) in found {
            self.settle(met, entry, &guard);
        }
        // What was freed goes as it comes: few pins would look after it seldom.
        guard.flush();
    }

    fn settle(&mut self, met: &Met<'a>, entry: &RecordEntry, guard: &quintet_index::Guard) {
        let Met { space, key, hash } = met;
        let shared = self.shared;
        let found = entry.read_at(self.frozen, &shared.seats, guard);
        let state = match found {
            // Named before it is copied. A pass that has failed may have copied it, for as long as the version is read.
            Found::Row(row, at) => match shared.log.lasting(row) {
                Some(row) => State::At(at, Some(row)),
                None => State::Unknown,
            },
            Found::Removed(at) => State::At(at, None),
            Found::Below => return,
        };
        if !self.tend(entry, guard) || self.gone.contains(space) {
            return;
        }
        match found {
            // Before STORE is told. Who takes away what was removed after `frozen` comes after this
            // pass's snapshot has gone, and so sees it.
            Found::Row(..) if !sim::plants(Planted::ForgetStored) => entry.note_in_store(),
            Found::Row(..) | Found::Below => {}
            Found::Removed(timestamp) => {
                self.removed.push(Removed {
                    timestamp,
                    hash: *hash,
                    space: *space,
                    key: (*key).into(),
                });
                // A removal of what STORE never had is no news.
                if !entry.may_be_in_store() {
                    return;
                }
            }
        }
        self.dirty.note(*space, key, state);
    }

    /// What is in the log alone: nothing there is read or written again before this pass has ended (`Txn::catch_up`).
    fn take_past(&mut self, spaces: &[SpaceId], record: (Timestamp, &CommitRecord<'a>)) {
        for space in spaces.iter().filter(|space| !self.gone.contains(space)) {
            self.past.take(*space, record, &mut self.dirty);
        }
    }

    /// A record of which STORE lacks a version that has left the buffers, or was never in them; unless a change in
    /// them, which begin at `from`, tells more.
    fn settle_carried(&mut self, space: SpaceId, key: &'a [u8], from: Timestamp) {
        let guard = quintet_index::pin();
        let shared = self.shared;
        let hash = crate::table::hash(space, key);
        let found = shared.table.find(hash, space, key, &guard);
        match found.map(|entry| entry.read_at(self.frozen, &shared.seats, &guard)) {
            Some(Found::Row(_, at) | Found::Removed(at))
                if at <= from && !self.gone.contains(&space) =>
            {
                self.dirty.note(space, key, State::Unknown);
            }
            _ => {}
        }
    }

    /// Drops versions that nobody can read any more, and copies the others up to `frozen` out of the log's bytes.
    /// False if the entry is none any more.
    fn tend(&mut self, entry: &RecordEntry, guard: &quintet_index::Guard) -> bool {
        let mut spins = 0;
        loop {
            match entry.lock_for_upkeep() {
                Locked::Yes => break,
                Locked::Dead => return false,
                Locked::Busy => crate::entry::pause(&mut spins),
            }
        }
        let left = entry.thin(&self.readers, guard);
        if left > LONG_CHAIN + 2 * self.readers.len() {
            // Most were put there since the readers were counted. Each change of the row in these buffers
            // would walk past them.
            let shared = self.shared;
            self.readers = shared.seats.readers(|| shared.end()).and(self.frozen);
            entry.thin(&self.readers, guard);
        }
        if !sim::plants(Planted::ReclaimEarly) {
            entry.keep_upto(self.frozen, guard);
        }
        entry.unlock();
        true
    }
}

/// What STORE is told of a row: its version as of `frozen`, unless that is a removal of what STORE never
/// had.
fn operation<'a>(
    shared: &Shared,
    space: SpaceId,
    row: &Row<'a>,
    frozen: Timestamp,
    removed: &mut Vec<Removed>,
) -> Option<Operation<'a>> {
    let key = row.key();
    let (change, position) = match row.state() {
        State::At(at, Some(value)) => (dc::Change::Put(Brought::Lent(value)), at),
        State::At(at, None) => (dc::Change::Remove, at),
        State::Unknown => {
            let guard = quintet_index::pin();
            let hash = crate::table::hash(space, key);
            let entry = shared.table.find(hash, space, key, &guard)?;
            match entry.read_at(frozen, &shared.seats, &guard) {
                Found::Row(row, at) => {
                    // As in `Settling::settle`.
                    if !sim::plants(Planted::ForgetStored) {
                        entry.note_in_store();
                    }
                    (dc::Change::Put(row.to_vec().into()), at)
                }
                Found::Removed(at) => {
                    removed.push(Removed {
                        timestamp: at,
                        hash,
                        space,
                        key: key.into(),
                    });
                    if !entry.may_be_in_store() {
                        return None;
                    }
                    (dc::Change::Remove, at)
                }
                Found::Below => return None,
            }
        }
    };
    Some(Operation {
        key: Brought::Lent(key),
        position: Lsn(position.0),
        change,
    })
}

/// Steps 8 and 9.
pub(crate) fn give_back(shared: &Shared) {
    let readers = shared.seats.readers(|| shared.end());
    sim::at(Point::Counted);
    shared.generations.retire(readers.snapshots());
    let low = readers.low_water();
    let leaving: Vec<SpaceId> = {
        let mut leaving = shared.leaving.lock();
        let (now, later) = leaving.drain(..).partition(|(_, at)| *at <= low.all);
        *leaving = later;
        let now: Vec<(SpaceId, Timestamp)> = now;
        now.into_iter().map(|(space, _)| space).collect()
    };
    if !leaving.is_empty() {
        let left = shared.table.drop_spaces(&leaving);
        // So their orders are freed here, and not by whoever tidies up after the last reader.
        wait_for_readers();
        drop(left);
    }
    shared.take_all_removed_away(low);
    reclaim(shared);
    sim::at(Point::Reclaimed);
    evict(shared);
}

/// Step 8: gives the buffers back of which STORE has everything, when more than a quarter of them is in use.
fn reclaim(shared: &Shared) {
    let posted = shared.generations.newest();
    let reclaimed = shared.log.reclaimed();
    let used = shared.end().0 - reclaimed.0;
    if used <= shared.log.ring_bytes() / 4 || reclaimed.0 >= posted.0 {
        return;
    }
    sim::at(Point::Copied);
    wait_for_readers();
    #[allow(unsafe_code, reason = "the log cannot know who reads its memory")]
    // SAFETY: before they were posted, versions of use were copied (`Settling::tend`), so nobody finds an
    // address there from then on; who had found one before has let go of it. Only a pass goes through the log's
    // memory, and there is one at a time.
    unsafe {
        shared.log.reclaim(Lsn(posted.0));
    }
    shared.signal_room();
}

/// Returns when everybody who might have found something in memory before has let go of it.
pub(crate) fn wait_for_readers() {
    let passed = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&passed);
    quintet_index::pin().defer(move || told.store(true, Ordering::Release));
    let mut spins = 0;
    while !passed.load(Ordering::Acquire) {
        quintet_index::pin().flush();
        crate::entry::pause(&mut spins);
    }
}

/// Step 9.
fn evict(shared: &Shared) {
    let bound = shared.records_bytes_max() as i64;
    for hard in [false, true] {
        let over = shared.table.bytes() - bound;
        // A little more than needed, so that the next sweep is not due at once. What the polite
        // sweep could not get is taken only when it is much.
        if over <= if hard { bound / 4 } else { 0 } {
            break;
        }
        sweep(shared, hard, over + bound / 16, Extent::Twice);
    }
    // Lets the table be filled again if that has brought it below its bound.
    shared.table.is_over(shared.records_bytes_max());
}

/// A bit of step 9, by whoever has filled something in, if nobody else is at it.
pub(crate) fn evict_some(shared: &Shared) {
    let over = shared.table.bytes() - shared.records_bytes_max() as i64;
    if over > 0 {
        sweep(shared, false, over, Extent::Records(RECORDS_OF_FILLER));
    }
}

fn sweep(shared: &Shared, hard: bool, bytes: i64, extent: Extent) {
    let (snapshots, _) = shared.seats.in_use(|| shared.end());
    let snapshots = shared.generations.assign(&snapshots);
    sim::at(Point::Counted);
    shared.table.evict(&Sweep {
        posted: shared.generations.newest(),
        snapshots: &snapshots,
        hard,
        bytes,
        extent,
    });
}
