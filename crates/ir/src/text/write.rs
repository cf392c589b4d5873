//! Routines and expressions as forms.

use super::dynamic::{dynamic, landmark};
use super::form::{Form, Shape};
use super::types::{modified, word};
use super::write_plan::statement;
use crate::expr::{Expr, Truth};
use crate::function::{self, operator_symbol};
use crate::guise::Guise;
use crate::routine::{
    Action, Callee, Condition, Into, Output, Program, Raise, RaiseState, Routine, Slot, Step,
};
use crate::subquery::{Subquery, SubqueryForm};
use quintet_base::row::RowLayout;
use quintet_base::text_format::{self, FormatContext};
use quintet_base::{SqlError, SqlType, Value};

pub(super) fn program(program: &Program) -> Form {
    let numbers = program.numbers.iter();
    let numbers =
        numbers.map(|(id, number)| Form::plain([Form::word(id.to_string()), count(*number)]));
    let numbers = match program.numbers.is_empty() {
        true => None,
        false => Some(Form::list("numbers", numbers)),
    };
    let routines = program.routines.iter().map(routine);
    Form::list("program", numbers.into_iter().chain(routines))
}

pub(super) fn routine(routine: &Routine) -> Form {
    let mut items = vec![
        Form::text(&routine.name),
        Form::word(match routine.output {
            Output::Nothing => "nothing",
            Output::Row => "row",
            Output::Rows => "rows",
        }),
    ];
    if routine.strict {
        items.push(Form::word("strict"));
    }
    items.extend(routine.guise.as_deref().map(guise));
    items.extend(
        routine
            .found
            .map(|found| Form::list("found", [slot(found)])),
    );
    let (arguments, variables) = routine.slots.split_at(routine.arguments);
    items.push(Form::list("arguments", arguments.iter().map(declared)));
    items.push(Form::list("variables", variables.iter().map(declared)));
    items.extend(steps(&routine.body));
    Form::list("routine", items)
}

fn guise(guise: &Guise) -> Form {
    let role = guise
        .role
        .map(|role| Form::list("role", [count(role.0 as usize)]));
    let settings = guise.settings.iter();
    let settings =
        settings.map(|(name, value)| Form::list("set", [Form::text(name), Form::text(value)]));
    let trigger = guise.trigger.then(|| Form::list("trigger", []));
    Form::list("guise", role.into_iter().chain(settings).chain(trigger))
}

fn declared(slot: &Slot) -> Form {
    let not_null = slot.not_null.then(|| Form::word("not-null"));
    let named = [Form::text(&slot.name), Form::word(word(slot.ty))];
    Form::plain(named.into_iter().chain(not_null))
}

pub(super) fn count(number: usize) -> Form {
    Form::word(number.to_string())
}

pub(super) fn slot(number: usize) -> Form {
    Form::word(format!("${}", number + 1))
}

pub(super) fn ty(ty: SqlType) -> Form {
    Form::word(word(ty))
}

/// Each with its line before it.
fn steps(steps: &[Step]) -> Vec<Form> {
    let mut forms = Vec::new();
    for step in steps {
        if step.line > 0 {
            forms.push(Form::word(format!("@{}", step.line)));
        }
        forms.push(action(&step.action));
    }
    forms
}

pub(super) fn body(body: &[Step]) -> Form {
    Form::list("do", steps(body))
}

fn action(action: &Action) -> Form {
    match action {
        Action::Assign { slot: to, value } => Form::list("let", [slot(*to), expr(value)]),
        Action::AssignElement {
            slot: to,
            index,
            value,
        } => Form::list("let-element", [slot(*to), expr(index), expr(value)]),
        Action::Run {
            statement: what,
            into: to,
        } => Form::list("run", [statement(what)].into_iter().chain(into(to))),
        Action::Call {
            routine,
            arguments,
            into: to,
        } => {
            let arguments = Form::list("arguments", exprs(arguments));
            Form::list(
                "call",
                [count(*routine), arguments].into_iter().chain(into(to)),
            )
        }
        Action::If {
            branches,
            otherwise,
        } => {
            let mut items: Vec<Form> = branches
                .iter()
                .map(|(when, body)| Form::list("when", [expr(when)].into_iter().chain(steps(body))))
                .collect();
            if !otherwise.is_empty() {
                items.push(Form::list("else", steps(otherwise)));
            }
            Form::list("if", items)
        }
        Action::Loop { body } => Form::list("loop", steps(body)),
        Action::ForInteger {
            slot: each,
            lower,
            upper,
            step,
            reverse,
            body: turns,
        } => {
            let mut items = vec![slot(*each), expr(lower), expr(upper), expr(step)];
            items.extend(reverse.then(|| Form::word("reverse")));
            items.push(body(turns));
            Form::list("for-integer", items)
        }
        Action::ForRow {
            statement: what,
            into,
            body: turns,
        } => Form::list(
            "for-row",
            [
                statement(what),
                Form::list("into", targets(into)),
                body(turns),
            ],
        ),
        Action::ForElement {
            slot: each,
            array,
            body: turns,
        } => Form::list("for-element", [slot(*each), expr(array), body(turns)]),
        Action::Block { body } => Form::list("block", steps(body)),
        Action::OneState { body } => Form::list("one-state", steps(body)),
        Action::Exit { depth, when } => Form::list(
            "exit",
            [count(*depth)].into_iter().chain(when.as_ref().map(expr)),
        ),
        Action::Continue { depth, when } => Form::list(
            "continue",
            [count(*depth)].into_iter().chain(when.as_ref().map(expr)),
        ),
        Action::Guard {
            body: guarded,
            handlers,
            slots,
        } => {
            let mut items = vec![slot(slots[0]), slot(slots[1]), body(guarded)];
            for handler in handlers {
                let conditions = handler.conditions.iter().map(condition);
                let taken = Form::plain(conditions);
                let handled = [taken].into_iter().chain(steps(&handler.body));
                items.push(Form::list("handle", handled));
            }
            Form::list("guard", items)
        }
        Action::Raise(raise) => raised(raise),
        Action::Reraise => Form::list("reraise", []),
        Action::Commit => Form::list("commit", []),
        Action::Rollback => Form::list("rollback", []),
        Action::Fail(error) => Form::list("fail", failure(error)),
        Action::Return(row) => Form::list("return", exprs(row)),
        Action::ReturnNext(row) => Form::list("return-next", exprs(row)),
        Action::ReturnQuery(what) => Form::list("return-query", [statement(what)]),
        Action::Dynamic(what) => dynamic(what),
        Action::Landmark(at) => landmark(at),
        Action::RowCount { slot: to } => Form::list("row-count", [slot(*to)]),
        Action::Diagnose { slot: to, item } => Form::list(
            "diagnose",
            [slot(*to), Form::word(format!("{item:?}").to_lowercase())],
        ),
    }
}

fn targets(targets: &[(usize, Expr)]) -> Vec<Form> {
    let target = |(to, value): &(usize, Expr)| Form::plain([slot(*to), expr(value)]);
    targets.iter().map(target).collect()
}

fn into(into: &Into) -> Vec<Form> {
    let mut items = Vec::new();
    if !into.targets.is_empty() {
        items.push(Form::list("into", targets(&into.targets)));
    }
    items.extend(into.strict.then(|| Form::word("strict")));
    items.extend(into.silent.then(|| Form::word("silent")));
    items
}

fn condition(condition: &Condition) -> Form {
    Form::word(condition.to_string())
}

fn raised(raise: &Raise) -> Form {
    let mut items = vec![Form::word(format!("{:?}", raise.severity).to_lowercase())];
    if let RaiseState::Given(state) = raise.state {
        items.push(Form::word(state.to_string()));
    }
    if !raise.format.is_empty() {
        items.push(Form::list("format", raise.format.iter().map(Form::text)));
    }
    if !raise.arguments.is_empty() {
        items.push(Form::list("arguments", exprs(&raise.arguments)));
    }
    if !raise.options.is_empty() {
        let options = raise.options.iter();
        let options =
            options.map(|(option, value)| Form::list(&option.word().to_lowercase(), [expr(value)]));
        items.push(Form::list("using", options));
    }
    Form::list("raise", items)
}

fn failure(error: &SqlError) -> Vec<Form> {
    let mut items = vec![
        Form::word(error.state.to_string()),
        Form::text(&error.message),
    ];
    let mut part = |name: &str, text: Option<&str>| {
        items.extend(text.map(|text| Form::list(name, [Form::text(text)])));
    };
    part("detail", error.detail.as_deref());
    part("hint", error.hint.as_deref());
    part("context", error.context.as_deref());
    part(
        "position",
        error.position.map(|at| at.to_string()).as_deref(),
    );
    if let Some(object) = &error.object {
        part("schema", object.schema.as_deref());
        part("table", object.table.as_deref());
        part("column", object.column.as_deref());
        part("constraint", object.constraint.as_deref());
        part("datatype", object.data_type.as_deref());
    }
    items
}

pub(super) fn exprs(exprs: &[Expr]) -> Vec<Form> {
    exprs.iter().map(expr).collect()
}

pub(super) fn expr(what: &Expr) -> Form {
    match what {
        Expr::Const(value, ty) => constant(value, *ty),
        Expr::Param(number, ty) => Form::word(format!("${}:{}", number + 1, word(*ty))),
        Expr::Column(place, ty) => Form::word(format!("#{place}:{}", word(*ty))),
        Expr::Outer(number, ty) => Form::word(format!("@{number}:{}", word(*ty))),
        Expr::Subquery(subquery) => self::subquery(subquery),
        Expr::Call { function, args, ty } => {
            let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
            let name = Form::text(function.name);
            let mut items = vec![name];
            let usual = function::resolve(function.name, &types)
                .is_ok_and(|resolved| resolved.function.is(function) && resolved.result == *ty);
            if !usual {
                let declared = function.args.iter().map(|ty| self::ty(*ty));
                items.push(Form::list("of", declared));
                items.push(Form::list("gives", [self::ty(*ty)]));
            }
            items.extend(exprs(args));
            Form::list("call", items)
        }
        Expr::Routine {
            callee: who,
            args,
            ty,
        } => {
            let items = [callee(who), self::ty(*ty)];
            Form::list("routine", items.into_iter().chain(exprs(args)))
        }
        Expr::Compare { op, left, right } => {
            Form::list(operator_symbol(*op), [expr(left), expr(right)])
        }
        Expr::Distinct {
            left,
            right,
            negated,
        } => {
            let head = if *negated {
                "is-not-distinct"
            } else {
                "is-distinct"
            };
            Form::list(head, [expr(left), expr(right)])
        }
        Expr::And(args) => Form::list("and", exprs(args)),
        Expr::Or(args) => Form::list("or", exprs(args)),
        Expr::Not(input) => Form::list("not", [expr(input)]),
        Expr::IsNull { input, negated } => {
            let head = if *negated { "is-not-null" } else { "is-null" };
            Form::list(head, [expr(input)])
        }
        Expr::IsTruth {
            input,
            truth,
            negated,
        } => {
            let head = if *negated { "is-not" } else { "is" };
            let truth = match truth {
                Truth::True => "true",
                Truth::False => "false",
                Truth::Unknown => "unknown",
            };
            Form::list(head, [Form::word(truth), expr(input)])
        }
        Expr::Case {
            branches,
            otherwise,
            ty,
        } => {
            let mut items = vec![self::ty(*ty)];
            for (when, then) in branches {
                items.push(Form::list("when", [expr(when), expr(then)]));
            }
            items.extend(
                otherwise
                    .as_deref()
                    .map(|then| Form::list("else", [expr(then)])),
            );
            Form::list("case", items)
        }
        Expr::Coalesce { args, ty } => {
            Form::list("coalesce", [self::ty(*ty)].into_iter().chain(exprs(args)))
        }
        Expr::Extreme { greatest, args, ty } => {
            let head = if *greatest { "greatest" } else { "least" };
            Form::list(head, [self::ty(*ty)].into_iter().chain(exprs(args)))
        }
        Expr::InList {
            input,
            list,
            negated,
        } => {
            let head = if *negated { "not-in" } else { "in" };
            Form::list(head, [expr(input)].into_iter().chain(exprs(list)))
        }
        Expr::Quantified {
            input,
            op,
            array,
            all,
        } => {
            let head = if *all { "all" } else { "any" };
            let op = Form::word(operator_symbol(*op));
            Form::list(head, [op, expr(input), expr(array)])
        }
        Expr::Array { elements, element } => {
            Form::list("array", [ty(*element)].into_iter().chain(exprs(elements)))
        }
        Expr::Cast {
            input,
            to,
            modifier,
            explicit,
        } => {
            let head = if *explicit { "cast" } else { "convert" };
            Form::list(head, [Form::word(modified(*to, *modifier)), expr(input)])
        }
        Expr::NextVal(sequence) => Form::list("nextval", [Form::word(sequence.to_string())]),
        Expr::CurrVal(sequence) => Form::list("currval", [Form::word(sequence.to_string())]),
        Expr::SetVal {
            sequence,
            value,
            is_called,
        } => Form::list(
            "setval",
            [
                Form::word(sequence.to_string()),
                expr(value),
                expr(is_called),
            ],
        ),
    }
}

/// `(subquery form type (outer …) (tested …) plan)`
fn subquery(subquery: &Subquery) -> Form {
    let form = match subquery.form {
        SubqueryForm::Value(column) => Form::list("value", [Form::word(column.to_string())]),
        SubqueryForm::Exists => Form::word("exists"),
        SubqueryForm::Array => Form::word("array"),
        SubqueryForm::Compare { op, all } => {
            let head = if all { "all" } else { "any" };
            Form::list(head, [Form::word(operator_symbol(op))])
        }
    };
    let outer = Form::list("outer", exprs(&subquery.outer));
    let tested = Form::list("tested", exprs(&subquery.tested));
    let plan = super::write_plan::plan(&subquery.plan);
    Form::list("subquery", [form, ty(subquery.ty), outer, tested, plan])
}

/// `(name id nothing [program])`
pub(super) fn callee(callee: &Callee) -> Form {
    let mut items = vec![
        Form::text(&callee.name),
        Form::word(callee.id.to_string()),
        constant(&callee.nothing, callee.nothing.natural_type()),
    ];
    items.extend(callee.program.as_deref().map(program));
    Form::plain(items)
}

fn is_kept_as_bytes(value: &Value) -> bool {
    match value {
        Value::Record(_) => true,
        Value::Array(array) => array.element.is_record(),
        _ => false,
    }
}

/// `5:int4`, `null:text`, `'…':type`; a record as the bytes of a row that has it alone.
fn constant(value: &Value, ty: SqlType) -> Form {
    match value {
        Value::Null => Form::word(format!("null:{}", word(ty))),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) => {
            let digits = text_format::to_string(value, ty, &FormatContext::default());
            Form::word(format!("{digits}:{}", word(ty)))
        }
        // Reading their text takes a catalogue.
        value if is_kept_as_bytes(value) => {
            let layout = RowLayout::new(vec![ty]);
            let row = layout
                .encode(std::slice::from_ref(value))
                .unwrap_or_default();
            let shown = row.iter().map(|byte| format!("{byte:02x}")).collect();
            Form::new(Shape::Typed(shown, word(ty)))
        }
        value => {
            let shown = text_format::to_string(value, ty, &FormatContext::default());
            Form::new(Shape::Typed(shown, word(ty)))
        }
    }
}
