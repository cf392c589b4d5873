//! Which statements may write more than a transaction can buffer: those that fill tables which nobody else can see.
//!
//! Relies on: `tc` commits ahead what goes to spaces that no committed catalogue names.  Promises: what would have to be validated, or
//! could be asked back without the table, is not committed ahead.  Does not: commit anything.

use super::Session;
use super::portal::PortalState;
use quintet_base::SpaceId;
use quintet_direct::AHEAD_SPACE;
use quintet_ir::expressions::{each_node_of_statement, each_of_plan};
use quintet_ir::statement::{Insert, Procedure, Statement};
use quintet_ir::{Expr, Plan};

impl Session {
    /// The spaces of a table that this transaction has made or emptied; none where a row may have something else read, whose
    /// validation would be forgotten, where somebody may want to come back to a savepoint, at which the table was there
    /// without what went ahead, or where a cursor is open that may be in the midst of it.
    pub(super) fn fresh_spaces(&self, insert: &Insert) -> Vec<SpaceId> {
        let table = &insert.table;
        let checks = table.checks.iter().map(|check| &check.condition);
        let reads = table.references.is_some()
            || insert.values.iter().chain(checks).any(Expr::calls_routine);
        let is_open = self.portals.any(|portal| {
            matches!(
                portal.state,
                PortalState::Running(_) | PortalState::CopyOut(..)
            )
        });
        if self.changed_schema.is_none() || reads || is_open || !self.savepoints.is_empty() {
            return Vec::new();
        }
        let indexes = table.indexes.iter().map(|index| index.space);
        let own: Vec<SpaceId> = indexes.chain([table.space]).collect();
        let committed = self.db.schema().catalog.spaces();
        match own.iter().any(|space| committed.contains(space)) {
            true => Vec::new(),
            false => own,
        }
    }

    /// A statement is about to be run: what it writes may be committed ahead, or not.
    pub(super) fn choose_what_goes_ahead(&mut self, procedure: &Procedure) {
        let fresh = match procedure.statement() {
            Some(statement @ Statement::Insert(insert)) if is_plain(statement, insert) => {
                self.fresh_spaces(insert)
            }
            _ => Vec::new(),
        };
        if let Some(txn) = self.txn.as_mut() {
            txn.stay();
            if !fresh.is_empty() {
                txn.go_ahead(fresh, AHEAD_SPACE);
            }
        }
    }
}

/// Whether an INSERT puts rows of tables into another and does nothing else: no row is locked, no routine called, nothing kept
/// for RETURNING.
fn is_plain(statement: &Statement, insert: &Insert) -> bool {
    let is_more = insert.conflict.is_some() || insert.returning.is_some();
    // Most statements: a few rows that are named.
    if is_more || matches!(insert.source, Plan::Values { .. }) {
        return false;
    }
    let mut found = false;
    each_of_plan(&insert.source, &mut |expr, _| {
        found = found || expr.calls_routine();
    });
    each_node_of_statement(statement, &mut |plan| {
        found = found || matches!(plan, Plan::Lock { .. });
    });
    !found
}
