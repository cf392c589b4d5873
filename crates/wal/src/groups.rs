//! Which reservations have been finished, counted by groups of neighbours.
//!
//! Relies on: `tail` puts every reservation into the group that is open when it is taken.
//! Promises: [`Groups::filled_to`] is a position below which every reservation has been finished, and
//! seeing it happens after they were.  Does not: wait.
//!
//! A reservation that is finished adds its bytes to the sum of its group. To learn whether everything up
//! to a position is there, somebody (the writer, a reader) closes the open group, which fixes
//! the group's length, and then looks until the sum has reached it:
//!
//! ```text
//!        filled_to                        end
//!  ─────────┬───────────────┬──────────────┬───────
//!  complete │ closed: waits │ open: taken  │
//!           │ for the last  │ from, no     │
//!  ─────────┴───────────────┴ length yet ──┴───────
//!    Open ──close──► Closed ──sum = length──► Complete (its number is free again)
//! ```

use crate::record::ALIGNMENT;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::tail::{GROUPS, Line, Tail};
use std::collections::VecDeque;

/// A sum counts bytes, in units of 8, in its lower bits, and records in those above. There the
/// count may run over without harm to the bytes; it only is a statistic.
const RECORD_SHIFT: u32 = 36;
const UNITS: u64 = (1 << RECORD_SHIFT) - 1;

/// A group is never longer than the ring, so the ring may not be longer than this.
pub(crate) const GROUP_BYTES_MAX: u64 = UNITS * ALIGNMENT;

/// The groups that are not complete, and where they begin.
#[derive(Debug)]
pub(crate) struct Groups {
    /// What has been finished of the group with this number. Added to by `fill`, with Release (it is
    /// `SeqCst` for the sake of `Shared::wake_writer`), which pairs with the Acquire in `advance`; set
    /// to 0 in `advance` before the number is open again, which `Tail::close_group` publishes
    /// to whoever joins.
    sums: [Line<AtomicU64>; GROUPS],
    /// Written in `advance` under the lock, with Release; pairs with the Acquire in `filled_to`.
    filled_to: Line<AtomicU64>,
    closed: Mutex<Closed>,
}

#[derive(Debug)]
struct Closed {
    /// Number and end of the groups that are closed and not complete, oldest first.
    groups: VecDeque<(usize, u64)>,
    /// Where the oldest of them (or the open group) begins.
    complete_to: u64,
    /// Records in complete groups.
    records: u64,
}

impl Groups {
    /// Everything up to `position` is complete.
    pub fn new(position: u64) -> Groups {
        Groups {
            sums: Default::default(),
            filled_to: Line(AtomicU64::new(position)),
            closed: Mutex::new(Closed {
                groups: VecDeque::with_capacity(GROUPS),
                complete_to: position,
                records: 0,
            }),
        }
    }

    /// A record of `bytes` in `group` is complete. Called once for each.
    pub fn fill(&self, group: usize, bytes: u64) {
        let sum = (1 << RECORD_SHIFT) | (bytes / ALIGNMENT);
        self.sums[group].0.fetch_add(sum, Ordering::SeqCst);
    }

    /// Every reservation below is known to be finished.
    pub fn filled_to(&self) -> u64 {
        self.filled_to.0.load(Ordering::Acquire)
    }

    /// Looks once whether everything up to `to` is finished, and closes the open group if that is
    /// needed to know it. `to` is at or below the end of the tail.
    pub fn advance(&self, tail: &Tail, to: u64) -> bool {
        if self.filled_to() >= to {
            return true;
        }
        let mut closed = self.closed.lock();
        let begins = closed
            .groups
            .back()
            .map_or(closed.complete_to, |last| last.1);
        // The bound keeps a number from being opened again before its group is complete.
        if to > begins && closed.groups.len() < GROUPS - 1 {
            let group = tail.close_group();
            assert!(group.1 >= to, "waits for {to}, behind the end {}", group.1);
            closed.groups.push_back(group);
        }
        while let Some(&(group, end)) = closed.groups.front() {
            let sum = self.sums[group].0.load(Ordering::Acquire);
            let (filled, length) = ((sum & UNITS) * ALIGNMENT, end - closed.complete_to);
            assert!(filled <= length, "{filled} bytes in a group of {length}");
            if filled < length {
                break;
            }
            self.sums[group].0.store(0, Ordering::Relaxed);
            closed.records += sum >> RECORD_SHIFT;
            closed.complete_to = end;
            closed.groups.pop_front();
        }
        self.filled_to
            .0
            .store(closed.complete_to, Ordering::Release);
        closed.complete_to >= to
    }

    /// Records that have been finished, in groups complete or not.
    pub fn records(&self) -> u64 {
        let closed = self.closed.lock();
        let under_way = self
            .sums
            .iter()
            .map(|sum| sum.0.load(Ordering::Relaxed) >> RECORD_SHIFT);
        closed.records + under_way.sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reservations are finished in an order of their own; what is known to be filled never passes
    /// the first that is not, however often somebody looks.
    #[test]
    fn filled_stops_at_the_first_hole() {
        let (tail, groups) = (Tail::new(64), Groups::new(64));
        let limit = AtomicU64::new(1 << 20);
        let mut taken = Vec::new();
        for n in 0..4 {
            taken.push(tail.take(40, &limit).unwrap());
            taken.push(tail.take(80, &limit).unwrap());
            let end = tail.end();
            assert!(!groups.advance(&tail, end), "group {n} has holes");
        }
        let end = tail.end();
        for last in taken.iter().skip(1).rev() {
            groups.fill(last.group, last.end - last.start);
            assert!(!groups.advance(&tail, end));
            assert_eq!(groups.filled_to(), 64);
        }
        assert_eq!(groups.records(), 7);
        groups.fill(taken[0].group, 40);
        assert!(groups.advance(&tail, end));
        assert_eq!((groups.filled_to(), groups.records()), (end, 8));
    }

    /// With the oldest group incomplete, others are closed only while there are numbers for them;
    /// what was put into the open one is not lost.
    #[test]
    fn numbers_are_not_used_again_before_their_group_is_complete() {
        let (tail, groups) = (Tail::new(0), Groups::new(0));
        let limit = AtomicU64::new(1 << 20);
        let hole = tail.take(40, &limit).unwrap();
        let mut used = vec![hole.group];
        for _ in 0..5 * GROUPS {
            let taken = tail.take(48, &limit).unwrap();
            groups.fill(taken.group, 48);
            used.push(taken.group);
            assert!(!groups.advance(&tail, taken.end));
        }
        assert_eq!(used.iter().filter(|group| **group == hole.group).count(), 2);
        groups.fill(hole.group, 40);
        let end = tail.end();
        while !groups.advance(&tail, end) {}
        assert_eq!(groups.filled_to(), end);
        assert_eq!(groups.records(), 5 * GROUPS as u64 + 1);
    }
}
