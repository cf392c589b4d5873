//! Leaving: a replica goes, comes back, catches up; another becomes the primary.
//!
//! Relies on: a report is taken when nothing sent before can take effect any more.  Promises: what was decided goes on
//! without the replica and is repeated when it returns; what was not decided is run elsewhere, and the old attempt
//! is rolled back when the replica returns.  Does not: find out that a replica is gone.

use crate::calls::Stage;
use crate::event::{Effect, Outcome, Report};
use crate::front::{Front, Phase};
use crate::ids::{AttemptId, WriteId};
use crate::ledger::There;
use crate::replicas::{Item, State};
use quintet_chain as chain;
use quintet_chain::{CallId, Freshness, Guarantee, Holds, Wrote};
use std::collections::BTreeSet;

impl Front {
    pub(crate) fn replica_lost(&mut self, replica: usize, effects: &mut Vec<Effect>) {
        if let Phase::Recovering(recovery) = &mut self.phase {
            recovery.lost(replica);
            self.recover_if_complete(effects);
            return;
        }
        if !self.replicas[replica].is_there() {
            return;
        }
        self.give_up_attempts(replica, effects);
        self.replicas[replica].state = State::Lost;
        self.replicas[replica].clear();
        let mut orphaned = Vec::new();
        for (position, entry) in self.ledger.iter_mut() {
            if entry.origin == replica && entry.there[replica] != There::Durable {
                entry.released = true;
                entry.orphaned = true;
                orphaned.push(position);
            }
        }
        if self.primary == Some(replica) {
            self.primary = None;
        }
        let worker = self.replicas[replica].worker();
        self.tell(chain::Event::WorkerLost { worker }, effects);
        self.move_pinned(effects);
        self.issue_everywhere(effects);
        for position in orphaned {
            self.look_at(position, effects);
        }
        let unanswered: Vec<u64> = self.ledger.unanswered.iter().copied().collect();
        for position in unanswered {
            self.look_at(position, effects);
        }
        for other in 0..self.replicas.len() {
            self.may_be_live(other, effects);
        }
    }

    /// Whatever ran at a replica and is not decided is run elsewhere, or over.
    fn give_up_attempts(&mut self, replica: usize, effects: &mut Vec<Effect>) {
        let gated = std::mem::take(&mut self.gate.waiting[replica]);
        let unwinding = std::mem::take(&mut self.replicas[replica].unwinding);
        for call in gated.into_values().chain(unwinding.into_values()) {
            let pending = self.calls.get_mut(call);
            pending.stage = Stage::Ordered;
            pending.blocker = None;
        }
        let asked: Vec<CallId> = {
            let pending = self.calls.pending.iter();
            let asked = pending.filter(|(_, of)| of.stage == Stage::Asking(Some(replica)));
            asked.map(|(call, _)| *call).collect()
        };
        for call in asked {
            self.calls.get_mut(call).stage = Stage::Asking(None);
            self.askers.push_back(call);
        }
        let here: Vec<AttemptId> = {
            let attempts = self.calls.attempts.iter();
            let here = attempts.filter(|(_, attempt)| attempt.replica == replica);
            here.map(|(attempt, _)| *attempt).collect()
        };
        for attempt in here {
            let Some(known) = self.take_attempt(attempt) else {
                continue;
            };
            if known.wrote.is_some() {
                let write = WriteId::Attempt(attempt);
                effects.push(Effect::Forget { write });
            }
            let call = known.call;
            if known.reads {
                self.read_elsewhere(call, effects);
                continue;
            }
            let cancelled = self.calls.get(call).cancelled;
            if cancelled || known.interactive {
                let outcome = match cancelled {
                    true => Outcome::Cancelled,
                    false => Outcome::Gone,
                };
                self.answer(call, outcome, effects);
                let wrote = Wrote::Nothing;
                self.tell(chain::Event::Executed { call, wrote }, effects);
                // Behind it stood calls that may have got its slot; they have not begun.
                self.ungate(replica);
            } else {
                self.counts.rerun += 1;
                self.calls.get_mut(call).stage = Stage::Ordered;
            }
        }
    }

    fn ungate(&mut self, replica: usize) {
        for call in std::mem::take(&mut self.gate.waiting[replica]).into_values() {
            self.calls.get_mut(call).stage = Stage::Ordered;
        }
    }

    /// Calls that were bound to a replica that is gone may run elsewhere.
    fn move_pinned(&mut self, effects: &mut Vec<Effect>) {
        let pending = self.calls.pending.iter();
        let waiting = pending.filter(|(_, of)| of.stage == Stage::Ordered);
        let mut waiting: Vec<(u64, CallId)> = waiting
            .map(|(call, pending)| (pending.arrival, *call))
            .collect();
        waiting.sort_unstable();
        for (_, call) in waiting {
            if let Some(pinned) = self.pin(call) {
                let pinned = Some(pinned);
                self.tell(chain::Event::Moved { call, pinned }, effects);
            }
        }
    }

    /// If no replica is the primary, one that is fit becomes it: the last one, if it can.
    pub(crate) fn find_primary(&mut self, effects: &mut Vec<Effect>) {
        if self.primary.is_some() {
            return;
        }
        let fit = |replica: &usize| {
            let of = &self.replicas[*replica];
            // Where nothing but the server keeps calls apart, it must have all that the last primary decided.
            of.state == State::Live && (!self.centralises() || of.is_idle())
        };
        let count = self.replicas.len();
        let last = &self.replicas[self.last_primary];
        if last.is_there() && last.state != State::Live {
            // It is about to be.
            return;
        }
        let candidates = (0..count).map(|step| (self.last_primary + step) % count);
        let Some(primary) = candidates.into_iter().find(fit) else {
            return;
        };
        self.primary = Some(primary);
        self.last_primary = primary;
        self.move_pinned(effects);
    }

    pub(crate) fn reported(&mut self, replica: usize, report: Report, effects: &mut Vec<Effect>) {
        if let Phase::Recovering(recovery) = &mut self.phase {
            recovery.reported(replica, report);
            self.recover_if_complete(effects);
            return;
        }
        if self.replicas[replica].state == State::Expelled {
            effects.push(Effect::Expelled {
                replica: self.id(replica),
            });
            return;
        }
        self.replica_lost(replica, effects);
        self.confirm(replica, effects);
        let prepared: BTreeSet<AttemptId> = report.prepared.iter().copied().collect();
        let applied: BTreeSet<WriteId> = report.applied.iter().copied().collect();
        self.replicas[replica].soft.clear();
        for (position, entry) in self.ledger.iter_mut() {
            let there = &mut entry.there[replica];
            if entry.origin == replica {
                let WriteId::Attempt(attempt) = entry.write else {
                    continue;
                };
                // It was prepared, and nobody but us ends it.
                if !prepared.contains(&attempt) {
                    *there = There::Durable;
                    self.certifier.arrived(position, replica);
                }
            } else if applied.contains(&entry.write) {
                if *there == There::Missing {
                    *there = There::Applied;
                }
                if *there == There::Applied {
                    self.replicas[replica].soft.insert(position);
                }
                self.certifier.arrived(position, replica);
            } else {
                *there = There::Missing;
                self.certifier.gone(position, replica);
            }
        }
        for attempt in report.prepared {
            if self.ledger.find(WriteId::Attempt(attempt)).is_none() {
                let replica = self.id(replica);
                effects.push(Effect::Rollback { attempt, replica });
            }
        }
        self.remove_marks(replica, report.applied, effects);
        self.await_forgotten(replica);
        self.join(replica, effects);
    }

    /// Marks of write sets that are everywhere.
    pub(crate) fn remove_marks(
        &self,
        replica: usize,
        marks: Vec<WriteId>,
        effects: &mut Vec<Effect>,
    ) {
        let over = marks.into_iter();
        let over: Vec<WriteId> = over
            .filter(|write| self.ledger.find(*write).is_none())
            .collect();
        if !over.is_empty() {
            self.prune_at(replica, over, effects);
        }
    }

    /// A replica is there and gets what it lacks.
    pub(crate) fn join(&mut self, replica: usize, effects: &mut Vec<Effect>) {
        let lacks = self.ledger.iter();
        let lacks = lacks.filter(|(_, entry)| entry.there[replica] == There::Missing);
        let lacks: Vec<u64> = lacks.map(|(position, _)| position).collect();
        let of = &mut self.replicas[replica];
        of.state = State::Behind;
        of.behind_until = self.ledger.position;
        for position in lacks {
            // To the scheduler it is a worker that has all that came before it.
            self.line_up(position, None, replica, effects);
        }
        let of = &self.replicas[replica];
        let joined = chain::Event::WorkerJoined {
            worker: of.worker(),
            slots: of.slots(),
            holds: Holds::Everything,
            freshness: Freshness::Behind,
        };
        self.tell(joined, effects);
        let known: Vec<u64> = self.ledger.iter().map(|(position, _)| position).collect();
        for position in known {
            self.look_at(position, effects);
        }
        self.issue_everywhere(effects);
        self.may_be_live(replica, effects);
    }

    /// A replica that has caught up may be given calls.
    pub(crate) fn may_be_live(&mut self, replica: usize, effects: &mut Vec<Effect>) {
        let of = &mut self.replicas[replica];
        if !of.is_there() || of.state == State::Live {
            return;
        }
        let mut lacks = of.queue.iter().filter(|item| !item.arrived);
        if lacks.any(|item| item.position <= of.behind_until) {
            return;
        }
        of.state = State::Closing;
        let answered = |item: &Item| {
            let entry = self.ledger.get(item.position);
            !item.arrived && entry.is_some_and(|entry| entry.unanswered.is_none())
        };
        // Under PSI an answered write set may be missing anywhere but where its session reads.
        let total = self.config.guarantee == Guarantee::Total;
        if total && self.replicas[replica].queue.iter().any(answered) {
            return;
        }
        self.replicas[replica].state = State::Live;
        let worker = self.replicas[replica].worker();
        self.tell(chain::Event::CaughtUp { worker }, effects);
        self.move_pinned(effects);
    }

    /// A replica has been away for too long.
    pub(crate) fn expel(&mut self, replica: usize, effects: &mut Vec<Effect>) {
        self.replica_lost(replica, effects);
        self.replicas[replica].state = State::Expelled;
        effects.push(Effect::Expelled {
            replica: self.id(replica),
        });
        let known: Vec<u64> = self.ledger.iter().map(|(position, _)| position).collect();
        for position in known {
            self.look_at(position, effects);
        }
    }
}
