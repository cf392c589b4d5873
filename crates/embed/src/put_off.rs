//! Calls of deferrable triggers, and what SET CONSTRAINTS has said of them, in one transaction.
//!
//! Relies on: whoever undoes something takes back what was put off since ([`PutOff::back_to`]).  Promises: calls are given out in the order
//! in which they were put off, each once, unless what it did was undone.  Does not: make them (`session::late`).

use quintet_base::{ConstraintId, SqlError, SqlResult, SqlState, Value};
use quintet_direct::{STATEMENT_MEMORY_MAX, row_bytes};
use quintet_ir::PutOffSoFar;
use std::collections::{BTreeSet, VecDeque};

/// See the module.
#[derive(Default)]
pub struct PutOff {
    /// In order; what is newer counts for more.
    modes: Vec<Mode>,
    entries: Vec<Entry>,
    bytes: usize,
}

/// SET CONSTRAINTS: of these, or of all.
struct Mode {
    keys: Option<Vec<ConstraintId>>,
    deferred: bool,
}

enum Entry {
    Call {
        trigger: u32,
        deferred: bool,
        arguments: Vec<Value>,
    },
    /// The one in this place was made.
    Made(usize),
}

impl PutOff {
    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// SET CONSTRAINTS.
    pub fn say(&mut self, keys: Option<Vec<ConstraintId>>, deferred: bool) {
        self.modes.push(Mode { keys, deferred });
    }

    fn is_deferred(&self, trigger: u32, deferred: bool) -> bool {
        let id = ConstraintId(trigger);
        let concerns = |mode: &&Mode| mode.keys.as_ref().is_none_or(|keys| keys.contains(&id));
        let said = self.modes.iter().rev().find(concerns);
        said.map_or(deferred, |mode| mode.deferred)
    }

    /// Keeps a call, if it is to come later.
    ///
    /// # Errors
    /// `53200` if there are too many.
    pub fn add(&mut self, trigger: u32, deferred: bool, arguments: &[&Value]) -> SqlResult<bool> {
        if !self.is_deferred(trigger, deferred) {
            return Ok(false);
        }
        let arguments: Vec<Value> = arguments.iter().map(|value| (*value).clone()).collect();
        self.bytes += size_of::<Entry>() + row_bytes(&arguments);
        if self.bytes > STATEMENT_MEMORY_MAX {
            let message = "out of memory";
            return Err(SqlError::new(SqlState::OUT_OF_MEMORY, message).detail(format!(
                "The triggers that wait for the end of the transaction exceed {STATEMENT_MEMORY_MAX} bytes."
            )));
        }
        self.entries.push(Entry::Call {
            trigger,
            deferred,
            arguments,
        });
        Ok(true)
    }

    /// The places of calls that have not been made; not `all`: of those that need not wait any more.
    pub fn due(&self, all: bool) -> VecDeque<usize> {
        let made: BTreeSet<usize> = (self.entries.iter())
            .filter_map(|entry| match entry {
                Entry::Made(place) => Some(*place),
                Entry::Call { .. } => None,
            })
            .collect();
        let entries = self.entries.iter().enumerate();
        let due = entries.filter(|(place, entry)| match entry {
            Entry::Call {
                trigger, deferred, ..
            } => !made.contains(place) && (all || !self.is_deferred(*trigger, *deferred)),
            Entry::Made(_) => false,
        });
        due.map(|(place, _)| place).collect()
    }

    /// The trigger of a call and its arguments; it counts as made from here on.
    pub fn take(&mut self, place: usize) -> Option<(u32, Vec<Value>)> {
        let Some(Entry::Call {
            trigger, arguments, ..
        }) = self.entries.get(place)
        else {
            return None;
        };
        let call = (*trigger, arguments.clone());
        self.entries.push(Entry::Made(place));
        Some(call)
    }

    /// The triggers of calls that have not been made.
    pub fn triggers(&self) -> BTreeSet<u32> {
        let due = self.due(true).into_iter();
        due.filter_map(|place| match self.entries.get(place) {
            Some(Entry::Call { trigger, .. }) => Some(*trigger),
            _ => None,
        })
        .collect()
    }

    /// How much there is.
    pub fn so_far(&self) -> PutOffSoFar {
        PutOffSoFar {
            calls: self.entries.len(),
            modes: self.modes.len(),
        }
    }

    /// Forgets what came since.
    pub fn back_to(&mut self, so_far: PutOffSoFar) {
        for entry in self.entries.drain(so_far.calls.min(self.entries.len())..) {
            if let Entry::Call { arguments, .. } = entry {
                self.bytes -= size_of::<Entry>() + row_bytes(&arguments);
            }
        }
        self.modes.truncate(so_far.modes);
    }

    /// The transaction is over.
    pub fn clear(&mut self) {
        if !self.entries.is_empty() || !self.modes.is_empty() {
            *self = PutOff::default();
        }
    }
}
