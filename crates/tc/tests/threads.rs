//! Several threads at once: money is neither made nor lost, whatever the level allows.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Durability, Level};
use quintet_rt::{Rand, threads};
use quintet_tc::{Error, Strength, Tc, WaitPolicy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use support::*;

const ACCOUNTS: u64 = 20;

fn total(tc: &Tc) -> i64 {
    rows(&tc.begin(Level::Snapshot))
        .iter()
        .map(|(_, value)| value.parse::<i64>().unwrap())
        .sum()
}

fn transfer(tc: &Tc, rand: &mut Rand, level: Level, lock_first: bool) -> Result<(), Error> {
    let name = |n: u64| format!("a{n:02}");
    let (from, to) = (name(rand.below(ACCOUNTS)), name(rand.below(ACCOUNTS)));
    let mut txn = tc.begin(level);
    for (account, amount) in [(&from, -1), (&to, 1)] {
        if lock_first {
            loop {
                match txn.lock(
                    SPACE,
                    &bytes(account),
                    Strength::Exclusive,
                    WaitPolicy::Queue,
                ) {
                    Ok(()) => break,
                    Err(Error::Blocked(wait)) => wait.wait(),
                    Err(Error::Stale) => {
                        txn.begin_statement();
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        let balance: i64 = get(&txn, account).unwrap().parse().unwrap();
        put(&mut txn, account, &(balance + amount).to_string());
    }
    commit(tc, txn, Durability::Async).map(|_| ())
}

fn run(level: Level, lock_first: bool) -> (u64, u64) {
    let running = Arc::new(Media::new(11).open_tiny(Durability::Async));
    let accounts: Vec<String> = (0..ACCOUNTS).map(|n| format!("a{n:02}")).collect();
    let pairs: Vec<(&str, &str)> = accounts.iter().map(|name| (name.as_str(), "100")).collect();
    set(&running.tc, &pairs);
    let counts = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let workers: Vec<_> = (0..4)
        .map(|seed| {
            let (running, counts) = (Arc::clone(&running), Arc::clone(&counts));
            threads::spawn("worker", move || {
                let mut rand = Rand::seeded(seed);
                for _ in 0..2000 {
                    match transfer(&running.tc, &mut rand, level, lock_first) {
                        Ok(()) => counts.0.fetch_add(1, Ordering::Relaxed),
                        Err(Error::Conflict { .. } | Error::Deadlock | Error::SnapshotTooOld) => {
                            counts.1.fetch_add(1, Ordering::Relaxed)
                        }
                        Err(error) => panic!("{error}"),
                    };
                }
            })
        })
        .collect();
    for _ in 0..50 {
        assert_eq!(
            total(&running.tc),
            100 * ACCOUNTS as i64,
            "every snapshot balances"
        );
    }
    for worker in workers {
        worker.join().unwrap();
    }
    assert_eq!(total(&running.tc), 100 * ACCOUNTS as i64);
    assert!(running.tc.stats().waiting == 0);
    (
        counts.0.load(Ordering::Relaxed),
        counts.1.load(Ordering::Relaxed),
    )
}

#[test]
fn optimistic_transfers_keep_the_total() {
    for level in [Level::Snapshot, Level::Serializable] {
        let (committed, refused) = run(level, false);
        println!("{level:?}: {committed} committed, {refused} refused");
        assert!(committed > 0);
    }
}

#[test]
fn locked_transfers_at_read_committed_keep_the_total_and_fail_only_by_deadlock() {
    let (committed, deadlocks) = run(Level::ReadCommitted, true);
    println!("{committed} committed, {deadlocks} deadlocks");
    assert!(committed > deadlocks);
}
