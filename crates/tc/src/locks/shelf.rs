//! The locks of one shard, side by side.
//!
//! Relies on: nothing but its caller's mutex.  Promises: a lock that nobody waits for costs no memory of its own, and is found by its
//! hash; memory for very many goes back when all are gone.  Does not: know of other shards, or wake anybody.
//!
//! ```text
//!   numbers by hash ─► locks, in the order in which they were taken
//! ```
//! One after the other is written one behind the other: a transaction that locks very many rows meets few new lines.

use super::{LockView, Signal, Strength};
use crate::place::Place;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use quintet_base::{Bytes, SpaceId, TxnId};
use smallvec::{SmallVec, smallvec};
use std::collections::VecDeque;
use std::sync::Arc;

/// The memory for so many stays.
const KEPT_MAX: usize = 1024;

/// See the module.
#[derive(Default)]
pub(super) struct Shelf {
    numbers: HashTable<u32>,
    locks: Vec<Lock>,
    /// Numbers of those that are not in use.
    free: Vec<u32>,
}

/// Who waits for a lock.
pub(super) struct Waiter {
    pub txn: TxnId,
    pub strength: Strength,
    pub signal: Arc<Signal>,
}

/// A lock. Laid out so that one which nobody waits for, on a row with a short key, needs no memory of its own.
pub(super) struct Lock {
    hash: u64,
    /// None: it is not in use.
    pub holders: SmallVec<[(TxnId, Strength); 1]>,
    pub queue: Option<Box<Queue>>,
    space: SpaceId,
    /// Only to be told: of the row that was locked first.
    key: SmallVec<[u8; 24]>,
}

const _: () = assert!(size_of::<Lock>() <= 80);

/// Those who wait, in order.
#[derive(Default)]
pub(super) struct Queue {
    pub waiters: VecDeque<Waiter>,
}

impl Shelf {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// That of a row.
    pub fn find(&self, hash: u64) -> Option<&Lock> {
        let number = self
            .numbers
            .find(hash, |n| self.locks[*n as usize].hash == hash);
        number.map(|number| &self.locks[*number as usize])
    }

    /// That of a row, to be changed.
    pub fn find_mut(&mut self, hash: u64) -> Option<&mut Lock> {
        let number = self
            .numbers
            .find(hash, |n| self.locks[*n as usize].hash == hash);
        number.map(|number| &mut self.locks[*number as usize])
    }

    /// Makes one for who asks, or says which is there.
    pub fn take(&mut self, place: Place<'_>, txn: TxnId, strength: Strength) -> Option<&mut Lock> {
        let hash = place.hash;
        let Shelf {
            numbers,
            locks,
            free,
        } = self;
        let hash_of = |number: &u32| locks[*number as usize].hash;
        let number = match numbers.entry(hash, |number| hash_of(number) == hash, hash_of) {
            Entry::Occupied(there) => {
                let number = *there.get() as usize;
                return Some(&mut self.locks[number]);
            }
            Entry::Vacant(vacant) => {
                let number = free.pop().unwrap_or(locks.len() as u32);
                vacant.insert(number);
                number as usize
            }
        };
        let lock = Lock::new(place, txn, strength);
        match locks.get_mut(number) {
            Some(unused) => *unused = lock,
            None => locks.push(lock),
        }
        None
    }

    /// Forgets one that nobody holds.
    pub fn remove(&mut self, hash: u64) {
        let locks = &mut self.locks;
        let found = (self.numbers).find_entry(hash, |number| locks[*number as usize].hash == hash);
        let Ok(found) = found else {
            return;
        };
        let (number, _) = found.remove();
        let lock = &mut locks[number as usize];
        lock.key = SmallVec::new();
        lock.queue = None;
        self.free.push(number);
        if self.numbers.is_empty() {
            match self.locks.capacity() > KEPT_MAX {
                true => *self = Shelf::default(),
                false => {
                    self.locks.clear();
                    self.free.clear();
                }
            }
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Lock> {
        self.locks.iter().filter(|lock| !lock.holders.is_empty())
    }
}

impl Lock {
    /// Of who has just asked for it.
    fn new(place: Place<'_>, txn: TxnId, strength: Strength) -> Lock {
        Lock {
            hash: place.hash,
            holders: smallvec![(txn, strength)],
            queue: None,
            space: place.space,
            key: SmallVec::from_slice(place.key),
        }
    }

    pub fn space(&self) -> SpaceId {
        self.space
    }

    /// Empty: the space as a whole.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    pub fn waiters(&self) -> impl Iterator<Item = &Waiter> {
        self.queue.iter().flat_map(|queue| &queue.waiters)
    }

    pub fn queue(&mut self) -> &mut VecDeque<Waiter> {
        &mut self.queue.get_or_insert_default().waiters
    }

    pub fn held_by(&self, txn: TxnId) -> Option<Strength> {
        self.holders
            .iter()
            .find(|(holder, _)| *holder == txn)
            .map(|(_, strength)| *strength)
    }

    /// True if `txn` could hold the lock beside the present holders.
    pub fn admits(&self, txn: TxnId, strength: Strength) -> bool {
        self.holders.iter().all(|(holder, held)| {
            *holder == txn || (strength == Strength::Shared && *held == Strength::Shared)
        })
    }

    pub fn hold(&mut self, txn: TxnId, strength: Strength) {
        match self.holders.iter_mut().find(|(holder, _)| *holder == txn) {
            Some((_, held)) if strength == Strength::Exclusive => *held = strength,
            Some(_) => {}
            None => self.holders.push((txn, strength)),
        }
    }

    pub fn view(&self) -> LockView {
        let queue = self.waiters();
        LockView {
            space: self.space,
            key: Bytes::copy_from_slice(&self.key),
            holders: self.holders.to_vec(),
            queue: queue.map(|waiter| (waiter.txn, waiter.strength)).collect(),
        }
    }

    /// Grants to the head of the queue while it is admitted; says who was granted.
    pub fn grant(&mut self, granted: &mut Vec<Waiter>) {
        let Some(mut queue) = self.queue.take() else {
            return;
        };
        while let Some(head) = queue.waiters.front()
            && self.admits(head.txn, head.strength)
        {
            let head = queue.waiters.pop_front().expect("just seen");
            self.hold(head.txn, head.strength);
            granted.push(head);
        }
        self.queue = Some(queue).filter(|queue| !queue.waiters.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn place(key: &[u8]) -> Place<'_> {
        Place::new(SpaceId(1), key)
    }

    #[test]
    fn locks_are_found_as_long_as_they_are_there_and_places_are_used_again() {
        for seed in 0..20 {
            let mut rand = quintet_rt::Rand::seeded(seed);
            let (mut shelf, mut there) = (Shelf::default(), BTreeMap::new());
            for _ in 0..4_000 {
                // Short keys and long ones.
                let number = rand.below(300);
                let key = format!("{number}{}", "x".repeat(number as usize % 60));
                let hash = place(key.as_bytes()).hash;
                let txn = TxnId(rand.below(1_000));
                let known = there.get(&key).copied();
                let found = shelf.find(hash).map(|lock| lock.holders[0].0);
                assert_eq!(found, known, "seed {seed}");
                match known {
                    None => {
                        assert!(
                            shelf
                                .take(place(key.as_bytes()), txn, Strength::Shared)
                                .is_none()
                        );
                        there.insert(key, txn);
                    }
                    Some(holder) => {
                        let lock = shelf.take(place(key.as_bytes()), txn, Strength::Shared);
                        let lock = lock.expect("it is there");
                        assert_eq!(lock.view().key, key.as_bytes());
                        assert_eq!(lock.view().holders, [(holder, Strength::Shared)]);
                        lock.holders.clear();
                        shelf.remove(hash);
                        there.remove(&key);
                    }
                }
                assert_eq!(shelf.len(), there.len());
            }
            let mut keys: Vec<Bytes> = shelf.iter().map(|lock| lock.view().key).collect();
            keys.sort();
            assert!(
                keys.iter().eq(there.keys().map(String::as_bytes)),
                "seed {seed}"
            );
            assert!(shelf.locks.len() <= 300);
        }
    }

    #[test]
    fn memory_for_very_many_goes_back_and_for_few_it_stays() {
        for (count, stays) in [(KEPT_MAX / 2, true), (KEPT_MAX * 4, false)] {
            let mut shelf = Shelf::default();
            let keys: Vec<_> = (0..count).map(|number| number.to_le_bytes()).collect();
            for key in &keys {
                shelf.take(place(key), TxnId(1), Strength::Exclusive);
            }
            for key in &keys {
                let hash = place(key).hash;
                shelf.find_mut(hash).expect("it is there").holders.clear();
                shelf.remove(hash);
            }
            assert_eq!(shelf.len(), 0);
            assert_eq!(shelf.locks.capacity() > 0, stays);
        }
    }
}
