//! Clients of this machine, through a Unix socket.
//!
//! Relies on: `support`; tokio-postgres as an independent client, which finds the file by directory and port.

// A client that cannot go on is a failed test.
#![allow(clippy::unwrap_used)]

mod support;

use quintet_rt::{RealDisk, disk};
use quintet_server::{Error, ServerConfig};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use support::*;
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

/// A server with a socket in a directory.
async fn start_in(directory: &TempDir, config: ServerConfig) -> Running {
    start_with(ServerConfig {
        socket_directories: vec![directory.path().to_path_buf()],
        ..config
    })
    .await
}

async fn connect(running: &Running, user: &str) -> Result<Client, tokio_postgres::Error> {
    let file = &running.server.socket_files()[0];
    let directory = file.parent().unwrap().display();
    let port = running.server.local_addr().port();
    let options = format!("host={directory} port={port} user={user}");
    let (client, connection) = tokio_postgres::connect(&options, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_serves_as_an_address_does() {
    let directory = tempfile::tempdir().unwrap();
    let running = start_in(&directory, ServerConfig::default()).await;
    let (one, two) = tokio::join!(connect(&running, "ann"), connect(&running, "bob"));
    let (one, two) = (one.unwrap(), two.unwrap());
    one.batch_execute("create table t (a int primary key); insert into t values (7)")
        .await
        .unwrap();
    let row = two.query_one("select a from t where a = $1", &[&7]);
    assert_eq!(row.await.unwrap().get::<_, i32>(0), 7);
    // Who comes through a file has no address.
    let sql = "select count(*) filter (where client_addr is null and client_port is null)::int,
            count(client_addr)::int from pg_stat_activity where usename in ('ann', 'bob')";
    let through_network = running.tokio_postgres().await;
    let row = through_network.query_one(sql, &[]).await.unwrap();
    assert_eq!((row.get::<_, i32>(0), row.get::<_, i32>(1)), (2, 1));
    // Cancel requests come through the file, too.
    one.batch_execute("begin; delete from t").await.unwrap();
    let token = two.cancel_token();
    let cancel = async {
        while running.database.stats().tc.waiting == 0 {
            tokio::task::yield_now().await;
        }
        token.cancel_query(NoTls).await.unwrap();
    };
    let delete = two.execute("delete from t", &[]);
    let (result, ()) = tokio::time::timeout(PATIENCE, async { tokio::join!(delete, cancel) })
        .await
        .unwrap();
    assert_eq!(result.unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
    let file = running.server.socket_files()[0].clone();
    assert!(file.exists());
    running.server.shutdown().await;
    let left = one.simple_query("select 1").await.unwrap_err();
    assert!(left.is_closed() || left.code().is_some(), "{left}");
    while file.exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn encryption_is_not_offered_where_nobody_could_listen() {
    let directory = tempfile::tempdir().unwrap();
    let running = start_in(&directory, ServerConfig::default()).await;
    let stream = UnixStream::connect(&running.server.socket_files()[0]).await;
    let mut client = Raw::new(stream.unwrap());
    client.send(&packet(80_877_103, &[])).await;
    assert_eq!(client.byte().await, b'N');
    client.send(&startup("ann")).await;
    client.until_ready().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_file_has_one_server() {
    let directory = tempfile::tempdir().unwrap();
    let running = start_in(&directory, ServerConfig::default()).await;
    let port = running.server.local_addr().port();
    let config = ServerConfig {
        // The same port of another address.
        listen: SocketAddr::from(([127, 0, 0, 2], port)),
        socket_directories: vec![directory.path().to_path_buf()],
        ..ServerConfig::default()
    };
    let second = quintet_server::serve(config, running.database.clone()).await;
    assert!(matches!(second.err(), Some(Error::SocketTaken { .. })));
    connect(&running, "ann").await.unwrap();
    let config = ServerConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        socket_directories: vec![directory.path().join("not there")],
        ..ServerConfig::default()
    };
    let nowhere = quintet_server::serve(config, running.database.clone()).await;
    match nowhere.err() {
        Some(Error::Socket { source, .. }) => assert_eq!(source.kind(), ErrorKind::NotFound),
        other => panic!("{other:?}"),
    }
}

/// The name that the system has for who runs this, if it has one.
fn own_name() -> Option<String> {
    let number = Path::new("/proc/self").metadata().unwrap().uid();
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut lines = accounts
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let own = lines.find(|fields| fields.get(2) == Some(&number.to_string().as_str()))?;
    Some(own[0].to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_tell_who_may_come_through_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let rules = directory.path().join("rules");
    let text = "local all quintet trust\nlocal all eve reject\nlocal all all peer\nhost all all all reject\n";
    disk::replace_file(&RealDisk, &rules, text.as_bytes()).unwrap();
    let config = ServerConfig {
        hba: Some(rules),
        ..ServerConfig::default()
    };
    let running = start_in(&directory, config).await;
    let owner = connect(&running, "quintet").await.unwrap();
    let refusal = async |user: &str| {
        let error = connect(&running, user).await.expect_err("it is refused");
        let error = error.as_db_error().expect("it is told").clone();
        assert_eq!(error.code(), &SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
        error.message().to_owned()
    };
    let message = refusal("eve").await;
    assert!(
        message.starts_with("pg_hba.conf rejects connection for host \"[local]\""),
        "{message}"
    );
    owner
        .batch_execute("create role nobody_here login")
        .await
        .unwrap();
    let message = refusal("nobody_here").await;
    assert_eq!(
        message,
        "Peer authentication failed for user \"nobody_here\""
    );
    if let Some(me) = own_name() {
        let create = format!("create role \"{me}\" login");
        owner.batch_execute(&create).await.unwrap();
        let client = connect(&running, &me).await.unwrap();
        let row = client.query_one("select current_user::text", &[]).await;
        assert_eq!(row.unwrap().get::<_, String>(0), me);
    }
    let error = running.tokio_postgres_as("user=quintet").await.err();
    assert!(error.is_some(), "the network has another rule");
}
