//! What `quintet proxy` takes.
//!
//! Relies on: clap.  Promises: what can be set for `quintet serve`'s door is called the same here.  Does not: run
//! anything; `proxy` does.

use crate::options::{LogFormat, Options};
use crate::quantity::Span;
use clap::Args;
use quintet_proxy::{Guarantee, Policy};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Examples that stand below the help.
pub const PROXY_EXAMPLES: &str = "\
Examples:
  quintet proxy --replica postgres://postgres@db1/shop --replica postgres://postgres@db2/shop
  quintet proxy --replica … --replica … --guarantee snapshot --listen 0.0.0.0:5432 --user-file users
  quintet proxy --replica … --replica … --policy round-robin       a baseline: certify afterwards
  quintet proxy --replica … --replica … --compare                  checksums of all tables, and what differs
  quintet proxy --replica … --remove                               take the front end's traces away

Replicas are PostgreSQL 15 or later with the same tables, rows and procedures, wal_level = logical,
max_prepared_transactions and max_replication_slots above 0, and a superuser to connect as. Start with equal
copies; from then on write through the front end only. docs/front.md says what is guaranteed.

A CALL is run once, at one replica, ordered before it runs with the calls that it conflicts with, and its write
set is applied at the others. SIGTERM or Ctrl-C stops gracefully, a second one at once; the next start decides
what was under way.";

/// `quintet proxy`.
#[derive(Args, Debug)]
pub struct ProxyArguments {
    /// A replica; may be repeated. The first is the primary, where statements that are not calls write
    #[arg(long, value_name = "URL", required = true)]
    pub replica: Vec<String>,
    /// Address and port for clients [default: 127.0.0.1:5433]
    #[arg(long, env = "QUINTET_LISTEN", value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Directories in each of which a Unix socket is made, too, for clients of this machine that name the directory as
    /// their host; separated by commas [default: none]
    #[arg(
        long,
        env = "QUINTET_UNIX_SOCKET_DIRECTORIES",
        value_name = "DIR",
        value_delimiter = ','
    )]
    pub unix_socket_directories: Option<Vec<PathBuf>>,
    /// Who may connect to it, as the permissions of a file, in octal [default: 0777]
    #[arg(long, env = "QUINTET_UNIX_SOCKET_PERMISSIONS", value_name = "MODE")]
    pub unix_socket_permissions: Option<String>,
    /// How conflicts are met: chains, chains+certify, round-robin or centralised-writes
    #[arg(long, value_name = "NAME", default_value = "chains", value_parser = policy)]
    pub policy: Policy,
    /// When effects are seen and answered: psi (committed at one replica) or snapshot (at all, in one order)
    #[arg(long, value_name = "NAME", default_value = "psi", value_parser = guarantee)]
    pub guarantee: Guarantee,
    /// The name under which replicas know this front end
    #[arg(long, value_name = "NAME", default_value = "front")]
    pub name: String,
    /// Calls that write and run side by side at a replica
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub slots: u32,
    /// Statements and calls that read and run side by side at a replica
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub read_slots: u32,
    /// Transactions of clients that are open side by side at a replica
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub interactive_slots: u32,
    /// A replica that does not answer for so long is taken for dead
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub stall_after: Span,
    /// How long connecting to a replica may take
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub connect_timeout: Span,
    /// End connections that idle in a transaction, and hold up all that write, for so long; 0 never
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub idle_in_transaction_timeout: Span,
    /// Definitions of tables and procedures, instead of those of the primary
    #[arg(long, value_name = "FILE")]
    pub definitions: Vec<PathBuf>,
    /// For measurements: what a call takes at least, 40ms for all or name=40ms; may be repeated
    #[arg(long, value_name = "[NAME=]TIME", value_parser = service)]
    pub service: Vec<(Option<String>, Duration)>,
    /// For measurements: so many times faster than its call is a write set applied; 0: without a modelled time
    #[arg(long, value_name = "N", default_value_t = 0.0)]
    pub apply_ratio: f64,
    /// Compare the replicas, table by table, and end: code 1 if they differ
    #[arg(long, conflicts_with = "remove")]
    pub compare: bool,
    /// Take away what the front end has made at the replicas, and end
    #[arg(long)]
    pub remove: bool,
    /// A user who may connect, NAME:PASSWORD; may be repeated [default: anyone, from this machine only]
    #[arg(
        long,
        env = "QUINTET_USER",
        value_name = "NAME:PASSWORD",
        value_delimiter = ','
    )]
    pub user: Option<Vec<String>>,
    /// File with one NAME:PASSWORD per line
    #[arg(long, env = "QUINTET_USER_FILE", value_name = "FILE")]
    pub user_file: Option<PathBuf>,
    /// Certificate chain for TLS, PEM; needs --tls-key [default: no TLS]
    #[arg(long, env = "QUINTET_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Private key for TLS, PEM; needs --tls-cert
    #[arg(long, env = "QUINTET_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Clients served at once; the next one is refused [default: 256]
    #[arg(long, env = "QUINTET_MAX_CONNECTIONS", value_name = "N")]
    pub max_connections: Option<usize>,
    /// Address for /metrics (Prometheus) and /healthz [default: off]
    #[arg(long, env = "QUINTET_HTTP", value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// How long running statements may go on when the front end is told to stop [default: 10s]
    #[arg(long, env = "QUINTET_SHUTDOWN_GRACE", value_name = "TIME")]
    pub shutdown_grace: Option<Span>,
    /// What to log: error, warn, info, debug, or filters [default: info]
    #[arg(long, env = "QUINTET_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    /// How to log: text for eyes, json for machines [default: text]
    #[arg(long, env = "QUINTET_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
}

impl ProxyArguments {
    /// What concerns the door and the log.
    pub fn door(&self) -> Options {
        Options {
            listen: self.listen,
            unix_socket_directories: self.unix_socket_directories.clone(),
            unix_socket_permissions: self.unix_socket_permissions.clone(),
            http: self.http,
            max_connections: self.max_connections,
            tls_cert: self.tls_cert.clone(),
            tls_key: self.tls_key.clone(),
            user: self.user.clone(),
            shutdown_grace: self.shutdown_grace,
            log: self.log.clone(),
            log_format: self.log_format,
            ..Options::default()
        }
    }
}

fn policy(text: &str) -> Result<Policy, String> {
    match text {
        "chains" => Ok(Policy::Chains),
        "chains+certify" => Ok(Policy::ChainsCertified),
        "round-robin" => Ok(Policy::RoundRobin),
        "centralised-writes" => Ok(Policy::CentralisedWrites),
        _ => Err("one of chains, chains+certify, round-robin, centralised-writes".to_owned()),
    }
}

fn guarantee(text: &str) -> Result<Guarantee, String> {
    match text {
        "psi" => Ok(Guarantee::Causal),
        "snapshot" => Ok(Guarantee::Total),
        _ => Err("psi or snapshot".to_owned()),
    }
}

fn service(text: &str) -> Result<(Option<String>, Duration), String> {
    let (name, time) = match text.split_once('=') {
        Some((name, time)) => (Some(name.to_owned()), time),
        None => (None, text),
    };
    let span: Span = time.parse()?;
    Ok((name, span.duration()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_times_are_for_all_or_for_one() {
        let time = Duration::from_millis(40);
        assert_eq!(service("40ms"), Ok((None, time)));
        assert_eq!(service("pay=40ms"), Ok((Some("pay".to_owned()), time)));
        assert!(service("pay=").is_err());
    }

    #[test]
    fn names_on_the_command_line_are_those_that_are_shown() {
        for name in [
            "chains",
            "chains+certify",
            "round-robin",
            "centralised-writes",
        ] {
            let mut config = quintet_proxy::ProxyConfig::new(Vec::new());
            config.policy = policy(name).unwrap();
            assert_eq!(config.policy_name(), name);
        }
    }
}
