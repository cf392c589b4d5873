//! Several statements in one round trip.
//!
//! Relies on: a server answers messages in order, and after an error nothing until Sync.  Promises: one write, one
//! Sync, one reading of all answers; what is known of prepared statements fits what the server did.
//! Does not: begin or end transactions: without a BEGIN among them the statements are one transaction that Sync commits.
//!
//! ```text
//!   [Close …]  ([Parse] Bind [Describe] Execute) …  Sync
//!                │        │     │         └ DataRow … CommandComplete        one step each
//!                │        │     └ RowDescription or NoData                    of the step that answers
//!                └ ParseComplete └ BindComplete                               ErrorResponse ends it all
//! ```

use crate::connection::Connection;
use crate::error::{Error, ServerError};
use crate::frame::Frame;
use crate::statements::{Place, StatementId, Statements};
use bytes::{BufMut, Bytes, BytesMut};
use postgres_protocol::message::frontend;
use quintet_base::limits::ANSWER_BYTES_MAX;
use std::collections::VecDeque;

/// A value as text, in a format that all parameters share.
pub(crate) type Value<'a> = Option<&'a [u8]>;

/// What becomes of a step's rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Nobody wants them.
    Quiet,
    /// They are the answer.
    Answer,
}

/// How a step's text is prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keep {
    /// For the next time, too.
    Prepared,
    /// Only now: the text will hardly come again.
    Once,
}

/// What is bound.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bound<'a> {
    pub types: &'a [u32],
    /// Of the parameters: none for text, one for all, or one each.
    pub formats: &'a [i16],
    /// Of the results, likewise.
    pub results: &'a [i16],
}

/// What a call answered, as the client is to get it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answer {
    /// RowDescription, or NoData, of the result in the formats asked for. It is not among the rows, because a client of the extended
    /// protocol gets it only if it asks.
    pub description: Bytes,
    /// DataRow, NoticeResponse, and CommandComplete or EmptyQueryResponse, as they came.
    pub rows: Bytes,
}

/// What a pipeline did.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Of each step that ended.
    pub tags: Vec<Bytes>,
    /// Of the step that answers, as far as it came.
    pub answer: Answer,
    /// Bytes of an answer that was too long to be kept.
    pub answer_over: Option<usize>,
    /// What ended it early; the step is the number of those that ended before.
    pub error: Option<ServerError>,
}

/// Statements on their way.
pub(crate) struct Pipeline<'a> {
    connection: &'a mut Connection,
    statements: &'a mut Statements,
    steps: Vec<Role>,
    /// Of each Parse, what was to become known by it.
    parses: VecDeque<Option<StatementId>>,
}

impl<'a> Pipeline<'a> {
    pub fn new(
        connection: &'a mut Connection,
        statements: &'a mut Statements,
    ) -> Result<Pipeline<'a>, Error> {
        connection.check_usable("running statements")?;
        for id in statements.take_closing() {
            frontend::close(b'S', &id.name(), connection.output()).expect("a name of our own");
        }
        Ok(Pipeline {
            connection,
            statements,
            steps: Vec::new(),
            parses: VecDeque::new(),
        })
    }

    /// A statement of our own without parameters.
    pub fn plain(&mut self, text: &str, keep: Keep) -> Result<(), Error> {
        self.step(
            text,
            keep,
            Bound::default(),
            std::iter::empty(),
            Role::Quiet,
        )
    }

    /// A statement of our own with parameters as text.
    pub fn bound<'v>(
        &mut self,
        text: &str,
        values: impl ExactSizeIterator<Item = Value<'v>>,
    ) -> Result<(), Error> {
        self.step(text, Keep::Prepared, Bound::default(), values, Role::Quiet)
    }

    /// The same with values that are there as a whole.
    pub fn values(
        &mut self,
        text: &str,
        keep: Keep,
        types: &[u32],
        values: &[Value<'_>],
    ) -> Result<(), Error> {
        let bound = Bound {
            types,
            ..Bound::default()
        };
        self.step(text, keep, bound, values.iter().copied(), Role::Quiet)
    }

    /// The statement whose answer is wanted.
    pub fn answering<'v>(
        &mut self,
        text: &str,
        keep: Keep,
        bound: Bound<'_>,
        values: impl ExactSizeIterator<Item = Value<'v>>,
    ) -> Result<(), Error> {
        self.step(text, keep, bound, values, Role::Answer)
    }

    fn step<'v>(
        &mut self,
        text: &str,
        keep: Keep,
        bound: Bound<'_>,
        values: impl ExactSizeIterator<Item = Value<'v>>,
        role: Role,
    ) -> Result<(), Error> {
        let place = match keep {
            Keep::Prepared => Some(self.statements.find(text, bound.types)),
            Keep::Once => None,
        };
        let (name, parse) = match place {
            Some(Place::There(id)) => (id.name(), None),
            Some(Place::New(id)) => (id.name(), Some(Some(id))),
            None => (String::new(), Some(None)),
        };
        if let Some(id) = parse {
            self.parses.push_back(id);
            let types = bound.types.iter().copied();
            let written = frontend::parse(&name, text, types, self.connection.output());
            written.map_err(|error| self.connection.protocol(error.to_string()))?;
        }
        let output = self.connection.output();
        bind(output, &name, bound, values);
        if role == Role::Answer {
            frontend::describe(b'P', "", output).expect("the unnamed portal");
        }
        frontend::execute("", 0, output).expect("the unnamed portal");
        self.steps.push(role);
        Ok(())
    }

    /// Sends it all and reads it all.
    pub async fn run(mut self) -> Result<Outcome, Error> {
        frontend::sync(self.connection.output());
        self.connection.expect_ready(1);
        let mut outcome = Outcome::default();
        let mut rows = BytesMut::new();
        let ran = self.read(&mut outcome, &mut rows).await;
        outcome.answer.rows = rows.freeze();
        // What was not parsed is not there. After a lost connection nothing is, and nobody asks again.
        for id in self.parses.into_iter().flatten() {
            self.statements.forget(id);
        }
        ran.map(|()| outcome)
    }

    async fn read(&mut self, outcome: &mut Outcome, rows: &mut BytesMut) -> Result<(), Error> {
        loop {
            let frame = self.connection.next_frame().await?;
            let role = self.steps.get(outcome.tags.len()).copied();
            let answers = role == Some(Role::Answer);
            match frame.kind() {
                b'Z' => return Ok(()),
                b'1' => {
                    self.parses.pop_front();
                }
                b'T' | b'n' if answers => outcome.answer.description = frame.raw().clone(),
                b'D' | b'N' if answers => keep(rows, &frame, outcome),
                b'C' | b'I' => {
                    if answers {
                        keep(rows, &frame, outcome);
                    }
                    outcome.tags.push(frame.body());
                }
                b'E' => outcome.error = Some(ServerError::read(frame.body())),
                _ => {}
            }
        }
    }
}

fn keep(rows: &mut BytesMut, frame: &Frame, outcome: &mut Outcome) {
    let bytes = frame.raw().len();
    if let Some(over) = &mut outcome.answer_over {
        *over += bytes;
    } else if rows.len() + bytes > ANSWER_BYTES_MAX {
        outcome.answer_over = Some(rows.len() + bytes);
        *rows = BytesMut::new();
    } else {
        rows.extend_from_slice(frame.raw());
    }
}

/// Writes a Bind of the unnamed portal.
fn bind<'v>(
    output: &mut BytesMut,
    statement: &str,
    bound: Bound<'_>,
    values: impl ExactSizeIterator<Item = Value<'v>>,
) {
    output.put_u8(b'B');
    let start = output.len();
    output.put_i32(0);
    output.put_u8(0);
    output.put_slice(statement.as_bytes());
    output.put_u8(0);
    output.put_u16(bound.formats.len() as u16);
    bound
        .formats
        .iter()
        .for_each(|format| output.put_i16(*format));
    output.put_u16(values.len() as u16);
    for value in values {
        match value {
            None => output.put_i32(-1),
            Some(value) => {
                output.put_i32(value.len() as i32);
                output.put_slice(value);
            }
        }
    }
    output.put_u16(bound.results.len() as u16);
    bound
        .results
        .iter()
        .for_each(|format| output.put_i16(*format));
    let length = (output.len() - start) as i32;
    output[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// True if the tag of a CommandComplete is this.
pub(crate) fn tag_is(tag: &Bytes, expected: &str) -> bool {
    tag.strip_suffix(b"\0") == Some(expected.as_bytes())
}
