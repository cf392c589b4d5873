//! Loops: what a turn takes over from the one before.
//!
//! Relies on: `flow`.  Promises: a slot that the body may assign holds, where a turn begins, what it held
//! before the loop or at the end of any turn; behind the loop the number of turns has decided, too.
//! Does not: count turns.

use crate::flow::{Inside, Leavable, Walk};
use crate::graph::{Loop, Why};
use crate::known::{Known, known};
use crate::operation::What;
use crate::state::Source;
use quintet_base::Value;
use quintet_ir::ahead::Over;
use quintet_ir::dynamic::{Dynamic, DynamicRows};
use quintet_ir::routine::{Action, Step, each_step};
use quintet_ir::{Expr, Statement};
use std::collections::BTreeSet;

/// The parts of a loop that the walk needs.
struct Parts<'p> {
    /// Evaluated once, at its head.
    exprs: Vec<&'p Expr>,
    /// A query whose rows it goes through.
    statement: Option<&'p Statement>,
    /// Slots that the head assigns.
    assigns: Vec<usize>,
    /// It ends by itself.
    ends: bool,
    body: &'p [Step],
}

fn parts(action: &Action) -> Parts<'_> {
    match action {
        Action::ForInteger {
            slot,
            lower,
            upper,
            step,
            body,
            ..
        } => Parts {
            exprs: vec![lower, upper, step],
            statement: None,
            assigns: vec![*slot],
            ends: true,
            body,
        },
        Action::ForElement { slot, array, body } => Parts {
            exprs: vec![array],
            statement: None,
            assigns: vec![*slot],
            ends: true,
            body,
        },
        Action::ForRow {
            statement,
            into,
            body,
        } => Parts {
            exprs: into.iter().map(|(_, value)| value).collect(),
            statement: Some(statement),
            assigns: into.iter().map(|(slot, _)| *slot).collect(),
            ends: true,
            body,
        },
        Action::Dynamic(dynamic) => Parts {
            exprs: [&dynamic.text]
                .into_iter()
                .chain(&dynamic.arguments)
                .collect(),
            statement: None,
            assigns: into_slots(dynamic),
            ends: true,
            body: dynamic.turns.as_deref().unwrap_or(&[]),
        },
        Action::Loop { body } => Parts {
            exprs: Vec::new(),
            statement: None,
            assigns: Vec::new(),
            ends: false,
            body,
        },
        _ => unreachable!("no loop: {action:?}"),
    }
}

/// The slots that the rows of a dynamic statement go to.
pub(crate) fn into_slots(dynamic: &Dynamic) -> Vec<usize> {
    match &dynamic.rows {
        DynamicRows::Into { slots, .. } => slots.iter().map(|(slot, _)| *slot).collect(),
        DynamicRows::Forgotten
        | DynamicRows::Record
        | DynamicRows::Returned(_)
        | DynamicRows::Opened(_) => Vec::new(),
    }
}

impl<'p> Walk<'p> {
    /// A loop.
    pub fn turns(&mut self, action: &'p Action) {
        let parts = parts(action);
        let outcome = parts
            .statement
            .map(|statement| self.statement(statement, None));
        let over = self.known_turns(action);
        let head = self.add(What::Loop(action), Vec::new(), &parts.exprs);
        for from in outcome.iter().flatten() {
            self.after(*from, head, Why::Rows);
        }
        let number = self.loops.len();
        let own_variable = matches!(
            action,
            Action::ForInteger { .. } | Action::ForElement { .. }
        );
        self.loops.push(Loop {
            head,
            slot: parts.assigns.first().copied().filter(|_| own_variable),
            over,
            left: false,
            distinct: matches!(action, Action::ForInteger { .. }),
        });

        let mut assigned = assigned(parts.body);
        assigned.extend(self.routine.found);
        assigned.insert(self.state.count());
        let (behind, left) = (self.state.behind(), self.state.left());
        each_step(parts.body, &mut |step| match step.action {
            Action::Guard { .. } => assigned.extend([behind, left]),
            Action::Exit { .. } | Action::Continue { .. } | Action::Return(_) => {
                assigned.insert(left);
            }
            _ => {}
        });
        for &slot in &assigned {
            self.state.add(slot, Source::Carried(number, slot));
        }
        let mut over_by_itself = self.state.clone();
        over_by_itself.reachable &= parts.ends;
        for &slot in &parts.assigns {
            over_by_itself.add(slot, Source::Operation(head));
        }

        let symbol = self.routine.slots.len() + number;
        for &slot in &parts.assigns {
            let ty = self.routine.slots[slot].ty;
            let value = own_variable.then(|| Known::new(Expr::Param(symbol, ty)));
            self.state.set(slot, &[head], value);
        }
        self.inside.push(Inside::Loop(head, number));
        self.around.push(Leavable {
            head: Some((head, number)),
            ..Leavable::default()
        });
        self.steps(parts.body);
        let mut ended = self.around.pop().expect("pushed above");
        self.inside.pop();

        // The next turn begins where this one has ended, or was continued.
        let mut end = self.state.clone();
        for (state, why) in ended.turns.drain(..) {
            end.join(&state, &[why], |_, _| None);
        }
        if end.reachable {
            for &slot in &assigned {
                let made_by = end.made_by(slot).clone();
                self.carried.insert((number, slot), made_by);
            }
        }
        self.state = over_by_itself;
        for (state, _) in ended.exits.drain(..) {
            self.state.join(&state, &[head], |_, _| None);
        }
        for slot in assigned {
            // How many turns there were makes no difference to these.
            if ![behind, left].contains(&slot) {
                self.state.add(slot, Source::Operation(head));
            }
        }
        self.forget_leaving();
    }

    /// What a loop goes through, over the arguments.
    fn known_turns(&self, action: &Action) -> Option<Over> {
        let whole = |expr: &Expr| {
            let known = known(expr, &self.state).filter(|known| !known.partial)?;
            Some(Expr::clone(&known.expr))
        };
        match action {
            Action::ForInteger {
                lower,
                upper,
                step,
                reverse,
                ..
            } => Some(Over::Integers {
                lower: whole(lower)?,
                upper: whole(upper)?,
                step: whole(step)?,
                reverse: *reverse,
            }),
            Action::ForElement { array, .. } => match whole(array)? {
                Expr::Const(Value::Null, _) => None,
                array => Some(Over::Elements(array)),
            },
            _ => None,
        }
    }
}

/// The slots that steps may assign.
pub(crate) fn assigned(steps: &[Step]) -> BTreeSet<usize> {
    let mut slots = BTreeSet::new();
    each_step(steps, &mut |step| match &step.action {
        Action::Assign { slot, .. }
        | Action::AssignElement { slot, .. }
        | Action::ForInteger { slot, .. }
        | Action::ForElement { slot, .. }
        | Action::RowCount { slot }
        | Action::Diagnose { slot, .. } => {
            slots.insert(*slot);
        }
        Action::Run { into, .. } | Action::Call { into, .. } => {
            slots.extend(into.targets.iter().map(|(slot, _)| *slot));
        }
        Action::ForRow { into, .. } => slots.extend(into.iter().map(|(slot, _)| *slot)),
        Action::Guard { slots: named, .. } => slots.extend(named),
        Action::Dynamic(dynamic) => slots.extend(into_slots(dynamic)),
        Action::If { .. }
        | Action::Loop { .. }
        | Action::Block { .. }
        | Action::OneState { .. }
        | Action::Exit { .. }
        | Action::Continue { .. }
        | Action::Raise(_)
        | Action::Reraise
        | Action::Commit
        | Action::Rollback
        | Action::Fail(_)
        | Action::Return(_)
        | Action::ReturnNext(_)
        | Action::Landmark(_)
        | Action::ReturnQuery(_) => {}
    });
    slots
}
