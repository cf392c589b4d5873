//! What it costs to order a call, while many others wait.
//!
//! Relies on: `chain`; TPC-C's calls, and their keys as `analysis` derives them from the procedures' text.
//! Promises: the number of pending calls stays what was asked for, all from the same mix; nothing is in a figure
//! but what it is of and two readings of the clock.
//! Does not: run a call. Caches are as warm as a loop keeps them; a server that
//! runs calls in between will find them colder.

use crate::values::{sql_type, value};
use hdrhistogram::Histogram;
use quintet_analysis::{Classes, Footprint, Rule};
use quintet_base::text_format::FormatContext;
use quintet_base::{SqlError, SqlResult, Value};
use quintet_chain::{
    Access, CallId, Config, Effect, Event, Freshness, Holds, Scheduler, Submission, WorkerId, Wrote,
};
use quintet_rt::Clock;
use quintet_sql::{Catalog, Command, PlanContext};
use quintet_workloads::tpcc::{Mix, Scale};
use quintet_workloads::{Call, Calls, Tpcc, Workload};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// What to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SchedulingRun {
    /// Calls that wait or run meanwhile.
    pub pending: usize,
    /// Calls that are measured.
    pub calls: usize,
    /// Warehouses.
    pub warehouses: u64,
    /// Workers, with a slot each.
    pub workers: u32,
    /// Of the calls' arguments.
    pub seed: u64,
    /// How conflicts are counted.
    pub rule: Rule,
}

/// What the calls of one procedure cost.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ProcedureCost {
    /// How many there were.
    pub calls: u64,
    /// Conflict keys of a call, on average.
    pub keys: f64,
    /// Half took less to make the keys of, in microseconds.
    pub keys_median_us: f64,
    /// Mean cost of ordering one, in microseconds.
    pub mean_us: f64,
    /// All but one in a hundred were cheaper.
    pub p99_us: f64,
    /// The dearest.
    pub max_us: f64,
    /// Half were cheaper, of what follows when one has ended.
    pub end_median_us: f64,
}

/// The figures.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SchedulingReport {
    /// Name of the workload.
    pub workload: &'static str,
    /// Calls that waited or ran meanwhile.
    pub pending: usize,
    /// Half of a procedure's calls were ordered in less, in microseconds.
    pub median_us: BTreeMap<&'static str, f64>,
    /// And more of each procedure.
    pub procedures: BTreeMap<&'static str, ProcedureCost>,
    /// Calls measured.
    pub calls: usize,
    /// Warehouses.
    pub warehouses: u64,
    /// Workers.
    pub workers: u32,
    /// Of the calls' arguments.
    pub seed: u64,
}

struct Measured {
    name: &'static str,
    making: Histogram<u64>,
    order: Histogram<u64>,
    end: Histogram<u64>,
    keys: u64,
}

/// A scheduler, its calls, and the clock.
struct Loop<'a> {
    clock: &'a dyn Clock,
    classes: Classes,
    scheduler: Scheduler,
    terminals: Vec<Box<dyn Calls>>,
    effects: Vec<Effect>,
    running: VecDeque<CallId>,
    /// By number: which procedure.
    procedures: Vec<u8>,
    measured: Vec<Measured>,
}

impl SchedulingRun {
    /// Measures.
    ///
    /// # Errors
    /// If the procedures' text cannot be read.
    ///
    /// # Panics
    /// If there is no warehouse or worker.
    pub fn execute(&self, clock: &dyn Clock) -> SqlResult<SchedulingReport> {
        let tpcc = Tpcc::new(Scale::full(self.warehouses), Mix::Full, self.seed);
        let classes = classes(&tpcc, self.rule)?;
        let mut config = Config::new(classes.modes().clone());
        config.pending_max = self.pending + 1;
        let histogram = || Histogram::new_with_bounds(1, 10_000_000_000, 3).expect("valid bounds");
        let measured = tpcc.procedures().iter().map(|procedure| Measured {
            name: procedure.name,
            making: histogram(),
            order: histogram(),
            end: histogram(),
            keys: 0,
        });
        let mut turns = Loop {
            clock,
            classes,
            scheduler: Scheduler::new(config),
            terminals: (0..self.warehouses as u32)
                .map(|client| tpcc.calls(client, self.seed))
                .collect(),
            effects: Vec::new(),
            running: VecDeque::new(),
            procedures: Vec::new(),
            measured: measured.collect(),
        };
        for worker in 0..self.workers {
            turns.handle(Event::WorkerJoined {
                worker: WorkerId(worker),
                slots: 1,
                holds: Holds::Everything,
                freshness: Freshness::Current,
            });
        }
        while turns.scheduler.pending() < self.pending {
            turns.submit();
        }
        // As many again, so that all that wait have met others, and memory is as it will be.
        for _ in 0..self.pending {
            turns.submit();
            turns.end();
        }
        for measured in &mut turns.measured {
            measured.making.reset();
            measured.order.reset();
            measured.end.reset();
            measured.keys = 0;
        }
        for _ in 0..self.calls {
            turns.submit();
            turns.end();
        }
        Ok(self.report(&turns.measured))
    }

    fn report(&self, measured: &[Measured]) -> SchedulingReport {
        let us = |nanos: u64| nanos as f64 / 1000.0;
        let medians = measured
            .iter()
            .map(|of| (of.name, us(of.order.value_at_quantile(0.5))));
        let costs = measured.iter().map(|of| {
            let cost = ProcedureCost {
                calls: of.order.len(),
                keys: of.keys as f64 / of.order.len().max(1) as f64,
                keys_median_us: us(of.making.value_at_quantile(0.5)),
                mean_us: of.order.mean() / 1000.0,
                p99_us: us(of.order.value_at_quantile(0.99)),
                max_us: us(of.order.max()),
                end_median_us: us(of.end.value_at_quantile(0.5)),
            };
            (of.name, cost)
        });
        SchedulingReport {
            workload: "tpcc",
            pending: self.pending,
            median_us: medians.collect(),
            procedures: costs.collect(),
            calls: self.calls,
            warehouses: self.warehouses,
            workers: self.workers,
            seed: self.seed,
        }
    }
}

/// The conflict classes of a workload's statements.
fn classes(workload: &dyn Workload, rule: Rule) -> SqlResult<Classes> {
    let mut catalog = Catalog::load([])?;
    for text in [workload.schema(), workload.procedure_text()] {
        catalog = catalog.with_script(text)?;
    }
    let format = FormatContext::default();
    let context = PlanContext {
        catalog: &catalog,
        schema: "public",
        user: quintet_sql::Who::SYSTEM,
        database: "quintet",
        format: &format,
        dynamic: &quintet_sql::NOTHING_DYNAMIC,
    };
    let mut footprints = Vec::new();
    for procedure in workload.procedures() {
        let types: Vec<_> = procedure
            .parameters
            .iter()
            .map(|ty| sql_type(*ty))
            .collect();
        for statement in quintet_sql::parse(procedure.statement)? {
            let Command::Run(run) = quintet_sql::plan(&statement, &context, &types)?.command else {
                return Err(SqlError::internal("a workload's statement runs something"));
            };
            let mut footprint = Footprint::of_procedure(&run);
            if footprint.only_reads() {
                // It is run on a snapshot, past the scheduler's order, and gives others no keys.
                footprint.marks.clear();
            }
            footprints.push(footprint);
        }
    }
    Ok(Classes::new(footprints, rule))
}

impl Loop<'_> {
    /// What one event costs, in nanoseconds.
    fn handle(&mut self, event: Event) -> u64 {
        let before = self.clock.monotonic_nanos();
        self.scheduler.handle(event, &mut self.effects);
        let nanos = self.clock.monotonic_nanos() - before;
        for effect in self.effects.drain(..) {
            if let Effect::Run { call, .. } = effect {
                self.running.push_back(call);
            }
        }
        nanos
    }

    fn submit(&mut self) {
        let number = self.procedures.len();
        let clients = self.terminals.len();
        let call: Call = self.terminals[number % clients].next_call();
        let mut arguments: Vec<Value> = call.arguments.iter().map(value).collect();
        let before = self.clock.monotonic_nanos();
        let mut keys = Vec::new();
        self.classes
            .keys_of(call.procedure, &mut arguments, &mut keys);
        let making = self.clock.monotonic_nanos() - before;
        let measured = &mut self.measured[call.procedure];
        measured.keys += keys.len() as u64;
        measured.making.saturating_record(making.max(1));
        self.procedures.push(call.procedure as u8);
        let access = match keys.is_empty() {
            true => Access::ReadOnly,
            false => Access::Update,
        };
        let submission = Submission {
            access,
            ..Submission::new(CallId(number as u64), keys)
        };
        let nanos = self.handle(Event::Submitted(submission));
        // Below a nanosecond a histogram has no place.
        self.measured[call.procedure]
            .order
            .saturating_record(nanos.max(1));
    }

    /// Ends the call that has run longest.
    fn end(&mut self) {
        let call = self.running.pop_front().expect("workers are never idle");
        let wrote = Wrote::Something;
        let nanos = self.handle(Event::Executed { call, wrote });
        let procedure = usize::from(self.procedures[call.0 as usize]);
        self.measured[procedure].end.saturating_record(nanos.max(1));
    }
}

impl SchedulingReport {
    /// One line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers and names only")
    }
}

impl fmt::Display for SchedulingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "ordering a call of TPC-C, {} warehouses, {} workers, {} calls pending (microseconds)",
            self.warehouses, self.workers, self.pending
        )?;
        write!(
            f,
            "{:<14}{:>9}{:>7}{:>9}{:>9}{:>9}{:>9}{:>11}{:>14}",
            "", "calls", "keys", "making", "median", "mean", "p99", "max", "ended, median"
        )?;
        for (name, cost) in &self.procedures {
            write!(
                f,
                "\n{name:<14}{:>9}{:>7.1}{:>9.2}{:>9.2}{:>9.2}{:>9.2}{:>11.1}{:>14.2}",
                cost.calls,
                cost.keys,
                cost.keys_median_us,
                self.median_us[name],
                cost.mean_us,
                cost.p99_us,
                cost.max_us,
                cost.end_median_us
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_analysis::Granularity;
    use quintet_base::Level;
    use quintet_rt::RealClock;

    // Every procedure is there, and as many calls wait as were asked for.
    #[test]
    fn a_run_measures_every_procedure() {
        let run = SchedulingRun {
            pending: 300,
            calls: 2000,
            warehouses: 2,
            workers: 4,
            seed: 7,
            rule: Rule {
                level: Level::Snapshot,
                granularity: Granularity::Column,
            },
        };
        let report = run.execute(&RealClock).unwrap();
        let calls: u64 = report.procedures.values().map(|cost| cost.calls).sum();
        assert_eq!((calls, report.median_us.len()), (2000, 5));
        assert!(report.median_us.values().all(|median| *median > 0.0));
        let keys = |name| report.procedures[name].keys;
        assert!(
            (10.0..12.0).contains(&keys("new-order")),
            "{}",
            keys("new-order")
        );
        assert_eq!((keys("payment"), keys("stock-level")), (4.0, 0.0));
        assert!(report.to_json().contains("\"median_us\":{\"delivery\":"));
    }
}
