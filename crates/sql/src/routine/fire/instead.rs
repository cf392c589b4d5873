//! INSTEAD OF triggers of a view.
//!
//! Relies on: `fire` and `rows`, which hand the view's rows to the functions.  Promises: a row that all of them leave there counts as
//! changed; RETURNING is asked of the row that the last one gave, of a DELETE's as the view showed it.  Does not: write.

use super::{Behind, Event, Firing, Seen};
use crate::records::TriggerRecord;
use crate::rewrite::{one_row, transform};
use crate::routine::embed::Embedding;
use quintet_base::SqlResult;
use quintet_ir::plan::Plan;
use quintet_ir::{Expr, Statement};
use std::sync::Arc;

impl Firing {
    /// The triggers that do what a statement asks of a view.
    pub(super) fn instead_of(&self, event: Event) -> Vec<Arc<TriggerRecord>> {
        let all = match event {
            Event::Insert => &self.insert,
            Event::Update => &self.update,
            Event::Delete => &self.delete,
        };
        let wanted = all.iter().filter(|trigger| trigger.more.instead);
        wanted.cloned().collect()
    }
}

impl Embedding<'_, '_> {
    /// What is done when the triggers are through with a row. `asked`: RETURNING, over the view's columns and slots.
    pub(super) fn instead(
        &mut self,
        firing: &Firing,
        event: Event,
        seen: &Seen,
        asked: &[Expr],
        behind: &Behind,
    ) -> SqlResult<()> {
        if asked.is_empty() {
            return self.behind(event, firing, seen, behind, &[]);
        }
        let row = match event {
            Event::Delete => &seen.old,
            Event::Insert | Event::Update => &seen.new,
        };
        let visible = firing.visible();
        let slot = |number: usize| {
            let place = visible.iter().position(|(own, _)| *own == number)?;
            row.get(place).copied()
        };
        let over_slots = asked.iter().map(|expr| {
            transform(expr, &mut |part| match part {
                Expr::Column(number, ty) => slot(*number).map(|slot| Expr::Param(slot, *ty)),
                _ => None,
            })
        });
        let query = Plan::Project {
            input: Box::new(one_row()),
            exprs: over_slots.collect(),
        };
        let given = self.run_one(Statement::Query(query), Vec::new(), asked, &visible);
        self.behind(event, firing, seen, behind, &given.returned)
    }
}
