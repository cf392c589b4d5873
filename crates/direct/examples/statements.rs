//! What single statements cost on one thread, without SQL and without a disk that syncs.
//!
//! `cargo run --release -p quintet-direct --example statements [rows]` fills a table of integers and
//! prints nanoseconds per call. Commits ask for no durability; the log goes to a simulated disk.

use quintet_base::row::RowLayout;
use quintet_base::{Durability, Level, SpaceId, SqlType, TableId, TypeMod, Value};
use quintet_dc::MemoryStore;
use quintet_direct::{Context, Direct, Run};
use quintet_ir::fold::DetachedHost;
use quintet_ir::schema::{PrimaryKey, TableRef};
use quintet_ir::statement::{Body, Insert, Update};
use quintet_ir::{
    Access, ColumnDef, CompareOp, Expr, KeyRange, Path, Plan, Procedure, Statement, TableDef,
};
use quintet_rt::{Clock, RealClock, SimDisk};
use quintet_tc::{Tc, TcConfig, Txn};
use quintet_wal::{Wal, WalConfig};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const CALLS: u64 = 300_000;

fn main() {
    let rows = std::env::args()
        .nth(1)
        .and_then(|rows| rows.parse().ok())
        .unwrap_or(100_000);
    let mut config = WalConfig::new("/log");
    config.durability = Durability::None;
    config.keep_in_memory = true;
    config.ring_bytes = 1 << 30;
    let opened = Wal::open(Arc::new(SimDisk::new(1)), config, None);
    let (log, _) = opened.expect("a new log opens");
    let store = Arc::new(MemoryStore::new());
    let (tc, _) = Tc::open(log, store, TcConfig::for_memory(2 << 30)).expect("it opens");
    let direct = Direct::new(tc);
    let bench = Bench {
        direct,
        table: table(),
        rows,
        clock: RealClock,
    };

    bench.fill();
    println!("{rows} rows, {CALLS} calls each; nanoseconds per call");
    let point = bench.procedure(Statement::Query(project(bench.point())));
    let update = bench.procedure(Statement::Update(Update {
        table: TableRef::clone(&bench.table),
        source: bench.point(),
        assignments: vec![(1, Expr::Param(1, SqlType::Int4))],
        returning: None,
    }));
    for level in Level::ALL {
        let mut txn = bench.direct.begin(level);
        bench.time(&format!("select by key, {level}"), |key| {
            bench.run(&point, key, &mut txn)
        });
        if level == Level::Serializable {
            continue;
        }
        bench.time(&format!("begin, select by key, commit, {level}"), |key| {
            let mut txn = bench.direct.begin(level);
            bench.run(&point, key, &mut txn);
            commit(txn);
        });
    }
    bench.time("begin, update by key, commit, read committed", |key| {
        let mut txn = bench.direct.begin(Level::ReadCommitted);
        bench.run(&update, key, &mut txn);
        commit(txn);
    });
    let count = bench.procedure(Statement::Query(bench.scan()));
    let mut txn = bench.direct.begin(Level::ReadCommitted);
    let started = bench.clock.monotonic_nanos();
    bench.run(&count, 0, &mut txn);
    let passed = bench.clock.monotonic_nanos() - started;
    println!("{:>8}  per row: filter over the whole table", passed / rows);
}

struct Bench {
    direct: Direct,
    table: TableRef,
    rows: u64,
    clock: RealClock,
}

impl Bench {
    fn fill(&self) {
        let column = |place| Expr::Column(place, SqlType::Int4);
        let insert = self.procedure(Statement::Insert(Insert {
            table: TableRef::clone(&self.table),
            source: Plan::Series {
                start: integer(0),
                stop: integer(self.rows as i32 - 1),
                step: integer(1),
                ty: SqlType::Int4,
            },
            values: vec![column(0), column(0), column(0), Expr::null(SqlType::Text)],
            conflict: None,
            returning: None,
        }));
        let mut txn = self.direct.begin(Level::ReadCommitted);
        let started = self.clock.monotonic_nanos();
        self.run(&insert, 0, &mut txn);
        let passed = self.clock.monotonic_nanos() - started;
        println!("{:>8}  per row: insert from a series", passed / self.rows);
        commit(txn);
    }

    fn procedure(&self, statement: Statement) -> Arc<Procedure> {
        let params = vec![SqlType::Int4, SqlType::Int4];
        Arc::new(Procedure {
            params,
            body: Body::Statement(statement),
            result: vec![],
        })
    }

    /// The row whose key is `$1`.
    fn point(&self) -> Plan {
        let equal = vec![Expr::Param(0, SqlType::Int4)];
        self.access(
            Path::Primary(vec![KeyRange {
                equal,
                lower: None,
                upper: None,
            }]),
            None,
        )
    }

    fn scan(&self) -> Plan {
        let column = Box::new(Expr::Column(1, SqlType::Int4));
        let right = Box::new(integer(-1));
        self.access(
            Path::Full,
            Some(Expr::Compare {
                op: CompareOp::Lt,
                left: column,
                right,
            }),
        )
    }

    fn access(&self, path: Path, filter: Option<Expr>) -> Plan {
        Plan::Scan(Access {
            table: TableRef::clone(&self.table),
            path,
            filter,
            reverse: false,
            offset: 0,
            needed: None,
            kept_after: None,
        })
    }

    fn run(&self, procedure: &Arc<Procedure>, key: u64, txn: &mut Txn) {
        let params = [Value::Int4(key as i32), Value::Int4(7)];
        let (host, cancel) = (DetachedHost::default(), AtomicBool::new(false));
        let mut context = Context {
            txn,
            host: &host,
            params: &params,
            cancel: &cancel,
        };
        let mut run = Run::new(&self.direct, Arc::clone(procedure));
        while let Some(row) = run.next(&mut context).expect("nothing is in the way") {
            std::hint::black_box(row);
        }
    }

    fn time(&self, what: &str, mut call: impl FnMut(u64)) {
        let mut key = 1;
        let started = self.clock.monotonic_nanos();
        for _ in 0..CALLS {
            // A full cycle over the keys in no order.
            key = (key + 0x9E37_79B1) % self.rows;
            call(key);
        }
        let passed = self.clock.monotonic_nanos() - started;
        println!("{:>8}  {what}", passed / CALLS);
    }
}

fn commit(mut txn: Txn) {
    txn.commit(Durability::None).expect("nothing is in the way");
}

fn integer(value: i32) -> Expr {
    Expr::Const(Value::Int4(value), SqlType::Int4)
}

fn project(input: Plan) -> Plan {
    Plan::Project {
        input: Box::new(input),
        exprs: vec![Expr::Column(1, SqlType::Int4)],
    }
}

/// `(id int primary key, a int, b int, filler text)`
fn table() -> TableRef {
    let columns = [
        ("id", SqlType::Int4),
        ("a", SqlType::Int4),
        ("b", SqlType::Int4),
        ("filler", SqlType::Text),
    ];
    Arc::new(TableDef {
        id: TableId(1),
        revision: 1,
        schema: "public".into(),
        name: "t".into(),
        space: SpaceId(100),
        columns: columns
            .iter()
            .map(|(name, ty)| ColumnDef {
                name: (*name).into(),
                ty: *ty,
                modifier: TypeMod::NONE,
                not_null: false,
                default: None,
                missing: None,
                identity: None,
                generated: None,
                dropped: false,
                hidden: false,
            })
            .collect(),
        primary_key: Some(PrimaryKey {
            name: "t_pkey".into(),
            columns: vec![0],
        }),
        indexes: vec![],
        checks: vec![],
        layout: RowLayout::new(columns.iter().map(|(_, ty)| *ty).collect()),
        references: None,
        partitions: None,
    })
}
