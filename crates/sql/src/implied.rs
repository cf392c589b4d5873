//! Which partial indexes have every row that a query asks for.
//!
//! Relies on: conditions split at AND.  Promises: a predicate that is implied is true for every row for which the
//! conditions are.  Does not: prove much: each part of the predicate is a condition itself; or IS NOT NULL of what a
//! condition compares; or a comparison with a constant, or a list, that a condition with a constant is within. A parameter
//! implies nothing but that it is compared.

use crate::coerce::strip_relabel;
use crate::condition::{Condition, Part};
use crate::rewrite::{move_columns, same};
use quintet_base::{SqlType, Value};
use quintet_ir::schema::TableDef;
use quintet_ir::{CompareOp, Expr};
use std::cmp::Ordering;

/// A predicate that the conditions imply.
pub(crate) struct Predicate {
    /// The hidden column that is TRUE where it is fulfilled.
    pub column: usize,
    /// Numbers of the conditions that say no more than it does.
    pub conditions: Vec<usize>,
}

impl Predicate {
    /// What it says of its column. Nothing is taken by it: it is in no list of conditions.
    pub fn condition(&self) -> Condition {
        Condition {
            number: usize::MAX,
            column: self.column,
            part: Part::Equal(Expr::Const(Value::Bool(true), SqlType::Bool)),
            recheck: true,
        }
    }
}

/// The predicates of a table's indexes that the conditions imply; the table's frame is at `offset`.
pub(crate) fn predicates(table: &TableDef, offset: usize, conditions: &[&Expr]) -> Vec<Predicate> {
    let mut found: Vec<Predicate> = Vec::new();
    for index in table.indexes.iter().filter(|index| index.partial) {
        let column = index.columns[0];
        if found.iter().any(|known| known.column == column) {
            continue;
        }
        let Some(predicate) = index.predicate(table) else {
            continue;
        };
        let predicate = move_columns(predicate, &|place| place + offset);
        if let Some(conditions) = implies(conditions, &predicate) {
            found.push(Predicate { column, conditions });
        }
    }
    found
}

/// True if the conditions imply the predicate; then the numbers of those that are parts of it.
pub(crate) fn implies(conditions: &[&Expr], predicate: &Expr) -> Option<Vec<usize>> {
    let parts = match predicate {
        Expr::And(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut said = Vec::new();
    for part in parts {
        let plain = simple(part);
        let number = conditions
            .iter()
            .position(|condition| same(&simple(condition), &plain));
        match number {
            Some(number) => said.push(number),
            None if conditions.iter().any(|c| is_within(c, part)) => {}
            None => return None,
        }
    }
    Some(said)
}

/// `x = true` as `x`, `x = false` as `NOT x`.
fn simple(expr: &Expr) -> Expr {
    let Expr::Compare {
        op: CompareOp::Eq,
        left,
        right,
    } = expr
    else {
        return expr.clone();
    };
    match (&**left, &**right) {
        (other, Expr::Const(Value::Bool(true), _)) | (Expr::Const(Value::Bool(true), _), other) => {
            other.clone()
        }
        (other, Expr::Const(Value::Bool(false), _))
        | (Expr::Const(Value::Bool(false), _), other) => Expr::Not(Box::new(other.clone())),
        _ => expr.clone(),
    }
}

/// True if the part is true where the condition is.
fn is_within(condition: &Expr, part: &Expr) -> bool {
    match part {
        Expr::IsNull {
            input,
            negated: true,
        } => compares(condition, input),
        Expr::Compare { .. } | Expr::InList { .. } => {
            let Some((tested, wanted)) = bound(part) else {
                return false;
            };
            let Some((other, given)) = bound(condition) else {
                return false;
            };
            same(tested, other)
                && given
                    .iter()
                    .all(|given| wanted.iter().any(|w| w.has(given)))
        }
        _ => false,
    }
}

/// True if the condition is never true where `input` is NULL, because it compares it.
fn compares(condition: &Expr, input: &Expr) -> bool {
    let bare = strip_relabel(input);
    let is_it = |side: &Expr| match strip_relabel(side) {
        Expr::Cast { input, .. } => same(strip_relabel(input), bare),
        side => same(side, bare),
    };
    match condition {
        Expr::Compare { left, right, .. } => is_it(left) || is_it(right),
        Expr::InList {
            input,
            negated: false,
            ..
        } => is_it(input),
        _ => false,
    }
}

/// What values a comparison with a constant lets through.
struct Bound<'e> {
    op: CompareOp,
    value: &'e Value,
    ty: SqlType,
}

impl Bound<'_> {
    /// True if all that the other lets through passes.
    fn has(&self, other: &Bound) -> bool {
        use CompareOp::*;
        if self.ty != other.ty {
            return false;
        }
        let Some(order) = order(other.value, self.value, self.ty) else {
            return false;
        };
        match (self.op, other.op) {
            (Eq, Eq) => order.is_eq(),
            (Ne, Eq) => order.is_ne(),
            (Ne, Ne) => order.is_eq(),
            (Gt, Gt | Ge | Eq) if order == Ordering::Greater => true,
            (Gt, Gt) => order.is_eq(),
            (Ge, Gt | Ge | Eq) => order.is_ge(),
            (Lt, Lt | Le | Eq) if order == Ordering::Less => true,
            (Lt, Lt) => order.is_eq(),
            (Le, Lt | Le | Eq) => order.is_le(),
            (Ne, Gt) => order.is_ge(),
            (Ne, Lt) => order.is_le(),
            (Ne, Ge) => order.is_gt(),
            (Ne, Le) => order.is_lt(),
            _ => false,
        }
    }
}

/// How two constants of one type compare.
fn order(left: &Value, right: &Value, ty: SqlType) -> Option<Ordering> {
    let is = |op: CompareOp| {
        let compared = Expr::Compare {
            op,
            left: Box::new(Expr::Const(left.clone(), ty)),
            right: Box::new(Expr::Const(right.clone(), ty)),
        };
        match quintet_ir::fold::fold(compared) {
            Expr::Const(Value::Bool(yes), _) => Some(yes),
            _ => None,
        }
    };
    Some(match (is(CompareOp::Lt)?, is(CompareOp::Eq)?) {
        (true, _) => Ordering::Less,
        (false, true) => Ordering::Equal,
        (false, false) => Ordering::Greater,
    })
}

/// What is tested, and the alternatives that it may be; `None` for other forms, and where NULL is one of them.
fn bound(expr: &Expr) -> Option<(&Expr, Vec<Bound<'_>>)> {
    fn constant(op: CompareOp, expr: &Expr) -> Option<Bound<'_>> {
        match strip_relabel(expr) {
            Expr::Const(value, ty) if !value.is_null() => Some(Bound { op, value, ty: *ty }),
            _ => None,
        }
    }
    match expr {
        Expr::Compare { op, left, right } => Some((left.as_ref(), vec![constant(*op, right)?])),
        Expr::InList {
            input,
            list,
            negated: false,
        } => {
            let all: Option<Vec<Bound<'_>>> = list
                .iter()
                .map(|item| constant(CompareOp::Eq, item))
                .collect();
            Some((input.as_ref(), all?))
        }
        _ => None,
    }
}
