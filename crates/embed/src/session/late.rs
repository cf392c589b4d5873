//! Triggers that were put off are called: when their transaction commits, or when SET CONSTRAINTS says so; and those of TRUNCATE.
//!
//! Relies on: `put_off` for what waits, `direct::Run`.  Promises: they are called in the order in which they were put off, what they
//! put off themselves behind them; who fails, fails the commit.  A statement that is run again puts them off anew.
//! Does not: call any outside of the transaction, or as somebody else than who commits.

use super::Session;
use super::change::has_pending;
use super::dynamic::{Dynamic, Made};
use super::execute::{Pulled, only_calls_commit};
use super::portal::Portal;
use crate::database::Schema;
use crate::step::Pause;
use quintet_base::{SqlError, SqlResult, Value};
use quintet_direct::{Direct, Run};
use quintet_ir::statement::Procedure;
use quintet_sql::command::DdlPlan;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Calls that are being made.
pub(super) struct Late {
    /// Places of those that are still to come.
    due: VecDeque<usize>,
    /// The one at hand.
    call: Option<Call>,
    /// How triggers are called, by their numbers.
    plans: BTreeMap<u32, Plan>,
}

/// How a trigger is called, and what that was planned with.
#[derive(Clone)]
struct Plan {
    made: Made,
    procedure: Arc<Procedure>,
}

impl Plan {
    /// A call of it, with what it was put off with.
    fn call(&self, direct: &Direct, trigger: u32, arguments: Vec<Value>) -> Call {
        Call {
            run: Run::new(direct, Arc::clone(&self.procedure)),
            arguments,
            dynamic: Dynamic::of_trigger(trigger, &self.procedure, self.made),
        }
    }
}

/// A TRUNCATE that fires triggers.
#[derive(Default)]
pub(super) struct Truncating {
    stage: Stage,
    waiting: VecDeque<u32>,
    call: Option<Call>,
}

/// How far a TRUNCATE has come.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    New,
    /// Triggers are called before it.
    Before,
    /// Those have been.
    Ready,
    /// It is done, and those behind it are called.
    Behind,
}

struct Call {
    run: Run,
    arguments: Vec<Value>,
    dynamic: Option<Box<Dynamic>>,
}

impl Truncating {
    /// What comes behind it is being called.
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Behind
    }
}

impl Session {
    /// Calls what waits; not `all`: what need not wait any more. `Some`: wait, and call again.
    pub(super) fn fire_late(&mut self, all: bool) -> SqlResult<Option<Pause>> {
        if self.late.is_none() && self.host.put_off.get_mut().is_empty() {
            return Ok(None);
        }
        self.host.moment = None;
        let mut late = self.late.take().unwrap_or_else(|| {
            Box::new(Late {
                due: VecDeque::new(),
                call: None,
                plans: BTreeMap::new(),
            })
        });
        loop {
            if late.call.is_none() {
                if late.due.is_empty() {
                    late.due = self.host.put_off.get_mut().due(all);
                }
                let Some(place) = late.due.pop_front() else {
                    return Ok(None);
                };
                let Some((trigger, arguments)) = self.host.put_off.get_mut().take(place) else {
                    return Err(SqlError::internal("a call that was put off is gone"));
                };
                let Some(plan) = self.plan_late(&mut late, trigger)? else {
                    continue;
                };
                late.call = Some(plan.call(&self.host.direct, trigger, arguments));
            }
            let Some(mut call) = late.call.take() else {
                continue;
            };
            if let Some(pause) = self.advance_late(&mut call)? {
                late.call = Some(call);
                self.late = Some(late);
                return Ok(Some(pause));
            }
        }
    }

    /// Calls what fires before a TRUNCATE, once. `Some`: wait, and call again.
    pub(super) fn fire_before_truncate(
        &mut self,
        portal: &mut Portal,
        fires: &[Vec<u32>; 2],
    ) -> SqlResult<Option<Pause>> {
        if fires.iter().all(Vec::is_empty) {
            return Ok(None);
        }
        let mut firing = portal.truncating.take().unwrap_or_default();
        if firing.stage == Stage::New {
            (firing.stage, firing.waiting) = (Stage::Before, fires[0].iter().copied().collect());
        }
        let pause = match firing.stage {
            Stage::Before => self.fire_on_truncate(&mut firing)?,
            _ => None,
        };
        if pause.is_none() && firing.stage == Stage::Before {
            firing.stage = Stage::Ready;
        }
        portal.truncating = Some(firing);
        Ok(pause)
    }

    /// The TRUNCATE is done: calls what fires behind it. `Some`: wait, and call again.
    pub(super) fn fire_behind_truncate(
        &mut self,
        portal: &mut Portal,
        fires: &[Vec<u32>; 2],
    ) -> SqlResult<Option<Pause>> {
        let Some(mut firing) = portal.truncating.take() else {
            return Ok(None);
        };
        if firing.stage != Stage::Behind {
            (firing.stage, firing.waiting) = (Stage::Behind, fires[1].iter().copied().collect());
        }
        let pause = self.fire_on_truncate(&mut firing)?;
        if pause.is_some() {
            portal.truncating = Some(firing);
        }
        Ok(pause)
    }

    fn fire_on_truncate(&mut self, firing: &mut Truncating) -> SqlResult<Option<Pause>> {
        loop {
            if let Some(call) = &mut firing.call
                && let Some(pause) = self.advance_late(call)?
            {
                return Ok(Some(pause));
            }
            firing.call = None;
            let Some(trigger) = firing.waiting.pop_front() else {
                return Ok(None);
            };
            let schema: Arc<Schema> = Arc::clone(self.schema());
            let context = self.host.plan_context(&schema.catalog);
            let planned = quintet_sql::plan_on_truncate(trigger, &context)?;
            let told = schema.catalog.relation_of_trigger(trigger);
            let Some((procedure, (relation, name, within))) = planned.zip(told) else {
                continue;
            };
            let mut arguments = vec![
                Value::text("TRUNCATE"),
                Value::Oid(relation.0),
                Value::text(&name),
                Value::text(&within),
            ];
            arguments.resize(procedure.params.len(), Value::Null);
            let plan = Plan {
                made: self.made_with(&schema),
                procedure: Arc::new(procedure),
            };
            self.ensure_txn(schema.timestamp);
            firing.call = Some(plan.call(&self.host.direct, trigger, arguments));
        }
    }

    /// Goes on with a call. `None`: it is done.
    fn advance_late(&mut self, call: &mut Call) -> SqlResult<Option<Pause>> {
        loop {
            if let Some(dynamic) = call.dynamic.as_mut().filter(|dynamic| dynamic.is_busy())
                && let Some(pause) = self.answer_call(&mut call.run, dynamic)?
            {
                return Ok(Some(pause));
            }
            let mut rows = VecDeque::new();
            match self.pull_call(&mut call.run, &call.arguments, &mut rows)? {
                Pulled::Wait(pause) => return Ok(Some(pause)),
                Pulled::Commit => return Err(only_calls_commit()),
                Pulled::Ask => {
                    let Some(dynamic) = &mut call.dynamic else {
                        return Err(only_calls_commit());
                    };
                    if let Some(pause) = self.answer_call(&mut call.run, dynamic)? {
                        return Ok(Some(pause));
                    }
                }
                Pulled::End | Pulled::Enough | Pulled::Break => return Ok(None),
            }
        }
    }

    /// How a trigger is called, as the schema is; `None` if it is there no more.
    fn plan_late(&mut self, late: &mut Late, trigger: u32) -> SqlResult<Option<Plan>> {
        let schema: Arc<Schema> = Arc::clone(self.schema());
        let made = self.made_with(&schema);
        if let Some(known) = late.plans.get(&trigger).filter(|plan| plan.made == made) {
            return Ok(Some(known.clone()));
        }
        let context = self.host.plan_context(&schema.catalog);
        let Some(procedure) = quintet_sql::plan_put_off(trigger, &context)? else {
            return Ok(None);
        };
        let plan = Plan {
            made,
            procedure: Arc::new(procedure),
        };
        late.plans.insert(trigger, plan.clone());
        Ok(Some(plan))
    }

    fn made_with(&self, schema: &Schema) -> Made {
        let path = self.host.settings.path_version;
        (schema.revision, path, self.host.role())
    }

    /// Refuses to change a table that has triggers waiting for the end of the transaction.
    ///
    /// # Errors
    /// `55006`.
    pub(super) fn refuse_pending(
        &mut self,
        (plan, tag): (&DdlPlan, &str),
        schema: &Schema,
    ) -> SqlResult<()> {
        let put_off = self.host.put_off.get_mut();
        if put_off.is_empty() {
            return Ok(());
        }
        for trigger in put_off.triggers() {
            let Some((table, name)) = schema.catalog.table_of_trigger(trigger) else {
                continue;
            };
            if plan.changes_fired(table, trigger) {
                return Err(has_pending(tag, &name));
            }
        }
        Ok(())
    }
}
