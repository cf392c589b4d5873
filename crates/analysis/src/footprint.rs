//! Footprints: which rows a call of a routine may touch, and how, as far as its arguments say it.
//!
//! Relies on: the walk over the routine (`flow`, `deeds`).  Promises: every row that any call reads, adds,
//! changes, removes or locks, and every key of a unique index that it takes or gives up, is in one of the
//! marks, evaluated over that call's arguments; what is not known is wider, never narrower.  Does not: say
//! which calls conflict (`classes` does), or look into sequences, which are outside of transactions.
//!
//! ```text
//!   Mark   stock   update {s_quantity, …}   s_w_id = in_supply_w_ids[i]   s_i_id = in_item_ids[i]
//!            │       │                        └─ path: the key's columns in their order, each
//!            │       └─ effect                   exact, iterated, partial, a range, or unknown
//!            └─ table                     turns: i from 1 to array_length(in_item_ids, 1)
//! ```
//!
//! Rows of a table are named by its primary key, whatever they are found by: an access by another index
//! says of the primary key only what its equalities say. So two accesses to one row meet, by whichever index
//! each of them comes. A unique index has an order of its own, for the keys that are taken and given up in it.
//!
//! Source: Gargamel, chapter 3; the words "exact", "iterated" and "unknown" are those of the design, §3.

use crate::deeds::{Context, Deed, Effect};
use crate::graph::Graph;
use crate::inlined;
use crate::known::{Known, is_fixed};
use crate::operation::{Bound, Template};
use quintet_base::{SequenceId, SqlType};
use quintet_ir::ahead::{Over, Turns};
use quintet_ir::routine::{Action, Into, Output, Slot, Step};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::Body;
use quintet_ir::{Expr, Procedure, Program, Routine, TableDef};
use std::collections::BTreeSet;

/// Marks that a footprint may have; with more it says no more than which tables are touched, and how.
pub(crate) const MARKS_MAX: usize = 512;

/// See the module.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// The routine's.
    pub name: String,
    /// Types of the arguments.
    pub arguments: Vec<SqlType>,
    /// Of the places that expressions see: the arguments, and behind them the variables of turns.
    pub names: Vec<String>,
    /// In the order of the source; no two the same.
    pub marks: Vec<Mark>,
    /// What each mark says.
    said: BTreeSet<String>,
}

/// Rows that may be touched.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Of this table.
    pub table: TableRef,
    /// What is done to them.
    pub effect: Effect,
    /// A read of one row by its primary key, of which our own commit remembers the columns; other reads it
    /// validates as reads of whole rows.
    pub glanced: bool,
    /// Rows that are added: a column of their keys comes from this sequence, so that no two calls add one key,
    /// as long as nobody sets the sequence back and it does not cycle.
    pub numbered: Option<SequenceId>,
    /// One for each column of the order that they are named in; see [`Effect::columns`].
    pub path: Vec<KeyPart>,
    /// For each of these, outermost first: loops that the path's known beginning goes through.
    pub turns: Vec<Turns>,
    /// Only if each of these is TRUE, or is not.
    pub only_if: Vec<(Expr, bool)>,
    /// In the source of the routine, or of the one that it calls; 0 = none.
    pub line: u32,
}

/// What is known of a key's column before the call begins. Expressions are over the footprint's places.
#[derive(Clone, Debug)]
pub enum KeyPart {
    /// It equals this, which follows from the arguments alone.
    Exact(Expr),
    /// It equals this, in some turn of the loops.
    Iterated(Expr),
    /// It equals this; anything where this is NULL.
    Partial(Expr),
    /// It lies between bounds.
    Range,
    /// Nothing, or only when the routine runs.
    Unknown,
}

impl Effect {
    /// The columns by which the rows, or the keys, are ordered. The row id of a table without a primary key
    /// has the number behind its columns.
    pub fn columns(&self, table: &TableDef) -> Vec<usize> {
        match self {
            Effect::Claim(index) | Effect::Release(index) => table.indexes[*index].columns.clone(),
            _ => table.key_columns(),
        }
    }
}

impl KeyPart {
    /// What it equals, if something is known of that.
    pub fn expr(&self) -> Option<&Expr> {
        match self {
            KeyPart::Exact(expr) | KeyPart::Iterated(expr) | KeyPart::Partial(expr) => Some(expr),
            KeyPart::Range | KeyPart::Unknown => None,
        }
    }
}

impl Mark {
    /// The parts that are known, up to the first that is not.
    pub fn known(&self) -> impl Iterator<Item = &KeyPart> {
        self.path.iter().take_while(|part| part.expr().is_some())
    }

    /// Two marks that say the same print the same; of the line nobody asks.
    pub(crate) fn said(&self) -> String {
        let Mark {
            table,
            effect,
            glanced,
            numbered,
            path,
            turns,
            only_if,
            ..
        } = self;
        format!(
            "{:?} {effect:?} {glanced} {numbered:?} {path:?} {turns:?} {only_if:?}",
            table.id
        )
    }

    /// Leaves out of the turns and conditions what the known beginning of the path has no use for.
    pub(crate) fn trim(&mut self, arguments: usize) {
        let mut used = BTreeSet::new();
        for part in self.known() {
            crate::expressions::slots(part.expr().expect("it is known"), &mut used);
        }
        let mut kept = Vec::new();
        for turns in self.turns.drain(..).rev() {
            if used.contains(&turns.place) {
                for expr in exprs_of(&turns.over) {
                    crate::expressions::slots(expr, &mut used);
                }
                kept.push(turns);
            }
        }
        kept.reverse();
        let gone_through = |place: usize| kept.iter().any(|turns| turns.place == place);
        self.only_if.retain(|(condition, _)| {
            let mut used = BTreeSet::new();
            crate::expressions::slots(condition, &mut used);
            used.iter()
                .all(|place| *place < arguments || gone_through(*place))
        });
        self.turns = kept;
    }
}

/// The expressions of what a loop goes through.
pub(crate) fn exprs_of(over: &Over) -> Vec<&Expr> {
    match over {
        Over::Integers {
            lower, upper, step, ..
        } => vec![lower, upper, step],
        Over::Elements(array) => vec![array],
    }
}

impl Footprint {
    /// Of a program's first routine.
    ///
    /// # Panics
    /// If the program has none.
    pub fn of(program: &Program) -> Footprint {
        inlined::Inliner::default().footprint(program, 0)
    }

    /// True if no call changes or locks a row: on a snapshot it is valid whatever others do, and is in nobody's way.
    pub fn only_reads(&self) -> bool {
        let mut effects = self.marks.iter().map(|mark| &mark.effect);
        effects.all(|effect| matches!(effect, Effect::Read(_)))
    }

    /// Of a lone statement, or of a call whose arguments are expressions over parameters.
    pub fn of_procedure(procedure: &Procedure) -> Footprint {
        let action = match &procedure.body {
            Body::Statement(statement) => Action::Run {
                statement: statement.clone(),
                into: Into::default(),
            },
            Body::Call { program, arguments } => {
                let called = Footprint::of(program);
                return inlined::called_with(&called, arguments, &procedure.params);
            }
        };
        let routine = Routine {
            name: "statement".to_string(),
            slots: procedure
                .params
                .iter()
                .map(|ty| Slot::hidden(*ty))
                .collect(),
            arguments: procedure.params.len(),
            strict: false,
            guise: None,
            found: None,
            body: vec![Step {
                line: 0,
                action,
                needs: None,
            }],
            output: Output::Nothing,
        };
        Footprint::of(&Program::new(vec![routine]))
    }

    /// What a routine does by itself, without those that it calls.
    pub(crate) fn own(graph: &Graph<'_>) -> Footprint {
        let routine = graph.routine;
        let mut names: Vec<String> = (0..routine.arguments)
            .map(|slot| match routine.slots[slot].name.as_str() {
                "" => format!("${}", slot + 1),
                name => name.to_string(),
            })
            .collect();
        for looped in &graph.loops {
            let named = looped.slot.map(|slot| routine.slots[slot].name.clone());
            names.push(
                named
                    .filter(|name| !name.is_empty())
                    .unwrap_or_else(|| "i".to_string()),
            );
        }
        let types = routine.slots[..routine.arguments].iter();
        let types = types.map(|slot| slot.ty).collect();
        let mut footprint = Footprint::empty(routine.name.clone(), types, names);
        for deed in &graph.deeds {
            footprint.add(mark(graph, deed));
        }
        footprint
    }

    /// Nothing is touched.
    pub(crate) fn empty(name: String, arguments: Vec<SqlType>, names: Vec<String>) -> Footprint {
        Footprint {
            name,
            arguments,
            names,
            marks: Vec::new(),
            said: BTreeSet::new(),
        }
    }

    /// One more mark, unless it is there.
    pub(crate) fn add(&mut self, mut mark: Mark) {
        let arguments = self.arguments.len();
        mark.trim(arguments);
        for part in &mut mark.path {
            if let KeyPart::Exact(expr) | KeyPart::Iterated(expr) = part {
                let mut used = BTreeSet::new();
                crate::expressions::slots(expr, &mut used);
                let expr = expr.clone();
                *part = match used.iter().any(|place| *place >= arguments) {
                    true => KeyPart::Iterated(expr),
                    false => KeyPart::Exact(expr),
                };
            }
        }
        if self.said.insert(mark.said()) {
            self.marks.push(mark);
        }
    }

    /// Replaces all marks.
    pub(crate) fn change(&mut self, change: impl Fn(Mark) -> Mark) {
        self.said.clear();
        for mark in std::mem::take(&mut self.marks) {
            self.add(change(mark));
        }
    }
}

fn mark(graph: &Graph<'_>, deed: &Deed) -> Mark {
    let places = Places::new(graph, &deed.context);
    let part = |column: &usize| {
        let pins = deed.pins.iter().filter(|pin| pin.column == *column);
        let equal = pins.clone().filter(|pin| pin.bound == Bound::Equal);
        let known = equal.map(|pin| places.part(&pin.template));
        let known = known.filter(|part| part.expr().is_some());
        // Of several equalities the one that says most.
        let best = known.min_by_key(|part| matches!(part, KeyPart::Partial(_)));
        let bounded = pins.clone().any(|pin| pin.bound != Bound::Equal);
        best.unwrap_or(if bounded {
            KeyPart::Range
        } else {
            KeyPart::Unknown
        })
    };
    let (turns, only_if) = places.around();
    Mark {
        table: TableRef::clone(&deed.table),
        effect: deed.effect.clone(),
        glanced: deed.glanced,
        numbered: deed.numbered,
        path: deed.effect.columns(&deed.table).iter().map(part).collect(),
        turns,
        only_if,
        line: deed.context.line,
    }
}

/// What expressions may see at a place of a routine: the arguments, and the variables of those loops
/// around it of which it is known what they go through.
pub(crate) struct Places<'a, 'p> {
    graph: &'a Graph<'p>,
    context: &'a Context,
    seen: BTreeSet<usize>,
}

impl<'a, 'p> Places<'a, 'p> {
    pub fn new(graph: &'a Graph<'p>, context: &'a Context) -> Places<'a, 'p> {
        let mut places = Places {
            graph,
            context,
            seen: (0..graph.routine.arguments).collect(),
        };
        for &number in &context.loops {
            if let Some(over) = &graph.loops[number].over
                && exprs_of(over).into_iter().all(|expr| places.sees(expr))
            {
                places.seen.insert(graph.symbol(number));
            }
        }
        places
    }

    /// True if an expression has its value before the call begins.
    fn sees(&self, expr: &Expr) -> bool {
        let mut used = BTreeSet::new();
        crate::expressions::slots(expr, &mut used);
        used.is_subset(&self.seen) && is_fixed(expr)
    }

    /// The expression over the footprint's places.
    pub fn renumbered(&self, expr: &Expr) -> Option<Expr> {
        if !self.sees(expr) {
            return None;
        }
        let (slots, arguments) = (self.graph.routine.slots.len(), self.graph.routine.arguments);
        let mut expr = expr.clone();
        renumber(&mut expr, &|slot| match slot < slots {
            true => slot,
            false => slot - slots + arguments,
        });
        Some(expr)
    }

    /// The same of a value.
    pub fn known(&self, known: &Known) -> Option<Known> {
        Some(Known {
            expr: std::sync::Arc::new(self.renumbered(&known.expr)?),
            partial: known.partial,
        })
    }

    fn part(&self, template: &Template) -> KeyPart {
        let renumbered = template.expr().and_then(|expr| self.renumbered(expr));
        match (template, renumbered) {
            (Template::Exact(_), Some(expr)) => KeyPart::Exact(expr),
            (Template::Iterated(_), Some(expr)) => KeyPart::Iterated(expr),
            (Template::Partial(_), Some(expr)) => KeyPart::Partial(expr),
            _ => KeyPart::Unknown,
        }
    }

    /// The loops and conditions around, as far as they are known.
    pub fn around(&self) -> (Vec<Turns>, Vec<(Expr, bool)>) {
        let turns = self.context.loops.iter().filter_map(|&number| {
            let over = match self.graph.loops[number].over.as_ref()? {
                Over::Integers {
                    lower,
                    upper,
                    step,
                    reverse,
                } => Over::Integers {
                    lower: self.renumbered(lower)?,
                    upper: self.renumbered(upper)?,
                    step: self.renumbered(step)?,
                    reverse: *reverse,
                },
                Over::Elements(array) => Over::Elements(self.renumbered(array)?),
            };
            let place = self.graph.routine.arguments + number;
            Some(Turns { place, over })
        });
        let conditions = self
            .context
            .branches
            .iter()
            .filter_map(|(condition, held)| {
                let known = self.graph.conditions[*condition].as_ref()?;
                Some((self.renumbered(known)?, *held))
            });
        (turns.collect(), conditions.collect())
    }
}

/// Gives parameters other numbers.
pub(crate) fn renumber(expr: &mut Expr, number: &dyn Fn(usize) -> usize) {
    if let Expr::Param(slot, _) = expr {
        *slot = number(*slot);
    }
    expr.for_each_part_mut(&mut |part| renumber(part, number));
}
