//! Which routine a call means, and what its arguments are.
//!
//! Relies on: signatures.  Promises: PostgreSQL's rules as far as they go without type categories: the
//! candidate whose parameters fit exactly wins, then the only one that fits by implicit conversions;
//! defaults fill in what is left out; names may stand before arguments.  Does not: VARIADIC.

use super::signature::{Parameter, Signature, describe};
use crate::coerce;
use crate::expr::Binder;
use crate::names::{inner, required};
use crate::planner::Planner;
use crate::plpgsql::ParameterMode;
use crate::scope::Scope;
use pg_query::NodeEnum;
use pg_query::protobuf::FuncCall;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::cast::{CastContext, cast_context};
use std::sync::Arc;

/// A call that has found its routine: one expression per parameter, of its type.
pub(crate) struct Matched {
    pub signature: Arc<Signature>,
    pub arguments: Vec<Expr>,
}

/// An argument as it is written.
struct Given {
    name: Option<String>,
    expr: Expr,
}

/// True if some routine has this name.
pub(crate) fn is_routine(planner: &Planner, call: &FuncCall) -> bool {
    let Some((schema, name)) = parts(planner, call) else {
        return false;
    };
    !planner.catalog().routines(schema, name).is_empty()
}

fn parts<'n>(planner: &'n Planner, call: &'n FuncCall) -> Option<(&'n str, &'n str)> {
    match crate::names::strings(&call.funcname).as_slice() {
        [name] => Some((planner.context.schema, name)),
        [schema, name] => Some((schema, name)),
        _ => None,
    }
}

/// Finds the routine of a call and binds its arguments. `procedure`: CALL.
///
/// # Errors
/// `42883` if none fits, `42725` if several do, `42809` if it is of the other kind.
pub(crate) fn matched(binder: &Binder, call: &FuncCall, procedure: bool) -> SqlResult<Matched> {
    let planner = binder.planner;
    let here = planner.at(call.location);
    if call.func_variadic {
        return Err(here(SqlError::unsupported("VARIADIC")));
    }
    let Some((schema, name)) = parts(planner, call) else {
        return Err(here(SqlError::unsupported(
            "a reference to another database",
        )));
    };
    let mut given = Vec::with_capacity(call.args.len());
    for node in &call.args {
        given.push(match inner(node) {
            Some(NodeEnum::NamedArgExpr(named)) => Given {
                name: Some(named.name.clone()),
                expr: binder.bind(required(named.arg.as_deref())?)?,
            },
            _ => Given {
                name: None,
                expr: binder.bind(node)?,
            },
        });
    }
    let mut fitting: Vec<(usize, &Arc<Signature>, Vec<Place>)> = Vec::new();
    let mut other_kind = None;
    for stored in planner.catalog().routines(schema, name) {
        let signature = stored.signature(planner.catalog())?;
        let Some((exact, places)) = fit(signature, &given) else {
            continue;
        };
        match signature.procedure == procedure {
            true => fitting.push((exact, signature, places)),
            false => other_kind = Some(signature),
        }
    }
    let best = fitting.iter().map(|(exact, ..)| *exact).max();
    fitting.retain(|(exact, ..)| Some(*exact) == best);
    let types: Vec<SqlType> = given.iter().map(|given| given.expr.ty()).collect();
    let (signature, places) = match (fitting.len(), fitting.pop()) {
        (1, Some((_, signature, places))) => (signature, places),
        (0, _) | (_, None) => return Err(here(not_found(name, &types, procedure, other_kind))),
        _ => {
            let what = if procedure { "procedure" } else { "function" };
            let message = format!("{what} {} is not unique", describe(name, &types));
            let hint = format!(
                "Could not choose a best candidate {what}. You might need to add explicit type casts."
            );
            let error = SqlError::new(SqlState::AMBIGUOUS_FUNCTION, message);
            return Err(here(error.hint(hint)));
        }
    };
    let mut given: Vec<Option<Expr>> = given.into_iter().map(|given| Some(given.expr)).collect();
    let mut arguments = Vec::with_capacity(places.len());
    for (place, parameter) in places.iter().zip(&signature.parameters) {
        let expr = match place {
            Place::Given(number) => match given[*number].take() {
                Some(expr) if parameter.is_input() => {
                    coerce::implicit(planner, expr, parameter.ty).map_err(&here)?
                }
                // What stands for an OUT argument says nothing; a parameter there is of its type.
                Some(expr) => {
                    coerce::implicit(planner, expr, parameter.ty).ok();
                    Expr::Const(Value::Null, parameter.ty)
                }
                None => return Err(SqlError::internal("an argument was given twice")),
            },
            Place::Default => default(planner, parameter)?,
            Place::Nothing => Expr::Const(Value::Null, parameter.ty),
        };
        arguments.push(expr);
    }
    Ok(Matched {
        signature: Arc::clone(signature),
        arguments,
    })
}

/// Where a parameter's value comes from.
enum Place {
    Given(usize),
    Default,
    Nothing,
}

/// How many arguments fit exactly, and where each parameter's value comes from; `None` if they do not
/// fit.
fn fit(signature: &Signature, given: &[Given]) -> Option<(usize, Vec<Place>)> {
    let takes = |parameter: &Parameter| {
        parameter.is_input() || (signature.procedure && parameter.mode == ParameterMode::Out)
    };
    let mut places: Vec<Option<Place>> = signature.parameters.iter().map(|_| None).collect();
    let mut open = signature.parameters.iter().enumerate();
    let mut exact = 0;
    for (number, given) in given.iter().enumerate() {
        let (at, parameter) = match &given.name {
            None => open.find(|(_, parameter)| takes(parameter))?,
            Some(name) => signature
                .parameters
                .iter()
                .enumerate()
                .find(|(_, parameter)| takes(parameter) && parameter.name.as_ref() == Some(name))?,
        };
        if places[at].is_some() {
            return None;
        }
        if parameter.is_input() {
            let from = given.expr.ty();
            if from == parameter.ty {
                exact += 1;
            } else if from != SqlType::Unknown {
                cast_context(from, parameter.ty)
                    .filter(|needed| *needed <= CastContext::Implicit)?;
            }
        }
        places[at] = Some(Place::Given(number));
    }
    let filled = places.into_iter().zip(&signature.parameters);
    let places: Option<Vec<Place>> = filled
        .map(|(place, parameter)| match place {
            Some(place) => Some(place),
            None if parameter.default.is_some() => Some(Place::Default),
            None if takes(parameter) => None,
            None => Some(Place::Nothing),
        })
        .collect();
    Some((exact, places?))
}

fn default(planner: &Planner, parameter: &Parameter) -> SqlResult<Expr> {
    let node = required(parameter.default.as_ref())?;
    let scope = Scope::empty();
    let expr = Binder::new(planner, &scope, "DEFAULT expressions").bind(node)?;
    coerce::convert(planner, expr, parameter.ty, CastContext::Assignment)
}

fn not_found(
    name: &str,
    types: &[SqlType],
    procedure: bool,
    other_kind: Option<&Arc<Signature>>,
) -> SqlError {
    let described = describe(name, types);
    if let Some(other) = other_kind {
        let described = other.describe();
        let (message, hint) = match procedure {
            true => (
                format!("{described} is not a procedure"),
                "To call a function, use SELECT.",
            ),
            false => (
                format!("{described} is a procedure"),
                "To call a procedure, use CALL.",
            ),
        };
        return SqlError::new(SqlState::WRONG_OBJECT_TYPE, message).hint(hint);
    }
    let what = if procedure { "procedure" } else { "function" };
    SqlError::new(
        SqlState::UNDEFINED_FUNCTION,
        format!("{what} {described} does not exist"),
    )
    .hint(format!(
        "No {what} matches the given name and argument types. You might need to add explicit type casts."
    ))
}
