//! Paths into JSON documents: what `jsonpath` holds.
//!
//! Relies on: `read` for text, `lex` for its words.  Promises: PostgreSQL 15's language, its errors and its
//! canonical text, which reads back as the same path: it is what values of the type are kept as.
//! Does not: evaluate a path, or compile its patterns.

mod lex;
mod print;
mod read;

use crate::error::SqlResult;
use crate::numeric::Numeric;
use crate::value::Str;

/// Items nest, and follow each other, at most this deep: each is a turn of recursion.
pub const DEPTH_MAX: usize = 200;

/// Items of one path. What a path costs to read and to keep is bounded by it.
pub const ITEMS_MAX: usize = 100_000;

/// The level that `last` stands for in `.**{last}`.
pub const LAST_LEVEL: u32 = u32::MAX;

/// A path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    /// `lax`: arrays are unwrapped and scalars wrapped where it helps, what is missing is no error.
    pub lax: bool,
    /// What it computes.
    pub body: Chain,
}

/// An item, and what is asked in turn of what it gives. Never empty.
pub type Chain = Vec<Item>;

/// An operation on two items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    StartsWith,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Binary {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Binary::Or => "||",
            Binary::And => "&&",
            Binary::Equal => "==",
            Binary::NotEqual => "!=",
            Binary::Less => "<",
            Binary::LessOrEqual => "<=",
            Binary::Greater => ">",
            Binary::GreaterOrEqual => ">=",
            Binary::StartsWith => "starts with",
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            Binary::Divide => "/",
            Binary::Modulo => "%",
        }
    }

    /// True for what computes a number.
    pub fn is_arithmetic(self) -> bool {
        use Binary::*;
        matches!(self, Add | Subtract | Multiply | Divide | Modulo)
    }
}

/// A method without arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Method {
    Type,
    Size,
    Abs,
    Floor,
    Ceiling,
    Double,
    KeyValue,
}

impl Method {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Type => "type",
            Method::Size => "size",
            Method::Abs => "abs",
            Method::Floor => "floor",
            Method::Ceiling => "ceiling",
            Method::Double => "double",
            Method::KeyValue => "keyvalue",
        }
    }
}

/// `like_regex`, and how its pattern is read.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Like {
    /// The pattern.
    pub pattern: Str,
    /// `i`
    pub any_case: bool,
    /// `s`: a dot matches a line break.
    pub dots_all: bool,
    /// `m`: `^` and `$` match at line breaks.
    pub lines: bool,
    /// `x`, which means something beside `q` only: nothing.
    pub expanded: bool,
    /// `q`: the pattern is a plain text.
    pub literal: bool,
}

/// A part of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number.
    Number(Numeric),
    /// A string.
    Text(Str),
    /// `$name`
    Variable(Str),
    /// `$`
    Root,
    /// `@`: what a filter looks at.
    Current,
    /// `last`, in a subscript.
    Last,
    /// Two operands.
    Binary(Binary, Box<Chain>, Box<Chain>),
    /// `+`
    Plus(Box<Chain>),
    /// `-`
    Minus(Box<Chain>),
    /// `!(…)`
    Not(Box<Chain>),
    /// `(…) is unknown`
    IsUnknown(Box<Chain>),
    /// `exists (…)`
    Exists(Box<Chain>),
    /// `… like_regex "…"`
    Like(Box<Chain>, Box<Like>),
    /// `.key`
    Key(Str),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyElement,
    /// `[from, from to to]`
    Elements(Vec<(Chain, Option<Chain>)>),
    /// `.**{first to last}`
    Any {
        /// The level it begins with.
        first: u32,
        /// The level it ends with.
        last: u32,
    },
    /// `?(…)`
    Filter(Box<Chain>),
    /// `.name()`
    Method(Method),
    /// `.datetime("template")`
    Datetime(Option<Str>),
}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// `42601` for text that is none, `22P02`, `22P05` and `22003` for parts that no value holds, `0A000` for
    /// the flag `x`, `54001` beyond [`DEPTH_MAX`] and `54000` beyond [`ITEMS_MAX`].
    pub fn parse(text: &str) -> SqlResult<JsonPath> {
        read::read(text)
    }

    /// Calls `body` for each pattern of the path.
    ///
    /// # Errors
    /// What `body` says.
    pub fn patterns(&self, body: &mut impl FnMut(&Like) -> SqlResult<()>) -> SqlResult<()> {
        patterns_of(&self.body, body)
    }
}

fn patterns_of(chain: &[Item], body: &mut impl FnMut(&Like) -> SqlResult<()>) -> SqlResult<()> {
    for item in chain {
        match item {
            Item::Like(operand, like) => {
                patterns_of(operand, body)?;
                body(like)?;
            }
            Item::Binary(_, left, right) => {
                patterns_of(left, body)?;
                patterns_of(right, body)?;
            }
            Item::Plus(operand)
            | Item::Minus(operand)
            | Item::Not(operand)
            | Item::IsUnknown(operand)
            | Item::Exists(operand)
            | Item::Filter(operand) => patterns_of(operand, body)?,
            Item::Elements(subscripts) => {
                for (from, to) in subscripts {
                    patterns_of(from, body)?;
                    to.as_ref().map_or(Ok(()), |to| patterns_of(to, body))?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let path = JsonPath::parse(text).expect(text);
        let shown = path.to_string();
        assert_eq!(JsonPath::parse(&shown).expect(&shown), path, "{text}");
        shown
    }

    #[test]
    fn the_canonical_text_reads_back() {
        for (text, canonical) in [
            ("$", "$"),
            ("strict $.a.*", "strict $.\"a\".*"),
            ("lax $[*]", "$[*]"),
            ("$.a/**/", ""),
            ("$/*c*/.a", "$.\"a\""),
            ("1..type()", "(1).type()"),
            ("- 1 .abs()", "(-(1).abs())"),
            ("1.e5", "100000"),
            (".5e-3", "0.0005"),
            (
                "$.a + - 1 - +1 * -$[*].b",
                "(($.\"a\" + -1) - 1 * -$[*].\"b\")",
            ),
            ("2 + ($ * 1).abs()", "(2 + ($ * 1).abs())"),
            ("$ ? (exists((@ - 1).a))", "$?(exists ((@ - 1).\"a\"))"),
            (
                "($.a == 1 && $.b == 2) || $.c == 1 && !(exists($.a)) && ($ == 2) is unknown",
                "($.\"a\" == 1 && $.\"b\" == 2 || ($.\"c\" == 1 && !(exists ($.\"a\"))) && ($ == 2) is unknown)",
            ),
            (
                "$.**{3 to 1}.**{last}.**{1 to last}.**{last to 2}.**.**{2}",
                "$.**{3 to 1}.**{last}.**{1 to last}.**{last to 2}.**.**{2}",
            ),
            (
                "$.datetime(\"aa\").\"\\u0041\".keyvalue()[0, 1 to last - 1]",
                "$.datetime(\"aa\").\"A\".keyvalue()[0,1 to last - 1]",
            ),
            (
                "$foo.TYPE.type() ? (@ > $\"b c\" && @ like_regex \"^a\" flag \"xqsim\")",
                "$\"foo\".\"TYPE\".type()?(@ > $\"b c\" && @ like_regex \"^a\" flag \"ismxq\")",
            ),
        ] {
            if canonical.is_empty() {
                assert!(JsonPath::parse(text).is_err(), "{text}");
                continue;
            }
            assert_eq!(shown(text), canonical, "{text}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for (text, state, message) in [
            ("", "22P02", "invalid input syntax for type jsonpath: \"\""),
            ("strict", "42601", "syntax error at end of jsonpath input"),
            (
                "$.a/*c*/.b",
                "42601",
                "syntax error at or near \".\" of jsonpath input",
            ),
            (
                "$.a /*c",
                "42601",
                "unexpected end of comment at end of jsonpath input",
            ),
            (
                "\"abc",
                "42601",
                "unexpected end of quoted string at end of jsonpath input",
            ),
            (
                "\"\\",
                "42601",
                "unexpected end after backslash at or near \"\\\" of jsonpath input",
            ),
            (
                "\"\\u12\"",
                "42601",
                "invalid unicode sequence at or near \"\\u12\" of jsonpath input",
            ),
            (
                "\"\\u{12345678}\"",
                "42601",
                "invalid unicode sequence at or near \"\\u{123456\" of jsonpath input",
            ),
            (
                "\"\\xz\"",
                "42601",
                "invalid hex character sequence at or near \"\\x\" of jsonpath input",
            ),
            (
                "\"\\u0000\"",
                "22P05",
                "unsupported Unicode escape sequence",
            ),
            (
                "\"\\ud800\"",
                "22P02",
                "invalid input syntax for type jsonpath",
            ),
            (
                "\"a\" \"b\"",
                "42601",
                "syntax error at or near \"\"\" of jsonpath input",
            ),
            ("$ foo.b", "42601", "syntax error at end of jsonpath input"),
            (
                "1e+",
                "42601",
                "invalid numeric literal at or near \"1e+\" of jsonpath input",
            ),
            (
                "01",
                "42601",
                "trailing junk after numeric literal at or near \"01\" of jsonpath input",
            ),
            ("@", "42601", "@ is not allowed in root expressions"),
            (
                "$[last] + last",
                "42601",
                "LAST is allowed only in array subscripts",
            ),
            (
                "$ ? ($.a)",
                "42601",
                "syntax error at or near \")\" of jsonpath input",
            ),
            (
                "$ ? (1 == 1 == 1)",
                "42601",
                "syntax error at or near \"==\" of jsonpath input",
            ),
            (
                "($ == 1) + 1",
                "42601",
                "syntax error at or near \"+\" of jsonpath input",
            ),
            (
                "$.a && 1 == 1",
                "42601",
                "syntax error at or near \"&&\" of jsonpath input",
            ),
            (
                "$.**{2147483648}",
                "22003",
                "value \"2147483648\" is out of range for type integer",
            ),
            (
                "$ ? (@ like_regex \"a\" flag \"x\")",
                "0A000",
                "XQuery \"x\" flag (expanded regular expressions) is not implemented",
            ),
        ] {
            let error = JsonPath::parse(text).expect_err(text);
            assert_eq!(
                (error.state.as_str(), error.message.as_str()),
                (state, message),
                "{text}"
            );
        }
        let deep = "(".repeat(100_000);
        assert_eq!(JsonPath::parse(&deep).unwrap_err().state.as_str(), "54001");
        let long = format!("${}", ".a".repeat(100_000));
        assert_eq!(JsonPath::parse(&long).unwrap_err().state.as_str(), "54001");
    }
}
