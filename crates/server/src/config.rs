//! What a server is told, and why it may refuse to start.
//!
//! Relies on: nothing.  Promises: the defaults serve this machine only; passwords are never printed.
//! Does not: read files or the environment; `cli` does.

use quintet_base::limits;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Where the server listens unless told otherwise: PostgreSQL's port plus one, so that both can run.
pub const LISTEN_DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5433);

/// Anybody on this machine may connect to a Unix socket, as to PostgreSQL's `unix_socket_permissions`.
pub const SOCKET_MODE_DEFAULT: u32 = 0o777;

/// Time to authenticate, as PostgreSQL's `authentication_timeout`.
pub const AUTHENTICATION_TIMEOUT: Duration = Duration::from_secs(60);

/// Time that running statements get when the server stops: longer than honest transactions take,
/// shorter than what service managers wait before they kill.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Everything a server is told.
#[derive(Clone)]
pub struct ServerConfig {
    /// Address for PostgreSQL clients. Port 0 takes any free one. An address beyond this machine
    /// needs [`ServerConfig::users`].
    pub listen: SocketAddr,
    /// Directories in each of which a Unix socket is made that serves the same clients, `.s.PGSQL.` and the port.
    pub socket_directories: Vec<PathBuf>,
    /// Who may connect there, as bits of a file's permissions.
    pub socket_mode: u32,
    /// User names with a password, or with a verifier as PostgreSQL keeps it
    /// (`SCRAM-SHA-256$iterations:salt$stored:server`). Empty: everybody on this machine is let in;
    /// otherwise everybody must prove who they are (SCRAM-SHA-256).
    pub users: BTreeMap<String, String>,
    /// File of rules of admission. Without it: SCRAM-SHA-256 for everybody, as soon as anybody has a password.
    pub hba: Option<PathBuf>,
    /// PEM file of those who vouch for certificates of clients.
    pub tls_client_ca: Option<PathBuf>,
    /// Certificate and key for TLS; without them clients that ask for TLS are told no.
    pub tls: Option<TlsFiles>,
    /// Clients served at once; the next one is refused with 53300.
    pub connections_max: usize,
    /// How long a client may take from connecting to being authenticated.
    pub authentication_timeout: Duration,
    /// Ends sessions that idle inside a transaction for this long, unless they set
    /// `idle_in_transaction_session_timeout` themselves.
    pub idle_in_transaction_timeout: Option<Duration>,
    /// How long running statements may go on when the server stops.
    pub shutdown_grace: Duration,
    /// Statements that take at least so long are logged with their text; literals of simple statements stand as
    /// parameters.
    pub log_min_duration: Option<Duration>,
    /// Address for `/metrics` and `/healthz`. Anybody who reaches it may read it.
    pub http: Option<SocketAddr>,
}

/// PEM files for TLS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The certificate, followed by those that vouch for it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            listen: LISTEN_DEFAULT,
            socket_directories: Vec::new(),
            socket_mode: SOCKET_MODE_DEFAULT,
            users: BTreeMap::new(),
            hba: None,
            tls_client_ca: None,
            tls: None,
            connections_max: limits::CONNECTIONS_DEFAULT,
            authentication_timeout: AUTHENTICATION_TIMEOUT,
            idle_in_transaction_timeout: None,
            shutdown_grace: SHUTDOWN_GRACE,
            log_min_duration: None,
            http: None,
        }
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig")
            .field("listen", &self.listen)
            .field("socket_directories", &self.socket_directories)
            .field("socket_mode", &self.socket_mode)
            .field("users", &self.users.keys())
            .field("hba", &self.hba)
            .field("tls_client_ca", &self.tls_client_ca)
            .field("tls", &self.tls)
            .field("connections_max", &self.connections_max)
            .field("authentication_timeout", &self.authentication_timeout)
            .field(
                "idle_in_transaction_timeout",
                &self.idle_in_transaction_timeout,
            )
            .field("shutdown_grace", &self.shutdown_grace)
            .field("http", &self.http)
            .finish()
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Anybody on the network could connect as anybody.
    #[error(
        "{address} can be reached from other machines, but no users are configured and no role has a password: add users, or listen on 127.0.0.1"
    )]
    OpenToAll {
        /// The address asked for.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A Unix socket cannot be made.
    #[error("cannot listen on {}", path.display())]
    Socket {
        /// Its file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// Another server listens on a Unix socket.
    #[error("another server listens on {}", path.display())]
    SocketTaken {
        /// Its file.
        path: PathBuf,
    },
    /// A certificate or key file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: quintet_rt::Error,
    },
    /// A certificate or key file does not hold one.
    #[error("{} does not hold a {what} in PEM form", path.display())]
    Pem {
        /// Which.
        path: PathBuf,
        /// What should be in it.
        what: &'static str,
    },
    /// A line of the rules of admission cannot be read.
    #[error("{}, line {line}: {reason}", path.display())]
    Rule {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A rule asks for certificates that nobody could check.
    #[error(
        "a rule asks for certificates of clients: that needs TLS, and a file of those who vouch for them"
    )]
    NoAuthority,
    /// Certificate and key cannot be used (together).
    #[error("the certificate and key cannot be used for TLS")]
    Tls(#[source] pgwire::tokio::tokio_rustls::rustls::Error),
    /// What is configured for a user begins like a verifier but is none.
    #[error("the SCRAM-SHA-256 verifier of user {user:?} cannot be read")]
    Verifier {
        /// Whose.
        user: String,
    },
    /// The operating system has no randomness to give.
    #[error("no random numbers for keys and salts")]
    Randomness,
    /// Statements that take long need threads of their own.
    #[error("the server needs a tokio runtime with the multi-thread scheduler")]
    Runtime,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_a_configuration_shows_no_password() {
        let config = ServerConfig {
            users: BTreeMap::from([("ann".to_string(), "open sesame".to_string())]),
            ..ServerConfig::default()
        };
        let printed = format!("{config:?}");
        assert!(
            printed.contains("ann") && !printed.contains("sesame"),
            "{printed}"
        );
    }
}
