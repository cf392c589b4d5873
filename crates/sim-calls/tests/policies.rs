//! What every policy promises, looked at in traces: one seed is one run, every call takes effect once, and
//! calls that conflict are kept apart as the policy says. The checks are seen to find planted mistakes.

use quintet_sim_calls::{
    Again, Begin, Delays, Mistake, Pattern, Placement, Policy, Ran, Report, RunAt, Settings,
    Source, Spread, TpccCalls, TpceCalls, TradeKeys, Workers, check_certified, check_chains,
    check_once, check_serial, run, traced,
};

const CALLS: u64 = 400;

fn tpcc(seed: u64) -> Box<dyn Source> {
    Box::new(TpccCalls::new(5, seed))
}

fn settings(policy: Policy, seed: u64) -> Settings {
    Settings {
        policy,
        calls: CALLS,
        workers: Workers::Bounded(40),
        seed,
        ..Settings::default()
    }
}

fn several(seed: u64) -> Settings {
    Settings {
        sites: 3,
        calls: 200,
        delays: Delays::TABLE.with_latency_ms(100.0),
        ..settings(Policy::Chains, seed)
    }
}

/// Every policy, bounded and not, one site and several.
fn all() -> Vec<Settings> {
    let mut all: Vec<Settings> = Policy::ALL
        .into_iter()
        .map(|policy| settings(policy, 1))
        .collect();
    all.extend(Policy::ALL.into_iter().map(|policy| Settings {
        workers: Workers::Unbounded,
        ..settings(policy, 2)
    }));
    all.push(Settings {
        again: Again::AtTheBack,
        ..settings(Policy::RoundRobin, 3)
    });
    for workers in [Workers::Bounded(40), Workers::Unbounded] {
        all.push(Settings {
            workers,
            placement: Placement::Any,
            ..settings(Policy::Chains, 8)
        });
    }
    all.push(several(4));
    all.push(Settings {
        workers: Workers::Unbounded,
        ..several(5)
    });
    all.push(Settings {
        begin: Begin::Executed,
        ..several(7)
    });
    all.push(Settings {
        run_at: RunAt::Home,
        ..several(9)
    });
    // Each worker has its own copy.
    all.push(Settings {
        calls: 100,
        workers: Workers::Bounded(10),
        delays: Delays {
            apply: Spread::fixed(100.0),
            ..Delays::TABLE
        },
        ..settings(Policy::Chains, 6)
    });
    all
}

fn simulate(settings: &Settings, mistake: Option<Mistake>) -> (Report, Vec<Ran>) {
    traced(settings, tpcc(settings.seed), mistake).expect("possible settings")
}

#[test]
fn one_seed_gives_one_run() {
    for settings in all() {
        let first = simulate(&settings, None);
        assert_eq!(first, simulate(&settings, None), "{settings:?}");
        let other = Settings {
            seed: settings.seed + 100,
            ..settings
        };
        assert_ne!(first.1, simulate(&other, None).1);
    }
}

#[test]
fn every_call_takes_effect_once_and_is_answered() {
    for settings in all() {
        let (report, runs) = simulate(&settings, None);
        assert_eq!(report.calls, settings.calls);
        let writes = runs.iter().filter(|run| !run.plan.keys.is_empty());
        // Of several sites only calls that write are taken down.
        if settings.sites == 1 {
            assert_eq!(check_once(&runs, settings.calls), Ok(()), "{settings:?}");
        } else {
            let mut calls: Vec<u64> = writes.map(|run| run.call).collect();
            calls.sort_unstable();
            let before = calls.len();
            calls.dedup();
            assert_eq!(calls.len(), before);
            let of_kind = |at: usize| report.kinds[at].calls;
            assert_eq!(before as u64, of_kind(0) + of_kind(1) + of_kind(3));
        }
        let lost = runs.iter().filter(|run| !run.committed).count() as u64;
        if settings.sites == 1 {
            assert_eq!(report.lost_runs, lost);
        }
        let certifies = matches!(settings.policy, Policy::RoundRobin | Policy::Tashkent);
        assert_eq!(lost > 0, certifies, "{settings:?}");
    }
}

#[test]
fn no_more_workers_are_busy_than_there_are() {
    for settings in all() {
        if let Some(bound) = settings.workers.bound() {
            let (report, _) = simulate(&settings, None);
            assert!(report.busy_max <= u64::from(bound * settings.sites));
        }
    }
}

// With one copy for all; with copies of their own the effects of a call come later still.
#[test]
fn under_chains_conflicting_calls_run_one_after_another_as_they_came() {
    for seed in 1..3 {
        for workers in [Workers::Unbounded, Workers::Bounded(20)] {
            let settings = Settings {
                workers,
                ..settings(Policy::Chains, seed)
            };
            let modes = tpcc(seed).modes();
            let (_, runs) = simulate(&settings, None);
            assert_eq!(check_chains(&runs, &modes), Ok(()), "{settings:?}");
            let (_, runs) = simulate(&settings, Some(Mistake::KeyForgotten));
            assert!(check_chains(&runs, &modes).is_err(), "the mistake is seen");
        }
    }
}

#[test]
fn with_centralised_writes_one_call_writes_at_a_time() {
    let (_, mut runs) = simulate(&settings(Policy::Centralised, 1), None);
    runs.retain(|run| !run.plan.keys.is_empty());
    runs.sort_by_key(|run| run.call);
    assert!(runs.len() > 300);
    assert!(runs.windows(2).all(|pair| pair[0].ended <= pair[1].began));
}

#[test]
fn under_certification_the_first_committer_wins() {
    for policy in [Policy::RoundRobin, Policy::Tashkent] {
        for seed in 1..3 {
            let settings = settings(policy, seed);
            let modes = tpcc(seed).row_modes();
            let (_, runs) = simulate(&settings, None);
            assert_eq!(check_certified(&runs, &modes), Ok(()), "{settings:?}");
            let (_, runs) = simulate(&settings, Some(Mistake::CertifierBlind));
            assert!(
                check_certified(&runs, &modes).is_err(),
                "the mistake is seen"
            );
        }
    }
}

#[test]
fn sites_never_run_conflicting_calls_side_by_side() {
    let mut found = 0;
    for seed in 1..5 {
        let settings = several(seed);
        let modes = tpcc(seed).modes();
        let (report, runs) = simulate(&settings, None);
        assert_eq!(check_serial(&runs, &modes), Ok(()), "{settings:?}");
        let collisions = report.collisions.unwrap();
        assert!(collisions.collisions > 0 && collisions.cancelled > 0);
        // Messages take longer than runs, so that calls have to wait for word of having been seen.
        let settings = Settings {
            delays: Delays::TABLE.with_latency_ms(1500.0),
            ..settings
        };
        let (_, runs) = simulate(&settings, None);
        assert_eq!(check_serial(&runs, &modes), Ok(()), "{settings:?}");
        // A site may notice the mistake itself, by an assertion.
        let mistaken = std::panic::catch_unwind(|| {
            let (_, runs) = simulate(&settings, Some(Mistake::SeenTooEarly));
            check_serial(&runs, &modes).is_err()
        });
        found += u32::from(mistaken.unwrap_or(true));
    }
    assert!(
        found >= 2,
        "the mistake is seen in half of the runs: {found} of 4"
    );
}

// The theoretical maximum of whoever runs all Trade Results one after another is 5.9 times one worker.
#[test]
fn keys_found_at_run_time_lift_the_ceiling_of_tpce() {
    let speed_up = |keys| {
        let settings = Settings {
            pattern: Pattern::AtOnce,
            workers: Workers::Unbounded,
            calls: 2000,
            ..Settings::default()
        };
        let calls = Box::new(TpceCalls::new(keys, None, 1));
        run(&settings, calls, &mut |_| {}).unwrap().speed_up
    };
    let (parameters, run_time) = (
        speed_up(TradeKeys::Parameters),
        speed_up(TradeKeys::RunTime),
    );
    assert!((5.4..6.4).contains(&parameters), "{parameters}");
    assert!(run_time > 50.0, "{run_time}");
}

#[test]
fn impossible_settings_are_refused() {
    let refused = |settings: Settings| run(&settings, tpcc(1), &mut |_| {}).is_err();
    let good = Settings::default();
    assert!(refused(Settings {
        rate: 0.0,
        ..good.clone()
    }));
    assert!(refused(Settings {
        workers: Workers::Bounded(0),
        ..good.clone()
    }));
    assert!(refused(Settings {
        sites: 2,
        policy: Policy::Tashkent,
        ..good
    }));
}
