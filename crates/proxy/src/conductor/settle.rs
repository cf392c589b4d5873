//! What is decided is done at a replica: commit, roll back, apply, and forget marks.
//!
//! Relies on: `gate` for what waits for what.  Promises: what is asked for is done, or the replica is taken for lost; what
//! waits for a row for long is told of.  Does not: decide.

use super::Conductor;
use super::gate::Operation;
use super::perform::{broken, harden};
use super::word::{News, Teller};
use crate::pool::Pool;
use crate::settings::Sent;
use quintet_base::Durability;
use quintet_front::{AttemptId, Lsn, ReplicaId, WriteId};
use quintet_replica::{Applied, Decided, Error, Gid, ServerError, TooLarge, WalPosition};
use quintet_rt::{Clock, RealClock};
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::oneshot;

/// An operation that takes longer may wait for a row that somebody holds.
const BLOCKED_AFTER: Duration = Duration::from_millis(300);

/// Between two attempts to roll back what is being prepared.
const BUSY_REST: Duration = Duration::from_millis(20);

impl Conductor {
    /// An operation at a replica begins, or waits for those before it.
    pub(super) fn enter(&mut self, id: ReplicaId, operation: Operation, after: &[WriteId]) {
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
                    let decided = decide(&pool, &gid, true).await;
                    let news = match decided {
                        // Missing: committed earlier, and the answer was lost with the connection.
                        Ok(Decided::Done | Decided::Missing) => News::Committed(attempt),
                        Err(error) => broken(error),
                    };
                    teller.say(news).await;
                });
            }
            Operation::Apply {
                write,
                durable,
                commit_after,
            } => {
                let turn = self.replicas[replica.0 as usize].gate.turn(commit_after);
                self.apply(replica, write, durable, turn);
            }
        }
    }

    fn apply(
        &mut self,
        replica: ReplicaId,
        write: WriteId,
        durable: bool,
        turn: Option<oneshot::Receiver<()>>,
    ) {
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
        let name = self.config.name.clone();
        let gid = Gid::of(&write.to_text(&name));
        let service = self.config.service.of_apply(self.calls.service(write));
        let durability = match durable {
            true => Durability::Sync,
            false => Durability::Async,
        };
        self.at(replica, move |pool, teller| async move {
            let begun = RealClock.monotonic_nanos();
            let process = AtomicI32::new(0);
            let work = async {
                let mut applier = pool.applier().await?;
                process.store(applier.connection().cancel_key().process(), Relaxed);
                let applied = loop {
                    let applied = match &turn {
                        None => applier.apply(&gid, &write_set, durability, service).await,
                        Some(_) => applier.apply_open(&gid, &write_set, durability, service).await,
                    };
                    match applied {
                        // It gave way to somebody who has to go, or the server could not just then.
                        Err(Error::Server(error)) if is_passing(&error) => {
                            tracing::debug!(%gid, error = error.message, "a write set is applied again");
                        }
                        applied => break applied,
                    }
                };
                if let (Some(turn), Ok(Applied::Now { .. })) = (turn, &applied) {
                    // If nobody gives turns any more, the replica is lost, and this task with it.
                    let _ = turn.await;
                    applier.commit().await?;
                }
                if applied.is_ok() {
                    pool.give_applier_back(applier);
                }
                applied
            };
            let news = match watched(&pool, &name, &teller, &process, work).await {
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
                    if durable && applied == Applied::Already
                        && let Err(error) = harden(&pool).await {
                            teller.say(broken(error)).await;
                            return;
                        }
                    let micros = (RealClock.monotonic_nanos() - begun) / 1_000;
                    News::Applied { write, durable, missing, micros }
                }
                Err(error) => broken(error),
            };
            teller.say(news).await;
        });
    }

    pub(super) fn roll_back(&mut self, attempt: AttemptId, replica: ReplicaId) {
        let gid = self.gid(attempt);
        self.at(replica, move |pool, teller| async move {
            let news = match decide(&pool, &gid, false).await {
                Ok(_) => News::RolledBack(attempt),
                Err(error) => broken(error),
            };
            teller.say(news).await;
        });
    }

    /// Rolls an attempt back that wrote too much, as soon as it is prepared.
    pub(super) fn turn_away(&mut self, replica: ReplicaId, attempt: AttemptId, error: TooLarge) {
        let gid = self.gid(attempt);
        self.at(replica, move |pool, teller| async move {
            let news = loop {
                match decide(&pool, &gid, false).await {
                    Ok(_) => break News::TurnedAway { attempt, error },
                    // Its session has not been answered yet.
                    Err(Error::Server(busy)) if &busy.state.0 == b"55000" => {
                        tokio::time::sleep(BUSY_REST).await;
                    }
                    Err(error) => break broken(error),
                }
            };
            teller.say(news).await;
        });
    }

    pub(super) fn prune(
        &mut self,
        replica: ReplicaId,
        writes: &[WriteId],
        horizons: Vec<(ReplicaId, Lsn)>,
    ) {
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
}

/// A write set that fails like this can be applied a moment later.
fn is_passing(error: &ServerError) -> bool {
    matches!(&error.state.0, b"40001" | b"40P01" | b"55P03" | b"57014")
}

/// Tells who is in the way of an apply that takes suspiciously long, again and again while it does.
async fn watched<T>(
    pool: &Pool,
    name: &str,
    teller: &Teller,
    process: &AtomicI32,
    work: impl Future<Output = T>,
) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        match tokio::time::timeout(BLOCKED_AFTER, &mut work).await {
            Ok(done) => return done,
            Err(_) => {
                // Who cannot say it now is asked again.
                let by = in_the_way(pool, name, process.load(Relaxed))
                    .await
                    .unwrap_or_default();
                if !by.is_empty() {
                    teller.say(News::Blocked(by)).await;
                }
            }
        }
    }
}

/// The attempts whose locks a session waits for: those that run, by their processes, and those that are prepared.
async fn in_the_way(pool: &Pool, name: &str, process: i32) -> Result<Vec<AttemptId>, Error> {
    let mut lent = pool.runner(&Sent::default()).await?;
    let sql = format!(
        "SELECT unnest(pg_blocking_pids({process}))::text, NULL UNION ALL \
         SELECT NULL, p.gid FROM pg_locks l JOIN pg_prepared_xacts p ON p.transaction = l.transactionid \
         WHERE l.pid = {process} AND NOT l.granted"
    );
    let rows = lent.runner.connection().simple(&sql).await?;
    pool.give_back(lent);
    let attempts = rows.iter().filter_map(|row| match row.as_slice() {
        [Some(process), _] => pool.running.attempt(process.parse().ok()?),
        [_, Some(gid)] => match WriteId::parse(name, gid) {
            Some(WriteId::Attempt(attempt)) => Some(attempt),
            _ => None,
        },
        _ => None,
    });
    Ok(attempts.collect())
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
