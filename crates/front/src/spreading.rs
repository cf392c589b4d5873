//! Spreading: what is decided is committed at its origin, applied at the others, answered, and forgotten.
//!
//! Relies on: `ledger`; a driver that commits at each replica in the order that the effects name.  Promises: write sets
//! are committed at each replica in the order of their positions, but for those that it ran itself under `Causal`;
//! a client is answered when its write set survives a crash of any server and, under `Total`, is at every
//! replica that may be read; bytes and marks go when nobody needs them.  Does not: apply anything.
//!
//! | | committed at its origin | applied elsewhere | answered |
//! |---|---|---|---|
//! | `Causal` | at once | when that is durable | when it is durable somewhere |
//! | `Total` | in its turn | in its turn | and at all replicas that count |
//!
//! Under `Causal` a replica that was never told to commit can be sure that nobody has read the write set: if its origin
//! goes before it could commit, the others apply it durably instead. Under `Total` waiting for the origin would
//! add its sync to every answer; a reader may see there what a crash of all servers at once takes back, as with
//! PostgreSQL's `synchronous_commit = off`; nobody was told that it is there.

use crate::event::Effect;
use crate::event::Outcome;
use crate::front::{Front, Phase};
use crate::ids::{AttemptId, Lsn, Rows, WriteId};
use crate::ledger::{Bytes, Entry, There};
use crate::replicas::{Item, State};
use quintet_chain as chain;
use quintet_chain::Guarantee;

/// Write sets that a replica is given before it has committed the first of them.
const WINDOW: usize = 64;

/// So many write sets are forgotten, or made durable, together.
const TOGETHER: usize = 64;

/// So many of the oldest are looked at when bytes are to be forgotten: those in front may be waited for.
const LOOKED_AT: usize = 16;

impl Front {
    /// Every replica that is there gets the write set at this position.
    pub(crate) fn spread(&mut self, position: u64, effects: &mut Vec<Effect>) {
        for replica in 0..self.replicas.len() {
            let entry = self.ledger.get(position).expect("it was entered");
            if !self.replicas[replica].is_there() || entry.there[replica] != There::Missing {
                continue;
            }
            let own = entry.origin == replica;
            let item = Item {
                position,
                call: entry.call,
                out_of_turn: own && self.config.guarantee == Guarantee::Causal,
                issued: false,
                arrived: false,
            };
            self.replicas[replica].queue.push_back(item);
        }
        self.issue_everywhere(effects);
        self.keep_bounds(effects);
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
        let mut in_turn = true;
        for at in 0..self.replicas[replica].queue.len() {
            let item = self.replicas[replica].queue[at];
            if item.arrived {
                continue;
            }
            let position = item.position;
            let entry = self.ledger.get(position).expect("a replica lacks it");
            let (write, origin) = (entry.write, entry.origin);
            let own = origin == replica;
            if !item.issued {
                let may = own || entry.released && entry.bytes == Bytes::Held;
                in_turn &= item.out_of_turn || may && under_way < WINDOW;
                if !in_turn && !item.out_of_turn {
                    if !own && entry.released && entry.bytes == Bytes::Forgotten {
                        self.need_again(origin, replica, effects);
                        return;
                    }
                    // Others that go out of turn may stand behind.
                    if self.config.guarantee == Guarantee::Total {
                        return;
                    }
                    continue;
                }
                self.replicas[replica].queue[at].issued = true;
                let commit_after = before.filter(|_| !item.out_of_turn);
                match write {
                    WriteId::Attempt(attempt) if own => effects.push(Effect::Commit {
                        attempt,
                        replica: id,
                        commit_after,
                    }),
                    _ => {
                        let begin_after = self.begin_after(position, replica, before);
                        let entry = self.ledger.get(position).expect("it is there");
                        effects.push(Effect::Apply {
                            write,
                            replica: id,
                            begin_after,
                            commit_after,
                            durable: self.config.durable_applies || entry.orphaned,
                        });
                    }
                }
            }
            if !item.out_of_turn {
                under_way += 1;
                before = Some(write);
            }
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

    /// Makes durable what was applied.
    fn harden(&mut self, replica: usize, effects: &mut Vec<Effect>) {
        let of = &mut self.replicas[replica];
        if !of.is_there() || of.hardening.is_some() || of.soft.is_empty() {
            return;
        }
        self.tickets += 1;
        let ticket = self.tickets;
        of.hardening = Some((ticket, of.soft.iter().copied().collect()));
        effects.push(Effect::Harden {
            replica: of.config.id,
            ticket,
        });
    }

    pub(crate) fn hardened(&mut self, replica: usize, ticket: u64, effects: &mut Vec<Effect>) {
        let of = &mut self.replicas[replica];
        let Some((_, positions)) = of.hardening.take_if(|(asked, _)| *asked == ticket) else {
            return;
        };
        for position in positions {
            self.replicas[replica].soft.remove(&position);
            if let Some(entry) = self.ledger.get_mut(position) {
                if entry.there[replica] == There::Applied {
                    entry.there[replica] = There::Durable;
                }
                self.look_at(position, effects);
            }
        }
        let soft: Vec<u64> = self.replicas[replica].soft.iter().copied().collect();
        for position in soft {
            self.look_at(position, effects);
        }
    }

    pub(crate) fn tick(&mut self, effects: &mut Vec<Effect>) {
        if matches!(self.phase, Phase::Recovering(_)) {
            return;
        }
        self.gate.tick();
        for replica in 0..self.replicas.len() {
            self.harden(replica, effects);
        }
        self.prune(effects);
    }

    /// Moves on in the streams, and removes the marks that nobody will ask for.
    pub(crate) fn prune(&mut self, effects: &mut Vec<Effect>) {
        let (writes, moved) = self.ledger.advance();
        for (at, moved) in moved.into_iter().enumerate() {
            if moved && self.replicas[at].is_there() {
                self.confirm(at, effects);
            }
        }
        for at in 0..self.replicas.len() {
            if !writes.is_empty() && self.replicas[at].is_there() {
                self.prune_at(at, writes.clone(), effects);
            }
        }
    }

    pub(crate) fn confirm(&self, at: usize, effects: &mut Vec<Effect>) {
        effects.push(Effect::Confirm {
            replica: self.id(at),
            at: self.ledger.streams[at].horizon,
        });
    }

    pub(crate) fn prune_at(&self, at: usize, writes: Vec<WriteId>, effects: &mut Vec<Effect>) {
        let streams = self.ledger.streams.iter().enumerate();
        let horizons = streams.map(|(of, stream)| (self.id(of), stream.horizon));
        effects.push(Effect::Prune {
            replica: self.id(at),
            writes,
            horizons: horizons.collect(),
        });
    }

    /// The stream of a replica has come so far.
    pub(crate) fn streamed(&mut self, replica: usize, at: Lsn) {
        let seen = &mut self.ledger.streams[replica].seen;
        *seen = (*seen).max(at);
    }

    /// True if a stream tells of what is known to be decided.
    pub(crate) fn told_again(&mut self, write: WriteId, effects: &mut Vec<Effect>) -> bool {
        let Some(position) = self.ledger.find(write) else {
            return false;
        };
        let entry = self.ledger.get_mut(position).expect("it was found");
        let needed = entry.there.contains(&There::Missing);
        if needed && entry.bytes != Bytes::Held {
            entry.bytes = Bytes::Held;
            self.ledger.held.insert(position);
            self.issue_everywhere(effects);
        } else if !needed && entry.bytes != Bytes::Held {
            // A replica that is not there may come to need it; then it is told once more.
            entry.bytes = Bytes::Forgotten;
            effects.push(Effect::Forget { write });
        }
        true
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

    /// A replica needs what was forgotten.
    fn need_again(&mut self, origin: usize, replica: usize, effects: &mut Vec<Effect>) {
        if self.replicas[origin].state == State::Expelled {
            self.expel(replica, effects);
        } else if self.replicas[origin].is_there() {
            self.await_forgotten(origin);
            effects.push(Effect::Reread {
                replica: self.id(origin),
            });
        }
    }

    /// The stream of a replica will tell of all again that is not dealt with.
    pub(crate) fn await_forgotten(&mut self, origin: usize) {
        for (_, entry) in self.ledger.iter_mut() {
            if entry.origin == origin && entry.bytes == Bytes::Forgotten {
                entry.bytes = Bytes::Awaited;
            }
        }
    }

    /// Forgets what is kept for replicas that are not there, if it is too much.
    fn keep_bounds(&mut self, effects: &mut Vec<Effect>) {
        if self.ledger.held.len() > self.config.kept_max {
            let oldest = self.ledger.held.iter().take(LOOKED_AT);
            let only_lost_lack_it = |position: &&u64| {
                let entry = self.ledger.get(**position).expect("it is held");
                let mut there = entry.there.iter().zip(&self.replicas);
                there.all(|(there, of)| *there != There::Missing || !of.is_there())
            };
            if let Some(position) = oldest.clone().find(only_lost_lack_it).copied() {
                self.ledger.held.remove(&position);
                let entry = self.ledger.get_mut(position).expect("it is held");
                entry.bytes = Bytes::Forgotten;
                effects.push(Effect::Forget { write: entry.write });
            }
        }
        if self.ledger.len() > self.config.remembered_max {
            for replica in 0..self.replicas.len() {
                let oldest = self.ledger.iter().next();
                let lacks = oldest.is_some_and(|(_, entry)| entry.there[replica] != There::Durable);
                if lacks && self.replicas[replica].state == State::Lost {
                    self.expel(replica, effects);
                }
            }
        }
    }
}
