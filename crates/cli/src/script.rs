//! Where a SQL statement of a script begins and ends.
//!
//! Relies on: nothing.  Promises: a semicolon inside quotes, a dollar-quoted body, a comment or
//! parentheses ends nothing.
//! Does not: check the SQL; the parser does.
//!
//! ```text
//!   Plain ──'──► Quote ──'──► Plain          Plain ──"──► Name ──"──► Plain
//!   Plain ──$tag$──► Dollar ──$tag$──► Plain
//!   Plain ──--──► Line ──newline──► Plain    Plain ──/*──► Block (nests) ──*/──► Plain
//! ```

/// What comes first in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A whole statement, semicolon included: where it begins and ends.
    Statement(usize, usize),
    /// No semicolon that ends one: where the text begins that is more than space and comments.
    Open(usize),
    /// Nothing but space, comments and empty statements.
    Nothing,
}

/// Finds the first statement.
pub fn next(text: &str) -> Next {
    let bytes = text.as_bytes();
    let mut start: Option<usize> = None;
    let (mut i, mut depth) = (0, 0usize);
    while i < bytes.len() {
        let (end, blank) = token(text, i);
        if !blank {
            match (bytes[i], start) {
                (b';', None) => {}
                (b';', Some(start)) if depth == 0 => return Next::Statement(start, end),
                (byte, _) => {
                    start.get_or_insert(i);
                    match byte {
                        b'(' => depth += 1,
                        b')' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                }
            }
        }
        i = end;
    }
    match start {
        Some(start) => Next::Open(start),
        // A comment or a quote that is still open may yet turn out to hold nothing.
        None => Next::Nothing,
    }
}

/// End of the token at `i`, and whether it is space or a comment.
fn token(text: &str, i: usize) -> (usize, bool) {
    let bytes = text.as_bytes();
    let rest = &text[i..];
    let two = rest.as_bytes().get(..2);
    if two == Some(b"--") {
        return (rest.find('\n').map_or(text.len(), |n| i + n + 1), true);
    }
    if two == Some(b"/*") {
        return (block_comment(bytes, i), true);
    }
    match bytes[i] {
        b' ' | b'\t' | b'\n' | b'\r' => (i + 1, true),
        b'\'' => (quoted(bytes, i, is_escape_string(bytes, i)), false),
        b'"' => (quoted(bytes, i, false), false),
        b'$' => (dollar(text, i), false),
        // A word is one token, so that `$` inside it opens nothing.
        byte if is_word(byte) => (
            i + bytes[i..]
                .iter()
                .take_while(|b| is_word(**b) || **b == b'$')
                .count(),
            false,
        ),
        _ => (i + 1, false),
    }
}

/// Bytes of other alphabets count as letters: a token never ends inside a character.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// `E'...'` takes backslash escapes.
fn is_escape_string(bytes: &[u8], quote: usize) -> bool {
    let before = |n: usize| quote.checked_sub(n).map(|at| bytes[at]);
    matches!(before(1), Some(b'e' | b'E')) && !before(2).is_some_and(is_word)
}

fn quoted(bytes: &[u8], open: usize, escapes: bool) -> usize {
    let mut i = open + 1;
    while i < bytes.len() {
        if escapes && bytes[i] == b'\\' {
            i += 2;
        } else if bytes[i] == bytes[open] {
            // A doubled quote reopens at once: the next token begins with it and splits nothing.
            return i + 1;
        } else {
            i += 1;
        }
    }
    bytes.len()
}

fn block_comment(bytes: &[u8], open: usize) -> usize {
    let (mut i, mut depth) = (open, 0);
    while i + 1 < bytes.len() {
        match &bytes[i..i + 2] {
            b"/*" => (i, depth) = (i + 2, depth + 1),
            b"*/" => (i, depth) = (i + 2, depth - 1),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    bytes.len()
}

fn dollar(text: &str, open: usize) -> usize {
    let tag = text[open + 1..].find(|c: char| !(c.is_alphanumeric() || c == '_'));
    let Some(end) = tag
        .map(|n| open + 1 + n)
        .filter(|end| text.as_bytes()[*end] == b'$')
    else {
        return open + 1;
    };
    let digit = text.as_bytes()[open + 1].is_ascii_digit();
    if digit {
        return open + 1; // $1 is a parameter
    }
    let mark = &text[open..=end];
    text[end + 1..]
        .find(mark)
        .map_or(text.len(), |n| end + 1 + n + mark.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All statements of a text and what is left over.
    fn split(text: &str) -> (Vec<&str>, &str) {
        let (mut statements, mut at) = (Vec::new(), 0);
        loop {
            match next(&text[at..]) {
                Next::Statement(begin, end) => {
                    statements.push(&text[at + begin..at + end]);
                    at += end;
                }
                Next::Open(begin) => return (statements, &text[at + begin..]),
                Next::Nothing => return (statements, ""),
            }
        }
    }

    fn check(text: &str, statements: &[&str], rest: &str) {
        assert_eq!(split(text), (statements.to_vec(), rest), "{text:?}");
    }

    #[test]
    fn only_top_level_semicolons_end_a_statement() {
        check("select 1; select 2;", &["select 1;", "select 2;"], "");
        check(
            "select ';''; x', \"a;b\"; y",
            &["select ';''; x', \"a;b\";"],
            "y",
        );
        check("select E'\\';' ; z", &["select E'\\';' ;"], "z");
        check("select tree'\\'; z", &["select tree'\\';"], "z");
        check(
            "-- a;\n/* b; /* c; */ d; */ select 1\n;\n\nselect 2;\n",
            &["select 1\n;", "select 2;"],
            "",
        );
        check(
            "create function f() as $x$ a; $y$ b; $x$; c",
            &["create function f() as $x$ a; $y$ b; $x$;"],
            "c",
        );
        check(
            "select $1; select a$1$;",
            &["select $1;", "select a$1$;"],
            "",
        );
        check(
            "create rule r as (select 1; select 2);",
            &["create rule r as (select 1; select 2);"],
            "",
        );
        check("select 'ü;', ü$; x", &["select 'ü;', ü$;"], "x");
    }

    #[test]
    fn empty_statements_and_open_ends() {
        check(";; -- nothing\n", &[], "");
        check("select 'open; ", &[], "select 'open; ");
        check("select $$ open; ", &[], "select $$ open; ");
        check("/* open; ", &[], "");
        check("select 1 $", &[], "select 1 $");
        check("$é", &[], "$é");
    }

    // Goal: no input makes the scanner panic or lose text. Method: random strings over the characters
    // that matter; every statement must be a piece of the input, in order.
    #[test]
    fn any_text_splits_into_its_own_pieces() {
        let seed = 20_261_121;
        println!("seed {seed}");
        let mut rand = quintet_rt::Rand::seeded(seed);
        let alphabet: Vec<char> = "a1_$;'\"\\-/*()\n éE".chars().collect();
        for _ in 0..20_000 {
            let text: String = (0..rand.below(24))
                .map(|_| alphabet[rand.below(alphabet.len() as u64) as usize])
                .collect();
            let (statements, rest) = split(&text);
            let mut at = 0;
            for statement in statements.iter().chain([&rest]) {
                let found = text[at..]
                    .find(statement)
                    .unwrap_or_else(|| panic!("{text:?}"));
                at += found + statement.len();
            }
            assert!(
                statements.iter().all(|statement| statement.ends_with(';')),
                "{text:?}"
            );
        }
    }
}
