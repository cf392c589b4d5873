//! A session that runs calls.
//!
//! Relies on: `pipeline` for one round trip, two-phase commit of the server.  Promises: an attempt ends prepared or leaves nothing,
//! unless the server is lost; after an error no transaction stays open.  Does not: decide, retry conflicts, or know other replicas.
//!
//! ```text
//!   run          BEGIN · mark · [sleep] · call · PREPARE TRANSACTION                                one round trip
//!   for a token  BEGIN · mark · [sleep] · call    then   row of quintet.calls · PREPARE TRANSACTION        two
//!   read         BEGIN READ ONLY · statement · COMMIT                                               one
//!   interactive  begin ─► raw exchanges ─► prepare                                         as many as the client makes
//!   decisions    COMMIT PREPARED, ROLLBACK PREPARED                                               one, and a sync of the log
//! ```

use crate::call::{Attempt, CallText, Decided, Ran, Read, Step};
use crate::connection::{Connection, Status};
use crate::error::{Error, ServerError};
use crate::frame::Frame;
use crate::front::{ClientCall, Front, Gid, Tag};
use crate::pipeline::{Answer, Bound, Keep, Outcome, Pipeline, tag_is};
use crate::server::{Server, Settings};
use crate::session;
use crate::statements::Statements;
use bytes::BytesMut;
use postgres_protocol::message::frontend;
use quintet_base::limits::ANSWER_BYTES_MAX;
use quintet_base::{Level, SqlState};
use std::time::Duration;

/// A runner that loses a deadlock is run again; an apply that loses one holds up everybody behind it. So runners look
/// for deadlocks first, and appliers (`applier::DEADLOCK_TIMEOUT`) much later.
const DEADLOCK_TIMEOUT: &str = "200ms";

/// What an INSERT into `quintet.calls` does when the client has called before.
const REMEMBER: &str = "INSERT INTO quintet.calls (token, number, answer) \
     VALUES ($1::text, $2::text::bigint, decode($3::text, 'hex')) \
     ON CONFLICT (token) DO UPDATE SET number = excluded.number, answer = excluded.answer";

/// The mark of an attempt.
pub(crate) const MARK: &str = "SELECT pg_logical_emit_message(true, 'quintet', $1::text)";

/// A modelled service time.
pub(crate) const SLEEP: &str = "SELECT pg_sleep($1::text::float8)";

/// A session that runs calls at one replica.
#[derive(Debug)]
pub struct Runner {
    connection: Connection,
    statements: Statements,
}

impl Runner {
    /// Opens a session of the front end; `settings` are the client's, but for the application's name.
    ///
    /// # Errors
    /// Those of the connection, and [`Error::Fenced`].
    pub async fn connect(
        server: &Server,
        front: &Front,
        settings: &Settings,
    ) -> Result<Runner, Error> {
        let settings = settings.clone().with("deadlock_timeout", DEADLOCK_TIMEOUT);
        Ok(Runner {
            connection: session::open(server, front, settings).await?,
            statements: Statements::default(),
        })
    }

    /// For exchanges of a client's own, between [`Runner::begin`] and [`Runner::prepare`] or outside of a transaction.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// False if it has to be opened anew.
    pub fn is_usable(&self) -> bool {
        self.connection.is_usable() && self.connection.status() == Status::Idle
    }

    /// Runs a call and prepares its transaction.
    pub async fn run(&mut self, attempt: &Attempt) -> Ran {
        match self.attempt(attempt).await {
            // Something below a prepared statement was changed since; nothing took place.
            Ok(Ran::Failed { error, .. }) if is_stale(&error) => {}
            Ok(ran) => return ran,
            Err(error) => return Ran::Lost(error),
        }
        match self.forget_statements().await {
            Ok(()) => self.attempt(attempt).await.unwrap_or_else(Ran::Lost),
            Err(error) => Ran::Lost(error),
        }
    }

    async fn attempt(&mut self, attempt: &Attempt) -> Result<Ran, Error> {
        let mark = attempt.tag.to_string();
        let service = attempt.service;
        let mut pipeline = Pipeline::new(&mut self.connection, &mut self.statements)?;
        pipeline.plain(begin_at(attempt.level), Keep::Prepared)?;
        pipeline.bound(MARK, [Some(mark.as_bytes())].into_iter())?;
        let mut before = 2;
        if !service.is_zero() {
            sleep(&mut pipeline, service)?;
            before += 1;
        }
        answering(&mut pipeline, &attempt.text)?;
        let Some(client) = &attempt.tag.client else {
            pipeline.plain(&prepare_text(&attempt.tag.gid), Keep::Once)?;
            let outcome = pipeline.run().await?;
            return self.prepared(outcome, before, &attempt.tag.gid).await;
        };
        let outcome = pipeline.run().await?;
        if outcome.error.is_some() || outcome.answer_over.is_some() {
            return self.prepared(outcome, before, &attempt.tag.gid).await;
        }
        let mut pipeline = Pipeline::new(&mut self.connection, &mut self.statements)?;
        let number = client.number.to_string();
        let bytes = hex(&outcome.answer);
        let values = [client.token.as_bytes(), number.as_bytes(), &bytes];
        pipeline.bound(REMEMBER, values.into_iter().map(Some))?;
        pipeline.plain(&prepare_text(&attempt.tag.gid), Keep::Once)?;
        let second = pipeline.run().await?;
        let whole = Outcome {
            tags: outcome.tags.into_iter().chain(second.tags).collect(),
            error: second.error,
            ..outcome
        };
        self.prepared(whole, before, &attempt.tag.gid).await
    }

    /// What the end of a pipeline means whose last step prepares; `before` steps come before the call.
    async fn prepared(&mut self, outcome: Outcome, before: usize, gid: &Gid) -> Result<Ran, Error> {
        let Outcome {
            tags,
            answer,
            answer_over,
            error,
        } = outcome;
        let is_prepared = tags
            .last()
            .is_some_and(|tag| tag_is(tag, "PREPARE TRANSACTION"));
        if is_prepared && error.is_none() && answer_over.is_none() {
            return Ok(Ran::Prepared { answer });
        }
        self.roll_back().await?;
        if is_prepared {
            self.rollback(gid).await?;
        }
        let step = match tags.len() {
            ended if ended < before => Step::Begin,
            ended if ended == before => Step::Call,
            _ => Step::Prepare,
        };
        let error = match (error, answer_over) {
            (Some(error), _) => error,
            (None, Some(bytes)) => too_long(bytes),
            // PREPARE TRANSACTION of nothing: the call has ended the transaction that it was run in.
            (None, None) => ServerError::made(
                SqlState(*b"2D000"),
                "a statement that ends its transaction cannot be run as a call",
            ),
        };
        Ok(Ran::Failed {
            error: Box::new(error),
            step,
            notices: if step == Step::Call {
                answer.rows
            } else {
                Default::default()
            },
        })
    }

    /// Runs a statement, or a call, that does not write. The server refuses it if it does.
    pub async fn run_read(&mut self, text: &CallText, level: Level, service: Duration) -> Read {
        match self.read(text, level, service).await {
            Ok(Read::Failed { error, .. }) if is_stale(&error) => {}
            Ok(read) => return read,
            Err(error) => return Read::Lost(error),
        }
        match self.forget_statements().await {
            Ok(()) => self
                .read(text, level, service)
                .await
                .unwrap_or_else(Read::Lost),
            Err(error) => Read::Lost(error),
        }
    }

    async fn read(
        &mut self,
        text: &CallText,
        level: Level,
        service: Duration,
    ) -> Result<Read, Error> {
        let mut pipeline = Pipeline::new(&mut self.connection, &mut self.statements)?;
        pipeline.plain(begin_to_read_at(level), Keep::Prepared)?;
        if !service.is_zero() {
            sleep(&mut pipeline, service)?;
        }
        answering(&mut pipeline, text)?;
        pipeline.plain("COMMIT", Keep::Prepared)?;
        let outcome = pipeline.run().await?;
        self.roll_back().await?;
        Ok(match (outcome.error, outcome.answer_over) {
            (None, None) => Read::Answered(outcome.answer),
            (Some(error), _) => Read::Failed {
                error: Box::new(error),
                notices: outcome.answer.rows,
            },
            (None, Some(bytes)) => Read::Failed {
                error: Box::new(too_long(bytes)),
                notices: Default::default(),
            },
        })
    }

    /// What becomes of one statement in the transaction that is open, or as one of its own.
    pub(crate) async fn answer_to(&mut self, text: &CallText) -> Result<Outcome, Error> {
        let mut pipeline = Pipeline::new(&mut self.connection, &mut self.statements)?;
        answering(&mut pipeline, text)?;
        pipeline.run().await
    }

    /// What Parse and Describe of a statement are answered: ParameterDescription, then RowDescription or NoData; or an ErrorResponse.
    ///
    /// # Errors
    /// If the server is lost.
    pub async fn describe(&mut self, sql: &str, types: &[u32]) -> Result<Vec<Frame>, Error> {
        let mut messages = BytesMut::new();
        let written = frontend::parse("", sql, types.iter().copied(), &mut messages)
            .and_then(|()| frontend::describe(b'S', "", &mut messages));
        written.map_err(|error| self.connection.protocol(error.to_string()))?;
        frontend::sync(&mut messages);
        let mut frames = self.connection.exchange(&messages).await?;
        frames.retain(|frame| matches!(frame.kind(), b't' | b'T' | b'n' | b'E'));
        Ok(frames)
    }

    /// Commits a prepared transaction.
    ///
    /// # Errors
    /// The server's, or that it is lost: then it may be committed or not.
    pub async fn commit(&mut self, gid: &Gid) -> Result<Decided, Error> {
        self.decide("COMMIT", gid).await
    }

    /// Rolls a prepared transaction back.
    ///
    /// # Errors
    /// As [`Runner::commit`].
    pub async fn rollback(&mut self, gid: &Gid) -> Result<Decided, Error> {
        self.decide("ROLLBACK", gid).await
    }

    async fn decide(&mut self, verb: &str, gid: &Gid) -> Result<Decided, Error> {
        let sql = format!("{verb} PREPARED {}", literal(gid.as_str()));
        match self.connection.simple(&sql).await {
            Ok(_) => Ok(Decided::Done),
            Err(error) if error.state() == Some(SqlState(*b"42704")) => Ok(Decided::Missing),
            Err(error) => Err(error),
        }
    }

    /// The last call of a client that was committed here: its number and the answer.
    ///
    /// # Errors
    /// The server's, or that it is lost.
    pub async fn last_call(&mut self, token: &str) -> Result<Option<(i64, Answer)>, Error> {
        let sql = format!(
            "SELECT number, encode(answer, 'hex') FROM quintet.calls WHERE token = {}",
            literal(token)
        );
        let rows = self.connection.simple(&sql).await?;
        let Some([Some(number), Some(answer)]) = rows.first().map(Vec::as_slice) else {
            return Ok(None);
        };
        let read = number.parse().ok().zip(unhex(answer));
        match read {
            Some(call) => Ok(Some(call)),
            None => Err(self
                .connection
                .protocol("a row of quintet.calls that nobody wrote".to_owned())),
        }
    }

    /// Begins a transaction that a client drives; with a tag it can be prepared as an attempt.
    ///
    /// # Errors
    /// The server's, or that it is lost.
    pub async fn begin(&mut self, level: Level, tag: Option<&Tag>) -> Result<(), Error> {
        let mut sql = begin_at(level).to_owned();
        if let Some(tag) = tag {
            let mark = literal(&tag.to_string());
            sql += &format!("; SELECT pg_logical_emit_message(true, 'quintet', {mark})");
        }
        self.connection.simple(&sql).await.map(drop)
    }

    /// Ends the open transaction prepared. One that has failed is rolled back, which is told as [`Ran::Failed`] with 25P02.
    pub async fn prepare(&mut self, gid: &Gid, client: Option<(&ClientCall, &Answer)>) -> Ran {
        self.end_prepared(gid, client)
            .await
            .unwrap_or_else(Ran::Lost)
    }

    async fn end_prepared(
        &mut self,
        gid: &Gid,
        client: Option<(&ClientCall, &Answer)>,
    ) -> Result<Ran, Error> {
        if self.connection.status() != Status::Open {
            let error = ServerError::made(
                SqlState(*b"25P02"),
                "current transaction is aborted, commands ignored until end of transaction block",
            );
            self.roll_back().await?;
            return Ok(Ran::Failed {
                error: Box::new(error),
                step: Step::Prepare,
                notices: Default::default(),
            });
        }
        let mut pipeline = Pipeline::new(&mut self.connection, &mut self.statements)?;
        if let Some((client, answer)) = client {
            let number = client.number.to_string();
            let bytes = hex(answer);
            let values = [client.token.as_bytes(), number.as_bytes(), &bytes];
            pipeline.bound(REMEMBER, values.into_iter().map(Some))?;
        }
        pipeline.plain(&prepare_text(gid), Keep::Once)?;
        let mut outcome = pipeline.run().await?;
        // One tag for the part that the client has run, so that a failure counts as one of the end.
        outcome.tags.insert(0, Default::default());
        self.prepared(outcome, 0, gid).await
    }

    /// Ends the transaction that is open, if one is, without a trace.
    ///
    /// # Errors
    /// If the server is lost.
    pub async fn roll_back(&mut self) -> Result<(), Error> {
        match self.connection.status() {
            Status::Idle => Ok(()),
            _ => self.connection.simple("ROLLBACK").await.map(drop),
        }
    }

    async fn forget_statements(&mut self) -> Result<(), Error> {
        self.statements.clear();
        self.connection.simple("DEALLOCATE ALL").await.map(drop)
    }

    /// Says goodbye.
    pub async fn close(self) {
        self.connection.close().await;
    }
}

fn begin_at(level: Level) -> &'static str {
    match level {
        Level::ReadCommitted => "BEGIN ISOLATION LEVEL READ COMMITTED",
        Level::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ",
        Level::Serializable => "BEGIN ISOLATION LEVEL SERIALIZABLE",
    }
}

pub(crate) fn begin_to_read_at(level: Level) -> &'static str {
    match level {
        Level::ReadCommitted => "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY",
        Level::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        Level::Serializable => "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY",
    }
}

fn prepare_text(gid: &Gid) -> String {
    format!("PREPARE TRANSACTION {}", literal(gid.as_str()))
}

fn answering(pipeline: &mut Pipeline<'_>, text: &CallText) -> Result<(), Error> {
    match text {
        CallText::Simple(sql) => {
            pipeline.answering(sql, Keep::Once, Bound::default(), std::iter::empty())
        }
        CallText::Extended {
            sql,
            types,
            formats,
            values,
            result_formats,
        } => {
            let bound = Bound {
                types,
                formats,
                results: result_formats,
            };
            let values = values.iter().map(Option::as_deref);
            pipeline.answering(sql, Keep::Prepared, bound, values)
        }
    }
}

/// Lets the server sleep inside of the transaction.
pub(crate) fn sleep(pipeline: &mut Pipeline<'_>, service: Duration) -> Result<(), Error> {
    let seconds = service.as_secs_f64().to_string();
    pipeline.bound(SLEEP, [Some(seconds.as_bytes())].into_iter())
}

/// True if a prepared statement no longer fits, which preparing it again mends.
fn is_stale(error: &ServerError) -> bool {
    match &error.state.0 {
        b"26000" => true,
        b"0A000" => error.message.starts_with("cached plan must not change"),
        _ => false,
    }
}

pub(crate) fn too_long(bytes: usize) -> ServerError {
    ServerError::made(
        SqlState(*b"54000"),
        &format!("an answer of {bytes} bytes is over the limit of {ANSWER_BYTES_MAX}"),
    )
}

/// A string in SQL, whatever `standard_conforming_strings` says.
pub(crate) fn literal(text: &str) -> String {
    if text.contains('\\') {
        format!(" E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// An answer as the row of `quintet.calls` keeps it: length of the description, the description, the rows.
fn hex(answer: &Answer) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let length = (answer.description.len() as u32).to_be_bytes();
    let parts = [&length[..], &answer.description, &answer.rows];
    let bytes = parts.iter().flat_map(|part| part.iter());
    bytes
        .flat_map(|byte| {
            [
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]
        })
        .collect()
}

fn unhex(text: &str) -> Option<Answer> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    let bytes = bytes::Bytes::from(bytes?);
    let length = u32::from_be_bytes(*bytes.first_chunk()?) as usize;
    let end = length.checked_add(4).filter(|end| *end <= bytes.len())?;
    Some(Answer {
        description: bytes.slice(4..end),
        rows: bytes.slice(end..),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_cannot_be_left() {
        assert_eq!(literal("a'b"), "'a''b'");
        assert_eq!(literal("a\\'; x"), " E'a\\\\''; x'");
    }

    #[test]
    fn a_remembered_answer_reads_as_it_was_written() {
        let answer = Answer {
            description: bytes::Bytes::from_static(b"T\0\xff"),
            rows: bytes::Bytes::from_static(b"D1C"),
        };
        let text = String::from_utf8(hex(&answer)).unwrap();
        assert_eq!(unhex(&text), Some(answer));
        assert_eq!(unhex(""), None);
        assert_eq!(unhex("00000005aa"), None);
        assert_eq!(unhex("0000000"), None);
    }
}
