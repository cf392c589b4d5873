//! Who may do what, asked from SQL: `has_table_privilege` and its kin, and `pg_has_role`.
//!
//! Relies on: `role` for privileges; `describe` for names and numbers.  Promises: the answers, words and SQLSTATEs of PostgreSQL 15: a
//! name that is not there is an error, a number is NULL.  Does not: tell dropped columns from others by number.

use super::describe::{Known, shown_name};
use super::functions;
use super::routines::{LANGUAGES, OTHER_LANGUAGES};
use super::{DATABASE, layout};
use crate::call::split_name;
use crate::role::{OF_COLUMNS, THE_DATABASE, no_role};
use quintet_base::{RoleId, SqlError, SqlResult, SqlState, SqlType, TableId, Value};
use quintet_ir::{Object, ObjectKind, Part, Privileges};

/// One word of what is asked: a privilege, or the right to grant it.
#[derive(Clone, Copy)]
struct Asked {
    privilege: Privileges,
    may_grant: bool,
}

/// Who is asked about, what, and which privilege, as the arguments of a call are in order.
struct Question<'v> {
    who: RoleId,
    object: &'v Value,
    rest: &'v [&'v Value],
}

const TABLE: Privileges = Privileges(
    OF_COLUMNS.0 | Privileges::DELETE.0 | Privileges::TRUNCATE.0 | Privileges::TRIGGER.0,
);

/// Relations of the system that only superusers read.
const CLOSED: [&str; 2] = ["pg_authid", "pg_shadow"];

/// What an argument names: by name, or by number.
fn number(value: &Value) -> Option<u32> {
    value.as_i64().map(|n| u32::try_from(n).unwrap_or(0))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn missing(state: SqlState, what: &str, name: &str) -> SqlError {
    SqlError::new(state, format!("{what} \"{name}\" does not exist"))
}

/// Words between commas, in any case, each with WITH GRANT OPTION or without.
///
/// # Errors
/// `22023` for a word that is none of these privileges.
fn asked(words: &Value, among: Privileges) -> SqlResult<Vec<Asked>> {
    const GRANT: &str = " WITH GRANT OPTION";
    let one = |word: &str| {
        let upper = word.trim().to_ascii_uppercase();
        let (name, may_grant) = match upper.strip_suffix(GRANT) {
            Some(name) => (name, true),
            None => (upper.as_str(), false),
        };
        // Once a privilege of tables; nobody has it any more.
        if name == "RULE" && among == TABLE {
            return Ok(Asked {
                privilege: Privileges::NONE,
                may_grant,
            });
        }
        match Privileges::named(name) {
            Some(privilege) if among.contains(privilege) => Ok(Asked {
                privilege,
                may_grant,
            }),
            _ => Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("unrecognized privilege type: \"{}\"", word.trim()),
            )),
        }
    };
    text(words).split(',').map(one).collect()
}

impl Known<'_> {
    /// What a function of this name says; `None`: it is none of these.
    ///
    /// # Errors
    /// As the function's.
    pub(super) fn inquire(&self, function: &str, arguments: &[&Value]) -> Option<SqlResult<Value>> {
        let is_column = function == "has_column_privilege";
        let answer =
            |found: SqlResult<Option<bool>>| found.map(|yes| yes.map_or(Value::Null, Value::Bool));
        if function == "pg_has_role" {
            return Some(answer(self.has_role(arguments)));
        }
        let kind = function.strip_prefix("has_")?.strip_suffix("_privilege")?;
        let question = match self.question(arguments, 2 + usize::from(is_column)) {
            Ok(question) => question,
            Err(error) => return Some(Err(error)),
        };
        Some(answer(match kind {
            "table" => self.relation_privilege(&question, TABLE, Part::Whole),
            "any_column" => self.relation_privilege(&question, OF_COLUMNS, Part::Any),
            "column" => self.column_privilege(&question),
            "sequence" => self.sequence_privilege(&question),
            "schema" => self.schema_privilege(&question),
            "database" => self.database_privilege(&question),
            "function" => self.routine_privilege(&question),
            "type" => self.type_privilege(&question),
            "language" => self.language_privilege(&question),
            "tablespace" => self.tablespace_privilege(&question),
            "server" => nothing_of(&question, "server"),
            "foreign_data_wrapper" => nothing_of(&question, "foreign-data wrapper"),
            _ => return None,
        }))
    }

    /// The first of more arguments than are needed is a role, or `public`; without it, it is the session's.
    fn question<'v>(&self, arguments: &'v [&'v Value], needed: usize) -> SqlResult<Question<'v>> {
        let (who, arguments) = match arguments.len() > needed {
            true => (self.role(arguments[0], true)?, &arguments[1..]),
            false => (self.context().user.role, arguments),
        };
        Ok(Question {
            who,
            object: arguments[0],
            rest: &arguments[1..],
        })
    }

    fn role(&self, value: &Value, may_be_public: bool) -> SqlResult<RoleId> {
        match number(value) {
            Some(number) => Ok(RoleId(number)),
            None if may_be_public && text(value) == "public" => Ok(RoleId::PUBLIC),
            None => {
                let found = self.context().catalog.roles().named(text(value));
                found.ok_or_else(|| no_role(text(value)))
            }
        }
    }

    /// Whether a role has any of what is asked on an object.
    fn has_any(&self, who: RoleId, object: Object, all: &[Asked]) -> bool {
        self.has_any_on(who, object, Part::Whole, all)
    }

    /// The same on a part of it.
    fn has_any_on(&self, who: RoleId, object: Object, part: Part, all: &[Asked]) -> bool {
        let roles = self.context().catalog.roles();
        all.iter().any(|asked| {
            let found = match asked.may_grant {
                true => roles.options_on(who, object, part, asked.privilege),
                false => roles.privileges_on(who, object, part, asked.privilege),
            };
            !found.is_empty()
        })
    }

    fn relation_privilege(
        &self,
        question: &Question,
        among: Privileges,
        part: Part,
    ) -> SqlResult<Option<bool>> {
        let relation = match number(question.object) {
            Some(number) => number,
            None => self.number(SqlType::RegClass, text(question.object))?,
        };
        let asked = asked(question.rest[0], among)?;
        Ok(self.on_relation(question.who, (relation, part), &asked))
    }

    fn on_relation(
        &self,
        who: RoleId,
        (relation, part): (u32, Part),
        asked: &[Asked],
    ) -> Option<bool> {
        if let Some(object) = self.context().catalog.object_of(relation) {
            let is_relation = matches!(object.kind, ObjectKind::Table | ObjectKind::Sequence);
            return is_relation.then(|| self.has_any_on(who, object, part, asked));
        }
        let layout = layout::all().find(|layout| layout.oid == relation)?;
        let everybody = match CLOSED.contains(&layout.name) {
            true => Privileges::NONE,
            false => Privileges::SELECT,
        };
        let reads = |asked: &Asked| !asked.may_grant && everybody == asked.privilege;
        Some(self.context().catalog.roles().is_superuser(who) || asked.iter().any(reads))
    }

    fn column_privilege(&self, question: &Question) -> SqlResult<Option<bool>> {
        let relation = match number(question.object) {
            Some(number) => number,
            None => self.number(SqlType::RegClass, text(question.object))?,
        };
        let asked = asked(question.rest[1], OF_COLUMNS)?;
        let Some(columns) = self.columns(relation) else {
            return Ok(None);
        };
        let column = question.rest[0];
        let place = match number(column) {
            Some(number) => usize::try_from(number).ok().and_then(|n| n.checked_sub(1)),
            None => columns.iter().position(|name| name == text(column)),
        };
        if let Some(place) = place.filter(|place| *place < columns.len()) {
            let part = Part::Column(u16::try_from(place + 1).unwrap_or(u16::MAX));
            return Ok(self.on_relation(question.who, (relation, part), &asked));
        }
        match number(column) {
            Some(_) => Ok(None),
            None => Err(SqlError::new(
                SqlState::UNDEFINED_COLUMN,
                format!(
                    "column \"{}\" of relation \"{}\" does not exist",
                    text(column),
                    self.relation_name(relation).unwrap_or_default()
                ),
            )),
        }
    }

    /// The names of a relation's columns.
    fn columns(&self, relation: u32) -> Option<Vec<String>> {
        if let Some(layout) = layout::all().find(|layout| layout.oid == relation) {
            return Some(
                layout
                    .columns
                    .iter()
                    .map(|column| column.name.to_string())
                    .collect(),
            );
        }
        if let Some(view) = self.context().catalog.view(TableId(relation)) {
            return Some(
                view.columns
                    .iter()
                    .map(|column| column.name.clone())
                    .collect(),
            );
        }
        let table = self.context().catalog.rows_of(TableId(relation))?;
        Some(
            table
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect(),
        )
    }

    fn sequence_privilege(&self, question: &Question) -> SqlResult<Option<bool>> {
        let among = Privileges::USAGE | Privileges::SELECT | Privileges::UPDATE;
        let sequence = match number(question.object) {
            Some(number) => number,
            None => self.number(SqlType::RegClass, text(question.object))?,
        };
        let asked = asked(question.rest[0], among)?;
        match self.context().catalog.object_of(sequence) {
            Some(object) if object.kind == ObjectKind::Sequence => {
                Ok(Some(self.has_any(question.who, object, &asked)))
            }
            _ => match self.relation_name(sequence) {
                Some(name) => Err(SqlError::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("\"{name}\" is not a sequence"),
                )),
                None => Ok(None),
            },
        }
    }

    fn schema_privilege(&self, question: &Question) -> SqlResult<Option<bool>> {
        let name = text(question.object);
        let schema = match number(question.object) {
            Some(number) => number,
            None => self
                .schema_number(name)
                .ok_or_else(|| missing(SqlState::INVALID_SCHEMA_NAME, "schema", name))?,
        };
        let asked = asked(question.rest[0], Privileges::CREATE | Privileges::USAGE)?;
        let object = Object {
            kind: ObjectKind::Schema,
            number: schema,
        };
        let is_there = self.context().catalog.is_there(object);
        Ok(is_there.then(|| self.has_any(question.who, object, &asked)))
    }

    fn database_privilege(&self, question: &Question) -> SqlResult<Option<bool>> {
        let name = text(question.object);
        let is_there = match number(question.object) {
            Some(number) => number == DATABASE,
            None if name == self.context().database => true,
            None => return Err(missing(SqlState::UNDEFINED_DATABASE, "database", name)),
        };
        let among = Privileges::CREATE | Privileges::TEMPORARY | Privileges::CONNECT;
        let asked = asked(question.rest[0], among)?;
        Ok(is_there.then(|| self.has_any(question.who, THE_DATABASE, &asked)))
    }

    fn routine_privilege(&self, question: &Question) -> SqlResult<Option<bool>> {
        let routine = match number(question.object) {
            Some(number) => number,
            None => {
                let name = text(question.object);
                let found = self.number(SqlType::RegProcedure, name);
                // Without brackets it names none.
                match found {
                    Err(_) if !name.contains('(') => {
                        return Err(SqlError::new(
                            SqlState::INVALID_TEXT_REPRESENTATION,
                            "expected a left parenthesis",
                        ));
                    }
                    found => found?,
                }
            }
        };
        let asked = asked(question.rest[0], Privileges::EXECUTE)?;
        match self.context().catalog.object_of(routine) {
            Some(object) if object.kind == ObjectKind::Routine => {
                Ok(Some(self.has_any(question.who, object, &asked)))
            }
            _ if functions::with_number(routine).is_some() => {
                Ok(Some(self.for_all(question.who, &asked)))
            }
            _ => Ok(None),
        }
    }

    /// What belongs to the system and everybody may use.
    fn for_all(&self, who: RoleId, asked: &[Asked]) -> bool {
        self.context().catalog.roles().is_superuser(who)
            || asked.iter().any(|asked| !asked.may_grant)
    }

    fn type_privilege(&self, question: &Question) -> SqlResult<Option<bool>> {
        let oid = match number(question.object) {
            Some(number) => number,
            None => self.number(SqlType::RegType, text(question.object))?,
        };
        let asked = asked(question.rest[0], Privileges::USAGE)?;
        let object = Object {
            kind: ObjectKind::Type,
            number: oid,
        };
        if self.context().catalog.is_there(object) {
            return Ok(Some(self.has_any(question.who, object, &asked)));
        }
        let is_there = SqlType::built_in_with_oid(oid).is_some();
        Ok(is_there.then(|| self.for_all(question.who, &asked)))
    }

    fn language_privilege(&self, question: &Question) -> SqlResult<Option<bool>> {
        let name = text(question.object);
        let wanted = number(question.object);
        let mut known = LANGUAGES.iter().chain(&OTHER_LANGUAGES);
        let is_there = known.any(|(known, oid)| match wanted {
            Some(number) => number == *oid,
            None => *known == name,
        });
        let asked = asked(question.rest[0], Privileges::USAGE)?;
        match wanted {
            _ if is_there => Ok(Some(self.for_all(question.who, &asked))),
            Some(_) => Ok(None),
            None => Err(missing(SqlState::UNDEFINED_OBJECT, "language", name)),
        }
    }

    fn tablespace_privilege(&self, question: &Question) -> SqlResult<Option<bool>> {
        const TABLESPACES: [(u32, &str); 2] = [(1663, "pg_default"), (1664, "pg_global")];
        let name = text(question.object);
        let wanted = number(question.object);
        let is_there = TABLESPACES.iter().any(|(oid, known)| match wanted {
            Some(number) => number == *oid,
            None => *known == name,
        });
        asked(question.rest[0], Privileges::CREATE)?;
        match (is_there, wanted) {
            (true, _) => Ok(Some(
                self.context().catalog.roles().is_superuser(question.who),
            )),
            (false, Some(_)) => Ok(None),
            (false, None) => Err(missing(SqlState::UNDEFINED_OBJECT, "tablespace", name)),
        }
    }

    /// USAGE: it has the role's privileges; MEMBER: it may become it; either with an option: it may give it to others.
    fn has_role(&self, arguments: &[&Value]) -> SqlResult<Option<bool>> {
        let (who, rest) = match arguments {
            [who, rest @ ..] if rest.len() == 2 => (self.role(who, false)?, rest),
            rest => (self.context().user.role, rest),
        };
        let of = self.role(rest[0], false)?;
        let roles = self.context().catalog.roles();
        let one = |word: &str| {
            let upper = word.trim().to_ascii_uppercase();
            match upper.as_str() {
                "USAGE" => Ok(roles.has_privileges_of(who, of)),
                "MEMBER" => Ok(roles.is_member(who, of)),
                "USAGE WITH GRANT OPTION"
                | "USAGE WITH ADMIN OPTION"
                | "MEMBER WITH GRANT OPTION"
                | "MEMBER WITH ADMIN OPTION" => Ok(roles.is_admin(who, of)),
                _ => Err(SqlError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("unrecognized privilege type: \"{}\"", word.trim()),
                )),
            }
        };
        let all: SqlResult<Vec<bool>> = text(rest[1]).split(',').map(one).collect();
        Ok(Some(all?.contains(&true)))
    }

    fn relation_name(&self, relation: u32) -> Option<String> {
        let shown = self.name(SqlType::RegClass, relation)?;
        let (_, name) = split_name(&shown);
        Some(shown_name(None, &name))
    }
}

/// There are none of this kind.
fn nothing_of(question: &Question, what: &str) -> SqlResult<Option<bool>> {
    asked(question.rest[0], Privileges::USAGE)?;
    match number(question.object) {
        Some(_) => Ok(None),
        None => Err(missing(
            SqlState::UNDEFINED_OBJECT,
            what,
            text(question.object),
        )),
    }
}
