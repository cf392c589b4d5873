//! GRANT and REVOKE of roles, and the roles as a statement will leave them.
//!
//! Relies on: [`Roles`].  Promises: no role is a member of itself, by whatever way.  Does not: keep more than one grant of a membership:
//! who grants it again is not written down.

use super::{DATABASE_OWNER, Named, Roles, denied, named, no_role, options, role_named};
use crate::command::Planned;
use crate::draft::Draft;
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::records::{GroupRecord, RoleRecord};
use pg_query::NodeEnum;
use pg_query::protobuf::GrantRoleStmt;
use quintet_base::{RoleId, SqlError, SqlResult, SqlState};
use std::collections::BTreeSet;

/// Roles as they will be.
pub(super) struct Changed {
    pub roles: Roles,
    touched: BTreeSet<RoleId>,
}

impl Changed {
    pub fn new(planner: &Planner) -> Changed {
        Changed {
            roles: planner.catalog().roles().clone(),
            touched: BTreeSet::new(),
        }
    }

    /// Puts a role.
    pub fn put(&mut self, record: RoleRecord) {
        self.touched.insert(record.id);
        self.roles.put(record.id, Some(record));
        self.roles.settle();
    }

    /// A role's record, to be changed and put.
    pub fn record(&self, id: RoleId) -> SqlResult<RoleRecord> {
        let found = self.roles.get(id).map(|record| RoleRecord::clone(record));
        found.ok_or_else(|| SqlError::internal("a role without a record"))
    }

    /// Writes what has changed.
    pub fn write(&self, draft: &mut Draft) -> SqlResult<()> {
        for id in &self.touched {
            if let Some(record) = self.roles.get(*id) {
                draft.put_role(record)?;
            }
        }
        Ok(())
    }
}

/// GRANT role TO role, REVOKE role FROM role.
pub(crate) fn grant_role(planner: &Planner, statement: &GrantRoleStmt) -> SqlResult<Planned> {
    let mut admin = None;
    for node in &statement.opt {
        if let Some(NodeEnum::DefElem(option)) = inner(node) {
            match option.defname.as_str() {
                "admin" => {
                    let text = option.arg.as_deref().and_then(names::option_text);
                    admin = Some(text.is_none_or(|text| text == "true"));
                }
                other => {
                    let other = other.to_uppercase();
                    return Err(planner.unsupported(format!("WITH {other}"), option.location));
                }
            }
        }
    }
    let grantor = match &statement.grantor {
        Some(spec) => role_named(planner, spec)?,
        None => planner.context.user.role,
    };
    let members = options::specs(&statement.grantee_roles)
        .into_iter()
        .map(|spec| match named(planner, spec)? {
            Named::Role(role) => Ok(role),
            Named::Public => Err(no_role("public")),
        });
    let members = members.collect::<SqlResult<Vec<RoleId>>>()?;
    let mut changed = Changed::new(planner);
    for node in &statement.granted_roles {
        let Some(NodeEnum::AccessPriv(granted)) = inner(node) else {
            continue;
        };
        if !granted.cols.is_empty() {
            return Err(SqlError::new(
                SqlState::INVALID_GRANT_OPERATION,
                "column names cannot be included in GRANT/REVOKE ROLE",
            ));
        }
        let group = planner.catalog().roles().named(&granted.priv_name);
        let group = group.ok_or_else(|| no_role(&granted.priv_name))?;
        match statement.is_grant {
            true => add(
                planner,
                &mut changed,
                group,
                &members,
                (grantor, admin == Some(true)),
            )?,
            false => remove(planner, &mut changed, group, &members, admin.is_some())?,
        }
    }
    let mut draft = Draft::new(planner);
    changed.write(&mut draft)?;
    draft.finish(match statement.is_grant {
        true => "GRANT ROLE",
        false => "REVOKE ROLE",
    })
}

fn may_change(planner: &Planner, group: RoleId) -> SqlResult<()> {
    let roles = planner.catalog().roles();
    let role = planner.context.user.role;
    if roles.is_superuser(role) {
        return Ok(());
    }
    if roles.is_superuser(group) {
        return Err(denied("must be superuser to alter superusers"));
    }
    if !super::define::may_create(roles, role) && !roles.is_admin(role, group) {
        let name = roles.name(group);
        return Err(denied(format!("must have admin option on role \"{name}\"")));
    }
    Ok(())
}

/// Makes roles members of a group.
///
/// # Errors
/// `42501`; `0LP01` if one would be a member of itself.
pub(super) fn add(
    planner: &Planner,
    changed: &mut Changed,
    group: RoleId,
    members: &[RoleId],
    (grantor, admin): (RoleId, bool),
) -> SqlResult<()> {
    may_change(planner, group)?;
    let group_name = changed.roles.name(group);
    if group == DATABASE_OWNER {
        return Err(SqlError::unsupported("members of pg_database_owner"));
    }
    let user = planner.context.user.role;
    if grantor != user && !planner.catalog().roles().is_superuser(user) {
        return Err(denied("must be superuser to set grantor"));
    }
    for member in members {
        let name = changed.roles.name(*member);
        if changed.roles.is_plain_member(group, *member) {
            return Err(SqlError::new(
                SqlState::INVALID_GRANT_OPERATION,
                format!("role \"{group_name}\" is a member of role \"{name}\""),
            ));
        }
        let mut record = changed.record(*member)?;
        match record.groups.iter_mut().find(|known| known.role == group) {
            Some(known) if known.admin || !admin => {
                planner.notice(format!(
                    "role \"{name}\" is already a member of role \"{group_name}\""
                ));
                continue;
            }
            Some(known) => known.admin = true,
            None => record.groups.push(GroupRecord {
                role: group,
                grantor,
                admin,
            }),
        }
        changed.put(record);
    }
    Ok(())
}

/// Takes members out of a group, or their admin option.
///
/// # Errors
/// `42501`.
pub(super) fn remove(
    planner: &Planner,
    changed: &mut Changed,
    group: RoleId,
    members: &[RoleId],
    only_admin: bool,
) -> SqlResult<()> {
    may_change(planner, group)?;
    let group_name = changed.roles.name(group);
    for member in members {
        let mut record = changed.record(*member)?;
        let Some(place) = record.groups.iter().position(|known| known.role == group) else {
            let name = changed.roles.name(*member);
            planner.warning(
                SqlState::WARNING,
                format!("role \"{name}\" is not a member of role \"{group_name}\""),
            );
            continue;
        };
        match only_admin {
            true => record.groups[place].admin = false,
            false => {
                record.groups.remove(place);
            }
        }
        changed.put(record);
    }
    Ok(())
}
