//! FOR UPDATE and its weaker forms.
//!
//! Relies on: the joined FROM clause.  Promises: every table named, or all of them, is locked once,
//! at its strongest.  Does not: lock rows inside subqueries (0A000).

use crate::from::{From, LeafKind, Source};
use crate::join::Joined;
use crate::names::inner;
use crate::planner::Planner;
use pg_query::NodeEnum;
use pg_query::protobuf::{LockClauseStrength, LockWaitPolicy, LockingClause, SelectStmt};
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_ir::Privileges;
use quintet_ir::plan::{LockStrength, LockTarget, LockWait};

/// The rows that a query locks. `collapsed`: its rows are not the tables' rows any more.
///
/// # Errors
/// `0A000` as PostgreSQL, `42P01` for a name that is not in FROM.
pub(crate) fn plan_locks(
    planner: &Planner,
    select: &SelectStmt,
    from: &From,
    joined: &Joined,
    collapsed: bool,
) -> SqlResult<Vec<LockTarget>> {
    let mut targets: Vec<LockTarget> = Vec::new();
    for node in &select.locking_clause {
        let Some(NodeEnum::LockingClause(clause)) = inner(node) else {
            continue;
        };
        let strength = strength(clause);
        if collapsed {
            let word = if strength == LockStrength::Update {
                "FOR UPDATE"
            } else {
                "FOR SHARE"
            };
            return Err(SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!(
                    "{word} is not allowed with DISTINCT, GROUP BY, HAVING or aggregate functions"
                ),
            ));
        }
        let mut named = Vec::new();
        for node in &clause.locked_rels {
            if let Some(NodeEnum::RangeVar(relation)) = inner(node) {
                let found = from
                    .leaves
                    .iter()
                    .position(|leaf| leaf.name == relation.relname);
                named.push(found.ok_or_else(|| {
                    let message = format!(
                        "relation \"{}\" in FOR UPDATE clause not found in FROM clause",
                        relation.relname
                    );
                    planner.error(SqlState::UNDEFINED_TABLE, message, relation.location)
                })?);
            }
        }
        for (number, leaf) in from.leaves.iter().enumerate() {
            if !clause.locked_rels.is_empty() && !named.contains(&number) {
                continue;
            }
            let Source::Table(table) = &leaf.source else {
                if named.contains(&number)
                    || matches!(leaf.source, Source::Plan(_) | Source::Group(..))
                {
                    return Err(SqlError::unsupported("FOR UPDATE of anything but a table"));
                }
                continue;
            };
            if matches!(leaf.kind, LeafKind::Left(_)) {
                return Err(SqlError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "FOR UPDATE cannot be applied to the nullable side of an outer join",
                ));
            }
            planner.need_table(table.relation(), Privileges::UPDATE);
            let wait = match clause.wait_policy() {
                LockWaitPolicy::LockWaitSkip => LockWait::Skip,
                LockWaitPolicy::LockWaitError => LockWait::Refuse,
                _ => LockWait::Block,
            };
            let offset = joined.map[leaf.offset];
            match targets.iter_mut().find(|target| target.offset == offset) {
                Some(target) if strength == LockStrength::Update => target.strength = strength,
                Some(_) => {}
                None => targets.push(LockTarget {
                    table: table.clone(),
                    offset,
                    strength,
                    wait,
                }),
            }
        }
    }
    Ok(targets)
}

fn strength(clause: &LockingClause) -> LockStrength {
    match clause.strength() {
        LockClauseStrength::LcsForupdate | LockClauseStrength::LcsFornokeyupdate => {
            LockStrength::Update
        }
        _ => LockStrength::Share,
    }
}
