//! `quintet sql`: SQL against a directory, without a server.
//!
//! Relies on: `embed` sessions; `input` for statements, `table` for output.
//! Promises: a script stops at its first error, with the line it is on; a human is told and goes on.
//! What had committed stays. Does not: edit lines, page output, or share the directory with a server: psql is the shell for
//! that.
//!
//! ```text
//!   statement ─► begin_simple ─► execute ─► Done ─► sync      pauses are waited for on this thread
//!                                   └─ CopyIn ─► lines up to "\." ─► copy_done
//! ```

use crate::input::{Input, Statement};
use crate::table::Table;
use quintet_base::{SqlError, Value};
use quintet_embed::{Database, Flow, RowSink, Session, SessionOptions, Step};
use quintet_ir::statement::OutputColumn;
use quintet_rt::Clock;
use quintet_sql::command::CopyFormat;
use std::io::{self, Write};
use std::sync::Arc;

/// What `\?` says.
const HELP: &str = "  \\q        quit\n  \\d        list tables\n  \\timing   show how long statements take, or stop it\n  \\?        this help\nSQL statements end with a semicolon and may span lines.";

/// Why the shell stops.
#[derive(Debug)]
pub enum Stop {
    /// A statement failed; it has been reported.
    Failed,
    /// Input or output failed.
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Io(error)
    }
}

/// A session with its output.
pub struct Shell<'a> {
    database: Database,
    session: Session,
    out: &'a mut dyn Write,
    errors: &'a mut dyn Write,
    clock: Arc<dyn Clock>,
    /// Show how long statements take.
    pub timing: bool,
}

impl<'a> Shell<'a> {
    /// Opens a session.
    ///
    /// # Errors
    /// What the session says.
    pub fn open(
        database: Database,
        clock: Arc<dyn Clock>,
        out: &'a mut dyn Write,
        errors: &'a mut dyn Write,
    ) -> Result<Shell<'a>, SqlError> {
        let options = SessionOptions {
            configured: false,
            user: "quintet".into(),
            database: database.name(),
            process_id: 1,
            client: None,
            settings: vec![("application_name".into(), "quintet sql".into())],
        };
        let session = database.session(options)?;
        Ok(Shell {
            database,
            session,
            out,
            errors,
            clock,
            timing: false,
        })
    }

    /// Runs one query string; its statements share a transaction unless they say otherwise. Data
    /// of COPY comes from `data`.
    ///
    /// # Errors
    /// See [`Stop`].
    pub fn text(&mut self, sql: &str, data: &mut Input) -> Result<(), Stop> {
        self.statement(
            &Statement {
                text: sql.into(),
                line: 1,
            },
            data,
            "-c",
        )
    }

    /// Runs a script to its end or first error. `progress` is called after each statement
    /// with the bytes run so far.
    ///
    /// # Errors
    /// See [`Stop`].
    pub fn script(
        &mut self,
        input: &mut Input,
        name: &str,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Stop> {
        while let Some(statement) = input.next(&mut |_| {})? {
            self.statement(&statement, input, name)?;
            progress(input.bytes());
        }
        Ok(())
    }

    /// Talks with a human until the end of input or `\q`.
    ///
    /// # Errors
    /// Input or output failed; failing statements are reported and leave the shell open.
    pub fn interact(&mut self, input: &mut Input) -> Result<(), Stop> {
        loop {
            let out = &mut *self.out;
            let mut prompt = |open: bool| {
                // A terminal that is gone shows in the next read.
                let _ = write!(out, "{}", if open { "quintet-> " } else { "quintet=> " });
                let _ = out.flush();
            };
            let Some(statement) = input.next(&mut prompt)? else {
                writeln!(self.out)?;
                return Ok(());
            };
            if let Some(command) = statement.text.strip_prefix('\\') {
                if self.command(command.trim_end_matches(';').trim())? {
                    return Ok(());
                }
                continue;
            }
            match self.statement(&statement, input, "input") {
                Ok(()) | Err(Stop::Failed) => {}
                Err(stop) => return Err(stop),
            }
        }
    }

    /// True to quit.
    fn command(&mut self, command: &str) -> io::Result<bool> {
        match command {
            "q" => return Ok(true),
            "?" => writeln!(self.out, "{HELP}")?,
            "d" | "dt" => {
                for table in self.database.tables() {
                    writeln!(self.out, "{table}")?;
                }
            }
            "timing" => {
                self.timing = !self.timing;
                writeln!(
                    self.out,
                    "Timing is {}.",
                    if self.timing { "on" } else { "off" }
                )?;
            }
            other => writeln!(
                self.errors,
                "unknown command \\{other}; \\? lists what there is"
            )?,
        }
        Ok(false)
    }

    fn statement(
        &mut self,
        statement: &Statement,
        data: &mut Input,
        name: &str,
    ) -> Result<(), Stop> {
        let began = self.clock.monotonic_nanos();
        let result = self.run(&statement.text, data);
        let result = match result {
            Ok(()) => self.sync().map_err(Failure::from),
            Err(failure) => Err(failure),
        };
        self.notices()?;
        match result {
            Ok(()) => {}
            Err(Failure::Io(error)) => return Err(error.into()),
            Err(Failure::Sql(error)) => {
                self.session.fail();
                // Ends what the failed statement began on its own; there is nothing left to refuse.
                let _ = self.sync();
                self.report(&error, statement, name)?;
                return Err(Stop::Failed);
            }
        }
        if self.timing {
            let elapsed = self.clock.monotonic_nanos() - began;
            writeln!(self.out, "Time: {:.3} ms", elapsed as f64 / 1e6)?;
        }
        Ok(())
    }

    fn run(&mut self, sql: &str, data: &mut Input) -> Result<(), Failure> {
        for statement in self.session.split(sql)? {
            self.session.begin_simple(&statement)?;
            let mut sink = Sink {
                out: self.out,
                table: None,
                format: self.session.format().clone(),
                failed: None,
            };
            let tag = loop {
                match self.session.execute("", 0, &mut sink)? {
                    Step::Done(tag) => break tag,
                    Step::Wait(pause) => pause.wait(),
                    // Nobody reads the output any more; `finish` says why.
                    Step::Yielded | Step::Suspended if sink.is_broken() => break None,
                    Step::Yielded | Step::Suspended => {}
                    Step::CopyIn { .. } => break Some(copy_in(&mut self.session, data)?),
                }
            };
            let had_rows = sink.finish()?;
            if let Some(tag) = tag.filter(|_| !had_rows) {
                writeln!(self.out, "{tag}")?;
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), SqlError> {
        while let Step::Wait(pause) = self.session.sync()? {
            pause.wait();
        }
        Ok(())
    }

    fn notices(&mut self) -> io::Result<()> {
        for notice in self.session.take_notices() {
            writeln!(self.errors, "{}:  {}", notice.severity, notice.message)?;
        }
        Ok(())
    }

    fn report(&mut self, error: &SqlError, statement: &Statement, name: &str) -> io::Result<()> {
        let inside = error.position.map_or(0, |position| {
            let before = statement
                .text
                .chars()
                .take(position.saturating_sub(1) as usize);
            before.filter(|c| *c == '\n').count()
        });
        let line = statement.line + inside;
        writeln!(
            self.errors,
            "{name}:{line}: ERROR {}: {}",
            error.state, error.message
        )?;
        if let Some(detail) = &error.detail {
            writeln!(self.errors, "  DETAIL:  {detail}")?;
        }
        if let Some(hint) = &error.hint {
            writeln!(self.errors, "  HINT:  {hint}")?;
        }
        Ok(())
    }
}

/// What ends a statement early.
enum Failure {
    Sql(SqlError),
    Io(io::Error),
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Failure {
        Failure::Sql(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(error)
    }
}

/// Feeds lines up to `\.` or the end.
fn copy_in(session: &mut Session, data: &mut Input) -> Result<String, Failure> {
    data.end_line()?;
    while let Some(line) = data.line()?.filter(|line| line != "\\.") {
        let mut step = session.copy_data(format!("{line}\n").as_bytes())?;
        while let Step::Wait(pause) = step {
            pause.wait();
            step = session.copy_data(b"")?;
        }
    }
    loop {
        match session.copy_done()? {
            Step::Wait(pause) => pause.wait(),
            Step::Done(tag) => return Ok(tag.unwrap_or_default()),
            Step::Suspended | Step::Yielded | Step::CopyIn { .. } => {
                return Err(SqlError::internal("COPY ended in the middle").into());
            }
        }
    }
}

/// Prints rows as they come.
struct Sink<'a> {
    out: &'a mut dyn Write,
    table: Option<Table>,
    format: quintet_base::text_format::FormatContext,
    failed: Option<io::Error>,
}

impl Sink<'_> {
    fn is_broken(&self) -> bool {
        self.failed.is_some() || self.table.as_ref().is_some_and(Table::is_broken)
    }

    /// Ends the table; false if there was none.
    fn finish(self) -> io::Result<bool> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        match self.table {
            Some(table) => table.finish(self.out).map(|()| true),
            None => Ok(false),
        }
    }
}

impl RowSink for Sink<'_> {
    fn columns(&mut self, columns: &[OutputColumn]) {
        let columns = columns
            .iter()
            .map(|column| (column.name.clone(), column.ty));
        self.table = Some(Table::new(columns, self.format.clone()));
    }

    fn row(&mut self, values: &[Value]) -> Result<Flow, SqlError> {
        let table = self
            .table
            .as_mut()
            .ok_or_else(|| SqlError::internal("rows without columns"))?;
        Ok(table.row(self.out, values))
    }

    fn copy_begin(&mut self, _columns: usize, _format: &CopyFormat) {}

    fn copy_data(&mut self, data: &[u8]) -> Flow {
        match self.out.write_all(data) {
            Ok(()) => Flow::Continue,
            Err(error) => {
                self.failed.get_or_insert(error);
                Flow::Break
            }
        }
    }
}
