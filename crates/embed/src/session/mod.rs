//! A session: SQL in, steps out.
//!
//! Relies on: `sql` (text to commands), `direct` (runs IR), `tc` through it.  Promises: PostgreSQL's
//! rules for transactions, statements and portals; nothing here blocks: what must be waited for comes
//! out as [`Step::Wait`], and the same call goes on afterwards.  Does not: know bytes on a wire.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | the session, statements and portals by name |
//! | `execute` | carrying out a portal's command |
//! | `call` | calls of routines, again where they lose a conflict |
//! | `line` | calls that wait in line before they begin |
//! | `batched` | calls that are run in batches |
//! | `transaction` | begin, commit, roll back, savepoints, failure |
//! | `change` | schema changes |
//! | `cursors` | DECLARE, FETCH, MOVE |
//! | `listening` | LISTEN, NOTIFY |
//! | `advising` | advisory locks |
//! | `locking` | LOCK TABLE |
//! | `temporary` | temporary tables: when the session commits, and when it ends |
//! | `identity` | SET ROLE, SET SESSION AUTHORIZATION |
//! | `copy` | COPY in and out |
//! | `prepared` | what a session has prepared, as it sees it |
//! | `feed` | what the database tells of itself as rows |
//! | `activity`, `waits` | what a session shows of itself, and sees of others; who waits for whom |
//! | `harm` | what it tells of waits and lost conflicts |
//!
//! ```text
//!            statement outside BEGIN            BEGIN
//!   Idle ───────────────────────► Implicit       │
//!    ▲ ▲──── sync: commit ──────────┘            ▼
//!    │ └──────────────── COMMIT, ROLLBACK ──── Explicit ◄── ROLLBACK TO
//!    └────────────────── COMMIT, ROLLBACK ──── Failed ◄──── error
//! ```

mod activity;
mod advising;
mod batched;
mod call;
mod change;
mod copy;
mod cursors;
mod execute;
mod feed;
mod harm;
mod identity;
mod line;
mod listening;
mod locking;
mod objects;
mod prepared;
mod temporary;
mod transaction;
mod waits;

use crate::activity::{Present, State, Who as Shown};
use crate::advisory::Owner;
use crate::channels::{Ear, Listening, Notification};
use crate::contention::{Incident, Label};
use crate::database::{Inner, Schema};
use crate::host::SessionHost;
use crate::lent::Facts;
use crate::settings::Settings;
use crate::step::{RowSink, Step, TransactionStatus};
use batched::Batched;
use call::Calling;
use copy::CopyInto;
use cursors::{Kept, Scroll};
use feed::FeedRows;
use line::Queued;
use prepared::PreparedNames;
use quintet_base::text_format::{self, FormatContext};
use quintet_base::{
    Lsn, RoleId, SpaceId, SqlError, SqlResult, SqlState, SqlType, Timestamp, Value,
};
use quintet_direct::Run;
use quintet_ir::expressions::each_node_of_statement;
use quintet_ir::statement::{Body, OutputColumn};
use quintet_ir::{Path, Plan, Statement};
use quintet_rt::Rand;
use quintet_sql::command::{Command, CopyTo, Notice, Planned};
use quintet_sql::{Parsed, PlanContext, Sizes};
use quintet_tc::{Mark, Txn};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Plans kept per session and protocol by their text; beyond it all are forgotten, since a client that
/// sends so many different texts gains nothing from any of them.
const PLANS_MAX: usize = 512;

/// Who opens a session.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// User name; not checked here. That of a role in the catalogue has the role's rights, any other one everybody's.
    pub user: String,
    /// It is a user of the server's configuration, and a superuser, whatever the catalogue says.
    pub configured: bool,
    /// Database name; any is accepted.
    pub database: String,
    /// What pg_backend_pid() says and cancel requests name; 0: a number is given.
    pub process_id: i32,
    /// Where it comes from, if it comes over a network.
    pub client: Option<SocketAddr>,
    /// Settings of the startup packet (`application_name`, `DateStyle`, …).
    pub settings: Vec<(String, String)>,
}

/// A planned statement.
pub struct Prepared {
    /// Types of the parameters.
    pub params: Vec<SqlType>,
    /// Columns of the result; empty if it returns no rows.
    pub columns: Vec<OutputColumn>,
    source: Source,
    planned: Planned,
    /// Of the schema it was planned with; planned again when that moves.
    revision: u64,
    /// When that schema was committed; [`Timestamp::MAX`] if it was this transaction's own.
    schema_timestamp: Timestamp,
    /// Of the search path it was planned with; the same.
    path_version: u64,
    /// Some column's values are written by its type alone; see [`RowSink::typed`].
    typed: bool,
    /// Whose statement it was when it was planned.
    role: RoleId,
    short: bool,
    /// What its conflicts are counted by.
    label: Label,
    /// How many rows the tables had that the plan was made for; planned again when they have many more, or fewer.
    sizes: Vec<(SpaceId, u64)>,
    /// Tables that a query reads from one end to the other; empty for what locks or writes.
    scans: Vec<SpaceId>,
    /// Literals must stay in its text; see [`wants_constants`].
    constants: bool,
}

/// The tables that a query reads from one end to the other.
fn scanned(statement: &Statement) -> Vec<SpaceId> {
    let mut found = Vec::new();
    let mut locks = !matches!(statement, Statement::Query(_));
    each_node_of_statement(statement, &mut |plan| match plan {
        Plan::Scan(access) if matches!(access.path, Path::Full) => found.push(access.table.space),
        Plan::Lock { .. } | Plan::Call { .. } => locks = true,
        _ => {}
    });
    if locks { Vec::new() } else { found }
}

/// True if the plan might be another with parameters' values in it as constants.
fn wants_constants(statement: &Statement) -> bool {
    let mut found = false;
    each_node_of_statement(statement, &mut |plan| {
        if let Plan::Scan(access) = plan {
            found = found || access.table.is_found_by_constants();
        }
    });
    found
}

impl Prepared {
    /// The statement, as it was planned.
    pub(crate) fn text(&self) -> &str {
        self.source.parsed.text()
    }
}

/// What a plan can be made from again.
#[derive(Clone)]
struct Source {
    parsed: Arc<Parsed>,
    /// As the client declared them, `Unknown` where it did not.
    declared: Arc<[SqlType]>,
}

/// A plan is made again when a table has so many times the rows that it was made for, or that share of them;
/// orders of joins hardly change within this.
const SIZE_FACTOR: u64 = 4;

/// Tables of fewer rows are as good as one another.
const ROWS_FEW: u64 = 5_000;

/// Rows that take some ten milliseconds to read.
const ROWS_HEAVY: u64 = 50_000;

/// Interrupts what a session is doing; may be called from any thread.
#[derive(Clone, Debug)]
pub struct CancelHandle(Arc<AtomicBool>);

impl CancelHandle {
    /// The running statement, or the next one to begin before this is noticed, ends with 57014.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// One statement of a simple-protocol string.
pub struct SimpleStatement {
    form: SimpleForm,
    /// Its end is the end of the string, where an implicit transaction commits.
    last: bool,
}

enum SimpleForm {
    Parsed(Arc<Parsed>),
    Normalized {
        original: Arc<str>,
        normalized: quintet_sql::Normalized,
    },
}

/// A statement bound to values, and how far it has come.
struct Portal {
    prepared: Arc<Prepared>,
    /// As it was sent, if it was planned without its literals.
    text: Option<Arc<str>>,
    params: Vec<Value>,
    state: PortalState,
    /// It has been run, and perhaps waits: a cancel request since then is for it.
    begun: bool,
    /// Tell the sink the columns first.
    announce: bool,
    /// Last statement of a simple query: commits an implicit transaction before it is answered.
    commits: bool,
    /// Given so far.
    rows: u64,
    /// Of these, as many as had been given when it was last suspended.
    told: u64,
    /// A cursor WITH HOLD, which the end of a transaction leaves alone.
    held: bool,
}

enum PortalState {
    Ready,
    Running(Box<Run>),
    /// A call that waits for those before it.
    Queued(Box<Queued>),
    /// A call that is in line for a batch, or in one.
    Batched(Box<Batched>),
    Calling(Box<Calling>),
    /// Calls of functions of advisory locks, with what those before gave.
    Advising(Vec<Value>),
    /// A result that was made whole: SHOW, EXPLAIN, held cursors.
    Rows(VecDeque<Vec<Value>>),
    /// A cursor with SCROLL.
    Scroll(Scroll),
    CopyOut(Box<Run>, Arc<CopyTo>),
    Feeding(FeedRows),
    /// The command is done; its transaction is being committed.
    Committing(Option<String>),
    Done(Option<String>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Idle,
    Implicit,
    Explicit,
    Failed,
}

struct Savepoint {
    name: String,
    noted: listening::Noted,
    mark: Option<Mark>,
    schema: Option<Arc<Schema>>,
}

/// A session. See the module.
pub struct Session {
    db: Arc<Inner>,
    host: SessionHost,
    cancel: Arc<AtomicBool>,
    statements: HashMap<String, Arc<Prepared>>,
    /// Those with names, as the session sees them.
    prepared: PreparedNames,
    portals: HashMap<String, Portal>,
    /// Plans of simple-protocol statements by normalized text; `None`: must be planned from the text.
    plans: HashMap<String, Option<Arc<Prepared>>>,
    /// Plans of extended-protocol statements by text: clients that prepare nothing parse the same
    /// texts again and again.
    texts: HashMap<String, Arc<Prepared>>,
    mode: Mode,
    txn: Option<Txn>,
    level: quintet_base::Level,
    savepoints: Vec<Savepoint>,
    /// The schema as this transaction has changed it.
    changed_schema: Option<Arc<Schema>>,
    /// The schema of the moment that this transaction reads.
    past: Option<Arc<Schema>>,
    /// A commit that is in memory and waits for the disk.
    pending: Option<Lsn>,
    /// Settings as they were when the transaction first changed one.
    settings_before: Option<Settings>,
    /// SET LOCAL: names with the values to put back at the end.
    local_settings: Vec<(String, String)>,
    /// Counts transaction ends; a portal taken out before one is not put back after it.
    ends: u64,
    copy: Option<CopyInto>,
    /// Rows of the COPY that has just ended, and whether its end commits (simple query).
    copied: u64,
    copy_commits: bool,
    /// What calls in batches see of it; good as long as no setting has changed.
    facts: Option<Arc<Facts>>,
    /// What becomes of the call that is about to begin is to be told to its level's route.
    routed: bool,
    /// The version of the search path that names of objects are told by, and the role that is told of sessions.
    known_path: u64,
    known_role: RoleId,
    /// As others see it.
    present: Present,
    /// What they see it do.
    shown: State,
    /// The version of the settings that they see.
    known_settings: u64,
    /// When the statement at hand began, until somebody has asked; 0 after that.
    begun_at: i64,
    /// What it hears on the channels that it listens to.
    ear: Arc<Ear>,
    listening: BTreeSet<String>,
    /// What the transaction wants to hear from its commit on.
    to_listen: Vec<Listening>,
    /// What was committed, and is told when it is durable.
    outgoing: Vec<Notification>,
    /// Of advisory locks.
    owner: Owner,
    /// A cursor WITH HOLD or with SCROLL whose query waits for something.
    holding: Option<Box<(Portal, Kept)>>,
    /// Of what it runs, or has run last in the transaction that is open.
    label: Label,
    /// A wait that has begun, and when.
    waited: Option<(Incident, i64)>,
}

impl Session {
    pub(crate) fn open(db: Arc<Inner>, options: SessionOptions) -> SqlResult<Session> {
        let schema = db.schema();
        let named = schema.catalog.roles().named(&options.user);
        let role = named.filter(|_| !options.configured);
        let role = role.unwrap_or(RoleId::BOOTSTRAP);
        let user = (options.user.as_str(), role);
        let is_role = |(name, _): &(String, String)| name.eq_ignore_ascii_case("role");
        let (roles, others): (Vec<_>, Vec<_>) = options.settings.into_iter().partition(is_role);
        let mut settings = Settings::new(user, &others, db.durability, db.engine)?;
        settings.note_superuser(schema.catalog.roles().is_superuser(role));
        settings.take_changed();
        let now = db.clock.now_micros();
        let cancel = Arc::default();
        let application_name = settings.get("application_name").unwrap_or_default();
        let shown = Shown {
            user: options.user,
            role,
            database: options.database.clone(),
            client: options.client,
            application_name: application_name.to_string(),
        };
        let present = db.activity.enter(options.process_id, shown, &cancel, now);
        let host = SessionHost {
            direct: db.direct.own(),
            spill: Arc::clone(&db.spill),
            clock: Arc::clone(&db.clock),
            database: options.database,
            process_id: present.slot.number,
            transaction_time: now,
            statement_time: now,
            schema,
            given: RefCell::default(),
            rand: RefCell::new(Rand::from_os()),
            notices: RefCell::default(),
            to_set: RefCell::default(),
            channels: Arc::clone(&db.channels),
            said: RefCell::default(),
            settings,
            read_only: false,
            alone: false,
            temporary: db.temporary.take(),
        };
        let level = host.settings.level("default_transaction_isolation");
        let owner = db.advisory.owner();
        // Nobody has set it before.
        let _ = present.slot.owner.set(owner.number());
        let mut session = Session {
            db,
            known_settings: host.settings.changes,
            host,
            cancel,
            statements: HashMap::new(),
            prepared: PreparedNames::default(),
            portals: HashMap::new(),
            plans: HashMap::new(),
            texts: HashMap::new(),
            mode: Mode::Idle,
            txn: None,
            level,
            savepoints: Vec::new(),
            changed_schema: None,
            past: None,
            pending: None,
            settings_before: None,
            local_settings: Vec::new(),
            ends: 0,
            copy: None,
            copied: 0,
            copy_commits: false,
            facts: None,
            routed: false,
            known_path: 0,
            known_role: role,
            present,
            shown: State::Idle,
            begun_at: 0,
            ear: Arc::default(),
            listening: BTreeSet::new(),
            to_listen: Vec::new(),
            outgoing: Vec::new(),
            owner,
            holding: None,
            label: Label::default(),
            waited: None,
        };
        session.know_objects();
        for (_, role) in roles {
            session.set_role(false, Some(&role))?;
        }
        Ok(session)
    }

    /// Where the transaction stands.
    pub fn status(&self) -> TransactionStatus {
        match self.mode {
            Mode::Idle | Mode::Implicit => TransactionStatus::Idle,
            Mode::Explicit => TransactionStatus::Open,
            Mode::Failed => TransactionStatus::Failed,
        }
    }

    /// To interrupt this session from elsewhere.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle(Arc::clone(&self.cancel))
    }

    /// Settings to report at the start.
    pub fn reported_settings(&self) -> Vec<(String, String)> {
        self.host.settings.reported()
    }

    /// Reportable settings that changed since last asked.
    pub fn take_changed_settings(&mut self) -> Vec<(String, String)> {
        self.host.settings.take_changed()
    }

    /// Notices since last asked.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.host.notices.take()
    }

    /// Zone and float digits for text output.
    pub fn format(&self) -> &FormatContext {
        &self.host.settings.format
    }

    /// A time limit setting (`statement_timeout`, `lock_timeout`,
    /// `idle_in_transaction_session_timeout`) in milliseconds, if one is set.
    pub fn time_limit(&self, name: &str) -> Option<u64> {
        self.host.settings.milliseconds(name)
    }

    // ---- extended protocol; "" names the unnamed statement or portal

    /// Plans a statement and keeps it under a name.
    ///
    /// # Errors
    /// `42P05` if the name is taken, `42601` for several statements in one, and whatever planning says.
    pub fn parse(&mut self, name: &str, sql: &str, types: &[SqlType]) -> SqlResult<()> {
        if !name.is_empty() && self.statements.contains_key(name) {
            return Err(SqlError::new(
                SqlState::DUPLICATE_PREPARED_STATEMENT,
                format!("prepared statement \"{name}\" already exists"),
            ));
        }
        if let Some(known) = self
            .texts
            .get(sql)
            .filter(|known| *known.source.declared == *types)
        {
            let known = Arc::clone(known);
            self.refuse_if_failed(&known.source)?;
            let prepared = self.current(known, None)?;
            self.note_prepared(name, sql, &prepared.params);
            self.statements.insert(name.to_string(), prepared);
            return Ok(());
        }
        let mut parsed = quintet_sql::parse(sql)?;
        if parsed.len() > 1 {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                "cannot insert multiple commands into a prepared statement",
            ));
        }
        let parsed = match parsed.pop() {
            Some(parsed) => parsed,
            None => Parsed::empty(),
        };
        let source = Source {
            parsed: Arc::new(parsed),
            declared: types.into(),
        };
        self.refuse_if_failed(&source)?;
        let prepared = self.plan(source)?;
        if matches!(prepared.planned.command, Command::Run(_)) {
            if self.texts.len() >= PLANS_MAX {
                self.texts.clear();
            }
            self.texts.insert(sql.to_string(), Arc::clone(&prepared));
        }
        self.note_prepared(name, sql, &prepared.params);
        self.statements.insert(name.to_string(), prepared);
        Ok(())
    }

    fn note_prepared(&self, name: &str, sql: &str, params: &[SqlType]) {
        if !name.is_empty() {
            let now = (self.host.clock.now_micros(), false);
            self.prepared.add(name, sql, params, now);
        }
    }

    /// A statement by name.
    ///
    /// # Errors
    /// `26000`.
    pub fn statement(&self, name: &str) -> SqlResult<Arc<Prepared>> {
        self.statements
            .get(name)
            .cloned()
            .ok_or_else(|| no_statement(name))
    }

    /// Binds values, already of the parameters' types, to a statement.
    ///
    /// # Errors
    /// `26000`, `42P03`, `08P01` for a wrong number of values; planning again may fail.
    pub fn bind(&mut self, portal: &str, statement: &str, params: Vec<Value>) -> SqlResult<()> {
        let prepared = self.statement(statement)?;
        self.refuse_if_failed(&prepared.source)?;
        let prepared = self.current(prepared, Some(statement))?;
        if params.len() != prepared.params.len() {
            return Err(SqlError::new(
                SqlState::PROTOCOL_VIOLATION,
                format!(
                    "bind message supplies {} parameters, but prepared statement \"{statement}\" requires {}",
                    params.len(),
                    prepared.params.len()
                ),
            ));
        }
        if !portal.is_empty() && self.portals.contains_key(portal) {
            return Err(SqlError::new(
                SqlState::DUPLICATE_CURSOR,
                format!("cursor \"{portal}\" already exists"),
            ));
        }
        self.put_portal(portal, Portal::new(prepared, params));
        Ok(())
    }

    /// What follows the portal's execution is the end of the implicit transaction: a call may commit at
    /// once, and be run again if it loses.
    pub fn ends_with(&mut self, portal: &str) {
        if let Some(portal) = self.portals.get_mut(portal)
            && matches!(&portal.prepared.planned.command, Command::Run(procedure) if procedure.is_call())
        {
            portal.commits = true;
        }
    }

    /// What a portal returns.
    ///
    /// # Errors
    /// `34000`; `26000` for EXECUTE of a statement that is not there.
    pub fn portal_columns(&self, portal: &str) -> SqlResult<Vec<OutputColumn>> {
        let portal = self.portals.get(portal).ok_or_else(|| no_portal(portal))?;
        self.columns_of(&portal.prepared)
    }

    /// The text of a portal's statement, as it was planned.
    pub fn portal_text(&self, portal: &str) -> Option<&str> {
        let portal = self.portals.get(portal)?;
        Some(portal.prepared.source.parsed.text())
    }

    /// True if running the portal touches a handful of rows by key. Otherwise it should not run on a
    /// thread that others wait for.
    pub fn is_short(&self, portal: &str) -> bool {
        self.portals
            .get(portal)
            .is_none_or(|portal| portal.prepared.short)
    }

    /// True if running the portal reads large tables from one end to the other, and others wait for nothing that the
    /// session holds: it may well let short statements go first.
    pub fn is_heavy(&self, portal: &str) -> bool {
        let Some(portal) = self.portals.get(portal) else {
            return false;
        };
        let scans = portal.prepared.scans.iter();
        let rows: u64 = scans.map(|space| self.db.tc.records(*space)).sum();
        let holds_nothing = || {
            self.txn
                .as_ref()
                .is_none_or(|txn| !txn.has_writes() && !txn.has_locks())
        };
        rows >= ROWS_HEAVY && holds_nothing()
    }

    /// Runs a portal; `max_rows` 0 means all. Call it again after `Wait` and `Yielded`, and when more
    /// rows are wanted after `Suspended`.
    ///
    /// # Errors
    /// Whatever the statement says; tell [`Session::fail`] afterwards.
    pub fn execute(
        &mut self,
        portal: &str,
        max_rows: usize,
        sink: &mut dyn RowSink,
    ) -> SqlResult<Step> {
        let Some((name, mut taken)) = self.portals.remove_entry(portal) else {
            return Err(no_portal(portal));
        };
        if !taken.begun || self.shown != State::Active {
            self.show_active(&taken);
        }
        self.show_running();
        let ends = self.ends;
        let result = self.run_portal(&mut taken, max_rows, sink);
        self.show_step(&result);
        if let Err(error) = &result {
            self.note_error(error);
        }
        let over = matches!(result, Ok(Step::Done(_)) | Err(_)) && self.ends != ends;
        if !over {
            self.portals.insert(name, taken);
        }
        result
    }

    /// Forgets a statement; an unknown name is fine.
    pub fn close_statement(&mut self, name: &str) {
        self.statements.remove(name);
        self.prepared.remove(name);
    }

    /// Forgets a portal; an unknown name is fine.
    pub fn close_portal(&mut self, name: &str) {
        self.portals.remove(name);
    }

    /// Ends the implicit transaction: `Done(None)`, or `Wait` and call again.
    ///
    /// # Errors
    /// Why the commit was refused, or `40003` if its outcome is unknown.
    pub fn sync(&mut self) -> SqlResult<Step> {
        self.show_running();
        if (self.mode == Mode::Implicit || self.pending.is_some())
            && let Some(pause) = self.commit()?
        {
            let step = Ok(Step::Wait(pause));
            self.show_step(&step);
            return step;
        }
        self.show_idle();
        Ok(Step::Done(None))
    }

    /// An error went to the client: the open transaction fails, the implicit one is undone.
    pub fn fail(&mut self) {
        self.copy = None;
        self.holding = None;
        self.fail_transaction();
        self.show_running();
        self.show_idle();
    }

    // ---- simple protocol

    /// Splits a query string. For each statement call `begin_simple`, then `execute` the portal ""
    /// until it is done, then `sync` once.
    ///
    /// # Errors
    /// `42601`, before anything has run.
    pub fn split(&mut self, sql: &str) -> SqlResult<Vec<SimpleStatement>> {
        if let Some(normalized) = quintet_sql::normalize(sql) {
            let form = SimpleForm::Normalized {
                original: sql.into(),
                normalized,
            };
            return Ok(vec![SimpleStatement { form, last: true }]);
        }
        self.split_parsed(sql)
    }

    fn split_parsed(&self, sql: &str) -> SqlResult<Vec<SimpleStatement>> {
        let parsed = quintet_sql::parse(sql)?;
        let count = parsed.len();
        Ok(parsed
            .into_iter()
            .enumerate()
            .map(|(i, parsed)| SimpleStatement {
                form: SimpleForm::Parsed(Arc::new(parsed)),
                last: i + 1 == count,
            })
            .collect())
    }

    /// Plans one statement and binds it to the portal "".
    ///
    /// # Errors
    /// Whatever planning says.
    pub fn begin_simple(&mut self, statement: &SimpleStatement) -> SqlResult<()> {
        let (prepared, params) = match &statement.form {
            SimpleForm::Parsed(parsed) => {
                let source = Source {
                    parsed: Arc::clone(parsed),
                    declared: Arc::from([]),
                };
                self.refuse_if_failed(&source)?;
                let prepared = self.plan(source)?;
                if !prepared.params.is_empty() {
                    return Err(SqlError::new(
                        SqlState::UNDEFINED_PARAMETER,
                        "there is no parameter $1",
                    ));
                }
                (prepared, Vec::new())
            }
            SimpleForm::Normalized {
                original,
                normalized,
            } => self.plan_normalized(original, normalized)?,
        };
        let mut portal = Portal::new(prepared, params);
        if let SimpleForm::Normalized { original, .. } = &statement.form {
            portal.text = Some(Arc::clone(original));
        }
        portal.announce = true;
        portal.commits = statement.last;
        self.put_portal("", portal);
        Ok(())
    }

    /// The plan of a text without its literals, and the literals as its parameters.
    fn plan_normalized(
        &mut self,
        original: &str,
        normalized: &quintet_sql::Normalized,
    ) -> SqlResult<(Arc<Prepared>, Vec<Value>)> {
        let cached = match self.plans.get(&normalized.key) {
            Some(Some(prepared)) => {
                let prepared = self.current(Arc::clone(prepared), None)?;
                Some(prepared)
            }
            Some(None) => None,
            None => self.learn_normalized(normalized),
        };
        if let Some(prepared) = cached.filter(|prepared| !prepared.constants) {
            self.refuse_if_failed(&prepared.source)?;
            let params: SqlResult<Vec<Value>> = normalized
                .literals
                .iter()
                .zip(&prepared.params)
                .map(|((value, ty), to)| self.literal(value, *ty, *to))
                .collect();
            if let Ok(params) = params {
                return Ok((prepared, params));
            }
            // A literal that its type refuses: planning the original text says so with its position.
        }
        let mut statements = self.split_parsed(original)?;
        let Some(SimpleStatement {
            form: SimpleForm::Parsed(parsed),
            ..
        }) = statements.pop()
        else {
            return Err(SqlError::internal("a normalized text holds one statement"));
        };
        let source = Source {
            parsed,
            declared: Arc::from([]),
        };
        self.refuse_if_failed(&source)?;
        Ok((self.plan(source)?, Vec::new()))
    }

    fn learn_normalized(&mut self, normalized: &quintet_sql::Normalized) -> Option<Arc<Prepared>> {
        let types: Vec<SqlType> = normalized.literals.iter().map(|(_, ty)| *ty).collect();
        let prepared = quintet_sql::parse(&normalized.text)
            .ok()
            .and_then(|mut parsed| parsed.pop().filter(|_| parsed.is_empty()))
            .filter(quintet_sql::Parsed::may_be_normalized)
            .and_then(|parsed| {
                self.plan(Source {
                    parsed: Arc::new(parsed),
                    declared: types.into(),
                })
                .ok()
            })
            .filter(|prepared| prepared.params.len() == normalized.literals.len());
        if self.plans.len() >= PLANS_MAX {
            self.plans.clear();
        }
        self.plans.insert(normalized.key.clone(), prepared.clone());
        prepared
    }

    fn literal(&self, value: &Value, from: SqlType, to: SqlType) -> SqlResult<Value> {
        match value {
            Value::Text(text) if from == SqlType::Unknown => {
                text_format::read(to, text, self.format())
            }
            _ if from == to => Ok(value.clone()),
            _ => quintet_ir::cast::cast(
                value.clone(),
                from,
                to,
                quintet_base::TypeMod::NONE,
                false,
                &self.host,
            ),
        }
    }

    // ---- plans

    fn plan(&mut self, source: Source) -> SqlResult<Arc<Prepared>> {
        let schema = Arc::clone(self.schema());
        let context = PlanContext {
            catalog: &schema.catalog,
            schema: self.host.settings.path(),
            user: self.host.who(),
            database: &self.host.database,
            format: &self.host.settings.format,
        };
        let count = |space| self.db.tc.records(space);
        let sizes = Sizes::new(&count);
        let planned = quintet_sql::plan_sized(&source.parsed, &context, &source.declared, &sizes)?;
        let scans = match &planned.command {
            Command::Run(procedure) => procedure.statement().map_or_else(Vec::new, scanned),
            _ => Vec::new(),
        };
        let constants = match &planned.command {
            Command::Run(procedure) => procedure.statement().is_some_and(wants_constants),
            _ => false,
        };
        let short = match &planned.command {
            Command::Run(procedure) => procedure.is_short(),
            Command::Ddl(_)
            | Command::CopyFrom(_)
            | Command::CopyTo(_)
            | Command::Explain { .. }
            | Command::ExplainRoutine(_)
            | Command::Feed(..) => false,
            Command::Execute { .. } | Command::Fetch { .. } | Command::Nothing { .. } => false,
            _ => true,
        };
        let label = self.label_of(&planned);
        Ok(Arc::new(Prepared {
            label,
            params: planned.params.clone(),
            typed: are_typed(&planned.columns),
            columns: planned.columns.clone(),
            source,
            planned,
            revision: schema.revision,
            schema_timestamp: schema.timestamp,
            path_version: self.host.settings.path_version,
            role: self.host.role(),
            short,
            sizes: sizes.asked(),
            scans,
            constants,
        }))
    }

    /// What conflicts of a statement are counted by: a routine's name, or the kind of statement. None of what
    /// touches no row.
    fn label_of(&self, planned: &Planned) -> Label {
        let contention = &self.db.contention;
        match &planned.command {
            Command::Run(procedure) => match &procedure.body {
                // A statement that was made into steps.
                Body::Call { program, .. } if program.is_nameless() => {
                    contention.label(planned.tag, false)
                }
                Body::Call { program, .. } => {
                    let name = program.routines.first().map_or("", |routine| &routine.name);
                    let name = name.split('(').next().unwrap_or_default();
                    contention.label(name, true)
                }
                Body::Statement(_) => contention.label(planned.tag, false),
            },
            Command::Ddl(_) | Command::CopyFrom(_) => contention.label(planned.tag, false),
            _ => Label::default(),
        }
    }

    /// The statement planned with the present schema; planned again if that has moved.
    fn current(&mut self, prepared: Arc<Prepared>, name: Option<&str>) -> SqlResult<Arc<Prepared>> {
        if prepared.revision == self.schema().revision
            && prepared.path_version == self.host.settings.path_version
            && prepared.role == self.host.role()
            && self.is_sized(&prepared)
        {
            return Ok(prepared);
        }
        let declared: Arc<[SqlType]> = prepared.params.as_slice().into();
        let again = self.plan(Source {
            declared,
            ..prepared.source.clone()
        })?;
        // A client that was told the columns must not meet others; the simple protocol tells them
        // each time.
        if name.is_some() && !are_alike(&again.columns, &prepared.columns) {
            return Err(SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cached plan must not change result type",
            ));
        }
        if let Some(name) = name {
            self.statements.insert(name.to_string(), Arc::clone(&again));
        }
        Ok(again)
    }

    /// Whether tables have about as many rows as the plan was made for.
    fn is_sized(&self, prepared: &Prepared) -> bool {
        prepared.sizes.iter().all(|&(space, then)| {
            let now = self.db.tc.records(space);
            let (less, more) = (then.min(now), then.max(now));
            more < ROWS_FEW || more / SIZE_FACTOR <= less
        })
    }

    /// The schema statements are planned with: this transaction's own, that of the moment it reads, else the
    /// newest committed.
    fn schema(&mut self) -> &Arc<Schema> {
        // A statement is planned before its transaction begins.
        let ahead = match self.host.settings.as_of {
            Some(as_of) if self.txn.is_none() => {
                let now = self.host.clock.now_micros();
                let moment = self.db.history.at(as_of, now);
                moment.ok().map(|moment| moment.schema)
            }
            _ => None,
        };
        let known = &mut self.host.schema;
        let before = Arc::as_ptr(known);
        match self
            .changed_schema
            .as_ref()
            .or(self.past.as_ref())
            .or(ahead.as_ref())
        {
            Some(changed) if Arc::ptr_eq(changed, known) => {}
            Some(changed) => *known = Arc::clone(changed),
            None => self.db.refresh(known),
        }
        let moved = Arc::as_ptr(known) != before;
        let settings = &self.host.settings;
        // A role that was taken goes back with its transaction.
        let role = settings.identity.current();
        if moved || self.known_path != settings.path_version || self.known_role != role {
            self.know_objects();
        }
        &self.host.schema
    }

    fn put_portal(&mut self, name: &str, portal: Portal) {
        match self.portals.get_mut(name) {
            Some(old) => *old = portal,
            None => {
                self.portals.insert(name.to_string(), portal);
            }
        }
    }

    /// What a statement returns, looking through EXECUTE and FETCH.
    fn columns_of(&self, prepared: &Prepared) -> SqlResult<Vec<OutputColumn>> {
        match &prepared.planned.command {
            Command::Execute { name, .. } => {
                let inner = self.statement(name)?;
                self.columns_of(&inner)
            }
            Command::Fetch {
                name,
                discard: false,
                ..
            } => {
                let inner = self.portals.get(name).ok_or_else(|| no_portal(name))?;
                Ok(inner.prepared.columns.clone())
            }
            _ => Ok(prepared.columns.clone()),
        }
    }
}

impl Portal {
    /// It is a statement whose routine may say COMMIT and ROLLBACK, if it is a transaction of its own.
    fn ends_transactions(&self) -> bool {
        matches!(self.prepared.planned.tag, "CALL" | "DO")
    }

    fn new(prepared: Arc<Prepared>, params: Vec<Value>) -> Portal {
        Portal {
            prepared,
            text: None,
            params,
            state: PortalState::Ready,
            begun: false,
            announce: false,
            commits: false,
            rows: 0,
            told: 0,
            held: false,
        }
    }
}

/// True if a client sees no difference but where the columns come from.
fn are_alike(now: &[OutputColumn], before: &[OutputColumn]) -> bool {
    let told = |column: &OutputColumn| (column.name.clone(), column.ty, column.modifier);
    now.iter().map(told).eq(before.iter().map(told))
}

/// See [`Prepared::typed`].
fn are_typed(columns: &[OutputColumn]) -> bool {
    let by_type = |ty: SqlType| ty.is_named_oid() || ty.is_vector();
    columns.iter().any(|column| by_type(column.ty))
}

fn no_statement(name: &str) -> SqlError {
    let message = if name.is_empty() {
        "unnamed prepared statement does not exist".to_string()
    } else {
        format!("prepared statement \"{name}\" does not exist")
    };
    SqlError::new(SqlState::INVALID_SQL_STATEMENT_NAME, message)
}

fn no_portal(name: &str) -> SqlError {
    let kind = if name.is_empty() { "portal" } else { "cursor" };
    SqlError::new(
        SqlState::INVALID_CURSOR_NAME,
        format!("{kind} \"{name}\" does not exist"),
    )
}
