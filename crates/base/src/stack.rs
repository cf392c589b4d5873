//! Room on the stack for trees that nest deeply.
//!
//! Relies on: `stacker`, which goes on in memory of its own where a thread's stack has too little left.  Promises: who
//! takes room before going down a tree that is not deeper than the bounds below does not reach the end of a stack, on
//! whichever thread; where nothing deep has been seen, room is taken at the cost of one load.  Does not: bound the trees;
//! their makers do, and say here how deep one has become.
//!
//! ```text
//!   text ── parse ── tree of at most DEPTH_MAX ── plan ── expressions and plans of at most PLAN_DEPTH_MAX ── run
//!           room by its length      room for the deepest      room for the deepest that was planned so far
//! ```

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How deep the tree of a statement may be. What keeps a tree, and what throws it away, is made by the compiler and takes
/// no room: that many levels of it go onto any thread's stack.
pub const DEPTH_MAX: usize = 2_500;

/// How deep the plan of a statement may be, its expressions and what views give it included.
pub const PLAN_DEPTH_MAX: usize = 5_000;

/// Trees up to here go onto any thread's stack without room being taken.
const SHALLOW: usize = 48;

/// What a level may take when it is planned, or run. Builds without optimisation keep every value of a function apart.
const LEVEL_BYTES: usize = if cfg!(debug_assertions) {
    32 << 10
} else {
    8 << 10
};

/// What a level may take when it is read: the parser's nodes are of many kinds, and what reads one has room for each of
/// them. With little optimisation it takes 31 KiB; with more, which puts functions into one another, room is left for twice that.
const READING_BYTES: usize = if cfg!(debug_assertions) {
    36 << 10
} else {
    64 << 10
};

/// What is below and above the levels.
const AROUND_BYTES: usize = 512 << 10;

/// The depth of the deepest plan that there has been in this process, or 0 if none was deep.
static DEEPEST: AtomicUsize = AtomicUsize::new(0);

/// A plan is so deep: whoever runs one takes room for it from now on.
pub fn note_plan(depth: usize) {
    if depth > SHALLOW && depth > DEEPEST.load(Ordering::Relaxed) {
        // A plan reaches another thread behind something that orders this before it.
        DEEPEST.fetch_max(depth, Ordering::Relaxed);
    }
}

/// True if there has been a deep plan.
pub fn is_deep() -> bool {
    DEEPEST.load(Ordering::Relaxed) != 0
}

/// Runs `work`, which goes down a plan.
#[inline]
pub fn for_running<R>(work: impl FnOnce() -> R) -> R {
    match DEEPEST.load(Ordering::Relaxed) {
        0 => work(),
        depth => with_room(depth, work),
    }
}

/// Runs `work`, which makes plans.
pub fn for_planning<R>(work: impl FnOnce() -> R) -> R {
    with_room(PLAN_DEPTH_MAX, work)
}

/// Runs `work`, which reads a tree that is not deeper.
pub fn for_reading<R>(depth: usize, work: impl FnOnce() -> R) -> R {
    take(AROUND_BYTES + depth * READING_BYTES, work)
}

/// Runs `work`, which goes down a tree of that depth.
fn with_room<R>(depth: usize, work: impl FnOnce() -> R) -> R {
    take(AROUND_BYTES + depth * LEVEL_BYTES, work)
}

fn take<R>(bytes: usize, work: impl FnOnce() -> R) -> R {
    if stacker::remaining_stack().is_some_and(|left| left >= bytes) {
        return work();
    }
    if let Some(call) = LEAVING.get()
        && !HAS_LEFT.replace(true)
    {
        call();
    }
    // More than is asked for, so that who asks again soon need not move.
    stacker::grow(bytes + bytes / 2, work)
}

/// What is called on a thread before it first goes on elsewhere than on its own stack.
static LEAVING: OnceLock<fn()> = OnceLock::new();

thread_local! {
    static HAS_LEFT: Cell<bool> = const { Cell::new(false) };
}

/// From now on `call` is called on each thread before it first goes on elsewhere than on its own stack: for a library that
/// asks the system how large that is. The first one stays.
pub fn before_leaving(call: fn()) {
    LEAVING.get_or_init(|| call);
}
