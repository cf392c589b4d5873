//! One client, from its first statement to its last.
//!
//! Relies on: `embed::Session`, which never blocks.  Promises: answers in the order of the requests;
//! one write for everything that a burst of messages asked for; memory bounded by the largest message
//! and row; a panic ends this connection and no other.  Does not: notice that a client has gone while
//! a statement computes (it does while one waits for a row).
//!
//! ```text
//!            ┌───────────────── message ◄─ read ◄─ nothing whole left: write everything ◄─┐
//!            ▼                                                                            │
//!   Q ► query: each statement, commit ────────────────────────────► ReadyForQuery ────────┤
//!   P B D C ► prepare ── error ► skip to Sync                                             │
//!   F ► function: the call, commit ───────────────────────────────► ReadyForQuery ────────┤
//!   E ► execute ──────── error ► skip to Sync                                             │
//!   S ► sync: commit ─────────────────────────────────────────────► ReadyForQuery ────────┘
//! ```
//!
//! Hot path: from `frame` to `frame`, a Bind, Execute, Sync takes no allocation of ours beyond the
//! parameters, no other thread, one read and one write. `statement` holds the other half.
//!
//! | file | what it holds |
//! |---|---|
//! | `connection` | the loop, reading, writing, the end |
//! | `connection/prepare` | Parse, Bind, Describe, Close |
//! | `connection/statement` | Query, Execute, Sync; waiting |
//! | `connection/function` | FunctionCall |
//! | `connection/copy` | COPY FROM STDIN |

mod copy;
mod function;
mod prepare;
mod statement;

use crate::desks;
use crate::door::{Entrance, Io};
use crate::linger::Presence;
use crate::metrics::add;
use crate::protocol::backend::{self, Severity};
use crate::protocol::frame::{self, Frame, Front, HEADER_BYTES};
use crate::protocol::frontend::{self, Message};
use crate::protocol::violation;
use crate::registry::{Phase, Seat};
use crate::rows::PortalFormats;
use bytes::{Buf, BytesMut};
use quintet_base::{Patience, SqlError, SqlState};
use quintet_embed::{Session, SimpleStatement, TransactionStatus};
use quintet_rt::Clock;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Room for reading: a burst of small messages, or a slice of a large one.
const READ_BYTES: usize = 16 * 1024;

/// A message of so many bytes takes a millisecond to be parsed.
const TEXT_BYTES_LONG: usize = 16 * 1024;

/// Buffers that grew beyond this for one large message or row are given back after it.
const BUFFER_BYTES_KEPT: usize = 1024 * 1024;

/// How long a client that is told to leave may take to hear it.
const FAREWELL: Duration = Duration::from_secs(1);

/// Why a connection ends.
#[derive(Debug)]
enum Close {
    /// The client has gone, or cannot be talked to.
    Gone,
    /// It is told why.
    Fatal(SqlError),
}

/// Time limits of the session, kept here because asking for them costs more than a statement should.
#[derive(Clone, Copy, Debug, Default)]
struct TimeLimits {
    statement: Option<Duration>,
    idle_in_transaction: Option<Duration>,
    idle: Option<Duration>,
}

/// A statement that was answered but whose commit, at Sync, is still to come.
#[derive(Clone, Copy, Debug)]
struct Running {
    kind: crate::metrics::Kind,
    started: u64,
}

/// A client and its session.
pub(crate) struct Connection {
    io: Io,
    input: BytesMut,
    out: Vec<u8>,
    session: Session,
    seat: Arc<Seat>,
    entrance: Arc<Entrance>,
    formats: PortalFormats,
    limits: TimeLimits,
    /// An error was sent; everything up to Sync is ignored.
    skipping: bool,
    /// `out` holds a ReadyForQuery: somebody may be waiting for it.
    answered: bool,
    /// A COPY FROM STDIN waits for the client; it may finish when the server stops.
    copying: bool,
    /// What is planned is given up when it takes longer than a moment.
    briefly: bool,
    /// A lock was waited for longer than `lock_timeout`.
    lock_timed_out: bool,
    running: Option<Running>,
    presence: Presence,
    /// Whether others of the desk have answered at the same time.
    company: Patience,
}

/// What a message leaves to do once its bytes are no longer needed.
enum Next {
    Nothing,
    /// It is to be taken again, where it may take long.
    Elsewhere,
    Query(Vec<SimpleStatement>),
    Execute {
        portal: String,
        max_rows: usize,
    },
    /// A function was called by its number.
    Function,
    Sync,
    Flush,
}

impl Connection {
    /// A connection whose client has been let in; `out` holds what it is to be told first.
    pub fn new(
        io: Io,
        mut out: Vec<u8>,
        session: Session,
        seat: Arc<Seat>,
        entrance: Arc<Entrance>,
    ) -> Connection {
        backend::ready(&mut out, session.status());
        let presence = Presence::new(Arc::clone(&entrance.crowd));
        add(&entrance.metrics.connections, 1);
        add(&entrance.metrics.connections_open, 1);
        let mut connection = Connection {
            io,
            input: BytesMut::with_capacity(READ_BYTES),
            out,
            session,
            seat,
            entrance,
            formats: PortalFormats::default(),
            limits: TimeLimits::default(),
            skipping: false,
            answered: true,
            copying: false,
            briefly: false,
            lock_timed_out: false,
            running: None,
            presence,
            company: Patience::default(),
        };
        connection.read_limits();
        connection
    }

    /// Serves the client until one side has enough.
    pub async fn run(mut self) {
        let close = {
            let mut serving = pin!(self.serve());
            poll_fn(|context| {
                // Whatever a panic leaves half done is dropped below, never looked at again.
                let poll = catch_unwind(AssertUnwindSafe(|| serving.as_mut().poll(context)));
                poll.unwrap_or_else(|panic| Poll::Ready(Close::Fatal(panicked(&*panic))))
            })
            .await
        };
        let Connection {
            mut io,
            mut out,
            session,
            seat,
            entrance,
            presence,
            ..
        } = self;
        drop(presence);
        // Its locks go before the client is told.
        if catch_unwind(AssertUnwindSafe(|| drop(session))).is_err() {
            tracing::error!(
                process_id = seat.process_id,
                "a session could not be closed cleanly"
            );
        }
        if let Close::Fatal(error) = &close {
            entrance.metrics.error(error.state.as_str());
            log(error, seat.process_id);
            out.truncate(backend::whole(&out));
            backend::error(&mut out, Severity::Fatal, error);
            // It may be gone, too; then nobody misses the message.
            let _ = tokio::time::timeout(FAREWELL, io.write_all(&out)).await;
        }
        let _ = tokio::time::timeout(FAREWELL, io.shutdown()).await;
        entrance
            .metrics
            .connections_open
            .fetch_sub(1, Ordering::Relaxed);
        tracing::debug!(process_id = seat.process_id, "connection closed");
    }

    async fn serve(&mut self) -> Close {
        loop {
            if let Err(close) = self.turn().await {
                return close;
            }
        }
    }

    /// One message.
    async fn turn(&mut self) -> Result<(), Close> {
        let frame = self.frame().await?;
        let next = self.take_in_time(frame).await?;
        self.input.advance(frame.end);
        match next {
            Next::Nothing | Next::Elsewhere => Ok(()),
            Next::Query(statements) => self.query(statements).await,
            Next::Execute { portal, max_rows } => self.execute(&portal, max_rows).await,
            Next::Function => self.function().await,
            Next::Sync => self.sync().await,
            Next::Flush => self.flush().await,
        }
    }

    /// As [`Connection::take`], where it delays nobody if it takes long: what is to be planned may be, and somebody who wants to interrupt
    /// that may have to be read on this thread.
    async fn take_in_time(&mut self, frame: Frame) -> Result<Next, Close> {
        if !matches!(frame.kind, b'Q' | b'P' | b'B') {
            return self.take(frame);
        }
        self.session.begin_message();
        self.session.limit_time(self.limits.statement);
        let next = self.take_somewhere(frame).await;
        self.session.limit_time(None);
        next
    }

    async fn take_somewhere(&mut self, frame: Frame) -> Result<Next, Close> {
        if desks::at_desk() && frame.end < TEXT_BYTES_LONG {
            self.briefly = true;
            let next = self.take(frame);
            self.briefly = false;
            let next = next?;
            if !matches!(next, Next::Elsewhere) {
                return Ok(next);
            }
        }
        self.answer_before_long().await?;
        desks::apart().await;
        tokio::task::block_in_place(|| self.take(frame))
    }

    /// Does what can be done while the message's bytes are in place.
    fn take(&mut self, frame: Frame) -> Result<Next, Close> {
        // Of what is skipped not even the form matters, except where it ends.
        if self.skipping && !matches!(frame.kind, b'S' | b'X') {
            return Ok(Next::Nothing);
        }
        let parsed = frontend::parse(frame.kind, &self.input[HEADER_BYTES..frame.end]);
        let taken = match parsed {
            Err(error) => Err(error),
            Ok(None) => {
                let kind = frame.kind;
                return Err(Close::Fatal(violation(format!(
                    "invalid frontend message type {kind}"
                ))));
            }
            Ok(Some(message)) => match message {
                Message::Query(text) => self.session.split(text).map(Next::Query),
                Message::Execute { portal, max_rows } => Ok(Next::Execute {
                    portal: portal.to_string(),
                    max_rows,
                }),
                Message::Sync => Ok(Next::Sync),
                Message::Flush => Ok(Next::Flush),
                Message::Terminate => return Err(Close::Gone),
                Message::FunctionCall(call) => {
                    function::prepare(&mut self.session, &mut self.formats, &call)
                        .map(|()| Next::Function)
                }
                // A client may still be sending when its COPY has already failed.
                Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => {
                    Ok(Next::Nothing)
                }
                Message::Password(_) => {
                    return Err(Close::Fatal(violation("a password nobody asked for")));
                }
                Message::Parse { .. }
                | Message::Bind(_)
                | Message::Describe(..)
                | Message::Close(..) => {
                    let (formats, out) = (&mut self.formats, &mut self.out);
                    let mut prepare = |session: &mut Session| {
                        prepare::prepare(session, formats, out, message).map(|()| Next::Nothing)
                    };
                    match self.briefly {
                        false => prepare(&mut self.session),
                        true => match self.session.plan_briefly(prepare) {
                            Some(done) => done,
                            None => return Ok(Next::Elsewhere),
                        },
                    }
                }
            },
        };
        let error = match taken {
            Ok(next) => return Ok(next),
            Err(error) => self.why(error, None)?,
        };
        self.refuse(error);
        // Query and function call are whole cycles; the others end with the next Sync.
        if matches!(frame.kind, b'Q' | b'F') {
            return Ok(Next::Sync);
        }
        self.skipping = true;
        Ok(Next::Nothing)
    }

    /// Waits for a whole message at the front of `input`.
    async fn frame(&mut self) -> Result<Frame, Close> {
        loop {
            match frame::front(&self.input).map_err(Close::Fatal)? {
                Front::Whole(frame) => return Ok(frame),
                Front::Part { end } => {
                    self.let_others_answer().await;
                    let answered = !self.out.is_empty();
                    self.flush().await?;
                    if answered {
                        desks::others_now();
                    }
                    self.read(end).await?;
                }
            }
        }
    }

    /// With an answer to send, lets those of the desk who are as far send theirs with it, if any are, as a rule.
    async fn let_others_answer(&mut self) {
        if desks::at_desk() && !self.out.is_empty() && self.company.has() {
            let came = desks::others_first().await;
            self.company.learn(came);
        }
    }

    /// Reads some of a message that ends at `end`.
    async fn read(&mut self, end: usize) -> Result<(), Close> {
        self.look()?;
        if !self.copying {
            self.pass_on().await?;
            desks::home().await;
        }
        make_room(&mut self.input, end);
        // Who sends what a COPY puts in is not idle.
        let (limit, timed_out) = match self.session.status() {
            TransactionStatus::Idle => (self.limits.idle, Idle::Session),
            TransactionStatus::Open | TransactionStatus::Failed => {
                (self.limits.idle_in_transaction, Idle::InTransaction)
            }
        };
        let limit = limit.filter(|_| !self.copying);
        self.presence.set_busy(false);
        if let Some(read) = self.read_soon().await {
            return self.has_read(read);
        }
        loop {
            tokio::select! {
                biased;
                read = self.io.read_buf(&mut self.input) => return self.has_read(read),
                () = self.seat.wake.notified() => {
                    self.look()?;
                    if !self.copying {
                        self.pass_on().await?;
                    }
                }
                () = after(limit) => return Err(Close::Fatal(timed_out.error())),
            }
        }
    }

    /// What comes at once, or nearly: see `linger`.
    async fn read_soon(&mut self) -> Option<io::Result<usize>> {
        let clock = &self.entrance.clock;
        if !desks::at_desk() || !self.presence.linger(clock.monotonic_nanos()) {
            return None;
        }
        loop {
            let mut read = pin!(self.io.read_buf(&mut self.input));
            let looked = poll_fn(|context| Poll::Ready(read.as_mut().poll(context))).await;
            match looked {
                Poll::Ready(read) => {
                    self.presence.found();
                    return Some(read);
                }
                Poll::Pending if self.presence.looks_again(clock.monotonic_nanos()) => {
                    tokio::task::yield_now().await;
                }
                Poll::Pending => return None,
            }
        }
    }

    fn has_read(&mut self, read: io::Result<usize>) -> Result<(), Close> {
        self.presence.set_busy(true);
        match read {
            Ok(0) | Err(_) => Err(Close::Gone),
            Ok(count) => {
                add(&self.entrance.metrics.received_bytes, count as u64);
                Ok(())
            }
        }
    }

    /// Leaves if the server is stopping.
    fn look(&self) -> Result<(), Close> {
        match self.seat.phase() {
            Phase::Running => Ok(()),
            Phase::Draining if self.copying => Ok(()),
            Phase::Draining | Phase::Closing => Err(Close::Fatal(shutting_down())),
        }
    }

    /// Sends everything.
    async fn flush(&mut self) -> Result<(), Close> {
        if self.out.is_empty() {
            return Ok(());
        }
        let mut at = 0;
        while at < self.out.len() {
            tokio::select! {
                biased;
                written = self.io.write(&self.out[at..]) => match written {
                    Ok(0) | Err(_) => return Err(Close::Gone),
                    Ok(count) => at += count,
                },
                // Who does not listen does not hear a farewell either.
                () = self.seat.wake.notified() => if self.seat.phase() == Phase::Closing {
                    return Err(Close::Gone);
                },
            }
        }
        self.io.flush().await.map_err(|_| Close::Gone)?;
        add(&self.entrance.metrics.sent_bytes, at as u64);
        self.answered = false;
        self.out.clear();
        if self.out.capacity() > BUFFER_BYTES_KEPT {
            self.out = Vec::new();
        }
        Ok(())
    }

    /// Tells the client what went wrong with a statement.
    fn refuse(&mut self, error: SqlError) {
        let error = self.session.format().objects.name_error(error);
        self.entrance.metrics.error(error.state.as_str());
        log(&error, self.seat.process_id);
        self.tell();
        backend::error(&mut self.out, Severity::Error, &error);
        self.session.fail();
    }

    /// Passes on what the session has to say beside results.
    fn tell(&mut self) {
        for notice in self.session.take_notices() {
            backend::notice(&mut self.out, &notice);
        }
    }

    /// Passes on what others have said on channels, if there is anything.
    async fn pass_on(&mut self) -> Result<(), Close> {
        match self.tell_notifications() {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    /// Writes what others have said on channels; whether there was anything.
    fn tell_notifications(&mut self) -> bool {
        let notifications = self.session.take_notifications();
        for notification in &notifications {
            backend::notification(&mut self.out, notification);
        }
        !notifications.is_empty()
    }

    fn read_limits(&mut self) {
        let limit = |name| self.session.time_limit(name).map(Duration::from_millis);
        self.limits = TimeLimits {
            statement: limit("statement_timeout"),
            idle_in_transaction: limit("idle_in_transaction_session_timeout")
                .or(self.entrance.config.idle_in_transaction_timeout),
            idle: limit("idle_session_timeout"),
        };
    }
}

/// How a client has waited for too long with its next statement.
#[derive(Clone, Copy)]
enum Idle {
    Session,
    InTransaction,
}

impl Idle {
    fn error(self) -> SqlError {
        let (state, what) = match self {
            Idle::Session => (SqlState(*b"57P05"), "idle-session"),
            Idle::InTransaction => (SqlState(*b"25P03"), "idle-in-transaction"),
        };
        let message = format!("terminating connection due to {what} timeout");
        SqlError::new(state, message)
    }
}

/// Makes room for reading on. What is not there yet gets no more room than what is there already, so
/// that a length alone reserves nothing.
fn make_room(input: &mut BytesMut, end: usize) {
    if input.is_empty() && input.capacity() > BUFFER_BYTES_KEPT {
        *input = BytesMut::new();
    }
    let missing = end.saturating_sub(input.len());
    input.reserve(missing.min(input.len()).max(READ_BYTES / 4));
    if input.capacity() < READ_BYTES {
        input.reserve(READ_BYTES - input.len());
    }
}

/// Over after a time, or never.
async fn after(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

fn shutting_down() -> SqlError {
    SqlError::new(
        SqlState::ADMIN_SHUTDOWN,
        "terminating connection due to administrator command",
    )
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> SqlError {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    SqlError::internal(format!("internal error: {message}"))
        .hint("This is a bug in Quintet. The connection is closed; others are not affected.")
}

/// Faults and bugs are for the operator, too.
fn log(error: &SqlError, process_id: i32) {
    if error.state.as_str().starts_with("XX") || error.state.as_str().starts_with("58") {
        tracing::error!(process_id, state = %error.state, message = error.message, "statement failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Users;
    use crate::config::ServerConfig;
    use crate::metrics::Metrics;
    use crate::registry::Registry;
    use quintet_embed::{Database, DatabaseConfig, SessionOptions};
    use quintet_rt::RealClock;
    use std::pin::Pin;
    use std::task::Context;
    use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

    /// A socket whose first read panics, as a bug anywhere below a message would.
    struct Trap(DuplexStream);

    impl AsyncRead for Trap {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            panic!("planted");
        }
    }

    impl AsyncWrite for Trap {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<std::io::Result<usize>> {
            Pin::new(&mut self.0).poll_write(context, bytes)
        }

        fn poll_flush(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<std::io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(context)
        }

        fn poll_shutdown(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<std::io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(context)
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_ends_its_connection_with_an_answer_and_gives_the_seat_back() {
        let directory = tempfile::tempdir().unwrap();
        let (database, _) = Database::open(DatabaseConfig::new(directory.path())).unwrap();
        let entrance = Arc::new(Entrance {
            users: Users::new(&Default::default()).unwrap(),
            rules: Default::default(),
            tls: None,
            registry: Arc::new(Registry::new(1)),
            metrics: Metrics::default(),
            crowd: Arc::default(),
            clock: RealClock,
            stopping: Default::default(),
            config: ServerConfig::default(),
        });
        let seat = entrance.registry.sit_down(*b"abcd").unwrap();
        let session = database.session(SessionOptions::default()).unwrap();
        let (mut client, server) = tokio::io::duplex(64 * 1024);
        let io: Io = Box::new(Trap(server));
        Connection::new(io, Vec::new(), session, seat, Arc::clone(&entrance))
            .run()
            .await;
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert!(
            answer.starts_with(b"Z\0\0\0\x05IE"),
            "{}",
            answer.escape_ascii()
        );
        let text = String::from_utf8_lossy(&answer);
        assert!(
            text.contains("SFATAL\0VFATAL\0CXX000\0Minternal error: planted\0"),
            "{text:?}"
        );
        assert_eq!(entrance.metrics.connections_open(), 0);
        assert!(
            entrance.registry.sit_down(*b"abcd").is_some(),
            "the only seat is free again"
        );
    }

    #[test]
    fn a_length_alone_reserves_nothing() {
        let mut input = BytesMut::new();
        make_room(&mut input, frame::HEADER_BYTES);
        assert!(input.capacity() >= READ_BYTES);
        input.extend_from_slice(b"d\x0f\0\0\0");
        make_room(&mut input, 0x0f00_0001);
        assert!(input.capacity() <= 2 * READ_BYTES, "{}", input.capacity());
        input.extend_from_slice(&vec![0; 100_000]);
        make_room(&mut input, 0x0f00_0001);
        assert!(
            input.capacity() >= 200_000 && input.capacity() <= 400_000,
            "{}",
            input.capacity()
        );
        input.extend_from_slice(&vec![0; 2_000_000]);
        input.clear();
        make_room(&mut input, frame::HEADER_BYTES);
        assert!(input.capacity() < BUFFER_BYTES_KEPT);
    }
}
