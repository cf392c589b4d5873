//! Whose thread takes the writer's turns: one of its own, or that of a session that commits alone.
//!
//! Relies on: `writer` for a turn; `shared::company` knows who is alone.  Promises: one turn at a time, whoever takes it; a
//! failure inside a turn is everybody's, whoever took it.  Does not: have a session write much, or
//! wait for a disk that is slow.
//!
//! ```text
//!   many sessions   finish ─► wake the writer ─► write, sync ─► wake the session ─► answer
//!   one alone       finish quietly ─► write, sync ─► answer
//! ```
//! A thread that has to be woken on a processor that sleeps takes its time to come, and two are saved here of four for each commit (decision
//! 119). Of many sessions others have something to do meanwhile; one alone waits for nothing else.

use crate::shared::Shared;
use crate::shared::company::{Committer, Lately};
use crate::sync::Mutex;
use crate::writer::{GATHER, Turn, Writer};
use quintet_base::{Durability, Lsn};
use std::io;
use std::sync::Arc;

/// More than so much a session leaves to the writer.
const WRITTEN_ALONE_BYTES: u64 = 64 << 10;

/// The writer, whoever is it now. Its lock is taken before every other of this crate, and held across I/O.
#[derive(Debug)]
pub(crate) struct Turns {
    shared: Arc<Shared>,
    writer: Mutex<Writer>,
}

impl Turns {
    pub fn new(shared: Arc<Shared>) -> Turns {
        Turns {
            writer: Mutex::new(Writer::new(Arc::clone(&shared))),
            shared,
        }
    }

    /// The writer thread.
    pub fn run(&self) {
        let shared = &self.shared;
        let _guard = PoisonOnUnwind(shared);
        let mut lately = Lately::default();
        loop {
            let due = self.writer.lock().until_sync_due();
            shared.sleep_writer(due);
            if shared.config.durability != Durability::Sync {
                shared.gather(GATHER);
            } else {
                let last = self.writer.lock().last_sync();
                if last.records > 1 {
                    shared.wait_for_company(&mut lately, last.began);
                }
            }
            let turn = self.writer.lock().turn();
            match turn {
                Turn::Done => {}
                Turn::Closed | Turn::Poisoned => break,
            }
        }
        shared.stopped();
    }

    /// Takes a turn for a committer who waits for `lsn`, if he is alone, there is little to write and the writer is not at it. The
    /// thread comes back when that is durable or has failed.
    pub fn take_alone(&self, committer: &Committer, lsn: Lsn) {
        let shared = &self.shared;
        let unwritten = shared.end().saturating_sub(shared.written());
        if unwritten > WRITTEN_ALONE_BYTES || !shared.is_alone(committer) {
            return;
        }
        let Some(mut writer) = self.writer.try_lock() else {
            return;
        };
        if shared.marks.durable() < lsn.0 {
            let _guard = PoisonOnUnwind(shared);
            // That the log is closing or has failed its own thread finds out in its next turn.
            let _ = writer.turn();
        }
    }
}

/// A panic in a turn is a bug; whoever waits must hear of it all the same.
struct PoisonOnUnwind<'a>(&'a Shared);

impl Drop for PoisonOnUnwind<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let source = io::Error::other("the log writer has panicked");
            let directory = &self.0.config.directory;
            let error = quintet_rt::Error::new("write", directory, source);
            self.0.poison(Arc::new(error));
            self.0.stopped();
        }
    }
}
