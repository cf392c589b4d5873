//! Whose turn it is to write a tree's next version, and whether it may be written at all.
//!
//! Relies on: one merge and one compaction at a time; the tree asks [`Bystander`] about every record that a
//! compaction carries over.  Promises: who writes a version knows how the writing before it has ended; once
//! one is in doubt, no other is written.  Does not: make a merge wait for a compaction's records.
//!
//! The tree numbers its next version after the newest that it has *in memory*, and writes it into the file of
//! that number. A writing that fails after its name was put in place leaves that file as the one that is
//! named on disk, and the next writing would cut it to nothing before it fills it: a crash in between leaves
//! no version. So that has to be known before anybody else writes; and a compaction that is under way must
//! still be able to turn back, which it can between two records only.
//!
//! ```text
//!   compaction   None ──► Running ──a merge wants to write──► Held ──it has written──► Running, or turns back
//!                           └──► writes ──► None
//!   merge        takes its run ──► wants ──compaction None or Held──► writes ──► over
//! ```

#[cfg(test)]
mod tests;

use crate::compactor::{Queue, Rests};
use lsm_tree::compaction::filter::Context;
use lsm_tree::compaction::{CompactionFilter, Factory, ItemAccessor, Verdict};
use parking_lot::{Condvar, Mutex};
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// See the header.
#[derive(Default)]
pub(crate) struct Versions {
    state: Mutex<State>,
    changed: Condvar,
    /// A merge wants to write, or writes. Set and cleared under `state`; a compaction looks without.
    wanted: AtomicBool,
    #[cfg(test)]
    pub(crate) moments: tests::Moments,
}

#[derive(Default)]
struct State {
    compaction: Compaction,
    /// Why the version on disk may be another than the one in memory. Never cleared: the next opening
    /// takes what it finds.
    doubt: Option<Arc<str>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Compaction {
    #[default]
    None,
    /// It may write at any moment.
    Running,
    /// It waits between two records.
    Held,
}

/// Nobody else writes until this is dropped.
pub(crate) struct MergeTurn<'a>(&'a Versions);

/// Nobody else writes until this is dropped, but while the compaction is held.
pub(crate) struct CompactionTurn<'a>(&'a Versions);

impl Versions {
    /// A merge is about to write.
    ///
    /// # Errors
    /// Why it may not.
    pub(crate) fn turn_to_merge(&self) -> Result<MergeTurn<'_>, Arc<str>> {
        let mut state = self.state.lock();
        self.wanted.store(true, Ordering::Relaxed);
        while state.compaction == Compaction::Running {
            self.changed.wait(&mut state);
        }
        let doubt = state.doubt.clone();
        drop(state);
        let turn = MergeTurn(self);
        doubt.map_or(Ok(turn), Err)
    }

    /// A compaction begins; `None` if it may not.
    pub(crate) fn turn_to_compact(&self) -> Option<CompactionTurn<'_>> {
        let mut state = self.state.lock();
        while self.wanted.load(Ordering::Relaxed) {
            self.changed.wait(&mut state);
        }
        if state.doubt.is_some() {
            return None;
        }
        state.compaction = Compaction::Running;
        Some(CompactionTurn(self))
    }

    /// Why nothing may be written any more, if that is so.
    pub(crate) fn doubt(&self) -> Option<Arc<str>> {
        self.state.lock().doubt.clone()
    }

    /// Lets nobody write any more. To be called by whoever has a turn, or holds off all who want one.
    pub(crate) fn set_doubt(&self, why: &str) {
        self.state.lock().doubt.get_or_insert_with(|| why.into());
    }

    /// A compaction is between two records.
    fn pass(&self) -> lsm_tree::Result<()> {
        #[cfg(test)]
        self.moments.at_record(&self.wanted);
        // A look that comes too early is made up for at the next record.
        if !self.wanted.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut state = self.state.lock();
        state.compaction = Compaction::Held;
        self.changed.notify_all();
        while self.wanted.load(Ordering::Relaxed) {
            self.changed.wait(&mut state);
        }
        state.compaction = Compaction::Running;
        match &state.doubt {
            None => Ok(()),
            Some(why) => Err(io::Error::other(&**why).into()),
        }
    }
}

impl Drop for MergeTurn<'_> {
    fn drop(&mut self) {
        let _state = self.0.state.lock();
        self.0.wanted.store(false, Ordering::Relaxed);
        self.0.changed.notify_all();
    }
}

impl Drop for CompactionTurn<'_> {
    fn drop(&mut self) {
        self.0.state.lock().compaction = Compaction::None;
        self.0.changed.notify_all();
    }
}

/// Stands by while a compaction carries records over, and changes none.
pub(crate) struct Bystander(AssertUnwindSafe<(Arc<Versions>, Arc<Queue>)>);

impl Bystander {
    pub(crate) fn new(versions: &Arc<Versions>, queue: &Arc<Queue>) -> Arc<Bystander> {
        let both = (Arc::clone(versions), Arc::clone(queue));
        Arc::new(Bystander(AssertUnwindSafe(both)))
    }
}

impl Factory for Bystander {
    fn name(&self) -> &str {
        "bystander"
    }

    fn make_filter(&self, _: &Context) -> Box<dyn CompactionFilter> {
        let (versions, queue) = &*self.0;
        Box::new(OfOne {
            versions: Arc::clone(versions),
            rests: Rests::new(queue),
        })
    }
}

/// Of one compaction.
struct OfOne {
    versions: Arc<Versions>,
    rests: Rests,
}

impl CompactionFilter for OfOne {
    fn filter_item(&mut self, _: ItemAccessor<'_>, _: &Context) -> lsm_tree::Result<Verdict> {
        self.rests.pass();
        self.versions.pass().map(|()| Verdict::Keep)
    }
}
