//! Forgetting: what was applied becomes durable, and then bytes, marks and positions of streams go.
//!
//! Relies on: `ledger`.  Promises: bytes go when every replica has the write set for good, or there are too many, and
//! then they are read again when they are needed; marks go when no stream will tell of the write set
//! again.  Does not: forget that a write set is decided, unless the replica that lacks it is given up.

use crate::event::Effect;
use crate::front::{Front, Phase};
use crate::ids::{Lsn, WriteId};
use crate::ledger::{Bytes, There};
use crate::replicas::State;

/// So many write sets are forgotten, or made durable, together.
pub(crate) const TOGETHER: usize = 64;

/// So many of the oldest are looked at when bytes are to be forgotten: those in front may be waited for.
const LOOKED_AT: usize = 16;

impl Front {
    /// Makes durable what was applied.
    pub(crate) fn harden(&mut self, replica: usize, effects: &mut Vec<Effect>) {
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

    /// A replica needs what was forgotten.
    pub(crate) fn need_again(&mut self, origin: usize, replica: usize, effects: &mut Vec<Effect>) {
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
    pub(crate) fn keep_bounds(&mut self, effects: &mut Vec<Effect>) {
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
