//! EXPLAIN, also of routines.
//!
//! Relies on: `ir::explain` and `analysis` for the words.  Promises: ANALYZE runs the statement as it would be run alone.
//! Does not: say which engine ran a call.

use super::Session;
use super::execute::{Pulled, only_calls_commit};
use super::planning::name_of;
use super::portal::{Portal, PortalState};
use crate::step::{Flow, Pause};
use quintet_base::{SqlError, SqlResult, Value};
use quintet_direct::Run;
use quintet_ir::Host;
use quintet_ir::routine::{Program, each_step};
use quintet_ir::statement::{Body, Procedure};
use quintet_sql::command::{Command, Planned};
use std::collections::VecDeque;
use std::sync::Arc;

impl Session {
    /// EXPLAIN: its lines become the portal's rows. `Some`: ANALYZE met a lock; wait, and call again.
    pub(super) fn explain(
        &mut self,
        analyze: bool,
        inner: &Planned,
        portal: &mut Portal,
    ) -> SqlResult<Option<Pause>> {
        let lines = match &inner.command {
            Command::Execute { name, arguments } => {
                let mut named = Portal::new(Arc::clone(&portal.prepared), portal.params.clone());
                self.bind_execute(&mut named, name, arguments)?;
                let prepared = Arc::clone(&named.prepared);
                self.schema();
                self.host.allow(&prepared.planned.needs)?;
                self.lines_of(analyze, &prepared.planned, &mut named)?
            }
            _ => self.lines_of(analyze, inner, portal)?,
        };
        match lines {
            Ok(lines) => {
                portal.state = PortalState::Rows(rows_of(lines));
                Ok(None)
            }
            Err(pause) => Ok(Some(pause)),
        }
    }

    /// EXPLAIN PROCEDURE, EXPLAIN FUNCTION: the same of a routine.
    pub(super) fn explain_routine(&self, program: &Program, portal: &mut Portal) {
        let lines = quintet_analysis::explain(program);
        let objects = &self.host.settings.format.objects;
        let lines = lines.into_iter().map(|line| objects.named(line));
        portal.state = PortalState::Rows(rows_of(lines));
    }

    /// The lines, or what ANALYZE has to wait for.
    fn lines_of(
        &mut self,
        analyze: bool,
        inner: &Planned,
        portal: &mut Portal,
    ) -> SqlResult<Result<Vec<String>, Pause>> {
        let Command::Run(procedure) = &inner.command else {
            return Err(SqlError::unsupported(format!("EXPLAIN {}", inner.tag)));
        };
        let mut lines = self.plan_lines(procedure, inner.tag, &portal.params);
        if !analyze {
            return Ok(Ok(lines));
        }
        self.enter_statement();
        self.refuse_write_if_read_only(procedure, inner.tag)?;
        self.ensure_schema(portal)?;
        let started = self.host.clock.monotonic_nanos();
        let mut run = Run::new(&self.host.direct, Arc::clone(procedure));
        let mut rows = 0;
        let params = portal.params.clone();
        match self.pull(&mut run, &params, 0, &mut rows, &mut |_| Ok(Flow::Continue))? {
            Pulled::Wait(pause) => return Ok(Err(pause)),
            Pulled::Commit | Pulled::Ask => return Err(only_calls_commit()),
            Pulled::End | Pulled::Enough | Pulled::Break => {}
        }
        let milliseconds = (self.host.clock.monotonic_nanos() - started) as f64 / 1e6;
        lines.push(format!("Rows: {}", rows.max(run.affected())));
        lines.push("Engine: direct".to_string());
        lines.push(format!("Execution Time: {milliseconds:.3} ms"));
        Ok(Ok(lines))
    }

    /// What would be done.
    fn plan_lines(&mut self, procedure: &Procedure, tag: &str, params: &[Value]) -> Vec<String> {
        let mut lines = Vec::new();
        match &procedure.body {
            Body::Statement(statement) => {
                let objects = &self.host.settings.format.objects;
                let printed = quintet_ir::explain::explain(statement);
                lines.extend(printed.into_iter().map(|line| objects.named(line)));
            }
            // A statement that was made into steps.
            Body::Call { program, .. } if program.is_nameless() => {
                lines.push(format!("{tag}, step by step"));
                let body = program.routines.first().map_or(&[][..], |made| &made.body);
                let objects = &self.host.settings.format.objects;
                each_step(body, &mut |step| {
                    if let Some(statement) = step.action.statement() {
                        let plan = quintet_ir::explain::explain(statement).into_iter();
                        let nested = plan.enumerate().map(|(number, line)| match number {
                            0 => format!("  ->  {}", objects.named(line)),
                            _ => format!("      {}", objects.named(line)),
                        });
                        lines.extend(nested);
                    }
                });
            }
            Body::Call { program, .. } => {
                let name = name_of(program);
                let what = match tag {
                    "CALL" => "Call of",
                    _ => "Function Scan on",
                };
                lines.push(format!("{what} {name}"));
                lines.extend(self.explain_line(procedure, params));
            }
        }
        lines
    }
}

/// A row for each line.
fn rows_of(lines: impl IntoIterator<Item = String>) -> VecDeque<Vec<Value>> {
    let row = |line| vec![Value::text(line)];
    lines.into_iter().map(row).collect()
}
