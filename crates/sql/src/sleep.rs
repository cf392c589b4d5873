//! `SELECT pg_sleep(…)`.
//!
//! Relies on: the binder for the argument.  Promises: a SELECT that calls nothing but this is a command for the session,
//! which may wait; elsewhere it is a function that is not there.  Does not: sleep.

use crate::advisory::called;
use crate::coerce;
use crate::command::{Command, Planned};
use crate::expr::Binder;
use crate::planner::Planner;
use crate::scope::Scope;
use pg_query::protobuf::SelectStmt;
use quintet_base::{SqlResult, SqlType, TypeMod};
use quintet_ir::cast::CastContext;
use quintet_ir::statement::OutputColumn;

/// Plans it; `None` if the statement is another.
pub(crate) fn plan_sleep(planner: &Planner, select: &SelectStmt) -> SqlResult<Option<Planned>> {
    let bare = SelectStmt {
        target_list: select.target_list.clone(),
        limit_option: select.limit_option,
        op: select.op,
        ..SelectStmt::default()
    };
    let [target] = select.target_list.as_slice() else {
        return Ok(None);
    };
    let Some(("pg_sleep", target, call)) = called(target).filter(|_| *select == bare) else {
        return Ok(None);
    };
    let [seconds] = call.args.as_slice() else {
        return Ok(None);
    };
    let scope = Scope::empty();
    let seconds = Binder::new(planner, &scope, "SELECT").bind(seconds)?;
    let seconds = coerce::convert(planner, seconds, SqlType::Float8, CastContext::Implicit)?;
    let column = OutputColumn {
        name: match target.name.as_str() {
            "" => "pg_sleep".to_string(),
            named => named.to_string(),
        },
        ty: SqlType::Void,
        modifier: TypeMod::NONE,
        origin: None,
    };
    let params = planner.finish_params()?;
    Ok(Some(Planned {
        columns: vec![column],
        params,
        ..planner.command(Command::Sleep(seconds), "SELECT")
    }))
}
