//! Seeded simulation of the storage engine: log, transactions and store on one thread, with crashes.
//!
//! Relies on: `wal` and `tc` opened without threads; `rt`'s simulated disk.  Promises: a seed is a run;
//! the same seed gives the same events, twice in a process and in two processes.  Does not: run two
//! things at once: what only shows when instructions interleave is for the crates' own race tests.
//!
//! What is simulated, what is checked, and what is left out: `docs/simulation.md`.
//!
//! | file | what it holds |
//! |---|---|
//! | `world` | who acts next |
//! | `inside` | who may act in the middle of what |
//! | `statement`, `commit` | what clients do, compared with the model |
//! | `lives` | crashes, openings, and what must be there afterwards |
//! | `spaces` | schema changes |
//! | `model` | what the database should hold |
//! | `profile` | what kind of work a seed means |
//! | `machine`, `disk`, `store` | what survives, and how it fails |
//! | `client` | an open transaction |
//! | `trace` | what happened |

mod client;
mod commit;
mod disk;
mod inside;
mod lives;
mod machine;
mod model;
mod profile;
mod spaces;
mod statement;
mod store;
mod trace;
mod world;

use std::fmt;
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use world::World;

/// Lines of the trace that a failure shows.
const LINES: usize = 60;

/// A mistake made on purpose, which the simulation must find. All but the first need the feature
/// `inside`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// The disk says that it has synced and has not.
    SkipSync,
    /// One of the transaction component's.
    Tc(quintet_tc::sim::Planted),
}

/// How often rare things happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Seen {
    pub commits: u64,
    pub readers: u64,
    pub answered: u64,
    pub write_conflicts: u64,
    pub read_conflicts: u64,
    pub phantoms: u64,
    pub deadlocks: u64,
    pub blocked: u64,
    pub too_old: u64,
    pub too_large: u64,
    pub no_room: u64,
    pub log_refusals: u64,
    pub passes: u64,
    pub failed_passes: u64,
    pub posts: u64,
    pub reclaims: u64,
    pub evictions: u64,
    pub generations_kept: u64,
    pub inside: u64,
    pub power_losses: u64,
    pub kills: u64,
    pub shutdowns: u64,
    pub cut_short: u64,
    pub lost: u64,
    pub replaced: u64,
    pub schema_conflicts: u64,
    pub warmed: u64,
    pub made_whole: u64,
    pub past_memory: u64,
}

impl Seen {
    /// All counters with their names.
    pub fn counters(&self) -> [(&'static str, u64); 29] {
        [
            ("commits", self.commits),
            ("readers", self.readers),
            ("answered", self.answered),
            ("write_conflicts", self.write_conflicts),
            ("read_conflicts", self.read_conflicts),
            ("phantoms", self.phantoms),
            ("deadlocks", self.deadlocks),
            ("blocked", self.blocked),
            ("too_old", self.too_old),
            ("too_large", self.too_large),
            ("no_room", self.no_room),
            ("log_refusals", self.log_refusals),
            ("passes", self.passes),
            ("failed_passes", self.failed_passes),
            ("posts", self.posts),
            ("reclaims", self.reclaims),
            ("evictions", self.evictions),
            ("generations_kept", self.generations_kept),
            ("inside", self.inside),
            ("power_losses", self.power_losses),
            ("kills", self.kills),
            ("shutdowns", self.shutdowns),
            ("cut_short", self.cut_short),
            ("lost", self.lost),
            ("replaced", self.replaced),
            ("schema_conflicts", self.schema_conflicts),
            ("warmed", self.warmed),
            ("made_whole", self.made_whole),
            ("past_memory", self.past_memory),
        ]
    }
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Seen) {
        self.commits += other.commits;
        self.readers += other.readers;
        self.answered += other.answered;
        self.write_conflicts += other.write_conflicts;
        self.read_conflicts += other.read_conflicts;
        self.phantoms += other.phantoms;
        self.deadlocks += other.deadlocks;
        self.blocked += other.blocked;
        self.too_old += other.too_old;
        self.too_large += other.too_large;
        self.no_room += other.no_room;
        self.log_refusals += other.log_refusals;
        self.passes += other.passes;
        self.failed_passes += other.failed_passes;
        self.posts += other.posts;
        self.reclaims += other.reclaims;
        self.evictions += other.evictions;
        self.generations_kept += other.generations_kept;
        self.inside += other.inside;
        self.power_losses += other.power_losses;
        self.kills += other.kills;
        self.shutdowns += other.shutdowns;
        self.cut_short += other.cut_short;
        self.lost += other.lost;
        self.replaced += other.replaced;
        self.schema_conflicts += other.schema_conflicts;
        self.warmed += other.warmed;
        self.made_whole += other.made_whole;
        self.past_memory += other.past_memory;
    }
}

/// What a run was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// What it ran.
    pub seed: u64,
    /// Of all its events.
    pub hash: u64,
    /// How many there were.
    pub events: u64,
    /// What it came across.
    pub seen: Seen,
    /// What was wrong, if anything was.
    pub failure: Option<String>,
    /// The trace's last lines, if they were asked for.
    pub lines: Vec<String>,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        let outcome = self.failure.as_deref().unwrap_or("all well");
        write!(
            f,
            "seed {}, {} events, hash {:016x}: {outcome}",
            self.seed, self.events, self.hash
        )
    }
}

/// Runs a seed, and once more to tell what happened if it fails.
pub fn run(seed: u64, mistake: Option<Mistake>) -> Run {
    let run = run_once(seed, mistake, 0);
    match run.failure {
        None => run,
        Some(_) => run_once(seed, mistake, LINES),
    }
}

/// Runs a seed and keeps the last `lines` lines of its trace.
pub fn run_once(seed: u64, mistake: Option<Mistake>, lines: usize) -> Run {
    let world = Rc::new(World::new(seed, mistake, lines));
    let hooked = Hooked::new(&world);
    let outcome = catch_unwind(AssertUnwindSafe(|| world.run()));
    drop(hooked);
    let failure = match outcome {
        Ok(outcome) => outcome.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into()));
            Some(format!("panicked: {}", text.unwrap_or_default()))
        }
    };
    let mut trace = world.trace.borrow_mut();
    Run {
        seed,
        hash: trace.hash(),
        events: trace.events(),
        seen: *world.seen.borrow(),
        failure,
        lines: trace.take_lines(),
    }
}

/// While it lives, operations of this thread call the world at their points.
struct Hooked;

impl Hooked {
    #[cfg(feature = "inside")]
    fn new(world: &Rc<World>) -> Hooked {
        let weak = Rc::downgrade(world);
        quintet_tc::sim::set_hook(Some(Rc::new(move |point| {
            if let Some(world) = weak.upgrade() {
                world.inside(point);
            }
        })));
        quintet_tc::sim::plant(match world.mistake {
            Some(Mistake::Tc(planted)) => Some(planted),
            _ => None,
        });
        Hooked
    }

    #[cfg(not(feature = "inside"))]
    fn new(world: &Rc<World>) -> Hooked {
        assert!(
            !matches!(world.mistake, Some(Mistake::Tc(_))),
            "built without the mistakes: feature `inside`"
        );
        Hooked
    }
}

impl Drop for Hooked {
    fn drop(&mut self) {
        #[cfg(feature = "inside")]
        {
            quintet_tc::sim::set_hook(None);
            quintet_tc::sim::plant(None);
        }
    }
}
