//! ALTER TABLE: constraints that go, are validated, or are put off otherwise.
//!
//! Relies on: `foreign_key` for who refers to a key.  Promises: what a constraint was kept by goes with it.  Does not: add any
//! (`ddl::constraint`).

use super::Change;
use crate::ddl::foreign_key::{self, Going};
use crate::ddl::hidden;
use crate::names::inner;
use crate::records::ForeignKeyRecord;
use pg_query::NodeEnum;
use pg_query::protobuf::{AlterTableCmd, DropBehavior};
use quintet_base::{IndexId, SqlError, SqlResult, SqlState};
use std::sync::Arc;

impl Change<'_, '_, '_> {
    pub(super) fn drop_constraint(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let name = &command.name;
        let cascade = command.behavior() == DropBehavior::DropCascade;
        if let Some(key) = self.foreign_key(name) {
            self.draft.drop_foreign_key(key.id);
            return Ok(());
        }
        if let Some(check) = self
            .record
            .checks
            .iter()
            .position(|check| check.name == *name)
        {
            self.record.checks.remove(check);
            self.record.more.unvalidated.retain(|other| other != name);
            return Ok(());
        }
        if let Some(index) = self
            .record
            .indexes
            .iter()
            .position(|i| i.constraint && i.name == *name)
        {
            let going = Going::Key(Some(self.record.indexes[index].id), "constraint", name);
            foreign_key::release(self.draft, &self.record, &going, cascade, &[])?;
            self.forget_index(index);
            return Ok(());
        }
        if self
            .record
            .primary_key
            .as_ref()
            .is_some_and(|key| key.name == *name)
        {
            let going = Going::Key(None, "constraint", name);
            foreign_key::release(self.draft, &self.record, &going, cascade, &[])?;
            self.record.primary_key = None;
            self.draft.free_name(name);
            self.rewrite = true;
            return Ok(());
        }
        self.skip_if(command.missing_ok, self.no_constraint(name))
    }

    /// Drops an index that is no constraint's, if it is there, and what refers to it.
    pub(super) fn drop_index(&mut self, id: IndexId) -> SqlResult<()> {
        let Some(index) = self.record.indexes.iter().position(|index| index.id == id) else {
            return Ok(());
        };
        let name = self.record.indexes[index].name.clone();
        let going = Going::Key(Some(id), "index", &name);
        foreign_key::release(self.draft, &self.record, &going, true, &[])?;
        self.forget_index(index);
        Ok(())
    }

    fn forget_index(&mut self, place: usize) {
        let index = self.record.indexes.remove(place);
        hidden::forget(self.draft.planner, &mut self.record, &index);
        self.draft.free_name(&index.name);
        self.dropped_spaces.push(index.space);
    }

    /// Only checks and foreign keys can be there without having been looked at.
    pub(super) fn validate_constraint(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let unvalidated = &mut self.record.more.unvalidated;
        if let Some(place) = unvalidated.iter().position(|name| *name == command.name) {
            self.checks_to_verify.push(unvalidated.remove(place));
            return Ok(());
        }
        if self.constraints.validate(&command.name) {
            return Ok(());
        }
        let Some(key) = self.foreign_key(&command.name) else {
            return match self.draft.has_constraint(&self.record, &command.name) {
                true => Ok(()),
                false => Err(self.no_constraint(&command.name)),
            };
        };
        if !key.validated {
            self.draft.put_foreign_key(&ForeignKeyRecord {
                validated: true,
                ..(*key).clone()
            })?;
            self.to_verify.push(key.id);
        }
        Ok(())
    }

    /// ALTER CONSTRAINT … [NOT] DEFERRABLE.
    pub(super) fn alter_constraint(&mut self, command: &AlterTableCmd) -> SqlResult<()> {
        let Some(NodeEnum::AtalterConstraint(change)) = command.def.as_deref().and_then(inner)
        else {
            return Err(SqlError::unsupported("ALTER TABLE … ALTER CONSTRAINT"));
        };
        let Some(key) = self.foreign_key(&change.conname) else {
            if !self.draft.has_constraint(&self.record, &change.conname) {
                return Err(self.no_constraint(&change.conname));
            }
            return Err(SqlError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!(
                    "constraint \"{}\" of relation \"{}\" is not a foreign key constraint",
                    change.conname, self.record.name
                ),
            ));
        };
        self.draft.put_foreign_key(&ForeignKeyRecord {
            deferrable: change.deferrable,
            deferred: change.initdeferred,
            ..(*key).clone()
        })
    }

    /// The foreign key with this name.
    fn foreign_key(&self, name: &str) -> Option<Arc<ForeignKeyRecord>> {
        let mut keys = self.planner().catalog().foreign_keys_of(self.record.id);
        keys.find(|key| key.name == name).cloned()
    }

    fn no_constraint(&self, name: &str) -> SqlError {
        let message = format!(
            "constraint \"{name}\" of relation \"{}\" does not exist",
            self.record.name
        );
        SqlError::new(SqlState::UNDEFINED_OBJECT, message)
    }
}
