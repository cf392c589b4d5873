//! The simulated queues against theory: waiting times that are known from formulas come out.

use quintet_base::conflict::{ConflictKey, Mode, Modes, Space};
use quintet_sim_calls::{
    Delays, Kind, Pattern, Plan, Policy, Report, Settings, Source, Spread, Workers, run,
};

/// Calls of one kind that all take ten milliseconds.
struct Alike {
    kinds: [Kind; 1],
    /// They all conflict, or none does.
    keys: Vec<ConflictKey>,
}

impl Alike {
    fn new(conflict: bool) -> Alike {
        let key = ConflictKey::new(Space(0), Mode(0), &[]);
        Alike {
            kinds: [Kind {
                name: "alike",
                duration: Spread::fixed(10.0),
                writes: true,
                tables: &[],
            }],
            keys: if conflict { vec![key] } else { Vec::new() },
        }
    }
}

impl Source for Alike {
    fn name(&self) -> &'static str {
        "alike"
    }

    fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    fn modes(&self) -> Modes {
        let mut modes = Modes::new();
        modes.declare(Space(0), Mode(0), Mode(0));
        modes
    }

    fn next_plan(&mut self) -> Plan {
        Plan {
            kind: 0,
            keys: self.keys.clone(),
            writes: Vec::new(),
            looked_up: false,
        }
    }
}

fn at_load(load: f64, policy: Policy, workers: Workers, conflict: bool) -> Report {
    let settings = Settings {
        policy,
        // Per second, of calls that take a hundredth of one.
        rate: 100.0 * load,
        calls: 60_000,
        workers,
        delays: Delays {
            site_worker: Spread::fixed(0.0),
            ..Delays::TABLE
        },
        ..Settings::default()
    };
    run(&settings, Box::new(Alike::new(conflict)), &mut |_| {}).expect("possible settings")
}

fn close(measured: f64, expected: f64, tolerance: f64, what: &str) {
    let off = (measured - expected).abs() / expected;
    assert!(off < tolerance, "{what}: {measured}, expected {expected}");
}

// M/D/1: Poisson arrivals, one time of service, one server. The mean wait in units of the service is
// load / (2 (1 - load)) (Pollaczek and Khinchine). One worker is such a server under every policy, and so
// is a chain in which everything conflicts, however many workers there are.
#[test]
fn one_server_keeps_calls_waiting_as_long_as_theory_says() {
    for (load, tolerance) in [(0.3, 0.02), (0.7, 0.04)] {
        let wait = load / (2.0 * (1.0 - load));
        for (policy, workers, conflict) in [
            (Policy::RoundRobin, Workers::Bounded(1), false),
            (Policy::Tashkent, Workers::Bounded(1), false),
            (Policy::Chains, Workers::Bounded(1), false),
            (Policy::Chains, Workers::Unbounded, true),
            (Policy::Chains, Workers::Bounded(5), true),
            (Policy::Centralised, Workers::Unbounded, false),
        ] {
            // Tashkent+ runs take nine tenths of the time, and so do not wait as theory says of the others.
            let settled = policy != Policy::Tashkent;
            let report = at_load(load, policy, workers, conflict);
            let what = format!("{policy:?}, {workers:?}, load {load}");
            if settled {
                close(report.penalty.mean, 1.0 + wait, tolerance, &what);
            } else {
                let load = 0.9 * load;
                let expected = 0.9 * (1.0 + load / (2.0 * (1.0 - load)));
                close(report.penalty.mean, expected, tolerance, &what);
            }
        }
    }
}

// M/D/∞: nobody waits, and by Little's law as many workers are busy as work comes per unit of time.
#[test]
fn with_workers_for_all_nobody_waits() {
    for policy in [Policy::Chains, Policy::RoundRobin] {
        let report = at_load(7.5, policy, Workers::Unbounded, false);
        assert!(report.penalty.max < 1.000_1, "{}", report.penalty.max);
        close(report.busy_seconds / report.seconds, 7.5, 0.02, "busy");
    }
}

// Calls that conflict cannot be served faster than one after another, whatever comes.
#[test]
fn a_chain_is_as_long_as_its_calls_together() {
    let settings = Settings {
        pattern: Pattern::AtOnce,
        calls: 1000,
        workers: Workers::Unbounded,
        delays: Delays {
            site_worker: Spread::fixed(0.0),
            ..Delays::TABLE
        },
        ..Settings::default()
    };
    let report = run(&settings, Box::new(Alike::new(true)), &mut |_| {}).unwrap();
    close(report.seconds, 10.0, 1e-9, "time");
    close(report.speed_up, 1.0, 1e-9, "speed-up");
    assert_eq!(report.busy_max, 1);
}
