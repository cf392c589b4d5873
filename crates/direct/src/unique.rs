//! Frames without those that came before.
//!
//! Relies on: `partitions` and `aggregate` for what memory has no room for.  Promises: frames in the order in which each came
//! first, as they come; beyond the statement's memory the rest of them when the input is over, in the same order.
//! Does not: choose among equal frames: `1.0` and `1.00` are one, and the first stays.

use crate::aggregate::Making;
use crate::context::{Env, Halt};
use crate::cursor::{Cursor, encode_group};
use crate::groups::Groups;
use crate::partitions::{Partitions, Waiting};
use crate::runs::Merge;
use foldhash::fast::RandomState;
use quintet_base::{SqlType, Value};
use quintet_ir::{Expr, Plan};
use std::collections::HashSet;

/// What an image takes beside its bytes.
const IMAGE_BYTES: usize = 48;

/// Where it has come to.
pub(crate) struct UniqueCursor {
    input: Cursor,
    types: Vec<SqlType>,
    seen: HashSet<Vec<u8>, RandomState>,
    bytes: usize,
    /// Frames for which there is no room, perhaps some more than once; how many there are.
    waiting: Option<(Partitions, i64)>,
    /// The rest, when the input is over.
    rest: Option<Box<Merge>>,
}

impl UniqueCursor {
    pub fn new(input: &Plan) -> UniqueCursor {
        UniqueCursor {
            input: Cursor::new(input),
            types: input.frame_types(),
            seen: HashSet::default(),
            bytes: 0,
            waiting: None,
            rest: None,
        }
    }

    pub fn rewind(&mut self, input: &Plan, env: &mut Env<'_>) {
        self.forget(env);
        self.waiting = None;
        if let Some(rest) = self.rest.take() {
            rest.release(env);
        }
        self.input.rewind(input, env);
    }

    fn forget(&mut self, env: &mut Env<'_>) {
        self.seen.clear();
        env.release(std::mem::take(&mut self.bytes));
    }

    /// See [`Cursor::next`].
    pub fn next(
        &mut self,
        input: &Plan,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        while self.rest.is_none() {
            if !self.input.next(input, env, frame, base)? {
                match self.waiting.take() {
                    None => return Ok(false),
                    Some((waiting, _)) => self.end(waiting, env, frame, base)?,
                }
                break;
            }
            env.tick()?;
            let image = encode_group(&frame[base..], &self.types);
            if self.seen.contains(&image) {
                continue;
            }
            let bytes = image.len() + IMAGE_BYTES;
            // Frames without columns are all one.
            let alone = self.types.is_empty();
            if alone || self.waiting.is_none() && env.may_charge_rows(bytes) {
                self.bytes += if alone { 0 } else { bytes };
                self.seen.insert(image);
                return Ok(true);
            }
            let made = || (Waiting::new(&self.types, &[]).partitions(), 0);
            let (waiting, number) = self.waiting.get_or_insert_with(made);
            waiting.push(&image, (*number, &frame[base..], &[]), env)?;
            *number += 1;
        }
        frame.truncate(base);
        match &mut self.rest {
            Some(rest) => Ok(rest.next(env, frame)?),
            None => Ok(false),
        }
    }

    /// None of those that wait was seen before: each is a group, without calls.
    fn end(
        &mut self,
        waiting: Partitions,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<(), Halt> {
        self.forget(env);
        let columns = self.types.iter().enumerate();
        let keys: Vec<Expr> = columns.map(|(at, ty)| Expr::Column(at, *ty)).collect();
        let none = Groups::new(keys.len(), &[]);
        let rest = Making::default().group_parts(none, waiting, (&keys, &[]), env, frame, base)?;
        self.rest = Some(Box::new(rest));
        Ok(())
    }
}
