//! The statistics views: which objects there are to have figures about.
//!
//! Relies on: the catalogue.  Promises: one row per object, as PostgreSQL's views have.  Does not: count
//! anything; the figures are 0 and the times NULL (the server's own are at its metrics door).

use super::indexes::all_indexes;
use super::{Definition, oid, text};
use crate::planner::Planner;
use quintet_base::Value;

const TABLE: &[&str] = &[
    "relid",
    "schemaname",
    "relname",
    "seq_scan",
    "seq_tup_read",
    "idx_scan",
    "idx_tup_fetch",
    "n_tup_ins",
    "n_tup_upd",
    "n_tup_del",
    "n_tup_hot_upd",
    "n_live_tup",
    "n_dead_tup",
    "n_mod_since_analyze",
    "n_ins_since_vacuum",
    "vacuum_count",
    "autovacuum_count",
    "analyze_count",
    "autoanalyze_count",
];

const INDEX: &[&str] = &[
    "relid",
    "indexrelid",
    "schemaname",
    "relname",
    "indexrelname",
    "idx_scan",
    "idx_tup_read",
    "idx_tup_fetch",
];

const TABLE_IO: &[&str] = &[
    "relid",
    "schemaname",
    "relname",
    "heap_blks_read",
    "heap_blks_hit",
    "idx_blks_read",
    "idx_blks_hit",
];

const INDEX_IO: &[&str] = &[
    "relid",
    "indexrelid",
    "schemaname",
    "relname",
    "indexrelname",
    "idx_blks_read",
    "idx_blks_hit",
];

pub(super) const RELATIONS: &[Definition] = &[
    Definition {
        name: "pg_stat_user_tables",
        columns: TABLE,
        rows: |planner| tables(planner, TABLE.len()),
    },
    Definition {
        name: "pg_stat_all_tables",
        columns: TABLE,
        rows: |planner| tables(planner, TABLE.len()),
    },
    Definition {
        name: "pg_statio_user_tables",
        columns: TABLE_IO,
        rows: |planner| tables(planner, TABLE_IO.len()),
    },
    Definition {
        name: "pg_statio_all_tables",
        columns: TABLE_IO,
        rows: |planner| tables(planner, TABLE_IO.len()),
    },
    Definition {
        name: "pg_stat_user_indexes",
        columns: INDEX,
        rows: |planner| indexes(planner, INDEX.len()),
    },
    Definition {
        name: "pg_stat_all_indexes",
        columns: INDEX,
        rows: |planner| indexes(planner, INDEX.len()),
    },
    Definition {
        name: "pg_statio_user_indexes",
        columns: INDEX_IO,
        rows: |planner| indexes(planner, INDEX_IO.len()),
    },
    Definition {
        name: "pg_statio_all_indexes",
        columns: INDEX_IO,
        rows: |planner| indexes(planner, INDEX_IO.len()),
    },
    Definition {
        name: "pg_stat_archiver",
        columns: &["archived_count", "failed_count"],
        rows: |_| vec![vec![Value::Int8(0); 2]],
    },
    Definition {
        name: "pg_stat_bgwriter",
        columns: &[
            "checkpoints_timed",
            "checkpoints_req",
            "buffers_checkpoint",
            "buffers_clean",
            "maxwritten_clean",
            "buffers_backend",
            "buffers_backend_fsync",
            "buffers_alloc",
        ],
        rows: |_| vec![vec![Value::Int8(0); 8]],
    },
];

fn tables(planner: &Planner, width: usize) -> Vec<Vec<Value>> {
    let rows = planner.catalog().tables().map(|table| {
        let mut row = vec![oid(table.id.0), text(&table.schema), text(&table.name)];
        row.resize(width, Value::Int8(0));
        row
    });
    rows.collect()
}

fn indexes(planner: &Planner, width: usize) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in planner.catalog().tables() {
        for (number, name, ..) in all_indexes(table) {
            let mut row = vec![
                oid(table.id.0),
                oid(number),
                text(&table.schema),
                text(&table.name),
                text(name),
            ];
            row.resize(width, Value::Int8(0));
            rows.push(row);
        }
    }
    rows
}
