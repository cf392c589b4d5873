//! CREATE EXTENSION, DROP EXTENSION.
//!
//! Relies on: `ir` for the extensions that there are; their functions are built in, and there without CREATE EXTENSION.
//! Promises: migrations and dumps that make one of them run, and an extension that was made is listed and dumped; its types are there
//! from CREATE EXTENSION to DROP EXTENSION, which what is of them, and indexes with its operator classes, hold up.
//! Does not: other extensions (0A000), ALTER EXTENSION, or look for what calls a function of an extension that is dropped: nothing breaks.

use super::drop_type;
use super::index::{self, OF_WHOLE_VALUES};
use super::user_type::refuse_taken;
use crate::command::Planned;
use crate::draft::Draft;
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::records::{ExtensionRecord, TypeKind, TypeRecord};
use crate::role::THE_DATABASE;
use crate::system::{extension_of_class, ordered_class};
use pg_query::NodeEnum;
use pg_query::protobuf::{CreateExtensionStmt, DropBehavior, DropStmt};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::function::extension::EXTENSIONS;
use quintet_ir::{Elements, Privileges};

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

/// Drops the indexes whose operator classes an extension brings, or refuses to.
fn drop_indexes(draft: &mut Draft, extension: &str, cascade: bool) -> SqlResult<()> {
    let of_it = |(_, class): &(usize, String)| extension_of_class(class) == Some(extension);
    let catalog = draft.planner.catalog();
    let mut used = Vec::new();
    for table in catalog.tables() {
        let Some(record) = catalog.record(table.id) else {
            continue;
        };
        for (number, index) in table.indexes.iter().enumerate() {
            let shown = record.shown(index.id);
            let class = shown.and_then(|shown| shown.classes.iter().find(|one| of_it(one)));
            let class = class.map(|(_, class)| class.as_str());
            let of_whole = || {
                let elements = &record.indexes.get(number)?;
                let asked = &elements.columns[usize::from(record.predicate(index.id).is_some())..];
                let mut all = record.inverted(elements).into_iter().zip(asked);
                let (_, column) = all.find(|(elements, _)| *elements == Elements::Whole)?;
                ordered_class(record.columns[*column].ty)
            };
            let class = match extension {
                OF_WHOLE_VALUES => of_whole(),
                _ => class,
            };
            if let Some(class) = class {
                let method = shown.and_then(|shown| shown.method.as_deref());
                let method = method.unwrap_or("btree");
                let name = &index.name;
                used.push((
                    (table.id, number),
                    format!(
                        "index {name} depends on operator class {class} for access method {method}"
                    ),
                    format!("index {name}"),
                ));
            }
        }
    }
    if used.is_empty() {
        return Ok(());
    }
    if !cascade {
        let details: Vec<String> = used.into_iter().map(|(_, detail, _)| detail).collect();
        return Err(SqlError::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop extension {extension} because other objects depend on it"),
        )
        .detail(details.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    match used.as_slice() {
        [(_, _, one)] => draft.planner.notice(format!("drop cascades to {one}")),
        several => draft
            .planner
            .notice(format!("drop cascades to {} other objects", several.len())),
    }
    // The last of a table first, so that numbers stay what they are.
    for ((table, number), ..) in used.into_iter().rev() {
        index::drop(draft, table, number, true)?;
    }
    Ok(())
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
                drop_indexes(&mut draft, name, cascade)?;
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
