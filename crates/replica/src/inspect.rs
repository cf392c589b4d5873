//! What is in a replica: its tables' checksums, and its catalogue as statements.
//!
//! Relies on: one snapshot for each answer.  Promises: checksums do not depend on where rows lie, nor on the session's settings.
//! Does not: change anything.

use crate::connection::Row;
use crate::error::Error;
use crate::server::{Server, Settings};
use crate::session;
use std::collections::BTreeMap;
use std::time::Duration;

/// Schemas that are not the user's.
const USER_SCHEMAS: &str = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'quintet') \
     AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'";

/// What extensions brought is not the user's either.
const NO_EXTENSION: &str =
    "NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = o.oid AND d.deptype = 'e')";

/// What is in a table.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Checksum {
    /// How many rows.
    pub rows: u64,
    /// Sum of 64-bit hashes of all rows as text, in decimal; the same for the same rows in any order.
    pub sum: String,
}

/// Of all tables of the user's schemas, and of `quintet.calls`, by their qualified names, from one snapshot.
///
/// # Errors
/// Those of the connection and the server.
pub async fn checksums(
    server: &Server,
    timeout: Duration,
) -> Result<BTreeMap<String, Checksum>, Error> {
    let mut connection = server.connect(&settings("checksums", timeout)).await?;
    connection
        .simple("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .await?;
    let tables = connection
        .simple(&format!(
            "SELECT format('%I.%I', n.nspname, o.relname) FROM pg_class o \
             JOIN pg_namespace n ON n.oid = o.relnamespace \
             WHERE o.relkind = 'r' AND o.relpersistence = 'p' \
             AND ({USER_SCHEMAS} OR n.nspname = 'quintet' AND o.relname = 'calls') AND {NO_EXTENSION}"
        ))
        .await?;
    let mut checksums = BTreeMap::new();
    for table in tables.into_iter().flatten().flatten() {
        let rows = connection
            .simple(&format!(
                "SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)), 0) FROM ONLY {table} t"
            ))
            .await?;
        let Some([Some(rows), Some(sum)]) = rows.first().map(Vec::as_slice) else {
            return Err(connection.protocol("a checksum that is missing".to_owned()));
        };
        let checksum = Checksum {
            rows: rows.parse().unwrap_or(0),
            sum: sum.clone(),
        };
        checksums.insert(table, checksum);
    }
    connection.close().await;
    Ok(checksums)
}

/// Tables with their keys, other indexes, functions and procedures of the user's schemas: one statement each, in an order in
/// which they can be run. Names in the schema `public` are not qualified.
///
/// # Errors
/// Those of the connection and the server.
pub async fn catalogue(server: &Server, timeout: Duration) -> Result<Vec<String>, Error> {
    // With only `public` on the path, names in it are printed bare and all others qualified.
    let settings = settings("catalogue", timeout).with("search_path", "public");
    let mut connection = server.connect(&settings).await?;
    connection
        .simple("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .await?;
    let mut statements = Vec::new();
    let tables = connection
        .simple(&format!(
            "SELECT o.oid, o.oid::regclass FROM pg_class o JOIN pg_namespace n ON n.oid = o.relnamespace \
             WHERE o.relkind IN ('r', 'p') AND NOT o.relispartition AND o.relpersistence = 'p' \
             AND {USER_SCHEMAS} AND {NO_EXTENSION} ORDER BY o.oid"
        ))
        .await?;
    for row in tables {
        let [Some(oid), Some(table)] = &row[..] else {
            continue;
        };
        let columns = connection
            .simple(&format!(
                "SELECT quote_ident(attname), format_type(atttypid, atttypmod), attnotnull \
                 FROM pg_attribute WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
            ))
            .await?;
        let keys = connection
            .simple(&format!(
                "SELECT contype, pg_get_constraintdef(oid) FROM pg_constraint \
                 WHERE conrelid = {oid} AND contype IN ('p', 'u') ORDER BY contype, conname"
            ))
            .await?;
        statements.push(create_table(table, &columns, &keys));
        let indexes = connection
            .simple(&format!(
                "SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i WHERE i.indrelid = {oid} AND NOT EXISTS \
                 (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u')) \
                 ORDER BY i.indexrelid"
            ))
            .await?;
        statements.extend(
            indexes
                .into_iter()
                .flatten()
                .flatten()
                .map(|index| bare(&index)),
        );
    }
    let routines = connection
        .simple(&format!(
            "SELECT pg_get_functiondef(o.oid) FROM pg_proc o JOIN pg_namespace n ON n.oid = o.pronamespace \
             WHERE o.prokind IN ('f', 'p') AND {USER_SCHEMAS} AND {NO_EXTENSION} ORDER BY o.oid"
        ))
        .await?;
    statements.extend(
        routines
            .into_iter()
            .flatten()
            .flatten()
            .map(|routine| bare(&routine)),
    );
    connection.close().await;
    Ok(statements)
}

fn create_table(table: &str, columns: &[Row], keys: &[Row]) -> String {
    let mut parts = Vec::new();
    for column in columns {
        if let [Some(name), Some(kind), Some(not_null)] = &column[..] {
            let not_null = if not_null == "t" { " NOT NULL" } else { "" };
            parts.push(format!("    {name} {kind}{not_null}"));
        }
    }
    for key in keys {
        if let [_, Some(definition)] = &key[..] {
            parts.push(format!("    {definition}"));
        }
    }
    format!("CREATE TABLE {table} (\n{}\n)", parts.join(",\n"))
}

/// Definitions of indexes and routines qualify names whatever the search path is; those in `public` are made bare in the head, not in a body.
fn bare(definition: &str) -> String {
    let (head, rest) = match definition.find('\n') {
        Some(end) => definition.split_at(end),
        None => (definition, ""),
    };
    for before in [" ON ", " ON ONLY ", "FUNCTION ", "PROCEDURE "] {
        if let Some((front, name)) = head.split_once(&format!("{before}public.")) {
            return format!("{front}{before}{name}{rest}");
        }
    }
    definition.to_owned()
}

fn settings(what: &str, timeout: Duration) -> Settings {
    let mut settings = session::exact(Settings::new(&format!("quintet {what}")));
    settings.connect_timeout = timeout;
    settings
}

/// True if both have the same tables with the same rows; what differs, by table, if not.
pub fn differences(
    one: &BTreeMap<String, Checksum>,
    other: &BTreeMap<String, Checksum>,
) -> Vec<String> {
    let all: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    all.into_iter()
        .filter(|table| one.get(*table) != other.get(*table))
        .map(|table| {
            let say = |side: Option<&Checksum>| match side {
                Some(checksum) => format!("{} rows, sum {}", checksum.rows, checksum.sum),
                None => "missing".to_owned(),
            };
            format!(
                "{table}: {} against {}",
                say(one.get(table)),
                say(other.get(table))
            )
        })
        .collect()
}
