//! A row that a BEFORE trigger has changed or removed itself is not changed a second time.
//!
//! Relies on: `fire/rows` for the row by its key.  Promises: `27000` where the row that a statement is about to change, or to show to BEFORE
//! triggers, is not what the statement has found: the function of a trigger has been there, for this row
//! or an earlier one, or one that the statement calls.
//! Does not: see a change that leaves all values as they are; who else might change the row waits, as it is locked.

use super::several::event_of;
use super::{Event, Firing, Seen, boolean};
use crate::catalog::Catalog;
use crate::records::TriggerRecord;
use crate::routine::embed::{Embedding, Planned};
use quintet_base::{SqlError, SqlResult, SqlType};
use quintet_ir::plan::{Path, Plan};
use quintet_ir::routine::{Action, Step};
use quintet_ir::schema::{TableDef, TableRef};
use quintet_ir::{Expr, Statement};

/// What a statement would do to a row that is another now, as PostgreSQL says it.
#[derive(Clone, Copy)]
pub(super) enum Meant {
    Update,
    Delete,
    Merge,
}

impl Meant {
    pub fn to(event: Event, in_merge: bool) -> Meant {
        match event {
            _ if in_merge => Meant::Merge,
            Event::Delete => Meant::Delete,
            Event::Insert | Event::Update => Meant::Update,
        }
    }
}

impl Firing {
    /// Whether a function may change rows before they are written.
    pub(super) fn is_watched(&self, event: Event) -> bool {
        let before = |event| !self.of(event, true, true).is_empty();
        let moves = self.moves && (before(Event::Insert) || before(Event::Delete));
        !self.instead && (self.calls || before(event) || moves)
    }

    /// Of a row of the table, as it is now, only one that is as it was found.
    pub(super) fn unchanged(&self, source: Plan, seen: &Seen) -> Plan {
        unchanged(&self.table, source, &seen.old)
    }
}

/// Of a row of a table, as it is now, only one that is as it was found, in these slots.
fn unchanged(table: &TableDef, source: Plan, found: &[usize]) -> Plan {
    let columns = table.visible_columns().zip(found);
    let same = columns.map(|((number, column), slot)| Expr::Distinct {
        left: Box::new(Expr::Column(number, column.ty)),
        right: Box::new(Expr::Param(*slot, column.ty)),
        negated: true,
    });
    let mut same: Vec<Expr> = same.collect();
    let predicate = match same.len() {
        0 => return source,
        1 => same.remove(0),
        _ => Expr::And(same),
    };
    Plan::Filter {
        input: Box::new(source),
        predicate,
    }
}

/// Whether a table has triggers that may change rows which the same statement comes to later.
pub(in crate::routine) fn is_watched(catalog: &Catalog, table: &TableDef) -> bool {
    let triggers = catalog.triggers_around(table);
    (triggers.iter())
        .any(|t| t.before && t.row && t.is_enabled() && (t.insert || t.update || t.delete))
}

/// A plan that by its form finds one row at most.
pub(super) fn is_of_one_row(plan: &Plan) -> bool {
    match plan {
        Plan::Filter { input, .. } => is_of_one_row(input),
        Plan::Scan(access) => {
            access.is_point() && matches!(&access.path, Path::Primary(ranges) if ranges.len() == 1)
        }
        _ => false,
    }
}

impl Embedding<'_, '_> {
    /// Fails if no row was changed; without triggers before it there is none if somebody else was faster, and the next row comes.
    pub(super) fn changed_or_refused(
        &mut self,
        firing: &Firing,
        event: Event,
        meant: Meant,
        changed: usize,
    ) -> SqlResult<()> {
        if !firing.is_watched(event) {
            return self.next_if_none(changed);
        }
        let none = self.is_none(changed)?;
        let refused = self.refused(meant);
        self.add(Action::If {
            branches: vec![(none, vec![refused])],
            otherwise: Vec::new(),
        });
        Ok(())
    }

    /// Before the triggers of a row: what the triggers of rows before it have changed is shown to none. `alone`: there is no
    /// row before it.
    pub(super) fn refuse_changed_before(
        &mut self,
        firing: &Firing,
        (event, alone): (Event, bool),
        keys: &[(usize, usize)],
        seen: &Seen,
    ) -> SqlResult<()> {
        let is_first = alone && !firing.calls;
        if firing.instead || is_first || firing.of(event, true, true).is_empty() {
            return Ok(());
        }
        self.refuse_unless_as_found(&firing.table, keys, &seen.old, Meant::Update)
    }

    /// Before a row of a MERGE's target is changed: the triggers of pairs before it, and what their clauses call, have left it as the query
    /// of the pairs has found it, in the slots of `found`. `keys`: the slots of its key.
    ///
    /// # Errors
    /// What planning the question says.
    pub(in crate::routine) fn refuse_changed_by_pairs(
        &mut self,
        table: &TableRef,
        part: &Planned,
        keys: &[usize],
        found: &[usize],
    ) -> SqlResult<()> {
        let event = match event_of(&part.statement) {
            Some(event) if event != Event::Insert && !found.is_empty() => event,
            _ => return Ok(()),
        };
        let triggers = self.context.catalog.triggers_around(table);
        // As PostgreSQL says it, which has looked at the row for triggers that are off, too.
        let of_event = |trigger: &TriggerRecord| match event {
            Event::Delete => trigger.delete,
            Event::Insert | Event::Update => trigger.update,
        };
        let shown = triggers.iter().any(|t| t.before && t.row && of_event(t));
        let meant = match shown {
            true => Meant::Update,
            false => Meant::Merge,
        };
        let places = table.key_columns().into_iter();
        let keys = places.zip(keys.iter().copied()).collect::<Vec<_>>();
        self.refuse_unless_as_found(table, &keys, found, meant)
    }

    /// Fails unless the row with this key is what has been seen.
    fn refuse_unless_as_found(
        &mut self,
        table: &TableRef,
        keys: &[(usize, usize)],
        found: &[usize],
        meant: Meant,
    ) -> SqlResult<()> {
        let source = self.rows_by(table, keys)?;
        let query = Plan::Project {
            input: Box::new(unchanged(table, source, found)),
            exprs: vec![boolean(true)],
        };
        let same = self.variables.hidden(SqlType::Bool);
        self.add(Action::Assign {
            slot: same,
            value: boolean(false),
        });
        let is_same = self.step(Action::Assign {
            slot: same,
            value: boolean(true),
        });
        self.add(Action::ForRow {
            statement: Statement::Query(query),
            into: Vec::new(),
            body: vec![is_same],
        });
        let refused = self.refused(meant);
        self.add(Action::If {
            branches: vec![(Expr::Param(same, SqlType::Bool), Vec::new())],
            otherwise: vec![refused],
        });
        Ok(())
    }

    fn refused(&mut self, meant: Meant) -> Step {
        let meant = match meant {
            Meant::Update => "updated",
            Meant::Delete => "deleted",
            Meant::Merge => "updated or deleted",
        };
        let error = SqlError::changed_by_statement(meant);
        self.step(Action::Fail(Box::new(error)))
    }
}
