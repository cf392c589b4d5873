//! CREATE DATABASE, DROP DATABASE, ALTER DATABASE … RENAME TO.
//!
//! Relies on: `databases` for the records; the session, which sees to it that nobody is in the way.  Promises: PostgreSQL's checks and
//! words; what only other servers have is refused or said.  Does not: copy the database that is open (0A000), limit connections to one, or know other
//! orders of text than that of code points.

use crate::command::Planned;
use crate::databases::{DatabaseChange, DatabaseRecord, DatabaseStand, RESERVED};
use crate::draft::Draft;
use crate::names::{inner, string};
use crate::planner::Planner;
use crate::role::{THE_DATABASE, denied, no_role};
use pg_query::NodeEnum;
use pg_query::protobuf::{CreatedbStmt, DefElem, DropdbStmt, Node, RenameStmt};
use quintet_base::{RoleId, SqlError, SqlResult, SqlState};
use std::sync::Arc;

/// What texts are ordered by here, in the names that others have for it.
const ORDERS: [&str; 6] = ["c", "posix", "c.utf-8", "c.utf8", "ucs_basic", "default"];

fn options(nodes: &[Node]) -> impl Iterator<Item = &DefElem> {
    nodes.iter().filter_map(|node| match inner(node) {
        Some(NodeEnum::DefElem(option)) => Some(&**option),
        _ => None,
    })
}

pub(super) fn create(planner: &Planner, statement: &CreatedbStmt) -> SqlResult<Planned> {
    let name = statement.dbname.as_str();
    let (catalog, user) = (planner.catalog(), planner.context.user.role);
    let roles = catalog.roles();
    let mut owner = user;
    let mut template = None;
    for option in options(&statement.options) {
        let arg = option.arg.as_deref();
        let said = arg.and_then(string);
        match (option.defname.as_str(), said) {
            (_, None) if arg.is_none() => {} // DEFAULT
            ("owner", Some(said)) => owner = roles.named(said).ok_or_else(|| no_role(said))?,
            ("template", Some(said)) => template = find_template(planner, said)?,
            ("encoding", Some(said)) => check_encoding(said)?,
            ("encoding", None) => check_encoding_number(arg)?,
            ("lc_collate" | "lc_ctype" | "locale" | "icu_locale", Some(said)) => {
                if !ORDERS.contains(&said.to_lowercase().as_str()) {
                    planner.warning(
                        SqlState::WARNING,
                        format!(
                            "texts are ordered by code points, whatever locale \"{said}\" says"
                        ),
                    );
                }
            }
            ("tablespace", Some("pg_default")) => {}
            ("tablespace", Some(said)) => {
                let message = format!("tablespace \"{said}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
            }
            ("locale_provider", Some("libc")) | ("strategy" | "collation_version", Some(_)) => {}
            ("connection_limit", None) if integer(arg) == Some(-1) => {}
            ("allow_connections", _) if is_on(arg) => {}
            ("is_template", _) if !is_on(arg) => {}
            (other, _) => {
                return Err(SqlError::unsupported(format!(
                    "option \"{other}\" of CREATE DATABASE"
                )));
            }
        }
    }
    let may = roles.is_superuser(user) || roles.get(user).is_some_and(|role| role.create_db);
    if !may {
        return Err(denied("permission denied to create database"));
    }
    if owner != user && !roles.is_superuser(user) && !roles.is_member(user, owner) {
        let message = format!("must be member of role \"{}\"", roles.name(owner));
        return Err(denied(message));
    }
    refuse_taken(planner, name)?;
    let mut draft = Draft::new(planner);
    forget(planner, &mut draft, name);
    let (number, space) = (draft.id(), draft.space());
    let record = DatabaseRecord::new(number, name, owner, DatabaseStand::Own(space));
    let template = template.map(|record| record.number);
    draft.put_database(&record, DatabaseChange::Make { number, template })?;
    draft.finish("CREATE DATABASE")
}

/// What is to be copied; `None`: a new database is empty.
fn find_template<'p>(
    planner: &'p Planner,
    name: &str,
) -> SqlResult<Option<&'p Arc<DatabaseRecord>>> {
    if matches!(name, "template0" | "template1") {
        return Ok(None);
    }
    let found = there(planner, name);
    let is_first = found.is_some_and(|record| record.stand == DatabaseStand::First);
    if name == planner.context.database || is_first || RESERVED.contains(&name) {
        return Err(SqlError::unsupported(
            "the current database, or the first of the server, as the template of another",
        )
        .hint("Dump it, and restore it into the new one."));
    }
    let found = found.ok_or_else(|| {
        SqlError::new(
            SqlState::UNDEFINED_DATABASE,
            format!("template database \"{name}\" does not exist"),
        )
    })?;
    let (roles, user) = (planner.catalog().roles(), planner.context.user.role);
    match roles.is_superuser(user) || roles.is_member(user, found.owner) {
        true => Ok(Some(found)),
        false => Err(denied(format!(
            "permission denied to copy database \"{name}\""
        ))),
    }
}

fn check_encoding(name: &str) -> SqlResult<()> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_lowercase().as_str() {
        "utf8" | "unicode" => Ok(()),
        _ => Err(SqlError::unsupported(format!("encoding \"{name}\""))
            .hint("Texts are stored as UTF8; clients may ask for another client_encoding.")),
    }
}

/// `ENCODING 6`.
fn check_encoding_number(arg: Option<&Node>) -> SqlResult<()> {
    const UTF8: i32 = 6;
    match integer(arg) {
        Some(UTF8 | -1) => Ok(()),
        other => check_encoding(&other.unwrap_or_default().to_string()),
    }
}

fn integer(arg: Option<&Node>) -> Option<i32> {
    match arg.and_then(inner)? {
        NodeEnum::Integer(number) => Some(number.ival),
        _ => None,
    }
}

fn is_on(arg: Option<&Node>) -> bool {
    match arg.and_then(inner) {
        Some(NodeEnum::Integer(number)) => number.ival != 0,
        Some(NodeEnum::Boolean(flag)) => flag.boolval,
        Some(NodeEnum::String(text)) => matches!(text.sval.as_str(), "true" | "on" | "1"),
        _ => false,
    }
}

/// What the name means, if it means something.
fn there<'p>(planner: &'p Planner, name: &str) -> Option<&'p Arc<DatabaseRecord>> {
    let found = planner.catalog().database_named(name);
    found.filter(|record| record.stand != DatabaseStand::Gone)
}

fn refuse_taken(planner: &Planner, name: &str) -> SqlResult<()> {
    let is_taken = name == planner.context.database
        || RESERVED.contains(&name)
        || there(planner, name).is_some();
    match is_taken {
        true => Err(SqlError::new(
            SqlState::DUPLICATE_DATABASE,
            format!("database \"{name}\" already exists"),
        )),
        false => Ok(()),
    }
}

/// Forgets that a database of this name has gone, and others if they are many.
fn forget(planner: &Planner, draft: &mut Draft, name: &str) {
    if let Some(gone) = planner.catalog().database_named(name) {
        draft.forget_database(gone.number);
    }
    for number in planner.catalog().forgettable_databases() {
        draft.forget_database(number);
    }
}

/// A database with a catalogue of its own; `None`: there is none, and a notice says so.
fn named<'p>(
    planner: &'p Planner,
    name: &str,
    (missing_ok, what): (bool, &str),
) -> SqlResult<Option<&'p Arc<DatabaseRecord>>> {
    if name == planner.context.database {
        planner.must_own(THE_DATABASE)?;
        let (state, message) = match what {
            "drop" => (
                SqlState::OBJECT_IN_USE,
                "cannot drop the currently open database",
            ),
            _ => (
                SqlState::FEATURE_NOT_SUPPORTED,
                "current database cannot be renamed",
            ),
        };
        return Err(SqlError::new(state, message));
    }
    let found = there(planner, name);
    if RESERVED.contains(&name) || found.is_some_and(|it| it.stand == DatabaseStand::First) {
        return Err(SqlError::unsupported(format!(
            "cannot {what} database \"{name}\", which is the first one of the server; this"
        )));
    }
    let message = format!("database \"{name}\" does not exist");
    let Some(found) = found else {
        if missing_ok {
            planner.notice(format!("{message}, skipping"));
            return Ok(None);
        }
        return Err(SqlError::new(SqlState::UNDEFINED_DATABASE, message));
    };
    let (roles, user) = (planner.catalog().roles(), planner.context.user.role);
    if !roles.is_superuser(user) && !roles.is_member(user, found.owner) {
        return Err(denied(format!("must be owner of database {name}")));
    }
    Ok(Some(found))
}

pub(super) fn drop(planner: &Planner, statement: &DropdbStmt) -> SqlResult<Planned> {
    const TAG: &str = "DROP DATABASE";
    let force = options(&statement.options).any(|option| option.defname == "force");
    let Some(found) = named(planner, &statement.dbname, (statement.missing_ok, "drop"))? else {
        return Ok(planner.nothing(TAG));
    };
    let mut draft = Draft::new(planner);
    let number = found.number;
    let gone = DatabaseRecord::new(number, &found.name, RoleId::BOOTSTRAP, DatabaseStand::Gone);
    draft.put_database(&gone, DatabaseChange::Drop { number, force })?;
    draft.finish(TAG)
}

pub(super) fn rename(planner: &Planner, statement: &RenameStmt) -> SqlResult<Planned> {
    let (old, new) = (statement.subname.as_str(), statement.newname.as_str());
    let Some(found) = named(planner, old, (false, "rename"))? else {
        return Ok(planner.nothing("ALTER DATABASE"));
    };
    let (roles, user) = (planner.catalog().roles(), planner.context.user.role);
    if !roles.is_superuser(user) && !roles.get(user).is_some_and(|role| role.create_db) {
        return Err(denied("permission denied to rename database"));
    }
    refuse_taken(planner, new)?;
    let mut draft = Draft::new(planner);
    forget(planner, &mut draft, new);
    let renamed = DatabaseRecord {
        name: new.to_string(),
        ..(**found).clone()
    };
    draft.put_database(&renamed, DatabaseChange::Rename(found.number))?;
    // The old name does not fall back to the first database.
    let gone = DatabaseRecord::new(draft.id(), old, RoleId::BOOTSTRAP, DatabaseStand::Gone);
    draft.note_database(&gone)?;
    draft.finish("ALTER DATABASE")
}
