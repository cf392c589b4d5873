//! Planted histories: each anomaly is found and named, clean ones are left in peace.
//!
//! A history is a script, one event per line: `1 begin`, `1 ok read(x,1,2) append(y,3)`, `1 fail
//! append(x,1)`, `1 unknown append(x,1)`. `begin` sets when the transaction was invoked.

#![allow(clippy::unwrap_used)] // helpers of tests

use quintet_base::Level;
use quintet_engine::history::{AnomalyKind, History, Operation, Recorder, Report, check};

fn operation(text: &str) -> Operation {
    let (name, rest) = text.split_once('(').unwrap();
    let mut parts = rest.trim_end_matches(')').split(',');
    let list = u64::from(parts.next().unwrap().bytes().next().unwrap());
    let values: Vec<u64> = parts.map(|value| value.parse().unwrap()).collect();
    match name {
        "append" => Operation::Append {
            list,
            value: values[0],
        },
        "read" => Operation::Read {
            list,
            values: Some(values),
        },
        other => panic!("{other}?"),
    }
}

fn history(script: &str) -> History {
    let recorder = Recorder::new();
    let lines: Vec<Vec<&str>> = script
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for (number, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
    {
        let process: u32 = line[0].parse().unwrap();
        let operations = |line: &[&str]| line[2..].iter().map(|text| operation(text)).collect();
        match line[1] {
            "begin" => {
                let end = lines[number + 1..]
                    .iter()
                    .find(|later| later.first() == Some(&line[0]));
                recorder.invoke(process, end.map(|end| operations(end)).unwrap_or_default());
            }
            "ok" => recorder.ok(process, operations(line)),
            "fail" => recorder.fail(process),
            "unknown" => recorder.unknown(process),
            other => panic!("{other}?"),
        }
    }
    recorder.history()
}

/// All transactions at the same time: real time orders nothing.
fn concurrent(transactions: &[&str]) -> Report {
    let begins: String = (0..transactions.len())
        .map(|i| format!("{i} begin\n"))
        .collect();
    let ends: String = transactions
        .iter()
        .enumerate()
        .map(|(i, t)| format!("{i} {t}\n"))
        .collect();
    check(&history(&(begins + &ends)))
}

fn assert_found(report: &Report, kind: AnomalyKind) {
    assert_eq!(report.kinds(), [kind], "{report}");
    for level in Level::ALL {
        assert_eq!(
            report.fits(level),
            level < kind.forbidden_from(),
            "{level}: {report}"
        );
    }
}

#[test]
fn clean_histories_show_nothing() {
    let serial = "
        1 begin
        1 ok append(x,1) append(y,2)
        2 begin
        3 begin
        2 ok read(x,1) append(x,3)
        3 ok read(y,2)
        1 begin
        1 ok read(x,1,3) read(y,2) read(z)";
    let report = check(&history(serial));
    assert!(report.anomalies.is_empty(), "{report}");
    assert_eq!(report.committed, 4);
    assert!(concurrent(&[]).anomalies.is_empty());
    // An own append is seen; a failed one is not; an unknown one may be.
    let own = concurrent(&[
        "ok append(x,1) read(x,1) append(x,2) read(x,1,2)",
        "fail append(x,9)",
    ]);
    assert!(own.anomalies.is_empty(), "{own}");
    let seen = concurrent(&["unknown append(x,1)", "ok read(x,1)", "unknown append(x,2)"]);
    assert!(seen.anomalies.is_empty(), "{seen}");
    assert_eq!(seen.committed, 2);
}

#[test]
fn dirty_write_is_found() {
    let report = concurrent(&[
        "ok append(x,1) append(y,1)",
        "ok append(x,2) append(y,2)",
        "ok read(x,1,2) read(y,2,1)",
    ]);
    assert!(
        report.kinds().contains(&AnomalyKind::DirtyWrite),
        "{report}"
    );
    assert!(!report.fits(Level::ReadCommitted));
}

#[test]
fn aborted_read_is_found() {
    assert_found(
        &concurrent(&["fail append(x,1)", "ok read(x,1)"]),
        AnomalyKind::AbortedRead,
    );
}

#[test]
fn intermediate_read_is_found() {
    let report = concurrent(&["ok append(x,1) append(x,2)", "ok read(x,1)"]);
    assert!(
        report.kinds().contains(&AnomalyKind::IntermediateRead),
        "{report}"
    );
    assert!(!report.fits(Level::ReadCommitted));
}

#[test]
fn circular_information_flow_is_found() {
    let report = concurrent(&["ok append(x,1) read(y,2)", "ok append(y,2) read(x,1)"]);
    assert_found(&report, AnomalyKind::CircularInformation);
}

#[test]
fn garbage_duplicates_two_orders_and_unseen_own_writes_are_found() {
    assert_found(&concurrent(&["ok read(x,7)"]), AnomalyKind::Garbage);
    assert_found(
        &concurrent(&["ok append(x,1)", "ok read(x,1,1)"]),
        AnomalyKind::Duplicate,
    );
    let orders = concurrent(&[
        "ok append(x,1)",
        "ok append(x,2)",
        "ok read(x,1,2)",
        "ok read(x,2)",
    ]);
    assert!(
        orders.kinds().contains(&AnomalyKind::Incompatible),
        "{orders}"
    );
    let own = concurrent(&["ok append(x,1) read(x)"]);
    assert_found(&own, AnomalyKind::Internal);
}

#[test]
fn lost_update_is_found_and_allowed_at_read_committed_only() {
    let report = concurrent(&[
        "ok read(x) append(x,1)",
        "ok read(x) append(x,2)",
        "ok read(x,1,2)",
    ]);
    assert_found(&report, AnomalyKind::LostUpdate);
    let text = report.to_string();
    assert!(
        text.contains("rw  T1 read list 120 without 1, which T0 appended"),
        "{text}"
    );
    assert!(
        text.contains("ww  T1 appended 2 to list 120 after what T0 appended"),
        "{text}"
    );
}

#[test]
fn read_skew_is_found() {
    let report = concurrent(&["ok append(x,1) append(y,1)", "ok read(x) read(y,1)"]);
    assert_found(&report, AnomalyKind::ReadSkew);
}

#[test]
fn a_cycle_of_separated_rw_edges_is_forbidden_at_snapshot() {
    // The long fork: two readers see two writes in different orders.
    let report = concurrent(&[
        "ok append(x,1)",
        "ok append(y,1)",
        "ok read(x,1) read(y)",
        "ok read(x) read(y,1)",
    ]);
    assert_found(&report, AnomalyKind::Nonadjacent);
}

#[test]
fn write_skew_is_found_and_forbidden_at_serializable_only() {
    let report = concurrent(&[
        "ok read(x) append(y,1)",
        "ok read(y) append(x,1)",
        "ok read(x,1) read(y,1)",
    ]);
    assert_found(&report, AnomalyKind::WriteSkew);
    // Also without anybody who read the outcome.
    assert_found(
        &concurrent(&["ok read(x) append(y,1)", "ok read(y) append(x,1)"]),
        AnomalyKind::WriteSkew,
    );
}

#[test]
fn a_read_that_misses_an_answered_write_is_stale_at_every_level() {
    let script = "
        1 begin
        1 ok append(x,1)
        2 begin
        2 ok read(x)
        3 begin
        3 ok read(x,1)";
    let report = check(&history(script));
    assert!(report.kinds().contains(&AnomalyKind::StaleRead), "{report}");
    assert!(!report.fits(Level::ReadCommitted));
    // The same transactions at the same time are fine.
    assert!(
        concurrent(&["ok append(x,1)", "ok read(x)", "ok read(x,1)"])
            .anomalies
            .is_empty()
    );
    // A write that is answered and never seen is lost.
    let lost = "
        1 begin
        1 ok append(x,1)
        2 begin
        2 ok read(x)";
    assert!(!check(&history(lost)).fits(Level::ReadCommitted));
}

#[test]
fn an_order_that_only_real_time_contradicts_is_found() {
    // 3 sees 2's write and not 1's, though 1 was answered before 2 began. Serial order 2, 3, 1
    // would do if it were not for that.
    let script = "
        3 begin
        1 begin
        1 ok append(x,1)
        2 begin
        2 ok append(y,1)
        3 ok read(x) read(y,1)
        4 begin
        4 ok read(x,1) read(y,1)";
    let report = check(&history(script));
    assert_eq!(report.kinds(), [AnomalyKind::ReadSkew], "{report}");
    assert!(
        report.anomalies.iter().all(|anomaly| anomaly.real_time),
        "{report}"
    );
    assert!(
        report
            .to_string()
            .contains("rt  T1 was answered before T2 began"),
        "{report}"
    );
    // At READ COMMITTED each statement has its own snapshot, and this may happen.
    assert!(report.fits(Level::ReadCommitted));
}

/// A serial execution gives a clean history, however long; one read turned back in it is found.
#[test]
fn long_serial_histories_are_clean_and_one_planted_read_is_found() {
    for planted in [false, true] {
        let recorder = Recorder::new();
        let mut lists: Vec<Vec<u64>> = vec![Vec::new(); 1_100];
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for number in 0..20_000u64 {
            // The lists in use move on, so that they stay short.
            let in_use = number / 20;
            let (list, read) = (in_use + random(20), in_use + 5 + random(10));
            let mut values = lists[read as usize].clone();
            if planted && number == 15_000 {
                assert!(values.pop().is_some());
            }
            let operations = vec![
                Operation::Read {
                    list: read,
                    values: Some(values),
                },
                Operation::Append {
                    list,
                    value: number,
                },
            ];
            let process = number as u32 % 8;
            recorder.invoke(process, operations.clone());
            lists[list as usize].push(number);
            recorder.ok(process, operations);
        }
        let report = check(&recorder.history());
        assert_eq!(report.committed, 20_000);
        assert_eq!(report.fits(Level::Serializable), !planted, "{report}");
    }
}
