//! What becomes of large objects when a role goes: DROP ROLE, DROP OWNED and REASSIGN OWNED.
//!
//! Relies on: `ddl::Work::Run` for statements within a change of the catalogue.  Promises: a role that owns an object, or was granted
//! something on one, stays, and is told of them by number; with DROP OWNED they go, with REASSIGN OWNED they are another's.
//! Does not: look into other databases.

use super::PATH;
use crate::command::Command;
use crate::draft::Draft;
use crate::parse;
use crate::planner::{PlanContext, Planner};
use crate::statement::plan_statement;
use quintet_base::{RoleId, SqlError, SqlResult};
use quintet_ir::ddl::Work;
use quintet_ir::statement::Body;

/// Refuses to drop a role that large objects name, or that `lines` say something of.
///
/// # Errors
/// What is wrong with the statement, which is nothing.
pub(crate) fn refuse_needed(
    draft: &mut Draft,
    name: &str,
    id: RoleId,
    lines: &[String],
) -> SqlResult<()> {
    let id = id.0;
    let lines: Vec<String> = lines.iter().map(|line| literal(line)).collect();
    let text = format!(
        "SELECT large_object_needed({}, ARRAY[{}]::text[], \
         (SELECT array_agg(oid ORDER BY oid) FROM large_objects WHERE lomowner = {id}::oid), \
         (SELECT array_agg(oid ORDER BY oid) FROM large_objects \
          WHERE lomowner <> {id}::oid AND large_object_without(lomacl, '{{{id}}}'::oid[]) <> lomacl))",
        literal(name),
        lines.join(", ")
    );
    run(draft, &text)
}

/// DROP OWNED BY: the objects that roles own, and what they were granted on others.
///
/// # Errors
/// As [`refuse_needed`].
pub(crate) fn drop_owned(draft: &mut Draft, of: &[RoleId]) -> SqlResult<()> {
    let roles = array(of);
    run(
        draft,
        &format!(
            "DELETE FROM large_object_pages WHERE loid IN (SELECT oid FROM large_objects WHERE lomowner = ANY ({roles}))"
        ),
    )?;
    run(
        draft,
        &format!("DELETE FROM large_objects WHERE lomowner = ANY ({roles})"),
    )?;
    run(
        draft,
        &format!(
            "UPDATE large_objects SET lomacl = large_object_without(lomacl, {roles}) \
             WHERE large_object_without(lomacl, {roles}) <> lomacl"
        ),
    )
}

/// REASSIGN OWNED BY … TO.
///
/// # Errors
/// As [`refuse_needed`].
pub(crate) fn reassign(draft: &mut Draft, old: &[RoleId], new: RoleId) -> SqlResult<()> {
    let (roles, new) = (array(old), new.0);
    run(
        draft,
        &format!(
            "UPDATE large_objects SET lomowner = {new}::oid, \
             lomacl = large_object_given(lomacl, lomowner, {new}::oid) WHERE lomowner = ANY ({roles})"
        ),
    )
}

fn run(draft: &mut Draft, text: &str) -> SqlResult<()> {
    let parsed = parse::parse(text)?;
    let node = parsed.first().and_then(|parsed| parsed.node());
    let node = node.ok_or_else(|| SqlError::internal("a statement about large objects"))?;
    let context = PlanContext {
        schema: PATH,
        ..*draft.planner.context
    };
    let planned = plan_statement(&Planner::new(&context, text, &[]), node)?;
    match planned.command {
        Command::Run(procedure) => match &procedure.body {
            Body::Statement(statement) => {
                draft.work(Work::Run(Box::new(statement.clone())));
                Ok(())
            }
            Body::Call { .. } => Err(SqlError::internal("a statement about rows is a call")),
        },
        _ => Err(SqlError::internal("a statement about rows is none")),
    }
}

fn array(roles: &[RoleId]) -> String {
    let numbers: Vec<String> = roles.iter().map(|role| role.0.to_string()).collect();
    format!("'{{{}}}'::oid[]", numbers.join(","))
}

fn literal(text: &str) -> String {
    format!("'{}'::text", text.replace('\'', "''"))
}
