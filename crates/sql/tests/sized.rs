//! Plans of joins for tables of known sizes.

#![allow(clippy::unwrap_used)]

use quintet_base::SpaceId;
use quintet_base::text_format::FormatContext;
use quintet_ir::explain::explain;
use quintet_sql::{Catalog, Command, PlanContext, Sizes, parse, plan, plan_sized};
use std::collections::HashMap;

const TABLES: &str = "
    create table region (id int primary key, name text);
    create table nation (id int primary key, region int, name text);
    create table customer (id int primary key, nation int, segment text);
    create table orders (id int primary key, customer int, day date);
    create table line (orders int, number int, part int, supplier int, price numeric, primary key (orders, number));
    create table supplier (id int primary key, nation int);
    create table part (id int primary key, kind text);";

/// Rows of each.
const ROWS: [(&str, u64); 7] = [
    ("supplier", 1_000),
    ("region", 5),
    ("nation", 25),
    ("customer", 15_000),
    ("orders", 150_000),
    ("line", 600_000),
    ("part", 20_000),
];

fn context<'a>(catalog: &'a Catalog, format: &'a FormatContext) -> PlanContext<'a> {
    PlanContext {
        catalog,
        schema: "public",
        user: quintet_sql::Who::SYSTEM,
        database: "quintet",
        format,
        dynamic: &quintet_sql::NOTHING_DYNAMIC,
    }
}

fn catalog() -> Catalog {
    let mut catalog = Catalog::load([]).unwrap();
    let format = FormatContext::default();
    for statement in parse(TABLES).unwrap() {
        let planned = plan(&statement, &context(&catalog, &format), &[]).unwrap();
        if let Command::Ddl(change) = &planned.command {
            catalog = catalog.apply(&change.changes).unwrap();
        }
    }
    catalog
}

/// The plan where each table has its rows divided by `share`, and what was asked.
fn planned(sql: &str, share: u64) -> (Vec<String>, usize) {
    let catalog = catalog();
    let rows: HashMap<SpaceId, u64> = catalog
        .tables()
        .map(|table| {
            let rows = ROWS.iter().find(|(name, _)| *name == table.name).unwrap().1;
            (table.space, rows / share)
        })
        .collect();
    let count = |space: SpaceId| rows[&space];
    let sizes = Sizes::new(&count);
    let format = FormatContext::default();
    let statement = parse(sql).unwrap().pop().unwrap();
    let planned = plan_sized(&statement, &context(&catalog, &format), &[], &sizes).unwrap();
    let Command::Run(procedure) = &planned.command else {
        panic!("{sql} runs nothing");
    };
    let lines = explain(procedure.statement().unwrap());
    (lines, sizes.asked().len())
}

fn check(sql: &str, expected: &[&str]) {
    assert_eq!(planned(sql, 1).0, expected, "{sql}");
}

/// The large table's rows go by, the few of the small one are kept; by key what is named by few rows.
#[test]
fn the_order_follows_from_the_sizes() {
    check(
        "select count(*) from line, part where part = part.id and kind = 'x'",
        &[
            "Aggregate",
            "  ->  Hash Join",
            "        Hash Cond: (line.part = part.id)",
            "        ->  Seq Scan on line",
            "        ->  Hash",
            "              ->  Seq Scan on part",
            "                    Filter: (part.kind = 'x'::text)",
        ],
    );
    check(
        "select count(*) from line, orders where orders = orders.id and day = '2020-01-01'",
        &[
            "Aggregate",
            "  ->  Nested Loop",
            "        ->  Seq Scan on orders",
            "              Filter: (orders.day = '2020-01-01'::date)",
            "        ->  Index Scan using line_pkey on line",
            "              Index Cond: (line.orders = orders.id)",
            "              Hashed After: 60000 rows",
        ],
    );
}

/// Columns that are equal to a key have no more values than it: customers and suppliers of one nation are many pairs, so lines come between.
#[test]
fn columns_equal_to_a_key_have_as_many_values() {
    let sql = "select count(*) from customer, orders, line, supplier, nation, region
        where customer = customer.id and line.orders = orders.id and line.supplier = supplier.id
          and customer.nation = supplier.nation and supplier.nation = nation.id
          and region = region.id and region.name = 'r' and day > '2020-01-01'";
    let lines = planned(sql, 1).0.join("\n");
    assert!(
        !lines.contains("(customer.nation = supplier.nation)\n        ->  Seq"),
        "{lines}"
    );
    assert!(
        lines.contains("(line.supplier = supplier.id) AND"),
        "{lines}"
    );
}

/// However the tables are written, the plan is one.
#[test]
fn the_order_does_not_follow_from_the_text() {
    let tables = ["region", "nation", "customer", "orders", "line", "part"];
    let conditions = "region = region.id and nation = nation.id and customer = customer.id
        and orders = orders.id and part = part.id and region.name = 'r' and kind = 'k'";
    let mut seen = Vec::new();
    for turn in 0..tables.len() {
        let mut tables = tables;
        tables.rotate_left(turn);
        let sql = format!(
            "select count(*) from {} where {conditions}",
            tables.join(", ")
        );
        seen.push(planned(&sql, 1).0);
    }
    assert!(seen.iter().all(|lines| *lines == seen[0]), "{seen:#?}");
    let lines = seen[0].join("\n");
    // A fifth of the customers' orders name their lines by key: that is less than reading all lines.
    assert!(
        lines.contains("Index Scan using line_pkey on line"),
        "{lines}"
    );
    assert!(lines.contains("Seq Scan on orders"), "{lines}");
}

/// Where a constant leads to a row, where a LIMIT wants an order that a key has, and where all is small, nothing is estimated.
#[test]
fn the_rule_holds_where_nothing_is_to_be_gained() {
    let same = |sql: &str, share: u64| {
        let catalog = catalog();
        let format = FormatContext::default();
        let statement = parse(sql).unwrap().pop().unwrap();
        let by_rule = plan(&statement, &context(&catalog, &format), &[]).unwrap();
        let Command::Run(procedure) = &by_rule.command else {
            panic!("{sql} runs nothing");
        };
        let lines = explain(procedure.statement().unwrap());
        assert_eq!(planned(sql, share).0, lines, "{sql}");
    };
    same(
        "select * from part, line where part = part.id and orders = 7",
        1,
    );
    same(
        "select * from line, part where part = part.id order by orders, number limit 3",
        1,
    );
    same("select * from line, part where part = part.id", 100);
    let (_, asked) = planned(
        "select * from part, line where part = part.id and orders = 7",
        1,
    );
    assert_eq!(asked, 0);
}

#[test]
fn an_or_over_tables_is_asked_of_each() {
    check(
        "select count(*) from line, part where part = part.id
           and (kind = 'a' and number = 1 or kind = 'b' and number = 2)",
        &[
            "Aggregate",
            "  ->  Hash Join",
            "        Hash Cond: (line.part = part.id)",
            "        Join Filter: (((part.kind = 'a'::text) AND (line.number = 1)) OR ((part.kind = 'b'::text) AND (line.number = 2)))",
            "        ->  Seq Scan on line",
            "              Filter: ((line.number = 1) OR (line.number = 2))",
            "        ->  Hash",
            "              ->  Seq Scan on part",
            "                    Filter: ((part.kind = 'a'::text) OR (part.kind = 'b'::text))",
        ],
    );
}

/// What all rows would ask for is found once and joined; what few rows ask, or a key leads to, is asked row by row.
#[test]
fn what_many_rows_ask_is_joined() {
    let exists =
        "exists (select 1 from orders where orders.customer = customer.id and day > '2020-01-01')";
    for (sql, joined) in [
        (format!("select * from customer where {exists}"), true),
        ("select * from orders where exists (select 1 from customer where customer.id = orders.customer and segment = 's')".into(), true),
        ("select * from orders where not exists (select 1 from customer where customer.id = orders.customer)".into(), true),
        ("select * from orders where exists (select 1 from customer where customer.id = orders.customer) limit 5".into(), false),
        ("select count(*) from orders where exists (select 1 from customer where customer.id = orders.customer) limit 5".into(), true),
        ("select * from orders where exists (select 1 from customer where customer.id = orders.customer) order by id limit 5".into(), false),
        ("select * from orders where exists (select 1 from customer where customer.id = orders.customer) order by day limit 5".into(), true),
        ("select * from orders where id = 7 and exists (select 1 from customer where customer.id = orders.customer)".into(), false),
        ("select * from orders where id < 7 and exists (select 1 from customer where customer.id = orders.customer)".into(), false),
        ("select * from orders where exists (select 1 from customer where customer.id < orders.customer)".into(), false),
        ("select * from orders where exists (select 1 from line where line.orders = orders.id and part = 5)".into(), true),
        ("select * from orders where customer = 5 and exists (select 1 from line where line.orders = orders.id and part = 5)".into(), false),
        ("select * from region where exists (select 1 from nation where nation.region = region.id)".into(), false),
        ("select * from customer where exists (select 1 from orders join line on line.orders = orders.id where orders.customer = customer.id and part = 5)".into(), true),
        ("delete from line where not exists (select 1 from part where part.id = line.part)".into(), true),
        ("update line set price = 0 where exists (select 1 from part where part.id = line.part and kind = 'k')".into(), true),
    ] {
        let lines = planned(&sql, 1).0.join("\n");
        assert_eq!(lines.contains("Unique") && !lines.contains("SubPlan"), joined, "{sql}\n{lines}");
        assert_eq!(lines.contains("SubPlan"), !joined, "{sql}\n{lines}");
    }
}

/// How many rows ask a table by key is known only when they have: after some of them it is kept, if there is more to gain than to lose.
#[test]
fn a_table_that_many_ask_by_key_is_kept_in_the_end() {
    let after = |sql: &str, share: u64| {
        let lines = planned(sql, share).0;
        let lines = lines.iter().map(|line| line.trim());
        let lines: Vec<&str> = lines.filter(|line| line.starts_with("Hash")).collect();
        lines.join(", ")
    };
    for (sql, said) in [
        // To keep what is not larger than what is read anyway is no risk.
        (
            "select * from line, part where part = part.id and number = 1",
            "Hash Join, Hash Cond: (line.part = part.id)",
        ),
        // A range may have few rows.
        (
            "select * from line, part where part = part.id and line.orders > 7",
            "Hashed After: 3333 rows",
        ),
        (
            "select * from orders, customer where customer = customer.id and orders.id between 7 and 9",
            "Hashed After: 2500 rows",
        ),
        (
            "select * from orders left join line on line.orders = orders.id where orders.id > 7",
            "Hashed After: 60000 rows",
        ),
        // A subquery turns, LATERAL does not.
        (
            "select (select max(price) from line where line.orders = orders.id) from orders",
            "Hashed After: 60000 rows",
        ),
        (
            "select * from orders, lateral (select max(price) from line where line.orders = orders.id) x",
            "",
        ),
        // One row by key is found as soon as by hash.
        (
            "select * from line left join part on part.id = line.part",
            "",
        ),
        // One row asks once.
        (
            "select * from orders left join line on line.orders = orders.id where orders.id = 7",
            "",
        ),
    ] {
        assert_eq!(after(sql, 1), said, "{sql}");
    }
}
