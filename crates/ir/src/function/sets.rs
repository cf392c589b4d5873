//! Functions that give a set of rows, as functions that give an array.
//!
//! Relies on: the planner, which puts them under `Plan::Unnest`.  Promises: a set of one column gives
//! an array of its values; one of several columns, or whose column is an array, gives an array of
//! records, each a `Value::Array` of its fields, which [`RECORD_FIELD`] takes out.
//! Does not: give rows before all of them are there.

use super::choose::{Choice, choose};
use super::json::{json, node_text};
use super::jsonpath;
use super::search;
use super::{
    Function, Resolved, Signature, builtin as new, does_not_exist, fail, int, is_not_unique, str,
    wrong_type,
};
use crate::eval::Host;
use quintet_base::SequenceId;
use quintet_base::SqlType::{
    self, Bool, Int2Vector, Int4, Int4Array, Int8, Int8Array, InternalChar, Interval as Span,
    Json as Plain, JsonArray, Jsonb, JsonbArray, Numeric as Decimal, NumericArray, Oid, OidVector,
    Record, RecordArray, RegClass, RegClassArray, Text, TextArray, Timestamp, TimestampArray,
    TimestampTz, TimestampTzArray, Unknown,
};
use quintet_base::json::{Kind, parse};
use quintet_base::value::{Array, Dimension};
use quintet_base::{Json, Numeric, SqlError, SqlResult, SqlState, Value, interval};

/// A set is in memory as a whole; more rows than this are refused.
const ROWS_MAX: usize = 10_000_000;

/// A function that gives a set.
pub struct SetFunction {
    /// Gives the array.
    pub function: Function,
    /// Names and types of the columns; a column without a name is called as the function is.
    pub columns: &'static [(&'static str, SqlType)],
}

/// What a call resolved to.
pub struct ResolvedSet {
    /// The function, and the types of its arguments.
    pub call: Resolved,
    /// See [`SetFunction`].
    pub columns: &'static [(&'static str, SqlType)],
}

/// `array[index]` of a record: a field. Its type is the node's.
pub static RECORD_FIELD: Function = new("record[]", &[Record, Int4], Unknown, field).subscript();

/// Numbers the elements of an array, or the records: one field more.
pub static WITH_ORDINALITY: Function =
    new("ordinality()", &[Unknown], RecordArray, number_rows).stable();

/// Arrays side by side: records with an element of each.
pub static SIDE_BY_SIDE: Function = new("unnest()", &[Unknown], RecordArray, side_by_side)
    .variadic()
    .lenient()
    .stable();

/// Records of a relation that is made when a statement runs, by its name: what the session's server does now.
pub static LIVE_ROWS: Function = new("live()", &[Text], RecordArray, live_rows).stable();

/// The one row of a sequence, by its number.
pub static SEQUENCE_ROW: Function = new("sequence()", &[Oid], RecordArray, sequence_row).stable();

fn sequence_row(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let state = host.sequence_state(SequenceId(u32::try_from(int(args[0])).unwrap_or(0)))?;
    records(vec![vec![
        Value::Int8(state.last),
        Value::Int8(state.reserved),
        Value::Bool(state.is_called),
    ]])
}

/// `name=value` of each element.
fn options(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let Value::Array(options) = args[0] else {
        return records(Vec::new());
    };
    let row = |option: &Value| {
        let option = option.as_str().unwrap_or_default();
        match option.split_once('=') {
            Some((name, value)) => vec![Value::text(name), Value::text(value)],
            None => vec![Value::text(option), Value::Null],
        }
    };
    records(options.values.iter().map(row).collect())
}

fn live_rows(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(match host.format().objects.describe("live()", args)? {
        Value::Null => array(Record, Vec::new()),
        rows => rows,
    })
}

fn field(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(super::element(args[0], args[1]).clone())
}

fn array(element: SqlType, values: Vec<Value>) -> Value {
    Value::Array(Box::new(Array {
        shape: None,
        element,
        values,
    }))
}

fn record(fields: Vec<Value>) -> Value {
    array(Record, fields)
}

pub(super) fn records(rows: Vec<Vec<Value>>) -> SqlResult<Value> {
    Ok(array(Record, rows.into_iter().map(record).collect()))
}

fn number_rows(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let Value::Array(given) = args[0] else {
        wrong_type(args[0])
    };
    let rows = given.values.iter().enumerate().map(|(at, value)| {
        let mut fields = match (given.element, value) {
            (Record, Value::Array(fields)) => fields.values.clone(),
            (_, value) => vec![value.clone()],
        };
        fields.push(Value::Int8(at as i64 + 1));
        fields
    });
    records(rows.collect())
}

fn side_by_side(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let values = |arg: &Value| match arg {
        Value::Array(array) => array.values.len(),
        _ => 0,
    };
    let length = args.iter().map(|arg| values(arg)).max().unwrap_or(0);
    let place = |at: usize, arg: &Value| match arg {
        Value::Array(array) => array.values.get(at).cloned().unwrap_or_default(),
        _ => Value::Null,
    };
    let rows = (0..length).map(|at| args.iter().map(|arg| place(at, arg)).collect());
    records(rows.collect())
}

/// The elements of a document that must be an array.
fn elements<'v>(value: &'v Value, name: &str) -> SqlResult<&'v [Json]> {
    match json(value) {
        Json::Array(elements) => Ok(elements),
        other => {
            let what = match other {
                Json::Object(_) => "an object",
                _ => "a scalar",
            };
            fail(
                SqlState::INVALID_PARAMETER_VALUE,
                match name {
                    "" => format!("cannot extract elements from {what}"),
                    name => format!("cannot call {name} on {what}"),
                },
            )
        }
    }
}

fn text_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Text(text) => Value::Text(text.clone()),
        other => Value::text(other.to_string()),
    }
}

fn array_elements(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let elements = elements(args[0], "")?.iter().cloned().map(Value::json);
    Ok(array(Jsonb, elements.collect()))
}

fn array_elements_text(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let elements = elements(args[0], "")?.iter().map(text_of);
    Ok(array(Text, elements.collect()))
}

fn not_an_array<T>(kind: &Kind, name: &str) -> SqlResult<T> {
    let what = match kind {
        Kind::Object(_) => "a non-array",
        _ => "a scalar",
    };
    fail(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("cannot call {name} on {what}"),
    )
}

fn plain_elements(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match parse(str(args[0]))?.kind {
        Kind::Array(elements) => {
            let elements = elements.iter().map(|node| Value::text(node.text));
            Ok(array(Plain, elements.collect()))
        }
        kind => not_an_array(&kind, "json_array_elements"),
    }
}

fn plain_elements_text(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match parse(str(args[0]))?.kind {
        Kind::Array(elements) => {
            let elements = elements.iter().map(|node| node_text(Some(node)));
            Ok(array(Text, elements.collect()))
        }
        kind => not_an_array(&kind, "json_array_elements_text"),
    }
}

fn no_object<T>(name: &str, is_array: bool) -> SqlResult<T> {
    let what = if is_array { "an array" } else { "a scalar" };
    let what = match name {
        "jsonb_each" | "jsonb_each_text" => "a non-object",
        _ => what,
    };
    fail(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("cannot call {name} on {what}"),
    )
}

fn each(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match json(args[0]) {
        Json::Object(pairs) => records(
            pairs
                .iter()
                .map(|(key, value)| vec![Value::Text(key.clone()), Value::json(value.clone())])
                .collect(),
        ),
        other => no_object("jsonb_each", !other.is_scalar()),
    }
}

fn each_text(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match json(args[0]) {
        Json::Object(pairs) => records(
            pairs
                .iter()
                .map(|(key, value)| vec![Value::Text(key.clone()), text_of(value)])
                .collect(),
        ),
        other => no_object("jsonb_each_text", !other.is_scalar()),
    }
}

fn plain_each(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match parse(str(args[0]))?.kind {
        Kind::Object(pairs) => records(
            pairs
                .iter()
                .map(|(key, value)| vec![Value::text(key), Value::text(value.text)])
                .collect(),
        ),
        kind => no_object("json_each", matches!(kind, Kind::Array(_))),
    }
}

fn plain_each_text(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match parse(str(args[0]))?.kind {
        Kind::Object(pairs) => records(
            pairs
                .iter()
                .map(|(key, value)| vec![Value::text(key), node_text(Some(value))])
                .collect(),
        ),
        kind => no_object("json_each_text", matches!(kind, Kind::Array(_))),
    }
}

fn keys(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match json(args[0]) {
        Json::Object(pairs) => {
            let keys = pairs.iter().map(|(key, _)| Value::Text(key.clone()));
            Ok(array(Text, keys.collect()))
        }
        other => no_object("jsonb_object_keys", !other.is_scalar()),
    }
}

fn plain_keys(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match parse(str(args[0]))?.kind {
        Kind::Object(pairs) => {
            let keys = pairs.iter().map(|(key, _)| Value::text(key));
            Ok(array(Text, keys.collect()))
        }
        kind => no_object("json_object_keys", matches!(kind, Kind::Array(_))),
    }
}

fn subscripts(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    places_from(1, args)
}

/// The same of the catalogue's vectors.
fn subscripts_of_vector(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    places_from(0, args)
}

fn places_from(first: i32, args: &[&Value]) -> SqlResult<Value> {
    let Value::Array(given) = args[0] else {
        wrong_type(args[0])
    };
    let backwards = args.get(2).and_then(|last| last.as_bool()) == Some(true);
    let number = usize::try_from(int(args[1]) - 1).ok();
    let known = number.and_then(|number| given.dimensions().get(number).copied());
    let Dimension { lower, length } = known.unwrap_or_default();
    // Those of a vector are from 0, whose arrays begin at 1.
    let first = first - 1 + lower;
    let mut places: Vec<Value> = (first..first + length).map(Value::Int4).collect();
    if backwards {
        places.reverse();
    }
    Ok(array(Int4, places))
}

fn too_many() -> SqlError {
    SqlError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("a set of more than {ROWS_MAX} rows"),
    )
}

fn no_step<T>() -> SqlResult<T> {
    fail(
        SqlState::INVALID_PARAMETER_VALUE,
        "step size cannot equal zero",
    )
}

fn integers(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (start, stop) = (int(args[0]), int(args[1]));
    let step = args.get(2).copied().map_or(1, int);
    if step == 0 {
        return no_step();
    }
    let narrow = matches!(args[0], Value::Int4(_));
    let mut values = Vec::new();
    let mut next = Some(start);
    while let Some(value) = next.filter(|v| if step > 0 { *v <= stop } else { *v >= stop }) {
        if values.len() == ROWS_MAX {
            return Err(too_many());
        }
        values.push(match narrow {
            true => Value::Int4(value as i32),
            false => Value::Int8(value),
        });
        next = value.checked_add(step);
    }
    Ok(array(if narrow { Int4 } else { Int8 }, values))
}

fn number(value: &Value) -> &Numeric {
    match value {
        Value::Numeric(number) => number,
        other => wrong_type(other),
    }
}

fn decimals(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let one = Numeric::ONE;
    let (start, stop) = (number(args[0]), number(args[1]));
    let step = args.get(2).copied().map_or(&one, number);
    for (value, name) in [(start, "start"), (stop, "stop"), (step, "step size")] {
        if !value.is_finite() {
            let what = if value.is_nan() { "NaN" } else { "infinity" };
            let name = match name {
                "step size" => "step size".to_string(),
                name => format!("{name} value"),
            };
            return fail(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("{name} cannot be {what}"),
            );
        }
    }
    if step.is_zero() {
        return no_step();
    }
    // What is far too long is not begun.
    if (stop.to_f64() - start.to_f64()) / step.to_f64() > 2.0 * ROWS_MAX as f64 {
        return Err(too_many());
    }
    let mut values = Vec::new();
    let mut value = start.clone();
    let beyond = |value: &Numeric| match step.is_negative() {
        true => value < stop,
        false => value > stop,
    };
    while !beyond(&value) {
        if values.len() == ROWS_MAX {
            return Err(too_many());
        }
        let next = value.add(step)?;
        values.push(Value::numeric(value));
        value = next;
    }
    Ok(array(Decimal, values))
}

fn moments(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let (Value::Timestamp(start) | Value::TimestampTz(start)) = args[0] else {
        wrong_type(args[0])
    };
    let (Value::Timestamp(stop) | Value::TimestampTz(stop)) = args[1] else {
        wrong_type(args[1])
    };
    let Value::Interval(step) = args[2] else {
        wrong_type(args[2])
    };
    let with_zone = matches!(args[0], Value::TimestampTz(_));
    let span = step.span();
    if span == 0 {
        return no_step();
    }
    if (i128::from(*stop) - i128::from(*start)) / span > 2 * ROWS_MAX as i128 {
        return Err(too_many());
    }
    let mut values = Vec::new();
    let mut moment = *start;
    while (span > 0 && moment <= *stop) || (span < 0 && moment >= *stop) {
        if values.len() == ROWS_MAX {
            return Err(too_many());
        }
        let next = match with_zone {
            true => interval::add_to_timestamptz(moment, *step, &host.format().zone)?,
            false => interval::add_to_timestamp(moment, *step)?,
        };
        values.push(match with_zone {
            true => Value::TimestampTz(moment),
            false => Value::Timestamp(moment),
        });
        if next == moment {
            // An infinite start never ends.
            return Err(too_many());
        }
        moment = next;
    }
    let element = if with_zone { TimestampTz } else { Timestamp };
    Ok(array(element, values))
}

fn to_table(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    match super::array::split(args, host)? {
        Value::Null => Ok(array(Text, vec![])),
        parts => Ok(parts),
    }
}

pub(super) const fn set(
    function: Function,
    columns: &'static [(&'static str, SqlType)],
) -> SetFunction {
    SetFunction {
        // Not folded: what they give is no constant that anybody could write.
        function: function.stable(),
        columns,
    }
}

const PAIRS: &[(&str, SqlType)] = &[("key", Text), ("value", Jsonb)];
pub(super) const TEXT_PAIRS: &[(&str, SqlType)] = &[("key", Text), ("value", Text)];
const PLAIN_PAIRS: &[(&str, SqlType)] = &[("key", Text), ("value", Plain)];
const TREE: &[(&str, SqlType)] = &[
    ("relid", RegClass),
    ("parentrelid", RegClass),
    ("isleaf", Bool),
    ("level", Int4),
];
pub(super) const ONE_TEXT: &[(&str, SqlType)] = &[("", Text)];
pub(super) const ONE_ARRAY: &[(&str, SqlType)] = &[("", TextArray)];

fn partition_ancestors(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let objects = &host.format().objects;
    Ok(match objects.describe("pg_partition_ancestors", args)? {
        Value::Null => array(RegClass, Vec::new()),
        found => found,
    })
}

fn partition_tree(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let objects = &host.format().objects;
    Ok(match objects.describe("pg_partition_tree", args)? {
        Value::Null => array(Record, Vec::new()),
        found => found,
    })
}

fn acl_items(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let objects = &host.format().objects;
    Ok(match objects.describe("aclexplode", args)? {
        Value::Null => array(Record, Vec::new()),
        found => found,
    })
}

fn listening_channels(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let objects = &host.format().objects;
    Ok(match objects.describe("pg_listening_channels", &[])? {
        Value::Null => array(Text, Vec::new()),
        names => names,
    })
}

fn contention_report(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let objects = &host.format().objects;
    Ok(match objects.describe("quintet_contention_report", &[])? {
        Value::Null => array(Text, Vec::new()),
        lines => lines,
    })
}

const TOKENS: &[(&str, SqlType)] = &[("tokid", Int4), ("token", Text)];
const TOKEN_TYPES: &[(&str, SqlType)] = &[("tokid", Int4), ("alias", Text), ("description", Text)];
const MEANINGS: &[(&str, SqlType)] = &[
    ("alias", Text),
    ("description", Text),
    ("token", Text),
    ("dictionaries", SqlType::RegDictionaryArray),
    ("dictionary", SqlType::RegDictionary),
    ("lexemes", TextArray),
];
const ONE_DOCUMENT: &[(&str, SqlType)] = &[("", Jsonb)];

static SETS: &[SetFunction] = &[
    set(
        new("unnest", &[SqlType::TsVector], RecordArray, search::unnest),
        &[
            ("lexeme", Text),
            ("positions", SqlType::Int2Array),
            ("weights", TextArray),
        ],
    ),
    set(
        new("ts_parse", &[Text, Text], RecordArray, search::parse),
        TOKENS,
    ),
    set(
        new(
            "ts_parse",
            &[SqlType::Oid, Text],
            RecordArray,
            search::parse_numbered,
        ),
        TOKENS,
    ),
    set(
        new("ts_token_type", &[Text], RecordArray, search::token_types),
        TOKEN_TYPES,
    ),
    set(
        new(
            "ts_token_type",
            &[SqlType::Oid],
            RecordArray,
            search::token_types,
        ),
        TOKEN_TYPES,
    ),
    set(
        new(
            "ts_debug",
            &[SqlType::RegConfig, Text],
            RecordArray,
            search::debug,
        ),
        MEANINGS,
    ),
    set(
        new("ts_debug", &[Text], RecordArray, search::default_debug),
        MEANINGS,
    ),
    set(
        new(
            "jsonb_path_query",
            jsonpath::TWO,
            JsonbArray,
            jsonpath::rows,
        ),
        ONE_DOCUMENT,
    ),
    set(
        new(
            "jsonb_path_query",
            jsonpath::THREE,
            JsonbArray,
            jsonpath::rows,
        ),
        ONE_DOCUMENT,
    ),
    set(
        new(
            "jsonb_path_query",
            jsonpath::FOUR,
            JsonbArray,
            jsonpath::rows,
        ),
        ONE_DOCUMENT,
    ),
    set(
        new(
            "jsonb_path_query_tz",
            jsonpath::TWO,
            JsonbArray,
            jsonpath::rows_tz,
        )
        .stable(),
        ONE_DOCUMENT,
    ),
    set(
        new(
            "jsonb_path_query_tz",
            jsonpath::THREE,
            JsonbArray,
            jsonpath::rows_tz,
        )
        .stable(),
        ONE_DOCUMENT,
    ),
    set(
        new(
            "jsonb_path_query_tz",
            jsonpath::FOUR,
            JsonbArray,
            jsonpath::rows_tz,
        )
        .stable(),
        ONE_DOCUMENT,
    ),
    set(
        new(
            "pg_get_keywords",
            &[],
            RecordArray,
            super::keywords::keywords,
        ),
        &[
            ("word", Text),
            ("catcode", InternalChar),
            ("barelabel", Bool),
            ("catdesc", Text),
            ("baredesc", Text),
        ],
    ),
    set(
        new("pg_options_to_table", &[TextArray], RecordArray, options),
        &[("option_name", Text), ("option_value", Text)],
    ),
    set(
        new("pg_listening_channels", &[], TextArray, listening_channels),
        ONE_TEXT,
    ),
    set(
        new(
            "quintet_contention_report",
            &[],
            TextArray,
            contention_report,
        ),
        ONE_TEXT,
    ),
    set(
        new(
            "pg_partition_ancestors",
            &[RegClass],
            RegClassArray,
            partition_ancestors,
        ),
        &[("relid", RegClass)],
    ),
    set(
        new(
            "pg_partition_tree",
            &[RegClass],
            RecordArray,
            partition_tree,
        ),
        TREE,
    ),
    set(
        new("aclexplode", &[TextArray], RecordArray, acl_items),
        &[
            ("grantor", Oid),
            ("grantee", Oid),
            ("privilege_type", Text),
            ("is_grantable", Bool),
        ],
    ),
    set(
        new("jsonb_array_elements", &[Jsonb], JsonbArray, array_elements),
        &[("value", Jsonb)],
    ),
    set(
        new(
            "jsonb_array_elements_text",
            &[Jsonb],
            TextArray,
            array_elements_text,
        ),
        &[("value", Text)],
    ),
    set(
        new("json_array_elements", &[Plain], JsonArray, plain_elements),
        &[("value", Plain)],
    ),
    set(
        new(
            "json_array_elements_text",
            &[Plain],
            TextArray,
            plain_elements_text,
        ),
        &[("value", Text)],
    ),
    set(new("jsonb_each", &[Jsonb], RecordArray, each), PAIRS),
    set(
        new("jsonb_each_text", &[Jsonb], RecordArray, each_text),
        TEXT_PAIRS,
    ),
    set(
        new("json_each", &[Plain], RecordArray, plain_each),
        PLAIN_PAIRS,
    ),
    set(
        new("json_each_text", &[Plain], RecordArray, plain_each_text),
        TEXT_PAIRS,
    ),
    set(
        new("jsonb_object_keys", &[Jsonb], TextArray, keys),
        ONE_TEXT,
    ),
    set(
        new("json_object_keys", &[Plain], TextArray, plain_keys),
        ONE_TEXT,
    ),
    set(
        new(
            "generate_subscripts",
            &[Unknown, Int4],
            Int4Array,
            subscripts,
        ),
        &[("", Int4)],
    ),
    set(
        new(
            "generate_subscripts",
            &[Unknown, Int4, Bool],
            Int4Array,
            subscripts,
        ),
        &[("", Int4)],
    ),
    set(
        new(
            "generate_subscripts",
            &[Int2Vector, Int4],
            Int4Array,
            subscripts_of_vector,
        ),
        &[("", Int4)],
    ),
    set(
        new(
            "generate_subscripts",
            &[Int2Vector, Int4, Bool],
            Int4Array,
            subscripts_of_vector,
        ),
        &[("", Int4)],
    ),
    set(
        new(
            "generate_subscripts",
            &[OidVector, Int4],
            Int4Array,
            subscripts_of_vector,
        ),
        &[("", Int4)],
    ),
    set(
        new(
            "generate_subscripts",
            &[OidVector, Int4, Bool],
            Int4Array,
            subscripts_of_vector,
        ),
        &[("", Int4)],
    ),
    set(
        new("generate_series", &[Int4, Int4], Int4Array, integers),
        &[("", Int4)],
    ),
    set(
        new("generate_series", &[Int4, Int4, Int4], Int4Array, integers),
        &[("", Int4)],
    ),
    set(
        new("generate_series", &[Int8, Int8], Int8Array, integers),
        &[("", Int8)],
    ),
    set(
        new("generate_series", &[Int8, Int8, Int8], Int8Array, integers),
        &[("", Int8)],
    ),
    set(
        new(
            "generate_series",
            &[Decimal, Decimal],
            NumericArray,
            decimals,
        ),
        &[("", Decimal)],
    ),
    set(
        new(
            "generate_series",
            &[Decimal, Decimal, Decimal],
            NumericArray,
            decimals,
        ),
        &[("", Decimal)],
    ),
    set(
        new(
            "generate_series",
            &[Timestamp, Timestamp, Span],
            TimestampArray,
            moments,
        ),
        &[("", Timestamp)],
    ),
    set(
        new(
            "generate_series",
            &[TimestampTz, TimestampTz, Span],
            TimestampTzArray,
            moments,
        ),
        &[("", TimestampTz)],
    ),
    set(
        new("string_to_table", &[Text, Text], TextArray, to_table).lenient(),
        ONE_TEXT,
    ),
    set(
        new("string_to_table", &[Text, Text, Text], TextArray, to_table).lenient(),
        ONE_TEXT,
    ),
    set(
        new(
            "regexp_split_to_table",
            &[Text, Text],
            TextArray,
            super::pattern::split,
        ),
        ONE_TEXT,
    ),
    set(
        new(
            "regexp_split_to_table",
            &[Text, Text, Text],
            TextArray,
            super::pattern::split,
        ),
        ONE_TEXT,
    ),
    set(
        new(
            "regexp_matches",
            &[Text, Text],
            RecordArray,
            super::pattern::all_matches,
        ),
        ONE_ARRAY,
    ),
    set(
        new(
            "regexp_matches",
            &[Text, Text, Text],
            RecordArray,
            super::pattern::all_matches,
        ),
        ONE_ARRAY,
    ),
];

/// A row of one field that is an array.
pub(super) fn row_of(values: Vec<Value>) -> Value {
    record(vec![array(Text, values)])
}

/// All of them, those of extensions included.
fn all_sets() -> impl Iterator<Item = &'static SetFunction> {
    let of_extensions = super::caseless::SETS.iter().chain(super::pairs::SETS);
    SETS.iter().chain(of_extensions)
}

/// True for the name of a function that gives a set.
pub fn is_set_name(name: &str) -> bool {
    name == "unnest" || all_sets().any(|set| set.function.name == name)
}

/// How many columns the rows of a set have; `None` if the name is no set's.
pub fn set_width(name: &str) -> Option<usize> {
    let set = all_sets().find(|set| set.function.name == name)?;
    Some(set.columns.len())
}

/// The set function that PostgreSQL would choose for these types; `None` if the name is none's.
///
/// # Errors
/// As [`super::resolve`].
pub fn resolve_set(name: &str, args: &[SqlType]) -> Option<SqlResult<ResolvedSet>> {
    if !all_sets().any(|set| set.function.name == name) {
        return None;
    }
    // Nothing else becomes a vector by itself.
    let is_vector = |ty: Option<&SqlType>| ty.is_some_and(|ty| ty.is_vector());
    let fits = |set: &&'static SetFunction| {
        set.function.name == name
            && set.function.signature().takes(args.len())
            && is_vector(set.function.args.first()) == is_vector(args.first())
    };
    let candidates: Vec<&'static SetFunction> = all_sets().filter(fits).collect();
    let signatures: Vec<Signature> = candidates
        .iter()
        .map(|set| set.function.signature())
        .collect();
    Some(match choose(&signatures, args, false) {
        Choice::One(number) => Ok(ResolvedSet {
            call: super::finish(&candidates[number].function, args),
            columns: candidates[number].columns,
        }),
        Choice::None => Err(does_not_exist(name, args)),
        Choice::Several => Err(is_not_unique(name, args)),
    })
}

/// The set function, or one of its tools, whose declared parameters are these.
pub(super) fn declared(name: &str, args: &[SqlType]) -> Option<&'static Function> {
    let tools = [
        &RECORD_FIELD,
        &WITH_ORDINALITY,
        &SIDE_BY_SIDE,
        &LIVE_ROWS,
        &SEQUENCE_ROW,
        &super::NESTED,
    ];
    let made = [
        &super::json_rows::POPULATE,
        &super::json_rows::POPULATE_ALL,
        &super::pairs::POPULATE,
    ];
    let of_json = super::json_rows::JSON_ROWS.iter().map(|(_, tool)| tool);
    let of_json = of_json.chain(made);
    let tools = tools.into_iter().chain(of_json);
    let sets = all_sets().map(|set| &set.function);
    sets.chain(tools)
        .find(|function| function.name == name && function.args == args)
}
