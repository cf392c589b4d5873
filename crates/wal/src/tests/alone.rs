//! Sessions that commit alone: whose thread writes, when, and that whoever waits is answered.

use super::{Rig, config, new_disk};
use crate::record::Payload;
use crate::shared::company::Committer;
use crate::turns::Turns;
use crate::{Error, Wal};
use quintet_base::{Durability, Lsn};
use std::sync::Arc;
use std::thread;

/// A committer who is alone.
fn alone(rig: &Rig) -> Committer {
    let mut committer = Committer::default();
    for _ in 0..16 {
        rig.shared.count_committer(&mut committer);
    }
    assert!(rig.shared.is_alone(&committer));
    committer
}

fn put_quietly(log: &Wal, bytes: &[u8]) -> Lsn {
    let mut place = log.reserve(bytes.len()).unwrap();
    place.payload().copy_from_slice(bytes);
    let lsn = place.lsn();
    place.finish_quietly();
    lsn
}

#[test]
fn who_has_waited_last_several_times_is_alone() {
    let rig = Rig::open(&new_disk(1), config(), None).unwrap();
    let (mut one, mut other) = (Committer::default(), Committer::default());
    let waits = |committer: &mut Committer| {
        rig.shared.count_committer(committer);
        rig.shared.is_alone(committer)
    };
    let first: Vec<bool> = (0..10).map(|_| waits(&mut one)).collect();
    assert_eq!(first.iter().filter(|alone| **alone).count(), 2);
    assert!(!waits(&mut other));
    assert!(!rig.shared.is_alone(&one), "somebody has come");
    let in_turn = (0..20).any(|_| waits(&mut one) || waits(&mut other));
    assert!(!in_turn, "of two in turn nobody is alone");
    // A slow disk is left to the writer until it is quick again.
    alone(&rig);
    rig.shared.note_sync(3_000_000);
    (0..10).for_each(|_| rig.shared.count_committer(&mut one));
    assert!(!rig.shared.is_alone(&one));
    rig.shared.note_sync(200_000);
    assert!(rig.shared.is_alone(&one));
}

#[test]
fn who_is_alone_writes_what_is_there_unless_it_is_much() {
    let rig = Rig::open(&new_disk(1), config(), None).unwrap();
    let turns = Turns::new(Arc::clone(&rig.shared));
    let committer = alone(&rig);
    rig.append(b"of somebody").unwrap();
    let lsn = rig.append(b"own").unwrap();
    turns.take_alone(&Committer::default(), lsn);
    assert!(rig.durable() < lsn, "not alone");
    turns.take_alone(&committer, lsn);
    assert_eq!(rig.durable(), lsn);
    let lsn = (0..40).map(|_| rig.append(&[7; 2000]).unwrap()).max();
    let lsn = lsn.unwrap();
    turns.take_alone(&committer, lsn);
    assert!(rig.durable() < lsn, "80 kB are the writer's");
}

#[test]
fn a_failure_on_a_sessions_thread_is_everybodys() {
    let disk = new_disk(1);
    let rig = Rig::open(&disk, config(), None).unwrap();
    let turns = Turns::new(Arc::clone(&rig.shared));
    let committer = alone(&rig);
    let lsn = rig.append(b"a commit").unwrap();
    disk.fail_sync(1);
    turns.take_alone(&committer, lsn);
    assert!(rig.durable() < lsn);
    assert!(matches!(
        rig.shared.marks.poisoned(),
        Some(Error::Poisoned { .. })
    ));
    assert!(matches!(
        rig.append(b"another"),
        Err(Error::Poisoned { .. })
    ));
}

/// What is finished quietly is written by its session, or by the writer that it wakes, while sessions come and go.
#[test]
fn what_is_finished_quietly_is_durable_when_its_session_is_told() {
    let (log, _) = Wal::open(Arc::new(new_disk(1)), config(), None).unwrap();
    let commits = |count: usize| {
        let mut committer = Committer::default();
        let mut alone = 0;
        for _ in 0..count {
            let lsn = match log.is_alone(&committer) {
                true => {
                    alone += 1;
                    put_quietly(&log, b"a commit")
                }
                false => log
                    .append(Payload::new(b"a commit".to_vec().into()))
                    .unwrap(),
            };
            let durable = log.when_durable_for(&mut committer, lsn);
            durable.wait().unwrap();
            assert!(log.durable() >= lsn);
        }
        alone
    };
    // Some of a disk's syncs in a test take long.
    assert!(commits(200) > 50, "nobody else commits");
    thread::scope(|scope| {
        for count in [300, 50, 100] {
            scope.spawn(move || commits(count));
        }
    });
    // Nobody waits for it.
    put_quietly(&log, b"the last");
    log.shutdown();
    assert_eq!(log.durable(), log.end());
}

#[test]
fn nobody_is_alone_where_nobody_waits_for_the_disk() {
    let config = crate::WalConfig {
        durability: Durability::Async,
        ..config()
    };
    let (log, _) = Wal::open(Arc::new(new_disk(1)), config, None).unwrap();
    let mut committer = Committer::default();
    for _ in 0..16 {
        let payload = Payload::new(b"a commit".to_vec().into());
        let lsn = log.append(payload).unwrap();
        drop(log.when_durable_for(&mut committer, lsn));
    }
    assert!(!log.is_alone(&committer));
}
