//! numeric.
//!
//! Relies on: `base::Numeric` for the arithmetic and its scales.  Promises: what PostgreSQL prints.
//! Does not: hold arithmetic of its own, but for logarithms to a base.

use super::{Function, builtin as new, int, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{Int4, Numeric as Decimal};
use quintet_base::{Numeric, SqlResult, Value};

/// PostgreSQL's least number of significant digits of a quotient or logarithm.
const SIGNIFICANT_DIGITS_MIN: i32 = 16;
/// PostgreSQL's largest scale that a function chooses by itself.
const DISPLAY_SCALE_MAX: i32 = 1000;
/// Digits carried beyond those that are printed, so that two roundings do not show.
const GUARD_DIGITS: i32 = 8;

fn number(value: &Value) -> &Numeric {
    match value {
        Value::Numeric(number) => number,
        other => wrong_type(other),
    }
}

macro_rules! binary {
    ($($name:ident = $method:ident;)*) => {
        $(fn $name(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
            number(args[0]).$method(number(args[1])).map(Value::numeric)
        })*
    };
}

macro_rules! unary {
    ($($name:ident = |$number:ident| $body:expr;)*) => {
        $(fn $name(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
            let $number = number(args[0]);
            let result: SqlResult<Numeric> = $body;
            result.map(Value::numeric)
        })*
    };
}

binary! {
    add = add;
    subtract = sub;
    multiply = mul;
    divide = div;
    remainder = rem;
    divide_whole = div_trunc;
    power = power;
    log_to_base = logarithm;
}

unary! {
    negate = |n| Ok(n.neg());
    same = |n| Ok(n.clone());
    absolute = |n| Ok(n.abs());
    sign = |n| Ok(n.sign());
    ceil = |n| n.ceil();
    floor = |n| n.floor();
    round = |n| n.round(0);
    trunc = |n| n.trunc(0);
    sqrt = |n| n.sqrt();
    exp = |n| n.exp();
    ln = |n| n.ln();
    log = |n| Numeric::from_i64(10).logarithm(n);
    trim_scale = |n| Ok(n.trim_scale());
}

/// Logarithms to a base, which `Numeric` leaves to us.
trait Logarithm {
    fn logarithm(&self, argument: &Numeric) -> SqlResult<Numeric>;
}

impl Logarithm for Numeric {
    /// The logarithm of `argument` to this base, with the scale that PostgreSQL chooses.
    fn logarithm(&self, argument: &Numeric) -> SqlResult<Numeric> {
        if !self.is_finite() || !argument.is_finite() {
            return argument.ln()?.div(&self.ln()?);
        }
        // Refuses what is not above zero before anything is estimated from it.
        let (base_ln, argument_ln) = (self.ln()?.to_f64(), argument.ln()?.to_f64());
        let weight = |ln: f64| {
            if ln == 0.0 {
                0
            } else {
                ln.abs().log10() as i32
            }
        };
        let scale = (SIGNIFICANT_DIGITS_MIN - (weight(argument_ln) - weight(base_ln)))
            .max(i32::from(self.scale()))
            .max(i32::from(argument.scale()))
            .clamp(0, DISPLAY_SCALE_MAX);
        let precise = |n: &Numeric| n.round(scale + GUARD_DIGITS)?.ln();
        precise(argument)?.div(&precise(self)?)?.round(scale)
    }
}

fn round_to(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let scale = int(args[1]) as i32;
    number(args[0]).round(scale).map(Value::numeric)
}

fn trunc_to(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let scale = int(args[1]) as i32;
    number(args[0]).trunc(scale).map(Value::numeric)
}

fn scale(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let number = number(args[0]);
    Ok(match number.is_finite() {
        true => Value::Int4(i32::from(number.scale())),
        false => Value::Null,
    })
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("+", &[Decimal, Decimal], Decimal, add),
    new("-", &[Decimal, Decimal], Decimal, subtract),
    new("*", &[Decimal, Decimal], Decimal, multiply),
    new("/", &[Decimal, Decimal], Decimal, divide),
    new("%", &[Decimal, Decimal], Decimal, remainder),
    new("^", &[Decimal, Decimal], Decimal, power),
    new("-", &[Decimal], Decimal, negate),
    new("+", &[Decimal], Decimal, same),
    new("@", &[Decimal], Decimal, absolute),
    new("mod", &[Decimal, Decimal], Decimal, remainder),
    new("div", &[Decimal, Decimal], Decimal, divide_whole),
    new("power", &[Decimal, Decimal], Decimal, power),
    new("pow", &[Decimal, Decimal], Decimal, power),
    new("abs", &[Decimal], Decimal, absolute),
    new("sign", &[Decimal], Decimal, sign),
    new("ceil", &[Decimal], Decimal, ceil),
    new("ceiling", &[Decimal], Decimal, ceil),
    new("floor", &[Decimal], Decimal, floor),
    new("round", &[Decimal], Decimal, round),
    new("round", &[Decimal, Int4], Decimal, round_to),
    new("trunc", &[Decimal], Decimal, trunc),
    new("trunc", &[Decimal, Int4], Decimal, trunc_to),
    new("sqrt", &[Decimal], Decimal, sqrt),
    new("exp", &[Decimal], Decimal, exp),
    new("ln", &[Decimal], Decimal, ln),
    new("log", &[Decimal], Decimal, log),
    new("log10", &[Decimal], Decimal, log),
    new("log", &[Decimal, Decimal], Decimal, log_to_base),
    new("scale", &[Decimal], Int4, scale),
    new("trim_scale", &[Decimal], Decimal, trim_scale),
];
