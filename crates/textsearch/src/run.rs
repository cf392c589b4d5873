//! Whether a text has what a query asks.
//!
//! Relies on: `vector`, `query`.  Promises: PostgreSQL's answers, for phrases with `!`, `&` and `|` in them, too; nothing calls itself.
//! Does not: know where words come from: [`answer`] asks for them.
//!
//! Within a phrase an operand is the places where it ends, or all places but those, and how many it is wide. What is known to be
//! there, but not where, makes the phrase unknown.

use crate::query::{Item, Op, Operand, Query};
use crate::vector::{Lexeme, Vector};

/// Where a word is.
#[derive(Debug)]
pub enum Found {
    /// Nowhere.
    Nowhere,
    /// Somewhere.
    Somewhere,
    /// At these places, in order; asked for within phrases only.
    At(Vec<u32>),
}

/// What is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// It would have to be known where words are.
    Maybe,
}

/// An operand within a phrase.
struct Places {
    at: Vec<u32>,
    /// All places but these.
    negated: bool,
    width: u32,
}

enum Value {
    Plain(Answer),
    /// None: nowhere.
    Within(Option<Places>),
    Unknown,
}

/// Whether a vector has what a query asks. Nothing has what asks for nothing.
pub fn matches(vector: &Vector, query: &Query) -> bool {
    // What is unknown counts as no: phrases are nothing without positions.
    answer(
        query,
        &mut |_, operand, places| find(vector, operand, places),
        Answer::No,
    ) == Answer::Yes
}

/// Where the vector has an operand.
pub fn find(vector: &Vector, operand: &Operand, places: bool) -> Found {
    let lexemes = vector.matching(&operand.word, operand.prefix);
    if !places {
        return match lexemes.iter().any(|lexeme| has_weight(lexeme, operand)) {
            true => Found::Somewhere,
            false => Found::Nowhere,
        };
    }
    let mut at: Vec<u32> = Vec::new();
    for lexeme in lexemes {
        if lexeme.positions.is_empty() {
            return Found::Somewhere;
        }
        let positions = lexeme.positions.iter();
        let fits =
            positions.filter(|p| operand.weights == 0 || operand.weights & (1 << p.weight()) != 0);
        at.extend(fits.map(|p| u32::from(p.place())));
    }
    if lexemes.len() > 1 {
        at.sort_unstable();
        at.dedup();
    }
    match at.is_empty() {
        true => Found::Nowhere,
        false => Found::At(at),
    }
}

/// Words without positions are taken for all weights, as PostgreSQL does.
fn has_weight(lexeme: &Lexeme, operand: &Operand) -> bool {
    operand.weights == 0
        || lexeme.positions.is_empty()
        || (lexeme.positions.iter()).any(|p| operand.weights & (1 << p.weight()) != 0)
}

/// What is known. `find` is given an operand with its number among the items, and whether it is to say where. `unknown` is what a
/// phrase is of which that is not known.
pub fn answer(
    query: &Query,
    find: &mut dyn FnMut(usize, &Operand, bool) -> Found,
    unknown: Answer,
) -> Answer {
    let within = within_phrases(query);
    let mut values: Vec<Value> = Vec::new();
    for (at, item) in query.items.iter().enumerate() {
        let value = match item {
            Item::Word(operand) => match (within[at], find(at, operand, within[at])) {
                (false, Found::Nowhere) => Value::Plain(Answer::No),
                (false, _) => Value::Plain(Answer::Yes),
                (true, Found::Nowhere) => Value::Within(None),
                (true, Found::Somewhere) => Value::Unknown,
                (true, Found::At(at)) => Value::Within(Some(Places {
                    at,
                    negated: false,
                    width: 0,
                })),
            },
            Item::Op(op) => {
                let right = values.pop().unwrap_or(Value::Unknown);
                let left = match op {
                    Op::Not => None,
                    _ => values.pop(),
                };
                // The phrase itself is within none, but its operands are.
                if within[at] || matches!(op, Op::Phrase(_)) {
                    let value = match left {
                        None => not(right),
                        Some(left) => both(*op, left, right),
                    };
                    match (within[at], value) {
                        (true, value) => value,
                        (false, Value::Within(None)) => Value::Plain(Answer::No),
                        (false, Value::Within(Some(_))) => Value::Plain(Answer::Yes),
                        (false, _) => Value::Plain(unknown),
                    }
                } else {
                    Value::Plain(plain(*op, left, right))
                }
            }
        };
        values.push(value);
    }
    match values.pop() {
        Some(Value::Plain(answer)) => answer,
        _ => Answer::No,
    }
}

/// Which items are operands of a phrase, at any depth.
fn within_phrases(query: &Query) -> Vec<bool> {
    let mut within = vec![false; query.items.len()];
    if !(query.items.iter()).any(|item| matches!(item, Item::Op(Op::Phrase(_)))) {
        return within;
    }
    let starts = query.starts();
    // Everything from here on to where we are is.
    let mut reach = usize::MAX;
    for at in (0..query.items.len()).rev() {
        within[at] = at >= reach;
        if reach > at && matches!(query.items[at], Item::Op(Op::Phrase(_))) {
            reach = starts[at];
        } else if at == reach {
            reach = usize::MAX;
        }
    }
    within
}

fn plain(op: Op, left: Option<Value>, right: Value) -> Answer {
    let of = |value| match value {
        Value::Plain(answer) => answer,
        _ => Answer::Maybe,
    };
    let right = of(right);
    let left = left.map_or(Answer::Yes, of);
    match (op, left, right) {
        (Op::Not, _, Answer::Yes) => Answer::No,
        (Op::Not, _, Answer::No) => Answer::Yes,
        (Op::Not, _, Answer::Maybe) => Answer::Maybe,
        (Op::Or, Answer::Yes, _) | (Op::Or, _, Answer::Yes) => Answer::Yes,
        (Op::Or, Answer::No, Answer::No) => Answer::No,
        (Op::Or, _, _) => Answer::Maybe,
        (_, Answer::No, _) | (_, _, Answer::No) => Answer::No,
        (_, Answer::Yes, Answer::Yes) => Answer::Yes,
        _ => Answer::Maybe,
    }
}

fn not(value: Value) -> Value {
    match value {
        Value::Within(None) => Value::Within(Some(Places {
            at: Vec::new(),
            negated: true,
            width: 0,
        })),
        // All places but none of none.
        Value::Within(Some(places)) if places.negated && places.at.is_empty() => {
            Value::Within(None)
        }
        Value::Within(Some(mut places)) => {
            places.negated = !places.negated;
            Value::Within(Some(places))
        }
        value => value,
    }
}

fn both(op: Op, left: Value, right: Value) -> Value {
    let (left, right) = match (left, right) {
        (Value::Within(left), Value::Within(right)) => (left, right),
        (Value::Within(None), _) | (_, Value::Within(None)) if op != Op::Or => {
            return Value::Within(None);
        }
        _ => return Value::Unknown,
    };
    let nowhere = || Places {
        at: Vec::new(),
        negated: false,
        width: 0,
    };
    let (left, right) = match (left, right) {
        (None, None) => return Value::Within(None),
        (None, _) | (_, None) if op != Op::Or => return Value::Within(None),
        (left, right) => (left.unwrap_or_else(nowhere), right.unwrap_or_else(nowhere)),
    };
    // Both are looked at where they would end together.
    let (left_by, right_by, width) = match op {
        Op::Phrase(distance) => {
            let distance = u32::from(distance);
            let left_by = distance + right.width;
            (left_by, 0, left_by + left.width)
        }
        _ => {
            let width = left.width.max(right.width);
            (width - left.width, width - right.width, width)
        }
    };
    let (l, r) = (moved(&left, left_by), moved(&right, right_by));
    let (at, negated) = match (op, left.negated, right.negated) {
        (Op::Or, false, false) => (union(l, r), false),
        (Op::Or, true, true) => (common(l, r), true),
        (Op::Or, true, false) => (without(l, r), true),
        (Op::Or, false, true) => (without(r, l), true),
        (_, false, false) => (common(l, r), false),
        (_, true, true) => (union(l, r), true),
        (_, true, false) => (without(r, l), false),
        (_, false, true) => (without(l, r), false),
    };
    match at.is_empty() && !negated {
        true => Value::Within(None),
        false => Value::Within(Some(Places { at, negated, width })),
    }
}

fn moved(places: &Places, by: u32) -> Vec<u32> {
    places.at.iter().map(|place| place + by).collect()
}

fn union(mut left: Vec<u32>, right: Vec<u32>) -> Vec<u32> {
    left.extend(right);
    left.sort_unstable();
    left.dedup();
    left
}

fn common(mut left: Vec<u32>, right: Vec<u32>) -> Vec<u32> {
    left.retain(|place| right.binary_search(place).is_ok());
    left
}

fn without(mut left: Vec<u32>, right: Vec<u32>) -> Vec<u32> {
    left.retain(|place| right.binary_search(place).is_err());
    left
}
