//! Poison, full disk, back-pressure, and when a sync is due.

use super::{Rig, Turn, config, new_disk};
use crate::error::Error;
use crate::record::{Payload, RECORD_BYTES_MAX};
use crate::{Wal, WalConfig};
use quintet_base::{Durability, Lsn};
use quintet_rt::{Rand, SimDisk, threads};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn with(durability: Durability) -> WalConfig {
    WalConfig {
        durability,
        ..config()
    }
}

fn open(disk: &SimDisk, config: WalConfig) -> Arc<Wal> {
    Wal::open(Arc::new(disk.clone()), config, None).unwrap().0
}

fn payload(len: usize) -> Payload {
    Payload::new(vec![7; len].into())
}

/// Everybody who waits is told, everybody who comes later too, and what had been acknowledged
/// before stays so; after reopening the log goes on.
#[test]
fn a_failed_sync_poisons_the_log() {
    for threaded_waiters in [1, 8] {
        let disk = new_disk(1);
        // Large enough that no segment is made beside, which would meet the fault instead.
        let settings = WalConfig {
            segment_bytes: 65_536,
            ..config()
        };
        let log = open(&disk, settings);
        let first = log.append(payload(10)).unwrap();
        log.when_durable(first).wait().unwrap();
        disk.fail_sync(1);
        let waiters: Vec<_> = (0..threaded_waiters)
            .map(|_| {
                let log = Arc::clone(&log);
                threads::spawn("waits", move || {
                    let lsn = log.append(payload(100))?;
                    log.when_durable(lsn).wait()
                })
            })
            .collect();
        for waiter in waiters {
            let answer = waiter.join().unwrap();
            assert!(matches!(answer, Err(Error::Poisoned { .. })), "{answer:?}");
        }
        assert!(log.is_poisoned());
        assert_eq!(log.durable(), first);
        assert!(log.when_durable(first).wait().is_ok());
        let poisoned = |answer: Result<(), Error>| matches!(answer, Err(Error::Poisoned { .. }));
        assert!(poisoned(log.append(payload(1)).map(drop)));
        assert!(poisoned(log.when_durable(Lsn(1 << 40)).wait()));
        assert!(poisoned(log.flush()));
        assert!(poisoned(log.truncate(log.end())));
        log.shutdown();
        let log = open(&disk, config());
        assert!(log.end() >= first && !log.is_poisoned());
        let next = log.append(payload(1)).unwrap();
        log.when_durable(next).wait().unwrap();
    }
}

#[test]
fn a_failed_write_poisons_the_log() {
    let disk = new_disk(1);
    let mut rig = Rig::open(&disk, config(), None).unwrap();
    let first = rig.put(b"kept");
    disk.fail_write(1);
    rig.append(&[1; 100]).unwrap();
    assert_eq!(rig.turn(), Turn::Poisoned);
    assert_eq!(rig.turn(), Turn::Poisoned);
    assert_eq!(rig.durable(), first);
    assert!(matches!(rig.append(b"x"), Err(Error::Poisoned { .. })));
}

/// The record is refused whole, also when some of the segments it needs could be made; what was
/// there goes on, and when there is space again appends go on where they were.
#[test]
fn a_full_disk_refuses_and_recovers() {
    let disk = new_disk(1);
    let mut rig = Rig::open(&disk, config(), None).unwrap();
    let first = rig.put(&[1; 3000]);
    for capacity in [0, 5_000, 9_000, 17_000] {
        let used = disk.used_bytes();
        disk.set_capacity(Some(used + capacity));
        let answer = rig.append(&[2; 16_000]);
        assert!(matches!(answer, Err(Error::DiskFull { .. })), "{answer:?}");
        assert_eq!(disk.used_bytes(), used, "nothing stays behind");
        assert_eq!(rig.shared.end(), rig.durable().0);
        // What still fits is still taken.
        rig.put(&[3; 100]);
    }
    disk.set_capacity(None);
    rig.put(&[2; 16_000]);
    let records = rig.read_from(Lsn::ZERO).unwrap();
    let lengths: Vec<usize> = records.iter().map(|(_, bytes)| bytes.len()).collect();
    assert_eq!(lengths, [3000, 100, 100, 100, 100, 16_000]);
    assert_eq!(records[0].0, first);
    drop(rig);
    let rig = Rig::open(&disk, config(), None).unwrap();
    assert_eq!(rig.read_from(Lsn::ZERO).unwrap(), records);
}

#[test]
fn a_disk_without_space_for_a_new_log_says_so() {
    let disk = new_disk(1);
    disk.set_capacity(Some(5000));
    let answer = Rig::open(&disk, config(), None).map(|_| ());
    assert!(matches!(answer, Err(Error::DiskFull { .. })), "{answer:?}");
    assert_eq!(disk.used_bytes(), 0);
    disk.set_capacity(None);
    Rig::open(&disk, config(), None).unwrap().put(b"now");
}

#[test]
fn a_record_that_is_too_long_is_refused() {
    let disk = new_disk(1);
    let rig = Rig::open(&disk, config(), None).unwrap();
    let bytes = vec![0; RECORD_BYTES_MAX + 1];
    let answer = rig.append(&bytes);
    assert!(matches!(answer, Err(Error::TooLong { bytes: b, .. }) if b == bytes.len()));
    assert_eq!(rig.shared.end(), 0);
}

#[test]
fn an_empty_record_and_one_over_many_segments_read_back() {
    let disk = new_disk(1);
    let mut rig = Rig::open(&disk, config(), None).unwrap();
    let mut long = vec![0; 700_000];
    Rand::seeded(1).fill(&mut long);
    let written = [&b""[..], &long, b"", b"end"].map(|bytes| (rig.put(bytes), bytes.to_vec()));
    assert_eq!(rig.read_from(Lsn::ZERO).unwrap(), written);
    assert_eq!(rig.read_from(written[0].0).unwrap(), written[1..]);
    drop(rig);
    let rig = Rig::open(&disk, config(), Some(written[1].0)).unwrap();
    assert_eq!(rig.read_from(written[1].0).unwrap(), written[2..]);
    let segments = rig.shared.stats().segments;
    assert!(
        segments <= 2,
        "{segments} segments below the redo start stay"
    );
}

#[test]
fn a_sync_is_due_as_the_durability_says() {
    for durability in [Durability::Sync, Durability::Async, Durability::None] {
        let disk = new_disk(1);
        let mut rig = Rig::open(&disk, with(durability), None).unwrap();
        let syncs = disk.syncs();
        let lsn = rig.append(b"x").unwrap();
        rig.turn();
        assert_eq!(rig.shared.written(), lsn.0);
        let at_once = match durability {
            Durability::Sync => (lsn, 1),
            Durability::Async => (Lsn::ZERO, 0),
            Durability::None => (lsn, 0),
        };
        assert_eq!((rig.durable(), disk.syncs() - syncs), at_once);
        rig.clock.advance(Duration::from_millis(9));
        rig.append(b"y").unwrap();
        rig.turn();
        // The second write does not put off the sync of the first.
        rig.clock.advance(Duration::from_millis(1));
        rig.turn();
        let (later, count) = match durability {
            Durability::Sync => (rig.shared.end(), 2),
            Durability::Async => (rig.shared.end(), 1),
            Durability::None => (rig.shared.end(), 0),
        };
        assert_eq!((rig.durable().0, disk.syncs() - syncs), (later, count));
        rig.append(b"z").unwrap();
        rig.shared.close();
        assert_eq!(rig.turn(), Turn::Closed);
        assert_eq!(rig.shared.synced(), rig.shared.end());
    }
}

#[test]
fn flush_syncs_under_every_durability_and_so_does_shutdown() {
    for durability in [Durability::Sync, Durability::Async, Durability::None] {
        let mut settings = with(durability);
        settings.async_flush_interval_ms = 3_600_000;
        let disk = new_disk(1);
        let log = open(&disk, settings.clone());
        log.append(payload(100)).unwrap();
        log.flush().unwrap();
        let first = log.end();
        assert_eq!(log.durable(), first);
        let crashed = disk.crash(&mut Rand::seeded(1));
        assert_eq!(open(&crashed, settings.clone()).end(), first);
        let second = log.append(payload(100)).unwrap();
        log.shutdown();
        log.shutdown();
        let crashed = disk.crash(&mut Rand::seeded(1));
        assert_eq!(open(&crashed, settings).end(), second);
        assert!(matches!(log.append(payload(1)), Err(Error::Closed)));
        assert!(matches!(log.wait_for_room(), Ok(())));
        assert!(log.when_durable(second).is_ready());
    }
}

#[test]
fn an_async_commit_is_synced_within_its_interval_without_being_asked() {
    let disk = new_disk(1);
    let log = open(&disk, with(Durability::Async));
    let lsn = log.append(payload(100)).unwrap();
    log.when_durable(lsn).wait().unwrap();
    assert_eq!(log.durable(), lsn);
}

#[test]
fn wait_for_room_waits_for_the_writer_and_append_does_not() {
    let disk = new_disk(1);
    let mut settings = config();
    settings.pending_bytes_max = 1000;
    let mut rig = Rig::open(&disk, settings, None).unwrap();
    rig.append(&[1; 900]).unwrap();
    assert!(rig.shared.has_room());
    rig.append(&[1; 900]).unwrap();
    assert!(!rig.shared.has_room());
    rig.append(&[1; 900]).unwrap();
    let passed = Arc::new(AtomicBool::new(false));
    let (shared, flag) = (Arc::clone(&rig.shared), Arc::clone(&passed));
    let waiter = threads::spawn("waits", move || {
        let answer = shared.wait_for_room();
        flag.store(true, Ordering::SeqCst);
        answer
    });
    while rig.shared.sleepers() == 0 {
        std::thread::yield_now();
    }
    assert!(!passed.load(Ordering::SeqCst));
    rig.turn();
    waiter.join().unwrap().unwrap();
    assert!(rig.shared.has_room());
}

/// Committers on threads against a disk that loses power at any moment: whatever had been
/// acknowledged before is there afterwards.
#[test]
fn acknowledged_commits_of_many_threads_survive_power_loss() {
    for seed in 0..150 {
        println!("seed {seed}");
        let mut rand = Rand::seeded(seed);
        let disk = new_disk(seed);
        let log = open(&disk, config());
        let committers: Vec<_> = (0..3u8)
            .map(|committer| {
                let log = Arc::clone(&log);
                threads::spawn("commits", move || {
                    let mut acknowledged = Vec::new();
                    for n in 0..40u8 {
                        let bytes = [committer, n, 0, 0].repeat(1 + usize::from(n) * 3);
                        let Ok(lsn) = log.append(Payload::new(bytes.clone().into())) else {
                            break;
                        };
                        if log.when_durable(lsn).wait().is_err() {
                            break;
                        }
                        acknowledged.push((lsn, bytes));
                    }
                    acknowledged
                })
            })
            .collect();
        disk.power_off_at_change(1 + rand.below(120));
        let answered: Vec<_> = committers.into_iter().map(|c| c.join().unwrap()).collect();
        let after = disk.crash(&mut rand);
        let log = open(&after, config());
        let found: Vec<(Lsn, Vec<u8>)> = log
            .read_from(Lsn::ZERO)
            .unwrap()
            .map(|record| record.map(|(lsn, bytes)| (lsn, bytes.to_vec())).unwrap())
            .collect();
        for acknowledged in answered.into_iter().flatten() {
            assert!(
                found.contains(&acknowledged),
                "seed {seed}: {acknowledged:?}"
            );
        }
    }
}

/// The waker of a waiting task owns the task, and the task may own the last handle: it then goes on
/// the writer's own thread, which must not wait for itself to end.
#[test]
fn the_last_handle_may_go_on_the_writers_own_thread() {
    struct Task(Arc<Wal>);
    impl std::task::Wake for Task {
        fn wake(self: Arc<Self>) {
            assert!(self.0.durable() > Lsn::ZERO);
        }
    }
    let disk = new_disk(1);
    let mut settings = with(Durability::Async);
    settings.async_flush_interval_ms = 300;
    let log = open(&disk, settings);
    let lsn = log.append(payload(1)).unwrap();
    let mut wait = log.when_durable(lsn);
    let watch = Arc::downgrade(&log);
    let waker = std::task::Waker::from(Arc::new(Task(log)));
    let polled = std::pin::Pin::new(&mut wait).poll(&mut std::task::Context::from_waker(&waker));
    assert!(polled.is_pending(), "synced 300 ms later at the earliest");
    drop(waker);
    while watch.strong_count() > 0 {
        std::thread::yield_now();
    }
    wait.wait().unwrap();
}

/// A task polls its waiting commit from another place, with another waker: the first waker goes,
/// and with it what it owned, which may be the last handle.
#[test]
fn a_waker_that_is_replaced_may_own_the_log() {
    struct Owner(Arc<Wal>);
    impl std::task::Wake for Owner {
        fn wake(self: Arc<Self>) {
            assert!(!self.0.is_poisoned());
        }
    }
    let disk = new_disk(1);
    let mut settings = with(Durability::Async);
    settings.async_flush_interval_ms = 3_600_000;
    let log = open(&disk, settings);
    let mut wait = log.when_durable(log.append(payload(1)).unwrap());
    let waker = std::task::Waker::from(Arc::new(Owner(log)));
    let polled = std::pin::Pin::new(&mut wait).poll(&mut std::task::Context::from_waker(&waker));
    assert!(polled.is_pending());
    drop(waker);
    // Replaces the waker; the log shuts down, which makes the record durable.
    wait.wait().unwrap();
}

/// The story: a process was killed after it had given the next segment its name and before it had
/// synced the directory. The next one found the segment and wrote into it, synced the file, answered,
/// and the power failed: the name was lost, and with it what had been answered. Found by `sim`.
#[test]
fn a_segment_whose_name_was_not_synced_by_a_killed_process_keeps_what_the_next_one_writes() {
    let record = [7u8; 500];
    for killed_at in 1..60 {
        let disk = new_disk(killed_at);
        let mut rig = Rig::open(&disk, config(), None).unwrap();
        disk.power_off_at_change(killed_at);
        while rig.append(&record).is_ok() && rig.turn() == Turn::Done {}
        drop(rig);
        // Killed: nothing of what the system has is lost.
        disk.clear_faults();
        let mut rig = Rig::open(&disk, config(), None).unwrap();
        // Into that segment and not beyond: making another one would sync the directory.
        let durable = (0..3).map(|_| rig.put(&record)).last().unwrap();
        for seed in 0..8 {
            let crashed = disk.crash(&mut quintet_rt::Rand::seeded(seed));
            let rig = Rig::open(&crashed, config(), None);
            let end = rig.map(|rig| rig.report.end);
            assert_eq!(end.unwrap(), durable, "killed at change {killed_at}");
        }
    }
}

/// The story: the disk failed while segments were made, and while they were removed again. A later
/// attempt failed, too, and removed the one that it had begun with: those behind it were still there,
/// and the gap was taken for damage. Found by `sim`.
#[test]
fn a_disk_that_fails_twice_while_segments_are_made_leaves_no_gap() {
    let long = [7u8; 20_000];
    for first in 1..40 {
        for second in 1..8 {
            let disk = new_disk(first);
            let rig = Rig::open(&disk, config(), None).unwrap();
            disk.power_off_at_change(first);
            let _ = rig.append(&long);
            // The errors pass, and the process goes on.
            disk.clear_faults();
            disk.fail_write(second);
            let _ = rig.append(&long);
            disk.clear_faults();
            drop(rig);
            let again = Rig::open(&disk, config(), None);
            assert!(again.is_ok(), "{first} {second}: {:?}", again.err());
        }
    }
}
