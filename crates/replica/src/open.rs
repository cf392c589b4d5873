//! A transaction that a client drives, statement by statement, in a runner's session.
//!
//! Relies on: `pipeline`.  Promises: an answer has the form of a call's; an error leaves the transaction failed, as the
//! server does.  Does not: prepare it; [`Runner::prepare`] does.

use crate::call::CallText;
use crate::error::Error;
use crate::pipeline::Answer;
use crate::runner::{Runner, too_long};
use quintet_base::Level;

impl Runner {
    /// Runs one statement in the open transaction.
    ///
    /// # Errors
    /// The server's, with which the transaction has failed; or that it is lost.
    pub async fn run_open(&mut self, text: &CallText) -> Result<Answer, Error> {
        let outcome = self.answer_to(text).await?;
        match (outcome.error, outcome.answer_over) {
            (Some(error), _) => Err(Error::Server(Box::new(error))),
            (None, Some(bytes)) => Err(Error::Server(Box::new(too_long(bytes)))),
            (None, None) => Ok(outcome.answer),
        }
    }

    /// Begins a transaction that a client drives and that only reads.
    ///
    /// # Errors
    /// The server's, or that it is lost.
    pub async fn begin_to_read(&mut self, level: Level) -> Result<(), Error> {
        let begin = crate::runner::begin_to_read_at(level);
        self.connection().simple(begin).await.map(drop)
    }

    /// Commits the open transaction, which only read.
    ///
    /// # Errors
    /// The server's, or that it is lost.
    pub async fn commit_open(&mut self) -> Result<(), Error> {
        self.connection().simple("COMMIT").await.map(drop)
    }

    /// Makes everything durable that was committed here before.
    ///
    /// # Errors
    /// The server's, or that it is lost.
    pub async fn harden(&mut self) -> Result<(), Error> {
        // A commit that waits for its own sync takes all before it along; one that changed nothing would not wait.
        let sql = "BEGIN; SET LOCAL synchronous_commit = on; \
                   SELECT pg_logical_emit_message(true, 'quintet', 'applied nothing'); \
                   SELECT txid_current(); COMMIT";
        self.connection().simple(sql).await.map(drop)
    }
}
