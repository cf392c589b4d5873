//! What was committed, in the order of the commits: rows as they are after each, out of the log.
//!
//! Relies on: a record of the log is a whole commit (`tc`); the archive, where the log itself does not reach
//! back.  Promises: nothing that is not durable; each commit once and whole; whoever begins again at a position
//! that he was told misses nothing and gets nothing twice; memory is bounded by one commit.
//! Does not: tell the row before, the counters of sequences, or buckets of key-value transactions.
//!
//! ```text
//!   log        ── commit ─── commit ─────────── commit (changes the schema) ── commit ──► durable
//!   catalogue     the newest ───────────────────► as of that commit ─────────►
//! ```
//! Rows are read with the catalogue of their time where the log tells of it. Before that they are read with the
//! newest one, which reads older rows too, since columns keep their places and have the names of now; rows of tables that are
//! gone, or that have moved since, with what `past` knows of those.
//!
//! Rows that were committed ahead of a schema change (`tc`, `transaction::ahead`) are told with the change, for which the
//! log is read once more from where they begin.

use crate::database::{Database, Inner};
use crate::past;
use quintet_base::text_format::FormatContext;
use quintet_base::{Lsn, SpaceId, SqlError, SqlResult, SqlState, SqlType, Timestamp, Value, key};
use quintet_direct::AHEAD_SPACE;
use quintet_ir::function::write_json;
use quintet_ir::schema::{TableDef, TableRef};
use quintet_sql::{Catalog, CatalogChange};
use quintet_tc::{CommitRecord, ahead_from};
use quintet_wal::LogReader;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Stands for the key of a table without a primary key: the number of the row, which stays.
const ROW_NUMBER: &str = "quintet_row";

/// What happened to a row, or to a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    /// The row is there, as told: new or changed.
    Upsert,
    /// The row is gone.
    Delete,
    /// All rows of the table are gone; those that follow are new.
    Truncate,
    /// Tables, columns or indexes changed; which, the catalogue says.
    Schema,
    /// Nothing more for now: go on from this position.
    End,
}

impl ChangeKind {
    /// As clients read it.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Upsert => "upsert",
            ChangeKind::Delete => "delete",
            ChangeKind::Truncate => "truncate",
            ChangeKind::Schema => "schema",
            ChangeKind::End => "end",
        }
    }
}

/// One change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Of its commit; all changes of a commit have one, and follow each other.
    pub position: Lsn,
    /// When it was committed: microseconds since 2000-01-01 00:00 UTC; commits of older releases do not say.
    pub time_micros: Option<i64>,
    /// What happened.
    pub kind: ChangeKind,
    /// Schema and name of the table.
    pub table: Option<(String, String)>,
    /// The columns of the primary key, as a JSON object; `quintet_row` is the number of a row without one.
    pub key: Option<String>,
    /// All columns, as a JSON object.
    pub row: Option<String>,
}

/// Changes being read.
pub struct Changes {
    db: Arc<Inner>,
    /// Everything at or below has been read.
    read: Lsn,
    /// Commits that may still be told.
    left: u64,
    reader: LogReader,
    catalog: Catalog,
    /// Of the catalogue at hand.
    format: FormatContext,
    tables: HashMap<SpaceId, TableRef>,
    /// Of spaces that were.
    past: HashMap<SpaceId, TableRef>,
    ready: VecDeque<Change>,
    ended: bool,
    /// Rows that went ahead of the commit that is told.
    ahead: Option<Ahead>,
    /// The rest of that commit.
    behind: VecDeque<Change>,
}

/// Rows that went ahead of a commit.
struct Ahead {
    reader: LogReader,
    /// Where that commit is.
    position: Lsn,
    time_micros: Option<i64>,
    spaces: HashSet<SpaceId>,
}

impl Database {
    /// The changes of at most `commits` commits after a position, which must be that of a commit, or of a
    /// backup, or one that was told as [`ChangeKind::End`].
    ///
    /// # Errors
    /// `58P01` if the log is not kept from there on, `22023` if there is no such position.
    pub fn changes(&self, from: Lsn, commits: u64) -> SqlResult<Changes> {
        Changes::begin(&self.inner, from, commits)
    }
}

impl Changes {
    pub(crate) fn begin(db: &Arc<Inner>, from: Lsn, commits: u64) -> SqlResult<Changes> {
        // In this order: whatever leaves the catalogue after it was looked at is met in the log.
        let catalog = db.schema().catalog.clone();
        let past = past::tables(db, &catalog).map_err(damaged)?;
        Ok(Changes {
            reader: open(db, from)?,
            past,
            db: Arc::clone(db),
            read: from,
            left: commits,
            tables: by_space(&catalog),
            format: format_of(&catalog),
            catalog,
            ready: VecDeque::new(),
            ended: false,
            ahead: None,
            behind: VecDeque::new(),
        })
    }

    /// The next change; the last one is [`ChangeKind::End`].
    ///
    /// # Errors
    /// `58P01` if the log was not kept long enough; what reading it says.
    pub fn next_change(&mut self) -> SqlResult<Option<Change>> {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return Ok(Some(change));
            }
            if let Some(ahead) = self.ahead.take() {
                self.tell_ahead(ahead)?;
                continue;
            }
            if self.ended {
                return Ok(None);
            }
            let record = match self.left {
                0 => None,
                _ => self.next_record()?,
            };
            let Some((position, payload)) = record else {
                self.ended = true;
                return Ok(Some(Change {
                    position: self.read,
                    time_micros: None,
                    kind: ChangeKind::End,
                    table: None,
                    key: None,
                    row: None,
                }));
            };
            let record = CommitRecord::decode(position, &payload).map_err(damaged)?;
            if let Some(record) = record {
                self.tell(position, &record)?;
            }
            self.read = position;
            if !self.ready.is_empty() || self.ahead.is_some() {
                self.left -= 1;
            }
        }
    }

    fn next_record(&mut self) -> SqlResult<Option<(Lsn, quintet_base::Bytes)>> {
        match self.reader.next().transpose() {
            Ok(record) => Ok(record),
            // The log was truncated under the reader; the archive may have what it read.
            Err(_) => {
                self.reader = open(&self.db, self.read)?;
                self.reader.next().transpose().map_err(damaged)
            }
        }
    }

    /// Tells of one commit more of those that went ahead, or of what is behind them.
    fn tell_ahead(&mut self, mut ahead: Ahead) -> SqlResult<()> {
        let next = ahead.reader.next().transpose().map_err(damaged)?;
        let next = next.filter(|(position, _)| *position < ahead.position);
        let Some((position, payload)) = next else {
            self.ready.append(&mut self.behind);
            return Ok(());
        };
        if let Some(record) = CommitRecord::decode(position, &payload).map_err(damaged)?
            && record.changes().any(|change| change.space == AHEAD_SPACE)
        {
            let rows = self.rows(&record, (ahead.position, ahead.time_micros), |space| {
                ahead.spaces.contains(&space)
            })?;
            self.ready.extend(rows);
        }
        self.ahead = Some(ahead);
        Ok(())
    }

    fn tell(&mut self, position: Lsn, record: &CommitRecord<'_>) -> SqlResult<()> {
        let told = record
            .changes()
            .filter(|change| change.space == AHEAD_SPACE);
        let told: Vec<(SpaceId, Timestamp)> = told
            .filter_map(|change| ahead_from(change.key, change.value?))
            .collect();
        let about = |kind, table: Option<&TableDef>| Change {
            position,
            time_micros: record.time_micros(),
            kind,
            table: table.map(|table| (table.schema.clone(), table.name.clone())),
            key: None,
            row: None,
        };
        let changed = record.changes().filter(|c| c.space == self.db.place.space);
        let changed: Vec<CatalogChange> = changed
            .map(|change| CatalogChange {
                key: change.key.to_vec(),
                value: change.value.map(<[u8]>::to_vec),
            })
            .collect();
        // This went ahead itself: it is told with what it belongs to.
        if changed.is_empty() && !told.is_empty() {
            return Ok(());
        }
        if !changed.is_empty() {
            self.ready.push_back(about(ChangeKind::Schema, None));
            let before = std::mem::take(&mut self.tables);
            // Records of the past may not fit to what has come since; what is known then stays.
            if let Ok(catalog) = self.catalog.apply(&changed) {
                self.catalog = catalog;
            }
            self.tables = by_space(&self.catalog);
            self.format = format_of(&self.catalog);
            let dropped: HashSet<SpaceId> = record.dropped().into_iter().collect();
            for space in &dropped {
                let Some(old) = before.get(space).or_else(|| self.past.get(space)) else {
                    continue;
                };
                let now = self.catalog.table_by_id(old.id);
                if let Some(now) = now.filter(|now| now.space != *space) {
                    self.ready.push_back(about(ChangeKind::Truncate, Some(now)));
                }
            }
        }
        let mut rows = self.rows(record, (position, record.time_micros()), |_| true)?;
        match told.iter().map(|(_, from)| *from).min() {
            None => self.ready.append(&mut rows),
            Some(from) => {
                self.behind = rows;
                self.ahead = Some(Ahead {
                    reader: open(&self.db, Lsn(from.0))?,
                    position,
                    time_micros: record.time_micros(),
                    spaces: told.into_iter().map(|(space, _)| space).collect(),
                });
            }
        }
        Ok(())
    }

    /// The rows of a record in some spaces, as changes of a commit.
    fn rows(
        &self,
        record: &CommitRecord<'_>,
        (position, time_micros): (Lsn, Option<i64>),
        wanted: impl Fn(SpaceId) -> bool,
    ) -> SqlResult<VecDeque<Change>> {
        let mut rows = VecDeque::new();
        for change in record.changes().filter(|change| wanted(change.space)) {
            let table = self.tables.get(&change.space);
            let Some(table) = table.or_else(|| self.past.get(&change.space)) else {
                continue;
            };
            let row = change.value.map(|row| row_text(table, row, &self.format));
            rows.push_back(Change {
                position,
                time_micros,
                kind: match change.value {
                    Some(_) => ChangeKind::Upsert,
                    None => ChangeKind::Delete,
                },
                table: Some((table.schema.clone(), table.name.clone())),
                key: Some(key_text(table, change.key, &self.format)?),
                row: row.transpose()?,
            });
        }
        Ok(rows)
    }
}

/// How values are written: in UTC, and with the labels that there are.
fn format_of(catalog: &Catalog) -> FormatContext {
    FormatContext {
        objects: catalog.labels(),
        ..FormatContext::default()
    }
}

fn by_space(catalog: &Catalog) -> HashMap<SpaceId, TableRef> {
    // What is temporary is nobody else's.
    let tables = catalog.tables().filter(|table| !table.is_temporary());
    tables
        .map(|table| (table.space, TableRef::clone(table)))
        .collect()
}

fn open(db: &Inner, from: Lsn) -> SqlResult<LogReader> {
    let durable = db.log.durable();
    if from > durable {
        let message = format!("position {from} is beyond the end of the log");
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
            .detail(format!("The log ends at {durable}.")));
    }
    let oldest = db.log.kept_from();
    db.log.read_kept_from(from).map_err(|error| {
        let message = format!("the log is not kept from position {from} on");
        SqlError::new(SqlState::UNDEFINED_FILE, message)
            .detail(format!("{error}. The oldest position is about {oldest}."))
            .hint("Begin with a backup, and keep more of the log: log_archive.")
    })
}

fn damaged(error: impl std::error::Error) -> SqlError {
    SqlError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        "the log cannot be read from this position on",
    )
    .detail(quintet_base::error::with_causes(&error))
    .hint("Positions are those of commits, of backups, and those at the end of a list of changes.")
}

fn key_text(table: &TableDef, mut bytes: &[u8], format: &FormatContext) -> SqlResult<String> {
    let mut object = Object::new(format);
    match &table.primary_key {
        Some(primary) => {
            for &column in &primary.columns {
                let column = &table.columns[column];
                let value = key::decode(column.ty, &mut bytes)?;
                object.field(&column.name, &value, column.ty)?;
            }
        }
        None => {
            let number = key::decode(SqlType::Int8, &mut bytes)?;
            object.field(ROW_NUMBER, &number, SqlType::Int8)?;
        }
    }
    Ok(object.finish())
}

fn row_text(table: &TableDef, bytes: &[u8], format: &FormatContext) -> SqlResult<String> {
    let row = table.layout.open(bytes)?;
    let mut object = Object::new(format);
    for (i, column) in table.columns.iter().enumerate() {
        if column.dropped || column.hidden {
            continue;
        }
        let value = match i < row.stored_columns() {
            true => row.get(i)?,
            false => column.missing.clone().unwrap_or_default(),
        };
        object.field(&column.name, &value, column.ty)?;
    }
    Ok(object.finish())
}

/// A JSON object in the making; fields in the order of the columns.
struct Object<'f> {
    text: String,
    format: &'f FormatContext,
}

impl Object<'_> {
    fn new(format: &FormatContext) -> Object<'_> {
        Object {
            text: String::from("{"),
            format,
        }
    }

    fn field(&mut self, name: &str, value: &Value, ty: SqlType) -> SqlResult<()> {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        let name = Value::text(name);
        write_json(&name, SqlType::Text, self.format, &mut self.text)?;
        self.text.push(':');
        write_json(value, ty, self.format, &mut self.text)
    }

    fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Client, DatabaseConfig};

    fn all(db: &Database, from: Lsn) -> (Vec<String>, Lsn) {
        let mut changes = db.changes(from, u64::MAX).unwrap();
        let mut lines = Vec::new();
        while let Some(change) = changes.next_change().unwrap() {
            if change.kind == ChangeKind::End {
                assert!(changes.next_change().unwrap().is_none());
                return (lines, change.position);
            }
            assert!(change.time_micros.is_some());
            let table = change.table.map_or(String::new(), |(_, name)| name);
            let (key, row) = (
                change.key.unwrap_or_default(),
                change.row.unwrap_or_default(),
            );
            lines.push(format!("{} {table} {key} {row}", change.kind.name()));
        }
        panic!("no end")
    }

    fn run(client: &mut Client, text: &str) {
        client.query(text).unwrap();
    }

    /// Goal: rows, removals, schema changes and truncation are told in order, by names, with the
    /// definitions of their time, and each position goes on where it ended.
    #[test]
    fn changes_are_told_in_order_with_the_names_of_their_time() {
        let directory = tempfile::tempdir().unwrap();
        let (db, _) = Database::open(DatabaseConfig::new(directory.path())).unwrap();
        let mut client = db.client().unwrap();
        let (_, start) = all(&db, Lsn::ZERO);
        run(
            &mut client,
            "create table t (id int primary key, v text, n numeric(6,2), j json)",
        );
        run(
            &mut client,
            "insert into t values (1, 'a\"b', 1.50, '{\"x\" : [1]}'), (2, null, null, null)",
        );
        let (lines, at) = all(&db, start);
        assert_eq!(
            lines,
            [
                "schema   ",
                "upsert t {\"id\":1} {\"id\":1,\"v\":\"a\\\"b\",\"n\":1.50,\"j\":{\"x\" : [1]}}",
                "upsert t {\"id\":2} {\"id\":2,\"v\":null,\"n\":null,\"j\":null}",
            ]
        );
        run(
            &mut client,
            "begin; update t set v = 'new' where id = 2; delete from t where id = 1; commit",
        );
        run(
            &mut client,
            "alter table t add column w int default 7; alter table t drop column n",
        );
        run(&mut client, "update t set j = '3' where id = 2");
        run(&mut client, "truncate t");
        run(&mut client, "insert into t values (5)");
        run(
            &mut client,
            "create table u (a int); insert into u values (8); create index on u (a)",
        );
        let expected = [
            "upsert t {\"id\":2} {\"id\":2,\"v\":\"new\",",
            "delete t {\"id\":1} ",
            "schema   ",
            "upsert t {\"id\":2} {\"id\":2,\"v\":\"new\",\"j\":3,\"w\":7}",
            "schema   ",
            "truncate t  ",
            "upsert t {\"id\":5} {\"id\":5,\"v\":null,\"j\":null,\"w\":7}",
            "schema   ",
            "upsert u {\"quintet_row\":1} {\"a\":8}",
        ];
        let (lines, end) = all(&db, at);
        let fits = |(line, expected): (&String, &&str)| line.starts_with(expected);
        assert!(
            lines.len() == expected.len() && lines.iter().zip(&expected).all(fits),
            "{lines:#?}"
        );
        assert_eq!(all(&db, end), (Vec::new(), end));
        // One commit at a time gives the same.
        let (mut from, mut one_by_one) = (at, Vec::new());
        while from < end {
            let mut changes = db.changes(from, 1).unwrap();
            while let Some(change) = changes.next_change().unwrap() {
                match change.kind {
                    ChangeKind::End => from = change.position,
                    kind => one_by_one.push(kind.name()),
                }
            }
        }
        let kinds = lines.iter().map(|line| line.split(' ').next().unwrap());
        assert!(kinds.eq(one_by_one));
        for (wrong, state) in [(end.0 + 8, "22023"), (at.0 + 8, "22023")] {
            let mut changes = db.changes(Lsn(wrong), 9);
            let error = match &mut changes {
                Ok(changes) => changes.next_change().unwrap_err(),
                Err(error) => error.clone(),
            };
            assert_eq!(error.state.as_str(), state);
        }
    }

    /// Goal: a change of a table's key that is larger than a transaction is told like a small one: the table is emptied, and each row
    /// follows once. Method: read in one go, and one commit at a time.
    #[test]
    fn rows_that_went_ahead_are_told_with_the_change_that_they_belong_to() {
        const ROWS: usize = 6_000;
        let directory = tempfile::tempdir().unwrap();
        let config = DatabaseConfig {
            memory_bytes: 8 << 20,
            ..DatabaseConfig::new(directory.path())
        };
        let (db, _) = Database::open(config).unwrap();
        let mut client = db.client().unwrap();
        run(&mut client, "create table t (n int not null, note text)");
        let insert =
            "insert into t select n, 'a note of some length about ' || n from generate_series";
        run(&mut client, &format!("{insert}(1, 3000) n"));
        run(&mut client, &format!("{insert}(3001, {ROWS}) n"));
        let (_, start) = all(&db, Lsn::ZERO);
        run(&mut client, "alter table t add primary key (n)");
        let commits = db.inner.tc.stats().commits;
        run(&mut client, "create index on t (note)");
        assert!(
            db.inner.tc.stats().commits > commits + 1,
            "some of it went ahead"
        );
        run(&mut client, "delete from t where n = 17");
        run(&mut client, "begin; create index on t (note, n); rollback");
        run(&mut client, "insert into t values (0, 'last')");
        let (mut seen, mut changes) = (Vec::new(), db.changes(start, u64::MAX).unwrap());
        while let Some(change) = changes.next_change().unwrap() {
            seen.push((change.kind.name(), change.key));
        }
        let kinds = |from: usize, to: usize| {
            let mut kinds: Vec<_> = seen[from..to].iter().map(|(kind, _)| *kind).collect();
            kinds.dedup();
            kinds
        };
        assert_eq!(kinds(0, 3), ["schema", "truncate", "upsert"]);
        assert_eq!(kinds(2, 2 + ROWS), ["upsert"]);
        assert_eq!(
            kinds(2 + ROWS, seen.len()),
            ["schema", "delete", "upsert", "end"]
        );
        let keys: HashSet<_> = seen[2..2 + ROWS]
            .iter()
            .map(|(_, key)| key.clone())
            .collect();
        assert_eq!(keys.len(), ROWS);
        let (lines, end) = all(&db, start);
        let same = lines
            .iter()
            .zip(&seen)
            .all(|(line, (kind, _))| line.starts_with(kind));
        assert!(same && lines.len() + 1 == seen.len());
        let (mut from, mut one_by_one) = (start, 0);
        while from < end {
            let mut changes = db.changes(from, 1).unwrap();
            while let Some(change) = changes.next_change().unwrap() {
                match change.kind {
                    ChangeKind::End => from = change.position,
                    _ => one_by_one += 1,
                }
            }
        }
        assert_eq!(one_by_one, lines.len());
    }

    /// Goal: what the log has given up is told as such, and is there with an archive.
    #[test]
    fn the_past_is_there_as_long_as_it_is_kept() {
        for keeps in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let archive = quintet_wal::ArchiveConfig {
                directory: directory.path().join("archive"),
                bytes_max: 0,
                age_max_ms: 0,
            };
            let config = DatabaseConfig {
                log_segment_bytes: 64 << 10,
                archive: keeps.then_some(archive),
                ..DatabaseConfig::new(directory.path().join("data"))
            };
            let (db, _) = Database::open(config).unwrap();
            let mut client = db.client().unwrap();
            run(&mut client, "create table t (id int primary key, v text)");
            for round in 0..20 {
                let text = format!(
                    "insert into t select {round} * 100 + n, repeat('x', 100) from generate_series(1, 100) n"
                );
                run(&mut client, &text);
                db.compact().unwrap();
            }
            if keeps {
                let (lines, _) = all(&db, Lsn::ZERO);
                assert_eq!(lines.len(), 2001);
            } else {
                let Err(error) = db.changes(Lsn::ZERO, 1) else {
                    panic!("a position that is gone was taken");
                };
                assert_eq!(error.state.as_str(), "58P01", "{error:?}");
            }
        }
    }
}
