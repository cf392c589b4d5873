//! What queries of views call a column of a table or view, after it has got another name.
//!
//! Relies on: planning a query again, which says what each name in it stands for.  Promises: each name in a view's query stands afterwards
//! for what it stood for before, and the view's own columns keep their names; a query that cannot be written so is refused (0A000).
//! Does not: look into routines and policies.
//!
//! A query is written anew in one of two ways, the first that keeps its meaning:
//!
//! | way | `SELECT a FROM v JOIN w USING (c)`, when `v.a` becomes `b` |
//! |---|---|
//! | the names themselves | `SELECT v.b AS a FROM v JOIN w USING (c)` |
//! | where the relation is named | `SELECT a FROM v v(a, c) JOIN w USING (c)` |

use super::hidden::quoted_always;
use super::moving::{Meaning, meaning_of};
use crate::catalog::{Catalog, Relation};
use crate::draft::Draft;
use crate::names::{self, inner};
use crate::parse;
use crate::planner::{NamedColumn, PlanContext, Planner};
use crate::records::{MatviewRecord, ViewRecord};
use crate::routine::any_node;
use crate::row_security::unasked;
use crate::system::print::quoted;
use crate::view::{context_within, query_of};
use pg_query::protobuf::{ColumnRef, Node, ResTarget, SelectStmt, SortBy};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{SqlError, SqlResult, TableId};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A column that gets another name.
pub(super) struct RenamedColumn<'n> {
    pub relation: TableId,
    /// Its place among the relation's columns.
    pub number: usize,
    pub old: &'n str,
    pub new: &'n str,
    /// What the relation's columns were called before, in order.
    pub columns: Vec<String>,
}

/// What a query says: what it means, and what stands where names of columns are.
struct Read {
    meaning: Meaning,
    named: BTreeMap<i32, NamedColumn>,
}

/// What is written instead, by where it begins: up to where, and the text.
type Edits = BTreeMap<usize, (usize, String)>;

/// A query that is written anew.
struct Rewritten {
    text: String,
    /// Where names of columns stand now that stood for none before.
    added: BTreeSet<i32>,
}

/// Has the queries of all views that use the relation name its column anew. `draft` has the relation with the new name already.
///
/// # Errors
/// `0A000` for a view that cannot.
pub(super) fn follow(draft: &mut Draft, renamed: &RenamedColumn) -> SqlResult<()> {
    let before = draft.planner.catalog();
    let mut using: Vec<&ViewRecord> = before.views_using(renamed.relation, None).collect();
    for of_part in before.views_using(renamed.relation, Some(renamed.number)) {
        if using.iter().all(|view| view.id != of_part.id) {
            using.push(of_part);
        }
    }
    for view in using {
        // One that does not read any more means nothing.
        let Ok(meant) = read(draft.planner, before, view) else {
            continue;
        };
        let texts = [
            renamed.by_names(before, view, &meant)?,
            renamed.by_relation(draft.planner, view)?,
        ];
        let mut keeps = false;
        for Rewritten { text, added } in texts.into_iter().flatten() {
            let now = ViewRecord {
                text,
                ..view.clone()
            };
            put(draft, &now)?;
            let next = draft.catalog_to_be()?;
            if read(draft.planner, &next, &now).is_ok_and(|read| read.is_like(&meant, &added)) {
                keeps = true;
                break;
            }
        }
        if !keeps {
            return Err(SqlError::unsupported(format!(
                "renaming a column that view \"{}\" names in this way",
                view.name
            )));
        }
    }
    Ok(())
}

/// Writes the record of a view, materialized or not.
fn put(draft: &mut Draft, view: &ViewRecord) -> SqlResult<()> {
    match draft.planner.catalog().matview(view.id) {
        Some(own) => draft.put_matview(&MatviewRecord {
            view: view.clone(),
            ..MatviewRecord::clone(own)
        }),
        None => draft.put_view(view),
    }
}

fn read(planner: &Planner, catalog: &Catalog, view: &ViewRecord) -> SqlResult<Read> {
    let outer = PlanContext {
        catalog,
        ..unasked(planner.context)
    };
    let context = context_within(&outer, view);
    let inside = Planner::new(&context, "", &[]);
    inside.columns_named.replace(Some(BTreeMap::new()));
    let meaning = meaning_of(&inside, view)?;
    Ok(Read {
        meaning,
        named: inside.columns_named.take().unwrap_or_default(),
    })
}

impl Read {
    /// Whether names stand for the same, wherever they are, but those that are `added`.
    fn is_like(&self, other: &Read, added: &BTreeSet<i32>) -> bool {
        let own = self.named.iter().filter(|(at, _)| !added.contains(at));
        let own = own.map(|(_, it)| (&it.table, it.row, it.number));
        let others = other.named.values();
        self.meaning == other.meaning && own.eq(others.map(|it| (&it.table, it.row, it.number)))
    }
}

impl RenamedColumn<'_> {
    /// The text with the column's name where it stands; `None` where joins go by names.
    fn by_names(
        &self,
        before: &Catalog,
        view: &ViewRecord,
        meant: &Read,
    ) -> SqlResult<Option<Rewritten>> {
        let select = NodeEnum::SelectStmt(query_of(view)?);
        let words = parse::scan(&view.text)?;
        let edits = RefCell::new(Edits::new());
        let sorts = RefCell::new(BTreeSet::new());
        let goes_by_names = any_node(&select, &|node| match node {
            NodeRef::JoinExpr(join) => {
                let using = names::strings(&join.using_clause);
                join.is_natural || using.iter().any(|name| [self.old, self.new].contains(name))
            }
            NodeRef::ColumnRef(column) => {
                if let Some((from, to, table)) = self.place_of(before, column, &words, meant) {
                    let new = self.qualified(table);
                    let to_table = edits.borrow().get(&from).map(|(_, text)| text.clone());
                    edits
                        .borrow_mut()
                        .insert(from, (to, to_table.unwrap_or(new)));
                }
                false
            }
            NodeRef::SelectStmt(select) => {
                let mut edits = edits.borrow_mut();
                sorts
                    .borrow_mut()
                    .extend(self.of_select(before, select, &words, meant, &mut edits));
                false
            }
            _ => false,
        });
        let (edits, sorts) = (edits.take(), sorts.take());
        let place_after = |from: usize| {
            let before = edits.range(..from);
            let grown = before.map(|(from, (to, new))| new.len() as i64 - (to - from) as i64);
            i32::try_from(from as i64 + grown.sum::<i64>()).unwrap_or(-1)
        };
        Ok((!goes_by_names).then(|| Rewritten {
            text: edited(&view.text, &edits),
            added: sorts.into_iter().map(place_after).collect(),
        }))
    }

    /// What a SELECT calls its own columns stays; what it is sorted by may have been called so, and is the column itself then: where that stands.
    fn of_select(
        &self,
        before: &Catalog,
        select: &SelectStmt,
        words: &[(usize, usize)],
        meant: &Read,
        edits: &mut Edits,
    ) -> Vec<usize> {
        let mut called = None;
        for node in &select.target_list {
            let Some(NodeEnum::ResTarget(target)) = inner(node) else {
                continue;
            };
            let Some(column) = column_of(target) else {
                continue;
            };
            let Some((from, to, table)) = self.place_of(before, column, words, meant) else {
                continue;
            };
            let new = self.qualified(table);
            if target.name.is_empty() {
                called = Some(new.clone());
                edits.insert(from, (to, format!("{new} AS {}", quoted_always(self.old))));
            } else if target.name == self.old {
                called = Some(new);
            }
        }
        let mut sorts = Vec::new();
        let Some(called) = called else {
            return sorts;
        };
        for node in &select.sort_clause {
            let Some(NodeEnum::SortBy(sort)) = inner(node) else {
                continue;
            };
            let Some(column) = sorted_by(sort) else {
                continue;
            };
            let is_output = names::strings(&column.fields) == [self.old]
                && !meant.named.contains_key(&column.location);
            if let Some((from, to)) = words_of(column, words).filter(|_| is_output) {
                edits.insert(from, (to, called.clone()));
                sorts.push(from);
            }
        }
        sorts
    }

    /// Whether a relation is this one, or a part of it.
    fn is_of(&self, catalog: &Catalog, other: TableId) -> bool {
        other == self.relation || catalog.divisions().root(other) == self.relation
    }

    fn qualified(&self, table: &str) -> String {
        format!("{}.{}", quoted(table), quoted(self.new))
    }

    /// From where to where a name stands that is the column's, and what its table is called there.
    fn place_of<'r>(
        &self,
        catalog: &Catalog,
        column: &ColumnRef,
        words: &[(usize, usize)],
        meant: &'r Read,
    ) -> Option<(usize, usize, &'r str)> {
        let named = meant.named.get(&column.location)?;
        if !self.is_of(catalog, named.row?) || named.name != self.old {
            return None;
        }
        let (from, to) = words_of(column, words)?;
        Some((from, to, &named.table))
    }

    /// The text with the old names of the columns behind each name of the relation.
    fn by_relation(&self, planner: &Planner, view: &ViewRecord) -> SqlResult<Option<Rewritten>> {
        let select = NodeEnum::SelectStmt(query_of(view)?);
        let words = parse::scan(&view.text)?;
        let outer = unasked(planner.context);
        let context = context_within(&outer, view);
        let inside = Planner::new(&context, "", &[]);
        let queries = RefCell::new(BTreeSet::new());
        let found = RefCell::new(Vec::new());
        let columns: Vec<String> = self.columns.iter().map(|name| quoted(name)).collect();
        let columns = columns.join(", ");
        any_node(&select, &|node| {
            match node {
                NodeRef::CommonTableExpr(query) => {
                    queries.borrow_mut().insert(query.ctename.clone());
                }
                NodeRef::RangeVar(relation) => {
                    let schema = Some(&*relation.schemaname).filter(|name| !name.is_empty());
                    let there = inside.find_relation(schema, &relation.relname);
                    let is_it = match there {
                        Some(
                            Relation::Table(id) | Relation::View(id) | Relation::Partition(id),
                        ) => self.is_of(planner.catalog(), id),
                        _ => false,
                    };
                    let alias = relation.alias.as_ref();
                    if is_it && alias.is_none_or(|alias| alias.colnames.is_empty()) {
                        let before = [&relation.catalogname, &relation.schemaname];
                        let before = before.iter().filter(|name| !name.is_empty()).count();
                        let bare = schema.is_none().then(|| relation.relname.clone());
                        found
                            .borrow_mut()
                            .push((relation.location, before, alias.cloned(), bare));
                    }
                }
                _ => {}
            }
            false
        });
        let mut edits = Edits::new();
        for (location, before, alias, bare) in found.take() {
            if bare
                .as_ref()
                .is_some_and(|name| queries.borrow().contains(name))
            {
                continue;
            }
            let place = usize::try_from(location).unwrap_or_default();
            let Some(first) = words.iter().position(|(from, _)| *from == place) else {
                continue;
            };
            let own = first + 2 * before;
            let (at, name) = match alias {
                None => (own, Some(own)),
                // AS may stand before it, or not.
                Some(alias) => {
                    let mut next = own + 1..words.len().min(own + 3);
                    let is_it = |at: &usize| {
                        let (from, to) = words[*at];
                        let text = &view.text[from..to];
                        text == alias.aliasname || text == quoted_always(&alias.aliasname)
                    };
                    match next.find(is_it) {
                        Some(at) => (at, None),
                        None => continue,
                    }
                }
            };
            let name = name.and_then(|name| words.get(name));
            let name = name.map_or("", |(from, to)| &view.text[*from..*to]);
            if let Some((_, end)) = words.get(at) {
                edits.insert(*end, (*end, format!(" {name}({columns})")));
            }
        }
        Ok(Some(Rewritten {
            text: edited(&view.text, &edits),
            added: BTreeSet::new(),
        }))
    }
}

/// A text with what is written instead, from behind, so that places before stay what they are.
fn edited(text: &str, edits: &Edits) -> String {
    let mut text = text.to_string();
    for (from, (to, new)) in edits.iter().rev() {
        text.replace_range(*from..*to, new);
    }
    text
}

/// All words of a column's name.
fn words_of(column: &ColumnRef, words: &[(usize, usize)]) -> Option<(usize, usize)> {
    let place = usize::try_from(column.location).ok()?;
    let first = words.iter().position(|(from, _)| *from == place)?;
    let last = first + 2 * (column.fields.len().checked_sub(1)?);
    Some((place, words.get(last)?.1))
}

fn column_of(target: &ResTarget) -> Option<&ColumnRef> {
    as_column(target.val.as_deref()?)
}

fn sorted_by(sort: &SortBy) -> Option<&ColumnRef> {
    as_column(sort.node.as_deref()?)
}

fn as_column(node: &Node) -> Option<&ColumnRef> {
    match inner(node)? {
        NodeEnum::ColumnRef(column) => Some(column),
        _ => None,
    }
}
