//! The one who decides: `front`, what is known of each call, and the replicas that do what it says.
//!
//! Relies on: `front::Front` for every decision; `keeper` for each replica.  Promises: one task, so that what happens is
//! taken in one after another; nothing here waits for a client or a replica; what an earlier life of a replica says is not
//! listened to.  Does not: talk to a socket.
//!
//! ```text
//!   guests  ── Request, Cancel ──►┐                    ┌─► tasks of a replica: run, commit, apply …
//!   keepers ── News ─────────────►│ conductor ─ front ─┤
//!   tasks   ── News ─────────────►┘                    └─► replies to guests
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `conductor` | the loop; what is heard |
//! | `conductor/word` | what it is told |
//! | `conductor/calls` | requests under way |
//! | `conductor/perform` | what is done for each effect |
//! | `conductor/start` | calls are run, and have ended |
//! | `conductor/settle`, `conductor/gate` | commits and applies; what waits for what at a replica |

mod calls;
mod gate;
mod perform;
mod settle;
mod start;
mod word;

use crate::config::ProxyConfig;
use crate::keeper::Order;
use crate::pool::Pool;
use calls::Calls;
use gate::Gate;
use parking_lot::Mutex;
use quintet_front::{AttemptId, Effect, Event, Front, Lsn, ReplicaId, Rows, WriteId};
use quintet_front::{Place, Why};
use quintet_replica::{Captured, Gid, Item, Tag, WalPosition, WriteSet};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
pub(crate) use word::{News, Teller, Word};

/// What a second or so means to the front.
const TICK: Duration = Duration::from_millis(500);

/// A replica while it is there.
struct Replica {
    /// Which life of it: grows each time it is there again.
    life: u64,
    pool: Option<Arc<Pool>>,
    orders: mpsc::UnboundedSender<Order>,
    /// Aborted when it is lost.
    tasks: JoinSet<()>,
    gate: Gate,
}

/// Counters that others may read.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    /// By their order in `front::Counts`, copied now and then.
    pub counts: Mutex<quintet_front::Counts>,
    /// Calls under way.
    pub pending: AtomicU64,
    /// Bytes of write sets that are kept.
    pub kept_bytes: AtomicU64,
    /// Rows that were to be changed at some replica and were missing.
    pub missing_rows: AtomicU64,
    /// Replicas that are there.
    pub live: AtomicU64,
    /// Microseconds that calls took at their replicas, and how many they were.
    pub run_micros: AtomicU64,
    /// How many calls were run.
    pub runs: AtomicU64,
    /// Microseconds that write sets took to be applied.
    pub apply_micros: AtomicU64,
    /// How many were applied.
    pub applies: AtomicU64,
    /// True once recovery is over.
    pub ready: std::sync::atomic::AtomicBool,
}

/// See the module.
pub(crate) struct Conductor {
    config: Arc<ProxyConfig>,
    front: Front,
    replicas: Vec<Replica>,
    calls: Calls,
    write_sets: HashMap<WriteId, Arc<WriteSet>>,
    words: mpsc::Sender<Word>,
    tallies: Arc<Tallies>,
}

impl Conductor {
    /// Over replicas that have not reported. `orders` reach their keepers.
    pub fn new(
        config: Arc<ProxyConfig>,
        front: Front,
        orders: Vec<mpsc::UnboundedSender<Order>>,
        words: mpsc::Sender<Word>,
        tallies: Arc<Tallies>,
    ) -> Conductor {
        let replicas = orders.into_iter().map(|orders| Replica {
            life: 0,
            pool: None,
            orders,
            tasks: JoinSet::new(),
            gate: Gate::default(),
        });
        Conductor {
            config,
            front,
            replicas: replicas.collect(),
            calls: Calls::default(),
            write_sets: HashMap::new(),
            words,
            tallies,
        }
    }

    /// Listens until nobody speaks any more.
    pub async fn run(mut self, mut words: mpsc::Receiver<Word>) {
        let mut effects = Vec::new();
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                word = words.recv() => match word {
                    Some(Word::Stop) | None => break,
                    Some(word) => self.hear(word, &mut effects),
                },
                _ = tick.tick() => {
                    self.front.handle(Event::Tick, &mut effects);
                    self.tally();
                }
            }
            // What was done may make others begin at once.
            let mut done = std::mem::take(&mut effects);
            for effect in done.drain(..) {
                self.perform(effect);
            }
            effects = done;
        }
    }

    fn tally(&mut self) {
        *self.tallies.counts.lock() = self.front.counts();
        let set = |counter: &AtomicU64, to: usize| counter.store(to as u64, Ordering::Relaxed);
        set(&self.tallies.pending, self.calls.len());
        let bytes = self.write_sets.values().map(|set| set.bytes()).sum();
        set(&self.tallies.kept_bytes, bytes);
        let live = self
            .replicas
            .iter()
            .filter(|replica| replica.pool.is_some());
        set(&self.tallies.live, live.count());
        for replica in &mut self.replicas {
            while replica.tasks.try_join_next().is_some() {}
        }
    }

    fn hear(&mut self, word: Word, effects: &mut Vec<Effect>) {
        match word {
            Word::Request(call, request) => {
                if let Some(call) = self.calls.submit(call, *request) {
                    self.front.handle(Event::Submitted(call), effects);
                }
            }
            Word::Cancel(call) => self.front.handle(Event::Cancelled { call }, effects),
            Word::SessionEnded(session) => {
                self.front.handle(Event::SessionEnded { session }, effects);
            }
            Word::Replica {
                replica,
                life,
                news,
            } => self.news(replica, life, news, effects),
            Word::Stop => {}
        }
    }

    fn news(&mut self, id: ReplicaId, life: u64, news: News, effects: &mut Vec<Effect>) {
        let at = id.0 as usize;
        let replica = &mut self.replicas[at];
        if let News::Reported { report, pool } = news {
            replica.life = life;
            replica.pool = Some(pool);
            replica.gate = Gate::default();
            tracing::info!(replica = id.0, "the replica is there");
            let event = Event::ReplicaReported {
                replica: id,
                report,
            };
            return self.front.handle(event, effects);
        }
        if replica.life != life || replica.pool.is_none() {
            return;
        }
        let event = match news {
            News::Reported { .. } => unreachable!("taken above"),
            News::Lost => {
                replica.pool = None;
                replica.tasks.abort_all();
                replica.gate = Gate::default();
                tracing::warn!(replica = id.0, "the replica is lost");
                Event::ReplicaLost { replica: id }
            }
            News::CaughtUp => Event::StreamCaughtUp { replica: id },
            News::Item(item) => match self.item(id, item) {
                Some(event) => event,
                None => return,
            },
            News::Ran { attempt, ran } => match self.ran(attempt, ran) {
                Some(event) => event,
                None => return self.lose(id, life, effects),
            },
            News::Read { attempt, read } => match self.read(attempt, read) {
                Some(event) => event,
                None => return self.lose(id, life, effects),
            },
            News::ReadEnded(attempt) => {
                self.calls.ended(attempt, Ok(Default::default()));
                Event::Read { attempt }
            }
            News::Abandoned(attempt) => {
                self.calls.abandoned(attempt);
                let why = Why::Refused;
                Event::Failed { attempt, why }
            }
            News::TurnedAway { attempt, error } => {
                self.calls.too_large(attempt, &error);
                let why = Why::Refused;
                Event::Failed { attempt, why }
            }
            News::Asked { call, recorded } => {
                let answered = recorded.is_some();
                self.calls.recorded(call, recorded);
                Event::Asked { call, answered }
            }
            News::Committed(attempt) => {
                self.pass(id, WriteId::Attempt(attempt));
                Event::Committed {
                    attempt,
                    replica: id,
                }
            }
            News::RolledBack(attempt) => Event::RolledBack {
                attempt,
                replica: id,
            },
            News::Applied {
                write,
                durable,
                missing,
                micros,
            } => {
                if missing > 0 {
                    self.tallies
                        .missing_rows
                        .fetch_add(missing, Ordering::Relaxed);
                }
                self.tallies
                    .apply_micros
                    .fetch_add(micros, Ordering::Relaxed);
                self.tallies.applies.fetch_add(1, Ordering::Relaxed);
                self.pass(id, write);
                Event::Applied {
                    write,
                    replica: id,
                    durable,
                }
            }
            News::Hardened(ticket) => Event::Hardened {
                replica: id,
                ticket,
            },
            News::Blocked(by) => Event::Blocked { replica: id, by },
            News::Broken => return self.lose(id, life, effects),
        };
        self.front.handle(event, effects);
    }

    /// A session at the replica broke: all of it is taken for lost, and its keeper begins again.
    fn lose(&mut self, id: ReplicaId, life: u64, effects: &mut Vec<Effect>) {
        let replica = &mut self.replicas[id.0 as usize];
        // Nobody hears it if the keeper has gone: then the front end stops.
        let _ = replica.orders.send(Order::BeginAgain { life });
        self.news(id, life, News::Lost, effects);
    }

    /// What waited for this write set at this replica may begin.
    fn pass(&mut self, id: ReplicaId, write: WriteId) {
        let released = self.replicas[id.0 as usize].gate.pass(write);
        for operation in released {
            self.operate(id, operation);
        }
    }

    /// What a replica's log tells.
    fn item(&mut self, id: ReplicaId, item: Item) -> Option<Event> {
        let replica = id;
        let at = |position: WalPosition| Lsn(position.0);
        match item {
            Item::Prepared {
                gid,
                tag,
                position,
                write_set,
            } => {
                let attempt = self.attempt(&gid)?;
                let write_set = match write_set {
                    Ok(write_set) => Ok(write_set),
                    Err(error) => {
                        // It cannot be applied anywhere, so it must not be committed.
                        tracing::error!(%gid, %error, "a transaction is too large for replicas");
                        self.turn_away(id, attempt, error);
                        return None;
                    }
                };
                let place = tag.map_or(Place::default(), |Tag { place, .. }| Place(place));
                let rows = self.keep(WriteId::Attempt(attempt), write_set);
                Some(Event::WriteSet {
                    attempt,
                    replica,
                    at: at(position),
                    place,
                    rows,
                })
            }
            Item::CommitPrepared { gid, position } => Some(Event::Settled {
                attempt: self.attempt(&gid)?,
                replica,
                at: at(position),
                committed: true,
            }),
            Item::RollbackPrepared { gid, position } => Some(Event::Settled {
                attempt: self.attempt(&gid)?,
                replica,
                at: at(position),
                committed: false,
            }),
            Item::Committed {
                position,
                write_set,
                ..
            } => {
                let write = WriteId::Foreign {
                    replica,
                    at: at(position),
                };
                let rows = self.keep(write, write_set);
                Some(Event::Foreign {
                    replica,
                    at: at(position),
                    rows,
                })
            }
            // What is marked here was told when it was applied.
            Item::Applied { position, .. } | Item::KeepAlive { position } => {
                Some(Event::Streamed {
                    replica,
                    at: at(position),
                })
            }
        }
    }

    fn attempt(&self, gid: &Gid) -> Option<AttemptId> {
        match WriteId::parse(&self.config.name, gid.as_str()) {
            Some(WriteId::Attempt(attempt)) => Some(attempt),
            _ => None,
        }
    }

    /// Keeps a write set until the front says that nobody needs it, and gives its rows.
    fn keep(&mut self, write: WriteId, captured: Captured) -> Rows {
        let write_set = match captured {
            Ok(write_set) => write_set,
            Err(error) => {
                // Somebody wrote it past the front end, and it is committed there.
                tracing::error!(?write, %error, "replicas differ: a transaction is too large to be applied at the others");
                self.tallies.missing_rows.fetch_add(1, Ordering::Relaxed);
                return Rows::Any;
            }
        };
        let rows = match write_set.truncated().is_empty() {
            false => Rows::Any,
            true => {
                let keys = write_set.row_keys();
                match write_set.is_empty() {
                    true => Rows::None,
                    false => Rows::These(
                        keys.iter()
                            .map(|key| key.table ^ key.row.rotate_left(1))
                            .collect(),
                    ),
                }
            }
        };
        self.write_sets.insert(write, write_set);
        rows
    }

    fn words(&self, replica: ReplicaId) -> Teller {
        let life = self.replicas[replica.0 as usize].life;
        Teller::new(self.words.clone(), replica, life)
    }
}
