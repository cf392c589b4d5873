//! Routines as flat code: a step is an operation at a place, leaving is a jump.
//!
//! Relies on: `routine`.  Promises: the same meaning; where something is resumed is one number, so that a
//! call which has to wait leaves nothing on the machine's stack.  Does not: change expressions or
//! plans.
//!
//! ```text
//!   WHILE c LOOP s END LOOP          0  unless c go to 3
//!                                    1  s
//!                                    2  go to 0
//!                                    3  …
//!   FOR r IN query LOOP s END LOOP   0  begin rows         pushes a loop's state
//!                                    1  next row, or 4
//!                                    2  s
//!                                    3  go to 1
//!                                    4  leave to (loops, guards) of before
//! ```
//! Loops over integers, rows and elements have a state, and so have guarded blocks: two stacks, whose
//! heights are known at every place. A jump out of several goes through one `Leave`.

mod elements;
mod flat;
mod writes;

use crate::dynamic::{Dynamic, DynamicRows, Landmark};
use crate::expr::Expr;
use crate::expressions::{each_of_operation, slots};
use crate::formula::Computed;
use crate::function::element_at;
use crate::point::Point;
use crate::privilege::Needs;
use crate::routine::{Action, Diagnostic, Handler, Into, Raise, Routine, Slot, Step};
use crate::statement::Statement;
use crate::sweep::Sweep;
use flat::{flattened, is_plain};
use quintet_base::{SpaceId, SqlError, SqlType, Value};
use std::collections::{BTreeMap, BTreeSet};
use writes::{slots_kept, spaces_written};

/// A place in the code.
pub type Place = usize;

/// A routine's code. The end of it is a return without a row.
#[derive(Clone, Debug)]
pub struct Code {
    /// In order.
    pub operations: Vec<Operation>,
    /// The line of each in the source; 0 = none.
    pub lines: Vec<u32>,
    /// What the user must be allowed to do before the operation at a place.
    pub requires: BTreeMap<Place, Needs>,
    /// Whether COMMIT or ROLLBACK is among them.
    pub ends_transactions: bool,
    /// Whether there are statements among them that are planned when they are reached.
    pub is_dynamic: bool,
    /// How many slots, from the first one on, none of them changes: they are at the end as they were at the beginning.
    pub slots_kept: usize,
    /// How many places its operations look at: the routine's slots, and behind them elements that are kept for a turn.
    pub places: usize,
    /// The spaces of the tables that its statements write to.
    pub spaces_written: BTreeSet<SpaceId>,
}

/// The element of the array in a slot, at a loop's variable, which is kept in a place behind the slots while a turn lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptElement {
    /// The array's slot; nothing in the turn writes to it.
    pub array: usize,
    /// Where the element is kept.
    pub place: usize,
}

impl KeptElement {
    /// Puts the element there, for a turn with this value of the variable; `None`: NULL.
    #[inline]
    pub fn keep(&self, index: Option<i64>, slots: &mut [Value]) {
        let element = match index {
            Some(index) => element_at(&slots[self.array], index),
            None => &Value::Null,
        };
        // Nearly always, and nothing is to be dropped then.
        let Value::Int4(element) = *element else {
            slots[self.place] = element.clone();
            return;
        };
        match &mut slots[self.place] {
            Value::Int4(kept) => *kept = element,
            kept => *kept = Value::Int4(element),
        }
    }
}

/// How many states are on the two stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Heights {
    /// Of loops.
    pub loops: usize,
    /// Of guarded blocks.
    pub guards: usize,
}

/// One operation. Those that are steps of their own are described at [`Action`].
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Operation {
    Assign {
        slot: usize,
        value: Computed,
    },
    AssignElement {
        slot: usize,
        index: Expr,
        value: Expr,
    },
    /// `plain`: the targets are the row's columns in order. `flat`, `sweep`: the same, flat, if it has one of
    /// those forms.
    Run {
        statement: Statement,
        into: Into,
        plain: bool,
        flat: Option<Box<Flat>>,
        sweep: Option<Box<Sweep>>,
    },
    Call {
        routine: usize,
        arguments: Vec<Expr>,
        into: Into,
    },
    Jump(Place),
    /// Goes on at the next place if the condition is TRUE.
    Unless(Computed, Place),
    /// Drops the states of what is left, and jumps.
    Leave {
        to: Heights,
        place: Place,
    },
    BeginIntegers {
        lower: Expr,
        upper: Expr,
        step: Expr,
        reverse: bool,
    },
    /// `elements`: what formulas of the turn look at again and again.
    NextInteger {
        slot: usize,
        end: Place,
        elements: Vec<KeptElement>,
    },
    BeginRows(Statement),
    NextRow {
        into: Vec<(usize, Expr)>,
        end: Place,
    },
    BeginElements(Expr),
    NextElement {
        slot: usize,
        end: Place,
    },
    /// An error from here on to the matching `EndGuard` goes to the handlers: the first condition that
    /// takes it names the place.
    BeginGuard {
        handlers: Vec<(Vec<crate::routine::Condition>, Place)>,
        slots: [usize; 2],
    },
    /// The guarded part is over, or its handler is.
    EndGuard,
    /// Statements up to the matching `EndState` see the state of now.
    BeginState,
    EndState,
    Raise(Box<Raise>),
    Reraise,
    /// Of the action.
    Commit,
    /// Of the action.
    Rollback,
    Fail(Box<SqlError>),
    Return(Vec<Computed>),
    ReturnNext(Vec<Expr>),
    ReturnQuery(Statement),
    /// A statement that is planned when it is reached. In a loop its rows are the turns.
    Dynamic {
        statement: Box<Dynamic>,
        loops: bool,
    },
    Landmark(Box<Landmark>),
    RowCount {
        slot: usize,
    },
    Diagnose {
        slot: usize,
        item: Diagnostic,
    },
}

/// A statement about one row, without what nobody looks at.
#[derive(Clone, Debug)]
pub struct Flat {
    /// It.
    pub point: Point,
    /// What becomes of its row.
    pub into: Into,
    /// The targets are the row's columns in order.
    pub plain: bool,
    /// Where the row is put. No other flat statement of the routine puts one there, as long as there are some left, so each finds
    /// memory that fits.
    pub place: usize,
    /// Targets' values are computed with the row. Where that fails, the statement is to be run as any other, for
    /// which a target's error comes after the statement.
    pub joined: bool,
}

/// Where flat statements of a routine put their rows, one behind the other; behind the last place the first one comes again.
const PLACES_MAX: usize = 256;

impl Code {
    /// The code of a routine.
    pub fn new(routine: &Routine) -> Code {
        let slots = routine.slots.iter().enumerate();
        let begins_null =
            |(number, slot): (usize, &Slot)| number >= routine.arguments && !slot.not_null;
        let mut writer = Writer {
            begin_null: slots.map(begins_null).collect(),
            types: routine.slots.iter().map(|slot| slot.ty).collect(),
            ..Writer::default()
        };
        writer.steps(&routine.body);
        let ends =
            |operation: &Operation| matches!(operation, Operation::Commit | Operation::Rollback);
        let dynamic = |operation: &Operation| matches!(operation, Operation::Dynamic { .. });
        let mut code = Code {
            is_dynamic: writer.operations.iter().any(dynamic),
            ends_transactions: writer.operations.iter().any(ends),
            slots_kept: slots_kept(routine, &writer.operations),
            spaces_written: spaces_written(&writer.operations),
            places: routine.slots.len(),
            operations: writer.operations,
            lines: writer.lines,
            requires: writer.requires,
        };
        code.flatten_points(routine);
        if !code.is_dynamic {
            code.places = elements::keep_elements(routine, &mut code.operations);
        }
        code
    }

    /// Gives statements about one row their flat form. Variables that no expression of the routine looks at
    /// are not filled there.
    fn flatten_points(&mut self, routine: &Routine) {
        let mut seen = BTreeSet::new();
        for operation in &self.operations {
            each_of_operation(operation, &mut |expr| slots(expr, &mut seen));
            if let Operation::AssignElement { slot, .. } = operation {
                seen.insert(*slot);
            }
        }
        let wanted = |slot: usize| seen.contains(&slot) || routine.slots[slot].not_null;
        let mut in_state = false;
        let mut place = 0;
        for operation in &mut self.operations {
            match operation {
                Operation::BeginState => in_state = true,
                Operation::EndState => in_state = false,
                _ => {}
            }
            // Flat forms read what has been written last.
            if !in_state
                && let Operation::Run {
                    statement,
                    into,
                    plain,
                    flat,
                    sweep,
                } = operation
            {
                *flat = flattened(statement, into, *plain, wanted).map(Box::new);
                if let Some(flat) = flat {
                    let width = flat.point.width();
                    if place + width > PLACES_MAX {
                        place = 0;
                    }
                    flat.place = place;
                    place += width;
                }
                let single = !into.strict && !into.targets.is_empty();
                let of = || Sweep::of(statement, single).map(Box::new);
                *sweep = if flat.is_none() { of() } else { None };
            }
        }
    }
}

/// Something that EXIT or CONTINUE may name.
struct Leavable {
    /// The heights behind it.
    outside: Heights,
    /// Where a next turn begins, and the heights there; a labelled block has none.
    turn: Option<(Place, Heights)>,
    /// Jumps to its end, whose place is not known yet.
    exits: Vec<Place>,
}

#[derive(Default)]
struct Writer {
    /// Which slots are NULL when the routine begins, and may be.
    begin_null: Vec<bool>,
    /// Of the slots.
    types: Vec<SqlType>,
    requires: BTreeMap<Place, Needs>,
    operations: Vec<Operation>,
    lines: Vec<u32>,
    line: u32,
    heights: Heights,
    around: Vec<Leavable>,
}

/// A jump whose place is filled in later.
const LATER: Place = Place::MAX;

impl Writer {
    fn here(&self) -> Place {
        self.operations.len()
    }

    fn add(&mut self, operation: Operation) -> Place {
        self.operations.push(operation);
        self.lines.push(self.line);
        self.here() - 1
    }

    /// Lets the jump at a place go to here.
    fn land(&mut self, at: Place) {
        let here = self.here();
        match &mut self.operations[at] {
            Operation::Jump(place)
            | Operation::Unless(_, place)
            | Operation::Leave { place, .. }
            | Operation::NextInteger { end: place, .. }
            | Operation::NextRow { end: place, .. }
            | Operation::NextElement { end: place, .. } => *place = here,
            other => unreachable!("no jump: {other:?}"),
        }
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            let line = std::mem::replace(&mut self.line, step.line);
            if let Some(needs) = &step.needs {
                let here = self.here();
                self.requires.insert(here, Needs::clone(needs));
            }
            self.step(&step.action);
            self.line = line;
        }
    }

    fn step(&mut self, action: &Action) {
        match action {
            Action::Assign { slot, value } if !self.is_null_already(*slot, value) => {
                self.add(Operation::Assign {
                    slot: *slot,
                    value: Computed::new(value.clone(), None),
                });
            }
            Action::Assign { .. } => {}
            Action::AssignElement { slot, index, value } => {
                self.add(Operation::AssignElement {
                    slot: *slot,
                    index: index.clone(),
                    value: value.clone(),
                });
            }
            Action::Run { statement, into } => {
                self.add(Operation::Run {
                    statement: statement.clone(),
                    into: into.clone(),
                    plain: is_plain(into),
                    // When all operations are known.
                    flat: None,
                    sweep: None,
                });
            }
            Action::Call {
                routine,
                arguments,
                into,
            } => {
                self.add(Operation::Call {
                    routine: *routine,
                    arguments: arguments.clone(),
                    into: into.clone(),
                });
            }
            Action::If {
                branches,
                otherwise,
            } => self.branches(branches, otherwise),
            Action::Loop { body } => {
                let outside = self.heights;
                let begin = self.here();
                self.turns(begin, outside, body);
                self.add(Operation::Jump(begin));
                self.end_leavable();
            }
            Action::ForInteger {
                slot,
                lower,
                upper,
                step,
                reverse,
                body,
            } => {
                let begin = Operation::BeginIntegers {
                    lower: lower.clone(),
                    upper: upper.clone(),
                    step: step.clone(),
                    reverse: *reverse,
                };
                let next = Operation::NextInteger {
                    slot: *slot,
                    end: LATER,
                    // When all operations are known.
                    elements: Vec::new(),
                };
                self.counted(begin, next, body);
            }
            Action::ForRow {
                statement,
                into,
                body,
            } => {
                let next = Operation::NextRow {
                    into: into.clone(),
                    end: LATER,
                };
                self.counted(Operation::BeginRows(statement.clone()), next, body);
            }
            Action::ForElement { slot, array, body } => {
                let next = Operation::NextElement {
                    slot: *slot,
                    end: LATER,
                };
                self.counted(Operation::BeginElements(array.clone()), next, body);
            }
            Action::Block { body } => {
                self.around.push(Leavable {
                    outside: self.heights,
                    turn: None,
                    exits: Vec::new(),
                });
                self.steps(body);
                self.end_leavable();
            }
            Action::OneState { body } => {
                self.add(Operation::BeginState);
                self.steps(body);
                self.add(Operation::EndState);
            }
            Action::Exit { depth, when } => self.when(when.as_ref(), |writer| {
                let number = writer.around.len() - 1 - depth;
                let to = writer.around[number].outside;
                let at = writer.add(Operation::Leave { to, place: LATER });
                writer.around[number].exits.push(at);
            }),
            Action::Continue { depth, when } => self.when(when.as_ref(), |writer| {
                let number = writer.around.len() - 1 - depth;
                let (place, to) = writer.around[number]
                    .turn
                    .expect("CONTINUE names a loop, or the routine was not validated");
                writer.add(Operation::Leave { to, place });
            }),
            Action::Guard {
                body,
                handlers,
                slots,
            } => self.guard(body, handlers, *slots),
            Action::Raise(raise) => {
                self.add(Operation::Raise(raise.clone()));
            }
            Action::Reraise => {
                self.add(Operation::Reraise);
            }
            Action::Commit => {
                self.add(Operation::Commit);
            }
            Action::Rollback => {
                self.add(Operation::Rollback);
            }
            Action::Fail(error) => {
                self.add(Operation::Fail(error.clone()));
            }
            Action::Return(row) => {
                let row = row.iter().cloned();
                let row = row.map(|value| Computed::new(value, None)).collect();
                self.add(Operation::Return(row));
            }
            Action::ReturnNext(row) => {
                self.add(Operation::ReturnNext(row.clone()));
            }
            Action::ReturnQuery(statement) => {
                self.add(Operation::ReturnQuery(statement.clone()));
            }
            Action::Dynamic(dynamic) => self.dynamic(dynamic),
            Action::Landmark(landmark) => {
                self.add(Operation::Landmark(landmark.clone()));
            }
            Action::RowCount { slot } => {
                self.add(Operation::RowCount { slot: *slot });
            }
            Action::Diagnose { slot, item } => {
                self.add(Operation::Diagnose {
                    slot: *slot,
                    item: *item,
                });
            }
        }
    }

    /// Whether a variable that is to be NULL is so because the routine has just begun: it comes here once, and has only
    /// filled others.
    fn is_null_already(&self, slot: usize, value: &Expr) -> bool {
        let others = |operation: &Operation| match operation {
            Operation::Assign { slot: other, .. } => *other != slot,
            _ => false,
        };
        self.begin_null.get(slot) == Some(&true)
            && matches!(value, Expr::Const(Value::Null, _))
            && self.around.iter().all(|around| around.turn.is_none())
            && self.operations.iter().all(others)
    }

    fn branches(&mut self, branches: &[(Expr, Vec<Step>)], otherwise: &[Step]) {
        let mut ends = Vec::new();
        for (number, (condition, body)) in branches.iter().enumerate() {
            let condition = Computed::new(condition.clone(), None);
            let unless = self.add(Operation::Unless(condition, LATER));
            self.steps(body);
            if number + 1 < branches.len() || !otherwise.is_empty() {
                ends.push(self.add(Operation::Jump(LATER)));
            }
            self.land(unless);
        }
        self.steps(otherwise);
        for end in ends {
            self.land(end);
        }
    }

    /// What is only done if a condition is TRUE.
    fn when(&mut self, condition: Option<&Expr>, write: impl FnOnce(&mut Writer)) {
        let unless = condition.map(|condition| {
            let condition = Computed::new(condition.clone(), None);
            self.add(Operation::Unless(condition, LATER))
        });
        write(self);
        if let Some(unless) = unless {
            self.land(unless);
        }
    }

    /// The body of a loop whose turns begin at a place.
    fn turns(&mut self, begin: Place, outside: Heights, body: &[Step]) {
        self.around.push(Leavable {
            outside,
            turn: Some((begin, self.heights)),
            exits: Vec::new(),
        });
        self.steps(body);
    }

    /// Here ends what was pushed last: its exits come here.
    fn end_leavable(&mut self) {
        let ended = self.around.pop().expect("pushed by who calls this");
        for exit in ended.exits {
            self.land(exit);
        }
    }

    fn dynamic(&mut self, dynamic: &Dynamic) {
        let statement = Box::new(Dynamic {
            turns: None,
            ..dynamic.clone()
        });
        let Some(body) = &dynamic.turns else {
            self.add(Operation::Dynamic {
                statement,
                loops: false,
            });
            return;
        };
        let into = match &dynamic.rows {
            DynamicRows::Into { slots, .. } => slots.as_slice(),
            _ => &[],
        };
        // The rows are converted before the first turn.
        let types = self.types.clone();
        let target =
            |(column, (slot, _)): (usize, &(usize, _))| (*slot, Expr::Column(column, types[*slot]));
        let next = Operation::NextRow {
            into: into.iter().enumerate().map(target).collect(),
            end: LATER,
        };
        let begin = Operation::Dynamic {
            statement,
            loops: true,
        };
        self.counted(begin, next, body);
    }

    /// A loop with a state.
    fn counted(&mut self, begin: Operation, next: Operation, body: &[Step]) {
        let outside = self.heights;
        self.add(begin);
        self.heights.loops += 1;
        let next = self.add(next);
        self.turns(next, outside, body);
        self.add(Operation::Jump(next));
        self.heights = outside;
        // The one at its end drops the state itself.
        self.land(next);
        self.end_leavable();
    }

    fn guard(&mut self, body: &[Step], handlers: &[Handler], slots: [usize; 2]) {
        let begin = self.add(Operation::BeginGuard {
            handlers: Vec::new(),
            slots,
        });
        self.heights.guards += 1;
        self.steps(body);
        self.add(Operation::EndGuard);
        let mut ends = vec![self.add(Operation::Jump(LATER))];
        let mut places = Vec::new();
        for handler in handlers {
            places.push((handler.conditions.clone(), self.here()));
            // A handler runs with its guard on the stack: the error stays known until it ends.
            self.steps(&handler.body);
            self.add(Operation::EndGuard);
            ends.push(self.add(Operation::Jump(LATER)));
        }
        self.heights.guards -= 1;
        for end in ends {
            self.land(end);
        }
        match &mut self.operations[begin] {
            Operation::BeginGuard { handlers, .. } => *handlers = places,
            other => unreachable!("no guard: {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routine::Output;
    use quintet_base::SqlType;

    fn slot(not_null: bool) -> Slot {
        Slot {
            name: "v".into(),
            ty: SqlType::Int4,
            not_null,
        }
    }

    /// Where a NULL is assigned, of slots 0 (an argument), 1 and 2 (variables) and 3 (NOT NULL).
    fn made_null(body: Vec<Action>) -> Vec<usize> {
        let step = |action| Step {
            line: 0,
            needs: None,
            action,
        };
        let routine = Routine {
            name: "r".into(),
            slots: vec![slot(false), slot(false), slot(false), slot(true)],
            arguments: 1,
            strict: false,
            guise: None,
            found: None,
            body: body.into_iter().map(step).collect(),
            output: Output::Nothing,
        };
        let assigned = |operation: &Operation| match operation {
            Operation::Assign { slot, value }
                if matches!(value.expr, Expr::Const(Value::Null, _)) =>
            {
                Some(*slot)
            }
            _ => None,
        };
        let code = Code::new(&routine);
        code.operations.iter().filter_map(assigned).collect()
    }

    #[test]
    fn only_what_is_null_at_the_beginning_is_not_made_null() {
        let set = |slot, value| Action::Assign {
            slot,
            value: Expr::Const(value, SqlType::Int4),
        };
        let null = |slot| set(slot, Value::Null);
        let one = |slot| set(slot, Value::Int4(1));
        let nested = |action| Step {
            line: 0,
            needs: None,
            action,
        };
        assert_eq!(made_null(vec![null(1), one(2), null(1)]), []);
        assert_eq!(made_null(vec![null(0), null(3)]), [0, 3]);
        assert_eq!(made_null(vec![one(1), null(1), null(2)]), [1]);
        let body = vec![
            nested(null(1)),
            nested(Action::Exit {
                depth: 0,
                when: None,
            }),
        ];
        assert_eq!(
            made_null(vec![null(2), Action::Loop { body }, null(2)]),
            [1, 2]
        );
    }
}
