//! What a session has in its temporary schema: records that no catalogue has.
//!
//! Relies on: `sql` tells such records from others by their numbers.  Promises: nobody else sees them or waits for a change of them,
//! and none is ever stored; what the session sees is the newest catalogue with them, planned anew when either moves; numbers
//! are drawn once, whatever becomes of the transaction that has.  Does not: plan changes, or carry them out (`change`).
//!
//! ```text
//!   newest catalogue ─┐
//!                     ├─► the session's schema ─► plans
//!   own records ──────┘
//!     ▲ committed ◄─── commit ─── changed (BEGIN … )
//! ```
//!
//! Who changes what everybody sees plans that with what all sessions have ([`Session::with_others`]), and so is told of what needs it. What
//! somebody makes while that change is on its way is not seen. If the session's catalogue can not be made any more then, what it has goes,
//! and it is told.

use super::Session;
use crate::classified::Levels;
use crate::database::{Inner, Schema};
use crate::databases::Shared;
use crate::temporary::{BLOCK, Block};
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_sql::command::DdlPlan;
use quintet_sql::{Catalog, CatalogChange, TemporaryRecords, TemporaryWork, temporary_numbers};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a transaction has changed so far.
#[derive(Clone, Default)]
pub(super) struct Changed {
    /// The schema that everybody will see; the turn to change it is the transaction's.
    pub schema: Option<Arc<Schema>>,
    /// Whether what all databases share has changed with it.
    pub shared: Shared,
    /// The session's own records.
    own: Option<Arc<Records>>,
}

impl Changed {
    /// Whether it has changed anything.
    pub fn any(&self) -> bool {
        self.schema.is_some() || self.own.is_some()
    }

    /// Whether it has changed what is the session's own.
    pub fn changes_own(&self) -> bool {
        self.own.is_some()
    }
}

/// Own records as they were at some time.
#[derive(Default)]
struct Records {
    /// No two have the same; 0: none.
    version: u64,
    by_key: Arc<TemporaryRecords>,
}

/// See the header.
#[derive(Default)]
pub(super) struct Own {
    committed: Arc<Records>,
    /// The version given last.
    versions: u64,
    /// The next number to draw; 0: the session has none.
    next: u32,
    /// Where numbers come from; the last one is drawn from.
    blocks: Vec<Block>,
    seen: Option<Seen>,
    /// Of records that could not be read any more.
    lost: TemporaryWork,
    /// What the transaction has made, changed or dropped.
    touched: TemporaryWork,
}

/// A schema as the session sees it, and what it was made of.
struct Seen {
    base: Arc<Schema>,
    version: u64,
    next: u32,
    schema: Arc<Schema>,
}

/// As many numbers are there before a statement is planned that makes something.
const RESERVE: u32 = BLOCK / 2;

impl Own {
    /// Whether the session has ever made anything that is there still, or is about to.
    pub fn is_used(&self) -> bool {
        self.next > 0
    }

    /// The catalogue that [`Session::schema`] was made of.
    fn base(&self) -> Option<&Arc<Schema>> {
        self.seen.as_ref().map(|seen| &seen.base)
    }
}

impl Session {
    fn own_records(&self) -> &Arc<Records> {
        let changed = self.changed.own.as_ref();
        changed.unwrap_or(&self.own.committed)
    }

    /// Which state of the session's own records it sees.
    pub(super) fn own_version(&self) -> u64 {
        self.own_records().version
    }

    /// Whether the session has anything of its own.
    pub(super) fn has_own(&self) -> bool {
        !self.own_records().by_key.is_empty()
    }

    /// Spaces of own tables that others of the session's transactions have left.
    pub(super) fn own_work(&self) -> TemporaryWork {
        TemporaryWork::of(&self.own.committed.by_key)
    }

    /// Sees to it that there are numbers for what is about to be planned.
    ///
    /// # Errors
    /// `53300`: too many sessions have temporary tables.
    pub(super) fn provide_numbers(&mut self) -> SqlResult<()> {
        let own = &mut self.own;
        let end = own.blocks.last().map_or(0, |block| block.numbers().end);
        if end.saturating_sub(own.next) >= RESERVE {
            return Ok(());
        }
        let Some(block) = self.db.house.blocks.take() else {
            let message = "too many sessions have temporary tables";
            return Err(SqlError::new(SqlState::TOO_MANY_CONNECTIONS, message));
        };
        own.next = block.numbers().start;
        if !self.changed.changes_own() {
            // Nothing that a rollback brings back is in the others.
            let used = temporary_numbers(&own.committed.by_key);
            let lost = own.lost.spaces.iter().map(|space| space.0);
            let lost = lost.chain(own.lost.counters.iter().map(|counter| counter.0));
            let used: BTreeSet<u32> = used.into_iter().chain(lost).collect();
            own.blocks
                .retain(|block| used.range(block.numbers()).next().is_some());
        }
        own.blocks.push(block);
        Ok(())
    }

    /// The newest catalogue, or the one that the transaction has changed, with what is the session's own.
    pub(super) fn see(&mut self) {
        let (version, next) = (self.own_version(), self.own.next);
        if let Some(seen) = &self.own.seen
            && (seen.version, seen.next) == (version, next)
            && match &self.changed.schema {
                Some(changed) => Arc::ptr_eq(&seen.base, changed),
                None => self.db.is_newest(&seen.base),
            }
        {
            if !Arc::ptr_eq(&seen.schema, &self.host.schema) {
                self.host.schema = Arc::clone(&seen.schema);
            }
            return;
        }
        let changed = self.changed.schema.as_ref();
        let newest = changed.map_or_else(|| self.db.schema(), Arc::clone);
        let catalog = newest
            .catalog
            .with_temporary(&self.own_records().by_key, next);
        let catalog = catalog.or_else(|error| {
            self.lose_own(&error);
            newest
                .catalog
                .with_temporary(&TemporaryRecords::new(), next)
        });
        let catalog = catalog.unwrap_or_else(|_| newest.catalog.clone());
        let schema = with_catalog(&self.db, catalog, &newest);
        self.host.schema = Arc::clone(&schema);
        self.own.seen = Some(Seen {
            base: newest,
            version: self.own_version(),
            next,
            schema,
        });
    }

    /// What others have, for who plans a change of what everybody sees, and a catalogue that has it; `None`: they have nothing.
    pub(super) fn with_others(
        &self,
        catalog: &Catalog,
    ) -> Option<(Vec<Arc<TemporaryRecords>>, Catalog)> {
        let others = self.db.kept.of_others(self.host.temporary);
        if others.is_empty() {
            return None;
        }
        let next = catalog.next_temporary();
        let all: Vec<&TemporaryRecords> = others.iter().map(Arc::as_ref).collect();
        if let Ok(with) = catalog.with_temporaries(&all, next) {
            return Some((others, with));
        }
        let mut with = catalog.clone();
        for records in &others {
            // Whom something was taken from before it was seen is not asked.
            if let Ok(more) = with.with_temporary(records, next) {
                with = more;
            }
        }
        Some((others, with))
    }

    /// What the session has cannot be read any more: it is told, and has nothing from here on.
    fn lose_own(&mut self, error: &SqlError) {
        let lost = TemporaryWork::of(&self.own_records().by_key);
        self.own.lost.spaces.extend(lost.spaces);
        self.own.lost.counters.extend(lost.counters);
        self.own.versions += 1;
        let nothing = Arc::new(Records {
            version: self.own.versions,
            by_key: Arc::default(),
        });
        self.db.kept.remove(self.host.temporary);
        self.own.committed = Arc::clone(&nothing);
        self.changed.own = self.changed.own.is_some().then_some(nothing);
        self.warn(
            SqlState::WARNING,
            &format!(
                "the temporary tables of this session are gone, since another session has dropped what they need: {}",
                error.message
            ),
        );
    }

    /// The session's own part of a change is made, and this is what it sees now.
    ///
    /// # Errors
    /// `54000`: more numbers were drawn than there were.
    pub(super) fn change_own(&mut self, plan: &DdlPlan, seen: Arc<Schema>) -> SqlResult<()> {
        let own = &mut self.own;
        let end = own.blocks.last().map_or(0, |block| block.numbers().end);
        let next = seen.catalog.next_temporary();
        if next > end {
            let message = "too many temporary objects in one statement";
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        own.next = next;
        own.touched.add(plan);
        let changes = plan.changes.iter();
        let mut changes = changes.filter(|change| is_record(change)).peekable();
        if changes.peek().is_some() {
            let mut by_key = TemporaryRecords::clone(&self.own_records().by_key);
            for change in changes {
                match &change.value {
                    Some(value) => by_key.insert(change.key.clone(), value.clone()),
                    None => by_key.remove(&change.key),
                };
            }
            self.own.versions += 1;
            let version = self.own.versions;
            let by_key = Arc::new(by_key);
            self.changed.own = Some(Arc::new(Records { version, by_key }));
            self.show_own();
        }
        let base = match &self.changed.schema {
            Some(changed) => Arc::clone(changed),
            None => self.own.base().map_or_else(|| self.db.schema(), Arc::clone),
        };
        self.own.seen = Some(Seen {
            base,
            version: self.own_version(),
            next,
            schema: seen,
        });
        Ok(())
    }

    /// Others see what the session has, so that they do not drop what it needs.
    pub(super) fn show_own(&self) {
        if self.own.is_used() {
            let session = self.host.temporary;
            self.db.kept.put(session, &self.own_records().by_key);
        }
    }

    /// The transaction has ended: what is there no more is forgotten.
    pub(super) fn forget_own(&mut self) {
        if self.own.touched.is_empty() {
            return;
        }
        let mut touched = std::mem::take(&mut self.own.touched);
        let there = TemporaryWork::of(&self.own.committed.by_key);
        touched.spaces.retain(|space| !there.spaces.contains(space));
        touched
            .counters
            .retain(|counter| !there.counters.contains(counter));
        self.db.direct.forget(&touched.spaces, &touched.counters);
    }

    /// The transaction has committed. A session that has nothing any more gives its numbers back.
    pub(super) fn keep_own(&mut self) {
        let Some(own) = self.changed.own.take() else {
            return;
        };
        self.own.committed = own;
        self.show_own();
        if !self.has_own() && self.own.lost.is_empty() {
            self.own.next = 0;
            self.own.blocks.clear();
            self.own.seen = None;
        }
    }

    /// Everything that is there of what the session has made, to be dropped; it has nothing any more.
    pub(super) fn take_own(&mut self) -> TemporaryWork {
        let own = std::mem::take(&mut self.own);
        self.db.kept.remove(self.host.temporary);
        let mut work = TemporaryWork::of(&own.committed.by_key);
        work.spaces.extend(own.lost.spaces);
        work.counters.extend(own.lost.counters);
        work
    }
}

fn is_record(change: &CatalogChange) -> bool {
    change.is_temporary() && !change.counts_temporary()
}

/// A schema that is like another one but for its catalogue.
pub(super) fn with_catalog(db: &Inner, catalog: Catalog, base: &Schema) -> Arc<Schema> {
    Arc::new(Schema {
        catalog,
        timestamp: base.timestamp,
        revision: db.next_revision(),
        classes: Levels::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::{Block, RESERVE};
    use crate::database::records_of;
    use crate::{Database, DatabaseConfig};
    use quintet_sql::Catalog;

    #[test]
    fn what_goes_takes_its_counters_with_it_and_the_stored_catalogue_never_knew() {
        let dir = tempfile::tempdir().unwrap();
        let (db, _) = Database::open(DatabaseConfig::new(dir.path())).unwrap();
        let count = |space| records_of(&db.inner.tc, space).unwrap().len();
        let before = count(Catalog::SPACE);
        let makes = "create temp table t (id serial, v text); insert into t (v) values ('a'); create temp sequence s; select nextval('s')";
        let mut a = db.client().unwrap();
        a.query(makes).unwrap();
        assert_eq!(
            (count(Catalog::SPACE), count(Catalog::SEQUENCE_SPACE)),
            (before, 2)
        );
        a.query("drop table t; drop sequence s").unwrap();
        assert_eq!(count(Catalog::SEQUENCE_SPACE), 0);
        a.query(makes).unwrap();
        a.query("discard temp").unwrap();
        assert_eq!(count(Catalog::SEQUENCE_SPACE), 0);
        a.query(makes).unwrap();
        drop(a);
        assert_eq!(
            (count(Catalog::SPACE), count(Catalog::SEQUENCE_SPACE)),
            (before, 0)
        );
    }

    #[test]
    fn a_session_that_makes_tables_for_ever_keeps_the_blocks_of_those_that_are_there() {
        let dir = tempfile::tempdir().unwrap();
        let (db, _) = Database::open(DatabaseConfig::new(dir.path())).unwrap();
        let mut a = db.client().unwrap();
        a.query("create temp table lasting (id serial primary key)")
            .unwrap();
        for _ in 0..10 {
            let own = &mut a.session().own;
            own.next = own.blocks.last().unwrap().numbers().end - RESERVE + 1;
            a.query("begin; create temp table t (v int unique) on commit drop; insert into t values (1)")
                .unwrap();
            a.query("commit").unwrap();
        }
        let blocks: Vec<_> = a.session().own.blocks.iter().map(Block::numbers).collect();
        assert_eq!(blocks.len(), 2, "{blocks:?}");
        assert!(blocks[0].end <= blocks[1].start);
        a.query("insert into lasting default values").unwrap();
    }
}
