//! Roles: who there is, who belongs to whom, and who may do what with which object.
//!
//! Relies on: `records` for what is stored.  Promises: [`Roles`] is an immutable value, part of the catalogue; an object
//! without an access record belongs to the bootstrap superuser and has PostgreSQL's default privileges; a superuser is
//! asked nothing.  Does not: know passwords, only verifiers; know who is connected.
//!
//! | file | what it holds |
//! |---|---|
//! | here | roles and memberships |
//! | `role/acl` | lists of privileges, and how they change |
//! | `role/access` | owners and privileges of objects; the checks |
//! | `role/define` | CREATE, ALTER and DROP ROLE |
//! | `role/options` | what these statements say of a role |
//! | `role/member` | GRANT and REVOKE of roles |
//! | `role/grant`, `role/column` | GRANT and REVOKE of privileges; those on columns |
//! | `role/owner` | ALTER … OWNER TO |
//! | `role/defaults` | ALTER DEFAULT PRIVILEGES |
//! | `role/settings` | ALTER ROLE and DATABASE … SET |
//! | `role/verifier` | what is kept of a password |

mod access;
mod acl;
mod column;
mod defaults;
mod define;
mod grant;
mod member;
mod options;
mod owner;
mod settings;
pub mod verifier;

pub(crate) use access::Access;
pub(crate) use access::THE_DATABASE;
pub(crate) use acl::{
    Item as AclItem, default_acl, parse as acl_parse, text as acl_text, with_new_owner,
    without_role,
};
pub(crate) use column::{ColumnAcls, OF_COLUMNS, columns_given, columns_without};
pub(crate) use defaults::{EVERYWHERE, alter as alter_defaults};
pub(crate) use define::{alter, create, drop, is_schema_of_session, rename};
pub(crate) use grant::{grant, grantees, invalid, privileges_named};
pub(crate) use member::grant_role;
pub(crate) use options::specs;
pub(crate) use owner::{alter_owner, change_owner};
pub(crate) use settings::{Whose, alter_database, alter_role};

use crate::planner::Planner;
use crate::records::{DefaultsRecord, RoleRecord, RoutineRecord, SettingsRecord};
use pg_query::protobuf::{RoleSpec, RoleSpecType};
use quintet_base::{RoleId, SqlError, SqlResult, SqlState};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The role that is always there, a superuser.
pub const BOOTSTRAP_NAME: &str = "quintet";
/// Owns the schema `public`; the database's owner is its one member, and nobody can be granted it.
pub(crate) const DATABASE_OWNER: RoleId = RoleId(6171);
/// Whoever has it may read all tables.
pub(crate) const READ_ALL: RoleId = RoleId(6181);
/// Whoever has it may change all tables.
pub(crate) const WRITE_ALL: RoleId = RoleId(6182);
/// Whoever has it sees what other roles' sessions do.
pub const READ_ALL_STATS: RoleId = RoleId(3375);

/// Roles that every database has, with PostgreSQL's numbers.
const PREDEFINED: [(RoleId, &str); 4] = [
    (DATABASE_OWNER, "pg_database_owner"),
    (READ_ALL, "pg_read_all_data"),
    (WRITE_ALL, "pg_write_all_data"),
    (READ_ALL_STATS, "pg_read_all_stats"),
];

/// All roles, and the access records of all objects.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    roles: BTreeMap<RoleId, Arc<RoleRecord>>,
    access: BTreeMap<u32, Arc<Access>>,
    /// What was granted on columns of relations.
    columns: BTreeMap<u32, Arc<ColumnAcls>>,
    names: BTreeMap<String, RoleId>,
    /// Roles whose privileges a role has, itself first; without those it would have to SET ROLE to.
    inherited: BTreeMap<RoleId, Vec<RoleId>>,
    /// Roles that a role is a member of, itself first.
    memberships: BTreeMap<RoleId, Vec<RoleId>>,
    /// What sessions begin with.
    settings: BTreeMap<Whose, SettingsRecord>,
    /// What objects to come are granted.
    defaults: BTreeMap<u32, DefaultsRecord>,
}

/// What a log-in has to know of a role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Login {
    /// Its number.
    pub role: RoleId,
    /// It may do everything.
    pub superuser: bool,
    /// LOGIN.
    pub allowed: bool,
    /// Of its password; `None`: it has none.
    pub verifier: Option<String>,
    /// Microseconds since 2000 after which the password is worth nothing.
    pub valid_until: Option<i64>,
    /// Sessions at once; below 0: any number.
    pub connection_limit: i32,
}

impl Roles {
    /// As many roles as a new database has.
    pub(crate) fn new() -> Roles {
        let mut roles = Roles::default();
        roles.settle();
        roles
    }

    /// Puts or removes a role.
    pub(crate) fn put(&mut self, id: RoleId, role: Option<RoleRecord>) {
        match role {
            Some(role) => self.roles.insert(id, Arc::new(role)),
            None => self.roles.remove(&id),
        };
    }

    /// Puts or removes what is known of an object.
    pub(crate) fn put_access(&mut self, number: u32, access: Option<Access>) {
        match access {
            Some(access) => self.access.insert(number, Arc::new(access)),
            None => self.access.remove(&number),
        };
    }

    /// These with the roles that others are, and what their sessions begin with in any database; `None`: they are the same.
    pub(crate) fn with_shared_of(&self, other: &Roles) -> Option<Roles> {
        let anywhere = |roles: &Roles| {
            let settings = roles.settings.iter();
            let settings = settings.filter(|(whose, _)| !whose.in_database);
            settings
                .map(|(whose, record)| (*whose, record.clone()))
                .collect::<Vec<_>>()
        };
        let settings = anywhere(other);
        if self.roles == other.roles && anywhere(self) == settings {
            return None;
        }
        let mut shared = self.clone();
        shared.roles = other.roles.clone();
        shared.settings.retain(|whose, _| whose.in_database);
        shared.settings.extend(settings);
        shared.settle();
        Some(shared)
    }

    /// Computes what follows from the records. To be called after the last of them has been put.
    pub(crate) fn settle(&mut self) {
        let plain = |id, name: &str| RoleRecord::plain(id, name);
        for (id, name) in PREDEFINED {
            self.roles
                .entry(id)
                .or_insert_with(|| Arc::new(plain(id, name)));
        }
        self.roles.entry(RoleId::BOOTSTRAP).or_insert_with(|| {
            Arc::new(RoleRecord {
                superuser: true,
                create_role: true,
                create_db: true,
                login: true,
                bypass: true,
                ..plain(RoleId::BOOTSTRAP, BOOTSTRAP_NAME)
            })
        });
        let named = self.roles.values().map(|role| (role.name.clone(), role.id));
        self.names = named.collect();
        let all: Vec<RoleId> = self.roles.keys().copied().collect();
        let of = |follow: &dyn Fn(&RoleRecord) -> bool| {
            let lists = all.iter().map(|id| (*id, self.reach(*id, follow)));
            lists.collect::<BTreeMap<_, _>>()
        };
        let inherited = of(&|role| role.inherit);
        let memberships = of(&|_| true);
        (self.inherited, self.memberships) = (inherited, memberships);
    }

    /// The groups that a role comes to, itself first.
    fn reach(&self, from: RoleId, follow: &dyn Fn(&RoleRecord) -> bool) -> Vec<RoleId> {
        let mut found = vec![from];
        let mut at = 0;
        while let Some(role) = found.get(at).copied() {
            at += 1;
            let Some(role) = self.roles.get(&role) else {
                continue;
            };
            let mut groups: Vec<RoleId> = match follow(role) {
                true => role.groups.iter().map(|group| group.role).collect(),
                false => Vec::new(),
            };
            let owner = self.access(THE_DATABASE.number);
            if role.id == owner.map_or(RoleId::BOOTSTRAP, |access| access.owner) {
                groups.push(DATABASE_OWNER);
            }
            for group in groups {
                if !found.contains(&group) {
                    found.push(group);
                }
            }
        }
        found
    }

    /// A role by its number.
    pub(crate) fn get(&self, id: RoleId) -> Option<&Arc<RoleRecord>> {
        self.roles.get(&id)
    }

    /// All roles, by their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<RoleRecord>> {
        self.roles.values()
    }

    /// A role by its name.
    pub fn named(&self, name: &str) -> Option<RoleId> {
        self.names.get(name).copied()
    }

    /// What a role is called; a number that is no role's is said to be unknown.
    pub fn name(&self, id: RoleId) -> String {
        match self.roles.get(&id) {
            Some(role) => role.name.clone(),
            None if id == RoleId::PUBLIC => "public".to_string(),
            None => format!("unknown (OID={id})"),
        }
    }

    /// Whether a role may do everything.
    pub fn is_superuser(&self, id: RoleId) -> bool {
        id == RoleId::BOOTSTRAP || self.roles.get(&id).is_some_and(|role| role.superuser)
    }

    /// Whether a role has another one's privileges without SET ROLE.
    pub fn has_privileges_of(&self, role: RoleId, of: RoleId) -> bool {
        role == of
            || self.is_superuser(role)
            || (self.inherited.get(&role)).is_some_and(|list| list.contains(&of))
    }

    /// Whether a role has the privileges of one of these; everybody has those of all.
    pub fn is_one_of(&self, role: RoleId, of: &[RoleId]) -> bool {
        let has = |one: &RoleId| *one == RoleId::PUBLIC || self.has_privileges_of(role, *one);
        of.iter().any(has)
    }

    /// BYPASSRLS, which superusers need not have.
    pub(crate) fn bypasses_policies(&self, role: RoleId) -> bool {
        self.is_superuser(role) || self.get(role).is_some_and(|role| role.bypass)
    }

    /// The roles whose privileges a role has, itself first.
    pub(crate) fn inherited(&self, role: RoleId) -> &[RoleId] {
        self.inherited.get(&role).map_or(&[], Vec::as_slice)
    }

    /// Whether a role may become another one.
    pub fn is_member(&self, role: RoleId, of: RoleId) -> bool {
        self.is_superuser(role) || self.is_plain_member(role, of)
    }

    /// The same, whether it is a superuser or not.
    pub(crate) fn is_plain_member(&self, role: RoleId, of: RoleId) -> bool {
        role == of || (self.memberships.get(&role)).is_some_and(|list| list.contains(&of))
    }

    /// Whether a role may give another one to others.
    pub(crate) fn is_admin(&self, role: RoleId, of: RoleId) -> bool {
        let mine: BTreeSet<RoleId> = match self.memberships.get(&role) {
            Some(list) => list.iter().copied().collect(),
            None => BTreeSet::new(),
        };
        self.is_superuser(role)
            || mine.iter().any(|member| {
                let groups = self.roles.get(member).map(|role| &role.groups);
                groups.is_some_and(|groups| {
                    groups.iter().any(|group| group.role == of && group.admin)
                })
            })
    }

    /// What a log-in by this name has to know; `None`: there is no such role.
    pub fn login(&self, name: &str) -> Option<Login> {
        let role = self.roles.get(self.names.get(name)?)?;
        Some(Login {
            role: role.id,
            superuser: role.superuser,
            allowed: role.login,
            verifier: role.verifier.clone(),
            valid_until: role.valid_until,
            connection_limit: role.connection_limit,
        })
    }

    /// Whether any role has a password.
    pub fn any_password(&self) -> bool {
        self.roles.values().any(|role| role.verifier.is_some())
    }
}

/// Who is meant, as a statement writes it.
pub(crate) enum Named {
    Role(RoleId),
    Public,
}

/// The role that a statement names, or everybody.
///
/// # Errors
/// `42704` if there is none.
pub(crate) fn named(planner: &Planner, spec: &RoleSpec) -> SqlResult<Named> {
    Ok(Named::Role(match spec.roletype() {
        RoleSpecType::RolespecPublic => return Ok(Named::Public),
        RoleSpecType::RolespecCurrentRole | RoleSpecType::RolespecCurrentUser => {
            planner.context.user.role
        }
        RoleSpecType::RolespecSessionUser => planner.context.user.session,
        RoleSpecType::RolespecCstring | RoleSpecType::Undefined => {
            let found = planner.catalog().roles().named(&spec.rolename);
            found.ok_or_else(|| no_role(&spec.rolename))?
        }
    }))
}

/// The role that a statement names.
///
/// # Errors
/// `42704` if there is none.
pub(crate) fn role_named(planner: &Planner, spec: &RoleSpec) -> SqlResult<RoleId> {
    match named(planner, spec)? {
        Named::Role(role) => Ok(role),
        Named::Public => Err(no_role("public")),
    }
}

pub(crate) fn no_role(name: &str) -> SqlError {
    SqlError::new(
        SqlState::UNDEFINED_OBJECT,
        format!("role \"{name}\" does not exist"),
    )
}

pub(crate) fn denied(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
}

/// What a message calls a routine: `function`, or `procedure`.
pub(crate) fn routine_word(record: &RoutineRecord) -> &'static str {
    let text = record.text.trim_start().to_ascii_lowercase();
    let words: Vec<&str> = text.split_whitespace().take(4).collect();
    match words.contains(&"procedure") && !words.contains(&"function") {
        true => "procedure",
        false => "function",
    }
}
