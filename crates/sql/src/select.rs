//! Queries: SELECT, VALUES, and what they are made of.
//!
//! Relies on: `from`, `join`, `group`, `set_operation`.  Promises: the plan yields exactly the
//! columns of the select list, in order.  Does not: plan what changes rows.
//!
//! ```text
//! FROM, WHERE -> join -> [Aggregate -> Filter(HAVING)] -> [windows] -> [Sort] -> [Lock] -> Project -> [Limit]
//! DISTINCT:      join -> [Aggregate …] -> [windows] -> Project -> Unique -> [Sort] -> [Limit]
//! DISTINCT ON:   … -> Sort -> the first of each -> Project -> [Limit]
//! ```

use crate::access::Order;
use crate::call::direction;
use crate::coerce;
use crate::comparable;
use crate::distinct::{bind_distinct_on, first_of_each, is_plain};
use crate::expanded::without_expanded;
use crate::expr::Binder;
use crate::from::From;
use crate::group::Grouping;
use crate::grouping_sets::bind_keys;
use crate::join::{join, mark_needed};
use crate::limit::{bind_limits, top_of};
use crate::locking::plan_locks;
use crate::names::{self, inner, required};
use crate::once::Computed;
use crate::output::{self, Target};
use crate::planner::{Inlines, Planner};
use crate::pulled::Parts;
use crate::rewrite::same;
use crate::scope::Output;
use crate::semi_join::settle;
use crate::set_operation::plan_set_operation;
use crate::sets::sets_in_from;
use crate::subquery::Subqueries;
use crate::values::plan_values;
use crate::watch;
use crate::window::Windows;
use crate::with;
use pg_query::NodeEnum;
use pg_query::protobuf::{Node, SelectStmt, SetOperation, SortBy};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::Expr;
use quintet_ir::fold::fold;
use quintet_ir::plan::{Plan, SortKey};
use std::cell::{Cell, RefCell};

pub(crate) use crate::output::{figure_name, output_name};

/// A planned query.
#[derive(Debug)]
pub(crate) struct Query {
    pub plan: Plan,
    pub outputs: Vec<Output>,
    pub rows: Rows,
    /// What it is made of, where it can be a part of a query around it.
    pub parts: Option<Parts>,
}

/// How many rows a query has, as far as its form tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rows {
    One,
    AtMostOne,
    Many,
}

/// Plans a query. `wanted`: the types that INSERT gives to columns without one; `Unknown` leaves them
/// without one, if nothing in the query asks for their type.
///
/// # Errors
/// As PostgreSQL's analysis.
pub(crate) fn plan_query(
    planner: &Planner,
    select: &SelectStmt,
    wanted: Option<&[SqlType]>,
) -> SqlResult<Query> {
    watch::look()?;
    planner.calls.allow();
    let whole = || NodeEnum::SelectStmt(Box::new(select.clone()));
    let before = with::enter_with(planner, select.with_clause.as_ref(), &whole)?;
    let query = if select.op() != SetOperation::SetopNone && select.larg.is_some() {
        plan_set_operation(planner, select)
    } else if !select.values_lists.is_empty() {
        plan_values(planner, select, wanted)
    } else {
        plan_select(planner, select, wanted)
    };
    let mut query = query?;
    query.plan = with::leave_with(planner, before, query.plan)?;
    if select.with_clause.is_some() {
        query.parts = None;
    }
    Ok(query)
}

fn plan_select(
    planner: &Planner,
    select: &SelectStmt,
    wanted: Option<&[SqlType]>,
) -> SqlResult<Query> {
    let expanded = without_expanded(select);
    let select = expanded.as_ref().unwrap_or(select);
    let moved = sets_in_from(planner, select)?;
    let select = moved.as_ref().unwrap_or(select);
    refuse_parts(planner, select)?;
    let mut from = From::default();
    let around = planner.locking.replace(select.locking_clause.clone());
    // What groups leave out must be a column of its own: what a subselect's column stands for may stand elsewhere, too.
    let inlines = planner.inlines.get();
    if has_sets(select) {
        planner.inlines.set(Inlines::Nothing);
    }
    let added = from.add_items(planner, &select.from_clause);
    planner.inlines.set(inlines);
    planner.locking.replace(around);
    added?;
    let subqueries = Subqueries::new(from.width);
    let aggregates = RefCell::new(Vec::new());
    let groupings = RefCell::new(Vec::new());
    let windows = Windows::default();
    // An expression by itself, as routines ask for many.
    let alone = Cell::new(
        select.from_clause.is_empty()
            && select.group_clause.is_empty()
            && select.having_clause.is_none(),
    );
    let binder = |clause, with_aggregates: bool| Binder {
        planner,
        scope: &from.scope,
        clause,
        aggregates: with_aggregates.then_some(&aggregates),
        groupings: with_aggregates.then_some(&groupings),
        windows: None,
        // What stands in WHERE may be a key; above groups there are no leaves.
        subqueries: (clause == "WHERE" || clause == "SELECT" && alone.get()).then_some(&subqueries),
    };
    let over = |clause| Binder {
        windows: Some(&windows),
        ..binder(clause, true)
    };
    windows.declare(&binder("window definitions", true), &select.window_clause)?;
    let mut targets = output::bind_targets(&over("SELECT"), &select.target_list)?;
    if !aggregates.borrow().is_empty() && alone.replace(false) && subqueries.forget() {
        aggregates.take();
        targets = output::bind_targets(&over("SELECT"), &select.target_list)?;
    }
    let mut conditions = from.conditions.clone();
    if let Some(node) = select.where_clause.as_deref() {
        subqueries.conjuncts(&binder("WHERE", false), node, &mut conditions)?;
    }
    let having = match select.having_clause.as_deref() {
        Some(node) => Some(binder("HAVING", true).condition(node)?),
        None => None,
    };
    let distinct = is_plain(&select.distinct_clause);
    let group = binder("GROUP BY", false);
    // What else names a key of several that are alike finds them marked.
    let marked = has_sets(select)
        .then(|| bind_keys(&group, select, &mut targets))
        .transpose()?;
    // What is ordered or made distinct by has a type.
    let compared = wanted.filter(|types| !types.contains(&SqlType::Unknown));
    let mut sort = bind_sort(
        &over("ORDER BY"),
        &select.sort_clause,
        &mut targets,
        compared,
    )?;
    let clause = &select.distinct_clause;
    let mut on = bind_distinct_on(&over("DISTINCT ON"), clause, &targets, &mut sort)?;
    let keys = match marked {
        Some(keys) => keys,
        None => bind_keys(&group, select, &mut targets)?,
    };
    let decided = match distinct {
        true => compared,
        false => wanted,
    };
    output::settle(planner, &mut targets, decided)?;
    if distinct {
        for target in &targets {
            comparable::equated(planner, target.expr.ty(), target.location)?;
        }
    }
    let mut limits = bind_limits(planner, select)?;
    let mut outputs: Vec<Output> = targets
        .iter()
        .map(|t| output::describe(&from.scope, t))
        .collect();
    let aggregates = aggregates.take();
    let groupings = groupings.take();
    let grouped = !aggregates.is_empty()
        || !groupings.is_empty()
        || !select.group_clause.is_empty()
        || having.is_some();

    let mut leaves = from.leaves.clone();
    leaves.extend(subqueries.take_leaves());
    let limited = limits.has_limit();
    // Rows keep their order through joins and projections, not through groups, windows and DISTINCT.
    let kept = !grouped && !distinct && windows.is_empty();
    let order = (kept && !sort.is_empty()).then_some(Order {
        keys: &sort,
        limited,
        alone: leaves.len() == 1,
    });
    let plain = kept && sort.is_empty() && on.is_empty() && moved.is_none() && limits.is_none();
    let parts = match plain && planner.is_within() && select.locking_clause.is_empty() {
        true => {
            let exprs: Vec<Expr> = targets.iter().map(|t| t.expr.clone()).collect();
            Parts::of(&leaves, &conditions, &exprs)
        }
        false => None,
    };
    settle(
        planner,
        &mut leaves,
        &mut conditions,
        order,
        limited && kept,
    )?;
    let mut joined = join(&leaves, conditions, order, planner.sizes)?;
    let collapsed = grouped || distinct || !on.is_empty() || !windows.is_empty();
    let several = if distinct || !on.is_empty() {
        Some("DISTINCT clause")
    } else if !select.group_clause.is_empty() {
        Some("GROUP BY clause")
    } else if having.is_some() {
        Some("HAVING clause")
    } else if grouped {
        Some("aggregate functions")
    } else if collapsed {
        Some("window functions")
    } else {
        moved
            .as_ref()
            .map(|_| "set-returning functions in the target list")
    };
    let locks = plan_locks(planner, select, &from, &joined, several)?;

    let single = joined.single;
    let mut sorted = (joined.sorted && kept) || (single && !grouped);
    let mut plan;
    let mut exprs: Vec<Expr>;
    if grouped {
        let of_windows = windows.exprs();
        let listed: Vec<Expr> = targets.iter().map(Target::named).collect();
        let above: Vec<&Expr> = listed
            .iter()
            .chain(sort.iter().map(|key| &key.expr))
            .chain(&having)
            .chain(&on)
            .chain(&of_windows)
            .collect();
        let grouping = Grouping::new(planner, &from.scope, keys, aggregates, groupings, &above);
        exprs = listed
            .iter()
            .map(|expr| grouping.above(expr))
            .collect::<SqlResult<_>>()?;
        for expr in sort.iter_mut().map(|key| &mut key.expr).chain(&mut on) {
            *expr = grouping.above(expr)?;
        }
        windows.change(&mut |expr| grouping.above(expr))?;
        let having = having.map(|having| grouping.above(&having)).transpose()?;
        let having = having.map(fold);
        plan = grouping.finish(&mut joined);
        if let Some(predicate) = having {
            plan = Plan::Filter {
                input: Box::new(plan),
                predicate,
            };
        }
    } else {
        exprs = targets.iter().map(|t| joined.expr(&t.expr)).collect();
        for expr in sort.iter_mut().map(|key| &mut key.expr).chain(&mut on) {
            *expr = joined.expr(expr);
        }
        windows.change(&mut |expr| Ok(joined.expr(expr)))?;
        plan = joined.plan;
        // The rows that are locked are read whole.
        let mut used = joined.used;
        for lock in &locks {
            used.extend(lock.offset..lock.offset + lock.table.frame_width());
        }
        mark_needed(&mut plan, &used);
    }
    let places = sort.iter_mut().map(|key| &mut key.expr);
    plan = windows.finish(plan, exprs.iter_mut().chain(places).chain(&mut on));
    if sort.is_empty() {
        sorted = true;
    }
    let top = top_of(&limits, locks.is_empty() && on.is_empty());
    if distinct {
        for key in &mut sort {
            let Some(place) = exprs.iter().position(|expr| same(expr, &key.expr)) else {
                return Err(SqlError::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                ));
            };
            key.expr = Expr::Column(place, exprs[place].ty());
        }
        plan = Plan::Unique {
            input: Box::new(Plan::Project {
                input: Box::new(plan),
                exprs: std::mem::take(&mut exprs),
            }),
        };
    }
    if !sorted && !distinct {
        let (input, computed) = Computed::below(plan, sort.iter().map(|key| &key.expr));
        plan = input;
        let keys = sort.iter_mut().map(|key| &mut key.expr);
        for expr in keys.chain(&mut on).chain(&mut exprs) {
            computed.take(expr);
        }
    }
    let mut ties = match limits.has_ties() {
        true => sort.clone(),
        false => Vec::new(),
    };
    if !sorted {
        plan = Plan::Sort {
            input: Box::new(plan),
            keys: sort,
            top,
        };
    }
    if !on.is_empty() {
        plan = first_of_each(plan, on);
    }
    if !locks.is_empty() {
        plan = Plan::Lock {
            input: Box::new(plan),
            targets: locks,
        };
    }
    let rows = match (
        grouped && select.group_clause.is_empty(),
        single || limits.is_one(),
    ) {
        (true, _) if select.having_clause.is_none() && limits.is_none() => Rows::One,
        (true, _) | (_, true) => Rows::AtMostOne,
        _ if from.leaves.is_empty() && limits.is_none() && select.where_clause.is_none() => {
            Rows::One
        }
        _ => Rows::Many,
    };
    if limits.has_ties() && !distinct {
        // What is ordered by need not be in the select list.
        plan = std::mem::take(&mut limits).apply(plan, std::mem::take(&mut ties));
    }
    if !distinct {
        plan = Plan::Project {
            input: Box::new(plan),
            exprs,
        };
    }
    for output in &mut outputs {
        output
            .name
            .truncate(quintet_base::limits::IDENTIFIER_BYTES_MAX);
    }
    Ok(Query {
        plan: limits.apply(plan, ties),
        outputs,
        rows,
        parts,
    })
}

/// ROLLUP, CUBE and GROUPING SETS.
fn has_sets(select: &SelectStmt) -> bool {
    let mut items = select.group_clause.iter();
    items.any(|item| matches!(inner(item), Some(NodeEnum::GroupingSet(_))))
}

fn refuse_parts(planner: &Planner, select: &SelectStmt) -> SqlResult<()> {
    let Some(into) = &select.into_clause else {
        return Ok(());
    };
    let place = into.rel.as_ref().map_or(-1, |relation| relation.location);
    let message = "SELECT ... INTO is not allowed here";
    Err(planner.error(SqlState::SYNTAX_ERROR, message, place))
}

/// Binds ORDER BY: a name of the select list, a number, or any expression.
fn bind_sort(
    binder: &Binder,
    nodes: &[Node],
    targets: &mut [Target],
    wanted: Option<&[SqlType]>,
) -> SqlResult<Vec<SortKey>> {
    let mut keys = Vec::with_capacity(nodes.len());
    for node in nodes {
        let Some(NodeEnum::SortBy(sort)) = inner(node) else {
            return Err(SqlError::internal("ORDER BY without a key"));
        };
        let value = required(sort.node.as_deref())?;
        let expr = match find_target(binder.planner, value, targets, "ORDER BY")? {
            Some(place) => {
                output::settle(
                    binder.planner,
                    &mut targets[place..=place],
                    wanted.and_then(|w| w.get(place..)),
                )?;
                targets[place].named()
            }
            None => coerce::settle(binder.planner, binder.bind(value)?)?,
        };
        keys.push(sort_key(binder.planner, sort, expr)?);
    }
    Ok(keys)
}

/// One key of ORDER BY.
pub(crate) fn sort_key(planner: &Planner, sort: &SortBy, expr: Expr) -> SqlResult<SortKey> {
    if !sort.use_op.is_empty() {
        return Err(planner.unsupported("ORDER BY … USING", sort.location));
    }
    let location = sort.node.as_deref().map_or(-1, names::location);
    comparable::ordered(planner, expr.ty(), location)?;
    let (descending, nulls_first) = direction(sort.sortby_dir(), sort.sortby_nulls());
    Ok(SortKey {
        expr,
        descending,
        nulls_first,
    })
}

/// The place in the select list that a bare name or number stands for.
pub(crate) fn find_target(
    planner: &Planner,
    node: &Node,
    targets: &[Target],
    clause: &str,
) -> SqlResult<Option<usize>> {
    match inner(node) {
        Some(NodeEnum::AConst(constant)) => match names::integer(node) {
            Some(number) => {
                let place = usize::try_from(number).ok().and_then(|n| n.checked_sub(1));
                place
                    .filter(|&place| place < targets.len())
                    .map(Some)
                    .ok_or_else(|| {
                        let message = format!("{clause} position {number} is not in select list");
                        planner.error(
                            SqlState::INVALID_COLUMN_REFERENCE,
                            message,
                            constant.location,
                        )
                    })
            }
            None => Err(planner.error(
                SqlState::SYNTAX_ERROR,
                format!("non-integer constant in {clause}"),
                constant.location,
            )),
        },
        Some(NodeEnum::ColumnRef(column)) => {
            let [name] = names::strings(&column.fields)[..] else {
                return Ok(None);
            };
            let mut found = targets.iter().enumerate().filter(|(_, t)| t.name == name);
            let Some((place, first)) = found.next() else {
                return Ok(None);
            };
            if found.any(|(_, other)| !same(&other.expr, &first.expr)) {
                let message = format!("{clause} \"{name}\" is ambiguous");
                return Err(planner.error(SqlState::AMBIGUOUS_COLUMN, message, column.location));
            }
            Ok(Some(place))
        }
        _ => Ok(None),
    }
}
