//! What two calls that ran side by side, on one snapshot, have written in common.
//!
//! Promises: it finds what would make one of two commits fail, or their common outcome break a unique key.

use quintet_analysis::Granularity;
use quintet_base::Value;
use quintet_ir::schema::TableRef;
use quintet_reference::Database;
use std::collections::BTreeMap;

type Rows = BTreeMap<String, Vec<Value>>;

/// `databases`: the snapshot, and what each call has made of it.
pub fn in_common(
    tables: &[TableRef],
    databases: [&Database; 3],
    granularity: Granularity,
) -> Option<String> {
    tables.iter().find_map(|table| {
        of_table(
            table,
            databases.map(|database| rows(table, database)),
            granularity,
        )
    })
}

fn of_table(table: &TableRef, rows: [Rows; 3], granularity: Granularity) -> Option<String> {
    let [before, one, other] = rows;
    let mut merged = Rows::new();
    let keys = before.keys().chain(one.keys()).chain(other.keys());
    for key in keys {
        let [was, first, second] = [&before, &one, &other].map(|rows| rows.get(key));
        let found = |what: &str| Some(format!("both {what} {} {key}", table.name));
        match (was, first, second) {
            (None, Some(_), Some(_)) => return found("insert"),
            (Some(_), None, None) => return found("delete"),
            (Some(was), Some(row), None) | (Some(was), None, Some(row)) if was != row => {
                return found("delete and update");
            }
            (Some(was), Some(first), Some(second)) => {
                let mut row = was.clone();
                let changed = |new: &[Value]| -> Vec<usize> {
                    (0..new.len())
                        .filter(|column| new[*column] != was[*column])
                        .collect()
                };
                let [one, other] = [changed(first), changed(second)];
                let common = one.iter().any(|column| other.contains(column));
                let by_row =
                    granularity != Granularity::Column && !one.is_empty() && !other.is_empty();
                if common || by_row {
                    return found("update");
                }
                for column in one {
                    row[column] = first[column].clone();
                }
                for column in other {
                    row[column] = second[column].clone();
                }
                merged.insert(key.clone(), row);
            }
            (Some(_), _, _) | (None, None, None) => {}
            (None, Some(row), None) | (None, None, Some(row)) => {
                merged.insert(key.clone(), row.clone());
            }
        }
    }
    for index in table.indexes.iter().filter(|index| index.unique) {
        let mut taken = BTreeMap::new();
        for (key, row) in &merged {
            let claimed: Vec<&Value> = index.columns.iter().map(|column| &row[*column]).collect();
            if !index.nulls_equal && claimed.iter().any(|value| value.is_null()) {
                continue;
            }
            let types = index.columns.iter().map(|column| table.frame_type(*column));
            let hashed = |(value, ty): (&Value, _)| {
                (!value.is_null()).then(|| quintet_analysis::hashed(value, ty))
            };
            let claimed: Vec<Option<u64>> = claimed.into_iter().zip(types).map(hashed).collect();
            if let Some(holder) = taken.insert(claimed, key) {
                return Some(format!(
                    "rows {holder} and {key} of {} are the same in {}",
                    table.name, index.name
                ));
            }
        }
    }
    None
}

/// Rows by their keys; those without one by their ids.
fn rows(table: &TableRef, database: &Database) -> Rows {
    let columns = table.key_columns();
    let rows = database.rows(table).map(|row| {
        let key = columns.iter().map(|column| {
            let ty = table.frame_type(*column);
            format!("{:x}", quintet_analysis::hashed(&row[*column], ty))
        });
        (key.collect::<Vec<_>>().join(" "), row.clone())
    });
    rows.collect()
}
