//! Records in memory: holes, laps, room, and that memory and disk hold the same.

use super::{Rig, config, give_back, give_back_of, new_disk};
use crate::error::Error;
use crate::record::Payload;
use crate::ring::Ring;
use crate::{MemoryRecords, Wal, WalConfig};
use quintet_base::{Durability, Lsn};
use quintet_rt::{Rand, SimDisk};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// A small ring whose records stay.
fn kept(ring_bytes: usize) -> WalConfig {
    WalConfig {
        ring_bytes,
        keep_in_memory: true,
        ..config()
    }
}

fn open(disk: &SimDisk, config: WalConfig) -> Arc<Wal> {
    Wal::open(Arc::new(disk.clone()), config, None).unwrap().0
}

fn owned(records: MemoryRecords<'_>) -> Vec<(Lsn, Vec<u8>)> {
    records.map(|(lsn, bytes)| (lsn, bytes.to_vec())).collect()
}

fn on_disk(log: &Wal, from: Lsn) -> Vec<(Lsn, Vec<u8>)> {
    let records = log.read_from(from).unwrap();
    records
        .map(|record| record.map(|(lsn, bytes)| (lsn, bytes.to_vec())).unwrap())
        .collect()
}

/// Some committers reserve records of random lengths and fill them slowly now and then; one more gives
/// memory back behind what is durable. Over many laps: each address holds its payload for as long as
/// it may be read, memory and disk agree, and so does the log that is opened again.
#[test]
fn many_laps_of_many_committers_are_read_back_from_memory_and_disk() {
    for (committers, keep_in_memory) in [(1, true), (2, true), (4, true), (4, false)] {
        let disk = new_disk(1);
        let settings = WalConfig {
            ring_bytes: 16 << 10,
            segment_bytes: 64 << 10,
            keep_in_memory,
            ..config()
        };
        let log = open(&disk, settings.clone());
        let committing = AtomicU64::new(committers);
        let mut answered: Vec<(Lsn, Vec<u8>)> = thread::scope(|scope| {
            let threads: Vec<_> = (0..committers)
                .map(|number| {
                    let (log, committing) = (&log, &committing);
                    scope.spawn(move || {
                        let done = commit(log, number);
                        committing.fetch_sub(1, Ordering::Release);
                        done
                    })
                })
                .collect();
            while keep_in_memory && committing.load(Ordering::Acquire) > 0 {
                let (from, to) = (log.reclaimed(), log.durable());
                assert_eq!(owned(log.memory(from, to)), on_disk_to(&log, from, to));
                give_back_of(&log, to);
                thread::yield_now();
            }
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap())
                .collect()
        });
        answered.sort();
        log.flush().unwrap();
        assert!(log.end().0 > 10 * log.ring_bytes(), "many laps");
        assert_eq!(log.stats().records, answered.len() as u64);
        assert!(on_disk(&log, Lsn::ZERO) == answered);
        drop(log);
        let log = open(&disk, settings);
        assert!(on_disk(&log, Lsn::ZERO) == answered);
        assert_eq!((log.reclaimed(), log.end()), (log.durable(), log.durable()));
    }
}

fn on_disk_to(log: &Wal, from: Lsn, to: Lsn) -> Vec<(Lsn, Vec<u8>)> {
    let mut records = on_disk(log, from);
    records.retain(|(lsn, _)| *lsn <= to);
    records
}

fn commit(log: &Wal, number: u64) -> Vec<(Lsn, Vec<u8>)> {
    let mut rand = Rand::seeded(number);
    let mut done = Vec::new();
    while done.len() < 400 {
        let bytes_max = if rand.one_in(10) { 8_000 } else { 600 };
        let mut bytes = vec![0; rand.below(bytes_max) as usize];
        rand.fill(&mut bytes);
        let mut reservation = match log.reserve(bytes.len()) {
            Ok(reservation) => reservation,
            Err(Error::NoRoom) => {
                thread::yield_now();
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let (start, lsn) = (reservation.start(), reservation.lsn());
        assert!(start < lsn.0 && lsn <= log.end());
        let half = bytes.len() / 2;
        reservation.payload()[..half].copy_from_slice(&bytes[..half]);
        if rand.one_in(50) {
            for _ in 0..200 {
                thread::yield_now();
            }
            assert!(log.durable().0 <= start, "durable passes a hole");
        }
        reservation.payload()[half..].copy_from_slice(&bytes[half..]);
        assert_eq!(reservation.payload(), bytes);
        reservation.finish();
        done.push((lsn, bytes));
    }
    done
}

/// Whoever comes after a reservation that is not finished waits for it, and those before do not.
#[test]
fn a_hole_keeps_durable_from_passing() {
    let disk = new_disk(1);
    let log = open(&disk, kept(64 << 10));
    let before = log.append(Payload::new("before".into())).unwrap();
    log.when_durable(before).wait().unwrap();
    let mut hole = log.reserve(5).unwrap();
    assert_eq!((hole.start(), hole.lsn()), (before.0, Lsn(before.0 + 40)));
    let after = log.append(Payload::new("after".into())).unwrap();
    assert_eq!(log.end(), after);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| log.when_durable(after).wait());
        for _ in 0..2_000 {
            assert_eq!(log.durable(), before);
            thread::yield_now();
        }
        assert!(!waiter.is_finished());
        log.wait_filled(before);
        hole.payload().copy_from_slice(b"a gap");
        let lsn = hole.lsn();
        hole.finish();
        waiter.join().unwrap().unwrap();
        assert!(log.durable() >= lsn);
    });
    let records = owned(log.memory(Lsn::ZERO, after));
    let payloads: Vec<&[u8]> = records.iter().map(|(_, bytes)| &bytes[..]).collect();
    assert_eq!(payloads, [&b"before"[..], b"a gap", b"after"]);
    assert_eq!(records, on_disk(&log, Lsn::ZERO));
}

/// Refused without an effect until memory is given back, however much is durable; and never more
/// than the ring is in use.
#[test]
fn without_room_a_record_is_refused_until_memory_is_reclaimed() {
    let disk = new_disk(1);
    let mut rig = Rig::open(&disk, kept(16 << 10), None).unwrap();
    let mut lsns = Vec::new();
    let refused = loop {
        match rig.append(&[7; 1000]) {
            Ok(lsn) => lsns.push(lsn),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::NoRoom), "{refused:?}");
    assert_eq!(lsns.len(), (16 << 10) / 1032);
    let end = rig.shared.end();
    assert_eq!(Lsn(end), lsns[lsns.len() - 1]);
    rig.turn();
    assert_eq!(rig.durable().0, end);
    assert!(matches!(rig.append(&[7; 1000]), Err(Error::NoRoom)));
    assert_eq!(rig.shared.end(), end);
    // What still fits is still taken; then there is no byte left.
    let rest = rig.shared.ring.bytes() - end;
    rig.append(&vec![1; rest as usize - 32]).unwrap();
    assert!(matches!(rig.append(b""), Err(Error::NoRoom)));
    give_back(&rig.shared.ring, lsns[0].0);
    // Going back does nothing.
    give_back(&rig.shared.ring, 0);
    assert_eq!(rig.shared.ring.reclaimed(), lsns[0].0);
    assert!(matches!(rig.append(&[8; 1001]), Err(Error::NoRoom)));
    rig.append(&[8; 1000]).unwrap();
    assert!(matches!(rig.append(b""), Err(Error::NoRoom)));
    assert_eq!(rig.shared.end() - lsns[0].0, rig.shared.ring.bytes());
    rig.turn();
    assert_eq!(rig.read_from(Lsn::ZERO).unwrap().len(), lsns.len() + 2);
}

#[test]
fn a_record_longer_than_configured_is_refused() {
    let disk = new_disk(1);
    let settings = WalConfig {
        record_bytes_max: 1000,
        ..kept(64 << 10)
    };
    let rig = Rig::open(&disk, settings, None).unwrap();
    assert!(rig.append(&[1; 1000]).is_ok());
    let end = rig.shared.end();
    let answer = rig.append(&[1; 1001]);
    assert!(
        matches!(
            answer,
            Err(Error::TooLong {
                bytes: 1001,
                bytes_max: 1000
            })
        ),
        "{answer:?}"
    );
    assert_eq!(rig.shared.end(), end);
    // Otherwise half of the ring, and a ring is at least a block.
    for (ring_bytes, bytes_max) in [(0, 2048), (4097, 4096), (64 << 10, 32 << 10)] {
        let rig = Rig::open(&new_disk(1), kept(ring_bytes), None).unwrap();
        assert!(rig.append(&vec![1; bytes_max]).is_ok());
        assert!(matches!(
            rig.append(&vec![1; bytes_max + 1]),
            Err(Error::TooLong { .. })
        ));
    }
}

/// Callers that know nothing of the memory append more than it holds, without waiting for room.
#[test]
fn append_waits_for_the_writer_where_the_writer_reclaims() {
    let disk = new_disk(1);
    let settings = WalConfig {
        ring_bytes: 8192,
        durability: Durability::None,
        ..config()
    };
    let log = open(&disk, settings);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for n in 0..200u8 {
                    log.append(Payload::new(vec![n; 3000].into())).unwrap();
                }
            });
        }
    });
    log.flush().unwrap();
    let records = on_disk(&log, Lsn::ZERO);
    assert_eq!(records.len(), 400);
    assert!(
        records
            .iter()
            .all(|(_, bytes)| bytes[..] == vec![bytes[0]; 3000])
    );
    // Where the caller reclaims, it is told instead.
    let log = open(&new_disk(1), kept(8192));
    log.append(Payload::new(vec![1; 4000].into())).unwrap();
    log.append(Payload::new(vec![1; 4000].into())).unwrap();
    let answer = log.append(Payload::new(vec![1; 4000].into()));
    assert!(matches!(answer, Err(Error::NoRoom)), "{answer:?}");
}

/// Memory, the reader and the model agree at every moment, from every record on, also for what is not
/// written yet, and over reopenings, which forget the memory.
#[test]
fn memory_holds_what_the_disk_holds() {
    for seed in 0..30 {
        println!("seed {seed}");
        let mut rand = Rand::seeded(seed);
        let disk = new_disk(seed);
        let mut model: Vec<(Lsn, Vec<u8>)> = vec![(Lsn::ZERO, Vec::new())];
        for _ in 0..3 {
            let mut rig = Rig::open(&disk, kept(8192 << rand.below(3)), None).unwrap();
            let opened = rig.report.end;
            assert_eq!(rig.shared.ring.reclaimed(), opened.0);
            for _ in 0..300 {
                let mut bytes = vec![0; rand.below(700) as usize];
                rand.fill(&mut bytes);
                match rig.append(&bytes) {
                    Ok(lsn) => model.push((lsn, bytes)),
                    Err(error) => {
                        assert!(matches!(error, Error::NoRoom), "{error:?}");
                        rig.turn();
                        let reclaimed = rig.shared.ring.reclaimed();
                        let from = model.partition_point(|(lsn, _)| lsn.0 <= reclaimed);
                        let below = from as u64 + rand.below((model.len() - from) as u64);
                        give_back(&rig.shared.ring, model[below as usize].0.0);
                    }
                }
                if rand.one_in(4) {
                    rig.turn();
                    assert!(rig.read_from(Lsn::ZERO).unwrap() == model[1..]);
                }
                if rand.one_in(4) {
                    let reclaimed = rig.shared.ring.reclaimed();
                    let first = model.partition_point(|(lsn, _)| lsn.0 < reclaimed);
                    let from = first + rand.below((model.len() - first) as u64) as usize;
                    let to = from + rand.below((model.len() - from) as u64) as usize;
                    let (begin, end) = (model[from].0, model[to].0);
                    rig.shared.ring.wait_filled(end.0);
                    let found = owned(MemoryRecords::new(&rig.shared.ring, begin.0, end.0));
                    assert!(found == model[from + 1..=to]);
                }
            }
            rig.turn();
        }
    }
}

/// A full disk refuses a reservation as it refuses an append, and what is held meanwhile is finished.
#[test]
fn a_full_disk_refuses_a_reservation() {
    let disk = new_disk(1);
    let mut rig = Rig::open(&disk, kept(64 << 10), None).unwrap();
    let shared = Arc::clone(&rig.shared);
    let held = shared.reserve(100).unwrap();
    disk.set_capacity(Some(disk.used_bytes()));
    let end = shared.end();
    let answer = shared.reserve(10_000).map(|_| ());
    assert!(matches!(answer, Err(Error::DiskFull { .. })), "{answer:?}");
    assert_eq!(shared.end(), end);
    held.finish();
    disk.set_capacity(None);
    let lsn = rig.put(&[1; 10_000]);
    assert_eq!(rig.read_from(Lsn(end)).unwrap(), [(lsn, vec![1; 10_000])]);
}

/// Read in this order, no position is ahead of the next: reclaimed, durable, end. And none goes back.
#[test]
fn positions_keep_their_order_while_others_append() {
    let disk = new_disk(1);
    let log = open(
        &disk,
        WalConfig {
            segment_bytes: 1 << 20,
            ..kept(64 << 10)
        },
    );
    let appending = AtomicBool::new(true);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut before = (Lsn::ZERO, Lsn::ZERO, Lsn::ZERO);
                while appending.load(Ordering::Acquire) {
                    let now = (log.reclaimed(), log.durable(), log.end());
                    assert!(now.0 <= now.1 && now.1 <= now.2, "{now:?}");
                    assert!(before.0 <= now.0 && before.1 <= now.1 && before.2 <= now.2);
                    before = now;
                    thread::yield_now();
                }
            });
        }
        for n in 0..3_000usize {
            let mut reservation = loop {
                match log.reserve(n % 900) {
                    Ok(reservation) => break reservation,
                    Err(Error::NoRoom) => give_back_of(&log, log.durable()),
                    Err(error) => panic!("{error}"),
                }
            };
            let lsn = reservation.lsn();
            assert_eq!(lsn, log.end(), "one committer");
            reservation.payload().fill(1);
            reservation.finish();
        }
        appending.store(false, Ordering::Release);
    });
}

/// The variable that makes a test its own victim.
const VICTIM: &str = "QUINTET_WAL_TEST_VICTIM";

/// A hole in the log is impossible: to leave a reservation, by an early return or by a panic that
/// somebody catches, ends the process. The test runs itself again and watches it die.
#[test]
fn a_reservation_that_is_dropped_aborts_the_process() {
    if let Ok(how) = std::env::var(VICTIM) {
        let rig = Rig::open(&new_disk(1), config(), None).unwrap();
        let leave = || {
            let _held = rig.shared.reserve(100).unwrap();
            assert_ne!(how, "panics", "while it is held");
        };
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(leave));
        println!("survived");
        return;
    }
    let test = thread::current().name().unwrap().to_owned();
    for how in ["returns", "panics"] {
        let victim = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &test, "--nocapture"])
            .env(VICTIM, how)
            .output()
            .unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&victim.stdout),
            String::from_utf8_lossy(&victim.stderr),
        );
        assert!(
            !victim.status.success() && !out.contains("survived"),
            "{how}: {out}"
        );
        assert!(err.contains("the log cannot go on"), "{how}: {err}");
        assert_eq!(how == "panics", err.contains("while it is held"), "{err}");
    }
}

/// Memory is touched ahead of a log that is used, not of one that is not, and records stay what they were.
#[test]
#[cfg_attr(miri, ignore = "no large pages there")]
fn memory_is_touched_ahead_of_what_is_used() {
    const MIB: u64 = 1 << 20;
    let disk = new_disk(1);
    let settings = WalConfig {
        segment_bytes: 8 << 20,
        pending_bytes_max: 32 << 20,
        ..kept(64 << 20)
    };
    let log = open(&disk, settings);
    let payload: Vec<u8> = (0..50_000u32).map(|n| n as u8).collect();
    let mut ends = Vec::new();
    while log.end().0 < 10 * MIB {
        let lsn = log.append(Payload::new(payload.clone().into())).unwrap();
        ends.push((lsn, payload.clone()));
        log.when_durable(lsn).wait().unwrap();
    }
    // An old system touches nothing. A thread that comes when all of this has been written touches only what is ahead of it, as far as
    // it was asked to when the log had come to its last page but one: three pages.
    if Ring::new(64 << 20, 4096, 0, 0).touch(0) {
        let touched = (0..2000).find(|_| {
            quintet_rt::Clock::sleep(&quintet_rt::RealClock, std::time::Duration::from_millis(10));
            log.stats().touched_bytes >= 6 * MIB
        });
        assert!(touched.is_some(), "{:?}", log.stats());
    }
    assert!(log.stats().touched_bytes <= 22 * MIB, "{:?}", log.stats());
    assert!(owned(log.memory(Lsn(0), log.end())) == ends);
}
