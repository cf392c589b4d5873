//! Names in one text: what each means by a search path, and what it has to be to mean that by another.
//!
//! Relies on: the parser's places of names (`names`); the catalogue.  Promises: a name that would be found elsewhere afterwards gets its
//! schema before it, others stay as they were written.  Does not: know where texts are kept (`moving`).

use super::Moves;
use super::names::{Class, Name, names_in};
use crate::catalog::{Catalog, Relation};
use crate::ddl::rename::has_word;
use crate::parse;
use crate::planner::Planner;
use crate::records::RoutineRecord;
use crate::temporary::is_temporary;
use pg_query::NodeEnum;
use quintet_base::{RoutineId, SqlError, SqlResult};
use quintet_ir::Expr;
use quintet_ir::expressions::callees;
use std::collections::{BTreeMap, BTreeSet};

/// Paths of one text: the schemas before, and afterwards.
pub(super) struct Paths {
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// Writes texts anew.
pub(super) struct Respelling<'m, 'c> {
    moves: &'m Moves,
    catalog: &'c Catalog,
    /// Schemas of the routines that an expression calls, by their names, where that is known: of a path's routines types say which is meant.
    called: BTreeMap<String, BTreeSet<String>>,
}

fn has(catalog: &Catalog, class: Class, schema: &str, name: &str) -> bool {
    match class {
        Class::Relation => catalog.relation(schema, name).is_some(),
        Class::Routine => !catalog.routines(schema, name).is_empty(),
        Class::Type => {
            let is_row = |relation| {
                matches!(
                    relation,
                    Relation::Table(_) | Relation::View(_) | Relation::Partition(_)
                )
            };
            // An array of it may be called by the catalogue's name.
            let element = name.strip_prefix('_');
            let mut names = [Some(name), element].into_iter().flatten();
            names.any(|name| catalog.type_named(schema, name).is_some())
                || catalog.relation(schema, name).is_some_and(is_row)
        }
    }
}

impl Respelling<'_, '_> {
    /// The same when all is done.
    fn will_have(&self, class: Class, schema: &str, name: &str) -> bool {
        let moves = self.moves;
        if let Some(called) = &moves.called
            && class == Class::Routine
            && schema == moves.from
        {
            let there = self.catalog.routines(schema, name).len();
            let goes = usize::from(moves.takes(class, name));
            return called == name || there > goes;
        }
        if schema == moves.to && moves.takes(class, name) {
            return !moves.everything
                || has(self.catalog, class, &moves.from, name)
                || has(self.catalog, class, schema, name);
        }
        let stays = class == Class::Routine
            && !moves.everything
            && self.catalog.routines(&moves.from, name).len() > 1;
        (schema != moves.from || !moves.takes(class, name) || stays)
            && has(self.catalog, class, schema, name)
    }

    /// What a name is to be instead if it means the routine that gets another, and the schema before that.
    fn new_name(&self, name: &Name, paths: &Paths) -> Option<(Option<String>, &str)> {
        let moves = self.moves;
        let called = moves.called.as_deref()?;
        if name.class != Class::Routine || !moves.takes(Class::Routine, &name.name) {
            return None;
        }
        if let Some(schema) = &name.schema {
            return (*schema == moves.from).then(|| (Some(schema.clone()), called));
        }
        let knows = |schema: &&String| has(self.catalog, Class::Routine, schema, &name.name);
        if paths.before.iter().find(knows)? != &moves.from {
            return None;
        }
        let mut after = paths.after.iter();
        let found = after.find(|schema| self.will_have(Class::Routine, schema, called));
        let schema = (found != Some(&moves.from)).then(|| moves.from.clone());
        Some((schema, called))
    }

    /// The schema that has to stand before a name; `None`: as it is.
    fn schema_for(&self, name: &Name, paths: &Paths) -> Option<String> {
        // What is built in is found before all schemas.
        if name.is_built_in() {
            return None;
        }
        let knows = |schema: &&String| has(self.catalog, name.class, schema, &name.name);
        let means = match &name.schema {
            Some(schema) => schema.clone(),
            None => match self.schema_of_called(name) {
                Some(schema) => schema.clone(),
                None => paths.before.iter().find(knows)?.clone(),
            },
        };
        // Of a session's own things others know nothing.
        if is_temporary(&means) {
            return None;
        }
        let moved = means == self.moves.from && self.moves.takes(name.class, &name.name);
        let should = match moved {
            true => self.moves.to.clone(),
            false => means.clone(),
        };
        match &name.schema {
            Some(_) => moved.then_some(should),
            None => {
                let is_there = |schema: &&String| self.will_have(name.class, schema, &name.name);
                let mut after = paths.after.iter().filter(is_there);
                let found = after.next();
                // By another path types might say otherwise.
                let mut is_unclear = || {
                    let before = paths.before.iter().filter(knows);
                    after.next().is_some() && !before.eq(paths.after.iter().filter(is_there))
                };
                let is_called = self.schema_of_called(name).is_some();
                (found != Some(&should) || is_called && is_unclear()).then_some(should)
            }
        }
    }

    /// Where the routine is that a name of an expression calls, if that is known.
    fn schema_of_called(&self, name: &Name) -> Option<&String> {
        let schemas = match name.class {
            Class::Routine => self.called.get(&name.name)?,
            Class::Relation | Class::Type => return None,
        };
        schemas.first()
    }

    /// Refuses a routine's name that may mean another than the one that moves: a text says which by types.
    ///
    /// # Errors
    /// `0A000`.
    fn refuse_unclear(&self, name: &Name) -> SqlResult<()> {
        let moves = self.moves;
        let what = match moves.called {
            Some(_) => "another name",
            None => "another schema",
        };
        let is_one_of_several = name.class == Class::Routine
            && !moves.everything
            && moves.takes(Class::Routine, &name.name)
            && [&moves.from, &moves.to].into_iter().any(|schema| {
                let there = self.catalog.routines(schema, &name.name).len();
                there > usize::from(*schema == moves.from)
            });
        match is_one_of_several {
            true => Err(SqlError::unsupported(format!(
                "{what} for one of several routines \"{}\" that definitions name",
                name.name
            ))),
            false => Ok(()),
        }
    }

    /// A statement's text with its names written anew; `None`: it stays as it is.
    pub fn statement(
        &self,
        text: &str,
        node: &NodeEnum,
        paths: &Paths,
    ) -> SqlResult<Option<String>> {
        self.spelled(text, names_in(node), paths)
    }

    /// The same with these of its names only.
    fn spelled(&self, text: &str, names: Vec<Name>, paths: &Paths) -> SqlResult<Option<String>> {
        let mut edits = BTreeMap::new();
        let words = parse::scan(text)?;
        for name in names {
            self.refuse_unclear(&name)?;
            if let Some((schema, called)) = self.new_name(&name, paths) {
                if let Some((from, to, new)) = name.with_name(&words, schema.as_deref(), called) {
                    edits.insert(from, (to, new));
                }
                continue;
            }
            let Some(schema) = self.schema_for(&name, paths) else {
                continue;
            };
            if let Some((from, to, new)) = name.with_schema(text, &words, &schema) {
                edits.insert(from, (to, new));
            }
        }
        if edits.is_empty() {
            return Ok(None);
        }
        let mut text = text.to_string();
        // From behind, so that places before stay what they are.
        for (from, (to, new)) in edits.into_iter().rev() {
            text.replace_range(from..to, &new);
        }
        Ok(Some(text))
    }

    /// The same of an expression.
    fn expression(&self, text: &str, paths: &Paths) -> SqlResult<Option<String>> {
        self.expression_with(text, paths, |_| true)
    }

    /// The same with those of its names that are asked for.
    fn expression_with(
        &self,
        text: &str,
        paths: &Paths,
        asked: impl Fn(&Name) -> bool,
    ) -> SqlResult<Option<String>> {
        const BEFORE: &str = "SELECT ";
        let whole = format!("{BEFORE}{text}");
        let Some(node) = node_of(&whole)? else {
            return Ok(None);
        };
        let names = names_in(&node).into_iter().filter(asked);
        let now = self.spelled(&whole, names.collect(), paths)?;
        Ok(now.map(|now| now[BEFORE.len()..].to_string()))
    }

    /// An expression, in its place.
    pub fn respell(&self, text: &mut String, paths: &Paths) -> SqlResult<bool> {
        let now = self.expression(text, paths)?;
        let changed = now.is_some();
        if let Some(now) = now {
            *text = now;
        }
        Ok(changed)
    }
}

/// The one statement of a text.
pub(super) fn node_of(text: &str) -> SqlResult<Option<NodeEnum>> {
    let parsed = parse::parse(text)?.into_iter().next();
    Ok(parsed.and_then(parse::Parsed::into_node))
}

/// The text of a new view's query, which names relations and routines by a search path of several schemas: with these in the text, so that one that
/// is made later in another schema of the path takes no name over.
///
/// # Errors
/// What the parser says.
pub(in crate::ddl) fn spelled_out(inside: &Planner, text: String) -> SqlResult<String> {
    if inside.named_path().len() < 2 {
        return Ok(text);
    }
    let Some(node) = node_of(&text)? else {
        return Ok(text);
    };
    let moves = Moves::new("", "");
    // Of routines in several schemas types say which is meant.
    let is_clear = |name: &Name| match name.class {
        Class::Relation => true,
        Class::Routine => {
            let found = inside.find_routines(None, &name.name);
            let mut schemas = found.iter().map(|routine| &routine.record.schema);
            let first = schemas.next();
            first.is_some() && schemas.all(|schema| Some(schema) == first)
        }
        Class::Type => false,
    };
    let clear = names_in(&node).into_iter().filter(is_clear);
    let paths = Paths {
        before: inside.path().to_vec(),
        after: Vec::new(),
    };
    let now = respelling(inside, &moves).spelled(&text, clear.collect(), &paths)?;
    Ok(now.unwrap_or(text))
}

/// The text of an expression that is kept in a schema: names that would mean something else there have schemas before them. `bound`: what it
/// is, which says of routines of one name whose are meant.
///
/// # Errors
/// What the parser says; `0A000` if routines of one name are meant that are in several schemas.
pub(in crate::ddl) fn at_home(
    planner: &Planner,
    schema: &str,
    text: String,
    bound: &Expr,
) -> SqlResult<String> {
    let mut found = Vec::new();
    callees(bound, &mut found);
    let mut called: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for callee in found {
        if let Some(stored) = planner.catalog().routine(callee.id) {
            let record = &stored.record;
            let schemas = called.entry(record.name.clone()).or_default();
            schemas.insert(record.schema.clone());
        }
    }
    let moves = Moves::new("", "");
    let paths = Paths {
        before: planner.path().to_vec(),
        after: home(planner.catalog(), &moves, schema, None).before,
    };
    let called_from = |name: &Name| match name.class {
        Class::Routine if name.schema.is_none() && !name.is_literal() => called.get(&name.name),
        _ => None,
    };
    let differs = |name: &Name| called_from(name).is_some_and(|schemas| schemas.len() > 1);
    let text_names = node_of(&format!("SELECT {text}"))?.map(|node| names_in(&node));
    if paths.before != paths.after
        && let Some(name) = text_names.iter().flatten().find(|name| differs(name))
    {
        return Err(SqlError::unsupported(format!(
            "routines \"{}\" of several schemas in one expression",
            name.name
        ))
        .hint("Write their schemas before their names."));
    }
    // One that no routine is called by is built in.
    let is_meant = |name: &Name| {
        let is_call = name.class == Class::Routine && !name.is_literal();
        !is_call || name.schema.is_some() || called_from(name).is_some()
    };
    let respelling = Respelling {
        called: called.clone(),
        ..respelling(planner, &moves)
    };
    let now = respelling.expression_with(&text, &paths, is_meant)?;
    Ok(now.unwrap_or(text))
}

/// The text of a routine that is kept in a schema: types of its parameters and result, defaults, and names in a body of statements that
/// would mean something else there have schemas before them, so that they go on to mean what they do by the path of who makes it.
///
/// # Errors
/// What the parser says.
pub(crate) fn routine_at_home(planner: &Planner, schema: &str, text: &str) -> SqlResult<String> {
    let Some(node) = node_of(text)? else {
        return Ok(text.to_string());
    };
    let moves = Moves::new("", "");
    let paths = Paths {
        before: planner.path().to_vec(),
        after: home(planner.catalog(), &moves, schema, None).before,
    };
    let now = respelling(planner, &moves).statement(text, &node, &paths)?;
    Ok(now.unwrap_or_else(|| text.to_string()))
}

/// Shows the names in a statement: of what, the schema before it, and the name itself. None of one that is not read.
pub(crate) fn each_name(text: &str, see: &mut dyn FnMut(Class, Option<&str>, &str)) {
    if let Ok(Some(node)) = node_of(text) {
        for name in names_in(&node) {
            see(name.class, name.schema.as_deref(), &name.name);
        }
    }
}

/// Whether names mean a function, found from a schema. Where it is one of several of its name that is not known: no.
fn name_it(planner: &Planner, schema: &str, names: &[Name], function: (RoutineId, &str)) -> bool {
    let (id, own) = function;
    let catalog = planner.catalog();
    let path = home(catalog, &Moves::new("", ""), schema, None).before;
    let means = |name: &Name| {
        let found: Vec<_> = match &name.schema {
            Some(schema) => catalog.routines(schema, own),
            None => (path.iter())
                .flat_map(|schema| catalog.routines(schema, own))
                .collect(),
        };
        !found.is_empty() && found.iter().all(|stored| stored.record.id == id)
    };
    let is_it = |name: &Name| name.class == Class::Routine && name.name == own && means(name);
    names.iter().any(is_it)
}

/// Whether an expression that is kept in a schema calls a function.
pub(in crate::ddl) fn expression_names(
    planner: &Planner,
    schema: &str,
    text: &str,
    function: (RoutineId, &str),
) -> bool {
    if !has_word(text, function.1) {
        return false;
    }
    let node = node_of(&format!("SELECT {text}")).ok().flatten();
    node.is_some_and(|node| name_it(planner, schema, &names_in(&node), function))
}

/// Whether a routine's defaults, or the statements that it has instead of a text, call a function.
pub(in crate::ddl) fn routine_names(
    planner: &Planner,
    record: &RoutineRecord,
    function: (RoutineId, &str),
) -> bool {
    if !has_word(&record.text, function.1) {
        return false;
    }
    let node = node_of(&record.text).ok().flatten();
    node.is_some_and(|node| name_it(planner, &record.schema, &names_in(&node), function))
}

pub(super) fn respelling<'m, 'c>(planner: &Planner<'c>, moves: &'m Moves) -> Respelling<'m, 'c> {
    Respelling {
        moves,
        catalog: planner.catalog(),
        called: BTreeMap::new(),
    }
}

/// The path of what belongs to something in a schema, which may be about to get another one.
pub(super) fn home(catalog: &Catalog, moves: &Moves, schema: &str, after: Option<&str>) -> Paths {
    let of = |schema: &str, has: &dyn Fn(&str) -> bool| {
        let mut path = vec![schema.to_string()];
        path.extend((schema != "public" && has("public")).then(|| "public".to_string()));
        path
    };
    let before = of(schema, &|name| catalog.has_schema(name));
    let after = match after {
        Some(after) => of(after, &|name| catalog.has_schema(name)),
        None => moves.schemas(&before),
    };
    Paths { before, after }
}
