//! What a call in a batch may ask of the session that sent it, while another session's thread runs it.
//!
//! Relies on: the session waits meanwhile.  Promises: the call sees its session's settings, user and times, and
//! tells its notices to its client; what only the session itself can answer (`currval`, `random` after
//! `setseed`) is not answered: the call is to be put out and run by its session.
//! Does not: change the session; what it has to remember comes back with the answer.

use crate::database::Schema;
use crate::host::{SessionHost, no_sequence};
use crate::settings::Settings;
use quintet_base::text_format::FormatContext;
use quintet_base::{RoleId, RoutineId, SequenceId, SqlError, SqlResult, TableId, Value};
use quintet_direct::Direct;
use quintet_ir::{Need, Program, SequenceState};
use quintet_rt::Clock;
use quintet_sql::command::Notice;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// What hardly ever changes in a session.
pub(crate) struct Facts {
    settings: Settings,
    database: String,
    process_id: i32,
    clock: Arc<dyn Clock>,
    /// What its call was planned with. Here, since a count that all sessions share is slow to change.
    pub schema: Arc<Schema>,
}

/// A session as a call in a batch sees it.
pub(crate) struct LentHost {
    facts: Arc<Facts>,
    direct: Option<Direct>,
    transaction_time: i64,
    statement_time: i64,
    /// Sequences it has drawn from, with the last values.
    pub given: RefCell<Vec<(SequenceId, i64)>>,
    pub notices: RefCell<Vec<Notice>>,
    asked: Cell<bool>,
    /// It is a CALL or DO, which may end its transaction.
    ends: bool,
}

impl Facts {
    fn new(host: &SessionHost) -> Facts {
        Facts {
            settings: host.settings.clone(),
            database: host.database.clone(),
            process_id: host.process_id,
            clock: Arc::clone(&host.clock),
            schema: Arc::clone(&host.schema),
        }
    }

    /// Of a session whose statement has begun. `known`: what an earlier one was made of, good as long as neither a setting nor the
    /// catalogue has changed.
    pub fn of(host: &SessionHost, known: &mut Option<Arc<Facts>>) -> Arc<Facts> {
        let is_same = |facts: &&Arc<Facts>| {
            facts.settings.changes == host.settings.changes
                && Arc::ptr_eq(&facts.schema, &host.schema)
        };
        match known.as_ref().filter(is_same) {
            Some(facts) => Arc::clone(facts),
            None => Arc::clone(known.insert(Arc::new(Facts::new(host)))),
        }
    }
}

impl LentHost {
    /// Of a session whose statement has begun.
    pub fn new(host: &SessionHost, facts: Arc<Facts>, ends: bool) -> LentHost {
        LentHost {
            facts,
            direct: None,
            transaction_time: host.transaction_time,
            statement_time: host.statement_time,
            given: RefCell::default(),
            notices: RefCell::default(),
            asked: Cell::new(false),
            ends,
        }
    }

    /// Who runs the call lends his handle of the engine.
    pub fn begin(&mut self, direct: &Direct) {
        self.direct = Some(direct.clone());
        self.given.get_mut().clear();
        self.notices.get_mut().clear();
        self.asked.set(false);
    }

    /// Whether the call has asked for what only its session can answer; its outcome is worth nothing then.
    pub fn has_asked_session(&self) -> bool {
        self.asked.get()
    }

    /// The call wants what only its session can do.
    pub fn needs_session(&self) {
        self.asked.set(true);
    }

    fn ask_session(&self) -> SqlError {
        self.asked.set(true);
        SqlError::internal("a call in a batch asked for its session")
    }

    fn engine(&self) -> &Direct {
        self.direct.as_ref().expect("set when the call begins")
    }
}

impl quintet_ir::Host for LentHost {
    fn transaction_time(&self) -> i64 {
        self.transaction_time
    }

    fn statement_time(&self) -> i64 {
        self.statement_time
    }

    fn clock_time(&self) -> i64 {
        self.facts.clock.now_micros()
    }

    fn format(&self) -> &FormatContext {
        &self.facts.settings.format
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.facts.settings.get(name).map(str::to_string)
    }

    fn program(&self, _: RoutineId) -> SqlResult<Arc<Program>> {
        Err(self.ask_session())
    }

    fn put_off(&self, _: u32, _: bool, _: &[&Value]) -> SqlResult<bool> {
        Err(self.ask_session())
    }

    fn notify(&self, _: &str, _: &str) -> SqlResult<()> {
        Err(self.ask_session())
    }

    /// Only calls that are get into a batch.
    fn is_alone(&self) -> bool {
        self.ends
    }

    fn user(&self) -> &str {
        self.facts.settings.user()
    }

    fn session_user(&self) -> &str {
        self.facts
            .settings
            .get("session_authorization")
            .unwrap_or_default()
    }

    fn role_name(&self, role: RoleId) -> String {
        self.facts.schema.catalog.roles().name(role)
    }

    fn is_restricted(&self) -> bool {
        let role = self.facts.settings.identity.current();
        !self.facts.schema.catalog.roles().is_superuser(role)
    }

    fn is_replica(&self) -> bool {
        self.facts.settings.is_replica
    }

    fn hides_rows(&self, table: TableId, role: Option<RoleId>) -> SqlResult<bool> {
        let role = role.unwrap_or_else(|| self.facts.settings.identity.current());
        let shown = self.facts.settings.shows_rows();
        self.facts.schema.catalog.hides_rows(table, role, shown)
    }

    fn is_one_of(&self, roles: &[RoleId]) -> bool {
        self.facts
            .schema
            .catalog
            .roles()
            .is_one_of(self.facts.settings.identity.current(), roles)
    }

    fn allow(&self, needs: &[Need]) -> SqlResult<()> {
        let role = self.facts.settings.identity.current();
        self.facts.schema.catalog.allow(role, needs)
    }

    fn database(&self) -> &str {
        &self.facts.database
    }

    fn schema(&self) -> &str {
        "public"
    }

    fn random(&self) -> u64 {
        // It may have been seeded, so the next number is the session's to give.
        let _ = self.ask_session();
        0
    }

    fn set_seed(&self, _: u64) -> SqlResult<()> {
        Err(self.ask_session())
    }

    fn current_of(&self, _: &str, _: TableId, _: &str) -> SqlResult<Vec<Value>> {
        Err(self.ask_session())
    }

    fn secret(&self) -> [u8; 16] {
        quintet_rt::rand::secret()
    }

    fn nextval(&self, sequence: SequenceId) -> SqlResult<i64> {
        let catalog = &self.facts.schema.catalog;
        if self.is_restricted() {
            catalog.allow_draw(self.facts.settings.identity.current(), sequence)?;
        }
        let known = catalog.sequence_by_id(sequence);
        let missing = || no_sequence(sequence, &self.facts.settings.format);
        let value = self.engine().nextval(known.ok_or_else(missing)?)?;
        self.given.borrow_mut().push((sequence, value));
        Ok(value)
    }

    fn currval(&self, _: SequenceId) -> SqlResult<i64> {
        Err(self.ask_session())
    }

    fn lastval(&self) -> SqlResult<i64> {
        Err(self.ask_session())
    }

    fn sequence_state(&self, _: SequenceId) -> SqlResult<SequenceState> {
        Err(self.ask_session())
    }

    fn setval(&self, _: SequenceId, _: i64, _: bool) -> SqlResult<i64> {
        Err(self.ask_session())
    }

    fn process_id(&self) -> i32 {
        self.facts.process_id
    }

    fn transaction_number(&self) -> SqlResult<i64> {
        Err(self.ask_session())
    }

    fn notices(&self) -> usize {
        self.notices.borrow().len()
    }

    fn forget_notices(&self, from: usize) {
        self.notices.borrow_mut().truncate(from);
    }

    fn notice(&self, severity: &'static str, message: SqlError) {
        if self.facts.settings.wants(severity) {
            let notice = Notice { severity, message };
            self.notices.borrow_mut().push(notice);
        }
    }
}
