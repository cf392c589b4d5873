//! What a transaction wrote, row by row, as its server's log tells it.
//!
//! Relies on: replica identities as the server has them; values as text, in the settings that every stream asks
//! for, so that equal values of one type are equal texts on all replicas.  Promises: two write sets that
//! touch one row, or make rows that a unique index takes for equal, have a [`RowKey`] in common.  Does not: know collations that take
//! different texts for equal, nor indexes that were made after the stream was opened.
//!
//! ```text
//!   change   relation    old key or old row (update of a key, delete)    new values (insert, update)
//!   tuple    u8 kind of each column: n null, u unchanged and not told, t text    u32 length    bytes
//! ```

use crate::frame::Reader;
use bytes::Bytes;
use foldhash::quality::FixedState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

/// By what a table's rows are told apart in updates and deletes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Identity {
    /// The primary key, if there is one.
    Default,
    /// The columns of a unique index.
    Index,
    /// All columns.
    Full,
    /// Nothing: rows can only be inserted.
    Nothing,
}

/// A column that travels.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The server's number of its type; another server has another one unless it is built in.
    pub type_oid: u32,
    /// Part of what tells rows apart.
    pub key: bool,
}

/// A table as it was when a change was made.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Relation {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What tells rows apart.
    pub identity: Identity,
    /// All that travel, in their order.
    pub columns: Vec<Column>,
    /// By what else no two rows may be equal.
    pub uniques: Vec<Unique>,
}

/// A unique index that is not the replica identity.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Unique {
    /// Its number at this server, which is only to tell it from the others of its table.
    pub number: u32,
    /// Its columns, by position in [`Relation::columns`]; an expression is left out, so that more rows count as equal than are.
    pub columns: Vec<usize>,
    /// Whether two rows with a NULL there may be equal.
    pub nulls_equal: bool,
}

impl Relation {
    /// The same on every replica.
    pub fn table_hash(&self) -> u64 {
        let mut hasher = FixedState::default().build_hasher();
        hasher.write(self.schema.as_bytes());
        hasher.write_u8(0);
        hasher.write(self.name.as_bytes());
        hasher.finish()
    }

    /// True if the server says what an updated or removed row was.
    pub fn has_key(&self) -> bool {
        self.columns.iter().any(|column| column.key)
    }
}

/// A value of a tuple.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field<'a> {
    /// None.
    Null,
    /// A long value that the update did not change; it is not told.
    Unchanged,
    /// As text.
    Text(&'a [u8]),
}

/// Values of a row, one for each column of its relation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tuple(Bytes);

impl Tuple {
    /// Reads a tuple from the front of a message.
    pub(crate) fn read(reader: &mut Reader<'_>, columns: usize) -> Result<Tuple, String> {
        let count = usize::from(reader.u16()?);
        if count != columns {
            return Err(format!("a row of {count} columns in a table of {columns}"));
        }
        let all = reader.rest();
        for _ in 0..count {
            match reader.u8()? {
                b'n' | b'u' => {}
                b't' => {
                    let length = reader.u32()? as usize;
                    reader.bytes(length)?;
                }
                kind => return Err(format!("a value of kind {kind:#04x}")),
            }
        }
        let bytes = all.len() - reader.rest().len();
        // A copy: the message lies in a buffer with many others that would be kept as long.
        Ok(Tuple(Bytes::copy_from_slice(&all[..bytes])))
    }

    /// Its values in the order of the columns.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (kind, after) = rest.split_first()?;
            rest = after;
            Some(match kind {
                b'n' => Field::Null,
                b'u' => Field::Unchanged,
                _ => {
                    let (length, after) =
                        rest.split_first_chunk().expect("checked when it was read");
                    let (value, after) = after.split_at(u32::from_be_bytes(*length) as usize);
                    rest = after;
                    Field::Text(value)
                }
            })
        })
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }
}

/// One change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// A row came.
    Insert {
        /// Into this table.
        relation: Arc<Relation>,
        /// All of it.
        new: Tuple,
    },
    /// A row became another.
    Update {
        /// Of this table.
        relation: Arc<Relation>,
        /// Its key as it was, if that has changed; all of it if the identity is [`Identity::Full`]. Columns outside of the key are null.
        old: Option<Tuple>,
        /// As it is now.
        new: Tuple,
    },
    /// A row went.
    Delete {
        /// From this table.
        relation: Arc<Relation>,
        /// Its key, or all of it. Columns outside of the key are null.
        old: Tuple,
    },
    /// All rows went.
    Truncate {
        /// From these tables.
        relations: Vec<Arc<Relation>>,
        /// And from those that refer to them.
        cascade: bool,
        /// Their sequences begin anew.
        restart: bool,
    },
}

impl Change {
    fn bytes(&self) -> usize {
        size_of::<Change>()
            + match self {
                Change::Insert { new, .. } => new.bytes(),
                Change::Update { old, new, .. } => {
                    new.bytes() + old.as_ref().map_or(0, Tuple::bytes)
                }
                Change::Delete { old, .. } => old.bytes(),
                Change::Truncate { .. } => 0,
            }
    }
}

/// A row by what tells it apart. Equal rows have equal keys; that others may be equal, too, costs concurrency only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowKey {
    /// [`Relation::table_hash`].
    pub table: u64,
    /// Of the key's values.
    pub row: u64,
}

/// All that a transaction wrote, in its order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct WriteSet {
    changes: Vec<Change>,
    bytes: usize,
}

impl WriteSet {
    pub(crate) fn push(&mut self, change: Change) {
        self.bytes += change.bytes();
        self.changes.push(change);
    }

    /// In the order in which they were made.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// True if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// What it takes in memory, nearly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Hashes of the tables that were emptied. Those conflict with every key of the table, which no [`RowKey`] says.
    pub fn truncated(&self) -> Vec<u64> {
        let mut tables: Vec<u64> = self
            .changes
            .iter()
            .filter_map(|change| match change {
                Change::Truncate { relations, .. } => Some(relations),
                _ => None,
            })
            .flatten()
            .map(|relation| relation.table_hash())
            .collect();
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    /// Keys of all rows that were touched, sorted, each once. An update that changed its key has both. A row that came or changed
    /// also has a key for each other unique index: whoever makes an equal one elsewhere must not do so at the same time.
    /// Rows of tables without any of these have none: they can only be inserted, and never meet.
    pub fn row_keys(&self) -> Vec<RowKey> {
        let mut keys = Vec::with_capacity(self.changes.len());
        // Changes of one table often follow one another.
        let mut last: Option<(&Arc<Relation>, u64)> = None;
        for change in &self.changes {
            let (relation, old, new) = match change {
                Change::Insert { relation, new } => (relation, None, Some(new)),
                Change::Update { relation, old, new } => (relation, old.as_ref(), Some(new)),
                Change::Delete { relation, old } => (relation, Some(old), None),
                Change::Truncate { .. } => continue,
            };
            if !relation.has_key() && relation.uniques.is_empty() {
                continue;
            }
            let table = match last {
                Some((known, table)) if Arc::ptr_eq(known, relation) => table,
                _ => relation.table_hash(),
            };
            last = Some((relation, table));
            if relation.has_key() {
                let mut push = |tuple: &Tuple, missing: Option<&Tuple>| {
                    let row = row_hash(relation, tuple, missing);
                    keys.push(RowKey { table, row });
                };
                if let Some(old) = old {
                    push(old, None);
                }
                if let Some(new) = new {
                    push(new, old);
                }
            }
            if let Some(new) = new {
                let rows = relation
                    .uniques
                    .iter()
                    .filter_map(|unique| unique.hash(relation, new));
                keys.extend(rows.map(|row| RowKey { table, row }));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

impl Unique {
    /// Of the values there; nothing if no other row can be equal, or if they are what they were.
    fn hash(&self, relation: &Relation, new: &Tuple) -> Option<u64> {
        let mut hasher = FixedState::default().build_hasher();
        hasher.write(b"unique");
        // By the names, because another server has another number for the same index.
        for column in &self.columns {
            hasher.write(relation.columns.get(*column)?.name.as_bytes());
            hasher.write_u8(0);
        }
        let mut fields = new.fields().enumerate();
        for wanted in &self.columns {
            // Columns of an index come in any order.
            let field = match fields.find(|(number, _)| number == wanted) {
                Some((_, field)) => field,
                None => {
                    fields = new.fields().enumerate();
                    fields.find(|(number, _)| number == wanted)?.1
                }
            };
            match field {
                Field::Unchanged => return None,
                Field::Null if !self.nulls_equal => return None,
                Field::Null => hasher.write_u8(0),
                Field::Text(text) => {
                    hasher.write_u8(2);
                    let text = canonical(relation.columns[*wanted].type_oid, text);
                    hasher.write(text);
                    hasher.write_usize(text.len());
                }
            }
        }
        Some(hasher.finish())
    }
}

/// Of the key's values; what is not told in `tuple` is taken from `missing`.
fn row_hash(relation: &Relation, tuple: &Tuple, missing: Option<&Tuple>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    let mut others = missing.map(Tuple::fields);
    for (column, mut field) in relation.columns.iter().zip(tuple.fields()) {
        let other = others.as_mut().and_then(Iterator::next);
        if !column.key {
            continue;
        }
        if field == Field::Unchanged {
            field = other.unwrap_or(Field::Unchanged);
        }
        match field {
            Field::Null => hasher.write_u8(0),
            Field::Unchanged => hasher.write_u8(1),
            Field::Text(text) => {
                hasher.write_u8(2);
                let text = canonical(column.type_oid, text);
                hasher.write(text);
                hasher.write_usize(text.len());
            }
        }
    }
    hasher.finish()
}

/// The text that all equal values of the type share. For types of which it is not certain that there is one, the
/// empty text: rows that differ there only have one key, which costs concurrency.
fn canonical(type_oid: u32, text: &[u8]) -> &[u8] {
    match type_oid {
        // bool, bytea, "char", name, int8, int2, int4, text, oid, date, time, timestamp, timestamptz, varchar, uuid
        16..=21 | 23 | 25 | 26 | 1082 | 1083 | 1114 | 1184 | 1043 | 2950 => text,
        // bpchar: blanks at the end mean nothing
        1042 => text.trim_ascii_end(),
        // numeric: 1.50 equals 1.5
        1700 if text.contains(&b'.') => {
            let zeros = text.iter().rev().take_while(|byte| **byte == b'0').count();
            let text = &text[..text.len() - zeros];
            text.strip_suffix(b".").unwrap_or(text)
        }
        1700 => text,
        // float4, float8: -0 equals 0
        700 | 701 if text == b"-0" => b"0",
        700 | 701 => text,
        _ => b"",
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use bytes::{BufMut, BytesMut};

    pub(crate) fn relation(identity: Identity, columns: &[(&str, u32, bool)]) -> Arc<Relation> {
        Arc::new(Relation {
            schema: "public".to_owned(),
            name: "t".to_owned(),
            identity,
            columns: columns
                .iter()
                .map(|(name, type_oid, key)| Column {
                    name: (*name).to_owned(),
                    type_oid: *type_oid,
                    key: *key,
                })
                .collect(),
            uniques: Vec::new(),
        })
    }

    /// `~` stands for a value that is not told.
    pub(crate) fn tuple(values: &[Option<&str>]) -> Tuple {
        let mut bytes = BytesMut::new();
        for value in values {
            match value {
                None => bytes.put_u8(b'n'),
                Some("~") => bytes.put_u8(b'u'),
                Some(text) => {
                    bytes.put_u8(b't');
                    bytes.put_u32(text.len() as u32);
                    bytes.put_slice(text.as_bytes());
                }
            }
        }
        Tuple(bytes.freeze())
    }

    fn keys(changes: Vec<Change>) -> Vec<RowKey> {
        let mut set = WriteSet::default();
        changes.into_iter().for_each(|change| set.push(change));
        set.row_keys()
    }

    fn insert(relation: &Arc<Relation>, values: &[Option<&str>]) -> Change {
        Change::Insert {
            relation: relation.clone(),
            new: tuple(values),
        }
    }

    #[test]
    fn a_row_has_one_key_whatever_is_done_to_it() {
        let table = relation(Identity::Default, &[("a", 23, true), ("b", 25, false)]);
        let inserted = keys(vec![insert(&table, &[Some("7"), Some("x")])]);
        let updated = keys(vec![Change::Update {
            relation: table.clone(),
            old: None,
            new: tuple(&[Some("7"), Some("~")]),
        }]);
        let deleted = keys(vec![Change::Delete {
            relation: table.clone(),
            old: tuple(&[Some("7"), None]),
        }]);
        assert_eq!(inserted.len(), 1);
        assert_eq!(inserted, updated);
        assert_eq!(inserted, deleted);
        assert_ne!(
            inserted,
            keys(vec![insert(&table, &[Some("8"), Some("x")])])
        );
    }

    #[test]
    fn an_update_of_the_key_has_both_keys() {
        let table = relation(Identity::Default, &[("a", 23, true), ("b", 25, true)]);
        let moved = keys(vec![Change::Update {
            relation: table.clone(),
            old: Some(tuple(&[Some("1"), Some("long")])),
            new: tuple(&[Some("2"), Some("~")]),
        }]);
        let both = keys(vec![
            insert(&table, &[Some("1"), Some("long")]),
            insert(&table, &[Some("2"), Some("long")]),
        ]);
        assert_eq!(moved, both);
        assert_eq!(moved.len(), 2);
    }

    #[test]
    fn columns_do_not_run_into_one_another() {
        let table = relation(Identity::Default, &[("a", 25, true), ("b", 25, true)]);
        let one = keys(vec![insert(&table, &[Some("ab"), Some("c")])]);
        let other = keys(vec![insert(&table, &[Some("a"), Some("bc")])]);
        assert_ne!(one, other);
    }

    #[test]
    fn equal_values_of_a_type_are_one_key() {
        for (type_oid, one, other) in [
            (1700, "1.50", "1.5"),
            (1700, "100.00", "100"),
            (1042, "ab  ", "ab"),
            (701, "-0", "0"),
            (1186, "24:00:00", "1 day"),
        ] {
            let table = relation(Identity::Default, &[("a", type_oid, true)]);
            let key = |text| keys(vec![insert(&table, &[Some(text)])]);
            assert_eq!(key(one), key(other), "{one} {other}");
        }
        let table = relation(Identity::Default, &[("a", 1700, true)]);
        let key = |text| keys(vec![insert(&table, &[Some(text)])]);
        assert_ne!(key("100"), key("1"));
        assert_ne!(key("0"), key("10"));
    }

    #[test]
    fn rows_without_key_have_none() {
        let table = relation(Identity::Default, &[("a", 23, false)]);
        assert!(keys(vec![insert(&table, &[Some("1")])]).is_empty());
    }

    #[test]
    fn rows_that_a_unique_index_takes_for_equal_have_a_key_in_common() {
        let with = |nulls_equal, identity: bool| {
            let mut table = (*relation(
                Identity::Default,
                &[("a", 23, identity), ("b", 25, false), ("c", 25, false)],
            ))
            .clone();
            table.uniques.push(Unique {
                number: 1,
                columns: vec![2, 1],
                nulls_equal,
            });
            Arc::new(table)
        };
        let shared = |table: &Arc<Relation>, one: &[Option<&str>], other: &[Option<&str>]| {
            let one = keys(vec![insert(table, one)]);
            let other = keys(vec![Change::Update {
                relation: table.clone(),
                old: None,
                new: tuple(other),
            }]);
            one.iter().filter(|key| other.contains(key)).count()
        };
        for identity in [true, false] {
            let table = with(false, identity);
            assert_eq!(
                shared(
                    &table,
                    &[Some("1"), Some("x"), Some("y")],
                    &[Some("2"), Some("x"), Some("y")]
                ),
                1
            );
            assert_eq!(
                shared(
                    &table,
                    &[Some("1"), Some("x"), Some("y")],
                    &[Some("2"), Some("y"), Some("x")]
                ),
                0
            );
            assert_eq!(
                shared(
                    &table,
                    &[Some("1"), Some("x"), None],
                    &[Some("2"), Some("x"), None]
                ),
                0
            );
            assert_eq!(
                shared(
                    &table,
                    &[Some("1"), Some("x"), Some("y")],
                    &[Some("2"), Some("x"), Some("~")]
                ),
                0
            );
        }
        assert_eq!(
            shared(
                &with(true, true),
                &[Some("1"), Some("x"), None],
                &[Some("2"), Some("x"), None]
            ),
            1
        );
    }

    #[test]
    fn emptied_tables_are_named() {
        let table = relation(Identity::Default, &[("a", 23, true)]);
        let mut set = WriteSet::default();
        set.push(Change::Truncate {
            relations: vec![table.clone(), table.clone()],
            cascade: false,
            restart: false,
        });
        assert_eq!(set.truncated(), [table.table_hash()]);
        assert!(set.row_keys().is_empty());
    }
}
