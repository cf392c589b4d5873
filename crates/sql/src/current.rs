//! WHERE CURRENT OF: the row of a table that a cursor stands on.
//!
//! Relies on: the host knows the key of the row that a cursor stands on.  Promises: a cursor over one table gives the key of the table's
//! row behind its own columns; a statement about the row that it stands on is one about the row with this key.  Does not: follow a row
//! whose key has been changed since; cursors over several tables (0A000).

use crate::from::row_target;
use crate::names::{inner, strings};
use crate::planner::Planner;
use crate::routine::{any_node, column};
use crate::scope::ROW_ID;
use crate::tree::node;
use pg_query::protobuf::{Alias, CurrentOfExpr, Node, RangeVar, ResTarget, SelectStmt};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{SqlResult, SqlType, Value};
use quintet_ir::function::{self, CURRENT_OF};
use quintet_ir::schema::TableRef;
use quintet_ir::{CompareOp, Expr};

/// What the relation of a FROM or of a statement is called.
pub(crate) fn called(relation: &RangeVar) -> &str {
    let alias: Option<&Alias> = relation.alias.as_ref();
    alias.map_or(&relation.relname, |alias| &alias.aliasname)
}

/// The columns of a table's key, under the name that the table has.
pub(crate) fn key_of<'t>(table: &'t TableRef, name: &'t str) -> impl Iterator<Item = Node> + 't {
    table.key_columns().into_iter().map(move |number| {
        let known = table.columns.get(number);
        column(&[name, known.map_or(ROW_ID, |column| &column.name)])
    })
}

/// The table of a query each of whose rows is made of one of its rows, and the query with the table's key behind its columns; `None` if
/// it is another one.
pub(crate) fn keyed(planner: &Planner, select: &SelectStmt) -> Option<(SelectStmt, TableRef)> {
    let [from] = select.from_clause.as_slice() else {
        return None;
    };
    let Some(NodeEnum::RangeVar(relation)) = inner(from) else {
        return None;
    };
    if !is_plain(select) {
        return None;
    }
    // A column may be called otherwise there.
    let alias = relation.alias.as_ref();
    if alias.is_some_and(|alias| !alias.colnames.is_empty()) {
        return None;
    }
    let table = row_target(planner, relation).ok()?;
    let mut select = select.clone();
    let key = key_of(&table, called(relation)).enumerate().map(target);
    select.target_list.extend(key);
    Some((select, table))
}

/// Whether each row of a query is one of its table's.
fn is_plain(select: &SelectStmt) -> bool {
    let aggregates = |item: &Node| {
        let is_one = |node: &NodeRef| match node {
            NodeRef::FuncCall(call) => {
                let name = strings(&call.funcname);
                let name = name.last().copied().unwrap_or_default();
                call.over.is_none() && quintet_ir::aggregate::is_aggregate_name(name)
            }
            _ => false,
        };
        inner(item).is_some_and(|item| any_node(item, &is_one))
    };
    let sorted = select.sort_clause.iter();
    select.distinct_clause.is_empty()
        && select.group_clause.is_empty()
        && select.having_clause.is_none()
        && select.window_clause.is_empty()
        && select.values_lists.is_empty()
        && select.with_clause.is_none()
        && select.into_clause.is_none()
        && select.larg.is_none()
        && !select.target_list.iter().chain(sorted).any(aggregates)
}

/// A part of the key, under a name that no ORDER BY means.
fn target((number, value): (usize, Node)) -> Node {
    node(NodeEnum::ResTarget(Box::new(ResTarget {
        name: format!("[key {number}]"),
        val: Some(Box::new(value)),
        location: -1,
        ..ResTarget::default()
    })))
}

/// The conditions that a row is the one that a cursor stands on. The target's frame is the first of the rows'.
pub(crate) fn conditions(table: &TableRef, current: &CurrentOfExpr) -> SqlResult<Vec<Expr>> {
    let constant = Expr::Const;
    let equal = |(n, number): (usize, usize)| {
        let ty = table.frame_type(number);
        let args = vec![
            constant(Value::text(&current.cursor_name), SqlType::Text),
            constant(Value::Oid(table.id.0), SqlType::Oid),
            constant(Value::text(&table.name), SqlType::Text),
            constant(Value::Int4(n as i32), SqlType::Int4),
        ];
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let function = function::resolve(CURRENT_OF, &types)?.function;
        let key = Expr::Call { function, args, ty };
        Ok(Expr::Compare {
            op: CompareOp::Eq,
            left: Box::new(Expr::Column(number, ty)),
            right: Box::new(key),
        })
    };
    let key = table.key_columns().into_iter().enumerate();
    key.map(equal).collect()
}
