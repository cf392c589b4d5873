//! Starting a front end over replicas, and stopping it.
//!
//! Relies on: `keeper` and `conductor`, which do the work; `server` for the door.  Promises: nobody is served before
//! everything that earlier starts left is decided; what is asked of replicas fits them (all there, all different, all
//! configured) or is refused by name.  Does not: print; it logs.

use crate::conductor::{Conductor, Tallies, Word};
use crate::config::ProxyConfig;
use crate::guest::Guest;
use crate::keeper::{Keeper, take_over};
use crate::knowledge::Knowledge;
use crate::switchboard::Switchboard;
use quintet_analysis::{Granularity, Rule};
use quintet_base::SqlError;
use quintet_base::limits::FRONT_WORDS_MAX;
use quintet_front::{Front, FrontConfig, ReplicaConfig, ReplicaId};
use quintet_replica::{Error as ReplicaError, Report, Server, Settings, catalogue};
use quintet_server::{Guest as Admitted, House, Metrics, Page};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Between two attempts to reach a replica at the start.
const REST: Duration = Duration::from_secs(1);

/// Parameters that clients are told at log-in.
const PARAMETERS: [&str; 8] = [
    "server_version",
    "server_encoding",
    "client_encoding",
    "DateStyle",
    "IntervalStyle",
    "TimeZone",
    "integer_datetimes",
    "standard_conforming_strings",
];

/// Why a front end did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none.
    #[error("a front end needs at least one replica")]
    NoReplicas,
    /// A replica cannot be one.
    #[error("replica {server}")]
    Replica {
        /// Which.
        server: String,
        /// Why.
        source: ReplicaError,
    },
    /// The same server twice.
    #[error("{one} and {other} are the same server")]
    Same {
        /// One address.
        one: String,
        /// The other.
        other: String,
    },
    /// Definitions cannot be understood at all.
    #[error("the definitions of tables and procedures: {0}")]
    Definitions(SqlError),
}

/// A front end.
pub struct Proxy {
    switchboard: Arc<Switchboard>,
    tallies: Arc<Tallies>,
    words: mpsc::Sender<Word>,
    tasks: Vec<JoinHandle<()>>,
}

impl Proxy {
    /// Takes the replicas over and begins. Waits for replicas that cannot be reached.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn start(config: ProxyConfig) -> Result<Proxy, Error> {
        check_different(&config.replicas)?;
        let mut found = Vec::new();
        for server in &config.replicas {
            found.push(reached(server, &config).await?);
        }
        let Some(epoch) = found.iter().map(|report| report.front.epoch()).max() else {
            return Err(Error::NoReplicas);
        };
        let (definitions, parameters) = primary(&config).await?;
        let rule = Rule {
            level: config.level(),
            granularity: Granularity::Row,
        };
        let knowledge = Knowledge::new(&definitions, rule).map_err(Error::Definitions)?;
        for unread in knowledge.unread() {
            tracing::warn!(
                what = unread,
                "not understood: calls of it wait for everybody"
            );
        }
        let replicas = (0..config.replicas.len()).map(|id| ReplicaConfig {
            id: ReplicaId(id as u32),
            slots: config.slots,
            interactive_slots: config.interactive_slots,
            read_slots: config.read_slots,
        });
        let mut core = FrontConfig::new(epoch as u32, replicas.collect());
        core.policy = config.policy;
        core.guarantee = config.guarantee;
        core.modes = knowledge.modes().clone();
        let (words, heard) = mpsc::channel(FRONT_WORDS_MAX);
        let tallies = Arc::new(Tallies::default());
        let shared = Arc::new(config.clone());
        let mut tasks = Vec::new();
        let mut orders = Vec::new();
        for (id, (server, found)) in config.replicas.iter().zip(found).enumerate() {
            let (order, ordered) = mpsc::unbounded_channel();
            orders.push(order);
            let keeper = Keeper {
                id: ReplicaId(id as u32),
                server: server.clone(),
                config: Arc::clone(&shared),
                words: words.clone(),
                orders: ordered,
                found: Some(found),
            };
            tasks.push(tokio::spawn(keeper.run()));
        }
        let conductor = Conductor::new(
            shared,
            Front::new(core),
            orders,
            words.clone(),
            Arc::clone(&tallies),
        );
        tasks.push(tokio::spawn(conductor.run(heard)));
        let switchboard = Switchboard::new(config, knowledge, parameters, words.clone())
            .map_err(Error::Definitions)?;
        Ok(Proxy {
            switchboard: Arc::new(switchboard),
            tallies,
            words,
            tasks,
        })
    }

    /// Stops: what is under way at replicas is left to the next start.
    pub async fn stop(&self) {
        let _ = self.words.send(Word::Stop).await;
        for task in &self.tasks {
            task.abort();
        }
    }

    /// True once everything that earlier starts left is decided.
    pub fn is_ready(&self) -> bool {
        self.tallies.ready.load(Ordering::Acquire)
    }

    /// Names of the procedures and functions that are understood.
    pub fn known(&self) -> impl Iterator<Item = &str> {
        self.switchboard.knowledge().names()
    }
}

/// Takes a replica over, as soon as it can be reached.
async fn reached(server: &Server, config: &ProxyConfig) -> Result<Report, Error> {
    loop {
        match take_over(server, config).await {
            Ok(found) => return Ok(found),
            Err(error) if error.is_lost() => {
                tracing::warn!(replica = %server, %error, "waiting for the replica");
                tokio::time::sleep(REST).await;
            }
            Err(source) => {
                return Err(Error::Replica {
                    server: server.to_string(),
                    source,
                });
            }
        }
    }
}

/// The same address twice is refused. Two names of one server are found when the second start takes the first's
/// epoch away.
fn check_different(replicas: &[Server]) -> Result<(), Error> {
    for (at, one) in replicas.iter().enumerate() {
        if let Some(other) = replicas[..at].iter().find(|other| *other == one) {
            return Err(Error::Same {
                one: one.to_string(),
                other: other.to_string(),
            });
        }
    }
    Ok(())
}

/// Definitions and parameters of the primary.
async fn primary(config: &ProxyConfig) -> Result<(Vec<String>, Vec<(String, String)>), Error> {
    let server = config.replicas.first().ok_or(Error::NoReplicas)?;
    let failed = |source| Error::Replica {
        server: server.to_string(),
        source,
    };
    let definitions = match config.definitions.is_empty() {
        true => catalogue(server, config.connect_timeout)
            .await
            .map_err(failed)?,
        false => config.definitions.clone(),
    };
    let mut settings = Settings::new("quintet front end");
    settings.connect_timeout = config.connect_timeout;
    let connection = server.connect(&settings).await.map_err(failed)?;
    let parameters = PARAMETERS
        .iter()
        .filter_map(|name| Some((name.to_string(), connection.parameter(name)?.to_owned())));
    let parameters = parameters.collect();
    connection.close().await;
    Ok((definitions, parameters))
}

impl House for Proxy {
    async fn receive(self: Arc<Self>, guest: Admitted) {
        if let Some(guest) = Guest::admit(guest, Arc::clone(&self.switchboard)).await {
            guest.run().await;
        }
    }

    fn metrics(&self, door: &Metrics) -> String {
        let mut page = door.page();
        self.add(&mut page);
        page.text()
    }
}

impl Proxy {
    fn add(&self, page: &mut Page) {
        let tallies = &self.tallies;
        let get = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let counts = *tallies.counts.lock();
        page.gauge(
            "front_ready",
            "1 once recovery is over.",
            u8::from(self.is_ready()),
        );
        page.gauge(
            "front_replicas_live",
            "Replicas that are there.",
            get(&tallies.live),
        );
        page.gauge(
            "front_calls_pending",
            "Calls under way.",
            get(&tallies.pending),
        );
        page.gauge(
            "front_write_set_bytes",
            "Bytes of write sets in memory.",
            get(&tallies.kept_bytes),
        );
        let counters = [
            ("front_attempts", "Attempts that were run.", counts.attempts),
            (
                "front_conflicts",
                "Attempts that lost a conflict in their server.",
                counts.conflicts,
            ),
            (
                "front_refused",
                "Attempts that certification refused.",
                counts.refused,
            ),
            (
                "front_rerun",
                "Attempts run again because their replica was lost.",
                counts.rerun,
            ),
            (
                "front_alone",
                "Calls that ran alone because they had lost too often.",
                counts.alone,
            ),
            (
                "front_killed",
                "Attempts stopped because they were in the way.",
                counts.killed,
            ),
            (
                "front_foreign",
                "Transactions that came past the front end.",
                counts.foreign,
            ),
            (
                "front_decided",
                "Write sets that were decided.",
                counts.decided,
            ),
            ("front_runs", "Calls run at replicas.", get(&tallies.runs)),
            (
                "front_run_micros",
                "Microseconds that they took there.",
                get(&tallies.run_micros),
            ),
            (
                "front_applies",
                "Write sets applied.",
                get(&tallies.applies),
            ),
            (
                "front_apply_micros",
                "Microseconds that they took.",
                get(&tallies.apply_micros),
            ),
            (
                "front_missing_rows",
                "Rows that were to be changed and were not there.",
                get(&tallies.missing_rows),
            ),
        ];
        for (name, help, value) in counters {
            page.counter(name, help, value);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
