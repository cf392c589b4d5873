//! What several databases in one directory promise: each sees its own schema and rows, all see the same roles; numbers and spaces are
//! those of one only, also after reopening; one that is dropped goes with everything of it, and nobody is in it then.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Client, Database};
use std::collections::BTreeSet;
use support::{error, finish, number, open, reopen, rows, state, waits};

fn client(db: &Database, name: &str) -> Client {
    db.named(name).unwrap().client().unwrap()
}

fn run(client: &mut Client, sql: &str) {
    client.query(sql).unwrap();
}

#[test]
fn each_has_its_own_schema_and_rows_and_keeps_them() {
    let (dir, db) = open();
    let mut first = db.client().unwrap();
    run(&mut first, "create database shop");
    run(&mut first, "create table t (id serial primary key, v text)");
    let mut shop = client(&db, "shop");
    assert_eq!(rows(&mut shop, "select current_database()"), ["shop"]);
    // As \l+ asks it.
    let sizes = "select datname, pg_database_size(datname) from pg_database order by 1";
    assert_eq!(rows(&mut shop, sizes), ["quintet|0", "shop|0"]);
    assert_eq!(rows(&mut first, sizes), ["quintet|0", "shop|0"]);
    assert_eq!(
        state(&mut shop, "select * from t"),
        SqlState::UNDEFINED_TABLE
    );
    // In turn, so that each would give out what the other has.
    for i in 0..20 {
        run(
            &mut shop,
            &format!("create table s{i} (id serial primary key, v int)"),
        );
        run(
            &mut first,
            &format!("create table f{i} (id serial primary key, v int)"),
        );
        run(&mut shop, &format!("insert into s{i} (v) values ({i})"));
        run(
            &mut first,
            &format!("insert into f{i} (v) values (100 + {i})"),
        );
    }
    run(
        &mut shop,
        "create table t (v text); insert into t values ('shop')",
    );
    run(&mut first, "insert into t (v) values ('first')");
    let look = |first: &mut Client, shop: &mut Client| {
        for i in 0..20 {
            let of = |name: char| format!("select id, v from {name}{i}");
            assert_eq!(rows(shop, &of('s')), [format!("1|{i}")]);
            assert_eq!(rows(first, &of('f')), [format!("1|{}", 100 + i)]);
        }
        assert_eq!(rows(shop, "select v from t"), ["shop"]);
        assert_eq!(rows(first, "select v from t"), ["first"]);
        let numbers = "select oid from pg_class where oid > 16383";
        let numbers: [BTreeSet<String>; 2] =
            [first, shop].map(|client| rows(client, numbers).into_iter().collect());
        assert_eq!(numbers[0].intersection(&numbers[1]).count(), 0);
    };
    look(&mut first, &mut shop);
    drop((first, shop));
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let (mut first, mut shop) = (db.client().unwrap(), client(&db, "shop"));
    look(&mut first, &mut shop);
    run(&mut shop, "create table later (id serial primary key)");
    run(&mut first, "create table later (id serial primary key)");
    look(&mut first, &mut shop);
}

#[test]
fn changes_of_two_databases_side_by_side_do_not_meet() {
    let (dir, db) = open();
    run(
        &mut db.client().unwrap(),
        "create database a; create database b",
    );
    std::thread::scope(|scope| {
        for name in ["a", "b", "quintet"] {
            let mut client = client(&db, name);
            scope.spawn(move || {
                for i in 0..30 {
                    let text = format!(
                        "create table t{i} (id serial primary key, v text); insert into t{i} (v) values ('{name}')"
                    );
                    run(&mut client, &text);
                    if i % 3 == 0 {
                        run(&mut client, &format!("drop table t{i}"));
                    }
                }
            });
        }
    });
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    for name in ["a", "b", "quintet"] {
        let mut client = client(&db, name);
        assert_eq!(
            number(
                &mut client,
                "select count(*) from pg_tables where schemaname = 'public'"
            ),
            20
        );
        for i in (0..30).filter(|i| i % 3 != 0) {
            assert_eq!(
                rows(&mut client, &format!("select id, v from t{i}")),
                [format!("1|{name}")]
            );
        }
    }
}

#[test]
fn a_name_means_the_first_one_until_it_was_anothers() {
    let (dir, db) = open();
    let mut first = db.client().unwrap();
    run(&mut first, "create table t (v int)");
    let mut any = client(&db, "whatever");
    assert_eq!(rows(&mut any, "select count(*) from t"), ["0"]);
    run(&mut first, "create database shop");
    for taken in ["shop", "quintet", "postgres", "template1"] {
        let refused = state(&mut first, &format!("create database {taken}"));
        assert_eq!(refused, SqlState::DUPLICATE_DATABASE, "{taken}");
    }
    run(&mut first, "drop database shop");
    let gone = db.named("shop").err().unwrap();
    assert_eq!(gone.state, SqlState::UNDEFINED_DATABASE);
    run(
        &mut first,
        "create database shop; alter database shop rename to store",
    );
    assert!(db.named("shop").is_err(), "it has another name");
    drop((first, any));
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    assert!(db.named("shop").is_err(), "not after reopening either");
    let mut store = client(&db, "store");
    assert_eq!(
        state(&mut store, "select * from t"),
        SqlState::UNDEFINED_TABLE
    );
    run(&mut store, "create database shop");
    assert_eq!(
        rows(&mut client(&db, "shop"), "select current_database()"),
        ["shop"]
    );
}

#[test]
fn what_is_dropped_is_gone_with_its_rows() {
    let (dir, db) = open();
    let mut first = db.client().unwrap();
    run(&mut first, "create database shop");
    let mut shop = client(&db, "shop");
    run(
        &mut shop,
        "create table t (id serial primary key, v text); insert into t (v) select 'x' from generate_series(1, 1000)",
    );
    let refused = waits(&mut first, "drop database shop");
    drop(shop);
    refused.wait();
    finish(&mut first);
    run(&mut first, "create database shop");
    let mut shop = client(&db, "shop");
    assert_eq!(
        state(&mut shop, "select * from t"),
        SqlState::UNDEFINED_TABLE
    );
    run(&mut shop, "create table t (id serial primary key)");
    assert_eq!(
        rows(&mut shop, "insert into t default values returning id"),
        ["1"]
    );
    drop((first, shop));
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    assert_eq!(rows(&mut client(&db, "shop"), "select * from t"), ["1"]);
}

#[test]
fn roles_are_the_same_in_all() {
    let (dir, db) = open();
    let mut first = db.client().unwrap();
    run(
        &mut first,
        "create role ann login; create database shop owner ann; create database other",
    );
    let mut shop = client(&db, "shop");
    run(
        &mut shop,
        "create role bob; alter role ann set work_mem = '8MB'; create table t (v int); grant select on t to bob",
    );
    assert_eq!(
        rows(
            &mut first,
            "select rolname from pg_roles where rolname in ('ann', 'bob') order by 1"
        ),
        ["ann", "bob"]
    );
    assert_eq!(
        rows(&mut first, "select setconfig from pg_db_role_setting"),
        ["{work_mem=8MB}"]
    );
    let needed = error(&mut first, "drop role bob");
    assert_eq!(needed.state, SqlState::DEPENDENT_OBJECTS_STILL_EXIST);
    assert_eq!(needed.detail.as_deref(), Some("1 object in database shop"));
    let owner = error(&mut first, "drop role ann");
    assert_eq!(owner.detail.as_deref(), Some("owner of database shop"));
    // Its owner makes what only a database's owner may.
    run(
        &mut shop,
        "set role ann; create schema s; create table public.own (v int); reset role",
    );
    let mut other = client(&db, "other");
    run(&mut other, "set role ann");
    assert_eq!(
        state(&mut other, "create schema s"),
        SqlState::INSUFFICIENT_PRIVILEGE
    );
    run(&mut other, "reset role");
    drop((first, shop, other));
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut other = client(&db, "other");
    assert_eq!(
        rows(
            &mut other,
            "select rolname from pg_roles where rolname in ('ann', 'bob') order by 1"
        ),
        ["ann", "bob"]
    );
    let mut shop = client(&db, "shop");
    run(&mut shop, "drop table t; drop role bob");
    assert_eq!(
        rows(
            &mut other,
            "select rolname from pg_roles where rolname = 'bob'"
        ),
        Vec::<String>::new()
    );
}

#[test]
fn what_is_planned_in_one_is_planned_again_after_a_change_there_only() {
    let (_dir, db) = open();
    run(&mut db.client().unwrap(), "create database shop");
    let (mut a, mut b, mut shop) = (
        db.client().unwrap(),
        db.client().unwrap(),
        client(&db, "shop"),
    );
    run(&mut a, "create table t (v int); insert into t values (1)");
    assert_eq!(rows(&mut b, "select * from t"), ["1"]);
    run(
        &mut shop,
        "create table t (w text); alter table t add column x int",
    );
    assert_eq!(rows(&mut b, "select * from t"), ["1"]);
    run(&mut a, "alter table t add column y int default 5");
    assert_eq!(rows(&mut b, "select * from t"), ["1|5"]);
    assert_eq!(rows(&mut shop, "select * from t"), Vec::<String>::new());
    // A change that is under way in one keeps nobody in another from anything: see `turns`.
    run(&mut a, "begin; create table u (v int)");
    run(&mut shop, "insert into t (w) values ('x')");
    run(&mut shop, "create table u (v int)");
    run(&mut a, "rollback");
    run(&mut a, "create table u (v int); insert into u values (2)");
    assert_eq!(rows(&mut shop, "select * from u"), Vec::<String>::new());
}

#[test]
fn advisory_locks_are_those_of_one_database() {
    let (_dir, db) = open();
    run(&mut db.client().unwrap(), "create database shop");
    let (mut first, mut shop) = (db.client().unwrap(), client(&db, "shop"));
    assert_eq!(rows(&mut first, "select pg_try_advisory_lock(1)"), ["t"]);
    assert_eq!(rows(&mut shop, "select pg_try_advisory_lock(1)"), ["t"]);
    assert_eq!(
        rows(&mut db.client().unwrap(), "select pg_try_advisory_lock(1)"),
        ["f"]
    );
}

#[test]
fn a_copy_has_everything_of_its_template_and_goes_its_own_way() {
    let (dir, db) = open();
    let mut first = db.client().unwrap();
    run(
        &mut first,
        "create role ann; create database template owner ann",
    );
    run(
        &mut first,
        "create table other (id serial primary key); insert into other default values",
    );
    let mut template = client(&db, "template");
    run(
        &mut template,
        "create schema s; create type s.mood as enum ('sad', 'glad'); create domain s.pos as int check (value > 0);
         create table s.a (id serial primary key, m s.mood default 'sad', n s.pos, tags text[], body jsonb);
         create index on s.a (m); create index on s.a ((id * 2)); create index on s.a using gin (tags);
         create table b (v text, a_id int references s.a on delete cascade); create unique index on b (v) where a_id > 1;
         create table p (k int, v text) partition by range (k); create table p1 partition of p for values from (0) to (10);
         create table p2 partition of p for values from (10) to (20);
         create view w as select b.v, a.m from b join s.a on a.id = b.a_id; create materialized view mv as select count(*) from s.a;
         create function f(x int) returns int language plpgsql as $$ begin return x * 2; end $$;
         create function stamp() returns trigger language plpgsql as $$ begin new.v := new.v || '!'; return new; end $$;
         create trigger t before insert on b for each row execute function stamp();
         create sequence q increment 5 start 100; comment on table b is 'rows'; grant select on b to ann;
         insert into s.a (n, tags, body) select i, array['t' || i % 3], jsonb_build_object('i', i) from generate_series(1, 500) i;
         insert into b select 'v' || i, i from generate_series(1, 200) i; insert into p select i, 'p' || i from generate_series(0, 19) i;
         refresh materialized view mv; select nextval('q'), nextval('q')",
    );
    let schema = |client: &mut Client| rows(client, "select * from quintet_schema()");
    let look = |client: &mut Client| {
        let mut all = schema(client);
        // Sequences go on where they are.
        all.retain(|line| !line.contains("setval"));
        for query in [
            "select count(*), sum(id), sum(n), min(m::text) from s.a",
            "select id from s.a where tags @> '{t1}' order by id limit 3",
            "select count(*), min(v), max(v) from b",
            "select v from b where v = 'v7!' and a_id > 1",
            "select count(*), max(v) from p2",
            "select * from mv",
            "select count(*) from w",
            "select f(4)",
            "select grantee, privilege_type from information_schema.table_privileges where table_name = 'b' and grantee = 'ann'",
        ] {
            all.extend(rows(client, query));
        }
        all
    };
    let before = look(&mut template);
    let pause = waits(&mut first, "create database copy template template");
    drop(template);
    pause.wait();
    finish(&mut first);
    let mut copy = client(&db, "copy");
    assert_eq!(look(&mut copy), before);
    assert_eq!(rows(&mut copy, "select nextval('q')"), ["110"]);
    let next = number(&mut copy, "insert into s.a (n) values (1) returning id");
    assert!(next > 500);
    run(
        &mut copy,
        "delete from s.a where id <= 100; create table more (id serial primary key); insert into more default values",
    );
    assert_eq!(rows(&mut copy, "select count(*) from b"), ["100"]);
    let mut template = client(&db, "template");
    assert_eq!(look(&mut template), before);
    assert_eq!(rows(&mut template, "select nextval('q')"), ["110"]);
    run(
        &mut first,
        "create table later (id serial primary key); insert into later default values",
    );
    let changed = look(&mut copy);
    drop((first, template, copy));
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut copy = client(&db, "copy");
    assert_eq!(look(&mut copy), changed);
    assert_eq!(rows(&mut copy, "select * from more"), ["1"]);
    let mut first = db.client().unwrap();
    assert_eq!(
        rows(
            &mut first,
            "select (select count(*) from other), (select count(*) from later)"
        ),
        ["1|1"]
    );
    drop(copy);
    run(&mut first, "drop database copy");
    let mut template = client(&db, "template");
    assert_eq!(rows(&mut template, "select count(*) from s.a"), ["500"]);
}
