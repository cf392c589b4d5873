//! Built-in functions that give sets, in FROM: an array whose elements are the rows.
//!
//! Relies on: `ir::function::sets`.  Promises: the columns that PostgreSQL gives them, WITH ORDINALITY
//! included.  Does not: make a series of integers or a plain `unnest`, which need no array
//! (`function_source`).

use crate::coerce;
use crate::expr::Binder;
use crate::from::{From, Source};
use crate::scope::{ScopeColumn, ScopeTable};
use quintet_base::value::Array;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::function::json_rows::number_of;
use quintet_ir::function::sets::{RECORD_FIELD, SIDE_BY_SIDE, WITH_ORDINALITY, resolve_set};
use quintet_ir::function::{Function, does_not_exist};
use quintet_ir::plan::Plan;
use quintet_ir::statement::OutputColumn;

/// Rows of one or several columns as an array.
struct Rows {
    array: Expr,
    /// A column without a name is called as its table.
    columns: Vec<(String, SqlType, TypeMod)>,
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
        rows.columns
            .push(("ordinality".into(), SqlType::Int8, TypeMod::NONE));
    }
    add_rows(rows, table, from)?;
    Ok(true)
}

/// Adds the rows that a function makes of JSON, with these columns.
///
/// # Errors
/// `42883` for arguments that it does not take.
pub(crate) fn add_json_rows(
    binder: &Binder,
    (name, function): (&str, &'static Function),
    args: Vec<Expr>,
    columns: Vec<OutputColumn>,
    table: &str,
    from: &mut From,
) -> SqlResult<()> {
    let document = function.args[0];
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let document = match (args.into_iter().next(), types.as_slice()) {
        // A literal says itself what is wrong with it.
        (Some(arg), [SqlType::Unknown]) => coerce::implicit(binder.planner, arg, document)?,
        (Some(arg), [ty]) if *ty == document => arg,
        _ => return Err(does_not_exist(name, &types)),
    };
    let names = columns.iter().map(|column| Value::text(&column.name));
    let numbers = (columns.iter()).map(|column| Value::Int8(number_of(column.ty)));
    let array = |element, values| {
        Value::Array(Box::new(Array {
            shape: None,
            element,
            values,
        }))
    };
    let arguments = vec![
        document,
        Expr::Const(array(SqlType::Text, names.collect()), SqlType::TextArray),
        Expr::Const(array(SqlType::Int8, numbers.collect()), SqlType::Int8Array),
    ];
    let rows = Rows {
        array: call(function, arguments, SqlType::RecordArray),
        columns: (columns.iter())
            .map(|column| (column.name.clone(), column.ty, column.modifier))
            .collect(),
        records: true,
    };
    add_rows(rows, table, from)?;
    Ok(())
}

/// Adds rows to FROM.
fn add_rows(rows: Rows, table: &str, from: &mut From) -> SqlResult<()> {
    let ty = match (rows.records, rows.array.ty().element()) {
        (true, _) => SqlType::Record,
        (false, Some(element)) => element,
        (false, None) => return Err(SqlError::internal("a set that is no array")),
    };
    let plan = Plan::Unnest { array: rows.array };
    let place = from.add_leaf(table, Source::Function(plan), vec![ty]);
    let columns = rows.columns.into_iter().enumerate();
    let columns = columns.map(|(number, (name, of, modifier))| ScopeColumn {
        name: if name.is_empty() { table.into() } else { name },
        expr: match rows.records {
            true => {
                let index = Expr::Const(Value::Int4(number as i32 + 1), SqlType::Int4);
                let field = call(&RECORD_FIELD, vec![Expr::Column(place, ty), index], of);
                coerce::apply_modifier(field, of, modifier, false)
            }
            false => Expr::Column(place, ty),
        },
        modifier,
        origin: None,
    });
    from.scope.add(ScopeTable {
        is_optional: false,
        name: table.to_string(),
        schema: None,
        columns: columns.collect(),
        table_oid: None,
        row: None,
    });
    Ok(())
}

fn call(function: &'static Function, args: Vec<Expr>, ty: SqlType) -> Expr {
    Expr::Call { function, args, ty }
}

fn rows(binder: &Binder, name: &str, args: &[Expr], ordinality: bool) -> SqlResult<Option<Rows>> {
    let of_words = matches!(args, [vector] if vector.ty() == SqlType::TsVector);
    if name == "unnest" && !of_words {
        return match (args, ordinality) {
            (_, false) => Ok(None),
            (args, true) => {
                let element = |arg: &Expr| arg.ty().element();
                let is_composite = |arg| matches!(element(arg), Some(SqlType::Composite(_)));
                match args.iter().any(is_composite) {
                    true => Err(SqlError::unsupported("unnest of rows WITH ORDINALITY")),
                    false => side_by_side(args).map(Some),
                }
            }
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
        columns: columns
            .map(|(name, ty)| (name.to_string(), *ty, TypeMod::NONE))
            .collect(),
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
            columns: vec![(String::new(), *ty, TypeMod::NONE)],
            records: false,
        });
    }
    let columns = types
        .iter()
        .map(|ty| ("unnest".to_string(), *ty, TypeMod::NONE));
    Ok(Rows {
        array: call(&SIDE_BY_SIDE, arrays.to_vec(), SqlType::RecordArray),
        columns: columns.collect(),
        records: true,
    })
}
