//! What the extension `hstore` brings: keys with texts.
//!
//! Relies on: `base::pairs`, which knows what such a value is.  Promises: what PostgreSQL's functions and operators of these names
//! give.  Does not: know rows; the binder takes their fields apart.

use super::sets::{ONE_TEXT, SetFunction, TEXT_PAIRS, records, set};
use super::{Function, builtin as new, fail, str, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{self, Bool, Hstore, Int4, Json, Jsonb, RecordArray, Text, TextArray};
use quintet_base::pairs::Pairs;
use quintet_base::value::{Array, Dimension};
use quintet_base::{Record, SqlError, SqlResult, SqlState, Str, Value, text_format};
use std::sync::Arc;

type Pair = (Str, Option<Str>);

fn pairs(value: &Value) -> Pairs {
    match value {
        Value::Bytea(bytes) => Pairs::of_bytes(bytes),
        other => wrong_type(other),
    }
}

fn array(value: &Value) -> &Array {
    match value {
        Value::Array(array) => array,
        other => wrong_type(other),
    }
}

fn text_or_null(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::text)
}

fn texts(values: Vec<Value>) -> Value {
    Value::Array(Box::new(Array::new(Text, values)))
}

fn text_of(value: &Value) -> Option<Str> {
    value.as_str().map(Str::from)
}

fn key_of(value: &Value) -> SqlResult<Str> {
    text_of(value).ok_or_else(|| {
        let message = "null value not allowed for hstore key";
        SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
    })
}

/// Texts that may be NULL, which is no key.
fn keys(value: &Value) -> impl Iterator<Item = &str> {
    array(value).values.iter().filter_map(Value::as_str)
}

/// The key and its text; no pair without a key.
fn one(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match text_of(args[0]) {
        Some(key) => Ok(Pairs::new(vec![(key, text_of(args[1]))])?.to_value()),
        None => Ok(Value::Null),
    }
}

/// Keys, and their texts in another array, or all NULL.
fn side_by_side(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    const BOUNDS: &str = "arrays must have same bounds";
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let keys = array(args[0]);
    if keys.dimensions().len() > 1 {
        return fail(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            "wrong number of array subscripts",
        );
    }
    let given = match args[1] {
        Value::Null => None,
        value => Some(array(value)),
    };
    if let Some(given) = given {
        if given.dimensions().len() > 1 {
            return fail(
                SqlState::ARRAY_SUBSCRIPT_ERROR,
                "wrong number of array subscripts",
            );
        }
        let empty = keys.values.is_empty() && given.values.is_empty();
        let same = given.values.len() == keys.values.len() && given.shape == keys.shape;
        if !empty && !same {
            return fail(SqlState::ARRAY_SUBSCRIPT_ERROR, BOUNDS);
        }
    }
    let text = |at: usize| given.and_then(|given| text_of(&given.values[at]));
    let pairs = keys.values.iter().enumerate();
    let pairs = pairs.map(|(at, key)| Ok((key_of(key)?, text(at))));
    Ok(Pairs::new(pairs.collect::<SqlResult<Vec<Pair>>>()?)?.to_value())
}

/// Keys and texts in turn, or in two columns.
pub(crate) fn of_array(value: &Value) -> SqlResult<Value> {
    let given = array(value);
    let state = SqlState::ARRAY_SUBSCRIPT_ERROR;
    match &*given.dimensions() {
        [] => return Ok(Pairs::default().to_value()),
        [one] if one.length % 2 != 0 => {
            return fail(state, "array must have even number of elements");
        }
        [_] => {}
        [_, columns] if columns.length != 2 => return fail(state, "array must have two columns"),
        [_, _] => {}
        _ => return fail(state, "wrong number of array subscripts"),
    }
    let pairs = given.values.chunks_exact(2);
    let pairs = pairs.map(|pair| Ok((key_of(&pair[0])?, text_of(&pair[1]))));
    Ok(Pairs::new(pairs.collect::<SqlResult<Vec<Pair>>>()?)?.to_value())
}

fn of_texts(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    of_array(args[0])
}

fn get(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(text_or_null(pairs(args[0]).get(str(args[1])).flatten()))
}

/// What each of the keys has, in an array of their shape.
fn get_each(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (pairs, wanted) = (pairs(args[0]), array(args[1]));
    let values = wanted.values.iter().map(|key| {
        let key = key.as_str();
        text_or_null(key.and_then(|key| pairs.get(key).flatten()))
    });
    Ok(Value::Array(Box::new(Array {
        shape: wanted.shape.clone(),
        element: Text,
        values: values.collect(),
    })))
}

fn slice(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let pairs = pairs(args[0]);
    let found = keys(args[1]).filter_map(|key| {
        let text = pairs.get(key)?;
        Some((Str::from(key), text.map(Str::from)))
    });
    Ok(Pairs::new(found.collect())?.to_value())
}

fn exists(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(pairs(args[0]).get(str(args[1])).is_some()))
}

fn exists_any(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let pairs = pairs(args[0]);
    Ok(Value::Bool(
        keys(args[1]).any(|key| pairs.get(key).is_some()),
    ))
}

fn exists_all(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let pairs = pairs(args[0]);
    Ok(Value::Bool(
        keys(args[1]).all(|key| pairs.get(key).is_some()),
    ))
}

fn defined(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let found = pairs(args[0]).get(str(args[1])).flatten().is_some();
    Ok(Value::Bool(found))
}

fn without(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut left = pairs(args[0]);
    let gone = str(args[1]);
    left.retain(|key, _| key != gone);
    Ok(left.to_value())
}

fn without_each(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut left = pairs(args[0]);
    let gone: std::collections::BTreeSet<&str> = keys(args[1]).collect();
    left.retain(|key, _| !gone.contains(key));
    Ok(left.to_value())
}

/// Only pairs that are the same go.
fn without_pairs(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut left = pairs(args[0]);
    let gone = pairs(args[1]);
    left.retain(|key, text| gone.get(key) != Some(text));
    Ok(left.to_value())
}

fn concat(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(pairs(args[0]).with(pairs(args[1])).to_value())
}

fn has_all(whole: &Value, part: &Value) -> SqlResult<Value> {
    let whole = pairs(whole);
    let mut part = pairs(part);
    part.retain(|key, text| whole.get(key) != Some(text));
    Ok(Value::Bool(part.is_empty()))
}

fn contains(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    has_all(args[0], args[1])
}

fn is_contained(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    has_all(args[1], args[0])
}

fn in_turn(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let pairs = pairs(args[0]);
    let pairs = pairs.iter();
    let values = pairs.flat_map(|(key, text)| [Value::text(key), text_or_null(text)]);
    Ok(texts(values.collect()))
}

fn in_columns(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let Value::Array(mut flat) = in_turn(args, host)? else {
        return Ok(Value::Null);
    };
    if !flat.values.is_empty() {
        let length = (flat.values.len() / 2) as i32;
        let both = [length, 2].map(|length| Dimension { length, lower: 1 });
        flat = match Array::checked(Text, flat.values, &both) {
            Some(array) => Box::new(array),
            None => return Err(SqlError::internal("pairs that are no columns")),
        };
    }
    Ok(Value::Array(flat))
}

fn all_keys(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let pairs = pairs(args[0]);
    Ok(texts(
        pairs.iter().map(|(key, _)| Value::text(key)).collect(),
    ))
}

fn all_texts(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let pairs = pairs(args[0]);
    Ok(texts(
        pairs.iter().map(|(_, text)| text_or_null(text)).collect(),
    ))
}

fn each(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let pairs = pairs(args[0]);
    let rows = pairs.iter();
    let rows = rows.map(|(key, text)| vec![Value::text(key), text_or_null(text)]);
    records(rows.collect())
}

fn compare(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Int4(args[0].order(args[1]) as i32))
}

/// What JSON takes for a number.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit()) && quintet_base::json::parse(text).is_ok()
}

/// An object of texts; what looks like a number or a truth value is one, if that is asked for.
pub(super) fn document(value: &Value, loose: bool) -> String {
    use quintet_base::Json as Document;
    let quoted = |text: &str| Document::Text(Str::from(text)).to_string();
    let mut out = String::from("{");
    for (number, (key, text)) in pairs(value).iter().enumerate() {
        if number > 0 {
            out.push_str(", ");
        }
        out.push_str(&quoted(key));
        out.push_str(": ");
        match text {
            None => out.push_str("null"),
            Some("t") if loose => out.push_str("true"),
            Some("f") if loose => out.push_str("false"),
            Some(text) if loose && is_number(text) => out.push_str(text),
            Some(text) => out.push_str(&quoted(text)),
        }
    }
    out.push('}');
    out
}

/// The same as a value of `json` or `jsonb`.
pub(crate) fn to_json(value: &Value, to: SqlType, loose: bool) -> SqlResult<Value> {
    let out = document(value, loose);
    match to {
        Jsonb => Ok(Value::json(quintet_base::Json::parse(&out)?)),
        _ => Ok(Value::text(out)),
    }
}

fn json(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    to_json(args[0], Json, false)
}

fn json_loose(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    to_json(args[0], Json, true)
}

fn jsonb(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    to_json(args[0], Jsonb, false)
}

fn jsonb_loose(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    to_json(args[0], Jsonb, true)
}

/// The value with another text for a key, or one pair where there is none.
fn assign(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let Some(key) = text_of(args[1]) else {
        let message = "hstore subscript in assignment must not be null";
        return fail(SqlState::NULL_VALUE_NOT_ALLOWED, message);
    };
    let new = Pairs::new(vec![(key, text_of(args[2]))])?;
    Ok(match args[0] {
        Value::Null => new.to_value(),
        whole => pairs(whole).with(new).to_value(),
    })
}

/// The fields of a row by their names.
fn of_row(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let Value::Record(row) = args[0] else {
        return Ok(Value::Null);
    };
    let names = row.names(host.format());
    let fields = row.shape.fields.iter().zip(&row.values);
    let fields = fields
        .zip(names)
        .enumerate()
        .map(|(at, ((field, value), name))| {
            let name = match name.is_empty() {
                true => Str::from(format!("f{}", at + 1)),
                false => name,
            };
            let text = (!value.is_null())
                .then(|| Str::from(text_format::to_string(value, field.ty, host.format())));
            (name, text)
        });
    Ok(Pairs::new(fields.collect())?.to_value())
}

/// A record with other fields where there are such keys: a prototype, the record or NULL, the pairs.
pub static POPULATE: Function = new(
    "populate_record",
    &[SqlType::Unknown; 3],
    SqlType::Unknown,
    populate,
)
.lenient()
.stable();

fn populate(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let (Value::Record(prototype), base) = (args[0], args[1]) else {
        return Err(SqlError::internal("a record without a shape"));
    };
    let Value::Bytea(bytes) = args[2] else {
        return Ok(base.clone());
    };
    let pairs = Pairs::of_bytes(bytes);
    if pairs.is_empty() && !base.is_null() {
        return Ok(base.clone());
    }
    let format = host.format();
    let shape = prototype.shape.named(format);
    let fields = shape
        .fields
        .iter()
        .enumerate()
        .map(|(at, field)| match pairs.get(&field.name) {
            Some(Some(text)) => text_format::read(field.ty, text, format),
            Some(None) => Ok(Value::Null),
            None => Ok(match base {
                Value::Record(base) => base.values.get(at).cloned().unwrap_or_default(),
                _ => Value::Null,
            }),
        });
    Ok(Value::Record(Arc::new(Record {
        values: fields.collect::<SqlResult<_>>()?,
        shape: Arc::clone(&prototype.shape),
    })))
}

macro_rules! ordered {
    ($($symbol:literal $accepts:ident;)*) => {
        &[$(new($symbol, &[Hstore, Hstore], Bool, |args, _: &dyn Host| {
            Ok(Value::Bool(args[0].order(args[1]).$accepts()))
        }),)*]
    };
}

/// Its order has symbols of its own.
pub(super) static ORDER: &[Function] = ordered! {
    "#<#" is_lt;
    "#<=#" is_le;
    "#>#" is_gt;
    "#>=#" is_ge;
};

pub(super) static FUNCTIONS: &[Function] = &[
    new("->", &[Hstore, Text], Text, get),
    new("->", &[Hstore, TextArray], TextArray, get_each),
    new("?", &[Hstore, Text], Bool, exists),
    new("?&", &[Hstore, TextArray], Bool, exists_all),
    new("?|", &[Hstore, TextArray], Bool, exists_any),
    new("@>", &[Hstore, Hstore], Bool, contains),
    new("<@", &[Hstore, Hstore], Bool, is_contained),
    new("||", &[Hstore, Hstore], Hstore, concat),
    new("-", &[Hstore, Text], Hstore, without),
    new("-", &[Hstore, TextArray], Hstore, without_each),
    new("-", &[Hstore, Hstore], Hstore, without_pairs),
    new("%%", &[Hstore], TextArray, in_turn),
    new("%#", &[Hstore], TextArray, in_columns),
    new("hstore", &[Text, Text], Hstore, one).lenient(),
    new("hstore", &[TextArray, TextArray], Hstore, side_by_side).lenient(),
    new("hstore", &[TextArray], Hstore, of_texts),
    new("hstore", &[SqlType::Record], Hstore, of_row)
        .stable()
        .lenient(),
    new("[hstore]:=", &[Hstore, Text, Text], Hstore, assign).lenient(),
    new("tconvert", &[Text, Text], Hstore, one).lenient(),
    new("fetchval", &[Hstore, Text], Text, get),
    new("slice_array", &[Hstore, TextArray], TextArray, get_each),
    new("slice", &[Hstore, TextArray], Hstore, slice),
    new("exist", &[Hstore, Text], Bool, exists),
    new("isexists", &[Hstore, Text], Bool, exists),
    new("exists_any", &[Hstore, TextArray], Bool, exists_any),
    new("exists_all", &[Hstore, TextArray], Bool, exists_all),
    new("defined", &[Hstore, Text], Bool, defined),
    new("isdefined", &[Hstore, Text], Bool, defined),
    new("delete", &[Hstore, Text], Hstore, without),
    new("delete", &[Hstore, TextArray], Hstore, without_each),
    new("delete", &[Hstore, Hstore], Hstore, without_pairs),
    new("hs_concat", &[Hstore, Hstore], Hstore, concat),
    new("hs_contains", &[Hstore, Hstore], Bool, contains),
    new("hs_contained", &[Hstore, Hstore], Bool, is_contained),
    new("hstore_to_array", &[Hstore], TextArray, in_turn),
    new("hstore_to_matrix", &[Hstore], TextArray, in_columns),
    new("akeys", &[Hstore], TextArray, all_keys),
    new("avals", &[Hstore], TextArray, all_texts),
    new("hstore_to_json", &[Hstore], Json, json),
    new("hstore_to_json_loose", &[Hstore], Json, json_loose),
    new("hstore_to_jsonb", &[Hstore], Jsonb, jsonb),
    new("hstore_to_jsonb_loose", &[Hstore], Jsonb, jsonb_loose),
    new("hstore_cmp", &[Hstore, Hstore], Int4, compare),
];

pub(super) static SETS: &[SetFunction] = &[
    set(new("each", &[Hstore], RecordArray, each), TEXT_PAIRS),
    set(new("skeys", &[Hstore], TextArray, all_keys), ONE_TEXT),
    set(new("svals", &[Hstore], TextArray, all_texts), ONE_TEXT),
];
