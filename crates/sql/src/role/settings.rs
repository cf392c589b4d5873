//! ALTER ROLE … SET and ALTER DATABASE … SET: what sessions begin with.
//!
//! Relies on: `records` for what is stored.  Promises: PostgreSQL's order: what is said of a role in the database counts before
//! what is said of the role, that before what is said of the database, and that before what is said of all roles.  Does not:
//! know which settings there are, or begin a session; the session does both.

use super::access::THE_DATABASE;
use super::define::{may_create, refuse_reserved_change};
use super::{Roles, denied, role_named};
use crate::command::Planned;
use crate::databases::DatabaseStand;
use crate::draft::Draft;
use crate::planner::Planner;
use crate::records::SettingsRecord;
use crate::utility::keep_setting;
use pg_query::protobuf::{AlterDatabaseSetStmt, AlterRoleSetStmt, VariableSetStmt};
use quintet_base::{RoleId, SqlError, SqlResult, SqlState};
use quintet_ir::{Object, ObjectKind};

/// Whose settings: of the database's sessions or of all; of a role or, `PUBLIC`, of whoever it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Whose {
    pub in_database: bool,
    pub role: RoleId,
}

/// ALTER ROLE … [IN DATABASE …] SET and RESET.
pub(crate) fn alter_role(planner: &Planner, statement: &AlterRoleSetStmt) -> SqlResult<Planned> {
    let role = match &statement.role {
        Some(spec) => {
            refuse_reserved_change(&spec.rolename)?;
            role_named(planner, spec)?
        }
        None => RoleId::PUBLIC,
    };
    let in_database = !statement.database.is_empty();
    if in_database {
        refuse_other_database(planner, &statement.database)?;
    }
    let (roles, user) = (planner.catalog().roles(), planner.context.user.role);
    if role == RoleId::PUBLIC {
        if in_database {
            planner.must_own(THE_DATABASE)?;
        } else {
            planner.must_be_superuser("must be superuser to alter settings globally")?;
        }
    } else if roles.is_superuser(role) {
        planner.must_be_superuser("must be superuser to alter superusers")?;
    } else if role != user && !may_create(roles, user) {
        return Err(denied("permission denied"));
    }
    alter(
        planner,
        Whose { in_database, role },
        statement.setstmt.as_ref(),
        "ALTER ROLE",
    )
}

/// ALTER DATABASE … SET and RESET.
pub(crate) fn alter_database(
    planner: &Planner,
    statement: &AlterDatabaseSetStmt,
) -> SqlResult<Planned> {
    refuse_other_database(planner, &statement.dbname)?;
    planner.must_own(THE_DATABASE)?;
    let whose = Whose {
        in_database: true,
        role: RoleId::PUBLIC,
    };
    alter(planner, whose, statement.setstmt.as_ref(), "ALTER DATABASE")
}

fn refuse_other_database(planner: &Planner, name: &str) -> SqlResult<()> {
    match name == planner.context.database {
        true => Ok(()),
        false => Err(other_database(planner, name)),
    }
}

/// A database of which owner and privileges are to be changed.
pub(super) fn database_object(planner: &Planner, name: &str) -> SqlResult<Object> {
    if name == planner.context.database {
        return Ok(THE_DATABASE);
    }
    let known = planner.catalog().database_named(name);
    let known = known.and_then(|record| planner.catalog().database_of(record.number));
    match known {
        Some(record) => Ok(Object {
            kind: ObjectKind::Database,
            number: record.number,
        }),
        None => Err(other_database(planner, name)),
    }
}

/// Why nothing is done to a database that is not the session's: it has a catalogue of its own, or it is not there.
fn other_database(planner: &Planner, name: &str) -> SqlError {
    let found = planner.catalog().database_named(name);
    if found.is_some_and(|record| record.stand != DatabaseStand::Gone) {
        let what = format!("changing database \"{name}\" from another one");
        let hint = format!("Connect to \"{name}\", and say it there.");
        return SqlError::unsupported(what).hint(hint);
    }
    SqlError::new(
        SqlState::UNDEFINED_DATABASE,
        format!("database \"{name}\" does not exist"),
    )
}

fn alter(
    planner: &Planner,
    whose: Whose,
    set: Option<&VariableSetStmt>,
    tag: &'static str,
) -> SqlResult<Planned> {
    let set = crate::names::required(set)?;
    let known = planner.catalog().roles().settings.get(&whose);
    let before = known
        .map(|record| record.settings.clone())
        .unwrap_or_default();
    let mut settings = before.clone();
    keep_setting(&mut settings, set, refuse)?;
    if settings == before {
        return Ok(planner.nothing(tag));
    }
    let mut draft = Draft::new(planner);
    draft.check_settings(settings.clone());
    match settings.is_empty() {
        true => draft.drop_settings(whose),
        false => draft.put_settings(&SettingsRecord {
            in_database: whose.in_database,
            role: whose.role,
            settings,
        })?,
    }
    draft.finish(tag)
}

/// What no session can begin with.
fn refuse(name: &str) -> SqlResult<()> {
    let is_fixed =
        matches!(name, "role" | "session_authorization") || name.starts_with("transaction_");
    match is_fixed {
        true => Err(SqlError::unsupported(format!(
            "{name} as what sessions begin with"
        ))),
        false => Ok(()),
    }
}

impl Roles {
    /// What a role's sessions begin with, in the order in which one replaces another.
    pub fn settings_of(&self, role: RoleId) -> impl Iterator<Item = &(String, String)> {
        let order = [
            (false, RoleId::PUBLIC),
            (true, RoleId::PUBLIC),
            (false, role),
            (true, role),
        ];
        let records = order
            .into_iter()
            .filter_map(|(in_database, role)| self.settings.get(&Whose { in_database, role }));
        records.flat_map(|record| &record.settings)
    }

    /// All of them.
    pub(crate) fn all_settings(&self) -> impl Iterator<Item = &SettingsRecord> {
        self.settings.values()
    }

    /// Those of a role, whatever the database.
    pub(crate) fn own_settings(&self, role: RoleId) -> Option<&SettingsRecord> {
        self.settings.get(&Whose {
            in_database: false,
            role,
        })
    }

    /// Puts or removes what sessions begin with.
    pub(crate) fn put_settings(&mut self, whose: Whose, record: Option<SettingsRecord>) {
        match record {
            Some(record) => self.settings.insert(whose, record),
            None => self.settings.remove(&whose),
        };
    }
}
