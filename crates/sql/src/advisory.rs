//! `SELECT pg_advisory_lock(…)` and its kin.
//!
//! Relies on: the binder for the arguments.  Promises: a SELECT of these, of casts of them, of constants and
//! parameters is a command for the session, which may wait, and so is one FROM such a call; elsewhere they are functions
//! that are not there.  Does not: lock anything.

use crate::coerce;
use crate::command::{Advisory, AdvisoryCall, Command, Planned};
use crate::expr::Binder;
use crate::names::{self, inner};
use crate::output::output_name;
use crate::planner::Planner;
use crate::routine::any_node;
use crate::scope::Scope;
use crate::types;
use pg_query::protobuf::{FuncCall, Node, ResTarget, SelectStmt};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{SqlResult, SqlType, TypeMod};
use quintet_ir::Expr;
use quintet_ir::cast::CastContext;
use quintet_ir::statement::OutputColumn;
use std::cell::RefCell;

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

/// A call as it is written, and its place among the calls.
struct Calls<'p, 'a> {
    planner: &'p Planner<'a>,
    found: RefCell<Vec<(AdvisoryCall, SqlType)>>,
}

impl Calls<'_, '_> {
    /// The result of a call, which is one more.
    fn call(&self, call: &FuncCall) -> SqlResult<Option<Expr>> {
        let Some((what, shared, transaction)) = name_of(call).and_then(meaning) else {
            return Ok(None);
        };
        let ty = match (what, call.args.len()) {
            (Advisory::UnlockAll, 0) | (_, 1) => SqlType::Int8,
            (_, 2) => SqlType::Int4,
            // Whoever looks for such a function says what there is.
            _ => return Ok(None),
        };
        let scope = Scope::empty();
        let binder = Binder::new(self.planner, &scope, "SELECT");
        let arguments = call.args.iter().map(|argument| {
            let bound = binder.bind(argument)?;
            coerce::convert(self.planner, bound, ty, CastContext::Implicit)
        });
        let arguments = arguments.collect::<SqlResult<_>>()?;
        let result = match what {
            Advisory::Lock | Advisory::UnlockAll => SqlType::Void,
            Advisory::Try | Advisory::Unlock => SqlType::Bool,
        };
        let mut found = self.found.borrow_mut();
        let call = AdvisoryCall {
            what,
            shared,
            transaction,
            arguments,
        };
        found.push((call, result));
        Ok(Some(Expr::Column(found.len() - 1, result)))
    }

    /// What a select list's item says: a call, a cast of one, or something that calls none.
    fn item(&self, node: &Node) -> SqlResult<Option<Expr>> {
        match inner(node) {
            Some(NodeEnum::FuncCall(call)) if name_of(call).and_then(meaning).is_some() => {
                self.call(call)
            }
            Some(NodeEnum::TypeCast(cast)) => {
                let (Some(arg), Some(name)) = (cast.arg.as_deref(), &cast.type_name) else {
                    return Ok(None);
                };
                let Some(value) = self.item(arg)? else {
                    return Ok(None);
                };
                let (ty, modifier) = types::resolve(self.planner, name)?;
                // As text nothing is said.
                if value.ty() == SqlType::Void && matches!(ty, SqlType::Text | SqlType::Varchar) {
                    return Ok(Some(Expr::Cast {
                        input: Box::new(value),
                        to: ty,
                        modifier: TypeMod::NONE,
                        explicit: true,
                    }));
                }
                coerce::explicit(self.planner, value, ty, modifier).map(Some)
            }
            Some(NodeEnum::AConst(_) | NodeEnum::ParamRef(_)) => {
                let scope = Scope::empty();
                let bound = Binder::new(self.planner, &scope, "SELECT").bind(node)?;
                coerce::settle(self.planner, bound).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Plans it; `None` if the statement is another.
pub(crate) fn plan_advisory(planner: &Planner, select: &SelectStmt) -> SqlResult<Option<Planned>> {
    let bare = SelectStmt {
        target_list: select.target_list.clone(),
        from_clause: select.from_clause.clone(),
        limit_option: select.limit_option,
        op: select.op,
        ..SelectStmt::default()
    };
    if *select != bare
        || !select
            .target_list
            .iter()
            .chain(&select.from_clause)
            .any(says_call)
    {
        return Ok(None);
    }
    let calls = Calls {
        planner,
        found: RefCell::default(),
    };
    let from = match select.from_clause.as_slice() {
        [] => None,
        [node] => match source(node) {
            Some((call, name)) => match calls.call(call)? {
                Some(result) => Some((result, name)),
                None => return Ok(None),
            },
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let (mut row, mut columns) = (Vec::new(), Vec::new());
    for target in &select.target_list {
        let Some(NodeEnum::ResTarget(target)) = inner(target) else {
            return Ok(None);
        };
        let Some(value) = target.val.as_deref() else {
            return Ok(None);
        };
        let (expr, name) = match (&from, inner(value)) {
            (Some((result, name)), Some(NodeEnum::ColumnRef(column))) => {
                let parts = names::strings(&column.fields);
                let is_star = parts.is_empty() && column.fields.len() == 1;
                if !is_star && parts != [name.as_str()] {
                    return Ok(None);
                }
                (Some(result.clone()), name.clone())
            }
            _ => (calls.item(value)?, output_name(target)),
        };
        let Some(expr) = expr else {
            return Ok(None);
        };
        columns.push(OutputColumn {
            name,
            ty: expr.ty(),
            modifier: TypeMod::NONE,
            origin: None,
        });
        row.push(expr);
    }
    let params = planner.finish_params()?;
    let calls = calls.found.into_inner().into_iter().map(|(call, _)| call);
    let command = Command::Advisory {
        calls: calls.collect(),
        row,
    };
    Ok(Some(Planned {
        columns,
        params,
        ..planner.command(command, "SELECT")
    }))
}

/// Whether a node calls one of these.
fn says_call(node: &Node) -> bool {
    let is_call = |node: &NodeRef| match node {
        NodeRef::FuncCall(call) => name_of(call).and_then(meaning).is_some(),
        _ => false,
    };
    inner(node).is_some_and(|node| any_node(node, &is_call))
}

/// The call that is all of FROM, and what its column is called.
fn source(node: &Node) -> Option<(&FuncCall, String)> {
    let Some(NodeEnum::RangeFunction(function)) = inner(node) else {
        return None;
    };
    let plain = !function.lateral && !function.ordinality && !function.is_rowsfrom;
    let ([item], true, true) = (
        function.functions.as_slice(),
        plain,
        function.coldeflist.is_empty(),
    ) else {
        return None;
    };
    let first = names::list(item)?.first()?;
    let Some(NodeEnum::FuncCall(call)) = inner(first) else {
        return None;
    };
    let name = match &function.alias {
        Some(alias) if !alias.colnames.is_empty() => return None,
        Some(alias) => alias.aliasname.clone(),
        None => name_of(call)?.to_string(),
    };
    Some((call, name))
}

fn name_of(call: &FuncCall) -> Option<&str> {
    match names::strings(&call.funcname).as_slice() {
        [name] | ["pg_catalog", name] => Some(*name),
        _ => None,
    }
}

pub(crate) fn called(target: &pg_query::protobuf::Node) -> Option<(&str, &ResTarget, &FuncCall)> {
    let Some(NodeEnum::ResTarget(target)) = inner(target) else {
        return None;
    };
    let Some(NodeEnum::FuncCall(call)) = target.val.as_deref().and_then(inner) else {
        return None;
    };
    let name = name_of(call)?;
    Some((name, target, call))
}
