//! What happens to a scheduler, and what it wants done.
//!
//! Relies on: nothing.  Promises: plain data.  Does not: say how an effect is brought about.
//!
//! ```text
//!   Submitted ─► Refuse
//!        └─────► Queue ─► Run ─► Executed ─► Apply … Applied ─► Answer        PerWorker, Total
//!                  │       │        └──────► Answer, Apply … Applied          PerWorker, Causal
//!                  │       │        └──────► Answer                           One, or nothing written
//!     Cancelled ─► Cancel  └ Kill, and Executed says what became of it
//! ```

use crate::call::{CallId, Position, Submission, WorkerId};
use quintet_base::conflict::Space;
use quintet_engine::Refusal;

/// What a worker has of the data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Holds {
    /// All of it.
    Everything,
    /// These spaces. A call runs where all spaces of its keys are.
    Spaces(Vec<Space>),
}

/// How new the data of a worker are that joins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Freshness {
    /// All that was executed before is there.
    Current,
    /// Not yet: it gets write sets from now on, and calls after [`Event::CaughtUp`].
    Behind,
}

/// Whether a run left anything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Wrote {
    /// A write set.
    Something,
    /// Nothing: it read, was refused by its own rules, or was stopped.
    Nothing,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A client made a call.
    Submitted(Submission),
    /// A call has ended where it was queued last.
    Executed {
        /// Which.
        call: CallId,
        /// What it left.
        wrote: Wrote,
    },
    /// A write set is in a worker's copy. Each worker reports them in the order of [`Effect::Apply`]; only
    /// those that it ran itself it may report out of turn, and then nothing is said of the others.
    Applied {
        /// Whose.
        call: CallId,
        /// Where.
        worker: WorkerId,
    },
    /// A worker is there.
    WorkerJoined {
        /// Its number.
        worker: WorkerId,
        /// Calls it runs side by side; those that read are counted, too.
        slots: u32,
        /// What it has.
        holds: Holds,
        /// And whether all of that is up to date.
        freshness: Freshness,
    },
    /// A worker that joined behind now has all that was executed before it joined.
    CaughtUp {
        /// Which.
        worker: WorkerId,
    },
    /// A worker is gone. What it was given and has not been reported as executed is run elsewhere: the driver
    /// first finds out which of it took place, and reports that.
    WorkerLost {
        /// Which.
        worker: WorkerId,
    },
    /// Nobody wants the call any more.
    Cancelled {
        /// Which.
        call: CallId,
    },
    /// A call that waits for a worker shall wait for another one. Changes nothing once it has one.
    Moved {
        /// Which.
        call: CallId,
        /// Where it may run now; nothing: anywhere.
        pinned: Option<WorkerId>,
    },
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The call has its place, behind [`crate::Scheduler::after`] and at this worker. Nothing to do for a
    /// driver that waits for `Run`; one whose workers are far away may send both there now, and the worker
    /// waits. Comes again if the worker is lost.
    Queue {
        /// Which.
        call: CallId,
        /// Where.
        worker: WorkerId,
    },
    /// All that the call comes after is there, and the worker has a slot: run it.
    Run {
        /// Which.
        call: CallId,
        /// Where.
        worker: WorkerId,
    },
    /// Put the call's write set into the worker's copy. If the worker is the one that ran it, commit there
    /// what is held back. Write sets are applied in the order of these effects.
    Apply {
        /// Whose.
        call: CallId,
        /// Where.
        worker: WorkerId,
        /// Its place in the order.
        position: Position,
    },
    /// Tell the client.
    Answer {
        /// Of which call.
        call: CallId,
    },
    /// Tell the client that the call will not be run, and was not.
    Refuse {
        /// Which.
        call: CallId,
        /// Why.
        reason: Refusal,
    },
    /// The call was cancelled before it ran, and will not. The worker is told if it was told of it.
    Cancel {
        /// Which.
        call: CallId,
    },
    /// The call was cancelled while it runs. Stop it if that is possible; either way `Executed` must follow.
    Kill {
        /// Which.
        call: CallId,
        /// Where.
        worker: WorkerId,
    },
}
