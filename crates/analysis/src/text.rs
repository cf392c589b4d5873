//! The printed form of a graph: EXPLAIN PROCEDURE.
//!
//! Relies on: `ir::explain` for expressions.  Promises: the same routine always prints the same lines; of the
//! graph it leaves out access constraints that others imply.  Does not: show plans: EXPLAIN of a
//! statement does that.

pub(crate) mod names;

use crate::graph::{Constraint, Graph, Why};
use crate::groups::Groups;
use crate::look_ups::{Unfit, of_operation};
use crate::operation::{Bound, Key, Operation, Template, Touch, What};
use names::Names;
use quintet_ir::plan::Path;
use quintet_ir::routine::{Action, Handler, Raise};
use quintet_ir::{Expr, Program, Statement};
use std::collections::BTreeMap;

/// Operations are padded to this, so that what they wait for stands in a column.
const WIDTH_MAX: usize = 60;

/// Keys of one read that are printed.
const KEYS_MAX: usize = 3;

/// The lines for a program's first routine.
pub fn explain(program: &Program) -> Vec<String> {
    let Some(routine) = program.routines.first() else {
        return Vec::new();
    };
    let graph = Graph::new(program, 0);
    let groups = Groups::new(&graph);
    let printer = Printer {
        names: Names::new(routine),
        graph: &graph,
        groups: &groups,
    };
    let mut lines = printer.operations();
    lines.extend(printer.groups());
    lines
}

struct Printer<'a, 'p> {
    names: Names<'p>,
    graph: &'a Graph<'p>,
    groups: &'a Groups,
}

impl Printer<'_, '_> {
    fn operations(&self) -> Vec<String> {
        let mut lines = vec!["Operations".to_string()];
        let operations = &self.graph.operations;
        let what: Vec<String> = operations
            .iter()
            .map(|operation| "  ".repeat(operation.depth) + &self.what(operation))
            .collect();
        let fitting = what.iter().map(|text| text.chars().count());
        let width = fitting.filter(|width| *width <= WIDTH_MAX).max();
        let width = width.unwrap_or(0);
        let line_width = operations.iter().map(|o| o.line.to_string().len()).max();
        let line_width = line_width.unwrap_or(0);
        let number_width = operations.len().to_string().len();
        for (number, (operation, what)) in operations.iter().zip(what).enumerate() {
            let line = match operation.line {
                0 => " ".repeat("line ".len() + line_width),
                line => format!("line {line:>line_width$}"),
            };
            let head = format!("  {:>number_width$}  {line}  ", number + 1);
            match (self.after(number), what.chars().count() <= width) {
                (None, _) => lines.push(head + &what),
                (Some(after), true) => lines.push(format!("{head}{what:width$}  after {after}")),
                (Some(after), false) => {
                    let indent = head.chars().count();
                    lines.push(head + &what);
                    lines.push(format!("{:indent$}{:width$}  after {after}", "", ""));
                }
            }
        }
        lines
    }

    /// What an operation waits for: `3 (v_id), 7 (turn)`.
    fn after(&self, number: usize) -> Option<String> {
        let mut reasons: BTreeMap<(bool, usize), Vec<String>> = BTreeMap::new();
        let incoming = self.graph.constraints.iter().filter(|c| c.to == number);
        for constraint in incoming.filter(|constraint| !self.is_implied(constraint)) {
            let why = match constraint.why {
                Why::Value(slot) => self.names.slot(slot),
                Why::Rows => "rows".to_string(),
                Why::Branch => "branch".to_string(),
                Why::Turn => "turn".to_string(),
                Why::Leaving => "exit".to_string(),
                Why::Handler => "handler".to_string(),
                Why::Table => "same table".to_string(),
            };
            let reasons = reasons
                .entry((constraint.carried, constraint.from))
                .or_default();
            if !reasons.contains(&why) {
                reasons.push(why);
            }
        }
        let texts: Vec<String> = reasons
            .into_iter()
            .map(|((carried, from), why)| {
                let earlier = if carried { ", an earlier turn" } else { "" };
                format!("{} ({}{earlier})", from + 1, why.join(", "))
            })
            .collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// Whether two others say it: a third operation on the table stands in between.
    fn is_implied(&self, constraint: &Constraint) -> bool {
        let Constraint {
            from, to, carried, ..
        } = *constraint;
        let is_there = |from, to| {
            let mut all = self.graph.constraints.iter();
            all.any(|c| {
                (c.from, c.to, c.carried) == (from, to, false)
                    && matches!(c.why, Why::Table | Why::Rows)
            })
        };
        constraint.why == Why::Table
            && !carried
            && (from + 1..to).any(|between| is_there(from, between) && is_there(between, to))
    }

    fn expr(&self, expr: &Expr) -> String {
        self.names.expr(expr, &[])
    }

    fn what(&self, operation: &Operation<'_>) -> String {
        match operation.what {
            What::Read => operation
                .touches
                .first()
                .map_or_else(String::new, |touch| self.read(touch)),
            What::Write(statement) => self.write(statement, &operation.touches),
            What::Query(_) => "query over the rows".to_string(),
            What::Step(action) => self.step(action),
            What::Condition(condition) => format!("if {}", self.expr(condition)),
            What::Loop(action) => self.head(action),
            What::Guard => "block with handlers".to_string(),
            What::Handler(handler) => format!("when {}", conditions(handler)),
            What::EndGuard => "end of the block".to_string(),
            What::Call(name) => {
                let of = |writes: bool| {
                    let touches = operation.touches.iter();
                    let touches = touches.filter(move |touch| touch.writes == writes);
                    let tables: Vec<&str> =
                        touches.map(|touch| touch.table.name.as_str()).collect();
                    tables.join(", ")
                };
                let parts = [("reads", of(false)), ("writes", of(true))];
                let parts = parts.iter().filter(|(_, tables)| !tables.is_empty());
                let parts: Vec<String> = parts
                    .map(|(verb, tables)| format!(", {verb} {tables}"))
                    .collect();
                let name = name.split('(').next().unwrap_or_default();
                format!("call {name}{}", parts.concat())
            }
        }
    }

    fn read(&self, touch: &Touch<'_>) -> String {
        let index = match touch.path {
            Some(Path::Index(number, _) | Path::Elements(number, _)) => {
                format!(" by {}", touch.table.indexes[*number].name)
            }
            _ => String::new(),
        };
        let locks = if touch.locks { ", for update" } else { "" };
        let keys = match touch.keys.as_slice() {
            [] => "every row".to_string(),
            keys => self.keys(keys, touch),
        };
        format!("read {}{index}: {keys}{locks}", touch.table.name)
    }

    fn keys(&self, keys: &[Key<'_>], touch: &Touch<'_>) -> String {
        let shown = keys.iter().take(KEYS_MAX);
        let mut texts: Vec<String> = shown.map(|key| self.key(key, touch)).collect();
        if keys.len() > KEYS_MAX {
            texts.push(format!("{} more", keys.len() - KEYS_MAX));
        }
        texts.join(" or ")
    }

    fn key(&self, key: &Key<'_>, touch: &Touch<'_>) -> String {
        let parts = key.parts.iter().map(|part| {
            let column = match touch.table.columns.get(part.column) {
                Some(column) => column.name.as_str(),
                None => "row id",
            };
            let op = match part.bound {
                Bound::Equal => "=",
                Bound::Lower { inclusive: true } => ">=",
                Bound::Lower { inclusive: false } => ">",
                Bound::Upper { inclusive: true } => "<=",
                Bound::Upper { inclusive: false } => "<",
            };
            format!(
                "{column} {op} {}",
                self.names.expr(part.value, &touch.outer)
            )
        });
        let parts: Vec<String> = parts.collect();
        match parts.is_empty() {
            true => "any row".to_string(),
            false => parts.join(", "),
        }
    }

    fn write(&self, statement: &Statement, touches: &[Touch<'_>]) -> String {
        let table = touches.first().map_or("", |touch| &touch.table.name);
        match (statement, touches.first()) {
            (Statement::Insert(_), Some(touch)) if touch.keys.is_empty() => {
                format!("insert into {table}")
            }
            (Statement::Insert(_), Some(touch)) => {
                format!("insert into {table}: {}", self.keys(&touch.keys, touch))
            }
            (Statement::Delete(_), _) => format!("delete from {table}"),
            _ => format!("update {table}"),
        }
    }

    fn step(&self, action: &Action) -> String {
        let list = |exprs: &[Expr]| {
            let texts: Vec<String> = exprs.iter().map(|expr| self.expr(expr)).collect();
            texts.join(", ")
        };
        let leave = |word: &str, when: &Option<Expr>| match when {
            Some(when) => format!("{word} when {}", self.expr(when)),
            None => word.to_string(),
        };
        match action {
            Action::Assign { slot, value } => {
                format!("{} := {}", self.names.slot(*slot), self.expr(value))
            }
            Action::AssignElement { slot, index, value } => format!(
                "{}[{}] := {}",
                self.names.slot(*slot),
                self.expr(index),
                self.expr(value)
            ),
            Action::Exit { when, .. } => leave("exit", when),
            Action::Continue { when, .. } => leave("continue", when),
            Action::Raise(raise) => raised(raise),
            Action::Reraise => "raise".to_string(),
            Action::Commit => "commit".to_string(),
            Action::Rollback => "rollback".to_string(),
            Action::Dynamic(dynamic) => match &dynamic.cursor {
                Some(cursor) => format!("{} cursor {}", cursor.word(), cursor.variable),
                None => format!("execute {}", self.expr(&dynamic.text)),
            },
            Action::Fail(error) => format!("fail: {}", error.message),
            Action::Return(row) if row.is_empty() => "return".to_string(),
            Action::Return(row) => format!("return {}", list(row)),
            Action::ReturnNext(row) => format!("return next {}", list(row)),
            Action::RowCount { slot } => format!("{} := row count", self.names.slot(*slot)),
            Action::Diagnose { slot, .. } => {
                format!("{} := of the error", self.names.slot(*slot))
            }
            _ => String::new(),
        }
    }

    fn head(&self, action: &Action) -> String {
        match action {
            Action::ForInteger {
                slot,
                lower,
                upper,
                step,
                reverse,
                ..
            } => {
                let reverse = if *reverse { "reverse " } else { "" };
                let by = match self.expr(step) {
                    step if step == "1" => String::new(),
                    step => format!(" by {step}"),
                };
                format!(
                    "for {} in {reverse}{} .. {}{by}",
                    self.names.slot(*slot),
                    self.expr(lower),
                    self.expr(upper)
                )
            }
            Action::ForElement { slot, array, .. } => {
                format!("foreach {} in {}", self.names.slot(*slot), self.expr(array))
            }
            Action::ForRow { .. } => "for each row".to_string(),
            Action::Dynamic(dynamic) => {
                format!("for each row of execute {}", self.expr(&dynamic.text))
            }
            _ => "loop".to_string(),
        }
    }

    fn groups(&self) -> Vec<String> {
        let rounds = self.groups.by_round();
        let mut lines = vec!["Groups of reads".to_string()];
        if rounds.is_empty() {
            lines.push("  none".to_string());
        }
        for (number, reads) in rounds.iter().enumerate() {
            let members: Vec<String> = reads.iter().map(|read| self.member(*read)).collect();
            lines.push(format!("  {}  {}", number + 1, members.join(", ")));
        }
        lines.extend(self.early());
        let reads = 0..self.graph.operations.len();
        let reads = reads.filter(|number| self.groups.rounds[*number].is_some());
        lines.extend(reads.filter_map(|read| self.note(read)));
        lines
    }

    /// `stock (19) for each i`.
    fn member(&self, number: usize) -> String {
        let operation = &self.graph.operations[number];
        let name = match operation.what {
            What::Call(name) => name.split('(').next().unwrap_or_default(),
            _ => operation
                .touches
                .first()
                .map_or("", |touch| &touch.table.name),
        };
        let mut text = format!("{name} ({})", number + 1);
        let each: Vec<String> = operation
            .loops
            .iter()
            .map(|number| match self.graph.loops[*number].slot {
                Some(slot) => self.names.slot(slot),
                None => "turn".to_string(),
            })
            .collect();
        if self.groups.in_turns[number] {
            text += " turn by turn";
        } else if !each.is_empty() {
            text += &format!(" for each {}", each.join(", "));
        }
        text
    }

    /// What is known before the call begins.
    fn early(&self) -> Option<String> {
        let look_ups = |number| of_operation(self.graph, self.groups, number);
        let early: Vec<String> = (0..self.graph.operations.len())
            .filter(|number| look_ups(*number).is_ok())
            .map(|number| (number + 1).to_string())
            .collect();
        (!early.is_empty()).then(|| {
            format!(
                "Looked up together when the call begins, in STORE without a snapshot: {}",
                early.join(", ")
            )
        })
    }

    /// What is to be said of a read.
    fn note(&self, number: usize) -> Option<String> {
        let mut notes = Vec::new();
        let operation = &self.graph.operations[number];
        match of_operation(self.graph, self.groups, number) {
            Err(Unfit::Range) => notes.push("a range is not looked up ahead".to_string()),
            Err(Unfit::Computed) => {
                notes.push("the key is computed on the way, so it is not looked up ahead".into());
            }
            Err(Unfit::Left) => {
                notes.push("the loop may be left early, so it is not looked up ahead".into());
            }
            Err(Unfit::Handler) => {
                notes.push("it runs after an error, so it is not looked up ahead".into());
            }
            Ok(_) if self.is_partial(operation) => {
                notes.push("the key is known when the call begins on some ways only".into());
            }
            Ok(_) | Err(Unfit::NoRead | Unfit::Later) => {}
        }
        let writes: Vec<String> = self
            .graph
            .constraints
            .iter()
            .filter(|c| c.to == number && c.why == Why::Table)
            .filter(|c| self.graph.operations[c.from].writes())
            .map(|c| (c.from + 1).to_string())
            .collect();
        if !writes.is_empty() {
            notes.push(format!(
                "{} may have changed the row: what is brought early is laid under that",
                writes.join(", ")
            ));
        }
        (!notes.is_empty()).then(|| format!("  {}: {}", number + 1, notes.join("; ")))
    }

    fn is_partial(&self, operation: &Operation<'_>) -> bool {
        let keys = operation.touches.iter().flat_map(|touch| &touch.keys);
        let mut parts = keys.flat_map(|key| &key.parts);
        parts.any(|part| matches!(part.template, Template::Partial(_)))
    }
}

fn conditions(handler: &Handler) -> String {
    let texts: Vec<String> = handler.conditions.iter().map(ToString::to_string).collect();
    texts.join(" or ")
}

fn raised(raise: &Raise) -> String {
    let word = format!("{:?}", raise.severity).to_lowercase();
    format!("raise {word} '{}'", raise.format.join("%"))
}
