//! Submitting: a call is taken in, asked about if it may have taken place, ordered; or nobody wants it any more.
//!
//! Relies on: the scheduler; clients with tokens count their calls up.  Promises: of a call with a token one is pending
//! at most, repetitions join it; nobody is asked before the front end is ready.  Does not: run calls (`running`).
//!
//! The scheduler orders all calls as under `Total`: a call is done when its effects are everywhere, and until then
//! those behind it wait for them where they run. When the client is answered is decided in `spreading`.

use crate::calls::{Pending, Stage};
use crate::clients::Last;
use crate::config::Policy;
use crate::event::{Call, Effect, Outcome};
use crate::front::{Front, Phase};
use crate::replicas::State;
use quintet_chain as chain;
use quintet_chain::{Access, CallId, Guarantee, Submission, WorkerId};
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
        self.follow(said, effects);
    }

    /// A call that waits for a session runs at another replica.
    pub(crate) fn moved(&mut self, call: CallId, to: WorkerId, effects: &mut Vec<Effect>) {
        let mut said = Vec::new();
        self.scheduler.move_to(call, to, &mut said);
        self.follow(said, effects);
    }

    fn follow(&mut self, said: Vec<chain::Effect>, effects: &mut Vec<Effect>) {
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
}
