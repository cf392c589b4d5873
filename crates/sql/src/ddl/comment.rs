//! COMMENT ON.
//!
//! Relies on: the catalogue for what is commented on.  Promises: a comment is kept with the number of its object, and
//! goes when the object goes.  Accepts and ignores: comments on roles, extensions and databases of other names.
//! Does not: comments on what there is none of (0A000).

use crate::catalog::Relation;
use crate::command::Planned;
use crate::draft::Draft;
use crate::names::inner;
use crate::planner::Planner;
use crate::records::{CommentRecord, CommentsRecord};
use crate::role::denied;
use crate::routine;
use crate::system;
use pg_query::NodeEnum;
use pg_query::protobuf::{CommentStmt, Node, ObjectType};
use quintet_base::{SqlError, SqlResult, SqlState};

/// What a comment is about: the catalogue's relation that lists it, its number, and that of its column.
struct Subject {
    class: u32,
    number: u32,
    column: i32,
}

pub(super) fn comment(planner: &Planner, statement: &CommentStmt) -> SqlResult<Planned> {
    const TAG: &str = "COMMENT";
    let Some(object) = statement.object.as_deref() else {
        return Err(SqlError::internal("COMMENT ON nothing"));
    };
    let Some(subject) = subject(planner, statement.objtype(), object)? else {
        return Ok(planner.nothing(TAG));
    };
    if let Some(object) = planner.catalog().object_of(subject.number) {
        planner.must_own(object)?;
    }
    let mut draft = Draft::new(planner);
    let known = planner.catalog().comments(subject.number);
    let mut entries = known.map_or_else(Vec::new, |known| known.entries.clone());
    entries.retain(|entry| (entry.class, entry.column) != (subject.class, subject.column));
    if !statement.comment.is_empty() {
        entries.push(CommentRecord {
            class: subject.class,
            column: subject.column,
            text: statement.comment.clone(),
        });
    }
    draft.put_comments(subject.number, &CommentsRecord { entries })?;
    draft.finish(TAG)
}

fn subject(planner: &Planner, kind: ObjectType, object: &Node) -> SqlResult<Option<Subject>> {
    let whole = |class, number| {
        Ok(Some(Subject {
            class,
            number,
            column: 0,
        }))
    };
    let name = words(object);
    let name: Vec<&str> = name.iter().map(String::as_str).collect();
    match kind {
        ObjectType::ObjectTable
        | ObjectType::ObjectView
        | ObjectType::ObjectMatview
        | ObjectType::ObjectIndex
        | ObjectType::ObjectSequence => {
            let word = match kind {
                ObjectType::ObjectView => "view",
                ObjectType::ObjectIndex => "index",
                ObjectType::ObjectSequence => "sequence",
                _ => "table",
            };
            let found = relation(planner, &name)?;
            let fits = matches!(
                (found, kind),
                (
                    Relation::Table(_) | Relation::Partition(_),
                    ObjectType::ObjectTable | ObjectType::ObjectMatview
                ) | (Relation::View(_), ObjectType::ObjectView)
                    | (Relation::Sequence(_), ObjectType::ObjectSequence)
                    | (
                        Relation::Index(..) | Relation::PrimaryKey(_),
                        ObjectType::ObjectIndex
                    )
            );
            if !fits {
                let article = if word == "index" { "an" } else { "a" };
                let last = name.last().copied().unwrap_or_default();
                let message = format!("\"{last}\" is not {article} {word}");
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            whole(system::PG_CLASS, planner.catalog().number_of(found))
        }
        ObjectType::ObjectColumn => {
            let Some((column, table)) = name.split_last() else {
                return Err(SqlError::internal("COMMENT ON COLUMN without a name"));
            };
            let found = relation(planner, table)?;
            let number = planner.catalog().number_of(found);
            let place = match found {
                Relation::Table(id) | Relation::Partition(id) => {
                    let table = planner.catalog().rows_of(id);
                    table.and_then(|table| table.column(column))
                }
                Relation::View(id) => planner.catalog().view(id).and_then(|view| {
                    let mut columns = view.columns.iter();
                    columns.position(|other| other.name == **column)
                }),
                _ => None,
            };
            let Some(place) = place else {
                let table = table.last().copied().unwrap_or_default();
                let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
            };
            Ok(Some(Subject {
                class: system::PG_CLASS,
                number,
                column: place as i32 + 1,
            }))
        }
        ObjectType::ObjectTabconstraint => {
            let Some((constraint, table)) = name.split_last() else {
                return Err(SqlError::internal("COMMENT ON CONSTRAINT without a name"));
            };
            let found = relation(planner, table)?;
            let Relation::Table(id) = found else {
                let table = table.last().copied().unwrap_or_default();
                let message = format!("\"{table}\" is not a table");
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
            };
            match system::constraint_number(planner, id, constraint) {
                Some(number) => whole(system::PG_CONSTRAINT, number),
                None => {
                    let table = table.last().copied().unwrap_or_default();
                    let message =
                        format!("constraint \"{constraint}\" for table \"{table}\" does not exist");
                    Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message))
                }
            }
        }
        ObjectType::ObjectFunction | ObjectType::ObjectProcedure | ObjectType::ObjectRoutine => {
            let Some(NodeEnum::ObjectWithArgs(named)) = inner(object) else {
                return Err(SqlError::internal("COMMENT ON a routine without a name"));
            };
            let (what, procedure) = match kind {
                ObjectType::ObjectFunction => ("function", Some(false)),
                ObjectType::ObjectProcedure => ("procedure", Some(true)),
                _ => ("routine", None),
            };
            let id = routine::find(planner, named, what, procedure)?;
            whole(system::PG_PROC, id.0)
        }
        ObjectType::ObjectTrigger => {
            let (name, table) = match name.as_slice() {
                [table @ .., name] => (*name, table),
                [] => ("", &[][..]),
            };
            let (Relation::Table(table) | Relation::Partition(table) | Relation::View(table)) =
                relation(planner, table)?
            else {
                return Err(SqlError::unsupported("COMMENT ON TRIGGER of no table"));
            };
            let mut triggers = planner.catalog().triggers_of(table).iter();
            match triggers.find(|trigger| trigger.name == name) {
                Some(trigger) => whole(system::PG_TRIGGER, trigger.id),
                None => Err(SqlError::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!("trigger \"{name}\" for table does not exist"),
                )),
            }
        }
        ObjectType::ObjectPolicy => {
            let (name, table) = match name.as_slice() {
                [table @ .., name] => (*name, table),
                [] => ("", &[][..]),
            };
            let shown = table.last().copied().unwrap_or_default();
            let found = match relation(planner, table)? {
                Relation::Table(table) | Relation::Partition(table) => {
                    let refused = |_| denied(format!("must be owner of relation {shown}"));
                    planner.must_own_table(table).map_err(refused)?;
                    planner.catalog().security(table)
                }
                _ => None,
            };
            match found.and_then(|security| security.policy(name)) {
                Some(policy) => whole(system::PG_POLICY, policy.id),
                None => Err(SqlError::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!("policy \"{name}\" for table \"{shown}\" does not exist"),
                )),
            }
        }
        ObjectType::ObjectSchema => {
            let name = name.last().copied().unwrap_or_default();
            let schemas = system::schemas(planner.catalog());
            match schemas.into_iter().find(|(_, known)| known == name) {
                Some((number, _)) => whole(system::PG_NAMESPACE, number),
                None => Err(SqlError::new(
                    SqlState::INVALID_SCHEMA_NAME,
                    format!("schema \"{name}\" does not exist"),
                )),
            }
        }
        ObjectType::ObjectType | ObjectType::ObjectDomain => {
            whole(system::PG_TYPE, planner.type_of_name(&name)?.id)
        }
        ObjectType::ObjectDatabase | ObjectType::ObjectRole | ObjectType::ObjectExtension => {
            Ok(None)
        }
        _ => Err(SqlError::unsupported("COMMENT ON this kind of object")),
    }
}

/// The parts of an object's name.
fn words(object: &Node) -> Vec<String> {
    match inner(object) {
        Some(NodeEnum::List(list)) => super::words(&list.items),
        Some(NodeEnum::String(string)) => vec![string.sval.clone()],
        Some(NodeEnum::TypeName(name)) => super::words(&name.names),
        _ => Vec::new(),
    }
}

fn relation(planner: &Planner, name: &[&str]) -> SqlResult<Relation> {
    let (schema, name) = match planner.local_relation(name)? {
        [name] => (None, *name),
        [schema, name] => (Some(*schema), *name),
        _ => return Err(super::improper_name(name)),
    };
    planner.find_relation(schema, name).ok_or_else(|| {
        let shown = match schema {
            Some(schema) => format!("{schema}.{name}"),
            None => name.to_string(),
        };
        SqlError::new(
            SqlState::UNDEFINED_TABLE,
            format!("relation \"{shown}\" does not exist"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_off_lists_and_strings() {
        let parsed = crate::parse("COMMENT ON COLUMN a.b.c IS 'x'").unwrap();
        let Some(NodeEnum::CommentStmt(statement)) = parsed[0].node() else {
            panic!("a comment");
        };
        assert_eq!(words(statement.object.as_deref().unwrap()), ["a", "b", "c"]);
    }
}
