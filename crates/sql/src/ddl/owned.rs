//! REASSIGN OWNED and DROP OWNED: what belongs to roles that are to go.
//!
//! Relies on: `role` for owners and lists of privileges, `schema` for dropping many objects at once.  Promises: after both a role
//! can be dropped; who asks must have the privileges of the roles.  Does not: touch what belongs to the bootstrap superuser.

use super::policy;
use super::schema::{Contents, contents, drop_all, own};
use crate::command::Planned;
use crate::draft::Draft;
use crate::large_object;
use crate::planner::Planner;
use crate::records::DefaultsRecord;
use crate::role::{
    Access, columns_given, columns_without, denied, is_schema_of_session, role_named, specs,
    with_new_owner, without_role,
};
use crate::system::{PUBLIC, schemas};
use pg_query::protobuf::{DropBehavior, DropOwnedStmt, Node, ReassignOwnedStmt};
use quintet_base::{RoleId, RoutineId, SequenceId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::{Object, ObjectKind};

/// The roles that are named, whose privileges the user must have.
fn roles_named(planner: &Planner, nodes: &[Node], doing: &str) -> SqlResult<Vec<RoleId>> {
    let roles = planner.catalog().roles();
    let user = planner.context.user.role;
    let named = specs(nodes).into_iter().map(|spec| {
        let role = role_named(planner, spec)?;
        if !roles.has_privileges_of(user, role) {
            return Err(denied(format!(
                "permission denied to {doing} objects"
            )));
        }
        if role.0 < crate::records::FIRST_ID {
            return Err(SqlError::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!(
                    "cannot {doing} objects owned by role {} because they are required by the database system",
                    roles.name(role)
                ),
            ));
        }
        Ok(role)
    });
    named.collect()
}

/// REASSIGN OWNED BY … TO.
pub(super) fn reassign(planner: &Planner, statement: &ReassignOwnedStmt) -> SqlResult<Planned> {
    let old = roles_named(planner, &statement.roles, "reassign")?;
    let new = crate::names::required(statement.newrole.as_ref())?;
    let new = role_named(planner, new)?;
    let catalog = planner.catalog();
    let roles = catalog.roles();
    if !roles.has_privileges_of(planner.context.user.role, new) {
        return Err(denied("permission denied to reassign objects"));
    }
    let mut draft = Draft::new(planner);
    for object in catalog.objects() {
        let access = roles.access_of(object);
        if !old.contains(&access.owner) {
            continue;
        }
        let list = access.acl.as_ref();
        let given = Access {
            owner: new,
            acl: list.map(|list| with_new_owner(list, access.owner, new)),
        };
        draft.put_access(&given.record(object.number))?;
        columns_given(&mut draft, object.number, access.owner, new)?;
    }
    large_object::reassign(&mut draft, &old, new)?;
    draft.finish("REASSIGN OWNED")
}

/// DROP OWNED BY.
pub(super) fn drop(planner: &Planner, statement: &DropOwnedStmt) -> SqlResult<Planned> {
    let of = roles_named(planner, &statement.roles, "drop")?;
    let cascade = statement.behavior() == DropBehavior::DropCascade;
    let catalog = planner.catalog();
    let mut draft = Draft::new(planner);
    let mut owned = Contents::default();
    let mut own_schemas = Vec::new();
    for object in catalog.objects() {
        if is_schema_of_session(catalog, object) {
            continue;
        }
        let access = catalog.roles().access_of(object);
        match of.contains(&access.owner) {
            true if object.kind == ObjectKind::Schema => own_schemas.push(object.number),
            true => add(planner, &mut owned, object),
            false => {
                revoke(&mut draft, object, &access, &of)?;
                columns_without(&mut draft, object, &of)?;
            }
        }
    }
    for (number, name) in schemas(catalog) {
        if own_schemas.contains(&number) {
            own(planner, &name)?;
            take_schema(planner, &mut owned, &name, cascade)?;
        }
    }
    drop_all(&mut draft, &owned, "what is owned", cascade)?;
    policy::forget_roles(&mut draft, &of)?;
    for number in own_schemas {
        match number {
            PUBLIC => draft.drop_public()?,
            number => draft.drop_schema(number),
        }
    }
    for record in catalog.roles().all_defaults() {
        forget(&mut draft, record, &of)?;
    }
    large_object::drop_owned(&mut draft, &of)?;
    draft.finish("DROP OWNED")
}

/// An object among those to drop. Sequences of columns go with those.
fn add(planner: &Planner, owned: &mut Contents, object: Object) {
    let catalog = planner.catalog();
    let number = object.number;
    match object.kind {
        ObjectKind::Table if catalog.view(TableId(number)).is_some() => {
            owned.views.push(TableId(number));
        }
        ObjectKind::Table => owned.tables.push(TableId(number)),
        ObjectKind::Sequence => {
            let id = SequenceId(number);
            let sequence = catalog.sequence_by_id(id);
            if sequence.is_some_and(|sequence| sequence.owned_by.is_none()) {
                owned.sequences.push(id);
            }
        }
        ObjectKind::Routine => owned.routines.push(RoutineId(number)),
        ObjectKind::Type => owned.types.push(number),
        ObjectKind::Schema | ObjectKind::Database => {}
    }
}

/// What others have in a schema goes with it if it may.
fn take_schema(
    planner: &Planner,
    owned: &mut Contents,
    name: &str,
    cascade: bool,
) -> SqlResult<()> {
    let (all, names) = contents(planner.catalog(), name);
    let before = owned.count();
    owned.join(all);
    if owned.count() == before || cascade {
        return Ok(());
    }
    let depend = |what: &String| format!("{what} depends on schema {name}");
    let details: Vec<String> = names.iter().map(depend).collect();
    Err(SqlError::new(
        SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        "cannot drop desired object(s) because other objects depend on them",
    )
    .detail(details.join("\n"))
    .hint("Use DROP ... CASCADE to drop the dependent objects too."))
}

impl Contents {
    fn count(&self) -> usize {
        self.tables.len()
            + self.views.len()
            + self.sequences.len()
            + self.routines.len()
            + self.types.len()
            + self.extensions.len()
    }

    /// Those of both, each once.
    fn join(&mut self, other: Contents) {
        fn add<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
            for one in more {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        add(&mut self.tables, other.tables);
        add(&mut self.views, other.views);
        add(&mut self.sequences, other.sequences);
        add(&mut self.routines, other.routines);
        add(&mut self.types, other.types);
        add(&mut self.extensions, other.extensions);
    }
}

/// Takes back what roles were granted on an object.
fn revoke(draft: &mut Draft, object: Object, access: &Access, of: &[RoleId]) -> SqlResult<()> {
    let Some(list) = &access.acl else {
        return Ok(());
    };
    let next = without_role(list, of, access.owner)?;
    match next == *list {
        true => Ok(()),
        false => {
            let access = Access {
                owner: access.owner,
                acl: Some(next),
            };
            draft.put_access(&access.record(object.number))
        }
    }
}

/// The same of what objects to come are granted.
fn forget(draft: &mut Draft, record: &DefaultsRecord, of: &[RoleId]) -> SqlResult<()> {
    if of.contains(&record.role) {
        draft.drop_defaults(record.number);
        return Ok(());
    }
    let list = record.list();
    let next = without_role(&list, of, record.role)?;
    if next == list {
        return Ok(());
    }
    let whose = (record.role, record.schema, record.kind);
    draft.put_defaults(&DefaultsRecord::new(record.number, whose, &next))
}
