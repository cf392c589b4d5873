//! A session that commits alone writes and syncs its commits itself (decision 119).
//!
//! Relies on: a simulated disk, whose syncs are quick and fail when they are told to.  Promises: it need not wait for another thread, and
//! hears of a sync that fails as everybody does.  Does not: measure; `bench/pgbench` and `bench/calls` do.

use crate::{Client, Database, DatabaseConfig, Progress};
use quintet_base::SqlState;
use quintet_rt::{RealClock, SimDisk};
use std::sync::Arc;

const COUNT: &str = "update t set n = n + 1 where id = 1";

fn counts(client: &mut Client, times: usize) {
    for _ in 0..times {
        client.query(COUNT).unwrap();
    }
}

/// Method: statements and calls of one session until it is alone, then some that need not wait; then another session commits as well,
/// and at last a sync fails.
#[test]
fn a_session_alone_waits_for_nobody_and_is_told_what_its_sync_has_come_to() {
    let directory = tempfile::tempdir().unwrap();
    let disk = SimDisk::new(1);
    let config = DatabaseConfig::new(directory.path());
    let opened = Database::open_on(Arc::new(disk.clone()), Arc::new(RealClock), config);
    let (db, _) = opened.unwrap();
    let mut client = db.client().unwrap();
    client
        .query(
            "create table t (id int primary key, n int not null);
             insert into t values (1, 0);
             create procedure count_up() language plpgsql as $$
             begin update t set n = n + 1 where id = 1; end $$",
        )
        .unwrap();
    counts(&mut client, 20);
    let mut waited = 0;
    for number in 0..40 {
        let sql = match number % 2 {
            0 => COUNT,
            _ => "call count_up()",
        };
        let mut progress = client.start(sql).unwrap();
        while let Progress::Waiting(pause) = progress {
            waited += 1;
            pause.wait();
            progress = client.resume().unwrap();
        }
    }
    // The log's writer may just be at it, for somebody else in this process.
    assert!(waited < 10, "waited for another thread {waited} times");
    let mut other = db.client().unwrap();
    for _ in 0..20 {
        counts(&mut other, 1);
        counts(&mut client, 1);
    }
    let sum = client.query("select 1 / (case when n = 100 then 1 else 0 end) from t");
    assert!(sum.is_ok(), "one hundred: {sum:?}");
    counts(&mut client, 20);
    disk.fail_sync(1);
    let failed = client.query(COUNT).unwrap_err();
    assert_eq!(failed.state, SqlState::STATEMENT_COMPLETION_UNKNOWN);
    let refused = other.query(COUNT).unwrap_err();
    assert!(refused.message.contains("log"), "{refused:?}");
}
