//! A transaction that the client drives, from BEGIN to COMMIT.
//!
//! Relies on: `lease`, a session at a replica.  Promises: BEGIN costs nothing; the first statement takes a session at
//! a replica, the primary unless the transaction only reads; COMMIT is answered when it is durable.
//! Does not: run a transaction again that lost a conflict: its client is told 40001.
//!
//! ```text
//!   None ─BEGIN─► Begun ─first statement─► Open ─COMMIT─► None
//!                   └───── error ───────────┴─► Failed ─ROLLBACK─► None
//! ```

use super::{Guest, Told};
use crate::lease::Lease;
use crate::settings::allowed;
use crate::switchboard::Work;
use quintet_base::{Level, SqlError, SqlState};
use quintet_embed::TransactionStatus;
use quintet_front::{Access, CallId};
use quintet_replica::{Answer, CallText};
use quintet_server::protocol::backend;
use quintet_sql::Command;
use quintet_sql::command::TransactionModes;
use tokio::sync::oneshot;

/// See the module.
pub(super) enum Transaction {
    /// There is none.
    None,
    /// BEGIN was said.
    Begun {
        /// It changes nothing.
        read_only: bool,
    },
    /// At a replica.
    Open(Box<Open>),
    /// Nothing but ROLLBACK is taken.
    Failed(Option<Box<Open>>),
}

/// A transaction at a replica.
pub(super) struct Open {
    pub lease: Lease,
    call: CallId,
    ended: oneshot::Receiver<Result<Answer, Told>>,
}

impl Transaction {
    pub fn is_open(&self) -> bool {
        !matches!(self, Transaction::None)
    }

    pub fn status(&self) -> TransactionStatus {
        match self {
            Transaction::None => TransactionStatus::Idle,
            Transaction::Begun { .. } | Transaction::Open(_) => TransactionStatus::Open,
            Transaction::Failed(_) => TransactionStatus::Failed,
        }
    }

    /// After an error.
    pub fn fail(&mut self) {
        *self = match std::mem::replace(self, Transaction::None) {
            Transaction::Open(open) => Transaction::Failed(Some(open)),
            Transaction::Begun { .. } => Transaction::Failed(None),
            other => other,
        };
    }

    /// Its session at the replica is wanted back: somebody else's effects must not wait for it.
    pub fn lose(&mut self) {
        if let Transaction::Open(open) | Transaction::Failed(Some(open)) = self {
            open.lease.abandon();
        }
    }

    /// Comes when the session at the replica is wanted back.
    pub fn killed(&self) -> impl Future<Output = ()> + use<> {
        let killed = match self {
            Transaction::Open(open) | Transaction::Failed(Some(open)) => open.lease.killed(),
            _ => None,
        };
        async move {
            match killed {
                Some(killed) => killed.notified().await,
                None => std::future::pending().await,
            }
        }
    }
}

/// What a failed transaction answers.
pub(super) fn in_failed() -> Told {
    SqlError::new(
        SqlState(*b"25P02"),
        "current transaction is aborted, commands ignored until end of transaction block",
    )
    .into()
}

fn lost() -> Told {
    SqlError::new(
        SqlState::SERIALIZATION_FAILURE,
        "could not serialize access: the transaction was in the way of one that is committed",
    )
    .into()
}

impl Guest {
    /// BEGIN, COMMIT and their kin. Appends the CommandComplete.
    pub(super) async fn control(&mut self, command: Command, text: &str) -> Result<(), Told> {
        match command {
            Command::Begin(modes) => self.begin(modes),
            Command::Commit { chain: false } => self.end(true).await,
            Command::Rollback { chain: false } => self.end(false).await,
            Command::SetTransaction(modes) => self.set_modes(modes, "SET"),
            Command::Savepoint(_) | Command::RollbackTo(_) | Command::Release(_) => {
                self.savepoint(&command, text).await
            }
            _ => Err(SqlError::unsupported(text.to_owned()).into()),
        }
    }

    fn begin(&mut self, modes: TransactionModes) -> Result<(), Told> {
        if self.transaction.is_open() {
            // PostgreSQL warns and goes on.
            return self.complete("BEGIN");
        }
        self.transaction = Transaction::Begun {
            read_only: self.settings.read_only,
        };
        let set = self.set_modes(modes, "BEGIN");
        if set.is_err() {
            self.transaction = Transaction::None;
        }
        set
    }

    fn set_modes(&mut self, modes: TransactionModes, tag: &str) -> Result<(), Told> {
        if let Some(level) = modes.level {
            allowed(level, self.switchboard.strongest())?;
        }
        if let (Transaction::Begun { read_only }, Some(asked)) =
            (&mut self.transaction, modes.read_only)
        {
            *read_only = asked;
        }
        self.complete(tag)
    }

    async fn savepoint(&mut self, command: &Command, text: &str) -> Result<(), Told> {
        if !self.transaction.is_open() {
            return Err(SqlError::new(
                SqlState(*b"25P01"),
                format!("{text} can only be used in transaction blocks"),
            )
            .into());
        }
        let returns = matches!(command, Command::RollbackTo(_));
        if let (Transaction::Failed(open @ Some(_)), true) = (&mut self.transaction, returns) {
            let open = open.take().expect("just looked");
            self.transaction = Transaction::Open(open);
        }
        let answer = self
            .in_transaction(&CallText::Simple(text.to_owned()))
            .await?;
        self.admitted.out.extend_from_slice(&answer.rows);
        Ok(())
    }

    /// Runs a statement in the transaction, which is taken to a replica first if it is at none.
    pub(super) async fn in_transaction(&mut self, text: &CallText) -> Result<Answer, Told> {
        if let Transaction::Begun { read_only } = self.transaction {
            self.open(read_only).await?;
        }
        match &mut self.transaction {
            Transaction::Open(open) => match open.lease.run(text).await {
                Ok(ran) => ran,
                Err(_) => Err(lost()),
            },
            _ => Err(in_failed()),
        }
    }

    /// Takes a session at a replica for a transaction.
    pub(super) async fn open(&mut self, read_only: bool) -> Result<(), Told> {
        let (lend, lent) = oneshot::channel();
        let (reply, mut ended) = oneshot::channel();
        let mut request = self.request(Work::Transaction(lend), reply);
        match read_only {
            true => request.access = Access::ReadOnly,
            false => {
                request.keys = self.switchboard.everything();
                request.pinned = true;
            }
        }
        let call = self.switchboard.submit(request).await?;
        // Refused before it begins: the reply comes instead of the session.
        let lease = tokio::select! {
            lent = self.outcome(call, lent) => lent,
            refused = &mut ended => Err(match refused {
                Ok(Err(told)) => told,
                _ => super::stopped(),
            }),
        }?;
        self.transaction = Transaction::Open(Box::new(Open { lease, call, ended }));
        Ok(())
    }

    /// COMMIT or ROLLBACK.
    pub(super) async fn end(&mut self, commit: bool) -> Result<(), Told> {
        let transaction = std::mem::replace(&mut self.transaction, Transaction::None);
        let (open, commits) = match transaction {
            Transaction::None | Transaction::Begun { .. } => {
                return self.complete(if commit { "COMMIT" } else { "ROLLBACK" });
            }
            Transaction::Open(open) => (Some(open), commit),
            Transaction::Failed(open) => (open, false),
        };
        if let Some(open) = open {
            let Open { lease, call, ended } = *open;
            lease.end(commits).await;
            self.outcome(call, ended).await?;
        }
        self.complete(if commits { "COMMIT" } else { "ROLLBACK" })
    }

    pub(super) fn complete(&mut self, tag: &str) -> Result<(), Told> {
        backend::complete(&mut self.admitted.out, tag);
        Ok(())
    }

    /// The level that everything runs at.
    pub(super) fn level(&self) -> Level {
        Level::Snapshot
    }
}
