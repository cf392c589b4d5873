//! FOR UPDATE and FOR SHARE: locking the rows behind a frame.
//!
//! Relies on: the scans below give the columns of the row key.  Promises: a frame is passed on only
//! with all of its rows locked and unchanged since the snapshot.  Does not: give back the locks of a
//! frame that is skipped; they go with the transaction.

use crate::context::{Env, Halt};
use crate::keys::row_key;
use crate::scan::primary_point;
use quintet_base::{Bytes, Value};
use quintet_ir::function::Volatility;
use quintet_ir::plan::{LockStrength, LockTarget, LockWait};
use quintet_ir::schema::TableRef;
use quintet_ir::{Access, Expr, Path, Plan, Statement};
use quintet_tc::{Error, Strength, WaitPolicy};

/// Locks the rows of a frame; false if one of them is locked by another and is to be skipped.
pub(crate) fn lock_frame(
    targets: &[LockTarget],
    env: &mut Env<'_>,
    frame: &[Value],
) -> Result<bool, Halt> {
    for target in targets {
        let row = &frame[target.offset..];
        if is_null_row(&target.table, row) {
            continue;
        }
        let key = row_key(&target.table, row);
        let policy = match target.wait {
            LockWait::Block => WaitPolicy::Queue,
            LockWait::Refuse | LockWait::Skip => WaitPolicy::Refuse,
        };
        match env
            .txn
            .lock(target.table.space, &key, strength(target.strength), policy)
        {
            Ok(()) => {}
            Err(Error::Locked) if target.wait == LockWait::Skip => return Ok(false),
            Err(error) => return Err(env.halt(error, &target.table.name)),
        }
    }
    Ok(true)
}

fn strength(strength: LockStrength) -> Strength {
    match strength {
        LockStrength::Share => Strength::Shared,
        LockStrength::Update => Strength::Exclusive,
    }
}

/// The inner side of a left join without a match: there is no row to lock.
fn is_null_row(table: &TableRef, row: &[Value]) -> bool {
    match &table.primary_key {
        Some(primary) => primary.columns.iter().any(|column| row[*column].is_null()),
        None => row[table.columns.len()].is_null(),
    }
}

/// True if the plan must be run whole: it locks rows, or calls functions, which may write. What has to
/// be waited for comes out of it anywhere, and undoes what was done before. Where only a query in an expression does,
/// the planner has put a [`Plan::Hold`] above.
pub(crate) fn runs_whole(plan: &Plan) -> bool {
    match plan {
        Plan::Lock { .. } | Plan::Call { .. } | Plan::Hold { .. } => true,
        plan => plan.inputs().into_iter().any(runs_whole),
    }
}

/// The one scan that a plan without joins gets its rows from.
pub(crate) fn lone_scan(plan: &Plan) -> Option<&Access> {
    match plan {
        Plan::Scan(access) => Some(access),
        Plan::Filter { input, .. }
        | Plan::Project { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Lock { input, .. } => lone_scan(input),
        _ => None,
    }
}

/// A row that a statement is going to lock whatever it finds there.
pub(crate) struct Target {
    pub table: TableRef,
    pub key: Bytes,
    pub strength: Strength,
}

/// The row that a statement names by its key and will change or lock. Locked before it is read, at a
/// hot row: whoever waited then reads the newest version, and need not start over.
pub(crate) fn known_target(statement: &Statement, env: &Env<'_>) -> Result<Option<Target>, Halt> {
    let (source, strength) = match statement {
        Statement::Update(update) => (&update.source, Strength::Exclusive),
        Statement::Delete(delete) => (&delete.source, Strength::Exclusive),
        Statement::Query(plan) => match blocking_lock(plan) {
            Some(locking) => (plan, locking),
            None => return Ok(None),
        },
        Statement::Insert(_) => return Ok(None),
    };
    let Some(access) = lone_scan(source) else {
        return Ok(None);
    };
    let Path::Primary(ranges) = &access.path else {
        return Ok(None);
    };
    if ranges
        .iter()
        .flat_map(|range| &range.equal)
        .any(changes_on_its_own)
    {
        return Ok(None);
    }
    let mut key = Vec::with_capacity(32);
    match primary_point(access, env, &mut key) {
        None => Ok(None),
        Some(found) => Ok(found?.then(|| Target {
            table: TableRef::clone(&access.table),
            key: Bytes::from(key),
            strength,
        })),
    }
}

/// How the topmost lock of a plan takes its one table's rows, if it waits for them.
fn blocking_lock(plan: &Plan) -> Option<Strength> {
    match plan {
        Plan::Lock { targets, .. } => match targets.as_slice() {
            [target] if target.wait == LockWait::Block => Some(strength(target.strength)),
            _ => None,
        },
        Plan::Filter { input, .. }
        | Plan::Project { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. } => blocking_lock(input),
        _ => None,
    }
}

/// True for what must not be evaluated once more than the statement itself does.
fn changes_on_its_own(expr: &Expr) -> bool {
    let mut found = match expr {
        Expr::NextVal(_) | Expr::SetVal { .. } | Expr::Routine { .. } => true,
        Expr::Call { function, .. } => function.volatility == Volatility::Volatile,
        _ => false,
    };
    expr.for_each_part(&mut |part| found |= changes_on_its_own(part));
    found
}
