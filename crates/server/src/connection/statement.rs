//! Running statements: Query, Execute, Sync, and what they wait for.
//!
//! Relies on: a session's steps.  Promises: a thread of the runtime is never blocked: long
//! statements give it up first, waits are awaited; while a statement waits for a row, a cancel
//! request, a time limit, the end of the server or of the client is noticed.
//! Does not: interrupt a commit that waits for the disk; its outcome would be unknown.

use super::{Close, Connection, Running, after, shutting_down};
use crate::desks;
use crate::metrics::Kind;
use crate::protocol::backend::{self, COPY_DONE, EMPTY_QUERY, PORTAL_SUSPENDED};
use crate::protocol::frame::{self, Front};
use crate::registry::{Phase, Seat};
use crate::rows::{Announce, Formats, Rows};
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_embed::{Pause, SimpleStatement, Step, TransactionStatus};
use quintet_rt::Clock;
use quintet_sql::command::CopyFormat;
use quintet_sql::without_passwords;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// What a client may send ahead while its statement waits for a row. Reading tells whether it is still
/// there; beyond this it is left to the socket's own buffer.
const READ_AHEAD_BYTES: usize = 64 * 1024;

/// How a portal's run ended for now.
pub(super) enum Ran {
    Done(Option<String>),
    Suspended,
    /// The data is to come; the limit of the statement's time goes on.
    CopyIn {
        columns: usize,
        format: CopyFormat,
        watchdog: Option<Watchdog>,
    },
}

/// How long a portal may take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// It is over soon.
    Short,
    /// That is for trying: it begins anew elsewhere if it is not.
    Brief,
    Long,
}

impl Connection {
    /// The simple protocol: statements that are one transaction unless they say otherwise.
    pub(super) async fn query(&mut self, statements: Vec<SimpleStatement>) -> Result<(), Close> {
        if statements.is_empty() {
            self.out.extend_from_slice(EMPTY_QUERY);
        }
        for statement in statements {
            let started = self.start();
            if let Err(error) = self.begin_simple(&statement).await? {
                let error = self.why(error, None)?;
                self.refuse(error);
                break;
            }
            let text = self.text_if_watched("");
            let ran = self.run_portal("", 0, Announce::Columns).await?;
            self.log_if_slow(text, started);
            match ran {
                Ok(ran) => {
                    if !self.ran(ran, started).await? {
                        break;
                    }
                }
                Err(error) => {
                    self.refuse(error);
                    break;
                }
            }
        }
        self.sync().await
    }

    /// Plans a statement of the simple protocol: at the desk, if that does not take long.
    async fn begin_simple(&mut self, statement: &SimpleStatement) -> Result<SqlResult<()>, Close> {
        self.session.limit_time(self.limits.statement);
        if desks::at_desk()
            && let Some(begun) = self
                .session
                .plan_briefly(|session| session.begin_simple(statement))
        {
            return Ok(begun);
        }
        self.answer_before_long().await?;
        desks::apart().await;
        let session = &mut self.session;
        Ok(tokio::task::block_in_place(|| {
            session.begin_simple(statement)
        }))
    }

    /// Somebody may wait for the answers to what came before.
    pub(super) async fn answer_before_long(&mut self) -> Result<(), Close> {
        match self.answered {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    /// Execute of the extended protocol.
    pub(super) async fn execute(&mut self, portal: &str, max_rows: usize) -> Result<(), Close> {
        let started = self.start();
        if self.is_sync_next() {
            self.session.ends_with(portal);
        }
        let text = self.text_if_watched(portal);
        let ran = self.run_portal(portal, max_rows, Announce::Nothing).await?;
        self.log_if_slow(text, started);
        match ran {
            Ok(ran) => self.skipping = !self.ran(ran, started).await?,
            Err(error) => {
                self.refuse(error);
                self.skipping = true;
            }
        }
        Ok(())
    }

    /// Whether the client has sent the end of its cycle along.
    fn is_sync_next(&self) -> bool {
        matches!(frame::front(&self.input), Ok(Front::Whole(frame)) if frame.kind == b'S')
    }

    /// Sync, and the end of a simple query: commit what is implicit, then tell how things stand.
    pub(super) async fn sync(&mut self) -> Result<(), Close> {
        loop {
            match self.session.sync() {
                Ok(Step::Wait(pause)) => self.pause(pause).await?,
                Ok(_) => break,
                Err(error) => {
                    self.refuse(error);
                    break;
                }
            }
        }
        self.skipping = false;
        self.start();
        self.tell();
        for (name, value) in self.session.take_changed_settings() {
            backend::parameter_status(&mut self.out, &name, &value);
        }
        let status = self.session.status();
        if status == TransactionStatus::Idle {
            self.formats
                .retain(|portal| self.session.portal_columns(portal).is_ok());
        }
        self.tell_notifications();
        backend::ready(&mut self.out, status);
        self.answered = true;
        Ok(())
    }

    /// Says how a run ended. False if that was an error.
    async fn ran(&mut self, ran: Ran, started: u64) -> Result<bool, Close> {
        let tag = match ran {
            Ran::Done(tag) => tag,
            Ran::Suspended => {
                self.tell();
                self.out.extend_from_slice(PORTAL_SUSPENDED);
                self.running = Some(Running {
                    kind: Kind::of("SELECT"),
                    started,
                });
                return Ok(true);
            }
            Ran::CopyIn {
                columns,
                format,
                watchdog,
            } => match self.copy_in(columns, &format, watchdog.as_ref()).await? {
                Ok(tag) => tag,
                Err(error) => {
                    self.refuse(error);
                    return Ok(false);
                }
            },
        };
        self.tell();
        let word = tag
            .as_deref()
            .map_or("", |tag| tag.split(' ').next().unwrap_or(tag));
        match &tag {
            Some(tag) => backend::complete(&mut self.out, tag),
            None => self.out.extend_from_slice(EMPTY_QUERY),
        }
        // The only statements that change time limits.
        if matches!(word, "SET" | "RESET" | "COMMIT" | "ROLLBACK" | "DISCARD") {
            self.read_limits();
        }
        self.running = Some(Running {
            kind: Kind::of(word),
            started,
        });
        Ok(true)
    }

    /// What is to be logged if it takes long: afterwards the portal may be gone.
    pub(super) fn text_if_watched(&self, portal: &str) -> Option<String> {
        self.entrance.config.log_min_duration?;
        let text = self.session.portal_text(portal);
        Some(text.unwrap_or_default().to_owned())
    }

    /// Logs a statement that has run for long; of the extended protocol without the commit, which Sync does.
    pub(super) fn log_if_slow(&self, text: Option<String>, started: u64) {
        let limit = self.entrance.config.log_min_duration;
        let Some((limit, statement)) = limit.zip(text) else {
            return;
        };
        let nanos = self.entrance.clock.monotonic_nanos() - started;
        if u128::from(nanos) < limit.as_nanos() {
            return;
        }
        tracing::info!(
            process_id = self.seat.process_id,
            milliseconds = nanos as f64 / 1e6,
            statement = &*without_passwords(&statement),
            "slow statement"
        );
    }

    /// A statement, or the end of them, begins: the one before it has ended.
    pub(super) fn start(&mut self) -> u64 {
        let now = self.entrance.clock.monotonic_nanos();
        if let Some(Running { kind, started }) = self.running.take() {
            self.entrance
                .metrics
                .statement(kind, now.saturating_sub(started));
        }
        now
    }

    pub(super) async fn run_portal(
        &mut self,
        portal: &str,
        max_rows: usize,
        announce: Announce,
    ) -> Result<SqlResult<Ran>, Close> {
        let ran = self.run_in_time(portal, max_rows, announce).await;
        // The limit is the statement's, not that of what comes behind it.
        self.session.limit_time(None);
        ran
    }

    async fn run_in_time(
        &mut self,
        portal: &str,
        max_rows: usize,
        announce: Announce,
    ) -> Result<SqlResult<Ran>, Close> {
        let context = self.session.format().clone();
        let mut pace = self.pace_of(portal);
        if pace == Pace::Long {
            self.leave_desk(portal).await?;
        }
        self.lock_timed_out = false;
        // Who computes on the desk's thread must look at the clock himself: the watchdog would wait for that thread.
        self.session.limit_time(self.limits.statement);
        let watchdog = self
            .limits
            .statement
            .map(|limit| Watchdog::new(limit, &self.seat));
        let mut copying = false;
        let mut given = 0;
        loop {
            let before = self.out.len();
            let formats = match announce {
                Announce::Columns => &Formats::Text,
                Announce::Nothing | Announce::Result => self.formats.get(portal),
            };
            let mut rows = Rows {
                out: &mut self.out,
                formats,
                context: &context,
                announce,
                typed: Vec::new(),
                given: &mut given,
                copying: &mut copying,
            };
            let session = &mut self.session;
            // A session counts the rows of one call; this one may be a continuation.
            let left = if max_rows == 0 {
                0
            } else {
                max_rows - *rows.given
            };
            let step = match pace {
                Pace::Short => session.execute(portal, left, &mut rows),
                Pace::Brief => match session.execute_briefly(portal, left, &mut rows) {
                    Ok(Some(step)) => Ok(step),
                    Ok(None) => {
                        self.out.truncate(before);
                        given = 0;
                        pace = Pace::Long;
                        self.leave_desk(portal).await?;
                        continue;
                    }
                    Err(error) => Err(error),
                },
                Pace::Long => {
                    tokio::task::block_in_place(|| session.execute(portal, left, &mut rows))
                }
            };
            match step {
                Ok(Step::Done(tag)) => {
                    if copying {
                        self.out.extend_from_slice(COPY_DONE);
                    }
                    return Ok(Ok(Ran::Done(tag)));
                }
                Ok(Step::Yielded) if max_rows > 0 && given == max_rows => {
                    return Ok(Ok(Ran::Suspended));
                }
                Ok(Step::Suspended) => return Ok(Ok(Ran::Suspended)),
                Ok(Step::Yielded) => {
                    self.flush().await?;
                    if pace == Pace::Brief {
                        // It has more to give than fits in a buffer, and cannot begin anew.
                        pace = Pace::Long;
                        self.leave_desk(portal).await?;
                    }
                }
                Ok(Step::Wait(pause)) => self.pause(pause).await?,
                Ok(Step::CopyIn { columns, format }) => {
                    return Ok(Ok(Ran::CopyIn {
                        columns,
                        format,
                        watchdog,
                    }));
                }
                Err(error) => return self.why(error, watchdog.as_ref()).map(Err),
            }
        }
    }

    /// Where a portal is run.
    fn pace_of(&self, portal: &str) -> Pace {
        if self.session.is_short(portal) {
            return Pace::Short;
        }
        let brief =
            desks::at_desk() && !self.session.is_heavy(portal) && self.session.may_be_brief(portal);
        match brief {
            true => Pace::Brief,
            false => Pace::Long,
        }
    }

    /// Goes where what takes long delays nobody.
    async fn leave_desk(&mut self, portal: &str) -> Result<(), Close> {
        self.answer_before_long().await?;
        match self.session.is_heavy(portal) {
            true => desks::behind().await,
            false => desks::apart().await,
        }
        Ok(())
    }

    /// Waits. Afterwards the session is asked again: it knows what has come of it.
    pub(super) async fn pause(&mut self, mut pause: Pause) -> Result<(), Close> {
        if !pause.is_interruptible() {
            pause.await;
            return Ok(());
        }
        // It may take long; what is answered or said already should not wait for it.
        self.tell();
        self.flush().await?;
        let limit = self
            .session
            .time_limit("lock_timeout")
            .map(Duration::from_millis);
        let limit = limit.filter(|_| pause.is_for_a_lock());
        let of_run = pause.may_be_given_up();
        loop {
            let ahead = self.input.len() < READ_AHEAD_BYTES;
            tokio::select! {
                biased;
                () = &mut pause => return Ok(()),
                () = self.seat.wake.notified() => return Ok(()),
                () = after(limit) => {
                    match of_run {
                        true => self.session.give_up_waiting(),
                        false => {
                            self.lock_timed_out = true;
                            self.seat.interrupt();
                        }
                    }
                    return Ok(());
                }
                read = self.io.read_buf(&mut self.input), if ahead => {
                    if matches!(read, Ok(0) | Err(_)) {
                        return Err(Close::Gone);
                    }
                }
            }
        }
    }

    /// A cancelled statement says who cancelled it.
    pub(super) fn why(
        &mut self,
        error: SqlError,
        watchdog: Option<&Watchdog>,
    ) -> Result<SqlError, Close> {
        let lock_timed_out = std::mem::take(&mut self.lock_timed_out);
        if error.state != SqlState::QUERY_CANCELED {
            return Ok(error);
        }
        if self.seat.phase() == Phase::Closing {
            return Err(Close::Fatal(shutting_down()));
        }
        if lock_timed_out {
            return Ok(SqlError::lock_timeout());
        }
        let fired = |watchdog: &Watchdog| watchdog.fired.load(Ordering::Acquire);
        if watchdog.is_some_and(fired) {
            let message = "canceling statement due to statement timeout";
            return Ok(SqlError::new(SqlState::QUERY_CANCELED, message));
        }
        Ok(error)
    }
}

/// Interrupts a statement that takes too long; dropped when the statement ends in time.
pub(super) struct Watchdog {
    task: tokio::task::JoinHandle<()>,
    /// Set before the session is interrupted, read after it said so: Release pairs with Acquire.
    fired: Arc<AtomicBool>,
}

impl Watchdog {
    fn new(limit: Duration, seat: &Arc<Seat>) -> Watchdog {
        let fired = Arc::new(AtomicBool::new(false));
        let (seat, flag) = (Arc::clone(seat), Arc::clone(&fired));
        let task = tokio::spawn(async move {
            tokio::time::sleep(limit).await;
            flag.store(true, Ordering::Release);
            seat.interrupt();
        });
        Watchdog { task, fired }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.task.abort();
    }
}
