//! Hidden columns: what an index over an expression, and a partial one, are over.
//!
//! Relies on: generated columns (`crate::generated`): statements compute them where they write rows, engines see values.
//! Promises: each is TRUE to its text for every row; none outlives the last index over it; indexes over the same expression share
//! one.  Does not: fill them: rows that were written before compute them where they are read (`direct`); choose a path by them
//! (`access`, `condition`).
//!
//! | asked for | hidden column | index over |
//! |---|---|---|
//! | `(lower(name), id)` | `lower(name)` | that, `id` |
//! | `(a) WHERE NOT done` | `CASE WHEN NOT done THEN true END` | that, `a` |
//!
//! A row that is not in a partial index, whose first column is NULL then, has no entry.

use super::generated::{is_immutable, made_of};
use super::moving::at_home;
use super::table::new_place;
use crate::coerce;
use crate::expr::Binder;
use crate::names;
use crate::parse::{expression_text, parse_expression};
use crate::planner::Planner;
use crate::records::{ColumnRecord, IndexRecord, TableRecord};
use crate::rewrite::same;
use crate::scope::Scope;
use crate::stored;
use crate::system::print::index_key;
use pg_query::protobuf::Node;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod};
use quintet_ir::Expr;
use quintet_ir::schema::TableRef;

/// The number of the hidden column for an index's expression; a column in parentheses is itself.
///
/// # Errors
/// `42P17` for one that is not immutable, and what binding says.
pub(super) fn expression(
    planner: &Planner,
    scope: &Scope,
    record: &mut TableRecord,
    node: &Node,
) -> SqlResult<usize> {
    let bound = Binder::new(planner, scope, "index expressions").bind(node)?;
    let bound = coerce::settle(planner, bound)?;
    if let Expr::Column(number, _) = bound {
        return Ok(number);
    }
    must_be_immutable(&bound, "expression")?;
    let text = at_home(planner, &record.schema, expression_text(node)?, &bound)?;
    let ty = bound.ty();
    let name = index_key(planner, scope, &text, true);
    // What is written is what is read back, by itself and with its own type.
    column(planner, record, text, name, ty)
}

/// What is wrong with an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Problem {
    /// It names no column.
    Constant,
    /// It is not immutable.
    Changing,
}

/// The number of the hidden column for an expression of a partition key, and the columns that it is made of.
///
/// # Errors
/// What `wrong` says of a problem, and what binding says.
pub(super) fn key(
    planner: &Planner,
    scope: &Scope,
    record: &mut TableRecord,
    node: &Node,
    wrong: impl Fn(Problem) -> SqlError,
) -> SqlResult<(usize, Vec<usize>)> {
    let bound = Binder::new(planner, scope, "partition key expressions").bind(node)?;
    let bound = coerce::settle(planner, bound)?;
    if let Expr::Column(number, _) = bound {
        return Ok((number, Vec::new()));
    }
    if !is_immutable(&bound) {
        return Err(wrong(Problem::Changing));
    }
    let mut used = Vec::new();
    bound.collect_columns(&mut used);
    if used.is_empty() {
        return Err(wrong(Problem::Constant));
    }
    let text = at_home(planner, &record.schema, expression_text(node)?, &bound)?;
    let ty = bound.ty();
    let name = index_key(planner, scope, &text, true);
    Ok((column(planner, record, text, name, ty)?, used))
}

/// The hidden column that another table's record has with this text, for a record whose columns have the same names.
pub(super) fn adopt(
    planner: &Planner,
    record: &mut TableRecord,
    other: &TableRecord,
    number: usize,
) -> SqlResult<usize> {
    let text = other.generated(number).unwrap_or_default().to_string();
    let own = &other.columns[number];
    column(planner, record, text, own.name.clone(), own.ty)
}

/// The number of the hidden column for an index's predicate, and the predicate's text.
///
/// # Errors
/// As for expressions.
pub(super) fn predicate(
    planner: &Planner,
    scope: &Scope,
    record: &mut TableRecord,
    node: &Node,
) -> SqlResult<(usize, String)> {
    let bound = Binder::new(planner, scope, "index predicates").bind(node)?;
    let bound =
        coerce::boolean(planner, bound, "WHERE").map_err(planner.at(names::location(node)))?;
    must_be_immutable(&bound, "predicate")?;
    let text = at_home(planner, &record.schema, expression_text(node)?, &bound)?;
    let truth = format!("CASE WHEN {text} THEN true END");
    let number = column(planner, record, truth.clone(), truth, SqlType::Bool)?;
    Ok((number, text))
}

/// Whether hidden columns that `before` lacks call functions. What they are is not computed as rows are read, so every row is written anew.
///
/// # Errors
/// What binding says.
pub(super) fn calls_anew(
    planner: &Planner,
    before: &TableRef,
    record: &TableRecord,
) -> SqlResult<bool> {
    let scope = super::constraint::scope_of(record);
    let new = |(number, _): &&(usize, String)| {
        *number >= before.columns.len() && record.is_hidden(*number)
    };
    for (number, text) in record.more.generated.iter().filter(new) {
        if stored::generated(planner, &scope, text, &record.columns[*number])?.calls_routine() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn must_be_immutable(expr: &Expr, what: &str) -> SqlResult<()> {
    // A part that is large and compared with several others is a query of its own (`once`), which no index can run.
    if expr.has_subquery() {
        let message = format!("index {what} too complex");
        return Err(SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, message));
    }
    if is_immutable(expr) {
        return Ok(());
    }
    let message = format!("functions in index {what} must be marked IMMUTABLE");
    Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message))
}

/// The hidden column with this text: one that is there, or a new one.
fn column(
    planner: &Planner,
    record: &mut TableRecord,
    text: String,
    name: String,
    ty: SqlType,
) -> SqlResult<usize> {
    let there = record.more.generated.iter();
    let same = there.filter(|(_, other)| *other == text);
    if let Some((number, _)) = same.into_iter().find(|(n, _)| record.is_hidden(*n)) {
        return Ok(*number);
    }
    let new = ColumnRecord::plain(name, ty, TypeMod::NONE);
    let number = new_place(record)?;
    record.columns.push(new);
    record.more.hidden.columns.push(number);
    let scope = super::constraint::scope_of(record);
    stored::generated(planner, &scope, &text, &record.columns[number])?;
    record.more.generated.push((number, text));
    Ok(number)
}

/// A hidden column whose expression names columns that have other types now: of which type it is itself.
///
/// # Errors
/// What binding says; `42P17` if it is not immutable any more.
pub(super) fn read_anew(
    planner: &Planner,
    before: &TableRef,
    record: &mut TableRecord,
    number: usize,
) -> SqlResult<()> {
    let mut text = record.generated(number).unwrap_or_default().to_string();
    let is_first = |index: &&IndexRecord| index.columns.first() == Some(&number);
    let mut partial = record.more.hidden.predicates.iter();
    let is_predicate = partial.any(|(id, _)| {
        let index = record.indexes.iter().find(|index| index.id == *id);
        index.as_ref().is_some_and(is_first)
    });
    if !is_predicate {
        // As PostgreSQL keeps it, with the conversions that it had until now.
        let printed = index_key(planner, &Scope::of_table(before), &text, false);
        text = planner.with_type_names(printed);
    }
    let node = parse_expression(&text)?;
    let scope = super::constraint::scope_of(record);
    let bound = Binder::new(planner, &scope, "index expressions").bind(&node)?;
    let bound = coerce::settle(planner, bound)?;
    must_be_immutable(&bound, "expression")?;
    record.columns[number].ty = bound.ty();
    if !is_predicate {
        let text = at_home(planner, &record.schema, text, &bound)?;
        for (_, kept) in (record.more.generated.iter_mut()).filter(|(of, _)| *of == number) {
            kept.clone_from(&text);
        }
    }
    Ok(())
}

/// Forgets what a record says of an index that is gone.
pub(super) fn forget(planner: &Planner, record: &mut TableRecord, index: &IndexRecord) {
    record.more.directions.retain(|(id, _)| *id != index.id);
    record.more.shown.retain(|(id, _)| *id != index.id);
    record.more.nulls_equal.retain(|id| *id != index.id);
    record.more.late.retain(|(id, _)| *id != index.id);
    record.more.excluded.retain(|(id, _)| *id != index.id);
    record
        .more
        .hidden
        .predicates
        .retain(|(id, _)| *id != index.id);
    let table = planner.catalog().table_by_id(record.id);
    let divided = table.and_then(|table| table.partitions.as_ref());
    let keys = divided.map_or(Vec::new(), |partitions| partitions.all.key_columns());
    let needed = |number: usize| {
        keys.contains(&number) || (record.indexes.iter()).any(|i| i.columns.contains(&number))
    };
    let gone: Vec<usize> = (record.more.hidden.columns.iter().copied())
        .filter(|number| !needed(*number))
        .collect();
    for &number in &gone {
        record.columns[number].dropped = true;
    }
    record
        .more
        .generated
        .retain(|(number, _)| !gone.contains(number));
}

/// Has hidden columns name a column as the record has it now. `table`: as it was.
///
/// # Errors
/// `0A000` where that is not the same expression then.
pub(super) fn rename(
    planner: &Planner,
    table: &TableRef,
    record: &mut TableRecord,
    number: usize,
) -> SqlResult<()> {
    let old = &table.columns[number].name;
    let new = record.columns[number].name.clone();
    let scope = super::constraint::scope_of(record);
    let truths: Vec<usize> = (table.indexes.iter())
        .filter(|index| index.partial)
        .map(|index| index.columns[0])
        .collect();
    for made in among(record, &made_of(table, number)) {
        let text = with_name(record.generated(made).unwrap_or_default(), old, &new);
        let bound = stored::generated(planner, &scope, &text, &record.columns[made]);
        let before = table.columns[made].generated.as_ref();
        if !(bound.ok().zip(before)).is_some_and(|(bound, before)| same(&bound, before)) {
            return Err(SqlError::unsupported(format!(
                "renaming a column that index expression {} names in this way",
                record.columns[made].name
            )));
        }
        record.columns[made].name = match truths.contains(&made) {
            true => text.clone(),
            false => index_key(planner, &scope, &text, true),
        };
        let generated = record.more.generated.iter_mut();
        let mut its_own = generated.filter(|(other, _)| *other == made);
        if let Some((_, source)) = its_own.next() {
            *source = text;
        }
        let predicates = record.more.hidden.predicates.iter_mut();
        for (id, predicate) in predicates {
            let mut indexes = table.indexes.iter();
            if indexes.any(|index| index.id == *id && index.columns[0] == made) {
                *predicate = with_name(predicate, old, &new);
            }
        }
    }
    Ok(())
}

/// A stored text with another name for a column. What it means must be looked at: a type, too, may have the name.
pub(super) fn with_name(text: &str, old: &str, new: &str) -> String {
    replaced(text, old, new, |behind| !behind.starts_with('('))
}

/// A stored text with another name for the table whose columns it names.
pub(super) fn with_table(text: &str, old: &str, new: &str) -> String {
    replaced(text, old, new, |behind| behind.starts_with('.'))
}

/// A text with another name where the old one stands in front of what is `followed` so.
fn replaced(text: &str, old: &str, new: &str, followed: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
        let end = match first {
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |at| at + 2),
            first if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            first => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(end);
        let named = match first {
            '"' => token == quoted_always(old),
            first if is_word(first) => token == old,
            _ => false,
        };
        match named && followed(behind) {
            true => out.push_str(&quoted_always(new)),
            false => out.push_str(token),
        }
        rest = behind;
    }
    out
}

/// A name in quotes, also where it could do without.
pub(super) fn quoted_always(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The hidden columns among these.
pub(super) fn among(record: &TableRecord, columns: &[usize]) -> Vec<usize> {
    let hidden = columns.iter().filter(|column| record.is_hidden(**column));
    hidden.copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_replaced_where_it_stands_alone() {
        for (text, renamed) in [
            ("lower(name) || 'name'", "lower(\"to\") || 'name'"),
            (
                "name(\"name\", names, t.name)",
                "name(\"to\", names, t.\"to\")",
            ),
            ("NOT name", "NOT \"to\""),
        ] {
            assert_eq!(with_name(text, "name", "to"), renamed);
        }
    }
}
