//! Subqueries inside expressions, those that need nothing from around them.
//!
//! Relies on: `select`, `join`.  Promises: a subquery becomes one more leaf of the join:
//!
//! | written | leaf | value |
//! |---|---|---|
//! | `x IN (SELECT …)` as a condition of WHERE | its distinct rows, inner-joined | `x = column` |
//! | `x IN (SELECT …)`, `x op ANY/ALL (SELECT …)` elsewhere | one row: `array_agg` | `x op ANY/ALL (array)` |
//! | `EXISTS (SELECT …)` | one row: how many of at most one | `count > 0` |
//! | `(SELECT …)` of at most one row by its form | one row: the query, or `min` over it | its column |
//! | `ARRAY(SELECT …)` | one row: `array_agg` | the array |
//!
//! Does not: correlated subqueries, and scalar ones whose form allows several rows (0A000).

use crate::coerce;
use crate::expr::Binder;
use crate::from::{Leaf, LeafKind, Source, split};
use crate::names::{self, inner, required};
use crate::operator::comparison;
use crate::select::{Query, Rows, plan_query};
use pg_query::NodeEnum;
use pg_query::protobuf::{BoolExprType, Node, SubLink, SubLinkType};
use quintet_base::value::Array;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::aggregate::{AggregateCall, AggregateFunction};
use quintet_ir::plan::Plan;
use quintet_ir::{CompareOp, Expr};
use std::cell::RefCell;

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
            _ => {
                split(binder.condition(node)?, into);
                Ok(())
            }
        }
    }

    fn semi_join(&self, binder: &Binder, link: &SubLink) -> SqlResult<Expr> {
        let here = binder.planner.at(link.location);
        let tested = required(link.testexpr.as_deref())?;
        let left: Vec<Expr> = match inner(tested) {
            Some(NodeEnum::RowExpr(row)) => row
                .args
                .iter()
                .map(|arg| binder.bind(arg))
                .collect::<SqlResult<_>>()?,
            _ => vec![binder.bind(tested)?],
        };
        let query = binder.subselect(link)?;
        if query.outputs.len() != left.len() {
            let message = match query.outputs.len() > left.len() {
                true => "subquery has too many columns",
                false => "subquery has too few columns",
            };
            return Err(binder
                .planner
                .error(SqlState::SYNTAX_ERROR, message, link.location));
        }
        let types: Vec<SqlType> = query.outputs.iter().map(|output| output.ty).collect();
        let plan = Plan::Unique {
            input: Box::new(query.plan),
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

impl Binder<'_, '_> {
    /// Binds a subquery in an expression.
    pub(crate) fn subquery(&self, link: &SubLink) -> SqlResult<Expr> {
        let location = link.location;
        let here = self.planner.at(location);
        let Some(subqueries) = self.subqueries else {
            let clause = self.clause;
            if clause == "CALL arguments" {
                // Neither has PostgreSQL.
                let message = "cannot use subquery in CALL argument";
                let state = SqlState::FEATURE_NOT_SUPPORTED;
                return Err(self.planner.error(state, message, location));
            }
            return Err(self
                .planner
                .unsupported(format!("a subquery in {clause}"), location));
        };
        let query = self.subselect(link)?;
        if link.sub_link_type() != SubLinkType::ExistsSublink && query.outputs.len() != 1 {
            let message = match link.sub_link_type() {
                SubLinkType::AnySublink | SubLinkType::AllSublink => {
                    "subquery has too many columns"
                }
                _ => "subquery must return only one column",
            };
            return Err(self
                .planner
                .error(SqlState::SYNTAX_ERROR, message, location));
        }
        match link.sub_link_type() {
            SubLinkType::ExistsSublink => {
                let one = Plan::Limit {
                    input: Box::new(query.plan),
                    limit: Some(Expr::Const(Value::Int8(1), SqlType::Int8)),
                    offset: None,
                };
                let count = aggregate(AggregateFunction::CountRows, vec![], SqlType::Int8);
                let offset = subqueries.add(collect(one, count), vec![SqlType::Int8]);
                Ok(Expr::Compare {
                    op: CompareOp::Gt,
                    left: Box::new(Expr::Column(offset, SqlType::Int8)),
                    right: Box::new(Expr::Const(Value::Int8(0), SqlType::Int8)),
                })
            }
            SubLinkType::ExprSublink => {
                let ty = query.outputs[0].ty;
                let source = match query.rows {
                    Rows::One => Source::OneRow(query.plan),
                    Rows::AtMostOne => {
                        // One row whether or not there is one: min of at most one value.
                        let Some(min) = minimum(ty) else {
                            return Err(self.planner.unsupported("this scalar subquery", location));
                        };
                        collect(query.plan, min)
                    }
                    Rows::Many => {
                        return Err(self.planner.unsupported(
                            "a scalar subquery that may return several rows",
                            location,
                        ));
                    }
                };
                Ok(Expr::Column(subqueries.add(source, vec![ty]), ty))
            }
            SubLinkType::ArraySublink => self.array_of_rows(subqueries, query, location),
            SubLinkType::AnySublink | SubLinkType::AllSublink => {
                let all = link.sub_link_type() == SubLinkType::AllSublink;
                let symbol = names::built_in(&link.oper_name).unwrap_or("=");
                let op = comparison(symbol).ok_or_else(|| {
                    self.planner
                        .unsupported(format!("operator {symbol} over a subquery"), location)
                })?;
                let input = self.bind(required(link.testexpr.as_deref())?)?;
                let element = query.outputs[0].ty;
                let array = self.array_of_rows(subqueries, query, location)?;
                self.quantify(op, input, element, array, all).map_err(here)
            }
            SubLinkType::RowcompareSublink => Err(self
                .planner
                .unsupported("comparing a row with a subquery", location)),
            _ => Err(self.planner.unsupported("this kind of subquery", location)),
        }
    }

    fn subselect(&self, link: &SubLink) -> SqlResult<Query> {
        let Some(NodeEnum::SelectStmt(select)) = link.subselect.as_deref().and_then(inner) else {
            return Err(SqlError::internal("a subquery that is no SELECT"));
        };
        self.planner.with_outer(self.scope, || {
            self.planner
                .deeper(|| plan_query(self.planner, select, None))
        })
    }

    /// All rows of a column as one array, empty if there are none.
    fn array_of_rows(
        &self,
        subqueries: &Subqueries,
        query: Query,
        location: i32,
    ) -> SqlResult<Expr> {
        let element = query.outputs[0].ty;
        let Some(ty) = element.array_of() else {
            return Err(self
                .planner
                .unsupported(format!("type {element}[]"), location));
        };
        let call = aggregate(
            AggregateFunction::ArrayAgg,
            vec![Expr::Column(0, element)],
            ty,
        );
        let offset = subqueries.add(collect(query.plan, call), vec![ty]);
        let empty = Value::Array(Box::new(Array {
            element,
            values: vec![],
        }));
        Ok(Expr::Coalesce {
            args: vec![Expr::Column(offset, ty), Expr::Const(empty, ty)],
            ty,
        })
    }

    fn quantify(
        &self,
        op: CompareOp,
        input: Expr,
        element: SqlType,
        array: Expr,
        all: bool,
    ) -> SqlResult<Expr> {
        let ty = quintet_ir::function::compare_type(op, input.ty(), element)?;
        let input = coerce::implicit(self.planner, input, ty)?;
        let array = match ty.array_of() {
            _ if ty == element => array,
            Some(wanted) => coerce::implicit(self.planner, array, wanted)?,
            None => return Err(SqlError::unsupported(format!("type {ty}[]"))),
        };
        Ok(Expr::Quantified {
            input: Box::new(input),
            op,
            array: Box::new(array),
            all,
        })
    }
}

/// A plan's rows as one.
fn collect(plan: Plan, call: AggregateCall) -> Source {
    Source::OneRow(Plan::Aggregate {
        input: Box::new(plan),
        keys: vec![],
        calls: vec![call],
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
