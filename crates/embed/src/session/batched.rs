//! Calls that are run in batches.
//!
//! Relies on: `batches` for the line and the lanes, `classified` for a call's keys.  Promises: a call in a batch has
//! no transaction of its own; its session, while it waits, runs the lanes that nobody else runs, so no other
//! thread is needed; others of the thread have a moment to come before a lane is taken, as long as somebody comes; a call that is
//! put out is run as if it had never been in line.
//! Does not: batch calls inside BEGIN, whose transaction goes on after them; calls that only read, which need no
//! one's order; DO, and functions called by a SELECT list.
//!
//! ```text
//!   Ready ─► Batched ─► let others come first ─► a lane to run? ─► … ─► landed: wait for the disk, rows
//!                                                      │no            ├► failed
//!                                                   wait              ├► rows to lock: wait, then run the lane
//!                                                                     └► put out: Calling, as under `direct`
//! ```

use super::portal::{Portal, PortalState};
use super::{Mode, Session};
use crate::batches::{
    Answer, Asked, Hold, Job, LEVEL_OF_BATCH, Landed, Leader, NotTaken, Row, Seat, Ticket,
};
use crate::classified::Class;
use crate::contention::{Incident, Kind};
use crate::lent::{Facts, LentHost};
use crate::step::{Pause, Reason};
use quintet_base::{Patience, SqlError, SqlResult, Timestamp, Value};
use quintet_direct::Run;
use quintet_engine::Engine;
use quintet_ir::statement::Body;
use quintet_ir::{Expr, Procedure};
use quintet_queue::Chosen;
use quintet_tc::Error as TcError;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A call in line for a batch.
pub(super) struct Batched {
    seat: Seat,
    company: Company,
    /// What is to be locked before it is run.
    awaited: Option<Awaited>,
    /// It is committed, and waits for the disk.
    landed: Option<VecDeque<Vec<Value>>>,
}

/// Rows that others have had. The session's transaction locks them, and is that of the batch then.
struct Awaited {
    rows: Vec<Row>,
    /// So many are locked.
    locked: usize,
    hold: Hold,
}

/// What has come of the wait for rows.
enum Locked {
    Not(Pause),
    All,
    /// In a ring with others, or too many wait.
    InVain,
}

/// Whether others were given a moment to come before the call is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    /// Not yet.
    NotAsked,
    Waited,
    /// Nobody came the last times.
    LeftOut,
    /// It is known whether somebody came.
    Known,
}

impl Session {
    /// A call gets a seat, if it is one for batches; `false`: it is to be run otherwise.
    pub(super) fn take_seat(
        &mut self,
        portal: &mut Portal,
        call: &Arc<Procedure>,
    ) -> SqlResult<bool> {
        let wanted = matches!(self.host.settings.engine, Engine::Queue | Engine::Auto);
        let alone = portal.commits && self.mode == Mode::Implicit && self.txn.is_none();
        let Body::Call { program, arguments } = &call.body else {
            return Ok(false);
        };
        if program.needs_session()
            || !wanted
            || !alone
            || self.host.read_only
            || self.changed.any()
            || self.has_own()
        {
            return Ok(false);
        }
        self.db.wait_for_schema();
        self.schema();
        if self.host.schema.revision != portal.prepared.revision {
            return Ok(false);
        }
        let facts = Facts::of(&self.host, &mut self.facts);
        let schema = &facts.schema;
        let classes = schema.classes.at(self.level, &schema.catalog);
        let number = match classes.class(program) {
            // A value that may be another the next time would not be the one that the keys were made of.
            Some(Class::Writes(number)) if arguments.iter().all(Expr::is_free) => number,
            _ => return Ok(false),
        };
        let habits = classes.habits(number);
        if habits.asks_session.load(Ordering::Relaxed) {
            return Ok(false);
        }
        if self.host.settings.engine == Engine::Auto {
            let route = self.db.batches.route(self.level);
            if route.choose(|| self.host.clock.monotonic_nanos()) == Chosen::Direct {
                self.routed = true;
                return Ok(false);
            }
        }
        let values = arguments
            .iter()
            .map(|value| quintet_ir::eval(value, &[], &portal.params, &self.host));
        let arguments = values.collect::<SqlResult<Vec<Value>>>()?;
        let job = Job {
            procedure: Arc::clone(call),
            label: self.label,
            host: LentHost::new(&self.host, Arc::clone(&facts), portal.ends_transactions()),
            awaited: Vec::new(),
            cancel: Arc::clone(&self.cancel),
        };
        let asked = Asked {
            facts: Arc::clone(&facts),
            level: self.level,
            number,
            arguments,
        };
        let batches = &self.db.batches;
        match batches.submit(classes.modes(), Ticket::new(asked, job)) {
            Ok(seat) => {
                self.present.slot.stands(seat.stand());
                let batched = Batched {
                    seat,
                    company: Company::NotAsked,
                    awaited: None,
                    landed: None,
                };
                portal.state = PortalState::Batched(Box::new(batched));
                Ok(true)
            }
            // Calls of another catalogue are still there: past them.
            Err(NotTaken::Mixed) => Ok(false),
            Err(NotTaken::Refused(refusal)) => Err(refusal.to_sql(self.level)),
        }
    }

    /// Goes on with a call in line. `Some`: wait, and call again. `None`: it is not in line any more.
    pub(super) fn leave_batch(&mut self, portal: &mut Portal) -> SqlResult<Option<Pause>> {
        let PortalState::Batched(batched) = &mut portal.state else {
            return Ok(None);
        };
        if batched.landed.is_some() {
            if let Some(pause) = self.await_disk()? {
                return Ok(Some(pause));
            }
            let rows = batched.landed.take().unwrap_or_default();
            portal.state = PortalState::Rows(rows);
            return Ok(None);
        }
        if let Some(awaited) = &mut batched.awaited {
            let schema = batched.seat.ticket.asked().facts.schema.timestamp;
            let locked = self.lock_awaited(awaited, schema);
            if let Ok(Locked::Not(pause)) = locked {
                return Ok(Some(pause));
            }
            let hold = batched.awaited.take().map(|awaited| awaited.hold);
            match (locked?, hold, self.txn.take()) {
                (Locked::All, Some(hold), Some(txn)) => {
                    self.as_leader(|leader| batched.seat.lead_with(leader, hold, txn));
                }
                (_, hold, _) => {
                    self.db.batches.count_put_out();
                    let job = batched.seat.ticket.take_job();
                    let job = job.ok_or_else(|| SqlError::internal("nobody else runs the call"))?;
                    self.run_alone(portal, *job, hold)?;
                    return Ok(None);
                }
            }
        }
        let PortalState::Batched(batched) = &mut portal.state else {
            return Ok(None);
        };
        loop {
            if let Some(answer) = batched.seat.ticket.take_answer() {
                batched.company.learn(&mut self.company, true);
                return self.take_answer(portal, answer);
            }
            if self.cancel.load(Ordering::Acquire) && batched.seat.withdraw() {
                self.cancel.store(false, Ordering::Release);
                return Err(super::execute::canceled());
            }
            if batched.company == Company::NotAsked {
                batched.company = match self.company.has() {
                    true => Company::Waited,
                    false => Company::LeftOut,
                };
                if batched.company == Company::Waited {
                    return Ok(Some(Pause(Reason::Others(false))));
                }
            }
            let led = self.as_leader(|leader| batched.seat.lead(leader));
            batched.company.learn(&mut self.company, led != Some(1));
            if led.is_none() {
                let wait = batched.seat.ticket.wait();
                return Ok(Some(Pause(Reason::Batch(wait))));
            }
        }
    }

    fn take_answer(&mut self, portal: &mut Portal, answer: Answer) -> SqlResult<Option<Pause>> {
        match answer {
            Answer::Landed(landed) => {
                let Landed {
                    rows,
                    notices,
                    given,
                    durable_at,
                } = *landed;
                self.host.notices.get_mut().extend(notices);
                let all = self.host.given.get_mut();
                given
                    .into_iter()
                    .for_each(|(sequence, value)| all.note(sequence, value));
                self.end_transaction(true);
                let durability = super::transaction::durability(&self.db, &self.host);
                let waits = durability == quintet_base::Durability::Sync;
                self.pending = durable_at.filter(|_| waits);
                if let PortalState::Batched(batched) = &mut portal.state {
                    batched.landed = Some(rows.into());
                }
                self.leave_batch(portal)
            }
            Answer::Failed(error, notices) => {
                self.host.notices.get_mut().extend(notices);
                Err(*error)
            }
            Answer::Waits(rows, hold) => {
                if let PortalState::Batched(batched) = &mut portal.state {
                    batched.seat.ticket.reopen();
                    self.present.slot.stands(batched.seat.leads());
                    batched.awaited = Some(Awaited {
                        rows,
                        locked: 0,
                        hold,
                    });
                }
                self.leave_batch(portal)
            }
            Answer::PutOut(job, hold) => {
                self.run_alone(portal, *job, hold)?;
                Ok(None)
            }
        }
    }

    /// Locks what is left of the rows that a call waits for, in the transaction that its batch will be.
    fn lock_awaited(&mut self, awaited: &mut Awaited, schema: Timestamp) -> SqlResult<Locked> {
        if self.cancel.swap(false, Ordering::AcqRel) {
            self.txn = None;
            return Err(super::execute::canceled());
        }
        let txn = self.ensure_txn_at(LEVEL_OF_BATCH, schema);
        while let Some((space, key)) = awaited.rows.get(awaited.locked) {
            match txn.lock_only(*space, key) {
                Ok(()) => awaited.locked += 1,
                Err(TcError::Blocked(wait)) => return Ok(Locked::Not(Pause(Reason::Row(wait)))),
                Err(_) => return Ok(Locked::InVain),
            }
        }
        // What it reads from here on is what it holds.
        txn.restart();
        Ok(Locked::All)
    }

    /// Runs a call that was in line as if it had never been there, but that whom it conflicts with waits.
    fn run_alone(&mut self, portal: &mut Portal, job: Job, hold: Option<Hold>) -> SqlResult<()> {
        self.note_put_out(&job);
        let PortalState::Batched(batched) = &portal.state else {
            return Err(SqlError::internal("who is put out was not in line"));
        };
        let arguments = batched.seat.ticket.asked().arguments.clone();
        let batched_in = batched.seat.leads();
        self.ensure_schema(portal)?;
        let run = Run::with_arguments(&self.host.direct, job.procedure, arguments);
        let mut calling = self.begin_call(portal, run);
        if hold.is_some() {
            self.present.slot.stands(batched_in);
        }
        calling.keep_hold(hold);
        portal.state = PortalState::Calling(Box::new(calling));
        Ok(())
    }

    /// Who runs a lane, as the lane sees it.
    fn as_leader<T>(&self, run: impl FnOnce(&Leader<'_>) -> T) -> T {
        run(&Leader {
            direct: &self.host.direct,
            slot: &self.present.slot,
            lost: &|lost, label, since| {
                let now = self.host.clock.now_micros();
                let winner = lost.winner.unwrap_or_default();
                let incident = Incident {
                    kind: Kind::Retry,
                    space: lost.space,
                    key: lost.key,
                    label,
                    other: self.db.activity.label_of_commit(winner),
                    lost_micros: u64::try_from(now - since).unwrap_or(0),
                };
                self.db.contention.note(incident, now);
                now
            },
            now: self.host.statement_time,
        })
    }

    /// A routine that asks for its session is not for batches.
    fn note_put_out(&self, job: &Job) {
        let schema = &self.host.schema;
        if let Body::Call { program, .. } = &job.procedure.body
            && job.host.has_asked_session()
        {
            let classes = schema.classes.at(self.level, &schema.catalog);
            if let Some(Class::Writes(number)) = classes.class(program) {
                let habits = classes.habits(number);
                habits.asks_session.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl Company {
    /// Somebody came before the call was run, or nobody did.
    fn learn(&mut self, company: &mut Patience, came: bool) {
        // Where nobody was waited for, nobody may have come for that reason.
        if came && *self != Company::Known || *self == Company::Waited {
            company.learn(came);
        }
        *self = Company::Known;
    }
}
