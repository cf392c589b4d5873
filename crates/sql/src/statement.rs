//! One function per kind of statement: who plans what.
//!
//! Relies on: every file that plans a kind.  Promises: a statement that no file plans is 0A000 by
//! name.  Does not: plan anything itself.

use crate::command::{Command, Planned};
use crate::planner::Planner;
use crate::{
    advisory, copy, ddl, delete, feed, insert, output, routine, select, set_config, update, utility,
};
use pg_query::NodeEnum;
use quintet_base::{SqlError, SqlResult};
use quintet_ir::Statement;
use quintet_ir::plan::Plan;

/// Plans a statement.
pub(crate) fn plan_statement(planner: &Planner, node: &NodeEnum) -> SqlResult<Planned> {
    // In a routine whoever embeds the statement has made steps of them.
    if planner.variables.is_none() && routine::has_changes(node) {
        return routine::plan_changes(planner, node);
    }
    match node {
        NodeEnum::SelectStmt(select) => {
            if let Some(planned) = ddl::select_into(planner, select)? {
                return Ok(planned);
            }
            if let Some(planned) = feed::plan_feed(planner, select)? {
                return Ok(planned);
            }
            if let Some(planned) = set_config::plan_set_config(planner, select) {
                return Ok(planned);
            }
            if planner.variables.is_none()
                && let Some(planned) = advisory::plan_advisory(planner, select)?
            {
                return Ok(planned);
            }
            if let Some(planned) = routine::plan_select_of_routine(planner, select)? {
                return Ok(planned);
            }
            let query = select::plan_query(planner, select, None)?;
            let outputs = output::publish(query.outputs);
            let plan = without_projection(query.plan, outputs.len());
            planner.run(Statement::Query(plan), outputs, "SELECT")
        }
        NodeEnum::InsertStmt(statement) => {
            with_triggers(planner, node, insert::plan_insert(planner, statement)?)
        }
        NodeEnum::UpdateStmt(statement) => {
            with_triggers(planner, node, update::plan_update(planner, statement)?)
        }
        NodeEnum::DeleteStmt(statement) => {
            with_triggers(planner, node, delete::plan_delete(planner, statement)?)
        }
        NodeEnum::CallStmt(statement) => routine::plan_call(planner, statement),
        NodeEnum::DoStmt(statement) => routine::plan_do(planner, statement),
        NodeEnum::CopyStmt(statement) => copy::plan_copy(planner, statement),
        _ => match ddl::plan_ddl(planner, node)? {
            Some(planned) => Ok(planned),
            None => match utility::plan_utility(planner, node)? {
                Some(planned) => Ok(planned),
                None => Err(unsupported(node)),
            },
        },
    }
}

/// What a client sends is a routine if it fires triggers.
fn with_triggers(planner: &Planner, node: &NodeEnum, planned: Planned) -> SqlResult<Planned> {
    let fires = match &planned.command {
        Command::Run(procedure) => procedure
            .statement()
            .is_some_and(|statement| routine::fires(planner.catalog(), statement)),
        _ => false,
    };
    match fires && planner.variables.is_none() {
        true => routine::plan_changes(planner, node),
        false => Ok(planned),
    }
}

/// A projection that changes nothing at the top is left out.
fn without_projection(plan: Plan, width: usize) -> Plan {
    match plan {
        Plan::Project { input, exprs } => {
            let same_place = |(n, e): (usize, &quintet_ir::Expr)| matches!(e, quintet_ir::Expr::Column(p, _) if *p == n);
            let is_whole = match &*input {
                Plan::Scan(access) => access.table.frame_width() == width,
                _ => false,
            };
            if is_whole && exprs.iter().enumerate().all(same_place) {
                return *input;
            }
            Plan::Project { input, exprs }
        }
        plan => plan,
    }
}

/// `0A000` by the statement's name.
fn unsupported(node: &NodeEnum) -> SqlError {
    SqlError::unsupported(match node {
        NodeEnum::MergeStmt(_) => "MERGE",
        NodeEnum::CreateTrigStmt(_) => "CREATE TRIGGER",
        NodeEnum::RefreshMatViewStmt(_) => "REFRESH MATERIALIZED VIEW",
        NodeEnum::CreateExtensionStmt(_) => "CREATE EXTENSION",
        NodeEnum::CreatedbStmt(_) => "CREATE DATABASE",
        NodeEnum::DropdbStmt(_) => "DROP DATABASE",
        NodeEnum::AlterDatabaseStmt(_) => "ALTER DATABASE",
        NodeEnum::AlterSystemStmt(_) => "ALTER SYSTEM",
        NodeEnum::CreateRangeStmt(_) => "CREATE TYPE … AS RANGE",
        NodeEnum::CreateTableSpaceStmt(_) => "CREATE TABLESPACE",
        NodeEnum::CreatePublicationStmt(_) => "CREATE PUBLICATION",
        NodeEnum::CreateStatsStmt(_) => "CREATE STATISTICS",
        NodeEnum::DefineStmt(_) => "CREATE of this kind of object",
        NodeEnum::RuleStmt(_) => "CREATE RULE",
        NodeEnum::LockStmt(_) => "LOCK TABLE",
        NodeEnum::LoadStmt(_) => "LOAD",
        NodeEnum::ReindexStmt(_) => "REINDEX",
        NodeEnum::ConstraintsSetStmt(_) => "SET CONSTRAINTS",
        NodeEnum::AlterDefaultPrivilegesStmt(_) => "ALTER DEFAULT PRIVILEGES",
        NodeEnum::SecLabelStmt(_) => "SECURITY LABEL",
        NodeEnum::ImportForeignSchemaStmt(_) => "IMPORT FOREIGN SCHEMA",
        NodeEnum::CreateForeignTableStmt(_) => "CREATE FOREIGN TABLE",
        _ => "this statement",
    })
}
