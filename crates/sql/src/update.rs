//! UPDATE, and assignments wherever they stand.
//!
//! Relies on: `from` and `join` for the rows to change.  Promises: the source's frame begins with
//! the table's own frame, whatever order the join took.  Does not: run anything.

use crate::coerce;
use crate::command::Planned;
use crate::current;
use crate::expr::Binder;
use crate::from::{Doing, From};
use crate::generated;
use crate::insert::{bind_returning, default_of};
use crate::join::{join, mark_needed};
use crate::names::{self, inner, required};
use crate::output;
use crate::parts::with_field;
use crate::planner::Planner;
use crate::row_security;
use crate::scope::Scope;
use crate::semi_join::settle;
use crate::subquery::Subqueries;
use crate::updatable::{Target, assigned_twice};
use crate::with;
use pg_query::NodeEnum;
use pg_query::protobuf::{MultiAssignRef, Node, ResTarget, SubLink, UpdateStmt};
use quintet_base::Value;
use quintet_base::array::{DIMENSIONS_MAX, too_many_dimensions};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::cast::CastContext;
use quintet_ir::plan::Plan;
use quintet_ir::schema::{ColumnDef, Identity};
use quintet_ir::statement::Update;
use quintet_ir::{Expr, Privileges, Statement};
use std::collections::BTreeSet;

/// Plans an UPDATE.
pub(crate) fn plan_update(planner: &Planner, statement: &UpdateStmt) -> SqlResult<Planned> {
    planner.calls.allow();
    let whole = || NodeEnum::UpdateStmt(Box::new(statement.clone()));
    let before = with::enter_with(planner, statement.with_clause.as_ref(), &whole)?;
    let relation = required(statement.relation.as_ref())?;
    let of = Target::find(planner, relation, Doing::Update)?;
    of.need(planner, Privileges::UPDATE);
    let mut from = of.from(relation);
    from.add_items(planner, &statement.from_clause)?;
    let subqueries = Subqueries::new(from.width);
    let assignments = bind_assignments(
        planner,
        &of,
        &from.scope,
        Some(&subqueries),
        &statement.target_list,
    )?;
    let where_clause = statement.where_clause.as_deref();
    let conditions = target_conditions(planner, &of, &from, &subqueries, where_clause)?;
    let (returning, outputs) =
        bind_returning(planner, &from.scope, statement.returning_clause.as_ref())?;
    of.need_reads(planner);
    let checks = of.secure(planner, &mut from, row_security::Command::Update)?;
    let (mut source, frame) = plan_target_rows(planner, &from, &subqueries, conditions)?;
    let assignments: Vec<(usize, Expr)> = assignments
        .iter()
        .map(|(column, expr)| (*column, frame.expr(expr)))
        .collect();
    let returning = frame.exprs(returning);
    let values = assignments.iter().map(|(_, value)| value);
    let looked_at = values.chain(returning.iter().flatten());
    frame.leave_out(&mut source, of.table.frame_width(), looked_at);
    let source = with::leave_with(planner, before, source)?;
    let update = Update {
        table: of.table,
        source,
        assignments,
        returning,
    };
    let statement = planner.secured(Statement::Update(update), checks)?;
    planner.run(statement, output::publish(outputs), "UPDATE")
}

/// Where the places of a logical frame are in the frame of the rows to change.
pub(crate) struct Frame {
    map: Vec<usize>,
    /// Places of the join that its conditions look at.
    used: BTreeSet<usize>,
    /// Where the places of these frames are in the join, if they were put back into the order written.
    joined: Option<Vec<usize>>,
}

impl Frame {
    pub fn expr(&self, expr: &Expr) -> Expr {
        crate::rewrite::move_columns(expr, &|place| self.map.get(place).copied().unwrap_or(place))
    }

    pub fn exprs(&self, exprs: Option<Vec<Expr>>) -> Option<Vec<Expr>> {
        exprs.map(|exprs| exprs.iter().map(|expr| self.expr(expr)).collect())
    }

    /// Leaves out what is computed below the rows to change and nobody looks at: neither the target, so many places wide, nor
    /// these expressions over the rows.
    pub fn leave_out<'e>(
        &self,
        source: &mut Plan,
        target: usize,
        exprs: impl Iterator<Item = &'e Expr>,
    ) {
        let mut columns: Vec<usize> = (0..target).collect();
        exprs.for_each(|expr| expr.collect_columns(&mut columns));
        let mut used = self.used.clone();
        match (&self.joined, source) {
            (Some(joined), Plan::Project { input, .. }) => {
                used.extend(columns.into_iter().filter_map(|place| joined.get(place)));
                mark_needed(input, &used);
            }
            (_, source) => {
                used.extend(columns);
                mark_needed(source, &used);
            }
        }
    }
}

/// What the rows fulfil that an UPDATE or DELETE works on.
pub(crate) fn target_conditions(
    planner: &Planner,
    of: &Target,
    from: &From,
    subqueries: &Subqueries,
    where_clause: Option<&Node>,
) -> SqlResult<Vec<Expr>> {
    let mut conditions = from.conditions.clone();
    if let Some(NodeEnum::CurrentOfExpr(current)) = where_clause.and_then(inner) {
        if of.is_view() {
            let message = "WHERE CURRENT OF on a view is not implemented";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        conditions.extend(current::conditions(&of.table, current)?);
    } else if let Some(node) = where_clause {
        let binder = Binder {
            subqueries: Some(subqueries),
            ..Binder::new(planner, &from.scope, "WHERE")
        };
        subqueries.conjuncts(&binder, node, &mut conditions)?;
    }
    Ok(conditions)
}

/// The rows that an UPDATE or DELETE works on: the target's frame first.
pub(crate) fn plan_target_rows(
    planner: &Planner,
    from: &From,
    subqueries: &Subqueries,
    mut conditions: Vec<Expr>,
) -> SqlResult<(Plan, Frame)> {
    let mut leaves = from.leaves.clone();
    leaves.extend(subqueries.take_leaves());
    settle(planner, &mut leaves, &mut conditions, None, false)?;
    let joined = join(&leaves, conditions, None, None)?;
    // The target is the first leaf of the logical frame.
    if joined.map.first().is_none_or(|&place| place == 0) {
        let frame = Frame {
            map: joined.map,
            used: joined.used,
            joined: None,
        };
        return Ok((joined.plan, frame));
    }
    // Another table leads the join: put the frame back into the order written.
    let mut exprs = Vec::with_capacity(joined.map.len());
    for leaf in &leaves {
        for n in 0..leaf.width {
            exprs.push(Expr::Column(joined.map[leaf.offset + n], leaf.types[n]));
        }
    }
    let plan = Plan::Project {
        input: Box::new(joined.plan),
        exprs,
    };
    let frame = Frame {
        map: (0..joined.map.len()).collect(),
        used: joined.used,
        joined: Some(joined.map),
    };
    Ok((plan, frame))
}

/// Binds `column = value, …` over a scope.
pub(crate) fn bind_assignments(
    planner: &Planner,
    of: &Target,
    scope: &Scope,
    subqueries: Option<&Subqueries>,
    nodes: &[Node],
) -> SqlResult<Vec<(usize, Expr)>> {
    let binder = Binder {
        subqueries,
        ..Binder::new(planner, scope, "UPDATE")
    };
    let mut assignments: Vec<(usize, Expr)> = Vec::with_capacity(nodes.len());
    // Columns that are assigned part by part, which may be several times.
    let mut parts = BTreeSet::new();
    let mut rows = None;
    for node in nodes {
        let Some(NodeEnum::ResTarget(target)) = inner(node) else {
            return Err(SqlError::internal("an assignment to nothing"));
        };
        let number = of.column(planner, &target.name, target.location, Doing::Update)?;
        of.need_column(planner, &target.name, number, Privileges::UPDATE);
        let is_part = !target.indirection.is_empty();
        let is_assigned = assignments.iter().any(|(other, _)| *other == number);
        if is_assigned && !(is_part && parts.contains(&number)) {
            let twice = assigned_twice(&of.table, number);
            return Err(match of.is_view() {
                true => twice,
                false => planner.at(target.location)(twice),
            });
        }
        if is_part {
            assign_part(&binder, of, (number, target), &mut assignments)?;
            parts.insert(number);
            continue;
        }
        let value = bind_value(&binder, of, (number, target), &mut rows)?;
        assignments.push((number, value));
    }
    generated::in_update(&of.table, &mut assignments)?;
    Ok(assignments)
}

/// `column[1] = value` and `column[1:2] = value`: the whole array with another part, of what the assignments before
/// have made of it.
fn assign_part(
    binder: &Binder,
    of: &Target,
    (number, target): (usize, &ResTarget),
    assignments: &mut Vec<(usize, Expr)>,
) -> SqlResult<()> {
    let planner = binder.planner;
    let unsupported =
        || Err(planner.unsupported("a part of a column as a target", target.location));
    let column = &of.table.columns[number];
    let path = names::strings(&target.indirection);
    if path.len() == target.indirection.len() {
        return assign_field(binder, of, (number, target), &path, assignments);
    }
    let has_parts = column.ty.part().is_some();
    if (has_parts || matches!(column.ty, SqlType::Jsonb | SqlType::Hstore)) && !of.is_view() {
        return assign_json_part(binder, of, (number, target), assignments);
    }
    let indices = target.indirection.iter().map(|node| match inner(node) {
        Some(NodeEnum::AIndices(indices)) => Some(&**indices),
        _ => None,
    });
    let Some(indices) = indices.collect::<Option<Vec<_>>>() else {
        return unsupported();
    };
    let Some(element) = column.ty.element() else {
        if has_parts || matches!(column.ty, SqlType::Jsonb | SqlType::Hstore) {
            return unsupported();
        }
        let ty = column.ty;
        let message =
            format!("cannot subscript type {ty} because it does not support subscripting");
        return Err(planner.error(SqlState::DATATYPE_MISMATCH, message, target.location));
    };
    if of.is_view() {
        return unsupported();
    }
    refuse_identity(planner, column, target.location)?;
    let whole = so_far(assignments, number, column.ty);
    let here = planner.at(target.location);
    if indices.len() > DIMENSIONS_MAX {
        return Err(here(too_many_dimensions(indices.len())));
    }
    let bound = |node: &Node| -> SqlResult<Expr> {
        let index = binder.bind(node)?;
        coerce::convert(planner, index, SqlType::Int4, CastContext::Assignment).map_err(&here)
    };
    let value = required(target.val.as_deref())?;
    let value_here = planner.at(names::location(value));
    let value = binder.bind(value)?;
    let assigned = |value: Expr, ty: SqlType| {
        let from = value.ty();
        let assigned = coerce::assign(planner, value, ty, column.modifier, &column.name);
        let assigned = assigned.map_err(|error| match error.state {
            SqlState::DATATYPE_MISMATCH if error.message.starts_with("column ") => {
                let message = format!(
                    "subscripted assignment to \"{}\" requires type {ty} but expression is of type {from}",
                    column.name
                );
                SqlError::new(SqlState::DATATYPE_MISMATCH, message)
                    .hint("You will need to rewrite or cast the expression.")
            }
            _ => error,
        });
        assigned.map_err(&value_here)
    };
    let mut parts = Vec::with_capacity(indices.len());
    for indices in &indices {
        let lower = match &indices.lidx {
            // Beside a slice an index is a slice from 1.
            None if !indices.is_slice => Some(Expr::Const(Value::Int4(1), SqlType::Int4)),
            None => None,
            Some(lower) => Some(bound(lower)?),
        };
        let upper = indices.uidx.as_deref().map(bound);
        parts.push((lower, upper.transpose()?));
    }
    let new = match indices.iter().any(|indices| indices.is_slice) {
        true => with_slice(whole, parts, assigned(value, column.ty)?),
        false => with_element(whole, parts, assigned(value, element)?, element),
    };
    let (name, arguments) = new;
    let new = binder.apply(name, arguments).map_err(&here)?;
    assign_anew(assignments, number, new);
    Ok(())
}

/// The bounds of a part in one dimension, as far as they are written; of an element the second is its subscript.
pub(crate) type PartBounds = (Option<Expr>, Option<Expr>);

/// The function that gives an array another slice, and its arguments.
pub(crate) fn with_slice(
    whole: Expr,
    parts: Vec<PartBounds>,
    value: Expr,
) -> (&'static str, Vec<Expr>) {
    let (mut omitted, mut bounds) = (0, Vec::new());
    for (lower, upper) in parts {
        for bound in [lower, upper] {
            if bound.is_none() {
                omitted |= 1 << bounds.len();
            }
            let none = || Expr::Const(Value::Int4(0), SqlType::Int4);
            bounds.push(bound.unwrap_or_else(none));
        }
    }
    let omitted = Expr::Const(Value::Int4(omitted), SqlType::Int4);
    let mut arguments = vec![whole, omitted];
    arguments.extend(bounds);
    arguments.push(value);
    ("[:]:=", arguments)
}

/// The function that gives an array another element, and its arguments.
pub(crate) fn with_element(
    whole: Expr,
    parts: Vec<PartBounds>,
    value: Expr,
    element: SqlType,
) -> (&'static str, Vec<Expr>) {
    let one = Expr::Array {
        element,
        elements: Vec::new(),
    };
    let mut arguments = vec![whole];
    arguments.extend(parts.into_iter().filter_map(|(_, index)| index));
    arguments.extend([value, one]);
    ("[]:=", arguments)
}

/// What the assignments before have made of a column.
fn so_far(assignments: &[(usize, Expr)], number: usize, ty: SqlType) -> Expr {
    let before = assignments.iter().find(|(other, _)| *other == number);
    before.map_or(Expr::Column(number, ty), |(_, value)| value.clone())
}

/// Gives a column a value that has in it what was assigned before.
fn assign_anew(assignments: &mut Vec<(usize, Expr)>, number: usize, new: Expr) {
    match assignments.iter_mut().find(|(other, _)| *other == number) {
        Some((_, value)) => *value = new,
        None => assignments.push((number, new)),
    }
}

/// `column.field = value`: the whole row with another field.
fn assign_field(
    binder: &Binder,
    of: &Target,
    (number, target): (usize, &ResTarget),
    path: &[&str],
    assignments: &mut Vec<(usize, Expr)>,
) -> SqlResult<()> {
    let planner = binder.planner;
    let column = &of.table.columns[number];
    if of.is_view() {
        let what = "a part of a view's column as a target";
        return Err(planner.unsupported(what, target.location));
    }
    refuse_identity(planner, column, target.location)?;
    let whole = so_far(assignments, number, column.ty);
    let value = binder.bind(required(target.val.as_deref())?)?;
    let new = with_field(planner, (&column.name, &whole), path, value);
    let new = new.map_err(planner.at(target.location))?;
    assign_anew(assignments, number, new);
    Ok(())
}

/// `column['key'][1] = value`: the whole document with another part.
fn assign_json_part(
    binder: &Binder,
    of: &Target,
    (number, target): (usize, &ResTarget),
    assignments: &mut Vec<(usize, Expr)>,
) -> SqlResult<()> {
    let planner = binder.planner;
    let column = &of.table.columns[number];
    let indices = target.indirection.iter().map(|node| match inner(node) {
        Some(NodeEnum::AIndices(indices)) => Ok(&**indices),
        _ => Err(planner.unsupported("a field of a part of a column as a target", target.location)),
    });
    let indices = indices.collect::<SqlResult<Vec<_>>>()?;
    refuse_identity(planner, column, target.location)?;
    let whole = so_far(assignments, number, column.ty);
    let value = match inner(required(target.val.as_deref())?) {
        Some(NodeEnum::MultiAssignRef(reference)) => row_part(binder, reference, target.location)?,
        Some(NodeEnum::SetToDefault(_)) => {
            let message = "cannot set an array element to DEFAULT";
            return Err(planner.error(SqlState::FEATURE_NOT_SUPPORTED, message, target.location));
        }
        _ => required(target.val.as_deref())?,
    };
    let value = binder.bind(value)?;
    let place = (column.name.as_str(), target.location);
    let new = match column.ty {
        SqlType::Hstore => binder.pair_assignment(whole, &indices, value, target.location)?,
        ty if ty.part().is_some() => binder.figure_assignment(whole, &indices, value, place)?,
        _ => binder.json_assignment(whole, &indices, value, place)?,
    };
    assign_anew(assignments, number, new);
    Ok(())
}

/// The columns of the `(SELECT …)` that is being assigned.
type SelectedRow = Option<Vec<Expr>>;

fn bind_value(
    binder: &Binder,
    of: &Target,
    (number, target): (usize, &ResTarget),
    selected: &mut SelectedRow,
) -> SqlResult<Expr> {
    let column = &of.table.columns[number];
    let value = required(target.val.as_deref())?;
    if let Some(NodeEnum::MultiAssignRef(reference)) = inner(value)
        && let Some(NodeEnum::SubLink(link)) = reference.source.as_deref().and_then(inner)
    {
        refuse_identity(binder.planner, column, target.location)?;
        let bound = selected_part(binder, reference, link, selected)?;
        let here = binder.planner.at(target.location);
        let (ty, modifier) = (column.ty, column.modifier);
        return coerce::assign(binder.planner, bound, ty, modifier, &column.name).map_err(here);
    }
    let value = match inner(value) {
        Some(NodeEnum::MultiAssignRef(reference)) => row_part(binder, reference, target.location)?,
        _ => value,
    };
    if let Some(NodeEnum::SetToDefault(_)) = inner(value)
        && !of.is_view()
    {
        return Ok(default_of(column));
    }
    refuse_identity(binder.planner, column, target.location)?;
    if let Some(NodeEnum::SetToDefault(_)) = inner(value) {
        // The table's does not count.
        let own = of.own_default(number).cloned();
        return Ok(own.unwrap_or_else(|| Expr::null(column.ty)));
    }
    let here = binder.planner.at(names::location(value));
    let bound = binder.bind(value)?;
    coerce::assign(
        binder.planner,
        bound,
        column.ty,
        column.modifier,
        &column.name,
    )
    .map_err(here)
}

fn refuse_identity(planner: &Planner, column: &ColumnDef, location: i32) -> SqlResult<()> {
    generated::refuse_value(column, false).map_err(planner.at(location))?;
    if column.identity != Some(Identity::Always) {
        return Ok(());
    }
    Err(planner
        .error(
            SqlState(*b"428C9"),
            format!("column \"{}\" can only be updated to DEFAULT", column.name),
            location,
        )
        .detail(format!(
            "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
            column.name
        )))
}

/// The column of `(a, b) = (SELECT …)` that belongs to one column. The first of them binds the query for all.
fn selected_part(
    binder: &Binder,
    reference: &MultiAssignRef,
    link: &SubLink,
    selected: &mut SelectedRow,
) -> SqlResult<Expr> {
    if reference.colno == 1 {
        *selected = Some(binder.row_of_subquery(link)?);
    }
    let columns = selected.as_deref().unwrap_or_default();
    if columns.len() != usize::try_from(reference.ncolumns).unwrap_or(0) {
        return Err(binder.planner.error(
            SqlState::SYNTAX_ERROR,
            "number of columns does not match number of values",
            link.location,
        ));
    }
    let place = usize::try_from(reference.colno - 1).ok();
    required(place.and_then(|place| columns.get(place))).cloned()
}

/// The part of `(a, b) = (x, y)` that belongs to one column.
fn row_part<'n>(
    binder: &Binder,
    reference: &'n MultiAssignRef,
    location: i32,
) -> SqlResult<&'n Node> {
    let source = required(reference.source.as_deref())?;
    let Some(NodeEnum::RowExpr(row)) = inner(source) else {
        return Err(binder
            .planner
            .unsupported("(columns) = this expression", location));
    };
    if row.args.len() != usize::try_from(reference.ncolumns).unwrap_or(0) {
        return Err(binder.planner.error(
            SqlState::SYNTAX_ERROR,
            "number of columns does not match number of values",
            location,
        ));
    }
    let place = usize::try_from(reference.colno - 1).ok();
    required(place.and_then(|place| row.args.get(place)))
}
