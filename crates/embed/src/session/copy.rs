//! COPY: rows in bulk, in and out.
//!
//! Relies on: `copy_in` for the input format, `direct::RowInserter`.  Promises: one COPY is one
//! statement: all of its rows or none.  Does not: skip a constraint or an index.

use super::ahead::Renewed;
use super::copy_fired::Fired;
use super::planning::Prepared;
use super::{Mode, Session};
use crate::copy_in::{CopyReader, Fields};
use crate::step::{Pause, Reason, RowSink, Step};
use quintet_base::text_format::{self, FormatContext};
use quintet_base::{SpaceId, SqlError, SqlResult, SqlState, Value, binary_format, stack};
use quintet_direct::{AHEAD_SPACE, Context, RowInserter, Stop, translate};
use quintet_ir::Host;
use quintet_sql::command::{Command, CopyFrom, CopyHeader, CopyKind, CopyTo};
use quintet_tc::{Mark, Txn};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Whether others still write to the table that is to be given new spaces is asked after so many rows: it takes a look at all locks.
const RENEWED_AFTER: u64 = 10_000;

/// A COPY FROM STDIN in progress.
pub(super) struct CopyInto {
    plan: CopyFrom,
    reader: CopyReader,
    mark: Mark,
    /// The table's spaces, if they are new: nobody else can look there, so what is much is committed ahead. None as soon as that
    /// cannot be.
    fresh: Vec<SpaceId>,
    /// All that is in them was written since.
    since: Mark,
    /// How it is planned, if an empty table may yet be given new ones.
    renewable: Option<Arc<Prepared>>,
    /// Not before there are so many rows, unless it must be.
    renews_at: u64,
    inserter: RowInserter,
    /// What the rows are kept for, if they fire triggers.
    pub(super) fired: Option<Fired>,
    /// The fields of a row, as values.
    values: Vec<Value>,
    /// It has met a lock, and is to be inserted when the wait is over.
    is_waiting: bool,
    pub(super) rows: u64,
}

impl Session {
    pub(super) fn begin_copy_in(
        &mut self,
        copy: &CopyFrom,
        prepared: &Arc<Prepared>,
        commits: bool,
    ) -> SqlResult<Step> {
        let txn = self
            .txn
            .as_mut()
            .ok_or_else(|| SqlError::internal("COPY runs in a transaction"))?;
        let mark = txn.begin_statement();
        let names = copy.columns.iter();
        let names = names.map(|&column| copy.table.columns[column].name.clone());
        let reader = CopyReader::new(copy.format.clone(), names.collect());
        let inserter = RowInserter::new(Arc::clone(&copy.insert))?;
        let fired = copy.fired.as_ref();
        let fired =
            fired.map(|procedure| Fired::new(procedure, copy, &self.host.settings.format.objects));
        let fresh = match fired {
            None => self.fresh_spaces(inserter.insert()?),
            Some(_) => Vec::new(),
        };
        if let Some(txn) = self.txn.as_mut() {
            txn.begin_to_fill(&fresh);
        }
        self.copy_commits = commits;
        self.copied = 0;
        self.copy = Some(CopyInto {
            plan: copy.clone(),
            reader,
            mark,
            fresh,
            since: mark,
            renewable: fired.is_none().then(|| Arc::clone(prepared)),
            renews_at: 0,
            inserter,
            fired,
            values: Vec::new(),
            is_waiting: false,
            rows: 0,
        });
        Ok(Step::CopyIn {
            columns: copy.columns.len(),
            format: copy.format.clone(),
        })
    }

    /// Feeds a piece of data. `Done(None)`: taken. `Wait`: taken too; wait, then call with no data
    /// before feeding more.
    ///
    /// # Errors
    /// `22P04` and whatever the fields and constraints say; tell [`Session::fail`] afterwards.
    pub fn copy_data(&mut self, data: &[u8]) -> SqlResult<Step> {
        stack::for_running(|| self.copy_step(data, false))
            .map(|pause| pause.map_or(Step::Done(None), Step::Wait))
    }

    /// Ends the data: `Done` with the tag, or `Wait` and call again.
    ///
    /// # Errors
    /// As [`Session::copy_data`], and why the commit was refused.
    pub fn copy_done(&mut self) -> SqlResult<Step> {
        stack::for_running(|| self.end_copy())
    }

    fn end_copy(&mut self) -> SqlResult<Step> {
        if self.copy.is_some()
            && let Some(pause) = self.copy_step(&[], true)?
        {
            return Ok(Step::Wait(pause));
        }
        if let Some(copy) = self.copy.take() {
            self.copied = copy.rows;
        }
        let commits = self.mode == Mode::Implicit && self.copy_commits;
        if (commits || self.pending.is_some())
            && let Some(pause) = self.commit()?
        {
            return Ok(Step::Wait(pause));
        }
        Ok(Step::Done(Some(format!("COPY {}", self.copied))))
    }

    /// The client gave up; returns the error to report. Tell [`Session::fail`] afterwards.
    pub fn copy_fail(&mut self, message: &str) -> SqlError {
        self.copy = None;
        SqlError::new(
            SqlState::QUERY_CANCELED,
            format!("COPY from stdin failed: {message}"),
        )
    }

    fn copy_step(&mut self, data: &[u8], end: bool) -> SqlResult<Option<Pause>> {
        let Some(mut copy) = self.copy.take() else {
            return Err(SqlError::new(
                SqlState::PROTOCOL_VIOLATION,
                "no COPY is in progress",
            ));
        };
        let result = self.copy_rows(&mut copy, data, end);
        if result.is_ok() {
            self.copy = Some(copy);
        } else if let Some(txn) = self.txn.as_mut() {
            txn.rollback_to(copy.mark);
        }
        result
    }

    fn copy_rows(
        &mut self,
        copy: &mut CopyInto,
        data: &[u8],
        end: bool,
    ) -> SqlResult<Option<Pause>> {
        copy.reader.feed(data)?;
        let mut fields = Fields::default();
        loop {
            // Also before it is found that there is no row left: a wait may have been interrupted that came after the last one.
            if self.cancel.load(Ordering::Acquire) && self.cancel.swap(false, Ordering::AcqRel) {
                return Err(super::execute::canceled());
            }
            if !std::mem::take(&mut copy.is_waiting) {
                if !copy.reader.next_row(end, &mut fields)? {
                    if end {
                        if let Some(pause) = self.fire(copy)? {
                            return Ok(Some(pause));
                        }
                        self.catch_up()?;
                    }
                    return Ok(None);
                }
                let read = read_fields(&copy.plan, &fields, self.format(), &mut copy.values);
                read.map_err(|error| in_line(error, copy))?;
                if !self.is_taken(copy)? {
                    continue;
                }
            }
            let bound = self.host.statement_memory();
            if let Some(fired) = &mut copy.fired {
                fired.keep(&mut copy.values, bound)?;
                continue;
            }
            if let Some(pause) = self.copy_row(copy)? {
                return Ok(Some(pause));
            }
        }
    }

    /// Whether WHERE is true of a row.
    fn is_taken(&mut self, copy: &mut CopyInto) -> SqlResult<bool> {
        let Some(filter) = &copy.plan.filter else {
            return Ok(true);
        };
        let txn = self
            .txn
            .as_mut()
            .ok_or_else(|| SqlError::internal("COPY runs in a transaction"))?;
        let mut context = Context {
            txn,
            host: &self.host,
            params: &[],
            cancel: &self.cancel,
        };
        match copy.inserter.holds(filter, &mut context, &copy.values) {
            Ok(holds) => Ok(holds),
            Err(Stop::Error(error)) => Err(in_line(error, copy)),
            Err(Stop::Blocked(_)) => Err(SqlError::unsupported("waiting in COPY … WHERE")),
            Err(Stop::Commit | Stop::Ask) => Err(super::execute::only_calls_commit()),
        }
    }

    fn copy_row(&mut self, copy: &mut CopyInto) -> SqlResult<Option<Pause>> {
        let txn = self
            .txn
            .as_mut()
            .ok_or_else(|| SqlError::internal("COPY runs in a transaction"))?;
        let mut context = Context {
            txn,
            host: &self.host,
            params: &[],
            cancel: &self.cancel,
        };
        // What is read in new spaces, nobody else changes.
        if !copy.fresh.is_empty() {
            context.txn.forget();
        }
        let (inserter, values) = (&mut copy.inserter, &mut copy.values);
        let inserted = inserter.insert_row(&self.db.direct, &mut context, values);
        if !copy.fresh.is_empty() {
            context.txn.remember();
        }
        match inserted {
            Ok(()) => {
                copy.rows += 1;
                self.relieve(copy)
            }
            Err(Stop::Blocked(wait)) => {
                copy.is_waiting = true;
                Ok(Some(Pause(Reason::Row(wait))))
            }
            Err(Stop::Error(error)) => Err(in_line(error, copy)),
            Err(Stop::Commit | Stop::Ask) => Err(super::execute::only_calls_commit()),
        }
    }

    /// Commits what was copied so far, if that is much and can be.
    fn relieve(&mut self, copy: &mut CopyInto) -> SqlResult<Option<Pause>> {
        let Some(txn) = self.txn.as_ref().filter(|txn| txn.is_heavy()) else {
            return Ok(None);
        };
        // New spaces have others wait who want to write to the table, and wait for those who have.
        if copy.fresh.is_empty()
            && txn.is_very_heavy()
            && let Some(pause) = self.renew(copy)?
        {
            return Ok(Some(pause));
        }
        let Some(txn) = self.txn.as_mut().filter(|_| !copy.fresh.is_empty()) else {
            return Ok(None);
        };
        let gone = txn.commit_ahead(&copy.fresh, copy.since, AHEAD_SPACE);
        let names = self.host.schema.catalog_names();
        let gone = gone.map_err(|error| translate(error, self.level, &names))?;
        if !gone {
            copy.fresh.clear();
        }
        Ok(None)
    }

    /// What was copied can be read from here on.
    fn catch_up(&mut self) -> SqlResult<()> {
        let names = self.host.schema.catalog_names();
        let caught_up = self.txn.as_mut().map(Txn::catch_up).transpose();
        let caught_up = caught_up.map_err(|error| translate(error, self.level, &names));
        caught_up.map(|_| ())
    }

    /// Gives an empty table that others see new spaces, if it has not been found that this cannot be. What may still fit is not
    /// worth a wait for others' blocks.
    fn renew(&mut self, copy: &mut CopyInto) -> SqlResult<Option<Pause>> {
        let Some(prepared) = copy.renewable.clone() else {
            return Ok(None);
        };
        let is_full = self.txn.as_ref().is_some_and(Txn::is_nearly_full);
        if copy.rows < copy.renews_at && !is_full {
            return Ok(None);
        }
        let space = copy.inserter.insert()?.table.space;
        let are_others = |txn: &Txn| txn.are_others_writing(&[space]);
        if !is_full && self.txn.as_ref().is_some_and(are_others) {
            copy.renews_at = copy.rows + RENEWED_AFTER;
            return Ok(None);
        }
        let renewed = self.renew_table(copy.inserter.insert()?, copy.mark)?;
        if let Renewed::Wait(pause) = renewed {
            return Ok(Some(pause));
        }
        copy.renewable = None;
        match renewed {
            Renewed::No | Renewed::Wait(_) => {}
            Renewed::Yes { fresh, since } => {
                let again = self.current(prepared, None)?;
                let Command::CopyFrom(plan) = &again.planned.command else {
                    return Err(SqlError::internal("COPY is planned as something else"));
                };
                copy.plan = plan.clone();
                copy.inserter = RowInserter::new(Arc::clone(&plan.insert))?;
                (copy.fresh, copy.since) = (fresh, since);
            }
        }
        Ok(None)
    }

    pub(super) fn begin_copy_out(&mut self, copy: &CopyTo, sink: &mut dyn RowSink) {
        sink.copy_begin(copy.columns.len(), &copy.format);
        match copy.format.kind {
            CopyKind::Binary => {
                let mut header = b"PGCOPY\n\xff\r\n\0".to_vec();
                header.extend_from_slice(&[0; 8]);
                sink.copy_data(&header);
            }
            CopyKind::Text | CopyKind::Csv if copy.format.header != CopyHeader::None => {
                let names: Vec<Value> = copy
                    .columns
                    .iter()
                    .map(|column| Value::text(&column.name))
                    .collect();
                // FORCE_QUOTE is about values.
                let plain = CopyTo {
                    quoted: Vec::new(),
                    ..copy.clone()
                };
                let mut line = Vec::new();
                write_row(&names, &plain, &FormatContext::default(), &mut line);
                sink.copy_data(&line);
            }
            CopyKind::Text | CopyKind::Csv => {}
        }
    }
}

fn in_line(error: SqlError, copy: &CopyInto) -> SqlError {
    match &error.detail {
        Some(_) => error,
        None => error.detail(format!(
            "COPY {}, line {}.",
            copy.plan.table.name, copy.reader.line
        )),
    }
}

/// Fields to values of the columns' types.
fn read_fields(
    plan: &CopyFrom,
    fields: &Fields,
    format: &FormatContext,
    row: &mut Vec<Value>,
) -> SqlResult<()> {
    let bad = |what: String| Err(SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, what));
    // A row without fields is an empty line.
    let is_empty = || match fields.get(0) {
        Some(Some(field)) => field.is_empty(),
        Some(None) => plan.format.null.is_empty(),
        None => true,
    };
    if plan.columns.is_empty() && fields.len() <= 1 && is_empty() {
        row.clear();
        return Ok(());
    }
    if fields.len() > plan.columns.len() {
        return bad("extra data after last expected column".into());
    }
    row.clear();
    for (i, column) in plan.columns.iter().enumerate() {
        let column = &plan.table.columns[*column];
        let Some(field) = fields.get(i) else {
            return bad(format!("missing data for column \"{}\"", column.name));
        };
        let null = plan.format.null.as_bytes();
        let field = match field {
            None if plan.never_null.contains(&i) => Some(null),
            // Most have no such columns.
            Some(bytes) if plan.also_null.contains(&i) && bytes == null => None,
            field => field,
        };
        row.push(match field {
            None => Value::Null,
            Some(bytes) if plan.format.kind == CopyKind::Binary => {
                binary_format::read_told(column.ty, bytes, format)?
            }
            Some(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(|_| {
                    SqlError::new(
                        SqlState::CHARACTER_NOT_IN_REPERTOIRE,
                        "invalid byte sequence for encoding \"UTF8\"",
                    )
                })?;
                text_format::read(column.ty, text, format)?
            }
        });
    }
    Ok(())
}

/// One row of COPY TO, as text, CSV or binary.
pub(super) fn write_row(row: &[Value], copy: &CopyTo, format: &FormatContext, out: &mut Vec<u8>) {
    let options = &copy.format;
    if options.kind == CopyKind::Binary {
        out.extend_from_slice(&(row.len() as i16).to_be_bytes());
        for (value, column) in row.iter().zip(&copy.columns) {
            if value.is_null() {
                out.extend_from_slice(&(-1i32).to_be_bytes());
                continue;
            }
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            binary_format::write_typed(value, column.ty, format, out);
            let length = (out.len() - at - 4) as i32;
            out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
        return;
    }
    let mut text = Vec::new();
    for (i, value) in row.iter().enumerate() {
        if i > 0 {
            out.push(options.delimiter);
        }
        if value.is_null() {
            out.extend_from_slice(options.null.as_bytes());
            continue;
        }
        text.clear();
        let ty = copy
            .columns
            .get(i)
            .map_or(value.natural_type(), |column| column.ty);
        let ty = if matches!(value, Value::Text(_)) {
            quintet_base::SqlType::Text
        } else {
            ty
        };
        text_format::write(value, ty, format, &mut text);
        match options.kind {
            CopyKind::Csv => write_csv(&text, options, copy.quoted.contains(&i), out),
            CopyKind::Text | CopyKind::Binary => write_escaped(&text, options.delimiter, out),
        }
    }
    out.push(b'\n');
}

fn write_escaped(text: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            11 => out.extend_from_slice(b"\\v"),
            12 => out.extend_from_slice(b"\\f"),
            byte if byte == delimiter => out.extend_from_slice(&[b'\\', byte]),
            byte => out.push(byte),
        }
    }
}

fn write_csv(
    text: &[u8],
    options: &quintet_sql::command::CopyFormat,
    quoted: bool,
    out: &mut Vec<u8>,
) {
    let special = |byte: &u8| {
        *byte == options.delimiter || *byte == options.quote || *byte == b'\n' || *byte == b'\r'
    };
    // What would read back as NULL or as the end mark is quoted, too.
    if !quoted && text != options.null.as_bytes() && text != b"\\." && !text.iter().any(special) {
        out.extend_from_slice(text);
        return;
    }
    out.push(options.quote);
    for &byte in text {
        if byte == options.quote || byte == options.escape {
            out.push(options.escape);
        }
        out.push(byte);
    }
    out.push(options.quote);
}

/// What follows the last row of COPY TO.
pub(super) fn write_end(copy: &CopyTo, sink: &mut dyn RowSink) {
    if copy.format.kind == CopyKind::Binary {
        sink.copy_data(&(-1i16).to_be_bytes());
    }
}
