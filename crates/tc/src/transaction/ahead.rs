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

use super::Txn;
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

    /// Whether what it has written may go ahead: all of it is in these spaces, so that there is nothing to come back to before it,
    /// and its snapshot may be a later one from now on, since nothing that it has read depends on the old one.
    pub fn may_commit_ahead(&self, spaces: &[SpaceId], told_in: SpaceId) -> bool {
        let is_one = |space: SpaceId| space == told_in || spaces.contains(&space);
        self.writes.spaces().all(|(space, _)| is_one(space))
            && match self.level {
                Level::ReadCommitted => true,
                Level::Serializable => self.reads.borrow().is_empty(),
                Level::Snapshot => !self.snapshot_used,
            }
    }

    /// Nothing that is read until [`Txn::remember`] is validated: something else keeps it true.
    pub fn forget(&mut self) {
        self.aside = true;
    }

    /// See [`Txn::forget`].
    pub fn remember(&mut self) {
        self.aside = false;
    }

    /// Commits what it has written, which is all in these spaces, now and for good, and reads at a later snapshot from here
    /// on. The caller sees to it that nobody else can name them before this transaction has committed, and
    /// that it may ([`Txn::may_commit_ahead`]). Waits for the log's room. `told_in`: where each such commit, and that of the
    /// transaction, has a row for each space ([`ahead_from`]), for who reads the log.
    ///
    /// # Errors
    /// Those of a commit; nothing has been committed then.
    pub fn commit_ahead(&mut self, spaces: &[SpaceId], told_in: SpaceId) -> Result<(), Error> {
        debug_assert!(self.may_commit_ahead(spaces, told_in));
        debug_assert!(spaces.iter().all(|space| !self.closed.contains(space)));
        let from = self.snapshot.timestamp;
        for space in spaces {
            if !self.ahead.iter().any(|(known, _)| known == space) {
                self.ahead.push((*space, from));
            }
        }
        self.tell_ahead(told_in)?;
        let mut ahead = Txn::new(Arc::clone(&self.shared), Level::ReadCommitted);
        ahead.writes = std::mem::take(&mut self.writes);
        // Whoever has a mark has one of when nothing was written.
        self.writes.mark();
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
        self.tell_ahead(told_in)
    }

    fn tell_ahead(&mut self, told_in: SpaceId) -> Result<(), Error> {
        for (space, from) in self.ahead.clone() {
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
