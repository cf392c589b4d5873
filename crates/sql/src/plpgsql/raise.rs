//! RAISE, GET DIAGNOSTICS and the conditions of handlers.
//!
//! Relies on: `walk`, `ir::condition`.  Promises: a format has as many arguments as it has places for
//! them, as the parser counts; names of conditions are states here.  Does not: know what ERRCODE
//! in USING will be: that is an expression.

use super::Failure;
use super::json::Json;
use super::tree::{
    Condition, Diagnostic, Raise, RaiseOption, RaiseSubject, Severity, SqlText, StatementKind,
    Target,
};
use super::walk::Walk;
use quintet_base::{SqlError, SqlState};
use quintet_ir::condition::{self, condition_state};

/// The words for how loud a RAISE is.
const LEVELS: &[&str] = &["exception", "warning", "notice", "info", "log", "debug"];

/// RAISE, up to its semicolon.
pub(crate) fn raise(walk: &mut Walk, node: Json) -> Result<StatementKind, Failure> {
    walk.take("raise")?;
    let level = level(walk, node)?;
    let said = LEVELS.iter().any(|word| walk.take_if(word));
    let subject = if let Some(format) = node.text("message") {
        walk.skip_to(&[",", ";", "using"])?;
        let mut arguments = Vec::new();
        for argument in node.nodes("params") {
            walk.take(",")?;
            arguments.push(walk.text(argument.query())?);
        }
        RaiseSubject::Format {
            format: format.to_string(),
            arguments,
        }
    } else if let Some(name) = node.text("condname") {
        let state = condition_state(name).ok_or_else(|| unknown(walk, name))?;
        walk.skip_to(&[";", "using"])?;
        RaiseSubject::Condition {
            name: name.to_string(),
            state,
        }
    } else if !said && walk.is(";") {
        RaiseSubject::Again
    } else {
        RaiseSubject::Options
    };
    Ok(StatementKind::Raise(Raise {
        level,
        subject,
        options: options(walk, node)?,
    }))
}

/// PostgreSQL's numbers for levels of messages.
fn level(walk: &Walk, node: Json) -> Result<Severity, Failure> {
    Ok(match node.number("elog_level") {
        14 => Severity::Debug,
        15 => Severity::Log,
        17 => Severity::Info,
        18 => Severity::Notice,
        19 => Severity::Warning,
        21 => Severity::Exception,
        _ => return Err(walk.differ()),
    })
}

fn options(walk: &mut Walk, node: Json) -> Result<Vec<(RaiseOption, SqlText)>, Failure> {
    let mut options = Vec::new();
    for option in node.nodes("options") {
        walk.take(if options.is_empty() { "using" } else { "," })?;
        let what = match option.number("opt_type") {
            0 => RaiseOption::ErrorCode,
            1 => RaiseOption::Message,
            2 => RaiseOption::Detail,
            3 => RaiseOption::Hint,
            4 => RaiseOption::Column,
            5 => RaiseOption::Constraint,
            6 => RaiseOption::DataType,
            7 => RaiseOption::Table,
            8 => RaiseOption::Schema,
            _ => return Err(walk.differ()),
        };
        if !walk.is(&what.word().to_ascii_lowercase()) {
            return Err(walk.differ());
        }
        // The word, and an equals sign of either kind.
        walk.at += 2;
        options.push((what, walk.text(option.expression("expr"))?));
    }
    Ok(options)
}

/// The conditions of a handler.
pub(crate) fn conditions(walk: &Walk, handler: Json) -> Result<Vec<Condition>, Failure> {
    let mut found = Vec::new();
    for condition in handler.nodes("conditions") {
        let name = condition.text("condname").unwrap_or_default();
        let covered = condition::conditions(name);
        if covered.is_empty() {
            return Err(unknown(walk, name));
        }
        // A name with two states comes twice.
        for condition in covered {
            if !found.contains(&condition) {
                found.push(condition);
            }
        }
    }
    Ok(found)
}

fn unknown(walk: &Walk, name: &str) -> Failure {
    let message = format!("unrecognized exception condition \"{name}\"");
    Failure::at(
        SqlError::new(SqlState::UNDEFINED_OBJECT, message),
        walk.offset(),
    )
}

/// GET DIAGNOSTICS, up to its semicolon.
pub(crate) fn diagnostics(walk: &mut Walk, node: Json) -> Result<StatementKind, Failure> {
    let start = walk.offset();
    walk.take("get")?;
    let items: Result<Vec<(Target, Diagnostic)>, Failure> = node
        .nodes("diag_items")
        .iter()
        .map(|item| {
            let what = diagnostic(item.text("kind").unwrap_or_default(), start)?;
            Ok((walk.target(item.number("target"))?, what))
        })
        .collect();
    let kind = StatementKind::GetDiagnostics {
        stacked: node.flag("is_stacked"),
        items: items?,
    };
    walk.skip_to(&[";"])?;
    Ok(kind)
}

fn diagnostic(kind: &str, start: usize) -> Result<Diagnostic, Failure> {
    Ok(match kind {
        "ROW_COUNT" => Diagnostic::RowCount,
        "PG_CONTEXT" => Diagnostic::Context,
        "RETURNED_SQLSTATE" => Diagnostic::ReturnedSqlState,
        "MESSAGE_TEXT" => Diagnostic::MessageText,
        "PG_EXCEPTION_DETAIL" => Diagnostic::ExceptionDetail,
        "PG_EXCEPTION_HINT" => Diagnostic::ExceptionHint,
        "PG_EXCEPTION_CONTEXT" => Diagnostic::ExceptionContext,
        "COLUMN_NAME" => Diagnostic::ColumnName,
        "CONSTRAINT_NAME" => Diagnostic::ConstraintName,
        "PG_DATATYPE_NAME" => Diagnostic::DataTypeName,
        "TABLE_NAME" => Diagnostic::TableName,
        "SCHEMA_NAME" => Diagnostic::SchemaName,
        other => {
            let what = format!("{other} in GET DIAGNOSTICS");
            return Err(Failure::unsupported(&what, start));
        }
    })
}
