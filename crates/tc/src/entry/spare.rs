//! Memory of versions that a thread has freed, for those it makes next.
//!
//! Relies on: what is handed back has waited for its epoch.  Promises: a version that is made lies, if it can, where this
//! thread has freed one, and the cache has been asked for that place.  Does not: pass memory from thread to thread, or keep
//! more of it than [`KEPT`] versions for each.
//!
//! A commit that replaces a row puts a version into its chain and takes the one out that the last change of this row has put
//! there, so a thread makes about as many as it frees. The allocator gives out each page's blocks in turn, and has written into
//! each which one is next: by the time that one comes round it is in no cache, and the allocator waits for it. A list of
//! addresses says what comes next without a look at it.

use super::versions::Version;
use std::cell::RefCell;

/// Of each thread: 80 KiB. What an epoch sets free at once is less.
const KEPT: usize = 2048;
/// So many are asked for before they are taken: a commit takes them one behind the other.
const AHEAD: usize = 4;

thread_local! {
    #[allow(clippy::vec_box, reason = "it is the boxes that are kept")]
    static SPARE: RefCell<Vec<Box<Version>>> = const { RefCell::new(Vec::new()) };
}

/// A version in memory of its own.
#[inline]
pub(super) fn keep(version: Version) -> Box<Version> {
    let spare = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        let taken = spare.pop();
        if let Some(later) = spare.len().checked_sub(AHEAD) {
            quintet_index::prefetch(&raw const *spare[later]);
        }
        taken
    });
    match spare {
        Ok(Some(mut spare)) => {
            *spare = version;
            spare
        }
        // There is none, or the thread is about to end.
        _ => Box::new(version),
    }
}

/// Takes the memory of a version that nobody has any more.
#[inline]
pub(super) fn hand_back(version: Box<Version>) {
    // What ends with its thread is freed like anything else.
    let _ = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.len() < KEPT {
            spare.push(version);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_handed_back_is_used_again_and_not_all_of_it_is_kept() {
        let some = |count| (0..count).map(|_| keep(Version::empty()));
        let made: Vec<_> = some(KEPT + 10).collect();
        let last = &raw const *made[KEPT - 1];
        made.into_iter().for_each(hand_back);
        assert_eq!(SPARE.with_borrow(Vec::len), KEPT);
        let again: Vec<_> = some(2).collect();
        assert_eq!(&raw const *again[0], last);
        assert_eq!(SPARE.with_borrow(Vec::len), KEPT - 2);
    }
}
