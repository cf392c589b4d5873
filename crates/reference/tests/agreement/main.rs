//! The fast executor agrees with the reference: the same procedure over the same tables, from random
//! programs that are valid by construction.
//!
//! A difference prints the seed of its case; `QUINTET_AGREEMENT_SEED=seed` runs that case alone and prints
//! all of it. `QUINTET_AGREEMENT_CASES=n` runs so many cases.

mod case;
mod dice;
mod engine;
mod exprs;
mod plans;
mod routines;
mod tables;

use case::Case;

/// Some seconds in a debug build.
const CASES: u64 = 2_000;

/// So many are shown at most.
const DIFFERENCES_MAX: usize = 8;

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// Goal: no program tells the two apart. Cases have seeds of their own, so one can be run alone.
#[test]
fn the_fast_executor_agrees_with_the_reference() {
    let direct = engine::open();
    if let Some(seed) = setting("QUINTET_AGREEMENT_SEED") {
        let case = Case::new(seed);
        println!("{}", case.describe());
        if let Some(difference) = case.difference(&direct, None) {
            panic!("{difference}");
        }
        return;
    }
    let cases = setting("QUINTET_AGREEMENT_CASES").unwrap_or(CASES);
    println!("cases 0..{cases}");
    let mut differences = Vec::new();
    for seed in 0..cases {
        if let Some(difference) = Case::new(seed).difference(&direct, None) {
            differences.push(format!("case {seed}: {difference}"));
            if differences.len() == DIFFERENCES_MAX {
                break;
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
