//! Bodies in SQL: statements in order, the last one gives the result.
//!
//! Relies on: `embed`.  Promises: as PostgreSQL: the first row of the last statement, or all of them for a
//! set, but of void none; statements before it are run for what they change; bodies in the form of the standard (BEGIN ATOMIC,
//! RETURN) are the same.  Does not: know what a body depends on: what it names may be dropped.

use super::call::arguments_first;
use super::embed::{Embedding, Planned};
use super::link::Linker;
use super::lower::{parameters, projected};
use super::matching::matched;
use super::signature::{Parameter, Signature};
use crate::composite::{self, type_of_rows};
use crate::expr::Binder;
use crate::names::required;
use crate::parse;
use crate::planner::{PlanContext, Planner};
use crate::plpgsql;
use crate::scope::Scope;
use crate::variables::Conflict;
use pg_query::NodeEnum;
use pg_query::protobuf::CreateFunctionStmt;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::routine::{Action, Into, Output};
use quintet_ir::{Expr, Routine};

/// A routine from its statement.
///
/// # Errors
/// What its statements say; `42P13` if the last one does not give what was promised.
pub(crate) fn routine(
    signature: &Signature,
    statement: &CreateFunctionStmt,
    text: &str,
    context: &PlanContext,
    linker: &mut Linker,
) -> SqlResult<Routine> {
    let (_, source) = plpgsql::header(statement, text)?;
    let mut variables = parameters(signature);
    variables.conflict = Conflict::Column;
    let mut at = Embedding::new(context, variables, linker, signature.may_write);
    let texts: Vec<(u32, String)> = parse::parse(&source)?
        .iter()
        .map(|parsed| (parsed.line(), parsed.text().to_string()))
        .collect();
    at.check_arguments(signature);
    // A body in SQL counts what it is given only.
    let mut modes = signature.parameters.iter();
    at.variables
        .numbered
        .retain(|_| modes.next().is_none_or(Parameter::is_input));
    body(&mut at, signature, &texts).map_err(|error| {
        let context = format!("SQL function \"{}\" near line {}", signature.name, at.line);
        // A position counts in the text of one statement, which nobody sees.
        error.nowhere().within(&context)
    })?;
    Ok(Routine {
        name: Planner::new(context, "", &[]).with_type_names(signature.describe()),
        slots: at.variables.slots,
        arguments: signature.slots(),
        strict: signature.strict,
        guise: None,
        found: None,
        body: at.steps,
        output: signature.output,
    })
}

fn body(at: &mut Embedding, signature: &Signature, texts: &[(u32, String)]) -> SqlResult<()> {
    let Some(((line, last), before)) = texts.split_last() else {
        return result(at, signature, None);
    };
    for (line, text) in before {
        at.line = *line;
        if called(at, text)? {
            continue;
        }
        let Planned { statement, .. } = at.statement(text)?;
        at.add(Action::Run {
            statement,
            into: Into::default(),
        });
    }
    at.line = *line;
    result(at, signature, Some(last))
}

/// Adds the step of a statement that is a CALL; false if it is none.
///
/// # Errors
/// `0A000` for a procedure that gives something, and what the arguments say.
fn called(at: &mut Embedding, text: &str) -> SqlResult<bool> {
    let mut parsed = parse::parse(text)?;
    let Some(NodeEnum::CallStmt(statement)) = parsed.pop().and_then(parse::Parsed::into_node)
    else {
        return Ok(false);
    };
    let call = required(statement.funccall.as_deref())?;
    let (found, needs) = {
        let planner = Planner::inside(at.context, text, &at.variables);
        let scope = Scope::empty();
        planner.calls.allow();
        let found = matched(&Binder::new(&planner, &scope, "CALL arguments"), call, true)?;
        planner.calls.link(at.linker);
        (found, planner.take_needs())
    };
    at.keep_needs(needs);
    if found
        .signature
        .parameters
        .iter()
        .any(|parameter| parameter.mode.is_result())
    {
        let message = "calling procedures with output arguments is not supported in SQL functions";
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    at.refuse_write("CALL");
    let routine = at.linker.number(found.signature.id);
    let mut arguments = found.arguments;
    if arguments.iter().any(Expr::calls_routine) {
        let variables = &mut at.variables;
        let (step, given) = arguments_first(arguments, &mut |ty| variables.hidden(ty));
        at.add(step);
        arguments = given;
    }
    at.add(Action::Call {
        routine,
        arguments,
        into: Into::default(),
    });
    Ok(true)
}

fn result(at: &mut Embedding, signature: &Signature, last: Option<&str>) -> SqlResult<()> {
    let planned = match last {
        Some(text) if called(at, text)? => None,
        Some(text) => Some(at.statement(text)?),
        None => None,
    };
    let of_void = matches!(signature.columns.as_slice(), [only] if only.ty == SqlType::Void);
    if signature.output == Output::Nothing || of_void {
        if let Some(Planned { statement, .. }) = planned {
            at.add(Action::Run {
                statement,
                into: Into::default(),
            });
        }
        return Ok(());
    }
    let mismatch = |detail: String| {
        let declared = match signature.columns.as_slice() {
            [one] => one.ty.to_string(),
            _ => "record".to_string(),
        };
        SqlError::new(
            SqlState::INVALID_FUNCTION_DEFINITION,
            format!("return type mismatch in function declared to return {declared}"),
        )
        .detail(detail)
    };
    let Some(planned) = planned.filter(|planned| !planned.columns.is_empty()) else {
        let detail = "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.";
        return Err(mismatch(detail.to_string()));
    };
    // Until somebody says which columns he wants, all that are given are.
    let own = planned.columns.clone();
    let columns = match signature.is_open() {
        true => &own,
        false => &signature.columns,
    };
    // A row as one value is its fields.
    let own_type = signature.row.as_ref();
    let own_type = own_type.and_then(|row| type_of_rows(at.context.catalog, row.id));
    let given: Vec<(Expr, SqlType)> = match planned.columns.as_slice() {
        [one] if signature.is_row && Some(one.ty) == own_type => {
            let whole = Expr::Column(0, one.ty);
            let fields = columns.iter().enumerate();
            let fields =
                fields.map(|(place, to)| Ok((composite::field(&whole, place, to.ty)?, to.ty)));
            fields.collect::<SqlResult<_>>()?
        }
        given => {
            let given = given.iter().enumerate();
            given
                .map(|(number, from)| (Expr::Column(number, from.ty), from.ty))
                .collect()
        }
    };
    let (found, wanted) = (given.len(), columns.len());
    if found != wanted {
        return Err(mismatch(match wanted {
            1 => "Final statement must return exactly one column.".to_string(),
            _ if found < wanted => "Final statement returns too few columns.".to_string(),
            _ => "Final statement returns too many columns.".to_string(),
        }));
    }
    let mut row = Vec::with_capacity(wanted);
    for (number, ((value, from), to)) in given.into_iter().zip(columns).enumerate() {
        let value = at.assigned(value, to.ty, to.modifier).map_err(|_| {
            mismatch(match wanted {
                1 => format!("Actual return type is {from}."),
                _ => format!(
                    "Final statement returns {} instead of {} at column {}.",
                    from,
                    to.ty,
                    number + 1
                ),
            })
        })?;
        row.push(value);
    }
    if signature.output == Output::Rows {
        let statement = projected(planned, row)?;
        at.add(Action::ReturnQuery(statement));
        return Ok(());
    }
    let mut targets = Vec::with_capacity(wanted);
    for (value, column) in row.into_iter().zip(columns) {
        targets.push((at.variables.hidden(column.ty), value));
    }
    let row = targets.iter().zip(columns);
    let row = row.map(|((slot, _), column)| Expr::Param(*slot, column.ty));
    let row = row.collect();
    at.add(Action::Run {
        statement: planned.statement,
        into: Into {
            targets,
            strict: false,
            silent: true,
        },
    });
    at.add(Action::Return(row));
    Ok(())
}
