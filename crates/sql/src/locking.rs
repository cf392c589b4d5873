//! FOR UPDATE and its weaker forms.
//!
//! Relies on: the joined FROM clause.  Promises: every table named, or all of them, is locked once, at its strongest; what
//! concerns a subselect or a view is said to its query, which locks its own tables, and those below in turn.
//! Does not: lock rows of WITH queries, functions and VALUES: like PostgreSQL it passes them by, unless they are named.

use crate::from::{From, Leaf, LeafKind, Source};
use crate::join::Joined;
use crate::names::inner;
use crate::planner::Planner;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    LockClauseStrength, LockWaitPolicy, LockingClause, Node, RangeVar, SelectStmt, SetOperation,
};
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_ir::Privileges;
use quintet_ir::plan::{LockStrength, LockTarget, LockWait};
use std::borrow::Cow;

/// How strong the lock is that a MERGE has on the rows it is going to change, which stand last in FROM: no statement
/// says this. Neither rights nor policies are those of FOR UPDATE.
pub(crate) const OF_MERGE: LockClauseStrength = LockClauseStrength::LcsNone;

/// The clauses of a query.
fn clauses(nodes: &[Node]) -> impl Iterator<Item = &LockingClause> {
    nodes.iter().filter_map(|node| match inner(node) {
        Some(NodeEnum::LockingClause(clause)) => Some(clause),
        _ => None,
    })
}

/// The relations that a clause names; none: it means all.
fn named(clause: &LockingClause) -> impl Iterator<Item = &RangeVar> {
    clause
        .locked_rels
        .iter()
        .filter_map(|node| match inner(node) {
            Some(NodeEnum::RangeVar(relation)) => Some(relation),
            _ => None,
        })
}

fn concerns(clause: &LockingClause, name: &str) -> bool {
    if clause.strength() == OF_MERGE {
        return false;
    }
    clause.locked_rels.is_empty() || named(clause).any(|relation| relation.relname == name)
}

fn words(clause: &LockingClause) -> &'static str {
    match clause.strength() {
        LockClauseStrength::LcsFornokeyupdate => "FOR NO KEY UPDATE",
        LockClauseStrength::LcsForshare => "FOR SHARE",
        LockClauseStrength::LcsForkeyshare => "FOR KEY SHARE",
        _ => "FOR UPDATE",
    }
}

fn refuse(message: String) -> SqlError {
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// Whether the query at hand locks the rows of a table that stands in FROM under a name.
pub(crate) fn is_locked(planner: &Planner, name: &str) -> bool {
    let around = planner.locking.borrow();
    clauses(&around).any(|clause| concerns(clause, name))
}

/// A query that stands in FROM under a name, with what the query around it says of its locks.
///
/// # Errors
/// `0A000` if its rows are no tables' rows.
pub(crate) fn locked_below<'s>(
    planner: &Planner,
    name: &str,
    select: &'s SelectStmt,
) -> SqlResult<Cow<'s, SelectStmt>> {
    let around = planner.locking.borrow();
    let mut below = clauses(&around).filter(|clause| concerns(clause, name));
    let Some(first) = below.next() else {
        return Ok(Cow::Borrowed(select));
    };
    if !select.values_lists.is_empty() {
        return Ok(Cow::Borrowed(select));
    }
    if !matches!(
        select.op(),
        SetOperation::SetopNone | SetOperation::Undefined
    ) {
        let what = words(first);
        let message = format!("{what} is not allowed with UNION/INTERSECT/EXCEPT");
        return Err(refuse(message));
    }
    let mut locked = select.clone();
    for clause in std::iter::once(first).chain(below) {
        let all = LockingClause {
            locked_rels: Vec::new(),
            ..clause.clone()
        };
        let node = NodeEnum::LockingClause(all);
        locked.locking_clause.push(crate::tree::node(node));
    }
    Ok(Cow::Owned(locked))
}

/// The rows that a query locks. `several`: what makes its rows others than the tables'.
///
/// # Errors
/// `0A000` as PostgreSQL, `42P01` for a name that is not in FROM.
pub(crate) fn plan_locks(
    planner: &Planner,
    select: &SelectStmt,
    from: &From,
    joined: &Joined,
    several: Option<&str>,
) -> SqlResult<Vec<LockTarget>> {
    let mut targets: Vec<LockTarget> = Vec::new();
    for clause in clauses(&select.locking_clause) {
        if clause.strength() == OF_MERGE {
            let target = from.leaves.last().and_then(|leaf| target(leaf, joined));
            targets.extend(target);
            continue;
        }
        if let Some(several) = several {
            let what = words(clause);
            return Err(refuse(format!("{what} is not allowed with {several}")));
        }
        for relation in named(clause) {
            check_named(planner, select, clause, relation)?;
        }
        for leaf in &from.leaves {
            lock(planner, (select, clause), leaf, joined, &mut targets)?;
        }
    }
    Ok(targets)
}

/// A leaf of FROM, if the clause concerns it.
fn lock(
    planner: &Planner,
    (select, clause): (&SelectStmt, &LockingClause),
    leaf: &Leaf,
    joined: &Joined,
    targets: &mut Vec<LockTarget>,
) -> SqlResult<()> {
    if let Source::Group(leaves, _) = &leaf.source {
        let locks = |leaf: &&Leaf| {
            let item = item_named(planner, &select.from_clause, &leaf.name);
            concerns(clause, &leaf.name) && matches!(item, Some(Item::Locked))
        };
        return match leaves.iter().find(locks) {
            Some(_) => Err(on_nullable_side(clause)),
            None => Ok(()),
        };
    }
    if !concerns(clause, &leaf.name) {
        return Ok(());
    }
    let optional = matches!(leaf.kind, LeafKind::Left(_));
    if optional && let Some(Item::Locked) = item_named(planner, &select.from_clause, &leaf.name) {
        return Err(on_nullable_side(clause));
    }
    let Some(mut target) = target(leaf, joined) else {
        return Ok(());
    };
    planner.need_some(target.table.relation(), Privileges::UPDATE);
    target.wait = match clause.wait_policy() {
        LockWaitPolicy::LockWaitSkip => LockWait::Skip,
        LockWaitPolicy::LockWaitError => LockWait::Refuse,
        _ => LockWait::Block,
    };
    target.strength = strength(clause);
    let mut known = targets.iter_mut();
    match known.find(|known| known.offset == target.offset) {
        Some(known) if target.strength == LockStrength::Update => known.strength = target.strength,
        Some(_) => {}
        None => targets.push(target),
    }
    Ok(())
}

/// A table's rows at its leaf, waited for and locked as strongly as can be.
fn target(leaf: &Leaf, joined: &Joined) -> Option<LockTarget> {
    let Source::Table(table) = &leaf.source else {
        return None;
    };
    Some(LockTarget {
        table: table.clone(),
        offset: joined.map[leaf.offset],
        strength: LockStrength::Update,
        wait: LockWait::Block,
    })
}

fn on_nullable_side(clause: &LockingClause) -> SqlError {
    let what = words(clause);
    refuse(format!(
        "{what} cannot be applied to the nullable side of an outer join"
    ))
}

/// What a name in FROM is, as far as locks are concerned.
enum Item {
    /// A table, a view or a subselect.
    Locked,
    With,
    Function,
    Join,
}

/// What has this name among the items of FROM.
fn item_named(planner: &Planner, items: &[Node], name: &str) -> Option<Item> {
    let of_with = |relation: &RangeVar| {
        let with = planner.with.borrow();
        relation.schemaname.is_empty() && with.iter().any(|query| query.name == relation.relname)
    };
    items.iter().find_map(|item| match inner(item)? {
        NodeEnum::RangeVar(relation) => {
            let own = (relation.alias.as_ref()).map_or(&relation.relname, |alias| &alias.aliasname);
            let item = match of_with(relation) {
                true => Item::With,
                false => Item::Locked,
            };
            (own == name).then_some(item)
        }
        NodeEnum::RangeSubselect(query) => {
            let own = query.alias.as_ref()?;
            (own.aliasname == name).then_some(Item::Locked)
        }
        NodeEnum::RangeFunction(function) => {
            let own = function.alias.as_ref();
            let own = own.map(|alias| alias.aliasname.clone());
            let own = own.or_else(|| crate::output::figure_name(function_call(function)?));
            (own? == name).then_some(Item::Function)
        }
        NodeEnum::RangeTableSample(sample) => {
            let relation = sample.relation.as_deref()?;
            item_named(planner, std::slice::from_ref(relation), name)
        }
        NodeEnum::JoinExpr(join) => {
            let is_own = |alias: &pg_query::protobuf::Alias| alias.aliasname == name;
            if join.alias.as_ref().is_some_and(is_own) {
                return Some(Item::Join);
            }
            let sides = [&join.larg, &join.rarg].into_iter().flatten();
            let sides: Vec<Node> = sides.map(|side| Node::clone(side)).collect();
            item_named(planner, &sides, name)
        }
        _ => None,
    })
}

/// The first call of an item of FROM.
fn function_call(function: &pg_query::protobuf::RangeFunction) -> Option<&Node> {
    crate::names::list(function.functions.first()?)?.first()
}

fn check_named(
    planner: &Planner,
    select: &SelectStmt,
    clause: &LockingClause,
    relation: &RangeVar,
) -> SqlResult<()> {
    let what = words(clause);
    let refuse = |message: String| Err(planner.at(relation.location)(refuse(message)));
    match item_named(planner, &select.from_clause, &relation.relname) {
        Some(Item::Locked) => Ok(()),
        Some(Item::With) => refuse(format!("{what} cannot be applied to a WITH query")),
        Some(Item::Function) => refuse(format!("{what} cannot be applied to a function")),
        Some(Item::Join) => refuse(format!("{what} cannot be applied to a join")),
        None => {
            let name = &relation.relname;
            let message = format!("relation \"{name}\" in {what} clause not found in FROM clause");
            Err(planner.error(SqlState::UNDEFINED_TABLE, message, relation.location))
        }
    }
}

fn strength(clause: &LockingClause) -> LockStrength {
    match clause.strength() {
        LockClauseStrength::LcsForupdate | LockClauseStrength::LcsFornokeyupdate => {
            LockStrength::Update
        }
        _ => LockStrength::Share,
    }
}
