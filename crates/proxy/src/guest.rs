//! One client of the front end, from log-in to farewell.
//!
//! Relies on: `switchboard` for everything that replicas do.  Promises: answers in the order of the requests; a
//! client that misbehaves hurts its own connection only; memory bounded by the largest message and answer.
//! Does not: know replicas, schedule, or keep anything that another client needs.
//!
//! ```text
//!            ┌──────────── message ◄─ read ◄─ nothing whole left: write everything ◄─┐
//!            ▼                                                                       │
//!   Q ► each statement ─────────────────────────────────────────────► ReadyForQuery ─┤
//!   P B D E C ► prepared (and described by a replica), bound, run ─ error ► skip to Sync
//!   S ──────────────────────────────────────────────────────────────► ReadyForQuery ─┘
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `guest` | the loop: reading, writing, waiting, the end |
//! | `guest/simple`, `guest/extended` | the two protocols |
//! | `guest/run` | which way a statement goes |
//! | `guest/transaction` | BEGIN to COMMIT |

mod extended;
mod run;
mod simple;
mod transaction;

use crate::settings::SessionSettings;
use crate::switchboard::Switchboard;
use crate::told::Told;
use bytes::BytesMut;
use extended::Prepared;
use quintet_base::limits::MESSAGE_BYTES_MAX;
use quintet_base::{SqlError, SqlState};
use quintet_embed::TransactionStatus;
use quintet_front::{CallId, SessionId};
use quintet_server::protocol::backend::{self, Severity};
use quintet_server::protocol::frame::{self, Frame, Front, HEADER_BYTES};
use quintet_server::protocol::frontend::{self, Message};
use quintet_server::{Guest as Admitted, Phase, Served};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use transaction::Transaction;

/// Room for reading.
const READ_BYTES: usize = 16 * 1024;

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

impl From<std::io::Error> for Close {
    fn from(_: std::io::Error) -> Close {
        Close::Gone
    }
}

/// A client.
pub(crate) struct Guest {
    admitted: Admitted,
    input: BytesMut,
    switchboard: Arc<Switchboard>,
    session: SessionId,
    settings: SessionSettings,
    prepared: Prepared,
    transaction: Transaction,
    /// An error was sent; everything up to Sync is ignored.
    skipping: bool,
    /// Somebody asked for what runs now to be stopped.
    cancelled: Arc<AtomicBool>,
    _served: Served,
}

impl Guest {
    /// Lets a client in, unless it asks for a setting that cannot be in force: that must not be left out in silence.
    pub async fn admit(mut admitted: Admitted, switchboard: Arc<Switchboard>) -> Option<Guest> {
        let mut settings = SessionSettings::default();
        for (name, value) in std::mem::take(&mut admitted.startup.settings) {
            if let Err(error) = settings.set(&name, Some(&value), switchboard.strongest()) {
                admitted.refuse(&error).await;
                return None;
            }
        }
        let cancelled = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&cancelled);
        admitted
            .seat
            .serves(move || flag.store(true, Ordering::Release));
        admitted.welcome(&switchboard.parameters());
        backend::ready(&mut admitted.out, TransactionStatus::Idle);
        Some(Guest {
            _served: admitted.counted(),
            admitted,
            input: BytesMut::with_capacity(READ_BYTES),
            session: switchboard.new_session(),
            switchboard,
            settings,
            prepared: Prepared::default(),
            transaction: Transaction::None,
            skipping: false,
            cancelled,
        })
    }

    /// Serves the client until one side has enough.
    pub async fn run(mut self) {
        let close = loop {
            if let Err(close) = self.turn().await {
                break close;
            }
        };
        self.switchboard.end_session(self.session);
        if let Close::Fatal(error) = &close {
            self.admitted
                .entrance
                .metrics
                .count_error(error.state.as_str());
            backend::error(&mut self.admitted.out, Severity::Fatal, error);
            let _ = tokio::time::timeout(FAREWELL, self.flush()).await;
        }
        let _ = tokio::time::timeout(FAREWELL, self.admitted.io.shutdown()).await;
    }

    /// One message.
    async fn turn(&mut self) -> Result<(), Close> {
        let frame = self.frame().await?;
        let bytes = self.input.split_to(frame.end).freeze();
        let body = &bytes[HEADER_BYTES..];
        if self.skipping && !matches!(frame.kind, b'S' | b'X') {
            return Ok(());
        }
        let message = match frontend::parse(frame.kind, body) {
            Ok(Some(message)) => message,
            Ok(None) => {
                return Err(Close::Fatal(SqlError::new(
                    SqlState::PROTOCOL_VIOLATION,
                    format!("invalid frontend message type {}", frame.kind),
                )));
            }
            Err(error) => return self.refuse(frame.kind, error.into()),
        };
        let done = match message {
            Message::Query(text) => {
                self.query(text).await?;
                Ok(())
            }
            Message::Sync => {
                self.skipping = false;
                self.end_pipeline().await
            }
            Message::Flush => {
                self.flush().await?;
                Ok(())
            }
            Message::Terminate => return Err(Close::Gone),
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => Ok(()),
            Message::FunctionCall(_) => {
                Err(SqlError::unsupported("the function call message").into())
            }
            Message::Password(_) => {
                return Err(Close::Fatal(SqlError::new(
                    SqlState::PROTOCOL_VIOLATION,
                    "a password nobody asked for",
                )));
            }
            other => self.extended(other).await,
        };
        match done {
            Ok(()) => Ok(()),
            Err(told) => self.refuse(frame.kind, told),
        }
    }

    /// Tells of an error; what follows up to Sync is skipped.
    fn refuse(&mut self, kind: u8, told: Told) -> Result<(), Close> {
        self.tell(&told);
        if matches!(kind, b'Q' | b'F' | b'S') {
            self.ready();
        } else {
            self.skipping = true;
        }
        Ok(())
    }

    /// Tells of an error; a transaction that is open has failed.
    fn tell(&mut self, told: &Told) {
        let metrics = &self.admitted.entrance.metrics;
        metrics.count_error(told.state().as_str());
        self.transaction.fail();
        told.write(&mut self.admitted.out);
    }

    fn ready(&mut self) {
        backend::ready(&mut self.admitted.out, self.transaction.status());
    }

    /// Waits for a whole message at the front of `input`.
    async fn frame(&mut self) -> Result<Frame, Close> {
        loop {
            match frame::front(&self.input).map_err(Close::Fatal)? {
                Front::Whole(frame) => return Ok(frame),
                Front::Part { end } => {
                    debug_assert!(end <= MESSAGE_BYTES_MAX + HEADER_BYTES);
                    self.flush().await?;
                    self.read().await?;
                }
            }
        }
    }

    async fn read(&mut self) -> Result<(), Close> {
        loop {
            self.look()?;
            let limit = match self.transaction.is_open() {
                true => self.switchboard.idle_in_transaction(),
                false => None,
            };
            let killed = self.transaction.killed();
            tokio::select! {
                biased;
                read = self.admitted.io.read_buf(&mut self.input) => {
                    return match read? {
                        0 => Err(Close::Gone),
                        _ => Ok(()),
                    };
                }
                () = self.admitted.seat.wake.notified() => {}
                () = killed => self.transaction.lose(),
                () = after(limit) => return Err(Close::Fatal(SqlError::new(
                    SqlState(*b"25P03"),
                    "terminating connection due to idle-in-transaction timeout",
                ))),
            }
        }
    }

    /// Whether the server is about to stop.
    fn look(&self) -> Result<(), Close> {
        let leave = match self.admitted.seat.phase() {
            Phase::Running => false,
            Phase::Draining => !self.transaction.is_open(),
            Phase::Closing => true,
        };
        match leave {
            true => Err(Close::Fatal(SqlError::new(
                SqlState(*b"57P01"),
                "terminating connection due to administrator command",
            ))),
            false => Ok(()),
        }
    }

    async fn flush(&mut self) -> Result<(), Close> {
        let out = &mut self.admitted.out;
        if !out.is_empty() {
            self.admitted.io.write_all(out).await?;
            self.admitted.io.flush().await?;
            out.clear();
            out.shrink_to(1 << 20);
        }
        Ok(())
    }

    /// Waits for what becomes of a call; a request to cancel is passed on, and then the end is waited for.
    async fn outcome<T>(
        &mut self,
        call: CallId,
        mut reply: oneshot::Receiver<Result<T, Told>>,
    ) -> Result<T, Told> {
        loop {
            tokio::select! {
                biased;
                reply = &mut reply => {
                    self.cancelled.store(false, Ordering::Release);
                    return reply.unwrap_or_else(|_| Err(stopped()));
                }
                () = self.admitted.seat.wake.notified() => {
                    let leave = self.admitted.seat.phase() == Phase::Closing;
                    if leave || self.cancelled.swap(false, Ordering::AcqRel) {
                        self.switchboard.cancel(call);
                    }
                }
            }
        }
    }
}

/// What is told when the front end stops in the middle.
pub(crate) fn stopped() -> Told {
    SqlError::new(
        SqlState(*b"57P01"),
        "the front end stops; whether the transaction took place is not known",
    )
    .into()
}

async fn after(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}
