//! CREATE TABLE.
//!
//! Relies on: `constraint` for keys and checks, `sequence` for SERIAL and identity.  Promises:
//! names of constraints, indexes and sequences are PostgreSQL's.  Accepts and ignores: UNLOGGED and
//! storage parameters (docs/sql.md).  Does not: inheritance (0A000); `partition` makes partitions.

use super::constraint::{self, Constraints};
use super::{
    creation_schema, generated, like, moving, partition, sequence, storage_options, temporary,
    there_already,
};
use crate::coerce;
use crate::command::Planned;
use crate::draft::Draft;
use crate::expr::Binder;
use crate::names::{self, inner, required};
use crate::parse::expression_text;
use crate::planner::Planner;
use crate::records::{ColumnRecord, OnCommit, TableMore, TableRecord};
use crate::routine::any_of;
use crate::scope::Scope;
use crate::system::{COLLATIONS, collation_of};
use crate::types;
use pg_query::NodeEnum;
use pg_query::protobuf::{ColumnDef, ConstrType, Constraint, CreateStmt, Node, RangeVar};
use quintet_base::text_format::{self, FormatContext};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value, limits};
use quintet_ir::Expr;

pub(super) fn create(planner: &Planner, statement: &CreateStmt) -> SqlResult<Planned> {
    const TAG: &str = "CREATE TABLE";
    if statement.partbound.is_some() {
        return partition::create(planner, statement);
    }
    refuse_clauses(planner, statement)?;
    let relation = required(statement.relation.as_ref())?;
    let schema = creation_schema(planner, relation)?;
    if statement.if_not_exists
        && let Some(planned) = there_already(planner, (schema, &relation.relname), TAG)
    {
        return Ok(planned);
    }
    let on_commit = temporary::on_commit(statement.oncommit(), schema)?;
    let mut draft = Draft::new(planner);
    let mut record = begin(&mut draft, (schema, &relation.relname), on_commit)?;
    let divided = statement.partspec.is_some();
    record.more.options = storage_options::of_new(&statement.options, divided)?;
    let mut constraints = Constraints::default();
    let mut likes = Vec::new();
    for node in &statement.table_elts {
        match inner(node) {
            Some(NodeEnum::ColumnDef(column)) => {
                add_column(&mut draft, &mut record, &mut constraints, column)?;
            }
            Some(NodeEnum::Constraint(constraint)) => constraints.add(None, constraint),
            Some(NodeEnum::TableLikeClause(clause)) => {
                likes.push(like::columns(&mut draft, &mut record, clause)?);
            }
            _ => return Err(SqlError::unsupported("this part of CREATE TABLE")),
        }
    }
    for node in statement.constraints.iter().chain(&statement.nnconstraints) {
        if let Some(NodeEnum::Constraint(constraint)) = inner(node) {
            constraints.add(None, constraint);
        }
    }
    generated::check(planner, &mut record)?;
    constraint::apply(&mut draft, &mut record, &constraints)?;
    for like in &likes {
        like::rest(&mut draft, &mut record, like)?;
    }
    // Of no rows it is known that they are as they should be.
    record.more.unvalidated.clear();
    if let Some(spec) = &statement.partspec {
        let id = record.id;
        partition::divide(&mut draft, &mut record, id, spec)?;
    }
    draft.put_table(&record)?;
    draft.finish(TAG)
}

/// A table without columns, whose name is its own.
pub(super) fn begin(
    draft: &mut Draft,
    (schema, name): (&str, &str),
    on_commit: OnCommit,
) -> SqlResult<TableRecord> {
    draft.enter(schema)?;
    draft.take_name(schema, name)?;
    super::user_type::refuse_relation(draft.planner, schema, name)?;
    Ok(TableRecord {
        id: draft.table_id(),
        revision: 1,
        schema: schema.to_string(),
        name: name.to_string(),
        space: draft.space(),
        columns: Vec::new(),
        primary_key: None,
        indexes: Vec::new(),
        checks: Vec::new(),
        more: TableMore {
            on_commit,
            ..TableMore::default()
        },
    })
}

fn refuse_clauses(planner: &Planner, statement: &CreateStmt) -> SqlResult<()> {
    let relation = required(statement.relation.as_ref())?;
    let what = if !statement.inh_relations.is_empty() {
        "INHERITS"
    } else if statement.of_typename.is_some() {
        "CREATE TABLE OF"
    } else {
        return refuse_storage(
            planner,
            relation,
            &statement.tablespacename,
            &statement.access_method,
        );
    };
    Err(planner.unsupported(what, relation.location))
}

/// There is one way to store a table, and one place.
pub(super) fn refuse_storage(
    planner: &Planner,
    relation: &RangeVar,
    tablespace: &str,
    access_method: &str,
) -> SqlResult<()> {
    let what = if !matches!(tablespace, "" | "pg_default") {
        "TABLESPACE"
    } else if !matches!(access_method, "" | "heap") {
        "USING another access method"
    } else {
        return Ok(());
    };
    Err(planner.unsupported(what, relation.location))
}

/// What rows say of themselves in PostgreSQL without having such columns.
pub(super) const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"];

/// A column cannot be called like what every row says of itself.
///
/// # Errors
/// `42701`.
pub(super) fn refuse_system_name(name: &str) -> SqlResult<()> {
    if !SYSTEM_COLUMNS.contains(&name) {
        return Ok(());
    }
    let message = format!("column name \"{name}\" conflicts with a system column name");
    Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message))
}

/// The place of the next column.
///
/// # Errors
/// `54011` if there are too many.
pub(super) fn new_place(record: &TableRecord) -> SqlResult<usize> {
    if record.columns.len() < limits::TABLE_COLUMNS_MAX {
        return Ok(record.columns.len());
    }
    let message = format!(
        "tables can have at most {} columns",
        limits::TABLE_COLUMNS_MAX
    );
    Err(SqlError::new(SqlState::TOO_MANY_COLUMNS, message))
}

/// Adds a column with what belongs to it alone; keys and checks go to `constraints`.
pub(super) fn add_column(
    draft: &mut Draft,
    record: &mut TableRecord,
    constraints: &mut Constraints,
    column: &ColumnDef,
) -> SqlResult<()> {
    let planner = draft.planner;
    let name = column.colname.as_str();
    refuse_system_name(name)?;
    if record.column(name).is_some() {
        let message = format!("column \"{name}\" specified more than once");
        return Err(planner.error(SqlState::DUPLICATE_COLUMN, message, column.location));
    }
    let number = new_place(record)?;
    let type_name = required(column.type_name.as_ref())?;
    let serial = match types::plain_name(planner, type_name)
        .unwrap_or_default()
        .as_str()
    {
        "smallserial" | "serial2" => Some(SqlType::Int2),
        "serial" | "serial4" => Some(SqlType::Int4),
        "bigserial" | "serial8" => Some(SqlType::Int8),
        _ => None,
    };
    let (ty, modifier, domain) = match serial {
        Some(ty) => (ty, TypeMod::NONE, None),
        None if let Some(any) = any_of(type_name) => (SqlType::Any(any), TypeMod::NONE, None),
        None => types::resolve_any(planner, type_name)?,
    };
    super::user_type::may_use(planner, type_name)?;
    if matches!(
        ty,
        SqlType::Unknown | SqlType::Void | SqlType::Cstring | SqlType::Any(_)
    ) {
        let message = format!("column \"{name}\" has pseudo-type {ty}");
        return Err(planner.error(SqlState::INVALID_TABLE_DEFINITION, message, column.location));
    }
    let collation = collation(planner, column, ty)?;
    if let Some(domain) = domain {
        record.more.domains.push((number, domain.id));
    }
    let mut new = ColumnRecord {
        not_null: serial.is_some(),
        ..ColumnRecord::plain(name.to_string(), ty, modifier)
    };
    if serial.is_some() {
        new.default = Some(sequence::for_column(draft, record, number, name, ty, &[])?);
    }
    let mut said = Said {
        not_null: new.not_null.then_some(true),
        value: serial.is_some().then_some("default"),
    };
    for node in &column.constraints {
        let Some(NodeEnum::Constraint(constraint)) = inner(node) else {
            continue;
        };
        said.note(constraint.contype()).map_err(|what| {
            let of = format!("for column \"{name}\" of table \"{}\"", record.name);
            let message = format!("{what} {of}");
            planner.error(SqlState::SYNTAX_ERROR, message, constraint.location)
        })?;
        match constraint.contype() {
            ConstrType::ConstrNotnull => new.not_null = true,
            ConstrType::ConstrNull => {}
            ConstrType::ConstrDefault => {
                let node = required(constraint.raw_expr.as_deref())?;
                let of = (Some(&*record.schema), &new, record.domain(number));
                new.default = default_text(planner, node, of)?;
            }
            ConstrType::ConstrIdentity => {
                new.identity = Some(constraint.generated_when == "a");
                new.not_null = true;
                new.default = Some(sequence::for_column(
                    draft,
                    record,
                    number,
                    name,
                    ty,
                    &constraint.options,
                )?);
            }
            ConstrType::ConstrGenerated => {
                generated::add(planner, record, number, &new, constraint)?;
            }
            _ => constraints.add(Some(number), constraint),
        }
    }
    record.columns.push(new);
    record.set_collation(number, collation);
    Ok(())
}

/// The collation that a column's definition asks for, if it does.
///
/// # Errors
/// `42804` if its type has none, `0A000` for one that does not compare bytes.
pub(super) fn collation(
    planner: &Planner,
    column: &ColumnDef,
    ty: SqlType,
) -> SqlResult<Option<u32>> {
    let Some(clause) = column.coll_clause.as_deref() else {
        return Ok(None);
    };
    let name = names::strings(&clause.collname);
    check_collation(planner, &name, clause.location)?;
    if collation_of(ty) == 0 {
        let message = format!("collations are not supported by type {ty}");
        return Err(planner.error(SqlState::DATATYPE_MISMATCH, message, clause.location));
    }
    let mut known = COLLATIONS.iter();
    let found = known.find(|(_, known)| Some(known) == name.last());
    Ok(found.map(|(number, _)| *number))
}

/// What a column's constraints have said of it so far.
struct Said {
    not_null: Option<bool>,
    /// Where its value comes from if none is given.
    value: Option<&'static str>,
}

impl Said {
    /// One more.
    ///
    /// # Errors
    /// What is wrong, if it contradicts another.
    fn note(&mut self, kind: ConstrType) -> Result<(), String> {
        let not_null = match kind {
            ConstrType::ConstrNotnull | ConstrType::ConstrIdentity => Some(true),
            ConstrType::ConstrNull => Some(false),
            _ => self.not_null,
        };
        if self.not_null.is_some() && not_null != self.not_null {
            return Err("conflicting NULL/NOT NULL declarations".into());
        }
        self.not_null = not_null;
        let value = match kind {
            ConstrType::ConstrDefault => "default",
            ConstrType::ConstrIdentity => "identity",
            ConstrType::ConstrGenerated => "generation expression",
            _ => return Ok(()),
        };
        match self.value.replace(value) {
            None => Ok(()),
            Some("default") if value == "default" => {
                Err("multiple default values specified".into())
            }
            Some("identity") if value == "identity" => {
                Err("multiple identity specifications".into())
            }
            Some(before) if before == value => Err("multiple generation clauses specified".into()),
            Some(before) => {
                let all = ["default", "identity", "generation expression"];
                let both = all
                    .into_iter()
                    .filter(|what| [before, value].contains(what));
                let both: Vec<_> = both.collect();
                Err(format!("both {} specified", both.join(" and ")))
            }
        }
    }
}

/// The text under which a default is kept in a schema, checked; `None` for a NULL that goes without saying. Without a schema it is one that has been kept before.
///
/// # Errors
/// `42804` if it does not fit the column, `0A000` for a column's name in it. `domain`: the one that the column is of.
pub(super) fn default_text(
    planner: &Planner,
    node: &Node,
    (schema, column, domain): (Option<&str>, &ColumnRecord, Option<u32>),
) -> SqlResult<Option<String>> {
    let nothing = Scope::empty();
    let here = planner.at(names::location(node));
    let bound = Binder::new(planner, &nothing, "DEFAULT expressions")
        .bind(node)
        .map_err(|error| match error.state {
            SqlState::UNDEFINED_COLUMN | SqlState::UNDEFINED_TABLE
                if matches!(inner(node), Some(NodeEnum::ColumnRef(_))) =>
            {
                error
                    .state(SqlState::FEATURE_NOT_SUPPORTED)
                    .message("cannot use column reference in DEFAULT expression")
            }
            _ => error,
        })?;
    let bound_type = bound.ty();
    let called = bound.clone();
    let assigned = coerce::assign(planner, bound, column.ty, column.modifier, &column.name)
        .map_err(|error| {
            let message = format!(
                "column \"{}\" is of type {} but default expression is of type {bound_type}",
                column.name, column.ty
            );
            here(match error.state {
                SqlState::DATATYPE_MISMATCH => error.message(message),
                _ => error,
            })
        })?;
    Ok(match assigned {
        // As PostgreSQL, which keeps what brings the NULL to the length, or what stands in the way of the domain's own.
        Expr::Const(Value::Null, _) if column.modifier == TypeMod::NONE && domain.is_none() => None,
        // Its text depends on the session's zone and order of dates; it is read back in UTC, the year first.
        Expr::Const(value @ (Value::TimestampTz(_) | Value::Timestamp(_) | Value::Date(_)), ty) => {
            Some(format!(
                "'{}'",
                text_format::to_string(&value, ty, &FormatContext::default())
            ))
        }
        _ => Some(match schema {
            Some(schema) => moving::at_home(planner, schema, expression_text(node)?, &called)?,
            None => expression_text(node)?,
        }),
    })
}

pub(super) fn check_collation(planner: &Planner, name: &[&str], location: i32) -> SqlResult<()> {
    match name.last() {
        Some(&("C" | "POSIX" | "default" | "ucs_basic")) => Ok(()),
        _ => Err(planner.unsupported(format!("collation \"{}\"", name.join(".")), location)),
    }
}

/// Refuses what a constraint may say that Quintet does not do.
pub(super) fn refuse_constraint_clauses(
    planner: &Planner,
    constraint: &Constraint,
) -> SqlResult<()> {
    let late = constraint.deferrable || constraint.initdeferred;
    let may_be_late = matches!(
        constraint.contype(),
        ConstrType::ConstrForeign
            | ConstrType::ConstrUnique
            | ConstrType::ConstrPrimary
            | ConstrType::ConstrExclusion
    );
    let what = if late && !may_be_late {
        "DEFERRABLE"
    } else if !constraint.including.is_empty() && constraint.contype() == ConstrType::ConstrPrimary
    {
        "a primary key with INCLUDE"
    } else if !constraint.indexname.is_empty() {
        "USING INDEX"
    } else if constraint.without_overlaps {
        "WITHOUT OVERLAPS"
    } else if !constraint.indexspace.is_empty() && constraint.indexspace != "pg_default" {
        "USING INDEX TABLESPACE"
    } else if constraint.is_no_inherit {
        "NO INHERIT"
    } else {
        return Ok(());
    };
    Err(planner.unsupported(what, constraint.location))
}
