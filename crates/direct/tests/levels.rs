//! Two transactions side by side: what each level lets through, and who waits for whom.

#![allow(clippy::unwrap_used)] // helpers of tests

mod support;

use quintet_base::{Level, SequenceId, SqlType, Value};
use quintet_direct::Direct;
use quintet_engine::history::{AnomalyKind, Operation, Recorder, check};
use quintet_ir::plan::LockWait;
use quintet_ir::schema::TableRef;
use quintet_ir::statement::{ConflictAction, OnConflict};
use quintet_ir::{CompareOp, Expr, Plan, Statement};
use quintet_tc::Txn;
use support::*;

fn filled() -> (Direct, TableRef) {
    let direct = engine();
    let t = pairs();
    exec(
        &direct,
        Statement::Insert(insert(&t, ints(&[&[1, 10], &[2, 20]]))),
    );
    (direct, t)
}

fn add_to(t: &TableRef, id: i32, amount: i32) -> Statement {
    Statement::Update(update(
        t,
        point(t, int(id)),
        vec![(1, add(col(1), int(amount)))],
    ))
}

/// Reads v of the row, then writes it as a constant: what a careless client does.
fn read_then_write(direct: &Direct, txn: &mut Txn, t: &TableRef, id: i32) -> Statement {
    let rows = query(direct, txn, point(t, int(id)));
    let Int4(v) = rows[0][1] else {
        panic!("{rows:?}")
    };
    Statement::Update(update(t, point(t, int(id)), vec![(1, int(v + 1))]))
}

#[test]
fn lost_update_happens_at_read_committed_only() {
    for level in Level::ALL {
        let (direct, t) = filled();
        let (mut a, mut b) = (direct.begin(level), direct.begin(level));
        let write_a = read_then_write(&direct, &mut a, &t, 1);
        let write_b = read_then_write(&direct, &mut b, &t, 1);
        assert_eq!(run(&direct, &mut a, write_a).count(), 1);
        commit(a).unwrap();
        let answer = run(&direct, &mut b, write_b);
        if level == Level::ReadCommitted {
            assert_eq!(answer.count(), 1);
            commit(b).unwrap();
        } else {
            let error = answer.error();
            assert_eq!(error.state.as_str(), "40001", "{level}");
            assert_eq!(
                error.message,
                "could not serialize access due to concurrent update"
            );
        }
        assert_eq!(contents(&direct, &t)[0], vec![Int4(1), Int4(11)], "{level}");
    }
}

#[test]
fn write_skew_is_refused_at_serializable_only() {
    for level in Level::ALL {
        let (direct, t) = filled();
        let (mut a, mut b) = (direct.begin(level), direct.begin(level));
        // Each reads both rows and changes one of them.
        for (txn, id) in [(&mut a, 1), (&mut b, 2)] {
            assert_eq!(query(&direct, txn, full(&t)).len(), 2);
            assert_eq!(run(&direct, txn, add_to(&t, id, -10)).count(), 1);
        }
        commit(a).unwrap();
        match (commit(b), level) {
            (Ok(()), Level::ReadCommitted | Level::Snapshot) => {}
            (Err(error), Level::Serializable) => {
                assert_eq!(error.state.as_str(), "40001");
                assert!(
                    error.message.contains("read/write dependencies"),
                    "{error:?}"
                );
            }
            (other, level) => panic!("{level}: {other:?}"),
        }
    }
}

#[test]
fn a_phantom_is_refused_at_serializable_only() {
    for level in Level::ALL {
        let (direct, t) = filled();
        let (mut a, mut b) = (direct.begin(level), direct.begin(level));
        // Each counts the rows above 15 and adds one: together they make the count wrong.
        let above = || filter(full(&t), compare(CompareOp::Gt, col(1), int(15)));
        for (txn, id) in [(&mut a, 3), (&mut b, 4)] {
            assert_eq!(query(&direct, txn, above()).len(), 1);
            let row = ints(&[&[id, 30]]);
            assert_eq!(
                run(&direct, txn, Statement::Insert(insert(&t, row))).count(),
                1
            );
        }
        commit(a).unwrap();
        let second = commit(b);
        assert_eq!(
            second.is_ok(),
            level < Level::Serializable,
            "{level}: {second:?}"
        );
        if let Err(error) = second {
            assert!(
                error.detail.as_ref().unwrap().contains("A range"),
                "the detail names the kind"
            );
        }
    }
}

#[test]
fn each_statement_at_read_committed_sees_what_was_committed_before_it() {
    for level in Level::ALL {
        let (direct, t) = filled();
        let mut reader = direct.begin(level);
        let v = |txn: &mut Txn| query(&direct, txn, point(&t, int(1)))[0][1].clone();
        assert_eq!(v(&mut reader), Int4(10));
        assert_eq!(exec(&direct, add_to(&t, 1, 5)).count(), 1);
        let again = v(&mut reader);
        let expected = if level == Level::ReadCommitted {
            15
        } else {
            10
        };
        assert_eq!(again, Int4(expected), "{level}");
    }
}

/// Ten writers of one row queue up. Each is served once, in order, without running anything again:
/// the statement of a waiter does its work only after the wait.
#[test]
fn writers_of_a_hot_row_wait_in_order_and_do_not_start_over() {
    let (direct, t) = filled();
    let mut first = direct.begin(Level::ReadCommitted);
    assert_eq!(run(&direct, &mut first, add_to(&t, 1, 1)).count(), 1);
    let mut queue: Vec<(Txn, Call)> = Vec::new();
    for _ in 0..10 {
        // The filter counts how often a row was looked at.
        let counted = compare(
            CompareOp::Gt,
            Expr::NextVal(SequenceId(1)),
            constant(Value::Int8(0)),
        );
        let source = filter(point(&t, int(1)), counted);
        let mut statement = update(&t, source, vec![(1, add(col(1), col(1)))]);
        statement.returning = Some(vec![col(1)]);
        let mut call = Call::new(&direct, Statement::Update(statement));
        let mut txn = direct.begin(Level::ReadCommitted);
        call.go(&mut txn).wait();
        queue.push((txn, call));
    }
    commit(first).unwrap();
    let mut expected = 11;
    for (place, (mut txn, mut call)) in queue.into_iter().enumerate() {
        expected *= 2;
        let before = txn.snapshot();
        assert_eq!(
            call.go(&mut txn).rows(),
            ints(&[&[expected]]),
            "place {place}"
        );
        assert_eq!(call.host.evaluations.get(), 1, "place {place} started over");
        assert!(
            txn.snapshot() > before,
            "it read what its predecessor committed"
        );
        commit(txn).unwrap();
    }
    assert_eq!(contents(&direct, &t)[0][1], Int4(11 * 1024));
}

#[test]
fn a_statement_that_finds_its_rows_by_a_scan_runs_again_when_one_of_them_changed() {
    let (direct, t) = filled();
    let mut a = direct.begin(Level::ReadCommitted);
    assert_eq!(run(&direct, &mut a, add_to(&t, 2, 100)).count(), 1);
    // B adds to all rows below 50; it blocks at row 2, which then no longer qualifies.
    let below = filter(full(&t), compare(CompareOp::Lt, col(1), int(50)));
    let mut call = Call::new(
        &direct,
        Statement::Update(update(&t, below, vec![(1, add(col(1), int(1)))])),
    );
    let mut b = direct.begin(Level::ReadCommitted);
    call.go(&mut b).wait();
    assert!(!b.has_writes(), "nothing of the blocked statement remains");
    commit(a).unwrap();
    assert_eq!(call.go(&mut b).count(), 1);
    commit(b).unwrap();
    assert_eq!(contents(&direct, &t), ints(&[&[1, 11], &[2, 120]]));
}

#[test]
fn inserters_of_one_key_wait_for_each_other_and_the_second_is_told() {
    for level in Level::ALL {
        for first_commits in [true, false] {
            let (direct, _) = filled();
            let t = table(200, "u", &[("id", SqlType::Int4), ("v", SqlType::Int4)])
                .key(&[0])
                .index("u_v_key", &[1], true)
                .done();
            let (mut a, mut b) = (direct.begin(level), direct.begin(level));
            // Different rows, the same value in the unique index.
            let mine = Statement::Insert(insert(&t, ints(&[&[1, 7]])));
            assert_eq!(run(&direct, &mut a, mine).count(), 1);
            let mut call = Call::new(&direct, Statement::Insert(insert(&t, ints(&[&[2, 7]]))));
            call.go(&mut b).wait();
            if first_commits {
                commit(a).unwrap();
                let error = call.go(&mut b).error();
                let state = if level == Level::ReadCommitted {
                    "23505"
                } else {
                    "40001"
                };
                assert_eq!(error.state.as_str(), state, "{level}: {error:?}");
            } else {
                drop(a);
                assert_eq!(call.go(&mut b).count(), 1);
                commit(b).unwrap();
                assert_eq!(contents(&direct, &t), ints(&[&[2, 7]]));
            }
        }
    }
}

#[test]
fn an_upsert_of_a_row_that_another_inserts_waits_and_updates_it() {
    let (direct, t) = filled();
    let (mut a, mut b) = (
        direct.begin(Level::ReadCommitted),
        direct.begin(Level::ReadCommitted),
    );
    let row = Statement::Insert(insert(&t, ints(&[&[5, 50]])));
    assert_eq!(run(&direct, &mut a, row).count(), 1);
    let mut upsert = insert(&t, ints(&[&[5, 1]]));
    upsert.conflict = Some(OnConflict {
        arbiter: None,
        action: ConflictAction::Update {
            assignments: vec![(1, add(col(1), col(3)))],
            filter: None,
        },
    });
    let mut call = Call::new(&direct, Statement::Insert(upsert));
    call.go(&mut b).wait();
    commit(a).unwrap();
    assert_eq!(call.go(&mut b).count(), 1);
    commit(b).unwrap();
    assert_eq!(contents(&direct, &t)[2], vec![Int4(5), Int4(51)]);
}

fn lock_all(t: &TableRef, wait: LockWait) -> Plan {
    for_update(full(t), t, wait)
}

#[test]
fn for_update_waits_refuses_or_skips() {
    let (direct, t) = filled();
    let mut a = direct.begin(Level::ReadCommitted);
    assert_eq!(
        query(
            &direct,
            &mut a,
            for_update(point(&t, int(1)), &t, LockWait::Block)
        )
        .len(),
        1
    );
    let mut b = direct.begin(Level::ReadCommitted);
    let refused = run(
        &direct,
        &mut b,
        Statement::Query(lock_all(&t, LockWait::Refuse)),
    );
    assert_eq!(
        refused.message(),
        "55P03 could not obtain lock on row in relation \"t\""
    );
    assert_eq!(
        query(&direct, &mut b, lock_all(&t, LockWait::Skip)),
        ints(&[&[2, 20]])
    );
    // LIMIT above the lock: only what is returned is locked, skipped rows do not count.
    let one = limit(lock_all(&t, LockWait::Skip), 1);
    assert_eq!(query(&direct, &mut b, one), ints(&[&[2, 20]]));
    let mut call = Call::new(&direct, Statement::Query(lock_all(&t, LockWait::Block)));
    call.go(&mut b).wait();
    assert_eq!(run(&direct, &mut a, add_to(&t, 1, 1)).count(), 1);
    commit(a).unwrap();
    assert_eq!(call.go(&mut b).rows(), ints(&[&[1, 11], &[2, 20]]));
    commit(b).unwrap();
    // Locks went with the transaction, and a row locked for update is safe from lost updates.
    let mut c = direct.begin(Level::ReadCommitted);
    assert_eq!(
        query(&direct, &mut c, lock_all(&t, LockWait::Refuse)).len(),
        2
    );
}

#[test]
fn a_deadlock_ends_for_one_of_two() {
    for level in Level::ALL {
        let (direct, t) = filled();
        let (mut a, mut b) = (direct.begin(level), direct.begin(level));
        assert_eq!(run(&direct, &mut a, add_to(&t, 1, 1)).count(), 1);
        assert_eq!(run(&direct, &mut b, add_to(&t, 2, 1)).count(), 1);
        let mut call = Call::new(&direct, add_to(&t, 2, 1));
        call.go(&mut a).wait();
        let error = run(&direct, &mut b, add_to(&t, 1, 1)).error();
        let state = if level == Level::ReadCommitted {
            "40P01"
        } else {
            "40001"
        };
        assert_eq!(error.state.as_str(), state, "{level}");
        drop(b);
        assert_eq!(call.go(&mut a).count(), 1);
        commit(a).unwrap();
    }
}

#[test]
fn a_delete_keeps_its_unique_value_until_it_commits() {
    let direct = engine();
    let t = table(200, "u", &[("id", SqlType::Int4), ("v", SqlType::Int4)])
        .key(&[0])
        .index("u_v_key", &[1], true)
        .done();
    exec(&direct, Statement::Insert(insert(&t, ints(&[&[1, 7]]))));
    let (mut a, mut b) = (
        direct.begin(Level::ReadCommitted),
        direct.begin(Level::ReadCommitted),
    );
    let gone = Statement::Delete(delete(&t, point(&t, int(1))));
    assert_eq!(run(&direct, &mut a, gone).count(), 1);
    let mut call = Call::new(&direct, Statement::Insert(insert(&t, ints(&[&[2, 7]]))));
    call.go(&mut b).wait();
    commit(a).unwrap();
    assert_eq!(call.go(&mut b).count(), 1);
    commit(b).unwrap();
    assert_eq!(contents(&direct, &t), ints(&[&[2, 7]]));
}

/// Threads append to lists at random; the checker is told what they saw. Lists are rows of
/// `(list, place, value)`: reading one is a range scan, appending a look at its end and an insert.
#[test]
fn concurrent_histories_fit_their_level() {
    for level in Level::ALL {
        let direct = engine();
        let columns = [("list", SqlType::Int4), ("value", SqlType::Text)];
        let t = table(300, "lists", &columns).key(&[0]).done();
        let recorder = Recorder::new();
        std::thread::scope(|scope| {
            for process in 0..4u32 {
                let (direct, t, recorder) = (direct.clone(), t.clone(), &recorder);
                scope.spawn(move || append_at_random(&direct, &t, level, process, recorder));
            }
        });
        let history = recorder.history();
        let report = check(&history);
        assert!(report.committed > 100, "{level}: {}", report.committed);
        assert!(report.fits(level), "{level}: {report}");
        let kinds = report.kinds();
        assert!(
            !kinds.contains(&AnomalyKind::StaleRead),
            "{level}: {report}"
        );
    }
}

fn append_at_random(
    direct: &Direct,
    t: &TableRef,
    level: Level,
    process: u32,
    recorder: &Recorder,
) {
    let mut rand = quintet_rt::Rand::seeded(u64::from(process) + 1);
    for number in 0..150u64 {
        let value = u64::from(process) * 1_000_000 + number * 10;
        let first = number / 10;
        let mut operations: Vec<Operation> = (0..1 + rand.below(3))
            .map(|step| match rand.below(2) {
                0 => Operation::Read {
                    list: first + rand.below(3),
                    values: None,
                },
                _ => Operation::Append {
                    list: first + rand.below(3),
                    value: value + step,
                },
            })
            .collect();
        recorder.invoke(process, operations.clone());
        let mut txn = direct.begin(level);
        let done = operations
            .iter_mut()
            .all(|operation| perform(direct, &mut txn, t, operation));
        if done && commit(txn).is_ok() {
            recorder.ok(process, operations);
        } else {
            recorder.fail(process);
        }
    }
}

/// One operation as one statement; false if the transaction must end.
fn perform(direct: &Direct, txn: &mut Txn, t: &TableRef, operation: &mut Operation) -> bool {
    match operation {
        Operation::Read { list, values } => {
            let rows = query(direct, txn, point(t, int(*list as i32)));
            let text = rows
                .first()
                .and_then(|row| row[1].as_str())
                .unwrap_or_default();
            *values = Some(
                text.split_terminator(',')
                    .map(|v| v.parse().unwrap())
                    .collect(),
            );
            true
        }
        Operation::Append { list, value } => {
            let column = Expr::Column(1, SqlType::Text);
            let text = constant(Value::text(format!("{value},")));
            let resolved =
                quintet_ir::function::resolve("||", &[SqlType::Text, SqlType::Text]).unwrap();
            let joined = Expr::Call {
                function: resolved.function,
                args: vec![column, text.clone()],
                ty: SqlType::Text,
            };
            let row = vec![Int4(*list as i32), Value::text(format!("{value},"))];
            let mut upsert = insert(t, vec![row]);
            upsert.conflict = Some(OnConflict {
                arbiter: None,
                action: ConflictAction::Update {
                    assignments: vec![(1, joined)],
                    filter: None,
                },
            });
            let mut call = Call::new(direct, Statement::Insert(upsert));
            loop {
                match call.go(txn) {
                    Answer::Done(..) => return true,
                    Answer::Blocked(wait) => wait.wait(),
                    Answer::Failed(error) => {
                        assert!(error.state.is_retryable(), "{error:?}");
                        return false;
                    }
                }
            }
        }
        other => panic!("{other:?}"),
    }
}
