//! Rows that are kept by keys, and plans that look at what is handed to them.
//!
//! Relies on: the input of a lookup looks at nothing around it (`ir::plan`).  Promises: the input is
//! read twice at most in a statement, however often the node is run: the first run passes its rows by,
//! the second keeps them, in a file if memory has no room for them.  Does not: give up keeping: what cannot be kept
//! is refused, for reading it over and over would take time without bound.
//!
//! ```text
//!   run 1    input ── keys = values? ──► frame
//!   run 2    input ──► by the hash of the keys, kept until the statement ends
//!   run 2…   the hash of the values ──► rows ── keys = values? ──► frame
//! ```

use crate::context::{Env, Halt};
use crate::cursor::Cursor;
use crate::kept::{Hash, KeptRows, hash_of, image_of};
use crate::nested::Within;
use crate::sieve::{Probe, ProbeKeys, Wanted};
use quintet_base::{SqlResult, Value};
use quintet_ir::{Expr, Plan};
use std::sync::Arc;

/// What the statement has of a lookup's input.
pub(crate) enum Kept {
    /// It has been run once.
    Seen,
    /// All of its rows.
    Rows(Arc<KeptRows>),
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
        /// Of rows where they lie, if the keys have such a form.
        probe: Option<ProbeKeys>,
    },
    /// Through the kept rows of a hash.
    Found {
        rows: Arc<KeptRows>,
        image: Vec<u8>,
        next: Option<u32>,
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
            *self = match image_of_all(values, env, frame)? {
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
                probe,
            } => {
                while next_of_image((cursor, probe), input, wanted, env, own)? {
                    if image_of_all(keys, env, own)?.as_ref() == Some(wanted) {
                        frame.extend_from_slice(own);
                        return Ok(true);
                    }
                    env.tick()?;
                }
                Ok(false)
            }
            LookupCursor::Found { rows, image, next } => {
                while let Some(row) = *next {
                    env.tick()?;
                    *next = rows.after(row, Hash::of(image));
                    frame.truncate(base);
                    rows.put(row, frame)?;
                    if image_of_all(keys, env, &frame[base..])?.as_ref() == Some(image) {
                        return Ok(true);
                    }
                }
                frame.truncate(base);
                Ok(false)
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
                let rows = Arc::new(read(input, keys, env)?);
                let kept = Kept::Rows(Arc::clone(&rows));
                env.workspace.subqueries.lookups.insert(place, kept);
                rows
            }
            None => {
                env.workspace.subqueries.lookups.insert(place, Kept::Seen);
                let probe = match input {
                    Plan::Scan(access) => ProbeKeys::new(keys, access, (env.params, env.host)),
                    _ => None,
                };
                return Ok(LookupCursor::Passing {
                    cursor: Box::new(Cursor::new(input)),
                    frame: Vec::new(),
                    image,
                    probe,
                });
            }
        };
        let next = rows.first(Hash::of(&image));
        Ok(LookupCursor::Found { rows, image, next })
    }
}

/// The next row of an input; of a scan, perhaps without some whose keys have not the image that is wanted.
fn next_of_image(
    (cursor, probe): (&mut Cursor, &Option<ProbeKeys>),
    input: &Plan,
    wanted: &[u8],
    env: &mut Env<'_>,
    frame: &mut Vec<Value>,
) -> Result<bool, Halt> {
    match (cursor, input, probe) {
        (Cursor::Scan(cursor), Plan::Scan(access), Some(keys)) => {
            let probe = Probe::Keys {
                keys,
                wanted: Wanted::Image(wanted),
            };
            cursor.next_probed(access, &probe, env, frame, 0)
        }
        (cursor, ..) => cursor.next(input, env, frame, 0),
    }
}

/// All rows of an input whose keys have no NULL.
fn read(input: &Plan, keys: &[Expr], env: &mut Env<'_>) -> Result<KeptRows, Halt> {
    let mark = env.memory_mark();
    let mut rows = KeptRows::new(input, env);
    let mut cursor = Cursor::new(input);
    let mut frame = Vec::new();
    while cursor.next(input, env, &mut frame, 0)? {
        env.tick()?;
        if let Some(hash) = hash_of(keys.iter(), env, &frame)? {
            rows.push(&frame, Some(hash), env)?;
        }
    }
    rows.finish(env)?;
    drop(cursor);
    env.memory_back(mark);
    env.charge_kept(rows.bytes())?;
    Ok(rows)
}

/// The values of expressions as one key; `None`: a NULL among them, which equals nothing.
fn image_of_all(exprs: &[Expr], env: &mut Env<'_>, frame: &[Value]) -> SqlResult<Option<Vec<u8>>> {
    let mut image = Vec::with_capacity(16);
    let whole = image_of(exprs.iter(), env, frame, &mut image)?;
    Ok(whole.then_some(image))
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
