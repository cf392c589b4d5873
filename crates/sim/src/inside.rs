//! Others acting in the middle of an operation, on its thread.
//!
//! Relies on: the component's points, which say what holds at each.  Promises: nobody is let in whom the
//! interrupted operation would have to set free first: on one thread that is a wait for ever.
//! Does not: exist without the feature `inside`, but for the questions, which then answer no.
//!
//! | interrupted | who is not let in |
//! |---|---|
//! | commit | a pass, warming (they would wait for the epoch and the entries); locks of its keys, commits to them |
//! | commit with its timestamp | also the log's writer, and reads of its keys at or above |
//! | pass | another pass |
//! | warming | another warming |

use crate::machine::Life;
use crate::model::{Key, Writes};
use crate::world::World;
use std::collections::BTreeSet;
use std::rc::Rc;

/// An operation that has been interrupted.
#[derive(Clone)]
#[cfg_attr(
    not(feature = "inside"),
    expect(dead_code, reason = "nothing is interrupted")
)]
pub(crate) enum Interrupted {
    /// A commit of these keys; with its timestamp, if it has one.
    Commit(Rc<BTreeSet<Key>>, Option<u64>),
    Pass,
    Read,
}

impl World {
    /// Whether a pass would wait for an operation that it interrupts.
    pub fn pass_would_wait(&self) -> bool {
        let busy = |i: &Interrupted| !matches!(i, Interrupted::Read);
        self.interrupted.borrow().iter().any(busy)
    }

    /// Whether warming would: for the epoch and the entries of a commit.
    pub fn warming_would_wait(&self) -> bool {
        let commits = |i: &Interrupted| matches!(i, Interrupted::Commit(..));
        self.interrupted.borrow().iter().any(commits)
    }

    /// Whether the log's writer would: it cannot pass a place that is not filled.
    pub fn writer_would_wait(&self) -> bool {
        let unfilled = |i: &Interrupted| matches!(i, Interrupted::Commit(_, Some(_)));
        self.interrupted.borrow().iter().any(unfilled)
    }

    /// Whether a read would wait for the operation that it interrupts.
    pub fn would_wait(&self, snapshot: u64, reads: impl Fn(&Key) -> bool) -> bool {
        self.interrupted.borrow().iter().any(|i| match i {
            Interrupted::Commit(keys, Some(timestamp)) => {
                snapshot >= *timestamp && keys.iter().any(&reads)
            }
            _ => false,
        })
    }

    /// Whether a commit would wait: for the log's writer, if too much has not been written, or for
    /// one that it interrupts.
    pub fn commit_would_wait(&self, life: &Life, writes: &Writes) -> bool {
        self.writer_would_wait() && !life.log.has_room()
            || writes.keys().any(|key| self.lock_would_wait(key))
    }

    /// Whether who locks the row would wait for a commit that it interrupts.
    pub fn lock_would_wait(&self, key: &Key) -> bool {
        let committing =
            |i: &Interrupted| matches!(i, Interrupted::Commit(keys, _) if keys.contains(key));
        self.interrupted.borrow().iter().any(committing)
    }

    /// Whether this is the timestamp of a commit that has been interrupted.
    pub fn is_pending(&self, timestamp: u64) -> bool {
        let pending =
            |i: &Interrupted| matches!(i, Interrupted::Commit(_, Some(t)) if *t == timestamp);
        self.interrupted.borrow().iter().any(pending)
    }

    /// An operation has come to a point inside.
    #[cfg(feature = "inside")]
    pub fn inside(&self, point: quintet_tc::sim::Point) {
        use crate::world::note;
        use quintet_tc::sim::Point;
        // While a log is opened there is nobody yet.
        if self.life.borrow().is_none() || self.quiet.get() || self.has_failed() {
            return;
        }
        let depth = self.interrupted.borrow().len();
        if depth > 2 || !self.one_in(self.profile.inside_every * (1 + 3 * depth as u64)) {
            return;
        }
        let keys = || self.committing.borrow().last().cloned().unwrap_or_default();
        let interrupted = match point {
            Point::Locked => Interrupted::Commit(keys(), None),
            Point::Placed(timestamp) => Interrupted::Commit(keys(), Some(timestamp.0)),
            Point::Missed | Point::Fetched | Point::Chunk => Interrupted::Read,
            _ => Interrupted::Pass,
        };
        note!(self, "inside: {point:?} {{");
        self.seen.borrow_mut().inside += 1;
        self.interrupted.borrow_mut().push(interrupted);
        for _ in 0..1 + self.below(4) {
            self.step();
        }
        self.interrupted.borrow_mut().pop();
        note!(self, "}}");
    }
}
