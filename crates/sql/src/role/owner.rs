//! ALTER … OWNER TO.
//!
//! Relies on: `acl`.  Promises: a table's sequences go with it; what the old owner has granted is the new one's grant.  Does not: give away
//! what is not the current user's, or to whom they could not become.

use super::access::{Access, PUBLIC_SCHEMA};
use super::settings::database_object;
use super::{acl, column, denied, role_named};
use crate::catalog::Relation;
use crate::command::Planned;
use crate::draft::{Draft, owned_sequences};
use crate::from::find_named;
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::routine;
use pg_query::NodeEnum;
use pg_query::protobuf::{AlterOwnerStmt, AlterTableStmt, ObjectType, RangeVar, RoleSpec};
use quintet_base::{RoleId, SqlError, SqlResult, SqlState};
use quintet_ir::{Object, ObjectKind, Privileges};

/// ALTER TABLE, SEQUENCE or INDEX … OWNER TO; `None` if the statement says something else.
pub(crate) fn change_owner(
    planner: &Planner,
    statement: &AlterTableStmt,
    relation: &RangeVar,
    tag: &'static str,
) -> SqlResult<Option<Planned>> {
    use pg_query::protobuf::AlterTableType::AtChangeOwner;
    let commands = statement.cmds.iter().filter_map(|node| match inner(node) {
        Some(NodeEnum::AlterTableCmd(command)) => Some(command),
        _ => None,
    });
    let commands: Vec<_> = commands.collect();
    if !commands
        .iter()
        .any(|command| command.subtype() == AtChangeOwner)
    {
        return Ok(None);
    }
    let spec = match commands.as_slice() {
        [command] => command.newowner.as_ref(),
        _ => None,
    };
    let spec = spec.ok_or_else(|| SqlError::unsupported("OWNER TO beside other changes"))?;
    let Some(found) = find_named(planner, relation)? else {
        let message = format!("relation \"{}\" does not exist", relation.relname);
        if statement.missing_ok {
            planner.notice(format!("{message}, skipping"));
            return Ok(Some(planner.nothing(tag)));
        }
        return Err(planner.error(SqlState::UNDEFINED_TABLE, message, relation.location));
    };
    let object = |kind, number| Object { kind, number };
    let (first, sequences) = match found {
        Relation::Table(id) => (
            object(ObjectKind::Table, id.0),
            owned_sequences(planner.catalog(), id, None),
        ),
        Relation::View(id) | Relation::Partition(id) => {
            (object(ObjectKind::Table, id.0), Vec::new())
        }
        Relation::Sequence(id) => (object(ObjectKind::Sequence, id.0), Vec::new()),
        Relation::Index(..) | Relation::PrimaryKey(_) => {
            planner.warning(
                SqlState::WRONG_OBJECT_TYPE,
                format!("cannot change owner of index \"{}\"", relation.relname),
            );
            return Ok(Some(planner.nothing(tag)));
        }
    };
    let sequences = sequences
        .iter()
        .map(|id| object(ObjectKind::Sequence, id.0));
    let objects: Vec<Object> = std::iter::once(first).chain(sequences).collect();
    give(planner, &objects, spec, tag).map(Some)
}

/// ALTER FUNCTION, PROCEDURE, SCHEMA or DATABASE … OWNER TO.
pub(crate) fn alter_owner(planner: &Planner, statement: &AlterOwnerStmt) -> SqlResult<Planned> {
    let what = statement.object.as_deref().and_then(inner);
    let (object, tag) = match (statement.object_type(), what) {
        (kind, Some(NodeEnum::ObjectWithArgs(named))) => {
            let (what, procedure, tag) = match kind {
                ObjectType::ObjectFunction => ("function", Some(false), "ALTER FUNCTION"),
                ObjectType::ObjectProcedure => ("procedure", Some(true), "ALTER PROCEDURE"),
                ObjectType::ObjectRoutine => ("routine", None, "ALTER ROUTINE"),
                _ => {
                    return Err(SqlError::unsupported(
                        "ALTER … OWNER of this kind of object",
                    ));
                }
            };
            let id = routine::find(planner, named, what, procedure)?;
            let object = Object {
                kind: ObjectKind::Routine,
                number: id.0,
            };
            (object, tag)
        }
        (
            kind @ (ObjectType::ObjectType | ObjectType::ObjectDomain),
            Some(NodeEnum::List(name)),
        ) => {
            let name = names::strings(&name.items);
            let found = planner.type_of_name(&name)?;
            let object = Object {
                kind: ObjectKind::Type,
                number: found.id,
            };
            let tag = match kind {
                ObjectType::ObjectDomain => "ALTER DOMAIN",
                _ => "ALTER TYPE",
            };
            (object, tag)
        }
        (ObjectType::ObjectSchema, Some(NodeEnum::String(name)))
            if planner.catalog().has_schema(&name.sval) =>
        {
            (planner.schema_object(&name.sval), "ALTER SCHEMA")
        }
        (ObjectType::ObjectDatabase, Some(NodeEnum::String(name))) => {
            (database_object(planner, &name.sval)?, "ALTER DATABASE")
        }
        _ => {
            return Err(SqlError::unsupported(
                "ALTER … OWNER of this kind of object",
            ));
        }
    };
    let spec = statement.newowner.as_ref();
    let spec = spec.ok_or_else(|| SqlError::internal("OWNER TO nobody"))?;
    give(planner, &[object], spec, tag)
}

/// Gives objects, the first of which was named, to another owner.
fn give(
    planner: &Planner,
    objects: &[Object],
    spec: &RoleSpec,
    tag: &'static str,
) -> SqlResult<Planned> {
    let new: RoleId = role_named(planner, spec)?;
    let roles = planner.catalog().roles();
    let role = planner.context.user.role;
    let mut draft = Draft::new(planner);
    for (place, object) in objects.iter().enumerate() {
        let access = roles.access_of(*object);
        if access.owner == new {
            continue;
        }
        if place == 0 {
            planner.must_own(*object)?;
            if !roles.is_member(role, new) {
                let name = roles.name(new);
                return Err(denied(format!("must be member of role \"{name}\"")));
            }
            let in_schema = !matches!(object.kind, ObjectKind::Schema | ObjectKind::Database);
            if in_schema && !roles.is_superuser(role) {
                let create = Privileges::CREATE;
                if roles.privileges(new, PUBLIC_SCHEMA, create).is_empty() {
                    planner.catalog().deny(PUBLIC_SCHEMA)?;
                }
            }
        }
        let list = access.acl.as_ref();
        let given = Access {
            owner: new,
            acl: list.map(|list| acl::with_new_owner(list, access.owner, new)),
        };
        draft.put_access(&given.record(object.number))?;
        column::columns_given(&mut draft, object.number, access.owner, new)?;
    }
    draft.finish(tag)
}
