//! Sorts and groups that do not fit into a statement's memory: they go through files, and nothing else is different.
//!
//! Random plans with all rows in files: `plans.rs`, and `reference`'s agreement.

#![allow(clippy::unwrap_used)] // helpers of tests

mod support;

use quintet_base::{Level, SqlType, Value};
use quintet_ir::aggregate::{AggregateCall, AggregateFunction};
use quintet_ir::plan::{JoinKind, SortKey};
use quintet_ir::{Expr, Plan, Statement};
use std::sync::atomic::Ordering;
use support::*;

/// Without room for a single row each of them is a file, and files are merged three deep.
const ROWS: i32 = 1500;

/// Room for some rows: as many files as are merged at once, and a few more.
const LITTLE: usize = 5_000;

fn call(name: &str, args: Vec<Expr>) -> Expr {
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let found = quintet_ir::function::resolve(name, &types).unwrap();
    Expr::Call {
        function: found.function,
        args,
        ty: found.result,
    }
}

/// A number below 40, NULL for each tenth row, a text and the row's number, behind an outer frame of this width.
/// Many rows are equal.
fn rows(base: usize) -> Plan {
    let series = Plan::Series {
        start: int(1),
        stop: int(ROWS),
        step: int(1),
        ty: SqlType::Int4,
    };
    let number = call("%", vec![call("*", vec![col(base), int(7)]), int(40)]);
    let text = call("repeat", vec![constant(Value::text("wörter ")), int(9)]);
    let tenth = call("%", vec![col(base), int(10)]);
    let number = Expr::Case {
        branches: vec![(eq(tenth, int(0)), Expr::null(SqlType::Int4))],
        otherwise: Some(Box::new(number)),
        ty: SqlType::Int4,
    };
    project(series, vec![number, text, col(base)])
}

fn sorted(descending: bool, top: Option<i64>) -> Plan {
    sorted_behind(0, descending, top)
}

fn sorted_behind(base: usize, descending: bool, top: Option<i64>) -> Plan {
    let key = SortKey {
        descending,
        nulls_first: descending,
        ..sort_key(base)
    };
    Plan::Sort {
        input: Box::new(rows(base)),
        keys: vec![key],
        top: top.map(|top| Box::new(constant(Value::Int8(top)))),
    }
}

/// The rows, files that were made, and those that are left.
fn answer(plan: Plan, memory: Option<usize>) -> (Vec<Vec<Value>>, usize, usize) {
    let direct = engine();
    let mut call = Call::new(&direct, Statement::Query(plan));
    call.host.kept_memory = memory;
    let mut txn = direct.begin(Level::ReadCommitted);
    let rows = call.go(&mut txn).rows();
    let files = std::sync::Arc::clone(&call.host.files);
    drop(call);
    let count = |number: &std::sync::atomic::AtomicUsize| number.load(Ordering::Relaxed);
    (rows, count(&files.made), count(&files.there))
}

#[test]
fn rows_from_files_are_those_from_memory_and_equal_ones_keep_their_order() {
    for descending in [false, true] {
        let (expected, made, _) = answer(sorted(descending, None), None);
        assert_eq!((expected.len(), made), (ROWS as usize, 0));
        for memory in [0, LITTLE] {
            let (rows, made, left) = answer(sorted(descending, None), Some(memory));
            assert_eq!(rows, expected, "{memory} bytes");
            assert!(made > 32, "{made} files");
            assert_eq!(left, 0);
        }
    }
}

#[test]
fn a_limit_is_kept_and_so_are_files_for_those_who_stop_early() {
    let (expected, ..) = answer(sorted(false, Some(600)), None);
    assert_eq!(expected.len(), 600);
    let (rows, made, left) = answer(sorted(false, Some(600)), Some(LITTLE));
    assert_eq!(rows, expected);
    assert!(made > 1, "{made} files");
    assert_eq!(left, 0);
    let (rows, _, left) = answer(limit(sorted(false, None), 3), Some(LITTLE));
    assert_eq!((rows, left), (expected[..3].to_vec(), 0));
}

/// Goal: a sort on the inner side of a loop begins anew with each outer row, and gives back what it had.
#[test]
fn it_can_be_run_again() {
    let outer = values(ints(&[&[1], &[2], &[3]]));
    let inner = limit(sorted_behind(1, true, None), 5);
    let pairs = join(outer, inner, (1, 3), JoinKind::Inner, None);
    let (expected, ..) = answer(pairs.clone(), None);
    assert_eq!(expected.len(), 15);
    let (rows, made, left) = answer(pairs, Some(LITTLE));
    assert_eq!(rows, expected);
    assert!(made > 0);
    assert_eq!(left, 0);
}

#[test]
fn without_files_it_is_refused_and_on_the_way_it_is_cancelled() {
    let direct = engine();
    let mut call = Call::new(&direct, Statement::Query(sorted(false, None)));
    call.host.kept_memory = Some(LITTLE);
    call.host.no_files = true;
    let mut txn = direct.begin(Level::ReadCommitted);
    let error = call.go(&mut txn).error();
    assert_eq!(error.state.as_str(), "53200");
    assert!(error.hint.is_some());

    let mut call = Call::new(&direct, Statement::Query(sorted(false, None)));
    call.host.kept_memory = Some(0);
    call.cancel.store(true, Ordering::Release);
    assert_eq!(call.go(&mut txn).error().state.as_str(), "57014");
}

fn aggregate(function: AggregateFunction, arg: Option<Expr>, ty: SqlType) -> AggregateCall {
    AggregateCall {
        function,
        args: arg.into_iter().collect(),
        distinct: false,
        filter: None,
        order: vec![],
        ty,
    }
}

/// Rows by their number, or by this many hundreds of it; with what formulas can add up, and what they cannot.
fn grouped(base: usize, by: Option<i32>) -> Plan {
    use AggregateFunction::*;
    let number = col(base + 2);
    let key = match by {
        Some(by) => call("/", vec![number.clone(), int(by)]),
        None => number.clone(),
    };
    Plan::Aggregate {
        input: Box::new(rows(base)),
        keys: vec![key, Expr::Column(base + 1, SqlType::Text)],
        calls: vec![
            aggregate(CountRows, None, SqlType::Int8),
            aggregate(Sum, Some(number), SqlType::Int8),
            AggregateCall {
                distinct: true,
                ..aggregate(Count, Some(col(base)), SqlType::Int8)
            },
        ],
        sets: vec![],
    }
}

#[test]
fn groups_from_files_are_those_from_memory_in_the_order_of_their_first_rows() {
    for by in [None, Some(2), Some(100)] {
        let (expected, made, _) = answer(grouped(0, by), None);
        assert_eq!(made, 0);
        assert!(expected.len() >= 15, "{}", expected.len());
        for memory in [0, LITTLE, 10 * LITTLE] {
            let (groups, made, left) = answer(grouped(0, by), Some(memory));
            assert_eq!(groups, expected, "{memory} bytes, by {by:?}");
            assert!(
                made > 0 || by == Some(100) || memory > LITTLE,
                "{memory} bytes, by {by:?}"
            );
            assert_eq!(left, 0);
        }
    }
}

#[test]
fn distinct_rows_from_files_are_those_from_memory_in_the_same_order() {
    for by in [1, 7, 500] {
        let halves = call("/", vec![col(2), int(by)]);
        let columns = vec![halves, Expr::Column(1, SqlType::Text), col(0)];
        let plan = Plan::Unique {
            input: Box::new(project(rows(0), columns)),
        };
        let (expected, made, _) = answer(plan.clone(), None);
        assert_eq!(made, 0);
        for memory in [0, LITTLE] {
            let (rows, made, left) = answer(plan.clone(), Some(memory));
            assert_eq!(rows, expected, "{memory} bytes, by {by}");
            assert!(made > 0);
            assert_eq!(left, 0);
        }
    }
}

#[test]
fn groups_are_made_again_and_files_given_back() {
    let outer = values(ints(&[&[1], &[2], &[3]]));
    let inner = limit(grouped(1, Some(2)), 700);
    let pairs = join(outer, inner, (1, 5), JoinKind::Inner, None);
    let (expected, ..) = answer(pairs.clone(), None);
    assert_eq!(expected.len(), 2100);
    let (rows, made, left) = answer(pairs, Some(LITTLE));
    assert_eq!(rows, expected);
    assert!(made > 0);
    assert_eq!(left, 0);
}

/// Goal: what one group keeps has no other place than memory. Method: one group of all texts.
#[test]
fn a_group_that_is_too_large_is_refused_and_so_are_groups_without_files() {
    let direct = engine();
    let mut txn = direct.begin(Level::ReadCommitted);
    let texts = AggregateCall {
        distinct: true,
        ..aggregate(
            AggregateFunction::Count,
            Some(call("repeat", vec![Expr::Column(1, SqlType::Text), col(2)])),
            SqlType::Int8,
        )
    };
    let plan = Plan::Aggregate {
        input: Box::new(rows(0)),
        keys: vec![],
        calls: vec![texts],
        sets: vec![],
    };
    let mut refused = Call::new(&direct, Statement::Query(plan));
    refused.host.memory = Some(4 * LITTLE);
    assert_eq!(refused.go(&mut txn).error().state.as_str(), "53200");

    let mut refused = Call::new(&direct, Statement::Query(grouped(0, None)));
    refused.host.kept_memory = Some(LITTLE);
    refused.host.no_files = true;
    let error = refused.go(&mut txn).error();
    assert_eq!(error.state.as_str(), "53200");
    assert!(error.hint.is_some());
}
