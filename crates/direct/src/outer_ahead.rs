//! Outer rows of a join that are read before their turn, so that the inner rows which they name are fetched
//! side by side.
//!
//! Relies on: the outer side is a scan, which leaves nothing in the frame that it will look at; `tc`, which
//! has the processor fetch announced records that are in memory, and STORE those that are not. Promises: the
//! rows of the outer side in its order; an error in evaluating an inner key is left to the inner side.
//! Does not: read inner rows, or begin before a join has shown that it goes through many.

use crate::context::{Env, Halt};
use crate::cursor::Cursor;
use crate::scan::looked_up;
use quintet_base::Value;
use quintet_ir::{Access, Plan};
use std::collections::VecDeque;

/// Outer rows before which a join may well be about to end.
const ROWS_BEFORE: u64 = 8;

/// Rows read ahead: as many misses as the processor has under way, and some.
const ROWS_AHEAD: usize = 16;

/// Where the outer side has come to beyond the row at hand.
#[derive(Default)]
pub(crate) struct OuterAhead {
    rows: VecDeque<Vec<Value>>,
    ended: bool,
}

/// The access of the inner side, if it is worth reading ahead for after so many outer rows: each outer row
/// names at most one inner row, and no expression decides in between which outer rows there are.
pub(crate) fn inner_access<'p>(outer: &Plan, inner: &'p Plan, passes: u64) -> Option<&'p Access> {
    match (outer, inner) {
        (Plan::Scan(outer), Plan::Scan(inner)) if passes >= ROWS_BEFORE => {
            (outer.filter.is_none() && looked_up(inner).is_some()).then_some(inner)
        }
        _ => None,
    }
}

impl OuterAhead {
    /// Forgets what was read ahead.
    pub fn rewind(&mut self) {
        self.rows.clear();
        self.ended = false;
    }

    /// One that was read before; false if there is none left.
    pub fn give(&mut self, frame: &mut Vec<Value>, base: usize) -> bool {
        let Some(row) = self.rows.pop_front() else {
            return false;
        };
        frame.truncate(base);
        frame.extend(row);
        true
    }

    /// The next outer row behind `frame[..base]`; false at the end, with nothing behind it.
    pub fn next(
        &mut self,
        (cursor, outer): (&mut Cursor, &Plan),
        inner: &Access,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        if self.rows.is_empty() && !self.ended {
            self.read((cursor, outer), inner, env, frame, base)?;
        }
        frame.truncate(base);
        match self.rows.pop_front() {
            Some(row) => {
                frame.extend(row);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn read(
        &mut self,
        (cursor, outer): (&mut Cursor, &Plan),
        inner: &Access,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<(), Halt> {
        let Some((columns, range)) = looked_up(inner) else {
            return Ok(());
        };
        let announces = crate::ahead::is_on(env.host);
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(ROWS_AHEAD);
        while self.rows.len() < ROWS_AHEAD {
            if !cursor.next(outer, env, frame, base)? {
                self.ended = true;
                break;
            }
            let from = bytes.len();
            match columns.push_equal(range, env, frame, &mut bytes) {
                Ok(true) => ends.push(bytes.len()),
                Ok(false) | Err(_) => bytes.truncate(from),
            }
            self.rows.push_back(frame.drain(base..).collect());
        }
        let space = columns.space();
        let mut from = 0;
        let keys = ends.iter().map(|end| {
            let key = &bytes[std::mem::replace(&mut from, *end)..*end];
            (space, key)
        });
        let keys: Vec<_> = keys.collect();
        if keys.len() > 1 && announces {
            env.txn.announce(&keys);
        }
        Ok(())
    }
}
