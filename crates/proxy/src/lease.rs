//! A session at a replica, lent to a client for one transaction.
//!
//! Relies on: `runner` of the replica.  Promises: however the client ends, the conductor is told once how the
//! transaction ended here, and the session is given back or closed.  Does not: decide whether what was prepared is
//! committed.

use crate::conductor::{News, Teller};
use crate::pool::{Lent, Pool};
use crate::told::Told;
use quintet_front::AttemptId;
use quintet_replica::{Answer, CallText, Error, Gid, Ran};
use std::sync::Arc;
use tokio::sync::Notify;

/// See the module.
pub(crate) struct Lease {
    /// None once it is over.
    lent: Option<Lent>,
    pool: Arc<Pool>,
    attempt: AttemptId,
    /// The name to prepare it under; none for one that only reads.
    gid: Option<Gid>,
    teller: Teller,
    killed: Arc<Notify>,
}

impl Lease {
    pub fn new(
        lent: Lent,
        pool: Arc<Pool>,
        attempt: AttemptId,
        gid: Option<Gid>,
        teller: Teller,
        killed: Arc<Notify>,
    ) -> Lease {
        Lease {
            lent: Some(lent),
            pool,
            attempt,
            gid,
            teller,
            killed,
        }
    }

    /// Comes when the session is wanted back.
    pub fn killed(&self) -> Option<Arc<Notify>> {
        self.lent.is_some().then(|| Arc::clone(&self.killed))
    }

    /// Runs a statement. The outer error: the session is gone.
    pub async fn run(&mut self, text: &CallText) -> Result<Result<Answer, Told>, ()> {
        let Some(lent) = &mut self.lent else {
            return Err(());
        };
        match lent.runner.run_open(text).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(Error::Server(error)) => Ok(Err(Told::Theirs {
                state: error.state,
                body: error.raw.clone(),
            })),
            Err(error) => {
                tracing::warn!(%error, "a transaction has lost its replica");
                self.abandon();
                Err(())
            }
        }
    }

    /// Ends the transaction: prepared, if it is to be committed and may have written.
    pub async fn end(mut self, commit: bool) {
        let Some(mut lent) = self.lent.take() else {
            return;
        };
        self.pool.running.end(self.attempt);
        let news = match (&self.gid, commit) {
            (Some(gid), true) => News::Ran {
                attempt: self.attempt,
                ran: lent.runner.prepare(gid, None).await,
            },
            (None, true) => match lent.runner.commit_open().await {
                Ok(()) => News::ReadEnded(self.attempt),
                Err(error) => News::Ran {
                    attempt: self.attempt,
                    ran: Ran::Lost(error),
                },
            },
            (_, false) => match lent.runner.roll_back().await {
                Ok(()) => News::ReadEnded(self.attempt),
                // The server rolls back what its client has left.
                Err(_) => News::ReadEnded(self.attempt),
            },
        };
        self.pool.give_back(lent);
        self.teller.tell(news);
    }

    /// Gives the transaction up: the session is closed, and the server rolls back.
    pub fn abandon(&mut self) {
        if self.lent.take().is_some() {
            self.pool.running.end(self.attempt);
            self.teller.tell(News::Abandoned(self.attempt));
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.abandon();
    }
}
