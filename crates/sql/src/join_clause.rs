//! JOIN in FROM: its condition, and what USING makes of its columns.
//!
//! Relies on: `from`.  Promises: an inner join is its leaves and its condition; a left join marks
//! the one leaf it fills with NULLs; a right join is a left join with its sides exchanged.
//! Does not: FULL JOIN, and outer joins whose optional side is several tables (0A000).

use crate::expr::Binder;
use crate::from::{From, Leaf, LeafKind, bind_item, split};
use crate::names::{self, required};
use crate::planner::Planner;
use crate::scope::Scope;
use pg_query::protobuf::{JoinExpr, JoinType};
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_ir::{CompareOp, Expr};

/// Binds a join whose logical frame begins at `start`.
pub(crate) fn bind_join(
    planner: &Planner,
    join: &JoinExpr,
    lateral: &Scope,
    start: usize,
) -> SqlResult<From> {
    let mut left = bind_item(planner, required(join.larg.as_deref())?, lateral, start)?;
    let mut beside = lateral.clone();
    let tables = beside.tables.len();
    beside
        .visible
        .extend(left.scope.visible.iter().map(|(t, c)| (t + tables, *c)));
    beside.tables.extend(left.scope.tables.iter().cloned());
    let right = bind_item(
        planner,
        required(join.rarg.as_deref())?,
        &beside,
        left.width,
    )?;
    if join.alias.is_some() || join.join_using_alias.is_some() {
        return Err(SqlError::unsupported("an alias for a join"));
    }
    let split_at = left.leaves.len();
    let left_tables = left.scope.tables.len();
    let left_visible = left.scope.visible.clone();
    let right_visible: Vec<(usize, usize)> = right
        .scope
        .visible
        .iter()
        .map(|(t, c)| (t + left_tables, *c))
        .collect();
    let right_conditions = right.conditions.clone();
    let left_conditions = left.conditions.clone();
    left.append(planner, right)?;
    let mut on = Vec::new();
    let mut using: Vec<String> = names::strings(&join.using_clause)
        .iter()
        .map(|s| (*s).to_string())
        .collect();
    if join.is_natural {
        let has = |name: &str| {
            right_visible
                .iter()
                .any(|&(t, c)| left.scope.tables[t].columns[c].name == name)
        };
        let common = left_visible
            .iter()
            .map(|&(t, c)| &left.scope.tables[t].columns[c].name);
        using = common.filter(|name| has(name)).cloned().collect();
    }
    if !using.is_empty() {
        on = merge_columns(
            planner,
            &mut left.scope,
            &using,
            &left_visible,
            &right_visible,
            join.jointype(),
        )?;
    }
    if let Some(quals) = join.quals.as_deref() {
        let binder = Binder::new(planner, &left.scope, "JOIN/ON");
        split(binder.condition(quals)?, &mut on);
    }
    match join.jointype() {
        JoinType::JoinInner => left.conditions.extend(on),
        JoinType::JoinLeft => {
            make_outer(&mut left.leaves[split_at..], &right_conditions, on, "LEFT")?
        }
        // The same as LEFT with the sides exchanged: the leaves' order is `join`'s to choose.
        JoinType::JoinRight => {
            make_outer(&mut left.leaves[..split_at], &left_conditions, on, "RIGHT")?
        }
        JoinType::JoinFull => return Err(SqlError::unsupported("FULL JOIN")),
        _ => return Err(SqlError::unsupported("this kind of join")),
    }
    Ok(left)
}

/// Marks the one leaf that a LEFT or RIGHT join fills with NULLs.
fn make_outer(
    leaves: &mut [Leaf],
    conditions: &[Expr],
    on: Vec<Expr>,
    side: &str,
) -> SqlResult<()> {
    match leaves {
        [leaf] if conditions.is_empty() && matches!(leaf.kind, LeafKind::Inner) => {
            leaf.kind = LeafKind::Left(on);
            Ok(())
        }
        _ => Err(SqlError::unsupported(format!(
            "{side} JOIN whose optional side is not one table"
        ))),
    }
}

/// USING: equality of the columns, which then are visible once, before the others.
fn merge_columns(
    planner: &Planner,
    scope: &mut Scope,
    using: &[String],
    left: &[(usize, usize)],
    right: &[(usize, usize)],
    kind: JoinType,
) -> SqlResult<Vec<Expr>> {
    let find = |side: &[(usize, usize)], name: &str, word: &str| -> SqlResult<(usize, usize)> {
        let mut found = side
            .iter()
            .filter(|&&(t, c)| scope.tables[t].columns[c].name == name);
        match (found.next(), found.next()) {
            (Some(&place), None) => Ok(place),
            (None, _) => Err(planner.error(
                SqlState::UNDEFINED_COLUMN,
                format!(
                    "column \"{name}\" specified in USING clause does not exist in {word} table"
                ),
                -1,
            )),
            _ => Err(planner.error(
                SqlState::AMBIGUOUS_COLUMN,
                format!("common column name \"{name}\" appears more than once in {word} table"),
                -1,
            )),
        }
    };
    let mut on = Vec::with_capacity(using.len());
    let mut merged = Vec::with_capacity(using.len());
    let mut gone = Vec::new();
    for name in using {
        let (a, b) = (find(left, name, "left")?, find(right, name, "right")?);
        let binder = Binder::new(planner, scope, "JOIN/USING");
        let value = |(t, c): (usize, usize)| scope.tables[t].columns[c].expr.clone();
        on.push(binder.compare(CompareOp::Eq, value(a), value(b))?);
        gone.extend([a, b]);
        merged.push(if kind == JoinType::JoinRight { b } else { a });
    }
    let others = left
        .iter()
        .chain(right)
        .filter(|place| !gone.contains(place))
        .copied();
    scope.visible = merged.into_iter().chain(others).collect();
    Ok(on)
}
