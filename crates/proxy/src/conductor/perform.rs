//! What is done for each effect of the front.
//!
//! Relies on: sessions of the replica's pool.  Promises: what is asked for is done, or the replica is taken for lost; it is
//! told either way.  Does not: wait: whatever takes time is a task of the replica, and ends with its life.

use super::Conductor;
use super::gate::Operation;
use super::word::{News, Teller};
use crate::keeper::Order;
use crate::pool::Pool;
use crate::settings::Sent;
use quintet_base::Level;
use quintet_front::{AttemptId, Effect, ReplicaId, WriteId};
use quintet_replica::{Error, Gid, WalPosition};
use std::sync::Arc;
use std::sync::atomic::Ordering::Release;

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
                begin_after,
                commit_after,
                durable,
            } => {
                let operation = Operation::Apply {
                    write,
                    durable,
                    commit_after,
                };
                self.enter(replica, operation, &begin_after);
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
    pub(super) fn at<F>(&mut self, id: ReplicaId, task: impl FnOnce(Arc<Pool>, Teller) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let teller = self.words(id);
        let replica = &mut self.replicas[id.0 as usize];
        if let Some(pool) = &replica.pool {
            replica.tasks.spawn(task(Arc::clone(pool), teller));
        }
    }

    pub(super) fn gid(&self, attempt: AttemptId) -> Gid {
        Gid::of(&WriteId::Attempt(attempt).to_text(&self.config.name))
    }
}

/// A replica did not do what it has to.
pub(super) fn broken(error: Error) -> News {
    tracing::warn!(%error, "a replica did not do what it has to");
    News::Broken
}

fn told(done: Result<(), Error>, news: impl FnOnce() -> News) -> News {
    match done {
        Ok(()) => news(),
        Err(error) => broken(error),
    }
}

/// Makes everything durable that is committed there.
pub(super) async fn harden(pool: &Pool) -> Result<(), Error> {
    let mut lent = pool.runner(&Sent::default()).await?;
    lent.runner.harden().await?;
    pool.give_back(lent);
    Ok(())
}
