//! What becomes of temporary tables: ON COMMIT, DISCARD TEMP, the end of a session.
//!
//! Relies on: `draft`, and the session's number.  Promises: one's own tables only.  Does not: decide when; the session does.

use super::{drop_table, schema};
use crate::catalog::Catalog;
use crate::command::{Command, DdlPlan, Planned};
use crate::draft::Draft;
use crate::planner::{PlanContext, Planner};
use crate::records::OnCommit;
use crate::temporary::{is_temporary, schema_of, session_of};
use pg_query::protobuf::OnCommitAction;
use quintet_base::{SqlError, SqlResult, SqlState, TableId};
use quintet_ir::ddl::Work;

/// What a clause ON COMMIT says of a table in this schema.
///
/// # Errors
/// `42P16` for a table that is not temporary.
pub(super) fn on_commit(action: OnCommitAction, schema: &str) -> SqlResult<OnCommit> {
    let action = match action {
        OnCommitAction::OncommitDeleteRows => OnCommit::DeleteRows,
        OnCommitAction::OncommitDrop => OnCommit::Drop,
        OnCommitAction::OncommitPreserveRows => OnCommit::Keep,
        OnCommitAction::OncommitNoop | OnCommitAction::Undefined => return Ok(OnCommit::Keep),
    };
    match is_temporary(schema) {
        true => Ok(action),
        false => Err(SqlError::new(
            SqlState::INVALID_TABLE_DEFINITION,
            "ON COMMIT can only be used on temporary tables",
        )),
    }
}

/// Refuses a foreign key between a temporary table and another.
///
/// # Errors
/// `42P16`; `0A000` where rows would go at a commit that others refer to.
pub(super) fn refuse_reference(
    (child, of_child): (&str, OnCommit),
    (parent, of_parent): (&str, OnCommit),
) -> SqlResult<()> {
    let kind = match (is_temporary(child), is_temporary(parent)) {
        (false, true) => "permanent",
        (true, false) => "temporary",
        _ if of_parent == OnCommit::DeleteRows && of_child != OnCommit::DeleteRows => {
            return Err(SqlError::unsupported(
                "a foreign key to a table with ON COMMIT DELETE ROWS from one without",
            ));
        }
        _ => return Ok(()),
    };
    Err(SqlError::new(
        SqlState::INVALID_TABLE_DEFINITION,
        format!("constraints on {kind} tables may reference only {kind} tables"),
    ))
}

impl Catalog {
    /// True if the session with this number has a schema of temporary tables.
    pub fn has_temporary(&self, session: u32) -> bool {
        self.has_schema(&schema_of(session))
    }

    /// The numbers of all sessions that have such a schema, or had one.
    pub fn temporary_sessions(&self) -> Vec<u32> {
        let schemas = self.own_schemas();
        schemas.filter_map(|(_, name)| session_of(name)).collect()
    }
}

/// What is to be done when the session commits, besides: tables to empty, tables to drop. `None`: nothing.
///
/// # Errors
/// What a record says that cannot be read.
pub fn plan_commit(context: &PlanContext) -> SqlResult<Option<DdlPlan>> {
    let own = schema_of(context.user.temporary);
    let planner = Planner::new(context, "", &[]);
    let mut draft = Draft::new(&planner);
    let records = context.catalog.table_records();
    let records: Vec<_> = records.filter(|record| record.schema == own).collect();
    let gone = records
        .iter()
        .filter(|r| r.more.on_commit == OnCommit::Drop);
    let together: Vec<TableId> = gone.map(|record| record.id).collect();
    for record in records {
        match record.more.on_commit {
            OnCommit::Keep => {}
            OnCommit::DeleteRows => {
                if let Some(table) = context.catalog.table_by_id(record.id) {
                    draft.work(Work::Empty(table.clone()));
                }
            }
            OnCommit::Drop => drop_table(&mut draft, record.id, true, &together)?,
        }
    }
    Ok(change(draft.finish("COMMIT")?))
}

/// DISCARD TEMP: everything goes that the session has made. `None`: it has made nothing.
///
/// # Errors
/// As [`plan_commit`].
pub fn plan_discard(context: &PlanContext) -> SqlResult<Option<DdlPlan>> {
    let own = schema_of(context.user.temporary);
    let mut schemas = context.catalog.own_schemas();
    let Some((number, _)) = schemas.find(|(_, name)| *name == own) else {
        return Ok(None);
    };
    let planner = Planner::new(context, "", &[]);
    let mut draft = Draft::new(&planner);
    schema::empty(&mut draft, &own, true)?;
    draft.drop_schema(number);
    Ok(change(draft.finish("DISCARD TEMP")?))
}

fn change(planned: Planned) -> Option<DdlPlan> {
    match planned.command {
        Command::Ddl(plan) => Some(plan),
        _ => None,
    }
}
