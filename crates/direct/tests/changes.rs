//! Sequences, and the physical part of schema changes.

#![allow(clippy::unwrap_used)] // helpers of tests

mod support;

use quintet_base::{Level, SpaceId, SqlType, Value};
use quintet_direct::{Context, Direct, Stop};
use quintet_ir::ddl::Work;
use quintet_ir::schema::TableRef;
use quintet_ir::{CompareOp, Path, SequenceDef, Statement, TableDef};
use quintet_rt::Rand;
use quintet_tc::Txn;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use support::*;

fn work(direct: &Direct, txn: &mut Txn, work: &[Work]) -> Result<(), String> {
    let (host, cancel) = (TestHost::default(), AtomicBool::new(false));
    let mark = txn.begin_statement();
    let mut context = Context {
        txn,
        host: &host,
        params: &[],
        cancel: &cancel,
    };
    direct.work(&mut context, work).map_err(|stop| {
        context.txn.rollback_to(mark);
        match stop {
            Stop::Error(error) => format!(
                "{} {} | {}",
                error.state,
                error.message,
                error.detail.clone().unwrap_or_default()
            ),
            Stop::Blocked(_) => "blocked".to_string(),
            Stop::Commit => "commit".to_string(),
            Stop::Ask => "ask".to_string(),
        }
    })
}

/// In a transaction of its own.
fn change(direct: &Direct, items: &[Work]) -> Result<(), String> {
    let mut txn = direct.begin(Level::ReadCommitted);
    work(direct, &mut txn, items)?;
    commit(txn).map_err(|error| error.to_string())
}

fn take(direct: &Direct, sequence: &SequenceDef, count: usize) -> Vec<i64> {
    (0..count)
        .map(|_| direct.nextval(sequence).unwrap())
        .collect()
}

#[test]
fn sequences_count_cycle_and_end() {
    let direct = engine();
    let plain = sequence(1);
    assert_eq!(take(&direct, &plain, 100), (1..=100).collect::<Vec<_>>());
    let down = SequenceDef {
        increment: -2,
        start: -1,
        min: -5,
        max: -1,
        cycle: true,
        ..sequence(2)
    };
    assert_eq!(take(&direct, &down, 5), [-1, -3, -5, -1, -3]);
    let short = SequenceDef {
        start: 8,
        max: 10,
        ..sequence(3)
    };
    assert_eq!(take(&direct, &short, 3), [8, 9, 10]);
    let error = direct.nextval(&short).unwrap_err();
    assert_eq!(error.state.as_str(), "2200H");
    assert_eq!(
        error.message,
        "nextval: reached maximum value of sequence \"s\" (10)"
    );
}

#[test]
fn setval_restarts_and_keeps_to_the_bounds() {
    let direct = engine();
    let plain = sequence(1);
    take(&direct, &plain, 40);
    assert_eq!(direct.setval(&plain, 7, true).unwrap(), 7);
    assert_eq!(take(&direct, &plain, 2), [8, 9]);
    assert_eq!(direct.setval(&plain, 7, false).unwrap(), 7);
    assert_eq!(take(&direct, &plain, 2), [7, 8]);
    let error = direct.setval(&plain, 0, true).unwrap_err();
    assert_eq!(error.state.as_str(), "22003");
    // A changed definition does not give out what was reserved with the old one.
    let by_ten = SequenceDef {
        increment: 10,
        ..plain
    };
    let next = take(&direct, &by_ten, 2);
    assert!(next[0] > 8 && next[1] == next[0] + 10, "{next:?}");
}

/// The machine stops at random moments; what was given before is never given again.
#[test]
fn no_value_is_given_twice_over_a_power_loss() {
    for seed in 1..=20 {
        let mut rand = Rand::seeded(seed);
        let mut media = Media::new();
        let mut given = BTreeSet::new();
        let plain = sequence(1);
        for _ in 0..5 {
            let direct = media.open();
            for _ in 0..rand.below(100) {
                let value = direct.nextval(&plain).unwrap();
                assert!(given.insert(value), "seed {seed}: {value} again");
            }
            // Before the engine goes and flushes: what was not synced is lost in part.
            media = Media {
                disk: media.disk.crash(&mut rand),
                medium: media.medium,
            };
            drop(direct);
        }
    }
}

#[test]
fn threads_share_a_sequence_without_a_clash() {
    let direct = engine();
    let plain = sequence(1);
    let mut all: Vec<i64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| take(&direct, &plain, 500)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| {
                let values = thread.join().unwrap();
                assert!(values.is_sorted(), "each client sees growing values");
                values
            })
            .collect()
    });
    all.sort();
    assert_eq!(all, (1..=2000).collect::<Vec<_>>());
}

fn base_table() -> TableDef {
    table(100, "t", &[("id", SqlType::Int4), ("v", SqlType::Int4)]).key(&[0])
}

fn filled() -> (Direct, TableRef) {
    let direct = engine();
    let t = base_table().done();
    let rows = (0..300)
        .map(|i| vec![Int4(i), if i % 10 == 0 { Null } else { Int4(i / 2) }])
        .collect();
    exec(&direct, Statement::Insert(insert(&t, rows)));
    (direct, t)
}

#[test]
fn an_index_is_built_from_the_rows_and_a_unique_one_refuses_duplicates() {
    let (direct, _) = filled();
    let indexed = base_table().index("t_v", &[1], false).done();
    change(
        &direct,
        &[Work::BuildIndex {
            table: Arc::clone(&indexed),
            index: 0,
        }],
    )
    .unwrap();
    let path = Path::Index(0, vec![equal(vec![int(7)])]);
    let found = exec(&direct, Statement::Query(scan(&indexed, path))).rows();
    assert_eq!(found, ints(&[&[14, 7], &[15, 7]]));
    let unique = base_table().index("t_v_key", &[1], true).done();
    let refused = change(
        &direct,
        &[Work::BuildIndex {
            table: unique,
            index: 0,
        }],
    )
    .unwrap_err();
    assert_eq!(
        refused,
        "23505 could not create unique index \"t_v_key\" | Key (v)=(1) is duplicated."
    );
}

#[test]
fn a_rewrite_moves_all_rows_under_a_new_key_with_its_indexes() {
    let (direct, t) = filled();
    // id becomes text, the key goes to (v, id), NULLs become -1.
    let mut to = table(500, "t", &[("id", SqlType::Text), ("v", SqlType::Int4)])
        .key(&[1, 0])
        .index("t_id_key", &[0], true);
    to.revision = 2;
    let to = to.done();
    let as_text = quintet_ir::Expr::Cast {
        input: Box::new(col(0)),
        to: SqlType::Text,
        modifier: quintet_base::TypeMod::NONE,
        explicit: true,
    };
    let no_null = quintet_ir::Expr::Coalesce {
        args: vec![col(1), int(-1)],
        ty: SqlType::Int4,
    };
    let rewrite = Work::Rewrite {
        from: Arc::clone(&t),
        to: Arc::clone(&to),
        columns: vec![as_text, no_null],
        rows: None,
        fresh: true,
    };
    change(&direct, &[rewrite, Work::DropSpaces(vec![t.space])]).unwrap();
    assert_eq!(contents(&direct, &to).len(), 300);
    let one = Path::Index(0, vec![equal(vec![constant(Value::text("15"))])]);
    let found = exec(&direct, Statement::Query(scan(&to, one))).rows();
    assert_eq!(found, vec![vec![Value::text("15"), Int4(7)]]);
    let bad = table(600, "t", &[("v", SqlType::Int4)]).key(&[0]).done();
    let from_v = quintet_ir::Expr::Coalesce {
        args: vec![col(1), int(-1)],
        ty: SqlType::Int4,
    };
    let (direct, t) = filled();
    let rewrite = Work::Rewrite {
        from: t,
        to: bad,
        columns: vec![from_v],
        rows: None,
        fresh: true,
    };
    let refused = change(&direct, &[rewrite]).unwrap_err();
    assert_eq!(
        refused,
        "23505 could not create unique index \"t_pkey\" | Key (v)=(1) is duplicated."
    );
}

#[test]
fn verification_names_what_a_row_violates() {
    let (direct, _) = filled();
    let checked = base_table()
        .check("small", compare(CompareOp::Lt, col(1), int(100)))
        .check("all", compare(CompareOp::Lt, col(0), int(300)))
        .done();
    let verify = |not_null: Vec<usize>, checks: Vec<usize>| {
        change(
            &direct,
            &[Work::Verify {
                table: Arc::clone(&checked),
                not_null,
                checks,
            }],
        )
    };
    assert_eq!(verify(vec![0], vec![1]), Ok(()));
    let refused = verify(vec![0, 1], vec![]).unwrap_err();
    assert_eq!(
        refused,
        "23502 column \"v\" of relation \"t\" contains null values | "
    );
    let refused = verify(vec![], vec![1, 0]).unwrap_err();
    assert_eq!(
        refused,
        "23514 check constraint \"small\" of relation \"t\" is violated by some row | "
    );
}

#[test]
fn a_writer_planned_before_a_fence_is_refused() {
    let (direct, t) = filled();
    let mut writer = direct.begin(Level::ReadCommitted);
    writer.use_schema(direct.tc().visible());
    let row = insert(&t, ints(&[&[1000, 1]]));
    assert_eq!(run(&direct, &mut writer, Statement::Insert(row)).count(), 1);
    change(&direct, &[Work::Fence(vec![t.space, SpaceId(999)])]).unwrap();
    let error = commit(writer).unwrap_err();
    assert_eq!(error.state.as_str(), "40001");
    assert!(
        error.message.contains("table definition changed"),
        "{error:?}"
    );
}

#[test]
fn sequences_start_restart_and_go_with_schema_changes() {
    let direct = engine();
    let plain = sequence(1);
    // A new sequence can be used in the transaction that makes it.
    let mut txn = direct.begin(Level::ReadCommitted);
    let start = Work::StartSequence {
        sequence: plain.clone(),
        next: 1,
    };
    work(&direct, &mut txn, std::slice::from_ref(&start)).unwrap();
    assert_eq!(take(&direct, &plain, 2), [1, 2]);
    commit(txn).unwrap();
    assert_eq!(take(&direct, &plain, 1), [3]);
    change(
        &direct,
        &[Work::StartSequence {
            sequence: plain.clone(),
            next: 50,
        }],
    )
    .unwrap();
    assert_eq!(take(&direct, &plain, 1), [50]);
    change(&direct, &[Work::DropSequence(plain.id)]).unwrap();
    change(&direct, &[start]).unwrap();
    assert_eq!(take(&direct, &plain, 1), [1]);
}

/// A writer that commits while an index is built over its table waits for the change, and is then
/// refused; one that committed before is in the index. (Once the row was missing from it.)
#[test]
fn a_row_committed_while_an_index_is_built_is_not_lost_from_it() {
    for level in Level::ALL {
        let direct = engine();
        let t = base_table().done();
        let add_row = |id: i32| {
            let mut writer = direct.begin(Level::ReadCommitted);
            writer.use_schema(direct.tc().visible());
            let row = Statement::Insert(insert(&t, ints(&[&[id, 10 * id]])));
            assert_eq!(run(&direct, &mut writer, row).count(), 1);
            writer
        };
        let indexed = base_table().index("t_v", &[1], false).done();
        let mut change = direct.begin(level);
        change.begin_statement();
        commit(add_row(1)).unwrap();
        let build = [Work::BuildIndex {
            table: Arc::clone(&indexed),
            index: 0,
        }];
        let built = work(&direct, &mut change, &build);
        if level > Level::ReadCommitted {
            // The row is newer than the snapshot that the index would be built at.
            assert!(built.unwrap_err().starts_with("40001"), "{level}");
            continue;
        }
        built.unwrap();
        let mut late = add_row(2);
        match late.commit(quintet_base::Durability::Async) {
            Err(quintet_tc::Error::Blocked(_)) => {}
            other => panic!("not blocked: {other:?}"),
        }
        commit(change).unwrap();
        assert_eq!(commit(late).unwrap_err().state.as_str(), "40001");
        let by_index = Path::Index(0, vec![quintet_ir::KeyRange::default()]);
        let found = exec(&direct, Statement::Query(scan(&indexed, by_index))).rows();
        assert_eq!(found, ints(&[&[1, 10]]));
        assert_eq!(contents(&direct, &indexed), found);
    }
}
