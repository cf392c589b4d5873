//! Statements about a range of rows, over the rows where they lie.
//!
//! Relies on: `formula`; `statement`, whose meaning they keep.  Promises: what [`Sweep::of`] gives means what the statement
//! means where it has an answer.  Does not: stand for statements that sort, group, lock, change keys or indexed
//! columns, or have CHECK to see to: those have no such form.
//!
//! ```text
//!   SELECT a FROM t WHERE k = $1 ORDER BY l LIMIT 1            range k = $1     first, a
//!   SELECT sum(a) FROM t WHERE k = $1                          range k = $1     total, a
//!   SELECT count(DISTINCT u.b) FROM t, u WHERE t.k = $1        range k = $1     each names a row of u:
//!     AND u.k = t.a AND u.c < $2                                                 look-up, filter, total
//!   UPDATE t SET a = $2 WHERE k = $1                           range k = $1     each is changed
//! ```

use crate::aggregate::{AggregateCall, AggregateFunction};
use crate::expr::Expr;
use crate::formula::{Computed, Formula};
use crate::plan::{Access, JoinKind, KeyBound, KeyRange, Path, Plan};
use crate::schema::{TableDef, TableRef};
use crate::statement::{Statement, Update};
use quintet_base::row::Glance;
use quintet_base::{SqlType, Value};
use std::sync::Arc;

/// A statement about a range. See the module.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Of which table.
    pub table: TableRef,
    /// By this index, else by the row key.
    pub index: Option<usize>,
    /// The key's first columns, with their types. A NULL: no rows.
    pub equal: Vec<(Formula, SqlType)>,
    /// Bounds of the next column.
    pub lower: Option<Edge>,
    /// The upper one.
    pub upper: Option<Edge>,
    /// From the highest key down.
    pub backward: bool,
    /// Whether a row is meant.
    pub filter: Option<Formula>,
    /// What becomes of them.
    pub deed: Deed,
}

/// One end of a range.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Its value. A NULL: no rows.
    pub value: Formula,
    /// The column's type.
    pub ty: SqlType,
    /// The value belongs to the range.
    pub inclusive: bool,
}

/// What becomes of the rows.
#[derive(Clone, Debug)]
pub enum Deed {
    /// One comes out, behind some that are passed over.
    First {
        /// How many; NULL: none.
        offset: Option<Formula>,
        /// What comes out of it.
        output: Vec<Formula>,
    },
    /// Aggregates of all of them come out.
    Total {
        /// Each names a row of another table, which is meant instead.
        inner: Option<Inner>,
        /// In the order in which they come out.
        totals: Vec<Total>,
    },
    /// They are changed.
    Change(Vec<(usize, Computed)>),
}

/// A row that each row names by its key.
#[derive(Clone, Debug)]
pub struct Inner {
    /// Of which table.
    pub table: TableRef,
    /// Its key, over the row that names it. A NULL: no such row.
    pub key: Vec<(Formula, SqlType)>,
    /// Whether it is meant, over itself.
    pub filter: Option<Formula>,
    /// The columns that are looked at.
    pub glance: Arc<Glance>,
}

/// An aggregate.
#[derive(Clone, Debug)]
pub struct Total {
    /// Which.
    pub what: Kind,
    /// Of what, over the row that is meant.
    pub of: Option<Formula>,
    /// Type of the argument.
    pub ty: SqlType,
}

/// Aggregates that take no memory but for DISTINCT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    CountRows,
    Count,
    /// Of integers.
    CountDistinct,
    /// Of integer or smallint.
    SumInteger,
    SumDecimal,
    Min,
    Max,
}

impl Sweep {
    /// The form of a statement, if it has one. `single`: its first row is all that is wanted.
    pub fn of(statement: &Statement, single: bool) -> Option<Sweep> {
        match statement {
            Statement::Query(plan) => asked(plan, single),
            Statement::Update(update) => changed(update),
            Statement::Insert(_) | Statement::Delete(_) => None,
        }
    }

    fn new(access: &Access, deed: Deed) -> Option<Sweep> {
        let table = &access.table;
        let (index, ranges) = match &access.path {
            Path::Primary(ranges) => (None, ranges),
            Path::Index(number, ranges) => (Some(*number), ranges),
            Path::Full | Path::Elements(..) => return None,
        };
        let [range] = ranges.as_slice() else {
            return None;
        };
        let columns = match index {
            Some(number) => &table.indexes[number].columns,
            None => &table.primary_key.as_ref()?.columns,
        };
        let ty = |place: usize| Some(table.frame_type(*columns.get(place)?));
        let equal = range.equal.iter().enumerate();
        let equal = equal.map(|(place, expr)| Some((Formula::new(expr, None)?, ty(place)?)));
        let edge = |bound: &Option<KeyBound>| match bound {
            None => Some(None),
            Some(bound) => Some(Some(Edge {
                value: Formula::new(&bound.value, None)?,
                ty: ty(range.equal.len())?,
                inclusive: bound.inclusive,
            })),
        };
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let filter = match &access.filter {
            Some(filter) => Some(Formula::new(filter, Some((table, &all)))?),
            None => None,
        };
        let unique = index.is_none_or(|number| table.indexes[number].unique);
        let is_point = unique && range.equal.len() == columns.len();
        if access.offset != 0 || is_point || range.equal.is_empty() {
            return None;
        }
        Some(Sweep {
            table: TableRef::clone(table),
            index,
            equal: equal.collect::<Option<_>>()?,
            lower: edge(&range.lower)?,
            upper: edge(&range.upper)?,
            backward: access.reverse,
            filter,
            deed,
        })
    }
}

/// Formulas over the frame of one table.
fn over(exprs: &[Expr], table: &TableDef) -> Option<Vec<Formula>> {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let exprs = exprs.iter();
    exprs
        .map(|expr| Formula::new(expr, Some((table, &all))))
        .collect()
}

fn asked(plan: &Plan, single: bool) -> Option<Sweep> {
    let (plan, offset, single) = match plan {
        Plan::Limit {
            input,
            limit,
            offset,
            ties,
        } if ties.is_empty() => {
            let one = matches!(limit, Some(Expr::Const(Value::Int8(1), _)));
            let offset = match offset {
                Some(offset) => Some(Formula::new(offset, None)?),
                None => None,
            };
            (&**input, offset, one)
        }
        plan => (plan, None, single),
    };
    let Plan::Project { input, exprs } = plan else {
        return None;
    };
    match &**input {
        Plan::Scan(access) if single => {
            let output = over(exprs, &access.table)?;
            Sweep::new(access, Deed::First { offset, output })
        }
        Plan::Aggregate {
            input,
            keys,
            calls,
            sets,
        } if keys.is_empty() && sets.is_empty() && offset.is_none() => {
            // They come out as they are.
            let kept = exprs.iter().map(|expr| match expr {
                Expr::Column(place, _) => calls.get(*place),
                _ => None,
            });
            let calls = kept.collect::<Option<Vec<_>>>()?;
            total(input, &calls)
        }
        _ => None,
    }
}

fn total(input: &Plan, calls: &[&AggregateCall]) -> Option<Sweep> {
    match input {
        Plan::Scan(access) => {
            let columns: Vec<usize> = (0..access.table.columns.len()).collect();
            let totals = totals(calls, &access.table, &columns)?;
            let inner = None;
            Sweep::new(access, Deed::Total { inner, totals })
        }
        Plan::Join {
            outer,
            inner,
            kind: JoinKind::Inner,
            on: None,
            ..
        } => {
            let (Plan::Scan(outer), Plan::Scan(inner)) = (&**outer, &**inner) else {
                return None;
            };
            let (inner, columns) = named(outer, inner)?;
            let totals = totals(calls, &inner.table, &columns)?;
            let inner = Some(inner);
            Sweep::new(outer, Deed::Total { inner, totals })
        }
        _ => None,
    }
}

/// The row that each row of the outer access names; and the columns that places of the common frame mean.
fn named(outer: &Access, inner: &Access) -> Option<(Inner, Vec<usize>)> {
    let table = &inner.table;
    let (Path::Primary(ranges), None) = (&inner.path, inner.kept_after) else {
        return None;
    };
    let [
        KeyRange {
            equal,
            lower: None,
            upper: None,
        },
    ] = ranges.as_slice()
    else {
        return None;
    };
    let primary = &table.primary_key.as_ref()?.columns;
    if equal.len() != primary.len() || inner.offset != outer.table.frame_width() {
        return None;
    }
    let outside: Vec<usize> = (0..outer.table.columns.len()).collect();
    let key = equal.iter().zip(primary).map(|(expr, column)| {
        let formula = Formula::new(expr, Some((&outer.table, &outside)))?;
        Some((formula, table.frame_type(*column)))
    });
    // What is not of this table is no column of it.
    let mut columns = vec![usize::MAX; inner.offset];
    columns.extend(0..table.columns.len());
    let filter = match &inner.filter {
        Some(filter) => Some(Formula::new(filter, Some((table, &columns)))?),
        None => None,
    };
    let glance = Glance::new(table.layout.clone(), (0..table.columns.len()).collect());
    let inner = Inner {
        key: key.collect::<Option<_>>()?,
        table: TableRef::clone(table),
        filter,
        glance: Arc::new(glance),
    };
    Some((inner, columns))
}

fn totals(calls: &[&AggregateCall], table: &TableDef, columns: &[usize]) -> Option<Vec<Total>> {
    let one = |call: &&AggregateCall| {
        if call.filter.is_some() || !call.order.is_empty() {
            return None;
        }
        let (of, ty) = match call.args.as_slice() {
            [] => (None, SqlType::Unknown),
            [arg] => (Some(Formula::new(arg, Some((table, columns)))?), arg.ty()),
            _ => return None,
        };
        let integer = matches!(ty, SqlType::Int2 | SqlType::Int4);
        let what = match (call.function, call.distinct) {
            (AggregateFunction::CountRows, false) => Kind::CountRows,
            (AggregateFunction::Count, false) => Kind::Count,
            (AggregateFunction::Count, true) if integer || ty == SqlType::Int8 => {
                Kind::CountDistinct
            }
            (AggregateFunction::Sum, false) if integer => Kind::SumInteger,
            (AggregateFunction::Sum, false) if ty == SqlType::Numeric => Kind::SumDecimal,
            (AggregateFunction::Min, _) if ty.element().is_none() => Kind::Min,
            (AggregateFunction::Max, _) if ty.element().is_none() => Kind::Max,
            _ => return None,
        };
        Some(Total { what, of, ty })
    };
    calls.iter().map(one).collect()
}

fn changed(update: &Update) -> Option<Sweep> {
    let table = &*update.table;
    let Plan::Scan(access) = &update.source else {
        return None;
    };
    let keys = table
        .primary_key
        .iter()
        .flat_map(|primary| &primary.columns);
    let indexed = table.indexes.iter().flat_map(|index| &index.columns);
    let mut changes = update.assignments.clone();
    changes.sort_by_key(|(column, _)| *column);
    let mut fixed = keys.chain(indexed);
    let moves = fixed.any(|column| changes.iter().any(|(changed, _)| changed == column));
    let twice = changes.windows(2).any(|pair| pair[0].0 == pair[1].0);
    let free = changes.iter().all(|(_, value)| value.is_free());
    let by_key = matches!(access.path, Path::Primary(_));
    let assigned = changes.iter().map(|(column, _)| *column);
    let heeded = (table.references.as_ref()).is_some_and(|references| references.heeds(assigned));
    let leaves = crate::point::leaves_partition(table, &changes);
    let checked = heeded || leaves || !table.checks.is_empty();
    if moves || twice || !free || !by_key || checked || update.returning.is_some() {
        return None;
    }
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let changes = changes.into_iter().map(|(column, value)| {
        let value = Computed::new(value, Some((table, &all)));
        value.needs_no_frame().then_some((column, value))
    });
    Sweep::new(access, Deed::Change(changes.collect::<Option<_>>()?))
}
