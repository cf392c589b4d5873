//! What a call announces before it begins: the keys that follow from its arguments, and nothing that changes
//! what it does.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Array, Level, Lsn, SpaceId, SqlType, Value, key};
use quintet_dc::{
    DataComponent, DcStats, Direction, Error, Generation, KeyRange, MergeReport, Operation, Record,
    RecordScan,
};
use quintet_direct::{Context, Direct, Run};
use quintet_ir::plan::JoinKind;
use quintet_ir::routine::{Action, Into, Output, Routine, Slot, Step};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::Body;
use quintet_ir::{Access, Expr, Path, Plan, Procedure, Program, Statement};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use support::*;

type Announced = Arc<Mutex<Vec<Vec<u8>>>>;

/// A store that notes what is announced to it.
struct Noting {
    store: Arc<dyn DataComponent>,
    announced: Announced,
}

struct NotingGeneration {
    generation: Arc<dyn Generation>,
    announced: Announced,
}

impl DataComponent for Noting {
    fn generation(&self) -> Arc<dyn Generation> {
        Arc::new(NotingGeneration {
            generation: self.store.generation(),
            announced: Arc::clone(&self.announced),
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
        self.generation.get(space, key)
    }

    fn spaces(&self) -> Vec<SpaceId> {
        self.generation.spaces()
    }

    fn announce(&self, _: SpaceId, key: &[u8]) {
        self.announced.lock().unwrap().push(key.to_vec());
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

/// An engine whose rows 1 to 300 of `pairs` are in STORE and not in memory.
fn cold() -> (Media, Direct, Announced) {
    let media = Media::new();
    {
        let direct = media.open();
        let rows = (1..=300).map(|n| vec![Int4(n), Int4(n * 10)]).collect();
        let insert = Statement::Insert(insert(&pairs(), rows));
        assert_eq!(exec(&direct, insert).count(), 300);
        direct.tc().compact().unwrap();
    }
    let announced = Announced::default();
    let direct = media.open_over(Arc::new(Noting {
        store: Arc::new(media.store()),
        announced: Arc::clone(&announced),
    }));
    (media, direct, announced)
}

fn step(action: Action) -> Step {
    Step {
        line: 1,
        action,
        needs: None,
    }
}

/// `SELECT v INTO slot FROM t WHERE id = key`.
fn read(table: &TableRef, key: Expr, slot: usize) -> Step {
    step(Action::Run {
        statement: Statement::Query(point(table, key)),
        into: Into {
            targets: vec![(slot, col(1))],
            ..Into::default()
        },
    })
}

fn divided(by: Expr) -> Expr {
    let resolved = quintet_ir::function::resolve("/", &[SqlType::Int4, SqlType::Int4]).unwrap();
    Expr::Call {
        function: resolved.function,
        args: vec![int(100), by],
        ty: resolved.result,
    }
}

const INTS: SqlType = SqlType::Int4Array;

/// `f(a int, ids int[])` with variables id, v and w, which gives v.
fn program(body: Vec<Step>) -> Arc<Program> {
    let slot = |ty| Slot::hidden(ty);
    let mut body = body;
    body.push(step(Action::Return(vec![param(3)])));
    Arc::new(Program::new(vec![Routine {
        name: "f".into(),
        slots: vec![
            slot(SqlType::Int4),
            slot(INTS),
            slot(SqlType::Int4),
            slot(SqlType::Int4),
            slot(SqlType::Int4),
        ],
        arguments: 2,
        strict: false,
        guise: None,
        found: None,
        body,
        output: Output::Row,
    }]))
}

/// What the call gives, and the keys that it announces.
fn call(
    (direct, announced): (&Direct, &Announced),
    program: &Arc<Program>,
    arguments: Vec<Value>,
    host: &TestHost,
) -> (Vec<Vec<Value>>, Vec<i32>) {
    announced.lock().unwrap().clear();
    let arguments = arguments.into_iter().zip([SqlType::Int4, INTS]);
    let procedure = Arc::new(Procedure {
        params: vec![],
        body: Body::Call {
            program: Arc::clone(program),
            arguments: arguments
                .map(|(value, ty)| Expr::Const(value, ty))
                .collect(),
        },
        result: vec![],
    });
    let mut run = Run::new(direct, procedure);
    let cancel = AtomicBool::new(false);
    let mut txn = direct.begin(Level::Snapshot);
    let mut rows = Vec::new();
    let mut context = Context {
        txn: &mut txn,
        host,
        params: &[],
        cancel: &cancel,
    };
    while let Some(row) = run.next(&mut context).unwrap() {
        rows.push(row.to_vec());
    }
    let mut keys: Vec<i32> = (announced.lock().unwrap().iter())
        .map(|bytes| {
            (1..=1000)
                .find(|n| key::encode_all([&Int4(*n)]) == *bytes)
                .unwrap()
        })
        .collect();
    keys.sort_unstable();
    (rows, keys)
}

fn array(numbers: impl IntoIterator<Item = i32>) -> Value {
    Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Int4,
        values: numbers.into_iter().map(Int4).collect(),
    }))
}

/// Reads the row of `a`, and those of `ids` into w.
fn both(table: &TableRef) -> Arc<Program> {
    program(vec![
        read(table, param(0), 3),
        step(Action::ForElement {
            slot: 2,
            array: Expr::Param(1, INTS),
            body: vec![read(table, param(2), 4)],
        }),
    ])
}

#[test]
fn keys_from_arguments_and_loops_over_them_are_announced_together() {
    let (_media, direct, announced) = cold();
    let program = both(&pairs());
    let at = (&direct, &announced);
    let (rows, keys) = call(
        at,
        &program,
        vec![Int4(5), array([7, 9, 8])],
        &TestHost::default(),
    );
    assert_eq!(rows, [[Int4(50)]]);
    assert_eq!(keys, [5, 7, 8, 9]);
    // They are in memory now; only the new one is missing, and alone it is not worth a word.
    let (rows, keys) = call(
        at,
        &program,
        vec![Int4(6), array([7, 9, 8])],
        &TestHost::default(),
    );
    assert_eq!((rows, keys), (vec![vec![Int4(60)]], vec![]));
}

#[test]
fn a_session_may_do_without() {
    let (_media, direct, announced) = cold();
    let mut host = TestHost::default();
    host.settings.push(("quintet.group_reads", "off"));
    let arguments = vec![Int4(5), array([7, 9, 8])];
    let (rows, keys) = call((&direct, &announced), &both(&pairs()), arguments, &host);
    assert_eq!((rows, keys), (vec![vec![Int4(50)]], vec![]));
}

#[test]
fn a_key_that_fails_fails_where_it_is_reached_and_nulls_are_no_keys() {
    let (_media, direct, announced) = cold();
    let t = pairs();
    // 100 / a fails for 0; the branch is not taken then.
    let program = program(vec![
        step(Action::If {
            branches: vec![(
                compare(quintet_ir::CompareOp::Gt, param(0), int(0)),
                vec![read(&t, divided(param(0)), 3)],
            )],
            otherwise: vec![],
        }),
        step(Action::ForElement {
            slot: 2,
            array: Expr::Param(1, INTS),
            body: vec![read(&t, param(2), 4), read(&t, divided(param(2)), 4)],
        }),
    ]);
    let at = (&direct, &announced);
    let (rows, keys) = call(
        at,
        &program,
        vec![Int4(0), array([1, 2])],
        &TestHost::default(),
    );
    assert_eq!((rows, keys), (vec![vec![Null]], vec![1, 2, 50, 100]));
    let mut nulls = Array {
        shape: None,
        element: SqlType::Int4,
        values: vec![Null, Int4(20), Null, Int4(25)],
    };
    let arguments = vec![Null, Value::Array(Box::new(nulls.clone()))];
    let (_, keys) = call(at, &program, arguments, &TestHost::default());
    assert_eq!(keys, [4, 5, 20, 25]);
    // The branch is taken; one key alone is not announced.
    nulls.values.clear();
    let arguments = vec![Int4(30), Value::Array(Box::new(nulls))];
    let (rows, keys) = call(at, &program, arguments, &TestHost::default());
    assert_eq!((rows, keys), (vec![vec![Int4(30)]], vec![]));
}

#[test]
fn a_long_call_announces_its_beginning_only() {
    let (_media, direct, announced) = cold();
    let at = (&direct, &announced);
    let arguments = vec![Int4(300), array(1..=299)];
    let (rows, keys) = call(at, &both(&pairs()), arguments, &TestHost::default());
    assert_eq!(rows, [[Int4(3000)]]);
    assert_eq!(keys.len(), 128);
    // A loop of turns without keys ends early, too.
    let (_media, direct, announced) = cold();
    let t = pairs();
    let program = program(vec![
        step(Action::If {
            branches: vec![(
                Expr::IsNull {
                    input: Box::new(param(0)),
                    negated: false,
                },
                vec![step(Action::ForInteger {
                    slot: 2,
                    lower: int(1),
                    upper: int(i32::MAX),
                    step: int(1),
                    reverse: false,
                    body: vec![read(&t, param(2), 4)],
                })],
            )],
            otherwise: vec![],
        }),
        read(&t, param(0), 3),
        read(&t, int(17), 4),
    ]);
    let arguments = vec![Int4(3), array([])];
    let (rows, keys) = call(
        (&direct, &announced),
        &program,
        arguments,
        &TestHost::default(),
    );
    assert_eq!((rows, keys), (vec![vec![Int4(30)]], vec![3, 17]));
}

/// A join of the first forty rows with themselves, by the key.
fn joined(direct: &Direct, announced: &Announced, host: &TestHost) -> (Vec<Vec<Value>>, Vec<i32>) {
    let t = pairs();
    let inner = Access {
        offset: 2,
        ..access(&t, Path::Primary(vec![equal(vec![col(0)])]))
    };
    let plan = Plan::Limit {
        input: Box::new(Plan::Join {
            outer: Box::new(full(&t)),
            inner: Box::new(Plan::Scan(inner)),
            outer_width: 2,
            inner_width: 2,
            kind: JoinKind::Inner,
            on: None,
        }),
        limit: Some(int(40)),
        offset: None,
        ties: vec![],
    };
    // Without targets: all rows are read.
    let step = step(Action::Run {
        statement: Statement::Query(project(plan, vec![col(2), col(3)])),
        into: Into::default(),
    });
    let arguments = vec![Null, Null];
    call((direct, announced), &program(vec![step]), arguments, host)
}

#[test]
fn a_join_that_goes_on_announces_the_rows_it_will_look_up() {
    let (_media, direct, announced) = cold();
    let (rows, keys) = joined(&direct, &announced, &TestHost::default());
    assert_eq!(rows, [[Null]]);
    assert_eq!(keys, (9..=40).collect::<Vec<_>>());

    let (_media, direct, announced) = cold();
    let mut host = TestHost::default();
    host.settings.push(("quintet.group_reads", "off"));
    let (_, keys) = joined(&direct, &announced, &host);
    assert_eq!(keys, vec![]);
}
