//! `quintet dump`: a database as SQL that Quintet and PostgreSQL read.
//!
//! Relies on: `quintet_schema()` of the server, and COPY; `pg_largeobject`, which superusers alone may read.  Promises: all rows are of one snapshot, and the schema is
//! that of the snapshot; else it fails and says so.  Does not: dump users, options, or key-value buckets.

use crate::arguments::DumpArguments;
use crate::exit::{Code, Exit};
use crate::server_link::{self, refused};
use futures_util::TryStreamExt;
use quintet_rt::{Disk, DiskFile, OpenMode, RealDisk};
use std::io::{Write, stdout};
use std::pin::pin;
use std::sync::Arc;
use tokio_postgres::Client;

/// Written at once.
const PART_BYTES: usize = 256 << 10;

const HEAD: &str = "\
-- A database of Quintet. To be read by psql, into an empty database of Quintet or of PostgreSQL 15 or later.

SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SET check_function_bodies = false;
SET client_min_messages = warning;

";

/// `quintet dump`.
///
/// # Errors
/// With code 1 if the server refuses or the schema changes meanwhile, 4 if the file cannot be written, 5 without a
/// server.
pub fn dump(arguments: &DumpArguments) -> Result<(), Exit> {
    server_link::run(&arguments.target, async |client| {
        let mut out = Out::open(arguments)?;
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1";
        client.batch_execute(begin).await.map_err(refused)?;
        let lines = schema(client).await?;
        let of = |section: &'static str| lines.iter().filter(move |line| line.section == section);
        out.text(HEAD)?;
        for line in of("before") {
            out.text(&format!("{};\n\n", line.statement))?;
        }
        for line in of("data").filter(|_| !arguments.schema_only) {
            rows(client, line, &mut out).await?;
        }
        if !arguments.schema_only {
            large_objects(client, &mut out).await?;
        }
        for line in of("sequence").filter(|_| !arguments.schema_only) {
            out.text(&format!("{};\n\n", line.statement))?;
        }
        for line in of("after") {
            out.text(&format!("{};\n\n", line.statement))?;
        }
        let again = schema(client).await?;
        let same = |lines: &[Line]| -> Vec<(String, String)> {
            let lines = lines.iter().filter(|line| line.section != "sequence");
            lines
                .map(|line| (line.object.clone(), line.statement.clone()))
                .collect()
        };
        if same(&lines) != same(&again) {
            let text = "the schema has changed while it was dumped";
            return Err(Exit::new(Code::Failed, text).hint("Run it again."));
        }
        client.batch_execute("COMMIT").await.map_err(refused)?;
        out.finish()
    })
}

struct Line {
    section: String,
    object: String,
    statement: String,
}

async fn schema(client: &Client) -> Result<Vec<Line>, Exit> {
    let rows = client.query("SELECT * FROM quintet_schema()", &[]).await;
    let line = |row: &tokio_postgres::Row| Line {
        section: row.get(0),
        object: row.get(1),
        statement: row.get(2),
    };
    Ok(rows.map_err(refused)?.iter().map(line).collect())
}

async fn rows(client: &Client, table: &Line, out: &mut Out) -> Result<(), Exit> {
    // Rows without columns that could be given are lines all the same.
    let named = match table.statement.as_str() {
        "" => table.object.clone(),
        columns => format!("{} ({columns})", table.object),
    };
    out.text(&format!("COPY {named} FROM stdin;\n"))?;
    let copy = client.copy_out(&format!("COPY {named} TO STDOUT")).await;
    let mut copy = pin!(copy.map_err(refused)?);
    while let Some(data) = copy.try_next().await.map_err(refused)? {
        out.bytes(&data)?;
    }
    out.text("\\.\n\n")
}

/// Pages of a large object that are read, and written, at once.
const PAGES: i32 = 128;
const PAGE_BYTES: i64 = 2048;

async fn large_objects(client: &Client, out: &mut Out) -> Result<(), Exit> {
    let text = "SELECT oid, pg_catalog.quote_literal(pg_catalog.obj_description(oid, 'pg_largeobject')) \
                FROM pg_catalog.pg_largeobject_metadata ORDER BY oid";
    let objects = client.query(text, &[]).await.map_err(refused)?;
    for row in objects {
        let (object, comment): (u32, Option<String>) = (row.get(0), row.get(1));
        out.text(&format!("SELECT pg_catalog.lo_create('{object}');\n"))?;
        pages(client, object, out).await?;
        if let Some(comment) = comment {
            out.text(&format!("COMMENT ON LARGE OBJECT {object} IS {comment};\n"))?;
        }
        out.text("\n")?;
    }
    Ok(())
}

/// The bytes of a large object, but where it has none.
async fn pages(client: &Client, object: u32, out: &mut Out) -> Result<(), Exit> {
    let text = format!(
        "SELECT pageno, data FROM pg_catalog.pg_largeobject WHERE loid = $1 AND pageno > $2 ORDER BY pageno LIMIT {PAGES}"
    );
    let statement = client.prepare(&text).await.map_err(refused)?;
    let mut last = -1_i32;
    let mut ends_empty = false;
    loop {
        let rows = client.query(&statement, &[&object, &last]).await;
        let rows = rows.map_err(refused)?;
        let mut open = false;
        let mut end = 0;
        for row in &rows {
            let (number, data): (i32, &[u8]) = (row.get(0), row.get(1));
            last = number;
            ends_empty = data.is_empty();
            if ends_empty {
                continue;
            }
            let begin = i64::from(number) * PAGE_BYTES;
            if open && begin != end {
                out.text("');\n")?;
                open = false;
            }
            if !open {
                out.text(&format!(
                    "SELECT pg_catalog.lo_put('{object}', {begin}, '\\x"
                ))?;
                open = true;
            }
            out.text(&hex(data))?;
            end = begin + data.len() as i64;
        }
        if open {
            out.text("');\n")?;
        }
        if rows.is_empty() {
            break;
        }
    }
    if ends_empty && last > 0 {
        let size = i64::from(last) * PAGE_BYTES;
        out.text(&format!(
            "SELECT pg_catalog.lo_truncate64(pg_catalog.lo_open('{object}', 131072), {size});\n"
        ))?;
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |digit: u8| char::from(DIGITS[usize::from(digit & 15)]);
    let pairs = bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(*byte)]);
    pairs.collect()
}

/// Where it goes.
struct Out {
    file: Option<Arc<dyn DiskFile>>,
    at: u64,
    part: Vec<u8>,
}

impl Out {
    fn open(arguments: &DumpArguments) -> Result<Out, Exit> {
        let file = match &arguments.out {
            None => None,
            Some(path) if RealDisk.exists(path).map_err(unwritten)? => {
                let text = format!("{} is there already", path.display());
                return Err(Exit::new(Code::Usage, text));
            }
            Some(path) => Some(RealDisk.open(path, OpenMode::Create).map_err(unwritten)?),
        };
        Ok(Out {
            file,
            at: 0,
            part: Vec::with_capacity(PART_BYTES),
        })
    }

    fn text(&mut self, text: &str) -> Result<(), Exit> {
        self.bytes(text.as_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Exit> {
        self.part.extend_from_slice(bytes);
        match self.part.len() < PART_BYTES {
            true => Ok(()),
            false => self.write(),
        }
    }

    fn write(&mut self) -> Result<(), Exit> {
        match &self.file {
            Some(file) => file.write_at(&self.part, self.at).map_err(unwritten)?,
            None => stdout()
                .write_all(&self.part)
                .map_err(|error| Exit::from_error(Code::Failed, "cannot write", &error))?,
        }
        self.at += self.part.len() as u64;
        self.part.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(), Exit> {
        self.text("-- The end.\n")?;
        self.write()?;
        match &self.file {
            Some(file) => file.sync_data().map_err(unwritten),
            None => stdout()
                .flush()
                .map_err(|error| Exit::from_error(Code::Failed, "cannot write", &error)),
        }
    }
}

fn unwritten(error: quintet_rt::Error) -> Exit {
    Exit::from_error(Code::Data, "the dump cannot be written", &error)
}
