//! What texts of the catalogue name, after objects have got another schema, or a routine another name.
//!
//! Relies on: the parser's places of names in a text.  Promises: each name in a kept text means afterwards what it meant before: one of
//! what has moved has the new schema before it, and so has one that would be found elsewhere now; views, policies and tables whose texts
//! cannot be given that are refused (0A000).  Does not: look into bodies of routines that are strings, which mean what their caller's
//! search path says, as in PostgreSQL; move the objects themselves (`set_schema`).
//!
//! | text | path that its bare names are looked for by |
//! |---|---|
//! | defaults, checks, expressions of a table; defaults of a view; checks of a domain | its schema, `public` |
//! | types and defaults of a routine's parameters, a body of statements | its schema, `public` |
//! | queries of views, conditions of policies | the one that they were made with |
//! | conditions of triggers | their table's schema, `public` |

mod names;
mod spelling;

pub(crate) use names::Class as NameClass;
pub(super) use spelling::{at_home, expression_names, routine_names, spelled_out};
pub(crate) use spelling::{each_name, routine_at_home};

use super::record_of;
use super::rename::has_word;
use crate::catalog::Catalog;
use crate::draft::{Draft, spaces_of};
use crate::planner::{PlanContext, Planner, names_of_path};
use crate::records::{
    MatviewRecord, PolicyRecord, RoutineRecord, TableRecord, TriggerRecord, TypeKind, TypeRecord,
    ViewRecord,
};
use crate::rewrite::{same, transform};
use crate::row_security::unasked;
use crate::select::plan_query;
use crate::stored;
use crate::view::{context_of, context_within, query_of};
use names::Class;
use pg_query::NodeEnum;
use quintet_base::{SqlError, SqlResult, SqlType, TableId};
use quintet_ir::ddl::Work;
use quintet_ir::function::DOMAIN_HOLDS;
use quintet_ir::function::quoted_identifier;
use quintet_ir::routine::Callee;
use quintet_ir::{Expr, Need};
use spelling::{Paths, home, node_of, respelling};
use std::collections::BTreeSet;

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
        let changed = draft.changed_view(own.id)?;
        let schema = changed.map_or_else(|| own.schema.clone(), |record| record.schema);
        let query = view(draft.planner, moves, own)?;
        let mut now = query.clone().unwrap_or_else(|| ViewRecord::clone(own));
        let goes = (schema != own.schema).then_some(&*schema);
        let paths = home(catalog, moves, &own.schema, goes);
        let mut is_other = query.is_some();
        for (_, text) in &mut now.defaults {
            if goes.is_some() || moves.concerns(text) {
                is_other |= respelling(draft.planner, moves).respell(text, &paths)?;
            }
        }
        if is_other {
            draft.put_view(&ViewRecord { schema, ..now })?;
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
pub(super) type Meaning = (Vec<(TableId, Vec<usize>)>, Vec<Need>, Vec<SqlType>);

fn meaning(catalog: &Catalog, outer: &PlanContext, view: &ViewRecord) -> SqlResult<Meaning> {
    let outer = PlanContext {
        catalog,
        ..unasked(outer)
    };
    let context = context_within(&outer, view);
    meaning_of(&Planner::new(&context, "", &[]), view)
}

/// The same by a planner of the view's own.
pub(super) fn meaning_of(planner: &Planner, view: &ViewRecord) -> SqlResult<Meaning> {
    let query = plan_query(planner, &*query_of(view)?, None)?;
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
    for view in before.views() {
        let Some(now) = next.view(view.id) else {
            continue;
        };
        if let Ok(meant) = stored::defaults_of_view(before, view) {
            let now = stored::defaults_of_view(&next, now).unwrap_or_default();
            let is_same = |((_, old), (_, new)): (&(usize, Expr), &(usize, Expr))| {
                same(&unworded(old), &unworded(new))
            };
            if meant.len() != now.len() || !meant.iter().zip(&now).all(is_same) {
                return refused("view", &view.name);
            }
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
