//! What a session promises: PostgreSQL's rules for transactions, statements, schema changes, and that
//! what was acknowledged is there after reopening.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{SqlError, SqlState, Value};
use quintet_embed::{
    Client, Database, DatabaseConfig, Flow, Progress, RowSink, Session, Step, TransactionStatus,
};
use quintet_ir::statement::OutputColumn;
use quintet_rt::{Clock, RealClock, threads};
use quintet_sql::command::CopyFormat;
use support::{finish, open, reopen, rows, state, tag, until_it_waits};

#[test]
fn rows_come_back_as_written_and_survive_reopening() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create table t (id int primary key, name text not null, amount numeric(10,2), at timestamptz)").unwrap();
    assert_eq!(
        tag(
            &mut c,
            "insert into t values (1, 'one', 1.5, '2024-01-02 03:04:05+00'), (2, 'two', null, null)"
        ),
        "INSERT 0 2"
    );
    assert_eq!(
        tag(
            &mut c,
            "update t set amount = coalesce(amount, 0) + 1 where id = 2"
        ),
        "UPDATE 1"
    );
    let all = ["1|one|1.50|2024-01-02 03:04:05+00", "2|two|1.00|-"];
    assert_eq!(rows(&mut c, "select * from t order by id"), all);
    drop(c);
    db.close().unwrap();
    drop(db);
    let (db, report) = Database::open(DatabaseConfig::new(dir.path())).unwrap();
    assert!(!report.created);
    let mut c = db.client().unwrap();
    assert_eq!(rows(&mut c, "select * from t order by id"), all);
    assert_eq!(tag(&mut c, "delete from t where id = 1"), "DELETE 1");
    db.compact().unwrap();
    assert_eq!(rows(&mut c, "select id from t"), ["2"]);
}

#[test]
fn a_second_process_is_refused_politely() {
    let (dir, _db) = open();
    let refused = Database::open(DatabaseConfig::new(dir.path()));
    assert!(matches!(refused, Err(quintet_embed::Error::InUse(_))));
}

#[test]
fn an_error_fails_the_block_until_it_ends_and_savepoints_bring_it_back() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create table t (id int primary key)").unwrap();
    c.query("begin; insert into t values (1)").unwrap();
    assert_eq!(
        state(&mut c, "insert into t values (1)"),
        SqlState::UNIQUE_VIOLATION
    );
    assert_eq!(c.session().status(), TransactionStatus::Failed);
    assert_eq!(
        state(&mut c, "select 1"),
        SqlState::IN_FAILED_SQL_TRANSACTION
    );
    assert_eq!(tag(&mut c, "commit"), "ROLLBACK");
    assert!(rows(&mut c, "select * from t").is_empty());

    c.query("begin; insert into t values (1); savepoint s; insert into t values (2)")
        .unwrap();
    assert_eq!(state(&mut c, "select nonsense"), SqlState::UNDEFINED_COLUMN);
    c.query("rollback to s").unwrap();
    c.query("insert into t values (3)").unwrap();
    assert_eq!(tag(&mut c, "commit"), "COMMIT");
    assert_eq!(rows(&mut c, "select * from t order by 1"), ["1", "3"]);
    assert_eq!(
        state(&mut c, "savepoint s"),
        SqlState::NO_ACTIVE_SQL_TRANSACTION
    );
}

#[test]
fn several_statements_in_one_string_are_one_transaction() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create table t (id int primary key)").unwrap();
    assert_eq!(
        state(&mut c, "insert into t values (1); insert into t values (1)"),
        SqlState::UNIQUE_VIOLATION
    );
    assert!(rows(&mut c, "select * from t").is_empty());
    c.query("insert into t values (1); begin; insert into t values (2); commit")
        .unwrap();
    assert_eq!(rows(&mut c, "select * from t order by id"), ["1", "2"]);
}

#[test]
fn constraints_are_checked_and_name_themselves() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create table t (id int primary key, a int not null, b int unique, check (a > 0))")
        .unwrap();
    c.query("insert into t values (1, 1, 1)").unwrap();
    assert_eq!(
        state(&mut c, "insert into t values (2, null, 2)"),
        SqlState::NOT_NULL_VIOLATION
    );
    assert_eq!(
        state(&mut c, "insert into t values (2, 0, 2)"),
        SqlState::CHECK_VIOLATION
    );
    let error = c.query("insert into t values (2, 1, 1)").unwrap_err();
    assert_eq!(error.state, SqlState::UNIQUE_VIOLATION);
    assert_eq!(
        error.object.as_ref().unwrap().constraint.as_deref(),
        Some("t_b_key")
    );
    c.query("insert into t values (2, 1, null), (3, 1, null)")
        .unwrap();
    assert_eq!(
        rows(
            &mut c,
            "insert into t values (1, 5, 9) on conflict (id) do update set a = excluded.a + t.a returning id, a"
        ),
        ["1|6"]
    );
    assert_eq!(
        tag(
            &mut c,
            "insert into t values (1, 5, 9) on conflict do nothing"
        ),
        "INSERT 0 0"
    );
}

#[test]
fn schema_changes_are_transactional() {
    let (_dir, db) = open();
    let (mut c, mut d) = (db.client().unwrap(), db.client().unwrap());
    c.query("begin; create table t (id int primary key); insert into t values (1)")
        .unwrap();
    assert_eq!(rows(&mut c, "select * from t"), ["1"]);
    assert_eq!(state(&mut d, "select * from t"), SqlState::UNDEFINED_TABLE);
    c.query("rollback").unwrap();
    assert_eq!(state(&mut c, "select * from t"), SqlState::UNDEFINED_TABLE);
    c.query(
        "begin; create table t (id int primary key, a int); insert into t values (1, 10); commit",
    )
    .unwrap();
    assert_eq!(rows(&mut d, "select * from t"), ["1|10"]);
    c.query("alter table t add column b text default 'x'")
        .unwrap();
    assert_eq!(rows(&mut d, "select * from t"), ["1|10|x"]);
    // The same text again, with its plan kept from before.
    assert_eq!(rows(&mut d, "select * from t where id = 1"), ["1|10|x"]);
    c.query("alter table t add column c int").unwrap();
    assert_eq!(rows(&mut d, "select * from t where id = 1"), ["1|10|x|-"]);
    c.query("create index t_a on t (a)").unwrap();
    assert_eq!(rows(&mut d, "select id from t where a = 10"), ["1"]);
    c.query("drop table t").unwrap();
    assert_eq!(state(&mut d, "select * from t"), SqlState::UNDEFINED_TABLE);
}

/// The way pgbench loads: rows first, then the key.
#[test]
fn a_primary_key_added_later_keeps_every_row_and_refuses_duplicates() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create table t (id int not null, v int)").unwrap();
    c.query("insert into t select n, n * 2 from generate_series(1, 1000) as n")
        .unwrap();
    c.query("alter table t add primary key (id)").unwrap();
    assert_eq!(rows(&mut c, "select v from t where id = 500"), ["1000"]);
    assert_eq!(
        rows(&mut c, "select count(*), sum(v) from t"),
        ["1000|1001000"]
    );
    assert_eq!(
        state(&mut c, "insert into t values (500, 0)"),
        SqlState::UNIQUE_VIOLATION
    );
    c.query("truncate t").unwrap();
    assert_eq!(rows(&mut c, "select count(*) from t"), ["0"]);
}

#[test]
fn a_schema_change_waits_for_the_one_before_it_and_plans_again() {
    let (_dir, db) = open();
    let (mut c, mut d) = (db.client().unwrap(), db.client().unwrap());
    c.query("begin; create table t (id int primary key)")
        .unwrap();
    let Progress::Waiting(pause) = d.start("create table if not exists t (other int)").unwrap()
    else {
        panic!("must take turns");
    };
    c.query("commit").unwrap();
    pause.wait();
    finish(&mut d);
    assert_eq!(
        rows(
            &mut d,
            "select column_name from information_schema.columns where table_name = 't'"
        ),
        ["id"]
    );
}

/// Clients send numbers as int8 whatever the column is. Ranges over an int or smallint key then read the whole table; sysbench found it.
/// Each comparison must find what it finds without the key, at the edges of the column's type and beyond them.
#[test]
fn a_range_over_a_narrow_key_with_wide_parameters_uses_the_key() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    for (ty, edge) in [
        ("smallint", i64::from(i16::MAX)),
        ("int", i64::from(i32::MAX)),
    ] {
        let stored = [-edge - 1, -edge, -1, 0, 1, edge - 1, edge];
        let values = stored.map(|value| format!("({value})")).join(", ");
        tag(&mut c, &format!("create table {ty}s (a {ty} primary key)"));
        tag(&mut c, &format!("insert into {ty}s values {values}"));
        for op in ["<", "<=", ">", ">="] {
            let select =
                |left: &str| format!("select a from {ty}s where {left} {op} $1::int8 order by a");
            let [by_key, by_scan, plan] =
                ["key", "scan", "plan"].map(|of| format!("{of} {ty} {op}"));
            c.prepare(&by_key, &select("a")).unwrap();
            c.prepare(&by_scan, &select("a + 0::int8")).unwrap();
            c.prepare(&plan, &format!("explain {}", select("a")))
                .unwrap();
            let plan = c.execute(&plan, vec![Value::Int8(0)]).unwrap().text_rows();
            let plan = format!("{plan:?}");
            assert!(plan.contains("Index Cond"), "{plan}");
            let near = stored.iter().flat_map(|value| value - 2..=value + 2);
            for value in near
                .chain([i64::MIN, i64::MAX])
                .map(Value::Int8)
                .chain([Value::Null])
            {
                let mut rows =
                    |name: &str| c.execute(name, vec![value.clone()]).unwrap().text_rows();
                assert_eq!(rows(&by_key), rows(&by_scan), "{ty} {op} {value:?}");
            }
        }
    }
}

/// A change that raises no fence was published after its turn had gone to the next session, which then began with the schema
/// before: the first table was gone until the database was opened again. sysbench, which makes its tables in several threads, found it.
#[test]
fn tables_made_side_by_side_are_all_there() {
    const SESSIONS: usize = 4;
    const TABLES: usize = 60;
    let (_dir, db) = open();
    let workers = (0..SESSIONS).map(|session| {
        let mut client = db.client().unwrap();
        threads::spawn(&format!("session-{session}"), move || {
            for table in 0..TABLES {
                tag(
                    &mut client,
                    &format!("create table t_{session}_{table} (id int)"),
                );
                let insert = format!("insert into t_{session}_{table} values (1)");
                assert_eq!(tag(&mut client, &insert), "INSERT 0 1");
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.join().unwrap();
    }
    let count = rows(
        &mut db.client().unwrap(),
        "select count(*) from pg_class where relname like 't\\_%'",
    );
    assert_eq!(count, [(SESSIONS * TABLES).to_string()]);
}

#[test]
fn a_schema_change_that_waits_can_be_cancelled() {
    let (_dir, db) = open();
    let (mut one, mut two) = (db.client().unwrap(), db.client().unwrap());
    tag(&mut one, "begin");
    tag(&mut one, "create table t (a int)");
    let Progress::Waiting(pause) = two.start("create table u (a int)").unwrap() else {
        panic!("there is one change at a time");
    };
    two.session().cancel_handle().cancel();
    let error = two.resume().err().expect("it was cancelled");
    assert_eq!(error.state, SqlState::QUERY_CANCELED);
    drop(pause);
    tag(&mut one, "commit");
    assert_eq!(state(&mut two, "table u").as_str(), "42P01");
    assert_eq!(tag(&mut two, "create table u (a int)"), "CREATE TABLE");
}

#[test]
fn sequences_and_identity_never_give_a_value_twice_across_reopening() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create table t (id serial primary key, v int)")
        .unwrap();
    c.query("begin; create table u (id bigint generated always as identity, v int); insert into u (v) values (7); commit").unwrap();
    assert_eq!(
        rows(&mut c, "insert into t (v) values (1), (2) returning id"),
        ["1", "2"]
    );
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    let next: i64 = rows(&mut c, "insert into t (v) values (3) returning id")[0]
        .parse()
        .unwrap();
    assert!(next > 2);
    let next: i64 = rows(&mut c, "insert into u (v) values (3) returning id")[0]
        .parse()
        .unwrap();
    assert!(next > 1);
}

#[test]
fn a_row_lock_is_waited_for_in_order_and_nowait_refuses() {
    let (_dir, db) = open();
    let (mut c, mut d) = (db.client().unwrap(), db.client().unwrap());
    c.query("create table t (id int primary key, v int); insert into t values (1, 0)")
        .unwrap();
    c.query("begin; select * from t where id = 1 for update")
        .unwrap();
    assert_eq!(
        state(&mut d, "select * from t where id = 1 for update nowait"),
        SqlState::LOCK_NOT_AVAILABLE
    );
    assert!(
        rows(
            &mut d,
            "select * from t where id = 1 for update skip locked"
        )
        .is_empty()
    );
    let Progress::Waiting(pause) = d
        .start("update t set v = v + 1 where id = 1 returning v")
        .unwrap()
    else {
        panic!("must wait");
    };
    c.query("update t set v = 10 where id = 1; commit").unwrap();
    pause.wait();
    let answers = finish(&mut d);
    assert_eq!(answers[0].text_rows(), [[Some("11".to_string())]]);
}

/// A row that is not there, or does not meet the conditions beside its key, is kept from nobody; nor is it if the statement runs whole.
#[test]
fn nobody_waits_for_a_row_that_a_statement_has_left_alone() {
    let (_dir, db) = open();
    let (mut c, mut d) = (db.client().unwrap(), db.client().unwrap());
    c.query(
        "create table t (id int primary key, v int, w text);
         create index on t (w); insert into t values (1, 0, 'a')",
    )
    .unwrap();
    let nothing = [
        "select * from t where id = 2 for update",
        "select v from t where id = 2 for share",
        "update t set v = v + 1 where id = 2",
        "update t set w = 'x' where id = 2",
        "delete from t where id = 2",
        "update t set v = 5 where id = 1 and v = 7",
        "delete from t where id = 1 and v = 7",
        "select * from t where id = 1 and v = 7 for update",
        "delete from t where id = (select 2)",
    ];
    for level in ["read committed", "repeatable read", "serializable"] {
        for statement in nothing {
            c.query(&format!("begin isolation level {level}")).unwrap();
            assert!(rows(&mut c, statement).is_empty(), "{statement}");
            let others = [
                "insert into t values (2, 0, 'b')",
                "update t set v = v + 1 where id = 2",
                "delete from t where id = 2",
                "update t set v = v where id = 1",
            ];
            for other in others {
                let waits = until_it_waits(&mut d, other).is_some();
                assert!(!waits, "{level}: {other} waits for {statement}");
            }
            c.query("rollback").unwrap();
        }
    }
    // One that the transaction has written to stays its own.
    c.query("begin; delete from t where id = 1; update t set v = 1 where id = 1")
        .unwrap();
    let pause = until_it_waits(&mut d, "update t set v = 3 where id = 1").expect("it waits");
    c.query("rollback").unwrap();
    pause.wait();
    assert_eq!(finish(&mut d)[0].tag, "UPDATE 1");
}

#[test]
fn a_deadlock_ends_one_of_the_two() {
    let (_dir, db) = open();
    let (mut c, mut d) = (db.client().unwrap(), db.client().unwrap());
    c.query("create table t (id int primary key, v int); insert into t values (1, 0), (2, 0)")
        .unwrap();
    c.query("begin; update t set v = 1 where id = 1").unwrap();
    d.query("begin; update t set v = 1 where id = 2").unwrap();
    let Progress::Waiting(pause) = c.start("update t set v = 1 where id = 2").unwrap() else {
        panic!("waits")
    };
    assert_eq!(
        state(&mut d, "update t set v = 1 where id = 1"),
        SqlState::DEADLOCK_DETECTED
    );
    pause.wait();
    finish(&mut c);
    c.query("commit").unwrap();
}

#[test]
fn a_locked_table_stays_as_it_is_for_others_commits_and_readers_go_on() {
    for level in ["read committed", "repeatable read", "serializable"] {
        let (_dir, db) = open();
        let (mut c, mut d) = (db.client().unwrap(), db.client().unwrap());
        c.query("create table t (id int primary key, v int); insert into t values (1, 0), (2, 0)")
            .unwrap();
        assert_eq!(
            state(&mut c, "lock table t in share mode"),
            SqlState::NO_ACTIVE_SQL_TRANSACTION
        );
        // Its snapshot is taken with the lock.
        c.query(&format!("begin isolation level {level}")).unwrap();
        d.query("update t set v = 1 where id = 1").unwrap();
        c.query("lock table t in share mode").unwrap();
        assert_eq!(rows(&mut c, "select sum(v) from t"), ["1"]);
        assert_eq!(rows(&mut d, "select sum(v) from t"), ["1"]);
        d.query("begin; lock t in row exclusive mode; commit")
            .unwrap();
        assert_eq!(
            state(&mut d, "begin; lock t in exclusive mode nowait"),
            SqlState::LOCK_NOT_AVAILABLE
        );
        d.query("rollback").unwrap();
        let Progress::Waiting(pause) = d.start("update t set v = v + 10 where id = 1").unwrap()
        else {
            panic!("must wait");
        };
        assert_eq!(rows(&mut c, "select sum(v) from t"), ["1"], "{level}");
        c.query("update t set v = 5 where id = 2; commit").unwrap();
        pause.wait();
        finish(&mut d);
        assert_eq!(rows(&mut d, "select v from t order by id"), ["11", "5"]);
    }
}

#[test]
fn a_lock_on_a_table_waits_for_the_one_before_it() {
    let (_dir, db) = open();
    let (mut c, mut d) = (db.client().unwrap(), db.client().unwrap());
    c.query("create table t (id int primary key); create table u (id int primary key)")
        .unwrap();
    c.query("begin; lock t, u").unwrap();
    d.query("begin").unwrap();
    let Progress::Waiting(pause) = d.start("lock u").unwrap() else {
        panic!("must wait");
    };
    c.query("insert into t values (1); insert into u values (1); commit")
        .unwrap();
    pause.wait();
    finish(&mut d);
    assert_eq!(rows(&mut d, "select count(*) from u"), ["1"]);
    d.query("insert into u values (2); rollback").unwrap();
    // A ring of two ends one.
    c.query("begin; lock t").unwrap();
    d.query("begin; lock u").unwrap();
    let Progress::Waiting(pause) = c.start("lock u").unwrap() else {
        panic!("must wait");
    };
    assert_eq!(state(&mut d, "lock t"), SqlState::DEADLOCK_DETECTED);
    d.query("rollback").unwrap();
    pause.wait();
    finish(&mut c);
    c.query("insert into u values (3); commit").unwrap();
    assert_eq!(rows(&mut d, "select id from u order by id"), ["1", "3"]);
}

#[test]
fn a_statement_given_up_while_it_waits_leaves_nothing_of_its_state() {
    let (_dir, db) = open();
    let (mut c, mut d) = (db.client().unwrap(), db.client().unwrap());
    c.query("create table t (id int primary key, v int); insert into t values (1, 0), (2, 0)")
        .unwrap();
    d.query("begin; update t set v = 9 where id = 2").unwrap();
    c.query("begin; insert into t values (3, 0); savepoint s")
        .unwrap();
    let sql = "with a as (update t set v = 1 where id = 1) update t set v = 2 where id = 2";
    let Progress::Waiting(_) = c.start(sql).unwrap() else {
        panic!("must wait");
    };
    c.session().cancel_handle().cancel();
    match c.resume() {
        Err(error) => assert_eq!(error.state, SqlState::QUERY_CANCELED),
        Ok(_) => panic!("was cancelled"),
    }
    c.query("rollback to s; insert into t values (4, 0); update t set v = v + 5 where id > 2")
        .unwrap();
    assert_eq!(
        rows(&mut c, "select id, v from t where id <> 2 order by id"),
        ["1|0", "3|5", "4|5"]
    );
    c.query("commit").unwrap();
}

#[test]
fn settings_follow_the_transaction() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("begin; set application_name = 'inside'; rollback")
        .unwrap();
    assert_eq!(rows(&mut c, "show application_name"), [""]);
    c.query("begin; set local timezone = 'Europe/Berlin'; commit")
        .unwrap();
    assert_eq!(rows(&mut c, "show timezone"), ["UTC"]);
    c.query("set session characteristics as transaction isolation level serializable")
        .unwrap();
    assert_eq!(rows(&mut c, "show transaction_isolation"), ["serializable"]);
    assert_eq!(
        state(
            &mut c,
            "begin; select 1; set transaction isolation level read committed"
        ),
        SqlState::ACTIVE_SQL_TRANSACTION
    );
    c.query("rollback").unwrap();
    assert_eq!(
        state(&mut c, "begin read only; create table t (id int)"),
        SqlState::READ_ONLY_SQL_TRANSACTION
    );
}

/// Goal: what statements begin with is what the settings say, however these were changed. Method: after each way to change
/// them, what SHOW says is what a transaction has.
#[test]
fn a_transaction_begins_as_the_settings_say() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create table t (id int)").unwrap();
    let set = "set default_transaction_isolation = 'serializable';
               set default_transaction_read_only = on";
    let local = "set local default_transaction_isolation = 'serializable';
                 set local default_transaction_read_only = on";
    for (change, level, writes) in [
        ("", "read committed", true),
        (set, "serializable", false),
        (
            "reset default_transaction_isolation; reset default_transaction_read_only",
            "read committed",
            true,
        ),
        (set, "serializable", false),
        ("reset all", "read committed", true),
        (set, "serializable", false),
        ("discard all", "read committed", true),
        (&format!("begin; {set}; rollback"), "read committed", true),
        (&format!("begin; {local}; commit"), "read committed", true),
        (
            "select set_config('default_transaction_isolation', 'serializable', false)",
            "serializable",
            true,
        ),
        (&format!("begin; {set}; commit"), "serializable", false),
    ] {
        // Not in one string with the change: that would be one transaction.
        for statement in change.split(';').filter(|text| !text.trim().is_empty()) {
            c.query(statement).unwrap();
        }
        let shown = rows(&mut c, "show default_transaction_isolation");
        assert_eq!(shown, [level], "{change}");
        c.query("begin").unwrap();
        let has = rows(&mut c, "show transaction_isolation");
        assert_eq!(has, [level], "{change}");
        let written = c.query("insert into t values (1)");
        assert_eq!(written.is_ok(), writes, "{change}");
        c.query("rollback").unwrap();
    }
}

/// A client that is sent rows without their columns gives up.
#[test]
fn results_that_the_session_makes_have_columns() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create table t (id int primary key)").unwrap();
    for (sql, columns) in [
        ("show timezone", 1),
        ("show transaction isolation level", 1),
        ("show all", 3),
        ("explain select * from t", 1),
    ] {
        let answer = c.query(sql).unwrap().pop().unwrap();
        assert!(!answer.rows.is_empty(), "{sql}");
        assert_eq!(answer.columns.len(), columns, "{sql}");
    }
}

/// Extended protocol: a text seen before is not parsed again, and still follows the schema and the
/// types that the client declares.
#[test]
fn a_text_prepared_again_follows_the_schema_and_its_types() {
    use quintet_base::SqlType;
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create table t (id int primary key)").unwrap();
    let text = "select *, $1 as x from t";
    let describe = |c: &mut Client, types: &[SqlType]| {
        let session = c.session();
        session.parse("", text, types).unwrap();
        let statement = session.statement("").unwrap();
        (statement.params.clone(), statement.columns.len())
    };
    assert_eq!(describe(&mut c, &[SqlType::Int8]), (vec![SqlType::Int8], 2));
    assert_eq!(describe(&mut c, &[SqlType::Int8]), (vec![SqlType::Int8], 2));
    assert_eq!(describe(&mut c, &[SqlType::Text]), (vec![SqlType::Text], 2));
    c.query("alter table t add column b int").unwrap();
    assert_eq!(describe(&mut c, &[SqlType::Text]), (vec![SqlType::Text], 3));
    c.query("drop table t").unwrap();
    let gone = c.session().parse("", text, &[SqlType::Text]).unwrap_err();
    assert_eq!(gone.state, SqlState::UNDEFINED_TABLE);
}

/// Types that nobody has declared follow the schema, too: those of a text's parameters, and what its literals stand for.
#[test]
fn types_that_are_found_out_are_found_out_again_when_the_schema_moves() {
    use quintet_base::SqlType;
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    let (text, literal) = (
        "update t set v = $1 where id = $2",
        "update t set v = '2024-01-02' where id = 1",
    );
    let params = |c: &mut Client, name: &str| {
        let session = c.session();
        if name.is_empty() {
            session.parse(name, text, &[]).unwrap();
        }
        session.statement(name).unwrap().params.clone()
    };
    c.query("create table t (id int primary key, v varchar(10)); insert into t values (1, '1')")
        .unwrap();
    c.query(literal).unwrap();
    assert_eq!(params(&mut c, ""), [SqlType::Varchar, SqlType::Int4]);
    c.session().parse("named", text, &[]).unwrap();
    c.query("alter table t alter v type date using date '2000-01-01'")
        .unwrap();
    c.query(literal).unwrap();
    assert_eq!(rows(&mut c, "select v from t"), ["2024-01-02"]);
    assert_eq!(params(&mut c, ""), [SqlType::Date, SqlType::Int4]);
    // What a client may have been told stays.
    assert_eq!(params(&mut c, "named"), [SqlType::Varchar, SqlType::Int4]);
    c.query("drop table t; create table t (id bigint primary key, v int)")
        .unwrap();
    assert_eq!(params(&mut c, ""), [SqlType::Int4, SqlType::Int8]);
    assert_eq!(
        state(&mut c, literal),
        SqlState::INVALID_TEXT_REPRESENTATION
    );
}

/// EXECUTE of a statement that a client has prepared by message: its columns are told before it runs, also through another EXECUTE, and one
/// of its own name is refused. That was a row of another width than what was described, and a stack without an end.
#[test]
fn execute_is_described_and_has_an_end() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    let columns = |c: &mut Client, text: &str| {
        let session = c.session();
        session.parse("", text, &[]).unwrap();
        let statement = session.statement("").unwrap();
        session.statement_columns(&statement).len()
    };
    c.session()
        .parse("two", "select 1 as a, 'x' as b", &[])
        .unwrap();
    c.session().parse("again", "execute two", &[]).unwrap();
    c.session().parse("round", "execute round", &[]).unwrap();
    assert_eq!(columns(&mut c, "execute two"), 2);
    assert_eq!(columns(&mut c, "execute again"), 2);
    assert_eq!(columns(&mut c, "execute round"), 0);
    assert_eq!(columns(&mut c, "execute nothing"), 0);
    assert_eq!(rows(&mut c, "execute two"), ["1|x"]);
    assert_eq!(rows(&mut c, "execute again"), ["1|x"]);
    assert_eq!(state(&mut c, "execute round"), SqlState(*b"54001"));
    assert_eq!(
        state(&mut c, "execute nothing"),
        SqlState::INVALID_SQL_STATEMENT_NAME
    );
    assert_eq!(rows(&mut c, "select 1"), ["1"]);
}

#[test]
fn prepare_execute_cursors_and_explain() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create table t (id int primary key, v int); insert into t select n, n from generate_series(1, 10) n").unwrap();
    c.query("prepare p (int) as select v from t where id = $1")
        .unwrap();
    assert_eq!(rows(&mut c, "execute p(3)"), ["3"]);
    assert_eq!(state(&mut c, "execute p"), SqlState::SYNTAX_ERROR);
    c.query("deallocate p").unwrap();
    assert_eq!(
        state(&mut c, "execute p(3)"),
        SqlState::INVALID_SQL_STATEMENT_NAME
    );
    c.query("begin; declare k cursor for select id from t order by id")
        .unwrap();
    assert_eq!(rows(&mut c, "fetch 2 from k"), ["1", "2"]);
    assert_eq!(tag(&mut c, "move 3 in k"), "MOVE 3");
    assert_eq!(rows(&mut c, "fetch all from k"), ["6", "7", "8", "9", "10"]);
    c.query("commit").unwrap();
    assert_eq!(state(&mut c, "fetch k"), SqlState::INVALID_CURSOR_NAME);
    assert!(rows(&mut c, "explain select * from t where id = 1")[0].contains("t_pkey"));
    c.query("prepare by_id(int) as select v from t where id = $1; prepare add as insert into t values (77, 7)")
        .unwrap();
    assert!(rows(&mut c, "explain execute by_id(1)")[0].contains("t_pkey"));
    let analyzed = rows(&mut c, "explain analyze execute by_id(1)");
    assert!(
        analyzed.iter().any(|line| line.contains("Rows: 1")),
        "{analyzed:?}"
    );
    c.query("explain execute add").unwrap();
    assert!(rows(&mut c, "select 1 from t where id = 77").is_empty());
    assert_eq!(
        state(&mut c, "explain execute nobody"),
        SqlState::INVALID_SQL_STATEMENT_NAME
    );
    c.query("create role stranger; set role stranger").unwrap();
    assert_eq!(
        state(&mut c, "explain analyze execute by_id(1)"),
        SqlState::INSUFFICIENT_PRIVILEGE
    );
}

#[test]
fn unsupported_things_say_so() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    for sql in [
        "create type r as range (subtype = int4)",
        "create rule r as on insert to t do nothing",
    ] {
        assert_eq!(state(&mut c, sql), SqlState::FEATURE_NOT_SUPPORTED, "{sql}");
    }
    assert_eq!(state(&mut c, "selec 1"), SqlState::SYNTAX_ERROR);
}

/// Goal: `pg_settings` has what can be set or shown, with the values of the session. What PostgreSQL shows in neither
/// list is in neither here.
#[test]
fn pg_settings_are_those_of_the_session() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("set statement_timeout = '7s'; select set_config('row_security', 'off', false)")
        .unwrap();
    let counted = "select name, setting, unit from pg_settings where unit is not null order by 1";
    assert_eq!(
        rows(&mut c, counted),
        [
            "idle_in_transaction_session_timeout|0|ms",
            "idle_session_timeout|0|ms",
            "lock_timeout|0|ms",
            "statement_timeout|7000|ms",
            "work_mem|262144|kB"
        ]
    );
    let mut listed = rows(
        &mut c,
        "select lower(name), current_setting(name) from pg_settings",
    );
    let mut shown: Vec<String> = rows(&mut c, "show all")
        .into_iter()
        .map(|line| {
            let mut fields = line.splitn(3, '|');
            let name = fields.next().unwrap().to_lowercase();
            format!("{name}|{}", fields.next().unwrap())
        })
        .collect();
    listed.sort();
    shown.sort();
    assert_eq!(listed, shown);
    assert!(
        listed.contains(&"row_security|off".to_string()),
        "{listed:?}"
    );
}

#[test]
fn the_past_is_read_as_it_was_as_far_as_it_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let config = DatabaseConfig {
        history: std::time::Duration::from_secs(60),
        ..DatabaseConfig::new(dir.path())
    };
    let (db, _) = Database::open(config).unwrap();
    let (mut c, mut d) = (db.client().unwrap(), db.client().unwrap());
    // Long beside the step in which moments are kept, and beside what a busy machine takes for a few statements.
    let rest = |seconds| RealClock.sleep(std::time::Duration::from_secs(seconds));
    c.query("create table t (id int primary key, v int); insert into t values (1, 0), (2, 0)")
        .unwrap();
    c.query("create function total() returns bigint language sql as 'select sum(v) from t'")
        .unwrap();
    rest(1);
    let before = rows(&mut c, "select now()").remove(0);
    for turn in 1..=200 {
        d.query(&format!(
            "update t set v = {turn}; insert into t values (100 + {turn}, 0)"
        ))
        .unwrap();
    }
    rest(4);
    db.compact().unwrap();
    d.query("delete from t where id > 150; update t set v = -1")
        .unwrap();
    let seen = "select count(*), sum(v) from t";
    assert_eq!(rows(&mut d, seen), ["52|-52"]);
    c.query(&format!("set quintet.as_of = '{before}'")).unwrap();
    assert_eq!(rows(&mut c, seen), ["2|0"]);
    assert_eq!(rows(&mut c, "select total()"), ["0"]);
    assert_eq!(rows(&mut c, "select v from t where id = 2"), ["0"]);
    for sql in [
        "update t set v = 1",
        "insert into t values (9, 9)",
        "create table u (a int)",
    ] {
        assert_eq!(
            state(&mut c, sql),
            SqlState::READ_ONLY_SQL_TRANSACTION,
            "{sql}"
        );
    }
    c.query("reset quintet.as_of; begin; set local quintet.as_of = '-3s'")
        .unwrap();
    assert_eq!(rows(&mut c, seen), ["202|40200"]);
    d.query("update t set v = -2").unwrap();
    assert_eq!(rows(&mut c, seen), ["202|40200"]);
    c.query("commit").unwrap();
    assert_eq!(rows(&mut c, seen), ["52|-104"]);
    for (value, wanted) in [
        ("-2 min", SqlState::INVALID_PARAMETER_VALUE),
        ("2999-01-01", SqlState::INVALID_PARAMETER_VALUE),
    ] {
        c.query(&format!("set quintet.as_of = '{value}'")).unwrap();
        assert_eq!(state(&mut c, seen), wanted, "{value}");
    }
    for value in ["yesterday or so", "-1 mon"] {
        let sql = format!("set quintet.as_of = '{value}'");
        assert_eq!(state(&mut c, &sql), SqlState::INVALID_PARAMETER_VALUE);
    }
    // Tables are there as they were, also those that are gone.
    c.query("reset quintet.as_of; alter table t alter v type bigint; alter table t rename v to w")
        .unwrap();
    c.query("create table u (a int); create index on t (w); delete from t")
        .unwrap();
    c.query(&format!("set quintet.as_of = '{before}'")).unwrap();
    assert_eq!(rows(&mut c, seen), ["2|0"]);
    assert_eq!(state(&mut c, "select * from u"), SqlState::UNDEFINED_TABLE);
    d.query("drop function total; drop table t; vacuum")
        .unwrap();
    db.compact().unwrap();
    assert_eq!(rows(&mut c, seen), ["2|0"]);
    assert_eq!(rows(&mut c, "select total()"), ["0"]);
    c.query("reset quintet.as_of").unwrap();
    assert_eq!(state(&mut c, seen), SqlState::UNDEFINED_TABLE);
    assert_eq!(rows(&mut c, "select * from u"), [""; 0]);
    drop((c, d));
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    c.query("set quintet.as_of = '-1s'").unwrap();
    assert_eq!(
        state(&mut c, "select * from u"),
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE
    );
}

/// Takes no rows.
struct Nobody;

impl RowSink for Nobody {
    fn columns(&mut self, _: &[OutputColumn]) {}

    fn row(&mut self, _: &[Value]) -> Result<Flow, SqlError> {
        Ok(Flow::Continue)
    }

    fn copy_begin(&mut self, _: usize, _: &CopyFormat) {}

    fn copy_data(&mut self, _: &[u8]) -> Flow {
        Flow::Continue
    }
}

fn run(session: &mut Session, portal: &str) -> Result<(), SqlError> {
    while let Step::Wait(pause) = session.execute(portal, 0, &mut Nobody)? {
        pause.wait();
    }
    Ok(())
}

/// What CREATE and its like name is looked at when they are run: a client may send all of a pipeline before any of it is done.
#[test]
fn schema_changes_may_be_parsed_before_what_they_name_is_there() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    let texts = [
        "create table p (a int)",
        "create index p_a on p (a)",
        "alter table p add column b int",
        "drop table p",
        "create table p (c int)",
    ];
    let session = c.session();
    for (number, text) in texts.iter().enumerate() {
        session.parse(&format!("s{number}"), text, &[]).unwrap();
    }
    for number in 0..texts.len() {
        let name = format!("s{number}");
        session.bind(&name, &name, vec![]).unwrap();
    }
    for number in 0..texts.len() {
        run(c.session(), &format!("s{number}")).unwrap();
    }
    while let Step::Wait(pause) = c.session().sync().unwrap() {
        pause.wait();
    }
    assert_eq!(rows(&mut c, "select c from p").len(), 0);
    let session = c.session();
    session.parse("late", "drop table nothing", &[]).unwrap();
    session.bind("late", "late", vec![]).unwrap();
    let error = run(session, "late").unwrap_err();
    assert_eq!(error.state, SqlState::UNDEFINED_TABLE);
    session.fail();
    let error = session.parse("now", "insert into nothing values (1)", &[]);
    assert_eq!(error.unwrap_err().state, SqlState::UNDEFINED_TABLE);
    let error = session.parse("as", "create table q as select * from nothing", &[]);
    assert_eq!(error.unwrap_err().state, SqlState::UNDEFINED_TABLE);
}
