//! Addresses of the internet and of network cards.
//!
//! Relies on: `base::network`.  Promises: PostgreSQL's functions and operators of `inet`, `cidr` and `macaddr`.
//! Does not: compare them (`compare` does), or know indexes other than by their order: `<<` reads all rows.

use super::{Function, builtin as new, int, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Cidr, Inet, Int4, Int8, MacAddr, Text};
use quintet_base::network::{self, Family};
use quintet_base::{Inet as Address, SqlResult, Value};

fn inet(value: &Value) -> Address {
    match value {
        Value::Inet(inet) => *inet,
        other => wrong_type(other),
    }
}

fn card(value: &Value) -> network::MacAddr {
    match value {
        Value::MacAddr(mac) => *mac,
        other => wrong_type(other),
    }
}

/// A function of one address.
macro_rules! of_one {
    ($($name:ident: |$inet:ident| $value:expr;)*) => {
        $(fn $name(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
            let $inet = inet(args[0]);
            Ok($value)
        })*
    };
}

of_one! {
    abbrev: |inet| Value::text(network::abbreviated(inet));
    broadcast: |inet| Value::Inet(inet.broadcast());
    family: |inet| Value::Int4(match inet.family() { Family::V4 => 4, Family::V6 => 6 });
    host: |inet| Value::text(network::host(inet));
    hostmask: |inet| Value::Inet(inet.hostmask());
    masklen: |inet| Value::Int4(i32::from(inet.bits()));
    netmask: |inet| Value::Inet(inet.netmask());
    network_of: |inet| Value::Inet(inet.network());
    text: |inet| Value::text(network::with_length(inet));
    invert: |inet| Value::Inet(inet.invert());
}

/// A function of two.
macro_rules! of_two {
    ($($name:ident: |$left:ident, $right:ident| $value:expr;)*) => {
        $(fn $name(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
            let ($left, $right) = (inet(args[0]), inet(args[1]));
            Ok($value)
        })*
    };
}

of_two! {
    lies_within: |a, b| Value::Bool(b.contains(a));
    lies_within_or_is: |a, b| Value::Bool(b.contains_or_equals(a));
    contains: |a, b| Value::Bool(a.contains(b));
    contains_or_is: |a, b| Value::Bool(a.contains_or_equals(b));
    overlaps: |a, b| Value::Bool(a.overlaps(b));
    same_family: |a, b| Value::Bool(a.family() == b.family());
    merge: |a, b| Value::Inet(a.merge(b)?);
    and: |a, b| Value::Inet(a.and(b)?);
    or: |a, b| Value::Inet(a.or(b)?);
    distance: |a, b| Value::Int8(a.distance(b)?);
}

fn set_masklen(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let bits = i32::try_from(int(args[1])).unwrap_or(i32::MAX);
    inet(args[0]).with_bits(bits).map(Value::Inet)
}

fn add(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let by = i128::from(int(args[1]));
    inet(args[0]).moved(by).map(Value::Inet)
}

fn add_before(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    add(&[args[1], args[0]], host)
}

fn subtract(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let by = i128::from(int(args[1]));
    inet(args[0]).moved(-by).map(Value::Inet)
}

fn trunc(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let [a, b, c, ..] = card(args[0]);
    Ok(Value::MacAddr([a, b, c, 0, 0, 0]))
}

fn card_invert(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::MacAddr(card(args[0]).map(|byte| !byte)))
}

fn combined(args: &[&Value], with: fn(u8, u8) -> u8) -> Value {
    let (mut mac, right) = (card(args[0]), card(args[1]));
    for (byte, right) in mac.iter_mut().zip(right) {
        *byte = with(*byte, right);
    }
    Value::MacAddr(mac)
}

fn card_and(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(combined(args, |a, b| a & b))
}

fn card_or(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(combined(args, |a, b| a | b))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("abbrev", &[Inet], Text, abbrev),
    new("abbrev", &[Cidr], Text, abbrev),
    new("broadcast", &[Inet], Inet, broadcast),
    new("family", &[Inet], Int4, family),
    new("host", &[Inet], Text, host),
    new("hostmask", &[Inet], Inet, hostmask),
    new("masklen", &[Inet], Int4, masklen),
    new("netmask", &[Inet], Inet, netmask),
    new("network", &[Inet], Cidr, network_of),
    new("text", &[Inet], Text, text),
    new("set_masklen", &[Inet, Int4], Inet, set_masklen),
    new("set_masklen", &[Cidr, Int4], Cidr, set_masklen),
    new("inet_same_family", &[Inet, Inet], Bool, same_family),
    new("inet_merge", &[Inet, Inet], Cidr, merge),
    new("<<", &[Inet, Inet], Bool, lies_within),
    new("<<=", &[Inet, Inet], Bool, lies_within_or_is),
    new(">>", &[Inet, Inet], Bool, contains),
    new(">>=", &[Inet, Inet], Bool, contains_or_is),
    new("&&", &[Inet, Inet], Bool, overlaps),
    new("~", &[Inet], Inet, invert),
    new("&", &[Inet, Inet], Inet, and),
    new("|", &[Inet, Inet], Inet, or),
    new("+", &[Inet, Int8], Inet, add),
    new("+", &[Int8, Inet], Inet, add_before),
    new("-", &[Inet, Int8], Inet, subtract),
    new("-", &[Inet, Inet], Int8, distance),
    new("trunc", &[MacAddr], MacAddr, trunc),
    new("~", &[MacAddr], MacAddr, card_invert),
    new("&", &[MacAddr, MacAddr], MacAddr, card_and),
    new("|", &[MacAddr, MacAddr], MacAddr, card_or),
];
