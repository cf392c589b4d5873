//! JSON documents as values: what `jsonb` holds.
//!
//! Relies on: `parse` for text.  Promises: PostgreSQL's rules of `jsonb`: keys sorted by length and
//! then by bytes, the last of equal keys wins, numbers are exact decimals that keep their scale, and
//! its order of documents.  Does not: keep white space, order or duplicates; the type `json` is the
//! text itself, read by [`Node`] where a function asks.
//!
//! As rows keep it, without its length: a tag, then
//! ```text
//! 00 null   01 false   02 true
//! 03 number u32 LE length, `Numeric::to_bytes`
//! 04 string u32 LE length, UTF-8
//! 05 array  u32 LE count, the elements
//! 06 object u32 LE count, then key (length and bytes) and value of each pair
//! ```

mod parse;
mod write;

pub use parse::{Kind, Node, parse, parse_texts};
pub use write::write_string;

use crate::error::SqlResult;
use crate::numeric::Numeric;
use crate::value::Str;
use std::cmp::Ordering;

/// Documents nest at most this deep: each level is a turn of recursion.
pub const DEPTH_MAX: usize = 256;

/// A document or a part of one.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Json {
    /// `null`, which is not SQL's NULL.
    #[default]
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number.
    Number(Numeric),
    /// A string.
    Text(Str),
    /// `[…]`
    Array(Vec<Json>),
    /// `{…}`, sorted as [`Json::object`] does.
    Object(Vec<(Str, Json)>),
}

/// The order in which an object keeps its keys.
pub fn key_order(left: &str, right: &str) -> Ordering {
    let length = left.len().cmp(&right.len());
    length.then_with(|| left.as_bytes().cmp(right.as_bytes()))
}

impl Json {
    /// Reads a document.
    ///
    /// # Errors
    /// `22P02` for text that is none, `22P05` for a zero character, `54001` beyond [`DEPTH_MAX`].
    pub fn parse(text: &str) -> SqlResult<Json> {
        Json::from_node(&parse(text)?)
    }

    /// The value of a text that has been read.
    ///
    /// # Errors
    /// `22003` for a number that no numeric holds, `22P05` for a zero character.
    pub fn from_node(node: &Node) -> SqlResult<Json> {
        Ok(match &node.kind {
            Kind::Null => Json::Null,
            Kind::Bool(truth) => Json::Bool(*truth),
            Kind::Number => Json::Number(Numeric::parse(node.text)?),
            Kind::Text(text) => Json::Text(parse::without_zero(text)?),
            Kind::Array(elements) => Json::Array(
                elements
                    .iter()
                    .map(Json::from_node)
                    .collect::<SqlResult<_>>()?,
            ),
            Kind::Object(pairs) => {
                let pairs = pairs
                    .iter()
                    .map(|(key, value)| Ok((parse::without_zero(key)?, Json::from_node(value)?)));
                Json::object(pairs.collect::<SqlResult<_>>()?)
            }
        })
    }

    /// An object of these pairs; of equal keys the last one counts.
    pub fn object(mut pairs: Vec<(Str, Json)>) -> Json {
        // Stable, so that the last of equals stays the last.
        pairs.sort_by(|a, b| key_order(&a.0, &b.0));
        let mut kept: Vec<(Str, Json)> = Vec::with_capacity(pairs.len());
        for pair in pairs {
            match kept.last_mut() {
                Some(last) if last.0 == pair.0 => *last = pair,
                _ => kept.push(pair),
            }
        }
        Json::Object(kept)
    }

    /// The value of a key; `None` for what is no object or has no such key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        let Json::Object(pairs) = self else {
            return None;
        };
        let found = pairs.binary_search_by(|(own, _)| key_order(own, key));
        found.ok().map(|at| &pairs[at].1)
    }

    /// The element at a place, counted from the end if it is below 0.
    pub fn element(&self, place: i64) -> Option<&Json> {
        let Json::Array(elements) = self else {
            return None;
        };
        elements.get(place_in(elements.len(), place)?)
    }

    /// The name of the kind, as `jsonb_typeof` says it.
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::Text(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// True for what is neither array nor object.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    /// `self @> part` inside a document: objects by their pairs, arrays by their elements.
    pub fn contains(&self, part: &Json) -> bool {
        match (self, part) {
            (Json::Object(_), Json::Object(pairs)) => pairs
                .iter()
                .all(|(key, value)| self.get(key).is_some_and(|own| own.contains(value))),
            (Json::Array(own), Json::Array(wanted)) => wanted
                .iter()
                .all(|value| own.iter().any(|element| element.contains(value))),
            (Json::Array(_), _) | (_, Json::Array(_)) => false,
            (own, wanted) => own.order_below(wanted).is_eq(),
        }
    }

    /// `self @> part` of whole documents: an array contains a scalar, too.
    pub fn contains_document(&self, part: &Json) -> bool {
        match self {
            Json::Array(own) if part.is_scalar() => own.iter().any(|own| own.contains(part)),
            _ => self.contains(part),
        }
    }

    /// The order of whole documents.
    pub fn order(&self, other: &Json) -> Ordering {
        let is_empty = |json: &Json| matches!(json, Json::Array(elements) if elements.is_empty());
        match (is_empty(self), is_empty(other)) {
            // An empty array is below all else, where it is the whole document.
            (true, true) => Ordering::Equal,
            (true, false) if !matches!(other, Json::Object(_)) => Ordering::Less,
            (false, true) if !matches!(self, Json::Object(_)) => Ordering::Greater,
            _ => self.order_below(other),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Json::Null => 0,
            Json::Text(_) => 1,
            Json::Number(_) => 2,
            Json::Bool(_) => 3,
            Json::Array(_) => 4,
            Json::Object(_) => 5,
        }
    }

    fn order_below(&self, other: &Json) -> Ordering {
        match (self, other) {
            (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
            (Json::Number(a), Json::Number(b)) => a.cmp(b),
            (Json::Text(a), Json::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Json::Array(a), Json::Array(b)) => a.len().cmp(&b.len()).then_with(|| {
                let mut parts = a.iter().zip(b).map(|(a, b)| a.order_below(b));
                parts.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }),
            (Json::Object(a), Json::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                let mut pairs = a.iter().zip(b).map(|(a, b)| {
                    let keys = a.0.as_bytes().cmp(b.0.as_bytes());
                    keys.then_with(|| a.1.order_below(&b.1))
                });
                pairs.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// Appends what rows keep.
    pub fn write_bytes(&self, out: &mut Vec<u8>) {
        let put = |bytes: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        match self {
            Json::Null => out.push(0),
            Json::Bool(truth) => out.push(1 + u8::from(*truth)),
            Json::Number(number) => {
                out.push(3);
                put(&number.to_bytes(), out);
            }
            Json::Text(text) => {
                out.push(4);
                put(text.as_bytes(), out);
            }
            Json::Array(elements) => {
                out.push(5);
                out.extend_from_slice(&(elements.len() as u32).to_le_bytes());
                elements.iter().for_each(|element| element.write_bytes(out));
            }
            Json::Object(pairs) => {
                out.push(6);
                out.extend_from_slice(&(pairs.len() as u32).to_le_bytes());
                for (key, value) in pairs {
                    put(key.as_bytes(), out);
                    value.write_bytes(out);
                }
            }
        }
    }

    /// Reads what [`Json::write_bytes`] wrote; `None` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Json> {
        let mut rest = bytes;
        let read = read_bytes(&mut rest, 0)?;
        rest.is_empty().then_some(read)
    }
}

/// Where an array of this length has the element at `place`.
pub fn place_in(length: usize, place: i64) -> Option<usize> {
    let from_start = match place < 0 {
        true => place.checked_add(i64::try_from(length).ok()?)?,
        false => place,
    };
    usize::try_from(from_start).ok().filter(|at| *at < length)
}

fn read_bytes(rest: &mut &[u8], depth: usize) -> Option<Json> {
    fn count(rest: &mut &[u8]) -> Option<usize> {
        let (head, tail) = rest.split_first_chunk::<4>()?;
        *rest = tail;
        Some(u32::from_le_bytes(*head) as usize)
    }
    fn run<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
        let length = count(rest)?;
        let (head, tail) = rest.split_at_checked(length)?;
        *rest = tail;
        Some(head)
    }
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(Str::from);
    let (tag, tail) = rest.split_first()?;
    *rest = tail;
    if depth > DEPTH_MAX {
        return None;
    }
    Some(match tag {
        0 => Json::Null,
        1 => Json::Bool(false),
        2 => Json::Bool(true),
        3 => Json::Number(Numeric::from_bytes(run(rest)?)?),
        4 => Json::Text(text(run(rest)?)?),
        5 => {
            let elements = (0..count(rest)?).map(|_| read_bytes(rest, depth + 1));
            Json::Array(elements.collect::<Option<_>>()?)
        }
        6 => {
            let pairs = (0..count(rest)?).map(|_| {
                let key = text(run(rest)?)?;
                Some((key, read_bytes(rest, depth + 1)?))
            });
            Json::Object(pairs.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Json {
        Json::parse(text).expect(text)
    }

    #[test]
    fn a_value_keeps_sorted_keys_the_last_duplicate_and_the_scale_of_numbers() {
        let json = read(r#" { "bb":1, "a":1.50, "c":[ 1e3,-0.0 ],"a" : "\u00e4\n" } "#);
        assert_eq!(
            json.to_string(),
            r#"{"a": "ä\n", "c": [1000, 0.0], "bb": 1}"#
        );
        assert_eq!(read(&json.to_string()), json);
    }

    #[test]
    fn bytes_of_rows_read_back_and_damage_is_refused() {
        let json = read(r#"{"k": [null, true, false, 1.25, "x", {}, []]}"#);
        let mut bytes = Vec::new();
        json.write_bytes(&mut bytes);
        assert_eq!(Json::from_bytes(&bytes), Some(json));
        for cut in 0..bytes.len() {
            assert_eq!(Json::from_bytes(&bytes[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "[1,]",
            "{\"a\"}",
            "{a:1}",
            "01",
            "1.",
            "+1",
            "nul",
            "\"a",
            "'a'",
            "1 2",
            "\"\t\"",
            "\"\\x\"",
            "\"\\ud800\"",
            "[1 2]",
            "{\"a\":1,}",
            "-",
            "1e",
        ] {
            assert_eq!(
                Json::parse(text).unwrap_err().state,
                crate::SqlState::INVALID_TEXT_REPRESENTATION,
                "{text}"
            );
        }
        assert_eq!(
            Json::parse(&"[".repeat(100_000)).unwrap_err().state,
            crate::SqlState(*b"54001")
        );
    }

    #[test]
    fn documents_are_ordered_by_kind_then_size_then_parts() {
        let sorted = [
            "[]",
            "null",
            "\"a\"",
            "\"b\"",
            "1",
            "2.0",
            "10",
            "false",
            "true",
            "[1]",
            "[1, 0]",
            "[1, 1]",
            "{}",
            "{\"a\": 1}",
            "{\"a\": 2}",
            "{\"b\": 0}",
            "{\"a\": 0, \"b\": 0}",
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(read(a).order(&read(b)), i.cmp(&j), "{a} {b}");
            }
        }
        assert!(read("1.0").order(&read("1.00")).is_eq());
    }
}
