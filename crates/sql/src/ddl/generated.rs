//! Generated columns: GENERATED ALWAYS AS (…) STORED.
//!
//! Relies on: the table's record.  Promises: an expression gives the same for the same row, and names no other
//! generated column.  Does not: compute; see `crate::generated`. Virtual ones (0A000).

use super::moving::at_home;
use crate::catalog::Catalog;
use crate::names::required;
use crate::parse::expression_text;
use crate::planner::Planner;
use crate::records::{ColumnRecord, ForeignKeyRecord, TableRecord};
use crate::row_security::unasked;
use crate::scope::{Scope, ScopeColumn, ScopeTable};
use crate::stored;
use crate::view::context_of;
use pg_query::protobuf::Constraint;
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_ir::Expr;
use quintet_ir::function::{NESTED, Volatility, quoted_identifier};
use quintet_ir::schema::TableDef;

/// Makes the column that is being added a generated one.
pub(super) fn add(
    planner: &Planner,
    record: &mut TableRecord,
    number: usize,
    column: &ColumnRecord,
    constraint: &Constraint,
) -> SqlResult<()> {
    let wrong = |what: &str| {
        let message = format!(
            "both {what} and generation expression specified for column \"{}\" of table \"{}\"",
            column.name, record.name
        );
        planner.error(SqlState::SYNTAX_ERROR, message, constraint.location)
    };
    if constraint.generated_kind == "v" {
        return Err(planner.unsupported("a virtual generated column", constraint.location));
    }
    if column.identity.is_some() {
        return Err(wrong("identity"));
    }
    if column.default.is_some() {
        return Err(wrong("default"));
    }
    let text = expression_text(required(constraint.raw_expr.as_deref())?)?;
    record.more.generated.push((number, text));
    Ok(())
}

/// The columns of a record in sight, as they will be.
fn scope_of(record: &TableRecord) -> Scope {
    let shown = record
        .columns
        .iter()
        .enumerate()
        .filter(|(number, c)| !c.dropped && !record.is_hidden(*number));
    let columns = shown.map(|(number, column)| ScopeColumn {
        name: column.name.clone(),
        expr: Expr::Column(number, column.ty),
        modifier: column.modifier,
        origin: None,
    });
    let mut scope = Scope::empty();
    scope.add(ScopeTable {
        is_optional: false,
        name: record.name.clone(),
        schema: Some(record.schema.clone()),
        columns: columns.collect(),
        table_oid: None,
        row: None,
    });
    scope
}

/// Checks the expressions of all generated columns of a record, and has what new ones name mean the same by the table's path.
///
/// # Errors
/// `42P17` for one that is not immutable or names a generated column, and what binding says.
pub(super) fn check(planner: &Planner, record: &mut TableRecord) -> SqlResult<()> {
    let scope = scope_of(record);
    // What is kept already is read as from its table's schema.
    let outer = unasked(planner.context);
    let path = format!("{}, public", quoted_identifier(&record.schema));
    let context = context_of(&outer, &path);
    let inside = Planner::new(&context, "", &[]);
    let before = planner.catalog().record(record.id);
    let mut texts = Vec::new();
    let generated = |number: usize| record.generated(number).is_some();
    // Hidden ones were looked at when their index was made.
    let shown = |number: &usize| !record.is_hidden(*number);
    for (number, text) in record.more.generated.iter().filter(|(n, _)| shown(n)) {
        let column = &record.columns[*number];
        let is_kept = before.is_some_and(|before| before.generated(*number) == Some(text));
        let reader = if is_kept { &inside } else { planner };
        let expr = stored::generated(reader, &scope, text, column).map_err(SqlError::nowhere)?;
        let mut used = Vec::new();
        expr.collect_columns(&mut used);
        let refuse = |message: String| SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message);
        if let Some(&other) = used.iter().find(|&&other| generated(other)) {
            let message = format!(
                "cannot use generated column \"{}\" in column generation expression",
                record.columns[other].name
            );
            let detail = "A generated column cannot reference another generated column.";
            return Err(refuse(message).detail(detail));
        }
        if !is_immutable(&expr) {
            return Err(refuse("generation expression is not immutable".to_string()));
        }
        if !is_kept {
            let text = at_home(planner, &record.schema, text.clone(), &expr)?;
            texts.push((*number, text));
        }
    }
    for (number, text) in &mut record.more.generated {
        if let Some((_, now)) = texts.iter().find(|(of, _)| of == number) {
            text.clone_from(now);
        }
    }
    Ok(())
}

pub(super) fn is_immutable(expr: &Expr) -> bool {
    let mut immutable = match expr {
        Expr::NextVal(_) | Expr::CurrVal(_) | Expr::SetVal { .. } => false,
        // A table's own calls are looked at when they are bound.
        Expr::Routine { callee, .. } => callee.program.is_none(),
        // It is not folded, but always says the same.
        Expr::Call { function, .. } if function.name == NESTED.name => true,
        Expr::Call { function, .. } => function.volatility == Volatility::Immutable,
        Expr::Cast { input, to, .. } => quintet_ir::cast::is_immutable(input.ty(), *to),
        _ => true,
    };
    expr.for_each_part(&mut |part| immutable = immutable && is_immutable(part));
    immutable
}

/// The generated columns that are made of this one.
pub(super) fn made_of(table: &TableDef, column: usize) -> Vec<usize> {
    let uses = |expr: &Expr| {
        let mut used = Vec::new();
        expr.collect_columns(&mut used);
        used.contains(&column)
    };
    let columns = table.columns.iter().enumerate();
    let found = columns.filter(|(_, c)| !c.dropped && c.generated.as_ref().is_some_and(uses));
    found.map(|(number, _)| number).collect()
}

/// Refuses a foreign key whose actions would give a generated column a value.
///
/// # Errors
/// `42601`.
pub(crate) fn refuse_actions(catalog: &Catalog, key: &ForeignKeyRecord) -> SqlResult<()> {
    let Some(child) = catalog.table_by_id(key.child) else {
        return Ok(());
    };
    let is_generated = |&column: &usize| child.columns[column].generated.is_some();
    if !key.columns.iter().any(is_generated) {
        return Ok(());
    }
    let refuse = |event: &str| {
        let message = format!(
            "invalid ON {event} action for foreign key constraint containing generated column"
        );
        Err(SqlError::new(SqlState::SYNTAX_ERROR, message))
    };
    match (key.on_update, key.on_delete) {
        ('c' | 'n' | 'd', _) => refuse("UPDATE"),
        (_, 'n' | 'd') => refuse("DELETE"),
        _ => Ok(()),
    }
}
