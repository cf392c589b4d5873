//! EXCLUDE: which rows may not be beside each other.
//!
//! Relies on: `hidden` for expressions and predicates.  Promises: what is refused is refused in PostgreSQL's words where it
//! refuses the same; types that it compares in such an index by an extension need that extension here, too.  Does not: other operators
//! than `=` and, of ranges and multiranges, `&&` (0A000).
//!
//! The index is an ordered one whatever was asked for, over the columns with `=` first; the method is kept and shown.

use super::constraint::{included, refuse_key_type, scope_of};
use super::hidden;
use super::index::{asked_class, must_have_class, no_class};
use crate::call::direction;
use crate::draft::Draft;
use crate::names::{self, inner, required};
use crate::output::figure_name;
use crate::records::{ExclusionRecord, IndexRecord, ShownRecord, TableRecord};
use crate::system::has_class;
use pg_query::NodeEnum;
use pg_query::protobuf::{Constraint, IndexElem, Node};
use quintet_base::types::TypeFamily;
use quintet_base::{IndexId, SqlError, SqlResult, SqlState, SqlType};

/// How two rows may not be to each other in a column.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Equal,
    Overlapping,
}

/// Adds the constraint's index to the record.
///
/// # Errors
/// `0A000`, `42704`, `42809`, and what indexes over expressions refuse.
pub(super) fn add(
    draft: &mut Draft,
    record: &mut TableRecord,
    constraint: &Constraint,
) -> SqlResult<()> {
    let method = constraint.access_method.as_str();
    refuse_method(method)?;
    let mut columns = Vec::with_capacity(constraint.exclusions.len());
    let mut names = Vec::with_capacity(columns.capacity());
    let mut classes = Vec::new();
    for node in &constraint.exclusions {
        let (element, operator) = parts(node)?;
        let (column, name) = column(draft, record, element, constraint.location)?;
        let ty = record.columns[column].ty;
        let sign = sign(draft, method, &operator, ty)?;
        if let Some(name) = names::strings(&element.opclass).last()
            && let Some(class) = asked_class(draft.planner, method, name, ty)?
        {
            classes.push((columns.len(), class));
        }
        columns.push((column, sign));
        names.push(name);
    }
    if method == "hash" && columns.len() > 1 {
        let message = "access method \"hash\" does not support multicolumn indexes";
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let included = included(draft.planner, record, constraint)?;
    if method == "hash" && !included.is_empty() {
        let message = "access method \"hash\" does not support included columns";
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let name = match constraint.conname.as_str() {
        "" => {
            let along = included.iter().map(|&column| &record.columns[column].name);
            let names: Vec<&str> = names.iter().chain(along).map(String::as_str).collect();
            draft.make_name(&record.schema, &record.name, &names, "excl")
        }
        name => {
            draft.take_name(&record.schema, name)?;
            name.to_string()
        }
    };
    let predicate = match constraint.where_clause.as_deref() {
        Some(node) => {
            let scope = scope_of(record);
            Some(hidden::predicate(draft.planner, &scope, record, node)?)
        }
        None => None,
    };
    let written = columns.iter().map(|(column, _)| *column).collect();
    // The sort is stable.
    columns.sort_by_key(|(_, sign)| *sign != Sign::Equal);
    let id = IndexId(draft.id());
    let mut keys: Vec<usize> = columns.iter().map(|(column, _)| *column).collect();
    if let Some((column, text)) = predicate {
        keys.insert(0, column);
        record.more.hidden.predicates.push((id, text));
    }
    if constraint.deferrable || constraint.initdeferred {
        record.more.late.push((id, constraint.initdeferred));
    }
    let shown = ShownRecord {
        method: Some(method.to_string()).filter(|method| !matches!(&**method, "" | "btree")),
        classes,
        included,
    };
    if shown != ShownRecord::default() {
        record.more.shown.push((id, shown));
    }
    let equal = columns.iter().filter(|(_, sign)| *sign == Sign::Equal);
    let equals = equal.count();
    let excluded = ExclusionRecord { equals, written };
    record.more.excluded.push((id, excluded));
    record.indexes.push(IndexRecord {
        id,
        name,
        space: draft.space(),
        columns: keys,
        unique: false,
        constraint: true,
    });
    Ok(())
}

fn refuse_method(method: &str) -> SqlResult<()> {
    match method {
        "" | "btree" | "hash" | "gist" | "spgist" => Ok(()),
        "gin" | "brin" => Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("access method \"{method}\" does not support exclusion constraints"),
        )),
        _ => Err(SqlError::new(
            SqlState::UNDEFINED_OBJECT,
            format!("access method \"{method}\" does not exist"),
        )),
    }
}

/// What an element is over, and its operator.
fn parts(node: &Node) -> SqlResult<(&IndexElem, String)> {
    let wrong = || SqlError::internal("an exclusion without an operator");
    let [element, operator] = names::list(node).ok_or_else(wrong)? else {
        return Err(wrong());
    };
    let Some(NodeEnum::IndexElem(element)) = inner(element) else {
        return Err(wrong());
    };
    let operator = names::strings(names::list(operator).ok_or_else(wrong)?);
    let operator = operator.last().ok_or_else(wrong)?;
    Ok((element, (*operator).to_string()))
}

/// The column that an element is over, hidden if it is an expression, and what it is called in names.
fn column(
    draft: &Draft,
    record: &mut TableRecord,
    element: &IndexElem,
    location: i32,
) -> SqlResult<(usize, String)> {
    let what = if !element.opclassopts.is_empty() {
        Some("an operator class with parameters in an exclusion constraint")
    } else if !element.collation.is_empty() {
        Some("a collation in an exclusion constraint")
    } else if direction(element.ordering(), element.nulls_ordering()) != (false, false) {
        Some("an order in an exclusion constraint")
    } else {
        None
    };
    if let Some(what) = what {
        return Err(draft.planner.unsupported(what, location));
    }
    let (column, name) = match element.expr.as_deref() {
        Some(node) => {
            let scope = scope_of(record);
            let node = required(Some(node))?;
            let column = hidden::expression(draft.planner, &scope, record, node)?;
            (column, figure_name(node).unwrap_or_else(|| "expr".into()))
        }
        None => {
            let found = record.column(element.name.as_str());
            let column = found.ok_or_else(|| {
                let message = format!("column \"{}\" named in key does not exist", element.name);
                (draft.planner).error(SqlState::UNDEFINED_COLUMN, message, location)
            })?;
            (column, element.name.clone())
        }
    };
    refuse_key_type(draft.planner, record, column, location)?;
    Ok((column, name))
}

/// What an operator is of a type, in an index of a method.
fn sign(draft: &Draft, method: &str, operator: &str, ty: SqlType) -> SqlResult<Sign> {
    let is_range = matches!(ty.family(), TypeFamily::Range | TypeFamily::Multirange);
    let by_order = matches!(method, "" | "btree" | "hash");
    if by_order && !has_class(method, ty) {
        return Err(no_class(method, ty));
    }
    must_have_class(draft.planner, method, ty)?;
    match operator {
        "=" => Ok(Sign::Equal),
        "&&" if is_range && !by_order => Ok(Sign::Overlapping),
        "&&" | "<>" if is_range => {
            let (any, family) = match ty.family() {
                TypeFamily::Range => ("anyrange", "range_ops"),
                _ => ("anymultirange", "multirange_ops"),
            };
            let message = format!(
                "operator {operator}({any},{any}) is not a member of operator family \"{family}\""
            );
            let detail = "The exclusion operator must be related to the index operator class for the constraint.";
            Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message).detail(detail))
        }
        _ => Err(SqlError::unsupported(format!(
            "operator {operator} of type {ty} in an exclusion constraint"
        ))),
    }
}

/// Refuses columns that were given a type whose values do not overlap.
///
/// # Errors
/// `42883`.
pub(super) fn check(record: &TableRecord) -> SqlResult<()> {
    for (id, exclusion) in &record.more.excluded {
        let Some(index) = record.indexes.iter().find(|index| index.id == *id) else {
            continue;
        };
        for column in exclusion.overlapping(index) {
            let ty = record.columns[*column].ty;
            if ty.range_kind().is_none() {
                let message = format!("operator does not exist: {ty} && {ty}");
                return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message));
            }
        }
    }
    Ok(())
}
