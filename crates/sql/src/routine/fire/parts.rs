//! Triggers of a table that is divided: which partition a row is in, which triggers it fires there, and what fires when an UPDATE takes
//! it to another.
//!
//! Relies on: `ir::partition`; the slots of rows that `fire` has.  Promises: a trigger of a partition fires for the rows in it, one of
//! a table for all; what a function is told of its table is the leaf that the row is in; a row that is moved fires BEFORE UPDATE,
//! then the row triggers of a DELETE and an INSERT, and no AFTER UPDATE.  Does not: move rows (`rows` changes them), or divide
//! ON CONFLICT DO UPDATE so: what it moves fires the triggers of an UPDATE.

use super::{Behind, Event, Firing, Seen, boolean, params, text};
use crate::records::TriggerRecord;
use crate::rewrite::transform;
use crate::routine::embed::Embedding;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::TableDef;
use quintet_ir::partition::{Part, Partitioning};
use quintet_ir::routine::Action;

/// What a trigger's function is told of where it fires.
pub(super) struct Place {
    pub relation: Expr,
    pub schema: Expr,
    pub name: Expr,
    /// What must be true of a row that fires the trigger.
    pub within: Option<Expr>,
}

/// Whether an UPDATE that assigns these columns may take a row to another partition. `changed`: triggers may change the row.
pub(super) fn may_move(
    table: &TableDef,
    assigned: impl Iterator<Item = usize>,
    changed: bool,
) -> bool {
    table.partitions.as_ref().is_some_and(|partitions| {
        partitions.division().is_some() && (changed || partitions.heeds(assigned))
    })
}

fn oid(number: u32) -> Expr {
    Expr::Const(Value::Oid(number), SqlType::Oid)
}

/// What is said of the leaf that a row is in; `otherwise` where there is none.
fn of_leaf(all: &Partitioning, otherwise: &Expr, say: &dyn Fn(&Part) -> Expr) -> Expr {
    let branches = all.parts.iter().enumerate().map(|(place, part)| {
        let found = match &part.inner {
            None => say(part),
            Some(inner) => of_leaf(inner, otherwise, say),
        };
        (all.condition(place), found)
    });
    Expr::Case {
        branches: branches.collect(),
        ty: otherwise.ty(),
        otherwise: Some(Box::new(otherwise.clone())),
    }
}

impl Firing {
    /// An expression over the table's frame, of a row in slots.
    fn of_row(&self, expr: &Expr, slots: &[usize]) -> SqlResult<Expr> {
        let visible = self.visible();
        let mut missing = false;
        let found = transform(expr, &mut |part| match part {
            Expr::Column(number, ty) => {
                if let Some(place) = visible.iter().position(|(own, _)| own == number) {
                    return Some(Expr::Param(slots[place], *ty));
                }
                let column = self.table.columns.get(*number);
                let made = column.and_then(|column| column.generated.as_ref());
                let made = made.map(|made| self.of_row(made, slots));
                match made {
                    Some(Ok(made)) => Some(made),
                    _ => {
                        missing = true;
                        None
                    }
                }
            }
            _ => None,
        });
        match missing {
            true => Err(SqlError::internal("a partition key that is no column")),
            false => Ok(found),
        }
    }

    /// The number of the leaf of a row in slots, NULL if it is in none; `None` if there is only one.
    fn leaf(&self, slots: &[usize]) -> SqlResult<Option<Expr>> {
        let Some(partitions) = &self.table.partitions else {
            return Ok(None);
        };
        if partitions.division().is_none() {
            return Ok(None);
        }
        let none = Expr::Const(Value::Null, SqlType::Oid);
        let leaf = of_leaf(&partitions.all, &none, &|part| oid(part.id.0));
        self.of_row(&leaf, slots).map(Some)
    }

    /// Where a trigger fires for a row in slots; there are none for a statement.
    pub(super) fn place(&self, trigger: &TriggerRecord, slots: &[usize]) -> SqlResult<Place> {
        let table = &self.table;
        let mut place = Place {
            relation: oid(table.relation().0),
            schema: text(&table.schema),
            name: text(&table.name),
            within: None,
        };
        let Some(partitions) = table.partitions.as_ref().filter(|_| trigger.row) else {
            return Ok(place);
        };
        let all = &partitions.all;
        if partitions.division().is_some() {
            let of = |otherwise: &Expr, say: &dyn Fn(&Part) -> Expr| {
                self.of_row(&of_leaf(all, otherwise, say), slots)
            };
            place.relation = of(&place.relation, &|part| oid(part.id.0))?;
            place.schema = of(&place.schema, &|part| text(&part.schema))?;
            place.name = of(&place.name, &|part| text(&part.name))?;
        }
        // Of what is above all rows are.
        if let Some(path) = all.path_to(trigger.table)
            && !partitions.path.starts_with(&path)
        {
            place.within = Some(self.of_row(&all.condition_below(&path), slots)?);
        }
        Ok(place)
    }
}

impl Embedding<'_, '_> {
    /// Has a row that no partition takes written before any trigger sees it: who writes it says so.
    pub(super) fn unless_at_home(
        &mut self,
        firing: &Firing,
        seen: &Seen,
        write: impl FnOnce(&mut Self) -> SqlResult<()>,
    ) -> SqlResult<()> {
        if firing.of(Event::Insert, true, true).is_empty() {
            return Ok(());
        }
        let Some(leaf) = firing.leaf(&seen.new)? else {
            return Ok(());
        };
        let nowhere = Expr::IsNull {
            input: Box::new(leaf),
            negated: false,
        };
        let (_, steps) = self.apart(write)?;
        self.add(Action::If {
            branches: vec![(nowhere, steps)],
            otherwise: Vec::new(),
        });
        Ok(())
    }

    /// Keeps which partition a row that is to be added is for.
    pub(super) fn home_before(&mut self, firing: &Firing, seen: &Seen) -> SqlResult<Option<usize>> {
        if firing.of(Event::Insert, true, true).is_empty() {
            return Ok(None);
        }
        let Some(leaf) = firing.leaf(&seen.new)? else {
            return Ok(None);
        };
        let home = self.variables.hidden(SqlType::Oid);
        self.add(Action::Assign {
            slot: home,
            value: leaf,
        });
        Ok(Some(home))
    }

    /// A trigger may change what a row is, but not which partition it goes to.
    pub(super) fn stays_home(
        &mut self,
        firing: &Firing,
        seen: &Seen,
        home: usize,
        trigger: &TriggerRecord,
    ) -> SqlResult<()> {
        let Some(leaf) = firing.leaf(&seen.new)? else {
            return Ok(());
        };
        let Some(partitions) = &firing.table.partitions else {
            return Ok(());
        };
        let leaves = partitions.all.all_parts().into_iter();
        let mut branches = Vec::new();
        for part in leaves.filter(|part| part.inner.is_none()) {
            let was = self.apply("=", vec![Expr::Param(home, SqlType::Oid), oid(part.id.0)])?;
            let is = self.apply("=", vec![leaf.clone(), oid(part.id.0)])?;
            let error = match part.id == trigger.table {
                // Its own, which knows of no other partition.
                true => SqlError::new(
                    SqlState::CHECK_VIOLATION,
                    format!(
                        "new row for relation \"{}\" violates partition constraint",
                        part.name
                    ),
                ),
                false => SqlError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "moving row to another partition during a BEFORE FOR EACH ROW trigger is not supported",
                )
                .detail(format!(
                    "Before executing trigger \"{}\", the row was to be in partition \"{}.{}\".",
                    trigger.name, part.schema, part.name
                )),
            };
            let refused = self.step(Action::Fail(Box::new(error)));
            let moved = Expr::Case {
                branches: vec![(
                    was,
                    Expr::Case {
                        branches: vec![(is, boolean(false))],
                        otherwise: Some(Box::new(boolean(true))),
                        ty: SqlType::Bool,
                    },
                )],
                otherwise: Some(Box::new(boolean(false))),
                ty: SqlType::Bool,
            };
            branches.push((moved, vec![refused]));
        }
        self.add(Action::If {
            branches,
            otherwise: Vec::new(),
        });
        Ok(())
    }

    /// Whether the row at hand goes to another partition; where there is none for it, it is told so when it is written.
    fn is_moved(&self, firing: &Firing, seen: &Seen) -> SqlResult<Option<Expr>> {
        let (Some(from), Some(to)) = (firing.leaf(&seen.old)?, firing.leaf(&seen.new)?) else {
            return Ok(None);
        };
        let same = self.apply("=", vec![from, to])?;
        Ok(Some(Expr::Case {
            branches: vec![(same, boolean(false))],
            otherwise: Some(Box::new(boolean(true))),
            ty: SqlType::Bool,
        }))
    }

    /// What a row that goes to another partition fires before it does: a DELETE's triggers where it was, an INSERT's where it comes to.
    pub(super) fn fire_before_moving(&mut self, firing: &Firing, seen: &Seen) -> SqlResult<()> {
        let Some(moved) = self.is_moved(firing, seen)? else {
            return Ok(());
        };
        let gone = Seen {
            new: Vec::new(),
            old: seen.old.clone(),
        };
        let come = Seen {
            new: seen.new.clone(),
            old: Vec::new(),
        };
        let (_, steps) = self.apart(|this| {
            this.fire_before(firing, Event::Delete, &gone)?;
            this.fire_before(firing, Event::Insert, &come)
        })?;
        self.add(Action::If {
            branches: vec![(moved, steps)],
            otherwise: Vec::new(),
        });
        Ok(())
    }

    /// Keeps a row that was changed for what fires behind all of them.
    pub(super) fn behind_moving(
        &mut self,
        firing: &Firing,
        seen: &Seen,
        behind: &Behind,
    ) -> SqlResult<()> {
        let Some(moved) = self.is_moved(firing, seen)? else {
            return Ok(());
        };
        let visible = firing.visible();
        let new = || params(&seen.new, &visible);
        let old = || params(&seen.old, &visible);
        if let Some(kept) = &behind.named {
            self.keep(kept, [new(), old()].concat())?;
        }
        let (_, went) = self.apart(|this| {
            if let Some(kept) = &behind.removed {
                this.keep(kept, old())?;
            }
            if let Some(kept) = &behind.added {
                this.keep(kept, new())?;
            }
            Ok(())
        })?;
        let (_, stayed) = self.apart(|this| match &behind.changed {
            Some(kept) => this.keep(kept, [new(), old()].concat()),
            None => Ok(()),
        })?;
        self.add(Action::If {
            branches: vec![(moved, went)],
            otherwise: stayed,
        });
        Ok(())
    }
}
