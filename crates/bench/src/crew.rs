//! Clients that call procedures, many on few threads.
//!
//! Relies on: `caller` for what a client does, `driver` for the phases.  Promises: all clients are
//! connected before the first calls; in an open loop a client is woken when its next transaction is due,
//! to some tens of microseconds.  Does not: move a client between threads.
//!
//! ```text
//!   thread 0   client 0, 2, 4 …  ┐ each a task of the thread's own runtime
//!   thread 1   client 1, 3, 5 …  ┘
//!   pacer      sleeps to the next moment of the schedule, rings that client's bell   (open loop only)
//! ```
//! A runtime's own timers have a resolution of a millisecond: too coarse for transactions that take less.

use crate::Error;
use crate::caller::Caller;
use crate::calls::CallTotals;
use crate::driver::{Figures, Phase, Probes, Progress, RunConfig, conduct, slices};
use crate::pace::Pace;
use crate::system::{Connection, System};
use crate::worker::Tally;
use quintet_rt::Clock;
use quintet_workloads::Workload;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::LocalSet;

/// How often those who wait for all connections look.
const LOOK: Duration = Duration::from_millis(1);

/// How long the pacer sleeps at once, so that it sees the end of the run.
const PACER_SLEEP_MAX: Duration = Duration::from_millis(20);

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
    bells: Vec<Arc<Notify>>,
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
) -> Result<Figures, Error> {
    assert!(
        clients > 0 && config.threads > 0,
        "a run needs a client and a thread"
    );
    let threads = config.threads.min(clients);
    let progress = Progress::new(config.interval_ns());
    let crew = Crew {
        system,
        workload,
        config,
        clients,
        seed,
        clock: &*clock,
        progress: &progress,
        bells: (0..clients).map(|_| Arc::default()).collect(),
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
        let origin = *crew.origin.get_or_init(|| crew.clock.monotonic_nanos());
        if let Some(rate) = config.rate {
            scope.spawn(move || crew.ring(rate, origin));
        }
        let probes = Probes {
            counters: &|| system.counters(),
            compaction: &|| system.compaction(),
        };
        conduct(probes, config, crew.clock, crew.progress, handles)
    })
}

impl<S: System> Crew<'_, S> {
    /// One thread: its clients, to the end of the run.
    fn thread(&self, number: u32, threads: u32) -> Result<Tally, Error> {
        let own = (number..self.clients).step_by(threads as usize);
        let several = own.len() > 1;
        let local = LocalSet::new();
        runtime()?.block_on(local.run_until(async {
            let clients: Vec<_> = own.map(|client| self.client(client, several)).collect();
            let tallies = futures_util::future::join_all(clients).await;
            let mut sum = self.tally();
            for tally in tallies {
                sum.add(&tally?);
            }
            Ok(sum)
        }))
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally::new(slices(&self.config, self.config.interval_ns()));
        tally.calls = CallTotals::new(self.workload.procedures().len());
        tally
    }

    /// One client. If it fails, so has the run: the others of its thread must not go on for ever.
    async fn client(&self, client: u32, several: bool) -> Result<Tally, Error> {
        let result = self.connected(client, several).await;
        if result.is_err() {
            self.progress.enter(Phase::Stopped);
            self.bells.iter().for_each(|bell| bell.notify_one());
        }
        result
    }

    async fn connected(&self, client: u32, several: bool) -> Result<Tally, Error> {
        let mut connection = self.system.connect().await?;
        connection.prepare(self.workload.procedures()).await?;
        self.ready.fetch_add(1, Ordering::Release);
        let origin = loop {
            if let Some(origin) = self.origin.get() {
                break *origin;
            }
            if self.progress.phase() == Phase::Stopped {
                return Ok(self.tally());
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
            bell: Arc::clone(&self.bells[client as usize]),
            yields: several && S::BLOCKS,
            tally: self.tally(),
        };
        caller.run().await
    }

    /// Rings each client's bell when its next transaction is due; all of them at the end.
    fn ring(&self, rate: f64, origin: u64) {
        // Clients take turns, so the schedule of all of them is that of one.
        let mut all = Pace::open(rate, 1, 0, origin);
        let mut client = 0;
        while self.progress.phase() != Phase::Stopped {
            let now = self.clock.monotonic_nanos();
            let due = all.due(now);
            if now < due {
                let left = Duration::from_nanos(due - now);
                self.clock.sleep(left.min(PACER_SLEEP_MAX));
                continue;
            }
            self.bells[client].notify_one();
            client = (client + 1) % self.bells.len();
            all.advance();
        }
        self.bells.iter().for_each(|bell| bell.notify_one());
    }
}
