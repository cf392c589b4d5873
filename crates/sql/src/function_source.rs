//! Functions in FROM.
//!
//! Relies on: `from`, `set_source`.  Promises: functions that give sets yield rows, which may depend on what
//! stands to their left, and so do functions of the catalogue; any other function is one row, inlined; several in ROWS FROM
//! stand side by side.  Does not: functions of several columns in ROWS FROM, WITH ORDINALITY of functions of the catalogue (0A000).

use crate::call::{has_names, plain_call};
use crate::coerce;
use crate::composite;
use crate::expr::Binder;
use crate::from::{From, Source, alias_or, rename_columns, starting_at};
use crate::names::{self, inner, required};
use crate::planner::Planner;
use crate::routine::{Matched, callee, callee_of_record, is_routine, matched};
use crate::scope::{Scope, ScopeColumn, ScopeTable};
use crate::set_source::{add_json_rows, add_set};
use crate::sets::{is_of_sets, side_by_side as side_by_side_sets};
use crate::tree;
use crate::types;
use crate::unnest::side_by_side;
use pg_query::NodeEnum;
use pg_query::protobuf::{Alias, FuncCall, Node, RangeFunction};
use quintet_base::{Shape, SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::function::RANGES;
use quintet_ir::function::json_rows::{JSON_ROWS, POPULATE, POPULATE_ALL};
use quintet_ir::function::jsonpath::has_parameters;
use quintet_ir::plan::Plan;
use quintet_ir::statement::OutputColumn;

/// Binds a function in FROM.
pub(crate) fn bind_function(
    planner: &Planner,
    item: &RangeFunction,
    lateral: &Scope,
    start: usize,
) -> SqlResult<From> {
    let [function] = item.functions.as_slice() else {
        return bind_several(planner, item, lateral, start);
    };
    let node = names::list(function)
        .and_then(<[Node]>::first)
        .unwrap_or(function);
    let mut from = starting_at(start);
    let binder = Binder::new(planner, lateral, "functions in FROM");
    let plain = match inner(node) {
        Some(NodeEnum::FuncCall(call)) => plain_call(planner, call)?,
        _ => None,
    };
    let plain = plain.map(|call| tree::node(NodeEnum::FuncCall(Box::new(call))));
    let node = plain.as_ref().unwrap_or(node);
    if let Some(NodeEnum::FuncCall(call)) = inner(node)
        && !names::built_in(&call.funcname).is_some_and(|name| is_known(planner, name))
        && is_routine(planner, call)
    {
        if item.ordinality {
            return Err(SqlError::unsupported(
                "WITH ORDINALITY of a function of the catalogue",
            ));
        }
        add_routine(&binder, call, item, &mut from)?;
        rename_columns(planner, &mut from, item.alias.as_ref())?;
        return Ok(from);
    }
    if let Some(NodeEnum::FuncCall(call)) = inner(node)
        && let Some(name) = names::built_in(&call.funcname)
        && let Some((_, function)) = JSON_ROWS.iter().find(|(known, _)| *known == name)
    {
        let here = planner.at(call.location);
        let columns = match item.coldeflist.as_slice() {
            [] => {
                let message =
                    "a column definition list is required for functions returning \"record\"";
                return Err(here(SqlError::new(SqlState::SYNTAX_ERROR, message)));
            }
            list => defined_columns(planner, list)?,
        };
        let args: SqlResult<Vec<Expr>> = call.args.iter().map(|arg| binder.bind(arg)).collect();
        let table = alias_or(item.alias.as_ref(), name).to_string();
        add_json_rows(&binder, (name, function), args?, columns, &table, &mut from)
            .map_err(here)?;
        rename_columns(planner, &mut from, item.alias.as_ref())?;
        return Ok(from);
    }
    if !item.coldeflist.is_empty() {
        let message = "a column definition list is only allowed for functions returning \"record\"";
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
    }
    let (own_name, plan, ty) = match inner(node) {
        Some(NodeEnum::FuncCall(call)) => {
            let name = names::built_in(&call.funcname).unwrap_or_default();
            let args: SqlResult<Vec<Expr>> = match name {
                name if has_parameters(name) && has_names(call) => {
                    binder.with_defaults(name, &call.args)
                }
                name if planner.has_set(name) => {
                    call.args.iter().map(|arg| binder.bind(arg)).collect()
                }
                _ => Ok(vec![]),
            };
            let args = match name {
                "unnest" => arrays_of_sets(&binder, args?)?,
                _ => args?,
            };
            let here = planner.at(call.location);
            let table = alias_or(item.alias.as_ref(), name).to_string();
            if let Some(array) = records_of_json(&binder, name, call)? {
                add_records(planner, &mut from, &table, array);
                rename_columns(planner, &mut from, item.alias.as_ref())?;
                return Ok(from);
            }
            if let ("unnest", [array], false) = (name, args.as_slice(), item.ordinality)
                && matches!(array.ty(), SqlType::CompositeArray(_))
                && !is_of_sets(&table)
            {
                add_records(planner, &mut from, &table, array.clone());
                rename_columns(planner, &mut from, item.alias.as_ref())?;
                return Ok(from);
            }
            if let ("unnest", [vector]) = (name, args.as_slice())
                && vector.ty() == SqlType::TsVector
                && is_of_sets(&table)
            {
                let what = "unnest of a tsvector, which has several columns, outside of FROM";
                return Err(planner.unsupported(what, call.location));
            }
            if add_set(&binder, name, &args, &table, item.ordinality, &mut from).map_err(&here)? {
                rename_columns(planner, &mut from, item.alias.as_ref())?;
                return Ok(from);
            }
            match name {
                _ if item.ordinality => {
                    return Err(SqlError::unsupported("WITH ORDINALITY of this function"));
                }
                "generate_series" => {
                    let (plan, ty) = series(planner, &binder, args).map_err(here)?;
                    (name.to_string(), Some(plan), ty)
                }
                "unnest" if call.args.len() > 1 => {
                    side_by_side(&mut from, &binder, &table, args).map_err(here)?;
                    rename_columns(planner, &mut from, item.alias.as_ref())?;
                    return Ok(from);
                }
                "unnest" => {
                    let (plan, ty) = unnest(args).map_err(here)?;
                    (name.to_string(), Some(plan), ty)
                }
                _ => (name.to_string(), None, SqlType::Unknown),
            }
        }
        _ => (
            crate::select::figure_name(node).unwrap_or_default(),
            None,
            SqlType::Unknown,
        ),
    };
    let table = alias_or(item.alias.as_ref(), &own_name).to_string();
    // A function that returns one column calls it as the table is called.
    let column = |expr: Expr| ScopeColumn {
        name: table.clone(),
        modifier: TypeMod::NONE,
        origin: None,
        expr,
    };
    let column = match plan {
        Some(plan) => {
            let offset = from.add_leaf(&table, Source::Function(plan), vec![ty]);
            column(Expr::Column(offset, ty))
        }
        None => column(coerce::settle(planner, binder.bind(node)?)?),
    };
    from.scope.add(ScopeTable {
        is_optional: false,
        name: table.clone(),
        schema: None,
        columns: vec![column],
        table_oid: None,
        row: None,
    });
    rename_columns(planner, &mut from, item.alias.as_ref())?;
    Ok(from)
}

/// What `json_populate_record` and its kin give, as an array.
fn records_of_json(binder: &Binder, name: &str, call: &FuncCall) -> SqlResult<Option<Expr>> {
    let (is_one, [base, document]) = (name.ends_with("populate_record"), call.args.as_slice())
    else {
        return Ok(None);
    };
    if !matches!(
        name,
        "json_populate_record"
            | "jsonb_populate_record"
            | "json_populate_recordset"
            | "jsonb_populate_recordset"
    ) {
        return Ok(None);
    }
    let (base, document) = (binder.bind(base)?, binder.bind(document)?);
    if !is_one {
        return binder
            .populated(name, &POPULATE_ALL, base, document)
            .map(Some);
    }
    let record = binder.populated(name, &POPULATE, base, document)?;
    Ok(Some(Expr::Array {
        element: record.ty(),
        elements: vec![record],
    }))
}

/// The elements of an array of records, with a column for each field.
fn add_records(planner: &Planner, from: &mut From, table: &str, array: Expr) {
    let ty = array.ty().element().unwrap_or(SqlType::Record);
    let shape = match &array {
        Expr::Array { elements, .. } => elements.first().and_then(|one| planner.shape_of(one)),
        _ => planner.shape_of(&Expr::null(ty)),
    };
    let plan = Plan::Unnest { array };
    let place = from.add_leaf(table, Source::Function(plan), vec![ty]);
    from.scope.add(ScopeTable {
        is_optional: false,
        name: table.to_string(),
        schema: None,
        columns: field_columns(shape.as_deref(), Expr::Column(place, ty), table),
        table_oid: None,
        row: None,
    });
}

/// A column for each field of a record.
pub(crate) fn field_columns(shape: Option<&Shape>, record: Expr, name: &str) -> Vec<ScopeColumn> {
    let column = |name: &str, expr: Expr, modifier| ScopeColumn {
        name: name.to_string(),
        expr,
        modifier,
        origin: None,
    };
    let fields = shape.map(|shape| {
        let fields = shape.fields.iter().enumerate();
        fields
            .map(|(place, known)| {
                let expr = composite::field(&record, place, known.ty)?;
                Ok(column(&known.name, expr, known.modifier))
            })
            .collect::<SqlResult<Vec<ScopeColumn>>>()
    });
    match fields {
        Some(Ok(columns)) => columns,
        _ => vec![column(name, record, TypeMod::NONE)],
    }
}

/// ROWS FROM: functions of one column each, side by side.
fn bind_several(
    planner: &Planner,
    item: &RangeFunction,
    lateral: &Scope,
    start: usize,
) -> SqlResult<From> {
    let mut calls = Vec::with_capacity(item.functions.len());
    for function in &item.functions {
        let parts = names::list(function).unwrap_or_default();
        let (Some(NodeEnum::FuncCall(call)), true) = (
            parts.first().and_then(inner),
            parts.iter().skip(1).all(|columns| columns.node.is_none()),
        ) else {
            return Err(SqlError::unsupported("ROWS FROM of this"));
        };
        calls.push(&**call);
    }
    let own: Vec<&str> = calls
        .iter()
        .map(|call| {
            names::strings(&call.funcname)
                .last()
                .copied()
                .unwrap_or_default()
        })
        .collect();
    let given = item.alias.as_ref();
    let mut names: Vec<Node> = given.map_or_else(Vec::new, |alias| alias.colnames.clone());
    for name in own.iter().skip(names.len()) {
        let sval = name.to_string();
        let node = Some(NodeEnum::String(pg_query::protobuf::String { sval }));
        names.push(Node { node });
    }
    let combined = RangeFunction {
        functions: vec![Node {
            node: Some(NodeEnum::FuncCall(Box::new(side_by_side_sets(&calls)))),
        }],
        alias: Some(Alias {
            aliasname: alias_or(given, own.first().copied().unwrap_or_default()).to_string(),
            colnames: names,
        }),
        is_rowsfrom: false,
        ..item.clone()
    };
    bind_function(planner, &combined, lateral, start)
}

/// True for what PostgreSQL finds before functions of the catalogue.
fn is_known(planner: &Planner, name: &str) -> bool {
    planner.has_set(name) || planner.has_function(name)
}

/// A function of the catalogue: a row, or a set of them.
fn add_routine(
    binder: &Binder,
    call: &FuncCall,
    item: &RangeFunction,
    from: &mut From,
) -> SqlResult<()> {
    let Matched {
        signature,
        arguments,
    } = matched(binder, call, false)?;
    let name = alias_or(item.alias.as_ref(), &signature.name).to_string();
    let said = |message: &str| {
        let error = SqlError::new(SqlState::SYNTAX_ERROR, message);
        binder.planner.at(call.location)(error)
    };
    let mut columns = match (signature.record, item.coldeflist.as_slice()) {
        (true, []) => {
            let message = "a column definition list is required for functions returning \"record\"";
            return Err(said(message));
        }
        (true, list) => defined_columns(binder.planner, list)?,
        (false, []) => signature.columns.clone(),
        (false, _) if signature.is_row => {
            let message =
                "a column definition list is redundant for a function with OUT parameters";
            return Err(said(message));
        }
        (false, _) => {
            let message =
                "a column definition list is only allowed for functions returning \"record\"";
            return Err(said(message));
        }
    };
    let callee = match signature.record {
        true => callee_of_record(binder.planner, &signature, columns.clone())?,
        false => callee(binder.planner, &signature)?,
    };
    match columns.as_mut_slice() {
        [] => columns.push(OutputColumn {
            name: name.clone(),
            ty: SqlType::Void,
            modifier: TypeMod::NONE,
            origin: None,
        }),
        [only] if !signature.of_parameters && !signature.record => only.name = name.clone(),
        _ => {}
    }
    let types: Vec<SqlType> = columns.iter().map(|column| column.ty).collect();
    let plan = Plan::Call {
        callee,
        arguments,
        types: types.clone(),
    };
    let offset = from.add_leaf(&name, Source::Function(plan), types);
    let columns = columns.into_iter().enumerate();
    let columns = columns.map(|(number, column)| ScopeColumn {
        name: column.name,
        expr: Expr::Column(offset + number, column.ty),
        modifier: column.modifier,
        origin: None,
    });
    from.scope.add(ScopeTable {
        is_optional: false,
        name,
        schema: None,
        columns: columns.collect(),
        table_oid: None,
        row: signature.row.as_ref().map(|table| table.id),
    });
    Ok(())
}

/// `(name type, …)` behind AS.
fn defined_columns(planner: &Planner, list: &[Node]) -> SqlResult<Vec<OutputColumn>> {
    let columns = list.iter().map(|node| {
        let Some(NodeEnum::ColumnDef(column)) = inner(node) else {
            return Err(SqlError::internal("a column definition of another kind"));
        };
        let (ty, modifier) = types::resolve(planner, required(column.type_name.as_ref())?)?;
        Ok(OutputColumn {
            name: column.colname.clone(),
            ty,
            modifier,
            origin: None,
        })
    });
    columns.collect()
}

fn series(planner: &Planner, binder: &Binder, args: Vec<Expr>) -> SqlResult<(Plan, SqlType)> {
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let (mut args, ty) = binder.unify(args, "generate_series", -1)?;
    let ty = match ty {
        SqlType::Int4 | SqlType::Int8 => ty,
        SqlType::Int2 => SqlType::Int4,
        // All of them are untyped.
        SqlType::Text if types.iter().all(|t| *t == SqlType::Unknown) => SqlType::Int4,
        _ => {
            return Err(SqlError::unsupported(format!(
                "generate_series over type {ty}"
            )));
        }
    };
    for arg in &mut args {
        let taken = std::mem::replace(arg, Expr::null(ty));
        *arg = coerce::implicit(planner, taken, ty)?;
    }
    let one = coerce::convert_constant(&Value::Int4(1), SqlType::Int4, ty).unwrap_or_default();
    let mut args = args.into_iter();
    let plan = match (args.next(), args.next(), args.next(), args.next()) {
        (Some(start), Some(stop), step, None) => Plan::Series {
            start,
            stop,
            step: step.unwrap_or(Expr::Const(one, ty)),
            ty,
        },
        _ => {
            return Err(SqlError::unsupported(
                "generate_series with this number of arguments",
            ));
        }
    };
    Ok((plan, ty))
}

/// Multiranges give their ranges.
fn arrays_of_sets(binder: &Binder, args: Vec<Expr>) -> SqlResult<Vec<Expr>> {
    let arrays = args.into_iter().map(|arg| match arg.ty() {
        SqlType::Multirange(_) => binder.apply(RANGES, vec![arg]),
        _ => Ok(arg),
    });
    arrays.collect()
}

fn unnest(args: Vec<Expr>) -> SqlResult<(Plan, SqlType)> {
    let mut args = args.into_iter();
    match (args.next(), args.next()) {
        (Some(array), None) => match array.ty().element() {
            Some(element) => Ok((Plan::Unnest { array }, element)),
            None => Err(SqlError::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("function unnest({}) does not exist", array.ty()),
            )),
        },
        _ => Err(SqlError::unsupported("unnest of several arrays")),
    }
}
