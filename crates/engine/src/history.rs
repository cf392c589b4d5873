//! What clients did and saw, for checking.
//!
//! Relies on: one call at a time per process.  Promises: the order of entries is an order of real
//! time: what was complete before another began stands before it.  Does not: judge; see [`check`].
//!
//! A history is a list of events. Each transaction is invoked once and ends at most once:
//!
//! ```text
//!   invoke ──► ok        committed; the operations carry what was read
//!     ├──────► fail      certainly undone
//!     └──────► unknown   either (also if it never ends)
//! ```

mod anomaly;
mod check;
mod graph;
mod search;

pub use anomaly::{Anomaly, AnomalyKind, Report};
pub use check::check;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;

/// One operation of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Appended a value to a list; no value is appended to a list twice in a history.
    Append {
        /// Which list.
        list: u64,
        /// What.
        value: u64,
    },
    /// Read a whole list; `None` before it is known what was read.
    Read {
        /// Which list.
        list: u64,
        /// Its values, oldest first.
        values: Option<Vec<u64>>,
    },
    /// Wrote a register. Recorded and printed, not checked.
    Write {
        /// Which register.
        register: u64,
        /// What.
        value: u64,
    },
    /// Read a register. Recorded and printed, not checked.
    ReadRegister {
        /// Which register.
        register: u64,
        /// Its value, `Some(None)` if it had none; `None` before it is known what was read.
        value: Option<Option<u64>>,
    },
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ending {
    /// Committed.
    Ok,
    /// Undone.
    Fail,
    /// Either.
    Unknown,
}

/// A transaction of a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// Which client.
    pub process: u32,
    /// What it did, in order.
    pub operations: Vec<Operation>,
    /// How it ended.
    pub ending: Ending,
    /// Place of its invocation among all events.
    pub invoked: u64,
    /// Place of its completion; `None`: nobody knows when it took place, if it did.
    pub completed: Option<u64>,
}

/// Transactions in the order in which they were invoked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// The transactions.
    pub transactions: Vec<Transaction>,
}

/// Takes down a history; shared by all clients.
#[derive(Default)]
pub struct Recorder {
    state: Mutex<State>,
}

/// Written by every client under the recorder's lock; an event's place is the order of taking it.
#[derive(Default)]
struct State {
    events: u64,
    transactions: Vec<Transaction>,
    /// The open transaction of each process.
    open: HashMap<u32, usize>,
}

impl Recorder {
    /// An empty history.
    pub fn new() -> Recorder {
        Recorder::default()
    }

    /// A process is about to send a transaction. Call it before anything is sent.
    ///
    /// # Panics
    /// If the process has a transaction open.
    pub fn invoke(&self, process: u32, operations: Vec<Operation>) {
        let mut state = self.state.lock();
        let invoked = state.next_event();
        let place = state.transactions.len();
        state.transactions.push(Transaction {
            process,
            operations,
            ending: Ending::Unknown,
            invoked,
            completed: None,
        });
        let before = state.open.insert(process, place);
        assert!(before.is_none(), "process {process} has a transaction open");
    }

    /// Its transaction was answered as committed; `operations` with what was read. Call it after
    /// the answer has come.
    pub fn ok(&self, process: u32, operations: Vec<Operation>) {
        self.end(process, Ending::Ok, Some(operations));
    }

    /// Its transaction was answered as undone.
    pub fn fail(&self, process: u32) {
        self.end(process, Ending::Fail, None);
    }

    /// Nobody knows what became of its transaction.
    pub fn unknown(&self, process: u32) {
        self.end(process, Ending::Unknown, None);
    }

    fn end(&self, process: u32, ending: Ending, operations: Option<Vec<Operation>>) {
        let mut state = self.state.lock();
        let event = state.next_event();
        let place = state.open.remove(&process);
        let place = place.unwrap_or_else(|| panic!("process {process} has no transaction open"));
        let transaction = &mut state.transactions[place];
        transaction.ending = ending;
        if ending != Ending::Unknown {
            transaction.completed = Some(event);
        }
        if let Some(operations) = operations {
            transaction.operations = operations;
        }
    }

    /// What has been taken down, which begins anew; transactions still open count as unknown.
    pub fn take(&self) -> History {
        let state = std::mem::take(&mut *self.state.lock());
        History {
            transactions: state.transactions,
        }
    }

    /// What has been taken down so far; transactions still open count as unknown.
    pub fn history(&self) -> History {
        History {
            transactions: self.state.lock().transactions.clone(),
        }
    }
}

impl State {
    fn next_event(&mut self) -> u64 {
        self.events += 1;
        self.events
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Append { list, value } => write!(f, "append({list}, {value})"),
            Operation::Read { list, values: None } => write!(f, "read({list})"),
            Operation::Read {
                list,
                values: Some(values),
            } => {
                write!(f, "read({list}) = {values:?}")
            }
            Operation::Write { register, value } => write!(f, "write({register}, {value})"),
            Operation::ReadRegister {
                register,
                value: None,
            } => write!(f, "get({register})"),
            Operation::ReadRegister {
                register,
                value: Some(None),
            } => {
                write!(f, "get({register}) = nothing")
            }
            Operation::ReadRegister {
                register,
                value: Some(Some(value)),
            } => {
                write!(f, "get({register}) = {value}")
            }
        }
    }
}

impl fmt::Display for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = match self.ending {
            Ending::Ok => "ok",
            Ending::Fail => "failed",
            Ending::Unknown => "unknown",
        };
        write!(f, "process {} {ending} [{}", self.process, self.invoked)?;
        match self.completed {
            Some(completed) => write!(f, "-{completed}]:")?,
            None => write!(f, "-?]:")?,
        }
        self.operations
            .iter()
            .try_for_each(|operation| write!(f, " {operation}"))
    }
}
