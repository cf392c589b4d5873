//! What an operator decides about a scheduler.
//!
//! Relies on: bounds of `base::limits`.  Promises: plain data.  Does not: change while calls are pending
//! ([`crate::Scheduler::set_modes`]).

use quintet_base::conflict::Modes;
use quintet_base::limits::PENDING_CALLS_MAX;

/// Whether workers share the data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Copies {
    /// All work on one copy: what one has executed all see.
    One,
    /// Each has its own, and write sets travel.
    PerWorker,
}

/// Which of the calls that have no place yet is given one next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// The one that came first, as soon as it comes.
    Arrival,
    /// Of the oldest so many, the one that keeps the time until all that have a place are done shortest: one
    /// that conflicts with little that is pending goes before one that would have to wait. Calls get their
    /// places late, when workers are about to need them, and nobody is passed over more often than so many
    /// times (R-SMF: Cheng, Kabra and others, "Towards optimal transaction scheduling", VLDB 2024).
    ShortestMakespan {
        /// How many are compared.
        sample: usize,
    },
    /// Of the oldest so many, the oldest that can begin at once: that meets no call with a place but those whose
    /// effects are at some worker that has a slot free. So nobody waits for a call that waits itself, and a call is run
    /// wherever it can begin first.
    Soonest {
        /// How many are looked at.
        sample: usize,
        /// When the oldest was passed over so often, those that meet it have to wait for it.
        passed_over_max: usize,
    },
}

/// How a scheduler is set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Which modes of each space conflict.
    pub modes: Modes,
    /// Whether workers share the data.
    pub copies: Copies,
    /// In which order calls get their places.
    pub order: Order,
    /// Calls that may be pending; one more is refused.
    pub pending_max: usize,
}

impl Config {
    /// One copy of the data, order of arrival, the usual bound.
    pub fn new(modes: Modes) -> Config {
        Config {
            modes,
            copies: Copies::One,
            order: Order::Arrival,
            pending_max: PENDING_CALLS_MAX,
        }
    }
}
