//! What is asked of a text: `tsquery`.
//!
//! Relies on: `words` for reading operands.  Promises: what is kept as bytes compares, byte by byte, as PostgreSQL compares queries,
//! and tells apart those that differ in weights or prefixes only, which PostgreSQL calls equal; nothing here calls itself, so that a
//! query may nest as deep as it likes.  Does not: ask (`run`), read what people write (`read`).
//!
//! A query is its operands and operators in the order in which they are worked off, each operator behind its operands.
//!
//! ```text
//!   items  u32 │ size that PostgreSQL would need  u32 │ the last item, with those it is made of │ per operand: weights │ prefix × 16
//!   operator   00 │ 255 - number │ its right operand │ its left one │ of <N>: !N u16
//!   operand    01 │ !(its hash with the sign turned) u32 │ the word │ 00
//! ```

use crate::error::{Error, Result};
use crate::words::{WORD_BYTES_MAX, write_quoted};
use std::fmt;

/// An operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// `!`
    Not,
    /// `&`
    And,
    /// `|`
    Or,
    /// `<N>`: so many places behind.
    Phrase(u16),
}

/// A word that is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    /// The word.
    pub word: String,
    /// Or any that begins so.
    pub prefix: bool,
    /// With one of these weights, a bit each; any if there are none.
    pub weights: u8,
}

/// A part of a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A word.
    Word(Operand),
    /// An operator over what is before it.
    Op(Op),
}

/// Operands and operators; nothing if nothing is asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query {
    /// Each operator behind its operands.
    pub items: Vec<Item>,
}

impl Op {
    fn number(self) -> u8 {
        match self {
            Op::Not => 1,
            Op::And => 2,
            Op::Or => 3,
            Op::Phrase(_) => 4,
        }
    }

    /// What binds closer has more.
    pub(crate) fn priority(self) -> u8 {
        match self {
            Op::Or => 1,
            Op::And => 2,
            Op::Phrase(_) => 3,
            Op::Not => 4,
        }
    }

    /// How many operands it has.
    pub fn operands(self) -> usize {
        1 + usize::from(self != Op::Not)
    }
}

impl Query {
    /// For each item, where the part of the query begins that it ends.
    pub fn starts(&self) -> Vec<usize> {
        let mut starts = Vec::with_capacity(self.items.len());
        let mut open = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            let mut start = at;
            if let Item::Op(op) = item {
                for _ in 0..op.operands() {
                    start = open.pop().unwrap_or(at);
                }
            }
            open.push(start);
            starts.push(start);
        }
        starts
    }

    /// The words that are asked for.
    pub fn operands(&self) -> impl Iterator<Item = &Operand> {
        self.items.iter().filter_map(|item| match item {
            Item::Word(operand) => Some(operand),
            Item::Op(_) => None,
        })
    }

    /// Both, or either, or one behind the other; the other one alone if one asks nothing.
    pub fn join(mut self, op: Op, other: Query) -> Query {
        if self.items.is_empty() {
            return other;
        }
        if !other.items.is_empty() {
            self.items.extend(other.items);
            self.items.push(Item::Op(op));
        }
        self
    }

    /// What it does not say.
    pub fn negated(mut self) -> Query {
        if !self.items.is_empty() {
            self.items.push(Item::Op(Op::Not));
        }
        self
    }

    /// The part of it that an index can look for: `None` if that is none, nothing if nothing is asked.
    pub fn indexable(&self) -> Option<Query> {
        // For each part that is done, where what is left of it begins, if anything is.
        let mut items = Vec::new();
        let mut open: Vec<Option<usize>> = Vec::new();
        for item in &self.items {
            match item {
                Item::Word(_) => {
                    open.push(Some(items.len()));
                    items.push(item.clone());
                }
                Item::Op(Op::Not) => {
                    if let Some(Some(start)) = open.pop() {
                        items.truncate(start);
                    }
                    open.push(None);
                }
                Item::Op(op) => {
                    let (right, left) = (open.pop().flatten(), open.pop().flatten());
                    open.push(match (left, right) {
                        (Some(left), Some(_)) => {
                            items.push(item.clone());
                            Some(left)
                        }
                        (Some(one), None) | (None, Some(one)) if *op == Op::Or => {
                            items.truncate(one);
                            None
                        }
                        (left, right) => left.or(right),
                    });
                }
            }
        }
        (self.items.is_empty() || !items.is_empty()).then_some(Query { items })
    }

    /// Whether all words of another one are among its own.
    pub fn contains(&self, other: &Query) -> bool {
        let sorted = |query: &Query| -> Vec<String> {
            let mut words: Vec<String> = query.operands().map(|o| o.word.clone()).collect();
            words.sort_unstable();
            words.dedup();
            words
        };
        let own = sorted(self);
        sorted(other)
            .iter()
            .all(|word| own.binary_search(word).is_ok())
    }

    /// As it is kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let text: usize = self.operands().map(|operand| operand.word.len() + 1).sum();
        out.extend_from_slice(&(self.items.len() as u32).to_be_bytes());
        let size = 8 + 12 * self.items.len() + text;
        out.extend_from_slice(&(size as u32).to_be_bytes());
        // Read from behind, an operator comes first, then its right operand and its left one. Those that have not ended: how many
        // operands they lack, and their distance.
        let mut open: Vec<(usize, Option<u16>)> = Vec::new();
        let mut flags = Vec::new();
        for item in self.items.iter().rev() {
            match item {
                Item::Op(op) => {
                    out.extend_from_slice(&[0, 255 - op.number()]);
                    let distance = match op {
                        Op::Phrase(distance) => Some(*distance),
                        _ => None,
                    };
                    open.push((op.operands(), distance));
                    continue;
                }
                Item::Word(operand) => {
                    out.push(1);
                    let hash = !(hash_of(operand.word.as_bytes()) ^ 1 << 31);
                    out.extend_from_slice(&hash.to_be_bytes());
                    out.extend_from_slice(operand.word.as_bytes());
                    out.push(0);
                    flags.push(operand.weights | u8::from(operand.prefix) << 4);
                }
            }
            while let Some(last) = open.last_mut() {
                last.0 -= 1;
                if last.0 > 0 {
                    break;
                }
                if let Some((_, Some(distance))) = open.pop() {
                    out.extend_from_slice(&(!distance).to_be_bytes());
                }
            }
        }
        out.extend_from_slice(&flags);
        out
    }

    /// What [`Query::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Option<Query> {
        let count = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
        let mut rest = bytes.get(8..)?;
        let mut items = Vec::new();
        let mut open: Vec<(usize, usize)> = Vec::new();
        while items.len() < count {
            let (&tag, behind) = rest.split_first()?;
            if tag == 0 {
                let (&number, behind) = behind.split_first()?;
                rest = behind;
                let op = match 255 - number {
                    1 => Op::Not,
                    2 => Op::And,
                    3 => Op::Or,
                    _ => Op::Phrase(0),
                };
                open.push((op.operands(), items.len()));
                items.push(Item::Op(op));
                continue;
            }
            let word = behind.get(4..)?;
            let end = word.iter().position(|&byte| byte == 0)?;
            items.push(Item::Word(Operand {
                word: std::str::from_utf8(&word[..end]).ok()?.to_string(),
                prefix: false,
                weights: 0,
            }));
            rest = &word[end + 1..];
            while let Some(last) = open.last_mut() {
                last.0 -= 1;
                if last.0 > 0 {
                    break;
                }
                let (_, at) = open.pop()?;
                if let Item::Op(Op::Phrase(distance)) = &mut items[at] {
                    let (first, behind) = rest.split_first_chunk::<2>()?;
                    *distance = !u16::from_be_bytes(*first);
                    rest = behind;
                }
            }
        }
        let mut flags = rest.iter();
        for item in &mut items {
            if let Item::Word(operand) = item {
                let flags = *flags.next()?;
                operand.prefix = flags & 16 != 0;
                operand.weights = flags & 15;
            }
        }
        items.reverse();
        Some(Query { items })
    }
}

impl Query {
    /// For the binary protocol: the number of items, and each operator before its right operand and its left one.
    pub fn send(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&(self.items.len() as u32).to_be_bytes());
        for item in self.items.iter().rev() {
            match item {
                Item::Word(operand) => {
                    out.extend_from_slice(&[1, operand.weights, u8::from(operand.prefix)]);
                    out.extend_from_slice(operand.word.as_bytes());
                    out.push(0);
                }
                Item::Op(op) => {
                    out.extend_from_slice(&[2, op.number()]);
                    if let Op::Phrase(distance) = op {
                        out.extend_from_slice(&distance.to_be_bytes());
                    }
                }
            }
        }
        out
    }

    /// What a client sent.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn receive(bytes: &[u8]) -> Result<Query> {
        let malformed = |what: &str| Error::Malformed(what.to_string());
        let ends = || malformed("insufficient data left in message");
        let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(ends)?;
        let count = u32::from_be_bytes(*count) as usize;
        let mut items = Vec::new();
        // How many operands are still to come.
        let mut lacking = usize::from(count > 0);
        for _ in 0..count {
            let &[tag, first] = rest.first_chunk::<2>().ok_or_else(ends)?;
            if lacking == 0 {
                return Err(malformed("malformed tsquery: extra nodes"));
            }
            lacking -= 1;
            if tag == 1 {
                let prefix = *rest.get(2).ok_or_else(ends)? != 0;
                let end = rest[3..].iter().position(|&byte| byte == 0);
                let end = end.ok_or_else(ends)?;
                let word = std::str::from_utf8(&rest[3..3 + end]);
                let word = word
                    .map_err(|_| malformed("invalid byte sequence"))?
                    .to_string();
                if first > 15 {
                    return Err(malformed("invalid tsquery: invalid weight bitmap"));
                }
                if word.len() > WORD_BYTES_MAX {
                    return Err(malformed("invalid tsquery: operand too long"));
                }
                rest = &rest[4 + end..];
                items.push(Item::Word(Operand {
                    word,
                    prefix,
                    weights: first,
                }));
                continue;
            }
            rest = &rest[2..];
            let op = match (tag, first) {
                (2, 1) => Op::Not,
                (2, 2) => Op::And,
                (2, 3) => Op::Or,
                (2, 4) => {
                    let (distance, behind) = rest.split_first_chunk::<2>().ok_or_else(ends)?;
                    rest = behind;
                    Op::Phrase(u16::from_be_bytes(*distance))
                }
                (2, _) => return Err(malformed("invalid tsquery: unrecognized operator type")),
                _ => return Err(malformed("unrecognized tsquery node type")),
            };
            lacking += op.operands();
            items.push(Item::Op(op));
        }
        if lacking > 0 {
            return Err(malformed("invalid pointer to right operand"));
        }
        items.reverse();
        Ok(Query { items })
    }
}

/// The hash that PostgreSQL keeps of a word in a query, by which it compares them: a table made for bits from the lowest on, used from
/// the highest on.
fn hash_of(bytes: &[u8]) -> u32 {
    let entry = |index: u32| {
        (0..8).fold(index, |sum, _| match sum & 1 {
            1 => 0xedb8_8320 ^ sum >> 1,
            _ => sum >> 1,
        })
    };
    let start = u32::MAX;
    !(bytes.iter()).fold(start, |sum, &byte| {
        entry((sum >> 24) ^ u32::from(byte)) ^ (sum << 8)
    })
}

/// Appends an operand.
fn write_operand(operand: &Operand, out: &mut String) {
    write_quoted(&operand.word, out);
    if operand.prefix || operand.weights != 0 {
        out.push(':');
    }
    if operand.prefix {
        out.push('*');
    }
    for weight in (0..4).rev() {
        if operand.weights & (1 << weight) != 0 {
            out.push(crate::vector::letter(weight));
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// What is still to be written, the next last.
        enum Todo {
            Item {
                at: usize,
                outer: u8,
                right_of_phrase: bool,
            },
            Text(&'static str),
            Op(Op),
        }
        let starts = self.starts();
        let mut out = String::new();
        let mut todo = Vec::new();
        let item = |at, outer, right_of_phrase| Todo::Item {
            at,
            outer,
            right_of_phrase,
        };
        if let Some(last) = self.items.len().checked_sub(1) {
            todo.push(item(last, 0, false));
        }
        while let Some(next) = todo.pop() {
            let (at, outer, right_of_phrase) = match next {
                Todo::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Todo::Op(op) => {
                    match op {
                        Op::Or => out.push_str(" | "),
                        Op::And | Op::Not => out.push_str(" & "),
                        Op::Phrase(1) => out.push_str(" <-> "),
                        Op::Phrase(distance) => out.push_str(&format!(" <{distance}> ")),
                    }
                    continue;
                }
                Todo::Item {
                    at,
                    outer,
                    right_of_phrase,
                } => (at, outer, right_of_phrase),
            };
            match &self.items[at] {
                Item::Word(operand) => write_operand(operand, &mut out),
                Item::Op(Op::Not) => {
                    out.push('!');
                    todo.push(item(at - 1, Op::Not.priority(), false));
                }
                Item::Op(op) => {
                    let own = op.priority();
                    if own < outer || own == outer && right_of_phrase {
                        out.push_str("( ");
                        todo.push(Todo::Text(" )"));
                    }
                    let is_phrase = matches!(op, Op::Phrase(_));
                    todo.push(item(at - 1, own, is_phrase));
                    todo.push(Todo::Op(*op));
                    todo.push(item(starts[at - 1] - 1, own, false));
                }
            }
        }
        f.write_str(&out)
    }
}
