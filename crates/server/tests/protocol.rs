//! The protocol byte by byte: what is sent, and what comes back, printed.
//!
//! Relies on: `support`, which builds and reads messages on its own.

mod support;

use quintet_server::ServerConfig;
use std::time::Duration;
use support::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_answered_with_settings_key_and_ready() {
    let running = start().await;
    let mut client = running.socket().await;
    client.send(&startup("ann")).await;
    let trace = client.until_ready().await;
    assert!(trace.starts_with("R(0) S("), "{trace}");
    assert!(trace.ends_with(" K Z(I)"), "{trace}");
    for setting in [
        "S(server_version=15.0 (Quintet ",
        "S(server_encoding=UTF8)",
        "S(client_encoding=UTF8)",
        "S(application_name=)",
        "S(is_superuser=on)",
        "S(session_authorization=ann)",
        "S(DateStyle=ISO, MDY)",
        "S(IntervalStyle=postgres)",
        "S(TimeZone=UTC)",
        "S(integer_datetimes=on)",
        "S(standard_conforming_strings=on)",
        "S(in_hot_standby=off)",
        "S(default_transaction_read_only=off)",
    ] {
        assert!(trace.contains(setting), "{setting} is missing in {trace}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn encryption_is_declined_without_certificate_and_newer_versions_are_negotiated() {
    let running = start().await;
    let mut client = running.socket().await;
    client.send(&packet(1234 << 16 | 5680, b"")).await;
    assert_eq!(client.byte().await, b'N');
    client.send(&packet(1234 << 16 | 5679, b"")).await;
    assert_eq!(client.byte().await, b'N');
    client
        .send(&packet(3 << 16 | 2, b"user\0ann\0_pq_.wish\0on\0\0"))
        .await;
    let trace = client.until_ready().await;
    assert!(trace.starts_with("v(0 _pq_.wish) R(0)"), "{trace}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_login_is_refused_and_closed() {
    let running = start().await;
    let ssl = packet(1234 << 16 | 5679, b"");
    let cases: [(Vec<u8>, &str); 7] = [
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "08P01"),
        (vec![0, 0, 0, 0, 0, 0, 0, 0], "08P01"),
        (vec![0x7f, 0xff, 0xff, 0xff], "08P01"),
        (packet(2 << 16, b""), "0A000"),
        (packet(3 << 16, b"user\0"), "08P01"),
        (packet(3 << 16, b"database\0x\0\0"), "28000"),
        (
            packet(3 << 16, b"user\0ann\0client_encoding\0LATIN1\0\0"),
            "0A000",
        ),
    ];
    for (bytes, state) in cases {
        let mut client = running.socket().await;
        client.send(&bytes).await;
        let trace = client.until_ready().await;
        assert!(
            trace.starts_with(&format!("E(FATAL {state} ")),
            "{bytes:?}: {trace}"
        );
        assert!(trace.ends_with(" closed"), "{trace}");
    }
    let mut client = running.socket().await;
    client.send(&[ssl.clone(), ssl.clone(), ssl].concat()).await;
    assert_eq!(
        [
            client.byte().await,
            client.byte().await,
            client.byte().await
        ],
        *b"NNN"
    );
    assert!(client.until_ready().await.starts_with("E(FATAL 08P01 "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_simple_query_is_one_transaction_unless_it_says_otherwise() {
    let running = start().await;
    let mut client = running.client().await;
    client
        .script(&[
            ("create table t (a int primary key, b text)", "C(CREATE TABLE) Z(I)"),
            ("insert into t values (1, 'x'); insert into t values (2, null)", "C(INSERT 0 1) C(INSERT 0 1) Z(I)"),
            ("select * from t order by a", "T(a:23,b:25) D(1,x) D(2,null) C(SELECT 2) Z(I)"),
            ("", "I Z(I)"),
            (" ; ", "I Z(I)"),
            (
                "insert into t values (3, 'y'); insert into t values (1, 'z'); select 1",
                "C(INSERT 0 1) E(ERROR 23505 duplicate key value violates unique constraint \"t_pkey\") Z(I)",
            ),
            ("select count(*) from t", "T(count:20) D(2) C(SELECT 1) Z(I)"),
        ])
        .await;
    let syntax = client.query("insert into t values (3, 'y'); selec").await;
    assert!(
        syntax.starts_with("E(ERROR 42601 ") && syntax.ends_with(" Z(I)"),
        "{syntax}"
    );
    client
        .script(&[
            ("begin; insert into t values (3, 'y')", "C(BEGIN) C(INSERT 0 1) Z(T)"),
            ("select 1 / 0", "T(?column?:23) E(ERROR 22012 division by zero) Z(E)"),
            (
                "select 1",
                "E(ERROR 25P02 current transaction is aborted, commands ignored until end of transaction block) Z(E)",
            ),
            ("commit", "C(ROLLBACK) Z(I)"),
            ("delete from t", "C(DELETE 2) Z(I)"),
        ])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_without_columns_are_described() {
    let running = start().await;
    let mut client = running.client().await;
    assert_eq!(client.query("select").await, "T() D() C(SELECT 1) Z(I)");
    client.query("create table t ()").await;
    assert_eq!(
        client.query("select * from t").await,
        "T() C(SELECT 0) Z(I)"
    );
    client.query("insert into t default values").await;
    assert_eq!(
        client.query("select from t").await,
        "T() D() C(SELECT 1) Z(I)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_reported_when_they_change() {
    let running = start().await;
    let mut client = running.client().await;
    client
        .script(&[
            (
                "set application_name to 'x'",
                "C(SET) S(application_name=x) Z(I)",
            ),
            ("set application_name to 'x'", "C(SET) Z(I)"),
            (
                "begin; set timezone to 'Europe/Berlin'",
                "C(BEGIN) C(SET) S(TimeZone=Europe/Berlin) Z(T)",
            ),
            ("rollback", "C(ROLLBACK) S(TimeZone=UTC) Z(I)"),
            (
                "drop table if exists nowhere",
                "N(NOTICE 00000 table \"nowhere\" does not exist, skipping) C(DROP TABLE) Z(I)",
            ),
            (
                "commit",
                "N(WARNING 25P01 there is no transaction in progress) C(COMMIT) Z(I)",
            ),
        ])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn extended_messages_are_answered_one_by_one() {
    let running = start().await;
    let mut client = running.client().await;
    client
        .query("create table t (a int primary key, b text)")
        .await;
    let insert = [
        parse("i", "insert into t values ($1, $2)", &[]),
        describe('S', "i"),
        bind(
            "",
            "i",
            &[1, 0],
            &[Some(&7i32.to_be_bytes()), Some(b"seven")],
            &[],
        ),
        describe('P', ""),
        execute("", 0),
        bind("", "i", &[], &[Some(b"8"), None], &[]),
        execute("", 1),
        sync(),
    ];
    assert_eq!(
        client.ask(&insert.concat()).await,
        "1 t(23,25) n 2 n C(INSERT 0 1) 2 C(INSERT 0 1) Z(I)"
    );
    let select = |results: &[u16]| {
        [
            parse("", "select a, b from t where a >= $1 order by a", &[0]),
            bind("", "", &[0], &[Some(b"7")], results),
            describe('P', ""),
            execute("", 0),
            sync(),
        ]
        .concat()
    };
    for (results, expected) in [
        (
            &[][..],
            "1 2 T(a:23,b:25) D(7,seven) D(8,null) C(SELECT 2) Z(I)",
        ),
        (
            &[1],
            "1 2 T(a:23b,b:25b) D(x00000007,seven) D(x00000008,null) C(SELECT 2) Z(I)",
        ),
        (
            &[1, 0],
            "1 2 T(a:23b,b:25) D(x00000007,seven) D(x00000008,null) C(SELECT 2) Z(I)",
        ),
        (
            &[0, 1],
            "1 2 T(a:23,b:25b) D(7,seven) D(8,null) C(SELECT 2) Z(I)",
        ),
    ] {
        assert_eq!(client.ask(&select(results)).await, expected);
    }
    let trace = client.ask(&select(&[0, 1, 0])).await;
    assert_eq!(
        trace,
        "1 E(ERROR 08P01 bind message has 3 result formats but query has 2 columns) Z(I)"
    );
    let empty = [
        parse("", "", &[]),
        bind_text("", "", &[]),
        describe('P', ""),
        execute("", 0),
        sync(),
    ];
    assert_eq!(client.ask(&empty.concat()).await, "1 2 n I Z(I)");
    let closed = [
        close('S', "i"),
        close('S', "i"),
        close('P', "none"),
        describe('S', "i"),
        sync(),
    ];
    assert_eq!(
        client.ask(&closed.concat()).await,
        "3 3 3 E(ERROR 26000 prepared statement \"i\" does not exist) Z(I)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn flush_sends_answers_before_sync() {
    let running = start().await;
    let mut client = running.client().await;
    client
        .send(
            &[
                parse("s", "select $1::int", &[]),
                describe('S', "s"),
                flush(),
            ]
            .concat(),
        )
        .await;
    let mut trace = Trace::default();
    for _ in 0..3 {
        let (kind, body) = client.message().await.unwrap();
        trace.add(kind, &body);
    }
    assert_eq!(trace.text, " 1 t(23) T(int4:23)");
    assert_eq!(
        client
            .ask(&[bind_text("", "s", &["5"]), execute("", 0), sync()].concat())
            .await,
        "2 D(5) C(SELECT 1) Z(I)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_skips_to_sync_and_undoes_the_cycle() {
    let running = start().await;
    let mut client = running.client().await;
    client.query("create table t (a int primary key)").await;
    let insert = |a: &str| [bind_text("", "i", &[a]), execute("", 0)].concat();
    let bytes = [
        parse("i", "insert into t values ($1)", &[]),
        insert("1"),
        insert("1"),
        insert("2"),
        message(b'B', b"garbage that is skipped"),
        close('S', "i"),
        sync(),
        insert("3"),
        sync(),
        query("select a from t"),
    ];
    client.send(&bytes.concat()).await;
    assert_eq!(
        client.trace(3).await,
        "1 2 C(INSERT 0 1) 2 \
         E(ERROR 23505 duplicate key value violates unique constraint \"t_pkey\") Z(I) \
         2 C(INSERT 0 1) Z(I) \
         T(a:23) D(3) C(SELECT 1) Z(I)"
    );
    // In a block, the block fails and stays open.
    let bytes = [
        query("begin"),
        [
            parse("", "select 1 / $1", &[]),
            bind_text("", "", &["0"]),
            execute("", 0),
            sync(),
        ]
        .concat(),
        [parse("", "select 1", &[]), sync()].concat(),
        [
            parse("", "rollback", &[]),
            bind_text("", "", &[]),
            execute("", 0),
            sync(),
        ]
        .concat(),
    ];
    client.send(&bytes.concat()).await;
    assert_eq!(
        client.trace(4).await,
        "C(BEGIN) Z(T) 1 2 E(ERROR 22012 division by zero) Z(E) \
         E(ERROR 25P02 current transaction is aborted, commands ignored until end of transaction block) Z(E) \
         1 2 C(ROLLBACK) Z(I)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_that_cannot_be_read_are_refused_with_their_own_state() {
    let running = start().await;
    let mut client = running.client().await;
    let cases: [(Vec<u8>, &str); 6] = [
        (
            [parse("", "select $1::int", &[]), bind_text("", "", &["x"])].concat(),
            "22P02",
        ),
        (
            [
                parse("", "select $1::int", &[]),
                bind_text("", "", &["1", "2"]),
            ]
            .concat(),
            "08P01",
        ),
        (
            [
                parse("", "select $1::int", &[]),
                bind("", "", &[1], &[Some(b"123")], &[]),
            ]
            .concat(),
            "22P03",
        ),
        (
            [
                parse("", "select $1::text", &[]),
                bind("", "", &[], &[Some(b"\xff")], &[]),
            ]
            .concat(),
            "22021",
        ),
        (parse("", "select $1", &[774]), "0A000"),
        (parse("", "select 1; select 2", &[]), "42601"),
    ];
    for (bytes, state) in cases {
        let trace = client.ask(&[bytes, sync()].concat()).await;
        assert!(
            trace.contains(&format!("E(ERROR {state} ")),
            "{state}: {trace}"
        );
        assert!(trace.ends_with(" Z(I)"), "{trace}");
    }
    let unknown = client
        .ask(&[parse("", "select $1", &[774]), sync()].concat())
        .await;
    assert!(unknown.contains("OID 774"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_portal_gives_as_many_rows_as_asked_for_and_goes_on() {
    let running = start().await;
    let mut client = running.client().await;
    client.query("create table t (a int primary key)").await;
    client
        .query("insert into t values (1), (2), (3), (4), (5)")
        .await;
    let select = parse("", "select a from t order by a", &[]);
    let bytes = [
        select.clone(),
        bind_text("p", "", &[]),
        execute("p", 2),
        execute("p", 2),
        execute("p", 2),
        execute("nowhere", 2),
        sync(),
    ];
    assert_eq!(
        client.ask(&bytes.concat()).await,
        "1 2 D(1) D(2) s D(3) D(4) s D(5) C(SELECT 1) \
         E(ERROR 34000 cursor \"nowhere\" does not exist) Z(I)"
    );
    // Within a block a portal lives across Sync, and keeps its formats.
    client.query("begin").await;
    let bind = bind("p", "", &[], &[], &[1]);
    assert_eq!(
        client
            .ask(&[select, bind, execute("p", 1), sync()].concat())
            .await,
        "1 2 D(x00000001) s Z(T)"
    );
    assert_eq!(
        client.ask(&[execute("p", 1), sync()].concat()).await,
        "D(x00000002) s Z(T)"
    );
    client.query("commit").await;
    let gone = client.ask(&[execute("p", 1), sync()].concat()).await;
    assert_eq!(gone, "E(ERROR 34000 cursor \"p\" does not exist) Z(I)");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_count_rows_across_pauses_for_the_network() {
    let running = start().await;
    let mut client = running.client().await;
    client
        .query("create table t (a int primary key, b text)")
        .await;
    let wide = "x".repeat(1000);
    for chunk in 0..10 {
        let values: Vec<String> = (0..50)
            .map(|i| format!("({}, '{wide}')", chunk * 50 + i))
            .collect();
        client
            .query(&format!("insert into t values {}", values.join(",")))
            .await;
    }
    // 300 rows are about five output buffers.
    let bytes = [
        parse("", "select a, b from t", &[]),
        bind_text("p", "", &[]),
        execute("p", 300),
        execute("p", 300),
        sync(),
    ];
    let trace = client.ask(&bytes.concat()).await;
    let (first, second) = trace.split_once(" s ").expect("suspended once");
    assert_eq!(
        (first.matches("D(").count(), second.matches("D(").count()),
        (300, 200)
    );
    assert!(second.ends_with("C(SELECT 200) Z(I)"));
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_in_takes_pieces_of_any_size() {
    let running = start().await;
    let mut client = running.client().await;
    client
        .query("create table t (a int primary key, b text)")
        .await;
    client
        .send(&query("copy t from stdin; select count(*) from t"))
        .await;
    for piece in ["1\to", "ne\n2\t\\N\n", "", "3\tthree"] {
        client.send(&copy_data(piece)).await;
    }
    assert_eq!(
        client.ask(&message(b'c', b"")).await,
        "G(0:00) C(COPY 3) T(count:20) D(3) C(SELECT 1) Z(I)"
    );
    // Extended, with a Sync sent before the client can know that it is a COPY.
    let bytes = [
        parse("", "copy t from stdin", &[]),
        bind_text("", "", &[]),
        execute("", 0),
        sync(),
        copy_data("4\tfour\n"),
        message(b'c', b""),
        sync(),
    ];
    assert_eq!(
        client.ask(&bytes.concat()).await,
        "1 2 G(0:00) C(COPY 1) Z(I)"
    );
    assert_eq!(
        client
            .query("copy (select a, b from t where a < 3 order by a) to stdout")
            .await,
        "H(0:00) d(1\\tone\\n) d(2\\t\\\\N\\n) c C(COPY 2) Z(I)"
    );
    let bytes = [
        parse("", "copy t (b) to stdout", &[]),
        bind_text("", "", &[]),
        execute("", 0),
        sync(),
    ];
    let trace = client.ask(&bytes.concat()).await;
    assert!(
        trace.starts_with("1 2 H(0:0) d(") && trace.ends_with(" c C(COPY 4) Z(I)"),
        "{trace}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_copy_leaves_nothing_and_the_rest_of_its_data_is_ignored() {
    let running = start().await;
    let mut client = running.client().await;
    client.query("create table t (a int primary key)").await;
    let bytes = [
        query("copy t from stdin"),
        copy_data("1\n"),
        message(b'f', b"no more\0"),
    ];
    assert_eq!(
        client.ask(&bytes.concat()).await,
        "G(0:0) E(ERROR 57014 COPY from stdin failed: no more) Z(I)"
    );
    let bytes = [
        query("copy t from stdin"),
        copy_data("1\nx\n"),
        copy_data("2\n"),
        message(b'c', b""),
        query("select count(*) from t"),
    ];
    client.send(&bytes.concat()).await;
    assert_eq!(
        client.trace(2).await,
        "G(0:0) E(ERROR 22P02 invalid input syntax for type integer: \"x\") Z(I) \
         T(count:20) D(0) C(SELECT 1) Z(I)"
    );
    let bytes = [
        parse("", "copy t from stdin", &[]),
        bind_text("", "", &[]),
        execute("", 0),
        copy_data("1\n1\n"),
        copy_data("2\n"),
        message(b'c', b""),
        sync(),
    ];
    let trace = client.ask(&bytes.concat()).await;
    assert!(trace.starts_with("1 2 G(0:0) E(ERROR 23505 "), "{trace}");
    assert!(trace.ends_with(") Z(I)"), "{trace}");
    let trace = client
        .ask(&[query("copy t from stdin"), query("select 1")].concat())
        .await;
    assert_eq!(
        trace,
        "G(0:0) E(ERROR 08P01 unexpected message type 0x51 during COPY from stdin) Z(I)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_ends_the_connection() {
    let running = start().await;
    for (bytes, expected) in [
        (
            message(b'z', b""),
            "E(FATAL 08P01 invalid frontend message type 122) closed",
        ),
        (
            b"Q\0\0\0\x03".to_vec(),
            "E(FATAL 08P01 invalid message length 3 of message type 0x51) closed",
        ),
        (
            b"Q\x7f\xff\xff\xff".to_vec(),
            "E(FATAL 08P01 invalid message length 2147483647 of message type 0x51) closed",
        ),
        (
            message(b'p', b"secret\0"),
            "E(FATAL 08P01 a password nobody asked for) closed",
        ),
        (message(b'X', b""), "closed"),
    ] {
        let mut client = running.client().await;
        assert_eq!(client.ask(&bytes).await, expected);
    }
    let mut client = running.client().await;
    let call = client.ask(&message(b'F', &[0; 10])).await;
    assert_eq!(
        call,
        "E(ERROR 42883 function with OID 0 does not exist) Z(I)"
    );
    assert_eq!(
        client.query("select 1").await,
        "T(?column?:23) D(1) C(SELECT 1) Z(I)"
    );
}

/// Random bytes, random messages and mangled good ones: the server answers or closes, and serves the
/// next client.
#[tokio::test(flavor = "multi_thread")]
async fn random_input_hurts_nobody() {
    let config = ServerConfig {
        authentication_timeout: Duration::from_millis(200),
        ..ServerConfig::default()
    };
    let running = start_with(config).await;
    let seed = 0x5eed_0001;
    println!("seed {seed:#x}");
    let mut rand = quintet_rt::Rand::seeded(seed);
    let good = [
        parse("s", "select $1::int, $2::text", &[23, 0]),
        bind(
            "p",
            "s",
            &[1, 0],
            &[Some(&[0, 0, 0, 1]), Some(b"x")],
            &[1, 0],
        ),
        describe('P', "p"),
        execute("p", 1),
        close('P', "p"),
        query("select 1; begin; select 'x'"),
        query("copy (select 1) to stdout"),
        sync(),
    ];
    for round in 0..300 {
        let mut bytes = Vec::new();
        match rand.below(3) {
            0 => {
                bytes = vec![0; rand.below(200) as usize];
                rand.fill(&mut bytes);
            }
            1 => {
                for _ in 0..rand.below(10) {
                    let mut body = vec![0; rand.below(40) as usize];
                    rand.fill(&mut body);
                    let kinds = b"QPBDECSHFdcfp";
                    bytes.extend(message(
                        kinds[rand.below(kinds.len() as u64) as usize],
                        &body,
                    ));
                }
            }
            _ => {
                for _ in 0..1 + rand.below(8) {
                    bytes.extend(&good[rand.below(good.len() as u64) as usize]);
                }
                for _ in 0..rand.below(4) {
                    let at = rand.below(bytes.len() as u64) as usize;
                    bytes[at] = rand.next_u64() as u8;
                }
            }
        }
        let mut client = running.socket().await;
        if round % 4 > 0 {
            client.send(&startup("ann")).await;
            client.until_ready().await;
        }
        use tokio::io::AsyncWriteExt;
        // The server may have closed before everything was sent.
        if client.stream.write_all(&bytes).await.is_ok() && client.stream.shutdown().await.is_ok() {
            while client.message().await.is_some() {}
        }
    }
    let mut client = running.client().await;
    assert_eq!(
        client.query("select 1").await,
        "T(?column?:23) D(1) C(SELECT 1) Z(I)"
    );
}
