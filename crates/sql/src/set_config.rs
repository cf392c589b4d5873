//! `SELECT set_config(name, value, is_local)`: SET in the form of a function, as files of pg_dump begin.
//!
//! Relies on: the parser's tree.  Promises: taken for a setting only where it is all that the statement says, with
//! constants; elsewhere it is a function that is not there.  Does not: judge the setting (the session does).

use crate::command::{Command, Planned};
use crate::names::inner;
use crate::planner::Planner;
use crate::utility::text_column;
use pg_query::NodeEnum;
use pg_query::protobuf::{AConst, FuncCall, Node, SelectStmt, a_const};

/// The call, if it is all of the statement.
fn call(select: &SelectStmt) -> Option<&FuncCall> {
    let [target] = select.target_list.as_slice() else {
        return None;
    };
    let Some(NodeEnum::ResTarget(target)) = inner(target) else {
        return None;
    };
    let Some(NodeEnum::FuncCall(call)) = target.val.as_deref().and_then(inner) else {
        return None;
    };
    let names = crate::names::strings(&call.funcname);
    let is_named = matches!(
        names.as_slice(),
        ["set_config"] | ["pg_catalog", "set_config"]
    );
    let bare = SelectStmt {
        target_list: select.target_list.clone(),
        limit_option: select.limit_option,
        op: select.op,
        ..SelectStmt::default()
    };
    (is_named && *select == bare && target.name.is_empty()).then_some(call)
}

/// Whether the literals of the statement are to be seen when it is planned.
pub(crate) fn is_set_config(select: &SelectStmt) -> bool {
    call(select).is_some()
}

/// Plans it; `None` if the statement is another.
pub(crate) fn plan_set_config(planner: &Planner, select: &SelectStmt) -> Option<Planned> {
    let [name, value, local] = call(select)?.args.as_slice() else {
        return None;
    };
    let command = Command::SetConfig {
        local: boolean(local)?,
        name: string(name)?.to_ascii_lowercase(),
        value: string(value)?.to_owned(),
    };
    Some(Planned {
        columns: vec![text_column("set_config")],
        ..planner.command(command, "SELECT")
    })
}

fn constant(node: &Node) -> Option<&a_const::Val> {
    match inner(node) {
        Some(NodeEnum::AConst(AConst { val, .. })) => val.as_ref(),
        _ => None,
    }
}

fn string(node: &Node) -> Option<&str> {
    match constant(node)? {
        a_const::Val::Sval(text) => Some(&text.sval),
        _ => None,
    }
}

fn boolean(node: &Node) -> Option<bool> {
    match constant(node)? {
        a_const::Val::Boolval(truth) => Some(truth.boolval),
        _ => None,
    }
}
