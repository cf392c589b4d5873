//! Tables as maps from key to row.
//!
//! Relies on: `Value::order`, which is the order of keys.  Promises: a clone is a snapshot; it costs a
//! pointer per table until one of the two is changed.  Does not: keep index entries: an index is an order
//! in which rows may be asked for.

use quintet_base::{SpaceId, SqlType, Value};
use quintet_ir::TableDef;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All rows of all tables.
#[derive(Clone, Debug, Default)]
pub struct Database {
    tables: BTreeMap<SpaceId, Arc<Table>>,
    /// Given out in tables that have no row yet.
    row_ids_from: i64,
}

/// Rows are the table's frame: its columns, and the row id behind them if there is no primary key.
#[derive(Clone, Debug, Default)]
struct Table {
    /// A row that is written is another one, whatever is in it.
    rows: BTreeMap<Key, Arc<Vec<Value>>>,
    row_ids: i64,
}

/// Values of some columns of a row, as they compare.
#[derive(Clone, Debug)]
pub(crate) struct Key(pub Vec<Value>);

impl Database {
    /// The rows of a table in the order of their keys, as its frame.
    pub fn rows(&self, table: &TableDef) -> impl Iterator<Item = &Vec<Value>> {
        let table = self.tables.get(&table.space);
        let rows = table.into_iter().flat_map(|table| table.rows.values());
        rows.map(Arc::as_ref)
    }

    pub(crate) fn row(&self, table: &TableDef, key: &Key) -> Option<&Vec<Value>> {
        self.tables
            .get(&table.space)?
            .rows
            .get(key)
            .map(Arc::as_ref)
    }

    /// Whether a row is the same one in both.
    pub(crate) fn is_unwritten(&self, since: &Database, table: &TableDef, key: &Key) -> bool {
        let [then, now] =
            [since, self].map(|database| database.tables.get(&table.space)?.rows.get(key));
        match (then, now) {
            (Some(then), Some(now)) => Arc::ptr_eq(then, now),
            (then, now) => then.is_none() && now.is_none(),
        }
    }

    /// A row goes where its key says.
    pub(crate) fn put(&mut self, table: &TableDef, row: Vec<Value>) {
        let key = Key::of_row(table, &row);
        self.table(table).rows.insert(key, Arc::new(row));
    }

    pub(crate) fn remove(&mut self, table: &TableDef, key: &Key) {
        self.table(table).rows.remove(key);
    }

    /// Everything is as it was; but numbers of rows that were given out are not given out again.
    pub(crate) fn back_to(&mut self, before: Database) {
        let after = std::mem::replace(self, before);
        for (space, table) in after.tables {
            let row_ids = table.row_ids;
            let known = self.tables.entry(space).or_default();
            if known.row_ids < row_ids {
                Arc::make_mut(known).row_ids = row_ids;
            }
        }
    }

    /// A number that no row of the table has.
    pub(crate) fn row_id(&mut self, table: &TableDef) -> i64 {
        let table = self.table(table);
        table.row_ids += 1;
        table.row_ids
    }

    /// New rows of tables without a primary key are numbered behind this. None there has such a number.
    pub fn number_rows_from(&mut self, number: i64) {
        self.row_ids_from = number;
        for table in self.tables.values_mut() {
            Arc::make_mut(table).row_ids = number;
        }
    }

    fn table(&mut self, table: &TableDef) -> &mut Table {
        let row_ids = self.row_ids_from;
        let fresh = || {
            Arc::new(Table {
                row_ids,
                ..Table::default()
            })
        };
        Arc::make_mut(self.tables.entry(table.space).or_insert_with(fresh))
    }
}

impl Key {
    /// The key that a row is kept by.
    pub fn of_row(table: &TableDef, row: &[Value]) -> Key {
        Key::of(table, &table.key_columns(), row)
    }

    /// The values of these columns.
    pub fn of(table: &TableDef, columns: &[usize], row: &[Value]) -> Key {
        let value = |column: &usize| as_compared(row[*column].clone(), table.frame_type(*column));
        Key(columns.iter().map(value).collect())
    }

    /// NULL equals nothing, so such a key is nobody else's.
    pub fn has_null(&self) -> bool {
        self.0.iter().any(Value::is_null)
    }
}

/// `char(n)` compares without its trailing blanks.
pub(crate) fn as_compared(value: Value, ty: SqlType) -> Value {
    match value {
        Value::Text(text) if ty == SqlType::Bpchar => Value::text(text.trim_end_matches(' ')),
        value => value,
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        let pairs = self.0.iter().zip(&other.0);
        let mut orders = pairs.map(|(a, b)| a.order(b));
        orders
            .find(|order| order.is_ne())
            .unwrap_or_else(|| self.0.len().cmp(&other.0.len()))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}
