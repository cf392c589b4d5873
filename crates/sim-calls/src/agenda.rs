//! What is going to happen, in order.
//!
//! Relies on: nothing.  Promises: events come out by their moment, and those of one moment as they were put
//! in, so that a run depends on nothing but what it was given; time never goes back.
//! Does not: know what an event is.

use crate::time::Nanos;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Events to come, and what time it is.
#[derive(Debug)]
pub struct Agenda<E> {
    now: Nanos,
    /// Events put in so far: the number of the next one.
    sequence: u64,
    entries: BinaryHeap<Entry<E>>,
}

#[derive(Debug)]
struct Entry<E> {
    at: Nanos,
    sequence: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Entry<E>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Entry<E>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    /// The other way round: the heap gives its greatest first, and that has to be the earliest.
    fn cmp(&self, other: &Entry<E>) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl<E> Agenda<E> {
    /// Nothing to come, at the beginning.
    pub fn new() -> Agenda<E> {
        Agenda {
            now: Nanos::ZERO,
            sequence: 0,
            entries: BinaryHeap::new(),
        }
    }

    /// When the last event happened.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Puts an event in, some time from now.
    pub fn after(&mut self, span: Nanos, event: E) {
        self.entries.push(Entry {
            at: self.now + span,
            sequence: self.sequence,
            event,
        });
        self.sequence += 1;
    }

    /// The next event; it is now when it happens.
    pub fn next(&mut self) -> Option<E> {
        let entry = self.entries.pop()?;
        assert!(entry.at >= self.now, "time goes forward");
        self.now = entry.at;
        Some(entry.event)
    }
}

impl<E> Default for Agenda<E> {
    fn default() -> Agenda<E> {
        Agenda::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_as_they_were_put_in() {
        let mut agenda = Agenda::new();
        for (ms, name) in [(2.0, 'c'), (1.0, 'a'), (2.0, 'd'), (1.0, 'b'), (0.5, '0')] {
            agenda.after(Nanos::from_ms(ms), name);
        }
        let mut seen = String::new();
        while let Some(event) = agenda.next() {
            seen.push(event);
            if event == 'a' {
                agenda.after(Nanos::ZERO, 'x');
            }
        }
        assert_eq!(seen, "0abxcd");
        assert_eq!(agenda.now(), Nanos::from_ms(2.0));
    }
}
