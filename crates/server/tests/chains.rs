//! Calls in line, over the network: what ends a wait, and that it keeps nobody back.

#![allow(clippy::unwrap_used)]

mod support;

use std::time::Duration;
use support::{PATIENCE, Raw, Running, packet, query, start};
use tokio::net::TcpStream;

const CALL: &str = "call add(1)";

/// A client whose calls are in line.
async fn caller(running: &Running) -> Raw<TcpStream> {
    let mut client = running.client().await;
    client.query("set quintet.engine = chain").await;
    client
        .query("set default_transaction_isolation = 'serializable'")
        .await;
    client
}

/// Who has locked the row, and whose call is in line first and waits for it.
async fn held_up(running: &Running) -> (Raw<TcpStream>, Raw<TcpStream>) {
    let mut holder = running.client().await;
    holder
        .query("create table t (a int primary key, n int)")
        .await;
    holder.query("insert into t values (1, 0)").await;
    holder
        .query(
            "create procedure add(id int) language plpgsql as $$
             begin update t set n = n + 1 where a = id; end $$",
        )
        .await;
    holder.query("begin").await;
    holder.query("update t set n = n + 100 where a = 1").await;
    let mut first = caller(running).await;
    first.send(&query(CALL)).await;
    until(running, 1, 0).await;
    (holder, first)
}

/// Waits until so many calls have a place, and so many of them wait.
async fn until(running: &Running, calls: u64, waiting: u64) {
    let there = async {
        loop {
            let stats = running.database.stats().chains;
            if (stats.calls, stats.waiting) == (calls, waiting) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, there)
        .await
        .expect("they are in line");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_in_line_ends_by_a_cancel_request_a_time_limit_or_the_end_of_the_client() {
    let running = start().await;
    let (mut holder, mut first) = held_up(&running).await;
    let mut waiter = caller(&running).await;
    let mut last = caller(&running).await;

    waiter.send(&query(CALL)).await;
    until(&running, 2, 1).await;
    last.send(&query(CALL)).await;
    until(&running, 3, 2).await;
    let body = [&waiter.process_id.to_be_bytes()[..], &waiter.secret].concat();
    let mut other = running.socket().await;
    other.send(&packet(1234 << 16 | 5678, &body)).await;
    assert_eq!(
        waiter.until_ready().await,
        "E(ERROR 57014 canceling statement due to user request) Z(I)"
    );
    until(&running, 3, 1).await;

    waiter.query("set statement_timeout = 50").await;
    assert_eq!(
        waiter.query(CALL).await,
        "E(ERROR 57014 canceling statement due to statement timeout) Z(I)"
    );
    waiter.query("set statement_timeout = 0").await;
    waiter.query("set lock_timeout = '50ms'").await;
    assert_eq!(
        waiter.query(CALL).await,
        "E(ERROR 55P03 canceling statement due to lock timeout) Z(I)"
    );
    until(&running, 5, 1).await;

    let mut leaver = caller(&running).await;
    leaver.send(&query(CALL)).await;
    until(&running, 6, 2).await;
    drop(leaver);
    until(&running, 6, 1).await;

    assert_eq!(holder.query("rollback").await, "C(ROLLBACK) Z(I)");
    assert_eq!(first.until_ready().await, "C(CALL) Z(I)");
    assert_eq!(last.until_ready().await, "C(CALL) Z(I)");
    until(&running, 6, 0).await;
    assert_eq!(
        holder.query("select n from t").await,
        "T(n:23) D(2) C(SELECT 1) Z(I)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_in_the_middle_of_its_call_lets_the_next_one_go() {
    let running = start().await;
    let (mut holder, first) = held_up(&running).await;
    let mut second = caller(&running).await;
    second.send(&query(CALL)).await;
    until(&running, 2, 1).await;
    drop(first);
    until(&running, 2, 0).await;
    assert_eq!(holder.query("rollback").await, "C(ROLLBACK) Z(I)");
    assert_eq!(second.until_ready().await, "C(CALL) Z(I)");
    assert_eq!(
        holder.query("select n from t").await,
        "T(n:23) D(1) C(SELECT 1) Z(I)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_line_did_is_on_the_page_of_metrics() {
    let running = start().await;
    let (mut holder, mut first) = held_up(&running).await;
    let mut second = caller(&running).await;
    second.send(&query(CALL)).await;
    until(&running, 2, 1).await;
    holder.query("commit").await;
    first.until_ready().await;
    second.until_ready().await;
    let page = running.server.metrics().render(&running.database.stats());
    for line in [
        "quintet_chain_calls_total 2\n",
        "quintet_chain_calls_waited_total 1\n",
        "quintet_chain_calls_waiting 0\n",
        "quintet_chain_calls_refused_total 0\n",
        "quintet_chain_calls_unclassed_total 0\n",
        "# TYPE quintet_chain_wait_seconds_total counter\n",
    ] {
        assert!(page.contains(line), "{line} is not in\n{page}");
    }
}
