//! Many orders of one test, and mistakes that the test must find.
//!
//! Relies on: a test that does the same when the same threads go on at the same points.  Promises: a
//! failure names the order that led to it.  Does not: try all orders; a test that passes has shown
//! nothing about those it did not see.
//!
//! Every second order is drawn at random at each point, which finds what needs many changes of
//! thread close together. The others have few changes at random places (probabilistic
//! concurrency testing: Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010), which finds what
//! needs one thread to stand still for long.
//!
//! ```text
//! INTERLEAVING_SEED=n       other orders than those of the seed that is printed
//! INTERLEAVING_FACTOR=n     n times as many
//! INTERLEAVING_REPLAY=...   the one order that a failure has printed (name one test)
//! ```

use shuttle::scheduler::{PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::cell::Cell;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Unless another one is asked for; so that what a planted mistake takes is known.
const SEED: u64 = 20_261_121;
/// Changes of thread, less one, in orders that have few of them.
const DEPTH: usize = 3;
/// More points than any run that ends has. Who spins for so long spins for ever.
const POINTS_MAX: usize = 400_000;
/// Debug builds put much on a stack.
const STACK_BYTES: usize = 256 << 10;

thread_local! {
    // All threads of a test are one thread of the system; other tests are others.
    static PLANTED: Cell<&'static str> = const { Cell::new("") };
}

/// Whether this mistake is to be made. A name that nobody asks for is never found.
pub fn planted(mistake: &str) -> bool {
    PLANTED.get() == mistake
}

/// Runs the body in so many orders; fails with the first that makes it fail.
pub fn explore(name: &str, orders: usize, body: fn()) {
    if let Ok(order) = std::env::var("INTERLEAVING_REPLAY") {
        // It is printed in lines.
        let order: String = order.split_whitespace().collect();
        return shuttle::replay(body, &order);
    }
    let orders = orders * variable("INTERLEAVING_FACTOR").unwrap_or(1) as usize;
    say(&format!("{name}: {orders} orders from seed {}", seed()));
    let most = Arc::new(AtomicUsize::new(0));
    let measured = {
        let most = Arc::clone(&most);
        move || {
            body();
            most.fetch_max(shuttle::current::context_switches(), Ordering::Relaxed);
        }
    };
    run(orders, FailurePersistence::Print, measured);
    let most = most.load(Ordering::Relaxed);
    say(&format!("{name}: the longest had {most} points"));
}

/// Runs the body with a mistake planted; fails unless one of so many orders makes it fail.
pub fn finds(mistake: &'static str, within: usize, body: fn()) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = {
        let runs = Arc::clone(&runs);
        move || {
            runs.fetch_add(1, Ordering::Relaxed);
            body();
        }
    };
    PLANTED.set(mistake);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        run(within, FailurePersistence::None, counted);
    }));
    PLANTED.set("");
    let runs = runs.load(Ordering::Relaxed);
    assert!(outcome.is_err(), "not found in {runs} orders: {mistake}");
    say(&format!("found in order {runs} of {within}: {mistake}"));
}

fn run(
    orders: usize,
    failure_persistence: FailurePersistence,
    body: impl Fn() + Send + Sync + 'static,
) {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config.max_steps = MaxSteps::FailAfter(POINTS_MAX);
    config.silence_warnings = true;
    config.failure_persistence = failure_persistence;
    let schedulers = InTurn {
        random: RandomScheduler::new_from_seed(seed(), orders.div_ceil(2)),
        few: PctScheduler::new_from_seed(seed(), DEPTH, usize::MAX),
        run: 0,
        runs: orders,
    };
    Runner::new(schedulers, config).run(body);
}

/// One order at random, one with few changes, and so on.
struct InTurn {
    random: RandomScheduler,
    few: PctScheduler,
    run: usize,
    runs: usize,
}

impl InTurn {
    fn current(&mut self) -> &mut dyn Scheduler {
        match self.run % 2 {
            0 => &mut self.few,
            _ => &mut self.random,
        }
    }
}

impl Scheduler for InTurn {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.run == self.runs {
            // Tells it that there was no failure.
            return self.random.new_execution();
        }
        self.run += 1;
        self.current().new_execution()
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        self.current().next_task(runnable, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.current().next_u64()
    }
}

fn seed() -> u64 {
    variable("INTERLEAVING_SEED").unwrap_or(SEED)
}

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
    )
}

/// Past the harness, which keeps what a test that passes has printed to itself.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
