//! What expressions may ask of the session: time, settings, sequences, names.
//!
//! Relies on: the session sets the times when a transaction and a statement begin.
//! Promises: now() stands still within a transaction.  Does not: hold transaction state.

use crate::channels::Channels;
use crate::database::Schema;
use crate::guised::Guised;
use crate::put_off::PutOff;
use crate::session::CursorNames;
use crate::settings::{Settings, refuse_restricted};
use crate::spill::SpillRoom;
use crate::transaction_numbers::TransactionNumbers;
use quintet_base::text_format::FormatContext;
use quintet_base::{
    RoleId, RoutineId, SequenceId, SqlError, SqlResult, SqlState, SqlType, TableId, Value,
};
use quintet_direct::Direct;
use quintet_ir::cursors::Cursors;
use quintet_ir::dynamic::Planned;
use quintet_ir::schema::SequenceDef;
use quintet_ir::{
    Guise, Need, Object, ObjectKind, Privileges, Program, PutOffSoFar, SequenceState, Spill,
};
use quintet_rt::{Clock, Rand};
use quintet_sql::command::{Command, Notice};
use quintet_sql::{Catalog, PlanContext, RowSecurity, Who};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The part of a session that expressions see.
pub(crate) struct SessionHost {
    pub direct: Direct,
    /// For rows that a statement's memory has no room for.
    pub spill: Arc<SpillRoom>,
    pub clock: Arc<dyn Clock>,
    pub settings: Settings,
    pub database: String,
    pub process_id: i32,
    /// Set when a transaction begins.
    pub transaction_time: i64,
    /// Set when a statement begins.
    pub statement_time: i64,
    /// The schema that statements are planned with now, for sequences.
    pub schema: Arc<Schema>,
    /// What nextval gave last, per sequence.
    pub given: RefCell<Given>,
    pub rand: RefCell<Rand>,
    /// What random() gives since setseed.
    pub seeded: RefCell<Option<Rand>>,
    /// When the statement is to be given up, by the monotonic clock. Its thread may be the one that would be told.
    pub deadline: Option<u64>,
    /// When a statement that is run on others' thread has had its moment, by the same clock; see [`Session::execute_briefly`].
    ///
    /// [`Session::execute_briefly`]: crate::Session::execute_briefly
    pub moment: Option<u64>,
    /// It has been told so.
    pub moment_is_over: Cell<bool>,
    /// Set by whoever interrupts the session.
    pub cancel: Arc<AtomicBool>,
    /// When a statement that is planned on others' thread has had its moment, by the same clock; see [`Session::plan_briefly`].
    ///
    /// [`Session::plan_briefly`]: crate::Session::plan_briefly
    pub planning_until: Option<u64>,
    /// Planning was given up for that.
    pub planned_too_long: Arc<AtomicBool>,
    /// What the statement waits for it has waited for as long as `lock_timeout` lets it.
    pub given_up: Cell<bool>,
    /// Of the transaction.
    pub read_only: bool,
    /// What the transaction is called by `txid_current`; 0 until it is asked for.
    pub number: Cell<i64>,
    pub numbers: Arc<TransactionNumbers>,
    /// Whether the transaction was said to be DEFERRABLE; none: as all of the session's.
    pub deferrable: Option<bool>,
    /// What the transaction's level is called.
    pub level_name: &'static str,
    /// The call at hand is a transaction of its own, and a CALL or DO: it may end it.
    pub alone: bool,
    /// What set_config has been asked for: name, value, local. Done when the statement is.
    pub to_set: RefCell<Vec<(String, String, bool)>>,
    pub channels: Arc<Channels>,
    /// What NOTIFY has been given in this transaction: channel, payload.
    pub said: RefCell<Vec<(String, String)>>,
    /// Calls of triggers that wait for the end of the transaction.
    pub put_off: RefCell<PutOff>,
    /// What routines have opened.
    pub cursors: RefCell<Cursors>,
    /// What clients have declared.
    pub declared: CursorNames,
    /// By which its temporary tables are found.
    pub temporary: u32,
    /// To be told to the client.
    pub notices: RefCell<Vec<Notice>>,
}

/// `57014`.
fn canceled(reason: &str) -> SqlError {
    let message = format!("canceling statement due to {reason}");
    SqlError::new(SqlState::QUERY_CANCELED, message)
}

/// What sequences have given to a session.
#[derive(Default)]
pub(crate) struct Given {
    values: HashMap<SequenceId, i64>,
    /// Of which nextval was called last.
    last: Option<SequenceId>,
}

impl Given {
    /// nextval has given this.
    pub fn note(&mut self, sequence: SequenceId, value: i64) {
        self.values.insert(sequence, value);
        self.last = Some(sequence);
    }

    /// The session is as new.
    pub fn clear(&mut self) {
        *self = Given::default();
    }
}

impl SessionHost {
    /// Runs `plan` until somebody interrupts the session, or the statement's time is over.
    ///
    /// # Errors
    /// Those of `plan`; `57014`.
    pub fn watched<R>(&self, plan: impl FnOnce() -> SqlResult<R>) -> SqlResult<R> {
        let cancel = Arc::clone(&self.cancel);
        let clock = Arc::clone(&self.clock);
        let (deadline, moment) = (self.deadline, self.planning_until);
        let too_long = Arc::clone(&self.planned_too_long);
        let look = move || {
            if cancel.load(Ordering::Acquire) && cancel.swap(false, Ordering::AcqRel) {
                return Some(canceled("user request"));
            }
            if deadline.is_none() && moment.is_none() {
                return None;
            }
            let now = clock.monotonic_nanos();
            let over = |end: Option<u64>| end.is_some_and(|end| now >= end);
            if over(deadline) {
                return Some(canceled("statement timeout"));
            }
            over(moment).then(|| {
                too_long.store(true, Ordering::Relaxed);
                canceled("a moment's end")
            })
        };
        quintet_sql::watched(Rc::new(look), plan)
    }

    /// The value of a setting that each transaction has one of its own of.
    pub fn of_transaction(&self, name: &str) -> Option<&'static str> {
        if name.eq_ignore_ascii_case("transaction_isolation") {
            Some(self.level_name)
        } else if name.eq_ignore_ascii_case("transaction_read_only") {
            Some(if self.read_only { "on" } else { "off" })
        } else if name.eq_ignore_ascii_case("transaction_deferrable") {
            let often = || self.settings.get("default_transaction_deferrable") == Some("on");
            let deferrable = self.deferrable.unwrap_or_else(often);
            Some(if deferrable { "on" } else { "off" })
        } else {
            None
        }
    }

    /// Keeps a message for the client, if it wants it.
    pub fn tell(&self, notice: Notice) {
        if self.settings.wants(notice.severity) {
            self.notices.borrow_mut().push(notice);
        }
    }

    /// Whose statements these are.
    pub fn role(&self) -> RoleId {
        self.settings.identity.current()
    }

    /// Whose statement is planned.
    pub fn who(&self) -> Who {
        let mut rand = self.rand.borrow_mut();
        let mut salt = [0; 16];
        salt[..8].copy_from_slice(&rand.next_u64().to_le_bytes());
        salt[8..].copy_from_slice(&rand.next_u64().to_le_bytes());
        Who {
            role: self.role(),
            session: self.settings.identity.session(),
            salt,
            temporary: self.temporary,
            bodies_unchecked: self.settings.get("check_function_bodies") == Some("off"),
            rows: match self.settings.shows_rows() {
                true => RowSecurity::On,
                false => RowSecurity::Off,
            },
        }
    }

    /// What its statements are planned in, against this catalogue.
    pub fn plan_context<'a>(&'a self, catalog: &'a Catalog) -> PlanContext<'a> {
        PlanContext {
            catalog,
            schema: self.settings.path(),
            user: self.who(),
            database: &self.database,
            format: &self.settings.format,
            dynamic: &quintet_sql::NOTHING_DYNAMIC,
        }
    }

    /// Refuses a sequence's use to who has none of these privileges on it.
    fn may(&self, role: RoleId, id: SequenceId, any: Privileges) -> SqlResult<()> {
        let object = Object {
            kind: ObjectKind::Sequence,
            number: id.0,
        };
        match role {
            RoleId::BOOTSTRAP => Ok(()),
            role => self.schema.catalog.allow_any(role, object, any),
        }
    }

    fn sequence(&self, id: SequenceId) -> SqlResult<&SequenceDef> {
        let known = self.schema.catalog.sequence_by_id(id);
        known
            .map(|sequence| &**sequence)
            .ok_or_else(|| no_sequence(id, &self.settings.format))
    }

    pub fn nextval_as(&self, role: RoleId, sequence: SequenceId) -> SqlResult<i64> {
        if role != RoleId::BOOTSTRAP {
            self.schema.catalog.allow_draw(role, sequence)?;
        }
        self.refuse_if_read_only(sequence, "nextval()")?;
        let value = self.direct.nextval(self.sequence(sequence)?)?;
        self.given.borrow_mut().note(sequence, value);
        Ok(value)
    }

    pub fn currval_as(&self, role: RoleId, sequence: SequenceId) -> SqlResult<i64> {
        self.may(role, sequence, Privileges::USAGE | Privileges::SELECT)?;
        let name = &self.sequence(sequence)?.name;
        let given = self.given.borrow().values.get(&sequence).copied();
        given.ok_or_else(|| {
            SqlError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("currval of sequence \"{name}\" is not yet defined in this session"),
            )
        })
    }

    pub fn lastval_as(&self, role: RoleId) -> SqlResult<i64> {
        let last = self.given.borrow().last;
        // One that was dropped meanwhile has given nothing.
        let last = last.filter(|last| self.schema.catalog.sequence_by_id(*last).is_some());
        let Some(last) = last else {
            return Err(SqlError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "lastval is not yet defined in this session",
            ));
        };
        self.currval_as(role, last)
    }

    pub fn setval_as(
        &self,
        role: RoleId,
        sequence: SequenceId,
        value: i64,
        is_called: bool,
    ) -> SqlResult<i64> {
        self.may(role, sequence, Privileges::UPDATE)?;
        self.refuse_if_read_only(sequence, "setval()")?;
        let result = self
            .direct
            .setval(self.sequence(sequence)?, value, is_called)?;
        if is_called {
            self.given.borrow_mut().values.insert(sequence, value);
        }
        Ok(result)
    }

    /// Sequences of temporary schemas are the session's own.
    fn refuse_if_read_only(&self, id: SequenceId, what: &str) -> SqlResult<()> {
        if self.read_only && !self.sequence(id)?.schema.starts_with("pg_temp_") {
            return Err(SqlError::new(
                SqlState::READ_ONLY_SQL_TRANSACTION,
                format!("cannot execute {what} in a read-only transaction"),
            ));
        }
        Ok(())
    }
}

/// What to say of a number that no sequence has: it was dropped, or is another relation's.
pub(crate) fn no_sequence(id: SequenceId, format: &FormatContext) -> SqlError {
    let name = format.objects.name(SqlType::RegClass, id.0);
    if name == "-" || name == id.0.to_string() {
        let message = format!("could not open relation with OID {}", id.0);
        return SqlError::new(SqlState::UNDEFINED_TABLE, message);
    }
    SqlError::new(
        SqlState::WRONG_OBJECT_TYPE,
        format!("\"{name}\" is not a sequence"),
    )
}

/// Plans a statement that is run within another one.
pub(crate) fn plan_here(
    context: &PlanContext<'_>,
    text: &str,
    types: &[SqlType],
) -> SqlResult<Planned> {
    let mut parsed = quintet_sql::parse(text)?;
    let (Some(parsed), 0) = (parsed.pop(), parsed.len()) else {
        return Err(SqlError::unsupported(
            "a text of several statements in a routine that a statement or another routine calls",
        ));
    };
    let planned = quintet_sql::plan(&parsed, context, types);
    let planned = planned.map_err(|error| error.nowhere())?;
    match planned.command {
        Command::Run(procedure) if planned.params.len() <= types.len() => Ok(Planned {
            procedure,
            columns: planned.columns,
            needs: planned.needs,
        }),
        Command::Run(_) => {
            let message = format!("there is no parameter ${}", types.len() + 1);
            Err(SqlError::new(SqlState::UNDEFINED_PARAMETER, message))
        }
        _ => Err(SqlError::unsupported(format!(
            "{} in a routine that a statement or another routine calls",
            planned.tag
        ))),
    }
}

impl quintet_ir::Host for SessionHost {
    fn transaction_time(&self) -> i64 {
        self.transaction_time
    }

    fn is_overdue(&self) -> bool {
        if self.deadline.is_none() && self.moment.is_none() {
            return false;
        }
        let now = self.clock.monotonic_nanos();
        let over = |end: Option<u64>| end.is_some_and(|end| now >= end);
        if over(self.deadline) {
            return true;
        }
        let told = over(self.moment);
        if told {
            self.moment_is_over.set(true);
        }
        told
    }

    fn has_given_up(&self) -> bool {
        self.given_up.take()
    }

    fn statement_time(&self) -> i64 {
        self.statement_time
    }

    fn clock_time(&self) -> i64 {
        self.clock.now_micros()
    }

    fn format(&self) -> &FormatContext {
        &self.settings.format
    }

    fn setting(&self, name: &str) -> Option<String> {
        match self.of_transaction(name) {
            Some(value) => Some(value.to_string()),
            None => self.settings.get(name).map(str::to_string),
        }
    }

    fn set_setting(&self, name: &str, value: &str, local: bool) -> SqlResult<String> {
        if self.is_restricted() {
            refuse_restricted(name)?;
        }
        let mut tried = self.settings.clone();
        tried.set(name, Some(value))?;
        let value = tried.get(&name.to_ascii_lowercase()).unwrap_or(value);
        let value = value.to_string();
        let wanted = (name.to_string(), value.clone(), local);
        self.to_set.borrow_mut().push(wanted);
        Ok(value)
    }

    fn notify(&self, channel: &str, payload: &str) -> SqlResult<()> {
        self.say(channel, payload)
    }

    fn notified(&self) -> usize {
        self.said.borrow().len()
    }

    fn notify_no_more(&self, notified: usize) {
        self.said.borrow_mut().truncate(notified);
    }

    fn put_off(&self, trigger: u32, deferred: bool, arguments: &[&Value]) -> SqlResult<bool> {
        self.put_off.borrow_mut().add(trigger, deferred, arguments)
    }

    fn put_off_so_far(&self) -> PutOffSoFar {
        self.put_off.borrow().so_far()
    }

    fn put_off_no_more(&self, so_far: PutOffSoFar) {
        self.put_off.borrow_mut().back_to(so_far);
    }

    fn cursors(&self) -> Option<&RefCell<Cursors>> {
        Some(&self.cursors)
    }

    fn is_portal(&self, name: &str) -> bool {
        self.declared.has(name)
    }

    fn current_of(&self, cursor: &str, table: TableId, called: &str) -> SqlResult<Vec<Value>> {
        if let Some(opened) = self.cursors.borrow().get(cursor) {
            return opened.key(cursor, table, called);
        }
        self.declared.key(cursor, table, called)
    }

    fn trigger_depth(&self) -> usize {
        self.settings.triggers
    }

    fn set_seed(&self, bits: u64) -> SqlResult<()> {
        *self.seeded.borrow_mut() = Some(Rand::seeded(bits));
        Ok(())
    }

    fn is_alone(&self) -> bool {
        self.alone
    }

    fn user(&self) -> &str {
        self.settings.user()
    }

    fn session_user(&self) -> &str {
        self.settings
            .get("session_authorization")
            .unwrap_or_default()
    }

    fn role_name(&self, role: RoleId) -> String {
        self.schema.catalog.roles().name(role)
    }

    fn role(&self) -> RoleId {
        self.settings.identity.current()
    }

    fn large_object_number(&self) -> SqlResult<u32> {
        let numbers = self.schema.catalog.large_object_numbers();
        let number = self.direct.nextval(numbers)?;
        Ok(u32::try_from(number).unwrap_or(0))
    }

    fn is_restricted(&self) -> bool {
        !self.schema.catalog.roles().is_superuser(self.role())
    }

    fn is_replica(&self) -> bool {
        self.settings.is_replica
    }

    fn hides_rows(&self, table: TableId, role: Option<RoleId>) -> SqlResult<bool> {
        let role = role.unwrap_or_else(|| self.role());
        let shown = self.settings.shows_rows();
        self.schema.catalog.hides_rows(table, role, shown)
    }

    fn is_one_of(&self, roles: &[RoleId]) -> bool {
        self.schema.catalog.roles().is_one_of(self.role(), roles)
    }

    fn allow(&self, needs: &[Need]) -> SqlResult<()> {
        match self.role() {
            RoleId::BOOTSTRAP => Ok(()),
            role => self.schema.catalog.allow(role, needs),
        }
    }

    fn program(&self, routine: RoutineId) -> SqlResult<Arc<Program>> {
        self.watched(|| quintet_sql::program(&self.plan_context(&self.schema.catalog), routine))
    }

    fn plan(&self, text: &str, types: &[SqlType]) -> SqlResult<Planned> {
        self.watched(|| plan_here(&self.plan_context(&self.schema.catalog), text, types))
    }

    fn guised<'h>(&'h self, guises: &[&Guise]) -> SqlResult<Box<dyn quintet_ir::Host + 'h>> {
        Ok(Box::new(Guised::new(self, guises)?))
    }

    fn database(&self) -> &str {
        &self.database
    }

    fn schema(&self) -> &str {
        "public"
    }

    fn random(&self) -> u64 {
        match &mut *self.seeded.borrow_mut() {
            Some(seeded) => seeded.next_u64(),
            None => self.rand.borrow_mut().next_u64(),
        }
    }

    fn secret(&self) -> [u8; 16] {
        quintet_rt::rand::secret()
    }

    fn nextval(&self, sequence: SequenceId) -> SqlResult<i64> {
        self.nextval_as(self.role(), sequence)
    }

    fn currval(&self, sequence: SequenceId) -> SqlResult<i64> {
        self.currval_as(self.role(), sequence)
    }

    fn lastval(&self) -> SqlResult<i64> {
        self.lastval_as(self.role())
    }

    fn sequence_state(&self, sequence: SequenceId) -> SqlResult<SequenceState> {
        self.direct.sequence_state(self.sequence(sequence)?)
    }

    fn setval(&self, sequence: SequenceId, value: i64, is_called: bool) -> SqlResult<i64> {
        self.setval_as(self.role(), sequence, value, is_called)
    }

    fn process_id(&self) -> i32 {
        self.process_id
    }

    fn transaction_number(&self) -> SqlResult<i64> {
        if self.number.get() == 0 {
            self.number.set(self.numbers.next(self.clock.now_micros()));
        }
        Ok(self.number.get())
    }

    fn notices(&self) -> usize {
        self.notices.borrow().len()
    }

    fn forget_notices(&self, from: usize) {
        self.notices.borrow_mut().truncate(from);
    }

    fn reads_ahead(&self) -> bool {
        self.settings.often().reads_ahead
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn statement_memory(&self) -> usize {
        self.settings.work_mem()
    }

    fn spill(&self) -> SqlResult<Box<dyn Spill>> {
        self.spill.file()
    }

    fn notice(&self, severity: &'static str, message: SqlError) {
        self.tell(Notice { severity, message });
    }
}
