//! What happens to a front end, and what it wants done.
//!
//! Relies on: nothing.  Promises: plain data.  Does not: say how an effect is brought about.
//!
//! ```text
//!   Submitted ─► Refuse
//!       └──────► Run ─► Prepared ┐ both ─► Commit ─► Committed ─► Answer      the attempt's own replica
//!                  │    WriteSet ┘    └──► Apply ──► Applied                  each other one
//!                  │         └ lost a conflict ─► Rollback ─► RolledBack, and Run again
//!                  └─► Failed ─► Answer, or Run again;  Read ─► Answer
//! ```

use crate::ids::{AttemptId, Lsn, Place, ReplicaId, Rows, SessionId, Token, WriteId};
use quintet_base::conflict::ConflictKey;
use quintet_chain::{Access, CallId};
use quintet_engine::Refusal;

/// A call, a lone statement, or a transaction driven by a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Its number; never used for another one.
    pub call: CallId,
    /// Who calls. It sees its own earlier calls.
    pub session: SessionId,
    /// What it may touch.
    pub keys: Vec<ConflictKey>,
    /// Whether it writes.
    pub access: Access,
    /// It runs at the primary.
    pub pinned: bool,
    /// Its client sends what it consists of. It cannot be run again.
    pub interactive: bool,
    /// Which call of its client it is, if the client may ask for it again.
    pub token: Option<Token>,
    /// How long it takes compared with others; at least 1 is counted.
    pub cost: u32,
}

impl Call {
    /// A call that writes, and may run anywhere.
    pub fn new(call: CallId, session: SessionId, keys: Vec<ConflictKey>) -> Call {
        Call {
            call,
            session,
            keys,
            access: Access::Update,
            pinned: false,
            interactive: false,
            token: None,
            cost: 1,
        }
    }
}

/// Why an attempt ended without a prepared transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Why {
    /// The server undid it because of another one: 40001, 40P01. It is run again.
    Conflict,
    /// It was refused by itself: an error of the procedure, a constraint; or its client rolled back. The
    /// driver has the error, and the client gets it.
    Refused,
    /// Its session broke, and it may be prepared or yet become so, though the replica is there. It is run again
    /// when [`Event::RolledBack`] says that it is not there.
    Unknown,
}

/// What a replica says when it is there, or there again. Taken when no session of before lives there any
/// more: nothing sent earlier takes effect after it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Transactions of this front end that are prepared and not decided.
    pub prepared: Vec<AttemptId>,
    /// Write sets of this front end that are marked as applied.
    pub applied: Vec<WriteId>,
    /// Up to where the streams of replicas are dealt with, as [`Effect::Prune`] left it.
    pub horizons: Vec<(ReplicaId, Lsn)>,
    /// The end of the replica's log: when its stream has come so far, [`Event::StreamCaughtUp`] follows.
    pub at: Lsn,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A client wants something run.
    Submitted(Call),
    /// The answer to [`Effect::Ask`]: whether the call has taken place already.
    Asked {
        /// Which.
        call: CallId,
        /// Its effects, and the answer recorded with them, are there.
        answered: bool,
    },
    /// The transaction of an attempt is prepared, and the driver has what the client is to be told.
    Prepared {
        /// Which.
        attempt: AttemptId,
    },
    /// An attempt has ended and nothing of it is prepared.
    Failed {
        /// Which.
        attempt: AttemptId,
        /// Why.
        why: Why,
    },
    /// An attempt has ended well and there was nothing to prepare: it read, or its client rolled back.
    Read {
        /// Which.
        attempt: AttemptId,
    },
    /// The stream of a replica tells of a transaction that was prepared there. The driver keeps its bytes until
    /// [`Effect::Forget`].
    WriteSet {
        /// Whose.
        attempt: AttemptId,
        /// Where it ran.
        replica: ReplicaId,
        /// The position of its PREPARE.
        at: Lsn,
        /// From its tag.
        place: Place,
        /// What it wrote.
        rows: Rows,
    },
    /// The stream of a replica tells of a transaction that did not come through the front end. The driver keeps
    /// its bytes until [`Effect::Forget`].
    Foreign {
        /// Where it was committed.
        replica: ReplicaId,
        /// The position of its commit.
        at: Lsn,
        /// What it wrote.
        rows: Rows,
    },
    /// The stream of a replica tells what became of a transaction that was prepared there.
    Settled {
        /// Whose.
        attempt: AttemptId,
        /// Where it ran.
        replica: ReplicaId,
        /// The position of the COMMIT PREPARED or ROLLBACK PREPARED.
        at: Lsn,
        /// Which of them it was.
        committed: bool,
    },
    /// The stream of a replica has come so far, and nothing else was to be told.
    Streamed {
        /// Whose.
        replica: ReplicaId,
        /// How far.
        at: Lsn,
    },
    /// The stream of a replica has reached the end of the log that its report named.
    StreamCaughtUp {
        /// Which.
        replica: ReplicaId,
    },
    /// COMMIT PREPARED has returned: it is durable.
    Committed {
        /// Whose.
        attempt: AttemptId,
        /// Where.
        replica: ReplicaId,
    },
    /// ROLLBACK PREPARED has returned, or there is nothing to roll back and never will be.
    RolledBack {
        /// Whose.
        attempt: AttemptId,
        /// Where.
        replica: ReplicaId,
    },
    /// A write set is committed at a replica that did not run it.
    Applied {
        /// Which.
        write: WriteId,
        /// Where.
        replica: ReplicaId,
        /// It survives a crash of the server.
        durable: bool,
    },
    /// All that was reported as applied before [`Effect::Harden`] was asked for is durable.
    Hardened {
        /// Where.
        replica: ReplicaId,
        /// What was asked.
        ticket: u64,
    },
    /// An apply, or a commit, waits for these attempts at a replica; empty if it is not known for which.
    Blocked {
        /// Where.
        replica: ReplicaId,
        /// Who is in the way.
        by: Vec<AttemptId>,
    },
    /// A replica does not answer. The driver has closed all connections to it and ignores what was on its way;
    /// the next word of it is a report.
    ReplicaLost {
        /// Which.
        replica: ReplicaId,
    },
    /// A replica is there.
    ReplicaReported {
        /// Which.
        replica: ReplicaId,
        /// What it has.
        report: Report,
    },
    /// Nobody wants a call any more.
    Cancelled {
        /// Which.
        call: CallId,
    },
    /// A session will call nothing more.
    SessionEnded {
        /// Which.
        session: SessionId,
    },
    /// Some time has passed, a second or so: what is done now and then may be done.
    Tick,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// It took effect. The client gets what its last attempt answered.
    Done,
    /// It took effect earlier. The client gets the answer recorded then.
    Repeated,
    /// It was refused by itself, without effect. The client gets that error.
    Refused,
    /// It lost conflicts more often than allowed, or is driven by its client and lost one; without effect
    /// (40001).
    Conflict,
    /// The replica that ran a client's transaction is gone; without effect (40001: the client may begin again).
    Gone,
    /// Nobody wanted it; without effect (57014). Only an earlier call of the same token may have taken effect:
    /// nobody was asked.
    Cancelled,
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Run a call: begin, emit the tag, call, prepare (see docs/contracts/replica.md); a call that only
    /// reads is not prepared. An interactive one is handed to its client.
    Run {
        /// Which.
        call: CallId,
        /// What this run is called.
        attempt: AttemptId,
        /// Where.
        replica: ReplicaId,
        /// For the tag.
        place: Place,
    },
    /// Ask a replica whether the call of this token has taken place; [`Event::Asked`] must follow.
    Ask {
        /// Which.
        call: CallId,
        /// Where to look.
        replica: ReplicaId,
    },
    /// Stop an attempt if that is possible. An end of it must follow either way.
    Kill {
        /// Which.
        attempt: AttemptId,
        /// Where.
        replica: ReplicaId,
    },
    /// COMMIT PREPARED; [`Event::Committed`] must follow.
    Commit {
        /// Whose.
        attempt: AttemptId,
        /// Where.
        replica: ReplicaId,
        /// Commits after this one, if it is not there yet.
        commit_after: Option<WriteId>,
    },
    /// Make sure that an attempt is not prepared and never will be; [`Event::RolledBack`] must follow.
    Rollback {
        /// Whose.
        attempt: AttemptId,
        /// Where.
        replica: ReplicaId,
    },
    /// Apply a write set; [`Event::Applied`] must follow. What is marked as applied already counts as applied,
    /// and is then made durable if that is asked for.
    Apply {
        /// Which.
        write: WriteId,
        /// Where.
        replica: ReplicaId,
        /// Begins when these are committed there: they share rows.
        begin_after: Vec<WriteId>,
        /// Commits after this one, if it is not there yet.
        commit_after: Option<WriteId>,
        /// It must survive a crash of the server before it is reported.
        durable: bool,
    },
    /// Make all durable that was reported as applied; [`Event::Hardened`] must follow.
    Harden {
        /// Where.
        replica: ReplicaId,
        /// To be repeated.
        ticket: u64,
    },
    /// Tell the client.
    Answer {
        /// Which call.
        call: CallId,
        /// Repetitions of it, to be told the same.
        joined: Vec<CallId>,
        /// How it ended.
        outcome: Outcome,
    },
    /// Tell the client that the call will not be run, and was not.
    Refuse {
        /// Which.
        call: CallId,
        /// Why.
        reason: Refusal,
    },
    /// Nobody needs the bytes of this write set any more.
    Forget {
        /// Which.
        write: WriteId,
    },
    /// Nothing at or before this position of a replica's log is needed any more.
    Confirm {
        /// Whose.
        replica: ReplicaId,
        /// Up to where.
        at: Lsn,
    },
    /// In one transaction at a replica: record how far the streams of replicas are dealt with, unless more is
    /// recorded already (prunes may overtake one another), and remove the marks of these write sets.
    Prune {
        /// Where.
        replica: ReplicaId,
        /// Whose marks.
        writes: Vec<WriteId>,
        /// How far.
        horizons: Vec<(ReplicaId, Lsn)>,
    },
    /// Open a replica's stream again from what was confirmed: something that was forgotten is needed.
    Reread {
        /// Whose.
        replica: ReplicaId,
    },
    /// A replica has been away for too long. Its data are of no use any more.
    Expelled {
        /// Which.
        replica: ReplicaId,
    },
    /// After the start: these have not reported, or their streams have not caught up.
    WaitingFor {
        /// Which.
        replicas: Vec<ReplicaId>,
    },
    /// After the start: everything of earlier lives is decided. Calls submitted before are run now.
    Ready,
}
