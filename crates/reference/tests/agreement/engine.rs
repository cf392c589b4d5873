//! The fast executor over the real engine on simulated media.

use quintet_base::{Durability, Level, SqlResult, Value};
use quintet_dc::{DataComponent, MemoryMedium, MemoryStore};
use quintet_direct::{Asked, Context, Direct, Run, Stop};
use quintet_ir::{Host, Procedure};
use quintet_rt::{Disk, SimDisk};
use quintet_tc::{Tc, TcConfig, Txn};
use quintet_wal::{Wal, WalConfig};
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
            // A block with handlers was undone; there is nothing but rows and cursors.
            Err(Stop::Ask) => match run.asked() {
                Some(Asked::Undone(_)) => {}
                _ => panic!("no routine here asks for a statement"),
            },
            Err(Stop::Commit) => panic!("no routine here says COMMIT"),
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
