//! Calls that only read, until what they have to see is here.
//!
//! Relies on: nothing.  Promises: a call is let go when all it waits for is over here; it waits for nothing else.
//! Does not: order calls, or know what they read.

use crate::call::CallId;
use std::collections::{BTreeMap, BTreeSet};

/// Those that wait.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// By call: what it waits for.
    waiting: BTreeMap<CallId, BTreeSet<CallId>>,
    /// By what is waited for: who waits.
    for_call: BTreeMap<CallId, Vec<CallId>>,
}

impl Reads {
    /// A call waits for others, at least one.
    pub fn wait(&mut self, call: CallId, after: BTreeSet<CallId>) {
        assert!(!after.is_empty(), "{call:?} waits for something");
        for before in &after {
            self.for_call.entry(*before).or_default().push(call);
        }
        self.waiting.insert(call, after);
    }

    /// A call is over here: those that may be run now.
    pub fn over(&mut self, call: CallId) -> Vec<CallId> {
        let mut waiting = self.for_call.remove(&call).unwrap_or_default();
        waiting.retain(|read| {
            let after = self.waiting.get_mut(read).expect("it waits");
            after.remove(&call);
            let free = after.is_empty();
            if free {
                self.waiting.remove(read);
            }
            free
        });
        waiting
    }
}
