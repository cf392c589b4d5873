//! Blocks with exception handlers.
//!
//! Relies on: `flow`.  Promises: a handler waits for all that its block does, and what stands behind the
//! block waits for both: an error may have undone what the block has read and written.  Does not: know
//! which errors a step may raise.

use crate::flow::{Inside, Walk};
use crate::graph::Why;
use crate::loops::assigned;
use crate::operation::What;
use crate::state::Source;
use quintet_ir::routine::{Handler, Step};

impl<'p> Walk<'p> {
    /// BEGIN … EXCEPTION … END.
    pub fn guarded(&mut self, body: &'p [Step], handlers: &'p [Handler], slots: [usize; 2]) {
        self.add(What::Guard, Vec::new(), &[]);
        let first = self.operations.len();
        let before = self.state.clone();
        self.inside.push(Inside::Guard);
        self.steps(body);
        self.inside.pop();
        let behind_body = self.operations.len();
        let mut states = vec![self.state.clone()];
        let mut heads = Vec::new();
        for handler in handlers {
            self.state = before.clone();
            let head = self.add(What::Handler(handler), Vec::new(), &[]);
            heads.push(head);
            for number in first..behind_body {
                self.after(number, head, Why::Handler);
            }
            for slot in assigned(body) {
                self.state.add(slot, Source::Operation(head));
            }
            self.state.add(self.state.count(), Source::Operation(head));
            if !self.around.is_empty() {
                self.state.add(self.state.left(), Source::Operation(head));
            }
            if let Some(found) = self.routine.found {
                self.state.add(found, Source::Operation(head));
            }
            for slot in slots {
                self.state.set(slot, &[head], None);
            }
            self.inside.push(Inside::Handler(head));
            self.steps(&handler.body);
            self.inside.pop();
            states.push(self.state.clone());
        }
        self.state = before;
        let end = self.add(What::EndGuard, Vec::new(), &[]);
        for number in first..end {
            if heads.contains(&number) || !self.operations[number].touches.is_empty() {
                self.after(number, end, Why::Handler);
            }
        }
        self.state.reachable = false;
        for state in states {
            self.state.join(&state, &[end], |_, _| None);
        }
        if (first..end).any(|number| !self.operations[number].touches.is_empty()) {
            let behind = self.state.behind();
            self.state.set(behind, &[end], None);
        }
    }
}
