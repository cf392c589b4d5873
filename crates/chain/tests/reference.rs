//! Property: whatever happens, calls are ordered as if each had been compared with all before it. The judge is
//! `support::world`, and planted mistakes show that it can find some.

#![allow(clippy::unwrap_used)]

mod support;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use quintet_base::conflict::{ConflictKey, Mode, Modes, Space};
use quintet_chain::*;
use support::world::{Step, World};

const SPACES: u32 = 2;
const MODES: u8 = 4;

/// Any modes: a bit for each pair of each space.
fn any_modes() -> impl Strategy<Value = Modes> {
    any::<u32>().prop_map(|bits| {
        let mut modes = Modes::new();
        let mut at = 0;
        for space in 0..SPACES {
            for a in 0..MODES {
                for b in a..MODES {
                    if bits >> at & 1 == 1 {
                        modes.declare(Space(space), Mode(a), Mode(b));
                    }
                    at += 1;
                }
            }
        }
        modes
    })
}

fn any_key() -> impl Strategy<Value = ConflictKey> {
    let path = prop::collection::vec(0..2u64, 0..4);
    (0..SPACES, 0..MODES, path)
        .prop_map(|(space, mode, path)| ConflictKey::new(Space(space), Mode(mode), &path))
}

fn submit() -> impl Strategy<Value = Step> {
    (
        prop::collection::vec(any_key(), 0..4),
        prop::bool::weighted(0.1),
        any::<bool>(),
        prop::option::weighted(0.1, any::<usize>()),
        1..4u32,
    )
        .prop_map(|(keys, reads, total, after, cost)| Step::Submit {
            keys,
            access: match reads {
                true => Access::ReadOnly,
                false => Access::Update,
            },
            guarantee: match total {
                true => Guarantee::Total,
                false => Guarantee::Causal,
            },
            after,
            cost,
        })
}

fn end() -> impl Strategy<Value = Step> {
    (any::<usize>(), prop::bool::weighted(0.8)).prop_map(|(which, wrote)| Step::End {
        which,
        wrote: match wrote {
            true => Wrote::Something,
            false => Wrote::Nothing,
        },
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => submit(),
        7 => end(),
        7 => any::<usize>().prop_map(|which| Step::Apply { which }),
        1 => any::<usize>().prop_map(|which| Step::Cancel { which }),
        1 => any::<usize>().prop_map(|which| Step::Lose { which }),
        1 => (1..4u32, prop::bool::weighted(0.2))
            .prop_map(|(slots, behind)| Step::Join { slots, behind }),
    ]
}

/// The usual lives, without faults.
fn calm_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => submit(),
        6 => end(),
        6 => any::<usize>().prop_map(|which| Step::Apply { which }),
    ]
}

fn copies() -> impl Strategy<Value = Copies> {
    prop_oneof![Just(Copies::One), Just(Copies::PerWorker)]
}

fn config(modes: &Modes, copies: Copies) -> Config {
    Config {
        copies,
        ..Config::new(modes.clone())
    }
}

/// So many random runs, or as many as QUINTET_CHAIN_CASES says.
#[allow(clippy::disallowed_methods)] // to run more by hand only
fn cases(cases: u32) -> ProptestConfig {
    let asked = std::env::var("QUINTET_CHAIN_CASES").ok();
    ProptestConfig {
        cases: asked.map_or(cases, |asked| asked.parse().unwrap()),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    }
}

fn play(config: Config, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut world = World::new(config.clone(), config);
    world.play(steps).map_err(TestCaseError::fail)
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn calls_are_ordered_as_if_all_pairs_were_compared(
        modes in any_modes(),
        copies in copies(),
        steps in prop::collection::vec(calm_step(), 1..80),
    ) {
        play(config(&modes, copies), &steps)?;
    }

    #[test]
    fn and_so_they_are_when_workers_are_lost_and_calls_cancelled(
        modes in any_modes(),
        copies in copies(),
        steps in prop::collection::vec(any_step(), 1..80),
    ) {
        play(config(&modes, copies), &steps)?;
    }
}

proptest! {
    #![proptest_config(cases(400))]

    // Whatever order places are given in, it is kept; and nobody is forgotten.
    #[test]
    fn the_order_of_places_is_kept_when_it_is_not_that_of_arrival(
        modes in any_modes(),
        copies in copies(),
        sample in 1..6usize,
        steps in prop::collection::vec(any_step(), 1..80),
    ) {
        let order = Order::ShortestMakespan { sample };
        play(Config { order, ..config(&modes, copies) }, &steps)?;
    }
}

proptest! {
    #![proptest_config(cases(400))]

    // And nobody waits for a place who could begin.
    #[test]
    fn whoever_can_begin_first_gets_its_place_first(
        modes in any_modes(),
        copies in copies(),
        sample in prop_oneof![1..6usize, Just(100)],
        passed_over_max in 0..6usize,
        steps in prop::collection::vec(any_step(), 1..80),
    ) {
        let order = Order::Soonest { sample, passed_over_max };
        play(Config { order, ..config(&modes, copies) }, &steps)?;
    }
}

fn reader(space: u32, path: &[u64]) -> ConflictKey {
    ConflictKey::new(Space(space), support::READ, path)
}

fn writer(space: u32, path: &[u64]) -> ConflictKey {
    ConflictKey::new(Space(space), support::WRITE, path)
}

// Many calls read a whole prefix and many write single rows below it: joints.
fn prefix_readers() -> impl Strategy<Value = Step> {
    let key = prop_oneof![
        6 => (0..2u64).prop_map(|w| reader(0, &[w])),
        1 => Just(reader(0, &[])),
        3 => (0..2u64, 0..9u64).prop_map(|(w, d)| writer(0, &[w, d])),
        1 => (0..2u64).prop_map(|w| writer(0, &[w])),
        1 => (0..2u64, 0..9u64, 0..2u64).prop_map(|(w, d, c)| writer(0, &[w, d, c])),
    ];
    let submit = prop::collection::vec(key, 1..3).prop_map(|keys| Step::Submit {
        keys,
        access: Access::Update,
        guarantee: Guarantee::Causal,
        after: None,
        cost: 1,
    });
    prop_oneof![
        30 => submit,
        4 => end(),
        3 => any::<usize>().prop_map(|which| Step::Apply { which }),
        1 => any::<usize>().prop_map(|which| Step::Cancel { which }),
    ]
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn many_readers_of_a_prefix_are_waited_for_together(
        copies in copies(),
        steps in prop::collection::vec(prefix_readers(), 40..160),
    ) {
        play(config(&support::modes(), copies), &steps)?;
    }
}

// Twenty calls read a prefix; a writer below it finds them joined. Then the first key comes that has no parts at
// all: it was not looked out for so far, and has to wait for all twenty. It writes other columns than the
// writer and does not meet it, or that one would wait in its place.
#[test]
fn joined_readers_are_found_by_a_depth_that_is_new() {
    let (read, write, write_others) = (Mode(0), Mode(1), Mode(2));
    let submit = |mode, path: &[u64]| Step::Submit {
        keys: vec![ConflictKey::new(Space(0), mode, path)],
        access: Access::Update,
        guarantee: Guarantee::Causal,
        after: None,
        cost: 1,
    };
    let mut steps = vec![Step::Join {
        slots: 50,
        behind: false,
    }];
    steps.extend((0..20).map(|_| submit(read, &[1])));
    steps.extend([submit(write, &[1, 2]), submit(write_others, &[])]);
    let mut modes = Modes::new();
    for mode in [write, write_others] {
        modes.declare(Space(0), mode, mode);
        modes.declare(Space(0), mode, read);
    }
    let config = config(&modes, Copies::One);
    World::new(config.clone(), config).play(&steps).unwrap();
}

/// The first fault of some hundred random runs. `plant` changes what the scheduler is told, not the judge.
fn fault(plant: impl Fn(&mut Config)) -> Option<String> {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = prop::collection::vec(calm_step(), 40..80);
    let mut judged_by = Modes::new();
    for space in 0..SPACES {
        for (a, b) in [(0, 1), (1, 1), (1, 2), (2, 2), (2, 3)] {
            judged_by.declare(Space(space), Mode(a), Mode(b));
        }
    }
    (0..200).find_map(|_| {
        let tree = strategy.new_tree(&mut runner).expect("all are taken");
        let mut steps = tree.current();
        for slots in 1..3 {
            let behind = false;
            steps.insert(0, Step::Join { slots, behind });
        }
        let right = config(&judged_by, Copies::PerWorker);
        let mut told = right.clone();
        plant(&mut told);
        let mut world = World::new(told, right);
        world.play(&steps).err()
    })
}

#[test]
fn the_judge_passes_what_is_right_and_finds_planted_mistakes() {
    assert_eq!(fault(|_| {}), None, "nothing is planted");
    let found = |plant: fn(&mut Config), as_what: &str| {
        let fault = fault(plant).expect("it is found");
        assert!(fault.contains(as_what), "{fault}");
    };
    // A classifier that forgot some pairs.
    found(
        |config| {
            config.modes = Modes::new();
            config.modes.declare(Space(0), Mode(1), Mode(1));
        },
        "did not wait",
    );
    // One that sees conflicts where there are none.
    found(
        |config| config.modes.declare(Space(1), Mode(0), Mode(0)),
        "waits for nobody",
    );
    // Copies that are taken for one.
    found(|config| config.copies = Copies::One, "answered too early");
    // A call that is turned away and never heard of again.
    found(|config| config.pending_max = 3, "refused");
}

// Found by chance: calls that only read, behind one that had no place yet, counted as placed, and so kept it from
// getting one for ever.
#[test]
fn readers_that_wait_for_a_call_without_a_place_do_not_keep_it_from_one() {
    let submit = |access, after| Step::Submit {
        keys: vec![],
        access,
        guarantee: Guarantee::Causal,
        after,
        cost: 1,
    };
    let mut steps = vec![submit(Access::Update, None); 3];
    steps.extend(vec![
        submit(Access::ReadOnly, Some(2)),
        submit(Access::ReadOnly, Some(2)),
    ]);
    let order = Order::ShortestMakespan { sample: 1 };
    for copies in [Copies::One, Copies::PerWorker] {
        let config = Config {
            order,
            ..config(&Modes::new(), copies)
        };
        play(config, &steps).unwrap();
    }
}
