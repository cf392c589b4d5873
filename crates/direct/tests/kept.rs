//! Joins whose rows do not fit into a statement's memory: they are kept in a file, and nothing else is different.
//!
//! Random plans with all rows in files: `plans.rs`, and `reference`'s agreement.

#![allow(clippy::unwrap_used)] // helpers of tests

mod support;

use quintet_base::{Level, SqlType, Value};
use quintet_ir::plan::JoinKind;
use quintet_ir::{Expr, Plan, Statement};
use std::sync::atomic::Ordering;
use support::*;

/// Enough that the smaller bound is passed, few enough for a debug build.
const ROWS: i32 = 4000;

/// Less than the rows of one side take, more than what finds them takes.
const SMALL: usize = 300_000;

fn series(stop: i32) -> Plan {
    Plan::Series {
        start: int(1),
        stop: int(stop),
        step: int(1),
        ty: SqlType::Int4,
    }
}

/// `number`, `number / 2` and a long text, behind an outer frame of this width.
fn wide(base: usize) -> Plan {
    let call = |name: &str, args: Vec<Expr>| {
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let found = quintet_ir::function::resolve(name, &types).unwrap();
        Expr::Call {
            function: found.function,
            args,
            ty: found.result,
        }
    };
    let half = call("/", vec![col(base), int(2)]);
    let text = call(
        "repeat",
        vec![constant(Value::text("some words ")), int(10)],
    );
    project(series(ROWS), vec![col(base), half, text])
}

/// Each number with those whose half it is.
fn halves(kind: JoinKind) -> Plan {
    Plan::Join {
        outer: Box::new(wide(0)),
        inner: Box::new(wide(3)),
        outer_width: 3,
        inner_width: 3,
        kind,
        on: Some(eq(col(0), col(4))),
    }
}

fn call(plan: Plan, memory: Option<usize>) -> (quintet_direct::Direct, Call) {
    let direct = engine();
    let mut call = Call::new(&direct, Statement::Query(plan));
    call.host.kept_memory = memory;
    (direct, call)
}

fn files(call: &Call) -> (usize, usize) {
    let files = &call.host.files;
    let count = |number: &std::sync::atomic::AtomicUsize| number.load(Ordering::Relaxed);
    (count(&files.made), count(&files.there))
}

#[test]
fn rows_from_a_file_are_those_from_memory_in_the_same_order() {
    for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Full] {
        let (direct, mut plenty) = call(halves(kind), None);
        let mut txn = direct.begin(Level::ReadCommitted);
        let expected = plenty.go(&mut txn).rows();
        assert_eq!(files(&plenty), (0, 0), "{kind:?}");
        assert!(expected.len() >= ROWS as usize - 1, "{kind:?}");
        let (direct, mut little) = call(halves(kind), Some(SMALL));
        let mut txn = direct.begin(Level::ReadCommitted);
        assert_eq!(little.go(&mut txn).rows(), expected, "{kind:?}");
        assert_eq!(files(&little).0, 1, "{kind:?}");
    }
}

/// Goal: a file is there as long as its statement. Method: statements that end before their joins do.
#[test]
fn files_are_given_back() {
    for plan in [halves(JoinKind::Left), halves(JoinKind::Full)] {
        let (direct, mut call) = call(limit(plan, 3), Some(SMALL));
        let mut txn = direct.begin(Level::ReadCommitted);
        assert_eq!(call.go(&mut txn).rows().len(), 3);
        // Its end is the end of its file, though who called it still has it.
        assert_eq!(files(&call), (1, 0));
        let host = std::mem::take(&mut call.host);
        drop(call);
        assert_eq!(host.files.there.load(Ordering::Relaxed), 0);
    }
}

/// Goal: where there is no file to be had, the statement is refused; it does not go on in another way.
#[test]
fn without_a_file_it_is_refused() {
    let (direct, mut call) = call(halves(JoinKind::Inner), Some(SMALL));
    call.host.no_files = true;
    let mut txn = direct.begin(Level::ReadCommitted);
    let error = call.go(&mut txn).error();
    assert_eq!(error.state.as_str(), "53200");
    assert!(error.hint.is_some());
}

#[test]
fn a_join_over_a_file_is_cancelled() {
    let (direct, mut call) = call(halves(JoinKind::Inner), Some(0));
    let mut txn = direct.begin(Level::ReadCommitted);
    call.cancel.store(true, Ordering::Release);
    assert_eq!(call.go(&mut txn).error().state.as_str(), "57014");
}
