//! A sorted table that is cheap to share and to change: leaves of records behind `Arc`s.
//!
//! Relies on: runs ascend by key.  Promises: a clone is a fixed image; merging a run copies only
//! the leaves that the run touches and the row of pointers to them.  Does not: lock.
//!
//! ```text
//!   leaves   [ Arc ]────[ Arc ]────[ Arc ]        no leaf is empty
//!              │          │          │            keys ascend within and across leaves
//!           a b c d     f g h      k l m n        at most LEAF_RECORDS_MAX in each
//! ```

use crate::contract::{Change, Direction, KeyRange, MergeReport, Operation, Record};
use crate::error::Error;
use bytes::Bytes;
use std::cmp::Ordering;
use std::iter::Peekable;
use std::ops::Bound;
use std::sync::Arc;

/// Records in a leaf: a changed record copies this many pointers, a million records have four
/// thousand leaves.
const LEAF_RECORDS_MAX: usize = 256;

type Leaf = Vec<(Bytes, Record)>;

/// See the header. A clone costs one pointer for every leaf.
#[derive(Clone, Default)]
pub(crate) struct Sorted {
    leaves: Vec<Arc<Leaf>>,
}

/// A place in the table: leaf and index in it. The place after all others is `(leaves, 0)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    leaf: usize,
    index: usize,
}

impl Sorted {
    /// The table after a run, and what the run did. On an error the run is dropped: nothing of it
    /// is in the result, since there is none.
    pub(crate) fn merged(
        &self,
        run: &mut dyn Iterator<Item = Operation<'_>>,
    ) -> Result<(Sorted, MergeReport), Error> {
        let mut report = MergeReport::default();
        let mut run = run.peekable();
        let mut leaves = Vec::with_capacity(self.leaves.len());
        let mut previous: Option<Bytes> = None;
        if self.leaves.is_empty() {
            merge_leaf(
                &Leaf::new(),
                None,
                &mut run,
                &mut previous,
                &mut leaves,
                &mut report,
            )?;
        }
        for (index, leaf) in self.leaves.iter().enumerate() {
            // A leaf takes the keys below the first one of the next leaf; the last takes the rest.
            let end = self.leaves.get(index + 1).map(|next| &next[0].0);
            if run
                .peek()
                .is_some_and(|operation| is_before(&operation.key, end))
            {
                merge_leaf(leaf, end, &mut run, &mut previous, &mut leaves, &mut report)?;
            } else {
                leaves.push(Arc::clone(leaf));
            }
        }
        Ok((Sorted { leaves }, report))
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Record> {
        let place = self.place(key);
        let (found, record) = self.at(place)?;
        (found == key).then_some(record)
    }

    /// The places of a range: the first in it, and the first after it.
    pub(crate) fn places(&self, range: &KeyRange) -> (Place, Place) {
        let begin = match &range.lower {
            Bound::Unbounded => Place { leaf: 0, index: 0 },
            Bound::Included(key) => self.place(key),
            Bound::Excluded(key) => self.place_after(key),
        };
        let end = match &range.upper {
            Bound::Unbounded => self.end(),
            Bound::Included(key) => self.place_after(key),
            Bound::Excluded(key) => self.place(key),
        };
        (begin, end)
    }

    pub(crate) fn at(&self, place: Place) -> Option<&(Bytes, Record)> {
        self.leaves.get(place.leaf)?.get(place.index)
    }

    pub(crate) fn next_place(&self, place: Place) -> Place {
        if place.index + 1 < self.leaves[place.leaf].len() {
            Place {
                leaf: place.leaf,
                index: place.index + 1,
            }
        } else {
            Place {
                leaf: place.leaf + 1,
                index: 0,
            }
        }
    }

    /// Must not be called on the first place.
    pub(crate) fn previous_place(&self, place: Place) -> Place {
        if place.index > 0 {
            Place {
                leaf: place.leaf,
                index: place.index - 1,
            }
        } else {
            let leaf = place.leaf - 1;
            Place {
                leaf,
                index: self.leaves[leaf].len() - 1,
            }
        }
    }

    pub(crate) fn leaf_count(&self) -> usize {
        self.leaves.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        let of = |(key, record): &(Bytes, Record)| (key.len() + record.value.len()) as u64;
        self.leaves
            .iter()
            .flat_map(|leaf| leaf.iter())
            .map(of)
            .sum()
    }

    fn end(&self) -> Place {
        Place {
            leaf: self.leaves.len(),
            index: 0,
        }
    }

    /// The first place whose key is not below `key`.
    fn place(&self, key: &[u8]) -> Place {
        self.place_where(|found| found.cmp(key) != Ordering::Less)
    }

    /// The first place whose key is above `key`.
    fn place_after(&self, key: &[u8]) -> Place {
        self.place_where(|found| found.cmp(key) == Ordering::Greater)
    }

    /// The first place whose key fulfils a condition that holds from some key on.
    fn place_where(&self, holds: impl Fn(&[u8]) -> bool) -> Place {
        let leaf = self
            .leaves
            .partition_point(|leaf| leaf.last().is_some_and(|(key, _)| !holds(key)));
        let index = match self.leaves.get(leaf) {
            Some(leaf) => leaf.partition_point(|(key, _)| !holds(key)),
            None => 0,
        };
        Place { leaf, index }
    }
}

fn is_before(key: &[u8], end: Option<&Bytes>) -> bool {
    end.is_none_or(|end| key < end)
}

/// Merges the part of the run that lies before `end` with one leaf and adds the leaves that result.
fn merge_leaf<'a, I: Iterator<Item = Operation<'a>>>(
    leaf: &Leaf,
    end: Option<&Bytes>,
    run: &mut Peekable<I>,
    previous: &mut Option<Bytes>,
    into: &mut Vec<Arc<Leaf>>,
    report: &mut MergeReport,
) -> Result<(), Error> {
    let mut out = Leaf::with_capacity(leaf.len());
    let mut old = leaf.iter().peekable();
    while let Some(operation) = run.next_if(|operation| is_before(&operation.key, end)) {
        operation.check(previous.as_deref().unwrap_or_default())?;
        let Operation {
            key,
            position,
            change,
        } = operation;
        let key = key.into_bytes();
        *previous = Some(key.clone());
        while let Some(kept) = old.next_if(|(known, _)| *known < key) {
            push(&mut out, kept.clone(), into);
        }
        report.bytes += key.len() as u64;
        if let Change::Put(value) = &change {
            report.bytes += value.len() as u64;
        }
        if let Some(stored) = old.next_if(|(known, _)| *known == key)
            && position <= stored.1.position
        {
            report.skipped += 1;
            push(&mut out, stored.clone(), into);
            continue;
        }
        report.applied += 1;
        if let Change::Put(value) = change {
            let value = value.into_bytes();
            push(&mut out, (key, Record { position, value }), into);
        }
    }
    for kept in old {
        push(&mut out, kept.clone(), into);
    }
    if !out.is_empty() {
        into.push(Arc::new(out));
    }
    Ok(())
}

/// Adds an entry, and closes the leaf when it is full.
fn push(out: &mut Leaf, entry: (Bytes, Record), into: &mut Vec<Arc<Leaf>>) {
    out.push(entry);
    if out.len() == LEAF_RECORDS_MAX {
        into.push(Arc::new(std::mem::take(out)));
    }
}

/// A walk over a range of one image of a table.
pub(crate) struct Walk {
    table: Arc<Sorted>,
    begin: Place,
    end: Place,
    direction: Direction,
}

impl Walk {
    pub(crate) fn new(table: Arc<Sorted>, range: &KeyRange, direction: Direction) -> Walk {
        let (begin, end) = table.places(range);
        Walk {
            table,
            begin,
            end,
            direction,
        }
    }
}

impl Iterator for Walk {
    type Item = (Bytes, Record);

    fn next(&mut self) -> Option<(Bytes, Record)> {
        if self.begin >= self.end {
            return None;
        }
        let place = match self.direction {
            Direction::Forward => {
                let here = self.begin;
                self.begin = self.table.next_place(here);
                here
            }
            Direction::Backward => {
                self.end = self.table.previous_place(self.end);
                self.end
            }
        };
        self.table.at(place).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_base::Lsn;

    fn key(number: u32) -> Bytes {
        number.to_be_bytes().to_vec().into()
    }

    fn puts(numbers: impl Iterator<Item = u32>, position: u64) -> Vec<Operation<'static>> {
        numbers
            .map(|n| Operation::put(key(n), Lsn(position), n.to_string()))
            .collect()
    }

    #[test]
    fn leaves_stay_within_their_bound_and_untouched_ones_are_shared() {
        let empty = Sorted::default();
        let (first, _) = empty
            .merged(&mut puts((0..2000).map(|n| n * 2), 1).into_iter())
            .unwrap();
        let (second, report) = first.merged(&mut puts(1001..1002, 2).into_iter()).unwrap();
        assert_eq!(report.applied, 1);
        assert!(
            second
                .leaves
                .iter()
                .all(|leaf| (1..=LEAF_RECORDS_MAX).contains(&leaf.len()))
        );
        let shared = |leaf: &&Arc<Leaf>| first.leaves.iter().any(|old| Arc::ptr_eq(old, leaf));
        assert_eq!(
            second.leaves.iter().filter(shared).count(),
            first.leaves.len() - 1
        );
        assert_eq!(first.get(&key(1001)), None);
        assert_eq!(
            second.get(&key(1001)).map(|record| record.position),
            Some(Lsn(2))
        );
    }

    #[test]
    fn removing_every_record_leaves_no_leaf() {
        let (full, _) = Sorted::default()
            .merged(&mut puts(0..1000, 1).into_iter())
            .unwrap();
        let run: Vec<_> = (0..1000)
            .map(|n| Operation::remove(key(n), Lsn(2)))
            .collect();
        let (empty, _) = full.merged(&mut run.into_iter()).unwrap();
        assert_eq!(empty.leaf_count(), 0);
        assert_eq!(
            Walk::new(Arc::new(empty), &KeyRange::all(), Direction::Backward).count(),
            0
        );
    }
}
