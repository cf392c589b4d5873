//! Expressions of a query over many rows, computed where the rows lie.
//!
//! Relies on: `ir::formula`, which gives what the expression gives or no answer; one set of parameters, and one
//! session, for as long as what is made here is used.  Promises: a row is let through, or not, as its filter says; where
//! something has no answer, nobody has been asked what stands behind it, and the filter itself is to be evaluated.
//! Does not: evaluate what depends on frames around the row: there is no answer.
//!
//! What has no column in it is computed once, when this is made: a formula sees `date '1994-01-01' + interval '1 year'`
//! as a constant.
//!
//! ```text
//!   filter ──► part AND part AND …     from left to right, as far as needed
//!                └─ a column beside a constant │ a date beside a moment │ IN a list │ OR of such │ formula │ no answer
//! ```
//! Parts that all branches of an OR have in common are asked before it, if asking them can be no error.
//! Hot path: once for each row of a table.

use crate::kept::{Hash, KeptRows};
use crate::lean::push_key;
use quintet_base::datum::Datum;
use quintet_base::row::RowReader;
use quintet_base::{SqlType, Value, datetime};
use quintet_ir::formula::{Formula, Scope};
use quintet_ir::function::Volatility;
use quintet_ir::plan::SortKey;
use quintet_ir::{Access, CompareOp, Expr, Host, eval};

/// A filter over the rows of a table.
pub(crate) struct Sieve {
    parts: Vec<Part>,
}

enum Part {
    Formula(Formula),
    /// A column, its type, and the constant that it is compared with.
    Column(usize, SqlType, CompareOp, Value),
    /// A column of dates, compared with a timestamp.
    Moment(usize, CompareOp, i64),
    /// A column, its type, and what it is looked for in; whether it must not be there.
    In(usize, SqlType, Vec<Value>, bool),
    Any(Vec<Sieve>),
    NoAnswer,
}

impl Sieve {
    /// Of a filter over the rows of an access.
    pub fn new(filter: &Expr, access: &Access, (params, host): (&[Value], &dyn Host)) -> Sieve {
        Sieve::of(&settled(filter, params, host), access)
    }

    fn of(filter: &Expr, access: &Access) -> Sieve {
        let mut parts = Vec::new();
        for part in parts_of(filter) {
            match factored(part) {
                Some((common, rest)) => {
                    parts.extend(common.into_iter().map(|part| Part::of(part, access)));
                    parts.push(Part::of(&rest, access));
                }
                None => parts.push(Part::of(part, access)),
            }
        }
        Sieve { parts }
    }

    /// Whether a row is let through; `None`: the filter has to be evaluated.
    #[inline]
    pub fn holds(&self, scope: &Scope<'_>) -> Option<bool> {
        self.truth(scope).map(|truth| truth == Some(true))
    }

    fn truth(&self, scope: &Scope<'_>) -> Option<Option<bool>> {
        let mut unknown = false;
        for part in &self.parts {
            match part.truth(scope)? {
                Some(false) => return Some(Some(false)),
                Some(true) => {}
                None => unknown = true,
            }
        }
        Some((!unknown).then_some(true))
    }
}

impl Part {
    fn of(expr: &Expr, access: &Access) -> Part {
        special(expr, access)
            .unwrap_or_else(|| over_row(expr, access).map_or(Part::NoAnswer, Part::Formula))
    }

    #[inline]
    fn truth(&self, scope: &Scope<'_>) -> Option<Option<bool>> {
        match self {
            Part::Formula(formula) => match formula.eval(scope)? {
                Datum::Null => Some(None),
                Datum::Bool(truth) => Some(Some(truth)),
                _ => None,
            },
            Part::Column(column, ty, op, value) => match scope.row.as_ref()?.datum(*column)? {
                Datum::Null => Some(None),
                datum => Some(Some(op.accepts(datum.order(&Datum::of(value), *ty)?))),
            },
            Part::Moment(column, op, micros) => match scope.row.as_ref()?.datum(*column)? {
                Datum::Null => Some(None),
                Datum::Date(day) => {
                    let at = datetime::date_to_timestamp(day).ok()?;
                    Some(Some(op.accepts(at.cmp(micros))))
                }
                _ => None,
            },
            Part::In(column, ty, list, negated) => {
                is_among(scope.row.as_ref()?, *column, *ty, list)
                    .map(|found| found.map(|found| found != *negated))
            }
            Part::Any(parts) => {
                let mut unknown = false;
                for part in parts {
                    match part.truth(scope)? {
                        Some(true) => return Some(Some(true)),
                        Some(false) => {}
                        None => unknown = true,
                    }
                }
                Some((!unknown).then_some(false))
            }
            Part::NoAnswer => None,
        }
    }
}

fn is_among(
    row: &RowReader<'_>,
    column: usize,
    ty: SqlType,
    list: &[Value],
) -> Option<Option<bool>> {
    let value = match row.datum(column)? {
        Datum::Null => return Some(None),
        // Once, not for each element.
        Datum::Text(text) if ty == SqlType::Bpchar => Datum::Text(text.trim_end_matches(' ')),
        value => value,
    };
    for element in list {
        if value.order(&Datum::of(element), ty)?.is_eq() {
            return Some(Some(true));
        }
    }
    Some(Some(false))
}

/// What formulas have no form for.
fn special(expr: &Expr, access: &Access) -> Option<Part> {
    match expr {
        Expr::Or(parts) => {
            let parts = parts.iter().map(|part| Sieve::of(part, access));
            Some(Part::Any(parts.collect()))
        }
        Expr::Compare { op, left, right } => {
            if let (Expr::Column(place, ty), Expr::Const(value, _)) = (&**left, &**right)
                && !value.is_null()
                && is_ordered_where_it_lies(*ty)
            {
                let column = column_of(*place, access)?;
                return Some(Part::Column(column, *ty, *op, value.clone()));
            }
            let Expr::Cast {
                input,
                to: SqlType::Timestamp,
                ..
            } = &**left
            else {
                return None;
            };
            match (&**input, &**right) {
                (Expr::Column(place, SqlType::Date), Expr::Const(Value::Timestamp(at), _)) => {
                    Some(Part::Moment(column_of(*place, access)?, *op, *at))
                }
                _ => None,
            }
        }
        Expr::InList {
            input,
            list,
            negated,
        } => {
            let constant = |element: &Expr| match element {
                Expr::Const(value, _) if !value.is_null() => Some(value.clone()),
                _ => None,
            };
            let list = list.iter().map(constant).collect::<Option<Vec<_>>>()?;
            match **input {
                Expr::Column(place, ty) => {
                    Some(Part::In(column_of(place, access)?, ty, list, *negated))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether stored values of a type are compared as data are.
fn is_ordered_where_it_lies(ty: SqlType) -> bool {
    use SqlType::*;
    matches!(
        ty,
        Int2 | Int4 | Int8 | Numeric | Text | Varchar | Bpchar | Date | Timestamp | TimestampTz
    )
}

/// The parts of an AND, or all of it.
fn parts_of(expr: &Expr) -> &[Expr] {
    match expr {
        Expr::And(parts) => parts,
        other => std::slice::from_ref(other),
    }
}

/// Whether it compares a column with constants: that is never an error.
fn is_plain(expr: &Expr) -> bool {
    let constant = |expr: &Expr| matches!(expr, Expr::Const(..));
    match expr {
        Expr::Compare { left, right, .. } => matches!(**left, Expr::Column(..)) && constant(right),
        Expr::InList { input, list, .. } => {
            matches!(**input, Expr::Column(..)) && list.iter().all(constant)
        }
        _ => false,
    }
}

/// `(a AND b) OR (a AND c)` as `a AND (b OR c)`: what is common, and the rest. What stood before `a` may not be an error.
fn factored(expr: &Expr) -> Option<(Vec<&Expr>, Expr)> {
    let Expr::Or(branches) = expr else {
        return None;
    };
    // Expressions have no equality; what looks the same is the same.
    let looks = |expr: &Expr| format!("{expr:?}");
    let looks_of = |branch| parts_of(branch).iter().map(looks).collect::<Vec<_>>();
    let known: Vec<Vec<String>> = branches.iter().map(looks_of).collect();
    let is_reached = |(branch, known): (&Expr, &Vec<String>), look: &String| {
        let plain = parts_of(branch).iter().take_while(|part| is_plain(part));
        known.iter().take(plain.count()).any(|known| known == look)
    };
    let is_common = |look| (branches.iter().zip(&known)).all(|branch| is_reached(branch, look));
    let common = parts_of(branches.first()?).iter().zip(&known[0]);
    let common: Vec<_> = common.filter(|(_, look)| is_common(look)).collect();
    if common.is_empty() {
        return None;
    }
    let is_left = |look: &String| common.iter().all(|(_, known)| *known != look);
    let mut rests = Vec::new();
    for (branch, looks) in branches.iter().zip(&known) {
        let parts = parts_of(branch).iter().zip(looks);
        let mut rest: Vec<Expr> = parts
            .filter(|(_, look)| is_left(look))
            .map(|(part, _)| part.clone())
            .collect();
        rests.push(match rest.len() {
            0 => Expr::Const(Value::Bool(true), SqlType::Bool),
            1 => rest.remove(0),
            _ => Expr::And(rest),
        });
    }
    let common = common.into_iter().map(|(part, _)| part).collect();
    Some((common, Expr::Or(rests)))
}

/// What rows of a scan are to meet; some that do not may come out all the same.
pub(crate) enum Probe<'p> {
    /// By the image of their keys.
    Keys {
        keys: &'p ProbeKeys,
        wanted: Wanted<'p>,
    },
    /// They do not come behind this one.
    Until(&'p Last),
}

/// The last one of as many rows as are wanted in an order: by what they are ordered by first.
pub(crate) struct Last {
    formula: Formula,
    ty: SqlType,
    descending: bool,
    nulls_first: bool,
    value: Value,
}

impl Last {
    /// For rows of an access that are ordered so, if there is a formula for that, and nothing behind it that could fail.
    pub fn new(
        keys: &[SortKey],
        access: &Access,
        (params, host): (&[Value], &dyn Host),
    ) -> Option<Last> {
        let (key, rest) = keys.split_first()?;
        if !rest.iter().all(|key| matches!(key.expr, Expr::Column(..))) {
            return None;
        }
        Some(Last {
            formula: over_row(&settled(&key.expr, params, host), access)?,
            ty: key.expr.ty(),
            descending: key.descending,
            nulls_first: key.nulls_first,
            value: Value::Null,
        })
    }

    /// It is this one from now on, by its first sort value.
    pub fn set(&mut self, value: Value) {
        self.value = value;
    }

    /// Whether a row surely comes behind it.
    fn is_before(&self, scope: &Scope<'_>) -> bool {
        let Some(value) = self.formula.eval(scope) else {
            return false;
        };
        match (value, Datum::of(&self.value)) {
            (Datum::Null, Datum::Null) => false,
            (Datum::Null, _) => !self.nulls_first,
            (_, Datum::Null) => self.nulls_first,
            (value, last) => match value.order(&last, self.ty) {
                Some(order) if self.descending => order.is_lt(),
                Some(order) => order.is_gt(),
                None => false,
            },
        }
    }
}

/// By what they meet it.
pub(crate) struct ProbeKeys(Vec<(Formula, SqlType)>);

/// What images are wanted.
pub(crate) enum Wanted<'p> {
    /// Those whose hash is there.
    Kept(&'p KeptRows),
    /// This one.
    Image(&'p [u8]),
}

impl ProbeKeys {
    /// Of expressions over the rows of an access, if all have formulas.
    pub fn new(
        keys: &[Expr],
        access: &Access,
        (params, host): (&[Value], &dyn Host),
    ) -> Option<ProbeKeys> {
        let formula = |key: &Expr| Some((over_row(&settled(key, params, host), access)?, key.ty()));
        keys.iter()
            .map(formula)
            .collect::<Option<_>>()
            .map(ProbeKeys)
    }
}

impl Probe<'_> {
    /// Whether a row surely does not meet it: a NULL equals nothing.
    #[inline]
    pub fn misses(&self, scope: &Scope<'_>, image: &mut Vec<u8>) -> bool {
        let (keys, wanted) = match self {
            Probe::Until(last) => return last.is_before(scope),
            Probe::Keys { keys, wanted } => (keys, wanted),
        };
        image.clear();
        match push_key(&keys.0, scope, image) {
            None => false,
            Some(false) => true,
            Some(true) => match wanted {
                Wanted::Kept(rows) => rows.first(Hash::of(image)).is_none(),
                Wanted::Image(wanted) => image != *wanted,
            },
        }
    }
}

/// The table's column at a place of the frame.
fn column_of(place: usize, access: &Access) -> Option<usize> {
    let number = place.checked_sub(access.offset)?;
    let column = access.table.columns.get(number)?;
    (!column.dropped).then_some(number)
}

/// The formula of an expression, in which everything is settled that can be, over the rows of an access.
pub(crate) fn over_row(expr: &Expr, access: &Access) -> Option<Formula> {
    if has_slots(expr) {
        return None;
    }
    let width = access.table.columns.len();
    let columns: Vec<usize> = (0..access.offset)
        .map(|_| usize::MAX)
        .chain(0..width)
        .collect();
    Formula::new(expr, Some((&access.table, &columns)))
}

/// The formula of an expression, in which everything is settled that can be, over frames: they take the place of
/// the slots.
pub(crate) fn over_frame(expr: &Expr) -> Option<Formula> {
    if has_slots(expr) {
        return None;
    }
    let mut expr = expr.clone();
    name_slots(&mut expr);
    Formula::new(&expr, None)
}

fn name_slots(expr: &mut Expr) {
    if let Expr::Column(place, ty) = expr {
        *expr = Expr::Param(*place, *ty);
    }
    expr.for_each_part_mut(&mut name_slots);
}

/// Whether something in it is neither constant nor a column, nor made of such.
fn has_slots(expr: &Expr) -> bool {
    let mut found = match expr {
        Expr::Const(..) | Expr::Column(..) => false,
        other => !is_made_of_parts(other),
    };
    expr.for_each_part(&mut |part| found = found || has_slots(part));
    found
}

/// True for nodes that give the same for the same parts, all through a statement.
fn is_made_of_parts(expr: &Expr) -> bool {
    match expr {
        Expr::Call { function, .. } => function.volatility != Volatility::Volatile,
        Expr::Compare { .. }
        | Expr::Distinct { .. }
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::Not(_)
        | Expr::IsNull { .. }
        | Expr::IsTruth { .. }
        | Expr::Case { .. }
        | Expr::Coalesce { .. }
        | Expr::Extreme { .. }
        | Expr::InList { .. }
        | Expr::Quantified { .. }
        | Expr::Array { .. }
        | Expr::Cast { .. } => true,
        _ => false,
    }
}

/// The expression with what stands still all through a statement computed. What fails stays as it is, so that an error is
/// reported only if it is reached.
pub(crate) fn settled(expr: &Expr, params: &[Value], host: &dyn Host) -> Expr {
    let mut expr = expr.clone();
    settle(&mut expr, params, host);
    expr
}

fn settle(expr: &mut Expr, params: &[Value], host: &dyn Host) {
    expr.for_each_part_mut(&mut |part| settle(part, params, host));
    let mut still = matches!(expr, Expr::Param(..)) || is_made_of_parts(expr);
    expr.for_each_part(&mut |part| still &= matches!(part, Expr::Const(..)));
    if still && let Ok(value) = eval(expr, &[], params, host) {
        *expr = Expr::Const(value, expr.ty());
    }
}
