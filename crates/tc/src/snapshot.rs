//! A snapshot: a timestamp to read at, on a seat of its own.
//!
//! Relies on: `seats`.  Promises: what it reads stays readable until it is dropped.
//! Does not: read.

use crate::component::Shared;
use crate::seats::Seat;
use crate::sim::{self, Planted};
use quintet_base::Timestamp;
use std::sync::Arc;

/// By how much a planted mistake is late: about a record.
const LATE: u64 = 128;

/// Registered until dropped.
pub(crate) struct Snapshot {
    pub timestamp: Timestamp,
    pub seat: Arc<Seat>,
}

impl Snapshot {
    /// A snapshot of now: of every commit whose place in the log has been taken.
    pub fn take(shared: &Shared) -> Snapshot {
        let mut snapshot = Snapshot::of_the_end(shared);
        if sim::plants(Planted::LateSnapshot) {
            snapshot.timestamp.0 += LATE;
        }
        snapshot
    }

    /// The same for upkeep, of which nobody expects mistakes.
    pub fn of_the_end(shared: &Shared) -> Snapshot {
        let seat = shared.seats.take();
        let timestamp = shared.seats.register(&seat, || shared.end());
        Snapshot { timestamp, seat }
    }

    /// The same for somebody who finds records by their keys and scans nothing: removed records leave the order
    /// of their space all the same.
    pub fn by_key(shared: &Shared) -> Snapshot {
        let seat = shared.seats.take();
        let timestamp = shared.seats.register_by_key(&seat, || shared.end());
        Snapshot { timestamp, seat }
    }

    /// Moves to now, on the same seat.
    pub fn renew(&mut self, shared: &Shared) {
        self.timestamp = shared.seats.register(&self.seat, || shared.end());
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.seat.leave();
    }
}
