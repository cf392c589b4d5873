//! Several threads at once: money is neither made nor lost, whatever the level allows.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Durability, Level};
use quintet_rt::{Rand, threads};
use quintet_tc::{Error, Strength, Tc, WaitPolicy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use support::*;

/// Few: everybody meets everybody. Many: they do not fit into the tiny configuration's memory.
const FEW: u64 = 20;
const MANY: u64 = 2000;

fn total(tc: &Tc) -> i64 {
    rows(&tc.begin(Level::Snapshot))
        .iter()
        .map(|(_, value)| value.parse::<i64>().unwrap())
        .sum()
}

fn name(n: u64) -> String {
    format!("a{n:04}")
}

fn transfer(
    tc: &Tc,
    rand: &mut Rand,
    accounts: u64,
    level: Level,
    lock_first: bool,
) -> Result<(), Error> {
    let (from, to) = (name(rand.below(accounts)), name(rand.below(accounts)));
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

/// How a transfer is done: the level, and whether rows are locked before they are read.
type How = (Level, bool);

fn run(accounts: u64, level: Level, lock_first: bool) -> (u64, u64) {
    run_mixed(accounts, [(level, lock_first); 2])
}

/// Every other worker does it the second way.
fn run_mixed(accounts: u64, how: [How; 2]) -> (u64, u64) {
    let whole = 100 * accounts as i64;
    let running = Arc::new(Media::new(11).open_tiny(Durability::Async));
    for from in (0..accounts).step_by(500) {
        let names: Vec<String> = (from..accounts.min(from + 500)).map(name).collect();
        let pairs: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "100")).collect();
        set(&running.tc, &pairs);
    }
    let counts = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let workers: Vec<_> = (0..4)
        .map(|seed| {
            let (level, lock_first) = how[seed as usize % 2];
            let (running, counts) = (Arc::clone(&running), Arc::clone(&counts));
            threads::spawn("worker", move || {
                let mut rand = Rand::seeded(seed);
                for _ in 0..2000 {
                    match transfer(&running.tc, &mut rand, accounts, level, lock_first) {
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
    let mut fewest = usize::MAX;
    for _ in 0..50 {
        assert_eq!(total(&running.tc), whole, "every snapshot balances");
        fewest = fewest.min(running.tc.stats().records);
    }
    for worker in workers {
        worker.join().unwrap();
    }
    assert_eq!(total(&running.tc), whole);
    assert!(running.tc.stats().waiting == 0);
    let fits = accounts <= FEW;
    assert!(fits || fewest < accounts as usize, "records came and went");
    (
        counts.0.load(Ordering::Relaxed),
        counts.1.load(Ordering::Relaxed),
    )
}

#[test]
fn optimistic_transfers_keep_the_total() {
    for level in [Level::Snapshot, Level::Serializable] {
        let (committed, refused) = run(FEW, level, false);
        println!("{level:?}: {committed} committed, {refused} refused");
        assert!(committed > 0);
    }
}

/// The story: who commits rows that it has not locked looks at their locks only after it has locked
/// their entries, and who locks a row looks at its entry only afterwards. If one of them looked
/// first, the other's change would be lost without a word.
#[test]
fn commits_without_row_locks_and_sessions_with_them_see_each_other() {
    let (committed, refused) = run_mixed(
        FEW,
        [(Level::ReadCommitted, true), (Level::Serializable, false)],
    );
    println!("{committed} committed, {refused} refused");
    assert!(committed > refused / 4);
}

#[test]
fn locked_transfers_at_read_committed_keep_the_total_and_fail_only_by_deadlock() {
    let (committed, deadlocks) = run(FEW, Level::ReadCommitted, true);
    println!("{committed} committed, {deadlocks} deadlocks");
    assert!(committed > deadlocks);
}

/// Goal: what a snapshot sees does not depend on where records are. Method: transfers over more
/// accounts than memory holds, so that they are posted, reclaimed, evicted and filled in again all
/// the time, while others sum them up.
#[test]
fn records_that_come_and_go_balance_too() {
    for level in [Level::Snapshot, Level::Serializable] {
        let (committed, refused) = run(MANY, level, false);
        println!("{level:?}: {committed} committed, {refused} refused");
        assert!(committed > refused);
    }
}
