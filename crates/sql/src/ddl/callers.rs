//! What in tables calls a function that is to go.
//!
//! Relies on: calls in tables' expressions name functions by their numbers.  Promises: no default, check, generated column or index is left
//! without its function; all that need it are told.  Does not: drop them along (0A000), or look at triggers (`trigger`), policies
//! (`policy`) and views.

use crate::catalog::Catalog;
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState};
use quintet_ir::Expr;
use quintet_ir::expressions::callees;

/// Sees to it that no expression of a table calls a function any more.
///
/// # Errors
/// `2BP01` with what does; `0A000` with `cascade`.
pub(super) fn release(
    catalog: &Catalog,
    function: RoutineId,
    what: &str,
    cascade: bool,
) -> SqlResult<()> {
    let calls = |expr: &Expr| {
        let mut found = Vec::new();
        callees(expr, &mut found);
        found.iter().any(|callee| callee.id == function)
    };
    let mut details = Vec::new();
    for table in catalog.tables() {
        let name = &table.name;
        for (number, column) in table.columns.iter().enumerate().filter(|(_, c)| !c.dropped) {
            if column.default.as_ref().is_some_and(calls) {
                let column = &column.name;
                details.push(format!("default value for column {column} of table {name}"));
            }
            if !column.generated.as_ref().is_some_and(calls) {
                continue;
            }
            if !column.hidden {
                details.push(format!("column {} of table {name}", column.name));
                continue;
            }
            let indexes = table.indexes.iter();
            let indexes = indexes.filter(|index| index.columns.contains(&number));
            details.extend(indexes.map(|index| format!("index {}", index.name)));
        }
        let checks = table.checks.iter().filter(|check| calls(&check.condition));
        details.extend(checks.map(|check| format!("constraint {} on table {name}", check.name)));
    }
    if details.is_empty() {
        return Ok(());
    }
    if cascade {
        return Err(SqlError::unsupported(format!(
            "CASCADE to what calls {what}: {}",
            details.join(", ")
        )));
    }
    let details: Vec<String> = details
        .iter()
        .map(|object| format!("{object} depends on {what}"))
        .collect();
    Err(SqlError::new(
        SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        format!("cannot drop {what} because other objects depend on it"),
    )
    .detail(details.join("\n"))
    .hint("Use DROP ... CASCADE to drop the dependent objects too."))
}
