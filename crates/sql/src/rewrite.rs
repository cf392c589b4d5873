//! Expressions and plans with their frame places changed.
//!
//! Relies on: `ir`.  Promises: what is not changed is kept as it is.  Does not: know why places
//! move: joins in another order, aggregation, a subquery inside a join.

use quintet_base::Value;
use quintet_ir::aggregate::AggregateCall;
use quintet_ir::expressions::each_of_plan;
use quintet_ir::function::Volatility;
use quintet_ir::plan::{Access, KeyBound, KeyRange, Path, Plan, SortKey};
use quintet_ir::{Expr, Sought, Subquery};
use std::mem::discriminant;
use std::sync::Arc;

/// The expression with every part for which `change` gives one replaced by it, outermost first.
pub(crate) fn transform(expr: &Expr, change: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Expr {
    if let Some(changed) = change(expr) {
        return changed;
    }
    let mut one = |e: &Expr| Box::new(transform(e, change));
    match expr {
        Expr::Const(..)
        | Expr::Param(..)
        | Expr::Column(..)
        | Expr::Outer(..)
        | Expr::NextVal(_)
        | Expr::CurrVal(_) => expr.clone(),
        Expr::Subquery(subquery) => Expr::Subquery(Box::new(Subquery {
            outer: list(&subquery.outer, change),
            tested: list(&subquery.tested, change),
            plan: Arc::clone(&subquery.plan),
            ..**subquery
        })),
        Expr::Compare { op, left, right } => Expr::Compare {
            op: *op,
            left: one(left),
            right: one(right),
        },
        Expr::Distinct {
            left,
            right,
            negated,
        } => Expr::Distinct {
            left: one(left),
            right: one(right),
            negated: *negated,
        },
        Expr::Not(input) => Expr::Not(one(input)),
        Expr::IsNull { input, negated } => Expr::IsNull {
            input: one(input),
            negated: *negated,
        },
        Expr::IsTruth {
            input,
            truth,
            negated,
        } => Expr::IsTruth {
            input: one(input),
            truth: *truth,
            negated: *negated,
        },
        Expr::Cast {
            input,
            to,
            modifier,
            explicit,
        } => Expr::Cast {
            input: one(input),
            to: *to,
            modifier: *modifier,
            explicit: *explicit,
        },
        Expr::Quantified {
            input,
            op,
            array,
            all,
        } => Expr::Quantified {
            input: one(input),
            op: *op,
            array: one(array),
            all: *all,
        },
        Expr::SetVal {
            sequence,
            value,
            is_called,
        } => Expr::SetVal {
            sequence: *sequence,
            value: one(value),
            is_called: one(is_called),
        },
        Expr::Call { function, args, ty } => Expr::Call {
            function,
            args: list(args, change),
            ty: *ty,
        },
        Expr::Routine { callee, args, ty } => Expr::Routine {
            callee: callee.clone(),
            args: list(args, change),
            ty: *ty,
        },
        Expr::And(args) => Expr::And(list(args, change)),
        Expr::Or(args) => Expr::Or(list(args, change)),
        Expr::Coalesce { args, ty } => Expr::Coalesce {
            args: list(args, change),
            ty: *ty,
        },
        Expr::Extreme { greatest, args, ty } => Expr::Extreme {
            greatest: *greatest,
            args: list(args, change),
            ty: *ty,
        },
        Expr::Array { elements, element } => Expr::Array {
            elements: list(elements, change),
            element: *element,
        },
        Expr::InList {
            input,
            list: items,
            negated,
        } => Expr::InList {
            input: one(input),
            list: list(items, change),
            negated: *negated,
        },
        Expr::Case {
            branches,
            otherwise,
            ty,
        } => Expr::Case {
            branches: branches
                .iter()
                .map(|(condition, result)| {
                    (transform(condition, change), transform(result, change))
                })
                .collect(),
            otherwise: otherwise.as_ref().map(|e| Box::new(transform(e, change))),
            ty: *ty,
        },
    }
}

fn list(exprs: &[Expr], change: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Vec<Expr> {
    exprs.iter().map(|expr| transform(expr, change)).collect()
}

/// The expression with every place `p` replaced by `place(p)`.
pub(crate) fn move_columns(expr: &Expr, place: &dyn Fn(usize) -> usize) -> Expr {
    transform(expr, &mut |part| match part {
        Expr::Column(column, ty) => Some(Expr::Column(place(*column), *ty)),
        _ => None,
    })
}

/// The sort key over moved places.
pub(crate) fn move_sort_key(key: &SortKey, place: &dyn Fn(usize) -> usize) -> SortKey {
    SortKey {
        expr: move_columns(&key.expr, place),
        ..key.clone()
    }
}

/// True if evaluating the expression twice may give two answers, or leaves a trace.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    let mut found = match expr {
        Expr::NextVal(_) | Expr::CurrVal(_) | Expr::SetVal { .. } | Expr::Routine { .. } => true,
        Expr::Subquery(subquery) => is_volatile_plan(&subquery.plan),
        Expr::Call { function, .. } => function.volatility == Volatility::Volatile,
        _ => false,
    };
    expr.for_each_part(&mut |part| found = found || is_volatile(part));
    found
}

/// The same of all expressions of a plan; one that locks rows leaves a trace.
pub(crate) fn is_volatile_plan(plan: &Plan) -> bool {
    let mut found = false;
    each_of_plan(plan, &mut |expr, _| found = found || is_volatile(expr));
    found || has_trace(plan)
}

/// Of the plan's own nodes: those of queries in its expressions have been looked at with them.
fn has_trace(plan: &Plan) -> bool {
    matches!(plan, Plan::Lock { .. } | Plan::Call { .. })
        || plan.inputs().into_iter().any(has_trace)
}

/// True if both are the same expression.
pub(crate) fn same(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Column(x, _), Expr::Column(y, _)) => x == y,
        (Expr::Column(..), _) | (_, Expr::Column(..)) => false,
        _ => are_alike(a, b) && format!("{a:?}") == format!("{b:?}"),
    }
}

/// Whether they may be the same, which is soon told of most that are not: their text takes long to make, and each is compared with
/// all of a list.
pub(crate) fn are_alike(a: &Expr, b: &Expr) -> bool {
    if discriminant(a) != discriminant(b) {
        return false;
    }
    match (a, b) {
        (Expr::Column(x, _), Expr::Column(y, _)) | (Expr::Outer(x, _), Expr::Outer(y, _)) => x == y,
        (Expr::Const(Value::Int4(x), _), Expr::Const(Value::Int4(y), _)) => x == y,
        (Expr::Const(Value::Int8(x), _), Expr::Const(Value::Int8(y), _)) => x == y,
        (Expr::Const(Value::Text(x), _), Expr::Const(Value::Text(y), _)) => x == y,
        _ => {
            let (mut own, mut others) = (Vec::new(), Vec::new());
            a.for_each_part(&mut |part| own.push(part));
            b.for_each_part(&mut |part| others.push(part));
            let mut pairs = own.iter().zip(&others);
            own.len() == others.len() && pairs.all(|(a, b)| are_alike(a, b))
        }
    }
}

/// A plan that was made for itself, as the inner side of a join whose frame so far is `by` wide:
/// inside a join the outer frame is the prefix of every frame.
pub(crate) fn shift(plan: Plan, by: usize) -> Plan {
    if by == 0 {
        return plan;
    }
    let place = |column| column + by;
    let expr = |e: &Expr| move_columns(e, &place);
    let exprs = |list: &[Expr]| list.iter().map(expr).collect::<Vec<Expr>>();
    let inside = |plan: Box<Plan>| Box::new(shift(*plan, by));
    match plan {
        Plan::Values { .. } => plan,
        Plan::Scan(access) => Plan::Scan(shift_access(access, by)),
        Plan::Series {
            start,
            stop,
            step,
            ty,
        } => Plan::Series {
            start: expr(&start),
            stop: expr(&stop),
            step: expr(&step),
            ty,
        },
        Plan::Unnest { array } => Plan::Unnest {
            array: expr(&array),
        },
        Plan::Call {
            callee,
            arguments,
            types,
        } => Plan::Call {
            callee,
            arguments: exprs(&arguments),
            types,
        },
        // The inputs are complete by themselves.
        Plan::Lateral { input, outer } => Plan::Lateral {
            input,
            outer: exprs(&outer),
        },
        Plan::Lookup {
            input,
            keys,
            values,
        } => Plan::Lookup {
            input,
            keys,
            values: exprs(&values),
        },
        Plan::Hold { input } => Plan::Hold {
            input: inside(input),
        },
        Plan::Join {
            outer,
            inner,
            outer_width,
            inner_width,
            kind,
            on,
        } => Plan::Join {
            outer: inside(outer),
            inner: inside(inner),
            outer_width,
            inner_width,
            kind,
            on: on.as_ref().map(expr),
        },
        Plan::Filter { input, predicate } => Plan::Filter {
            input: inside(input),
            predicate: expr(&predicate),
        },
        Plan::Project { input, exprs: list } => Plan::Project {
            input: inside(input),
            exprs: exprs(&list),
        },
        Plan::Aggregate {
            input,
            keys,
            calls,
            sets,
        } => Plan::Aggregate {
            input: inside(input),
            keys: exprs(&keys),
            calls: calls
                .iter()
                .map(|call| move_aggregate(call, &place))
                .collect(),
            sets,
        },
        Plan::Window {
            input,
            partition,
            order,
            calls,
        } => Plan::Window {
            input: inside(input),
            partition: exprs(&partition),
            order: order.iter().map(|key| move_sort_key(key, &place)).collect(),
            calls: calls.iter().map(|call| call.map(expr)).collect(),
        },
        Plan::Sort { input, keys, top } => Plan::Sort {
            input: inside(input),
            keys: keys.iter().map(|key| move_sort_key(key, &place)).collect(),
            top,
        },
        Plan::Unique { input } => Plan::Unique {
            input: inside(input),
        },
        Plan::Limit {
            input,
            limit,
            offset,
            ties,
        } => Plan::Limit {
            input: inside(input),
            limit,
            offset,
            ties: ties.iter().map(|key| move_sort_key(key, &place)).collect(),
        },
        Plan::Lock { input, mut targets } => {
            targets.iter_mut().for_each(|target| target.offset += by);
            Plan::Lock {
                input: inside(input),
                targets,
            }
        }
        Plan::With {
            number,
            first,
            then,
            turns,
        } => Plan::With {
            number,
            first: inside(first),
            then: inside(then),
            turns,
        },
        Plan::Given { .. } => plan,
        Plan::Append { inputs } => Plan::Append {
            inputs: inputs.into_iter().map(|plan| shift(plan, by)).collect(),
        },
    }
}

/// A source over earlier leaves with their places moved; its own frame is not named in it.
pub(crate) fn move_function(plan: &Plan, place: &dyn Fn(usize) -> usize) -> Plan {
    change_function(plan, &|expr| move_columns(expr, place))
}

/// A source over earlier leaves with its expressions changed.
pub(crate) fn change_function(plan: &Plan, expr: &dyn Fn(&Expr) -> Expr) -> Plan {
    let exprs = |list: &[Expr]| list.iter().map(expr).collect::<Vec<Expr>>();
    match plan {
        Plan::Series {
            start,
            stop,
            step,
            ty,
        } => Plan::Series {
            start: expr(start),
            stop: expr(stop),
            step: expr(step),
            ty: *ty,
        },
        Plan::Unnest { array } => Plan::Unnest { array: expr(array) },
        Plan::Call {
            callee,
            arguments,
            types,
        } => Plan::Call {
            callee: callee.clone(),
            arguments: exprs(arguments),
            types: types.clone(),
        },
        Plan::Lateral { input, outer } => Plan::Lateral {
            input: input.clone(),
            outer: exprs(outer),
        },
        other => other.clone(),
    }
}

fn shift_access(access: Access, by: usize) -> Access {
    let expr = |e: &Expr| move_columns(e, &|column| column + by);
    let bound = |bound: &KeyBound| KeyBound {
        value: expr(&bound.value),
        inclusive: bound.inclusive,
    };
    let range = |range: &KeyRange| KeyRange {
        equal: range.equal.iter().map(expr).collect(),
        lower: range.lower.as_ref().map(bound),
        upper: range.upper.as_ref().map(bound),
    };
    let path = match &access.path {
        Path::Full => Path::Full,
        Path::Primary(ranges) => Path::Primary(ranges.iter().map(range).collect()),
        Path::Index(number, ranges) => Path::Index(*number, ranges.iter().map(range).collect()),
        Path::Elements(number, sought) => {
            let shifted = sought.iter().map(|one| Sought {
                value: expr(&one.value),
                ..one.clone()
            });
            Path::Elements(*number, shifted.collect())
        }
    };
    Access {
        path,
        filter: access.filter.as_ref().map(expr),
        offset: access.offset + by,
        ..access
    }
}

/// An aggregate over moved places.
pub(crate) fn move_aggregate(
    call: &AggregateCall,
    place: &dyn Fn(usize) -> usize,
) -> AggregateCall {
    AggregateCall {
        args: call
            .args
            .iter()
            .map(|arg| move_columns(arg, place))
            .collect(),
        filter: call
            .filter
            .as_ref()
            .map(|filter| move_columns(filter, place)),
        order: call
            .order
            .iter()
            .map(|key| move_sort_key(key, place))
            .collect(),
        ..call.clone()
    }
}

/// One row of no columns: "no FROM".
pub(crate) fn one_row() -> Plan {
    Plan::Values {
        rows: vec![vec![]],
        types: vec![],
    }
}
