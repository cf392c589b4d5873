//! What CREATE and ALTER ROLE say of a role.
//!
//! Relies on: `verifier` for passwords.  Promises: an option that is given twice is 42601; one that Quintet has no meaning for is
//! 0A000, unless it asks for nothing.  Does not: decide who may say it.

use super::verifier;
use crate::names::{self, inner};
use crate::planner::Planner;
use pg_query::NodeEnum;
use pg_query::protobuf::{DefElem, Node, RoleSpec};
use quintet_base::text_format;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};

/// The options of a statement; `None`: not given.
#[derive(Default)]
pub(super) struct Options<'n> {
    pub superuser: Option<bool>,
    pub inherit: Option<bool>,
    pub create_role: Option<bool>,
    pub create_db: Option<bool>,
    pub login: Option<bool>,
    pub bypass: Option<bool>,
    pub connection_limit: Option<i32>,
    /// A verifier, or none any more.
    pub password: Option<Option<String>>,
    pub valid_until: Option<i64>,
    /// IN ROLE.
    pub groups: Option<Vec<&'n RoleSpec>>,
    /// ROLE.
    pub members: Option<Vec<&'n RoleSpec>>,
    /// ADMIN.
    pub admins: Option<Vec<&'n RoleSpec>>,
}

impl<'n> Options<'n> {
    /// Reads a statement's options.
    ///
    /// # Errors
    /// `42601` for one given twice, `22023` for an impossible limit, `22007` for no time, `0A000`.
    pub fn read(planner: &Planner, nodes: &'n [Node]) -> SqlResult<Options<'n>> {
        let mut options = Options::default();
        for node in nodes {
            if let Some(NodeEnum::DefElem(option)) = inner(node) {
                options.option(planner, option)?;
            }
        }
        Ok(options)
    }

    fn option(&mut self, planner: &Planner, option: &'n DefElem) -> SqlResult<()> {
        let twice = || {
            planner.error(
                SqlState::SYNTAX_ERROR,
                "conflicting or redundant options",
                option.location,
            )
        };
        let text = || option.arg.as_deref().and_then(names::option_text);
        let flag = || text().is_some_and(|text| text == "true");
        let put = |place: &mut Option<bool>| match place.replace(flag()) {
            Some(_) => Err(twice()),
            None => Ok(()),
        };
        let people = |place: &mut Option<Vec<&'n RoleSpec>>| {
            let nodes = option.arg.as_deref().and_then(names::list);
            match place.replace(specs(nodes.unwrap_or_default())) {
                Some(_) => Err(twice()),
                None => Ok(()),
            }
        };
        match option.defname.as_str() {
            "superuser" => put(&mut self.superuser),
            "inherit" => put(&mut self.inherit),
            "createrole" => put(&mut self.create_role),
            "createdb" => put(&mut self.create_db),
            "canlogin" => put(&mut self.login),
            "bypassrls" => put(&mut self.bypass),
            "isreplication" if !flag() => Ok(()),
            "isreplication" => Err(planner.unsupported("REPLICATION of a role", option.location)),
            "connectionlimit" => {
                let limit = option.arg.as_deref().and_then(names::integer).unwrap_or(-1);
                if limit < -1 {
                    return Err(SqlError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!("invalid connection limit: {limit}"),
                    ));
                }
                match self.connection_limit.replace(limit) {
                    Some(_) => Err(twice()),
                    None => Ok(()),
                }
            }
            "password" => {
                let verifier = match text() {
                    Some(password) => verifier_of(planner, &password)?,
                    None => None,
                };
                match self.password.replace(verifier) {
                    Some(_) => Err(twice()),
                    None => Ok(()),
                }
            }
            "validUntil" => {
                let until = text().unwrap_or_default();
                let until =
                    text_format::read(SqlType::TimestampTz, &until, planner.context.format)?;
                let until = match until {
                    Value::TimestampTz(until) => until,
                    _ => return Err(SqlError::internal("a time that is none")),
                };
                match self.valid_until.replace(until) {
                    Some(_) => Err(twice()),
                    None => Ok(()),
                }
            }
            "sysid" => {
                planner.notice("SYSID can no longer be specified".to_string());
                Ok(())
            }
            "addroleto" => people(&mut self.groups),
            "rolemembers" => people(&mut self.members),
            "adminmembers" => people(&mut self.admins),
            other => Err(planner.unsupported(format!("role option {other}"), option.location)),
        }
    }

    /// Whether anything is said but the password.
    pub fn is_more_than_password(&self) -> bool {
        self.superuser.is_some()
            || self.inherit.is_some()
            || self.create_role.is_some()
            || self.create_db.is_some()
            || self.login.is_some()
            || self.bypass.is_some()
            || self.connection_limit.is_some()
            || self.valid_until.is_some()
            || self.members.is_some()
    }
}

/// The roles that a list names.
pub(crate) fn specs(nodes: &[Node]) -> Vec<&RoleSpec> {
    let specs = nodes.iter().filter_map(|node| match inner(node) {
        Some(NodeEnum::RoleSpec(spec)) => Some(spec),
        _ => None,
    });
    specs.collect()
}

/// What is kept of a password; `None` if it is none.
fn verifier_of(planner: &Planner, password: &str) -> SqlResult<Option<String>> {
    if password.is_empty() {
        planner.notice("empty string is not a valid password, clearing password".to_string());
        return Ok(None);
    }
    if verifier::is_verifier(password) {
        return Ok(Some(password.to_string()));
    }
    // Of PostgreSQL's older form. Taken for a password it would let in who knows the digest.
    let is_md5 = password.len() == 35
        && password.starts_with("md5")
        && password[3..].bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_md5 {
        return Err(SqlError::unsupported("an MD5 password")
            .hint("Give a SCRAM-SHA-256 verifier, or the password."));
    }
    let salt = &planner.context.user.salt;
    Ok(Some(verifier::of_password(password, salt)))
}
