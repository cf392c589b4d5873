//! Frames that are kept under a number, once or turn by turn: WITH.
//!
//! Relies on: numbers that are different within a statement.  Promises: a recursion passes a frame on as soon as it
//! has it, so that a LIMIT above ends what has no end; what a turn gives is the next one's input.  Does not: spill
//! to disk: kept frames are the statement's memory.
//!
//! ```text
//!   first ─► kept 0 ─► then ─► kept 1 ─► then ─► … ─► nothing: the end
//!     └──────────────────┴────── passed on ─┘
//! ```

use crate::context::{Env, Halt, row_bytes};
use crate::cursor::{Cursor, encode_group};
use foldhash::fast::RandomState;
use quintet_base::{SqlError, SqlType, Value};
use quintet_ir::Plan;
use quintet_ir::plan::Turns;
use std::collections::HashSet;
use std::sync::Arc;

/// Frames that are kept.
pub(crate) type Frames = Vec<Vec<Value>>;

/// Frames that [`Plan::Given`] reads.
pub(crate) type Given = Arc<Frames>;

/// Where a [`Plan::With`] has come to.
pub(crate) struct WithCursor {
    first: Cursor,
    then: Cursor,
    /// The first frames are there, or have been passed on.
    begun: bool,
    /// Of a recursion: what the turn at hand has given, and its bytes.
    turn: Vec<Vec<Value>>,
    turn_bytes: usize,
    /// Bytes of what is kept.
    kept_bytes: usize,
    /// Images of all frames, where none may come twice.
    seen: HashSet<Vec<u8>, RandomState>,
    seen_bytes: usize,
    types: Vec<SqlType>,
}

impl WithCursor {
    pub fn new(first: &Plan, then: &Plan) -> WithCursor {
        WithCursor {
            first: Cursor::new(first),
            then: Cursor::new(then),
            begun: false,
            turn: Vec::new(),
            turn_bytes: 0,
            kept_bytes: 0,
            seen: HashSet::default(),
            seen_bytes: 0,
            types: first.frame_types(),
        }
    }

    pub fn rewind(&mut self, first: &Plan, then: &Plan, env: &mut Env<'_>) {
        env.release(self.turn_bytes + self.kept_bytes + self.seen_bytes);
        self.first.rewind(first, env);
        self.then.rewind(then, env);
        self.begun = false;
        self.turn.clear();
        self.seen.clear();
        (self.turn_bytes, self.kept_bytes, self.seen_bytes) = (0, 0, 0);
    }

    /// See [`Cursor::next`].
    pub fn next(
        &mut self,
        plan: &Plan,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        let Plan::With {
            number,
            first,
            then,
            turns,
        } = plan
        else {
            return Err(SqlError::internal("WITH was run with another plan").into());
        };
        if *turns == Turns::Once {
            if !self.begun {
                while self.first.next(first, env, frame, base)? {
                    self.keep(&frame[base..], env)?;
                }
                self.begun = true;
                self.hand_over(*number, env);
            }
            return self.then.next(then, env, frame, base);
        }
        loop {
            let found = match self.begun {
                false => self.first.next(first, env, frame, base)?,
                true => self.then.next(then, env, frame, base)?,
            };
            if found {
                env.tick()?;
                if *turns == Turns::UntilNothingNew {
                    let image = encode_group(&frame[base..], &self.types);
                    let bytes = image.len() + 48;
                    if !self.seen.insert(image) {
                        continue;
                    }
                    env.charge(bytes)?;
                    self.seen_bytes += bytes;
                }
                self.keep(&frame[base..], env)?;
                return Ok(true);
            }
            frame.truncate(base);
            if self.turn.is_empty() {
                return Ok(false);
            }
            self.begun = true;
            self.hand_over(*number, env);
            self.then.rewind(then, env);
            env.check_cancel()?;
        }
    }

    fn keep(&mut self, row: &[Value], env: &mut Env<'_>) -> Result<(), Halt> {
        let bytes = row_bytes(row);
        env.charge(bytes)?;
        self.turn_bytes += bytes;
        self.turn.push(row.to_vec());
        Ok(())
    }

    /// What the turn has given takes the place of what was kept.
    fn hand_over(&mut self, number: usize, env: &mut Env<'_>) {
        let rows = Arc::new(std::mem::take(&mut self.turn));
        env.workspace.given.insert(number, rows);
        // Queries in expressions may have answered by what was there before.
        env.forget_kept();
        env.release(self.kept_bytes);
        self.kept_bytes = std::mem::take(&mut self.turn_bytes);
    }
}

/// Where the reading of kept frames has come to.
#[derive(Default)]
pub(crate) struct GivenCursor {
    rows: Option<Given>,
    at: usize,
}

impl GivenCursor {
    /// See [`Cursor::next`].
    pub fn next(
        &mut self,
        number: usize,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
    ) -> Result<bool, Halt> {
        env.tick()?;
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => {
                let Some(rows) = env.workspace.given.get(&number) else {
                    return Err(
                        SqlError::internal("rows of WITH were read before they were made").into(),
                    );
                };
                none.insert(Arc::clone(rows))
            }
        };
        let Some(row) = rows.get(self.at) else {
            return Ok(false);
        };
        self.at += 1;
        frame.extend_from_slice(row);
        Ok(true)
    }
}
