//! Certification by commit numbers (the thesis's 6.3.1, GTSN).
//!
//! Relies on: requests in one order, the one in which they are broadcast.  Promises: of calls that wrote
//! one row without having seen each other, the first commits and the others do not; memory is bounded by
//! what has been written since the oldest snapshot in use.  Does not: send anything.
//!
//! The thesis compares a write set with all write sets of calls that committed meanwhile; here the last writer
//! of each row is looked up, which is the same answer for less. A key with fewer parts than others stands for all rows
//! that begin like it: besides its own place a write is noted at every shorter path, as one *below* it, as far as paths
//! of that length have been seen.

use hashbrown::HashMap;
use quintet_base::conflict::{ConflictKey, MAX_PARTS, Mode, Modes};
use std::collections::BTreeMap;
use std::ops::Range;

/// Rows below which nothing is thrown away.
const ROWS_MIN: usize = 10_000;

/// Whose writes are noted at a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Place {
    At,
    Below,
}

const _: () = assert!(MAX_PARTS < 8, "a space's depths are the bits of a byte");

/// Commits so far, and who wrote what.
#[derive(Debug)]
pub(crate) struct Certifier {
    modes: Modes,
    /// The last commit's number.
    last: u64,
    /// By path, of its own rows and of those below it: the last commit in each mode.
    rows: HashMap<(ConflictKey, Place), Vec<(Mode, u64)>, foldhash::fast::FixedState>,
    /// By space: bit d is set once a key had d parts.
    depths: Vec<u8>,
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
            depths: Vec::new(),
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
        writes.iter().for_each(|row| self.open(row));
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
            self.open(row);
            let depth = row.path().len();
            let below = self
                .depths_of(row, 0..depth)
                .map(|depth| (depth, Place::Below));
            for (depth, place) in below.chain([(depth, Place::At)]) {
                let writers = self.rows.entry((path(row, depth), place)).or_default();
                match writers.iter_mut().find(|(mode, _)| *mode == row.mode) {
                    Some((_, last)) => *last = self.last,
                    None => writers.push((row.mode, self.last)),
                }
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
        let depth = row.path().len();
        let at = self
            .depths_of(row, 0..depth + 1)
            .map(|depth| (depth, Place::At));
        let places = at.chain([(depth, Place::Below)]);
        let writers = places.filter_map(|(depth, place)| self.rows.get(&(path(row, depth), place)));
        let conflicting = writers
            .flatten()
            .filter(|(mode, _)| self.modes.conflict(row.space, row.mode, *mode));
        conflicting.map(|(_, last)| *last).max().unwrap_or(0)
    }

    /// Lengths of paths that have been seen in a row's space.
    fn depths_of(
        &self,
        row: &ConflictKey,
        of: Range<usize>,
    ) -> impl Iterator<Item = usize> + use<> {
        let depths = self.depths.get(row.space.0 as usize).copied().unwrap_or(0);
        of.filter(move |depth| depths >> depth & 1 == 1)
    }

    /// Makes a length known: what was written to longer paths is noted below those of this length.
    fn open(&mut self, row: &ConflictKey) {
        let (space, depth) = (row.space.0 as usize, row.path().len());
        if self.depths.len() <= space {
            self.depths.resize(space + 1, 0);
        }
        if self.depths[space] >> depth & 1 == 1 {
            return;
        }
        self.depths[space] |= 1 << depth;
        let longer = self.rows.iter().filter(|((at, place), _)| {
            at.space == row.space && at.path().len() > depth && *place == Place::At
        });
        let longer: Vec<(ConflictKey, Vec<(Mode, u64)>)> = longer
            .map(|((at, _), writers)| (*at, writers.clone()))
            .collect();
        for (at, writers) in longer {
            let below = self
                .rows
                .entry((path(&at, depth), Place::Below))
                .or_default();
            for (mode, last) in writers {
                match below.iter_mut().find(|(known, _)| *known == mode) {
                    Some((_, known)) => *known = last.max(*known),
                    None => below.push((mode, last)),
                }
            }
        }
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

/// The beginning of a row's path, whatever was done there.
fn path(row: &ConflictKey, depth: usize) -> ConflictKey {
    ConflictKey::new(row.space, Mode(0), &row.path()[..depth])
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

    // Whichever comes first, the row or all rows that begin like it.
    #[test]
    fn a_shorter_key_conflicts_with_all_that_begin_with_it() {
        let key = |path: &[u64]| ConflictKey::new(Space(0), Mode(0), path);
        for (first, second, wins) in [
            (&[1, 2][..], &[1][..], false),
            (&[1], &[1, 2], false),
            (&[1, 2], &[], false),
            (&[1, 2], &[2], true),
            (&[2], &[1, 2], true),
        ] {
            for earlier in [false, true] {
                let mut certifier = certifier();
                if earlier {
                    let seen = certifier.begin();
                    assert!(certifier.end(seen, &[key(&[7]), key(&[])]).is_some());
                }
                let (a, b) = (certifier.begin(), certifier.begin());
                assert!(certifier.end(a, &[key(first)]).is_some());
                assert_eq!(certifier.end(b, &[key(second)]).is_some(), wins);
            }
        }
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
