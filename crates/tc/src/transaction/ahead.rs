//! What a transaction commits ahead of itself: rows in spaces that nobody else can name yet, too many to be kept until its commit.
//!
//! Relies on: `writes`, `commit`.  Promises: what went ahead is committed like anything else, so it is in the log, in STORE and in
//! copies, and can leave memory; the transaction sees it; if it is undone or the transaction does not commit, its spaces are
//! told to whoever asks ([`crate::Tc::take_abandoned`]).  Does not: know who can name a space, or drop it.
//!
//! ```text
//!   fresh space   ── put … put ──┬─ commit ── put … put ──┬─ commit        unreachable
//!                                └ ahead                  └ ahead
//!   the rest      ───────────────────────────────────────────── commit     names the space
//! ```

use super::{Mark, Txn};
use crate::error::Error;
use crate::writes::WriteSet;
use quintet_base::{Durability, Level, SpaceId, Timestamp};
use std::sync::Arc;

/// Rows that are committed ahead together take about so much memory, unless one transaction may not even have that.
const AHEAD_BYTES: usize = 32 * 1024 * 1024;

impl Txn {
    /// Whether so much is buffered that what can go ahead should.
    pub fn is_heavy(&self) -> bool {
        let most = self.shared.config.transaction_bytes_max / 2;
        self.writes.buffered_bytes() > most.min(AHEAD_BYTES)
    }

    /// Nothing that is read until [`Txn::remember`] is validated: something else keeps it true.
    pub fn forget(&mut self) {
        self.aside = true;
    }

    /// See [`Txn::forget`].
    pub fn remember(&mut self) {
        self.aside = false;
    }

    /// Commits what it has written since a mark, now and for good, and reads at a later snapshot from here on. False, and nothing has
    /// happened: that cannot be, since not all of it is in these spaces, or what it has read depends on its snapshot; then it
    /// will not be later in this statement either. The caller sees to it that nobody else can name the spaces before this
    /// transaction has committed. Waits for the log's room. `told_in`: where each such commit, and that of the
    /// transaction, has a row for each space ([`ahead_from`]), for who reads the log.
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
        if !may_move {
            return Ok(false);
        }
        let is_one = |space: SpaceId| spaces.contains(&space);
        let Some(writes) = self.writes.take_since(since.undo, is_one, told_in) else {
            return Ok(false);
        };
        let from = self.snapshot.timestamp;
        for space in spaces {
            if !self.ahead.iter().any(|(known, _)| known == space) {
                self.ahead.push((*space, from));
            }
        }
        let mut ahead = Txn::new(Arc::clone(&self.shared), Level::ReadCommitted);
        ahead.writes = writes;
        ahead.tell_ahead(&self.ahead, told_in)?;
        self.let_go(&ahead.writes);
        loop {
            match ahead.commit(Durability::Async) {
                Err(Error::Blocked(wait)) => wait.wait(),
                done => {
                    done?;
                    break;
                }
            }
        }
        self.renew_snapshot();
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
        if self.held.is_empty() {
            return;
        }
        let mut gone: Vec<u64> = writes.iter().map(|write| write.hash).collect();
        gone.sort_unstable();
        self.held.retain(|hash| gone.binary_search(hash).is_err());
        self.shared.locks.release_all(self.id, &mut gone);
    }
}

/// What a row of the space in which it is told says: a space, and a position before everything that went ahead in it.
pub fn ahead_from(key: &[u8], value: &[u8]) -> Option<(SpaceId, Timestamp)> {
    let space = u32::from_be_bytes(key.try_into().ok()?);
    let from = u64::from_le_bytes(value.try_into().ok()?);
    Some((SpaceId(space), Timestamp(from)))
}
