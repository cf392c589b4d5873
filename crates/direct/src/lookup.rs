//! Rows that are kept by keys, and plans that look at what is handed to them.
//!
//! Relies on: the input of a lookup looks at nothing around it (`ir::plan`).  Promises: the input is
//! read twice at most in a statement, however often the node is run: the first run passes its rows by,
//! the second keeps them.  Does not: give up keeping: rows beyond the statement's memory are refused, for
//! reading them over and over would take time without bound.
//!
//! ```text
//!   run 1    input ── keys = values? ──► frame
//!   run 2    input ──► by the image of the keys, kept in the statement's memory
//!   run 2…   the image of the values ──► rows
//! ```

use crate::context::{Env, Halt, row_bytes};
use crate::cursor::Cursor;
use crate::nested::Within;
use quintet_base::{SqlResult, Value};
use quintet_ir::{Expr, Plan};
use std::collections::HashMap;
use std::sync::Arc;

/// What the statement has of a lookup's input.
pub(crate) enum Kept {
    /// It has been run once.
    Seen,
    /// All of its rows.
    Rows(Arc<Rows>),
}

/// The rows of an input by their keys.
pub(crate) struct Rows {
    /// Which list has the rows with keys of this image.
    places: HashMap<Vec<u8>, usize>,
    lists: Vec<Vec<Vec<Value>>>,
}

/// The keys, and what they are compared with.
pub(crate) type Pairs<'p> = (&'p [Expr], &'p [Expr]);

/// Where a run of a lookup has come to.
#[derive(Default)]
pub(crate) enum LookupCursor {
    #[default]
    Fresh,
    /// The first run: the image to look for.
    Passing {
        cursor: Box<Cursor>,
        frame: Vec<Value>,
        image: Vec<u8>,
    },
    /// Through a list of the kept rows.
    Found {
        rows: Arc<Rows>,
        list: usize,
        at: usize,
    },
    Over,
}

impl LookupCursor {
    /// As [`Cursor::next`].
    pub fn next(
        &mut self,
        input: &Plan,
        (keys, values): Pairs<'_>,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        frame.truncate(base);
        if let LookupCursor::Fresh = self {
            *self = match image(values, env, frame)? {
                None => LookupCursor::Over,
                Some(image) => LookupCursor::begin(input, keys, image, env)?,
            };
        }
        match self {
            LookupCursor::Fresh | LookupCursor::Over => Ok(false),
            LookupCursor::Passing {
                cursor,
                frame: own,
                image: wanted,
            } => {
                while cursor.next(input, env, own, 0)? {
                    if image(keys, env, own)?.as_ref() == Some(wanted) {
                        frame.extend_from_slice(own);
                        return Ok(true);
                    }
                    env.tick()?;
                }
                Ok(false)
            }
            LookupCursor::Found { rows, list, at } => {
                env.tick()?;
                let Some(row) = rows.lists[*list].get(*at) else {
                    return Ok(false);
                };
                *at += 1;
                frame.extend_from_slice(row);
                Ok(true)
            }
        }
    }

    fn begin(
        input: &Plan,
        keys: &[Expr],
        image: Vec<u8>,
        env: &mut Env<'_>,
    ) -> Result<LookupCursor, Halt> {
        let place = std::ptr::from_ref(input).addr();
        let rows = match env.workspace.subqueries.lookups.get(&place) {
            Some(Kept::Rows(rows)) => Arc::clone(rows),
            Some(Kept::Seen) => {
                let rows = Arc::new(Rows::read(input, keys, env)?);
                let kept = Kept::Rows(Arc::clone(&rows));
                env.workspace.subqueries.lookups.insert(place, kept);
                rows
            }
            None => {
                env.workspace.subqueries.lookups.insert(place, Kept::Seen);
                return Ok(LookupCursor::Passing {
                    cursor: Box::new(Cursor::new(input)),
                    frame: Vec::new(),
                    image,
                });
            }
        };
        Ok(match rows.places.get(&image) {
            Some(&list) => LookupCursor::Found { rows, list, at: 0 },
            None => LookupCursor::Over,
        })
    }
}

impl Rows {
    fn read(input: &Plan, keys: &[Expr], env: &mut Env<'_>) -> Result<Rows, Halt> {
        let mut rows = Rows {
            places: HashMap::new(),
            lists: Vec::new(),
        };
        let mut cursor = Cursor::new(input);
        let mut frame = Vec::new();
        while cursor.next(input, env, &mut frame, 0)? {
            env.tick()?;
            let Some(image) = image(keys, env, &frame)? else {
                continue;
            };
            env.charge_kept(image.len() + row_bytes(&frame) + 48)?;
            let next = rows.lists.len();
            let list = *rows.places.entry(image).or_insert(next);
            if list == next {
                rows.lists.push(Vec::new());
            }
            rows.lists[list].push(frame.clone());
        }
        Ok(rows)
    }
}

/// The values of expressions as one key; `None`: a NULL among them, which equals nothing.
fn image(exprs: &[Expr], env: &mut Env<'_>, frame: &[Value]) -> SqlResult<Option<Vec<u8>>> {
    let mut image = Vec::with_capacity(16);
    for expr in exprs {
        let value = env.eval(expr, frame)?;
        if value.is_null() {
            return Ok(None);
        }
        crate::keys::push(&value, expr.ty(), &mut image);
    }
    Ok(Some(image))
}

/// Where a lateral plan has come to.
pub(crate) struct LateralCursor {
    input: Cursor,
    /// What is handed to it, once it has begun.
    handed: Option<Vec<Value>>,
    frame: Vec<Value>,
}

impl LateralCursor {
    pub fn new(input: &Plan) -> LateralCursor {
        LateralCursor {
            input: Cursor::new(input),
            handed: None,
            frame: Vec::new(),
        }
    }

    /// As [`Cursor::next`].
    pub fn next(
        &mut self,
        input: &Plan,
        outer: &[Expr],
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        frame.truncate(base);
        let handed = match &self.handed {
            Some(handed) => handed,
            None => {
                let values: SqlResult<Vec<Value>> =
                    outer.iter().map(|expr| env.eval(expr, frame)).collect();
                self.frame.clear();
                self.handed.insert(values?)
            }
        };
        let within = Within {
            host: env.host,
            outer: handed,
        };
        let mut env = env.within(&within);
        let found = self.input.next(input, &mut env, &mut self.frame, 0)?;
        if found {
            frame.extend_from_slice(&self.frame);
        }
        Ok(found)
    }

    /// As [`Cursor::rewind`].
    pub fn rewind(&mut self, input: &Plan, env: &mut Env<'_>) {
        self.handed = None;
        self.input.rewind(input, env);
    }
}
