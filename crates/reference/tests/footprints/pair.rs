//! Two random calls over the same random tables, and what is said of them beforehand.
//!
//! Promises: at SERIALIZABLE everything that anybody can see is compared: results, errors, messages, and the
//! tables' rows, in both orders of the calls.

use crate::dice::Dice;
use crate::focus::writer;
use crate::listener::Listener;
use crate::routines::{arguments, called, lone, routines, share};
use crate::sharpen::sharpen;
use crate::snapshot::in_common;
use crate::tables::{Made, SPACES, as_of_now, insert_constants, tables};
use quintet_analysis::{Classes, Effect, Footprint, Granularity, Paths, Rule, hashed};
use quintet_base::{Level, Value};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::Body;
use quintet_ir::{Expr, Procedure, Routine, Statement};
use quintet_reference::{Database, Deed, Touched, Trace};
use std::fmt::Write;
use std::sync::Arc;

pub struct Pair {
    tables: Vec<Made>,
    before: Database,
    calls: [Call; 2],
}

struct Call {
    routines: Vec<Routine>,
    procedure: Arc<Procedure>,
    arguments: Vec<Value>,
}

/// How much was compared.
#[derive(Default, Debug)]
pub struct Tally {
    /// Rows and keys that were touched.
    touched: u64,
    /// Of them, those whose whole key was known beforehand.
    named: u64,
    /// Calls that succeeded.
    succeeded: u64,
    /// Pairs of calls, by rule, whose keys do not meet; each of the two has some, or touches nothing.
    apart: [u64; 6],
    /// Of the first rule's, those both of whose calls write.
    both_write: u64,
    /// Calls that write.
    writers: u64,
}

impl Tally {
    /// False if a test of so many cases has seen next to nothing.
    pub fn is_telling(&self, cases: u64) -> bool {
        let enough = self.apart.iter().all(|apart| *apart > cases / 50);
        self.touched > cases && self.named > cases / 5 && enough && self.both_write > cases / 30
    }
}

const RULES: [Rule; 6] = [
    Rule {
        level: Level::Serializable,
        granularity: Granularity::Column,
    },
    Rule {
        level: Level::Serializable,
        granularity: Granularity::Row,
    },
    Rule {
        level: Level::Snapshot,
        granularity: Granularity::Column,
    },
    Rule {
        level: Level::Snapshot,
        granularity: Granularity::Row,
    },
    Rule {
        level: Level::Serializable,
        granularity: Granularity::Commit,
    },
    Rule {
        level: Level::Snapshot,
        granularity: Granularity::Commit,
    },
];

/// One call's outcome, in words, and what it touched.
struct Ran {
    outcome: String,
    failed: bool,
    touched: Vec<Touched>,
    after: Database,
}

impl Pair {
    pub fn new(seed: u64) -> Pair {
        let mut dice = Dice::new(seed ^ 0x0F00_7931);
        let focused = seed.is_multiple_of(5);
        let first_space = 1000 + (seed % 1_000) as u32 * SPACES;
        let made = tables(&mut dice, first_space);
        let mut before = Database::default();
        for made in &made {
            let rows = match focused {
                true => 40,
                false => dice.below(14),
            };
            for _ in 0..rows {
                let mut insert = insert_constants(&mut dice, &made.before);
                if let Statement::Insert(insert) = &mut insert {
                    for value in &mut insert.values {
                        if let Expr::Const(Value::Int4(number), _) = value {
                            *number = dice.below(12) as i32;
                        }
                    }
                }
                let insert = lone(as_of_now(made, &insert));
                // One that breaks a promise of the table adds no row.
                let _ = quintet_reference::run(&mut before, &insert, &[], &Listener::default());
            }
        }
        let program = |dice: &mut Dice| {
            let mut found = match focused {
                true => writer(dice, &made),
                false => routines(dice, &share(&made)),
            };
            if !focused {
                sharpen(dice, &mut found);
            }
            let program = crate::routines::program(found.clone());
            quintet_ir::validate::program(&program).expect("it stays a program");
            found
        };
        let first = program(&mut dice);
        let second = match dice.one_in(2) {
            true => first.clone(),
            false => program(&mut dice),
        };
        let mut calls = [first, second].map(|routines| Call {
            arguments: {
                let drawn = arguments(&mut dice, &routines[0]);
                spread(&mut dice, drawn)
            },
            procedure: called(routines.clone()),
            routines,
        });
        if focused {
            let calls = calls.iter_mut().enumerate();
            calls.for_each(|(number, call)| {
                call.arguments = crate::focus::arguments(&mut dice, number);
            });
        }
        Pair {
            tables: made,
            before,
            calls,
        }
    }

    /// The first thing that was said wrongly, if there is one. `narrowed` makes the footprints smaller.
    pub fn miss(&self, narrowed: Option<fn(&mut Footprint)>, tally: &mut Tally) -> Option<String> {
        let footprints = self.calls.each_ref().map(|call| {
            let Body::Call { program, .. } = &call.procedure.body else {
                unreachable!("it was made a call");
            };
            let mut footprint = Footprint::of(program);
            if let Some(narrow) = narrowed {
                narrow(&mut footprint);
            }
            footprint
        });
        let alone = [0, 1].map(|number| self.run(number, &self.before));
        for (number, ran) in alone.iter().enumerate() {
            tally.succeeded += u64::from(!ran.failed);
            tally.writers += u64::from(writes(ran));
            let call = &self.calls[number];
            let outside = outside(&footprints[number], &call.arguments, &ran.touched, tally);
            if let Some(touched) = outside {
                return Some(format!("call {number} touches {touched}"));
            }
        }
        for (number, rule) in RULES.into_iter().enumerate() {
            let classes = Classes::new(footprints.to_vec(), rule);
            let keys = [0, 1].map(|call| {
                let mut keys = Vec::new();
                classes.keys(call, &self.calls[call].arguments, &mut keys);
                keys
            });
            let meet = (keys[0].iter()).any(|key| {
                keys[1]
                    .iter()
                    .any(|other| key.meets(other, classes.modes()))
            });
            if meet {
                continue;
            }
            tally.apart[number] += 1;
            let found = match rule.level {
                Level::Serializable => {
                    tally.both_write += u64::from(number == 0 && alone.iter().all(writes));
                    self.differing(&alone)
                }
                _ => in_common(
                    &self.tables(),
                    [&self.before, &alone[0].after, &alone[1].after],
                    rule.granularity,
                ),
            };
            if let Some(found) = found {
                return Some(format!("calls are apart by {rule:?}, but {found}"));
            }
        }
        None
    }

    /// What differs between the two orders.
    fn differing(&self, alone: &[Ran; 2]) -> Option<String> {
        let behind_first = self.run(1, &alone[0].after);
        let behind_second = self.run(0, &alone[1].after);
        for (number, (early, late)) in [(&alone[0], &behind_second), (&alone[1], &behind_first)]
            .into_iter()
            .enumerate()
        {
            if early.outcome != late.outcome {
                let (early, late) = (&early.outcome, &late.outcome);
                return Some(format!(
                    "call {number} gives\n {early}\nfirst, and\n {late}\nsecond"
                ));
            }
        }
        for table in self.tables() {
            let rows = [&behind_first, &behind_second].map(|ran| contents(&table, &ran.after));
            if rows[0] != rows[1] {
                let [one, other] = rows;
                return Some(format!("{} holds\n {one:?}\nor\n {other:?}", table.name));
            }
        }
        None
    }

    fn run(&self, number: usize, before: &Database) -> Ran {
        let call = &self.calls[number];
        let listener = Listener::default();
        let trace = Trace::default();
        let mut after = before.clone();
        // Row ids are nobody's business, and some programs look at them all the same.
        after.number_rows_from(1_000_000 * (1 + number as i64));
        let result = quintet_reference::run_traced(
            &mut after,
            &call.procedure,
            &call.arguments,
            &listener,
            Some(&trace),
        );
        let mut outcome = match &result {
            Ok(answer) => format!("{:?}", answer.rows),
            Err(error) => format!("{} {} {:?}", error.state, error.message, error.object),
        };
        for (severity, message) in &*listener.told.borrow() {
            write!(outcome, " | {severity} {}", message.message).expect("a string takes it");
        }
        Ran {
            outcome,
            failed: result.is_err(),
            touched: trace.into_touched(),
            after,
        }
    }

    fn tables(&self) -> Vec<TableRef> {
        share(&self.tables)
    }

    /// Everything, for whoever looks for the reason of a miss.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for table in self.tables() {
            writeln!(text, "{table:#?}\n{:?}", contents(&table, &self.before))
                .expect("a string takes it");
        }
        for call in &self.calls {
            for routine in &call.routines {
                let routine = quintet_ir::text::write_routine(routine);
                writeln!(text, "{routine}").expect("a string takes it");
            }
            writeln!(text, "called with {:?}", call.arguments).expect("a string takes it");
            if let Body::Call { program, .. } = &call.procedure.body {
                let rule = RULES[0];
                let classes = Classes::new(vec![Footprint::of(program)], rule);
                let lines = quintet_analysis::report(&classes);
                writeln!(text, "{}", lines.join("\n")).expect("a string takes it");
            }
        }
        text
    }
}

/// True if a call has written, or locked.
fn writes(ran: &Ran) -> bool {
    !ran.failed && ran.touched.iter().any(|touched| touched.deed != Deed::Read)
}

/// Integers of a wider range now and then, so that calls do not always meet.
fn spread(dice: &mut Dice, mut arguments: Vec<Value>) -> Vec<Value> {
    for value in &mut arguments {
        if let Value::Int4(number) = value
            && !dice.one_in(4)
        {
            *number = dice.below(12) as i32;
        }
    }
    arguments
}

/// A table's rows, those without a key in no order and without their ids.
fn contents(table: &TableRef, database: &Database) -> Vec<String> {
    let rows = database.rows(table);
    let mut rows: Vec<String> = rows
        .map(|row| format!("{:?}", &row[..table.columns.len()]))
        .collect();
    if table.primary_key.is_none() {
        rows.sort();
    }
    rows
}

/// The first row or key that was touched and is in none of the marks.
fn outside(
    footprint: &Footprint,
    arguments: &[Value],
    touched: &[Touched],
    tally: &mut Tally,
) -> Option<String> {
    let mut said = Vec::new();
    for mark in &footprint.marks {
        let paths = Paths::new(mark, arguments.len());
        let mut values = arguments.to_vec();
        values.resize(paths.places(), Value::Null);
        paths.each(&mut values, &mut |path| said.push((mark, path.to_vec())));
    }
    for one in touched {
        tally.touched += 1;
        let mut inside = said.iter().filter(|(mark, path)| {
            let columns = mark.effect.columns(&mark.table);
            let key = one.key.iter().zip(columns);
            let key = key.map(|(value, column)| hashed(value, one.table.frame_type(column)));
            let fits = match (&mark.effect, &one.deed) {
                (Effect::Read(_), Deed::Read) => true,
                (Effect::Lock { .. }, Deed::Lock) => true,
                (Effect::Update(written), Deed::Update(changed)) => changed.is_subset(written),
                // Key columns were set to what they were.
                (Effect::Delete, Deed::Update(_)) => true,
                (Effect::Insert, Deed::Insert) | (Effect::Delete, Deed::Delete) => true,
                (Effect::Claim(a), Deed::Claim(b)) => a == b,
                (Effect::Release(a), Deed::Release(b)) => a == b,
                _ => false,
            };
            fits && mark.table.id == one.table.id && path.iter().copied().eq(key.take(path.len()))
        });
        match inside.next() {
            Some((_, path)) => tally.named += u64::from(path.len() == one.key.len()),
            None => return Some(format!("{} {:?} {:?}", one.table.name, one.deed, one.key)),
        }
    }
    None
}
