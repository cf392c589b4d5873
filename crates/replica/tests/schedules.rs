//! Random schedules of calls and faults at two servers: nothing acknowledged is lost, nothing happens twice, both end equal.
//!
//! Method: one call at a time, at either server, by a coordinator of a page that remembers nothing over a fault: it asks the servers what
//! there is, rolls back what is prepared (it was not acknowledged), and applies what was committed. Faults come between any
//! two steps and in the middle of them. Every attempt writes its own number, so that the tables themselves say what took place.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::Durability;
use quintet_replica::*;
use quintet_rt::Rand;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use support::*;

const SCHEMA: &str = "CREATE TABLE seen (number bigint PRIMARY KEY);
     CREATE TABLE total (id int PRIMARY KEY, n bigint); INSERT INTO total VALUES (1, 0), (2, 0), (3, 0);
     CREATE PROCEDURE work(number bigint, id int) LANGUAGE sql
     AS $$ INSERT INTO seen VALUES ($1); UPDATE total SET n = n + 1 WHERE id = $2 $$";

/// Other schedules: `QUINTET_SEED=n`.
const CALLS: u64 = 60;

/// What the coordinator has open at a server, and knows of it.
struct Side {
    replica: Replica,
    runner: Runner,
    applier: Applier,
    stream: Told,
    /// Prepared here and not decided, as the stream has told.
    told: BTreeMap<Gid, Arc<WriteSet>>,
    /// Committed here and not yet applied at the other.
    pending: Vec<(Gid, Arc<WriteSet>)>,
    /// Decisions that came without what they decide: must not be while the confirmed position is right.
    alone: usize,
}

impl Side {
    async fn open(replica: Replica) -> Side {
        Side {
            runner: replica.runner().await,
            applier: replica.applier().await,
            stream: replica.stream().await,
            replica,
            told: BTreeMap::new(),
            pending: Vec::new(),
            alone: 0,
        }
    }

    /// Takes in what the stream has told up to now.
    async fn hear(&mut self) {
        let items = self.stream.all(&self.replica.postgres).await;
        for item in &items {
            match item {
                Item::Prepared { gid, write_set, .. } => {
                    self.told.insert(gid.clone(), write_set.clone().unwrap());
                }
                Item::CommitPrepared { gid, .. } => match self.told.remove(gid) {
                    Some(write_set) => self.pending.push((gid.clone(), write_set)),
                    None => self.alone += 1,
                },
                Item::RollbackPrepared { gid, .. } => {
                    self.alone += usize::from(self.told.remove(gid).is_none());
                }
                Item::Applied { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        if let Some(last) = items.last()
            && self.told.is_empty()
            && self.pending.is_empty()
        {
            self.stream.stream.confirm(last.position());
        }
    }
}

/// Goes into all servers anew, as after a start of the coordinator.
async fn recover(sides: Vec<Side>) -> Vec<Side> {
    let mut replicas = Vec::new();
    for side in sides {
        let mut replica = side.replica;
        // A server that was killed is started by its operator.
        replica.postgres.resume_if_gone().await;
        replica.restart_front().await;
        replicas.push(replica);
    }
    let mut sides = Vec::new();
    for replica in replicas {
        let mut side = Side::open(replica).await;
        for gid in side.replica.report.prepared.clone() {
            assert_eq!(side.runner.rollback(&gid).await.unwrap(), Decided::Done);
        }
        side.hear().await;
        sides.push(side);
    }
    exchange(&mut sides).await;
    sides
}

/// Applies at each what was committed at the other.
async fn exchange(sides: &mut [Side]) {
    let [one, other] = sides else {
        panic!("two sides")
    };
    carry(one, other).await;
    carry(other, one).await;
}

async fn carry(from: &mut Side, to: &mut Side) {
    for (gid, write_set) in std::mem::take(&mut from.pending) {
        let applied = to
            .applier
            .apply(&gid, &write_set, Durability::Sync, Duration::ZERO)
            .await;
        match applied.unwrap() {
            Applied::Already | Applied::Now { missing: 0, .. } => {}
            diverged @ Applied::Now { .. } => panic!("{diverged:?}"),
        }
    }
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_and_nothing_happens_twice() {
    let seed = std::env::var("QUINTET_SEED").map_or(7, |text| text.parse().unwrap());
    println!("QUINTET_SEED={seed}");
    let mut rand = Rand::seeded(seed);
    let (one, other) = tokio::join!(Replica::start(SCHEMA), Replica::start(SCHEMA));
    let mut sides = vec![Side::open(one).await, Side::open(other).await];
    let mut origin = 0;
    let (mut acknowledged, mut refused) = (BTreeSet::new(), BTreeSet::new());
    let mut faults = 0;
    for number in 1..=CALLS {
        if rand.one_in(10) {
            // The other server runs calls from now on; it has to have everything.
            sides[origin].hear().await;
            exchange(&mut sides).await;
            origin = 1 - origin;
        }
        let side = &mut sides[origin];
        let mut attempt = side.replica.attempt("");
        let row = 1 + rand.below(3);
        attempt.text = CallText::Simple(format!("CALL work({number}, {row})"));
        let gid = attempt.tag.gid.clone();
        let fault = rand.one_in(5).then(|| rand.below(8));
        faults += u64::from(fault.is_some());
        match fault {
            // The origin goes while the call runs.
            Some(0) => {
                attempt.service = Duration::from_secs(60);
                let running = side.runner.run(&attempt);
                assert!(
                    tokio::time::timeout(Duration::from_millis(30), running)
                        .await
                        .is_err()
                );
                side.replica.postgres.kill();
                refused.insert(number);
                sides = recover(sides).await;
                continue;
            }
            // The coordinator does not wait for the answer: it is prepared, or not.
            Some(1) => {
                let running = side.runner.run(&attempt);
                let _ =
                    tokio::time::timeout(Duration::from_micros(rand.below(3_000)), running).await;
                sides = recover(sides).await;
                continue;
            }
            _ => {}
        }
        must_prepare(side.runner.run(&attempt).await);
        match fault {
            Some(2) => {
                side.replica.postgres.kill();
                refused.insert(number);
                sides = recover(sides).await;
                continue;
            }
            // The decision is on its way, and nobody hears what became of it.
            Some(3) => {
                let deciding = side.runner.commit(&gid);
                let _ =
                    tokio::time::timeout(Duration::from_micros(rand.below(1_000)), deciding).await;
                if rand.one_in(2) {
                    side.replica.postgres.kill();
                }
                sides = recover(sides).await;
                continue;
            }
            _ => {}
        }
        if rand.one_in(6) {
            assert_eq!(side.runner.rollback(&gid).await.unwrap(), Decided::Done);
            refused.insert(number);
        } else {
            assert_eq!(side.runner.commit(&gid).await.unwrap(), Decided::Done);
            acknowledged.insert(number);
        }
        match fault {
            Some(4) => {
                sides[origin].replica.postgres.kill();
                sides = recover(sides).await;
            }
            Some(5) => {
                sides[1 - origin].replica.postgres.kill();
                sides = recover(sides).await;
            }
            Some(6) => sides = recover(sides).await,
            // It was heard of, and what is confirmed is reported with the second round; nothing is applied yet.
            Some(7) => {
                sides[origin].hear().await;
                sides[origin].hear().await;
                sides = recover(sides).await;
            }
            _ => {}
        }
        if rand.one_in(3) {
            sides[origin].hear().await;
            exchange(&mut sides).await;
        }
    }
    assert!(faults > 2, "{faults} faults");
    sides = recover(sides).await;
    let mut sums = Vec::new();
    for side in &mut sides {
        side.hear().await;
        assert_eq!(side.alone, 0);
        let rows = side
            .replica
            .postgres
            .simple("SELECT number FROM seen")
            .await;
        let seen: BTreeSet<u64> = rows
            .iter()
            .map(|row| row[0].as_ref().unwrap().parse().unwrap())
            .collect();
        let lost: Vec<_> = acknowledged.difference(&seen).collect();
        assert!(lost.is_empty(), "acknowledged and not there: {lost:?}");
        let back: Vec<_> = refused.intersection(&seen).collect();
        assert!(back.is_empty(), "refused and there: {back:?}");
        let total = side
            .replica
            .postgres
            .value("SELECT sum(n) FROM total")
            .await;
        assert_eq!(total, seen.len().to_string());
        assert_eq!(
            side.replica
                .postgres
                .value("SELECT count(*) FROM pg_prepared_xacts")
                .await,
            "0"
        );
        sums.push(
            checksums(&side.replica.postgres.server(), TIMEOUT)
                .await
                .unwrap(),
        );
    }
    assert_eq!(differences(&sums[0], &sums[1]), Vec::<String>::new());
    assert!(acknowledged.len() as u64 > CALLS / 3);
}
