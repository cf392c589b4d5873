//! What a call of a routine costs on one thread, without SQL and without a disk that syncs: an order of ten lines.
//!
//! ```text
//! cargo build --release -p quintet-direct --example call
//! valgrind --tool=callgrind --toggle-collect='*measured*' target/release/examples/call
//! ```
//! Relies on: `ir::text`.  Promises: calls are a function of their number, so that two programs do the same.  Callgrind's
//! count, divided by [`CALLS`], is instructions per call. Each line reads an item, changes its stock and inserts a row with
//! a key of four columns.  Does not: have a session around the call (`call_cost` of `bench` has); arguments are copied.

use quintet_base::row::RowLayout;
use quintet_base::value::Array;
use quintet_base::{Durability, Level, Numeric, SpaceId, SqlType, TableId, TypeMod, Value};
use quintet_dc::MemoryStore;
use quintet_direct::{Context, Direct, Run};
use quintet_ir::fold::DetachedHost;
use quintet_ir::schema::{PrimaryKey, TableRef};
use quintet_ir::statement::{Body, Insert};
use quintet_ir::{ColumnDef, Expr, Plan, Procedure, Statement, TableDef, text};
use quintet_rt::SimDisk;
use quintet_tc::{Tc, TcConfig, Txn};
use quintet_wal::{Wal, WalConfig};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Calls that are measured, after [`WARM_UP`] others.
const CALLS: i32 = 500;
const WARM_UP: i32 = 200;
const ITEMS: i32 = 1000;
const LINES: usize = 10;

const ORDER: &str = "
(program
  (routine 'order' nothing (found $8)
    (arguments ('w' int4) ('d' int4) ('o' int4) ('items' int4[]) ('supply' int4[]) ('quantities' int4[]) ('sum' numeric))
    (variables ('' bool) ('i' int4) ('price' numeric) ('data' varchar) ('stock_data' varchar) ('dist' bpchar)
      ('amount' numeric) ('brand' int4) ('quantity' int4))
    (let $7 '0':numeric)
    (let $15 0:int4)
    (for-integer $9 1:int4 10:int4 1:int4 (do
      (run (query (project (#2:numeric #3:varchar)
          (scan public item (primary (range (call '[]' $4:int4[] $9:int4))))))
        (into ($10 #0:numeric) ($11 #1:varchar)))
      (if (when (not $8:bool) (raise exception (format 'no item'))))
      (run (update public stock
          (scan public stock (primary (range (call '[]' $5:int4[] $9:int4) (call '[]' $4:int4[] $9:int4))))
          (set #2 (case int4
            (when (>= (call '-' #2:int4 (call '[]' $6:int4[] $9:int4)) 10:int4)
              (call '-' #2:int4 (call '[]' $6:int4[] $9:int4)))
            (else (call '+' (call '-' #2:int4 (call '[]' $6:int4[] $9:int4)) 91:int4))))
          (set #6 (call '+' #6:int4 (call '[]' $6:int4[] $9:int4)))
          (set #7 (call '+' #7:int4 1:int4))
          (set #8 (call '+' #8:int4 (case int4 (when (<> (call '[]' $5:int4[] $9:int4) $1:int4) 1:int4) (else 0:int4))))
          (returning #2:int4 #9:varchar (case bpchar (when (= $2:int4 1:int4) #3:bpchar) (when (= $2:int4 2:int4) #4:bpchar)
            (else #5:bpchar))))
        (into ($16 #0:int4) ($12 #1:varchar) ($13 #2:bpchar)))
      (if (when (and (call '~~' (convert text $11:varchar) '%ORIGINAL%':text) (call '~~' (convert text $12:varchar) '%ORIGINAL%':text))
        (let $15 (call '+' $15:int4 1:int4))))
      (let $14 (convert numeric%6.2 (call '*' $10:numeric (convert numeric (call '[]' $6:int4[] $9:int4)))))
      (let $7 (call '+' $7:numeric $14:numeric))
      (run (insert public line (values () ())
        (values $1:int4 $2:int4 $3:int4 $9:int4 (call '[]' $4:int4[] $9:int4) (call '[]' $5:int4[] $9:int4) null:timestamp
          (call '[]' $6:int4[] $9:int4) (convert numeric%6.2 $14:numeric) (convert bpchar%24 $13:bpchar))))))))";

type Column = (SqlType, TypeMod);

const INT: Column = (SqlType::Int4, TypeMod::NONE);

fn table(number: u32, name: &str, keys: usize, columns: &[Column]) -> TableRef {
    let define = |(place, (ty, modifier)): (usize, &Column)| ColumnDef {
        name: format!("c{place}"),
        ty: *ty,
        modifier: *modifier,
        not_null: *ty != SqlType::Timestamp,
        default: None,
        missing: None,
        identity: None,
        generated: None,
        dropped: false,
        hidden: false,
    };
    Arc::new(TableDef {
        id: TableId(number),
        revision: 1,
        schema: "public".into(),
        name: name.into(),
        space: SpaceId(100 + number),
        columns: columns.iter().enumerate().map(define).collect(),
        primary_key: Some(PrimaryKey {
            name: format!("{name}_pkey"),
            columns: (0..keys).collect(),
        }),
        indexes: vec![],
        checks: vec![],
        layout: RowLayout::new(columns.iter().map(|(ty, _)| *ty).collect()),
        references: None,
        partitions: None,
    })
}

fn tables() -> Vec<TableRef> {
    let varchar = |length| (SqlType::Varchar, TypeMod::length(length));
    let bpchar = |length| (SqlType::Bpchar, TypeMod::length(length));
    let money = |precision| (SqlType::Numeric, TypeMod::precision_scale(precision, 2));
    let time = (SqlType::Timestamp, TypeMod::NONE);
    let d = bpchar(24);
    vec![
        table(1, "item", 1, &[INT, varchar(24), money(5), varchar(50)]),
        table(
            2,
            "stock",
            2,
            &[INT, INT, INT, d, d, d, INT, INT, INT, varchar(50)],
        ),
        table(
            3,
            "line",
            4,
            &[INT, INT, INT, INT, INT, INT, time, INT, money(6), d],
        ),
    ]
}

fn run(direct: &Direct, procedure: &Arc<Procedure>, params: &[Value], txn: &mut Txn) {
    let (host, cancel) = (DetachedHost::default(), AtomicBool::new(false));
    let mut context = Context {
        txn,
        host: &host,
        params,
        cancel: &cancel,
    };
    let mut run = Run::new(direct, Arc::clone(procedure));
    while let Some(row) = run.next(&mut context).expect("nothing is in the way") {
        std::hint::black_box(row);
    }
}

fn fill(direct: &Direct, table: &TableRef, values: Vec<Expr>) {
    let insert = Statement::Insert(Insert {
        table: TableRef::clone(table),
        source: Plan::Series {
            start: Expr::Const(Value::Int4(1), SqlType::Int4),
            stop: Expr::Const(Value::Int4(ITEMS), SqlType::Int4),
            step: Expr::Const(Value::Int4(1), SqlType::Int4),
            ty: SqlType::Int4,
        },
        values,
        conflict: None,
        returning: None,
    });
    let procedure = Arc::new(Procedure {
        params: vec![],
        body: Body::Statement(insert),
        result: vec![],
    });
    let mut txn = direct.begin(Level::ReadCommitted);
    run(direct, &procedure, &[], &mut txn);
    txn.commit(Durability::None).expect("nothing is in the way");
}

fn order(direct: &Direct, procedure: &Arc<Procedure>, params: &[Value]) {
    let mut txn = direct.begin(Level::Serializable);
    txn.write_optimistically();
    run(direct, procedure, params, &mut txn);
    txn.commit(Durability::None).expect("nothing is in the way");
}

/// What callgrind counts.
#[inline(never)]
fn measured(direct: &Direct, procedure: &Arc<Procedure>, params: &[Value]) {
    order(direct, procedure, params);
}

fn main() {
    let mut config = WalConfig::new("/log");
    config.durability = Durability::None;
    config.keep_in_memory = true;
    config.ring_bytes = 1 << 28;
    let (log, _) = Wal::open(Arc::new(SimDisk::new(1)), config, None).expect("a new log opens");
    let store = Arc::new(MemoryStore::new());
    let (tc, _) = Tc::open(log, store, TcConfig::for_memory(1 << 30)).expect("it opens");
    let direct = Direct::new(tc);
    let tables = tables();
    let key = || Expr::Column(0, SqlType::Int4);
    let int = |value| Expr::Const(Value::Int4(value), SqlType::Int4);
    let text = |text: &str, ty| Expr::Const(Value::text(text), ty);
    let dist = || text("abcdefghijklmnopqrstuvwx", SqlType::Bpchar);
    let data = || text("some data of thirty-eight bytes or so.", SqlType::Varchar);
    let price = Numeric::from_parts(1234, 2).expect("short");
    let price = Expr::Const(Value::numeric(price), SqlType::Numeric);
    let name = text("name", SqlType::Varchar);
    fill(&direct, &tables[0], vec![key(), name, price, data()]);
    let stock = vec![
        int(1),
        key(),
        int(50),
        dist(),
        dist(),
        dist(),
        int(0),
        int(0),
        int(0),
        data(),
    ];
    fill(&direct, &tables[1], stock);
    let known = |_: &str, name: &str| tables.iter().find(|table| table.name == name).cloned();
    let program = text::read(ORDER, &known).expect("a program");
    let params = vec![
        SqlType::Int4,
        SqlType::Int4,
        SqlType::Int4,
        SqlType::Int4.array_of().expect("there is one"),
        SqlType::Int4.array_of().expect("there is one"),
        SqlType::Int4.array_of().expect("there is one"),
        SqlType::Numeric,
    ];
    let arguments = params.iter().enumerate();
    let arguments = arguments.map(|(number, ty)| Expr::Param(number, *ty));
    let procedure = Arc::new(Procedure {
        body: Body::Call {
            program: Arc::new(program),
            arguments: arguments.collect(),
        },
        params,
        result: vec![],
    });
    let mut item = 1;
    for number in 0..WARM_UP + CALLS {
        let array = |values: Vec<i32>| {
            let values = values.into_iter().map(Value::Int4).collect();
            Value::Array(Box::new(Array::new(SqlType::Int4, values)))
        };
        let items = (0..LINES).map(|_| {
            item = (item + 617) % ITEMS;
            item + 1
        });
        let params = [
            Value::Int4(1),
            Value::Int4(1 + number % 3),
            Value::Int4(number),
            array(items.collect()),
            array(vec![1; LINES]),
            array((0..LINES as i32).map(|line| 1 + line).collect()),
            Value::Null,
        ];
        match number < WARM_UP {
            true => order(&direct, &procedure, &params),
            false => measured(&direct, &procedure, &params),
        }
    }
}
