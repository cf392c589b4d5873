//! What a simulation may see and disturb: points inside of operations, and mistakes made on purpose.
//!
//! Relies on: one thread that drives everything.  Promises: without the feature `sim` nothing of this
//! is in the program but functions that do nothing.  Does not: drive; whoever sets the hook does.
//!
//! A point is a place where other threads could run. The hook is called there, on the same thread, and
//! may use the component as they would, as long as it waits for nothing that the interrupted
//! operation has to do first; each point says what that is.

/// A place inside of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Point {
    /// A commit has locked its entries and has no timestamp. Those entries must not be compacted, and
    /// nobody may commit to its keys, lock their rows or wait for the epoch.
    Locked,
    /// A commit has the timestamp and has not validated yet. As above; besides, nobody may read its keys
    /// at or above the timestamp, validate them, or write the log.
    Placed(quintet_base::Timestamp),
    /// A read has found nothing in memory and will ask a generation.
    Missed,
    /// A read has a record of a generation and is about to remember it in memory.
    Fetched,
    /// A scan has read a chunk of memory and will look where the rest is.
    Chunk,
    /// A pass has named the position up to which it merges. No other pass may run, here and below.
    Frozen,
    /// A pass has merged one space.
    Merged,
    /// STORE has the checkpoint, the generation is not published yet.
    Checkpointed,
    /// The generation is published, the log is not cut yet.
    Published,
    /// The snapshots in use have been counted; from here on there may be more.
    Counted,
    /// Versions were copied out of some buffers that are not reclaimed yet.
    Copied,
    /// The pass is over but for evictions.
    Reclaimed,
}

/// A mistake that the simulation must find.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Planted {
    /// STORE is told what the log does not hold durably.
    PostEarly,
    /// Ranges that were scanned are not validated.
    ForgetRanges,
    /// Whether a space that was read has been dropped since is not asked.
    ForgetSpaces,
    /// Keys that were read are not validated.
    ForgetKeys,
    /// A writer above READ COMMITTED does not look whether somebody else committed first.
    LastCommitterWins,
    /// A snapshot reads a little above the log's end.
    LateSnapshot,
    /// Records go that a generation in use does not have.
    EvictEarly,
    /// Buffers are given back with versions in them.
    ReclaimEarly,
    /// Versions go that the oldest snapshot does not read, although another one does.
    ForgetReaders,
    /// What was fetched from a generation is remembered although the table has moved on.
    FillLate,
    /// Warming takes in what it has read although the table has moved on: over a change, or a removal, that
    /// was evicted meanwhile.
    TakeInStale,
    /// The first change of a record since a freeze is not marked unless nothing was there before.
    MarkNewOnly,
    /// A removed record leaves although a snapshot reads what was there before.
    TakeAwayEarly,
    /// A removed record leaves before its removal is durable: whoever finds nothing does not wait for it.
    TakeAwayVolatile,
    /// A removed record leaves, and STORE is not told, although STORE has it.
    ForgetStored,
    /// A commit writes to a record that has left the order, and does not put it back.
    LeaveUnlisted,
    /// What comes out of STORE is not looked for in the table although the order lacks records.
    TrustOrder,
    /// A space is called whole although the last record that STORE has of it was not taken in.
    WholeEarly,
    /// A space is called whole although something has left it since its warming began.
    RegainBlindly,
    /// A space is called whole while snapshots are in use that are older than its warming.
    RegainSoon,
    /// A space is called whole although something has gone past memory.
    KeepWhole,
}

#[cfg(feature = "sim")]
mod driven {
    use super::{Planted, Point};
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    type Hook = Rc<dyn Fn(Point)>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
        static PLANTED: Cell<Option<Planted>> = const { Cell::new(None) };
    }

    /// Calls `hook` at every point that this thread comes to. `None`: no more.
    pub fn set_hook(hook: Option<Hook>) {
        HOOK.set(hook);
    }

    /// Makes a mistake wherever this thread comes to its place.
    pub fn plant(planted: Option<Planted>) {
        PLANTED.set(planted);
    }

    pub(crate) fn at(point: Point) {
        let hook = HOOK.with_borrow(Clone::clone);
        if let Some(hook) = hook {
            hook(point);
        }
    }

    pub(crate) fn plants(mistake: Planted) -> bool {
        PLANTED.get() == Some(mistake)
    }
}

#[cfg(feature = "sim")]
pub(crate) use driven::{at, plants};
#[cfg(feature = "sim")]
pub use driven::{plant, set_hook};

#[cfg(not(feature = "sim"))]
#[inline(always)]
pub(crate) fn at(_point: Point) {}

#[cfg(not(feature = "sim"))]
#[inline(always)]
pub(crate) fn plants(_mistake: Planted) -> bool {
    false
}
