//! Who acts next, and what fails.
//!
//! First the seed's work is done among its faults; then nothing fails any more, and all that is left has to be
//! done within a number of steps.

use super::clients::{Client, Made};
use super::job::{Job, Session};
use super::rng::Rng;
use super::server::{Key, Owner, Server, Value, Writes};
use super::settings::{Mistake, Settings};
use quintet_base::conflict::{Mode, Modes, Space};
use quintet_front::{
    AttemptId, CallId, Counts, Event, Front, FrontConfig, ReplicaConfig, ReplicaId, Report, WriteId,
};
use std::collections::{BTreeMap, BTreeSet};

/// Steps after which everything has to be over once faults have stopped.
const PATIENCE: u64 = 150_000;

/// Steps with faults, at most.
const TROUBLE: u64 = 40_000;

/// The driver's connections to a server.
#[derive(Clone, Copy, Debug)]
pub enum Link {
    Up {
        generation: u64,
        /// Of the server.
        start: u64,
        /// How far the stream has come.
        cursor: u64,
        /// Where it has caught up.
        target: Option<u64>,
    },
    Down,
}

/// How often rare things happened.
#[derive(Clone, Copy, Default, Debug)]
pub struct Seen {
    pub crashes: u64,
    pub cuts: u64,
    pub stalls: u64,
    pub restarts: u64,
    pub rereads: u64,
    pub acknowledged: u64,
    pub unknown: u64,
    pub repeated: u64,
    pub counts: Counts,
}

#[derive(Debug)]
pub struct World {
    pub settings: Settings,
    pub rng: Rng,
    pub steps: u64,
    /// Nothing fails any more.
    pub calm: bool,
    pub servers: Vec<Server>,
    pub sessions: BTreeMap<u64, Session>,
    pub session_ids: u64,
    pub outbox: Vec<(usize, u64, Job)>,
    pub inbox: Vec<(usize, u64, Event)>,
    pub links: Vec<Link>,
    pub net: Vec<bool>,
    pub generations: u64,
    pub front: Option<Front>,
    pub epoch: u32,
    // The driver's.
    pub contents: BTreeMap<WriteId, Writes>,
    pub busy: Vec<BTreeSet<WriteId>>,
    pub held: Vec<(usize, Vec<WriteId>, Job)>,
    pub late: Vec<(usize, Writes)>,
    pub by_call: BTreeMap<CallId, usize>,
    // The clients'.
    pub clients: Vec<Client>,
    pub made: Vec<Made>,
    pub numbers: u64,
    // For the judge.
    pub attempts: BTreeMap<AttemptId, usize>,
    pub last_run: BTreeMap<CallId, AttemptId>,
    pub saw: BTreeMap<AttemptId, BTreeMap<u64, Vec<u64>>>,
    /// The attempt by which a call took effect.
    pub committed: BTreeMap<usize, AttemptId>,
    pub foreigners: u64,
    pub seen: Seen,
    pub traces: bool,
    pub trace: Vec<String>,
}

impl World {
    pub fn new(seed: u64, change: impl FnOnce(&mut Settings)) -> World {
        let mut rng = Rng::new(seed);
        let mut settings = Settings::of(&mut rng);
        change(&mut settings);
        let replicas = settings.replicas;
        let servers = (0..replicas).map(|id| Server::new(ReplicaId(id as u32)));
        let clients = (0..settings.clients).map(|_| Client {
            current: None,
            pending: Vec::new(),
            has_token: rng.one_in(2),
            number: 0,
        });
        let clients = clients.collect();
        let mut world = World {
            servers: servers.collect(),
            links: vec![Link::Down; replicas],
            net: vec![true; replicas],
            busy: vec![BTreeSet::new(); replicas],
            settings,
            rng,
            steps: 0,
            calm: false,
            sessions: BTreeMap::new(),
            session_ids: 0,
            outbox: Vec::new(),
            inbox: Vec::new(),
            generations: 0,
            front: None,
            epoch: 0,
            contents: BTreeMap::new(),
            held: Vec::new(),
            late: Vec::new(),
            by_call: BTreeMap::new(),
            clients,
            made: Vec::new(),
            numbers: 0,
            attempts: BTreeMap::new(),
            last_run: BTreeMap::new(),
            saw: BTreeMap::new(),
            committed: BTreeMap::new(),
            foreigners: 0,
            seen: Seen::default(),
            traces: false,
            trace: Vec::new(),
        };
        world.start_front();
        world
    }

    /// Runs it all. What went wrong, if something did.
    pub fn run(&mut self) -> Result<(), String> {
        while self.steps < TROUBLE && !self.is_work_done() {
            self.steps += 1;
            if self.settings.faults > 0 && self.rng.one_in(self.settings.faults) {
                self.something_fails();
            }
            self.something_happens();
        }
        self.calm = true;
        let until = self.steps + PATIENCE;
        let mut quiet = 0;
        while quiet < 3 {
            self.steps += 1;
            if self.steps > until {
                return Err(self.what_is_stuck());
            }
            self.heal();
            self.something_happens();
            if self.steps.is_multiple_of(64) {
                if self.is_over() {
                    quiet += 1;
                    self.tell(Event::Tick);
                } else {
                    quiet = 0;
                }
            }
        }
        self.count();
        self.judge()
    }

    fn is_work_done(&self) -> bool {
        let waits = self.clients.iter().any(|client| client.current.is_some());
        self.made.len() >= self.settings.calls && !waits
    }

    fn is_over(&self) -> bool {
        let Some(front) = &self.front else {
            return false;
        };
        let live = self.servers.iter().all(|server| front.is_live(server.id));
        let idle = self.sessions.is_empty() && self.outbox.is_empty() && self.inbox.is_empty();
        let streamed = self.servers.iter().zip(&self.links).all(
            // A connection from before the server was started again is none, though nobody has noticed yet.
            |(server, link)| matches!(link, Link::Up { cursor, start, .. } if *start == server.starts && *cursor >= server.end().0),
        );
        let forgotten = front.remembered() == 0 && front.pending() == 0;
        let waits = self.clients.iter().any(|client| client.current.is_some());
        live && idle && streamed && forgotten && !waits
    }

    fn what_is_stuck(&self) -> String {
        let waits = self.clients.iter().filter_map(|client| client.current);
        let waits: Vec<usize> = waits.collect();
        let front = self.front.as_ref();
        format!(
            "stuck: calls {waits:?} wait; front {:?} pending, {:?} remembered, ready {:?}; \
             sessions {:?}; outbox {:?}; held {:?}; prepared {:?}",
            front.map(Front::pending),
            front.map(Front::remembered),
            front.map(Front::is_ready),
            self.sessions,
            self.outbox,
            self.held,
            self.servers
                .iter()
                .map(|of| of.prepared.keys().collect::<Vec<_>>())
                .collect::<Vec<_>>(),
        )
    }

    fn something_happens(&mut self) {
        match self.rng.below(100) {
            0..45 => {
                let able: Vec<u64> = self
                    .sessions
                    .iter()
                    .filter(|(_, of)| !self.servers[of.server].stalled)
                    .map(|(id, _)| *id)
                    .collect();
                if !able.is_empty() {
                    let id = able[self.rng.below(able.len())];
                    let slow = self.settings.slow == Some(self.sessions[&id].server);
                    if !slow || self.rng.one_in(8) {
                        self.step_session(id);
                    }
                }
            }
            45..60 => self.deliver_job(),
            60..75 => self.deliver_event(),
            75..85 => {
                let at = self.rng.below(self.servers.len());
                self.stream(at);
            }
            85..91 => self.client_acts(),
            91..93 => {
                let at = self.rng.below(self.servers.len());
                let server = &mut self.servers[at];
                server.flushed = server.lsn;
                if self.rng.one_in(4) {
                    self.servers[at].checkpointed = self.servers[at].confirmed;
                }
            }
            93..97 => {
                let at = self.rng.below(self.servers.len());
                self.notice(at);
                self.connect(at);
            }
            97 => self.tell(Event::Tick),
            98 => self.foreigner(),
            _ => {
                if !self.late.is_empty() {
                    let which = self.rng.below(self.late.len());
                    let (at, writes) = self.late.swap_remove(which);
                    if self.servers[at].up {
                        self.servers[at].commit(writes, Owner::Session(u64::MAX), true);
                    }
                }
            }
        }
    }

    /// The driver finds out that a server does not answer.
    fn notice(&mut self, at: usize) {
        let server = &self.servers[at];
        // A server that was started again has no connections.
        let connected = matches!(self.links[at], Link::Up { start, .. } if start == server.starts);
        if !server.up || server.stalled || !self.net[at] || !connected {
            self.lose(at);
        }
    }

    fn foreigner(&mut self) {
        if !self.settings.foreign || self.calm {
            return;
        }
        let at = self.rng.below(self.servers.len());
        if !self.servers[at].up {
            return;
        }
        // Rows that nobody else writes: for others nothing is promised.
        let key = Key::Row(900 + at as u64);
        if self.servers[at].locks.contains_key(&key) {
            return;
        }
        self.foreigners += 1;
        let before = self.servers[at].now(key).map(|value| value.list().to_vec());
        let mut list = before.unwrap_or_default();
        list.push(1_000_000 + self.foreigners);
        let writes = Writes::from([(key, Some(Value::List(list)))]);
        self.servers[at].foreign(writes, Owner::Session(u64::MAX));
    }

    fn something_fails(&mut self) {
        let at = self.rng.below(self.servers.len());
        let kind = match self.settings.front_only {
            true => 7 + self.rng.below(2),
            false => self.rng.below(10),
        };
        match kind {
            0..2 => {
                if self.servers[at].up {
                    self.seen.crashes += 1;
                    let falls_back = self.rng.one_in(2);
                    self.servers[at].crash(falls_back);
                    self.sessions.retain(|_, of| of.server != at);
                    self.inbox.retain(|(server, _, _)| *server != at);
                    self.outbox.retain(|(server, _, _)| *server != at);
                }
            }
            2 => self.servers[at].up = true,
            3 => {
                self.seen.cuts += u64::from(self.net[at]);
                self.net[at] = false;
            }
            4 => self.net[at] = true,
            5 => {
                self.seen.stalls += 1;
                self.servers[at].stalled = self.servers[at].up;
            }
            6 => self.servers[at].stalled = false,
            7 if self.settings.front_faults || self.settings.front_only => {
                if self.front.is_some() {
                    self.stop_front();
                }
            }
            8 if self.settings.front_faults || self.settings.front_only => self.start_front(),
            _ => {
                if self.front.is_none() {
                    self.start_front();
                }
            }
        }
    }

    fn heal(&mut self) {
        for at in 0..self.servers.len() {
            self.servers[at].up = true;
            self.servers[at].stalled = false;
            self.net[at] = true;
        }
        self.start_front();
    }

    fn stop_front(&mut self) {
        self.count();
        for at in 0..self.servers.len() {
            self.disconnect(at);
        }
        self.front = None;
        self.contents.clear();
        self.clients_lose_the_front();
    }

    fn start_front(&mut self) {
        if self.front.is_some() {
            return;
        }
        self.epoch += 1;
        self.seen.restarts += u64::from(self.epoch > 1);
        let mut modes = Modes::new();
        modes.declare(Space(0), Mode(0), Mode(0));
        modes.declare(Space(1), Mode(0), Mode(0));
        let replicas = self.servers.iter().map(|server| ReplicaConfig {
            id: server.id,
            slots: self.settings.slots,
            interactive_slots: 1,
            read_slots: 2,
        });
        let config = FrontConfig {
            policy: self.settings.policy,
            guarantee: self.settings.guarantee,
            modes,
            durable_applies: self.settings.durable_applies,
            kept_max: self.settings.kept_max,
            alone_after: self.settings.alone_after,
            certified_max: self.settings.certified_max,
            ..FrontConfig::new(self.epoch, replicas.collect())
        };
        self.front = Some(Front::new(config));
        if self.settings.mistake == Some(Mistake::RecoversWithoutOne) {
            let away = |at: &usize| !self.servers[*at].up || !self.net[*at];
            if let Some(at) = (0..self.servers.len()).find(away) {
                let replica = self.servers[at].id;
                let report = Report::default();
                self.tell(Event::ReplicaReported { replica, report });
                self.tell(Event::StreamCaughtUp { replica });
            }
        }
    }

    fn count(&mut self) {
        if let Some(front) = &self.front {
            let (sum, new) = (&mut self.seen.counts, front.counts());
            sum.attempts += new.attempts;
            sum.conflicts += new.conflicts;
            sum.refused += new.refused;
            sum.rerun += new.rerun;
            sum.alone += new.alone;
            sum.killed += new.killed;
            sum.out_of_turn += new.out_of_turn;
            sum.foreign += new.foreign;
            sum.decided += new.decided;
            sum.moved += new.moved;
            sum.joined += new.joined;
        }
    }

    /// A write set is committed somewhere.
    pub fn note_committed(&mut self, write: WriteId) {
        if let WriteId::Attempt(attempt) = write
            && let Some(made) = self.attempts.get(&attempt)
        {
            self.committed.insert(*made, attempt);
        }
    }
}
