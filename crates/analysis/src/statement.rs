//! The operations of one statement.
//!
//! Relies on: `flow`, which it adds them to.  Promises: one read per table that is read, one write per
//! statement that writes; rows are found by keys and by nothing else, so a read waits for the slots in its
//! key only, and what is computed over the rows waits for the others.  Does not: count the look-up
//! of an INSERT whether its key is taken.
//!
//! ```text
//!   UPDATE t SET a = a + x WHERE id = y          read t: id = y ──rows──► update t
//!   SELECT … FROM t JOIN u ON u.id = t.u_id      read t ──rows──► read u
//!   SELECT … LIMIT n                             read … ──rows──► the rest of the query, waits for n
//! ```

use crate::expressions::{
    Use, callees, each_beside_source, each_node_of_statement, each_of_node, each_of_statement,
    ranges, slots, sought, source, sources, subqueries,
};
use crate::flow::Walk;
use crate::graph::Why;
use crate::known::known;
use crate::operation::{Bound, Key, Part, Template, Touch, What};
use crate::references::reached;
use quintet_ir::explain::frame_names;
use quintet_ir::plan::{KeyRange, Path, Plan};
use quintet_ir::point::Point;
use quintet_ir::routine::{Action, Callee, Into};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::{Arbiter, ConflictAction, Insert};
use quintet_ir::{Access, Expr, Statement};
use std::collections::BTreeSet;

/// What the inner side of a join sees of the outer one.
#[derive(Default)]
struct Outer {
    reads: Vec<usize>,
    names: Vec<String>,
}

impl<'p> Walk<'p> {
    /// Adds a statement. Gives the operations that its rows come from.
    pub fn statement(&mut self, statement: &'p Statement, into: Option<&'p Into>) -> Vec<usize> {
        // Of a statement that runs flat the row's columns are noted, not the row.
        let flat = into.is_some() && matches!(Point::of(statement), Some(Point::Read(_)));
        self.note(statement, flat);
        let mut reads = self.plan(source(statement), &Outer::default(), false);
        let around = Outer {
            reads: reads.clone(),
            names: Vec::new(),
        };
        each_beside_source(statement, &mut |expr| {
            reads.extend(self.subqueries(expr, &around));
        });
        let reads = reads;
        let mut rest: Vec<&'p Expr> = Vec::new();
        each_of_statement(statement, &mut |expr, used| {
            if used == Use::Rest {
                rest.push(expr);
            }
        });
        if let Some(into) = into {
            rest.extend(into.targets.iter().map(|(_, value)| value));
        }
        let touches = match statement {
            Statement::Query(_) => {
                let mut used = BTreeSet::new();
                rest.iter().for_each(|expr| slots(expr, &mut used));
                let calls = rest.iter().any(|expr| expr.calls_routine());
                if !reads.is_empty() && used.is_empty() && !calls {
                    return reads;
                }
                Vec::new()
            }
            Statement::Insert(insert) => vec![self.inserted(insert)],
            Statement::Update(update) => {
                let mut touch = changed(&update.table, &update.source, self);
                forget(&mut touch, &update.assignments);
                vec![touch]
            }
            Statement::Delete(delete) => vec![changed(&delete.table, &delete.source, self)],
        };
        let mut touches = touches;
        followed(statement, &mut |table, writes| {
            touches.push(Touch {
                table: TableRef::clone(table),
                writes,
                locks: false,
                keys: Vec::new(),
                outer: Vec::new(),
                path: None,
            });
        });
        let what = match statement {
            Statement::Query(_) => What::Query(statement),
            _ => What::Write(statement),
        };
        let made = self.add(what, touches, &rest);
        for read in reads {
            self.after(read, made, Why::Rows);
        }
        vec![made]
    }

    /// The reads of a plan, which may look at the rows of `outer`.
    fn plan(&mut self, plan: &'p Plan, outer: &Outer, locks: bool) -> Vec<usize> {
        let mut reads = match plan {
            Plan::Scan(access) => vec![self.read(access, outer, locks)],
            Plan::Call {
                callee, arguments, ..
            } => {
                let touches = self.called(callee);
                self.note_call(callee, arguments);
                let arguments: Vec<&Expr> = arguments.iter().collect();
                let made = self.add(What::Call(&callee.name), touches, &arguments);
                if arguments.iter().any(|argument| looks_around(argument)) {
                    outer
                        .reads
                        .iter()
                        .for_each(|from| self.after(*from, made, Why::Rows));
                }
                vec![made]
            }
            Plan::Join {
                outer: left, inner, ..
            } => {
                let mut reads = self.plan(left, outer, locks);
                let seen = Outer {
                    reads: [&outer.reads[..], &reads].concat(),
                    names: [&outer.names[..], &frame_names(left)].concat(),
                };
                reads.extend(self.plan(inner, &seen, locks));
                reads
            }
            Plan::Lock { input, .. } => self.plan(input, outer, true),
            // Frames begin anew in them; what they look at comes from the rows around all the same.
            Plan::Lateral { input, .. } | Plan::Lookup { input, .. } => {
                let around = Outer {
                    reads: outer.reads.clone(),
                    names: Vec::new(),
                };
                self.plan(input, &around, locks)
            }
            plan => {
                let inputs = plan.inputs().into_iter();
                let reads = inputs.map(|input| self.plan(input, outer, locks));
                reads.collect::<Vec<_>>().concat()
            }
        };
        let around = Outer {
            reads: [&outer.reads[..], &reads].concat(),
            names: Vec::new(),
        };
        each_of_node(plan, &mut |expr, _| {
            reads.extend(self.subqueries(expr, &around));
        });
        reads
    }

    /// The reads of the queries that stand in an expression over rows of `around`.
    fn subqueries(&mut self, expr: &'p Expr, around: &Outer) -> Vec<usize> {
        let mut reads = Vec::new();
        subqueries(expr, &mut |subquery| {
            reads.extend(self.plan(&subquery.plan, around, false));
        });
        reads
    }

    fn read(&mut self, access: &'p Access, outer: &Outer, locks: bool) -> usize {
        let keys = self.keys(access);
        let exprs: Vec<&Expr> = keys
            .iter()
            .flat_map(|key| key.parts.iter().map(|part| part.value))
            .chain(sought(&access.path).iter().map(|one| &one.value))
            .collect();
        let touch = Touch {
            table: TableRef::clone(&access.table),
            writes: false,
            locks,
            keys,
            outer: outer.names.clone(),
            path: Some(&access.path),
        };
        let made = self.add(What::Read, vec![touch], &exprs);
        if exprs.iter().any(|expr| looks_around(expr)) {
            outer
                .reads
                .iter()
                .for_each(|from| self.after(*from, made, Why::Rows));
        }
        made
    }

    /// The rows that an access path names.
    fn keys(&self, access: &'p Access) -> Vec<Key<'p>> {
        let columns = columns(access);
        let unique = match &access.path {
            Path::Full | Path::Primary(_) | Path::Elements(..) => true,
            Path::Index(number, _) => access.table.indexes[*number].unique,
        };
        let key = |range: &'p KeyRange| {
            let mut parts: Vec<Part<'p>> = range
                .equal
                .iter()
                .zip(&columns)
                .map(|(value, column)| self.part(*column, Bound::Equal, value))
                .collect();
            if let Some(&column) = columns.get(range.equal.len()) {
                parts.extend(range.lower.iter().map(|lower| {
                    let inclusive = lower.inclusive;
                    self.part(column, Bound::Lower { inclusive }, &lower.value)
                }));
                parts.extend(range.upper.iter().map(|upper| {
                    let inclusive = upper.inclusive;
                    self.part(column, Bound::Upper { inclusive }, &upper.value)
                }));
            }
            Key {
                single: unique && range.equal.len() == columns.len(),
                parts,
            }
        };
        // It may be read whole.
        if access.kept_after.is_some() {
            return Vec::new();
        }
        ranges(&access.path).iter().map(key).collect()
    }

    fn part(&self, column: usize, bound: Bound, value: &'p Expr) -> Part<'p> {
        Part {
            column,
            bound,
            value,
            template: self.template(value),
        }
    }

    /// What is known of a value before the call begins.
    pub fn template(&self, value: &Expr) -> Template {
        let Some(known) = known(value, &self.state) else {
            return Template::Unknown;
        };
        let expr = Expr::clone(&known.expr);
        let mut used = BTreeSet::new();
        slots(&expr, &mut used);
        let symbols = self.routine.slots.len()..;
        match known.partial {
            true => Template::Partial(expr),
            false if used.iter().any(|slot| symbols.contains(slot)) => Template::Iterated(expr),
            false => Template::Exact(expr),
        }
    }

    /// The rows that an INSERT adds: by their keys if there is a list of them, else any.
    fn inserted(&self, insert: &'p Insert) -> Touch<'p> {
        let mut keys = Vec::new();
        if let (Plan::Values { rows, .. }, Some(primary)) =
            (&insert.source, &insert.table.primary_key)
        {
            for row in rows {
                let parts = primary.columns.iter().map(|&column| {
                    let value = match &insert.values[column] {
                        Expr::Column(place, _) => &row[*place],
                        value => value,
                    };
                    self.part(column, Bound::Equal, value)
                });
                keys.push(Key {
                    parts: parts.collect(),
                    single: true,
                });
            }
        }
        if let Some(conflict) = &insert.conflict
            && conflict.arbiter != Some(Arbiter::Primary)
        {
            // The row that it changes instead may have any key.
            keys.clear();
        }
        let mut touch = Touch {
            table: TableRef::clone(&insert.table),
            writes: true,
            locks: false,
            keys,
            outer: Vec::new(),
            path: None,
        };
        if let Some(ConflictAction::Update { assignments, .. }) =
            insert.conflict.as_ref().map(|conflict| &conflict.action)
        {
            forget(&mut touch, assignments);
        }
        touch
    }
}

/// Whether an expression looks at rows that were found before.
fn looks_around(expr: &Expr) -> bool {
    expr.uses_columns() || expr.uses_outer()
}

/// A row whose key is changed is written at its old key and at its new one: what is assigned says nothing.
fn forget(touch: &mut Touch<'_>, assignments: &[(usize, Expr)]) {
    let is_assigned =
        |part: &Part<'_>| assignments.iter().any(|(column, _)| *column == part.column);
    for key in &mut touch.keys {
        let before = key.parts.len();
        key.parts.retain(|part| !is_assigned(part));
        key.single &= key.parts.len() == before;
    }
}

/// The read of the rows that UPDATE and DELETE change; their table's frame comes first.
pub(crate) fn target(plan: &Plan) -> Option<&Access> {
    match plan {
        Plan::Scan(access) => Some(access),
        Plan::Filter { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Hold { input }
        | Plan::Limit { input, .. }
        | Plan::Lock { input, .. } => target(input),
        Plan::Join { outer, .. } => target(outer),
        Plan::With { then, .. } => target(then),
        _ => None,
    }
}

/// The rows that UPDATE and DELETE change: those that their table's own read finds.
fn changed<'p>(table: &TableRef, plan: &'p Plan, walk: &Walk<'p>) -> Touch<'p> {
    let access = target(plan).filter(|access| access.table.id == table.id);
    Touch {
        table: TableRef::clone(table),
        writes: true,
        locks: false,
        keys: access.map_or_else(Vec::new, |access| walk.keys(access)),
        outer: Vec::new(),
        path: None,
    }
}

/// The table's columns that a path's ranges are over.
fn columns(access: &Access) -> Vec<usize> {
    match &access.path {
        Path::Full | Path::Primary(_) | Path::Elements(..) => access.table.key_columns(),
        Path::Index(number, _) => access.table.indexes[*number].columns.clone(),
    }
}

/// The statement of a step.
/// Shows the tables that a step touches by itself, and whether it writes.
pub(crate) fn touched(action: &Action, see: &mut dyn FnMut(&TableRef, bool)) {
    let Some(statement) = action.statement() else {
        return;
    };
    each_node_of_statement(statement, &mut |plan| {
        if let Plan::Scan(access) = plan {
            see(&access.table, false);
        }
    });
    match statement {
        Statement::Query(_) => {}
        Statement::Insert(insert) => see(&insert.table, true),
        Statement::Update(update) => see(&update.table, true),
        Statement::Delete(delete) => see(&delete.table, true),
    }
    followed(statement, see);
}

/// Shows the tables that a statement reaches by foreign keys.
fn followed(statement: &Statement, see: &mut dyn FnMut(&TableRef, bool)) {
    match statement {
        Statement::Query(_) => {}
        // In the place of a row that is in the way another may be changed.
        Statement::Insert(insert) => reached(&insert.table, insert.conflict.is_none(), see),
        Statement::Update(update) => reached(&update.table, false, see),
        Statement::Delete(delete) => reached(&delete.table, false, see),
    }
}

/// Shows the functions of the catalogue that a step calls within its expressions and statements.
pub(crate) fn called<'a>(action: &'a Action, see: &mut dyn FnMut(&'a Callee)) {
    let mut found = Vec::new();
    match action {
        Action::Assign { value, .. } => callees(value, &mut found),
        Action::AssignElement { index, value, .. } => {
            callees(index, &mut found);
            callees(value, &mut found);
        }
        Action::Call { arguments, .. }
        | Action::Return(arguments)
        | Action::ReturnNext(arguments) => {
            arguments.iter().for_each(|expr| callees(expr, &mut found));
        }
        Action::If { branches, .. } => {
            branches
                .iter()
                .for_each(|(expr, _)| callees(expr, &mut found));
        }
        Action::ForInteger {
            lower, upper, step, ..
        } => [lower, upper, step]
            .into_iter()
            .for_each(|expr| callees(expr, &mut found)),
        Action::ForElement { array, .. } => callees(array, &mut found),
        Action::Exit { when, .. } | Action::Continue { when, .. } => {
            when.iter().for_each(|expr| callees(expr, &mut found));
        }
        Action::Raise(raise) => {
            let options = raise.options.iter().map(|(_, value)| value);
            let exprs = raise.arguments.iter().chain(options);
            exprs.for_each(|expr| callees(expr, &mut found));
        }
        _ => {}
    }
    if let Some(statement) = action.statement() {
        each_of_statement(statement, &mut |expr, _| callees(expr, &mut found));
        sources(source(statement), &mut |callee| found.push(callee));
    }
    found.into_iter().for_each(see);
}
