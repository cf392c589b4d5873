//! Binary values: PostgreSQL's bytes, and refusal of everything else.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod values;

use proptest::prelude::*;
use quintet_base::binary_format::{read, utf8, write, write_typed};
use quintet_base::text_format::FormatContext;
use quintet_base::{Array, Numeric, SqlState, SqlType, Value};

fn bytes(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| *b != b' ').collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// (value, the bytes of PostgreSQL's numeric_send)
#[rustfmt::skip]
const NUMERICS: &[(&str, &str)] = &[
    ("0", "0000 0000 0000 0000"),
    ("0.00", "0000 0000 0000 0002"),
    ("1", "0001 0000 0000 0000 0001"),
    ("1.10", "0002 0000 0000 0002 0001 03e8"),
    ("-1.5", "0002 0000 4000 0001 0001 1388"),
    ("10000", "0001 0001 0000 0000 0001"),
    ("9999.9999", "0002 0000 0000 0004 270f 270f"),
    ("123456789.123456789", "0006 0002 0000 0009 0001 0929 1a85 04d2 162e 2328"),
    ("0.00001", "0001 fffe 0000 0005 03e8"),
    ("1e20", "0001 0005 0000 0000 0001"),
    ("-1e-10", "0001 fffd 4000 000a 0064"),
    ("100000000.0", "0001 0002 0000 0001 0001"),
    ("0.1000", "0001 ffff 0000 0004 03e8"),
    ("12345678901234567890123456789012345678901234567890.5", "000e 000c 0000 0001 000c 0d80 1ed2 04d2 162e 2334 0d80 1ed2 04d2 162e 2334 0d80 1ed2 1388"),
    ("NaN", "0000 0000 c000 0000"),
    ("Infinity", "0000 0000 d000 0020"),
    ("-Infinity", "0000 0000 f000 0020"),
];

#[test]
fn numerics_have_postgresqls_bytes() {
    for (text, expected) in NUMERICS {
        let value = Value::numeric(Numeric::parse(text).unwrap());
        assert_eq!(bytes(&value), hex(expected), "{text}");
        let back = read(SqlType::Numeric, &hex(expected)).unwrap();
        assert!(values::same(&back, &value), "{text}");
    }
}

/// (value, the bytes of PostgreSQL's array_send)
#[test]
fn arrays_have_postgresqls_bytes() {
    for (element, items, expected) in [
        (
            SqlType::Int4,
            vec![Value::Int4(1), Value::Null, Value::Int4(-1)],
            "00000001 00000001 00000017 00000003 00000001 00000004 00000001 ffffffff 00000004 ffffffff",
        ),
        (
            SqlType::Text,
            vec![Value::text("ab"), Value::text("")],
            "00000001 00000000 00000019 00000002 00000001 00000002 61620000 0000",
        ),
        (SqlType::Bool, vec![], "00000000 00000000 00000010"),
        (
            SqlType::Int8,
            vec![Value::Int8(7)],
            "00000001 00000000 00000014 00000001 00000001 00000008 00000000 00000007",
        ),
    ] {
        let array = Value::Array(Box::new(Array {
            shape: None,
            element,
            values: items,
        }));
        assert_eq!(bytes(&array), hex(expected));
        assert_eq!(
            read(element.array_of().unwrap(), &hex(expected)).unwrap(),
            array
        );
    }
}

#[test]
fn scalars_have_postgresqls_bytes() {
    for (value, expected) in [
        (Value::Bool(true), "01"),
        (Value::Int2(-2), "fffe"),
        (Value::Int4(258), "00000102"),
        (Value::Int8(-1), "ffffffffffffffff"),
        (Value::Oid(u32::MAX), "ffffffff"),
        (Value::Float4(1.5), "3fc00000"),
        (Value::Float8(-2.0), "c000000000000000"),
        (Value::Date(8796), "0000225c"),
        (Value::Timestamp(i64::MAX), "7fffffffffffffff"),
        (Value::text("ä"), "c3a4"),
        (Value::Bytea(vec![0, 255].into()), "00ff"),
        (Value::Uuid([7; 16]), "07070707070707070707070707070707"),
    ] {
        assert_eq!(bytes(&value), hex(expected), "{value:?}");
        assert_eq!(read(value.natural_type(), &hex(expected)).unwrap(), value);
    }
    assert!(bytes(&Value::Null).is_empty());
}

#[test]
fn digits_beyond_the_scale_sent_are_dropped() {
    // 1.2345 said to have scale 2.
    let value = read(SqlType::Numeric, &hex("0002 0000 0000 0002 0001 0929")).unwrap();
    assert!(values::same(
        &value,
        &Value::numeric(Numeric::parse("1.23").unwrap())
    ));
    // 0.00001 said to have scale 2.
    let value = read(SqlType::Numeric, &hex("0001 fffe 0000 0002 03e8")).unwrap();
    assert!(values::same(
        &value,
        &Value::numeric(Numeric::parse("0.00").unwrap())
    ));
    // Leading zero digits change nothing.
    let value = read(SqlType::Numeric, &hex("0002 0001 4000 0000 0000 0007")).unwrap();
    assert!(values::same(&value, &Value::numeric(Numeric::from_i64(-7))));
}

/// (type, bytes, state)
#[test]
fn garbage_is_refused() {
    const FORMAT: SqlState = SqlState::INVALID_BINARY_REPRESENTATION;
    for (ty, garbage, state) in [
        (SqlType::Bool, "", FORMAT),
        (SqlType::Int4, "0001", FORMAT),
        (SqlType::Int4, "0000000001", FORMAT),
        (SqlType::Uuid, "00", FORMAT),
        (SqlType::InternalChar, "6162", FORMAT),
        (SqlType::Date, "7ffffffe", SqlState::DATETIME_FIELD_OVERFLOW),
        (
            SqlType::Timestamp,
            "7ffffffffffffffe",
            SqlState::DATETIME_FIELD_OVERFLOW,
        ),
        (
            SqlType::TimestampTz,
            "8000000000000001",
            SqlState::DATETIME_FIELD_OVERFLOW,
        ),
        (SqlType::Text, "61ff", SqlState::CHARACTER_NOT_IN_REPERTOIRE),
        (
            SqlType::Bpchar,
            "6100",
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
        ),
        (SqlType::Numeric, "0001 0000 0000 0000", FORMAT),
        (SqlType::Numeric, "0001 0000 0000 0000 2710", FORMAT),
        (SqlType::Numeric, "0001 0000 1234 0000 0001", FORMAT),
        (SqlType::Numeric, "0001 0000 0000 4000 0001", FORMAT),
        (SqlType::Numeric, "0000 0000 0000 0000 00", FORMAT),
        // Seven dimensions.
        (
            SqlType::Int4Array,
            "00000007 00000000 00000017",
            SqlState::PROGRAM_LIMIT_EXCEEDED,
        ),
        // Two that are not there.
        (SqlType::Int4Array, "00000002 00000000 00000017", FORMAT),
        // Elements of int8.
        (
            SqlType::Int4Array,
            "00000000 00000000 00000014",
            SqlState::DATATYPE_MISMATCH,
        ),
        // A count that the message cannot hold.
        (
            SqlType::Int4Array,
            "00000001 00000000 00000017 07ffffff 00000001",
            FORMAT,
        ),
        (
            SqlType::Int4Array,
            "00000001 00000000 00000017 ffffffff 00000001",
            SqlState::PROGRAM_LIMIT_EXCEEDED,
        ),
        // An element of length -2.
        (
            SqlType::Int4Array,
            "00000001 00000000 00000017 00000001 00000001 fffffffe",
            FORMAT,
        ),
        (SqlType::Int4Array, "00000000 00000000 00000017 00", FORMAT),
        (SqlType::Void, "", SqlState::FEATURE_NOT_SUPPORTED),
    ] {
        let error = read(ty, &hex(garbage)).unwrap_err();
        assert_eq!(error.state, state, "{ty} {garbage}: {error}");
    }
}

#[test]
fn bad_utf8_is_refused_by_its_first_bad_bytes() {
    let message = |bytes: &[u8]| utf8(bytes).unwrap_err().into_told().message;
    let prefix = "invalid byte sequence for encoding \"UTF8\": ";
    assert_eq!(message(b"a\xff"), format!("{prefix}0xff"));
    assert_eq!(message(b"a\xe2\x82"), format!("{prefix}0xe2 0x82"));
    assert_eq!(message(b"a\0"), format!("{prefix}0x00"));
    assert_eq!(utf8("ä".as_bytes()).unwrap(), "ä");
}

/// As clients are sent it: some types say more than their values.
fn sent(value: &Value, ty: SqlType) -> Vec<u8> {
    let mut out = Vec::new();
    match ty {
        SqlType::TsVector | SqlType::TsQuery | SqlType::Hstore => {
            write_typed(value, ty, &FormatContext::default(), &mut out);
        }
        _ => write(value, &mut out),
    }
    out
}

fn typed_value() -> impl Strategy<Value = (SqlType, Value)> {
    values::any_type().prop_flat_map(|ty| (Just(ty), values::value(ty)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_value_reads_back_from_its_bytes((ty, value) in typed_value()) {
        let back = read(ty, &sent(&value, ty)).unwrap();
        prop_assert!(values::same(&back, &value), "{:?} came back as {:?}", value, back);
    }

    #[test]
    fn random_bytes_are_a_value_or_refused(
        ty in values::any_type(),
        random in prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..40),
    ) {
        if let Ok(value) = read(ty, &random) {
            prop_assert!(values::same(&read(ty, &sent(&value, ty)).unwrap(), &value));
        }
    }

    /// One byte of a good value changed: nearer to the truth than random bytes.
    #[test]
    fn damaged_values_are_a_value_or_refused(
        (ty, value) in typed_value(),
        at: prop::sample::Index,
        byte: u8,
        cut: prop::sample::Index,
    ) {
        let mut damaged = sent(&value, ty);
        if !damaged.is_empty() {
            let i = at.index(damaged.len());
            damaged[i] = byte;
            if let Ok(value) = read(ty, &damaged) {
                prop_assert!(values::same(&read(ty, &sent(&value, ty)).unwrap(), &value));
            }
            damaged.truncate(cut.index(damaged.len()));
            let _ = read(ty, &damaged);
        }
    }
}

#[test]
fn what_only_the_type_tells_is_written() {
    let context = FormatContext::default();
    let written = |value: &Value, ty| {
        let mut out = Vec::new();
        write_typed(value, ty, &context, &mut out);
        out
    };
    assert_eq!(written(&Value::text(""), SqlType::InternalChar), [0]);
    assert_eq!(written(&Value::text("p"), SqlType::InternalChar), b"p");
    let values = vec![Value::Int2(7)];
    let element = SqlType::Int2;
    let vector = Value::Array(Box::new(Array {
        shape: None,
        element,
        values,
    }));
    let bytes = written(&vector, SqlType::Int2Vector);
    assert_eq!(bytes[16..20], [0; 4]);
    assert_eq!(read(SqlType::Int2Vector, &bytes).unwrap(), vector);
}
