//! Who depends on whom: the graph behind a list-append history.
//!
//! Relies on: no value is appended to a list twice, so a list read tells who wrote it, in which
//! order (by transactions that did not fail).  Promises: every edge holds in whatever execution gave the history; time and space grow
//! with the operations and the values read.  Does not: guess an order where nobody read one.
//! (Kingsbury and Alvaro: *Elle*, VLDB 2020.)
//!
//! ```text
//!   list 7, longest read   1 ─── 2 ─── 3      written by  A, B, C
//!                          A ─ww─► B ─ww─► C
//!   T read [1, 2]          B ─wr─► T ─rw─► C
//! ```
//!
//! Real time would need an edge for every pair that did not overlap. Instead there is a node for
//! each moment at which a transaction had completed; these form a chain:
//!
//! ```text
//!   A completed ─► moment 1 ─► moment 2 ─► …      B invoked after moment 1:  moment 1 ─► B
//! ```

use super::anomaly::{Anomaly, AnomalyKind};
use super::{Ending, History, Operation};
use std::collections::{HashMap, HashSet};

/// Why one transaction comes before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    /// The other appended `value` to the list right after this one's values.
    WroteOver { list: u64, value: u64 },
    /// The other read this one's `value`.
    ReadFrom { list: u64, value: u64 },
    /// This one read the list without `value`, which the other appended.
    DidNotSee { list: u64, value: u64 },
    /// This one was complete before the other began.
    Earlier,
}

impl Why {
    pub fn is_rw(self) -> bool {
        matches!(self, Why::DidNotSee { .. })
    }

    pub fn list(self) -> Option<u64> {
        match self {
            Why::WroteOver { list, .. }
            | Why::ReadFrom { list, .. }
            | Why::DidNotSee { list, .. } => Some(list),
            Why::Earlier => None,
        }
    }
}

/// An edge to a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub to: usize,
    pub why: Why,
}

/// The graph. Nodes below `transactions` are the history's transactions, the others moments.
pub(super) struct Graph {
    pub transactions: usize,
    pub edges: Vec<Vec<Edge>>,
}

/// What reading the lists alone showed.
pub(super) struct Reading {
    pub graph: Graph,
    pub anomalies: Vec<Anomaly>,
    pub committed: usize,
    pub dependencies: usize,
}

/// Who appended a value.
#[derive(Clone, Copy)]
struct Writer {
    transaction: usize,
    /// It appended more to the same list afterwards.
    intermediate: bool,
}

struct Reader<'h> {
    history: &'h History,
    writers: HashMap<(u64, u64), Writer>,
    /// Committed for sure, or unknown and seen by one that is.
    committed: Vec<bool>,
    anomalies: Vec<Anomaly>,
    edges: Vec<Vec<Edge>>,
    known: HashSet<(usize, usize, u8, u64)>,
}

/// Reads a history into a graph.
pub(super) fn read(history: &History) -> Reading {
    let count = history.transactions.len();
    let mut reader = Reader {
        history,
        writers: HashMap::new(),
        committed: history
            .transactions
            .iter()
            .map(|t| t.ending == Ending::Ok)
            .collect(),
        anomalies: Vec::new(),
        edges: vec![Vec::new(); count],
        known: HashSet::new(),
    };
    reader.find_writers();
    let spines = reader.find_spines();
    reader.check_reads(&spines);
    reader.connect(&spines);
    let dependencies = reader.edges.iter().map(Vec::len).sum();
    reader.connect_times();
    Reading {
        committed: reader
            .committed
            .iter()
            .filter(|committed| **committed)
            .count(),
        graph: Graph {
            transactions: count,
            edges: reader.edges,
        },
        anomalies: reader.anomalies,
        dependencies,
    }
}

impl<'h> Reader<'h> {
    fn find_writers(&mut self) {
        for (number, transaction) in self.history.transactions.iter().enumerate() {
            let mut last: HashMap<u64, u64> = HashMap::new();
            for operation in &transaction.operations {
                let Operation::Append { list, value } = operation else {
                    continue;
                };
                let writer = Writer {
                    transaction: number,
                    intermediate: false,
                };
                match self.writers.get(&(*list, *value)) {
                    // A failed transaction may be tried again as it was; then the value speaks for
                    // the try that did not fail.
                    Some(_) if transaction.ending == Ending::Fail => continue,
                    Some(before) => {
                        let before = &self.history.transactions[before.transaction];
                        let again = before.ending == Ending::Fail;
                        assert!(again, "value {value} was appended to list {list} twice");
                    }
                    None => {}
                }
                self.writers.insert((*list, *value), writer);
                if let Some(earlier) = last.insert(*list, *value)
                    && let Some(writer) = self.writers.get_mut(&(*list, earlier))
                {
                    writer.intermediate = true;
                }
            }
        }
    }

    /// Reads of committed transactions: (transaction, list, values).
    fn reads(&self) -> impl Iterator<Item = (usize, u64, &'h [u64])> {
        let committed = self.history.transactions.iter().enumerate();
        let committed = committed.filter(|(_, transaction)| transaction.ending == Ending::Ok);
        committed.flat_map(|(number, transaction)| {
            transaction
                .operations
                .iter()
                .filter_map(move |operation| match operation {
                    Operation::Read {
                        list,
                        values: Some(values),
                    } => Some((number, *list, &values[..])),
                    _ => None,
                })
        })
    }

    /// The longest read of each list: the order of its writers as far as anybody saw it.
    fn find_spines(&mut self) -> HashMap<u64, &'h [u64]> {
        let mut spines: HashMap<u64, &'h [u64]> = HashMap::new();
        for (_, list, values) in self.reads() {
            let spine = spines.entry(list).or_default();
            if values.len() > spine.len() {
                *spine = values;
            }
        }
        for (list, spine) in &spines {
            for value in *spine {
                if let Some(writer) = self.writers.get(&(*list, *value))
                    && self.history.transactions[writer.transaction].ending == Ending::Unknown
                {
                    self.committed[writer.transaction] = true;
                }
            }
        }
        spines
    }

    fn check_reads(&mut self, spines: &HashMap<u64, &'h [u64]>) {
        let reads: Vec<_> = self.reads().collect();
        for (reader, list, values) in reads {
            let mut seen = HashSet::new();
            if let Some(twice) = values.iter().find(|value| !seen.insert(**value)) {
                self.note(
                    AnomalyKind::Duplicate,
                    &[reader],
                    format!("value {twice} twice in list {list}"),
                );
            }
            if !spines[&list].starts_with(values) {
                let longest = spines[&list];
                let text = format!("list {list} was read as {values:?} and as {longest:?}");
                self.note(AnomalyKind::Incompatible, &[reader], text);
            }
            for value in values {
                match self.writers.get(&(list, *value)) {
                    None => {
                        let text = format!("value {value} of list {list} was appended by nobody");
                        self.note(AnomalyKind::Garbage, &[reader], text);
                    }
                    Some(writer)
                        if self.history.transactions[writer.transaction].ending == Ending::Fail =>
                    {
                        let writer = writer.transaction;
                        let text =
                            format!("value {value} of list {list} is of T{writer}, which failed");
                        self.note(AnomalyKind::AbortedRead, &[reader, writer], text);
                    }
                    Some(_) => {}
                }
            }
            if let Some(last) = values.last()
                && let Some(writer) = self.writers.get(&(list, *last)).copied()
                && writer.intermediate
                && writer.transaction != reader
            {
                let writer = writer.transaction;
                let text =
                    format!("list {list} ends with {last}, but T{writer} appended more to it");
                self.note(AnomalyKind::IntermediateRead, &[reader, writer], text);
            }
        }
        self.check_own_writes();
    }

    /// A transaction sees what it has appended itself, at the end of the list.
    fn check_own_writes(&mut self) {
        let history = self.history;
        for (number, transaction) in history.transactions.iter().enumerate() {
            let mut own: HashMap<u64, Vec<u64>> = HashMap::new();
            for operation in &transaction.operations {
                match operation {
                    Operation::Append { list, value } => own.entry(*list).or_default().push(*value),
                    Operation::Read {
                        list,
                        values: Some(values),
                    } if transaction.ending == Ending::Ok => {
                        let expected = own.get(list).map_or(&[][..], |own| own);
                        if !values.ends_with(expected) {
                            let text = format!(
                                "list {list} read as {values:?} after appending {expected:?}"
                            );
                            self.note(AnomalyKind::Internal, &[number], text);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn note(&mut self, kind: AnomalyKind, transactions: &[usize], text: String) {
        let mut explanation = format!("  {text}\n");
        for number in transactions {
            explanation.push_str(&format!(
                "    T{number} {}\n",
                self.history.transactions[*number]
            ));
        }
        self.anomalies.push(Anomaly {
            kind,
            real_time: false,
            transactions: transactions.to_vec(),
            explanation,
        });
    }

    fn connect(&mut self, spines: &HashMap<u64, &'h [u64]>) {
        let mut unseen = self.unseen(spines);
        for (list, spine) in spines {
            for pair in spine.windows(2) {
                if let (Some(before), Some(after)) =
                    (self.writer(*list, pair[0]), self.writer(*list, pair[1]))
                {
                    self.edge(
                        before,
                        after,
                        Why::WroteOver {
                            list: *list,
                            value: pair[1],
                        },
                    );
                }
            }
            if let Some(before) = spine.last().and_then(|last| self.writer(*list, *last)) {
                for (after, value) in unseen.get(list).into_iter().flatten() {
                    self.edge(
                        before,
                        *after,
                        Why::WroteOver {
                            list: *list,
                            value: *value,
                        },
                    );
                }
            }
        }
        let reads: Vec<_> = self.reads().collect();
        for (reader, list, values) in reads {
            let last = values
                .last()
                .and_then(|last| Some((*last, self.writer(list, *last)?)));
            match last {
                // Its own writes at the end: what follows wrote over them, which is a ww already.
                Some((_, writer)) if writer == reader => {
                    let foreign = values.iter().rev().find_map(|value| {
                        self.writer(list, *value)
                            .filter(|writer| *writer != reader)
                            .map(|w| (*value, w))
                    });
                    if let Some((value, writer)) = foreign {
                        self.edge(writer, reader, Why::ReadFrom { list, value });
                    }
                    continue;
                }
                Some((value, writer)) => self.edge(writer, reader, Why::ReadFrom { list, value }),
                None => {}
            }
            let spine = spines[&list];
            if !spine.starts_with(values) {
                continue;
            }
            match spine.get(values.len()) {
                Some(next) => {
                    if let Some(writer) = self.writer(list, *next) {
                        self.edge(reader, writer, Why::DidNotSee { list, value: *next });
                    }
                }
                None => {
                    for (writer, value) in unseen.entry(list).or_default().clone() {
                        self.edge(reader, writer, Why::DidNotSee { list, value });
                    }
                }
            }
        }
    }

    /// Committed appends that nobody read: they come after all that was read.
    fn unseen(&self, spines: &HashMap<u64, &'h [u64]>) -> HashMap<u64, Vec<(usize, u64)>> {
        let seen: HashSet<(u64, u64)> = spines
            .iter()
            .flat_map(|(list, spine)| spine.iter().map(|value| (*list, *value)))
            .collect();
        let mut unseen: HashMap<u64, Vec<(usize, u64)>> = HashMap::new();
        for (number, transaction) in self.history.transactions.iter().enumerate() {
            if transaction.ending != Ending::Ok {
                continue;
            }
            let mut lists = HashSet::new();
            for operation in &transaction.operations {
                if let Operation::Append { list, value } = operation
                    && lists.insert(*list)
                    && !seen.contains(&(*list, *value))
                {
                    unseen.entry(*list).or_default().push((number, *value));
                }
            }
        }
        unseen
    }

    /// The committed transaction that appended a value.
    fn writer(&self, list: u64, value: u64) -> Option<usize> {
        let writer = self.writers.get(&(list, value))?.transaction;
        self.committed[writer].then_some(writer)
    }

    fn edge(&mut self, from: usize, to: usize, why: Why) {
        let kind = match why {
            Why::WroteOver { .. } => 0,
            Why::ReadFrom { .. } => 1,
            Why::DidNotSee { .. } => 2,
            Why::Earlier => 3,
        };
        if from != to && self.known.insert((from, to, kind, why.list().unwrap_or(0))) {
            self.edges[from].push(Edge { to, why });
        }
    }

    fn connect_times(&mut self) {
        let mut events: Vec<(u64, usize, bool)> = Vec::new();
        for (number, transaction) in self.history.transactions.iter().enumerate() {
            if !self.committed[number] {
                continue;
            }
            events.push((transaction.invoked, number, false));
            events.extend(
                transaction
                    .completed
                    .map(|completed| (completed, number, true)),
            );
        }
        events.sort_unstable();
        let mut moment: Option<usize> = None;
        for (_, number, completed) in events {
            let why = Why::Earlier;
            if completed {
                let next = self.edges.len();
                self.edges.push(Vec::new());
                if let Some(moment) = moment {
                    self.edges[moment].push(Edge { to: next, why });
                }
                self.edges[number].push(Edge { to: next, why });
                moment = Some(next);
            } else if let Some(moment) = moment {
                self.edges[moment].push(Edge { to: number, why });
            }
        }
    }
}
