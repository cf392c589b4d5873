//! Deferrable triggers: what is put off, and how it is called in the end.
//!
//! Relies on: `Host::put_off`.  Promises: the call that comes late gets the rows as they were when it was put off, and what it is told of
//! where they are.  Does not: keep anything (the session does).
//!
//! ```text
//!   a row ──► put_off(trigger, deferred, op, relation, name, schema, new …, old …)   true: later; false: the call, now
//!   commit ─► a routine of these arguments ──► the trigger's function
//! ```

use super::{Event, boolean, session_that_fires, text};
use crate::expr::and;
use crate::planner::PlanContext;
use crate::records::TriggerRecord;
use crate::routine::embed::Embedding;
use crate::routine::link::Linker;
use crate::variables::Variables;
use quintet_base::value::Array;
use quintet_base::{SqlResult, SqlType, TypeMod, Value};
use quintet_ir::routine::{Action, Into, Output, Slot, Step};
use quintet_ir::statement::{Body, Procedure};
use quintet_ir::{Expr, Routine, function};
use std::collections::BTreeMap;
use std::sync::Arc;

/// When a trigger is called.
#[derive(Clone, Copy)]
pub(super) enum When {
    Now,
    /// It is put off, if it may be; the slot says whether it is. That is one answer for a whole statement.
    Later(usize),
    /// Now, unless the slot says that it is put off.
    Unless(usize),
}

/// What a function is told besides the rows, in this order before them.
const TOLD: [SqlType; 4] = [SqlType::Text, SqlType::Oid, SqlType::Text, SqlType::Text];

/// `TG_NARGS` and `TG_ARGV`.
pub(super) fn given(trigger: &TriggerRecord) -> [Expr; 2] {
    let given = trigger.arguments.iter().map(Value::text);
    let given = Array {
        shape: None,
        element: SqlType::Text,
        values: given.collect(),
    };
    let count = i32::try_from(trigger.arguments.len()).unwrap_or(i32::MAX);
    [
        Expr::Const(Value::Int4(count), SqlType::Int4),
        Expr::Const(Value::Array(Box::new(given)), SqlType::TextArray),
    ]
}

/// `TG_NAME` and so on up to `TG_TABLE_SCHEMA`. `told`: the operation, and of the relation its number, name and schema.
pub(super) fn said(trigger: &TriggerRecord, told: [Expr; 4]) -> Vec<Expr> {
    let [operation, relation, name, schema] = told;
    vec![
        text(&trigger.name),
        text(trigger.timing()),
        text(if trigger.row { "ROW" } else { "STATEMENT" }),
        operation,
        relation,
        name.clone(),
        name,
        schema,
    ]
}

impl Embedding<'_, '_> {
    /// For each deferrable trigger, by its number, a slot that says whether a statement's calls of it are put off.
    pub(super) fn slots_of_late(
        &mut self,
        triggers: &[Arc<TriggerRecord>],
    ) -> BTreeMap<u32, usize> {
        let mut slots = BTreeMap::new();
        for trigger in triggers.iter().filter(|t| t.more.late.is_some()) {
            let slot = self.variables.hidden(SqlType::Bool);
            self.add(Action::Assign {
                slot,
                value: boolean(false),
            });
            slots.insert(trigger.id, slot);
        }
        slots
    }

    /// The steps of a call of a trigger, or of what keeps it for later. `rows`: the new row and the old one.
    pub(super) fn now_or_late(
        &mut self,
        when: When,
        trigger: &TriggerRecord,
        told: [Expr; 4],
        rows: Vec<Expr>,
        call: Action,
    ) -> SqlResult<Vec<Step>> {
        let slot = match when {
            When::Now => return Ok(vec![self.step(call)]),
            When::Unless(slot) => {
                let call = self.step(call);
                return Ok(vec![self.step(Action::If {
                    branches: vec![(Expr::Param(slot, SqlType::Bool), Vec::new())],
                    otherwise: vec![call],
                })]);
            }
            When::Later(slot) => slot,
        };
        let mut arguments = vec![
            Expr::Const(Value::Oid(trigger.id), SqlType::Oid),
            boolean(trigger.more.late == Some(true)),
        ];
        arguments.extend(told);
        arguments.extend(rows);
        let types: Vec<SqlType> = arguments.iter().map(Expr::ty).collect();
        let found = function::resolve(function::PUT_OFF, &types)?;
        Ok(vec![self.step(Action::Assign {
            slot,
            value: Expr::Call {
                function: found.function,
                args: arguments,
                ty: found.result,
            },
        })])
    }
}

/// How a trigger is called that was put off, with what it was put off with; `None` if it is there no more.
///
/// # Errors
/// What its function's body says.
pub fn plan_put_off(trigger: u32, context: &PlanContext) -> SqlResult<Option<Procedure>> {
    plan_call(trigger, context, false)
}

/// How a trigger ON TRUNCATE is called, with the same arguments, where its condition holds; `None` if it is there no more.
///
/// # Errors
/// What its condition and its function's body say.
pub fn plan_on_truncate(trigger: u32, context: &PlanContext) -> SqlResult<Option<Procedure>> {
    plan_call(trigger, context, true)
}

fn plan_call(trigger: u32, context: &PlanContext, asks: bool) -> SqlResult<Option<Procedure>> {
    let Some(record) = context.catalog.trigger(trigger) else {
        return Ok(None);
    };
    let Some(table) = context.catalog.rows_of(record.table) else {
        return Ok(None);
    };
    let columns: Vec<SqlType> = table.visible_columns().map(|(_, c)| c.ty).collect();
    let types: Vec<SqlType> = (TOLD.into_iter()).chain(columns.repeat(2)).collect();
    let mut variables = Variables::default();
    for ty in &types {
        let slot = variables.add_slot(Slot::hidden(*ty), TypeMod::NONE);
        variables.numbered.push(Some(slot));
    }
    let mut slots = types.iter().enumerate();
    let mut next = || slots.next().map(|(slot, ty)| Expr::Param(slot, *ty));
    let told = TOLD.map(|ty| next().unwrap_or(Expr::null(ty)));
    let mut arguments: Vec<Expr> = std::iter::from_fn(next).collect();
    arguments.extend(said(record, told));
    arguments.extend(given(record));
    let mut linker = Linker::behind(1);
    let mut at = Embedding::new(context, variables, &mut linker, true);
    let routine = at.linker.number_of_trigger(trigger);
    let mut conditions = Vec::new();
    if asks {
        conditions.extend(session_that_fires(record)?);
        if let Some(condition) = &record.condition {
            conditions.push(at.typed(condition, SqlType::Bool, TypeMod::NONE)?);
        }
    }
    let call = at.step(Action::Call {
        routine,
        arguments,
        into: Into {
            targets: Vec::new(),
            strict: false,
            silent: true,
        },
    });
    match conditions.is_empty() {
        true => at.steps.push(call),
        false => at.add(Action::If {
            branches: vec![(and(conditions), vec![call])],
            otherwise: Vec::new(),
        }),
    }
    let (slots, body) = (at.variables.slots, at.steps);
    let routine = Routine {
        name: String::new(),
        slots,
        arguments: types.len(),
        strict: false,
        guise: None,
        found: None,
        body,
        output: Output::Nothing,
    };
    let program = linker.finish(vec![routine], context)?;
    let arguments = types.iter().enumerate();
    Ok(Some(Procedure {
        body: Body::Call {
            program: Arc::new(program),
            arguments: arguments.map(|(n, ty)| Expr::Param(n, *ty)).collect(),
        },
        params: types,
        result: Vec::new(),
    }))
}

impl Event {
    /// TG_OP, as a value.
    pub(super) fn word(self) -> Expr {
        text(self.name())
    }
}
