//! Checks of merges: idempotence, refusals, repeatability.
//!
//! Relies on: `conformance`.  Promises: what a run may and may not change.  Does not: reopen.

use super::{Opener, SPACE, key, listing, merge, put, puts, remove, value_of};
use crate::contract::{Operation, STORED_KEY_BYTES_MAX};
use crate::error::Error;
use quintet_base::{Lsn, SpaceId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The same run twice is the same as once.
pub fn a_run_sent_again_changes_nothing(open: &Opener) {
    let store = open();
    merge(&store, SPACE, &puts(0..20, 1, "base"));
    let mut run = puts(5..10, 8, "new");
    run.push(remove(12, 9));
    run.push(put(30, 9, "far"));
    merge(&store, SPACE, &run);
    let once = listing(&store.generation(), SPACE);
    merge(&store, SPACE, &run);
    assert_eq!(listing(&store.generation(), SPACE), once);
}

/// An older run sent again leaves newer records as they are, and is still idempotent itself.
pub fn an_older_run_sent_again_changes_no_record(open: &Opener) {
    let store = open();
    let (older, newer) = (puts(0..30, 10, "older"), puts(10..20, 20, "newer"));
    merge(&store, SPACE, &older);
    merge(&store, SPACE, &newer);
    let expected = listing(&store.generation(), SPACE);
    let report = store.merge(SPACE, &mut older.iter().cloned()).unwrap();
    assert_eq!(
        report.skipped, 30,
        "every operation is at or below a stored position"
    );
    assert_eq!(listing(&store.generation(), SPACE), expected);
    // A removal at or below the stored position changes nothing either.
    let report = store
        .merge(SPACE, &mut [remove(3, 10), remove(15, 19)].into_iter())
        .unwrap();
    assert_eq!((report.skipped, report.applied), (2, 0));
    assert_eq!(listing(&store.generation(), SPACE), expected);
}

/// A removal leaves no position, so older puts may come back for a while; once the removal is sent
/// again as well, all is as it was.
pub fn removals_sent_again_after_older_puts_win(open: &Opener) {
    let store = open();
    let runs = [
        puts(0..9, 1, "put"),
        (3..6).map(|n| remove(n, 2)).collect(),
        puts(5..6, 3, "x"),
    ];
    for run in &runs {
        merge(&store, SPACE, run);
    }
    let expected = listing(&store.generation(), SPACE);
    for run in &runs {
        merge(&store, SPACE, run);
    }
    assert_eq!(listing(&store.generation(), SPACE), expected);
}

/// A key beyond the bound fails the run, which can be sent again without it.
pub fn what_is_too_long_is_refused_and_the_store_goes_on(open: &Opener) {
    let store = open();
    merge(&store, SPACE, &puts(0..5, 1, "kept"));
    let mut run = puts(0..3, 2, "new");
    run.push(Operation::put(
        vec![0xFF; STORED_KEY_BYTES_MAX + 1],
        Lsn(2),
        "never",
    ));
    let error = store
        .merge(SPACE, &mut run.clone().into_iter())
        .unwrap_err();
    assert!(matches!(error, Error::TooLong { .. }), "{error:?}");
    // A prefix of the run may be there, nothing else.
    let generation = store.generation();
    let new = (0..5)
        .filter(|n| value_of(&generation, *n).as_deref() == Some("new"))
        .count();
    assert_eq!(
        listing(&generation, SPACE)[new..],
        (new as u32..5)
            .map(|n| format!("key-{n:06} @1 kept"))
            .collect::<Vec<_>>()
    );
    run.pop();
    merge(&store, SPACE, &run);
    assert_eq!(value_of(&store.generation(), 2).as_deref(), Some("new"));
    assert_eq!(listing(&store.generation(), SPACE).len(), 5);
}

/// An empty run is fine and leaves no trace.
pub fn empty_runs_make_no_space(open: &Opener) {
    let store = open();
    merge(&store, SPACE, &[]);
    assert!(store.spaces().is_empty());
    merge(&store, SPACE, &[put(1, 1, "one")]);
    merge(&store, SPACE, &[]);
    assert_eq!(store.spaces(), [SPACE]);
    assert_eq!(listing(&store.generation(), SPACE).len(), 1);
}

/// Each of many generations goes on showing what it showed at first, in whatever order they go.
pub fn generations_never_change(open: &Opener) {
    let store = open();
    let mut taken = vec![(store.generation(), Vec::new())];
    for round in 1..=30u64 {
        let mut run = puts(0..50, round, &format!("round {round}"));
        run.retain(|operation| {
            operation
                .key
                .last()
                .is_some_and(|b| u64::from(*b) % 4 != round % 4)
        });
        run.push(if round % 2 == 0 {
            remove(60, round)
        } else {
            put(60, round, "odd")
        });
        merge(&store, SPACE, &run);
        if round == 20 {
            store.checkpoint(Lsn(round)).unwrap();
        }
        if round == 25 {
            store.drop_space(SPACE).unwrap();
        }
        let generation = store.generation();
        let shown = listing(&generation, SPACE);
        assert!(round == 25 || !shown.is_empty());
        taken.push((generation, shown));
        if round % 7 == 0 {
            taken.swap_remove(round as usize / 7);
        }
        for (generation, shown) in &taken {
            assert_eq!(&listing(generation, SPACE), shown, "round {round}");
        }
    }
}

/// Runs over one set of keys, value = number of the run. Whoever reads meanwhile sees, in key
/// order, the newer run's values first and the older run's after them, and never a third.
pub fn readers_beside_a_merge_see_a_prefix_of_it(open: &Opener) {
    const KEYS: u32 = 500;
    let store = open();
    let number = |run: u32| format!("{run:06}");
    merge(&store, SPACE, &puts(0..KEYS, 1, &number(1)));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut looks = 0;
                    while !done.load(Ordering::SeqCst) || looks == 0 {
                        let generation = store.generation();
                        let values: Vec<_> = (0..KEYS)
                            .map(|n| value_of(&generation, n).unwrap().parse::<u32>().unwrap())
                            .collect();
                        assert!(values.is_sorted_by(|a, b| a >= b), "{values:?}");
                        assert!(values[0] - values[KEYS as usize - 1] <= 1, "{values:?}");
                        let again = listing(&generation, SPACE);
                        assert_eq!(again.len(), KEYS as usize);
                        assert!(again[0].ends_with(&number(values[0])), "{}", again[0]);
                        looks += 1;
                    }
                    looks
                })
            })
            .collect();
        for run in 2..=25 {
            merge(&store, SPACE, &puts(0..KEYS, u64::from(run), &number(run)));
        }
        done.store(true, Ordering::SeqCst);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
    assert_eq!(value_of(&store.generation(), 0), Some(number(25)));
}

/// Figures count what was done.
pub fn figures_are_plausible(open: &Opener) {
    let store = open();
    merge(&store, SPACE, &puts(0..100, 1, "value"));
    merge(&store, SpaceId(8), &puts(0..10, 1, "value"));
    store.checkpoint(Lsn(1)).unwrap();
    let stats = store.stats();
    assert_eq!(
        (stats.spaces, stats.merges, stats.operations),
        (2, 2, 110),
        "{stats:?}"
    );
    assert_eq!(stats.checkpoints, 1);
    assert!(stats.tablets >= 2, "{stats:?}");
    assert!(stats.disk_bytes + stats.memory_bytes > 100, "{stats:?}");
    let kept = Arc::clone(&store.generation());
    store.drop_space(SPACE).unwrap();
    assert_eq!(store.stats().spaces, 1);
    assert!(kept.get(SPACE, &key(1)).unwrap().is_some());
}
