//! Calls as they come: from the workload, at the rate asked for, with their durations.
//!
//! Relies on: `arrivals`, `plan`.  Promises: with one seed every policy meets the same calls at the same
//! moments with the same durations.  Does not: know where they go.

use crate::arrivals::Arrivals;
use crate::draw::Spread;
use crate::plan::{Plan, Source};
use crate::settings::Settings;
use crate::time::Nanos;
use quintet_rt::Rand;

/// Streams of one seed that have nothing to do with each other.
const ARRIVALS: u64 = 0x5a11_0001;
const DURATIONS: u64 = 0x5a11_0002;
const MESSAGES: u64 = 0x5a11_0003;

/// The calls of a run.
pub(crate) struct Feed {
    source: Box<dyn Source>,
    arrivals: Arrivals,
    durations: Rand,
    /// How much more durations vary than the workload says.
    spread: f64,
    /// The number of the next call.
    next: u64,
}

/// A call that came.
pub(crate) struct Came {
    pub(crate) call: u64,
    pub(crate) plan: Plan,
    /// How long its run takes.
    pub(crate) work: Nanos,
    /// It may write.
    pub(crate) writes: bool,
}

impl Feed {
    pub(crate) fn new(settings: &Settings, source: Box<dyn Source>) -> Feed {
        let Settings {
            pattern,
            rate,
            calls,
            seed,
            spread,
            ..
        } = *settings;
        Feed {
            source,
            arrivals: Arrivals::new(pattern, rate, calls, seed ^ ARRIVALS),
            durations: Rand::seeded(seed ^ DURATIONS),
            spread,
            next: 0,
        }
    }

    /// The generator for how long messages take.
    pub(crate) fn messages(settings: &Settings) -> Rand {
        Rand::seeded(settings.seed ^ MESSAGES)
    }

    pub(crate) fn source(&self) -> &dyn Source {
        self.source.as_ref()
    }

    /// How long until the next call; nothing after the last.
    pub(crate) fn gap(&mut self) -> Option<Nanos> {
        self.arrivals.gap()
    }

    /// The next call.
    pub(crate) fn take(&mut self) -> Came {
        let call = self.next;
        self.next += 1;
        let plan = self.source.next_plan();
        let kind = &self.source.kinds()[plan.kind];
        let writes = kind.writes;
        let duration = Spread {
            variance: kind.duration.variance * self.spread,
            ..kind.duration
        };
        let work = duration.draw(&mut self.durations);
        Came {
            call,
            plan,
            work,
            writes,
        }
    }
}
