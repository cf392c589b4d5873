//! Elements in CREATE SCHEMA: tables, views, sequences, indexes, triggers and grants, made along with the schema.
//!
//! Relies on: each is planned as a statement of its own, in the catalogue that those before it leave.  Promises: all or nothing, as one change; what is
//! made is in the new schema and its owner's, in PostgreSQL's order: sequences, tables, views, indexes, triggers, grants.  Does not: wait
//! with foreign keys for tables that come later, as PostgreSQL does not either.

use crate::command::{Command, DdlPlan, Planned};
use crate::ddl::plan_ddl;
use crate::names::inner;
use crate::planner::{PlanContext, Planner, Who};
use crate::system::print::quoted;
use pg_query::NodeEnum;
use pg_query::protobuf::{Node, RangeVar};
use quintet_base::{RoleId, SqlError, SqlResult, SqlState};

/// Puts a new schema's elements behind its plan.
///
/// # Errors
/// `42P15` for an element of another schema, and what each says.
pub(super) fn add(
    planner: &Planner,
    made: Planned,
    (schema, owner): (&str, RoleId),
    elements: &[Node],
) -> SqlResult<Planned> {
    let Command::Ddl(mut all) = made.command else {
        return Ok(made);
    };
    let mut ordered: Vec<NodeEnum> = elements.iter().filter_map(inner).cloned().collect();
    for element in &mut ordered {
        settle(element, schema)?;
    }
    // Those of one kind stay in the order in which they were written.
    ordered.sort_by_key(turn);
    let path = format!("{}, {}", quoted(schema), planner.context.schema);
    for element in &ordered {
        let catalog = planner.catalog().apply(&all.changes)?;
        let context = PlanContext {
            catalog: &catalog,
            schema: &path,
            user: Who {
                role: owner,
                ..planner.context.user
            },
            ..*planner.context
        };
        let inside = Planner::new(&context, planner.source(), &[]);
        let planned = plan_ddl(&inside, element)?;
        planner.need_all(inside.take_needs());
        let Some(planned) = planned else {
            return Err(SqlError::unsupported("this element in CREATE SCHEMA"));
        };
        let mut notices = planner.notices.borrow_mut();
        notices.extend(planned.notices);
        notices.extend(inside.notices.take());
        if let Command::Ddl(plan) = planned.command {
            join(&mut all, plan)?;
        }
    }
    let mut notices = made.notices;
    notices.extend(planner.notices.take());
    Ok(Planned {
        command: Command::Ddl(all),
        notices,
        ..made
    })
}

fn join(all: &mut DdlPlan, plan: DdlPlan) -> SqlResult<()> {
    if plan.then.is_some() {
        return Err(SqlError::unsupported("this element in CREATE SCHEMA"));
    }
    // Of a record that is written twice the last counts.
    for change in plan.changes {
        all.changes.retain(|known| known.key != change.key);
        all.changes.push(change);
    }
    all.work.extend(plan.work);
    all.settings.extend(plan.settings);
    Ok(())
}

/// When an element has its turn.
fn turn(element: &NodeEnum) -> usize {
    match element {
        NodeEnum::CreateSeqStmt(_) => 0,
        NodeEnum::CreateStmt(_) => 1,
        NodeEnum::ViewStmt(_) => 2,
        NodeEnum::IndexStmt(_) => 3,
        NodeEnum::CreateTrigStmt(_) => 4,
        _ => 5,
    }
}

/// Has an element say the schema that it is in.
fn settle(element: &mut NodeEnum, schema: &str) -> SqlResult<()> {
    let relation: Option<&mut RangeVar> = match element {
        NodeEnum::CreateSeqStmt(statement) => statement.sequence.as_mut(),
        NodeEnum::CreateStmt(statement) => statement.relation.as_mut(),
        NodeEnum::ViewStmt(statement) => statement.view.as_mut(),
        NodeEnum::IndexStmt(statement) => statement.relation.as_mut(),
        NodeEnum::CreateTrigStmt(statement) => statement.relation.as_mut(),
        _ => None,
    };
    let Some(relation) = relation else {
        return Ok(());
    };
    if relation.schemaname.is_empty() {
        relation.schemaname = schema.to_string();
    }
    if relation.schemaname == schema {
        return Ok(());
    }
    let said = &relation.schemaname;
    let message = format!(
        "CREATE specifies a schema ({said}) different from the one being created ({schema})"
    );
    Err(SqlError::new(SqlState::INVALID_SCHEMA_DEFINITION, message))
}
