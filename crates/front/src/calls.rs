//! Calls that are not answered, and their attempts that are not decided.
//!
//! Relies on: nothing.  Promises: plain bookkeeping.  Does not: decide anything.
//!
//! Stages of a call that writes, and what makes each step. (A call that reads goes from Early to Reading.)
//!
//! ```text
//!   Early ── ready ──► Asking ──► Ordered ── scheduler: run ──► Gated ──► Running ──► Decided ──► answered
//!             the token may be    in the scheduler               ▲          │ lost a conflict
//!             known at a replica                                 └──────────┤
//!                                     Ordered ◄── replica lost ─────────────┤
//!                                                     Unwinding ◄── session broke, may be prepared
//! ```

use crate::event::Call;
use crate::ids::{AttemptId, Lsn, Rows, SessionId};
use quintet_chain::CallId;
use std::collections::BTreeMap;

/// Where a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// The front end is not ready.
    Early,
    /// A replica is to be asked, or was asked (which), whether it took place.
    Asking(Option<usize>),
    /// The scheduler has it.
    Ordered,
    /// It may run at a replica, as soon as it gets a session.
    Gated(usize),
    /// It runs, or has run and is not decided.
    Running(AttemptId),
    /// It is not known whether its last attempt is prepared.
    Unwinding(AttemptId),
    /// Its write set has this position.
    Decided(u64),
    /// It only reads, and waits for a replica.
    Reading,
}

/// A call.
#[derive(Debug)]
pub(crate) struct Pending {
    /// As submitted; the keys are with the scheduler once it is ordered.
    pub call: Call,
    /// Grows.
    pub arrival: u64,
    pub stage: Stage,
    /// Repetitions of it.
    pub joined: Vec<CallId>,
    /// How often it lost a conflict.
    pub lost: u32,
    /// What it lost to, and should have seen.
    pub blocker: Option<u64>,
    pub cancelled: bool,
}

/// An attempt.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub call: CallId,
    pub replica: usize,
    pub interactive: bool,
    /// It only reads.
    pub reads: bool,
    pub prepared: bool,
    /// What its stream told.
    pub wrote: Option<(Lsn, Rows)>,
    /// It was stopped because it was in the way.
    pub killed: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub pending: BTreeMap<CallId, Pending>,
    pub attempts: BTreeMap<AttemptId, Attempt>,
    /// Repetitions, and what they repeat.
    pub joined: BTreeMap<CallId, CallId>,
    /// Whose the calls are that the scheduler knows.
    pub sessions: BTreeMap<CallId, SessionId>,
    /// Calls that only read, or are not ordered yet: the scheduler does not count them.
    pub outside: usize,
}

impl Calls {
    pub fn get(&self, call: CallId) -> &Pending {
        &self.pending[&call]
    }

    pub fn get_mut(&mut self, call: CallId) -> &mut Pending {
        self.pending.get_mut(&call).expect("the call is pending")
    }
}
