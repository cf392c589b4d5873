//! Connections from without: who gets in, who is interrupted, how everything ends.
//!
//! Relies on: `support`; tokio-postgres as an independent client.

mod support;

use pgwire::tokio::tokio_rustls::TlsConnector;
use pgwire::tokio::tokio_rustls::rustls::pki_types::pem::PemObject;
use pgwire::tokio::tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use pgwire::tokio::tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};
use quintet_server::{Error, ServerConfig, TlsFiles};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_postgres::error::SqlState;

fn users(entries: &[(&str, &str)]) -> ServerConfig {
    let users: BTreeMap<String, String> = entries
        .iter()
        .map(|(user, secret)| (user.to_string(), secret.to_string()))
        .collect();
    ServerConfig {
        users,
        ..ServerConfig::default()
    }
}

/// Of the password `pencil`, computed from RFC 5802 by an independent script.
const VERIFIER: &str = include_str!("verifier.txt");

#[tokio::test(flavor = "multi_thread")]
async fn passwords_and_verifiers_let_their_users_in_and_nobody_else() {
    let running = start_with(users(&[("ann", "s\u{e9}cret"), ("bob", VERIFIER.trim())])).await;
    for options in [
        "user=ann password='s\u{e9}cret'",
        "user=bob password=pencil",
    ] {
        let client = running.tokio_postgres_as(options).await.expect(options);
        client.simple_query("select 1").await.unwrap();
    }
    for options in [
        "user=ann password=pencil",
        "user=bob password=x",
        "user=eve password=pencil",
    ] {
        let Err(error) = running.tokio_postgres_as(options).await else {
            panic!("{options} got in");
        };
        let error = error.as_db_error().expect("an answer");
        assert_eq!(error.code(), &SqlState::INVALID_PASSWORD, "{options}");
        assert!(
            error
                .message()
                .starts_with("password authentication failed for user \"")
        );
    }
    let mut client = running.socket().await;
    client.send(&startup("ann")).await;
    client.send(&query("select 1")).await;
    let trace = client.until_ready().await;
    assert_eq!(
        trace,
        "R(10) E(FATAL 08P01 expected a password message) closed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_anybody_could_reach_does_not_start_without_users() {
    let directory = tempfile::tempdir().unwrap();
    let (database, _) =
        quintet_embed::Database::open(quintet_embed::DatabaseConfig::new(directory.path()))
            .unwrap();
    let config = || ServerConfig {
        listen: "0.0.0.0:0".parse().unwrap(),
        ..users(&[("a", "b")])
    };
    let open = ServerConfig {
        users: BTreeMap::new(),
        ..config()
    };
    let error = quintet_server::serve(open, database.clone())
        .await
        .err()
        .unwrap();
    assert!(matches!(error, Error::OpenToAll { .. }), "{error}");
    let server = quintet_server::serve(config(), database.clone())
        .await
        .unwrap();
    let taken = ServerConfig {
        listen: server.local_addr(),
        ..config()
    };
    let error = quintet_server::serve(taken, database).await.err().unwrap();
    assert!(matches!(error, Error::Listen { .. }), "{error}");
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_spoken_when_it_is_configured() {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
    let (certificate, key) = (files.join("certificate.pem"), files.join("key.pem"));
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(&certificate).unwrap())
        .unwrap();
    let tls = Some(TlsFiles { certificate, key });
    let running = start_with(ServerConfig {
        tls,
        ..ServerConfig::default()
    })
    .await;

    let mut plain = TcpStream::connect(running.server.local_addr())
        .await
        .unwrap();
    plain
        .write_all(&packet(1234 << 16 | 5679, b""))
        .await
        .unwrap();
    assert_eq!(plain.read_u8().await.unwrap(), b'S');
    let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, plain)
        .await
        .unwrap();
    let mut client = Raw::new(stream);
    client.send(&startup("ann")).await;
    client.until_ready().await;
    assert_eq!(
        client.query("select 1").await,
        "T(?column?:23) D(1) C(SELECT 1) Z(I)"
    );

    // What is stuffed in behind the request does not pass for encrypted.
    let mut client = running.socket().await;
    client
        .send(&[packet(1234 << 16 | 5679, b""), startup("eve")].concat())
        .await;
    assert_eq!(client.byte().await, b'S');
    let mut rest = Vec::new();
    let _ = client.stream.read_to_end(&mut rest).await;
    assert!(!rest.contains(&b'Z'), "no session came of it: {rest:?}");

    // In the clear it goes on as before.
    let mut client = running.client().await;
    assert_eq!(
        client.query("select 1").await,
        "T(?column?:23) D(1) C(SELECT 1) Z(I)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_too_many_is_told_so_and_room_comes_back() {
    let running = start_with(ServerConfig {
        connections_max: 2,
        ..ServerConfig::default()
    })
    .await;
    let first = running.client().await;
    let mut second = running.client().await;
    let mut third = running.socket().await;
    third.send(&startup("ann")).await;
    let refused = third.until_ready().await;
    assert_eq!(
        refused,
        "E(FATAL 53300 sorry, too many clients already) closed"
    );
    drop(first);
    let mut again = loop {
        let mut client = running.socket().await;
        client.send(&startup("ann")).await;
        if client.until_ready().await.ends_with("Z(I)") {
            break client;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    for client in [&mut second, &mut again] {
        assert_eq!(
            client.query("select 1").await,
            "T(?column?:23) D(1) C(SELECT 1) Z(I)"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_log_in_is_let_go() {
    let authentication_timeout = Duration::from_millis(100);
    let running = start_with(ServerConfig {
        authentication_timeout,
        ..ServerConfig::default()
    })
    .await;
    for bytes in [&b""[..], b"\0\0", &startup("ann")[..12]] {
        let mut client = running.socket().await;
        client.send(bytes).await;
        assert!(client.message().await.is_none());
    }
}

/// A table with a row that `holder` has locked.
async fn locked(running: &Running) -> Raw<TcpStream> {
    let mut holder = running.client().await;
    holder
        .query("create table if not exists t (a int primary key, b int)")
        .await;
    holder.query("insert into t values (1, 0)").await;
    holder.query("begin").await;
    assert_eq!(
        holder.query("update t set b = 1 where a = 1").await,
        "C(UPDATE 1) Z(T)"
    );
    holder
}

/// Waits until a transaction waits for a row.
async fn until_somebody_waits(running: &Running) {
    let waiting = async {
        while running.database.stats().tc.waiting == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .expect("somebody waits");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_for_a_row_ends_with_the_row_a_cancel_request_or_a_time_limit() {
    let running = start().await;
    let mut holder = locked(&running).await;
    let mut waiter = running.client().await;
    let update = "update t set b = b + 10 where a = 1";

    // A cancel request with the wrong secret does nothing.
    waiter.send(&query(update)).await;
    until_somebody_waits(&running).await;
    for secret in [[0; 4], waiter.secret] {
        let body = [&waiter.process_id.to_be_bytes()[..], &secret].concat();
        let mut other = running.socket().await;
        other.send(&packet(1234 << 16 | 5678, &body)).await;
        assert!(
            other.message().await.is_none(),
            "a cancel request is not answered"
        );
        if secret == [0; 4] {
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(running.database.stats().tc.waiting, 1);
        }
    }
    let canceled = waiter.until_ready().await;
    assert_eq!(
        canceled,
        "E(ERROR 57014 canceling statement due to user request) Z(I)"
    );

    waiter.query("set statement_timeout = 50").await;
    let timeout = waiter.query(update).await;
    assert_eq!(
        timeout,
        "E(ERROR 57014 canceling statement due to statement timeout) Z(I)"
    );
    waiter.query("set statement_timeout = 0").await;
    waiter.query("set lock_timeout = '50ms'").await;
    let timeout = waiter.query(update).await;
    assert_eq!(
        timeout,
        "E(ERROR 55P03 canceling statement due to lock timeout) Z(I)"
    );
    waiter.query("reset lock_timeout").await;

    waiter.send(&query(update)).await;
    until_somebody_waits(&running).await;
    assert_eq!(holder.query("commit").await, "C(COMMIT) Z(I)");
    assert_eq!(waiter.until_ready().await, "C(UPDATE 1) Z(I)");
    let sum = waiter.query("select b from t").await;
    assert_eq!(sum, "T(b:23) D(11) C(SELECT 1) Z(I)");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_gives_up_its_locks_and_its_place_in_the_queue() {
    let running = start().await;
    let holder = locked(&running).await;
    let mut waiter = running.client().await;
    waiter.send(&query("update t set b = 5 where a = 1")).await;
    until_somebody_waits(&running).await;
    drop(waiter);
    let gone = async {
        while running.database.stats().tc.waiting > 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone)
        .await
        .expect("the waiter is gone");
    drop(holder);
    let mut next = running.client().await;
    assert_eq!(
        next.query("update t set b = b + 7 where a = 1").await,
        "C(UPDATE 1) Z(I)"
    );
    assert_eq!(
        next.query("select b from t").await,
        "T(b:23) D(7) C(SELECT 1) Z(I)"
    );
}

/// Goal: a time limit ends loops that are short as a rule. Cause of a failure once: they ran on the thread that tells the time.
#[tokio::test(flavor = "multi_thread")]
async fn a_time_limit_ends_loops_over_integers_and_elements() {
    let running = start().await;
    let mut client = running.client().await;
    let loops = |name: &str, head: &str| {
        format!(
            "create function {name}() returns int language plpgsql as $$ declare e int; begin {head} loop null; end loop; return 1; end $$"
        )
    };
    let twice = "array_fill(1, array[100000])";
    for sql in [
        loops("over_integers", "for i in 1..2000000000"),
        loops(
            "over_elements",
            &format!(
                "foreach e in array array(select 1 from generate_series(1, 20000) a, unnest({twice}) b)"
            ),
        ),
        "create procedure run() language plpgsql as $$ begin perform over_integers(); end $$"
            .to_string(),
    ] {
        client.query(&sql).await;
    }
    client.query("set statement_timeout = 100").await;
    for sql in [
        "do $$ begin for i in 1..2000000000 loop null; end loop; end $$",
        "select over_integers()",
        "select over_elements()",
        "call run()",
    ] {
        let canceled = client.query(sql).await;
        assert!(
            canceled.contains("E(ERROR 57014 canceling statement due to statement timeout)"),
            "{sql}: {canceled}"
        );
    }
}

/// Cause of a failure once: what was planned for seconds heard nothing, and kept the thread that cancel requests came to.
#[tokio::test(flavor = "multi_thread")]
async fn planning_ends_with_a_cancel_request_or_a_time_limit_and_keeps_nobody() {
    let running = start().await;
    let mut client = running.client().await;
    client
        .query("create table j (a int primary key, b int)")
        .await;
    let from: Vec<String> = (0..200).map(|n| format!("j j{n}")).collect();
    let on: Vec<String> = (1..200).map(|n| format!("j{n}.a = j{}.b", n - 1)).collect();
    let (from, on) = (from.join(", "), on.join(" and "));
    let large = format!("select 1 from {from} where {on}");
    client.query("set statement_timeout = 50").await;
    let timeout = client.query(&large).await;
    assert_eq!(
        timeout,
        "E(ERROR 57014 canceling statement due to statement timeout) Z(I)"
    );
    client.query("set statement_timeout = 0").await;
    client.send(&query(&large)).await;
    // At each desk somebody is served meanwhile.
    for _ in 0..quintet_rt::threads::processors() {
        let mut other = running.client().await;
        assert_eq!(
            other.query("select 1").await,
            "T(?column?:23) D(1) C(SELECT 1) Z(I)"
        );
    }
    let body = [&client.process_id.to_be_bytes()[..], &client.secret].concat();
    let mut other = running.socket().await;
    other.send(&packet(1234 << 16 | 5678, &body)).await;
    assert!(other.message().await.is_none());
    let canceled = client.until_ready().await;
    assert_eq!(
        canceled,
        "E(ERROR 57014 canceling statement due to user request) Z(I)"
    );
    assert_eq!(
        client.query("select count(*) from j").await,
        "T(count:20) D(0) C(SELECT 1) Z(I)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_statement_is_cancelled_while_it_computes() {
    let running = start().await;
    let mut client = running.client().await;
    client.query("create table n (a int primary key)").await;
    let values: Vec<String> = (0..1000).map(|i| format!("({i})")).collect();
    client
        .query(&format!("insert into n values {}", values.join(",")))
        .await;
    client.query("set statement_timeout = 100").await;
    // A thousand million pairs of pairs.
    let sql = "select count(*) from n x, n y, n z where x.a + y.a + z.a < 0";
    let canceled = client.query(sql).await;
    assert!(
        canceled.ends_with("E(ERROR 57014 canceling statement due to statement timeout) Z(I)"),
        "{canceled}"
    );
    client.query("set statement_timeout = 0").await;
    client.send(&query(sql)).await;
    let body = [&client.process_id.to_be_bytes()[..], &client.secret].concat();
    let mut trace = String::new();
    // The request may come before the statement has begun; then it is for nothing.
    for _ in 0..100 {
        running
            .socket()
            .await
            .send(&packet(1234 << 16 | 5678, &body))
            .await;
        let answer = tokio::time::timeout(Duration::from_millis(100), client.until_ready()).await;
        if let Ok(answer) = answer {
            trace = answer;
            break;
        }
    }
    assert!(
        trace.ends_with("E(ERROR 57014 canceling statement due to user request) Z(I)"),
        "{trace}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn idling_inside_a_transaction_ends_when_its_time_is_over() {
    let idle = Some(Duration::from_millis(50));
    let config = ServerConfig {
        idle_in_transaction_timeout: idle,
        ..ServerConfig::default()
    };
    let running = start_with(config).await;
    let mut client = running.client().await;
    client.query("select 1").await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    let begin = client.query("begin").await;
    assert_eq!(begin, "C(BEGIN) Z(T)", "outside a transaction nobody minds");
    let farewell = client.until_ready().await;
    assert_eq!(
        farewell,
        "E(FATAL 25P03 terminating connection due to idle-in-transaction timeout) closed"
    );
    let mut client = running.client().await;
    client
        .query("set idle_in_transaction_session_timeout = '1h'")
        .await;
    client.query("begin").await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(client.query("commit").await, "C(COMMIT) Z(I)");
}

#[tokio::test(flavor = "multi_thread")]
async fn idling_outside_of_transactions_ends_when_its_time_is_over() {
    let running = start().await;
    let mut client = running.client().await;
    client.query("set idle_session_timeout = '50ms'").await;
    client.query("begin").await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    let commit = client.query("commit").await;
    assert_eq!(
        commit, "C(COMMIT) Z(I)",
        "inside a transaction nobody minds"
    );
    let farewell = client.until_ready().await;
    assert_eq!(
        farewell,
        "E(FATAL 57P05 terminating connection due to idle-session timeout) closed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_tells_the_idle_and_waits_for_the_busy() {
    let running = start().await;
    let mut holder = locked(&running).await;
    let mut busy = running.client().await;
    busy.send(&query("update t set b = b + 10 where a = 1"))
        .await;
    until_somebody_waits(&running).await;
    let mut idle = running.client().await;
    let mut newcomer = running.socket().await;
    newcomer.send(&startup("ann")[..4]).await;
    let shutdown = async {
        running.server.shutdown().await;
        running.server.wait().await;
    };
    let clients = async {
        const TOLD: &str =
            "E(FATAL 57P01 terminating connection due to administrator command) closed";
        assert_eq!(idle.until_ready().await, TOLD);
        // Its transaction is undone with it; whoever waits for the row goes on.
        assert_eq!(holder.until_ready().await, TOLD);
        assert_eq!(busy.until_ready().await, "C(UPDATE 1) Z(I)");
        assert_eq!(busy.until_ready().await, TOLD);
        assert!(newcomer.message().await.is_none());
    };
    tokio::time::timeout(PATIENCE, async { tokio::join!(shutdown, clients) })
        .await
        .unwrap();
    assert_eq!(running.server.metrics().connections_open(), 0);
    assert!(
        TcpStream::connect(running.server.local_addr())
            .await
            .is_err(),
        "nobody listens"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_interrupts_what_outlives_its_grace() {
    let shutdown_grace = Duration::from_millis(50);
    let running = start_with(ServerConfig {
        shutdown_grace,
        ..ServerConfig::default()
    })
    .await;
    let mut client = running.client().await;
    client.query("create table n (a int primary key)").await;
    let values: Vec<String> = (0..1000).map(|i| format!("({i})")).collect();
    client
        .query(&format!("insert into n values {}", values.join(",")))
        .await;
    client
        .send(&query(
            "select count(*) from n x, n y, n z where x.a + y.a + z.a < 0",
        ))
        .await;
    let mut silent = running.client().await;
    silent.send(&query("copy n from stdin")).await;
    let (kind, _) = silent.message().await.unwrap();
    assert_eq!(kind, b'G');
    tokio::time::sleep(Duration::from_millis(50)).await;
    let shutdown = running.server.shutdown();
    let clients = async {
        let told = client.until_ready().await;
        assert!(
            told.contains(" 57P01 terminating connection due to administrator command)"),
            "{told}"
        );
        assert!(told.ends_with(" closed"), "{told}");
        let told = silent.until_ready().await;
        assert_eq!(
            told,
            "E(FATAL 57P01 terminating connection due to administrator command) closed"
        );
    };
    tokio::time::timeout(PATIENCE, async { tokio::join!(shutdown, clients) })
        .await
        .unwrap();
    assert_eq!(running.server.metrics().connections_open(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_are_served_over_http() {
    let http = Some("127.0.0.1:0".parse().unwrap());
    let running = start_with(ServerConfig {
        http,
        ..ServerConfig::default()
    })
    .await;
    let mut client = running.client().await;
    client.query("create table t (a int primary key)").await;
    client
        .query("insert into t values (1); insert into t values (2)")
        .await;
    client.query("insert into t values (1)").await;
    let page = get(&running, "/metrics").await;
    for line in [
        "quintet_connections_open 1\n",
        "quintet_connections_total 1\n",
        "quintet_statements_total{kind=\"INSERT\"} 2\n",
        "quintet_errors_total{class=\"23\"} 1\n",
        "quintet_statement_seconds_count 3\n",
    ] {
        assert!(page.contains(line), "{line} is not in\n{page}");
    }
    let commits = page
        .lines()
        .find_map(|line| line.strip_prefix("quintet_commits_total "));
    assert!(
        commits.is_some_and(|count| count.parse::<u64>().unwrap() >= 2),
        "{page}"
    );
    assert!(get(&running, "/healthz").await.ends_with("\r\n\r\nok\n"));
}

async fn get(running: &Running, path: &str) -> String {
    let address = running.server.http_addr().expect("it is configured");
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("it reads");
    let mut page = String::new();
    stream.read_to_string(&mut page).await.expect("it answers");
    page
}
