//! What a transaction keeps others from: row locks, and whole spaces.
//!
//! Relies on: `locks` for who holds what and who waits.  Promises: a row that was locked has not changed since the snapshot, or the
//! transaction is told; after [`Error::Blocked`] it stands in the queue, and does the same again.  Does not: wait, or release
//! before the transaction ends what was found and is meant ([`Txn::leave_alone`]).

use super::{Lost, Txn};
use crate::error::{ConflictKind, Error};
use crate::locks::{Strength, WaitPolicy};
use crate::place::Place;
use quintet_base::{Bytes, Level, SpaceId, Timestamp};

impl Txn {
    /// Claims a row that is about to be written: locks it, unless the transaction is optimistic, whose commit
    /// will find out whether the row has changed since the snapshot.
    ///
    /// # Errors
    /// As [`Txn::lock`].
    pub fn claim(&mut self, space: SpaceId, key: &[u8]) -> Result<(), Error> {
        match self.is_optimistic() {
            true => Ok(()),
            false => self.lock(space, key, Strength::Exclusive, WaitPolicy::Queue),
        }
    }

    /// Claims a row that is about to be written ([`Txn::claim`]) and shows it to `see`. What is written in the
    /// end is validated as a write; a row that is not must be noted ([`Txn::note_read`]).
    ///
    /// # Errors
    /// As [`Txn::lock`] and [`Txn::get`].
    pub fn read_claimed<R>(
        &mut self,
        space: SpaceId,
        key: &[u8],
        see: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        self.read_claimed_at(Place::new(space, key), see)
    }

    /// [`Txn::read_claimed`] for who has the place.
    ///
    /// # Errors
    /// As there.
    pub fn read_claimed_at<R>(
        &mut self,
        place: Place<'_>,
        see: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        let Place { hash, space, key } = place;
        self.taken = None;
        if let Some(own) = self.writes.get(hash, space, key) {
            return Ok(see(own));
        }
        self.check_fence(space)?;
        if !self.is_optimistic() {
            self.take_lock(place, Strength::Exclusive, WaitPolicy::Queue)?;
            self.check_unchanged_for_lock(place)?;
        }
        // A write that may be taken back leaves a read that nobody would validate.
        if self.level == Level::Serializable && self.writes.is_marked() {
            self.reads.borrow_mut().note(hash, space, key, None);
        }
        self.read_stored((hash, space, key), see)
    }

    /// Rows that are written are not locked before the commit, which is refused if anybody else has
    /// written them: less work where that is rare. Until [`Txn::restart`]; not at READ COMMITTED, where
    /// a statement that finds a row changed must be able to wait for it.
    pub fn write_optimistically(&mut self) {
        self.optimistic = true;
    }

    /// Rows that are read by their keys are locked before, shared with other readers, until the end: strict
    /// two-phase locking, to be compared with. Whoever reads asks [`Txn::locks_reads`]; scans lock nothing.
    pub fn lock_reads(&mut self) {
        self.locks_reads = true;
    }

    /// See [`Txn::lock_reads`].
    pub fn locks_reads(&self) -> bool {
        self.locks_reads
    }

    /// See [`Txn::write_optimistically`].
    pub fn is_optimistic(&self) -> bool {
        self.optimistic && self.level != Level::ReadCommitted
    }

    /// Locks a row (whether it exists or not) and makes sure that it has not changed since the
    /// snapshot.
    ///
    /// # Errors
    /// [`Error::Blocked`], [`Error::Stale`] (READ COMMITTED), [`Error::Conflict`] (stronger levels),
    /// [`Error::Deadlock`], [`Error::Locked`], [`Error::TooManyWaiters`], [`Error::SnapshotTooOld`].
    pub fn lock(
        &mut self,
        space: SpaceId,
        key: &[u8],
        strength: Strength,
        policy: WaitPolicy,
    ) -> Result<(), Error> {
        let place = Place::new(space, key);
        self.take_lock(place, strength, policy)?;
        self.check_unchanged_for_lock(place)
    }

    /// Gives back the lock of a row that was claimed or locked last and turned out not to be there, or not to be meant: nobody
    /// is to wait for a row that is left alone. Nothing if the transaction held it before, has written to it, or if its reads are locked.
    pub fn leave_alone(&mut self, space: SpaceId, key: &[u8]) {
        let Some(taken) = self.taken.take().filter(|_| !self.locks_reads) else {
            return;
        };
        let hash = Place::new(space, key).hash;
        let is_last = taken == hash && self.held.last() == Some(&hash);
        if is_last && self.writes.get(hash, space, key).is_none() {
            self.held.pop();
            self.shared.locks.release(self.id, hash);
        }
    }

    fn check_unchanged_for_lock(&self, place: Place<'_>) -> Result<(), Error> {
        match (self.check_unchanged(place), self.level) {
            (Err(Error::Conflict { .. } | Error::SnapshotTooOld), Level::ReadCommitted) => {
                Err(Error::Stale)
            }
            (result, _) => result.inspect_err(|error| self.note_lost(error)),
        }
    }

    pub(crate) fn take_lock(
        &mut self,
        place: Place<'_>,
        strength: Strength,
        policy: WaitPolicy,
    ) -> Result<(), Error> {
        self.taken = None;
        match self.shared.locks.acquire(self.id, place, strength, policy) {
            Ok(true) => {
                self.held.push(place.hash);
                self.taken = Some(place.hash);
            }
            Ok(false) => {}
            Err(Error::Blocked(wait)) => {
                // In the queue from now on; asked again it may be there twice, which release allows.
                self.held.push(place.hash);
                self.awaited = Some(place.to_owned());
                return Err(Error::Blocked(wait));
            }
            Err(error) => {
                if matches!(error, Error::Deadlock) {
                    self.deadlocked = true;
                    let (space, key) = place.to_owned();
                    self.lost.replace(Some(Lost {
                        space,
                        key,
                        winner: None,
                    }));
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// First committer wins: nobody committed to the key after this snapshot. The row's lock is
    /// held, so whoever is about to had the record's entry locked before, and is waited for.
    fn check_unchanged(&self, Place { hash, space, key }: Place<'_>) -> Result<(), Error> {
        let snapshot = self.snapshot_in(space).timestamp;
        let table = &self.shared.table;
        let guard = quintet_index::pin();
        let newest = table.find(hash, space, key, &guard);
        let newest = newest.map_or(Timestamp::ZERO, |entry| entry.newest_settled());
        if newest > snapshot {
            return Err(Error::Conflict {
                kind: ConflictKind::WriteWrite,
                space,
                key: Some(Bytes::copy_from_slice(key)),
                winner: newest,
            });
        }
        if newest == Timestamp::ZERO && snapshot < table.floor() {
            return Err(Error::SnapshotTooOld);
        }
        Ok(())
    }

    /// Queues for a row, so that it stays as the next attempt finds it.
    ///
    /// # Errors
    /// [`Error::Blocked`] (call again when the wait is over), [`Error::Deadlock`],
    /// [`Error::TooManyWaiters`].
    pub fn lock_only(&mut self, space: SpaceId, key: &[u8]) -> Result<(), Error> {
        let place = Place::new(space, key);
        self.take_lock(place, Strength::Exclusive, WaitPolicy::Queue)
    }

    /// Waits, one by one, for those who have rows of these spaces locked now, to write them, or have said that they write there: who
    /// is about to change what they go by lets them end first. Nothing is kept from whoever comes later. For nobody if it has closed one of the spaces, or begun to
    /// keep others from it: they may be waiting for it.
    ///
    /// # Errors
    /// [`Error::Blocked`] (call again when the wait is over), [`Error::Deadlock`], [`Error::TooManyWaiters`].
    pub fn wait_for_writers(&mut self, spaces: &[SpaceId]) -> Result<(), Error> {
        let mut rows = match self.writers.take() {
            Some(rows) => rows,
            None if spaces.iter().any(|space| self.is_changing(*space)) => return Ok(()),
            None => self.shared.locks.writers(spaces, self.id),
        };
        while let Some((space, key)) = rows.last() {
            let place = Place::new(*space, key);
            let hash = place.hash;
            let is_own = key.is_empty() && self.steady.contains(space);
            let taken = self.take_lock(place, Strength::Exclusive, WaitPolicy::Queue);
            if let Err(Error::Blocked(wait)) = taken {
                self.writers = Some(rows);
                return Err(Error::Blocked(wait));
            }
            taken?;
            // Who held it is through. Nobody is to wait for us while we wait for the next.
            if !is_own {
                self.held.retain(|held| *held != hash);
                self.shared.locks.release(self.id, hash);
            }
            rows.pop();
        }
        Ok(())
    }

    /// Keeps schema changes away from a space that this transaction is about to write to, until it ends; who is changing it is
    /// waited for. True: until now it was not kept, and may have changed since the caller looked. Then, where its level lets it, the
    /// transaction reads what that change has left.
    ///
    /// # Errors
    /// [`Error::Blocked`] (call again when the wait is over), [`Error::Deadlock`], [`Error::TooManyWaiters`].
    pub fn lock_for_writing(&mut self, space: SpaceId) -> Result<bool, Error> {
        if self.steady.contains(&space) {
            return Ok(false);
        }
        let taken = self.take_lock(Place::whole(space), Strength::Shared, WaitPolicy::Queue);
        self.has_waited |= matches!(taken, Err(Error::Blocked(_)));
        taken?;
        self.steady.push(space);
        let has_waited = std::mem::take(&mut self.has_waited);
        let has_changed = || {
            let seen = self.snapshot.timestamp;
            self.shared.fence_above(space, seen).is_some()
        };
        let may_move = self.level == Level::ReadCommitted || !self.snapshot_used;
        if may_move && (has_waited || has_changed()) {
            self.renew_snapshot();
        }
        Ok(true)
    }

    fn is_changing(&self, space: SpaceId) -> bool {
        self.closed.contains(&space) || self.changing.contains(&space)
    }

    /// Keeps those who announce what they write to ([`Txn::lock_for_writing`]) out of spaces that are about to be changed, until this
    /// transaction ends, and waits for those who have.
    ///
    /// # Errors
    /// As [`Txn::wait_for_writers`].
    pub fn lock_for_change(&mut self, spaces: &[SpaceId]) -> Result<(), Error> {
        let new = spaces.iter().filter(|space| !self.changing.contains(space));
        let new: Vec<SpaceId> = new.copied().collect();
        self.changing.extend(new);
        for space in spaces {
            self.take_lock(Place::whole(*space), Strength::Exclusive, WaitPolicy::Queue)?;
        }
        Ok(())
    }

    /// Closes a space: until this transaction ends, commits of others that wrote to it wait. What
    /// this transaction reads there from now on is therefore what it will find at its own commit;
    /// at READ COMMITTED, and if no statement has used its snapshot, it gets a new one for that. For schema changes that
    /// read every row, and for LOCK TABLE.
    ///
    /// # Errors
    /// [`Error::Blocked`] (another transaction has closed it; call again), [`Error::Deadlock`],
    /// [`Error::Conflict`] (above READ COMMITTED: the space changed after the snapshot).
    pub fn close_space(&mut self, space: SpaceId) -> Result<(), Error> {
        self.take_lock(Place::whole(space), Strength::Exclusive, WaitPolicy::Queue)?;
        if !self.closed.contains(&space) {
            self.shared.close_space(space, self.id);
            self.closed.push(space);
        }
        if self.level == Level::ReadCommitted || !self.snapshot_used {
            self.renew_snapshot();
            return Ok(());
        }
        match crate::commit::newest_of_space(&self.shared, space) {
            _ if self.snapshot.timestamp < self.shared.table.floor() => Err(Error::SnapshotTooOld),
            newest if newest <= self.snapshot.timestamp => Ok(()),
            winner => Err(Error::schema(space, winner)),
        }
    }

    /// True if it holds row locks, or waits for one.
    pub fn has_locks(&self) -> bool {
        !self.held.is_empty()
    }

    /// True if a lock was refused because others wait for those it holds: to run it again it must let go.
    pub fn is_deadlocked(&self) -> bool {
        self.deadlocked
    }

    /// Whether it has been told to wait for a lock and has not been given it.
    pub fn is_waiting(&self) -> bool {
        self.awaited.is_some() && self.shared.locks.is_waiting(self.id)
    }

    /// Waits no longer for the lock that it was told to wait for, and may go on without it.
    pub fn give_up_waiting(&self) {
        if self.awaited.is_some() {
            self.shared.locks.give_up(self.id);
        }
    }

    /// The row that it queued up for last, for who has just been told to wait.
    pub fn awaited(&self) -> Option<(SpaceId, &Bytes)> {
        self.awaited.as_ref().map(|(space, key)| (*space, key))
    }
}
