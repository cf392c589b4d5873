//! What a place in line costs a call that meets nobody.
//!
//! `cargo test --release -p quintet-embed --lib -- --ignored --nocapture measured_places`

use crate::classified::Class;
use crate::{Database, DatabaseConfig};
use quintet_base::value::Array;
use quintet_base::{Level, SqlType, Value};
use quintet_rt::{Clock, RealClock};

const ROUNDS: u64 = 300_000;

fn ints(values: &[i32]) -> Value {
    Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Int4,
        values: values.iter().copied().map(Value::Int4).collect(),
    }))
}

/// Ten lines of one warehouse; a customer by number; nothing that anybody could conflict with.
fn calls() -> [(&'static str, Vec<Value>); 3] {
    let int = Value::Int4;
    let items: Vec<i32> = (1..=10).map(|i| i * 17).collect();
    let order = vec![
        int(1),
        int(2),
        int(3),
        ints(&items),
        ints(&[1; 10]),
        ints(&[5; 10]),
    ];
    let payment = vec![
        int(1),
        int(2),
        int(1),
        int(2),
        int(7),
        Value::Null,
        int(1000),
    ];
    [
        ("new_order", order),
        ("payment", payment),
        ("note", vec![int(1)]),
    ]
}

#[test]
#[ignore = "a measurement"]
fn measured_places() {
    let dir = tempfile::tempdir().unwrap();
    let (db, _) = Database::open(DatabaseConfig::new(dir.path())).unwrap();
    let (_, schema, procedures) = quintet_workloads::TEXTS
        .iter()
        .find(|(name, ..)| *name == "tpcc")
        .unwrap();
    let mut client = db.client().unwrap();
    client.query(schema).unwrap();
    client.query(procedures).unwrap();
    client
        .query(
            "create table notes (n int);
             create procedure note(n int) language plpgsql as $$
             begin insert into notes values (n); end $$",
        )
        .unwrap();
    let schema = db.inner.schema();
    for level in [Level::Snapshot, Level::Serializable] {
        let clock = RealClock;
        let before = clock.monotonic_nanos();
        let classes = schema.classes.at(level, &schema.catalog);
        let made = (clock.monotonic_nanos() - before) / 1000;
        println!("{level}: classes of the catalogue {made} us");
        let programs: Vec<_> = schema.catalog.programs().collect();
        for (name, mut arguments) in calls() {
            let program = programs
                .iter()
                .find(|(described, _)| described.contains(name));
            let program = program.unwrap().1.as_ref().unwrap();
            let mut count = 0;
            let (mut making, mut placing) = (0, 0);
            for _ in 0..ROUNDS {
                let start = clock.monotonic_nanos();
                let Some(Class::Writes(number)) = classes.class(program) else {
                    panic!("{name} writes");
                };
                let keys = classes.keys(number, &mut arguments);
                let made = clock.monotonic_nanos();
                count = keys.len();
                let chains = &db.inner.chains;
                let place = chains.submit(level, schema.revision, classes.modes(), keys);
                drop(place.unwrap_or_else(|why| panic!("{why:?}")));
                making += made - start;
                placing += clock.monotonic_nanos() - made;
            }
            println!(
                "{level} {name}: {count} keys, {} ns to make, {} ns for the place",
                making / ROUNDS,
                placing / ROUNDS
            );
        }
    }
}
