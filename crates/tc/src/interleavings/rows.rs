//! Who holds a row is alone with it, although commits pass by rows that nobody holds.

use super::commit::{A, Key, Outcome, SPACE, World};
use crate::table::hash;
use quintet_base::Timestamp;
use quintet_interleave::explore::{explore, finds};
use quintet_interleave::{point, scope};

impl World {
    /// The newest commit to a row, as `Txn::check_unchanged` asks for it.
    fn newest(&self, key: Key) -> Timestamp {
        let guard = quintet_index::pin();
        let entry = self.table.find(hash(SPACE, key), SPACE, key, &guard);
        entry.map_or(Timestamp::ZERO, |entry| entry.newest_settled())
    }

    /// Locks a row, makes sure that nobody has committed to it since the snapshot, takes its time, commits.
    fn hold(&self, key: Key) {
        let seat = self.seats.take();
        let snapshot = self.seats.register(&seat, || self.log.end());
        let txn = seat.next_txn();
        self.lock_rows(txn, &[key]);
        let newest = self.newest(key);
        if newest <= snapshot {
            for _ in 0..3 {
                point();
                assert_eq!(self.newest(key), newest, "the row is held");
            }
            let outcome = self.attempt(&seat, txn, snapshot, &[], &[key]);
            assert_eq!(outcome, Outcome::Committed, "the row is held");
        }
        self.release_rows(txn, &[key]);
        seat.leave();
    }
}

/// Goal: between the look at a row that is held and its release nobody else commits to it.
/// Method: two hold the row for a while, two commit to it in passing.
fn who_holds_a_row_is_alone() {
    let world = World::new();
    scope(|scope| {
        scope.spawn(|| world.commit(&[], &[A]));
        scope.spawn(|| (0..2).for_each(|_| world.commit(&[], &[A])));
        scope.spawn(|| world.hold(A));
        world.hold(A);
    });
    world.check();
}

#[test]
fn rows_who_holds_a_row_is_alone() {
    explore(
        "rows: who holds a row is alone",
        5000,
        who_holds_a_row_is_alone,
    );
    for (mistake, within) in [
        ("commit: does not ask whose row it is", 100),
        ("commit: asks whose row it is before it locks", 1000),
        ("entry: the newest is not waited for", 1000),
    ] {
        finds(mistake, within, who_holds_a_row_is_alone);
    }
}
