//! Schema changes: transactional, one at a time in each database.
//!
//! Relies on: `sql` plans the change against one catalogue; `direct` does the physical work; `tc`
//! fences spaces, so that whoever planned with an older schema is refused.
//! Promises: a change is seen by its own transaction at once, by others when it commits, or never.
//! Does not: let two changes of one database run side by side: the second waits for the end of the first (`turn`).

use super::Session;
use super::execute::{canceled, only_calls_commit};
use super::own::with_catalog;
use super::planning::Prepared;
use super::turn::{Concerns, Turn};
use crate::activity::Interrupt;
use crate::classified::Levels;
use crate::database::Schema;
use crate::databases::{Closed, Copied, Shared};
use crate::step::{Pause, Reason};
use quintet_base::{
    Bytes, Durability, Level, SpaceId, SqlError, SqlResult, SqlState, TableId, Timestamp,
};
use quintet_direct::{Context, Stop, translate};
use quintet_ir::Procedure;
use quintet_ir::ddl::Work;
use quintet_sql::command::{Command, DdlPlan, Planned};
use quintet_sql::{Catalog, CatalogChange, DatabaseChange, TemporaryRecords, TemporaryWork};
use quintet_tc::Error as TcError;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// For so long others may take to leave a database that is to be dropped, as PostgreSQL lets them.
const CLOSING_NANOS: u64 = 5_000_000_000;
/// How often it is looked whether they have.
const LOOKING_NANOS: u64 = 10_000_000;

/// How a schema change begins.
enum Begun {
    /// Something must be waited for first.
    Blocked(Pause),
    /// From this schema, by a plan that is another one than before if one is there.
    From(Arc<Schema>, Option<Box<Planned>>),
}

/// What came of a schema change.
pub(super) enum Changed {
    /// Something must be waited for first.
    Blocked(Pause),
    /// It is done; rows are to be put into what is new now.
    Done(Option<Arc<Procedure>>),
}

impl Session {
    /// Carries out a schema change. `Blocked`: wait, and call again.
    pub(super) fn change_schema(&mut self, prepared: &Prepared) -> SqlResult<Changed> {
        self.refuse_if_read_only(prepared.planned.tag)?;
        if let Command::Ddl(plan) = &prepared.planned.command {
            if plan.database.is_some() {
                self.must_be_alone(prepared.planned.tag)?;
            }
            self.check_settings(&plan.settings)?;
            let spaces = quintet_direct::spaces_changed(&plan.work);
            if !spaces.is_empty()
                && let Some(pause) = self.let_writers_end(&spaces)?
            {
                return Ok(Changed::Blocked(pause));
            }
        }
        let (schema, again) = match self.plan_change(prepared)? {
            Begun::From(schema, again) => (schema, again),
            Begun::Blocked(pause) => return Ok(Changed::Blocked(pause)),
        };
        let planned = again.as_deref().unwrap_or(&prepared.planned);
        let Command::Ddl(plan) = &planned.command else {
            return Ok(Changed::Done(None)); // IF [NOT] EXISTS found nothing to do
        };
        if let Some(pause) = self.close_database(plan)? {
            return Ok(Changed::Blocked(pause));
        }
        if let Some(pause) = self.keep_writers_out(plan)? {
            return Ok(Changed::Blocked(pause));
        }
        self.refuse_pending((plan, prepared.planned.tag), &schema)?;
        // What was put off knows its tables as they are.
        let put_off = self.txn.as_ref().map(quintet_direct::deferred_tables);
        let put_off = put_off.unwrap_or_default();
        if plan.touches(&put_off.all, &schema.catalog) {
            let changed = plan.first_changed(&put_off.changed, &schema.catalog);
            let checked = self.check_late_keys();
            let checked = checked.map_err(|error| match changed {
                Some(table) => pending(error, (table, prepared.planned.tag), &schema),
                None => error,
            });
            if let Some(pause) = checked? {
                return Ok(Changed::Blocked(pause));
            }
        }
        Ok(match self.do_change(plan, &schema)? {
            Some(pause) => Changed::Blocked(pause),
            None => Changed::Done(plan.then.clone()),
        })
    }

    /// Plans a change against the schema as it is. If anybody else can see what changes, the turn is waited for first.
    fn plan_change(&mut self, prepared: &Prepared) -> SqlResult<Begun> {
        let is_own = |planned: &Planned| match &planned.command {
            Command::Ddl(plan) => plan.is_temporary(),
            _ => false,
        };
        let counts = |planned: &Planned| match &planned.command {
            Command::Ddl(plan) => plan.counts_temporary(),
            _ => false,
        };
        let mut own = is_own(&prepared.planned);
        if counts(&prepared.planned) {
            self.provide_numbers()?;
        }
        let mut concerns = match own {
            true => Concerns::Own,
            false => self.concerns(&prepared.planned),
        };
        loop {
            if !own && let Turn::Wait(pause) = self.take_turns(concerns)? {
                return Ok(Begun::Blocked(pause));
            }
            let schema = Arc::clone(self.schema());
            if own {
                self.ensure_txn(schema.timestamp);
            }
            let is_known = prepared.revision == schema.revision
                && prepared.role == self.host.role()
                && own == is_own(&prepared.planned);
            let mut again = match is_known {
                true => None,
                false => Some(self.plan_against(&schema.catalog, prepared)),
            };
            // To see what others have costs as much as that is; most changes are none of theirs.
            let is_harmless = match &again {
                None => is_harmless(&prepared.planned, &schema.catalog),
                Some(again) => matches!(again, Ok(again) if is_harmless(again, &schema.catalog)),
            };
            if !own
                && !is_harmless
                && let Some((others, seen)) = self.with_others(&schema.catalog)
            {
                let planned = self.plan_against(&seen, prepared)?;
                if let Command::Ddl(plan) = &planned.command {
                    refuse_others(plan, &others)?;
                }
                again = Some(Ok(planned));
            }
            let again = again.transpose()?;
            if !own {
                let planned = again.as_ref().unwrap_or(&prepared.planned);
                let wider = self.concerns(planned).max(concerns);
                if wider != concerns || !self.draw(&schema, planned)? {
                    concerns = wider;
                    continue;
                }
            }
            let Some(again) = again else {
                return Ok(Begun::From(schema, None));
            };
            if counts(&again) && !self.own.is_used() {
                self.provide_numbers()?;
            } else if own && matches!(again.command, Command::Ddl(_)) && !is_own(&again) {
                own = false;
            } else {
                return Ok(Begun::From(schema, Some(Box::new(again))));
            }
        }
    }

    fn plan_against(&self, catalog: &Catalog, prepared: &Prepared) -> SqlResult<Planned> {
        let context = self.host.plan_context(catalog);
        let source = &prepared.source;
        self.host
            .watched(|| quintet_sql::plan(&source.parsed, &context, &source.declared))
    }

    /// Whether the session would take these values.
    fn check_settings(&self, settings: &[(String, String)]) -> SqlResult<()> {
        if settings.is_empty() {
            return Ok(());
        }
        let mut tried = self.host.settings.clone();
        let mut settings = settings.iter();
        settings.try_for_each(|(name, value)| tried.set(name, Some(value)))
    }

    /// Waits for the transactions that have rows of what will be changed locked, since their commits would be refused. Others may
    /// change other things meanwhile: the turn is taken afterwards.
    pub(super) fn let_writers_end(&mut self, spaces: &[SpaceId]) -> SqlResult<Option<Pause>> {
        let waited = self
            .ensure_txn_at(self.level, Timestamp::MAX)
            .wait_for_writers(spaces);
        self.is_through(waited)
    }

    /// Whoever begins to write to what will be changed, in a transaction of several statements, waits from here on.
    fn keep_writers_out(&mut self, plan: &DdlPlan) -> SqlResult<Option<Pause>> {
        let spaces = quintet_direct::spaces_changed(&plan.work);
        let locked = self
            .ensure_txn_at(self.level, Timestamp::MAX)
            .lock_for_change(&spaces);
        self.is_through(locked)
    }

    /// Whether there is something to be waited for.
    pub(super) fn is_through(&self, done: Result<(), TcError>) -> SqlResult<Option<Pause>> {
        match done {
            Ok(()) => Ok(None),
            Err(TcError::Blocked(_)) if self.cancel.swap(false, Ordering::AcqRel) => {
                Err(canceled())
            }
            Err(TcError::Blocked(wait)) => Ok(Some(Pause(Reason::Row(wait)))),
            Err(error) => Err(translate(
                error,
                self.level,
                &self.host.schema.catalog_names(),
            )),
        }
    }

    /// Drops what no schema names, in a transaction of its own.
    pub(super) fn drop_unnamed(&self, work: &TemporaryWork) -> SqlResult<()> {
        let mut txn = self.db.tc.begin(Level::ReadCommitted);
        let dropped = self.db.direct.drop_sequences(&work.counters, &mut txn);
        work.spaces.iter().for_each(|space| txn.drop_space(*space));
        let committed = dropped.and_then(|()| {
            loop {
                match txn.commit(Durability::Async) {
                    // For the log's room: nobody has closed them.
                    Err(TcError::Blocked(wait)) => wait.wait(),
                    done => return done.map(|_| ()),
                }
            }
        });
        let names = self.host.schema.catalog_names();
        committed.map_err(|error| translate(error, Level::ReadCommitted, &names))
    }

    /// Sees to it that nobody is in a database that is to be dropped or gets another name, and that nobody comes in. `Some`: wait, and call again.
    fn close_database(&mut self, plan: &DdlPlan) -> SqlResult<Option<Pause>> {
        let (number, force) = match plan.database {
            Some(DatabaseChange::Drop { number, force }) => (number, force),
            Some(DatabaseChange::Rename(number)) => (number, false),
            Some(DatabaseChange::Make {
                template: Some(number),
                ..
            }) => (number, false),
            Some(DatabaseChange::Make { template: None, .. }) | None => return Ok(None),
        };
        if self.closed.is_some() {
            return Ok(None);
        }
        let count = match Closed::new(&self.db.house, number) {
            Ok(closed) => {
                self.closed = closed;
                self.closing_until = None;
                return Ok(None);
            }
            Err(count) => count,
        };
        let schema = Arc::clone(self.schema());
        let mut records = schema.catalog.other_databases();
        let found = records.find(|(record, _)| record.number == number);
        let name = found.map_or("", |(record, _)| record.name.as_str());
        if force {
            let slots = self.db.activity.slots();
            let there = slots.iter().filter(|slot| slot.database == name);
            there.for_each(|slot| {
                slot.interrupt(Interrupt::Terminate);
            });
        }
        let now = self.db.clock.monotonic_nanos();
        let until = *self.closing_until.get_or_insert(now + CLOSING_NANOS);
        if now < until {
            let moment = now + LOOKING_NANOS;
            return Ok(Some(Pause(Reason::Sleep(self.db.alarms.at(moment)))));
        }
        self.closing_until = None;
        let detail = match count {
            1 => "There is 1 other session using the database.".to_string(),
            count => format!("There are {count} other sessions using the database."),
        };
        let what = match plan.database {
            Some(DatabaseChange::Make { .. }) => "source database",
            _ => "database",
        };
        Err(SqlError::new(
            SqlState::OBJECT_IN_USE,
            format!("{what} \"{name}\" is being accessed by other users"),
        )
        .detail(detail))
    }

    /// What a database that is being made begins with, and where its catalogue is; `None`: it is empty.
    fn copy_of_template(
        &self,
        plan: &DdlPlan,
        shared: &Catalog,
    ) -> SqlResult<Option<(SpaceId, Copied)>> {
        let (Some(DatabaseChange::Make { number, .. }), Some(template)) =
            (plan.database, &self.closed)
        else {
            return Ok(None);
        };
        let mut made = shared.other_databases();
        let Some((record, space)) = made.find(|(record, _)| record.number == number) else {
            return Ok(None);
        };
        Ok(Some((space, template.copy(record, shared)?)))
    }

    pub(super) fn do_change(
        &mut self,
        plan: &DdlPlan,
        schema: &Schema,
    ) -> SqlResult<Option<Pause>> {
        if plan.changes.is_empty() && plan.work.is_empty() {
            return Ok(None);
        }
        let (of_all, named) = self.change_of_all(plan)?;
        let seen = match &of_all {
            Some(changed) if !self.own.is_used() => Arc::clone(changed),
            _ => {
                let changes: Vec<CatalogChange> =
                    plan.changes.iter().chain(&named).cloned().collect();
                let catalog = schema.catalog.apply(&changes)?;
                with_catalog(&self.db, catalog, of_all.as_deref().unwrap_or(schema))
            }
        };
        // Rows that are written anew may draw numbers of a sequence that comes with the change.
        let before = std::mem::replace(&mut self.host.schema, Arc::clone(&seen));
        let copied = self.copy_of_template(plan, &seen.catalog)?;
        let dropped = self.closed.as_ref().filter(|_| plan.drops_database());
        let dropped = dropped.map(|closed| closed.work_of_drop());
        let work = dropped
            .as_ref()
            .or(copied.as_ref().map(|(_, copied)| &copied.work));
        let done = self.do_work(work.unwrap_or(&plan.work));
        self.host.schema = before;
        if let Some(pause) = done? {
            return Ok(Some(pause));
        }
        // Behind the work, which says what this database needs of them.
        self.db.refuse_needed_roles(&plan.changes)?;
        let names = schema.catalog_names();
        let level = self.level;
        let txn = self.txn.as_mut().expect("ensured by the caller");
        let mut put = |space, key: &[u8], value: Option<&[u8]>| {
            let key = Bytes::copy_from_slice(key);
            match value {
                Some(value) => txn.put(space, key, Bytes::copy_from_slice(value)),
                None => txn.delete(space, key),
            }
            .map_err(|error| translate(error, level, &names))
        };
        let stored = plan.changes.iter().filter(|change| !change.is_temporary());
        let stored: Vec<&CatalogChange> = stored.chain(&named).collect();
        let shared = stored.iter().any(|change| Catalog::is_shared(&change.key));
        let turns = self.db.turns_written(shared);
        for change in stored {
            let space = self.db.space_of(change);
            put(space, &change.key, change.value.as_deref())?;
        }
        if let Some((space, copied)) = copied {
            for change in copied.changes {
                put(space, &change.key, change.value.as_deref())?;
            }
        }
        if of_all.is_some() {
            // Written by every change, so that the next one finds its snapshot stale.
            for key in turns {
                let value = schema.revision.to_le_bytes();
                put(crate::database::TURN_SPACE, &key, Some(&value))?;
            }
            let left = schema.catalog.left_by(&plan.changes)?;
            let left = crate::past::leave(&self.db, left);
            for (key, value) in left.map_err(|error| translate(error, level, &names))? {
                put(crate::past::PAST_SPACE, &key, value.as_deref())?;
            }
            self.changed.schema = of_all;
            let shared = match self.concerns_of(plan) {
                Concerns::All => Shared::ChangedAlone,
                _ if shared => Shared::Changed,
                _ => Shared::AsItIs,
            };
            self.changed.shared = self.changed.shared.max(shared);
        }
        if self.own.is_used() {
            self.change_own(plan, seen)?;
        }
        Ok(None)
    }

    /// The schema that everybody will see after a change, and what is to be written besides its own records; `None`: the same as before.
    fn change_of_all(
        &self,
        plan: &DdlPlan,
    ) -> SqlResult<(Option<Arc<Schema>>, Vec<CatalogChange>)> {
        if plan.is_temporary() {
            return Ok((None, Vec::new()));
        }
        let before = match &self.changed.schema {
            Some(changed) => Arc::clone(changed),
            None => self.db.schema(),
        };
        let changes = plan.changes.iter().filter(|change| !change.is_temporary());
        let changes: Vec<CatalogChange> = changes.cloned().collect();
        let mut catalog = before.catalog.apply(&changes)?;
        // A name under which the first database has got something means it for good.
        let named = match self.db.place.is_first() {
            true => catalog.name_first(&self.host.database)?,
            false => Vec::new(),
        };
        if !named.is_empty() {
            catalog = catalog.apply(&named)?;
        }
        let changed = Schema {
            catalog,
            timestamp: Timestamp::MAX,
            revision: self.db.next_revision(),
            classes: Levels::default(),
        };
        Ok((Some(Arc::new(changed)), named))
    }

    /// The physical part of a change.
    pub(super) fn do_work(&mut self, work: &[Work]) -> SqlResult<Option<Pause>> {
        let txn = self.txn.as_mut().expect("ensured by the caller");
        let mark = txn.begin_statement();
        let mut context = Context {
            txn,
            host: &self.host,
            params: &[],
            cancel: &self.cancel,
        };
        match self.db.direct.work(&mut context, work) {
            Ok(()) => Ok(None),
            Err(Stop::Blocked(wait)) => {
                context.txn.rollback_to(mark);
                Ok(Some(Pause(Reason::Row(wait))))
            }
            Err(Stop::Error(error)) => {
                context.txn.rollback_to(mark);
                Err(error)
            }
            Err(Stop::Commit | Stop::Ask) => Err(only_calls_commit()),
        }
    }

    /// The transaction has committed: its schema is everybody's.
    pub(super) fn publish_schema(&mut self, timestamp: Timestamp) {
        if let Some(changed) = self.changed.schema.take() {
            let shared = std::mem::take(&mut self.changed.shared);
            let closed = self.closed.take();
            let number = closed.as_ref().map(Closed::number);
            let mut now = changed.catalog.other_databases();
            let is_gone = !now.any(|(record, _)| Some(record.number) == number);
            let schema = Schema {
                catalog: changed.catalog.clone(),
                timestamp,
                revision: changed.revision,
                classes: Levels::default(),
            };
            self.db.publish(schema, shared);
            if let Some(closed) = closed.filter(|_| is_gone) {
                closed.stay_closed();
            }
        }
    }
}

/// Whether nothing that another session has can need what a change concerns.
fn is_harmless(planned: &Planned, catalog: &Catalog) -> bool {
    let is_grant = matches!(planned.tag, "GRANT" | "REVOKE");
    match &planned.command {
        Command::Ddl(plan) => plan.is_harmless(catalog, is_grant),
        _ => true,
    }
}

/// A change may not change what is another session's.
fn refuse_others(plan: &DdlPlan, others: &[Arc<TemporaryRecords>]) -> SqlResult<()> {
    let is_of_others = |change: &CatalogChange| {
        others
            .iter()
            .any(|records| records.contains_key(&change.key))
    };
    match plan.changes.iter().any(is_of_others) {
        true => Err(SqlError::new(
            SqlState::OBJECT_IN_USE,
            "cannot change temporary tables of other sessions",
        )
        .detail("Something that another session has in its temporary schema needs what is to be changed.")),
        false => Ok(()),
    }
}

/// A key that is still violated keeps its table from being changed.
fn pending(error: SqlError, (table, tag): (TableId, &str), schema: &Schema) -> SqlError {
    let violated = matches!(
        error.state,
        SqlState::FOREIGN_KEY_VIOLATION
            | SqlState::UNIQUE_VIOLATION
            | SqlState::EXCLUSION_VIOLATION
    );
    match schema.catalog.table_by_id(table) {
        Some(table) if violated => has_pending(tag, &table.name),
        _ => error,
    }
}

/// `55006`.
pub(super) fn has_pending(tag: &str, name: &str) -> SqlError {
    let what = tag
        .strip_suffix(" TABLE")
        .filter(|what| *what == "TRUNCATE");
    let what = what.unwrap_or(tag);
    let message = format!("cannot {what} \"{name}\" because it has pending trigger events");
    SqlError::new(SqlState::OBJECT_IN_USE, message)
}
