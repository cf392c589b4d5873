//! `unnest(a, b, …)` in FROM: arrays side by side.
//!
//! Relies on: `from`, a series for the places.  Promises: as many rows as the longest array has elements,
//! NULL where a shorter one has ended.  Does not: keep arrays; each is asked for an element per row, so that
//! an expression which gives another array each time is refused.

use crate::expr::Binder;
use crate::from::{From, Source};
use crate::function_source::field_columns;
use crate::rewrite::is_volatile;
use crate::scope::ScopeTable;
use crate::sets::is_of_sets;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::plan::Plan;

/// Adds a table with a column for each array.
///
/// # Errors
/// `42883` for what is no array, `0A000` for what may be another one each time.
pub(crate) fn side_by_side(
    from: &mut From,
    binder: &Binder,
    table: &str,
    arrays: Vec<Expr>,
) -> SqlResult<()> {
    if let Some(other) = arrays.iter().find(|array| array.ty().element().is_none()) {
        return Err(SqlError::new(
            SqlState::UNDEFINED_FUNCTION,
            format!("function unnest({}) does not exist", other.ty()),
        ));
    }
    if arrays.iter().any(is_volatile) {
        return Err(SqlError::unsupported(
            "unnest of several arrays that volatile functions give",
        ));
    }
    let one = Expr::Const(Value::Int4(1), SqlType::Int4);
    let lengths = arrays
        .iter()
        .map(|array| binder.apply("cardinality", vec![array.clone()]));
    let plan = Plan::Series {
        start: one.clone(),
        stop: Expr::Extreme {
            greatest: true,
            args: lengths.collect::<SqlResult<_>>()?,
            ty: SqlType::Int4,
        },
        step: one,
        ty: SqlType::Int4,
    };
    let place = from.add_leaf(table, Source::Function(plan), vec![SqlType::Int4]);
    let mut columns = Vec::with_capacity(arrays.len());
    for array in arrays {
        let place = Expr::Column(place, SqlType::Int4);
        let element = binder.apply("[nth]", vec![array, place])?;
        let shape = match element.ty() {
            SqlType::Composite(number) if !is_of_sets(table) => {
                binder.planner.catalog().shape(number)
            }
            _ => None,
        };
        columns.extend(field_columns(shape.as_deref(), element, "unnest"));
    }
    from.scope.add(ScopeTable {
        is_optional: false,
        name: table.to_string(),
        schema: None,
        columns,
        table_oid: None,
        row: None,
    });
    Ok(())
}
