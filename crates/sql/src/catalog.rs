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

use crate::databases::Databases;
use crate::large_object::LargeObjects;
use crate::parse;
use crate::partition::Divisions;
use crate::records::{
    self, AccessRecord, ColumnAccessRecord, CommentsRecord, Counters, DefaultsRecord,
    ExtensionRecord, FIRST_ID, ForeignKeyRecord, MatviewRecord, OnCommit, RecordKey, SchemaRecord,
    SecurityRecord, SettingsRecord, TableRecord, TriggerRecord, TypeRecord, ViewRecord,
};
use crate::references;
use crate::role::{Access, Roles};
use crate::routine::{StoredRoutine, Variants, built_in, is_polymorphic};
use crate::stored;
use crate::system;
use quintet_base::ids::TEMPORARY;
use quintet_base::objects::name_marked;
use quintet_base::types::ROW_TYPE;
use quintet_base::{ConstraintId, IndexId, RoutineId, SequenceId, SpaceId, SqlResult, TableId};
use quintet_ir::Program;
use quintet_ir::partition::Partitions;
use quintet_ir::schema::{SequenceDef, TableRef};
use std::collections::{BTreeMap, BTreeSet};
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
    View(TableId),
    /// A part of a table.
    Partition(TableId),
}

/// An immutable catalogue.
#[derive(Clone, Debug)]
pub struct Catalog {
    next_id: u32,
    /// The same for what a session makes in its temporary schema.
    next_temporary: u32,
    tables: BTreeMap<TableId, TableEntry>,
    sequences: BTreeMap<SequenceId, Arc<SequenceDef>>,
    /// Tables, indexes and sequences share their names within a schema.
    names: BTreeMap<String, BTreeMap<String, Relation>>,
    /// Some temporary table has something done to it when its session commits.
    on_commit: bool,
    /// Several may have one name.
    routines: BTreeMap<RoutineId, Arc<StoredRoutine>>,
    /// Their forms for the types of calls.
    variants: Arc<Variants>,
    foreign_keys: BTreeMap<ConstraintId, Arc<ForeignKeyRecord>>,
    views: BTreeMap<TableId, Arc<ViewRecord>>,
    /// By the number of what they are about.
    comments: BTreeMap<u32, Arc<CommentsRecord>>,
    /// Those that users made.
    schemas: BTreeMap<u32, Arc<SchemaRecord>>,
    extensions: BTreeMap<u32, Arc<ExtensionRecord>>,
    /// Tables that are materialized views.
    matviews: BTreeMap<TableId, Arc<MatviewRecord>>,
    triggers: BTreeMap<u32, Arc<TriggerRecord>>,
    /// In the order in which they fire, by name.
    triggers_of: BTreeMap<TableId, Vec<Arc<TriggerRecord>>>,
    types: BTreeMap<u32, Arc<TypeRecord>>,
    security: BTreeMap<TableId, Arc<SecurityRecord>>,
    divisions: Divisions,
    roles: Arc<Roles>,
    databases: Arc<Databases>,
    /// Which of them this is; 0: the first.
    database: u32,
    large_objects: Arc<LargeObjects>,
}

/// Writes a record into a map, or takes it out.
fn replace<K: Ord, T: serde::de::DeserializeOwned>(
    map: &mut BTreeMap<K, Arc<T>>,
    key: K,
    value: Option<&[u8]>,
) -> SqlResult<()> {
    match value {
        Some(value) => map.insert(key, Arc::new(records::read(value)?)),
        None => map.remove(&key),
    };
    Ok(())
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
            next_temporary: TEMPORARY.start,
            tables: BTreeMap::new(),
            sequences: BTreeMap::new(),
            names: BTreeMap::new(),
            on_commit: false,
            routines: BTreeMap::new(),
            variants: Arc::default(),
            foreign_keys: BTreeMap::new(),
            views: BTreeMap::new(),
            comments: BTreeMap::new(),
            schemas: BTreeMap::new(),
            extensions: BTreeMap::new(),
            matviews: BTreeMap::new(),
            triggers: BTreeMap::new(),
            triggers_of: BTreeMap::new(),
            types: BTreeMap::new(),
            security: BTreeMap::new(),
            divisions: Divisions::default(),
            roles: Arc::new(Roles::new()),
            databases: Arc::default(),
            database: 0,
            large_objects: Arc::new(LargeObjects::of(0)),
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
        parse::with_room(|| self.after(changes))
    }

    fn after(&self, changes: &[CatalogChange]) -> SqlResult<Catalog> {
        let mut next = self.clone();
        // What they were compiled to names definitions that change here.
        next.forget_compiled();
        let mut tables = Vec::new();
        let mut divided = BTreeSet::new();
        let mut roles: Option<Roles> = None;
        let mut triggers_changed = false;
        let mut routines_changed = false;
        // Tables last: their defaults name sequences, their columns types.
        for change in changes {
            match (RecordKey::decode(&change.key)?, &change.value) {
                (RecordKey::Counters, Some(value)) => {
                    next.next_id = records::read::<Counters>(value)?.next_id;
                }
                (RecordKey::Counters, None) => next.next_id = FIRST_ID,
                (RecordKey::TemporaryCounters, Some(value)) => {
                    next.next_temporary = records::read::<Counters>(value)?.next_id;
                }
                (RecordKey::TemporaryCounters, None) => next.next_temporary = TEMPORARY.start,
                (RecordKey::Sequence(id), Some(value)) => {
                    let record = records::read_sequence(value)?;
                    next.sequences
                        .insert(id, Arc::new(stored::sequence(record)));
                }
                (RecordKey::Sequence(id), None) => {
                    next.sequences.remove(&id);
                }
                (RecordKey::Table(id), value) => tables.push((id, value)),
                (RecordKey::Routine(id), Some(value)) => {
                    routines_changed = true;
                    let record = records::read_routine(value)?;
                    next.routines
                        .insert(id, Arc::new(StoredRoutine::new(record)));
                }
                (RecordKey::Routine(id), None) => {
                    routines_changed = true;
                    next.routines.remove(&id);
                }
                (RecordKey::ForeignKey(id), Some(value)) => {
                    let record = records::read_foreign_key(value)?;
                    next.foreign_keys.insert(id, Arc::new(record));
                }
                (RecordKey::ForeignKey(id), None) => {
                    next.foreign_keys.remove(&id);
                }
                (RecordKey::View(id), Some(value)) => {
                    let record = records::read_view(value)?;
                    next.views.insert(id, Arc::new(record));
                }
                (RecordKey::View(id), None) => {
                    next.views.remove(&id);
                }
                (RecordKey::Comments(number), value) => {
                    replace(&mut next.comments, number, value.as_deref())?;
                }
                (RecordKey::Schema(number), value) => {
                    replace(&mut next.schemas, number, value.as_deref())?;
                }
                (RecordKey::Matview(id), value) => {
                    replace(&mut next.matviews, id, value.as_deref())?;
                }
                (RecordKey::Trigger(number), value) => {
                    let record = value.as_deref().map(records::read_trigger);
                    match record.transpose()? {
                        Some(record) => next.triggers.insert(number, Arc::new(record)),
                        None => next.triggers.remove(&number),
                    };
                    triggers_changed = true;
                }
                (RecordKey::Security(id), value) => {
                    replace(&mut next.security, id, value.as_deref())?;
                }
                (RecordKey::Extension(number), value) => {
                    replace(&mut next.extensions, number, value.as_deref())?;
                }
                (RecordKey::Type(number), value) => {
                    let record = value.as_deref().map(records::read_type).transpose()?;
                    match record {
                        Some(record) => next.types.insert(number, Arc::new(record)),
                        None => next.types.remove(&number),
                    };
                }
                (key @ (RecordKey::Partitioning(_) | RecordKey::Partition(_)), value) => {
                    next.divisions.put(key, value.as_deref(), &mut divided)?;
                }
                (RecordKey::Database(number), value) => {
                    let databases = Arc::make_mut(&mut next.databases);
                    replace(databases, number, value.as_deref())?;
                }
                (RecordKey::Role(id), value) => {
                    let record = value.as_deref().map(records::read_role);
                    let roles = roles.get_or_insert_with(|| Roles::clone(&self.roles));
                    roles.put(id, record.transpose()?);
                }
                (RecordKey::Defaults(number), value) => {
                    let record = value.as_deref().map(records::read::<DefaultsRecord>);
                    let roles = roles.get_or_insert_with(|| Roles::clone(&self.roles));
                    roles.put_defaults(number, record.transpose()?);
                }
                (RecordKey::Settings(whose), value) => {
                    let record = value.as_deref().map(records::read::<SettingsRecord>);
                    let roles = roles.get_or_insert_with(|| Roles::clone(&self.roles));
                    roles.put_settings(whose, record.transpose()?);
                }
                (RecordKey::ColumnAccess(number), value) => {
                    let record = value.as_deref().map(records::read::<ColumnAccessRecord>);
                    let lists = record.transpose()?.map(|record| record.lists());
                    let roles = roles.get_or_insert_with(|| Roles::clone(&self.roles));
                    roles.put_columns(number, lists);
                }
                (RecordKey::Access(number), value) => {
                    let record = value.as_deref().map(records::read::<AccessRecord>);
                    let access = record.transpose()?.as_ref().map(Access::of_record);
                    let roles = roles.get_or_insert_with(|| Roles::clone(&self.roles));
                    roles.put_access(number, access);
                }
            }
        }
        if !Arc::ptr_eq(&next.databases, &self.databases) {
            let roles = roles.get_or_insert_with(|| Roles::clone(&self.roles));
            next.say_of_databases(roles, &self.databases);
        }
        if let Some(mut roles) = roles {
            roles.settle();
            next.roles = Arc::new(roles);
        }
        if triggers_changed {
            next.sort_triggers();
        }
        next.index_names();
        let mut with_texts = Vec::new();
        for (id, value) in tables {
            let Some(value) = value else {
                next.tables.remove(&id);
                continue;
            };
            let record = Arc::new(records::read_table(value)?);
            divided.insert(id);
            match stored::without_texts(&record) {
                None => next.put_table(&record, &record)?,
                Some(bare) => {
                    next.put_table(&record, &bare)?;
                    with_texts.push(record);
                }
            }
        }
        if !with_texts.is_empty() {
            // Texts may call functions over rows of any table: all are there by their names before the first text is read.
            next.index_names();
            for record in &with_texts {
                next.put_table(record, record)?;
            }
            // What they have learned meanwhile may be of tables without their texts.
            next.forget_compiled();
        }
        if routines_changed {
            next.call_anew()?;
        }
        next.divide(&divided)?;
        next.index_names();
        next.refer();
        Ok(next)
    }

    /// Routines are compiled anew by whoever calls them next.
    fn forget_compiled(&mut self) {
        for routine in self.routines.values_mut() {
            *routine = Arc::new(routine.again());
        }
        self.variants = Arc::new(self.variants.again());
    }

    /// Enters a table, as plans are to see it.
    fn put_table(&mut self, record: &Arc<TableRecord>, seen: &TableRecord) -> SqlResult<()> {
        let table = Arc::new(stored::table(self, seen)?);
        let entry = TableEntry {
            record: Arc::clone(record),
            alone: TableRef::clone(&table),
            table,
        };
        self.tables.insert(record.id, entry);
        Ok(())
    }

    /// Spaces of rows that these changes leave, each with the record of its table as it is before them.
    ///
    /// # Errors
    /// `XX001` if a record cannot be read.
    pub fn left_by(&self, changes: &[CatalogChange]) -> SqlResult<Vec<(SpaceId, CatalogChange)>> {
        let mut left = Vec::new();
        for change in changes {
            let RecordKey::Table(id) = RecordKey::decode(&change.key)? else {
                continue;
            };
            let Some(before) = self.tables.get(&id).filter(|t| !t.table.is_temporary()) else {
                continue;
            };
            let after = change.value.as_deref();
            let after = after.map(records::read_table).transpose()?;
            if after.is_none_or(|after| after.space != before.record.space) {
                let record = records::write_table(&before.record)?;
                left.push((before.record.space, record));
            }
        }
        Ok(left)
    }

    /// Gives these tables, or those whose partitions they are, their partitions.
    fn divide(&mut self, tables: &BTreeSet<TableId>) -> SqlResult<()> {
        let roots: BTreeSet<TableId> = tables.iter().map(|id| self.divisions.root(*id)).collect();
        for id in roots {
            let Some(entry) = self.tables.get_mut(&id) else {
                continue;
            };
            let partitions = self.divisions.of(&entry.record)?;
            if partitions.is_some() || entry.alone.partitions.is_some() {
                entry.alone = Arc::new(quintet_ir::TableDef {
                    partitions,
                    ..(*entry.alone).clone()
                });
            }
        }
        Ok(())
    }

    /// Which tables are divided, and into what.
    pub(crate) fn divisions(&self) -> &Divisions {
        &self.divisions
    }

    /// All tables, and all partitions as the parts of tables that they are.
    pub(crate) fn tables_and_parts(&self) -> Vec<TableRef> {
        let parts = self.divisions.parts();
        let parts = parts.filter_map(|part| self.rows_of(part.id));
        self.tables().cloned().chain(parts).collect()
    }

    /// A table, or a partition as the part of its table that it is.
    pub(crate) fn rows_of(&self, id: TableId) -> Option<TableRef> {
        if let Some(table) = self.table_by_id(id) {
            return Some(TableRef::clone(table));
        }
        let part = self.divisions.part(id)?;
        let table = self.table_by_id(self.divisions.root(id))?;
        let partitions = table.partitions.as_ref()?;
        let path = partitions.all.path_to(id)?;
        Some(Arc::new(quintet_ir::TableDef {
            schema: part.schema.clone(),
            name: part.name.clone(),
            partitions: Some(Partitions {
                all: Arc::clone(&partitions.all),
                path,
                nothing: false,
            }),
            ..(**table).clone()
        }))
    }

    /// Reads the tables again whose expressions call functions: what they say must mean a function as long as they are there.
    fn call_anew(&mut self) -> SqlResult<()> {
        for id in self.calling() {
            let Some(entry) = self.tables.get(&id) else {
                continue;
            };
            let partitions = entry.alone.partitions.clone();
            let made = quintet_ir::TableDef {
                partitions,
                ..stored::table(self, &entry.record)?
            };
            if let Some(entry) = self.tables.get_mut(&id) {
                entry.alone = Arc::new(made);
            }
        }
        Ok(())
    }

    /// Tables whose expressions call functions.
    fn calling(&self) -> BTreeSet<TableId> {
        if !self.has_routines() {
            return BTreeSet::new();
        }
        let calling = self.tables.iter().filter(|(_, t)| t.alone.calls_routines());
        calling.map(|(id, _)| *id).collect()
    }

    /// Gives each table what refers to it and what it refers to.
    fn refer(&mut self) {
        let keys: Vec<Arc<ForeignKeyRecord>> = self.foreign_keys.values().cloned().collect();
        let alone: BTreeMap<TableId, TableRef> = self
            .tables
            .iter()
            .map(|(id, entry)| (*id, TableRef::clone(&entry.alone)))
            .collect();
        let fired = alone.iter().filter(|_| !self.triggers.is_empty());
        let fired = fired.map(|(id, table)| (*id, self.triggers_around(table)));
        let calling = self.calling();
        let waits = references::Waits::of(
            &keys,
            &references::Waiting {
                triggers: fired.collect(),
                calling: &calling,
            },
        );
        for (id, entry) in &mut self.tables {
            entry.table = match references::of_table(*id, &keys, &alone, &waits) {
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
        for (&id, view) in &self.views {
            add(&view.schema, &view.name, Relation::View(id));
        }
        for part in self.divisions.parts() {
            add(&part.schema, &part.name, Relation::Partition(part.id));
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
        let mut records = self.tables.values().map(|entry| &entry.record);
        self.on_commit = records.any(|record| record.more.on_commit != OnCommit::Keep);
    }

    /// Every space in use, the two system spaces included.
    pub fn spaces(&self) -> Vec<SpaceId> {
        let mut spaces = vec![Self::SPACE, Self::SEQUENCE_SPACE];
        for table in self.tables().chain(self.large_objects.tables()) {
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
        let found = self.tables.get(&id).map(|entry| &entry.table);
        found.or_else(|| self.large_objects.table(id))
    }

    /// What there is for large objects.
    pub(crate) fn large_objects(&self) -> &LargeObjects {
        &self.large_objects
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

    /// Whether the unique constraint with this index is DEFERRABLE, and if so, whether INITIALLY DEFERRED.
    pub(crate) fn late(&self, table: TableId, index: u32) -> Option<bool> {
        self.record(table)?.late(IndexId(index))
    }

    /// The view with this number.
    pub(crate) fn view(&self, id: TableId) -> Option<&Arc<ViewRecord>> {
        self.views.get(&id)
    }

    /// All views, oldest first.
    pub(crate) fn views(&self) -> impl Iterator<Item = &Arc<ViewRecord>> {
        self.views.values()
    }

    /// Views that name a table or view; `column`: those that name this one of its columns, which partitions share with
    /// their table.
    pub(crate) fn views_using(
        &self,
        relation: TableId,
        column: Option<usize>,
    ) -> impl Iterator<Item = &ViewRecord> {
        let names = move |view: &&ViewRecord| {
            view.uses.iter().any(|(used, columns)| {
                let is_part = || column.is_some() && self.divisions.root(*used) == relation;
                let named = *used == relation || is_part();
                named && column.is_none_or(|column| columns.contains(&column))
            })
        };
        self.all_views().filter(names)
    }

    /// All views, then the queries of the materialized ones.
    pub(crate) fn all_views(&self) -> impl Iterator<Item = &ViewRecord> {
        let views = self.views().map(|view| &**view);
        let matviews = self.matviews.values().map(|record| &record.view);
        views.chain(matviews)
    }

    /// What a table is besides, if it is a materialized view.
    pub(crate) fn matview(&self, id: TableId) -> Option<&Arc<MatviewRecord>> {
        self.matviews.get(&id)
    }

    /// All materialized views, oldest first.
    pub(crate) fn matviews(&self) -> impl Iterator<Item = &Arc<MatviewRecord>> {
        self.matviews.values()
    }

    /// The comments on the object with this number.
    pub(crate) fn comments(&self, number: u32) -> Option<&Arc<CommentsRecord>> {
        self.comments.get(&number)
    }

    /// All comments, by the numbers of what they are about.
    pub(crate) fn all_comments(&self) -> impl Iterator<Item = (u32, &Arc<CommentsRecord>)> {
        self.comments
            .iter()
            .map(|(number, record)| (*number, record))
    }

    /// The type or domain with this number.
    pub(crate) fn user_type(&self, number: u32) -> Option<&Arc<TypeRecord>> {
        self.types.get(&number)
    }

    /// All types and domains that users made, oldest first.
    pub(crate) fn user_types(&self) -> impl Iterator<Item = &Arc<TypeRecord>> {
        self.types.values()
    }

    /// Row security of a table, if anything was said of it.
    pub(crate) fn security(&self, table: TableId) -> Option<&Arc<SecurityRecord>> {
        self.security.get(&table)
    }

    /// Row security of all tables that have any.
    pub(crate) fn securities(&self) -> impl Iterator<Item = &Arc<SecurityRecord>> {
        self.security.values()
    }

    /// A trigger by its number.
    pub(crate) fn trigger(&self, number: u32) -> Option<&Arc<TriggerRecord>> {
        self.triggers.get(&number)
    }

    /// The table, partition or view that has a trigger; a view as a table that is nowhere.
    pub(crate) fn triggered(&self, id: TableId) -> Option<TableRef> {
        self.table_of_type(id.0 | ROW_TYPE)
    }

    /// The table that a trigger's rows are in, and what it is called.
    pub fn table_of_trigger(&self, number: u32) -> Option<(TableId, String)> {
        let table = self.rows_of(self.trigger(number)?.table)?;
        Some((table.id, table.name.clone()))
    }

    /// What a trigger's function is told of its relation: its number, its name and its schema.
    pub fn relation_of_trigger(&self, number: u32) -> Option<(TableId, String, String)> {
        let table = self.rows_of(self.trigger(number)?.table)?;
        Some((table.relation(), table.name.clone(), table.schema.clone()))
    }

    /// All triggers, oldest first.
    /// Whether a routine or a trigger may ask how deep in triggers it is.
    pub(crate) fn counts_triggers(&self) -> bool {
        let asks = |trigger: &Arc<TriggerRecord>| {
            let condition = trigger.condition.as_deref();
            condition.is_some_and(crate::routine::counts_triggers)
        };
        self.all_routines().any(|routine| routine.counts_triggers)
            || self.triggers.values().any(asks)
    }

    pub(crate) fn triggers(&self) -> impl Iterator<Item = &Arc<TriggerRecord>> {
        self.triggers.values()
    }

    /// The triggers of a table, by name.
    pub(crate) fn triggers_of(&self, table: TableId) -> &[Arc<TriggerRecord>] {
        self.triggers_of.get(&table).map_or(&[], Vec::as_slice)
    }

    /// True if one relation is the other or one of its partitions, however deep.
    pub(crate) fn is_below(&self, id: TableId, other: TableId) -> bool {
        let above = |id| self.divisions.part(id).map(|part| part.parent);
        std::iter::successors(Some(id), |id| above(*id)).any(|id| id == other)
    }

    /// True if a table or partition has triggers, or rows of it fire those of what it is a partition of.
    pub(crate) fn has_triggers(&self, id: TableId) -> bool {
        let above = |id| self.divisions.part(id).map(|part| part.parent);
        let mut relations = std::iter::successors(Some(id), |id| above(*id));
        relations.any(|other| {
            let mut triggers = self.triggers_of(other).iter();
            triggers.any(|trigger| trigger.row || other == id)
        })
    }

    /// The triggers that a statement about a table or a partition can fire, by their names: its own, and for each row those of the
    /// partitions that the row is in, above and below.
    pub(crate) fn triggers_around(&self, table: &quintet_ir::TableDef) -> Vec<Arc<TriggerRecord>> {
        let own = table.relation();
        let mut found = self.triggers_of(own).to_vec();
        if let Some(partitions) = &table.partitions {
            let mut others: Vec<TableId> = self.divisions.below(own).iter().map(|p| p.id).collect();
            let mut above = self.divisions.part(own);
            while let Some(part) = above {
                others.push(part.parent);
                above = self.divisions.part(part.parent);
            }
            debug_assert!(partitions.path.is_empty() == (own == table.id));
            let of_rows = others.into_iter().flat_map(|id| self.triggers_of(id));
            found.extend(of_rows.filter(|trigger| trigger.row).cloned());
            found.sort_by(|one, other| one.name.cmp(&other.name));
        }
        found
    }

    fn sort_triggers(&mut self) {
        self.triggers_of.clear();
        for trigger in self.triggers.values() {
            let all = self.triggers_of.entry(trigger.table).or_default();
            all.push(Arc::clone(trigger));
        }
        for all in self.triggers_of.values_mut() {
            all.sort_by(|one, other| one.name.cmp(&other.name));
        }
    }

    /// Extensions that users made, with their numbers.
    pub(crate) fn extensions(&self) -> impl Iterator<Item = (u32, &ExtensionRecord)> {
        self.extensions
            .iter()
            .map(|(number, record)| (*number, &**record))
    }

    /// Schemas that users made, with their numbers.
    pub(crate) fn own_schemas(&self) -> impl Iterator<Item = (u32, &str)> {
        self.schemas
            .iter()
            .filter(|(number, _)| **number != system::PUBLIC)
            .map(|(number, record)| (*number, record.name.as_str()))
    }

    /// The name of the schema with this number, if users made it.
    pub(crate) fn schema_named(&self, number: u32) -> Option<&str> {
        self.schemas.get(&number).map(|record| record.name.as_str())
    }

    /// False while the schema `public` is dropped: that is what a record of it says, since it is there without one.
    pub(crate) fn has_public(&self) -> bool {
        !self.schemas.contains_key(&system::PUBLIC)
    }

    /// True if there is a schema of this name.
    pub(crate) fn has_schema(&self, name: &str) -> bool {
        match name {
            "public" => self.has_public(),
            "pg_catalog" | "information_schema" => true,
            name => self.own_schemas().any(|(_, own)| own == name),
        }
    }

    /// The relations of a schema, by name.
    pub(crate) fn relations_in(&self, schema: &str) -> impl Iterator<Item = (&str, Relation)> {
        let named = self.names.get(schema).into_iter().flatten();
        named.map(|(name, relation)| (name.as_str(), *relation))
    }

    /// The schema that a relation is in.
    pub(crate) fn schema_of(&self, relation: Relation) -> Option<String> {
        match relation {
            Relation::Sequence(id) => self.sequences.get(&id).map(|s| s.schema.clone()),
            Relation::View(id) => self.views.get(&id).map(|view| view.schema.clone()),
            Relation::Partition(id) => self.divisions.part(id).map(|part| part.schema.clone()),
            Relation::Table(id) | Relation::PrimaryKey(id) | Relation::Index(id, _) => {
                self.record(id).map(|record| record.schema.clone())
            }
        }
    }

    /// The number that a relation has in `pg_class`.
    pub(crate) fn number_of(&self, relation: Relation) -> u32 {
        match relation {
            Relation::Table(id) | Relation::View(id) | Relation::Partition(id) => id.0,
            Relation::PrimaryKey(id) => crate::system::primary_key_oid(id),
            Relation::Sequence(id) => id.0,
            Relation::Index(id, number) => {
                let table = self.table_by_id(id);
                let index = table.and_then(|table| table.indexes.get(number));
                index.map_or(0, |index| index.id.0)
            }
        }
    }

    /// What a name stands for.
    pub(crate) fn relation(&self, schema: &str, name: &str) -> Option<Relation> {
        self.names.get(schema)?.get(name).copied()
    }

    /// True if some table has rows that go, or goes itself, when its session commits.
    pub fn has_on_commit(&self) -> bool {
        self.on_commit
    }

    /// All tables as they are stored, oldest first.
    pub(crate) fn table_records(&self) -> impl Iterator<Item = &TableRecord> {
        self.tables.values().map(|entry| &*entry.record)
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
    /// of its arguments, and its program, or what its body says against the schema as it is. A function of any types has none.
    pub fn programs(&self) -> impl Iterator<Item = (String, SqlResult<Arc<Program>>)> {
        let known = |stored: &&Arc<StoredRoutine>| {
            let signature = stored.signature(self);
            !signature.is_ok_and(|signature| is_polymorphic(signature))
        };
        self.routines.values().filter(known).map(|stored| {
            let name = match stored.signature(self) {
                Ok(signature) => {
                    let text = signature.describe();
                    let shown = |number, _| Some(self.user_type(number)?.name.clone());
                    name_marked(&text, shown).unwrap_or(text)
                }
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
        self.routines
            .get(&id)
            .or_else(|| self.variants.routine(id, self))
            .or_else(|| self.large_objects.routine(id))
            .or_else(|| built_in(id))
    }

    /// Forms of functions for the types of calls.
    pub(crate) fn variants(&self) -> &Variants {
        &self.variants
    }

    /// Roles, and what they may do.
    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// Names of databases.
    pub(crate) fn database_records(&self) -> &Arc<Databases> {
        &self.databases
    }

    /// The same with other databases, and other roles if there are any.
    pub(crate) fn sharing(&self, roles: Option<Roles>, databases: Arc<Databases>) -> Catalog {
        let mut roles = roles.unwrap_or_else(|| Roles::clone(&self.roles));
        let next = Catalog {
            databases,
            ..self.clone()
        };
        next.say_of_databases(&mut roles, &self.databases);
        roles.settle();
        Catalog {
            roles: Arc::new(roles),
            ..next
        }
    }

    /// Which of the databases this is; 0: the first.
    pub(crate) fn database_number(&self) -> u32 {
        self.database
    }

    /// Says which it is.
    pub(crate) fn is_database(&mut self, number: u32) {
        self.database = number;
        self.large_objects = Arc::new(LargeObjects::of(number));
    }

    /// Gives out no number up to this one any more: something of it may still be there.
    pub fn pass_over(&mut self, space: SpaceId) {
        self.next_id = self.next_id.max(space.0.saturating_add(1));
    }

    /// The next number to give out.
    pub fn next_id(&self) -> u32 {
        self.next_id
    }

    /// The same for what a session makes in its temporary schema.
    pub fn next_temporary(&self) -> u32 {
        self.next_temporary
    }
}
