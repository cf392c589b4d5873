//! Statements and plans as forms.

use super::form::Form;
use super::write::{callee, count, expr, exprs, ty};
use crate::aggregate::{AggregateCall, AggregateFunction};
use crate::elements::Sought;
use crate::expr::Expr;
use crate::plan::{
    Access, JoinKind, KeyBound, KeyRange, LockStrength, LockTarget, LockWait, Path, Plan, SortKey,
    Turns,
};
use crate::schema::TableDef;
use crate::statement::{Arbiter, ConflictAction, Insert, OnConflict, Statement};
use crate::window::{Exclusion, FrameBound, FrameMode, WindowCall, WindowFunction};

pub(super) fn statement(statement: &Statement) -> Form {
    match statement {
        Statement::Query(source) => Form::list("query", [plan(source)]),
        Statement::Insert(what) => insert(what),
        Statement::Update(update) => {
            let mut items = table(&update.table);
            items.push(plan(&update.source));
            items.extend(update.assignments.iter().map(assignment));
            items.extend(returning(&update.returning));
            Form::list("update", items)
        }
        Statement::Delete(delete) => {
            let mut items = table(&delete.table);
            items.push(plan(&delete.source));
            items.extend(returning(&delete.returning));
            Form::list("delete", items)
        }
    }
}

fn insert(insert: &Insert) -> Form {
    let mut items = table(&insert.table);
    items.push(plan(&insert.source));
    items.push(Form::list("values", exprs(&insert.values)));
    items.extend(insert.conflict.as_ref().map(conflict));
    items.extend(returning(&insert.returning));
    Form::list("insert", items)
}

fn conflict(conflict: &OnConflict) -> Form {
    let mut items = Vec::new();
    items.extend(conflict.arbiter.map(|arbiter| match arbiter {
        Arbiter::Primary => Form::word("primary"),
        Arbiter::Index(number) => Form::list("index", [count(number)]),
    }));
    match &conflict.action {
        ConflictAction::Nothing => items.push(Form::word("nothing")),
        ConflictAction::Update {
            assignments,
            filter,
        } => {
            items.push(Form::word("update"));
            items.extend(assignments.iter().map(assignment));
            items.extend(filter.as_ref().map(|filter| one("where", filter)));
        }
    }
    Form::list("conflict", items)
}

fn assignment((column, value): &(usize, Expr)) -> Form {
    Form::list("set", [Form::word(format!("#{column}")), expr(value)])
}

fn returning(exprs: &Option<Vec<Expr>>) -> Option<Form> {
    let exprs = exprs.as_ref()?;
    Some(Form::list("returning", self::exprs(exprs)))
}

fn table(table: &TableDef) -> Vec<Form> {
    vec![name(&table.schema), name(&table.name)]
}

/// A word where it can be one.
fn name(name: &str) -> Form {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match !name.is_empty() && name.chars().all(plain) {
        true => Form::word(name),
        false => Form::text(name),
    }
}

fn one(head: &str, what: &Expr) -> Form {
    Form::list(head, [expr(what)])
}

pub(super) fn plan(what: &Plan) -> Form {
    match what {
        Plan::Values { rows, types } => {
            let types = Form::plain(types.iter().map(|ty| self::ty(*ty)));
            let rows = rows.iter().map(|row| Form::plain(exprs(row)));
            Form::list("values", [types].into_iter().chain(rows))
        }
        Plan::Scan(access) => scan(access),
        Plan::Series {
            start,
            stop,
            step,
            ty,
        } => Form::list(
            "series",
            [self::ty(*ty), expr(start), expr(stop), expr(step)],
        ),
        Plan::Unnest { array } => one("unnest", array),
        Plan::Call {
            callee: who,
            arguments,
            types,
        } => {
            let types = Form::plain(types.iter().map(|ty| self::ty(*ty)));
            let items = [callee(who), types];
            Form::list("function", items.into_iter().chain(exprs(arguments)))
        }
        Plan::Lateral { input, outer } => {
            Form::list("lateral", [Form::list("outer", exprs(outer)), plan(input)])
        }
        Plan::Lookup {
            input,
            keys,
            values,
        } => {
            let keys = Form::list("keys", exprs(keys));
            let values = Form::list("values", exprs(values));
            Form::list("lookup", [keys, values, plan(input)])
        }
        Plan::Hold { input } => Form::list("hold", [plan(input)]),
        Plan::Join {
            outer,
            inner,
            outer_width,
            inner_width,
            kind,
            on,
        } => {
            let kind = match kind {
                JoinKind::Inner => "inner",
                JoinKind::Left => "left",
                JoinKind::Full => "full",
            };
            let mut items = vec![Form::word(kind), count(*outer_width), count(*inner_width)];
            items.extend([plan(outer), plan(inner)]);
            items.extend(on.as_ref().map(|on| one("on", on)));
            Form::list("join", items)
        }
        Plan::Filter { input, predicate } => Form::list("filter", [expr(predicate), plan(input)]),
        Plan::Project { input, exprs } => {
            let columns = Form::plain(self::exprs(exprs));
            Form::list("project", [columns, plan(input)])
        }
        Plan::Aggregate {
            input,
            keys,
            calls,
            sets,
        } => {
            let keys = Form::list("keys", exprs(keys));
            let calls = Form::list("calls", calls.iter().map(call));
            let sets = (!sets.is_empty()).then(|| {
                let set = |set: &Vec<usize>| Form::plain(set.iter().map(|key| count(*key)));
                Form::list("sets", sets.iter().map(set))
            });
            let items = [keys, calls].into_iter().chain(sets).chain([plan(input)]);
            Form::list("aggregate", items)
        }
        Plan::Window {
            input,
            partition,
            order,
            calls,
        } => {
            let partition = Form::list("partition", exprs(partition));
            let order = Form::list("order", order.iter().map(sort_key));
            let calls = Form::list("calls", calls.iter().map(window_call));
            Form::list("window", [partition, order, calls, plan(input)])
        }
        Plan::With {
            number,
            first,
            then,
            turns,
        } => {
            let turns = Form::word(match turns {
                Turns::Once => "once",
                Turns::UntilNothing => "until-nothing",
                Turns::UntilNothingNew => "until-nothing-new",
            });
            Form::list("with", [count(*number), turns, plan(first), plan(then)])
        }
        Plan::Given {
            number,
            types,
            turning,
        } => {
            let types = Form::plain(types.iter().map(|ty| self::ty(*ty)));
            let items = [count(*number), types].into_iter();
            Form::list("given", items.chain(turning.then(|| Form::word("turning"))))
        }
        Plan::Sort { input, keys, top } => {
            let keys = Form::list("keys", keys.iter().map(sort_key));
            let top = top.as_deref().map(|top| one("top", top));
            let items = [keys].into_iter().chain(top).chain([plan(input)]);
            Form::list("sort", items)
        }
        Plan::Unique { input } => Form::list("unique", [plan(input)]),
        Plan::Limit {
            input,
            limit,
            offset,
            ties,
        } => {
            let limit = limit.as_ref().map(|limit| one("limit", limit));
            let offset = offset.as_ref().map(|offset| one("offset", offset));
            let ties = (!ties.is_empty()).then(|| Form::list("ties", ties.iter().map(sort_key)));
            let items = limit
                .into_iter()
                .chain(offset)
                .chain(ties)
                .chain([plan(input)]);
            Form::list("limit", items)
        }
        Plan::Lock { input, targets } => {
            let targets = targets.iter().map(target);
            Form::list("lock", targets.chain([plan(input)]))
        }
        Plan::Append { inputs } => Form::list("append", inputs.iter().map(plan)),
    }
}

fn scan(access: &Access) -> Form {
    let mut items = table(&access.table);
    items.push(match &access.path {
        Path::Full => Form::word("full"),
        Path::Primary(ranges) => Form::list("primary", ranges.iter().map(range)),
        Path::Index(number, ranges) => {
            let ranges = ranges.iter().map(range);
            Form::list("index", [count(*number)].into_iter().chain(ranges))
        }
        Path::Elements(number, sought) => {
            let one = |sought: &Sought| {
                let test = Form::word(sought.test.symbol());
                Form::list("sought", [count(sought.place), test, expr(&sought.value)])
            };
            let sought = sought.iter().map(one);
            Form::list("elements", [count(*number)].into_iter().chain(sought))
        }
    });
    items.extend(access.filter.as_ref().map(|filter| one("where", filter)));
    items.extend(access.reverse.then(|| Form::word("reverse")));
    if access.offset > 0 {
        items.push(Form::list("at", [count(access.offset)]));
    }
    if let Some(needed) = &access.needed {
        let bits = needed.iter().map(|needed| if *needed { '1' } else { '0' });
        items.push(Form::list("needed", [Form::text(bits.collect::<String>())]));
    }
    if let Some(after) = access.kept_after {
        let numbers = [after.asked, after.rows].map(|number| Form::word(number.to_string()));
        items.push(Form::list("kept-after", numbers));
    }
    Form::list("scan", items)
}

fn range(range: &KeyRange) -> Form {
    let mut items = exprs(&range.equal);
    let mut bound = |bound: &Option<KeyBound>, inclusive: &str, exclusive: &str| {
        items.extend(bound.as_ref().map(|bound| {
            let head = if bound.inclusive {
                inclusive
            } else {
                exclusive
            };
            one(head, &bound.value)
        }));
    };
    bound(&range.lower, "from", "above");
    bound(&range.upper, "to", "below");
    Form::list("range", items)
}

fn sort_key(key: &SortKey) -> Form {
    let mut items = vec![expr(&key.expr)];
    items.extend(key.descending.then(|| Form::word("desc")));
    items.extend(key.nulls_first.then(|| Form::word("nulls-first")));
    Form::plain(items)
}

fn call(call: &AggregateCall) -> Form {
    let name = match call.function {
        AggregateFunction::CountRows => "count-rows",
        other => other.name(),
    };
    let mut items = vec![ty(call.ty)];
    items.extend(call.distinct.then(|| Form::word("distinct")));
    items.extend(call.filter.as_ref().map(|filter| one("where", filter)));
    if !call.order.is_empty() {
        items.push(Form::list("order", call.order.iter().map(sort_key)));
    }
    items.push(Form::plain(exprs(&call.args)));
    Form::list(name, items)
}

fn window_call(call: &WindowCall) -> Form {
    let name = match call.function {
        WindowFunction::Aggregate(AggregateFunction::CountRows) => "count-rows",
        other => other.name(),
    };
    let frame = &call.frame;
    let mode = match frame.mode {
        FrameMode::Rows => "rows",
        FrameMode::Range => "range",
        FrameMode::Groups => "groups",
    };
    let bounds = [bound(&frame.start), bound(&frame.end)];
    let without = match frame.exclusion {
        Exclusion::Nothing => None,
        Exclusion::CurrentRow => Some("without-current-row"),
        Exclusion::Group => Some("without-group"),
        Exclusion::Ties => Some("without-ties"),
    };
    let mut items = vec![ty(call.ty)];
    items.push(Form::list(
        mode,
        bounds.into_iter().chain(without.map(Form::word)),
    ));
    items.extend(call.filter.as_ref().map(|filter| one("where", filter)));
    items.push(Form::plain(exprs(&call.args)));
    Form::list(name, items)
}

fn bound(bound: &FrameBound) -> Form {
    match bound {
        FrameBound::UnboundedPreceding => Form::word("first"),
        FrameBound::Preceding(offset) => one("before", offset),
        FrameBound::CurrentRow => Form::word("current"),
        FrameBound::Following(offset) => one("behind", offset),
        FrameBound::UnboundedFollowing => Form::word("last"),
    }
}

fn target(target: &LockTarget) -> Form {
    let mut items = table(&target.table);
    items.push(count(target.offset));
    items.push(Form::word(match target.strength {
        LockStrength::Share => "share",
        LockStrength::Update => "update",
    }));
    items.push(Form::word(match target.wait {
        LockWait::Block => "block",
        LockWait::Refuse => "refuse",
        LockWait::Skip => "skip",
    }));
    Form::plain(items)
}
