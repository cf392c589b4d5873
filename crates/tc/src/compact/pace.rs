//! How a pass shares the processors with the commits that come meanwhile.
//!
//! Relies on: whoever waits for a pass says so (`compactor`).  Promises: a pass rests while it has time, and not once commits are
//! about to be held back for it; while somebody waits for it, it only yields.  Does not: know who wants a processor, but for whether somebody ran when it yielded.
//!
//! On two processors a commit that finds both taken waits until the system's clock ticks, up to 4 ms; and while a pass has a
//! processor to itself, all clients share the other. But a pass need not be quick: it has to be done before the log's
//! buffers are so full that commits are held back. So it rests, after each stretch of some 100 µs, as long as it is further with its
//! work than the commits that came meanwhile are with the room that there was:
//!
//! ```text
//!   buffers   |  in use when it began  |  came in  |   left until LATEST   |   nobody is held back yet   |
//!   work                               |        done        |     left     |
//!              done / (done + left)  ≥  came in / (came in + left)  ──►  rests
//! ```
//!
//! To rest is to yield, and to sleep if nobody has run meanwhile. Yielding alone is not enough: who has a processor to
//! himself goes on at once, while two others share the second one. Sleeping alone
//! costs more than it leaves to others while all are busy (decision 66).

use crate::compact::TOGETHER;
use crate::component::Shared;
use crate::config::Posting;
use crate::sync::yield_now;
use quintet_rt::threads::rest;
use std::cell::Cell;
use std::time::Duration;

/// Records of a pass between two moments at which it may rest: some 100 µs.
const RECORDS_IN_A_ROW: usize = 8 * TOGETHER;

/// How long it sleeps when it has a processor to itself. The system adds some 50 µs.
const REST: Duration = Duration::from_micros(100);

/// A pass is to end when so many sixteenths of the buffers are in use: no pass begins earlier for that
/// (`compactor::next_earlier`).
const LATEST: u64 = 11;

/// One that somebody waits for from its beginning lets others go first only until so many sixteenths of the buffers have come in.
const AWAITED: u64 = 1;

pub(super) struct Pace<'a> {
    shared: &'a Shared,
    /// From the beginning; see also `Shared::pass_is_awaited`.
    awaited: bool,
    /// Where the log ended.
    began: u64,
    /// So much may come in until the pass is to have ended.
    room: u64,
    /// Share of the work that is done.
    done: Cell<f64>,
    records: Cell<usize>,
}

impl<'a> Pace<'a> {
    /// Of a pass that begins now; `awaited`: somebody does nothing else until it has ended.
    pub fn new(shared: &'a Shared, awaited: bool) -> Pace<'a> {
        let sixteenth = shared.log.ring_bytes() / 16;
        let end = shared.end();
        let room = match shared.config.posting {
            _ if awaited => AWAITED * sixteenth,
            Posting::Frozen => (LATEST * sixteenth).saturating_sub(shared.used(end)),
            Posting::Continuous { piece_bytes } => piece_bytes as u64,
        };
        Pace {
            shared,
            awaited,
            began: end.0,
            room: room.max(1),
            done: Cell::new(0.0),
            records: Cell::new(0),
        }
    }

    /// `done` of `all` is done of the part of the work that goes from one share of it to another.
    pub fn is_at(&self, (from, to): (f64, f64), done: u64, all: u64) {
        self.done
            .set(from + (to - from) * done as f64 / all.max(1) as f64);
    }

    /// So many more records were worked on.
    pub fn after(&self, records: usize) {
        let records = self.records.get() + records;
        if records < RECORDS_IN_A_ROW {
            self.records.set(records);
            return;
        }
        self.records.set(0);
        self.pause();
    }

    /// Some 100 µs of work were done.
    pub fn pause(&self) {
        let came_in = self.shared.end().0 - self.began;
        if !has_time(self.done.get(), came_in, self.room) {
            return;
        }
        match self.awaited || self.shared.pass_is_awaited() {
            true => yield_now(),
            false => rest(&*self.shared.config.clock, REST),
        }
    }
}

/// Whether a pass of which this share is done is further than what came in is with the room for it.
fn has_time(done: f64, came_in: u64, room: u64) -> bool {
    done * room as f64 >= came_in as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commits come in all the time, and the pass could do its work in a part of the time in which they fill the room.
    #[test]
    fn a_pass_ends_with_the_room_and_rests_until_then() {
        const ROOM: u64 = 1_000_000;
        for stretches in [100, 1_000, 10_000] {
            let (mut worked, mut came_in, mut rested) = (0, 0, 0);
            while worked < stretches {
                if has_time(worked as f64 / stretches as f64, came_in, ROOM) {
                    rested += 1;
                } else {
                    worked += 1;
                }
                came_in += 50;
            }
            assert!(came_in.abs_diff(ROOM) <= ROOM / 50, "{came_in}");
            assert_eq!(rested + stretches, came_in / 50);
        }
    }

    #[test]
    fn a_pass_that_is_late_never_rests() {
        assert!(has_time(0.0, 0, 100));
        assert!(!has_time(0.0, 1, 100));
        assert!(has_time(0.5, 50, 100));
        assert!(!has_time(0.99, 100, 100));
        assert!(has_time(1.0, 100, 100));
    }
}
