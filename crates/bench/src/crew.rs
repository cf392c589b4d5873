//! Clients that call procedures, many on few threads.
//!
//! Relies on: `caller` for what a client does, `driver` for the phases.  Promises: all clients are
//! connected before the first calls; in an open loop a client begins when its next transaction is due,
//! to about a hundred microseconds (`gate`).  Does not: move a client between threads.
//!
//! ```text
//!   thread 0   client 0, 2, 4 …  ┐ each a task of the thread's own runtime
//!   thread 1   client 1, 3, 5 …  ┘
//!   pacer      wakes a thread that sleeps when one of its clients is due   (open loop only; see `gate`)
//! ```
//! A runtime's own timers have a resolution of a millisecond: too coarse for transactions that take less.

use crate::Error;
use crate::caller::Caller;
use crate::calls::CallTotals;
use crate::driver::{Figures, Phase, Probes, Progress, RunConfig, conduct, slices};
use crate::gate::{Alarms, Gate};
use crate::pace::Pace;
use crate::stage::Second;
use crate::system::{Connection, System};
use crate::worker::Tally;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use quintet_rt::Clock;
use quintet_workloads::Workload;
use std::cell::RefCell;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

/// How often those who wait for all connections look.
const LOOK: Duration = Duration::from_millis(1);

/// A runtime for one thread's clients.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().map_err(Error::Thread)
}

/// What all threads of a run share.
struct Crew<'t, S> {
    system: &'t S,
    workload: &'t dyn Workload,
    config: RunConfig,
    clients: u32,
    seed: u64,
    clock: &'t dyn Clock,
    progress: &'t Progress,
    alarms: Alarms,
    /// Connections that are ready. Written by the threads, read by the one that waits for all of them.
    ready: AtomicU32,
    /// The moment at which schedules begin; set once all are ready.
    origin: OnceLock<u64>,
    /// Threads that have ended; more than none before the origin is set: one has failed.
    ended: AtomicU64,
}

/// Runs the clients of a workload whose tables and procedures are there.
///
/// # Errors
/// The first client's error; all clients have ended by then.
pub(crate) fn run_calls<S: System>(
    system: &S,
    workload: &dyn Workload,
    config: RunConfig,
    clients: u32,
    seed: u64,
    clock: Arc<dyn Clock>,
    tell: Option<&mut dyn FnMut(Second)>,
) -> Result<Figures, Error> {
    assert!(
        clients > 0 && config.threads > 0,
        "a run needs a client and a thread"
    );
    let threads = config.threads.min(clients);
    let progress = Progress::new(config.interval_ns(), tell.is_some());
    let crew = Crew {
        system,
        workload,
        config,
        clients,
        seed,
        clock: &*clock,
        progress: &progress,
        alarms: Alarms::new(threads),
        ready: AtomicU32::new(0),
        origin: OnceLock::new(),
        ended: AtomicU64::new(0),
    };
    thread::scope(|scope| {
        let crew = &crew;
        let mut handles = Vec::new();
        for number in 0..threads {
            let handle = thread::Builder::new()
                .name(format!("clients-{number}"))
                .spawn_scoped(scope, move || {
                    let result = crew.thread(number, threads);
                    crew.ended.fetch_add(1, Ordering::Release);
                    result
                })
                .map_err(|source| {
                    crew.progress.enter(Phase::Stopped);
                    Error::Thread(source)
                })?;
            handles.push(handle);
        }
        let connected = || crew.ready.load(Ordering::Acquire) == clients;
        while !connected() && crew.ended.load(Ordering::Acquire) == 0 {
            crew.clock.sleep(LOOK);
        }
        if !connected() {
            crew.progress.enter(Phase::Stopped);
        }
        crew.origin.get_or_init(|| crew.clock.monotonic_nanos());
        if config.rate.is_some() {
            let stopped = || crew.progress.phase() == Phase::Stopped;
            scope.spawn(move || crew.alarms.pace(crew.clock, &stopped));
        }
        let probes = Probes {
            counters: &|| system.counters(),
            compaction: &|| system.compaction(),
        };
        conduct(probes, config, crew.clock, crew.progress, handles, tell)
    })
}

impl<S: System> Crew<'_, S> {
    /// One thread: its clients, to the end of the run.
    fn thread(&self, number: u32, threads: u32) -> Result<Tally, Error> {
        let own = (number..self.clients).step_by(threads as usize);
        let several = own.len() > 1;
        let tally = RefCell::new(self.tally());
        let gate = Gate::new(self.clock, &self.alarms, number);
        runtime()?.block_on(LocalSet::new().run_until(async {
            let mut clients: FuturesUnordered<_> = own
                .map(|client| self.client(client, several, &gate, &tally))
                .collect();
            poll_fn(|context| self.turn(&mut clients, &gate, context)).await
        }))?;
        Ok(tally.into_inner())
    }

    /// Lets clients go on who can: those that are due, and those that have been answered.
    fn turn<F: Future<Output = Result<(), Error>>>(
        &self,
        clients: &mut FuturesUnordered<F>,
        gate: &Gate,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        let stopped = || self.progress.phase() == Phase::Stopped;
        gate.awake();
        if stopped() {
            gate.open();
        }
        gate.look();
        loop {
            match clients.poll_next_unpin(context) {
                Poll::Ready(Some(Ok(()))) => {}
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Pending => break,
            }
        }
        gate.sleep(context);
        // Others of the runtime have their turn first.
        if gate.look() || stopped() {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally::new(slices(&self.config, self.config.interval_ns()));
        tally.calls = CallTotals::new(self.workload.procedures().len());
        tally
    }

    /// One client. If it fails, so has the run: the others of its thread must not go on for ever.
    async fn client(
        &self,
        client: u32,
        several: bool,
        gate: &Gate<'_>,
        tally: &RefCell<Tally>,
    ) -> Result<(), Error> {
        let result = self.connected(client, several, gate, tally).await;
        if result.is_err() {
            self.progress.enter(Phase::Stopped);
        }
        result
    }

    async fn connected(
        &self,
        client: u32,
        several: bool,
        gate: &Gate<'_>,
        tally: &RefCell<Tally>,
    ) -> Result<(), Error> {
        let mut connection = self.system.connect().await?;
        connection.prepare(self.workload.procedures()).await?;
        self.ready.fetch_add(1, Ordering::Release);
        let origin = loop {
            if let Some(origin) = self.origin.get() {
                break *origin;
            }
            if self.progress.phase() == Phase::Stopped {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        };
        let pace = match self.config.rate {
            Some(rate) => Pace::open(rate, self.clients, client, origin),
            None => Pace::Closed,
        };
        let caller = Caller {
            connection,
            calls: self.workload.calls(client, self.seed),
            procedures: self.workload.procedures(),
            progress: self.progress,
            clock: self.clock,
            pace,
            gate,
            yields: several && S::BLOCKS,
            tally,
        };
        caller.run().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{Failure, Reply, TextRows};
    use quintet_rt::RealClock;
    use quintet_workloads::hot_row::{HotRow, Mix};
    use quintet_workloads::{Call, Piece, Procedure};

    /// Its calls take a millisecond, which many may spend at once; of each connection every fourth loses.
    struct Slow {
        /// What the call after every tenth says.
        every_tenth: Option<[u8; 5]>,
        refuses_connections: bool,
        committed: AtomicU64,
    }

    struct SlowConnection<'s> {
        system: &'s Slow,
        calls: u64,
        /// What was called last, if it lost.
        lost: Option<Call>,
    }

    impl<'s> System for &'s Slow {
        type Connection = SlowConnection<'s>;

        const BLOCKS: bool = false;

        async fn connect(&self) -> Result<SlowConnection<'s>, Error> {
            match self.refuses_connections {
                true => Err(Error::ClientPanicked),
                false => Ok(SlowConnection {
                    system: self,
                    calls: 0,
                    lost: None,
                }),
            }
        }
    }

    impl Connection for SlowConnection<'_> {
        async fn prepare(&mut self, _: &'static [Procedure]) -> Result<(), Error> {
            Ok(())
        }

        async fn call(&mut self, call: &Call) -> Result<Reply, Error> {
            tokio::time::sleep(Duration::from_millis(1)).await;
            if let Some(lost) = self.lost.take() {
                assert_eq!(lost, *call, "not the call that lost");
            }
            self.calls += 1;
            let failed = |state: [u8; 5]| {
                Ok(Reply::Failed(Failure {
                    state,
                    message: "so it goes".into(),
                }))
            };
            if self.calls.is_multiple_of(4) {
                self.lost = Some(call.clone());
                return failed(*b"40001");
            }
            if let Some(state) = self.system.every_tenth
                && self.calls % 10 == 1
                && self.calls > 10
            {
                return failed(state);
            }
            self.system.committed.fetch_add(1, Ordering::SeqCst);
            Ok(Reply::Done(5))
        }

        async fn run(&mut self, _: &str) -> Result<Result<(), Failure>, Error> {
            Ok(Ok(()))
        }

        async fn query(&mut self, _: &str) -> Result<Result<TextRows, Failure>, Error> {
            Ok(Ok(Vec::new()))
        }

        async fn copy(&mut self, _: &Piece) -> Result<Result<(), Failure>, Error> {
            Ok(Ok(()))
        }
    }

    fn slow() -> Slow {
        Slow {
            every_tenth: None,
            refuses_connections: false,
            committed: AtomicU64::new(0),
        }
    }

    const CONFIG: RunConfig = RunConfig {
        threads: 2,
        outstanding: 1,
        rate: None,
        timeline_seconds: None,
        warmup_seconds: 0.1,
        seconds: 0.5,
    };

    fn run(system: &Slow, config: RunConfig, clients: u32) -> Result<Figures, Error> {
        let workload = HotRow::new(Mix::First);
        let clock = Arc::new(RealClock);
        run_calls(&system, &workload, config, clients, 1, clock, None)
    }

    // Twenty clients on two threads: each waits by itself, so they do more than two could, who would
    // not get beyond 2,000 calls a second. What was lost is run again and counts once.
    #[test]
    fn many_clients_share_few_threads_and_what_lost_is_run_again() {
        let system = slow();
        let figures = run(&system, CONFIG, 20).unwrap();
        let kind = &figures.calls.kinds[0];
        let per_second = (figures.committed + figures.aborted) as f64 / figures.seconds;
        assert!(per_second > 2500.0, "{per_second}");
        assert_eq!((kind.committed, kind.given_up), (figures.committed, 0));
        assert_eq!(figures.calls.lost[b"40001"], figures.aborted);
        let share = figures.aborted as f64 / (figures.aborted + figures.committed) as f64;
        assert!((share - 0.25).abs() < 0.05, "{share}");
        // One that lost took two calls.
        let (retried, lost) = (kind.retried, kind.lost);
        assert!(retried > 0 && lost == retried, "{retried} and {lost}");
        assert!(kind.latency.max() >= 2_000_000, "{}", kind.latency.max());
    }

    #[test]
    fn what_calls_counted_is_summed_up_from_the_first_to_the_last() {
        let system = slow();
        let figures = run(&system, CONFIG, 3).unwrap();
        let all = system.committed.load(Ordering::SeqCst);
        assert!(all > figures.committed);
        assert_eq!(figures.calls.counted, 5 * all as i64);
    }

    #[test]
    fn an_end_that_the_workload_does_not_allow_ends_the_run() {
        let system = Slow {
            every_tenth: Some(*b"23505"),
            ..slow()
        };
        let long = RunConfig {
            seconds: 3600.0,
            ..CONFIG
        };
        let error = run(&system, long, 4).unwrap_err().to_string();
        assert!(
            error.contains("23505") && error.contains("CALL hot_first(0"),
            "{error}"
        );
    }

    #[test]
    fn a_database_that_cannot_be_reached_ends_the_run() {
        let system = Slow {
            refuses_connections: true,
            ..slow()
        };
        assert!(run(&system, CONFIG, 4).is_err());
    }

    // At 200 calls a second ten clients idle nearly all of the time: the rate must be met, the idling must
    // not count, and a call must not wait for a coarse timer to begin.
    #[test]
    fn an_open_loop_keeps_its_rate_and_counts_from_when_it_was_due() {
        let config = RunConfig {
            rate: Some(200.0),
            seconds: 1.0,
            ..CONFIG
        };
        let figures = run(&slow(), config, 10).unwrap();
        assert!(
            (150..=205).contains(&figures.committed),
            "{}",
            figures.committed
        );
        // A coarse timer's millisecond belongs to the slow system, not to the pacer.
        let median = figures.latency.value_at_quantile(0.5);
        assert!(median < 4_000_000, "{median}");
        let flooded = RunConfig {
            rate: Some(40_000.0),
            ..config
        };
        let flooded = run(&slow(), flooded, 4).unwrap();
        assert!(
            flooded.latency.max() > 500_000_000,
            "{}",
            flooded.latency.max()
        );
    }
}
