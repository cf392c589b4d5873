//! Nested loops; an inner side that does not depend on the outer one is read twice at most.
//!
//! Relies on: the outer frame is the prefix of what the inner plan's expressions see (`ir::plan`).
//! Promises: outer order, within it inner order; memory for the kept inner side is taken only while
//! the statement may have it.  Does not: choose the order of the tables.
//!
//! ```text
//!   pass 1   inner as planned                       one outer row costs nothing extra
//!   pass 2   inner read whole and kept, if its access does not use the outer row
//!   pass 3…  kept rows; with an equality between both sides only those that a hash table names
//! ```
//! Where each outer row names one inner row, outer rows are read some ahead (`outer_ahead`).
//! What remains of the inner scan's filter and of ON is evaluated for each candidate.

use crate::context::{Env, Halt, row_bytes};
use crate::cursor::Cursor;
use crate::outer_ahead::{OuterAhead, inner_access};
use quintet_base::{SqlResult, Value};
use quintet_ir::expressions::uses_outer;
use quintet_ir::plan::JoinKind;
use quintet_ir::{CompareOp, Expr, Path, Plan};
use std::collections::HashMap;

/// Fewer kept rows than this are compared one by one.
const HASH_ROWS_MIN: usize = 16;

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
    /// Whether the inner side looks at what is handed to the plan, which may be something else after a rewind.
    handed: bool,
}

/// The inner side's rows.
enum Kept {
    /// Not kept (yet).
    No,
    /// Being kept: this is the second pass.
    Growing(Rows),
    /// All of them; the position among the candidates of the present outer row.
    Whole {
        rows: Rows,
        table: Table,
        candidates: Candidates,
    },
    /// They depend on the outer row, or do not fit.
    Never,
}

enum Table {
    /// Nobody has asked for a third pass.
    Untried,
    /// Too few rows, or no equality to hash by.
    None,
    Hash(HashTable),
}

#[derive(Default)]
struct Rows {
    rows: Vec<Vec<Value>>,
    bytes: usize,
}

enum Candidates {
    All(usize),
    Some(Vec<u32>, usize),
}

/// Rows of the inner side by the values of the expressions that ON compares with the outer side.
pub(crate) struct HashTable {
    places: HashMap<Vec<u8>, Vec<u32>>,
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
            handed: uses_outer(inner),
        }
    }

    pub fn rewind(&mut self, outer: &Plan, inner: &Plan, env: &mut Env<'_>) {
        self.width = None;
        self.ahead.rewind();
        self.outer.rewind(outer, env);
        match std::mem::replace(&mut self.kept, Kept::No) {
            Kept::Growing(rows) => env.release(rows.bytes),
            Kept::Whole { rows, .. } if self.handed => env.release(rows.bytes),
            // Kept rows depend on no outer frame at all.
            kept => self.kept = kept,
        }
        self.inner.rewind(inner, env);
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
        loop {
            let width = match self.width {
                Some(width) => width,
                None => {
                    let found = match inner_access(outer, inner, self.passes) {
                        Some(access) => {
                            let side = (&mut self.outer, &**outer);
                            self.ahead.next(side, access, env, frame, base)?
                        }
                        None => self.outer.next(outer, env, frame, base)?,
                    };
                    if !found {
                        frame.truncate(base);
                        return Ok(false);
                    }
                    self.width = Some(frame.len());
                    self.matched = false;
                    self.begin_inner(inner, on.as_ref(), env, frame)?;
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
            frame.truncate(width);
            self.width = None;
            if *kind == JoinKind::Left && !self.matched {
                frame.resize(width + inner_width, Value::Null);
                return Ok(true);
            }
        }
    }

    /// A new outer row is in the frame.
    fn begin_inner(
        &mut self,
        inner: &Plan,
        on: Option<&Expr>,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
    ) -> Result<(), Halt> {
        let width = frame.len();
        self.passes += 1;
        if self.passes > 1 {
            self.inner.rewind(inner, env);
        }
        match &mut self.kept {
            Kept::No if self.passes > 1 => {
                self.kept = if access_uses_outer(inner, width) {
                    Kept::Never
                } else {
                    Kept::Growing(Rows::default())
                };
            }
            Kept::Whole {
                rows,
                table,
                candidates,
            } => {
                let pairs = pairs_of(inner, on, width);
                if matches!(table, Table::Untried) {
                    let worth = rows.rows.len() >= HASH_ROWS_MIN && !pairs.is_empty();
                    *table = match worth {
                        true => Table::Hash(HashTable::build(&rows.rows, &pairs, env, frame)?),
                        false => Table::None,
                    };
                }
                *candidates = match table {
                    Table::Untried | Table::None => Candidates::All(0),
                    Table::Hash(table) => {
                        let key = outer_key(&pairs, env, frame)?;
                        let places = key.map_or_else(Vec::new, |key| table.find(&key));
                        Candidates::Some(places, 0)
                    }
                };
            }
            _ => {}
        }
        Ok(())
    }

    fn next_inner(
        &mut self,
        inner: &Plan,
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
        width: usize,
    ) -> Result<bool, Halt> {
        loop {
            match &mut self.kept {
                Kept::No | Kept::Never => return self.inner.next(inner, env, frame, width),
                Kept::Growing(kept) => {
                    if !next_unfiltered(&mut self.inner, inner, env, frame, width)? {
                        let rows = std::mem::take(kept);
                        let candidates = Candidates::Some(Vec::new(), 0);
                        self.kept = Kept::Whole {
                            rows,
                            table: Table::Untried,
                            candidates,
                        };
                        return Ok(false);
                    }
                    let bytes = row_bytes(&frame[width..]);
                    if env.may_charge(bytes) {
                        kept.bytes += bytes;
                        kept.rows.push(frame[width..].to_vec());
                    } else {
                        // The rest of this pass goes on without keeping, and so do all others.
                        env.release(kept.bytes);
                        self.kept = Kept::Never;
                    }
                }
                Kept::Whole {
                    rows, candidates, ..
                } => {
                    let place = match candidates {
                        Candidates::All(at) => {
                            *at += 1;
                            Some(*at - 1)
                        }
                        Candidates::Some(places, at) => {
                            *at += 1;
                            places.get(*at - 1).map(|place| *place as usize)
                        }
                    };
                    let Some(row) = place.and_then(|place| rows.rows.get(place)) else {
                        return Ok(false);
                    };
                    frame.truncate(width);
                    frame.extend_from_slice(row);
                }
            }
            let filter = inner_filter(inner);
            if filter.map_or(Ok(true), |filter| env.holds(filter, frame))? {
                return Ok(true);
            }
            env.tick()?;
        }
    }
}

/// The filter that is left out while the inner side is kept: that of a lone scan.
fn inner_filter(inner: &Plan) -> Option<&Expr> {
    match inner {
        Plan::Scan(access) => access.filter.as_ref(),
        _ => None,
    }
}

fn next_unfiltered(
    cursor: &mut Cursor,
    inner: &Plan,
    env: &mut Env<'_>,
    frame: &mut Vec<Value>,
    width: usize,
) -> Result<bool, Halt> {
    match (cursor, inner) {
        (Cursor::Scan(cursor), Plan::Scan(access)) => {
            cursor.next_filtered(access, None, env, frame, width)
        }
        (cursor, inner) => cursor.next(inner, env, frame, width),
    }
}

/// True if other inner rows are read for another outer row.
fn access_uses_outer(inner: &Plan, width: usize) -> bool {
    match inner {
        Plan::Scan(access) => match &access.path {
            Path::Full => false,
            Path::Primary(ranges) | Path::Index(_, ranges) => ranges.iter().any(|range| {
                let bounds = range
                    .lower
                    .iter()
                    .chain(&range.upper)
                    .map(|bound| &bound.value);
                range
                    .equal
                    .iter()
                    .chain(bounds)
                    .any(|expr| uses_below(expr, width))
            }),
        },
        inner => plan_uses_below(inner, width),
    }
}

fn uses_below(expr: &Expr, width: usize) -> bool {
    let mut columns = Vec::new();
    expr.collect_columns(&mut columns);
    columns.iter().any(|column| *column < width)
}

/// True if some expression of the plan looks at a frame column below `width`.
fn plan_uses_below(plan: &Plan, width: usize) -> bool {
    let uses = |expr: &Expr| uses_below(expr, width);
    match plan {
        Plan::Values { rows, .. } => rows.iter().flatten().any(uses),
        Plan::Scan(access) => {
            access.filter.as_ref().is_some_and(uses) || access_uses_outer(plan, width)
        }
        Plan::Series {
            start, stop, step, ..
        } => [start, stop, step].into_iter().any(uses),
        Plan::Unnest { array } => uses(array),
        Plan::Call { arguments, .. } => arguments.iter().any(uses),
        // What stands in them begins at 0 again.
        Plan::Lateral { outer, .. } => outer.iter().any(uses),
        Plan::Lookup { values, .. } => values.iter().any(uses),
        Plan::Join {
            outer, inner, on, ..
        } => {
            on.as_ref().is_some_and(uses)
                || plan_uses_below(outer, width)
                || plan_uses_below(inner, width)
        }
        Plan::Filter { input, predicate } => uses(predicate) || plan_uses_below(input, width),
        Plan::Project { input, exprs } => exprs.iter().any(uses) || plan_uses_below(input, width),
        Plan::Aggregate {
            input, keys, calls, ..
        } => {
            keys.iter().any(uses)
                || calls.iter().any(|call| {
                    call.args.iter().chain(&call.filter).any(uses)
                        || call.order.iter().any(|key| uses(&key.expr))
                })
                || plan_uses_below(input, width)
        }
        Plan::Window {
            input,
            partition,
            order,
            calls,
        } => {
            partition.iter().any(uses)
                || order.iter().any(|key| uses(&key.expr))
                || calls
                    .iter()
                    .any(|call| call.exprs().chain(call.frame.offsets()).any(uses))
                || plan_uses_below(input, width)
        }
        Plan::Sort { input, keys, .. } => {
            keys.iter().any(|key| uses(&key.expr)) || plan_uses_below(input, width)
        }
        Plan::Limit { input, ties, .. } => {
            ties.iter().any(|key| uses(&key.expr)) || plan_uses_below(input, width)
        }
        Plan::Unique { input } | Plan::Hold { input } => plan_uses_below(input, width),
        // Locks are taken as rows come by; they must be asked for each time.
        Plan::Lock { .. } => true,
        Plan::With { first, then, .. } => {
            plan_uses_below(first, width) || plan_uses_below(then, width)
        }
        // What a turn gives must be read again in the next one.
        Plan::Given { turning, .. } => *turning,
        Plan::Append { inputs } => inputs.iter().any(|input| plan_uses_below(input, width)),
    }
}

/// `outer = inner` comparisons among what every joined row must fulfil: (outer side, inner side).
fn pairs_of<'p>(inner: &'p Plan, on: Option<&'p Expr>, width: usize) -> Vec<(&'p Expr, &'p Expr)> {
    let mut found = equalities(on, width);
    found.extend(equalities(inner_filter(inner), width));
    found
}

/// The same among the parts of one condition.
pub(crate) fn equalities(condition: Option<&Expr>, width: usize) -> Vec<(&Expr, &Expr)> {
    let mut found = Vec::new();
    if let Some(condition) = condition {
        collect_equalities(condition, width, &mut found);
    }
    found
}

fn collect_equalities<'p>(
    condition: &'p Expr,
    width: usize,
    found: &mut Vec<(&'p Expr, &'p Expr)>,
) {
    match condition {
        Expr::And(parts) => parts
            .iter()
            .for_each(|part| collect_equalities(part, width, found)),
        Expr::Compare {
            op: CompareOp::Eq,
            left,
            right,
        } => {
            for (outer, inner) in [(left, right), (right, left)] {
                let mut columns = Vec::new();
                inner.collect_columns(&mut columns);
                let inside = !columns.is_empty() && columns.iter().all(|column| *column >= width);
                columns.clear();
                outer.collect_columns(&mut columns);
                let plain = !outer.has_subquery() && !inner.has_subquery();
                if inside && plain && columns.iter().all(|column| *column < width) {
                    found.push((outer, inner));
                    return;
                }
            }
        }
        _ => {}
    }
}

/// The image of the outer row for the hash table; `None`: a NULL in it, which equals nothing.
pub(crate) fn outer_key(
    pairs: &[(&Expr, &Expr)],
    env: &Env<'_>,
    frame: &[Value],
) -> SqlResult<Option<Vec<u8>>> {
    image(pairs.iter().map(|(outer, _)| *outer), env, frame)
}

fn image<'p>(
    exprs: impl Iterator<Item = &'p Expr>,
    env: &Env<'_>,
    frame: &[Value],
) -> SqlResult<Option<Vec<u8>>> {
    let mut image = Vec::with_capacity(16);
    for expr in exprs {
        let value = env.eval_plain(expr, frame)?;
        if value.is_null() {
            return Ok(None);
        }
        crate::keys::push(&value, expr.ty(), &mut image);
    }
    Ok(Some(image))
}

impl HashTable {
    /// The rows with this image.
    pub fn find(&self, image: &[u8]) -> Vec<u32> {
        self.places.get(image).cloned().unwrap_or_default()
    }

    pub fn build(
        rows: &[Vec<Value>],
        pairs: &[(&Expr, &Expr)],
        env: &mut Env<'_>,
        frame: &mut Vec<Value>,
    ) -> Result<HashTable, Halt> {
        let width = frame.len();
        let mut places: HashMap<Vec<u8>, Vec<u32>> = HashMap::new();
        for (place, row) in rows.iter().enumerate() {
            frame.truncate(width);
            frame.extend_from_slice(row);
            env.tick()?;
            if let Some(image) = image(pairs.iter().map(|(_, inner)| *inner), env, frame)? {
                env.charge(image.len() + 64)?;
                places.entry(image).or_default().push(place as u32);
            }
        }
        frame.truncate(width);
        Ok(HashTable { places })
    }
}
