//! Whether a space is compacted now or later.
//!
//! Relies on: whoever reads says what that took ([`Questions`]); the queue knows when the last merge came.  Promises: of the runs that a read
//! has to look through there are never many more than [`RUNS_MAX`], and a compaction that saves readers more than it
//! costs is not put off.  Does not: choose tablets; the tree's strategy does.
//!
//! What is above has the records that are wanted in memory, so nobody may ever read what a compaction has put in order; and
//! where two processors are all there is, one that goes on beside TPC-C takes a seventh of them. So it waits for a reason:
//!
//! | runs in the newest level | |
//! |---|---|
//! | one | now: the tree may move it to where it stays without a look into it; but later if it is of so many tablets that the tree would merge it, and lies among others |
//! | fewer than [`RUNS_MIN`] | later |
//! | up to [`RUNS_MAX`] | now, if readers have asked so much that the answer is worth it, or if no merge has come for long ([`crate::LsmConfig::quiet`]) and old records are few beside new ones; else later |
//! | [`RUNS_MAX`] or more | now |
//!
//! What readers ask is weighed as somebody does who hires skis until he has paid the price of a pair (Karlin and others, *Competitive
//! snoopy caching*, 1988): whatever comes next, questions and compaction together cost no more than twice what would have been best.

use std::sync::atomic::{AtomicU64, Ordering};

/// Overlapping runs from which the tree compacts by itself. What it counts is their tablets.
const RUNS_MIN: usize = 4;

/// Overlapping runs from which compaction is put off no more: a read asks each, most often only its
/// filter.
pub(crate) const RUNS_MAX: usize = 12;

/// How many old bytes a compaction may rewrite for one new byte without being put off.
const OLD_BYTES_PER_NEW: u64 = 8;

/// So many questions take as long as rewriting a record: some 0.2 µs each, if what is asked is in memory, and 0.4 to 0.5.
const QUESTIONS_PER_RECORD: u64 = 2;

/// To begin a scan, so many for each run: its index and a block.
const QUESTIONS_PER_SCANNED_RUN: u64 = 10;

/// One of so many reads is counted, for all of them: counting each would have readers on many processors write to one place.
const COUNTED: u64 = 16;

/// What readers were told by the newest runs of a space since it was last compacted, in looks at a filter.
#[derive(Default)]
pub(crate) struct Questions(AtomicU64);

impl Questions {
    /// A read of the key with this hash has asked so many runs for nothing, or for what it wanted.
    pub fn note_read(&self, hash: u64, runs: u64) {
        if runs > 0 && hash.is_multiple_of(COUNTED) {
            self.0.fetch_add(runs * COUNTED, Ordering::Relaxed);
        }
    }

    /// A scan has passed over so many records of so many runs.
    pub fn note_scan(&self, records: u64, runs: u64) {
        if runs > 1 {
            let questions = records + runs * QUESTIONS_PER_SCANNED_RUN;
            self.0.fetch_add(questions, Ordering::Relaxed);
        }
    }

    /// A compaction has come.
    pub fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What speaks for and against compacting the newest runs of a space.
pub(crate) struct Case {
    pub runs: usize,
    /// Of all these runs.
    pub tablets: usize,
    /// No older tablet has keys between the first and the last of these runs.
    pub lies_apart: bool,
    pub new_bytes: u64,
    pub old_bytes: u64,
    /// In all tablets.
    pub records: u64,
    pub questions: u64,
}

#[derive(PartialEq, Eq, Debug)]
pub(crate) enum When {
    Now,
    /// If nothing comes before.
    InQuiet,
    Later,
}

/// See the header.
pub(crate) fn when(case: &Case) -> When {
    let is_merge = case.runs > 1 || (case.tablets >= RUNS_MIN && !case.lies_apart);
    if !is_merge || case.runs >= RUNS_MAX {
        return When::Now;
    }
    if case.runs < RUNS_MIN {
        return When::Later;
    }
    if case.questions >= case.records.saturating_mul(QUESTIONS_PER_RECORD) {
        return When::Now;
    }
    match case.new_bytes * OLD_BYTES_PER_NEW < case.old_bytes {
        true => When::Later,
        false => When::InQuiet,
    }
}

/// Fewer removals are passed over in a moment wherever they are.
const REMOVALS_MIN: u64 = 256;

/// How many records a compaction of the whole space may rewrite for one removal: as many as bytes for a byte.
const RECORDS_PER_REMOVAL: u64 = OLD_BYTES_PER_NEW;

/// A larger space is never compacted as a whole: meanwhile it is on the disk twice, and takes seconds.
const WHOLE_BYTES_MAX: u64 = 256 << 20;

/// What speaks for compacting the whole space.
pub(crate) struct Worn {
    /// Marks of removals since the last time.
    pub removals: u64,
    /// Everything that is stored, marks and what they hide included.
    pub records: u64,
    pub bytes: u64,
}

/// Whether a space is compacted as a whole because of its removals. A scan that begins where records were
/// removed, as at the head of a queue, passes over each of them and over what it hides, until both have met in
/// the deepest level.
pub(crate) fn is_worn(worn: &Worn) -> bool {
    worn.bytes <= WHOLE_BYTES_MAX
        && worn.removals >= REMOVALS_MIN
        && worn.removals * RECORDS_PER_REMOVAL >= worn.records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_space_with_many_removals_is_worn() {
        // removals, records, MiB, worn
        let table = [
            (1000, 8000, 10, true),
            (1000, 8001, 10, false),
            (255, 255, 10, false),
            (256, 256, 256, true),
            (256, 256, 257, false),
        ];
        for (removals, records, mib, expected) in table {
            let bytes = mib << 20;
            let worn = Worn {
                removals,
                records,
                bytes,
            };
            assert_eq!(is_worn(&worn), expected, "{removals} {records} {mib}");
        }
    }

    #[test]
    fn runs_wait_for_each_other_for_readers_or_for_quiet_but_not_for_ever() {
        use When::{InQuiet as Quiet, Later, Now};
        // runs, new bytes, old bytes, questions for 1,000 records
        let table = [
            ((0, 0, 1000, 0), Now),            // the tree may have work further down
            ((1, 1, 1000, 0), Now),            // perhaps a move
            ((2, 900, 100, 1_000_000), Later), // of several tablets each, the tree would begin
            ((3, 900, 100, 1_000_000), Later),
            ((4, 1, 1000, 0), Later),
            ((4, 200, 1000, 0), Quiet),
            ((4, 1, 0, 1999), Quiet),
            ((4, 1, 0, 2000), Now),
            ((11, 1, 1000, 1999), Later),
            ((11, 1, 1000, 2000), Now),
            ((11, 200, 1000, 1999), Quiet),
            ((12, 1, 1000, 0), Now),
        ];
        for ((runs, new_bytes, old_bytes, questions), expected) in table {
            let case = Case {
                runs,
                tablets: runs,
                lies_apart: false,
                new_bytes,
                old_bytes,
                records: 1000,
                questions,
            };
            assert_eq!(
                when(&case),
                expected,
                "{runs} {new_bytes} {old_bytes} {questions}"
            );
        }
    }

    #[test]
    fn a_run_that_the_tree_would_merge_by_itself_waits_too() {
        let table = [
            (3, false, When::Now),
            (4, false, When::Later),
            (4, true, When::Now),
            (40, false, When::Later),
        ];
        for (tablets, lies_apart, expected) in table {
            let case = Case {
                runs: 1,
                tablets,
                lies_apart,
                new_bytes: 900,
                old_bytes: 100,
                records: 1000,
                questions: 10_000,
            };
            assert_eq!(when(&case), expected, "{tablets} {lies_apart}");
        }
    }

    #[test]
    fn questions_come_out_about_right_although_few_are_counted() {
        let questions = Questions::default();
        let mut random = quintet_rt::Rand::seeded(7);
        (0..16_000).for_each(|_| questions.note_read(random.next_u64(), 3));
        let count = questions.count();
        assert!((40_000..56_000).contains(&count), "{count}");
        questions.forget();
        questions.note_read(0, 0);
        questions.note_scan(50, 1);
        assert_eq!(questions.count(), 0, "one run is asked whatever its age");
        questions.note_scan(50, 4);
        assert_eq!(questions.count(), 90);
    }
}
