//! Batches over several nodes: formed by each planner, run in one order everywhere, logged once by each node.
//!
//! Relies on: an [`Engine`] that plans and runs parts (`lanes`, `calvin`), `node::Store`.  Promises: a call is
//! answered when its batch is durable on all nodes; a batch that was answered survives the crash of any number of nodes,
//! and one that is not on all nodes' logs leaves nothing on any.  Does not: serve while a node is away, or keep
//! copies (replication is another matter).
//!
//! ```text
//!   call ─► pending ─► planned n ──Plan──► all nodes ─► admitted by (batch, planner) ─► run ─► sealed: one record
//!                                                                                               │ durable
//!   answer ◄── all nodes have logged n ◄───────────────── Done ◄───────────────────────────────┘
//! ```
//!
//! **Formation.** There is no timer. A planner closes batch n when the node has sealed n − 2 (so one batch is planned
//! and shipped while the one before it runs) and calls wait, or somebody else has closed n: then its part may be empty. Batch n+1
//! starts in each lane as soon as that lane has nothing of n left; it waits neither for n's log nor for n's end elsewhere.
//!
//! **Log.** The record of batch n has the records as n left them, a note `u n` with those as they were before, and the
//! note `m`: epoch, base, n. Notes `u` of batches that no crash of a node can take back go with a later record.
//!
//! **Recovery.** A connection made anew starts an epoch: nodes stop, and tell each other where their logs end.
//!
//! ```text
//!   all logs are of the newest epoch E   what all have: the least of their ends
//!   some log is of an older epoch        E never ran there, so nothing of E was on all logs: E's base, or less
//! ```
//!
//! (Less only under `async`, where a crash may take back what was answered: whole batches, and the same on all
//! nodes, for notes `u` are kept until the batch is for sure on all disks.)
//!
//! What lies beyond is undone from its notes, in one record, and the calls that are still known are planned again.

use crate::call::{Call, CallId, Datum, Key, NodeId, Outcome, Record};
use crate::message::{Ending, Hello, Message, Plan, decode, encode};
use crate::node::{BatchSize, Effects, Event, Node, NodeConfig, Store, Ticket, Writes};
use std::collections::{BTreeMap, VecDeque};

/// Batches that a node plans beyond those it has sealed: the one that runs, and the next one.
const AHEAD: u64 = 2;

/// Batches sealed and not yet on all logs, at most: they bound what recovery has to undo.
const UNDECIDED_MAX: u64 = 8;

/// Operations of a turn, between which messages are sent and taken.
const TURN_OPERATIONS: usize = 2048;

const META: &[u8] = b"m";

/// What an engine hands over of a batch that is done at its node.
#[derive(Debug, Default)]
pub struct BatchFinish {
    /// What it wrote.
    pub writes: Writes,
    /// What was there before.
    pub undo: Vec<(Key, Option<Record>)>,
    /// For each planner, what became of its calls here.
    pub endings: Vec<Vec<Ending>>,
}

/// How parts are planned and run.
pub trait Engine: Send {
    /// One plan for each node.
    fn plan(&mut self, calls: &[(CallId, Call)], effects: &mut Effects) -> Vec<Plan>;
    /// The next part, in order of batch and planner.
    fn admit(&mut self, epoch: u64, batch: u64, planner: NodeId, plan: Plan, store: &mut dyn Store);
    /// A message of the engine's own.
    fn message(
        &mut self,
        from: NodeId,
        message: Message,
        store: &mut dyn Store,
        effects: &mut Effects,
    );
    /// Runs up to so many operations. True: more can be run.
    fn turn(&mut self, budget: usize, store: &mut dyn Store, effects: &mut Effects) -> bool;
    /// The batch, once everything of it is done here. Asked in order.
    fn finish(&mut self, batch: u64) -> Option<BatchFinish>;
    /// The store has what [`Engine::finish`] gave.
    fn logged(&mut self, batch: u64);
    /// Forgets everything.
    fn reset(&mut self);
}

/// A batch's calls at their planner.
struct Owned {
    calls: Vec<(CallId, Call)>,
    outcomes: Vec<(bool, Vec<Datum>)>,
    /// Nodes that have said `Done`.
    heard: usize,
}

/// See the header.
pub struct Batches<E> {
    config: NodeConfig,
    engine: E,
    running: bool,
    epoch: u64,
    log_epoch: u64,
    base: u64,
    hellos: Vec<Option<Hello>>,
    /// Messages of an epoch that has begun elsewhere already.
    stash: Vec<(NodeId, Message)>,
    pending: VecDeque<(CallId, Call)>,
    planned: u64,
    /// The last batch that anyone has closed.
    closed: u64,
    arrived: BTreeMap<(u64, NodeId), Plan>,
    /// What is admitted next.
    next: (u64, u16),
    sealed: u64,
    forgotten: u64,
    /// What to tell of batches sealed and not yet durable here.
    telling: BTreeMap<u64, Vec<Vec<Ending>>>,
    /// Batches by the tickets of their records.
    tickets: VecDeque<(Ticket, u64)>,
    /// The same, until a crash cannot take them back.
    unsynced: VecDeque<(Ticket, u64)>,
    logged: Vec<u64>,
    /// The last batch of each node that a crash cannot take back.
    synced: Vec<u64>,
    committed: u64,
    owned: BTreeMap<u64, Owned>,
}

impl<E: Engine> Batches<E> {
    /// A node that has not started.
    pub fn new(config: NodeConfig, engine: E) -> Batches<E> {
        let nodes = usize::from(config.nodes);
        Batches {
            config,
            engine,
            running: false,
            epoch: 1,
            log_epoch: 0,
            base: 0,
            hellos: vec![None; nodes],
            stash: Vec::new(),
            pending: VecDeque::new(),
            planned: 0,
            closed: 0,
            arrived: BTreeMap::new(),
            next: (1, 0),
            sealed: 0,
            forgotten: 0,
            telling: BTreeMap::new(),
            tickets: VecDeque::new(),
            unsynced: VecDeque::new(),
            logged: vec![0; nodes],
            synced: vec![0; nodes],
            committed: 0,
            owned: BTreeMap::new(),
        }
    }

    fn me(&self) -> usize {
        self.config.me.index()
    }

    fn others(&self) -> impl Iterator<Item = NodeId> + use<E> {
        let me = self.config.me;
        (0..self.config.nodes)
            .map(NodeId)
            .filter(move |node| *node != me)
    }

    fn start(&mut self, store: &mut dyn Store, effects: &mut Effects) {
        let mut oldest = None;
        for (key, value) in store.notes() {
            if let Some(batch) = undo_of(&key) {
                oldest.get_or_insert(batch);
            }
            if key == META {
                // A note of ours that cannot be read is damage that the store's checksums should have found.
                let meta: (u64, u64, u64) = decode(&value).unwrap_or_default();
                (self.log_epoch, self.base, self.sealed) = meta;
            }
        }
        self.epoch = self.log_epoch + 1;
        self.forgotten = oldest.map_or(self.sealed, |batch| batch - 1);
        let me = self.me();
        self.logged[me] = self.sealed;
        self.synced[me] = self.sealed;
        self.hellos[me] = Some(self.hello());
        self.begin_if_agreed(store, effects);
    }

    fn hello(&self) -> Hello {
        Hello {
            epoch: self.epoch,
            log_epoch: self.log_epoch,
            base: self.base,
            logged: self.logged[self.me()],
            synced: self.synced[self.me()],
        }
    }

    /// Stops, to agree with all others on where to go on.
    fn join(&mut self, epoch: u64, effects: &mut Effects) {
        assert!(epoch > self.epoch || !self.running, "epochs only grow");
        self.running = false;
        self.epoch = epoch;
        // What becomes durable from now on is told to nobody: others may have settled on an end before it.
        self.tickets.clear();
        self.telling.clear();
        let me = self.me();
        self.hellos.fill(None);
        self.hellos[me] = Some(self.hello());
        self.stash.clear();
        for node in self.others() {
            effects.sends.push((node, Message::Hello(self.hello())));
        }
    }

    fn connected(&mut self, peer: NodeId, effects: &mut Effects) {
        if self.running || self.hellos[peer.index()].is_some() {
            self.join(self.epoch + 1, effects);
        } else {
            effects.sends.push((peer, Message::Hello(self.hello())));
        }
    }

    fn greeted(
        &mut self,
        from: NodeId,
        hello: Hello,
        store: &mut dyn Store,
        effects: &mut Effects,
    ) {
        if hello.epoch > self.epoch {
            self.join(hello.epoch, effects);
        }
        if hello.epoch < self.epoch || self.running {
            // It will be told of this epoch, or has been.
            return;
        }
        self.hellos[from.index()] = Some(hello);
        self.begin_if_agreed(store, effects);
    }

    fn begin_if_agreed(&mut self, store: &mut dyn Store, effects: &mut Effects) {
        let Some(hellos) = self.hellos.iter().copied().collect::<Option<Vec<Hello>>>() else {
            return;
        };
        let newest = hellos.iter().map(|h| h.log_epoch).max().unwrap_or(0);
        let of_newest = || hellos.iter().filter(|h| h.log_epoch == newest);
        let mut agreed = hellos.iter().map(|h| h.logged).min().unwrap_or(0);
        if of_newest().count() < hellos.len() {
            agreed = agreed.min(of_newest().map(|h| h.base).max().unwrap_or(0));
        }
        self.begin(agreed, &hellos, store, effects);
    }

    /// Goes on after a batch: undoes what lies beyond, answers what lies before.
    fn begin(
        &mut self,
        agreed: u64,
        hellos: &[Hello],
        store: &mut dyn Store,
        effects: &mut Effects,
    ) {
        assert!(
            agreed >= self.forgotten,
            "batch {} was on all logs, now {agreed} is the last one",
            self.forgotten
        );
        self.engine.reset();
        let mut writes = Writes::default();
        let mut notes = store.notes();
        // From the last batch to the first: the oldest image wins.
        notes.reverse();
        for (key, value) in notes {
            let Some(batch) = undo_of(&key) else {
                continue;
            };
            if batch > agreed {
                let undo: Vec<(Key, Option<Record>)> = decode(&value).unwrap_or_default();
                writes.records.extend(undo);
                writes.notes.push((key, None));
            }
        }
        let meta = encode(&(self.epoch, agreed, agreed));
        writes.notes.push((META.to_vec(), Some(meta)));
        effects.work.records += 1;
        effects.work.written += writes.records.len() as u64;
        // Tickets of batches before this are of no more interest: whatever they were is decided now.
        self.unsynced.clear();
        store.commit(writes);
        (self.log_epoch, self.base) = (self.epoch, agreed);
        self.logged.fill(agreed);
        for (synced, hello) in self.synced.iter_mut().zip(hellos) {
            *synced = hello.synced.min(agreed);
        }
        (self.planned, self.closed, self.sealed) = (agreed, agreed, agreed);
        self.committed = agreed;
        self.next = (agreed + 1, 0);
        self.arrived.clear();
        self.telling.clear();
        let nodes = usize::from(self.config.nodes);
        for (batch, owned) in std::mem::take(&mut self.owned).into_iter().rev() {
            if batch > agreed {
                for call in owned.calls.into_iter().rev() {
                    self.pending.push_front(call);
                }
            } else if owned.heard == nodes {
                answer(owned, effects);
            } else {
                let unknown = owned.calls.into_iter();
                effects
                    .answers
                    .extend(unknown.map(|(id, _)| (id, Outcome::Unknown)));
            }
        }
        self.running = true;
        for (from, message) in std::mem::take(&mut self.stash) {
            self.message(from, message, store, effects);
        }
    }

    fn message(
        &mut self,
        from: NodeId,
        message: Message,
        store: &mut dyn Store,
        effects: &mut Effects,
    ) {
        let (epoch, batch) = match &message {
            Message::Hello(hello) => return self.greeted(from, *hello, store, effects),
            Message::Plan { epoch, batch, .. }
            | Message::Values { epoch, batch, .. }
            | Message::Reads { epoch, batch, .. }
            | Message::Done { epoch, batch, .. } => (*epoch, *batch),
            // Of another engine: a cluster of two minds is not helped by us.
            _ => return,
        };
        if epoch != self.epoch {
            return;
        }
        if !self.running {
            self.stash.push((from, message));
            return;
        }
        match message {
            Message::Plan { plan, .. } => {
                self.closed = self.closed.max(batch);
                self.arrived.insert((batch, from), plan);
            }
            Message::Done {
                synced, endings, ..
            } => {
                let known = &mut self.synced[from.index()];
                *known = synced.max(*known);
                self.done(from, batch, endings, effects);
            }
            other if batch > self.sealed => self.engine.message(from, other, store, effects),
            _ => {}
        }
    }

    fn done(&mut self, from: NodeId, batch: u64, endings: Vec<Ending>, effects: &mut Effects) {
        let logged = &mut self.logged[from.index()];
        *logged = batch.max(*logged);
        self.committed = self.logged.iter().copied().min().unwrap_or(0);
        let Some(owned) = self.owned.get_mut(&batch) else {
            return;
        };
        owned.heard += 1;
        for ending in endings {
            let Some((raised, answers)) = owned.outcomes.get_mut(ending.number as usize) else {
                continue;
            };
            *raised |= ending.raised;
            for (place, value) in ending.answers {
                if let Some(answer) = answers.get_mut(usize::from(place)) {
                    *answer = value;
                }
            }
        }
        if owned.heard == usize::from(self.config.nodes)
            && let Some(owned) = self.owned.remove(&batch)
        {
            answer(owned, effects);
        }
    }

    /// Whether the next batch is to be closed now.
    fn may_plan(&self) -> bool {
        let next = self.planned + 1;
        if !self.running || next > self.sealed + AHEAD || next > self.committed + UNDECIDED_MAX {
            return false;
        }
        let asked = self.closed >= next;
        match self.config.batch {
            BatchSize::Arrived(_) => asked || !self.pending.is_empty(),
            BatchSize::Full(size) => {
                let idle = self.owned.values().all(|owned| owned.calls.is_empty());
                self.pending.len() >= size || (idle && (asked || !self.pending.is_empty()))
            }
        }
    }

    fn plan(&mut self, effects: &mut Effects) {
        let (BatchSize::Arrived(size) | BatchSize::Full(size)) = self.config.batch;
        let count = self.pending.len().min(size.max(1));
        let calls: Vec<(CallId, Call)> = self.pending.drain(..count).collect();
        self.planned += 1;
        let batch = self.planned;
        self.closed = self.closed.max(batch);
        let plans = self.engine.plan(&calls, effects);
        for (node, plan) in plans.into_iter().enumerate() {
            let node = NodeId(node as u16);
            if node == self.config.me {
                self.arrived.insert((batch, node), plan);
            } else {
                let epoch = self.epoch;
                effects
                    .sends
                    .push((node, Message::Plan { epoch, batch, plan }));
            }
        }
        let outcomes = calls.iter();
        let outcomes = outcomes.map(|(_, call)| (false, vec![Datum::Null; call.answers().len()]));
        let owned = Owned {
            outcomes: outcomes.collect(),
            calls,
            heard: 0,
        };
        self.owned.insert(batch, owned);
    }

    fn seal(&mut self, finish: BatchFinish, store: &mut dyn Store, effects: &mut Effects) {
        let batch = self.sealed + 1;
        let mut writes = finish.writes;
        effects.work.records += 1;
        effects.work.written += writes.records.len() as u64;
        let settled = self.synced.iter().copied().min().unwrap_or(0);
        while self.forgotten < settled {
            self.forgotten += 1;
            writes.notes.push((undo_key(self.forgotten), None));
        }
        writes
            .notes
            .push((undo_key(batch), Some(encode(&finish.undo))));
        let meta = encode(&(self.epoch, self.base, batch));
        writes.notes.push((META.to_vec(), Some(meta)));
        let ticket = store.commit(writes);
        self.engine.logged(batch);
        self.sealed = batch;
        self.telling.insert(batch, finish.endings);
        self.tickets.push_back((ticket, batch));
        self.unsynced.push_back((ticket, batch));
    }

    fn durable(&mut self, ticket: Ticket, effects: &mut Effects) {
        while let Some((_, batch)) = self.tickets.front().copied().filter(|t| t.0 <= ticket) {
            self.tickets.pop_front();
            let endings = self.telling.remove(&batch).unwrap_or_default();
            let me = self.config.me;
            let epoch = self.epoch;
            for (planner, endings) in endings.into_iter().enumerate() {
                let planner = NodeId(planner as u16);
                if planner == me {
                    self.done(me, batch, endings, effects);
                } else {
                    let done = Message::Done {
                        epoch,
                        batch,
                        synced: self.synced[me.index()],
                        endings,
                    };
                    effects.sends.push((planner, done));
                }
            }
        }
    }

    fn synced(&mut self, ticket: Ticket) {
        while let Some((_, batch)) = self.unsynced.front().copied().filter(|t| t.0 <= ticket) {
            self.unsynced.pop_front();
            let me = self.me();
            self.synced[me] = batch;
        }
    }

    /// Everything that can be done without running operations; then some of these.
    fn go_on(&mut self, store: &mut dyn Store, effects: &mut Effects) -> bool {
        if !self.running {
            return false;
        }
        loop {
            while self.may_plan() {
                self.plan(effects);
            }
            while let Some(plan) = self.arrived.remove(&(self.next.0, NodeId(self.next.1))) {
                let (batch, planner) = self.next;
                self.engine
                    .admit(self.epoch, batch, NodeId(planner), plan, store);
                self.next = match planner + 1 == self.config.nodes {
                    true => (batch + 1, 0),
                    false => (batch, planner + 1),
                };
            }
            let more = self.engine.turn(TURN_OPERATIONS, store, effects);
            let mut sealed = false;
            while let Some(finish) = self.engine.finish(self.sealed + 1) {
                self.seal(finish, store, effects);
                sealed = true;
            }
            // A batch that ended here makes room for another; what it holds may start now.
            if more || !sealed {
                return more;
            }
        }
    }
}

impl<E: Engine> Node for Batches<E> {
    fn handle(&mut self, event: Event, store: &mut dyn Store, effects: &mut Effects) -> bool {
        match event {
            Event::Start => self.start(store, effects),
            Event::Call(id, call) => self.pending.push_back((id, call)),
            Event::Message(from, message) => self.message(from, message, store, effects),
            Event::Durable(ticket) => self.durable(ticket, effects),
            Event::Synced(ticket) => self.synced(ticket),
            Event::Connected(peer) => self.connected(peer, effects),
            Event::Wake(_) => {}
            Event::Turn => return self.go_on(store, effects),
        }
        self.running
    }
}

fn answer(owned: Owned, effects: &mut Effects) {
    for ((id, _), (raised, answers)) in owned.calls.into_iter().zip(owned.outcomes) {
        let outcome = match raised {
            true => Outcome::Raised,
            false => Outcome::Committed(answers),
        };
        effects.answers.push((id, outcome));
    }
}

fn undo_key(batch: u64) -> Vec<u8> {
    let mut key = b"u".to_vec();
    key.extend_from_slice(&batch.to_be_bytes());
    key
}

fn undo_of(key: &[u8]) -> Option<u64> {
    let batch = key.strip_prefix(b"u")?;
    Some(u64::from_be_bytes(batch.try_into().ok()?))
}
