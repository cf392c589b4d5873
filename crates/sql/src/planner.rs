//! One statement's planning: what it may look at, and what it learns on the way.
//!
//! Relies on: a parsed statement, a catalogue.  Promises: planning changes nothing; the same
//! statement, catalogue and settings give the same plan.  Does not: run anything.
//!
//! Parameters without a type take one from the first place that asks for one; see `coerce`.

mod names;
mod needs;

pub(crate) use names::names_of_path;
pub(crate) use needs::no_needs;

use crate::catalog::Catalog;
use crate::command::{Command, Notice, Planned};
use crate::ddl::refuse_unpopulated;
use crate::expr::Heights;
use crate::parse::{self, Parsed};
use crate::rewrite::same;
use crate::routine::{Calls, hold, plan_explain};
use crate::row_security::{PartOf, RowChecks, RowSecurity};
use crate::scope::{Scope, ScopeColumn, ScopeTable};
use crate::semi_join::Asked;
use crate::sizes::Sizes;
use crate::temporary::schema_of;
use crate::variables::Variables;
use names::schemas_of;
use pg_query::protobuf::Node;
use quintet_base::text_format::FormatContext;
use quintet_base::{RoleId, SqlError, SqlResult, SqlState, SqlType, TableId, limits, stack};
use quintet_ir::aggregate::AggregateCall;
use quintet_ir::expressions::{each_node, each_of_statement, subqueries};
use quintet_ir::statement::{Body, OutputColumn, Procedure, Statement};
use quintet_ir::{Expr, Need, Plan};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// What planning depends on besides the statement.
pub struct PlanContext<'a> {
    /// Names and definitions.
    pub catalog: &'a Catalog,
    /// `search_path`: where bare names are looked for, in this order.
    pub schema: &'a str,
    /// Whose statement it is.
    pub user: Who,
    /// current_database().
    pub database: &'a str,
    /// How literals of dates are read.
    pub format: &'a FormatContext,
    /// Of a routine that is made anew while it runs: what its dynamic statements have given.
    pub dynamic: &'a DynamicColumns,
}

/// The columns of dynamic statements that have been run, by the numbers of their landmarks.
pub type DynamicColumns = BTreeMap<usize, Vec<OutputColumn>>;

/// Nothing has been run.
pub static NOTHING_DYNAMIC: DynamicColumns = DynamicColumns::new();

/// Whose statement is planned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Who {
    /// current_user.
    pub role: RoleId,
    /// session_user.
    pub session: RoleId,
    /// For the verifier of a password that the statement may have.
    pub salt: [u8; 16],
    /// The number of the session, by which its temporary tables are found; 0: of no session.
    pub temporary: u32,
    /// `check_function_bodies` is off: what a routine does is looked at when it is called.
    pub bodies_unchecked: bool,
    /// Whose rows the plan is to meet.
    pub rows: RowSecurity,
}

impl Who {
    /// The bootstrap superuser, for what nobody in particular plans.
    pub const SYSTEM: Who = Who {
        role: RoleId::BOOTSTRAP,
        session: RoleId::BOOTSTRAP,
        salt: [0; 16],
        temporary: 0,
        bodies_unchecked: false,
        rows: RowSecurity::Asked,
    };
}

/// An expression over the first of these levels as the innermost one is handed it.
fn handed_in(levels: &mut [Level], mut expr: Expr) -> Expr {
    for level in levels {
        let known = level.handed.iter().position(|other| same(other, &expr));
        let place = known.unwrap_or_else(|| {
            level.handed.push(expr.clone());
            level.handed.len() - 1
        });
        expr = Expr::Outer(place, expr.ty());
    }
    expr
}

/// What a column's name in a text stands for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct NamedColumn {
    /// The table in sight, as it is called there.
    pub table: String,
    /// The table or view whose rows these are.
    pub row: Option<TableId>,
    /// Which of the table's columns, and what it is called.
    pub number: usize,
    pub name: String,
}

/// What of a subselect's columns may stand in the query around it, in the place of the subselect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Inlines {
    /// Nothing: GROUPING SETS leave out columns that are alike each by itself.
    Nothing,
    /// What is NULL if its tables' columns are: an outer join makes NULLs of them.
    Nullable,
    /// Any expression.
    Expressions,
}

/// The state of planning one statement.
pub(crate) struct Planner<'a> {
    pub context: &'a PlanContext<'a>,
    /// How many rows there are; not inside routines, whose plans are made once for all times.
    pub sizes: Option<&'a Sizes<'a>>,
    source: &'a str,
    /// The schemas of the search path that are there.
    path: Vec<String>,
    /// How many of them the path does not name: the session's temporary schema.
    unnamed: usize,
    /// The session's temporary schema, there or not.
    temporary: Option<String>,
    /// Tables and views that names have meant so far, with the places of their columns.
    uses: RefCell<BTreeMap<TableId, BTreeSet<usize>>>,
    /// Materialized views without rows that views read; who only makes a view of them may.
    unpopulated: RefCell<Vec<TableId>>,
    /// The statement's own part of it.
    text: &'a str,
    /// Those of the routine that the statement stands in: parameters, all of them decided.
    pub variables: Option<&'a Variables>,
    /// Calls of routines in the expression at hand.
    pub calls: Calls,
    /// Types of the parameters met so far; `Unknown` until something asks for a type.
    params: RefCell<Vec<SqlType>>,
    pub notices: RefCell<Vec<Notice>>,
    /// What the statement needs, in the order in which it was met.
    needs: RefCell<Vec<Need>>,
    /// What whoever runs it needs although a view with an owner is around: what is below another that has the rights of its user.
    users_needs: RefCell<Vec<Need>>,
    /// Tables that the statement changes: they are read, too, if one of their columns is named.
    targets: RefCell<Vec<TableId>>,
    /// Relations that it reads.
    sources: RefCell<BTreeSet<TableId>>,
    /// WITH queries in sight, by name, innermost last.
    pub with: RefCell<Vec<crate::with::WithQuery>>,
    /// What the SELECT whose FROM is being bound says of locks.
    pub locking: RefCell<Vec<Node>>,
    /// How many numbers of kept rows have been given out.
    numbers: Cell<usize>,
    /// What is in sight around the subquery at hand, innermost last.
    outer: RefCell<Vec<Level>>,
    /// What of a subselect may stand in the query around it.
    pub inlines: Cell<Inlines>,
    /// How many subqueries deep planning is.
    depth: Cell<usize>,
    /// How high the expression at hand is so far.
    pub heights: Heights,
    /// Where each place of the frame at hand was first named, for errors that come up later.
    named_at: RefCell<BTreeMap<usize, i32>>,
    /// Whose policies and privileges count instead of the user's: the owner's of the view whose query this is.
    pub acts_as: Cell<Option<RoleId>>,
    /// Tables whose policies are being planned, outermost first.
    pub guarded: RefCell<Vec<TableId>>,
    /// Changed tables of which a column is named.
    read_targets: RefCell<BTreeSet<TableId>>,
    /// What rows must fulfil that the statement writes, where it fires triggers.
    pub row_checks: RefCell<RowChecks>,
    /// What the statement is a part of.
    pub part_of: Cell<PartOf>,
    /// Where who reads a definition looks for bare names, if that is somebody else.
    pub read_from: RefCell<Option<Vec<String>>>,
    /// Subqueries that may be joins where many rows ask them.
    pub asked: RefCell<Vec<Asked>>,
    /// What names of columns stand for, by where they stand, if somebody asks.
    pub columns_named: RefCell<Option<BTreeMap<i32, NamedColumn>>>,
}

/// Where a subquery stands, as far as aggregates are concerned that belong to the query around it.
pub(crate) struct Around {
    /// As messages call it.
    pub clause: &'static str,
    /// Those that the query has collected; `None` where it may have none.
    pub aggregates: Option<Vec<AggregateCall>>,
}

/// What stands around a subquery.
pub(crate) struct Level {
    pub scope: Scope,
    pub around: Around,
    /// What the subquery is handed of it, over its frame.
    handed: Vec<Expr>,
}

/// Subqueries within subqueries, views and inlined WITH queries included: these nest also where no text does.
const SUBQUERY_DEPTH_MAX: usize = 1_000;

impl<'a> Planner<'a> {
    /// For a statement or an expression inside a routine.
    pub fn inside(
        context: &'a PlanContext<'a>,
        source: &'a str,
        variables: &'a Variables,
    ) -> Planner<'a> {
        Planner {
            variables: Some(variables),
            ..Planner::new(context, source, &variables.types())
        }
    }

    pub fn new(context: &'a PlanContext<'a>, source: &'a str, params: &[SqlType]) -> Planner<'a> {
        let session = context.user.temporary;
        let temporary = (session > 0).then(|| schema_of(session));
        let (path, unnamed) = schemas_of(context, temporary.as_deref());
        Planner {
            context,
            sizes: None,
            source,
            path,
            unnamed,
            temporary,
            uses: RefCell::default(),
            unpopulated: RefCell::default(),
            text: source,
            variables: None,
            calls: Calls::default(),
            params: RefCell::new(params.to_vec()),
            notices: RefCell::new(Vec::new()),
            needs: RefCell::new(Vec::new()),
            users_needs: RefCell::default(),
            targets: RefCell::new(Vec::new()),
            with: RefCell::new(Vec::new()),
            locking: RefCell::default(),
            numbers: Cell::new(0),
            outer: RefCell::new(Vec::new()),
            inlines: Cell::new(Inlines::Expressions),
            depth: Cell::new(0),
            heights: Heights::default(),
            named_at: RefCell::new(BTreeMap::new()),
            acts_as: Cell::new(None),
            guarded: RefCell::default(),
            read_targets: RefCell::default(),
            sources: RefCell::default(),
            row_checks: RefCell::default(),
            part_of: Cell::default(),
            read_from: RefCell::default(),
            asked: RefCell::default(),
            columns_named: RefCell::default(),
        }
    }

    /// The text that is planned: the statement's own, if it is planned from its parsed form.
    pub fn statement_text(&self) -> &'a str {
        self.text
    }

    /// The text that places in the statement count from.
    pub fn source(&self) -> &'a str {
        self.source
    }

    /// Remembers that a name means this relation, or this column of it (from 1).
    pub fn use_origin(&self, origin: Option<(TableId, u16)>) {
        if let Some((relation, column)) = origin {
            let mut uses = self.uses.borrow_mut();
            let columns = uses.entry(relation).or_default();
            columns.insert(usize::from(column).saturating_sub(1));
        }
    }

    /// Remembers that a name means this relation.
    pub fn use_relation(&self, relation: TableId) {
        self.uses.borrow_mut().entry(relation).or_default();
    }

    /// What has been remembered so.
    pub fn uses(&self) -> Vec<(TableId, Vec<usize>)> {
        let uses = self.uses.borrow();
        uses.iter()
            .map(|(relation, columns)| (*relation, columns.iter().copied().collect()))
            .collect()
    }

    /// True if a parameter has been met.
    pub fn has_params(&self) -> bool {
        !self.params.borrow().is_empty()
    }

    /// Subqueries are nested here as deep as there.
    pub fn as_deep_as(&self, outer: &Planner) {
        self.depth.set(outer.depth.get());
    }

    pub fn catalog(&self) -> &'a Catalog {
        self.context.catalog
    }

    /// Adds the place to an error; a negative location is none. Nothing is counted until there is an
    /// error: the text of a bulk load is long.
    pub fn at(&self, location: i32) -> impl Fn(SqlError) -> SqlError + use<'a> {
        let source = self.source;
        move |error| match usize::try_from(location) {
            Ok(offset) if !source.is_empty() => error.at(parse::position(source, offset)),
            _ => error,
        }
    }

    /// An error with a place.
    pub fn error(&self, state: SqlState, message: impl Into<String>, location: i32) -> SqlError {
        self.at(location)(SqlError::new(state, message))
    }

    /// `0A000` with a place.
    pub fn unsupported(&self, what: impl fmt::Display, location: i32) -> SqlError {
        self.at(location)(SqlError::unsupported(what))
    }

    pub fn notice(&self, message: String) {
        self.notices.borrow_mut().push(Notice {
            severity: "NOTICE",
            message: SqlError::new(SqlState::SUCCESSFUL_COMPLETION, message),
        });
    }

    /// A notice that something is there already.
    pub fn notice_there(&self, state: SqlState, what: impl fmt::Display) {
        let message = SqlError::new(state, format!("{what} already exists, skipping"));
        self.notices.borrow_mut().push(Notice {
            severity: "NOTICE",
            message,
        });
    }

    /// A notice of all that goes along with what is dropped.
    pub fn notice_cascade(&self, objects: &[String]) {
        if let [one] = objects {
            return self.notice(format!("drop cascades to {one}"));
        }
        let lines = objects
            .iter()
            .map(|object| format!("drop cascades to {object}"));
        let message = SqlError::new(
            SqlState::SUCCESSFUL_COMPLETION,
            format!("drop cascades to {} other objects", objects.len()),
        );
        self.notices.borrow_mut().push(Notice {
            severity: "NOTICE",
            message: message.detail(lines.collect::<Vec<_>>().join("\n")),
        });
    }

    pub fn warn(&self, message: SqlError) {
        self.notices.borrow_mut().push(Notice {
            severity: "WARNING",
            message,
        });
    }

    pub fn warning(&self, state: SqlState, message: String) {
        self.notices.borrow_mut().push(Notice {
            severity: "WARNING",
            message: SqlError::new(state, message),
        });
    }

    /// Goes on with the numbers behind those that another planner of the same statement has given out.
    pub fn number_behind(&self, other: &Planner) {
        self.numbers.set(other.numbers.get());
    }

    /// A number for rows that WITH keeps; each only once in a statement.
    pub fn next_number(&self) -> usize {
        self.numbers.set(self.numbers.get() + 1);
        self.numbers.get()
    }

    /// The type of parameter `$number` so far.
    pub fn param_type(&self, number: i32, location: i32) -> SqlResult<(usize, SqlType)> {
        let place = usize::try_from(number - 1)
            .ok()
            .filter(|&n| n < limits::PARAMETERS_MAX)
            .and_then(|n| match self.variables {
                Some(known) => known.numbered.get(n).copied(),
                None => Some(Some(n)),
            });
        if let Some(None) = place {
            return Err(self.unsupported(format!("${number}, a row"), location));
        }
        let Some(Some(place)) = place else {
            let message = format!("there is no parameter ${number}");
            return Err(self.error(SqlState::UNDEFINED_PARAMETER, message, location));
        };
        let mut params = self.params.borrow_mut();
        if params.len() <= place {
            params.resize(place + 1, SqlType::Unknown);
        }
        Ok((place, params[place]))
    }

    /// A slot of the routine that the statement stands in, with its type.
    pub fn slot(&self, slot: usize) -> (usize, SqlType) {
        (slot, self.params.borrow()[slot])
    }

    /// Decides a parameter's type, unless an earlier use has; the type it has now.
    pub fn decide_param(&self, place: usize, ty: SqlType) -> SqlType {
        let mut params = self.params.borrow_mut();
        if params[place] == SqlType::Unknown {
            params[place] = ty;
        }
        params[place]
    }

    /// Whether a query around the one at hand is being planned.
    pub fn is_within(&self) -> bool {
        self.depth.get() > 0
    }

    /// Runs `plan` one subquery deeper.
    pub fn deeper<T>(&self, plan: impl FnOnce() -> SqlResult<T>) -> SqlResult<T> {
        if self.depth.get() >= SUBQUERY_DEPTH_MAX {
            return Err(parse::too_complex());
        }
        self.depth.set(self.depth.get() + 1);
        let named_at = self.named_at.take();
        let inlines = self.inlines.replace(Inlines::Expressions);
        let result = parse::with_room(plan);
        self.inlines.set(inlines);
        self.named_at.replace(named_at);
        self.depth.set(self.depth.get() - 1);
        result
    }

    /// Runs `plan` for a subquery around which `outer` is in sight; what the subquery is handed of it, which
    /// [`Expr::Outer`] stands for inside. `around` gains the aggregates of the query around that stand in the subquery.
    pub fn with_outer<T>(
        &self,
        outer: &Scope,
        around: &mut Around,
        plan: impl FnOnce() -> SqlResult<T>,
    ) -> SqlResult<(T, Vec<Expr>)> {
        self.outer.borrow_mut().push(Level {
            scope: outer.clone(),
            around: Around {
                clause: around.clause,
                aggregates: around.aggregates.take(),
            },
            handed: Vec::new(),
        });
        let result = plan();
        let level = self.outer.borrow_mut().pop();
        let Some(level) = level else {
            return Err(SqlError::internal("a subquery that stands nowhere"));
        };
        around.aggregates = level.around.aggregates;
        Ok((result?, level.handed))
    }

    /// How much the subqueries at hand are handed so far, from the outermost one on.
    pub fn handed_so_far(&self) -> Vec<usize> {
        let levels = self.outer.borrow();
        levels.iter().map(|level| level.handed.len()).collect()
    }

    /// Takes back what was handed since.
    pub fn hand_back(&self, before: &[usize]) {
        let mut levels = self.outer.borrow_mut();
        let both = levels.iter_mut().zip(before);
        both.for_each(|(level, before)| level.handed.truncate(*before));
    }

    /// Runs `bind` as if the innermost subquery were not there, for an expression that belongs to the query around it; what it
    /// gives, as it is handed to the subquery. `None` outside of subqueries.
    ///
    /// # Errors
    /// What `bind` says.
    pub fn one_level_out(
        &self,
        bind: impl FnOnce(&mut Level) -> SqlResult<Option<Expr>>,
    ) -> SqlResult<Option<Expr>> {
        let Some(mut level) = self.outer.borrow_mut().pop() else {
            return Ok(None);
        };
        let bound = bind(&mut level);
        let mut levels = self.outer.borrow_mut();
        levels.push(level);
        let place = levels.len() - 1;
        Ok(bound?.map(|expr| handed_in(&mut levels[place..], expr)))
    }

    /// Whether what is planned is a subquery that may name columns around it.
    pub fn is_in_subquery(&self) -> bool {
        !self.outer.borrow().is_empty()
    }

    /// The column that a name means around the subquery at hand, from the inside out, as it is handed to the
    /// subquery; `None` if it means nothing there.
    ///
    /// # Errors
    /// `42702` if it means several at one level, `42703` if it names a table there and none of its columns.
    pub fn outer_column(&self, name: &[&str], location: i32) -> SqlResult<Option<ScopeColumn>> {
        let mut levels = self.outer.borrow_mut();
        let mut found = None;
        for (number, level) in levels.iter().enumerate().rev() {
            match level.scope.resolve(self, name, location) {
                Ok(column) => {
                    found = Some((number, column.clone()));
                    break;
                }
                Err(error) => match error.state {
                    SqlState::UNDEFINED_TABLE => {}
                    SqlState::UNDEFINED_COLUMN if name.len() == 1 => {}
                    _ => return Err(error),
                },
            }
        }
        let Some((number, mut column)) = found else {
            return Ok(None);
        };
        column.expr = handed_in(&mut levels[number..], column.expr);
        Ok(Some(column))
    }

    /// The table that a name means around the subquery at hand, from the inside out, and how many levels out; `None` if it means a
    /// column there, or nothing.
    pub fn outer_table(&self, name: &str) -> Option<(usize, ScopeTable)> {
        let levels = self.outer.borrow();
        for (number, level) in levels.iter().enumerate().rev() {
            if level.scope.resolve(self, &[name], -1).is_ok() {
                return None;
            }
            let mut tables = level.scope.tables.iter();
            if let Some(table) = tables.find(|table| table.name == name) {
                return Some((number, table.clone()));
            }
        }
        None
    }

    /// An expression over what is in sight at a level, as it is handed to the subquery at hand.
    pub fn hand_in(&self, level: usize, expr: Expr) -> Expr {
        handed_in(&mut self.outer.borrow_mut()[level..], expr)
    }

    /// Remembers where a place of the frame is named.
    pub fn name_column(&self, column: usize, location: i32) {
        self.named_at.borrow_mut().entry(column).or_insert(location);
    }

    /// Where a place of the frame was first named.
    pub fn where_named(&self, column: usize) -> i32 {
        self.named_at.borrow().get(&column).copied().unwrap_or(-1)
    }

    /// The type that a client has declared for a parameter, `Unknown` if it has not.
    pub fn declared(&self, place: usize) -> SqlType {
        let params = self.params.borrow();
        params.get(place).copied().unwrap_or(SqlType::Unknown)
    }

    /// The types of parameters as far as they are decided; inside a routine of its slots.
    pub fn decided(&self) -> Vec<SqlType> {
        self.params.borrow().clone()
    }

    /// What a planner of a part of this statement has decided of its parameters.
    pub fn decides_as(&self, part: &Planner) {
        *self.params.borrow_mut() = part.decided();
    }

    /// The statement's parameters, all decided. Inside a routine others of its statements may decide.
    pub fn finish_params(&self) -> SqlResult<Vec<SqlType>> {
        let params = self.params.borrow().clone();
        if self.variables.is_some() {
            return Ok(params);
        }
        match params.iter().position(|&ty| ty == SqlType::Unknown) {
            None => Ok(params),
            Some(place) => Err(SqlError::new(
                SqlState::INDETERMINATE_DATATYPE,
                format!("could not determine data type of parameter ${}", place + 1),
            )),
        }
    }

    /// A planned command that runs one statement.
    pub fn run(
        &self,
        statement: Statement,
        result: Vec<OutputColumn>,
        tag: &'static str,
    ) -> SqlResult<Planned> {
        let procedure = self.procedure(statement, result)?;
        Ok(Planned {
            params: procedure.params.clone(),
            columns: procedure.result.clone(),
            command: Command::Run(Arc::new(procedure)),
            tag,
            notices: self.notices.take(),
            needs: no_needs(),
        })
    }

    /// What a planner inside of this one, a view's, reads is read here, too.
    pub fn reads_as(&self, inside: &Planner) {
        let mut unpopulated = self.unpopulated.borrow_mut();
        unpopulated.extend(inside.read_unpopulated());
        let mut needs = self.users_needs.borrow_mut();
        needs.extend(inside.users_needs.take());
    }

    /// Materialized views without rows that were met, here or in views.
    fn read_unpopulated(&self) -> Vec<TableId> {
        let uses = self.uses.borrow();
        let empty = |id: &TableId| {
            let own = self.catalog().matview(*id);
            own.is_some_and(|own| !own.populated)
        };
        let inside = self.unpopulated.borrow();
        uses.keys()
            .copied()
            .filter(empty)
            .chain(inside.iter().copied())
            .collect()
    }

    /// A procedure of one statement.
    pub fn procedure(
        &self,
        statement: Statement,
        result: Vec<OutputColumn>,
    ) -> SqlResult<Procedure> {
        for used in self.read_unpopulated() {
            refuse_unpopulated(self.context, used)?;
        }
        let calls = self.calls.has_inline() || writes_by_calls(&statement);
        let statement = match calls || locks_in_subquery(&statement) {
            true => hold(statement),
            false => statement,
        };
        Ok(Procedure {
            params: self.finish_params()?,
            body: Body::Statement(statement),
            result,
        })
    }

    /// A statement that changes nothing.
    pub fn nothing(&self, tag: &'static str) -> Planned {
        self.command(Command::Nothing { checkpoint: false }, tag)
    }

    /// A planned command that is no IR.
    pub fn command(&self, command: Command, tag: &'static str) -> Planned {
        Planned {
            command,
            params: self.params.borrow().clone(),
            columns: Vec::new(),
            tag,
            notices: self.notices.take(),
            needs: no_needs(),
        }
    }
}

/// Whether a row that a statement writes may have to call a function.
pub(crate) fn writes_by_calls(statement: &Statement) -> bool {
    let written = !matches!(statement, Statement::Delete(_));
    let table = statement.target().filter(|_| written);
    table.is_some_and(|table| table.calls_routines())
}

/// True if a query in an expression locks rows: the statement is run whole then, as if it called functions.
fn locks_in_subquery(statement: &Statement) -> bool {
    let mut found = false;
    each_of_statement(statement, &mut |expr, _| {
        subqueries(expr, &mut |subquery| {
            each_node(&subquery.plan, &mut |plan| {
                found |= matches!(plan, Plan::Lock { .. })
            });
        });
    });
    found
}

/// Plans a statement. `param_types` may be shorter than what the statement uses; `Unknown` in it
/// means that the use decides.
///
/// # Errors
/// Whatever is wrong with the statement, as PostgreSQL says it; `0A000` for what Quintet lacks.
pub fn plan(parsed: &Parsed, context: &PlanContext, param_types: &[SqlType]) -> SqlResult<Planned> {
    plan_whole(parsed, context, param_types, None)
}

/// As [`plan`], with large tables joined in the order that costs least.
///
/// # Errors
/// As there.
pub fn plan_sized(
    parsed: &Parsed,
    context: &PlanContext,
    param_types: &[SqlType],
    sizes: &Sizes<'_>,
) -> SqlResult<Planned> {
    plan_whole(parsed, context, param_types, Some(sizes))
}

/// What is planned is refused if it has become too deep, by views within views; who runs it takes room for it.
///
/// # Errors
/// `54001`.
pub(crate) fn note_depth(depth: usize) -> SqlResult<()> {
    if depth > stack::PLAN_DEPTH_MAX {
        return Err(parse::too_complex());
    }
    stack::note_plan(depth);
    Ok(())
}

fn plan_whole(
    parsed: &Parsed,
    context: &PlanContext,
    param_types: &[SqlType],
    sizes: Option<&Sizes<'_>>,
) -> SqlResult<Planned> {
    parse::with_room(|| plan_with_room(parsed, context, param_types, sizes))
}

fn plan_with_room(
    parsed: &Parsed,
    context: &PlanContext,
    param_types: &[SqlType],
    sizes: Option<&Sizes<'_>>,
) -> SqlResult<Planned> {
    let planner = Planner {
        sizes,
        text: parsed.text(),
        ..Planner::new(context, parsed.source(), param_types)
    };
    let mut planned = plan_parsed(&planner, parsed).map_err(|error| planner.name_types(error))?;
    for notice in &mut planned.notices {
        notice.message = planner.name_types(notice.message.clone());
    }
    planned.needs = planner.take_needs().into();
    if let Command::Run(procedure) = &planned.command
        && let Some(statement) = procedure.statement()
    {
        note_depth(quintet_ir::depth::of_statement(statement))?;
    }
    Ok(planned)
}

fn plan_parsed(planner: &Planner, parsed: &Parsed) -> SqlResult<Planned> {
    if let Some(explained) = parsed.explained() {
        return plan_explain(planner, explained);
    }
    match parsed.node() {
        None => Ok(planner.command(Command::Empty, "")),
        Some(node) if parsed.explains_call() => {
            let planned = crate::statement::plan_statement(planner, node)?;
            Ok(crate::utility::explained(
                planner,
                planned,
                crate::utility::Asked::default(),
            ))
        }
        Some(node) => crate::statement::plan_statement(planner, node),
    }
}
