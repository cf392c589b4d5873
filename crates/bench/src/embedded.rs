//! Calls to a database in this process.
//!
//! Relies on: `embed` sessions and clients.  Promises: what a call must wait for is awaited, so that
//! the thread's other clients go on meanwhile; calls are prepared, and their arguments typed.  Does not:
//! copy rows that nobody looks at.

use crate::Error;
use crate::system::{Connection, Failure, Reply, System, TextRows, session_settings};
use crate::target::{Compaction, Counters};
use crate::values::value;
use crate::ycsb::counters;
use quintet_base::{Level, SqlError, Value};
use quintet_embed::{Answer, Client, Database, Progress, Step};
use quintet_workloads::{Answers, Call, Piece, Procedure};

/// A database that is open in this process.
pub struct Embedded {
    database: Database,
    level: Level,
    settings: Vec<(String, String)>,
}

impl Embedded {
    /// Every transaction is of this level.
    pub fn new(database: Database, level: Level) -> Embedded {
        Embedded {
            database,
            level,
            settings: Vec::new(),
        }
    }

    /// What each session sets besides.
    #[must_use]
    pub fn with(self, settings: Vec<(String, String)>) -> Embedded {
        Embedded { settings, ..self }
    }
}

impl System for Embedded {
    type Connection = EmbeddedConnection;

    const BLOCKS: bool = true;

    async fn connect(&self) -> Result<EmbeddedConnection, Error> {
        let client = self.database.client();
        let client = client.map_err(|error| failure(error).into_error("opening a session"))?;
        let mut connection = EmbeddedConnection {
            client,
            procedures: &[],
        };
        let sql = session_settings(self.level, &self.settings);
        let set = connection.run(&sql).await?;
        set.map_err(|failure| failure.into_error("setting the session up"))?;
        Ok(connection)
    }

    fn counters(&self) -> Option<Counters> {
        Some(counters(&self.database.stats()))
    }

    fn compaction(&self) -> Compaction {
        let stats = self.database.stats();
        Compaction {
            running: stats.tc.compacting,
            rewriting: stats.store.compacting,
            finished: stats.tc.compactions,
        }
    }
}

/// A connection to an [`Embedded`].
pub struct EmbeddedConnection {
    client: Client,
    procedures: &'static [Procedure],
}

impl EmbeddedConnection {
    async fn answers(&mut self, sql: &str) -> Result<Vec<Answer>, SqlError> {
        let mut progress = self.client.start(sql)?;
        loop {
            match progress {
                Progress::Done(answers) => return Ok(answers),
                Progress::Waiting(pause) => pause.await,
            }
            progress = self.client.resume()?;
        }
    }

    async fn prepared(&mut self, name: &str, call: &Call) -> Result<Vec<Answer>, SqlError> {
        let params = call.arguments.iter().map(value).collect();
        let mut progress = self.client.start_prepared(name, params)?;
        loop {
            match progress {
                Progress::Done(answers) => return Ok(answers),
                Progress::Waiting(pause) => pause.await,
            }
            progress = self.client.resume()?;
        }
    }

    async fn copy_piece(&mut self, piece: &Piece) -> Result<(), SqlError> {
        let session = self.client.session();
        let statements = session.split(&piece.table.copy())?;
        let [statement] = statements.as_slice() else {
            return Err(SqlError::internal("COPY is one statement"));
        };
        session.begin_simple(statement)?;
        let mut unused = Answer::default();
        loop {
            match session.execute("", 0, &mut unused)? {
                Step::CopyIn { .. } => break,
                Step::Wait(pause) => pause.await,
                _ => return Err(SqlError::internal("COPY FROM STDIN asks for data")),
            }
        }
        let mut data = piece.text.as_bytes();
        while let Step::Wait(pause) = session.copy_data(data)? {
            // The data are taken; what is left of them waits.
            data = &[];
            pause.await;
        }
        while let Step::Wait(pause) = session.copy_done()? {
            pause.await;
        }
        while let Step::Wait(pause) = session.sync()? {
            pause.await;
        }
        Ok(())
    }
}

impl Connection for EmbeddedConnection {
    async fn prepare(&mut self, procedures: &'static [Procedure]) -> Result<(), Error> {
        self.procedures = procedures;
        for procedure in procedures {
            self.client
                .prepare(procedure.name, procedure.statement)
                .map_err(|error| failure(error).into_error("preparing a call"))?;
        }
        Ok(())
    }

    async fn call(&mut self, call: &Call) -> Result<Reply, Error> {
        let procedure = &self.procedures[call.procedure];
        match self.prepared(procedure.name, call).await {
            Ok(answers) => {
                let row = answers.first().and_then(|answer| answer.rows.first());
                let first = row.and_then(|row| row.first());
                Ok(match procedure.answers {
                    Answers::Nothing => Reply::Done(0),
                    Answers::Count => Reply::Done(first.and_then(Value::as_i64).unwrap_or(0)),
                    Answers::Text => {
                        let rows = answers.first().map(Answer::text_rows).unwrap_or_default();
                        let text = rows.into_iter().flatten().next().flatten();
                        Reply::Said(text.unwrap_or_default())
                    }
                })
            }
            Err(error) => Ok(Reply::Failed(failure(error))),
        }
    }

    async fn run(&mut self, sql: &str) -> Result<Result<(), Failure>, Error> {
        Ok(self.answers(sql).await.map(drop).map_err(failure))
    }

    async fn query(&mut self, sql: &str) -> Result<Result<TextRows, Failure>, Error> {
        let answers = self.answers(sql).await;
        let rows = |answers: Vec<Answer>| answers.first().map(Answer::text_rows);
        Ok(answers
            .map(|answers| rows(answers).unwrap_or_default())
            .map_err(failure))
    }

    async fn copy(&mut self, piece: &Piece) -> Result<Result<(), Failure>, Error> {
        let result = self.copy_piece(piece).await;
        if result.is_err() {
            self.client.session().fail();
        }
        Ok(result.map_err(failure))
    }
}

fn failure(error: SqlError) -> Failure {
    Failure {
        state: error.state.0,
        message: error.into_told().message,
    }
}
