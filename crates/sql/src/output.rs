//! What a result's columns are called, and `*`.
//!
//! Relies on: the parser's tree, `scope`.  Promises: PostgreSQL's names: an alias, a column's or a
//! function's name, `?column?`.  Does not: bind expressions.

use crate::expr::Binder;
use crate::grouping_sets;
use crate::later_words::plain_call_of;
use crate::names::{self, inner, required};
use crate::planner::Planner;
use crate::row_value::Row;
use crate::scope::{Output, Scope};
use pg_query::NodeEnum;
use pg_query::protobuf::{
    AExprKind, AIndirection, MinMaxOp, Node, ResTarget, SqlValueFunctionOp, SubLinkType,
};
use quintet_base::{SqlResult, SqlState};
use quintet_ir::Expr;
use quintet_ir::statement::OutputColumn;

/// One column of a select or RETURNING list.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub name: String,
    /// May still be of type `Unknown`.
    pub expr: Expr,
    /// Which key of groups it is, where its expression does not tell; see `grouping_sets`.
    pub key: Option<usize>,
    pub location: i32,
}

impl Target {
    /// What stands for it in other clauses.
    pub fn named(&self) -> Expr {
        match self.key {
            Some(key) => grouping_sets::key_itself(key, self.expr.ty()),
            None => self.expr.clone(),
        }
    }
}

/// Binds a select list.
pub(crate) fn bind_targets(binder: &Binder, nodes: &[Node]) -> SqlResult<Vec<Target>> {
    let mut targets = Vec::with_capacity(nodes.len());
    for node in nodes {
        let Some(NodeEnum::ResTarget(target)) = inner(node) else {
            return Err(binder.planner.unsupported("this kind of select list", -1));
        };
        let value = required(target.val.as_deref())?;
        if let Some(NodeEnum::ColumnRef(column)) = inner(value)
            && matches!(
                column.fields.last().and_then(inner),
                Some(NodeEnum::AStar(_))
            )
        {
            expand_star(
                binder,
                &names::strings(&column.fields),
                column.location,
                &mut targets,
            )?;
            continue;
        }
        if let Some(NodeEnum::AIndirection(part)) = inner(value)
            && let Some(NodeEnum::AStar(_)) = part.indirection.last().and_then(inner)
            && let Some((_, before)) = part.indirection.split_last()
            && let Some(row) = row_of(binder, part, before)?
        {
            targets.extend(row.fields.into_iter().map(|field| Target {
                name: field.name.clone(),
                expr: field.into_expr(),
                key: None,
                location: target.location,
            }));
            continue;
        }
        targets.push(Target {
            name: output_name(target),
            expr: binder.bind(value)?,
            key: None,
            location: target.location,
        });
    }
    Ok(targets)
}

/// What a `.*` stands behind, if it is a row.
fn row_of(binder: &Binder, part: &AIndirection, before: &[Node]) -> SqlResult<Option<Row>> {
    let node = required(part.arg.as_deref())?;
    if before.is_empty()
        && let Some(row) = binder.row(node)?
    {
        return Ok(Some(row));
    }
    let value = match before {
        [] => binder.bind(node)?,
        before => binder.subscript(&AIndirection {
            arg: part.arg.clone(),
            indirection: before.to_vec(),
        })?,
    };
    binder.row_of_value(&value)
}

fn expand_star(
    binder: &Binder,
    qualifier: &[&str],
    location: i32,
    into: &mut Vec<Target>,
) -> SqlResult<()> {
    let target = |column: &crate::scope::ScopeColumn| {
        if let Expr::Column(place, _) = column.expr {
            binder.planner.name_column(place, location);
        }
        binder.planner.names_column(column.origin);
        Target {
            name: column.name.clone(),
            expr: column.expr.clone(),
            key: None,
            location,
        }
    };
    let all = [qualifier, &["*"]].concat();
    let here = binder.planner.at(location);
    let local = binder.planner.local(&all, 3).map_err(here)?;
    let (schema, table) = match &local[..local.len() - 1] {
        [] if binder.scope.tables.is_empty() => {
            return Err(binder.planner.error(
                SqlState::SYNTAX_ERROR,
                "SELECT * with no tables specified is not valid",
                location,
            ));
        }
        [] => {
            let columns = binder.scope.visible_columns();
            into.extend(columns.filter(|column| column.is_starred()).map(target));
            return Ok(());
        }
        [table] => (None, *table),
        [schema, table] => (Some(*schema), *table),
        _ => {
            return Err(binder.planner.unsupported("a name of five parts", location));
        }
    };
    let table = binder
        .scope
        .table(binder.planner, schema, table, location)?;
    let columns = table.shown().filter(|column| column.is_starred());
    into.extend(columns.map(target));
    Ok(())
}

/// The name of a select list's item.
pub(crate) fn output_name(target: &ResTarget) -> String {
    if !target.name.is_empty() {
        return target.name.clone();
    }
    let found = target.val.as_deref().and_then(figure_name);
    found.unwrap_or_else(|| "?column?".to_string())
}

/// The name that an expression suggests.
pub(crate) fn figure_name(node: &Node) -> Option<String> {
    figure(node).map(|(name, _)| name)
}

/// The name, and whether it is a good one: a type's name gives way to a column's.
fn figure(node: &Node) -> Option<(String, bool)> {
    let good = |name: &str| Some((name.to_string(), true));
    match inner(node)? {
        NodeEnum::ColumnRef(column) => names::strings(&column.fields)
            .last()
            .copied()
            .and_then(good),
        NodeEnum::FuncCall(call) => names::strings(&call.funcname)
            .last()
            .copied()
            .and_then(good),
        NodeEnum::JsonArrayConstructor(_)
        | NodeEnum::JsonFuncExpr(_)
        | NodeEnum::JsonParseExpr(_)
        | NodeEnum::JsonScalarExpr(_)
        | NodeEnum::JsonSerializeExpr(_)
        | NodeEnum::MergeSupportFunc(_) => {
            let call = plain_call_of(inner(node)?)?;
            names::strings(&call.funcname)
                .last()
                .copied()
                .and_then(good)
        }
        NodeEnum::AExpr(expr) if expr.kind() == AExprKind::AexprNullif => good("nullif"),
        NodeEnum::CoalesceExpr(_) => good("coalesce"),
        NodeEnum::GroupingFunc(_) => good("grouping"),
        NodeEnum::MinMaxExpr(extreme) if extreme.op() == MinMaxOp::IsLeast => good("least"),
        NodeEnum::MinMaxExpr(_) => good("greatest"),
        NodeEnum::AArrayExpr(_) => good("array"),
        NodeEnum::RowExpr(_) => good("row"),
        NodeEnum::CollateClause(clause) => figure(clause.arg.as_deref()?),
        // An element or a slice is called as its array.
        NodeEnum::AIndirection(part) => match names::strings(&part.indirection).last() {
            Some(field) => good(field),
            None => figure(part.arg.as_deref()?),
        },
        NodeEnum::TypeCast(cast) => {
            let inside = cast.arg.as_deref().and_then(figure);
            if let Some((name, true)) = inside {
                return Some((name, true));
            }
            let names = names::strings(&cast.type_name.as_ref()?.names);
            names.last().map(|name| ((*name).to_string(), false))
        }
        NodeEnum::CaseExpr(case) => match case.defresult.as_deref().and_then(figure) {
            Some((name, true)) => Some((name, true)),
            _ => Some(("case".to_string(), false)),
        },
        NodeEnum::SubLink(link) => match link.sub_link_type() {
            SubLinkType::ExistsSublink => good("exists"),
            SubLinkType::ArraySublink => good("array"),
            SubLinkType::ExprSublink => match inner(link.subselect.as_deref()?)? {
                NodeEnum::SelectStmt(select) => match inner(select.target_list.first()?)? {
                    NodeEnum::ResTarget(target) if !target.name.is_empty() => good(&target.name),
                    NodeEnum::ResTarget(target) => figure(target.val.as_deref()?),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        },
        NodeEnum::SqlvalueFunction(function) => {
            use SqlValueFunctionOp::*;
            good(match function.op() {
                SvfopCurrentDate => "current_date",
                SvfopCurrentTime | SvfopCurrentTimeN => "current_time",
                SvfopCurrentTimestamp | SvfopCurrentTimestampN => "current_timestamp",
                SvfopLocaltime | SvfopLocaltimeN => "localtime",
                SvfopLocaltimestamp | SvfopLocaltimestampN => "localtimestamp",
                SvfopCurrentRole => "current_role",
                SvfopCurrentUser => "current_user",
                SvfopUser => "user",
                SvfopSessionUser => "session_user",
                SvfopCurrentCatalog => "current_catalog",
                SvfopCurrentSchema => "current_schema",
                SqlvalueFunctionOpUndefined => return None,
            })
        }
        _ => None,
    }
}

/// Describes a bound target.
pub(crate) fn describe(scope: &Scope, target: &Target) -> Output {
    Output {
        name: target.name.clone(),
        ty: target.expr.ty(),
        modifier: scope.modifier(&target.expr),
        origin: scope.origin(&target.expr),
    }
}

/// What a client is told.
pub(crate) fn publish(outputs: Vec<Output>) -> Vec<OutputColumn> {
    let publish = |output: Output| OutputColumn {
        name: output.name,
        ty: output.ty,
        modifier: output.modifier,
        origin: output.origin,
    };
    outputs.into_iter().map(publish).collect()
}

/// Gives every still untyped target the type text, or the type wanted at its place; it stays untyped where
/// `Unknown` is wanted.
pub(crate) fn settle(
    planner: &Planner,
    targets: &mut [Target],
    wanted: Option<&[quintet_base::SqlType]>,
) -> SqlResult<()> {
    for (number, target) in targets.iter_mut().enumerate() {
        if target.expr.ty() != quintet_base::SqlType::Unknown {
            continue;
        }
        let ty = wanted.and_then(|types| types.get(number).copied());
        let ty = ty.unwrap_or(quintet_base::SqlType::Text);
        if ty == quintet_base::SqlType::Unknown {
            continue;
        }
        let expr = std::mem::replace(&mut target.expr, Expr::null(ty));
        target.expr =
            crate::coerce::implicit(planner, expr, ty).map_err(planner.at(target.location))?;
    }
    Ok(())
}
