//! What names mean: along the search path, in temporary schemas, in this database.
//!
//! Relies on: a planner's catalogue and search path.  Promises: a bare name means the first that the path has; another session's
//! temporary things are not found.  Does not: ask whether somebody may use what is found (`needs`).

use super::{PlanContext, Planner};
use crate::catalog::Relation;
use crate::routine::StoredRoutine;
use crate::temporary::is_temporary;
use pg_query::protobuf::RangeVar;
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_ir::Privileges;
use std::sync::Arc;

/// What a search path names, in its order. A comma between double quotes is part of a name.
pub(crate) fn names_of_path(path: &str) -> impl Iterator<Item = String> {
    let mut quoted = false;
    let parts = path.split(move |c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    parts.map(|part| {
        let part = part.trim();
        let inside = part.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        match inside {
            Some(inside) => inside.replace("\"\"", "\""),
            None => part.to_lowercase(),
        }
    })
}

/// The schemas that a search path names and that are there; `pg_catalog` comes first anyway. The session's temporary one
/// comes before others that are named, unless the path has it elsewhere: how many come so.
pub(super) fn schemas_of(context: &PlanContext, temporary: Option<&str>) -> (Vec<String>, usize) {
    let mut schemas: Vec<String> = Vec::new();
    for name in names_of_path(context.schema) {
        let name = match name.as_str() {
            "$user" => context.catalog.roles().name(context.user.role),
            "pg_temp" => match temporary {
                // It may come to be.
                Some(own) => {
                    schemas.push(own.to_string());
                    continue;
                }
                None => continue,
            },
            name if is_temporary(name) && temporary != Some(name) => continue,
            _ => name,
        };
        if name != "pg_catalog" && context.catalog.has_schema(&name) && !schemas.contains(&name) {
            schemas.push(name);
        }
    }
    match temporary {
        Some(own) if context.catalog.has_schema(own) && !schemas.iter().any(|name| name == own) => {
            schemas.insert(0, own.to_string());
            (schemas, 1)
        }
        _ => (schemas, 0),
    }
}

impl<'a> Planner<'a> {
    /// The schema that things are made in.
    ///
    /// # Errors
    /// `3F000` if no schema of the search path is there.
    pub fn schema(&self) -> SqlResult<&str> {
        let first = self.named_path().first().map(String::as_str);
        first.ok_or_else(|| {
            SqlError::new(
                SqlState::INVALID_SCHEMA_NAME,
                "no schema has been selected to create in",
            )
        })
    }

    /// The schemas that bare names are looked for in.
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// Whether who reads a definition finds an object of a schema by its bare name. `hides`: another schema's object is in the way.
    pub fn is_read_from(&self, schema: &str, hides: impl Fn(&str) -> bool) -> bool {
        let elsewhere = self.read_from.borrow();
        let path = elsewhere.as_deref().unwrap_or(&self.path);
        let mut found = path.iter().filter(|known| *known == schema || hides(known));
        found.next().is_some_and(|first| first == schema)
    }

    /// The same without the session's temporary schema, unless the path names it.
    pub fn named_path(&self) -> &[String] {
        &self.path[self.unnamed..]
    }

    /// The session's temporary schema, there or not.
    pub fn temporary(&self) -> Option<&str> {
        self.temporary.as_deref()
    }

    /// The session's temporary schema, to make something in it. `asked`: as it was named.
    ///
    /// # Errors
    /// `42501` for who may not; `42P16` for another session's.
    pub fn temporary_schema(&self, asked: &str) -> SqlResult<&str> {
        let Some(own) = self.temporary() else {
            return Err(SqlError::unsupported("a temporary table outside a session"));
        };
        if asked != "pg_temp" && asked != own {
            return Err(SqlError::new(
                SqlState::INVALID_TABLE_DEFINITION,
                "cannot create relations in temporary schemas of other sessions",
            ));
        }
        let may = self.must_have(crate::role::THE_DATABASE, Privileges::TEMPORARY);
        may.map_err(|_| {
            let database = self.context.database;
            let message =
                format!("permission denied to create temporary tables in database \"{database}\"");
            SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
        })?;
        Ok(own)
    }

    /// A name that may have the database's in front of `most` parts, without it.
    ///
    /// # Errors
    /// `0A000` for another database's.
    pub fn local<'s, 'n>(&self, name: &'s [&'n str], most: usize) -> SqlResult<&'s [&'n str]> {
        match name {
            [database, rest @ ..] if rest.len() == most => match *database {
                own if own == self.context.database => Ok(rest),
                _ => Err(elsewhere(&name.join("."))),
            },
            _ => Ok(name),
        }
    }

    /// The same for a relation's name.
    ///
    /// # Errors
    /// As [`Planner::local`].
    pub fn local_relation<'s, 'n>(&self, name: &'s [&'n str]) -> SqlResult<&'s [&'n str]> {
        let quoted = || elsewhere(&format!("\"{}\"", name.join(".")));
        self.local(name, 2).map_err(|_| quoted())
    }

    /// Refuses a relation of another database.
    ///
    /// # Errors
    /// `0A000`.
    pub fn refuse_elsewhere(&self, relation: &RangeVar) -> SqlResult<()> {
        let RangeVar {
            catalogname,
            schemaname,
            relname,
            location,
            ..
        } = relation;
        if catalogname.is_empty() || catalogname == self.context.database {
            return Ok(());
        }
        let name = format!("\"{catalogname}.{schemaname}.{relname}\"");
        Err(self.at(*location)(elsewhere(&name)))
    }

    /// What a relation's name stands for; a bare one is looked for along the search path.
    pub fn find_relation(&self, schema: Option<&str>, name: &str) -> Option<Relation> {
        let catalog = self.catalog();
        if let Some(table) = self.large_object_table(name) {
            return Some(Relation::Table(table));
        }
        match schema {
            Some("pg_temp") => catalog.relation(self.temporary()?, name),
            Some(schema) if is_temporary(schema) && self.temporary() != Some(schema) => None,
            Some(schema) => catalog.relation(schema, name),
            None => self
                .path
                .iter()
                .find_map(|schema| catalog.relation(schema, name)),
        }
    }

    /// Whether a name without a schema means the relation of this one.
    pub fn shows(&self, schema: &str, name: &str) -> bool {
        let catalog = self.catalog();
        let knows = |known: &&String| **known == schema || catalog.relation(known, name).is_some();
        self.path.iter().find(knows).map(String::as_str) == Some(schema)
    }

    /// The routines that a name may mean; temporary ones by `pg_temp` only, wherever the path has that.
    pub fn find_routines(&self, schema: Option<&str>, name: &str) -> Vec<&'a Arc<StoredRoutine>> {
        let catalog = self.catalog();
        match schema {
            Some(schema) if schema == "pg_temp" || is_temporary(schema) => self
                .temporary()
                .filter(|own| schema == "pg_temp" || schema == *own)
                .map_or_else(Vec::new, |own| catalog.routines(own, name)),
            Some(schema) => catalog.routines(schema, name),
            None => {
                let key = |stored: &Arc<StoredRoutine>| {
                    let signature = stored.signature(catalog).ok()?;
                    Some(signature.key())
                };
                let mut found: Vec<&Arc<StoredRoutine>> = Vec::new();
                for schema in self.path.iter().filter(|schema| !is_temporary(schema)) {
                    let before = found.len();
                    for stored in catalog.routines(schema, name) {
                        // One with the same parameters in a schema that comes before hides it.
                        let own = if before > 0 { key(stored) } else { None };
                        let hides =
                            |other: &&Arc<StoredRoutine>| own.is_some() && key(other) == own;
                        if !found[..before].iter().any(hides) {
                            found.push(stored);
                        }
                    }
                }
                found
            }
        }
    }
}

/// A name leads into another database.
fn elsewhere(name: &str) -> SqlError {
    let message = format!("cross-database references are not implemented: {name}");
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}
