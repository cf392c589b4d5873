//! Reads: calls, statements and transactions that do not write.
//!
//! Relies on: nothing.  Promises: a session reads what it has written, at any replica that has it; it waits
//! for nothing else but a session there.  Does not: promise that what one replica showed the next one shows, too,
//! under `Causal`.

use crate::calls::Stage;
use crate::event::{Effect, Outcome};
use crate::front::Front;
use crate::replicas::State;
use quintet_chain::CallId;

impl Front {
    /// Runs the reads that some replica is fit for.
    pub(crate) fn start_readers(&mut self, effects: &mut Vec<Effect>) {
        let free = |replica: usize| {
            let of = &self.replicas[replica];
            of.state == State::Live && of.reading < of.config.read_slots
        };
        let mut free: Vec<usize> = (0..self.replicas.len()).filter(|at| free(*at)).collect();
        let mut waiting = 0;
        while waiting < self.readers.len() && !free.is_empty() {
            let call = self.readers[waiting];
            let Some(replica) = self.least_loaded(call, &free) else {
                waiting += 1;
                continue;
            };
            self.readers.remove(waiting);
            self.start(call, replica, effects);
            free.retain(|at| self.replicas[*at].reading < self.replicas[*at].config.read_slots);
        }
    }

    /// Of these replicas the one with the least to do that has all that the caller wrote.
    fn least_loaded(&self, call: CallId, among: &[usize]) -> Option<usize> {
        let session = self.calls.get(call).call.session;
        let session = self.clients.sessions.get(&session);
        let writes = session.map_or(&[][..], |session| &session.writes);
        let fit = among.iter().filter(|replica| {
            let mut writes = writes.iter();
            writes.all(|position| self.ledger.is_at(*position, **replica))
        });
        fit.min_by_key(|replica| {
            let of = &self.replicas[**replica];
            of.reading + of.running + of.interactive
        })
        .copied()
    }

    /// The replica, or the session, that a read ran at is gone.
    pub(crate) fn read_elsewhere(&mut self, call: CallId, effects: &mut Vec<Effect>) {
        let pending = self.calls.get_mut(call);
        if pending.cancelled {
            self.end(call, Outcome::Cancelled, effects);
        } else if pending.call.interactive {
            self.end(call, Outcome::Gone, effects);
        } else {
            pending.stage = Stage::Reading;
            self.counts.rerun += 1;
            self.readers.push_front(call);
        }
    }
}
