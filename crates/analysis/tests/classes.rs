//! Conflict classes of the workloads: who conflicts with whom, and the keys that say so.
//!
//! Files under `scripts/classes/` hold whole reports. `QUINTET_REWRITE=1 cargo test -p quintet-analysis --test
//! classes` writes what comes out instead of comparing; read the diff.

#![allow(clippy::unwrap_used)]

use quintet_analysis::{Classes, Footprint, Granularity, Rule, report};
use quintet_base::conflict::ConflictKey;
use quintet_base::text_format::FormatContext;
use quintet_base::value::Array;
use quintet_base::{Level, SqlType, Value};
use quintet_rt::{Clock, RealClock};
use quintet_sql::{Catalog, Command, PlanContext, parse, plan};

macro_rules! workload {
    ($name: literal) => {
        concat!(
            include_str!(concat!("../../workloads/src/", $name, "/schema.sql")),
            include_str!(concat!("../../workloads/src/", $name, "/procedures.sql"))
        )
    };
}

const BY_COLUMN: Rule = Rule {
    level: Level::Snapshot,
    granularity: Granularity::Column,
};
const BY_ROW: Rule = Rule {
    level: Level::Snapshot,
    granularity: Granularity::Row,
};
const SERIALIZABLE: Rule = Rule {
    level: Level::Serializable,
    granularity: Granularity::Column,
};

fn classes(text: &str, rule: Rule) -> Classes {
    let mut catalog = Catalog::load([]).unwrap();
    for statement in parse(text).unwrap() {
        let format = FormatContext::default();
        let context = PlanContext {
            catalog: &catalog,
            schema: "public",
            user: quintet_sql::Who::SYSTEM,
            database: "quintet",
            format: &format,
            dynamic: &quintet_sql::NOTHING_DYNAMIC,
        };
        match plan(&statement, &context, &[]).unwrap().command {
            Command::Ddl(change) => catalog = catalog.apply(&change.changes).unwrap(),
            other => panic!("{other:?}"),
        }
    }
    let programs = catalog.programs();
    let footprints = programs.map(|(_, program)| Footprint::of(&program.unwrap()));
    Classes::new(footprints.collect(), rule)
}

/// The pairs that conflict, with their conditions.
fn conflicts(classes: &Classes) -> Vec<String> {
    let names: Vec<&str> = classes.names().collect();
    let mut found = Vec::new();
    for one in 0..names.len() {
        for other in one..names.len() {
            let condition = classes.condition(one, other);
            if !condition.is_never() {
                found.push(format!(
                    "{} x {}: {}",
                    names[one],
                    names[other],
                    condition.text()
                ));
            }
        }
    }
    found
}

fn keys(classes: &Classes, name: &str, arguments: &[Value]) -> Vec<ConflictKey> {
    let number = classes.names().position(|known| known == name).unwrap();
    let mut keys = Vec::new();
    classes.keys(number, arguments, &mut keys);
    keys
}

fn meet(classes: &Classes, one: &[ConflictKey], other: &[ConflictKey]) -> bool {
    one.iter()
        .any(|key| other.iter().any(|other| key.meets(other, classes.modes())))
}

#[track_caller]
#[allow(clippy::disallowed_methods)] // rewrites a file of the source tree, by hand only
fn check(name: &str, text: &str, rule: Rule, expected: &str) {
    let actual = report(&classes(text, rule)).join("\n");
    if std::env::var_os("QUINTET_REWRITE").is_some() {
        let file = format!(
            "{}/tests/scripts/classes/{name}.txt",
            env!("CARGO_MANIFEST_DIR")
        );
        std::fs::write(file, actual + "\n").unwrap();
        return;
    }
    assert_eq!(actual.trim_end(), expected.trim_end(), "{name}");
}

/// The table that the Gargamel thesis derived by hand (5.2, and again 6.1), from the text alone.
#[test]
fn tpcc_conflicts_as_in_the_thesis() {
    assert_eq!(
        conflicts(&classes(workload!("tpcc"), BY_COLUMN)),
        [
            "new_order x new_order: same in_w_id and in_d_id; or a shared in_supply_w_ids[i] and in_item_ids[i]",
            "payment x payment: same in_w_id; or same in_c_w_id, in_c_d_id and in_c_id (any if in_c_id IS NULL)",
            "payment x delivery: payment.in_c_w_id = delivery.in_w_id",
            "delivery x delivery: same in_w_id",
        ]
    );
}

/// Written out: what a reader of the report is shown, and why reads add so many pairs.
#[test]
fn tpcc_reports() {
    let text = workload!("tpcc");
    let by_row = Rule {
        granularity: Granularity::Row,
        ..SERIALIZABLE
    };
    check(
        "tpcc",
        text,
        BY_COLUMN,
        include_str!("scripts/classes/tpcc.txt"),
    );
    check(
        "tpcc_row",
        text,
        BY_ROW,
        include_str!("scripts/classes/tpcc_row.txt"),
    );
    let expected = include_str!("scripts/classes/tpcc_serializable.txt");
    check("tpcc_serializable", text, SERIALIZABLE, expected);
    let expected = include_str!("scripts/classes/tpcc_serializable_row.txt");
    check("tpcc_serializable_row", text, by_row, expected);
}

fn int(value: i32) -> Value {
    Value::Int4(value)
}

fn ints(values: &[i32]) -> Value {
    Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Int4,
        values: values.iter().copied().map(int).collect(),
    }))
}

/// Warehouse and district of the terminal, then of the customer; without a number he is taken by name.
fn payment(place: [i32; 4], customer: Option<i32>) -> Vec<Value> {
    let mut arguments: Vec<Value> = place.into_iter().map(int).collect();
    arguments.push(customer.map_or(Value::Null, int));
    arguments.push(Value::text("BARBARBAR"));
    arguments.push(int(10));
    arguments
}

fn new_order(warehouse: i32, district: i32, supply: &[i32], items: &[i32]) -> Vec<Value> {
    let quantities = ints(&vec![1; items.len()]);
    vec![
        int(warehouse),
        int(district),
        int(1),
        ints(items),
        ints(supply),
        quantities,
    ]
}

/// A customer who is known by name only may be any of his district.
#[test]
fn a_customer_taken_by_name_widens_to_his_district() {
    let classes = classes(workload!("tpcc"), BY_COLUMN);
    let of = |place, customer| keys(&classes, "payment", &payment(place, customer));
    let by_number = of([1, 1, 5, 5], Some(7));
    let by_name = of([2, 2, 5, 5], None);
    assert!(meet(&classes, &by_number, &by_name));
    assert!(!meet(&classes, &by_number, &of([2, 2, 5, 5], Some(8))));
    assert!(meet(&classes, &by_number, &of([2, 2, 5, 5], Some(7))));
    assert!(
        !meet(&classes, &by_name, &of([3, 2, 5, 6], None)),
        "another district"
    );
    let delivery = |warehouse| keys(&classes, "delivery", &[int(warehouse), int(1)]);
    assert!(meet(&classes, &by_name, &delivery(5)));
    assert!(meet(&classes, &by_number, &delivery(5)));
    assert!(!meet(&classes, &by_number, &delivery(1)));
}

/// Items count with their supplying warehouses; a call has one key for its district and one for each line.
#[test]
fn new_orders_meet_by_district_or_by_item() {
    let classes = classes(workload!("tpcc"), BY_COLUMN);
    let of = |arguments: &[Value]| keys(&classes, "new_order", arguments);
    let order = of(&new_order(1, 1, &[1, 1, 2], &[10, 11, 10]));
    assert_eq!(order.len(), 4);
    assert!(
        meet(&classes, &order, &of(&new_order(1, 1, &[9], &[99]))),
        "same district"
    );
    assert!(
        meet(&classes, &order, &of(&new_order(3, 1, &[2], &[10]))),
        "same stock"
    );
    assert!(
        !meet(&classes, &order, &of(&new_order(3, 1, &[2], &[11]))),
        "other stock"
    );
    assert!(!meet(
        &classes,
        &order,
        &keys(&classes, "delivery", &[int(1), int(1)])
    ));
    assert!(!meet(
        &classes,
        &order,
        &keys(&classes, "payment", &payment([1, 1, 1, 1], None))
    ));
    assert_eq!(
        keys(&classes, "order_status", &[int(1), int(1), int(1)]),
        []
    );
    assert_eq!(
        keys(&classes, "stock_level", &[int(1), int(1), int(10)]),
        []
    );
}

/// PostgreSQL sees rows: a payment and an order both write the district.
#[test]
fn by_row_new_order_and_payment_meet_in_the_district() {
    let classes = classes(workload!("tpcc"), BY_ROW);
    let order = keys(&classes, "new_order", &new_order(1, 1, &[1], &[10]));
    let paid = |district| keys(&classes, "payment", &payment([1, district, 9, 9], Some(1)));
    assert!(meet(&classes, &order, &paid(1)));
    assert!(!meet(&classes, &order, &paid(2)));
}

/// Derived by hand: a customer's number is known only when his name has been looked up, so any two that write
/// one table's balance may conflict. `savings` is written by transact_savings and amalgamate, `checking` by
/// all others but balance; `account` by nobody.
#[test]
fn smallbank_by_hand() {
    let always = |pairs: &[(&str, &str)]| -> Vec<String> {
        pairs
            .iter()
            .map(|(one, other)| format!("{one} x {other}: always"))
            .collect()
    };
    let text = workload!("smallbank");
    let [bal, dc, ts, am, wc, sp] = [
        "balance",
        "deposit_checking",
        "transact_savings",
        "amalgamate",
        "write_check",
        "send_payment",
    ];
    let writes = [
        (dc, dc),
        (dc, am),
        (dc, wc),
        (dc, sp),
        (ts, ts),
        (ts, am),
        (am, am),
        (am, wc),
        (am, sp),
        (wc, wc),
        (wc, sp),
        (sp, sp),
    ];
    assert_eq!(conflicts(&classes(text, BY_COLUMN)), always(&writes));
    assert_eq!(
        conflicts(&classes(text, BY_ROW)),
        always(&writes),
        "one column each"
    );
    // Balance reads both tables, write_check reads savings, too.
    let with_reads = [
        (bal, dc),
        (bal, ts),
        (bal, am),
        (bal, wc),
        (bal, sp),
        (dc, dc),
        (dc, am),
        (dc, wc),
        (dc, sp),
        (ts, ts),
        (ts, am),
        (ts, wc),
        (am, am),
        (am, wc),
        (am, sp),
        (wc, wc),
        (wc, sp),
        (sp, sp),
    ];
    assert_eq!(conflicts(&classes(text, SERIALIZABLE)), always(&with_reads));
}

/// What each kind of statement says of its rows.
#[test]
fn statements() {
    let script = include_str!("scripts/classes/statements.txt");
    let text = script.split("\n----").next().unwrap();
    let report = report(&classes(text, SERIALIZABLE)).join("\n");
    let actual = format!("{}\n----\n{report}\n", text.trim_end());
    if std::env::var_os("QUINTET_REWRITE").is_some() {
        #[allow(clippy::disallowed_methods)] // as above
        std::fs::write(
            format!(
                "{}/tests/scripts/classes/statements.txt",
                env!("CARGO_MANIFEST_DIR")
            ),
            actual,
        )
        .unwrap();
        return;
    }
    assert_eq!(actual.trim_end(), script.trim_end());
}

/// More lines than are worth a key each: all stock, in one key; and errors on the way to a key say "any".
#[test]
fn too_many_turns_widen() {
    let classes = classes(workload!("tpcc"), BY_COLUMN);
    let many: Vec<i32> = (0..1000).collect();
    let huge = keys(&classes, "new_order", &new_order(1, 1, &many, &many));
    assert_eq!(huge.len(), 2);
    let small = keys(&classes, "new_order", &new_order(2, 1, &[77], &[5]));
    assert!(meet(&classes, &huge, &small));
}

/// The time that the keys of a call take. Run by hand, in a release build, on a machine with nothing else to
/// do: `cargo test --release -p quintet-analysis --test classes -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn measured_keys() {
    const ROUNDS: u64 = 100_000;
    let clock = RealClock;
    let classes = classes(workload!("tpcc"), BY_COLUMN);
    let order = new_order(1, 1, &[1; 10], &[10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    let calls: [(&str, Vec<Value>); 5] = [
        ("new_order", order),
        ("payment", payment([1, 1, 1, 1], Some(1))),
        ("payment", payment([1, 1, 1, 1], None)),
        ("delivery", vec![int(1), int(1)]),
        ("order_status", vec![int(1), int(1), int(1)]),
    ];
    for (name, arguments) in calls {
        let number = classes.names().position(|known| known == name).unwrap();
        let mut keys = Vec::new();
        let begin = clock.monotonic_nanos();
        for _ in 0..ROUNDS {
            keys.clear();
            classes.keys(number, std::hint::black_box(&arguments), &mut keys);
            std::hint::black_box(&keys);
        }
        let spent = (clock.monotonic_nanos() - begin) / ROUNDS;
        let count = keys.len() as u64;
        println!(
            "{name}: {spent} ns a call, {count} keys, {} ns a key",
            spent / count.max(1)
        );
    }
}

/// How our own commit sees it: rows are written, columns are read where the engine remembers which; rows numbered by
/// one sequence never have one key, but one that is given a number may.
#[test]
fn by_commit() {
    let text = "
        create table log (id bigserial primary key, what text);
        create table t (k int primary key, a int, b int);
        create procedure told(what text) language plpgsql as $$
        begin insert into log (what) values (told.what); end $$;
        create procedure told_as(number bigint) language plpgsql as $$
        begin insert into log values (number, 'given'); end $$;
        create procedure set_a(key int) language plpgsql as $$
        begin update t set a = 1 where k = key; end $$;
        create procedure set_b(key int) language plpgsql as $$
        begin update t set b = 1 where k = key; end $$;
        create procedure look(key int) language plpgsql as $$
        declare seen int;
        begin
          select a into seen from t where k = key;
          insert into log (what) values (seen::text);
        end $$;
        create procedure look_around(key int) language plpgsql as $$
        declare seen int;
        begin
          select sum(a) into seen from t where k = key;
          insert into log (what) values (seen::text);
        end $$;";
    let rule = |level, granularity| Rule { level, granularity };
    let commit = rule(Level::Serializable, Granularity::Commit);
    let pairs = conflicts(&classes(text, commit));
    assert_eq!(
        pairs,
        [
            "told x told_as: always",
            "told_as x told_as: same number",
            "told_as x look: always",
            "told_as x look_around: always",
            "set_a x set_a: same key",
            "set_a x set_b: set_a.key = set_b.key",
            "set_a x look: set_a.key = look.key",
            "set_a x look_around: set_a.key = look_around.key",
            "set_b x set_b: same key",
            "set_b x look_around: set_b.key = look_around.key",
        ]
    );
    let column = conflicts(&classes(
        text,
        rule(Level::Serializable, Granularity::Column),
    ));
    assert!(
        column.contains(&"told x told: always".to_string()),
        "{column:?}"
    );
    let added = |pair: &&str| !column.contains(&pair.to_string());
    let added: Vec<&str> = pairs.iter().map(String::as_str).filter(added).collect();
    assert_eq!(
        added,
        [
            "set_a x set_b: set_a.key = set_b.key",
            "set_b x look_around: set_b.key = look_around.key"
        ]
    );
}

/// What chains go by: an order and a payment meet in the district, not in the warehouse whose tax the order reads.
#[test]
fn tpcc_by_commit() {
    let by_commit = |level| Rule {
        level,
        granularity: Granularity::Commit,
    };
    let of_pair = |level| -> Vec<String> {
        let found = conflicts(&classes(workload!("tpcc"), by_commit(level)));
        let pair = |line: &String| line.starts_with("new_order x payment");
        found.into_iter().filter(pair).collect()
    };
    let expected = "new_order x payment: new_order.in_w_id = payment.in_w_id and \
                    new_order.in_d_id = payment.in_d_id";
    for level in [Level::Snapshot, Level::Serializable] {
        assert_eq!(of_pair(level), [expected]);
    }
}

/// Goal: who adds a child meets who removes its parent, at every level, and neither who changes the parent's other
/// columns nor who adds another child; a cascade reaches the rows below.
#[test]
fn foreign_keys_meet_where_the_parent_goes() {
    let text = "
        CREATE TABLE parent (id int PRIMARY KEY, hits int);
        CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent);
        CREATE TABLE below (id int PRIMARY KEY REFERENCES parent ON DELETE CASCADE, n int);
        CREATE PROCEDURE add(c int, p int) LANGUAGE sql AS $$ INSERT INTO child VALUES (c, p) $$;
        CREATE PROCEDURE move(c int, p int) LANGUAGE sql AS $$ UPDATE child SET parent = p WHERE id = c $$;
        CREATE PROCEDURE touch(p int) LANGUAGE sql AS $$ UPDATE parent SET hits = hits + 1 WHERE id = p $$;
        CREATE PROCEDURE remove(p int) LANGUAGE sql AS $$ DELETE FROM parent WHERE id = p $$;
        CREATE PROCEDURE renumber(p int, q int) LANGUAGE sql AS $$ UPDATE parent SET id = q WHERE id = p $$;
        CREATE PROCEDURE under(p int) LANGUAGE sql AS $$ UPDATE below SET n = n + 1 WHERE id = p $$;";
    let int = Value::Int4;
    for rule in [BY_COLUMN, SERIALIZABLE] {
        let classes = classes(text, rule);
        let keys = |name: &str, arguments: &[i32]| {
            let arguments: Vec<Value> = arguments.iter().map(|v| int(*v)).collect();
            keys(&classes, name, &arguments)
        };
        let meets = |one: &[ConflictKey], other: &[ConflictKey]| meet(&classes, one, other);
        for child in [keys("add", &[1, 7]), keys("move", &[1, 7])] {
            assert!(meets(&child, &keys("remove", &[7])), "{rule:?}");
            assert!(meets(&child, &keys("renumber", &[7, 9])), "{rule:?}");
            assert!(!meets(&child, &keys("touch", &[7])), "{rule:?}");
            assert!(!meets(&child, &keys("add", &[2, 7])), "{rule:?}");
        }
        assert!(!meets(&keys("touch", &[7]), &keys("remove", &[8])));
        assert!(
            meets(&keys("under", &[7]), &keys("remove", &[7])),
            "{rule:?}"
        );
        assert!(
            !meets(&keys("under", &[8]), &keys("remove", &[7])),
            "{rule:?}"
        );
    }
    let snapshot = classes(text, BY_COLUMN);
    let add = keys(&snapshot, "add", &[int(1), int(7)]);
    assert!(!meet(
        &snapshot,
        &add,
        &keys(&snapshot, "remove", &[int(8)])
    ));
}

/// Goal: a NULL in a unique key is nobody else's, unless NULLs are equal there; also one that is written as such.
#[test]
fn nulls_meet_where_they_are_equal() {
    let text = "create table t (id int primary key, a int unique nulls not distinct, b int unique);
        create procedure add_a(i int, v int) language plpgsql as $$ begin insert into t values (i, v, i); end $$;
        create procedure add_b(i int, v int) language plpgsql as $$ begin insert into t values (i, i, v); end $$;
        create procedure null_a(i int) language plpgsql as $$ begin update t set a = null where id = i; end $$;
        create procedure null_b(i int) language plpgsql as $$ begin update t set b = null where id = i; end $$";
    for rule in [BY_COLUMN, BY_ROW, SERIALIZABLE] {
        let classes = classes(text, rule);
        let of = |name: &str, i: i32, v: Option<i32>| {
            let value = v.map_or(Value::Null, int);
            let arguments = [int(i), value];
            let count = if name.starts_with("add") { 2 } else { 1 };
            keys(&classes, name, &arguments[..count])
        };
        let meets = |one: (&str, i32, Option<i32>), other: (&str, i32, Option<i32>)| {
            meet(
                &classes,
                &of(one.0, one.1, one.2),
                &of(other.0, other.1, other.2),
            )
        };
        assert!(meets(("add_a", 1, None), ("add_a", 2, None)), "{rule:?}");
        assert!(meets(("add_a", 1, None), ("null_a", 2, None)), "{rule:?}");
        assert!(meets(("null_a", 1, None), ("null_a", 2, None)), "{rule:?}");
        assert!(!meets(("add_a", 1, Some(4)), ("add_a", 2, Some(5))));
        assert!(!meets(("add_b", 1, None), ("add_b", 2, None)), "{rule:?}");
        assert!(!meets(("null_b", 1, None), ("null_b", 2, None)));
    }
}
