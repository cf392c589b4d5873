//! Keys that are said to follow from the arguments alone are those that the routine reads by, whatever way it
//! takes: routines made at random, run, and compared with what was said of them.
//!
//! Each read has a table of its own, so that the keys that come to STORE tell which read they are of.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_analysis::{Graph, What, look_ups};
use quintet_base::{Array, Level, Lsn, SpaceId, SqlType, Value, key};
use quintet_dc::{
    DataComponent, DcStats, Direction, Error, Generation, KeyRange, MergeReport, Operation, Record,
    RecordScan,
};
use quintet_direct::{Context, Run};
use quintet_ir::ahead::{LookUp, Over, Turns};
use quintet_ir::routine::{
    Action, Condition, Handler, Into, Output, Raise, RaiseState, Routine, Severity, Slot, Step,
};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::Body;
use quintet_ir::{CompareOp, Expr, Procedure, Program, Statement};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use support::*;

const TABLES: u32 = 10;
const ROWS: i32 = 41;

type Keys = BTreeMap<u32, BTreeSet<i32>>;

/// A store that notes which keys it is asked for.
struct Noting {
    store: Arc<dyn DataComponent>,
    asked: Arc<Mutex<Keys>>,
}

struct NotingGeneration {
    generation: Arc<dyn Generation>,
    asked: Arc<Mutex<Keys>>,
}

impl DataComponent for Noting {
    fn generation(&self) -> Arc<dyn Generation> {
        Arc::new(NotingGeneration {
            generation: self.store.generation(),
            asked: Arc::clone(&self.asked),
        })
    }
    fn merge(
        &self,
        space: SpaceId,
        run: &mut dyn Iterator<Item = Operation<'_>>,
    ) -> Result<MergeReport, Error> {
        self.store.merge(space, run)
    }
    fn checkpoint(&self, redo_start: Lsn) -> Result<(), Error> {
        self.store.checkpoint(redo_start)
    }
    fn redo_start(&self) -> Lsn {
        self.store.redo_start()
    }
    fn drop_space(&self, space: SpaceId) -> Result<(), Error> {
        self.store.drop_space(space)
    }
    fn spaces(&self) -> Vec<SpaceId> {
        self.store.spaces()
    }
    fn stats(&self) -> DcStats {
        self.store.stats()
    }
}

impl Generation for NotingGeneration {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Record>, Error> {
        let number = (-100..500).find(|n| key::encode_all([&Int4(*n)]) == key);
        let number = number.unwrap_or_else(|| panic!("a key of another kind: {key:?}"));
        let mut asked = self.asked.lock().unwrap();
        asked.entry(space.0).or_default().insert(number);
        self.generation.get(space, key)
    }
    fn spaces(&self) -> Vec<SpaceId> {
        self.generation.spaces()
    }

    fn scan(
        &self,
        space: SpaceId,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Box<dyn RecordScan>, Error> {
        self.generation.scan(space, range, direction)
    }
}

fn read_table(number: u32) -> TableRef {
    let columns = [("id", SqlType::Int4), ("v", SqlType::Int4)];
    table(100 + number, "t", &columns).key(&[0]).done()
}

const INTS: SqlType = SqlType::Int4Array;
/// Slots: a, ids, four variables, four of loops, two of handlers.
const VARIABLES: std::ops::Range<usize> = 2..6;
const LOOPS: std::ops::Range<usize> = 6..10;
const HANDLED: [usize; 2] = [10, 11];

/// Makes routines. The same seed makes the same.
struct Maker {
    seed: u64,
    tables: u32,
    /// Variables of the loops around.
    around: Vec<usize>,
}

impl Maker {
    fn below(&mut self, bound: usize) -> usize {
        // Knuth's MMIX constants; the upper bits are the better ones.
        self.seed = (self.seed.wrapping_mul(6_364_136_223_846_793_005))
            .wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) as usize % bound
    }

    fn expr(&mut self) -> Expr {
        let slot = match self.below(4) {
            0 => 0,
            1 if !self.around.is_empty() => {
                let number = self.below(self.around.len());
                self.around[number]
            }
            _ => VARIABLES.start + self.below(VARIABLES.len()),
        };
        match self.below(5) {
            0 => int(self.below(ROWS as usize) as i32),
            1 => add(param(slot), int(1)),
            _ => param(slot),
        }
    }

    fn condition(&mut self) -> Expr {
        compare(CompareOp::Gt, self.expr(), int(self.below(30) as i32))
    }

    fn variable(&mut self) -> usize {
        VARIABLES.start + self.below(VARIABLES.len())
    }

    fn steps(&mut self, depth: usize) -> Vec<Step> {
        let count = 1 + self.below(4);
        (0..count)
            .map(|_| Step {
                line: 1,
                needs: None,
                action: self.action(depth),
            })
            .collect()
    }

    fn action(&mut self, depth: usize) -> Action {
        let compound = if depth == 0 { 0 } else { 5 };
        match self.below(7 + compound) {
            0 | 1 => Action::Assign {
                slot: self.variable(),
                value: self.expr(),
            },
            2 if !self.around.is_empty() && self.below(3) == 0 => Action::Exit {
                depth: self.below(self.around.len()),
                when: Some(self.condition()),
            },
            3 if !self.around.is_empty() && self.below(3) == 0 => Action::Continue {
                depth: self.below(self.around.len()),
                when: Some(self.condition()),
            },
            0..=6 if self.tables < TABLES => {
                self.tables += 1;
                let plan = point(&read_table(self.tables - 1), self.expr());
                Action::Run {
                    statement: Statement::Query(plan),
                    into: Into {
                        targets: vec![(self.variable(), col(1))],
                        ..Into::default()
                    },
                }
            }
            7 | 8 => Action::If {
                branches: vec![(self.condition(), self.steps(depth - 1))],
                otherwise: self.steps(depth - 1),
            },
            9 | 10 if self.around.len() < LOOPS.len() => {
                let slot = LOOPS.start + self.around.len();
                let over_elements = self.below(2) == 0;
                let upper = match self.below(2) {
                    0 => param(0),
                    _ => int(self.below(4) as i32),
                };
                self.around.push(slot);
                let body = self.steps(depth - 1);
                self.around.pop();
                match over_elements {
                    true => Action::ForElement {
                        slot,
                        array: Expr::Param(1, INTS),
                        body,
                    },
                    false => Action::ForInteger {
                        slot,
                        lower: int(1),
                        upper,
                        step: int(1),
                        reverse: false,
                        body,
                    },
                }
            }
            11 => {
                let mut body = self.steps(depth - 1);
                let raise = Step {
                    line: 1,
                    needs: None,
                    action: Action::Raise(Box::new(Raise {
                        severity: Severity::Exception,
                        state: RaiseState::Default,
                        format: vec!["no".into()],
                        arguments: vec![],
                        options: vec![],
                    })),
                };
                let at = self.below(body.len() + 1);
                let action = Action::If {
                    branches: vec![(self.condition(), vec![raise])],
                    otherwise: vec![],
                };
                body.insert(
                    at,
                    Step {
                        line: 1,
                        action,
                        needs: None,
                    },
                );
                Action::Guard {
                    body,
                    handlers: vec![Handler {
                        conditions: vec![Condition::Others],
                        body: self.steps(depth - 1),
                    }],
                    slots: HANDLED,
                }
            }
            _ => Action::Assign {
                slot: self.variable(),
                value: self.expr(),
            },
        }
    }

    fn program(&mut self) -> Arc<Program> {
        let mut body = self.steps(4);
        body.push(Step {
            line: 0,
            needs: None,
            action: Action::Return(vec![param(2)]),
        });
        let slots = (0..12).map(|slot| match slot {
            1 => Slot::hidden(INTS),
            10 | 11 => Slot::hidden(SqlType::Text),
            _ => Slot::hidden(SqlType::Int4),
        });
        Arc::new(Program::new(vec![Routine {
            name: "made".into(),
            slots: slots.collect(),
            arguments: 2,
            strict: false,
            guise: None,
            found: None,
            body,
            output: Output::Row,
        }]))
    }
}

/// The keys of a look-up.
fn expand(
    look_up: &LookUp,
    turns: &[Turns],
    slots: &mut Vec<Value>,
    host: &TestHost,
    into: &mut BTreeSet<i32>,
) {
    let value = |expr: &Expr, slots: &[Value]| quintet_ir::eval(expr, &[], slots, host).unwrap();
    let Some((first, rest)) = turns.split_first() else {
        for (condition, held) in &look_up.only_if {
            if quintet_ir::eval_predicate(condition, &[], slots, host).unwrap() != *held {
                return;
            }
        }
        into.extend(value(&look_up.key[0], slots).as_i64().map(|key| key as i32));
        return;
    };
    let values: Vec<Value> = match &first.over {
        Over::Elements(array) => match value(array, slots) {
            Value::Array(array) => array.values,
            other => panic!("{other:?}"),
        },
        Over::Integers { lower, upper, .. } => {
            let [lower, upper] = [lower, upper].map(|e| value(e, slots).as_i64().unwrap() as i32);
            (lower..=upper).map(Int4).collect()
        }
    };
    for value in values {
        slots[first.place] = value;
        expand(look_up, rest, slots, host, into);
    }
}

#[test]
fn what_is_looked_up_ahead_is_what_is_read() {
    let media = Media::new();
    {
        let direct = media.open();
        for number in 0..TABLES {
            let rows = (0..ROWS).map(|n| vec![Int4(n), Int4(n * 7 % ROWS)]);
            let insert = insert(&read_table(number), rows.collect());
            exec(&direct, Statement::Insert(insert)).count();
        }
        direct.tc().compact().unwrap();
    }
    let host = TestHost::default();
    let cancel = AtomicBool::new(false);
    // How many reads were known, and how many of them in loops: the test must not be empty.
    let (mut checked, mut in_loops, mut unknown) = (0, 0, 0);
    for seed in 0..60 {
        let mut maker = Maker {
            seed,
            tables: 0,
            around: vec![],
        };
        let program = maker.program();
        let graph = Graph::new(&program, 0);
        let ahead = look_ups(&program);
        let elements = vec![Int4(3), Int4(1), Int4(20)];
        let array = Value::Array(Box::new(Array {
            shape: None,
            element: SqlType::Int4,
            values: elements,
        }));
        let arguments = [Int4((seed % 4) as i32), array];

        let asked = Arc::new(Mutex::new(Keys::new()));
        let direct = media.open_over(Arc::new(Noting {
            store: Arc::new(media.store()),
            asked: Arc::clone(&asked),
        }));
        let given = arguments.clone().into_iter().zip([SqlType::Int4, INTS]);
        let procedure = Arc::new(Procedure {
            params: vec![],
            body: Body::Call {
                program: Arc::clone(&program),
                arguments: given.map(|(value, ty)| Expr::Const(value, ty)).collect(),
            },
            result: vec![],
        });
        let mut txn = direct.begin(Level::Snapshot);
        let mut context = Context {
            txn: &mut txn,
            host: &host,
            params: &[],
            cancel: &cancel,
        };
        let mut run = Run::new(&direct, procedure);
        // What it gives, or whether an exception has ended it, makes no difference here.
        while let Ok(Some(_)) = run.next(&mut context) {}

        let mut slots = arguments.to_vec();
        slots.resize(ahead.places, Null);
        let asked = asked.lock().unwrap();
        for operation in &graph.operations {
            let (What::Read, [touch]) = (operation.what, &operation.touches[..]) else {
                continue;
            };
            let mut own = ahead
                .look_ups
                .iter()
                .filter(|look_up| look_up.table.id == touch.table.id)
                .peekable();
            if own.peek().is_none() || !touch.keys.iter().all(|key| key.is_whole()) {
                unknown += 1;
                continue;
            }
            let mut said = BTreeSet::new();
            for look_up in own {
                in_loops += usize::from(!look_up.turns.is_empty());
                expand(look_up, &look_up.turns, &mut slots, &host, &mut said);
            }
            let read = asked.get(&touch.table.space.0).cloned().unwrap_or_default();
            checked += usize::from(!read.is_empty());
            assert!(
                read.is_subset(&said),
                "seed {seed}: read {read:?}, said {said:?}\n{}",
                quintet_analysis::explain(&program).join("\n")
            );
        }
    }
    assert!(
        checked > 30 && in_loops > 4 && unknown > 30,
        "{checked} checked, {in_loops} in loops, {unknown} unknown"
    );
}
