//! CREATE EXTENSION, DROP EXTENSION.
//!
//! Relies on: `ir` for the extensions that there are; their functions are built in, and there without CREATE EXTENSION.
//! Promises: migrations and dumps that make one of them run, and an extension that was made is listed and dumped; its types are there
//! from CREATE EXTENSION to DROP EXTENSION, which what is of them holds up.
//! Does not: other extensions (0A000), ALTER EXTENSION, or look for what calls a function of an extension that is dropped: nothing breaks.

use super::drop_type;
use super::user_type::refuse_taken;
use crate::command::Planned;
use crate::draft::Draft;
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::records::{ExtensionRecord, TypeKind, TypeRecord};
use crate::role::THE_DATABASE;
use pg_query::NodeEnum;
use pg_query::protobuf::{CreateExtensionStmt, DropBehavior, DropStmt};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::Privileges;
use quintet_ir::function::extension::EXTENSIONS;

/// The extension of every database.
const PLPGSQL: &str = "plpgsql";

pub(super) fn create(planner: &Planner, statement: &CreateExtensionStmt) -> SqlResult<Planned> {
    const TAG: &str = "CREATE EXTENSION";
    let name = statement.extname.as_str();
    let mut made = planner.catalog().extensions();
    if name == PLPGSQL || made.any(|(_, record)| record.name == name) {
        let message = format!("extension \"{name}\" already exists");
        if !statement.if_not_exists {
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
        }
        planner.notice(format!("{message}, skipping"));
        return Ok(planner.nothing(TAG));
    }
    let Some(extension) = EXTENSIONS.iter().find(|known| known.name == name) else {
        let known = EXTENSIONS.iter().map(|known| known.name);
        let known: Vec<&str> = known.chain([PLPGSQL]).collect();
        return Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("extension \"{name}\" is not available"),
        )
        .hint(format!("There are {}.", known.join(", "))));
    };
    planner.must_have(THE_DATABASE, Privileges::CREATE)?;
    let mut schema = None;
    for option in &statement.options {
        let Some(NodeEnum::DefElem(option)) = inner(option) else {
            continue;
        };
        let said = option.arg.as_deref().and_then(names::string);
        match (option.defname.as_str(), said) {
            ("schema", Some(said)) => schema = Some(said),
            ("new_version", Some(version)) if version != extension.version => {
                return Err(SqlError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!(
                        "extension \"{name}\" has no installation script nor update path for version \"{version}\""
                    ),
                ));
            }
            // CASCADE: none needs another one.
            _ => {}
        }
    }
    let schema = match schema {
        Some(schema) => schema,
        None => planner.schema()?,
    };
    if !planner.catalog().has_schema(schema) {
        let message = format!("schema \"{schema}\" does not exist");
        return Err(SqlError::new(SqlState::INVALID_SCHEMA_NAME, message));
    }
    let mut draft = Draft::new(planner);
    draft.put_extension(&ExtensionRecord {
        name: name.to_string(),
        schema: schema.to_string(),
    })?;
    for ty in SqlType::of_extension(name) {
        refuse_taken(planner, schema, ty.name())?;
        draft.put_type(&TypeRecord {
            id: ty.oid(),
            schema: schema.to_string(),
            name: ty.name().to_string(),
            kind: TypeKind::Base(*ty),
        })?;
    }
    draft.finish(TAG)
}

pub(super) fn drop(planner: &Planner, statement: &DropStmt) -> SqlResult<Planned> {
    let cascade = statement.behavior() == DropBehavior::DropCascade;
    let mut draft = Draft::new(planner);
    for object in &statement.objects {
        let name = names::string(object).unwrap_or_default();
        let mut made = planner.catalog().extensions();
        match made.find(|(_, record)| record.name == name) {
            Some((number, _)) => {
                planner.must_have(THE_DATABASE, Privileges::CREATE)?;
                let types = SqlType::of_extension(name);
                let types: Vec<u32> = types.iter().map(|ty| ty.oid()).collect();
                let held_up = |mut error: SqlError| {
                    if error.state == SqlState::DEPENDENT_OBJECTS_STILL_EXIST {
                        error.message = format!(
                            "cannot drop extension {name} because other objects depend on it"
                        );
                    }
                    error
                };
                drop_type::release(&mut draft, &types, cascade, &[], &[]).map_err(held_up)?;
                draft.drop_extension(number);
            }
            None if name == PLPGSQL => {
                return Err(SqlError::unsupported("DROP EXTENSION plpgsql"));
            }
            None if statement.missing_ok => {
                planner.notice(format!("extension \"{name}\" does not exist, skipping"));
            }
            None => {
                let message = format!("extension \"{name}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
            }
        }
    }
    draft.finish("DROP EXTENSION")
}
