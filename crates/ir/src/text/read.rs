//! Forms as routines and expressions.
//!
//! Relies on: `form` for the places of mistakes.  Promises: everything in a list is looked at: what is left
//! over is a mistake.  Does not: check types or bounds.

use super::dynamic::read_landmark;
use super::form::{Form, Place, Shape};
use super::types::{of_modified, of_word};
use super::{Tables, TextError};
use crate::expr::{CompareOp, Expr, Truth};
use crate::function::{self, Function};
use crate::guise::Guise;
use crate::routine::{
    Action, Callee, Condition, Diagnostic, Handler, Into, Output, Program, Raise, RaiseOption,
    RaiseState, Routine, Severity, Slot, Step,
};
use crate::subquery::{Subquery, SubqueryForm};
use quintet_base::error::ErrorObject;
use quintet_base::row::RowLayout;
use quintet_base::text_format::{self, FormatContext};
use quintet_base::{RoleId, RoutineId, SequenceId, SqlError, SqlState, SqlType, Value};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

pub(super) type Read<T> = Result<T, TextError>;

/// Reads forms, with the tables that they name.
#[derive(Clone, Copy)]
pub(super) struct Reader<'t> {
    pub tables: Tables<'t>,
}

fn guise(mut items: Items<'_>) -> Read<Guise> {
    let role = match items.part("role") {
        Some(mut role) => Some(RoleId(role.number("a role")?)),
        None => None,
    };
    let mut settings = Vec::new();
    while let Some(mut set) = items.part("set") {
        let name = set.text("a setting")?.to_string();
        settings.push((name, set.text("its value")?.to_string()));
    }
    let trigger = items.part("trigger").is_some();
    items.end()?;
    Ok(Guise {
        role,
        settings,
        trigger,
    })
}

/// What is still to be read of a list.
pub(super) struct Items<'f> {
    rest: &'f [Form],
    place: Place,
}

impl<'f> Items<'f> {
    /// The items of a list.
    pub fn of(form: &'f Form) -> Read<Items<'f>> {
        match &form.shape {
            Shape::List(items) => Ok(Items {
                rest: items,
                place: form.place,
            }),
            _ => Err(form.error("a list is expected")),
        }
    }

    /// The items of a list behind the word in front, and that word.
    pub fn headed(form: &'f Form) -> Read<(&'f str, Items<'f>)> {
        let mut items = Items::of(form)?;
        let head = items.word("a list with a word in front")?;
        Ok((head, items))
    }

    pub fn next(&mut self, what: &str) -> Read<&'f Form> {
        let (first, rest) = self
            .rest
            .split_first()
            .ok_or_else(|| self.place.error(format!("the list ends before {what}")))?;
        self.rest = rest;
        Ok(first)
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// How many items there are still.
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    pub fn word(&mut self, what: &str) -> Read<&'f str> {
        let form = self.next(what)?;
        word(form).ok_or_else(|| form.error(format!("{what} is expected")))
    }

    pub fn text(&mut self, what: &str) -> Read<&'f str> {
        let form = self.next(what)?;
        match &form.shape {
            Shape::Text(text) => Ok(text),
            _ => Err(form.error(format!("{what} in quotes is expected"))),
        }
    }

    /// Whether the next item is this word; then it is taken.
    pub fn flag(&mut self, wanted: &str) -> bool {
        let found = self.rest.first().and_then(word) == Some(wanted);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    /// The next item, if it is a list with this word in front.
    pub fn part(&mut self, wanted: &str) -> Option<Items<'f>> {
        let Shape::List(items) = &self.rest.first()?.shape else {
            return None;
        };
        if word(items.first()?)? != wanted {
            return None;
        }
        let place = self.rest[0].place;
        self.rest = &self.rest[1..];
        Some(Items {
            rest: &items[1..],
            place,
        })
    }

    /// As `part`, where it must be.
    pub fn must(&mut self, wanted: &str) -> Read<Items<'f>> {
        let place = self.rest.first().map_or(self.place, |form| form.place);
        self.part(wanted)
            .ok_or_else(|| place.error(format!("({wanted} …) is expected")))
    }

    /// Nothing may be left.
    pub fn end(self) -> Read<()> {
        match self.rest.first() {
            None => Ok(()),
            Some(form) => Err(form.error("the list should end before this")),
        }
    }

    pub fn number<N: FromStr>(&mut self, what: &str) -> Read<N> {
        let form = self.next(what)?;
        let number = word(form).and_then(|word| word.parse().ok());
        number.ok_or_else(|| form.error(format!("{what} is expected")))
    }

    /// `$1`
    pub fn slot(&mut self) -> Read<usize> {
        let form = self.next("a slot")?;
        let number = word(form).and_then(|word| slot_number(word.strip_prefix('$')?));
        number.ok_or_else(|| form.error("a slot like $1 is expected"))
    }

    pub fn ty(&mut self) -> Read<SqlType> {
        let form = self.next("a type")?;
        let ty = word(form).and_then(of_word);
        ty.ok_or_else(|| form.error("a type is expected"))
    }

    /// All that is left, types.
    pub fn types(mut self) -> Read<Vec<SqlType>> {
        let mut all = Vec::new();
        while !self.is_empty() {
            all.push(self.ty()?);
        }
        Ok(all)
    }

    /// All that is left, one by one.
    pub fn each<T>(mut self, mut read: impl FnMut(&'f Form) -> Read<T>) -> Read<Vec<T>> {
        let mut all = Vec::new();
        while !self.is_empty() {
            all.push(read(self.next("an item")?)?);
        }
        Ok(all)
    }
}

fn word(form: &Form) -> Option<&str> {
    match &form.shape {
        Shape::Word(word) => Some(word),
        _ => None,
    }
}

fn slot_number(digits: &str) -> Option<usize> {
    digits.parse::<usize>().ok()?.checked_sub(1)
}

impl Reader<'_> {
    pub fn program(&self, form: &Form) -> Read<Program> {
        let (head, mut items) = Items::headed(form)?;
        if head != "program" {
            return Err(form.error("(program …) is expected"));
        }
        let mut numbers = BTreeMap::new();
        if let Some(given) = items.part("numbers") {
            for (id, number) in given.each(|form| {
                let mut pair = Items::of(form)?;
                let id = RoutineId(pair.number("a routine's id")?);
                let number = pair.number("a routine's number")?;
                pair.end()?;
                Ok((id, number))
            })? {
                numbers.insert(id, number);
            }
        }
        let routines = items.each(|form| self.routine(form))?;
        Ok(Program::of_catalog(routines, numbers))
    }

    pub fn routine(&self, form: &Form) -> Read<Routine> {
        let (head, mut items) = Items::headed(form)?;
        if head != "routine" {
            return Err(form.error("(routine …) is expected"));
        }
        let name = items.text("a name")?.to_string();
        let output = match items.word("what the routine gives")? {
            "nothing" => Output::Nothing,
            "row" => Output::Row,
            "rows" => Output::Rows,
            _ => return Err(form.error("a routine gives nothing, row or rows")),
        };
        let strict = items.flag("strict");
        let guise = match items.part("guise") {
            Some(parts) => Some(Box::new(guise(parts)?)),
            None => None,
        };
        let found = match items.part("found") {
            Some(mut found) => Some(found.slot()?),
            None => None,
        };
        let mut slots = items.must("arguments")?.each(declared)?;
        let arguments = slots.len();
        slots.extend(items.must("variables")?.each(declared)?);
        Ok(Routine {
            name,
            slots,
            arguments,
            strict,
            guise,
            found,
            body: self.steps(items)?,
            output,
        })
    }

    /// All that is left, as steps with their lines.
    pub(super) fn steps(&self, mut items: Items<'_>) -> Read<Vec<Step>> {
        let mut steps = Vec::new();
        while !items.is_empty() {
            let mut form = items.next("a step")?;
            let mut line = 0;
            if let Some(at) = word(form) {
                let number = at.strip_prefix('@').and_then(|digits| digits.parse().ok());
                line = number.ok_or_else(|| form.error("a step or its line is expected"))?;
                form = items.next("the step of this line")?;
            }
            let action = self.action(form)?;
            steps.push(Step {
                line,
                action,
                needs: None,
            });
        }
        Ok(steps)
    }

    fn action(&self, form: &Form) -> Read<Action> {
        let (head, mut items) = Items::headed(form)?;
        let action = match head {
            "let" => Action::Assign {
                slot: items.slot()?,
                value: self.next_expr(&mut items)?,
            },
            "let-element" => Action::AssignElement {
                slot: items.slot()?,
                index: self.next_expr(&mut items)?,
                value: self.next_expr(&mut items)?,
            },
            "run" => Action::Run {
                statement: self.next_statement(&mut items)?,
                into: self.into(&mut items)?,
            },
            "call" => Action::Call {
                routine: items.number("a routine's number")?,
                arguments: self.exprs(items.must("arguments")?)?,
                into: self.into(&mut items)?,
            },
            "if" => {
                let mut branches = Vec::new();
                while let Some(mut branch) = items.part("when") {
                    let condition = self.next_expr(&mut branch)?;
                    branches.push((condition, self.steps(branch)?));
                }
                let otherwise = match items.part("else") {
                    Some(steps) => self.steps(steps)?,
                    None => Vec::new(),
                };
                Action::If {
                    branches,
                    otherwise,
                }
            }
            "loop" => {
                return Ok(Action::Loop {
                    body: self.steps(items)?,
                });
            }
            "for-integer" => Action::ForInteger {
                slot: items.slot()?,
                lower: self.next_expr(&mut items)?,
                upper: self.next_expr(&mut items)?,
                step: self.next_expr(&mut items)?,
                reverse: items.flag("reverse"),
                body: self.steps(items.must("do")?)?,
            },
            "for-row" => Action::ForRow {
                statement: self.next_statement(&mut items)?,
                into: self.targets(items.must("into")?)?,
                body: self.steps(items.must("do")?)?,
            },
            "for-element" => Action::ForElement {
                slot: items.slot()?,
                array: self.next_expr(&mut items)?,
                body: self.steps(items.must("do")?)?,
            },
            "block" => {
                return Ok(Action::Block {
                    body: self.steps(items)?,
                });
            }
            "one-state" => {
                return Ok(Action::OneState {
                    body: self.steps(items)?,
                });
            }
            "exit" => Action::Exit {
                depth: items.number("a depth")?,
                when: self.maybe_expr(&mut items)?,
            },
            "continue" => Action::Continue {
                depth: items.number("a depth")?,
                when: self.maybe_expr(&mut items)?,
            },
            "guard" => self.guard(&mut items)?,
            "raise" => Action::Raise(Box::new(self.raise(&mut items)?)),
            "reraise" => Action::Reraise,
            "commit" => Action::Commit,
            "rollback" => Action::Rollback,
            "fail" => Action::Fail(Box::new(failure(&mut items)?)),
            "return" => return Ok(Action::Return(self.exprs(items)?)),
            "return-next" => return Ok(Action::ReturnNext(self.exprs(items)?)),
            "return-query" => Action::ReturnQuery(self.next_statement(&mut items)?),
            "dynamic" => self.dynamic(&mut items)?,
            "landmark" => Action::Landmark(Box::new(read_landmark(&mut items)?)),
            "row-count" => Action::RowCount {
                slot: items.slot()?,
            },
            "diagnose" => Action::Diagnose {
                slot: items.slot()?,
                item: diagnostic(items.next("an item")?)?,
            },
            other => return Err(form.error(format!("there is no step {other}"))),
        };
        items.end()?;
        Ok(action)
    }

    fn guard(&self, items: &mut Items<'_>) -> Read<Action> {
        let slots = [items.slot()?, items.slot()?];
        let body = self.steps(items.must("do")?)?;
        let mut handlers = Vec::new();
        while let Some(mut handler) = items.part("handle") {
            let conditions = Items::of(handler.next("conditions")?)?.each(condition)?;
            handlers.push(Handler {
                conditions,
                body: self.steps(handler)?,
            });
        }
        Ok(Action::Guard {
            body,
            handlers,
            slots,
        })
    }

    fn raise(&self, items: &mut Items<'_>) -> Read<Raise> {
        use Severity::*;
        let form = items.next("a severity")?;
        let severity = [Debug, Log, Info, Notice, Warning, Exception]
            .into_iter()
            .find(|known| word(form) == Some(&format!("{known:?}").to_lowercase()))
            .ok_or_else(|| form.error("a severity is expected"))?;
        let mut raise = Raise {
            severity,
            state: RaiseState::Default,
            format: Vec::new(),
            arguments: Vec::new(),
            options: Vec::new(),
        };
        if let Some(given) = items.rest.first()
            && word(given).is_some()
        {
            raise.state = RaiseState::Given(state(items.next("an SQLSTATE")?)?);
        }
        if let Some(format) = items.part("format") {
            raise.format = format.each(|form| match &form.shape {
                Shape::Text(text) => Ok(text.clone()),
                _ => Err(form.error("a text is expected")),
            })?;
        }
        if let Some(arguments) = items.part("arguments") {
            raise.arguments = self.exprs(arguments)?;
        }
        if let Some(options) = items.part("using") {
            raise.options = options.each(|form| {
                let (head, mut items) = Items::headed(form)?;
                let option = option(head).ok_or_else(|| form.error("there is no such option"))?;
                let value = self.next_expr(&mut items)?;
                items.end()?;
                Ok((option, value))
            })?;
        }
        Ok(raise)
    }

    fn into(&self, items: &mut Items<'_>) -> Read<Into> {
        let targets = match items.part("into") {
            Some(targets) => self.targets(targets)?,
            None => Vec::new(),
        };
        Ok(Into {
            targets,
            strict: items.flag("strict"),
            silent: items.flag("silent"),
        })
    }

    fn targets(&self, items: Items<'_>) -> Read<Vec<(usize, Expr)>> {
        items.each(|form| {
            let mut items = Items::of(form)?;
            let target = (items.slot()?, self.next_expr(&mut items)?);
            items.end()?;
            Ok(target)
        })
    }

    pub fn exprs(&self, items: Items<'_>) -> Read<Vec<Expr>> {
        items.each(|form| self.expr(form))
    }

    pub fn next_expr(&self, items: &mut Items<'_>) -> Read<Expr> {
        self.expr(items.next("an expression")?)
    }

    fn next_box(&self, items: &mut Items<'_>) -> Read<Box<Expr>> {
        self.next_expr(items).map(Box::new)
    }

    fn maybe_expr(&self, items: &mut Items<'_>) -> Read<Option<Expr>> {
        match items.is_empty() {
            true => Ok(None),
            false => self.next_expr(items).map(Some),
        }
    }

    pub fn expr(&self, form: &Form) -> Read<Expr> {
        match &form.shape {
            Shape::Word(word) => leaf(word).ok_or_else(|| {
                form.error(
                    "a constant, a parameter like $1:int4 or a place like #0:int4 is expected",
                )
            }),
            Shape::Typed(text, ty) => constant(form, text, ty),
            Shape::Text(_) => Err(form.error("a constant needs a type behind it")),
            Shape::List(_) => self.node(form),
        }
    }

    fn node(&self, form: &Form) -> Read<Expr> {
        let (head, mut items) = Items::headed(form)?;
        let expr = match head {
            "call" => return self.call(form, items),
            "routine" => {
                let callee = Box::new(self.callee(items.next("a callee")?)?);
                return Ok(Expr::Routine {
                    callee,
                    ty: items.ty()?,
                    args: self.exprs(items)?,
                });
            }
            "subquery" => {
                let subquery = self.subquery(&mut items)?;
                Expr::Subquery(Box::new(subquery))
            }
            "is-distinct" | "is-not-distinct" => Expr::Distinct {
                left: self.next_box(&mut items)?,
                right: self.next_box(&mut items)?,
                negated: head == "is-not-distinct",
            },
            "and" => return Ok(Expr::And(self.exprs(items)?)),
            "or" => return Ok(Expr::Or(self.exprs(items)?)),
            "not" => Expr::Not(self.next_box(&mut items)?),
            "is-null" | "is-not-null" => Expr::IsNull {
                input: self.next_box(&mut items)?,
                negated: head == "is-not-null",
            },
            "is" | "is-not" => Expr::IsTruth {
                truth: match items.word("a truth value")? {
                    "true" => Truth::True,
                    "false" => Truth::False,
                    "unknown" => Truth::Unknown,
                    _ => return Err(form.error("true, false or unknown is expected")),
                },
                input: self.next_box(&mut items)?,
                negated: head == "is-not",
            },
            "case" => {
                let ty = items.ty()?;
                let mut branches = Vec::new();
                while let Some(mut branch) = items.part("when") {
                    let (when, then) = (self.next_expr(&mut branch)?, self.next_expr(&mut branch)?);
                    branch.end()?;
                    branches.push((when, then));
                }
                let otherwise = match items.part("else") {
                    Some(mut then) => Some(self.next_box(&mut then)?),
                    None => None,
                };
                Expr::Case {
                    branches,
                    otherwise,
                    ty,
                }
            }
            "coalesce" => {
                return Ok(Expr::Coalesce {
                    ty: items.ty()?,
                    args: self.exprs(items)?,
                });
            }
            "greatest" | "least" => {
                return Ok(Expr::Extreme {
                    greatest: head == "greatest",
                    ty: items.ty()?,
                    args: self.exprs(items)?,
                });
            }
            "in" | "not-in" => {
                return Ok(Expr::InList {
                    input: self.next_box(&mut items)?,
                    list: self.exprs(items)?,
                    negated: head == "not-in",
                });
            }
            "any" | "all" => {
                let op = items.word("a comparison")?;
                let op = comparison(op).ok_or_else(|| form.error("there is no such comparison"))?;
                Expr::Quantified {
                    op,
                    input: self.next_box(&mut items)?,
                    array: self.next_box(&mut items)?,
                    all: head == "all",
                }
            }
            "array" => {
                return Ok(Expr::Array {
                    element: items.ty()?,
                    elements: self.exprs(items)?,
                });
            }
            "cast" | "convert" => {
                let word = items.word("a type")?;
                let (to, modifier) =
                    of_modified(word).ok_or_else(|| form.error("a type is expected"))?;
                Expr::Cast {
                    input: self.next_box(&mut items)?,
                    to,
                    modifier,
                    explicit: head == "cast",
                }
            }
            "nextval" => Expr::NextVal(SequenceId(items.number("a sequence's id")?)),
            "currval" => Expr::CurrVal(SequenceId(items.number("a sequence's id")?)),
            "setval" => Expr::SetVal {
                sequence: SequenceId(items.number("a sequence's id")?),
                value: self.next_box(&mut items)?,
                is_called: self.next_box(&mut items)?,
            },
            other => match comparison(other) {
                Some(op) => Expr::Compare {
                    op,
                    left: self.next_box(&mut items)?,
                    right: self.next_box(&mut items)?,
                },
                None => return Err(form.error(format!("there is no expression {other}"))),
            },
        };
        items.end()?;
        Ok(expr)
    }

    fn subquery(&self, items: &mut Items<'_>) -> Read<Subquery> {
        let first = items.next("a subquery's form")?;
        let form = match &first.shape {
            Shape::Word(word) if word == "exists" => SubqueryForm::Exists,
            Shape::Word(word) if word == "array" => SubqueryForm::Array,
            _ => {
                let (head, mut items) = Items::headed(first)?;
                let form = match head {
                    "value" => SubqueryForm::Value(items.number("a column")?),
                    "any" | "all" => {
                        let op = comparison(items.word("a comparison")?);
                        let op = op.ok_or_else(|| first.error("there is no such comparison"))?;
                        let all = head == "all";
                        SubqueryForm::Compare { op, all }
                    }
                    _ => return Err(first.error("value, exists, array, any or all is expected")),
                };
                items.end()?;
                form
            }
        };
        Ok(Subquery {
            form,
            ty: items.ty()?,
            outer: self.exprs(items.must("outer")?)?,
            tested: self.exprs(items.must("tested")?)?,
            plan: Arc::new(self.next_plan(items)?),
        })
    }

    /// A built-in function, found by the types of its arguments unless it says which it is.
    fn call(&self, form: &Form, mut items: Items<'_>) -> Read<Expr> {
        let name = items.text("a function's name")?;
        let said = match items.part("of") {
            Some(mut of) => {
                let mut types = Vec::new();
                while !of.is_empty() {
                    types.push(of.ty()?);
                }
                Some((types, items.must("gives")?.ty()?))
            }
            None => None,
        };
        let args = self.exprs(items)?;
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let unknown = || form.error(format!("there is no function {name} of these types"));
        let (function, ty): (&'static Function, SqlType) = match said {
            Some((declared, ty)) => (
                function::declared(name, &declared, &types).ok_or_else(unknown)?,
                ty,
            ),
            None => {
                let resolved = function::resolve(name, &types).map_err(|_| unknown())?;
                (resolved.function, resolved.result)
            }
        };
        Ok(Expr::Call { function, args, ty })
    }

    pub fn callee(&self, form: &Form) -> Read<Callee> {
        let mut items = Items::of(form)?;
        let callee = Callee {
            name: items.text("a function's name")?.to_string(),
            id: RoutineId(items.number("a routine's id")?),
            nothing: match self.next_expr(&mut items)? {
                Expr::Const(value, _) => value,
                _ => return Err(form.error("a constant is expected for nothing")),
            },
            program: match items.is_empty() {
                true => None,
                false => Some(Arc::new(self.program(items.next("a program")?)?)),
            },
        };
        items.end()?;
        Ok(callee)
    }
}

fn declared(form: &Form) -> Read<Slot> {
    let mut items = Items::of(form)?;
    let slot = Slot {
        name: items.text("a variable's name")?.to_string(),
        ty: items.ty()?,
        not_null: items.flag("not-null"),
    };
    items.end()?;
    Ok(slot)
}

/// `$1:type`, `#0:type`, `5:type`, `null:type`
fn leaf(word: &str) -> Option<Expr> {
    let (what, ty) = word.rsplit_once(':')?;
    let ty = of_word(ty)?;
    if let Some(digits) = what.strip_prefix('$') {
        return Some(Expr::Param(slot_number(digits)?, ty));
    }
    if let Some(digits) = what.strip_prefix('#') {
        return Some(Expr::Column(digits.parse().ok()?, ty));
    }
    if let Some(digits) = what.strip_prefix('@') {
        return Some(Expr::Outer(digits.parse().ok()?, ty));
    }
    if what == "null" {
        return Some(Expr::null(ty));
    }
    let value = text_format::read(ty, what, &FormatContext::default()).ok()?;
    Some(Expr::Const(value, ty))
}

fn constant(form: &Form, text: &str, ty: &str) -> Read<Expr> {
    let ty = of_word(ty).ok_or_else(|| form.error("there is no such type"))?;
    if ty.element().unwrap_or(ty).is_record() {
        let value = record(text, ty).ok_or_else(|| form.error("no record"))?;
        return Ok(Expr::Const(value, ty));
    }
    // Nothing prints as it does, and it has no input.
    let read_as = match ty {
        SqlType::Void => SqlType::Text,
        ty => ty,
    };
    let value = text_format::read(read_as, text, &FormatContext::default());
    match value {
        Ok(value) => Ok(Expr::Const(value, ty)),
        Err(error) => Err(form.error(error.into_told().message)),
    }
}

/// A record from the bytes of a row that has it alone.
fn record(text: &str, ty: SqlType) -> Option<Value> {
    let digits = text.as_bytes().chunks_exact(2);
    let bytes = digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
    let bytes = bytes.collect::<Option<Vec<u8>>>()?;
    let mut values = Vec::new();
    let layout = RowLayout::new(vec![ty]);
    layout.decode_into(&bytes, &mut values).ok()?;
    values.pop()
}

fn comparison(symbol: &str) -> Option<CompareOp> {
    use CompareOp::*;
    let known = [Eq, Ne, Lt, Le, Gt, Ge];
    known
        .into_iter()
        .find(|op| function::operator_symbol(*op) == symbol)
}

fn condition(form: &Form) -> Read<Condition> {
    let unknown = || form.error("a condition like 23505, 23*** or others is expected");
    let given = word(form).ok_or_else(unknown)?;
    if given == "others" {
        return Ok(Condition::Others);
    }
    if let Some(class) = given.strip_suffix("***") {
        let class = class.as_bytes().try_into().map_err(|_| unknown())?;
        return Ok(Condition::Class(class));
    }
    state(form).map(Condition::State)
}

fn state(form: &Form) -> Read<SqlState> {
    let bytes = word(form).and_then(|word| word.as_bytes().try_into().ok());
    bytes
        .map(SqlState)
        .ok_or_else(|| form.error("an SQLSTATE of five characters is expected"))
}

fn option(word: &str) -> Option<RaiseOption> {
    use RaiseOption::*;
    let known = [
        Message, Detail, Hint, ErrorCode, Column, Constraint, DataType, Table, Schema,
    ];
    known
        .into_iter()
        .find(|option| option.word().eq_ignore_ascii_case(word))
}

fn diagnostic(form: &Form) -> Read<Diagnostic> {
    use Diagnostic::*;
    let known = [
        State, Message, Detail, Hint, Column, Constraint, DataType, Table, Schema, Context,
    ];
    known
        .into_iter()
        .find(|item| word(form) == Some(&format!("{item:?}").to_lowercase()))
        .ok_or_else(|| form.error("there is no such item"))
}

fn failure(items: &mut Items<'_>) -> Read<SqlError> {
    let state = state(items.next("an SQLSTATE")?)?;
    let mut error = SqlError::new(state, items.text("a message")?);
    let mut part = |name: &str| match items.part(name) {
        Some(mut part) => Ok(Some(part.text("a text")?.to_string())),
        None => Ok(None),
    };
    error.detail = part("detail")?.map(String::into_boxed_str);
    error.hint = part("hint")?.map(String::into_boxed_str);
    error.context = part("context")?.map(String::into_boxed_str);
    error.position = part("position")?.and_then(|at| at.parse().ok());
    let object = ErrorObject {
        schema: part("schema")?,
        table: part("table")?,
        column: part("column")?,
        constraint: part("constraint")?,
        data_type: part("datatype")?,
    };
    if object != ErrorObject::default() {
        error.object = Some(Box::new(object));
    }
    Ok(error)
}
