//! Chains as an engine: a call waits until those before it that it conflicts with have committed.
//!
//! Relies on: `chain` for the order; conflict keys that are sound for the level that the call runs at
//! (`analysis`, by [`quintet_analysis::Granularity::Commit`]); a [`Place`] that is dropped when its call has ended,
//! however it has.  Promises: of two calls of one level that are in line and whose keys meet, the later begins
//! when the earlier has ended: what that has committed is in the later one's snapshot; a place that is given up
//! lets those behind it go; nobody waits for what is behind him.
//! Does not: run anything, choose a thread, or replace validation: what is not in line (statements that are no
//! calls, calls inside BEGIN, calls without a class, calls of another level) is met at the commit, as ever.
//!
//! ```text
//!            submit                    those before it are gone            drop
//!   call ───────────► Place, waiting ───────────────────────────► granted ──────► next ones
//!                        │ drop: it holds its place for those behind until those before are gone
//!                        ▼
//!                      (nobody)
//! ```
//!
//! **Epochs.** Keys of two catalogues cannot be compared. So each revision of the catalogue has a scheduler of its
//! own, and only the oldest that has calls has a worker: calls of a newer one are ordered among themselves
//! and wait until the last of the older ones has ended.
//!
//! ```text
//!   epochs   7: worker, 3 calls ── 9: no worker, 5 calls        a call of revision 8: stale, plan it again
//!                └─ the last one ends: 9 gets its worker
//! ```
//!
//! **A commit is enough.** A place is let go when the commit is in memory, not when it is on disk. Who comes
//! after it has a later place in the same log, and is answered when that is on disk: so none is answered
//! whose predecessor can still be lost, unless its session has asked to be (`synchronous_commit` off).
//!
//! The worker has as many slots as anybody could want: sessions run on threads of their own, which already
//! bound how many calls run side by side.
//!
//! Lock order: a line's mutex is a leaf; wakers are called after it has been let go.

#[cfg(test)]
mod measured;
#[cfg(test)]
mod narrow;
mod turn;

pub(crate) use turn::{Turn, TurnWait};

use crate::activity::Stand;
use parking_lot::Mutex;
use quintet_base::Level;
use quintet_base::conflict::{ConflictKey, Modes};
use quintet_chain::{
    CallId, Config, Effect, Event, Freshness, Holds, Scheduler, Submission, WorkerId, Wrote,
};
use quintet_engine::Refusal;
use quintet_rt::Clock;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The one that runs everything.
const WORKER: WorkerId = WorkerId(0);

/// Counters of the chains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainStats {
    /// Calls that were put in line.
    pub calls: u64,
    /// Of these, those that had to wait for others.
    pub waited: u64,
    /// How long, all together, in nanoseconds.
    pub wait_nanos: u64,
    /// Calls that wait now.
    pub waiting: u64,
    /// Calls that were refused because too many were in line.
    pub refused: u64,
    /// Calls that were run past the line, having no class.
    pub unclassed: u64,
}

impl ChainStats {
    /// Adds another line's.
    pub(crate) fn add(&mut self, other: &ChainStats) {
        self.calls += other.calls;
        self.waited += other.waited;
        self.wait_nanos += other.wait_nanos;
        self.waiting += other.waiting;
        self.refused += other.refused;
        self.unclassed += other.unclassed;
    }
}

/// The lines of a database, one for each level.
pub(crate) struct Chains {
    lines: [Mutex<Line>; 2],
    clock: Arc<dyn Clock>,
    /// See [`ChainStats::unclassed`]; hangs on nothing else.
    unclassed: AtomicU64,
}

/// Calls of one level.
#[derive(Default)]
struct Line {
    /// By revision of the catalogue; the first has the worker.
    epochs: VecDeque<Epoch>,
    /// Numbers calls.
    last: u64,
    /// Those of the event at hand; empty between events.
    effects: Vec<Effect>,
    stats: ChainStats,
}

/// Calls of one level, planned with one catalogue.
struct Epoch {
    revision: u64,
    /// The number of its first call.
    first: u64,
    scheduler: Scheduler,
    /// Calls that wait.
    turns: HashMap<CallId, Arc<Turn>>,
}

/// Why a call has no place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// Calls planned with a newer catalogue are there already.
    Stale,
    /// Too many are in line.
    Refused(Refusal),
}

/// Which calls of a line one waits for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// These, which it comes directly after.
    Calls(Vec<u64>),
    /// All before this one: they are of an older catalogue.
    Below(u64),
}

impl Before {
    /// Whether this is one of them, if it is in line.
    pub fn has(&self, call: u64) -> bool {
        match self {
            Before::Calls(calls) => calls.contains(&call),
            Before::Below(first) => call < *first,
        }
    }
}

/// What a call that waits in line has met.
pub(crate) struct Met {
    /// A key of its own, of the catalogue of this revision.
    pub key: ConflictKey,
    pub revision: u64,
    pub before: Before,
}

/// A call's place in line; given up when dropped.
pub(crate) struct Place {
    chains: Arc<Chains>,
    line: usize,
    revision: u64,
    call: CallId,
    /// It has to wait for this.
    turn: Option<Arc<Turn>>,
    /// When it began to wait.
    since: u64,
    waited: u64,
}

/// Which line calls of a level are in. A statement at READ COMMITTED sees what has been committed since, so
/// calls there have the classes of SERIALIZABLE, and one order with them.
pub(crate) fn line_of(level: Level) -> usize {
    match level {
        Level::Snapshot => 0,
        Level::ReadCommitted | Level::Serializable => 1,
    }
}

impl Chains {
    /// Nobody is in line.
    pub fn new(clock: Arc<dyn Clock>) -> Chains {
        Chains {
            lines: Default::default(),
            clock,
            unclassed: AtomicU64::new(0),
        }
    }

    /// Puts a call in line. `revision`: of the catalogue that its keys and the modes are of.
    ///
    /// # Errors
    /// See [`NoPlace`].
    pub fn submit(
        self: &Arc<Chains>,
        level: Level,
        revision: u64,
        modes: &Modes,
        keys: Vec<ConflictKey>,
    ) -> Result<Place, NoPlace> {
        let number = line_of(level);
        let mut woken = Vec::new();
        let mut line = self.lines[number].lock();
        let call = line.enter(revision, modes, keys, &mut woken)?;
        let turn = line.epoch(revision).turns.get(&call).map(Arc::clone);
        drop(line);
        debug_assert!(woken.is_empty(), "who comes last lets nobody go");
        let since = turn.as_ref().map_or(0, |_| self.clock.monotonic_nanos());
        Ok(Place {
            chains: Arc::clone(self),
            line: number,
            revision,
            call,
            turn,
            since,
            waited: 0,
        })
    }

    /// A call is run past the line of which nothing is known beforehand.
    pub fn count_unclassed(&self) {
        self.unclassed.fetch_add(1, Ordering::Relaxed);
    }

    /// Which calls one of this line waits for; `None`: it does not wait.
    pub fn before(&self, line: usize, call: u64) -> Option<Before> {
        let line = self.lines[line].lock();
        let call = CallId(call);
        let mut epochs = line.epochs.iter();
        let place = epochs.position(|epoch| epoch.turns.contains_key(&call))?;
        let epoch = &line.epochs[place];
        Some(match epoch.scheduler.has_workers() {
            true => {
                let after = epoch.scheduler.after(call).into_iter();
                Before::Calls(after.map(|call| call.0).collect())
            }
            false => Before::Below(epoch.first),
        })
    }

    /// What a call of this line that waits has met; `None`: it does not wait, or waits for no key.
    pub fn met(&self, line: usize, call: u64) -> Option<Met> {
        let before = self.before(line, call)?;
        let line = self.lines[line].lock();
        let call = CallId(call);
        let mut epochs = line.epochs.iter();
        let epoch = epochs.find(|epoch| epoch.turns.contains_key(&call))?;
        Some(Met {
            key: epoch.scheduler.met(call)?,
            revision: epoch.revision,
            before,
        })
    }

    /// Counters of all lines.
    pub fn stats(&self) -> ChainStats {
        let mut sum = ChainStats {
            unclassed: self.unclassed.load(Ordering::Relaxed),
            ..ChainStats::default()
        };
        for line in &self.lines {
            let line = line.lock();
            sum.calls += line.stats.calls;
            sum.waited += line.stats.waited;
            sum.wait_nanos += line.stats.wait_nanos;
            sum.refused += line.stats.refused;
            let turns = line.epochs.iter().map(|epoch| epoch.turns.len() as u64);
            sum.waiting += turns.sum::<u64>();
        }
        sum
    }
}

impl Line {
    fn enter(
        &mut self,
        revision: u64,
        modes: &Modes,
        keys: Vec<ConflictKey>,
        woken: &mut Vec<Arc<Turn>>,
    ) -> Result<CallId, NoPlace> {
        match self.epochs.back().map(|epoch| epoch.revision) {
            Some(last) if last > revision => return Err(NoPlace::Stale),
            Some(last) if last == revision => {}
            _ => {
                // So that there are never more epochs than calls.
                self.epochs
                    .pop_back_if(|last| last.scheduler.pending() == 0);
                let first = self.last + 1;
                self.epochs.push_back(Epoch::new(revision, first, modes));
                self.take_over(woken);
            }
        }
        self.last += 1;
        let call = CallId(self.last);
        let epoch = self.epochs.back_mut().expect("just looked at");
        let submitted = Event::Submitted(Submission::new(call, keys));
        epoch.scheduler.handle(submitted, &mut self.effects);
        let mut runs = false;
        for effect in self.effects.drain(..) {
            match effect {
                Effect::Run { call: granted, .. } if granted == call => runs = true,
                Effect::Refuse { reason, .. } => {
                    self.stats.refused += 1;
                    return Err(NoPlace::Refused(reason));
                }
                _ => {}
            }
        }
        self.stats.calls += 1;
        if !runs {
            self.stats.waited += 1;
            epoch.turns.insert(call, Arc::default());
        }
        Ok(call)
    }

    fn epoch(&mut self, revision: u64) -> &mut Epoch {
        let mut epochs = self.epochs.iter_mut();
        let epoch = epochs.find(|epoch| epoch.revision == revision);
        epoch.expect("an epoch stays while it has calls")
    }

    /// A call gives up its place: it has ended, or will not begin.
    fn leave(&mut self, revision: u64, call: CallId, woken: &mut Vec<Arc<Turn>>) {
        let mut effects = std::mem::take(&mut self.effects);
        let epoch = self.epoch(revision);
        let event = match epoch.turns.remove(&call) {
            Some(_) => Event::Cancelled { call },
            // There is one copy of the data: whether it wrote makes no difference to those behind it.
            None => Event::Executed {
                call,
                wrote: Wrote::Something,
            },
        };
        epoch.handle(event, &mut effects, woken);
        self.effects = effects;
        self.take_over(woken);
    }

    /// Gives the worker to the oldest epoch that has calls, or else to the newest.
    fn take_over(&mut self, woken: &mut Vec<Arc<Turn>>) {
        while self.epochs.len() > 1 && self.epochs[0].scheduler.pending() == 0 {
            self.epochs.pop_front();
        }
        let first = self.epochs.front_mut().expect("there is one");
        first.begin(&mut self.effects, woken);
    }
}

impl Epoch {
    /// Without a worker.
    fn new(revision: u64, first: u64, modes: &Modes) -> Epoch {
        Epoch {
            revision,
            first,
            scheduler: Scheduler::new(Config::new(modes.clone())),
            turns: HashMap::new(),
        }
    }

    /// Its calls may run from now on, if they may not already.
    fn begin(&mut self, effects: &mut Vec<Effect>, woken: &mut Vec<Arc<Turn>>) {
        if self.scheduler.has_workers() {
            return;
        }
        let joined = Event::WorkerJoined {
            worker: WORKER,
            slots: u32::MAX,
            holds: Holds::Everything,
            freshness: Freshness::Current,
        };
        self.handle(joined, effects, woken);
    }

    fn handle(&mut self, event: Event, effects: &mut Vec<Effect>, woken: &mut Vec<Arc<Turn>>) {
        self.scheduler.handle(event, effects);
        for effect in effects.drain(..) {
            if let Effect::Run { call, .. } = effect {
                woken.extend(self.turns.remove(&call));
            }
        }
    }
}

impl Place {
    /// Where it stands, for others to see.
    pub fn stand(&self) -> Stand {
        Stand::Line {
            line: self.line,
            call: self.call.0,
        }
    }

    /// What the call still has to wait for.
    pub fn turn(&self) -> Option<&Arc<Turn>> {
        self.turn.as_ref().filter(|turn| !turn.has_come())
    }

    /// The wait is over.
    pub fn note_begun(&mut self) {
        if self.turn.take().is_some() {
            let now = self.chains.clock.monotonic_nanos();
            self.waited = now.saturating_sub(self.since);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.turn.is_some() {
            self.note_begun();
        }
        let mut woken = Vec::new();
        {
            let mut line = self.chains.lines[self.line].lock();
            line.stats.wait_nanos += self.waited;
            line.leave(self.revision, self.call, &mut woken);
        }
        for turn in woken {
            turn.come();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_base::conflict::{Mode, Space};
    use quintet_rt::RealClock;

    const WRITE: Mode = Mode(0);

    fn chains() -> Arc<Chains> {
        Arc::new(Chains::new(Arc::new(RealClock)))
    }

    fn modes() -> Modes {
        let mut modes = Modes::new();
        modes.declare(Space(0), WRITE, WRITE);
        modes
    }

    fn submit(chains: &Arc<Chains>, revision: u64, row: u64) -> Place {
        let keys = vec![ConflictKey::new(Space(0), WRITE, &[row])];
        let place = chains.submit(Level::Serializable, revision, &modes(), keys);
        place.unwrap_or_else(|why| panic!("{why:?}"))
    }

    fn waits(place: &Place) -> bool {
        place.turn().is_some()
    }

    /// Goal: one after the other for one row, side by side for two; a call that leaves the line while it waits
    /// lets nobody past those before it.
    #[test]
    fn calls_of_one_row_go_in_the_order_they_came() {
        let chains = chains();
        let first = submit(&chains, 1, 7);
        let second = submit(&chains, 1, 7);
        let third = submit(&chains, 1, 7);
        let other = submit(&chains, 1, 8);
        assert_eq!(
            [&first, &second, &third, &other].map(waits),
            [false, true, true, false]
        );
        assert_eq!(chains.stats().waiting, 2);
        drop(second);
        assert!(waits(&third), "the first is still there");
        drop(first);
        assert!(!waits(&third));
        drop((third, other));
        let stats = chains.stats();
        assert_eq!((stats.calls, stats.waited, stats.waiting), (4, 2, 0));
    }

    /// Goal: calls of a newer catalogue begin when the last of the older ones has ended, in their own order;
    /// one of an older catalogue is sent back.
    #[test]
    fn a_newer_catalogue_waits_for_the_calls_of_the_older() {
        let chains = chains();
        let old = [submit(&chains, 1, 7), submit(&chains, 1, 8)];
        let new = [
            submit(&chains, 2, 7),
            submit(&chains, 2, 9),
            submit(&chains, 2, 7),
        ];
        let newest = submit(&chains, 4, 1);
        assert!(new.iter().all(waits) && waits(&newest));
        let stale = chains.submit(Level::Serializable, 3, &modes(), Vec::new());
        assert!(matches!(stale, Err(NoPlace::Stale)));
        let [first, last] = old;
        drop(first);
        assert!(new.iter().all(waits));
        drop(last);
        assert_eq!(new.each_ref().map(waits), [false, false, true]);
        let [first, second, third] = new;
        drop(first);
        assert!(!waits(&third) && waits(&newest));
        drop((second, third));
        assert!(!waits(&newest));
        drop(newest);
        assert!(!waits(&submit(&chains, 5, 1)), "nobody is left to wait for");
    }

    /// Goal: an epoch all of whose calls leave before they begin does not hold up the next.
    #[test]
    fn an_epoch_that_nobody_waits_in_is_passed_over() {
        let chains = chains();
        let old = submit(&chains, 1, 7);
        let given_up = submit(&chains, 2, 7);
        let newest = submit(&chains, 3, 7);
        drop(given_up);
        assert!(waits(&newest));
        drop(old);
        assert!(!waits(&newest));
    }

    /// Goal: levels have lines of their own, but for READ COMMITTED.
    #[test]
    fn levels_do_not_meet() {
        let chains = chains();
        let submit = |level| {
            let keys = vec![ConflictKey::new(Space(0), WRITE, &[1])];
            let place = chains.submit(level, 1, &modes(), keys);
            place.unwrap_or_else(|why| panic!("{why:?}"))
        };
        let _serializable = submit(Level::Serializable);
        assert!(!waits(&submit(Level::Snapshot)));
        assert!(waits(&submit(Level::ReadCommitted)));
    }

    /// Goal: the bound on calls in line is kept, and said politely.
    #[test]
    fn one_too_many_is_refused_and_nothing_of_it_stays() {
        let chains = chains();
        let limit = quintet_base::limits::PENDING_CALLS_MAX;
        let submit = || chains.submit(Level::Snapshot, 1, &modes(), Vec::new());
        let places: Vec<_> = (0..limit).map(|_| submit()).collect();
        let Err(NoPlace::Refused(refusal)) = submit() else {
            panic!("there was room for one more");
        };
        let error = refusal.to_sql(Level::Snapshot);
        assert_eq!(error.state.as_str(), "53300", "{error}");
        drop(places);
        assert!(submit().is_ok());
        assert_eq!(chains.stats().refused, 1);
    }
}
