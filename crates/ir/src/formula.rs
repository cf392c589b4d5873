//! Expressions that are computed without making values.
//!
//! Relies on: `expr`, whose meaning `eval` says; `base::Datum`.  Promises: a formula gives what its expression gives, or
//! nothing at all: then the expression is to be evaluated instead, which gives the value or the error. It has no
//! effect, so evaluating again does no harm.  Does not: stand for every expression: what reads the clock anew, calls a
//! routine, or makes text has no such form.
//!
//! ```text
//!   formula ──► Some(datum)     in a register, or lying in a slot or in the stored row
//!           ──► None            not short enough, an older row, an error: evaluate the expression
//! ```
//! Hot path: run once per row and expression. Columns are read out of the stored row when they are looked at; nothing
//! is allocated, counted or dropped.

mod integer;

use crate::eval::{Host, eval};
use crate::expr::{CompareOp, Expr, Truth};
use crate::function::like;
use crate::schema::TableDef;
use quintet_base::datum::{self, Datum};
use quintet_base::row::RowReader;
use quintet_base::{SqlType, TypeMod, Value};

/// What a formula sees.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The stored row; `None`: its formulas have no columns.
    pub row: Option<RowReader<'a>>,
    /// `$n`.
    pub slots: &'a [Value],
    /// The session.
    pub host: &'a dyn Host,
}

/// An expression beside its formula, if it has one.
#[derive(Clone, Debug)]
pub struct Computed {
    /// What is meant.
    pub expr: Expr,
    /// How it is computed where that is possible.
    pub formula: Option<Formula>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Formula(Node);

#[derive(Clone, Debug)]
enum Node {
    Const(Value),
    Slot(usize),
    /// Of the stored row.
    Column(usize),
    /// Of the array in a slot, at an index.
    Element(usize, Box<Node>),
    Int4(Math, Box<[Node; 2]>),
    Int8(Math, Box<[Node; 2]>),
    Decimal(Math, Box<[Node; 2]>),
    ToInt4(Box<Node>),
    ToInt8(Box<Node>),
    ToDecimal(Box<Node>),
    FitDecimal(Box<Node>, u16, u16),
    FitText(Box<Node>, SqlType, usize),
    Round(Box<Node>, u16),
    Compare(CompareOp, SqlType, Box<[Node; 2]>),
    And(Box<[Node]>),
    Or(Box<[Node]>),
    Not(Box<Node>),
    IsNull(Box<Node>, bool),
    IsTruth(Box<Node>, Option<bool>, bool),
    Case(Box<[(Node, Node)]>, Box<Node>),
    /// CASE over integers that one operand is compared with.
    Switch(Box<Node>, Box<[(i64, Node)]>, Box<Node>),
    Coalesce(Box<[Node]>),
    /// LIKE '%…%'.
    Contains(Box<Node>, Box<str>),
    Like(Box<[Node; 2]>),
    /// Anything without columns that gives a number, a time or a truth value.
    Other(Box<Expr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Math {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Computed {
    /// An expression over slots and, of a table, the columns of a frame.
    pub fn new(expr: Expr, frame: Option<(&TableDef, &[usize])>) -> Computed {
        Computed {
            formula: Formula::new(&expr, frame),
            expr,
        }
    }

    /// Whether it can be computed without a frame of values.
    pub fn needs_no_frame(&self) -> bool {
        self.formula.is_some() || !self.expr.uses_columns()
    }
}

impl Formula {
    /// The formula of an expression over slots and, of a table, the columns of a frame.
    pub fn new(expr: &Expr, frame: Option<(&TableDef, &[usize])>) -> Option<Formula> {
        node(expr, frame).map(Formula)
    }

    /// Its value; `None`: evaluate the expression.
    #[inline]
    pub fn eval<'a>(&'a self, scope: &Scope<'a>) -> Option<Datum<'a>> {
        self.0.eval(scope)
    }

    /// Its value, if it is an int4 or, the inner `None`, NULL; `None`: ask [`Formula::eval`].
    #[inline]
    pub fn int4(&self, scope: &Scope<'_>) -> Option<Option<i32>> {
        self.0.int4(scope)
    }

    /// Names each element of an array in a slot at an index in a slot, by the two; one for which a slot is given is read there instead.
    pub(crate) fn keep_elements(&mut self, kept: &mut dyn FnMut(usize, usize) -> Option<usize>) {
        self.0.keep_elements(kept);
    }

    /// Whether the truth value is TRUE; `None`: evaluate the expression.
    #[inline]
    pub fn holds(&self, scope: &Scope<'_>) -> Option<bool> {
        self.0.truth(scope).map(|truth| truth == Some(true))
    }
}

/// Whether columns of a type can be read where they lie.
fn is_read_in_place(ty: SqlType) -> bool {
    use SqlType::*;
    matches!(
        ty,
        Bool | Int2
            | Int4
            | Int8
            | Numeric
            | Text
            | Varchar
            | Bpchar
            | Name
            | Date
            | Timestamp
            | TimestampTz
    )
}

fn is_scalar(ty: SqlType) -> bool {
    use SqlType::*;
    matches!(
        ty,
        Bool | Int2 | Int4 | Int8 | Numeric | Date | Timestamp | TimestampTz
    )
}

fn node(expr: &Expr, frame: Option<(&TableDef, &[usize])>) -> Option<Node> {
    let part = |expr: &Expr| node(expr, frame);
    let boxed = |expr: &Expr| part(expr).map(Box::new);
    let both = |left: &Expr, right: &Expr| Some(Box::new([part(left)?, part(right)?]));
    let all = |exprs: &[Expr]| exprs.iter().map(part).collect::<Option<Box<[Node]>>>();
    let made = match expr {
        Expr::Const(value, _) => Some(Node::Const(value.clone())),
        Expr::Param(slot, _) => Some(Node::Slot(*slot)),
        Expr::Column(place, _) => {
            let (table, columns) = frame?;
            let number = *columns.get(*place)?;
            let column = table.columns.get(number)?;
            let seen = is_read_in_place(column.ty) && !column.dropped;
            seen.then_some(Node::Column(number))
        }
        Expr::Call { function, args, .. } if function.subscript => match &args[0] {
            Expr::Param(slot, _) => Some(Node::Element(*slot, boxed(&args[1])?)),
            _ => None,
        },
        Expr::Call { function, args, .. } => call(function, args, &part),
        Expr::Compare { op, left, right } => {
            Some(Node::Compare(*op, left.ty(), both(left, right)?))
        }
        Expr::And(args) => all(args).map(Node::And),
        Expr::Or(args) => all(args).map(Node::Or),
        Expr::Not(input) => boxed(input).map(Node::Not),
        Expr::IsNull { input, negated } => Some(Node::IsNull(boxed(input)?, *negated)),
        Expr::IsTruth {
            input,
            truth,
            negated,
        } => {
            let wanted = match truth {
                Truth::True => Some(true),
                Truth::False => Some(false),
                Truth::Unknown => None,
            };
            Some(Node::IsTruth(boxed(input)?, wanted, *negated))
        }
        Expr::Case {
            branches,
            otherwise,
            ..
        } => {
            let otherwise = match otherwise {
                Some(otherwise) => boxed(otherwise)?,
                None => Box::new(Node::Const(Value::Null)),
            };
            match switch(branches) {
                Some((subject, numbers)) => {
                    let results = branches.iter().map(|(_, result)| part(result));
                    let results = numbers.into_iter().zip(results);
                    let results = results.map(|(number, result)| Some((number, result?)));
                    let results = results.collect::<Option<_>>()?;
                    Some(Node::Switch(boxed(subject)?, results, otherwise))
                }
                None => {
                    let branches = branches.iter();
                    let branches = branches.map(|(when, then)| Some((part(when)?, part(then)?)));
                    Some(Node::Case(branches.collect::<Option<_>>()?, otherwise))
                }
            }
        }
        Expr::Coalesce { args, .. } => all(args).map(Node::Coalesce),
        Expr::Cast {
            input,
            to,
            modifier,
            ..
        } => conversion(part(input)?, input.ty(), *to, *modifier),
        _ => None,
    };
    made.or_else(|| {
        let plain = !expr.uses_columns() && !expr.calls_routine() && expr.is_free();
        (plain && is_scalar(expr.ty())).then(|| Node::Other(Box::new(expr.clone())))
    })
}

/// A function, if it is one of those that most routines are made of.
fn call(
    function: &crate::Function,
    args: &[Expr],
    part: &dyn Fn(&Expr) -> Option<Node>,
) -> Option<Node> {
    use SqlType::{Int4, Int8, Numeric, Text};
    let both = || Some(Box::new([part(&args[0])?, part(&args[1])?]));
    let math = match function.name {
        "+" => Some(Math::Add),
        "-" => Some(Math::Subtract),
        "*" => Some(Math::Multiply),
        "/" => Some(Math::Divide),
        _ => None,
    };
    match (function.name, function.args, math) {
        (_, [Int4, Int4], Some(math)) => Some(Node::Int4(math, both()?)),
        (_, [Int8, Int8], Some(math)) => Some(Node::Int8(math, both()?)),
        (_, [Numeric, Numeric], Some(math)) if math != Math::Divide => {
            Some(Node::Decimal(math, both()?))
        }
        ("round", [Numeric, Int4], _) => match &args[1] {
            Expr::Const(Value::Int4(scale), _) => {
                // Beyond, nothing is short.
                let scale = u16::try_from(*scale).ok().filter(|scale| *scale < 19)?;
                Some(Node::Round(Box::new(part(&args[0])?), scale))
            }
            _ => None,
        },
        ("~~", [Text, Text], _) => match &args[1] {
            Expr::Const(Value::Text(pattern), _) => match contained(pattern) {
                Some(wanted) => Some(Node::Contains(Box::new(part(&args[0])?), wanted.into())),
                None => Some(Node::Like(both()?)),
            },
            _ => Some(Node::Like(both()?)),
        },
        _ => None,
    }
}

/// What a pattern `%…%` looks for, if that is plain text.
fn contained(pattern: &str) -> Option<&str> {
    let wanted = pattern.strip_prefix('%')?.strip_suffix('%')?;
    let plain = !wanted.is_empty() && !wanted.contains(['%', '_', '\\']);
    plain.then_some(wanted)
}

/// The operand and the integers that the branches of a CASE compare it with, if that is what they do.
fn switch(branches: &[(Expr, Expr)]) -> Option<(&Expr, Vec<i64>)> {
    let compared = |(condition, _): &'_ (Expr, Expr)| match condition {
        Expr::Compare {
            op: CompareOp::Eq,
            left,
            right,
        } => match (&**left, &**right) {
            (Expr::Param(slot, _), Expr::Const(value, _)) => Some((
                *slot,
                value.as_i64().filter(|_| !matches!(value, Value::Oid(_)))?,
            )),
            _ => None,
        },
        _ => None,
    };
    let all = branches.iter().map(compared).collect::<Option<Vec<_>>>()?;
    let (slot, _) = *all.first()?;
    let one = all.iter().all(|(other, _)| *other == slot);
    let Expr::Compare { left, .. } = &branches[0].0 else {
        return None;
    };
    one.then(|| (&**left, all.into_iter().map(|(_, number)| number).collect()))
}

fn conversion(input: Node, from: SqlType, to: SqlType, modifier: TypeMod) -> Option<Node> {
    use SqlType::{Bpchar, Int2, Int4, Int8, Numeric, Text, Varchar};
    let input = Box::new(input);
    let converted = match (from, to) {
        (Text | Varchar, Text | Varchar) => *input,
        _ if from == to => *input,
        (Int2, Int4) | (Int8, Int4) => Node::ToInt4(input),
        (Int2 | Int4, Int8) => Node::ToInt8(input),
        (Int2 | Int4 | Int8, Numeric) => Node::ToDecimal(input),
        _ => return None,
    };
    if modifier == TypeMod::NONE {
        return Some(converted);
    }
    let converted = Box::new(converted);
    match to {
        Numeric => {
            let (precision, scale) = modifier.as_precision_scale()?;
            // Few have a scale below zero.
            let scale = u16::try_from(scale).ok()?;
            Some(Node::FitDecimal(converted, precision, scale))
        }
        Varchar | Bpchar => Some(Node::FitText(converted, to, modifier.as_length()?)),
        _ => None,
    }
}

impl Node {
    fn keep_elements(&mut self, kept: &mut dyn FnMut(usize, usize) -> Option<usize>) {
        if let Node::Element(array, index) = self
            && let Node::Slot(index) = **index
        {
            if let Some(slot) = kept(*array, index) {
                *self = Node::Slot(slot);
            }
            return;
        }
        self.for_each_part_mut(&mut |part| part.keep_elements(kept));
    }

    fn for_each_part_mut(&mut self, see: &mut dyn FnMut(&mut Node)) {
        match self {
            Node::Const(_) | Node::Slot(_) | Node::Column(_) | Node::Other(_) => {}
            Node::Element(_, input)
            | Node::ToInt4(input)
            | Node::ToInt8(input)
            | Node::ToDecimal(input)
            | Node::FitDecimal(input, ..)
            | Node::FitText(input, ..)
            | Node::Round(input, _)
            | Node::Not(input)
            | Node::IsNull(input, _)
            | Node::IsTruth(input, ..)
            | Node::Contains(input, _) => see(input),
            Node::Int4(_, both)
            | Node::Int8(_, both)
            | Node::Decimal(_, both)
            | Node::Compare(_, _, both)
            | Node::Like(both) => both.iter_mut().for_each(see),
            Node::And(args) | Node::Or(args) | Node::Coalesce(args) => {
                args.iter_mut().for_each(see);
            }
            Node::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    see(condition);
                    see(result);
                }
                see(otherwise);
            }
            Node::Switch(subject, results, otherwise) => {
                see(subject);
                results.iter_mut().for_each(|(_, result)| see(result));
                see(otherwise);
            }
        }
    }

    /// What lies somewhere is looked at here, the rest computed.
    #[inline(always)]
    fn eval<'a>(&'a self, scope: &Scope<'a>) -> Option<Datum<'a>> {
        match self {
            Node::Slot(slot) => scope.slots.get(*slot).map(Datum::of),
            Node::Column(number) => scope.row.as_ref()?.datum(*number),
            Node::Int4(..) => Some(self.compute_int4(scope)?.map_or(Datum::Null, Datum::Int4)),
            Node::Element(array, index) => integer::element(*array, index, scope).map(Datum::of),
            _ => self.compute(scope),
        }
    }

    fn compute<'a>(&'a self, scope: &Scope<'a>) -> Option<Datum<'a>> {
        Some(match self {
            Node::Const(value) => Datum::of(value),
            Node::Slot(_) | Node::Column(_) | Node::Int4(..) | Node::Element(..) => {
                return self.eval(scope);
            }
            Node::Int8(math, both) => match (both[0].eval(scope)?, both[1].eval(scope)?) {
                (Datum::Int8(a), Datum::Int8(b)) => Datum::Int8(match math {
                    Math::Add => a.checked_add(b)?,
                    Math::Subtract => a.checked_sub(b)?,
                    Math::Multiply => a.checked_mul(b)?,
                    Math::Divide => a.checked_div(b)?,
                }),
                (a, b) => null_of(a, b)?,
            },
            Node::Decimal(math, both) => match (both[0].eval(scope)?, both[1].eval(scope)?) {
                (Datum::Decimal(a, scale_a), Datum::Decimal(b, scale_b)) => {
                    let (a, b) = ((a, scale_a), (b, scale_b));
                    let (mantissa, scale) = match math {
                        Math::Add => datum::add(a, b)?,
                        Math::Subtract => datum::subtract(a, b)?,
                        Math::Multiply => datum::multiply(a, b)?,
                        Math::Divide => return None,
                    };
                    Datum::Decimal(mantissa, scale)
                }
                (a, b) => null_of(a, b)?,
            },
            Node::ToInt4(input) => match input.eval(scope)? {
                Datum::Null => Datum::Null,
                value => Datum::Int4(i32::try_from(value.as_i64()?).ok()?),
            },
            Node::ToInt8(input) => match input.eval(scope)? {
                Datum::Null => Datum::Null,
                value => Datum::Int8(value.as_i64()?),
            },
            Node::ToDecimal(input) => match input.eval(scope)? {
                Datum::Null => Datum::Null,
                value => Datum::Decimal(value.as_i64()?, 0),
            },
            Node::FitDecimal(input, precision, scale) => match input.eval(scope)? {
                Datum::Null => Datum::Null,
                Datum::Decimal(mantissa, own) => {
                    let (mantissa, scale) = datum::fit((mantissa, own), *precision, *scale)?;
                    Datum::Decimal(mantissa, scale)
                }
                _ => return None,
            },
            Node::FitText(input, ty, length) => match input.eval(scope)? {
                Datum::Null => Datum::Null,
                // Every character is at least a byte.
                Datum::Text(text) => {
                    let fits = match ty {
                        SqlType::Bpchar => text.len() == *length && text.is_ascii(),
                        _ => text.len() <= *length,
                    };
                    fits.then_some(Datum::Text(text))?
                }
                _ => return None,
            },
            Node::Round(input, scale) => match input.eval(scope)? {
                Datum::Null => Datum::Null,
                Datum::Decimal(mantissa, own) => {
                    let (mantissa, scale) = datum::round((mantissa, own), *scale)?;
                    Datum::Decimal(mantissa, scale)
                }
                _ => return None,
            },
            Node::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    if condition.truth(scope)? == Some(true) {
                        return result.eval(scope);
                    }
                }
                return otherwise.eval(scope);
            }
            Node::Switch(subject, results, otherwise) => {
                let subject = match subject.eval(scope)? {
                    Datum::Null => return otherwise.eval(scope),
                    subject => subject.as_i64()?,
                };
                return among(results, subject, otherwise).eval(scope);
            }
            Node::Coalesce(args) => {
                for arg in args {
                    let value = arg.eval(scope)?;
                    if !value.is_null() {
                        return Some(value);
                    }
                }
                Datum::Null
            }
            Node::Other(expr) => {
                let value = eval(expr, &[], scope.slots, scope.host).ok()?;
                Datum::scalar(&value)?
            }
            Node::Compare(..)
            | Node::And(_)
            | Node::Or(_)
            | Node::Not(_)
            | Node::IsNull(..)
            | Node::IsTruth(..)
            | Node::Contains(..)
            | Node::Like(_) => self.truth(scope)?.map_or(Datum::Null, Datum::Bool),
        })
    }

    /// TRUE, FALSE or NULL.
    #[inline(always)]
    fn truth(&self, scope: &Scope<'_>) -> Option<Option<bool>> {
        match self {
            Node::Slot(slot) => match scope.slots.get(*slot)? {
                Value::Bool(truth) => Some(Some(*truth)),
                Value::Null => Some(None),
                _ => None,
            },
            _ => self.compute_truth(scope),
        }
    }

    fn compute_truth(&self, scope: &Scope<'_>) -> Option<Option<bool>> {
        Some(match self {
            Node::Compare(op, SqlType::Int4, both) => {
                match (both[0].int4(scope)?, both[1].int4(scope)?) {
                    (Some(a), Some(b)) => Some(op.accepts(a.cmp(&b))),
                    _ => None,
                }
            }
            Node::Compare(op, ty, both) => match (both[0].eval(scope)?, both[1].eval(scope)?) {
                (Datum::Null, _) | (_, Datum::Null) => None,
                (a, b) => Some(op.accepts(a.order(&b, *ty)?)),
            },
            Node::And(args) => connect(args, false, scope)?,
            Node::Or(args) => connect(args, true, scope)?,
            Node::Not(input) => input.truth(scope)?.map(|truth| !truth),
            Node::IsNull(input, negated) => Some(input.eval(scope)?.is_null() != *negated),
            Node::IsTruth(input, wanted, negated) => {
                Some((input.truth(scope)? == *wanted) != *negated)
            }
            Node::Contains(input, wanted) => match input.eval(scope)? {
                Datum::Null => None,
                Datum::Text(text) => Some(text.contains(&**wanted)),
                _ => return None,
            },
            Node::Like(both) => match (both[0].eval(scope)?, both[1].eval(scope)?) {
                (Datum::Null, _) | (_, Datum::Null) => None,
                (Datum::Text(text), Datum::Text(pattern)) => Some(like(text, pattern).ok()?),
                _ => return None,
            },
            other => match other.eval(scope)? {
                Datum::Null => None,
                Datum::Bool(truth) => Some(truth),
                _ => return None,
            },
        })
    }
}

/// What a switch gives for an integer.
fn among<'a>(results: &'a [(i64, Node)], subject: i64, otherwise: &'a Node) -> &'a Node {
    let found = results.iter().find(|(number, _)| *number == subject);
    found.map_or(otherwise, |(_, result)| result)
}

/// What a strict function gives for two operands of which it takes none: NULL, if one is NULL.
fn null_of<'a>(a: Datum<'a>, b: Datum<'a>) -> Option<Datum<'a>> {
    (a.is_null() || b.is_null()).then_some(Datum::Null)
}

/// AND (`decisive` is false) or OR (true): the decisive value wins, then NULL.
fn connect(args: &[Node], decisive: bool, scope: &Scope<'_>) -> Option<Option<bool>> {
    let mut unknown = false;
    for arg in args {
        match arg.truth(scope)? {
            Some(value) if value == decisive => return Some(Some(decisive)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Some((!unknown).then_some(!decisive))
}
