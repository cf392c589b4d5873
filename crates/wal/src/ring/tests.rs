//! The ring by itself: no disk and no checksums, so that Miri can watch every access.
//!
//! ```text
//! cargo +nightly miri test -p quintet-wal ring
//! ```

use super::*;
use quintet_rt::Rand;
use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;
use std::thread;

/// Fewer rounds where every access is checked.
const fn rounds(count: u64) -> u64 {
    if cfg!(miri) { count / 400 } else { count }
}

/// What a record that begins at `start` holds at `offset`: its length first, then bytes that no other
/// record has in the same places.
fn expected(start: u64, bytes: u64) -> Vec<u8> {
    let mut out = bytes.to_le_bytes().to_vec();
    out.extend((8..bytes).map(|offset| (start / 8 * 31 + offset * 7) as u8));
    out
}

fn put(ring: &Ring, bytes: u64) -> Result<(u64, NonNull<u8>), Refused> {
    let mut place = ring.reserve(bytes)?;
    let start = place.start();
    place.bytes_mut().copy_from_slice(&expected(start, bytes));
    Ok((start, place.fill(0)))
}

/// Takes what is unwritten up to the end, checks that it is whole records, one after the other.
fn write(ring: &Ring) -> u64 {
    let (from, end) = (ring.written(), ring.end());
    ring.wait_filled(end);
    let bytes = ring.unwritten(end).concat();
    assert_eq!(bytes.len() as u64, end - from);
    let mut at = 0;
    while at < bytes.len() {
        let length = u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
        let record = expected(from + at as u64, length);
        assert_eq!(
            bytes[at..at + record.len()],
            record,
            "at {}",
            from + at as u64
        );
        at += record.len();
    }
    ring.set_written(end);
    end
}

/// What was found in a record is told from what lies elsewhere, and is the same bytes.
#[test]
fn bytes_of_the_ring_last() {
    let ring = Ring::new(256, 128, 0, u64::MAX / 8);
    for lap in 0..3 {
        for _ in 0..2 {
            let (start, address) = put(&ring, 104).unwrap();
            // SAFETY: filled, and reclaimed below only.
            let found = unsafe { std::slice::from_raw_parts(address.as_ptr(), 104) };
            let row = &found[8..96];
            let lasting = ring.lasting(row).unwrap();
            assert_eq!(lasting, &expected(start, 104)[8..96], "lap {lap}");
            assert!(std::ptr::eq(lasting, row));
            assert_eq!(ring.lasting(&expected(start, 104)), None);
            assert_eq!(ring.lasting(&[]), None);
        }
        write(&ring);
        // SAFETY: nobody reads any more.
        unsafe { ring.reclaim(ring.written()) };
    }
}

/// A ring of 256 bytes for records of 8 to 128, over many laps: every overhang of the record that
/// crosses the end of a lap occurs, 0 included, and whatever is written is what was filled.
#[test]
fn records_cross_the_end_of_a_lap_with_every_overhang() {
    let mut rand = Rand::seeded(1);
    let ring = Ring::new(256, 128, 4096 + 8, u64::MAX / 8);
    let mut overhangs = [0u64; 16];
    for _ in 0..rounds(60_000) {
        let bytes = 8 * (1 + rand.below(16));
        let Ok((start, _)) = put(&ring, bytes) else {
            assert_eq!(ring.shortage(bytes), Some(Shortage::Memory));
            // Not always all of it, so that readers and writers meet in the middle of the ring.
            if rand.one_in(2) {
                write(&ring);
            }
            // SAFETY: nobody reads.
            unsafe { ring.reclaim(ring.written()) };
            continue;
        };
        assert!(ring.end() - ring.reclaimed() <= ring.bytes());
        let end = start + bytes;
        if start / 256 != end / 256 {
            overhangs[(end % 256 / 8) as usize] += 1;
        }
        if rand.one_in(3) {
            write(&ring);
        }
    }
    write(&ring);
    if !cfg!(miri) {
        assert!(overhangs.iter().all(|count| *count > 20), "{overhangs:?}");
    }
}

/// Two threads fill records and go on reading what they have filled, where it is; a third writes; a
/// fourth makes space on the disk; memory is given back below what anybody still reads. Nothing is
/// lost, mixed up or overwritten too early, and nobody is refused for ever.
#[test]
fn records_are_read_in_place_while_others_are_filled() {
    const FILLERS: usize = 2;
    let records = rounds(40_000);
    let ring = Ring::new(1024, 256, 0, 0);
    // Below this the filler reads nothing. Release pairs with the writer's Acquire: the reads are over.
    let done_to: [AtomicU64; FILLERS] = Default::default();
    let filling = AtomicBool::new(true);
    thread::scope(|scope| {
        let fillers: Vec<_> = done_to
            .iter()
            .enumerate()
            .map(|(number, done_to)| {
                let ring = &ring;
                scope.spawn(move || {
                    let mut rand = Rand::seeded(number as u64);
                    let mut held: Vec<(u64, u64, NonNull<u8>)> = Vec::new();
                    let mut left = records;
                    while left > 0 {
                        let bytes = 8 * (1 + rand.below(32));
                        match put(ring, bytes) {
                            Ok((start, address)) => {
                                held.push((start, bytes, address));
                                left -= 1;
                            }
                            Err(refused) => {
                                assert_eq!(refused, Refused::Limit);
                                // Perhaps what this thread holds is in its way.
                                held.pop();
                                thread::yield_now();
                            }
                        }
                        for (start, bytes, address) in &held {
                            // SAFETY: this thread has filled it and has not passed it in `done_to`, which
                            // is what holds the reclaiming back.
                            let there = unsafe {
                                std::slice::from_raw_parts(address.as_ptr(), *bytes as usize)
                            };
                            assert_eq!(there, expected(*start, *bytes));
                        }
                        if held.len() > 2 {
                            held.remove(0);
                        }
                        let oldest = match rand.one_in(8) {
                            true => held.last(),
                            false => held.first(),
                        };
                        let oldest = oldest.map_or(ring.end(), |held| held.0);
                        held.retain(|held| held.0 >= oldest);
                        done_to.store(oldest, Ordering::Release);
                    }
                    done_to.store(u64::MAX, Ordering::Release);
                })
            })
            .collect();
        scope.spawn(|| {
            while filling.load(Ordering::Acquire) {
                if ring.allocated() - ring.end() < 512 {
                    ring.set_allocated(ring.allocated() + 400);
                }
                thread::yield_now();
            }
        });
        let writer = scope.spawn(|| {
            while filling.load(Ordering::Acquire) {
                let written = write(&ring);
                let unread = done_to.iter().map(|to| to.load(Ordering::Acquire)).min();
                let below = unread.unwrap_or(0).clamp(ring.reclaimed(), written);
                // SAFETY: nobody reads below what all have passed.
                unsafe { ring.reclaim(below) };
                thread::yield_now();
            }
            write(&ring)
        });
        fillers
            .into_iter()
            .for_each(|filler| filler.join().unwrap());
        filling.store(false, Ordering::Release);
        assert_eq!(writer.join().unwrap(), ring.end());
    });
    assert_eq!(ring.records(), FILLERS as u64 * records);
}

/// Fields of a header are changed by the writer while somebody reads the rest of the same record.
#[test]
fn a_patch_disturbs_no_reader_of_other_bytes() {
    let ring = Ring::new(64, 64, 40, 1 << 20);
    // Crosses the end of the lap with byte 24.
    put(&ring, 48).unwrap();
    ring.wait_filled(88);
    let reading = ring.read_from(40);
    thread::scope(|scope| {
        scope.spawn(|| {
            ring.patch(40, 16, [0xAA; 8]);
            ring.patch(40, 28, [0xBB; 4]);
        });
        let payload = reading.ring.slice(Span {
            record: 40,
            offset: 32,
            bytes: 16,
        });
        assert_eq!(payload, &expected(40, 48)[32..]);
        assert_eq!(u64::from_le_bytes(ring.copy(40, 0)), 48);
    });
    let mut record = expected(40, 48);
    record[16..24].fill(0xAA);
    record[28..32].fill(0xBB);
    assert_eq!(ring.unwritten(88).concat(), record);
}

#[test]
#[should_panic(expected = "which is being read from")]
fn to_reclaim_what_is_being_read_is_noticed() {
    let ring = Ring::new(64, 64, 0, 1 << 20);
    put(&ring, 32).unwrap();
    ring.wait_filled(32);
    ring.set_written(32);
    let _reading = ring.read_from(0);
    // SAFETY: it panics.
    unsafe { ring.reclaim(32) };
}

#[test]
#[should_panic(expected = "written to 0")]
fn to_reclaim_what_is_not_written_is_noticed() {
    let ring = Ring::new(64, 64, 0, 1 << 20);
    put(&ring, 32).unwrap();
    ring.wait_filled(32);
    // SAFETY: it panics.
    unsafe { ring.reclaim(32) };
}

#[test]
#[should_panic(expected = "filled to 0")]
fn what_is_not_known_to_be_filled_is_not_shown() {
    let ring = Ring::new(64, 64, 0, 1 << 20);
    put(&ring, 32).unwrap();
    ring.copy::<8>(0, 0);
}
