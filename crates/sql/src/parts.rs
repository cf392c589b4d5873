//! Fields of columns as targets: `UPDATE t SET c.f = …`, `INSERT INTO t (c.f) VALUES …`.
//!
//! Relies on: `composite` for the fields of types.  Promises: a field that is not named keeps what it was, or is NULL in a new row; an
//! INSERT of fields is one of whole columns, whose values are rows.  Does not: know elements of arrays inside of rows (0A000).

use crate::coerce;
use crate::composite;
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::tree::{node, string};
use pg_query::NodeEnum;
use pg_query::protobuf::{
    AConst, Alias, CoercionForm, ColumnRef, InsertStmt, Node, RangeSubselect, ResTarget, RowExpr,
    SelectStmt, SetOperation, TypeCast, TypeName,
};
use quintet_base::objects::mark;
use quintet_base::{Shape, SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::Expr;
use quintet_ir::schema::{ColumnDef, TableDef};
use std::sync::Arc;

/// The place of a field in what is assigned to.
fn place(
    planner: &Planner,
    column: &str,
    ty: SqlType,
    name: &str,
) -> SqlResult<(Arc<Shape>, usize)> {
    let shape = match ty {
        SqlType::Composite(number) => planner.catalog().shape(number),
        _ => None,
    };
    let Some(shape) = shape else {
        let message = format!(
            "cannot assign to field \"{name}\" of column \"{column}\" because its type {ty} is not a composite type"
        );
        return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
    };
    match shape.fields.iter().position(|field| field.name == name) {
        Some(place) => Ok((shape, place)),
        None => {
            let of = match ty {
                SqlType::Composite(number) => mark(number),
                _ => ty.to_string(),
            };
            let message = format!(
                "cannot assign to field \"{name}\" of column \"{column}\" because there is no such column in data type {of}"
            );
            Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message))
        }
    }
}

/// The whole with another field, which a path of names leads to.
///
/// # Errors
/// `42703` and `42804` for what is no field, and those of the assignment.
pub(crate) fn with_field(
    planner: &Planner,
    (column, whole): (&str, &Expr),
    path: &[&str],
    value: Expr,
) -> SqlResult<Expr> {
    let Some((name, behind)) = path.split_first() else {
        return Ok(value);
    };
    let (shape, at) = place(planner, column, whole.ty(), name)?;
    let fields = shape.fields.iter().enumerate();
    let mut fields = fields
        .map(|(number, known)| composite::field(whole, number, known.ty))
        .collect::<SqlResult<Vec<Expr>>>()?;
    let known = &shape.fields[at];
    fields[at] = match behind {
        [] => {
            let from = value.ty();
            coerce::assign(planner, value, known.ty, known.modifier, name).map_err(|error| {
                if error.state != SqlState::DATATYPE_MISMATCH || error.hint.is_none() {
                    return error;
                }
                let message = format!(
                    "subfield \"{name}\" is of type {} but expression is of type {from}",
                    known.ty
                );
                SqlError::new(error.state, message)
                    .hint("You will need to rewrite or cast the expression.")
            })?
        }
        behind => with_field(planner, (name, &fields[at]), behind, value)?,
    };
    composite::make(&shape, fields, false)
}

/// Where the values of an INSERT's columns go: a column, or fields of it.
enum Goal {
    Value(usize),
    Fields(SqlType, Vec<(Vec<String>, usize)>),
}

/// The INSERT of whole columns that one of fields is; `None` if it names none.
///
/// # Errors
/// As [`with_field`]; `42701` for a field that is named twice.
pub(crate) fn whole_columns(
    planner: &Planner,
    table: &TableDef,
    statement: &InsertStmt,
) -> SqlResult<Option<InsertStmt>> {
    let mut goals: Vec<(ResTarget, Goal)> = Vec::new();
    let mut found = false;
    for (number, target) in statement.cols.iter().enumerate() {
        let Some(NodeEnum::ResTarget(target)) = inner(target) else {
            return Ok(None);
        };
        if target.indirection.is_empty() {
            goals.push(((**target).clone(), Goal::Value(number)));
            continue;
        }
        found = true;
        let path = names::strings(&target.indirection);
        if path.len() != target.indirection.len() {
            return Err(
                planner.unsupported("an element of an array as a target here", target.location)
            );
        }
        let path: Vec<String> = path.into_iter().map(str::to_string).collect();
        let column = crate::insert::column_number(planner, table, &target.name, target.location)?;
        let column: &ColumnDef = &table.columns[column];
        let known = goals
            .iter_mut()
            .find(|(other, _)| other.name == target.name);
        match known {
            Some((_, Goal::Fields(_, fields))) => fields.push((path, number)),
            _ => goals.push((
                ResTarget {
                    indirection: Vec::new(),
                    ..(**target).clone()
                },
                Goal::Fields(column.ty, vec![(path, number)]),
            )),
        }
    }
    let Some(NodeEnum::SelectStmt(select)) = statement
        .select_stmt
        .as_deref()
        .and_then(inner)
        .filter(|_| found)
    else {
        return Ok(None);
    };
    let width = statement.cols.len();
    let select = match crate::insert::is_plain_values(select) {
        true => {
            let rows = select.values_lists.iter().map(|row| {
                let items = names::list(row).unwrap_or_default();
                if items.len() != width {
                    let message = match items.len() > width {
                        true => "INSERT has more expressions than target columns",
                        false => "INSERT has more target columns than expressions",
                    };
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
                }
                let items = assembled(planner, &goals, &|place| items[place].clone())?;
                Ok(node(NodeEnum::List(pg_query::protobuf::List { items })))
            });
            SelectStmt {
                values_lists: rows.collect::<SqlResult<_>>()?,
                ..(**select).clone()
            }
        }
        false => {
            let name = |place: usize| format!("c{place}");
            let target = |value: Node| {
                node(NodeEnum::ResTarget(Box::new(ResTarget {
                    val: Some(Box::new(value)),
                    location: -1,
                    ..Default::default()
                })))
            };
            let column = |place: usize| {
                node(NodeEnum::ColumnRef(ColumnRef {
                    fields: vec![string("q"), string(name(place))],
                    location: -1,
                }))
            };
            let whole = assembled(planner, &goals, &column)?;
            let whole = whole.into_iter().zip(&goals);
            let whole = whole.map(|(value, (_, goal))| match goal {
                Goal::Fields(SqlType::Composite(number), _) => {
                    let name = planner.catalog().name_of_composite(*number);
                    let (schema, name) = name.unwrap_or_default();
                    node(NodeEnum::TypeCast(Box::new(TypeCast {
                        arg: Some(Box::new(value)),
                        type_name: Some(TypeName {
                            names: vec![string(schema), string(name)],
                            typemod: -1,
                            location: -1,
                            ..Default::default()
                        }),
                        location: -1,
                    })))
                }
                _ => value,
            });
            let source = RangeSubselect {
                lateral: false,
                subquery: statement.select_stmt.clone(),
                alias: Some(Alias {
                    aliasname: "q".to_string(),
                    colnames: (0..width).map(|place| string(name(place))).collect(),
                }),
            };
            SelectStmt {
                target_list: whole.map(target).collect(),
                from_clause: vec![node(NodeEnum::RangeSubselect(Box::new(source)))],
                op: SetOperation::SetopNone as i32,
                limit_option: select.limit_option.min(1),
                ..Default::default()
            }
        }
    };
    let columns = goals.into_iter();
    let columns = columns.map(|(target, _)| node(NodeEnum::ResTarget(Box::new(target))));
    Ok(Some(InsertStmt {
        cols: columns.collect(),
        select_stmt: Some(Box::new(node(NodeEnum::SelectStmt(Box::new(select))))),
        ..statement.clone()
    }))
}

/// The values of whole columns.
fn assembled(
    planner: &Planner,
    goals: &[(ResTarget, Goal)],
    given: &dyn Fn(usize) -> Node,
) -> SqlResult<Vec<Node>> {
    let values = goals.iter().map(|(target, goal)| match goal {
        Goal::Value(place) => Ok(given(*place)),
        Goal::Fields(ty, fields) => {
            let fields: Vec<(&[String], usize)> = fields
                .iter()
                .map(|(path, place)| (path.as_slice(), *place))
                .collect();
            row_of(planner, &target.name, *ty, &fields, given)
        }
    });
    values.collect()
}

/// `ROW(…)` with what is given for some of its fields.
fn row_of(
    planner: &Planner,
    column: &str,
    ty: SqlType,
    given: &[(&[String], usize)],
    value: &dyn Fn(usize) -> Node,
) -> SqlResult<Node> {
    for (path, _) in given {
        place(planner, column, ty, path.first().map_or("", String::as_str))?;
    }
    let shape = match ty {
        SqlType::Composite(number) => planner.catalog().shape(number),
        _ => None,
    };
    let shape = shape.ok_or_else(|| SqlError::internal("fields of what has none"))?;
    let args = shape.fields.iter().map(|field| {
        let own: Vec<(&[String], usize)> = given
            .iter()
            .filter(|(path, _)| path.first().is_some_and(|name| field.name == *name))
            .map(|(path, number)| (&path[1..], *number))
            .collect();
        match own.as_slice() {
            [] => Ok(node(NodeEnum::AConst(AConst {
                isnull: true,
                val: None,
                location: -1,
            }))),
            [([], number)] => Ok(value(*number)),
            own if own.iter().any(|(path, _)| path.is_empty()) => {
                let message = format!("column \"{}\" specified more than once", field.name);
                Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message))
            }
            own => row_of(planner, &field.name, field.ty, own, value),
        }
    });
    Ok(node(NodeEnum::RowExpr(Box::new(RowExpr {
        args: args.collect::<SqlResult<_>>()?,
        row_format: CoercionForm::CoerceExplicitCall as i32,
        location: -1,
        ..Default::default()
    }))))
}
