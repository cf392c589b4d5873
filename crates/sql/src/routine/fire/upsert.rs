//! INSERT … ON CONFLICT DO UPDATE of one row of a table with triggers.
//!
//! Relies on: `fire`.  Promises: the row is inserted, or the one in the way goes through the triggers of an UPDATE, or is left
//! alone by the clause's WHERE; if it has gone before it could be locked, the INSERT is tried again.
//! Does not: partial indexes and those over expressions as what decides (0A000).
//!
//! ```text
//!   loop:  INSERT … ON CONFLICT (key) DO NOTHING     one row: behind it, and out
//!          for the row with the key, locked:  WHERE ─► BEFORE UPDATE ─► the change ─► behind it
//!          out, if there was such a row
//! ```

use super::rows::returned;
use super::touched::Touched;
use super::unchanged::Meant;
use super::{Behind, Event, Firing, Seen, boolean, locked};
use crate::rewrite::{one_row, transform};
use crate::routine::embed::Embedding;
use crate::routine::hold::hold_if_calls;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::plan::Plan;
use quintet_ir::routine::{Action, Into};
use quintet_ir::statement::{Arbiter, Insert};
use quintet_ir::{Expr, Statement};

/// What DO UPDATE says.
pub(super) struct Clause<'u> {
    pub arbiter: Arbiter,
    pub assignments: &'u [(usize, Expr)],
    pub filter: Option<&'u Expr>,
}

/// A row proposed and the one that is in its way.
struct Clash<'u> {
    firing: &'u Firing,
    clause: Clause<'u>,
    visible: Vec<(usize, SqlType)>,
    /// Slots of the row proposed, and of the one that is there.
    proposed: Vec<usize>,
    there: Vec<usize>,
    /// Places of the latter's key in the table's frame, with their slots.
    keys: Vec<(usize, usize)>,
}

impl Clash<'_> {
    /// The slot of a column of one of the rows.
    fn slot(&self, row: &[usize], number: usize) -> Option<usize> {
        let place = self.visible.iter().position(|(n, _)| *n == number)?;
        row.get(place).copied()
    }

    /// An expression of the clause, over the slots of both rows.
    fn over_slots(&self, expr: &Expr) -> SqlResult<Expr> {
        let table = &self.firing.table;
        let mut missing = false;
        let moved = transform(expr, &mut |part| match part {
            Expr::Column(place, ty) => {
                let slot = match place.checked_sub(table.frame_width()) {
                    None => self.slot(&self.there, *place),
                    Some(number) => self.slot(&self.proposed, number),
                };
                missing |= slot.is_none();
                slot.map(|slot| Expr::Param(slot, *ty))
            }
            _ => None,
        });
        match missing {
            false => Ok(moved),
            true => Err(SqlError::internal("ON CONFLICT names a hidden column")),
        }
    }
}

impl Embedding<'_, '_> {
    /// The steps for the row at hand; see the module.
    ///
    /// # Errors
    /// `0A000`.
    pub(super) fn upsert(
        &mut self,
        firing: &Firing,
        insert: &Insert,
        (clause, touched): (Clause<'_>, Option<&Touched>),
        seen: &Seen,
        behind: &Behind,
    ) -> SqlResult<()> {
        let table = &firing.table;
        let visible = firing.visible();
        let key = match clause.arbiter {
            Arbiter::Primary => table.key_columns(),
            Arbiter::Index(number) => table.indexes[number].columns.clone(),
        };
        if let Arbiter::Index(number) = clause.arbiter
            && table.indexes[number].nulls_equal
        {
            let what = "ON CONFLICT DO UPDATE by an index with NULLS NOT DISTINCT, of a table with triggers";
            return Err(SqlError::unsupported(what));
        }
        if key.iter().any(|n| table.columns[*n].hidden) {
            let what = "ON CONFLICT DO UPDATE by a partial index or one over an expression, of a table with triggers";
            return Err(SqlError::unsupported(what));
        }
        let there = self.row_slots(&visible);
        let proposed = self.with_generated(firing, &seen.new);
        let keys = table.key_columns().into_iter();
        let keys = keys.map(|n| (n, self.variables.hidden(table.frame_type(n))));
        let clash = Clash {
            firing,
            clause,
            proposed,
            there,
            keys: keys.collect(),
            visible,
        };
        let touched = touched.map(|touched| {
            let slots = key.iter().filter_map(|n| clash.slot(&clash.proposed, *n));
            (touched, slots.collect::<Vec<_>>())
        });
        let touched = touched.as_ref();
        let done = self.variables.hidden(SqlType::Bool);
        self.add(Action::Assign {
            slot: done,
            value: boolean(false),
        });
        let (_, body) = self.apart(|this| {
            this.insert_unless_there(firing, insert, (seen, touched), behind)?;
            let found = key
                .iter()
                .filter_map(|n| Some((*n, clash.slot(&clash.proposed, *n)?)));
            let source = this.rows_by(table, &found.collect::<Vec<_>>())?;
            let (query, into) = clash.row_there(source);
            let (_, body) = this.apart(|this| {
                this.add(Action::Assign {
                    slot: done,
                    value: boolean(true),
                });
                if let Some((touched, slots)) = touched {
                    this.refuse_touched(touched, slots)?;
                }
                this.update_there(&clash, insert, behind, touched)
            })?;
            this.add(Action::ForRow {
                statement: Statement::Query(query),
                into,
                body,
            });
            this.add(Action::Exit {
                depth: 0,
                when: Some(Expr::Param(done, SqlType::Bool)),
            });
            Ok(())
        })?;
        self.add(Action::Loop { body });
        Ok(())
    }

    /// The slots of a row that is to be inserted, whose generated columns have what they are going to be: the key that
    /// decides may have some.
    fn with_generated(&mut self, firing: &Firing, row: &[usize]) -> Vec<usize> {
        let visible = firing.visible();
        let mut slots = row.to_vec();
        for (place, (number, ty)) in visible.iter().enumerate() {
            let Some(generated) = &firing.table.columns[*number].generated else {
                continue;
            };
            let value = transform(generated, &mut |part| match part {
                Expr::Column(column, ty) => {
                    let place = visible.iter().position(|(n, _)| n == column)?;
                    Some(Expr::Param(row[place], *ty))
                }
                _ => None,
            });
            let slot = self.variables.hidden(*ty);
            let value = self.computed(value);
            self.add(Action::Assign { slot, value });
            slots[place] = slot;
        }
        slots
    }

    /// The INSERT; if the row was added, the loop around is left.
    fn insert_unless_there(
        &mut self,
        firing: &Firing,
        insert: &Insert,
        (seen, touched): (&Seen, Option<&(&Touched, Vec<usize>)>),
        behind: &Behind,
    ) -> SqlResult<()> {
        let added = self.insert_row(firing, insert, seen, &behind.checks)?;
        let is_there = self.is_none(added.count)?;
        let (_, otherwise) = self.apart(|this| {
            if let Some((touched, slots)) = touched {
                this.touch(touched, slots)?;
            }
            this.added(firing, behind, added)?;
            this.add(Action::Exit {
                depth: 0,
                when: None,
            });
            Ok(())
        })?;
        self.add(Action::If {
            branches: vec![(is_there, Vec::new())],
            otherwise,
        });
        Ok(())
    }

    /// A value over slots, of an expression that may call functions or ask queries: steps do neither in their expressions.
    fn computed(&mut self, expr: Expr) -> Expr {
        match expr.calls_routine() || expr.has_subquery() {
            true => self.by_query(expr),
            false => expr,
        }
    }

    /// The same by a query of its own, which may ask others, too.
    fn by_query(&mut self, expr: Expr) -> Expr {
        let ty = expr.ty();
        let slot = self.variables.hidden(ty);
        let query = Plan::Project {
            input: Box::new(one_row()),
            exprs: vec![expr],
        };
        self.add(Action::Run {
            statement: hold_if_calls(Statement::Query(query)),
            into: Into {
                targets: vec![(slot, Expr::Column(0, ty))],
                strict: false,
                silent: true,
            },
        });
        Expr::Param(slot, ty)
    }

    /// The UPDATE of the row in the way, in a loop over it.
    fn update_there(
        &mut self,
        clash: &Clash<'_>,
        insert: &Insert,
        behind: &Behind,
        touched: Option<&(&Touched, Vec<usize>)>,
    ) -> SqlResult<()> {
        if let Some(filter) = clash.clause.filter {
            let holds = self.computed(clash.over_slots(filter)?);
            let alone = self.step(Action::Continue {
                depth: 0,
                when: None,
            });
            self.add(Action::If {
                branches: vec![(holds, Vec::new())],
                otherwise: vec![alone],
            });
        }
        for check in &behind.checks.in_the_way {
            let holds = self.by_query(clash.over_slots(&check.condition)?);
            let message = check.message.clone();
            let error = SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message);
            let refused = self.step(Action::Fail(Box::new(error)));
            self.add(Action::If {
                branches: vec![(holds, Vec::new())],
                otherwise: vec![refused],
            });
        }
        let new = self.row_slots(&clash.visible);
        let columns = clash.visible.iter().zip(&clash.there).zip(&new);
        for (((number, ty), old), slot) in columns {
            let mut assigned = clash.clause.assignments.iter();
            let value = match assigned.find(|(column, _)| column == number) {
                _ if clash.firing.is_generated(*number) => Expr::null(*ty),
                Some((_, value)) => self.computed(clash.over_slots(value)?),
                None => Expr::Param(*old, *ty),
            };
            self.add(Action::Assign { slot: *slot, value });
        }
        let seen = Seen {
            new,
            old: clash.there.clone(),
        };
        self.fire_before(clash.firing, Event::Update, &seen)?;
        let asked = returned(insert, true);
        let asked = (&asked[..], &behind.checks);
        let changed = self.update_row(clash.firing, &clash.keys, &seen, asked)?;
        let meant = Meant::to(Event::Update, false);
        self.changed_or_refused(clash.firing, Event::Update, meant, changed.count)?;
        if let Some((touched, slots)) = touched {
            self.touch(touched, slots)?;
        }
        self.behind(
            Event::Update,
            clash.firing,
            &seen,
            behind,
            &changed.returned,
        )
    }
}

impl Clash<'_> {
    /// The query of the row in the way, which it locks, and where its values go.
    fn row_there(&self, source: Plan) -> (Plan, Vec<(usize, Expr)>) {
        let table = &self.firing.table;
        let columns = self.visible.iter().map(|(n, ty)| Expr::Column(*n, *ty));
        let keys = self.keys.iter();
        let keys = keys.map(|(n, _)| Expr::Column(*n, table.frame_type(*n)));
        let exprs: Vec<Expr> = columns.chain(keys).collect();
        let slots = self
            .there
            .iter()
            .chain(self.keys.iter().map(|(_, slot)| slot));
        let places = slots.zip(&exprs).enumerate();
        let into = places.map(|(n, (slot, expr))| (*slot, Expr::Column(n, expr.ty())));
        let into = into.collect();
        let query = Plan::Project {
            input: Box::new(locked(table, source)),
            exprs,
        };
        (query, into)
    }
}
