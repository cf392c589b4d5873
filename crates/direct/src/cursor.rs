//! Pulling frames through a plan, one at a time; the small operators.
//!
//! Relies on: the plan given to `next` is the one the cursor was made for.  Promises: frames come in
//! the plan's order; nothing is read before somebody asks for it.  Does not: hold the plan: a
//! cursor is only where it has come to, so that whoever owns the plan can own the cursor too.
//!
//! ## Frames
//!
//! ```text
//!   frame:  0 ………… base ………… len
//!           │ outer  │ own     │
//! ```
//! `next` finds the frames of the enclosing joins in `frame[..base]`, and leaves its own behind them.
//! Between two calls the caller leaves all of it as it is: a join keeps its outer row right there.
//! An operator that changes the frame (projection, aggregation, sort) keeps its input's frame apart.

use crate::aggregate::AggregateCursor;
use crate::called::{CallCursor, HoldCursor};
use crate::context::{Env, Halt, row_bytes};
use crate::full_join::{FullJoinCursor, Sides};
use crate::join::JoinCursor;
use crate::lock::lock_frame;
use crate::lookup::{LateralCursor, LookupCursor};
use crate::scan::ScanCursor;
use crate::series::{SeriesCursor, UnnestCursor};
use crate::sort::{SortCursor, compare, sort_values};
use crate::unique::UniqueCursor;
use crate::window::WindowCursor;
use crate::with::{GivenCursor, WithCursor};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value, key};
use quintet_ir::plan::{JoinKind, SortKey};
use quintet_ir::{Expr, Plan};

/// Where a run of a plan has come to.
pub(crate) enum Cursor {
    Values(usize),
    Scan(Box<ScanCursor>),
    Series(SeriesCursor),
    Unnest(UnnestCursor),
    Call(CallCursor),
    Hold(Box<HoldCursor>),
    Lateral(Box<LateralCursor>),
    Lookup(LookupCursor),
    Join(Box<JoinCursor>),
    FullJoin(Box<FullJoinCursor>),
    Filter(Box<Cursor>),
    Project(Box<ProjectCursor>),
    Aggregate(Box<AggregateCursor>),
    Window(Box<WindowCursor>),
    With(Box<WithCursor>),
    Given(GivenCursor),
    Sort(Box<SortCursor>),
    Unique(Box<UniqueCursor>),
    Limit(Box<LimitCursor>),
    Lock(Box<Cursor>),
    Append(Box<AppendCursor>),
}

fn misfit() -> Halt {
    Halt::Error(SqlError::internal(
        "a cursor was run with a plan that it was not made for",
    ))
}

impl Cursor {
    /// Before the first frame.
    pub fn new(plan: &Plan) -> Cursor {
        match plan {
            Plan::Values { .. } => Cursor::Values(0),
            Plan::Scan(_) => Cursor::Scan(Box::default()),
            Plan::Series { .. } => Cursor::Series(SeriesCursor::default()),
            Plan::Unnest { .. } => Cursor::Unnest(UnnestCursor::default()),
            Plan::Call { .. } => Cursor::Call(CallCursor::default()),
            Plan::Hold { input } => Cursor::Hold(Box::new(HoldCursor::new(input))),
            Plan::Lateral { input, .. } => Cursor::Lateral(Box::new(LateralCursor::new(input))),
            Plan::Lookup { .. } => Cursor::Lookup(LookupCursor::default()),
            Plan::Join {
                outer,
                inner,
                kind: JoinKind::Full,
                ..
            } => Cursor::FullJoin(Box::new(FullJoinCursor::new(outer, inner))),
            Plan::Join { outer, inner, .. } => {
                Cursor::Join(Box::new(JoinCursor::new(outer, inner)))
            }
            Plan::Filter { input, .. } => Cursor::Filter(Box::new(Cursor::new(input))),
            Plan::Project { input, .. } => Cursor::Project(Box::new(ProjectCursor::new(input))),
            Plan::Aggregate { input, .. } => {
                Cursor::Aggregate(Box::new(AggregateCursor::new(input)))
            }
            Plan::Window { input, .. } => Cursor::Window(Box::new(WindowCursor::new(input))),
            Plan::With { first, then, .. } => Cursor::With(Box::new(WithCursor::new(first, then))),
            Plan::Given { .. } => Cursor::Given(GivenCursor::default()),
            Plan::Sort { input, .. } => Cursor::Sort(Box::new(SortCursor::new(input))),
            Plan::Unique { input } => Cursor::Unique(Box::new(UniqueCursor::new(input))),
            Plan::Limit { input, .. } => Cursor::Limit(Box::new(LimitCursor::new(input))),
            Plan::Lock { input, .. } => Cursor::Lock(Box::new(Cursor::new(input))),
            Plan::Append { inputs } => Cursor::Append(Box::new(AppendCursor {
                at: 0,
                inputs: inputs.iter().map(Cursor::new).collect(),
            })),
        }
    }

    /// The next frame behind `frame[..base]`; false at the end, with nothing behind it.
    pub fn next(
        &mut self,
        plan: &Plan,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        match (self, plan) {
            (Cursor::Values(at), Plan::Values { rows, .. }) => {
                frame.truncate(base);
                let Some(row) = rows.get(*at) else {
                    return Ok(false);
                };
                *at += 1;
                env.tick()?;
                for expr in row {
                    let value = env.eval(expr, &frame[..base])?;
                    frame.push(value);
                }
                Ok(true)
            }
            (Cursor::Scan(cursor), Plan::Scan(access)) => cursor.next(access, env, frame, base),
            (
                Cursor::Series(cursor),
                Plan::Series {
                    start,
                    stop,
                    step,
                    ty,
                },
            ) => {
                frame.truncate(base);
                env.tick()?;
                cursor.next([start, stop, step], *ty, env, frame)
            }
            (Cursor::Unnest(cursor), Plan::Unnest { array }) => {
                frame.truncate(base);
                env.tick()?;
                cursor.next(array, env, frame)
            }
            (
                Cursor::Call(cursor),
                Plan::Call {
                    callee,
                    arguments,
                    types,
                },
            ) => {
                frame.truncate(base);
                env.tick()?;
                cursor.next((callee, arguments), types.len(), env, frame)
            }
            (Cursor::Hold(cursor), Plan::Hold { input }) => cursor.next(input, env, frame, base),
            (Cursor::Lateral(cursor), Plan::Lateral { input, outer }) => {
                cursor.next(input, outer, env, frame, base)
            }
            (
                Cursor::Lookup(cursor),
                Plan::Lookup {
                    input,
                    keys,
                    values,
                },
            ) => cursor.next(input, (keys, values), env, frame, base),
            (
                Cursor::FullJoin(cursor),
                Plan::Join {
                    outer,
                    inner,
                    outer_width,
                    inner_width,
                    on,
                    ..
                },
            ) => {
                let sides = Sides {
                    outer,
                    inner,
                    outer_width: *outer_width,
                    inner_width: *inner_width,
                    on: on.as_ref(),
                };
                cursor.next(&sides, env, frame, base)
            }
            (Cursor::Join(cursor), Plan::Join { .. }) => cursor.next(plan, env, frame, base),
            (Cursor::Filter(cursor), Plan::Filter { input, predicate }) => {
                while cursor.next(input, env, frame, base)? {
                    if env.holds(predicate, frame)? {
                        return Ok(true);
                    }
                    env.tick()?;
                }
                Ok(false)
            }
            (Cursor::Project(cursor), Plan::Project { input, exprs }) => {
                cursor.next(input, exprs, env, frame, base)
            }
            (Cursor::Aggregate(cursor), Plan::Aggregate { .. }) => {
                cursor.next(plan, env, frame, base)
            }
            (Cursor::Window(cursor), Plan::Window { .. }) => cursor.next(plan, env, frame, base),
            (Cursor::With(cursor), Plan::With { .. }) => cursor.next(plan, env, frame, base),
            (Cursor::Given(cursor), Plan::Given { number, .. }) => {
                frame.truncate(base);
                cursor.next(*number, env, frame)
            }
            (Cursor::Sort(cursor), Plan::Sort { input, keys, top }) => {
                cursor.next(input, keys, top.as_deref(), env, frame, base)
            }
            (Cursor::Unique(cursor), Plan::Unique { input }) => {
                cursor.next(input, env, frame, base)
            }
            (
                Cursor::Limit(cursor),
                Plan::Limit {
                    input,
                    limit,
                    offset,
                    ties,
                },
            ) => {
                let counts = (limit.as_ref(), offset.as_ref());
                cursor.next(input, counts, ties, env, frame, base)
            }
            (Cursor::Lock(cursor), Plan::Lock { input, targets }) => {
                while cursor.next(input, env, frame, base)? {
                    if lock_frame(targets, env, frame)? {
                        return Ok(true);
                    }
                    env.tick()?;
                }
                Ok(false)
            }
            (Cursor::Append(cursor), Plan::Append { inputs }) => {
                while let (Some(input), Some(plan)) =
                    (cursor.inputs.get_mut(cursor.at), inputs.get(cursor.at))
                {
                    if input.next(plan, env, frame, base)? {
                        return Ok(true);
                    }
                    cursor.at += 1;
                }
                frame.truncate(base);
                Ok(false)
            }
            _ => Err(misfit()),
        }
    }

    /// Back to before the first frame, for another outer frame.
    pub fn rewind(&mut self, plan: &Plan, env: &mut Env<'_>) {
        match (self, plan) {
            (Cursor::Values(at), _) => *at = 0,
            (Cursor::Scan(cursor), _) => cursor.rewind(),
            (Cursor::Series(cursor), _) => *cursor = SeriesCursor::default(),
            (Cursor::Unnest(cursor), _) => *cursor = UnnestCursor::default(),
            (Cursor::Call(cursor), Plan::Call { arguments, .. }) => cursor.rewind(arguments, env),
            (Cursor::Hold(cursor), Plan::Hold { input }) => cursor.rewind(input, env),
            (Cursor::Lateral(cursor), Plan::Lateral { input, .. }) => cursor.rewind(input, env),
            (Cursor::Lookup(cursor), _) => *cursor = LookupCursor::default(),
            (Cursor::Join(cursor), Plan::Join { outer, inner, .. }) => {
                cursor.rewind(outer, inner, env)
            }
            (Cursor::FullJoin(cursor), Plan::Join { outer, inner, .. }) => {
                cursor.rewind(outer, inner, env)
            }
            (Cursor::Filter(cursor), Plan::Filter { input, .. })
            | (Cursor::Lock(cursor), Plan::Lock { input, .. }) => cursor.rewind(input, env),
            (Cursor::Project(cursor), Plan::Project { input, .. }) => {
                cursor.started = false;
                cursor.input.rewind(input, env);
            }
            (Cursor::Aggregate(cursor), Plan::Aggregate { input, .. }) => cursor.rewind(input, env),
            (Cursor::Window(cursor), Plan::Window { input, .. }) => cursor.rewind(input, env),
            (Cursor::With(cursor), Plan::With { first, then, .. }) => {
                cursor.rewind(first, then, env);
            }
            (Cursor::Given(cursor), _) => *cursor = GivenCursor::default(),
            (Cursor::Sort(cursor), Plan::Sort { input, .. }) => cursor.rewind(input, env),
            (Cursor::Unique(cursor), Plan::Unique { input }) => {
                cursor.rewind(input, env);
            }
            (Cursor::Limit(cursor), Plan::Limit { input, .. }) => {
                cursor.left = None;
                cursor.last = None;
                cursor.input.rewind(input, env);
            }
            (Cursor::Append(cursor), Plan::Append { inputs }) => {
                cursor.at = 0;
                for (input, plan) in cursor.inputs.iter_mut().zip(inputs) {
                    input.rewind(plan, env);
                }
            }
            (cursor, plan) => *cursor = Cursor::new(plan),
        }
    }
}

/// A projection: its input's frame is kept apart.
pub(crate) struct ProjectCursor {
    input: Cursor,
    frame: Vec<Value>,
    started: bool,
    /// Of each expression, if some are: whether it is a column that nothing else looks at, and may be taken as it is. Found out
    /// with the second row: most have one.
    takes: Option<Vec<bool>>,
}

impl ProjectCursor {
    fn new(input: &Plan) -> ProjectCursor {
        ProjectCursor {
            input: Cursor::new(input),
            frame: Vec::new(),
            started: false,
            takes: None,
        }
    }

    fn next(
        &mut self,
        input: &Plan,
        exprs: &[Expr],
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        if !self.started {
            self.frame.clear();
            self.frame.extend_from_slice(&frame[..base]);
            self.started = true;
        } else if self.takes.is_none() {
            self.takes = Some(match input.gives_frames_away() {
                true => looked_at_once(exprs),
                false => Vec::new(),
            });
        }
        frame.truncate(base);
        if !self.input.next(input, env, &mut self.frame, base)? {
            return Ok(false);
        }
        frame.reserve(exprs.len());
        let takes = self.takes.as_deref().unwrap_or_default();
        for (at, expr) in exprs.iter().enumerate() {
            let value = match expr {
                Expr::Column(column, _)
                    if *column >= base && takes.get(at).is_some_and(|takes| *takes) =>
                {
                    std::mem::take(&mut self.frame[*column])
                }
                expr => env.eval(expr, &self.frame)?,
            };
            frame.push(value);
        }
        Ok(true)
    }
}

/// Of each expression, whether it is a column that no other one looks at; nothing if that cannot be said.
fn looked_at_once(exprs: &[Expr]) -> Vec<bool> {
    // What is handed to a query is not told from the rest: that may be anything.
    if exprs.iter().any(Expr::has_subquery) {
        return Vec::new();
    }
    let mut columns = Vec::new();
    exprs
        .iter()
        .for_each(|expr| expr.collect_columns(&mut columns));
    let mut times = vec![0; columns.iter().max().map_or(0, |last| last + 1)];
    columns.iter().for_each(|column| times[*column] += 1);
    let is_taken = |expr: &Expr| matches!(expr, Expr::Column(column, _) if times[*column] == 1);
    exprs.iter().map(is_taken).collect()
}

/// Values that are equal for DISTINCT and GROUP BY have equal images.
pub(crate) fn encode_group(values: &[Value], types: &[SqlType]) -> Vec<u8> {
    let mut image = Vec::with_capacity(16 * values.len());
    for (i, value) in values.iter().enumerate() {
        match types.get(i) {
            Some(ty) => crate::keys::push(value, *ty, &mut image),
            None => key::encode(value, &mut image),
        }
    }
    image
}

/// LIMIT and OFFSET.
pub(crate) struct LimitCursor {
    input: Cursor,
    /// Frames still to give; `None` before the first.
    left: Option<u64>,
    /// WITH TIES: what the frame given last is ordered by.
    last: Option<Vec<Value>>,
}

impl LimitCursor {
    fn new(input: &Plan) -> LimitCursor {
        LimitCursor {
            input: Cursor::new(input),
            left: None,
            last: None,
        }
    }

    fn next(
        &mut self,
        input: &Plan,
        (limit, offset): (Option<&Expr>, Option<&Expr>),
        ties: &[SortKey],
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        base: usize,
    ) -> Result<bool, Halt> {
        let left = match self.left {
            Some(left) => left,
            None => {
                let limit = row_count(limit, "LIMIT", SqlState::INVALID_ROW_COUNT_IN_LIMIT, env)?;
                if limit.is_none() && !ties.is_empty() {
                    return Err(SqlError::new(
                        SqlState::INVALID_ROW_COUNT_IN_LIMIT,
                        "row count cannot be null in FETCH FIRST ... WITH TIES clause",
                    )
                    .into());
                }
                let skip = row_count(offset, "OFFSET", SqlState::INVALID_ROW_COUNT_IN_OFFSET, env)?;
                let mut left = limit.unwrap_or(u64::MAX);
                for _ in 0..skip.unwrap_or(0) {
                    if left == 0 || !self.input.next(input, env, frame, base)? {
                        left = 0;
                        break;
                    }
                    env.tick()?;
                }
                left
            }
        };
        let last = self.last.take();
        if (left == 0 && last.is_none()) || !self.input.next(input, env, frame, base)? {
            self.left = Some(0);
            frame.truncate(base);
            return Ok(false);
        }
        self.left = Some(left.saturating_sub(1));
        if !ties.is_empty() {
            let values = sort_values(ties, env, frame)?;
            let follows = last.is_some_and(|last| compare(&last, &values, ties).is_eq());
            if left == 0 && !follows {
                frame.truncate(base);
                return Ok(false);
            }
            self.last = Some(values);
        }
        Ok(true)
    }
}

/// A LIMIT or OFFSET; `None`: no bound.
pub(crate) fn row_count(
    expr: Option<&Expr>,
    what: &str,
    state: SqlState,
    env: &mut Env<'_>,
) -> SqlResult<Option<u64>> {
    let Some(expr) = expr else {
        return Ok(None);
    };
    match env.eval(expr, &[])?.as_i64() {
        None => Ok(None),
        Some(count) => u64::try_from(count)
            .map(Some)
            .map_err(|_| SqlError::new(state, format!("{what} must not be negative"))),
    }
}

/// One input after the other.
pub(crate) struct AppendCursor {
    at: usize,
    inputs: Vec<Cursor>,
}

/// Runs a plan to its end and keeps the rows.
pub(crate) fn collect(plan: &Plan, env: &mut Env<'_>) -> Result<Vec<Vec<Value>>, Halt> {
    collect_some(plan, env, usize::MAX)
}

/// The same, for at most so many rows.
pub(crate) fn collect_some(
    plan: &Plan,
    env: &mut Env<'_>,
    wanted: usize,
) -> Result<Vec<Vec<Value>>, Halt> {
    let mut cursor = Cursor::new(plan);
    let mut frame = Vec::new();
    let mut rows = Vec::new();
    while rows.len() < wanted && cursor.next(plan, env, &mut frame, 0)? {
        env.charge(row_bytes(&frame))?;
        rows.push(frame.clone());
    }
    Ok(rows)
}
