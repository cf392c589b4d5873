//! Who may touch what, under two-phase commit: locks refused at once, versions compared at the end, or one call at a
//! time.
//!
//! Relies on: `call`.  Promises: what was let in holds what it asked for until it is released.
//! Does not: wait, but for the partition's turn.

use crate::call::LockKey;
use crate::message::Attempt;
use crate::node::Map;
use std::collections::VecDeque;

/// Counters of versions. Two groups may share one, which then looks written more often than it was.
const VERSIONS: usize = 1 << 18;

/// Which way, and its state at one node.
#[derive(Debug)]
pub enum Control {
    /// Two-phase locking; a lock that is taken is a conflict.
    NoWait(Locks),
    /// Nothing is locked until the call is prepared; then what it read must be as it was.
    Optimistic(Locks, Vec<u32>),
    /// The partition belongs to one call at a time, in order.
    Serial(VecDeque<Attempt>),
}

/// Who holds a lock.
#[derive(Debug)]
enum Holders {
    Exclusive(Attempt),
    Shared(Vec<Attempt>),
}

/// Locks that are held.
#[derive(Debug, Default)]
pub struct Locks {
    held: Map<LockKey, Holders>,
}

impl Locks {
    /// Takes all of them, or none.
    pub fn take(&mut self, attempt: Attempt, locks: &[(LockKey, bool)]) -> bool {
        let free = |(key, exclusive): &(LockKey, bool)| match self.held.get(key) {
            None => true,
            Some(Holders::Shared(_)) => !exclusive,
            Some(Holders::Exclusive(_)) => false,
        };
        if !locks.iter().all(free) {
            return false;
        }
        for (key, exclusive) in locks {
            match exclusive {
                true => {
                    self.held.insert(*key, Holders::Exclusive(attempt));
                }
                false => {
                    let held = self.held.entry(*key);
                    if let Holders::Shared(holders) =
                        held.or_insert_with(|| Holders::Shared(Vec::new()))
                    {
                        holders.push(attempt);
                    }
                }
            }
        }
        true
    }

    /// Gives back those of them that the attempt holds.
    pub fn give_back(&mut self, attempt: Attempt, locks: &[(LockKey, bool)]) {
        for (key, _) in locks {
            let empty = match self.held.get_mut(key) {
                Some(Holders::Exclusive(holder)) => *holder == attempt,
                Some(Holders::Shared(holders)) => {
                    holders.retain(|holder| *holder != attempt);
                    holders.is_empty()
                }
                None => false,
            };
            if empty {
                self.held.remove(key);
            }
        }
    }
}

impl Control {
    /// Locks, refused when taken.
    pub fn no_wait() -> Control {
        Control::NoWait(Locks::default())
    }

    /// Versions.
    pub fn optimistic() -> Control {
        Control::Optimistic(Locks::default(), vec![0; VERSIONS])
    }

    /// One at a time.
    pub fn serial() -> Control {
        Control::Serial(VecDeque::new())
    }

    /// Whether a call of several nodes is prepared as soon as it has run.
    pub fn prepares_at_once(&self) -> bool {
        !matches!(self, Control::Optimistic(..))
    }

    /// The version of a group, if that is what counts.
    pub fn versions(&self, locks: &[(LockKey, bool)]) -> Vec<u32> {
        match self {
            Control::Optimistic(_, versions) => {
                locks.iter().map(|(key, _)| versions[place(*key)]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The call is over and is to be promised, or to take place: whether it may.
    pub fn validate(
        &mut self,
        attempt: Attempt,
        locks: &[(LockKey, bool)],
        versions: &[u32],
    ) -> bool {
        match self {
            Control::Optimistic(held, now) => {
                let same = |((key, _), was): (&(LockKey, bool), &u32)| now[place(*key)] == *was;
                locks.iter().zip(versions).all(same) && held.take(attempt, locks)
            }
            _ => true,
        }
    }

    /// The call has written.
    pub fn wrote(&mut self, locks: &[(LockKey, bool)]) {
        if let Control::Optimistic(_, versions) = self {
            for (key, _) in locks.iter().filter(|(_, writes)| *writes) {
                let version = &mut versions[place(*key)];
                *version = version.wrapping_add(1);
            }
        }
    }
}

fn place(key: LockKey) -> usize {
    let mixed = (key.1 ^ u64::from(key.0) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 40) as usize % VERSIONS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::NodeId;

    fn attempt(number: u64) -> Attempt {
        Attempt {
            coordinator: NodeId(0),
            number,
        }
    }

    #[test]
    fn locks_are_taken_all_or_none() {
        let mut locks = Locks::default();
        let (a, b) = (LockKey(0, 1), LockKey(0, 2));
        assert!(locks.take(attempt(1), &[(a, false)]));
        assert!(locks.take(attempt(2), &[(a, false), (b, true)]));
        assert!(!locks.take(attempt(3), &[(LockKey(0, 3), true), (a, true)]));
        assert!(locks.take(attempt(4), &[(LockKey(0, 3), true)]));
        locks.give_back(attempt(2), &[(a, false), (b, true)]);
        assert!(!locks.take(attempt(5), &[(a, true)]));
        locks.give_back(attempt(1), &[(a, false)]);
        assert!(locks.take(attempt(5), &[(a, true), (b, true)]));
    }

    #[test]
    fn what_was_written_since_is_a_conflict() {
        let mut control = Control::optimistic();
        let locks = [(LockKey(0, 1), false), (LockKey(0, 2), true)];
        let versions = control.versions(&locks);
        control.wrote(&[(LockKey(0, 1), true)]);
        assert!(!control.validate(attempt(1), &locks, &versions));
        let versions = control.versions(&locks);
        assert!(control.validate(attempt(1), &locks, &versions));
        // Promised to the first: nobody else's read of it can be promised.
        let other = [(LockKey(0, 2), false)];
        let versions = control.versions(&other);
        assert!(!control.validate(attempt(2), &other, &versions));
    }
}
