//! Which spaces there are, and schema changes that replace one by an empty one.
//!
//! Relies on: a schema change commits alone, so nobody is let into it.  Promises: whoever reads or writes
//! a space that was replaced after its snapshot is refused, and nobody else; the space is gone from
//! STORE in the end; a crash that loses the change brings the space back.
//! Does not: close a space, which waits for others and so cannot be done on one thread.

use crate::client::Client;
use crate::inside::Interrupted;
use crate::machine::Life;
use crate::model::Writes;
use crate::world::{World, note};
use quintet_base::{Bytes, Durability, Level, SpaceId, Timestamp};
use quintet_dc::DataComponent;
use quintet_tc::{ConflictKind, Error, Txn};
use std::collections::BTreeSet;

/// Where it is told of spaces that were filled before anybody could name them.
const TOLD_IN: SpaceId = SpaceId(6);

/// The first space.
const FIRST_SPACE: u32 = 100;

/// A space that was replaced.
struct Replaced {
    at: u64,
    /// Its place among the spaces.
    place: usize,
    old: SpaceId,
}

/// The spaces in use, and those that were.
pub(crate) struct Spaces {
    now: Vec<SpaceId>,
    replaced: Vec<Replaced>,
    next: u32,
}

impl Spaces {
    pub fn new(count: u64) -> Spaces {
        let next = FIRST_SPACE + count as u32;
        Spaces {
            now: (FIRST_SPACE..next).map(SpaceId).collect(),
            replaced: Vec::new(),
            next,
        }
    }

    pub fn now(&self) -> Vec<SpaceId> {
        self.now.clone()
    }

    /// As a snapshot sees them.
    fn at(&self, snapshot: u64) -> Vec<SpaceId> {
        let mut spaces = self.now();
        let later = self.replaced.iter().rev();
        for change in later.take_while(|change| change.at > snapshot) {
            spaces[change.place] = change.old;
        }
        spaces
    }

    /// When a space was replaced.
    pub fn replaced_at(&self, space: SpaceId) -> Option<u64> {
        let replaced = self.replaced.iter().find(|change| change.old == space);
        replaced.map(|change| change.at)
    }

    /// Takes back what a crash has lost.
    pub fn recover(&mut self, end: u64) {
        while let Some(change) = self.replaced.pop_if(|change| change.at > end) {
            self.now[change.place] = change.old;
        }
    }
}

impl World {
    /// A space as the client's schema has them.
    pub fn some_space(&self, client: &Client) -> SpaceId {
        client.spaces[self.below(client.spaces.len() as u64) as usize]
    }

    /// The client plans with the schema of its snapshot from here on.
    pub fn learn_schema(&self, client: &mut Client) {
        client.spaces = self.spaces.borrow().at(client.snapshot);
        client.txn.use_schema(Timestamp(client.snapshot));
    }

    /// Whether this says, rightly, that a space was replaced after the snapshot.
    pub fn is_replaced(&self, snapshot: u64, error: &Error) -> bool {
        match error {
            Error::Conflict {
                kind: ConflictKind::Schema,
                space,
                winner,
                ..
            } => {
                let at = self.spaces.borrow().replaced_at(*space);
                at == Some(winner.0) && winner.0 > snapshot
            }
            _ => false,
        }
    }

    /// The change that closes a space to the client. Asked before it is used: a change that comes while it
    /// is being used need not be noticed.
    pub fn closed_by(&self, client: &Client, space: SpaceId) -> Option<u64> {
        let at = self.spaces.borrow().replaced_at(space);
        at.filter(|at| *at > client.snapshot)
    }

    /// A client to which the space was closed must have been refused.
    pub fn check_open(&self, client: &Client, space: SpaceId, closed_by: Option<u64>) {
        if let Some(at) = closed_by {
            let (number, snapshot) = (client.number, client.snapshot);
            self.fail(format!(
                "{number} at {snapshot} is let into {space}, replaced at {at}"
            ));
        }
    }

    /// Replaces a space by another one, empty or filled before anybody could name it.
    pub fn replace_space(&self, life: &Life) {
        let alone = |i: &Interrupted| !matches!(i, Interrupted::Commit(..));
        if !self.interrupted.borrow().iter().all(alone) {
            return;
        }
        let place = self.below(self.profile.spaces) as usize;
        let old = self.spaces.borrow().now[place];
        let mut txn = life.tc.begin(Level::ReadCommitted);
        txn.fence(old);
        txn.drop_space(old);
        for space in life.tc.take_abandoned(SpaceId(0)..SpaceId(u32::MAX)) {
            txn.drop_space(space);
        }
        let new = {
            let mut spaces = self.spaces.borrow_mut();
            spaces.next += 1;
            SpaceId(spaces.next - 1)
        };
        self.quiet.set(true);
        let filled = match self.pass_would_wait() || self.one_in(3) {
            true => Ok(()),
            false => self.fill_ahead(life, &mut txn, new),
        };
        let outcome = filled.and_then(|()| txn.commit(Durability::Async));
        self.quiet.set(false);
        match outcome {
            Ok(committed) => {
                let at = committed.timestamp.0;
                note!(self, "{old} is replaced at {at}");
                let mut spaces = self.spaces.borrow_mut();
                spaces.now[place] = new;
                spaces.replaced.push(Replaced { at, place, old });
                drop(spaces);
                if let Err(reason) = self.model.borrow_mut().commit(at, &Writes::new()) {
                    self.fail(reason);
                }
                self.seen.borrow_mut().replaced += 1;
            }
            Err(
                Error::Blocked(_)
                | Error::NoRoom { .. }
                | Error::PostFailed { .. }
                | Error::TooLarge { .. }
                | Error::Log(_),
            ) => {
                note!(self, "{old} is not replaced");
            }
            Err(error) => self.fail(format!("{old} cannot be replaced: {error:?}")),
        }
    }

    /// Fills a space that nobody can name yet, a piece after the other, with rows in the order of their keys.
    fn fill_ahead(&self, life: &Life, txn: &mut Txn, space: SpaceId) -> Result<(), Error> {
        txn.begin_statement();
        txn.begin_to_fill(&[space]);
        let since = txn.mark();
        let keys: BTreeSet<Bytes> = (0..self.below(40)).map(|_| self.some_key()).collect();
        let mut piece = Writes::new();
        for (at, key) in keys.iter().enumerate() {
            let value = self.some_value();
            txn.put(space, key, &value)?;
            piece.insert((space, key.clone()), Some(value));
            if at + 1 < keys.len() && !self.one_in(3) {
                continue;
            }
            let before = life.tc.stats().past_memory;
            if !txn.commit_ahead(&[space], since, TOLD_IN)? {
                self.fail(format!("{space} cannot be filled ahead"));
            }
            let end = life.tc.stats().visible.0;
            note!(
                self,
                "{space} is filled ahead, {} rows at {end}",
                piece.len()
            );
            if let Err(reason) = self.model.borrow_mut().commit(end, &piece) {
                self.fail(reason);
            }
            piece.clear();
            self.seen.borrow_mut().past_memory += life.tc.stats().past_memory - before;
            if self.one_in(6) {
                txn.catch_up()?;
            }
        }
        Ok(())
    }

    /// After everything was posted, STORE has no space that is not used any more.
    pub fn check_forgotten(&self, life: &Life) {
        let spaces = self.spaces.borrow();
        for space in life.store.spaces() {
            if let Some(at) = spaces.replaced_at(space) {
                self.fail(format!(
                    "{space} was replaced at {at}, and STORE still has it"
                ));
            }
        }
    }
}
