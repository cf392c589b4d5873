//! Several databases in one directory: catalogues of their own over the same log, store, and memory.
//!
//! Relies on: `sql` for what a catalogue says of databases, and for what all of them share; the turn to change that, which all of
//! them take from one another (`session::turn`).  Promises: numbers of objects, and so of spaces, are those of one database only; roles are the same in all;
//! who plans in one database sees nothing of another; a database is dropped when nobody is in it, and everything of it goes with
//! that commit.  Does not: keep memory or log apart, or read one database from another.
//!
//! ```text
//!   House ──┬─ the first: everything of it is in the catalogue space that every directory has
//!           ├─ Inner ─ its catalogue in a space of its own ─┐
//!           └─ Inner ─ …                                    ├─ one log, one transaction component, one STORE
//!                                                           ┘
//! ```
//!
//! Lock order: the publication of a schema, the map of databases, then a database's count of sessions; both are leaves otherwise.

use crate::batches::Batches;
use crate::chains::Chains;
use crate::classified::Levels;
use crate::contention::Contention;
use crate::database::{Database, Error, Inner, Schema, records_of};
use crate::history::History;
use crate::temporary::Numbers;
use crate::temporary::{Blocks, Kept};
use parking_lot::{Condvar, Mutex, RwLock};
use quintet_base::{SpaceId, SqlError, SqlResult, SqlState, Timestamp};
use quintet_direct::Direct;
use quintet_ir::ddl::Work;
use quintet_sql::{Catalog, CatalogChange, DatabaseRecord, DatabaseStand, FIRST_NAME};
use quintet_tc::Tc;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// What all databases of a directory have in common, besides what is below the catalogue.
#[derive(Default)]
pub(crate) struct House {
    /// The first one, which keeps the others; gone when it is closed.
    first: RwLock<Weak<Inner>>,
    /// Held while a schema is given to everybody: each publication looks at what all databases have. What is waited for below it is that
    /// one of them has ended.
    publishing: Mutex<()>,
    /// Told, with the lock, when a publication has ended, or a commit has failed that was to be published.
    pub told: (Mutex<()>, Condvar),
    /// Commit of the newest schema change that is published, of whichever database.
    published: AtomicU64,
    /// The next number to give to an object. No catalogue's own one is greater, published or not.
    next_id: AtomicU32,
    /// Numbers for what sessions make in their temporary schemas.
    pub blocks: Arc<Blocks>,
}

/// Which database of its house one is.
pub(crate) struct Place {
    /// 0: the first.
    pub number: u32,
    /// Where the catalogue's records are.
    pub space: SpaceId,
    /// How many changes of its schema may be committed and not published yet: its own, and one of what is shared. Written by who has the turn
    /// to make them, read by who plans or has a turn next.
    pub unpublished: AtomicU32,
    /// Who is there.
    guests: Mutex<Guests>,
    /// Of the first: those beside it, by their numbers.
    others: RwLock<BTreeMap<u32, Arc<Inner>>>,
}

#[derive(Default)]
struct Guests {
    count: usize,
    /// It is being dropped: nobody comes in.
    is_closed: bool,
}

/// Whether a schema that is published has what all databases share as it has changed it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) enum Shared {
    /// Others may have changed it since.
    #[default]
    AsItIs,
    Changed,
    /// And nobody else has changed anything meanwhile: spaces of other databases may have been fenced with it.
    ChangedAlone,
}

/// A session that counts; until it is dropped.
pub(crate) struct Guest(Arc<Inner>);

impl Drop for Guest {
    fn drop(&mut self) {
        self.0.place.guests.lock().count -= 1;
    }
}

impl Place {
    /// The first database's.
    pub fn first() -> Place {
        Place::new(0, Catalog::SPACE)
    }

    fn new(number: u32, space: SpaceId) -> Place {
        Place {
            number,
            space,
            unpublished: AtomicU32::new(0),
            guests: Mutex::default(),
            others: RwLock::default(),
        }
    }

    /// Whether it is the first one.
    pub fn is_first(&self) -> bool {
        self.number == 0
    }
}

impl House {
    /// The first database is there.
    pub fn found(&self, first: &Arc<Inner>) {
        *self.first.write() = Arc::downgrade(first);
    }

    /// Everybody has the schema of this commit now.
    pub fn note_published(&self, timestamp: Timestamp, catalog: &Catalog) {
        self.note_drawn(catalog);
        self.published.fetch_max(timestamp.0, Ordering::AcqRel);
    }

    /// The newest commit that is published.
    pub fn published(&self) -> Timestamp {
        Timestamp(self.published.load(Ordering::Acquire))
    }

    /// Gives out the numbers from one that was the next until another; false if it is not the next any more.
    pub fn draw(&self, from: u32, to: u32) -> bool {
        let (done, not) = (Ordering::AcqRel, Ordering::Acquire);
        from >= to || self.next_id.compare_exchange(from, to, done, not).is_ok()
    }

    /// Something has numbers up to the next one of this catalogue, and nobody else has.
    pub fn note_drawn(&self, catalog: &Catalog) {
        self.next_id.fetch_max(catalog.next_id(), Ordering::AcqRel);
    }

    /// The last number that somebody may have.
    pub fn highest(&self) -> SpaceId {
        SpaceId(self.next_id.load(Ordering::Acquire).saturating_sub(1))
    }

    /// All that are open, the first one first.
    pub fn all(&self) -> Vec<Arc<Inner>> {
        let Some(first) = self.first() else {
            return Vec::new();
        };
        let others: Vec<Arc<Inner>> = first.place.others.read().values().cloned().collect();
        std::iter::once(first).chain(others).collect()
    }

    fn first(&self) -> Option<Arc<Inner>> {
        self.first.read().upgrade()
    }

    fn other(&self, number: u32) -> Option<Arc<Inner>> {
        self.first()?.place.others.read().get(&number).cloned()
    }
}

impl Inner {
    /// Opens the other databases that the first one's catalogue names.
    ///
    /// # Errors
    /// A catalogue cannot be read.
    pub fn open_others(self: &Arc<Inner>) -> Result<(), Error> {
        let schema = self.schema();
        for (record, space) in schema.catalog.other_databases() {
            let records = records_of(&self.tc, space)?;
            let catalog = Catalog::beside(&schema.catalog, record, records);
            let catalog = catalog.map_err(Error::Catalog)?;
            self.open_beside(record, space, catalog, schema.timestamp);
        }
        // What one of them has given out, no other gives again.
        for database in self.house.all() {
            let schema = database.schema();
            self.house.note_published(schema.timestamp, &schema.catalog);
        }
        Ok(())
    }

    /// Opens one of them.
    fn open_beside(
        &self,
        record: &DatabaseRecord,
        space: SpaceId,
        catalog: Catalog,
        timestamp: Timestamp,
    ) {
        let schema = Schema {
            timestamp,
            revision: 1,
            classes: Levels::default(),
            catalog,
        };
        let inner = Inner {
            temporary: Numbers::default(),
            kept: Kept::default(),
            durability: self.durability,
            engine: self.engine,
            direct: Direct::new(self.tc.clone()),
            spill: Arc::clone(&self.spill),
            schema: arc_swap::ArcSwap::from_pointee(schema),
            retries: AtomicU64::new(0),
            rollbacks: AtomicU64::new(0),
            channels: Arc::default(),
            advisory: Arc::default(),
            alarms: Arc::clone(&self.alarms),
            numbers: Arc::clone(&self.numbers),
            chains: Arc::new(Chains::new(Arc::clone(&self.clock))),
            batches: Arc::new(Batches::new(self.batches.lanes())),
            activity: Arc::clone(&self.activity),
            contention: Contention::default(),
            history: History::new(Duration::ZERO),
            revisions: AtomicU64::new(2),
            house: Arc::clone(&self.house),
            place: Place::new(record.number, space),
            _lock: Arc::clone(&self._lock),
            clock: Arc::clone(&self.clock),
            log: Arc::clone(&self.log),
            store: Arc::clone(&self.store),
            tc: self.tc.clone(),
        };
        if let Some(first) = self.house.first() {
            let mut others = first.place.others.write();
            others.insert(record.number, Arc::new(inner));
        }
    }

    /// A session begins; none does in a database that is being dropped.
    ///
    /// # Errors
    /// `3D000`.
    pub fn come_in(self: &Arc<Inner>, name: &str) -> SqlResult<Guest> {
        let mut guests = self.place.guests.lock();
        if guests.is_closed {
            return Err(no_database(name));
        }
        guests.count += 1;
        drop(guests);
        Ok(Guest(Arc::clone(self)))
    }

    /// Whether nobody is there; if so nobody comes in until [`Inner::let_in`].
    fn close_door(&self) -> Result<(), usize> {
        let mut guests = self.place.guests.lock();
        if guests.count > 0 {
            return Err(guests.count);
        }
        guests.is_closed = true;
        Ok(())
    }

    /// Lets sessions in again: the database stays.
    fn let_in(&self) {
        self.place.guests.lock().is_closed = false;
    }

    /// Gives a committed schema to everybody: to the sessions of this database, and what is shared to those of the others.
    pub fn publish(self: &Arc<Inner>, schema: Schema, shared: Shared) {
        let publishing = self.house.publishing.lock();
        let before = self.schema();
        let (timestamp, mut schema) = (schema.timestamp, schema);
        if shared == Shared::AsItIs
            && let Some(catalog) = schema.catalog.with_shared_of(&before.catalog)
        {
            // Somebody else has changed it meanwhile.
            schema.catalog = catalog;
            schema.revision = self.next_revision();
        }
        if schema.revision < before.revision {
            schema.revision = self.next_revision();
        }
        let catalog = schema.catalog.clone();
        self.schema.store(Arc::new(schema));
        if shared >= Shared::Changed {
            for other in self.house.all() {
                let known = other.schema();
                if let Some(catalog) = known.catalog.with_shared_of(&catalog) {
                    other.schema.store(Arc::new(Schema {
                        catalog,
                        // A change of its own may be committed and not be published yet: plans are as old as they were.
                        timestamp: match shared {
                            Shared::ChangedAlone => timestamp,
                            _ => known.timestamp,
                        },
                        revision: other.next_revision(),
                        classes: Levels::default(),
                    }));
                }
            }
            self.follow(&before.catalog, &catalog, timestamp);
        }
        self.house.note_published(timestamp, &catalog);
        drop(publishing);
        let _guard = self.house.told.0.lock();
        self.house.told.1.notify_all();
    }

    /// Gives out no number up to this one.
    pub fn pass_over(self: &Arc<Inner>, highest: SpaceId) {
        let _publishing = self.house.publishing.lock();
        let known = self.schema();
        let mut catalog = known.catalog.clone();
        catalog.pass_over(highest);
        self.house.note_drawn(&catalog);
        self.schema.store(Arc::new(Schema {
            catalog,
            timestamp: known.timestamp,
            revision: self.next_revision(),
            classes: Levels::default(),
        }));
    }

    /// Opens and closes databases as the new catalogue has them.
    fn follow(&self, before: &Catalog, after: &Catalog, timestamp: Timestamp) {
        for (record, space) in after.other_databases() {
            if self.house.other(record.number).is_none() {
                // What is shared could be read before, and what is its own has just been written.
                // If it cannot be read all the same, nobody comes in before the next start, rather than into an empty one.
                let Ok(records) = records_of(&self.tc, space) else {
                    continue;
                };
                if let Ok(catalog) = Catalog::beside(after, record, records) {
                    self.house.note_published(timestamp, &catalog);
                    self.open_beside(record, space, catalog, timestamp);
                }
            }
        }
        for (record, _) in before.other_databases() {
            let mut now = after.other_databases();
            if !now.any(|(now, _)| now.number == record.number)
                && let Some(first) = self.house.first()
            {
                first.place.others.write().remove(&record.number);
            }
        }
    }

    /// Where a record of the catalogue is kept.
    pub fn space_of(&self, change: &CatalogChange) -> SpaceId {
        match Catalog::is_shared(&change.key) {
            true => Catalog::SPACE,
            false => self.place.space,
        }
    }

    /// Refuses to remove roles that other databases need.
    ///
    /// # Errors
    /// `2BP01`.
    pub fn refuse_needed_roles(&self, changes: &[CatalogChange]) -> SqlResult<()> {
        let removed = Catalog::roles_removed(changes);
        if removed.is_empty() {
            return Ok(());
        }
        let schema = self.schema();
        for other in self.house.all() {
            if other.place.number == self.place.number {
                continue;
            }
            let known = other.schema();
            for role in &removed {
                let count = known.catalog.objects_of_role(*role);
                if count == 0 {
                    continue;
                }
                let message = format!(
                    "role \"{}\" cannot be dropped because some objects depend on it",
                    schema.catalog.roles().name(*role)
                );
                let s = if count == 1 { "" } else { "s" };
                let detail = format!("{count} object{s} in database {}", other.name());
                let state = SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
                return Err(SqlError::new(state, message).detail(detail));
            }
        }
        Ok(())
    }

    /// The name that it was made under; that of the first is fixed.
    pub fn name(&self) -> String {
        let schema = self.schema();
        let mut records = schema.catalog.other_databases();
        let found = records.find(|(record, _)| record.number == self.place.number);
        found.map_or(FIRST_NAME.to_string(), |(record, _)| record.name.clone())
    }
}

/// What a copy of a database is made of.
pub(crate) struct Copied {
    /// Of its catalogue.
    pub changes: Vec<CatalogChange>,
    /// Of its rows.
    pub work: Vec<Work>,
}

/// A database that nobody can enter, to be dropped or given another name; opened again when this is dropped, unless it is gone.
pub(crate) struct Closed {
    database: Arc<Inner>,
    is_gone: bool,
}

impl Drop for Closed {
    fn drop(&mut self) {
        if !self.is_gone {
            self.database.let_in();
        }
    }
}

impl Closed {
    /// Closes a database to newcomers; `None`: there is none with this number.
    ///
    /// # Errors
    /// How many sessions are there.
    pub fn new(house: &House, number: u32) -> Result<Option<Closed>, usize> {
        let Some(database) = house.other(number) else {
            return Ok(None);
        };
        database.close_door()?;
        Ok(Some(Closed {
            database,
            is_gone: false,
        }))
    }

    /// Which it is.
    pub fn number(&self) -> u32 {
        self.database.place.number
    }

    /// What goes with it: the spaces of its rows and of its catalogue, and its sequences.
    pub fn work_of_drop(&self) -> Vec<Work> {
        let catalog = &self.database.schema().catalog;
        let shared = [Catalog::SPACE, Catalog::SEQUENCE_SPACE];
        let mut spaces = catalog.spaces();
        spaces.retain(|space| !shared.contains(space));
        spaces.push(self.database.place.space);
        let sequences = catalog
            .all_sequences()
            .map(|sequence| Work::DropSequence(sequence.counter));
        std::iter::once(Work::DropSpaces(spaces))
            .chain(sequences)
            .collect()
    }

    /// A copy of it for a database that is being made, whose catalogue shares what `shared` knows. The counters of its sequences are set at
    /// once: nobody else has their numbers.
    ///
    /// # Errors
    /// What reading it says.
    pub fn copy(&self, record: &DatabaseRecord, shared: &Catalog) -> SqlResult<Copied> {
        let database = &self.database;
        let schema = database.schema();
        let source = &schema.catalog;
        let records = records_of(&database.tc, database.place.space);
        let records = records.map_err(SqlError::internal)?;
        let changes = source.copied(records, shared.next_id())?;
        let own = changes.iter().filter_map(|change| {
            let value = change.value.clone()?;
            Some((change.key.clone(), value))
        });
        let copy = Catalog::beside(shared, record, own)?;
        database.house.note_drawn(&copy);
        for sequence in copy.all_sequences() {
            let mut all = source.all_sequences();
            if let Some(from) = all.find(|from| from.id == sequence.id) {
                let state = database.direct.sequence_state(from)?;
                database
                    .direct
                    .setval(sequence, state.last, state.is_called)?;
            }
        }
        Ok(Copied {
            work: source.copying(&copy),
            changes,
        })
    }

    /// It was dropped, and that is committed.
    pub fn stay_closed(mut self) {
        self.is_gone = true;
    }
}

/// There is none of this name.
pub(crate) fn no_database(name: &str) -> SqlError {
    SqlError::new(
        SqlState::UNDEFINED_DATABASE,
        format!("database \"{name}\" does not exist"),
    )
}

impl Database {
    /// What it is called.
    pub fn name(&self) -> String {
        self.inner.name()
    }

    /// The database that sessions mean by a name: one that CREATE DATABASE has made, or else the first one, which answers to every name
    /// that was never another's.
    ///
    /// # Errors
    /// `3D000`: it was dropped, or has another name now.
    pub fn named(&self, name: &str) -> SqlResult<Database> {
        let inner = &self.inner;
        let schema = inner.schema();
        let stand = schema.catalog.database_named(name);
        let found = match stand.map(|record| (record.stand, record.number)) {
            Some((DatabaseStand::Own(_), number)) => inner.house.other(number),
            Some((DatabaseStand::Gone, _)) => None,
            Some((DatabaseStand::First, _)) | None => inner.house.first(),
        };
        Ok(Database {
            inner: found.ok_or_else(|| no_database(name))?,
            _first: inner.house.first(),
        })
    }
}

/// Spaces that databases beside the first one have, with those of their catalogues.
///
/// # Errors
/// A catalogue cannot be read.
pub(crate) fn spaces_of_others(tc: &Tc, first: &Catalog) -> Result<Vec<SpaceId>, Error> {
    let mut spaces = Vec::new();
    for (record, space) in first.other_databases() {
        let catalog = Catalog::beside(first, record, records_of(tc, space)?);
        spaces.extend(catalog.map_err(Error::Catalog)?.spaces());
        spaces.push(space);
    }
    Ok(spaces)
}
