//! What triggers do to an INSERT, UPDATE or DELETE.
//!
//! Relies on: `embed`, `changes` for rows that are kept.  Promises: a statement about a table with triggers becomes steps, so that
//! engines and analyses know nothing of triggers: the rows first, then each row by itself, between the calls of the
//! triggers' functions; statement triggers fire once, also without a row; what follows a row (AFTER … FOR EACH ROW) follows all of them.
//! Triggers of one kind fire in the order of their names; what a foreign key brings about stands before those AFTER … ROW.  A view's INSTEAD OF
//! triggers are handed its rows, and nothing is written (`fire/instead`).
//!
//! ```text
//!   BEFORE … STATEMENT
//!   for each row that the statement would write (an UPDATE's and a DELETE's are locked):
//!       BEFORE … ROW      gives the row to write, or none: the next row
//!       the change        by key; an INSERT as it was written, with ON CONFLICT
//!       keeps the row for AFTER … ROW, and what RETURNING gives
//!   for each row that was kept:  actions of foreign keys whose own triggers wait for them, AFTER … ROW
//!   AFTER … STATEMENT
//! ```
//! `fire/rows` has the rows, `fire/kept` what comes behind them, `fire/late` what waits for the end of the transaction, `fire/upsert` ON CONFLICT DO UPDATE, `fire/parts` what partitions make of it, `fire/follow` the actions, `fire/several` what a MERGE does,
//! `fire/unchanged` what is refused where a trigger has changed the row itself.

mod follow;
mod instead;
mod kept;
mod late;
mod parts;
mod rows;
mod several;
mod touched;
mod unchanged;
mod upsert;

pub(super) use follow::action;
use late::When;
pub use late::{plan_on_truncate, plan_put_off};
pub(super) use several::Several;
pub(super) use unchanged::is_watched;

use super::changes::Kept;
use super::embed::{Embedding, Planned};
use super::hold::{self, hold_if_calls};
use crate::names::{inner, required};
use crate::records::TriggerRecord;
use crate::row_security::{PartOf, RowChecks};
use follow::{Follow, follows};
use quintet_base::{SqlError, SqlResult, SqlType, TypeMod, Value};
use quintet_ir::function;
use quintet_ir::references::Turn;
use quintet_ir::routine::{Action, Into, Step};
use quintet_ir::schema::{TableDef, TableRef};
use quintet_ir::statement::{ConflictAction, Delete, OnConflict};
use quintet_ir::{Expr, Plan, References, Statement};
use rows::locked;
use std::sync::Arc;

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
    /// What foreign keys bring about that others' triggers wait for.
    updates: Vec<Follow>,
    deletes: Vec<Follow>,
    /// An UPDATE may take a row to another partition: that fires the row triggers of a DELETE and an INSERT.
    moves: bool,
    /// The table is a view: nothing is written.
    instead: bool,
    /// Functions are called where rows are found and made.
    calls: bool,
}

/// What is done behind a change of a row.
struct Behind {
    /// The slot (bigint) with the number of rows changed.
    count: usize,
    /// It is part of a MERGE.
    in_merge: bool,
    /// What policies ask of the rows.
    checks: RowChecks,
    /// What RETURNING gave, with the columns.
    returned: Option<Kept>,
    /// Rows for AFTER … ROW: of an INSERT, of an UPDATE or a DELETE.
    added: Option<Kept>,
    changed: Option<Kept>,
    /// Old rows of an UPDATE that went to another partition.
    removed: Option<Kept>,
    /// All rows of an UPDATE that may take them to other partitions, if a function is to find them.
    named: Option<Kept>,
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
    let is_replica = is_replica()?;
    Ok(Some(match in_replica {
        true => is_replica,
        false => Expr::Not(Box::new(is_replica)),
    }))
}

/// Whether the session is a replica's.
fn is_replica() -> SqlResult<Expr> {
    let found = function::resolve(function::IS_REPLICA, &[])?;
    Ok(Expr::Call {
        function: found.function,
        args: Vec::new(),
        ty: found.result,
    })
}

/// True if a statement fires triggers.
pub(crate) fn fires(catalog: &crate::catalog::Catalog, statement: &Statement) -> bool {
    firing(catalog, statement).is_some()
}

fn firing(catalog: &crate::catalog::Catalog, statement: &Statement) -> Option<Firing> {
    firing_of_all(catalog, &[statement])
}

/// What several changes of one table fire together, as the parts of one statement.
fn firing_of_all(catalog: &crate::catalog::Catalog, statements: &[&Statement]) -> Option<Firing> {
    let table = statements.first()?.target()?;
    let triggers = catalog.triggers_around(table);
    if triggers.is_empty() && table.references.is_none() {
        return None;
    }
    let (mut inserts, mut updates, mut deletes, mut alone) = (false, None, false, false);
    for statement in statements {
        let assignments = match statement {
            Statement::Query(_) => continue,
            Statement::Insert(insert) => {
                inserts = true;
                match &insert.conflict {
                    Some(OnConflict {
                        action: ConflictAction::Update { assignments, .. },
                        ..
                    }) => assignments,
                    _ => continue,
                }
            }
            Statement::Update(update) => {
                alone = true;
                &update.assignments
            }
            Statement::Delete(_) => {
                deletes = true;
                continue;
            }
        };
        let columns = assignments.iter().map(|(column, _)| *column);
        updates.get_or_insert_with(Vec::new).extend(columns);
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
    let mut firing = Firing {
        table: in_turn(table, Turn::Kept),
        insert: of(&|trigger| inserts && trigger.insert),
        update: of(&|trigger| trigger.update && of_column(trigger)),
        delete: of(&|trigger| deletes && trigger.delete),
        updates: Vec::new(),
        deletes: Vec::new(),
        moves: false,
        instead: catalog.view(table.relation()).is_some(),
        calls: statements.iter().any(|statement| hold::calls(statement)),
    };
    if deletes {
        firing.deletes = follows(table, Event::Delete, None);
    }
    if let Some(assigned) = &updates {
        let changes = |t: &Arc<TriggerRecord>| t.before && t.row;
        let all = !firing.update.iter().any(changes);
        firing.updates = follows(table, Event::Update, all.then_some(assigned));
    }
    if alone {
        let changes = |t: &Arc<TriggerRecord>| t.before && t.row;
        let assigned = updates.iter().flatten().copied();
        firing.moves = parts::may_move(table, assigned, firing.update.iter().any(changes));
        if firing.moves {
            // Those of a part of the statement are there already, with those FOR EACH STATEMENT.
            if !inserts {
                firing.insert = of(&|trigger| trigger.insert && trigger.row);
            }
            if !deletes {
                firing.delete = of(&|trigger| trigger.delete && trigger.row);
            }
        }
    }
    let any = [&firing.insert, &firing.update, &firing.delete];
    let any = any.iter().any(|list| !list.is_empty());
    let any = any || !firing.updates.is_empty() || !firing.deletes.is_empty();
    any.then_some(firing)
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
        wanted.filter(|t| !t.more.instead).cloned().collect()
    }

    /// Whether something is done for each row behind all of them.
    fn is_behind(&self, event: Event) -> bool {
        let follows = match event {
            Event::Insert => false,
            Event::Update => !self.updates.is_empty(),
            Event::Delete => !self.deletes.is_empty(),
        };
        let named = !(self.moves && event == Event::Update) && self.names_rows(event);
        follows || named || !self.of(event, false, true).is_empty()
    }

    /// Whether actions of foreign keys are steps, which go before what must hold in the end.
    fn follows(&self) -> bool {
        !self.updates.is_empty() || !self.deletes.is_empty()
    }

    /// Numbers and types of the visible columns.
    fn visible(&self) -> Vec<(usize, SqlType)> {
        let columns = self.table.visible_columns();
        columns
            .map(|(number, column)| (number, column.ty))
            .collect()
    }

    /// Whether a column is made of what the row is in the end: triggers before that see NULL.
    fn is_generated(&self, number: usize) -> bool {
        self.table.columns[number].generated.is_some()
    }
}

/// The table, what whose rows bring about is done at another time.
fn in_turn(table: &TableRef, turn: Turn) -> TableRef {
    let Some(references) = &table.references else {
        return TableRef::clone(table);
    };
    let references = References {
        turn,
        ..(**references).clone()
    };
    TableRef::new(TableDef {
        references: Some(Arc::new(references)),
        ..(**table).clone()
    })
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
        let Planned {
            statement,
            columns,
            checks,
        } = planned;
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
            self.fire_statement(firing, event, true, None)?;
        }
        let count = self.variables.hidden(SqlType::Int8);
        self.add(Action::Assign {
            slot: count,
            value: Expr::Const(Value::Int8(0), SqlType::Int8),
        });
        let mut behind = self.begin_behind(firing, events(), count)?;
        behind.checks = checks;
        if !columns.is_empty() {
            behind.returned = Some(self.begin_keeping(&columns)?);
        }
        self.turn(firing, Turn::Begin);
        self.fire_rows(firing, statement, &behind)?;
        if !firing.follows() {
            self.turn(firing, Turn::End);
        }
        self.fire_behind(firing, events(), &behind)?;
        if firing.follows() {
            self.turn(firing, Turn::End);
        }
        // An UPDATE that ON CONFLICT brings about is over before the INSERT is.
        for event in [also, Some(event)].into_iter().flatten() {
            self.fire_ends(firing, event, &behind)?;
        }
        match &behind.returned {
            Some(kept) => {
                let rows = kept.rows(self.context)?;
                self.plan_alone("", required(inner(&rows))?)
            }
            None => self.as_many_rows(count),
        }
    }

    /// Where what is behind changes of these kinds is kept.
    fn begin_behind(
        &mut self,
        firing: &Firing,
        events: impl Iterator<Item = Event>,
        count: usize,
    ) -> SqlResult<Behind> {
        let mut behind = Behind {
            count,
            in_merge: false,
            checks: RowChecks::default(),
            returned: None,
            added: None,
            changed: None,
            removed: None,
            named: None,
        };
        let mut updates = false;
        for event in events {
            updates |= event == Event::Update;
            if !firing.is_behind(event) {
                continue;
            }
            let kept = self.begin_keeping(&firing.kept_columns(event))?;
            match event {
                Event::Insert => behind.added = Some(kept),
                Event::Update | Event::Delete => behind.changed = Some(kept),
            }
        }
        if firing.moves && updates {
            if !firing.updates.is_empty() {
                return Err(SqlError::unsupported(
                    "an UPDATE that may take rows to other partitions while foreign keys refer to them and triggers wait for what follows",
                ));
            }
            if firing.names_rows(Event::Update) {
                behind.named = Some(self.begin_keeping(&firing.kept_columns(Event::Update))?);
            }
            let has = |event| !firing.of(event, false, true).is_empty();
            if has(Event::Insert) {
                behind.added = Some(self.begin_keeping(&firing.kept_columns(Event::Insert))?);
            }
            if has(Event::Delete) {
                behind.removed = Some(self.begin_keeping(&firing.kept_columns(Event::Delete))?);
            }
        }
        Ok(behind)
    }

    /// The steps that write rows begin, or are over: what foreign keys make of all of them is done then. Those of an action are part of the
    /// statement that it follows from.
    fn turn(&mut self, firing: &Firing, turn: Turn) {
        if firing.table.references.is_none() || self.part_of == PartOf::Steps {
            return;
        }
        let table = in_turn(&firing.table, turn);
        let columns = 0..table.frame_width();
        let types = columns.map(|column| table.frame_type(column)).collect();
        let statement = Statement::Delete(Delete {
            table,
            source: Plan::Values {
                rows: Vec::new(),
                types,
            },
            returning: None,
        });
        self.add(Action::Run {
            statement,
            into: Into {
                targets: Vec::new(),
                strict: false,
                silent: true,
            },
        });
    }

    /// The changes, row by row.
    fn fire_rows(
        &mut self,
        firing: &Firing,
        statement: Statement,
        behind: &Behind,
    ) -> SqlResult<()> {
        match statement {
            Statement::Insert(insert) => self.fire_insert(firing, insert, behind),
            Statement::Update(update) => self.fire_update(firing, update, behind),
            Statement::Delete(delete) => self.fire_delete(firing, delete, behind),
            Statement::Query(_) => Ok(()),
        }
    }

    /// What was kept for AFTER … FOR EACH ROW.
    fn fire_behind(
        &mut self,
        firing: &Firing,
        events: impl Iterator<Item = Event>,
        behind: &Behind,
    ) -> SqlResult<()> {
        let mut moves = false;
        for event in events {
            moves |= firing.moves && event == Event::Update;
            let kept = match event {
                Event::Insert => &behind.added,
                Event::Update | Event::Delete => &behind.changed,
            };
            if let Some(kept) = kept {
                self.fire_kept(firing, event, kept)?;
            }
        }
        if let Some(kept) = behind.removed.as_ref() {
            self.fire_kept(firing, Event::Delete, kept)?;
        }
        if let Some(kept) = behind.added.as_ref().filter(|_| moves) {
            self.fire_kept(firing, Event::Insert, kept)?;
        }
        Ok(())
    }

    /// AFTER … FOR EACH STATEMENT.
    fn fire_ends(&mut self, firing: &Firing, event: Event, behind: &Behind) -> SqlResult<()> {
        let named = match event {
            Event::Insert => &behind.added,
            Event::Update if firing.moves => &behind.named,
            Event::Update | Event::Delete => &behind.changed,
        };
        self.fire_statement(firing, event, false, named.as_ref())
    }

    /// BEFORE … FOR EACH ROW: the new row is what the functions make of it, and the loop around goes on with the
    /// next row if one says that there is none.
    fn fire_before(&mut self, firing: &Firing, event: Event, seen: &Seen) -> SqlResult<()> {
        let home = match event {
            Event::Insert => self.home_before(firing, seen)?,
            Event::Update | Event::Delete => None,
        };
        let triggers = match firing.instead {
            true => firing.instead_of(event),
            false => firing.of(event, true, true),
        };
        for trigger in triggers {
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
            let of = (&*trigger, event);
            self.fire((firing, When::Now), of, seen, (Vec::new(), into))?;
            let gone = self.step(Action::Continue {
                depth: 0,
                when: None,
            });
            let none = self.apply("=", vec![Expr::Param(there, SqlType::Bool), boolean(false)])?;
            self.add(Action::If {
                branches: vec![(none, vec![gone])],
                otherwise: Vec::new(),
            });
            if let Some(home) = home {
                self.stays_home(firing, seen, home, &trigger)?;
            }
        }
        Ok(())
    }

    /// Calls a trigger's function, if its condition holds. `rows`: arrays of those that it has names for.
    fn fire(
        &mut self,
        (firing, when): (&Firing, When),
        (trigger, event): (&TriggerRecord, Event),
        seen: &Seen,
        (rows, targets): (Vec<Expr>, Vec<(usize, Expr)>),
    ) -> SqlResult<()> {
        // Where the row is, or is to be.
        let at = match event {
            Event::Insert => &seen.new,
            Event::Update | Event::Delete => &seen.old,
        };
        let place = firing.place(trigger, at)?;
        let visible = firing.visible();
        let row = |slots: &[usize]| match slots.is_empty() {
            true => visible.iter().map(|(_, ty)| Expr::null(*ty)).collect(),
            false => params(slots, &visible),
        };
        let told = [event.word(), place.relation, place.name, place.schema];
        let seen_rows = [row(&seen.new), row(&seen.old)].concat();
        let mut arguments = seen_rows.clone();
        arguments.extend(late::said(trigger, told.clone()));
        arguments.extend(late::given(trigger));
        arguments.extend(rows);
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
        conditions.extend(place.within);
        conditions.extend(session_that_fires(trigger)?);
        if let Some(condition) = &trigger.condition {
            conditions.push(self.condition_of_trigger(firing, seen, condition)?);
        }
        let calls = self.now_or_late(when, trigger, told, seen_rows, call)?;
        let condition = match conditions.len() {
            0 => {
                self.steps.extend(calls);
                return Ok(());
            }
            1 => conditions.remove(0),
            _ => Expr::And(conditions),
        };
        self.add(Action::If {
            branches: vec![(condition, calls)],
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
        let around = std::mem::replace(&mut self.variables.are_there, true);
        let made = self.typed(condition, SqlType::Bool, TypeMod::NONE);
        self.variables.are_there = around;
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
        if event == Event::Update && firing.moves {
            return self.behind_moving(firing, seen, behind);
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
