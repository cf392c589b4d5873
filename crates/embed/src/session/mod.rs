//! A session: SQL in, steps out.
//!
//! Relies on: `sql` (text to commands), `direct` (runs IR), `tc` through it.  Promises: PostgreSQL's
//! rules for transactions, statements and portals; nothing here blocks: what must be waited for comes
//! out as [`Step::Wait`], and the same call goes on afterwards.  Does not: know bytes on a wire.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | the session: what it knows of itself, and its end of a transaction |
//! | `extended` | statements and portals by name |
//! | `simple` | strings of statements |
//! | `planning` | plans, and when they are made again |
//! | `portal`, `portals` | a statement bound to values; all of them by name |
//! | `execute` | carrying out a portal's command |
//! | `call` | calls of routines, again where they lose a conflict |
//! | `line` | calls that wait in line before they begin |
//! | `batched` | calls that are run in batches |
//! | `setting` | SET, RESET, SHOW |
//! | `explaining` | EXPLAIN |
//! | `transaction` | begin, commit, roll back, savepoints, failure |
//! | `change` | schema changes |
//! | `cursors` | DECLARE, FETCH, MOVE |
//! | `listening` | LISTEN, NOTIFY |
//! | `advising` | advisory locks |
//! | `sleeping` | pg_sleep |
//! | `locking` | LOCK TABLE |
//! | `own` | what a session has in its temporary schema |
//! | `temporary` | temporary tables: when the session commits, and when it ends |
//! | `identity` | SET ROLE, SET SESSION AUTHORIZATION |
//! | `copy`, `copy_fired` | COPY in and out; into what fires triggers |
//! | `dynamic` | statements of calls that are planned when they are reached |
//! | `again` | statements by themselves that have lost |
//! | `ahead` | what fills a table that nobody else can see |
//! | `prepared` | PREPARE, EXECUTE, and what a session has prepared, as it sees it |
//! | `objects` | what objects of the catalogue are called, as it sees them |
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
mod again;
mod ahead;
mod batched;
mod call;
mod change;
mod copy;
mod copy_fired;
mod cursors;
mod dynamic;
mod execute;
mod explaining;
mod extended;
mod feed;
mod harm;
mod identity;
mod late;
mod line;
mod listening;
mod locking;
mod objects;
mod own;
mod planning;
mod portal;
mod portals;
mod prepared;
mod setting;
mod simple;
mod sleeping;
mod temporary;
mod transaction;
mod turn;
mod waits;

pub(crate) use identity::fixed_in_guise;
pub use planning::Prepared;
pub(crate) use portals::CursorNames;
pub use simple::SimpleStatement;

use crate::activity::{Present, State, Who as Shown};
use crate::advisory::Owner;
use crate::channels::{Ear, Listening, Notification};
use crate::contention::{Incident, Label};
use crate::database::{Inner, Schema};
use crate::databases::{Closed, Guest};
use crate::host::SessionHost;
use crate::lent::Facts;
use crate::settings::{Settings, refuse_restricted};
use crate::step::{Pause, Step, TransactionStatus};
use copy::CopyInto;
use cursors::Kept;
use foldhash::fast::RandomState;
use late::Late;
use own::{Changed, Own};
use portal::Portal;
use portals::Portals;
use prepared::PreparedNames;
use quintet_base::text_format::FormatContext;
use quintet_base::{Level, Lsn, Patience, RoleId, SqlError, SqlResult, SqlState, stack};
use quintet_rt::Rand;
use quintet_sql::command::Notice;
use quintet_tc::{Mark, Txn};
use quintet_wal::Committer;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Who opens a session.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// User name; not checked here. That of a role in the catalogue has the role's rights, any other one everybody's.
    pub user: String,
    /// It is a user of the server's configuration, and a superuser, whatever the catalogue says.
    pub configured: bool,
    /// Database name, as it is shown. Which database it is [`Database::named`](crate::Database::named) says.
    pub database: String,
    /// What pg_backend_pid() says and cancel requests name; 0: a number is given.
    pub process_id: i32,
    /// Where it comes from, if it comes over a network.
    pub client: Option<SocketAddr>,
    /// Settings of the startup packet (`application_name`, `DateStyle`, …).
    pub settings: Vec<(String, String)>,
}

/// Interrupts what a session is doing; may be called from any thread.
#[derive(Clone, Debug)]
pub struct CancelHandle(Arc<AtomicBool>);

impl CancelHandle {
    /// The running statement, or the next one to begin before this is noticed, ends with 57014.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// How long a statement may be planned on a thread that others wait for: as long as it takes to plan most, and what goes
/// beyond is planned anew.
const MOMENT_OF_PLANNING_NS: u64 = 2_000_000;

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
    /// How many advisory locks the transaction had taken.
    advisory: usize,
    changed: Changed,
    /// Whether the transaction was read-only.
    read_only: bool,
    /// The settings as they were then, and what was to be put back after those that are local; `None` as long as no SET came since.
    settings: Option<Box<(Settings, LocalSettings)>>,
}

/// What SET LOCAL has changed, with the values to be put back.
type LocalSettings = Vec<(String, String)>;

/// A session. See the module.
pub struct Session {
    db: Arc<Inner>,
    committer: Committer,
    host: SessionHost,
    cancel: Arc<AtomicBool>,
    statements: HashMap<String, Arc<Prepared>, RandomState>,
    /// Those with names, as the session sees them.
    prepared: PreparedNames,
    portals: Portals,
    /// `pg_cursors` has some that routines had opened.
    shows_opened: bool,
    /// Plans of simple-protocol statements by normalized text; `None`: must be planned from the text.
    plans: HashMap<String, Option<Arc<Prepared>>, RandomState>,
    /// Plans of extended-protocol statements by text: clients that prepare nothing parse the same
    /// texts again and again.
    texts: HashMap<String, Arc<Prepared>, RandomState>,
    mode: Mode,
    txn: Option<Txn>,
    level: Level,
    /// The level was asked for as READ UNCOMMITTED.
    uncommitted: bool,
    savepoints: Vec<Savepoint>,
    /// What this transaction has changed of the schema.
    changed: Changed,
    /// Numbers for objects that it has drawn last, for itself alone.
    drawn: Range<u32>,
    /// What is in the session's temporary schema.
    own: Own,
    /// A database that this transaction drops or gives another name, and how long it waits for those who are there.
    closed: Option<Closed>,
    closing_until: Option<u64>,
    /// The schema of the moment that this transaction reads.
    past: Option<Arc<Schema>>,
    /// A commit that is in memory and waits for the disk.
    pending: Option<Lsn>,
    /// The call of a trigger that has waited for the end of the transaction.
    late: Option<Box<Late>>,
    /// Settings as they were when the transaction first changed one.
    settings_before: Option<Settings>,
    /// SET LOCAL: names with the values to put back at the end.
    local_settings: LocalSettings,
    /// Counts transaction ends; a portal taken out before one is not put back after it.
    ends: u64,
    copy: Option<CopyInto>,
    /// Rows of the COPY that has just ended, and whether its end commits (simple query).
    copied: u64,
    copy_commits: bool,
    /// What is committed now would be run again if it loses: then its transaction is kept.
    keeps_lost: bool,
    /// What calls in batches see of it.
    facts: Option<Arc<Facts>>,
    /// Whether others that come at the same time are waited for before a batch is run.
    company: Patience,
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
    /// It counts as being in its database.
    _guest: Guest,
}

impl Session {
    pub(crate) fn open(db: Arc<Inner>, options: SessionOptions) -> SqlResult<Session> {
        let guest = db.come_in(&options.database)?;
        let schema = db.schema();
        let named = schema.catalog.roles().named(&options.user);
        let role = named.filter(|_| !options.configured);
        let role = role.unwrap_or(RoleId::BOOTSTRAP);
        schema.catalog.may_connect(role, &options.database)?;
        let user = (options.user.as_str(), role);
        let is_role = |(name, _): &(String, String)| name.eq_ignore_ascii_case("role");
        let (roles, others): (Vec<_>, Vec<_>) = options.settings.into_iter().partition(is_role);
        let is_superuser = schema.catalog.roles().is_superuser(role);
        if !is_superuser {
            (others.iter()).try_for_each(|(name, _)| refuse_restricted(name))?;
        }
        let kept = schema.catalog.roles().settings_of(role);
        let mut settings = Settings::new(user, kept, &others, db.durability, db.engine)?;
        settings.note_superuser(is_superuser);
        settings.take_changed();
        let now = db.clock.now_micros();
        let cancel = Arc::<AtomicBool>::default();
        let application_name = settings.get("application_name").unwrap_or_default();
        let shown = Shown {
            user: options.user,
            role,
            database: options.database.clone(),
            place: db.place.number,
            client: options.client,
            application_name: application_name.to_string(),
        };
        let present = db.activity.enter(options.process_id, shown, &cancel, now);
        let portals = Portals::default();
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
            seeded: RefCell::new(None),
            notices: RefCell::default(),
            to_set: RefCell::default(),
            channels: Arc::clone(&db.channels),
            said: RefCell::default(),
            put_off: RefCell::default(),
            cursors: RefCell::default(),
            declared: portals.cursors.clone(),
            settings,
            deadline: None,
            moment: None,
            moment_is_over: Cell::new(false),
            cancel: Arc::clone(&cancel),
            planning_until: None,
            planned_too_long: Arc::default(),
            given_up: Cell::new(false),
            read_only: false,
            number: Cell::new(0),
            numbers: Arc::clone(&db.numbers),
            deferrable: None,
            level_name: "",
            alone: false,
            temporary: db.temporary.take(),
        };
        let level = host.settings.often().level;
        let owner = db.advisory.owner();
        // Nobody has set it before.
        let _ = present.slot.owner.set(owner.number());
        let mut session = Session {
            db,
            committer: Committer::default(),
            known_settings: host.settings.changes,
            host,
            cancel,
            statements: HashMap::default(),
            prepared: PreparedNames::default(),
            portals,
            plans: HashMap::default(),
            texts: HashMap::default(),
            mode: Mode::Idle,
            txn: None,
            level,
            uncommitted: false,
            shows_opened: false,
            savepoints: Vec::new(),
            changed: Changed::default(),
            drawn: 0..0,
            own: Own::default(),
            closed: None,
            closing_until: None,
            past: None,
            pending: None,
            late: None,
            settings_before: None,
            local_settings: Vec::new(),
            ends: 0,
            copy: None,
            copied: 0,
            copy_commits: false,
            keeps_lost: false,
            facts: None,
            company: Patience::default(),
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
            _guest: guest,
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

    /// From now on a statement may compute for so long before it is given up (57014); `None`: as long as it takes.
    pub fn limit_time(&mut self, limit: Option<std::time::Duration>) {
        let end = |limit: std::time::Duration| {
            let nanos = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
            self.host.clock.monotonic_nanos().saturating_add(nanos)
        };
        self.host.deadline = limit.map(end);
    }

    /// A message of the client begins: nobody who interrupted before meant it.
    pub fn begin_message(&self) {
        self.cancel.store(false, Ordering::Release);
        self.host.given_up.set(false);
    }

    /// The lock that the session waits for was waited for long enough: the statement fails with 55P03, which a routine may handle,
    /// unless it has the lock by now. Only after a pause that [`may_be_given_up`](crate::Pause::may_be_given_up).
    pub fn give_up_waiting(&mut self) {
        // Who has been given the lock in this moment may have to wait for another one, as long.
        let still = self.txn.as_ref().is_some_and(Txn::is_waiting) || self.owner.is_waiting();
        self.host.given_up.set(still);
    }

    /// Runs `work`, which plans, on a thread that others wait for. `None`: it takes longer than a moment, and is to be done again
    /// elsewhere; nothing has changed.
    pub fn plan_briefly<R>(&mut self, work: impl FnOnce(&mut Session) -> R) -> Option<R> {
        self.host.planning_until = Some(self.host.clock.monotonic_nanos() + MOMENT_OF_PLANNING_NS);
        let done = work(self);
        self.host.planning_until = None;
        match self.host.planned_too_long.swap(false, Ordering::Relaxed) {
            true => None,
            false => Some(done),
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
    /// `idle_in_transaction_session_timeout`, `idle_session_timeout`) in milliseconds, if one is set.
    pub fn time_limit(&self, name: &str) -> Option<u64> {
        self.host.settings.milliseconds(name)
    }

    /// Ends the implicit transaction: `Done(None)`, or `Wait` and call again.
    ///
    /// # Errors
    /// Why the commit was refused, or `40003` if its outcome is unknown.
    pub fn sync(&mut self) -> SqlResult<Step> {
        stack::for_running(|| self.end_implicit())
    }

    fn end_implicit(&mut self) -> SqlResult<Step> {
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

    /// Refuses a statement inside a block.
    fn must_be_alone(&self, what: &str) -> SqlResult<()> {
        match self.mode {
            Mode::Idle | Mode::Implicit => Ok(()),
            _ => Err(SqlError::new(
                SqlState::ACTIVE_SQL_TRANSACTION,
                format!("{what} cannot run inside a transaction block"),
            )),
        }
    }

    /// DISCARD ALL: as it was when it was opened. `Some`: wait, and call again.
    fn discard_all(&mut self) -> SqlResult<Option<Pause>> {
        self.must_be_alone("DISCARD ALL")?;
        self.enter_statement();
        if let Some(pause) = self.discard_temporary()? {
            return Ok(Some(pause));
        }
        self.statements.clear();
        self.prepared.clear();
        self.portals.clear();
        self.host.cursors.get_mut().end_transaction(true);
        self.host.given.borrow_mut().clear();
        self.host.settings.reset_all();
        self.set_session_user(false, None)?;
        self.stop_listening();
        self.owner.unlock_all(false);
        Ok(None)
    }
}
