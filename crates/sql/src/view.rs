//! Views: where their name is used, and what they say of themselves.
//!
//! Relies on: the text that CREATE VIEW kept, in which `*` is written out; `select`.  Promises: a view is a subselect
//! where its name stands, bound by itself, though its tables may be joined with those around it (`pulled`): names in it mean what they meant when it was made, whatever is in sight
//! around it.  Does not: change rows through a view (`updatable`); see [decision 36].
//!
//! [decision 36]: ../../../docs/decisions/0036-views-are-kept-as-text.md

use crate::from::{From, add_query, alias_or, rename_columns, starting_at};
use crate::locking::locked_below;
use crate::names::{self, inner};
use crate::parse;
use crate::planner::{PlanContext, Planner, Who, note_depth};
use crate::records::ViewRecord;
use crate::routine::any_node;
use crate::row_security::unasked;
use crate::scope::Scope;
use crate::select::{Query, plan_query};
use crate::system::print;
use crate::temporary::is_temporary;
use crate::variables::Variables;
use crate::with::{enter_with, forget_with};
use pg_query::protobuf::{
    self, Alias, JoinExpr, JoinType, Node, ResTarget, SelectStmt, SetOperation, SortByDir,
    SortByNulls,
};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_ir::{Privileges, depth};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The query of a view.
///
/// # Errors
/// `XX001` if it cannot be read.
pub(crate) fn query_of(view: &ViewRecord) -> SqlResult<Box<SelectStmt>> {
    let damaged = || {
        let message = format!("the query of view \"{}\" cannot be read", view.name);
        SqlError::new(SqlState::DATA_CORRUPTED, message)
    };
    let parsed = parse::parse(&view.text)?;
    match parsed.into_iter().next().and_then(parse::Parsed::into_node) {
        Some(NodeEnum::SelectStmt(select)) => Ok(select),
        _ => Err(damaged()),
    }
}

/// What planning the query of a view depends on: that of the statement, with the view's own search path.
pub(crate) fn context_of<'a>(outer: &PlanContext<'a>, path: &'a str) -> PlanContext<'a> {
    PlanContext {
        catalog: outer.catalog,
        schema: path,
        user: outer.user,
        database: outer.database,
        format: outer.format,
        dynamic: outer.dynamic,
    }
}

/// The same for a view that is there: one that is not temporary means no temporary tables.
pub(crate) fn context_within<'a>(outer: &PlanContext<'a>, view: &'a ViewRecord) -> PlanContext<'a> {
    let context = context_of(outer, &view.path);
    let temporary = match is_temporary(&view.schema) {
        true => outer.user.temporary,
        false => 0,
    };
    PlanContext {
        user: Who {
            temporary,
            ..context.user
        },
        ..context
    }
}

/// How many parts a view's plan may have: what views in views write out twice becomes more than any memory holds.
const PARTS_MAX: usize = 1_000_000;

/// A view as an item of FROM.
pub(crate) fn bind_view(
    planner: &Planner,
    view: &ViewRecord,
    relation: &protobuf::RangeVar,
    start: usize,
) -> SqlResult<From> {
    let name = alias_or(relation.alias.as_ref(), &relation.relname);
    let select = query_of(view)?;
    let select = &*locked_below(planner, name, &select)?;
    if !select.locking_clause.is_empty() && !planner.locking.borrow().is_empty() {
        planner.need_some(view.id, Privileges::UPDATE);
    }
    planner.need_source(view.id);
    let mut planned = rows_of_view(planner, view, select)?;
    let barrier = view.options.is_barrier();
    if barrier {
        planned.parts = None;
    }
    let mut from = starting_at(start);
    let schema = relation.alias.is_none().then_some(view.schema.as_str());
    add_query(planner, &mut from, planned, None, (name, schema));
    if let Some(leaf) = from.leaves.last_mut().filter(|_| barrier) {
        leaf.barrier = true;
    }
    if let Some(table) = from.scope.tables.last_mut() {
        table.row = Some(view.id);
    }
    rename_columns(planner, &mut from, relation.alias.as_ref())?;
    Ok(from)
}

/// What a view shows; who asks needs privileges for it besides what is needed below.
///
/// # Errors
/// What planning its query says.
pub(crate) fn rows_of_view(
    planner: &Planner,
    view: &ViewRecord,
    select: &SelectStmt,
) -> SqlResult<Query> {
    let context = context_within(planner.context, view);
    let nothing = Variables::default();
    let inside = match planner.variables {
        Some(_) => Planner::inside(&context, "", &nothing),
        None => {
            let mut inside = Planner::new(&context, "", &[]);
            inside.sizes = planner.sizes;
            inside
        }
    };
    inside.number_behind(planner);
    let invokers = view.options.is_invokers();
    inside.acts_as.set(match invokers {
        true => None,
        false => Some(planner.owner_of(view.id)),
    });
    inside.guarded.replace(planner.guarded.borrow().clone());
    let planned = planner.deeper(|| {
        inside.as_deep_as(planner);
        plan_query(&inside, select, None)
    });
    planner.number_behind(&inside);
    // A place in the view's text says nothing to who uses it.
    let mut planned = planned.map_err(SqlError::nowhere)?;
    if depth::plan_has_more_parts(&planned.plan, PARTS_MAX) {
        return Err(parse::too_complex());
    }
    note_depth(depth::of_plan(&planned.plan))?;
    planner.calls.take_over(&inside.calls);
    planner.reads_as(&inside);
    match invokers {
        true => planner.need_of_user(inside.needs_of_definition()),
        false => planner.need_of_view(view.id, inside.needs_of_definition()),
    }
    if planned.outputs.len() != view.columns.len() {
        return Err(SqlError::internal(format!(
            "view \"{}\" has other columns than it was made with",
            view.name
        )));
    }
    for (number, (output, column)) in planned.outputs.iter_mut().zip(&view.columns).enumerate() {
        output.name = column.name.clone();
        output.origin = Some((view.id, number as u16 + 1));
    }
    Ok(planned)
}

/// Writes out each `*` in a query, so that columns that are added later do not become the view's.
///
/// # Errors
/// What FROM says.
pub(crate) fn write_out_stars(planner: &Planner, select: &mut SelectStmt) -> SqlResult<()> {
    let whole = NodeEnum::SelectStmt(Box::new(select.clone()));
    let before = enter_with(planner, select.with_clause.as_ref(), &|| whole.clone())?;
    let done = match select.op() {
        SetOperation::SetopNone | SetOperation::Undefined => stars_of(planner, select),
        _ => [&mut select.larg, &mut select.rarg]
            .into_iter()
            .flatten()
            .try_for_each(|side| write_out_stars(planner, side)),
    };
    forget_with(planner, before);
    done
}

fn stars_of(planner: &Planner, select: &mut SelectStmt) -> SqlResult<()> {
    let is_star = |node: &Node| star_of(node).is_some();
    if !select.target_list.iter().any(is_star) {
        return Ok(());
    }
    let mut from = From::default();
    from.add_items(planner, &select.from_clause)?;
    let mut targets = Vec::new();
    for node in std::mem::take(&mut select.target_list) {
        let Some(qualifier) = star_of(&node) else {
            targets.push(node);
            continue;
        };
        let places: Vec<(usize, usize)> = match qualifier.last() {
            None => from.scope.visible.clone(),
            Some(table) => {
                let found = from
                    .scope
                    .tables
                    .iter()
                    .position(|other| other.name == *table);
                let Some(found) = found else {
                    targets.push(node);
                    continue;
                };
                let width = from.scope.tables[found].columns.len();
                (0..width).map(|column| (found, column)).collect()
            }
        };
        targets.extend(places.into_iter().map(|place| named(&from.scope, place)));
    }
    select.target_list = targets;
    Ok(())
}

/// What stands before the `*` of a select list's item, if it is one.
fn star_of(node: &Node) -> Option<Vec<&str>> {
    let NodeEnum::ResTarget(target) = inner(node)? else {
        return None;
    };
    let NodeEnum::ColumnRef(column) = target.val.as_deref().and_then(inner)? else {
        return None;
    };
    let is_star = matches!(
        column.fields.last().and_then(inner),
        Some(NodeEnum::AStar(_))
    );
    is_star.then(|| names::strings(&column.fields))
}

/// A column of the scope as an item of a select list.
fn named(scope: &Scope, (table, column): (usize, usize)) -> Node {
    let name = scope.tables[table].columns[column].name.as_str();
    let alone = scope
        .visible_columns()
        .filter(|other| other.name == name)
        .count()
        == 1;
    let table = scope.tables[table].name.as_str();
    let parts: Vec<&str> = match alone || table.is_empty() {
        true => vec![name],
        false => vec![table, name],
    };
    let string = |text: &&str| {
        parse::wrap(NodeEnum::String(protobuf::String {
            sval: (*text).to_string(),
        }))
    };
    let column = protobuf::ColumnRef {
        fields: parts.iter().map(string).collect(),
        location: -1,
    };
    let target = ResTarget {
        val: Some(Box::new(parse::wrap(NodeEnum::ColumnRef(column)))),
        location: -1,
        ..Default::default()
    };
    parse::wrap(NodeEnum::ResTarget(Box::new(target)))
}

/// The query of a view as `pg_get_viewdef` prints it; as it is kept where it has a form that is not known here.
pub(crate) fn definition(outer: &PlanContext, view: &ViewRecord, pretty: bool) -> String {
    let outer = &unasked(outer);
    let context = context_within(outer, view);
    let planner = Planner::new(&context, "", &[]);
    let reader = Planner::new(outer, "", &[]);
    planner.read_from.replace(Some(reader.path().to_vec()));
    let Ok(select) = query_of(view) else {
        return format!(" {};", view.text);
    };
    let view = &ViewRecord {
        text: with_schemas(&planner, &reader, &view.text, *select),
        ..view.clone()
    };
    let printed = query_of(view)
        .ok()
        .and_then(|select| query_text((&planner, &reader), &select, view, pretty));
    match printed {
        Some(text) => without_schemas(&reader, format!("{text};")),
        None => format!(" {};", without_schemas(&reader, with_names(&planner, view))),
    }
}

/// The text of a view with its columns' names, where its query has others.
fn with_names(planner: &Planner, view: &ViewRecord) -> String {
    let outputs = query_of(view).and_then(|select| plan_query(planner, &select, None));
    let same = outputs.is_ok_and(|query| {
        let own = query.outputs.iter().map(|output| output.name.as_str());
        own.eq(view.columns.iter().map(|column| column.name.as_str()))
    });
    if same {
        return view.text.clone();
    }
    let name = print::quoted(&view.name);
    let columns = view.columns.iter();
    let columns: Vec<String> = columns.map(|column| print::quoted(&column.name)).collect();
    let all: Vec<String> = columns
        .iter()
        .map(|column| format!("{name}.{column}"))
        .collect();
    format!(
        "SELECT {} FROM ({}) {name}({})",
        all.join(", "),
        view.text,
        columns.join(", ")
    )
}

/// The text of a query with a schema before each relation and each routine whose name alone would not mean it to the reader.
pub(crate) fn with_schemas(
    within: &Planner,
    reader: &Planner,
    text: &str,
    select: SelectStmt,
) -> String {
    let statement = NodeEnum::SelectStmt(Box::new(select));
    let queries = RefCell::new(BTreeSet::new());
    let places = RefCell::new(BTreeMap::new());
    let routines = RefCell::new(BTreeMap::new());
    any_node(&statement, &|node| {
        match node {
            NodeRef::CommonTableExpr(query) => {
                queries.borrow_mut().insert(query.ctename.clone());
            }
            NodeRef::RangeVar(relation) if relation.schemaname.is_empty() => {
                if let Ok(place) = usize::try_from(relation.location) {
                    places.borrow_mut().insert(place, relation.relname.clone());
                }
            }
            NodeRef::FuncCall(call) => {
                if let [name] = names::strings(&call.funcname).as_slice()
                    && let Ok(place) = usize::try_from(call.location)
                {
                    routines.borrow_mut().insert(place, (*name).to_string());
                }
            }
            _ => {}
        }
        false
    });
    let mut text = text.to_string();
    // Routines and relations stand in different places.
    let mut schemas = BTreeMap::new();
    for (place, name) in routines.take() {
        let means = |planner: &Planner| {
            let found = planner.find_routines(None, &name);
            found.first().map(|routine| routine.record.schema.clone())
        };
        if let Some(schema) = means(within)
            && means(reader).as_ref() != Some(&schema)
        {
            schemas.insert(place, schema);
        }
    }
    for (place, name) in places.take() {
        let is_query = queries.borrow().contains(&name);
        let found = within.path().iter().find(|schema| {
            let catalog = within.catalog();
            catalog.relation(schema, &name).is_some()
        });
        if let Some(schema) = found
            && !is_query
            && !reader.shows(schema, &name)
        {
            schemas.insert(place, schema.clone());
        }
    }
    // From behind, so that places before stay what they are.
    for (place, schema) in schemas.into_iter().rev() {
        if text.is_char_boundary(place) {
            text.insert_str(place, &format!("{}.", print::quoted(&schema)));
        }
    }
    text
}

/// The text of a query without the schemas of relations and routines that the reader finds by their names alone.
fn without_schemas(reader: &Planner, mut text: String) -> String {
    let parsed = parse::parse(&text).ok();
    let node = parsed.and_then(|all| all.into_iter().next()?.into_node());
    let (Some(node), Ok(words)) = (node, parse::scan(&text)) else {
        return text;
    };
    let queries = RefCell::new(BTreeSet::new());
    let said = RefCell::new(BTreeMap::new());
    any_node(&node, &|node| {
        match node {
            NodeRef::CommonTableExpr(query) => {
                queries.borrow_mut().insert(query.ctename.clone());
            }
            NodeRef::RangeVar(relation)
                if relation.catalogname.is_empty()
                    && reader.shows(&relation.schemaname, &relation.relname) =>
            {
                if let Ok(place) = usize::try_from(relation.location) {
                    said.borrow_mut().insert(place, relation.relname.clone());
                }
            }
            NodeRef::FuncCall(call) => {
                if let [schema, name] = names::strings(&call.funcname).as_slice()
                    && let Ok(place) = usize::try_from(call.location)
                {
                    let found = reader.find_routines(None, name);
                    let mut schemas = found.iter().map(|routine| &*routine.record.schema);
                    if !found.is_empty() && schemas.all(|found| found == *schema) {
                        // No query of WITH is called so.
                        said.borrow_mut().insert(place, String::new());
                    }
                }
            }
            _ => {}
        }
        false
    });
    for (place, name) in said.take().into_iter().rev() {
        let at = words.iter().position(|(from, _)| *from == place);
        let name_at = at.and_then(|at| words.get(at + 2));
        if let Some((end, _)) = name_at.filter(|_| !queries.borrow().contains(&name)) {
            text.replace_range(place..*end, "");
        }
    }
    text
}

fn query_text(
    (planner, reader): (&Planner, &Planner),
    select: &SelectStmt,
    view: &ViewRecord,
    pretty: bool,
) -> Option<String> {
    let plain = select.with_clause.is_none()
        && select.window_clause.is_empty()
        && select.values_lists.is_empty()
        && select.locking_clause.is_empty()
        && select.distinct_clause.len() <= 1
        && !select.group_distinct
        && matches!(
            select.op(),
            SetOperation::SetopNone | SetOperation::Undefined
        );
    if !plain {
        return None;
    }
    let mut from = From::default();
    from.add_items(planner, &select.from_clause).ok()?;
    let scope = &from.scope;
    let shown = |node: &Node| print::certainly(planner, scope, node, pretty);
    let mut items = Vec::with_capacity(select.target_list.len());
    for (node, column) in select.target_list.iter().zip(&view.columns) {
        let NodeEnum::ResTarget(target) = inner(node)? else {
            return None;
        };
        let value = target.val.as_deref()?;
        let own = match inner(value) {
            Some(NodeEnum::ColumnRef(column)) => names::strings(&column.fields).pop(),
            _ => None,
        };
        let text = shown(value)?;
        items.push(match own == Some(column.name.as_str()) {
            true => text,
            false => format!("{text} AS {}", print::quoted(&column.name)),
        });
    }
    let distinct = match select.distinct_clause.first() {
        None => "",
        Some(node) if inner(node).is_none() => "DISTINCT ",
        Some(_) => return None,
    };
    let mut text = format!(" SELECT {distinct}{}", items.join(",\n    "));
    if !select.from_clause.is_empty() {
        let items: Option<Vec<String>> = select
            .from_clause
            .iter()
            .map(|item| item_text((planner, reader), scope, item, pretty))
            .collect();
        text += &format!("\n   FROM {}", items?.join(",\n    "));
    }
    if let Some(node) = select.where_clause.as_deref() {
        text += &format!("\n  WHERE {}", shown(node)?);
    }
    if !select.group_clause.is_empty() {
        let keys: Option<Vec<String>> = select.group_clause.iter().map(&shown).collect();
        text += &format!("\n  GROUP BY {}", keys?.join(", "));
    }
    if let Some(node) = select.having_clause.as_deref() {
        text += &format!("\n HAVING {}", shown(node)?);
    }
    if !select.sort_clause.is_empty() {
        let keys = select.sort_clause.iter().map(|node| {
            let NodeEnum::SortBy(sort) = inner(node)? else {
                return None;
            };
            let key = sort.node.as_deref()?;
            // A number stands for an item of the list.
            let mut text = match names::integer(key) {
                Some(number) => {
                    let item = items.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
                    item.split(" AS ").next()?.to_string()
                }
                None => shown(key)?,
            };
            if sort.sortby_dir() == SortByDir::SortbyDesc {
                text += " DESC";
            }
            text += match sort.sortby_nulls() {
                SortByNulls::SortbyNullsFirst => " NULLS FIRST",
                SortByNulls::SortbyNullsLast => " NULLS LAST",
                _ => "",
            };
            Some(text)
        });
        let keys: Option<Vec<String>> = keys.collect();
        text += &format!("\n  ORDER BY {}", keys?.join(", "));
    }
    if let Some(node) = select.limit_offset.as_deref() {
        text += &format!("\n OFFSET {}", shown(node)?);
    }
    if let Some(node) = select.limit_count.as_deref() {
        text += &format!("\n LIMIT {}", shown(node)?);
    }
    Some(text)
}

fn item_text(
    (planner, reader): (&Planner, &Planner),
    scope: &Scope,
    item: &Node,
    pretty: bool,
) -> Option<String> {
    match inner(item)? {
        NodeEnum::RangeVar(relation) => {
            let name = print::quoted(&relation.relname);
            let name = match relation.schemaname.as_str() {
                "" => name,
                schema if reader.shows(schema, &relation.relname) => name,
                schema => format!("{}.{name}", print::quoted(schema)),
            };
            Some(name + &alias_text(relation.alias.as_ref())?)
        }
        NodeEnum::JoinExpr(join) => join_text((planner, reader), scope, join, pretty),
        _ => None,
    }
}

fn alias_text(alias: Option<&Alias>) -> Option<String> {
    match alias {
        None => Some(String::new()),
        Some(alias) if alias.colnames.is_empty() => {
            Some(format!(" {}", print::quoted(&alias.aliasname)))
        }
        Some(_) => None,
    }
}

fn join_text(
    (planner, reader): (&Planner, &Planner),
    scope: &Scope,
    join: &JoinExpr,
    pretty: bool,
) -> Option<String> {
    if join.alias.is_some() || join.is_natural || join.join_using_alias.is_some() {
        return None;
    }
    let left = item_text((planner, reader), scope, join.larg.as_deref()?, pretty)?;
    let right = item_text((planner, reader), scope, join.rarg.as_deref()?, pretty)?;
    let word = match join.jointype() {
        JoinType::JoinInner if join.quals.is_none() && join.using_clause.is_empty() => "CROSS JOIN",
        JoinType::JoinInner => "JOIN",
        JoinType::JoinLeft => "LEFT JOIN",
        JoinType::JoinRight => "RIGHT JOIN",
        JoinType::JoinFull => "FULL JOIN",
        _ => return None,
    };
    let condition = match join.quals.as_deref() {
        Some(node) => {
            let shown = print::certainly(planner, scope, node, pretty)?;
            match pretty {
                true => format!(" ON {shown}"),
                false => format!(" ON ({shown})"),
            }
        }
        None if join.using_clause.is_empty() => String::new(),
        None => {
            let names = names::strings(&join.using_clause);
            let names: Vec<String> = names.into_iter().map(print::quoted).collect();
            format!(" USING ({})", names.join(", "))
        }
    };
    let text = format!("{left}\n     {word} {right}{condition}");
    Some(match pretty {
        true => text,
        false => format!("({text})"),
    })
}
