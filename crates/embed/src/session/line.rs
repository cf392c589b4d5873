//! Calls that wait in line before they begin.
//!
//! Relies on: `chains` for the line, `classified` for a call's keys.  Promises: a call in line has neither a
//! transaction nor a snapshot while it waits, so what those before it commit it sees; one whose catalogue has
//! moved meanwhile is planned again and goes to the end of the line; however its wait or its run ends, its place
//! is given up.  Does not: line up calls inside BEGIN, which hold locks that others may wait for and so
//! must not wait for others themselves; calls that only read; DO, and functions called by a SELECT list.
//!
//! ```text
//!   Ready ──► Queued ──turn has come──► Calling ──► committed: the place is free, then the disk is waited for
//!               │ ▲ │ catalogue has moved: planned again, new place
//!               │ └─┘
//!               └── cancelled, closed: the place is free
//! ```

use super::execute::canceled;
use super::portal::{Portal, PortalState};
use super::{Mode, Session};
use crate::chains::{NoPlace, Place};
use crate::classified::Class;
use crate::step::{Pause, Reason};
use quintet_base::{SqlError, SqlResult, SqlState, Timestamp, Value};
use quintet_direct::Run;
use quintet_engine::Engine;
use quintet_ir::statement::Body;
use quintet_ir::{Expr, Procedure};
use quintet_queue::Chosen;
use quintet_sql::command::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A call that has not begun.
pub(super) struct Queued {
    place: Place,
    /// Evaluated once, for its keys and for itself.
    arguments: Vec<Value>,
}

/// What has become of a call that asked for a place.
enum Asked {
    /// It has one: its portal is [`PortalState::Queued`].
    InLine,
    /// It begins without.
    Beside,
    /// It has to be planned again first.
    Moved,
}

impl Session {
    /// A call gets a place in line, or begins.
    pub(super) fn enter_call(
        &mut self,
        portal: &mut Portal,
        procedure: &Arc<Procedure>,
    ) -> SqlResult<()> {
        let mut procedure = Arc::clone(procedure);
        loop {
            match self.line_up(portal, &procedure)? {
                Asked::InLine => return Ok(()),
                Asked::Beside => break,
                Asked::Moved => {
                    let before = portal.prepared.revision;
                    procedure = self.plan_again(portal)?;
                    if portal.prepared.revision == before {
                        // Nothing newer is there yet to be planned with; the commit is validated.
                        self.db.chains.count_unclassed();
                        break;
                    }
                }
            }
        }
        self.ensure_schema(portal)?;
        let mut run = Run::new(&self.host.direct, procedure);
        run.lend(&mut portal.params);
        let calling = self.begin_call(portal, run);
        portal.state = PortalState::Calling(Box::new(calling));
        Ok(())
    }

    fn line_up(&mut self, portal: &mut Portal, procedure: &Procedure) -> SqlResult<Asked> {
        let chained = self.host.settings.engine == Engine::Chain;
        let alone = portal.commits && self.mode == Mode::Implicit && self.txn.is_none();
        let Body::Call { program, arguments } = &procedure.body else {
            return Ok(Asked::Beside);
        };
        if program.needs_session()
            || !chained
            || !alone
            || self.host.read_only
            || self.changed.any()
            || self.has_own()
        {
            return Ok(Asked::Beside);
        }
        self.db.wait_for_schema();
        self.schema();
        let schema = &self.host.schema;
        if schema.revision != portal.prepared.revision {
            return Ok(Asked::Moved);
        }
        let classes = schema.classes.at(self.level, &schema.catalog);
        let number = match classes.class(program) {
            Some(Class::Reads) => return Ok(Asked::Beside),
            // A value that may be another the next time would not be the one that the keys were made of.
            Some(Class::Writes(number)) if arguments.iter().all(Expr::is_free) => number,
            _ => {
                self.db.chains.count_unclassed();
                return Ok(Asked::Beside);
            }
        };
        let values = arguments
            .iter()
            .map(|value| quintet_ir::eval(value, &[], &portal.params, &self.host));
        let mut arguments = values.collect::<SqlResult<Vec<Value>>>()?;
        let keys = classes.keys(number, &mut arguments);
        let chains = &self.db.chains;
        match chains.submit(self.level, schema.revision, classes.modes(), keys) {
            Ok(place) => {
                self.present.slot.stands(place.stand());
                portal.state = PortalState::Queued(Box::new(Queued { place, arguments }));
                Ok(Asked::InLine)
            }
            Err(NoPlace::Refused(refusal)) => Err(refusal.to_sql(self.level)),
            // It has moved since it was looked at.
            Err(NoPlace::Stale) => Ok(Asked::Moved),
        }
    }

    /// What EXPLAIN says of a call where the engine is not `direct` for all: which engine, why, and what its
    /// conflict keys are of.
    pub(super) fn explain_line(&mut self, procedure: &Procedure, params: &[Value]) -> Vec<String> {
        let level = match self.mode {
            Mode::Idle => self.host.settings.often().level,
            _ => self.level,
        };
        self.schema();
        let schema = &self.host.schema;
        let Body::Call { program, arguments } = &procedure.body else {
            return Vec::new();
        };
        let engine = self.host.settings.engine;
        if matches!(engine, Engine::Direct | Engine::Locking) {
            return Vec::new();
        }
        let classes = schema.classes.at(level, &schema.catalog);
        if program.needs_session() {
            return vec!["Engine: direct (what it does is its session's to say)".into()];
        }
        let number = match classes.class(program) {
            Some(Class::Writes(number)) => number,
            Some(Class::Reads) => return vec!["Engine: direct (it only reads)".into()],
            None => return vec!["Engine: direct (it is no routine of the catalogue)".into()],
        };
        if !arguments.iter().all(Expr::is_free) {
            return vec!["Engine: direct (an argument may be another the next time)".into()];
        }
        let habits = classes.habits(number);
        let route = self.db.batches.route(level);
        let (lost, left) = route.window();
        let name = match engine {
            Engine::Direct | Engine::Chain | Engine::Locking => engine.name().to_string(),
            _ if habits.asks_session.load(Ordering::Relaxed) => {
                "direct (it asks for what only its session knows)".into()
            }
            Engine::Queue => engine.name().to_string(),
            Engine::Auto => match route.shown() {
                Chosen::Direct => {
                    format!(
                        "direct (chosen: {lost} runs lost since the last look, the next in {left} calls)"
                    )
                }
                Chosen::Lane => {
                    format!(
                        "queue (chosen: faster than losing runs, the next look in {left} calls)"
                    )
                }
            },
        };
        let values = arguments.iter();
        let values = values.map(|value| quintet_ir::eval(value, &[], params, &self.host));
        let Ok(mut arguments) = values.collect::<SqlResult<Vec<Value>>>() else {
            return Vec::new();
        };
        let keys = classes.keys(number, &mut arguments);
        let spaces = classes.spaces(&keys).into_iter();
        let spaces: Vec<String> = spaces
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let keys = match spaces.is_empty() {
            true => "none".to_string(),
            false => spaces.join(", "),
        };
        vec![format!("Engine: {name}"), format!("Conflict Keys: {keys}")]
    }

    /// Begins a call whose turn has come. `Some`: it has not; wait, and call again.
    pub(super) fn leave_line(&mut self, portal: &mut Portal) -> SqlResult<Option<Pause>> {
        while matches!(portal.state, PortalState::Queued(_)) {
            let state = std::mem::replace(&mut portal.state, PortalState::Done(None));
            let PortalState::Queued(queued) = state else {
                unreachable!("just looked at");
            };
            if self.cancel.swap(false, Ordering::AcqRel) {
                return Err(canceled());
            }
            if let Some(turn) = queued.place.turn() {
                let wait = turn.wait();
                portal.state = PortalState::Queued(queued);
                return Ok(Some(Pause(Reason::Turn(wait))));
            }
            self.db.wait_for_schema();
            let schema = self.schema();
            let (revision, timestamp) = (schema.revision, schema.timestamp);
            if revision == portal.prepared.revision {
                self.begin_queued(portal, *queued, timestamp)?;
            } else {
                drop(queued);
                let procedure = self.plan_again(portal)?;
                self.enter_call(portal, &procedure)?;
            }
        }
        Ok(None)
    }

    /// Its turn has come, and its plan is that of the present catalogue, which is of this age.
    fn begin_queued(
        &mut self,
        portal: &mut Portal,
        queued: Queued,
        schema: Timestamp,
    ) -> SqlResult<()> {
        let Queued {
            mut place,
            arguments,
        } = queued;
        place.note_begun();
        self.ensure_txn(schema);
        let procedure = call_of(portal)?;
        let run = Run::with_arguments(&self.host.direct, procedure, arguments);
        let mut calling = self.begin_call(portal, run);
        calling.hold(place);
        portal.state = PortalState::Calling(Box::new(calling));
        Ok(())
    }

    /// The catalogue has moved before the call began.
    fn plan_again(&mut self, portal: &mut Portal) -> SqlResult<Arc<Procedure>> {
        let again = self.current(Arc::clone(&portal.prepared), None)?;
        if again.columns != portal.prepared.columns {
            return Err(SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cached plan must not change result type",
            ));
        }
        portal.prepared = again;
        call_of(portal)
    }
}

fn call_of(portal: &Portal) -> SqlResult<Arc<Procedure>> {
    match &portal.prepared.planned.command {
        Command::Run(procedure) if procedure.is_call() => Ok(Arc::clone(procedure)),
        _ => Err(SqlError::internal("what was a call is none any more")),
    }
}
