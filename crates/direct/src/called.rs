//! Rows of functions in FROM, and rows that are held while functions run.
//!
//! Relies on: `nested`.  Promises: a function is called once for each outer frame that its arguments look
//! at, once for all if they look at none; held frames are all read before the first is passed on.  Does
//! not: write anything to disk: both count as the statement's memory.

use crate::context::{Env, Halt, row_bytes};
use crate::cursor::Cursor;
use quintet_base::{SqlResult, Value};
use quintet_ir::routine::Callee;
use quintet_ir::{Expr, Plan};

/// Where the rows of a function have come to.
#[derive(Default)]
pub(crate) struct CallCursor {
    rows: Option<Vec<Vec<Value>>>,
    at: usize,
    bytes: usize,
}

impl CallCursor {
    /// `frame` is the outer frame.
    pub fn next(
        &mut self,
        (callee, arguments): (&Callee, &[Expr]),
        width: usize,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
    ) -> Result<bool, Halt> {
        if self.rows.is_none() {
            let values: SqlResult<Vec<Value>> = arguments
                .iter()
                .map(|argument| env.eval(argument, frame))
                .collect();
            let mut rows = env.call_routine(callee, values?)?;
            for row in &mut rows {
                // Strict, and called with a NULL: a row of NULLs.
                row.resize(width, Value::Null);
            }
            self.bytes = rows.iter().map(|row| row_bytes(row)).sum();
            env.charge(self.bytes)?;
            self.rows = Some(rows);
        }
        let row = self.rows.as_ref().and_then(|rows| rows.get(self.at));
        let Some(row) = row else {
            return Ok(false);
        };
        self.at += 1;
        frame.extend_from_slice(row);
        Ok(true)
    }

    pub fn rewind(&mut self, arguments: &[Expr], env: &mut Env<'_>) {
        self.at = 0;
        // A query may read frames of WITH that come anew.
        if arguments.iter().any(|argument| {
            argument.uses_columns() || argument.uses_outer() || argument.has_subquery()
        }) {
            env.release(std::mem::take(&mut self.bytes));
            self.rows = None;
        }
    }
}

/// Where held frames have come to.
pub(crate) struct HoldCursor {
    input: Cursor,
    rows: Option<std::vec::IntoIter<Vec<Value>>>,
    bytes: usize,
}

impl HoldCursor {
    pub fn new(input: &Plan) -> HoldCursor {
        HoldCursor {
            input: Cursor::new(input),
            rows: None,
            bytes: 0,
        }
    }

    /// As [`Cursor::next`].
    pub fn next(
        &mut self,
        input: &Plan,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        if self.rows.is_none() {
            let mut rows = Vec::new();
            while self.input.next(input, env, frame, base)? {
                let row = frame[base..].to_vec();
                let bytes = row_bytes(&row);
                env.charge(bytes)?;
                self.bytes += bytes;
                rows.push(row);
            }
            self.rows = Some(rows.into_iter());
        }
        frame.truncate(base);
        let row = self.rows.as_mut().and_then(Iterator::next);
        let given = row.is_some();
        frame.extend(row.into_iter().flatten());
        Ok(given)
    }

    pub fn rewind(&mut self, input: &Plan, env: &mut Env<'_>) {
        env.release(std::mem::take(&mut self.bytes));
        self.rows = None;
        self.input.rewind(input, env);
    }
}
