//! What a schema change says of roles, owners, privileges and row security.
//!
//! Relies on: the draft's records so far.  Promises: what is new belongs to who makes it, and is granted what ALTER DEFAULT PRIVILEGES has
//! said; what goes takes its rights along.  Does not: ask whether the session may (`access`).

use super::{Draft, spaces_of};
use crate::catalog::{Catalog, CatalogChange};
use crate::databases::DatabaseRecord;
use crate::records::{
    self, AccessRecord, ColumnAccessRecord, DefaultsRecord, RecordKey, RoleRecord, SecurityRecord,
    SettingsRecord, TableRecord,
};
use crate::role::{Access, ColumnAcls, EVERYWHERE, Whose};
use crate::system;
use quintet_base::{RoleId, SqlResult, TableId};
use quintet_ir::Object;
use quintet_ir::ddl::Work;
use std::collections::BTreeSet;

impl Draft<'_, '_> {
    /// Writes a role's record.
    pub fn put_role(&mut self, record: &RoleRecord) -> SqlResult<()> {
        self.changes.push(records::write_role(record)?);
        Ok(())
    }

    /// Removes a role.
    pub fn drop_role(&mut self, id: RoleId) {
        self.changes.push(records::remove(RecordKey::Role(id)));
    }

    /// Writes what objects to come are granted.
    pub fn put_defaults(&mut self, record: &DefaultsRecord) -> SqlResult<()> {
        let key = RecordKey::Defaults(record.number);
        self.changes.push(records::write(key, record)?);
        Ok(())
    }

    /// Removes that.
    pub fn drop_defaults(&mut self, number: u32) {
        self.changes
            .push(records::remove(RecordKey::Defaults(number)));
    }

    /// Writes what sessions begin with.
    pub fn put_settings(&mut self, record: &SettingsRecord) -> SqlResult<()> {
        let key = RecordKey::Settings(record.whose());
        self.changes.push(records::write(key, record)?);
        Ok(())
    }

    /// Removes that.
    pub fn drop_settings(&mut self, whose: Whose) {
        self.changes
            .push(records::remove(RecordKey::Settings(whose)));
    }

    /// Writes who owns an object and what was granted on it.
    pub fn put_access(&mut self, record: &AccessRecord) -> SqlResult<()> {
        // Of databases all others know it, too.
        if let Some(database) = self.planner.catalog().database_of(record.number) {
            return self.note_database(&DatabaseRecord {
                owner: record.owner,
                acl: record.acl.clone(),
                ..(**database).clone()
            });
        }
        self.changes
            .push(records::write(RecordKey::Access(record.number), record)?);
        Ok(())
    }

    /// Writes what was granted on a relation's columns.
    pub fn put_columns(&mut self, relation: u32, lists: &ColumnAcls) -> SqlResult<()> {
        let key = RecordKey::ColumnAccess(relation);
        self.changes.push(match lists.is_empty() {
            true => records::remove(key),
            false => records::write(key, &ColumnAccessRecord::new(relation, lists))?,
        });
        Ok(())
    }

    /// Forgets what was granted on columns that a table's record has no more.
    pub(super) fn forget_columns(&mut self, record: &TableRecord) -> SqlResult<()> {
        let known = self.planner.catalog().roles().columns_of(record.id.0);
        let Some(known) = known else {
            return Ok(());
        };
        let is_there = |number: &u16| {
            let column = record.columns.get(usize::from(*number).saturating_sub(1));
            column.is_some_and(|column| !column.dropped)
        };
        let lists = known.iter().filter(|(number, _)| is_there(number));
        let lists: ColumnAcls = lists
            .map(|(number, list)| (*number, list.clone()))
            .collect();
        match lists.len() == known.len() {
            true => Ok(()),
            false => self.put_columns(record.id.0, &lists),
        }
    }

    /// What is new belongs to who makes it; what goes takes its access record along.
    pub(super) fn settle_owners(&mut self) -> SqlResult<()> {
        let catalog = self.planner.catalog();
        let role = self.planner.context.user.role;
        let (mut made, mut gone) = (BTreeSet::new(), BTreeSet::new());
        for change in &self.changes {
            let key = RecordKey::decode(&change.key)?;
            let Some(object) = key.object() else {
                continue;
            };
            match change.value {
                Some(_) if !catalog.is_there(object) => made.insert(object.number),
                Some(_) => false,
                None => gone.insert(object.number),
            };
        }
        for number in gone {
            let other = |change: &CatalogChange| {
                let key = RecordKey::decode(&change.key)
                    .ok()
                    .and_then(RecordKey::object);
                change.value.is_some() && key.is_some_and(|object| object.number == number)
            };
            let stays = self.changes.iter().any(other);
            if !stays && catalog.roles().access(number).is_some() {
                let key = RecordKey::Access(number);
                self.changes.push(records::remove(key));
            }
            if !stays && catalog.roles().columns_of(number).is_some() {
                let key = RecordKey::ColumnAccess(number);
                self.changes.push(records::remove(key));
            }
        }
        if role == RoleId::BOOTSTRAP {
            return Ok(());
        }
        for number in made {
            let key = RecordKey::Access(number).encode();
            if self.changes.iter().any(|change| change.key == key) {
                continue;
            }
            self.put_access(&AccessRecord {
                number,
                owner: role,
                acl: None,
            })?;
        }
        Ok(())
    }

    /// Grants on new objects what ALTER DEFAULT PRIVILEGES has said, and forgets what it has said of schemas that have gone. `next`: the
    /// catalogue with all other changes.
    pub(super) fn grant_by_default(&mut self, next: &Catalog) -> SqlResult<()> {
        let before = self.planner.catalog();
        let schemas = system::schemas(next);
        for record in next.roles().all_defaults() {
            let is_there = |(number, _): &(u32, String)| *number == record.schema;
            if record.schema != EVERYWHERE && !schemas.iter().any(is_there) {
                self.drop_defaults(record.number);
            }
        }
        let written = self.changes.iter().filter(|change| change.value.is_some());
        let objects = written.filter_map(|change| RecordKey::decode(&change.key).ok()?.object());
        let mut made: Vec<Object> = objects.filter(|object| !before.is_there(*object)).collect();
        made.dedup();
        for object in made {
            let access = next.roles().access_of(object);
            if access.acl.is_some() {
                continue;
            }
            let (owner, schema) = (access.owner, next.schema_number_of(object));
            let Some(acl) = next.roles().defaults_for(object.kind, owner, schema)? else {
                continue;
            };
            let key = RecordKey::Access(object.number).encode();
            self.changes.retain(|change| change.key != key);
            let access = Access {
                owner,
                acl: Some(acl),
            };
            self.put_access(&access.record(object.number))?;
        }
        Ok(())
    }

    /// Row security of a table, as this change has it so far.
    pub fn security(&self, table: TableId) -> SqlResult<SecurityRecord> {
        let key = RecordKey::Security(table).encode();
        let last = self.changes.iter().rev().find(|change| change.key == key);
        if let Some(value) = last.and_then(|change| change.value.as_deref()) {
            return records::read(value);
        }
        let known = match last {
            Some(_) => None,
            None => self.planner.catalog().security(table),
        };
        Ok(known.map_or_else(
            || SecurityRecord::none(table),
            |known| SecurityRecord::clone(known),
        ))
    }

    /// Writes a table's row security. Whoever has begun to change rows by a plan that knows another one is fenced off.
    pub fn put_security(&mut self, record: &SecurityRecord) -> SqlResult<()> {
        let key = RecordKey::Security(record.table);
        let is_none = !record.enabled && !record.forced && record.policies.is_empty();
        self.changes.push(match is_none {
            true => records::remove(key),
            false => records::write(key, record)?,
        });
        if let Some(table) = self.planner.catalog().rows_of(record.table) {
            self.work(Work::Fence(spaces_of(&table)));
        }
        Ok(())
    }

    /// Removes the row security of what goes.
    pub fn forget_security(&mut self, table: TableId) {
        if self.planner.catalog().security(table).is_some() {
            let key = RecordKey::Security(table);
            self.changes.push(records::remove(key));
        }
    }

    /// Removes a policy.
    pub fn drop_policy(&mut self, table: TableId, name: &str) -> SqlResult<()> {
        let mut record = self.security(table)?;
        record.policies.retain(|policy| policy.name != name);
        self.put_security(&record)
    }
}
