//! Deciding: what becomes of an attempt, and of its call.
//!
//! Relies on: `certifier`.  Promises: an attempt is decided once; it commits only if it is prepared, its client's
//! answer is there, and its write set is known and passes; a call is answered once.  Does not: see to it that a
//! write set reaches the other replicas (`spreading`).
//!
//! Undecided attempts can always be stopped, and decided ones never stand in each other's way: of two that share rows
//! the second saw the first. So an apply that waits for a row goes on when the attempt that holds it is decided, or
//! stopped (`blocked`).

use crate::calls::Stage;
use crate::event::{Effect, Outcome, Why};
use crate::front::{Front, Phase};
use crate::ids::{AttemptId, Lsn, Place, Rows, WriteId};
use crate::ledger::{Bytes, Entry, Open, There};
use quintet_chain as chain;
use quintet_chain::{Access, CallId, Guarantee, Wrote};

impl Front {
    pub(crate) fn prepared(&mut self, attempt: AttemptId, effects: &mut Vec<Effect>) {
        let Some(known) = self.calls.attempts.get_mut(&attempt) else {
            return;
        };
        if !known.prepared {
            let of = &mut self.replicas[known.replica];
            match known.interactive {
                true => of.interactive -= 1,
                false => of.running -= 1,
            }
        }
        known.prepared = true;
        self.decide(attempt, effects);
    }

    pub(crate) fn write_set(
        &mut self,
        attempt: AttemptId,
        replica: usize,
        at: Lsn,
        place: Place,
        rows: Rows,
        effects: &mut Vec<Effect>,
    ) {
        let write = WriteId::Attempt(attempt);
        self.streamed(replica, at);
        if let Phase::Recovering(recovery) = &mut self.phase {
            recovery.told(replica, at, write, Some(place), rows);
            return;
        }
        if self.told_again(write, effects) {
            return;
        }
        match self.calls.attempts.get_mut(&attempt) {
            Some(known) if known.replica == replica => {
                known.wrote = Some((at, rows));
                let open = &mut self.ledger.streams[replica].open;
                open.insert(at, Open::Undecided(attempt));
                self.decide(attempt, effects);
            }
            // It was given up, or is everywhere.
            _ => effects.push(Effect::Forget { write }),
        }
    }

    /// Decides about an attempt, if all is known that it takes.
    fn decide(&mut self, attempt: AttemptId, effects: &mut Vec<Effect>) {
        let known = &self.calls.attempts[&attempt];
        let Some((at, rows)) = known.wrote.clone().filter(|_| known.prepared) else {
            return;
        };
        let (call, replica) = (known.call, known.replica);
        let write = WriteId::Attempt(attempt);
        let stands_against = self.certifier.against(attempt, &rows);
        self.take_attempt(attempt);
        if self.calls.get(call).cancelled || stands_against.is_some() {
            effects.push(Effect::Forget { write });
            effects.push(Effect::Rollback {
                attempt,
                replica: self.id(replica),
            });
            match stands_against {
                Some(position) => {
                    self.counts.refused += 1;
                    self.lost_conflict(call, replica, Some(position), effects);
                }
                None => self.end(call, Outcome::Cancelled, effects),
            }
            return;
        }
        if rows == Rows::None {
            // Prepared, but there is nothing that anybody could miss.
            effects.push(Effect::Forget { write });
            effects.push(Effect::Commit {
                attempt,
                replica: self.id(replica),
                commit_after: None,
            });
            self.end(call, Outcome::Done, effects);
            return;
        }
        self.counts.decided += 1;
        let position = self.ledger.enter(Entry {
            write,
            origin: replica,
            at,
            unanswered: Some(call),
            call: Some(call),
            there: vec![There::Missing; self.replicas.len()],
            bytes: Bytes::Held,
            released: self.config.guarantee == Guarantee::Total,
            orphaned: false,
        });
        self.certifier.enter(position, rows);
        let pending = self.calls.get_mut(call);
        pending.stage = Stage::Decided(position);
        let (arrival, session) = (pending.arrival, pending.call.session);
        if let Some(token) = pending.call.token
            && let Some(last) = self.clients.tokens.get_mut(&token.client)
        {
            last.position = Some(position);
        }
        self.gate.unset_alone(arrival, call);
        let writes = &mut self.clients.session(session).writes;
        writes.retain(|position| self.ledger.get(*position).is_some());
        writes.push(position);
        let wrote = Wrote::Something;
        self.tell(chain::Event::Executed { call, wrote }, effects);
        self.spread(position, effects);
    }

    /// A call has lost a conflict at a replica.
    fn lost_conflict(
        &mut self,
        call: CallId,
        replica: usize,
        blocker: Option<u64>,
        effects: &mut Vec<Effect>,
    ) {
        let (retries_max, alone_after) = (self.config.retries_max, self.config.alone_after);
        let pending = self.calls.get_mut(call);
        pending.lost += 1;
        pending.blocker = blocker;
        if pending.cancelled {
            self.end(call, Outcome::Cancelled, effects);
        } else if pending.call.interactive || pending.lost > retries_max {
            self.end(call, Outcome::Conflict, effects);
        } else if pending.call.access == Access::ReadOnly {
            pending.stage = Stage::Reading;
            self.readers.push_front(call);
        } else {
            let (arrival, lost) = (pending.arrival, pending.lost);
            if lost >= alone_after && self.gate.set_alone(arrival, call) {
                self.counts.alone += 1;
            }
            self.enter_gate(call, replica);
        }
    }

    pub(crate) fn failed(&mut self, attempt: AttemptId, why: Why, effects: &mut Vec<Effect>) {
        let Some(known) = self.take_attempt(attempt) else {
            return;
        };
        let (call, replica) = (known.call, known.replica);
        let cancelled = self.calls.get(call).cancelled;
        match why {
            Why::Conflict | Why::Refused if known.killed || why == Why::Conflict => {
                self.counts.conflicts += u64::from(!cancelled);
                self.lost_conflict(call, replica, None, effects);
            }
            Why::Conflict | Why::Refused => {
                let outcome = match cancelled {
                    true => Outcome::Cancelled,
                    false => Outcome::Refused,
                };
                self.end(call, outcome, effects);
            }
            Why::Unknown if known.reads => self.read_elsewhere(call, effects),
            Why::Unknown => {
                effects.push(Effect::Rollback {
                    attempt,
                    replica: self.id(replica),
                });
                if known.wrote.is_some() {
                    let write = WriteId::Attempt(attempt);
                    effects.push(Effect::Forget { write });
                }
                if cancelled {
                    self.end(call, Outcome::Cancelled, effects);
                } else if known.interactive {
                    self.end(call, Outcome::Gone, effects);
                } else {
                    self.counts.rerun += 1;
                    self.calls.get_mut(call).stage = Stage::Unwinding(attempt);
                    self.replicas[replica].unwinding.insert(attempt, call);
                }
            }
        }
    }

    pub(crate) fn rolled_back(&mut self, attempt: AttemptId, _effects: &mut Vec<Effect>) {
        for replica in 0..self.replicas.len() {
            if let Some(call) = self.replicas[replica].unwinding.remove(&attempt) {
                self.enter_gate(call, replica);
            }
        }
    }

    pub(crate) fn read(&mut self, attempt: AttemptId, effects: &mut Vec<Effect>) {
        if let Some(known) = self.take_attempt(attempt) {
            self.end(known.call, Outcome::Done, effects);
        }
    }

    /// A call is over, and left nothing for other replicas.
    pub(crate) fn end(&mut self, call: CallId, outcome: Outcome, effects: &mut Vec<Effect>) {
        let pending = self.calls.get(call);
        let reads = pending.call.access == Access::ReadOnly;
        self.answer(call, outcome, effects);
        if reads {
            self.calls.outside -= 1;
        } else {
            let wrote = Wrote::Nothing;
            self.tell(chain::Event::Executed { call, wrote }, effects);
        }
    }

    /// Tells the client.
    pub(crate) fn answer(&mut self, call: CallId, outcome: Outcome, effects: &mut Vec<Effect>) {
        let joined = self.over(call);
        effects.push(Effect::Answer {
            call,
            joined,
            outcome,
        });
    }

    /// A call is not pending any more. Returns those that repeated it.
    pub(crate) fn over(&mut self, call: CallId) -> Vec<CallId> {
        let Some(pending) = self.calls.pending.remove(&call) else {
            return Vec::new();
        };
        self.gate.unset_alone(pending.arrival, call);
        for joined in &pending.joined {
            self.calls.joined.remove(joined);
        }
        if let Some(token) = pending.call.token
            && let Some(last) = self.clients.tokens.get_mut(&token.client)
            && last.pending == Some(call)
        {
            last.pending = None;
        }
        self.clients.tidy(pending.call.session);
        pending.joined
    }

    pub(crate) fn blocked(&mut self, replica: usize, by: &[AttemptId], effects: &mut Vec<Effect>) {
        let in_the_way: Vec<AttemptId> = if by.is_empty() {
            let attempts = self.calls.attempts.iter();
            let here = attempts.filter(|(_, known)| known.replica == replica && !known.reads);
            here.map(|(attempt, _)| *attempt).collect()
        } else {
            by.to_vec()
        };
        let id = self.id(replica);
        for attempt in in_the_way {
            if let Some(known) = self.calls.attempts.get_mut(&attempt) {
                // What is prepared is decided as soon as its stream tells of it.
                if known.replica == replica && !known.prepared && !known.killed {
                    known.killed = true;
                    self.counts.killed += 1;
                    effects.push(Effect::Kill {
                        attempt,
                        replica: id,
                    });
                }
            } else {
                self.commit_out_of_turn(attempt, replica, effects);
            }
        }
    }
}
