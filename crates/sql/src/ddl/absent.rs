//! DROP … IF EXISTS of kinds of objects that nobody can make here.
//!
//! Relies on: `ir` for which operators and aggregates are built in.  Promises: what is not there is told as PostgreSQL tells it;
//! what may be there, or is asked for without IF EXISTS, is refused.  Does not: drop anything.

use crate::command::Planned;
use crate::draft::Draft;
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::routine::as_written;
use crate::types;
use pg_query::NodeEnum;
use pg_query::protobuf::{DropStmt, Node, ObjectType, ObjectWithArgs};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::aggregate::is_aggregate_name;
use quintet_ir::function;

/// `None`: it is refused.
pub(super) fn drop(planner: &Planner, statement: &DropStmt) -> SqlResult<Option<Planned>> {
    if !statement.missing_ok {
        return Ok(None);
    }
    let (tag, what) = match statement.remove_type() {
        ObjectType::ObjectOperator => ("DROP OPERATOR", "operator"),
        ObjectType::ObjectAggregate => ("DROP AGGREGATE", "aggregate"),
        ObjectType::ObjectRule => ("DROP RULE", "rule"),
        ObjectType::ObjectEventTrigger => ("DROP EVENT TRIGGER", "event trigger"),
        ObjectType::ObjectForeignServer => ("DROP SERVER", "server"),
        ObjectType::ObjectFdw => ("DROP FOREIGN DATA WRAPPER", "foreign-data wrapper"),
        ObjectType::ObjectPublication => ("DROP PUBLICATION", "publication"),
        ObjectType::ObjectStatisticExt => ("DROP STATISTICS", "statistics object"),
        ObjectType::ObjectForeignTable => ("DROP FOREIGN TABLE", "foreign table"),
        _ => return Ok(None),
    };
    for object in &statement.objects {
        let missing = match inner(object) {
            Some(NodeEnum::ObjectWithArgs(object)) => routine(planner, object, what)?,
            Some(NodeEnum::String(name)) => {
                Some(format!("{what} \"{}\" does not exist", name.sval))
            }
            _ => named(planner, object, what)?,
        };
        let Some(missing) = missing else {
            return Ok(None);
        };
        planner.notice(format!("{missing}, skipping"));
    }
    Draft::new(planner).finish(tag).map(Some)
}

/// What is missing of an operator or an aggregate; `None`: perhaps nothing.
fn routine(planner: &Planner, object: &ObjectWithArgs, what: &str) -> SqlResult<Option<String>> {
    let name = names::strings(&object.objname);
    let Some((last, schema)) = name.split_last() else {
        return Ok(None);
    };
    if let Some(missing) = missing_schema(planner, schema) {
        return Ok(Some(missing));
    }
    let mut given: Vec<SqlType> = Vec::new();
    for node in &object.objargs {
        // NONE, beside a prefix operator's operand.
        let Some(NodeEnum::TypeName(ty)) = inner(node) else {
            continue;
        };
        match types::resolve(planner, ty) {
            Ok((ty, _)) => given.push(ty),
            Err(error) if error.state == SqlState::UNDEFINED_OBJECT => {
                return Ok(Some(error.into_told().message));
            }
            Err(error) => return Err(error),
        }
    }
    let is_there = match what {
        "aggregate" => is_aggregate_name(last),
        _ => function::resolve(last, &given).is_ok(),
    };
    let shown = match what {
        "aggregate" => as_written(object),
        _ => name.join("."),
    };
    Ok((!is_there).then(|| format!("{what} {shown} does not exist")))
}

/// The same of what has a name in a schema, or on a table.
fn named(planner: &Planner, object: &Node, what: &str) -> SqlResult<Option<String>> {
    let name = names::strings(names::list(object).unwrap_or_default());
    let Some((last, before)) = name.split_last() else {
        return Ok(None);
    };
    if what != "rule" {
        if let Some(missing) = missing_schema(planner, before) {
            return Ok(Some(missing));
        }
        if what == "foreign table"
            && planner
                .find_relation(before.last().copied(), last)
                .is_some()
        {
            let message = format!("\"{last}\" is not a foreign table");
            let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, message);
            return Err(error.hint("Use DROP TABLE to remove a table."));
        }
        let shown = match what {
            "foreign table" => (*last).to_string(),
            _ => name.join("."),
        };
        return Ok(Some(format!("{what} \"{shown}\" does not exist")));
    }
    let Some((table, schema)) = before.split_last() else {
        return Ok(None);
    };
    if let Some(missing) = missing_schema(planner, schema) {
        return Ok(Some(missing));
    }
    Ok(match planner.find_relation(schema.last().copied(), table) {
        None => Some(format!("relation \"{}\" does not exist", before.join("."))),
        // What makes a view one.
        Some(_) if *last == "_RETURN" => None,
        Some(_) => Some(format!(
            "rule \"{last}\" for relation \"{table}\" does not exist"
        )),
    })
}

fn missing_schema(planner: &Planner, schema: &[&str]) -> Option<String> {
    let name = schema.last()?;
    let is_there = planner.catalog().has_schema(name) || *name == "pg_catalog";
    (!is_there).then(|| format!("schema \"{name}\" does not exist"))
}
