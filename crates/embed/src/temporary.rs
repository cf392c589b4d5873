//! Numbers of sessions, by which their temporary tables are found.
//!
//! Relies on: nothing.  Promises: no two sessions that live have one number, and none has that of a schema that is still
//! there.  Does not: drop what a session leaves; see `session::temporary`.

use parking_lot::Mutex;
use std::collections::BTreeSet;

/// Which numbers are whose.
#[derive(Debug)]
pub(crate) struct Numbers(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Given back, below `next`.
    free: BTreeSet<u32>,
    next: u32,
    /// Of sessions that have ended, whose schemas could not be dropped yet.
    left: BTreeSet<u32>,
    /// Somebody tries again until there are none.
    swept: bool,
}

impl Numbers {
    /// With what a crash has left.
    pub fn new(left: Vec<u32>) -> Numbers {
        let next = left.iter().max().map_or(1, |last| last + 1);
        let left: BTreeSet<u32> = left.into_iter().collect();
        Numbers(Mutex::new(State {
            free: (1..next).filter(|number| !left.contains(number)).collect(),
            next,
            left,
            swept: false,
        }))
    }

    /// A number that nobody has.
    pub fn take(&self) -> u32 {
        let mut state = self.0.lock();
        state.free.pop_first().unwrap_or_else(|| {
            state.next += 1;
            state.next - 1
        })
    }

    /// Nothing is there any more by this number.
    pub fn give_back(&self, number: u32) {
        let mut state = self.0.lock();
        state.left.remove(&number);
        state.free.insert(number);
    }

    /// Something is still there by this number. True: nobody is about to try again, and the caller is to see to it
    /// that somebody does, until [`Numbers::none_left`].
    pub fn leave(&self, number: u32) -> bool {
        let mut state = self.0.lock();
        state.left.insert(number);
        !std::mem::replace(&mut state.swept, true)
    }

    /// True if nothing is left; who tried again is done then.
    pub fn none_left(&self) -> bool {
        let mut state = self.0.lock();
        state.swept = !state.left.is_empty();
        !state.swept
    }

    /// One by which something is there whose session has ended: whoever gets it drops that, and then gives the number
    /// back or leaves it.
    pub fn take_left(&self) -> Option<u32> {
        self.0.lock().left.pop_first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_given_once_until_it_comes_back() {
        let numbers = Numbers::new(vec![2]);
        assert_eq!([numbers.take(), numbers.take()], [1, 3]);
        assert_eq!(numbers.take_left(), Some(2));
        assert_eq!(numbers.take_left(), None);
        assert!(numbers.none_left());
        assert!(numbers.leave(2));
        assert!(!numbers.leave(2));
        assert_eq!(numbers.take(), 4);
        assert!(!numbers.none_left());
        assert_eq!(numbers.take_left(), Some(2));
        assert!(!numbers.leave(2));
        assert_eq!(numbers.take_left(), Some(2));
        assert!(numbers.none_left());
        numbers.give_back(2);
        numbers.give_back(1);
        assert_eq!([numbers.take(), numbers.take()], [1, 2]);
    }
}
