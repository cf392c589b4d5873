//! What the sessions of servers do, one step at a time.
//!
//! A session that waits for a lock is found again and again until it gets it, or a deadlock is found, or it was
//! killed. What a session answers travels back through `World::inbox`.

use super::server::{Denied, Key, Owner, Value, Writes};
use super::settings::Mistake;
use super::world::World;
use quintet_front::{AttemptId, CallId, Event, Lsn, Place, ReplicaId, Why, WriteId};
use std::collections::BTreeMap;

/// What a session is told.
#[derive(Clone, Debug)]
pub enum Job {
    Run {
        attempt: AttemptId,
        call: CallId,
        place: Place,
        /// Which of the calls that clients made.
        made: usize,
    },
    Commit {
        attempt: AttemptId,
    },
    Rollback {
        attempt: AttemptId,
    },
    Kill {
        attempt: AttemptId,
    },
    Apply {
        write: WriteId,
        writes: Writes,
        after: Option<WriteId>,
        durable: bool,
    },
    Harden {
        ticket: u64,
    },
    Ask {
        call: CallId,
        made: usize,
    },
    Prune {
        writes: Vec<WriteId>,
        horizons: Vec<(ReplicaId, Lsn)>,
    },
    Confirm {
        at: Lsn,
    },
}

#[derive(Debug)]
pub struct Session {
    pub server: usize,
    pub generation: u64,
    pub job: Job,
    step: usize,
    snapshot: u64,
    writes: Writes,
    /// What it saw of rows before it wrote them.
    saw: BTreeMap<u64, Vec<u64>>,
    pub waits_for: Option<Key>,
    waited: usize,
}

impl Session {
    pub fn new(server: usize, generation: u64, job: Job) -> Session {
        Session {
            server,
            generation,
            job,
            step: 0,
            snapshot: 0,
            writes: Writes::new(),
            saw: BTreeMap::new(),
            waits_for: None,
            waited: 0,
        }
    }
}

impl World {
    fn respond(&mut self, of: &Session, event: Event) {
        self.inbox.push((of.server, of.generation, event));
    }

    /// One step of a session. It is gone when it has nothing more to do.
    pub fn step_session(&mut self, id: u64) {
        let Some(mut session) = self.sessions.remove(&id) else {
            return;
        };
        let goes_on = match session.job.clone() {
            Job::Run {
                attempt,
                call,
                place,
                made,
            } => self.step_run(id, &mut session, attempt, call, place, made),
            Job::Apply {
                write,
                writes,
                after,
                durable,
            } => self.step_apply(id, &mut session, write, writes, after, durable),
            other => {
                self.step_short(&session, other);
                false
            }
        };
        if goes_on {
            self.sessions.insert(id, session);
        } else {
            self.servers[session.server].unlock(Owner::Session(id));
        }
    }

    fn step_run(
        &mut self,
        id: u64,
        session: &mut Session,
        attempt: AttemptId,
        call: CallId,
        place: Place,
        made: usize,
    ) -> bool {
        let _ = call;
        let of = self.made[made].clone();
        // Clients take their time.
        if of.interactive && !self.calm && !self.rng.one_in(6) {
            return true;
        }
        let failed = |why| Event::Failed { attempt, why };
        let server = &mut self.servers[session.server];
        if session.step == 0 {
            session.snapshot = server.lsn;
            session.step = 1;
            return true;
        }
        let mut keys: Vec<Key> = Vec::new();
        if of.writes {
            keys.extend(of.token.map(|(client, _)| Key::Token(client)));
        }
        keys.extend(of.rows.iter().map(|row| Key::Row(*row)));
        if let Some(key) = keys.get(session.step - 1).copied() {
            if !of.writes {
                let list = server.get(key, session.snapshot);
                let Key::Row(row) = key else { unreachable!() };
                let list = list.map(|list| list.list().to_vec());
                session.saw.insert(row, list.unwrap_or_default());
                session.step += 1;
                return true;
            }
            match server.lock(key, Owner::Session(id), Some(session.snapshot)) {
                Ok(()) => {}
                Err(Denied::Changed) => {
                    self.respond(session, failed(Why::Conflict));
                    return false;
                }
                Err(Denied::Held(owner)) => {
                    session.waits_for = Some(key);
                    if self.is_deadlock(id, owner) {
                        self.respond(session, failed(Why::Conflict));
                        return false;
                    }
                    return true;
                }
            }
            session.waits_for = None;
            let server = &mut self.servers[session.server];
            let before = server.get(key, session.snapshot).cloned();
            let value = match key {
                Key::Row(row) => {
                    let mut list = match before {
                        Some(Value::List(list)) => list,
                        _ => Vec::new(),
                    };
                    session.saw.insert(row, list.clone());
                    list.push(made as u64);
                    Value::List(list)
                }
                _ => Value::Number(of.token.expect("it has a token").1),
            };
            session.writes.insert(key, Some(value));
            session.step += 1;
            return true;
        }
        for row in &of.also_reads {
            let list = server.get(Key::Row(*row), session.snapshot);
            let list = list.map(|list| list.list().to_vec());
            session.saw.entry(*row).or_insert(list.unwrap_or_default());
        }
        if of.fails {
            self.respond(session, failed(Why::Refused));
            return false;
        }
        let saw = std::mem::take(&mut session.saw);
        self.saw.insert(attempt, saw);
        if !of.writes || of.rolls_back {
            self.respond(session, Event::Read { attempt });
            return false;
        }
        let writes = std::mem::take(&mut session.writes);
        server.prepare(attempt, place, writes, Owner::Session(id));
        // The session may break before the driver hears of it.
        let breaks = self.settings.faults > 0 && !self.calm && self.rng.one_in(40);
        let event = match breaks {
            true => failed(Why::Unknown),
            false => Event::Prepared { attempt },
        };
        self.respond(session, event);
        false
    }

    fn step_apply(
        &mut self,
        id: u64,
        session: &mut Session,
        write: WriteId,
        writes: Writes,
        after: Option<WriteId>,
        durable: bool,
    ) -> bool {
        let at = session.server;
        let replica = self.servers[at].id;
        let mut keys: Vec<Key> = vec![Key::Mark(write)];
        keys.extend(writes.keys().copied());
        if let Some(key) = keys.get(session.step).copied() {
            match self.servers[at].lock(key, Owner::Session(id), None) {
                Ok(()) => {}
                Err(Denied::Held(owner)) => {
                    session.waits_for = Some(key);
                    if self.is_deadlock(id, owner) {
                        // It is run again by the driver.
                        self.servers[at].unlock(Owner::Session(id));
                        session.waits_for = None;
                        session.step = 0;
                        return true;
                    }
                    session.waited += 1;
                    if session.waited.is_multiple_of(8) {
                        self.tell_blocked(session, owner);
                    }
                    return true;
                }
                Err(Denied::Changed) => unreachable!("without a snapshot"),
            }
            session.waits_for = None;
            if session.step == 0 && self.servers[at].now(key).is_some() {
                if durable {
                    self.servers[at].flushed = self.servers[at].lsn;
                }
                let durable = durable || self.settings.mistake == Some(Mistake::FeignsDurability);
                self.respond(
                    session,
                    Event::Applied {
                        write,
                        replica,
                        durable,
                    },
                );
                return false;
            }
            session.step += 1;
            return true;
        }
        // The driver says when it may commit, as long as there is a driver.
        let ordered = self.settings.mistake != Some(Mistake::IgnoresOrder);
        if let Some(after) = after
            && ordered
            && self.generation_of(at) == Some(session.generation)
            && self.busy[at].contains(&after)
        {
            return true;
        }
        if ordered && after.is_some() && self.generation_of(at) != Some(session.generation) {
            // Nobody will tell it to commit.
            return false;
        }
        let mut writes = writes;
        if self.settings.mistake != Some(Mistake::LeavesNoMarks) {
            writes.insert(Key::Mark(write), Some(Value::Number(0)));
        }
        self.note_committed(write);
        self.servers[at].commit(writes, Owner::Session(id), durable);
        let durable = durable || self.settings.mistake == Some(Mistake::FeignsDurability);
        self.respond(
            session,
            Event::Applied {
                write,
                replica,
                durable,
            },
        );
        false
    }

    fn tell_blocked(&mut self, session: &Session, owner: Owner) {
        let by = match owner {
            Owner::Prepared(attempt) => vec![attempt],
            Owner::Session(other) => match self.sessions.get(&other).map(|of| &of.job) {
                Some(Job::Run { attempt, .. }) => vec![*attempt],
                _ => return,
            },
        };
        if self.settings.mistake == Some(Mistake::HidesBlocks) {
            return;
        }
        let replica = self.servers[session.server].id;
        self.respond(session, Event::Blocked { replica, by });
    }

    /// True if the owner of a lock waits, directly or not, for this session.
    fn is_deadlock(&self, id: u64, mut owner: Owner) -> bool {
        let server = |session: &Session| session.server;
        for _ in 0..self.sessions.len() + 1 {
            let Owner::Session(other) = owner else {
                return false;
            };
            if other == id {
                return true;
            }
            let Some(session) = self.sessions.get(&other) else {
                return false;
            };
            let Some(key) = session.waits_for else {
                return false;
            };
            match self.servers[server(session)].locks.get(&key) {
                Some(next) => owner = *next,
                None => return false,
            }
        }
        false
    }

    fn step_short(&mut self, session: &Session, job: Job) {
        let at = session.server;
        let replica = self.servers[at].id;
        match job {
            Job::Commit { attempt } => {
                if self.servers[at].settle(attempt, true) {
                    self.note_committed(WriteId::Attempt(attempt));
                }
                self.respond(session, Event::Committed { attempt, replica });
            }
            Job::Rollback { attempt } => {
                self.end_run(at, attempt);
                if self.settings.mistake != Some(Mistake::RollsNothingBack) {
                    self.servers[at].settle(attempt, false);
                }
                self.respond(session, Event::RolledBack { attempt, replica });
            }
            Job::Kill { attempt } => {
                if self.end_run(at, attempt) {
                    let why = Why::Conflict;
                    self.respond(session, Event::Failed { attempt, why });
                }
            }
            Job::Harden { ticket } => {
                self.servers[at].flushed = self.servers[at].lsn;
                self.respond(session, Event::Hardened { replica, ticket });
            }
            Job::Ask { call, made } => {
                let (client, number) = self.made[made].token.expect("it has one");
                let last = self.servers[at].now(Key::Token(client));
                let answered = matches!(last, Some(Value::Number(last)) if *last >= number)
                    && self.settings.mistake != Some(Mistake::AsksNobody);
                self.respond(session, Event::Asked { call, answered });
            }
            Job::Prune { writes, horizons } => {
                let marks = writes.into_iter().map(|write| (Key::Mark(write), None));
                let mut changes: Writes = marks.collect();
                if self.settings.mistake != Some(Mistake::ForgetsHorizons) {
                    for (of, horizon) in horizons {
                        // Prunes overtake one another; a horizon is never lowered.
                        let before = self.servers[at].now(Key::Horizon(of));
                        if matches!(before, Some(Value::Number(before)) if *before > horizon.0) {
                            continue;
                        }
                        changes.insert(Key::Horizon(of), Some(Value::Number(horizon.0)));
                    }
                }
                let owner = Owner::Session(u64::MAX);
                self.servers[at].commit(changes, owner, false);
            }
            Job::Confirm { at: position } => {
                let server = &mut self.servers[at];
                server.confirmed = server.confirmed.max(position.0);
            }
            Job::Run { .. } | Job::Apply { .. } => unreachable!("they take several steps"),
        }
    }

    /// Ends the session that runs an attempt, wherever it is on its way.
    fn end_run(&mut self, at: usize, attempt: AttemptId) -> bool {
        let runs = |job: &Job| matches!(job, Job::Run { attempt: other, .. } if *other == attempt);
        let on_its_way = self.outbox.len();
        self.outbox
            .retain(|(server, _, job)| *server != at || !runs(job));
        let mut ended = self.outbox.len() < on_its_way;
        let sessions = self.sessions.iter();
        let running = sessions.filter(|(_, of)| of.server == at && runs(&of.job));
        let running: Vec<u64> = running.map(|(id, _)| *id).collect();
        for id in running {
            self.sessions.remove(&id);
            self.servers[at].unlock(Owner::Session(id));
            ended = true;
        }
        ended
    }
}
