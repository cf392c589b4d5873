//! Row locks: fair queues, and no ring of waiting transactions.
//!
//! Relies on: a transaction waits for at most one lock at a time.  Promises: locks are granted in
//! the order they were asked for; readers in a row share; a wait that would close a ring is refused
//! at once.  Does not: protect versions (entries have a lock word of their own), block a thread (a wait is a
//! future), or survive a restart.
//!
//! A lock exists only while somebody holds it or waits for it. A commit of rows that nobody has
//! locked passes by with one look at a word ([`LockTable::is_wanted`]).
//!
//! A lock is known by the hash of its row and nothing else. Rows whose hashes agree in all 64 bits share one, which keeps
//! too many out and never too few.
//!
//! ```text
//!   ask ──free──► held ──release──► granted to the head of the queue (and to sharers behind it)
//!    └──taken──► queued ──grant──► held            └─ nobody waits: forgotten
//!                   └──ring──► Deadlock
//! ```

mod shelf;

use crate::error::Error;
use crate::place::Place;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering, fence};
use quintet_base::limits::LOCK_WAITERS_MAX;
use quintet_base::{Bytes, SpaceId, TxnId};
use shelf::{Lock, Shelf, Waiter};
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Shards of the lock table: enough that two threads rarely meet.
const SHARDS: usize = 64;

/// So many locks stay in the cache from when they were taken until they are let go.
const CACHED_LOCKS: usize = 4096;

/// By bits that say little about the place in a shard.
fn shard_number(hash: u64) -> usize {
    (hash >> 32) as usize % SHARDS
}

/// Strength of a row lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Strength {
    /// Others may share it; nobody may write the row.
    Shared,
    /// Nobody else may lock or write the row.
    Exclusive,
}

/// What to do when the lock is taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WaitPolicy {
    /// Queue up: [`Error::Blocked`].
    Queue,
    /// [`Error::Locked`].
    Refuse,
}

/// A lock, for who wants to know who waits for whom.
#[derive(Clone, Debug)]
pub struct LockView {
    /// Of which space.
    pub space: SpaceId,
    /// The row's key; empty: the space as a whole.
    pub key: Bytes,
    /// Who has it.
    pub holders: Vec<(TxnId, Strength)>,
    /// Who waits for it, in order.
    pub queue: Vec<(TxnId, Strength)>,
}

impl LockView {
    /// Whom a transaction in the queue waits for: holders, and those before it, that it cannot share with. Empty
    /// if it does not wait here.
    pub fn blockers(&self, txn: TxnId) -> Vec<TxnId> {
        let place = self.queue.iter().position(|(waiter, _)| *waiter == txn);
        let Some(place) = place else {
            return Vec::new();
        };
        let strength = self.queue[place].1;
        let before = self.holders.iter().chain(&self.queue[..place]);
        let conflicts = |(other, held): &&(TxnId, Strength)| {
            *other != txn && (strength == Strength::Exclusive || *held == Strength::Exclusive)
        };
        before.filter(conflicts).map(|(other, _)| *other).collect()
    }
}

/// The hash of what each waiting transaction waits for. Their numbers are given by us: no seed is needed.
type Waiting = HashMap<TxnId, u64, foldhash::fast::FixedState>;

/// Transactions that a search has come by.
type Seen = HashSet<TxnId, foldhash::fast::FixedState>;

#[derive(Default)]
#[repr(align(64))]
struct Shard {
    locks: Mutex<Shelf>,
    /// How many there are, so that commits need not take the mutex to know that there are none.
    /// Written under it.
    count: AtomicUsize,
}

pub(crate) struct LockTable {
    shards: Box<[Shard]>,
    /// Written when one queues up or is granted; read by the search for rings.
    waiting: Mutex<Waiting>,
}

impl Shard {
    fn is_wanted(&self, hash: u64, txn: TxnId) -> bool {
        let locks = self.locks.lock();
        let lock = locks.find(hash);
        lock.is_some_and(|lock| lock.held_by(txn) != Some(Strength::Exclusive))
    }
}

impl LockTable {
    pub fn new() -> LockTable {
        LockTable {
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            waiting: Mutex::new(Waiting::default()),
        }
    }

    /// The shard of a row with this hash.
    fn shard(&self, hash: u64) -> &Shard {
        &self.shards[shard_number(hash)]
    }

    /// Whether others hold the lock of a record or wait for it, so that `txn` has to queue up. For
    /// who has the record's entry locked, after a sequentially consistent fence: who takes the lock
    /// later looks at the entry afterwards ([`LockTable::acquire`]), so one of the two sees the other.
    #[inline]
    pub fn is_wanted(&self, hash: u64, txn: TxnId) -> bool {
        let shard = self.shard(hash);
        shard.count.load(Ordering::Relaxed) != 0 && shard.is_wanted(hash, txn)
    }

    /// Takes the lock, or queues up for it. `true`: it was not held by this transaction before, so
    /// the caller owes a `release`. A transaction that queued up owes one too, from then on.
    ///
    /// # Errors
    /// [`Error::Blocked`] (queued; ask again when the wait is over), [`Error::Locked`],
    /// [`Error::Deadlock`], [`Error::TooManyWaiters`].
    pub fn acquire(
        &self,
        txn: TxnId,
        place: Place<'_>,
        strength: Strength,
        policy: WaitPolicy,
    ) -> Result<bool, Error> {
        let hash = place.hash;
        let shard = self.shard(hash);
        let mut locks = shard.locks.lock();
        let Some(lock) = locks.take(place, txn, strength) else {
            shard.count.store(locks.len(), Ordering::Relaxed);
            // Pairs with the fence before `is_wanted`: either the committer of the row sees that it
            // is locked, or we see its lock on the entry when we look at the row.
            fence(Ordering::SeqCst);
            return Ok(true);
        };
        let held = lock.held_by(txn);
        if held == Some(Strength::Exclusive) || held == Some(strength) {
            return Ok(false);
        }
        if let Some(waiter) = lock.waiters().find(|waiter| waiter.txn == txn) {
            return Err(Error::Blocked(Wait {
                signal: Arc::clone(&waiter.signal),
            }));
        }
        // An upgrade does not wait behind the queue: those behind cannot go before it anyway.
        if lock.admits(txn, strength) && (lock.queue.is_none() || held.is_some()) {
            lock.hold(txn, strength);
            return Ok(held.is_none());
        }
        if policy == WaitPolicy::Refuse {
            return Err(Error::Locked);
        }
        if lock.waiters().count() >= LOCK_WAITERS_MAX {
            return Err(Error::TooManyWaiters);
        }
        let signal = Arc::new(Signal::default());
        let waiter = Waiter {
            txn,
            strength,
            signal: Arc::clone(&signal),
        };
        match held {
            Some(_) => lock.queue().push_front(waiter),
            None => lock.queue().push_back(waiter),
        }
        drop(locks);
        let mut waiting = self.waiting.lock();
        waiting.insert(txn, hash);
        if self.closes_ring(txn, &waiting) {
            waiting.remove(&txn);
            drop(waiting);
            self.leave_queue(txn, hash);
            return Err(Error::Deadlock);
        }
        drop(waiting);
        // The lock may have been granted before we were entered into the graph.
        if signal.is_set() {
            self.waiting.lock().remove(&txn);
        }
        Err(Error::Blocked(Wait { signal }))
    }

    /// Gives up the lock or the place in its queue.
    pub fn release(&self, txn: TxnId, hash: u64) {
        self.leave(txn, hash, true);
    }

    /// The same for many of them.
    pub fn release_all(&self, txn: TxnId, hashes: &mut Vec<u64>) {
        if hashes.len() > CACHED_LOCKS {
            // One shard after the other: what it has is in the cache then.
            hashes.sort_unstable_by_key(|hash| shard_number(*hash));
        }
        for hash in hashes.drain(..) {
            self.release(txn, hash);
        }
    }

    fn leave_queue(&self, txn: TxnId, hash: u64) {
        self.leave(txn, hash, false);
    }

    fn leave(&self, txn: TxnId, hash: u64, and_lock: bool) {
        let mut granted = Vec::new();
        {
            let shard = self.shard(hash);
            let mut locks = shard.locks.lock();
            let Some(lock) = locks.find_mut(hash) else {
                return;
            };
            if and_lock {
                lock.holders.retain(|(holder, _)| *holder != txn);
            }
            if let Some(queue) = &mut lock.queue {
                queue.waiters.retain(|waiter| waiter.txn != txn);
                lock.grant(&mut granted);
            }
            if lock.holders.is_empty() {
                locks.remove(hash);
                shard.count.store(locks.len(), Ordering::Relaxed);
            }
        }
        if granted.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock();
        for waiter in &granted {
            waiting.remove(&waiter.txn);
        }
        drop(waiting);
        for waiter in granted {
            waiter.signal.set();
        }
    }

    /// Whether a transaction stands in a queue.
    pub fn is_waiting(&self, txn: TxnId) -> bool {
        self.waiting.lock().contains_key(&txn)
    }

    /// Takes a transaction out of the queue that it waits in, if it still does; it goes on without that lock.
    pub fn give_up(&self, txn: TxnId) {
        let hash = self.waiting.lock().remove(&txn);
        if let Some(hash) = hash {
            self.leave_queue(txn, hash);
        }
    }

    /// Forgets that a transaction waits (it gave up).
    pub fn stop_waiting(&self, txn: TxnId) {
        self.waiting.lock().remove(&txn);
    }

    /// Depth-first search from `start`, who queued up last, over "waits for": the holders of the lock
    /// it waits for. Those before it in the queue are waited for as well, but need no edges: they wait
    /// for the same holders, and `start` is before nobody whom it does not keep waiting as a holder.
    fn closes_ring(&self, start: TxnId, waiting: &Waiting) -> bool {
        let mut seen = Seen::default();
        let mut stack = vec![start];
        while let Some(txn) = stack.pop() {
            let Some(hash) = waiting.get(&txn) else {
                continue;
            };
            let locks = self.shard(*hash).locks.lock();
            let Some(lock) = locks.find(*hash) else {
                continue;
            };
            if !lock.waiters().any(|waiter| waiter.txn == txn) {
                continue; // granted meanwhile
            }
            let holders = lock.holders.iter().map(|(holder, _)| *holder);
            for next in holders.filter(|next| *next != txn) {
                if next == start {
                    return true;
                }
                if seen.insert(next) {
                    stack.push(next);
                }
            }
        }
        false
    }

    /// All locks: each as it was at one moment, together of no one moment.
    pub fn views(&self) -> Vec<LockView> {
        let mut views = Vec::new();
        for shard in &self.shards {
            if shard.count.load(Ordering::Relaxed) > 0 {
                let locks = shard.locks.lock();
                views.extend(locks.iter().map(Lock::view));
            }
        }
        views
    }

    /// Of each other transaction that has rows of these spaces to itself, one of them. Before them, by an empty key, the spaces in which
    /// one that has no row has said that it writes.
    pub fn writers(&self, spaces: &[SpaceId], txn: TxnId) -> Vec<(SpaceId, Bytes)> {
        let mut seen = Seen::default();
        let (mut rows, mut whole) = (Vec::new(), Vec::new());
        for shard in &self.shards {
            if shard.count.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let locks = shard.locks.lock();
            for lock in locks.iter().filter(|lock| spaces.contains(&lock.space())) {
                for (holder, strength) in lock.holders.iter().filter(|(of, _)| *of != txn) {
                    match (lock.key().is_empty(), strength) {
                        (true, Strength::Shared) => whole.push((*holder, lock.space())),
                        (false, Strength::Exclusive) if seen.insert(*holder) => {
                            rows.push((lock.space(), Bytes::copy_from_slice(lock.key())));
                        }
                        _ => {}
                    }
                }
            }
        }
        // Who waits for a row keeps nobody from the others.
        whole.retain(|(holder, _)| !seen.contains(holder));
        let mut spaces: Vec<SpaceId> = whole.into_iter().map(|(_, space)| space).collect();
        spaces.sort_unstable();
        spaces.dedup();
        let spaces = spaces.into_iter().map(|space| (space, Bytes::new()));
        spaces.chain(rows).collect()
    }

    /// One of them, if somebody holds it.
    pub fn view(&self, place: Place<'_>) -> Option<LockView> {
        let locks = self.shard(place.hash).locks.lock();
        locks.find(place.hash).map(Lock::view)
    }

    /// Number of transactions that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.lock().len()
    }
}

#[derive(Default)]
struct Signal {
    state: Mutex<(bool, Option<Waker>)>,
}

impl Signal {
    fn set(&self) {
        let waker = {
            let mut state = self.state.lock();
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn is_set(&self) -> bool {
        self.state.lock().0
    }
}

/// A place in a queue. Resolves when it is this transaction's turn; then do the same operation
/// again. Dropping it does not give the place up; aborting the transaction does.
pub struct Wait {
    signal: Arc<Signal>,
}

impl Wait {
    /// A wait that is over when the returned closure is called.
    pub(crate) fn manual() -> (Wait, impl FnOnce() + Send + Sync) {
        let signal = Arc::new(Signal::default());
        let setter = Arc::clone(&signal);
        (Wait { signal }, move || setter.set())
    }

    /// Blocks the thread until it is over.
    pub fn wait(self) {
        quintet_rt::block_on(self);
    }
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.signal.state.lock();
        if state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(context.waker().clone());
        Poll::Pending
    }
}

impl std::fmt::Debug for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Wait {{ over: {} }}", self.signal.is_set())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Strength::{Exclusive, Shared};

    fn place(name: &'static str) -> Place<'static> {
        Place::new(SpaceId(1), name.as_bytes())
    }

    fn release(table: &LockTable, txn: u64, name: &'static str) {
        table.release(TxnId(txn), place(name).hash);
    }

    fn ask(table: &LockTable, txn: u64, name: &'static str, strength: Strength) -> &'static str {
        match table.acquire(TxnId(txn), place(name), strength, WaitPolicy::Queue) {
            Ok(true) => "granted",
            Ok(false) => "held",
            Err(Error::Blocked(wait)) if wait.signal.is_set() => "turn",
            Err(Error::Blocked(_)) => "waits",
            Err(Error::Deadlock) => "deadlock",
            Err(_) => "refused",
        }
    }

    #[test]
    fn waiters_are_served_in_order_and_sharers_together() {
        let table = LockTable::new();
        assert_eq!(ask(&table, 1, "a", Exclusive), "granted");
        assert_eq!(ask(&table, 2, "a", Shared), "waits");
        assert_eq!(ask(&table, 3, "a", Shared), "waits");
        assert_eq!(ask(&table, 4, "a", Exclusive), "waits");
        assert_eq!(ask(&table, 5, "a", Shared), "waits");
        release(&table, 1, "a");
        assert_eq!(ask(&table, 2, "a", Shared), "held");
        assert_eq!(ask(&table, 3, "a", Shared), "held");
        assert_eq!(
            ask(&table, 5, "a", Shared),
            "waits",
            "a sharer must not pass a waiting writer"
        );
        release(&table, 2, "a");
        release(&table, 3, "a");
        assert_eq!(ask(&table, 4, "a", Exclusive), "held");
        release(&table, 4, "a");
        assert_eq!(ask(&table, 5, "a", Shared), "held");
        release(&table, 5, "a");
        assert!(
            table
                .shards
                .iter()
                .all(|shard| shard.locks.lock().len() == 0
                    && shard.count.load(Ordering::Relaxed) == 0),
            "locks are forgotten"
        );
        assert_eq!(table.waiting(), 0);
    }

    #[test]
    fn who_waits_is_seen_to_wait_for_those_it_cannot_pass() {
        let table = LockTable::new();
        assert!(table.view(place("a")).is_none() && table.views().is_empty());
        assert_eq!(ask(&table, 1, "a", Shared), "granted");
        assert_eq!(ask(&table, 2, "a", Shared), "granted");
        assert_eq!(ask(&table, 3, "a", Exclusive), "waits");
        assert_eq!(ask(&table, 4, "a", Shared), "waits");
        assert_eq!(ask(&table, 5, "b", Exclusive), "granted");
        let view = table.view(place("a")).unwrap();
        let blockers = |txn| view.blockers(TxnId(txn)).iter().map(|txn| txn.0).collect();
        let found: [Vec<u64>; 4] = [1, 3, 4, 5].map(blockers);
        assert_eq!(found, [vec![], vec![1, 2], vec![3], vec![]]);
        assert_eq!(table.views().len(), 2);
        release(&table, 1, "a");
        release(&table, 2, "a");
        let view = table.view(place("a")).unwrap();
        assert!(view.blockers(TxnId(3)).is_empty(), "it has it");
        assert_eq!(view.blockers(TxnId(4)), [TxnId(3)]);
    }

    #[test]
    fn a_commit_waits_for_whoever_has_the_row_or_asked_before() {
        let table = LockTable::new();
        let wanted = |txn| table.is_wanted(place("a").hash, TxnId(txn));
        assert!(!wanted(9));
        assert_eq!(ask(&table, 1, "a", Shared), "granted");
        assert!(wanted(9), "others read it");
        assert!(wanted(1), "shared is not enough to write");
        assert_eq!(ask(&table, 1, "a", Exclusive), "held");
        assert!(!wanted(1));
        assert_eq!(ask(&table, 2, "a", Exclusive), "waits");
        assert!(!wanted(1), "who holds it goes before who waits");
        release(&table, 1, "a");
        assert!(!wanted(2));
        assert!(wanted(1));
        release(&table, 2, "a");
        assert!(!wanted(1));
    }

    #[test]
    fn a_ring_is_refused_at_its_last_edge() {
        let table = LockTable::new();
        for (txn, name) in [(1, "a"), (2, "b"), (3, "c")] {
            assert_eq!(ask(&table, txn, name, Exclusive), "granted");
        }
        assert_eq!(ask(&table, 1, "b", Exclusive), "waits");
        assert_eq!(ask(&table, 2, "c", Exclusive), "waits");
        assert_eq!(ask(&table, 3, "a", Exclusive), "deadlock");
        release(&table, 3, "c");
        assert_eq!(ask(&table, 2, "c", Exclusive), "held");
    }

    #[test]
    fn two_upgrades_of_one_shared_lock_are_a_ring_and_one_is_not() {
        let table = LockTable::new();
        assert_eq!(ask(&table, 1, "a", Shared), "granted");
        assert_eq!(ask(&table, 1, "a", Exclusive), "held");
        release(&table, 1, "a");
        assert_eq!(ask(&table, 1, "a", Shared), "granted");
        assert_eq!(ask(&table, 2, "a", Shared), "granted");
        assert_eq!(ask(&table, 1, "a", Exclusive), "waits");
        assert_eq!(ask(&table, 2, "a", Exclusive), "deadlock");
        release(&table, 2, "a");
        assert_eq!(ask(&table, 1, "a", Exclusive), "held");
    }

    /// Everybody whom `txn` waits for, each by themselves: what the search leaves out is in here.
    fn waits_for(table: &LockTable, txn: TxnId) -> Vec<TxnId> {
        let waiting = table.waiting.lock();
        let Some(hash) = waiting.get(&txn) else {
            return Vec::new();
        };
        let locks = table.shard(*hash).locks.lock();
        let lock = locks.find(*hash).expect("somebody holds it");
        let Some(place) = lock.waiters().position(|waiter| waiter.txn == txn) else {
            return Vec::new();
        };
        let before = lock.waiters().take(place).map(|waiter| waiter.txn);
        let holders = lock.holders.iter().map(|(holder, _)| *holder);
        holders.chain(before).filter(|next| *next != txn).collect()
    }

    fn is_in_a_ring(table: &LockTable, txn: TxnId) -> bool {
        let (mut stack, mut seen) = (waits_for(table, txn), HashSet::new());
        while let Some(next) = stack.pop() {
            if next == txn {
                return true;
            }
            if seen.insert(next) {
                stack.extend(waits_for(table, next));
            }
        }
        false
    }

    #[test]
    fn exactly_the_waits_that_close_a_ring_are_refused() {
        const NAMES: [&str; 4] = ["a", "b", "c", "d"];
        let (mut refused, mut queued) = (0, 0);
        for seed in 0..400 {
            let mut rand = quintet_rt::Rand::seeded(seed);
            let table = LockTable::new();
            for _ in 0..120 {
                let txn = 1 + rand.below(9);
                let waits = table.waiting.lock().contains_key(&TxnId(txn));
                if waits || rand.one_in(6) {
                    // Who waits can only give up; so can anybody.
                    if rand.one_in(3) {
                        table.stop_waiting(TxnId(txn));
                        for name in NAMES {
                            release(&table, txn, name);
                        }
                    }
                    continue;
                }
                let name = NAMES[rand.below(4) as usize];
                let strength = if rand.one_in(2) { Shared } else { Exclusive };
                match ask(&table, txn, name, strength) {
                    "deadlock" => {
                        refused += 1;
                        // The same wait, entered without being asked, is in a ring.
                        let hash = place(name).hash;
                        let waiter = Waiter {
                            txn: TxnId(txn),
                            strength,
                            signal: Arc::default(),
                        };
                        let mut locks = table.shard(hash).locks.lock();
                        let lock = locks.find_mut(hash).expect("somebody holds it");
                        match lock.held_by(TxnId(txn)) {
                            Some(_) => lock.queue().push_front(waiter),
                            None => lock.queue().push_back(waiter),
                        }
                        drop(locks);
                        table.waiting.lock().insert(TxnId(txn), hash);
                        assert!(is_in_a_ring(&table, TxnId(txn)), "seed {seed}");
                        table.stop_waiting(TxnId(txn));
                        table.leave_queue(TxnId(txn), hash);
                    }
                    _ => queued += usize::from(table.waiting.lock().contains_key(&TxnId(txn))),
                }
                for txn in 1..10 {
                    assert!(!is_in_a_ring(&table, TxnId(txn)), "seed {seed}");
                }
            }
        }
        assert!(refused > 300 && queued > 3_000, "{refused}, {queued}");
    }

    #[test]
    fn who_gives_up_waiting_is_in_nobodys_way_and_may_ask_again() {
        let table = LockTable::new();
        assert_eq!(ask(&table, 1, "a", Exclusive), "granted");
        assert_eq!(ask(&table, 2, "b", Exclusive), "granted");
        assert_eq!(ask(&table, 2, "a", Exclusive), "waits");
        assert!(table.is_waiting(TxnId(2)));
        table.give_up(TxnId(2));
        assert!(!table.is_waiting(TxnId(2)));
        assert_eq!(ask(&table, 1, "b", Exclusive), "waits", "no ring");
        release(&table, 1, "a");
        assert_eq!(ask(&table, 3, "a", Exclusive), "granted");
        assert_eq!(ask(&table, 2, "a", Exclusive), "waits");
        table.give_up(TxnId(2));
        table.give_up(TxnId(2));
        assert_eq!(ask(&table, 2, "b", Exclusive), "held");
    }

    #[test]
    fn giving_up_a_place_lets_those_behind_move_up() {
        let table = LockTable::new();
        assert_eq!(ask(&table, 1, "a", Shared), "granted");
        assert_eq!(ask(&table, 2, "a", Exclusive), "waits");
        assert_eq!(ask(&table, 3, "a", Shared), "waits");
        table.stop_waiting(TxnId(2));
        release(&table, 2, "a");
        assert_eq!(ask(&table, 3, "a", Shared), "held");
        let refused = table.acquire(TxnId(4), place("a"), Exclusive, WaitPolicy::Refuse);
        assert!(matches!(refused, Err(Error::Locked)));
    }
}
