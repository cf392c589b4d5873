//! Views through which rows may be changed, as far as their queries' text says it.
//!
//! Relies on: the text that CREATE VIEW kept.  Promises: PostgreSQL's words for why rows cannot be changed.
//! Does not: bind anything; what only that shows is seen to around it.

use crate::catalog::Relation;
use crate::from::{Doing, alias_or, find_named};
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::records::ViewRecord;
use crate::routine::any_node;
use crate::view::query_of;
use pg_query::protobuf::{Node, RangeVar, SelectStmt, SetOperation};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{SqlError, SqlResult, SqlState, TableId};
use quintet_ir::aggregate::is_aggregate_name;
use quintet_ir::function::sets::set_width;

/// Columns that every table has and no list names.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"];

/// The query of a view that may be automatically updatable.
pub(super) struct Simple {
    pub select: Box<SelectStmt>,
    /// What it selects from.
    pub below: RangeVar,
}

pub(super) const AGGREGATES: &str =
    "Views that return aggregate functions are not automatically updatable.";
pub(super) const WINDOWS: &str =
    "Views that return window functions are not automatically updatable.";
pub(super) const NOT_SINGLE: &str =
    "Views that do not select from a single table or view are not automatically updatable.";

/// The query of a view from one relation, one row for each of its rows; or why it is none, in PostgreSQL's words.
pub(super) fn simple(view: &ViewRecord) -> SqlResult<Result<Simple, &'static str>> {
    let select = query_of(view)?;
    if let Some(why) = obstacle(&select) {
        return Ok(Err(why));
    }
    let below = match select.from_clause.first().and_then(inner) {
        Some(NodeEnum::RangeVar(below)) => below.clone(),
        _ => return Ok(Err(NOT_SINGLE)),
    };
    Ok(Ok(Simple { select, below }))
}

/// Why rows cannot be changed through a query, whatever it selects from.
fn obstacle(select: &SelectStmt) -> Option<&'static str> {
    let calls = |is_such: &dyn Fn(&NodeRef) -> bool| {
        let values = select.target_list.iter().filter_map(value_of);
        values
            .filter_map(inner)
            .any(|value| any_node(value, is_such))
    };
    let is_aggregate = |node: &NodeRef| match node {
        NodeRef::FuncCall(call) => {
            let name = names::built_in(&call.funcname);
            call.over.is_none() && name.is_some_and(is_aggregate_name)
        }
        _ => false,
    };
    Some(if !select.distinct_clause.is_empty() {
        "Views containing DISTINCT are not automatically updatable."
    } else if !select.group_clause.is_empty() {
        "Views containing GROUP BY are not automatically updatable."
    } else if select.having_clause.is_some() {
        "Views containing HAVING are not automatically updatable."
    } else if !matches!(
        select.op(),
        SetOperation::SetopNone | SetOperation::Undefined
    ) {
        "Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable."
    } else if select.with_clause.is_some() {
        "Views containing WITH are not automatically updatable."
    } else if select.limit_count.is_some() || select.limit_offset.is_some() {
        "Views containing LIMIT or OFFSET are not automatically updatable."
    } else if select.target_list.iter().any(is_set) {
        "Views that return set-returning functions are not automatically updatable."
    } else {
        match select.from_clause.as_slice() {
            [one] if matches!(inner(one), Some(NodeEnum::RangeVar(_))) => return None,
            _ if calls(&is_aggregate) => AGGREGATES,
            _ if calls(&|node| matches!(node, NodeRef::FuncCall(call) if call.over.is_some())) => {
                WINDOWS
            }
            _ => NOT_SINGLE,
        }
    })
}

/// An item of a select list that gives several rows.
fn is_set(item: &Node) -> bool {
    let Some(NodeEnum::FuncCall(call)) = value_of(item).and_then(inner) else {
        return false;
    };
    let name = names::built_in(&call.funcname);
    name.is_some_and(|name| name == "unnest" || set_width(name).is_some())
}

pub(super) fn refusal(view: &str, why: &str, doing: Doing) -> SqlError {
    let (verb, event, event_word) = match doing {
        Doing::Insert => ("insert into", "inserting into", "INSERT"),
        Doing::Update => ("update", "updating", "UPDATE"),
        Doing::Delete => ("delete from", "deleting from", "DELETE"),
    };
    let message = format!("cannot {verb} view \"{view}\"");
    let hint = format!(
        "To enable {event} the view, provide an INSTEAD OF {event_word} trigger or an \
         unconditional ON {event_word} DO INSTEAD rule."
    );
    SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .detail(why)
        .hint(hint)
}

/// The names that a query from one relation has for its columns, with their numbers.
pub(super) struct Under {
    relation: String,
    pub columns: Vec<(String, usize)>,
}

pub(super) fn below_names(planner: &Planner, relation: &RangeVar) -> SqlResult<Under> {
    let mut columns: Vec<(String, usize)> = match find_named(planner, relation)? {
        Some(Relation::View(id)) => {
            let view = planner.catalog().view(id).into_iter();
            let columns = view.flat_map(|view| &view.columns);
            columns.map(|column| column.name.clone()).zip(0..).collect()
        }
        Some(Relation::Table(id) | Relation::Partition(id)) => {
            let table = planner.catalog().rows_of(id);
            let columns = table.iter().flat_map(|table| table.visible_columns());
            columns
                .map(|(number, column)| (column.name.clone(), number))
                .collect()
        }
        _ => Vec::new(),
    };
    let given = relation.alias.iter();
    let given = given.flat_map(|alias| names::strings(&alias.colnames));
    for (column, name) in columns.iter_mut().zip(given) {
        column.0 = name.to_string();
    }
    let relation = alias_or(relation.alias.as_ref(), &relation.relname).to_string();
    Ok(Under { relation, columns })
}

pub(super) fn below_number(planner: &Planner, relation: &RangeVar) -> SqlResult<TableId> {
    match find_named(planner, relation)? {
        Some(Relation::Table(id) | Relation::View(id) | Relation::Partition(id)) => Ok(id),
        _ => Err(SqlError::internal("a view of nothing")),
    }
}

/// The number of the column that an item of a view's list is, below the view; or why it is none.
pub(super) fn place_of(value: &Node, under: &Under) -> Result<usize, &'static str> {
    let other = Err("View columns that are not columns of their base relation are not updatable.");
    let Some(NodeEnum::ColumnRef(column)) = inner(value) else {
        return other;
    };
    let name = names::strings(&column.fields);
    let Some(last) = name.last().copied() else {
        return other;
    };
    let found = under.columns.iter().find(|(name, _)| name == last);
    match found {
        Some((_, place)) => Ok(*place),
        None if name.len() == 1 && under.relation == last => {
            Err("View columns that return whole-row references are not updatable.")
        }
        None if SYSTEM_COLUMNS.contains(&last) => {
            Err("View columns that refer to system columns are not updatable.")
        }
        None => other,
    }
}

pub(super) fn value_of(item: &Node) -> Option<&Node> {
    match inner(item)? {
        NodeEnum::ResTarget(target) => target.val.as_deref(),
        _ => None,
    }
}
