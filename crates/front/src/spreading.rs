//! Spreading: what is decided is committed at its origin, applied at the others, and answered.
//!
//! Relies on: `ledger`; a driver that commits at each replica in the order that the effects name.  Promises: write sets
//! are committed at each replica in the order of their positions, but for those that it ran itself under `Causal`;
//! a client is answered when its write set survives a crash of any server and, under `Total`, is at every
//! replica that may be read.  Does not: apply anything.
//!
//! | | committed at its origin | applied elsewhere | answered |
//! |---|---|---|---|
//! | `Causal` | at once | when that is durable | when it is durable somewhere |
//! | `Total` | in its turn | in its turn | and at all replicas that count |
//!
//! Under `Causal` nobody reads a write set before it is durable; if its origin goes before it could commit, the
//! others apply it durably instead. Under `Total` waiting for the origin would add its sync to every answer: a reader may
//! see what a crash of all servers at once takes back, as with PostgreSQL's `synchronous_commit = off`; nobody was
//! told that it is there.

use crate::event::{Effect, Outcome};
use crate::forgetting::TOGETHER;
use crate::front::{Front, Phase};
use crate::ids::{AttemptId, Lsn, Rows, WriteId};
use crate::ledger::{Bytes, Entry, There};
use crate::replicas::{Item, State};
use quintet_chain as chain;
use quintet_chain::{CallId, Guarantee};

/// Write sets that a replica is given before it has committed the first of them.
const WINDOW: usize = 64;

impl Front {
    /// Every replica that is there gets the write set at this position.
    pub(crate) fn spread(&mut self, position: u64, effects: &mut Vec<Effect>) {
        for replica in 0..self.replicas.len() {
            let entry = self.ledger.get(position).expect("it was entered");
            let lacks = entry.there[replica] == There::Missing;
            if lacks && self.replicas[replica].is_there() {
                let call = entry.call;
                self.line_up(position, call, replica, effects);
            }
        }
        self.issue_everywhere(effects);
        self.keep_bounds(effects);
    }

    /// A replica will have to commit the write set at this position.
    pub(crate) fn line_up(
        &mut self,
        position: u64,
        call: Option<CallId>,
        replica: usize,
        effects: &mut Vec<Effect>,
    ) {
        let entry = self.ledger.get(position).expect("it was entered");
        let causal = self.config.guarantee == Guarantee::Causal;
        let own = match entry.write {
            WriteId::Attempt(attempt) if causal && entry.origin == replica => Some(attempt),
            _ => None,
        };
        self.replicas[replica].queue.push_back(Item {
            position,
            call,
            out_of_turn: own.is_some(),
            issued: own.is_some(),
            arrived: false,
        });
        if let Some(attempt) = own {
            effects.push(Effect::Commit {
                attempt,
                replica: self.id(replica),
                commit_after: None,
            });
        }
    }

    pub(crate) fn issue_everywhere(&mut self, effects: &mut Vec<Effect>) {
        for replica in 0..self.replicas.len() {
            self.issue(replica, effects);
        }
    }

    /// Gives a replica what it may have.
    pub(crate) fn issue(&mut self, replica: usize, effects: &mut Vec<Effect>) {
        if !self.replicas[replica].is_there() {
            return;
        }
        let id = self.id(replica);
        let mut under_way = 0;
        let mut before: Option<WriteId> = None;
        for at in 0..self.replicas[replica].queue.len() {
            let item = self.replicas[replica].queue[at];
            if item.arrived || item.out_of_turn {
                continue;
            }
            let position = item.position;
            let entry = self.ledger.get(position).expect("a replica lacks it");
            let (write, origin) = (entry.write, entry.origin);
            if !item.issued {
                let own = origin == replica;
                let may = own || entry.released && entry.bytes == Bytes::Held;
                if !may && entry.released && entry.bytes == Bytes::Forgotten {
                    self.need_again(origin, replica, effects);
                    return;
                }
                if !may || under_way == WINDOW {
                    return;
                }
                self.replicas[replica].queue[at].issued = true;
                let durable = self.config.durable_applies || entry.orphaned;
                effects.push(match write {
                    WriteId::Attempt(attempt) if own => Effect::Commit {
                        attempt,
                        replica: id,
                        commit_after: before,
                    },
                    _ => Effect::Apply {
                        write,
                        replica: id,
                        begin_after: self.begin_after(position, replica, before),
                        commit_after: before,
                        durable,
                    },
                });
            }
            under_way += 1;
            before = Some(write);
        }
    }

    /// The write sets on the same rows that are under way at a replica.
    fn begin_after(&self, position: u64, replica: usize, before: Option<WriteId>) -> Vec<WriteId> {
        // What shares rows among those from before it was there is not known any more.
        let of = &self.replicas[replica];
        if of.state != State::Live || position <= of.behind_until {
            return before.into_iter().collect();
        }
        let missing = self.certifier.missing_before(position, replica);
        let entries = missing
            .into_iter()
            .filter_map(|before| self.ledger.get(before));
        entries.map(|entry| entry.write).collect()
    }

    pub(crate) fn commit_out_of_turn(
        &mut self,
        attempt: AttemptId,
        replica: usize,
        effects: &mut Vec<Effect>,
    ) {
        let Some(position) = self.ledger.find(WriteId::Attempt(attempt)) else {
            return;
        };
        let id = self.id(replica);
        if let Some(item) = self.replicas[replica].item(position)
            && !item.arrived
            && !item.out_of_turn
            && self
                .ledger
                .get(position)
                .is_some_and(|entry| entry.origin == replica)
        {
            item.issued = true;
            item.out_of_turn = true;
            self.counts.out_of_turn += 1;
            effects.push(Effect::Commit {
                attempt,
                replica: id,
                commit_after: None,
            });
        }
    }

    pub(crate) fn committed(
        &mut self,
        attempt: AttemptId,
        replica: usize,
        effects: &mut Vec<Effect>,
    ) {
        let Some(position) = self.ledger.find(WriteId::Attempt(attempt)) else {
            return;
        };
        let entry = self.ledger.get_mut(position).expect("it was found");
        if entry.origin != replica || !self.replicas[replica].is_there() {
            return;
        }
        entry.there[replica] = There::Durable;
        entry.released = true;
        self.arrive(position, replica, effects);
        self.issue_everywhere(effects);
    }

    pub(crate) fn applied(
        &mut self,
        write: WriteId,
        replica: usize,
        durable: bool,
        effects: &mut Vec<Effect>,
    ) {
        let Some(position) = self.ledger.find(write) else {
            return;
        };
        if !self.replicas[replica].is_there() {
            return;
        }
        let entry = self.ledger.get_mut(position).expect("it was found");
        if durable {
            entry.there[replica] = There::Durable;
            self.replicas[replica].soft.remove(&position);
        } else if entry.there[replica] == There::Missing {
            entry.there[replica] = There::Applied;
            self.replicas[replica].soft.insert(position);
        }
        self.arrive(position, replica, effects);
        if self.replicas[replica].soft.len() >= TOGETHER {
            self.harden(replica, effects);
        }
    }

    /// A write set is at one more replica.
    fn arrive(&mut self, position: u64, replica: usize, effects: &mut Vec<Effect>) {
        self.certifier.arrived(position, replica);
        let worker = self.replicas[replica].worker();
        let mut told = Vec::new();
        if let Some(item) = self.replicas[replica].item(position)
            && !item.arrived
        {
            item.arrived = true;
            if item.out_of_turn {
                told.extend(item.call);
            }
        }
        let queue = &mut self.replicas[replica].queue;
        while let Some(first) = queue.front().filter(|item| item.arrived) {
            if !first.out_of_turn {
                told.extend(first.call);
            }
            queue.pop_front();
        }
        for call in told {
            self.tell(chain::Event::Applied { call, worker }, effects);
        }
        self.issue(replica, effects);
        self.look_at(position, effects);
        self.may_be_live(replica, effects);
    }

    /// Answers, and lets go of a write set, if it is time.
    pub(crate) fn look_at(&mut self, position: u64, effects: &mut Vec<Effect>) {
        let Some(entry) = self.ledger.get(position) else {
            return;
        };
        if let Some(call) = entry.unanswered {
            let total = self.config.guarantee == Guarantee::Total;
            let lacks = |(replica, there): (usize, &There)| {
                self.replicas[replica].counts() && *there == There::Missing
            };
            let is_missed = total && entry.there.iter().enumerate().any(lacks);
            if entry.is_durable() && !is_missed {
                let entry = self.ledger.get_mut(position).expect("it is there");
                entry.unanswered = None;
                self.ledger.unanswered.remove(&position);
                self.answer(call, Outcome::Done, effects);
            } else if !entry.is_durable() && entry.orphaned {
                let soft = |replica: &usize| {
                    self.replicas[*replica].is_there() && entry.there[*replica] == There::Applied
                };
                if let Some(replica) = (0..self.replicas.len()).find(soft) {
                    self.harden(replica, effects);
                }
            }
        }
        let Some(entry) = self.ledger.get(position) else {
            return;
        };
        let mut there = entry.there.iter().zip(&self.replicas);
        let is_safe = there
            .all(|(there, replica)| *there == There::Durable || replica.state == State::Expelled);
        if is_safe && entry.unanswered.is_none() {
            if entry.bytes == Bytes::Held {
                effects.push(Effect::Forget { write: entry.write });
            }
            let entry = self.ledger.get_mut(position).expect("it is there");
            entry.bytes = Bytes::Forgotten;
            self.ledger.finish(position);
            if self.ledger.done >= TOGETHER {
                self.prune(effects);
            }
        }
    }

    pub(crate) fn foreign(
        &mut self,
        replica: usize,
        at: Lsn,
        rows: Rows,
        effects: &mut Vec<Effect>,
    ) {
        let write = WriteId::Foreign {
            replica: self.id(replica),
            at,
        };
        self.streamed(replica, at);
        if let Phase::Recovering(recovery) = &mut self.phase {
            recovery.told(replica, at, write, None, rows);
            return;
        }
        if self.told_again(write, effects) {
            return;
        }
        let dealt_with = at <= self.ledger.streams[replica].horizon;
        if dealt_with || rows == Rows::None || !self.replicas[replica].is_there() {
            effects.push(Effect::Forget { write });
            return;
        }
        self.counts.foreign += 1;
        let mut there = vec![There::Missing; self.replicas.len()];
        there[replica] = There::Durable;
        let position = self.ledger.enter(Entry {
            write,
            origin: replica,
            at,
            unanswered: None,
            call: None,
            there,
            bytes: Bytes::Held,
            released: true,
            orphaned: false,
        });
        self.certifier.enter(position, rows);
        self.certifier.arrived(position, replica);
        self.spread(position, effects);
        self.look_at(position, effects);
    }
}
