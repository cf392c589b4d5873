//! FULL JOIN.
//!
//! Relies on: the inner side does not look at the outer one.  Promises: outer order, with the matches of a row in
//! inner order; behind all of them the inner rows without a match, in their order; the inner side is read
//! once.  Does not: go on without memory for the inner side: it is refused.

use crate::context::{Env, Halt, row_bytes};
use crate::cursor::Cursor;
use crate::join::{HashTable, equalities, outer_key};
use quintet_base::Value;
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
    rows: Vec<Vec<Value>>,
    matched: Vec<bool>,
    table: Option<HashTable>,
    bytes: usize,
}

enum At {
    /// The next outer row is to come.
    Between,
    /// An outer row is in the frame: these inner rows may match; whether one has.
    Row {
        places: Vec<u32>,
        next: usize,
        matched: bool,
        width: usize,
    },
    /// The outer side is through: the next inner row to look at.
    Rest(usize),
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
            env.release(rows.bytes);
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
                    let places = inner.candidates(sides, env, frame)?;
                    self.at = At::Row {
                        places,
                        next: 0,
                        matched: false,
                        width: frame.len(),
                    };
                }
                At::Row {
                    places,
                    next,
                    matched,
                    width,
                } => {
                    frame.truncate(*width);
                    let Some(&place) = places.get(*next) else {
                        let alone = !*matched;
                        let width = *width;
                        self.at = At::Between;
                        if alone {
                            frame.resize(width + sides.inner_width, Value::Null);
                            return Ok(true);
                        }
                        continue;
                    };
                    *next += 1;
                    env.tick()?;
                    frame.extend_from_slice(&inner.rows[place as usize]);
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
                    let Some(row) = inner.rows.get(*place) else {
                        return Ok(false);
                    };
                    *place += 1;
                    env.tick()?;
                    if !inner.matched[*place - 1] {
                        frame.resize(base + sides.outer_width, Value::Null);
                        frame.extend_from_slice(row);
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
        let mut rows = Vec::new();
        let mut bytes = 0;
        while self.inner.next(sides.inner, env, frame, width)? {
            let taken = row_bytes(&frame[width..]);
            env.charge(taken)?;
            bytes += taken;
            rows.push(frame[width..].to_vec());
        }
        let pairs = sides
            .on
            .map_or_else(Vec::new, |on| equalities(Some(on), width));
        frame.resize(width, Value::Null);
        let table = match pairs.is_empty() {
            true => None,
            false => Some(HashTable::build(&rows, &pairs, env, frame)?),
        };
        frame.truncate(base);
        Ok(InnerRows {
            matched: vec![false; rows.len()],
            rows,
            table,
            bytes,
        })
    }
}

impl InnerRows {
    /// The inner rows that may match the outer row in the frame.
    fn candidates(
        &self,
        sides: &Sides<'_>,
        env: &mut Env<'_>,
        frame: &[Value],
    ) -> Result<Vec<u32>, Halt> {
        let Some(table) = &self.table else {
            return Ok((0..self.rows.len() as u32).collect());
        };
        let pairs = equalities(sides.on, frame.len());
        let key = outer_key(&pairs, env, frame)?;
        Ok(key.map_or_else(Vec::new, |key| table.find(&key)))
    }
}
