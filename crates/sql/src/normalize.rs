//! Texts without their literals, so that plans are found by text without the parser.
//!
//! Relies on: `standard_conforming_strings = on`, as always here.  Promises: where it answers, the
//! literals are exactly the parser's, and putting them back in their places gives the original
//! statement.  Does not: understand the statement: anything unusual (comments, dollar quotes,
//! prefixed strings, several statements) is `None`, and the caller parses the text as it is.
//!
//! Hot path: every statement of the simple protocol comes through here; one pass over the bytes, no
//! lookup, no allocation but the result's.
//!
//! ```text
//! UPDATE t SET a = a + 17 WHERE id = 'x'   =>   UPDATE t SET a = a + $1 WHERE id = $2
//!                                               literals 17 int4, 'x' unknown    key  …\0is
//! ```
//! A number that is an item of an ORDER BY or GROUP BY list stays: it is a place in the select list,
//! not a value.

use crate::names;
use crate::parse::Parsed;
use crate::routine::any_node;
use pg_query::protobuf::{Node, SelectStmt};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{Numeric, SqlType, Str, Value};

/// A statement with its literals taken out.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalized {
    /// Identifies the text and the class of each literal.
    pub key: String,
    /// The text with `$1 …` for the literals.
    pub text: String,
    /// The literals: int4, int8, numeric, or text of unknown type.
    pub literals: Vec<(Value, SqlType)>,
}

/// More literals than this are a load of data, whose text never comes again.
const LITERALS_MAX: usize = 256;

/// Longer texts are parsed as they are.
const TEXT_BYTES_MAX: usize = 32 * 1024;

/// Takes the literals out of a statement of the simple protocol.
pub fn normalize(text: &str) -> Option<Normalized> {
    let bytes = text.as_bytes();
    if bytes.len() > TEXT_BYTES_MAX || !begins_with_verb(bytes) {
        return None;
    }
    let mut lexer = Lexer {
        text,
        at: 0,
        out: String::with_capacity(text.len() + 16),
        copied: 0,
        literals: Vec::with_capacity(8),
        classes: [0; LITERALS_MAX],
        depth: 0,
        list_depth: None,
        item_begins: false,
    };
    lexer.run()?;
    let Lexer {
        out,
        literals,
        classes,
        ..
    } = lexer;
    let mut key = String::with_capacity(out.len() + 1 + literals.len());
    key.push_str(&out);
    key.push('\0');
    key.push_str(std::str::from_utf8(&classes[..literals.len()]).ok()?);
    Some(Normalized {
        key,
        text: out,
        literals,
    })
}

/// False if planning the normalized text could mean something else than the original: a parameter
/// where a place in the select list was, or a sequence's name, which is looked up when the statement is planned.
pub(crate) fn may_be_normalized(parsed: &Parsed) -> bool {
    if parsed.node().is_some_and(names_sequence) {
        return false;
    }
    match parsed.node() {
        Some(NodeEnum::SelectStmt(select)) => {
            no_ordinals(select) && !makes_table(select) && !crate::set_config::is_set_config(select)
        }
        Some(NodeEnum::InsertStmt(_) | NodeEnum::UpdateStmt(_) | NodeEnum::DeleteStmt(_)) => true,
        _ => false,
    }
}

fn names_sequence(statement: &NodeEnum) -> bool {
    let is_param = |node: &Node| match &node.node {
        Some(NodeEnum::TypeCast(cast)) => matches!(
            cast.arg.as_deref().and_then(|arg| arg.node.as_ref()),
            Some(NodeEnum::ParamRef(_))
        ),
        other => matches!(other, Some(NodeEnum::ParamRef(_))),
    };
    any_node(statement, &|node| match node {
        NodeRef::FuncCall(call) => {
            let name = names::built_in(&call.funcname);
            let place = match name {
                Some("nextval" | "currval" | "setval") => 0,
                // Comments of large objects are not where others are.
                Some("obj_description") => 1,
                _ => return false,
            };
            call.args.get(place).is_some_and(is_param)
        }
        _ => false,
    })
}

/// True for SELECT … INTO: its literals give columns their types.
fn makes_table(select: &SelectStmt) -> bool {
    select.into_clause.is_some() || select.larg.as_deref().is_some_and(makes_table)
}

fn no_ordinals(select: &SelectStmt) -> bool {
    let is_param = |node: &Node| {
        let node = match &node.node {
            Some(NodeEnum::SortBy(sort)) => {
                sort.node.as_deref().and_then(|node| node.node.as_ref())
            }
            other => other.as_ref(),
        };
        matches!(node, Some(NodeEnum::ParamRef(_)))
    };
    !select
        .sort_clause
        .iter()
        .chain(&select.group_clause)
        .any(is_param)
        && select.larg.as_deref().is_none_or(no_ordinals)
        && select.rarg.as_deref().is_none_or(no_ordinals)
}

fn begins_with_verb(bytes: &[u8]) -> bool {
    let start = bytes
        .iter()
        .position(|b| !b.is_ascii_whitespace())
        .unwrap_or(0);
    let word = &bytes[start..bytes.len().min(start + 6)];
    let verbs: [&[u8]; 5] = [b"SELECT", b"INSERT", b"UPDATE", b"DELETE", b"VALUES"];
    verbs.iter().any(|verb| word.eq_ignore_ascii_case(verb))
}

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn continues_name(byte: u8) -> bool {
    begins_name(byte) || byte.is_ascii_digit() || byte == b'$'
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    out: String,
    /// How much of the text is in `out` already.
    copied: usize,
    literals: Vec<(Value, SqlType)>,
    /// One letter per literal: `i` int4, `l` int8, `n` numeric, `s` string.
    classes: [u8; LITERALS_MAX],
    /// Open parentheses.
    depth: u32,
    /// Depth of the BY list at hand.
    list_depth: Option<u32>,
    /// The next token begins an item of that list.
    item_begins: bool,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text
            .as_bytes()
            .get(self.at + ahead)
            .copied()
            .unwrap_or(0)
    }

    fn run(&mut self) -> Option<()> {
        while self.at < self.text.len() {
            let byte = self.peek(0);
            if byte.is_ascii_whitespace() {
                self.at += 1;
                continue;
            }
            let item_begins = std::mem::replace(&mut self.item_begins, false);
            match byte {
                b'\'' => self.string()?,
                b'0'..=b'9' => self.number(item_begins)?,
                b'"' => self.quoted_name()?,
                b'$' | b'\\' | 0 => return None,
                b'-' if self.peek(1) == b'-' => return None,
                b'/' if self.peek(1) == b'*' => return None,
                b'.' if self.peek(1).is_ascii_digit() || self.peek(1) == b'.' => return None,
                b';' => {
                    let rest = &self.text.as_bytes()[self.at + 1..];
                    if !rest.iter().all(u8::is_ascii_whitespace) {
                        return None;
                    }
                    self.copy();
                    self.at = self.text.len();
                    self.copied = self.at;
                    return Some(());
                }
                byte if begins_name(byte) => self.name()?,
                byte => self.mark(byte),
            }
        }
        self.copy();
        Some(())
    }

    /// Anything that is one byte.
    fn mark(&mut self, byte: u8) {
        match byte {
            b'(' => self.depth += 1,
            b')' => {
                self.depth = self.depth.saturating_sub(1);
                if self.list_depth.is_some_and(|depth| depth > self.depth) {
                    self.list_depth = None;
                }
            }
            b',' => self.item_begins = self.list_depth == Some(self.depth),
            _ => {}
        }
        self.at += 1;
    }

    fn name(&mut self) -> Option<()> {
        let start = self.at;
        while continues_name(self.peek(0)) {
            self.at += 1;
        }
        let word = &self.text.as_bytes()[start..self.at];
        // `E'…'`, `B'…'`, `U&'…'`.
        if self.peek(0) == b'\'' || (word.eq_ignore_ascii_case(b"u") && self.peek(0) == b'&') {
            return None;
        }
        // What `INTERVAL '1' DAY` means is for the parser: what stands behind it says what the 1 counts.
        if word.len() == 8 && word.eq_ignore_ascii_case(b"interval") {
            let next = self.text.as_bytes()[self.at..]
                .iter()
                .find(|b| !b.is_ascii_whitespace());
            if next == Some(&b'\'') {
                return None;
            }
        }
        // The sequence that a literal names is found when the statement is planned.
        let sequences: [&[u8]; 3] = [b"nextval", b"currval", b"setval"];
        if sequences.iter().any(|name| word.eq_ignore_ascii_case(name)) {
            return None;
        }
        // Numbers in DISTINCT ON and in sets to group by are places, too; they are not common.
        let places: [&[u8]; 3] = [b"rollup", b"cube", b"sets"];
        if places.iter().any(|name| word.eq_ignore_ascii_case(name))
            || (word.eq_ignore_ascii_case(b"distinct") && self.next_word_is_on())
        {
            return None;
        }
        if word.len() == 2 && word.eq_ignore_ascii_case(b"by") {
            self.list_depth = Some(self.depth);
            self.item_begins = true;
        } else if self.list_depth == Some(self.depth) && ends_list(word) {
            self.list_depth = None;
        }
        Some(())
    }

    fn next_word_is_on(&self) -> bool {
        let rest = self.text[self.at..].trim_start().as_bytes();
        rest.len() > 2 && rest[..2].eq_ignore_ascii_case(b"on") && !continues_name(rest[2])
    }

    fn quoted_name(&mut self) -> Option<()> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        let length = rest.iter().position(|&b| b == b'"')?;
        // A doubled quote ends one piece and begins the next: the same as two names side by side.
        self.at += length + 2;
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        let mut doubled = false;
        loop {
            end += bytes.get(end..)?.iter().position(|&b| b == b'\'')?;
            if bytes.get(end + 1) != Some(&b'\'') {
                break;
            }
            doubled = true;
            end += 2;
        }
        // Strings on several lines are one string.
        let next = bytes[end + 1..].iter().find(|b| !b.is_ascii_whitespace());
        if next == Some(&b'\'') {
            return None;
        }
        let inside = &self.text[start + 1..end];
        let value = match doubled {
            true => Value::Text(Str::from(inside.replace("''", "'"))),
            false => Value::Text(Str::from(inside)),
        };
        self.at = start;
        self.literal(end + 1, value, SqlType::Unknown, b's')
    }

    fn number(&mut self, item_begins: bool) -> Option<()> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let digits = |from: usize| {
            from + bytes[from..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count()
        };
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let mut end = digits(start);
        let mut whole = true;
        if byte(end) == b'.' {
            if byte(end + 1) == b'.' {
                return None;
            }
            whole = false;
            end = digits(end + 1);
        }
        if matches!(byte(end), b'e' | b'E') {
            let sign = usize::from(matches!(byte(end + 1), b'+' | b'-'));
            let exponent_end = digits(end + 1 + sign);
            if exponent_end == end + 1 + sign {
                return None;
            }
            whole = false;
            end = exponent_end;
        }
        if continues_name(byte(end)) {
            return None;
        }
        if item_begins && whole {
            self.at = end;
            return Some(());
        }
        let text = &self.text[start..end];
        if whole && let Ok(value) = text.parse::<i32>() {
            return self.literal(end, Value::Int4(value), SqlType::Int4, b'i');
        }
        if whole && let Ok(value) = text.parse::<i64>() {
            // With a sign before it, this one is an int4 after all.
            if value == -i64::from(i32::MIN) {
                return None;
            }
            return self.literal(end, Value::Int8(value), SqlType::Int8, b'l');
        }
        if whole && text == "9223372036854775808" {
            return None;
        }
        let value = Value::numeric(Numeric::parse(text).ok()?);
        self.literal(end, value, SqlType::Numeric, b'n')
    }

    fn copy(&mut self) {
        self.out.push_str(&self.text[self.copied..self.at]);
        self.copied = self.at;
    }

    /// Puts a parameter in the place of the literal that ends at `end`.
    fn literal(&mut self, end: usize, value: Value, ty: SqlType, class: u8) -> Option<()> {
        *self.classes.get_mut(self.literals.len())? = class;
        self.copy();
        self.literals.push((value, ty));
        self.out.push('$');
        push_number(&mut self.out, self.literals.len());
        self.at = end;
        self.copied = end;
        // `5and` is two tokens, `$1and` is none.
        (!continues_name(self.peek(0))).then_some(())
    }
}

/// Words that end a BY list.
fn ends_list(word: &[u8]) -> bool {
    let words: [&[u8]; 9] = [
        b"limit", b"offset", b"fetch", b"for", b"having", b"union", b"window", b"order", b"group",
    ];
    words.iter().any(|other| word.eq_ignore_ascii_case(other))
}

fn push_number(out: &mut String, number: usize) {
    if number >= 10 {
        push_number(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

#[cfg(test)]
mod tests {
    use super::*;
    use pg_query::protobuf::Token;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, normalized: &str, literals: &[&str]) {
        let found = normalize(text).unwrap_or_else(|| panic!("{text}: None"));
        assert_eq!(found.text, normalized);
        let printed: Vec<String> = found
            .literals
            .iter()
            .map(|(value, _)| print(value))
            .collect();
        assert_eq!(printed, literals, "{text}");
        assert!(found.key.starts_with(normalized));
    }

    fn print(value: &Value) -> String {
        match value {
            Value::Int4(v) => v.to_string(),
            Value::Int8(v) => format!("{v}L"),
            Value::Numeric(v) => format!("{v}n"),
            Value::Text(v) => v.to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn literals_become_parameters() {
        check(
            "UPDATE pgbench_tellers SET tbalance = tbalance + -4999 WHERE tid = 17;",
            "UPDATE pgbench_tellers SET tbalance = tbalance + -$1 WHERE tid = $2",
            &["4999", "17"],
        );
        check(
            "select 'it''s', 5000000000, 1.50, 2e3",
            "select $1, $2, $3, $4",
            &["it's", "5000000000L", "1.50n", "2000n"],
        );
        check(
            "SELECT a1, \"b 2\"\"3\", t.c4 FROM x5 WHERE a=6",
            "SELECT a1, \"b 2\"\"3\", t.c4 FROM x5 WHERE a=$1",
            &["6"],
        );
        check("SELECT 'a\\'", "SELECT $1", &["a\\"]);
        check(
            "INSERT INTO t VALUES (1,'ü',NULL)",
            "INSERT INTO t VALUES ($1,$2,NULL)",
            &["1", "ü"],
        );
        check(
            "SELECT a FROM t LIMIT 5 OFFSET 10",
            "SELECT a FROM t LIMIT $1 OFFSET $2",
            &["5", "10"],
        );
        check(
            "SELECT 99999999999999999999",
            "SELECT $1",
            &["99999999999999999999n"],
        );
    }

    #[test]
    fn places_in_the_select_list_stay() {
        check(
            "SELECT a, count(*) FROM t WHERE b = 3 GROUP BY 1, c + 1 ORDER BY 2 DESC, 1 LIMIT 3",
            "SELECT a, count(*) FROM t WHERE b = $1 GROUP BY 1, c + $2 ORDER BY 2 DESC, 1 LIMIT $3",
            &["3", "1", "3"],
        );
        check(
            "SELECT string_agg(a, ',' ORDER BY b), 2 FROM t",
            "SELECT string_agg(a, $1 ORDER BY b), $2 FROM t",
            &[",", "2"],
        );
    }

    #[test]
    fn unusual_texts_are_left_to_the_parser() {
        for text in [
            "BEGIN",
            "SELECT 1 -- comment",
            "SELECT 1 /* comment */",
            "SELECT E'a'",
            "SELECT e'a'",
            "SELECT B'1'",
            "SELECT X'1F'",
            "SELECT N'a'",
            "SELECT U&'a'",
            "SELECT $1",
            "SELECT $$a$$",
            "SELECT 1; SELECT 2",
            "SELECT 'a'\n'b'",
            "SELECT 'a",
            "SELECT 0x1F",
            "SELECT 1_000",
            "SELECT 1abc",
            "SELECT -2147483648",
            "SELECT -9223372036854775808",
            "SELECT .5",
            "SELECT 1..2",
            "SELECT 5and",
            "SELECT nextval('s')",
            "WITH a AS (SELECT 1) SELECT 2",
        ] {
            assert_eq!(normalize(text), None, "{text}");
        }
        let many = vec!["1"; LITERALS_MAX + 1].join(",");
        assert_eq!(normalize(&format!("SELECT {many}")), None);
    }

    #[test]
    fn classes_of_literals_tell_keys_apart() {
        let key = |text: &str| normalize(text).unwrap().key;
        assert_ne!(key("SELECT 1"), key("SELECT 'a'"));
        assert_ne!(key("SELECT 1"), key("SELECT 5000000000"));
        assert_eq!(key("SELECT 1"), key("SELECT 2;"));
    }

    /// The literals that the parser's own scanner finds, as byte ranges.
    fn scanned(text: &str) -> Option<Vec<(usize, usize)>> {
        let tokens = pg_query::scan_tokens(text).ok()?;
        let is_literal = |token: &pg_query::protobuf::ScanToken| {
            matches!(token.token(), Token::Iconst | Token::Fconst | Token::Sconst)
        };
        Some(
            tokens
                .iter()
                .filter(|t| is_literal(t))
                .map(|t| (t.start as usize, t.end as usize))
                .collect(),
        )
    }

    proptest! {
        /// Whatever it answers, the literals are where the parser's scanner has them: the text
        /// between them is the original's.
        #[test]
        fn agrees_with_the_scanner(pieces in prop::collection::vec(prop_oneof![
            Just("a".to_string()), Just(" ".to_string()), Just("'x'".to_string()), Just("''''".to_string()),
            Just("\"q'\"".to_string()), Just("12".to_string()), Just("1.5".to_string()), Just("1e5".to_string()),
            Just("-".to_string()), Just("+".to_string()), Just("(".to_string()), Just(")".to_string()),
            Just(",".to_string()), Just(".".to_string()), Just("=".to_string()), Just("e".to_string()),
            Just("'".to_string()), Just("::".to_string()), Just("/".to_string()), Just("*".to_string()),
            Just("ä".to_string()), Just("$".to_string()), Just("_".to_string()), Just("\n".to_string()),
            Just("&".to_string()), Just("u".to_string()), Just("\\".to_string()), Just("9999999999".to_string()),
        ], 0..24)) {
            let text = format!("SELECT {}", pieces.concat());
            if let (Some(normalized), Some(places)) = (normalize(&text), scanned(&text)) {
                let mut rebuilt = String::new();
                let mut from = 0;
                for (number, (start, end)) in places.iter().enumerate() {
                    rebuilt.push_str(&text[from..*start]);
                    rebuilt.push_str(&format!("${}", number + 1));
                    from = *end;
                }
                rebuilt.push_str(&text[from..]);
                prop_assert_eq!(normalized.text, rebuilt);
                prop_assert_eq!(normalized.literals.len(), places.len());
            }
        }
    }
}
