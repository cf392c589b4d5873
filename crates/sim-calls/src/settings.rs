//! What to simulate.
//!
//! Relies on: `draw`, `arrivals`.  Promises: defaults are the thesis's Table 5.1; impossible settings are
//! refused before anything runs.  Does not: choose the workload's calls; a [`crate::Source`] brings them.

use crate::arrivals::Pattern;
use crate::draw::Spread;
use serde::Serialize;

/// Who decides where and when a call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Calls that may conflict run one after another: the scheduler of `chain`.
    Chains,
    /// The same scheduler, told that all calls that write conflict: one writer, readers anywhere.
    Centralised,
    /// Workers in turn; certification at the end, first committer wins, losers run again.
    RoundRobin,
    /// Workers grouped by what fits into their memory; certification, too.
    Tashkent,
}

impl Policy {
    /// All of them.
    pub const ALL: [Policy; 4] = [
        Policy::Chains,
        Policy::Centralised,
        Policy::RoundRobin,
        Policy::Tashkent,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Chains => "chains",
            Policy::Centralised => "centralised",
            Policy::RoundRobin => "round-robin",
            Policy::Tashkent => "tashkent",
        }
    }

    /// The policy of a name.
    pub fn parse(name: &str) -> Option<Policy> {
        Policy::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// How many workers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workers {
    /// So many, for the whole run; with several sites so many at each.
    Bounded(u32),
    /// As many as are wanted, at once.
    Unbounded,
}

impl Workers {
    /// The bound of a single site.
    pub fn bound(self) -> Option<u32> {
        match self {
            Workers::Bounded(workers) => Some(workers),
            Workers::Unbounded => None,
        }
    }
}

/// Which worker of a site runs a call, under chains at one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The one that the scheduler gave its chain to, as in the thesis: workers join one by one.
    Chain,
    /// Any that is free: workers are the slots of one, which is right where they share a copy.
    Any,
}

/// When a call that lost its certification is run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Again {
    /// At once, where it ran.
    AtOnce,
    /// As if it had just come: behind those that wait.
    AtTheBack,
}

/// When a call may begin that comes after another, with several sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Begin {
    /// When the other is committed.
    Committed,
    /// When the other has run at the same site, though sites may not agree on its place yet: if it loses its
    /// place, this one has run for nothing.
    Executed,
}

/// At which of several sites a call is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunAt {
    /// Each where it came in.
    Home,
    /// Where its chain is run, as in the thesis.
    Chain,
}

/// How long messages and the rest take that is not in a call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Delays {
    /// Scheduler to worker and back; also a certifier's broadcast within a site.
    pub site_worker: Spread,
    /// One site to another.
    pub inter_site: Spread,
    /// Sites agree on a call's place.
    pub consensus: Spread,
    /// Replicas agree on the place of a certificate among all, besides the broadcast.
    pub certify: Spread,
    /// One worker takes over the write set of another.
    pub apply: Spread,
    /// Run-time keys are read before a call is scheduled.
    pub look_up: Spread,
}

/// What Table 5.1 says of messages between sites.
const INTER_SITE: Spread = Spread {
    ms: 60.0,
    variance: 0.005,
};
/// And of agreement: three messages' time.
const CONSENSUS: Spread = Spread {
    ms: 180.0,
    variance: 0.01,
};

impl Delays {
    /// Table 5.1. It has no look-ups: two reads by primary key are a millisecond here, of which most is the
    /// way to the worker and back.
    pub const TABLE: Delays = Delays {
        site_worker: Spread {
            ms: 0.06,
            variance: 0.005,
        },
        inter_site: INTER_SITE,
        consensus: CONSENSUS,
        certify: Spread::fixed(0.0),
        apply: Spread::fixed(0.0),
        look_up: Spread::fixed(1.0),
    };

    /// The same with certificates that sites agree on for so long.
    pub fn with_certify_ms(self, ms: f64) -> Delays {
        Delays {
            certify: CONSENSUS.about(ms),
            ..self
        }
    }

    /// The same with sites so far apart; agreement keeps to three messages.
    pub fn with_latency_ms(self, ms: f64) -> Delays {
        Delays {
            inter_site: INTER_SITE.about(ms),
            consensus: CONSENSUS.about(3.0 * ms),
            ..self
        }
    }
}

/// One simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Who schedules.
    pub policy: Policy,
    /// Calls per second, of all sites together.
    pub rate: f64,
    /// How they come.
    pub pattern: Pattern,
    /// How many come.
    pub calls: u64,
    /// At each site.
    pub workers: Workers,
    /// Under chains at one site.
    pub placement: Placement,
    /// Calls' durations vary this many times as much as Table 5.1 says; 0: not at all.
    pub spread: f64,
    /// Sites, each with a scheduler; calls come to them evenly.
    pub sites: u32,
    /// Messages and the like.
    pub delays: Delays,
    /// Under certification.
    pub again: Again,
    /// With several sites.
    pub begin: Begin,
    /// With several sites.
    pub run_at: RunAt,
    /// Under Tashkent+ a run takes this share of its time: less waiting for disks.
    pub in_memory: f64,
    /// Length of the intervals that curves over time are made of.
    pub interval_ms: f64,
    /// Decides everything that is drawn.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            policy: Policy::Chains,
            rate: 150.0,
            pattern: Pattern::Poisson,
            calls: 4200,
            workers: Workers::Bounded(100),
            placement: Placement::Chain,
            spread: 1.0,
            sites: 1,
            delays: Delays::TABLE,
            again: Again::AtOnce,
            begin: Begin::Committed,
            run_at: RunAt::Chain,
            in_memory: 0.9,
            interval_ms: 1000.0,
            seed: 42,
        }
    }
}

/// Settings that cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A figure is not what it must be.
    #[error("{what} must be {must}")]
    Range {
        /// Which figure.
        what: &'static str,
        /// What it must be.
        must: &'static str,
    },
    /// Sites have schedulers of chains only.
    #[error("several sites are simulated with chains only, not with {}", .0.name())]
    Sites(Policy),
    /// Only workers that share a copy are alike.
    #[error("with write sets that take time to apply, calls run where their chain is")]
    Placement,
    /// The scheduler refused a call.
    #[error("the scheduler refused call {0}")]
    Refused(u64),
}

impl Settings {
    /// # Errors
    /// If these settings cannot be simulated.
    pub fn check(&self) -> Result<(), Error> {
        let range = |holds: bool, what, must| match holds {
            true => Ok(()),
            false => Err(Error::Range { what, must }),
        };
        let positive = |figure: f64| figure.is_finite() && figure > 0.0;
        range(positive(self.rate), "the rate", "above 0")?;
        range(self.calls > 0, "the number of calls", "above 0")?;
        let workers = self.workers.bound();
        range(workers != Some(0), "the number of workers", "above 0")?;
        range(
            (1..=64).contains(&self.sites),
            "the number of sites",
            "1 to 64",
        )?;
        let spread = self.spread.is_finite() && self.spread >= 0.0;
        range(spread, "the spread", "0 or more")?;
        range(positive(self.in_memory), "the share in memory", "above 0")?;
        range(positive(self.interval_ms), "the interval", "above 0")?;
        if self.placement == Placement::Any && self.delays.apply.ms > 0.0 {
            return Err(Error::Placement);
        }
        match self.sites > 1 && self.policy != Policy::Chains {
            true => Err(Error::Sites(self.policy)),
            false => Ok(()),
        }
    }
}
