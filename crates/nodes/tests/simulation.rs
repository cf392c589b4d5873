//! Nodes in simulated time: the same seed gives the same run, and every engine runs both workloads.

use quintet_nodes::EngineKind;
use quintet_nodes::sim::{SimConfig, SimReport, simulate};
use quintet_nodes::workload::{Tpcc, TpccConfig, Ycsb, YcsbConfig};

fn config(engine: EngineKind) -> SimConfig {
    SimConfig {
        engine,
        nodes: 3,
        outstanding: 50,
        duration: 5_000_000,
        ..SimConfig::default()
    }
}

fn ycsb(engine: EngineKind, share: f64) -> SimReport {
    let mut workload = Ycsb::new(YcsbConfig {
        records: 2_000,
        multi_partition: share,
        ..YcsbConfig::new(3)
    });
    simulate(&config(engine), &mut workload)
}

#[test]
fn one_seed_gives_the_same_run() {
    for engine in EngineKind::ALL {
        let (once, again) = (ycsb(engine, 0.5), ycsb(engine, 0.5));
        assert_eq!(once.to_json(), again.to_json());
        assert!(once.calls > 50, "{}", once.to_json());
    }
}

#[test]
fn new_orders_and_payments_run_and_one_in_two_hundred_is_raised() {
    for engine in EngineKind::ALL {
        let mut workload = Tpcc::new(TpccConfig {
            items: 200,
            customers: 20,
            remote: 0.5,
            ..TpccConfig::new(3, 2)
        });
        let mut config = config(engine);
        config.duration *= 4;
        let report = simulate(&config, &mut workload);
        let share = report.raised as f64 / report.calls as f64;
        assert!(report.calls > 200, "{}", report.to_json());
        assert!((0.0..0.03).contains(&share), "{}", report.to_json());
    }
}

// What planning is for: a queue sends a few messages for hundreds of calls, two-phase commit several for each.
#[test]
fn queues_send_fewer_messages_than_calls_and_two_phase_commit_more() {
    let queue = ycsb(EngineKind::Queue, 1.0);
    let no_wait = ycsb(EngineKind::NoWait, 1.0);
    assert!(queue.messages < 0.5, "{}", queue.to_json());
    assert!(no_wait.messages > 3.5, "{}", no_wait.to_json());
}
