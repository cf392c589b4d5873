//! The front end's state, and what becomes of an event.
//!
//! Relies on: a driver as `lib` says.  Promises: what `lib` says.  Does not: more than hand events on; each of the
//! other files has one part of what follows.

use crate::calls::Calls;
use crate::certifier::Certifier;
use crate::clients::Clients;
use crate::config::{FrontConfig, Policy};
use crate::event::{Effect, Event};
use crate::gate::Gate;
use crate::ids::ReplicaId;
use crate::ledger::Ledger;
use crate::recovery::Recovery;
use crate::replicas::{Replica, State};
use quintet_base::conflict::Modes;
use quintet_chain::{CallId, Config, Copies, Order, Scheduler};
use std::collections::VecDeque;

/// How often things happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Attempts that were run.
    pub attempts: u64,
    /// Attempts that lost a conflict in their server.
    pub conflicts: u64,
    /// Attempts that certification refused.
    pub refused: u64,
    /// Attempts that were run again because their replica, or their session, was lost.
    pub rerun: u64,
    /// Calls that were to run alone because they had lost too often.
    pub alone: u64,
    /// Attempts stopped because they were in the way of what was decided.
    pub killed: u64,
    /// Commits that did not wait for their turn because they were in the way.
    pub out_of_turn: u64,
    /// Transactions that did not come through the front end.
    pub foreign: u64,
    /// Write sets that were decided.
    pub decided: u64,
    /// Calls that ran at another replica than where their chain was, because it had nothing to do.
    pub moved: u64,
    /// Calls that repeated a pending one.
    pub joined: u64,
}

/// What the front end is about.
#[derive(Debug)]
pub(crate) enum Phase {
    /// It finds out what earlier lives left.
    Recovering(Box<Recovery>),
    /// It serves.
    Serving,
}

/// Calls without a place that are looked at when one can begin. More would be a longer look at each event while many wait
/// for the same rows; fewer would let calls wait for nothing behind those.
const SAMPLE: usize = 256;

/// So often is the oldest passed over before others wait for it: a few of the times that calls take.
const PASSED_OVER_MAX: usize = 32;

/// Where keys keep calls apart, whoever can begin first does.
fn order_of(policy: Policy) -> Order {
    match policy.uses_keys() {
        true => Order::Soonest {
            sample: SAMPLE,
            passed_over_max: PASSED_OVER_MAX,
        },
        false => Order::Arrival,
    }
}

/// A front end.
#[derive(Debug)]
pub struct Front {
    pub(crate) config: FrontConfig,
    pub(crate) counts: Counts,
    pub(crate) phase: Phase,
    pub(crate) scheduler: Scheduler,
    pub(crate) calls: Calls,
    pub(crate) gate: Gate,
    pub(crate) certifier: Certifier,
    pub(crate) ledger: Ledger,
    pub(crate) replicas: Vec<Replica>,
    pub(crate) clients: Clients,
    /// Calls that read and wait for a replica, oldest first.
    pub(crate) readers: VecDeque<CallId>,
    /// Calls of which a replica is to be asked.
    pub(crate) askers: VecDeque<CallId>,
    /// The replica where pinned calls run, if one is fit.
    pub(crate) primary: Option<usize>,
    /// The last one that was.
    pub(crate) last_primary: usize,
    /// Whose turn it is.
    pub(crate) turn: usize,
    pub(crate) arrivals: u64,
    pub(crate) attempts: u64,
    pub(crate) tickets: u64,
}

impl Front {
    /// Not ready: it waits for its replicas.
    ///
    /// # Panics
    /// If the configuration names no replica, one twice, or a primary that is none.
    pub fn new(config: FrontConfig) -> Front {
        let replicas: Vec<Replica> = config.replicas.iter().copied().map(Replica::new).collect();
        let count = replicas.len();
        assert!(count > 0, "a front end has replicas");
        let is = |id: ReplicaId| move |replica: &&Replica| replica.config.id == id;
        for replica in &replicas {
            let same = replicas.iter().filter(is(replica.config.id)).count();
            assert_ne!(
                replica.config.id.0,
                u32::MAX,
                "a number that stands for none"
            );
            assert_eq!(same, 1, "replica {} is there twice", replica.config.id.0);
        }
        let of_primary = |replica: &Replica| replica.config.id == config.primary;
        let primary = replicas.iter().position(of_primary);
        let primary = primary.expect("the primary is a replica");
        let scheduler = Scheduler::new(Config {
            modes: config.modes.clone(),
            copies: Copies::PerWorker,
            order: order_of(config.policy),
            pending_max: config.pending_max,
        });
        // Without certification only the order of applies is of interest.
        let certifies = config.policy.certifies();
        let certifier = Certifier::new(count, certifies, config.certified_max);
        Front {
            counts: Counts::default(),
            phase: Phase::Recovering(Box::new(Recovery::new(count))),
            scheduler,
            calls: Calls::default(),
            gate: Gate::new(count),
            certifier,
            ledger: Ledger::new(count),
            replicas,
            clients: Clients::default(),
            readers: VecDeque::new(),
            askers: VecDeque::new(),
            primary: None,
            last_primary: primary,
            turn: 0,
            arrivals: 0,
            attempts: 0,
            tickets: 0,
            config,
        }
    }

    /// Takes in what happened; what is to be done is appended to `effects`, in order. What speaks of calls,
    /// attempts or replicas that are not there any more changes nothing.
    ///
    /// # Panics
    /// If a call is submitted whose number is in use, or a replica is named that is not configured.
    pub fn handle(&mut self, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Submitted(call) => self.submitted(call, effects),
            Event::Asked { call, answered } => self.asked(call, answered, effects),
            Event::Prepared { attempt } => self.prepared(attempt, effects),
            Event::Failed { attempt, why } => self.failed(attempt, why, effects),
            Event::Read { attempt } => self.read(attempt, effects),
            Event::WriteSet {
                attempt,
                replica,
                at,
                place,
                rows,
            } => {
                let replica = self.index(replica);
                self.write_set(attempt, replica, at, place, rows, effects);
            }
            Event::Foreign { replica, at, rows } => {
                let replica = self.index(replica);
                self.foreign(replica, at, rows, effects);
            }
            Event::Settled {
                attempt,
                replica,
                at,
                committed,
            } => {
                let replica = self.index(replica);
                self.streamed(replica, at);
                if let Phase::Recovering(recovery) = &mut self.phase {
                    recovery.settled(attempt, committed);
                }
            }
            Event::Streamed { replica, at } => {
                let replica = self.index(replica);
                self.streamed(replica, at);
            }
            Event::StreamCaughtUp { replica } => {
                let replica = self.index(replica);
                self.stream_caught_up(replica, effects);
            }
            Event::Committed { attempt, replica } => {
                let replica = self.index(replica);
                self.committed(attempt, replica, effects);
            }
            Event::RolledBack { attempt, .. } => self.rolled_back(attempt, effects),
            Event::Applied {
                write,
                replica,
                durable,
            } => {
                let replica = self.index(replica);
                self.applied(write, replica, durable, effects);
            }
            Event::Hardened { replica, ticket } => {
                let replica = self.index(replica);
                self.hardened(replica, ticket, effects);
            }
            Event::Blocked { replica, by } => {
                let replica = self.index(replica);
                self.blocked(replica, &by, effects);
            }
            Event::ReplicaLost { replica } => {
                let replica = self.index(replica);
                self.replica_lost(replica, effects);
            }
            Event::ReplicaReported { replica, report } => {
                let replica = self.index(replica);
                self.reported(replica, report, effects);
            }
            Event::Cancelled { call } => self.cancelled(call, effects),
            Event::SessionEnded { session } => {
                if let Some(known) = self.clients.sessions.get_mut(&session) {
                    known.ended = true;
                    self.clients.tidy(session);
                }
            }
            Event::Tick => self.tick(effects),
        }
        self.go_on(effects);
    }

    /// Starts what may start now.
    fn go_on(&mut self, effects: &mut Vec<Effect>) {
        if matches!(self.phase, Phase::Recovering(_)) {
            return;
        }
        self.find_primary(effects);
        for replica in 0..self.replicas.len() {
            self.start_next(replica, effects);
        }
        for replica in 0..self.replicas.len() {
            self.fetch(replica, effects);
        }
        self.start_askers(effects);
        self.start_readers(effects);
        let Front {
            certifier,
            replicas,
            ..
        } = self;
        certifier.forget(|replica| replicas[replica].is_there());
    }

    pub(crate) fn index(&self, id: ReplicaId) -> usize {
        let mut replicas = self.replicas.iter();
        let at = replicas.position(|replica| replica.config.id == id);
        at.expect("the replica is configured")
    }

    pub(crate) fn id(&self, replica: usize) -> ReplicaId {
        self.replicas[replica].config.id
    }

    /// From now on other modes of keys conflict, as when a procedure was added. False, and nothing has changed,
    /// while calls that write are pending or under way to some replica: hold back new ones and try again.
    #[must_use]
    pub fn set_modes(&mut self, modes: Modes) -> bool {
        let changed = self.scheduler.set_modes(modes.clone());
        if changed {
            self.config.modes = modes;
        }
        changed
    }

    /// How often things happened since the start.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Calls that are not answered.
    pub fn pending(&self) -> usize {
        self.calls.pending.len()
    }

    /// True if everything of earlier lives is decided.
    pub fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Serving)
    }

    /// True if a replica is there and has caught up.
    pub fn is_live(&self, replica: ReplicaId) -> bool {
        self.replicas[self.index(replica)].state == State::Live
    }

    /// Where pinned calls run now.
    pub fn primary(&self) -> Option<ReplicaId> {
        self.primary.map(|replica| self.id(replica))
    }

    /// Write sets that are decided and not safe everywhere, or not passed by their horizon.
    pub fn remembered(&self) -> usize {
        self.ledger.len()
    }

    /// Positions and rows that are kept for certification and for the order of applies.
    pub fn certified(&self) -> (usize, usize) {
        self.certifier.len()
    }

    pub(crate) fn centralises(&self) -> bool {
        self.config.policy == Policy::CentralisedWrites
    }
}
