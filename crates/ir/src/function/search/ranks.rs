//! How well a text answers a query, and which part of it shows that.
//!
//! Relies on: `textsearch::rank`.  Promises: PostgreSQL's numbers.  Does not: go on when the statement's time is over.

use super::super::{Function, builtin as new, fail, int, str, wrong_type};
use super::{Clock, config_and_rest, query, vector};
use crate::eval::Host;
use quintet_base::SqlType::{
    Float4, Float4Array, Int4, Json as Plain, Jsonb, RegConfig as Config, Text, TsQuery as Query,
    TsVector as Vector,
};
use quintet_base::json::{self, Kind, Node};
use quintet_base::lexemes::textsearch::headline::{Options, headline};
use quintet_base::lexemes::textsearch::rank::{self, WEIGHTS};
use quintet_base::lexemes::told;
use quintet_base::{Json, SqlError, SqlResult, SqlState, Str, Value};

/// What D, C, B and A count, by an array.
fn weights(value: &Value) -> SqlResult<[f32; 4]> {
    let Value::Array(array) = value else {
        wrong_type(value)
    };
    let mut given = [0.0; 4];
    if array.values.len() < given.len() {
        return fail(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            "array of weight is too short",
        );
    }
    if array.values.iter().any(Value::is_null) {
        return fail(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "array of weight must not contain nulls",
        );
    }
    for (given, value) in given.iter_mut().zip(&array.values) {
        if let Value::Float4(value) = value {
            *given = *value;
        }
    }
    rank::weights(given).map_err(told)
}

fn ranked(by_covers: bool, args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let (weights, rest) = match args[0] {
        Value::Array(_) => (weights(args[0])?, &args[1..]),
        _ => (WEIGHTS, args),
    };
    let (vector, query) = (vector(rest[0]), query(rest[1]));
    let method = rest.get(2).map_or(0, |method| int(method) as i32);
    let mut clock = Clock { host, steps: 0 };
    let mut tick = || clock.look();
    let rank = match by_covers {
        true => rank::rank_by_covers(weights, &vector, &query, method, &mut tick)?,
        false => rank::rank(weights, &vector, &query, method, &mut tick)?,
    };
    Ok(Value::Float4(rank))
}

fn by_words(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    ranked(false, args, host)
}

fn by_covers(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    ranked(true, args, host)
}

/// Text, query and options of a headline.
fn headline_of(is_document: bool, args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let (config, rest) = config_and_rest(args, host)?;
    let query = query(rest[1]);
    let options = match rest.get(2) {
        Some(options) => Options::parse(str(options)).map_err(told)?,
        None => Options::default(),
    };
    let mut clock = Clock { host, steps: 0 };
    let mut headline = |text: &str| headline(config, text, &query, &options, &mut || clock.look());
    Ok(match rest[0] {
        Value::Jsonb(document) => Value::json(in_document(document, &mut headline)?),
        text if is_document => {
            let mut out = String::new();
            in_node(&json::parse(str(text))?, &mut headline, &mut out)?;
            Value::text(out)
        }
        text => Value::text(headline(str(text))?),
    })
}

/// What makes the headline of one text.
type Make<'m> = &'m mut dyn FnMut(&str) -> SqlResult<String>;

/// A document whose strings are headlines.
fn in_document(document: &Json, make: Make<'_>) -> SqlResult<Json> {
    Ok(match document {
        Json::Text(text) => Json::Text(Str::from(make(text)?)),
        Json::Array(parts) => {
            let parts = parts.iter().map(|part| in_document(part, make));
            Json::Array(parts.collect::<SqlResult<_>>()?)
        }
        Json::Object(pairs) => {
            let pairs = pairs.iter();
            let pairs = pairs.map(|(key, value)| Ok((key.clone(), in_document(value, make)?)));
            Json::Object(pairs.collect::<SqlResult<_>>()?)
        }
        other => other.clone(),
    })
}

/// The same of a document as it is written, but for its blanks.
fn in_node(node: &Node<'_>, make: Make<'_>, out: &mut String) -> SqlResult<()> {
    let quoted = |text: &str, out: &mut String| {
        json::write_string(text, out).map_err(|_| SqlError::internal("a String takes everything"))
    };
    match &node.kind {
        Kind::Text(text) => quoted(&make(text)?, out)?,
        Kind::Array(parts) => {
            out.push('[');
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                in_node(part, make, out)?;
            }
            out.push(']');
        }
        Kind::Object(pairs) => {
            out.push('{');
            for (at, (key, value)) in pairs.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                quoted(key, out)?;
                out.push(':');
                in_node(value, make, out)?;
            }
            out.push('}');
        }
        _ => out.push_str(node.text),
    }
    Ok(())
}

fn of_text(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    headline_of(false, args, host)
}

fn of_document(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    headline_of(true, args, host)
}

/// With a configuration and without, with options and without.
macro_rules! headlines {
    ($($of:ident $body:ident),*) => {
        pub(super) static HEADLINES: &[Function] = &[$(
            new("ts_headline", &[Config, $of, Query, Text], $of, $body),
            new("ts_headline", &[Config, $of, Query], $of, $body),
            new("ts_headline", &[$of, Query, Text], $of, $body).stable(),
            new("ts_headline", &[$of, Query], $of, $body).stable(),
        )*];
    };
}

headlines! {Text of_text, Jsonb of_document, Plain of_document}

pub(super) static FUNCTIONS: &[Function] = &[
    new(
        "ts_rank",
        &[Float4Array, Vector, Query, Int4],
        Float4,
        by_words,
    ),
    new("ts_rank", &[Float4Array, Vector, Query], Float4, by_words),
    new("ts_rank", &[Vector, Query, Int4], Float4, by_words),
    new("ts_rank", &[Vector, Query], Float4, by_words),
    new(
        "ts_rank_cd",
        &[Float4Array, Vector, Query, Int4],
        Float4,
        by_covers,
    ),
    new(
        "ts_rank_cd",
        &[Float4Array, Vector, Query],
        Float4,
        by_covers,
    ),
    new("ts_rank_cd", &[Vector, Query, Int4], Float4, by_covers),
    new("ts_rank_cd", &[Vector, Query], Float4, by_covers),
];
