//! WITH.
//!
//! Relies on: `select`.  Promises: a WITH query that is named once is planned where it is named, as a subselect; one
//! that is named more often, or is MATERIALIZED, is run once and its rows are kept; each sees the WITH
//! queries before it, and all of them after WITH RECURSIVE.  Does not: queries that change data (`routine::changes`
//! has them).

use crate::from::{From, add_query, alias_or, rename_columns, starting_at};
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::pulled::Parts;
use crate::recursion::plan_recursive;
use crate::routine::any_node;
use crate::scope::Output;
use crate::search::Marks;
use crate::select::{Query, Rows, plan_query};
use pg_query::protobuf::{CteMaterialize, RangeVar, SelectStmt, WithClause};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{SqlResult, SqlState};
use quintet_ir::expressions::uses_outer;
use quintet_ir::plan::{Plan, Turns};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

/// One WITH query in sight.
#[derive(Clone)]
pub(crate) struct WithQuery {
    pub name: String,
    pub columns: Vec<String>,
    pub query: Box<SelectStmt>,
    /// SEARCH and CYCLE.
    pub marks: Option<Marks>,
    /// How many WITH queries are in sight of it.
    pub sees: usize,
    /// It names itself, and may.
    recursive: bool,
    /// Its rows are kept, for it is named more than once, or so it was asked for.
    keeps: bool,
    /// Somebody has named it.
    named: bool,
    pub state: State,
}

/// How far a WITH query has come.
#[derive(Clone)]
pub(crate) enum State {
    /// Nobody has named it.
    New,
    /// It changes rows and returns none: it has been run already, and cannot be named.
    Silent,
    /// It is being planned.
    Begun,
    /// The term of a recursion is being planned: its name is the rows of the turn before.
    Turning { number: usize, outputs: Vec<Output> },
    /// Planned, and to be run before what names it.
    Kept {
        number: usize,
        plan: Box<Plan>,
        outputs: Vec<Output>,
    },
}

/// A WITH query where its name is used.
pub(crate) fn bind_with(
    planner: &Planner,
    place: usize,
    relation: &RangeVar,
    start: usize,
) -> SqlResult<From> {
    let with = planner.with.borrow()[place].clone();
    let (plan, outputs, parts) = match with.state {
        State::Turning { number, outputs } => given(number, outputs, true),
        State::Kept {
            number, outputs, ..
        } => given(number, outputs, false),
        State::Begun => {
            let message = "mutual recursion between WITH items is not implemented";
            let state = SqlState::FEATURE_NOT_SUPPORTED;
            return Err(planner.error(state, message, relation.location));
        }
        State::Silent => {
            let message = format!(
                "WITH query \"{}\" does not have a RETURNING clause",
                with.name
            );
            let state = SqlState::FEATURE_NOT_SUPPORTED;
            return Err(planner.error(state, message, relation.location));
        }
        State::New => {
            let query = plan_once(planner, place, &with)?;
            match with.keeps {
                false => (query.plan, query.outputs, query.parts),
                true => {
                    let number = planner.next_number();
                    let outputs = query.outputs;
                    planner.with.borrow_mut()[place].state = State::Kept {
                        number,
                        plan: Box::new(query.plan),
                        outputs: outputs.clone(),
                    };
                    given(number, outputs, false)
                }
            }
        }
    };
    let mut from = starting_at(start);
    let name = alias_or(relation.alias.as_ref(), &relation.relname);
    // What it is handed is not what the query at hand is.
    let parts = parts.filter(|_| !uses_outer(&plan));
    let query = Query {
        plan,
        outputs,
        rows: Rows::Many,
        parts,
    };
    add_query(planner, &mut from, query, None, (name, None));
    rename_columns(planner, &mut from, relation.alias.as_ref())?;
    Ok(from)
}

fn given(number: usize, outputs: Vec<Output>, turning: bool) -> (Plan, Vec<Output>, Option<Parts>) {
    let plan = Plan::Given {
        number,
        types: outputs.iter().map(|output| output.ty).collect(),
        turning,
    };
    (plan, outputs, None)
}

fn plan_once(planner: &Planner, place: usize, with: &WithQuery) -> SqlResult<Query> {
    // It does not see the queries of statements inside the one that it belongs to.
    planner.with.borrow_mut()[place].state = State::Begun;
    planner.with.borrow_mut()[place].named = true;
    let hidden = planner.with.borrow_mut().split_off(with.sees);
    let planned = planner.deeper(|| match with.recursive {
        true => plan_recursive(planner, place, with),
        false => {
            let mut query = plan_query(planner, &with.query, None)?;
            rename(planner, with, &mut query.outputs)?;
            Ok(query)
        }
    });
    let mut known = planner.with.borrow_mut();
    known.extend(hidden);
    known[place].state = State::New;
    planned
}

/// Gives the columns the names that WITH gives them.
pub(crate) fn rename(planner: &Planner, with: &WithQuery, outputs: &mut [Output]) -> SqlResult<()> {
    if with.columns.len() > outputs.len() {
        return Err(planner.error(
            SqlState::INVALID_COLUMN_REFERENCE,
            format!(
                "WITH query \"{}\" has {} columns available but {} columns specified",
                with.name,
                outputs.len(),
                with.columns.len()
            ),
            -1,
        ));
    }
    for (column, name) in outputs.iter_mut().zip(&with.columns) {
        column.name = name.clone();
    }
    Ok(())
}

/// Puts the queries of a statement's WITH clause in sight; how many there were before.
///
/// # Errors
/// `0A000` for those that change data.
pub(crate) fn enter_with(
    planner: &Planner,
    with: Option<&WithClause>,
    statement: &dyn Fn() -> NodeEnum,
) -> SqlResult<usize> {
    let before = planner.with.borrow().len();
    let Some(with) = with else {
        return Ok(before);
    };
    // Counted once for all of them: there may be thousands.
    let mentioned = all_mentions(&statement());
    let mut names = HashSet::new();
    let mut added: Vec<WithQuery> = Vec::new();
    for node in &with.ctes {
        let Some(NodeEnum::CommonTableExpr(query)) = inner(node) else {
            continue;
        };
        if !names.insert(query.ctename.as_str()) {
            let message = format!(
                "WITH query name \"{}\" specified more than once",
                query.ctename
            );
            return Err(planner.error(SqlState::DUPLICATE_ALIAS, message, query.location));
        }
        let columns = names::strings(&query.aliascolnames);
        let columns = columns.iter().map(|name| (*name).to_string()).collect();
        if query.ctequery.is_none() {
            let silent = WithQuery {
                name: query.ctename.clone(),
                columns,
                marks: None,
                query: Box::default(),
                sees: before,
                recursive: false,
                keeps: false,
                named: false,
                state: State::Silent,
            };
            rename(planner, &silent, &mut [])?;
            added.push(silent);
            continue;
        }
        let Some(inside @ NodeEnum::SelectStmt(select)) = query.ctequery.as_deref().and_then(inner)
        else {
            return Err(planner.unsupported("a WITH query that changes data", query.location));
        };
        let own = mentions(inside, &query.ctename);
        let others = mentioned.get(&query.ctename).map_or(0, |all| all - own);
        added.push(WithQuery {
            name: query.ctename.clone(),
            columns,
            marks: Marks::of(query, with.recursive && own > 0)
                .map_err(planner.at(query.location))?,
            query: select.clone(),
            sees: match with.recursive {
                true => before + with.ctes.len(),
                false => before + added.len(),
            },
            recursive: with.recursive && own > 0,
            keeps: match query.ctematerialized() {
                CteMaterialize::Always => true,
                CteMaterialize::Never => false,
                _ => others > 1,
            },
            named: false,
            state: State::New,
        });
    }
    planner.with.borrow_mut().extend(added);
    Ok(before)
}

/// How often each name stands in FROM somewhere in a statement.
fn all_mentions(statement: &NodeEnum) -> HashMap<String, usize> {
    let counts = RefCell::new(HashMap::new());
    any_node(statement, &|node| {
        if let NodeRef::RangeVar(relation) = node
            && relation.schemaname.is_empty()
        {
            let mut counts = counts.borrow_mut();
            match counts.get_mut(&relation.relname) {
                Some(count) => *count += 1,
                None => {
                    counts.insert(relation.relname.clone(), 1);
                }
            }
        }
        false
    });
    counts.into_inner()
}

/// How often a name stands in FROM somewhere in a statement.
pub(crate) fn mentions(statement: &NodeEnum, name: &str) -> usize {
    let count = Cell::new(0);
    any_node(statement, &|node| {
        if let NodeRef::RangeVar(relation) = node
            && relation.schemaname.is_empty()
            && relation.relname == name
        {
            count.set(count.get() + 1);
        }
        false
    });
    count.get()
}

/// Takes the queries of a WITH clause out of sight again, where nothing is to be run.
pub(crate) fn forget_with(planner: &Planner, before: usize) {
    planner.with.borrow_mut().truncate(before);
}

/// Takes the queries of a WITH clause out of sight again. Those whose rows are kept are run before `plan`, which
/// names them; those that nobody has named are not run.
///
/// # Errors
/// What is wrong with one that nobody has named.
pub(crate) fn leave_with(planner: &Planner, before: usize, plan: Plan) -> SqlResult<Plan> {
    let entered = before..planner.with.borrow().len();
    for place in entered {
        let with = planner.with.borrow()[place].clone();
        if !with.named && !matches!(with.state, State::Silent) {
            planner.for_nothing(|| plan_once(planner, place, &with))?;
        }
    }
    let left = planner.with.borrow_mut().split_off(before);
    // One may name those before it, and, after WITH RECURSIVE, those behind it: who has the lower number
    // was planned first, for it is what the other one needed.
    let mut kept: Vec<(usize, Box<Plan>)> = left
        .into_iter()
        .filter_map(|with| match with.state {
            State::Kept { number, plan, .. } => Some((number, plan)),
            _ => None,
        })
        .collect();
    kept.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    Ok(kept
        .into_iter()
        .fold(plan, |then, (number, first)| Plan::With {
            number,
            first,
            then: Box::new(then),
            turns: Turns::Once,
        }))
}
