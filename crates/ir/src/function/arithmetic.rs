//! Integers: operators, bits, and the functions on them.
//!
//! Relies on: nothing but the values.  Promises: PostgreSQL's result types (the wider of the two
//! sides), 22003 when a result leaves its type, 22012 for a zero divisor; shifts use the count
//! modulo the width.  Does not: touch oid, which has no arithmetic.
//!
//! Hot path: one call per operator and row; no allocation, no branch beyond the range check.

use super::{Function, builtin as new, int};
use crate::eval::Host;
use quintet_base::SqlType::{Int2, Int4, Int8, Text};
use quintet_base::{SqlError, SqlResult, SqlState, Value};

/// An integer type, computed in 64 bits and narrowed at the end.
pub(crate) trait Width {
    const NAME: &'static str;
    const BITS: u32;
    fn value(wide: i64) -> Option<Value>;
}

struct Small;
struct Medium;
struct Large;

impl Width for Small {
    const NAME: &'static str = "smallint";
    // PostgreSQL shifts smallint as integer and cuts the result.
    const BITS: u32 = 32;
    fn value(wide: i64) -> Option<Value> {
        i16::try_from(wide).ok().map(Value::Int2)
    }
}

impl Width for Medium {
    const NAME: &'static str = "integer";
    const BITS: u32 = 32;
    fn value(wide: i64) -> Option<Value> {
        i32::try_from(wide).ok().map(Value::Int4)
    }
}

impl Width for Large {
    const NAME: &'static str = "bigint";
    const BITS: u32 = 64;
    fn value(wide: i64) -> Option<Value> {
        Some(Value::Int8(wide))
    }
}

#[cold]
pub(crate) fn out_of_range(name: &str) -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("{name} out of range"),
    )
}

#[cold]
pub(super) fn division_by_zero() -> SqlError {
    SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

fn narrow<W: Width>(wide: Option<i64>) -> SqlResult<Value> {
    wide.and_then(W::value).ok_or_else(|| out_of_range(W::NAME))
}

fn add<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    narrow::<W>(int(args[0]).checked_add(int(args[1])))
}

fn subtract<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    narrow::<W>(int(args[0]).checked_sub(int(args[1])))
}

fn multiply<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    narrow::<W>(int(args[0]).checked_mul(int(args[1])))
}

fn divide<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match int(args[1]) {
        0 => Err(division_by_zero()),
        divisor => narrow::<W>(int(args[0]).checked_div(divisor)),
    }
}

fn remainder<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match int(args[1]) {
        0 => Err(division_by_zero()),
        divisor => narrow::<W>(Some(int(args[0]).wrapping_rem(divisor))),
    }
}

fn negate<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    narrow::<W>(int(args[0]).checked_neg())
}

pub(super) fn same(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(args[0].clone())
}

fn absolute<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    narrow::<W>(int(args[0]).checked_abs())
}

fn and<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    narrow::<W>(Some(int(args[0]) & int(args[1])))
}

fn or<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    narrow::<W>(Some(int(args[0]) | int(args[1])))
}

fn exclusive_or<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    narrow::<W>(Some(int(args[0]) ^ int(args[1])))
}

fn complement<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    narrow::<W>(Some(!int(args[0])))
}

/// Cuts to the width instead of refusing, as a machine shift does.
fn wrap(value: &Value, wide: i64) -> Value {
    match value {
        Value::Int2(_) => Value::Int2(wide as i16),
        Value::Int4(_) => Value::Int4(wide as i32),
        _ => Value::Int8(wide),
    }
}

fn shift_left<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let count = int(args[1]) as u32 % W::BITS;
    Ok(wrap(args[0], int(args[0]) << count))
}

fn shift_right<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let count = int(args[1]) as u32 % W::BITS;
    Ok(wrap(args[0], int(args[0]) >> count))
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn greatest_common_divisor<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let result = gcd(int(args[0]).unsigned_abs(), int(args[1]).unsigned_abs());
    narrow::<W>(i64::try_from(result).ok())
}

fn least_common_multiple<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (a, b) = (int(args[0]).unsigned_abs(), int(args[1]).unsigned_abs());
    if a == 0 || b == 0 {
        return narrow::<W>(Some(0));
    }
    let result = (a / gcd(a, b)).checked_mul(b);
    narrow::<W>(result.and_then(|r| i64::try_from(r).ok()))
}

fn to_hex(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(match args[0] {
        Value::Int4(v) => format!("{v:x}"),
        other => format!("{:x}", int(other)),
    }))
}

macro_rules! functions {
    (mixed: $(($left:ident, $right:ident) => $result:ident $wide:ident;)*
     same: $($ty:ident $width:ident;)*) => {
        pub(super) static FUNCTIONS: &[Function] = &[
            $(
                new("+", &[$left, $right], $result, add::<$wide>),
                new("-", &[$left, $right], $result, subtract::<$wide>),
                new("*", &[$left, $right], $result, multiply::<$wide>),
                new("/", &[$left, $right], $result, divide::<$wide>),
            )*
            $(
                new("%", &[$ty, $ty], $ty, remainder::<$width>),
                new("mod", &[$ty, $ty], $ty, remainder::<$width>),
                new("-", &[$ty], $ty, negate::<$width>),
                new("+", &[$ty], $ty, same),
                new("@", &[$ty], $ty, absolute::<$width>),
                new("abs", &[$ty], $ty, absolute::<$width>),
                new("&", &[$ty, $ty], $ty, and::<$width>),
                new("|", &[$ty, $ty], $ty, or::<$width>),
                new("#", &[$ty, $ty], $ty, exclusive_or::<$width>),
                new("~", &[$ty], $ty, complement::<$width>),
                new("<<", &[$ty, Int4], $ty, shift_left::<$width>),
                new(">>", &[$ty, Int4], $ty, shift_right::<$width>),
            )*
            new("gcd", &[Int4, Int4], Int4, greatest_common_divisor::<Medium>),
            new("gcd", &[Int8, Int8], Int8, greatest_common_divisor::<Large>),
            new("lcm", &[Int4, Int4], Int4, least_common_multiple::<Medium>),
            new("lcm", &[Int8, Int8], Int8, least_common_multiple::<Large>),
            new("to_hex", &[Int4], Text, to_hex),
            new("to_hex", &[Int8], Text, to_hex),
        ];
    };
}

functions! {
    mixed:
    (Int2, Int2) => Int2 Small;
    (Int2, Int4) => Int4 Medium;
    (Int2, Int8) => Int8 Large;
    (Int4, Int2) => Int4 Medium;
    (Int4, Int4) => Int4 Medium;
    (Int4, Int8) => Int8 Large;
    (Int8, Int2) => Int8 Large;
    (Int8, Int4) => Int8 Large;
    (Int8, Int8) => Int8 Large;
    same:
    Int2 Small;
    Int4 Medium;
    Int8 Large;
}
