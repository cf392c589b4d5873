//! Calls under two-phase commit: the peers of the queue engine, on the same operations, store and log.
//!
//! Relies on: `control` for who may touch what, `run` for running a part.  Promises: as `batches`: an answered call
//! survives, one that is not answered is there on all its nodes or on none; a conflict is run again here.
//! Does not: batch; many calls share a sync of the log because the log does that.
//!
//! ```text
//!   coordinator                        participant
//!   Execute ────────────────────────►  run (values pass between participants) ─► prepared: note `p`, durable
//!   all said yes ◄──────────── Voted ─┘
//!   note `d` and own writes, durable ─► answer
//!   Decide ─────────────────────────►  writes, without `p`; unlocked ─► durable
//!   forget `d` ◄───────────── Acked ──┘
//! ```
//!
//! In favour of these peers: a part's operations go out in one message, and running prepares at once (but under
//! `Optimistic`, whose validation is a round of its own); the coordinator's own part is prepared by its decision; a part
//! that only reads is not logged; a call of one node commits in one record. What is not known to be decided
//! was aborted (presumed abort).
//!
//! `Serial` is H-Store's blocking scheme (Jones, Abadi and Madden, SIGMOD 2010): node 0 orders all calls of several
//! partitions, and a partition that has begun one waits for its decision.

pub use crate::control::Control;

use crate::call::{Call, CallId, Datum, Key, LockKey, NodeId, Outcome, Record, Slot};
use crate::message::{Attempt, Message, Part, Vote, decode, encode};
use crate::node::{Effects, Event, Node, NodeConfig, Store, Ticket, Writes};
use crate::run::{Run, locks_of, parts_of};
use quintet_rt::Rand;
use std::collections::{BTreeMap, VecDeque};

/// First wait of a call that lost, in microseconds; doubled up to [`BACKOFF_DOUBLINGS`] times, and drawn.
const BACKOFF_MICROS: u64 = 100;

/// See [`BACKOFF_MICROS`].
const BACKOFF_DOUBLINGS: u32 = 7;

/// Values kept for calls that have not come, at most: some never come, since they were aborted.
const EARLY_MAX: usize = 10_000;

/// A call at its coordinator.
struct Coordinated {
    id: CallId,
    origin: NodeId,
    call: Call,
    tries: u32,
    /// Its nodes, and whether they write.
    nodes: Vec<(NodeId, bool)>,
    yes: usize,
    answers: Vec<Datum>,
    phase: Phase,
}

#[derive(PartialEq, Eq)]
enum Phase {
    Executing,
    /// Validation asked for.
    Preparing,
    /// The decision is being logged.
    Deciding,
    /// Told to those that write; these have not said that it is durable.
    Acking(Vec<NodeId>),
}

/// A part at its node.
struct Local {
    run: Option<Run>,
    deliver: Vec<(Slot, NodeId)>,
    answers: Vec<(u16, Slot)>,
    /// The only node of the call.
    alone: bool,
    prepare: bool,
    locks: Vec<(LockKey, bool)>,
    versions: Vec<u32>,
    stage: Stage,
    /// Taken out of the run when it was prepared.
    writes: BTreeMap<Key, Record>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The partition is another call's.
    Waiting,
    Running,
    /// Has run; validation has not been asked for.
    Over,
    /// Promised.
    Prepared,
}

/// What follows when a record is durable.
enum Then {
    Vote(Attempt, Vec<(u16, Datum)>),
    Decided(u64),
    Acked(Attempt),
}

/// See the header.
pub struct TwoPhase {
    config: NodeConfig,
    control: Control,
    rand: Rand,
    next: u64,
    coordinated: BTreeMap<u64, Coordinated>,
    locals: BTreeMap<Attempt, Local>,
    /// Calls that wait before they are run again.
    resting: BTreeMap<u64, Coordinated>,
    forwarded: BTreeMap<CallId, NodeId>,
    early: BTreeMap<Attempt, Vec<(Slot, Datum)>>,
    inbox: VecDeque<(NodeId, Message)>,
    logging: VecDeque<(Ticket, Then)>,
    /// Notes that go with the next record.
    stale: Vec<Vec<u8>>,
}

impl TwoPhase {
    /// A node that has not started.
    pub fn new(config: NodeConfig, control: Control) -> TwoPhase {
        TwoPhase {
            control,
            rand: Rand::seeded(u64::from(config.me.0) + 1),
            next: u64::from(config.incarnation) << 40,
            config,
            coordinated: BTreeMap::new(),
            locals: BTreeMap::new(),
            resting: BTreeMap::new(),
            forwarded: BTreeMap::new(),
            early: BTreeMap::new(),
            inbox: VecDeque::new(),
            logging: VecDeque::new(),
            stale: Vec::new(),
        }
    }

    fn send(&mut self, to: NodeId, message: Message, effects: &mut Effects) {
        if to == self.config.me {
            self.inbox.push_back((to, message));
        } else {
            effects.sends.push((to, message));
        }
    }

    fn log(
        &mut self,
        mut writes: Writes,
        then: Then,
        store: &mut dyn Store,
        effects: &mut Effects,
    ) {
        effects.work.records += 1;
        effects.work.written += writes.records.len() as u64;
        writes
            .notes
            .extend(self.stale.drain(..).map(|note| (note, None)));
        let ticket = store.commit(writes);
        self.logging.push_back((ticket, then));
    }

    /// What was promised, and what was decided, before a crash.
    fn start(&mut self, store: &mut dyn Store) {
        for (key, value) in store.notes() {
            if let Some(attempt) = name_of(b'p', &key) {
                let writes: Vec<(Key, Record)> = decode(&value).unwrap_or_default();
                let locks: BTreeMap<LockKey, bool> =
                    writes.iter().map(|(key, _)| (key.lock(), true)).collect();
                let locks: Vec<(LockKey, bool)> = locks.into_iter().collect();
                match &mut self.control {
                    Control::NoWait(held) | Control::Optimistic(held, _) => {
                        held.take(attempt, &locks);
                    }
                    Control::Serial(queue) => queue.push_back(attempt),
                }
                let local = Local {
                    run: None,
                    deliver: Vec::new(),
                    answers: Vec::new(),
                    alone: false,
                    prepare: true,
                    locks,
                    versions: Vec::new(),
                    stage: Stage::Prepared,
                    writes: writes.into_iter().collect(),
                };
                self.locals.insert(attempt, local);
            } else if let Some(attempt) = name_of(b'd', &key) {
                let writers: Vec<NodeId> = decode(&value).unwrap_or_default();
                let coordinated = Coordinated {
                    id: CallId(u64::MAX),
                    origin: self.config.me,
                    call: nothing(),
                    tries: 0,
                    nodes: writers.iter().map(|node| (*node, true)).collect(),
                    yes: 0,
                    answers: Vec::new(),
                    phase: Phase::Acking(writers),
                };
                self.coordinated.insert(attempt.number, coordinated);
            }
        }
    }

    fn connected(&mut self, peer: NodeId, effects: &mut Effects) {
        let me = self.config.me;
        let mut lost = Vec::new();
        let mut again = Vec::new();
        for (number, call) in &self.coordinated {
            let has_part = call.nodes.iter().any(|(node, _)| *node == peer);
            match &call.phase {
                Phase::Executing | Phase::Preparing if has_part => lost.push(*number),
                Phase::Acking(left) if left.contains(&peer) => again.push(*number),
                _ => {}
            }
        }
        for number in again {
            let attempt = self.attempt(number);
            let commit = true;
            effects
                .sends
                .push((peer, Message::Decide { attempt, commit }));
        }
        for number in lost {
            self.abort(number, effects);
            let Some(call) = self.coordinated.remove(&number) else {
                continue;
            };
            if call.nodes.len() == 1 {
                // It commits there in one step, and perhaps has.
                self.answer(call.id, call.origin, Outcome::Unknown, effects);
            } else {
                self.rest(number, call, effects);
            }
        }
        let theirs = self
            .locals
            .iter()
            .filter(|(a, _)| a.coordinator == peer && peer != me);
        let theirs: Vec<(Attempt, Stage)> = theirs.map(|(a, l)| (*a, l.stage)).collect();
        for (attempt, stage) in theirs {
            match stage {
                Stage::Prepared => effects.sends.push((peer, Message::Inquire { attempt })),
                _ => self.drop_local(attempt),
            }
        }
        let gone: Vec<CallId> = self
            .forwarded
            .iter()
            .filter(|(_, to)| **to == peer)
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            self.forwarded.remove(&id);
            effects.answers.push((id, Outcome::Unknown));
        }
    }

    fn attempt(&self, number: u64) -> Attempt {
        Attempt {
            coordinator: self.config.me,
            number,
        }
    }

    // ---- coordinator ----

    fn call(&mut self, id: CallId, origin: NodeId, call: Call, effects: &mut Effects) {
        let nodes = call.nodes();
        let first = NodeId(0);
        let elsewhere = matches!(self.control, Control::Serial(_))
            && nodes.len() > 1
            && self.config.me != first;
        if elsewhere {
            self.forwarded.insert(id, first);
            effects.sends.push((first, Message::Forward { id, call }));
            return;
        }
        let coordinated = Coordinated {
            id,
            origin,
            call,
            tries: 0,
            nodes: Vec::new(),
            yes: 0,
            answers: Vec::new(),
            phase: Phase::Executing,
        };
        self.begin(coordinated, effects);
    }

    fn begin(&mut self, mut call: Coordinated, effects: &mut Effects) {
        self.next += 1;
        let number = self.next;
        let attempt = self.attempt(number);
        call.phase = Phase::Executing;
        call.yes = 0;
        call.answers = vec![Datum::Null; call.call.answers().len()];
        let parts = parts_of(0, &call.call);
        call.nodes = parts
            .iter()
            .map(|(node, part)| {
                let writes = part.operations.iter().any(|o| o.action.writes());
                (*node, writes)
            })
            .collect();
        effects.work.planned += call.call.operations().len() as u64;
        self.coordinated.insert(number, call);
        let prepare = self.control.prepares_at_once();
        for (node, part) in parts {
            let execute = Message::Execute {
                attempt,
                part,
                prepare,
            };
            self.send(node, execute, effects);
        }
    }

    fn answer(&mut self, id: CallId, origin: NodeId, outcome: Outcome, effects: &mut Effects) {
        if origin == self.config.me {
            effects.answers.push((id, outcome));
        } else {
            effects
                .sends
                .push((origin, Message::Answered { id, outcome }));
        }
    }

    fn voted(&mut self, number: u64, vote: Vote, store: &mut dyn Store, effects: &mut Effects) {
        let Some(call) = self.coordinated.get_mut(&number) else {
            return;
        };
        if !matches!(call.phase, Phase::Executing | Phase::Preparing) {
            return;
        }
        match vote {
            Vote::Yes(answers) => {
                for (place, value) in answers {
                    if let Some(answer) = call.answers.get_mut(usize::from(place)) {
                        *answer = value;
                    }
                }
                call.yes += 1;
                if call.yes < call.nodes.len() {
                    return;
                }
                if call.nodes.len() == 1 {
                    // Its only node has committed it.
                    if let Some(call) = self.coordinated.remove(&number) {
                        let outcome = Outcome::Committed(call.answers);
                        self.answer(call.id, call.origin, outcome, effects);
                    }
                } else if call.phase == Phase::Executing && !self.control.prepares_at_once() {
                    call.phase = Phase::Preparing;
                    call.yes = 0;
                    let attempt = self.attempt(number);
                    let nodes = self.coordinated[&number].nodes.clone();
                    for (node, _) in nodes {
                        self.send(node, Message::Prepare { attempt }, effects);
                    }
                } else {
                    self.decide(number, store, effects);
                }
            }
            Vote::Conflict => {
                self.abort(number, effects);
                if let Some(call) = self.coordinated.remove(&number) {
                    self.rest(number, call, effects);
                }
            }
            Vote::Raised => {
                self.abort(number, effects);
                if let Some(call) = self.coordinated.remove(&number) {
                    self.answer(call.id, call.origin, Outcome::Raised, effects);
                }
            }
        }
    }

    /// Tells all nodes of the call; they forget it.
    fn abort(&mut self, number: u64, effects: &mut Effects) {
        let attempt = self.attempt(number);
        let nodes = self.coordinated.get(&number).map(|call| call.nodes.clone());
        let commit = false;
        for (node, _) in nodes.into_iter().flatten() {
            self.send(node, Message::Decide { attempt, commit }, effects);
        }
    }

    fn rest(&mut self, number: u64, mut call: Coordinated, effects: &mut Effects) {
        effects.retries += 1;
        let longest = BACKOFF_MICROS << call.tries.min(BACKOFF_DOUBLINGS);
        call.tries += 1;
        effects
            .wakes
            .push((longest / 2 + self.rand.below(longest), number));
        self.resting.insert(number, call);
    }

    fn decide(&mut self, number: u64, store: &mut dyn Store, effects: &mut Effects) {
        let me = self.config.me;
        let attempt = self.attempt(number);
        let Some(call) = self.coordinated.get_mut(&number) else {
            return;
        };
        call.phase = Phase::Deciding;
        let writers = call
            .nodes
            .iter()
            .filter(|(node, writes)| *writes && *node != me);
        let writers: Vec<NodeId> = writers.map(|(node, _)| *node).collect();
        let mut writes = Writes::default();
        if !writers.is_empty() {
            let note = encode(&writers);
            writes.notes.push((name(b'd', attempt), Some(note)));
        }
        if let Some(local) = self.locals.get_mut(&attempt) {
            let own = std::mem::take(&mut local.writes);
            writes.records = own.into_iter().map(|(k, r)| (k, Some(r))).collect();
        }
        if writes.records.is_empty() && writes.notes.is_empty() {
            self.drop_local(attempt);
            self.decided(number, effects);
            return;
        }
        self.log(writes, Then::Decided(number), store, effects);
        // Whoever builds on this comes later in the same log.
        self.wrote(attempt);
        self.drop_local(attempt);
    }

    fn decided(&mut self, number: u64, effects: &mut Effects) {
        let me = self.config.me;
        let attempt = self.attempt(number);
        let Some(call) = self.coordinated.get_mut(&number) else {
            return;
        };
        let answers = std::mem::take(&mut call.answers);
        let (id, origin) = (call.id, call.origin);
        let others = call.nodes.iter().filter(|(node, _)| *node != me);
        let others: Vec<(NodeId, bool)> = others.copied().collect();
        let writers = others.iter().filter(|(_, writes)| *writes);
        let writers: Vec<NodeId> = writers.map(|(node, _)| *node).collect();
        let done = writers.is_empty();
        call.phase = Phase::Acking(writers);
        if done {
            self.coordinated.remove(&number);
        }
        self.answer(id, origin, Outcome::Committed(answers), effects);
        let commit = true;
        for (node, _) in others {
            self.send(node, Message::Decide { attempt, commit }, effects);
        }
    }

    fn acked(&mut self, from: NodeId, number: u64) {
        let Some(call) = self.coordinated.get_mut(&number) else {
            return;
        };
        if let Phase::Acking(left) = &mut call.phase {
            left.retain(|node| *node != from);
            if left.is_empty() {
                self.coordinated.remove(&number);
                let attempt = self.attempt(number);
                self.stale.push(name(b'd', attempt));
            }
        }
    }

    // ---- participant ----

    fn execute(
        &mut self,
        attempt: Attempt,
        mut part: Part,
        prepare: bool,
        store: &mut dyn Store,
        effects: &mut Effects,
    ) {
        let locks = locks_of(&part.operations);
        effects.work.locks += locks.len() as u64;
        effects.work.runs += 1;
        let mut run = Run::new(&mut part);
        for (slot, value) in self.early.remove(&attempt).into_iter().flatten() {
            run.put(slot, value);
        }
        let mut local = Local {
            run: Some(run),
            alone: part.nodes.is_empty(),
            deliver: part.deliver,
            answers: part.answers,
            prepare,
            versions: self.control.versions(&locks),
            locks,
            stage: Stage::Running,
            writes: BTreeMap::new(),
        };
        match &mut self.control {
            Control::NoWait(held) => {
                if !held.take(attempt, &local.locks) {
                    let vote = Vote::Conflict;
                    self.send(
                        attempt.coordinator,
                        Message::Voted { attempt, vote },
                        effects,
                    );
                    return;
                }
            }
            Control::Optimistic(..) => {}
            Control::Serial(queue) => {
                queue.push_back(attempt);
                if queue.front() != Some(&attempt) {
                    local.stage = Stage::Waiting;
                    self.locals.insert(attempt, local);
                    return;
                }
            }
        }
        self.locals.insert(attempt, local);
        self.advance(attempt, store, effects);
    }

    fn advance(&mut self, attempt: Attempt, store: &mut dyn Store, effects: &mut Effects) {
        let Some(local) = self.locals.get_mut(&attempt) else {
            return;
        };
        let (Some(run), Stage::Running) = (&mut local.run, local.stage) else {
            return;
        };
        effects.work.executed += run.advance(|key| store.read(key));
        let made = run.take_made();
        let mut passed: BTreeMap<NodeId, Vec<(Slot, Datum)>> = BTreeMap::new();
        for (slot, value) in &made {
            for (_, node) in local.deliver.iter().filter(|(wanted, _)| wanted == slot) {
                let values = passed.entry(*node).or_default();
                values.push((*slot, value.clone()));
            }
        }
        let (is_over, raised) = (run.is_over(), run.raised());
        for (node, values) in passed {
            effects
                .sends
                .push((node, Message::Pass { attempt, values }));
        }
        if !is_over {
            return;
        }
        if raised {
            self.drop_local(attempt);
            let vote = Vote::Raised;
            self.send(
                attempt.coordinator,
                Message::Voted { attempt, vote },
                effects,
            );
        } else if local.alone || local.prepare {
            self.prepare(attempt, store, effects);
        } else {
            local.stage = Stage::Over;
            let answers = run.answers(&local.answers);
            let vote = Vote::Yes(answers);
            self.send(
                attempt.coordinator,
                Message::Voted { attempt, vote },
                effects,
            );
        }
    }

    /// The part has run: it commits if it is the whole call, and is promised else.
    fn prepare(&mut self, attempt: Attempt, store: &mut dyn Store, effects: &mut Effects) {
        let Some(local) = self.locals.get_mut(&attempt) else {
            return;
        };
        if !self
            .control
            .validate(attempt, &local.locks, &local.versions)
        {
            self.drop_local(attempt);
            let vote = Vote::Conflict;
            self.send(
                attempt.coordinator,
                Message::Voted { attempt, vote },
                effects,
            );
            return;
        }
        let Some(run) = local.run.take() else {
            return;
        };
        let answers = run.answers(&local.answers);
        local.writes = run.into_writes();
        local.stage = Stage::Prepared;
        let alone = local.alone;
        let nothing = local.writes.is_empty();
        let own = attempt.coordinator == self.config.me;
        if alone && !nothing {
            let records = std::mem::take(&mut local.writes).into_iter();
            let writes = Writes {
                records: records.map(|(key, record)| (key, Some(record))).collect(),
                notes: Vec::new(),
            };
            self.log(writes, Then::Vote(attempt, answers), store, effects);
            self.wrote(attempt);
        } else if nothing || own {
            let vote = Vote::Yes(answers);
            self.send(
                attempt.coordinator,
                Message::Voted { attempt, vote },
                effects,
            );
        } else {
            let note: Vec<(&Key, &Record)> = local.writes.iter().collect();
            let note = encode(&note);
            let writes = Writes {
                records: Vec::new(),
                notes: vec![(name(b'p', attempt), Some(note))],
            };
            self.log(writes, Then::Vote(attempt, answers), store, effects);
        }
        if alone {
            self.drop_local(attempt);
        }
    }

    fn decide_here(
        &mut self,
        attempt: Attempt,
        commit: bool,
        store: &mut dyn Store,
        effects: &mut Effects,
    ) {
        self.early.remove(&attempt);
        let Some(local) = self.locals.get_mut(&attempt) else {
            if commit {
                // It was told twice, and has done it; but what it did may still be on its way to the disk.
                match self.logging.back().map(|(ticket, _)| *ticket) {
                    Some(ticket) => self.logging.push_back((ticket, Then::Acked(attempt))),
                    None => self.send(attempt.coordinator, Message::Acked { attempt }, effects),
                }
            }
            return;
        };
        let prepared = local.stage == Stage::Prepared && attempt.coordinator != self.config.me;
        if !commit {
            if prepared && !local.writes.is_empty() {
                self.stale.push(name(b'p', attempt));
            }
            self.drop_local(attempt);
            return;
        }
        let records = std::mem::take(&mut local.writes).into_iter();
        let records: Vec<_> = records.map(|(key, record)| (key, Some(record))).collect();
        if !records.is_empty() {
            let writes = Writes {
                records,
                notes: vec![(name(b'p', attempt), None)],
            };
            self.log(writes, Then::Acked(attempt), store, effects);
            self.wrote(attempt);
        }
        self.drop_local(attempt);
    }

    fn wrote(&mut self, attempt: Attempt) {
        if let Some(local) = self.locals.get(&attempt) {
            self.control.wrote(&local.locks);
        }
    }

    /// Forgets a part and gives back what it holds.
    fn drop_local(&mut self, attempt: Attempt) {
        let Some(local) = self.locals.remove(&attempt) else {
            return;
        };
        match &mut self.control {
            Control::NoWait(held) | Control::Optimistic(held, _) => {
                held.give_back(attempt, &local.locks);
            }
            Control::Serial(queue) => queue.retain(|other| *other != attempt),
        }
    }

    /// The partition's next call, if it has none.
    fn next_in_turn(&mut self) -> Option<Attempt> {
        let Control::Serial(queue) = &self.control else {
            return None;
        };
        let next = *queue.front()?;
        let local = self.locals.get_mut(&next)?;
        if local.stage != Stage::Waiting {
            return None;
        }
        local.stage = Stage::Running;
        Some(next)
    }

    fn message(
        &mut self,
        from: NodeId,
        message: Message,
        store: &mut dyn Store,
        effects: &mut Effects,
    ) {
        match message {
            Message::Execute {
                attempt,
                part,
                prepare,
            } => self.execute(attempt, part, prepare, store, effects),
            Message::Pass { attempt, values } => {
                match self.locals.get_mut(&attempt).map(|local| &mut local.run) {
                    Some(Some(run)) => {
                        for (slot, value) in values {
                            run.put(slot, value);
                        }
                        self.advance(attempt, store, effects);
                    }
                    Some(None) => {}
                    None => {
                        self.early.entry(attempt).or_default().extend(values);
                        if self.early.len() > EARLY_MAX {
                            self.early.pop_first();
                        }
                    }
                }
            }
            Message::Voted { attempt, vote } => self.voted(attempt.number, vote, store, effects),
            Message::Prepare { attempt } => self.prepare(attempt, store, effects),
            Message::Decide { attempt, commit } => {
                self.decide_here(attempt, commit, store, effects);
            }
            Message::Acked { attempt } => self.acked(from, attempt.number),
            Message::Inquire { attempt } => {
                let phase = self.coordinated.get(&attempt.number).map(|c| &c.phase);
                let commit = match phase {
                    Some(Phase::Acking(_)) => true,
                    // It is about to be told.
                    Some(_) => return,
                    None => false,
                };
                effects
                    .sends
                    .push((from, Message::Decide { attempt, commit }));
            }
            Message::Forward { id, call } => self.call(id, from, call, effects),
            Message::Answered { id, outcome } => {
                if self.forwarded.remove(&id).is_some() {
                    effects.answers.push((id, outcome));
                }
            }
            Message::Hello(_)
            | Message::Plan { .. }
            | Message::Values { .. }
            | Message::Reads { .. }
            | Message::Done { .. } => {}
        }
    }

    fn durable(&mut self, ticket: Ticket, effects: &mut Effects) {
        while self
            .logging
            .front()
            .is_some_and(|(first, _)| *first <= ticket)
        {
            let Some((_, then)) = self.logging.pop_front() else {
                return;
            };
            match then {
                Then::Vote(attempt, answers) => {
                    let vote = Vote::Yes(answers);
                    self.send(
                        attempt.coordinator,
                        Message::Voted { attempt, vote },
                        effects,
                    );
                }
                Then::Decided(number) => self.decided(number, effects),
                Then::Acked(attempt) => {
                    self.send(attempt.coordinator, Message::Acked { attempt }, effects);
                }
            }
        }
    }
}

impl Node for TwoPhase {
    fn handle(&mut self, event: Event, store: &mut dyn Store, effects: &mut Effects) -> bool {
        match event {
            Event::Start => self.start(store),
            Event::Call(id, call) => self.call(id, self.config.me, call, effects),
            Event::Message(from, message) => self.message(from, message, store, effects),
            Event::Durable(ticket) => self.durable(ticket, effects),
            Event::Connected(peer) => self.connected(peer, effects),
            Event::Wake(token) => {
                if let Some(call) = self.resting.remove(&token) {
                    self.begin(call, effects);
                }
            }
            Event::Turn | Event::Synced(_) => {}
        }
        loop {
            if let Some((from, message)) = self.inbox.pop_front() {
                self.message(from, message, store, effects);
            } else if let Some(next) = self.next_in_turn() {
                self.advance(next, store, effects);
            } else {
                return false;
            }
        }
    }
}

fn name(kind: u8, attempt: Attempt) -> Vec<u8> {
    let mut key = vec![kind];
    key.extend_from_slice(&attempt.coordinator.0.to_be_bytes());
    key.extend_from_slice(&attempt.number.to_be_bytes());
    key
}

fn name_of(kind: u8, key: &[u8]) -> Option<Attempt> {
    let rest = key.strip_prefix(&[kind])?;
    let (node, number) = rest.split_at_checked(2)?;
    Some(Attempt {
        coordinator: NodeId(u16::from_be_bytes(node.try_into().ok()?)),
        number: u64::from_be_bytes(number.try_into().ok()?),
    })
}

/// In the place of a call that is over but for its acknowledgements.
fn nothing() -> Call {
    use crate::call::{Action, Operation};
    let action = Action::Read {
        take: Vec::new(),
        check: None,
    };
    let key = Key::alone(0, 0);
    let operation = Operation { key, action };
    Call::new(vec![(NodeId(0), operation)], Vec::new()).expect("one read is a call")
}
