//! Certification by commit numbers (the thesis's 6.3.1, GTSN).
//!
//! Relies on: requests in one order, the one in which they are broadcast.  Promises: of calls that wrote
//! one row without having seen each other, the first commits and the others do not; memory is bounded by
//! what has been written since the oldest snapshot in use.  Does not: send anything.
//!
//! The thesis compares a write set with all write sets of calls that committed meanwhile; here the last writer
//! of each row is looked up, which is the same answer for less.

use hashbrown::HashMap;
use quintet_base::conflict::{ConflictKey, Mode, Modes};
use std::collections::BTreeMap;

/// Rows below which nothing is thrown away.
const ROWS_MIN: usize = 10_000;

/// Commits so far, and who wrote what.
#[derive(Debug)]
pub(crate) struct Certifier {
    modes: Modes,
    /// The last commit's number.
    last: u64,
    /// By row: the last commit in each mode.
    rows: HashMap<ConflictKey, Vec<(Mode, u64)>, foldhash::fast::FixedState>,
    /// Snapshots in use, each with how many calls use it.
    snapshots: BTreeMap<u64, u32>,
    /// Rows at which to look for what nobody needs.
    rows_max: usize,
}

impl Certifier {
    pub(crate) fn new(modes: Modes) -> Certifier {
        Certifier {
            modes,
            last: 0,
            rows: HashMap::default(),
            snapshots: BTreeMap::new(),
            rows_max: ROWS_MIN,
        }
    }

    /// A call begins: what it sees.
    pub(crate) fn begin(&mut self) -> u64 {
        *self.snapshots.entry(self.last).or_default() += 1;
        self.last
    }

    /// A call ends. Its number among commits, or nothing if it lost.
    pub(crate) fn end(&mut self, snapshot: u64, writes: &[ConflictKey]) -> Option<u64> {
        if writes.iter().any(|row| self.newer(row) > snapshot) {
            self.leave(snapshot);
            return None;
        }
        self.unchecked(snapshot, writes)
    }

    /// A call ends, and wins whatever it wrote.
    pub(crate) fn unchecked(&mut self, snapshot: u64, writes: &[ConflictKey]) -> Option<u64> {
        self.leave(snapshot);
        self.last += 1;
        for row in writes {
            let writers = self.rows.entry(any_mode(row)).or_default();
            match writers.iter_mut().find(|(mode, _)| *mode == row.mode) {
                Some((_, last)) => *last = self.last,
                None => writers.push((row.mode, self.last)),
            }
        }
        self.forget();
        Some(self.last)
    }

    /// One call less uses this snapshot.
    fn leave(&mut self, snapshot: u64) {
        let users = self.snapshots.get_mut(&snapshot);
        let users = users.expect("who ends has begun");
        *users -= 1;
        if *users == 0 {
            self.snapshots.remove(&snapshot);
        }
    }

    /// The last commit that conflicts with a write of this row; 0 if there is none.
    fn newer(&self, row: &ConflictKey) -> u64 {
        let writers = self.rows.get(&any_mode(row));
        let writers = writers.map(Vec::as_slice).unwrap_or_default();
        let conflicting = writers
            .iter()
            .filter(|(mode, _)| self.modes.conflict(row.space, row.mode, *mode));
        conflicting.map(|(_, last)| *last).max().unwrap_or(0)
    }

    /// Throws away what every snapshot in use has seen, whenever there is twice as much as was left.
    fn forget(&mut self) {
        if self.rows.len() < self.rows_max {
            return;
        }
        let oldest = self.snapshots.keys().next().copied().unwrap_or(self.last);
        self.rows
            .retain(|_, writers| writers.iter().any(|(_, last)| *last > oldest));
        self.rows_max = (2 * self.rows.len()).max(ROWS_MIN);
    }
}

/// The row, whatever was done to it.
fn any_mode(row: &ConflictKey) -> ConflictKey {
    ConflictKey::new(row.space, Mode(0), row.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_base::conflict::Space;

    fn row(number: u64, mode: u8) -> ConflictKey {
        ConflictKey::new(Space(0), Mode(mode), &[number])
    }

    fn certifier() -> Certifier {
        let mut modes = Modes::new();
        modes.declare(Space(0), Mode(0), Mode(0));
        modes.declare(Space(0), Mode(1), Mode(1));
        Certifier::new(modes)
    }

    #[test]
    fn the_first_committer_wins_and_the_loser_wins_when_it_runs_again() {
        let mut certifier = certifier();
        let (first, second) = (certifier.begin(), certifier.begin());
        assert_eq!(certifier.end(first, &[row(1, 0), row(2, 0)]), Some(1));
        assert_eq!(certifier.end(second, &[row(2, 0), row(3, 0)]), None);
        let again = certifier.begin();
        assert_eq!(certifier.end(again, &[row(2, 0), row(3, 0)]), Some(2));
    }

    #[test]
    fn other_columns_and_other_rows_do_not_conflict() {
        let mut certifier = certifier();
        let [a, b, c] = [certifier.begin(), certifier.begin(), certifier.begin()];
        assert!(certifier.end(a, &[row(1, 0)]).is_some());
        assert!(certifier.end(b, &[row(1, 1)]).is_some());
        assert!(certifier.end(c, &[row(2, 0)]).is_some());
    }

    #[test]
    fn what_nobody_can_conflict_with_is_forgotten_and_nothing_else() {
        let mut certifier = certifier();
        let old = certifier.begin();
        assert!(certifier.begin() == old && certifier.end(old, &[row(7, 0)]).is_some());
        for number in 100..30_000 {
            let snapshot = certifier.begin();
            assert!(certifier.end(snapshot, &[row(number, 0)]).is_some());
        }
        assert!(certifier.rows.len() > 29_000, "an old snapshot is in use");
        assert_eq!(certifier.end(old, &[row(7, 0)]), None);
        for number in 100_000..200_000 {
            let snapshot = certifier.begin();
            assert!(certifier.end(snapshot, &[row(number, 0)]).is_some());
        }
        assert!(certifier.rows.len() <= ROWS_MIN + 1);
    }
}
