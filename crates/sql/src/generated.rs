//! Generated columns where rows are written.
//!
//! Relies on: `ColumnDef::generated`.  Promises: a statement that writes a row writes its generated columns with it,
//! computed from the row as it will be.  Does not: let a user give them values (428C9).

use crate::rewrite::{is_volatile, transform};
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_ir::Expr;
use quintet_ir::plan::Plan;
use quintet_ir::schema::{ColumnDef, TableDef};

/// True if the table has a generated column.
fn has_any(table: &TableDef) -> bool {
    table
        .columns
        .iter()
        .any(|column| column.generated.is_some())
}

/// An INSERT's source and values, with generated columns: the row is made first, then they are computed from it.
pub(crate) fn in_insert(table: &TableDef, source: Plan, values: Vec<Expr>) -> (Plan, Vec<Expr>) {
    if !has_any(table) {
        return (source, values);
    }
    let row = Plan::Project {
        input: Box::new(source),
        exprs: values,
    };
    let columns = table.columns.iter().enumerate();
    let values = columns.map(|(number, column)| match &column.generated {
        Some(expr) if !column.dropped => expr.clone(),
        _ => Expr::Column(number, column.ty),
    });
    (row, values.collect())
}

/// Adds what generated columns become to an UPDATE's assignments, over a frame that begins with the old row.
///
/// # Errors
/// `0A000` for a value that would have to be computed twice and might differ.
pub(crate) fn in_update(table: &TableDef, assignments: &mut Vec<(usize, Expr)>) -> SqlResult<()> {
    if !has_any(table) {
        return Ok(());
    }
    assignments.retain(|(number, _)| table.columns[*number].generated.is_none());
    let assigned = assignments.clone();
    let value_of = |number: usize| assigned.iter().find(|(other, _)| *other == number);
    for (number, column) in table.columns.iter().enumerate() {
        let Some(expr) = column.generated.as_ref().filter(|_| !column.dropped) else {
            continue;
        };
        let mut used = Vec::new();
        expr.collect_columns(&mut used);
        let given = used.iter().filter_map(|&column| value_of(column));
        if given.into_iter().any(|(_, value)| is_volatile(value)) {
            return Err(SqlError::unsupported(format!(
                "assigning a volatile expression to what column \"{}\" is generated from",
                column.name
            )));
        }
        let new = transform(expr, &mut |part| match part {
            Expr::Column(place, _) => value_of(*place).map(|(_, value)| value.clone()),
            _ => None,
        });
        assignments.push((number, new));
    }
    Ok(())
}

/// Refuses a value for a generated column. `inserting`: else updating.
///
/// # Errors
/// `428C9`.
pub(crate) fn refuse_value(column: &ColumnDef, inserting: bool) -> SqlResult<()> {
    if column.generated.is_none() {
        return Ok(());
    }
    let name = &column.name;
    let message = match inserting {
        true => format!("cannot insert a non-DEFAULT value into column \"{name}\""),
        false => format!("column \"{name}\" can only be updated to DEFAULT"),
    };
    let detail = format!("Column \"{name}\" is a generated column.");
    Err(SqlError::new(SqlState(*b"428C9"), message).detail(detail))
}
