//! What a scheduler is told of a call, and the numbers it is known by.
//!
//! Relies on: nothing.  Promises: plain data.  Does not: carry the procedure or its arguments; those stay
//! with the driver, by the call's number.

use quintet_base::conflict::ConflictKey;

/// A call, as the driver numbers it. Used again only when nothing of the earlier call is pending.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId(pub u64);

/// What runs calls: a replica, or a thread of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkerId(pub u32);

/// A place in the order in which calls that wrote have ended. Write sets are applied in this order; the
/// first is 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position(pub u64);

/// Whether a call writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// It reads a snapshot: it waits for nobody but those it names itself, and nobody waits for it.
    ReadOnly,
    /// It may write.
    Update,
}

/// When what a call wrote is seen, and when it is answered. Matters only where workers have copies of their
/// own ([`crate::Copies::PerWorker`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Guarantee {
    /// Parallel snapshot isolation: it commits where it ran as soon as it has run and is answered then; the
    /// other copies get its write set later, after those of the calls it came after.
    Causal,
    /// Snapshot isolation: every copy, its own among them, commits write sets in one order, and it is
    /// answered when all have.
    Total,
}

/// A call to be ordered and run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Submission {
    /// Its number.
    pub call: CallId,
    /// What it may touch.
    pub keys: Vec<ConflictKey>,
    /// Whether it writes.
    pub access: Access,
    /// When its effects are seen.
    pub guarantee: Guarantee,
    /// Calls that it comes after whatever its keys say, as the last one of the same client. Those that are
    /// not pending are over.
    pub after: Vec<CallId>,
    /// When it came: any number that grows. Of calls that may run on a worker the oldest is run first.
    pub arrival: u64,
    /// How long it will take compared with others; at least 1 is counted.
    pub cost: u32,
    /// It runs at this worker or not at all: while the worker is not there, it waits for it, or for
    /// [`crate::Event::Moved`].
    pub pinned: Option<WorkerId>,
}

impl Submission {
    /// A call that writes, costs as much as any other, arrived when its number says, and is answered as
    /// soon as it has run.
    pub fn new(call: CallId, keys: Vec<ConflictKey>) -> Submission {
        Submission {
            call,
            keys,
            access: Access::Update,
            guarantee: Guarantee::Causal,
            after: Vec::new(),
            arrival: call.0,
            cost: 1,
            pinned: None,
        }
    }
}
