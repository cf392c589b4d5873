//! `quintet serve`: from settings to a running server, and down again.
//!
//! Relies on: `server` for clients, `embed` for the database.  Promises: says on standard output what was
//! recovered and how to connect; the first signal lets running statements finish, the second ends the
//! process at once.  Does not: become a daemon; whoever starts it keeps it.
//!
//! ```text
//!   Opening ─► Serving ──signal──► Stopping ──statements over──► Closing ─► exit 0
//!                                     └──second signal──► exit 130
//! ```
//! After an exit in any other way the next start recovers; nothing committed is lost, as far as the
//! durability promises.

use crate::arguments::ServeArguments;
use crate::database::{close, describe, describe_bound, open_telling, read_text};
use crate::exit::{Code, Exit};
use crate::heap;
use crate::logging;
use crate::options::{LogFormat, Options, Settings};
use crate::posts::PostLog;
use crate::quantity::{Size, approximate};
use quintet_embed::{Database, DatabaseConfig, OpenReport, Recovery, RecoveryProgress, Warmed};
use quintet_rt::{Clock, RealClock};
use quintet_server::{Server, ServerConfig, TlsFiles};
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// `quintet serve`.
///
/// # Errors
/// Codes 2 to 5, by what went wrong.
pub fn serve(arguments: ServeArguments) -> Result<(), Exit> {
    let settings = settle(arguments)?;
    logging::start(&settings.log, settings.log_format)?;
    if settings.populate_memory {
        populate(settings.memory)?;
    }
    let mut config = DatabaseConfig {
        memory_bytes: settings.memory.0 as usize,
        durability: settings.durability,
        engine: settings.engine,
        archive: settings.archive.clone(),
        history: Duration::from_millis(settings.history.0),
        ..DatabaseConfig::new(&settings.data)
    };
    if let Some(lanes) = settings.lanes {
        config.lanes = usize::from(lanes);
    }
    let (database, report) = open_telling(config, &mut tell_progress, tell_warmed)?;
    tell_recovered(&report.recovery);
    let posts = PostLog::default();
    database.watch_posts(move |failure| posts.tell(failure));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(quintet_rt::threads::STACK_BYTES)
        .enable_all()
        .build()
        .map_err(|error| Exit::from_error(Code::Failed, "cannot start threads", &error))?;
    let result = runtime.block_on(run(&settings, database.clone(), &report));
    // Statements that outlived their grace end with the runtime, before the log is closed.
    drop(runtime);
    result?;
    close(&database)
}

/// Says so before and after, since it may take a while.
fn populate(memory: Size) -> Result<(), Exit> {
    tracing::info!(%memory, "asking the system for all memory now");
    let began = RealClock.monotonic_nanos();
    heap::populate(memory)?;
    let took = Duration::from_nanos(RealClock.monotonic_nanos() - began);
    let seconds = took.as_secs_f64();
    tracing::info!(%memory, seconds = format_args!("{seconds:.1}"), "memory is there");
    Ok(())
}

/// Flags and environment over the file over the defaults.
fn settle(arguments: ServeArguments) -> Result<Settings, Exit> {
    let file = match &arguments.config {
        Some(path) => Options::from_toml(&read_text(path)?, path)?,
        None => Options::default(),
    };
    let options = arguments.options.over(file);
    let users = options.user_file.as_deref().map(read_text).transpose()?;
    options.settle(users.as_deref())
}

/// What the door is told.
pub fn door(settings: &Settings) -> ServerConfig {
    let tls = settings.tls.clone();
    ServerConfig {
        listen: settings.listen,
        socket_directories: settings.unix_socket_directories.clone(),
        socket_mode: settings.unix_socket_permissions,
        users: settings.users.iter().cloned().collect(),
        hba: settings.hba.clone(),
        tls_client_ca: settings.tls_client_ca.clone(),
        tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
        connections_max: settings.max_connections,
        authentication_timeout: settings.authentication_timeout.duration(),
        idle_in_transaction_timeout: settings.idle_in_transaction_timeout.limit(),
        shutdown_grace: settings.shutdown_grace.duration(),
        http: settings.http,
        log_min_duration: settings.log_min_duration.map(|span| span.duration()),
    }
}

/// Serves until a signal comes or the server fails.
async fn run(settings: &Settings, database: Database, report: &OpenReport) -> Result<(), Exit> {
    let listening =
        |what: &str, error: &std::io::Error| Exit::from_error(Code::Failed, what, error);
    let mut interrupts = signal(SignalKind::interrupt())
        .map_err(|error| listening("cannot watch signals", &error))?;
    let mut terminations = signal(SignalKind::terminate())
        .map_err(|error| listening("cannot watch signals", &error))?;
    let mut hang_ups =
        signal(SignalKind::hangup()).map_err(|error| listening("cannot watch signals", &error))?;
    let server = quintet_server::serve(door(settings), database)
        .await
        .map_err(|error| refused(&error))?;
    announce(settings, report, &server);
    tokio::select! {
        () = any(&mut interrupts, &mut terminations) => {}
        () = reload(&server, &mut hang_ups) => {}
        () = server.wait() => return Err(Exit::new(Code::Network, "the server stopped by itself")),
    }
    tracing::info!(grace = %settings.shutdown_grace, "stopping; running statements may finish");
    tokio::select! {
        () = server.shutdown() => {
            tracing::info!("stopped");
            Ok(())
        }
        () = any(&mut interrupts, &mut terminations) => {
            // Nothing is flushed: recovery does what is left to do.
            std::process::exit(Code::Interrupted as i32);
        }
    }
}

/// Reads the rules of admission again at each signal.
async fn reload(server: &Server, hang_ups: &mut Signal) {
    while hang_ups.recv().await.is_some() {
        match server.reload() {
            Ok(()) => tracing::info!("rules of admission read again"),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, "rules of admission not read; the old ones stay");
            }
        }
    }
    // The signal cannot be watched any more; what else ends the server does.
    std::future::pending::<()>().await;
}

/// Why nobody can connect.
pub fn refused(error: &quintet_server::Error) -> Exit {
    match error {
        quintet_server::Error::File { .. }
        | quintet_server::Error::Pem { .. }
        | quintet_server::Error::Verifier { .. }
        | quintet_server::Error::Rule { .. }
        | quintet_server::Error::NoAuthority => {
            Exit::from_error(Code::Usage, "cannot serve", error)
        }
        quintet_server::Error::Socket { .. } => {
            Exit::from_error(Code::Network, "cannot serve", error)
                .hint("Unix sockets are made in --unix-socket-directories, which must be there.")
        }
        quintet_server::Error::Listen { .. } | quintet_server::Error::SocketTaken { .. } => {
            Exit::from_error(Code::Network, "cannot serve", error)
                .hint("Another server may have the port; choose one with --listen 127.0.0.1:PORT.")
        }
        _ => Exit::from_error(Code::Network, "cannot serve", error),
    }
}

/// Either signal.
pub async fn any(a: &mut Signal, b: &mut Signal) {
    tokio::select! {
        _ = a.recv() => {}
        _ = b.recv() => {}
    }
}

/// Once a second while a long log is replayed.
fn tell_progress(at: &RecoveryProgress) {
    let bytes = at.position.0 - at.redo_start.0;
    tracing::info!(
        position = %at.position,
        per_cent = at.per_cent(),
        log = approximate(bytes),
        rate = format_args!("{}/s", approximate(at.bytes_per_second() as u64)),
        rest = format_args!("{:.0} s", at.rest().as_secs_f64()),
        "recovering"
    );
}

/// What it came to. A log without records is not worth a line.
fn tell_recovered(recovery: &Recovery) {
    if recovery.bytes() == 0 {
        return;
    }
    tracing::info!(
        log = approximate(recovery.bytes()),
        commits = recovery.commits,
        changes = recovery.changes,
        merges = recovery.merges,
        seconds = format_args!("{:.3}", recovery.took.as_secs_f64()),
        rate = format_args!("{}/s", approximate(recovery.bytes_per_second() as u64)),
        "recovered"
    );
}

fn tell_warmed(warmed: Warmed) {
    if let Some(reason) = &warmed.failed {
        tracing::warn!(reason, "the store could not be read into memory");
    }
    if warmed.records > 0 {
        tracing::info!(
            records = warmed.records,
            bytes = approximate(warmed.bytes),
            spaces = warmed.spaces,
            full = warmed.is_full,
            seconds = format_args!("{:.1}", warmed.took.as_secs_f64()),
            "warmed"
        );
    }
}

/// What a newcomer needs to know next.
fn announce(settings: &Settings, report: &OpenReport, server: &Server) {
    let address = server.local_addr();
    let version = env!("CARGO_PKG_VERSION");
    let data = settings.data.display();
    let recovered = describe(report);
    let trusted = server.is_open();
    if settings.log_format == LogFormat::Json {
        tracing::info!(version, %data, recovered, listen = %address, durability = %settings.durability, "serving");
        if trusted {
            tracing::warn!(
                "everybody on this machine is let in and may do everything: no user is configured, and no role has a password"
            );
        }
        return;
    }
    let files = server.socket_files().iter();
    let files: String = files.map(|file| format!(", {}", file.display())).collect();
    let mut text = format!(
        "quintet {version}\n  data       {data}: {recovered}\n  settings   memory {}, durability {}\n  recovery   {}\n  listening  {address}{files}\n  connect    psql -h {} -p {} -U quintet quintet\n",
        settings.memory,
        settings.durability,
        describe_bound(report),
        reachable(address),
        address.port(),
    );
    if let Some(http) = settings.http {
        text.push_str(&format!("  metrics    http://{http}/metrics\n"));
    }
    if trusted {
        text.push_str("  warning    connections from this machine are trusted and may do everything, until users are configured (--user-file) or a role has a password\n");
    }
    // With standard output gone the server still serves.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// An address that psql can be given: "any" is none.
pub fn reachable(address: SocketAddr) -> String {
    match address {
        _ if !address.ip().is_unspecified() => address.ip().to_string(),
        SocketAddr::V4(_) => "127.0.0.1".into(),
        SocketAddr::V6(_) => "::1".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psql_is_given_an_address_that_exists() {
        let shown = |text: &str| reachable(text.parse().unwrap());
        assert_eq!(shown("0.0.0.0:5433"), "127.0.0.1");
        assert_eq!(shown("[::]:5433"), "::1");
        assert_eq!(shown("192.0.2.7:5433"), "192.0.2.7");
    }

    #[test]
    fn settings_reach_the_server() {
        let options = Options {
            user: Some(vec!["ann:x".into()]),
            ..Options::default()
        };
        let config = door(&options.settle(None).unwrap());
        assert_eq!(config.users.get("ann").map(String::as_str), Some("x"));
        assert_eq!(config.idle_in_transaction_timeout, None, "0 is never");
        assert_eq!(config.listen, ServerConfig::default().listen);
        assert_eq!(
            config.authentication_timeout,
            ServerConfig::default().authentication_timeout
        );
        assert_eq!(
            config.shutdown_grace,
            ServerConfig::default().shutdown_grace
        );
    }
}
