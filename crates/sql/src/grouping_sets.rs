//! What GROUP BY names: keys, and the sets of them that rows are grouped by.
//!
//! Relies on: `expr`, the select list.  Promises: ROLLUP, CUBE, GROUPING SETS and lists of them become sets of
//! keys as PostgreSQL multiplies them out; GROUPING stands at a place above [`GROUPING_BASE`] until `group`
//! knows the sets.  Does not: group.
//!
//! ```text
//! GROUP BY a, ROLLUP (b, (c, d))   =>   keys a b c d    sets (a b c d) (a b) (a)
//! ```
//!
//! A key is an item of the select list, if there is one like it, and else an expression.  So the same expression
//! twice in the select list is two keys, of which a set may leave out one: `SELECT x a, x b … GROUP BY a, ROLLUP (b)`.
//! Such items say which key they are ([`Target::key`]), and clauses that name them mean that key; an expression that
//! names none means the first of its like, in the order of the select list for values and of GROUP BY for GROUPING.

use crate::comparable;
use crate::expr::{AGGREGATE_BASE, Binder};
use crate::names::{self, inner};
use crate::output::Target;
use crate::rewrite::same;
use crate::select::find_target;
use crate::window::{WINDOW_BASE, has_window};
use pg_query::NodeEnum;
use pg_query::protobuf::{
    CoercionForm, GroupingFunc, GroupingSet, GroupingSetKind, Node, SelectStmt,
};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::Expr;

/// Places of GROUPING in an expression that is not yet above its aggregation: the calls, in order.
pub(crate) const GROUPING_BASE: usize = WINDOW_BASE >> 1;

/// PostgreSQL's bound.
const SETS_MAX: usize = 4096;

/// PostgreSQL's bound: more have more than [`SETS_MAX`] subsets.
const CUBE_MAX: usize = 12;

/// The bits of GROUPING's result.
const GROUPING_ARGUMENTS_MAX: usize = 31;

/// Places of keys that the select list says: those that others are like, and constants.
const KEY_BASE: usize = GROUPING_BASE >> 1;

/// Keys, and which of them each set groups by; without sets, all do.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    pub keys: Vec<Key>,
    pub sets: Vec<Vec<usize>>,
}

#[derive(Debug)]
pub(crate) struct Key {
    pub expr: Expr,
    /// Its place in the select list.
    pub target: Option<usize>,
}

/// Key number `key`, where its expression does not tell.
pub(crate) fn key_itself(key: usize, ty: SqlType) -> Expr {
    Expr::Column(KEY_BASE + key, ty)
}

/// The number of the key at a place of [`key_itself`].
pub(crate) fn key_at(place: usize) -> Option<usize> {
    (KEY_BASE..GROUPING_BASE)
        .contains(&place)
        .then(|| place - KEY_BASE)
}

/// Binds GROUP BY, and tells the select list which of its items are keys where several are alike.
///
/// # Errors
/// `42803` for aggregates, `54001` for too many sets.
pub(crate) fn bind_keys(
    binder: &Binder,
    select: &SelectStmt,
    targets: &mut [Target],
) -> SqlResult<Keys> {
    let mut found = Found {
        binder,
        targets,
        keys: Vec::new(),
    };
    let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
    for node in &select.group_clause {
        let choices = found.item(node)?;
        let mut product = Vec::new();
        for set in &sets {
            for choice in &choices {
                let mut joined = set.clone();
                joined.extend(choice);
                product.push(joined);
            }
        }
        check(product.len())?;
        sets = product;
    }
    for set in &mut sets {
        set.sort_unstable();
        set.dedup();
    }
    if select.group_distinct {
        let mut seen: Vec<Vec<usize>> = Vec::new();
        sets.retain(|set| {
            let new = !seen.contains(set);
            if new {
                seen.push(set.clone());
            }
            new
        });
    }
    let mut keys = found.keys;
    if sets.len() == 1 {
        sets.clear();
        // All are grouped by, so those that are alike are one.
        let mut first: Vec<Key> = Vec::new();
        for key in keys {
            if !first.iter().any(|other| same(&other.expr, &key.expr)) {
                first.push(key);
            }
        }
        keys = first;
    }
    for (place, key) in keys.iter().enumerate() {
        let alike = keys.iter().filter(|other| same(&other.expr, &key.expr));
        if let Some(target) = key.target
            && (alike.count() > 1 || matches!(key.expr, Expr::Const(..)))
        {
            targets[target].key = Some(place);
        }
    }
    Ok(Keys { keys, sets })
}

fn check(sets: usize) -> SqlResult<()> {
    if sets > SETS_MAX {
        return Err(SqlError::new(
            SqlState::STATEMENT_TOO_COMPLEX,
            format!("too many grouping sets present (maximum {SETS_MAX})"),
        ));
    }
    Ok(())
}

/// A call of GROUPING: its arguments, and where it stands.
#[derive(Debug)]
pub(crate) struct Marks {
    pub args: Vec<Expr>,
    pub location: i32,
}

/// True for the place of GROUPING.
pub(crate) fn is_grouping(place: usize) -> bool {
    (GROUPING_BASE..WINDOW_BASE).contains(&place)
}

struct Found<'f, 'b, 'a> {
    binder: &'f Binder<'b, 'a>,
    targets: &'f [Target],
    keys: Vec<Key>,
}

impl Found<'_, '_, '_> {
    /// An item of the list: the sets that it stands for.
    fn item(&mut self, node: &Node) -> SqlResult<Vec<Vec<usize>>> {
        match inner(node) {
            Some(NodeEnum::GroupingSet(set)) => self.sets(set),
            _ => Ok(vec![self.part(node)?]),
        }
    }

    fn sets(&mut self, set: &GroupingSet) -> SqlResult<Vec<Vec<usize>>> {
        match set.kind() {
            GroupingSetKind::GroupingSetEmpty => Ok(vec![vec![]]),
            GroupingSetKind::GroupingSetRollup => {
                let parts = self.parts(&set.content)?;
                Ok((0..=parts.len())
                    .rev()
                    .map(|count| parts[..count].concat())
                    .collect())
            }
            GroupingSetKind::GroupingSetCube => {
                let parts = self.parts(&set.content)?;
                if parts.len() > CUBE_MAX {
                    return Err(self.binder.planner.error(
                        SqlState::TOO_MANY_COLUMNS,
                        format!("CUBE is limited to {CUBE_MAX} elements"),
                        set.location,
                    ));
                }
                let chosen = |bits: usize| {
                    let parts = parts.iter().enumerate();
                    let chosen = parts.filter(|(place, _)| bits & (1 << place) == 0);
                    chosen.flat_map(|(_, part)| part.clone()).collect()
                };
                Ok((0..1 << parts.len()).map(chosen).collect())
            }
            _ => {
                let mut all = Vec::new();
                for node in &set.content {
                    all.extend(self.item(node)?);
                    check(all.len())?;
                }
                Ok(all)
            }
        }
    }

    fn parts(&mut self, nodes: &[Node]) -> SqlResult<Vec<Vec<usize>>> {
        nodes.iter().map(|node| self.part(node)).collect()
    }

    /// A key, or several in parentheses.
    fn part(&mut self, node: &Node) -> SqlResult<Vec<usize>> {
        match inner(node) {
            Some(NodeEnum::RowExpr(row))
                if row.row_format() == CoercionForm::CoerceImplicitCast =>
            {
                row.args.iter().map(|arg| self.key(arg)).collect()
            }
            _ => Ok(vec![self.key(node)?]),
        }
    }

    /// A number, an input column's name, a name of the select list, or an expression.
    fn key(&mut self, node: &Node) -> SqlResult<usize> {
        let binder = self.binder;
        let location = names::location(node);
        let is_input = match inner(node) {
            Some(NodeEnum::ColumnRef(column)) => match names::strings(&column.fields)[..] {
                [name] => binder.scope.find(binder.planner, name, location)?.is_some(),
                _ => true,
            },
            _ => false,
        };
        let target = match is_input {
            true => None,
            false => find_target(binder.planner, node, self.targets, "GROUP BY")?,
        };
        let key = match target {
            Some(place) => self.targets[place].expr.clone(),
            None => binder.bind(node)?,
        };
        let refuse = |state, message| Err(binder.planner.error(state, message, location));
        let mut columns = Vec::new();
        key.collect_columns(&mut columns);
        if columns.iter().any(|&place| place >= AGGREGATE_BASE) {
            return refuse(
                SqlState::GROUPING_ERROR,
                "aggregate functions are not allowed in GROUP BY",
            );
        }
        if has_window(&key) {
            return refuse(
                SqlState::WINDOWING_ERROR,
                "window functions are not allowed in GROUP BY",
            );
        }
        if columns.into_iter().any(is_grouping) {
            return refuse(
                SqlState::GROUPING_ERROR,
                "grouping operations are not allowed in GROUP BY",
            );
        }
        let key = crate::coerce::settle(binder.planner, key)?;
        comparable::equated(binder.planner, key.ty(), location)?;
        let target = target.or_else(|| self.targets.iter().position(|t| same(&t.expr, &key)));
        let known = self.keys.iter().position(|other| match target {
            Some(_) => other.target == target,
            None => same(&other.expr, &key),
        });
        Ok(known.unwrap_or_else(|| {
            self.keys.push(Key { expr: key, target });
            self.keys.len() - 1
        }))
    }
}

impl Binder<'_, '_> {
    /// Binds GROUPING(…): which of its arguments a row's group does not group by, as bits.
    pub(crate) fn grouping(&self, call: &GroupingFunc) -> SqlResult<Expr> {
        let refuse = |state, message| Err(self.planner.error(state, message, call.location));
        let Some(collected) = self.groupings else {
            let message = format!("grouping operations are not allowed in {}", self.clause);
            return refuse(SqlState::GROUPING_ERROR, message);
        };
        if call.args.len() > GROUPING_ARGUMENTS_MAX {
            return refuse(
                SqlState::TOO_MANY_ARGUMENTS,
                "GROUPING must have fewer than 32 arguments".to_string(),
            );
        }
        let inside = Binder {
            aggregates: None,
            windows: None,
            groupings: None,
            clause: "GROUPING",
            ..*self
        };
        let args = call.args.iter().map(|arg| inside.bind(arg));
        let args = args.collect::<SqlResult<Vec<Expr>>>()?;
        let mut collected = collected.borrow_mut();
        collected.push(Marks {
            args,
            location: call.location,
        });
        let place = GROUPING_BASE + collected.len() - 1;
        Ok(Expr::Column(place, SqlType::Int4))
    }
}
