//! Crashes, reconnects, starts anew, stalls: what is told and reported afterwards.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Durability, Level};
use quintet_replica::*;
use std::time::Duration;
use support::*;

const TABLE: &str = "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) i";

async fn prepare(replica: &mut Replica, runner: &mut Runner, sql: &str) -> Gid {
    let attempt = replica.attempt(sql);
    must_prepare(runner.run(&attempt).await);
    attempt.tag.gid
}

/// Goal: what was confirmed does not come again, everything else does, wherever the stream is cut. Method: a log with every kind of
/// item; the stream is opened anew once for each of them, confirming one more each time.
#[tokio::test]
async fn a_stream_begins_where_it_was_confirmed() {
    let mut replica = Replica::start(TABLE).await;
    let mut runner = replica.runner().await;
    let mut applier = replica.applier().await;
    let one = prepare(&mut replica, &mut runner, "UPDATE t SET a = 1 WHERE id = 1").await;
    let two = prepare(&mut replica, &mut runner, "UPDATE t SET a = 1 WHERE id = 2").await;
    runner.commit(&one).await.unwrap();
    replica
        .postgres
        .simple("UPDATE t SET a = 1 WHERE id IN (3, 4)")
        .await;
    let nothing = WriteSet::default();
    let elsewhere = replica.front.gid(99);
    applier
        .apply(&elsewhere, &nothing, Durability::Sync, Duration::ZERO)
        .await
        .unwrap();
    runner.rollback(&two).await.unwrap();
    let foreign = "BEGIN; INSERT INTO t VALUES (101, 1); PREPARE TRANSACTION 'somebody''s'";
    replica.postgres.simple(foreign).await;
    replica
        .postgres
        .simple("COMMIT PREPARED 'somebody''s'")
        .await;
    prepare(&mut replica, &mut runner, "SELECT 1").await;
    let expected = [
        "prepared 1.1 place 1, 1 changes",
        "prepared 1.2 place 2, 1 changes",
        "committed 1.1",
        "written by nobody, 2 changes",
        "applied 1.99",
        "rolled back 1.2",
        "prepared somebody's place none, 1 changes",
        "committed somebody's",
        "prepared 1.3 place 3, 0 changes",
    ];
    let mut stream = replica.stream().await;
    let items = stream.all(&replica.postgres).await;
    let lines = |items: &[Item]| -> Vec<String> { items.iter().map(line).collect() };
    // The rows of what was rolled back may be missing: the server stops reading a transaction that it finds to be aborted.
    let aborted = |lines: &[String]| -> Vec<String> {
        let blank =
            |line: &String| line.replace("1.2 place 2, 0 changes", expected[1].split_at(9).1);
        lines.iter().map(blank).collect()
    };
    assert_eq!(aborted(&lines(&items)), expected);
    for number in 0..items.len() {
        stream.stream.confirm(items[number].position());
        stream.stream.close().await;
        stream = replica.stream().await;
        let again = stream.all(&replica.postgres).await;
        let positions: Vec<WalPosition> = again.iter().map(Item::position).collect();
        let left: Vec<WalPosition> = items[number + 1..].iter().map(Item::position).collect();
        assert_eq!(positions, left, "confirmed {}", expected[number]);
        assert_eq!(aborted(&lines(&again)), expected[number + 1..]);
    }
}

/// A stream whose connection breaks without a word is followed by another at once, though the server thinks that the first still reads.
#[tokio::test]
async fn a_stream_takes_over_from_one_that_is_gone() {
    let mut replica = Replica::start(TABLE).await;
    let mut runner = replica.runner().await;
    let mut first = replica.stream().await;
    prepare(&mut replica, &mut runner, "UPDATE t SET a = 1").await;
    assert_eq!(first.line().await, "prepared 1.1 place 1, 100 changes");
    let mut second = replica.stream().await;
    assert_eq!(second.line().await, "prepared 1.1 place 1, 100 changes");
    let error = loop {
        match first.stream.next().await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(error.is_lost(), "{error}");
}

/// The server is killed between PREPARE and COMMIT PREPARED. The attempt is still there, reported and told again, and can be committed; of a
/// second one it is known that it was decided.
#[tokio::test]
async fn what_was_prepared_outlives_the_server() {
    let mut replica = Replica::start(TABLE).await;
    let mut runner = replica.runner().await;
    let mut stream = replica.stream().await;
    let one = prepare(&mut replica, &mut runner, "UPDATE t SET a = 1 WHERE id = 1").await;
    let two = prepare(&mut replica, &mut runner, "UPDATE t SET a = 2 WHERE id = 2").await;
    runner.commit(&one).await.unwrap();
    assert_eq!(stream.line().await, "prepared 1.1 place 1, 1 changes");
    // A third is being run and leaves nothing.
    let mut running = replica.attempt("UPDATE t SET a = 3 WHERE id = 3");
    running.service = Duration::from_secs(60);
    let mut other = replica.runner().await;
    let lost = tokio::spawn(async move { other.run(&running).await });
    tokio::time::sleep(Duration::from_millis(100)).await;

    replica.postgres.kill();
    assert!(matches!(lost.await.unwrap(), Ran::Lost(_)));
    assert!(runner.commit(&two).await.unwrap_err().is_lost());
    assert!(!runner.is_usable());
    let error = loop {
        match stream.stream.next().await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(error.is_lost(), "{error}");

    replica.postgres.resume().await;
    replica.restart_front().await;
    assert_eq!(replica.report.prepared, std::slice::from_ref(&two));
    assert_eq!(replica.report.slot, Slot::Found);
    assert_eq!(replica.front.epoch(), 2);
    let mut stream = replica.stream().await;
    let lines = stream.all_lines(&replica.postgres).await;
    let expected = [
        "prepared 1.1 place 1, 1 changes",
        "prepared 1.2 place 2, 1 changes",
        "committed 1.1",
    ];
    assert_eq!(lines, expected);
    let mut runner = replica.runner().await;
    assert_eq!(runner.commit(&one).await.unwrap(), Decided::Missing);
    assert_eq!(runner.commit(&two).await.unwrap(), Decided::Done);
    assert_eq!(stream.line().await, "committed 1.2");
    assert_eq!(
        replica
            .postgres
            .value("SELECT string_agg(a::text, ',' ORDER BY id) FROM t WHERE id < 4")
            .await,
        "1,2,0"
    );
}

/// A write set that was applied without waiting for the disk is there as a whole or not at all after a crash, and `applied` says which.
#[tokio::test]
async fn an_apply_that_was_not_durable_is_there_or_not() {
    let (mut origin, mut other) = tokio::join!(Replica::start(TABLE), Replica::start(TABLE));
    let mut runner = origin.runner().await;
    let mut stream = origin.stream().await;
    let mut applier = other.applier().await;
    let mut write_sets = Vec::new();
    for number in 1..=20 {
        let gid = prepare(
            &mut origin,
            &mut runner,
            &format!("UPDATE t SET a = 7 WHERE id = {number}"),
        )
        .await;
        let (_, _, write_set) = stream.prepared().await;
        runner.commit(&gid).await.unwrap();
        stream.line().await;
        let durability = if number == 5 {
            Durability::Sync
        } else {
            Durability::Async
        };
        applier
            .apply(&gid, &write_set, durability, Duration::ZERO)
            .await
            .unwrap();
        write_sets.push((gid, write_set));
    }
    other.postgres.kill();
    other.postgres.resume().await;
    other.restart_front().await;
    let applied = other.report.applied.clone();
    assert!(
        applied.len() >= 5,
        "the fifth took those before it along: {applied:?}"
    );
    let changed = other
        .postgres
        .value("SELECT count(*) FROM t WHERE a = 7")
        .await;
    assert_eq!(changed, applied.len().to_string());
    let mut applier = other.applier().await;
    for (gid, write_set) in &write_sets {
        let outcome = applier
            .apply(gid, write_set, Durability::Sync, Duration::ZERO)
            .await
            .unwrap();
        assert_eq!(outcome == Applied::Already, applied.contains(gid));
    }
    assert_eq!(
        other
            .postgres
            .value("SELECT count(*) FROM t WHERE a = 7")
            .await,
        "20"
    );
}

/// A front end that starts again: the sessions of the earlier start end, and it cannot make new ones.
#[tokio::test]
async fn an_earlier_start_is_shut_out() {
    let mut replica = Replica::start(TABLE).await;
    let mut runner = replica.runner().await;
    let mut applier = replica.applier().await;
    let mut stream = replica.stream().await;
    let gid = prepare(&mut replica, &mut runner, "UPDATE t SET a = 1 WHERE id = 1").await;
    let earlier = replica.front.clone();
    replica.restart_front().await;
    assert_eq!(replica.report.prepared, std::slice::from_ref(&gid));
    assert_eq!(replica.report.front.epoch(), earlier.epoch() + 1);

    assert!(runner.commit(&gid).await.unwrap_err().is_lost());
    let nothing = WriteSet::default();
    let error = applier
        .apply(&gid, &nothing, Durability::Sync, Duration::ZERO)
        .await
        .unwrap_err();
    assert!(error.is_lost());
    while stream.stream.next().await.is_ok() {}
    let server = replica.postgres.server();
    let settings = Settings::new("");
    let error = Runner::connect(&server, &earlier, &settings)
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::Fenced { ours: 1, found: 2 }),
        "{error}"
    );
    assert!(
        Applier::connect(&server, &earlier, &settings)
            .await
            .is_err()
    );
    assert!(Stream::open(&server, &earlier, &settings).await.is_err());
}

/// The stream up to the reported position tells everything that the report is about.
#[tokio::test]
async fn the_reported_position_is_reached() {
    let mut replica = Replica::start(TABLE).await;
    let mut runner = replica.runner().await;
    for number in 1..=3 {
        prepare(
            &mut replica,
            &mut runner,
            &format!("UPDATE t SET a = 1 WHERE id = {number}"),
        )
        .await;
    }
    replica.restart_front().await;
    let mut stream = replica.stream().await;
    let mut told = Vec::new();
    loop {
        let item = tokio::time::timeout(PATIENCE, stream.stream.next())
            .await
            .unwrap()
            .unwrap();
        if let Item::Prepared { gid, .. } = &item {
            told.push(gid.clone());
        }
        if item.position() >= replica.report.position {
            break;
        }
    }
    assert_eq!(told, replica.report.prepared);
}

/// A server that is not configured for it is told what to change, all at once.
#[tokio::test]
async fn missing_settings_are_named() {
    let postgres =
        Postgres::start_with(&["wal_level=replica", "max_prepared_transactions=0"]).await;
    let error = set_up(&postgres.server(), "shop", TIMEOUT)
        .await
        .unwrap_err();
    let Error::Configuration(problems) = &error else {
        panic!("{error}");
    };
    let subjects: Vec<&str> = problems.iter().map(|problem| &*problem.subject).collect();
    assert_eq!(subjects, ["wal_level", "max_prepared_transactions"]);
    assert!(
        error
            .to_string()
            .contains("wal_level is replica, needed is logical")
    );

    let postgres = Postgres::start().await;
    postgres.simple("CREATE ROLE ann LOGIN").await;
    let url = format!("postgres://ann@127.0.0.1:{}/postgres", postgres.port);
    let error = set_up(&Server::parse(&url).unwrap(), "shop", TIMEOUT)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("a superuser"), "{error}");
}

/// A slot that would wait for a prepared transaction for ever is not begun, and two front ends do not get into each other's way.
#[tokio::test]
async fn a_slot_is_not_made_while_something_is_prepared() {
    let postgres = Postgres::start().await;
    postgres.simple("CREATE TABLE t (a int)").await;
    postgres
        .simple("BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'mine'")
        .await;
    match set_up(&postgres.server(), "shop", TIMEOUT)
        .await
        .unwrap_err()
    {
        Error::PreparedBeforeSlot(gids) => assert_eq!(gids, ["mine"]),
        other => panic!("{other}"),
    }
    postgres.simple("ROLLBACK PREPARED 'mine'").await;
    let report = set_up(&postgres.server(), "shop", TIMEOUT).await.unwrap();
    assert_eq!((report.slot, report.front.epoch()), (Slot::Made, 1));
    assert!(report.server_version >= 150_000);
    postgres
        .simple("BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'mine'")
        .await;
    let again = set_up(&postgres.server(), "shop", TIMEOUT).await.unwrap();
    assert_eq!((again.slot, again.foreign.len()), (Slot::Found, 1));
    assert_eq!(again.system_identifier, report.system_identifier);
}

/// What was made is taken away again, but not under an attempt that nobody has decided.
#[tokio::test]
async fn a_replica_can_be_let_go() {
    let mut replica = Replica::start(TABLE).await;
    let mut runner = replica.runner().await;
    let gid = prepare(&mut replica, &mut runner, "UPDATE t SET a = 1").await;
    let server = replica.postgres.server();
    let error = remove(&server, "shop", TIMEOUT).await.unwrap_err();
    assert!(error.to_string().contains(gid.as_str()), "{error}");
    replica.restart_front().await;
    replica.runner().await.rollback(&gid).await.unwrap();
    remove(&server, "shop", TIMEOUT).await.unwrap();
    let left = "SELECT (SELECT count(*) FROM pg_replication_slots) + (SELECT count(*) FROM pg_publication) \
         + (SELECT count(*) FROM pg_namespace WHERE nspname = 'quintet')";
    assert_eq!(replica.postgres.value(left).await, "0");
    // And once more, where nothing is left to take away.
    remove(&server, "shop", TIMEOUT).await.unwrap();
}

/// A stream that nothing happens on stays open, because the server's questions are answered.
#[tokio::test]
async fn a_silent_stream_stays_open() {
    let postgres = Postgres::start_with(&["wal_sender_timeout=1s"]).await;
    postgres.simple(TABLE).await;
    let mut replica = Replica::take_over(postgres).await;
    let mut stream = replica.stream().await;
    let late = tokio::time::timeout(Duration::from_secs(3), stream.next()).await;
    assert!(late.is_err(), "{late:?}");
    let mut runner = replica.runner().await;
    prepare(&mut replica, &mut runner, "UPDATE t SET a = 1 WHERE id = 1").await;
    assert_eq!(stream.line().await, "prepared 1.1 place 1, 1 changes");
}

/// A server that is stopped answers nobody, and that is noticed in time.
#[tokio::test]
async fn a_stalled_server_is_given_up() {
    let replica = Replica::start(TABLE).await;
    replica.postgres.signal_all("-STOP");
    let mut settings = Settings::new("");
    settings.connect_timeout = Duration::from_millis(300);
    let error = Runner::connect(&replica.postgres.server(), &replica.front, &settings)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    assert!(error.is_lost());
    replica.postgres.signal_all("-CONT");
}

/// An apply and a call under way that wait for each other: the call loses, soon, and the apply goes on.
#[tokio::test]
async fn in_a_deadlock_with_an_apply_the_call_loses() {
    let (mut origin, mut replica) = tokio::join!(Replica::start(TABLE), Replica::start(TABLE));
    let mut at_origin = origin.runner().await;
    let mut stream = origin.stream().await;
    let sql =
        "DO $$ BEGIN UPDATE t SET a = 5 WHERE id = 2; UPDATE t SET a = 5 WHERE id = 1; END $$";
    let gid = prepare(&mut origin, &mut at_origin, sql).await;
    let (_, _, write_set) = stream.prepared().await;

    let mut runner = replica.runner().await;
    let mut applier = replica.applier().await;
    let tag = replica.tag();
    runner.begin(Level::Snapshot, Some(&tag)).await.unwrap();
    runner
        .connection()
        .simple("UPDATE t SET a = 6 WHERE id = 1")
        .await
        .unwrap();
    let applying = tokio::spawn(async move {
        applier
            .apply(&gid, &write_set, Durability::Sync, Duration::ZERO)
            .await
    });
    while replica
        .postgres
        .value("SELECT count(*) FROM pg_locks WHERE NOT granted")
        .await
        == "0"
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let error = runner
        .connection()
        .simple("UPDATE t SET a = 6 WHERE id = 2")
        .await
        .unwrap_err();
    assert_eq!(&error.state().unwrap().0, b"40P01");
    runner.roll_back().await.unwrap();
    assert!(matches!(
        applying.await.unwrap(),
        Ok(Applied::Now { missing: 0, .. })
    ));
}

/// An apply that meets a row of an undecided attempt waits for the decision, as long as it is told to.
#[tokio::test]
async fn an_apply_waits_for_the_decision_about_a_row() {
    let (mut origin, mut replica) = tokio::join!(Replica::start(TABLE), Replica::start(TABLE));
    let mut at_origin = origin.runner().await;
    let mut stream = origin.stream().await;
    let gid = prepare(
        &mut origin,
        &mut at_origin,
        "UPDATE t SET a = 5 WHERE id = 1",
    )
    .await;
    let (_, _, write_set) = stream.prepared().await;
    let mut runner = replica.runner().await;
    let undecided = prepare(&mut replica, &mut runner, "UPDATE t SET a = 6 WHERE id = 1").await;
    let settings = Settings::new("").with("lock_timeout", "100ms");
    let server = replica.postgres.server();
    let mut applier = Applier::connect(&server, &replica.front, &settings)
        .await
        .unwrap();
    let error = applier
        .apply(&gid, &write_set, Durability::Sync, Duration::ZERO)
        .await
        .unwrap_err();
    assert_eq!(&error.state().unwrap().0, b"55P03");
    runner.rollback(&undecided).await.unwrap();
    let applied = applier
        .apply(&gid, &write_set, Durability::Sync, Duration::ZERO)
        .await;
    assert!(matches!(applied, Ok(Applied::Now { missing: 0, .. })));
}

/// The log is read while a prepared transaction holds the strongest lock on a table. It is not read past one that locks the server's own
/// tables, which the manual warns of: the reader waits for the decision, and the decision must not wait for the reader.
#[tokio::test]
async fn reading_waits_for_locks_on_the_catalogue_only() {
    let mut replica = Replica::start(TABLE).await;
    let mut runner = replica.runner().await;
    let altered = prepare(
        &mut replica,
        &mut runner,
        "ALTER TABLE t ADD b int DEFAULT 1",
    )
    .await;
    let mut stream = replica.stream().await;
    assert_eq!(stream.line().await, "prepared 1.1 place 1, 0 changes");
    runner.commit(&altered).await.unwrap();
    assert_eq!(stream.line().await, "committed 1.1");
    let sql = "DO $$ BEGIN LOCK TABLE pg_publication; UPDATE t SET a = 1 WHERE id = 1; END $$";
    let locking = prepare(&mut replica, &mut runner, sql).await;
    stream.stream.close().await;
    let mut stream = replica.stream().await;
    let nothing = tokio::time::timeout(Duration::from_millis(700), async {
        while !stream.line().await.contains("1.2") {}
    });
    assert!(nothing.await.is_err());
    runner.rollback(&locking).await.unwrap();
    let lines = stream.all_lines(&replica.postgres).await;
    assert_eq!(
        lines.last().map(String::as_str),
        Some("rolled back 1.2"),
        "{lines:?}"
    );
}

/// All ways to log in, and the Unix socket.
#[tokio::test]
async fn a_login_is_proven_by_password() {
    let postgres = Postgres::start().await;
    postgres
        .simple(
            "SET password_encryption = 'md5'; CREATE ROLE old LOGIN PASSWORD 'pa:ss';
             SET password_encryption = 'scram-sha-256'; CREATE ROLE new LOGIN PASSWORD 'sécret';
             CREATE ROLE plain LOGIN PASSWORD 'open'",
        )
        .await;
    let rules = "CREATE TEMP TABLE rules (line text);
         INSERT INTO rules VALUES ('host all old all md5'), ('host all new all scram-sha-256'),
         ('host all plain all password'), ('host all gss all gss'), ('host all all all trust'), ('local all all trust');";
    let file = "SELECT current_setting('hba_file')";
    let file = postgres.value(file).await;
    postgres
        .simple(&format!(
            "{rules} COPY rules TO '{file}'; SELECT pg_reload_conf()"
        ))
        .await;
    let port = postgres.port;
    let login = async |login: &str| {
        let server =
            Server::parse(&format!("postgres://{login}@127.0.0.1:{port}/postgres")).unwrap();
        let mut connection = server.connect(&Settings::new("test")).await?;
        connection.simple("SELECT current_user").await
    };
    for user in ["old:pa%3Ass", "new:s%C3%A9cret", "plain:open"] {
        let rows = login(user).await.unwrap();
        assert_eq!(rows[0][0].as_deref(), user.split(':').next());
    }
    for user in ["old:wrong", "new:wrong", "plain:wrong"] {
        assert_eq!(
            &login(user).await.unwrap_err().state().unwrap().0,
            b"28P01",
            "{user}"
        );
    }
    let error = login("new").await.unwrap_err();
    assert!(matches!(error, Error::Authentication { .. }), "{error}");
    let directory = postgres.socket_directory().replace('/', "%2F");
    let server = Server::parse(&format!("postgres://quintet@{directory}:{port}/postgres")).unwrap();
    let mut connection = server.connect(&Settings::new("test")).await.unwrap();
    assert_eq!(
        connection
            .simple("SELECT inet_client_addr()")
            .await
            .unwrap(),
        [[None]]
    );
    let error = Server::parse("postgres://a@127.0.0.1:1/x")
        .unwrap()
        .connect(&Settings::new("test"))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Lost { .. }), "{error}");
}
