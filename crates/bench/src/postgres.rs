//! Calls over PostgreSQL's protocol: to PostgreSQL, or to a server of ours.
//!
//! Relies on: `tokio-postgres`.  Promises: each procedure is prepared once, with the types of its
//! parameters; a call is one round trip with binary arguments, and its transaction is the statement's own.
//! Does not: use TLS, or know which of both it talks to.

use crate::Error;
use crate::system::{Connection, Failure, Reply, System, TextRows, session_settings};
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::SinkExt;
use quintet_base::Level;
use quintet_workloads::{Answers, Argument, Call, ParameterType, Piece, Procedure};
use std::error::Error as StdError;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls, Row, SimpleQueryMessage, Statement};

/// Bytes of COPY data in one message.
const COPY_BYTES: usize = 64 << 10;

/// A server.
#[derive(Clone, Debug)]
pub struct Postgres {
    config: Config,
    level: Level,
    settings: Vec<(String, String)>,
}

impl Postgres {
    /// The server of a URL like `postgres://user@host:port/database`; every transaction is of this level.
    ///
    /// # Errors
    /// The URL cannot be read.
    pub fn new(url: &str, level: Level) -> Result<Postgres, Error> {
        let mut config: Config = url.parse().map_err(gone)?;
        config.application_name("quintet bench");
        Ok(Postgres {
            config,
            level,
            settings: Vec::new(),
        })
    }

    /// What each session sets besides.
    #[must_use]
    pub fn with(self, settings: Vec<(String, String)>) -> Postgres {
        Postgres { settings, ..self }
    }
}

impl System for Postgres {
    type Connection = PostgresConnection;

    const BLOCKS: bool = false;

    async fn connect(&self) -> Result<PostgresConnection, Error> {
        let (client, connection) = self.config.connect(NoTls).await.map_err(gone)?;
        // Its errors reach the calls.
        tokio::spawn(async move { drop(connection.await) });
        let mut connection = PostgresConnection {
            client,
            statements: Vec::new(),
        };
        let sql = session_settings(self.level, &self.settings);
        let set = connection.run(&sql).await?;
        set.map_err(|failure| failure.into_error("setting the session up"))?;
        Ok(connection)
    }
}

/// A connection to a [`Postgres`].
pub struct PostgresConnection {
    client: Client,
    /// One per procedure, and what it answers.
    statements: Vec<(Statement, Answers)>,
}

impl Connection for PostgresConnection {
    async fn prepare(&mut self, procedures: &'static [Procedure]) -> Result<(), Error> {
        self.statements.clear();
        for procedure in procedures {
            let types: Vec<Type> = procedure.parameters.iter().map(wire_type).collect();
            let prepared = self.client.prepare_typed(procedure.statement, &types).await;
            let doing = || format!("preparing {}", procedure.statement);
            let statement = answered(prepared)?.map_err(|failure| failure.into_error(doing()))?;
            self.statements.push((statement, procedure.answers));
        }
        Ok(())
    }

    async fn call(&mut self, call: &Call) -> Result<Reply, Error> {
        let (statement, answers) = &self.statements[call.procedure];
        let bound: Vec<Bound<'_>> = call.arguments.iter().map(Bound).collect();
        let arguments: Vec<&(dyn ToSql + Sync)> =
            bound.iter().map(|b| b as &(dyn ToSql + Sync)).collect();
        match answered(self.client.query(statement, &arguments).await)? {
            Ok(rows) => {
                let row = rows.first();
                Ok(match answers {
                    Answers::Nothing => Reply::Done(0),
                    Answers::Count => Reply::Done(first(row)?.unwrap_or(0)),
                    Answers::Text => Reply::Said(first(row)?.unwrap_or_default()),
                })
            }
            Err(failure) => Ok(Reply::Failed(failure)),
        }
    }

    async fn run(&mut self, sql: &str) -> Result<Result<(), Failure>, Error> {
        answered(self.client.batch_execute(sql).await)
    }

    async fn query(&mut self, sql: &str) -> Result<Result<TextRows, Failure>, Error> {
        let messages = match answered(self.client.simple_query(sql).await)? {
            Ok(messages) => messages,
            Err(failure) => return Ok(Err(failure)),
        };
        let mut rows = Vec::new();
        for message in messages {
            if let SimpleQueryMessage::Row(row) = message {
                let field = |i| row.get(i).map(str::to_owned);
                rows.push((0..row.len()).map(field).collect());
            }
        }
        Ok(Ok(rows))
    }

    async fn copy(&mut self, piece: &Piece) -> Result<Result<(), Failure>, Error> {
        let sink = answered(self.client.copy_in(piece.table.copy().as_str()).await)?;
        let mut sink = match sink {
            Ok(sink) => std::pin::pin!(sink),
            Err(failure) => return Ok(Err(failure)),
        };
        for chunk in piece.text.as_bytes().chunks(COPY_BYTES) {
            if let Err(failure) = answered(sink.send(Bytes::copy_from_slice(chunk)).await)? {
                return Ok(Err(failure));
            }
        }
        Ok(answered(sink.finish().await)?.map(drop))
    }
}

/// The first field of a row.
fn first<'r, T: FromSql<'r>>(row: Option<&'r Row>) -> Result<Option<T>, Error> {
    row.map_or(Ok(None), |row| row.try_get(0)).map_err(gone)
}

/// Tells what the database said from what went wrong on the way.
fn answered<T>(result: Result<T, tokio_postgres::Error>) -> Result<Result<T, Failure>, Error> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => match error.as_db_error() {
            Some(said) => {
                let state = said.code().code().as_bytes().try_into();
                Ok(Err(Failure {
                    state: state.unwrap_or(*b"XX000"),
                    message: said.message().to_owned(),
                }))
            }
            None => Err(gone(error)),
        },
    }
}

fn gone(error: tokio_postgres::Error) -> Error {
    Error::System(Box::new(error))
}

fn wire_type(parameter: &ParameterType) -> Type {
    match parameter {
        ParameterType::Int => Type::INT4,
        ParameterType::BigInt => Type::INT8,
        ParameterType::Cents => Type::NUMERIC,
        ParameterType::Text => Type::TEXT,
        ParameterType::Ints => Type::INT4_ARRAY,
        ParameterType::BigInts => Type::INT8_ARRAY,
    }
}

/// An argument in binary form.
#[derive(Debug)]
struct Bound<'a>(&'a Argument);

impl ToSql for Bound<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self.0 {
            Argument::Int(number) => number.to_sql(ty, out),
            Argument::BigInt(number) => number.to_sql(ty, out),
            Argument::Cents(cents) => {
                write_cents(*cents, out);
                Ok(IsNull::No)
            }
            Argument::Text(text) => text.to_sql(ty, out),
            Argument::Ints(numbers) => numbers.to_sql(ty, out),
            Argument::BigInts(numbers) => numbers.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// PostgreSQL's binary numeric: number of digits to the base 10,000, weight of the first, sign, digits
/// after the decimal point, the digits.
fn write_cents(cents: i64, out: &mut BytesMut) {
    let mut rest = cents.unsigned_abs() / 100;
    let mut digits = vec![(cents.unsigned_abs() % 100 * 100) as u16];
    while rest > 0 {
        digits.push((rest % 10_000) as u16);
        rest /= 10_000;
    }
    out.put_u16(digits.len() as u16);
    out.put_i16(digits.len() as i16 - 2);
    out.put_u16(if cents < 0 { 0x4000 } else { 0 });
    out.put_u16(2);
    digits.iter().rev().for_each(|digit| out.put_u16(*digit));
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected bytes as PostgreSQL 15's numeric_send gives them.
    #[test]
    fn hundredths_are_binary_numerics() {
        let bytes = |cents| {
            let mut out = BytesMut::new();
            write_cents(cents, &mut out);
            let words = out.chunks(2).map(|w| u16::from_be_bytes([w[0], w[1]]));
            words.collect::<Vec<_>>()
        };
        assert_eq!(bytes(12_345_678), [3, 1, 0, 2, 12, 3456, 7800]);
        assert_eq!(bytes(-5), [1, 0xffff, 0x4000, 2, 500]);
        assert_eq!(bytes(1_00), [2, 0, 0, 2, 1, 0]);
    }
}
