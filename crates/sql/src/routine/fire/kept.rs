//! What is done behind the last row of a statement: AFTER triggers, with the rows that were kept for them.
//!
//! Relies on: `changes` for rows in arrays, `late` for triggers that may wait longer.  Promises: what a trigger puts off until the end of the
//! transaction is put off before any trigger of the statement is called; functions of triggers that have names for the rows are handed
//! all of them.  Does not: keep rows (`rows`, `parts`).

use super::late::When;
use super::{Event, Firing, Seen};
use crate::names::{inner, required};
use crate::records::TriggerRecord;
use crate::routine::changes::Kept;
use crate::routine::embed::{Embedding, Planned};
use quintet_base::{SqlError, SqlResult, TypeMod};
use quintet_ir::Expr;
use quintet_ir::routine::Action;
use quintet_ir::statement::OutputColumn;

impl Firing {
    /// Whether a trigger's function is to find the rows as a table.
    pub(super) fn names_rows(&self, event: Event) -> bool {
        let both = [true, false].map(|row| self.of(event, false, row));
        let mut all = both.iter().flatten();
        all.any(|trigger| trigger.more.old_rows.is_some() || trigger.more.new_rows.is_some())
    }

    /// The arrays of the rows that a trigger has names for: the old ones, then the new ones.
    pub(super) fn rows_for(
        &self,
        trigger: &TriggerRecord,
        event: Event,
        kept: Option<&Kept>,
    ) -> SqlResult<Vec<Expr>> {
        let width = self.visible().len();
        let mut arrays = Vec::new();
        let first = match event {
            Event::Update => width,
            Event::Insert | Event::Delete => 0,
        };
        let named = [(&trigger.more.old_rows, first), (&trigger.more.new_rows, 0)];
        for (_, from) in named.into_iter().filter(|(name, _)| name.is_some()) {
            let kept = kept.ok_or_else(|| SqlError::internal("rows that were not kept"))?;
            arrays.extend(kept.arrays(from..from + width)?);
        }
        Ok(arrays)
    }

    /// The columns in which the rows of an AFTER trigger are kept: the new row, then the old one.
    pub(super) fn kept_columns(&self, event: Event) -> Vec<OutputColumn> {
        let rows = match event {
            Event::Update => 2,
            Event::Insert | Event::Delete => 1,
        };
        let visible = self.visible();
        let column = |n: usize| OutputColumn {
            name: format!("c{n}"),
            ty: visible[n % visible.len()].1,
            modifier: TypeMod::NONE,
            origin: None,
        };
        (0..rows * visible.len()).map(column).collect()
    }
}

impl Embedding<'_, '_> {
    /// Statement triggers, which see no row but those that they have a name for.
    pub(super) fn fire_statement(
        &mut self,
        firing: &Firing,
        event: Event,
        before: bool,
        named: Option<&Kept>,
    ) -> SqlResult<()> {
        for trigger in firing.of(event, before, false) {
            let rows = firing.rows_for(&trigger, event, named)?;
            let of = (&*trigger, event);
            let seen = Seen::default();
            self.fire((firing, When::Now), of, &seen, (rows, Vec::new()))?;
        }
        Ok(())
    }

    /// AFTER … FOR EACH ROW, for rows that were kept.
    pub(super) fn fire_kept(
        &mut self,
        firing: &Firing,
        event: Event,
        kept: &Kept,
    ) -> SqlResult<()> {
        let rows = kept.rows(self.context)?;
        let Planned {
            statement, columns, ..
        } = self.plan_alone("", required(inner(&rows))?)?;
        let slots: Vec<usize> = columns
            .iter()
            .map(|column| self.variables.hidden(column.ty))
            .collect();
        let places = columns.iter().enumerate();
        let into = places.map(|(n, column)| (slots[n], Expr::Column(n, column.ty)));
        let into: Vec<(usize, Expr)> = into.collect();
        let width = firing.visible().len();
        let seen = match event {
            Event::Insert => Seen {
                new: slots,
                old: Vec::new(),
            },
            Event::Update => Seen {
                new: slots[..width].to_vec(),
                old: slots[width..].to_vec(),
            },
            Event::Delete => Seen {
                new: Vec::new(),
                old: slots,
            },
        };
        let triggers = firing.of(event, false, true);
        let late = self.slots_of_late(&triggers);
        if !late.is_empty() {
            // What waits for the end of the transaction stands before what the others put off.
            let (_, body) = self.apart(|this| {
                for trigger in &triggers {
                    if let Some(slot) = late.get(&trigger.id) {
                        let when = When::Later(*slot);
                        this.fire(
                            (firing, when),
                            (trigger, event),
                            &seen,
                            (Vec::new(), Vec::new()),
                        )?;
                    }
                }
                Ok(())
            })?;
            self.add(Action::ForRow {
                statement: statement.clone(),
                into: Vec::clone(&into),
                body,
            });
        }
        let (_, body) = self.apart(|this| {
            this.follow(firing, event, &seen)?;
            for trigger in &triggers {
                let rows = firing.rows_for(trigger, event, Some(kept))?;
                let when = late
                    .get(&trigger.id)
                    .copied()
                    .map_or(When::Now, When::Unless);
                this.fire((firing, when), (trigger, event), &seen, (rows, Vec::new()))?;
            }
            Ok(())
        })?;
        self.add(Action::ForRow {
            statement,
            into,
            body,
        });
        Ok(())
    }
}
