//! What a row must fulfil.
//!
//! Relies on: the checks' expressions are over the table's frame.  Promises: NOT NULL in the order of the
//! columns, then the checks in theirs; keys: the primary one, then the unique indexes in their order.
//! Does not: change anything.

use crate::database::{Database, Key};
use crate::plan::Run;
use quintet_base::error::ErrorObject;
use quintet_base::{SqlError, SqlResult, SqlState, Value};
use quintet_ir::TableDef;
use quintet_ir::partition::Misfit;
use quintet_ir::schema::CheckKind;
use quintet_ir::statement::Arbiter;

impl Run<'_> {
    /// The partition, NOT NULL and CHECK.
    pub fn check_row(&self, table: &TableDef, row: &[Value]) -> SqlResult<()> {
        let misfit = table.partitions.as_ref().and_then(|all| all.misfit(row));
        if misfit == Some(Misfit::Homeless) {
            let found = table.partitions.as_ref().map(|all| all.home(row));
            let part = found.and_then(|found| found.err()?.part);
            let name = part.map_or(&table.name, |part| &part.name);
            let message = format!("no partition of relation \"{name}\" found for row");
            let error = SqlError::new(SqlState::CHECK_VIOLATION, message);
            return Err(about(error, table, None, None));
        }
        for (value, column) in row.iter().zip(&table.columns) {
            if column.not_null && !column.dropped && value.is_null() {
                let message = format!(
                    "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                    column.name, table.name
                );
                let error = SqlError::new(SqlState::NOT_NULL_VIOLATION, message);
                return Err(about(error, table, Some(&column.name), None));
            }
        }
        for check in &table.checks {
            // NULL passes.
            if self.eval(&check.condition, row)?.as_bool() == Some(false) {
                if check.kind == CheckKind::OfView {
                    let message =
                        format!("new row violates check option for view \"{}\"", check.name);
                    let state = SqlState::WITH_CHECK_OPTION_VIOLATION;
                    return Err(SqlError::new(state, message));
                }
                let message = format!(
                    "new row for relation \"{}\" violates check constraint \"{}\"",
                    table.name, check.name
                );
                let error = SqlError::new(SqlState::CHECK_VIOLATION, message);
                return Err(about(error, table, None, Some(&check.name)));
            }
        }
        if misfit.is_some() {
            let message = format!(
                "new row for relation \"{}\" violates partition constraint",
                table.name
            );
            let error = SqlError::new(SqlState::CHECK_VIOLATION, message);
            return Err(about(error, table, None, None));
        }
        Ok(())
    }
}

/// The keys of a table that no two rows may share.
pub(crate) fn unique_keys(table: &TableDef) -> Vec<Arbiter> {
    let primary = table.primary_key.as_ref().map(|_| Arbiter::Primary);
    let indexes = table.indexes.iter().enumerate();
    let unique = indexes.filter(|(_, index)| index.unique);
    primary
        .into_iter()
        .chain(unique.map(|(number, _)| Arbiter::Index(number)))
        .collect()
}

/// A row's values in the columns of a unique key; `None` if they are nobody else's for a NULL in them.
pub(crate) fn claim(table: &TableDef, unique: Arbiter, row: &[Value]) -> Option<Key> {
    let index = match unique {
        Arbiter::Primary => return Some(Key::of_row(table, row)),
        Arbiter::Index(number) => &table.indexes[number],
    };
    let key = Key::of(table, &index.columns, row);
    (index.nulls_equal || !key.has_null()).then_some(key)
}

/// The row that has what a new one claims.
pub(crate) fn holder<'d>(
    database: &'d Database,
    table: &TableDef,
    unique: Arbiter,
    new: &[Value],
) -> Option<&'d Vec<Value>> {
    let wanted = claim(table, unique, new)?;
    let mut rows = database.rows(table);
    rows.find(|row| claim(table, unique, row).as_ref() == Some(&wanted))
}

/// `23505`, naming the key.
pub(crate) fn is_taken(table: &TableDef, unique: Arbiter) -> SqlError {
    let name = match unique {
        Arbiter::Primary => table
            .primary_key
            .as_ref()
            .map_or(&table.name, |primary| &primary.name),
        Arbiter::Index(number) => &table.indexes[number].name,
    };
    let message = format!("duplicate key value violates unique constraint \"{name}\"");
    let error = SqlError::new(SqlState::UNIQUE_VIOLATION, message);
    about(error, table, None, Some(name))
}

fn about(
    error: SqlError,
    table: &TableDef,
    column: Option<&str>,
    constraint: Option<&str>,
) -> SqlError {
    error.about(ErrorObject {
        schema: Some(table.schema.clone()),
        table: Some(table.name.clone()),
        column: column.map(str::to_string),
        constraint: constraint.map(str::to_string),
        data_type: None,
    })
}
