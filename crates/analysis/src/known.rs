//! Values as expressions over the arguments and the loops' variables.
//!
//! Relies on: `ir::Expr`.  Promises: evaluating one before the call gives what the routine will have there,
//! or NULL where that is not known yet; it has no effect and calls no routine.  Does not: simplify.

use crate::state::State;
use quintet_base::SqlType;
use quintet_ir::Expr;
use quintet_ir::function::Volatility;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Nodes of an expression that are worth keeping: `x := x || x` in a row would double them each time.
const NODES_MAX: usize = 64;

/// A value known before the call begins.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub expr: Arc<Expr>,
    /// NULL where it is not known, else the value.
    pub partial: bool,
}

impl Known {
    pub fn new(expr: Expr) -> Known {
        Known {
            expr: Arc::new(expr),
            partial: false,
        }
    }

    /// True if both are the same value for sure.
    pub fn is_same(&self, other: &Known) -> bool {
        let same = || format!("{:?}", self.expr) == format!("{:?}", other.expr);
        self.partial == other.partial && (Arc::ptr_eq(&self.expr, &other.expr) || same())
    }
}

/// An expression over the slots as one over the arguments; none if some part is not known.
pub(crate) fn known(expr: &Expr, state: &State) -> Option<Known> {
    if !may_be_early(expr) {
        return None;
    }
    replaced(expr, &mut |slot| state.known(slot).cloned())
}

/// An expression with other ones in the place of its parameters; none if one of them is not known. What is
/// known in part is let in only where NULL gives NULL: `coalesce(x, 0)` would make a value of "not known".
pub(crate) fn replaced(expr: &Expr, with: &mut dyn FnMut(usize) -> Option<Known>) -> Option<Known> {
    let mut expr = expr.clone();
    let mut partial = BTreeSet::new();
    let mut complete = true;
    let shape = expr.clone();
    replace(&mut expr, &mut |slot| match with(slot) {
        Some(known) => {
            if known.partial {
                partial.insert(slot);
            }
            Some(Expr::clone(&known.expr))
        }
        None => {
            complete = false;
            None
        }
    });
    (complete && nodes(&expr) <= NODES_MAX && is_strict(&shape, &partial)).then(|| Known {
        expr: Arc::new(expr),
        partial: !partial.is_empty(),
    })
}

/// True if the expression is NULL as soon as one of these parameters is.
fn is_strict(expr: &Expr, partial: &BTreeSet<usize>) -> bool {
    let passes_on = match expr {
        Expr::Call { function, .. } => function.strict || function.subscript,
        Expr::Param(..) | Expr::Compare { .. } | Expr::Cast { .. } | Expr::Not(_) => true,
        _ => false,
    };
    if !passes_on {
        let mut used = BTreeSet::new();
        crate::expressions::slots(expr, &mut used);
        return used.is_disjoint(partial);
    }
    let mut strict = true;
    expr.for_each_part(&mut |part| strict = strict && is_strict(part, partial));
    strict
}

/// `then` if a known condition holds, else `otherwise`; NULL for what is not known.
pub(crate) fn either(
    condition: Option<&Known>,
    then: Option<&Known>,
    otherwise: Option<&Known>,
) -> Option<Known> {
    if let (Some(then), Some(otherwise)) = (then, otherwise)
        && then.is_same(otherwise)
    {
        return Some(then.clone());
    }
    let condition = condition.filter(|condition| !condition.partial)?;
    let ty = then.or(otherwise)?.expr.ty();
    let value = |known: Option<&Known>| {
        known.map_or_else(|| Expr::null(ty), |known| Expr::clone(&known.expr))
    };
    let expr = Expr::Case {
        branches: vec![(Expr::clone(&condition.expr), value(then))],
        otherwise: Some(Box::new(value(otherwise))),
        ty,
    };
    let partial = |known: Option<&Known>| known.is_none_or(|known| known.partial);
    (nodes(&expr) <= NODES_MAX).then(|| Known {
        expr: Arc::new(expr),
        partial: partial(then) || partial(otherwise),
    })
}

/// True if evaluating it early, or for nothing, does no harm.
pub(crate) fn may_be_early(expr: &Expr) -> bool {
    let mut may = match expr {
        Expr::Call { function, .. } => function.volatility != Volatility::Volatile,
        Expr::Routine { .. }
        | Expr::Column(..)
        | Expr::Outer(..)
        | Expr::Subquery(_)
        | Expr::NextVal(_)
        | Expr::CurrVal(_)
        | Expr::SetVal { .. } => false,
        _ => true,
    };
    expr.for_each_part(&mut |part| may = may && may_be_early(part));
    may
}

/// True if the value depends on nothing but the parameters: neither on the session that asks nor on when.
pub fn is_fixed(expr: &Expr) -> bool {
    let mut fixed = match expr {
        Expr::Call { function, .. } => function.volatility == Volatility::Immutable,
        // Times and floats are written and read as the session says.
        Expr::Cast { input, to, .. } => is_plain(input.ty()) && is_plain(*to),
        Expr::Routine { .. }
        | Expr::Column(..)
        | Expr::Outer(..)
        | Expr::Subquery(_)
        | Expr::NextVal(_)
        | Expr::CurrVal(_)
        | Expr::SetVal { .. } => false,
        _ => true,
    };
    expr.for_each_part(&mut |part| fixed = fixed && is_fixed(part));
    fixed
}

/// Types whose values every session reads and writes alike.
fn is_plain(ty: SqlType) -> bool {
    use SqlType::{Bool, Bpchar, Int2, Int4, Int8, Name, Numeric, Oid, Text, Uuid, Varchar};
    [
        Bool, Int2, Int4, Int8, Numeric, Oid, Text, Varchar, Bpchar, Name, Uuid,
    ]
    .contains(&ty)
}

fn nodes(expr: &Expr) -> usize {
    let mut count = 1;
    expr.for_each_part(&mut |part| count += nodes(part));
    count
}

/// Puts other expressions in the place of slots.
fn replace(expr: &mut Expr, with: &mut dyn FnMut(usize) -> Option<Expr>) {
    if let Expr::Param(slot, _) = expr {
        if let Some(other) = with(*slot) {
            *expr = other;
        }
        return;
    }
    expr.for_each_part_mut(&mut |part| replace(part, with));
}
