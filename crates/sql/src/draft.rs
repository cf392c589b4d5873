//! A schema change being put together: records to write and work to do.
//!
//! Relies on: the catalogue it starts from.  Promises: numbers come from the one counter, names
//! are free when they are taken, and what is added first is done first.  Does not: decide what a
//! statement means.

mod rights;

use crate::catalog::{Catalog, CatalogChange, Relation};
use crate::command::{Command, DdlPlan, Planned};
use crate::composite::check_kept;
use crate::databases::{DatabaseChange, DatabaseRecord};
use crate::ddl::{check_keys, refuse_actions};
use crate::partition::{PartitionRecord, PartitioningRecord};
use crate::planner::Planner;
use crate::records::{
    self, CommentsRecord, Counters, ExtensionRecord, ForeignKeyRecord, MatviewRecord, RecordKey,
    RoutineRecord, SchemaRecord, SequenceRecord, TableRecord, TriggerRecord, TypeRecord,
    ViewRecord,
};
use crate::stored;
use crate::system;
use crate::temporary::is_temporary;
use quintet_base::ids::TEMPORARY;
use quintet_base::{
    ConstraintId, RoutineId, SequenceId, SpaceId, SqlError, SqlResult, SqlState, TableId,
};
use quintet_ir::Procedure;
use quintet_ir::ddl::Work;
use quintet_ir::schema::{SequenceDef, TableDef, TableRef};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Longest name, as PostgreSQL cuts generated ones.
const NAME_BYTES_MAX: usize = quintet_base::limits::IDENTIFIER_BYTES_MAX;

/// A schema change so far.
pub(crate) struct Draft<'p, 'a> {
    pub planner: &'p Planner<'a>,
    next_id: u32,
    next_temporary: u32,
    /// What is made is made in the session's temporary schema.
    temporary: bool,
    changes: Vec<CatalogChange>,
    work: Vec<Work>,
    /// See [`DdlPlan::then`].
    then: Option<Arc<Procedure>>,
    /// See [`DdlPlan::fires`].
    fires: [Vec<u32>; 2],
    /// See [`DdlPlan::settings`].
    settings: Vec<(String, String)>,
    /// See [`DdlPlan::database`].
    database: Option<DatabaseChange>,
    /// Names that this change takes.
    taken: BTreeSet<String>,
    /// Names that this change gives back.
    freed: BTreeSet<String>,
}

impl<'p, 'a> Draft<'p, 'a> {
    pub fn new(planner: &'p Planner<'a>) -> Draft<'p, 'a> {
        Draft {
            planner,
            next_id: planner.catalog().next_id(),
            next_temporary: planner.catalog().next_temporary(),
            temporary: false,
            changes: Vec::new(),
            work: Vec::new(),
            then: None,
            fires: Default::default(),
            settings: Vec::new(),
            database: None,
            taken: BTreeSet::new(),
            freed: BTreeSet::new(),
        }
    }

    /// What is made from here on is for this schema, or for what is in it.
    pub fn make_in(&mut self, schema: &str) {
        self.temporary = is_temporary(schema);
    }

    /// A number nobody has.
    pub fn id(&mut self) -> u32 {
        self.id_beside(self.temporary)
    }

    /// A number for something that goes with what is temporary, or is not.
    fn id_beside(&mut self, temporary: bool) -> u32 {
        let next = match temporary {
            true => &mut self.next_temporary,
            false => &mut self.next_id,
        };
        *next += 1;
        *next - 1
    }

    /// A space nobody has.
    pub fn space(&mut self) -> SpaceId {
        SpaceId(self.id())
    }

    /// A table's number, with the one behind it kept for its primary key's index.
    pub fn table_id(&mut self) -> TableId {
        let id = self.id();
        self.id();
        TableId(id)
    }

    /// Fresh spaces for a table's rows and for all of its indexes' entries.
    pub fn renew_spaces(&mut self, record: &mut TableRecord) {
        let temporary = record.space.is_temporary();
        record.space = SpaceId(self.id_beside(temporary));
        for index in &mut record.indexes {
            index.space = SpaceId(self.id_beside(temporary));
        }
    }

    fn is_taken(&self, schema: &str, name: &str) -> bool {
        self.taken.contains(name)
            || (!self.freed.contains(name)
                && self.planner.catalog().relation(schema, name).is_some())
    }

    /// Takes a name that the user wrote.
    ///
    /// # Errors
    /// `42P07` if it is taken.
    pub fn take_name(&mut self, schema: &str, name: &str) -> SqlResult<()> {
        if self.is_taken(schema, name) {
            return Err(SqlError::new(
                SqlState::DUPLICATE_TABLE,
                format!("relation \"{name}\" already exists"),
            ));
        }
        self.taken.insert(name.to_string());
        Ok(())
    }

    /// Gives a name back.
    pub fn free_name(&mut self, name: &str) {
        self.freed.insert(name.to_string());
        self.taken.remove(name);
    }

    /// Takes a name made of parts as PostgreSQL makes it: `table_column_suffix`, with a number
    /// behind it if that is taken.
    pub fn make_name(
        &mut self,
        schema: &str,
        table: &str,
        columns: &[&str],
        suffix: &str,
    ) -> String {
        let is_taken = |name: &String| self.is_taken(schema, name);
        let name = name_of(table, &columns.join("_"), suffix, is_taken);
        self.taken.insert(name.clone());
        name
    }

    /// Writes a table's record, in the place of one that this change has written before: that may name what is gone
    /// meanwhile.
    pub fn put_table(&mut self, record: &TableRecord) -> SqlResult<()> {
        self.forget_columns(record)?;
        let new = records::write_table(record)?;
        let is_old = |change: &CatalogChange| change.key == new.key && change.value.is_some();
        self.changes.retain(|change| !is_old(change));
        self.changes.push(new);
        Ok(())
    }

    /// A table's record as this change has it so far, if it has changed it.
    pub fn changed_table(&self, id: TableId) -> SqlResult<Option<TableRecord>> {
        let written = self.written(RecordKey::Table(id));
        written.map(records::read_table).transpose()
    }

    /// What this change has written last under a key.
    fn written(&self, key: RecordKey) -> Option<&[u8]> {
        let key = key.encode();
        let last = self.changes.iter().rev().find(|change| change.key == key);
        last.and_then(|change| change.value.as_deref())
    }

    /// A view's record as this change has it so far, if it has changed it.
    pub fn changed_view(&self, id: TableId) -> SqlResult<Option<ViewRecord>> {
        let written = self.written(RecordKey::View(id));
        written.map(records::read_view).transpose()
    }

    /// A routine's record as this change has it so far, if it has changed it.
    pub fn changed_routine(&self, id: RoutineId) -> SqlResult<Option<RoutineRecord>> {
        let written = self.written(RecordKey::Routine(id));
        written.map(records::read_routine).transpose()
    }

    /// The sequence of a column, as this change has it so far.
    pub fn sequence_of(&self, table: TableId, column: usize) -> SqlResult<Option<SequenceRecord>> {
        let owner = Some((table, column));
        for change in self.changes.iter().rev() {
            let RecordKey::Sequence(_) = RecordKey::decode(&change.key)? else {
                continue;
            };
            let Some(value) = change.value.as_deref() else {
                continue;
            };
            let record = records::read_sequence(value)?;
            if record.owned_by == owner && !self.has_dropped(RecordKey::Sequence(record.id)) {
                return Ok(Some(record));
            }
        }
        let mut all = self.planner.catalog().sequences();
        let found = all.find(|sequence| {
            sequence.owned_by == owner && !self.has_dropped(RecordKey::Sequence(sequence.id))
        });
        Ok(found.map(|sequence| stored::sequence_record(sequence)))
    }

    /// Writes a sequence's record.
    pub fn put_sequence(&mut self, record: &SequenceRecord) -> SqlResult<()> {
        self.changes.push(records::write_sequence(record)?);
        Ok(())
    }

    /// Writes a routine's record.
    pub fn put_routine(&mut self, record: &RoutineRecord) -> SqlResult<()> {
        self.changes.push(records::write_routine(record)?);
        Ok(())
    }

    /// Writes a foreign key's record.
    pub fn put_foreign_key(&mut self, record: &ForeignKeyRecord) -> SqlResult<()> {
        self.changes.push(records::write_foreign_key(record)?);
        Ok(())
    }

    /// Writes a view's record.
    pub fn put_view(&mut self, record: &ViewRecord) -> SqlResult<()> {
        self.changes.push(records::write_view(record)?);
        Ok(())
    }

    /// Removes a view.
    pub fn drop_view(&mut self, id: TableId) {
        if let Some(view) = self.planner.catalog().view(id) {
            self.free_name(&view.name);
        }
        self.drop_triggers(id);
        self.changes.push(records::remove(RecordKey::View(id)));
    }

    /// True if this change removes the view.
    pub fn has_dropped_view(&self, id: TableId) -> bool {
        let key = RecordKey::View(id).encode();
        (self.changes.iter()).any(|change| change.key == key && change.value.is_none())
    }

    /// Writes the comments on an object; none: takes them away.
    pub fn put_comments(&mut self, number: u32, record: &CommentsRecord) -> SqlResult<()> {
        let key = RecordKey::Comments(number);
        self.changes.push(match record.entries.is_empty() {
            true => records::remove(key),
            false => records::write(key, record)?,
        });
        Ok(())
    }

    /// Writes a schema's record.
    pub fn put_schema(&mut self, number: u32, name: &str) -> SqlResult<()> {
        let record = SchemaRecord {
            name: name.to_string(),
        };
        self.changes
            .push(records::write(RecordKey::Schema(number), &record)?);
        Ok(())
    }

    /// Makes the session's temporary schema, if something is made in it for the first time.
    pub fn enter(&mut self, schema: &str) -> SqlResult<()> {
        self.make_in(schema);
        if !is_temporary(schema) || self.planner.catalog().has_schema(schema) {
            return Ok(());
        }
        let number = self.id();
        self.put_schema(number, schema)
    }

    /// Removes a schema.
    pub fn drop_schema(&mut self, number: u32) {
        self.changes
            .push(records::remove(RecordKey::Schema(number)));
    }

    /// Writes what a table is besides that is a materialized view.
    pub fn put_matview(&mut self, record: &MatviewRecord) -> SqlResult<()> {
        let key = RecordKey::Matview(record.view.id);
        self.changes.push(records::write(key, record)?);
        Ok(())
    }

    /// Removes the schema `public`, which is there without a record.
    pub fn drop_public(&mut self) -> SqlResult<()> {
        // Who may do what there begins anew with the schema.
        let key = RecordKey::Access(system::PUBLIC);
        self.changes.push(records::remove(key));
        self.put_schema(system::PUBLIC, "")
    }

    /// Makes the schema `public` anew.
    pub fn restore_public(&mut self) {
        self.drop_schema(system::PUBLIC);
    }

    /// Writes a trigger's record.
    pub fn put_trigger(&mut self, record: &TriggerRecord) -> SqlResult<()> {
        self.changes.push(records::write_trigger(record)?);
        Ok(())
    }

    /// Removes a trigger.
    pub fn drop_trigger(&mut self, number: u32) {
        self.changes
            .push(records::remove(RecordKey::Trigger(number)));
    }

    /// Writes the record of a new extension.
    pub fn put_extension(&mut self, record: &ExtensionRecord) -> SqlResult<()> {
        let key = RecordKey::Extension(self.id());
        self.changes.push(records::write(key, record)?);
        Ok(())
    }

    /// Writes the record of an extension anew.
    pub fn change_extension(&mut self, number: u32, record: &ExtensionRecord) -> SqlResult<()> {
        let key = RecordKey::Extension(number);
        self.changes.push(records::write(key, record)?);
        Ok(())
    }

    /// Removes an extension.
    pub fn drop_extension(&mut self, number: u32) {
        self.changes
            .push(records::remove(RecordKey::Extension(number)));
    }

    /// Writes a type's record.
    pub fn put_type(&mut self, record: &TypeRecord) -> SqlResult<()> {
        self.changes.push(records::write_type(record)?);
        Ok(())
    }

    /// Removes a type.
    pub fn drop_type(&mut self, number: u32) {
        self.changes.push(records::remove(RecordKey::Type(number)));
    }

    /// True if this change removes the record.
    pub fn has_dropped(&self, key: RecordKey) -> bool {
        let key = key.encode();
        let last = self.changes.iter().rev().find(|change| change.key == key);
        last.is_some_and(|change| change.value.is_none())
    }

    /// Writes a database's record, and what becomes of it as a whole.
    pub fn put_database(
        &mut self,
        record: &DatabaseRecord,
        change: DatabaseChange,
    ) -> SqlResult<()> {
        self.database = Some(change);
        self.note_database(record)
    }

    /// Writes what a database's name means, and does nothing to any.
    pub fn note_database(&mut self, record: &DatabaseRecord) -> SqlResult<()> {
        let key = RecordKey::Database(record.number);
        self.changes.push(records::write(key, record)?);
        Ok(())
    }

    /// Forgets a name of a database.
    pub fn forget_database(&mut self, number: u32) {
        self.changes
            .push(records::remove(RecordKey::Database(number)));
    }

    /// Removes a foreign key.
    pub fn drop_foreign_key(&mut self, id: ConstraintId) {
        self.changes
            .push(records::remove(RecordKey::ForeignKey(id)));
    }

    /// True if a constraint of the table has this name: in the record, or among foreign keys that are there or that this change
    /// adds.
    pub fn has_constraint(&self, record: &TableRecord, name: &str) -> bool {
        let keys = (record.primary_key.iter()).map(|key| &key.name);
        let indexes = record.indexes.iter().filter(|index| index.constraint);
        let checks = record.checks.iter().map(|check| &check.name);
        let own = keys.chain(indexes.map(|index| &index.name)).chain(checks);
        let removed = |id: ConstraintId| {
            let key = RecordKey::ForeignKey(id).encode();
            (self.changes.iter()).any(|change| change.key == key && change.value.is_none())
        };
        let there = self.planner.catalog().foreign_keys_of(record.id);
        let there = there.filter(|key| !removed(key.id)).map(|key| &key.name);
        let added = self.changes.iter().filter_map(|change| {
            let Ok(RecordKey::ForeignKey(_)) = RecordKey::decode(&change.key) else {
                return None;
            };
            let key = records::read_foreign_key(change.value.as_deref()?).ok()?;
            (key.child == record.id).then_some(key.name)
        });
        own.chain(there).any(|own| own == name) || added.into_iter().any(|added| added == name)
    }

    /// A constraint's name made of parts as PostgreSQL makes it.
    pub fn constraint_name(&self, record: &TableRecord, columns: &[&str], suffix: &str) -> String {
        let middle = columns.join("_");
        let suffixes = std::iter::once(suffix.to_string())
            .chain((1..).map(|number| format!("{suffix}{number}")));
        suffixes
            .map(|suffix| object_name(&record.name, &middle, &suffix))
            .find(|name| !self.has_constraint(record, name))
            .unwrap_or_default()
    }

    /// Removes a routine.
    pub fn drop_routine(&mut self, id: RoutineId) {
        self.changes.push(records::remove(RecordKey::Routine(id)));
    }

    /// The catalogue as it will be.
    ///
    /// # Errors
    /// What defaults and checks say.
    pub fn catalog_to_be(&self) -> SqlResult<Catalog> {
        self.planner.catalog().apply(&self.changes)
    }

    /// Writes the record of a new sequence and gives it its state.
    pub fn add_sequence(&mut self, sequence: SequenceDef) -> SqlResult<()> {
        self.put_sequence(&stored::sequence_record(&sequence))?;
        let next = sequence.start;
        self.work(Work::StartSequence { sequence, next });
        Ok(())
    }

    /// Gives a sequence another counter, from which the next value comes. Those who still count on by the definition of
    /// before do not disturb it, and ROLLBACK brings that one back. The counter of before is left where it is, a few bytes: it may
    /// have been written after this transaction's snapshot, which could not delete it.
    pub fn restart_sequence(&mut self, sequence: &mut SequenceDef, next: i64) -> SqlResult<()> {
        let temporary = TEMPORARY.contains(&sequence.id.0);
        sequence.counter = SequenceId(self.id_beside(temporary));
        self.put_sequence(&stored::sequence_record(sequence))?;
        let sequence = sequence.clone();
        self.work(Work::StartSequence { sequence, next });
        Ok(())
    }

    /// How many new sequences the change makes.
    pub fn new_sequences(&self) -> usize {
        let new = |work: &&Work| matches!(work, Work::StartSequence { .. });
        self.work.iter().filter(new).count()
    }

    /// Writes how a table is divided.
    pub fn put_partitioning(&mut self, record: &PartitioningRecord) -> SqlResult<()> {
        let key = RecordKey::Partitioning(record.table);
        self.changes.push(records::write(key, record)?);
        Ok(())
    }

    /// Writes a partition's record.
    pub fn put_partition(&mut self, record: &PartitionRecord) -> SqlResult<()> {
        let key = RecordKey::Partition(record.id);
        self.changes.push(records::write(key, record)?);
        Ok(())
    }

    /// Removes a partition's record, not its rows.
    pub fn drop_partition(&mut self, part: &PartitionRecord) {
        self.changes
            .push(records::remove(RecordKey::Partition(part.id)));
        self.free_name(&part.name);
    }

    /// Removes how a table, or a partition, is divided, with all partitions below.
    pub fn drop_division(&mut self, table: TableId) {
        let divisions = self.planner.catalog().divisions();
        if divisions.partitioning(table).is_none() {
            return;
        }
        for part in divisions.parts_of(table) {
            self.drop_partition(part);
            self.forget_security(part.id);
            self.drop_triggers(part.id);
            self.drop_division(part.id);
        }
        self.changes
            .push(records::remove(RecordKey::Partitioning(table)));
    }

    /// Removes the triggers of a table or partition that goes.
    pub fn drop_triggers(&mut self, id: TableId) {
        let of = |trigger: &TriggerRecord| trigger.table == id || trigger.more.from == Some(id);
        for trigger in self.planner.catalog().triggers().filter(|t| of(t)) {
            self.drop_trigger(trigger.id);
        }
    }

    /// Removes a table's record; its rows go by other work.
    pub fn forget_table(&mut self, table: &TableDef) {
        self.changes
            .push(records::remove(RecordKey::Table(table.id)));
        self.free_name(&table.name);
    }

    /// Removes a table with all that is its own.
    pub fn drop_table(&mut self, table: &TableDef) {
        self.changes
            .push(records::remove(RecordKey::Table(table.id)));
        self.free_name(&table.name);
        if let Some(key) = &table.primary_key {
            self.free_name(&key.name);
        }
        for index in &table.indexes {
            self.free_name(&index.name);
        }
        self.drop_spaces(spaces_of(table));
        self.drop_division(table.id);
        self.drop_triggers(table.id);
        if self.planner.catalog().matview(table.id).is_some() {
            let key = RecordKey::Matview(table.id);
            self.changes.push(records::remove(key));
        }
        self.forget_security(table.id);
        let keys: Vec<ConstraintId> = (self.planner.catalog().foreign_keys_of(table.id))
            .map(|key| key.id)
            .collect();
        keys.into_iter().for_each(|key| self.drop_foreign_key(key));
        for sequence in owned_sequences(self.planner.catalog(), table.id, None) {
            self.drop_sequence(sequence);
        }
    }

    /// Removes a sequence.
    pub fn drop_sequence(&mut self, id: SequenceId) {
        if let Some(sequence) = self.planner.catalog().sequence_by_id(id) {
            self.free_name(&sequence.name);
            self.work(Work::DropSequence(sequence.counter));
        }
        self.changes.push(records::remove(RecordKey::Sequence(id)));
    }

    /// Fences spaces off and gives them up.
    pub fn drop_spaces(&mut self, spaces: Vec<SpaceId>) {
        if !spaces.is_empty() {
            self.work(Work::Fence(spaces.clone()));
            self.work(Work::DropSpaces(spaces));
        }
    }

    /// The change is refused if one of these settings is none, or cannot have its value.
    pub fn check_settings(&mut self, settings: Vec<(String, String)>) {
        self.settings.extend(settings);
    }

    /// Rows of a relation go by TRUNCATE; see [`DdlPlan::fires`].
    pub fn fire_on_truncate(&mut self, relation: TableId) {
        let triggers = self.planner.catalog().triggers_of(relation).iter();
        for trigger in triggers.filter(|t| t.more.truncate && t.is_enabled()) {
            let fires = &mut self.fires[usize::from(!trigger.before)];
            if !fires.contains(&trigger.id) {
                fires.push(trigger.id);
            }
        }
    }

    /// Runs this when the change is done.
    pub fn then(&mut self, procedure: Arc<Procedure>) {
        self.then = Some(procedure);
    }

    /// Adds work.
    pub fn work(&mut self, work: Work) {
        self.work.push(work);
    }

    /// A table as it will be.
    ///
    /// # Errors
    /// What its defaults and checks say.
    pub fn table_to_be(&self, id: TableId) -> SqlResult<TableRef> {
        let next = self.planner.catalog().apply(&self.changes)?;
        next.table_by_id(id)
            .cloned()
            .ok_or_else(|| SqlError::internal("the table is gone"))
    }

    /// The change as a plan.
    ///
    /// # Errors
    /// Whatever the new definitions say.
    pub fn finish(mut self, tag: &'static str) -> SqlResult<Planned> {
        if self.next_id != self.planner.catalog().next_id() {
            let counters = Counters {
                next_id: self.next_id,
            };
            self.changes
                .push(records::write(RecordKey::Counters, &counters)?);
        }
        if self.next_temporary != self.planner.catalog().next_temporary() {
            let counters = Counters {
                next_id: self.next_temporary,
            };
            self.changes
                .push(records::write(RecordKey::TemporaryCounters, &counters)?);
        }
        if self.changes.is_empty() && self.work.is_empty() {
            return Ok(self.planner.nothing(tag));
        }
        if let Some(lost) = self.changes.iter().find(|change| !change.is_at_home()) {
            let message = format!("{:?} has a number of another schema's", lost.key);
            return Err(SqlError::internal(message));
        }
        self.settle_owners()?;
        // Whether it can be read back is known now, not when it is too late.
        let next = self.planner.catalog().apply(&self.changes)?;
        if next.roles().has_defaults() {
            self.grant_by_default(&next)?;
        }
        self.forget_comments(&next)?;
        for key in next.foreign_keys() {
            refuse_actions(&next, key)?;
            if next.matview(key.parent).is_some() {
                let message = "referenced relation is not a table";
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
        }
        check_keys(self.planner, &next)?;
        check_kept(self.planner.catalog(), &next)?;
        let neighbours = self.neighbours(&next)?;
        if !neighbours.is_empty() {
            self.work(Work::Fence(neighbours));
        }
        let plan = DdlPlan {
            changes: self.changes,
            work: self.work,
            then: self.then,
            fires: self.fires,
            settings: self.settings,
            database: self.database,
        };
        Ok(self.planner.command(Command::Ddl(plan), tag))
    }
}

impl Draft<'_, '_> {
    /// Takes away comments on what is gone.
    fn forget_comments(&mut self, next: &Catalog) -> SqlResult<()> {
        let now = self.planner.catalog();
        let mut kept = Vec::new();
        for (number, record) in now.all_comments() {
            let entries = record
                .entries
                .iter()
                .filter(|entry| system::is_there(next, entry.class, number, entry.column));
            let entries: Vec<_> = entries.cloned().collect();
            if entries.len() < record.entries.len() && next.comments(number) == Some(record) {
                kept.push((number, CommentsRecord { entries }));
            }
        }
        kept.iter()
            .try_for_each(|(number, record)| self.put_comments(*number, record))
    }

    /// The spaces of tables that refer to changed ones or are referred to by them: whoever changes their rows by an older plan
    /// does not look where it has to.
    fn neighbours(&self, next: &Catalog) -> SqlResult<Vec<SpaceId>> {
        let now = self.planner.catalog();
        let (mut changed, mut keys) = (BTreeSet::new(), BTreeSet::new());
        for change in &self.changes {
            match RecordKey::decode(&change.key)? {
                RecordKey::Table(id) => {
                    changed.insert(id);
                }
                RecordKey::ForeignKey(id) => {
                    keys.insert(id);
                }
                _ => {}
            }
        }
        let mut spaces = BTreeSet::new();
        for key in now.foreign_keys().chain(next.foreign_keys()) {
            let sides = [key.child, key.parent];
            if !keys.contains(&key.id) && !sides.iter().any(|id| changed.contains(id)) {
                continue;
            }
            let tables = sides.iter().filter_map(|id| now.table_by_id(*id));
            spaces.extend(tables.flat_map(|table| spaces_of(table)));
        }
        Ok(spaces.into_iter().collect())
    }
}

/// All spaces of a table.
pub(crate) fn spaces_of(table: &TableDef) -> Vec<SpaceId> {
    let mut spaces = vec![table.space];
    spaces.extend(table.indexes.iter().map(|index| index.space));
    spaces
}

/// Sequences that a table, or one of its columns, owns.
pub(crate) fn owned_sequences(
    catalog: &Catalog,
    table: TableId,
    column: Option<usize>,
) -> Vec<SequenceId> {
    let owned = catalog
        .sequences()
        .filter(|sequence| match sequence.owned_by {
            Some((owner, number)) => owner == table && column.is_none_or(|column| column == number),
            None => false,
        });
    owned.map(|sequence| sequence.id).collect()
}

/// A relation's table, whatever part of it the name stands for.
pub(crate) fn table_of(catalog: &Catalog, relation: Relation) -> Option<&TableRef> {
    match relation {
        Relation::Table(id) | Relation::Index(id, _) | Relation::PrimaryKey(id) => {
            catalog.table_by_id(id)
        }
        Relation::Sequence(_) | Relation::View(_) | Relation::Partition(_) => None,
    }
}

/// The first name made of these that is not taken.
pub(crate) fn name_of(
    table: &str,
    middle: &str,
    suffix: &str,
    is_taken: impl Fn(&String) -> bool,
) -> String {
    let mut number = 0;
    loop {
        let suffix = match number {
            0 => suffix.to_string(),
            number => format!("{suffix}{number}"),
        };
        let name = object_name(table, middle, &suffix);
        if !is_taken(&name) {
            return name;
        }
        number += 1;
    }
}

/// `table_middle_suffix`, the longer of the first two cut until it fits.
fn object_name(table: &str, middle: &str, suffix: &str) -> String {
    let separators = 1 + usize::from(!middle.is_empty());
    let room = NAME_BYTES_MAX.saturating_sub(suffix.len() + separators);
    let (mut first, mut second) = (table.len(), middle.len());
    while first + second > room {
        match first > second {
            true => first -= 1,
            false => second -= 1,
        }
    }
    // A character is not cut.
    let table = &table[..table.floor_char_boundary(first)];
    let middle = &middle[..middle.floor_char_boundary(second)];
    match middle {
        "" => format!("{table}_{suffix}"),
        middle => format!("{table}_{middle}_{suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_fit_and_keep_their_suffix() {
        assert_eq!(object_name("t", "a_b", "key"), "t_a_b_key");
        assert_eq!(object_name("t", "", "pkey"), "t_pkey");
        let long = "x".repeat(80);
        let name = object_name(&long, "column", "idx");
        assert_eq!(name.len(), NAME_BYTES_MAX);
        assert!(name.ends_with("_column_idx"), "{name}");
        let wide = "ü".repeat(40);
        let name = object_name(&wide, "a", "key");
        assert_eq!(name, format!("{}_a_key", "ü".repeat(28)));
    }
}
