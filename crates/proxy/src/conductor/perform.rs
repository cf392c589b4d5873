//! What is done for each effect of the front.
//!
//! Relies on: sessions of the replica's pool.  Promises: what is asked for is done, or the replica is taken for lost; it is
//! told either way.  Does not: wait: whatever takes time is a task of the replica, and ends with its life.

use super::Conductor;
use super::gate::Operation;
use super::word::{News, Teller};
use crate::keeper::Order;
use crate::lease::Lease;
use crate::pool::{Lent, Pool};
use crate::settings::Sent;
use crate::switchboard::{Request, Work};
use crate::text::Description;
use crate::told::Told;
use quintet_base::{Durability, Level, SqlError, SqlState};
use quintet_front::{
    Access, AttemptId, CallId, Effect, Event, Lsn, Place, ReplicaId, Why, WriteId,
};
use quintet_replica::{
    Applied, Attempt, ClientCall, Decided, Error, Gid, Ran, Read, ServerError, Tag, WalPosition,
};
use quintet_rt::{Clock, RealClock};
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;
use tokio::sync::oneshot;

/// An operation that takes longer may wait for a row that somebody holds.
const BLOCKED_AFTER: Duration = Duration::from_millis(300);

impl Conductor {
    /// Does what an effect says.
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Run {
                call,
                attempt,
                replica,
                place,
            } => self.start(call, attempt, replica, place),
            Effect::Ask { call, replica } => self.ask(call, replica),
            Effect::Kill { attempt, replica } => self.kill(attempt, replica),
            Effect::Commit {
                attempt,
                replica,
                commit_after,
            } => {
                let after: Vec<WriteId> = commit_after.into_iter().collect();
                self.enter(replica, Operation::Commit(attempt), &after);
            }
            Effect::Rollback { attempt, replica } => self.roll_back(attempt, replica),
            Effect::Apply {
                write,
                replica,
                mut begin_after,
                commit_after,
                durable,
            } => {
                begin_after.extend(commit_after);
                self.enter(replica, Operation::Apply { write, durable }, &begin_after);
            }
            Effect::Harden { replica, ticket } => {
                self.at(replica, move |pool, teller| async move {
                    let done = harden(&pool).await;
                    teller.say(told(done, || News::Hardened(ticket))).await;
                });
            }
            Effect::Answer {
                call,
                joined,
                outcome,
            } => self.calls.answer(call, &joined, outcome),
            Effect::Refuse { call, reason } => {
                self.calls.refuse(call, reason.to_sql(Level::Snapshot))
            }
            Effect::Forget { write } => {
                self.write_sets.remove(&write);
                self.calls.forget(write);
            }
            Effect::Confirm { replica, at } => {
                self.order(replica, Order::Confirm(WalPosition(at.0)));
            }
            Effect::Prune {
                replica,
                writes,
                horizons,
            } => self.prune(replica, &writes, horizons),
            Effect::Reread { replica } => self.order(replica, Order::Reread),
            Effect::Expelled { replica } => {
                tracing::error!(
                    replica = replica.0,
                    "the replica was away for too long: give it a new copy of the data and start again"
                );
            }
            Effect::WaitingFor { replicas } => {
                let names: Vec<String> = replicas
                    .iter()
                    .map(|id| self.config.replicas[id.0 as usize].to_string())
                    .collect();
                tracing::warn!(replicas = names.join(", "), "waiting for replicas");
            }
            Effect::Ready => {
                self.tallies.ready.store(true, Release);
                tracing::info!("everything of earlier starts is decided: serving");
            }
        }
    }

    fn order(&self, replica: ReplicaId, order: Order) {
        // A keeper that has gone has nothing to do any more.
        let _ = self.replicas[replica.0 as usize].orders.send(order);
    }

    /// Starts a task at a replica. It ends with this life of it.
    fn at<F>(&mut self, id: ReplicaId, task: impl FnOnce(Arc<Pool>, Teller) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let teller = self.words(id);
        let replica = &mut self.replicas[id.0 as usize];
        if let Some(pool) = &replica.pool {
            replica.tasks.spawn(task(Arc::clone(pool), teller));
        }
    }

    fn gid(&self, attempt: AttemptId) -> Gid {
        Gid::of(&WriteId::Attempt(attempt).to_text(&self.config.name))
    }

    /// Runs a call.
    fn start(&mut self, call: CallId, attempt: AttemptId, replica: ReplicaId, place: Place) {
        let gid = self.gid(attempt);
        let tallies = Arc::clone(&self.tallies);
        let running = Arc::clone(&self.running);
        let teller = self.words(replica);
        let kill = self.calls.kill_of(attempt);
        let Some(under) = self.calls.begin(call, attempt) else {
            return teller.tell(News::ReadEnded(attempt));
        };
        let Request {
            work,
            access,
            level,
            settings,
            client,
            service,
            ..
        } = &mut under.request;
        let (access, level, service) = (*access, *level, *service);
        let settings = Sent::clone(settings);
        let tag = Tag {
            gid: gid.clone(),
            place: place.0,
            client: client.clone(),
        };
        match work {
            Work::Text(text) if access == Access::ReadOnly => {
                let text = text.clone();
                self.at(replica, move |pool, teller| async move {
                    let read = match pool.runner(&settings).await {
                        Ok(mut lent) => {
                            let read = lent.runner.run_read(&text, level, service).await;
                            pool.give_back(lent);
                            read
                        }
                        Err(error) => Read::Lost(error),
                    };
                    teller.say(News::Read { attempt, read }).await;
                });
            }
            Work::Text(text) => {
                let work = Attempt {
                    tag,
                    text: text.clone(),
                    level,
                    service,
                };
                self.at(replica, move |pool, teller| async move {
                    let begun = RealClock.monotonic_nanos();
                    let ran = match pool.runner(&settings).await {
                        Ok(mut lent) => {
                            running
                                .lock()
                                .insert(attempt, lent.runner.connection().cancel_key());
                            let ran = lent.runner.run(&work).await;
                            running.lock().remove(&attempt);
                            pool.give_back(lent);
                            ran
                        }
                        Err(error) => Ran::Lost(error),
                    };
                    let micros = (RealClock.monotonic_nanos() - begun) / 1_000;
                    tallies.run_micros.fetch_add(micros, Relaxed);
                    tallies.runs.fetch_add(1, Relaxed);
                    teller.say(News::Ran { attempt, ran }).await;
                });
            }
            Work::Transaction(lend) => {
                // A transaction is not run again: its session is lent once.
                let lend = std::mem::replace(lend, oneshot::channel().0);
                let tag = (access == Access::Update).then_some(tag);
                self.at(replica, move |pool, teller| async move {
                    match open(&pool, &settings, level, tag.as_ref()).await {
                        Ok(lent) => {
                            let gid = tag.map(|tag| tag.gid);
                            let lease = Lease::new(lent, pool, attempt, gid, teller, kill);
                            // If nobody wants it any more it is dropped, which tells of it.
                            let _ = lend.send(Ok(lease));
                        }
                        Err(error) => {
                            teller
                                .say(News::Ran {
                                    attempt,
                                    ran: Ran::Lost(error),
                                })
                                .await;
                        }
                    }
                });
            }
            Work::Describe {
                sql,
                types,
                described,
            } => {
                let (sql, types) = (std::mem::take(sql), std::mem::take(types));
                let described = std::mem::replace(described, oneshot::channel().0);
                self.at(replica, move |pool, teller| async move {
                    let answer = describe(&pool, &settings, &sql, &types).await;
                    let news = match answer {
                        Ok(answer) => {
                            // Who has gone needs no answer.
                            let _ = described.send(answer);
                            News::ReadEnded(attempt)
                        }
                        Err(error) => News::Read {
                            attempt,
                            read: Read::Lost(error),
                        },
                    };
                    teller.say(news).await;
                });
            }
        }
    }

    /// What is recorded of a client's call?
    fn ask(&mut self, call: CallId, replica: ReplicaId) {
        let client = self
            .calls
            .get(call)
            .and_then(|under| under.request.client.clone());
        let Some(client) = client else {
            let recorded = None;
            return self.words(replica).tell(News::Asked { call, recorded });
        };
        self.at(replica, move |pool, teller| async move {
            let asked = async {
                let mut lent = pool.runner(&Sent::default()).await?;
                let last = lent.runner.last_call(&client.token).await?;
                pool.give_back(lent);
                Ok::<_, Error>(last)
            };
            let news = match asked.await {
                Ok(last) => {
                    let recorded =
                        last.and_then(|(number, answer)| match number.cmp(&client.number) {
                            Ordering::Less => None,
                            Ordering::Equal => Some(Ok(answer)),
                            Ordering::Greater => Some(Err(followed(&client, number))),
                        });
                    News::Asked { call, recorded }
                }
                Err(error) => broken(error),
            };
            teller.say(news).await;
        });
    }

    fn kill(&mut self, attempt: AttemptId, replica: ReplicaId) {
        self.calls.kill(attempt);
        let key = self.running.lock().get(&attempt).cloned();
        if let Some(key) = key {
            self.at(replica, move |_, _| async move {
                // It may have ended by itself.
                let _ = key.cancel().await;
            });
        }
    }

    fn enter(&mut self, id: ReplicaId, operation: Operation, after: &[WriteId]) {
        let replica = &mut self.replicas[id.0 as usize];
        if let Some(operation) = replica.gate.enter(operation, after) {
            self.operate(id, operation);
        }
    }

    /// Nothing is missing for an operation at a replica.
    pub(super) fn operate(&mut self, replica: ReplicaId, operation: Operation) {
        match operation {
            Operation::Commit(attempt) => {
                let gid = self.gid(attempt);
                self.at(replica, move |pool, teller| async move {
                    let decided = watched(&teller, decide(&pool, &gid, true)).await;
                    let news = match decided {
                        // Missing: committed earlier, and the answer was lost with the connection.
                        Ok(Decided::Done | Decided::Missing) => News::Committed(attempt),
                        Err(error) => broken(error),
                    };
                    teller.say(news).await;
                });
            }
            Operation::Apply { write, durable } => self.apply(replica, write, durable),
        }
    }

    fn apply(&mut self, replica: ReplicaId, write: WriteId, durable: bool) {
        let Some(write_set) = self.write_sets.get(&write).cloned() else {
            // Forgotten, so it is there: the front has been told by the mark.
            let news = News::Applied {
                write,
                durable,
                missing: 0,
                micros: 0,
            };
            return self.words(replica).tell(news);
        };
        let gid = Gid::of(&write.to_text(&self.config.name));
        let service = self.config.service.of_apply(self.calls.service(write));
        let durability = match durable {
            true => Durability::Sync,
            false => Durability::Async,
        };
        self.at(replica, move |pool, teller| async move {
            let begun = RealClock.monotonic_nanos();
            let work = async {
                let mut applier = pool.applier().await?;
                let applied = loop {
                    match applier.apply(&gid, &write_set, durability, service).await {
                        // It gave way to somebody who has to go, or the server could not just then.
                        Err(Error::Server(error)) if is_passing(&error) => {
                            tracing::debug!(%gid, error = error.message, "a write set is applied again");
                            teller.say(News::Blocked).await;
                        }
                        applied => break applied,
                    }
                };
                if applied.is_ok() {
                    pool.give_applier_back(applier);
                }
                applied
            };
            let news = match watched(&teller, work).await {
                Ok(applied) => {
                    let missing = match &applied {
                        Applied::Now { missing, first_missing } => {
                            if let Some(table) = first_missing {
                                tracing::error!(replica = %pool.server(), %gid, table, missing, "rows are missing: the replica has diverged");
                            }
                            *missing
                        }
                        Applied::Already => 0,
                    };
                    if durable && applied == Applied::Already {
                        if let Err(error) = harden(&pool).await {
                            teller.say(broken(error)).await;
                            return;
                        }
                    }
                    let micros = (RealClock.monotonic_nanos() - begun) / 1_000;
                    News::Applied { write, durable, missing, micros }
                }
                Err(error) => broken(error),
            };
            teller.say(news).await;
        });
    }

    fn roll_back(&mut self, attempt: AttemptId, replica: ReplicaId) {
        let gid = self.gid(attempt);
        self.at(replica, move |pool, teller| async move {
            let news = match decide(&pool, &gid, false).await {
                Ok(_) => News::RolledBack(attempt),
                Err(error) => broken(error),
            };
            teller.say(news).await;
        });
    }

    fn prune(&mut self, replica: ReplicaId, writes: &[WriteId], horizons: Vec<(ReplicaId, Lsn)>) {
        let gids: Vec<Gid> = writes
            .iter()
            .map(|write| Gid::of(&write.to_text(&self.config.name)))
            .collect();
        self.at(replica, move |pool, teller| async move {
            let pruned = async {
                let mut applier = pool.applier().await?;
                let horizons: Vec<(u32, WalPosition)> = horizons
                    .iter()
                    .map(|(id, at)| (id.0, WalPosition(at.0)))
                    .collect();
                applier.prune_to(pool.front(), &gids, &horizons).await?;
                pool.give_applier_back(applier);
                Ok::<_, Error>(())
            };
            if let Err(error) = pruned.await {
                teller.say(broken(error)).await;
            }
        });
    }

    /// An attempt has ended; none: the replica is lost.
    pub(super) fn ran(&mut self, attempt: AttemptId, ran: Ran) -> Option<Event> {
        match ran {
            Ran::Prepared { answer } => {
                self.calls.ended(attempt, Ok(answer));
                Some(Event::Prepared { attempt })
            }
            Ran::Failed { error, notices, .. } => {
                let why = why(&error);
                let _ = notices;
                self.calls.ended(attempt, Err(theirs(&error)));
                Some(Event::Failed { attempt, why })
            }
            Ran::Lost(error) => {
                tracing::warn!(%error, "an attempt has lost its replica");
                None
            }
        }
    }

    /// A read has ended; none: the replica is lost.
    pub(super) fn read(&mut self, attempt: AttemptId, read: Read) -> Option<Event> {
        match read {
            Read::Answered(answer) => {
                self.calls.ended(attempt, Ok(answer));
                Some(Event::Read { attempt })
            }
            Read::Failed { error, .. } => {
                let why = why(&error);
                self.calls.ended(attempt, Err(theirs(&error)));
                Some(Event::Failed { attempt, why })
            }
            Read::Lost(error) => {
                tracing::warn!(%error, "a read has lost its replica");
                None
            }
        }
    }
}

/// What a client is told that asks for a call before its last.
fn followed(client: &ClientCall, last: i64) -> Told {
    let ClientCall { token, number } = client;
    SqlError::new(
        SqlState(*b"55000"),
        format!("call {number} of client \"{token}\" was followed by call {last}; its answer is not kept"),
    )
    .hint("Number the next call with quintet.call, greater than all before.")
    .into()
}

fn theirs(error: &ServerError) -> Told {
    Told::Theirs {
        state: error.state,
        body: error.raw.clone(),
    }
}

/// Lost to another transaction, or wrong by itself?
fn why(error: &ServerError) -> Why {
    match &error.state.0 {
        b"40001" | b"40P01" => Why::Conflict,
        _ => Why::Refused,
    }
}

/// A write set that fails like this can be applied a moment later.
fn is_passing(error: &ServerError) -> bool {
    matches!(&error.state.0, b"40001" | b"40P01" | b"55P03" | b"57014")
}

fn broken(error: Error) -> News {
    tracing::warn!(%error, "a replica did not do what it has to");
    News::Broken
}

fn told(done: Result<(), Error>, news: impl FnOnce() -> News) -> News {
    match done {
        Ok(()) => news(),
        Err(error) => broken(error),
    }
}

/// Says that something waits, once it has taken suspiciously long, and again while it does.
async fn watched<T>(teller: &Teller, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        match tokio::time::timeout(BLOCKED_AFTER, &mut work).await {
            Ok(done) => return done,
            Err(_) => {
                teller.say(News::Blocked).await;
            }
        }
    }
}

async fn decide(pool: &Pool, gid: &Gid, commit: bool) -> Result<Decided, Error> {
    let mut lent = pool.runner(&Sent::default()).await?;
    let decided = match commit {
        true => lent.runner.commit(gid).await?,
        false => lent.runner.rollback(gid).await?,
    };
    pool.give_back(lent);
    Ok(decided)
}

async fn harden(pool: &Pool) -> Result<(), Error> {
    let mut lent = pool.runner(&Sent::default()).await?;
    lent.runner.harden().await?;
    pool.give_back(lent);
    Ok(())
}

async fn open(
    pool: &Pool,
    settings: &Sent,
    level: Level,
    tag: Option<&Tag>,
) -> Result<Lent, Error> {
    let mut lent = pool.runner(settings).await?;
    match tag {
        Some(tag) => lent.runner.begin(level, Some(tag)).await?,
        None => lent.runner.begin_to_read(level).await?,
    }
    Ok(lent)
}

async fn describe(
    pool: &Pool,
    settings: &Sent,
    sql: &str,
    types: &[u32],
) -> Result<Result<Description, Told>, Error> {
    let mut lent = pool.runner(settings).await?;
    let frames = lent.runner.describe(sql, types).await?;
    pool.give_back(lent);
    Ok(Description::read(&frames))
}
