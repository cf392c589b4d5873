//! Queries as they are written: `tsquery`'s own text, `to_tsquery`, `plainto_tsquery`, `websearch_to_tsquery`.
//!
//! Relies on: `words`.  Promises: operators bind as PostgreSQL's do; a word that means nothing leaves the query, and the distances
//! around it grow; nothing calls itself.  Does not: know what a word means; the caller says what a written word stands for.

use crate::error::{Error, Result};
use crate::letters::{is_alpha, is_space};
use crate::query::{Item, Op, Operand, Query};
use crate::vector::POSITION_MAX;
use crate::words::{Reader, check_length, is_operator};

/// The greatest distance of words in a phrase.
pub const DISTANCE_MAX: u16 = POSITION_MAX + 1;

/// A part of a query that is being read.
#[derive(Clone, Debug)]
pub enum Part {
    /// A word or an operator.
    Item(Item),
    /// A word that means nothing.
    Stop,
}

/// What a written word stands for: a part of a query, appended.
pub type Meaning<'m> = &'m mut dyn FnMut(Written, &mut Vec<Part>) -> Result<()>;

/// A word as it is written.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its text, several words perhaps.
    pub text: String,
    /// `:*`
    pub prefix: bool,
    /// `:AB`
    pub weights: u8,
}

/// What was read.
#[derive(Debug)]
pub struct Read {
    /// The query.
    pub query: Query,
    /// It is empty because there was nothing to read.
    pub nothing: bool,
}

/// An operator that waits for its right operand, or a parenthesis.
enum Waiting {
    Op(Op),
    Open,
}

/// Parts that are done, and operators that wait.
#[derive(Default)]
struct Stack {
    parts: Vec<Part>,
    waiting: Vec<Waiting>,
}

impl Stack {
    fn op(&mut self, op: Op) {
        while let Some(Waiting::Op(before)) = self.waiting.last() {
            // What binds as close goes from left to right, but for `!`.
            let stays = match op {
                Op::Not => true,
                op => op.priority() > before.priority(),
            };
            if stays {
                break;
            }
            self.parts.push(Part::Item(Item::Op(*before)));
            self.waiting.pop();
        }
        self.waiting.push(Waiting::Op(op));
    }

    /// Ends what is open up to a parenthesis; false if there is none.
    fn close(&mut self) -> bool {
        while let Some(waiting) = self.waiting.pop() {
            match waiting {
                Waiting::Op(op) => self.parts.push(Part::Item(Item::Op(op))),
                Waiting::Open => return true,
            }
        }
        false
    }
}

/// Reads `'a' & !( b | c:*A ) <-> d`.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str, meaning: Meaning<'_>) -> Result<Read> {
    let mut reader = Reader::new(text, "tsquery");
    let mut stack = Stack::default();
    let mut first = true;
    loop {
        // An operand.
        loop {
            reader.blanks();
            match reader.peek() {
                Some('!') => {
                    reader.take();
                    stack.op(Op::Not);
                }
                Some('(') => {
                    reader.take();
                    stack.waiting.push(Waiting::Open);
                }
                None if first => {
                    return Ok(Read {
                        query: Query::default(),
                        nothing: true,
                    });
                }
                None => {
                    let message = format!("no operand in tsquery: \"{text}\"");
                    return Err(Error::Syntax(message));
                }
                Some(':') => return Err(reader.wrong()),
                Some(_) => break,
            }
            first = false;
        }
        first = false;
        let text = reader.word(true)?;
        let (weights, prefix) = flags(&mut reader);
        let written = Written {
            text,
            prefix,
            weights,
        };
        meaning(written, &mut stack.parts)?;
        // An operator.
        loop {
            reader.blanks();
            match reader.peek() {
                None => {
                    if stack.close() {
                        return Err(reader.wrong());
                    }
                    return Ok(read(stack.parts));
                }
                Some(')') => {
                    reader.take();
                    if !stack.close() {
                        return Err(reader.wrong());
                    }
                    continue;
                }
                Some('&') => {
                    reader.take();
                    stack.op(Op::And);
                }
                Some('|') => {
                    reader.take();
                    stack.op(Op::Or);
                }
                _ => match distance(&mut reader)? {
                    Some(distance) => stack.op(Op::Phrase(distance)),
                    None => return Err(reader.wrong()),
                },
            }
            break;
        }
    }
}

/// `:*AB` behind a word.
fn flags(reader: &mut Reader<'_>) -> (u8, bool) {
    let (mut weights, mut prefix) = (0, false);
    if reader.peek() != Some(':') {
        return (weights, prefix);
    }
    loop {
        reader.take();
        match reader.peek() {
            Some('a' | 'A') => weights |= 8,
            Some('b' | 'B') => weights |= 4,
            Some('c' | 'C') => weights |= 2,
            Some('d' | 'D') => weights |= 1,
            Some('*') => prefix = true,
            _ => return (weights, prefix),
        }
    }
}

/// `<->` or `<N>`.
fn distance(reader: &mut Reader<'_>) -> Result<Option<u16>> {
    let rest = &reader.text[reader.at..];
    let Some((inner, _)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) else {
        return Ok(None);
    };
    let found = match inner {
        "-" => 1,
        digits if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            digits.parse().unwrap_or(u64::MAX)
        }
        _ => return Ok(None),
    };
    reader.at += inner.len() + 2;
    check_distance(i64::try_from(found).unwrap_or(i64::MAX)).map(Some)
}

/// Refuses a distance that may not be.
///
/// # Errors
/// That it may not.
pub fn check_distance(distance: i64) -> Result<u16> {
    let fits = u16::try_from(distance).ok().filter(|&d| d <= DISTANCE_MAX);
    fits.ok_or_else(|| {
        Error::Invalid(format!(
            "distance in phrase operator must be an integer value between zero and {DISTANCE_MAX} inclusive"
        ))
    })
}

/// The whole text is one word, as it were.
///
/// # Errors
/// What `meaning` says.
pub fn plain(text: &str, meaning: Meaning<'_>) -> Result<Read> {
    let mut parts = Vec::new();
    let written = Written {
        text: text.to_string(),
        prefix: false,
        weights: 0,
    };
    meaning(written, &mut parts)?;
    Ok(read(parts))
}

/// Reads what people write into fields: words, `"phrases"`, `-without`, `this or that`. Nothing is wrong.
///
/// # Errors
/// What `meaning` says.
pub fn web(text: &str, meaning: Meaning<'_>) -> Result<Read> {
    let mut reader = Reader::new(text, "tsquery");
    let mut stack = Stack::default();
    let mut first = true;
    'words: loop {
        let written = loop {
            match reader.peek() {
                None if first => {
                    return Ok(Read {
                        query: Query::default(),
                        nothing: true,
                    });
                }
                None => {
                    stack.parts.push(Part::Stop);
                    break 'words;
                }
                Some('-') => {
                    reader.take();
                    stack.op(Op::Not);
                    first = false;
                }
                Some('"') => {
                    reader.take();
                    let rest = &text[reader.at..];
                    let end = rest.find('"').unwrap_or(rest.len());
                    reader.at += (end + 1).min(rest.len());
                    break rest[..end].to_string();
                }
                Some(c) if is_operator(c) => {
                    reader.take();
                    first = false;
                }
                Some(c) if is_space(c) => {
                    reader.take();
                }
                Some(_) => break web_word(&mut reader),
            }
        };
        first = false;
        let written = Written {
            text: written,
            prefix: false,
            weights: 0,
        };
        meaning(written, &mut stack.parts)?;
        while reader.peek().is_some_and(|c| is_space(c) || is_operator(c)) {
            reader.take();
        }
        if reader.peek().is_none() {
            break;
        }
        match is_or(&text[reader.at..]) {
            true => {
                reader.at += 2;
                stack.op(Op::Or);
            }
            false => stack.op(Op::And),
        }
    }
    stack.close();
    Ok(read(stack.parts))
}

/// Up to a blank, an operator or a quote.
fn web_word(reader: &mut Reader<'_>) -> String {
    let start = reader.at;
    reader.take();
    while let Some(c) = reader.peek() {
        if is_space(c) || is_operator(c) || matches!(c, ':' | '"') {
            break;
        }
        reader.take();
    }
    reader.text[start..reader.at].to_string()
}

/// Whether the text begins with a word `or` and something follows.
fn is_or(text: &str) -> bool {
    let word = text.as_bytes().get(..2);
    if !word.is_some_and(|word| word.eq_ignore_ascii_case(b"or")) {
        return false;
    }
    let rest = &text[2..];
    let Some(next) = rest.chars().next() else {
        return false;
    };
    if matches!(next, '-' | '_') || is_alpha(next) || next.is_ascii_digit() {
        return false;
    }
    // The character behind the word does not count.
    rest[next.len_utf8()..].chars().any(|c| !is_space(c))
}

/// One word of the query, as it is.
///
/// # Errors
/// That it is too long.
pub fn as_it_is(written: Written, parts: &mut Vec<Part>) -> Result<()> {
    check_length(&written.text)?;
    parts.push(Part::Item(Item::Word(Operand {
        word: written.text,
        prefix: written.prefix,
        weights: written.weights,
    })));
    Ok(())
}

/// What is left of a part: where its items begin, and how much further away its neighbours are at its left and its right.
struct Left {
    start: Option<usize>,
    before: u32,
    behind: u32,
}

/// Takes words out that mean nothing.
fn read(parts: Vec<Part>) -> Read {
    let mut items: Vec<Item> = Vec::with_capacity(parts.len());
    let mut open: Vec<Left> = Vec::new();
    let nothing = || Left {
        start: None,
        before: 0,
        behind: 0,
    };
    for part in parts {
        let left = match part {
            Part::Stop => nothing(),
            Part::Item(Item::Word(operand)) => {
                items.push(Item::Word(operand));
                Left {
                    start: Some(items.len() - 1),
                    before: 0,
                    behind: 0,
                }
            }
            Part::Item(Item::Op(Op::Not)) => {
                let operand = open.pop().unwrap_or_else(nothing);
                match operand.start {
                    Some(_) => {
                        items.push(Item::Op(Op::Not));
                        operand
                    }
                    // PostgreSQL says how far it is, too.
                    None => operand,
                }
            }
            Part::Item(Item::Op(op)) => {
                let right = open.pop().unwrap_or_else(nothing);
                let left = open.pop().unwrap_or_else(nothing);
                let (found, op) = together(left, right, op);
                if let Some(op) = op {
                    items.push(Item::Op(op));
                }
                found
            }
        };
        open.push(left);
    }
    Read {
        query: Query { items },
        nothing: false,
    }
}

/// What is left of two operands and their operator.
fn together(left: Left, right: Left, op: Op) -> (Left, Option<Op>) {
    let distance = match op {
        Op::Phrase(distance) => Some(u32::from(distance)),
        _ => None,
    };
    let part = |start, before: u32, behind: u32| Left {
        start,
        before,
        behind,
    };
    match (left.start, right.start, distance) {
        (None, None, Some(distance)) => {
            let away = left.before + distance + right.before;
            (part(None, away, away), None)
        }
        (None, None, None) => {
            let away = left.before.max(right.before);
            (part(None, away, away), None)
        }
        (None, start, Some(distance)) => {
            let before = left.before + distance + right.before;
            (part(start, before, right.behind), None)
        }
        (None, start, None) => (part(start, right.before, right.behind), None),
        (start, None, Some(distance)) => {
            let behind = left.behind + distance + right.behind;
            (part(start, left.before, behind), None)
        }
        (start, None, None) => (part(start, left.before, left.behind), None),
        (start, Some(_), Some(distance)) => {
            let distance = distance + left.behind + right.before;
            let distance = distance.min(u32::from(u16::MAX)) as u16;
            let op = Op::Phrase(distance);
            (part(start, left.before, right.behind), Some(op))
        }
        (start, Some(_), None) => (part(start, 0, 0), Some(op)),
    }
}
