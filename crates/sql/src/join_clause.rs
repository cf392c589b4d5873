//! JOIN in FROM: its condition, and what USING makes of its columns.
//!
//! Relies on: `from`, `join`.  Promises: an inner join is its leaves and its condition; a left join marks
//! the leaf it fills with NULLs, which several leaves become one for; a right join is a left join with its
//! sides exchanged; a full join is one leaf, a plan of its own.
//! Does not: FULL JOIN of sides that look at what stands before the join (0A000).

use crate::expr::{Binder, and};
use crate::from::{From, Leaf, LeafKind, Source, bind_item, rename_columns, split};
use crate::join::join;
use crate::names::{self, required};
use crate::planner::{Inlines, Planner};
use crate::rewrite::{move_columns, move_function, shift};
use crate::scope::{Scope, ScopeColumn, ScopeTable};
use pg_query::protobuf::{JoinExpr, JoinType, Node};
use quintet_base::{SqlError, SqlResult, SqlState, TypeMod};
use quintet_ir::expressions::each_of_node;
use quintet_ir::plan::{JoinKind, Plan};
use quintet_ir::{CompareOp, Expr};
use std::ops::Range;

/// Binds a join whose logical frame begins at `start`.
pub(crate) fn bind_join(
    planner: &Planner,
    join: &JoinExpr,
    lateral: &Scope,
    start: usize,
) -> SqlResult<From> {
    let kind = join.jointype();
    let inlines = planner.inlines.get();
    let bind = |item: &Node, lateral: &Scope, start: usize, optional: bool| {
        let most = match optional {
            true => Inlines::Nullable,
            false => Inlines::Expressions,
        };
        planner.inlines.set(inlines.min(most));
        let bound = bind_item(planner, item, lateral, start);
        planner.inlines.set(inlines);
        bound
    };
    let right_fills = matches!(kind, JoinType::JoinRight | JoinType::JoinFull);
    let left_fills = matches!(kind, JoinType::JoinLeft | JoinType::JoinFull);
    let item = required(join.larg.as_deref())?;
    let mut left = bind(item, lateral, start, right_fills)?;
    let mut beside = lateral.clone();
    let tables = beside.tables.len();
    if right_fills {
        beside.unreachable.extend(left.scope.tables.iter().cloned());
    } else {
        beside
            .visible
            .extend(left.scope.visible.iter().map(|(t, c)| (t + tables, *c)));
        beside.tables.extend(left.scope.tables.iter().cloned());
    }
    let item = required(join.rarg.as_deref())?;
    let mut right = bind(item, &beside, left.width, left_fills)?;
    match kind {
        JoinType::JoinLeft => group(&mut right),
        JoinType::JoinRight => group(&mut left),
        _ => {}
    }
    let middle = left.width;
    let split_at = left.leaves.len();
    let left_tables = left.scope.tables.len();
    let left_visible = left.scope.visible.clone();
    let right_visible: Vec<(usize, usize)> = right
        .scope
        .visible
        .iter()
        .map(|(t, c)| (t + left_tables, *c))
        .collect();
    let sides = match kind {
        JoinType::JoinFull => Some((left.clone(), right.clone())),
        _ => None,
    };
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
    let mut merged = Vec::new();
    if !using.is_empty() {
        (on, merged) = merge_columns(
            planner,
            &mut left.scope,
            &using,
            &left_visible,
            &right_visible,
            kind,
        )?;
    }
    if let Some(quals) = join.quals.as_deref() {
        let binder = Binder::new(planner, &left.scope, "JOIN/ON");
        split(binder.condition(quals)?, &mut on);
    }
    let optional = match kind {
        JoinType::JoinLeft => left_tables..left.scope.tables.len(),
        JoinType::JoinRight => 0..left_tables,
        JoinType::JoinFull => 0..left.scope.tables.len(),
        _ => 0..0,
    };
    for table in &mut left.scope.tables[optional] {
        table.is_optional = true;
    }
    match kind {
        JoinType::JoinInner => left.conditions.extend(on),
        JoinType::JoinLeft => make_outer(&mut left.leaves[split_at..], on)?,
        // The same as LEFT with the sides exchanged: the leaves' order is `join`'s to choose.
        JoinType::JoinRight => make_outer(&mut left.leaves[..split_at], on)?,
        JoinType::JoinFull => {
            let (one, other) = required(sides)?;
            let plan = full_join((&one, &other), on, (start, middle, left.width))?;
            let types = one.leaves.iter().chain(&other.leaves);
            let types = types.flat_map(|leaf| leaf.types.clone()).collect();
            left.leaves.clear();
            left.conditions.clear();
            left.leaves.push(Leaf {
                name: String::new(),
                source: Source::Plan(plan),
                offset: start,
                width: left.width - start,
                types,
                kind: LeafKind::Inner,
                security: Vec::new(),
                barrier: false,
            });
        }
        _ => return Err(SqlError::unsupported("this kind of join")),
    }
    if let Some(alias) = &join.join_using_alias {
        let columns = merged.iter();
        left.scope.tables.push(ScopeTable {
            is_optional: false,
            name: alias.aliasname.clone(),
            schema: None,
            columns: columns
                .map(|&(t, c)| left.scope.tables[t].columns[c].clone())
                .collect(),
            table_oid: None,
            row: None,
        });
    }
    if let Some(alias) = &join.alias {
        // The names inside are out of sight from here on.
        let columns = left.scope.visible_columns().cloned().collect();
        left.scope = Scope::empty();
        left.scope.add(ScopeTable {
            is_optional: false,
            name: alias.aliasname.clone(),
            schema: None,
            columns,
            table_oid: None,
            row: None,
        });
        rename_columns(planner, &mut left, Some(alias))?;
    }
    Ok(left)
}

/// Makes the leaves of an optional side one, if they are not.
fn group(side: &mut From) {
    if let [leaf] = side.leaves.as_slice()
        && side.conditions.is_empty()
        && matches!(leaf.kind, LeafKind::Inner)
    {
        return;
    }
    let leaves = std::mem::take(&mut side.leaves);
    let conditions = std::mem::take(&mut side.conditions);
    let offset = leaves.iter().map(|leaf| leaf.offset).min();
    side.leaves.push(Leaf {
        name: String::new(),
        offset: offset.unwrap_or(side.width),
        width: leaves.iter().map(|leaf| leaf.width).sum(),
        types: leaves.iter().flat_map(|leaf| leaf.types.clone()).collect(),
        source: Source::Group(leaves, conditions),
        kind: LeafKind::Inner,
        security: Vec::new(),
        barrier: false,
    });
}

/// Marks the leaf that a LEFT or RIGHT join fills with NULLs.
fn make_outer(leaves: &mut [Leaf], on: Vec<Expr>) -> SqlResult<()> {
    let [leaf] = leaves else {
        return Err(SqlError::internal("an optional side that is not one leaf"));
    };
    leaf.kind = LeafKind::Left(on);
    Ok(())
}

/// The plan of a full join, whose frame is in the order written and begins at 0.
fn full_join(
    (left, right): (&From, &From),
    on: Vec<Expr>,
    (start, middle, end): (usize, usize, usize),
) -> SqlResult<Plan> {
    let outer = side_plan(left, start..middle)?;
    let inner = side_plan(right, middle..end)?;
    let on = (!on.is_empty()).then(|| and(on));
    Ok(Plan::Join {
        outer: Box::new(outer),
        inner: Box::new(shift(inner, middle - start)),
        outer_width: middle - start,
        inner_width: end - middle,
        kind: JoinKind::Full,
        on: on.map(|on| move_columns(&on, &|place| place - start)),
    })
}

/// One side of a full join as a plan of its own; its columns stand at `places` of the frame.
fn side_plan(side: &From, places: Range<usize>) -> SqlResult<Plan> {
    let moved = |expr: &Expr| -> SqlResult<Expr> {
        let mut columns = Vec::new();
        expr.collect_columns(&mut columns);
        match columns.iter().all(|column| places.contains(column)) {
            true => Ok(move_columns(expr, &|place| place - places.start)),
            false => Err(SqlError::unsupported("LATERAL in a FULL JOIN")),
        }
    };
    let leaves: SqlResult<Vec<Leaf>> = side
        .leaves
        .iter()
        .map(|leaf| moved_leaf(leaf, &places, &moved))
        .collect();
    let conditions: SqlResult<Vec<Expr>> = side.conditions.iter().map(moved).collect();
    let leaves = leaves?;
    let joined = join(&leaves, conditions?, None, None)?;
    let columns = leaves.iter().flat_map(|leaf| {
        let place = |n| joined.map[leaf.offset + n];
        (0..leaf.width).map(move |n| Expr::Column(place(n), leaf.types[n]))
    });
    let exprs = columns.collect();
    Ok(Plan::Project {
        input: Box::new(joined.plan),
        exprs,
    })
}

/// A leaf with its places counted from the beginning of its side.
fn moved_leaf(
    leaf: &Leaf,
    places: &Range<usize>,
    moved: &dyn Fn(&Expr) -> SqlResult<Expr>,
) -> SqlResult<Leaf> {
    let all = |exprs: &[Expr]| exprs.iter().map(moved).collect::<SqlResult<Vec<Expr>>>();
    let source = match &leaf.source {
        Source::Function(plan) => {
            let mut columns = Vec::new();
            each_of_node(plan, &mut |expr, _| expr.collect_columns(&mut columns));
            if columns.iter().any(|column| !places.contains(column)) {
                return Err(SqlError::unsupported("LATERAL in a FULL JOIN"));
            }
            Source::Function(move_function(plan, &|place| place - places.start))
        }
        Source::Group(leaves, conditions) => {
            let leaves = leaves.iter().map(|leaf| moved_leaf(leaf, places, moved));
            Source::Group(leaves.collect::<SqlResult<_>>()?, all(conditions)?)
        }
        source => source.clone(),
    };
    Ok(Leaf {
        offset: leaf.offset - places.start,
        source,
        kind: match &leaf.kind {
            LeafKind::Inner => LeafKind::Inner,
            LeafKind::Left(on) => LeafKind::Left(all(on)?),
        },
        security: all(&leaf.security)?,
        ..leaf.clone()
    })
}

/// Numbers of tables and columns in a scope.
type Places = Vec<(usize, usize)>;

/// USING: equality of the columns, which then are visible once, before the others.
fn merge_columns(
    planner: &Planner,
    scope: &mut Scope,
    using: &[String],
    left: &[(usize, usize)],
    right: &[(usize, usize)],
    kind: JoinType,
) -> SqlResult<(Vec<Expr>, Places)> {
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
    let mut both = Vec::new();
    for name in using {
        let (a, b) = (find(left, name, "left")?, find(right, name, "right")?);
        let binder = Binder::new(planner, scope, "JOIN/USING");
        let value = |(t, c): (usize, usize)| scope.tables[t].columns[c].expr.clone();
        for (t, c) in [a, b] {
            planner.names_column(scope.tables[t].columns[c].origin);
        }
        on.push(binder.compare(CompareOp::Eq, value(a), value(b))?);
        gone.extend([a, b]);
        let (mut args, ty) = binder.unify(vec![value(a), value(b)], "JOIN/USING", -1)?;
        let (side, number) = match kind {
            JoinType::JoinRight => (b, 1),
            _ => (a, 0),
        };
        let expr = match kind {
            JoinType::JoinFull => Expr::Coalesce { args, ty },
            _ if value(side).ty() == ty => {
                merged.push(side);
                continue;
            }
            _ => args.swap_remove(number),
        };
        both.push(ScopeColumn {
            name: name.clone(),
            expr,
            modifier: TypeMod::NONE,
            origin: None,
        });
        merged.push((scope.tables.len(), both.len() - 1));
    }
    if !both.is_empty() {
        // A table without a name: its columns are found by their own.
        scope.tables.push(ScopeTable {
            is_optional: false,
            name: String::new(),
            schema: None,
            columns: both,
            table_oid: None,
            row: None,
        });
    }
    let others = left
        .iter()
        .chain(right)
        .filter(|place| !gone.contains(place))
        .copied();
    scope.visible = merged.iter().copied().chain(others).collect();
    Ok((on, merged))
}
