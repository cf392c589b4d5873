//! List-append as a procedure: each run's history is kept, and says which anomalies the database let happen.
//!
//! Relies on: `append` for the stream, `engine` for taking the history down.  Promises: the tables are new for
//! each run, so that no value is appended twice; a call that lost and was run again is one transaction of
//! the history, from its first try to its last answer.  Does not: judge; `engine::history::check` does, when
//! `bench` asks it to.
//!
//! The history is kept in memory: some hundred bytes for an operation that reads.

use crate::append::{AppendConfig, AppendOperation, ListAppend};
use crate::call::{Answers, Argument, Call, CallEnd, Calls, Ending, ParameterType, Procedure};
use crate::load::{Piece, Table};
use crate::workload::{Check, Workload, client_seed};
use quintet_engine::history::{Operation, Recorder};
use std::sync::Arc;

const PROCEDURES: [Procedure; 1] = [Procedure {
    name: "append-lists",
    statement: "CALL append_lists($1, $2, NULL)",
    parameters: &[ParameterType::BigInts, ParameterType::BigInts],
    refusals: &[],
    answers: Answers::Text,
}];

const TABLES: [Table; 1] = [Table {
    name: "append_list",
    columns: "l_id, l_values",
}];

/// List-append transactions and the history of one run of them.
pub struct AppendSql {
    config: AppendConfig,
    recorder: Arc<Recorder>,
}

impl AppendSql {
    /// With an empty history.
    ///
    /// # Panics
    /// If a field of the configuration is zero.
    pub fn new(config: AppendConfig) -> AppendSql {
        // Its asserts are those of the streams to come.
        let _ = ListAppend::new(config, 0, 0);
        AppendSql {
            config,
            recorder: Arc::default(),
        }
    }
}

impl Workload for AppendSql {
    fn name(&self) -> &'static str {
        "list-append"
    }

    fn mix(&self) -> &'static str {
        "half reads"
    }

    fn size(&self) -> String {
        let AppendConfig {
            lists_in_use,
            transactions_per_list,
            operations_max,
        } = self.config;
        format!(
            "{lists_in_use} lists in use, one further every {transactions_per_list} transactions, \
             1 to {operations_max} operations"
        )
    }

    fn schema(&self) -> &'static str {
        include_str!("schema.sql")
    }

    fn procedure_text(&self) -> &'static str {
        include_str!("procedures.sql")
    }

    fn procedures(&self) -> &'static [Procedure] {
        &PROCEDURES
    }

    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn pieces(&self) -> u32 {
        0
    }

    fn piece(&self, number: u32) -> Piece {
        unreachable!("piece {number} of none: lists are made by their first append")
    }

    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }

    fn calls(&self, client: u32, seed: u64) -> Box<dyn Calls> {
        Box::new(Appender {
            stream: ListAppend::new(self.config, client, client_seed(client, seed)),
            recorder: Arc::clone(&self.recorder),
            process: client,
            planned: Vec::new(),
        })
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.recorder)
    }

    fn last_read(&self) -> &'static str {
        "SELECT l_id, array_to_string(l_values, ',') FROM append_list ORDER BY l_id"
    }
}

/// The stream of one client.
struct Appender {
    stream: ListAppend,
    recorder: Arc<Recorder>,
    process: u32,
    /// What the call under way was to do.
    planned: Vec<AppendOperation>,
}

impl Calls for Appender {
    fn next_call(&mut self) -> Call {
        self.planned = self.stream.next_transaction();
        let begun = self.planned.iter().map(|operation| match *operation {
            AppendOperation::Read { list } => Operation::Read { list, values: None },
            AppendOperation::Append { list, value } => Operation::Append { list, value },
        });
        self.recorder.invoke(self.process, begun.collect());
        let pairs = self.planned.iter().map(|operation| match *operation {
            AppendOperation::Read { list } => (list as i64, 0),
            // The process is below 2^31, so a value is positive; and its count begins at 1.
            AppendOperation::Append { list, value } => (list as i64, value as i64),
        });
        let (lists, values) = pairs.unzip();
        Call {
            procedure: 0,
            arguments: vec![Argument::BigInts(lists), Argument::BigInts(values)],
            ending: Ending::Commit,
        }
    }

    fn ended(&mut self, end: CallEnd<'_>) {
        match end {
            CallEnd::Committed { answer } => {
                let done = observed(&self.planned, answer.unwrap_or_default());
                self.recorder.ok(self.process, done);
            }
            CallEnd::Undone => self.recorder.fail(self.process),
        }
    }
}

/// What was done and read; a list that the answer does not have was read empty, which the checker finds if it
/// was not.
fn observed(planned: &[AppendOperation], answer: &str) -> Vec<Operation> {
    let mut lists = answer.split(';');
    let one = |operation: &AppendOperation| match *operation {
        AppendOperation::Read { list } => Operation::Read {
            list,
            values: Some(values(lists.next().unwrap_or_default())),
        },
        AppendOperation::Append { list, value } => Operation::Append { list, value },
    };
    planned.iter().map(one).collect()
}

/// The values of a list as text, oldest first. What is no number was appended by nobody, and is kept as a value
/// that nobody appends, so that the checker says so.
pub fn values(text: &str) -> Vec<u64> {
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts.map(|part| part.parse().unwrap_or(u64::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_base::Level;
    use quintet_engine::history::check;

    #[test]
    fn calls_fit_their_procedure_and_are_taken_down() {
        let workload = AppendSql::new(AppendConfig::default());
        let mut calls = workload.calls(3, 1);
        let call = calls.next_call();
        let types: Vec<_> = call
            .arguments
            .iter()
            .map(Argument::parameter_type)
            .collect();
        assert_eq!(types, PROCEDURES[0].parameters);
        calls.ended(CallEnd::Undone);
        let again = calls.next_call();
        assert_ne!(call, again);
        let [Argument::BigInts(lists), Argument::BigInts(values)] = &again.arguments[..] else {
            panic!("{again:?}")
        };
        assert_eq!(lists.len(), values.len());
        let history = workload.recorder().unwrap().take();
        assert_eq!(history.transactions.len(), 2);
        assert_eq!(history.transactions[0].process, 3);
        assert!(workload.recorder().unwrap().take().transactions.is_empty());
    }

    // One client appends to a list and reads it; an answer that leaves its own value out must be found.
    #[test]
    fn an_answer_that_forgets_a_value_is_found() {
        let planned = [
            AppendOperation::Append { list: 1, value: 7 },
            AppendOperation::Read { list: 2 },
            AppendOperation::Read { list: 1 },
        ];
        for (answer, fits) in [
            (";7;", true),
            (";;", false),
            ("7;7;", false),
            (";7,x;", false),
        ] {
            let recorder = Recorder::new();
            recorder.invoke(0, Vec::new());
            recorder.ok(0, observed(&planned, answer));
            let report = check(&recorder.take());
            assert_eq!(
                report.fits(Level::ReadCommitted),
                fits,
                "{answer}: {report:?}"
            );
        }
    }
}
