//! What triggers do to an INSERT, UPDATE or DELETE.
//!
//! Relies on: `embed`, `changes` for rows that are kept.  Promises: a statement about a table with triggers becomes steps, so that
//! engines and analyses know nothing of triggers: the rows first, then each row by itself, between the calls of the
//! triggers' functions; statement triggers fire once, also without a row; what follows a row (AFTER … FOR EACH ROW) follows all of them.
//! Triggers of one kind fire in the order of their names.  Does not: triggers for what a foreign key changes (`ddl::trigger` refuses them), or of views.
//!
//! ```text
//!   BEFORE … STATEMENT
//!   for each row that the statement would write (an UPDATE's and a DELETE's are locked):
//!       BEFORE … ROW      gives the row to write, or none: the next row
//!       the change        by key; an INSERT as it was written, with ON CONFLICT
//!       keeps the row for AFTER … ROW, and what RETURNING gives
//!   for each row that was kept:  AFTER … ROW
//!   AFTER … STATEMENT
//! ```
//! `fire/upsert` has ON CONFLICT DO UPDATE.

mod upsert;

use super::changes::Kept;
use super::embed::{Embedding, Planned};
use super::hold::hold_if_calls;
use super::merge::{all, column, equals};
use crate::generated;
use crate::insert::default_of;
use crate::names::{inner, required};
use crate::records::TriggerRecord;
use crate::rewrite::{one_row, transform};
use crate::scope::ROW_ID;
use pg_query::NodeEnum;
use pg_query::protobuf::{DeleteStmt, RangeVar};
use quintet_base::value::Array;
use quintet_base::{SqlError, SqlResult, SqlType, TypeMod, Value};
use quintet_ir::function;
use quintet_ir::plan::{LockStrength, LockTarget, LockWait, Plan};
use quintet_ir::routine::{Action, Into, Step};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::{ConflictAction, Delete, Insert, OnConflict, OutputColumn, Update};
use quintet_ir::window::{WindowCall, WindowFrame, WindowFunction};
use quintet_ir::{Expr, Statement};
use std::sync::Arc;
use upsert::Clause;

/// What happens to a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    Insert,
    Update,
    Delete,
}

impl Event {
    /// TG_OP.
    fn name(self) -> &'static str {
        match self {
            Event::Insert => "INSERT",
            Event::Update => "UPDATE",
            Event::Delete => "DELETE",
        }
    }
}

/// The rows that a trigger sees: slots, one for each visible column; none where there is no such row.
#[derive(Clone, Default)]
struct Seen {
    new: Vec<usize>,
    old: Vec<usize>,
}

/// Triggers of a table that a statement fires.
struct Firing {
    table: TableRef,
    insert: Vec<Arc<TriggerRecord>>,
    update: Vec<Arc<TriggerRecord>>,
    delete: Vec<Arc<TriggerRecord>>,
}

/// What is done behind a change of a row.
struct Behind {
    /// The slot (bigint) with the number of rows changed.
    count: usize,
    /// What RETURNING gave, with the columns.
    returned: Option<Kept>,
    /// Rows for AFTER … ROW: of an INSERT, of an UPDATE or a DELETE.
    added: Option<Kept>,
    changed: Option<Kept>,
}

/// What a change of one row came to.
struct Changed {
    /// The slot (bigint) with the number of rows changed: 0 or 1.
    count: usize,
    /// Slots of the row as it is then; none of one that was removed.
    row: Vec<usize>,
    /// Slots of what RETURNING gives, with their types.
    returned: Vec<(usize, SqlType)>,
}

/// What must be true of a session that fires a trigger. It is asked when the statement runs: plans, and what routines are
/// compiled to, are the same for all sessions.
fn session_that_fires(trigger: &TriggerRecord) -> SqlResult<Option<Expr>> {
    let [in_replica, elsewhere] = [true, false].map(|replica| trigger.fires(replica));
    if in_replica && elsewhere {
        return Ok(None);
    }
    let found = function::resolve(function::IS_REPLICA, &[])?;
    let is_replica = Expr::Call {
        function: found.function,
        args: Vec::new(),
        ty: found.result,
    };
    Ok(Some(match in_replica {
        true => is_replica,
        false => Expr::Not(Box::new(is_replica)),
    }))
}

/// True if a statement fires triggers.
pub(crate) fn fires(catalog: &crate::catalog::Catalog, statement: &Statement) -> bool {
    firing(catalog, statement).is_some()
}

fn firing(catalog: &crate::catalog::Catalog, statement: &Statement) -> Option<Firing> {
    let table = statement.target()?;
    let triggers = catalog.triggers_of(table.id);
    if triggers.is_empty() {
        return None;
    }
    let assigned = |assignments: &[(usize, Expr)]| -> Vec<usize> {
        assignments.iter().map(|(column, _)| *column).collect()
    };
    let (mut inserts, mut updates, mut deletes) = (false, None, false);
    match statement {
        Statement::Query(_) => {}
        Statement::Insert(insert) => {
            inserts = true;
            if let Some(OnConflict {
                action: ConflictAction::Update { assignments, .. },
                ..
            }) = &insert.conflict
            {
                updates = Some(assigned(assignments));
            }
        }
        Statement::Update(update) => updates = Some(assigned(&update.assignments)),
        Statement::Delete(_) => deletes = true,
    }
    let of = |wanted: &dyn Fn(&TriggerRecord) -> bool| -> Vec<Arc<TriggerRecord>> {
        let enabled = triggers.iter().filter(|trigger| trigger.is_enabled());
        enabled.filter(|t| wanted(t)).cloned().collect()
    };
    let of_column = |trigger: &TriggerRecord| match &updates {
        None => false,
        Some(assigned) => {
            trigger.columns.is_empty()
                || trigger
                    .columns
                    .iter()
                    .any(|column| assigned.contains(column))
        }
    };
    let firing = Firing {
        table: TableRef::clone(table),
        insert: of(&|trigger| inserts && trigger.insert),
        update: of(&|trigger| trigger.update && of_column(trigger)),
        delete: of(&|trigger| deletes && trigger.delete),
    };
    let any = [&firing.insert, &firing.update, &firing.delete];
    any.iter().any(|list| !list.is_empty()).then_some(firing)
}

impl Firing {
    /// The triggers of one kind.
    fn of(&self, event: Event, before: bool, row: bool) -> Vec<Arc<TriggerRecord>> {
        let all = match event {
            Event::Insert => &self.insert,
            Event::Update => &self.update,
            Event::Delete => &self.delete,
        };
        let wanted = all.iter().filter(|t| t.before == before && t.row == row);
        wanted.cloned().collect()
    }

    /// Numbers and types of the visible columns.
    fn visible(&self) -> Vec<(usize, SqlType)> {
        let columns = self.table.visible_columns();
        columns
            .map(|(number, column)| (number, column.ty))
            .collect()
    }

    /// The columns in which the rows of an AFTER trigger are kept: the new row, then the old one.
    fn kept_columns(&self, event: Event) -> Vec<OutputColumn> {
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

fn boolean(value: bool) -> Expr {
    Expr::Const(Value::Bool(value), SqlType::Bool)
}

fn text(text: &str) -> Expr {
    Expr::Const(Value::text(text), SqlType::Text)
}

/// Values of slots of these types.
fn params(slots: &[usize], types: &[(usize, SqlType)]) -> Vec<Expr> {
    let both = slots.iter().zip(types);
    both.map(|(slot, (_, ty))| Expr::Param(*slot, *ty))
        .collect()
}

impl Embedding<'_, '_> {
    /// A statement, as steps if it fires triggers; what is left is a query of the rows it gave, or of as many rows as it has changed.
    ///
    /// # Errors
    /// `0A000` for what cannot be done row by row.
    pub(super) fn fired(&mut self, planned: Planned) -> SqlResult<Planned> {
        let Some(firing) = firing(self.context.catalog, &planned.statement) else {
            return Ok(planned);
        };
        let known = self.variables.numbered.len();
        let made = self.fire_all(&firing, planned);
        self.variables.numbered.truncate(known);
        made
    }

    fn fire_all(&mut self, firing: &Firing, planned: Planned) -> SqlResult<Planned> {
        let Planned { statement, columns } = planned;
        let (event, also) = match &statement {
            Statement::Insert(insert) => {
                let updates = insert.conflict.as_ref().is_some_and(|conflict| {
                    matches!(conflict.action, ConflictAction::Update { .. })
                });
                (Event::Insert, updates.then_some(Event::Update))
            }
            Statement::Update(_) => (Event::Update, None),
            _ => (Event::Delete, None),
        };
        let events = || [Some(event), also].into_iter().flatten();
        for event in events() {
            self.fire_statement(firing, event, true)?;
        }
        let count = self.variables.hidden(SqlType::Int8);
        self.add(Action::Assign {
            slot: count,
            value: Expr::Const(Value::Int8(0), SqlType::Int8),
        });
        let mut behind = Behind {
            count,
            returned: None,
            added: None,
            changed: None,
        };
        if !columns.is_empty() {
            behind.returned = Some(self.begin_keeping(&columns)?);
        }
        for event in events() {
            if firing.of(event, false, true).is_empty() {
                continue;
            }
            let kept = self.begin_keeping(&firing.kept_columns(event))?;
            match event {
                Event::Insert => behind.added = Some(kept),
                Event::Update | Event::Delete => behind.changed = Some(kept),
            }
        }
        match statement {
            Statement::Insert(insert) => self.fire_insert(firing, insert, &behind)?,
            Statement::Update(update) => self.fire_update(firing, update, &behind)?,
            Statement::Delete(delete) => self.fire_delete(firing, delete, &behind)?,
            Statement::Query(_) => {}
        }
        for event in events() {
            let kept = match event {
                Event::Insert => &behind.added,
                Event::Update | Event::Delete => &behind.changed,
            };
            if let Some(kept) = kept {
                self.fire_kept(firing, event, kept)?;
            }
        }
        for event in events() {
            self.fire_statement(firing, event, false)?;
        }
        match &behind.returned {
            Some(kept) => {
                let rows = kept.rows()?;
                self.plan_alone("", required(inner(&rows))?)
            }
            None => self.as_many_rows(count),
        }
    }

    /// Statement triggers, which see no row.
    fn fire_statement(&mut self, firing: &Firing, event: Event, before: bool) -> SqlResult<()> {
        for trigger in firing.of(event, before, false) {
            self.fire(firing, &trigger, event, &Seen::default(), Vec::new())?;
        }
        Ok(())
    }

    /// AFTER … FOR EACH ROW, for rows that were kept.
    fn fire_kept(&mut self, firing: &Firing, event: Event, kept: &Kept) -> SqlResult<()> {
        let rows = kept.rows()?;
        let Planned { statement, columns } = self.plan_alone("", required(inner(&rows))?)?;
        let slots: Vec<usize> = columns
            .iter()
            .map(|column| self.variables.hidden(column.ty))
            .collect();
        let places = columns.iter().enumerate();
        let into = places.map(|(n, column)| (slots[n], Expr::Column(n, column.ty)));
        let into = into.collect();
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
        let (_, body) = self.apart(|this| {
            for trigger in firing.of(event, false, true) {
                this.fire(firing, &trigger, event, &seen, Vec::new())?;
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

    /// BEFORE … FOR EACH ROW: the new row is what the functions make of it, and the loop around goes on with the
    /// next row if one says that there is none.
    fn fire_before(&mut self, firing: &Firing, event: Event, seen: &Seen) -> SqlResult<()> {
        for trigger in firing.of(event, true, true) {
            let there = self.variables.hidden(SqlType::Bool);
            let mut into = vec![(there, Expr::Column(0, SqlType::Bool))];
            if event != Event::Delete {
                let visible = firing.visible();
                let places = seen.new.iter().zip(&visible).enumerate();
                into.extend(places.map(|(n, (slot, (_, ty)))| (*slot, Expr::Column(n + 1, *ty))));
            }
            // A condition may leave it as it is.
            self.add(Action::Assign {
                slot: there,
                value: boolean(true),
            });
            self.fire(firing, &trigger, event, seen, into)?;
            let gone = self.step(Action::Continue {
                depth: 0,
                when: None,
            });
            let none = self.apply("=", vec![Expr::Param(there, SqlType::Bool), boolean(false)])?;
            self.add(Action::If {
                branches: vec![(none, vec![gone])],
                otherwise: Vec::new(),
            });
        }
        Ok(())
    }

    /// Calls a trigger's function, if its condition holds.
    fn fire(
        &mut self,
        firing: &Firing,
        trigger: &TriggerRecord,
        event: Event,
        seen: &Seen,
        targets: Vec<(usize, Expr)>,
    ) -> SqlResult<()> {
        let visible = firing.visible();
        let row = |slots: &[usize]| match slots.is_empty() {
            true => visible.iter().map(|(_, ty)| Expr::null(*ty)).collect(),
            false => params(slots, &visible),
        };
        let given = trigger.arguments.iter().map(Value::text);
        let given = Array {
            element: SqlType::Text,
            values: given.collect(),
        };
        let count = i32::try_from(trigger.arguments.len()).unwrap_or(i32::MAX);
        let mut arguments: Vec<Expr> = row(&seen.new);
        arguments.extend(row(&seen.old));
        arguments.extend([
            text(&trigger.name),
            text(if trigger.before { "BEFORE" } else { "AFTER" }),
            text(if trigger.row { "ROW" } else { "STATEMENT" }),
            text(event.name()),
            Expr::Const(Value::Oid(firing.table.id.0), SqlType::Oid),
            text(&firing.table.name),
            text(&firing.table.name),
            text(&firing.table.schema),
            Expr::Const(Value::Int4(count), SqlType::Int4),
            Expr::Const(Value::Array(Box::new(given)), SqlType::TextArray),
        ]);
        let routine = self.linker.number_of_trigger(trigger.id);
        let call = Action::Call {
            routine,
            arguments,
            into: Into {
                targets,
                strict: false,
                silent: true,
            },
        };
        let mut conditions: Vec<Expr> = Vec::new();
        conditions.extend(session_that_fires(trigger)?);
        if let Some(condition) = &trigger.condition {
            conditions.push(self.condition_of_trigger(firing, seen, condition)?);
        }
        let condition = match conditions.len() {
            0 => {
                self.add(call);
                return Ok(());
            }
            1 => conditions.remove(0),
            _ => Expr::And(conditions),
        };
        let step = self.step(call);
        self.add(Action::If {
            branches: vec![(condition, vec![step])],
            otherwise: Vec::new(),
        });
        Ok(())
    }

    /// WHEN, over the rows.
    fn condition_of_trigger(
        &mut self,
        firing: &Firing,
        seen: &Seen,
        condition: &str,
    ) -> SqlResult<Expr> {
        let fields = |slots: &[usize]| -> Vec<(String, usize)> {
            let columns = firing.table.visible_columns().zip(slots);
            columns
                .map(|((_, column), slot)| (column.name.clone(), *slot))
                .collect()
        };
        let mut rows = Vec::new();
        if !seen.new.is_empty() {
            rows.push(("new", fields(&seen.new)));
        }
        if !seen.old.is_empty() {
            rows.push(("old", fields(&seen.old)));
        }
        let shapes = self.variables.enter_rows(rows);
        let made = self.typed(condition, SqlType::Bool, TypeMod::NONE);
        self.variables.leave_row(shapes);
        made
    }

    /// What is done when a change of one row was made: it is counted and kept.
    fn behind(
        &mut self,
        event: Event,
        firing: &Firing,
        seen: &Seen,
        behind: &Behind,
        returned: &[(usize, SqlType)],
    ) -> SqlResult<()> {
        let here = Expr::Param(behind.count, SqlType::Int8);
        let one = Expr::Const(Value::Int8(1), SqlType::Int8);
        let value = self.apply("+", vec![here, one])?;
        self.add(Action::Assign {
            slot: behind.count,
            value,
        });
        if let Some(kept) = &behind.returned {
            let row = returned.iter().map(|(slot, ty)| Expr::Param(*slot, *ty));
            self.keep(kept, row.collect())?;
        }
        let kept = match event {
            Event::Insert => &behind.added,
            Event::Update | Event::Delete => &behind.changed,
        };
        if let Some(kept) = kept {
            let visible = firing.visible();
            let mut row = params(&seen.new, &visible);
            row.extend(params(&seen.old, &visible));
            self.keep(kept, row)?;
        }
        Ok(())
    }

    /// Runs a change of one row whose RETURNING begins with the row as it is then, for these slots, and goes on with what the
    /// statement asks for.
    fn run_one(
        &mut self,
        statement: Statement,
        row: Vec<usize>,
        returned: &[Expr],
        visible: &[(usize, SqlType)],
    ) -> Changed {
        let mut targets: Vec<(usize, Expr)> = Vec::new();
        let kept = row.iter().zip(visible).enumerate();
        targets.extend(kept.map(|(n, (slot, (_, ty)))| (*slot, Expr::Column(n, *ty))));
        let first = row.len();
        let mut slots = Vec::new();
        for (n, expr) in returned.iter().enumerate() {
            let slot = self.variables.hidden(expr.ty());
            targets.push((slot, Expr::Column(first + n, expr.ty())));
            slots.push((slot, expr.ty()));
        }
        self.add(Action::Run {
            statement: hold_if_calls(statement),
            into: Into {
                targets,
                strict: false,
                silent: false,
            },
        });
        let count = self.variables.hidden(SqlType::Int8);
        self.add(Action::RowCount { slot: count });
        Changed {
            count,
            row,
            returned: slots,
        }
    }

    /// The condition that a slot of a number of rows is 0.
    fn is_none(&self, changed: usize) -> SqlResult<Expr> {
        let zero = Expr::Const(Value::Int8(0), SqlType::Int8);
        self.apply("=", vec![Expr::Param(changed, SqlType::Int8), zero])
    }

    /// Goes on with the next row if none was changed.
    fn next_if_none(&mut self, changed: usize) -> SqlResult<()> {
        let when = Some(self.is_none(changed)?);
        self.add(Action::Continue { depth: 0, when });
        Ok(())
    }

    fn fire_insert(&mut self, firing: &Firing, insert: Insert, behind: &Behind) -> SqlResult<()> {
        let visible = firing.visible();
        let seen = Seen {
            new: self.row_slots(&visible),
            old: Vec::new(),
        };
        let value = |number: usize, ty| match firing.table.columns[number].generated {
            // It is made of what the row is in the end.
            Some(_) => Expr::null(ty),
            None => insert.values[number].clone(),
        };
        let query = Plan::Project {
            input: Box::new(insert.source.clone()),
            exprs: visible.iter().map(|(n, ty)| value(*n, *ty)).collect(),
        };
        let into = self.row_of_frame(&seen.new, &visible, 0);
        let (_, body) = self.apart(|this| {
            this.fire_before(firing, Event::Insert, &seen)?;
            match &insert.conflict {
                Some(OnConflict {
                    arbiter: Some(arbiter),
                    action:
                        ConflictAction::Update {
                            assignments,
                            filter,
                        },
                }) => {
                    let clause = Clause {
                        arbiter: *arbiter,
                        assignments,
                        filter: filter.as_ref(),
                    };
                    this.upsert(firing, &insert, clause, &seen, behind)
                }
                _ => {
                    let added = this.insert_row(firing, &insert, &seen)?;
                    this.next_if_none(added.count)?;
                    this.added(firing, behind, added)
                }
            }
        })?;
        self.add(Action::ForRow {
            statement: hold_if_calls(Statement::Query(query)),
            into,
            body,
        });
        Ok(())
    }

    /// Slots for a row.
    fn row_slots(&mut self, visible: &[(usize, SqlType)]) -> Vec<usize> {
        let types = visible.iter().map(|(_, ty)| *ty);
        types.map(|ty| self.variables.hidden(ty)).collect()
    }

    /// The slots of a row with its values, which stand in a frame from a place on.
    fn row_of_frame(
        &self,
        slots: &[usize],
        visible: &[(usize, SqlType)],
        from: usize,
    ) -> Vec<(usize, Expr)> {
        let both = slots.iter().zip(visible).enumerate();
        both.map(|(n, (slot, (_, ty)))| (*slot, Expr::Column(from + n, *ty)))
            .collect()
    }

    /// What is done when a row was added.
    fn added(&mut self, firing: &Firing, behind: &Behind, added: Changed) -> SqlResult<()> {
        let seen = Seen {
            new: added.row,
            old: Vec::new(),
        };
        self.behind(Event::Insert, firing, &seen, behind, &added.returned)
    }

    /// Inserts the row at hand, unless there is a conflict that is to be passed over.
    fn insert_row(&mut self, firing: &Firing, insert: &Insert, seen: &Seen) -> SqlResult<Changed> {
        let visible = firing.visible();
        let table = &firing.table;
        let mut values: Vec<Expr> = table.columns.iter().map(default_of).collect();
        for (slot, (number, ty)) in seen.new.iter().zip(&visible) {
            values[*number] = Expr::Param(*slot, *ty);
        }
        let (source, values) = generated::in_insert(table, one_row(), values);
        let asked = insert.returning.clone().unwrap_or_default();
        let mut returning: Vec<Expr> = visible
            .iter()
            .map(|(number, ty)| Expr::Column(*number, *ty))
            .collect();
        returning.extend(asked.iter().cloned());
        let conflict = insert.conflict.as_ref().map(|conflict| OnConflict {
            arbiter: conflict.arbiter,
            action: ConflictAction::Nothing,
        });
        let statement = Statement::Insert(Insert {
            table: TableRef::clone(table),
            source,
            values,
            conflict,
            returning: Some(returning),
        });
        // If there is a conflict the row proposed is still asked for.
        let row = self.row_slots(&visible);
        Ok(self.run_one(statement, row, &asked, &visible))
    }

    fn fire_update(&mut self, firing: &Firing, update: Update, behind: &Behind) -> SqlResult<()> {
        let visible = firing.visible();
        let table = &firing.table;
        let new = visible.iter().map(|(number, ty)| {
            let assigned = update.assignments.iter();
            let mut assigned = assigned.filter(|(column, _)| column == number);
            match assigned.next() {
                Some((_, value)) => value.clone(),
                None => Expr::Column(*number, *ty),
            }
        });
        let new: Vec<Expr> = new.collect();
        let asked = update.returning.clone().unwrap_or_default();
        let (statement, rows) =
            self.rows_to_change(table, update.source, &new, &asked, &visible)?;
        let seen = Seen {
            new: rows.new,
            old: rows.old,
        };
        let (_, body) = self.apart(|this| {
            this.fire_before(firing, Event::Update, &seen)?;
            let changed = this.update_row(firing, &rows.keys, &seen, &rows.returning)?;
            this.next_if_none(changed.count)?;
            this.behind(Event::Update, firing, &seen, behind, &changed.returned)
        })?;
        self.add(Action::ForRow {
            statement,
            into: rows.into,
            body,
        });
        Ok(())
    }

    /// Writes the row at hand over the one with this key.
    fn update_row(
        &mut self,
        firing: &Firing,
        keys: &[(usize, usize)],
        seen: &Seen,
        asked: &[Expr],
    ) -> SqlResult<Changed> {
        let visible = firing.visible();
        let table = &firing.table;
        let source = self.rows_by(table, keys)?;
        let own = visible.iter().zip(&seen.new);
        let mut assignments: Vec<(usize, Expr)> = own
            .map(|((number, ty), slot)| (*number, Expr::Param(*slot, *ty)))
            .collect();
        generated::in_update(table, &mut assignments)?;
        let mut returning: Vec<Expr> = visible
            .iter()
            .map(|(number, ty)| Expr::Column(*number, *ty))
            .collect();
        returning.extend(asked.iter().cloned());
        let statement = Statement::Update(Update {
            table: TableRef::clone(table),
            source,
            assignments,
            returning: Some(returning),
        });
        Ok(self.run_one(statement, seen.new.clone(), asked, &visible))
    }

    fn fire_delete(&mut self, firing: &Firing, delete: Delete, behind: &Behind) -> SqlResult<()> {
        let visible = firing.visible();
        let table = &firing.table;
        let asked = delete.returning.clone().unwrap_or_default();
        let (statement, rows) = self.rows_to_change(table, delete.source, &[], &asked, &visible)?;
        let seen = Seen {
            new: Vec::new(),
            old: rows.old,
        };
        let (_, body) = self.apart(|this| {
            this.fire_before(firing, Event::Delete, &seen)?;
            let source = this.rows_by(table, &rows.keys)?;
            let statement = Statement::Delete(Delete {
                table: TableRef::clone(table),
                source,
                returning: Some(rows.returning.clone()).filter(|asked| !asked.is_empty()),
            });
            let removed = this.run_one(statement, Vec::new(), &rows.returning, &visible);
            this.next_if_none(removed.count)?;
            this.behind(Event::Delete, firing, &seen, behind, &removed.returned)
        })?;
        self.add(Action::ForRow {
            statement,
            into: rows.into,
            body,
        });
        Ok(())
    }

    /// The rows that an UPDATE or DELETE changes, locked: the query, and where its values go.
    fn rows_to_change(
        &mut self,
        table: &TableRef,
        source: Plan,
        new: &[Expr],
        asked: &[Expr],
        visible: &[(usize, SqlType)],
    ) -> SqlResult<(Statement, Rows)> {
        let width = table.frame_width();
        let types = source.frame_types();
        let mut plan = locked(table, source);
        if types.len() > width {
            plan = first_of_each(table, plan, &types);
        }
        let keys = table.key_columns();
        let mut exprs: Vec<Expr> = Vec::new();
        let mut slots: Vec<usize> = Vec::new();
        let mut take = |this: &mut Self, expr: Expr| {
            let slot = this.variables.hidden(expr.ty());
            exprs.push(expr);
            slots.push(slot);
            slot
        };
        let mut rows = Rows::default();
        for key in keys {
            let slot = take(self, Expr::Column(key, table.frame_type(key)));
            rows.keys.push((key, slot));
        }
        for (number, ty) in visible {
            rows.old.push(take(self, Expr::Column(*number, *ty)));
        }
        for value in new {
            rows.new.push(take(self, value.clone()));
        }
        // What RETURNING says of joined tables is kept; what it says of the table is said of the row when it is changed.
        let mut joined: Vec<Option<usize>> = vec![None; types.len()];
        for expr in asked {
            let mut used = Vec::new();
            expr.collect_columns(&mut used);
            used.retain(|place| *place >= width);
            if !used.is_empty() && expr.has_subquery() {
                let what = "a subquery and a joined table in RETURNING, for a table with triggers";
                return Err(SqlError::unsupported(what));
            }
            for place in used {
                if joined[place].is_none() {
                    joined[place] = Some(take(self, Expr::Column(place, types[place])));
                }
            }
            rows.returning.push(transform(expr, &mut |part| match part {
                Expr::Column(place, ty) => Some(Expr::Param((*joined.get(*place)?)?, *ty)),
                _ => None,
            }));
        }
        let places = slots.iter().zip(&exprs).enumerate();
        let into = places.map(|(n, (slot, expr))| (*slot, Expr::Column(n, expr.ty())));
        rows.into = into.collect();
        let query = Plan::Project {
            input: Box::new(plan),
            exprs,
        };
        Ok((hold_if_calls(Statement::Query(query)), rows))
    }

    /// The rows of a table whose columns are what slots say; those of a hidden key, too.
    fn rows_by(&mut self, table: &TableRef, keys: &[(usize, usize)]) -> SqlResult<Plan> {
        let known = self.variables.numbered.len();
        let conditions: Vec<Option<pg_query::protobuf::Node>> = keys
            .iter()
            .map(|(number, slot)| {
                self.variables.numbered.push(Some(*slot));
                let name = table.columns.get(*number);
                let name = name.map_or(ROW_ID, |column| &column.name);
                let parameter = self.variables.numbered.len() as i32;
                Some(equals(column(&[TARGET, name]), parameter))
            })
            .collect();
        // What a partition is called here is no name of the catalogue's tables.
        let named = self.context.catalog.table_by_id(table.id).unwrap_or(table);
        let delete = DeleteStmt {
            relation: Some(RangeVar {
                schemaname: named.schema.clone(),
                relname: named.name.clone(),
                inh: true,
                relpersistence: "p".to_string(),
                alias: Some(pg_query::protobuf::Alias {
                    aliasname: TARGET.to_string(),
                    ..Default::default()
                }),
                location: -1,
                ..RangeVar::default()
            }),
            where_clause: Some(Box::new(all(conditions))),
            ..DeleteStmt::default()
        };
        // What the user must be allowed to do, the statement has said.
        let needs = std::mem::take(&mut self.needs);
        let planned = self.plan_alone("", &NodeEnum::DeleteStmt(Box::new(delete)));
        self.needs = needs;
        self.variables.numbered.truncate(known);
        match planned?.statement {
            Statement::Delete(delete) => Ok(delete.source),
            _ => Err(SqlError::internal("a DELETE is no DELETE")),
        }
    }
}

/// What the table is called in statements about one row.
const TARGET: &str = "\u{1}target";

/// The rows to change, one after the other.
#[derive(Default)]
struct Rows {
    /// Slots with their values, over the query's rows.
    into: Vec<(usize, Expr)>,
    /// Places of the key in the table's frame, with their slots.
    keys: Vec<(usize, usize)>,
    old: Vec<usize>,
    new: Vec<usize>,
    /// RETURNING, over the table's frame and slots.
    returning: Vec<Expr>,
}

/// Rows that begin with those of a table, which are locked.
fn locked(table: &TableRef, source: Plan) -> Plan {
    Plan::Lock {
        input: Box::new(source),
        targets: vec![LockTarget {
            table: TableRef::clone(table),
            offset: 0,
            strength: LockStrength::Update,
            wait: LockWait::Block,
        }],
    }
}

/// Of the rows with one key the first.
fn first_of_each(table: &TableRef, input: Plan, types: &[SqlType]) -> Plan {
    let keys = table.key_columns().into_iter();
    let numbered = Plan::Window {
        input: Box::new(input),
        partition: keys.map(|n| Expr::Column(n, types[n])).collect(),
        order: Vec::new(),
        calls: vec![WindowCall {
            function: WindowFunction::RowNumber,
            args: Vec::new(),
            filter: None,
            frame: WindowFrame::usual(),
            ty: SqlType::Int8,
        }],
    };
    Plan::Filter {
        input: Box::new(numbered),
        predicate: Expr::Compare {
            op: quintet_ir::CompareOp::Eq,
            left: Box::new(Expr::Column(types.len(), SqlType::Int8)),
            right: Box::new(Expr::Const(Value::Int8(1), SqlType::Int8)),
        },
    }
}

/// Whether a function is called in these steps, which parts of one statement may not do.
pub(super) fn calls(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Call { .. } => true,
        Action::If {
            branches,
            otherwise,
        } => branches.iter().any(|(_, steps)| calls(steps)) || calls(otherwise),
        Action::ForRow { body, .. } | Action::Loop { body } => calls(body),
        _ => false,
    })
}
