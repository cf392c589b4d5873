//! What a session shows of itself, and what it sees of others: pg_stat_activity.
//!
//! Relies on: `activity` for the slots.  Promises: the rows of a relation are those of the moment that it is read at, in
//! PostgreSQL's columns; of sessions of other users only their name and number are told, unless the role has
//! their rights, those of `pg_read_all_stats`, or is a superuser.  Does not: show what runs inside a call.

use super::portal::Portal;
use super::{Mode, Session};
use crate::activity::{Event, Interrupt, Slot, Stand, State};
use crate::contention::Label;
use crate::database::{Inner, Schema};
use crate::step::{Pause, Reason, Step};
use quintet_base::value::Array;
use quintet_base::{RoleId, SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_sql::DatabaseStand;
use quintet_sql::role::READ_ALL_STATS;
use quintet_sql::without_passwords;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// pg_database's number of the session's database.
const DATABASE: u32 = 5;

/// Its number of the first database where another one asks, if no name of it is known.
const FIRST_DATABASE: u32 = 1;

/// What is told of a statement that is none of the role's business.
const HIDDEN: &str = "<insufficient privilege>";

impl Session {
    /// A portal is run: for the first time, or again after its rows were enough.
    pub(super) fn show_active(&mut self, portal: &Portal) {
        let now = self.host.clock.now_micros();
        self.begun_at = now;
        self.shown = State::Active;
        if portal.prepared.label != Label::default() && portal.prepared.label != self.label {
            self.label = portal.prepared.label;
            self.present.slot.is_labelled(self.label);
        }
        let mut shown = self.present.slot.shown.lock();
        shown.state = State::Active;
        shown.changed = now;
        shown.query_began = Some(now);
        shown.transaction = Some(match self.mode {
            Mode::Idle => now,
            _ => self.host.transaction_time,
        });
        let same = |known: &Arc<_>| Arc::ptr_eq(known, &portal.prepared);
        if !shown.prepared.as_ref().is_some_and(same) {
            shown.prepared = Some(Arc::clone(&portal.prepared));
        }
        if portal.text.is_some() || shown.text.is_some() {
            shown.text.clone_from(&portal.text);
        }
    }

    /// Everything that was asked for is done.
    pub(super) fn show_idle(&mut self) {
        let state = match self.mode {
            Mode::Idle | Mode::Implicit => State::Idle,
            Mode::Explicit => State::InTransaction,
            Mode::Failed => State::Aborted,
        };
        if self.shown == state {
            return;
        }
        self.shown = state;
        let slot = &self.present.slot;
        if self.txn.is_none() {
            slot.runs(None);
        }
        slot.stands(Stand::Nowhere);
        let mut shown = slot.shown.lock();
        shown.state = state;
        shown.changed = self.host.clock.now_micros();
        // One that has failed is over, but for its end.
        let runs = state == State::InTransaction;
        shown.transaction = runs.then_some(self.host.transaction_time);
        if self.known_settings != self.host.settings.changes {
            self.known_settings = self.host.settings.changes;
            let name = self.host.settings.get("application_name");
            shown.application_name = name.unwrap_or_default().to_string();
        }
    }

    /// The session goes on, after a wait if there was one.
    pub(super) fn show_running(&mut self) {
        if self.present.slot.event() != Event::None {
            self.present.slot.waits(Event::None, 0);
            self.note_waited();
        }
    }

    fn waits_for_table(&self) -> bool {
        let txn = self.txn.as_ref();
        txn.and_then(|txn| txn.awaited())
            .is_some_and(|(_, key)| key.is_empty())
    }

    /// A step came out; it may be a wait.
    pub(super) fn show_step(&mut self, step: &SqlResult<Step>) {
        if let Ok(Step::Wait(Pause(reason))) = step {
            let event = match reason {
                Reason::Row(_) | Reason::OfRun(_) if self.waits_for_table() => Event::Table,
                Reason::Row(_) | Reason::OfRun(_) => Event::Row,
                Reason::Turn(_) => Event::Line,
                Reason::Batch(_) => Event::Batch,
                Reason::Advisory(..) => Event::Advisory,
                Reason::Sleep(_) => Event::Sleep,
                Reason::Disk(_) => Event::Disk,
                Reason::Others(_) => return,
            };
            // Commits wait for the disk; nobody asks since when.
            let since = match event {
                Event::Disk => 0,
                _ => self.host.clock.now_micros(),
            };
            self.present.slot.waits(event, since);
            self.note_waiting(event, since);
        }
    }

    /// How the session is told that somebody wants it to stop, from now on: by whoever serves it.
    pub fn on_interrupt(&self, tell: impl Fn(Interrupt) -> bool + Send + Sync + 'static) {
        // The first one stays: a session is served once.
        let _ = self.present.slot.interrupted.set(Box::new(tell));
    }

    /// What pg_backend_pid() says.
    pub fn process_id(&self) -> i32 {
        self.present.slot.number
    }
}

/// What a role asks about sessions.
pub(super) struct Asker<'a> {
    pub db: &'a Inner,
    pub schema: &'a Schema,
    pub role: RoleId,
}

impl Asker<'_> {
    /// What the relation of this name has for rows; `None`: it is no live one.
    pub fn rows(&self, relation: &str) -> Option<Vec<Vec<Value>>> {
        match relation {
            "pg_stat_activity" => {
                let slots = self.db.activity.slots();
                Some(slots.iter().map(|slot| self.activity(slot)).collect())
            }
            "pg_locks" => Some(self.locks()),
            "pg_stat_database" => Some(vec![self.statistics()]),
            "quintet_waits" => Some(self.waits()),
            "quintet_contention" => Some(self.contention()),
            _ => None,
        }
    }

    /// What a function about sessions says; `None`: it is no such function.
    ///
    /// # Errors
    /// `42501` for a session of somebody else's.
    pub fn function(&self, name: &str, arguments: &[&Value]) -> SqlResult<Option<Value>> {
        let number = || {
            let number = arguments.first().and_then(|value| value.as_i64());
            number.and_then(|number| i32::try_from(number).ok())
        };
        Ok(match name {
            "live()" => {
                let relation = arguments.first().and_then(|name| name.as_str());
                let rows = self.rows(relation.unwrap_or_default());
                rows.map(records)
            }
            "pg_cancel_backend" => Some(self.interrupt(number(), Interrupt::Cancel)?),
            "pg_terminate_backend" => Some(self.interrupt(number(), Interrupt::Terminate)?),
            _ => self.wait_function(name, arguments)?,
        })
    }

    /// In the order of pg_stat_database's columns: what is not counted is 0, or NULL where PostgreSQL may say so.
    fn statistics(&self) -> Vec<Value> {
        let tc = self.db.tc.stats();
        let count = |count: u64| Value::Int8(i64::try_from(count).unwrap_or(i64::MAX));
        let mut slots = self.db.activity.slots();
        slots.retain(|slot| self.database_of(slot) == DATABASE);
        let database = slots.first().map_or("", |slot| &*slot.database);
        let mut row = vec![
            Value::Oid(DATABASE),
            Value::text(database),
            Value::Int4(i32::try_from(slots.len()).unwrap_or(i32::MAX)),
            count(tc.commits + tc.read_only),
            count(self.db.rollbacks.load(Ordering::Relaxed)),
        ];
        // Blocks, rows, conflicts with a standby's replay, temporary files, deadlocks.
        row.resize(15, Value::Int8(0));
        row.extend([Value::Null, Value::Null]);
        row.extend([const { Value::Float8(0.0) }; 5]);
        row.push(count(self.db.activity.opened()));
        row.resize(26, Value::Int8(0));
        row.push(Value::Null);
        row
    }

    fn may_see(&self, of: RoleId) -> bool {
        let roles = self.schema.catalog.roles();
        roles.has_privileges_of(self.role, of) || roles.has_privileges_of(self.role, READ_ALL_STATS)
    }

    /// The number by which `pg_database`, as this database shows it, has the one that a session is in.
    fn database_of(&self, slot: &Slot) -> u32 {
        let record = self.schema.catalog.database_named(&slot.database);
        let (number, shown) = match record.map(|record| (record.stand, record.number)) {
            Some((DatabaseStand::Own(_), number)) => (number, number),
            Some((_, shown)) => (0, shown),
            None => (0, FIRST_DATABASE),
        };
        match number == self.db.place.number {
            true => DATABASE,
            false => shown,
        }
    }

    /// The same; of nobody's: this one.
    pub(super) fn database_there(&self, slot: Option<&Arc<Slot>>) -> u32 {
        slot.map_or(DATABASE, |slot| self.database_of(slot))
    }

    /// In the order of pg_stat_activity's columns.
    fn activity(&self, slot: &Slot) -> Vec<Value> {
        let text = |text: &str| Value::text(text);
        let time = |time: Option<i64>| time.map_or(Value::Null, Value::TimestampTz);
        let shown = slot.shown.lock();
        let user = match self.schema.catalog.roles().name(slot.role) {
            // Users of the configuration are no roles, and may have any name.
            _ if slot.role == RoleId::BOOTSTRAP => slot.user.clone(),
            name => name,
        };
        let may = self.may_see(slot.role);
        let only = |value: Value| if may { value } else { Value::Null };
        let client = |of: fn(&std::net::SocketAddr) -> Value| {
            only(slot.client.as_ref().map_or(Value::Null, of))
        };
        let (kind, event) = match (slot.event().names(), shown.state) {
            (Some((kind, event)), State::Active) => (text(kind), text(event)),
            (None, State::Active) => (Value::Null, Value::Null),
            _ => (text("Client"), text("ClientRead")),
        };
        let txn = slot.txn().filter(|_| shown.transaction.is_some());
        let query = match (&shown.text, &shown.prepared) {
            _ if !may => text(HIDDEN),
            (Some(sent), _) => text(&without_passwords(sent)),
            (None, Some(prepared)) => text(&without_passwords(prepared.text())),
            (None, None) => text(""),
        };
        vec![
            Value::Oid(self.database_of(slot)),
            text(&slot.database),
            Value::Int4(slot.number),
            Value::Null,
            Value::Oid(slot.role.0),
            text(&user),
            text(&shown.application_name),
            client(|address| Value::text(address.ip().to_string())),
            Value::Null,
            client(|address| Value::Int4(i32::from(address.port()))),
            only(Value::TimestampTz(slot.opened)),
            only(time(shown.transaction)),
            only(time(shown.query_began)),
            only(Value::TimestampTz(shown.changed)),
            only(kind),
            only(event),
            only(text(shown.state.name())),
            txn.map_or(Value::Null, |txn| Value::text(txn.0.to_string())),
            Value::Null,
            Value::Null,
            query,
            only(text("client backend")),
        ]
    }

    fn interrupt(&self, number: Option<i32>, interrupt: Interrupt) -> SqlResult<Value> {
        let Some(slot) = number.and_then(|number| self.db.activity.slot(number)) else {
            return Ok(Value::Bool(false));
        };
        let roles = self.schema.catalog.roles();
        let what = match interrupt {
            Interrupt::Cancel => "query is being canceled",
            Interrupt::Terminate => "process is being terminated",
        };
        let denied =
            |message: String| Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        if roles.is_superuser(slot.role) && !roles.is_superuser(self.role) {
            let verb = match interrupt {
                Interrupt::Cancel => "cancel superuser query",
                Interrupt::Terminate => "terminate superuser process",
            };
            return denied(format!("must be a superuser to {verb}"));
        }
        if !roles.has_privileges_of(self.role, slot.role) {
            return denied(format!(
                "must be a member of the role whose {what} or member of pg_signal_backend"
            ));
        }
        Ok(Value::Bool(slot.interrupt(interrupt)))
    }
}

pub(super) fn records(rows: Vec<Vec<Value>>) -> Value {
    let record = |values: Vec<Value>| {
        Value::Array(Box::new(Array {
            shape: None,
            element: SqlType::Record,
            values,
        }))
    };
    record(rows.into_iter().map(record).collect())
}
