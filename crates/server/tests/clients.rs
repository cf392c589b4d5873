//! A driver that others wrote, against a server of ours: types, pipelines, portals, COPY, errors.
//!
//! Relies on: tokio-postgres, which sends and wants everything in binary form.

mod support;

use futures_util::{SinkExt, TryStreamExt, pin_mut};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use support::*;
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::error::{ErrorPosition, SqlState};
use tokio_postgres::types::ToSql;

#[tokio::test(flavor = "multi_thread")]
async fn values_of_every_type_pass_both_ways_in_both_formats() {
    let running = start().await;
    let client = running.tokio_postgres().await;
    client
        .batch_execute(
            "create table v (k int primary key, a bool, b smallint, c bigint, d real,
             e double precision, f text, g varchar(20), h bytea, i timestamp, j timestamptz, l oid)",
        )
        .await
        .unwrap();
    let moment = UNIX_EPOCH + Duration::from_micros(1_700_000_000_123_456);
    let insert = client
        .prepare("insert into v values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)")
        .await
        .unwrap();
    let row: [&(dyn ToSql + Sync); 12] = [
        &1i32,
        &true,
        &-2i16,
        &i64::MIN,
        &1.5f32,
        &-0.1f64,
        &"t\u{e4}xt",
        &"",
        &&b"\0\xff"[..],
        &moment,
        &moment,
        &4_000_000_000u32,
    ];
    assert_eq!(client.execute(&insert, &row).await.unwrap(), 1);
    let none: Option<&str> = None;
    client
        .execute("insert into v (k, f) values ($1, $2)", &[&2i32, &none])
        .await
        .unwrap();

    let rows = client
        .query("select * from v order by k", &[])
        .await
        .unwrap();
    let got = &rows[0];
    assert!(got.get::<_, bool>("a"));
    assert_eq!(
        (got.get::<_, i16>("b"), got.get::<_, i64>("c")),
        (-2, i64::MIN)
    );
    assert_eq!(
        (got.get::<_, f32>("d"), got.get::<_, f64>("e")),
        (1.5, -0.1)
    );
    assert_eq!(
        (got.get::<_, &str>("f"), got.get::<_, &str>("g")),
        ("t\u{e4}xt", "")
    );
    assert_eq!(got.get::<_, &[u8]>("h"), b"\0\xff");
    assert_eq!(got.get::<_, SystemTime>("i"), moment);
    assert_eq!(got.get::<_, SystemTime>("j"), moment);
    assert_eq!(got.get::<_, u32>("l"), 4_000_000_000);
    assert!(rows[1].get::<_, Option<&str>>("f").is_none());

    let messages = client
        .simple_query("select * from v where k = 1")
        .await
        .unwrap();
    let Some(SimpleQueryMessage::Row(text)) = messages
        .iter()
        .find(|m| matches!(m, SimpleQueryMessage::Row(_)))
    else {
        panic!("a row")
    };
    let texts: Vec<&str> = (0..12).map(|i| text.get(i).unwrap()).collect();
    assert_eq!(
        texts,
        [
            "1",
            "t",
            "-2",
            "-9223372036854775808",
            "1.5",
            "-0.1",
            "t\u{e4}xt",
            "",
            "\\x00ff",
            "2023-11-14 22:13:20.123456",
            "2023-11-14 22:13:20.123456+00",
            "4000000000",
        ]
    );
    let numbers = client
        .query_one(
            "select $1::int[], array['a', null]::text[]",
            &[&vec![1i32, -1]],
        )
        .await
        .unwrap();
    assert_eq!(numbers.get::<_, Vec<i32>>(0), [1, -1]);
    assert_eq!(numbers.get::<_, Vec<Option<&str>>>(1), [Some("a"), None]);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_sent_together_are_answered_in_order() {
    let running = start().await;
    let client = running.tokio_postgres().await;
    let statement = client.prepare("select $1::int + 1").await.unwrap();
    let mut requests = Vec::new();
    for i in 0..500i32 {
        let (client, statement) = (&client, &statement);
        requests.push(async move {
            client
                .query_one(statement, &[&i])
                .await
                .unwrap()
                .get::<_, i32>(0)
        });
    }
    let answers = futures_util::future::join_all(requests).await;
    assert_eq!(answers, (1..=500).collect::<Vec<i32>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_savepoints_and_portals_work_as_the_driver_expects() {
    let running = start().await;
    let mut client = running.tokio_postgres().await;
    client
        .batch_execute("create table t (a int primary key)")
        .await
        .unwrap();
    let mut transaction = client.transaction().await.unwrap();
    for i in 0..10i32 {
        transaction
            .execute("insert into t values ($1)", &[&i])
            .await
            .unwrap();
    }
    {
        let savepoint = transaction.savepoint("here").await.unwrap();
        savepoint.execute("delete from t", &[]).await.unwrap();
        savepoint.rollback().await.unwrap();
    }
    let portal = transaction
        .bind("select a from t order by a", &[])
        .await
        .unwrap();
    let mut sizes = Vec::new();
    for _ in 0..4 {
        sizes.push(transaction.query_portal(&portal, 4).await.unwrap().len());
    }
    assert_eq!(sizes, [4, 4, 2, 0]);
    transaction.commit().await.unwrap();
    let transaction = client.transaction().await.unwrap();
    transaction.execute("delete from t", &[]).await.unwrap();
    drop(transaction);
    let count: i64 = client
        .query_one("select count(*) from t", &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!(count, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_moves_many_rows_in_and_out() {
    let running = start().await;
    let client = running.tokio_postgres().await;
    client
        .batch_execute("create table t (a int primary key, b text)")
        .await
        .unwrap();
    let sink = client.copy_in("copy t from stdin").await.unwrap();
    pin_mut!(sink);
    const ROWS: usize = 20_000;
    for chunk in 0..20 {
        let rows: String = (0..ROWS / 20)
            .map(|i| format!("{}\trow {i}\n", chunk * (ROWS / 20) + i))
            .collect();
        sink.send(bytes::Bytes::from(rows)).await.unwrap();
    }
    assert_eq!(sink.finish().await.unwrap(), ROWS as u64);
    let out = client.copy_out("copy t to stdout").await.unwrap();
    let pieces: Vec<bytes::Bytes> = out.try_collect().await.unwrap();
    assert_eq!(pieces.len(), ROWS);
    let sink = client
        .copy_in::<_, bytes::Bytes>("copy t from stdin")
        .await
        .unwrap();
    pin_mut!(sink);
    sink.send(bytes::Bytes::from_static(b"1\tagain\n"))
        .await
        .unwrap();
    let error = sink.finish().await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION));
    let count: i64 = client
        .query_one("select count(*) from t", &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!(count, ROWS as i64);
}

/// COPY stored fields as they came: `char(n)` without its blanks, and text of any length.
#[tokio::test(flavor = "multi_thread")]
async fn copied_fields_have_their_columns_length() {
    let running = start().await;
    let client = running.tokio_postgres().await;
    client
        .batch_execute(
            "create table t (a int primary key, b char(5), c varchar(3), d numeric(6, 2))",
        )
        .await
        .unwrap();
    let copy = async |line: &'static str| {
        let sink = client.copy_in("copy t from stdin").await.unwrap();
        pin_mut!(sink);
        sink.send(bytes::Bytes::from_static(line.as_bytes()))
            .await
            .unwrap();
        sink.finish().await
    };
    assert_eq!(copy("1\tab\tabc\t1.005\n").await.unwrap(), 1);
    let row = client
        .query_one("select octet_length(b), d::text from t", &[])
        .await
        .unwrap();
    assert_eq!((row.get::<_, i32>(0), row.get(1)), (5, "1.01"));
    let error = copy("2\tab\tabcd\t1\n").await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::STRING_DATA_RIGHT_TRUNCATION));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_arrive_with_their_fields() {
    let running = start().await;
    let client = running.tokio_postgres().await;
    client
        .batch_execute("create table t (a int primary key, b int not null)")
        .await
        .unwrap();
    client
        .execute("insert into t values (1, 1)", &[])
        .await
        .unwrap();
    let error = client
        .execute("insert into t values (1, 2)", &[])
        .await
        .unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!(error.code(), &SqlState::UNIQUE_VIOLATION);
    assert_eq!(error.severity(), "ERROR");
    assert_eq!((error.schema(), error.table()), (Some("public"), Some("t")));
    assert_eq!(error.constraint(), Some("t_pkey"));
    assert_eq!(error.detail(), Some("Key (a)=(1) already exists."));
    let error = client
        .query("select nothing from t", &[])
        .await
        .unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!(error.code(), &SqlState::UNDEFINED_COLUMN);
    assert_eq!(error.position(), Some(&ErrorPosition::Original(8)));
}

/// Goal: a statement that is given up at its connection's desk and begun anew elsewhere gives each row once. Method: rows at both ends of
/// a table that takes far longer than a moment to read, by both protocols; between them an answer that is larger than a buffer, which
/// goes on where it was; and requests sent together, some of which are answered at the desk.
#[tokio::test(flavor = "multi_thread")]
async fn what_takes_longer_than_a_moment_gives_each_row_once() {
    let running = start().await;
    let mut client = running.tokio_postgres().await;
    client
        .batch_execute(
            "create table t (n int primary key, v int not null, note text not null);
             insert into t select n, 0, repeat('x', 60) from generate_series(1, 10000) n",
        )
        .await
        .unwrap();
    let ends = "select n from t where n % 9999 in (1, 2) and v = 0";
    for _ in 0..3 {
        let simple = client.simple_query(ends).await.unwrap();
        let told = simple
            .iter()
            .filter(|message| matches!(message, SimpleQueryMessage::RowDescription(_)));
        assert_eq!(told.count(), 1);
        let numbers: Vec<_> = simple
            .iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            })
            .collect();
        assert_eq!(numbers, ["1", "2", "10000"]);
        let rows = client.query(ends, &[]).await.unwrap();
        let numbers: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(numbers, [1, 2, 10000]);
        let rows = client
            .query("select n, note from t where n > $1", &[&10i32])
            .await
            .unwrap();
        let numbers = rows.iter().map(|row| row.get::<_, i32>(0));
        assert!(numbers.eq(11..=10000));
        let few = client
            .prepare("select n from t where n between $1 and $1 + 4")
            .await
            .unwrap();
        let all = client
            .prepare("select count(*) from t where note > 'a'")
            .await
            .unwrap();
        let (first, count, second) = tokio::join!(
            client.query(&few, &[&7i32]),
            client.query_one(&all, &[]),
            client.query(&few, &[&9_998i32]),
        );
        let numbers = |rows: Vec<tokio_postgres::Row>| {
            rows.iter().map(|row| row.get(0)).collect::<Vec<i32>>()
        };
        assert_eq!(numbers(first.unwrap()), [7, 8, 9, 10, 11]);
        assert_eq!(count.unwrap().get::<_, i64>(0), 10_000);
        assert_eq!(numbers(second.unwrap()), [9_998, 9_999, 10_000]);
        let transaction = client.transaction().await.unwrap();
        let changed = transaction
            .execute("update t set v = v + 1 where n > $1", &[&0i32])
            .await
            .unwrap();
        assert_eq!(changed, 10_000);
        let sum = transaction
            .query_one("select sum(v) from t", &[])
            .await
            .unwrap();
        assert_eq!(sum.get::<_, i64>(0), 10_000);
        transaction.rollback().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clients_at_once_each_get_their_own_answers() {
    let running = start().await;
    let first = running.tokio_postgres().await;
    first
        .batch_execute("create table t (a int primary key, b int not null)")
        .await
        .unwrap();
    let mut clients = Vec::new();
    for i in 0..100i32 {
        clients.push((i, running.tokio_postgres().await));
    }
    let work = clients.iter().map(|(i, client)| async move {
        client
            .execute("insert into t values ($1, 0)", &[i])
            .await
            .unwrap();
        for _ in 0..5 {
            client
                .execute("update t set b = b + 1 where a = $1", &[i])
                .await
                .unwrap();
        }
        let row = client
            .query_one("select a, b from t where a = $1", &[i])
            .await
            .unwrap();
        (row.get::<_, i32>(0), row.get::<_, i32>(1))
    });
    let answers = futures_util::future::join_all(work).await;
    assert_eq!(answers, (0..100).map(|i| (i, 5)).collect::<Vec<_>>());
    assert_eq!(running.server.metrics().connections_open(), 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_driver_cancels_over_a_second_connection() {
    let running = start().await;
    let (one, two) = (
        running.tokio_postgres().await,
        running.tokio_postgres().await,
    );
    one.batch_execute("create table t (a int primary key); insert into t values (1)")
        .await
        .unwrap();
    one.batch_execute("begin; delete from t").await.unwrap();
    let token = two.cancel_token();
    let cancel = async {
        while running.database.stats().tc.waiting == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        token.cancel_query(tokio_postgres::NoTls).await.unwrap();
    };
    let delete = two.execute("delete from t", &[]);
    let (result, ()) = tokio::time::timeout(PATIENCE, async { tokio::join!(delete, cancel) })
        .await
        .unwrap();
    assert_eq!(result.unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
    two.simple_query("select 1").await.unwrap();
}
