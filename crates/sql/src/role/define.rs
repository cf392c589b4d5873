//! CREATE, ALTER and DROP ROLE, USER and GROUP.
//!
//! Relies on: `options`, `member`.  Promises: a role that owns something, or was granted something, is not dropped; the bootstrap
//! superuser stays one; the checks and words are those of PostgreSQL 15.  Does not: keep settings by role (0A000).

use super::member::{self, Changed};
use super::options::Options;
use super::{Roles, denied, no_role, role_named};
use crate::catalog::Catalog;
use crate::command::Planned;
use crate::draft::Draft;
use crate::large_object;
use crate::names::inner;
use crate::planner::Planner;
use crate::records::{DefaultsRecord, RoleRecord};
use crate::temporary::is_temporary;
use pg_query::NodeEnum;
use pg_query::protobuf::{
    AlterRoleStmt, CreateRoleStmt, DropRoleStmt, RenameStmt, RoleSpecType, RoleStmtType,
};
use quintet_base::{RoleId, SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::{Object, ObjectKind};

/// Whether a role has CREATEROLE.
pub(super) fn may_create(roles: &Roles, role: RoleId) -> bool {
    roles.is_superuser(role) || roles.get(role).is_some_and(|role| role.create_role)
}

/// CREATE ROLE.
pub(crate) fn create(planner: &Planner, statement: &CreateRoleStmt) -> SqlResult<Planned> {
    let name = &statement.role;
    let options = Options::read(planner, &statement.options)?;
    let roles = planner.catalog().roles();
    let user = planner.context.user.role;
    if options.superuser == Some(true) {
        planner.must_be_superuser("must be superuser to create superusers")?;
    } else if options.bypass == Some(true) {
        planner.must_be_superuser("must be superuser to create bypassrls users")?;
    } else if !may_create(roles, user) {
        return Err(denied("permission denied to create role"));
    }
    refuse_reserved(name)?;
    refuse_taken(roles, name)?;
    let mut draft = Draft::new(planner);
    let id = RoleId(draft.id());
    let mut record = RoleRecord::plain(id, name);
    record.login = statement.stmt_type() == RoleStmtType::RolestmtUser;
    set(&mut record, &options);
    let mut changed = Changed::new(planner);
    changed.put(record);
    let how = (user, false);
    for spec in options.groups.iter().flatten() {
        let group = role_named(planner, spec)?;
        member::add(planner, &mut changed, group, &[id], how)?;
    }
    for (list, admin) in [(&options.admins, true), (&options.members, false)] {
        for spec in list.iter().flatten() {
            let one = role_named(planner, spec)?;
            member::add(planner, &mut changed, id, &[one], (user, admin))?;
        }
    }
    changed.write(&mut draft)?;
    draft.finish("CREATE ROLE")
}

/// ALTER ROLE with options, ALTER GROUP … ADD and DROP USER.
pub(crate) fn alter(planner: &Planner, statement: &AlterRoleStmt) -> SqlResult<Planned> {
    let spec = statement.role.as_ref();
    let spec = spec.ok_or_else(|| SqlError::internal("ALTER ROLE of nobody"))?;
    let options = Options::read(planner, &statement.options)?;
    let roles = planner.catalog().roles();
    if spec.roletype() == RoleSpecType::RolespecCstring {
        refuse_reserved_change(&spec.rolename)?;
    }
    let id = role_named(planner, spec)?;
    let user = planner.context.user.role;
    let mut changed = Changed::new(planner);
    let mut record = changed.record(id)?;
    if record.superuser || options.superuser.is_some() {
        planner.must_be_superuser(
            "must be superuser to alter superuser roles or change superuser attribute",
        )?;
    } else if options.bypass.is_some() {
        planner.must_be_superuser("must be superuser to change bypassrls attribute")?;
    } else if !may_create(roles, user)
        && (options.is_more_than_password() || options.password.is_none() || id != user)
    {
        return Err(denied("permission denied"));
    }
    if id == RoleId::BOOTSTRAP && (options.superuser == Some(false) || options.login == Some(false))
    {
        return Err(SqlError::unsupported(
            "taking SUPERUSER or LOGIN from the bootstrap superuser",
        ));
    }
    set(&mut record, &options);
    changed.put(record);
    if let Some(members) = &options.members {
        let members = members.iter().map(|spec| role_named(planner, spec));
        let members = members.collect::<SqlResult<Vec<RoleId>>>()?;
        match statement.action {
            1 => member::add(planner, &mut changed, id, &members, (user, false))?,
            _ => member::remove(planner, &mut changed, id, &members, false)?,
        }
    }
    let mut draft = Draft::new(planner);
    changed.write(&mut draft)?;
    draft.finish("ALTER ROLE")
}

fn set(record: &mut RoleRecord, options: &Options) {
    let flags = [
        (&mut record.superuser, options.superuser),
        (&mut record.inherit, options.inherit),
        (&mut record.create_role, options.create_role),
        (&mut record.create_db, options.create_db),
        (&mut record.login, options.login),
        (&mut record.bypass, options.bypass),
    ];
    for (flag, said) in flags {
        *flag = said.unwrap_or(*flag);
    }
    if let Some(limit) = options.connection_limit {
        record.connection_limit = limit;
    }
    if let Some(password) = &options.password {
        record.verifier.clone_from(password);
    }
    record.valid_until = options.valid_until.or(record.valid_until);
}

/// ALTER ROLE … RENAME TO.
pub(crate) fn rename(planner: &Planner, statement: &RenameStmt) -> SqlResult<Planned> {
    let (old, new) = (&statement.subname, &statement.newname);
    let roles = planner.catalog().roles();
    let id = roles.named(old).ok_or_else(|| no_role(old))?;
    if id == planner.context.user.session {
        return Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "session user cannot be renamed",
        ));
    }
    if id == planner.context.user.role {
        return Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "current user cannot be renamed",
        ));
    }
    refuse_reserved_change(old)?;
    refuse_reserved(new)?;
    refuse_taken(roles, new)?;
    let mut changed = Changed::new(planner);
    let mut record = changed.record(id)?;
    if record.superuser {
        planner.must_be_superuser("must be superuser to rename superusers")?;
    } else if !may_create(roles, planner.context.user.role) {
        return Err(denied("permission denied to rename role"));
    }
    record.name.clone_from(new);
    changed.put(record);
    let mut draft = Draft::new(planner);
    changed.write(&mut draft)?;
    draft.finish("ALTER ROLE")
}

/// DROP ROLE.
pub(crate) fn drop(planner: &Planner, statement: &DropRoleStmt) -> SqlResult<Planned> {
    let roles = planner.catalog().roles();
    let user = planner.context.user;
    if !may_create(roles, user.role) {
        return Err(denied("permission denied to drop role"));
    }
    let mut gone = Vec::new();
    for node in &statement.roles {
        let Some(NodeEnum::RoleSpec(spec)) = inner(node) else {
            continue;
        };
        if spec.roletype() != RoleSpecType::RolespecCstring {
            return Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "cannot use special role specifier in DROP ROLE",
            ));
        }
        let name = &spec.rolename;
        let Some(id) = roles.named(name) else {
            if statement.missing_ok {
                planner.notice(format!("role \"{name}\" does not exist, skipping"));
                continue;
            }
            return Err(no_role(name));
        };
        let used = |message: &str| Err(SqlError::new(SqlState::OBJECT_IN_USE, message));
        if id == user.role {
            return used("current user cannot be dropped");
        }
        if id == user.session {
            return used("session user cannot be dropped");
        }
        if roles.is_superuser(id) {
            planner.must_be_superuser("must be superuser to drop superusers")?;
        }
        if id.0 < crate::records::FIRST_ID {
            return Err(SqlError::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!("cannot drop role {name} because it is required by the database system"),
            ));
        }
        gone.push(id);
    }
    if gone.is_empty() {
        return Ok(planner.nothing("DROP ROLE"));
    }
    let mut changed = Changed::new(planner);
    let members: Vec<RoleId> = roles.all().map(|role| role.id).collect();
    for member in members {
        let mut record = changed.record(member)?;
        let before = record.groups.len();
        record.groups.retain(|group| !gone.contains(&group.role));
        if record.groups.len() != before && !gone.contains(&member) {
            changed.put(record);
        }
    }
    let mut draft = Draft::new(planner);
    // A role that anything says something of stays.
    for id in &gone {
        let lines = lines_of(planner, *id);
        large_object::refuse_needed(&mut draft, &roles.name(*id), *id, &lines)?;
    }
    changed.write(&mut draft)?;
    for id in gone {
        let own = roles.all_settings().filter(|record| record.role == id);
        own.for_each(|record| draft.drop_settings(record.whose()));
        draft.drop_role(id);
    }
    draft.finish("DROP ROLE")
}

impl Catalog {
    /// How many objects of this database keep a role from going.
    pub fn objects_of_role(&self, id: RoleId) -> usize {
        needs_of(self, id).len()
    }
}

/// Whether it is a schema of temporary tables, which is nobody's but the session's.
pub(crate) fn is_schema_of_session(catalog: &Catalog, object: Object) -> bool {
    let name = catalog.describe(object);
    object.kind == ObjectKind::Schema && name.is_some_and(|(_, name)| is_temporary(&name))
}

/// What a role is needed for, a line each.
fn needs_of(catalog: &Catalog, id: RoleId) -> Vec<String> {
    let mut lines = Vec::new();
    for object in catalog.objects() {
        if is_schema_of_session(catalog, object) {
            continue;
        }
        let access = catalog.roles().access_of(object);
        let what = || {
            catalog
                .describe(object)
                .map(|(kind, name)| format!("{kind} {name}"))
        };
        let granted = access.acl.iter().flatten();
        let mut named = granted.filter(|item| item.grantee == id || item.grantor == id);
        if access.owner == id {
            lines.extend(what().map(|what| format!("owner of {what}")));
        } else if named.next().is_some() {
            lines.extend(what().map(|what| format!("privileges for {what}")));
        }
        let lists = catalog.roles().columns_of(object.number);
        let columns = catalog.named_columns(object.number);
        for (number, list) in lists.into_iter().flatten() {
            let mut named = list
                .iter()
                .filter(|item| item.grantee == id || item.grantor == id);
            let column = columns.iter().find(|column| column.number == *number);
            if let (Some(_), Some(what), Some(column)) = (named.next(), what(), column) {
                lines.push(format!("privileges for column {} of {what}", column.name));
            }
        }
    }
    for security in catalog.securities() {
        let named = security.policies.iter();
        let named = named.filter(|policy| policy.roles.contains(&id));
        let table = catalog.rows_of(security.table);
        let table = table.as_ref().map_or("", |table| &table.name);
        let shown =
            named.map(|policy| format!("target of policy {} on table {table}", policy.name));
        lines.extend(shown);
    }
    for record in catalog.roles().all_defaults() {
        let list = record.list();
        let is_named = list
            .iter()
            .any(|item| item.grantee == id || item.grantor == id);
        if record.role == id {
            lines.push(format!("owner of {}", said_of(catalog, record)));
        } else if is_named {
            lines.push(format!("privileges for {}", said_of(catalog, record)));
        }
    }
    lines
}

/// What keeps a role from going, besides what rows say: a line each.
fn lines_of(planner: &Planner, id: RoleId) -> Vec<String> {
    let catalog = planner.catalog();
    let mut lines = needs_of(catalog, id);
    for (record, _) in catalog.other_databases() {
        let list = record.acl.iter().flatten();
        let mut named = list.filter(|item| item.grantee == id || item.grantor == id);
        if record.number == catalog.database_number() {
            continue; // among the objects
        } else if record.owner == id {
            lines.push(format!("owner of database {}", record.name));
        } else if named.next().is_some() {
            lines.push(format!("privileges for database {}", record.name));
        }
    }
    lines
}

/// What default privileges are called.
fn said_of(catalog: &Catalog, record: &DefaultsRecord) -> String {
    let kind = match record.kind {
        'r' => "relations",
        'S' => "sequences",
        'f' => "functions",
        _ => "schemas",
    };
    let role = catalog.roles().name(record.role);
    let said = format!("default privileges on new {kind} belonging to role {role}");
    let all = crate::system::schemas(catalog);
    match all.iter().find(|(number, _)| *number == record.schema) {
        Some((_, name)) => format!("{said} in schema {name}"),
        None => said,
    }
}

fn refuse_taken(roles: &Roles, name: &str) -> SqlResult<()> {
    match roles.named(name) {
        Some(_) => Err(SqlError::new(
            SqlState::DUPLICATE_OBJECT,
            format!("role \"{name}\" already exists"),
        )),
        None => Ok(()),
    }
}

fn refuse_reserved(name: &str) -> SqlResult<()> {
    if ["public", "none"].contains(&name) {
        return Err(SqlError::new(
            SqlState::RESERVED_NAME,
            format!("role name \"{name}\" is reserved"),
        ));
    }
    match name.starts_with("pg_") {
        true => Err(SqlError::new(
            SqlState::RESERVED_NAME,
            format!("role name \"{name}\" is reserved"),
        )
        .detail("Role names starting with \"pg_\" are reserved.")),
        false => Ok(()),
    }
}

/// The roles that every database has stay as they are.
pub(super) fn refuse_reserved_change(name: &str) -> SqlResult<()> {
    match name.starts_with("pg_") {
        true => Err(SqlError::new(
            SqlState::RESERVED_NAME,
            format!("role name \"{name}\" is reserved"),
        )
        .detail("Cannot alter reserved roles.")),
        false => Ok(()),
    }
}

impl crate::Catalog {
    /// All objects that have an owner.
    pub(crate) fn objects(&self) -> Vec<Object> {
        let object = |kind| move |number| Object { kind, number };
        let tables = self
            .tables()
            .map(|table| table.id.0)
            .map(object(ObjectKind::Table));
        let sequences = self.sequences().map(|sequence| sequence.id.0);
        let sequences = sequences.map(object(ObjectKind::Sequence));
        let routines = self.all_routines().map(|routine| routine.record.id.0);
        let routines = routines.map(object(ObjectKind::Routine));
        let views = self
            .views()
            .map(|view| view.id.0)
            .map(object(ObjectKind::Table));
        let schemas = crate::system::schemas(self)
            .into_iter()
            .map(|(number, _)| number);
        let schemas = schemas.map(object(ObjectKind::Schema));
        let types = self.user_types().map(|record| record.id);
        // Of the system's own those that somebody has said something of.
        let roles = self.roles();
        let built_in = SqlType::built_in().map(SqlType::oid);
        let built_in = built_in.filter(|number| roles.access(*number).is_some());
        let types = types.chain(built_in).map(object(ObjectKind::Type));
        let parts = self.divisions().parts().map(|part| part.id.0);
        let parts = parts.map(object(ObjectKind::Table));
        let mut all = vec![super::access::THE_DATABASE];
        all.extend(
            schemas
                .chain(tables)
                .chain(parts)
                .chain(views)
                .chain(sequences)
                .chain(routines)
                .chain(types),
        );
        all
    }
}
