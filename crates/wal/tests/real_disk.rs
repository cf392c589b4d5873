//! The log on the machine's own disk, from many threads: what was acknowledged is read back.

#![allow(clippy::unwrap_used)] // A test may; the lint's own exception misses helper functions.

use quintet_base::{Durability, Lsn};
use quintet_rt::{RealDisk, threads};
use quintet_wal::{Error, Payload, Wal, WalConfig, inspect};
use std::path::Path;
use std::sync::Arc;

fn config(directory: &Path, durability: Durability) -> WalConfig {
    WalConfig {
        durability,
        segment_bytes: 64 * 1024,
        async_flush_interval_ms: 5,
        pending_bytes_max: 16 * 1024,
        ..WalConfig::new(directory.join("log"))
    }
}

fn open(directory: &Path, durability: Durability, redo_start: Option<Lsn>) -> Arc<Wal> {
    let config = config(directory, durability);
    Wal::open(Arc::new(RealDisk), config, redo_start).unwrap().0
}

/// Four threads append and wait; after reopening every record is there once, each thread's in its
/// own order, and the positions that were answered are those in the log.
#[test]
fn records_of_many_threads_are_read_back_in_order() {
    for durability in [Durability::Sync, Durability::Async, Durability::None] {
        let scratch = tempfile::tempdir().unwrap();
        let log = open(scratch.path(), durability, None);
        let workers: Vec<_> = (0..4u8)
            .map(|worker| {
                let log = Arc::clone(&log);
                threads::spawn("appends", move || {
                    let answered = |n: u32| {
                        let bytes = [&[worker][..], &n.to_le_bytes(), &vec![worker; n as usize]];
                        log.wait_for_room().unwrap();
                        let lsn = log.append(Payload::new(bytes.concat().into())).unwrap();
                        if n.is_multiple_of(50) {
                            log.when_durable(lsn).wait().unwrap();
                            assert!(log.durable() >= lsn);
                        }
                        lsn
                    };
                    (0..300).map(answered).collect::<Vec<Lsn>>()
                })
            })
            .collect();
        let answered: Vec<Vec<Lsn>> = workers.into_iter().map(|w| w.join().unwrap()).collect();
        log.flush().unwrap();
        let stats = log.stats();
        assert_eq!(stats.records, 1200);
        assert_eq!(stats.bytes, log.end().0);
        assert!(stats.segments > 2 && stats.groups > 0 && stats.syncs > 0);
        drop(log);

        let log = open(scratch.path(), durability, None);
        let mut next = [0u32; 4];
        for record in log.read_from(Lsn::ZERO).unwrap() {
            let (lsn, bytes) = record.unwrap();
            let worker = bytes[0] as usize;
            let n = u32::from_le_bytes(bytes[1..5].try_into().unwrap());
            assert_eq!(n, next[worker]);
            assert_eq!(lsn, answered[worker][n as usize]);
            assert!(bytes.len() == 5 + n as usize && bytes[5..].iter().all(|b| *b == bytes[0]));
            next[worker] += 1;
        }
        assert_eq!(next, [300; 4]);
    }
}

#[test]
fn truncation_gives_space_back_and_the_log_goes_on() {
    let scratch = tempfile::tempdir().unwrap();
    let log = open(scratch.path(), Durability::Sync, None);
    let mut lsn = Lsn::ZERO;
    for round in 0..40u8 {
        for _ in 0..10 {
            lsn = log.append(Payload::new(vec![round; 4000].into())).unwrap();
        }
        log.truncate(lsn).unwrap();
        assert!(log.stats().disk_bytes <= 5 * 64 * 1024, "round {round}");
    }
    log.append(Payload::new("last".into())).unwrap();
    log.shutdown();
    assert!(matches!(
        log.append(Payload::new("late".into())),
        Err(Error::Closed)
    ));
    let directory = scratch.path().join("log");
    let (report, records) = inspect(&RealDisk, &directory, Some(lsn)).unwrap().unwrap();
    assert_eq!(
        (report.begin, report.records, report.cut_bytes),
        (lsn, 1, 0)
    );
    let payloads: Vec<_> = records.map(|record| record.unwrap().1).collect();
    assert_eq!(payloads, ["last"]);
    assert!(inspect(&RealDisk, &directory, Some(Lsn::ZERO)).is_err());
}
