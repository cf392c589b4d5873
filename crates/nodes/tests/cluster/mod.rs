//! A cluster whose messages, syncs and crashes come in an order drawn from a seed.

use quintet_nodes::sim::MemoryStore;
use quintet_nodes::{
    BatchSize, Call, CallId, Effects, EngineKind, Event, Key, Message, Node, NodeConfig, NodeId,
    Outcome, Record, decode, encode,
};
use quintet_rt::Rand;
use std::collections::{BTreeMap, VecDeque};

pub struct Member {
    node: Box<dyn Node>,
    pub store: MemoryStore,
    more: bool,
    wakes: Vec<u64>,
    up: bool,
    starts: u32,
    effects: Effects,
}

pub struct Cluster {
    kind: EngineKind,
    batch: BatchSize,
    lanes: usize,
    pub members: Vec<Member>,
    /// From, to: messages, and `None` for a connection made anew.
    wires: BTreeMap<(usize, usize), VecDeque<Option<Vec<u8>>>>,
    pub rand: Rand,
    pub outcomes: BTreeMap<CallId, Outcome>,
    /// Where each open call was given in.
    pub open: BTreeMap<CallId, usize>,
    pub messages: BTreeMap<&'static str, u64>,
    pub crashes: u64,
    pub cuts: u64,
}

impl Cluster {
    pub fn new(
        kind: EngineKind,
        data: Vec<BTreeMap<Key, Record>>,
        batch: BatchSize,
        lanes: usize,
        seed: u64,
    ) -> Cluster {
        let nodes = data.len();
        let mut cluster = Cluster {
            kind,
            batch,
            lanes,
            members: Vec::new(),
            wires: BTreeMap::new(),
            rand: Rand::seeded(seed),
            outcomes: BTreeMap::new(),
            open: BTreeMap::new(),
            messages: BTreeMap::new(),
            crashes: 0,
            cuts: 0,
        };
        for (me, records) in data.into_iter().enumerate() {
            let node = cluster.build(me, nodes, 0);
            cluster.members.push(Member {
                node,
                store: MemoryStore::new(records, true),
                more: false,
                wakes: Vec::new(),
                up: true,
                starts: 0,
                effects: Effects::default(),
            });
        }
        for me in 0..nodes {
            cluster.event(me, Event::Start);
            for other in 0..nodes {
                if other != me {
                    cluster.wires.insert((me, other), VecDeque::new());
                }
            }
        }
        // A driver lets nothing begin before there are connections.
        for me in 0..nodes {
            for other in (0..nodes).filter(|other| *other != me) {
                cluster.event(me, Event::Connected(NodeId(other as u16)));
            }
        }
        cluster
    }

    fn build(&self, me: usize, nodes: usize, incarnation: u32) -> Box<dyn Node> {
        let config = NodeConfig {
            batch: self.batch,
            lanes: self.lanes,
            incarnation,
            ..NodeConfig::new(NodeId(me as u16), nodes as u16)
        };
        config.build(self.kind)
    }

    pub fn call(&mut self, node: usize, id: CallId, call: Call) {
        self.open.insert(id, node);
        if self.members[node].up {
            self.event(node, Event::Call(id, call));
        } else {
            self.end(id, Outcome::Unknown);
        }
    }

    fn end(&mut self, id: CallId, outcome: Outcome) {
        assert!(self.open.remove(&id).is_some(), "{id:?} answered twice");
        self.outcomes.insert(id, outcome);
    }

    fn event(&mut self, me: usize, event: Event) {
        let member = &mut self.members[me];
        let mut effects = std::mem::take(&mut member.effects);
        effects.clear();
        member.more = member.node.handle(event, &mut member.store, &mut effects);
        member.wakes.extend(effects.wakes.iter().map(|w| w.1));
        for (id, outcome) in effects.answers.drain(..) {
            self.end(id, outcome);
        }
        for (to, message) in effects.sends.drain(..) {
            *self.messages.entry(message.name()).or_default() += 1;
            let wire = self.wires.get_mut(&(me, to.index())).expect("a peer");
            // To a node that is down nothing is sent.
            if self.members[to.index()].up {
                wire.push_back(Some(encode(&message)));
            }
        }
        self.members[me].effects = effects;
    }

    /// Does one of the things that can be done; false if there is none.
    pub fn step(&mut self) -> bool {
        let mut can: Vec<(u8, usize, usize)> = Vec::new();
        for ((from, to), wire) in &self.wires {
            if !wire.is_empty() && self.members[*to].up && self.members[*from].up {
                can.push((0, *from, *to));
            }
        }
        for (me, member) in self.members.iter().enumerate().filter(|(_, m)| m.up) {
            if member.store.unsynced() > 0 {
                can.push((1, me, 0));
            }
            if member.more {
                can.push((2, me, 0));
                can.push((2, me, 0));
            }
        }
        // Waiting takes longer than anything else, mostly.
        if can.is_empty() || self.rand.one_in(30) {
            let waiting = self.members.iter().enumerate();
            let waiting = waiting.filter(|(_, m)| m.up && !m.wakes.is_empty());
            can.extend(waiting.map(|(me, _)| (3, me, 0)));
        }
        if can.is_empty() {
            return false;
        }
        let (what, me, to) = can[self.rand.below(can.len() as u64) as usize];
        match what {
            0 => {
                let wire = self.wires.get_mut(&(me, to)).expect("a peer");
                let from = NodeId(me as u16);
                let event = match wire.pop_front().expect("looked") {
                    None => Event::Connected(from),
                    Some(bytes) => {
                        let message: Message = decode(&bytes).expect("encoded");
                        assert!(message.is_sound(self.members.len() as u16));
                        Event::Message(from, message)
                    }
                };
                self.event(to, event);
            }
            1 => {
                let member = &mut self.members[me];
                let count = 1 + self.rand.below(member.store.unsynced() as u64) as usize;
                let ticket = member.store.sync(count);
                self.event(me, Event::Durable(ticket));
                self.event(me, Event::Synced(ticket));
            }
            2 => self.event(me, Event::Turn),
            _ => {
                let wakes = &mut self.members[me].wakes;
                let token = wakes.swap_remove(self.rand.below(wakes.len() as u64) as usize);
                self.event(me, Event::Wake(token));
            }
        }
        true
    }

    /// Until nothing is left to do.
    pub fn run(&mut self) {
        let mut steps = 0u64;
        while self.step() {
            steps += 1;
            assert!(steps < 3_000_000, "no end: {:?} open", self.open.len());
        }
    }

    /// A node forgets what was not durable; its connections break.
    pub fn crash(&mut self, me: usize) {
        self.crashes += 1;
        let member = &mut self.members[me];
        member.up = false;
        member.store.crash();
        member.wakes.clear();
        member.more = false;
        for ((from, to), wire) in &mut self.wires {
            if *from == me || *to == me {
                // What was on the way from it may still arrive in part; to it nothing does.
                let keep = match *from == me {
                    true => self.rand.below(wire.len() as u64 + 1) as usize,
                    false => 0,
                };
                wire.truncate(keep);
            }
        }
        let lost: Vec<CallId> = self
            .open
            .iter()
            .filter(|(_, node)| **node == me)
            .map(|(id, _)| *id)
            .collect();
        for id in lost {
            self.end(id, Outcome::Unknown);
        }
    }

    pub fn restart(&mut self, me: usize) {
        let nodes = self.members.len();
        let starts = self.members[me].starts + 1;
        self.members[me].starts = starts;
        self.members[me].node = self.build(me, nodes, starts);
        self.members[me].up = true;
        for other in 0..nodes {
            if other != me && self.members[other].up {
                for wire in [(me, other), (other, me)] {
                    self.wires.get_mut(&wire).expect("a peer").push_back(None);
                }
            }
        }
        self.event(me, Event::Start);
    }

    /// A connection breaks and is made anew; what was on it is lost from some place on, in each direction.
    pub fn cut(&mut self, me: usize, other: usize) {
        self.cuts += 1;
        for wire in [(me, other), (other, me)] {
            let wire = self.wires.get_mut(&wire).expect("a peer");
            wire.truncate(self.rand.below(wire.len() as u64 + 1) as usize);
            wire.push_back(None);
        }
    }

    pub fn is_up(&self, me: usize) -> bool {
        self.members[me].up
    }

    /// All records.
    pub fn records(&self) -> BTreeMap<Key, Record> {
        let all = self.members.iter().flat_map(|m| m.store.records());
        all.map(|(key, record)| (*key, record.clone())).collect()
    }
}
