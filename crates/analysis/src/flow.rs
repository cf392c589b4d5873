//! The walk over a routine's steps: operations, and the procedure constraints between them.
//!
//! Relies on: `state` for where values come from, `statement` for the operations of one statement,
//! `loops` and `guards` for steps that others stand in.  Promises: one walk, in the order of the source;
//! what a slot may hold is never forgotten.  Does not: know which rows are the same.
//!
//! ```text
//!   IF c THEN k := a;        c ─branch─► k := a            k holds what either branch has made,
//!        ELSE k := b;        c ─branch─► k := b            and c decided which:
//!   SELECT … WHERE id = k    k := a, k := b, c ─value k─► read
//! ```
//! A read in a branch does not wait for the condition, which is why the condition counts as a maker of what
//! the branches assign.

use crate::deeds::{Deed, Site};
use crate::expressions::{calls, slots};
use crate::graph::{Constraint, Graph, Loop, Why};
use crate::known::{Known, either, known};
use crate::loops::into_slots;
use crate::operation::{Operation, Touch, What};
use crate::state::{Source, State};
use quintet_base::{TableId, Value};
use quintet_ir::dynamic::Dynamic;
use quintet_ir::routine::{Action, Callee, Into, Severity, Step, each_step};
use quintet_ir::schema::TableRef;
use quintet_ir::{Expr, Program, Routine, Statement};
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
pub(crate) struct Walk<'p> {
    pub program: &'p Program,
    pub routine: &'p Routine,
    pub operations: Vec<Operation<'p>>,
    pub loops: Vec<Loop>,
    pub state: State,
    /// Compound operations around the step at hand.
    pub inside: Vec<Inside>,
    /// What EXIT and CONTINUE may name, innermost last.
    pub around: Vec<Leavable>,
    /// What slots hold at the end of a loop's turns.
    pub carried: BTreeMap<(usize, usize), BTreeSet<Source>>,
    pub line: u32,
    /// What statements do to rows.
    pub deeds: Vec<Deed>,
    /// Calls of other routines.
    pub sites: Vec<Site<'p>>,
    edges: Vec<(Source, usize, Why)>,
    conditions: Vec<Option<Expr>>,
}

/// A compound operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inside {
    /// A condition, and whether it held.
    Branch(usize, bool),
    /// The head of a loop, and its number.
    Loop(usize, usize),
    /// The body of a block with handlers.
    Guard,
    /// A handler.
    Handler(usize),
}

/// A loop or labelled block.
#[derive(Debug, Default)]
pub(crate) struct Leavable {
    /// The head and the number, if it is a loop.
    pub head: Option<(usize, usize)>,
    /// States at EXIT, with the operations that decided.
    pub exits: Vec<(State, usize)>,
    /// States at CONTINUE.
    pub turns: Vec<(State, usize)>,
}

impl<'p> Walk<'p> {
    /// Walks over a whole routine.
    pub fn over(program: &'p Program, routine: &'p Routine) -> Graph<'p> {
        let mut walk = Walk {
            program,
            routine,
            operations: Vec::new(),
            loops: Vec::new(),
            state: State::new(routine),
            inside: Vec::new(),
            around: Vec::new(),
            carried: BTreeMap::new(),
            line: 0,
            deeds: Vec::new(),
            sites: Vec::new(),
            edges: Vec::new(),
            conditions: Vec::new(),
        };
        walk.steps(&routine.body);
        walk.conditions.resize(walk.operations.len(), None);
        let constraints = walk.constraints();
        Graph {
            routine,
            constraints,
            operations: walk.operations,
            loops: walk.loops,
            conditions: walk.conditions,
            deeds: walk.deeds,
            sites: walk.sites,
        }
    }

    pub fn steps(&mut self, steps: &'p [Step]) {
        for step in steps {
            // What nothing leads to is not run.
            if !self.state.reachable {
                return;
            }
            let line = std::mem::replace(&mut self.line, step.line);
            self.step(&step.action);
            self.line = line;
        }
    }

    fn step(&mut self, action: &'p Action) {
        match action {
            // How every variable begins; nothing waits for it.
            Action::Assign {
                slot,
                value: value @ Expr::Const(..),
            } if self.line == 0 || matches!(value, Expr::Const(Value::Null, _)) => {
                self.state.set(*slot, &[], Some(Known::new(value.clone())));
            }
            Action::Assign { slot, value } => {
                let value_known = known(value, &self.state);
                let made = self.plain(action, &[value]);
                self.state.set(*slot, &[made], value_known);
            }
            Action::AssignElement { slot, index, value } => {
                let made = self.plain(action, &[index, value]);
                self.uses(made, [*slot]);
                self.state.set(*slot, &[made], None);
            }
            Action::Run { statement, into } => {
                let outcome = self.statement(statement, Some(into));
                self.into(into, &outcome, Some(statement));
            }
            Action::Call {
                routine,
                arguments,
                into,
            } => {
                self.note_site(self.program, *routine, arguments);
                let arguments: Vec<&Expr> = arguments.iter().collect();
                let called = &self.program.routines[*routine];
                let made = self.plain(action, &arguments);
                let touches = self.touched(std::slice::from_ref(called), self.program);
                self.operations[made].what = What::Call(&called.name);
                self.operations[made].touches.extend(touches);
                self.into(into, &[made], None);
            }
            Action::If {
                branches,
                otherwise,
            } => self.branches(branches, otherwise),
            Action::Loop { .. }
            | Action::ForInteger { .. }
            | Action::ForRow { .. }
            | Action::ForElement { .. } => self.turns(action),
            Action::Dynamic(dynamic) if dynamic.turns.is_some() => self.turns(action),
            Action::Block { body } => self.block(body),
            Action::OneState { body } => self.steps(body),
            Action::Exit { depth, when } | Action::Continue { depth, when } => {
                self.leave(action, *depth, when.as_ref());
            }
            Action::Guard {
                body,
                handlers,
                slots,
            } => self.guarded(body, handlers, *slots),
            Action::Raise(raise) => {
                let options = raise.options.iter().map(|(_, value)| value);
                let exprs: Vec<&Expr> = raise.arguments.iter().chain(options).collect();
                self.plain(action, &exprs);
                if raise.severity == Severity::Exception {
                    self.state.reachable = false;
                }
            }
            Action::Reraise | Action::Fail(_) => {
                self.plain(action, &[]);
                self.state.reachable = false;
            }
            Action::Landmark(_) => {}
            Action::Dynamic(dynamic) => self.dynamic(action, dynamic),
            Action::Commit | Action::Rollback => {
                let made = self.plain(action, &[]);
                for number in 0..made {
                    if !self.operations[number].touches.is_empty() {
                        self.after(number, made, Why::Handler);
                    }
                }
                let behind = self.state.behind();
                self.state.set(behind, &[made], None);
            }
            Action::Return(row) => {
                let exprs: Vec<&Expr> = row.iter().collect();
                let made = self.plain(action, &exprs);
                for number in 0..self.around.len() {
                    self.leaves_loop(number, made);
                }
                self.state.add(self.state.left(), Source::Operation(made));
                self.state.reachable = false;
            }
            Action::ReturnNext(row) => {
                let exprs: Vec<&Expr> = row.iter().collect();
                self.plain(action, &exprs);
            }
            Action::ReturnQuery(statement) => {
                let outcome = self.statement(statement, None);
                self.counted(&outcome);
            }
            Action::RowCount { slot } => {
                let made = self.plain(action, &[]);
                self.uses(made, [self.state.count()]);
                self.state.set(*slot, &[made], None);
            }
            Action::Diagnose { slot, .. } => {
                let made = self.plain(action, &[]);
                self.state.set(*slot, &[made], None);
            }
        }
    }

    /// What it touches nobody knows before it is there, so it keeps its place among what does touch rows.
    fn dynamic(&mut self, action: &'p Action, dynamic: &'p Dynamic) {
        let exprs: Vec<&Expr> = [&dynamic.text]
            .into_iter()
            .chain(&dynamic.arguments)
            .collect();
        let made = self.plain(action, &exprs);
        for number in 0..made {
            if !self.operations[number].touches.is_empty() {
                self.after(number, made, Why::Handler);
            }
        }
        let behind = self.state.behind();
        self.state.set(behind, &[made], None);
        self.counted(&[made]);
        for slot in into_slots(dynamic) {
            self.state.set(slot, &[made], None);
        }
    }

    /// An operation that is a step of its own.
    fn plain(&mut self, action: &'p Action, exprs: &[&'p Expr]) -> usize {
        self.add(What::Step(action), Vec::new(), exprs)
    }

    /// A new operation that evaluates expressions, with the procedure constraints that every operation has.
    pub fn add(
        &mut self,
        what: What<'p>,
        mut touches: Vec<Touch<'p>>,
        exprs: &[&'p Expr],
    ) -> usize {
        let mut called = Vec::new();
        exprs.iter().for_each(|expr| calls(expr, &mut called));
        for (callee, arguments) in called {
            touches.extend(self.called(callee));
            self.note_call(callee, arguments);
        }
        let number = self.operations.len();
        let loops = self.inside.iter().filter_map(|inside| match inside {
            Inside::Loop(_, number) => Some(*number),
            _ => None,
        });
        let branches = self.inside.iter().filter_map(|inside| match inside {
            Inside::Branch(condition, held) => Some((*condition, *held)),
            _ => None,
        });
        let in_handler = |inside: &Inside| matches!(inside, Inside::Handler(_));
        self.operations.push(Operation {
            line: self.line,
            depth: self.inside.len(),
            loops: loops.collect(),
            branches: branches.collect(),
            in_handler: self.inside.iter().any(in_handler),
            what,
            touches,
        });
        let mut used = BTreeSet::new();
        exprs.iter().for_each(|expr| slots(expr, &mut used));
        self.uses(number, used);
        self.after_makers(number, self.state.behind(), Why::Handler);
        self.control(number);
        number
    }

    /// The constraints that come of where an operation stands.
    fn control(&mut self, number: usize) {
        let leaves = self.operations[number].leaves();
        if leaves {
            self.after_makers(number, self.state.left(), Why::Leaving);
        }
        let mut innermost = (false, false, false);
        for inside in self.inside.clone().iter().rev() {
            let (from, why) = match inside {
                // Whether it leaves, others wait for: it waits for every condition around.
                Inside::Branch(condition, _) if leaves || !innermost.0 => {
                    innermost.0 = true;
                    (*condition, Why::Branch)
                }
                Inside::Loop(head, _) if !innermost.1 => {
                    innermost.1 = true;
                    (*head, Why::Turn)
                }
                Inside::Handler(handler) if !innermost.2 => {
                    innermost.2 = true;
                    (*handler, Why::Handler)
                }
                _ => continue,
            };
            self.edges.push((Source::Operation(from), number, why));
        }
    }

    /// An operation waits for another.
    pub fn after(&mut self, from: usize, to: usize, why: Why) {
        self.edges.push((Source::Operation(from), to, why));
    }

    /// An operation waits for the values of slots.
    pub fn uses(&mut self, number: usize, slots: impl IntoIterator<Item = usize>) {
        for slot in slots {
            self.after_makers(number, slot, Why::Value(slot));
        }
    }

    fn after_makers(&mut self, number: usize, slot: usize, why: Why) {
        for source in self.state.made_by(slot) {
            self.edges.push((*source, number, why));
        }
    }

    /// A statement's rows go into slots.
    fn into(&mut self, into: &'p Into, outcome: &[usize], statement: Option<&'p Statement>) {
        for (slot, value) in &into.targets {
            let value = statement.and_then(|statement| lone_value(statement, value));
            let value = value.and_then(|value| known(value, &self.state));
            self.state.set(*slot, outcome, value);
        }
        if !into.silent {
            self.counted(outcome);
        }
    }

    /// FOUND and ROW_COUNT hear of a statement.
    fn counted(&mut self, outcome: &[usize]) {
        self.state.set(self.state.count(), outcome, None);
        if let Some(found) = self.routine.found {
            self.state.set(found, outcome, None);
        }
    }

    fn branches(&mut self, branches: &'p [(Expr, Vec<Step>)], otherwise: &'p [Step]) {
        let depth = self.inside.len();
        let mut ends: Vec<(usize, Option<Known>, State)> = Vec::new();
        for (condition, body) in branches {
            let condition_known = known(condition, &self.state);
            let number = self.add(What::Condition(condition), Vec::new(), &[condition]);
            self.conditions.resize(number + 1, None);
            let whole = condition_known.as_ref().filter(|known| !known.partial);
            self.conditions[number] = whole.map(|known| Expr::clone(&known.expr));
            let before = self.state.clone();
            self.inside.push(Inside::Branch(number, true));
            self.steps(body);
            self.inside.pop();
            let end = std::mem::replace(&mut self.state, before);
            ends.push((number, condition_known, end));
            self.inside.push(Inside::Branch(number, false));
        }
        self.steps(otherwise);
        self.inside.truncate(depth);
        for (number, condition, mut then) in ends.into_iter().rev() {
            then.join(&self.state, &[number], |then, otherwise| {
                either(condition.as_ref(), then, otherwise)
            });
            self.state = then;
        }
    }

    /// A labelled block.
    fn block(&mut self, body: &'p [Step]) {
        self.around.push(Leavable::default());
        self.steps(body);
        let left = self.around.pop().expect("pushed above");
        for (state, why) in left.exits {
            self.state.join(&state, &[why], |_, _| None);
        }
        self.forget_leaving();
    }

    /// Behind the outermost loop or block nothing can be left any more.
    pub fn forget_leaving(&mut self) {
        if self.around.is_empty() {
            let left = self.state.left();
            self.state.set(left, &[], None);
        }
    }

    /// EXIT and CONTINUE.
    fn leave(&mut self, action: &'p Action, depth: usize, when: Option<&'p Expr>) {
        let exprs: Vec<&Expr> = when.into_iter().collect();
        let made = self.plain(action, &exprs);
        let Some(number) = (self.around.len()).checked_sub(depth + 1) else {
            return;
        };
        self.state.add(self.state.left(), Source::Operation(made));
        let continues = matches!(action, Action::Continue { .. });
        // CONTINUE of an outer loop ends the inner ones.
        let first = if continues { number + 1 } else { number };
        for number in first..self.around.len() {
            self.leaves_loop(number, made);
        }
        let state = self.state.clone();
        let to = &mut self.around[number];
        match continues {
            true => to.turns.push((state, made)),
            false => to.exits.push((state, made)),
        }
        self.state.reachable &= when.is_some();
    }

    /// How many turns a loop has is decided by this, too.
    fn leaves_loop(&mut self, number: usize, by: usize) {
        if let Some((head, number)) = self.around[number].head {
            self.loops[number].left = true;
            self.after(by, head, Why::Leaving);
        }
    }

    /// What a called routine may touch.
    pub fn called(&self, callee: &'p Callee) -> Vec<Touch<'p>> {
        match &callee.program {
            Some(program) => {
                self.touched(&program.routines[..1.min(program.routines.len())], program)
            }
            None => match self.program.numbers.get(&callee.id) {
                Some(number) => self.touched(
                    std::slice::from_ref(&self.program.routines[*number]),
                    self.program,
                ),
                // Unknown to the program: it cannot be called, either.
                None => Vec::new(),
            },
        }
    }

    /// The tables that routines and those that they call may touch, each once per kind of touch.
    fn touched(&self, routines: &[Routine], program: &Program) -> Vec<Touch<'p>> {
        let mut tables: BTreeMap<(TableId, bool), TableRef> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut next: Vec<(&Routine, &Program)> =
            routines.iter().map(|routine| (routine, program)).collect();
        while let Some((routine, program)) = next.pop() {
            if !seen.insert(std::ptr::from_ref(routine)) {
                continue;
            }
            each_step(&routine.body, &mut |step| {
                crate::statement::touched(&step.action, &mut |table, writes| {
                    tables.insert((table.id, writes), TableRef::clone(table));
                });
                crate::statement::called(&step.action, &mut |callee| match &callee.program {
                    Some(program) => {
                        next.extend(
                            program
                                .routines
                                .first()
                                .map(|routine| (routine, &**program)),
                        );
                    }
                    None => next.extend(
                        (program.numbers.get(&callee.id))
                            .map(|number| (&program.routines[*number], program)),
                    ),
                });
                if let Action::Call { routine, .. } = &step.action {
                    next.push((&program.routines[*routine], program));
                }
            });
        }
        let touch = |((_, writes), table)| Touch {
            table,
            writes,
            locks: false,
            keys: Vec::new(),
            outer: Vec::new(),
            path: None,
        };
        tables.into_iter().map(touch).collect()
    }

    /// The constraints with what loops carry from turn to turn put in.
    fn constraints(&self) -> Vec<Constraint> {
        let mut constraints = BTreeSet::new();
        for (source, to, why) in &self.edges {
            let mut seen = BTreeSet::new();
            let mut next = vec![*source];
            while let Some(source) = next.pop() {
                match source {
                    Source::Operation(from) => {
                        let [maker, user] = [from, *to].map(|n| &self.operations[n].loops);
                        let turns = |(number, _): &(usize, usize)| {
                            maker.contains(number) && user.contains(number)
                        };
                        // What leaves a loop decides its next turns.
                        let carried = from >= *to || seen.iter().any(turns);
                        constraints.insert(Constraint {
                            from,
                            to: *to,
                            why: *why,
                            carried,
                        });
                    }
                    Source::Carried(number, slot) => {
                        if seen.insert((number, slot))
                            && let Some(sources) = self.carried.get(&(number, slot))
                        {
                            next.extend(sources);
                        }
                    }
                }
            }
        }
        constraints.into_iter().collect()
    }
}

/// What a query of one row without tables gives for a value over that row.
fn lone_value<'p>(statement: &'p Statement, value: &'p Expr) -> Option<&'p Expr> {
    let Statement::Query(quintet_ir::Plan::Values { rows, .. }) = statement else {
        return None;
    };
    match (rows.as_slice(), value) {
        ([row], Expr::Column(column, _)) => row.get(*column),
        _ => None,
    }
}
