//! Counters of the door, and everybody's counters as Prometheus reads them.
//!
//! Relies on: `embed` for the engine's counters.  Promises: counting costs a few relaxed additions
//! per statement.  Does not: reset anything; rates are for whoever reads.

use quintet_base::limits::SLOW_SYNC_MS;
use quintet_embed::{BatchStats, DatabaseStats};
use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// Kinds of statements told apart, by the first word of their tag.
const KINDS: [&str; 10] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "COPY", "BEGIN", "COMMIT", "ROLLBACK", "CALL", "other",
];

/// Upper bounds of the latency histogram, in microseconds. From a cached statement to one that
/// somebody will ask about.
const BOUNDS_MICROS: [u64; 18] = [
    10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000,
    500_000, 1_000_000, 2_500_000, 10_000_000,
];

/// Classes of SQLSTATE told apart; the last takes the others.
const CLASSES: [&str; 16] = [
    "08", "0A", "22", "23", "25", "28", "40", "42", "53", "54", "55", "57", "58", "72", "XX",
    "other",
];

/// Counters. Written by all connections, read by whoever asks; no other data hangs on them.
#[derive(Debug, Default)]
pub struct Metrics {
    pub(crate) connections_open: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) connections_refused: AtomicU64,
    pub(crate) authentications_failed: AtomicU64,
    pub(crate) cancel_requests: AtomicU64,
    pub(crate) received_bytes: AtomicU64,
    pub(crate) sent_bytes: AtomicU64,
    statements: [AtomicU64; KINDS.len()],
    errors: [AtomicU64; CLASSES.len()],
    /// Not cumulative: a statement counts in the first bucket that takes it; the last has no bound.
    latency: [AtomicU64; BOUNDS_MICROS.len() + 1],
    latency_nanos: AtomicU64,
}

/// A kind of statement: its place in [`KINDS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind(usize);

impl Kind {
    /// Of the first word of a tag.
    pub fn of(word: &str) -> Kind {
        Kind(
            KINDS
                .iter()
                .position(|kind| *kind == word)
                .unwrap_or(KINDS.len() - 1),
        )
    }
}

pub(crate) fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Metrics {
    /// Connections being served.
    pub fn connections_open(&self) -> u64 {
        get(&self.connections_open)
    }

    pub(crate) fn statement(&self, kind: Kind, nanos: u64) {
        add(&self.statements[kind.0], 1);
        let micros = nanos.div_ceil(1_000);
        add(
            &self.latency[BOUNDS_MICROS.partition_point(|bound| *bound < micros)],
            1,
        );
        add(&self.latency_nanos, nanos);
    }

    /// Counts an error that a client is told of.
    pub fn count_error(&self, state: &str) {
        self.error(state);
    }

    pub(crate) fn error(&self, state: &str) {
        let class = CLASSES.iter().position(|class| state.starts_with(class));
        add(&self.errors[class.unwrap_or(CLASSES.len() - 1)], 1);
    }

    /// The door's and a database's in the text format of Prometheus.
    pub fn render(&self, engine: &DatabaseStats) -> String {
        let mut page = self.page();
        page.engine(engine);
        page.text()
    }

    /// The door's in the text format of Prometheus; others may be added.
    pub fn page(&self) -> Page {
        let mut page = Page(String::with_capacity(8 * 1024));
        let connections = [
            ("connections", "Connections accepted.", &self.connections),
            (
                "connections_refused",
                "Connections refused: too many clients.",
                &self.connections_refused,
            ),
            (
                "authentications_failed",
                "Log-ins refused.",
                &self.authentications_failed,
            ),
            ("cancel_requests", "Cancel requests.", &self.cancel_requests),
            (
                "received_bytes",
                "Bytes received from clients.",
                &self.received_bytes,
            ),
            ("sent_bytes", "Bytes sent to clients.", &self.sent_bytes),
        ];
        page.gauge(
            "connections_open",
            "Connections being served.",
            get(&self.connections_open),
        );
        for (name, help, counter) in connections {
            page.counter(name, help, get(counter));
        }
        page.labelled(
            "statements",
            "Statements carried out.",
            "kind",
            &KINDS,
            &self.statements,
        );
        page.labelled(
            "errors",
            "Errors sent to clients.",
            "class",
            &CLASSES,
            &self.errors,
        );
        self.latency(&mut page);
        page
    }

    fn latency(&self, page: &mut Page) {
        const NAME: &str = "statement_seconds";
        page.head(NAME, "Time from the message to its answer.", "histogram");
        let mut sum = 0;
        for (i, bucket) in self.latency.iter().enumerate() {
            sum += get(bucket);
            let bound = BOUNDS_MICROS.get(i);
            let bound = bound.map_or("+Inf".into(), |micros| (*micros as f64 / 1e6).to_string());
            page.sample(&format!("{NAME}_bucket{{le=\"{bound}\"}}"), sum);
        }
        page.sample(
            &format!("{NAME}_sum"),
            get(&self.latency_nanos) as f64 / 1e9,
        );
        page.sample(&format!("{NAME}_count"), sum);
    }
}

/// A page in Prometheus' text format. Every name gets the prefix `quintet_`, counters the suffix
/// `_total`, as its conventions ask.
pub struct Page(String);

impl Page {
    /// Names what follows.
    pub fn head(&mut self, name: &str, help: &str, kind: &str) {
        let page = &mut self.0;
        let _ = writeln!(
            page,
            "# HELP quintet_{name} {help}\n# TYPE quintet_{name} {kind}"
        );
    }

    /// One more value of what was named last.
    pub fn sample(&mut self, name: &str, value: impl Display) {
        let _ = writeln!(self.0, "quintet_{name} {value}");
    }

    /// All of it.
    pub fn text(self) -> String {
        self.0
    }

    /// A number that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, help, "gauge");
        self.sample(name, value);
    }

    /// A number that only grows; its name ends in `_total` on the page.
    pub fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        let name = format!("{name}_total");
        self.head(&name, help, "counter");
        self.sample(&name, value);
    }

    fn labelled(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: &[&str],
        counters: &[AtomicU64],
    ) {
        let name = format!("{name}_total");
        self.head(&name, help, "counter");
        for (value, counter) in values.iter().zip(counters) {
            self.sample(&format!("{name}{{{label}=\"{value}\"}}"), get(counter));
        }
    }

    fn batches(&mut self, batches: &BatchStats) {
        let counts = [
            (
                "batch_calls",
                "Calls that were run in batches.",
                batches.calls,
            ),
            ("batches", "Batches committed.", batches.batches),
            (
                "batches_lost",
                "Batches run again because a transaction outside changed what they read or wrote.",
                batches.lost,
            ),
            (
                "batch_waits",
                "Times that a batch waited for rows that transactions outside had locked.",
                batches.waits,
            ),
            (
                "batch_calls_put_out",
                "Calls put out of their batches and run by themselves.",
                batches.put_out,
            ),
            (
                "batch_calls_failed",
                "Calls that failed and were undone inside their batches.",
                batches.failed,
            ),
        ];
        for (name, help, count) in counts {
            self.counter(name, help, count);
        }
        self.gauge(
            "batch_calls_pending",
            "Calls that wait for a batch.",
            batches.pending,
        );
    }

    fn engine(&mut self, engine: &DatabaseStats) {
        let DatabaseStats {
            tc,
            log,
            store,
            retries,
            chains,
            batches,
        } = engine;
        self.counter("commits", "Transactions committed that wrote.", tc.commits);
        self.counter(
            "commits_read_only",
            "Transactions committed that only read.",
            tc.read_only,
        );
        self.counter(
            "call_retries",
            "Calls, and statements by themselves, run again because they had lost a conflict.",
            retries,
        );
        let calls = [
            (
                "chain_calls",
                "Calls put in line before they were run.",
                chains.calls,
            ),
            (
                "chain_calls_waited",
                "Calls in line that had to wait for others.",
                chains.waited,
            ),
            (
                "chain_calls_refused",
                "Calls refused because too many were in line.",
                chains.refused,
            ),
            (
                "chain_calls_unclassed",
                "Calls run past the line because nothing is known of them beforehand.",
                chains.unclassed,
            ),
        ];
        for (name, help, count) in calls {
            self.counter(name, help, count);
        }
        self.batches(batches);
        self.counter(
            "chain_wait_seconds",
            "Time that calls have waited in line.",
            chains.wait_nanos as f64 / 1e9,
        );
        self.gauge(
            "chain_calls_waiting",
            "Calls that wait in line.",
            chains.waiting,
        );
        self.counter(
            "memtable_compactions",
            "Passes that moved what was committed into STORE.",
            tc.compactions,
        );
        self.counter(
            "commit_stalls",
            "Commits that waited for room in memory.",
            tc.stalls,
        );
        self.counter(
            "commits_held_back",
            "Commits that were slowed down while memory was nearly full.",
            tc.held_back,
        );
        self.gauge(
            "dirty_bytes",
            "Bytes of log that STORE does not have yet.",
            tc.dirty_bytes,
        );
        self.gauge(
            "log_buffer_bytes",
            "Bytes of the log's buffers in use.",
            tc.buffer_bytes,
        );
        self.gauge(
            "record_bytes",
            "Bytes of records in memory beside the log's buffers.",
            tc.record_bytes,
        );
        self.gauge("records", "Records in memory.", tc.records);
        self.gauge(
            "generations",
            "Generations of STORE that snapshots read.",
            tc.generations,
        );
        self.gauge("snapshots", "Snapshots in use.", tc.snapshots);
        self.gauge(
            "row_waiters",
            "Transactions that wait for a row.",
            tc.waiting,
        );
        self.counter("log_records", "Records appended to the log.", log.records);
        self.counter("log_bytes", "Bytes appended to the log.", log.bytes);
        self.counter(
            "log_groups",
            "Groups of records written to the log.",
            log.groups,
        );
        self.counter("log_syncs", "Syncs of the log.", log.syncs);
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        self.counter(
            "log_sync_seconds",
            "Time in syncs of the log.",
            seconds(log.sync_nanos_total),
        );
        self.counter(
            "log_slow_syncs",
            &format!("Syncs of the log that took longer than {SLOW_SYNC_MS} ms."),
            log.slow_syncs,
        );
        self.gauge(
            "log_sync_seconds_max",
            "Longest sync of the log.",
            seconds(log.sync_nanos_max),
        );
        self.gauge("log_segments", "Segments of the log.", log.segments);
        self.gauge(
            "log_disk_bytes",
            "Bytes of the log on disk.",
            log.disk_bytes,
        );
        self.gauge(
            "log_kept_segments",
            "Segments of the log in its archive.",
            log.kept_segments,
        );
        self.gauge(
            "log_kept_bytes",
            "Bytes of the log in its archive.",
            log.kept_bytes,
        );
        self.counter(
            "log_keep_failures",
            "Segments that could not be put into the archive, and are tried again.",
            log.keep_failures,
        );
        self.gauge("store_spaces", "Key spaces of STORE.", store.spaces);
        self.gauge("store_tablets", "Tablets of STORE.", store.tablets);
        self.gauge(
            "store_disk_bytes",
            "Bytes of STORE on disk.",
            store.disk_bytes,
        );
        self.gauge(
            "store_memory_bytes",
            "Bytes of STORE in memory.",
            store.memory_bytes,
        );
        self.counter("store_merges", "Runs merged into STORE.", store.merges);
        self.counter(
            "store_operations",
            "Operations of those merges.",
            store.operations,
        );
        self.counter(
            "store_checkpoints",
            "Checkpoints of STORE.",
            store.checkpoints,
        );
        self.counter(
            "store_compactions",
            "Tablets merged with tablets.",
            store.compactions,
        );
        let failed = store.compactions_failed;
        self.counter(
            "store_compactions_failed",
            "The same that failed and are tried again.",
            failed,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_counts_under_its_kind_and_in_the_bucket_that_takes_it() {
        let metrics = Metrics::default();
        metrics.statement(Kind::of("INSERT"), 10_000);
        metrics.statement(Kind::of("SELECT"), 10_001);
        metrics.statement(Kind::of("CREATE"), u64::MAX / 4);
        metrics.statement(Kind::of(""), 0);
        let of = |counters: &[AtomicU64]| counters.iter().map(get).collect::<Vec<_>>();
        assert_eq!(of(&metrics.statements), [1, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
        let latency = of(&metrics.latency);
        assert_eq!((latency[0], latency[1], latency[18]), (2, 1, 1));
        metrics.error("40001");
        metrics.error("P0001");
        assert_eq!(
            of(&metrics.errors),
            [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        );
    }

    #[test]
    fn the_histogram_on_the_page_is_cumulative() {
        let metrics = Metrics::default();
        metrics.statement(Kind::of("SELECT"), 5_000);
        metrics.statement(Kind::of("SELECT"), 20_000);
        let mut page = Page(String::new());
        metrics.latency(&mut page);
        for line in [
            "quintet_statement_seconds_bucket{le=\"0.00001\"} 1\n",
            "quintet_statement_seconds_bucket{le=\"0.000025\"} 2\n",
            "quintet_statement_seconds_bucket{le=\"+Inf\"} 2\n",
            "quintet_statement_seconds_sum 0.000025\n",
            "quintet_statement_seconds_count 2\n",
            "# TYPE quintet_statement_seconds histogram\n",
        ] {
            assert!(page.0.contains(line), "{line} is not in\n{}", page.0);
        }
    }
}
