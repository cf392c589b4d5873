//! Functions of any number of arguments, called with an array of them: `format(text, VARIADIC array)`.
//!
//! Relies on: what the functions do with arguments one by one.  Promises: the same of the array's elements; NULL where
//! the array is NULL.  Does not: know functions of users.

use super::json::{self, make};
use super::{Body, Function, builtin as new, format, math, range, text};
use crate::eval::Host;
use quintet_base::SqlType::{self, Int4, Json, Jsonb, Text, TextArray, Unknown};
use quintet_base::{SqlResult, Value};

/// A function that takes VARIADIC "any" or text.
#[derive(Debug)]
pub struct Called {
    /// How many arguments stand before the array.
    pub before: usize,
    /// The function that takes the array.
    pub function: &'static str,
    /// The elements are texts, not of any type.
    pub of_text: bool,
}

/// What calls a function with an array; `None` if it does not take one.
pub fn other_call(name: &str) -> Option<Called> {
    let own = |before, function| Called {
        before,
        function,
        of_text: false,
    };
    let path = |function| Called {
        of_text: true,
        ..own(1, function)
    };
    Some(match name {
        "concat" => own(0, "concat()"),
        "concat_ws" => own(1, "concat_ws()"),
        "format" => own(1, "format()"),
        "num_nulls" => own(0, "num_nulls()"),
        "num_nonnulls" => own(0, "num_nonnulls()"),
        "json_build_array" => own(0, "json_build_array()"),
        "json_build_object" => own(0, "json_build_object()"),
        "jsonb_build_array" => own(0, "jsonb_build_array()"),
        "jsonb_build_object" => own(0, "jsonb_build_object()"),
        "json_extract_path" => path("json_extract_path()"),
        "jsonb_extract_path" => path("jsonb_extract_path()"),
        "json_extract_path_text" => path("json_extract_path_text()"),
        "jsonb_extract_path_text" => path("jsonb_extract_path_text()"),
        name => own(0, range::of_array(name)?),
    })
}

/// Calls a function with the elements of the last argument.
fn spread(args: &[&Value], host: &dyn Host, body: Body) -> SqlResult<Value> {
    let Some((Value::Array(array), before)) = args.split_last() else {
        return Ok(Value::Null);
    };
    let marked: Vec<Value>;
    let elements = match array.element {
        // A json among values of any type would be a string.
        SqlType::Json => {
            marked = array.values.iter().map(make::marked_json).collect();
            &marked
        }
        _ => &array.values,
    };
    let all: Vec<&Value> = before.iter().copied().chain(elements).collect();
    body(&all, host)
}

/// What is called with an empty array where there is none.
fn spread_or_nothing(args: &[&Value], host: &dyn Host, body: Body) -> SqlResult<Value> {
    match args.split_last() {
        Some((Value::Null, before)) => body(before, host),
        _ => spread(args, host, body),
    }
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("concat()", &[Unknown], Text, |args, host| {
        spread(args, host, text::concat)
    })
    .stable(),
    new("concat_ws()", &[Text, Unknown], Text, |args, host| {
        spread(args, host, text::concat_with_separator)
    })
    .stable(),
    new("format()", &[Text, Unknown], Text, |args, host| {
        spread_or_nothing(args, host, format::format)
    })
    .lenient()
    .stable(),
    new("num_nulls()", &[Unknown], Int4, |args, host| {
        spread(args, host, math::count_nulls)
    }),
    new("num_nonnulls()", &[Unknown], Int4, |args, host| {
        spread(args, host, math::count_values)
    }),
    new("json_build_array()", &[Unknown], Json, |args, host| {
        spread(args, host, make::build_plain_array)
    })
    .stable(),
    new("json_build_object()", &[Unknown], Json, |args, host| {
        spread(args, host, make::build_plain_object)
    })
    .stable(),
    new("jsonb_build_array()", &[Unknown], Jsonb, |args, host| {
        spread(args, host, make::build_array)
    })
    .stable(),
    new("jsonb_build_object()", &[Unknown], Jsonb, |args, host| {
        spread(args, host, make::build_object)
    })
    .stable(),
    new(
        "jsonb_extract_path()",
        &[Jsonb, TextArray],
        Jsonb,
        json::at_path,
    ),
    new(
        "json_extract_path()",
        &[Json, TextArray],
        Json,
        json::plain_at_path,
    ),
    new(
        "jsonb_extract_path_text()",
        &[Jsonb, TextArray],
        Text,
        json::at_path_text,
    ),
    new(
        "json_extract_path_text()",
        &[Json, TextArray],
        Text,
        json::plain_at_path_text,
    ),
];
