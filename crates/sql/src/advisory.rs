//! `SELECT pg_advisory_lock(…)` and its kin.
//!
//! Relies on: the binder for the arguments.  Promises: a SELECT that calls nothing but these is a command for the
//! session, which may wait; elsewhere they are functions that are not there.  Does not: lock anything.

use crate::coerce;
use crate::command::{Advisory, AdvisoryCall, Command, Planned};
use crate::expr::Binder;
use crate::names::inner;
use crate::planner::Planner;
use crate::scope::Scope;
use pg_query::NodeEnum;
use pg_query::protobuf::{FuncCall, ResTarget, SelectStmt};
use quintet_base::{SqlResult, SqlType, TypeMod};
use quintet_ir::cast::CastContext;
use quintet_ir::statement::OutputColumn;

/// What a name means: what is done, shared, for the transaction.
fn meaning(name: &str) -> Option<(Advisory, bool, bool)> {
    use Advisory::{Lock, Try, Unlock, UnlockAll};
    let (name, shared) = match name.strip_suffix("_shared") {
        Some(name) => (name, true),
        None => (name, false),
    };
    Some(match name {
        "pg_advisory_lock" => (Lock, shared, false),
        "pg_advisory_xact_lock" => (Lock, shared, true),
        "pg_try_advisory_lock" => (Try, shared, false),
        "pg_try_advisory_xact_lock" => (Try, shared, true),
        "pg_advisory_unlock" => (Unlock, shared, false),
        "pg_advisory_unlock_all" if !shared => (UnlockAll, false, false),
        _ => return None,
    })
}

/// Plans it; `None` if the statement is another.
pub(crate) fn plan_advisory(planner: &Planner, select: &SelectStmt) -> SqlResult<Option<Planned>> {
    let bare = SelectStmt {
        target_list: select.target_list.clone(),
        limit_option: select.limit_option,
        op: select.op,
        ..SelectStmt::default()
    };
    if *select != bare || select.target_list.is_empty() {
        return Ok(None);
    }
    let (mut calls, mut columns) = (Vec::new(), Vec::new());
    for target in &select.target_list {
        let Some((name, target, call)) = called(target) else {
            return Ok(None);
        };
        let Some((what, shared, transaction)) = meaning(name) else {
            return Ok(None);
        };
        let ty = match (what, call.args.len()) {
            (Advisory::UnlockAll, 0) | (_, 1) => SqlType::Int8,
            (_, 2) => SqlType::Int4,
            // Whoever looks for such a function says what there is.
            _ => return Ok(None),
        };
        let scope = Scope::empty();
        let binder = Binder::new(planner, &scope, "SELECT");
        let arguments = call.args.iter().map(|argument| {
            let bound = binder.bind(argument)?;
            coerce::convert(planner, bound, ty, CastContext::Implicit)
        });
        calls.push(AdvisoryCall {
            what,
            shared,
            transaction,
            arguments: arguments.collect::<SqlResult<_>>()?,
        });
        columns.push(OutputColumn {
            name: match target.name.as_str() {
                "" => name.to_string(),
                named => named.to_string(),
            },
            ty: match what {
                Advisory::Lock | Advisory::UnlockAll => SqlType::Void,
                Advisory::Try | Advisory::Unlock => SqlType::Bool,
            },
            modifier: TypeMod::NONE,
            origin: None,
        });
    }
    let params = planner.finish_params()?;
    Ok(Some(Planned {
        columns,
        params,
        ..planner.command(Command::Advisory(calls), "SELECT")
    }))
}

pub(crate) fn called(target: &pg_query::protobuf::Node) -> Option<(&str, &ResTarget, &FuncCall)> {
    let Some(NodeEnum::ResTarget(target)) = inner(target) else {
        return None;
    };
    let Some(NodeEnum::FuncCall(call)) = target.val.as_deref().and_then(inner) else {
        return None;
    };
    let name = match crate::names::strings(&call.funcname).as_slice() {
        [name] | ["pg_catalog", name] => *name,
        _ => return None,
    };
    Some((name, target, call))
}
