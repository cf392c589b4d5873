//! A node's process: one thread runs the state machine, others read its connections and wait for its log.
//!
//! Relies on: `frame`, `store`.  Promises: `node::Node`'s driver contract: a connection keeps order, a new one is told
//! to both ends, a call is answered to the connection it came from.  Does not: take calls before all nodes are there.
//!
//! ```text
//!   accept ─► reader of a connection ─┐
//!   connect ─► reader of a peer ──────┼──► one channel ──► node ──► sockets
//!   waits for the log ────────────────┘                     └────► database
//! ```
//!
//! Every frame to a node has all messages of one turn. Readers always read, so that a node which writes to a full
//! socket waits for the other's reader only, never for the other's node.

use super::frame::{Frame, HostStats, VERSION, call_id, read, write};
use super::store::DatabaseStore;
use super::{NodesError, NodesWorkload};
use quintet_base::Durability;
use quintet_embed::{Database, DatabaseConfig, Pending};
use quintet_nodes::{
    BatchSize, CallId, Effects, EngineKind, Event, Message, Node, NodeConfig, NodeId, Outcome,
    Ticket, Work,
};
use quintet_rt::{Clock, Disk, OpenMode, RealClock, RealDisk, threads};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Between attempts to reach a node that is away.
const RECONNECT: Duration = Duration::from_millis(20);

/// Events taken between two turns, at most.
const EVENTS: usize = 4096;

/// What a node's process is told.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// Which node.
    pub me: NodeId,
    /// Where nodes listen, this one too, in their order.
    pub peers: Vec<String>,
    /// Where its partition is kept.
    pub data: PathBuf,
    /// When a batch, or a commit, is durable.
    pub durability: Durability,
    /// For the database.
    pub memory_bytes: usize,
    /// Who runs calls.
    pub engine: EngineKind,
    /// How batches are formed.
    pub batch: BatchSize,
    /// Queues of the node.
    pub lanes: usize,
    /// Whose records it holds.
    pub workload: NodesWorkload,
}

enum Input {
    /// A connection to a node, made by either.
    Peer(NodeId, TcpStream, u64),
    Messages(NodeId, u64, Vec<Message>),
    Gone(NodeId, u64),
    Client(u64, TcpStream),
    Calls(u64, Vec<(u64, quintet_nodes::Call)>),
    Ask(u64),
    ClientGone(u64),
    Durable(Ticket),
    Synced(Ticket),
}

/// Runs a node until the process is ended. `listening` is called once it takes connections.
///
/// # Errors
/// The database cannot be opened, or the address not be listened on.
pub fn host(config: &HostConfig, listening: impl FnOnce()) -> Result<(), NodesError> {
    let (database, _) = Database::open(DatabaseConfig {
        durability: config.durability,
        memory_bytes: config.memory_bytes,
        ..DatabaseConfig::new(&config.data)
    })?;
    let mut store = DatabaseStore::new(database)?;
    store.load(config.me, &*config.workload.build())?;
    let incarnation = store.incarnation()?;
    let address = &config.peers[config.me.index()];
    let listener = TcpListener::bind(address).map_err(NodesError::system("cannot listen"))?;
    let (inputs, events) = channel();
    let accepts = inputs.clone();
    let nodes = config.peers.len() as u16;
    threads::spawn("node-accept", move || accept(&listener, nodes, &accepts));
    for (other, address) in config.peers.iter().enumerate().take(config.me.index()) {
        let (me, inputs, address) = (config.me, inputs.clone(), address.clone());
        let other = NodeId(other as u16);
        threads::spawn("node-connect", move || {
            connect(me, other, nodes, &address, &inputs);
        });
    }
    let (waits, waiting) = channel();
    let database = store.database();
    let answers = inputs.clone();
    threads::spawn("node-log", move || wait(database, &waiting, &answers));
    drop(inputs);
    listening();
    let mut host = Host::new(config, incarnation, store, waits);
    host.run(&events);
    Ok(())
}

/// Numbers connections of a process.
fn next_connection() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn accept(listener: &TcpListener, nodes: u16, inputs: &Sender<Input>) {
    for stream in listener.incoming().flatten() {
        let inputs = inputs.clone();
        threads::spawn("node-reader", move || greet(stream, nodes, &inputs));
    }
}

/// The other end says who it is.
fn greet(stream: TcpStream, nodes: u16, inputs: &Sender<Input>) {
    let Ok(reader) = stream.try_clone() else {
        return;
    };
    // Failing that, answers come a little later.
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::with_capacity(1 << 16, reader);
    match read(&mut reader) {
        Ok(Frame::Node(VERSION, node)) if node.0 < nodes => {
            serve_peer(node, nodes, stream, reader, inputs);
        }
        Ok(Frame::Client(VERSION)) => {
            let connection = next_connection();
            let mut open = inputs.send(Input::Client(connection, stream)).is_ok();
            while open {
                open = match read(&mut reader) {
                    Ok(Frame::Calls(calls)) => inputs.send(Input::Calls(connection, calls)).is_ok(),
                    Ok(Frame::Ask) => inputs.send(Input::Ask(connection)).is_ok(),
                    _ => false,
                };
            }
            // With the node gone there is nobody to tell.
            let _ = inputs.send(Input::ClientGone(connection));
        }
        _ => {}
    }
}

/// Reads a peer's messages until the connection ends.
fn serve_peer(
    node: NodeId,
    nodes: u16,
    stream: TcpStream,
    mut reader: BufReader<TcpStream>,
    inputs: &Sender<Input>,
) {
    let connection = next_connection();
    let mut open = inputs.send(Input::Peer(node, stream, connection)).is_ok();
    while open {
        open = match read(&mut reader) {
            Ok(Frame::Messages(messages)) if messages.iter().all(|m| m.is_sound(nodes)) => inputs
                .send(Input::Messages(node, connection, messages))
                .is_ok(),
            _ => false,
        };
    }
    let _ = inputs.send(Input::Gone(node, connection));
}

/// Keeps a connection to a node that was started before.
fn connect(me: NodeId, other: NodeId, nodes: u16, address: &str, inputs: &Sender<Input>) {
    loop {
        if let Ok(mut stream) = TcpStream::connect(address) {
            // Failing that, messages come a little later.
            let _ = stream.set_nodelay(true);
            let reader = stream.try_clone();
            if let Ok(reader) = reader
                && write(&mut stream, &Frame::Node(VERSION, me)).is_ok()
            {
                let reader = BufReader::with_capacity(1 << 16, reader);
                serve_peer(other, nodes, stream, reader, inputs);
            }
        }
        RealClock.sleep(RECONNECT);
    }
}

/// Tells when commits are durable, many at once.
fn wait(
    database: &'static Database,
    waiting: &Receiver<(Ticket, Pending<'static>)>,
    inputs: &Sender<Input>,
) {
    let mut before: Option<(Ticket, u64)> = None;
    while let Ok((mut ticket, first)) = waiting.recv() {
        let mut timestamp = first.timestamp();
        if let Err(error) = first.wait() {
            // What was not told durable is unknown until recovery; the node must not go on.
            panic!("the node's log failed: {error}");
        }
        while let Ok((next, pending)) = waiting.try_recv() {
            timestamp = pending.timestamp();
            if let Err(error) = pending.wait() {
                panic!("the node's log failed: {error}");
            }
            ticket = next;
        }
        if inputs.send(Input::Durable(ticket)).is_err() {
            return;
        }
        // A commit is on the disk when the place of a later one is.
        let durable = database.durable();
        match before {
            Some((synced, later)) if durable.0 >= later => {
                if inputs.send(Input::Synced(synced)).is_err() {
                    return;
                }
                before = None;
            }
            _ => {}
        }
        if before.is_none() && ticket.0 > 1 {
            before = Some((Ticket(ticket.0 - 1), timestamp.0));
        }
    }
}

struct Host {
    me: NodeId,
    nodes: usize,
    node: Box<dyn Node>,
    store: DatabaseStore,
    waits: Sender<(Ticket, Pending<'static>)>,
    peers: BTreeMap<NodeId, (u64, TcpStream)>,
    clients: BTreeMap<u64, TcpStream>,
    calls: BTreeMap<CallId, (u64, u64)>,
    next: u64,
    incarnation: u32,
    wakes: BinaryHeap<Reverse<(u64, u64)>>,
    effects: Effects,
    /// Calls that came before all nodes were there.
    early: Vec<Input>,
    started: bool,
    stats: HostStats,
    counts: BTreeMap<&'static str, u64>,
    work: Work,
}

impl Host {
    fn new(
        config: &HostConfig,
        incarnation: u32,
        store: DatabaseStore,
        waits: Sender<(Ticket, Pending<'static>)>,
    ) -> Host {
        let nodes = config.peers.len();
        let node = NodeConfig {
            me: config.me,
            nodes: nodes as u16,
            batch: config.batch,
            lanes: config.lanes,
            incarnation,
        };
        Host {
            me: config.me,
            nodes,
            node: node.build(config.engine),
            store,
            waits,
            peers: BTreeMap::new(),
            clients: BTreeMap::new(),
            calls: BTreeMap::new(),
            next: 0,
            incarnation,
            wakes: BinaryHeap::new(),
            effects: Effects::default(),
            early: Vec::new(),
            started: false,
            stats: HostStats::default(),
            counts: BTreeMap::new(),
            work: Work::default(),
        }
    }

    fn run(&mut self, events: &Receiver<Input>) {
        let mut more = false;
        loop {
            let mut taken = 0;
            if !more {
                match self.next_input(events) {
                    Some(input) => {
                        taken += 1;
                        self.input(input);
                    }
                    None if self.wakes.is_empty() => return,
                    None => {}
                }
            }
            while taken < EVENTS {
                let Ok(input) = events.try_recv() else {
                    break;
                };
                taken += 1;
                self.input(input);
            }
            self.wake();
            more = self.started && self.event(Event::Turn);
            self.flush();
        }
    }

    /// The next input, or `None` when it is time to wake somebody, or nobody can send any more.
    fn next_input(&self, events: &Receiver<Input>) -> Option<Input> {
        let Some(Reverse((at, _))) = self.wakes.peek() else {
            return events.recv().ok();
        };
        let left = at.saturating_sub(RealClock.monotonic_nanos());
        events.recv_timeout(Duration::from_nanos(left)).ok()
    }

    fn wake(&mut self) {
        while let Some(Reverse((at, token))) = self.wakes.peek().copied() {
            if at > RealClock.monotonic_nanos() {
                return;
            }
            self.wakes.pop();
            self.event(Event::Wake(token));
        }
    }

    fn event(&mut self, event: Event) -> bool {
        let more = self.node.handle(event, &mut self.store, &mut self.effects);
        for (ticket, pending) in self.store.take_pending() {
            // The thread lives as long as this one.
            let _ = self.waits.send((ticket, pending));
        }
        more
    }

    fn input(&mut self, input: Input) {
        match input {
            Input::Peer(node, stream, connection) => {
                if let Some((_, old)) = self.peers.insert(node, (connection, stream)) {
                    // Its reader ends, if it has not.
                    let _ = old.shutdown(Shutdown::Both);
                }
                if self.started {
                    self.event(Event::Connected(node));
                } else if self.peers.len() + 1 == self.nodes {
                    self.start();
                }
            }
            Input::Messages(node, connection, messages) => {
                if !self.started {
                    self.early.push(Input::Messages(node, connection, messages));
                    return;
                }
                if self
                    .peers
                    .get(&node)
                    .is_some_and(|peer| peer.0 == connection)
                {
                    for message in messages {
                        self.event(Event::Message(node, message));
                    }
                }
            }
            Input::Gone(node, connection) => {
                if self
                    .peers
                    .get(&node)
                    .is_some_and(|peer| peer.0 == connection)
                {
                    self.peers.remove(&node);
                }
            }
            Input::Client(connection, stream) => {
                self.clients.insert(connection, stream);
                if self.nodes == 1 && !self.started {
                    self.start();
                }
            }
            Input::Calls(connection, calls) => {
                if !self.started {
                    self.early.push(Input::Calls(connection, calls));
                    return;
                }
                self.calls(connection, calls);
            }
            Input::Ask(connection) => self.tell(connection),
            Input::ClientGone(connection) => {
                self.clients.remove(&connection);
            }
            Input::Durable(ticket) => {
                self.event(Event::Durable(ticket));
            }
            Input::Synced(ticket) => {
                self.event(Event::Synced(ticket));
            }
        }
    }

    fn start(&mut self) {
        self.started = true;
        self.event(Event::Start);
        let peers: Vec<NodeId> = self.peers.keys().copied().collect();
        for node in peers {
            self.event(Event::Connected(node));
        }
        for input in std::mem::take(&mut self.early) {
            self.input(input);
        }
    }

    fn calls(&mut self, connection: u64, calls: Vec<(u64, quintet_nodes::Call)>) {
        for (number, call) in calls {
            // What a client sends is checked before a node sees it.
            let Ok(call) = call.checked(self.nodes as u16) else {
                if let Some(stream) = self.clients.remove(&connection) {
                    let _ = stream.shutdown(Shutdown::Both);
                }
                return;
            };
            self.next += 1;
            let id = call_id(self.incarnation, self.next);
            self.calls.insert(id, (connection, number));
            self.event(Event::Call(id, call));
        }
    }

    /// Sends what gathered in a turn.
    fn flush(&mut self) {
        let now = RealClock.monotonic_nanos();
        for (micros, token) in self.effects.wakes.drain(..) {
            self.wakes.push(Reverse((now + micros * 1_000, token)));
        }
        let mut frames: BTreeMap<NodeId, Vec<Message>> = BTreeMap::new();
        for (to, message) in self.effects.sends.drain(..) {
            debug_assert!(to != self.me);
            *self.counts.entry(message.name()).or_default() += 1;
            frames.entry(to).or_default().push(message);
        }
        for (to, messages) in frames {
            let Some((_, stream)) = self.peers.get_mut(&to) else {
                continue;
            };
            match write(stream, &Frame::Messages(messages)) {
                Ok(bytes) => {
                    self.stats.frames += 1;
                    self.stats.bytes += bytes;
                }
                // Its reader notices, too; a new connection is told.
                Err(_) => {
                    let _ = stream.shutdown(Shutdown::Both);
                    self.peers.remove(&to);
                }
            }
        }
        let mut answers: BTreeMap<u64, Vec<(u64, Outcome)>> = BTreeMap::new();
        for (id, outcome) in self.effects.answers.drain(..) {
            if let Some((connection, number)) = self.calls.remove(&id) {
                answers
                    .entry(connection)
                    .or_default()
                    .push((number, outcome));
            }
        }
        for (connection, answers) in answers {
            self.answer_client(connection, &Frame::Answers(answers));
        }
        self.stats.retries += self.effects.retries;
        self.work.add(self.effects.work);
        self.effects.clear();
    }

    fn answer_client(&mut self, connection: u64, frame: &Frame) {
        let Some(stream) = self.clients.get_mut(&connection) else {
            return;
        };
        if write(stream, frame).and_then(|_| stream.flush()).is_err() {
            self.clients.remove(&connection);
        }
    }

    fn tell(&mut self, connection: u64) {
        let log = self.store.database().stats();
        let counts = self.counts.iter();
        let stats = HostStats {
            messages: counts.map(|(name, n)| ((*name).to_owned(), *n)).collect(),
            log_records: log.tc.commits,
            log_bytes: log.log.bytes,
            executed: self.work.executed,
            cpu_micros: cpu_micros(),
            ..self.stats.clone()
        };
        self.answer_client(connection, &Frame::Stats(stats));
    }
}

/// Processor time of this process so far; 0 where the system does not tell.
pub fn cpu_micros() -> u64 {
    // The file says that it is empty, and is not.
    let mut stat = [0; 1024];
    let opened = RealDisk.open(Path::new("/proc/self/stat"), OpenMode::Read);
    let Ok(length) = opened.and_then(|file| file.read_at(&mut stat, 0)) else {
        return 0;
    };
    let stat = String::from_utf8_lossy(&stat[..length]).into_owned();
    // After the name in parentheses; user and system time are the 14th and 15th fields, in hundredths of a second.
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|f| f.parse::<u64>().ok());
    (ticks(11).unwrap_or(0) + ticks(12).unwrap_or(0)) * 10_000
}
