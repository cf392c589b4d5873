//! What a server has, as statements: read by our own SQL front end, and run by another server.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::text_format::FormatContext;
use quintet_replica::*;
use quintet_sql::{Catalog, Command, PlanContext, parse, plan};
use support::*;

fn take(catalog: &mut Catalog, text: &str) {
    for statement in parse(text).unwrap_or_else(|error| panic!("{text}\n{error}")) {
        let format = FormatContext::default();
        let context = PlanContext {
            catalog,
            schema: "public",
            user: quintet_sql::Who::SYSTEM,
            database: "quintet",
            format: &format,
            dynamic: &quintet_sql::NOTHING_DYNAMIC,
        };
        let planned = plan(&statement, &context, &[]);
        match planned
            .unwrap_or_else(|error| panic!("{text}\n{error}"))
            .command
        {
            Command::Ddl(change) => *catalog = catalog.apply(&change.changes).unwrap(),
            other => panic!("{text}\n{other:?}"),
        }
    }
}

/// Every workload that is procedures: what the server says of it is understood, in the order in which it is said.
#[tokio::test]
async fn workloads_are_read_back_from_a_server() {
    let postgres = Postgres::start().await;
    for (name, schema, procedures) in quintet_workloads::TEXTS {
        postgres
            .simple("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            .await;
        postgres.simple(&format!("{schema}; {procedures}")).await;
        let statements = catalogue(&postgres.server(), TIMEOUT).await.unwrap();
        let count = |word: &str| procedures.matches(word).count() + schema.matches(word).count();
        let routines = count("CREATE OR REPLACE") + count("CREATE PROCEDURE");
        let expected = count("CREATE TABLE") + count("CREATE INDEX") + routines;
        assert_eq!(statements.len(), expected, "{name}: {statements:#?}");
        let mut catalog = Catalog::load([]).unwrap();
        for statement in &statements {
            take(&mut catalog, statement);
        }
    }
}

/// The statements make the same catalogue at an empty server.
#[tokio::test]
async fn the_statements_make_what_they_were_made_from() {
    let (one, other) = tokio::join!(Postgres::start(), Postgres::start());
    one.simple(
        "CREATE SCHEMA apart;
         CREATE TABLE apart.\"Odd name\" (\"Key\" bigint, b varchar(7) NOT NULL, c numeric(5, 2)[], PRIMARY KEY (b, \"Key\"), UNIQUE (c));
         CREATE TABLE plain (a int, gone int, t timestamptz); ALTER TABLE plain DROP gone;
         CREATE UNIQUE INDEX plain_a ON plain (a) WHERE a > 0; CREATE INDEX ON apart.\"Odd name\" (lower(b));
         CREATE FUNCTION twice(x int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT x * 2';
         CREATE PROCEDURE apart.p(INOUT x int) LANGUAGE plpgsql AS $$ BEGIN x := public.twice(x); END $$",
    )
    .await;
    let statements = catalogue(&one.server(), TIMEOUT).await.unwrap();
    assert_eq!(statements.len(), 6);
    assert!(statements.contains(
        &"CREATE TABLE plain (\n    a integer,\n    t timestamp with time zone\n)".to_owned()
    ));
    assert!(
        statements
            .iter()
            .any(|text| text.starts_with("CREATE OR REPLACE FUNCTION twice(x integer)"))
    );
    other.simple("CREATE SCHEMA apart").await;
    for statement in &statements {
        other.simple(statement).await;
    }
    assert_eq!(
        catalogue(&other.server(), TIMEOUT).await.unwrap(),
        statements
    );
}
