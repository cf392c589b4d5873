//! Footprints are wide enough, and calls whose keys do not meet do not conflict: random programs, run by the
//! reference and compared with what the analysis says of them.
//!
//! A miss prints the seed of its case; `QUINTET_AGREEMENT_SEED=seed` runs that case alone and prints all of it.
//! `QUINTET_AGREEMENT_CASES=n` runs so many cases.

#[allow(dead_code)]
#[path = "../agreement/dice.rs"]
mod dice;
#[allow(dead_code)]
#[path = "../agreement/exprs.rs"]
mod exprs;
#[path = "../agreement/listener.rs"]
mod listener;
#[path = "../agreement/plans.rs"]
mod plans;
#[allow(dead_code)]
#[path = "../agreement/routines.rs"]
mod routines;
#[path = "../agreement/tables.rs"]
mod tables;

mod focus;
mod narrow;
mod pair;
mod sharpen;
mod snapshot;

use pair::{Pair, Tally};

/// Some seconds in a debug build.
const CASES: u64 = 300;

/// A narrowed footprint must be found by then.
const CASES_TO_FIND: u64 = 1_000;

/// So many are shown at most.
const MISSES_MAX: usize = 8;

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// Goal: everything that a call touches is in its footprint; calls whose keys do not meet commute at
/// SERIALIZABLE, and write nothing in common at SNAPSHOT, by column and by row. Cases have seeds of their own,
/// so one can be run alone. The tally shows that there was something to find.
#[test]
fn footprints_are_wide_enough_and_calls_apart_commute() {
    let mut tally = Tally::default();
    if let Some(seed) = setting("QUINTET_AGREEMENT_SEED") {
        let pair = Pair::new(seed);
        println!("{}", pair.describe());
        if let Some(miss) = pair.miss(None, &mut tally) {
            panic!("{miss}");
        }
        return;
    }
    let cases = setting("QUINTET_AGREEMENT_CASES").unwrap_or(CASES);
    println!("cases 0..{cases}");
    let mut misses = Vec::new();
    for seed in 0..cases {
        if let Some(miss) = Pair::new(seed).miss(None, &mut tally) {
            misses.push(format!("case {seed}: {miss}"));
            if misses.len() == MISSES_MAX {
                break;
            }
        }
    }
    println!("{tally:?}");
    assert!(misses.is_empty(), "{}", misses.join("\n"));
    assert!(
        tally.is_telling(cases),
        "too little was compared: {tally:?}"
    );
}

/// Goal: the comparison would notice a footprint that is too small: each way of narrowing is found, and soon;
/// those that are rarely met only where many cases are asked for.
#[test]
fn narrowed_footprints_are_found() {
    let mut missed = Vec::new();
    let asked = setting("QUINTET_AGREEMENT_CASES");
    let rare = asked.map_or(&[][..], |_| narrow::RARE);
    for (name, narrow) in narrow::NARROWINGS.iter().chain(rare) {
        let mut seeds = 0..asked.unwrap_or(CASES_TO_FIND).max(CASES_TO_FIND);
        let found = seeds.find(|seed| {
            let miss = Pair::new(*seed).miss(Some(*narrow), &mut Tally::default());
            miss.is_some()
        });
        println!("{name}: case {found:?}");
        if found.is_none() {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "nobody noticed that {missed:?}");
}
