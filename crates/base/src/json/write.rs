//! Documents as text.
//!
//! Promises: PostgreSQL's text of `jsonb`, with a blank behind `:` and `,`, and that of
//! `jsonb_pretty`.  Does not: escape anything but what must be.

use super::Json;
use std::fmt::{self, Write};

/// Writes a string in quotes.
///
/// # Errors
/// What the writer says.
pub fn write_string(text: &str, out: &mut impl Write) -> fmt::Result {
    out.write_char('"')?;
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '\\' || c < ' ') {
        out.write_str(&rest[..at])?;
        match rest.as_bytes()[at] {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            8 => out.write_str("\\b")?,
            12 => out.write_str("\\f")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            byte => write!(out, "\\u{byte:04x}")?,
        }
        rest = &rest[at + 1..];
    }
    out.write_str(rest)?;
    out.write_char('"')
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(truth) => write!(f, "{truth}"),
            Json::Number(number) => write!(f, "{number}"),
            Json::Text(text) => write_string(text, f),
            Json::Array(elements) => {
                f.write_char('[')?;
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{element}")?;
                }
                f.write_char(']')
            }
            Json::Object(pairs) => {
                f.write_char('{')?;
                for (at, (key, value)) in pairs.iter().enumerate() {
                    if at > 0 {
                        f.write_str(", ")?;
                    }
                    write_string(key, f)?;
                    write!(f, ": {value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

impl Json {
    /// The text with a line for each part.
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.write_pretty(1, &mut out)
            .expect("a String takes everything");
        out
    }

    fn write_pretty(&self, depth: usize, out: &mut String) -> fmt::Result {
        let line = |out: &mut String, depth: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', 4 * depth));
        };
        match self {
            Json::Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    line(out, depth);
                    element.write_pretty(depth + 1, out)?;
                }
                line(out, depth - 1);
                out.push(']');
            }
            Json::Object(pairs) => {
                out.push('{');
                for (at, (key, value)) in pairs.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    line(out, depth);
                    write_string(key, out)?;
                    out.push_str(": ");
                    value.write_pretty(depth + 1, out)?;
                }
                line(out, depth - 1);
                out.push('}');
            }
            scalar => write!(out, "{scalar}")?,
        }
        Ok(())
    }
}
