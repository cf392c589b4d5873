//! About how many rows there are: of tables as the engine counts them, of plans and conditions as their form suggests. And what it costs to ask
//! for some of them one by one, beside reading them all once.
//!
//! Relies on: who plans, for the counts of tables. Promises: what was asked is remembered, so that a plan can be made
//! again when tables have grown; the same counts give the same estimates. Does not: know how values are spread: a
//! condition lets the share through that its form does.

use quintet_base::SpaceId;
use quintet_ir::expressions::ranges;
use quintet_ir::function::Volatility;
use quintet_ir::plan::{Access, JoinKind, KeptAfter, Path, Plan, Turns};
use quintet_ir::schema::TableDef;
use quintet_ir::{CompareOp, Expr};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Rows of what nobody has counted.
const ROWS_UNKNOWN: f64 = 1000.0;

/// Values of a column of which nothing is known.
const VALUES_UNKNOWN: f64 = 200.0;

/// Rows that have a value of a key in common, where it is not known how many do.
const SOME: f64 = 3.0;

// What is done for many rows costs, in microseconds, as measured on rows of four columns; only the ratios matter. `join::order` has those of
// longer rows.
/// Reading a row where all are read.
pub(crate) const READ: f64 = 0.1;
/// Keeping a row to be found.
pub(crate) const KEEP: f64 = 0.2;
/// Looking for kept rows.
pub(crate) const LOOK: f64 = 0.15;
/// A question that a key leads to one row of; to some rows.
const ASK_ONE: f64 = 1.4;
const ASK_SOME: f64 = 2.6;
/// A row of a join that asks a key for one row; for some rows; for some that lie side by side.
const BY_KEY_ONE: f64 = 0.9;
const BY_KEY_SOME: f64 = 4.0;
const BY_KEY_SIDE_BY_SIDE: f64 = 1.5;

/// Rows that are kept without a file, about.
pub(crate) const KEPT_MAX: f64 = 1_000_000.0;

/// What keeping may cost more than reading those that ask, where it is not known how many of them are left to ask.
pub(crate) const READS_RISKED: f64 = 2.0;

/// How much of what keeping a table costs may be paid for asking it by key first, and how many ask so at least.
const PAID_FIRST: f64 = 0.5;
const ASKED_MIN: f64 = 16.0;

/// Counts of tables' rows, by the tables' spaces; they need be about right only.
pub struct Sizes<'a> {
    count: &'a dyn Fn(SpaceId) -> u64,
    asked: RefCell<BTreeMap<SpaceId, u64>>,
}

impl<'a> Sizes<'a> {
    /// Counts as this function gives them.
    pub fn new(count: &'a dyn Fn(SpaceId) -> u64) -> Sizes<'a> {
        Sizes {
            count,
            asked: RefCell::default(),
        }
    }

    /// What has been asked, and what the answers were.
    pub fn asked(self) -> Vec<(SpaceId, u64)> {
        self.asked.into_inner().into_iter().collect()
    }

    /// Rows of a table.
    pub(crate) fn table(&self, table: &TableDef) -> f64 {
        let space = table.space;
        let rows = *self
            .asked
            .borrow_mut()
            .entry(space)
            .or_insert_with(|| (self.count)(space));
        (rows as f64).max(1.0)
    }

    /// Rows of a plan.
    pub(crate) fn plan(&self, plan: &Plan) -> f64 {
        let rows = match plan {
            Plan::Values { rows, .. } => rows.len() as f64,
            Plan::Scan(access) => self.access(access),
            Plan::Series { .. } | Plan::Call { .. } | Plan::Given { .. } => ROWS_UNKNOWN,
            Plan::Unnest { .. } => 10.0,
            Plan::Join {
                outer,
                inner,
                kind,
                on,
                ..
            } => {
                let (all, offered) = (self.all(outer).min(self.all(inner)), self.offered(inner));
                let (outer, inner) = (
                    self.plan(outer),
                    offered.unwrap_or_else(|| self.plan(inner)),
                );
                let joined = match on {
                    // Most joins find the one row that a row of the longer side refers to, if it is among those that are left.
                    Some(_) => outer * inner / all,
                    None if offered.is_some() => outer * inner / all,
                    None if inner <= 1.0 => outer,
                    None => outer * inner,
                };
                match kind {
                    JoinKind::Inner => joined,
                    JoinKind::Left => joined.max(outer),
                    JoinKind::Full => joined.max(outer).max(inner),
                }
            }
            Plan::Filter { input, predicate } => self.plan(input) * share(predicate),
            Plan::Aggregate { keys, .. } if keys.is_empty() => 1.0,
            Plan::Aggregate { input, .. } => self.plan(input) / 5.0,
            Plan::Unique { input } => self.plan(input) / 2.0,
            Plan::Limit { input, limit, .. } => match limit {
                Some(Expr::Const(value, _)) => {
                    let limit = value.as_i64().map_or(f64::MAX, |limit| limit as f64);
                    self.plan(input).min(limit)
                }
                _ => self.plan(input),
            },
            Plan::Lateral { input, .. }
            | Plan::Hold { input }
            | Plan::Project { input, .. }
            | Plan::Window { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Lock { input, .. } => self.plan(input),
            Plan::Lookup { input, keys, .. } => {
                self.plan(input) / VALUES_UNKNOWN.powi(keys.len().min(2) as i32)
            }
            Plan::With {
                then,
                turns: Turns::Once,
                ..
            } => self.plan(then),
            Plan::With { first, .. } => self.plan(first) * 10.0,
            Plan::Append { inputs } => inputs.iter().map(|input| self.plan(input)).sum(),
        };
        rows.max(1.0)
    }

    /// All rows that a table could give to those that ask it by a key of some rows.
    fn offered(&self, plan: &Plan) -> Option<f64> {
        let Plan::Scan(access) = plan else {
            return None;
        };
        let mut keys = ranges(&access.path).iter();
        let by_key = keys.any(|range| range.equal.iter().any(Expr::uses_columns));
        let share = access.filter.as_ref().map_or(1.0, share);
        (by_key && !is_one_row(access)).then(|| self.table(&access.table) * share)
    }

    /// Rows of a plan if its tables' rows were all let through.
    fn all(&self, plan: &Plan) -> f64 {
        match plan {
            Plan::Scan(access) => self.table(&access.table),
            Plan::Join { outer, inner, .. } => self.all(outer).max(self.all(inner)),
            Plan::Filter { input, .. } | Plan::Project { input, .. } | Plan::Hold { input } => {
                self.all(input)
            }
            plan => self.plan(plan),
        }
    }

    /// What a question costs that is answered by this plan, in microseconds, if keys lead to its rows, and how many rows there are about.
    pub(crate) fn ask(&self, plan: &Plan) -> (f64, f64) {
        match plan {
            Plan::Scan(access) if is_one_row(access) => (ASK_ONE, 1.0),
            Plan::Scan(Access {
                path: Path::Full, ..
            }) => (self.plan(plan) * READ, self.plan(plan)),
            Plan::Scan(_) => (ASK_SOME, SOME),
            Plan::Join { outer, inner, .. } => {
                let ((outer, rows), (inner, each)) = (self.ask(outer), self.ask(inner));
                (outer + rows * inner, rows * each)
            }
            Plan::Filter { input, .. } | Plan::Project { input, .. } => self.ask(input),
            _ => (ASK_ONE, 1.0),
        }
    }

    /// What it costs to keep all of a table, to be found by hash.
    pub(crate) fn keeping(&self, table: &TableDef) -> f64 {
        self.table(table) * (READ + KEEP)
    }

    /// After how many questions by key a table is kept whole: when they have cost a part of what keeping it does. So nobody pays much for not having known how many
    /// there would be. `None`: never, as so many rows would go to a file, where they are found no sooner than by key.
    pub(crate) fn kept_after(&self, access: &Access) -> Option<KeptAfter> {
        let rows = self.table(&access.table);
        let each = by_key(&access.table, &access.path);
        let asked = self.keeping(&access.table) * PAID_FIRST / each;
        (rows <= KEPT_MAX).then(|| KeptAfter {
            asked: asked.max(ASKED_MIN) as u64,
            rows: rows as u64,
        })
    }

    /// Rows of tables that a plan reads from one end to the other; `None`: it begins with what a key leads to.
    pub(crate) fn read(&self, plan: &Plan) -> Option<f64> {
        match plan {
            Plan::Scan(access) => match access.path {
                Path::Full => Some(self.table(&access.table)),
                _ => None,
            },
            Plan::Join { outer, inner, .. } => {
                Some(self.read(outer)? + self.read(inner).unwrap_or_default())
            }
            Plan::Filter { input, .. }
            | Plan::Aggregate { input, .. }
            | Plan::Unique { input }
            | Plan::Hold { input }
            | Plan::Project { input, .. }
            | Plan::Window { input, .. }
            | Plan::Sort { input, .. } => self.read(input),
            Plan::Append { inputs } => inputs.iter().map(|input| self.read(input)).sum(),
            Plan::Values { .. }
            | Plan::Series { .. }
            | Plan::Call { .. }
            | Plan::Given { .. }
            | Plan::Unnest { .. }
            | Plan::Limit { .. }
            | Plan::Lateral { .. }
            | Plan::Lock { .. }
            | Plan::Lookup { .. }
            | Plan::With { .. } => None,
        }
    }

    fn access(&self, access: &Access) -> f64 {
        let rows = self.table(&access.table);
        let filter = access.filter.as_ref().map_or(1.0, share);
        let found = match &access.path {
            Path::Full => rows,
            _ if is_one_row(access) => 1.0,
            Path::Elements(_, sought) => rows / VALUES_UNKNOWN.powi(sought.len().min(2) as i32),
            Path::Primary(ranges) | Path::Index(_, ranges) => {
                let each = |range: &quintet_ir::KeyRange| {
                    let ends = range.lower.iter().chain(&range.upper).count() as i32;
                    rows / VALUES_UNKNOWN.powi(range.equal.len().min(4) as i32) * 0.3f64.powi(ends)
                };
                ranges.iter().map(each).sum::<f64>().min(rows)
            }
        };
        found * filter
    }
}

/// True if nothing is left out of what a plan's tables have.
pub(crate) fn is_whole(plan: &Plan) -> bool {
    match plan {
        Plan::Scan(access) => matches!(access.path, Path::Full) && access.filter.is_none(),
        Plan::Join { outer, inner, .. } => {
            let is_asked = |plan: &Plan| matches!(plan, Plan::Scan(access) if !matches!(access.path, Path::Full) && access.filter.is_none());
            is_whole(outer) && (is_whole(inner) || is_asked(inner))
        }
        _ => false,
    }
}

/// True if the keys name one row at most.
pub(crate) fn is_one_row(access: &Access) -> bool {
    names_one_row(&access.table, &access.path)
}

fn names_one_row(table: &TableDef, path: &Path) -> bool {
    let width = match path {
        Path::Primary(_) => table.primary_key.as_ref().map(|key| key.columns.len()),
        Path::Index(number, _) => {
            let index = &table.indexes[*number];
            index.unique.then_some(index.columns.len())
        }
        Path::Full | Path::Elements(..) => None,
    };
    matches!(ranges(path), [range] if Some(range.equal.len()) == width)
}

/// What a row of a join costs that asks by this path.
pub(crate) fn by_key(table: &TableDef, path: &Path) -> f64 {
    match path {
        path if names_one_row(table, path) => BY_KEY_ONE,
        Path::Primary(_) => BY_KEY_SIDE_BY_SIDE,
        _ => BY_KEY_SOME,
    }
}

/// The share of rows for which a condition is true.
pub(crate) fn share(condition: &Expr) -> f64 {
    match condition {
        Expr::And(parts) => parts.iter().map(share).product(),
        Expr::Or(parts) => 1.0 - parts.iter().map(|part| 1.0 - share(part)).product::<f64>(),
        Expr::Not(input) => 1.0 - share(input),
        Expr::Compare { op, .. } => match op {
            CompareOp::Eq => 0.04,
            CompareOp::Ne => 0.96,
            _ => 0.35,
        },
        Expr::IsNull { negated, .. } | Expr::IsTruth { negated, .. } => match negated {
            true => 0.95,
            false => 0.05,
        },
        Expr::InList { list, negated, .. } => {
            let found = (list.len() as f64 * 0.04).min(0.5);
            if *negated { 1.0 - found } else { found }
        }
        Expr::Quantified { .. } => 0.2,
        Expr::Call { function, .. } if function.volatility != Volatility::Volatile => {
            match function.name {
                "!~~" | "!~~*" | "!~" | "!~*" => 0.9,
                _ => 0.1,
            }
        }
        _ => 0.5,
    }
}

/// How many values a column of a table has, of so many rows.
pub(crate) fn values_of(table: &TableDef, column: usize, rows: f64) -> f64 {
    let primary = table.primary_key.iter().map(|key| key.columns.as_slice());
    let unique = table.indexes.iter().filter(|index| index.unique);
    let keys = primary.chain(unique.map(|index| index.columns.as_slice()));
    let known = keys.filter_map(|columns| match columns {
        [only] if *only == column => Some(rows),
        // The rows of one are few, as lines of an order.
        [first, _] if *first == column => Some(rows / 4.0),
        _ => None,
    });
    known.fold(VALUES_UNKNOWN.min(rows), f64::max).max(1.0)
}
