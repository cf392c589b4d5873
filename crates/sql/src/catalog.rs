//! The catalogue: names to definitions.
//!
//! Relies on: `records` for what is stored, the binder for defaults and checks.  Promises: a
//! `Catalog` is an immutable value; a schema change makes a new one from the records it writes, and
//! the same records give the same catalogue after a restart.  Does not: read or write storage, or
//! decide what a schema change does (`ddl`).
//!
//! ```text
//! records --load--> Catalog --plan(DDL)--> changes --(session writes them)--> records
//!                      \------apply(changes)------> Catalog'
//! ```

use crate::records::{
    self, Counters, FIRST_ID, ForeignKeyRecord, RecordKey, RoutineRecord, SequenceRecord,
    TableRecord,
};
use crate::references;
use crate::routine::StoredRoutine;
use crate::stored;
use quintet_base::{ConstraintId, RoutineId, SequenceId, SpaceId, SqlResult, TableId};
use quintet_ir::Program;
use quintet_ir::schema::{SequenceDef, TableRef};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One record of the catalogue to write (`Some`) or remove (`None`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CatalogChange {
    /// The record's key in the catalogue's space.
    pub key: Vec<u8>,
    /// The record.
    pub value: Option<Vec<u8>>,
}

/// A table as it is stored and as plans see it.
#[derive(Clone, Debug)]
struct TableEntry {
    record: Arc<TableRecord>,
    /// By itself.
    alone: TableRef,
    /// With what refers to it and what it refers to.
    table: TableRef,
}

/// What a relation's name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Relation {
    Table(TableId),
    /// Number of the index in the table's `indexes`.
    Index(TableId, usize),
    /// The index of a table's primary key.
    PrimaryKey(TableId),
    Sequence(SequenceId),
}

/// An immutable catalogue.
#[derive(Clone, Debug)]
pub struct Catalog {
    next_id: u32,
    tables: BTreeMap<TableId, TableEntry>,
    sequences: BTreeMap<SequenceId, Arc<SequenceDef>>,
    /// Tables, indexes and sequences share their names within a schema.
    names: BTreeMap<String, BTreeMap<String, Relation>>,
    /// Several may have one name.
    routines: BTreeMap<RoutineId, Arc<StoredRoutine>>,
    foreign_keys: BTreeMap<ConstraintId, Arc<ForeignKeyRecord>>,
}

impl Catalog {
    /// The space that holds the catalogue's own records.
    pub const SPACE: SpaceId = SpaceId(1);
    /// The space that holds the sequences' counters.
    pub const SEQUENCE_SPACE: SpaceId = SpaceId(2);

    /// A catalogue from its stored records, in any order; none = a new database.
    ///
    /// # Errors
    /// `XX001` if a record cannot be read.
    pub fn load(records: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> SqlResult<Catalog> {
        let empty = Catalog {
            next_id: FIRST_ID,
            tables: BTreeMap::new(),
            sequences: BTreeMap::new(),
            names: BTreeMap::new(),
            routines: BTreeMap::new(),
            foreign_keys: BTreeMap::new(),
        };
        let changes: Vec<CatalogChange> = records
            .into_iter()
            .map(|(key, value)| CatalogChange {
                key,
                value: Some(value),
            })
            .collect();
        empty.apply(&changes)
    }

    /// The catalogue after these changes.
    ///
    /// # Errors
    /// `XX001` if a record cannot be read.
    pub fn apply(&self, changes: &[CatalogChange]) -> SqlResult<Catalog> {
        let mut next = self.clone();
        // What they were compiled to names definitions that change here.
        for routine in next.routines.values_mut() {
            *routine = Arc::new(routine.again());
        }
        let mut tables = Vec::new();
        // Sequences first: defaults of tables name them.
        for change in changes {
            match (RecordKey::decode(&change.key)?, &change.value) {
                (RecordKey::Counters, Some(value)) => {
                    next.next_id = records::read::<Counters>(value)?.next_id;
                }
                (RecordKey::Counters, None) => next.next_id = FIRST_ID,
                (RecordKey::Sequence(id), Some(value)) => {
                    let record: SequenceRecord = records::read(value)?;
                    next.sequences
                        .insert(id, Arc::new(stored::sequence(record)));
                }
                (RecordKey::Sequence(id), None) => {
                    next.sequences.remove(&id);
                }
                (RecordKey::Table(id), value) => tables.push((id, value)),
                (RecordKey::Routine(id), Some(value)) => {
                    let record: RoutineRecord = records::read(value)?;
                    next.routines
                        .insert(id, Arc::new(StoredRoutine::new(record)));
                }
                (RecordKey::Routine(id), None) => {
                    next.routines.remove(&id);
                }
                (RecordKey::ForeignKey(id), Some(value)) => {
                    let record: ForeignKeyRecord = records::read(value)?;
                    next.foreign_keys.insert(id, Arc::new(record));
                }
                (RecordKey::ForeignKey(id), None) => {
                    next.foreign_keys.remove(&id);
                }
            }
        }
        next.index_names();
        for (id, value) in tables {
            let Some(value) = value else {
                next.tables.remove(&id);
                continue;
            };
            let record: TableRecord = records::read(value)?;
            let table = Arc::new(stored::table(&next, &record)?);
            let record = Arc::new(record);
            next.tables.insert(
                id,
                TableEntry {
                    record,
                    alone: TableRef::clone(&table),
                    table,
                },
            );
        }
        next.index_names();
        next.refer();
        Ok(next)
    }

    /// Gives each table what refers to it and what it refers to.
    fn refer(&mut self) {
        let keys: Vec<Arc<ForeignKeyRecord>> = self.foreign_keys.values().cloned().collect();
        let alone: BTreeMap<TableId, TableRef> = self
            .tables
            .iter()
            .map(|(id, entry)| (*id, TableRef::clone(&entry.alone)))
            .collect();
        for (id, entry) in &mut self.tables {
            entry.table = match references::of_table(*id, &keys, &alone) {
                Some(references) => Arc::new(quintet_ir::TableDef {
                    references: Some(Arc::new(references)),
                    ..(*entry.alone).clone()
                }),
                None => TableRef::clone(&entry.alone),
            };
        }
    }

    /// All foreign keys, oldest first.
    pub(crate) fn foreign_keys(&self) -> impl Iterator<Item = &Arc<ForeignKeyRecord>> {
        self.foreign_keys.values()
    }

    /// The foreign keys of a table, oldest first.
    pub(crate) fn foreign_keys_of(
        &self,
        child: TableId,
    ) -> impl Iterator<Item = &Arc<ForeignKeyRecord>> {
        self.foreign_keys().filter(move |key| key.child == child)
    }

    /// The foreign keys that refer to a table, oldest first.
    pub(crate) fn foreign_keys_to(
        &self,
        parent: TableId,
    ) -> impl Iterator<Item = &Arc<ForeignKeyRecord>> {
        self.foreign_keys().filter(move |key| key.parent == parent)
    }

    fn index_names(&mut self) {
        let mut names: BTreeMap<String, BTreeMap<String, Relation>> = BTreeMap::new();
        let mut add = |schema: &str, name: &str, relation| {
            let schema = names.entry(schema.to_string()).or_default();
            schema.insert(name.to_string(), relation);
        };
        for (&id, sequence) in &self.sequences {
            add(&sequence.schema, &sequence.name, Relation::Sequence(id));
        }
        for (&id, entry) in &self.tables {
            let record = &entry.record;
            add(&record.schema, &record.name, Relation::Table(id));
            if let Some(key) = &record.primary_key {
                add(&record.schema, &key.name, Relation::PrimaryKey(id));
            }
            for (number, index) in record.indexes.iter().enumerate() {
                add(&record.schema, &index.name, Relation::Index(id, number));
            }
        }
        self.names = names;
    }

    /// Every space in use, the two system spaces included.
    pub fn spaces(&self) -> Vec<SpaceId> {
        let mut spaces = vec![Self::SPACE, Self::SEQUENCE_SPACE];
        for table in self.tables() {
            spaces.push(table.space);
            spaces.extend(table.indexes.iter().map(|index| index.space));
        }
        spaces
    }

    /// The table with this name.
    pub fn table(&self, schema: &str, name: &str) -> Option<&TableRef> {
        match self.relation(schema, name)? {
            Relation::Table(id) => self.table_by_id(id),
            _ => None,
        }
    }

    /// The table with this number.
    pub fn table_by_id(&self, id: TableId) -> Option<&TableRef> {
        self.tables.get(&id).map(|entry| &entry.table)
    }

    /// All tables, oldest first.
    pub fn tables(&self) -> impl Iterator<Item = &TableRef> {
        self.tables.values().map(|entry| &entry.table)
    }

    /// The sequence with this name.
    pub fn sequence(&self, schema: &str, name: &str) -> Option<&Arc<SequenceDef>> {
        match self.relation(schema, name)? {
            Relation::Sequence(id) => self.sequence_by_id(id),
            _ => None,
        }
    }

    /// The sequence with this number.
    pub fn sequence_by_id(&self, id: SequenceId) -> Option<&Arc<SequenceDef>> {
        self.sequences.get(&id)
    }

    /// All sequences, oldest first.
    pub fn sequences(&self) -> impl Iterator<Item = &Arc<SequenceDef>> {
        self.sequences.values()
    }

    /// What a name stands for.
    pub(crate) fn relation(&self, schema: &str, name: &str) -> Option<Relation> {
        self.names.get(schema)?.get(name).copied()
    }

    /// A table as it is stored.
    pub(crate) fn record(&self, id: TableId) -> Option<&TableRecord> {
        self.tables.get(&id).map(|entry| &*entry.record)
    }

    /// The procedures and functions with this name, oldest first.
    pub(crate) fn routines(&self, schema: &str, name: &str) -> Vec<&Arc<StoredRoutine>> {
        let named = |routine: &&Arc<StoredRoutine>| {
            routine.record.schema == schema && routine.record.name == name
        };
        self.routines.values().filter(named).collect()
    }

    /// All procedures and functions, oldest first.
    pub(crate) fn all_routines(&self) -> impl Iterator<Item = &Arc<StoredRoutine>> {
        self.routines.values()
    }

    /// All procedures and functions with those they call, oldest first: what each is called, with the types
    /// of its arguments, and its program, or what its body says against the schema as it is.
    pub fn programs(&self) -> impl Iterator<Item = (String, SqlResult<Arc<Program>>)> {
        self.routines.values().map(|stored| {
            let name = match stored.signature(self) {
                Ok(signature) => signature.describe(),
                Err(_) => stored.record.name.clone(),
            };
            (name, stored.program(self).map(Arc::clone))
        })
    }

    /// True if there is any procedure or function.
    pub(crate) fn has_routines(&self) -> bool {
        !self.routines.is_empty()
    }

    /// The procedure or function with this number.
    pub(crate) fn routine(&self, id: RoutineId) -> Option<&Arc<StoredRoutine>> {
        self.routines.get(&id)
    }

    /// The next number to give out.
    pub(crate) fn next_id(&self) -> u32 {
        self.next_id
    }
}
