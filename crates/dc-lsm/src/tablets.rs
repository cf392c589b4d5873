//! The tablets of a pin, and point reads through them.
//!
//! Relies on: the tree's version for which tablets there are, and in what order they are to be asked.
//! Promises: a read finds what the tree finds at the same number.  Does not: know pins, or scan.
//!
//! Filters are asked but for the deepest level. It has most of the records, so that a read that has come
//! there mostly finds its record, and a filter would be as long as those of all other levels together
//! ten times over. None are made for it; tablets that came there without being rewritten have one, which
//! would only take the place of others in the cache. The price: a key that is nowhere costs a block.

#[cfg(test)]
mod tests;

use crate::patience::Questions;
use crate::tablet::Tablet;
use lsm_tree::table::filter::standard_bloom::Builder;
use lsm_tree::{SeqNo, Slice};
use quintet_dc::Error;
use std::sync::Arc;

/// See the header.
pub(crate) struct Tablets {
    /// The newest first.
    runs: Box<[Run]>,
    /// Of the space that they are of.
    questions: Arc<Questions>,
}

/// Tablets without overlaps, ascending.
pub(crate) struct Run {
    pub is_deepest: bool,
    pub tablets: Box<[Arc<Tablet>]>,
}

impl Run {
    /// The one that a key would be in.
    fn find(&self, key: &[u8]) -> Option<&Tablet> {
        let ends_before = |tablet: &Arc<Tablet>| &**tablet.keys().max() < key;
        let tablet = self
            .tablets
            .get(self.tablets.partition_point(ends_before))?;
        (&**tablet.keys().min() <= key).then_some(tablet)
    }
}

impl Tablets {
    /// Runs, the newest first.
    pub fn new(runs: Vec<Run>, questions: &Arc<Questions>) -> Tablets {
        Tablets {
            runs: runs.into(),
            questions: Arc::clone(questions),
        }
    }

    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Tablet>> {
        self.runs.iter().flat_map(|run| &run.tablets)
    }

    /// What is stored for a key, as of a sequence number.
    pub fn get(&self, key: &[u8], at: SeqNo) -> Result<Option<Slice>, Error> {
        self.get_since(0, key, at)
    }

    /// Has the system fetch the block that a read of a key will come to. What says which block that is, of
    /// indexes and filters, is read here if it is not in memory. Errors are left to the read.
    pub fn announce(&self, key: &[u8], at: SeqNo) {
        let hash = Builder::get_hash(key);
        for run in &self.runs {
            let Some(tablet) = run.find(key) else {
                continue;
            };
            if run.is_deepest || tablet.may_have(key, hash).unwrap_or(false) {
                // A filter is wrong in a hundredth of its answers: then the read waits, as without this.
                tablet.announce(key, at);
                return;
            }
        }
    }

    /// As [`Tablets::get`], but as if tablets of merges before `since` were not there.
    pub fn get_since(&self, since: SeqNo, key: &[u8], at: SeqNo) -> Result<Option<Slice>, Error> {
        let hash = Builder::get_hash(key);
        let mut asked = 0;
        let mut found = None;
        for run in &self.runs {
            let Some(tablet) = run.find(key) else {
                continue;
            };
            if tablet.table().get_highest_seqno() < since {
                continue;
            }
            if !run.is_deepest {
                asked += 1;
                if !tablet.may_have(key, hash)? {
                    continue;
                }
            }
            found = tablet.get(key, at)?;
            if found.is_some() {
                break;
            }
        }
        self.questions.note_read(hash, asked);
        let found = found.filter(|version| !version.is_tombstone());
        Ok(found.map(|version| version.value))
    }
}
