//! The printed form of statements and plans. (being built)

use crate::statement::Statement;

/// EXPLAIN's lines for a statement, indented as PostgreSQL does (`->  `).
pub fn explain(statement: &Statement) -> Vec<String> {
    let _ = statement;
    vec![]
}
