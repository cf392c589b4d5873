//! Built-in functions that give sets, in FROM: an array whose elements are the rows.
//!
//! Relies on: `ir::function::sets`.  Promises: the columns that PostgreSQL gives them, WITH ORDINALITY
//! included.  Does not: make a series of integers or a plain `unnest`, which need no array
//! (`function_source`).

use crate::coerce;
use crate::expr::Binder;
use crate::from::{From, Source};
use crate::scope::{ScopeColumn, ScopeTable};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::function::Function;
use quintet_ir::function::sets::{RECORD_FIELD, SIDE_BY_SIDE, WITH_ORDINALITY, resolve_set};
use quintet_ir::plan::Plan;

/// Rows of one or several columns as an array.
struct Rows {
    array: Expr,
    /// A column without a name is called as its table.
    columns: Vec<(String, SqlType)>,
    records: bool,
}

/// Adds the rows of a call to FROM; false if the name is no set's, or a simpler plan does.
///
/// # Errors
/// As PostgreSQL's choice among overloads.
pub(crate) fn add_set(
    binder: &Binder,
    name: &str,
    args: &[Expr],
    table: &str,
    ordinality: bool,
    from: &mut From,
) -> SqlResult<bool> {
    let Some(mut rows) = rows(binder, name, args, ordinality)? else {
        return Ok(false);
    };
    if ordinality {
        rows = Rows {
            array: call(&WITH_ORDINALITY, vec![rows.array], SqlType::RecordArray),
            records: true,
            ..rows
        };
        rows.columns.push(("ordinality".into(), SqlType::Int8));
    }
    let ty = match (rows.records, rows.array.ty().element()) {
        (true, _) => SqlType::Record,
        (false, Some(element)) => element,
        (false, None) => return Err(SqlError::internal("a set that is no array")),
    };
    let plan = Plan::Unnest { array: rows.array };
    let place = from.add_leaf(table, Source::Function(plan), vec![ty]);
    let columns = rows.columns.into_iter().enumerate();
    let columns = columns.map(|(number, (name, of))| ScopeColumn {
        name: if name.is_empty() { table.into() } else { name },
        expr: match rows.records {
            true => {
                let index = Expr::Const(Value::Int4(number as i32 + 1), SqlType::Int4);
                call(&RECORD_FIELD, vec![Expr::Column(place, ty), index], of)
            }
            false => Expr::Column(place, ty),
        },
        modifier: TypeMod::NONE,
        origin: None,
    });
    from.scope.add(ScopeTable {
        name: table.to_string(),
        schema: None,
        columns: columns.collect(),
        table_oid: None,
    });
    Ok(true)
}

fn call(function: &'static Function, args: Vec<Expr>, ty: SqlType) -> Expr {
    Expr::Call { function, args, ty }
}

fn rows(binder: &Binder, name: &str, args: &[Expr], ordinality: bool) -> SqlResult<Option<Rows>> {
    if name == "unnest" {
        return match (args, ordinality) {
            (_, false) => Ok(None),
            (args, true) => side_by_side(args).map(Some),
        };
    }
    let is_whole = |arg: &Expr| {
        matches!(
            arg.ty(),
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Unknown
        )
    };
    if name == "generate_series" && !ordinality && args.iter().all(is_whole) {
        return Ok(None);
    }
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let Some(found) = resolve_set(name, &types) else {
        return Ok(None);
    };
    let found = found?;
    let args = args.iter().zip(&found.call.args);
    let args = args.map(|(arg, ty)| coerce::implicit(binder.planner, arg.clone(), *ty));
    let columns = found.columns.iter();
    Ok(Some(Rows {
        array: call(
            found.call.function,
            args.collect::<SqlResult<_>>()?,
            found.call.result,
        ),
        columns: columns.map(|(name, ty)| (name.to_string(), *ty)).collect(),
        records: found.call.result == SqlType::RecordArray,
    }))
}

/// Arrays side by side.
fn side_by_side(arrays: &[Expr]) -> SqlResult<Rows> {
    let element = |array: &Expr| {
        array.ty().element().ok_or_else(|| {
            SqlError::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("function unnest({}) does not exist", array.ty()),
            )
        })
    };
    let types: Vec<SqlType> = arrays.iter().map(element).collect::<SqlResult<_>>()?;
    if let ([only], [ty]) = (arrays, types.as_slice()) {
        return Ok(Rows {
            array: only.clone(),
            columns: vec![(String::new(), *ty)],
            records: false,
        });
    }
    let columns = types.iter().map(|ty| ("unnest".to_string(), *ty));
    Ok(Rows {
        array: call(&SIDE_BY_SIDE, arrays.to_vec(), SqlType::RecordArray),
        columns: columns.collect(),
        records: true,
    })
}
