//! What single statements do: rows, counts, constraint errors.

mod support;

use quintet_base::{Level, SqlType};
use quintet_ir::statement::{Arbiter, ConflictAction, OnConflict};
use quintet_ir::{CompareOp, Statement};
use support::*;

#[test]
fn rows_are_inserted_found_changed_and_removed() {
    let direct = engine();
    let t = pairs();
    let rows = ints(&[&[3, 30], &[1, 10], &[2, 20]]);
    assert_eq!(
        exec(&direct, Statement::Insert(insert(&t, rows))).count(),
        3
    );
    assert_eq!(contents(&direct, &t), ints(&[&[1, 10], &[2, 20], &[3, 30]]));
    let found = exec(
        &direct,
        Statement::Query(project(point(&t, int(2)), vec![col(1)])),
    );
    assert_eq!(found.rows(), ints(&[&[20]]));
    let change = update(&t, point(&t, int(2)), vec![(1, add(col(1), int(5)))]);
    assert_eq!(exec(&direct, Statement::Update(change)).count(), 1);
    let remove = delete(
        &t,
        filter(full(&t), compare(CompareOp::Gt, col(1), int(26))),
    );
    assert_eq!(exec(&direct, Statement::Delete(remove)).count(), 1);
    assert_eq!(contents(&direct, &t), ints(&[&[1, 10], &[2, 25]]));
}

#[test]
fn returning_gives_new_rows_for_insert_and_update_and_old_ones_for_delete() {
    let direct = engine();
    let t = pairs();
    let mut statement = insert(&t, ints(&[&[1, 10]]));
    statement.returning = Some(vec![add(col(0), col(1))]);
    assert_eq!(
        exec(&direct, Statement::Insert(statement)).rows(),
        ints(&[&[11]])
    );
    let mut statement = update(&t, full(&t), vec![(1, int(7))]);
    statement.returning = Some(vec![col(1), col(0)]);
    assert_eq!(
        exec(&direct, Statement::Update(statement)).rows(),
        ints(&[&[7, 1]])
    );
    let mut statement = delete(&t, full(&t));
    statement.returning = Some(vec![col(1)]);
    assert_eq!(
        exec(&direct, Statement::Delete(statement)).rows(),
        ints(&[&[7]])
    );
}

#[test]
fn constraints_refuse_with_the_words_of_postgresql_and_leave_nothing() {
    let direct = engine();
    let t = table(
        100,
        "t",
        &[
            ("id", SqlType::Int4),
            ("a", SqlType::Int4),
            ("b", SqlType::Int4),
        ],
    )
    .key(&[0])
    .index("t_a_b_key", &[1, 2], true)
    .check("t_b_check", compare(CompareOp::Gt, col(2), int(0)))
    .done();
    let try_rows = |rows: &[&[i32]]| exec(&direct, Statement::Insert(insert(&t, ints(rows))));
    assert_eq!(try_rows(&[&[1, 1, 1]]).count(), 1);
    assert_eq!(
        try_rows(&[&[2, 2, 2], &[1, 5, 5]]).message(),
        "23505 duplicate key value violates unique constraint \"t_pkey\" | Key (id)=(1) already exists."
    );
    assert_eq!(
        try_rows(&[&[2, 1, 1]]).message(),
        "23505 duplicate key value violates unique constraint \"t_a_b_key\" | Key (a, b)=(1, 1) already exists."
    );
    assert_eq!(
        try_rows(&[&[2, 1, 0]]).message(),
        "23514 new row for relation \"t\" violates check constraint \"t_b_check\" | Failing row contains (2, 1, 0)."
    );
    let null = insert(&t, vec![vec![Null, Int4(1), Int4(2)]]);
    let error = exec(&direct, Statement::Insert(null)).error();
    assert_eq!(
        error.message,
        "null value in column \"id\" of relation \"t\" violates not-null constraint"
    );
    assert_eq!(
        error.detail.as_deref(),
        Some("Failing row contains (null, 1, 2).")
    );
    assert_eq!(error.object.as_ref().unwrap().column.as_deref(), Some("id"));
    assert_eq!(contents(&direct, &t), ints(&[&[1, 1, 1]]));
    // NULLs do not clash in a unique index.
    for id in [4, 5] {
        let row = vec![vec![Int4(id), Int4(9), Null]];
        assert_eq!(exec(&direct, Statement::Insert(insert(&t, row))).count(), 1);
    }
}

#[test]
fn on_conflict_does_nothing_or_updates_and_refuses_to_touch_a_row_twice() {
    let direct = engine();
    let t = pairs();
    exec(&direct, Statement::Insert(insert(&t, ints(&[&[1, 10]]))));
    let mut statement = insert(&t, ints(&[&[1, 11], &[2, 20], &[2, 21]]));
    statement.conflict = Some(OnConflict {
        arbiter: None,
        action: ConflictAction::Nothing,
    });
    assert_eq!(exec(&direct, Statement::Insert(statement)).count(), 1);
    assert_eq!(contents(&direct, &t), ints(&[&[1, 10], &[2, 20]]));

    let upsert = |rows: &[&[i32]]| {
        let mut statement = insert(&t, ints(rows));
        statement.conflict = Some(OnConflict {
            arbiter: Some(Arbiter::Primary),
            // v = t.v + excluded.v where excluded.v <> 99
            action: ConflictAction::Update {
                assignments: vec![(1, add(col(1), col(3)))],
                filter: Some(compare(CompareOp::Ne, col(3), int(99))),
            },
        });
        statement.returning = Some(vec![col(0), col(1)]);
        exec(&direct, Statement::Insert(statement))
    };
    assert_eq!(
        upsert(&[&[1, 5], &[3, 30], &[2, 99]]).rows(),
        ints(&[&[1, 15], &[3, 30]])
    );
    let twice = upsert(&[&[4, 1], &[4, 2]]).error();
    assert_eq!(twice.state.as_str(), "21000");
    assert_eq!(contents(&direct, &t), ints(&[&[1, 15], &[2, 20], &[3, 30]]));
}

#[test]
fn rows_of_one_update_may_exchange_their_keys() {
    let direct = engine();
    let t = table(100, "t", &[("id", SqlType::Int4), ("v", SqlType::Int4)])
        .key(&[0])
        .index("t_v_key", &[1], true)
        .done();
    exec(
        &direct,
        Statement::Insert(insert(&t, ints(&[&[1, 1], &[2, 2], &[3, 3]]))),
    );
    let shift = update(
        &t,
        full(&t),
        vec![(0, add(col(0), int(1))), (1, add(col(1), int(1)))],
    );
    assert_eq!(exec(&direct, Statement::Update(shift)).count(), 3);
    assert_eq!(contents(&direct, &t), ints(&[&[2, 2], &[3, 3], &[4, 4]]));
    let merge = update(&t, full(&t), vec![(1, int(7))]);
    assert_eq!(
        exec(&direct, Statement::Update(merge))
            .error()
            .state
            .as_str(),
        "23505"
    );
    assert_eq!(contents(&direct, &t), ints(&[&[2, 2], &[3, 3], &[4, 4]]));
}

#[test]
fn a_failed_statement_leaves_the_transactions_earlier_writes() {
    let direct = engine();
    let t = pairs();
    let mut txn = direct.begin(Level::ReadCommitted);
    assert_eq!(
        run(
            &direct,
            &mut txn,
            Statement::Insert(insert(&t, ints(&[&[1, 1]])))
        )
        .count(),
        1
    );
    let bad = Statement::Insert(insert(&t, ints(&[&[2, 2], &[1, 9]])));
    assert_eq!(run(&direct, &mut txn, bad).error().state.as_str(), "23505");
    assert_eq!(query(&direct, &mut txn, full(&t)), ints(&[&[1, 1]]));
    commit(txn).unwrap();
    assert_eq!(contents(&direct, &t), ints(&[&[1, 1]]));
}

#[test]
fn rows_without_a_key_get_ids_that_are_not_given_again_after_a_restart() {
    let media = Media::new();
    let t = table(100, "t", &[("v", SqlType::Int4)]).done();
    for _ in 0..3 {
        let direct = media.open();
        exec(&direct, Statement::Insert(insert(&t, ints(&[&[7], &[7]]))));
        direct.tc().compact().unwrap();
    }
    let direct = media.open();
    let rows = contents(&direct, &t);
    assert_eq!(rows.len(), 6);
    let mut ids: Vec<i64> = rows.iter().map(|row| row[1].as_i64().unwrap()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 6);
    // INSERT … SELECT from itself ends.
    let mut double = insert(&t, vec![]);
    double.source = full(&t);
    assert_eq!(exec(&direct, Statement::Insert(double)).count(), 6);
}
