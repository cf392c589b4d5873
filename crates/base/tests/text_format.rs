//! Text of values: what PostgreSQL 15 prints, reads and refuses.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod values;

use proptest::prelude::*;
use quintet_base::datetime::TimeZone;
use quintet_base::text_format::{FormatContext, coerce_length, fits_length, read, to_string};
use quintet_base::{Numeric, SqlState, SqlType, TypeMod, Value};

fn context() -> FormatContext {
    FormatContext::default()
}

fn print(value: &Value) -> String {
    to_string(value, value.natural_type(), &context())
}

#[test]
fn floats_print_the_shortest_digits_that_read_back() {
    for (text, expected) in [
        ("1e14", "100000000000000"),
        ("1e15", "1e+15"),
        ("123456789012345.6", "123456789012345.6"),
        ("1234567890123456", "1.234567890123456e+15"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-05"),
        ("1e20", "1e+20"),
        ("1e100", "1e+100"),
        ("1.5e-7", "1.5e-07"),
        ("0.1", "0.1"),
        ("-0", "-0"),
        ("100000", "100000"),
        ("12345678", "12345678"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("5e-324", "5e-324"),
        ("1e-310", "1e-310"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("nan", "NaN"),
        ("-NaN", "NaN"),
        ("-inf", "-Infinity"),
        ("+infinity", "Infinity"),
        (" .5 ", "0.5"),
        ("5.", "5"),
        ("0e400", "0"),
    ] {
        let value = read(SqlType::Float8, text, &context()).unwrap();
        assert_eq!(print(&value), expected, "{text}");
    }
    for (text, expected) in [
        ("100000", "100000"),
        ("1e6", "1e+06"),
        ("1234567", "1.234567e+06"),
        ("16777216", "1.6777216e+07"),
        ("0.1", "0.1"),
        ("0.0001234", "0.0001234"),
        ("9.5e-5", "9.5e-05"),
        ("3.4e38", "3.4e+38"),
        ("1e-45", "1e-45"),
        ("-3681242.25", "-3.6812422e+06"),
        ("439344.125", "439344.12"),
    ] {
        let value = read(SqlType::Float4, text, &context()).unwrap();
        assert_eq!(print(&value), expected, "{text}");
    }
}

/// (extra_float_digits, value, printed)
#[test]
fn floats_print_fewer_digits_on_request() {
    for (extra_float_digits, value, expected) in [
        (0, Value::Float8(0.1 + 0.2), "0.3"),
        (0, Value::Float8(1e15), "1e+15"),
        (
            0,
            Value::Float8(123456789012345678.0),
            "1.23456789012346e+17",
        ),
        (0, Value::Float8(1e14), "100000000000000"),
        (0, Value::Float8(1.0 / 3.0), "0.333333333333333"),
        (0, Value::Float4(0.1), "0.1"),
        (0, Value::Float4(1e6), "1e+06"),
        (-5, Value::Float8(1.0 / 3.0), "0.3333333333"),
        (-5, Value::Float8(123456789012.0), "1.23456789e+11"),
        (-5, Value::Float4(12.0), "1e+01"),
        (-15, Value::Float8(0.25), "0.2"),
        (3, Value::Float8(0.1), "0.1"),
    ] {
        let context = FormatContext {
            extra_float_digits,
            ..context()
        };
        let printed = to_string(&value, value.natural_type(), &context);
        assert_eq!(printed, expected, "{value:?} at {extra_float_digits}");
    }
}

#[test]
fn values_print_as_postgresql_prints_them() {
    let berlin = FormatContext {
        zone: TimeZone::parse("Europe/Berlin").unwrap(),
        ..context()
    };
    for (ty, text, expected) in [
        (SqlType::Bool, " TRUE ", "t"),
        (SqlType::Bool, "of", "f"),
        (SqlType::Bool, "y", "t"),
        (SqlType::Bool, "0", "f"),
        (SqlType::Int2, " -32768 ", "-32768"),
        (SqlType::Int4, "+5", "5"),
        (
            SqlType::Int8,
            "-9223372036854775808",
            "-9223372036854775808",
        ),
        (SqlType::Int8, "-0", "0"),
        (SqlType::Oid, "-1", "4294967295"),
        (SqlType::Oid, " 4294967295", "4294967295"),
        (SqlType::Numeric, "1.10", "1.10"),
        (SqlType::Text, " a ", " a "),
        (SqlType::InternalChar, "abc", "a"),
        (SqlType::InternalChar, "", ""),
        (SqlType::Bytea, "\\xDEADbeef", "\\xdeadbeef"),
        (SqlType::Bytea, "\\x de ad", "\\xdead"),
        (SqlType::Bytea, "\\x", "\\x"),
        (SqlType::Bytea, "abc\\\\\\000\\377", "\\x6162635c00ff"),
        (SqlType::Bytea, "ä", "\\xc3a4"),
        (SqlType::Date, "20240131", "2024-01-31"),
        (
            SqlType::Timestamp,
            "2024-01-31T12:34:56.70",
            "2024-01-31 12:34:56.7",
        ),
        (
            SqlType::TimestampTz,
            "2024-07-31 12:00",
            "2024-07-31 12:00:00+02",
        ),
        (
            SqlType::Uuid,
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
        (
            SqlType::Uuid,
            "{a0eebc999c0b4ef8bb6d6bb9bd380a11}",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
        (
            SqlType::Uuid,
            "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
        (
            SqlType::Int4Array,
            " { 1 , 2 , NULL , null } ",
            "{1,2,NULL,NULL}",
        ),
        (SqlType::Int4Array, "{ }", "{}"),
        (SqlType::BoolArray, "{true,off}", "{t,f}"),
        (SqlType::NumericArray, "{1.10,2}", "{1.10,2}"),
        (
            SqlType::TimestampArray,
            "{2024-01-31}",
            "{\"2024-01-31 00:00:00\"}",
        ),
        (
            SqlType::TextArray,
            "{a, b c ,\"d e\", \"NULL\", \"\", \"a\\\"b\",a\\\\b, a\\,b,x'y,\\null}",
            "{a,\"b c\",\"d e\",\"NULL\",\"\",\"a\\\"b\",\"a\\\\b\",\"a,b\",x'y,\"null\"}",
        ),
        (SqlType::TextArray, "{a\\ , ä}", "{\"a \",ä}"),
    ] {
        let value = read(ty, text, &berlin).unwrap();
        assert_eq!(to_string(&value, ty, &berlin), expected, "{ty} {text:?}");
    }
    assert_eq!(to_string(&Value::Null, SqlType::Int4, &berlin), "");
}

/// (type, text, state, message)
#[test]
fn what_cannot_be_read_is_refused_with_postgresqls_words() {
    const SYNTAX: SqlState = SqlState::INVALID_TEXT_REPRESENTATION;
    const RANGE: SqlState = SqlState::NUMERIC_VALUE_OUT_OF_RANGE;
    const PARAMETER: SqlState = SqlState::INVALID_PARAMETER_VALUE;
    for (ty, text, state, message) in [
        (
            SqlType::Int2,
            "99999",
            RANGE,
            "value \"99999\" is out of range for type smallint",
        ),
        (
            SqlType::Int4,
            "99999999999",
            RANGE,
            "value \"99999999999\" is out of range for type integer",
        ),
        (
            SqlType::Int4,
            "-2147483649",
            RANGE,
            "value \"-2147483649\" is out of range for type integer",
        ),
        (
            SqlType::Int8,
            "99999999999999999999",
            RANGE,
            "value \"99999999999999999999\" is out of range for type bigint",
        ),
        (
            SqlType::Int8,
            "9999999999999999999999999999999999999999999",
            RANGE,
            "value \"9999999999999999999999999999999999999999999\" is out of range for type bigint",
        ),
        (
            SqlType::Int2,
            "x",
            SYNTAX,
            "invalid input syntax for type smallint: \"x\"",
        ),
        (
            SqlType::Int4,
            "",
            SYNTAX,
            "invalid input syntax for type integer: \"\"",
        ),
        (
            SqlType::Int4,
            "1.5",
            SYNTAX,
            "invalid input syntax for type integer: \"1.5\"",
        ),
        (
            SqlType::Int4,
            "- 1",
            SYNTAX,
            "invalid input syntax for type integer: \"- 1\"",
        ),
        (
            SqlType::Int4,
            "+-1",
            SYNTAX,
            "invalid input syntax for type integer: \"+-1\"",
        ),
        (
            SqlType::Oid,
            "4294967296",
            RANGE,
            "value \"4294967296\" is out of range for type oid",
        ),
        (
            SqlType::Oid,
            "-2147483649",
            RANGE,
            "value \"-2147483649\" is out of range for type oid",
        ),
        (
            SqlType::Oid,
            "12abc",
            SYNTAX,
            "invalid input syntax for type oid: \"12abc\"",
        ),
        (
            SqlType::Bool,
            "x",
            SYNTAX,
            "invalid input syntax for type boolean: \"x\"",
        ),
        (
            SqlType::Bool,
            "o",
            SYNTAX,
            "invalid input syntax for type boolean: \"o\"",
        ),
        (
            SqlType::Bool,
            "",
            SYNTAX,
            "invalid input syntax for type boolean: \"\"",
        ),
        (
            SqlType::Float8,
            "1e400",
            RANGE,
            "\"1e400\" is out of range for type double precision",
        ),
        (
            SqlType::Float8,
            "1e-400",
            RANGE,
            "\"1e-400\" is out of range for type double precision",
        ),
        (
            SqlType::Float4,
            "1e39",
            RANGE,
            "\"1e39\" is out of range for type real",
        ),
        (
            SqlType::Float4,
            "1e-50",
            RANGE,
            "\"1e-50\" is out of range for type real",
        ),
        (
            SqlType::Float8,
            "x",
            SYNTAX,
            "invalid input syntax for type double precision: \"x\"",
        ),
        (
            SqlType::Float8,
            "",
            SYNTAX,
            "invalid input syntax for type double precision: \"\"",
        ),
        (
            SqlType::Float4,
            "1,5",
            SYNTAX,
            "invalid input syntax for type real: \"1,5\"",
        ),
        (
            SqlType::Numeric,
            "x",
            SYNTAX,
            "invalid input syntax for type numeric: \"x\"",
        ),
        (
            SqlType::Bytea,
            "\\x1",
            PARAMETER,
            "invalid hexadecimal data: odd number of digits",
        ),
        (
            SqlType::Bytea,
            "\\xzz",
            PARAMETER,
            "invalid hexadecimal digit: \"z\"",
        ),
        (
            SqlType::Bytea,
            "\\999",
            SYNTAX,
            "invalid input syntax for type bytea",
        ),
        (
            SqlType::Bytea,
            "a\\",
            SYNTAX,
            "invalid input syntax for type bytea",
        ),
        (
            SqlType::Uuid,
            "a0",
            SYNTAX,
            "invalid input syntax for type uuid: \"a0\"",
        ),
        (
            SqlType::Uuid,
            "{a0eebc999c0b4ef8bb6d6bb9bd380a11",
            SYNTAX,
            "invalid input syntax for type uuid: \"{a0eebc999c0b4ef8bb6d6bb9bd380a11\"",
        ),
        (
            SqlType::Text,
            "a\0b",
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            "invalid byte sequence for encoding \"UTF8\": 0x00",
        ),
        (
            SqlType::Int4Array,
            "{1,x}",
            SYNTAX,
            "invalid input syntax for type integer: \"x\"",
        ),
        (
            SqlType::Int4Array,
            "{{{{{{{1}}}}}}}",
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            "number of array dimensions (7) exceeds the maximum allowed (6)",
        ),
        (
            SqlType::Int4Array,
            "[1:0]={1,2}",
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            "upper bound cannot be less than lower bound",
        ),
    ] {
        let error = read(ty, text, &context()).unwrap_err();
        assert_eq!((error.state, error.message.as_str()), (state, message));
    }
}

#[test]
fn malformed_arrays_are_refused_with_the_reason() {
    for (text, detail) in [
        (
            "",
            "Array value must start with \"{\" or dimension information.",
        ),
        (
            "1,2}",
            "Array value must start with \"{\" or dimension information.",
        ),
        ("{1,2", "Unexpected end of input."),
        ("{\"a}", "Unexpected end of input."),
        ("{\"a\"", "Unexpected end of input."),
        ("{a\\", "Unexpected end of input."),
        ("{1,,2}", "Unexpected \",\" character."),
        ("{,}", "Unexpected \",\" character."),
        ("{1,}", "Unexpected \"}\" character."),
        ("{1,2}x", "Junk after closing right brace."),
        ("{\"a\"b}", "Unexpected array element."),
        ("{a\"b\"}", "Unexpected array element."),
    ] {
        let error = read(SqlType::TextArray, text, &context()).unwrap_err();
        assert_eq!(
            error.message,
            format!("malformed array literal: \"{text}\"")
        );
        assert_eq!(error.detail.as_deref(), Some(detail), "{text}");
    }
}

#[test]
fn names_are_cut_to_their_63_bytes_between_characters() {
    let name = |text: &str| match read(SqlType::Name, text, &context()).unwrap() {
        Value::Text(text) => text.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(name(&"a".repeat(70)), 63);
    assert_eq!(name(&"ä".repeat(40)), 62);
    assert_eq!(name("short"), 5);
}

/// (type, modifier, value, by assignment, by explicit cast)
#[test]
fn lengths_are_enforced_by_assignment_and_cut_by_casts() {
    let n2 = TypeMod::length(2);
    let text = |ty, modifier, value: &str, explicit| {
        let value = coerce_length(Value::text(value), ty, modifier, explicit);
        value
            .map(|v| print(&v))
            .map_err(|e| (e.state, e.into_told().message))
    };
    let too_long = |ty: &str| {
        let message = format!("value too long for type {ty}");
        Err((SqlState::STRING_DATA_RIGHT_TRUNCATION, message))
    };
    for (ty, name, value, assigned, cast) in [
        (SqlType::Varchar, "character varying(2)", "abc", None, "ab"),
        (
            SqlType::Varchar,
            "character varying(2)",
            "ab  ",
            Some("ab"),
            "ab",
        ),
        (
            SqlType::Varchar,
            "character varying(2)",
            "a",
            Some("a"),
            "a",
        ),
        (SqlType::Varchar, "character varying(2)", "äöü", None, "äö"),
        (
            SqlType::Varchar,
            "character varying(2)",
            "äö",
            Some("äö"),
            "äö",
        ),
        (SqlType::Bpchar, "character(2)", "abc", None, "ab"),
        (SqlType::Bpchar, "character(2)", "ab   ", Some("ab"), "ab"),
        (SqlType::Bpchar, "character(2)", "ä", Some("ä "), "ä "),
        (SqlType::Bpchar, "character(2)", "", Some("  "), "  "),
        (SqlType::Text, "text", "abc", Some("abc"), "abc"),
    ] {
        let expected = match assigned {
            Some(fits) => Ok(fits.to_string()),
            None => too_long(name),
        };
        assert_eq!(text(ty, n2, value, false), expected, "{name} {value:?}");
        assert_eq!(text(ty, n2, value, true), Ok(cast.to_string()));
        assert_eq!(text(ty, TypeMod::NONE, value, false), Ok(value.to_string()));
    }
}

#[test]
fn modifiers_apply_to_numbers_times_and_array_elements() {
    let number = Value::numeric(Numeric::parse("1.005").unwrap());
    let modifier = TypeMod::precision_scale(4, 2);
    let held = coerce_length(number.clone(), SqlType::Numeric, modifier, false).unwrap();
    assert_eq!(print(&held), "1.01");
    let small = TypeMod::precision_scale(2, 2);
    let error = coerce_length(number, SqlType::Numeric, small, true).unwrap_err();
    assert_eq!(error.state, SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    let time = coerce_length(
        Value::Timestamp(500_000),
        SqlType::Timestamp,
        TypeMod(0),
        false,
    );
    assert_eq!(time.unwrap(), Value::Timestamp(1_000_000));
    let array = read(SqlType::VarcharArray, "{ab,NULL,c}", &context()).unwrap();
    let cut = coerce_length(
        array.clone(),
        SqlType::VarcharArray,
        TypeMod::length(1),
        true,
    );
    assert_eq!(print(&cut.unwrap()), "{a,NULL,c}");
    assert!(coerce_length(array, SqlType::VarcharArray, TypeMod::length(1), false).is_err());
    let null = coerce_length(Value::Null, SqlType::Bpchar, TypeMod::length(3), false);
    assert_eq!(null.unwrap(), Value::Null);
}

fn typed_value() -> impl Strategy<Value = (SqlType, Value)> {
    values::any_type().prop_flat_map(|ty| (Just(ty), values::value(ty)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_value_reads_back_from_its_text(
        (ty, value) in typed_value(),
        zone in prop::sample::select(vec!["UTC", "Asia/Kolkata", "-03"]),
    ) {
        let context = FormatContext { zone: TimeZone::parse(zone).unwrap(), ..context() };
        let text = to_string(&value, ty, &context);
        match read(ty, &text, &context) {
            Ok(back) => prop_assert!(values::same(&back, &value), "{}: {:?} came back as {:?}", text, value, back),
            // Within a day of the ends of time the local date may be beyond the range.
            Err(error) => prop_assert_eq!(error.state, SqlState::DATETIME_FIELD_OVERFLOW, "{}", text),
        }
    }

    #[test]
    fn any_text_is_a_value_or_refused(ty in values::any_type(), text in "\\PC{0,16}|[-{}\",\\\\0-9a-f x]{0,16}") {
        if let Ok(value) = read(ty, &text, &context()) {
            let again = to_string(&value, ty, &context());
            prop_assert!(values::same(&read(ty, &again, &context()).unwrap(), &value));
        }
    }

    #[test]
    fn fitted_text_fits(text in "[aä ]{0,8}", length in 1u32..6, explicit: bool, padded: bool) {
        let ty = if padded { SqlType::Bpchar } else { SqlType::Varchar };
        let fitted = coerce_length(Value::text(&text), ty, TypeMod::length(length), explicit);
        let kept: String = text.chars().take(length as usize).collect();
        let lost: String = text.chars().skip(length as usize).collect();
        match fitted {
            Ok(value) => {
                let fitted = value.as_str().unwrap();
                prop_assert_eq!(fitted.trim_end_matches(' '), kept.trim_end_matches(' '));
                prop_assert!(explicit || lost.trim_end_matches(' ').is_empty());
                let count = fitted.chars().count();
                prop_assert!(!padded || count == length as usize);
                prop_assert!(padded || fitted == kept);
            }
            Err(_) => prop_assert!(!explicit && !lost.trim_end_matches(' ').is_empty()),
        }
    }

    #[test]
    fn what_fits_stays_as_it_is(
        text in "[aä ]{0,8}",
        mantissa in -2_000_000_i64..2_000_000,
        scale in 0_u16..6,
        length in 1_u32..8,
        of_column in 0_u16..6,
    ) {
        let number = Numeric::from_parts(i128::from(mantissa), scale).unwrap();
        let precision = u16::try_from(length).unwrap().max(of_column).max(1);
        for (value, ty, modifier) in [
            (Value::text(&text), SqlType::Bpchar, TypeMod::length(length)),
            (Value::text(&text), SqlType::Varchar, TypeMod::length(length)),
            (
                Value::numeric(number),
                SqlType::Numeric,
                TypeMod::precision_scale(precision, of_column as i16),
            ),
        ] {
            if fits_length(&value, ty, modifier) {
                let fitted = coerce_length(value.clone(), ty, modifier, false).unwrap();
                // Also the scale, which equality does not see.
                prop_assert_eq!(print(&fitted), print(&value));
            } else if text.is_ascii() && text.len() == length as usize && ty != SqlType::Numeric {
                prop_assert!(false, "{:?} fits", value);
            }
        }
    }
}
