//! Subqueries inside expressions.
//!
//! Relies on: `select`, `join`.  Promises: a subquery that needs nothing from around it, stands under no
//! condition and has one row by its form becomes one more leaf of the join, so that its value can be a key:
//!
//! | written | leaf | value |
//! |---|---|---|
//! | `x IN (SELECT …)` as a condition of WHERE | its distinct rows, inner-joined | `x = column` |
//! | `ctid = ANY (ARRAY (SELECT …))` | the same | the same |
//! | `EXISTS (SELECT …)` | one row: how many of at most one | `count > 0` |
//! | `(SELECT …)` of at most one row by its form | one row: the query, or `min` over it | its column |
//! | `ARRAY(SELECT …)` | one row: `array_agg` | the array |
//!
//! All others are parts of the expression ([`quintet_ir::Subquery`]), evaluated where they stand (decision 32).
//! Does not: turn correlated subqueries into joins; what is made of EXISTS where many rows ask is `semi_join`'s affair.

use crate::ctid::CTID;
use crate::expr::Binder;
use crate::from::{Leaf, LeafKind, Source, split};
use crate::names::{self, inner, required};
use crate::never::{is_nothing, never};
use crate::operator::comparison;
use crate::planner::Around;
use crate::select::{Query, Rows, plan_query};
use crate::semi_join;
use crate::subquery_rows::row_by_row;
use pg_query::NodeEnum;
use pg_query::protobuf::{AExpr, AExprKind, BoolExprType, Node, RowExpr, SubLink, SubLinkType};
use quintet_base::types::TypeFamily;
use quintet_base::value::Array;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::aggregate::{AggregateCall, AggregateFunction};
use quintet_ir::expressions::each_outer;
use quintet_ir::plan::Plan;
use quintet_ir::{CompareOp, Expr, Subquery, SubqueryForm};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;

/// The subqueries of one SELECT, as leaves to join.
pub(crate) struct Subqueries {
    leaves: RefCell<Vec<Leaf>>,
    first: usize,
}

impl Subqueries {
    /// None yet; their places begin behind FROM's.
    pub fn new(first: usize) -> Subqueries {
        Subqueries {
            leaves: RefCell::new(Vec::new()),
            first,
        }
    }

    /// The leaves met.
    pub fn take_leaves(&self) -> Vec<Leaf> {
        self.leaves.take()
    }

    /// Forgets the leaves met; whether there were some.
    pub fn forget(&self) -> bool {
        !self.leaves.take().is_empty()
    }

    fn add(&self, source: Source, types: Vec<SqlType>) -> usize {
        let mut leaves = self.leaves.borrow_mut();
        let offset = leaves
            .last()
            .map_or(self.first, |leaf| leaf.offset + leaf.width);
        leaves.push(Leaf {
            name: String::new(),
            source,
            offset,
            width: types.len(),
            types,
            kind: LeafKind::Inner,
            security: Vec::new(),
            barrier: false,
        });
        offset
    }

    /// Binds a WHERE condition, split at AND; `x IN (SELECT …)` among its parts becomes a join.
    pub fn conjuncts(&self, binder: &Binder, node: &Node, into: &mut Vec<Expr>) -> SqlResult<()> {
        match inner(node) {
            Some(NodeEnum::BoolExpr(expr)) if expr.boolop() == BoolExprType::AndExpr => expr
                .args
                .iter()
                .try_for_each(|arg| self.conjuncts(binder, arg, into)),
            Some(NodeEnum::SubLink(link))
                if link.sub_link_type() == SubLinkType::AnySublink && link.oper_name.is_empty() =>
            {
                let condition = self.semi_join(binder, link)?;
                split(condition, into);
                Ok(())
            }
            Some(NodeEnum::AExpr(expr)) if let Some(link) = among_rows(expr) => {
                let condition = self.semi_join(binder, &link)?;
                split(condition, into);
                Ok(())
            }
            _ => {
                split(binder.condition(node)?, into);
                Ok(())
            }
        }
    }

    /// `x IN (SELECT …)` as a condition: a join if nothing is handed to the query.
    fn semi_join(&self, binder: &Binder, link: &SubLink) -> SqlResult<Expr> {
        let (query, handed) = binder.subselect(link)?;
        if !handed.is_empty() || has_figure(&query) {
            return binder.compared(link, query, handed);
        }
        let here = binder.planner.at(link.location);
        let left = binder.tested(link, &query)?;
        // What is compared has to be there once: two rows that differ may be alike in the type that they are compared in.
        let compared = left.iter().zip(&query.outputs).enumerate();
        let compared: SqlResult<Vec<(Expr, Expr)>> = compared
            .map(|(place, (expr, output))| {
                let column = Expr::Column(place, output.ty);
                match binder.compare(CompareOp::Eq, expr.clone(), column.clone())? {
                    Expr::Compare { left, right, .. } if right.ty() != output.ty => {
                        Ok((*left, *right))
                    }
                    _ => Ok((expr.clone(), column)),
                }
            })
            .collect();
        let (left, compared): (Vec<Expr>, Vec<Expr>) = compared.map_err(&here)?.into_iter().unzip();
        if is_nothing(&query.plan) {
            return Ok(never());
        }
        let types: Vec<SqlType> = compared.iter().map(Expr::ty).collect();
        let as_it_is = compared.iter().all(|expr| matches!(expr, Expr::Column(..)));
        let input = match as_it_is {
            true => query.plan,
            false => Plan::Project {
                input: Box::new(query.plan),
                exprs: compared,
            },
        };
        let plan = Plan::Unique {
            input: Box::new(input),
        };
        let offset = self.add(Source::Plan(plan), types.clone());
        let pairs = left.into_iter().zip(types).enumerate();
        let equal: SqlResult<Vec<Expr>> = pairs
            .map(|(n, (expr, ty))| {
                binder.compare(CompareOp::Eq, expr, Expr::Column(offset + n, ty))
            })
            .collect();
        Ok(crate::expr::and(equal.map_err(here)?))
    }
}

/// `ctid = ANY (ARRAY (SELECT …))` as `ctid IN (SELECT …)`, which is true of the same rows.
fn among_rows(expr: &AExpr) -> Option<SubLink> {
    let column = expr.lexpr.as_deref()?;
    let Some(NodeEnum::ColumnRef(named)) = inner(column) else {
        return None;
    };
    let Some(NodeEnum::String(name)) = named.fields.last().and_then(inner) else {
        return None;
    };
    let Some(NodeEnum::SubLink(link)) = expr.rexpr.as_deref().and_then(inner) else {
        return None;
    };
    let is_equality =
        expr.kind() == AExprKind::AexprOpAny && names::built_in(&expr.name) == Some("=");
    let is_array = link.sub_link_type() == SubLinkType::ArraySublink;
    (is_equality && is_array && name.sval == CTID).then(|| SubLink {
        sub_link_type: SubLinkType::AnySublink.into(),
        testexpr: Some(Box::new(column.clone())),
        oper_name: vec![],
        ..(**link).clone()
    })
}

/// Clauses whose expressions are evaluated where no query can be run; PostgreSQL refuses the same.
fn refusal(clause: &str) -> Option<&'static str> {
    Some(match clause {
        "CALL arguments" => "cannot use subquery in CALL argument",
        "DEFAULT expressions" => "cannot use subquery in DEFAULT expression",
        "column generation expressions" => "cannot use subquery in column generation expression",
        "check constraints" => "cannot use subquery in check constraint",
        "index expressions" => "cannot use subquery in index expression",
        "index predicates" => "cannot use subquery in index predicate",
        "transform expressions" => "cannot use subquery in transform expression",
        "EXECUTE parameters" => "cannot use subquery in EXECUTE parameter",
        "COPY FROM WHERE conditions" => "cannot use subquery in COPY FROM WHERE condition",
        _ => return None,
    })
}

impl Binder<'_, '_> {
    /// Binds a subquery in an expression.
    pub(crate) fn subquery(&self, link: &SubLink) -> SqlResult<Expr> {
        let location = link.location;
        if let Some(message) = refusal(self.clause) {
            let state = SqlState::FEATURE_NOT_SUPPORTED;
            return Err(self.planner.error(state, message, location));
        }
        if self.clause == "expressions" {
            let what = format!("a subquery in {}", self.clause);
            return Err(self.planner.unsupported(what, location));
        }
        let (mut query, mut handed) = self.subselect(link)?;
        if link.sub_link_type() == SubLinkType::ExistsSublink {
            query.plan = only_rows(query.plan);
            if is_nothing(&query.plan) {
                return Ok(never());
            }
            leave_out(&query.plan, &mut handed);
        }
        let alone = handed.is_empty() && !self.planner.calls.is_conditional();
        let leaves = self.subqueries.filter(|_| alone);
        match (link.sub_link_type(), leaves) {
            (SubLinkType::ExistsSublink, Some(leaves)) => Ok(exists_leaf(leaves, query)),
            (SubLinkType::ExistsSublink, None) => {
                let parts = query.parts.take();
                let asked = part(SubqueryForm::Exists, query, handed, SqlType::Bool);
                semi_join::note(self.planner, &asked, parts);
                Ok(asked)
            }
            (SubLinkType::ExprSublink, leaves) => {
                self.one_column(&query, location)?;
                let ty = query.outputs[0].ty;
                if is_nothing(&query.plan) {
                    return Ok(Expr::null(ty));
                }
                if let Some(leaves) = leaves
                    && let Some(source) = one_row(&query, ty)
                {
                    return Ok(Expr::Column(leaves.add(source, vec![ty]), ty));
                }
                Ok(part(SubqueryForm::Value(0), query, handed, ty))
            }
            (SubLinkType::ArraySublink, leaves) => {
                self.one_column(&query, location)?;
                let element = query.outputs[0].ty;
                // Arrays are parts of one with a dimension more.
                let is_array = element.element().is_some() && !element.is_vector();
                let nested = is_array.then_some(element);
                let Some(ty) = nested.or_else(|| element.array_of()) else {
                    let what = format!("type {element}[]");
                    return Err(self.planner.unsupported(what, location));
                };
                match leaves {
                    Some(leaves) => Ok(array_leaf(leaves, query, element, ty)),
                    None => Ok(part(SubqueryForm::Array, query, handed, ty)),
                }
            }
            (SubLinkType::AnySublink | SubLinkType::AllSublink, _) => {
                self.compared(link, query, handed)
            }
            _ => Err(self.planner.unsupported("this kind of subquery", location)),
        }
    }

    /// The columns of a subquery's only row, as expressions that share one run of it.
    pub(crate) fn row_of_subquery(&self, link: &SubLink) -> SqlResult<Vec<Expr>> {
        let (query, handed) = self.subselect(link)?;
        let types: Vec<SqlType> = query.outputs.iter().map(|output| output.ty).collect();
        let plan = Arc::new(query.plan);
        let column = |(column, ty): (usize, SqlType)| {
            Expr::Subquery(Box::new(Subquery {
                form: SubqueryForm::Value(column),
                outer: handed.clone(),
                tested: vec![],
                plan: Arc::clone(&plan),
                ty,
            }))
        };
        let columns: Vec<Expr> = types.into_iter().enumerate().map(column).collect();
        // One that needs nothing from around it is run once, whatever is in it.
        let volatile = columns.first().is_some_and(crate::rewrite::is_volatile);
        if volatile && columns.len() > 1 && !handed.is_empty() {
            let what = "a correlated subquery of several columns that calls volatile functions";
            return Err(self.planner.unsupported(what, link.location));
        }
        Ok(columns)
    }

    fn subselect(&self, link: &SubLink) -> SqlResult<(Query, Vec<Expr>)> {
        let Some(NodeEnum::SelectStmt(select)) = link.subselect.as_deref().and_then(inner) else {
            return Err(SqlError::internal("a subquery that is no SELECT"));
        };
        let mut around = Around {
            clause: self.clause,
            aggregates: self.aggregates.map(RefCell::take),
        };
        let planned = self.planner.with_outer(self.scope, &mut around, || {
            self.planner
                .deeper(|| plan_query(self.planner, select, None))
        });
        if let (Some(collected), Some(found)) = (self.aggregates, around.aggregates) {
            collected.replace(found);
        }
        planned
    }

    fn one_column(&self, query: &Query, location: i32) -> SqlResult<()> {
        if query.outputs.len() == 1 {
            return Ok(());
        }
        let message = "subquery must return only one column";
        Err(self
            .planner
            .error(SqlState::SYNTAX_ERROR, message, location))
    }

    /// What is compared with a subquery's rows: as many expressions as it has columns.
    fn tested(&self, link: &SubLink, query: &Query) -> SqlResult<Vec<Expr>> {
        let tested = required(link.testexpr.as_deref())?;
        let left: Vec<Expr> = match inner(tested) {
            Some(NodeEnum::RowExpr(row)) => row
                .args
                .iter()
                .map(|arg| self.bind(arg))
                .collect::<SqlResult<_>>()?,
            _ => vec![self.bind(tested)?],
        };
        self.same_width(left.len(), query.outputs.len(), link.location)?;
        Ok(left)
    }

    fn same_width(&self, left: usize, columns: usize, location: i32) -> SqlResult<()> {
        let message = match columns.cmp(&left) {
            Ordering::Equal => return Ok(()),
            Ordering::Greater => "subquery has too many columns",
            Ordering::Less => "subquery has too few columns",
        };
        Err(self
            .planner
            .error(SqlState::SYNTAX_ERROR, message, location))
    }

    /// `x op ANY/ALL (SELECT …)`, `(x, y) IN (SELECT …)`.
    fn compared(&self, link: &SubLink, query: Query, handed: Vec<Expr>) -> SqlResult<Expr> {
        let here = self.planner.at(link.location);
        let all = link.sub_link_type() == SubLinkType::AllSublink;
        let symbol = match link.oper_name.is_empty() {
            true => Some("="),
            false => names::built_in(&link.oper_name),
        };
        let left = self.tested(link, &query)?;
        let is_alike = |op| matches!((op, all), (CompareOp::Eq, false) | (CompareOp::Ne, true));
        let op = symbol.and_then(comparison);
        let op = op.filter(|op| left.len() == 1 || is_alike(*op));
        // What `=` says of figures is no key that rows could be found by.
        let op = op.filter(|_| !has_figure(&query));
        let Some(op) = op else {
            return self.subquery(&row_by_row(link, left.len()));
        };
        // Whether such rows may be compared is looked at row by row, for which both would have to be in one frame.
        let is_open = |left: &Expr, ty: SqlType| {
            left.ty().is_record() && ty == SqlType::Record
                || left.ty() == SqlType::Record && ty.is_record()
        };
        let mut beside = left.iter().zip(&query.outputs);
        if beside.any(|(left, output)| is_open(left, output.ty)) {
            let what = "comparing a record with those of a subquery, outside of a condition";
            return Err(self.planner.unsupported(what, link.location));
        }
        let outputs = query.outputs.iter().enumerate();
        let pairs: SqlResult<Vec<(Expr, Expr)>> = left
            .into_iter()
            .zip(outputs)
            .map(|(left, (n, output))| self.same_type(op, left, Expr::Column(n, output.ty)))
            .collect();
        let (tested, columns): (Vec<Expr>, Vec<Expr>) = pairs.map_err(here)?.into_iter().unzip();
        if is_nothing(&query.plan) {
            return Ok(Expr::Const(Value::Bool(all), SqlType::Bool));
        }
        let plain = |expr: &Expr| matches!(expr, Expr::Column(..));
        let plan = match columns.iter().all(plain) {
            true => query.plan,
            false => Plan::Project {
                input: Box::new(query.plan),
                exprs: columns,
            },
        };
        Ok(Expr::Subquery(Box::new(Subquery {
            form: SubqueryForm::Compare { op, all },
            outer: handed,
            tested,
            plan: Arc::new(plan),
            ty: SqlType::Bool,
        })))
    }

    /// `(x, y) op (SELECT …)`.
    pub(crate) fn row_with_subquery(
        &self,
        symbol: &str,
        row: &RowExpr,
        link: &SubLink,
    ) -> SqlResult<Expr> {
        let here = self.planner.at(link.location);
        let op = comparison(symbol).ok_or_else(|| {
            self.planner
                .unsupported(format!("operator {symbol} on rows"), link.location)
        })?;
        let left: SqlResult<Vec<Expr>> = row.args.iter().map(|arg| self.bind(arg)).collect();
        let (left, right) = (left?, self.row_of_subquery(link)?);
        self.same_width(left.len(), right.len(), link.location)?;
        let pairs = left.into_iter().zip(right);
        let pairs: SqlResult<Vec<(Expr, Expr)>> = pairs
            .map(|(left, right)| self.same_type(op, left, right))
            .collect();
        self.compare_pairs(op, &pairs.map_err(here)?)
    }
}

/// A subquery as a part of an expression.
fn part(form: SubqueryForm, query: Query, outer: Vec<Expr>, ty: SqlType) -> Expr {
    Expr::Subquery(Box::new(Subquery {
        form,
        outer,
        tested: vec![],
        plan: Arc::new(query.plan),
        ty,
    }))
}

/// Whether a column is of a type whose equality is not that of keys.
fn has_figure(query: &Query) -> bool {
    let mut outputs = query.outputs.iter();
    outputs.any(|output| output.ty.family() == TypeFamily::Geometry)
}

/// What EXISTS asks of a query: whether there are rows, not what is in them.
fn only_rows(plan: Plan) -> Plan {
    match plan {
        Plan::Project { input, .. } => only_rows(*input),
        plan => plan,
    }
}

/// Hands no more to a plan than it looks at: what it is handed decides how early it can be run, and how often.
fn leave_out(plan: &Plan, handed: &mut Vec<Expr>) {
    let mut used = vec![false; handed.len()];
    each_outer(plan, &mut |number| used[number] = true);
    if !used.contains(&true) {
        handed.clear();
    }
    for (expr, _) in handed.iter_mut().zip(used).filter(|(_, used)| !used) {
        *expr = Expr::null(expr.ty());
    }
}

fn exists_leaf(leaves: &Subqueries, query: Query) -> Expr {
    let one = Plan::Limit {
        input: Box::new(query.plan),
        limit: Some(Expr::Const(Value::Int8(1), SqlType::Int8)),
        offset: None,
        ties: vec![],
    };
    let count = aggregate(AggregateFunction::CountRows, vec![], SqlType::Int8);
    let offset = leaves.add(collect(one, count), vec![SqlType::Int8]);
    Expr::Compare {
        op: CompareOp::Gt,
        left: Box::new(Expr::Column(offset, SqlType::Int8)),
        right: Box::new(Expr::Const(Value::Int8(0), SqlType::Int8)),
    }
}

/// A query of at most one row by its form, as exactly one row.
fn one_row(query: &Query, ty: SqlType) -> Option<Source> {
    match query.rows {
        Rows::One => Some(Source::OneRow(query.plan.clone())),
        // min of at most one value.
        Rows::AtMostOne => Some(collect(query.plan.clone(), minimum(ty)?)),
        Rows::Many => None,
    }
}

/// All rows of a column as one array, empty if there are none.
fn array_leaf(leaves: &Subqueries, query: Query, element: SqlType, ty: SqlType) -> Expr {
    let column = vec![Expr::Column(0, element)];
    let call = aggregate(AggregateFunction::ArrayAgg, column, ty);
    let offset = leaves.add(collect(query.plan, call), vec![ty]);
    let empty = Value::Array(Box::new(Array {
        shape: None,
        element: ty.element().unwrap_or(element),
        values: vec![],
    }));
    Expr::Coalesce {
        args: vec![Expr::Column(offset, ty), Expr::Const(empty, ty)],
        ty,
    }
}

/// A plan's rows as one.
fn collect(plan: Plan, call: AggregateCall) -> Source {
    Source::OneRow(Plan::Aggregate {
        input: Box::new(plan),
        keys: vec![],
        calls: vec![call],
        sets: vec![],
    })
}

fn aggregate(function: AggregateFunction, args: Vec<Expr>, ty: SqlType) -> AggregateCall {
    AggregateCall {
        function,
        args,
        distinct: false,
        filter: None,
        order: vec![],
        ty,
    }
}

/// min over column 0, if its type has one that returns the same type.
fn minimum(ty: SqlType) -> Option<AggregateCall> {
    let (function, params, result) =
        quintet_ir::aggregate::resolve_aggregate("min", &[ty])?.ok()?;
    (params == [ty] && result == ty).then(|| aggregate(function, vec![Expr::Column(0, ty)], ty))
}
