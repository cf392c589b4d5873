//! One run: events in the order of their times.
//!
//! Relies on: `costs`, `store`.  Promises: as the module.  Does not: stop clients at the end; what is under way is left.

use super::costs::Costs;
use super::store::MemoryStore;
use crate::call::{Call, CallId, NodeId, Outcome};
use crate::message::{Message, encode};
use crate::node::{BatchSize, Effects, EngineKind, Event, Map, Node, NodeConfig, Ticket};
use crate::workload::Workload;
use hdrhistogram::Histogram;
use quintet_rt::Rand;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fmt;

/// Clients begin within the first so many nanoseconds, not all at once.
const BEGIN: u64 = 200_000;

/// Bytes that a frame has besides its messages.
const FRAME_BYTES: u64 = 70;

/// What to simulate. Times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct SimConfig {
    /// Who runs the calls.
    pub engine: EngineKind,
    /// How many nodes.
    pub nodes: u16,
    /// How batches are formed.
    pub batch: BatchSize,
    /// Queues of a node.
    pub lanes: usize,
    /// Calls under way at each node.
    pub outstanding: usize,
    /// Counted; a tenth as much comes before.
    pub duration: u64,
    /// One way from node to node, or client to node.
    pub latency: u64,
    /// Bytes of a frame that the wire takes in a microsecond; 10 Gbit/s is 1,250.
    pub bytes_per_micro: u64,
    /// A sync of the log; 0: nobody waits for one.
    pub sync: u64,
    /// What the processor is charged.
    pub costs: Costs,
    /// Decides everything drawn.
    pub seed: u64,
}

impl Default for SimConfig {
    fn default() -> SimConfig {
        SimConfig {
            engine: EngineKind::Queue,
            nodes: 4,
            batch: BatchSize::Arrived(4096),
            lanes: 64,
            outstanding: 1000,
            duration: 200_000_000,
            latency: 50_000,
            bytes_per_micro: 1_250,
            sync: 0,
            costs: Costs::default(),
            seed: 42,
        }
    }
}

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct SimReport {
    /// Who ran the calls.
    pub engine: &'static str,
    /// How many nodes.
    pub nodes: u16,
    /// Calls under way at each.
    pub outstanding: usize,
    /// Calls ended.
    pub calls: u64,
    /// Of these raised.
    pub raised: u64,
    /// Per second.
    pub throughput: f64,
    /// Milliseconds: median, 99 of 100, longest.
    pub latency_ms: [f64; 3],
    /// Runs again for a conflict, per call.
    pub retries: f64,
    /// Messages between nodes, per call.
    pub messages: f64,
    /// By name.
    pub messages_by_name: BTreeMap<&'static str, f64>,
    /// Frames between nodes, per call.
    pub frames: f64,
    /// Bytes between nodes, per call.
    pub bytes: f64,
    /// Share of the time that processors were busy.
    pub busy: f64,
}

enum Input {
    Messages(NodeId, Vec<Message>, u64),
    Calls(Vec<(CallId, Call)>),
    Durable(Ticket),
    Wake(u64),
}

enum What {
    Arrive(Input),
    Run,
    Synced(Ticket),
}

struct Simulated {
    node: Box<dyn Node>,
    store: MemoryStore,
    inbox: VecDeque<Input>,
    busy_until: u64,
    scheduled: bool,
    syncing: bool,
    told: Ticket,
}

struct Run<'a> {
    config: &'a SimConfig,
    workload: &'a mut dyn Workload,
    nodes: Vec<Simulated>,
    agenda: BinaryHeap<Reverse<(u64, u64)>>,
    what: Map<u64, (usize, What)>,
    sequence: u64,
    rand: Rand,
    begun: Map<CallId, u64>,
    next_call: u64,
    warm: u64,
    micros: Histogram<u64>,
    calls: u64,
    raised: u64,
    retries: u64,
    frames: u64,
    bytes: u64,
    messages: BTreeMap<&'static str, u64>,
    busy: u64,
}

/// Runs it.
pub fn simulate(config: &SimConfig, workload: &mut dyn Workload) -> SimReport {
    let nodes = (0..config.nodes).map(|me| {
        let me = NodeId(me);
        let mut records = BTreeMap::new();
        workload.load(me, &mut |key, record| {
            records.insert(key, record);
        });
        let node = NodeConfig {
            me,
            nodes: config.nodes,
            batch: config.batch,
            lanes: config.lanes,
            incarnation: 0,
        };
        Simulated {
            node: node.build(config.engine),
            store: MemoryStore::new(records, false),
            inbox: VecDeque::new(),
            busy_until: 0,
            scheduled: false,
            syncing: false,
            told: Ticket(0),
        }
    });
    let mut run = Run {
        nodes: nodes.collect(),
        config,
        workload,
        agenda: BinaryHeap::new(),
        what: Map::default(),
        sequence: 0,
        rand: Rand::seeded(config.seed),
        begun: Map::default(),
        next_call: 0,
        warm: config.duration / 10,
        micros: Histogram::new_with_bounds(1, 600_000_000, 3).expect("bounds in order"),
        calls: 0,
        raised: 0,
        retries: 0,
        frames: 0,
        bytes: 0,
        messages: BTreeMap::new(),
        busy: 0,
    };
    run.begin();
    run.go();
    run.report()
}

impl Run<'_> {
    fn at(&mut self, time: u64, node: usize, what: What) {
        self.sequence += 1;
        self.agenda.push(Reverse((time, self.sequence)));
        self.what.insert(self.sequence, (node, what));
    }

    fn begin(&mut self) {
        let count = self.nodes.len();
        for me in 0..count {
            self.handle(me, 0, vec![Event::Start]);
        }
        for me in 0..count {
            let others = (0..count).filter(|other| *other != me);
            let events = others.map(|other| Event::Connected(NodeId(other as u16)));
            let events = events.collect();
            self.handle(me, 0, events);
        }
        for me in 0..count {
            for _ in 0..self.config.outstanding {
                let time = self.rand.below(BEGIN);
                let calls = vec![self.call(me, time)];
                self.at(time, me, What::Arrive(Input::Calls(calls)));
            }
        }
    }

    fn call(&mut self, home: usize, now: u64) -> (CallId, Call) {
        self.next_call += 1;
        let id = CallId(self.next_call);
        self.begun.insert(id, now);
        let call = self.workload.next(NodeId(home as u16), &mut self.rand);
        (id, call)
    }

    fn go(&mut self) {
        let end = self.warm + self.config.duration;
        while let Some(Reverse((now, sequence))) = self.agenda.pop() {
            if now > end {
                return;
            }
            let (me, what) = self.what.remove(&sequence).expect("put there with it");
            match what {
                What::Arrive(input) => {
                    let node = &mut self.nodes[me];
                    node.inbox.push_back(input);
                    if !node.scheduled {
                        node.scheduled = true;
                        let time = now.max(node.busy_until);
                        self.at(time, me, What::Run);
                    }
                }
                What::Run => {
                    self.nodes[me].scheduled = false;
                    self.handle(me, now, Vec::new());
                }
                What::Synced(ticket) => {
                    self.nodes[me].syncing = false;
                    self.at(now, me, What::Arrive(Input::Durable(ticket)));
                    self.sync(me, now);
                }
            }
        }
    }

    /// The log's next sync, if there is something for it and none is under way.
    fn sync(&mut self, me: usize, now: u64) {
        let node = &mut self.nodes[me];
        let last = node.store.last();
        if node.syncing || last == node.told {
            return;
        }
        node.told = last;
        if self.config.sync == 0 {
            self.at(now, me, What::Arrive(Input::Durable(last)));
        } else {
            node.syncing = true;
            self.at(now + self.config.sync, me, What::Synced(last));
        }
    }

    /// Takes all that came, then a turn.
    fn handle(&mut self, me: usize, now: u64, mut events: Vec<Event>) {
        let costs = &self.config.costs;
        let mut cost = 0;
        for input in std::mem::take(&mut self.nodes[me].inbox) {
            match input {
                Input::Messages(from, messages, bytes) => {
                    cost += costs.of_frame(messages.len() as u64, bytes);
                    events.extend(messages.into_iter().map(|m| Event::Message(from, m)));
                }
                Input::Calls(calls) => {
                    cost += calls.len() as u64 * costs.call;
                    events.extend(calls.into_iter().map(|(id, call)| Event::Call(id, call)));
                }
                Input::Durable(ticket) => {
                    events.push(Event::Durable(ticket));
                    events.push(Event::Synced(ticket));
                }
                Input::Wake(token) => events.push(Event::Wake(token)),
            }
        }
        events.push(Event::Turn);
        let mut effects = Effects::default();
        let mut more = false;
        let node = &mut self.nodes[me];
        for event in events {
            more = node.node.handle(event, &mut node.store, &mut effects);
        }
        cost += costs.of(&effects.work);
        let mut frames: BTreeMap<NodeId, Vec<Message>> = BTreeMap::new();
        let counted = now >= self.warm;
        for (to, message) in effects.sends {
            if counted {
                *self.messages.entry(message.name()).or_default() += 1;
            }
            frames.entry(to).or_default().push(message);
        }
        let mut sent = Vec::new();
        for (to, messages) in frames {
            let bytes = encode(&messages).len() as u64 + FRAME_BYTES;
            cost += costs.of_frame(messages.len() as u64, bytes);
            if counted {
                self.frames += 1;
                self.bytes += bytes;
            }
            sent.push((to, messages, bytes));
        }
        let end = now + cost;
        for (to, messages, bytes) in sent {
            let wire = bytes * 1_000 / self.config.bytes_per_micro;
            let arrival = end + self.config.latency + wire;
            let from = NodeId(me as u16);
            let input = Input::Messages(from, messages, bytes);
            self.at(arrival, to.index(), What::Arrive(input));
        }
        for (micros, token) in effects.wakes {
            let wake = What::Arrive(Input::Wake(token));
            self.at(end + micros * 1_000, me, wake);
        }
        if counted {
            self.retries += effects.retries;
            self.busy += cost;
        }
        let answered = end + self.config.latency;
        let mut calls = Vec::new();
        for (id, outcome) in effects.answers {
            let begun = self.begun.remove(&id).expect("a client's call");
            if counted {
                self.calls += 1;
                self.raised += u64::from(outcome == Outcome::Raised);
                self.micros.saturating_record((answered - begun) / 1_000);
            }
            calls.push(self.call(me, answered));
        }
        if !calls.is_empty() {
            let arrival = answered + self.config.latency;
            self.at(arrival, me, What::Arrive(Input::Calls(calls)));
        }
        self.nodes[me].busy_until = end;
        self.sync(me, end);
        let node = &mut self.nodes[me];
        if (more || !node.inbox.is_empty()) && !node.scheduled {
            node.scheduled = true;
            self.at(end, me, What::Run);
        }
    }

    fn report(&self) -> SimReport {
        let calls = self.calls.max(1) as f64;
        let at = |quantile| self.micros.value_at_quantile(quantile) as f64 / 1_000.0;
        let by_name = self.messages.iter();
        let time = self.config.duration as f64;
        SimReport {
            engine: self.config.engine.name(),
            nodes: self.config.nodes,
            outstanding: self.config.outstanding,
            calls: self.calls,
            raised: self.raised,
            throughput: self.calls as f64 * 1e9 / time,
            latency_ms: [at(0.5), at(0.99), at(1.0)],
            retries: self.retries as f64 / calls,
            messages: self.messages.values().sum::<u64>() as f64 / calls,
            messages_by_name: by_name.map(|(n, c)| (*n, *c as f64 / calls)).collect(),
            frames: self.frames as f64 / calls,
            bytes: self.bytes as f64 / calls,
            busy: self.busy as f64 / time / f64::from(self.config.nodes),
        }
    }
}

impl SimReport {
    /// One line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain data can always be written")
    }
}

impl fmt::Display for SimReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, high, longest] = self.latency_ms;
        writeln!(
            f,
            "{} of {} simulated nodes, {} calls under way at each",
            self.engine, self.nodes, self.outstanding
        )?;
        writeln!(
            f,
            "calls      {:.0}/s, {:.3} run again for each; processors {:.0} % busy",
            self.throughput,
            self.retries,
            self.busy * 100.0
        )?;
        writeln!(
            f,
            "latency    {median:.2} ms median, {high:.2} ms 99 of 100, {longest:.2} ms longest"
        )?;
        writeln!(
            f,
            "each call  {:.3} messages in {:.3} frames, {:.0} bytes",
            self.messages, self.frames, self.bytes
        )?;
        let names = self.messages_by_name.iter();
        let names: Vec<String> = names.map(|(n, count)| format!("{n} {count:.3}")).collect();
        write!(f, "messages   {}", names.join(", "))
    }
}
