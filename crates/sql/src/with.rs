//! WITH.
//!
//! Relies on: `select`.  Promises: a WITH query is planned wherever its name is used, as a subselect,
//! and sees the WITH queries before it.  Does not: recursion, queries that change data (0A000).

use crate::from::{From, add_plan, alias_or, rename_columns, starting_at};
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::select::plan_query;
use pg_query::NodeEnum;
use pg_query::protobuf::{RangeVar, SelectStmt, WithClause};
use quintet_base::{SqlResult, SqlState};

/// One WITH query in sight.
#[derive(Clone)]
pub(crate) struct WithQuery {
    pub name: String,
    pub columns: Vec<String>,
    pub query: Box<SelectStmt>,
    /// How many WITH queries were in sight of it.
    pub sees: usize,
}

/// A WITH query where its name is used: planned there, as a subselect.
pub(crate) fn bind_with(
    planner: &Planner,
    with: &WithQuery,
    relation: &RangeVar,
    start: usize,
) -> SqlResult<From> {
    // It sees only the queries before it.
    let hidden = planner.with.borrow_mut().split_off(with.sees);
    let planned = planner.deeper(|| plan_query(planner, &with.query, None));
    planner.with.borrow_mut().extend(hidden);
    let mut planned = planned?;
    for (column, name) in planned.outputs.iter_mut().zip(&with.columns) {
        column.name = name.clone();
    }
    let mut from = starting_at(start);
    let name = alias_or(relation.alias.as_ref(), &relation.relname);
    add_plan(&mut from, planned.plan, &planned.outputs, name, None);
    rename_columns(planner, &mut from, relation.alias.as_ref())?;
    Ok(from)
}

/// Puts the queries of a WITH clause in sight; how many there were before.
///
/// # Errors
/// `0A000` for recursive ones and those that change data.
pub(crate) fn enter_with(planner: &Planner, with: Option<&WithClause>) -> SqlResult<usize> {
    let before = planner.with.borrow().len();
    let Some(with) = with else {
        return Ok(before);
    };
    if with.recursive {
        return Err(planner.unsupported("WITH RECURSIVE", with.location));
    }
    for node in &with.ctes {
        let Some(NodeEnum::CommonTableExpr(query)) = inner(node) else {
            continue;
        };
        let Some(NodeEnum::SelectStmt(select)) = query.ctequery.as_deref().and_then(inner) else {
            return Err(planner.unsupported("a WITH query that changes data", query.location));
        };
        let mut known = planner.with.borrow_mut();
        if known[before..]
            .iter()
            .any(|other| other.name == query.ctename)
        {
            let message = format!(
                "WITH query name \"{}\" specified more than once",
                query.ctename
            );
            return Err(planner.error(SqlState::DUPLICATE_ALIAS, message, query.location));
        }
        let sees = known.len();
        known.push(WithQuery {
            name: query.ctename.clone(),
            columns: names::strings(&query.aliascolnames)
                .iter()
                .map(|s| (*s).to_string())
                .collect(),
            query: select.clone(),
            sees,
        });
    }
    Ok(before)
}

/// Takes the queries of a WITH clause out of sight again.
pub(crate) fn leave_with(planner: &Planner, before: usize) {
    planner.with.borrow_mut().truncate(before);
}
