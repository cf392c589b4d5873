//! Documents out of values of any type.
//!
//! Promises: PostgreSQL's spelling of each type: numbers and truth values as they are, dates and times
//! in ISO 8601, arrays and documents as such, everything else as a string.
//!
//! A `json` that comes as an argument of any type is marked by [`mark`]: a value of type `record` with
//! the text in it. Without the mark it would be a string.

use super::super::pairs;
use super::{string, texts};
use crate::eval::Host;
use crate::function::{Function, builtin as new, fail, str};
use quintet_base::SqlType::{self, Json as Plain, Jsonb, Record, TextArray, Unknown};
use quintet_base::datetime::DateStyle;
use quintet_base::json::write_string;
use quintet_base::text_format::{self, FormatContext};
use quintet_base::value::{Array, Dimension};
use quintet_base::{Json, SqlResult, SqlState, Str, Value};

/// The name of the function that marks a json.
pub const MARK: &str = "json()";

/// The name of the function that makes a json of a row: names and values in turn.
pub const ROW: &str = "row_to_json()";

fn mark(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(marked_json(args[0]))
}

/// A json as an argument of any type.
pub(in crate::function) fn marked_json(json: &Value) -> Value {
    match json {
        Value::Null => Value::Null,
        json => Value::Array(Box::new(Array {
            shape: None,
            element: Record,
            values: vec![json.clone()],
        })),
    }
}

/// The text of a marked json.
fn marked(array: &Array) -> Option<&str> {
    match (array.element, array.values.as_slice()) {
        (Record, [text]) => text.as_str(),
        _ => None,
    }
}

/// A date or timestamp as ISO 8601 has it, everything else as ever.
fn shown(value: &Value, format: &FormatContext) -> String {
    let ty = value.natural_type();
    let text = match value {
        Value::Date(_) | Value::Timestamp(_) | Value::TimestampTz(_)
            if format.date_style != DateStyle::Iso =>
        {
            let date_style = DateStyle::Iso;
            let iso = FormatContext {
                date_style,
                ..format.clone()
            };
            text_format::to_string(value, ty, &iso)
        }
        _ => text_format::to_string(value, ty, format),
    };
    match value {
        Value::Timestamp(_) => text.replacen(' ', "T", 1),
        Value::TimestampTz(_) => {
            let text = text.replacen(' ', "T", 1);
            // Minutes of the offset are always written.
            match text.rfind(['+', '-']) {
                Some(at) if text.len() - at == 3 => text + ":00",
                _ => text,
            }
        }
        _ => text,
    }
}

/// The text of bytes that only their type can read.
fn within(value: &Value, ty: SqlType, format: &FormatContext) -> String {
    text_format::to_string(value, ty, format)
}

/// A value as a document.
///
/// # Errors
/// What a json that is none says.
pub(crate) fn to_json(value: &Value, format: &FormatContext) -> SqlResult<Json> {
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Numeric(number) if number.is_finite() => Json::Number(number.clone()),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) => {
            Json::Number(quintet_base::Numeric::from_i64(value.as_i64().unwrap_or(0)))
        }
        Value::Float4(_) | Value::Float8(_) => {
            let text = shown(value, format);
            match text.as_str() {
                "NaN" | "Infinity" | "-Infinity" => string(&text),
                _ => Json::Number(quintet_base::Numeric::parse(&text)?),
            }
        }
        Value::Jsonb(json) => (**json).clone(),
        Value::Array(array) => match marked(array) {
            Some(text) => Json::parse(text)?,
            None => {
                let elements = array
                    .values
                    .iter()
                    .map(|value| match (array.element, value) {
                        (SqlType::Json, Value::Text(text)) => Json::parse(text),
                        (SqlType::Hstore, Value::Bytea(_)) => {
                            Json::parse(&pairs::document(value, false))
                        }
                        (ty, Value::Bytea(_)) => Ok(string(&within(value, ty, format))),
                        (_, value) => to_json(value, format),
                    });
                let elements = elements.collect::<SqlResult<Vec<Json>>>()?;
                levels(&array.dimensions(), elements)
            }
        },
        Value::Text(text) => Json::Text(text.clone()),
        Value::Record(record) => {
            let mut pairs = Vec::with_capacity(record.values.len());
            let fields = record.shape.fields.iter().zip(&record.values);
            for (name, (field, value)) in record.names(format).into_iter().zip(fields) {
                let value = match (field.ty, value) {
                    (SqlType::Json, Value::Text(text)) => Json::parse(text)?,
                    (SqlType::Hstore, Value::Bytea(_)) => {
                        Json::parse(&pairs::document(value, false))?
                    }
                    (ty, Value::Bytea(_)) => string(&within(value, ty, format)),
                    (_, value) => to_json(value, format)?,
                };
                pairs.push((name, value));
            }
            Json::object(pairs)
        }
        other => string(&shown(other, format)),
    })
}

/// Documents as an array of so many dimensions.
fn levels(shape: &[Dimension], mut elements: Vec<Json>) -> Json {
    let inner = shape.get(1..).unwrap_or_default();
    // The innermost are put together first.
    for one in inner.iter().rev() {
        let each = one.length.max(1) as usize;
        let mut rest = elements.into_iter();
        elements = std::iter::from_fn(|| {
            let part: Vec<Json> = rest.by_ref().take(each).collect();
            (!part.is_empty()).then_some(Json::Array(part))
        })
        .collect();
    }
    Json::Array(elements)
}

/// Appends an array, or what of it has these last dimensions.
fn write_levels(
    array: (&[Dimension], &[Value]),
    element: SqlType,
    format: &FormatContext,
    out: &mut String,
) -> SqlResult<()> {
    let (shape, values) = array;
    out.push('[');
    if let [outer, inner @ ..] = shape
        && !inner.is_empty()
    {
        let each = values.len() / outer.length.max(1) as usize;
        for (at, part) in values.chunks(each.max(1)).enumerate() {
            if at > 0 {
                out.push(',');
            }
            write_levels((inner, part), element, format, out)?;
        }
    } else {
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write_json(value, element, format, out)?;
        }
    }
    out.push(']');
    Ok(())
}

/// Appends a value as a json.
///
/// # Errors
/// As [`to_json`].
pub(crate) fn write_plain(
    value: &Value,
    format: &FormatContext,
    out: &mut String,
) -> SqlResult<()> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) => out.push_str(&shown(value, format)),
        Value::Numeric(number) if number.is_finite() => out.push_str(&shown(value, format)),
        Value::Float4(_) | Value::Float8(_) => {
            let text = shown(value, format);
            match text.as_str() {
                "NaN" | "Infinity" | "-Infinity" => quote(&text, out),
                _ => out.push_str(&text),
            }
        }
        Value::Jsonb(json) => out.push_str(&json.to_string()),
        Value::Array(array) => match marked(array) {
            Some(text) => out.push_str(text),
            None => {
                let shape = array.shape.as_deref().unwrap_or_default();
                write_levels((shape, &array.values), array.element, format, out)?;
            }
        },
        Value::Text(text) => quote(text, out),
        Value::Record(record) => {
            out.push('{');
            let fields = record.shape.fields.iter().zip(&record.values);
            for (at, (name, (field, value))) in record.names(format).iter().zip(fields).enumerate()
            {
                if at > 0 {
                    out.push(',');
                }
                quote(name, out);
                out.push(':');
                write_json(value, field.ty, format, out)?;
            }
            out.push('}');
        }
        other => quote(&shown(other, format), out),
    }
    Ok(())
}

/// Appends a value of a column as a json: a json as it was written, all others as `to_json` does.
///
/// # Errors
/// As `to_json`.
pub fn write_json(
    value: &Value,
    ty: SqlType,
    format: &FormatContext,
    out: &mut String,
) -> SqlResult<()> {
    match (ty, value) {
        (SqlType::Json, Value::Text(text)) => {
            out.push_str(text);
            Ok(())
        }
        (SqlType::Hstore, Value::Bytea(_)) => {
            out.push_str(&pairs::document(value, false));
            Ok(())
        }
        (ty, Value::Bytea(_)) => {
            quote(&within(value, ty, format), out);
            Ok(())
        }
        _ => write_plain(value, format, out),
    }
}

fn quote(text: &str, out: &mut String) {
    write_string(text, out).expect("a String takes everything");
}

/// The text of a key.
///
/// # Errors
/// `22004` for NULL, `22023` for what is no scalar.
pub(crate) fn key(value: &Value, format: &FormatContext) -> SqlResult<Str> {
    match value {
        Value::Null => fail(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "field name must not be null",
        ),
        Value::Array(_) | Value::Jsonb(_) | Value::Record(_) => fail(
            SqlState::INVALID_PARAMETER_VALUE,
            "key value must be scalar, not array, composite, or json",
        ),
        Value::Text(text) => Ok(text.clone()),
        Value::Bool(truth) => Ok(Str::from(if *truth { "true" } else { "false" })),
        other => Ok(Str::from(shown(other, format))),
    }
}

/// Keys and values in turn.
///
/// # Errors
/// `22023` for an odd number of them.
fn pairs<'a, 'v>(args: &'a [&'v Value]) -> SqlResult<std::slice::ChunksExact<'a, &'v Value>> {
    if args.len() % 2 == 1 {
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            "argument list must have even number of elements",
        );
    }
    Ok(args.chunks_exact(2))
}

/// Says which argument is the key that is NULL.
fn argument_key(args: &[&Value], at: usize, format: &FormatContext) -> SqlResult<Str> {
    match args[at] {
        Value::Null => fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("argument {}: key must not be null", at + 1),
        ),
        value => key(value, format),
    }
}

pub(in crate::function) fn build_object(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let mut built = Vec::with_capacity(args.len() / 2);
    for (at, pair) in pairs(args)?.enumerate() {
        let key = argument_key(args, 2 * at, host.format())?;
        built.push((key, to_json(pair[1], host.format())?));
    }
    Ok(Value::json(Json::object(built)))
}

pub(in crate::function) fn build_array(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let elements = args.iter().map(|value| to_json(value, host.format()));
    Ok(Value::json(Json::Array(
        elements.collect::<SqlResult<_>>()?,
    )))
}

pub(in crate::function) fn build_plain_object(
    args: &[&Value],
    host: &dyn Host,
) -> SqlResult<Value> {
    let mut out = String::from("{");
    for (at, pair) in pairs(args)?.enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        quote(&argument_key(args, 2 * at, host.format())?, &mut out);
        out.push_str(" : ");
        write_plain(pair[1], host.format(), &mut out)?;
    }
    out.push('}');
    Ok(Value::text(out))
}

pub(in crate::function) fn build_plain_array(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let mut out = String::from("[");
    for (at, value) in args.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        write_plain(value, host.format(), &mut out)?;
    }
    out.push(']');
    Ok(Value::text(out))
}

fn row(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let mut out = String::from("{");
    for (at, pair) in pairs(args)?.enumerate() {
        if at > 0 {
            out.push(',');
        }
        quote(str(pair[0]), &mut out);
        out.push(':');
        write_plain(pair[1], host.format(), &mut out)?;
    }
    out.push('}');
    Ok(Value::text(out))
}

fn to_jsonb(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    to_json(args[0], host.format()).map(Value::json)
}

fn to_plain(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let mut out = String::new();
    write_plain(args[0], host.format(), &mut out)?;
    Ok(Value::text(out))
}

/// Pairs of texts: one array with both in turn, or two arrays.
fn text_pairs(args: &[&Value]) -> SqlResult<Vec<(Str, Option<Str>)>> {
    let first = texts(args[0]);
    let dimensions = |value: &Value| match value {
        Value::Array(array) => array.dimensions().iter().count(),
        other => super::wrong_type(other),
    };
    let refuse = |message: &str| fail(SqlState::ARRAY_SUBSCRIPT_ERROR, message);
    let (keys, values): (Vec<_>, Vec<_>) = match args.get(1) {
        None => {
            let Value::Array(array) = args[0] else {
                super::wrong_type(args[0])
            };
            match array.dimensions().iter().collect::<Vec<_>>()[..] {
                [] => {}
                [_] if first.len() % 2 == 1 => {
                    return refuse("array must have even number of elements");
                }
                [_] => {}
                [_, columns] if columns.length != 2 => {
                    return refuse("array must have two columns");
                }
                [_, _] => {}
                _ => return refuse("wrong number of array subscripts"),
            }
            first.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip()
        }
        Some(second) => {
            if dimensions(args[0]) > 1 || dimensions(args[0]) != dimensions(second) {
                return refuse("wrong number of array subscripts");
            }
            let second = texts(second);
            if first.len() != second.len() {
                return refuse("mismatched array dimensions");
            }
            (first, second)
        }
    };
    keys.into_iter()
        .zip(values)
        .map(|(key, value)| match key {
            Some(key) => Ok((Str::from(key), value.map(Str::from))),
            None => fail(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "null value not allowed for object key",
            ),
        })
        .collect()
}

fn object(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let pairs = text_pairs(args)?.into_iter();
    let pairs = pairs.map(|(key, value)| (key, value.map_or(Json::Null, Json::Text)));
    Ok(Value::json(Json::object(pairs.collect())))
}

fn plain_object(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut out = String::from("{");
    for (at, (key, value)) in text_pairs(args)?.into_iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        quote(&key, &mut out);
        out.push_str(" : ");
        match value {
            Some(value) => quote(&value, &mut out),
            None => out.push_str("null"),
        }
    }
    out.push('}');
    Ok(Value::text(out))
}

pub(in crate::function) static FUNCTIONS: &[Function] = &[
    new(MARK, &[Plain], Record, mark),
    new(ROW, &[], Plain, row).stable(),
    new(ROW, &[Unknown], Plain, row)
        .variadic()
        .lenient()
        .stable(),
    new("to_jsonb", &[Unknown], Jsonb, to_jsonb).stable(),
    new("to_json", &[Unknown], Plain, to_plain).stable(),
    new("array_to_json", &[Unknown], Plain, to_plain).stable(),
    new("jsonb_build_object", &[], Jsonb, build_object).stable(),
    new("jsonb_build_object", &[Unknown], Jsonb, build_object)
        .variadic()
        .lenient()
        .stable(),
    new("jsonb_build_array", &[], Jsonb, build_array).stable(),
    new("jsonb_build_array", &[Unknown], Jsonb, build_array)
        .variadic()
        .lenient()
        .stable(),
    new("json_build_object", &[], Plain, build_plain_object).stable(),
    new("json_build_object", &[Unknown], Plain, build_plain_object)
        .variadic()
        .lenient()
        .stable(),
    new("json_build_array", &[], Plain, build_plain_array).stable(),
    new("json_build_array", &[Unknown], Plain, build_plain_array)
        .variadic()
        .lenient()
        .stable(),
    new("jsonb_object", &[TextArray], Jsonb, object),
    new("jsonb_object", &[TextArray, TextArray], Jsonb, object),
    new("json_object", &[TextArray], Plain, plain_object),
    new("json_object", &[TextArray, TextArray], Plain, plain_object),
];
