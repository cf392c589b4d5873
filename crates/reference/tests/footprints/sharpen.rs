//! Programs whose keys are known more often.
//!
//! Promises: what was valid stays so.  A random program does a lot, and meets every other: here most do a few
//! things. A random program finds most rows by variables that nothing is known of;
//! here many keys are arguments, elements of an array argument, or variables of the loops around, as in the
//! programs that people write.

use crate::dice::Dice;
use crate::exprs::call;
use quintet_base::{SqlType, Value};
use quintet_ir::plan::{KeyRange, Path, Plan};
use quintet_ir::routine::{Action, Into, Routine, Slot, Step};
use quintet_ir::statement::Statement;
use quintet_ir::{Access, CompareOp, Expr, TableDef};

/// Does so, to some programs.
pub fn sharpen(dice: &mut Dice, routines: &mut [Routine]) {
    if dice.one_in(4) {
        return;
    }
    for routine in routines {
        shorten(dice, &mut routine.body);
        let either = known_on_one_way(dice, routine);
        let turn = through_elements(dice, routine);
        let array =
            (0..routine.arguments).find(|slot| routine.slots[*slot].ty == SqlType::Int4Array);
        let mut sharpener = Sharpener {
            dice,
            array,
            arguments: routine.slots[..routine.arguments]
                .iter()
                .map(|slot| slot.ty)
                .collect(),
            turns: turn.into_iter().collect(),
            either,
        };
        sharpener.steps(&mut routine.body);
    }
}

/// Leaves a few of the steps between the first assignments and the end.
fn shorten(dice: &mut Dice, body: &mut Vec<Step>) {
    let is_assign = |step: &Step| matches!(step.action, Action::Assign { .. });
    let first = body.iter().take_while(|step| is_assign(step)).count();
    let is_end = |step: &&Step| matches!(step.action, Action::Return(_) | Action::ReturnNext(_));
    let end = body.len() - usize::from(body.last().as_ref().is_some_and(is_end));
    let wanted = [1, 1, 1, 2, 3, 4][dice.below(6)];
    let mut left = end.saturating_sub(first);
    while left > wanted {
        body.remove(first + dice.below(left));
        left -= 1;
    }
}

/// Begins with `IF a0 … THEN SELECT … INTO v; ELSE v := a1; END IF`, now and then.
fn known_on_one_way(dice: &mut Dice, routine: &mut Routine) -> Option<usize> {
    if !dice.one_in(2) {
        return None;
    }
    let slot = routine.slots.len();
    routine.slots.push(Slot {
        name: "either".to_string(),
        ty: SqlType::Int4,
        not_null: false,
    });
    let int = |value: usize| Expr::Const(Value::Int4(value as i32), SqlType::Int4);
    let first = Expr::Param(0, SqlType::Int4);
    let found = int(dice.below(12));
    let unknown = Action::Run {
        statement: Statement::Query(Plan::Series {
            start: found.clone(),
            stop: found,
            step: int(1),
            ty: SqlType::Int4,
        }),
        into: Into {
            targets: vec![(slot, Expr::Column(0, SqlType::Int4))],
            ..Into::default()
        },
    };
    let known = Action::Assign {
        slot,
        value: Expr::Param(1, SqlType::Int4),
    };
    let step = |action| Step {
        line: 0,
        action,
        needs: None,
    };
    let condition = Expr::Compare {
        op: CompareOp::Lt,
        left: Box::new(first),
        right: Box::new(int(dice.between(1, 9))),
    };
    let is_assign = |step: &Step| matches!(step.action, Action::Assign { .. });
    let place = routine
        .body
        .iter()
        .take_while(|step| is_assign(step))
        .count();
    let either = Action::If {
        branches: vec![(condition, vec![step(unknown)])],
        otherwise: vec![step(known)],
    };
    routine.body.insert(place, step(either));
    Some(slot)
}

/// Does a step for each of some elements, now and then. Gives their variable, which is NULL elsewhere.
fn through_elements(dice: &mut Dice, routine: &mut Routine) -> Option<usize> {
    let may_repeat = |step: &Step| matches!(step.action, Action::Run { .. } | Action::Guard { .. });
    let place = routine.body.iter().position(may_repeat)?;
    if !dice.one_in(3) {
        return None;
    }
    let slot = routine.slots.len();
    routine.slots.push(Slot {
        name: "element".to_string(),
        ty: SqlType::Int4,
        not_null: false,
    });
    let constant = Value::Int4(dice.below(12) as i32);
    let array = Expr::Array {
        elements: vec![
            Expr::Param(0, SqlType::Int4),
            Expr::Const(constant, SqlType::Int4),
            Expr::Param(1, SqlType::Int4),
        ],
        element: SqlType::Int4,
    };
    let step = routine.body.remove(place);
    let line = step.line;
    let body = vec![step];
    let action = Action::ForElement { slot, array, body };
    routine.body.insert(
        place,
        Step {
            line,
            action,
            needs: None,
        },
    );
    Some(slot)
}

struct Sharpener<'a> {
    dice: &'a mut Dice,
    array: Option<usize>,
    arguments: Vec<SqlType>,
    /// Variables of the loops around.
    turns: Vec<usize>,
    /// A variable that is an argument, or something else.
    either: Option<usize>,
}

impl Sharpener<'_> {
    fn steps(&mut self, steps: &mut [Step]) {
        for step in steps {
            match &mut step.action {
                Action::Run { statement, .. } => self.statement(statement),
                Action::If {
                    branches,
                    otherwise,
                } => {
                    for (condition, body) in branches {
                        if self.dice.one_in(3) {
                            let input = Box::new(self.argument());
                            let negated = self.dice.one_in(2);
                            *condition = Expr::IsNull { input, negated };
                        }
                        self.steps(body);
                    }
                    self.steps(otherwise);
                }
                Action::ForInteger { slot, body, .. } => {
                    self.turns.push(*slot);
                    self.steps(body);
                    self.turns.pop();
                }
                Action::ForElement { slot, array, body } => {
                    if let Some(argument) = self.array
                        && self.dice.one_in(2)
                    {
                        *array = Expr::Param(argument, SqlType::Int4Array);
                    }
                    self.turns.push(*slot);
                    self.steps(body);
                    self.turns.pop();
                }
                Action::Loop { body } | Action::ForRow { body, .. } | Action::Block { body } => {
                    self.steps(body);
                }
                Action::Guard { body, handlers, .. } => {
                    self.steps(body);
                    for handler in handlers {
                        self.steps(&mut handler.body);
                    }
                }
                _ => {}
            }
        }
    }

    fn statement(&mut self, statement: &mut Statement) {
        match statement {
            Statement::Query(plan) => self.plan(plan),
            Statement::Insert(insert) => {
                let table = insert.table.clone();
                for column in indexed(&table) {
                    if !self.dice.one_in(5) {
                        insert.values[column] = self.key(table.frame_type(column));
                    }
                }
                self.plan(&mut insert.source);
            }
            Statement::Update(update) => {
                let fixed = indexed(&update.table);
                let moves = |assigned: &(usize, Expr)| fixed.contains(&assigned.0);
                if !update.assignments.iter().all(moves) && !self.dice.one_in(4) {
                    update.assignments.retain(|assigned| !moves(assigned));
                }
                self.plan(&mut update.source);
            }
            Statement::Delete(delete) => self.plan(&mut delete.source),
        }
    }

    fn plan(&mut self, plan: &mut Plan) {
        match plan {
            Plan::Scan(access) => self.access(access),
            Plan::Join { outer, inner, .. } => {
                self.plan(outer);
                self.plan(inner);
            }
            Plan::Hold { input }
            | Plan::Lateral { input, .. }
            | Plan::Lookup { input, .. }
            | Plan::Unique { input }
            | Plan::Filter { input, .. }
            | Plan::Project { input, .. }
            | Plan::Aggregate { input, .. }
            | Plan::Window { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Lock { input, .. } => self.plan(input),
            Plan::With { first, then, .. } => {
                self.plan(first);
                self.plan(then);
            }
            Plan::Given { .. } => {}
            Plan::Append { inputs } => inputs.iter_mut().for_each(|input| self.plan(input)),
            Plan::Values { .. } | Plan::Series { .. } | Plan::Unnest { .. } | Plan::Call { .. } => {
            }
        }
    }

    fn access(&mut self, access: &mut Access) {
        if !matches!(access.path, Path::Primary(_)) && access.table.primary_key.is_some() {
            if self.dice.one_in(6) {
                return;
            }
            let range = KeyRange {
                equal: vec![],
                ..KeyRange::default()
            };
            access.path = Path::Primary(vec![range]);
        }
        let table = access.table.clone();
        let (columns, ranges) = match &mut access.path {
            Path::Full | Path::Elements(..) => return,
            Path::Primary(ranges) => (table.key_columns(), ranges),
            Path::Index(number, ranges) => (table.indexes[*number].columns.clone(), ranges),
        };
        for range in ranges {
            // A range with bounds is about the column behind its equalities.
            let open = range.lower.is_none() && range.upper.is_none();
            while open && range.equal.len() < columns.len() && !self.dice.one_in(5) {
                let next = columns[range.equal.len()];
                range.equal.push(self.key(table.frame_type(next)));
            }
            for (value, column) in range.equal.iter_mut().zip(&columns) {
                if !self.dice.one_in(4) {
                    *value = self.key(table.frame_type(*column));
                }
            }
        }
    }

    fn argument(&mut self) -> Expr {
        Expr::Param(self.dice.below(2), SqlType::Int4)
    }

    /// A value that rows may be found by.
    fn key(&mut self, ty: SqlType) -> Expr {
        if ty != SqlType::Int4 {
            let known = self.arguments.iter().position(|known| *known == ty);
            return match known.filter(|_| self.dice.one_in(2)) {
                Some(argument) => Expr::Param(argument, ty),
                None => Expr::Const(self.dice.value(ty), ty),
            };
        }
        match self.dice.below(10) {
            0 => Expr::Const(Value::Int4(self.dice.below(12) as i32), SqlType::Int4),
            1 | 2 if !self.turns.is_empty() => {
                let turn = Expr::Param(*self.dice.pick(&self.turns.clone()), SqlType::Int4);
                match self.array {
                    Some(array) if self.dice.one_in(2) => {
                        let array = Expr::Param(array, SqlType::Int4Array);
                        call("[]", vec![array, turn]).expect("arrays have elements")
                    }
                    _ => turn,
                }
            }
            3..=7 if self.either.is_some() => {
                let slot = self.either.expect("there is one");
                let known = Expr::Param(slot, SqlType::Int4);
                match self.dice.one_in(4) {
                    true => Expr::Coalesce {
                        args: vec![known, self.argument()],
                        ty: SqlType::Int4,
                    },
                    false => known,
                }
            }
            3 => Expr::Coalesce {
                args: vec![self.argument(), self.argument()],
                ty: SqlType::Int4,
            },
            _ => self.argument(),
        }
    }
}

/// Columns of keys and of indexes.
fn indexed(table: &TableDef) -> Vec<usize> {
    let keys = table.primary_key.iter().flat_map(|key| &key.columns);
    let indexes = table.indexes.iter().flat_map(|index| &index.columns);
    keys.chain(indexes).copied().collect()
}
