//! The words of the language: `pg_get_keywords`.
//!
//! Relies on: `keywords.txt`, PostgreSQL 15's own list: a word, its kind, and `-` if it is no name of a column without AS.
//! Promises: clients that quote what they must (pgjdbc asks for the list) quote the same words.  Does not: steer the parser.

use super::sets::records;
use crate::eval::Host;
use quintet_base::{SqlResult, Value};

/// `word kind` lines.
const WORDS: &str = include_str!("keywords.txt");

/// A record for each word: itself, its kind, whether it may be a bare label, and both in words.
pub(super) fn keywords(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let row = |line: &str| {
        let (word, kind) = line.split_once(' ').unwrap_or((line, "U"));
        let bare = !kind.ends_with('-');
        let kind = &kind[..1];
        let what = match kind {
            "C" => "unreserved (cannot be function or type name)",
            "T" => "reserved (can be function or type name)",
            "R" => "reserved",
            _ => "unreserved",
        };
        vec![
            Value::text(word),
            Value::text(kind),
            Value::Bool(bare),
            Value::text(what),
            Value::text(if bare {
                "can be bare label"
            } else {
                "requires AS"
            }),
        ]
    };
    records(WORDS.lines().map(row).collect())
}
