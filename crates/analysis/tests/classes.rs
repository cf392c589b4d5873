//! Conflict classes of the workloads.
#![allow(clippy::unwrap_used)]

use quintet_analysis::{Classes, Footprint, Granularity, Rule, report};
use quintet_base::Level;
use quintet_base::text_format::FormatContext;
use quintet_sql::{Catalog, Command, PlanContext, parse, plan};

fn footprints(text: &str, routines: &[&str]) -> Vec<Footprint> {
    let mut catalog = Catalog::load([]).unwrap();
    let mut found = Vec::new();
    let explain: String = routines.iter().map(|name| format!("EXPLAIN {name};")).collect();
    for statement in parse(&(text.to_string() + &explain)).unwrap() {
        let format = FormatContext::default();
        let context = PlanContext {
            catalog: &catalog,
            schema: "public",
            user: "quintet",
            database: "quintet",
            format: &format,
        };
        match plan(&statement, &context, &[]).unwrap().command {
            Command::Ddl(change) => catalog = catalog.apply(&change.changes).unwrap(),
            Command::ExplainRoutine(program) => found.push(Footprint::of(&program)),
            other => panic!("{other:?}"),
        }
    }
    found
}

macro_rules! workload {
    ($name: literal) => {
        concat!(
            include_str!(concat!("../../workloads/src/", $name, "/schema.sql")),
            include_str!(concat!("../../workloads/src/", $name, "/procedures.sql"))
        )
    };
}

#[test]
fn tpcc() {
    let found = footprints(workload!("tpcc"), &["PROCEDURE new_order", "PROCEDURE payment", "FUNCTION order_status", "PROCEDURE delivery", "FUNCTION stock_level"]);
    for level in [Level::Snapshot, Level::Serializable] {
        for granularity in [Granularity::Column, Granularity::Row] {
            let classes = Classes::new(found.clone(), Rule { level, granularity });
            println!("{}", report(&classes).join("\n"));
        }
    }
}
