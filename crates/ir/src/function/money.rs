//! money: sums, products and quotients, and amounts in words.
//!
//! Relies on: `base::money`.  Promises: PostgreSQL's operators of `money` and functions of its conversions, and 22003 where an
//! amount would have more than 64 bits.  Does not: compare (`compare` does).

use super::float::float;
use super::{Function, builtin as new, int, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{Float4, Float8, Int2, Int4, Int8, Money, Text};
use quintet_base::{SqlResult, Value, money};

fn cents(value: &Value) -> i64 {
    match value {
        Value::Money(cents) => *cents,
        other => wrong_type(other),
    }
}

fn add(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    money::add(cents(args[0]), cents(args[1])).map(Value::Money)
}

fn subtract(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    money::subtract(cents(args[0]), cents(args[1])).map(Value::Money)
}

fn times(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    money::multiply(cents(args[0]), int(args[1])).map(Value::Money)
}

fn times_float(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let by = float(args[1]);
    money::rounded(cents(args[0]) as f64 * by).map(Value::Money)
}

fn of_times(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    times(&[args[1], args[0]], host)
}

fn of_float(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    times_float(&[args[1], args[0]], host)
}

fn divide(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    money::divide(cents(args[0]), int(args[1])).map(Value::Money)
}

fn divide_by_float(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let by = float(args[1]);
    if by == 0.0 {
        return Err(money::division_by_zero());
    }
    money::rounded(cents(args[0]) as f64 / by).map(Value::Money)
}

fn ratio(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (of, by) = (cents(args[0]), cents(args[1]));
    if by == 0 {
        return Err(money::division_by_zero());
    }
    Ok(Value::Float8(of as f64 / by as f64))
}

fn in_words(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(money::in_words(cents(args[0]))))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("+", &[Money, Money], Money, add),
    new("-", &[Money, Money], Money, subtract),
    new("*", &[Money, Int2], Money, times),
    new("*", &[Money, Int4], Money, times),
    new("*", &[Money, Int8], Money, times),
    new("*", &[Money, Float4], Money, times_float),
    new("*", &[Money, Float8], Money, times_float),
    new("*", &[Int2, Money], Money, of_times),
    new("*", &[Int4, Money], Money, of_times),
    new("*", &[Int8, Money], Money, of_times),
    new("*", &[Float4, Money], Money, of_float),
    new("*", &[Float8, Money], Money, of_float),
    new("/", &[Money, Int2], Money, divide),
    new("/", &[Money, Int4], Money, divide),
    new("/", &[Money, Int8], Money, divide),
    new("/", &[Money, Float4], Money, divide_by_float),
    new("/", &[Money, Float8], Money, divide_by_float),
    new("/", &[Money, Money], Float8, ratio),
    new("cash_words", &[Money], Text, in_words),
];
