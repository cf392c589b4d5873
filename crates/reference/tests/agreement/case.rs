//! One random case: tables, a program, and calls of it, run by both executors.
//!
//! Promises: what is compared is everything that anybody can see: rows of the result, SQLSTATE and message
//! of an error, messages to the client, and the tables by their keys and by every index, after each
//! transaction.

use crate::dice::Dice;
use crate::engine;
use crate::listener::Listener;
use crate::plans::access;
use crate::routines::{arguments, called, lone, routines_with_cursors, share};
use crate::tables::{Made, SPACES, as_of_now, insert_constants, tables};
use quintet_base::{Level, SqlError, SqlResult, Value};
use quintet_direct::Direct;
use quintet_ir::schema::TableRef;
use quintet_ir::{KeyRange, Path, Plan, Routine, Statement};
use quintet_reference::Database;
use std::fmt::Write;
use std::sync::Arc;

pub struct Case {
    tables: Vec<Made>,
    rows: Vec<(usize, Statement)>,
    pub routines: Vec<Routine>,
    /// Transactions of calls.
    calls: Vec<Vec<Vec<Value>>>,
    level: Level,
    /// The fast executor keeps rows in files.
    keeps_in_files: bool,
}

/// What can be seen of a run, in words.
type Seen = Vec<String>;

impl Case {
    pub fn new(seed: u64) -> Case {
        let mut dice = Dice::new(seed);
        let first_space = 1000 + (seed % 1_000) as u32 * SPACES;
        let tables = tables(&mut dice, first_space);
        let mut rows = Vec::new();
        for (number, made) in tables.iter().enumerate() {
            for _ in 0..dice.below(9) {
                rows.push((number, insert_constants(&mut dice, &made.before)));
            }
        }
        let routines = routines_with_cursors(&mut dice, &share(&tables));
        let calls = (0..dice.between(1, 3))
            .map(|_| {
                let calls = [1, 1, 2][dice.below(3)];
                (0..calls)
                    .map(|_| arguments(&mut dice, &routines[0]))
                    .collect()
            })
            .collect();
        let level = *dice.pick(&[Level::ReadCommitted, Level::Snapshot, Level::Serializable]);
        Case {
            tables,
            rows,
            routines,
            calls,
            level,
            keeps_in_files: seed % 2 == 1,
        }
    }

    /// Runs the case by both; the first difference, if there is one. `planted` changes the program that
    /// the fast executor is given.
    pub fn difference(
        &self,
        direct: &Direct,
        planted: Option<fn(&mut Vec<Routine>)>,
    ) -> Option<String> {
        let mut theirs = self.routines.clone();
        if let Some(plant) = planted {
            plant(&mut theirs);
        }
        let fast = self.run_fast(direct, theirs);
        let plain = self.run_plain();
        let pairs = fast.iter().zip(&plain);
        let differing = pairs.enumerate().find(|(_, (fast, plain))| fast != plain);
        let (number, (fast, plain)) = differing?;
        Some(format!("at {number}\n fast: {fast}\nplain: {plain}"))
    }

    fn run_fast(&self, direct: &Direct, routines: Vec<Routine>) -> Seen {
        let mut seen = Seen::new();
        for (_, insert) in &self.rows {
            let listener = Listener::default();
            let mut txn = engine::begin(direct, self.level);
            let lone = lone(insert.clone());
            let result = engine::run(direct, &mut txn, &lone, &[], &listener);
            seen.push(outcome(result.map(|(rows, _)| rows), &listener));
            engine::commit(txn);
        }
        let procedure = called(routines);
        for calls in &self.calls {
            let mut txn = engine::begin(direct, self.level);
            let mut failed = false;
            for params in calls {
                let mut listener = Listener::default();
                listener.keeps_in_files = self.keeps_in_files;
                let result = engine::run(direct, &mut txn, &procedure, params, &listener);
                failed = result.is_err();
                seen.push(outcome(result.map(|(rows, _)| rows), &listener));
                if failed {
                    break;
                }
            }
            match failed {
                true => drop(txn),
                false => engine::commit(txn),
            }
            let mut txn = engine::begin(direct, self.level);
            for (table, plan) in self.views() {
                let lone = lone(Statement::Query(plan));
                let rows = engine::run(direct, &mut txn, &lone, &[], &Listener::default());
                seen.push(contents(&table, rows.map(|(rows, _)| rows)));
            }
        }
        seen
    }

    fn run_plain(&self) -> Seen {
        let mut seen = Seen::new();
        let mut database = Database::default();
        for (number, insert) in &self.rows {
            let listener = Listener::default();
            let insert = as_of_now(&self.tables[*number], insert);
            let lone = lone(insert);
            let result = quintet_reference::run(&mut database, &lone, &[], &listener);
            seen.push(outcome(result.map(|answer| answer.rows), &listener));
        }
        let procedure = called(self.routines.clone());
        for calls in &self.calls {
            let before = database.clone();
            for params in calls {
                let listener = Listener::default();
                let result = quintet_reference::run(&mut database, &procedure, params, &listener);
                let failed = result.is_err();
                seen.push(outcome(result.map(|answer| answer.rows), &listener));
                if failed {
                    database = before;
                    break;
                }
            }
            for (table, plan) in self.views() {
                let lone = lone(Statement::Query(plan));
                let rows = quintet_reference::run(&mut database, &lone, &[], &Listener::default());
                seen.push(contents(&table, rows.map(|answer| answer.rows)));
            }
        }
        seen
    }

    pub fn tables(&self) -> Vec<TableRef> {
        share(&self.tables)
    }

    /// Every table by its key and by each of its indexes.
    fn views(&self) -> Vec<(TableRef, Plan)> {
        let mut views = Vec::new();
        for Made { table, .. } in &self.tables {
            let mut paths = vec![Path::Full];
            for (number, index) in table.indexes.iter().enumerate() {
                // Without a condition an inverted one says nothing.
                if index.is_inverted() {
                    continue;
                }
                paths.push(Path::Index(number, vec![KeyRange::default()]));
            }
            for path in paths {
                views.push((Arc::clone(table), Plan::Scan(access(table, path, 0))));
            }
        }
        views
    }

    /// Everything, for whoever looks for the reason of a difference.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for made in &self.tables {
            writeln!(text, "{:#?}", made.table).expect("a string takes it");
        }
        for routine in &self.routines {
            let routine = quintet_ir::text::write_routine(routine);
            writeln!(text, "{routine}").expect("a string takes it");
        }
        writeln!(text, "{:?} at {:?}", self.calls, self.level).expect("a string takes it");
        text
    }
}

fn outcome(result: SqlResult<Vec<Vec<Value>>>, listener: &Listener) -> String {
    let mut text = match result {
        Ok(rows) => format!("{rows:?}"),
        Err(error) => told(&error),
    };
    for (severity, message) in &*listener.told.borrow() {
        write!(text, " | {severity} {}", told(message)).expect("a string takes it");
    }
    text
}

fn told(error: &SqlError) -> String {
    format!("{} {} {:?}", error.state, error.message, error.object)
}

/// Rows without the hidden row ids: which number a row gets is nobody's business.
fn contents(table: &TableRef, rows: SqlResult<Vec<Vec<Value>>>) -> String {
    match rows {
        Ok(mut rows) => {
            for row in &mut rows {
                row.truncate(table.columns.len());
            }
            format!("{} has {rows:?}", table.name)
        }
        Err(error) => told(&error),
    }
}
