//! A row that a BEFORE trigger has changed or removed itself is not changed a second time.
//!
//! Relies on: `fire/rows` for the row by its key.  Promises: `27000` where the row that a statement is about to change, or to show to BEFORE
//! triggers, is not what the statement has found: the function of a trigger has been there, for this row
//! or an earlier one, or one that the statement calls.
//! Does not: see a change that leaves all values as they are; who else might change the row waits, as it is locked.

use super::{Event, Firing, Seen, boolean};
use crate::routine::embed::Embedding;
use quintet_base::{SqlError, SqlResult, SqlType};
use quintet_ir::plan::{Path, Plan};
use quintet_ir::routine::{Action, Step};
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
        let visible = self.visible();
        let columns = visible.iter().zip(&seen.old);
        let same = columns.map(|((number, ty), slot)| Expr::Distinct {
            left: Box::new(Expr::Column(*number, *ty)),
            right: Box::new(Expr::Param(*slot, *ty)),
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
        let source = self.rows_by(&firing.table, keys)?;
        let query = Plan::Project {
            input: Box::new(firing.unchanged(source, seen)),
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
        let refused = self.refused(Meant::Update);
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
