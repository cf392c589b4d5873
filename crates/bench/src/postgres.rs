//! Calls over PostgreSQL's protocol: to PostgreSQL, or to a server of ours.
//!
//! Relies on: `replica`'s sessions, `postgres-protocol`.  Promises: each procedure is prepared once, with the types of its
//! parameters; a call is one round trip with binary arguments, written and read by the client itself, so that the load takes
//! little of the processors that it shares with what it measures; its transaction is the statement's own.
//! Does not: use TLS, or know which of both it talks to.
//!
//! ```text
//!   prepare   Parse … Sync                 ─►  ParseComplete … ReadyForQuery
//!   call      Bind Execute Sync            ─►  BindComplete  DataRow … CommandComplete | ErrorResponse  ReadyForQuery
//! ```

use crate::Error;
use crate::system::{Connection, Failure, Reply, System, TextRows, session_settings};
use bytes::{BufMut, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;
use postgres_protocol::types::{self, ArrayDimension};
use quintet_base::Level;
use quintet_replica as server;
use quintet_workloads::{Answers, Argument, Call, ParameterType, Piece, Procedure};
use std::error::Error as StdError;

/// Bytes of COPY data in one message.
const COPY_BYTES: usize = 64 << 10;

/// All arguments, and the answer, in binary form.
const BINARY: [i16; 1] = [1];

/// A server.
#[derive(Clone, Debug)]
pub struct Postgres {
    server: server::Server,
    level: Level,
    settings: Vec<(String, String)>,
}

impl Postgres {
    /// The server of a URL like `postgres://user@host:port/database`; every transaction is of this level.
    ///
    /// # Errors
    /// The URL cannot be read.
    pub fn new(url: &str, level: Level) -> Result<Postgres, Error> {
        Ok(Postgres {
            server: server::Server::parse(url).map_err(gone)?,
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
        let settings = server::Settings::new("quintet bench");
        let mut connection = PostgresConnection {
            session: self.server.connect(&settings).await.map_err(gone)?,
            output: BytesMut::new(),
            procedures: &[],
        };
        let sql = session_settings(self.level, &self.settings);
        let set = connection.run(&sql).await?;
        set.map_err(|failure| failure.into_error("setting the session up"))?;
        Ok(connection)
    }
}

/// A connection to a [`Postgres`].
pub struct PostgresConnection {
    session: server::Connection,
    /// A request is put together here, and sent whole.
    output: BytesMut,
    /// Those that are prepared, each under its number.
    procedures: &'static [Procedure],
}

impl Connection for PostgresConnection {
    async fn prepare(&mut self, procedures: &'static [Procedure]) -> Result<(), Error> {
        for (number, procedure) in procedures.iter().enumerate() {
            let types = procedure.parameters.iter().map(wire_type);
            let name = statement_name(number);
            self.output.clear();
            frontend::parse(&name, procedure.statement, types, &mut self.output).map_err(gone)?;
            frontend::sync(&mut self.output);
            let doing = || format!("preparing {}", procedure.statement);
            let prepared = self.exchange().await?;
            prepared.map_err(|failure| failure.into_error(doing()))?;
        }
        self.procedures = procedures;
        Ok(())
    }

    async fn call(&mut self, call: &Call) -> Result<Reply, Error> {
        self.output.clear();
        let bound = frontend::bind(
            "",
            &statement_name(call.procedure),
            BINARY,
            &call.arguments,
            write_argument,
            BINARY,
            &mut self.output,
        );
        bound.map_err(|_| unexpected("an argument that is too long"))?;
        frontend::execute("", 0, &mut self.output).map_err(gone)?;
        frontend::sync(&mut self.output);
        self.session.send(&self.output).await.map_err(gone)?;
        let mut reply = Ok(None);
        loop {
            let frame = self.session.next_frame().await.map_err(gone)?;
            match frame.kind() {
                b'D' => reply = reply.map(|found: Option<_>| found.or(Some(frame.body()))),
                b'E' => reply = Err(failure_of(server::ServerError::read(frame.body()))),
                b'Z' => break,
                _ => {}
            }
        }
        let row = match reply {
            Ok(row) => row.unwrap_or_default(),
            Err(failure) => return Ok(Reply::Failed(failure)),
        };
        Ok(match self.procedures[call.procedure].answers {
            Answers::Nothing => Reply::Done(0),
            Answers::Count => Reply::Done(match first_field(&row)? {
                Some(field) => types::int8_from_sql(field).map_err(Error::System)?,
                None => 0,
            }),
            Answers::Text => Reply::Said(match first_field(&row)? {
                Some(field) => types::text_from_sql(field)
                    .map_err(Error::System)?
                    .to_owned(),
                None => String::new(),
            }),
        })
    }

    async fn run(&mut self, sql: &str) -> Result<Result<(), Failure>, Error> {
        Ok(self.query(sql).await?.map(drop))
    }

    async fn query(&mut self, sql: &str) -> Result<Result<TextRows, Failure>, Error> {
        match self.session.simple(sql).await {
            Ok(rows) => Ok(Ok(rows)),
            Err(error) => said(error).map(Err),
        }
    }

    async fn copy(&mut self, piece: &Piece) -> Result<Result<(), Failure>, Error> {
        self.output.clear();
        frontend::query(&piece.table.copy(), &mut self.output).map_err(gone)?;
        self.session.send(&self.output).await.map_err(gone)?;
        // Data for a COPY that was refused is not read by anybody.
        let mut failed = None;
        loop {
            let frame = self.session.next_frame().await.map_err(gone)?;
            match frame.kind() {
                b'G' => {
                    for chunk in piece.text.as_bytes().chunks(COPY_BYTES) {
                        self.output.clear();
                        let data = frontend::CopyData::new(chunk).map_err(gone)?;
                        data.write(&mut self.output);
                        self.session.send(&self.output).await.map_err(gone)?;
                    }
                    self.output.clear();
                    frontend::copy_done(&mut self.output);
                    self.session.send(&self.output).await.map_err(gone)?;
                }
                b'E' => failed = Some(failure_of(server::ServerError::read(frame.body()))),
                b'Z' => return Ok(failed.map_or(Ok(()), Err)),
                _ => {}
            }
        }
    }
}

impl PostgresConnection {
    /// Sends what was put together and reads all of the answer, of which only an error is of interest.
    async fn exchange(&mut self) -> Result<Result<(), Failure>, Error> {
        let frames = self.session.exchange(&self.output).await.map_err(gone)?;
        let failed = frames.iter().find(|frame| frame.kind() == b'E');
        Ok(match failed {
            Some(frame) => Err(failure_of(server::ServerError::read(frame.body()))),
            None => Ok(()),
        })
    }
}

fn statement_name(number: usize) -> String {
    format!("p{number}")
}

/// The first field of a DataRow's body; none if it is NULL, or there is no row.
fn first_field(row: &[u8]) -> Result<Option<&[u8]>, Error> {
    // The number of fields, then of each its length and its bytes.
    let Some(([_, _, length @ ..], rest)) = row.split_first_chunk::<6>() else {
        return Ok(None);
    };
    match usize::try_from(i32::from_be_bytes(*length)) {
        Err(_) => Ok(None),
        Ok(length) => rest
            .get(..length)
            .map(Some)
            .ok_or_else(|| unexpected("a row that ends too soon")),
    }
}

/// Tells what the database said from what went wrong on the way.
fn said(error: server::Error) -> Result<Failure, Error> {
    match error {
        server::Error::Server(said) => Ok(failure_of(*said)),
        error => Err(gone(error)),
    }
}

fn failure_of(error: server::ServerError) -> Failure {
    Failure {
        state: error.state.0,
        message: error.message,
    }
}

fn gone(error: impl StdError + Send + Sync + 'static) -> Error {
    Error::System(Box::new(error))
}

fn unexpected(what: &str) -> Error {
    Error::System(what.into())
}

/// The type's number, as PostgreSQL's catalogue has it.
fn wire_type(parameter: &ParameterType) -> u32 {
    match parameter {
        ParameterType::Int => INT4,
        ParameterType::BigInt => INT8,
        ParameterType::Cents => 1700,
        ParameterType::Text => 25,
        ParameterType::Ints => 1007,
        ParameterType::BigInts => 1016,
    }
}

const INT8: u32 = 20;
const INT4: u32 = 23;

/// Writes an argument in binary form.
fn write_argument(
    argument: &Argument,
    out: &mut BytesMut,
) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
    match argument {
        Argument::Int(Some(number)) => types::int4_to_sql(*number, out),
        Argument::BigInt(number) => types::int8_to_sql(*number, out),
        Argument::Cents(cents) => write_cents(*cents, out),
        Argument::Text(Some(text)) => types::text_to_sql(text, out),
        Argument::Int(None) | Argument::Text(None) => return Ok(IsNull::Yes),
        Argument::Ints(numbers) => write_array(INT4, numbers, types::int4_to_sql, out)?,
        Argument::BigInts(numbers) => write_array(INT8, numbers, types::int8_to_sql, out)?,
    }
    Ok(IsNull::No)
}

/// Writes an array of one dimension that begins with 1.
fn write_array<T: Copy>(
    element: u32,
    elements: &[T],
    write: fn(T, &mut BytesMut),
    out: &mut BytesMut,
) -> Result<(), Box<dyn StdError + Sync + Send>> {
    let dimension = ArrayDimension {
        len: i32::try_from(elements.len())?,
        lower_bound: 1,
    };
    let write = |element: &T, out: &mut BytesMut| {
        write(*element, out);
        Ok(IsNull::No)
    };
    types::array_to_sql([dimension], element, elements, write, out)
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
