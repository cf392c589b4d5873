//! Whatever is written at one server is the same at the other after the apply: types, NULLs, long values, keys of all sorts.
//!
//! Method: the same schema at two servers; each statement is prepared and committed at the first, its write set applied at the
//! second; then the checksums of all tables have to agree.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::Durability;
use quintet_replica::*;
use std::time::Duration;
use support::*;

/// Two servers of one schema.
struct Pair {
    origin: Replica,
    other: Replica,
    runner: Runner,
    stream: Told,
    applier: Applier,
}

impl Pair {
    async fn start(schema: &str) -> Pair {
        let (origin, other) = tokio::join!(Replica::start(schema), Replica::start(schema));
        Pair {
            runner: origin.runner().await,
            stream: origin.stream().await,
            applier: other.applier().await,
            origin,
            other,
        }
    }

    /// Runs a statement at the origin and brings its write set, committed there.
    async fn run(&mut self, sql: &str) -> (Gid, std::sync::Arc<WriteSet>) {
        let attempt = self.origin.attempt(sql);
        match self.runner.run(&attempt).await {
            Ran::Prepared { .. } => {}
            other => panic!("{sql}: {other:?}"),
        }
        let (tag, _, write_set) = self.stream.prepared().await;
        assert_eq!(tag, attempt.tag);
        self.runner.commit(&tag.gid).await.unwrap();
        assert!(self.stream.line().await.starts_with("committed"));
        (tag.gid, write_set)
    }

    /// And applies it.
    async fn carry(&mut self, sql: &str) -> std::sync::Arc<WriteSet> {
        let (gid, write_set) = self.run(sql).await;
        let applied = self
            .applier
            .apply(&gid, &write_set, Durability::Async, Duration::ZERO)
            .await;
        match applied {
            Ok(Applied::Now { missing: 0, .. }) => write_set,
            other => panic!("{sql}: {other:?}"),
        }
    }

    async fn must_be_equal(&self) {
        let one = checksums(&self.origin.postgres.server(), TIMEOUT)
            .await
            .unwrap();
        let two = checksums(&self.other.postgres.server(), TIMEOUT)
            .await
            .unwrap();
        assert_eq!(differences(&one, &two), Vec::<String>::new());
    }
}

/// All types that TPC-C has, and those whose text depends on settings.
#[tokio::test]
async fn values_of_all_types_arrive_as_they_were() {
    let mut pair = Pair::start(
        "CREATE TYPE mood AS ENUM ('sad', 'glad');
         CREATE DOMAIN positive AS int CHECK (VALUE > 0);
         CREATE TABLE v (id int PRIMARY KEY, a smallint, b bigint, c numeric, d numeric(5, 2), e real, f double precision,
            g char(9), h varchar(5), i text, j bytea, k timestamp, l timestamptz, m date, n time, o interval, p boolean,
            q uuid, r json, s jsonb, t int[], u text[], v mood, w positive, x mood[], y inet, z money, aa int4range,
            computed int GENERATED ALWAYS AS (id * 2) STORED, counted int GENERATED ALWAYS AS IDENTITY)",
    )
    .await;
    pair.origin
        .postgres
        .simple("ALTER DATABASE postgres SET datestyle = 'SQL, DMY'")
        .await;
    pair.carry(
        "INSERT INTO v VALUES (1, -3, 9223372036854775807, 1e-30, 1.50, 0.1, 1e300, 'ab ', 'abcde', E'ä\\n''\"\\\\', '\\x00ff', \
         '2026-11-22 18:00:00.123456', '2026-11-22 18:00:00+05', '0044-03-15 BC', '23:59:59.999999', '1 year 2 days -3.5 s', true, \
         'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"a\":  1}', '{\"b\": [1, null]}', '{1,NULL,3}', '{\"a b\",\"\",NULL}', \
         'glad', 7, '{sad,glad}', '10.0.0.1/8', '12.34', '[1,5)')",
    )
    .await;
    pair.carry("INSERT INTO v (id, e, f, k, l, c) VALUES (2, 'NaN', '-Infinity', 'infinity', '-infinity', 'NaN')")
        .await;
    pair.carry("INSERT INTO v (id, i) VALUES (3, '')").await;
    pair.carry(
        "UPDATE v SET f = 0.1 + 0.2, l = l + interval '1 hour', v = 'sad', r = '[]' WHERE id = 1",
    )
    .await;
    pair.carry("UPDATE v SET i = NULL, b = NULL WHERE id = 3")
        .await;
    pair.must_be_equal().await;
    let nulls = "SELECT count(*) FROM v WHERE i IS NULL AND id = 3";
    assert_eq!(pair.other.postgres.value(nulls).await, "1");
}

/// A long value that an update leaves alone is not told, and stays.
#[tokio::test]
async fn long_values_that_do_not_change_stay() {
    let mut pair = Pair::start(
        "CREATE TABLE doc (id int PRIMARY KEY, n int, body text);
         ALTER TABLE doc ALTER body SET STORAGE EXTERNAL;
         CREATE TABLE long_key (body text PRIMARY KEY, n int);
         CREATE TABLE full_doc (n int, body text);
         ALTER TABLE full_doc ALTER body SET STORAGE EXTERNAL; ALTER TABLE full_doc REPLICA IDENTITY FULL",
    )
    .await;
    pair.carry(
        "INSERT INTO doc SELECT 1, 0, string_agg(md5(i::text), '') FROM generate_series(1, 1000) i",
    )
    .await;
    let write_set = pair.carry("UPDATE doc SET n = 1").await;
    assert!(write_set.bytes() < 1_000, "{}", write_set.bytes());
    let write_set = pair.carry("UPDATE doc SET body = body || 'x'").await;
    assert!(write_set.bytes() > 32_000);
    pair.carry("UPDATE doc SET id = 2").await;
    pair.carry("INSERT INTO full_doc SELECT n, body FROM doc")
        .await;
    pair.carry("UPDATE full_doc SET n = 5").await;
    let key = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 70) i)";
    let first = pair
        .carry(&format!("INSERT INTO long_key SELECT {key}, 1"))
        .await;
    let second = pair.carry("UPDATE long_key SET n = 2").await;
    assert_eq!(first.row_keys(), second.row_keys());
    pair.must_be_equal().await;
    assert_eq!(
        pair.other
            .postgres
            .value("SELECT length(body) FROM doc WHERE id = 2")
            .await,
        "32001"
    );
}

/// Keys of several columns, keys that change, also so that two rows change places, and keys that are not the primary one.
#[tokio::test]
async fn rows_are_found_by_whatever_tells_them_apart() {
    let mut pair = Pair::start(
        "CREATE TABLE many (a int, b text, c date, v int, PRIMARY KEY (c, a, b));
         CREATE TABLE by_index (a int NOT NULL, b int, UNIQUE (a)); ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_a_key;
         CREATE TABLE by_all (a int, b json, c text); ALTER TABLE by_all REPLICA IDENTITY FULL;
         CREATE TABLE only_key (a int PRIMARY KEY)",
    )
    .await;
    let inserted = pair
        .carry("INSERT INTO many SELECT i, 'b' || i, date '2026-01-01' + i, i FROM generate_series(1, 40) i")
        .await;
    assert_eq!(inserted.row_keys().len(), 40);
    let updated = pair.carry("UPDATE many SET v = -v").await;
    assert_eq!(inserted.row_keys(), updated.row_keys());
    let moved = pair.carry("UPDATE many SET b = 'x' WHERE a <= 10").await;
    assert_eq!(moved.row_keys().len(), 20);
    let removed = pair.carry("DELETE FROM many WHERE b = 'x' OR a > 35").await;
    assert_eq!(removed.changes().len(), 15);
    // Rows that change places on the way through a third.
    pair.carry(
        "DO $$ BEGIN UPDATE many SET a = 0 WHERE a = 11; UPDATE many SET a = 11, b = 'b11', c = '2026-01-12' WHERE a = 12;
         UPDATE many SET a = 12, b = 'b12', c = '2026-01-13' WHERE a = 0; END $$",
    )
    .await;
    pair.carry("INSERT INTO by_index VALUES (1, 1), (2, 2), (3, NULL)")
        .await;
    pair.carry("UPDATE by_index SET b = 7 WHERE a = 1").await;
    pair.carry("UPDATE by_index SET a = 4 WHERE a = 3").await;
    pair.carry("DELETE FROM by_index WHERE a = 2").await;
    pair.carry("INSERT INTO by_all VALUES (1, '{}', NULL), (1, '{}', NULL), (1, '{}', NULL), (NULL, NULL, 'x')").await;
    pair.carry("UPDATE by_all SET c = 'one of them' WHERE ctid = (SELECT ctid FROM by_all WHERE a = 1 LIMIT 1)").await;
    pair.carry("DELETE FROM by_all WHERE ctid = (SELECT ctid FROM by_all WHERE a = 1 AND c IS NULL LIMIT 1)").await;
    pair.carry("UPDATE by_all SET a = 9 WHERE a IS NULL").await;
    pair.carry("INSERT INTO only_key VALUES (1), (2)").await;
    pair.carry("UPDATE only_key SET a = a WHERE a = 1").await;
    pair.carry("UPDATE only_key SET a = 3 WHERE a = 2").await;
    pair.must_be_equal().await;
    assert_eq!(
        pair.other
            .postgres
            .value("SELECT count(*) FROM by_all WHERE a = 1")
            .await,
        "2"
    );
}

/// A table without key takes rows; PostgreSQL itself refuses the rest, and set-up warns.
#[tokio::test]
async fn a_table_without_key_takes_inserts() {
    let mut pair =
        Pair::start("CREATE TABLE history (a int, b text); CREATE TABLE good (a int PRIMARY KEY)")
            .await;
    let write_set = pair
        .carry("INSERT INTO history VALUES (1, 'x'), (1, 'x'), (NULL, NULL)")
        .await;
    assert!(write_set.row_keys().is_empty());
    let attempt = pair.origin.attempt("UPDATE history SET a = 2");
    match pair.runner.run(&attempt).await {
        Ran::Failed { error, .. } => assert_eq!(&error.state.0, b"55000"),
        other => panic!("{other:?}"),
    }
    pair.must_be_equal().await;
    let warned: Vec<&str> = pair
        .origin
        .report
        .warnings
        .iter()
        .map(|warning| &*warning.subject)
        .collect();
    assert_eq!(warned, ["history"]);
}

/// Names that have to be quoted, and schemas.
#[tokio::test]
async fn names_may_be_anything() {
    let mut pair = Pair::start(
        "CREATE SCHEMA \"My \"\"Schema\"; \
         CREATE TABLE \"My \"\"Schema\".\"select\" (\"Key\" int PRIMARY KEY, \"a.b; --\" text, \"\u{fc}\" int)",
    )
    .await;
    let table = "\"My \"\"Schema\".\"select\"";
    pair.carry(&format!("INSERT INTO {table} VALUES (1, 'x', 2)"))
        .await;
    pair.carry(&format!(
        "UPDATE {table} SET \"a.b; --\" = 'y', \"\u{fc}\" = 3"
    ))
    .await;
    pair.carry(&format!("UPDATE {table} SET \"Key\" = 4")).await;
    pair.must_be_equal().await;
    pair.carry(&format!("DELETE FROM {table}")).await;
    pair.must_be_equal().await;
}

/// Neither triggers nor foreign keys act again at the apply, and the order of tables does not matter there.
#[tokio::test]
async fn what_triggers_and_foreign_keys_did_travels_and_is_not_done_again() {
    let mut pair = Pair::start(
        "CREATE TABLE parent (id int PRIMARY KEY, children int DEFAULT 0);
         CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE);
         CREATE FUNCTION count_it() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN UPDATE parent SET children = children + 1 WHERE id = NEW.parent; RETURN NEW; END $$;
         CREATE TRIGGER counted AFTER INSERT ON child FOR EACH ROW EXECUTE FUNCTION count_it()",
    )
    .await;
    pair.carry("INSERT INTO parent VALUES (1), (2)").await;
    pair.carry("INSERT INTO child VALUES (1, 1), (2, 1), (3, 2)")
        .await;
    assert_eq!(
        pair.other
            .postgres
            .value("SELECT children FROM parent WHERE id = 1")
            .await,
        "2"
    );
    let removed = pair.carry("DELETE FROM parent WHERE id = 1").await;
    assert_eq!(removed.changes().len(), 3);
    pair.carry("DO $$ BEGIN INSERT INTO parent VALUES (5); INSERT INTO child VALUES (9, 5); UPDATE parent SET id = 6 WHERE id = 2 AND false; END $$")
        .await;
    pair.must_be_equal().await;
}

/// TRUNCATE travels as what it is.
#[tokio::test]
async fn emptied_tables_are_emptied() {
    let mut pair = Pair::start(
        "CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a);
         CREATE TABLE c (id int PRIMARY KEY)",
    )
    .await;
    pair.carry("INSERT INTO a VALUES (1)").await;
    pair.carry("INSERT INTO b VALUES (1, 1)").await;
    pair.carry("INSERT INTO c VALUES (1)").await;
    let write_set = pair
        .carry(
            "DO $$ BEGIN INSERT INTO c VALUES (2); TRUNCATE a, b; INSERT INTO a VALUES (7); END $$",
        )
        .await;
    assert_eq!(write_set.truncated().len(), 2);
    pair.carry("TRUNCATE a CASCADE").await;
    pair.must_be_equal().await;
    assert_eq!(
        pair.other.postgres.value("SELECT count(*) FROM c").await,
        "2"
    );
}

/// Columns that are added between two calls, at both servers.
#[tokio::test]
async fn a_table_may_change_between_calls() {
    let mut pair = Pair::start("CREATE TABLE t (id int PRIMARY KEY, a int)").await;
    pair.carry("INSERT INTO t VALUES (1, 1)").await;
    for replica in [&pair.origin, &pair.other] {
        replica
            .postgres
            .simple("ALTER TABLE t ADD b text DEFAULT 'new', DROP a")
            .await;
    }
    pair.carry("INSERT INTO t VALUES (2, 'x')").await;
    pair.carry("UPDATE t SET b = 'y'").await;
    pair.must_be_equal().await;
}

/// A row that is missing at the other server is not passed over in silence.
#[tokio::test]
async fn rows_that_are_not_found_are_counted() {
    let mut pair = Pair::start(
        "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
    )
    .await;
    pair.other
        .postgres
        .simple("DELETE FROM t WHERE id < 3")
        .await;
    let (gid, write_set) = pair
        .run("DO $$ BEGIN UPDATE t SET a = 5 WHERE id <> 2; DELETE FROM t WHERE id = 2; END $$")
        .await;
    let applied = pair
        .applier
        .apply(&gid, &write_set, Durability::Sync, Duration::ZERO)
        .await
        .unwrap();
    let expected = Applied::Now {
        missing: 2,
        first_missing: Some("public.t".to_owned()),
    };
    assert_eq!(applied, expected);
    // A row that should not be there is an error, and nothing is applied.
    pair.other
        .postgres
        .simple("INSERT INTO t VALUES (9, 9)")
        .await;
    let (gid, write_set) = pair.run("INSERT INTO t VALUES (8, 8), (9, 8)").await;
    let error = pair
        .applier
        .apply(&gid, &write_set, Durability::Sync, Duration::ZERO)
        .await
        .unwrap_err();
    assert_eq!(error.server().unwrap().table.as_deref(), Some("t"));
    assert_eq!(
        pair.other
            .postgres
            .value("SELECT count(*) FROM t WHERE id = 8")
            .await,
        "0"
    );
    assert_eq!(
        pair.other
            .postgres
            .value("SELECT count(*) FROM quintet.applied")
            .await,
        "1"
    );
    assert!(pair.applier.is_usable());
}

/// A write set of many rows: the server's answers must not block what is still being sent.
#[tokio::test]
async fn a_large_write_set_arrives() {
    let mut pair = Pair::start("CREATE TABLE t (id int PRIMARY KEY, a text)").await;
    let write_set = pair
        .carry("INSERT INTO t SELECT i, repeat(md5(i::text), 10) FROM generate_series(1, 10000) i")
        .await;
    assert_eq!(write_set.row_keys().len(), 10_000);
    pair.carry("UPDATE t SET a = 'x' || a").await;
    pair.carry("DELETE FROM t WHERE id % 2 = 0").await;
    pair.must_be_equal().await;
}

/// A write set over the limit is told as that, and the next one comes as usual.
#[tokio::test]
async fn a_write_set_over_the_limit_names_it() {
    let mut replica = Replica::start("CREATE TABLE t (id int PRIMARY KEY, a text)").await;
    let settings = Settings::new("");
    let server = replica.postgres.server();
    let stream = Stream::with_limit(&server, &replica.front, &settings, 10_000)
        .await
        .unwrap();
    let mut stream = Told { stream };
    let mut runner = replica.runner().await;
    for rows in [1_000, 1] {
        let attempt = replica.attempt(&format!(
            "INSERT INTO t SELECT i, 'x' FROM generate_series({rows}, {rows} * 2) i"
        ));
        must_prepare(runner.run(&attempt).await);
    }
    match stream.next().await {
        Item::Prepared { tag, write_set, .. } => {
            let error = write_set.unwrap_err();
            assert_eq!(error.limit, 10_000);
            assert!(error.bytes > 50_000 && error.bytes < 300_000, "{error}");
            assert!(error.to_string().contains("WRITE_SET_BYTES_MAX"));
            assert_eq!(tag.unwrap().place, 1);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(stream.line().await, "prepared 1.2 place 2, 2 changes");
}

/// Goal: two calls at two servers that would make equal rows have a key in common, so that one of them can be refused. Method: pairs of
/// statements, each prepared at its own server.
#[tokio::test]
async fn rows_that_must_not_both_be_have_a_key_in_common() {
    let schema = "CREATE TABLE person (id int PRIMARY KEY, mail text, name text, n int);
         CREATE UNIQUE INDEX ON person (mail, n); CREATE TABLE nick (id int PRIMARY KEY, name text); CREATE UNIQUE INDEX ON nick (lower(name)) WHERE name > '';
         CREATE TABLE whole (id int PRIMARY KEY, a text); ALTER TABLE whole REPLICA IDENTITY FULL;
         CREATE TABLE booking (id int PRIMARY KEY, during int4range, EXCLUDE USING gist (during WITH &&));
         CREATE TABLE log (a int, b int UNIQUE)";
    let (mut one, mut other) = tokio::join!(Replica::start(schema), Replica::start(schema));
    let (mut at_one, mut at_other) = (one.stream().await, other.stream().await);
    let (mut first, mut second) = (one.runner().await, other.runner().await);
    for (statement, against, meet) in [
        (
            "person VALUES (1, 'm', NULL, 1)",
            "person VALUES (2, 'm', NULL, 1)",
            true,
        ),
        (
            "person VALUES (1, 'm', NULL, 1)",
            "person VALUES (2, 'm', NULL, 2)",
            false,
        ),
        (
            "person VALUES (1, 'm', NULL, NULL)",
            "person VALUES (2, 'm', NULL, NULL)",
            false,
        ),
        // Of an expression it is not known which rows it makes equal.
        ("nick VALUES (1, 'Ann')", "nick VALUES (2, 'ann')", true),
        ("whole VALUES (1, 'x')", "whole VALUES (1, 'y')", true),
        ("whole VALUES (1, 'x')", "whole VALUES (2, 'x')", false),
        (
            "booking VALUES (1, '[1,5)')",
            "booking VALUES (2, '[3,7)')",
            true,
        ),
        ("log VALUES (1, 1)", "log VALUES (2, 1)", true),
        ("log VALUES (1, 1)", "log VALUES (1, 2)", false),
    ] {
        let attempt = one.attempt(&format!("INSERT INTO {statement}"));
        must_prepare(first.run(&attempt).await);
        let (_, _, write_set) = at_one.prepared().await;
        first.rollback(&attempt.tag.gid).await.unwrap();
        at_one.next().await;
        let attempt = other.attempt(&format!("INSERT INTO {against}"));
        must_prepare(second.run(&attempt).await);
        let (_, _, other_set) = at_other.prepared().await;
        second.rollback(&attempt.tag.gid).await.unwrap();
        at_other.next().await;
        let keys = other_set.row_keys();
        let found = write_set.row_keys().iter().any(|key| keys.contains(key));
        assert_eq!(found, meet, "{statement} against {against}");
    }
}
