//! TABLESAMPLE.
//!
//! Relies on: `from` for the table.  Promises: a table, or a partition of one, gives about so many percent of its rows: which ones goes
//! by their keys and the number in REPEATABLE, or by lot. It is asked of a row before joins are.
//! Does not: take blocks for SYSTEM, which is BERNOULLI here; columns and queries in the arguments (0A000); methods of one's own.

use crate::catalog::Relation;
use crate::coerce;
use crate::expr::Binder;
use crate::from::{From, Source, bind_relation, find_named};
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::scope::Scope;
use pg_query::NodeEnum;
use pg_query::protobuf::{Node, RangeTableSample, RangeVar};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::cast::CastContext;
use quintet_ir::function;

/// A table of which a sample is taken, as an item of FROM.
///
/// # Errors
/// `0A000` for what is no table, `42704`, `2202H`, and what the table says.
pub(crate) fn bind(planner: &Planner, sample: &RangeTableSample, start: usize) -> SqlResult<From> {
    let Some(NodeEnum::RangeVar(relation)) = sample.relation.as_deref().and_then(inner) else {
        return Err(SqlError::internal("a sample of no relation"));
    };
    refuse_others(planner, relation)?;
    let mut from = bind_relation(planner, relation, start)?;
    let method = names::strings(&sample.method);
    let method = method.last().copied().unwrap_or_default();
    if !["bernoulli", "system"].contains(&method) {
        let message = format!("tablesample method {method} does not exist");
        return Err(planner.error(SqlState::UNDEFINED_OBJECT, message, sample.location));
    }
    let [percent] = sample.args.as_slice() else {
        let count = sample.args.len();
        let message = format!("tablesample method {method} requires 1 argument, not {count}");
        return Err(planner.error(SqlState(*b"2202H"), message, sample.location));
    };
    let percent = argument(planner, percent, SqlType::Float4)?;
    let seed = match sample.repeatable.as_deref() {
        Some(node) => Some(argument(planner, node, SqlType::Float8)?),
        None => None,
    };
    let leaf = from.leaves.last_mut();
    let leaf = leaf.ok_or_else(|| SqlError::internal("a relation without a leaf"))?;
    let Source::Table(table) = &leaf.source else {
        return Err(only_of_tables(planner, relation));
    };
    let mut args = vec![percent];
    match seed {
        Some(seed) => {
            args.push(seed);
            let key = table.key_columns().into_iter();
            args.extend(key.map(|n| Expr::Column(leaf.offset + n, table.frame_type(n))));
        }
        // Another number for each row is as good as another lot.
        None => {
            args.push(call("random", Vec::new())?);
            args.push(Expr::Const(Value::Int4(0), SqlType::Int4));
        }
    }
    leaf.security.push(call(function::SAMPLED, args)?);
    Ok(from)
}

fn call(name: &str, args: Vec<Expr>) -> SqlResult<Expr> {
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let found = function::resolve(name, &types)?;
    Ok(Expr::Call {
        function: found.function,
        args,
        ty: found.result,
    })
}

/// Views and WITH queries have no rows of their own.
fn refuse_others(planner: &Planner, relation: &RangeVar) -> SqlResult<()> {
    let with = planner.with.borrow();
    let of_with = with.iter().any(|query| query.name == relation.relname);
    let is_other = match find_named(planner, relation)? {
        _ if relation.schemaname.is_empty() && of_with => true,
        Some(Relation::View(id)) => planner.catalog().view(id).is_some(),
        Some(Relation::Sequence(_)) => true,
        _ => false,
    };
    match is_other {
        true => Err(only_of_tables(planner, relation)),
        false => Ok(()),
    }
}

fn only_of_tables(planner: &Planner, relation: &RangeVar) -> SqlError {
    let message = "TABLESAMPLE clause can only be applied to tables and materialized views";
    planner.error(SqlState::FEATURE_NOT_SUPPORTED, message, relation.location)
}

fn argument(planner: &Planner, node: &Node, ty: SqlType) -> SqlResult<Expr> {
    let scope = Scope::empty();
    let location = names::location(node);
    let bound = Binder::new(planner, &scope, "functions in FROM").bind(node);
    let bound = bound.map_err(|error| match error.state {
        SqlState::UNDEFINED_COLUMN | SqlState::UNDEFINED_TABLE => {
            planner.unsupported("a column in TABLESAMPLE", location)
        }
        _ => error,
    })?;
    if bound.has_subquery() {
        return Err(planner.unsupported("a subquery in TABLESAMPLE", location));
    }
    coerce::convert(planner, bound, ty, CastContext::Assignment).map_err(planner.at(location))
}
