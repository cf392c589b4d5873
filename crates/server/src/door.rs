//! From an accepted socket to a session: encryption, cancel requests, log-in, authentication.
//!
//! Relies on: `protocol::startup`, `auth`, `registry`.  Promises: nobody is told anything about the
//! database before they are let in; whoever takes too long is let go; an unread packet is bounded.
//! Does not: serve statements; the house behind it does.
//!
//! ```text
//!   accepted ──SSLRequest: S, handshake─► encrypted ──┐
//!      │ ╰──SSL or GSS request: N─╮ │                 │
//!      │ ◄────────────────────────╯ │                 │
//!      ├────────── CancelRequest ───┴──► (done, no answer)
//!      └────────── StartupMessage ────► a seat? ──53300──► closed
//!                                          │
//!                                    users configured? ──SCRAM fails: 28P01──► closed
//!                                          ▼
//!                                       Guest ──► house
//! ```

use crate::auth::{self, Users};
use crate::config::ServerConfig;
use crate::house::{Guest, House};
use crate::linger::Crowd;
use crate::metrics::{Metrics, add};
use crate::protocol::backend::{self, Sasl, Severity};
use crate::protocol::frame;
use crate::protocol::startup::{self, MINOR_VERSION, Packet, Startup};
use crate::protocol::violation;
use crate::registry::{Phase, Registry, Seat};
use pgwire::tokio::TlsAcceptor;
use quintet_base::limits::STARTUP_BYTES_MAX;
use quintet_base::{SqlError, SqlState};
use quintet_rt::RealClock;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Packets that may come before the log-in: a request for each kind of encryption, and one more.
const PACKETS_MAX: usize = 3;

/// A socket, encrypted or not.
pub trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

/// One call through a table per read and per write is nothing beside the system call.
pub type Io = Box<dyn Socket>;

/// What all who come through a door share.
pub struct Entrance {
    /// What the server was told.
    pub config: ServerConfig,
    /// Counters.
    pub metrics: Metrics,
    pub(crate) users: Users,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) crowd: Arc<Crowd>,
    pub(crate) clock: RealClock,
    /// True once nobody is let in any more.
    pub(crate) stopping: watch::Sender<bool>,
}

/// Why there is no session.
enum Refusal {
    /// The other side needs no answer or cannot get one.
    Silent,
    /// It is told.
    Told(Io, SqlError),
}

impl From<io::Error> for Refusal {
    fn from(_: io::Error) -> Refusal {
        Refusal::Silent
    }
}

/// Serves one accepted socket to its end.
pub(crate) async fn serve<H: House>(stream: TcpStream, entrance: Arc<Entrance>, house: Arc<H>) {
    let limit = entrance.config.authentication_timeout;
    let mut stopping = entrance.stopping.subscribe();
    let admitted = tokio::select! {
        admitted = tokio::time::timeout(limit, admit(stream, &entrance)) => admitted,
        _ = stopping.wait_for(|stopping| *stopping) => return,
    };
    match admitted {
        Ok(Ok(guest)) => house.receive(guest).await,
        Ok(Err(Refusal::Told(io, error))) => tell(io, &error, &entrance).await,
        Ok(Err(Refusal::Silent)) => {}
        Err(_) => tracing::debug!("authentication took too long"),
    }
}

/// Tells somebody why there is no session, and closes.
pub(crate) async fn tell(mut io: Io, error: &SqlError, entrance: &Entrance) {
    tracing::debug!(state = %error.state, message = error.message, "connection refused");
    entrance.metrics.error(error.state.as_str());
    let mut out = Vec::new();
    backend::error(&mut out, Severity::Fatal, error);
    // It may be gone; then nobody misses the message.
    let _ = tokio::time::timeout(entrance.config.authentication_timeout, async {
        io.write_all(&out).await?;
        io.shutdown().await
    })
    .await;
}

async fn admit(stream: TcpStream, entrance: &Arc<Entrance>) -> Result<Guest, Refusal> {
    let mut io: Io = Box::new(stream);
    let mut encrypted = false;
    for _ in 0..PACKETS_MAX {
        let mut length = [0; 4];
        io.read_exact(&mut length).await?;
        let mut body = match frame::packet_body(length) {
            Ok(length) => vec![0; length],
            Err(error) => return Err(Refusal::Told(io, error)),
        };
        io.read_exact(&mut body).await?;
        match startup::parse(&body) {
            Ok(Packet::Ssl) if !encrypted => {
                if let Some(tls) = &entrance.tls {
                    io.write_all(b"S").await?;
                    // Nothing beyond the request was read, so that nothing sent in the clear can
                    // pass for encrypted.
                    io = Box::new(tls.accept(io).await?);
                    encrypted = true;
                } else {
                    io.write_all(b"N").await?;
                }
            }
            Ok(Packet::Ssl | Packet::Gss) => io.write_all(b"N").await?,
            Ok(Packet::Cancel { process_id, secret }) => {
                add(&entrance.metrics.cancel_requests, 1);
                entrance.registry.cancel(process_id, secret);
                return Err(Refusal::Silent);
            }
            Ok(Packet::Startup(startup)) => return login(io, startup, entrance).await,
            Err(error) => return Err(Refusal::Told(io, error)),
        }
        io.flush().await?;
    }
    Err(Refusal::Told(io, violation("expected a startup message")))
}

async fn login(mut io: Io, startup: Startup, entrance: &Arc<Entrance>) -> Result<Guest, Refusal> {
    let seat = match take_seat(entrance) {
        Ok(seat) => seat,
        Err(error) => return Err(Refusal::Told(io, error)),
    };
    let mut out = Vec::with_capacity(1024);
    if startup.minor > MINOR_VERSION || !startup.protocol_options.is_empty() {
        backend::negotiate_version(&mut out, MINOR_VERSION, &startup.protocol_options);
    }
    if !entrance.users.is_empty() {
        match authenticate(&mut io, &mut out, &startup.user, &entrance.users).await? {
            Ok(()) => {}
            Err(error) => {
                add(&entrance.metrics.authentications_failed, 1);
                return Err(Refusal::Told(io, error));
            }
        }
    }
    Ok(Guest {
        io,
        out,
        startup,
        seat,
        entrance: Arc::clone(entrance),
    })
}

fn take_seat(entrance: &Entrance) -> Result<Arc<Seat>, SqlError> {
    if entrance.registry.phase() != Phase::Running {
        return Err(SqlError::new(
            SqlState::CANNOT_CONNECT_NOW,
            "the database system is shutting down",
        ));
    }
    let mut secret = [0; 4];
    auth::secrets(&mut secret).map_err(SqlError::internal)?;
    entrance.registry.sit_down(secret).ok_or_else(|| {
        add(&entrance.metrics.connections_refused, 1);
        SqlError::new(
            SqlState::TOO_MANY_CONNECTIONS,
            "sorry, too many clients already",
        )
    })
}

/// The SCRAM exchange. The inner result is the client's; the outer one is the socket's.
async fn authenticate(
    io: &mut Io,
    out: &mut Vec<u8>,
    user: &str,
    users: &Users,
) -> io::Result<Result<(), SqlError>> {
    backend::sasl(out, Sasl::Mechanism(auth::MECHANISM));
    let response = match ask(io, out).await? {
        Ok(response) => response,
        Err(error) => return Ok(Err(error)),
    };
    let challenge = match users.challenge(user, &response) {
        Ok((server_first, challenge)) => {
            backend::sasl(out, Sasl::Continue(&server_first));
            challenge
        }
        Err(error) => return Ok(Err(error)),
    };
    let proof = match ask(io, out).await? {
        Ok(proof) => proof,
        Err(error) => return Ok(Err(error)),
    };
    Ok(challenge
        .answer(&proof)
        .map(|server_final| backend::sasl(out, Sasl::Final(&server_final))))
}

/// Sends what is ready and reads the password message that answers it.
async fn ask(io: &mut Io, out: &mut Vec<u8>) -> io::Result<Result<Vec<u8>, SqlError>> {
    io.write_all(out).await?;
    io.flush().await?;
    out.clear();
    let mut header = [0; frame::HEADER_BYTES];
    io.read_exact(&mut header).await?;
    let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
    if header[0] != b'p' || !(4..=STARTUP_BYTES_MAX).contains(&length) {
        return Ok(Err(violation("expected a password message")));
    }
    let mut body = vec![0; length - 4];
    io.read_exact(&mut body).await?;
    Ok(Ok(body))
}
