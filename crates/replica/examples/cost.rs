//! Measures what write sets cost: how soon they are known, what reading the log takes, what an apply takes beside the call itself,
//! and what triggers would take.
//!
//! `cargo run --release -p quintet-replica --example cost [-- calls [fsync=on]]`; 2,000 calls of each kind and `fsync=off` without.
//! Two PostgreSQL 15 servers, TPC-C with 1 warehouse (`Scale::full`), all processes on the same machine.
//!
//! | figure | from | to |
//! |---|---|---|
//! | attempt | `run` called | the answer to PREPARE TRANSACTION is there |
//! | known | that | the stream brings the write set |
//! | commit | COMMIT PREPARED sent | answered |
//! | apply | `apply` called | answered, not waiting for the disk |
//!
//! Times of processes are those that the system counts for the process of the session (`/proc/<pid>/schedstat`). What came out, and what
//! follows from it, is in decision 21.

#![allow(clippy::unwrap_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use bytes::{BufMut, Bytes, BytesMut};
use quintet_base::{Durability, Level};
use quintet_replica::*;
use quintet_rt::{Clock, RealClock};
use quintet_workloads::tpcc::{Mix, Scale, Tpcc};
use quintet_workloads::{Argument, Call, Calls, Workload};
use std::collections::HashMap;
use std::process::Command;
use std::time::Duration;
use support::*;

/// Calls of a kind that are left out at the beginning: plans are made, caches filled.
const WARM: usize = 200;

const CLIENTS: u32 = 8;

fn micros_since(nanos: u64) -> f64 {
    (RealClock.monotonic_nanos() - nanos) as f64 / 1e3
}

/// Time on a processor, in microseconds.
fn processor_micros(pid: &str) -> f64 {
    let output = Command::new("cat")
        .arg(format!("/proc/{pid}/schedstat"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split(' ')
        .next()
        .unwrap()
        .parse::<f64>()
        .unwrap_or(0.0)
        / 1e3
}

async fn pid(connection: &mut Connection) -> String {
    connection.simple("SELECT pg_backend_pid()").await.unwrap()[0][0]
        .clone()
        .unwrap()
}

#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn say(&mut self) -> String {
        self.0.sort_by(f64::total_cmp);
        let at = |part: f64| self.0[((self.0.len() - 1) as f64 * part) as usize];
        let mean = self.0.iter().sum::<f64>() / self.0.len() as f64;
        format!(
            "p50 {:>6.0}  p99 {:>6.0}  mean {mean:>6.0}",
            at(0.5),
            at(0.99)
        )
    }
}

async fn load(postgres: &Postgres, tpcc: &Tpcc) {
    let mut connection = postgres.connect().await;
    connection.simple(tpcc.schema()).await.unwrap();
    for number in 0..tpcc.pieces() {
        let piece = tpcc.piece(number);
        let copy = piece.table.copy();
        let mut query = BytesMut::new();
        query.put_u8(b'Q');
        query.put_i32(copy.len() as i32 + 5);
        query.put_slice(copy.as_bytes());
        query.put_u8(0);
        connection.send(&query).await.unwrap();
        while connection.next_frame().await.unwrap().kind() != b'G' {}
        let mut data = BytesMut::new();
        data.put_u8(b'd');
        data.put_i32(piece.text.len() as i32 + 4);
        data.put_slice(piece.text.as_bytes());
        data.put_slice(b"c\0\0\0\x04");
        connection.send(&data).await.unwrap();
        while connection.next_frame().await.unwrap().kind() != b'Z' {}
    }
    connection.simple(tpcc.procedure_text()).await.unwrap();
    connection.simple("VACUUM ANALYZE").await.unwrap();
    connection.simple("CHECKPOINT").await.unwrap();
}

fn call_text(call: &Call, sql: &str) -> CallText {
    let list = |numbers: Vec<String>| format!("{{{}}}", numbers.join(","));
    let (types, values) = call
        .arguments
        .iter()
        .map(|argument| {
            let (oid, text) = match argument {
                Argument::Int(number) => (23, number.map(|number| number.to_string())),
                Argument::BigInt(number) => (20, Some(number.to_string())),
                Argument::Cents(cents) => {
                    (1700, Some(format!("{}.{:02}", cents / 100, cents % 100)))
                }
                Argument::Text(text) => (25, text.clone()),
                Argument::Ints(numbers) => (
                    1007,
                    Some(list(numbers.iter().map(i32::to_string).collect())),
                ),
                Argument::BigInts(numbers) => (
                    1016,
                    Some(list(numbers.iter().map(i64::to_string).collect())),
                ),
            };
            (oid, text.map(|text| Bytes::from(text.into_bytes())))
        })
        .unzip();
    CallText::Extended {
        sql: sql.to_owned(),
        types,
        formats: vec![],
        values,
        result_formats: vec![],
    }
}

/// Calls of one kind.
struct Kind {
    calls: Box<dyn Calls>,
    procedure: usize,
}

impl Kind {
    fn of(tpcc: &Tpcc, procedure: usize, client: u32) -> Kind {
        Kind {
            calls: tpcc.calls(client, 7),
            procedure,
        }
    }

    fn next(&mut self, tpcc: &Tpcc) -> CallText {
        loop {
            let call = self.calls.next_call();
            if call.procedure == self.procedure {
                return call_text(&call, tpcc.procedures()[self.procedure].statement);
            }
        }
    }
}

struct Pair {
    origin: Replica,
    other: Replica,
    durability: Durability,
}

/// One call at a time: all steps.
async fn alone(pair: &mut Pair, tpcc: &Tpcc, procedure: usize, count: usize) {
    let mut kind = Kind::of(tpcc, procedure, 0);
    let mut runner = pair.origin.runner().await;
    let mut applier = pair.other.applier().await;
    let mut stream = pair.origin.stream().await;
    let runs = pid(runner.connection()).await;
    let applies = pid(applier.connection()).await;
    let walsender = "SELECT active_pid FROM pg_replication_slots";
    let reads = pair.origin.postgres.value(walsender).await;
    let (mut attempts, mut known, mut commits, mut whole) =
        <(Times, Times, Times, Times)>::default();
    let mut before = [0.0; 3];
    let (mut rows, mut bytes, mut refused, mut run) = (0, 0, 0, 0);
    while run < count + WARM {
        if run == WARM {
            (attempts, known, commits, whole) = Default::default();
            before = [&runs, &applies, &reads].map(|pid| processor_micros(pid));
            (rows, bytes, refused) = (0, 0, 0);
        }
        let mut attempt = pair.origin.attempt("");
        attempt.text = kind.next(tpcc);
        let start = RealClock.monotonic_nanos();
        match runner.run(&attempt).await {
            Ran::Prepared { .. } => {}
            Ran::Failed { .. } => {
                refused += 1;
                continue;
            }
            Ran::Lost(error) => panic!("{error}"),
        }
        attempts.0.push(micros_since(start));
        let prepared = RealClock.monotonic_nanos();
        let (tag, _, write_set) = stream.prepared().await;
        known.0.push(micros_since(prepared));
        let commit = RealClock.monotonic_nanos();
        runner.commit(&tag.gid).await.unwrap();
        commits.0.push(micros_since(commit));
        let committed = stream.next().await;
        stream.stream.confirm(committed.position());
        rows += write_set.changes().len();
        bytes += write_set.bytes();
        let apply = RealClock.monotonic_nanos();
        let applied = applier
            .apply(&tag.gid, &write_set, pair.durability, Duration::ZERO)
            .await;
        whole.0.push(micros_since(apply));
        assert!(
            matches!(applied, Ok(Applied::Now { missing: 0, .. })),
            "{applied:?}"
        );
        run += 1;
    }
    let after = [&runs, &applies, &reads].map(|pid| processor_micros(pid));
    stream.stream.close().await;
    let each = |index: usize| (after[index] - before[index]) / count as f64;
    println!(
        "{} x {count}, {refused} refused",
        tpcc.procedures()[procedure].name
    );
    println!(
        "  rows {:.1}, bytes {}",
        rows as f64 / count as f64,
        bytes / count
    );
    println!("  attempt  {}", attempts.say());
    println!("  known    {}", known.say());
    println!("  commit   {}", commits.say());
    println!("  apply    {}", whole.say());
    println!(
        "  processor: call, PREPARE and COMMIT PREPARED {:.0}, apply {:.0}, reading the log {:.0}",
        each(0),
        each(1),
        each(2)
    );
}

/// Many at once: how soon the write set is known then.
async fn together(pair: &mut Pair, tpcc: &Tpcc, count: usize) {
    let mut stream = pair.origin.stream().await;
    // A slot begins to read some way back, up to 15 s of log; the clients wait until that is done.
    stream.all(&pair.origin.postgres).await;
    let (sender, mut answered) = tokio::sync::mpsc::unbounded_channel::<(Gid, u64)>();
    let total = count * CLIENTS as usize;
    let reader = tokio::spawn(async move {
        let mut seen: HashMap<Gid, u64> = HashMap::new();
        let mut waiting: HashMap<Gid, u64> = HashMap::new();
        let mut known = Times::default();
        while known.0.len() < total {
            tokio::select! {
                item = stream.stream.next() => {
                    let now = RealClock.monotonic_nanos();
                    if let Item::Prepared { gid, .. } = item.unwrap() {
                        match waiting.remove(&gid) {
                            Some(then) => known.0.push((now - then) as f64 / 1e3),
                            None => drop(seen.insert(gid, now)),
                        }
                    }
                }
                Some((gid, then)) = answered.recv() => match seen.remove(&gid) {
                    // The reader was faster than the answer.
                    Some(now) => known.0.push((now.saturating_sub(then)) as f64 / 1e3),
                    None => drop(waiting.insert(gid, then)),
                },
            }
        }
        known
    });
    let start = RealClock.monotonic_nanos();
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let mut runner = pair.origin.runner().await;
        let sender = sender.clone();
        let front = pair.origin.front.clone();
        let tpcc = *tpcc;
        clients.push(tokio::spawn(async move {
            let mut kind = Kind::of(&tpcc, 0, client);
            let mut number = 1_000_000 * u64::from(client + 1);
            let (mut done, mut again) = (0, 0);
            let mut attempts = Times::default();
            while done < count {
                number += 1;
                let attempt = Attempt {
                    tag: Tag {
                        gid: front.gid(number),
                        place: number,
                        client: None,
                    },
                    text: kind.next(&tpcc),
                    level: Level::ReadCommitted,
                    service: Duration::ZERO,
                };
                let start = RealClock.monotonic_nanos();
                match runner.run(&attempt).await {
                    Ran::Prepared { .. } => {
                        attempts.0.push(micros_since(start));
                        let gid = attempt.tag.gid.clone();
                        sender.send((gid, RealClock.monotonic_nanos())).unwrap();
                        runner.commit(&attempt.tag.gid).await.unwrap();
                        done += 1;
                    }
                    Ran::Failed { .. } => again += 1,
                    Ran::Lost(error) => panic!("{error}"),
                }
            }
            (attempts, again)
        }));
    }
    let mut attempts = Times::default();
    let mut again = 0;
    for client in clients {
        let (times, failed) = client.await.unwrap();
        attempts.0.extend(times.0);
        again += failed;
    }
    let seconds = micros_since(start) / 1e6;
    let mut known = reader.await.unwrap();
    println!(
        "new-order by {CLIENTS} clients at READ COMMITTED: {:.0}/s, {again} failed",
        total as f64 / seconds
    );
    println!("  attempt  {}", attempts.say());
    println!("  known    {}", known.say());
}

/// The same calls in plain transactions, without and with triggers that write down every row.
async fn triggers(postgres: &Postgres, tpcc: &Tpcc, count: usize) {
    let mut client = postgres.connect().await;
    let pid = pid(&mut client).await;
    for with in [false, true] {
        if with {
            client
                .simple(
                    "CREATE TEMP TABLE captured (relation oid, operation text, old_row text, new_row text) ON COMMIT DELETE ROWS;
                     CREATE FUNCTION capture() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                     INSERT INTO captured VALUES (TG_RELID, TG_OP, CASE WHEN TG_OP <> 'INSERT' THEN OLD::text END,
                     CASE WHEN TG_OP <> 'DELETE' THEN NEW::text END); RETURN NULL; END $$",
                )
                .await
                .unwrap();
            for table in tpcc.tables() {
                let name = table.name;
                client
                    .simple(&format!(
                        "CREATE TRIGGER capture AFTER INSERT OR UPDATE OR DELETE ON {name} \
                         FOR EACH ROW EXECUTE FUNCTION capture()"
                    ))
                    .await
                    .unwrap();
            }
        }
        for procedure in [0, 1, 3] {
            let count = if procedure == 3 { count / 10 } else { count };
            let mut kind = Kind::of(tpcc, procedure, 0);
            let mut times = Times::default();
            let mut before = 0.0;
            let mut run = 0;
            while run < count + WARM.min(count) {
                if run == WARM.min(count) {
                    times = Times::default();
                    before = processor_micros(&pid);
                }
                let mut messages = BytesMut::new();
                pipeline(&mut messages, "BEGIN ISOLATION LEVEL REPEATABLE READ", None);
                let text = kind.next(tpcc);
                pipeline(&mut messages, "", Some(&text));
                if with {
                    pipeline(&mut messages, "SELECT * FROM captured", None);
                }
                pipeline(&mut messages, "COMMIT", None);
                messages.put_slice(b"S\0\0\0\x04");
                let start = RealClock.monotonic_nanos();
                let frames = client.exchange(&messages).await.unwrap();
                if frames.iter().any(|frame| frame.kind() == b'E') {
                    client.simple("ROLLBACK").await.unwrap();
                    continue;
                }
                times.0.push(micros_since(start));
                run += 1;
            }
            let processor = (processor_micros(&pid) - before) / count as f64;
            let name = tpcc.procedures()[procedure].name;
            let what = if with { "with triggers" } else { "plain" };
            println!("{name} {what}: {}, processor {processor:.0}", times.say());
        }
    }
}

/// Parse, Bind and Execute of a statement; the comparison with triggers keeps nothing prepared on either side.
fn pipeline(out: &mut BytesMut, plain: &str, call: Option<&CallText>) {
    let (sql, types, values): (&str, &[u32], &[Option<Bytes>]) = match call {
        Some(CallText::Extended {
            sql, types, values, ..
        }) => (sql, types, values),
        _ => (plain, &[], &[]),
    };
    let message = |out: &mut BytesMut, kind: u8, body: &[u8]| {
        out.put_u8(kind);
        out.put_i32(body.len() as i32 + 4);
        out.put_slice(body);
    };
    let mut parse = BytesMut::new();
    parse.put_u8(0);
    parse.put_slice(sql.as_bytes());
    parse.put_u8(0);
    parse.put_u16(types.len() as u16);
    types.iter().for_each(|oid| parse.put_u32(*oid));
    message(out, b'P', &parse);
    let mut bind = BytesMut::new();
    bind.put_slice(&[0, 0, 0, 0]);
    bind.put_u16(values.len() as u16);
    for value in values {
        match value {
            None => bind.put_i32(-1),
            Some(value) => {
                bind.put_i32(value.len() as i32);
                bind.put_slice(value);
            }
        }
    }
    bind.put_u16(0);
    message(out, b'B', &bind);
    message(out, b'E', &[0, 0, 0, 0, 0]);
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().map_or(2_000, |text| text.parse().unwrap());
    let fsync = arguments.next().unwrap_or_else(|| "fsync=off".to_owned());
    let tpcc = Tpcc::new(Scale::full(1), Mix::Full, 1);
    let settings = [
        &*fsync,
        "shared_buffers=512MB",
        "max_wal_size=8GB",
        "checkpoint_timeout=1h",
    ];
    println!("TPC-C, {}, {fsync}, microseconds", tpcc.size());
    let (one, other) = tokio::join!(
        Postgres::start_with(&settings),
        Postgres::start_with(&settings)
    );
    load(&one, &tpcc).await;
    load(&other, &tpcc).await;
    let mut pair = Pair {
        origin: Replica::take_over(one).await,
        other: Replica::take_over(other).await,
        durability: Durability::Async,
    };
    for procedure in [0, 1, 3] {
        let count = if procedure == 3 { count / 10 } else { count };
        alone(&mut pair, &tpcc, procedure, count).await;
    }
    let one = checksums(&pair.origin.postgres.server(), TIMEOUT)
        .await
        .unwrap();
    let two = checksums(&pair.other.postgres.server(), TIMEOUT)
        .await
        .unwrap();
    println!("replicas differ in {:?}", differences(&one, &two));
    together(&mut pair, &tpcc, count / 4).await;
    triggers(&pair.other.postgres, &tpcc, count).await;
}
