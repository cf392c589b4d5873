//! One replica's keeper: takes it over, reads its log, looks whether it still answers, and begins again when it is lost.
//!
//! Relies on: `replica::set_up`, which ends the sessions of before; `Stream`.  Promises: a life begins with a report, and
//! ends with word that it is lost, once; a replica that does not answer for long is lost.  Does not: decide anything about
//! what it reads.
//!
//! ```text
//!   set up ─► report ─► stream … ─► lost ─► wait a little ─┐
//!      ▲                └ every second: does it answer?    │
//!      └───────────────────────────────────────────────────┘
//! ```

use crate::conductor::{News, Teller, Word};
use crate::config::ProxyConfig;
use crate::pool::Pool;
use quintet_front::{AttemptId, Lsn, ReplicaId, Report, WriteId};
use quintet_replica::{Error, Report as Found, Server, Settings, Stream, WalPosition, set_up};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Between two attempts to reach a replica, at first and at most.
const REST: Duration = Duration::from_millis(200);
const REST_MAX: Duration = Duration::from_secs(5);

/// How often a replica is asked whether it is there.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// What the conductor wants of a keeper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// Up to here the log needs not be told again.
    Confirm(WalPosition),
    /// Tell the log again from what was confirmed.
    Reread,
    /// A session broke: this life is over.
    BeginAgain {
        /// Which.
        life: u64,
    },
}

/// See the module.
pub(crate) struct Keeper {
    pub id: ReplicaId,
    pub server: Server,
    pub config: Arc<ProxyConfig>,
    pub words: mpsc::Sender<Word>,
    pub orders: mpsc::UnboundedReceiver<Order>,
    /// What taking it over has found, if that was done already.
    pub found: Option<Found>,
}

impl Keeper {
    /// Keeps it until nobody listens.
    pub async fn run(mut self) {
        let mut life = 0;
        let mut rest = REST;
        loop {
            life += 1;
            let teller = Teller::new(self.words.clone(), self.id, life);
            let begun = tokio::time::Instant::now();
            let end = self.live(life, &teller).await;
            if !teller.say(News::Lost).await {
                return;
            }
            match end {
                Ok(()) => {}
                Err(error) => tracing::warn!(replica = %self.server, %error, "not there"),
            }
            if begun.elapsed() > REST_MAX {
                rest = REST;
            }
            tokio::time::sleep(rest).await;
            rest = (rest * 2).min(REST_MAX);
        }
    }

    /// One life. Ends well if somebody wants it to begin again.
    async fn live(&mut self, life: u64, teller: &Teller) -> Result<(), Error> {
        let found = match self.found.take() {
            Some(found) => found,
            None => take_over(&self.server, &self.config).await?,
        };
        let front = found.front.clone();
        let idle_max =
            (self.config.slots + self.config.read_slots + self.config.interactive_slots) as usize;
        let pool = Pool::new(
            self.server.clone(),
            front.clone(),
            self.config.connect_timeout,
            idle_max,
        );
        let until = found.position;
        let report = report(&self.config.name, &found);
        teller
            .say(News::Reported {
                report,
                pool: Arc::clone(&pool),
            })
            .await;
        let mut settings = Settings::new(&front.application());
        settings.connect_timeout = self.config.connect_timeout;
        let mut caught_up = false;
        'opened: loop {
            let mut stream = Stream::open(&self.server, &front, &settings).await?;
            stream.probe();
            let confirmer = stream.confirmer();
            let mut asking = Box::pin(ask(pool.clone(), self.config.stall_after));
            loop {
                tokio::select! {
                    item = stream.next() => {
                        let item = item?;
                        let position = item.position();
                        if !teller.say(News::Item(item)).await {
                            return Ok(());
                        }
                        if !caught_up && position >= until {
                            caught_up = true;
                            teller.say(News::CaughtUp).await;
                        }
                    }
                    error = &mut asking => return Err(error),
                    order = self.orders.recv() => match order {
                        Some(Order::Confirm(position)) => confirmer.confirm(position),
                        Some(Order::Reread) => {
                            stream.close().await;
                            continue 'opened;
                        }
                        Some(Order::BeginAgain { life: which }) if which == life => return Ok(()),
                        Some(Order::BeginAgain { .. }) => {}
                        None => return Ok(()),
                    },
                }
                if !caught_up {
                    stream.probe();
                }
            }
        }
    }
}

/// Makes a server a replica, or takes it over again.
pub(crate) async fn take_over(server: &Server, config: &ProxyConfig) -> Result<Found, Error> {
    let found = set_up(server, &config.name, config.connect_timeout).await?;
    for warning in &found.warnings {
        tracing::warn!(replica = %server, subject = warning.subject, found = warning.found, "{}", warning.needed);
    }
    if !found.foreign.is_empty() {
        let gids: Vec<&str> = found
            .foreign
            .iter()
            .map(quintet_replica::Gid::as_str)
            .collect();
        tracing::warn!(replica = %server, gids = gids.join(", "), "prepared transactions of others: their locks stay");
    }
    Ok(found)
}

/// What was found, as the front counts.
fn report(name: &str, found: &Found) -> Report {
    let write = |gid: &quintet_replica::Gid| WriteId::parse(name, gid.as_str());
    let attempt = |gid: &quintet_replica::Gid| match write(gid) {
        Some(WriteId::Attempt(attempt)) => Some(attempt),
        _ => None,
    };
    let prepared: Vec<AttemptId> = found.prepared.iter().filter_map(attempt).collect();
    Report {
        prepared,
        applied: found.applied.iter().filter_map(write).collect(),
        horizons: found
            .horizons
            .iter()
            .map(|(id, at)| (ReplicaId(*id), Lsn(at.0)))
            .collect(),
        at: Lsn(found.position.0),
    }
}

/// Asks again and again; returns when there was no answer.
async fn ask(pool: Arc<Pool>, stall_after: Duration) -> Error {
    loop {
        tokio::time::sleep(ASK_EVERY).await;
        let asked = tokio::time::timeout(stall_after, async {
            let mut lent = pool.runner(&Default::default()).await?;
            lent.runner.connection().simple("SELECT 1").await?;
            pool.give_back(lent);
            Ok::<_, Error>(())
        });
        match asked.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return error,
            Err(_) => return Error::stalled(pool.server(), stall_after),
        }
    }
}
