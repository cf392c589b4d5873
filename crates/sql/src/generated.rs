//! Generated columns where rows are written.
//!
//! Relies on: `ColumnDef::generated`.  Promises: a statement that writes a row writes its generated columns with it,
//! computed from the row as it will be; hidden ones (`ddl::hidden`) also from other generated columns.  Does not: let a user give them values (428C9).

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
    if let Some(values) = in_values(table, &source, &values) {
        return (source, values);
    }
    let row = Plan::Project {
        input: Box::new(source),
        exprs: values,
    };
    let columns = table.columns.iter().enumerate();
    let values = columns.map(|(number, column)| match &column.generated {
        Some(expr) if !column.dropped => from_base(table, expr),
        _ => Expr::Column(number, column.ty),
    });
    (row, values.collect())
}

/// The same for one row of values, if it need not be made first: what is computed from is computed twice then.
fn in_values(table: &TableDef, source: &Plan, values: &[Expr]) -> Option<Vec<Expr>> {
    if !matches!(source, Plan::Values { rows, types } if rows.len() == 1 && types.is_empty()) {
        return None;
    }
    fn is_given(expr: &Expr) -> bool {
        match expr {
            Expr::Const(..) | Expr::Param(..) => true,
            Expr::Cast { input, .. } => is_given(input),
            _ => false,
        }
    }
    let from_given = |expr: &Expr| {
        let mut used = Vec::new();
        expr.collect_columns(&mut used);
        used.iter().all(|&number| is_given(&values[number]))
    };
    let mut all = values.to_vec();
    for (number, column) in table.columns.iter().enumerate() {
        let Some(expr) = column.generated.as_ref().filter(|_| !column.dropped) else {
            continue;
        };
        let expr = from_base(table, expr);
        if !from_given(&expr) {
            return None;
        }
        all[number] = transform(&expr, &mut |part| match part {
            Expr::Column(place, _) => Some(values[*place].clone()),
            _ => None,
        });
    }
    Some(all)
}

/// A generated column's expression without the generated columns in it.
fn from_base(table: &TableDef, expr: &Expr) -> Expr {
    transform(expr, &mut |part| match part {
        Expr::Column(place, _) => table.columns.get(*place)?.generated.clone(),
        _ => None,
    })
}

/// Adds what generated columns become to an UPDATE's assignments, over a frame that begins with the old row.
///
/// # Errors
/// `0A000` for a value that would have to be computed twice and might differ.
pub(crate) fn in_update(table: &TableDef, assignments: &mut Vec<(usize, Expr)>) -> SqlResult<()> {
    if !has_any(table) {
        return Ok(());
    }
    let is_asked = |number: usize| assignments.iter().any(|(other, _)| *other == number);
    let asked: Vec<bool> = (0..table.columns.len()).map(is_asked).collect();
    assignments.retain(|(number, _)| table.columns[*number].generated.is_none());
    let assigned = assignments.clone();
    let value_of = |number: usize| assigned.iter().find(|(other, _)| *other == number);
    for (number, column) in table.columns.iter().enumerate() {
        let Some(expr) = column.generated.as_ref().filter(|_| !column.dropped) else {
            continue;
        };
        let expr = &from_base(table, expr);
        let mut used = Vec::new();
        expr.collect_columns(&mut used);
        // What it is made of stays as it is, and so does it, unless it is asked for: a new column is filled so.
        if !asked[number] && !used.iter().any(|&n| value_of(n).is_some()) {
            continue;
        }
        let given = used.iter().filter_map(|&column| value_of(column));
        if given.into_iter().any(|(_, value)| is_volatile(value)) {
            return Err(SqlError::unsupported(match column.hidden {
                true => format!(
                    "assigning a volatile expression to what index expression {} is made of",
                    column.name
                ),
                false => format!(
                    "assigning a volatile expression to what column \"{}\" is generated from",
                    column.name
                ),
            }));
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
