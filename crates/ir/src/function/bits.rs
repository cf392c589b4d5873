//! Strings of bits.
//!
//! Relies on: `base::bits`.  Promises: PostgreSQL's functions and operators of `bit` and `bit varying`, and those that look at
//! the bits of bytes.  Does not: compare them (`compare` does).

use super::text::count;
use super::{Function, builtin as new, fail, int, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{Bit, Bytea, Int4, Int8, VarBit};
use quintet_base::{Bits, SqlResult, SqlState, Value};

fn bits(value: &Value) -> &Bits {
    match value {
        Value::Bits(bits) => bits,
        other => wrong_type(other),
    }
}

fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::Bytea(bytes) => bytes,
        other => wrong_type(other),
    }
}

fn number(value: &Value) -> i32 {
    match value {
        Value::Int4(number) => *number,
        other => wrong_type(other),
    }
}

/// A function of bits that gives bits.
macro_rules! give_bits {
    ($($name:ident: |$args:ident| $value:expr;)*) => {
        $(fn $name($args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
            Ok(Value::Bits($value))
        })*
    };
}

give_bits! {
    and: |args| bits(args[0]).and(bits(args[1]))?;
    or: |args| bits(args[0]).or(bits(args[1]))?;
    xor: |args| bits(args[0]).xor(bits(args[1]))?;
    invert: |args| bits(args[0]).invert();
    shift_right: |args| bits(args[0]).shift(number(args[1]));
    shift_left: |args| bits(args[0]).shift(number(args[1]).saturating_neg());
    concatenate: |args| bits(args[0]).join(bits(args[1]))?;
    substring: |args| bits(args[0]).substring(number(args[1]), args.get(2).map(|n| number(n)))?;
    overlay: |args| match args {
        [whole, part, start] => {
            let length = i32::try_from(bits(part).len()).unwrap_or(i32::MAX);
            bits(whole).overlay(bits(part), number(start), length)?
        }
        _ => bits(args[0]).overlay(bits(args[1]), number(args[2]), number(args[3]))?,
    };
    set_bit: |args| bits(args[0]).set(number(args[1]), number(args[2]))?;
    of_integer: |args| {
        // What is no number of bits stands for one.
        let wanted = usize::try_from(number(args[1])).unwrap_or(0);
        Bits::of_integer(int(args[0]), wanted.max(1))?
    };
}

fn length(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(count(bits(args[0]).len()))
}

fn octet_length(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(count(bits(args[0]).bytes().len()))
}

fn position(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(count(bits(args[0]).position(bits(args[1]))))
}

fn get_bit(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let bit = bits(args[0]).get(number(args[1]))?;
    Ok(Value::Int4(i32::from(bit)))
}

fn bit_count(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Int8(bits(args[0]).count_ones()))
}

fn bit_count_of_bytes(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let ones = bytes(args[0])
        .iter()
        .map(|byte| i64::from(byte.count_ones()));
    Ok(Value::Int8(ones.sum()))
}

/// The byte with a bit, and which of its bits it is: the lowest is the first here.
fn place_in_bytes(bytes: &[u8], place: i64) -> SqlResult<(usize, u32)> {
    const BYTE: usize = 8;
    let bits = bytes.len() * BYTE;
    match usize::try_from(place) {
        Ok(at) if at < bits => Ok((at / BYTE, (at % BYTE) as u32)),
        _ => fail(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            format!("index {place} out of valid range, 0..{}", bits as i64 - 1),
        ),
    }
}

fn get_bit_of_bytes(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let bytes = bytes(args[0]);
    let (byte, bit) = place_in_bytes(bytes, int(args[1]))?;
    Ok(Value::Int4(i32::from(bytes[byte] >> bit & 1)))
}

fn set_bit_of_bytes(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut bytes = bytes(args[0]).to_vec();
    let (byte, bit) = place_in_bytes(&bytes, int(args[1]))?;
    match int(args[2]) {
        0 => bytes[byte] &= !(1 << bit),
        1 => bytes[byte] |= 1 << bit,
        _ => return fail(SqlState::INVALID_PARAMETER_VALUE, "new bit must be 0 or 1"),
    }
    Ok(Value::Bytea(bytes.into()))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("&", &[Bit, Bit], Bit, and),
    new("|", &[Bit, Bit], Bit, or),
    new("#", &[Bit, Bit], Bit, xor),
    new("~", &[Bit], Bit, invert),
    new("<<", &[Bit, Int4], Bit, shift_left),
    new(">>", &[Bit, Int4], Bit, shift_right),
    new("||", &[VarBit, VarBit], VarBit, concatenate),
    new("length", &[Bit], Int4, length),
    new("bit_length", &[Bit], Int4, length),
    new("octet_length", &[Bit], Int4, octet_length),
    new("substring", &[Bit, Int4], Bit, substring),
    new("substring", &[Bit, Int4, Int4], Bit, substring),
    new("overlay", &[Bit, Bit, Int4], Bit, overlay),
    new("overlay", &[Bit, Bit, Int4, Int4], Bit, overlay),
    new("position", &[Bit, Bit], Int4, position),
    new("get_bit", &[Bit, Int4], Int4, get_bit),
    new("get_bit", &[Bytea, Int8], Int4, get_bit_of_bytes),
    new("set_bit", &[Bit, Int4, Int4], Bit, set_bit),
    new("set_bit", &[Bytea, Int8, Int4], Bytea, set_bit_of_bytes),
    new("bit_count", &[Bit], Int8, bit_count),
    new("bit_count", &[Bytea], Int8, bit_count_of_bytes),
    new("bit", &[Int4, Int4], Bit, of_integer),
    new("bit", &[Int8, Int4], Bit, of_integer),
];
