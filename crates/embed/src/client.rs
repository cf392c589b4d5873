//! SQL for a program in the same process: send text, get rows.
//!
//! Relies on: `session`.  Promises: whole answers; waits block the calling thread unless it asks not
//! to.  Does not: stream: an answer is in memory before it is returned.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! use quintet_embed::{Database, DatabaseConfig};
//!
//! let (db, _report) = Database::open(DatabaseConfig::new(dir.path()))?;
//! let mut client = db.client()?;
//! client.query("CREATE TABLE t (id int PRIMARY KEY, name text)")?;
//! client.query("INSERT INTO t VALUES (1, 'one'), (2, 'two')")?;
//! let answers = client.query("SELECT name FROM t WHERE id = 2")?;
//! assert_eq!(answers[0].text_rows(), [[Some("two".to_string())]]);
//! # Ok(()) }
//! ```

use crate::database::Database;
use crate::session::{Session, SessionOptions, SimpleStatement};
use crate::step::{Flow, Pause, RowSink, Step};
use quintet_base::text_format::{self, FormatContext};
use quintet_base::{SqlError, SqlResult, SqlState, Value};
use quintet_ir::statement::OutputColumn;
use quintet_sql::command::CopyFormat;
use std::collections::VecDeque;

/// What one statement answered.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Columns of the result; empty if it returns no rows.
    pub columns: Vec<OutputColumn>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
    /// COPY TO STDOUT's data.
    pub copied: Vec<u8>,
    /// The command tag; empty for an empty statement.
    pub tag: String,
    /// How its values are written; the usual way if nobody has said so.
    format: Option<FormatContext>,
}

impl Answer {
    /// The rows as text, `None` for NULL.
    pub fn text_rows(&self) -> Vec<Vec<Option<String>>> {
        let usual = FormatContext::default();
        let format = self.format.as_ref().unwrap_or(&usual);
        let text = |(i, value): (usize, &Value)| {
            let ty = self
                .columns
                .get(i)
                .map_or(value.natural_type(), |column| column.ty);
            (!value.is_null()).then(|| text_format::to_string(value, ty, format))
        };
        self.rows
            .iter()
            .map(|row| row.iter().enumerate().map(text).collect())
            .collect()
    }
}

impl RowSink for Answer {
    fn columns(&mut self, columns: &[OutputColumn]) {
        self.columns = columns.to_vec();
    }

    fn row(&mut self, values: &[Value]) -> Result<Flow, SqlError> {
        self.rows.push(values.to_vec());
        Ok(Flow::Continue)
    }

    fn spare_row(&mut self, values: &mut Vec<Value>) -> Result<Flow, SqlError> {
        self.rows.push(std::mem::take(values));
        Ok(Flow::Continue)
    }

    fn copy_begin(&mut self, _: usize, _: &CopyFormat) {}

    fn copy_data(&mut self, data: &[u8]) -> Flow {
        self.copied.extend_from_slice(data);
        Flow::Continue
    }
}

/// A query string on its way.
struct Running {
    /// Those to come; the one that has begun is the first, unless it was prepared.
    statements: VecDeque<SimpleStatement>,
    begun: bool,
    answer: Answer,
    answers: Vec<Answer>,
}

/// A connection without a network.
pub struct Client {
    session: Session,
    running: Option<Running>,
}

/// How far a query has come.
pub enum Progress {
    /// One answer per statement.
    Done(Vec<Answer>),
    /// Wait, then call [`Client::resume`].
    Waiting(Pause),
}

impl Database {
    /// A connection without a network, for this program itself.
    ///
    /// # Errors
    /// As [`Database::session`].
    pub fn client(&self) -> SqlResult<Client> {
        let options = SessionOptions {
            configured: false,
            user: "quintet".into(),
            database: self.name(),
            ..SessionOptions::default()
        };
        Ok(Client {
            session: self.session(options)?,
            running: None,
        })
    }
}

impl Client {
    /// Runs one or more statements and waits for them. An error undoes what the level of BEGIN says.
    ///
    /// # Errors
    /// The first error; later statements are not run.
    pub fn query(&mut self, sql: &str) -> SqlResult<Vec<Answer>> {
        let mut progress = self.start(sql)?;
        loop {
            match progress {
                Progress::Done(answers) => return Ok(answers),
                Progress::Waiting(pause) => pause.wait(),
            }
            progress = self.resume()?;
        }
    }

    /// Plans a statement and keeps it under a name, for [`Client::execute`].
    ///
    /// # Errors
    /// As [`Session::parse`].
    pub fn prepare(&mut self, name: &str, sql: &str) -> SqlResult<()> {
        self.session.begin_message();
        self.session.parse(name, sql, &[])
    }

    /// Runs a prepared statement with values of its parameters' types, and waits for it. Outside BEGIN it
    /// is a transaction of its own; a call of a routine that loses a conflict is then run again.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub fn execute(&mut self, name: &str, params: Vec<Value>) -> SqlResult<Answer> {
        let mut progress = self.start_prepared(name, params)?;
        loop {
            match progress {
                Progress::Done(mut answers) => return Ok(answers.pop().unwrap_or_default()),
                Progress::Waiting(pause) => pause.wait(),
            }
            progress = self.resume()?;
        }
    }

    /// Begins to run a prepared statement; see [`Client::execute`].
    ///
    /// # Errors
    /// As [`Client::query`].
    pub fn start_prepared(&mut self, name: &str, params: Vec<Value>) -> SqlResult<Progress> {
        self.session
            .bind("", name, params)
            .inspect_err(|_| self.session.fail())?;
        self.session.ends_with("");
        let answer = Answer {
            format: Some(self.session.format().clone()),
            ..Answer::default()
        };
        self.running = Some(Running {
            statements: VecDeque::new(),
            begun: true,
            answer,
            answers: Vec::new(),
        });
        self.resume()
    }

    /// Begins to run statements.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub fn start(&mut self, sql: &str) -> SqlResult<Progress> {
        self.session.begin_message();
        let statements = self
            .session
            .split(sql)
            .inspect_err(|_| self.session.fail())?;
        self.running = Some(Running {
            statements: statements.into(),
            begun: false,
            answer: Answer::default(),
            answers: Vec::new(),
        });
        self.resume()
    }

    /// Goes on after a wait.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub fn resume(&mut self) -> SqlResult<Progress> {
        let Some(mut running) = self.running.take() else {
            return Ok(Progress::Done(Vec::new()));
        };
        match self.advance(&mut running) {
            Ok(None) => Ok(Progress::Done(running.answers)),
            Ok(Some(pause)) => {
                self.running = Some(running);
                Ok(Progress::Waiting(pause))
            }
            Err(error) => {
                self.session.fail();
                Err(error)
            }
        }
    }

    fn advance(&mut self, running: &mut Running) -> SqlResult<Option<Pause>> {
        loop {
            if !running.begun {
                let Some(statement) = running.statements.front() else {
                    break;
                };
                self.session.begin_simple(statement)?;
                running.begun = true;
                running.answer = Answer {
                    format: Some(self.session.format().clone()),
                    ..Answer::default()
                };
            }
            match self.session.execute("", 0, &mut running.answer)? {
                Step::Done(tag) => {
                    running.answer.tag = tag.unwrap_or_default();
                    running.answers.push(std::mem::take(&mut running.answer));
                    running.statements.pop_front();
                    running.begun = false;
                }
                Step::Wait(pause) => return Ok(Some(pause)),
                Step::Yielded | Step::Suspended => {}
                Step::CopyIn { .. } => return Err(no_copy_in()),
            }
        }
        match self.session.sync()? {
            Step::Wait(pause) => Ok(Some(pause)),
            _ => Ok(None),
        }
    }

    /// The session, for its status, notices and cancel handle.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }
}

fn no_copy_in() -> SqlError {
    SqlError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        "COPY FROM STDIN needs a connection over the network",
    )
}
