//! A few hundred seeds, the same twice, and every planted mistake found.
//!
//! A failing seed prints the end of its trace and how to run it again.

use quintet_sim::{Mistake, Seen, run, run_once};
use quintet_tc::sim::Planted;

/// Seeds that the fast set runs. Every branch that is counted is reached within them.
const SEEDS: u64 = 300;

#[test]
fn three_hundred_seeds_agree_with_the_model_and_reach_the_rare_places() {
    let mut seen = Seen::default();
    for seed in 0..SEEDS {
        let run = run(seed, None);
        assert!(run.failure.is_none(), "{run}");
        seen += run.seen;
    }
    println!("{seen:?}");
    for (name, count) in seen.counters() {
        assert!(count > 0, "{name} never happened");
    }
}

/// Whoever made room after reading from STORE had a pin, and a warm-up waited for it. Found by this seed.
#[test]
fn who_makes_room_is_not_waited_for() {
    let run = run(12_227, None);
    assert!(run.failure.is_none(), "{run}");
}

/// Goal: a seed is a run. Method: each one twice, with others in between and on another thread, where
/// whatever the process remembers differs.
#[test]
fn one_seed_is_one_run() {
    let first: Vec<_> = (0..40).map(|seed| run_once(seed, None, 10)).collect();
    let again = quintet_rt::threads::spawn("again", || {
        let all = (0..40).rev().map(|seed| run_once(seed, None, 10));
        all.collect::<Vec<_>>()
    });
    let mut again = again.join().expect("it does not panic");
    again.reverse();
    assert_eq!(first, again);
    let hashes: std::collections::BTreeSet<u64> = first.iter().map(|run| run.hash).collect();
    assert_eq!(hashes.len(), first.len(), "other seeds are other runs");
}

/// The first seed that finds the mistake, if one of the first `within` does.
#[track_caller]
fn is_found(mistake: Mistake, within: u64) {
    let found = (0..within).find_map(|seed| {
        let run = run_once(seed, Some(mistake), 0);
        run.failure.map(|failure| (seed, failure))
    });
    match found {
        Some((seed, failure)) => println!("{mistake:?}: seed {seed}: {failure}"),
        None => panic!("{mistake:?} is not found within {within} seeds"),
    }
}

#[test]
fn a_sync_that_is_skipped_is_found() {
    is_found(Mistake::SkipSync, 100);
}

#[test]
fn a_post_of_what_is_not_durable_is_found() {
    is_found(Mistake::Tc(Planted::PostEarly), 300);
}

#[test]
fn a_range_that_is_not_validated_is_found() {
    is_found(Mistake::Tc(Planted::ForgetRanges), 50);
}

#[test]
fn a_space_that_is_not_validated_is_found() {
    is_found(Mistake::Tc(Planted::ForgetSpaces), 1000);
}

#[test]
fn a_key_that_is_not_validated_is_found() {
    is_found(Mistake::Tc(Planted::ForgetKeys), 50);
}

#[test]
fn a_lost_update_is_found() {
    is_found(Mistake::Tc(Planted::LastCommitterWins), 50);
}

#[test]
fn a_snapshot_that_is_taken_late_is_found() {
    is_found(Mistake::Tc(Planted::LateSnapshot), 50);
}

#[test]
fn a_record_that_is_evicted_early_is_found() {
    is_found(Mistake::Tc(Planted::EvictEarly), 50);
}

#[test]
fn a_buffer_that_is_reclaimed_early_is_found() {
    is_found(Mistake::Tc(Planted::ReclaimEarly), 400);
}

#[test]
fn a_stale_record_that_is_remembered_is_found() {
    is_found(Mistake::Tc(Planted::FillLate), 400);
}

#[test]
fn a_version_that_only_a_younger_snapshot_reads_is_missed() {
    is_found(Mistake::Tc(Planted::ForgetReaders), 200);
}

#[test]
fn a_stale_record_that_is_taken_in_is_found() {
    is_found(Mistake::Tc(Planted::TakeInStale), 6000);
}

#[test]
fn a_removed_record_that_leaves_early_is_found() {
    is_found(Mistake::Tc(Planted::TakeAwayEarly), 1000);
}

#[test]
fn a_removed_record_that_leaves_before_it_is_durable_is_found() {
    is_found(Mistake::Tc(Planted::TakeAwayVolatile), 3000);
}

#[test]
fn a_removal_of_which_store_is_not_told_is_found() {
    is_found(Mistake::Tc(Planted::ForgetStored), 1000);
}

#[test]
fn a_change_that_is_not_marked_is_found() {
    is_found(Mistake::Tc(Planted::MarkNewOnly), 50);
}

#[test]
fn a_record_that_is_not_put_back_into_the_order_is_found() {
    is_found(Mistake::Tc(Planted::LeaveUnlisted), 1000);
}

#[test]
fn an_order_that_lacks_records_and_is_trusted_is_found() {
    is_found(Mistake::Tc(Planted::TrustOrder), 1000);
}

#[test]
fn a_space_that_is_called_whole_too_early_is_found() {
    is_found(Mistake::Tc(Planted::WholeEarly), 50);
}

#[test]
fn a_space_that_is_called_whole_after_something_left_is_found() {
    is_found(Mistake::Tc(Planted::RegainBlindly), 200);
}

#[test]
fn a_space_that_is_called_whole_too_soon_is_found() {
    is_found(Mistake::Tc(Planted::RegainSoon), 1000);
}

#[test]
fn a_space_that_is_called_whole_although_something_went_past_it_is_found() {
    is_found(Mistake::Tc(Planted::KeepWhole), 200);
}
