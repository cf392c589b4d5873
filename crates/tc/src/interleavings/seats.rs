//! Seats and the gate: nobody gives up what a snapshot needs, and a schema change commits alone.

use super::log::Log;
use crate::seats::{Gate, Seats, begin_anew};
use quintet_base::Timestamp;
use quintet_interleave::explore::{explore, finds};
use quintet_interleave::{point, scope};
// Of `std`: what the test notes is no step of it.
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Goal: a low water that somebody was told is at or below every snapshot in use, now and later.
/// Method: what was told is noted at once; a snapshot looks at the note as long as it lives.
fn low_water_stays_below_snapshots() {
    begin_anew();
    let (log, seats) = (Log::new(), Seats::new());
    let told = AtomicU64::new(0);
    let end = || log.end();
    let read = || {
        let seat = seats.take();
        for _ in 0..2 {
            let snapshot = seats.register(&seat, end);
            for _ in 0..3 {
                let told = Timestamp(told.load(Ordering::SeqCst));
                assert!(told <= snapshot, "{told} was told, {snapshot} is in use");
                point();
            }
        }
        seat.leave();
    };
    scope(|scope| {
        scope.spawn(read);
        scope.spawn(read);
        scope.spawn(|| {
            for _ in 0..3 {
                log.reserve(|_| ());
                let oldest = seats.oldest(end);
                told.fetch_max(oldest.0, Ordering::SeqCst);
                let low_water = seats.counted(end).low_water().all;
                told.fetch_max(low_water.0, Ordering::SeqCst);
            }
        });
        for _ in 0..3 {
            log.reserve(|_| ());
        }
    });
    assert_eq!(seats.oldest(end), log.end(), "a snapshot is left");
}

#[test]
fn seats_low_water_stays_below_snapshots() {
    explore(
        "seats: low water stays below snapshots",
        6000,
        low_water_stays_below_snapshots,
    );
    finds(
        "seats: what was assumed is not asked",
        1000,
        low_water_stays_below_snapshots,
    );
}

/// Goal: between the closing of the gate and its opening nobody is inside; everybody gets in at last.
/// Method: two commit twice, two close; who is inside and who is alone is noted.
fn a_schema_change_is_alone() {
    begin_anew();
    let (gate, seats) = (Gate::default(), Seats::new());
    let (inside, alone) = (AtomicUsize::new(0), AtomicBool::new(false));
    let commit = || {
        let seat = seats.take();
        for _ in 0..2 {
            gate.enter(&seat);
            inside.fetch_add(1, Ordering::SeqCst);
            for _ in 0..3 {
                assert!(!alone.load(Ordering::SeqCst), "somebody is alone");
                point();
            }
            inside.fetch_sub(1, Ordering::SeqCst);
            seat.set_none();
        }
        seat.leave();
    };
    let change = || {
        let seat = seats.take();
        let closed = gate.close(&seats);
        assert!(!alone.swap(true, Ordering::SeqCst), "two are alone");
        seat.set_locking();
        for _ in 0..3 {
            assert_eq!(inside.load(Ordering::SeqCst), 0, "somebody is inside");
            point();
        }
        seat.set_none();
        alone.store(false, Ordering::SeqCst);
        drop(closed);
        seat.leave();
    };
    scope(|scope| {
        scope.spawn(commit);
        scope.spawn(commit);
        scope.spawn(change);
        change();
    });
}

#[test]
fn gate_a_schema_change_is_alone() {
    explore(
        "gate: a schema change is alone",
        6000,
        a_schema_change_is_alone,
    );
    finds("gate: it is never closed", 100, a_schema_change_is_alone);
}
