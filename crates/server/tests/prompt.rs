//! What a client may rely on while its statements wait, or are not yet meant: notices come before the wait, and what changes the
//! schema may be prepared before there is what it names.
//!
//! Relies on: `support`, which builds and reads messages on its own.

mod support;

use support::*;
use tokio::net::TcpStream;

/// The words of the next message, which must be a notice.
async fn notice(client: &mut Raw<TcpStream>) -> String {
    let (kind, body) = client.message().await.expect("a message");
    assert_eq!(kind, b'N');
    let fields = body.split(|byte| *byte == 0);
    let mut words = fields.filter_map(|field| field.strip_prefix(b"M"));
    String::from_utf8_lossy(words.next().expect("words")).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn notices_come_before_what_is_waited_for() {
    let running = start().await;
    let (mut holder, mut client) = (running.client().await, running.client().await);
    client.query("create table locked (a int)").await;
    client
        .query(
            "create procedure tell_and_wait() language plpgsql as \
             $$ begin raise notice 'first'; raise notice 'second'; lock table locked in access exclusive mode; \
             raise notice 'third'; end; $$",
        )
        .await;
    holder
        .query("begin; lock table locked in access exclusive mode")
        .await;
    client.send(&query("call tell_and_wait()")).await;
    assert_eq!(notice(&mut client).await, "first");
    assert_eq!(notice(&mut client).await, "second");
    holder.query("rollback").await;
    assert_eq!(
        client.until_ready().await,
        "N(NOTICE 00000 third) C(CALL) Z(I)"
    );
    // A sleep is a wait, too.
    client
        .send(&query(
            "do $$ begin raise notice 'asleep'; perform pg_sleep(0.2); raise notice 'awake'; end $$",
        ))
        .await;
    assert_eq!(notice(&mut client).await, "asleep");
    assert_eq!(
        client.until_ready().await,
        "N(NOTICE 00000 awake) C(DO) Z(I)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_the_schema_is_looked_at_when_it_is_run() {
    let running = start().await;
    let mut client = running.client().await;
    let described = [
        parse("s", "create sequence numbers", &[]),
        describe('S', "s"),
        parse(
            "t",
            "create table numbered (a int default nextval('numbers'))",
            &[],
        ),
        describe('S', "t"),
        parse("o", "alter sequence numbers owned by numbered.a", &[]),
        describe('S', "o"),
        sync(),
    ];
    assert_eq!(
        client.ask(&described.concat()).await,
        "1 t() n 1 t() n 1 t() n Z(I)"
    );
    let run = |name: &str| [bind_text("", name, &[]), execute("", 0)].concat();
    let all = [run("s"), run("t"), run("o"), sync()];
    assert_eq!(
        client.ask(&all.concat()).await,
        "2 C(CREATE SEQUENCE) 2 C(CREATE TABLE) 2 C(ALTER SEQUENCE) Z(I)"
    );
    let wrong = [parse("", "drop table nowhere", &[]), sync()];
    assert_eq!(client.ask(&wrong.concat()).await, "1 Z(I)");
    let again = [
        parse("", "drop table nowhere", &[]),
        run(""),
        parse("", "select 1", &[]),
        sync(),
    ];
    assert_eq!(
        client.ask(&again.concat()).await,
        "1 2 E(ERROR 42P01 table \"nowhere\" does not exist) Z(I)"
    );
    // Queries are read when they are prepared.
    let query = [parse("", "select * from nowhere", &[]), sync()];
    assert_eq!(
        client.ask(&query.concat()).await,
        "E(ERROR 42P01 relation \"nowhere\" does not exist) Z(I)"
    );
}
