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
use quintet_ir::explain::{Format, Node, Part, document, tree};
use quintet_ir::routine::{Program, each_step};
use quintet_ir::statement::{Body, Procedure, Statement};
use quintet_sql::command::{Command, Planned};
use std::collections::VecDeque;
use std::sync::Arc;

/// What is said of a statement.
enum Said {
    /// A node for the statement, or for each of the statements that it was made into; the word for the latter.
    Plans(Vec<Node>, Option<String>),
    /// What calls which routine, and lines on how.
    Call {
        what: &'static str,
        name: String,
        how: Vec<String>,
    },
}

/// What ANALYZE has found out.
struct Found {
    rows: u64,
    /// The rows are the statement's result.
    is_query: bool,
    milliseconds: String,
}

impl Session {
    /// EXPLAIN: its lines become the portal's rows. `Some`: ANALYZE met a lock; wait, and call again.
    pub(super) fn explain(
        &mut self,
        (analyze, format): (bool, Format),
        inner: &Planned,
        portal: &mut Portal,
    ) -> SqlResult<Option<Pause>> {
        let (said, found) = match &inner.command {
            Command::Execute { name, arguments } => {
                let mut named = Portal::new(Arc::clone(&portal.prepared), portal.params.clone());
                self.bind_execute(&mut named, name, arguments)?;
                let prepared = Arc::clone(&named.prepared);
                self.schema();
                self.host.allow(&prepared.planned.needs)?;
                self.said_of(analyze, &prepared.planned, &mut named)?
            }
            _ => self.said_of(analyze, inner, portal)?,
        };
        let found = match found {
            Ok(found) => found,
            Err(pause) => return Ok(Some(pause)),
        };
        let objects = &self.host.settings.format.objects;
        let named = |text: String| objects.named(text);
        let lines = match format {
            Format::Text => lines(said, found).into_iter().map(named).collect(),
            format => {
                let mut parts = parts(said, found);
                parts.iter_mut().for_each(|part| part.reword(&named));
                vec![document(&parts, format)]
            }
        };
        portal.state = PortalState::Rows(rows_of(lines));
        Ok(None)
    }

    /// EXPLAIN PROCEDURE, EXPLAIN FUNCTION: the same of a routine.
    pub(super) fn explain_routine(&self, program: &Program, portal: &mut Portal) {
        let lines = quintet_analysis::explain(program);
        let objects = &self.host.settings.format.objects;
        let lines = lines.into_iter().map(|line| objects.named(line));
        portal.state = PortalState::Rows(rows_of(lines));
    }

    /// What is said, and found out by ANALYZE, or what that has to wait for.
    fn said_of(
        &mut self,
        analyze: bool,
        inner: &Planned,
        portal: &mut Portal,
    ) -> SqlResult<(Said, Result<Option<Found>, Pause>)> {
        let Command::Run(procedure) = &inner.command else {
            return Err(SqlError::unsupported(format!("EXPLAIN {}", inner.tag)));
        };
        let said = self.plans_of(procedure, inner.tag, &portal.params);
        if !analyze {
            return Ok((said, Ok(None)));
        }
        self.enter_statement();
        self.refuse_write_if_read_only(procedure, inner.tag)?;
        self.ensure_schema(portal)?;
        let started = self.host.clock.monotonic_nanos();
        let mut run = Run::new(&self.host.direct, Arc::clone(procedure));
        let mut rows = 0;
        let params = portal.params.clone();
        match self.pull(&mut run, &params, 0, &mut rows, &mut |_| Ok(Flow::Continue))? {
            Pulled::Wait(pause) => return Ok((said, Err(pause))),
            Pulled::Commit | Pulled::Ask => return Err(only_calls_commit()),
            Pulled::End | Pulled::Enough | Pulled::Break => {}
        }
        let milliseconds = (self.host.clock.monotonic_nanos() - started) as f64 / 1e6;
        let is_query = matches!(&procedure.body, Body::Statement(Statement::Query(_)));
        let found = Found {
            rows: rows.max(run.affected()),
            is_query,
            milliseconds: format!("{milliseconds:.3}"),
        };
        Ok((said, Ok(Some(found))))
    }

    /// What would be done.
    fn plans_of(&mut self, procedure: &Procedure, tag: &str, params: &[Value]) -> Said {
        match &procedure.body {
            Body::Statement(statement) => Said::Plans(vec![tree(statement)], None),
            // A statement that was made into steps.
            Body::Call { program, .. } if program.is_nameless() => {
                let body = program.routines.first().map_or(&[][..], |made| &made.body);
                let mut plans = Vec::new();
                each_step(body, &mut |step| {
                    plans.extend(step.action.statement().map(tree));
                });
                Said::Plans(plans, Some(tag.to_string()))
            }
            Body::Call { program, .. } => {
                let what = match tag {
                    "CALL" => "Call",
                    _ => "Function Scan",
                };
                Said::Call {
                    what,
                    name: name_of(program).to_string(),
                    how: self.explain_line(procedure, params),
                }
            }
        }
    }
}

/// For people to read.
fn lines(said: Said, found: Option<Found>) -> Vec<String> {
    let mut lines = match said {
        Said::Plans(plans, None) => plans.iter().flat_map(Node::lines).collect(),
        Said::Plans(plans, Some(tag)) => {
            let mut lines = vec![format!("{tag}, step by step")];
            for plan in plans {
                let nested = plan.lines().into_iter().enumerate();
                lines.extend(nested.map(|(number, line)| match number {
                    0 => format!("  ->  {line}"),
                    _ => format!("      {line}"),
                }));
            }
            lines
        }
        Said::Call { what, name, how } => {
            let word = if what == "Call" { "of" } else { "on" };
            let mut lines = vec![format!("{what} {word} {name}")];
            lines.extend(how);
            lines
        }
    };
    if let Some(found) = found {
        lines.push(format!("Rows: {}", found.rows));
        lines.push("Engine: direct".to_string());
        lines.push(format!("Execution Time: {} ms", found.milliseconds));
    }
    lines
}

/// The same by keys: a part for each statement, and what was found out with the last.
fn parts(said: Said, found: Option<Found>) -> Vec<Part> {
    let mut groups: Vec<Vec<(&'static str, Part)>> = match said {
        Said::Plans(plans, _) => {
            let group = |plan: &Node| vec![("Plan", plan.part())];
            plans.iter().map(group).collect()
        }
        Said::Call { what, name, how } => {
            let mut plan = vec![
                ("Node Type", Part::Text(what.to_string())),
                ("Function Name", Part::Text(name)),
            ];
            if !how.is_empty() {
                plan.push(("Engine", Part::List(how)));
            }
            vec![vec![("Plan", Part::Group(plan))]]
        }
    };
    if let (Some(found), Some(last)) = (found, groups.last_mut()) {
        let rows = Part::Number(found.rows.to_string());
        match last.first_mut() {
            Some((_, Part::Group(plan))) if found.is_query => {
                // Before the plans below it, which nobody has counted.
                let at = plan.iter().position(|(name, _)| *name == "Plans");
                let at = at.unwrap_or(plan.len());
                let once = Part::Number("1".to_string());
                plan.splice(at..at, [("Actual Rows", rows), ("Actual Loops", once)]);
            }
            _ => last.push(("Rows", rows)),
        }
        last.push(("Engine", Part::Text("direct".to_string())));
        last.push(("Execution Time", Part::Number(found.milliseconds)));
    }
    groups.into_iter().map(Part::Group).collect()
}

/// A row for each line.
fn rows_of(lines: impl IntoIterator<Item = String>) -> VecDeque<Vec<Value>> {
    let row = |line| vec![Value::text(line)];
    lines.into_iter().map(row).collect()
}
