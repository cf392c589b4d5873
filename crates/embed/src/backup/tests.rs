//! Backups of databases in use, and what is refused.

#![allow(clippy::unwrap_used)] // A test may; the lint's own exception misses helper functions.

mod replay;

use super::*;
use crate::{Bucket, Database, DatabaseConfig, Level};
use quintet_rt::{RealClock, RealDisk, threads};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn open(data: &Path) -> Database {
    let config = DatabaseConfig {
        memory_bytes: 64 << 20,
        ..DatabaseConfig::new(data)
    };
    Database::open(config).unwrap().0
}

fn write(backup: &mut Backup, out: &Path) -> Result<Totals, Error> {
    let mut writer = Writer::begin(Arc::new(RealDisk), out, backup.header())?;
    while let Some(frame) = backup.next_frame()? {
        writer.frame(&frame)?;
    }
    let totals = backup.totals();
    writer.finish(totals)?;
    Ok(totals)
}

fn restored(from: &Path, data: &Path) -> Result<Restored, Error> {
    let config = RestoreConfig {
        from: from.into(),
        data: data.into(),
        replay: None,
    };
    restore(&config, &mut |_, _| {})
}

fn amount(db: &Database, bucket: &Bucket, key: &[u8]) -> u64 {
    let txn = db.begin(Level::Snapshot);
    let bytes = txn.get(bucket, key).unwrap().unwrap();
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

const ACCOUNTS: u64 = 64;

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Goal: what was committed up to the backup's position is in it, and nothing that came later. Method: one writer
/// moves money and counts its transfers, with what was told in the record itself: its commit's timestamp. The
/// restored accounts have the sum of the first ones, and the count is that of the last transfer at or below the
/// position.
#[test]
fn a_backup_under_load_is_the_state_at_its_position() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory.path().join("data"));
    let bucket = db.bucket("accounts").unwrap();
    let mut txn = db.begin(Level::Snapshot);
    for number in 0..ACCOUNTS {
        txn.put(&bucket, &key(number), &100u64.to_le_bytes())
            .unwrap();
    }
    txn.put(&bucket, b"count", &0u64.to_le_bytes()).unwrap();
    txn.commit().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (db, stop) = (db.clone(), Arc::clone(&stop));
        threads::spawn("writer", move || {
            let mut commits = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let n = commits.len() as u64;
                let (from, to) = (n * 7 % ACCOUNTS, n * 13 % ACCOUNTS);
                let mut txn = db.begin(Level::Snapshot);
                let read = |txn: &crate::Transaction<'_>, number| {
                    let bytes = txn.get(&bucket, &key(number)).unwrap().unwrap();
                    u64::from_le_bytes(bytes[..8].try_into().unwrap())
                };
                let left = read(&txn, from);
                if left > 0 && from != to {
                    let more = read(&txn, to) + 1;
                    txn.put(&bucket, &key(from), &(left - 1).to_le_bytes())
                        .unwrap();
                    txn.put(&bucket, &key(to), &more.to_le_bytes()).unwrap();
                }
                txn.put(&bucket, b"count", &(n + 1).to_le_bytes()).unwrap();
                commits.push(txn.commit().unwrap());
            }
            commits
        })
    };
    let pause = || quintet_rt::Clock::sleep(&RealClock, std::time::Duration::from_millis(50));
    let mut backups = Vec::new();
    for round in 0..3 {
        pause();
        let out = directory.path().join(format!("backup{round}"));
        let mut backup = db.backup().unwrap();
        pause(); // a generation is read late as well as early
        write(&mut backup, &out).unwrap();
        backups.push((out, backup.header()));
    }
    stop.store(true, Ordering::Relaxed);
    let commits = writer.join().unwrap();
    drop(db);
    for (out, header) in backups {
        let data = out.with_extension("data");
        let report = restored(&out, &data).unwrap();
        assert_eq!(report.position, header.position);
        for _ in 0..2 {
            let db = open(&data); // the second time with a log that has been appended to
            let bucket = db.bucket("accounts").unwrap();
            let sum: u64 = (0..ACCOUNTS).map(|n| amount(&db, &bucket, &key(n))).sum();
            assert_eq!(sum, ACCOUNTS * 100);
            let expected = commits
                .iter()
                .filter(|at| at.0 <= header.position.0)
                .count();
            assert!(expected > 0);
            assert_eq!(amount(&db, &bucket, b"count"), expected as u64);
            let mut txn = db.begin(Level::Snapshot);
            txn.put(&bucket, b"later", b"value").unwrap();
            assert!(txn.commit().unwrap().0 > header.position.0);
        }
    }
}

/// Goal: spaces, tables and sequences of SQL come back, with large rows over several frames.
#[test]
fn tables_sequences_and_large_rows_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory.path().join("data"));
    let mut client = db.client().unwrap();
    let run = |client: &mut crate::Client, text: &str| client.query(text).unwrap();
    run(
        &mut client,
        "create table t (id serial primary key, v text unique); create index on t (v, id); \
         create table gone (id int primary key); insert into gone values (1); drop table gone",
    );
    for _ in 0..6 {
        run(
            &mut client,
            "insert into t (v) select (80 * (select count(*) from t) + n)::text || repeat('x', 5000) \
             from generate_series(1, 80) n",
        );
    }
    let out = directory.path().join("backup");
    let totals = write(&mut db.backup().unwrap(), &out).unwrap();
    assert!(totals.frames > 4, "{totals:?}");
    drop((client, db));
    let data = directory.path().join("restored");
    restored(&out, &data).unwrap();
    let db = open(&data);
    let mut client = db.client().unwrap();
    let answers = run(
        &mut client,
        "select count(*), sum(length(v)) from t where v >= ''",
    );
    assert_eq!(
        format!("{:?}", answers.last().unwrap().rows[0]),
        "[Int8(480), Int8(2402071)]"
    );
    let answers = run(
        &mut client,
        "insert into t (v) values ('new') returning id > 480",
    );
    assert_eq!(
        format!("{:?}", answers.last().unwrap().rows[0]),
        "[Bool(true)]"
    );
}

#[test]
fn what_is_there_already_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let db = open(&data);
    db.bucket("b").unwrap();
    let out = directory.path().join("backup");
    write(&mut db.backup().unwrap(), &out).unwrap();
    let again = write(&mut db.backup().unwrap(), &out);
    assert!(matches!(again, Err(Error::NotEmpty(_))), "{again:?}");
    let over = restored(&out, &data);
    assert!(matches!(over, Err(Error::NotEmpty(_))), "{over:?}");
    let none = restored(&data, &directory.path().join("new"));
    assert!(matches!(none, Err(Error::Format { .. })), "{none:?}");
    assert!(!directory.path().join("new").exists());
}

/// Goal: a backup that was not finished is none, and does not stand in the way of the next.
#[test]
fn an_unfinished_backup_has_no_name() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory.path().join("data"));
    db.bucket("b").unwrap();
    let out = directory.path().join("backup");
    let mut backup = db.backup().unwrap();
    let mut writer = Writer::begin(Arc::new(RealDisk), &out, backup.header()).unwrap();
    let frame = backup.next_frame().unwrap().unwrap();
    writer.frame(&frame).unwrap();
    // Totals of a source that has not come to its end.
    let short = writer.finish(Totals::default());
    assert!(matches!(short, Err(Error::Stream(_))), "{short:?}");
    assert!(!out.exists());
    write(&mut db.backup().unwrap(), &out).unwrap();
    assert!(out.join("MANIFEST").exists());
    let mut writer = Writer::begin(
        Arc::new(RealDisk),
        directory.path().join("other"),
        backup.header(),
    )
    .unwrap();
    let mut bad = frame.clone();
    bad[20] ^= 1;
    assert!(matches!(writer.frame(&bad), Err(Error::Stream(_))));
}

/// Goal: no byte of a backup may differ unnoticed, and a restore that fails leaves nothing that opens.
#[test]
fn every_damaged_byte_is_noticed_and_what_was_made_does_not_open() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory.path().join("data"));
    let bucket = db.bucket("b").unwrap();
    let mut txn = db.begin(Level::Snapshot);
    txn.put(&bucket, b"key", b"value").unwrap();
    txn.commit().unwrap();
    let out = directory.path().join("backup");
    write(&mut db.backup().unwrap(), &out).unwrap();
    let path = out.join("records-0000");
    let disk = RealDisk;
    let good = quintet_rt::disk::read_file(&disk, &path).unwrap();
    let put = |bytes: &[u8]| quintet_rt::disk::replace_file(&disk, &path, bytes).unwrap();
    for at in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        put(&bad);
        let data = directory.path().join(format!("restored{at}"));
        let result = restored(&out, &data);
        assert!(
            matches!(result, Err(Error::Damaged { .. })),
            "{at}: {result:?}"
        );
        let opened = Database::open(DatabaseConfig::new(&data));
        assert!(matches!(opened, Err(crate::Error::Format { .. })), "{at}");
    }
    put(&good[..good.len() - 1]);
    let result = restored(&out, &directory.path().join("short"));
    assert!(matches!(result, Err(Error::Damaged { .. })), "{result:?}");
    put(&good);
    restored(&out, &directory.path().join("whole")).unwrap();
}
