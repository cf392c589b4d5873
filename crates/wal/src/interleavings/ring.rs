//! The ring by itself: the writer takes what is filled, what is read stays, the limit follows, a seal is the end.

use crate::ring::{Ring, Span};
use crate::tail::Refused;
use quintet_interleave::explore::{explore, finds, planted};
use quintet_interleave::{point, scope, yield_now};
use std::ptr::NonNull;
// Of `std`: what the test notes is no step of it.
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Of one lap.
const RING: u64 = 128;
/// Enough space on the disk for all that is put in.
const ENOUGH: u64 = 1 << 20;

/// What a record that begins at `start` holds: its length first, then bytes of its own.
fn expected(start: u64, bytes: u64) -> Vec<u8> {
    let mut out = bytes.to_le_bytes().to_vec();
    out.extend((8..bytes).map(|offset| (start / 8 * 31 + offset * 7 + 1) as u8));
    out
}

fn try_put(ring: &Ring, bytes: u64) -> Result<(u64, NonNull<u8>), Refused> {
    let mut place = ring.reserve(bytes)?;
    let start = place.start();
    let record = expected(start, bytes);
    let half = record.len() / 2;
    place.bytes_mut()[..half].copy_from_slice(&record[..half]);
    point();
    place.bytes_mut()[half..].copy_from_slice(&record[half..]);
    Ok((start, place.fill(0)))
}

/// Puts a record in as soon as there is room; `waits` is done while there is none.
fn put(ring: &Ring, bytes: u64, waits: impl Fn()) -> (u64, NonNull<u8>) {
    loop {
        match try_put(ring, bytes) {
            Ok(put) => return put,
            Err(refused) => assert_eq!(refused, Refused::Limit),
        }
        waits();
        yield_now();
    }
}

/// Takes what is unwritten, checks that it is whole records one after the other.
fn write(ring: &Ring) -> u64 {
    let (from, end) = (ring.written(), ring.end());
    ring.wait_filled(end);
    let bytes = ring.unwritten(end).concat();
    assert_eq!(bytes.len() as u64, end - from);
    let mut at = 0;
    while at < bytes.len() {
        let length = u64::from_le_bytes(*bytes[at..].first_chunk().expect("a length"));
        let record = expected(from + at as u64, length);
        let there = bytes.get(at..at + record.len());
        assert_eq!(there, Some(&record[..]), "at {}", from + at as u64);
        at += record.len();
    }
    ring.set_written(end);
    end
}

/// Goal: the writer takes whole records, all of them, in order, also over the end of a lap.
/// Method: two fill three records each, which is more than a lap; the writer takes them and gives
/// the memory back at once.
fn the_writer_takes_what_is_filled() {
    let ring = Ring::new(RING, 64, 5 * RING - 40, ENOUGH);
    let filling = AtomicUsize::new(2);
    let fill = |sizes: [u64; 3]| {
        for bytes in sizes {
            put(&ring, bytes, || ());
        }
        filling.fetch_sub(1, Ordering::SeqCst);
    };
    scope(|scope| {
        scope.spawn(|| fill([24, 40, 16]));
        scope.spawn(|| fill([32, 8, 48]));
        while filling.load(Ordering::SeqCst) > 0 {
            let written = write(&ring);
            // SAFETY: nobody reads.
            unsafe { ring.reclaim(written) };
            yield_now();
        }
    });
    assert_eq!(write(&ring), 5 * RING - 40 + 168);
    assert_eq!(ring.records(), 6);
}

#[test]
fn ring_the_writer_takes_what_is_filled() {
    explore(
        "ring: the writer takes what is filled",
        6000,
        the_writer_takes_what_is_filled,
    );
    for (mistake, within) in [
        ("ring: counted before it is filled", 500),
        ("ring: a crossing is noted late", 5000),
        ("tail: the end is moved without a look", 100),
        ("tail: the group stays open", 200),
    ] {
        finds(mistake, within, the_writer_takes_what_is_filled);
    }
}

/// Goal: what was filled stays where it is until it is given back, and everybody gets room in the end.
/// Method: one fills and reads again what it has filled, one only fills; another goes from record to
/// record while the memory behind is given back; one makes space on the disk, step by step.
fn what_is_read_stays() {
    let ring = Ring::new(RING, 64, 3 * RING + 80, 3 * RING + 80);
    // Below this the filler reads nothing any more.
    let done_to = AtomicU64::new(0);
    let filling = AtomicUsize::new(2);
    scope(|scope| {
        scope.spawn(|| {
            for bytes in [40, 24, 56] {
                let nothing_is_held = || done_to.store(ring.end(), Ordering::SeqCst);
                let (start, address) = put(&ring, bytes, nothing_is_held);
                (0..60).for_each(|_| point());
                // SAFETY: not given back before `done_to` is past it.
                let there = unsafe { std::slice::from_raw_parts(address.as_ptr(), bytes as usize) };
                assert_eq!(there, expected(start, bytes));
                done_to.store(start + bytes, Ordering::SeqCst);
            }
            done_to.store(u64::MAX, Ordering::SeqCst);
            filling.fetch_sub(1, Ordering::SeqCst);
        });
        scope.spawn(|| {
            for bytes in [48, 56, 40, 64] {
                put(&ring, bytes, || ());
            }
            filling.fetch_sub(1, Ordering::SeqCst);
        });
        scope.spawn(|| {
            while filling.load(Ordering::SeqCst) > 0 {
                if ring.allocated() < ring.end() + 64 {
                    ring.set_allocated(ring.allocated() + 48);
                }
                yield_now();
            }
        });
        while filling.load(Ordering::SeqCst) > 0 {
            let written = write(&ring);
            let from = ring.reclaimed();
            if from < written {
                let reading = ring.read_from(from);
                let length = u64::from_le_bytes(ring.copy(from, 0));
                point();
                let record = reading.ring.slice(Span {
                    record: from,
                    offset: 0,
                    bytes: length,
                });
                assert_eq!(record, expected(from, length));
            }
            let unread = match planted("reader: what is read is given back") {
                true => written,
                false => done_to.load(Ordering::SeqCst).clamp(from, written),
            };
            // SAFETY: nobody reads below; with the mistake somebody does, and finds other bytes.
            unsafe { ring.reclaim(unread) };
            yield_now();
        }
    });
    assert_eq!(write(&ring), 3 * RING + 80 + 328);
}

#[test]
fn ring_what_is_read_stays() {
    explore("ring: what is read stays", 6000, what_is_read_stays);
    finds(
        "reader: what is read is given back",
        200,
        what_is_read_stays,
    );
}

/// Goal: of two who raise the limit at once none takes back what the other has given.
/// Method: there is neither memory nor space; one gives memory back, one makes space; then there is both.
fn both_raise_the_limit() {
    let ring = Ring::new(RING, 64, RING, 2 * RING);
    for _ in 0..2 {
        put(&ring, 64, || ());
    }
    write(&ring);
    assert_eq!(try_put(&ring, 64), Err(Refused::Limit));
    scope(|scope| {
        // SAFETY: nobody reads.
        scope.spawn(|| unsafe { ring.reclaim(ring.written()) });
        ring.set_allocated(3 * RING);
    });
    let taken = [try_put(&ring, 64), try_put(&ring, 64)];
    assert!(taken.iter().all(Result::is_ok), "{taken:?}");
    assert_eq!(try_put(&ring, 8), Err(Refused::Limit));
}

#[test]
fn ring_both_raise_the_limit() {
    explore("ring: both raise the limit", 1000, both_raise_the_limit);
    finds(
        "ring: the limit is raised by what was",
        500,
        both_raise_the_limit,
    );
}

/// Goal: what a sealed ring says is its end stays its end, and everything below gets filled.
/// Method: two put in until they are refused; one seals and writes what there is.
fn a_seal_is_the_end() {
    let ring = Ring::new(RING, 64, 48, ENOUGH);
    let fill = || {
        for bytes in [16, 24] {
            match try_put(&ring, bytes) {
                Ok(_) => {}
                Err(refused) => return assert_eq!(refused, Refused::Sealed),
            }
        }
    };
    scope(|scope| {
        scope.spawn(fill);
        scope.spawn(fill);
        write(&ring);
        ring.seal();
        let end = ring.end();
        assert_eq!(write(&ring), end);
        yield_now();
        assert_eq!(ring.end(), end, "moved behind the seal");
    });
    assert_eq!(ring.written(), ring.end(), "moved behind the seal");
    assert_eq!(try_put(&ring, 8), Err(Refused::Sealed));
}

#[test]
fn ring_a_seal_is_the_end() {
    explore("ring: a seal is the end", 4000, a_seal_is_the_end);
    finds("tail: the seal is not looked at", 100, a_seal_is_the_end);
}
