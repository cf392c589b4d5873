//! Rows of a COPY that fire triggers.
//!
//! Relies on: the INSERT of all rows that COPY was planned with.  Promises: triggers for the statement fire once, those behind
//! rows behind all of them: the rows are kept, within the statement's memory, until the last has come.
//! Does not: fire anything before the end of the data, where PostgreSQL fires BEFORE … STATEMENT.

use super::Session;
use super::copy::CopyInto;
use super::execute::{Pulled, only_calls_commit};
use crate::step::{Flow, Pause};
use quintet_base::objects::ObjectNames;
use quintet_base::text_format::{self, FormatContext};
use quintet_base::value::Array;
use quintet_base::{SqlError, SqlResult, SqlType, Value};
use quintet_direct::{Run, row_bytes};
use quintet_ir::{Procedure, out_of_memory};
use quintet_sql::command::CopyFrom;
use quintet_sql::copy::together;
use std::sync::Arc;

/// What the rows of a COPY are kept for.
pub(super) struct Fired {
    procedure: Arc<Procedure>,
    /// The columns so far; taken by the run.
    columns: Vec<Array>,
    bytes: usize,
    /// As every setting reads it, and nothing is rounded.
    format: FormatContext,
    /// The INSERT, once the last row has come, with its parameters.
    run: Option<(Box<Run>, Vec<Value>)>,
}

impl Fired {
    pub fn new(procedure: &Arc<Procedure>, copy: &CopyFrom, objects: &ObjectNames) -> Fired {
        let types = copy.columns.iter();
        let types = types.map(|column| copy.table.columns[*column].ty);
        let empty = |ty: SqlType| Array {
            shape: None,
            element: together(ty).map_or(SqlType::Text, |_| ty),
            values: Vec::new(),
        };
        Fired {
            procedure: Arc::clone(procedure),
            columns: types.map(empty).collect(),
            bytes: 0,
            format: FormatContext {
                objects: objects.clone(),
                ..FormatContext::default()
            },
            run: None,
        }
    }

    /// Keeps a row.
    ///
    /// # Errors
    /// `53200` beyond the bound.
    pub fn keep(&mut self, row: &mut Vec<Value>, bound: usize) -> SqlResult<()> {
        // Kept once here, and once more as rows to insert.
        self.bytes += 2 * row_bytes(row);
        if self.bytes > bound {
            return Err(out_of_memory(bound));
        }
        for (column, value) in self.columns.iter_mut().zip(row.drain(..)) {
            column.values.push(match (&value, column.element) {
                (Value::Array(_) | Value::Record(_), SqlType::Text) => {
                    let mut text = Vec::new();
                    text_format::write(&value, value.natural_type(), &self.format, &mut text);
                    let text = String::from_utf8(text).map_err(SqlError::internal)?;
                    Value::text(text)
                }
                _ => value,
            });
        }
        Ok(())
    }
}

impl Session {
    /// Inserts what was kept, when all of it is there. `Some`: wait, and call again.
    pub(super) fn fire(&mut self, copy: &mut CopyInto) -> SqlResult<Option<Pause>> {
        let Some(fired) = &mut copy.fired else {
            return Ok(None);
        };
        if fired.run.is_none() {
            let columns = std::mem::take(&mut fired.columns).into_iter();
            let columns = columns.map(|column| Value::Array(Box::new(column)));
            let run = Run::new(&self.host.direct, Arc::clone(&fired.procedure));
            fired.run = Some((Box::new(run), columns.collect()));
        }
        let Some((run, params)) = &mut fired.run else {
            return Ok(None);
        };
        let mut count = None;
        let mut note = |row: &[Value]| {
            if let [Value::Int8(changed)] = row {
                count = Some(changed.unsigned_abs());
            }
            Ok(Flow::Continue)
        };
        let pulled = self.pull(run, params, 0, &mut 0, &mut note)?;
        match pulled {
            Pulled::Wait(pause) => Ok(Some(pause)),
            Pulled::Commit | Pulled::Ask => Err(only_calls_commit()),
            Pulled::End | Pulled::Enough | Pulled::Break => {
                // Steps say it in a row, a statement by itself does not.
                copy.rows = count.unwrap_or(run.affected());
                copy.fired = None;
                self.set_what_was_wanted()?;
                Ok(None)
            }
        }
    }
}
