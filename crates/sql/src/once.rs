//! Values that are used several times and evaluated once: what CASE and NULLIF compare, keys of sorts and windows.
//!
//! Relies on: what is handed to a subquery is evaluated once for each of its runs (`ir::subquery`).  Promises: a function that is
//! volatile, or of the user's, is called once for each evaluation of the whole; anything else stays where it is
//! used, so that conditions on columns are still recognised.  Does not: do so for BETWEEN, which PostgreSQL
//! writes out, too.
//!
//! ```text
//!   CASE f(a) WHEN 1 THEN b …     ──►     (SELECT CASE $0 WHEN 1 THEN $1 …)  handed: $0 = f(a), $1 = b
//!   SELECT f(a) … ORDER BY f(a)   ──►     a column f(a) below the sort, which the select list takes, too
//! ```

use crate::rewrite::{is_volatile, one_row, same, transform};
use quintet_base::SqlResult;
use quintet_ir::plan::Plan;
use quintet_ir::{Expr, Subquery, SubqueryForm, depth};
use std::sync::Arc;

/// A value with more parts is not written out twice.
const PARTS_MAX: usize = 200;

/// Stands for the value until it is known what else is handed.
const MARK: usize = usize::MAX;

/// What `body` makes of the value, whose parts are not to be evaluated more than once.
///
/// # Errors
/// Those of `body`.
pub(crate) fn once(value: Expr, body: impl FnOnce(&Expr) -> SqlResult<Expr>) -> SqlResult<Expr> {
    if !is_volatile(&value) {
        return once_if_large(value, body);
    }
    handed(value, body)
}

/// The same of a value that may be evaluated more than once, but has many parts: within others of its kind it would have
/// more than any memory holds.
///
/// # Errors
/// Those of `body`.
pub(crate) fn once_if_large(
    value: Expr,
    body: impl FnOnce(&Expr) -> SqlResult<Expr>,
) -> SqlResult<Expr> {
    match depth::has_more_parts(&value, PARTS_MAX) && !is_volatile(&value) {
        true => handed(value, body),
        false => body(&value),
    }
}

fn handed(value: Expr, body: impl FnOnce(&Expr) -> SqlResult<Expr>) -> SqlResult<Expr> {
    let body = body(&Expr::Outer(MARK, value.ty()))?;
    let ty = body.ty();
    let mut handed = vec![value];
    let body = transform(&body, &mut |part| match part {
        Expr::Outer(MARK, ty) => Some(Expr::Outer(0, *ty)),
        Expr::Column(_, ty) | Expr::Outer(_, ty) => {
            let known = handed.iter().skip(1).position(|other| same(other, part));
            let place = known.map_or(handed.len(), |place| place + 1);
            if place == handed.len() {
                handed.push(part.clone());
            }
            Some(Expr::Outer(place, *ty))
        }
        _ => None,
    });
    Ok(Expr::Subquery(Box::new(Subquery {
        form: SubqueryForm::Value(0),
        outer: handed,
        tested: vec![],
        plan: Arc::new(Plan::Project {
            input: Box::new(one_row()),
            exprs: vec![body],
        }),
        ty,
    })))
}

/// Keys that a plan computes for those above it.
pub(crate) struct Computed(Vec<(Expr, Expr)>);

impl Computed {
    /// The plan with a column more for each of the keys that is not to be evaluated more than once.
    pub fn below<'e>(plan: Plan, keys: impl Iterator<Item = &'e Expr>) -> (Plan, Computed) {
        let mut computed: Vec<(Expr, Expr)> = Vec::new();
        let mut types = None;
        for key in keys.filter(|key| is_volatile(key)) {
            let types: &Vec<_> = types.get_or_insert_with(|| plan.frame_types());
            if !computed.iter().any(|(known, _)| same(known, key)) {
                let place = Expr::Column(types.len() + computed.len(), key.ty());
                computed.push((key.clone(), place));
            }
        }
        let Some(types) = types else {
            return (plan, Computed(computed));
        };
        let columns = types.into_iter().enumerate();
        let columns = columns.map(|(place, ty)| Expr::Column(place, ty));
        let plan = Plan::Project {
            input: Box::new(plan),
            exprs: columns
                .chain(computed.iter().map(|(key, _)| key.clone()))
                .collect(),
        };
        (plan, Computed(computed))
    }

    /// Takes what was computed from where it is now.
    pub fn take(&self, expr: &mut Expr) {
        if self.0.is_empty() {
            return;
        }
        *expr = transform(expr, &mut |part| {
            let found = self.0.iter().find(|(key, _)| same(part, key));
            found.map(|(_, place)| place.clone())
        });
    }
}
