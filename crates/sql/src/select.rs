//! Queries: SELECT, VALUES, and what they are made of.
//!
//! Relies on: `from`, `join`, `group`, `set_operation`.  Promises: the plan yields exactly the
//! columns of the select list, in order.  Does not: plan what changes rows.
//!
//! ```text
//! FROM, WHERE -> join -> [Aggregate -> Filter(HAVING)] -> [Sort] -> [Lock] -> Project -> [Limit]
//! DISTINCT:      join -> [Aggregate …] -> Project -> Unique -> [Sort] -> [Limit]
//! ```

use crate::access::Order;
use crate::call::direction;
use crate::coerce;
use crate::expr::Binder;
use crate::from::{self, From, Source};
use crate::group::{self, Grouping};
use crate::join::{Joined, join, mark_needed};
use crate::names::{self, inner, required};
use crate::output::{self, Target};
use crate::planner::Planner;
use crate::rewrite::same;
use crate::scope::{Output, Scope};
use crate::set_operation::plan_set_operation;
use crate::subquery::Subqueries;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    LimitOption, LockClauseStrength, LockWaitPolicy, LockingClause, Node, SelectStmt, SetOperation,
    SortBy,
};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::cast::common_type;
use quintet_ir::plan::{LockStrength, LockTarget, LockWait, Plan, SortKey};
use std::cell::RefCell;

pub(crate) use crate::output::{figure_name, output_name};

/// A planned query.
#[derive(Debug)]
pub(crate) struct Query {
    pub plan: Plan,
    pub outputs: Vec<Output>,
    pub rows: Rows,
}

/// How many rows a query has, as far as its form tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rows {
    One,
    AtMostOne,
    Many,
}

/// Plans a query. `wanted`: the types that INSERT gives to columns without one.
///
/// # Errors
/// As PostgreSQL's analysis.
pub(crate) fn plan_query(
    planner: &Planner,
    select: &SelectStmt,
    wanted: Option<&[SqlType]>,
) -> SqlResult<Query> {
    let before = from::enter_with(planner, select.with_clause.as_ref())?;
    let query = if select.op() != SetOperation::SetopNone && select.larg.is_some() {
        plan_set_operation(planner, select, wanted)
    } else if !select.values_lists.is_empty() {
        plan_values(planner, select, wanted)
    } else {
        plan_select(planner, select, wanted)
    };
    from::leave_with(planner, before);
    query
}

fn plan_select(
    planner: &Planner,
    select: &SelectStmt,
    wanted: Option<&[SqlType]>,
) -> SqlResult<Query> {
    refuse_parts(planner, select)?;
    let mut from = From::default();
    from.add_items(planner, &select.from_clause)?;
    let subqueries = Subqueries::new(from.width);
    let aggregates = RefCell::new(Vec::new());
    let binder = |clause, with_aggregates: bool| Binder {
        planner,
        scope: &from.scope,
        clause,
        aggregates: with_aggregates.then_some(&aggregates),
        subqueries: Some(&subqueries),
    };
    let mut targets = output::bind_targets(&binder("SELECT", true), &select.target_list)?;
    let mut conditions = from.conditions.clone();
    if let Some(node) = select.where_clause.as_deref() {
        subqueries.conjuncts(&binder("WHERE", false), node, &mut conditions)?;
    }
    let having = match select.having_clause.as_deref() {
        Some(node) => Some(binder("HAVING", true).condition(node)?),
        None => None,
    };
    let sort = bind_sort(
        &binder("ORDER BY", true),
        &select.sort_clause,
        &mut targets,
        wanted,
    )?;
    let keys = group::bind_keys(&binder("GROUP BY", false), &select.group_clause, &targets)?;
    output::settle(planner, &mut targets, wanted)?;
    let limits = bind_limits(planner, select)?;
    let mut outputs: Vec<Output> = targets
        .iter()
        .map(|t| output::describe(&from.scope, t))
        .collect();
    let aggregates = aggregates.take();
    let grouped = !aggregates.is_empty() || !select.group_clause.is_empty() || having.is_some();
    let distinct = !select.distinct_clause.is_empty();

    let mut leaves = from.leaves.clone();
    leaves.extend(subqueries.take_leaves());
    let limited = limits.limit.is_some();
    // Rows keep their order through joins and projections, not through groups and DISTINCT.
    let order = (!grouped && !distinct && !sort.is_empty()).then_some(Order {
        keys: &sort,
        limited,
        alone: leaves.len() == 1,
    });
    let mut joined = join(&leaves, conditions, order)?;
    let locks = plan_locks(planner, select, &from, &joined, grouped || distinct)?;

    let single = joined.single;
    let mut sorted = (joined.sorted && !grouped && !distinct) || (single && !grouped);
    let mut sort = sort;
    let mut plan;
    let mut exprs: Vec<Expr>;
    if grouped {
        let above: Vec<&Expr> = targets
            .iter()
            .map(|target| &target.expr)
            .chain(sort.iter().map(|key| &key.expr))
            .chain(&having)
            .collect();
        let grouping = Grouping::new(planner, &from.scope, keys, aggregates, &above);
        exprs = targets
            .iter()
            .map(|t| grouping.above(&t.expr))
            .collect::<SqlResult<_>>()?;
        for key in &mut sort {
            key.expr = grouping.above(&key.expr)?;
        }
        let having = having.map(|having| grouping.above(&having)).transpose()?;
        plan = grouping.finish(&mut joined);
        if let Some(predicate) = having {
            plan = Plan::Filter {
                input: Box::new(plan),
                predicate,
            };
        }
    } else {
        exprs = targets.iter().map(|t| joined.expr(&t.expr)).collect();
        for key in &mut sort {
            key.expr = joined.expr(&key.expr);
        }
        plan = joined.plan;
        // The rows that are locked are read whole.
        let mut used = joined.used;
        for lock in &locks {
            used.extend(lock.offset..lock.offset + lock.table.frame_width());
        }
        mark_needed(&mut plan, &used);
    }
    if sort.is_empty() {
        sorted = true;
    }
    let top = top_of(&limits, locks.is_empty());
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
    if !sorted {
        plan = Plan::Sort {
            input: Box::new(plan),
            keys: sort,
            top,
        };
    }
    if !locks.is_empty() {
        plan = Plan::Lock {
            input: Box::new(plan),
            targets: locks,
        };
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
    Ok(Query {
        plan: limits.apply(plan),
        outputs,
        rows,
    })
}

fn refuse_parts(planner: &Planner, select: &SelectStmt) -> SqlResult<()> {
    if select.into_clause.is_some() {
        return Err(SqlError::unsupported("SELECT INTO"));
    }
    if !select.window_clause.is_empty() {
        return Err(SqlError::unsupported("WINDOW"));
    }
    if select
        .distinct_clause
        .iter()
        .any(|node| inner(node).is_some())
    {
        return Err(SqlError::unsupported("SELECT DISTINCT ON"));
    }
    if select.group_distinct {
        return Err(SqlError::unsupported("GROUP BY DISTINCT"));
    }
    let _ = planner;
    Ok(())
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
                targets[place].expr.clone()
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

/// LIMIT and OFFSET.
#[derive(Default)]
pub(crate) struct Limits {
    limit: Option<Expr>,
    offset: Option<Expr>,
}

impl Limits {
    pub fn apply(self, plan: Plan) -> Plan {
        if self.is_none() {
            return plan;
        }
        Plan::Limit {
            input: Box::new(plan),
            limit: self.limit,
            offset: self.offset,
        }
    }

    fn is_none(&self) -> bool {
        self.limit.is_none() && self.offset.is_none()
    }

    fn is_one(&self) -> bool {
        matches!(self.limit, Some(Expr::Const(Value::Int8(0 | 1), _)))
    }
}

/// Binds LIMIT and OFFSET.
pub(crate) fn bind_limits(planner: &Planner, select: &SelectStmt) -> SqlResult<Limits> {
    if select.limit_option() == LimitOption::WithTies {
        return Err(SqlError::unsupported("FETCH FIRST … WITH TIES"));
    }
    let bind = |node: Option<&Node>, clause: &'static str| -> SqlResult<Option<Expr>> {
        let Some(node) = node else { return Ok(None) };
        let here = planner.at(names::location(node));
        let nothing = Scope::empty();
        let bound =
            Binder::new(planner, &nothing, clause)
                .bind(node)
                .map_err(|error| match error.state {
                    SqlState::UNDEFINED_COLUMN => SqlError {
                        state: SqlState::INVALID_COLUMN_REFERENCE,
                        message: format!("argument of {clause} must not contain variables"),
                        ..error
                    },
                    _ => error,
                })?;
        let from = bound.ty();
        let context = quintet_ir::cast::CastContext::Assignment;
        let bound = coerce::convert(planner, bound, SqlType::Int8, context).map_err(|error| {
            let message = format!("argument of {clause} must be type bigint, not type {from}");
            here(match error.state {
                SqlState::CANNOT_COERCE => SqlError::new(SqlState::DATATYPE_MISMATCH, message),
                _ => error,
            })
        })?;
        Ok(match bound {
            Expr::Const(Value::Null, _) => None,
            bound => Some(bound),
        })
    };
    Ok(Limits {
        limit: bind(select.limit_count.as_deref(), "LIMIT")?,
        offset: bind(select.limit_offset.as_deref(), "OFFSET")?,
    })
}

/// How many rows of a sort are needed, if that is known before it runs. Locked rows may be left
/// out later, so that more could be needed.
fn top_of(limits: &Limits, unlocked: bool) -> Option<Box<Expr>> {
    match (&limits.limit, &limits.offset) {
        (Some(limit), None) if unlocked => Some(Box::new(limit.clone())),
        (Some(Expr::Const(Value::Int8(limit), ty)), Some(Expr::Const(Value::Int8(offset), _)))
            if unlocked =>
        {
            let sum = limit.checked_add(*offset)?;
            Some(Box::new(Expr::Const(Value::Int8(sum), *ty)))
        }
        _ => None,
    }
}

fn plan_locks(
    planner: &Planner,
    select: &SelectStmt,
    from: &From,
    joined: &Joined,
    collapsed: bool,
) -> SqlResult<Vec<LockTarget>> {
    let mut targets: Vec<LockTarget> = Vec::new();
    for node in &select.locking_clause {
        let Some(NodeEnum::LockingClause(clause)) = inner(node) else {
            continue;
        };
        let strength = strength(clause);
        if collapsed {
            let word = if strength == LockStrength::Update {
                "FOR UPDATE"
            } else {
                "FOR SHARE"
            };
            return Err(SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!(
                    "{word} is not allowed with DISTINCT, GROUP BY, HAVING or aggregate functions"
                ),
            ));
        }
        let mut named = Vec::new();
        for node in &clause.locked_rels {
            if let Some(NodeEnum::RangeVar(relation)) = inner(node) {
                let found = from
                    .leaves
                    .iter()
                    .position(|leaf| leaf.name == relation.relname);
                named.push(found.ok_or_else(|| {
                    let message = format!(
                        "relation \"{}\" in FOR UPDATE clause not found in FROM clause",
                        relation.relname
                    );
                    planner.error(SqlState::UNDEFINED_TABLE, message, relation.location)
                })?);
            }
        }
        for (number, leaf) in from.leaves.iter().enumerate() {
            if !clause.locked_rels.is_empty() && !named.contains(&number) {
                continue;
            }
            let Source::Table(table) = &leaf.source else {
                if named.contains(&number) || matches!(leaf.source, Source::Plan(_)) {
                    return Err(SqlError::unsupported("FOR UPDATE of anything but a table"));
                }
                continue;
            };
            if matches!(leaf.kind, from::LeafKind::Left(_)) {
                return Err(SqlError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "FOR UPDATE cannot be applied to the nullable side of an outer join",
                ));
            }
            let wait = match clause.wait_policy() {
                LockWaitPolicy::LockWaitSkip => LockWait::Skip,
                LockWaitPolicy::LockWaitError => LockWait::Refuse,
                _ => LockWait::Block,
            };
            let offset = joined.map[leaf.offset];
            match targets.iter_mut().find(|target| target.offset == offset) {
                Some(target) if strength == LockStrength::Update => target.strength = strength,
                Some(_) => {}
                None => targets.push(LockTarget {
                    table: table.clone(),
                    offset,
                    strength,
                    wait,
                }),
            }
        }
    }
    Ok(targets)
}

fn strength(clause: &LockingClause) -> LockStrength {
    match clause.strength() {
        LockClauseStrength::LcsForupdate | LockClauseStrength::LcsFornokeyupdate => {
            LockStrength::Update
        }
        _ => LockStrength::Share,
    }
}

/// VALUES as a query.
fn plan_values(
    planner: &Planner,
    select: &SelectStmt,
    wanted: Option<&[SqlType]>,
) -> SqlResult<Query> {
    let nothing = Scope::empty();
    let binder = Binder::new(planner, &nothing, "VALUES");
    let mut rows: Vec<Vec<Expr>> = Vec::with_capacity(select.values_lists.len());
    for node in &select.values_lists {
        let items = required(names::list(node))?;
        let row: SqlResult<Vec<Expr>> = items.iter().map(|item| binder.bind(item)).collect();
        let row = row?;
        if rows.first().is_some_and(|first| first.len() != row.len()) {
            let place = items.first().map_or(-1, names::location);
            let message = "VALUES lists must all be the same length";
            return Err(planner.error(SqlState::SYNTAX_ERROR, message, place));
        }
        rows.push(row);
    }
    let width = rows.first().map_or(0, Vec::len);
    let mut types = Vec::with_capacity(width);
    for column in 0..width {
        let given: Vec<SqlType> = rows.iter().map(|row| row[column].ty()).collect();
        let all_unknown = given.iter().all(|ty| *ty == SqlType::Unknown);
        let ty = match wanted.and_then(|types| types.get(column)) {
            Some(&ty) if all_unknown => ty,
            _ => common_type(&given, "VALUES")?,
        };
        for row in &mut rows {
            let expr = std::mem::replace(&mut row[column], Expr::null(ty));
            row[column] = coerce::implicit(planner, expr, ty)?;
        }
        types.push(ty);
    }
    let targets: Vec<Target> = types
        .iter()
        .enumerate()
        .map(|(number, &ty)| Target {
            name: format!("column{}", number + 1),
            expr: Expr::Column(number, ty),
            location: -1,
        })
        .collect();
    let outputs: Vec<Output> = targets
        .iter()
        .map(|target| Output {
            name: target.name.clone(),
            ty: target.expr.ty(),
            modifier: TypeMod::NONE,
            origin: None,
        })
        .collect();
    let count = if rows.len() == 1 {
        Rows::One
    } else {
        Rows::Many
    };
    let plan = Plan::Values { rows, types };
    finish_outputs(planner, select, plan, targets, outputs, count)
}

/// ORDER BY and LIMIT over a query's own columns: VALUES, UNION.
pub(crate) fn finish_outputs(
    planner: &Planner,
    select: &SelectStmt,
    mut plan: Plan,
    targets: Vec<Target>,
    outputs: Vec<Output>,
    rows: Rows,
) -> SqlResult<Query> {
    if !select.locking_clause.is_empty() {
        return Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "FOR UPDATE is not allowed with UNION/INTERSECT/EXCEPT or VALUES",
        ));
    }
    let limits = bind_limits(planner, select)?;
    let mut keys = Vec::with_capacity(select.sort_clause.len());
    for node in &select.sort_clause {
        let Some(NodeEnum::SortBy(sort)) = inner(node) else {
            return Err(SqlError::internal("ORDER BY without a key"));
        };
        let value = required(sort.node.as_deref())?;
        let Some(place) = find_target(planner, value, &targets, "ORDER BY")? else {
            if let Some(NodeEnum::ColumnRef(column)) = inner(value) {
                let name = names::strings(&column.fields).join(".");
                let message = format!("column \"{name}\" does not exist");
                return Err(planner.error(SqlState::UNDEFINED_COLUMN, message, column.location));
            }
            return Err(planner.unsupported(
                "ORDER BY an expression over UNION or VALUES",
                names::location(value),
            ));
        };
        keys.push(sort_key(planner, sort, targets[place].expr.clone())?);
    }
    if !keys.is_empty() {
        let top = top_of(&limits, true);
        plan = Plan::Sort {
            input: Box::new(plan),
            keys,
            top,
        };
    }
    let rows = match rows {
        Rows::One if !limits.is_none() => Rows::AtMostOne,
        Rows::Many if limits.is_one() => Rows::AtMostOne,
        rows => rows,
    };
    Ok(Query {
        plan: limits.apply(plan),
        outputs,
        rows,
    })
}
