//! RAISE: messages and errors that a routine makes, and what it may ask of an error.
//!
//! Relies on: the session, which tells its client.  Promises: PostgreSQL's states, words and fields.
//! Does not: show a message; the session does.

use quintet_base::error::ErrorObject;
use quintet_base::{SqlError, SqlResult, SqlState, Value, text_format};
use quintet_ir::condition::condition_state;
use quintet_ir::routine::{Diagnostic, Raise, RaiseOption, RaiseState, Severity};
use quintet_ir::{Expr, Host, eval};

/// Fails with the error, or tells the session the message.
pub(crate) fn raise(raise: &Raise, slots: &[Value], host: &dyn Host) -> SqlResult<()> {
    let error = message(raise, slots, host)?;
    let severity = match raise.severity {
        Severity::Exception => return Err(error),
        Severity::Warning => "WARNING",
        Severity::Notice => "NOTICE",
        Severity::Info => "INFO",
        Severity::Log => "LOG",
        Severity::Debug => "DEBUG",
    };
    host.notice(severity, error);
    Ok(())
}

fn message(raise: &Raise, slots: &[Value], host: &dyn Host) -> SqlResult<SqlError> {
    let text = |expr: &Expr| -> SqlResult<Option<String>> {
        let value = eval(expr, &[], slots, host)?;
        let shown = || text_format::to_string(&value, expr.ty(), host.format());
        Ok((!value.is_null()).then(shown))
    };
    let state = match (raise.state, raise.severity) {
        (RaiseState::Given(state), _) => state,
        (RaiseState::Default, Severity::Exception) => SqlState::RAISE_EXCEPTION,
        (RaiseState::Default, Severity::Warning) => SqlState::WARNING,
        (RaiseState::Default, _) => SqlState::SUCCESSFUL_COMPLETION,
    };
    let mut error = SqlError::new(state, "");
    let mut given = Vec::new();
    if let Some((first, rest)) = raise.format.split_first() {
        given.push(RaiseOption::Message);
        error.message.push_str(first);
        for (argument, piece) in raise.arguments.iter().zip(rest) {
            error.message += text(argument)?.as_deref().unwrap_or("<NULL>");
            error.message += piece;
        }
    }
    if raise.state != RaiseState::Default {
        given.push(RaiseOption::ErrorCode);
    }
    let mut object = ErrorObject::default();
    // The words of ERRCODE stand for the message where there is none.
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
            RaiseOption::Message => error.message = value,
            RaiseOption::Detail => error.detail = Some(value.into()),
            RaiseOption::Hint => error.hint = Some(value.into()),
            RaiseOption::ErrorCode => {
                error.state = condition_state(&value).ok_or_else(|| {
                    SqlError::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("unrecognized exception condition \"{value}\""),
                    )
                })?;
                code = Some(value);
            }
            RaiseOption::Column => object.column = Some(value),
            RaiseOption::Constraint => object.constraint = Some(value),
            RaiseOption::DataType => object.data_type = Some(value),
            RaiseOption::Table => object.table = Some(value),
            RaiseOption::Schema => object.schema = Some(value),
        }
    }
    if !given.contains(&RaiseOption::Message) {
        error.message = code.unwrap_or_else(|| error.state.as_str().to_string());
    }
    match object == ErrorObject::default() {
        true => Ok(error),
        false => Ok(error.about(object)),
    }
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
        Diagnostic::DataType => object.and_then(|object| object.data_type.as_deref()),
        Diagnostic::Table => object.and_then(|object| object.table.as_deref()),
        Diagnostic::Schema => object.and_then(|object| object.schema.as_deref()),
    };
    Value::text(text.unwrap_or_default())
}
