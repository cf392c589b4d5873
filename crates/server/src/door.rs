//! From an accepted socket to a session: encryption, cancel requests, log-in, authentication.
//!
//! Relies on: `protocol::startup`, `admission`, `registry`.  Promises: nobody is told anything about the
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
//!                                      admission ──28000, 28P01──► closed
//!                                          ▼
//!                                       Guest ──► house
//! ```

use crate::admission::{self, Arrival};
use crate::arrivals::Accepted;
use crate::auth::{self, Users};
use crate::certificate::common_name;
use crate::config::ServerConfig;
use crate::hba::Rules;
use crate::house::{Guest, House};
use crate::linger::Crowd;
use crate::metrics::{Metrics, add};
use crate::protocol::backend::{self, Severity};
use crate::protocol::frame;
use crate::protocol::startup::{self, MINOR_VERSION, Packet, Startup};
use crate::protocol::violation;
use crate::registry::{Phase, Registry, Seat};
use parking_lot::RwLock;
use pgwire::tokio::TlsAcceptor;
use quintet_base::limits::STARTUP_BYTES_MAX;
use quintet_base::{SqlError, SqlState};
use quintet_rt::RealClock;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
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
    /// Who may come from where. Replaced when the file is read again; a log-in takes what it finds.
    pub(crate) rules: RwLock<Option<Arc<Rules>>>,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) crowd: Arc<Crowd>,
    pub(crate) clock: RealClock,
    /// True once nobody is let in any more.
    pub(crate) stopping: watch::Sender<bool>,
}

/// Why there is no session.
pub(crate) enum Refusal {
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
pub(crate) async fn serve<H: House>(accepted: Accepted, entrance: Arc<Entrance>, house: Arc<H>) {
    let limit = entrance.config.authentication_timeout;
    let mut stopping = entrance.stopping.subscribe();
    let admitted = tokio::select! {
        admitted = tokio::time::timeout(limit, admit(accepted, &entrance, &*house)) => admitted,
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

async fn admit<H: House>(
    accepted: Accepted,
    entrance: &Arc<Entrance>,
    house: &H,
) -> Result<Guest, Refusal> {
    let mut arrival = Arrival {
        origin: accepted.origin()?,
        encrypted: false,
        certificate: None,
    };
    let taken_over = accepted
        .into_io()
        .inspect_err(|error| tracing::error!(%error, "a connection could not be taken over"));
    let mut io = taken_over?;
    for _ in 0..PACKETS_MAX {
        let mut length = [0; 4];
        io.read_exact(&mut length).await?;
        let mut body = match frame::packet_body(length) {
            Ok(length) => vec![0; length],
            Err(error) => return Err(Refusal::Told(io, error)),
        };
        io.read_exact(&mut body).await?;
        match startup::parse(&body) {
            Ok(Packet::Ssl) if !arrival.encrypted => {
                // Nobody listens between the two ends of a Unix socket.
                let tls = entrance.tls.as_ref();
                if let Some(tls) = tls.filter(|_| arrival.origin.address().is_some()) {
                    io.write_all(b"S").await?;
                    // Nothing beyond the request was read, so that nothing sent in the clear can
                    // pass for encrypted.
                    let accepted = tls.accept(io).await;
                    let stream = accepted.inspect_err(|error| {
                        let address = arrival.origin;
                        let reason = error.to_string();
                        tracing::warn!(%address, reason, "no encryption was agreed on");
                        add(&entrance.metrics.authentications_failed, 1);
                    })?;
                    let shown = stream.get_ref().1.peer_certificates();
                    let shown = shown.and_then(<[_]>::first);
                    arrival.certificate = shown.map(|shown| common_name(shown));
                    arrival.encrypted = true;
                    io = Box::new(stream);
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
            Ok(Packet::Startup(startup)) => {
                return login(io, startup, arrival, (entrance, house)).await;
            }
            Err(error) => return Err(Refusal::Told(io, error)),
        }
        io.flush().await?;
    }
    Err(Refusal::Told(io, violation("expected a startup message")))
}

async fn login<H: House>(
    io: Io,
    startup: Startup,
    arrival: Arrival,
    (entrance, house): (&Arc<Entrance>, &H),
) -> Result<Guest, Refusal> {
    let seat = match take_seat(entrance) {
        Ok(seat) => seat,
        Err(error) => return Err(Refusal::Told(io, error)),
    };
    let mut out = Vec::with_capacity(1024);
    if startup.minor > MINOR_VERSION || !startup.protocol_options.is_empty() {
        backend::negotiate_version(&mut out, MINOR_VERSION, &startup.protocol_options);
    }
    let who = (startup.user.as_str(), startup.database.as_str());
    let (io, admitted) =
        admission::admit(io, &mut out, who, &arrival, (&**entrance, house)).await?;
    if !seat.belongs_to(&startup.user, admitted.limit) {
        let user = &startup.user;
        let error = SqlError::new(
            SqlState::TOO_MANY_CONNECTIONS,
            format!("too many connections for role \"{user}\""),
        );
        let (address, reason) = (arrival.origin, "the role has all the sessions it may have");
        tracing::warn!(user, %address, reason, "log-in refused");
        add(&entrance.metrics.authentications_failed, 1);
        return Err(Refusal::Told(io, error));
    }
    Ok(Guest {
        origin: arrival.origin,
        configured: admitted.configured,
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

/// Sends what is ready and reads the password message that answers it.
pub(crate) async fn ask(io: &mut Io, out: &mut Vec<u8>) -> io::Result<Result<Vec<u8>, SqlError>> {
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
