//! Bytes as text and back, quoting, digests.
//!
//! Relies on: the `md-5` crate.  Promises: `decode(encode(x, f), f) = x` for every format.
//! Does not: know character sets; all text is UTF-8.

use super::text::bytes;
use super::{Function, builtin as new, fail, str};
use crate::eval::Host;
use md5::Digest;
use quintet_base::SqlType::{Bytea, Text, Unknown};
use quintet_base::{SqlError, SqlResult, SqlState, Value, text_format};

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 lines break after so many characters, as MIME has it.
const BASE64_LINE: usize = 76;

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |d: u8| char::from(DIGITS[usize::from(d)]);
    bytes
        .iter()
        .flat_map(|b| [digit(b >> 4), digit(b & 15)])
        .collect()
}

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 4);
    let mut line = 0;
    for chunk in bytes.chunks(3) {
        if line == BASE64_LINE {
            out.push('\n');
            line = 0;
        }
        let group = (0..3).fold(0u32, |g, i| {
            g << 8 | chunk.get(i).map_or(0, |&b| u32::from(b))
        });
        for i in 0..4 {
            let sextet = group >> (18 - 6 * i) & 63;
            out.push(if i > chunk.len() {
                '='
            } else {
                char::from(BASE64[sextet as usize])
            });
        }
        line += 4;
    }
    out
}

fn escape(bytes: &[u8]) -> String {
    let mut out = String::new();
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            0 | 128.. => out.push_str(&format!("\\{byte:03o}")),
            _ => out.push(char::from(byte)),
        }
    }
    out
}

fn unknown_format<T>(format: &str) -> SqlResult<T> {
    fail(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("unrecognized encoding: \"{format}\""),
    )
}

fn encode(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (bytes, format) = (bytes(args[0]), str(args[1]));
    Ok(Value::text(match format.to_ascii_lowercase().as_str() {
        "hex" => hex(bytes),
        "base64" => base64(bytes),
        "escape" => escape(bytes),
        _ => return unknown_format(format),
    }))
}

fn decode(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (text, format) = (str(args[0]), str(args[1]));
    let bytes = match format.to_ascii_lowercase().as_str() {
        "hex" => decode_hex(text)?,
        "base64" => decode_base64(text)?,
        "escape" => decode_escape(text)?,
        _ => return unknown_format(format),
    };
    Ok(Value::Bytea(bytes.into()))
}

fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn decode_hex(text: &str) -> SqlResult<Vec<u8>> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !matches!(c, ' ' | '\n' | '\t' | '\r'))
        .map(|c| {
            c.to_digit(16)
                .ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{c}\"")))
        })
        .collect::<SqlResult<_>>()?;
    if digits.len() % 2 == 1 {
        return Err(invalid("invalid hexadecimal data: odd number of digits"));
    }
    Ok(digits.chunks(2).map(|d| (d[0] << 4 | d[1]) as u8).collect())
}

fn decode_base64(text: &str) -> SqlResult<Vec<u8>> {
    let mut out = vec![];
    // How many `=` have stood for the last bytes of a group.
    let (mut group, mut sextets, mut ends) = (0u32, 0, 0);
    for c in text
        .chars()
        .filter(|c| !matches!(c, ' ' | '\t' | '\n' | '\r'))
    {
        let sextet = if c == '=' {
            if ends == 0 {
                ends = match sextets {
                    2 => 2,
                    3 => 1,
                    _ => return Err(invalid("unexpected \"=\" while decoding base64 sequence")),
                };
            }
            0
        } else {
            let sextet = BASE64.iter().position(|&b| char::from(b) == c);
            sextet.ok_or_else(|| {
                invalid(format!(
                    "invalid symbol \"{c}\" found while decoding base64 sequence"
                ))
            })?
        };
        group = group << 6 | sextet as u32;
        sextets += 1;
        if sextets == 4 {
            out.extend_from_slice(&group.to_be_bytes()[1..4 - ends]);
            (group, sextets) = (0, 0);
        }
    }
    match sextets {
        0 => Ok(out),
        _ => Err(invalid("invalid base64 end sequence")
            .hint("Input data is missing padding, is truncated, or is otherwise corrupted.")),
    }
}

fn decode_escape(text: &str) -> SqlResult<Vec<u8>> {
    let syntax = || {
        SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            "invalid input syntax for type bytea",
        )
    };
    let mut out = vec![];
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = match (byte, tail) {
            (b'\\', [b'\\', tail @ ..]) => {
                out.push(b'\\');
                tail
            }
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..]) => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                tail
            }
            (b'\\', _) => return Err(syntax()),
            _ => {
                out.push(byte);
                tail
            }
        };
    }
    Ok(out)
}

fn md5(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let bytes = match args[0] {
        Value::Bytea(bytes) => bytes,
        other => str(other).as_bytes(),
    };
    Ok(Value::text(hex(&md5::Md5::digest(bytes))))
}

/// A text as a literal, escapes written so that they survive either string syntax.
pub(super) fn literal(text: &str) -> String {
    let body = text.replace('\'', "''");
    match text.contains('\\') {
        true => format!(" E'{}'", body.replace('\\', "\\\\")),
        false => format!("'{body}'"),
    }
}

fn quote_literal(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let text = match args[0] {
        Value::Text(text) => text.to_string(),
        Value::Bool(truth) => truth.to_string(),
        other => text_format::to_string(other, other.natural_type(), host.format()),
    };
    Ok(Value::text(literal(&text).trim_start()))
}

fn quote_nullable(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    match args[0] {
        Value::Null => Ok(Value::text("NULL")),
        _ => quote_literal(args, host),
    }
}

/// Words that are no identifiers without quotes: PostgreSQL's keywords that are not "unreserved".
#[rustfmt::skip] // one word per line would fill the screen
const KEYWORDS: &[&str] = &[
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "authorization",
    "between", "bigint", "binary", "bit", "boolean", "both", "case", "cast", "char", "character",
    "check", "coalesce", "collate", "collation", "column", "concurrently", "constraint", "create",
    "cross", "current_catalog", "current_date", "current_role", "current_schema", "current_time",
    "current_timestamp", "current_user", "dec", "decimal", "default", "deferrable", "desc",
    "distinct", "do", "else", "end", "except", "exists", "extract", "false", "fetch", "float",
    "for", "foreign", "freeze", "from", "full", "grant", "greatest", "group", "grouping", "having",
    "ilike", "in", "initially", "inner", "inout", "int", "integer", "intersect", "interval", "into",
    "is", "isnull", "join", "lateral", "leading", "least", "left", "like", "limit", "localtime",
    "localtimestamp", "national", "natural", "nchar", "none", "normalize", "not", "notnull", "null",
    "nullif", "numeric", "offset", "on", "only", "or", "order", "out", "outer", "overlaps",
    "overlay", "placing", "position", "precision", "primary", "real", "references", "returning",
    "right", "row", "select", "session_user", "setof", "similar", "smallint", "some", "substring",
    "symmetric", "table", "tablesample", "then", "time", "timestamp", "to", "trailing", "treat",
    "trim", "true", "union", "unique", "user", "using", "values", "varchar", "variadic", "verbose",
    "when", "where", "window", "with", "xmlattributes", "xmlconcat", "xmlelement", "xmlexists",
    "xmlforest", "xmlnamespaces", "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmltable",
];

/// A name as an identifier: quoted where it would not be read back as the same name.
pub fn quoted_identifier(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && KEYWORDS.binary_search(&name).is_err();
    match plain {
        true => name.to_string(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

fn quote_ident(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(quoted_identifier(str(args[0]))))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("encode", &[Bytea, Text], Text, encode),
    new("decode", &[Text, Text], Bytea, decode),
    new("md5", &[Text], Text, md5),
    new("md5", &[Bytea], Text, md5),
    new("quote_literal", &[Text], Text, quote_literal),
    new("quote_literal", &[Unknown], Text, quote_literal).stable(),
    new("quote_nullable", &[Text], Text, quote_nullable).lenient(),
    new("quote_nullable", &[Unknown], Text, quote_nullable)
        .lenient()
        .stable(),
    new("quote_ident", &[Text], Text, quote_ident),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted_for_the_search() {
        assert!(KEYWORDS.is_sorted());
    }
}
