//! A log without threads: whoever opened it says when the writer and the segment keeper take a turn.
//!
//! Relies on: being used by one thread at a time, which never waits.  Promises: the same calls with the
//! same seed do the same; where a caller would wait for the writer, the writer's turn is taken inline.
//! Does not: exist in a running database, which opens its log with [`crate::Wal::open`].

use crate::shared::Shared;
use crate::writer::{Turn, Writer};
use parking_lot::Mutex;
use std::sync::Arc;

/// The log's background work, to be done when told. See [`crate::Wal::open_driven`].
#[derive(Debug)]
pub struct Driver {
    shared: Arc<Shared>,
    writer: Mutex<Writer>,
}

impl Driver {
    pub(crate) fn new(shared: Arc<Shared>) -> Driver {
        Driver {
            writer: Mutex::new(Writer::new(Arc::clone(&shared))),
            shared,
        }
    }

    /// A turn of the writer: writes what was appended, syncs if a sync is due, says what is durable.
    /// False once the log is poisoned. Every reservation must be finished.
    pub fn write(&self) -> bool {
        self.writer.lock().turn() != Turn::Poisoned
    }

    /// A turn of the segment keeper. False if no segment is wanted now.
    pub fn make_segment(&self) -> bool {
        self.shared.make_wanted_segment()
    }

    /// As [`crate::Wal::flush`], up to the point where it would wait.
    pub(crate) fn flush(&self) {
        self.shared.ask_for_flush(self.shared.end());
        self.write();
    }

    /// Ends the log as its threads would.
    pub(crate) fn end(&self) {
        self.write();
        self.shared.stopped();
    }
}
