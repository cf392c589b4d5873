//! RAISE: messages and errors that a routine makes, and what it may ask of an error.
//!
//! Relies on: the session, which tells its client.  Promises: PostgreSQL's words, states and fields.
//! Does not: decide whether the client wants a message; the session does.

use crate::context::{Context, Stop};
use quintet_base::error::ErrorObject;
use quintet_base::{SqlError, SqlResult, SqlState, Value, text_format};
use quintet_ir::Expr;
use quintet_ir::condition::condition_state;
use quintet_ir::routine::{Diagnostic, Raise, RaiseOption, RaiseState, Severity};

/// Fails with the error, or tells the client the message.
pub(crate) fn raise(raise: &Raise, slots: &[Value], context: &Context<'_>) -> Result<(), Stop> {
    let error = message(raise, slots, context)?;
    let severity = match raise.severity {
        Severity::Exception => return Err(Stop::Error(error)),
        Severity::Warning => "WARNING",
        Severity::Notice => "NOTICE",
        Severity::Info => "INFO",
        Severity::Log => "LOG",
        Severity::Debug => "DEBUG",
    };
    context.host.notice(severity, error);
    Ok(())
}

fn message(raise: &Raise, slots: &[Value], context: &Context<'_>) -> SqlResult<SqlError> {
    let text = |expr: &Expr| -> SqlResult<Option<String>> {
        let value = quintet_ir::eval(expr, &[], slots, context.host)?;
        let format = context.host.format();
        Ok((!value.is_null()).then(|| text_format::to_string(&value, expr.ty(), format)))
    };
    let mut state = match (raise.state, raise.severity) {
        (RaiseState::Given(state), _) => state,
        (RaiseState::Default, Severity::Exception) => SqlState::RAISE_EXCEPTION,
        (RaiseState::Default, Severity::Warning) => SqlState::WARNING,
        (RaiseState::Default, _) => SqlState::SUCCESSFUL_COMPLETION,
    };
    let mut words = String::new();
    let mut arguments = raise.arguments.iter();
    for (number, piece) in raise.format.iter().enumerate() {
        if number > 0 {
            let shown = arguments.next().map(text).transpose()?.flatten();
            words.push_str(shown.as_deref().unwrap_or("<NULL>"));
        }
        words.push_str(piece);
    }
    let mut given: Vec<RaiseOption> = Vec::new();
    if !raise.format.is_empty() {
        given.push(RaiseOption::Message);
    }
    if matches!(raise.state, RaiseState::Given(_)) {
        given.push(RaiseOption::ErrorCode);
    }
    let (mut detail, mut hint) = (None, None);
    let mut object = ErrorObject::default();
    // How ERRCODE says it, which is the message if there is no other.
    let mut code = None;
    for (option, expr) in &raise.options {
        let Some(value) = text(expr)? else {
            return Err(SqlError::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "RAISE statement option cannot be null",
            ));
        };
        if given.contains(option) {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                format!("RAISE option already specified: {}", option.word()),
            ));
        }
        given.push(*option);
        match option {
            RaiseOption::Message => words = value,
            RaiseOption::Detail => detail = Some(value),
            RaiseOption::Hint => hint = Some(value),
            RaiseOption::ErrorCode => {
                state = condition_state(&value).ok_or_else(|| {
                    SqlError::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("unrecognized exception condition \"{value}\""),
                    )
                })?;
                code = Some(value);
            }
            RaiseOption::Column => object.column = Some(value),
            RaiseOption::Constraint => object.constraint = Some(value),
            RaiseOption::Table => object.table = Some(value),
            RaiseOption::Schema => object.schema = Some(value),
            RaiseOption::DataType => object.data_type = Some(value),
        }
    }
    if !given.contains(&RaiseOption::Message) {
        words = code.unwrap_or_else(|| state.as_str().to_string());
    }
    let mut error = SqlError::new(state, words);
    error.detail = detail.map(Into::into);
    error.hint = hint.map(Into::into);
    if object != ErrorObject::default() {
        error = error.about(object);
    }
    Ok(error)
}

/// What GET STACKED DIAGNOSTICS gives; empty where the error does not say.
pub(crate) fn diagnostic(error: &SqlError, item: Diagnostic) -> Value {
    let object = error.object.as_deref();
    let text = match item {
        Diagnostic::State => Some(error.state.as_str()),
        Diagnostic::Message => Some(error.message.as_str()),
        Diagnostic::Detail => error.detail.as_deref(),
        Diagnostic::Hint => error.hint.as_deref(),
        Diagnostic::Context => error.context.as_deref(),
        Diagnostic::Column => object.and_then(|object| object.column.as_deref()),
        Diagnostic::Constraint => object.and_then(|object| object.constraint.as_deref()),
        Diagnostic::Table => object.and_then(|object| object.table.as_deref()),
        Diagnostic::Schema => object.and_then(|object| object.schema.as_deref()),
        Diagnostic::DataType => object.and_then(|object| object.data_type.as_deref()),
    };
    Value::text(text.unwrap_or_default())
}
