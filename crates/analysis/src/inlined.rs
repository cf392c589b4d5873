//! Footprints of routines that call others.
//!
//! Relies on: `footprint` for what a routine does by itself.  Promises: what a called routine may touch is
//! among the marks of its caller, over the caller's arguments where the call's are known; routines that
//! call one another in circles are widened to the tables that they touch.  Does not: simplify.

use crate::deeds::{Effect, Site};
use crate::footprint::{Footprint, KeyPart, MARKS_MAX, Mark, Places};
use crate::graph::Graph;
use crate::known::{Known, replaced};
use quintet_base::SqlType;
use quintet_ir::ahead::{Over, Turns};
use quintet_ir::schema::TableRef;
use quintet_ir::{Expr, Program, Routine};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Calls within calls that are looked into; deeper ones are widened.
const DEPTH_MAX: usize = 8;

/// Makes the footprints of a program's routines.
#[derive(Default)]
pub(crate) struct Inliner<'p> {
    /// Those whose footprints are being made.
    within: Vec<&'p Routine>,
    /// Those that are made.
    made: Vec<(&'p Routine, Rc<Footprint>)>,
}

impl<'p> Inliner<'p> {
    /// The footprint of a routine.
    pub fn footprint(&mut self, program: &'p Program, number: usize) -> Footprint {
        let routine = &program.routines[number];
        let graph = Graph::new(program, number);
        let mut footprint = Footprint::own(&graph);
        self.within.push(routine);
        for site in &graph.sites {
            self.site(&graph, site, &mut footprint);
        }
        self.within.pop();
        if footprint.marks.len() > MARKS_MAX {
            footprint.change(|mark| widened(mark, 0));
        }
        footprint
    }

    /// Adds what a call may touch.
    fn site(&mut self, graph: &Graph<'p>, site: &Site<'p>, footprint: &mut Footprint) {
        let called = &site.program.routines[site.routine];
        let in_circle = self.within.iter().any(|other| std::ptr::eq(*other, called));
        if in_circle || self.within.len() > DEPTH_MAX {
            reached(site.program, site.routine, &mut |graph| {
                for mark in Footprint::own(graph).marks {
                    footprint.add(widened(mark, site.context.line));
                }
            });
            return;
        }
        let made = (self.made.iter()).find(|(other, _)| std::ptr::eq(*other, called));
        let inner = match made {
            Some((_, made)) => Rc::clone(made),
            None => {
                let made = Rc::new(self.footprint(site.program, site.routine));
                self.made.push((called, Rc::clone(&made)));
                made
            }
        };
        let places = Places::new(graph, &site.context);
        let arguments: Vec<Option<Known>> = (site.arguments.iter())
            .map(|argument| places.known(argument.as_ref()?))
            .collect();
        let first_place = footprint.names.len();
        let behind = inner.names[inner.arguments.len()..].iter().cloned();
        footprint.names.extend(behind);
        let call = Call {
            inner: &inner,
            arguments: &arguments,
            first_place,
        };
        let (turns, only_if) = places.around();
        for mark in &inner.marks {
            let mut mark = call.mark(mark);
            mark.turns.splice(0..0, turns.iter().cloned());
            mark.only_if.extend(only_if.iter().cloned());
            mark.line = site.context.line;
            footprint.add(mark);
        }
    }
}

/// The footprint of a call whose arguments are expressions over parameters of these types.
pub(crate) fn called_with(inner: &Footprint, arguments: &[Expr], params: &[SqlType]) -> Footprint {
    let known = |expr: &Expr| {
        let early = crate::known::may_be_early(expr) && crate::known::is_fixed(expr);
        early.then(|| Known::new(expr.clone()))
    };
    let arguments: Vec<Option<Known>> = arguments.iter().map(known).collect();
    let names = (1..=params.len()).map(|number| format!("${number}"));
    let behind = inner.names[inner.arguments.len()..].iter().cloned();
    let names = names.chain(behind).collect();
    let mut footprint = Footprint::empty(inner.name.clone(), params.to_vec(), names);
    let call = Call {
        inner,
        arguments: &arguments,
        first_place: params.len(),
    };
    for mark in &inner.marks {
        footprint.add(call.mark(mark));
    }
    footprint
}

/// Any row of the table.
fn widened(mark: Mark, line: u32) -> Mark {
    Mark {
        path: mark.path.iter().map(|_| KeyPart::Unknown).collect(),
        turns: Vec::new(),
        only_if: Vec::new(),
        glanced: false,
        numbered: mark.numbered,
        effect: match mark.effect {
            // One for all sets of columns, so that they stay few.
            Effect::Read(_) => Effect::Read(every_column(&mark.table)),
            Effect::Update(_) => Effect::Update(every_column(&mark.table)),
            Effect::Check(_) => Effect::Check(every_column(&mark.table)),
            effect => effect,
        },
        line,
        table: mark.table,
    }
}

fn every_column(table: &TableRef) -> BTreeSet<usize> {
    (0..table.frame_width()).collect()
}

/// Shows the graphs of a routine and of all that it may call, each once.
fn reached<'p>(program: &'p Program, routine: usize, see: &mut dyn FnMut(&Graph<'p>)) {
    let mut seen: Vec<&Routine> = Vec::new();
    let mut next = vec![(program, routine)];
    while let Some((program, number)) = next.pop() {
        let routine = &program.routines[number];
        if seen.iter().any(|other| std::ptr::eq(*other, routine)) {
            continue;
        }
        seen.push(routine);
        let graph = Graph::new(program, number);
        see(&graph);
        next.extend(graph.sites.iter().map(|site| (site.program, site.routine)));
    }
}

/// A call of a routine, as its caller sees it.
struct Call<'a> {
    inner: &'a Footprint,
    /// Over the caller's places.
    arguments: &'a [Option<Known>],
    /// Where the variables of the called routine's turns go.
    first_place: usize,
}

impl Call<'_> {
    /// A mark of the called routine over the places of its caller.
    fn mark(&self, mark: &Mark) -> Mark {
        let mut turns = Vec::new();
        let mut lost = BTreeSet::new();
        for inner in &mark.turns {
            match self.turns(inner, &lost) {
                Some(kept) => turns.push(kept),
                None => drop(lost.insert(inner.place)),
            }
        }
        let part = |part: &KeyPart| {
            let Some(known) = part.expr().and_then(|expr| self.value(expr, &lost)) else {
                return match part {
                    KeyPart::Range => KeyPart::Range,
                    _ => KeyPart::Unknown,
                };
            };
            let expr = Expr::clone(&known.expr);
            match (part, known.partial) {
                (KeyPart::Partial(_), _) | (_, true) => KeyPart::Partial(expr),
                _ => KeyPart::Exact(expr),
            }
        };
        let only_if = mark.only_if.iter().filter_map(|(condition, held)| {
            let known = self.value(condition, &lost)?;
            (!known.partial).then(|| (Expr::clone(&known.expr), *held))
        });
        Mark {
            table: TableRef::clone(&mark.table),
            effect: mark.effect.clone(),
            glanced: mark.glanced,
            numbered: mark.numbered,
            path: mark.path.iter().map(part).collect(),
            only_if: only_if.collect(),
            turns,
            line: mark.line,
        }
    }

    fn place(&self, place: usize) -> usize {
        place - self.inner.arguments.len() + self.first_place
    }

    fn turns(&self, turns: &Turns, lost: &BTreeSet<usize>) -> Option<Turns> {
        let whole = |expr: &Expr| {
            let known = self.value(expr, lost)?;
            (!known.partial).then(|| Expr::clone(&known.expr))
        };
        let over = match &turns.over {
            Over::Integers {
                lower,
                upper,
                step,
                reverse,
            } => Over::Integers {
                lower: whole(lower)?,
                upper: whole(upper)?,
                step: whole(step)?,
                reverse: *reverse,
            },
            Over::Elements(array) => Over::Elements(whole(array)?),
        };
        let place = self.place(turns.place);
        Some(Turns { place, over })
    }

    /// An expression of the called routine over the caller's places; none if it needs a lost variable.
    fn value(&self, expr: &Expr, lost: &BTreeSet<usize>) -> Option<Known> {
        let types = types_of(expr);
        replaced(expr, &mut |place| {
            if lost.contains(&place) {
                return None;
            }
            match self.arguments.get(place) {
                Some(argument) => argument.clone(),
                None => {
                    let ty = types.iter().find(|(used, _)| *used == place)?.1;
                    Some(Known::new(Expr::Param(self.place(place), ty)))
                }
            }
        })
    }
}

fn types_of(expr: &Expr) -> Vec<(usize, SqlType)> {
    let mut types = Vec::new();
    fn walk(expr: &Expr, types: &mut Vec<(usize, SqlType)>) {
        if let Expr::Param(place, ty) = expr {
            types.push((*place, *ty));
        }
        expr.for_each_part(&mut |part| walk(part, types));
    }
    walk(expr, &mut types);
    types
}
