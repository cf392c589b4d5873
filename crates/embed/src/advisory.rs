//! Advisory locks: numbers that sessions lock for a meaning of their own.
//!
//! Relies on: nothing.  Promises: exclusive or shared, as often as one likes, each for a session or for a
//! transaction; who waits is served in the order of arrival; a ring of waits among them is found when it would close.
//! Does not: look at waits for rows: who stands in line looks for rings through both from time to time (`session::waits`).
//!
//! ```text
//!   key ──► holders: session, exclusive and shared, how often for the session and for its transaction
//!       └─► line:    session, exclusive or shared; granted from the front as far as they fit
//! ```

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

/// One number of 64 bits, or two of 32: different keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Key {
    One(i64),
    Two(i32, i32),
}

/// How a key is locked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Way {
    pub shared: bool,
    /// Until the transaction ends; else until it is unlocked or the session ends.
    pub transaction: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct AdvisoryLocks {
    keys: Mutex<HashMap<Key, Locked>>,
    owners: AtomicU64,
}

#[derive(Default)]
struct Locked {
    /// By owner and way, how often; never 0.
    holders: BTreeMap<(u64, Way), u64>,
    line: VecDeque<Waiting>,
}

struct Waiting {
    owner: u64,
    way: Way,
    waker: Option<Waker>,
}

/// A session as a holder of locks. What it holds is given back when it is dropped.
pub(crate) struct Owner {
    locks: Arc<AdvisoryLocks>,
    number: u64,
    /// The key that it stands in line for.
    waits_for: Option<Key>,
    /// It may hold something for its transaction: most transactions end without a look at the locks.
    in_transaction: bool,
    /// What it has taken for its transaction, in that order.
    taken: Vec<(Key, Way)>,
    /// Since when it stands in line, and when it looks for a ring: on the monotonic clock.
    pub looks: Option<(u64, u64)>,
}

/// What came of an attempt to lock.
pub(crate) enum Attempt {
    Locked,
    /// It stands in line; ask again when this is over.
    Wait(Turn),
    /// Waiting would never end.
    Deadlock,
}

/// Until an owner stands in line no more.
pub(crate) struct Turn {
    locks: Arc<AdvisoryLocks>,
    key: Key,
    owner: u64,
}

impl Locked {
    /// Whether others hold nothing that forbids it.
    fn is_free_for(&self, owner: u64, shared: bool) -> bool {
        let mut others = self.holders.keys().filter(|(holder, _)| *holder != owner);
        others.all(|(_, way)| shared && way.shared)
    }

    fn grant(&mut self, owner: u64, way: Way) {
        *self.holders.entry((owner, way)).or_default() += 1;
    }

    /// Grants from the front of the line what fits.
    fn serve(&mut self) {
        while let Some(first) = self.line.front()
            && self.is_free_for(first.owner, first.way.shared)
            && let Some(first) = self.line.pop_front()
        {
            self.grant(first.owner, first.way);
            if let Some(waker) = first.waker {
                waker.wake();
            }
        }
    }

    /// Who must be over before an owner in the line is served, or one who joins it now.
    fn before(&self, owner: u64, shared: bool) -> Vec<u64> {
        let holders = self
            .holders
            .keys()
            .filter(|(_, way)| !(shared && way.shared));
        let ahead = self
            .line
            .iter()
            .take_while(|waiting| waiting.owner != owner);
        let mut found: Vec<u64> = holders.map(|(holder, _)| *holder).collect();
        found.extend(
            ahead
                .filter(|waiting| !(shared && waiting.way.shared))
                .map(|waiting| waiting.owner),
        );
        found.retain(|other| *other != owner);
        found
    }
}

/// A key that is locked, for who wants to know who waits for whom.
pub(crate) struct KeyView {
    pub key: Key,
    /// Owners, and whether they share it; each once for each way.
    pub holders: Vec<(u64, bool)>,
    pub line: Vec<KeyWaiter>,
}

/// Somebody who stands in line.
pub(crate) struct KeyWaiter {
    pub owner: u64,
    pub shared: bool,
    /// Owners whom he waits for.
    pub before: Vec<u64>,
}

impl AdvisoryLocks {
    /// All keys that are locked, as they are at one moment.
    pub fn views(&self) -> Vec<KeyView> {
        let keys = self.keys.lock();
        let view = |(key, locked): (&Key, &Locked)| {
            let waiter = |waiting: &Waiting| KeyWaiter {
                owner: waiting.owner,
                shared: waiting.way.shared,
                before: locked.before(waiting.owner, waiting.way.shared),
            };
            let holders = locked.holders.keys();
            KeyView {
                key: *key,
                holders: holders.map(|(owner, way)| (*owner, way.shared)).collect(),
                line: locked.line.iter().map(waiter).collect(),
            }
        };
        keys.iter().map(view).collect()
    }

    /// Somebody new who may hold locks.
    pub fn owner(self: &Arc<Self>) -> Owner {
        Owner {
            locks: Arc::clone(self),
            number: self.owners.fetch_add(1, Ordering::Relaxed),
            waits_for: None,
            in_transaction: false,
            taken: Vec::new(),
            looks: None,
        }
    }
}

/// Whether `owner`, who is about to wait for `key`, would wait for himself.
fn closes_ring(keys: &HashMap<Key, Locked>, key: Key, owner: u64, shared: bool) -> bool {
    let mut waits: HashMap<u64, (Key, bool)> = HashMap::new();
    for (key, locked) in keys {
        let line = locked.line.iter();
        waits.extend(line.map(|waiting| (waiting.owner, (*key, waiting.way.shared))));
    }
    let mut seen: Vec<u64> = keys[&key].before(owner, shared);
    let mut at = 0;
    while let Some(&next) = seen.get(at) {
        at += 1;
        if next == owner {
            return true;
        }
        let Some((key, shared)) = waits.get(&next) else {
            continue;
        };
        for other in keys[key].before(next, *shared) {
            if !seen.contains(&other) {
                seen.push(other);
            }
        }
    }
    false
}

impl Owner {
    /// As views name it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Locks, or says that somebody else has it.
    pub fn try_lock(&mut self, key: Key, way: Way) -> bool {
        self.in_transaction |= way.transaction;
        let mut keys = self.locks.keys.lock();
        let locked = keys.entry(key).or_default();
        let mine = locked
            .holders
            .keys()
            .any(|(holder, _)| *holder == self.number);
        // Who has it already passes those in line: they wait for him.
        let free = locked.is_free_for(self.number, way.shared) && (mine || locked.line.is_empty());
        if free {
            locked.grant(self.number, way);
        }
        drop(keys);
        if free {
            self.note_taken(key, way);
        }
        free
    }

    fn note_taken(&mut self, key: Key, way: Way) {
        if way.transaction {
            self.taken.push((key, way));
        }
    }

    /// How many locks it has taken for its transaction, for [`Owner::unlock_to`].
    pub fn taken(&self) -> usize {
        self.taken.len()
    }

    /// Gives back what it has taken for its transaction since it had taken so many.
    pub fn unlock_to(&mut self, count: usize) {
        if self.taken.len() <= count {
            return;
        }
        let mut keys = self.locks.keys.lock();
        for (key, way) in self.taken.drain(count..).rev() {
            if let Some(locked) = keys.get_mut(&key) {
                release(locked, (self.number, way));
                locked.serve();
            }
            forget_if_free(&mut keys, key);
        }
    }

    /// Locks, or gets into line. Called again after a wait, it says what has come of it.
    pub fn lock(&mut self, key: Key, way: Way) -> Attempt {
        if self.waits_for.take() == Some(key) {
            let keys = self.locks.keys.lock();
            let mut line = keys.get(&key).into_iter().flat_map(|locked| &locked.line);
            if !line.any(|waiting| waiting.owner == self.number) {
                drop(keys);
                self.note_taken(key, way);
                self.looks = None;
                return Attempt::Locked;
            }
        } else {
            if self.try_lock(key, way) {
                return Attempt::Locked;
            }
            let mut keys = self.locks.keys.lock();
            // It may have become free since it was tried.
            keys.entry(key).or_default();
            if closes_ring(&keys, key, self.number, way.shared) {
                return Attempt::Deadlock;
            }
            let locked = keys.entry(key).or_default();
            locked.line.push_back(Waiting {
                owner: self.number,
                way,
                waker: None,
            });
            locked.serve();
        }
        self.waits_for = Some(key);
        Attempt::Wait(Turn {
            locks: Arc::clone(&self.locks),
            key,
            owner: self.number,
        })
    }

    /// Whether it stands in line.
    pub fn is_waiting(&self) -> bool {
        let Some(key) = self.waits_for else {
            return false;
        };
        let keys = self.locks.keys.lock();
        let mut line = keys.get(&key).into_iter().flat_map(|locked| &locked.line);
        line.any(|waiting| waiting.owner == self.number)
    }

    /// Leaves the line, if it stands in one; what it has been granted there is given back.
    pub fn give_up(&mut self, way: Way) {
        let Some(key) = self.waits_for.take() else {
            return;
        };
        self.looks = None;
        let mut keys = self.locks.keys.lock();
        let Some(locked) = keys.get_mut(&key) else {
            return;
        };
        let before = locked.line.len();
        locked.line.retain(|waiting| waiting.owner != self.number);
        if locked.line.len() == before {
            release(locked, (self.number, way));
        }
        locked.serve();
        forget_if_free(&mut keys, key);
    }

    /// Gives back one lock of the session; false if it has none such.
    pub fn unlock(&mut self, key: Key, shared: bool) -> bool {
        let way = Way {
            shared,
            transaction: false,
        };
        let mut keys = self.locks.keys.lock();
        let Some(locked) = keys.get_mut(&key) else {
            return false;
        };
        let had = release(locked, (self.number, way));
        locked.serve();
        forget_if_free(&mut keys, key);
        had
    }

    /// Gives back all locks of the session, or all of the transaction.
    pub fn unlock_all(&mut self, transaction: bool) {
        if transaction && !std::mem::take(&mut self.in_transaction) {
            return;
        }
        if transaction {
            self.taken.clear();
        }
        let mut keys = self.locks.keys.lock();
        keys.retain(|_, locked| {
            let before = locked.holders.len();
            let mine =
                |holder: u64, way: Way| holder == self.number && way.transaction == transaction;
            locked
                .holders
                .retain(|(holder, way), _| !mine(*holder, *way));
            if locked.holders.len() != before {
                locked.serve();
            }
            !locked.holders.is_empty() || !locked.line.is_empty()
        });
    }
}

fn release(locked: &mut Locked, held: (u64, Way)) -> bool {
    let Some(count) = locked.holders.get_mut(&held) else {
        return false;
    };
    *count -= 1;
    if *count == 0 {
        locked.holders.remove(&held);
    }
    true
}

fn forget_if_free(keys: &mut HashMap<Key, Locked>, key: Key) {
    if keys
        .get(&key)
        .is_some_and(|locked| locked.holders.is_empty() && locked.line.is_empty())
    {
        keys.remove(&key);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // What it is granted in this moment goes with the rest.
        self.give_up(Way {
            shared: false,
            transaction: false,
        });
        self.unlock_all(false);
        self.unlock_all(true);
    }
}

impl Future for Turn {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut keys = self.locks.keys.lock();
        let mut line = keys
            .get_mut(&self.key)
            .into_iter()
            .flat_map(|locked| &mut locked.line);
        match line.find(|waiting| waiting.owner == self.owner) {
            Some(waiting) => {
                waiting.waker = Some(context.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCLUSIVE: Way = Way {
        shared: false,
        transaction: false,
    };
    const SHARED: Way = Way {
        shared: true,
        transaction: false,
    };
    const KEY: Key = Key::One(7);

    fn waits(attempt: Attempt) -> bool {
        matches!(attempt, Attempt::Wait(_))
    }

    #[test]
    fn a_lock_is_held_as_often_as_it_was_taken() {
        let locks: Arc<AdvisoryLocks> = Arc::default();
        let (mut a, mut b) = (locks.owner(), locks.owner());
        assert!(a.try_lock(KEY, EXCLUSIVE) && a.try_lock(KEY, EXCLUSIVE));
        assert!(
            a.try_lock(KEY, SHARED),
            "who has it may share it with himself"
        );
        assert!(!b.try_lock(KEY, SHARED));
        assert!(b.try_lock(Key::Two(0, 7), EXCLUSIVE), "another key");
        assert!(a.unlock(KEY, false) && a.unlock(KEY, false) && !a.unlock(KEY, false));
        assert!(b.try_lock(KEY, SHARED) && !b.try_lock(KEY, EXCLUSIVE));
        drop(a);
        assert!(b.try_lock(KEY, EXCLUSIVE));
        drop(b);
        assert!(locks.keys.lock().is_empty());
    }

    #[test]
    fn those_who_wait_are_served_in_their_order() {
        let locks: Arc<AdvisoryLocks> = Arc::default();
        let (mut a, mut b, mut c) = (locks.owner(), locks.owner(), locks.owner());
        assert!(a.try_lock(KEY, SHARED));
        assert!(waits(b.lock(KEY, EXCLUSIVE)));
        assert!(waits(c.lock(KEY, SHARED)), "behind who came before");
        assert!(a.try_lock(KEY, SHARED), "others wait for this one anyway");
        a.unlock_all(false);
        assert!(matches!(b.lock(KEY, EXCLUSIVE), Attempt::Locked));
        assert!(waits(c.lock(KEY, SHARED)));
        b.unlock(KEY, false);
        assert!(matches!(c.lock(KEY, SHARED), Attempt::Locked));
    }

    #[test]
    fn a_ring_is_found_and_who_gives_up_holds_nobody_up() {
        let locks: Arc<AdvisoryLocks> = Arc::default();
        let (mut a, mut b, mut c) = (locks.owner(), locks.owner(), locks.owner());
        let other = Key::One(8);
        assert!(a.try_lock(KEY, EXCLUSIVE) && b.try_lock(other, EXCLUSIVE));
        assert!(waits(a.lock(other, EXCLUSIVE)));
        assert!(matches!(b.lock(KEY, EXCLUSIVE), Attempt::Deadlock));
        assert!(waits(c.lock(other, EXCLUSIVE)));
        a.give_up(EXCLUSIVE);
        b.unlock(other, false);
        assert!(matches!(c.lock(other, EXCLUSIVE), Attempt::Locked));
        assert!(b.try_lock(Key::One(9), EXCLUSIVE));
    }

    #[test]
    fn locks_of_a_transaction_end_with_it() {
        let locks: Arc<AdvisoryLocks> = Arc::default();
        let (mut a, mut b) = (locks.owner(), locks.owner());
        let way = Way {
            shared: false,
            transaction: true,
        };
        assert!(a.try_lock(KEY, way) && !a.unlock(KEY, false));
        a.unlock_all(false);
        assert!(!b.try_lock(KEY, EXCLUSIVE));
        a.unlock_all(true);
        assert!(b.try_lock(KEY, EXCLUSIVE));
    }

    #[test]
    fn what_a_savepoint_took_is_given_back_by_itself() {
        let locks: Arc<AdvisoryLocks> = Arc::default();
        let (mut a, mut b) = (locks.owner(), locks.owner());
        let way = Way {
            shared: false,
            transaction: true,
        };
        let other = Key::One(8);
        assert!(a.try_lock(KEY, way) && b.try_lock(other, EXCLUSIVE));
        let mark = a.taken();
        assert!(a.try_lock(KEY, way) && waits(a.lock(other, way)));
        b.unlock(other, false);
        assert!(matches!(a.lock(other, way), Attempt::Locked));
        a.unlock_to(mark);
        assert!(b.try_lock(other, EXCLUSIVE) && !b.try_lock(KEY, EXCLUSIVE));
        a.unlock_to(0);
        assert!(b.try_lock(KEY, EXCLUSIVE));
    }
}
