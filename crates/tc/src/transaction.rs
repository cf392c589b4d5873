//! A transaction: reads at a snapshot, buffered writes, row locks, savepoints.
//!
//! Relies on: `read` for what a snapshot shows, `locks` for rows, `commit` for the end.  Promises: sees its own
//! writes; until it commits nobody else sees them; dropping it undoes it.
//! Does not: run on two threads at once (it may move between them).
//!
//! ```text
//!   Active ──commit──► Finished (committed, or refused without effects)
//!     │ ▲
//!     │ └─ Blocked: still active, wait and do the same again
//!     └──abort, drop──► Finished
//! ```
//! Here: who it is, its statements and savepoints, what it buffers, its end. `reading` and `claiming` hold the rest.

mod ahead;
mod claiming;
mod reading;

pub use ahead::{Buffered, ahead_from};

use crate::component::Handle;
use crate::error::Error;
use crate::place::Place;
use crate::reads::ReadSet;
use crate::snapshot::Snapshot;
use crate::table::hash;
use crate::writes::WriteSet;
use ahead::{Early, Filled, Going};
use quintet_base::limits::KEY_BYTES_MAX;
use quintet_base::{Bytes, Durability, Level, Lsn, SpaceId, Timestamp, TxnId};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

thread_local! {
    /// Memory of the last transaction of this thread, for the next one.
    static SPARE: Cell<Option<(WriteSet, ReadSet)>> = const { Cell::new(None) };
}

/// A point to roll back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    undo: usize,
    fenced: usize,
    dropped: usize,
    attached: usize,
    ahead: usize,
    went_ahead: u32,
}

/// What a statement reads at, kept while others run in its midst. See [`Txn::keep_snapshot`].
#[derive(Clone)]
pub struct KeptSnapshot(pub(crate) Arc<Snapshot>);

impl KeptSnapshot {
    /// What it reads at.
    pub fn timestamp(&self) -> Timestamp {
        self.0.timestamp
    }
}

/// Something of the user's, of which a transaction knows nothing.
pub type Attached = Arc<dyn Any + Send + Sync>;

/// What a transaction has lost by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lost {
    /// In which space.
    pub space: SpaceId,
    /// Which row's.
    pub key: Bytes,
    /// Who has committed it first; `None`: nobody, waiting for it would have closed a ring.
    pub winner: Option<Timestamp>,
}

/// The answer to a commit.
#[derive(Debug)]
pub struct Committed {
    /// Place in the order of commits; for a transaction that wrote nothing, its snapshot.
    pub timestamp: Timestamp,
    /// The log must be durable up to here before the client is told ([`crate::Tc::when_durable`]), as
    /// the durability asked for demands; `None`: it may be told at once.
    pub durable_at: Option<Lsn>,
}

/// A running transaction. See the module's picture.
pub struct Txn {
    pub(crate) shared: Arc<Handle>,
    pub(crate) id: TxnId,
    pub(crate) level: Level,
    pub(crate) snapshot: Arc<Snapshot>,
    /// A statement has used the present snapshot; the next one at READ COMMITTED takes a new one.
    snapshot_used: bool,
    /// It goes by the schema of its snapshot: what was fenced since was not yet.
    is_past: bool,
    pub(crate) writes: WriteSet,
    /// Rows are written without being locked first.
    optimistic: bool,
    /// Who reads a row by its key is to lock it first. See [`Txn::lock_reads`].
    locks_reads: bool,
    /// Its commit is refused where another's would wait. See [`crate::batch`].
    pub(crate) never_waits: bool,
    /// See [`Txn::commit_quietly`].
    pub(crate) quiet: bool,
    /// Hashes of the rows whose locks it holds or has queued up for; each is owed a release.
    held: Vec<u64>,
    /// The one that was taken last, if it was not held before; see [`Txn::leave_alone`].
    taken: Option<u64>,
    /// So many of them are not for rows that will go ahead.
    looked_through: usize,
    /// A row each of those whose end it waits for, before it changes what they go by.
    writers: Option<Vec<(SpaceId, Bytes)>>,
    /// Spaces whose schema stays as it is until this transaction ends ([`Txn::lock_for_writing`]).
    steady: Vec<SpaceId>,
    /// Spaces that it changes, and keeps others from ([`Txn::lock_for_change`]), or waits to.
    changing: Vec<SpaceId>,
    /// It has waited for a space that somebody was changing, and not looked since.
    has_waited: bool,
    /// The row that it queued up for last.
    awaited: Option<(SpaceId, Bytes)>,
    /// A lock was refused because waiting for it would have closed a ring.
    deadlocked: bool,
    /// Set where a conflict is met; see [`Txn::take_lost`].
    lost: RefCell<Option<Lost>>,
    pub(crate) reads: RefCell<ReadSet>,
    /// What is read now is not remembered: something else keeps it true ([`Txn::look_aside`]).
    pub(crate) aside: bool,
    /// Newest commit that a read returned; decides what a reader's answer waits for.
    pub(crate) newest_read: Cell<Timestamp>,
    read_count: Cell<u32>,
    /// Timestamp of the schema that the present statement was planned with.
    schema: Timestamp,
    pub(crate) fenced: Vec<SpaceId>,
    pub(crate) dropped: Vec<SpaceId>,
    /// What its user wants to come back to before it commits; undone with what was written.
    pub(crate) attached: Vec<Attached>,
    /// Spaces that nobody else may commit to until this transaction ends.
    closed: Vec<SpaceId>,
    /// Spaces in which some of it has been committed already ([`Txn::commit_ahead`]), after these commits.
    ahead: Vec<(SpaceId, Timestamp)>,
    /// How often something was.
    went_ahead: u32,
    /// Bytes that were.
    ahead_bytes: usize,
    /// The memory of what went ahead last.
    ahead_memory: Option<Box<WriteSet>>,
    /// Spaces that it fills, and that were empty before.
    filled: Vec<Filled>,
    /// Spaces whose rows this commit does not put into memory.
    pub(crate) past: Vec<SpaceId>,
    /// Of `ahead`, those with rows that neither memory nor STORE has, as far as this transaction knows.
    unposted: Vec<SpaceId>,
    /// The last commit that did not put them there.
    past_upto: Timestamp,
    /// How much everybody had done by then.
    activity: u64,
    /// Where the present statement commits ahead.
    going: Option<Going>,
    early: Early,
    spoilt: bool,
    /// What those spaces are read at, if the present statement reads at what was there before.
    beyond: Option<Arc<Snapshot>>,
    /// What the parts of one statement read their transaction's own writes at.
    state: Option<usize>,
    pub(crate) finished: bool,
}

impl Txn {
    pub(crate) fn new(shared: Arc<Handle>, level: Level) -> Txn {
        let snapshot = Snapshot::take(&shared);
        let (writes, reads) = SPARE.take().unwrap_or_default();
        Txn {
            shared,
            id: snapshot.seat.next_txn(),
            level,
            snapshot: Arc::new(snapshot),
            snapshot_used: false,
            is_past: false,
            writes,
            optimistic: false,
            never_waits: false,
            quiet: false,
            locks_reads: false,
            held: Vec::new(),
            taken: None,
            looked_through: 0,
            writers: None,
            steady: Vec::new(),
            changing: Vec::new(),
            has_waited: false,
            awaited: None,
            deadlocked: false,
            lost: RefCell::default(),
            reads: RefCell::new(reads),
            aside: false,
            newest_read: Cell::new(Timestamp::ZERO),
            read_count: Cell::new(0),
            schema: Timestamp::MAX,
            fenced: Vec::new(),
            dropped: Vec::new(),
            attached: Vec::new(),
            closed: Vec::new(),
            ahead: Vec::new(),
            went_ahead: 0,
            ahead_bytes: 0,
            ahead_memory: None,
            filled: Vec::new(),
            past: Vec::new(),
            unposted: Vec::new(),
            past_upto: Timestamp::ZERO,
            activity: 0,
            going: None,
            early: Early::No,
            spoilt: false,
            beyond: None,
            state: None,
            finished: false,
        }
    }

    /// One that reads at what was kept, by the schema of that moment.
    pub(crate) fn at(shared: Arc<Handle>, kept: &KeptSnapshot) -> Txn {
        let mut txn = Txn::new(shared, Level::Snapshot);
        txn.snapshot = Arc::clone(&kept.0);
        txn.snapshot_used = true;
        txn.is_past = true;
        txn
    }

    /// Its number.
    pub fn id(&self) -> TxnId {
        self.id
    }

    /// Its isolation level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// What it reads at now.
    pub fn snapshot(&self) -> Timestamp {
        self.snapshot.timestamp
    }

    /// True if nothing has been read, written or locked in it.
    pub fn is_fresh(&self) -> bool {
        !self.snapshot_used && self.held.is_empty() && !self.has_writes()
    }

    /// What it has lost by since this was last asked, if one row is to blame: what errors do not say any more when
    /// they have come to the client.
    pub fn take_lost(&self) -> Option<Lost> {
        self.lost.take()
    }

    pub(crate) fn note_lost(&self, error: &Error) {
        if let Error::Conflict {
            space,
            key: Some(key),
            winner,
            ..
        } = error
        {
            self.lost.replace(Some(Lost {
                space: *space,
                key: key.clone(),
                winner: Some(*winner),
            }));
        }
    }

    /// The age of the schema that it goes by.
    pub fn schema(&self) -> Timestamp {
        self.schema
    }

    /// True if it has buffered a write (or a schema change).
    pub fn has_writes(&self) -> bool {
        !self.writes.is_empty() || !self.fenced.is_empty() || !self.dropped.is_empty()
    }

    /// Begins a statement: a new snapshot at READ COMMITTED, and a mark to undo the statement to.
    pub fn begin_statement(&mut self) -> Mark {
        self.begin_point();
        self.mark()
    }

    /// Begins a statement that will have nothing to undo.
    pub fn begin_point(&mut self) {
        if self.level == Level::ReadCommitted && self.snapshot_used {
            self.renew_snapshot();
        }
        self.snapshot_used = true;
    }

    /// Reads at now from here on. A cursor that is open keeps what it has.
    fn renew_snapshot(&mut self) {
        self.beyond = None;
        match Arc::get_mut(&mut self.snapshot) {
            Some(mine) => mine.renew(&self.shared),
            None => self.snapshot = Arc::new(Snapshot::take(&self.shared)),
        }
    }

    /// What is read at now, for a statement in whose midst others begin: it must go on at what it
    /// began with, or a row that it has read could change unseen before it is locked.
    pub fn keep_snapshot(&self) -> KeptSnapshot {
        KeptSnapshot(Arc::clone(&self.snapshot))
    }

    /// Reads at what was kept from here on.
    pub fn return_to_snapshot(&mut self, kept: KeptSnapshot) {
        let left = std::mem::replace(&mut self.snapshot, kept.0);
        if !self.ahead.is_empty() && left.timestamp > self.snapshot.timestamp {
            self.beyond.get_or_insert(left);
        }
    }

    /// A point to roll back to.
    pub fn mark(&self) -> Mark {
        Mark {
            undo: self.writes.mark(),
            fenced: self.fenced.len(),
            dropped: self.dropped.len(),
            attached: self.attached.len(),
            ahead: self.ahead.len(),
            went_ahead: self.went_ahead,
        }
    }

    /// Undoes every write since the mark. Locks taken since then are kept, so that running the
    /// statement again finds its rows locked already.
    pub fn rollback_to(&mut self, mark: Mark) {
        self.fenced.truncate(mark.fenced);
        self.dropped.truncate(mark.dropped);
        self.attached.truncate(mark.attached);
        if self.ahead.len() > mark.ahead {
            self.shared.abandon(self.ahead.drain(mark.ahead..));
            let left = &self.ahead;
            self.unposted
                .retain(|space| left.iter().any(|(known, _)| known == space));
        }
        self.writes.rollback_to(mark.undo);
    }

    /// The parts of one statement follow: each can read what has been written as it is now
    /// ([`Txn::show_state`]).
    pub fn begin_state(&mut self) {
        self.state = Some(self.writes.mark());
    }

    /// They are over.
    pub fn end_state(&mut self) {
        if self.state.take().is_some() {
            self.writes.show_present();
        }
    }

    /// Whether a part of a statement is run.
    pub fn has_state(&self) -> bool {
        self.state.is_some()
    }

    /// Of its own writes it reads the state's from here on, and may write nothing, until
    /// [`Txn::show_present`] or [`Txn::rollback_to`]. Nothing happens where no state has begun.
    pub fn show_state(&mut self) {
        if let Some(mark) = self.state {
            self.writes.show_past(mark);
        }
    }

    /// It reads what it has written last.
    pub fn show_present(&mut self) {
        self.writes.show_present();
    }

    /// While a state is shown: whether the transaction has written the row after it.
    pub fn is_ahead(&self, space: SpaceId, key: &[u8]) -> bool {
        self.state.is_some() && self.writes.is_ahead(hash(space, key), space, key)
    }

    /// Something else begins in the midst of a part: it sees and writes the present. What
    /// [`Txn::return_to_state`] wants to know.
    pub fn leave_state(&mut self) -> Option<usize> {
        self.writes.show_present();
        self.state.take()
    }

    /// The part goes on reading where it was.
    pub fn return_to_state(&mut self, left: Option<usize>) {
        self.state = left;
        self.show_state();
    }

    /// What follows was planned with a schema of this age. Spaces that were fenced after it can no
    /// longer be read, and a commit that wrote one is refused.
    pub fn use_schema(&mut self, schema: Timestamp) {
        self.schema = schema;
    }

    /// Buffers a row. Takes no lock: without [`Txn::lock`] before, the commit does it.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Key`].
    pub fn put(
        &mut self,
        space: SpaceId,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<(), Error> {
        self.write(Place::new(space, key.as_ref()), Some(value.as_ref()))
    }

    /// [`Txn::put`] for who has the place.
    ///
    /// # Errors
    /// As there.
    pub fn put_at(&mut self, place: Place<'_>, value: &[u8]) -> Result<(), Error> {
        self.write(place, Some(value))
    }

    /// Buffers a removal.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Key`].
    pub fn delete(&mut self, space: SpaceId, key: impl AsRef<[u8]>) -> Result<(), Error> {
        self.write(Place::new(space, key.as_ref()), None)
    }

    /// [`Txn::delete`] for who has the place.
    ///
    /// # Errors
    /// As there.
    pub fn delete_at(&mut self, place: Place<'_>) -> Result<(), Error> {
        self.write(place, None)
    }

    fn write(&mut self, place: Place<'_>, value: Option<&[u8]>) -> Result<(), Error> {
        let Place { hash, space, key } = place;
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return Err(Error::Key { bytes: key.len() });
        }
        let added = value.map_or(0, <[u8]>::len);
        let limit = self.shared.config.transaction_bytes_max;
        if self.writes.value_bytes() + added > limit {
            return Err(Error::TooLarge { limit });
        }
        if !self.filled.is_empty() {
            self.note_filled(space, key);
        }
        self.writes.write((hash, space, key), self.schema, value);
        Ok(())
    }

    /// From this commit on, transactions whose schema is older may not write to the space, and
    /// snapshots older than it may not read it.
    pub fn fence(&mut self, space: SpaceId) {
        self.fenced.push(space);
    }

    /// The space is not used after this commit; its rows go when nobody can read them any more.
    pub fn drop_space(&mut self, space: SpaceId) {
        self.dropped.push(space);
    }

    /// Whether its commit leaves the log's writer asleep: for whoever asks [`quintet_wal::Wal::when_durable_for`] as soon as it has committed, and
    /// is alone ([`quintet_wal::Wal::is_alone`]).
    pub fn commit_quietly(&mut self, quietly: bool) {
        self.quiet = quietly;
    }

    /// Commits. After [`Error::Blocked`] the transaction is as before: wait and commit again. After
    /// any other error it is over, without effects.
    ///
    /// # Errors
    /// [`Error::Blocked`], [`Error::Conflict`], [`Error::Deadlock`], [`Error::SnapshotTooOld`],
    /// [`Error::Log`].
    pub fn commit(&mut self, durability: Durability) -> Result<Committed, Error> {
        assert!(!self.finished, "a finished transaction cannot commit");
        assert!(!self.spoilt, "a part of a statement cannot be committed");
        let posted = self.wait_for_store();
        let result = posted.and_then(|()| crate::commit::commit(self, durability));
        let result = result.inspect_err(|error| self.note_lost(error));
        if result.is_ok() {
            self.ahead.clear();
        }
        if !matches!(result, Err(Error::Blocked(_))) {
            self.finish();
        }
        result
    }

    /// Commits, as [`Txn::commit`]; but after [`Error::Conflict`] and [`Error::SnapshotTooOld`] the
    /// transaction is not over: it has kept its locks, and waits for [`Txn::restart`], or to be dropped.
    ///
    /// # Errors
    /// As [`Txn::commit`].
    pub fn commit_or_keep(&mut self, durability: Durability) -> Result<Committed, Error> {
        assert!(!self.finished, "a finished transaction cannot commit");
        assert!(!self.spoilt, "a part of a statement cannot be committed");
        let posted = self.wait_for_store();
        let result = posted.and_then(|()| crate::commit::commit(self, durability));
        let result = result.inspect_err(|error| self.note_lost(error));
        if result.is_ok() {
            self.ahead.clear();
        }
        let keeps = matches!(
            result,
            Err(Error::Blocked(_) | Error::Conflict { .. } | Error::SnapshotTooOld)
        );
        if !keeps {
            self.finish();
        }
        result
    }

    /// Forgets all that was read and written and reads at now. Locks are kept: what the transaction has
    /// lost by cannot change again before it has been run once more.
    pub fn restart(&mut self) {
        assert!(!self.finished, "a finished transaction cannot begin again");
        for space in self.closed.drain(..) {
            self.shared.open_space(space);
        }
        self.shared.abandon(self.ahead.drain(..));
        self.unposted.clear();
        self.ahead_bytes = 0;
        self.filled.clear();
        self.going = None;
        self.early = Early::No;
        self.spoilt = false;
        self.writers = None;
        self.writes.clear();
        self.state = None;
        self.optimistic = false;
        self.fenced.clear();
        self.dropped.clear();
        self.attached.clear();
        self.aside = false;
        self.reads.get_mut().clear();
        self.newest_read.set(Timestamp::ZERO);
        self.read_count.set(0);
        self.renew_snapshot();
        self.snapshot_used = false;
    }

    /// Ends without effects. Dropping does the same.
    pub fn abort(mut self) {
        self.finish();
    }

    pub(crate) fn finish(&mut self) {
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        // Before others may have the turn to change what is there.
        self.shared.abandon(self.ahead.drain(..));
        for space in self.closed.drain(..) {
            self.shared.open_space(space);
        }
        if self.awaited.is_some() {
            self.shared.locks.stop_waiting(self.id);
        }
        self.shared.locks.release_all(self.id, &mut self.held);
        self.writes.clear();
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        self.finish();
        let reads = self.reads.get_mut();
        if self.writes.is_small() && reads.is_small() {
            reads.clear();
            // A thread that is ending keeps nothing.
            let spare = (std::mem::take(&mut self.writes), std::mem::take(reads));
            let _ = SPARE.try_with(|place| place.set(Some(spare)));
        }
    }
}
