//! Routines with the graphs and groups that they give.
//!
//! Each file under `scripts/` holds blocks: statements, a line `----` and what EXPLAIN PROCEDURE says of the
//! last routine created, two blank lines behind. `QUINTET_REWRITE=1 cargo test -p quintet-analysis --test
//! graphs` writes what comes out instead of comparing; read the diff.

#![allow(clippy::unwrap_used)]

use quintet_base::text_format::FormatContext;
use quintet_sql::{Catalog, Command, PlanContext, parse, plan};

/// Carries out schema changes; gives what EXPLAIN PROCEDURE says.
fn run(catalog: &mut Catalog, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for statement in parse(text).unwrap() {
        let format = FormatContext::default();
        let context = PlanContext {
            catalog,
            schema: "public",
            user: quintet_sql::Who::SYSTEM,
            database: "quintet",
            format: &format,
            dynamic: &quintet_sql::NOTHING_DYNAMIC,
        };
        match plan(&statement, &context, &[]).unwrap().command {
            Command::Ddl(change) => *catalog = catalog.apply(&change.changes).unwrap(),
            Command::ExplainRoutine(program) => lines.extend(quintet_analysis::explain(&program)),
            other => panic!("{other:?}"),
        }
    }
    lines
}

#[track_caller]
#[allow(clippy::disallowed_methods)] // rewrites a file of the source tree, by hand only
fn check(name: &str, schema: &str, script: &str) {
    let mut catalog = Catalog::load([]).unwrap();
    run(&mut catalog, schema);
    let mut actual = String::new();
    for block in script
        .split("\n\n\n")
        .filter(|block| !block.trim().is_empty())
    {
        let text = block.split("\n----").next().unwrap_or_default().trim();
        let lines = run(&mut catalog, text);
        actual += &format!("{text}\n----\n{}\n\n\n", lines.join("\n"));
    }
    if std::env::var_os("QUINTET_REWRITE").is_some() {
        let file = format!("{}/tests/scripts/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(file, actual.trim_end().to_string() + "\n").unwrap();
        return;
    }
    assert_eq!(actual.trim_end(), script.trim_end(), "{name}");
}

macro_rules! workload {
    ($name: literal) => {
        concat!(
            include_str!(concat!("../../workloads/src/", $name, "/schema.sql")),
            include_str!(concat!("../../workloads/src/", $name, "/procedures.sql"))
        )
    };
}

/// The paper's Figure 3: the read of an item and that of a customer go out together.
#[test]
fn figure_3() {
    check("figure_3", "", include_str!("scripts/figure_3.txt"));
}

/// NewOrder reads everything in one group: items and stocks of all lines by loop distribution.
#[test]
fn tpcc() {
    check("tpcc", workload!("tpcc"), include_str!("scripts/tpcc.txt"));
}

/// Three loops over the arguments, all of whose reads go together.
#[test]
fn ycsb() {
    check(
        "ycsb",
        workload!("ycsb_sql"),
        include_str!("scripts/ycsb.txt"),
    );
}

/// Accounts are found by name first, balances by what was found.
#[test]
fn smallbank() {
    let script = include_str!("scripts/smallbank.txt");
    check("smallbank", workload!("smallbank"), script);
}

/// What must not be grouped, or not be looked up ahead.
#[test]
fn apart() {
    check("apart", "", include_str!("scripts/apart.txt"));
}
