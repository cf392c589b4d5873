//! Settings of PostgreSQL's planner, its memory and its log that clients set, and that steer nothing here.
//!
//! Relies on: nothing.  Promises: PostgreSQL 15's names, defaults and kinds.  Does not: list settings whose effect a client
//! would miss (`default_tablespace` with a name): those are refused.

/// A setting that is kept for whoever set it.
pub struct KeptSetting {
    /// Lower-case name.
    pub name: &'static str,
    /// Its value until somebody sets it, as SHOW has it.
    pub default: &'static str,
    /// As in `pg_settings`.
    pub category: &'static str,
    /// `bool`, `integer`, `real` or `enum`, as in `pg_settings`.
    pub kind: &'static str,
}

const METHODS: &str = "Query Tuning / Planner Method Configuration";
const COSTS: &str = "Query Tuning / Planner Cost Constants";
const PLANNER: &str = "Query Tuning / Other Planner Options";
const MEMORY: &str = "Resource Usage / Memory";
const LOGGED: &str = "Reporting and Logging / What to Log";
const WHEN_LOGGED: &str = "Reporting and Logging / When to Log";
const WORKERS: &str = "Resource Usage / Asynchronous Behavior";

const fn kept(
    name: &'static str,
    default: &'static str,
    category: &'static str,
    kind: &'static str,
) -> KeptSetting {
    KeptSetting {
        name,
        default,
        category,
        kind,
    }
}

/// All of them, by name.
pub const KEPT_SETTINGS: &[KeptSetting] = &[
    kept("constraint_exclusion", "partition", PLANNER, "enum"),
    kept("cpu_index_tuple_cost", "0.005", COSTS, "real"),
    kept("cpu_operator_cost", "0.0025", COSTS, "real"),
    kept("cpu_tuple_cost", "0.01", COSTS, "real"),
    kept("cursor_tuple_fraction", "0.1", PLANNER, "real"),
    kept("default_statistics_target", "100", PLANNER, "integer"),
    kept("effective_cache_size", "4GB", COSTS, "integer"),
    kept("effective_io_concurrency", "1", WORKERS, "integer"),
    kept("enable_async_append", "on", METHODS, "bool"),
    kept("enable_bitmapscan", "on", METHODS, "bool"),
    kept("enable_gathermerge", "on", METHODS, "bool"),
    kept("enable_hashagg", "on", METHODS, "bool"),
    kept("enable_hashjoin", "on", METHODS, "bool"),
    kept("enable_incremental_sort", "on", METHODS, "bool"),
    kept("enable_indexonlyscan", "on", METHODS, "bool"),
    kept("enable_indexscan", "on", METHODS, "bool"),
    kept("enable_material", "on", METHODS, "bool"),
    kept("enable_memoize", "on", METHODS, "bool"),
    kept("enable_mergejoin", "on", METHODS, "bool"),
    kept("enable_nestloop", "on", METHODS, "bool"),
    kept("enable_parallel_append", "on", METHODS, "bool"),
    kept("enable_parallel_hash", "on", METHODS, "bool"),
    kept("enable_partition_pruning", "on", METHODS, "bool"),
    kept("enable_partitionwise_aggregate", "off", METHODS, "bool"),
    kept("enable_partitionwise_join", "off", METHODS, "bool"),
    kept("enable_seqscan", "on", METHODS, "bool"),
    kept("enable_sort", "on", METHODS, "bool"),
    kept("enable_tidscan", "on", METHODS, "bool"),
    kept("from_collapse_limit", "8", PLANNER, "integer"),
    kept(
        "geqo",
        "on",
        "Query Tuning / Genetic Query Optimizer",
        "bool",
    ),
    kept("hash_mem_multiplier", "2", MEMORY, "real"),
    kept("jit", "on", PLANNER, "bool"),
    kept("jit_above_cost", "100000", COSTS, "real"),
    kept("join_collapse_limit", "8", PLANNER, "integer"),
    kept("log_duration", "off", LOGGED, "bool"),
    kept("log_error_verbosity", "default", LOGGED, "enum"),
    kept("log_lock_waits", "off", LOGGED, "bool"),
    kept("log_min_duration_statement", "-1", WHEN_LOGGED, "integer"),
    kept("log_min_error_statement", "error", WHEN_LOGGED, "enum"),
    kept("log_min_messages", "warning", WHEN_LOGGED, "enum"),
    kept("log_statement", "none", LOGGED, "enum"),
    kept("maintenance_work_mem", "64MB", MEMORY, "integer"),
    kept("max_parallel_workers", "8", WORKERS, "integer"),
    kept("max_parallel_workers_per_gather", "2", WORKERS, "integer"),
    kept("min_parallel_table_scan_size", "8MB", COSTS, "integer"),
    kept("parallel_setup_cost", "1000", COSTS, "real"),
    kept("parallel_tuple_cost", "0.1", COSTS, "real"),
    kept("plan_cache_mode", "auto", PLANNER, "enum"),
    kept("random_page_cost", "4", COSTS, "real"),
    kept("seq_page_cost", "1", COSTS, "real"),
    kept("temp_buffers", "8MB", MEMORY, "integer"),
];

/// The one with this name.
pub fn kept_setting(name: &str) -> Option<&'static KeptSetting> {
    let found = KEPT_SETTINGS.binary_search_by(|known| known.name.cmp(name));
    found.ok().map(|place| &KEPT_SETTINGS[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_in_order_and_found() {
        assert!(KEPT_SETTINGS.is_sorted_by_key(|known| known.name));
        for known in KEPT_SETTINGS {
            assert!(kept_setting(known.name).is_some(), "{}", known.name);
        }
        assert!(kept_setting("enable_everything").is_none());
    }
}
