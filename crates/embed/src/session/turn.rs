//! Turns: who may change the schema.
//!
//! Relies on: `tc` for locks that last until a transaction, or the part of it behind a savepoint, ends, and for finding rings of those who
//! wait.  Promises: of those who change one database's schema, each plans with what the one before has committed and published;
//! so do those who change what all databases share; who does not change that waits for nobody in another database; a number is given to
//! one object of all databases only; who removes a role has seen what all databases have of it.  Does not: plan or publish.
//!
//! ```text
//!   turn of the first database ─► of the others, by number ─► shared
//!   └──── a change takes its own one; all of them who       └ roles, databases
//!         removes a role, or copies a database
//! ```
//!
//! They are taken in this order by a statement, so that two statements never wait for each other. Nor do transactions of several that
//! make roles and what else there is; those that remove a role with another turn in hand may, which `tc` tells one of them.
//!
//! Records of [`TURN_SPACE`]: `turn`, with the number of the database behind it in 4 bytes big-endian unless that is the first, and
//! `shared`. A value says nothing; it is written so that who comes next finds its snapshot old.

use super::Session;
use super::execute::canceled;
use crate::classified::Levels;
use crate::database::{Inner, Schema, TURN_SPACE};
use crate::databases::Shared;
use crate::step::{Pause, Reason};
use quintet_base::ids::TEMPORARY;
use quintet_base::{Bytes, SpaceId, SqlResult, Timestamp};
use quintet_direct::translate;
use quintet_sql::command::{Command, DdlPlan, Planned};
use quintet_sql::{Catalog, CatalogChange, DatabaseChange, TemporaryWork};
use quintet_tc::{Error as TcError, Strength, WaitPolicy};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What all databases share.
const SHARED: &[u8] = b"shared";

/// Whether the schema may be changed now.
pub(super) enum Turn {
    /// Somebody else is changing it.
    Wait(Pause),
    /// Nobody else is, until the transaction ends.
    Taken,
}

/// Whose records a change concerns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Concerns {
    /// The database's own.
    Own,
    /// What all databases share, too.
    Shared,
    /// And it has to know what each of them has.
    All,
}

impl Inner {
    fn turn(&self) -> Vec<u8> {
        let mut key = b"turn".to_vec();
        if !self.place.is_first() {
            key.extend(self.place.number.to_be_bytes());
        }
        key
    }

    /// The records that a change writes.
    pub(super) fn turns_written(&self, shared: bool) -> Vec<Vec<u8>> {
        let shared = shared.then(|| SHARED.to_vec());
        std::iter::once(self.turn()).chain(shared).collect()
    }
}

impl Session {
    /// Has the schema to itself until the transaction ends.
    pub(super) fn take_turn(&mut self) -> SqlResult<Turn> {
        self.take_turns(Concerns::Own)
    }

    /// The same of what a change concerns.
    pub(super) fn take_turns(&mut self, concerns: Concerns) -> SqlResult<Turn> {
        self.ensure_txn(Timestamp::MAX);
        let databases = match concerns {
            Concerns::All => self.db.house.all(),
            Concerns::Own | Concerns::Shared => vec![Arc::clone(&self.db)],
        };
        let shared = (concerns >= Concerns::Shared).then(|| SHARED.to_vec());
        let turns: Vec<Vec<u8>> = databases.iter().map(|database| database.turn()).collect();
        for key in turns.into_iter().chain(shared) {
            if let Some(pause) = self.take_one(key)? {
                return Ok(Turn::Wait(pause));
            }
        }
        // With the turn in hand the newest schema is ours to change.
        for database in &databases {
            database.wait_for_published();
        }
        if concerns >= Concerns::Shared {
            self.renew_shared();
        }
        // Numbers are given out by all databases of the house, each by itself.
        let highest = self.db.house.highest();
        let base = self.changed.schema.as_ref();
        let base = base.map_or_else(|| self.db.schema(), Arc::clone);
        let next = base.catalog.next_id();
        if next <= highest.0 && next != self.drawn.start {
            self.pass_over(highest);
        }
        self.clear_abandoned()?;
        Ok(Turn::Taken)
    }

    fn take_one(&mut self, key: Vec<u8>) -> SqlResult<Option<Pause>> {
        let key = Bytes::from(key);
        loop {
            let txn = self.txn.as_mut().expect("just ensured");
            txn.begin_statement();
            match txn.lock(TURN_SPACE, &key, Strength::Exclusive, WaitPolicy::Queue) {
                Ok(()) => return Ok(None),
                Err(TcError::Blocked(_)) if self.cancel.swap(false, Ordering::AcqRel) => {
                    return Err(canceled());
                }
                Err(TcError::Blocked(wait)) => return Ok(Some(Pause(Reason::Row(wait)))),
                // Somebody else's change committed meanwhile; look again with a new snapshot.
                Err(TcError::Stale) => {}
                Err(error) => {
                    let names = self.host.schema.catalog_names();
                    return Err(translate(error, self.level, &names));
                }
            }
        }
    }

    /// What the transaction has changed so far is of its own database: what is shared may have been changed by others since.
    fn renew_shared(&mut self) {
        let Some(changed) = self
            .changed
            .schema
            .as_ref()
            .filter(|_| self.changed.shared == Shared::AsItIs)
        else {
            return;
        };
        let newest = self.db.schema();
        if let Some(catalog) = changed.catalog.with_shared_of(&newest.catalog) {
            self.changed.schema = Some(Arc::new(Schema {
                catalog,
                timestamp: changed.timestamp,
                revision: self.db.next_revision(),
                classes: Levels::default(),
            }));
        }
    }

    /// Whose records a planned change concerns.
    pub(super) fn concerns(&self, planned: &Planned) -> Concerns {
        match &planned.command {
            Command::Ddl(plan) => self.concerns_of(plan),
            _ => Concerns::Own,
        }
    }

    /// The same of its plan.
    pub(super) fn concerns_of(&self, plan: &DdlPlan) -> Concerns {
        let copies = matches!(
            plan.database,
            Some(DatabaseChange::Make {
                template: Some(_),
                ..
            })
        );
        if copies || !Catalog::roles_removed(&plan.changes).is_empty() {
            return Concerns::All;
        }
        let is_shared = |change: &CatalogChange| Catalog::is_shared(&change.key);
        match self.names_first() || plan.changes.iter().any(is_shared) {
            true => Concerns::Shared,
            false => Concerns::Own,
        }
    }

    /// Whether the first database gets a name for good by a change.
    fn names_first(&self) -> bool {
        let catalog = &self.host.schema.catalog;
        let named = catalog.name_first(&self.host.database);
        self.db.place.is_first() && named.is_ok_and(|named| !named.is_empty())
    }

    /// Has the numbers to itself that a change gives out. False: another database's has got them, or some behind them; they are passed
    /// over, and it is to be planned again.
    pub(super) fn draw(&mut self, schema: &Schema, planned: &Planned) -> SqlResult<bool> {
        match &planned.command {
            Command::Ddl(plan) => self.draw_for(schema, plan),
            _ => Ok(true),
        }
    }

    /// The same of a plan.
    pub(super) fn draw_for(&mut self, schema: &Schema, plan: &DdlPlan) -> SqlResult<bool> {
        let next = schema.catalog.next_id();
        let mut end = plan.next_id()?.map_or(next, |end| end.max(next));
        if self.names_first() {
            end += 1;
        }
        // Those that it has drawn when it was tried before, and had to wait, are its own still.
        let from = match next == self.drawn.start {
            true => self.drawn.end,
            false => next,
        };
        let has = self.db.house.draw(from, end);
        match has {
            true => self.drawn = next..end.max(from),
            false => self.pass_over(self.db.house.highest()),
        }
        Ok(has)
    }

    /// Drops what was committed ahead of a change that came to nothing, and gives its numbers to nothing else: STORE forgets
    /// a space some time after it was dropped.
    fn clear_abandoned(&mut self) -> SqlResult<()> {
        let stored = SpaceId(0)..SpaceId(TEMPORARY.start);
        let abandoned = self.db.tc.take_abandoned(stored);
        let Some(highest) = abandoned.iter().max() else {
            return Ok(());
        };
        // First, so that it holds whatever comes of the rest: what is not dropped goes when the database is opened next.
        self.pass_over(*highest);
        let work = TemporaryWork {
            spaces: abandoned,
            counters: Vec::new(),
        };
        self.drop_unnamed(&work)
    }

    /// Gives out no number up to this one.
    fn pass_over(&mut self, highest: SpaceId) {
        self.db.pass_over(highest);
        // That of earlier changes of this transaction, one of which may be undone.
        if let Some(changed) = &self.changed.schema {
            let mut catalog = changed.catalog.clone();
            catalog.pass_over(highest);
            self.changed.schema = Some(Arc::new(Schema {
                catalog,
                timestamp: changed.timestamp,
                revision: self.db.next_revision(),
                classes: Levels::default(),
            }));
        }
    }
}
