//! The driver: threads, warm-up, measurement.
//!
//! Relies on: `worker` for what a thread does, `rt` for the clock.  Promises: a transaction counts if
//! it was *answered* inside the measured interval.  Does not: know what a transaction is.
//!
//! ```text
//!   Warming ──warm-up over──► Measuring ──interval over──► Stopped
//!      │ ends are not counted     │ ends are counted           │ threads end
//! ```
//! The phase is written by the calling thread alone and read by all, once per transaction.

use crate::Error;
use crate::calls::CallTotals;
use crate::live::{Board, Teller};
use crate::pace::Pace;
use crate::stage::Second;
use crate::target::{Compaction, Counters, Target};
use crate::timeline::{Seen, Slice, Timeline, Watch};
use crate::worker::{Tally, Worker};
use hdrhistogram::Histogram;
use quintet_rt::{Clock, threads};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

/// How a run is carried out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunConfig {
    /// Clients, each on its own thread.
    pub threads: u32,
    /// Commits that a client leaves unanswered at most; with 1 it waits for each.
    pub outstanding: u32,
    /// Transactions that all clients together begin per second; `None`: as many as they can.
    pub rate: Option<f64>,
    /// Length of the intervals that are told apart, in seconds; `None`: none are.
    pub timeline_seconds: Option<f64>,
    /// Seconds before figures are taken.
    pub warmup_seconds: f64,
    /// Seconds that are measured.
    pub seconds: f64,
}

impl Default for RunConfig {
    fn default() -> RunConfig {
        RunConfig {
            threads: 2,
            outstanding: 1,
            rate: None,
            timeline_seconds: None,
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
    /// Transactions that were answered in it.
    pub committed: u64,
    /// Transactions that lost a conflict in it.
    pub aborted: u64,
    /// Latency of the committed ones, in nanoseconds.
    pub latency: Histogram<u64>,
    /// Share of the machine's processors that its host gave to others in it; none if the system does not tell.
    pub stolen_share: Option<f64>,
    /// What the log did in it, if that is counted.
    pub log: Option<Counters>,
    /// Interval by interval, if asked for.
    pub timeline: Option<Timeline>,
    /// Procedure by procedure, if the transactions were calls.
    pub calls: CallTotals,
}

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Warming,
    Measuring,
    Stopped,
}

/// What workers are told.
pub(crate) struct Progress {
    phase: AtomicU8,
    /// When the measurement began. Written before the phase says so: the Release there pairs with the
    /// Acquire in `phase`.
    origin: AtomicU64,
    /// Zero: no intervals.
    interval_ns: u64,
    /// Where workers say what they do right now.
    pub board: Board,
}

impl Progress {
    pub fn new(interval_ns: u64, watched: bool) -> Progress {
        Progress {
            board: Board::new(watched),
            phase: AtomicU8::new(Phase::Warming as u8),
            origin: AtomicU64::new(0),
            interval_ns,
        }
    }

    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Warming,
            1 => Phase::Measuring,
            _ => Phase::Stopped,
        }
    }

    /// The interval of a moment. Only while measuring, and only if there are intervals.
    pub fn interval(&self, now: u64) -> usize {
        let since = now.saturating_sub(self.origin.load(Ordering::Relaxed));
        (since / self.interval_ns) as usize
    }

    pub fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }
}

/// How often the calling thread looks whether a client failed and whether a compaction runs.
const LOOK: Duration = Duration::from_millis(10);

/// Runs the target's clients for a while and gathers what they did.
///
/// # Errors
/// The first client's error that is not a conflict; all clients have ended by then.
pub fn run<T: Target>(
    target: &T,
    config: RunConfig,
    clock: Arc<dyn Clock>,
) -> Result<Figures, Error> {
    run_telling(target, config, clock, None)
}

/// As [`run`]; about once a second, what the clients did in it is told.
///
/// # Errors
/// As [`run`].
pub fn run_telling<T: Target>(
    target: &T,
    config: RunConfig,
    clock: Arc<dyn Clock>,
    tell: Option<&mut dyn FnMut(Second)>,
) -> Result<Figures, Error> {
    assert!(config.threads > 0, "a run needs a client");
    assert!(config.outstanding > 0, "a run without commits");
    let interval_ns = config.interval_ns();
    let progress = Progress::new(interval_ns, tell.is_some());
    thread::scope(|scope| {
        let mut threads = Vec::new();
        let origin = clock.monotonic_nanos();
        for number in 0..config.threads {
            let pace = match config.rate {
                Some(rate) => Pace::open(rate, config.threads, number, origin),
                None => Pace::Closed,
            };
            let worker = Worker {
                client: target.client(number),
                progress: &progress,
                clock: &*clock,
                pace,
                outstanding_max: config.outstanding as usize,
                unanswered: VecDeque::with_capacity(config.outstanding as usize),
                tally: Tally::new(slices(&config, interval_ns)),
            };
            let thread = thread::Builder::new()
                .name(format!("client-{number}"))
                .spawn_scoped(scope, move || worker.run())
                .map_err(|source| {
                    progress.enter(Phase::Stopped);
                    Error::Thread(source)
                })?;
            threads.push(thread);
        }
        let probes = Probes {
            counters: &|| target.counters(),
            compaction: &|| target.compaction(),
        };
        conduct(probes, config, &*clock, &progress, threads, tell)
    })
}

impl RunConfig {
    /// Length of an interval in nanoseconds; 0: none are told apart.
    pub(crate) fn interval_ns(&self) -> u64 {
        self.timeline_seconds.map_or(0, |s| (s * 1e9) as u64)
    }
}

/// How to look at the system that is measured.
#[derive(Clone, Copy)]
pub(crate) struct Probes<'a> {
    pub counters: &'a dyn Fn() -> Option<Counters>,
    pub compaction: &'a dyn Fn() -> Compaction,
}

pub(crate) fn slices(config: &RunConfig, interval_ns: u64) -> Vec<Slice> {
    match interval_ns {
        0 => Vec::new(),
        ns => Slice::list(config.seconds, ns),
    }
}

/// Takes running workers through the phases.
pub(crate) fn conduct(
    probes: Probes<'_>,
    config: RunConfig,
    clock: &dyn Clock,
    progress: &Progress,
    handles: Vec<ScopedJoinHandle<'_, Result<Tally, Error>>>,
    tell: Option<&mut dyn FnMut(Second)>,
) -> Result<Figures, Error> {
    let failed = || handles.iter().any(ScopedJoinHandle::is_finished);
    let mut nobody = |_| {};
    let tell = tell.unwrap_or(&mut nobody);
    let now = clock.monotonic_nanos();
    let mut teller = Teller::new(&progress.board, now, tell);
    teller.begin(now, config.warmup_seconds, true);
    pause(clock, config.warmup_seconds, || {
        teller.look(clock.monotonic_nanos());
        failed()
    });
    let (before, began) = ((probes.counters)(), clock.monotonic_nanos());
    let stolen_before = threads::stolen();
    let seen = || Seen {
        compaction: (probes.compaction)(),
        stolen_ms: threads::stolen().map_or(0, |stolen| stolen.as_millis() as u64),
    };
    let mut watch = match progress.interval_ns {
        0 => None,
        ns => Some(Watch::new(ns, seen())),
    };
    teller.begin(began, config.seconds, false);
    progress.origin.store(began, Ordering::Relaxed);
    progress.enter(Phase::Measuring);
    let mut look = || {
        let now = clock.monotonic_nanos();
        teller.look(now);
        if let Some(watch) = &mut watch {
            watch.look(now - began, seen());
        }
        failed()
    };
    pause(clock, config.seconds, &mut look);
    look();
    progress.enter(Phase::Stopped);
    let (after, ended) = ((probes.counters)(), clock.monotonic_nanos());
    let stolen = threads::stolen()
        .zip(stolen_before)
        .map(|(after, before)| after.saturating_sub(before));
    let mut sum = Tally::new(slices(&config, progress.interval_ns));
    let mut first_error = None;
    for handle in handles {
        match handle.join().map_err(|_| Error::ClientPanicked) {
            Ok(Ok(tally)) => sum.add(&tally),
            Ok(Err(error)) | Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    if let Some(error) = first_error {
        return Err(error);
    }
    let timeline = watch.map(|watch| {
        let whole = (ended - began) / progress.interval_ns;
        Timeline::new(&sum.slices, &watch, whole as usize)
    });
    let seconds = (ended - began) as f64 / 1e9;
    let processor_seconds = seconds * threads::processors() as f64;
    Ok(Figures {
        seconds,
        stolen_share: stolen.map(|stolen| stolen.as_secs_f64() / processor_seconds),
        committed: sum.committed,
        aborted: sum.aborted,
        latency: sum.latency,
        log: after
            .zip(before)
            .map(|(after, before)| after.since(&before)),
        timeline,
        calls: sum.calls,
    })
}

/// Lets time pass until it is over or `stop`, asked now and then, says so.
fn pause(clock: &dyn Clock, seconds: f64, mut stop: impl FnMut() -> bool) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Answer, Client, Compaction, Outcome};
    use quintet_rt::RealClock;

    /// Clients whose transactions take a millisecond; every fourth loses. Each answer comes so many
    /// commits of its client later, or when it is waited for.
    struct Slow {
        calls: AtomicU64,
        fail_at: Option<u64>,
        answers_late_by: u64,
    }

    struct SlowClient<'t> {
        target: &'t Slow,
        own: u64,
        /// So far; the answers look at it.
        commits: Arc<AtomicU64>,
    }

    struct SlowAnswer {
        number: u64,
        late_by: u64,
        commits: Arc<AtomicU64>,
    }

    impl Answer for SlowAnswer {
        fn is_here(&self) -> bool {
            self.commits.load(Ordering::SeqCst) >= self.number + self.late_by
        }

        fn wait(self) -> Result<(), Error> {
            Ok(())
        }
    }

    impl Target for Slow {
        type Client<'t> = SlowClient<'t>;

        fn client(&self, _: u32) -> SlowClient<'_> {
            SlowClient {
                target: self,
                own: 0,
                commits: Arc::default(),
            }
        }

        fn counters(&self) -> Option<Counters> {
            let calls = self.calls.load(Ordering::SeqCst);
            Some(Counters {
                logged: calls,
                log_bytes: 100 * calls,
                syncs: calls,
                ..Counters::default()
            })
        }

        /// One is running in every second hundred calls.
        fn compaction(&self) -> Compaction {
            let calls = self.calls.load(Ordering::SeqCst);
            Compaction {
                running: (calls / 100) % 2 == 1,
                rewriting: false,
                finished: calls / 200,
            }
        }
    }

    impl Client for SlowClient<'_> {
        type Answer = SlowAnswer;

        fn transaction(&mut self) -> Result<Outcome<SlowAnswer>, Error> {
            RealClock.sleep(Duration::from_millis(1));
            self.target.calls.fetch_add(1, Ordering::SeqCst);
            self.own += 1;
            if self.target.fail_at == Some(self.own) {
                return Err(Error::ClientPanicked);
            }
            if self.own.is_multiple_of(4) {
                return Ok(Outcome::Aborted);
            }
            Ok(Outcome::Committed(SlowAnswer {
                number: self.commits.fetch_add(1, Ordering::SeqCst) + 1,
                late_by: self.target.answers_late_by,
                commits: Arc::clone(&self.commits),
            }))
        }
    }

    fn slow() -> Slow {
        Slow {
            calls: AtomicU64::new(0),
            fail_at: None,
            answers_late_by: 0,
        }
    }

    const CONFIG: RunConfig = RunConfig {
        threads: 2,
        outstanding: 1,
        rate: None,
        timeline_seconds: None,
        warmup_seconds: 0.2,
        seconds: 0.4,
    };

    // The sleeping client cannot be faster than 1000 a second and thread; how much slower depends
    // on the machine, so only the upper bound and the proportions are checked.
    #[test]
    fn only_the_measured_interval_counts() {
        let target = slow();
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
        let log = figures.log.unwrap();
        assert_eq!(log.log_bytes, 100 * log.syncs);
        assert!(log.syncs.abs_diff(counted) <= 4);
    }

    #[test]
    fn a_failing_client_ends_the_run_early() {
        let long = RunConfig {
            seconds: 3600.0,
            ..CONFIG
        };
        let target = Slow {
            fail_at: Some(3),
            ..slow()
        };
        assert!(run(&target, long, Arc::new(RealClock)).is_err());
    }

    // An answer that comes three commits later makes a latency of three transactions or more, the
    // one that lost between them included; a client that may leave only two unanswered waits sooner.
    #[test]
    fn latency_is_counted_to_the_answer_and_the_bound_on_open_ones_is_kept() {
        let target = Slow {
            answers_late_by: 3,
            ..slow()
        };
        let latency_min_us = |outstanding| {
            let config = RunConfig {
                outstanding,
                ..CONFIG
            };
            let figures = run(&target, config, Arc::new(RealClock)).unwrap();
            assert!(figures.committed > 0);
            figures.latency.min() / 1000
        };
        let (eight, two) = (latency_min_us(8), latency_min_us(2));
        assert!(eight >= 3_900, "{eight}");
        assert!(two >= 1_900 && two < eight, "{two} and {eight}");
    }

    // At 100 transactions a second the clients idle nine tenths of the time. The rate must be met,
    // and latency must not hold the idling.
    #[test]
    fn an_open_loop_keeps_its_rate_and_counts_from_when_it_was_due() {
        let config = RunConfig {
            rate: Some(100.0),
            seconds: 1.0,
            ..CONFIG
        };
        let figures = run(&slow(), config, Arc::new(RealClock)).unwrap();
        let done = figures.committed + figures.aborted;
        assert!((80..=102).contains(&done), "{done} of 100");
        // Four times what the pair can do: whatever is late makes all behind it late.
        let flooded = RunConfig {
            rate: Some(8000.0),
            ..config
        };
        let flooded = run(&slow(), flooded, Arc::new(RealClock)).unwrap();
        assert!(
            flooded.latency.max() > 500_000_000,
            "{}",
            flooded.latency.max()
        );
    }

    #[test]
    fn the_timeline_holds_what_was_counted() {
        let config = RunConfig {
            timeline_seconds: Some(0.05),
            ..CONFIG
        };
        let figures = run(&slow(), config, Arc::new(RealClock)).unwrap();
        let timeline = figures.timeline.unwrap();
        assert!((7..=9).contains(&timeline.intervals.len()), "{timeline:?}");
        let sum: f64 = timeline
            .intervals
            .iter()
            .map(|interval| interval.committed_per_second * 0.05)
            .sum();
        // The rest of the last, unfinished interval is missing.
        assert!(sum <= figures.committed as f64 + 0.5, "{sum}");
        assert!(sum >= figures.committed as f64 * 0.7, "{sum}");
        assert!(timeline.inside.is_some() && timeline.compactions > 0);
    }
}
