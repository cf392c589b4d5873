//! GRANT and REVOKE of privileges.
//!
//! Relies on: `acl`.  Promises: what is granted, by whom, and which warnings there are, as in PostgreSQL.  Does not: privileges on
//! columns (`column`); default privileges of objects to come (`defaults`).

use super::access::Access;
use super::acl::{self, Behavior, Item, Mode};
use super::settings::database_object;
use super::{Named, column, named, options, role_named};
use crate::catalog::Relation;
use crate::command::Planned;
use crate::draft::Draft;
use crate::from::find_named;
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::routine;
use crate::system::type_name;
use crate::tree::string;
use crate::types;
use pg_query::NodeEnum;
use pg_query::protobuf::{DropBehavior, GrantStmt, GrantTargetType, Node, ObjectType, TypeName};
use quintet_base::{RoleId, SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::{Object, ObjectKind, Privileges};

/// GRANT … ON, REVOKE … ON.
pub(crate) fn grant(planner: &Planner, statement: &GrantStmt) -> SqlResult<Planned> {
    if let Some(spec) = &statement.grantor
        && role_named(planner, spec)? != planner.context.user.role
    {
        let message = "grantor must be current user";
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let grantees = grantees(planner, statement)?;
    let of_columns = columns_named(statement)?;
    if !of_columns.is_empty() && statement.objtype() != ObjectType::ObjectTable {
        let message = "column privileges are only valid for relations";
        return Err(SqlError::new(SqlState::INVALID_GRANT_OPERATION, message));
    }
    let wanted = wanted(statement)?;
    let objects = match statement.targtype() {
        GrantTargetType::AclTargetAllInSchema => all_in_schemas(planner, statement)?,
        _ => named_objects(planner, statement)?,
    };
    let mut draft = Draft::new(planner);
    for object in objects {
        if wanted != Some(Privileges::NONE) {
            let access = changed(planner, statement, object, (wanted, &grantees))?;
            draft.put_access(&access.record(object.number))?;
        }
        if object.kind == ObjectKind::Table {
            let whole = wanted.unwrap_or(acl::all_of(object.kind));
            column::change(&mut draft, statement, object, &of_columns, whole)?;
        } else if !of_columns.is_empty() {
            return Err(SqlError::unsupported(
                "a privilege on columns of a sequence",
            ));
        }
    }
    draft.finish(match statement.is_grant {
        true => "GRANT",
        false => "REVOKE",
    })
}

/// Whom a statement is about.
pub(crate) fn grantees(planner: &Planner, statement: &GrantStmt) -> SqlResult<Vec<RoleId>> {
    let grantees = options::specs(&statement.grantees).into_iter();
    let grantees = grantees.map(|spec| match named(planner, spec)? {
        Named::Role(role) => Ok(role),
        Named::Public => Ok(RoleId::PUBLIC),
    });
    grantees.collect()
}

/// The privileges that a statement names, of those that there are on the kind of object; `None`: all.
fn wanted(statement: &GrantStmt) -> SqlResult<Option<Privileges>> {
    let (possible, word) = match statement.objtype() {
        // Sequences may be named as tables.
        ObjectType::ObjectTable => (
            acl::all_of(ObjectKind::Table) | acl::all_of(ObjectKind::Sequence),
            "relation",
        ),
        ObjectType::ObjectSequence => (acl::all_of(ObjectKind::Sequence), "sequence"),
        ObjectType::ObjectFunction => (Privileges::EXECUTE, "function"),
        ObjectType::ObjectProcedure => (Privileges::EXECUTE, "procedure"),
        ObjectType::ObjectRoutine => (Privileges::EXECUTE, "routine"),
        ObjectType::ObjectSchema => (acl::all_of(ObjectKind::Schema), "schema"),
        ObjectType::ObjectDatabase => (acl::all_of(ObjectKind::Database), "database"),
        ObjectType::ObjectType => (Privileges::USAGE, "type"),
        ObjectType::ObjectDomain => (Privileges::USAGE, "domain"),
        _ => return Err(SqlError::unsupported("privileges on this kind of object")),
    };
    let wanted = privileges_named(statement)?;
    let others = wanted.unwrap_or(Privileges::NONE) & !possible;
    match others.is_empty() {
        true => Ok(wanted),
        false => Err(invalid(others, word)),
    }
}

/// The same, whatever it is about.
pub(crate) fn privileges_named(statement: &GrantStmt) -> SqlResult<Option<Privileges>> {
    let mut all = Privileges::NONE;
    for node in &statement.privileges {
        let Some(NodeEnum::AccessPriv(named)) = inner(node) else {
            continue;
        };
        if named.cols.is_empty() {
            all |= privilege_named(&named.priv_name)?;
        }
    }
    Ok((!statement.privileges.is_empty()).then_some(all))
}

fn privilege_named(name: &str) -> SqlResult<Privileges> {
    Privileges::named(name).ok_or_else(|| {
        let message = format!("unrecognized privilege type \"{name}\"");
        SqlError::new(SqlState::SYNTAX_ERROR, message)
    })
}

/// What a statement says of columns.
pub(super) fn columns_named(statement: &GrantStmt) -> SqlResult<Vec<column::Wanted>> {
    let mut all = Vec::new();
    for node in &statement.privileges {
        if let Some(NodeEnum::AccessPriv(named)) = inner(node)
            && !named.cols.is_empty()
        {
            let privileges = match named.priv_name.as_str() {
                "" => None,
                name => Some(privilege_named(name)?),
            };
            let columns = names::strings(&named.cols).into_iter();
            all.push((privileges, columns.map(str::to_string).collect()));
        }
    }
    Ok(all)
}

pub(crate) fn invalid(privilege: Privileges, word: &str) -> SqlError {
    let mut known = Privileges::ALL.iter();
    let name = known.find(|(one, ..)| privilege.contains(*one));
    let name = name.map_or("", |(_, name, _)| name);
    SqlError::new(
        SqlState::INVALID_GRANT_OPERATION,
        format!("invalid privilege type {name} for {word}"),
    )
}

fn table(number: u32) -> Object {
    Object {
        kind: ObjectKind::Table,
        number,
    }
}

fn sequence(number: u32) -> Object {
    Object {
        kind: ObjectKind::Sequence,
        number,
    }
}

fn named_objects(planner: &Planner, statement: &GrantStmt) -> SqlResult<Vec<Object>> {
    let kind = statement.objtype();
    let object = |node: &Node| match inner(node) {
        Some(NodeEnum::RangeVar(relation)) => {
            let name = &relation.relname;
            let wrong = |what| {
                let message = format!("\"{name}\" is {what}");
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
            };
            match find_named(planner, relation)? {
                Some(Relation::Sequence(id)) => Ok(sequence(id.0)),
                Some(Relation::Table(_) | Relation::View(_) | Relation::Partition(_))
                    if kind == ObjectType::ObjectSequence =>
                {
                    wrong("not a sequence")
                }
                Some(Relation::Table(id) | Relation::View(id) | Relation::Partition(id)) => {
                    Ok(table(id.0))
                }
                Some(Relation::Index(..) | Relation::PrimaryKey(_)) => wrong("an index"),
                None => Err(SqlError::new(
                    SqlState::UNDEFINED_TABLE,
                    match relation.schemaname.as_str() {
                        "" => format!("relation \"{name}\" does not exist"),
                        schema => format!("relation \"{schema}.{name}\" does not exist"),
                    },
                )),
            }
        }
        Some(NodeEnum::ObjectWithArgs(object)) => {
            let (what, procedure) = match kind {
                ObjectType::ObjectFunction => ("function", Some(false)),
                ObjectType::ObjectProcedure => ("procedure", Some(true)),
                _ => ("routine", None),
            };
            let id = routine::find(planner, object, what, procedure)?;
            Ok(Object {
                kind: ObjectKind::Routine,
                number: id.0,
            })
        }
        Some(NodeEnum::List(name)) => type_named(planner, &names::strings(&name.items), kind),
        Some(NodeEnum::String(name)) if kind == ObjectType::ObjectSchema => {
            schema_named(planner, &name.sval)
        }
        Some(NodeEnum::String(name)) => database_object(planner, &name.sval),
        _ => Err(SqlError::unsupported("privileges on this kind of object")),
    };
    statement.objects.iter().map(object).collect()
}

/// A type, of which there are privileges.
fn type_named(planner: &Planner, name: &[&str], kind: ObjectType) -> SqlResult<Object> {
    let found = match planner.type_of_name(name) {
        Ok(found) => found,
        Err(error) => {
            let named = TypeName {
                names: name.iter().map(|part| string(*part)).collect(),
                typemod: -1,
                location: -1,
                ..TypeName::default()
            };
            // One of the system's, or that of a table's rows.
            let (ty, _) = types::resolve(planner, &named).map_err(|_| error)?;
            if ty.element().is_some() {
                let message = "cannot set privileges of array types";
                return Err(SqlError::new(SqlState::INVALID_GRANT_OPERATION, message)
                    .hint("Set the privileges of the element type instead."));
            }
            if kind == ObjectType::ObjectDomain {
                return Err(no_domain(name));
            }
            let object = Object {
                kind: ObjectKind::Type,
                number: ty.oid(),
            };
            if planner.catalog().is_there(object) {
                return Ok(object);
            }
            let what = format!("privileges on type \"{}\"", name.join("."));
            return Err(SqlError::unsupported(what));
        }
    };
    if kind == ObjectType::ObjectDomain && found.domain().is_none() {
        return Err(no_domain(name));
    }
    Ok(Object {
        kind: ObjectKind::Type,
        number: found.id,
    })
}

fn no_domain(name: &[&str]) -> SqlError {
    let message = format!("\"{}\" is not a domain", name.last().unwrap_or(&""));
    SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
}

pub(super) fn schema_named(planner: &Planner, name: &str) -> SqlResult<Object> {
    match planner.catalog().has_schema(name) || name.starts_with("pg_catalog") {
        true => Ok(planner.schema_object(name)),
        false => Err(SqlError::new(
            SqlState::INVALID_SCHEMA_NAME,
            format!("schema \"{name}\" does not exist"),
        )),
    }
}

fn all_in_schemas(planner: &Planner, statement: &GrantStmt) -> SqlResult<Vec<Object>> {
    let catalog = planner.catalog();
    let mut all = Vec::new();
    for schema in names::strings(&statement.objects) {
        schema_named(planner, schema)?;
        match statement.objtype() {
            ObjectType::ObjectTable => {
                let there = catalog.tables().filter(|table| table.schema == schema);
                all.extend(there.map(|found| table(found.id.0)));
                let parts = catalog.divisions().parts();
                let parts = parts.filter(|part| part.schema == schema);
                all.extend(parts.map(|part| table(part.id.0)));
                let views = catalog.views().filter(|view| view.schema == schema);
                all.extend(views.map(|view| table(view.id.0)));
            }
            ObjectType::ObjectSequence => {
                let there = catalog.sequences().filter(|found| found.schema == schema);
                all.extend(there.map(|found| sequence(found.id.0)));
            }
            kind => {
                let there = catalog.all_routines();
                let there = there.filter(|found| found.record.schema == schema);
                let fits = |word| match kind {
                    ObjectType::ObjectFunction => word == "function",
                    ObjectType::ObjectProcedure => word == "procedure",
                    _ => true,
                };
                let there = there.filter(|found| fits(super::routine_word(&found.record)));
                all.extend(there.map(|found| Object {
                    kind: ObjectKind::Routine,
                    number: found.record.id.0,
                }));
            }
        }
    }
    Ok(all)
}

/// An object's access record after the statement.
fn changed(
    planner: &Planner,
    statement: &GrantStmt,
    object: Object,
    (wanted, grantees): (Option<Privileges>, &[RoleId]),
) -> SqlResult<Access> {
    let roles = planner.catalog().roles();
    let all = acl::all_of(object.kind);
    let named = wanted.unwrap_or(all);
    let mut privileges = named;
    let (word, mut name) = planner.catalog().describe(object).unwrap_or_default();
    // Here PostgreSQL calls a type what the catalogue calls it.
    if object.kind == ObjectKind::Type
        && let Some(ty) = SqlType::built_in_with_oid(object.number)
    {
        name = type_name(ty);
    }
    if !all.contains(privileges) {
        if object.kind == ObjectKind::Table {
            return Err(invalid(privileges & !all, "table"));
        }
        planner.warning(
            SqlState::INVALID_GRANT_OPERATION,
            format!("{word} \"{name}\" only supports USAGE, SELECT, and UPDATE privileges"),
        );
        privileges = privileges & all;
    }
    let access = roles.access_of(object);
    let owner = access.owner;
    let list = access.list(object.kind).into_owned();
    let role = planner.context.user.role;
    let (grantor, may) = acl::best_grantor(roles, &list, role, owner, privileges);
    if may.is_empty() {
        let has = acl::privileges_of(roles, &list, grantor, all)
            | acl::options_of(roles, &list, grantor, owner, all);
        if has.is_empty() {
            planner.catalog().deny(object)?;
        }
    }
    let granted = privileges & may;
    let (state, verb) = match statement.is_grant {
        true => (SqlState::WARNING_PRIVILEGE_NOT_GRANTED, "were granted"),
        false => (SqlState::WARNING_PRIVILEGE_NOT_REVOKED, "could be revoked"),
    };
    if granted.is_empty() {
        planner.warning(state, format!("no privileges {verb} for \"{name}\""));
    } else if wanted.is_some() && granted != privileges {
        planner.warning(state, format!("not all privileges {verb} for \"{name}\""));
    }
    let list = list_changed(&list, statement, granted, (grantees, grantor), owner)?;
    Ok(Access {
        owner,
        acl: Some(list),
    })
}

/// A list as GRANT or REVOKE of these privileges leaves it.
///
/// # Errors
/// `0LP01` for grant options of PUBLIC; what depends on what is taken back.
pub(super) fn list_changed(
    list: &[Item],
    statement: &GrantStmt,
    granted: Privileges,
    (grantees, grantor): (&[RoleId], RoleId),
    owner: RoleId,
) -> SqlResult<Vec<Item>> {
    let mut list = list.to_vec();
    let behavior = match statement.behavior() {
        DropBehavior::DropCascade => Behavior::Cascade,
        _ => Behavior::Restrict,
    };
    let (is_grant, option) = (statement.is_grant, statement.grant_option);
    let part = |yes: bool| if yes { granted } else { Privileges::NONE };
    for grantee in grantees {
        if is_grant && option && *grantee == RoleId::PUBLIC {
            return Err(SqlError::new(
                SqlState::INVALID_GRANT_OPERATION,
                "grant options can only be granted to roles",
            ));
        }
        let item = Item {
            grantee: *grantee,
            grantor,
            privileges: part(is_grant || !option),
            options: part(!is_grant || option),
        };
        let mode = if is_grant { Mode::Add } else { Mode::Remove };
        list = acl::update(&list, item, mode, owner, behavior)?;
    }
    Ok(list)
}
