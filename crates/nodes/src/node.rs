//! What every engine is to whoever drives it: events in, effects out.
//!
//! Relies on: `call`, `message`.  Promises: nothing here reads a clock, a socket or a file; the same events
//! give the same effects.  Does not: know whether its driver is a process or a simulation.
//!
//! What a driver promises in return:
//! - Messages between two nodes arrive in order, each once, as long as their connection lasts. When it is made
//!   anew, both ends are told ([`Event::Connected`]): what was under way may be lost.
//! - What [`Store::commit`] was given is seen by reads at once; it becomes durable whole or not at all, in order.
//! - While [`Node::handle`] says so, the node is given turns, messages and calls in between.

use crate::call::{Call, CallId, Key, NodeId, Outcome, Record};
use crate::message::Message;

/// Numbers records of one node's log, from 1, in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ticket(pub u64);

/// What goes into the store, and into its log, at once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Writes {
    /// Records put, or removed.
    pub records: Vec<(Key, Option<Record>)>,
    /// The engine's own notes put, or removed; see [`Store::notes`].
    pub notes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// A node's part of the data.
pub trait Store {
    /// The record at a key.
    fn read(&mut self, key: &Key) -> Option<Record>;

    /// The records at many keys, shown with their places in `keys`. A store may fetch them side by side.
    fn read_many(&mut self, keys: &[Key], see: &mut dyn FnMut(usize, Option<Record>)) {
        for (place, key) in keys.iter().enumerate() {
            see(place, self.read(key));
        }
    }

    /// Writes all of it as one record of the log. [`Event::Durable`] follows.
    fn commit(&mut self, writes: Writes) -> Ticket;

    /// All notes, in order of their keys.
    fn notes(&mut self) -> Vec<(Vec<u8>, Vec<u8>)>;
}

/// What happens to a node.
#[derive(Clone, Debug)]
pub enum Event {
    /// It begins, on what its store has. Once, before anything else.
    Start,
    /// A client's call.
    Call(CallId, Call),
    /// From another node.
    Message(NodeId, Message),
    /// Everything up to this record of the log is as durable as answers must be.
    Durable(Ticket),
    /// Everything up to this record survives a crash. Comes with `Durable`, or later if answers need not be so safe.
    Synced(Ticket),
    /// There is a connection to a node, the first or a new one.
    Connected(NodeId),
    /// The time of [`Effects::wakes`] has come.
    Wake(u64),
    /// Go on with what is to be done.
    Turn,
}

/// What a node did, for drivers that model time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Operations put into queues, or into lists for other nodes.
    pub planned: u64,
    /// Operations run.
    pub executed: u64,
    /// Records brought in by look-ups, side by side.
    pub fetched: u64,
    /// Locks asked for.
    pub locks: u64,
    /// Runs of a part of a call by itself: set up, buffered, ended.
    pub runs: u64,
    /// Records of the log.
    pub records: u64,
    /// Keys in them.
    pub written: u64,
}

impl Work {
    /// Adds up.
    pub fn add(&mut self, more: Work) {
        self.planned += more.planned;
        self.executed += more.executed;
        self.fetched += more.fetched;
        self.locks += more.locks;
        self.runs += more.runs;
        self.records += more.records;
        self.written += more.written;
    }
}

/// What a node wants done.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Messages to others, in order.
    pub sends: Vec<(NodeId, Message)>,
    /// Answers to clients.
    pub answers: Vec<(CallId, Outcome)>,
    /// [`Event::Wake`] with this number after so many microseconds.
    pub wakes: Vec<(u64, u64)>,
    /// What was done.
    pub work: Work,
    /// Calls that were run again because they had lost a conflict.
    pub retries: u64,
}

impl Effects {
    /// Empty again, with its memory.
    pub fn clear(&mut self) {
        self.sends.clear();
        self.answers.clear();
        self.wakes.clear();
        self.work = Work::default();
        self.retries = 0;
    }
}

/// One node's engine.
pub trait Node: Send {
    /// Takes an event. True: there is more to do, [`Event::Turn`] asks for it.
    fn handle(&mut self, event: Event, store: &mut dyn Store, effects: &mut Effects) -> bool;
}

/// Which engine runs the calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EngineKind {
    /// Planned into queues, batch by batch.
    Queue,
    /// Sequenced in batches, locks in that order, reads sent to all that write.
    Calvin,
    /// Locks, refused at once when taken; two-phase commit.
    NoWait,
    /// Versions compared at the end; two-phase commit.
    Optimistic,
    /// A partition runs one call at a time; two-phase commit, one coordinator.
    Serial,
}

impl EngineKind {
    /// All, in the order of tables.
    pub const ALL: [EngineKind; 5] = [
        EngineKind::Queue,
        EngineKind::Calvin,
        EngineKind::NoWait,
        EngineKind::Optimistic,
        EngineKind::Serial,
    ];

    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Queue => "queue",
            EngineKind::Calvin => "calvin",
            EngineKind::NoWait => "no-wait",
            EngineKind::Optimistic => "occ",
            EngineKind::Serial => "serial",
        }
    }

    /// Reads the name.
    pub fn parse(text: &str) -> Option<EngineKind> {
        EngineKind::ALL.into_iter().find(|kind| kind.name() == text)
    }
}

/// How a batch is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchSize {
    /// Whatever waits when there is room for another, at most so many calls of a node.
    Arrived(usize),
    /// So many calls of a node, as published systems do; fewer only if nothing of the node is under way.
    Full(usize),
}

/// What a node is told when it is made.
#[derive(Clone, Copy, Debug)]
pub struct NodeConfig {
    /// Which node this is.
    pub me: NodeId,
    /// How many there are.
    pub nodes: u16,
    /// How it forms batches.
    pub batch: BatchSize,
    /// Queues of a node: a queue whose next operation waits for a value stops no other.
    pub lanes: usize,
    /// Larger for each start of the node, below 2^20: names made by an earlier process are not made again.
    pub incarnation: u32,
}

impl NodeConfig {
    /// The defaults.
    pub fn new(me: NodeId, nodes: u16) -> NodeConfig {
        NodeConfig {
            me,
            nodes,
            batch: BatchSize::Arrived(4096),
            lanes: 64,
            incarnation: 0,
        }
    }

    /// The engine of this kind.
    pub fn build(self, kind: EngineKind) -> Box<dyn Node> {
        use crate::batches::Batches;
        use crate::two_phase::{Control, TwoPhase};
        match kind {
            EngineKind::Queue => Box::new(Batches::new(self, crate::lanes::Lanes::new(self))),
            EngineKind::Calvin => Box::new(Batches::new(self, crate::calvin::Calvin::new(self))),
            EngineKind::NoWait => Box::new(TwoPhase::new(self, Control::no_wait())),
            EngineKind::Optimistic => Box::new(TwoPhase::new(self, Control::optimistic())),
            EngineKind::Serial => Box::new(TwoPhase::new(self, Control::serial())),
        }
    }
}

/// Everyone's hash maps: fast, and the same in every run.
pub(crate) type Map<K, V> = hashbrown::HashMap<K, V, foldhash::fast::FixedState>;
