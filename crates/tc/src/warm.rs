//! After a restart, and after loads that went past memory: what STORE has is brought into memory, range by range, behind
//! everybody's back.
//!
//! Relies on: a record leaves memory only by eviction, which says so first (`table`). Promises: what is
//! brought in never hides a newer commit; a space is called whole only when memory has all that
//! any snapshot may look for; stops when memory is full.  Does not: evict, or hurry.
//!
//! ```text
//!   for each space of STORE:
//!     mark ─► range ─► range ─► … ─► end ─► readers have let go ─► no snapshot older than the end ─► whole
//!      │       └ records that memory lacks, from the newest generation
//!      └ how often something has left the space; if something leaves before the end, it is not whole
//! ```
//! Why that is right, for a key of STORE's newest generation, at position P, when its range is read:
//!
//! * *It is in memory.* Then what memory has is as new as P, or newer; it stays, or the mark changes.
//!   An entry without a version (of a writer that was refused) is given STORE's.
//! * *It is not in memory and nothing newer than P was ever evicted.* Then nothing newer was ever
//!   committed, and it is filled in as it is in STORE. Otherwise the range is read again, from a newer
//!   generation.
//! * *A snapshot older than the last range* might look for a version between STORE's and the oldest in
//!   memory. So the space is not whole before the last such snapshot has gone.
//! * *A reader that missed the record before it was filled in* asks whether the space is whole under the
//!   same pin; those pins are waited for in between.

use crate::compact;
use crate::error::Error;
use crate::shared::Shared;
use crate::sim::{self, Planted, Point};
use crate::table::{Space, TakenIn};
use parking_lot::{Condvar, Mutex};
use quintet_base::{Bytes, SpaceId, Timestamp};
use quintet_dc::{Direction, KeyRange, Record};
use quintet_rt::threads::{self, JoinHandle};
use quintet_rt::{Clock, RealClock};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A range: so many records, or bytes, whatever comes first. A matter of a tenth of a millisecond, for which somebody may wait who
/// wakes up on the same processor.
const RANGE_RECORDS: usize = 128;
const RANGE_BYTES: usize = 128 << 10;

/// How often a range is read again because the generation was too old, before the space is given up.
const AGAIN_MAX: u32 = 16;

/// Between two looks whether old snapshots have gone.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// No row has gone past memory for so long: a load is over, and what may have come after it.
const LOADS_REST: Duration = Duration::from_secs(3);
/// Between two steps beside which nobody has done anything.
const MOMENT: Duration = Duration::from_micros(50);
/// Longest pause in favour of others; also how long an ending may wait for this.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// What a step has come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WarmStep {
    /// There is more to bring in.
    More,
    /// Everything that fits is in; old snapshots must go before spaces are whole.
    Waiting,
    /// That was all; the next step begins anew.
    Done(Warmed),
}

/// What warming has done.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Warmed {
    /// Records brought in.
    pub records: u64,
    /// Their keys and values.
    pub bytes: u64,
    /// Spaces that are whole because of it.
    pub spaces: usize,
    /// Not all fitted.
    pub is_full: bool,
    /// Why it ended early: STORE could not be read.
    pub failed: Option<String>,
    /// How long it took, pauses included.
    pub took: Duration,
}

/// Of one component.
#[derive(Default)]
pub(crate) struct Warming {
    state: Mutex<State>,
    records: AtomicU64,
    /// The last handle is going. Written under `loaded`.
    stop: AtomicBool,
    /// Something has gone past memory since the thread looked.
    loaded: Mutex<bool>,
    /// That is so, or the thread is to end.
    changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Idle,
    Resting(Pass),
    /// Somebody makes a step.
    Busy,
}

/// One way through STORE.
struct Pass {
    spaces: VecDeque<SpaceId>,
    current: Option<Current>,
    settling: Vec<Settling>,
    warmed: Warmed,
}

/// A space that is being read.
struct Current {
    id: SpaceId,
    space: Arc<Space>,
    mark: u64,
    lower: Bound<Bytes>,
    again: u32,
}

/// A space that will be whole when every snapshot is at or above `since`.
struct Settling {
    space: Arc<Space>,
    mark: u64,
    since: Timestamp,
}

impl Warming {
    /// Records brought in since the start.
    pub fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    /// Something goes past memory.
    pub fn note_loaded(&self) {
        *self.loaded.lock() = true;
        self.changed.notify_all();
    }

    fn note_stop(&self) {
        let _loaded = self.loaded.lock();
        self.stop.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

impl Shared {
    /// A range of one space. One at a time; who comes second is told to wait.
    pub fn warm_some(&self) -> WarmStep {
        // Taken out: no lock is held while STORE is read.
        let state = std::mem::replace(&mut *self.warming.state.lock(), State::Busy);
        let mut pass = match state {
            State::Idle => Pass::over(self.store.spaces()),
            State::Resting(pass) => pass,
            State::Busy => return WarmStep::Waiting,
        };
        self.make_whole(&mut pass);
        if let Err(error) = self.read_range(&mut pass) {
            pass.warmed.failed = Some(quintet_base::error::with_causes(&error));
            pass.end();
        }
        let reads = pass.current.is_some() || !pass.spaces.is_empty();
        let (step, state) = match reads || !pass.settling.is_empty() {
            true if reads => (WarmStep::More, State::Resting(pass)),
            true => (WarmStep::Waiting, State::Resting(pass)),
            false => (WarmStep::Done(pass.warmed), State::Idle),
        };
        *self.warming.state.lock() = state;
        step
    }

    /// Spaces whose snapshots have gone.
    fn make_whole(&self, pass: &mut Pass) {
        if pass.settling.is_empty() {
            return;
        }
        let oldest = self.seats.oldest(|| self.end());
        let warmed = &mut pass.warmed;
        pass.settling.retain(|settling| {
            let ready = oldest >= settling.since || sim::plants(Planted::RegainSoon);
            if ready && settling.space.wholeness.regain(settling.mark) {
                warmed.spaces += 1;
            }
            !ready && settling.space.wholeness.mark() == settling.mark
        });
    }

    fn read_range(&self, pass: &mut Pass) -> Result<(), Error> {
        let Some(mut current) = pass.current.take().or_else(|| self.next_space(pass)) else {
            return Ok(());
        };
        if self.table.is_nearly(self.records_bytes_max()) {
            pass.warmed.is_full = true;
            pass.end();
            return Ok(());
        }
        let kept = self.generations.of(self.end());
        let range = KeyRange {
            lower: current.lower.clone(),
            upper: Bound::Unbounded,
        };
        let mut scan = kept
            .generation
            .scan(current.id, &range, Direction::Forward)?;
        let mut rows: Vec<(Bytes, Record)> = Vec::new();
        let mut bytes = 0;
        let ended = loop {
            if rows.len() == RANGE_RECORDS || bytes >= RANGE_BYTES {
                break false;
            }
            let Some((key, record)) = scan.next()? else {
                break true;
            };
            bytes += key.len() + record.value.len();
            rows.push((key, record));
        };
        drop(scan);
        if ended && sim::plants(Planted::WholeEarly) {
            rows.pop();
        }
        sim::at(Point::Fetched);
        let taken = self
            .table
            .take_in(current.id, &current.space, &rows, kept.position);
        let (records, bytes) = match taken {
            TakenIn::All { records, bytes } => (records, bytes),
            TakenIn::Moved if current.again < AGAIN_MAX => {
                current.again += 1;
                pass.current = Some(current);
                return Ok(());
            }
            // It changes faster than it can be read, or has been dropped.
            TakenIn::Moved | TakenIn::Gone => return Ok(()),
        };
        self.warming.records.fetch_add(records, Ordering::Relaxed);
        pass.warmed.records += records;
        pass.warmed.bytes += bytes;
        if !ended {
            let (last, _) = rows.pop().expect("a range that did not end has records");
            current.lower = Bound::Excluded(last);
            current.again = 0;
            pass.current = Some(current);
            return Ok(());
        }
        // In this order: who registers a snapshot after this end finds everything.
        let since = self.end();
        compact::wait_for_readers();
        pass.settling.push(Settling {
            space: current.space,
            mark: current.mark,
            since,
        });
        Ok(())
    }

    /// The next space that is not whole and not about to go.
    fn next_space(&self, pass: &mut Pass) -> Option<Current> {
        loop {
            let id = pass.spaces.pop_front()?;
            if self.dropped.lock().iter().any(|(space, _)| *space == id) {
                continue;
            }
            let space = self.space(id);
            let mark = self.table.mark(&space);
            if !space.is_whole() {
                return Some(Current {
                    id,
                    space,
                    mark,
                    lower: Bound::Unbounded,
                    again: 0,
                });
            }
        }
    }

    /// Waits until something has gone past memory, and then until nothing does any more; false if it is to end.
    fn wait_for_loads(&self) -> bool {
        let warming = &self.warming;
        let mut loaded = warming.loaded.lock();
        while !*loaded && !warming.is_stopped() {
            warming.changed.wait(&mut loaded);
        }
        while std::mem::take(&mut *loaded) && !warming.is_stopped() {
            warming.changed.wait_for(&mut loaded, LOADS_REST);
        }
        !warming.is_stopped()
    }

    /// Something that others have finished; changes while somebody works.
    pub fn activity(&self) -> u64 {
        let finished = self.seats.iter().map(|seat| seat.counts());
        finished.map(|(wrote, read)| wrote + read).sum()
    }
}

impl Pass {
    fn over(spaces: Vec<SpaceId>) -> Pass {
        Pass {
            spaces: spaces.into(),
            current: None,
            settling: Vec::new(),
            warmed: Warmed::default(),
        }
    }

    /// Brings nothing more in.
    fn end(&mut self) {
        self.spaces.clear();
        self.current = None;
    }
}

/// The thread, if somebody has asked for it. Gone when this is.
#[derive(Default)]
pub(crate) struct WarmThread(Mutex<Option<(Arc<Shared>, JoinHandle<()>)>>);

impl WarmThread {
    pub fn start(&self, shared: Arc<Shared>, done: impl FnOnce(Warmed) + Send + 'static) {
        let mut running = self.0.lock();
        if running.is_none() {
            let worker = Arc::clone(&shared);
            let thread = threads::spawn("tc-warm", move || {
                let stopped = || worker.warming.is_stopped();
                if let Some(warmed) = warm(&worker, stopped) {
                    done(warmed);
                }
                while worker.wait_for_loads() {
                    // Another load comes first.
                    warm(&worker, || *worker.warming.loaded.lock() || stopped());
                }
            });
            *running = Some((shared, thread));
        }
    }
}

impl Drop for WarmThread {
    fn drop(&mut self) {
        if let Some((shared, thread)) = self.0.lock().take() {
            shared.warming.note_stop();
            // The last handle may go on this very thread, inside of `done`.
            if !thread.is_current() {
                let _ = thread.join();
            }
        }
    }
}

/// Steps until there is nothing to do; `None` if it is to end before.
fn warm(shared: &Shared, ends: impl Fn() -> bool) -> Option<Warmed> {
    let now = || Duration::from_nanos(RealClock.monotonic_nanos());
    let begun = now();
    loop {
        if ends() {
            return None;
        }
        let (before, activity) = (now(), shared.activity());
        match shared.warm_some() {
            // While others work, they have the processor for at least as long.
            WarmStep::More if shared.activity() != activity => {
                RealClock.sleep((now() - before).min(PAUSE_MAX));
            }
            // Who has not come as far as to do something may wait for this very processor.
            WarmStep::More => threads::rest(&RealClock, MOMENT),
            WarmStep::Waiting => RealClock.sleep(LOOK_EVERY),
            WarmStep::Done(mut warmed) => {
                warmed.took = now() - begun;
                return Some(warmed);
            }
        }
    }
}
