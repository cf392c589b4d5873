//! FULL JOIN.
//!
//! Relies on: the inner side does not look at the outer one.  Promises: outer order, with the matches of a row in
//! inner order; behind all of them the inner rows without a match, in their order; the inner side is read
//! once, and kept in a file if memory has no room for it.  Does not: go on without that: it is refused.

use crate::context::{Env, Halt};
use crate::cursor::Cursor;
use crate::kept::{Hash, KeptRows, hash_of};
use quintet_base::Value;
use quintet_ir::equal::equalities;
use quintet_ir::{Expr, Plan};

/// What a full join joins.
pub(crate) struct Sides<'p> {
    pub outer: &'p Plan,
    pub inner: &'p Plan,
    pub outer_width: usize,
    pub inner_width: usize,
    pub on: Option<&'p Expr>,
}

/// Where a full join has come to.
pub(crate) struct FullJoinCursor {
    outer: Cursor,
    inner: Cursor,
    /// The inner side; `None`: not read yet.
    rows: Option<InnerRows>,
    at: At,
}

struct InnerRows {
    rows: KeptRows,
    matched: Vec<bool>,
    /// By what they are found, over the outer frame; without any all of them may match.
    keys: Vec<Expr>,
}

/// Inner rows that may match an outer row.
#[derive(Clone, Copy)]
enum Candidates {
    Every(u32),
    Of(Hash, Option<u32>),
}

enum At {
    /// The next outer row is to come.
    Between,
    /// An outer row is in the frame: these inner rows may match; whether one has.
    Row {
        candidates: Candidates,
        matched: bool,
        width: usize,
    },
    /// The outer side is through: the next inner row to look at.
    Rest(u32),
}

impl FullJoinCursor {
    pub fn new(outer: &Plan, inner: &Plan) -> FullJoinCursor {
        FullJoinCursor {
            outer: Cursor::new(outer),
            inner: Cursor::new(inner),
            rows: None,
            at: At::Between,
        }
    }

    /// As [`Cursor::rewind`].
    pub fn rewind(&mut self, outer: &Plan, inner: &Plan, env: &mut Env<'_>) {
        if let Some(rows) = self.rows.take() {
            env.release(rows.matched.len());
            rows.rows.release(env);
        }
        self.at = At::Between;
        self.outer.rewind(outer, env);
        self.inner.rewind(inner, env);
    }

    /// As [`Cursor::next`].
    pub fn next(
        &mut self,
        sides: &Sides<'_>,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        if self.rows.is_none() {
            self.rows = Some(self.read(sides, env, frame, base)?);
        }
        let Some(inner) = &mut self.rows else {
            unreachable!("the inner side has been read");
        };
        loop {
            match &mut self.at {
                At::Between => {
                    if !self.outer.next(sides.outer, env, frame, base)? {
                        self.at = At::Rest(0);
                        continue;
                    }
                    self.at = At::Row {
                        candidates: inner.candidates(env, frame)?,
                        matched: false,
                        width: frame.len(),
                    };
                }
                At::Row {
                    candidates,
                    matched,
                    width,
                } => {
                    frame.truncate(*width);
                    let Some(place) = inner.next(candidates) else {
                        let alone = !*matched;
                        let width = *width;
                        self.at = At::Between;
                        if alone {
                            frame.resize(width + sides.inner_width, Value::Null);
                            return Ok(true);
                        }
                        continue;
                    };
                    env.tick()?;
                    inner.rows.put(place, frame)?;
                    let meets = match sides.on {
                        Some(on) => env.holds(on, frame)?,
                        None => true,
                    };
                    if meets {
                        *matched = true;
                        inner.matched[place as usize] = true;
                        return Ok(true);
                    }
                }
                At::Rest(place) => {
                    frame.truncate(base);
                    let row = *place;
                    if row == inner.rows.len() {
                        return Ok(false);
                    }
                    *place += 1;
                    env.tick()?;
                    if !inner.matched[row as usize] {
                        frame.resize(base + sides.outer_width, Value::Null);
                        inner.rows.put(row, frame)?;
                        return Ok(true);
                    }
                }
            }
        }
    }

    fn read(
        &mut self,
        sides: &Sides<'_>,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<InnerRows, Halt> {
        let width = base + sides.outer_width;
        frame.truncate(base);
        frame.resize(width, Value::Null);
        let pairs = equalities(sides.on, width);
        let mut rows = KeptRows::new(sides.inner, env);
        while self.inner.next(sides.inner, env, frame, width)? {
            env.tick()?;
            // A row without a key has no match, and comes out at the end.
            let keys = pairs.iter().map(|(_, inner)| *inner);
            let hash = hash_of(keys, env, frame)?.filter(|_| !pairs.is_empty());
            rows.push(&frame[width..], hash, env)?;
        }
        rows.finish(env)?;
        frame.truncate(base);
        env.charge(rows.len() as usize)?;
        Ok(InnerRows {
            matched: vec![false; rows.len() as usize],
            rows,
            keys: pairs.into_iter().map(|(outer, _)| outer.clone()).collect(),
        })
    }
}

impl InnerRows {
    /// The inner rows that may match the outer row in the frame.
    fn candidates(&self, env: &mut Env<'_>, frame: &[Value]) -> Result<Candidates, Halt> {
        if self.keys.is_empty() {
            return Ok(Candidates::Every(0));
        }
        let hash = hash_of(self.keys.iter(), env, frame)?;
        Ok(match hash {
            Some(hash) => Candidates::Of(hash, self.rows.first(hash)),
            None => Candidates::Every(self.rows.len()),
        })
    }

    /// The next of them.
    fn next(&self, candidates: &mut Candidates) -> Option<u32> {
        match candidates {
            Candidates::Every(next) => {
                let row = *next;
                *next = row.saturating_add(1);
                (row < self.rows.len()).then_some(row)
            }
            Candidates::Of(hash, next) => {
                let row = (*next)?;
                *next = self.rows.after(row, *hash);
                Some(row)
            }
        }
    }
}
