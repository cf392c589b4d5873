//! What texts of the catalogue name, after objects have got another schema, or a routine another name.
//!
//! Relies on: the parser's places of names in a text.  Promises: each name in a kept text means afterwards what it meant before: one of
//! what has moved has the new schema before it, and so has one that would be found elsewhere now; views, policies and tables whose texts
//! cannot be given that are refused (0A000).  Does not: look into bodies of routines that are strings, which mean what their caller's
//! search path says, as in PostgreSQL; move the objects themselves (`set_schema`).
//!
//! | text | path that its bare names are looked for by |
//! |---|---|
//! | defaults, checks, expressions of a table; checks of a domain | its schema, `public` |
//! | types and defaults of a routine's parameters, a body of statements | its schema, `public` |
//! | queries of views, conditions of policies | the one that they were made with |
//! | conditions of triggers | their table's schema, `public` |

mod names;

use super::record_of;
use super::rename::has_word;
use crate::catalog::{Catalog, Relation};
use crate::draft::{Draft, spaces_of};
use crate::parse;
use crate::planner::{PlanContext, Planner, names_of_path};
use crate::records::{
    MatviewRecord, PolicyRecord, RoutineRecord, TableRecord, TriggerRecord, TypeKind, TypeRecord,
    ViewRecord,
};
use crate::rewrite::{same, transform};
use crate::row_security::unasked;
use crate::select::plan_query;
use crate::temporary::is_temporary;
use crate::view::{context_of, context_within, query_of};
use names::{Class, Name, names_in};
use pg_query::NodeEnum;
use quintet_base::{RoutineId, SqlError, SqlResult, SqlType, TableId};
use quintet_ir::ddl::Work;
use quintet_ir::function::DOMAIN_HOLDS;
use quintet_ir::function::quoted_identifier;
use quintet_ir::routine::Callee;
use quintet_ir::{Expr, Need};
use std::collections::{BTreeMap, BTreeSet};

/// What goes from one schema to another.
pub(super) struct Moves {
    pub from: String,
    pub to: String,
    /// All that there is: the schema is renamed.
    pub everything: bool,
    /// Tables, views and sequences; rows of the former are types.
    pub relations: BTreeSet<String>,
    pub types: BTreeSet<String>,
    /// Of several with one name, one may go and others stay.
    pub routine: Option<String>,
    /// It stays where it is and is called so from now on.
    pub called: Option<String>,
}

impl Moves {
    pub fn new(from: &str, to: &str) -> Moves {
        Moves {
            from: from.to_string(),
            to: to.to_string(),
            everything: false,
            relations: BTreeSet::new(),
            types: BTreeSet::new(),
            routine: None,
            called: None,
        }
    }

    /// A routine gets another name.
    pub fn renamed(schema: &str, old: &str, new: &str) -> Moves {
        Moves {
            routine: Some(old.to_string()),
            called: Some(new.to_string()),
            ..Moves::new(schema, schema)
        }
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        let all = self.relations.iter().chain(&self.types);
        all.chain(&self.routine).chain(&self.called)
    }

    /// Whether a text may have to be written anew.
    fn concerns(&self, text: &str) -> bool {
        match self.everything {
            true => has_word(text, &self.from),
            false => self.names().any(|name| has_word(text, name)),
        }
    }

    fn takes(&self, class: Class, name: &str) -> bool {
        self.everything
            || match class {
                Class::Relation => self.relations.contains(name),
                Class::Type => self.types.contains(name) || self.relations.contains(name),
                Class::Routine => self.routine.as_deref() == Some(name),
            }
    }

    fn schema_after<'s>(&'s self, schema: &'s str) -> &'s str {
        match schema == self.from {
            true => &self.to,
            false => schema,
        }
    }

    /// A search path as it is written, afterwards.
    fn path(&self, path: &str) -> String {
        if !self.everything || !names_of_path(path).any(|name| name == self.from) {
            return path.to_string();
        }
        let names = names_of_path(path).map(|name| match name.as_str() {
            "$user" => "\"$user\"".to_string(),
            name => quoted_identifier(self.schema_after(name)),
        });
        names.collect::<Vec<_>>().join(", ")
    }

    /// The schemas of a path, afterwards.
    fn schemas(&self, schemas: &[String]) -> Vec<String> {
        let after = schemas.iter().map(|schema| match self.everything {
            true => self.schema_after(schema).to_string(),
            false => schema.clone(),
        });
        after.collect()
    }
}

/// Paths of one text: the schemas before, and afterwards.
struct Paths {
    before: Vec<String>,
    after: Vec<String>,
}

/// Writes texts anew.
struct Respelling<'m, 'c> {
    moves: &'m Moves,
    catalog: &'c Catalog,
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
            None => paths.before.iter().find(knows)?.clone(),
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
                let mut after = paths.after.iter();
                let found = after.find(|schema| self.will_have(name.class, schema, &name.name));
                (found != Some(&should)).then_some(should)
            }
        }
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
    fn statement(&self, text: &str, node: &NodeEnum, paths: &Paths) -> SqlResult<Option<String>> {
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
        const BEFORE: &str = "SELECT ";
        let whole = format!("{BEFORE}{text}");
        let Some(node) = node_of(&whole)? else {
            return Ok(None);
        };
        let now = self.statement(&whole, &node, paths)?;
        Ok(now.map(|now| now[BEFORE.len()..].to_string()))
    }

    /// An expression, in its place.
    fn respell(&self, text: &mut String, paths: &Paths) -> SqlResult<bool> {
        let now = self.expression(text, paths)?;
        let changed = now.is_some();
        if let Some(now) = now {
            *text = now;
        }
        Ok(changed)
    }
}

/// The one statement of a text.
fn node_of(text: &str) -> SqlResult<Option<NodeEnum>> {
    let parsed = parse::parse(text)?.into_iter().next();
    Ok(parsed.and_then(parse::Parsed::into_node))
}

/// Has all that the catalogue keeps as text name what it named before. `draft` has the objects in their new schema already, tables as
/// [`table`] leaves them.
///
/// # Errors
/// `0A000` for a view, a policy or a table that cannot.
pub(super) fn respell_others(draft: &mut Draft, moves: &Moves) -> SqlResult<()> {
    views(draft, moves)?;
    policies(draft, moves)?;
    triggers(draft, moves)?;
    domains(draft, moves)?;
    routines(draft, moves)?;
    let catalog = draft.planner.catalog();
    for table in catalog.tables() {
        if draft.changed_table(table.id)?.is_none() {
            let mut record = record_of(draft.planner, table)?;
            if self::table(draft.planner, moves, &mut record, None)? {
                record.revision += 1;
                draft.put_table(&record)?;
                draft.work(Work::Fence(spaces_of(table)));
            }
        }
    }
    verify(draft, moves)
}

/// The text of a new view's query, which names relations and routines by a search path of several schemas: with these in the text, so that one that
/// is made later in another schema of the path takes no name over.
///
/// # Errors
/// What the parser says.
pub(super) fn spelled_out(inside: &Planner, text: String) -> SqlResult<String> {
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

/// The text of an expression that is kept in a schema: names that would mean something else there have schemas before them.
///
/// # Errors
/// What the parser says.
pub(super) fn at_home(planner: &Planner, schema: &str, text: String) -> SqlResult<String> {
    let moves = Moves::new("", "");
    let mut before = planner.path().to_vec();
    if is_temporary(schema) {
        // Looked at first, whether the path says so or not.
        before.retain(|other| other != schema);
        before.insert(0, schema.to_string());
    }
    let paths = Paths {
        before,
        after: home(planner.catalog(), &moves, schema, None).before,
    };
    let now = respelling(planner, &moves).expression(&text, &paths)?;
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
pub(super) fn expression_names(
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
pub(super) fn routine_names(
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

fn respelling<'m, 'c>(planner: &Planner<'c>, moves: &'m Moves) -> Respelling<'m, 'c> {
    Respelling {
        moves,
        catalog: planner.catalog(),
    }
}

/// The path of what belongs to something in a schema, which may be about to get another one.
fn home(catalog: &Catalog, moves: &Moves, schema: &str, after: Option<&str>) -> Paths {
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

/// Writes the texts of a table's record anew; whether there was anything to write. `after`: its new schema, if it moves.
pub(super) fn table(
    planner: &Planner,
    moves: &Moves,
    record: &mut TableRecord,
    after: Option<&str>,
) -> SqlResult<bool> {
    let respelling = respelling(planner, moves);
    let paths = home(planner.catalog(), moves, &record.schema, after);
    let mut changed = after.is_some();
    let texts = texts_of(record);
    for text in texts {
        if after.is_some() || moves.concerns(text) {
            changed |= respelling.respell(text, &paths)?;
        }
    }
    for number in record.more.hidden.columns.clone() {
        // It is called what it says where it is a predicate's.
        let now = record.generated(number).map(str::to_string);
        let name = &mut record.columns[number].name;
        if name.starts_with("CASE WHEN ")
            && let Some(now) = now
        {
            *name = now;
        }
    }
    Ok(changed)
}

fn texts_of(record: &mut TableRecord) -> impl Iterator<Item = &mut String> {
    let columns = record.columns.iter_mut();
    let defaults = columns.filter_map(|column| column.default.as_mut());
    let checks = record.checks.iter_mut().map(|check| &mut check.text);
    let generated = record.more.generated.iter_mut().map(|(_, text)| text);
    let predicates = record.more.hidden.predicates.iter_mut();
    defaults
        .chain(checks)
        .chain(generated)
        .chain(predicates.map(|(_, text)| text))
}

/// A view's record, with its text and its path as they will be.
fn view(planner: &Planner, moves: &Moves, view: &ViewRecord) -> SqlResult<Option<ViewRecord>> {
    let path = moves.path(&view.path);
    if !moves.concerns(&view.text) && path == view.path {
        return Ok(None);
    }
    let outer = unasked(planner.context);
    let context = context_within(&outer, view);
    let inside = Planner::new(&context, "", &[]);
    let paths = Paths {
        before: inside.path().to_vec(),
        after: moves.schemas(inside.path()),
    };
    let select = NodeEnum::SelectStmt(query_of(view)?);
    let text = respelling(planner, moves).statement(&view.text, &select, &paths)?;
    if text.is_none() && path == view.path {
        return Ok(None);
    }
    Ok(Some(ViewRecord {
        path,
        text: text.unwrap_or_else(|| view.text.clone()),
        ..view.clone()
    }))
}

fn views(draft: &mut Draft, moves: &Moves) -> SqlResult<()> {
    let catalog = draft.planner.catalog();
    for own in catalog.views() {
        if let Some(now) = view(draft.planner, moves, own)? {
            let schema = draft.changed_view(own.id)?.map(|record| record.schema);
            draft.put_view(&ViewRecord {
                schema: schema.unwrap_or(now.schema),
                ..now
            })?;
        }
    }
    for own in catalog.matviews() {
        if let Some(now) = view(draft.planner, moves, &own.view)? {
            let table = draft.changed_table(own.view.id)?;
            let schema = table.map_or(now.schema, |table| table.schema);
            draft.put_matview(&MatviewRecord {
                view: ViewRecord { schema, ..now },
                ..MatviewRecord::clone(own)
            })?;
        }
    }
    Ok(())
}

fn policies(draft: &mut Draft, moves: &Moves) -> SqlResult<()> {
    let planner = draft.planner;
    for security in planner.catalog().securities() {
        let mut now = draft.security(security.table)?;
        let mut changed = false;
        for text in now.policies.iter_mut().flat_map(PolicyRecord::texts_mut) {
            let path = moves.path(&text.path);
            if !moves.concerns(&text.text) && path == text.path {
                continue;
            }
            let outer = unasked(planner.context);
            let context = context_of(&outer, &text.path);
            let inside = Planner::new(&context, "", &[]);
            let paths = Paths {
                before: inside.named_path().to_vec(),
                after: moves.schemas(inside.named_path()),
            };
            changed |= respelling(planner, moves).respell(&mut text.text, &paths)?;
            changed |= path != text.path;
            text.path = path;
        }
        if changed {
            draft.put_security(&now)?;
        }
    }
    Ok(())
}

fn triggers(draft: &mut Draft, moves: &Moves) -> SqlResult<()> {
    let planner = draft.planner;
    for trigger in planner.catalog().triggers() {
        let Some(mut text) = trigger.condition.clone() else {
            continue;
        };
        let schema = planner.catalog().triggered(trigger.table);
        let schema = schema.map(|table| table.schema.clone()).unwrap_or_default();
        let paths = home(planner.catalog(), moves, &schema, None);
        if moves.concerns(&text) && respelling(planner, moves).respell(&mut text, &paths)? {
            draft.put_trigger(&TriggerRecord {
                condition: Some(text),
                ..TriggerRecord::clone(trigger)
            })?;
        }
    }
    Ok(())
}

fn domains(draft: &mut Draft, moves: &Moves) -> SqlResult<()> {
    let planner = draft.planner;
    for own in planner.catalog().user_types() {
        let goes = own.schema == moves.from && moves.takes(Class::Type, &own.name);
        let mut now = TypeRecord::clone(own);
        let paths = home(
            planner.catalog(),
            moves,
            &own.schema,
            goes.then_some(&*moves.to),
        );
        let TypeKind::Domain(domain) = &mut now.kind else {
            continue;
        };
        let texts = domain.checks.iter_mut().map(|check| &mut check.text);
        let mut changed = goes;
        for text in texts.chain(&mut domain.default) {
            if goes || moves.concerns(text) {
                changed |= respelling(planner, moves).respell(text, &paths)?;
            }
        }
        if changed {
            if goes {
                now.schema.clone_from(&moves.to);
            }
            draft.put_type(&now)?;
        }
    }
    Ok(())
}

fn routines(draft: &mut Draft, moves: &Moves) -> SqlResult<()> {
    let planner = draft.planner;
    let catalog = planner.catalog();
    for stored in catalog.all_routines() {
        let changed = draft.changed_routine(stored.record.id)?;
        let schema = &stored.record.schema;
        let goes = changed.as_ref().map(|changed| changed.schema.clone());
        let now = changed.unwrap_or_else(|| RoutineRecord::clone(&stored.record));
        if goes.is_none() && !moves.concerns(&now.text) {
            continue;
        }
        let paths = home(catalog, moves, schema, goes.as_deref());
        let Some(node) = node_of(&now.text)? else {
            continue;
        };
        let text = respelling(planner, moves).statement(&now.text, &node, &paths)?;
        if let Some(text) = text {
            draft.put_routine(&RoutineRecord { text, ..now })?;
        }
    }
    Ok(())
}

/// What a query means, as far as others can tell.
type Meaning = (Vec<(TableId, Vec<usize>)>, Vec<Need>, Vec<SqlType>);

fn meaning(catalog: &Catalog, outer: &PlanContext, view: &ViewRecord) -> SqlResult<Meaning> {
    let outer = PlanContext {
        catalog,
        ..unasked(outer)
    };
    let context = context_within(&outer, view);
    let planner = Planner::new(&context, "", &[]);
    let query = plan_query(&planner, &*query_of(view)?, None)?;
    for output in &query.outputs {
        planner.use_origin(output.origin);
    }
    let types = query.outputs.iter().map(|output| output.ty).collect();
    Ok((planner.uses(), planner.needs_of_definition(), types))
}

/// An expression without what a domain says if a value is none of its own, which has the domain's schema in it, and without names of
/// routines.
fn unworded(expr: &Expr) -> Expr {
    transform(expr, &mut |part| match part {
        Expr::Call { function, args, .. } if function.name == DOMAIN_HOLDS => {
            args.first().map(unworded)
        }
        Expr::Routine { callee, args, ty } if !callee.name.is_empty() => Some(Expr::Routine {
            callee: Box::new(Callee {
                name: String::new(),
                ..Callee::clone(callee)
            }),
            args: args.iter().map(unworded).collect(),
            ty: *ty,
        }),
        _ => None,
    })
}

/// Looks whether what was written anew means what it meant.
///
/// # Errors
/// `0A000` for what does not.
fn verify(draft: &Draft, moves: &Moves) -> SqlResult<()> {
    let planner = draft.planner;
    let other = match moves.called {
        Some(_) => "another name",
        None => "another schema",
    };
    let refused = |what: &str, name: &str| {
        Err(SqlError::unsupported(format!(
            "{other} for what {what} \"{name}\" names in this way"
        )))
    };
    let before = planner.catalog();
    let next = match draft.catalog_to_be() {
        Ok(next) => next,
        Err(_) => return refused("a table in schema", &moves.from),
    };
    for view in before.all_views() {
        let Some(now) = next.all_views().find(|now| now.id == view.id) else {
            continue;
        };
        if now.text == view.text && now.path == view.path && !moves.concerns(&view.text) {
            continue;
        }
        // One that does not read any more means nothing.
        if let Ok(meant) = meaning(before, planner.context, view)
            && meaning(&next, planner.context, now).ok() != Some(meant)
        {
            return refused("view", &view.name);
        }
    }
    for table in before.tables() {
        let Some(now) = next.table_by_id(table.id) else {
            continue;
        };
        let checks = (table.own_checks()).zip(now.own_checks());
        let columns = table.columns.iter().zip(&now.columns);
        let checks = checks.map(|(old, new)| (Some(&old.condition), Some(&new.condition)));
        let pairs = columns.flat_map(|(old, new)| {
            [
                (old.default.as_ref(), new.default.as_ref()),
                (old.generated.as_ref(), new.generated.as_ref()),
            ]
        });
        let mut pairs = checks.chain(pairs);
        let is_same = |(old, new)| match (old, new) {
            (Some(old), Some(new)) => same(&unworded(old), &unworded(new)),
            (old, new) => old.is_none() && new.is_none(),
        };
        if !pairs.all(is_same) {
            return refused("table", &table.name);
        }
    }
    Ok(())
}
