//! Bounds and interruptions: memory, cancellation, long keys, small differences of types.

#![allow(clippy::unwrap_used)] // helpers of tests

mod support;

use quintet_base::{Level, Numeric, SqlType, Value};
use quintet_ir::plan::{JoinKind, KeyBound, Turns};
use quintet_ir::{Expr, KeyRange, Path, Plan, Statement};
use std::sync::atomic::Ordering;
use support::*;

fn series(stop: i32) -> Plan {
    Plan::Series {
        start: int(1),
        stop: int(stop),
        step: int(1),
        ty: SqlType::Int4,
    }
}

#[test]
fn a_cancelled_statement_ends_with_57014_and_clears_the_request() {
    let direct = engine();
    let mut txn = direct.begin(Level::ReadCommitted);
    let endless = Plan::Aggregate {
        input: Box::new(series(i32::MAX)),
        keys: vec![],
        calls: vec![],
        sets: vec![],
    };
    let mut call = Call::new(&direct, Statement::Query(endless));
    call.cancel.store(true, Ordering::Release);
    assert_eq!(call.go(&mut txn).error().state.as_str(), "57014");
    assert!(!call.cancel.load(Ordering::Acquire));
    assert_eq!(
        call.go(&mut txn).count(),
        0,
        "a failed run stays at its end"
    );
    // A statement that writes leaves nothing.
    let t = pairs();
    let mut many = insert(&t, vec![]);
    many.source = series(i32::MAX);
    many.values = vec![col(0), col(0)];
    let mut call = Call::new(&direct, Statement::Insert(many));
    call.cancel.store(true, Ordering::Release);
    assert_eq!(call.go(&mut txn).error().state.as_str(), "57014");
    assert!(!txn.has_writes());
}

/// Rows that come again and again: one by one, or twice as many each turn.
fn recursion(step: impl Fn(Plan) -> Plan) -> Statement {
    let given = Plan::Given {
        number: 1,
        types: vec![SqlType::Int4],
        turning: true,
    };
    let rows = Plan::With {
        number: 1,
        first: Box::new(series(1)),
        then: Box::new(step(given)),
        turns: Turns::UntilNothing,
    };
    Statement::Query(Plan::Aggregate {
        input: Box::new(rows),
        keys: vec![],
        calls: vec![],
        sets: vec![],
    })
}

#[test]
fn a_recursion_without_end_is_cancelled_and_one_that_grows_is_refused() {
    let direct = engine();
    let mut txn = direct.begin(Level::ReadCommitted);
    let mut call = Call::new(&direct, recursion(|given| given));
    call.cancel.store(true, Ordering::Release);
    assert_eq!(call.go(&mut txn).error().state.as_str(), "57014");
    let twice = |given: Plan| Plan::Append {
        inputs: vec![given.clone(), given],
    };
    let error = exec(&direct, recursion(twice)).error();
    assert_eq!(error.state.as_str(), "53200");
}

/// Goal: a join whose rows meet nothing looks at the time all the same. Method: all pairs of two lists look for a row of a third
/// one, and there is none for any of them.
#[test]
fn pairs_that_meet_nothing_end_when_the_time_is_over() {
    let direct = engine();
    let mut txn = direct.begin(Level::ReadCommitted);
    let list = |from: i32, to: i32| values((from..to).map(|n| vec![Value::Int4(n)]).collect());
    let pairs = join(list(0, 400), list(0, 400), (1, 1), JoinKind::Inner, None);
    let on = eq(add(col(0), col(1)), col(2));
    let none = join(pairs, list(5000, 5002), (2, 1), JoinKind::Inner, Some(on));
    let mut call = Call::new(&direct, Statement::Query(none.clone()));
    assert_eq!(call.go(&mut txn).count(), 0);
    let mut call = Call::new(&direct, Statement::Query(none));
    call.host.looks_left.set(Some(100));
    assert_eq!(call.go(&mut txn).error().state.as_str(), "57014");
}

/// Goal: a sort of which a few rows are wanted keeps few. Method: room for three thousand of a hundred thousand rows,
/// and no files.
#[test]
fn a_bounded_sort_needs_little_memory() {
    let direct = engine();
    let wide = project(
        series(100_000),
        vec![col(0), constant(Value::text("x".repeat(1000)))],
    );
    let sort = Plan::Sort {
        input: Box::new(wide),
        keys: vec![sort_key(0)],
        top: Some(Box::new(constant(Value::Int8(3)))),
    };
    let mut call = Call::new(&direct, Statement::Query(limit(sort, 2)));
    call.host.kept_memory = Some(3 << 20);
    call.host.no_files = true;
    let mut txn = direct.begin(Level::ReadCommitted);
    assert_eq!(call.go(&mut txn).rows().len(), 2);
}

#[test]
fn a_key_too_long_for_the_stores_is_refused() {
    let direct = engine();
    let t = table(100, "t", &[("id", SqlType::Text), ("v", SqlType::Text)])
        .key(&[0])
        .index("t_v", &[1], false)
        .done();
    let long = Value::text("x".repeat(10_000));
    let as_key = insert(&t, vec![vec![long.clone(), Null]]);
    let message = exec(&direct, Statement::Insert(as_key)).message();
    assert!(
        message.starts_with("54000") && message.contains("\"t_pkey\""),
        "{message}"
    );
    let as_entry = insert(&t, vec![vec![Value::text("a"), long]]);
    let message = exec(&direct, Statement::Insert(as_entry)).message();
    assert!(
        message.starts_with("54000") && message.contains("\"t_v\""),
        "{message}"
    );
    assert_eq!(contents(&direct, &t).len(), 0);
}

#[test]
fn blank_padded_and_rescaled_values_meet_in_keys() {
    let direct = engine();
    let t = table(100, "t", &[("c", SqlType::Bpchar), ("n", SqlType::Numeric)])
        .key(&[0])
        .index("t_n_key", &[1], true)
        .done();
    let number = |text: &str| Value::numeric(Numeric::parse(text).unwrap());
    let row = vec![Value::text("ab   "), number("1.50")];
    assert_eq!(
        exec(&direct, Statement::Insert(insert(&t, vec![row.clone()]))).count(),
        1
    );
    let by_c = Expr::Const(Value::text("ab"), SqlType::Bpchar);
    let found = exec(&direct, Statement::Query(point(&t, by_c))).rows();
    assert_eq!(found, vec![row]);
    let by_n = Path::Index(0, vec![equal(vec![constant(number("1.5"))])]);
    assert_eq!(
        exec(&direct, Statement::Query(scan(&t, by_n))).rows().len(),
        1
    );
    let clash = insert(&t, vec![vec![Value::text("other"), number("1.500")]]);
    let message = exec(&direct, Statement::Insert(clash)).message();
    assert!(
        message.contains("Key (n)=(1.500) already exists."),
        "{message}"
    );
}

#[test]
fn comparisons_in_an_index_range_never_reach_the_nulls() {
    let direct = engine();
    let t = table(100, "t", &[("id", SqlType::Int4), ("v", SqlType::Int4)])
        .key(&[0])
        .index("t_v", &[1], false)
        .done();
    let rows = vec![
        vec![Int4(1), Int4(5)],
        vec![Int4(2), Null],
        vec![Int4(3), Int4(i32::MAX)],
    ];
    exec(&direct, Statement::Insert(insert(&t, rows)));
    let bound = |value: i32, inclusive| {
        Some(KeyBound {
            value: int(value),
            inclusive,
        })
    };
    let null = Some(KeyBound {
        value: Expr::null(SqlType::Int4),
        inclusive: true,
    });
    for (lower, upper, expected) in [
        (bound(4, false), None, vec![1, 3]),
        (bound(5, false), None, vec![3]),
        (bound(5, true), None, vec![1, 3]),
        (None, bound(i32::MAX, true), vec![1, 3]),
        (None, bound(i32::MAX, false), vec![1]),
        (bound(i32::MAX, false), None, vec![]),
        (null.clone(), None, vec![]),
        (None, null, vec![]),
        (None, None, vec![1, 3, 2]),
    ] {
        let range = KeyRange {
            equal: vec![],
            lower,
            upper,
        };
        let text = format!("{range:?}");
        let plan = project(scan(&t, Path::Index(0, vec![range])), vec![col(0)]);
        let expected: Vec<Vec<Value>> = expected.into_iter().map(|id| vec![Int4(id)]).collect();
        assert_eq!(
            exec(&direct, Statement::Query(plan)).rows(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn rows_older_than_a_column_read_its_missing_value() {
    let direct = engine();
    let old = pairs();
    exec(&direct, Statement::Insert(insert(&old, ints(&[&[1, 10]]))));
    let columns = [
        ("id", SqlType::Int4),
        ("v", SqlType::Int4),
        ("w", SqlType::Int4),
    ];
    let mut new = table(100, "t", &columns).key(&[0]);
    new.columns[2].missing = Some(Int4(7));
    let new = new.done();
    assert_eq!(contents(&direct, &new), ints(&[&[1, 10, 7]]));
    let change = update(&new, point(&new, int(1)), vec![(1, int(11))]);
    assert_eq!(exec(&direct, Statement::Update(change)).count(), 1);
    exec(
        &direct,
        Statement::Insert(insert(&new, vec![vec![Int4(2), Int4(20), Null]])),
    );
    let expected = vec![
        ints(&[&[1, 11, 7]])[0].clone(),
        vec![Int4(2), Int4(20), Null],
    ];
    assert_eq!(contents(&direct, &new), expected);
}

#[test]
fn an_update_keeps_columns_that_its_source_does_not_read() {
    let direct = engine();
    let t = table(
        100,
        "t",
        &[
            ("id", SqlType::Int4),
            ("v", SqlType::Int4),
            ("w", SqlType::Int4),
        ],
    )
    .key(&[0])
    .index("t_w", &[2], false)
    .done();
    exec(
        &direct,
        Statement::Insert(insert(&t, ints(&[&[1, 10, 100]]))),
    );
    let mut source = access(&t, Path::Full);
    source.needed = Some(vec![true, true, false]);
    let change = update(&t, Plan::Scan(source), vec![(1, add(col(1), int(1)))]);
    assert_eq!(exec(&direct, Statement::Update(change)).count(), 1);
    assert_eq!(contents(&direct, &t), ints(&[&[1, 11, 100]]));
    let mut source = access(&t, Path::Full);
    source.needed = Some(vec![true, false, false]);
    let gone = delete(&t, Plan::Scan(source));
    assert_eq!(exec(&direct, Statement::Delete(gone)).count(), 1);
    let entries = scan(&t, Path::Index(0, vec![KeyRange::default()]));
    assert_eq!(exec(&direct, Statement::Query(entries)).rows().len(), 0);
}

#[test]
fn a_cursor_goes_on_over_rows_that_its_transaction_has_removed() {
    let direct = engine();
    let t = table(100, "t", &[("id", SqlType::Int4), ("v", SqlType::Int4)])
        .key(&[0])
        .index("t_v", &[1], false)
        .done();
    let rows = (0..500).map(|i| vec![Int4(i), Int4(i)]).collect();
    exec(&direct, Statement::Insert(insert(&t, rows)));
    let mut txn = direct.begin(Level::ReadCommitted);
    let host = TestHost::default();
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let by_index = scan(&t, Path::Index(0, vec![KeyRange::default()]));
    let mut cursor = quintet_direct::Run::new(&direct, procedure(Statement::Query(by_index)));
    let mut seen = 0;
    loop {
        let mut context = quintet_direct::Context {
            txn: &mut txn,
            host: &host,
            params: &[],
            cancel: &cancel,
        };
        match cursor.next(&mut context) {
            Ok(Some(_)) => seen += 1,
            Ok(None) => break,
            Err(stop) => panic!("{stop:?}"),
        }
        if seen == 10 {
            let above = filter(
                full(&t),
                compare(quintet_ir::CompareOp::Ge, col(0), int(100)),
            );
            let gone = Statement::Delete(delete(&t, above));
            assert_eq!(run(&direct, &mut txn, gone).count(), 400);
        }
    }
    assert!((100..=500).contains(&seen), "{seen}");
}

#[test]
fn rows_inserted_one_by_one_are_atomic_and_see_keys_committed_meanwhile() {
    let t = pairs();
    let mut with_source = insert(&t, vec![]);
    with_source.source = Plan::Values {
        rows: vec![vec![param(0), param(1)]],
        types: vec![SqlType::Int4; 2],
    };
    let mut of_parameters = insert(&t, vec![vec![]]);
    of_parameters.source = Plan::Values {
        rows: vec![vec![]],
        types: vec![],
    };
    of_parameters.values = vec![param(0), param(1)];
    for statement in [with_source, of_parameters] {
        let direct = engine();
        let procedure = procedure(Statement::Insert(statement));
        let mut inserter = quintet_direct::RowInserter::new(procedure).unwrap();
        let mut txn = direct.begin(Level::ReadCommitted);
        txn.begin_statement();
        let host = TestHost::default();
        let cancel = std::sync::atomic::AtomicBool::new(false);
        let mut give = |txn: &mut quintet_tc::Txn, values: &mut [Value]| {
            let mut context = quintet_direct::Context {
                txn,
                host: &host,
                params: &[],
                cancel: &cancel,
            };
            inserter.insert_row(&direct, &mut context, values)
        };
        assert!(give(&mut txn, &mut [Int4(1), Int4(10)]).is_ok());
        // Another commits row 2 and removes it again, and commits row 3.
        exec(
            &direct,
            Statement::Insert(insert(&t, ints(&[&[2, 0], &[3, 0]]))),
        );
        exec(&direct, Statement::Delete(delete(&t, point(&t, int(2)))));
        assert!(give(&mut txn, &mut [Int4(2), Int4(20)]).is_ok());
        match give(&mut txn, &mut [Int4(3), Int4(30)]) {
            Err(quintet_direct::Stop::Error(error)) => assert_eq!(error.state.as_str(), "23505"),
            other => panic!("{other:?}"),
        }
        // A row that is refused is not what the next one is.
        assert!(give(&mut txn, &mut [Int4(4), Int4(40)]).is_ok());
        // One that waits goes on as it was made.
        let mut holder = direct.begin(Level::ReadCommitted);
        run(
            &direct,
            &mut holder,
            Statement::Insert(insert(&t, ints(&[&[5, 0]]))),
        );
        let mut waiting = [Int4(5), Int4(50)];
        match give(&mut txn, &mut waiting) {
            Err(quintet_direct::Stop::Blocked(_)) => {}
            other => panic!("{other:?}"),
        }
        drop(holder);
        assert!(give(&mut txn, &mut waiting).is_ok());
        assert!(give(&mut txn, &mut [Int4(6), Int4(60)]).is_ok());
        commit(txn).unwrap();
        let all = [[1, 10], [2, 20], [3, 0], [4, 40], [5, 50], [6, 60]];
        let all: Vec<&[i32]> = all.iter().map(|row| &row[..]).collect();
        assert_eq!(contents(&direct, &t), ints(&all));
    }
}
