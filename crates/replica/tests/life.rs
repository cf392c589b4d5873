//! The life of an attempt at real servers: run, prepared, told, decided, applied elsewhere, equal.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Durability, Level};
use quintet_replica::*;
use std::time::Duration;
use support::*;

const ACCOUNTS: &str = "
    CREATE TABLE account (id int PRIMARY KEY, owner text NOT NULL, balance numeric(12, 2));
    INSERT INTO account SELECT i, 'owner ' || i, 100 FROM generate_series(1, 10) i;
    CREATE PROCEDURE transfer(one int, other int, amount numeric, OUT left_over numeric) LANGUAGE plpgsql AS $$
    BEGIN
        RAISE NOTICE 'moving %', amount;
        UPDATE account SET balance = balance - amount WHERE id = one RETURNING balance INTO left_over;
        UPDATE account SET balance = balance + amount WHERE id = other;
        IF left_over < 0 THEN RAISE EXCEPTION 'too little' USING ERRCODE = 'BANK1'; END IF;
    END $$;
    CREATE PROCEDURE look(one int, OUT seen numeric) LANGUAGE plpgsql AS $$
    BEGIN SELECT balance INTO seen FROM account WHERE id = one; END $$;
";

/// Goal: the whole way once. Two servers with the same data; a call runs at the first and its write set gets into the second.
#[tokio::test]
async fn a_call_runs_at_one_server_and_its_rows_get_to_the_other() {
    let (mut origin, other) = tokio::join!(Replica::start(ACCOUNTS), Replica::start(ACCOUNTS));
    let mut runner = origin.runner().await;
    let mut applier = other.applier().await;
    let mut stream = origin.stream().await;
    let mut at_other = other.stream().await;

    let attempt = origin.attempt("CALL transfer(1, 2, 30, NULL)");
    let gid = attempt.tag.gid.clone();
    let answer = must_prepare(runner.run(&attempt).await);
    assert_eq!(rows(&answer), [["70.00"]]);
    assert_eq!(answer.description[0], b'T');
    assert_eq!(answer.rows[0], b'N', "the notice comes first");
    assert!(answer.rows.ends_with(b"CALL\0"));

    let (tag, _, write_set) = stream.prepared().await;
    assert_eq!(tag, attempt.tag);
    assert_eq!(write_set.changes().len(), 2);
    assert_eq!(write_set.row_keys().len(), 2);
    assert!(write_set.bytes() > 0);
    // Nobody sees it yet.
    let balance = "SELECT balance FROM account WHERE id = 1";
    assert_eq!(origin.postgres.value(balance).await, "100.00");

    must_apply(&mut applier, &gid, &write_set).await;
    assert_eq!(at_other.line().await, "applied 1.1");
    let again = applier
        .apply(&gid, &write_set, Durability::Async, Duration::ZERO)
        .await
        .unwrap();
    assert_eq!(again, Applied::Already);

    assert_eq!(runner.commit(&gid).await.unwrap(), Decided::Done);
    assert_eq!(stream.line().await, "committed 1.1");
    assert_eq!(runner.commit(&gid).await.unwrap(), Decided::Missing);
    assert_eq!(origin.postgres.value(balance).await, "70.00");

    let one = checksums(&origin.postgres.server(), TIMEOUT).await.unwrap();
    let two = checksums(&other.postgres.server(), TIMEOUT).await.unwrap();
    assert!(
        differences(&one, &two).is_empty(),
        "{:?}",
        differences(&one, &two)
    );
    assert_eq!(one["public.account"].rows, 10);
    other
        .postgres
        .simple("UPDATE account SET owner = 'x' WHERE id = 9")
        .await;
    let two = checksums(&other.postgres.server(), TIMEOUT).await.unwrap();
    assert_eq!(differences(&one, &two).len(), 1);

    applier.prune_to(&other.front, &[gid], &[]).await.unwrap();
    assert_eq!(
        other
            .postgres
            .value("SELECT count(*) FROM quintet.applied")
            .await,
        "0"
    );
}

/// An attempt that is rolled back leaves nothing, and its stream says so.
#[tokio::test]
async fn what_is_rolled_back_leaves_nothing() {
    let mut replica = Replica::start(ACCOUNTS).await;
    let mut runner = replica.runner().await;
    let mut stream = replica.stream().await;
    let attempt = replica.attempt("CALL transfer(1, 2, 30, NULL)");
    must_prepare(runner.run(&attempt).await);
    assert_eq!(stream.line().await, "prepared 1.1 place 1, 2 changes");
    assert_eq!(
        runner.rollback(&attempt.tag.gid).await.unwrap(),
        Decided::Done
    );
    assert_eq!(stream.line().await, "rolled back 1.1");
    assert_eq!(
        runner.rollback(&attempt.tag.gid).await.unwrap(),
        Decided::Missing
    );
    let sum = replica
        .postgres
        .value("SELECT sum(balance) FROM account")
        .await;
    assert_eq!(sum, "1000.00");
}

/// A call that fails leaves no transaction open, and the next one runs; the error comes as the server sent it.
#[tokio::test]
async fn a_call_that_fails_leaves_nothing_open() {
    let mut replica = Replica::start(ACCOUNTS).await;
    let mut runner = replica.runner().await;
    let attempt = replica.attempt("CALL transfer(1, 2, 300, NULL)");
    let Ran::Failed {
        error,
        step,
        notices,
    } = runner.run(&attempt).await
    else {
        panic!("it cannot have so much");
    };
    assert_eq!((&error.state.0, step), (b"BANK1", Step::Call));
    assert!(error.raw.windows(10).any(|part| part == b"too little"));
    assert_eq!(notices[0], b'N');
    assert!(runner.is_usable());
    for (sql, step, state) in [
        ("CALL nothing()", Step::Call, b"42883"),
        ("this is no SQL", Step::Call, b"42601"),
        // It ends the transaction that it runs in; then there is nothing to prepare.
        ("ROLLBACK", Step::Prepare, b"2D000"),
        ("CREATE TEMP TABLE gone (a int)", Step::Prepare, b"0A000"),
    ] {
        let attempt = replica.attempt(sql);
        match runner.run(&attempt).await {
            Ran::Failed {
                error, step: found, ..
            } => {
                assert_eq!((&error.state.0, found), (state, step), "{sql}: {error}");
            }
            other => panic!("{sql}: {other:?}"),
        }
        assert!(runner.is_usable(), "{sql}");
    }
    let attempt = replica.attempt("CALL transfer(1, 2, 3, NULL)");
    must_prepare(runner.run(&attempt).await);
    runner.rollback(&attempt.tag.gid).await.unwrap();
    assert_eq!(
        replica
            .postgres
            .value("SELECT count(*) FROM pg_prepared_xacts")
            .await,
        "0"
    );
}

/// A call of the extended protocol: values and results in the formats asked for, prepared once, again after a change below it.
#[tokio::test]
async fn a_call_may_have_parameters() {
    let mut replica = Replica::start(ACCOUNTS).await;
    let mut runner = replica.runner().await;
    let mut call = |results: &[i16]| {
        let mut attempt = replica.attempt("");
        attempt.text = CallText::Extended {
            sql: "CALL transfer($1, $2, $3, NULL)".to_owned(),
            types: vec![23, 23, 1700],
            formats: vec![1, 0, 0],
            values: [&5i32.to_be_bytes()[..], b"6", b"1.5"]
                .map(|value| Some(value.to_vec().into()))
                .to_vec(),
            result_formats: results.to_vec(),
        };
        attempt
    };
    let attempts = [call(&[]), call(&[0]), call(&[1]), call(&[])];
    for (number, attempt) in attempts.iter().enumerate() {
        let answer = must_prepare(runner.run(attempt).await);
        if number == 2 {
            // Binary: 8 bytes of header, then digits to the base of 10,000.
            assert!(
                answer
                    .rows
                    .windows(4)
                    .any(|part| part == [0, 0x5F, 0x13, 0x88]),
                "{answer:?}"
            );
        } else {
            assert_eq!(rows(&answer)[0].len(), 1);
        }
        runner.commit(&attempt.tag.gid).await.unwrap();
        if number == 0 {
            let names = runner
                .connection()
                .simple("SELECT count(*) FROM pg_prepared_statements")
                .await;
            assert_eq!(
                names.unwrap()[0][0].as_deref(),
                Some("3"),
                "begin, mark, call"
            );
            runner.connection().simple("DEALLOCATE ALL").await.unwrap();
        }
    }
    let balance = "SELECT balance FROM account WHERE id = 5";
    assert_eq!(replica.postgres.value(balance).await, "94.00");
    let described = runner
        .describe("CALL transfer($1, $2, $3, NULL)", &[])
        .await
        .unwrap();
    let kinds: Vec<u8> = described.iter().map(Frame::kind).collect();
    assert_eq!(kinds, b"tT");
    let described = runner.describe("SELECT nothing", &[]).await.unwrap();
    assert_eq!(described[0].kind(), b'E');
    assert!(runner.is_usable());
}

/// The mapping below a prepared statement changes: it is prepared again, and nobody hears of it.
#[tokio::test]
async fn a_statement_that_became_stale_is_prepared_again() {
    let replica = Replica::start(ACCOUNTS).await;
    let mut runner = replica.runner().await;
    let text = CallText::Extended {
        sql: "SELECT * FROM account WHERE id = 1".to_owned(),
        types: vec![],
        formats: vec![],
        values: vec![],
        result_formats: vec![],
    };
    for columns in [3, 4] {
        let Read::Answered(answer) = runner
            .run_read(&text, Level::ReadCommitted, Duration::ZERO)
            .await
        else {
            panic!("it reads");
        };
        assert_eq!(rows(&answer)[0].len(), columns);
        replica
            .postgres
            .simple("ALTER TABLE account ADD COLUMN IF NOT EXISTS more int")
            .await;
    }
}

/// What reads leaves nothing to decide, and what writes is refused there.
#[tokio::test]
async fn reads_write_nothing() {
    let replica = Replica::start(ACCOUNTS).await;
    let mut runner = replica.runner().await;
    for level in Level::ALL {
        let text = CallText::Simple("CALL look(3, NULL)".to_owned());
        match runner
            .run_read(&text, level, Duration::from_millis(1))
            .await
        {
            Read::Answered(answer) => assert_eq!(rows(&answer), [["100.00"]]),
            other => panic!("{other:?}"),
        }
        let text = CallText::Simple("CALL transfer(1, 2, 1, NULL)".to_owned());
        match runner.run_read(&text, level, Duration::ZERO).await {
            Read::Failed { error, .. } => assert_eq!(&error.state.0, b"25006"),
            other => panic!("{other:?}"),
        }
        assert!(runner.is_usable());
    }
}

/// A client that gave a token can ask what became of its last call, at the replica that ran it and at one that applied it.
#[tokio::test]
async fn the_last_call_of_a_client_travels_with_its_write_set() {
    let (mut origin, other) = tokio::join!(Replica::start(ACCOUNTS), Replica::start(ACCOUNTS));
    let mut runner = origin.runner().await;
    let mut applier = other.applier().await;
    let mut stream = origin.stream().await;
    let mut elsewhere = other.runner().await;
    for number in [7, 8] {
        let mut attempt = origin.attempt("CALL transfer(1, 2, 1, NULL)");
        attempt.tag.client = Some(ClientCall {
            token: "it's a token".into(),
            number,
        });
        let answer = must_prepare(runner.run(&attempt).await);
        let (tag, _, write_set) = stream.prepared().await;
        assert_eq!(tag, attempt.tag);
        assert_eq!(write_set.changes().len(), 3);
        runner.commit(&tag.gid).await.unwrap();
        assert_eq!(stream.line().await, format!("committed 1.{}", number - 6));
        must_apply(&mut applier, &tag.gid, &write_set).await;
        for runner in [&mut runner, &mut elsewhere] {
            assert_eq!(
                runner.last_call("it's a token").await.unwrap(),
                Some((number, answer.clone()))
            );
        }
    }
    assert_eq!(runner.last_call("other").await.unwrap(), None);
    // A call that fails is not remembered.
    let mut attempt = origin.attempt("CALL transfer(1, 2, 1000, NULL)");
    attempt.tag.client = Some(ClientCall {
        token: "it's a token".into(),
        number: 9,
    });
    assert!(matches!(
        runner.run(&attempt).await,
        Ran::Failed {
            step: Step::Call,
            ..
        }
    ));
    assert_eq!(
        runner.last_call("it's a token").await.unwrap().unwrap().0,
        8
    );
    let one = checksums(&origin.postgres.server(), TIMEOUT).await.unwrap();
    let two = checksums(&other.postgres.server(), TIMEOUT).await.unwrap();
    assert_eq!(differences(&one, &two), Vec::<String>::new());
    assert_eq!(one["quintet.calls"].rows, 1);
}

/// A transaction that a client drives is prepared like a call, and one that has failed is not.
#[tokio::test]
async fn an_interactive_transaction_is_prepared_at_its_end() {
    let mut replica = Replica::start(ACCOUNTS).await;
    let mut runner = replica.runner().await;
    let mut stream = replica.stream().await;
    let tag = replica.tag();
    runner.begin(Level::Snapshot, Some(&tag)).await.unwrap();
    assert_eq!(runner.connection().status(), Status::Open);
    runner
        .connection()
        .simple("UPDATE account SET balance = 1 WHERE id < 4")
        .await
        .unwrap();
    must_prepare(runner.prepare(&tag.gid, None).await);
    assert_eq!(stream.line().await, "prepared 1.1 place 1, 3 changes");
    assert_eq!(runner.commit(&tag.gid).await.unwrap(), Decided::Done);
    assert_eq!(stream.line().await, "committed 1.1");

    let tag = replica.tag();
    runner.begin(Level::Serializable, Some(&tag)).await.unwrap();
    runner
        .connection()
        .simple("SELECT 1 / 0")
        .await
        .unwrap_err();
    assert_eq!(runner.connection().status(), Status::Failed);
    match runner.prepare(&tag.gid, None).await {
        Ran::Failed { error, step, .. } => {
            assert_eq!((&error.state.0, step), (b"25P02", Step::Prepare))
        }
        other => panic!("{other:?}"),
    }
    assert!(runner.is_usable());
    assert_eq!(runner.rollback(&tag.gid).await.unwrap(), Decided::Missing);

    runner.begin(Level::ReadCommitted, None).await.unwrap();
    runner
        .connection()
        .simple("UPDATE account SET balance = 2 WHERE id = 4")
        .await
        .unwrap();
    runner.roll_back().await.unwrap();
    assert!(runner.is_usable());
    let attempt = replica.attempt("CALL transfer(7, 8, 1, NULL)");
    must_prepare(runner.run(&attempt).await);
    runner.rollback(&attempt.tag.gid).await.unwrap();
}

/// Two clients of one row: the second loses by 40001 and is to be run again.
#[tokio::test]
async fn a_conflict_is_told_apart() {
    let mut replica = Replica::start(ACCOUNTS).await;
    let mut one = replica.runner().await;
    let mut other = replica.runner().await;
    let first = replica.attempt("CALL transfer(1, 2, 1, NULL)");
    let second = replica.attempt("CALL transfer(2, 3, 1, NULL)");
    must_prepare(one.run(&first).await);
    let waiting = tokio::spawn(async move { other.run(&second).await });
    while replica
        .postgres
        .value("SELECT count(*) FROM pg_locks WHERE NOT granted")
        .await
        == "0"
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    one.commit(&first.tag.gid).await.unwrap();
    match waiting.await.unwrap() {
        Ran::Failed { error, step, .. } => {
            assert_eq!((&error.state.0, step), (b"40001", Step::Call))
        }
        ran => panic!("{ran:?}"),
    }
}

/// A call that does not come back can be stopped.
#[tokio::test]
async fn a_call_can_be_cancelled() {
    let mut replica = Replica::start(ACCOUNTS).await;
    let mut runner = replica.runner().await;
    let key = runner.connection().cancel_key();
    let mut attempt = replica.attempt("CALL transfer(1, 2, 1, NULL)");
    attempt.service = Duration::from_secs(60);
    let running = tokio::spawn(async move { runner.run(&attempt).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    key.cancel().await.unwrap();
    match running.await.unwrap() {
        Ran::Failed { error, step, .. } => {
            assert_eq!((&error.state.0, step), (b"57014", Step::Begin))
        }
        ran => panic!("{ran:?}"),
    }
}

/// A session whose answer nobody waited for is not used again.
#[tokio::test]
async fn a_session_that_was_left_alone_is_not_used_again() {
    let mut replica = Replica::start(ACCOUNTS).await;
    let mut runner = replica.runner().await;
    let mut attempt = replica.attempt("CALL transfer(1, 2, 1, NULL)");
    attempt.service = Duration::from_secs(60);
    let late = tokio::time::timeout(Duration::from_millis(100), runner.run(&attempt)).await;
    assert!(late.is_err());
    assert!(!runner.is_usable());
    assert!(matches!(runner.run(&attempt).await, Ran::Lost(_)));
}
