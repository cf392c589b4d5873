//! The driver: from effects to jobs, from answers to events.
//!
//! It keeps the bytes of write sets, and holds back what comes after something else. All of it but what servers
//! have is gone when the front end dies.

use super::job::{Job, Session};
use super::server::{Key, Owner, Record, Value, Writes};
use super::settings::Mistake;
use super::world::{Link, World};
use quintet_front::{AttemptId, Effect, Event, Lsn, Outcome, ReplicaId, Report, Rows, WriteId};

impl World {
    /// Tells the front end, and does what it says.
    pub fn tell(&mut self, event: Event) {
        let Some(front) = &mut self.front else {
            return;
        };
        if self.traces {
            self.trace.push(format!("{:5} {event:?}", self.steps));
        }
        let mut effects = Vec::new();
        front.handle(event, &mut effects);
        for effect in effects {
            if self.traces {
                self.trace.push(format!("          {effect:?}"));
            }
            self.effect(effect);
        }
    }

    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Run {
                call,
                attempt,
                replica,
                place,
            } => {
                let made = self.by_call[&call];
                self.attempts.insert(attempt, made);
                self.last_run.insert(call, attempt);
                let mut at = self.at(replica);
                let reads = !self.made[made].writes;
                if reads && self.settings.mistake == Some(Mistake::ReadsAnywhere) {
                    let other = self.rng.below(self.servers.len());
                    if self.generation_of(other).is_some() {
                        at = other;
                    }
                }
                self.send(
                    at,
                    Job::Run {
                        attempt,
                        call,
                        place,
                        made,
                    },
                );
            }
            Effect::Ask { call, replica } => {
                let made = self.by_call[&call];
                self.send(self.at(replica), Job::Ask { call, made });
            }
            Effect::Kill { attempt, replica } => {
                self.send(self.at(replica), Job::Kill { attempt });
            }
            Effect::Rollback { attempt, replica } => {
                self.send(self.at(replica), Job::Rollback { attempt });
            }
            Effect::Harden { replica, ticket } => {
                self.send(self.at(replica), Job::Harden { ticket });
            }
            Effect::Prune {
                replica,
                writes,
                horizons,
            } => {
                self.send(self.at(replica), Job::Prune { writes, horizons });
            }
            Effect::Confirm { replica, at } => {
                self.send(self.at(replica), Job::Confirm { at });
            }
            Effect::Commit {
                attempt,
                replica,
                commit_after,
            } => {
                let at = self.at(replica);
                if self.settings.mistake == Some(Mistake::AnswersEarly) {
                    self.answer_early(attempt);
                }
                let commits =
                    |job: &Job| matches!(job, Job::Commit { attempt: other } if *other == attempt);
                self.held
                    .retain(|(server, _, job)| *server != at || !commits(job));
                self.busy[at].insert(WriteId::Attempt(attempt));
                let after = commit_after.into_iter().collect();
                self.hold(at, after, Job::Commit { attempt });
            }
            Effect::Apply {
                write,
                replica,
                begin_after,
                commit_after,
                durable,
            } => {
                let at = self.at(replica);
                let writes = self.contents.get(&write);
                let writes = writes.expect("the bytes are kept").clone();
                if self.settings.mistake == Some(Mistake::AppliesAgain) && self.rng.one_in(3) {
                    self.late.push((at, writes.clone()));
                }
                self.busy[at].insert(write);
                let mut after = begin_after;
                if !self.settings.parallel {
                    after.extend(commit_after);
                }
                let job = Job::Apply {
                    write,
                    writes,
                    after: commit_after,
                    durable,
                };
                self.hold(at, after, job);
            }
            Effect::Answer {
                call,
                joined,
                outcome,
            } => {
                for call in joined.into_iter().chain([call]) {
                    if self.by_call.contains_key(&call)
                        || self.settings.mistake != Some(Mistake::AnswersEarly)
                    {
                        self.answered(call, outcome);
                    }
                }
            }
            Effect::Refuse { call, .. } => self.answered(call, Outcome::Refused),
            Effect::Forget { write } => {
                self.contents.remove(&write);
            }
            Effect::Reread { replica } => {
                let at = self.at(replica);
                let confirmed = self.servers[at].confirmed;
                if let Link::Up { cursor, .. } = &mut self.links[at] {
                    *cursor = confirmed;
                }
                self.seen.rereads += 1;
            }
            Effect::Expelled { replica } => panic!("replica {} is expelled", replica.0),
            Effect::WaitingFor { .. } | Effect::Ready => {}
        }
    }

    fn answer_early(&mut self, attempt: AttemptId) {
        let Some(made) = self.attempts.get(&attempt).copied() else {
            return;
        };
        let calls = self.by_call.iter();
        let call = calls.filter(|(_, of)| **of == made).map(|(call, _)| *call);
        for call in call.collect::<Vec<_>>() {
            self.answered(call, Outcome::Done);
        }
    }

    pub fn at(&self, replica: ReplicaId) -> usize {
        replica.0 as usize
    }

    /// The connection to a server, if there is one.
    pub fn generation_of(&self, at: usize) -> Option<u64> {
        match self.links[at] {
            Link::Up { generation, .. } => Some(generation),
            Link::Down => None,
        }
    }

    fn send(&mut self, at: usize, job: Job) {
        match self.generation_of(at) {
            Some(generation) => self.outbox.push((at, generation, job)),
            None if self.settings.mistake.is_some() => {}
            None => panic!("replica {at} is lost, and is told {job:?}"),
        }
    }

    fn hold(&mut self, at: usize, after: Vec<WriteId>, job: Job) {
        self.held.push((at, after, job));
        self.release(at);
    }

    /// Sends what has waited long enough.
    fn release(&mut self, at: usize) {
        let ordered = self.settings.mistake != Some(Mistake::IgnoresOrder);
        let mut held = std::mem::take(&mut self.held);
        let mut ready = Vec::new();
        held.retain(|(server, after, job)| {
            let waits = ordered && after.iter().any(|write| self.busy[at].contains(write));
            if *server == at && !waits {
                ready.push(job.clone());
                return false;
            }
            true
        });
        self.held = held;
        for job in ready {
            self.send(at, job);
        }
    }

    /// Something on its way to a server arrives there.
    pub fn deliver_job(&mut self) {
        if self.outbox.is_empty() {
            return;
        }
        let which = self.rng.below(self.outbox.len());
        let (at, generation, _) = self.outbox[which];
        let server = &self.servers[at];
        if !server.up {
            self.outbox.swap_remove(which);
            return;
        }
        let current = self.generation_of(at) == Some(generation);
        if server.stalled || (current && !self.net[at]) {
            return;
        }
        if current && !matches!(self.links[at], Link::Up { start, .. } if start == server.starts) {
            self.outbox.swap_remove(which);
            return;
        }
        let (at, generation, job) = self.outbox.swap_remove(which);
        self.session_ids += 1;
        let session = Session::new(at, generation, job);
        self.sessions.insert(self.session_ids, session);
    }

    /// Something on its way to the driver arrives there.
    pub fn deliver_event(&mut self) {
        if self.inbox.is_empty() {
            return;
        }
        let which = self.rng.below(self.inbox.len());
        let (at, generation, _) = &self.inbox[which];
        let (at, generation) = (*at, *generation);
        let current = self.generation_of(at) == Some(generation);
        if current && !self.net[at] {
            return;
        }
        let (_, _, event) = self.inbox.swap_remove(which);
        if !current {
            return;
        }
        match &event {
            Event::Applied { write, .. } => {
                self.busy[at].remove(write);
            }
            Event::Committed { attempt, .. } => {
                self.busy[at].remove(&WriteId::Attempt(*attempt));
            }
            _ => {}
        }
        self.tell(event);
        if self.generation_of(at).is_some() {
            self.release(at);
        }
    }

    /// The stream of a server tells the next thing.
    pub fn stream(&mut self, at: usize) {
        let Link::Up {
            cursor,
            target,
            start,
            ..
        } = self.links[at]
        else {
            return;
        };
        let server = &self.servers[at];
        if !server.up || start != server.starts || server.stalled || !self.net[at] {
            return;
        }
        let replica = server.id;
        let next = server.next_record(cursor);
        let (position, event) = match next {
            None => {
                let at = Lsn(server.flushed);
                (at.0.max(cursor), Event::Streamed { replica, at })
            }
            Some((at, record)) => {
                let record = record.clone();
                (at.0, self.told(replica, at, record))
            }
        };
        if let Link::Up {
            cursor,
            target: aim,
            ..
        } = &mut self.links[at]
        {
            *cursor = position;
            if target.is_some_and(|target| target <= position) {
                *aim = None;
            }
        }
        let idle = matches!(event, Event::Streamed { .. }) && position == cursor;
        if !idle {
            self.tell(event);
        }
        if target.is_some_and(|target| target <= position) {
            self.tell(Event::StreamCaughtUp { replica });
        }
    }

    fn told(&mut self, replica: ReplicaId, at: Lsn, record: Record) -> Event {
        match record {
            Record::Prepared {
                attempt,
                place,
                writes,
            } => {
                let rows = self.rows_of(&writes, attempt.number);
                self.contents.insert(WriteId::Attempt(attempt), writes);
                Event::WriteSet {
                    attempt,
                    replica,
                    at,
                    place,
                    rows,
                }
            }
            Record::Settled { attempt, committed } => Event::Settled {
                attempt,
                replica,
                at,
                committed,
            },
            Record::Foreign { writes } => {
                let rows = self.rows_of(&writes, 0);
                let write = WriteId::Foreign { replica, at };
                self.contents.insert(write, writes);
                Event::Foreign { replica, at, rows }
            }
        }
    }

    fn rows_of(&self, writes: &Writes, salt: u64) -> Rows {
        let hash = |key: &Key| match key {
            Key::Row(row) => *row,
            Key::Token(client) => 1_000_000 + client,
            other => panic!("{other:?} is nobody's to write"),
        };
        let salt = match self.settings.mistake {
            Some(Mistake::HidesRows) => salt * 10_000_000,
            _ => 0,
        };
        match writes.is_empty() {
            true => Rows::None,
            false => Rows::These(writes.keys().map(|key| hash(key) + salt).collect()),
        }
    }

    /// The driver gives up the connections to a server.
    pub fn lose(&mut self, at: usize) {
        if self.generation_of(at).is_none() {
            return;
        }
        self.disconnect(at);
        let replica = self.servers[at].id;
        self.tell(Event::ReplicaLost { replica });
    }

    pub fn disconnect(&mut self, at: usize) {
        self.links[at] = Link::Down;
        self.busy[at].clear();
        self.held.retain(|(server, _, _)| *server != at);
        self.inbox.retain(|(server, _, _)| *server != at);
        // What was sent may still arrive, or not.
        let mut rng = self.rng.clone();
        self.outbox
            .retain(|(server, _, _)| *server != at || rng.one_in(2));
        self.rng = rng;
    }

    /// The driver connects to a server, ends what earlier connections left there, and takes a report.
    pub fn connect(&mut self, at: usize) {
        let server = &self.servers[at];
        let fit = server.up && !server.stalled && self.net[at] && self.front.is_some();
        if !fit || self.generation_of(at).is_some() {
            return;
        }
        self.generations += 1;
        if self.settings.mistake != Some(Mistake::FencesNobody) {
            self.outbox.retain(|(server, _, _)| *server != at);
            let of = self.sessions.iter().filter(|(_, of)| of.server == at);
            for id in of.map(|(id, _)| *id).collect::<Vec<_>>() {
                self.sessions.remove(&id);
                self.servers[at].unlock(Owner::Session(id));
            }
        }
        let server = &self.servers[at];
        let mut report = Report {
            prepared: server.prepared.keys().copied().collect(),
            at: Lsn(server.flushed),
            ..Report::default()
        };
        if self.settings.mistake == Some(Mistake::HidesPrepared) {
            report.prepared.clear();
        }
        for (key, value) in server.all() {
            match (key, value) {
                (Key::Mark(write), _) => report.applied.push(write),
                (Key::Horizon(of), Value::Number(at)) => report.horizons.push((of, Lsn(at))),
                _ => {}
            }
        }
        self.links[at] = Link::Up {
            generation: self.generations,
            start: server.starts,
            cursor: server.confirmed,
            target: Some(server.flushed),
        };
        let replica = server.id;
        self.tell(Event::ReplicaReported { replica, report });
    }
}
