//! What a call of a workload's procedures costs, procedure by procedure, on one thread of this process.
//!
//! ```text
//! cargo build --release -p quintet-bench --example call_cost
//! call_cost DIRECTORY tpcc|neworder-payment|ycsb WAREHOUSES CALLS [PROCEDURE]
//! valgrind --tool=callgrind --toggle-collect='*measured*' call_cost DIRECTORY tpcc 1 500 new-order
//! ```
//! Relies on: `embed`.  Promises: the directory is loaded if it is empty; calls are a function of their number, so
//! that two programs do the same; with a procedure's name only its calls are made. Callgrind's count inside
//! `measured`, divided by the calls, is instructions per call.  Does not: run anything beside the calls, so what
//! meetings of threads cost is not seen.

use quintet_base::{Array, Durability, Level, Numeric, SqlType, Value};
use quintet_bench::{CallRun, Embedded, RunConfig};
use quintet_embed::{Client, Database, DatabaseConfig};
use quintet_rt::{Clock, RealClock};
use quintet_workloads::tpcc::{Mix, Scale};
use quintet_workloads::{Argument, Call, Tpcc, Workload, YcsbSql, ycsb_sql};
use std::collections::BTreeMap;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MEMORY_BYTES: usize = 4 << 30;
/// Calls before those that are measured: plans are made, and memory has been met.
const WARM_UP: usize = 200;

type Failed = Box<dyn std::error::Error>;

/// Hundredths.
fn amount(cents: i64) -> Numeric {
    Numeric::from_parts(i128::from(cents), 2).expect("a short number")
}

fn value(argument: &Argument) -> Value {
    let array = |element, values| {
        Value::Array(Box::new(Array {
            shape: None,
            element,
            values,
        }))
    };
    match argument {
        Argument::Int(number) => number.map_or(Value::Null, Value::Int4),
        Argument::BigInt(number) => Value::Int8(*number),
        Argument::Cents(cents) => Value::numeric(amount(*cents)),
        Argument::Text(text) => text.as_ref().map_or(Value::Null, Value::text),
        Argument::Ints(numbers) => {
            let numbers = numbers.iter().map(|number| Value::Int4(*number));
            array(SqlType::Int4, numbers.collect())
        }
        Argument::BigInts(numbers) => {
            let numbers = numbers.iter().map(|number| Value::Int8(*number));
            array(SqlType::Int8, numbers.collect())
        }
    }
}

/// One call. Its end is the workload's affair; a refusal is an answer, too.
#[inline(never)]
fn measured(client: &mut Client, name: &str, call: &Call) -> bool {
    let params = call.arguments.iter().map(value).collect();
    client.execute(name, params).is_ok()
}

fn workload(name: &str, warehouses: u64) -> Result<Box<dyn Workload>, Failed> {
    let tpcc = |mix| Box::new(Tpcc::new(Scale::full(warehouses), mix, 1));
    Ok(match name {
        "tpcc" => tpcc(Mix::Full),
        "neworder-payment" => tpcc(Mix::NewOrderPayment),
        "ycsb" => Box::new(YcsbSql::new(
            ycsb_sql::Mix::QStore,
            1_000_000 * warehouses,
            100,
            0.9,
        )),
        other => return Err(format!("no workload {other}").into()),
    })
}

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, name, warehouses, calls, only @ ..] = &arguments[..] else {
        return Err("DIRECTORY WORKLOAD WAREHOUSES CALLS [PROCEDURE]".into());
    };
    let (warehouses, calls) = (warehouses.parse()?, calls.parse::<usize>()?);
    let workload = workload(name, warehouses)?;
    let (database, _) = Database::open(DatabaseConfig {
        memory_bytes: MEMORY_BYTES,
        durability: Durability::Async,
        ..DatabaseConfig::new(directory)
    })?;
    let mut client = database.client()?;
    if client.query("SELECT count(*) FROM warehouse").is_err()
        && client.query("SELECT count(*) FROM usertable").is_err()
    {
        let load = CallRun {
            run: RunConfig {
                seconds: 0.0,
                ..RunConfig::default()
            },
            clients: 1,
            level: Level::Serializable,
            durability: None,
            target: "embedded",
            seed: 1,
            load: true,
            check: false,
            as_is: false,
        };
        let system = Embedded::new(database.clone(), Level::Serializable);
        load.execute(&system, &*workload, Arc::new(RealClock), &mut |_| {})?;
    }
    client.query("SET default_transaction_isolation = 'serializable'")?;
    for procedure in workload.procedures() {
        client.prepare(procedure.name, procedure.statement)?;
    }
    if let Some(only) = only.first() {
        let names = workload.procedures().iter().map(|procedure| procedure.name);
        let names: Vec<&str> = names.collect();
        if !names.contains(&only.as_str()) {
            return Err(format!("no procedure {only}: {}", names.join(", ")).into());
        }
    }
    let mut stream = workload.calls(0, 7);
    let mut costs: BTreeMap<&str, (u64, usize)> = BTreeMap::new();
    let mut done = 0;
    while done < WARM_UP + calls {
        let call = stream.next_call();
        let name = workload.procedures()[call.procedure].name;
        if only.first().is_some_and(|only| only != name) {
            continue;
        }
        done += 1;
        if done <= WARM_UP {
            let params = call.arguments.iter().map(value).collect();
            let _ = client.execute(name, params);
            continue;
        }
        let begun = RealClock.monotonic_nanos();
        measured(&mut client, name, &call);
        let cost = costs.entry(name).or_default();
        cost.0 += RealClock.monotonic_nanos() - begun;
        cost.1 += 1;
    }
    for (name, (nanos, count)) in &costs {
        let micros = *nanos as f64 / *count as f64 / 1e3;
        println!("{name:12} {count:8} calls {micros:9.2} µs");
    }
    let nanos: u64 = costs.values().map(|(nanos, _)| nanos).sum();
    println!(
        "{:12} {:8} calls {:9.2} µs",
        "all",
        calls,
        nanos as f64 / calls as f64 / 1e3
    );
    database.close()?;
    Ok(())
}
