//! Reservations, the writer's turns and whoever goes through the log's memory: every record is whole, in
//! memory and on the disk.

use crate::config::WalConfig;
use crate::error::Error;
use crate::reservation::{MemoryRecords, Reservation};
use crate::shared::Shared;
use crate::writer::{Turn, Writer};
use quintet_base::Lsn;
use quintet_interleave::explore::{explore, finds};
use quintet_interleave::{point, scope, yield_now};
use quintet_rt::{Disk, SimClock, SimDisk};
use std::path::Path;
use std::sync::Arc;
// Of `std`: what the test notes is no step of it.
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) fn open(disk: &SimDisk) -> Shared {
    disk.create_dir_all(Path::new("/data"))
        .expect("nothing fails");
    let config = WalConfig {
        ring_bytes: 4096,
        // So long that nobody has to ask for the next one.
        segment_bytes: 64 << 10,
        keep_in_memory: true,
        ..WalConfig::new("/data/log")
    };
    let clock = Arc::new(SimClock::default());
    let opened = Shared::open(Arc::new(disk.clone()), config, None, clock);
    opened.expect("nothing fails").0
}

/// What a record with this lsn holds.
fn expected(lsn: Lsn, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (lsn.0 / 8 * 13 + at as u64 * 7) as u8)
        .collect()
}

fn reserve(shared: &Shared, bytes: usize) -> Reservation<'_> {
    loop {
        match shared.reserve(bytes) {
            Ok(place) => return place,
            Err(Error::NoRoom) => yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

pub(super) fn put(shared: &Shared, bytes: usize) {
    let mut place = reserve(shared, bytes);
    let payload = expected(place.lsn(), bytes);
    place.payload()[..bytes / 2].copy_from_slice(&payload[..bytes / 2]);
    point();
    place.payload()[bytes / 2..].copy_from_slice(&payload[bytes / 2..]);
    place.finish();
}

/// Goal: what is handed to the disk and what is read in memory are whole records, in order, none of them lost.
/// Method: two fill more than a lap; a third takes turns as the log's writer and as one who goes through the
/// memory and gives it back; the log is opened again and read.
fn records_are_whole() {
    let disk = SimDisk::new(1);
    let shared = Arc::new(open(&disk));
    let mut writer = Writer::new(Arc::clone(&shared));
    let filling = AtomicUsize::new(2);
    let fill = |sizes: [usize; 2]| {
        for bytes in sizes {
            put(&shared, bytes);
        }
        filling.fetch_sub(1, Ordering::SeqCst);
    };
    let mut found = 0;
    let mut turn = || {
        assert_eq!(writer.turn(), Turn::Done);
        let (from, to) = (shared.ring.reclaimed(), shared.ring.written());
        for (lsn, payload) in MemoryRecords::new(&shared.ring, from, to) {
            assert_eq!(payload, expected(lsn, payload.len()));
            found += 1;
        }
        // SAFETY: what was read has been compared.
        unsafe { shared.ring.reclaim(to) };
    };
    scope(|scope| {
        scope.spawn(|| fill([1500, 1]));
        scope.spawn(|| fill([700, 2000]));
        while filling.load(Ordering::SeqCst) > 0 {
            turn();
            yield_now();
        }
    });
    turn();
    assert_eq!(found, 4);
    assert_eq!(shared.marks.durable(), shared.end());
    let (stream, end) = (shared.stream(), shared.end());
    let records = crate::LogReader::new(stream, 0, end, shared.log_id);
    let records = records.map(|record| record.expect("a whole record"));
    let whole = records.map(|(lsn, bytes)| assert_eq!(&bytes[..], expected(lsn, bytes.len())));
    assert_eq!(whole.count(), 4);
}

#[test]
fn reservation_records_are_whole() {
    explore("reservation: records are whole", 2000, records_are_whole);
    for (mistake, within) in [
        ("ring: counted before it is filled", 500),
        ("ring: a crossing is noted late", 5000),
        ("tail: the end is moved without a look", 100),
    ] {
        finds(mistake, within, records_are_whole);
    }
}
