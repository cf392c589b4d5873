//! Several sites: the thesis's figures as scripts, and random schedules after which all sites have one order.

#![allow(clippy::unwrap_used)]

mod judge;
mod scripts;
mod world;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use quintet_base::conflict::ConflictKey;
use quintet_chain::{Begin, RunAt};
use world::{Planted, Setup, World, key};

/// One step of a random schedule.
#[derive(Clone, Debug)]
enum Step {
    Submit(u32, Vec<u64>),
    Ask(u32),
    Deliver(usize),
    Choose(u32),
    End(u32, usize),
    Lose(u32),
}

/// Four rows in two groups, the groups, and everything.
fn keys(numbers: &[u64]) -> Vec<ConflictKey> {
    let key = |number: &u64| match number {
        0..4 => key(&[number / 2, number % 2]),
        4..6 => key(&[number - 4]),
        _ => key(&[]),
    };
    numbers.iter().map(key).collect()
}

fn steps(sites: u32) -> impl Strategy<Value = Vec<Step>> {
    // Mostly rows: calls that meet everything leave nothing to order.
    let number = prop_oneof![20 => 0..4u64, 3 => 4..6u64, 1 => Just(6u64)];
    let submit = (0..sites, prop::collection::vec(number, 1..3));
    let step = prop_oneof![
        30 => submit.prop_map(|(at, rows)| Step::Submit(at, rows)),
        5 => (0..sites).prop_map(Step::Ask),
        100 => any::<usize>().prop_map(Step::Deliver),
        20 => (0..sites).prop_map(Step::Choose),
        20 => (0..sites, any::<usize>()).prop_map(|(at, which)| Step::End(at, which)),
        2 => (0..sites).prop_map(Step::Lose),
    ];
    prop::collection::vec(step, 1..120)
}

fn setups() -> impl Strategy<Value = Setup> {
    let run_at = prop_oneof![
        Just(RunAt::Home),
        Just(RunAt::Chain { workers: None }),
        Just(RunAt::Chain { workers: Some(1) }),
    ];
    let begin = prop_oneof![Just(Begin::Committed), Just(Begin::Executed)];
    (1..5u32, run_at, begin).prop_map(|(sites, run_at, begin)| Setup {
        run_at,
        begin,
        ..Setup::new(sites)
    })
}

fn play(setup: Setup, steps: &[Step]) -> Result<World, String> {
    let mut world = World::new(setup);
    match play_in(&mut world, steps) {
        Ok(()) => Ok(world),
        Err(error) => Err(format!("{error}\n{}", world.trace)),
    }
}

fn play_in(world: &mut World, steps: &[Step]) -> Result<(), String> {
    let channels = world.channels();
    for step in steps {
        match step {
            Step::Submit(at, rows) => world.submit(*at, keys(rows))?,
            Step::Ask(at) => world.ask(*at)?,
            Step::Deliver(which) => {
                if let Some((from, to)) = channels.get(which % channels.len().max(1)) {
                    world.deliver(*from, *to)?;
                }
            }
            Step::Choose(at) => {
                world.choose(*at)?;
            }
            Step::End(at, which) => {
                world.end(*at, *which)?;
            }
            Step::Lose(site) => world.lose(*site),
        }
    }
    world.drain()?;
    world.judge()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("QUINTET_SITES_CASES").map_or(600, |cases| cases.parse().unwrap()),
        failure_persistence: None,
        max_shrink_iters: 4000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn all_sites_end_with_one_order(
        (setup, steps) in setups().prop_flat_map(|setup| (Just(setup), steps(setup.sites))),
    ) {
        let end = play(setup, &steps);
        prop_assert!(end.is_ok(), "{}", end.err().unwrap_or_default());
    }
}

// Random schedules reach what they are for, and the judge finds what is wrong.
#[test]
fn schedules_have_collisions_of_every_kind_and_planted_mistakes_are_found() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = steps(3);
    let schedules: Vec<Vec<Step>> = (0..200)
        .map(|_| {
            strategy
                .new_tree(&mut runner)
                .expect("all are taken")
                .current()
        })
        .collect();
    let chains = Setup {
        run_at: RunAt::Chain { workers: Some(1) },
        ..Setup::new(3)
    };
    let mut counts = [0; 8];
    for steps in &schedules {
        let world = play(chains, steps).expect("nothing is planted");
        for site in world.counts() {
            let of = [
                site.collisions,
                site.cancels,
                site.kills,
                site.late_kills,
                site.stalls,
                site.bets,
                site.sent_away,
            ];
            counts.iter_mut().zip(of).for_each(|(sum, of)| *sum += of);
        }
        counts[7] += u64::from(world.reads_that_waited);
    }
    assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
    for planted in [
        Planted::ChoicesDiffer,
        Planted::SeenTooEarly,
        Planted::LastWordsLost,
    ] {
        let found = schedules.iter().any(|steps| {
            let setup = Setup { planted, ..chains };
            // A site may notice itself, by an assertion.
            let played = std::panic::catch_unwind(|| play(setup, steps).is_err());
            played.unwrap_or(true)
        });
        assert!(found, "{planted:?}");
    }
}
