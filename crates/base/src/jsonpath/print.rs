//! Paths as text.
//!
//! Promises: PostgreSQL's canonical text, but where that would read back as another path: an operation
//! whose result is asked further stands in parentheses here.

use super::{Binary, Chain, Item, JsonPath, LAST_LEVEL, Like};
use crate::json::write_string;
use std::fmt::{self, Display, Formatter};

impl Display for JsonPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.lax {
            f.write_str("strict ")?;
        }
        write(&self.body, true, f)
    }
}

/// How tightly an item binds.
fn priority(item: &Item) -> u8 {
    match item {
        Item::Binary(Binary::Or, ..) => 0,
        Item::Binary(Binary::And, ..) => 1,
        Item::Binary(Binary::Add | Binary::Subtract, ..) => 3,
        Item::Binary(binary, ..) if binary.is_arithmetic() => 4,
        Item::Binary(..) => 2,
        Item::Plus(_) | Item::Minus(_) => 5,
        _ => 6,
    }
}

/// An operand of `outer`.
fn operand(chain: &Chain, outer: &Item, f: &mut Formatter<'_>) -> fmt::Result {
    write(chain, priority(&chain[0]) <= priority(outer), f)
}

/// `enclosed`: operations stand in parentheses.
fn write(chain: &[Item], enclosed: bool, f: &mut Formatter<'_>) -> fmt::Result {
    let is_operation = matches!(
        chain[0],
        Item::Binary(..) | Item::Plus(_) | Item::Minus(_) | Item::Like(..)
    );
    let is_number = matches!(chain[0], Item::Number(_)) && chain.len() > 1;
    let parentheses = is_operation && (enclosed || chain.len() > 1) || is_number;
    if parentheses {
        f.write_str("(")?;
    }
    first(&chain[0], f)?;
    if parentheses {
        f.write_str(")")?;
    }
    chain[1..].iter().try_for_each(|item| accessor(item, f))
}

/// An item that stands at the beginning.
fn first(item: &Item, f: &mut Formatter<'_>) -> fmt::Result {
    match item {
        Item::Null => f.write_str("null"),
        Item::Bool(truth) => write!(f, "{truth}"),
        Item::Number(number) => write!(f, "{number}"),
        Item::Text(text) => write_string(text, f),
        Item::Variable(name) => {
            f.write_str("$")?;
            write_string(name, f)
        }
        Item::Root => f.write_str("$"),
        Item::Current => f.write_str("@"),
        Item::Last => f.write_str("last"),
        Item::Binary(binary, left, right) => {
            operand(left, item, f)?;
            write!(f, " {} ", binary.symbol())?;
            operand(right, item, f)
        }
        Item::Plus(inner) => {
            f.write_str("+")?;
            operand(inner, item, f)
        }
        Item::Minus(inner) => {
            f.write_str("-")?;
            operand(inner, item, f)
        }
        Item::Not(inner) => {
            f.write_str("!(")?;
            write(inner, false, f)?;
            f.write_str(")")
        }
        Item::IsUnknown(inner) => {
            f.write_str("(")?;
            write(inner, false, f)?;
            f.write_str(") is unknown")
        }
        Item::Exists(inner) => {
            f.write_str("exists (")?;
            write(inner, false, f)?;
            f.write_str(")")
        }
        Item::Like(inner, like) => {
            operand(inner, item, f)?;
            f.write_str(" like_regex ")?;
            write_string(&like.pattern, f)?;
            flags(like, f)
        }
        other => accessor(other, f),
    }
}

fn flags(like: &Like, f: &mut Formatter<'_>) -> fmt::Result {
    let flags = [
        (like.any_case, 'i'),
        (like.dots_all, 's'),
        (like.lines, 'm'),
        (like.expanded, 'x'),
        (like.literal, 'q'),
    ];
    let set: String = flags.iter().filter(|(set, _)| *set).map(|f| f.1).collect();
    match set.is_empty() {
        true => Ok(()),
        false => write!(f, " flag \"{set}\""),
    }
}

fn accessor(item: &Item, f: &mut Formatter<'_>) -> fmt::Result {
    match item {
        Item::Key(key) => {
            f.write_str(".")?;
            write_string(key, f)
        }
        Item::AnyKey => f.write_str(".*"),
        Item::AnyElement => f.write_str("[*]"),
        Item::Elements(subscripts) => {
            f.write_str("[")?;
            for (at, (from, to)) in subscripts.iter().enumerate() {
                if at > 0 {
                    f.write_str(",")?;
                }
                write(from, false, f)?;
                if let Some(to) = to {
                    f.write_str(" to ")?;
                    write(to, false, f)?;
                }
            }
            f.write_str("]")
        }
        Item::Any { first, last } => match (*first, *last) {
            (0, LAST_LEVEL) => f.write_str(".**"),
            (LAST_LEVEL, LAST_LEVEL) => f.write_str(".**{last}"),
            (first, last) if first == last => write!(f, ".**{{{first}}}"),
            (LAST_LEVEL, last) => write!(f, ".**{{last to {last}}}"),
            (first, LAST_LEVEL) => write!(f, ".**{{{first} to last}}"),
            (first, last) => write!(f, ".**{{{first} to {last}}}"),
        },
        Item::Filter(inner) => {
            f.write_str("?(")?;
            write(inner, false, f)?;
            f.write_str(")")
        }
        Item::Method(method) => write!(f, ".{}()", method.name()),
        Item::Datetime(None) => f.write_str(".datetime()"),
        Item::Datetime(Some(template)) => {
            f.write_str(".datetime(")?;
            write_string(template, f)?;
            f.write_str(")")
        }
        // Nothing else follows another item: the reader makes no such chains.
        other => first(other, f),
    }
}
