//! Running: a call is ordered, gets a session, is run, and its attempt is decided.
//!
//! Relies on: the scheduler; `certifier`.  Promises: an attempt is decided once; it commits only if it is prepared,
//! its client's answer is there, and its write set is known and passes.  Does not: see to it that it reaches the
//! other replicas (`spreading`).
//!
//! The scheduler orders all calls as under `Total`: a call is done when its effects are everywhere, and until then
//! those behind it wait for them where they run. When the client is answered is decided in `spreading`.

use crate::calls::{Attempt, Pending, Stage};
use crate::clients::Last;
use crate::config::Policy;
use crate::event::{Call, Effect, Outcome, Why};
use crate::front::{Front, Phase};
use crate::ids::{AttemptId, Lsn, Place, Rows, WriteId};
use crate::ledger::{Bytes, Entry, Open, There};
use crate::replicas::State;
use quintet_chain as chain;
use quintet_chain::{Access, CallId, Guarantee, Submission, WorkerId, Wrote};
use quintet_engine::Refusal;

/// No replica.
const NOWHERE: WorkerId = WorkerId(u32::MAX);

impl Front {
    pub(crate) fn submitted(&mut self, call: Call, effects: &mut Vec<Effect>) {
        let (id, token, session) = (call.call, call.token, call.session);
        let in_use = self.calls.pending.contains_key(&id) || self.calls.joined.contains_key(&id);
        assert!(!in_use, "call {} is pending", id.0);
        if let Some(first) = token.and_then(|token| self.clients.repeats(token)) {
            self.counts.joined += 1;
            self.calls.get_mut(first).joined.push(id);
            self.calls.joined.insert(id, first);
            return;
        }
        if self.calls.outside >= self.config.pending_max {
            let limit = self.config.pending_max;
            let reason = Refusal::TooManyCalls { limit };
            effects.push(Effect::Refuse { call: id, reason });
            return;
        }
        self.arrivals += 1;
        let asks = token.is_some_and(|token| !self.clients.is_new(token));
        if let Some(token) = token {
            let before = self.clients.tokens.get(&token.client);
            let newest = before.is_none_or(|last| last.number <= token.number);
            let last = Last {
                number: token.number,
                pending: Some(id),
                // A repetition looks for the effects of the first.
                position: before.and_then(|last| last.position),
            };
            if newest {
                self.clients.tokens.insert(token.client, last);
            }
            let tokens = &mut self.clients.session(session).tokens;
            if !tokens.contains(&token.client) {
                tokens.push(token.client);
            }
        }
        let stage = match (&self.phase, asks) {
            (Phase::Recovering(_), _) => Stage::Early,
            (Phase::Serving, true) => Stage::Asking(None),
            (Phase::Serving, false) => Stage::Ordered,
        };
        let pending = Pending {
            call,
            arrival: self.arrivals,
            stage,
            joined: Vec::new(),
            lost: 0,
            blocker: None,
            cancelled: false,
        };
        self.calls.pending.insert(id, pending);
        self.calls.outside += 1;
        match stage {
            Stage::Early => {}
            Stage::Asking(_) => self.askers.push_back(id),
            _ => self.order(id, effects),
        }
    }

    /// Calls that were made before the front end was ready.
    pub(crate) fn early_calls(&mut self, effects: &mut Vec<Effect>) {
        let pending = self.calls.pending.values();
        let early = pending.filter(|pending| pending.stage == Stage::Early);
        let mut early: Vec<(u64, CallId, bool)> = early
            .map(|pending| {
                let Call { call, token, .. } = &pending.call;
                (pending.arrival, *call, token.is_some())
            })
            .collect();
        early.sort_unstable();
        for (_, call, asks) in early {
            if asks {
                self.calls.get_mut(call).stage = Stage::Asking(None);
                self.askers.push_back(call);
            } else {
                self.order(call, effects);
            }
        }
    }

    pub(crate) fn asked(&mut self, call: CallId, answered: bool, effects: &mut Vec<Effect>) {
        let pending = self.calls.pending.get(&call);
        if !pending.is_some_and(|pending| matches!(pending.stage, Stage::Asking(Some(_)))) {
            return;
        }
        if answered {
            self.calls.outside -= 1;
            self.answer(call, Outcome::Repeated, effects);
        } else {
            self.order(call, effects);
        }
    }

    /// Asks replicas about calls that may have taken place.
    pub(crate) fn start_askers(&mut self, effects: &mut Vec<Effect>) {
        for _ in 0..self.askers.len() {
            let call = self.askers.pop_front().expect("it was counted");
            let Some(pending) = self.calls.pending.get(&call) else {
                continue;
            };
            let token = pending
                .call
                .token
                .expect("only calls with tokens are asked for");
            let last = self.clients.tokens.get(&token.client);
            let position = last.and_then(|last| last.position);
            let has_it = |replica: &usize| {
                self.replicas[*replica].state == State::Live
                    && position.is_none_or(|position| self.ledger.is_at(position, *replica))
            };
            let Some(at) = (0..self.replicas.len()).find(has_it) else {
                self.askers.push_back(call);
                continue;
            };
            self.calls.get_mut(call).stage = Stage::Asking(Some(at));
            let replica = self.id(at);
            effects.push(Effect::Ask { call, replica });
        }
    }

    /// Hands a call to the scheduler, or among those that read.
    fn order(&mut self, call: CallId, effects: &mut Vec<Effect>) {
        let uses_keys = self.config.policy.uses_keys();
        let pending = self.calls.get_mut(call);
        if pending.call.access == Access::ReadOnly {
            pending.stage = Stage::Reading;
            self.readers.push_back(call);
            return;
        }
        pending.stage = Stage::Ordered;
        let keys = std::mem::take(&mut pending.call.keys);
        let (arrival, cost, session) = (pending.arrival, pending.call.cost, pending.call.session);
        self.calls.outside -= 1;
        let pinned = self.pin(call);
        let after = self.clients.session(session).calls.clone();
        self.clients.session(session).calls.push(call);
        self.calls.sessions.insert(call, session);
        let submission = Submission {
            call,
            keys: if uses_keys { keys } else { Vec::new() },
            access: Access::Update,
            guarantee: Guarantee::Total,
            after,
            arrival,
            cost,
            pinned,
        };
        self.tell(chain::Event::Submitted(submission), effects);
    }

    /// The only replica that a call may run at. If there is none that is fit, nowhere: it waits to be moved.
    pub(crate) fn pin(&mut self, call: CallId) -> Option<WorkerId> {
        let pinned = self.calls.get(call).call.pinned;
        let at = match self.config.policy {
            Policy::RoundRobin if !pinned => {
                let count = self.replicas.len();
                let mut turns = (1..=count).map(|step| (self.turn + step) % count);
                let next = turns.find(|at| self.replicas[*at].state == State::Live);
                self.turn = next.unwrap_or(self.turn);
                next
            }
            Policy::Chains | Policy::ChainsCertified if !pinned => return None,
            _ => self.primary,
        };
        Some(at.map_or(NOWHERE, |at| self.replicas[at].worker()))
    }

    /// Tells the scheduler, and does what it says.
    pub(crate) fn tell(&mut self, event: chain::Event, effects: &mut Vec<Effect>) {
        let mut said = Vec::new();
        self.scheduler.handle(event, &mut said);
        for effect in said {
            match effect {
                // Every replica that is there is told of every write set, by `spreading`.
                chain::Effect::Queue { .. } | chain::Effect::Apply { .. } => {}
                chain::Effect::Run { call, worker } => {
                    let at = self.replicas.iter().position(|of| of.worker() == worker);
                    let at = at.expect("workers are replicas");
                    self.enter_gate(call, at);
                }
                chain::Effect::Answer { call } => self.is_everywhere(call),
                chain::Effect::Refuse { call, reason } => {
                    self.is_everywhere(call);
                    for call in self.over(call).into_iter().chain([call]) {
                        let reason = reason.clone();
                        effects.push(Effect::Refuse { call, reason });
                    }
                }
                chain::Effect::Cancel { call } => {
                    self.is_everywhere(call);
                    self.answer(call, Outcome::Cancelled, effects);
                }
                chain::Effect::Kill { .. } => unreachable!("running calls are stopped by us"),
            }
        }
    }

    /// The scheduler is through with a call: whoever comes later finds its effects wherever it runs.
    fn is_everywhere(&mut self, call: CallId) {
        let Some(session) = self.calls.sessions.remove(&call) else {
            return;
        };
        self.clients
            .session(session)
            .calls
            .retain(|other| *other != call);
        self.clients.tidy(session);
    }

    fn enter_gate(&mut self, call: CallId, replica: usize) {
        let pending = self.calls.get_mut(call);
        pending.stage = Stage::Gated(replica);
        let arrival = pending.arrival;
        self.gate.waiting[replica].insert(arrival, call);
    }

    /// Gives the free sessions of a replica to calls that wait for one.
    pub(crate) fn start_next(&mut self, replica: usize, effects: &mut Vec<Effect>) {
        let waiting: Vec<CallId> = self.gate.waiting[replica].values().copied().collect();
        for call in waiting {
            let of = &self.replicas[replica];
            let (calls, own) = (&of.config.slots, &of.config.interactive_slots);
            if of.running >= *calls && of.interactive >= *own {
                return;
            }
            if self.may_start(call, replica) {
                self.start(call, replica, effects);
            }
        }
    }

    fn may_start(&self, call: CallId, replica: usize) -> bool {
        let pending = self.calls.get(call);
        let of = &self.replicas[replica];
        let free = match pending.call.interactive {
            true => of.interactive < of.config.interactive_slots,
            false => of.running < of.config.slots,
        };
        let blocked = pending
            .blocker
            .is_some_and(|position| !self.ledger.is_at(position, replica));
        let let_in = match self.gate.alone() {
            None => true,
            Some(alone) if alone == call => {
                let mut attempts = self.calls.attempts.values();
                let others = attempts.any(|attempt| !attempt.interactive && !attempt.reads);
                !others && of.is_idle()
            }
            Some(_) => false,
        };
        free && !blocked && let_in
    }

    /// Runs a call.
    pub(crate) fn start(&mut self, call: CallId, replica: usize, effects: &mut Vec<Effect>) {
        self.attempts += 1;
        self.counts.attempts += 1;
        let (epoch, number) = (self.config.epoch, self.attempts);
        let attempt = AttemptId { epoch, number };
        let pending = self.calls.get_mut(call);
        pending.stage = Stage::Running(attempt);
        pending.blocker = None;
        let (arrival, interactive) = (pending.arrival, pending.call.interactive);
        let reads = pending.call.access == Access::ReadOnly;
        self.gate.waiting[replica].remove(&arrival);
        let of = &mut self.replicas[replica];
        match (reads, interactive) {
            (true, _) => of.reading += 1,
            (false, true) => of.interactive += 1,
            (false, false) => of.running += 1,
        }
        if !reads {
            self.certifier.begin(attempt, replica);
        }
        let known = Attempt {
            call,
            replica,
            interactive,
            reads,
            prepared: false,
            wrote: None,
            killed: false,
        };
        self.calls.attempts.insert(attempt, known);
        effects.push(Effect::Run {
            call,
            attempt,
            replica: self.id(replica),
            place: Place::new(epoch, number),
        });
    }

    /// An attempt does not need its session any more.
    fn free_session(&mut self, attempt: &Attempt) {
        let of = &mut self.replicas[attempt.replica];
        match (attempt.reads, attempt.interactive, attempt.prepared) {
            (_, _, true) => {}
            (true, _, _) => of.reading -= 1,
            (false, true, _) => of.interactive -= 1,
            (false, false, _) => of.running -= 1,
        }
    }

    /// Takes an attempt out: it is decided, or over.
    pub(crate) fn take_attempt(&mut self, attempt: AttemptId) -> Option<Attempt> {
        let known = self.calls.attempts.remove(&attempt)?;
        self.free_session(&known);
        self.certifier.end(attempt);
        if let Some((at, _)) = &known.wrote {
            self.ledger.close(known.replica, *at);
        }
        Some(known)
    }

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
    fn over(&mut self, call: CallId) -> Vec<CallId> {
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

    pub(crate) fn cancelled(&mut self, call: CallId, effects: &mut Vec<Effect>) {
        if let Some(first) = self.calls.joined.remove(&call) {
            self.calls
                .get_mut(first)
                .joined
                .retain(|other| *other != call);
            effects.push(Effect::Answer {
                call,
                joined: Vec::new(),
                outcome: Outcome::Cancelled,
            });
            return;
        }
        let Some(pending) = self.calls.pending.get_mut(&call) else {
            return;
        };
        // Somebody else wants it.
        if !pending.joined.is_empty() {
            return;
        }
        match pending.stage {
            Stage::Early | Stage::Asking(_) | Stage::Reading => {
                self.calls.outside -= 1;
                self.readers.retain(|other| *other != call);
                self.askers.retain(|other| *other != call);
                self.answer(call, Outcome::Cancelled, effects);
            }
            Stage::Ordered => self.tell(chain::Event::Cancelled { call }, effects),
            Stage::Gated(replica) => {
                let arrival = pending.arrival;
                self.gate.waiting[replica].remove(&arrival);
                self.end(call, Outcome::Cancelled, effects);
            }
            Stage::Running(attempt) => {
                pending.cancelled = true;
                let replica = self.id(self.calls.attempts[&attempt].replica);
                effects.push(Effect::Kill { attempt, replica });
            }
            Stage::Unwinding(attempt) => {
                for replica in &mut self.replicas {
                    replica.unwinding.remove(&attempt);
                }
                self.end(call, Outcome::Cancelled, effects);
            }
            Stage::Decided(_) => {}
        }
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
