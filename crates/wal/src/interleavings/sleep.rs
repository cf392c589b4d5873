//! Who sleeps and who wakes: the writer sleeps only when there is nothing to write, and whoever waits for it
//! is told.

use super::reservation::{open, put};
use crate::error::Error;
use crate::shared::Shared;
use crate::shared::company::Committer;
use crate::sync::planted;
use crate::turns::Turns;
use crate::writer::{Turn, Writer};
use quintet_interleave::explore::{explore, finds};
use quintet_interleave::{scope, yield_now};
use quintet_rt::SimDisk;
use std::sync::Arc;

/// As `Turns::run`.
fn run(shared: &Shared, mut writer: Writer) {
    loop {
        shared.sleep_writer(None);
        match writer.turn() {
            Turn::Done => {}
            Turn::Closed => break,
            Turn::Poisoned => panic!("nothing fails"),
        }
    }
    shared.stopped();
}

/// Goal: a record that is finished becomes durable, although nobody asks for it.
/// Method: two put one in each while the writer falls asleep and is woken; then the log closes.
fn a_record_wakes_the_writer() {
    let shared = Arc::new(open(&SimDisk::new(1)));
    let writer = Writer::new(Arc::clone(&shared));
    scope(|scope| {
        scope.spawn(|| run(&shared, writer));
        let other = scope.spawn(|| put(&shared, 10));
        put(&shared, 20);
        other.join().expect("no panic");
        while shared.marks.durable() < shared.end() {
            yield_now();
        }
        shared.close();
    });
    assert!(matches!(shared.reserve(1), Err(Error::Closed)));
}

#[test]
fn sleep_a_record_wakes_the_writer() {
    explore(
        "sleep: a record wakes the writer",
        4000,
        a_record_wakes_the_writer,
    );
    finds(
        "shared: the writer sleeps without another look",
        200,
        a_record_wakes_the_writer,
    );
}

/// Goal: whoever waits for the writer is told when there is no more to wait for.
/// Method: two put in and flush.
fn a_flush_comes_back() {
    let shared = Arc::new(open(&SimDisk::new(1)));
    let writer = Writer::new(Arc::clone(&shared));
    let commit = |bytes| {
        put(&shared, bytes);
        let end = shared.end();
        shared.flush().expect("nothing fails");
        assert!(shared.synced() >= end && shared.marks.durable() >= end);
    };
    scope(|scope| {
        scope.spawn(|| run(&shared, writer));
        let other = scope.spawn(|| commit(10));
        commit(20);
        other.join().expect("no panic");
        shared.close();
    });
    assert_eq!(shared.marks.durable(), shared.end());
}

#[test]
fn sleep_a_flush_comes_back() {
    explore("sleep: a flush comes back", 4000, a_flush_comes_back);
    finds(
        "shared: sleepers are told without the lock",
        500,
        a_flush_comes_back,
    );
}

/// Goal: a record that is finished quietly becomes durable once its session waits, which writes it or wakes the writer.
/// Method: one who is alone and one who is not put one in each, beside a writer who falls asleep; then the log closes.
fn a_quiet_record_is_written() {
    let shared = Arc::new(open(&SimDisk::new(1)));
    let turns = Turns::new(Arc::clone(&shared));
    let mut alone = Committer::default();
    (0..16).for_each(|_| shared.count_committer(&mut alone));
    let commit = |committer: &Committer| {
        let place = shared.reserve(10).expect("there is room");
        let lsn = place.lsn();
        place.finish_quietly();
        turns.take_alone(committer, lsn);
        if !planted("shared: nobody is woken for a quiet record") {
            shared.wake_writer();
        }
        while shared.marks.durable() < lsn.0 {
            yield_now();
        }
    };
    scope(|scope| {
        scope.spawn(|| turns.run());
        let other = scope.spawn(|| commit(&Committer::default()));
        commit(&alone);
        other.join().expect("no panic");
        shared.close();
    });
    assert_eq!(shared.marks.durable(), shared.end());
}

#[test]
fn sleep_a_quiet_record_is_written() {
    explore(
        "sleep: a quiet record is written",
        4000,
        a_quiet_record_is_written,
    );
    finds(
        "shared: nobody is woken for a quiet record",
        500,
        a_quiet_record_is_written,
    );
}
