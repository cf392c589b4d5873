//! Kept log onto a backup: to a chosen commit exactly.

use super::*;
use crate::ArchiveConfig;
use crate::changes::ChangeKind;
use quintet_base::Lsn;
use quintet_rt::Disk;
use std::path::PathBuf;

struct Source {
    directory: tempfile::TempDir,
    /// Position of the backup.
    begin: Lsn,
    /// Position and time of each commit after it, in order; the n-th one adds the row n.
    commits: Vec<(Lsn, i64)>,
}

impl Source {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Rows of the restored table, in order.
    fn rows(&self, data: &Path) -> Vec<String> {
        let db = open(data);
        let mut client = db.client().unwrap();
        let answers = client
            .query("select n from t order by n; select count(*) from t where v like 'x%'")
            .unwrap();
        let rows = answers[0].text_rows().into_iter().flatten().flatten();
        let rows: Vec<String> = rows.collect();
        // The index has what the table has.
        assert_eq!(answers[1].text_rows()[0][0], Some(rows.len().to_string()));
        rows
    }

    fn restore(&self, name: &str, logs: &[&str], until: Until) -> Result<Restored, Error> {
        let config = RestoreConfig {
            from: self.path("backup"),
            data: self.path(name),
            replay: Some(Replay {
                logs: logs.iter().map(|log| self.path(log)).collect(),
                until,
            }),
        };
        restore(&config, &mut |_, _| {})
    }
}

/// A backup, 300 commits of a row each after it, with a table dropped, one truncated and one made on the way, and
/// an archive that has all of it but the end.
fn source() -> Source {
    let directory = tempfile::tempdir().unwrap();
    let config = DatabaseConfig {
        memory_bytes: 64 << 20,
        log_segment_bytes: 16 << 10,
        archive: Some(ArchiveConfig {
            directory: directory.path().join("archive"),
            bytes_max: 0,
            age_max_ms: 0,
        }),
        ..DatabaseConfig::new(directory.path().join("data"))
    };
    let (db, _) = Database::open(config).unwrap();
    let mut client = db.client().unwrap();
    client
        .query(
            "create table t (n int primary key, v text); create index on t (v); create table gone (a int); \
             insert into gone values (1); create table emptied (a int primary key); \
             insert into emptied values (1), (2)",
        )
        .unwrap();
    db.compact().unwrap();
    let mut backup = db.backup().unwrap();
    write(&mut backup, &directory.path().join("backup")).unwrap();
    let begin = backup.header().position;
    drop(backup);
    for n in 1..=300 {
        let text = format!("insert into t values ({n}, 'x' || repeat('{n}', 60))");
        client.query(&text).unwrap();
        match n {
            50 => drop(client.query("drop table gone; truncate emptied").unwrap()),
            60 => drop(client.query("insert into emptied values (3)").unwrap()),
            70 => drop(
                client
                    .query("create table late (a int primary key)")
                    .unwrap(),
            ),
            _ if n % 100 == 0 => db.compact().unwrap(),
            _ => quintet_rt::Clock::sleep(&RealClock, std::time::Duration::from_micros(50)),
        }
    }
    let mut changes = db.changes(begin, u64::MAX).unwrap();
    let mut commits = Vec::new();
    while let Some(change) = changes.next_change().unwrap() {
        let is_t = change.table.as_ref().is_some_and(|(_, name)| name == "t");
        if change.kind == ChangeKind::Upsert && is_t {
            commits.push((change.position, change.time_micros.unwrap()));
        }
    }
    assert_eq!(commits.len(), 300);
    drop((client, changes));
    db.close().unwrap();
    Source {
        directory,
        begin,
        commits,
    }
}

#[test]
fn a_chosen_commit_is_the_last_one_that_is_there() {
    let source = source();
    let logs = ["archive", "data/log"];
    for last in [0, 1, 49, 50, 51, 199, 299] {
        let (position, time) = source.commits[last];
        let expected: Vec<String> = (1..=last + 1).map(|n| n.to_string()).collect();
        let at = format!("at{last}");
        let restored = source
            .restore(&at, &logs, Until::Position(position))
            .unwrap();
        assert_eq!(restored.position, position);
        assert_eq!(source.rows(&source.path(&at)), expected, "commit {last}");
        // A position between two commits is the first one's.
        if last < 299 {
            let before = format!("before{last}");
            let next = source.commits[last + 1].0;
            let until = Until::Position(Lsn(next.0 - 8));
            source.restore(&before, &logs, until).unwrap();
            assert_eq!(source.rows(&source.path(&before)), expected);
        }
        // By time the last commit of its microsecond.
        let by_time = format!("time{last}");
        source.restore(&by_time, &logs, Until::Time(time)).unwrap();
        let until = source.commits.iter().take_while(|(_, at)| *at <= time);
        assert_eq!(source.rows(&source.path(&by_time)).len(), until.count());
    }
    let all = source.restore("all", &logs, Until::Newest).unwrap();
    assert!(all.replayed.commits >= 303, "{all:?}");
    let db = open(&source.path("all"));
    let mut client = db.client().unwrap();
    let mut text = |query: &str| client.query(query).map(|answers| answers[0].text_rows());
    assert_eq!(
        text("select a from emptied").unwrap(),
        [[Some("3".to_string())]]
    );
    assert!(text("select * from late").unwrap().is_empty());
    assert!(text("select * from gone").is_err());
}

#[test]
fn what_the_kept_log_does_not_reach_is_told() {
    let source = source();
    let last = source.commits[299].0;
    // The end is in the log itself.
    let short = source.restore("short", &["archive"], Until::Position(last));
    let Err(Error::Short { end, .. }) = short else {
        panic!("{short:?}");
    };
    assert!(source.begin < end && end < last);
    let opened = Database::open(DatabaseConfig::new(source.path("short")));
    assert!(matches!(opened, Err(crate::Error::Format { .. })));
    let part = source.restore("part", &["archive"], Until::Newest).unwrap();
    assert_eq!(part.position, end);
    let before = source.restore("early", &["archive"], Until::Position(Lsn(0)));
    assert!(matches!(before, Err(Error::Before { .. })), "{before:?}");
    let before = source.restore("early2", &["archive"], Until::Time(0));
    assert!(matches!(before, Err(Error::Before { .. })), "{before:?}");
    // A segment in the middle is gone.
    let folder = source.path("archive");
    let id = RealDisk.list(&folder).unwrap().remove(0);
    let segments = RealDisk.list(&folder.join(&id)).unwrap();
    assert!(segments.len() > 3, "{segments:?}");
    let middle = folder.join(&id).join(&segments[segments.len() / 2]);
    RealDisk.remove(&middle).unwrap();
    let gap = source.restore("gap", &["archive", "data/log"], Until::Newest);
    let is_gap = matches!(
        gap,
        Err(Error::Short {
            goes_on_at: Some(_),
            ..
        })
    );
    assert!(is_gap, "{gap:?}");
    let first = source.commits[0].0;
    let until = Until::Position(first);
    source.restore("first", &["archive"], until).unwrap();
    // Of another log there is nothing.
    let none = source.restore("none", &["at0/log"], Until::Newest);
    assert!(matches!(none, Err(Error::Log(_))), "{none:?}");
}

/// Goal: a commit in the kept log that has been changed is not replayed, whatever comes behind it.
#[test]
fn damage_in_the_kept_log_is_told() {
    let source = source();
    let folder = source.path("archive");
    let id = RealDisk.list(&folder).unwrap().remove(0);
    let segments = RealDisk.list(&folder.join(&id)).unwrap();
    let path = folder.join(&id).join(&segments[segments.len() / 2]);
    let mut bytes = quintet_rt::disk::read_file(&RealDisk, &path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    quintet_rt::disk::replace_file(&RealDisk, &path, &bytes).unwrap();
    let damaged = source.restore("damaged", &["archive", "data/log"], Until::Newest);
    let is_told = matches!(
        damaged,
        Err(Error::Log(quintet_wal::Error::Damaged { .. }) | Error::Commit(_))
    );
    assert!(is_told, "{damaged:?}");
}
