//! A catalogue in memory from the text of scripts: for who looks at procedures and has no database.
//!
//! Relies on: `parse`, `statement`.  Promises: the definitions that the script makes, as a database that runs it would
//! have them.  Does not: do anything to rows: what a script would do to them is left out.

use crate::catalog::Catalog;
use crate::command::Command;
use crate::{PlanContext, parse, plan};
use quintet_base::SqlResult;
use quintet_base::text_format::FormatContext;

impl Catalog {
    /// The catalogue with what a script changes in it.
    ///
    /// # Errors
    /// What the first statement that is wrong would be refused with.
    pub fn with_script(mut self, text: &str) -> SqlResult<Catalog> {
        for statement in parse(text)? {
            let format = FormatContext::default();
            let context = PlanContext {
                catalog: &self,
                schema: "public",
                user: crate::Who::SYSTEM,
                database: "quintet",
                format: &format,
                dynamic: &crate::planner::NOTHING_DYNAMIC,
            };
            if let Command::Ddl(change) = plan(&statement, &context, &[])?.command {
                self = self.apply(&change.changes)?;
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows are nobody's business here; a statement that is wrong is.
    #[test]
    fn definitions_are_taken_in_and_rows_are_not() {
        let catalog = Catalog::load([]).expect("an empty catalogue");
        let catalog = catalog
            .with_script("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1);")
            .expect("a good script");
        assert!(catalog.table("public", "t").is_some());
        let refused = catalog.with_script("CREATE TABLE t (a int)");
        assert!(refused.is_err_and(|error| error.message.contains("exists")));
    }
}
