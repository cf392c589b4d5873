//! What the database tells of itself as rows: `SELECT * FROM quintet_…(…)`.
//!
//! Relies on: `backup`, `changes`.  Promises: a row is made when the client takes it, so that memory is bounded by one;
//! a cancel request ends it between two rows.  Does not: read at the session's snapshot: a feed is of what is
//! committed, whatever transaction it is asked for in.

use super::Session;
use super::execute::{Pulled, canceled};
use crate::backup::{self, Backup};
use crate::changes::{Change, Changes};
use crate::step::{Flow, RowSink};
use quintet_base::error::with_causes;
use quintet_base::{Level, Lsn, SequenceId, SqlError, SqlResult, SqlState, Value};
use quintet_ir::Expr;
use quintet_sql::{DumpLine, Feed};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows in the making.
pub(super) enum FeedRows {
    Schema(VecDeque<DumpLine>),
    Changes(Box<Changes>),
    Backup(Box<Backup>, Told),
}

/// What of a backup has been told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Nothing,
    Header,
    All,
}

impl FeedRows {
    fn next(&mut self) -> SqlResult<Option<Vec<Value>>> {
        match self {
            FeedRows::Schema(lines) => Ok(lines.pop_front().map(|line| {
                [line.section, &line.object, &line.statement]
                    .map(Value::text)
                    .to_vec()
            })),
            FeedRows::Changes(changes) => Ok(changes.next_change()?.map(change_row)),
            FeedRows::Backup(backup, told) => {
                let text = |kind: &str, body: String| {
                    Some(vec![
                        Value::text(kind),
                        Value::Bytea(body.into_bytes().into()),
                    ])
                };
                Ok(match *told {
                    Told::Nothing => {
                        *told = Told::Header;
                        text("begin", backup.header().to_text())
                    }
                    Told::Header => match backup.next_frame().map_err(of_backup)? {
                        Some(frame) => {
                            Some(vec![Value::text("records"), Value::Bytea(frame.into())])
                        }
                        None => {
                            *told = Told::All;
                            text("end", backup.totals().to_text())
                        }
                    },
                    Told::All => None,
                })
            }
        }
    }
}

impl Session {
    pub(super) fn begin_feed(
        &mut self,
        feed: Feed,
        arguments: &[Expr],
        params: &[Value],
    ) -> SqlResult<FeedRows> {
        match feed {
            Feed::Schema => self.schema_lines().map(FeedRows::Schema),
            Feed::Changes => {
                let mut numbers = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    let value = quintet_ir::eval(argument, &[], params, &self.host)?;
                    let number = value.as_i64().and_then(|number| u64::try_from(number).ok());
                    numbers.push(number.ok_or_else(|| {
                        let message = "positions and numbers of commits are not NULL or negative";
                        SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
                    })?);
                }
                // Without arguments: where the log is, and nothing else.
                let from = numbers
                    .first()
                    .map_or(self.db.log.durable(), |from| Lsn(*from));
                let commits = numbers.get(1).copied();
                let commits = commits.unwrap_or(if numbers.is_empty() { 0 } else { u64::MAX });
                let changes = Changes::begin(&self.db, from, commits)?;
                Ok(FeedRows::Changes(Box::new(changes)))
            }
            Feed::Backup => {
                let backup = Backup::begin(&self.db).map_err(of_backup)?;
                Ok(FeedRows::Backup(Box::new(backup), Told::Nothing))
            }
        }
    }

    /// The catalogue as statements, with the sequences set to where they are: numbers that are reserved count as
    /// given.
    fn schema_lines(&mut self) -> SqlResult<VecDeque<DumpLine>> {
        let schema = Arc::clone(self.schema());
        let mut lines = VecDeque::new();
        let txn = self.db.tc.begin(Level::Snapshot);
        for mut line in schema.catalog.dump()? {
            if line.section == "sequence" {
                let number = line.object.parse().map(SequenceId);
                let number = number.map_err(SqlError::internal)?;
                let counter = schema.catalog.sequence_by_id(number).map(|one| one.counter);
                let Some((last, given)) = counter
                    .map(|counter| quintet_direct::reserved(&txn, counter))
                    .transpose()?
                    .flatten()
                else {
                    continue;
                };
                let name = std::mem::take(&mut line.statement);
                line.statement = format!("SELECT pg_catalog.setval({name}, {last}, {given})");
            }
            lines.push_back(line);
        }
        Ok(lines)
    }

    pub(super) fn pull_feed(
        &self,
        feed: &mut FeedRows,
        max_rows: usize,
        rows: &mut u64,
        sink: &mut dyn RowSink,
    ) -> SqlResult<Pulled> {
        let mut given = 0;
        loop {
            if self.cancel.swap(false, Ordering::AcqRel) {
                return Err(canceled());
            }
            if max_rows > 0 && given == max_rows {
                return Ok(Pulled::Enough);
            }
            let Some(row) = feed.next()? else {
                return Ok(Pulled::End);
            };
            *rows += 1;
            given += 1;
            if sink.row(&row)? == Flow::Break {
                return Ok(Pulled::Break);
            }
        }
    }
}

fn change_row(change: Change) -> Vec<Value> {
    let Change {
        position,
        time_micros,
        kind,
        table,
        key,
        row,
    } = change;
    let text = |text: Option<String>| text.map_or(Value::Null, Value::text);
    let (schema, table) = table.unzip();
    vec![
        Value::Int8(position.0 as i64),
        time_micros.map_or(Value::Null, Value::TimestampTz),
        Value::text(kind.name()),
        text(schema),
        text(table),
        text(key),
        text(row),
    ]
}

fn of_backup(error: backup::Error) -> SqlError {
    let state = match &error {
        backup::Error::Unsettled(failure) if failure.is_disk_full => SqlState::DISK_FULL,
        _ => SqlState::IO_ERROR,
    };
    SqlError::new(state, "the backup failed").detail(with_causes(&error))
}
