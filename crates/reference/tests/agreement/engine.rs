//! The fast executor over the real engine on simulated media.

use quintet_base::text_format::FormatContext;
use quintet_base::{Durability, Level, SequenceId, SqlError, SqlResult, Value};
use quintet_dc::{DataComponent, MemoryMedium, MemoryStore};
use quintet_direct::{Context, Direct, Run, Stop};
use quintet_ir::fold::DetachedHost;
use quintet_ir::statement::Body;
use quintet_ir::{Host, Procedure, Statement};
use quintet_rt::{Disk, SimDisk};
use quintet_tc::{Tc, TcConfig, Txn};
use quintet_wal::{Wal, WalConfig};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub fn open() -> Direct {
    let disk = SimDisk::new(1);
    let store: Arc<dyn DataComponent> = Arc::new(MemoryStore::open(&MemoryMedium::default()));
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let mut config = WalConfig::new("/log");
    config.durability = Durability::Async;
    config.segment_bytes = 1 << 20;
    config.keep_in_memory = true;
    let (log, _) = Wal::open(disk, config, Some(store.redo_start())).expect("the log opens");
    let (tc, _) = Tc::open(log, store, TcConfig::for_memory(256 << 20)).expect("it opens");
    Direct::new(tc)
}

/// Runs a procedure. Nobody else is there to wait for.
pub fn run(
    direct: &Direct,
    txn: &mut Txn,
    procedure: &Arc<Procedure>,
    params: &[Value],
    host: &dyn Host,
) -> SqlResult<(Vec<Vec<Value>>, u64)> {
    let cancel = AtomicBool::new(false);
    let mut run = Run::new(direct, Arc::clone(procedure));
    let mut context = Context {
        txn,
        host,
        params,
        cancel: &cancel,
    };
    let mut rows = Vec::new();
    loop {
        match run.next(&mut context) {
            Ok(Some(row)) => rows.push(row.to_vec()),
            Ok(None) => return Ok((rows, run.affected())),
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::Blocked(_)) => panic!("there is nobody to wait for"),
        }
    }
}

pub fn commit(mut txn: Txn) {
    let level = txn.level();
    if let Err(error) = txn.commit(Durability::Async) {
        let error = quintet_direct::translate(error, level, &|_| None);
        panic!("nothing conflicts, but {error}");
    }
}

pub fn begin(direct: &Direct, level: Level) -> Txn {
    direct.begin(level)
}

pub fn lone(statement: Statement) -> Arc<Procedure> {
    Arc::new(Procedure {
        params: vec![],
        body: Body::Statement(statement),
        result: vec![],
    })
}

/// A session that keeps what it is told.
#[derive(Default)]
pub struct Listener {
    detached: DetachedHost,
    sequence: Cell<i64>,
    pub told: RefCell<Vec<(&'static str, SqlError)>>,
}

impl Host for Listener {
    fn transaction_time(&self) -> i64 {
        0
    }
    fn statement_time(&self) -> i64 {
        0
    }
    fn clock_time(&self) -> i64 {
        0
    }
    fn format(&self) -> &FormatContext {
        &self.detached.format
    }
    fn setting(&self, _: &str) -> Option<String> {
        None
    }
    fn user(&self) -> &str {
        "tester"
    }
    fn database(&self) -> &str {
        "test"
    }
    fn schema(&self) -> &str {
        "public"
    }
    fn random(&self) -> u64 {
        4
    }
    fn nextval(&self, _: SequenceId) -> SqlResult<i64> {
        self.sequence.set(self.sequence.get() + 1);
        Ok(self.sequence.get())
    }
    fn currval(&self, _: SequenceId) -> SqlResult<i64> {
        Ok(self.sequence.get())
    }
    fn setval(&self, _: SequenceId, value: i64, _: bool) -> SqlResult<i64> {
        self.sequence.set(value);
        Ok(value)
    }
    fn process_id(&self) -> i32 {
        1
    }
    fn notice(&self, severity: &'static str, message: SqlError) {
        self.told.borrow_mut().push((severity, message));
    }
    fn notices(&self) -> usize {
        self.told.borrow().len()
    }
    fn forget_notices(&self, from: usize) {
        self.told.borrow_mut().truncate(from);
    }
}
