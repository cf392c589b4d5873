//! DELETE.
//!
//! Relies on: `update` for the rows to remove.  Promises: the source's frame begins with the
//! table's own.  Does not: run anything.

use crate::command::Planned;
use crate::from::Doing;
use crate::insert::bind_returning;
use crate::names::required;
use crate::output;
use crate::planner::Planner;
use crate::row_security;
use crate::subquery::Subqueries;
use crate::updatable::Target;
use crate::update::{plan_target_rows, target_conditions};
use crate::with;
use pg_query::NodeEnum;
use pg_query::protobuf::DeleteStmt;
use quintet_base::SqlResult;
use quintet_ir::statement::Delete;
use quintet_ir::{Privileges, Statement};

/// Plans a DELETE.
pub(crate) fn plan_delete(planner: &Planner, statement: &DeleteStmt) -> SqlResult<Planned> {
    planner.calls.allow();
    let whole = || NodeEnum::DeleteStmt(Box::new(statement.clone()));
    let before = with::enter_with(planner, statement.with_clause.as_ref(), &whole)?;
    let relation = required(statement.relation.as_ref())?;
    let of = Target::find(planner, relation, Doing::Delete)?;
    of.need(planner, Privileges::DELETE);
    let mut from = of.from(relation);
    from.add_items(planner, &statement.using_clause)?;
    let subqueries = Subqueries::new(from.width);
    let where_clause = statement.where_clause.as_deref();
    let conditions = target_conditions(planner, &of, &from, &subqueries, where_clause)?;
    let (returning, outputs) =
        bind_returning(planner, &from.scope, statement.returning_clause.as_ref())?;
    of.need_reads(planner);
    let checks = of.secure(planner, &mut from, row_security::Command::Delete)?;
    let (mut source, frame) = plan_target_rows(planner, &from, &subqueries, conditions)?;
    let returning = frame.exprs(returning);
    let table = of.table;
    frame.leave_out(&mut source, table.frame_width(), returning.iter().flatten());
    let source = with::leave_with(planner, before, source)?;
    let delete = Delete {
        table,
        source,
        returning,
    };
    let statement = planner.secured(Statement::Delete(delete), checks)?;
    planner.run(statement, output::publish(outputs), "DELETE")
}
