//! Owners and privileges of objects, and whether somebody may do something.
//!
//! Relies on: `acl` for lists, [`Roles`] for who is who.  Promises: PostgreSQL's words where it refuses; an object that
//! has gone is refused nobody, for there is nothing to be had.  Does not: decide what a statement needs.

use super::acl::{self, Acl, Item, default_acl};
use super::{DATABASE_OWNER, READ_ALL, Roles, WRITE_ALL, denied, routine_word};
use crate::catalog::Catalog;
use crate::databases::FIRST_NAME;
use crate::ddl::table_object;
use crate::planner::Planner;
use crate::records::{AccessRecord, DefaultsRecord, GrantRecord};
use crate::system;
use quintet_base::{RoleId, RoutineId, SequenceId, SqlResult, SqlType, TableId};
use quintet_ir::{Need, Object, ObjectKind, Part, Privileges};
use std::borrow::Cow;

/// Who owns an object, and what was granted on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    pub owner: RoleId,
    /// `None`: the default privileges.
    pub acl: Option<Acl>,
}

pub(super) fn items(grants: &[GrantRecord]) -> Acl {
    let item = |grant: &GrantRecord| Item {
        grantee: grant.grantee,
        grantor: grant.grantor,
        privileges: Privileges(grant.privileges),
        options: Privileges(grant.options),
    };
    grants.iter().map(item).collect()
}

pub(super) fn grants(items: &[Item]) -> Vec<GrantRecord> {
    let grant = |item: &Item| GrantRecord {
        grantee: item.grantee,
        grantor: item.grantor,
        privileges: item.privileges.0,
        options: item.options.0,
    };
    items.iter().map(grant).collect()
}

impl DefaultsRecord {
    pub fn new(
        number: u32,
        (role, schema, kind): (RoleId, u32, char),
        list: &[Item],
    ) -> DefaultsRecord {
        DefaultsRecord {
            number,
            role,
            schema,
            kind,
            acl: grants(list),
        }
    }

    pub fn list(&self) -> Acl {
        items(&self.acl)
    }
}

impl Access {
    pub fn of_record(record: &AccessRecord) -> Access {
        Access {
            owner: record.owner,
            acl: record.acl.as_deref().map(items),
        }
    }

    pub fn record(&self, number: u32) -> AccessRecord {
        AccessRecord {
            number,
            owner: self.owner,
            acl: self.acl.as_deref().map(grants),
        }
    }

    /// The list, whether anything was granted or not.
    pub fn list(&self, kind: ObjectKind) -> Cow<'_, [Item]> {
        match &self.acl {
            Some(acl) => Cow::Borrowed(acl),
            None => Cow::Owned(default_acl(kind, self.owner)),
        }
    }
}

/// The schema `public`.
pub(crate) const PUBLIC_SCHEMA: Object = Object {
    kind: ObjectKind::Schema,
    number: system::PUBLIC,
};

/// The database.
pub(crate) const THE_DATABASE: Object = Object {
    kind: ObjectKind::Database,
    number: system::DATABASE,
};

/// What is so as long as nothing else was said.
fn initial(object: Object) -> Access {
    let schema = |owner| {
        let everybody = Item {
            grantee: RoleId::PUBLIC,
            grantor: owner,
            privileges: Privileges::USAGE,
            options: Privileges::NONE,
        };
        let mut acl = default_acl(ObjectKind::Schema, owner);
        acl.push(everybody);
        Access {
            owner,
            acl: Some(acl),
        }
    };
    match (object.kind, object.number) {
        (ObjectKind::Schema, system::PUBLIC) => schema(DATABASE_OWNER),
        (ObjectKind::Schema, system::PG_CATALOG | system::INFORMATION_SCHEMA) => {
            schema(RoleId::BOOTSTRAP)
        }
        _ => Access {
            owner: RoleId::BOOTSTRAP,
            acl: None,
        },
    }
}

impl Roles {
    /// What was said of an object, if anything was.
    pub(crate) fn access(&self, number: u32) -> Option<&Access> {
        self.access.get(&number).map(|access| &**access)
    }

    /// Owner and privileges of an object.
    pub(crate) fn access_of(&self, object: Object) -> Cow<'_, Access> {
        match self.access(object.number) {
            Some(access) => Cow::Borrowed(access),
            None => Cow::Owned(initial(object)),
        }
    }

    /// Which of the wanted privileges a role has on an object.
    pub(crate) fn privileges(
        &self,
        role: RoleId,
        object: Object,
        wanted: Privileges,
    ) -> Privileges {
        if self.is_superuser(role) {
            return wanted;
        }
        let access = self.access_of(object);
        let found = acl::privileges_of(self, &access.list(object.kind), role, wanted);
        match found == wanted {
            true => found,
            false => found | (self.predefined(role, object.kind) & wanted),
        }
    }

    /// Which of the wanted privileges a role may grant on an object.
    pub(crate) fn grant_options(
        &self,
        role: RoleId,
        object: Object,
        wanted: Privileges,
    ) -> Privileges {
        let access = self.access_of(object);
        acl::options_of(self, &access.list(object.kind), role, access.owner, wanted)
    }

    /// What the predefined roles give.
    fn predefined(&self, role: RoleId, kind: ObjectKind) -> Privileges {
        use Privileges as P;
        let (reads, writes) = match kind {
            ObjectKind::Table => (P::SELECT, P::INSERT | P::UPDATE | P::DELETE),
            ObjectKind::Sequence => (P::SELECT, P::UPDATE),
            ObjectKind::Schema => (P::USAGE, P::USAGE),
            ObjectKind::Routine | ObjectKind::Database | ObjectKind::Type => return P::NONE,
        };
        let mut all = P::NONE;
        if self.has_privileges_of(role, READ_ALL) {
            all |= reads;
        }
        if self.has_privileges_of(role, WRITE_ALL) {
            all |= writes;
        }
        all
    }

    /// Whether a role may do what only an object's owner may.
    pub(crate) fn owns(&self, role: RoleId, object: Object) -> bool {
        self.is_superuser(role) || self.has_privileges_of(role, self.access_of(object).owner)
    }
}

impl Catalog {
    /// Whether there is an object.
    pub(crate) fn is_there(&self, object: Object) -> bool {
        self.describe(object).is_some()
    }

    /// The object that has this number, if one that has an owner does.
    pub(crate) fn object_of(&self, number: u32) -> Option<Object> {
        let all = self.objects();
        all.into_iter().find(|object| object.number == number)
    }

    /// What messages call an object, and its name.
    pub(crate) fn describe(&self, object: Object) -> Option<(&'static str, String)> {
        let Object { kind, number } = object;
        match kind {
            ObjectKind::Table => {
                if let Some(view) = self.view(TableId(number)) {
                    return Some(("view", view.name.clone()));
                }
                let table = self.rows_of(TableId(number))?;
                Some(("table", table.name.clone()))
            }
            ObjectKind::Sequence => {
                let sequence = self.sequence_by_id(SequenceId(number))?;
                Some(("sequence", sequence.name.clone()))
            }
            ObjectKind::Routine => {
                let record = &self.routine(RoutineId(number))?.record;
                Some((routine_word(record), record.name.clone()))
            }
            ObjectKind::Schema => {
                let all = system::schemas(self);
                let found = all.into_iter().find(|(known, _)| *known == number);
                found.map(|(_, name)| ("schema", name))
            }
            ObjectKind::Database => {
                let known = self.database_of(object.number);
                let name = known.map_or(FIRST_NAME, |record| &record.name);
                Some(("database", name.to_string()))
            }
            ObjectKind::Type => {
                if let Some(record) = self.user_type(number) {
                    return Some(("type", record.name.clone()));
                }
                let ty = SqlType::built_in_with_oid(number)?;
                let is_array = ty.element().is_some();
                (!is_array).then(|| ("type", ty.to_string()))
            }
        }
    }

    /// Whether a role may do what a statement needs.
    ///
    /// # Errors
    /// `42501` if not.
    pub fn allow(&self, role: RoleId, needs: &[Need]) -> SqlResult<()> {
        let roles = self.roles();
        // Who has it on a whole relation is not asked about its columns, which stand behind it.
        let mut whole: Option<(RoleId, Object, Privileges)> = None;
        for need in needs {
            let role = need.role.unwrap_or(role);
            let Need {
                object, privileges, ..
            } = *need;
            if let Some((who, of, has)) = whole
                && (who, of) == (role, object)
                && has.contains(privileges)
            {
                continue;
            }
            if roles.privileges(role, object, privileges) == privileges {
                whole = Some((role, object, privileges));
            } else if roles.privileges_on(role, object, need.part, privileges) != privileges {
                self.deny(object)?;
            }
        }
        Ok(())
    }

    /// Whether a role has any of these privileges.
    ///
    /// # Errors
    /// `42501` if not.
    pub fn allow_any(&self, role: RoleId, object: Object, any: Privileges) -> SqlResult<()> {
        match self.roles().privileges(role, object, any).is_empty() {
            true => self.deny(object),
            false => Ok(()),
        }
    }

    /// Whether a role may draw from a sequence. Who may give rows to a table may draw for its identity columns.
    ///
    /// # Errors
    /// `42501` if not.
    pub fn allow_draw(&self, role: RoleId, sequence: SequenceId) -> SqlResult<()> {
        let object = Object {
            kind: ObjectKind::Sequence,
            number: sequence.0,
        };
        let drawn = self.allow_any(role, object, Privileges::USAGE | Privileges::UPDATE);
        let known = self.sequence_by_id(sequence);
        let Some((table, _)) = known
            .filter(|known| self.is_identity(known))
            .and_then(|known| known.owned_by)
        else {
            return drawn;
        };
        let written = Privileges::INSERT | Privileges::UPDATE;
        let roles = self.roles();
        let fills = !roles
            .privileges_on(role, table_object(table), Part::Any, written)
            .is_empty();
        match fills {
            true => Ok(()),
            false => drawn,
        }
    }

    pub(crate) fn deny(&self, object: Object) -> SqlResult<()> {
        match self.describe(object) {
            Some((kind, name)) => Err(denied(format!("permission denied for {kind} {name}"))),
            None => Ok(()),
        }
    }
}

impl Planner<'_> {
    /// The schema with this name.
    pub fn schema_object(&self, name: &str) -> Object {
        let all = system::schemas(self.catalog());
        let found = all.into_iter().find(|(_, known)| known == name);
        Object {
            kind: ObjectKind::Schema,
            number: found.map_or(0, |(number, _)| number),
        }
    }

    /// Only the object's owner goes on.
    ///
    /// # Errors
    /// `42501`.
    pub fn must_own(&self, object: Object) -> SqlResult<()> {
        let catalog = self.catalog();
        if catalog.roles().owns(self.context.user.role, object) {
            return Ok(());
        }
        match catalog.describe(object) {
            Some((kind, name)) => Err(denied(format!("must be owner of {kind} {name}"))),
            None => Ok(()),
        }
    }

    /// Only who owns the object, or its schema, goes on.
    ///
    /// # Errors
    /// `42501`.
    pub fn may_drop(&self, object: Object) -> SqlResult<()> {
        let role = self.context.user.role;
        match self.catalog().roles().owns(role, PUBLIC_SCHEMA) {
            true => Ok(()),
            false => self.must_own(object),
        }
    }

    /// Only the owner of an index's table goes on.
    ///
    /// # Errors
    /// `42501` in the index's name.
    pub fn must_own_index(&self, table: TableId, index: &str) -> SqlResult<()> {
        self.must_own_table(table)
            .map_err(|_| denied(format!("must be owner of index {index}")))
    }

    /// Only the table's owner goes on.
    ///
    /// # Errors
    /// `42501`.
    pub fn must_own_table(&self, table: TableId) -> SqlResult<()> {
        self.must_own(Object {
            kind: ObjectKind::Table,
            number: table.0,
        })
    }

    /// Only who has the privileges goes on.
    ///
    /// # Errors
    /// `42501`.
    pub fn must_have(&self, object: Object, privileges: Privileges) -> SqlResult<()> {
        let need = Need {
            object,
            privileges,
            role: None,
            part: Part::Whole,
        };
        self.catalog().allow(self.context.user.role, &[need])
    }

    /// Only a superuser goes on.
    ///
    /// # Errors
    /// `42501` with this message.
    pub fn must_be_superuser(&self, message: &str) -> SqlResult<()> {
        match self.catalog().roles().is_superuser(self.context.user.role) {
            true => Ok(()),
            false => Err(denied(message)),
        }
    }
}
