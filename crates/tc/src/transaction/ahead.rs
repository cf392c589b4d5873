//! What a transaction commits ahead of itself: rows in spaces that nobody else can name yet, too many to be kept until its commit.
//!
//! Relies on: `writes`, `commit`.  Promises: what went ahead is committed like anything else, so it is in the log, in STORE and in
//! copies, and can leave memory; the transaction sees it; if it is undone or the transaction does not commit, its spaces are
//! told to whoever asks ([`crate::Tc::take_abandoned`]); nothing is read before it can be found.  Does not: know who can name
//! a space, or drop it.
//!
//! ```text
//!   fresh space   ── put … put ──┬─ commit ── put … put ──┬─ commit        unreachable
//!                                └ ahead                  └ ahead
//!   the rest      ───────────────────────────────────────────── commit     names the space
//! ```
//! **Past memory.** Many rows that nobody asks for before all of them are there are not put into memory: they lie
//! in the log, where the next pass finds them, and whoever has written them waits for it ([`Txn::catch_up`]). Until then
//! neither memory nor a generation of STORE has them.

use super::{Mark, Txn};
use crate::error::Error;
use crate::place::Place;
use crate::sim::{self, Planted};
use crate::snapshot::Snapshot;
use crate::writes::WriteSet;
use quintet_base::{Durability, Level, SpaceId, Timestamp};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows that are committed ahead together take about so much memory, unless one transaction may not even have that. They stay in the
/// cache next to the processor between being written and being committed, and their memory is the next ones'.
const AHEAD_BYTES: usize = 1024 * 1024;

/// See [`Txn::is_very_heavy`].
const VERY_HEAVY_BYTES: usize = 32 * AHEAD_BYTES;

/// What one transaction commits ahead goes past memory, if nobody reads it before all of it is there, from this part on of what records
/// may take. Less than that is soon in memory, where it is wanted first; and a pass, which has to be waited for otherwise, may
/// have much to do that is not its own.
const KEPT_PART: usize = 32;

/// So much of the log makes a pass due while rows go past memory: its last one is waited for.
const UNPOSTED_BYTES: u64 = 64 * 1024 * 1024;

/// So many transactions of others between two commits of rows that go past memory are few.
const OTHERS_FEW: u64 = 16;

/// Where a statement commits ahead whatever it writes there.
pub(super) struct Going {
    spaces: Vec<SpaceId>,
    since: Mark,
    told_in: SpaceId,
}

/// Whether a statement that writes much is stopped before it has to be: [`Txn::stop_early`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Early {
    No,
    Stops,
    Stopped,
}

/// A space that was empty when somebody began to fill it.
pub(super) struct Filled {
    space: SpaceId,
    /// No key is above.
    highest: Vec<u8>,
    /// Nobody had to look whether a key is taken: each that was asked for was above all before it.
    is_ordered: bool,
}

/// Writes that were taken out of a transaction ([`Txn::take_out`]).
pub struct Buffered(WriteSet);

impl Txn {
    /// Whether so much is buffered that what can go ahead should.
    pub fn is_heavy(&self) -> bool {
        self.buffers(AHEAD_BYTES)
    }

    /// Whether so much is buffered that it is worth others' waiting for it to go ahead.
    pub fn is_very_heavy(&self) -> bool {
        self.buffers(VERY_HEAVY_BYTES)
    }

    /// Whether not much more can be buffered.
    pub fn is_nearly_full(&self) -> bool {
        self.writes.value_bytes() > self.shared.config.transaction_bytes_max / 4 * 3
    }

    /// Whether more than so many bytes are buffered, or than half of what may be.
    fn buffers(&self, bytes: usize) -> bool {
        let most = self.shared.config.transaction_bytes_max / 2;
        self.writes.buffered_bytes() > most.min(bytes)
    }

    /// Nothing that is read until [`Txn::remember`] is validated: something else keeps it true.
    pub fn forget(&mut self) {
        self.aside = true;
    }

    /// See [`Txn::forget`].
    pub fn remember(&mut self) {
        self.aside = false;
    }

    /// Until [`Txn::stay`], [`Txn::relieve`] commits ahead what is written to these spaces from here on. At READ COMMITTED
    /// only: a statement that reads other spaces goes on reading them as they were when it began, and what went ahead as
    /// it is. The caller sees to what [`Txn::commit_ahead`] asks of it, and to it that nothing else is written meanwhile.
    pub fn go_ahead(&mut self, spaces: Vec<SpaceId>, told_in: SpaceId) {
        if self.level == Level::ReadCommitted {
            self.begin_to_fill(&spaces);
            let since = self.mark();
            self.going = Some(Going {
                spaces,
                since,
                told_in,
            });
        }
    }

    /// Whether [`Txn::relieve`] commits ahead what the present statement writes, which could not be run again then.
    pub fn goes_ahead(&self) -> bool {
        self.going.is_some()
    }

    /// Until [`Txn::stay`], or not any more, [`Txn::relieve`] refuses what has become [`Txn::is_very_heavy`]: whoever runs the
    /// statement knows a better way for one that writes much, and that it does is not known before.
    pub fn stop_early(&mut self, stops: bool) {
        self.early = match stops {
            true => Early::Stops,
            false => Early::No,
        };
    }

    /// Whether [`Txn::relieve`] has refused so, and that has not been taken back by [`Txn::stop_early`].
    pub fn has_stopped_early(&self) -> bool {
        self.early == Early::Stopped
    }

    /// Ends [`Txn::go_ahead`] and [`Txn::stop_early`].
    pub fn stay(&mut self) {
        self.going = None;
        if self.early == Early::Stops {
            self.early = Early::No;
        }
    }

    /// Commits ahead what the statement has written, if that is much and it may ([`Txn::go_ahead`]).
    ///
    /// # Errors
    /// Those of a commit; [`Error::TooLarge`] ([`Txn::stop_early`]).
    pub fn relieve(&mut self) -> Result<(), Error> {
        if self.early == Early::Stops && self.is_very_heavy() {
            self.early = Early::Stopped;
            let limit = VERY_HEAVY_BYTES;
            return Err(Error::TooLarge { limit });
        }
        if self.going.is_none() || !self.is_heavy() {
            return Ok(());
        }
        let Some(going) = self.going.take() else {
            return Ok(());
        };
        if self.take_ahead(&going.spaces, going.since, going.told_in)? {
            self.beyond = Some(Arc::new(Snapshot::take(&self.shared)));
            self.going = Some(going);
        }
        Ok(())
    }

    /// Takes out what was written to these spaces since a mark; `None`, and nothing has happened: not all of that is in these spaces
    /// (but for `told_in`, see [`Txn::commit_ahead`]), or something was written to them before.
    pub fn take_out(
        &mut self,
        spaces: &[SpaceId],
        since: Mark,
        told_in: SpaceId,
    ) -> Option<Buffered> {
        let is_one = |space: SpaceId| spaces.contains(&space);
        if !self.writes.spaces().any(|(space, _)| is_one(space)) {
            return Some(Buffered(WriteSet::default()));
        }
        let taken = self.writes.take_since(since.undo, is_one, told_in, None)?;
        self.let_go(&taken);
        Some(Buffered(taken))
    }

    /// Writes what was taken out, each row into the space that `place` says.
    ///
    /// # Errors
    /// As [`Txn::put`].
    pub fn put_back(
        &mut self,
        buffered: Buffered,
        place: impl Fn(SpaceId) -> SpaceId,
    ) -> Result<(), Error> {
        for write in buffered.0.iter() {
            self.write(Place::new(place(write.space), write.key), write.value)?;
        }
        Ok(())
    }

    /// Whether anything went ahead since the mark: to undo it now, all of the transaction has to be undone.
    pub fn has_gone_ahead_since(&self, mark: Mark) -> bool {
        self.went_ahead != mark.went_ahead
    }

    /// A statement has failed of which something went ahead: nothing can be done with the transaction but to undo it.
    pub fn spoil(&mut self) {
        self.spoilt = true;
    }

    /// See [`Txn::spoil`].
    pub fn is_spoilt(&self) -> bool {
        self.spoilt
    }

    /// What is read in a space is read at this.
    pub(crate) fn snapshot_in(&self, space: SpaceId) -> &Arc<Snapshot> {
        assert!(
            !self.unposted.contains(&space),
            "what went past memory is not to be read before STORE has it"
        );
        match &self.beyond {
            Some(beyond) if self.ahead.iter().any(|(gone, _)| *gone == space) => beyond,
            _ => &self.snapshot,
        }
    }

    /// Spaces that nobody else can name are about to be filled. In those that are empty, keys that come in order are known to
    /// be new ([`Txn::is_new`]).
    pub fn begin_to_fill(&mut self, spaces: &[SpaceId]) {
        for space in spaces {
            if !self.filled.iter().any(|filled| filled.space == *space) {
                let is_empty = self.is_empty(*space);
                self.filled.push(Filled {
                    space: *space,
                    highest: Vec::new(),
                    is_ordered: is_empty,
                });
            }
        }
    }

    /// Whether nothing is in a space, as far as can be told at once; if so, until somebody commits something.
    pub fn is_empty(&self, space: SpaceId) -> bool {
        let shared = &self.shared;
        let guard = quintet_index::pin();
        let in_memory = shared.table.space_under(space, &guard);
        let in_memory = in_memory.map(|space| space.is_whole() && space.ordered.len() == 0);
        drop(guard);
        in_memory.unwrap_or_else(|| !shared.in_store(space))
            && !(self.writes.spaces().any(|(known, _)| known == space)
                && self.writes.iter().any(|write| write.space == space))
    }

    /// Whether a transaction that stays open for more than a statement has written to one of these spaces, but for this one.
    pub fn are_others_writing(&self, spaces: &[SpaceId]) -> bool {
        !self.shared.locks.writers(spaces, self.id).is_empty()
    }

    /// Whether a key of a space that is being filled is above all others in it. If not, and it is asked for, keys are not in
    /// order there, what goes ahead is kept in memory, and [`Txn::catch_up_in`] comes before the look.
    pub fn is_new(&mut self, space: SpaceId, key: &[u8]) -> bool {
        let mut filled = self.filled.iter_mut();
        let Some(filled) = filled.find(|filled| filled.space == space) else {
            return false;
        };
        filled.is_ordered = filled.is_ordered && key > &filled.highest[..];
        filled.is_ordered
    }

    /// A key has been written.
    #[inline]
    pub(super) fn note_filled(&mut self, space: SpaceId, key: &[u8]) {
        let mut filled = self.filled.iter_mut();
        if let Some(filled) = filled.find(|filled| filled.space == space)
            && key > &filled.highest[..]
        {
            filled.highest.clear();
            filled.highest.extend_from_slice(key);
        }
    }

    /// [`Txn::catch_up`], if something has gone past memory in this space.
    ///
    /// # Errors
    /// As there.
    pub fn catch_up_in(&mut self, space: SpaceId) -> Result<(), Error> {
        match self.unposted.contains(&space) {
            true => self.catch_up(),
            false => Ok(()),
        }
    }

    /// Waits until STORE has what went past memory, and reads it from then on as if it had been in memory.
    ///
    /// # Errors
    /// [`Error::NoRoom`], [`Error::PostFailed`]: STORE could not take it.
    pub fn catch_up(&mut self) -> Result<(), Error> {
        if self.unposted.is_empty() {
            return Ok(());
        }
        self.wait_for_store()?;
        match &mut self.beyond {
            Some(beyond) => *beyond = Arc::new(Snapshot::take(&self.shared)),
            None => self.renew_snapshot(),
        }
        Ok(())
    }

    /// [`Txn::catch_up`] for who will read no more.
    pub(super) fn wait_for_store(&mut self) -> Result<(), Error> {
        if self.unposted.is_empty() {
            return Ok(());
        }
        let shared = &self.shared;
        let has = || shared.generations.newest() >= self.past_upto;
        if !has() {
            let posted = shared.compact_now();
            posted.map_err(|failure| failure.refusal())?;
        }
        if !has() {
            let reason = "the database is being closed".into();
            return Err(Error::PostFailed { reason });
        }
        // What memory never had is missing there. After it could be read in STORE: whoever brings in meanwhile what STORE had before
        // cannot call the space whole any more, and who begins after this brings in everything.
        for space in self.unposted.drain(..) {
            if !sim::plants(Planted::KeepWhole) {
                self.shared.space(space).wholeness.lose();
            }
        }
        Ok(())
    }

    /// Commits what it has written since a mark, now and for good, and reads at a later snapshot from here on. False, and nothing has
    /// happened: that cannot be, since not all of it is in these spaces, or what it has read depends on its snapshot; then it
    /// will not be later in this statement either. The caller sees to it that nobody else can name the spaces before this
    /// transaction has committed. Waits for the log's room. `told_in`: where each such commit, and that of the
    /// transaction, has a row for each space ([`ahead_from`]), for who reads the log. What is read of these spaces is read after
    /// [`Txn::catch_up`] or [`Txn::catch_up_in`] from now on.
    ///
    /// # Errors
    /// Those of a commit; nothing has been committed then.
    pub fn commit_ahead(
        &mut self,
        spaces: &[SpaceId],
        since: Mark,
        told_in: SpaceId,
    ) -> Result<bool, Error> {
        let may_move = match self.level {
            Level::ReadCommitted => true,
            Level::Serializable => self.reads.borrow().is_empty(),
            Level::Snapshot => !self.snapshot_used,
        };
        if !may_move || !self.take_ahead(spaces, since, told_in)? {
            return Ok(false);
        }
        self.renew_snapshot();
        Ok(true)
    }

    /// Commits ahead, and has none of what it buffered any more.
    fn take_ahead(
        &mut self,
        spaces: &[SpaceId],
        since: Mark,
        told_in: SpaceId,
    ) -> Result<bool, Error> {
        let is_one = |space: SpaceId| spaces.contains(&space);
        let memory = self.ahead_memory.take();
        let taken = self
            .writes
            .take_since(since.undo, is_one, told_in, memory.map(|kept| *kept));
        let Some(writes) = taken else {
            return Ok(false);
        };
        let from = self.snapshot.timestamp;
        for space in spaces {
            if !self.ahead.iter().any(|(known, _)| known == space) {
                self.ahead.push((*space, from));
            }
        }
        let mut ahead = Txn::new(Arc::clone(&self.shared), Level::ReadCommitted);
        let kept = self.shared.records_bytes_max() / KEPT_PART;
        if self.ahead_bytes > kept {
            let ordered = self.filled.iter().filter(|filled| filled.is_ordered);
            let ordered: Vec<SpaceId> = ordered.map(|filled| filled.space).collect();
            let spaces = writes.spaces().map(|(space, _)| space);
            ahead.past = spaces.filter(|space| ordered.contains(space)).collect();
            for space in &ahead.past {
                if !self.unposted.contains(space) {
                    self.unposted.push(*space);
                }
            }
        }
        self.ahead_bytes += writes.buffered_bytes();
        let rows = writes.len() as u64;
        ahead.writes = writes;
        ahead.tell_ahead(&self.ahead, told_in)?;
        self.let_go(&ahead.writes);
        let committed = loop {
            match ahead.commit(Durability::Async) {
                // Room comes with a pass.
                Err(Error::Blocked(_)) if self.shared.compact_here_if_driven() => {}
                Err(Error::Blocked(wait)) => wait.wait(),
                done => break done?,
            }
        };
        if !ahead.past.is_empty() {
            self.past_upto = committed.timestamp;
            let count = &self.shared.stats.past_memory;
            count.fetch_add(rows, Ordering::Relaxed);
            self.shared.warming.note_loaded();
            let behind = committed.timestamp.0 - self.shared.generations.newest().0;
            if behind > UNPOSTED_BYTES {
                self.shared.want_compaction();
                // Its end is waited for, or that of the next one; unless others have the processors, too.
                let activity = self.shared.activity();
                if activity.saturating_sub(self.activity) < OTHERS_FEW {
                    self.shared.hurry_pass();
                }
                self.activity = activity;
            }
        }
        self.ahead_memory = Some(Box::new(std::mem::take(&mut ahead.writes)));
        self.went_ahead += 1;
        let all = self.ahead.clone();
        self.tell_ahead(&all, told_in)?;
        Ok(true)
    }

    fn tell_ahead(&mut self, all: &[(SpaceId, Timestamp)], told_in: SpaceId) -> Result<(), Error> {
        for (space, from) in all {
            self.put(told_in, space.0.to_be_bytes(), from.0.to_le_bytes())?;
        }
        Ok(())
    }

    /// Gives up the locks of rows that nobody else can want.
    fn let_go(&mut self, writes: &WriteSet) {
        // What was locked before the last time was not for these rows; it may be millions.
        let from = self.looked_through.min(self.held.len());
        if from < self.held.len() {
            let mut gone: Vec<u64> = writes.iter().map(|write| write.hash).collect();
            gone.sort_unstable();
            let since = self.held.split_off(from).into_iter();
            let (mut gone, kept): (Vec<u64>, Vec<u64>) =
                since.partition(|hash| gone.binary_search(hash).is_ok());
            self.held.extend(kept);
            self.shared.locks.release_all(self.id, &mut gone);
        }
        self.looked_through = self.held.len();
    }
}

/// What a row of the space in which it is told says: a space, and a position before everything that went ahead in it.
pub fn ahead_from(key: &[u8], value: &[u8]) -> Option<(SpaceId, Timestamp)> {
    let space = u32::from_be_bytes(key.try_into().ok()?);
    let from = u64::from_le_bytes(value.try_into().ok()?);
    Some((SpaceId(space), Timestamp(from)))
}
