//! Joins, row by row of the outer side: by keys, by hash, or by looking at all pairs.
//!
//! Relies on: the outer frame is the prefix of what the inner plan's expressions see (`ir::plan`); `ir::equal` for
//! what is found by equal values; `kept` for rows in memory or in a file.
//! Promises: outer order, within it inner order, also if the inner rows are in a file; an inner side that does not
//! look at the outer frame is read once if an equality connects the sides, else twice at most while the statement may have
//! memory for it.  Does not: choose the order of the tables, or which side is kept: that is in the plan.
//!
//! ```text
//!   inner looks at the outer row    read for each outer row
//!   an equality between the sides   kept whole before the first outer row is joined, found by hash;
//!                                   a lone outer row looks at the rows as they come by
//!   otherwise                       pass 1 as planned, then kept; beyond memory read for each outer row
//! ```
//! Where it was planned so, an inner side that is read by key for each outer row is kept whole once so many of those have come
//! (`Access::kept_after`): how many there will be, the plan could not know.
//!
//! What is kept stays when the join is run again, for another row around it, unless it was made of something else: of what is handed to
//! the plan, or of frames of WITH that have come anew.
//! Once inner rows are kept, outer rows of a scan that meet none of them are left where they lie (`sieve`).
//! Where each outer row names one inner row, outer rows are read some ahead (`outer_ahead`).
//! All of ON, and a filter that looks at the outer frame, is evaluated for each candidate.

use crate::context::{Env, Halt};
use crate::cursor::Cursor;
use crate::kept::{Hash, KeptRows, has_room, hash_of};
use crate::outer_ahead::{OuterAhead, inner_access};
use crate::sieve::{Probe, ProbeKeys, Wanted};
use crate::with::Frames;
use quintet_base::Value;
use quintet_ir::equal::{pairs_of, reads_by_outer, uses_below};
use quintet_ir::expressions::{each_node, subqueries, uses_outer};
use quintet_ir::plan::{JoinKind, KeptAfter};
use quintet_ir::{CompareOp, Expr, Plan};
use std::sync::{Arc, Weak};

/// Where a join has come to.
pub(crate) struct JoinCursor {
    outer: Cursor,
    inner: Cursor,
    /// Where the inner frame begins, while an outer row is being joined.
    width: Option<usize>,
    matched: bool,
    passes: u64,
    ahead: OuterAhead,
    kept: Kept,
    /// By what inner rows are found; set when the first outer row is there.
    keys: Option<Keys>,
    /// The same of the outer side, over rows where they lie, once that is asked; `None`: they have no such form.
    probe: Option<Option<ProbeKeys>>,
    /// Whether the inner side looks at what is handed to the plan, which may be something else after a rewind.
    handed: bool,
    /// It is to be run again, and nobody has looked at `given` yet.
    rewound: bool,
    /// What kept rows were made of beside tables: frames of WITH, as they were.
    given: Vec<(usize, Option<Weak<Frames>>)>,
    /// The inner side without its keys, once it is kept in the place of being asked by them; what the keys said of a row is asked of each candidate, since two
    /// values may share a hash.
    whole: Option<Arc<Plan>>,
    said: Option<Expr>,
}

/// What inner rows are found by: equal values of these, over the outer and over the inner frame.
struct Keys {
    outer: Vec<Expr>,
    inner: Vec<Expr>,
    /// The inner scan's filter looks at the outer frame: it is asked for each candidate, not where rows are kept.
    asks_filter: bool,
    /// Those of the inner side look at what is handed to the plan: after a rewind rows are found by others.
    handed: bool,
}

/// The inner side's rows.
enum Kept {
    /// Not kept (yet).
    No,
    /// All of them, and the next candidate of the present outer row.
    Whole { rows: Box<KeptRows>, at: At },
    /// They depend on the outer row, or do not fit.
    Never,
}

#[derive(Clone, Copy)]
enum At {
    Every(u32),
    Of(Hash, Option<u32>),
    /// A NULL in the key.
    Nowhere,
}

impl JoinCursor {
    pub fn new(outer: &Plan, inner: &Plan) -> JoinCursor {
        JoinCursor {
            outer: Cursor::new(outer),
            inner: Cursor::new(inner),
            width: None,
            matched: false,
            passes: 0,
            ahead: OuterAhead::default(),
            kept: Kept::No,
            keys: None,
            probe: None,
            handed: uses_outer(inner),
            rewound: false,
            given: Vec::new(),
            whole: None,
            said: None,
        }
    }

    pub fn rewind(&mut self, outer: &Plan, inner: &Plan, env: &mut Env<'_>) {
        let whole = self.whole.clone();
        let inner = whole.as_deref().unwrap_or(inner);
        self.width = None;
        self.ahead.rewind();
        self.outer.rewind(outer, env);
        let keys = self.keys.as_ref();
        if self.handed || keys.is_some_and(|keys| keys.handed) {
            self.forget(env);
        }
        // Kept rows depend on no outer frame at all; on what WITH queries give they may, and those come anew behind this.
        self.rewound = true;
        self.inner.rewind(inner, env);
    }

    /// Keeps no rows (yet); that they cannot be kept remains.
    fn forget(&mut self, env: &mut Env<'_>) {
        match std::mem::replace(&mut self.kept, Kept::No) {
            Kept::Whole { rows, .. } => rows.release(env),
            kept => self.kept = kept,
        }
    }

    /// See [`Cursor::next`].
    pub fn next(
        &mut self,
        plan: &Plan,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        let Plan::Join {
            outer,
            inner,
            inner_width,
            kind,
            on,
            ..
        } = plan
        else {
            unreachable!("the caller has matched the plan");
        };
        if std::mem::take(&mut self.rewound) && !self.are_as_given(env) {
            self.forget(env);
        }
        let whole = self.whole.clone();
        let inner = whole.as_deref().unwrap_or(inner);
        loop {
            if self.width.is_none() && self.turns(inner, env) {
                return self.next(plan, env, frame, base);
            }
            let width = match self.width {
                Some(width) => width,
                None => {
                    let found = match inner_access(outer, inner, self.passes) {
                        Some(access) => {
                            let side = (&mut self.outer, &**outer);
                            self.ahead.next(side, access, env, frame, base)?
                        }
                        None if self.ahead.give(frame, base) => true,
                        None => self.next_outer((outer, *kind), env, frame, base)?,
                    };
                    if !found {
                        frame.truncate(base);
                        return Ok(false);
                    }
                    self.width = Some(frame.len());
                    self.matched = false;
                    self.begin_inner((outer, inner), on.as_ref(), env, frame)?;
                    frame.len()
                }
            };
            while self.next_inner(inner, env, frame, width)? {
                if on.as_ref().map_or(Ok(true), |on| env.holds(on, frame))? {
                    self.matched = true;
                    return Ok(true);
                }
                env.tick()?;
            }
            // Of outer rows that meet nothing there may be very many in a row.
            env.tick()?;
            frame.truncate(width);
            self.width = None;
            if *kind == JoinKind::Left && !self.matched {
                frame.resize(width + inner_width, Value::Null);
                return Ok(true);
            }
        }
    }

    /// Whether so many outer rows have come that the inner side, asked by key until now, is to be kept whole from here on; true once at most.
    fn turns(&mut self, inner: &Plan, env: &mut Env<'_>) -> bool {
        let Plan::Scan(access) = inner else {
            return false;
        };
        let now = |after: &KeptAfter| after.asked == self.passes;
        if !access.kept_after.as_ref().is_some_and(now) || !has_room(access, env) {
            return false;
        }
        let Some(whole) = access.whole() else {
            return false;
        };
        let plan = Plan::Scan(whole.access);
        // What is handed to the plan may be something else the next time, and all would be read again.
        if uses_outer(&plan) {
            return false;
        }
        let filter = inner_filter(&plan);
        let equal = whole.own.iter().zip(&whole.outside);
        let equal = equal.map(|(own, outside)| Expr::Compare {
            op: CompareOp::Eq,
            left: Box::new(own.clone()),
            right: Box::new(outside.clone()),
        });
        self.said = Some(Expr::And(equal.collect()));
        self.keys = Some(Keys {
            outer: whole.outside,
            inner: whole.own,
            asks_filter: filter.is_some_and(|filter| uses_below(filter, access.offset)),
            handed: false,
        });
        self.inner = Cursor::new(&plan);
        self.kept = Kept::No;
        self.probe = None;
        self.handed = false;
        self.whole = Some(Arc::new(plan));
        true
    }

    /// The next outer row; where all inner rows are kept, perhaps without some that meet none of them.
    fn next_outer(
        &mut self,
        (outer, kind): (&Plan, JoinKind),
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        if let (Cursor::Scan(cursor), Plan::Scan(access), Kept::Whole { rows, .. }, Some(keys)) =
            (&mut self.outer, outer, &self.kept, &self.keys)
            && kind == JoinKind::Inner
            && !keys.outer.is_empty()
        {
            let made = || ProbeKeys::new(&keys.outer, access, (env.params, env.host));
            if let Some(keys) = self.probe.get_or_insert_with(made) {
                let probe = Probe::Keys {
                    keys,
                    wanted: Wanted::Kept(rows),
                };
                return cursor.next_probed(access, &probe, env, frame, base);
            }
        }
        self.outer.next(outer, env, frame, base)
    }

    /// A new outer row is in the frame.
    fn begin_inner(
        &mut self,
        (outer, inner): (&Plan, &Plan),
        on: Option<&Expr>,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
    ) -> Result<(), Halt> {
        let width = frame.len();
        self.passes += 1;
        if let Kept::No = self.kept {
            let keys = match &self.keys {
                Some(keys) => keys,
                None => self.keys.insert(Keys::new(inner, on, width)),
            };
            // One outer row does without keeping.
            let at_once = !keys.inner.is_empty() && !outer.is_short();
            if reads_by_outer(inner, width) {
                self.kept = Kept::Never;
            } else if self.passes > 1 || at_once {
                self.kept = self.keep(inner, env, frame)?;
            }
        }
        if let (Kept::Whole { rows, at }, Some(keys)) = (&mut self.kept, &self.keys) {
            *at = match keys.outer.is_empty() {
                true => At::Every(0),
                false => match hash_of(keys.outer.iter(), env, frame)? {
                    Some(hash) => At::Of(hash, rows.first(hash)),
                    None => At::Nowhere,
                },
            };
        } else if self.passes > 1 {
            self.inner.rewind(inner, env);
        }
        Ok(())
    }

    /// Whether what rows are kept, if any are, was made of the frames of WITH that are there now.
    fn are_as_given(&self, env: &Env<'_>) -> bool {
        self.given.iter().all(|(number, was)| {
            let now = env.workspace.given.get(number);
            now.map(Arc::as_ptr) == was.as_ref().map(Weak::as_ptr)
        })
    }

    /// Reads the inner side.
    fn keep(
        &mut self,
        inner: &Plan,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
    ) -> Result<Kept, Halt> {
        let width = frame.len();
        let mark = env.memory_mark();
        let mut cursor = std::mem::replace(&mut self.inner, Cursor::new(inner));
        cursor.rewind(inner, env);
        let Some(keys) = &self.keys else {
            return Ok(Kept::Never);
        };
        let mut rows = KeptRows::new(inner, env);
        let by_hash = !keys.inner.is_empty();
        while next_to_keep(&mut cursor, inner, keys.asks_filter, env, frame, width)? {
            env.tick()?;
            let hash = match by_hash {
                true => hash_of(keys.inner.iter(), env, frame)?,
                false => None,
            };
            if by_hash && hash.is_none() {
                continue;
            }
            if !by_hash && !rows.fits(&frame[width..], env) {
                // There is nothing to find them by in a file: they are read again for each outer row.
                frame.truncate(width);
                drop(cursor);
                env.memory_back(mark);
                return Ok(Kept::Never);
            }
            rows.push(&frame[width..], hash, env)?;
        }
        frame.truncate(width);
        rows.finish(env)?;
        // What the inner plan has kept for itself goes with its cursor.
        drop(cursor);
        env.memory_back(mark);
        env.charge(rows.bytes())?;
        let frames = |number: &usize| env.workspace.given.get(number).map(Arc::downgrade);
        self.given = keys
            .given(inner)
            .into_iter()
            .map(|number| (number, frames(&number)))
            .collect();
        Ok(Kept::Whole {
            rows: Box::new(rows),
            at: At::Nowhere,
        })
    }

    fn next_inner(
        &mut self,
        inner: &Plan,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        width: usize,
    ) -> Result<bool, Halt> {
        loop {
            let Kept::Whole { rows, at } = &mut self.kept else {
                if !self.inner.next(inner, env, frame, width)? {
                    return Ok(false);
                }
                let said = self.said.as_ref();
                if said.map_or(Ok(true), |said| env.holds(said, frame))? {
                    return Ok(true);
                }
                env.tick()?;
                continue;
            };
            let row = match at {
                At::Every(next) if *next < rows.len() => {
                    *next += 1;
                    *next - 1
                }
                At::Of(hash, next @ Some(_)) => {
                    let Some(row) = *next else { return Ok(false) };
                    *next = rows.after(row, *hash);
                    row
                }
                _ => return Ok(false),
            };
            frame.truncate(width);
            rows.put(row, frame)?;
            if let Some(said) = &self.said
                && !env.holds(said, frame)?
            {
                env.tick()?;
                continue;
            }
            let asked = self.keys.as_ref().is_some_and(|keys| keys.asks_filter);
            let filter = inner_filter(inner).filter(|_| asked);
            if filter.map_or(Ok(true), |filter| env.holds(filter, frame))? {
                return Ok(true);
            }
            env.tick()?;
        }
    }
}

impl Keys {
    fn new(inner: &Plan, on: Option<&Expr>, width: usize) -> Keys {
        let pairs = pairs_of(inner, on, width);
        let (outer, inner_side): (Vec<&Expr>, Vec<&Expr>) = pairs.into_iter().unzip();
        Keys {
            handed: inner_side.iter().any(|key| key.uses_outer()),
            outer: outer.into_iter().cloned().collect(),
            inner: inner_side.into_iter().cloned().collect(),
            asks_filter: inner_filter(inner).is_some_and(|filter| uses_below(filter, width)),
        }
    }

    /// Of what frames of WITH rows are made and found.
    fn given(&self, inner: &Plan) -> Vec<usize> {
        let mut numbers = Vec::new();
        let mut note = |plan: &Plan| {
            if let Plan::Given { number, .. } = plan {
                numbers.push(*number);
            }
        };
        each_node(inner, &mut note);
        for key in &self.inner {
            subqueries(key, &mut |subquery| each_node(&subquery.plan, &mut note));
        }
        numbers
    }
}

/// The filter of a lone scan.
fn inner_filter(inner: &Plan) -> Option<&Expr> {
    match inner {
        Plan::Scan(access) => access.filter.as_ref(),
        _ => None,
    }
}

/// The next row to keep: without the filter if that is asked later.
fn next_to_keep(
    cursor: &mut Cursor,
    inner: &Plan,
    asks_filter: bool,
    env: &mut Env<'_>,
    frame: &mut Vec<Value>,
    width: usize,
) -> Result<bool, Halt> {
    match (cursor, inner) {
        (Cursor::Scan(cursor), Plan::Scan(access)) if asks_filter => {
            cursor.next_filtered(access, None, env, frame, width)
        }
        (cursor, inner) => cursor.next(inner, env, frame, width),
    }
}
