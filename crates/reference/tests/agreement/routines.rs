//! Random routines.
//!
//! Promises: every loop ends; a routine calls only those behind it in the program; what RETURN gives is
//! every argument and variable, so that nothing the routine did to them stays unseen.  Statements by primary
//! key are the most frequent, for they have executors of their own.

use crate::dice::{Dice, TYPES};
use crate::exprs::{Exprs, cast};
use crate::plans::{Plans, frame_types, project};
use crate::tables::one_row;
use quintet_base::{RoutineId, SqlState, SqlType, TypeMod, Value};
use quintet_ir::cast::cast_context;
use quintet_ir::dynamic::{
    CursorAction, CursorStep, Direction, Dynamic, DynamicRows, Field, Landmark,
};
use quintet_ir::routine::{
    Action, Callee, Condition, Diagnostic, Handler, Into, Output, Raise, RaiseOption, RaiseState,
    Routine, Severity, Slot, Step,
};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::{
    Arbiter, Body, ConflictAction, Delete, Insert, OnConflict, Statement, Update,
};
use quintet_ir::{Expr, Plan, Procedure, Program};
use std::sync::Arc;

/// A routine that may be called.
struct Callable {
    number: usize,
    arguments: Vec<SqlType>,
    /// Of its rows; empty: it gives nothing.
    row: Vec<SqlType>,
    rows: bool,
}

impl Callable {
    /// As expressions and FROM name it.
    fn callee(&self) -> Callee {
        Callee {
            id: id(self.number),
            name: format!("r{}", self.number),
            program: None,
            nothing: Value::Null,
        }
    }
}

/// What a routine of the program is called by in the catalogue.
fn id(number: usize) -> RoutineId {
    RoutineId(100 + number as u32)
}

/// A program of these routines.
pub fn program(routines: Vec<Routine>) -> Program {
    let numbers = (0..routines.len()).map(|number| (id(number), number));
    let numbers = numbers.collect();
    Program::of_catalog(routines, numbers)
}

/// The routines of a program.
#[allow(dead_code)] // where cursors are wanted, too
pub fn routines(dice: &mut Dice, tables: &[TableRef]) -> Vec<Routine> {
    made(dice, tables, false)
}

/// The same; some of them have steps about cursors of their session.
#[allow(dead_code)] // where only what a routine touches is asked for
pub fn routines_with_cursors(dice: &mut Dice, tables: &[TableRef]) -> Vec<Routine> {
    let cursors = dice.one_in(3);
    made(dice, tables, cursors)
}

fn made(dice: &mut Dice, tables: &[TableRef], cursors: bool) -> Vec<Routine> {
    let count = [1, 2, 2, 3][dice.below(4)];
    let mut callables: Vec<Callable> = Vec::new();
    let mut routines = Vec::new();
    for number in (0..count).rev() {
        let output = match (number, dice.below(6)) {
            (_, 0) => Output::Nothing,
            (_, 1) => Output::Rows,
            _ => Output::Row,
        };
        let mut author = Author::new(dice, tables, &callables, output);
        author.cursors = cursors;
        author.scalar = number > 0 && output == Output::Row && author.dice.one_in(2);
        let scalar = author.scalar;
        let routine = author.routine(number, count);
        let types = |slots: &[Slot]| slots.iter().map(|slot| slot.ty).collect::<Vec<_>>();
        callables.push(Callable {
            number,
            arguments: types(&routine.slots[..routine.arguments]),
            row: match output {
                Output::Nothing => vec![],
                _ if scalar => vec![routine.slots[0].ty],
                Output::Row | Output::Rows => types(&routine.slots),
            },
            rows: output == Output::Rows,
        });
        routines.push(routine);
    }
    routines.reverse();
    routines
}

struct Author<'a> {
    dice: &'a mut Dice,
    tables: &'a [TableRef],
    callables: &'a [Callable],
    output: Output,
    /// It gives the first slot alone.
    scalar: bool,
    /// It has steps about cursors.
    cursors: bool,
    slots: Vec<Slot>,
    types: Vec<SqlType>,
    arguments: usize,
    /// Slots below this one may be assigned; those behind it count turns and the like.
    assignable: usize,
    next_counter: usize,
    found: usize,
    state: usize,
    message: usize,
    /// ROW_COUNT, kept as often as not, so that nobody counts in vain.
    count: usize,
    /// Of the loops (true) and labelled blocks around.
    around: Vec<bool>,
    handling: usize,
    /// Steps that may still be made.
    steps: usize,
}

const COUNTERS: usize = 6;

impl<'a> Author<'a> {
    fn new(
        dice: &'a mut Dice,
        tables: &'a [TableRef],
        callables: &'a [Callable],
        output: Output,
    ) -> Author<'a> {
        let mut slots = Vec::new();
        let arguments = dice.between(2, 4);
        let mut slot = |name: String, ty, not_null| {
            slots.push(Slot { name, ty, not_null });
        };
        slot("a0".into(), SqlType::Int4, false);
        slot("a1".into(), SqlType::Int4, false);
        for number in 2..arguments {
            slot(format!("a{number}"), dice.ty(), false);
        }
        for number in 0..dice.between(3, 6) {
            slot(format!("v{number}"), dice.ty(), dice.one_in(12));
        }
        let assignable = slots.len();
        let (found, state, message) = (assignable, assignable + 1, assignable + 2);
        slots.push(Slot::hidden(SqlType::Bool));
        slots.push(Slot::hidden(SqlType::Text));
        slots.push(Slot::hidden(SqlType::Text));
        slots.push(Slot::hidden(SqlType::Int8));
        for _ in 0..COUNTERS {
            slots.push(Slot::hidden(SqlType::Int4));
        }
        let types = slots.iter().map(|slot| slot.ty).collect();
        let steps = dice.between(8, 30);
        Author {
            dice,
            tables,
            callables,
            output,
            scalar: false,
            cursors: false,
            slots,
            types,
            arguments,
            assignable,
            count: message + 1,
            next_counter: message + 2,
            found,
            state,
            message,
            around: Vec::new(),
            handling: 0,
            steps,
        }
    }

    fn routine(mut self, number: usize, count: usize) -> Routine {
        let mut body = Vec::new();
        // Variables that nothing was given to are NULL, which most statements do little with.
        for slot in self.arguments..self.assignable {
            if !self.dice.one_in(4) {
                let ty = self.types[slot];
                let value = Expr::Const(self.dice.value(ty), ty);
                body.push(step(Action::Assign { slot, value }));
            }
        }
        if self.dice.one_in(8) {
            body.clear();
        }
        while self.steps > 0 {
            self.push_step(&mut body);
        }
        let end = match self.output {
            Output::Nothing => None,
            Output::Row => Some(Action::Return(self.row())),
            Output::Rows => Some(Action::ReturnNext(self.row())),
        };
        body.extend(end.map(step));
        let found = !self.dice.one_in(5);
        let strict = number > 0 && self.dice.one_in(4);
        assert!(number < count, "routines are numbered from 0");
        Routine {
            name: format!("r{number}"),
            slots: self.slots,
            arguments: self.arguments,
            strict,
            guise: None,
            found: found.then_some(self.found),
            body,
            output: self.output,
        }
    }

    /// Every slot.
    fn row(&self) -> Vec<Expr> {
        let width = if self.scalar { 1 } else { self.types.len() };
        let slots = self.types[..width].iter().enumerate();
        slots.map(|(slot, ty)| Expr::Param(slot, *ty)).collect()
    }

    fn plans(&mut self) -> Plans<'_> {
        Plans {
            dice: self.dice,
            tables: self.tables,
            params: &self.types,
        }
    }

    fn expr(&mut self, ty: SqlType, depth: usize) -> Expr {
        Exprs::new(self.dice, &self.types, &[]).expr(ty, depth)
    }

    fn condition(&mut self) -> Expr {
        match self.dice.below(4) {
            0 => Expr::Param(self.found, SqlType::Bool),
            _ => Exprs::new(self.dice, &self.types, &[]).condition(2),
        }
    }

    fn body(&mut self, most: usize) -> Vec<Step> {
        let count = self.dice.between(1, most);
        let mut steps = Vec::new();
        while steps.len() < count && self.steps > 0 {
            self.push_step(&mut steps);
        }
        steps
    }

    fn push_step(&mut self, steps: &mut Vec<Step>) {
        let made = self.step();
        let counted = matches!(made.action, Action::Run { .. } | Action::Call { .. });
        steps.push(made);
        if counted && self.dice.one_in(2) {
            steps.push(step(Action::RowCount { slot: self.count }));
        }
    }

    fn step(&mut self) -> Step {
        self.steps = self.steps.saturating_sub(1);
        let line = self.dice.below(50) as u32;
        let nested = self.around.len() + self.handling < 3 && self.steps > 0;
        let kinds = if self.cursors { 51 } else { 45 };
        let action = match self.dice.below(kinds) {
            45.. => self.cursor(),
            0..=3 => self.assign(),
            4..=19 => self.run(),
            20 | 21 if nested => self.branches(),
            22 | 23 if nested => self.for_integer(),
            24 if nested => self.for_row(),
            25 if nested => self.for_element(),
            26 if nested => self.counted_loop(),
            27 if nested => {
                self.around.push(false);
                let body = self.body(3);
                self.around.pop();
                Action::Block { body }
            }
            28..=31 if nested => self.guard(),
            32 => self.leave(),
            33 => self.raise(),
            34 => Action::RowCount {
                slot: match self.slot_of(SqlType::Int8) {
                    Some(slot) => slot,
                    None => return step(self.assign()),
                },
            },
            35 if self.handling > 0 => Action::Reraise,
            36 if self.handling > 0 || self.dice.one_in(8) => match self.slot_of(SqlType::Text) {
                Some(slot) => Action::Diagnose {
                    slot,
                    item: *self.dice.pick(&[
                        Diagnostic::State,
                        Diagnostic::Message,
                        Diagnostic::Table,
                        Diagnostic::Column,
                        Diagnostic::Constraint,
                    ]),
                },
                None => self.assign(),
            },
            37..=40 if !self.callables.is_empty() => match self.dice.below(4) {
                0 => self.call(),
                1 => self.select_of_function(),
                2 => self.update_by_function(),
                _ => self.perform_of_functions(),
            },
            41 => self.give(),
            42 if self.dice.one_in(4) => Action::Rollback,
            43 if nested => {
                let parts = self.dice.between(2, 4);
                let body = (0..parts).map(|_| step(self.run()));
                Action::OneState {
                    body: body.collect(),
                }
            }
            _ => self.run(),
        };
        if !self.dice.one_in(3) && may_fail(&action) {
            return Step {
                line,
                needs: None,
                action: self.guarded(Step {
                    line,
                    action,
                    needs: None,
                }),
            };
        }
        Step {
            line,
            action,
            needs: None,
        }
    }

    /// A step whose errors are forgotten: most programs would end at the first one.
    fn guarded(&mut self, inner: Step) -> Action {
        let handler = Handler {
            conditions: vec![Condition::Others],
            body: vec![],
        };
        Action::Guard {
            body: vec![inner],
            handlers: vec![handler],
            slots: [self.state, self.message],
        }
    }

    /// A slot of the type that may be assigned and be NULL.
    fn slot_of(&mut self, ty: SqlType) -> Option<usize> {
        let fitting: Vec<usize> = (0..self.assignable)
            .filter(|slot| self.types[*slot] == ty && !self.slots[*slot].not_null)
            .collect();
        (!fitting.is_empty()).then(|| *self.dice.pick(&fitting))
    }

    fn assign(&mut self) -> Action {
        let slot = self.dice.below(self.assignable);
        let ty = self.types[slot];
        if let Some(element) = ty.element()
            && self.dice.one_in(2)
        {
            let index = self.expr(SqlType::Int4, 0);
            let value = self.expr(element, 1);
            return Action::AssignElement { slot, index, value };
        }
        let value = self.expr(ty, 2);
        Action::Assign { slot, value }
    }

    /// Some slots, each once, with the types of what they are to get.
    fn targets(&mut self) -> Vec<usize> {
        let mut slots: Vec<usize> = (0..self.assignable).collect();
        let count = self.dice.between(1, 4);
        while slots.len() > count {
            slots.remove(self.dice.below(slots.len()));
        }
        slots
    }

    fn into(&mut self, targets: Vec<(usize, Expr)>) -> Into {
        Into {
            targets,
            strict: self.dice.one_in(8),
            silent: self.dice.one_in(15),
        }
    }

    fn run(&mut self) -> Action {
        match self.dice.below(14) {
            0..=2 => self.select(),
            3..=7 => self.update(),
            8..=10 => self.insert(),
            11..=12 => self.delete(),
            _ => {
                // PERFORM.
                let types = vec![self.dice.ty()];
                let plan = self.plans().query(&types, false);
                let into = self.into(vec![]);
                Action::Run {
                    statement: Statement::Query(plan),
                    into,
                }
            }
        }
    }

    fn select(&mut self) -> Action {
        let slots = self.targets();
        let mut types = Vec::new();
        let mut targets = Vec::new();
        for (place, slot) in slots.into_iter().enumerate() {
            let (ty, value) = self.target(slot, place);
            types.push(ty);
            targets.push((slot, value));
        }
        let plan = match self.dice.one_in(4) {
            true => self.plans().query(&types, false),
            false => self.plans().point_query(&types),
        };
        let into = self.into(targets);
        Action::Run {
            statement: Statement::Query(plan),
            into,
        }
    }

    /// The type of a column that fills a slot, and the slot's value over the row.
    fn target(&mut self, slot: usize, place: usize) -> (SqlType, Expr) {
        let ty = self.types[slot];
        let froms: Vec<SqlType> = TYPES
            .iter()
            .copied()
            .filter(|from| *from != ty && cast_context(*from, ty).is_some())
            .collect();
        match !froms.is_empty() && self.dice.one_in(6) {
            true => {
                let from = *self.dice.pick(&froms);
                let value = cast(Expr::Column(place, from), ty, TypeMod::NONE, false);
                (from, value)
            }
            false => (ty, Expr::Column(place, ty)),
        }
    }

    /// RETURNING … INTO over a frame. `total`: of several rows, whose order of errors is not said.
    fn returning(&mut self, frame: &[SqlType], total: bool) -> (Option<Vec<Expr>>, Into) {
        if self.dice.one_in(2) {
            let into = self.into(vec![]);
            return (None, into);
        }
        let mut exprs = Vec::new();
        let mut targets = Vec::new();
        for (place, slot) in self.targets().into_iter().enumerate() {
            let (ty, value) = self.target(slot, place);
            let fitting: Vec<usize> = (0..frame.len()).filter(|n| frame[*n] == ty).collect();
            exprs.push(match fitting.is_empty() || self.dice.one_in(3) {
                false => Expr::Column(*self.dice.pick(&fitting), ty),
                true if total => Exprs::new(self.dice, &self.types, frame)
                    .total()
                    .expr(ty, 1),
                true => Exprs::new(self.dice, &self.types, frame).expr(ty, 1),
            });
            targets.push((slot, value));
        }
        let into = self.into(targets);
        (Some(exprs), into)
    }

    fn update(&mut self) -> Action {
        let table = self.plans().table();
        let frame = frame_types(&table);
        let (source, point) = self.rows_to_change(&table, &frame);
        let frame = match point {
            true => frame,
            false => source.frame_types(),
        };
        let assignments = self.assignments(&table, &frame);
        let (returning, into) = self.returning(&frame, !point);
        Action::Run {
            statement: Statement::Update(Update {
                table,
                source,
                assignments,
                returning,
            }),
            into,
        }
    }

    /// Rows that UPDATE or DELETE work on, and whether they are one at most.
    fn rows_to_change(&mut self, table: &TableRef, frame: &[SqlType]) -> (Plan, bool) {
        let point = !self.dice.one_in(4);
        let mut access = match point {
            true => self.plans().point(table),
            false => self.plans().any_access(table),
        };
        let point = point && table.primary_key.is_some();
        if point && self.dice.one_in(4) {
            access.filter = Some(Exprs::new(self.dice, &self.types, frame).condition(2));
        }
        if self.dice.one_in(7) {
            // FROM or USING: a row may come several times, and is changed once.
            return (self.plans().join_to(access), false);
        }
        (Plan::Scan(access), point)
    }

    fn assignments(&mut self, table: &TableRef, frame: &[SqlType]) -> Vec<(usize, Expr)> {
        let mut columns: Vec<usize> = table.visible_columns().map(|(n, _)| n).collect();
        // Half of the time only columns of no key and index: the row stays where it is.
        if self.dice.one_in(2) {
            let keys = table.primary_key.iter().flat_map(|key| &key.columns);
            let entries = table.indexes.iter().flat_map(|index| &index.columns);
            let fixed: Vec<usize> = keys.chain(entries).copied().collect();
            if columns.iter().any(|column| !fixed.contains(column)) {
                columns.retain(|column| !fixed.contains(column));
            }
        }
        let count = self.dice.between(1, 3);
        while columns.len() > count {
            columns.remove(self.dice.below(columns.len()));
        }
        if self.dice.one_in(3) {
            columns.reverse();
        }
        columns
            .into_iter()
            .map(|number| {
                let column = &table.columns[number];
                let value = Exprs::new(self.dice, &self.types, frame).for_column(column, 2);
                (number, value)
            })
            .collect()
    }

    fn insert(&mut self) -> Action {
        let table = self.plans().table();
        let frame = frame_types(&table);
        let single = !self.dice.one_in(5);
        let source = match single {
            true => one_row(),
            false => {
                let types: Vec<SqlType> = table.columns.iter().map(|column| column.ty).collect();
                self.plans().query(&types, true)
            }
        };
        let columns = source.frame_types();
        let values = table
            .columns
            .iter()
            .map(|column| match column.dropped {
                true => Expr::null(column.ty),
                false => Exprs::new(self.dice, &self.types, &columns).for_column(column, 1),
            })
            .collect();
        let conflict = match self.dice.one_in(if single { 3 } else { 2 }) {
            true => Some(self.conflict(&table)),
            false => None,
        };
        let (returning, into) = self.returning(&frame, !single);
        Action::Run {
            statement: Statement::Insert(Insert {
                table,
                source,
                values,
                conflict,
                returning,
            }),
            into,
        }
    }

    fn conflict(&mut self, table: &TableRef) -> OnConflict {
        let mut arbiters: Vec<Arbiter> = Vec::new();
        arbiters.extend(table.primary_key.iter().map(|_| Arbiter::Primary));
        let unique = (0..table.indexes.len()).filter(|number| table.indexes[*number].unique);
        arbiters.extend(unique.map(Arbiter::Index));
        let arbiter = match arbiters.is_empty() {
            true => None,
            false => Some(*self.dice.pick(&arbiters)),
        };
        if arbiter.is_none() || self.dice.one_in(3) {
            return OnConflict {
                arbiter: arbiter.filter(|_| !self.dice.one_in(3)),
                action: ConflictAction::Nothing,
            };
        }
        let mut frame = frame_types(table);
        frame.extend(table.columns.iter().map(|column| column.ty));
        let mut assignments = self.assignments(table, &frame);
        if self.dice.one_in(5)
            && let Some((column, value)) = assignments.last_mut()
            && table.columns[*column].ty == SqlType::Int4
            && let Some(call) = self.function(&frame)
        {
            *value = call;
        }
        let filter = match self.dice.one_in(3) {
            true => Some(Exprs::new(self.dice, &self.types, &frame).condition(1)),
            false => None,
        };
        OnConflict {
            arbiter,
            action: ConflictAction::Update {
                assignments,
                filter,
            },
        }
    }

    fn delete(&mut self) -> Action {
        let table = self.plans().table();
        let frame = frame_types(&table);
        let (source, point) = self.rows_to_change(&table, &frame);
        let (returning, into) = self.returning(&source.frame_types(), !point);
        Action::Run {
            statement: Statement::Delete(Delete {
                table,
                source,
                returning,
            }),
            into,
        }
    }

    fn branches(&mut self) -> Action {
        let branches = (0..self.dice.between(1, 2))
            .map(|_| (self.condition(), self.body(3)))
            .collect();
        let otherwise = match self.dice.one_in(2) {
            true => self.body(2),
            false => vec![],
        };
        Action::If {
            branches,
            otherwise,
        }
    }

    /// The body of a loop.
    fn turns(&mut self) -> Vec<Step> {
        self.around.push(true);
        let body = self.body(4);
        self.around.pop();
        body
    }

    fn counter(&mut self) -> Option<usize> {
        let counter = self.next_counter;
        self.next_counter += 1;
        (counter < self.slots.len()).then_some(counter)
    }

    fn for_integer(&mut self) -> Action {
        let int = |value| Expr::Const(Value::Int4(value), SqlType::Int4);
        let slot = match self.dice.one_in(2) {
            true => self.slot_of(SqlType::Int4),
            false => self.counter(),
        };
        let Some(slot) = slot else {
            return self.assign();
        };
        let low = self.dice.below(4) as i32;
        let high = low + self.dice.below(4) as i32 - 1;
        let step = match self.dice.below(12) {
            0 => Expr::null(SqlType::Int4),
            1 => int(0),
            2 | 3 => int(2),
            _ => int(1),
        };
        let reverse = self.dice.one_in(3);
        let (lower, upper) = if reverse { (high, low) } else { (low, high) };
        let end = match self.dice.one_in(10) {
            // Where the type ends.
            true => (int(i32::MAX - 1), int(i32::MAX)),
            false => (int(lower), int(upper)),
        };
        Action::ForInteger {
            slot,
            lower: end.0,
            upper: end.1,
            step,
            reverse,
            body: self.turns(),
        }
    }

    fn for_row(&mut self) -> Action {
        let slots = self.targets();
        let mut types = Vec::new();
        let mut into = Vec::new();
        for (place, slot) in slots.into_iter().enumerate() {
            let (ty, value) = self.target(slot, place);
            types.push(ty);
            into.push((slot, value));
        }
        let plan = self.plans().query(&types, false);
        let plan = Plan::Limit {
            input: Box::new(plan),
            limit: Some(Expr::Const(Value::Int8(4), SqlType::Int8)),
            offset: None,
            ties: vec![],
        };
        Action::ForRow {
            statement: Statement::Query(plan),
            into,
            body: self.turns(),
        }
    }

    /// OPEN with its rows, FETCH, MOVE or CLOSE of one of a few cursors.
    fn cursor(&mut self) -> Action {
        let name = match self.dice.below(12) {
            0 => Expr::Const(Value::Null, SqlType::Text),
            number => Expr::Const(Value::text(format!("c{}", number % 2)), SqlType::Text),
        };
        let slots: Vec<(usize, TypeMod)> = {
            let slots = self.targets().into_iter();
            slots.map(|slot| (slot, TypeMod::NONE)).collect()
        };
        let into = |slots| DynamicRows::Into {
            slots,
            strict: false,
        };
        let (what, arguments, rows) = match self.dice.below(8) {
            0..=2 => return self.open(name),
            3 => (CursorAction::Close, vec![], DynamicRows::Forgotten),
            kind => {
                let direction = *self.dice.pick(&[
                    Direction::Forward,
                    Direction::Forward,
                    Direction::Backward,
                    Direction::Absolute,
                    Direction::Relative,
                ]);
                let count = match self.dice.below(5) {
                    0 => vec![self.expr(SqlType::Int4, 0)],
                    1 => vec![],
                    number => vec![Expr::Const(Value::Int8(number as i64 - 2), SqlType::Int8)],
                };
                let moves = kind == 4;
                let what = CursorAction::Fetch {
                    direction,
                    moves,
                    fields: None,
                };
                let rows = if moves {
                    DynamicRows::Forgotten
                } else {
                    into(slots)
                };
                (what, count, rows)
            }
        };
        cursor_step(name, what, arguments, rows)
    }

    fn open(&mut self, name: Expr) -> Action {
        let Action::ForRow {
            statement, into, ..
        } = self.for_row()
        else {
            return self.assign();
        };
        let field = |(slot, _): &(usize, Expr)| Field {
            name: format!("f{slot}"),
            ty: self.types[*slot],
            modifier: TypeMod::NONE,
        };
        let what = CursorAction::Open {
            fields: into.iter().map(field).collect(),
            of: None,
            back: self.dice.one_in(2),
            pinned: false,
            source: String::new(),
        };
        let row = into.iter().map(|(slot, _)| *slot);
        let row = row.map(|slot| Expr::Param(slot, self.types[slot]));
        let row = row.collect();
        let named = match self.slot_of(SqlType::Text) {
            Some(slot) => DynamicRows::Into {
                slots: vec![(slot, TypeMod::NONE)],
                strict: false,
            },
            None => DynamicRows::Forgotten,
        };
        let open = cursor_step(name.clone(), what, vec![], named);
        let keep = cursor_step(name, CursorAction::Keep, row, DynamicRows::Forgotten);
        let rows = Action::ForRow {
            statement,
            into,
            body: vec![step(keep)],
        };
        let body = vec![step(open), step(rows)];
        self.guarded(step(Action::Block { body }))
    }

    fn for_element(&mut self) -> Action {
        let Some(slot) = self.slot_of(SqlType::Int4) else {
            return self.assign();
        };
        let elements = (0..self.dice.below(4))
            .map(|_| self.expr(SqlType::Int4, 0))
            .collect();
        let array = match self.dice.one_in(8) {
            true => Expr::null(SqlType::Int4Array),
            false => Expr::Array {
                elements,
                element: SqlType::Int4,
            },
        };
        Action::ForElement {
            slot,
            array,
            body: self.turns(),
        }
    }

    /// LOOP, which a counter of its own ends.
    fn counted_loop(&mut self) -> Action {
        let Some(slot) = self.counter() else {
            return self.assign();
        };
        let int = |value| Expr::Const(Value::Int4(value), SqlType::Int4);
        let turns = self.dice.between(1, 4) as i32;
        let counter = Expr::Param(slot, SqlType::Int4);
        let started = Expr::Coalesce {
            args: vec![counter.clone(), int(0)],
            ty: SqlType::Int4,
        };
        let next = crate::exprs::call("+", vec![started, int(1)]).expect("integers can be added");
        let count = step(Action::Assign { slot, value: next });
        let over = Expr::Compare {
            op: quintet_ir::CompareOp::Gt,
            left: Box::new(counter),
            right: Box::new(int(turns)),
        };
        let exit = step(Action::Exit {
            depth: 0,
            when: Some(over),
        });
        let mut body = vec![count, exit];
        body.extend(self.turns());
        Action::Loop { body }
    }

    fn guard(&mut self) -> Action {
        let body = self.body(5);
        let handlers = (0..self.dice.between(1, 2))
            .map(|_| {
                let conditions = match self.dice.below(5) {
                    0 => vec![Condition::State(SqlState::UNIQUE_VIOLATION)],
                    1 => vec![Condition::Class(*b"23"), Condition::Class(*b"P0")],
                    2 => vec![Condition::Class(*b"22")],
                    _ => vec![Condition::Others],
                };
                self.handling += 1;
                let body = match self.dice.one_in(4) {
                    true => vec![],
                    false => self.body(3),
                };
                self.handling -= 1;
                Handler { conditions, body }
            })
            .collect();
        Action::Guard {
            body,
            handlers,
            slots: [self.state, self.message],
        }
    }

    /// EXIT or CONTINUE, if there is something to leave; RETURN else.
    fn leave(&mut self) -> Action {
        let when = match self.dice.one_in(3) {
            true => None,
            false => Some(self.condition()),
        };
        let loops: Vec<usize> = (0..self.around.len())
            .filter(|depth| self.around[self.around.len() - 1 - depth])
            .collect();
        if !loops.is_empty() && self.dice.one_in(2) {
            let depth = *self.dice.pick(&loops);
            return Action::Continue { depth, when };
        }
        if !self.around.is_empty() {
            let depth = self.dice.below(self.around.len());
            return Action::Exit { depth, when };
        }
        let row = match self.output {
            Output::Row => self.row(),
            Output::Nothing | Output::Rows => vec![],
        };
        let body = vec![step(Action::Return(row))];
        Action::If {
            branches: vec![(self.condition(), body)],
            otherwise: vec![],
        }
    }

    fn raise(&mut self) -> Action {
        let severity = match self.dice.below(3) {
            0 => Severity::Exception,
            1 => Severity::Warning,
            _ => Severity::Notice,
        };
        let state = match self.dice.below(3) {
            0 => RaiseState::Given(SqlState::UNIQUE_VIOLATION),
            _ => RaiseState::Default,
        };
        let mut raise = Raise {
            severity,
            state,
            format: vec!["now ".into(), " and ".into(), String::new()],
            arguments: vec![],
            options: vec![],
        };
        for _ in 0..2 {
            let slot = self.dice.below(self.types.len());
            raise.arguments.push(Expr::Param(slot, self.types[slot]));
        }
        if self.dice.one_in(4) {
            let option = *self.dice.pick(&[
                RaiseOption::Message,
                RaiseOption::Table,
                RaiseOption::ErrorCode,
                RaiseOption::Constraint,
            ]);
            raise.options.push((option, self.expr(SqlType::Text, 1)));
        }
        if self.dice.one_in(8) {
            raise.format.clear();
            raise.arguments.clear();
        }
        Action::Raise(Box::new(raise))
    }

    fn call(&mut self) -> Action {
        let callables = self.callables;
        let callable = self.dice.pick(callables);
        let arguments = callable
            .arguments
            .iter()
            .map(|ty| self.expr(*ty, 1))
            .collect();
        let mut targets = Vec::new();
        for slot in self.targets() {
            let fitting: Vec<usize> = (0..callable.row.len())
                .filter(|place| callable.row[*place] == self.types[slot])
                .collect();
            if !fitting.is_empty() {
                let place = *self.dice.pick(&fitting);
                targets.push((slot, Expr::Column(place, self.types[slot])));
            }
        }
        let into = self.into(targets);
        Action::Call {
            routine: callable.number,
            arguments,
            into,
        }
    }

    /// A call of a function that gives one value, over a frame.
    fn function(&mut self, frame: &[SqlType]) -> Option<Expr> {
        let callables = self.callables.iter();
        let fitting: Vec<&Callable> = callables.filter(|one| one.row.len() == 1).collect();
        if fitting.is_empty() {
            return None;
        }
        let callable = *self.dice.pick(&fitting);
        let mut exprs = Exprs::new(self.dice, &self.types, frame);
        let args = callable.arguments.iter().map(|ty| exprs.expr(*ty, 1));
        Some(Expr::Routine {
            args: args.collect(),
            callee: Box::new(callable.callee()),
            ty: callable.row[0],
        })
    }

    /// `slot := (SELECT function(…))`
    fn select_of_function(&mut self) -> Action {
        let (Some(call), Some(slot)) = (self.function(&[]), self.slot_of(SqlType::Int4)) else {
            return self.call();
        };
        let plan = project(hold(one_row()), vec![call]);
        let into = self.into(vec![(slot, Expr::Column(0, SqlType::Int4))]);
        Action::Run {
            statement: Statement::Query(plan),
            into,
        }
    }

    /// PERFORM of a function for each row, or of the rows that it gives.
    fn perform_of_functions(&mut self) -> Action {
        let callables = self.callables.iter();
        let giving: Vec<&Callable> = callables.filter(|one| one.rows).collect();
        let plan = if !giving.is_empty() && self.dice.one_in(2) {
            let callable = *self.dice.pick(&giving);
            let mut exprs = Exprs::new(self.dice, &self.types, &[]);
            let arguments = callable.arguments.iter().map(|ty| exprs.expr(*ty, 1));
            Plan::Call {
                arguments: arguments.collect(),
                callee: callable.callee(),
                types: callable.row.clone(),
            }
        } else {
            let table = self.plans().table();
            let access = self.plans().any_access(&table);
            let Some(call) = self.function(&frame_types(&table)) else {
                return self.call();
            };
            project(hold(Plan::Scan(access)), vec![call])
        };
        let into = self.into(vec![]);
        Action::Run {
            statement: Statement::Query(plan),
            into,
        }
    }

    /// `UPDATE … SET column = function(…)`
    fn update_by_function(&mut self) -> Action {
        let table = self.plans().table();
        let frame = frame_types(&table);
        let column = table
            .visible_columns()
            .find(|(_, column)| column.ty == SqlType::Int4);
        let Some((column, _)) = column else {
            return self.call();
        };
        let access = self.plans().any_access(&table);
        let Some(call) = self.function(&frame) else {
            return self.call();
        };
        let into = self.into(vec![]);
        Action::Run {
            statement: Statement::Update(Update {
                source: hold(Plan::Scan(access)),
                assignments: vec![(column, call)],
                returning: None,
                table,
            }),
            into,
        }
    }

    /// RETURN NEXT or RETURN QUERY, where rows are what the routine gives.
    fn give(&mut self) -> Action {
        if self.output != Output::Rows {
            return self.run();
        }
        if self.dice.one_in(2) {
            return Action::ReturnNext(self.row());
        }
        let types = self.types.clone();
        Action::ReturnQuery(Statement::Query(self.plans().query(&types, false)))
    }
}

fn cursor_step(name: Expr, what: CursorAction, arguments: Vec<Expr>, rows: DynamicRows) -> Action {
    Action::Dynamic(Box::new(Dynamic {
        at: Landmark::default(),
        text: name,
        arguments,
        fixed: false,
        rows,
        is_record: false,
        reads_only: false,
        turns: None,
        cursor: Some(CursorStep {
            variable: "c".to_string(),
            what,
        }),
    }))
}

/// What functions above it write must not be met below.
fn hold(input: Plan) -> Plan {
    Plan::Hold {
        input: Box::new(input),
    }
}

fn may_fail(action: &Action) -> bool {
    matches!(
        action,
        Action::Run { .. }
            | Action::Assign { .. }
            | Action::AssignElement { .. }
            | Action::Call { .. }
            | Action::OneState { .. }
            | Action::Rollback
            | Action::Dynamic(_)
            | Action::Landmark(_)
    )
}

fn step(action: Action) -> Step {
    Step {
        line: 0,
        action,
        needs: None,
    }
}

/// A program's arguments for one call.
pub fn arguments(dice: &mut Dice, routine: &Routine) -> Vec<Value> {
    let slots = &routine.slots[..routine.arguments];
    slots
        .iter()
        .map(|slot| dice.value_or_null(slot.ty))
        .collect()
}

/// What a table is called in a program of which a copy is made for other tables.
pub fn share(tables: &[crate::tables::Made]) -> Vec<TableRef> {
    tables.iter().map(|made| Arc::clone(&made.table)).collect()
}

/// A call of the first routine, whose arguments are the parameters.
pub fn called(routines: Vec<Routine>) -> Arc<Procedure> {
    let first = &routines[0];
    let params: Vec<_> = first.slots[..first.arguments]
        .iter()
        .map(|slot| slot.ty)
        .collect();
    let arguments = params.iter().enumerate();
    let arguments = arguments
        .map(|(place, ty)| Expr::Param(place, *ty))
        .collect();
    Arc::new(Procedure {
        params,
        body: Body::Call {
            program: Arc::new(program(routines)),
            arguments,
        },
        result: vec![],
    })
}

/// A statement of its own.
pub fn lone(statement: Statement) -> Arc<Procedure> {
    Arc::new(Procedure {
        params: vec![],
        body: Body::Statement(statement),
        result: vec![],
    })
}
