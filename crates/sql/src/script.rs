//! Scripts that are read for what they define.
//!
//! Relies on: `parse`, `planner`.  Promises: the catalogue as it would be after the script.  Does not: run
//! anything: what a script would do to rows is left out.

use crate::catalog::Catalog;
use crate::command::Command;
use crate::{PlanContext, parse, plan};
use quintet_base::SqlResult;
use quintet_base::text_format::FormatContext;

/// The catalogue with what a script changes in it.
///
/// # Errors
/// What a statement of it says.
pub fn define(mut catalog: Catalog, text: &str) -> SqlResult<Catalog> {
    for statement in parse(text)? {
        let format = FormatContext::default();
        let context = PlanContext {
            catalog: &catalog,
            schema: "public",
            user: "quintet",
            database: "quintet",
            format: &format,
        };
        if let Command::Ddl(change) = plan(&statement, &context, &[])?.command {
            catalog = catalog.apply(&change.changes)?;
        }
    }
    Ok(catalog)
}
