//! `quintet changes`: what a server commits, as it commits it.
//!
//! Relies on: `quintet_changes()` of the server.  Promises: a transaction is written whole, between two positions;
//! begun again at the last position that was written, nothing is missed and nothing comes twice.
//! Does not: remember where it was; whoever reads does.

use crate::arguments::{ChangeFormat, ChangesArguments};
use crate::exit::{Code, Exit};
use crate::server_link;
use futures_util::TryStreamExt;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{Write, stdout};
use std::pin::pin;
use std::time::Duration;

/// Commits that are asked for at once.
const COMMITS: i64 = 1000;

/// How long there is nothing new before the server is asked again.
const PAUSE: Duration = Duration::from_millis(100);

/// What the server is asked.
const QUERY: &str = "SELECT * FROM quintet_changes($1, $2)";

/// A change as the server told it.
struct Told {
    position: i64,
    kind: String,
    schema: String,
    table: String,
    key: String,
    row: Option<String>,
}

/// `quintet changes`.
///
/// # Errors
/// With code 1 if the server refuses (the position is too old), 5 without a server.
pub fn changes(arguments: &ChangesArguments) -> Result<(), Exit> {
    server_link::run(&arguments.target, async |client| {
        let mut from = match arguments.from {
            Some(from) => from as i64,
            None => {
                let rows = client.query("SELECT * FROM quintet_changes()", &[]).await;
                let rows = rows.map_err(server_link::refused)?;
                rows.first().map_or(0, |row| row.get(0))
            }
        };
        let mut printer = Printer::new(arguments.format);
        printer.begin(from)?;
        loop {
            let before = from;
            let rows = client.query_raw(QUERY, [from, COMMITS]).await;
            let mut rows = pin!(rows.map_err(server_link::refused)?);
            while let Some(row) = rows.try_next().await.map_err(server_link::refused)? {
                let kind: String = row.get(2);
                let position = row.get(0);
                if kind == "end" {
                    from = position;
                    printer.end_transaction()?;
                    break;
                }
                let json = |at| row.get::<_, Option<Raw>>(at).map(|Raw(text)| text);
                printer.change(&Told {
                    position,
                    kind,
                    schema: row.get::<_, Option<String>>(3).unwrap_or_default(),
                    table: row.get::<_, Option<String>>(4).unwrap_or_default(),
                    key: json(5).unwrap_or_default(),
                    row: json(6),
                })?;
            }
            // Nothing is left of the rows but what ends the statement.
            while rows
                .try_next()
                .await
                .map_err(server_link::refused)?
                .is_some()
            {}
            if from > before {
                printer.flush(from)?;
                continue;
            }
            if !arguments.follow {
                return printer.flush(from);
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
}

/// A json as the text that it is.
struct Raw(String);

impl<'a> tokio_postgres::types::FromSql<'a> for Raw {
    fn from_sql(
        _: &tokio_postgres::types::Type,
        raw: &'a [u8],
    ) -> Result<Raw, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Raw(String::from_utf8(raw.to_vec())?))
    }

    fn accepts(ty: &tokio_postgres::types::Type) -> bool {
        *ty == tokio_postgres::types::Type::JSON
    }
}

struct Printer {
    format: ChangeFormat,
    /// Of the transaction that is being written.
    position: Option<i64>,
    out: String,
}

impl Printer {
    fn new(format: ChangeFormat) -> Printer {
        Printer {
            format,
            position: None,
            out: String::new(),
        }
    }

    fn begin(&mut self, from: i64) -> Result<(), Exit> {
        if self.format == ChangeFormat::Sql {
            let _ = writeln!(self.out, "-- changes after position {from}");
            // Rows come as they were written: keys between tables hold again at the end of a transaction.
            self.out
                .push_str("SET session_replication_role = replica;\n");
        }
        self.write()
    }

    fn change(&mut self, told: &Told) -> Result<(), Exit> {
        if self.position != Some(told.position) {
            self.end_transaction()?;
            self.position = Some(told.position);
            if self.format == ChangeFormat::Sql {
                self.out.push_str("BEGIN;\n");
            }
        }
        match self.format {
            ChangeFormat::Json => self.json(told),
            ChangeFormat::Sql => self.sql(told)?,
        }
        Ok(())
    }

    fn end_transaction(&mut self) -> Result<(), Exit> {
        let Some(position) = self.position.take() else {
            return Ok(());
        };
        // Writing to a string cannot fail.
        let _ = match self.format {
            ChangeFormat::Json => writeln!(
                self.out,
                "{{\"position\":{position},\"change\":\"commit\"}}"
            ),
            ChangeFormat::Sql => writeln!(self.out, "COMMIT; -- position {position}"),
        };
        self.write()
    }

    fn flush(&mut self, position: i64) -> Result<(), Exit> {
        if self.format == ChangeFormat::Sql {
            let _ = writeln!(self.out, "-- read up to position {position}");
        } else {
            let _ = writeln!(self.out, "{{\"position\":{position},\"change\":\"end\"}}");
        }
        self.write()?;
        stdout().flush().map_err(gone)
    }

    fn write(&mut self) -> Result<(), Exit> {
        let text = std::mem::take(&mut self.out);
        stdout().write_all(text.as_bytes()).map_err(gone)
    }

    fn json(&mut self, told: &Told) {
        let _ = write!(
            self.out,
            "{{\"position\":{},\"change\":\"{}\"",
            told.position, told.kind
        );
        if !told.table.is_empty() {
            let (schema, table) = (Value::from(&*told.schema), Value::from(&*told.table));
            let _ = write!(self.out, ",\"schema\":{schema},\"table\":{table}");
        }
        if !told.key.is_empty() {
            let _ = write!(self.out, ",\"key\":{}", told.key);
        }
        if let Some(row) = &told.row {
            let _ = write!(self.out, ",\"row\":{row}");
        }
        self.out.push_str("}\n");
    }

    fn sql(&mut self, told: &Told) -> Result<(), Exit> {
        let table = format!("{}.{}", identifier(&told.schema), identifier(&told.table));
        match told.kind.as_str() {
            "schema" => self.out.push_str("-- the schema has changed\n"),
            "truncate" => {
                let _ = writeln!(self.out, "TRUNCATE {table};");
            }
            _ => {
                let keys = names(&told.key)?;
                let keys: Vec<String> = keys.iter().map(|name| identifier(name)).collect();
                let one = |json: &str| {
                    let json = json.replace('\'', "''");
                    format!("json_populate_record(NULL::{table}, '{json}')")
                };
                let list = keys.join(", ");
                let Some(row) = &told.row else {
                    let key = one(&told.key);
                    let _ = writeln!(
                        self.out,
                        "DELETE FROM {table} WHERE ({list}) = (SELECT {list} FROM {key});"
                    );
                    return Ok(());
                };
                // A table without a primary key has the number of its rows as a column more.
                let row = match keys.as_slice() {
                    [key] if *key == identifier("quintet_row") => with_field(row, &told.key),
                    _ => row.clone(),
                };
                let columns: Vec<String> =
                    names(&row)?.iter().map(|name| identifier(name)).collect();
                let others: Vec<String> = columns
                    .iter()
                    .filter(|column| !keys.contains(column))
                    .map(|column| format!("{column} = EXCLUDED.{column}"))
                    .collect();
                let action = match others.is_empty() {
                    true => "NOTHING".to_owned(),
                    false => format!("UPDATE SET {}", others.join(", ")),
                };
                let _ = writeln!(
                    self.out,
                    "INSERT INTO {table} ({columns}) SELECT {columns} FROM {row} \
                     ON CONFLICT ({list}) DO {action};",
                    columns = columns.join(", "),
                    row = one(&row)
                );
            }
        }
        Ok(())
    }
}

fn gone(error: std::io::Error) -> Exit {
    Exit::from_error(Code::Failed, "cannot write", &error)
}

/// An object with the fields of another behind its own.
fn with_field(object: &str, other: &str) -> String {
    let own = object.strip_suffix('}').unwrap_or(object);
    let more = other.strip_prefix('{').unwrap_or(other);
    match own {
        "{" => other.to_owned(),
        _ => format!("{own},{more}"),
    }
}

/// The names in a JSON object.
fn names(object: &str) -> Result<Vec<String>, Exit> {
    let wrong = |error| Exit::from_error(Code::Failed, "the server's answer", &error);
    let object: serde_json::Map<String, Value> = serde_json::from_str(object).map_err(wrong)?;
    Ok(object.keys().cloned().collect())
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: &str, key: &str, row: Option<&str>) -> Told {
        Told {
            position: 8,
            kind: kind.into(),
            schema: "public".into(),
            table: "t".into(),
            key: key.into(),
            row: row.map(str::to_owned),
        }
    }

    fn sql(told: &Told) -> String {
        let mut printer = Printer::new(ChangeFormat::Sql);
        printer.sql(told).unwrap();
        printer.out
    }

    #[test]
    fn rows_become_statements_that_may_be_run_again() {
        let row = r#"{"id":1,"v":"it's"}"#;
        assert_eq!(
            sql(&told("upsert", r#"{"id":1}"#, Some(row))),
            "INSERT INTO \"public\".\"t\" (\"id\", \"v\") SELECT \"id\", \"v\" FROM \
             json_populate_record(NULL::\"public\".\"t\", '{\"id\":1,\"v\":\"it''s\"}') \
             ON CONFLICT (\"id\") DO UPDATE SET \"v\" = EXCLUDED.\"v\";\n"
        );
        assert_eq!(
            sql(&told("delete", r#"{"id":1}"#, None)),
            "DELETE FROM \"public\".\"t\" WHERE (\"id\") = (SELECT \"id\" FROM \
             json_populate_record(NULL::\"public\".\"t\", '{\"id\":1}'));\n"
        );
        assert_eq!(
            sql(&told("truncate", "", None)),
            "TRUNCATE \"public\".\"t\";\n"
        );
    }

    #[test]
    fn a_row_without_a_key_goes_by_its_number() {
        let told = told("upsert", r#"{"quintet_row":7}"#, Some(r#"{"a":{"x":{}}}"#));
        assert_eq!(
            sql(&told),
            "INSERT INTO \"public\".\"t\" (\"a\", \"quintet_row\") SELECT \"a\", \"quintet_row\" FROM \
             json_populate_record(NULL::\"public\".\"t\", '{\"a\":{\"x\":{}},\"quintet_row\":7}') \
             ON CONFLICT (\"quintet_row\") DO UPDATE SET \"a\" = EXCLUDED.\"a\";\n"
        );
    }
}
