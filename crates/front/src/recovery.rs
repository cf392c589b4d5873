//! Recovery: what earlier lives of the front end left is decided before this one serves.
//!
//! Relies on: reports that were taken when no session of an earlier life was left, from all replicas; streams that
//! tell of everything after their horizons, up to the report.  Promises: what was answered is committed; what is
//! committed somewhere becomes committed everywhere; what is committed nowhere is rolled back everywhere.
//! Does not: serve while a replica is missing: an acknowledged commit may be there and nowhere else.
//!
//! A prepared attempt is committed if some replica has applied it, and rolled back if none has: nobody was told that
//! it took effect, as an answer waits until its commit is durable somewhere.
//!
//! **Order.** Write sets that conflict are applied in the order in which they took effect. Of two attempts at
//! different replicas the second began when the first was known to be at its replica, so it has the greater place. At one
//! replica the log has them in order. So an attempt counts with the greatest place that its replica's log has up
//! to there: all of those began before it was prepared, and what conflicts with it elsewhere began after it was.

use crate::event::{Effect, Report};
use crate::front::{Front, Phase};
use crate::ids::{AttemptId, Lsn, Place, Rows, WriteId};
use crate::ledger::{Bytes, Entry, There};
use std::collections::{BTreeMap, BTreeSet};

/// What a stream told.
#[derive(Debug)]
struct Told {
    write: WriteId,
    place: Option<Place>,
    rows: Rows,
}

/// What is known so far.
#[derive(Debug)]
pub(crate) struct Recovery {
    reports: Vec<Option<Report>>,
    caught_up: Vec<bool>,
    told: Vec<BTreeMap<Lsn, Told>>,
    /// What became of prepared transactions.
    settled: BTreeMap<AttemptId, bool>,
    /// Who was waited for when that was last said.
    waiting_for: Option<Vec<usize>>,
}

impl Recovery {
    pub fn new(replicas: usize) -> Recovery {
        Recovery {
            reports: vec![None; replicas],
            caught_up: vec![false; replicas],
            told: (0..replicas).map(|_| BTreeMap::new()).collect(),
            settled: BTreeMap::new(),
            waiting_for: None,
        }
    }

    pub fn lost(&mut self, replica: usize) {
        self.reports[replica] = None;
        self.caught_up[replica] = false;
    }

    pub fn reported(&mut self, replica: usize, report: Report) {
        self.reports[replica] = Some(report);
        self.caught_up[replica] = false;
    }

    pub fn told(
        &mut self,
        replica: usize,
        at: Lsn,
        write: WriteId,
        place: Option<Place>,
        rows: Rows,
    ) {
        let told = Told { write, place, rows };
        self.told[replica].insert(at, told);
    }

    pub fn settled(&mut self, attempt: AttemptId, committed: bool) {
        self.settled.insert(attempt, committed);
    }

    /// The replicas without which nothing can be decided.
    fn missing(&self) -> Vec<usize> {
        let all = 0..self.reports.len();
        all.filter(|replica| self.reports[*replica].is_none() || !self.caught_up[*replica])
            .collect()
    }

    /// Up to where each stream is dealt with.
    fn horizon(&self, of: crate::ids::ReplicaId) -> Lsn {
        let reports = self.reports.iter().flatten();
        let horizons = reports.flat_map(|report| report.horizons.iter());
        let of_it = horizons.filter(|(replica, _)| *replica == of);
        of_it.map(|(_, at)| *at).max().unwrap_or_default()
    }
}

/// A write set that is there to stay.
struct Kept {
    order: (Place, usize, Lsn),
    write: WriteId,
    rows: Rows,
    /// It waits for its commit at its origin.
    prepared: bool,
}

impl Front {
    pub(crate) fn stream_caught_up(&mut self, replica: usize, effects: &mut Vec<Effect>) {
        if let Phase::Recovering(recovery) = &mut self.phase {
            recovery.caught_up[replica] = true;
            self.recover_if_complete(effects);
        }
    }

    /// Decides, if all replicas are there.
    pub(crate) fn recover_if_complete(&mut self, effects: &mut Vec<Effect>) {
        let Phase::Recovering(recovery) = &mut self.phase else {
            return;
        };
        let missing = recovery.missing();
        if !missing.is_empty() {
            if recovery.waiting_for.as_ref() != Some(&missing) {
                recovery.waiting_for = Some(missing.clone());
                let replicas = missing.into_iter().map(|at| self.id(at)).collect();
                effects.push(Effect::WaitingFor { replicas });
            }
            return;
        }
        let Phase::Recovering(recovery) = std::mem::replace(&mut self.phase, Phase::Serving) else {
            unreachable!("it was recovering");
        };
        self.recover(*recovery, effects);
    }

    fn recover(&mut self, mut recovery: Recovery, effects: &mut Vec<Effect>) {
        let all = 0..self.replicas.len();
        for replica in all.clone() {
            let horizon = recovery.horizon(self.id(replica));
            self.ledger.streams[replica].horizon = horizon;
        }
        let reports: Vec<Report> = recovery.reports.iter_mut().flat_map(Option::take).collect();
        let marks = reports.iter().flat_map(|report| report.applied.iter());
        let applied: BTreeSet<WriteId> = marks.copied().collect();
        let mut prepared: BTreeMap<AttemptId, usize> = BTreeMap::new();
        for (replica, report) in reports.iter().enumerate() {
            prepared.extend(report.prepared.iter().map(|attempt| (*attempt, replica)));
        }
        let mut kept = Vec::new();
        for (replica, told) in recovery.told.into_iter().enumerate() {
            let mut greatest = Place::default();
            for (at, told) in told {
                greatest = greatest.max(told.place.unwrap_or_default());
                let Told { write, rows, .. } = told;
                let is_prepared = match write {
                    WriteId::Attempt(attempt) => prepared.remove(&attempt).is_some(),
                    WriteId::Foreign { .. } => false,
                };
                let stays = match write {
                    WriteId::Foreign { .. } => rows != Rows::None,
                    WriteId::Attempt(_) if is_prepared => applied.contains(&write),
                    WriteId::Attempt(attempt) => {
                        let settled = recovery.settled.get(&attempt).copied();
                        // What is applied anywhere was decided; that its commit was not told of says little.
                        settled.unwrap_or(applied.contains(&write)) && rows != Rows::None
                    }
                };
                let dealt_with = at <= self.ledger.streams[replica].horizon;
                if stays && !dealt_with {
                    kept.push(Kept {
                        order: (greatest, replica, at),
                        write,
                        rows,
                        prepared: is_prepared,
                    });
                    continue;
                }
                effects.push(Effect::Forget { write });
                if let (WriteId::Attempt(attempt), true) = (write, is_prepared) {
                    self.undo(attempt, replica, applied.contains(&write), effects);
                }
            }
        }
        // Their write sets are dealt with, or were empty.
        for (attempt, replica) in prepared {
            let committed = applied.contains(&WriteId::Attempt(attempt));
            self.undo(attempt, replica, committed, effects);
        }
        kept.sort_unstable_by_key(|kept| kept.order);
        let marks = reports.iter().map(|report| report.applied.iter().copied());
        let applied_at: Vec<BTreeSet<WriteId>> = marks.map(Iterator::collect).collect();
        for kept in kept {
            self.enter_again(kept, &applied_at);
        }
        effects.push(Effect::Ready);
        for (replica, report) in reports.into_iter().enumerate() {
            self.confirm(replica, effects);
            self.remove_marks(replica, report.applied, effects);
            self.join(replica, effects);
        }
        self.find_primary(effects);
        self.early_calls(effects);
    }

    /// Ends a prepared transaction that nobody has to hear of.
    fn undo(&self, attempt: AttemptId, replica: usize, committed: bool, effects: &mut Vec<Effect>) {
        let replica = self.id(replica);
        effects.push(match committed {
            true => Effect::Commit {
                attempt,
                replica,
                commit_after: None,
            },
            false => Effect::Rollback { attempt, replica },
        });
    }

    fn enter_again(&mut self, kept: Kept, applied_at: &[BTreeSet<WriteId>]) {
        let (_, origin, at) = kept.order;
        let there = |replica: usize| match replica == origin {
            true if kept.prepared => There::Missing,
            true => There::Durable,
            false if applied_at[replica].contains(&kept.write) => There::Applied,
            false => There::Missing,
        };
        let there: Vec<There> = (0..self.replicas.len()).map(there).collect();
        let position = self.ledger.enter(Entry {
            write: kept.write,
            origin,
            at,
            unanswered: None,
            call: None,
            there: there.clone(),
            bytes: Bytes::Held,
            released: true,
            orphaned: false,
        });
        self.certifier.enter(position, kept.rows);
        for (replica, there) in there.into_iter().enumerate() {
            match there {
                There::Missing => {}
                There::Applied => {
                    self.replicas[replica].soft.insert(position);
                    self.certifier.arrived(position, replica);
                }
                There::Durable => self.certifier.arrived(position, replica),
            }
        }
    }
}
