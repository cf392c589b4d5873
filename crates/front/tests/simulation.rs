//! Seeded simulation of faults: servers that crash, stall and are cut off, front ends that die and start again,
//! clients that repeat their calls.
//!
//! `QUINTET_FRONT_SEEDS=10000 cargo test --release -p quintet-front --test simulation` runs so many seeds;
//! `QUINTET_FRONT_SEED=17` runs one, with all that happened, and `QUINTET_FRONT_MISTAKE=IgnoresOrder` with that.

#![allow(clippy::unwrap_used)]

mod model;

use model::settings::{MISTAKES, Settings};
use model::world::{Seen, World};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Seeds of an ordinary run.
const SEEDS: u64 = 400;

/// A mistake must be found among so many.
const SEEDS_FOR_MISTAKES: u64 = 3_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

fn run(seed: u64, traces: bool, change: impl FnOnce(&mut Settings)) -> Result<World, String> {
    let mut world = World::new(seed, change);
    world.traces = traces;
    let result = catch_unwind(AssertUnwindSafe(|| world.run()));
    let fault = match result {
        Ok(Ok(())) => return Ok(world),
        Ok(Err(fault)) => fault,
        Err(panic) => match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
            (Some(text), _) => text.clone(),
            (_, Some(text)) => (*text).to_string(),
            _ => "panicked".to_string(),
        },
    };
    Err(format!(
        "{}\nseed {seed}, {:?}\n{fault}",
        world.trace.join("\n"),
        world.settings
    ))
}

#[test]
fn nothing_acknowledged_is_lost_or_doubled_whatever_fails() {
    if let Some(seed) = number("QUINTET_FRONT_SEED") {
        let name = std::env::var("QUINTET_FRONT_MISTAKE").unwrap_or_default();
        let mut mistakes = MISTAKES.into_iter();
        let mistake = mistakes.find(|mistake| format!("{mistake:?}") == name);
        let result = run(seed, true, |settings| {
            mistake
                .into_iter()
                .for_each(|mistake| settings.make(mistake))
        });
        let fault = result.err();
        assert!(fault.is_none(), "{}", fault.unwrap());
        return;
    }
    let first = number("QUINTET_FRONT_FIRST").unwrap_or(0);
    let seeds = number("QUINTET_FRONT_SEEDS").unwrap_or(SEEDS);
    println!("seeds {first} to {}", first + seeds - 1);
    let mut seen = Seen::default();
    let mut failed = Vec::new();
    for seed in first..first + seeds {
        match run(seed, false, |_| {}) {
            Ok(world) => add(&mut seen, world.seen),
            Err(fault) => {
                println!("{fault}");
                failed.push(seed);
            }
        }
        if failed.len() >= 10 {
            break;
        }
    }
    println!("{seen:?}");
    assert!(failed.is_empty(), "seeds {failed:?} failed");
    let few = seeds < SEEDS;
    assert!(
        few || seen.counts.moved > 0,
        "no call ran where a session was free"
    );
}

fn add(sum: &mut Seen, seen: Seen) {
    sum.crashes += seen.crashes;
    sum.cuts += seen.cuts;
    sum.stalls += seen.stalls;
    sum.restarts += seen.restarts;
    sum.rereads += seen.rereads;
    sum.acknowledged += seen.acknowledged;
    sum.unknown += seen.unknown;
    sum.repeated += seen.repeated;
    sum.counts.attempts += seen.counts.attempts;
    sum.counts.conflicts += seen.counts.conflicts;
    sum.counts.refused += seen.counts.refused;
    sum.counts.rerun += seen.counts.rerun;
    sum.counts.alone += seen.counts.alone;
    sum.counts.killed += seen.counts.killed;
    sum.counts.out_of_turn += seen.counts.out_of_turn;
    sum.counts.foreign += seen.counts.foreign;
    sum.counts.decided += seen.counts.decided;
    sum.counts.moved += seen.counts.moved;
    sum.counts.joined += seen.counts.joined;
}

// The harness is worth what it finds.
#[test]
fn mistakes_made_on_purpose_are_found() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for mistake in MISTAKES {
        let found = (0..SEEDS_FOR_MISTAKES).find_map(|seed| {
            let fault = run(seed, false, |settings| settings.make(mistake)).err()?;
            Some((seed, fault))
        });
        match found {
            Some((seed, fault)) => {
                let last = fault.lines().last().unwrap_or_default();
                let short: String = last.chars().take(100).collect();
                println!("{mistake:?}: seed {seed}: {short}");
            }
            None => missed.push(mistake),
        }
    }
    let _ = std::panic::take_hook();
    assert!(missed.is_empty(), "not found: {missed:?}");
}
