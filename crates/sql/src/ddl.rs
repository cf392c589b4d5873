//! Schema changes: who plans which, and the small ones.
//!
//! Relies on: `draft`.  Promises: a change is complete in its plan: records, fences, new and dropped
//! spaces; a clause that would need something Quintet lacks is 0A000.  Does not: take locks or
//! write; the session does, in one transaction.
//!
//! | file | statements |
//! |---|---|
//! | here | DROP, TRUNCATE |
//! | `ddl/rename` | RENAME |
//! | `ddl/set_schema`, `ddl/moving` | SET SCHEMA, ALTER SCHEMA … RENAME; the texts that name what has moved |
//! | `ddl/database`, `ddl/schema`, `ddl/extension` | databases; schemas; extensions |
//! | `ddl/trigger`, `ddl/matview`, `ddl/policy` | triggers; materialized views; policies |
//! | `ddl/view` | views |
//! | `ddl/user_type`, `ddl/attribute`, `ddl/domain`, `ddl/drop_type` | types and domains |
//! | `ddl/owned` | REASSIGN OWNED, DROP OWNED |
//! | `ddl/comment` | COMMENT ON |
//! | `ddl/table` | CREATE TABLE |
//! | `ddl/like` | LIKE in CREATE TABLE |
//! | `ddl/table_as` | CREATE TABLE AS, SELECT INTO |
//! | `ddl/constraint` | constraints, wherever they stand |
//! | `ddl/generated` | generated columns |
//! | `ddl/foreign_key` | foreign keys, and what needs them |
//! | `ddl/index` | CREATE INDEX; what methods cannot do |
//! | `ddl/hidden` | the columns of indexes on expressions, and of partial ones |
//! | `ddl/temporary` | ON COMMIT, DISCARD TEMP |
//! | `ddl/sequence` | CREATE and ALTER SEQUENCE |
//! | `ddl/alter` | ALTER TABLE |
//! | `ddl/partition` | partitions |

mod absent;
mod alter;
mod attribute;
mod callers;
mod comment;
mod constraint;
mod database;
mod domain;
mod drop_type;
mod exclusion;
mod extension;
mod foreign_key;
mod generated;
mod hidden;
mod index;
mod like;
mod matview;
mod moving;
mod owned;
mod partition;
mod policy;
mod rename;
mod renamed_column;
mod schema;
mod sequence;
mod set_schema;
mod storage_options;
mod table;
mod table_as;
mod temporary;
mod trigger;
mod user_type;
mod using_index;
mod view;
mod view_defaults;

use crate::catalog::Relation;
use crate::command::{Command, DdlPlan, Planned};
use crate::draft::{Draft, owned_sequences, spaces_of};
use crate::from::{row_target, target_table};
use crate::large_object;
use crate::names::{self, inner};
use crate::planner::{PlanContext, Planner};
use crate::role;
use crate::routine;
use crate::stored;
use crate::temporary::is_temporary;
pub(crate) use callers::{Going as GoingRoutine, release_functions};
pub(crate) use drop_type::names_word;
use foreign_key::Going;
pub(crate) use generated::refuse_actions;
pub(crate) use index::column_names as index_column_names;
pub(crate) use matview::{refuse_change, refuse_unpopulated};
pub(crate) use moving::{NameClass, each_name, routine_at_home};
pub(crate) use partition::check_keys;
use pg_query::NodeEnum;
use pg_query::protobuf::{DropBehavior, DropStmt, Node, ObjectType, TruncateStmt};
use quintet_base::{SequenceId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::schema::TableRef;
use quintet_ir::{Expr, Object, ObjectKind, Privileges};
pub(crate) use table_as::select_into;
pub use temporary::{plan_commit, plan_discard};
pub(crate) use trigger::scope_of_condition;
pub(crate) use user_type::may_use_built_in;

/// Plans a schema change; `None` if the statement is none.
pub(crate) fn plan_ddl(planner: &Planner, node: &NodeEnum) -> SqlResult<Option<Planned>> {
    let planned = match node {
        NodeEnum::CreateStmt(statement) => table::create(planner, statement)?,
        NodeEnum::CreateTableAsStmt(statement) => table_as::create(planner, statement)?,
        NodeEnum::IndexStmt(statement) => index::create(planner, statement)?,
        NodeEnum::CreateSeqStmt(statement) => sequence::create(planner, statement)?,
        NodeEnum::AlterSeqStmt(statement) => sequence::alter(planner, statement)?,
        NodeEnum::AlterTableStmt(statement) => alter::alter(planner, statement)?,
        NodeEnum::RenameStmt(statement) => rename::rename(planner, statement)?,
        NodeEnum::AlterObjectSchemaStmt(statement) => set_schema::alter(planner, statement)?,
        NodeEnum::DropStmt(statement) => drop(planner, statement)?,
        NodeEnum::TruncateStmt(statement) => truncate(planner, statement)?,
        NodeEnum::CreateSchemaStmt(statement) => schema::create(planner, statement)?,
        NodeEnum::RefreshMatViewStmt(statement) => matview::refresh(planner, statement)?,
        NodeEnum::CreatePolicyStmt(statement) => policy::create(planner, statement)?,
        NodeEnum::AlterPolicyStmt(statement) => policy::alter(planner, statement)?,
        NodeEnum::CreateTrigStmt(statement) => trigger::create(planner, statement)?,
        NodeEnum::CreateExtensionStmt(statement) => extension::create(planner, statement)?,
        NodeEnum::ViewStmt(statement) => view::create(planner, statement)?,
        NodeEnum::CreateFunctionStmt(statement) => routine::plan_create(planner, statement)?,
        NodeEnum::AlterFunctionStmt(statement) => routine::plan_alter(planner, statement)?,
        NodeEnum::CreateEnumStmt(statement) => user_type::create_enum(planner, statement)?,
        NodeEnum::AlterEnumStmt(statement) => user_type::alter_enum(planner, statement)?,
        NodeEnum::CompositeTypeStmt(statement) => user_type::create_composite(planner, statement)?,
        NodeEnum::CreateDomainStmt(statement) => domain::create(planner, statement)?,
        NodeEnum::AlterDomainStmt(statement) => domain::alter(planner, statement)?,
        NodeEnum::CreateRoleStmt(statement) => role::create(planner, statement)?,
        NodeEnum::AlterRoleStmt(statement) => role::alter(planner, statement)?,
        NodeEnum::ReassignOwnedStmt(statement) => owned::reassign(planner, statement)?,
        NodeEnum::DropOwnedStmt(statement) => owned::drop(planner, statement)?,
        NodeEnum::AlterDefaultPrivilegesStmt(statement) => {
            role::alter_defaults(planner, statement)?
        }
        NodeEnum::AlterRoleSetStmt(statement) => role::alter_role(planner, statement)?,
        NodeEnum::AlterDatabaseSetStmt(statement) => role::alter_database(planner, statement)?,
        NodeEnum::CreatedbStmt(statement) => database::create(planner, statement)?,
        NodeEnum::DropdbStmt(statement) => database::drop(planner, statement)?,
        NodeEnum::DropRoleStmt(statement) => role::drop(planner, statement)?,
        NodeEnum::CommentStmt(statement)
            if statement.objtype() == ObjectType::ObjectLargeobject =>
        {
            large_object::plan_comment(planner, statement)?
        }
        NodeEnum::GrantStmt(statement) if statement.objtype() == ObjectType::ObjectLargeobject => {
            large_object::plan_grant(planner, statement)?
        }
        NodeEnum::AlterOwnerStmt(statement)
            if statement.object_type() == ObjectType::ObjectLargeobject =>
        {
            large_object::plan_owner(planner, statement)?
        }
        NodeEnum::CommentStmt(statement) => comment::comment(planner, statement)?,
        NodeEnum::GrantStmt(statement) => role::grant(planner, statement)?,
        NodeEnum::AlterOwnerStmt(statement) => role::alter_owner(planner, statement)?,
        NodeEnum::GrantRoleStmt(statement) => role::grant_role(planner, statement)?,
        _ => return Ok(None),
    };
    Ok(Some(planned))
}

/// IF NOT EXISTS: nothing is to be done about a relation whose name is taken.
fn there_already(
    planner: &Planner,
    (schema, name): (&str, &str),
    tag: &'static str,
) -> Option<Planned> {
    planner.catalog().relation(schema, name)?;
    let what = format_args!("relation \"{name}\"");
    planner.notice_there(SqlState::DUPLICATE_TABLE, what);
    Some(planner.nothing(tag))
}

/// The schema in which something is made.
fn creation_schema<'n>(
    planner: &'n Planner,
    relation: &'n pg_query::protobuf::RangeVar,
) -> SqlResult<&'n str> {
    planner.refuse_elsewhere(relation)?;
    let schema = match relation.schemaname.as_str() {
        "" if relation.relpersistence == "t" => "pg_temp",
        "" => planner.schema().map_err(planner.at(relation.location))?,
        schema => schema,
    };
    if schema == "pg_temp" || is_temporary(schema) {
        return planner.temporary_schema(schema);
    }
    if relation.relpersistence == "t" {
        let message = "cannot create temporary relation in non-temporary schema";
        return Err(planner.error(
            SqlState::INVALID_TABLE_DEFINITION,
            message,
            relation.location,
        ));
    }
    match schema {
        schema @ ("pg_catalog" | "information_schema") => Err(planner.error(
            SqlState::INSUFFICIENT_PRIVILEGE,
            format!(
                "permission denied to create \"{schema}.{}\"",
                relation.relname
            ),
            relation.location,
        )),
        schema if planner.catalog().has_schema(schema) => {
            planner.must_have(planner.schema_object(schema), Privileges::CREATE)?;
            Ok(schema)
        }
        schema => Err(planner.error(
            SqlState::INVALID_SCHEMA_NAME,
            format!("schema \"{schema}\" does not exist"),
            relation.location,
        )),
    }
}

fn drop(planner: &Planner, statement: &DropStmt) -> SqlResult<Planned> {
    let cascade = statement.behavior() == DropBehavior::DropCascade;
    let mut draft = Draft::new(planner);
    let (tag, kind) = match statement.remove_type() {
        ObjectType::ObjectTable => ("DROP TABLE", "table"),
        ObjectType::ObjectIndex => ("DROP INDEX", "index"),
        ObjectType::ObjectSequence => ("DROP SEQUENCE", "sequence"),
        ObjectType::ObjectView => ("DROP VIEW", "view"),
        ObjectType::ObjectMatview => ("DROP MATERIALIZED VIEW", "materialized view"),
        ObjectType::ObjectFunction | ObjectType::ObjectProcedure | ObjectType::ObjectRoutine => {
            return routine::plan_drop(planner, statement);
        }
        ObjectType::ObjectType | ObjectType::ObjectDomain => {
            return drop_type::drop(planner, statement);
        }
        ObjectType::ObjectSchema => return schema::drop(planner, statement, cascade),
        ObjectType::ObjectExtension => return extension::drop(planner, statement),
        ObjectType::ObjectTrigger => return trigger::drop(planner, statement),
        ObjectType::ObjectPolicy => return policy::drop(planner, statement),
        _ => {
            let told = absent::drop(planner, statement)?;
            return told.ok_or_else(|| SqlError::unsupported("DROP of this kind of object"));
        }
    };
    let mut dropped = Vec::new();
    let together = named_tables(planner, statement);
    for object in &statement.objects {
        let name = names::strings(names::list(object).unwrap_or_default());
        let (schema, name) = match *planner.local_relation(&name)? {
            [name] => (None, name),
            [schema, name] => (Some(schema), name),
            _ => return Err(improper_name(&name)),
        };
        let Some(found) = planner.find_relation(schema, name) else {
            if statement.missing_ok {
                planner.notice(format!("{kind} \"{name}\" does not exist, skipping"));
                continue;
            }
            let state = match kind {
                "index" => SqlState::UNDEFINED_OBJECT,
                _ => SqlState::UNDEFINED_TABLE,
            };
            return Err(SqlError::new(
                state,
                format!("{kind} \"{name}\" does not exist"),
            ));
        };
        if dropped.contains(&found) {
            continue;
        }
        dropped.push(found);
        match (found, kind) {
            (Relation::Table(id), "table" | "materialized view")
                if planner.catalog().matview(id).is_some() == (kind != "table") =>
            {
                planner.may_drop(table_object(id))?;
                drop_table(&mut draft, id, cascade, &together)?;
            }
            (Relation::Partition(id), "table") => {
                planner.may_drop(table_object(id))?;
                partition::drop(&mut draft, id, cascade, &together)?;
            }
            (Relation::View(id), "view") => {
                planner.may_drop(table_object(id))?;
                if !draft.has_dropped_view(id) {
                    let what = format!("view {name}");
                    view::release(&mut draft, &what, id, None, cascade, &together)?;
                    draft.drop_view(id);
                }
            }
            (Relation::Index(id, number), "index") => {
                planner.must_own_index(id, name)?;
                index::drop(&mut draft, id, number, cascade)?;
            }
            (Relation::PrimaryKey(id), "index") => {
                let table = planner.catalog().table_by_id(id);
                return Err(required_by_constraint(name, table.map_or("", |t| &t.name)));
            }
            (Relation::Sequence(id), "sequence") => {
                planner.may_drop(sequence_object(id))?;
                release_sequence(&mut draft, id, &format!("sequence {name}"), cascade, &[])?;
                draft.drop_sequence(id);
            }
            _ => {
                let message = format!(
                    "\"{name}\" is not a{} {kind}",
                    if kind == "index" { "n" } else { "" }
                );
                let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, message);
                return Err(error.hint(match found {
                    Relation::View(_) => "Use DROP VIEW to remove a view.",
                    Relation::Table(id) if planner.catalog().matview(id).is_some() => {
                        "Use DROP MATERIALIZED VIEW to remove a materialized view."
                    }
                    Relation::Table(_) | Relation::Partition(_) => {
                        "Use DROP TABLE to remove a table."
                    }
                    Relation::Sequence(_) => "Use DROP SEQUENCE to remove a sequence.",
                    Relation::Index(..) | Relation::PrimaryKey(_) => {
                        "Use DROP INDEX to remove an index."
                    }
                }));
            }
        }
    }
    draft.finish(tag)
}

/// A name of too many parts.
fn improper_name(name: &[&str]) -> SqlError {
    let message = format!(
        "improper relation name (too many dotted names): {}",
        name.join(".")
    );
    SqlError::new(SqlState::SYNTAX_ERROR, message)
}

pub(crate) fn table_object(id: TableId) -> Object {
    Object {
        kind: ObjectKind::Table,
        number: id.0,
    }
}

fn sequence_object(id: SequenceId) -> Object {
    Object {
        kind: ObjectKind::Sequence,
        number: id.0,
    }
}

fn required_by_constraint(index: &str, table: &str) -> SqlError {
    SqlError::new(
        SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        format!(
            "cannot drop index {index} because constraint {index} on table {table} requires it"
        ),
    )
    .hint(format!(
        "You can drop constraint {index} on table {table} instead."
    ))
}

/// Tables that a DROP names.
fn named_tables(planner: &Planner, statement: &DropStmt) -> Vec<TableId> {
    let found = statement.objects.iter().filter_map(|object| {
        let name = names::strings(names::list(object).unwrap_or_default());
        let (schema, name) = match *planner.local_relation(&name).ok()? {
            [name] => (None, name),
            [schema, name] => (Some(schema), name),
            _ => return None,
        };
        match planner.find_relation(schema, name) {
            Some(Relation::Table(id) | Relation::View(id) | Relation::Partition(id)) => Some(id),
            _ => None,
        }
    });
    found.collect()
}

fn drop_table(
    draft: &mut Draft,
    id: TableId,
    cascade: bool,
    together: &[TableId],
) -> SqlResult<()> {
    let Some(table) = draft.planner.catalog().table_by_id(id) else {
        return partition::drop(draft, id, cascade, together);
    };
    let record = record_of(draft.planner, table)?;
    foreign_key::release(draft, &record, &Going::Table, cascade, together)?;
    let what = format!("table {}", table.name);
    view::release(draft, &what, id, None, cascade, together)?;
    drop_type::release_rows(draft, table, cascade, together)?;
    partition::release(draft, table, cascade, together)?;
    let going = [together, &[id]].concat();
    for sequence in owned_sequences(draft.planner.catalog(), id, None) {
        release_sequence(draft, sequence, &what, cascade, &going)?;
    }
    draft.drop_table(table);
    Ok(())
}

/// Sees to it that no table's default and no view needs a sequence any more, which goes with `what`. `going`: tables that go too.
///
/// # Errors
/// `2BP01` if one does, unless `cascade`.
fn release_sequence(
    draft: &mut Draft,
    id: SequenceId,
    what: &str,
    cascade: bool,
    going: &[TableId],
) -> SqlResult<()> {
    let catalog = draft.planner.catalog();
    let Some(sequence) = catalog.sequence_by_id(id) else {
        return Ok(());
    };
    view::release(draft, what, TableId(id.0), None, cascade, going)?;
    let mut names = Vec::new();
    let mut tables = Vec::new();
    for table in catalog.tables().filter(|table| !going.contains(&table.id)) {
        let needs = |column: &&quintet_ir::ColumnDef| {
            let default = column.default.as_ref();
            default.is_some_and(|expr| uses_sequence(expr, id))
        };
        let before = names.len();
        for column in table.columns.iter().filter(needs) {
            let (column, table) = (&column.name, &table.name);
            names.push(format!(
                "default value for column {column} of table {table}"
            ));
        }
        if names.len() > before {
            tables.push(table);
        }
    }
    let of_views = view_defaults::needing(draft, going, |expr| uses_sequence(expr, id))?;
    names.extend(of_views.iter().map(|(_, name)| name.clone()));
    if names.is_empty() {
        return Ok(());
    }
    if !cascade {
        let depends = |name: &String| format!("{name} depends on sequence {}", sequence.name);
        let details: Vec<String> = names.iter().map(depends).collect();
        return Err(SqlError::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop {what} because other objects depend on it"),
        )
        .detail(details.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    draft.planner.notice_cascade(&names);
    for table in tables {
        let mut record = match draft.changed_table(table.id)? {
            Some(record) => record,
            None => record_of(draft.planner, table)?,
        };
        for (column, stored) in table.columns.iter().zip(&mut record.columns) {
            let default = column.default.as_ref();
            if default.is_some_and(|expr| uses_sequence(expr, id)) {
                stored.default = None;
                stored.identity = None;
            }
        }
        record.revision += 1;
        draft.put_table(&record)?;
    }
    let places: Vec<view_defaults::Place> = of_views.iter().map(|(place, _)| *place).collect();
    view_defaults::drop(draft, &places)
}

fn uses_sequence(expr: &Expr, id: SequenceId) -> bool {
    let mut found = match expr {
        Expr::NextVal(other) | Expr::CurrVal(other) => *other == id,
        Expr::SetVal { sequence, .. } => *sequence == id,
        _ => false,
    };
    expr.for_each_part(&mut |part| found = found || uses_sequence(part, id));
    found
}

fn truncate(planner: &Planner, statement: &TruncateStmt) -> SqlResult<Planned> {
    let mut draft = Draft::new(planner);
    let mut tables: Vec<TableRef> = Vec::new();
    let mut parts: Vec<(TableId, TableRef)> = Vec::new();
    for node in &statement.relations {
        let Some(NodeEnum::RangeVar(relation)) = inner(node) else {
            continue;
        };
        if let Some(id) = partition::named_part(planner, relation)? {
            if planner.catalog().divisions().partitioning(id).is_some() && !relation.inh {
                return Err(only_of_divided());
            }
            planner.must_have(table_object(id), Privileges::TRUNCATE)?;
            parts.push((id, row_target(planner, relation)?));
            continue;
        }
        let table = target_table(planner, relation)?;
        if table.partitions.is_some() && !relation.inh {
            return Err(only_of_divided());
        }
        if !tables.iter().any(|known| known.id == table.id) {
            tables.push(table);
        }
    }
    truncate_together(planner, statement, &mut tables)?;
    for table in &tables {
        if planner.catalog().matview(table.id).is_some() {
            let message = format!("\"{}\" is not a table", table.name);
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        planner.must_have(table_object(table.id), Privileges::TRUNCATE)?;
    }
    let below = |id| planner.catalog().divisions().below(id);
    for id in tables
        .iter()
        .map(|table| table.id)
        .chain(parts.iter().map(|part| part.0))
    {
        draft.fire_on_truncate(id);
        for part in below(id) {
            draft.fire_on_truncate(part.id);
        }
    }
    parts.retain(|(_, part)| !tables.iter().any(|table| table.id == part.id));
    for table in tables {
        leave_rows(&mut draft, &table)?;
        if statement.restart_seqs {
            for id in owned_sequences(planner.catalog(), table.id, None) {
                if let Some(sequence) = planner.catalog().sequence_by_id(id) {
                    draft.restart_sequence(&mut (**sequence).clone(), sequence.start)?;
                }
            }
        }
    }
    for (id, _) in parts {
        partition::truncate(&mut draft, id)?;
    }
    draft.finish("TRUNCATE TABLE")
}

fn only_of_divided() -> SqlError {
    let message = "cannot truncate only a partitioned table";
    let hint = "Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions directly.";
    SqlError::new(SqlState::WRONG_OBJECT_TYPE, message).hint(hint)
}

/// The table is in new spaces from now on, and its rows go with the old ones.
fn leave_rows(draft: &mut Draft<'_, '_>, table: &TableRef) -> SqlResult<()> {
    let mut record = record_of(draft.planner, table)?;
    draft.renew_spaces(&mut record);
    record.revision += 1;
    draft.put_table(&record)?;
    draft.drop_spaces(spaces_of(table));
    Ok(())
}

/// As TRUNCATE, for whoever is about to fill an empty table: new spaces, which nobody else can name. `None`: the table is not by
/// itself, it is divided, refers to others or others refer to it.
///
/// # Errors
/// What the catalogue says.
pub fn renew(context: &PlanContext<'_>, table: &TableRef) -> SqlResult<Option<DdlPlan>> {
    let planner = Planner::new(context, "", &[]);
    let catalog = planner.catalog();
    let is_alone = table.partitions.is_none()
        && table.references.is_none()
        && catalog.record(table.id).is_some()
        && catalog.foreign_keys_to(table.id).next().is_none();
    if !is_alone {
        return Ok(None);
    }
    let mut draft = Draft::new(&planner);
    leave_rows(&mut draft, table)?;
    match draft.finish("COPY")?.command {
        Command::Ddl(plan) => Ok(Some(plan)),
        _ => Ok(None),
    }
}

/// Tables that refer to one of those that are emptied must be emptied, too.
fn truncate_together(
    planner: &Planner,
    statement: &TruncateStmt,
    tables: &mut Vec<TableRef>,
) -> SqlResult<()> {
    let cascade = statement.behavior() == DropBehavior::DropCascade;
    let catalog = planner.catalog();
    let mut at = 0;
    while let Some(parent) = tables.get(at).cloned() {
        at += 1;
        for key in catalog.foreign_keys_to(parent.id) {
            if tables.iter().any(|table| table.id == key.child) {
                continue;
            }
            let Some(child) = catalog.table_by_id(key.child) else {
                continue;
            };
            if !cascade {
                return Err(SqlError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "cannot truncate a table referenced in a foreign key constraint",
                )
                .detail(format!(
                    "Table \"{}\" references \"{}\".",
                    child.name, parent.name
                ))
                .hint(format!(
                    "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
                    child.name
                )));
            }
            planner.notice(format!("truncate cascades to table \"{}\"", child.name));
            tables.push(TableRef::clone(child));
        }
    }
    Ok(())
}

/// The record behind a table.
fn record_of(planner: &Planner, table: &TableRef) -> SqlResult<crate::records::TableRecord> {
    let record = planner.catalog().record(table.id);
    record
        .cloned()
        .ok_or_else(|| SqlError::internal("a table without a record"))
}

/// The words of a list of names.
fn words(nodes: &[Node]) -> Vec<String> {
    names::strings(nodes)
        .into_iter()
        .map(str::to_string)
        .collect()
}

/// A sequence's record, changed by `change`.
fn changed_sequence(
    planner: &Planner,
    id: SequenceId,
    change: impl FnOnce(&mut crate::records::SequenceRecord),
) -> SqlResult<crate::records::SequenceRecord> {
    let sequence = planner.catalog().sequence_by_id(id);
    let sequence = sequence.ok_or_else(|| SqlError::internal("a sequence without a record"))?;
    let mut record = stored::sequence_record(sequence);
    change(&mut record);
    Ok(record)
}
