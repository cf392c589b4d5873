//! Unique indexes of a server besides the replica identities.
//!
//! Relies on: the catalogue when a stream is opened.  Promises: an index that cannot be followed value by value (an expression, a
//! condition, an exclusion) takes more rows for equal than there are, never fewer.  Does not: notice indexes that are made later.

use crate::connection::Row;
use crate::write_set::{Relation, Unique};

/// Of all tables.
#[derive(Debug, Default)]
pub(crate) struct Uniques {
    indexes: Vec<Index>,
}

#[derive(Debug)]
struct Index {
    number: u32,
    schema: String,
    table: String,
    nulls_equal: bool,
    columns: Vec<String>,
}

impl Uniques {
    /// A row for each column of each index. What an exclusion constraint compares is not looked at: any two rows may collide.
    pub const QUERY: &str = "SELECT i.indexrelid, n.nspname, c.relname, i.indnullsnotdistinct, a.attname FROM pg_index i \
         JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
         CROSS JOIN generate_series(0, i.indnkeyatts - 1) k \
         LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[k] AND a.attnum > 0 AND NOT i.indisexclusion \
         WHERE (i.indisunique OR i.indisexclusion) AND c.relpersistence = 'p' \
         AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'quintet') \
         AND NOT (c.relreplident = 'd' AND i.indisprimary) AND NOT (c.relreplident = 'i' AND i.indisreplident) \
         ORDER BY i.indexrelid, k";

    /// From what the query brings.
    pub fn of(rows: &[Row]) -> Uniques {
        let mut indexes: Vec<Index> = Vec::new();
        for row in rows {
            let [
                Some(number),
                Some(schema),
                Some(table),
                Some(nulls_equal),
                column,
            ] = row.as_slice()
            else {
                continue;
            };
            let number = number.parse().unwrap_or(0);
            if indexes.last().is_none_or(|last| last.number != number) {
                indexes.push(Index {
                    number,
                    schema: schema.clone(),
                    table: table.clone(),
                    nulls_equal: nulls_equal == "t",
                    columns: Vec::new(),
                });
            }
            if let (Some(last), Some(column)) = (indexes.last_mut(), column) {
                last.columns.push(column.clone());
            }
        }
        Uniques { indexes }
    }

    /// Tells a relation which it has. A column that is not among its own is left out.
    pub fn put_into(&self, relation: &mut Relation) {
        let of_it = self
            .indexes
            .iter()
            .filter(|index| index.table == relation.name && index.schema == relation.schema);
        let uniques = of_it.map(|index| {
            let position = |name: &String| {
                relation
                    .columns
                    .iter()
                    .position(|column| column.name == *name)
            };
            Unique {
                number: index.number,
                columns: index.columns.iter().filter_map(position).collect(),
                nulls_equal: index.nulls_equal,
            }
        });
        relation.uniques = uniques.collect();
    }
}
