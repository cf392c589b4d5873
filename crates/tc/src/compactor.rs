//! When memory is moved to STORE, and who waits for it.
//!
//! Relies on: `compact` for what a pass does.  Promises: the log that STORE does not have is never
//! longer than the log's buffers: commits wait for the merge; one pass at a time; whoever watches is told of
//! each post that fails, and of the first one after that succeeds.  Does not: hold back readers, or log.
//!
//! ```text
//!   commit ──enough dirty, or removed, or buffers three quarters full──► wanted ─► pass ─► room, waiters woken
//!     ├──nearly no room, and a pass is under way──► held back, up to a millisecond
//!     └──no room──► waits; refused if the last pass has failed
//! ```

use crate::compact;
use crate::config::Posting;
use crate::error::{Error, PostFailure};
use crate::locks::Wait;
use crate::shared::Shared;
use parking_lot::{Condvar, Mutex};
use quintet_base::Timestamp;
use quintet_rt::threads;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How many records are filled in from STORE between two looks at the table's weight.
const FILLS_BETWEEN_LOOKS: u64 = 64;

/// A pass begins earlier by so many parts of `freeze_bytes`, by so many of them to begin with, and by no more than so many.
const STEPS: u64 = 32;
const STEPS_EARLIER_AT_FIRST: u64 = 12;
const STEPS_EARLIER_MAX: u64 = 24;

/// How long a commit is held back at most.
const HELD_BACK_MAX: Duration = Duration::from_millis(1);

/// Shorter pauses are put together: a thread that sleeps for less comes back no sooner.
const HELD_BACK_TOGETHER: Duration = Duration::from_micros(50);

/// How long the thread rests after a pass that has failed, unless somebody waits for the next one. Commits ask for it all
/// the time then, and each attempt goes through all that STORE lacks: with a full disk that took a whole processor.
const REST_AFTER_FAILURE: Duration = Duration::from_millis(500);

/// What the compactor thread is told.
#[derive(Default)]
struct Turn {
    wanted: bool,
    stop: bool,
    /// So many wait for the end of a pass.
    awaited: usize,
    /// Passes finished, and what the last one said if it failed.
    finished: u64,
    failed: Option<PostFailure>,
}

/// Told of a failed post, or, with nothing, that posting works again.
pub(crate) type Watcher = Arc<dyn Fn(Option<&PostFailure>) + Send + Sync>;

type RoomWaiter = Box<dyn FnOnce() + Send + Sync>;

/// In [`STEPS`].
struct Earlier(AtomicU64);

impl Default for Earlier {
    fn default() -> Earlier {
        Earlier(AtomicU64::new(STEPS_EARLIER_AT_FIRST))
    }
}

/// Whose turn it is to compact, and who waits for what that brings.
#[derive(Default)]
pub(crate) struct Turns {
    turn: Mutex<Turn>,
    changed: Condvar,
    /// Set while the turn is wanted, so that commits need not take the lock to know.
    wanted: AtomicBool,
    /// There is no thread: who wants a pass runs it.
    is_driven: AtomicBool,
    /// The next pass posts to STORE; otherwise it only gives memory back.
    post_wanted: AtomicBool,
    /// The next post ends with a checkpoint, due or not.
    checkpoint_wanted: AtomicBool,
    /// Somebody has begun to wait for the end of a pass while one was under way.
    awaited: AtomicBool,
    room: Mutex<Vec<RoomWaiter>>,
    /// How much earlier than the configuration says a pass begins; see [`enough`].
    earlier: Earlier,
    /// Nanoseconds that commits are to be held back and have not been.
    owed: AtomicU64,
    /// The last one set, called by whoever runs a pass.
    watcher: Mutex<Option<Watcher>>,
}

/// The thread, if there is one; gone when this is.
pub(crate) struct Compactor {
    shared: Arc<Shared>,
    thread: Mutex<Option<threads::JoinHandle<()>>>,
}

/// Tells everybody who waits for the compactor that it is gone.
struct StopOnUnwind<'a>(&'a Shared);

impl Drop for StopOnUnwind<'_> {
    fn drop(&mut self) {
        let mut turn = self.0.turns.turn.lock();
        if !turn.stop {
            turn.stop = true;
            turn.failed = Some(PostFailure {
                reason: "the compactor has panicked".into(),
                is_disk_full: false,
            });
        }
        drop(turn);
        self.0.turns.changed.notify_all();
        self.0.signal_room();
    }
}

impl Shared {
    /// What the log's buffers would hold if they also held what recovery has brought back: the longest
    /// of what a crash now would leave to be replayed and what is in use.
    pub fn used(&self, end: Timestamp) -> u64 {
        end.0.saturating_sub(self.held().0)
    }

    /// From here on.
    fn held(&self) -> Timestamp {
        let checkpointed = self.checkpointed.load(Ordering::Relaxed);
        Timestamp(self.log.reclaimed().0.min(checkpointed))
    }

    /// Whether the log's buffers take a record of so many bytes, and leave some room for those that
    /// ask at the same time.
    fn has_room(&self, bytes: usize) -> bool {
        let ring = self.log.ring_bytes();
        self.used(self.end()) + bytes as u64 + ring / 16 <= ring
    }

    /// Refuses to add more versions while the buffers are full: [`Error::Blocked`], or
    /// [`Error::NoRoom`] or [`Error::PostFailed`] if they cannot be emptied. Takes its time when they are nearly full.
    pub fn wait_for_room(&self, bytes: usize) -> Result<(), Error> {
        if self.has_room(bytes) {
            self.hold_back();
            return Ok(());
        }
        // Taken out first: in an `if let` the lock would be held while the turn is asked for.
        let failed = self.turns.turn.lock().failed.clone();
        if let Some(failure) = failed {
            self.want_compaction();
            return Err(failure.refusal());
        }
        Err(self.queue_for_room(bytes))
    }

    /// Room comes with the end of a pass, which may be seconds away. So that nobody has to wait for it, commits go
    /// the slower the fuller the buffers are, and leave their processor to the compactor.
    fn hold_back(&self) {
        let pause = pause_of(self.used(self.end()), self.log.ring_bytes());
        if pause.is_zero() || !self.stats.compacting.load(Ordering::Relaxed) {
            return;
        }
        let pause = pause.as_nanos() as u64;
        let owed = self.turns.owed.fetch_add(pause, Ordering::Relaxed) + pause;
        if u128::from(owed) < HELD_BACK_TOGETHER.as_nanos() {
            return;
        }
        // Of two who come at once one pays for both.
        let owed = Duration::from_nanos(self.turns.owed.swap(0, Ordering::Relaxed));
        self.stats.held_back.fetch_add(1, Ordering::Relaxed);
        self.config.clock.sleep(owed.min(HELD_BACK_MAX));
    }

    /// A place among those who wait for room for so many bytes; also for whom the log has refused for want of
    /// buffers, although there seemed to be room.
    pub fn queue_for_room(&self, bytes: usize) -> Error {
        let (wait, set) = Wait::manual();
        self.turns.room.lock().push(Box::new(set));
        self.stats.stalls.fetch_add(1, Ordering::Relaxed);
        // The merge may have ended before we were in the list.
        if self.has_room(bytes) {
            self.signal_room();
        }
        self.want_compaction();
        Error::Blocked(wait)
    }

    /// Wakes commits that wait for room.
    pub fn signal_room(&self) {
        let waiters = std::mem::take(&mut *self.turns.room.lock());
        waiters.into_iter().for_each(|set| set());
    }

    pub fn compact_if_full(&self, end: Timestamp) {
        if self.turns.wanted.load(Ordering::Relaxed) {
            return;
        }
        let dirty = end.0.saturating_sub(self.generations.newest().0);
        let used = self.used(end);
        let enough = match self.config.posting {
            Posting::Frozen => enough(
                self.config.freeze_bytes as u64,
                self.turns.earlier.0.load(Ordering::Relaxed),
            ),
            Posting::Continuous { piece_bytes } => piece_bytes as u64,
        };
        if dirty >= enough || used >= self.log.ring_bytes() / 4 * 3 {
            self.want_compaction();
        }
    }

    /// A record was read from STORE, and filled in if there was room.
    pub fn filled(&self) {
        let count = self.stats.fills.fetch_add(1, Ordering::Relaxed);
        let is_over = || self.table.is_over(self.records_bytes_max());
        if !count.is_multiple_of(FILLS_BETWEEN_LOOKS) || !is_over() {
            return;
        }
        // Here, since the compactor may be in a merge of many seconds, through which nothing would be
        // filled in.
        compact::evict_some(self);
        if is_over() && !self.turns.wanted.load(Ordering::Relaxed) {
            self.want_pass();
        }
    }

    pub fn want_compaction(&self) {
        self.turns.post_wanted.store(true, Ordering::Release);
        self.want_pass();
    }

    pub fn want_pass(&self) {
        self.turns.wanted.store(true, Ordering::Relaxed);
        self.turns.turn.lock().wanted = true;
        self.turns.changed.notify_all();
    }

    /// Moves everything committed so far into STORE, on this thread. One at a time.
    pub fn compact_here(&self) -> Result<(), PostFailure> {
        self.turns.checkpoint_wanted.store(true, Ordering::Release);
        self.turns.post_wanted.store(true, Ordering::Release);
        self.run_pass();
        self.turns.turn.lock().failed.clone().map_or(Ok(()), Err)
    }

    /// Runs a pass on this thread if nobody else will, and says whether it was run.
    pub fn compact_here_if_driven(&self) -> bool {
        self.turns.is_driven.load(Ordering::Relaxed) && self.compact_here_if_wanted()
    }

    /// Moves everything committed so far into STORE, and returns when that is done.
    pub fn compact_now(&self) -> Result<(), PostFailure> {
        match self.turns.is_driven.load(Ordering::Relaxed) {
            true => self.compact_here(),
            false => self.compact_there(),
        }
    }

    pub fn watch_posts(&self, watcher: Watcher) {
        *self.turns.watcher.lock() = Some(watcher);
    }

    /// Runs a pass on this thread if one is wanted, and says whether it was.
    pub fn compact_here_if_wanted(&self) -> bool {
        let wanted = self.turns.turn.lock().wanted;
        if wanted {
            self.run_pass();
        }
        wanted
    }

    /// Whether there is somebody who has said [`Shared::hurry_pass`] since the last one ended.
    pub fn pass_is_awaited(&self) -> bool {
        self.turns.awaited.load(Ordering::Relaxed)
    }

    /// Somebody does nothing else until the pass has ended that is under way.
    pub fn hurry_pass(&self) {
        self.turns.awaited.store(true, Ordering::Relaxed);
    }

    /// Has the thread move everything committed so far into STORE, and waits for it.
    pub fn compact_there(&self) -> Result<(), PostFailure> {
        let mut turn = self.turns.turn.lock();
        turn.awaited += 1;
        // A pass that is running may have frozen before our commit; wait for one that starts now.
        let target = turn.finished + if turn.wanted { 2 } else { 1 };
        while turn.finished < target && !turn.stop {
            self.turns.checkpoint_wanted.store(true, Ordering::Release);
            self.turns.post_wanted.store(true, Ordering::Release);
            self.hurry_pass();
            turn.wanted = true;
            self.turns.changed.notify_all();
            self.turns.changed.wait(&mut turn);
        }
        turn.awaited -= 1;
        turn.failed.clone().map_or(Ok(()), Err)
    }

    /// The compactor thread. A failed pass (a full disk) is tried again when it is next wanted.
    fn compact_when_told(&self) {
        // A panic here is a bug; whoever waits must hear of it all the same.
        let _guard = StopOnUnwind(self);
        loop {
            {
                let mut turn = self.turns.turn.lock();
                let clock = &self.config.clock;
                let rested_at = match turn.failed {
                    Some(_) => clock.monotonic_nanos() + REST_AFTER_FAILURE.as_nanos() as u64,
                    None => 0,
                };
                while !turn.stop {
                    let rest = rested_at.saturating_sub(clock.monotonic_nanos());
                    if turn.wanted && (rest == 0 || turn.awaited > 0) {
                        break;
                    }
                    match rest {
                        0 => self.turns.changed.wait(&mut turn),
                        rest => {
                            let rest = Duration::from_nanos(rest);
                            self.turns.changed.wait_for(&mut turn, rest);
                        }
                    }
                }
                if turn.stop {
                    return;
                }
            }
            self.run_pass();
        }
    }

    fn run_pass(&self) {
        let post = self.turns.post_wanted.swap(false, Ordering::AcqRel);
        self.stats.compacting.store(post, Ordering::Relaxed);
        let held = self.held().0;
        let result = if post {
            let checkpoint = self.turns.checkpoint_wanted.swap(false, Ordering::AcqRel);
            Some(compact::compact(self, checkpoint))
        } else {
            compact::give_back(self);
            None
        };
        self.stats.compacting.store(false, Ordering::Relaxed);
        if matches!(result, Some(Ok(()))) {
            let used = self.end().0.saturating_sub(held);
            let before = self.turns.earlier.0.load(Ordering::Relaxed);
            let next = next_earlier(before, used, self.log.ring_bytes());
            self.turns.earlier.0.store(next, Ordering::Relaxed);
        }
        self.turns.wanted.store(false, Ordering::Relaxed);
        let mut turn = self.turns.turn.lock();
        // Asked for while this pass was under way, it may have come too late for it.
        turn.wanted = self.turns.post_wanted.load(Ordering::Acquire);
        turn.finished += 1;
        // Whoever waits for the next one says so again.
        self.turns.awaited.store(false, Ordering::Relaxed);
        let mut news = false;
        if let Some(result) = result {
            let had_failed = turn.failed.take().is_some();
            turn.failed = result.err().map(|error| PostFailure::new(&error));
            if turn
                .failed
                .as_ref()
                .is_some_and(|failure| failure.is_disk_full)
            {
                // Space for the next attempt. What cannot be removed stays, and is found again.
                let _ = self.log.give_spares_back();
            }
            news = had_failed || turn.failed.is_some();
        }
        let failed = turn.failed.clone();
        drop(turn);
        let watcher = self.turns.watcher.lock().clone().filter(|_| news);
        if let Some(watcher) = watcher {
            watcher(failed.as_ref());
        }
        self.turns.changed.notify_all();
        // Whoever waits for room looks again, and asks again if there is still none.
        self.signal_room();
    }
}

/// How much of the log is dirty when a pass begins, by how much earlier than `freeze` it is to begin.
fn enough(freeze: u64, earlier: u64) -> u64 {
    freeze / STEPS * (STEPS - earlier)
}

/// How much earlier the next pass begins, by how full the buffers were when one ended: so early that it ends before commits
/// are held back ([`pause_of`]), and no earlier, since a row that is written all the time is merged once a pass.
fn next_earlier(earlier: u64, used: u64, ring: u64) -> u64 {
    if used > ring / 16 * 12 {
        (earlier + 4).min(STEPS_EARLIER_MAX)
    } else if used < ring / 16 * 9 {
        earlier.saturating_sub(1)
    } else {
        earlier
    }
}

/// How long a commit is held back when so many bytes of so many are in use.
fn pause_of(used: u64, ring: u64) -> Duration {
    // From here on; further on, nobody gets room any more ([`Shared::has_room`]).
    let from = ring / 16 * 13;
    let over = used.saturating_sub(from).min(ring / 8);
    HELD_BACK_MAX.mul_f64(over as f64 / (ring / 8) as f64)
}

impl Compactor {
    /// Starts the thread.
    pub fn start(shared: &Arc<Shared>) -> Compactor {
        let worker = Arc::clone(shared);
        let thread = threads::spawn("tc-compact", move || worker.compact_when_told());
        Compactor {
            shared: Arc::clone(shared),
            thread: Mutex::new(Some(thread)),
        }
    }

    /// There is no thread: somebody calls [`Shared::compact_here`].
    pub fn driven(shared: &Arc<Shared>) -> Compactor {
        shared.turns.is_driven.store(true, Ordering::Relaxed);
        Compactor {
            shared: Arc::clone(shared),
            thread: Mutex::new(None),
        }
    }

    /// Whether somebody has to call.
    pub fn is_driven(&self) -> bool {
        self.thread.lock().is_none()
    }
}

impl Drop for Compactor {
    fn drop(&mut self) {
        self.shared.turns.turn.lock().stop = true;
        self.shared.hurry_pass();
        self.shared.turns.changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where it settles if `inflow` sixteenths of what a pass moves come meanwhile: how dirty the log is when a pass begins,
    /// and how full when it ends.
    fn settled(ring: u64, freeze: u64, inflow: u64) -> (u64, u64) {
        let (mut earlier, mut dirty, mut used) = (STEPS_EARLIER_AT_FIRST, freeze, 0);
        for _ in 0..200 {
            let more = dirty / 16 * inflow;
            used = dirty + more;
            earlier = next_earlier(earlier, used, ring);
            dirty = enough(freeze, earlier).max(more);
        }
        (dirty, used)
    }

    #[test]
    fn passes_begin_so_early_that_nobody_is_held_back_and_no_earlier() {
        const RING: u64 = 1 << 20;
        const FREEZE: u64 = RING / 2;
        assert_eq!(settled(RING, FREEZE, 1).0, FREEZE);
        for inflow in 1..=14 {
            let (dirty, used) = settled(RING, FREEZE, inflow);
            assert!(pause_of(used, RING).is_zero(), "{inflow}: {used} of {RING}");
            assert!(dirty > RING / 4, "{inflow}: {dirty} of {RING}");
        }
        assert_eq!(enough(FREEZE, STEPS_EARLIER_MAX), FREEZE / 4);
    }

    #[test]
    fn the_fuller_the_longer_and_no_longer_than_what_is_said() {
        const RING: u64 = 1 << 20;
        let pauses: Vec<Duration> = (0..=64)
            .map(|part| pause_of(RING / 64 * part, RING))
            .collect();
        assert!(pauses.is_sorted());
        assert!(pauses[52].is_zero(), "thirteen sixteenths are no reason");
        assert!(!pauses[53].is_zero());
        assert_eq!(pauses[56], HELD_BACK_MAX / 2);
        // From there on nobody gets room.
        assert_eq!(pauses[60..], [HELD_BACK_MAX; 5]);
    }
}
