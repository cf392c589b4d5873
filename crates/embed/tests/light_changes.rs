//! What a schema change does not wait for, and does not look at without need.

#![allow(clippy::unwrap_used)]

mod support;

use support::{ends, open, rows, until_it_waits};

#[test]
fn storage_parameters_wait_for_no_writer() {
    let (_dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query("create table t (a int primary key, b int); insert into t values (1, 1)")
        .unwrap();
    a.query("begin; update t set b = 2").unwrap();
    for sql in [
        "alter table t set (fillfactor = 70, autovacuum_enabled = off)",
        "alter table t reset (autovacuum_enabled), alter column b set statistics 10",
        "comment on table t is 'x'",
        "comment on column t.b is 'y'",
        "grant select on t to public",
        "create view v as select a from t",
        "create function f() returns int language sql as 'select 1'",
        "drop view v",
        "drop function f()",
    ] {
        assert!(until_it_waits(&mut b, sql).is_none(), "{sql}");
    }
    a.query("update t set b = 3; commit").unwrap();
    assert_eq!(
        rows(
            &mut b,
            "select b, reloptions from t, pg_class where relname = 't'"
        ),
        ["3|{fillfactor=70}"]
    );
    // What plans know of waits as before.
    a.query("begin; update t set b = 4").unwrap();
    let both = "alter table t set (fillfactor = 80), alter column b set default 7";
    let pause = until_it_waits(&mut b, both).unwrap();
    a.query("commit").unwrap();
    ends(&mut b, pause);
}
