//! Methods of indexes: what each of them cannot do.
//!
//! Relies on: the operator classes that there are (`system`).  Promises: what is refused is refused in PostgreSQL's words where it refuses
//! the same, so that what is shown can be made there; a column of an inverted index has a class for its type.  Does not:
//! tell the others from an ordered index in anything else.

use crate::comparable::{has_equality, has_order};
use crate::names::inner;
use crate::planner::Planner;
use crate::records::TableRecord;
use crate::system::{has_class, is_ordered};
use pg_query::NodeEnum;
use pg_query::protobuf::{IndexElem, IndexStmt, SortByDir, SortByNulls};
use quintet_base::types::TypeFamily;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::Elements;

/// The extension that brings classes of gist for types that only have an order.
const OF_ORDERED_TYPES: &str = "btree_gist";
/// The same of gin.
pub(in crate::ddl) const OF_WHOLE_VALUES: &str = "btree_gin";

/// A class that PostgreSQL has trees for. The questions that it answers are answered by entries here, but for the order of distances.
const TRIGRAMS_IN_TREES: &str = "gist_trgm_ops";

/// True for a method, with these classes of operators, whose indexes have an entry for each element of a row.
pub(in crate::ddl) fn is_inverted(
    method: &str,
    mut classes: impl Iterator<Item = impl AsRef<str>>,
) -> bool {
    method == "gin" || classes.any(|class| class.as_ref() == TRIGRAMS_IN_TREES)
}

/// Refuses a method that there is not, and what there is not of one.
///
/// # Errors
/// `0A000`, and `42704` for one that there is not.
pub(super) fn refuse(statement: &IndexStmt) -> SqlResult<()> {
    let method = &*statement.access_method;
    match method {
        "" | "btree" => return Ok(()),
        "hash" | "brin" | "gin" | "gist" | "spgist" => {}
        _ => {
            let message = format!("access method \"{method}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
        }
    }
    let any = |is: fn(&IndexElem) -> bool| {
        let mut elements = statement.index_params.iter();
        elements.any(|node| matches!(inner(node), Some(NodeEnum::IndexElem(one)) if is(one)))
    };
    let what = if statement.unique {
        "unique indexes"
    } else if !statement.index_including_params.is_empty() && !method.ends_with("gist") {
        "included columns"
    } else if matches!(method, "hash" | "spgist") && statement.index_params.len() > 1 {
        "multicolumn indexes"
    } else if any(|one| one.ordering() != SortByDir::SortbyDefault) {
        "ASC/DESC options"
    } else if any(|one| one.nulls_ordering() != SortByNulls::SortbyNullsDefault) {
        "NULLS FIRST/LAST options"
    } else {
        return Ok(());
    };
    Err(SqlError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!("access method \"{method}\" does not support {what}"),
    ))
}

/// Refuses columns of inverted indexes whose type has no elements, or none that can be told apart.
///
/// # Errors
/// `42704`, `42804`, and `0A000` for elements without an order.
pub(in crate::ddl) fn check_inverted(planner: &Planner, record: &TableRecord) -> SqlResult<()> {
    for index in record
        .indexes
        .iter()
        .filter(|index| record.is_inverted(index.id))
    {
        let asked = &index.columns[usize::from(record.predicate(index.id).is_some())..];
        for (elements, &column) in record.inverted(index).into_iter().zip(asked) {
            let ty = record.columns[column].ty;
            check_type(elements, ty)?;
            if elements == Elements::Whole {
                must_have_class(planner, "gin", ty)?;
            }
        }
    }
    Ok(())
}

fn check_type(elements: Elements, ty: SqlType) -> SqlResult<()> {
    if elements == Elements::PathsOfJson && !elements.fit(ty) {
        // The class was named, and the column is of another type since.
        let message = format!("operator class \"jsonb_path_ops\" does not accept data type {ty}");
        return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
    }
    if elements == Elements::Trigrams {
        let message = format!("operator class \"gin_trgm_ops\" does not accept data type {ty}");
        return match elements.fit(ty) {
            true => Ok(()),
            false => Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message)),
        };
    }
    // Whether its extension was made is asked of the catalogue ([`must_have_class`]).
    if elements == Elements::Whole && elements.fit(ty) && is_ordered(ty) {
        return Ok(());
    }
    if !has_class("gin", ty) {
        return Err(no_class("gin", ty));
    }
    match ty.element().filter(|element| !is_ordered(*element)) {
        Some(element) => Err(SqlError::unsupported(format!(
            "an index over elements of type {element}"
        ))),
        None => Ok(()),
    }
}

/// What a method can do nothing with is refused in PostgreSQL's words.
///
/// # Errors
/// `42704`: PostgreSQL has no hash of bits and money, no summary of multiranges and money, and trees of most types only by an extension.
pub(in crate::ddl) fn must_have_class(
    planner: &Planner,
    method: &str,
    ty: SqlType,
) -> SqlResult<()> {
    let has = |name: &str| {
        let mut made = planner.catalog().extensions();
        made.any(|(_, extension)| extension.name == name)
    };
    let has_extension = || has(OF_ORDERED_TYPES);
    let there = match (method, ty.family()) {
        ("" | "btree", _) => has_order(ty),
        ("hash", _) if !has_equality(ty) => false,
        ("hash", TypeFamily::Bits) | ("brin", TypeFamily::Multirange) => false,
        ("hash" | "brin", TypeFamily::Money) => false,
        ("hash" | "brin", TypeFamily::Search) => false,
        ("gist", TypeFamily::Search) => {
            let error = SqlError::unsupported(format!("an index of method gist over {ty}"));
            return Err(error.hint("An index of method gin answers the same questions."));
        }
        ("gist" | "spgist" | "brin", TypeFamily::Geometry) if has_tree(method, ty) => {
            let what = format!("an index of method {method} over {ty}");
            return Err(SqlError::unsupported(what));
        }
        ("brin", TypeFamily::Geometry) => false,
        ("gist", TypeFamily::Range | TypeFamily::Multirange) => true,
        ("gist", _) => is_ordered(ty) && has_extension(),
        ("spgist", _) => has_class(method, ty),
        ("gin", _) => has_class(method, ty) || (is_ordered(ty) && has(OF_WHOLE_VALUES)),
        _ => true,
    };
    match there {
        true => Ok(()),
        false if method.is_empty() => Err(no_class("btree", ty)),
        false => Err(no_class(method, ty)),
    }
}

/// Whether PostgreSQL has an index of this method over figures of a type.
fn has_tree(method: &str, ty: SqlType) -> bool {
    match ty {
        SqlType::Box => true,
        SqlType::Point | SqlType::Polygon => method != "brin",
        SqlType::Circle => method == "gist",
        _ => false,
    }
}

pub(in crate::ddl) fn no_class(method: &str, ty: SqlType) -> SqlError {
    let message =
        format!("data type {ty} has no default operator class for access method \"{method}\"");
    SqlError::new(SqlState::UNDEFINED_OBJECT, message).hint(
        "You must specify an operator class for the index or define a default operator class for the data type.",
    )
}
