//! DO: a block that is run once and kept nowhere.
//!
//! Relies on: `lower`, as of a procedure without parameters.  Promises: the block is a program like a
//! procedure's.  Does not: take another language than PL/pgSQL.

use super::link::Linker;
use super::lower;
use super::signature::Signature;
use super::single_types;
use crate::command::{Command, Planned};
use crate::names::{inner, option_text};
use crate::planner::Planner;
use crate::plpgsql;
use crate::tree::node;
use pg_query::NodeEnum;
use pg_query::protobuf::{CreateFunctionStmt, DefElem, DoStmt, List, Node, String as Name};
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState};
use quintet_ir::statement::{Body, Procedure};
use std::sync::Arc;

/// What errors call a block.
const NAME: &str = "inline_code_block";

/// DO.
pub(crate) fn plan_do(planner: &Planner, statement: &DoStmt) -> SqlResult<Planned> {
    let block = as_procedure(statement)?;
    let text = planner.statement_text();
    let signature = Signature::of(RoutineId(0), &block, text, planner.context)?;
    let tree = plpgsql::read(&block, text, &single_types(planner.context))?;
    let mut linker = Linker::behind(1);
    let mut first = lower::routine(&signature, &tree, planner.context, &mut linker)?;
    // It has no arguments that could be told.
    first.name = NAME.to_string();
    let program = linker.finish(vec![first], planner.context)?;
    let procedure = Procedure {
        params: Vec::new(),
        body: Body::Call {
            program: Arc::new(program),
            arguments: Vec::new(),
        },
        result: Vec::new(),
    };
    Ok(planner.command(Command::Run(Arc::new(procedure)), "DO"))
}

/// The procedure that would be such a block.
fn as_procedure(statement: &DoStmt) -> SqlResult<CreateFunctionStmt> {
    let mut body = None;
    for argument in &statement.args {
        let Some(NodeEnum::DefElem(option)) = inner(argument) else {
            continue;
        };
        match option.defname.as_str() {
            "as" => body = option.arg.as_deref().cloned(),
            _ => check_language(option)?,
        }
    }
    let body =
        body.ok_or_else(|| SqlError::new(SqlState::SYNTAX_ERROR, "no inline code specified"))?;
    Ok(CreateFunctionStmt {
        is_procedure: true,
        funcname: vec![word(NAME)],
        options: vec![
            option("language", word("plpgsql")),
            option("as", node(NodeEnum::List(List { items: vec![body] }))),
        ],
        ..CreateFunctionStmt::default()
    })
}

fn check_language(option: &DefElem) -> SqlResult<()> {
    let language = option.arg.as_deref().and_then(option_text);
    let message = match language.unwrap_or_default().as_str() {
        "plpgsql" => return Ok(()),
        known @ ("sql" | "c" | "internal") => {
            let message = format!("language \"{known}\" does not support inline code execution");
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        other => format!("language \"{other}\" does not exist"),
    };
    Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message))
}

fn option(name: &str, value: Node) -> Node {
    node(NodeEnum::DefElem(Box::new(DefElem {
        defname: name.to_string(),
        arg: Some(Box::new(value)),
        ..DefElem::default()
    })))
}

fn word(text: &str) -> Node {
    node(NodeEnum::String(Name {
        sval: text.to_string(),
    }))
}
