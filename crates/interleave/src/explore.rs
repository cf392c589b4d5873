//! Many orders of one test, and mistakes that the test must find.
//!
//! Relies on: a test that does the same when the same threads go on at the same points.  Promises: a
//! failure names the order that led to it.  Does not: try all orders; a test that passes has shown
//! nothing about those it did not see.
//!
//! Half of the orders are drawn at random at each point, which finds what needs many changes of
//! thread close together. The other half have few changes at random places (probabilistic
//! concurrency testing: Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010), which finds what
//! needs one thread to stand still for long.
//!
//! ```text
//! INTERLEAVING_SEED=n       other orders than those of the seed that is printed
//! INTERLEAVING_FACTOR=n     n times as many
//! INTERLEAVING_REPLAY=...   the one order that a failure has printed (name one test)
//! ```

use shuttle::scheduler::{PctScheduler, RandomScheduler};
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
        return shuttle::replay(body, &order);
    }
    let orders = orders * variable("INTERLEAVING_FACTOR").unwrap_or(1) as usize;
    say(&format!("{name}: {orders} orders from seed {}", seed()));
    run(orders, FailurePersistence::Print, body);
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
    let body = Arc::new(body);
    let again = Arc::clone(&body);
    let few = orders / 2;
    let random = RandomScheduler::new_from_seed(seed(), orders - few);
    Runner::new(random, config.clone()).run(move || body());
    let pct = PctScheduler::new_from_seed(seed(), DEPTH, few);
    Runner::new(pct, config).run(move || again());
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
