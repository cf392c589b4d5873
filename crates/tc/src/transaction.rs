//! A transaction: reads at a snapshot, buffered writes, row locks, savepoints.
//!
//! Relies on: `view` for reads, `locks` for rows, `commit` for the end.  Promises: sees its own
//! writes; until it commits nobody else sees them; dropping it undoes it.
//! Does not: run on two threads at once (it may move between them).
//!
//! ```text
//!   Active ──commit──► Finished (committed, or refused without effects)
//!     │ ▲
//!     │ └─ Blocked: still active, wait and do the same again
//!     └──abort, drop──► Finished
//! ```

use crate::component::Handle;
use crate::error::{ConflictKind, Error};
use crate::locks::{LockKey, Strength, WaitPolicy};
use crate::read::{Progress, Row, as_slice, is_empty};
use crate::reads::{ReadRange, ReadSet};
use crate::scan::Scan;
use crate::snapshot::Snapshot;
use crate::table::hash;
use crate::writes::WriteSet;
use quintet_base::limits::KEY_BYTES_MAX;
use quintet_base::row::Glance;
use quintet_base::{Bytes, Durability, Level, Lsn, SpaceId, Timestamp, TxnId};
use quintet_dc::{Direction, KeyRange};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ops::Bound;
use std::sync::Arc;

/// A record is marked as in use by one read of a transaction in so many.
const TOUCH_EVERY: u32 = 8;

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

/// Where a row is: its space and its key, with what looking for it takes, computed once for all that is done there.
#[derive(Clone, Copy, Debug)]
pub struct Place<'k> {
    hash: u64,
    space: SpaceId,
    key: &'k [u8],
}

impl<'k> Place<'k> {
    /// The place of a key in a space.
    pub fn new(space: SpaceId, key: &'k [u8]) -> Place<'k> {
        Place {
            hash: hash(space, key),
            space,
            key,
        }
    }
}

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
    /// Locks held or queued for; each is owed a release.
    held: Vec<LockKey>,
    waited: bool,
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
            locks_reads: false,
            held: Vec::new(),
            waited: false,
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

    /// True if it holds row locks, or waits for one.
    pub fn has_locks(&self) -> bool {
        !self.held.is_empty()
    }

    /// True if a lock was refused because others wait for those it holds: to run it again it must let go.
    pub fn is_deadlocked(&self) -> bool {
        self.deadlocked
    }

    /// The row that it queued up for last, for who has just been told to wait.
    pub fn awaited(&self) -> Option<(SpaceId, &Bytes)> {
        let last = self.held.last().filter(|_| self.waited);
        last.map(|(space, key)| (*space, key))
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
        self.snapshot = kept.0;
    }

    /// A point to roll back to.
    pub fn mark(&self) -> Mark {
        Mark {
            undo: self.writes.mark(),
            fenced: self.fenced.len(),
            dropped: self.dropped.len(),
            attached: self.attached.len(),
        }
    }

    /// Undoes every write since the mark. Locks taken since then are kept, so that running the
    /// statement again finds its rows locked already.
    pub fn rollback_to(&mut self, mark: Mark) {
        self.fenced.truncate(mark.fenced);
        self.dropped.truncate(mark.dropped);
        self.attached.truncate(mark.attached);
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

    /// The row at a key, own writes first.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::Conflict`] if the space was replaced after this snapshot.
    pub fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.read(space, key, |row| row.map(Bytes::copy_from_slice))
    }

    /// Shows the row at a key to `see`, in place: no copy is made. Own writes first.
    ///
    /// # Errors
    /// As [`Txn::get`].
    pub fn read<R>(
        &self,
        space: SpaceId,
        key: &[u8],
        see: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        self.read_for((space, key), None, see)
    }

    /// As [`Txn::read`], for who looks at some columns of the row and at whether it is there. At
    /// SERIALIZABLE, another's commit that leaves those columns as they are does no harm.
    ///
    /// # Errors
    /// As [`Txn::get`].
    pub fn read_columns<R>(
        &self,
        place: (SpaceId, &[u8]),
        glance: &Arc<Glance>,
        see: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        self.read_for(place, Some(glance), see)
    }

    fn read_for<R>(
        &self,
        (space, key): (SpaceId, &[u8]),
        glance: Option<&Arc<Glance>>,
        see: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        let hash = hash(space, key);
        if let Some(own) = self.writes.get(hash, space, key) {
            return Ok(see(own));
        }
        self.check_fence(space)?;
        if self.remembers() {
            self.reads.borrow_mut().note(hash, space, key, glance);
        }
        self.read_stored((hash, space, key), see)
    }

    /// Whether reads are validated by the commit.
    pub(crate) fn remembers(&self) -> bool {
        self.level == Level::Serializable && !self.aside
    }

    pub(crate) fn read_stored<R>(
        &self,
        key: (u64, SpaceId, &[u8]),
        see: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        let touch = self.touches();
        let snapshot = self.snapshot.timestamp;
        self.shared.read(snapshot, key, touch, |row, timestamp| {
            self.note_version(timestamp);
            see(row)
        })
    }

    /// Claims a row that is about to be written: locks it, unless the transaction is optimistic, whose commit
    /// will find out whether the row has changed since the snapshot.
    ///
    /// # Errors
    /// As [`Txn::lock`].
    pub fn claim(&mut self, space: SpaceId, key: &Bytes) -> Result<(), Error> {
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
        Place { hash, space, key }: Place<'_>,
        see: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        if let Some(own) = self.writes.get(hash, space, key) {
            return Ok(see(own));
        }
        self.check_fence(space)?;
        if !self.is_optimistic() {
            let row = (space, Bytes::copy_from_slice(key));
            self.take_lock(row, Strength::Exclusive, WaitPolicy::Queue)?;
            self.check_unchanged_for_lock((hash, space, key))?;
        }
        // A write that may be taken back leaves a read that nobody would validate.
        if self.level == Level::Serializable && self.writes.is_marked() {
            self.reads.borrow_mut().note(hash, space, key, None);
        }
        self.read_stored((hash, space, key), see)
    }

    /// The row at a key has been read.
    pub fn note_read(&self, space: SpaceId, key: &[u8]) {
        if self.level == Level::Serializable {
            let hash = hash(space, key);
            self.reads.borrow_mut().note(hash, space, key, None);
        }
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

    /// Shows the rows of many keys to `see`, with their places in `keys`, in that order. Faster
    /// than one by one: records that are not in the processor's cache are fetched side by side.
    ///
    /// # Errors
    /// As [`Txn::get`].
    pub fn read_many(
        &self,
        keys: &[(SpaceId, &[u8])],
        mut see: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Error> {
        let mut checked = None;
        for (space, key) in keys {
            if checked != Some(*space) {
                self.check_fence(*space)?;
                checked = Some(*space);
            }
            if self.remembers() && self.own(*space, key).is_none() {
                let hash = hash(*space, key);
                self.reads.borrow_mut().note(hash, *space, key, None);
            }
        }
        let snapshot = self.snapshot.timestamp;
        self.shared.read_many(snapshot, keys, |at, row, timestamp| {
            self.note_version(timestamp);
            let (space, key) = keys[at];
            see(at, self.own(space, key).unwrap_or(row));
        })
    }

    /// Says that these keys will be read soon, so that what is not in memory is fetched side by side. A
    /// hint: nothing is read by it, and nothing refused.
    pub fn announce(&self, keys: &[(SpaceId, &[u8])]) {
        self.shared.announce(keys);
    }

    /// This place will be looked at in a moment: a hint, as [`Txn::announce`] is for many.
    pub fn expect(&self, Place { hash, .. }: Place<'_>) {
        self.shared.table.prefetch(hash, &quintet_index::pin());
    }

    /// What this transaction has written at a key (`Some(None)`: removed it).
    fn own(&self, space: SpaceId, key: &[u8]) -> Option<Option<&[u8]>> {
        if self.writes.is_empty() {
            return None;
        }
        self.writes.get(hash(space, key), space, key)
    }

    pub(crate) fn note_version(&self, timestamp: Timestamp) {
        if timestamp > self.newest_read.get() {
            self.newest_read.set(timestamp);
        }
    }

    /// One read in a few leaves word that the record is in use, so that readers rarely write.
    fn touches(&self) -> bool {
        let count = self.read_count.get().wrapping_add(1);
        self.read_count.set(count);
        count % TOUCH_EVERY == 1
    }

    /// Rows of a range in key order, own writes included.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::Conflict`] if the space was replaced after this snapshot.
    pub fn scan(
        &self,
        space: SpaceId,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Scan, Error> {
        self.check_fence(space)?;
        self.note_version(self.snapshot.timestamp);
        let footprint = self.remembers().then(|| {
            // Nothing read yet: a range that holds no key.
            let nothing = || Bound::Excluded(Bytes::new());
            let ranges = &mut self.reads.borrow_mut().ranges;
            ranges.push(ReadRange {
                space,
                lower: nothing(),
                upper: nothing(),
            });
            ranges.len() - 1
        });
        Scan::new(
            Arc::clone(&self.shared),
            Arc::clone(&self.snapshot),
            space,
            range,
            direction,
            footprint,
        )
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
        key: &Bytes,
        strength: Strength,
        policy: WaitPolicy,
    ) -> Result<(), Error> {
        self.take_lock((space, key.clone()), strength, policy)?;
        self.check_unchanged_for_lock((hash(space, key), space, key))
    }

    fn check_unchanged_for_lock(&self, key: (u64, SpaceId, &[u8])) -> Result<(), Error> {
        match (self.check_unchanged(key), self.level) {
            (Err(Error::Conflict { .. } | Error::SnapshotTooOld), Level::ReadCommitted) => {
                Err(Error::Stale)
            }
            (result, _) => result.inspect_err(|error| self.note_lost(error)),
        }
    }

    pub(crate) fn take_lock(
        &mut self,
        key: LockKey,
        strength: Strength,
        policy: WaitPolicy,
    ) -> Result<(), Error> {
        match self.shared.locks.acquire(self.id, &key, strength, policy) {
            Ok(true) => self.held.push(key),
            Ok(false) => {}
            Err(Error::Blocked(wait)) => {
                // In the queue from now on; asked again it may be there twice, which release allows.
                self.held.push(key);
                self.waited = true;
                return Err(Error::Blocked(wait));
            }
            Err(error) => {
                if matches!(error, Error::Deadlock) {
                    self.deadlocked = true;
                    let (space, key) = key;
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
    fn check_unchanged(&self, (hash, space, key): (u64, SpaceId, &[u8])) -> Result<(), Error> {
        let snapshot = self.snapshot.timestamp;
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
        self.writes.write((hash, space, key), self.schema, value);
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
        self.take_lock(space_lock(space), Strength::Exclusive, WaitPolicy::Queue)?;
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
            winner => Err(Error::Conflict {
                kind: ConflictKind::Schema,
                space,
                key: None,
                winner,
            }),
        }
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

    /// Commits. After [`Error::Blocked`] the transaction is as before: wait and commit again. After
    /// any other error it is over, without effects.
    ///
    /// # Errors
    /// [`Error::Blocked`], [`Error::Conflict`], [`Error::Deadlock`], [`Error::SnapshotTooOld`],
    /// [`Error::Log`].
    pub fn commit(&mut self, durability: Durability) -> Result<Committed, Error> {
        assert!(!self.finished, "a finished transaction cannot commit");
        let result = crate::commit::commit(self, durability);
        let result = result.inspect_err(|error| self.note_lost(error));
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
        let result = crate::commit::commit(self, durability);
        let result = result.inspect_err(|error| self.note_lost(error));
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

    /// Queues for a row, so that it stays as the next attempt finds it.
    ///
    /// # Errors
    /// [`Error::Blocked`] (call again when the wait is over), [`Error::Deadlock`],
    /// [`Error::TooManyWaiters`].
    pub fn lock_only(&mut self, space: SpaceId, key: &Bytes) -> Result<(), Error> {
        self.take_lock((space, key.clone()), Strength::Exclusive, WaitPolicy::Queue)
    }

    /// Ends without effects. Dropping does the same.
    pub fn abort(mut self) {
        self.finish();
    }

    pub(crate) fn finish(&mut self) {
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        for space in self.closed.drain(..) {
            self.shared.open_space(space);
        }
        if self.waited {
            self.shared.locks.stop_waiting(self.id);
        }
        for key in self.held.drain(..) {
            self.shared.locks.release(self.id, &key);
        }
        self.writes.clear();
    }

    pub(crate) fn check_fence(&self, space: SpaceId) -> Result<(), Error> {
        if self.is_past {
            return Ok(());
        }
        match self
            .shared
            .fence_above(space, self.snapshot.timestamp.min(self.schema))
        {
            None => Ok(()),
            Some(winner) => Err(Error::Conflict {
                kind: ConflictKind::Schema,
                space,
                key: None,
                winner,
            }),
        }
    }

    /// A scan has come as far as `key`.
    pub(crate) fn note_range_key(
        &self,
        slot: usize,
        begins: Option<&KeyRange>,
        direction: Direction,
        key: &Bytes,
    ) {
        let range = &mut self.reads.borrow_mut().ranges[slot];
        let end = Bound::Included(key.clone());
        match direction {
            Direction::Forward => range.upper = end,
            Direction::Backward => range.lower = end,
        }
        match (begins, direction) {
            (Some(whole), Direction::Forward) => range.lower = whole.lower.clone(),
            (Some(whole), Direction::Backward) => range.upper = whole.upper.clone(),
            (None, _) => {}
        }
    }

    /// A scan has come to its end.
    pub(crate) fn note_range_end(&self, slot: usize, whole: &KeyRange) {
        let range = &mut self.reads.borrow_mut().ranges[slot];
        range.lower = whole.lower.clone();
        range.upper = whole.upper.clone();
    }

    /// Own writes of a range, at most `limit`.
    pub(crate) fn own_chunk(
        &self,
        space: SpaceId,
        lower: &Bound<Bytes>,
        upper: &Bound<Bytes>,
        direction: Direction,
        limit: usize,
        into: &mut Vec<Row>,
    ) -> Progress {
        if is_empty(lower, upper) {
            return Progress::End;
        }
        let backward = direction == Direction::Backward;
        let range = (as_slice(lower), as_slice(upper));
        self.writes.range(space, range, backward, |write| {
            if into.len() < limit {
                let value = write.value.map(Bytes::copy_from_slice);
                into.push((Bytes::copy_from_slice(write.key), value));
            }
            into.len() < limit
        });
        match into.last() {
            Some((last, _)) if into.len() == limit => Progress::At(last.clone()),
            _ => Progress::End,
        }
    }
}

/// Stands for a whole space in the lock table; no row has this key's space and emptiness alone.
pub(crate) fn space_lock(space: SpaceId) -> LockKey {
    (space, Bytes::new())
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
