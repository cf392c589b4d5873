//! Which anomalies a list-append history shows.
//!
//! Relies on: `graph` and `search`.  Promises: for each level, an anomaly is reported exactly if the
//! lists read show one that the level forbids; each comes with the transactions and the reasons.
//! Does not: check registers, or prove that nothing happened that nobody read.
//!
//! Each class is looked for in the smallest set of edges that can show it, first without and then
//! with real time; what a smaller class explains already is not reported again.
//!
//! | class | edges | must contain |
//! |---|---|---|
//! | G0 | ww | |
//! | G1c | ww wr | wr |
//! | lost update, G-single, G-nonadjacent | ww wr rw, no two rw in a row | rw |
//! | G2 | ww wr rw | rw |

use super::anomaly::{Anomaly, AnomalyKind, Report};
use super::graph::{self, Edge, Graph, Why};
use super::search::{Allowed, Cycle, Search};
use super::{History, Transaction};
use std::fmt::Write;

/// Cycles of one class that are reported.
const REPORTED_MAX: usize = 8;

/// Checks a history.
///
/// # Panics
/// If a value was appended to a list twice, by transactions that did not fail.
pub fn check(history: &History) -> Report {
    let reading = graph::read(history);
    let mut report = Report {
        anomalies: reading.anomalies,
        committed: reading.committed,
        dependencies: reading.dependencies,
    };
    let checker = Checker {
        graph: &reading.graph,
        transactions: &history.transactions,
    };
    checker.stale_reads(&mut report);
    for real_time in [false, true] {
        checker.dependency_cycles(real_time, &mut report);
        checker.snapshot_cycles(real_time, &mut report);
        checker.serial_cycles(real_time, &mut report);
    }
    report
}

struct Checker<'h> {
    graph: &'h Graph,
    transactions: &'h [Transaction],
}

fn is_rt(edge: &Edge) -> bool {
    edge.why == Why::Earlier
}

fn is_ww(edge: &Edge) -> bool {
    matches!(edge.why, Why::WroteOver { .. })
}

fn is_wr(edge: &Edge) -> bool {
    matches!(edge.why, Why::ReadFrom { .. })
}

fn is_rw(edge: &Edge) -> bool {
    edge.why.is_rw()
}

impl Checker<'_> {
    /// A reader that began after a write was answered must see it, at every level.
    fn stale_reads(&self, report: &mut Report) {
        let mut left = REPORTED_MAX;
        for reader in 0..self.graph.transactions {
            for edge in self.graph.edges[reader].iter().filter(|edge| is_rw(edge)) {
                let invoked = self.transactions[reader].invoked;
                let completed = self.transactions[edge.to].completed;
                if left > 0 && completed.is_some_and(|completed| completed < invoked) {
                    left -= 1;
                    let cycle = vec![
                        (reader, *edge),
                        (
                            edge.to,
                            Edge {
                                to: reader,
                                why: Why::Earlier,
                            },
                        ),
                    ];
                    report
                        .anomalies
                        .push(self.anomaly(AnomalyKind::StaleRead, true, &cycle));
                }
            }
        }
    }

    fn dependency_cycles(&self, real_time: bool, report: &mut Report) {
        let (writes, reads): (Allowed, Allowed) = match real_time {
            false => (is_ww, |edge| is_ww(edge) || is_wr(edge)),
            true => (|edge| is_ww(edge) || is_rt(edge), |edge| !is_rw(edge)),
        };
        let search = Search {
            graph: self.graph,
            allowed: writes,
            nonadjacent: false,
        };
        self.report(
            AnomalyKind::DirtyWrite,
            real_time,
            search.cycles(is_ww),
            report,
        );
        let search = Search {
            graph: self.graph,
            allowed: reads,
            nonadjacent: false,
        };
        self.report(
            AnomalyKind::CircularInformation,
            real_time,
            search.cycles(is_wr),
            report,
        );
    }

    fn snapshot_cycles(&self, real_time: bool, report: &mut Report) {
        let allowed: Allowed = if real_time {
            |_| true
        } else {
            |edge| !is_rt(edge)
        };
        let search = Search {
            graph: self.graph,
            allowed,
            nonadjacent: true,
        };
        for cycle in search.cycles(is_rw).into_iter().take(REPORTED_MAX) {
            self.report(class_of(&cycle), real_time, vec![cycle], report);
        }
    }

    fn serial_cycles(&self, real_time: bool, report: &mut Report) {
        let allowed: Allowed = if real_time {
            |_| true
        } else {
            |edge| !is_rt(edge)
        };
        let search = Search {
            graph: self.graph,
            allowed,
            nonadjacent: false,
        };
        // The shortest cycle of a component may be one that a weaker level forbids already; that one
        // was reported, and a serializable history has neither.
        let cycles = search.cycles(is_rw).into_iter();
        let cycles = cycles
            .filter(|cycle| class_of(cycle) == AnomalyKind::WriteSkew)
            .collect();
        self.report(AnomalyKind::WriteSkew, real_time, cycles, report);
    }

    fn report(&self, kind: AnomalyKind, real_time: bool, cycles: Vec<Cycle>, report: &mut Report) {
        let needs_time = |cycle: &Cycle| cycle.iter().any(|(_, edge)| is_rt(edge));
        let cycles = cycles
            .into_iter()
            .filter(|cycle| !real_time || needs_time(cycle));
        for cycle in cycles.take(REPORTED_MAX) {
            report.anomalies.push(self.anomaly(kind, real_time, &cycle));
        }
    }

    fn anomaly(&self, kind: AnomalyKind, real_time: bool, cycle: &Cycle) -> Anomaly {
        // Moments are left out: what comes through them is one step of real time.
        let first = cycle
            .iter()
            .position(|(node, _)| *node < self.graph.transactions)
            .unwrap_or(0);
        let steps: Vec<(usize, Edge)> = cycle[first..]
            .iter()
            .chain(&cycle[..first])
            .copied()
            .filter(|(node, _)| *node < self.graph.transactions)
            .collect();
        let mut explanation = String::new();
        for (place, (node, edge)) in steps.iter().enumerate() {
            let (next, _) = steps[(place + 1) % steps.len()];
            let reason = match edge.why {
                Why::WroteOver { list, value } => {
                    format!(
                        "ww  T{next} appended {value} to list {list} after what T{node} appended"
                    )
                }
                Why::ReadFrom { list, value } => {
                    format!("wr  T{next} read {value} in list {list}, which T{node} appended")
                }
                Why::DidNotSee { list, value } => {
                    format!("rw  T{node} read list {list} without {value}, which T{next} appended")
                }
                Why::Earlier => format!("rt  T{node} was answered before T{next} began"),
            };
            // Writing to a string can not fail.
            let _ = writeln!(explanation, "  T{node} before T{next}: {reason}");
        }
        for (node, _) in &steps {
            let _ = writeln!(explanation, "    T{node} {}", self.transactions[*node]);
        }
        let transactions = steps.iter().map(|(node, _)| *node).collect();
        Anomaly {
            kind,
            real_time,
            transactions,
            explanation,
        }
    }
}

/// What a cycle with rw edges is.
fn class_of(cycle: &Cycle) -> AnomalyKind {
    let rw: Vec<usize> = (0..cycle.len())
        .filter(|place| is_rw(&cycle[*place].1))
        .collect();
    let adjacent = |place: &usize| is_rw(&cycle[(place + 1) % cycle.len()].1);
    match rw.as_slice() {
        [only] => {
            let rw = cycle[*only].1.why;
            let back = cycle[(only + 1) % cycle.len()].1;
            if cycle.len() == 2 && is_ww(&back) && back.why.list() == rw.list() {
                AnomalyKind::LostUpdate
            } else {
                AnomalyKind::ReadSkew
            }
        }
        several if several.iter().any(adjacent) => AnomalyKind::WriteSkew,
        _ => AnomalyKind::Nonadjacent,
    }
}
