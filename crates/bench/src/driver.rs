//! Closed-loop driver: every thread runs one transaction after the other.
//!
//! Relies on: `rt` threads and clock.  Promises: a transaction counts if it *ended* inside the
//! measured interval; its latency is from the end of the one before it on the same thread, so the
//! generator's own time is included (it is far below a microsecond).  Does not: pace arrivals; use an open-loop
//! generator to learn what happens beyond saturation.
//!
//! ```text
//!   Warming ──warm-up over──► Measuring ──interval over──► Stopped
//!      │ ends are not counted     │ ends are counted           │ threads answer and end
//! ```
//! The phase is written by the calling thread alone and read by all, once per transaction.
//!
//! Hot path: no lock and no shared write in the loop of a thread.

use crate::Error;
use crate::target::{Client, Counters, Outcome, Target};
use hdrhistogram::Histogram;
use quintet_rt::Clock;
use quintet_rt::threads::JoinHandle;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// How a run is carried out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunConfig {
    /// Clients, each on its own thread.
    pub threads: u32,
    /// Seconds before figures are taken.
    pub warmup_seconds: f64,
    /// Seconds that are measured.
    pub seconds: f64,
}

impl Default for RunConfig {
    fn default() -> RunConfig {
        RunConfig {
            threads: 2,
            warmup_seconds: 2.0,
            seconds: 10.0,
        }
    }
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Length of the measured interval.
    pub seconds: f64,
    /// Transactions that committed in it.
    pub committed: u64,
    /// Transactions that lost a conflict in it.
    pub aborted: u64,
    /// Latency of the committed ones, in nanoseconds.
    pub latency: Histogram<u64>,
    /// What the log did in it.
    pub log: Counters,
}

const WARMING: u8 = 0;
const MEASURING: u8 = 1;
const STOPPED: u8 = 2;

/// Latencies above a minute are recorded as a minute.
const LATENCY_MAX_NS: u64 = 60_000_000_000;

/// Significant decimal digits of a recorded latency.
const LATENCY_DIGITS: u8 = 3;

/// How often the calling thread looks whether a client failed.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the target's clients for a while and gathers what they did.
///
/// # Errors
/// The first client's error that is not a conflict; all clients have ended by then.
pub fn run<T: Target>(
    target: &T,
    config: RunConfig,
    clock: Arc<dyn Clock>,
) -> Result<Figures, Error> {
    assert!(config.threads > 0, "a run needs a client");
    let phase = Arc::new(AtomicU8::new(WARMING));
    let mut threads = Vec::new();
    for number in 0..config.threads {
        let worker = Worker::new(
            target.client(number),
            Arc::clone(&phase),
            Arc::clone(&clock),
        );
        threads.push(quintet_rt::threads::spawn(
            &format!("client-{number}"),
            move || worker.run(),
        ));
    }
    let failed = || threads.iter().any(JoinHandle::is_finished);
    pause(&*clock, config.warmup_seconds, failed);
    let (before, began) = (target.counters(), clock.monotonic_nanos());
    phase.store(MEASURING, Ordering::SeqCst);
    pause(&*clock, config.seconds, failed);
    phase.store(STOPPED, Ordering::SeqCst);
    let (after, ended) = (target.counters(), clock.monotonic_nanos());
    let mut sum = Tally::new();
    let mut first_error = None;
    for thread in threads {
        match thread.join().map_err(|_| Error::ClientPanicked) {
            Ok(Ok(tally)) => sum.add(&tally),
            Ok(Err(error)) | Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    if let Some(error) = first_error {
        return Err(error);
    }
    Ok(Figures {
        seconds: (ended - began) as f64 / 1e9,
        committed: sum.committed,
        aborted: sum.aborted,
        latency: sum.latency,
        log: Counters {
            log_bytes: after.log_bytes - before.log_bytes,
            syncs: after.syncs - before.syncs,
        },
    })
}

/// Lets time pass until it is over or `stop` says so.
fn pause(clock: &dyn Clock, seconds: f64, stop: impl Fn() -> bool) {
    let length = (seconds * 1e9) as u64;
    let began = clock.monotonic_nanos();
    loop {
        let left = length.saturating_sub(clock.monotonic_nanos() - began);
        if left == 0 || stop() {
            return;
        }
        clock.sleep(LOOK.min(Duration::from_nanos(left)));
    }
}

/// What one thread counted.
struct Tally {
    committed: u64,
    aborted: u64,
    latency: Histogram<u64>,
}

impl Tally {
    fn new() -> Tally {
        let latency = Histogram::new_with_bounds(1, LATENCY_MAX_NS, LATENCY_DIGITS)
            .expect("the bounds are constants that fit");
        Tally {
            committed: 0,
            aborted: 0,
            latency,
        }
    }

    fn add(&mut self, other: &Tally) {
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.latency
            .add(&other.latency)
            .expect("all tallies have the same bounds");
    }
}

struct Worker<C> {
    client: C,
    phase: Arc<AtomicU8>,
    clock: Arc<dyn Clock>,
}

impl<C: Client> Worker<C> {
    fn new(client: C, phase: Arc<AtomicU8>, clock: Arc<dyn Clock>) -> Worker<C> {
        Worker {
            client,
            phase,
            clock,
        }
    }

    fn run(mut self) -> Result<Tally, Error> {
        let mut tally = Tally::new();
        let mut began = self.clock.monotonic_nanos();
        loop {
            let outcome = self.client.transaction()?;
            let ended = self.clock.monotonic_nanos();
            // Relaxed would do: nothing is read that the phase guards.
            match self.phase.load(Ordering::Relaxed) {
                WARMING => {}
                MEASURING => match outcome {
                    Outcome::Committed => {
                        tally.committed += 1;
                        tally.latency.saturating_record((ended - began).max(1));
                    }
                    Outcome::Aborted => tally.aborted += 1,
                },
                _ => return Ok(tally),
            }
            began = ended;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_rt::RealClock;
    use std::sync::atomic::AtomicU64;

    /// Clients that take a millisecond; every fourth transaction of theirs loses.
    struct Slow {
        calls: Arc<AtomicU64>,
        fail_at: Option<u64>,
    }

    struct SlowClient {
        calls: Arc<AtomicU64>,
        fail_at: Option<u64>,
        own: u64,
    }

    impl Target for Slow {
        type Client = SlowClient;

        fn client(&self, _: u32) -> SlowClient {
            SlowClient {
                calls: Arc::clone(&self.calls),
                fail_at: self.fail_at,
                own: 0,
            }
        }

        fn counters(&self) -> Counters {
            let calls = self.calls.load(Ordering::SeqCst);
            Counters {
                log_bytes: 100 * calls,
                syncs: calls,
            }
        }
    }

    impl Client for SlowClient {
        fn transaction(&mut self) -> Result<Outcome, Error> {
            RealClock.sleep(Duration::from_millis(1));
            self.calls.fetch_add(1, Ordering::SeqCst);
            self.own += 1;
            if self.fail_at == Some(self.own) {
                return Err(Error::ClientPanicked);
            }
            Ok(if self.own.is_multiple_of(4) {
                Outcome::Aborted
            } else {
                Outcome::Committed
            })
        }
    }

    fn slow(fail_at: Option<u64>) -> Slow {
        Slow {
            calls: Arc::default(),
            fail_at,
        }
    }

    const CONFIG: RunConfig = RunConfig {
        threads: 2,
        warmup_seconds: 0.2,
        seconds: 0.4,
    };

    // The sleeping client cannot be faster than 1000 a second and thread; how much slower depends
    // on the machine, so only the upper bound and the proportions are checked.
    #[test]
    fn only_the_measured_interval_counts() {
        let target = slow(None);
        let figures = run(&target, CONFIG, Arc::new(RealClock)).unwrap();
        let all = target.calls.load(Ordering::SeqCst);
        let counted = figures.committed + figures.aborted;
        assert!(counted > 0 && counted < all, "{counted} of {all}");
        assert!(figures.committed as f64 <= 2.0 * 1000.0 * figures.seconds);
        assert_eq!(figures.latency.len(), figures.committed);
        assert!(
            figures.latency.min() >= 990_000,
            "{}",
            figures.latency.min()
        );
        let share = figures.aborted as f64 / counted as f64;
        assert!((share - 0.25).abs() < 0.05, "{share}");
        assert_eq!(figures.log.log_bytes, 100 * figures.log.syncs);
        assert!(figures.log.syncs.abs_diff(counted) <= 4);
    }

    #[test]
    fn a_failing_client_ends_the_run_early() {
        let long = RunConfig {
            seconds: 3600.0,
            ..CONFIG
        };
        assert!(run(&slow(Some(3)), long, Arc::new(RealClock)).is_err());
    }
}
