//! Commit: lock, take a place in the log, validate, write, install.
//!
//! Relies on: who locks a row looks at its entry afterwards (`locks`).
//! Promises: commits that share a record are ordered by their places in the log; a refused commit
//! leaves nothing but a void record.  Does not: wait for the disk; the answer does.
//!
//! ```text
//!   lock entries, first committer wins? ─► rows free? ─► place in the log = timestamp
//!                                             │no             │
//!                              wait for their locks           ▼
//!        answer when durable ◄─ let go ◄─ install ◄─ write ◄─ reads still valid?
//! ```
//! Commits run side by side; what they share is one word, the log's end. After Silo (SOSP 2013,
//! §4.4) with the timestamp taken before the validation: then whoever commits later to what was
//! read has a higher timestamp, and snapshots agree with the order of commits.
//!
//! * A commit at or below a snapshot locked its entries before the snapshot was taken, so a reader
//!   that finds an entry free has all it may see (`entry`).
//! * Validation after the timestamp: a record is valid if no version above the snapshot is there
//!   and nobody with a lower timestamp is about to install one.
//!
//! Entries go before the disk is reached: whoever reads the new version and commits has a later
//! position in the same log, and a reader's answer waits for what it read ([`Committed::durable_at`]).

use crate::component::Shared;
use crate::entry::{Found, Locked, RecordEntry};
use crate::error::{ConflictKind, Error};
use crate::locks::{Strength, WaitPolicy};
use crate::place::Place;
use crate::reads::ReadRange;
use crate::record::{self, Change, CommitRecord, Spaces};
use crate::seats::{LowWater, Seat};
use crate::shared::PendingFences;
use crate::sim::{self, Planted, Point};
use crate::transaction::{Committed, Txn};
use crate::writes::Write;
use quintet_base::limits::SCAN_CHUNK_ROWS;
use quintet_base::{Bytes, Durability, Level, Lsn, SpaceId, Timestamp};
use quintet_index::{Entry, Guard, Near};
use smallvec::SmallVec;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

pub(crate) fn commit(txn: &mut Txn, durability: Durability) -> Result<Committed, Error> {
    let shared = Arc::clone(&txn.shared);
    if !txn.has_writes() {
        return Ok(read_only(txn, &shared, durability));
    }
    let bytes = record::encoded_len(changes(txn), spaces(txn));
    if bytes as u64 > shared.log.ring_bytes() / 2 {
        let limit = shared.config.transaction_bytes_max;
        return Err(Error::TooLarge { limit });
    }
    shared.wait_for_room(bytes)?;
    // Bounds what the log writer has not written yet; a matter of milliseconds when it is met.
    shared.log.wait_for_room().map_err(Error::Log)?;

    // Before anything is locked: it is about when, and nothing is ordered by it.
    let time_micros = shared.config.clock.now_micros();
    let seat = Arc::clone(&txn.snapshot.seat);
    let schema_change = !txn.fenced.is_empty() || !txn.dropped.is_empty();
    let alone = schema_change.then(|| shared.gate.close(&shared.seats));
    match &alone {
        Some(_) => seat.set_locking(),
        None => shared.gate.enter(&seat),
    }
    let guard = quintet_index::pin();
    let mut section = Section {
        shared: &shared,
        seat: &seat,
        entries: SmallVec::with_capacity(txn.writes.len()),
        installed: false,
    };
    if let Some(space) = shared.closed_to(txn.id, txn.writes.spaces().map(|(space, _)| space)) {
        drop(section);
        drop(alone);
        drop(guard);
        if txn.never_waits {
            return Err(Error::Locked);
        }
        // Wait for the schema change to end; the fence then says whether this commit still fits.
        txn.take_lock(Place::whole(space), Strength::Shared, WaitPolicy::Queue)?;
        return commit(txn, durability);
    }
    check_fences(txn, &shared)?;
    section.lock_entries(txn, &guard)?;
    sim::at(Point::Locked);
    if section.is_in_the_way(txn) {
        drop(section);
        drop(alone);
        drop(guard);
        if txn.never_waits {
            return Err(Error::Locked);
        }
        lock_rows(txn)?;
        return commit(txn, durability);
    }
    // Held while the timestamp is known and the fences are not raised yet: whoever plans for a
    // snapshot at or above it waits here.
    let fences = schema_change.then(|| shared.prepare_fences());

    seat.set_reserving();
    let mut place = match shared.log.reserve(bytes) {
        Ok(place) => place,
        Err(quintet_wal::Error::NoRoom) => {
            drop(fences);
            drop(section);
            drop(alone);
            drop(guard);
            return Err(shared.queue_for_room(bytes));
        }
        Err(error) => return Err(Error::Log(error)),
    };
    let timestamp = Timestamp(place.lsn().0);
    // From here the place must be filled, or nothing behind it becomes durable.
    let bomb = AbortProcessOnUnwind;
    seat.set_timestamp(timestamp);
    sim::at(Point::Placed(timestamp));
    // Nobody took a place since the snapshot: nothing can have changed.
    let undisturbed = place.start() == txn.snapshot.timestamp.0;
    if txn.level == Level::Serializable
        && !undisturbed
        && let Err(conflict) = validate_reads(txn, &shared, (timestamp, fences.as_ref()), &guard)
    {
        record::encode_void(place.payload());
        place.finish();
        std::mem::forget(bomb);
        return Err(conflict);
    }
    // After the place was taken: see `compact::freeze`.
    let frozen = Timestamp(shared.frozen.load(Ordering::SeqCst));
    let marked = section.marked(txn, frozen);
    record::encode(place.payload(), marked, spaces(txn), time_micros);
    let payload = match txn.quiet {
        true => place.finish_quietly(),
        false => place.finish(),
    };
    let payload = crate::entry::logged(payload, bytes, &guard);
    let written = CommitRecord::own(payload).expect("a commit");
    let low_water = section.install(txn, &written, timestamp, &guard);
    if let Some(fences) = fences {
        shared.raise_fences(fences, (&txn.fenced, &txn.dropped), timestamp);
        shared.note_dropped(&txn.dropped, timestamp);
    }
    drop(section);
    std::mem::forget(bomb);
    let removed = match txn.writes.has_removals() {
        true => shared.note_removed(&seat, &written, timestamp),
        false => 0,
    };
    drop((alone, guard));

    seat.count_commit();
    shared.take_some_removed_away(&seat, low_water, removed);
    shared.compact_if_full(timestamp);
    Ok(Committed {
        timestamp,
        durable_at: (durability == Durability::Sync).then_some(Lsn(timestamp.0)),
    })
}

/// A transaction that wrote nothing is always valid: what it saw is the state at its snapshot. Its
/// answer must not tell of a version that a crash can still take back.
fn read_only(txn: &Txn, shared: &Shared, durability: Durability) -> Committed {
    let read = Lsn(txn.newest_read.get().0);
    let wait = durability == Durability::Sync && read > shared.log.durable();
    txn.snapshot.seat.count_read_only();
    Committed {
        timestamp: txn.snapshot.timestamp,
        durable_at: wait.then_some(read),
    }
}

/// What the record will say, in the order it will say it.
fn changes(txn: &Txn) -> impl Iterator<Item = Change<'_>> {
    txn.writes.iter().map(|write| Change {
        space: write.space,
        key: write.key,
        value: write.value,
    })
}

/// What it will say of spaces.
fn spaces(txn: &Txn) -> Spaces<'_> {
    Spaces {
        fenced: &txn.fenced,
        dropped: &txn.dropped,
        past: &txn.past,
    }
}

/// What goes into memory.
fn kept(txn: &Txn) -> impl Iterator<Item = Write<'_>> {
    let all = txn.past.is_empty();
    let writes = txn.writes.iter();
    writes.filter(move |write| all || !txn.past.contains(&write.space))
}

/// Queues up for the rows, like a session that wants to write them.
fn lock_rows(txn: &mut Txn) -> Result<(), Error> {
    // Taken out for the loop because locking needs the transaction itself.
    let writes = std::mem::take(&mut txn.writes);
    let mut keys: Vec<_> = writes
        .iter()
        .map(|write| (write.space, write.key))
        .collect();
    // In one order for all, so that fewer rings close.
    keys.sort_unstable();
    let result = keys.into_iter().try_for_each(|(space, key)| {
        let place = Place::new(space, key);
        txn.take_lock(place, Strength::Exclusive, WaitPolicy::Queue)
    });
    txn.writes = writes;
    result
}

fn check_fences(txn: &Txn, shared: &Shared) -> Result<(), Error> {
    for (space, schema) in txn.writes.spaces() {
        if let Some(winner) = shared.fence_above(space, schema)
            && txn.writes.iter().any(|write| write.space == space)
        {
            return Err(Error::schema(space, winner));
        }
    }
    Ok(())
}

/// Writes whose places in the index are asked for ahead of their turn.
const SEARCHED_AHEAD: usize = 64;

/// What most transactions write finds room on the stack.
const FEW_ENTRIES: usize = 32;

/// Entries that are still in the cache when a commit comes to them again, and how far ahead they are asked for where there are more.
const CACHED_ENTRIES: usize = 512;
const ENTRIES_AHEAD: usize = 8;

/// The part of a commit in which its entries are locked. Ends, however it ends, with the entries
/// and the seat let go.
struct Section<'a> {
    shared: &'a Shared,
    seat: &'a Seat,
    /// In the order of the write set.
    entries: SmallVec<[Taken<'a>; FEW_ENTRIES]>,
    installed: bool,
}

/// A record that is written to.
pub(crate) struct Taken<'a> {
    pub entry: &'a RecordEntry,
    pub hash: u64,
    is_locked: bool,
}

impl<'a> Section<'a> {
    /// Locks the entries of the write set, and above READ COMMITTED sees to it that the first
    /// committer wins.
    ///
    /// Entries are made and locked in the order of writing, as long as nobody else has one of them. Whoever meets somebody lets
    /// go of all he has and locks them in the order of their hashes, which is cheap to compare: those who wait do so in one order, and
    /// those who go by another wait for nobody, so no ring can close. They wait for each other a matter of microseconds, and for
    /// upkeep, which never waits for anybody.
    fn lock_entries(&mut self, txn: &Txn, guard: &'a Guard) -> Result<(), Error> {
        let table = &self.shared.table;
        // New ones were not announced, and each search would wait for its own line.
        let mut ahead = kept(txn);
        for write in ahead.by_ref().take(SEARCHED_AHEAD) {
            table.prefetch(write.hash, guard);
        }
        let mut near = Near::under(guard);
        for write in kept(txn) {
            if let Some(later) = ahead.next() {
                table.prefetch(later.hash, guard);
            }
            let entry = self.find_or_make(write.hash, write.space, write.key, &mut near);
            entry.prefetch_older(guard);
            self.entries.push(Taken {
                entry,
                hash: write.hash,
                is_locked: false,
            });
        }
        let many = self.entries.len() > CACHED_ENTRIES;
        for number in 0..self.entries.len() {
            if many {
                self.prefetch(number + ENTRIES_AHEAD);
            }
            if self.try_lock(number, guard) != Locked::Yes {
                self.unlock();
                return self.lock_in_order(txn, guard);
            }
            self.check_first(txn, number)?;
        }
        Ok(())
    }

    /// The same for who has met somebody, once the entries are found.
    #[cold]
    fn lock_in_order(&mut self, txn: &Txn, guard: &'a Guard) -> Result<(), Error> {
        let numbered = self.entries.iter().zip(0..);
        let mut order: Vec<(u64, u32)> = numbered.map(|(taken, n)| (taken.hash, n)).collect();
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.order_of_alike(a.1, b.1)));
        for (_, number) in order {
            self.lock(number as usize, guard);
            self.check_first(txn, number as usize)?;
        }
        Ok(())
    }

    /// Asks the cache for an entry, if there is one of that number.
    fn prefetch(&self, number: usize) {
        if let Some(taken) = self.entries.get(number) {
            quintet_index::prefetch(std::ptr::from_ref(taken.entry));
        }
    }

    /// The order of two records with one hash.
    fn order_of_alike(&self, a: u32, b: u32) -> std::cmp::Ordering {
        let [a, b] = [a, b].map(|number| self.entries[number as usize].entry);
        (a.space(), a.key()).cmp(&(b.space(), b.key()))
    }

    /// Nobody has committed to a locked entry since the snapshot, or the level does not mind.
    #[inline]
    fn check_first(&self, txn: &Txn, number: usize) -> Result<(), Error> {
        if txn.level == Level::ReadCommitted || sim::plants(Planted::LastCommitterWins) {
            return Ok(());
        }
        let snapshot = txn.snapshot.timestamp;
        let entry = self.entries[number].entry;
        let newest = entry.newest();
        if newest > snapshot {
            return Err(Error::Conflict {
                kind: ConflictKind::WriteWrite,
                space: entry.space(),
                key: Some(Bytes::copy_from_slice(entry.key())),
                winner: newest,
            });
        }
        if newest == Timestamp::ZERO && snapshot < self.shared.table.floor() {
            return Err(Error::SnapshotTooOld);
        }
        Ok(())
    }

    fn find_or_make(
        &self,
        hash: u64,
        space: SpaceId,
        key: &[u8],
        near: &mut Near<'a, RecordEntry>,
    ) -> &'a RecordEntry {
        let in_store = || self.shared.in_store(space);
        let table = &self.shared.table;
        table.find_or_make_near(hash, space, key, in_store, near)
    }

    #[inline]
    fn try_lock(&mut self, number: usize, guard: &'a Guard) -> Locked {
        let taken = &mut self.entries[number];
        let locked = taken.entry.lock_for_commit(self.seat.number());
        if locked == Locked::Yes {
            taken.is_locked = true;
            // Before there is a timestamp: whoever may see what is committed here walks the order later.
            self.shared.table.list_again(taken.entry, guard);
            taken.entry.prefetch_chain(guard);
        }
        locked
    }

    fn lock(&mut self, number: usize, guard: &'a Guard) {
        let mut spins = 0;
        loop {
            match self.try_lock(number, guard) {
                Locked::Yes => return,
                Locked::Busy => crate::entry::pause(&mut spins),
                Locked::Dead => {
                    crate::entry::pause(&mut spins);
                    // Whoever has taken it out frees it when the guard is gone.
                    let near = &mut Near::under(guard);
                    let Taken { entry, hash, .. } = self.entries[number];
                    let made = self.find_or_make(hash, entry.space(), entry.key(), near);
                    self.entries[number].entry = made;
                }
            }
        }
    }

    /// Lets go of all that is locked.
    fn unlock(&mut self) {
        let many = self.entries.len() > CACHED_ENTRIES;
        for number in 0..self.entries.len() {
            if many {
                self.prefetch(number + ENTRIES_AHEAD);
            }
            let taken = &mut self.entries[number];
            if std::mem::take(&mut taken.is_locked) {
                taken.entry.unlock();
            }
        }
    }

    /// Whether somebody else has locked one of the rows, or waits for it.
    fn is_in_the_way(&self, txn: &Txn) -> bool {
        let locks = &self.shared.locks;
        // Pairs with the fence in `LockTable::acquire`.
        fence(Ordering::SeqCst);
        let mut entries = self.entries.iter();
        entries.any(|taken| locks.is_wanted(taken.hash, txn.id))
    }

    /// What the record will say: a change over a version that the last freeze has, or over none, is marked.
    fn marked<'t>(
        &'t self,
        txn: &'t Txn,
        frozen: Timestamp,
    ) -> impl Iterator<Item = record::Marked<'t>> {
        let frozen = match sim::plants(Planted::MarkNewOnly) {
            true => Timestamp::ZERO,
            false => frozen,
        };
        let all = txn.past.is_empty();
        let mut entries = self.entries.iter();
        changes(txn).map(move |change| {
            let is_kept = all || !txn.past.contains(&change.space);
            let entry = is_kept.then(|| entries.next()).flatten();
            (
                change,
                entry.is_some_and(|taken| taken.entry.newest() <= frozen),
            )
        })
    }

    /// Returns what it took for the low water.
    fn install(
        &mut self,
        txn: &Txn,
        written: &CommitRecord<'_>,
        timestamp: Timestamp,
        guard: &Guard,
    ) -> LowWater {
        self.installed = true;
        let all = txn.past.is_empty();
        assert!(
            !all || written.len() == self.entries.len(),
            "an entry for each change"
        );
        let changes = written.changes();
        let changes = changes.filter(|change| all || !txn.past.contains(&change.space));
        let readers = self.shared.readers_counted();
        let many = self.entries.len() > CACHED_ENTRIES;
        let mut more = 0;
        for (number, (taken, change)) in self.entries.iter().zip(changes).enumerate() {
            if many {
                self.prefetch(number + ENTRIES_AHEAD);
            }
            more += (taken.entry).install_logged(timestamp, change.value, &readers, guard);
        }
        self.shared.table.weigh(more);
        readers.low_water()
    }
}

impl Drop for Section<'_> {
    fn drop(&mut self) {
        self.unlock();
        self.seat.set_none();
        if !self.installed {
            // Entries that were made, or put back into the order, for nothing.
            self.shared.note_left_over(self.seat, &self.entries);
        }
    }
}

/// Backward validation: nothing that was read has a version above the snapshot and below `mine`. `fences`: those that are
/// held for its own schema change.
fn validate_reads(
    txn: &Txn,
    shared: &Shared,
    (mine, fences): (Timestamp, Option<&PendingFences<'_>>),
    guard: &Guard,
) -> Result<(), Error> {
    let snapshot = txn.snapshot.timestamp;
    let seat = txn.snapshot.seat.number();
    let changed = |entry: &RecordEntry| entry.changed_since(snapshot, mine, seat, &shared.seats);
    let reads = txn.reads.borrow();
    let forget = sim::plants(Planted::ForgetKeys);
    for (hash, space, key, glance) in reads.keys().filter(|_| !forget) {
        is_there_still(shared, space, snapshot, fences)?;
        let entry = shared.table.find(hash, space, key, guard);
        // Changed where it was not looked at: read now, it would have been the same. Waits for who is about
        // to install and has an earlier timestamp, who waits for none that has a later one.
        let looks_alike = |entry: &RecordEntry| {
            let Some(glance) = glance else {
                return false;
            };
            let at = |timestamp| entry.read_at(timestamp, &shared.seats, guard);
            match (at(snapshot), at(Timestamp(mine.0 - 1))) {
                (Found::Row(read, _), Found::Row(now, _)) => glance.is_same(read, now),
                _ => false,
            }
        };
        let winner = entry.and_then(|entry| changed(entry).filter(|_| !looks_alike(entry)));
        if let Some(winner) = winner {
            return Err(Error::Conflict {
                kind: ConflictKind::ReadWrite,
                space,
                key: Some(Bytes::copy_from_slice(key)),
                winner,
            });
        }
        // Asked after the entry was looked at. One without a version says nothing about what was
        // evicted: a writer that was refused may have made it since.
        let silent = entry.is_none_or(|entry| entry.newest() == Timestamp::ZERO);
        if silent && snapshot < shared.table.floor() {
            return Err(Error::SnapshotTooOld);
        }
    }
    let forget = sim::plants(Planted::ForgetRanges);
    for range in reads.ranges.iter().filter(|_| !forget) {
        is_there_still(shared, range.space, snapshot, fences)?;
        walk_range(shared, range, changed)?;
    }
    if !reads.ranges.is_empty() && snapshot < shared.table.floor() {
        return Err(Error::SnapshotTooOld);
    }
    Ok(())
}

/// What was read in a space that was dropped since, by a table that was emptied or written anew, has changed.
fn is_there_still(
    shared: &Shared,
    space: SpaceId,
    snapshot: Timestamp,
    fences: Option<&PendingFences<'_>>,
) -> Result<(), Error> {
    let gone = shared.gone_since(space, snapshot, fences);
    match gone.filter(|_| !sim::plants(Planted::ForgetSpaces)) {
        None => Ok(()),
        Some(winner) => Err(Error::schema(space, winner)),
    }
}

/// Walks a range in memory, where everything newer than a snapshot above the floor is, until
/// `changed` names a commit.
fn walk_range(
    shared: &Shared,
    range: &ReadRange,
    mut changed: impl FnMut(&RecordEntry) -> Option<Timestamp>,
) -> Result<(), Error> {
    let Some(space) = shared.table.space(range.space) else {
        return Ok(());
    };
    let mut lower = range.lower.clone();
    loop {
        if crate::read::is_empty(&lower, &range.upper) {
            return Ok(());
        }
        let guard = quintet_index::pin();
        let mut entries = Vec::with_capacity(SCAN_CHUNK_ROWS);
        let (from, to) = (
            crate::read::as_slice(&lower),
            crate::read::as_slice(&range.upper),
        );
        let ended = space
            .ordered
            .chunk(from, to, false, SCAN_CHUNK_ROWS, &guard, &mut entries);
        for entry in &entries {
            if let Some(winner) = changed(entry) {
                return Err(Error::Conflict {
                    kind: ConflictKind::Phantom,
                    space: range.space,
                    key: Some(Bytes::copy_from_slice(entry.key())),
                    winner,
                });
            }
        }
        match entries.last() {
            Some(last) if !ended => lower = Bound::Excluded(Bytes::copy_from_slice(last.key())),
            _ => return Ok(()),
        }
    }
}

/// A panic between taking a place in the log and letting go of the entries cannot be undone; the
/// process must restart and recover from the log.
struct AbortProcessOnUnwind;

impl Drop for AbortProcessOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// The newest commit to a space, for who has closed it: nobody commits to it now.
pub(crate) fn newest_of_space(shared: &Shared, space: SpaceId) -> Timestamp {
    let mut newest = Timestamp::ZERO;
    let all = ReadRange {
        space,
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };
    let see = |entry: &RecordEntry| {
        newest = newest.max(entry.newest());
        None
    };
    walk_range(shared, &all, see).expect("nothing is refused");
    newest
}
