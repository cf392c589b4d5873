//! Listening: sockets in, connections out, and the way to stop.
//!
//! Relies on: `arrivals` for sockets, `desks` for threads, `door` for each connection.  Promises: nobody beyond this machine is served without users
//! configured; after `shutdown` no connection is left that could be ended.  Does not: close the
//! database; whoever opened it does.
//!
//! ```text
//!   serve ──► Running ──shutdown──► Draining ──all gone, or grace over──► Closing ──► stopped
//!             accepts               idle sessions get 57P01,              everybody is
//!                                   running statements finish             interrupted
//! ```

use crate::arrivals::{Accepted, Listener, SocketFile, listen};
use crate::auth::Users;
use crate::config::{Error, ServerConfig};
use crate::desks::Desks;
use crate::door::{self, Entrance};
use crate::hba::Rules;
use crate::house::{DatabaseHouse, House};
use crate::metrics::Metrics;
use crate::registry::{Phase, Registry};
use crate::{http, tls};
use parking_lot::RwLock;
use quintet_embed::Database;
use quintet_rt::{RealClock, RealDisk, disk};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;

/// Sockets beyond the connections served: log-ins, cancel requests, and those who are told that
/// there is no room. More wait in the listener's queue.
const SOCKETS_BESIDE: usize = 64;

/// Monitoring requests answered at once.
const HTTP_SOCKETS: usize = 16;

/// How long to rest when a socket cannot be accepted, most likely for want of file descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// What interrupted connections get to end.
const CLOSING: Duration = Duration::from_secs(2);

/// A running server. Dropping it leaves it running; [`Server::shutdown`] stops it.
pub struct Server {
    open: bool,
    entrance: Arc<Entrance>,
    address: SocketAddr,
    http_address: Option<SocketAddr>,
    socket_files: Vec<PathBuf>,
    accepting: Vec<JoinHandle<()>>,
    /// Ends the desks when it is aborted.
    desks: JoinHandle<()>,
    /// One permit per socket; all of them back means that nobody is left.
    sockets: Arc<Semaphore>,
    sockets_max: u32,
    stopped: watch::Sender<bool>,
}

/// Starts to listen in front of a database, on the calling runtime.
///
/// # Errors
/// See [`Error`]; nothing listens then.
pub async fn serve(config: ServerConfig, database: Database) -> Result<Server, Error> {
    serve_house(config, Arc::new(DatabaseHouse(database))).await
}

/// Starts to listen in front of any house, on the calling runtime.
///
/// # Errors
/// See [`Error`]; nothing listens then.
pub async fn serve_house<H: House>(config: ServerConfig, house: Arc<H>) -> Result<Server, Error> {
    if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
        return Err(Error::Runtime);
    }
    let rules = config.hba.as_deref().map(read_rules).transpose()?;
    let wants_certificates = rules.as_ref().is_some_and(Rules::wants_certificates);
    if wants_certificates && (config.tls.is_none() || config.tls_client_ca.is_none()) {
        return Err(Error::NoAuthority);
    }
    let open = config.users.is_empty() && rules.is_none() && !house.any_password();
    if open && !config.listen.ip().is_loopback() {
        return Err(Error::OpenToAll {
            address: config.listen,
        });
    }
    let users = Users::new(&config.users)?;
    let authority = config.tls_client_ca.as_deref();
    let tls = config.tls.as_ref();
    let tls = tls
        .map(|files| tls::acceptor(files, authority))
        .transpose()?;
    let listener = listen(config.listen)?;
    let http = config.http.map(listen).transpose()?;
    let address = local(&listener, config.listen)?;
    let http_address = http
        .as_ref()
        .zip(config.http)
        .map(|(l, asked)| local(l, asked))
        .transpose()?;
    let directories = config.socket_directories.iter();
    let files = directories
        .map(|directory| SocketFile::listen(directory, address.port(), config.socket_mode))
        .collect::<Result<Vec<_>, _>>()?;
    let socket_files = files.iter().map(|file| file.path().to_path_buf()).collect();
    let seats_max = config.connections_max;
    let sockets_max = seats_max
        .saturating_add(SOCKETS_BESIDE)
        .min(Semaphore::MAX_PERMITS);
    let sockets_max = u32::try_from(sockets_max).unwrap_or(u32::MAX);
    let authentication = match (&rules, open) {
        (Some(_), _) => "by rules",
        (None, true) => "none",
        (None, false) => "scram-sha-256",
    };
    tracing::info!(%address, connections_max = seats_max, tls = tls.is_some(), authentication, "listening");
    let entrance = Arc::new(Entrance {
        users,
        rules: RwLock::new(rules.map(Arc::new)),
        tls,
        registry: Arc::new(Registry::new(seats_max)),
        metrics: Metrics::default(),
        crowd: Arc::default(),
        clock: RealClock,
        stopping: watch::Sender::new(false),
        config,
    });
    let sockets = Arc::new(Semaphore::new(sockets_max as usize));
    let (threads, desks) = Desks::start().map_err(|source| Error::Listen { address, source })?;
    let serve = {
        let (entrance, house) = (Arc::clone(&entrance), Arc::clone(&house));
        move |accepted: Accepted, permit| {
            let (entrance, house) = (Arc::clone(&entrance), Arc::clone(&house));
            threads.serve(accepted, |accepted| async move {
                let _permit = permit;
                door::serve(accepted, entrance, house).await;
            });
        }
    };
    let mut accepting = Vec::new();
    for file in files {
        let (sockets, serve) = (Arc::clone(&sockets), serve.clone());
        accepting.push(tokio::spawn(accept(
            file,
            sockets,
            move |stream, permit| {
                serve(stream.into(), permit);
            },
        )));
    }
    let sockets_of_all = Arc::clone(&sockets);
    accepting.push(tokio::spawn(accept(
        listener,
        sockets_of_all,
        move |stream, permit| serve(stream.into(), permit),
    )));
    if let Some(http) = http {
        let entrance = Arc::clone(&entrance);
        accepting.push(tokio::spawn(accept(
            http,
            Arc::new(Semaphore::new(HTTP_SOCKETS)),
            move |stream, permit| {
                let (entrance, house) = (Arc::clone(&entrance), Arc::clone(&house));
                tokio::spawn(async move {
                    let _permit = permit;
                    let render = || house.metrics(&entrance.metrics);
                    http::answer(stream, render).await;
                });
            },
        )));
    }
    let stopped = watch::Sender::new(false);
    Ok(Server {
        open,
        entrance,
        address,
        http_address,
        socket_files,
        accepting,
        desks,
        sockets,
        sockets_max,
        stopped,
    })
}

fn read_rules(path: &Path) -> Result<Rules, Error> {
    let file = |source| Error::File {
        path: path.to_path_buf(),
        source,
    };
    let text = disk::read_file(&RealDisk, path).map_err(file)?;
    Rules::read(&String::from_utf8_lossy(&text)).map_err(|(line, reason)| Error::Rule {
        path: path.to_path_buf(),
        line,
        reason,
    })
}

fn local(listener: &TcpListener, address: SocketAddr) -> Result<SocketAddr, Error> {
    listener
        .local_addr()
        .map_err(|source| Error::Listen { address, source })
}

/// Accepts for ever, as many at a time as there are permits.
async fn accept<L: Listener>(
    listener: L,
    sockets: Arc<Semaphore>,
    serve: impl Fn(L::Stream, OwnedSemaphorePermit),
) {
    loop {
        let Ok(permit) = Arc::clone(&sockets).acquire_owned().await else {
            return;
        };
        match listener.next().await {
            Ok(stream) => serve(stream, permit),
            Err(error) => {
                tracing::error!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_REST).await;
            }
        }
    }
}

impl Server {
    /// Where PostgreSQL clients are served.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The files of Unix sockets where they are served, too.
    pub fn socket_files(&self) -> &[PathBuf] {
        &self.socket_files
    }

    /// Where `/metrics` and `/healthz` are served, if they are.
    pub fn http_addr(&self) -> Option<SocketAddr> {
        self.http_address
    }

    /// Whether whoever connects from this machine is let in, and may do everything.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Reads the rules of admission again. Sessions that are there stay.
    ///
    /// # Errors
    /// See [`Error`]; the old rules stay in force then.
    pub fn reload(&self) -> Result<(), Error> {
        let config = &self.entrance.config;
        let Some(path) = &config.hba else {
            return Ok(());
        };
        let rules = read_rules(path)?;
        if rules.wants_certificates() && (config.tls.is_none() || config.tls_client_ca.is_none()) {
            return Err(Error::NoAuthority);
        }
        *self.entrance.rules.write() = Some(Arc::new(rules));
        Ok(())
    }

    /// Counters of the door.
    pub fn metrics(&self) -> &Metrics {
        &self.entrance.metrics
    }

    /// Stops: nobody new is let in, idle sessions are told 57P01, running statements get the
    /// configured grace, then everybody is interrupted. Returns when all are gone, or have proved
    /// that they cannot be interrupted (waiting for a disk that does not answer).
    pub async fn shutdown(&self) {
        for task in &self.accepting {
            task.abort();
        }
        self.entrance.stopping.send_replace(true);
        self.entrance.registry.enter(Phase::Draining);
        if !self.all_gone(self.entrance.config.shutdown_grace).await {
            self.entrance.registry.enter(Phase::Closing);
            if !self.all_gone(CLOSING).await {
                let left = self.entrance.metrics.connections_open();
                tracing::error!(left, "connections could not be ended");
            }
        }
        self.desks.abort();
        self.stopped.send_replace(true);
    }

    async fn all_gone(&self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.sockets.acquire_many(self.sockets_max))
            .await
            .is_ok()
    }

    /// Waits until somebody has stopped the server.
    pub async fn wait(&self) {
        // The sender lives as long as `self`.
        let _ = self.stopped.subscribe().wait_for(|stopped| *stopped).await;
    }
}
