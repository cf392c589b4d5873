//! The printed form of statements and plans.
//!
//! Relies on: `text`, which prints expressions.  Promises: PostgreSQL's words and indentation, so
//! that people and tools read it at once; the same plan always prints the same lines.  Does not:
//! show costs or row counts, for nothing estimates them; projections print nothing, as in
//! PostgreSQL.
//!
//! ```text
//! Limit
//!   ->  Sort
//!         Sort Key: a DESC
//!         ->  Index Scan using t_pkey on t
//!               Index Cond: (a > $1)
//!               Filter: (b = 2)
//! ```

mod document;
mod node;
mod text;

use crate::aggregate::AggregateCall;
use crate::elements::Sought;
use crate::equal::{Pair, hash_pairs};
use crate::expr::{CompareOp, Expr};
use crate::expressions::{each_of_node, subqueries};
use crate::function::operator_symbol;
use crate::plan::{Access, JoinKind, KeyRange, Path, Plan, SortKey, Turns};
use crate::schema::TableDef;
use crate::statement::{Arbiter, ConflictAction, Insert, Statement};
use crate::window::{WindowCall, WindowFunction};
pub use document::{Format, Part, document};
pub use node::Node;
use node::{SUBPLAN, WITH};
pub use text::{constant_text, expr_text};

/// What the hidden row id is called.
const ROW_ID: &str = "rowid";

/// EXPLAIN's lines for a statement, indented as PostgreSQL does (`->  `).
pub fn explain(statement: &Statement) -> Vec<String> {
    tree(statement).lines()
}

/// What is said of a statement.
pub fn tree(statement: &Statement) -> Node {
    let changes = |operation: &'static str, table: &TableDef, source: &Plan| {
        let child = Printer::over(&[source]).node(source, &[]);
        modification(operation, table).with(child)
    };
    match statement {
        Statement::Query(plan) => Printer::over(&[plan]).node(plan, &[]),
        Statement::Insert(insert) => insert_node(insert),
        Statement::Update(update) => changes("Update", &update.table, &update.source),
        Statement::Delete(delete) => changes("Delete", &delete.table, &delete.source),
    }
}

fn modification(operation: &'static str, table: &TableDef) -> Node {
    Node::titled("ModifyTable", format!("{operation} on {}", table.name))
        .fact("Operation", operation)
        .of_table(&table.name)
}

/// Names of a plan's frame, for printing expressions over it.
pub fn frame_names(plan: &Plan) -> Vec<String> {
    Printer::over(&[plan]).names(plan, &[])
}

fn insert_node(insert: &Insert) -> Node {
    let child = Printer::over(&[&insert.source]).node(&insert.source, &[]);
    let mut node = modification("Insert", &insert.table).with(child);
    let Some(conflict) = &insert.conflict else {
        return node;
    };
    let action = match conflict.action {
        ConflictAction::Nothing => "NOTHING",
        ConflictAction::Update { .. } => "UPDATE",
    };
    node.property("Conflict Resolution", action);
    if let Some(arbiter) = conflict.arbiter {
        let index = match arbiter {
            Arbiter::Primary => key_name(&insert.table),
            Arbiter::Index(number) => &insert.table.indexes[number].name,
        };
        node.list("Conflict Arbiter Indexes", vec![index.to_string()]);
    }
    if let ConflictAction::Update {
        filter: Some(filter),
        ..
    } = &conflict.action
    {
        let mut names = table_names(&insert.table, true);
        names.extend(
            insert
                .table
                .columns
                .iter()
                .map(|c| format!("excluded.{}", c.name)),
        );
        node.property("Conflict Filter", &expr_text(filter, &names));
    }
    node
}

fn table_names(table: &TableDef, qualified: bool) -> Vec<String> {
    let columns = table.columns.iter().map(|column| column.name.as_str());
    let row_id = table.rowid_column().map(|_| ROW_ID);
    let mut names: Vec<String> = columns
        .chain(row_id)
        .map(|name| match qualified {
            true => format!("{}.{name}", table.name),
            false => name.to_string(),
        })
        .collect();
    // What an index is over is called as it is where it is asked for.
    for (number, column) in table.columns.iter().enumerate() {
        if let Some(source) = column.generated.as_ref().filter(|_| column.hidden) {
            names[number] = expr_text(source, &names);
        }
    }
    names
}

fn key_name(table: &TableDef) -> &str {
    table.primary_key.as_ref().map_or(ROW_ID, |key| &key.name)
}

/// Turns plans into nodes.
struct Printer<'p> {
    /// Columns carry their table's name: there is more than one table.
    qualified: bool,
    /// Of a subquery, what it may keep once many have asked.
    asked: Option<&'p Access>,
}

fn count_scans(plan: &Plan) -> usize {
    match plan {
        Plan::Scan(_) => 1,
        plan => plan.inputs().into_iter().map(count_scans).sum(),
    }
}

fn list(exprs: &[Expr], names: &[String]) -> Vec<String> {
    exprs.iter().map(|e| expr_text(e, names)).collect()
}

/// When a table is kept that is asked by key.
fn hashed_after(node: &mut Node, access: &Access) {
    if let Some(after) = access.kept_after {
        node.property("Hashed After", &format!("{} rows", after.asked));
    }
}

fn function_scan(name: &str) -> Node {
    Node::titled("Function Scan", format!("Function Scan on {name}"))
        .fact("Function Name", name)
        .fact("Alias", name)
}

fn of_with(kind: &'static str, title: &str, number: usize) -> Node {
    Node::titled(kind, title).fact("CTE Name", format!("with{number}"))
}

fn join_type(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Inner",
        JoinKind::Left => "Left",
        JoinKind::Full => "Full",
    }
}

impl<'p> Printer<'p> {
    fn over(plans: &[&Plan]) -> Printer<'p> {
        let scans: usize = plans.iter().map(|plan| count_scans(plan)).sum();
        Printer {
            qualified: scans > 1,
            asked: None,
        }
    }

    /// The frame of `plan`, without the outer frame it may look at.
    fn names(&self, plan: &Plan, outer: &[String]) -> Vec<String> {
        match plan {
            Plan::Values { types, .. } => (1..=types.len()).map(|n| format!("column{n}")).collect(),
            Plan::Scan(access) => table_names(&access.table, self.qualified),
            Plan::Series { .. } => vec!["generate_series".to_string()],
            Plan::Unnest { .. } => vec!["unnest".to_string()],
            Plan::Call { callee, types, .. } => match types.len() {
                1 => vec![callee.name.clone()],
                width => (1..=width)
                    .map(|n| format!("{}.{n}", callee.name))
                    .collect(),
            },
            Plan::Join {
                outer: left, inner, ..
            } => {
                let mut names = self.names(left, outer);
                let visible = [outer, &names].concat();
                names.extend(self.names(inner, &visible));
                names
            }
            Plan::Filter { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Unique { input }
            | Plan::Hold { input }
            | Plan::Limit { input, .. }
            | Plan::Lock { input, .. } => self.names(input, outer),
            Plan::Lateral { input, .. } | Plan::Lookup { input, .. } => self.names(input, &[]),
            Plan::Project { input, exprs } => {
                let visible = self.visible(input, outer);
                exprs.iter().map(|e| expr_text(e, &visible)).collect()
            }
            Plan::Aggregate {
                input, keys, calls, ..
            } => {
                let visible = self.visible(input, outer);
                let keys = keys.iter().map(|key| expr_text(key, &visible));
                let calls = calls.iter().map(|call| call_text(call, &visible));
                keys.chain(calls).collect()
            }
            Plan::Window { input, calls, .. } => {
                let visible = self.visible(input, outer);
                // Looked for once: windows stand on windows.
                let mut names = visible[outer.len()..].to_vec();
                names.extend(calls.iter().map(|call| window_text(call, &visible)));
                names
            }
            Plan::With {
                then,
                turns: Turns::Once,
                ..
            } => self.names(then, outer),
            Plan::With { first, .. } => self.names(first, outer),
            Plan::Given { number, types, .. } => (1..=types.len())
                .map(|column| format!("with{number}.{column}"))
                .collect(),
            Plan::Append { inputs } => inputs
                .first()
                .map_or_else(Vec::new, |first| self.names(first, outer)),
        }
    }

    /// What expressions over the output of `plan` see: the outer frame, then its own.
    fn visible(&self, plan: &Plan, outer: &[String]) -> Vec<String> {
        [outer, &self.names(plan, outer)].concat()
    }

    /// A node, with the queries in its expressions below its inputs.
    fn node(&self, plan: &Plan, outer: &[String]) -> Node {
        let mut node = self.without_subqueries(plan, outer);
        each_of_node(plan, &mut |expr, _| {
            subqueries(expr, &mut |subquery| {
                let over = Printer {
                    asked: subquery.plan.asked_by_key(),
                    ..Printer::over(&[&subquery.plan])
                };
                node.push(Node::new(SUBPLAN).with(over.node(&subquery.plan, &[])));
            });
        });
        node
    }

    fn without_subqueries(&self, plan: &Plan, outer: &[String]) -> Node {
        match plan {
            Plan::Values { rows, .. } if rows.is_empty() => {
                let mut node = Node::new("Result");
                node.property("One-Time Filter", "false");
                node
            }
            Plan::Values { rows, .. } if rows.len() == 1 => Node::new("Result"),
            Plan::Values { .. } => {
                Node::titled("Values Scan", "Values Scan on \"*VALUES*\"").fact("Alias", "*VALUES*")
            }
            Plan::Scan(access) => self.scan(access, outer),
            Plan::Series { .. } => function_scan("generate_series"),
            Plan::Unnest { .. } => function_scan("unnest"),
            Plan::Call { callee, .. } => function_scan(&callee.name),
            Plan::Join {
                outer: left,
                inner,
                kind,
                on,
                ..
            } => {
                let visible = self.visible(left, outer);
                if *kind != JoinKind::Full
                    && !left.is_short()
                    && let Some(pairs) = hash_pairs(inner, on.as_ref(), visible.len())
                {
                    let conditions = (&pairs[..], on.as_ref());
                    let mut node = self.hash_join(*kind, conditions, &self.visible(plan, outer));
                    let kept = Node::new("Hash").with(self.node(inner, &visible));
                    node.push(self.node(left, outer));
                    node.push(kept);
                    return node;
                }
                let mut node = match kind {
                    JoinKind::Inner => Node::new("Nested Loop"),
                    JoinKind::Left => Node::titled("Nested Loop", "Nested Loop Left Join"),
                    JoinKind::Full => Node::titled("Hash Join", "Hash Full Join"),
                }
                .fact("Join Type", join_type(*kind));
                if let Some(on) = on {
                    node.property("Join Filter", &expr_text(on, &self.visible(plan, outer)));
                }
                let mut asked = self.node(inner, &visible);
                if let Plan::Scan(access) = &**inner {
                    hashed_after(&mut asked, access);
                }
                node.with(self.node(left, outer)).with(asked)
            }
            Plan::Filter { input, predicate } => {
                let predicate = expr_text(predicate, &self.visible(input, outer));
                let shown = match &**input {
                    Plan::Hold { input } => input,
                    input => input,
                };
                // The row of no columns: what is asked is asked once.
                let once = matches!(shown, Plan::Values { rows, .. } if rows.len() == 1);
                let own = matches!(
                    shown,
                    Plan::Scan(_)
                        | Plan::Join { .. }
                        | Plan::Aggregate { .. }
                        | Plan::Series { .. }
                        | Plan::Unnest { .. }
                        | Plan::Call { .. }
                );
                let child = self.node(input, outer);
                // PostgreSQL shows a filter on the node that it filters.
                let mut node = match own || once {
                    true => child,
                    false => Node::new("Result").with(child),
                };
                let name = if once { "One-Time Filter" } else { "Filter" };
                node.property(name, &predicate);
                node
            }
            Plan::Project { input, .. } | Plan::Hold { input } => self.node(input, outer),
            Plan::Lateral {
                input,
                outer: given,
            } => {
                let mut node = Node::new("Lateral");
                node.list("Given", list(given, outer));
                node.with(self.node(input, &[]))
            }
            Plan::Lookup {
                input,
                keys,
                values,
            } => {
                let mut node = Node::new(match keys.is_empty() {
                    true => "Materialize",
                    false => "Hash Lookup",
                });
                let own = self.names(input, &[]);
                let pairs = keys.iter().zip(values);
                let pairs: Vec<String> = pairs
                    .map(|(key, value)| {
                        format!("({} = {})", expr_text(key, &own), expr_text(value, outer))
                    })
                    .collect();
                if let Some(condition) = join_conditions(pairs, " AND ") {
                    node.property("Hash Cond", &condition);
                }
                node.with(self.node(input, &[]))
            }
            Plan::Aggregate { input, keys, .. } => {
                let (title, strategy) = match keys.is_empty() {
                    true => ("Aggregate", "Plain"),
                    false => ("HashAggregate", "Hashed"),
                };
                let mut node = Node::titled("Aggregate", title)
                    .fact("Strategy", strategy)
                    .fact("Partial Mode", "Simple");
                if !keys.is_empty() {
                    node.list("Group Key", list(keys, &self.visible(input, outer)));
                }
                node.with(self.node(input, outer))
            }
            Plan::With {
                number,
                first,
                then,
                turns,
            } => match turns {
                Turns::Once => of_with(WITH, &format!("With with{number}"), *number),
                _ => {
                    let title = format!("Recursive Union with{number}");
                    of_with("Recursive Union", &title, *number)
                }
            }
            .with(self.node(first, outer))
            .with(self.node(then, outer)),
            Plan::Given {
                number, turning, ..
            } => {
                let kind = match turning {
                    true => "WorkTable Scan",
                    false => "CTE Scan",
                };
                of_with(kind, &format!("{kind} on with{number}"), *number)
                    .fact("Alias", format!("with{number}"))
            }
            Plan::Window { input, .. } => Node::new("WindowAgg").with(self.node(input, outer)),
            Plan::Sort { input, keys, .. } => {
                let mut node = Node::new("Sort");
                let visible = self.visible(input, outer);
                node.list("Sort Key", sort_keys(keys, &visible));
                node.with(self.node(input, outer))
            }
            Plan::Unique { input } => Node::new("Unique").with(self.node(input, outer)),
            Plan::Limit { input, .. } => Node::new("Limit").with(self.node(input, outer)),
            Plan::Lock { input, .. } => Node::new("LockRows").with(self.node(input, outer)),
            Plan::Append { inputs } => inputs.iter().fold(Node::new("Append"), |node, input| {
                node.with(self.node(input, outer))
            }),
        }
    }

    /// A join by hash, with what its rows are found by and what else is asked.
    fn hash_join(
        &self,
        kind: JoinKind,
        (pairs, on): (&[Pair<'_>], Option<&Expr>),
        names: &[String],
    ) -> Node {
        let title = match kind {
            JoinKind::Left => "Hash Left Join",
            _ => "Hash Join",
        };
        let mut node = Node::titled("Hash Join", title).fact("Join Type", join_type(kind));
        let mut conditions = Vec::new();
        for (outer, inner) in pairs {
            conditions.push(format!(
                "({} = {})",
                expr_text(outer, names),
                expr_text(inner, names)
            ));
        }
        if let Some(condition) = join_conditions(conditions, " AND ") {
            node.property("Hash Cond", &condition);
        }
        let parts = match on {
            Some(Expr::And(parts)) => parts.as_slice(),
            Some(on) => std::slice::from_ref(on),
            None => &[],
        };
        let is_pair = |part: &&Expr| match part {
            Expr::Compare { left, right, .. } => pairs.iter().any(|(outer, inner)| {
                let same = |a: &Expr, b: &Expr| std::ptr::eq(a, b);
                same(left, outer) && same(right, inner) || same(left, inner) && same(right, outer)
            }),
            _ => false,
        };
        let rest = parts.iter().filter(|part| !is_pair(part));
        let rest: Vec<String> = rest.map(|part| expr_text(part, names)).collect();
        if let Some(filter) = join_conditions(rest, " AND ") {
            node.property("Join Filter", &filter);
        }
        node
    }

    fn scan(&self, access: &Access, outer: &[String]) -> Node {
        let table = &access.table;
        let mut names = outer.to_vec();
        names.resize(access.offset, String::new());
        names.extend(table_names(table, self.qualified));
        let own = &names[access.offset..];
        let asked;
        let (index, columns, ranges) = match &access.path {
            Path::Full => (None, vec![], &[][..]),
            Path::Elements(number, _) => (Some(&table.indexes[*number].name[..]), vec![], &[][..]),
            Path::Primary(ranges) => (Some(key_name(table)), table.key_columns(), &ranges[..]),
            Path::Index(number, ranges) => {
                let index = &table.indexes[*number];
                // That the rows are in the index is not said.
                let said = ranges.iter().map(|range| KeyRange {
                    equal: range.equal[usize::from(index.partial)..].to_vec(),
                    ..range.clone()
                });
                asked = said.collect::<Vec<KeyRange>>();
                (Some(&index.name[..]), index.asked().to_vec(), &asked[..])
            }
        };
        let columns: Vec<&str> = columns.iter().map(|&c| own[c].as_str()).collect();
        let backward = if access.reverse { " Backward" } else { "" };
        let direction = if access.reverse {
            "Backward"
        } else {
            "Forward"
        };
        let mut node = match index {
            None => {
                let title = format!("Seq Scan{backward} on {}", table.name);
                let node = Node::titled("Seq Scan", title);
                match access.reverse {
                    true => node.fact("Scan Direction", direction),
                    false => node,
                }
            }
            Some(index) => {
                let title = format!("Index Scan{backward} using {index} on {}", table.name);
                Node::titled("Index Scan", title)
                    .fact("Scan Direction", direction)
                    .fact("Index Name", index)
            }
        }
        .of_table(&table.name);
        if let Some(condition) = range_text(ranges, &columns, &names) {
            node.property("Index Cond", &condition);
        }
        if let Path::Elements(number, sought) = &access.path {
            let asked = table.indexes[*number].asked();
            let one = |sought: &Sought| {
                let value = expr_text(&sought.value, &names);
                let column = &own[asked[sought.place]];
                format!("({column} {} {value})", sought.test.symbol())
            };
            let all = sought.iter().map(one).collect();
            if let Some(condition) = join_conditions(all, " AND ") {
                node.property("Index Cond", &condition);
            }
        }
        if let Some(filter) = &access.filter {
            node.property("Filter", &expr_text(filter, &names));
        }
        if self.asked.is_some_and(|asked| std::ptr::eq(asked, access)) {
            hashed_after(&mut node, access);
        }
        node
    }
}

/// `count(*)`, `sum(DISTINCT a)`.
fn call_text(call: &AggregateCall, names: &[String]) -> String {
    let distinct = if call.distinct { "DISTINCT " } else { "" };
    let args = match call.args.is_empty() {
        true => "*".to_string(),
        false => list(&call.args, names).join(", "),
    };
    let order = match call.order.is_empty() {
        true => String::new(),
        false => format!(" ORDER BY {}", sort_keys(&call.order, names).join(", ")),
    };
    let filter = call.filter.as_ref().map_or_else(String::new, |filter| {
        format!(" FILTER (WHERE {})", expr_text(filter, names))
    });
    format!("{}({distinct}{args}{order}){filter}", call.function.name())
}

fn window_text(call: &WindowCall, names: &[String]) -> String {
    let args = match (call.args.is_empty(), call.function) {
        (true, WindowFunction::Aggregate(_)) => "*".to_string(),
        _ => list(&call.args, names).join(", "),
    };
    let filter = call.filter.as_ref().map_or_else(String::new, |filter| {
        format!(" FILTER (WHERE {})", expr_text(filter, names))
    });
    format!("{}({args}){filter} OVER (?)", call.function.name())
}

fn sort_keys(keys: &[SortKey], names: &[String]) -> Vec<String> {
    keys.iter()
        .map(|key| {
            let nulls = match (key.descending, key.nulls_first) {
                (false, true) => " NULLS FIRST",
                (true, false) => " NULLS LAST",
                _ => "",
            };
            let descending = if key.descending { " DESC" } else { "" };
            format!("{}{descending}{nulls}", expr_text(&key.expr, names))
        })
        .collect()
}

/// Several conditions as one.
fn join_conditions(mut conditions: Vec<String>, word: &str) -> Option<String> {
    match conditions.len() {
        0 => None,
        1 => conditions.pop(),
        _ => Some(format!("({})", conditions.join(word))),
    }
}

/// The condition that ranges over key columns stand for; `None` if they let every row through.
fn range_text(ranges: &[KeyRange], columns: &[&str], names: &[String]) -> Option<String> {
    let condition = |range: &KeyRange| {
        let compare = |column: usize, op: CompareOp, value: &Expr| {
            let value = expr_text(value, names);
            format!("({} {} {value})", columns[column], operator_symbol(op))
        };
        let equal = range.equal.iter().enumerate();
        let mut parts: Vec<_> = equal
            .map(|(column, value)| compare(column, CompareOp::Eq, value))
            .collect();
        let next = parts.len();
        if let Some(lower) = &range.lower {
            let op = if lower.inclusive {
                CompareOp::Ge
            } else {
                CompareOp::Gt
            };
            parts.push(compare(next, op, &lower.value));
        }
        if let Some(upper) = &range.upper {
            let op = if upper.inclusive {
                CompareOp::Le
            } else {
                CompareOp::Lt
            };
            parts.push(compare(next, op, &upper.value));
        }
        join_conditions(parts, " AND ")
    };
    let conditions = ranges.iter().map(condition).collect::<Option<Vec<_>>>()?;
    join_conditions(conditions, " OR ")
}
