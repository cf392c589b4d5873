//! Measures the ordered index: inserts, look-ups and scans, alone and beside each other.
//!
//! `cargo run --release -p quintet-index --example ordered_speed [-- [cpu] entries ..]`; without
//! entries 1 000 000 and 10 000 000. With `cpu` by the threads' time on a processor instead of the
//! clock's, which is what can be compared while the machine does other things; times of several
//! threads are then as if each had a processor.
//!
//! Load: 8-byte keys are big-endian integers, drawn at random or rising; 24-byte keys have 16 bytes
//! in common before that. Entries are allocated beforehand in one piece each thread, in the order
//! of insertion. Look-ups are of present keys in another random order and compare the whole key.
//! Scans go through `chunk` by 1000 and take the pointers only, or read each key as well. Every
//! figure is millions a second of all threads together: the best of three runs of the whole, or one
//! run at 10 million and more.
//!
//! Measured with `cpu` on two hyperthreads of a Xeon (2 MiB L2 a core, 260 MiB L3, shared), busy
//! with other work at a load of 5 to 7, one thread, glibc's allocator, 4 KiB pages:
//!
//! | entries | key | rising | random | get | scan | scan+key |
//! |---|---|---|---|---|---|---|
//! | 1 M | 8 | 13.9 | 4.3 | 2.4 | 63-84 | 63-84 |
//! | 1 M | 24 | 12.3 | 4.1 | 2.2 | 70-89 | 65-83 |
//! | 10 M | 8 | 12.3 | 2.1 | 1.2 | 41 | 33 |
//! | 10 M | 24 | 11.3 | 1.9 | 1.1 | 40 | 30 |
//!
//! Look-ups wait for memory: the leaf, then the entry, each with a miss of the page tables (with
//! huge pages, `GLIBC_TUNABLES=glibc.malloc.hugetlb=1`, 1 M and 8 bytes give 2.4 to 2.9).
//!
//! Slots per node, 8-byte keys, one thread:
//!
//! | slots | random 1 M | get 1 M | scan 1 M | random 10 M | get 10 M | scan 10 M | bytes an entry |
//! |---|---|---|---|---|---|---|---|
//! | 28 | 3.3 | 1.9 | 54 | 1.5 | 0.84 | 26 | 29.3 |
//! | 60 | 4.4 | 2.4 | 74 | 1.8 | 1.18 | 39 | 25.8 |
//! | 124 | 4.3 | 2.5 | 92 | 1.9 | 1.04 | 40 | 24.4 |
#![allow(unsafe_code, reason = "owns the entries of the index")]
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement of the clock's own time"
)]

use std::{
    hint::black_box,
    ops::Bound,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Instant,
};

use quintet_index::{Entry, OrderedIndex, pin};

struct Record {
    key: [u8; 24],
    length: usize,
}

// SAFETY: nobody changes a record, and all outlive the index.
unsafe impl Entry for Record {
    fn key(&self) -> &[u8] {
        &self.key[..self.length]
    }
}

/// Splitmix, which hits every number once.
fn mix(at: u64) -> u64 {
    let mut mixed = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn record(number: u64, length: usize) -> Record {
    let mut key = *b"table/0001/0002/--------";
    if length == 8 {
        key[..8].copy_from_slice(&number.to_be_bytes());
    } else {
        key[16..].copy_from_slice(&number.to_be_bytes());
    }
    Record { key, length }
}

/// Nanoseconds that this thread has been running, or the clock's if that is asked for or the
/// system does not say.
fn time() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    let elapsed = BEGIN.get_or_init(Instant::now).elapsed();
    let on_cpu = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok()
    };
    let wanted = std::env::args().any(|argument| argument == "cpu");
    wanted
        .then(on_cpu)
        .flatten()
        .unwrap_or(elapsed.as_nanos() as u64)
}

/// Millions a second of `work` on all threads at once, by the slowest; it gets the thread's number.
fn rate(operations: usize, threads: usize, work: impl Fn(usize) + Sync) -> f64 {
    let timed = |thread| {
        let begin = time();
        work(thread);
        time() - begin
    };
    let longest = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|thread| {
                let timed = &timed;
                scope.spawn(move || timed(thread))
            })
            .collect();
        let own = timed(0);
        let others = others
            .into_iter()
            .map(|other| other.join().expect("it worked"));
        others.fold(own, u64::max)
    });
    operations as f64 * 1e3 / longest as f64
}

/// How many operations go by under one guard, as in a short transaction.
const PINNED: usize = 16;

fn insert_all(index: &OrderedIndex<Record>, records: &[Record]) {
    for some in records.chunks(PINNED) {
        let guard = pin();
        for record in some {
            // SAFETY: the records outlive the index.
            let there = unsafe { index.insert(record, &guard) };
            assert!(there.is_none());
        }
    }
}

fn scan_all(index: &OrderedIndex<Record>, backward: bool, mut each: impl FnMut(&Record)) -> usize {
    let guard = pin();
    let mut into = Vec::with_capacity(1000);
    let (mut lower, mut upper) = (Bound::Unbounded, Bound::Unbounded);
    let mut count = 0;
    loop {
        into.clear();
        let done = index.chunk(lower, upper, backward, 1000, &guard, &mut into);
        count += into.len();
        into.iter().for_each(|record| each(record));
        if done {
            return count;
        }
        let last = Bound::Excluded(into[into.len() - 1].key());
        if backward {
            upper = last;
        } else {
            lower = last;
        }
    }
}

const COLUMNS: [&str; 6] = ["rising", "random", "get", "scan", "scan back", "scan+key"];

fn measure(entries: usize, length: usize, threads: usize) -> ([f64; 6], String) {
    let of = |thread: usize, random: bool| -> Vec<Record> {
        let numbers = (thread..entries).step_by(threads).map(|at| at as u64);
        numbers
            .map(|at| record(if random { mix(at) } else { at }, length))
            .collect()
    };
    let mut rates = [0.0; 6];
    let rising: Vec<Vec<Record>> = (0..threads).map(|thread| of(thread, false)).collect();
    let mut index = OrderedIndex::new();
    rates[0] = rate(entries, threads, |thread| {
        insert_all(&index, &rising[thread])
    });
    let filled = index.check();
    drop(index);
    drop(rising);

    let random: Vec<Vec<Record>> = (0..threads).map(|thread| of(thread, true)).collect();
    let mut index = OrderedIndex::new();
    rates[1] = rate(entries, threads, |thread| {
        insert_all(&index, &random[thread])
    });
    rates[2] = rate(entries, threads, |thread| {
        let mut left = entries / threads;
        let mut at = thread as u64;
        while left > 0 {
            let guard = pin();
            for _ in 0..PINNED.min(left) {
                at += 1;
                let record = record(mix(mix(at) % entries as u64), length);
                assert!(index.get(record.key(), &guard).is_some());
            }
            left = left.saturating_sub(PINNED);
        }
    });
    for (column, backward) in [(3, false), (4, true)] {
        rates[column] = rate(entries * threads, threads, |_| {
            assert_eq!(
                scan_all(&index, backward, |record| {
                    black_box(std::ptr::from_ref(record));
                }),
                entries
            );
        });
    }
    rates[5] = rate(entries * threads, threads, |_| {
        scan_all(&index, false, |record| {
            black_box(record.key()[length - 1]);
        });
    });
    let shape = index.check();
    let note = format!(
        "{:.0} % / {:.0} % full, {} levels, {:.1} B/entry",
        100.0 * filled.fill(),
        100.0 * shape.fill(),
        shape.levels,
        shape.node_bytes as f64 / shape.entries as f64,
    );
    (rates, note)
}

/// Scans all again and again while `writers` insert at random; the index begins with half of the
/// entries. Millions a second: scanned by the one scanner, inserted by all writers.
fn measure_beside_writers(entries: usize, writers: usize) -> (f64, f64) {
    let of = |thread: usize| -> Vec<Record> {
        let numbers = (thread..entries).step_by(writers);
        numbers.map(|at| record(mix(at as u64), 24)).collect()
    };
    let records: Vec<Vec<Record>> = (0..writers).map(of).collect();
    let index = OrderedIndex::new();
    for records in &records {
        insert_all(&index, &records[..records.len() / 2]);
    }
    let writing = AtomicUsize::new(writers);
    let (index, writing) = (&index, &writing);
    std::thread::scope(|scope| {
        let scanner = scope.spawn(move || {
            let (begin, mut scanned) = (time(), 0);
            while writing.load(SeqCst) > 0 {
                scanned += scan_all(index, false, |record| {
                    black_box(std::ptr::from_ref(record));
                });
            }
            scanned as f64 * 1e3 / (time() - begin) as f64
        });
        let inserted = rate(entries / 2, writers, |thread| {
            let records = &records[thread];
            insert_all(index, &records[records.len() / 2..]);
            writing.fetch_sub(1, SeqCst);
        });
        (scanner.join().expect("it scanned"), inserted)
    })
}

fn main() {
    let mut sizes: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|arg| arg.parse().ok())
        .collect();
    if sizes.is_empty() {
        sizes = vec![1_000_000, 10_000_000];
    }
    print!("{:>10} {:>4} {:>7}", "entries", "key", "threads");
    COLUMNS.iter().for_each(|column| print!(" {column:>9}"));
    println!("   rising / random");
    for &entries in &sizes {
        for length in [8, 24] {
            for threads in [1, 2] {
                let runs = if entries < 10_000_000 { 3 } else { 1 };
                let mut best = [0.0_f64; 6];
                let mut note = String::new();
                for _ in 0..runs {
                    let (rates, shape) = measure(entries, length, threads);
                    for (best, rate) in best.iter_mut().zip(rates) {
                        *best = best.max(rate);
                    }
                    note = shape;
                }
                print!("{entries:>10} {length:>4} {threads:>7}");
                best.iter().for_each(|rate| print!(" {rate:>9.2}"));
                println!("   {note}");
            }
        }
    }
    println!("\nscanning beside writers, 24-byte keys at random");
    println!(
        "{:>10} {:>7} {:>9} {:>9}",
        "entries", "writers", "scan", "insert"
    );
    for entries in sizes {
        for writers in [1, 2, 8] {
            let (scan, insert) = measure_beside_writers(entries, writers);
            println!("{entries:>10} {writers:>7} {scan:>9.2} {insert:>9.2}");
        }
    }
}
