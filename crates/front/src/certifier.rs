//! The certifier: which write sets were not yet there when an attempt began, and whether they share rows with it.
//!
//! Relies on: positions are entered in ascending order; a write set is told to have arrived at a replica no sooner
//! than it is there; an attempt is begun no later than it is run.  Promises: an attempt passes only if every write set
//! that shares a row with its own was in its snapshot. (It may be refused though the write set was, if the word of
//! that came late.) What nobody can need is forgotten.  Does not: decide what follows.
//!
//! The thesis numbers committed transactions (GTSN) and remembers for each attempt the last one that it saw
//! (6.3.1). Replicas here commit what they ran themselves out of turn, so a snapshot is a set of positions. It is
//! kept as one number: each replica counts what arrives, and an attempt has seen what was counted before it began.

use crate::ids::{AttemptId, Rows};
use std::collections::{BTreeMap, BTreeSet};

/// A write set, as long as somebody may have to be compared with it.
#[derive(Debug)]
struct Kept {
    rows: Rows,
    /// The write sets directly before it on its rows.
    before: Vec<u64>,
    /// By replica: the how manieth that arrived there; 0 if it did not.
    arrived: Vec<u64>,
}

/// An attempt that is not decided.
#[derive(Debug)]
struct Begun {
    replica: usize,
    /// It has seen what was counted up to here.
    seen: u64,
    /// Something that it would have to be compared with was forgotten.
    doomed: bool,
}

/// All positions that matter.
#[derive(Debug)]
pub(crate) struct Certifier {
    kept: BTreeMap<u64, Kept>,
    /// The last position that wrote a row.
    last: BTreeMap<u64, u64>,
    /// The last one that may have written any row.
    last_any: Option<u64>,
    /// By replica: how many have arrived.
    counted: Vec<u64>,
    begun: BTreeMap<AttemptId, Begun>,
    kept_max: usize,
    /// Attempts are compared; if not, positions are kept for the order of applies only.
    certifies: bool,
}

impl Certifier {
    pub fn new(replicas: usize, certifies: bool, kept_max: usize) -> Certifier {
        Certifier {
            kept: BTreeMap::new(),
            last: BTreeMap::new(),
            last_any: None,
            counted: vec![0; replicas],
            begun: BTreeMap::new(),
            kept_max,
            certifies,
        }
    }

    /// An attempt is about to be run at a replica.
    pub fn begin(&mut self, attempt: AttemptId, replica: usize) {
        let begun = Begun {
            replica,
            seen: self.counted[replica],
            doomed: false,
        };
        self.begun.insert(attempt, begun);
    }

    /// An attempt is decided, or over.
    pub fn end(&mut self, attempt: AttemptId) {
        self.begun.remove(&attempt);
    }

    /// What stands against an attempt with these rows: the last position that it should have seen, or 0 if it
    /// can no longer be said.
    pub fn against(&self, attempt: AttemptId, rows: &Rows) -> Option<u64> {
        let begun = self.begun.get(&attempt)?;
        if !self.certifies {
            return None;
        }
        if begun.doomed {
            return Some(0);
        }
        let unseen = |position: &u64| match self.kept.get(position) {
            Some(kept) => {
                let arrived = kept.arrived[begun.replica];
                arrived == 0 || arrived > begun.seen
            }
            None => false,
        };
        self.directly_before(rows).into_iter().rev().find(unseen)
    }

    /// The last position on each of these rows, ascending.
    fn directly_before(&self, rows: &Rows) -> Vec<u64> {
        let mut before: BTreeSet<u64> = self.last_any.into_iter().collect();
        match rows {
            Rows::None => return Vec::new(),
            Rows::These(rows) => before.extend(rows.iter().filter_map(|row| self.last.get(row))),
            Rows::Any => before.extend(self.kept.keys()),
        }
        before.into_iter().collect()
    }

    /// A write set takes the next position.
    pub fn enter(&mut self, position: u64, rows: Rows) {
        let before = self.directly_before(&rows);
        match &rows {
            Rows::None => {}
            Rows::These(rows) => self.last.extend(rows.iter().map(|row| (*row, position))),
            Rows::Any => self.last_any = Some(position),
        }
        let arrived = vec![0; self.counted.len()];
        let kept = Kept {
            rows,
            before,
            arrived,
        };
        self.kept.insert(position, kept);
    }

    /// The positions that must be committed at a replica before this one begins there.
    pub fn missing_before(&self, position: u64, replica: usize) -> Vec<u64> {
        let Some(kept) = self.kept.get(&position) else {
            return Vec::new();
        };
        let missing = |before: &&u64| {
            let before = self.kept.get(before);
            before.is_some_and(|before| before.arrived[replica] == 0)
        };
        kept.before.iter().filter(missing).copied().collect()
    }

    /// A write set is at a replica.
    pub fn arrived(&mut self, position: u64, replica: usize) {
        if let Some(kept) = self.kept.get_mut(&position)
            && kept.arrived[replica] == 0
        {
            self.counted[replica] += 1;
            kept.arrived[replica] = self.counted[replica];
        }
    }

    /// A replica has lost a write set that had arrived.
    pub fn gone(&mut self, position: u64, replica: usize) {
        if let Some(kept) = self.kept.get_mut(&position) {
            kept.arrived[replica] = 0;
        }
    }

    /// Forgets what every attempt has seen that is or will be at a replica. Attempts at a replica that is not
    /// there begin when it has caught up, so it is not asked.
    pub fn forget(&mut self, there: impl Fn(usize) -> bool) {
        while let Some((position, kept)) = self.kept.first_key_value() {
            let position = *position;
            let replicas = kept.arrived.iter().enumerate();
            let spread = replicas
                .clone()
                .all(|(replica, at)| *at > 0 || !there(replica));
            if !spread {
                return;
            }
            let unseen = |begun: &Begun| kept.arrived[begun.replica] > begun.seen;
            let needed = self.certifies && self.begun.values().any(unseen);
            if needed && self.kept.len() <= self.kept_max {
                return;
            }
            for begun in self.begun.values_mut() {
                begun.doomed |= kept.arrived[begun.replica] > begun.seen;
            }
            let kept = self.kept.remove(&position).expect("it is the first");
            if let Rows::These(rows) = kept.rows {
                for row in rows {
                    if self.last.get(&row) == Some(&position) {
                        self.last.remove(&row);
                    }
                }
            }
            self.last_any = self.last_any.filter(|last| *last != position);
        }
    }

    /// How many positions and rows are kept.
    pub fn len(&self) -> (usize, usize) {
        (self.kept.len(), self.last.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: u64) -> AttemptId {
        AttemptId { epoch: 1, number }
    }

    fn rows(rows: &[u64]) -> Rows {
        Rows::These(rows.to_vec())
    }

    #[test]
    fn an_attempt_passes_if_it_saw_all_that_shares_a_row() {
        let mut certifier = Certifier::new(2, true, 100);
        certifier.begin(attempt(1), 1);
        certifier.enter(1, rows(&[10, 11]));
        certifier.arrived(1, 0);
        certifier.begin(attempt(2), 0);
        certifier.begin(attempt(3), 1);
        certifier.arrived(1, 1);
        assert_eq!(certifier.against(attempt(1), &rows(&[11])), Some(1));
        assert_eq!(certifier.against(attempt(1), &rows(&[12])), None);
        assert_eq!(certifier.against(attempt(2), &rows(&[11])), None);
        // It arrived while the attempt ran.
        assert_eq!(certifier.against(attempt(3), &rows(&[11])), Some(1));
        assert_eq!(certifier.against(attempt(3), &Rows::Any), Some(1));
    }

    #[test]
    fn what_all_have_seen_is_forgotten_and_nothing_sooner() {
        let mut certifier = Certifier::new(2, true, 100);
        certifier.begin(attempt(1), 1);
        certifier.enter(1, rows(&[10]));
        certifier.arrived(1, 0);
        certifier.forget(|_| true);
        assert_eq!(certifier.len(), (1, 1), "a replica lacks it");
        certifier.arrived(1, 1);
        certifier.forget(|_| true);
        assert_eq!(certifier.len(), (1, 1), "an attempt has not seen it");
        certifier.end(attempt(1));
        certifier.forget(|_| true);
        assert_eq!(certifier.len(), (0, 0));
    }

    #[test]
    fn beyond_the_bound_attempts_that_need_the_oldest_are_refused() {
        let mut certifier = Certifier::new(1, true, 1);
        certifier.begin(attempt(1), 0);
        for position in 1..=3 {
            certifier.enter(position, rows(&[position]));
            certifier.arrived(position, 0);
            certifier.forget(|_| true);
        }
        assert_eq!(certifier.len(), (1, 1));
        assert_eq!(certifier.against(attempt(1), &rows(&[99])), Some(0));
    }

    #[test]
    fn applies_begin_after_those_on_their_rows() {
        let mut certifier = Certifier::new(2, false, 100);
        certifier.enter(1, rows(&[1]));
        certifier.enter(2, rows(&[2]));
        certifier.enter(3, rows(&[1, 2]));
        assert_eq!(certifier.missing_before(3, 1), [1, 2]);
        certifier.arrived(1, 1);
        assert_eq!(certifier.missing_before(3, 1), [2]);
        certifier.enter(4, Rows::Any);
        assert_eq!(certifier.missing_before(4, 1), [2, 3]);
    }
}
