//! Which statements may write more than a transaction can buffer: those that fill tables which nobody else can see.
//!
//! Relies on: `tc` commits ahead what goes to spaces that no committed catalogue names.  Promises: what would have to be validated, or
//! could be asked back without the table, is not committed ahead; nobody's row is lost with the old spaces of a table.
//! Does not: commit anything.
//!
//! A table that others see and that is empty is given new spaces, as by TRUNCATE, once a statement has put much into it: others that
//! want to write to it wait from then on, until the transaction ends; a block that has written to it before is waited for.
//!
//! ```text
//!   rows … much? ─► turn to change the schema ─► close ─► still empty? ─► new spaces, rows moved there ─► ahead
//! ```

use super::Session;
use super::portal::{Portal, PortalState};
use super::turn::Turn;
use crate::database::Schema;
use crate::step::Pause;
use quintet_base::{Level, SpaceId, SqlError, SqlResult, SqlState};
use quintet_dc::{Direction, KeyRange};
use quintet_direct::{AHEAD_SPACE, Run, translate};
use quintet_ir::expressions::{each_node_of_statement, each_of_plan};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::{Insert, Procedure, Statement};
use quintet_ir::{Expr, Plan, TableDef};
use quintet_sql::command::{Command, DdlPlan};
use quintet_tc::{Error, Mark};
use std::sync::Arc;

impl Session {
    /// The spaces of a table that this transaction has made or emptied; none if others can name them, or if they may not go ahead.
    pub(super) fn fresh_spaces(&self, insert: &Insert) -> Vec<SpaceId> {
        if !self.changed.any() || !self.may_go_ahead(insert) {
            return Vec::new();
        }
        let own = spaces_of(&insert.table);
        let committed = match insert.table.space.is_temporary() {
            true => self.own_work().spaces,
            false => self.db.schema().catalog.spaces(),
        };
        match own.iter().any(|space| committed.contains(space)) {
            true => Vec::new(),
            false => own,
        }
    }

    /// Whether rows of a table could be committed ahead if its spaces were new. Not where a row may have something else read, whose
    /// validation would be forgotten, where somebody may want to come back to a savepoint, at which the table was there
    /// without what went ahead, or where a cursor is open that may be in the midst of it.
    fn may_go_ahead(&self, insert: &Insert) -> bool {
        let table = &insert.table;
        let checks = table.checks.iter().map(|check| &check.condition);
        let reads = table.references.is_some()
            || table.has_late_keys()
            || insert.values.iter().chain(checks).any(Expr::calls_routine);
        let is_open = |portal: &Portal| {
            matches!(
                portal.state,
                PortalState::Running(_) | PortalState::CopyOut(..)
            )
        };
        !reads && self.savepoints.is_empty() && !self.portals.any(is_open)
    }

    /// Gives an empty table new spaces, with what the transaction has written to the old ones since a mark. Then
    /// [`Session::schema`] is another one. [`Renewed::No`]: it is not empty, or cannot be given any.
    pub(super) fn renew_table(&mut self, insert: &Insert, since: Mark) -> SqlResult<Renewed> {
        let table = &insert.table;
        let is_fit = self.level == Level::ReadCommitted
            && self.past.is_none()
            && self.may_go_ahead(insert)
            && self.is_empty_for_others(table)?
            && self.plan_renewal(table)?.is_some();
        if !is_fit {
            return Ok(Renewed::No);
        }
        // Of a temporary table there is nobody to wait for.
        let others = !table.space.is_temporary();
        if others && let Some(pause) = self.let_writers_end(&[table.space])? {
            return Ok(Renewed::Wait(pause));
        }
        if others && let Turn::Wait(pause) = self.take_turn()? {
            return Ok(Renewed::Wait(pause));
        }
        let (schema, plan) = loop {
            let Some((schema, plan)) = self.plan_renewal(table)? else {
                return Ok(Renewed::No);
            };
            if !others || self.draw_for(&schema, &plan)? {
                break (schema, plan);
            }
        };
        let txn = self.ensure_txn_at(Level::ReadCommitted, schema.timestamp);
        if others {
            let closed = txn.close_space(table.space);
            if let Some(pause) = self.is_through(closed)? {
                return Ok(Renewed::Wait(pause));
            }
        }
        // Those who were about to commit have; others wait.
        if !self.is_empty_for_others(table)? {
            return Ok(Renewed::No);
        }
        let old = spaces_of(table);
        let txn = self.ensure_txn_at(Level::ReadCommitted, schema.timestamp);
        let Some(rows) = txn.take_out(&old, since, AHEAD_SPACE) else {
            return Ok(Renewed::No);
        };
        if let Some(pause) = self.do_change(&plan, &schema)? {
            let back = self
                .txn
                .as_mut()
                .map(|txn| txn.put_back(rows, |space| space));
            back.transpose().map_err(|error| self.told(error))?;
            return Ok(Renewed::Wait(pause));
        }
        let schema = Arc::clone(self.schema());
        let Some(new) = schema.catalog.table_by_id(table.id) else {
            return Err(SqlError::internal("a table is gone with its rows"));
        };
        let fresh = spaces_of(new);
        self.db.direct.carry_row_ids(table.space, new.space);
        let txn = self.ensure_txn_at(Level::ReadCommitted, schema.timestamp);
        txn.begin_to_fill(&fresh);
        let since = txn.mark();
        let place = |space| {
            let at = old.iter().position(|known| *known == space);
            at.map_or(space, |at| fresh[at])
        };
        txn.put_back(rows, place)
            .map_err(|error| self.told(error))?;
        Ok(Renewed::Yes { fresh, since })
    }

    /// How a table is given new spaces by the present schema; `None`: it cannot be, or is another one by now.
    fn plan_renewal(&mut self, table: &TableRef) -> SqlResult<Option<(Arc<Schema>, DdlPlan)>> {
        let schema = Arc::clone(self.schema());
        let now = schema.catalog.table_by_id(table.id);
        if !now.is_some_and(|now| Arc::ptr_eq(now, table)) {
            return Ok(None);
        }
        let context = self.host.plan_context(&schema.catalog);
        let plan = quintet_sql::renew(&context, table)?;
        Ok(plan.map(|plan| (schema, plan)))
    }

    /// Whether a statement that has failed may succeed if the table that it fills is given new spaces.
    pub(super) fn may_renew(&self, portal: &Portal, error: &SqlError) -> bool {
        error.state == SqlState::OUT_OF_MEMORY
            && insert_of(portal).is_some_and(|insert| self.fresh_spaces(insert).is_empty())
    }

    /// Begins a statement again whose table has new spaces now.
    ///
    /// # Errors
    /// That of its first attempt, if the table cannot be given any.
    pub(super) fn renew_and_run(&mut self, portal: &mut Portal) -> SqlResult<Option<Pause>> {
        let PortalState::Renewing(refused) = &portal.state else {
            return Ok(None);
        };
        let txn = self.txn.as_ref();
        let (Some(insert), Some(txn)) = (insert_of(portal), txn) else {
            return Err(SqlError::clone(refused));
        };
        let (since, is_early) = (txn.mark(), txn.has_stopped_early());
        // It may still fit, and is not worth a wait for others' blocks.
        let renewed = match is_early && txn.are_others_writing(&[insert.table.space]) {
            true => Renewed::No,
            false => self.renew_table(insert, since)?,
        };
        match renewed {
            Renewed::Wait(pause) => return Ok(Some(pause)),
            Renewed::No if !is_early => return Err(SqlError::clone(refused)),
            Renewed::No => {
                if let (Some(txn), Command::Run(procedure)) =
                    (self.txn.as_mut(), &portal.prepared.planned.command)
                {
                    txn.stop_early(false);
                    let run = Run::new(&self.host.direct, Arc::clone(procedure));
                    portal.state = PortalState::Running(Box::new(run));
                }
                return Ok(None);
            }
            Renewed::Yes { .. } => {}
        }
        portal.prepared = self.current(Arc::clone(&portal.prepared), None)?;
        self.ensure_schema(portal)?;
        let prepared = Arc::clone(&portal.prepared);
        let Command::Run(procedure) = &prepared.planned.command else {
            return Err(SqlError::internal("INSERT is planned as something else"));
        };
        self.choose_what_goes_ahead(procedure);
        let run = Run::new(&self.host.direct, Arc::clone(procedure));
        portal.state = PortalState::Running(Box::new(run));
        Ok(None)
    }

    /// Whether nobody has committed a row that is there now.
    fn is_empty_for_others(&self, table: &TableDef) -> SqlResult<bool> {
        let now = self.db.tc.begin(Level::ReadCommitted);
        let mut rows = now
            .scan(table.space, &KeyRange::all(), Direction::Forward)
            .map_err(|error| self.told(error))?;
        let first = rows.next(&now).map_err(|error| self.told(error))?;
        Ok(first.is_none())
    }

    fn told(&self, error: Error) -> SqlError {
        translate(error, self.level, &self.host.schema.catalog_names())
    }

    /// A statement is about to be run: what it writes may be committed ahead, or not, or later if that is much.
    pub(super) fn choose_what_goes_ahead(&mut self, procedure: &Procedure) {
        let filling = match procedure.statement() {
            Some(statement @ Statement::Insert(insert)) if is_plain(statement, insert) => {
                let fresh = self.fresh_spaces(insert);
                let is_known = fresh.is_empty() && self.past.is_none() && self.may_go_ahead(insert);
                Some((fresh, is_known.then_some(insert.table.space)))
            }
            _ => None,
        };
        let Some(txn) = self.txn.as_mut() else {
            return;
        };
        txn.stay();
        txn.stop_early(false);
        let Some((fresh, known)) = filling else {
            return;
        };
        if !fresh.is_empty() {
            txn.go_ahead(fresh, AHEAD_SPACE);
        } else if self.level == Level::ReadCommitted {
            txn.stop_early(known.is_some_and(|space| txn.is_empty(space)));
        }
    }
}

/// What came of [`Session::renew_table`].
pub(super) enum Renewed {
    /// Wait, and ask again.
    Wait(Pause),
    No,
    /// These are the spaces; all that is in them was written since the mark.
    Yes {
        fresh: Vec<SpaceId>,
        since: Mark,
    },
}

/// What a portal runs, if it does nothing but fill a table from others.
fn insert_of(portal: &Portal) -> Option<&Insert> {
    let Command::Run(procedure) = &portal.prepared.planned.command else {
        return None;
    };
    match procedure.statement() {
        Some(statement @ Statement::Insert(insert)) if is_plain(statement, insert) => Some(insert),
        _ => None,
    }
}

fn spaces_of(table: &TableDef) -> Vec<SpaceId> {
    let indexes = table.indexes.iter().map(|index| index.space);
    indexes.chain([table.space]).collect()
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
