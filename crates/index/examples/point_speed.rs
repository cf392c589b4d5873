//! Measures the point index: insertions into a table that grows, and the longest of them.
//!
//! `cargo run --release -p quintet-index --example point_speed [-- entries]`; without a number
//! 4 000 000.
//!
//! Load: one thread; 24-byte keys lie behind a header of 48 bytes, as records' do, so that an entry is
//! two lines and its hash is made of both; entries are allocated beforehand in one piece, in the order
//! of insertion. By the thread's time on a processor, and the longest single insertion by the clock: that
//! is a shard that grew. The best of five runs.
//!
//! Measured on two processors of a virtual machine, busy with other work at a load of 5 to 7, 4 000 000 entries, three to five runs of each in turn, nanoseconds an insertion:
//!
//! | a shard that grows | ns |
//! |---|---|
//! | asks entry after entry for its hash | 253-312 |
//! | has the entries' first line brought two buckets ahead | 216-249 |
//! | both lines, two buckets ahead | 198-224 |
//! | both lines, four buckets ahead | 191-221 |
//!
//! Later, on an AMD EPYC in a slow hour, nine runs of each in turn, medians: asking every entry for its hash 317 ns, at most 1,823 µs for
//! one; only those that are not in their own bucket (decision 120) 260 ns and 1,065 µs.
#![allow(unsafe_code, reason = "owns the entries of the index")]
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement of the clock's own time"
)]

use quintet_index::{Entry, Hashed, PointIndex, pin};
use std::ptr::NonNull;
use std::time::Instant;

#[repr(C, align(64))]
struct Record {
    header: [u64; 6],
    key: [u64; 3],
}

// SAFETY: nobody changes a record, and all outlive the index.
unsafe impl Entry for Record {
    fn key(&self) -> &[u8] {
        unreachable!("the index asks for the hash only")
    }
}

// SAFETY: as above.
unsafe impl Hashed for Record {
    fn hash(&self) -> u64 {
        // Splitmix.
        let mut mixed = (self.key[0] ^ self.key[2]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Nanoseconds that this thread has been running.
fn time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let first = text.split(' ').next().expect("three numbers");
    first.parse().expect("a number")
}

/// How many operations go by under one guard, as in a short transaction.
const PINNED: usize = 16;

/// Nanoseconds of an insertion on average, and of the longest.
fn insert_all(records: &[Record]) -> (f64, u64) {
    let index = PointIndex::new();
    let (begin, mut longest) = (time(), 0);
    for some in records.chunks(PINNED) {
        let guard = pin();
        let began = Instant::now();
        for record in some {
            let make = || Some(NonNull::from(record));
            let same = |other: &Record| other.key == record.key;
            // SAFETY: the records outlive the index.
            let put = unsafe { index.get_or_insert(record.hash(), same, make, &guard) };
            assert!(put.is_some_and(|(_, made)| made));
        }
        longest = longest.max(began.elapsed().as_nanos() as u64);
    }
    ((time() - begin) as f64 / records.len() as f64, longest)
}

fn main() {
    let argument = std::env::args().nth(1);
    let entries = argument.map_or(4_000_000, |text| text.parse().expect("a number of entries"));
    let record = |number| Record {
        header: [0; 6],
        key: [number, 0, 0],
    };
    let records: Vec<Record> = (0..entries).map(record).collect();
    assert_eq!(
        records.iter().map(|record| record.header[0]).sum::<u64>(),
        0
    );
    let (mut best, mut longest) = (f64::MAX, u64::MAX);
    for _ in 0..5 {
        let (average, most) = insert_all(&records);
        best = best.min(average);
        longest = longest.min(most);
    }
    println!(
        "{entries} entries: {best:.0} ns an insertion, at most {} µs",
        longest / 1000
    );
}
