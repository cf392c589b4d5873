//! Constraints: primary keys, UNIQUE, CHECK; foreign keys go on to `foreign_key`, EXCLUDE to `exclusion`.
//!
//! Relies on: a table's record whose columns are complete.  Promises: PostgreSQL's names and
//! order; columns of a primary key become NOT NULL.  Does not: primary keys that are looked at when the
//! transaction commits (0A000).

use super::exclusion;
use super::foreign_key;
use super::index::no_class;
use super::moving::at_home;
use super::table::refuse_constraint_clauses;
use super::using_index;
use super::words;
use crate::coerce;
use crate::comparable::has_order;
use crate::draft::{Draft, name_of};
use crate::expr::Binder;
use crate::names::{self, required};
use crate::parse::expression_text;
use crate::planner::Planner;
use crate::records::{CheckRecord, IndexRecord, KeyRecord, ShownRecord, TableRecord};
use crate::scope::{Scope, ScopeColumn, ScopeTable};
use crate::system::primary_key_oid;
use pg_query::protobuf::{ConstrType, Constraint};
use quintet_base::{ConstraintId, IndexId, SpaceId, SqlError, SqlResult, SqlState};
use quintet_ir::Expr;

/// Constraints met, each with the column it was written at.
#[derive(Default)]
pub(super) struct Constraints {
    list: Vec<(Option<usize>, Constraint)>,
}

impl Constraints {
    pub fn add(&mut self, column: Option<usize>, constraint: &Constraint) {
        use ConstrType::{ConstrAttrDeferrable, ConstrAttrDeferred};
        use ConstrType::{ConstrForeign, ConstrPrimary, ConstrUnique};
        // Behind a column's constraint, these say more about it.
        if let Some((Some(before), last)) = self.list.last_mut()
            && Some(*before) == column
            && matches!(last.contype(), ConstrForeign | ConstrPrimary | ConstrUnique)
        {
            let kind = constraint.contype();
            if matches!(kind, ConstrAttrDeferrable | ConstrAttrDeferred) {
                last.deferrable = true;
                last.initdeferred |= kind == ConstrAttrDeferred;
                return;
            }
        }
        self.list.push((column, constraint.clone()));
    }

    /// The one with this name is looked at after all, as any other that is added. False if there is none.
    pub fn validate(&mut self, name: &str) -> bool {
        let mut all = self.list.iter_mut().map(|(_, constraint)| constraint);
        let found = all.find(|constraint| constraint.conname == name);
        found.map(|found| found.skip_validation = false).is_some()
    }
}

/// What adding constraints changed, for a table that has rows.
#[derive(Default)]
pub(super) struct Added {
    pub primary_key: bool,
    /// Numbers of new indexes.
    pub indexes: Vec<usize>,
    /// Numbers of new checks.
    pub checks: Vec<usize>,
    /// Columns that became NOT NULL.
    pub not_null: Vec<usize>,
    /// New foreign keys whose rows are to be looked at.
    pub foreign_keys: Vec<ConstraintId>,
    /// Where indexes were that have become a constraint's and are kept elsewhere.
    pub dropped: Vec<SpaceId>,
}

/// Puts the constraints into the record: the primary key first, then keys, then checks.
pub(super) fn apply(
    draft: &mut Draft,
    record: &mut TableRecord,
    constraints: &Constraints,
) -> SqlResult<Added> {
    let mut added = Added::default();
    // Those that have an index go first: their places are noted when no index goes any more.
    let with_index = (constraints.list.iter()).filter(|(_, other)| !other.indexname.is_empty());
    let with_index: Vec<&Constraint> = with_index.map(|(_, constraint)| constraint).collect();
    for primary in [true, false] {
        for constraint in &with_index {
            if (constraint.contype() == ConstrType::ConstrPrimary) != primary {
                continue;
            }
            if let Some(columns) = using_index::add(draft, record, constraint, &mut added)? {
                may_have_primary_key(draft.planner, record, constraint)?;
                primary_key(draft, record, columns, constraint, &mut added)?;
                added.primary_key = true;
            }
        }
    }
    for (column, constraint) in &constraints.list {
        if !constraint.indexname.is_empty() {
            continue;
        }
        refuse_constraint_clauses(draft.planner, constraint)?;
        match constraint.contype() {
            ConstrType::ConstrPrimary => {
                may_have_primary_key(draft.planner, record, constraint)?;
                let columns = columns(draft.planner, record, *column, constraint)?;
                primary_key(draft, record, columns, constraint, &mut added)?;
                added.primary_key = true;
            }
            ConstrType::ConstrNotnull => {
                for number in columns(draft.planner, record, *column, constraint)? {
                    set_not_null(record, number, &mut added);
                }
            }
            _ => {}
        }
    }
    for (column, constraint) in &constraints.list {
        if !constraint.indexname.is_empty() {
            continue;
        }
        let number = record.indexes.len();
        match constraint.contype() {
            ConstrType::ConstrUnique => unique(draft, record, *column, constraint)?,
            ConstrType::ConstrExclusion => exclusion::add(draft, record, constraint)?,
            _ => continue,
        }
        added.indexes.push(number);
    }
    for (_, constraint) in &constraints.list {
        match constraint.contype() {
            ConstrType::ConstrCheck => {
                let number = record.checks.len();
                check(draft, record, constraint)?;
                if constraint.skip_validation {
                    let name = record.checks[number].name.clone();
                    record.more.unvalidated.push(name);
                } else {
                    added.checks.push(number);
                }
            }
            ConstrType::ConstrForeign
            | ConstrType::ConstrPrimary
            | ConstrType::ConstrUnique
            | ConstrType::ConstrExclusion
            | ConstrType::ConstrNotnull
            | ConstrType::ConstrNull
            // The next three say what is so anyway.
            | ConstrType::ConstrAttrNotDeferrable
            | ConstrType::ConstrAttrImmediate
            | ConstrType::ConstrAttrEnforced => {}
            other => {
                let what = match other {
                    ConstrType::ConstrAttrNotEnforced => "NOT ENFORCED",
                    ConstrType::ConstrAttrDeferrable | ConstrType::ConstrAttrDeferred => {
                        let (state, place) = (SqlState::SYNTAX_ERROR, constraint.location);
                        let message = "misplaced DEFERRABLE clause";
                        return Err(draft.planner.error(state, message, place));
                    }
                    _ => "this kind of constraint",
                };
                return Err(draft.planner.unsupported(what, constraint.location));
            }
        }
    }
    for (column, constraint) in &constraints.list {
        if constraint.contype() == ConstrType::ConstrForeign {
            let id = foreign_key::add(draft, record, *column, constraint)?;
            if !constraint.skip_validation {
                added.foreign_keys.push(id);
            }
        }
    }
    Ok(added)
}

fn set_not_null(record: &mut TableRecord, number: usize, added: &mut Added) {
    let column = &mut record.columns[number];
    if !column.not_null {
        column.not_null = true;
        added.not_null.push(number);
    }
}

/// The columns a key names.
fn columns(
    planner: &Planner,
    record: &TableRecord,
    column: Option<usize>,
    constraint: &Constraint,
) -> SqlResult<Vec<usize>> {
    if constraint.keys.is_empty()
        && let Some(column) = column
    {
        return Ok(vec![column]);
    }
    let mut numbers = Vec::with_capacity(constraint.keys.len());
    for name in words(&constraint.keys) {
        let found = record.column(name.as_str());
        let number = found.ok_or_else(|| {
            let message = format!("column \"{name}\" named in key does not exist");
            planner.error(SqlState::UNDEFINED_COLUMN, message, constraint.location)
        })?;
        if numbers.contains(&number) {
            let what = match constraint.contype() {
                ConstrType::ConstrPrimary => "primary key",
                _ => "unique",
            };
            let message = format!("column \"{name}\" appears twice in {what} constraint");
            return Err(planner.error(SqlState::DUPLICATE_COLUMN, message, constraint.location));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

/// The columns that the rows of a constraint's index have along with its key.
pub(super) fn included(
    planner: &Planner,
    record: &TableRecord,
    constraint: &Constraint,
) -> SqlResult<Vec<usize>> {
    let number = |name: &str| {
        record.column(name).ok_or_else(|| {
            let message = format!("column \"{name}\" named in key does not exist");
            planner.error(SqlState::UNDEFINED_COLUMN, message, constraint.location)
        })
    };
    let names = words(&constraint.including);
    names.iter().map(|name| number(name.as_str())).collect()
}

/// Why a table is not given another primary key.
pub(super) fn second_primary_key(record: &TableRecord) -> SqlError {
    let message = format!(
        "multiple primary keys for table \"{}\" are not allowed",
        record.name
    );
    SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message)
}

fn may_have_primary_key(
    planner: &Planner,
    record: &TableRecord,
    constraint: &Constraint,
) -> SqlResult<()> {
    match record.primary_key {
        Some(_) => Err(planner.at(constraint.location)(second_primary_key(record))),
        None => Ok(()),
    }
}

fn primary_key(
    draft: &mut Draft,
    record: &mut TableRecord,
    columns: Vec<usize>,
    constraint: &Constraint,
    added: &mut Added,
) -> SqlResult<()> {
    for &number in &columns {
        refuse_key_type(draft.planner, record, number, constraint.location)?;
        set_not_null(record, number, added);
    }
    let name = match constraint.conname.as_str() {
        "" if !constraint.indexname.is_empty() => {
            draft.take_name(&record.schema, &constraint.indexname)?;
            constraint.indexname.clone()
        }
        "" => draft.make_name(&record.schema, &record.name, &[], "pkey"),
        name => {
            draft.take_name(&record.schema, name)?;
            name.to_string()
        }
    };
    let own = IndexId(primary_key_oid(record.id));
    record.more.late.retain(|(other, _)| *other != own);
    if constraint.initdeferred {
        let what = "a primary key that is INITIALLY DEFERRED";
        return Err(draft.planner.unsupported(what, constraint.location));
    }
    if constraint.deferrable {
        record.more.late.push((own, false));
    }
    record.primary_key = Some(KeyRecord { name, columns });
    Ok(())
}

/// Arrays have no place in keys, nor has what has no order.
pub(super) fn refuse_key_type(
    planner: &Planner,
    record: &TableRecord,
    number: usize,
    location: i32,
) -> SqlResult<()> {
    let ty = record.columns[number].ty;
    match ty.element() {
        Some(_) => Err(planner.unsupported(format!("type {ty} in a key"), location)),
        None if !has_order(ty) => Err(no_class("btree", ty)),
        None => Ok(()),
    }
}

fn unique(
    draft: &mut Draft,
    record: &mut TableRecord,
    column: Option<usize>,
    constraint: &Constraint,
) -> SqlResult<()> {
    let columns = columns(draft.planner, record, column, constraint)?;
    for &number in &columns {
        refuse_key_type(draft.planner, record, number, constraint.location)?;
    }
    let included = included(draft.planner, record, constraint)?;
    let name = match constraint.conname.as_str() {
        "" => {
            let names: Vec<&str> = columns
                .iter()
                .chain(&included)
                .map(|&c| record.columns[c].name.as_str())
                .collect();
            draft.make_name(&record.schema, &record.name, &names, "key")
        }
        name => {
            draft.take_name(&record.schema, name)?;
            name.to_string()
        }
    };
    let id = IndexId(draft.id());
    let is_late = constraint.deferrable || constraint.initdeferred;
    if constraint.nulls_not_distinct && is_late {
        return Err(SqlError::unsupported(
            "UNIQUE NULLS NOT DISTINCT that is DEFERRABLE",
        ));
    }
    if constraint.nulls_not_distinct {
        record.more.nulls_equal.push(id);
    }
    if is_late {
        record.more.late.push((id, constraint.initdeferred));
    }
    if !included.is_empty() {
        let shown = ShownRecord {
            included,
            ..ShownRecord::default()
        };
        record.more.shown.push((id, shown));
    }
    record.indexes.push(IndexRecord {
        id,
        name,
        space: draft.space(),
        columns,
        unique: true,
        constraint: true,
    });
    Ok(())
}

/// The columns of a record in sight of an expression.
pub(super) fn scope_of(record: &TableRecord) -> Scope {
    let mut scope = Scope::empty();
    let columns = record
        .columns
        .iter()
        .enumerate()
        .filter(|(number, column)| !column.dropped && !record.is_hidden(*number));
    scope.add(ScopeTable {
        is_optional: false,
        name: record.name.clone(),
        schema: Some(record.schema.clone()),
        columns: columns
            .map(|(number, column)| ScopeColumn {
                name: column.name.clone(),
                expr: Expr::Column(number, column.ty),
                modifier: column.modifier,
                origin: None,
            })
            .collect(),
        table_oid: None,
        row: None,
    });
    scope
}

fn check(draft: &Draft, record: &mut TableRecord, constraint: &Constraint) -> SqlResult<()> {
    let planner = draft.planner;
    let node = required(constraint.raw_expr.as_deref())?;
    let scope = scope_of(record);
    let bound = Binder::new(planner, &scope, "check constraints").bind(node)?;
    let bound =
        coerce::boolean(planner, bound, "CHECK").map_err(planner.at(names::location(node)))?;
    let mut used = Vec::new();
    bound.collect_columns(&mut used);
    used.sort_unstable();
    used.dedup();
    let is_taken = |record: &TableRecord, name: &str| draft.has_constraint(record, name);
    let name = if constraint.conname.is_empty() {
        let column = match used[..] {
            [column] => record.columns[column].name.as_str(),
            _ => "",
        };
        name_of(&record.name, column, "check", |name| is_taken(record, name))
    } else {
        if is_taken(record, &constraint.conname) {
            let message = format!(
                "constraint \"{}\" for relation \"{}\" already exists",
                constraint.conname, record.name
            );
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
        }
        constraint.conname.clone()
    };
    let text = at_home(planner, &record.schema, expression_text(node)?, &bound)?;
    record.checks.push(CheckRecord { name, text });
    Ok(())
}
