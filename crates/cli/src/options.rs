//! What can be set, once for flags, environment and file.
//!
//! Relies on: clap for flags and environment, TOML for the file.  Promises: flag over environment
//! over file over default; a key of the file that means nothing is refused with the nearest one that
//! does.  Does not: open anything but the configuration file.
//!
//! ```text
//!   --memory 4GiB    QUINTET_MEMORY=4GiB    memory = "4GiB"    2GiB
//!        flag      >      environment     >      file        >  default
//! ```

use crate::exit::{Code, Exit};
use crate::quantity::{Size, Span};
use clap::{Args, Command, ValueEnum};
use quintet_base::{Durability, limits};
use quintet_embed::{ArchiveConfig, Engine};
use quintet_server::SOCKET_MODE_DEFAULT;
use serde::{Deserialize, Deserializer};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Flags, environment variables and file keys of a server; `None` is "not said".
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Directory that holds the database; made if it is not there [default: ./data]
    #[arg(long, env = "QUINTET_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Address and port for PostgreSQL clients [default: 127.0.0.1:5433]
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
    /// Memory for rows, caches and buffers, e.g. 512MiB, 4GiB [default: 2GiB]
    #[arg(long, env = "QUINTET_MEMORY", value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Whether all of that memory is asked of the system at the start, instead of when it is first used, which commits
    /// would have to wait for; the start takes longer, up to 2.5 s for each GiB on a virtual machine [default: false]
    #[arg(long, env = "QUINTET_POPULATE_MEMORY", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub populate_memory: Option<bool>,
    /// When a commit is answered: `sync` when it is on disk, `async` at once and on disk within
    /// 200 ms, `none` at once and on disk some time [default: sync]
    #[arg(long, env = "QUINTET_DURABILITY", value_name = "WHEN", value_parser = Durability::parse)]
    #[serde(deserialize_with = "durability")]
    pub durability: Option<Durability>,
    /// How calls are run in sessions that do not say: direct; chain, behind the calls that they conflict with;
    /// queue, in batches; auto, direct or queue by what is lost [default: direct]
    #[arg(long, env = "QUINTET_ENGINE", value_name = "ENGINE", value_parser = Engine::parse)]
    #[serde(deserialize_with = "engine")]
    pub engine: Option<Engine>,
    /// Batches that run side by side at most, with the engines queue and auto [default: one for each processor]
    #[arg(long, env = "QUINTET_LANES", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub lanes: Option<u16>,
    /// How far back the past can be read (`SET quintet.as_of`), at most 24h; 0: not at all [default: 0]
    #[arg(long, env = "QUINTET_HISTORY", value_name = "TIME")]
    pub history: Option<Span>,
    /// Directory that keeps the log when it is needed no more, to restore a backup to a later moment and for
    /// `quintet changes` [default: none]
    #[arg(long, env = "QUINTET_LOG_ARCHIVE", value_name = "DIR")]
    pub log_archive: Option<PathBuf>,
    /// How much of the log is kept there at most; the oldest goes first; 0 is no bound [default: 0]
    #[arg(long, env = "QUINTET_LOG_ARCHIVE_SIZE", value_name = "SIZE")]
    pub log_archive_size: Option<Size>,
    /// How long the log is kept there at most; 0 is no bound [default: 0]
    #[arg(long, env = "QUINTET_LOG_ARCHIVE_AGE", value_name = "TIME")]
    pub log_archive_age: Option<Span>,
    /// Address for /metrics (Prometheus) and /healthz [default: off]
    #[arg(long, env = "QUINTET_HTTP", value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Clients served at once; the next one is refused [default: 256]
    #[arg(long, env = "QUINTET_MAX_CONNECTIONS", value_name = "N")]
    pub max_connections: Option<usize>,
    /// Certificate chain for TLS, PEM; needs --tls-key [default: no TLS]
    #[arg(long, env = "QUINTET_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Private key for TLS, PEM; needs --tls-cert
    #[arg(long, env = "QUINTET_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// A user who may connect, with password or SCRAM-SHA-256 verifier; may be repeated. Other users
    /// of this machine can see flags: prefer --user-file [default: anyone, from this machine only]
    #[arg(
        long,
        env = "QUINTET_USER",
        value_name = "NAME:PASSWORD",
        value_delimiter = ','
    )]
    pub user: Option<Vec<String>>,
    /// File with one NAME:PASSWORD per line; empty lines and lines that begin with # are skipped
    #[arg(long, env = "QUINTET_USER_FILE", value_name = "FILE")]
    pub user_file: Option<PathBuf>,
    /// File of rules who may come from where and how they prove who they are, in the manner of pg_hba.conf; read
    /// again on SIGHUP [default: SCRAM-SHA-256 for everybody as soon as anybody has a password]
    #[arg(long, env = "QUINTET_HBA", value_name = "FILE")]
    pub hba: Option<PathBuf>,
    /// Certificates, PEM, of those who vouch for certificates of clients; for rules with method cert
    #[arg(long, env = "QUINTET_TLS_CLIENT_CA", value_name = "FILE")]
    pub tls_client_ca: Option<PathBuf>,
    /// How long a client may take to authenticate [default: 1min]
    #[arg(long, env = "QUINTET_AUTHENTICATION_TIMEOUT", value_name = "TIME")]
    pub authentication_timeout: Option<Span>,
    /// Close connections that sit idle in an open transaction for this long; 0 never [default: 0]
    #[arg(long, env = "QUINTET_IDLE_IN_TRANSACTION_TIMEOUT", value_name = "TIME")]
    pub idle_in_transaction_timeout: Option<Span>,
    /// How long running statements may go on when the server is told to stop [default: 10s]
    #[arg(long, env = "QUINTET_SHUTDOWN_GRACE", value_name = "TIME")]
    pub shutdown_grace: Option<Span>,
    /// Log statements that take at least this long, with their text; 0 logs all [default: none]
    #[arg(long, env = "QUINTET_LOG_MIN_DURATION_STATEMENT", value_name = "TIME")]
    pub log_min_duration_statement: Option<Span>,
    /// What to log: error, warn, info, debug, or filters like info,quintet_server=debug
    /// [default: info]
    #[arg(long, env = "QUINTET_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    /// How to log: text for eyes, json for machines [default: text]
    #[arg(long, env = "QUINTET_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One line for eyes.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Everything decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// See [`Options::data`].
    pub data: PathBuf,
    /// See [`Options::listen`].
    pub listen: SocketAddr,
    /// See [`Options::unix_socket_directories`].
    pub unix_socket_directories: Vec<PathBuf>,
    /// See [`Options::unix_socket_permissions`].
    pub unix_socket_permissions: u32,
    /// See [`Options::memory`].
    pub memory: Size,
    /// See [`Options::populate_memory`].
    pub populate_memory: bool,
    /// See [`Options::durability`].
    pub durability: Durability,
    /// See [`Options::engine`].
    pub engine: Engine,
    /// See [`Options::lanes`].
    pub lanes: Option<u16>,
    /// See [`Options::history`].
    pub history: Span,
    /// Where, how much and how long the log is kept.
    pub archive: Option<ArchiveConfig>,
    /// See [`Options::http`].
    pub http: Option<SocketAddr>,
    /// See [`Options::max_connections`].
    pub max_connections: usize,
    /// Certificate chain and key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Names with password or verifier.
    pub users: Vec<(String, String)>,
    /// See [`Options::hba`].
    pub hba: Option<PathBuf>,
    /// See [`Options::tls_client_ca`].
    pub tls_client_ca: Option<PathBuf>,
    /// See [`Options::authentication_timeout`].
    pub authentication_timeout: Span,
    /// See [`Options::idle_in_transaction_timeout`].
    pub idle_in_transaction_timeout: Span,
    /// See [`Options::shutdown_grace`].
    pub shutdown_grace: Span,
    /// See [`Options::log_min_duration_statement`].
    pub log_min_duration: Option<Span>,
    /// See [`Options::log`].
    pub log: String,
    /// See [`Options::log_format`].
    pub log_format: LogFormat,
}

/// Least memory that the stores can work with.
pub const MEMORY_MIN: Size = Size(64 << 20);

fn durability<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Durability>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Durability::parse(&text)
        .map(Some)
        .map_err(serde::de::Error::custom)
}

fn engine<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Engine>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Engine::parse(&text)
        .map(Some)
        .map_err(serde::de::Error::custom)
}

impl Options {
    /// Reads a configuration file's text; `path` is for messages.
    ///
    /// # Errors
    /// Usage, naming the file and the key, with a suggestion if a known key is near.
    pub fn from_toml(text: &str, path: &Path) -> Result<Options, Exit> {
        let wrong =
            |message: String| Exit::new(Code::Usage, format!("{}: {message}", path.display()));
        let table: toml::Table = text
            .parse()
            .map_err(|e: toml::de::Error| wrong(e.to_string()))?;
        let known = names();
        if let Some(unknown) = table.keys().find(|key| !known.contains(key)) {
            let exit = wrong(format!("unknown key \"{unknown}\""));
            return Err(match nearest(unknown, &known) {
                Some(name) => exit.hint(format!("Did you mean \"{name}\"?")),
                None => exit.hint(format!("Known keys: {}.", known.join(", "))),
            });
        }
        toml::from_str(text).map_err(|e| wrong(e.to_string()))
    }

    /// Takes from `lower` what this one does not say.
    pub fn over(self, lower: Options) -> Options {
        Options {
            data: self.data.or(lower.data),
            listen: self.listen.or(lower.listen),
            unix_socket_directories: self
                .unix_socket_directories
                .or(lower.unix_socket_directories),
            unix_socket_permissions: self
                .unix_socket_permissions
                .or(lower.unix_socket_permissions),
            memory: self.memory.or(lower.memory),
            populate_memory: self.populate_memory.or(lower.populate_memory),
            durability: self.durability.or(lower.durability),
            engine: self.engine.or(lower.engine),
            lanes: self.lanes.or(lower.lanes),
            history: self.history.or(lower.history),
            log_archive: self.log_archive.or(lower.log_archive),
            log_archive_size: self.log_archive_size.or(lower.log_archive_size),
            log_archive_age: self.log_archive_age.or(lower.log_archive_age),
            http: self.http.or(lower.http),
            max_connections: self.max_connections.or(lower.max_connections),
            tls_cert: self.tls_cert.or(lower.tls_cert),
            tls_key: self.tls_key.or(lower.tls_key),
            user: self.user.or(lower.user),
            user_file: self.user_file.or(lower.user_file),
            hba: self.hba.or(lower.hba),
            tls_client_ca: self.tls_client_ca.or(lower.tls_client_ca),
            authentication_timeout: self.authentication_timeout.or(lower.authentication_timeout),
            idle_in_transaction_timeout: self
                .idle_in_transaction_timeout
                .or(lower.idle_in_transaction_timeout),
            shutdown_grace: self.shutdown_grace.or(lower.shutdown_grace),
            log_min_duration_statement: self
                .log_min_duration_statement
                .or(lower.log_min_duration_statement),
            log: self.log.or(lower.log),
            log_format: self.log_format.or(lower.log_format),
        }
    }

    /// Fills in the defaults and checks what belongs together. `user_file` is the text of the file
    /// of that name, if one was given.
    ///
    /// # Errors
    /// Usage, naming the option.
    pub fn settle(self, user_file: Option<&str>) -> Result<Settings, Exit> {
        let usage = |message: &str| Exit::new(Code::Usage, message);
        let tls = match (self.tls_cert, self.tls_key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => {
                return Err(usage(
                    "TLS needs both a certificate (tls_cert) and a key (tls_key)",
                ));
            }
        };
        if self.tls_client_ca.is_some() && tls.is_none() {
            return Err(usage(
                "certificates of clients (tls_client_ca) need TLS (tls_cert, tls_key)",
            ));
        }
        let memory = self
            .memory
            .unwrap_or(Size(limits::MEMORY_BYTES_DEFAULT as u64));
        if memory < MEMORY_MIN {
            return Err(usage(&format!(
                "memory is {memory}; at least {MEMORY_MIN} is needed"
            )));
        }
        let max_connections = self.max_connections.unwrap_or(limits::CONNECTIONS_DEFAULT);
        if max_connections == 0 {
            return Err(usage("max_connections is 0; nobody could connect"));
        }
        let mut users = Vec::new();
        for line in self.user.iter().flatten() {
            users.push(user(line)?);
        }
        let lines = user_file.unwrap_or_default().lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            users.push(user(line)?);
        }
        let mut seen = std::collections::BTreeSet::new();
        if let Some((name, _)) = users.iter().find(|(name, _)| !seen.insert(name.clone())) {
            return Err(usage(&format!("user \"{name}\" is given twice")));
        }
        let mode = match &self.unix_socket_permissions {
            Some(text) => mode(text)?,
            None => SOCKET_MODE_DEFAULT,
        };
        let archive = match self.log_archive {
            Some(directory) => Some(ArchiveConfig {
                directory,
                bytes_max: self.log_archive_size.unwrap_or(Size(0)).0,
                age_max_ms: self.log_archive_age.unwrap_or(Span(0)).0,
            }),
            None if self.log_archive_size.is_some() || self.log_archive_age.is_some() => {
                return Err(usage(
                    "log_archive_size and log_archive_age need a log_archive",
                ));
            }
            None => None,
        };
        Ok(Settings {
            data: self.data.unwrap_or_else(|| PathBuf::from("data")),
            listen: self
                .listen
                .unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 5433))),
            unix_socket_directories: self.unix_socket_directories.unwrap_or_default(),
            unix_socket_permissions: mode,
            memory,
            populate_memory: self.populate_memory.unwrap_or(false),
            durability: self.durability.unwrap_or_default(),
            engine: self.engine.unwrap_or_default(),
            lanes: self.lanes,
            history: history(self.history)?,
            archive,
            http: self.http,
            max_connections,
            tls,
            users,
            hba: self.hba,
            tls_client_ca: self.tls_client_ca,
            authentication_timeout: self.authentication_timeout.unwrap_or(Span(60_000)),
            idle_in_transaction_timeout: self.idle_in_transaction_timeout.unwrap_or(Span(0)),
            shutdown_grace: self.shutdown_grace.unwrap_or(Span(10_000)),
            log_min_duration: self.log_min_duration_statement,
            log: self.log.unwrap_or_else(|| "info".into()),
            log_format: self.log_format.unwrap_or_default(),
        })
    }
}

/// Splits NAME:PASSWORD at the first colon; passwords may hold more of them.
fn history(asked: Option<Span>) -> Result<Span, Exit> {
    match asked.unwrap_or(Span(0)) {
        Span(length) if length > limits::HISTORY_SECONDS_MAX * 1000 => {
            Err(Exit::new(Code::Usage, "history is 24h at most"))
        }
        length => Ok(length),
    }
}

/// Permissions of a file.
fn mode(text: &str) -> Result<u32, Exit> {
    let mode = u32::from_str_radix(text, 8).ok();
    mode.filter(|mode| *mode <= 0o777).ok_or_else(|| {
        let message = format!("unix_socket_permissions is \"{text}\", no permissions in octal");
        Exit::new(Code::Usage, message)
    })
}

fn user(line: &str) -> Result<(String, String), Exit> {
    match line.split_once(':') {
        Some((name, password)) if !name.is_empty() && !password.is_empty() => {
            Ok((name.into(), password.into()))
        }
        // The line may hold a password: it is not repeated.
        _ => Err(Exit::new(
            Code::Usage,
            "a user is written NAME:PASSWORD, with neither part empty",
        )),
    }
}

/// The keys of the file: the same words as the flags, with underscores.
pub fn names() -> Vec<String> {
    let command = Options::augment_args(Command::new("options"));
    command
        .get_arguments()
        .map(|argument| argument.get_id().to_string())
        .collect()
}

/// The known word that takes fewest edits, if it is near enough to be what was meant.
fn nearest<'a>(word: &str, known: &'a [String]) -> Option<&'a String> {
    let word = word.to_ascii_lowercase().replace('-', "_");
    let near = known.iter().map(|name| (edits(&word, name), name)).min()?;
    (near.0 <= 1 + near.1.len() / 4).then_some(near.1)
}

/// Insertions, deletions and replacements between two words (Levenshtein), row by row.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replace = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Result<Options, Exit> {
        Options::from_toml(text, Path::new("q.toml"))
    }

    const FULL: &str = r#"
        data = "/srv/quintet"
        listen = "127.0.0.1:6000"
        unix_socket_directories = ["/run/quintet", "/tmp"]
        unix_socket_permissions = "0770"
        memory = "4GiB"
        populate_memory = true
        durability = "async"
        engine = "chain"
        lanes = 2
        history = "10min"
        log_archive = "/var/lib/quintet-log"
        log_archive_size = "64GiB"
        log_archive_age = "168h"
        http = "127.0.0.1:9433"
        max_connections = 50
        tls_cert = "c.pem"
        tls_key = "k.pem"
        user = ["ann:se:cret", "bob:x"]
        user_file = "users"
        hba = "hba.conf"
        tls_client_ca = "ca.pem"
        authentication_timeout = "5s"
        idle_in_transaction_timeout = 60
        shutdown_grace = "500ms"
        log_min_duration_statement = "250ms"
        log = "debug"
        log_format = "json"
    "#;

    #[test]
    fn a_file_can_say_everything() {
        for name in names() {
            assert!(
                FULL.contains(&format!("{name} =")),
                "{name} is not in the example"
            );
        }
        let settings = file(FULL)
            .unwrap()
            .settle(Some("# who\n\n carl:y \n"))
            .unwrap();
        assert_eq!(settings.unix_socket_directories.len(), 2);
        assert_eq!(settings.unix_socket_permissions, 0o770);
        assert_eq!(settings.memory, Size(4 << 30));
        assert!(settings.populate_memory);
        assert_eq!(settings.durability, Durability::Async);
        assert_eq!(settings.engine, Engine::Chain);
        assert_eq!(settings.lanes, Some(2));
        assert_eq!(settings.history, Span(600_000));
        assert_eq!(settings.tls, Some(("c.pem".into(), "k.pem".into())));
        assert_eq!(settings.users[0], ("ann".into(), "se:cret".into()));
        assert_eq!(settings.users[2], ("carl".into(), "y".into()));
        assert_eq!(settings.idle_in_transaction_timeout, Span(60_000));
        assert_eq!(settings.log_format, LogFormat::Json);
    }

    #[test]
    fn what_is_said_higher_up_wins() {
        let flags = Options {
            memory: Some(Size(1 << 30)),
            ..Options::default()
        };
        let settings = flags.over(file(FULL).unwrap()).settle(None).unwrap();
        assert_eq!(
            (settings.memory, settings.max_connections),
            (Size(1 << 30), 50)
        );
        // Every key of the file must come through a layer that says nothing.
        let through = Options::default().over(file(FULL).unwrap());
        assert_eq!(
            through.settle(None).unwrap(),
            file(FULL).unwrap().settle(None).unwrap()
        );
    }

    #[test]
    fn defaults_are_the_documented_ones() {
        let settings = Options::default().settle(None).unwrap();
        assert_eq!(settings.listen.to_string(), "127.0.0.1:5433");
        assert_eq!(settings.memory.to_string(), "2GiB");
        assert_eq!(settings.durability, Durability::Sync);
        assert_eq!(settings.engine, Engine::Direct);
        assert_eq!(settings.max_connections, 256);
        assert_eq!(settings.shutdown_grace.to_string(), "10s");
        assert_eq!(settings.authentication_timeout.to_string(), "1min");
        assert!(settings.users.is_empty() && settings.http.is_none() && settings.tls.is_none());
    }

    #[test]
    fn unknown_keys_are_refused_with_the_nearest_known_one() {
        let hint = |text: &str| file(text).unwrap_err().hint.unwrap();
        assert_eq!(hint("memroy = 1"), "Did you mean \"memory\"?");
        assert_eq!(
            hint("max-connection = 1"),
            "Did you mean \"max_connections\"?"
        );
        assert!(hint("flux_capacitor = 1").starts_with("Known keys: data, listen"));
    }

    #[test]
    fn impossible_settings_are_refused_by_name() {
        let message = |text: &str| match file(text).and_then(|options| options.settle(None)) {
            Err(exit) => exit.message,
            Ok(settings) => panic!("{text} gave {settings:?}"),
        };
        assert!(message("tls_key = 'k'").contains("tls_cert"));
        for wrong in ["rwx", "0888", "1777", "-1"] {
            let text = format!("unix_socket_permissions = '{wrong}'");
            assert!(
                message(&text).contains("unix_socket_permissions"),
                "{wrong}"
            );
        }
        assert!(message("memory = '1MiB'").contains("64MiB"));
        assert!(message("memory = 'much'").contains("not a size"));
        assert!(message("durability = 'maybe'").contains("invalid durability"));
        assert!(message("max_connections = 0").contains("max_connections"));
        assert!(message("user = ['ann:x', 'ann:y']").contains("\"ann\" is given twice"));
        assert!(message("data = [").contains("q.toml"));
        let secret = message("user = [':hunter2']");
        assert!(!secret.contains("hunter2"), "{secret}");
    }

    // Goal: the page cannot fall behind the program. Every option must be there with its variable.
    #[test]
    fn the_documentation_names_every_option() {
        let page = include_str!("../../../docs/configuration.md");
        let command = Options::augment_args(Command::new("options"));
        for argument in command.get_arguments() {
            let key = argument.get_id().to_string();
            let variable = argument.get_env().unwrap().to_str().unwrap();
            assert!(
                page.contains(&format!("`{key}`")),
                "{key} is not documented"
            );
            assert!(
                page.contains(&format!("`--{}`", argument.get_long().unwrap())),
                "the flag of {key}"
            );
            assert!(
                page.contains(&format!("`{variable}`")),
                "{variable} is not documented"
            );
            assert_eq!(variable, format!("QUINTET_{}", key.to_ascii_uppercase()));
        }
    }
}
