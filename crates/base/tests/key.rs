//! Keys: the order of bytes is the order of values.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

mod values;

use proptest::prelude::*;
use quintet_base::key::{decode, encode, encode_all, successor};
use quintet_base::text_format::{self, FormatContext};
use quintet_base::{Numeric, RangeKind, SqlState, SqlType, Value};
use std::cmp::Ordering;

fn encoded(value: &Value) -> Vec<u8> {
    encode_all([value])
}

/// The form of stored keys may never change: these bytes are on disks.
#[test]
fn encoding_is_what_it_always_was() {
    let numeric = |text: &str| Value::numeric(Numeric::parse(text).unwrap());
    let read = |ty, text| text_format::read(ty, text, &FormatContext::default()).unwrap();
    let range = |text| read(SqlType::Range(RangeKind::Int4), text);
    let ranges = |text| read(SqlType::Multirange(RangeKind::Int4), text);
    for (value, bytes) in [
        (Value::Null, &[2][..]),
        (Value::Bool(true), &[1, 1]),
        (Value::Int2(-1), &[1, 0x7F, 0xFF]),
        (Value::Int4(1), &[1, 0x80, 0, 0, 1]),
        (Value::Int8(i64::MIN), &[1, 0, 0, 0, 0, 0, 0, 0, 0]),
        (Value::Date(0), &[1, 0x80, 0, 0, 0]),
        (Value::Oid(258), &[1, 0, 0, 1, 2]),
        (Value::Float4(-0.0), &[1, 0x80, 0, 0, 0]),
        (Value::Float8(1.0), &[1, 0xBF, 0xF0, 0, 0, 0, 0, 0, 0]),
        (
            Value::Float8(f64::NAN),
            &[1, 255, 255, 255, 255, 255, 255, 255, 255],
        ),
        (Value::text("a"), &[1, b'a', 0, 0]),
        (Value::Bytea(vec![0, 1].into()), &[1, 0, 0xFF, 1, 0, 0]),
        (numeric("0.00"), &[1, 0x30]),
        (numeric("12.30"), &[1, 0x40, 0x80, 0, 2, 13, 31, 0]),
        (
            numeric("-12.3"),
            &[1, 0x20, 0x7F, 0xFF, 0xFD, 0xF2, 0xE0, 0xFF],
        ),
        (numeric("100"), &[1, 0x40, 0x80, 0, 3, 11, 0]),
        (numeric("0.001"), &[1, 0x40, 0x7F, 0xFF, 0xFE, 11, 0]),
        (numeric("NaN"), &[1, 0x60]),
        (range("empty"), &[1, 0]),
        (
            range("[1,2)"),
            &[1, 1, 1, 0x80, 0, 0, 1, 1, 1, 0x80, 0, 0, 2, 1],
        ),
        (range("(,)"), &[1, 1, 0, 0xFF]),
        (ranges("{}"), &[1, 0]),
        (ranges("{(,)}"), &[1, 1, 0, 0xFF, 0]),
    ] {
        assert_eq!(encoded(&value), bytes, "{value:?}");
    }
}

#[test]
fn numerics_of_equal_value_have_one_key() {
    let key = |text: &str| encoded(&Value::numeric(Numeric::parse(text).unwrap()));
    assert_eq!(key("1.10"), key("1.1000"));
    assert_eq!(key("-0.00"), key("0"));
    assert_eq!(key("1e30"), key("1000000000000000000000000000000.0"));
    let back = decode(SqlType::Numeric, &mut key("100.50").as_slice()).unwrap();
    assert_eq!(back, Value::numeric(Numeric::parse("100.5").unwrap()));
    let Value::Numeric(back) = back else { panic!() };
    assert_eq!(back.to_string(), "100.5");
}

#[test]
fn successor_is_above_the_prefix_and_all_that_begin_with_it() {
    assert_eq!(successor(b"ab"), Some(b"ac".to_vec()));
    assert_eq!(successor(&[1, 0xFF, 0xFF]), Some(vec![2]));
    assert_eq!(successor(&[0xFF, 0xFF]), None);
    assert_eq!(successor(&[]), None);
}

#[test]
fn extreme_numerics_come_back() {
    for text in ["9e131071", "-1e131071", "1e-16383", "-9e-16383"] {
        let value = Value::numeric(Numeric::parse(text).unwrap());
        let key = encoded(&value);
        assert!(key.len() < 16, "trailing zeros take no space");
        assert_eq!(
            decode(SqlType::Numeric, &mut key.as_slice()).unwrap(),
            value
        );
    }
}

/// Two values of one type that are often close to each other.
fn pair() -> impl Strategy<Value = (SqlType, Value, Value)> {
    values::any_type().prop_flat_map(|ty| {
        (
            Just(ty),
            values::value_or_null(ty),
            values::value_or_null(ty),
        )
    })
}

/// Numbers whose digits, scales and signs overlap.
fn close_numerics() -> impl Strategy<Value = (Value, Value)> {
    let one = || {
        (-2000i64..2000, 0u16..6, 0u32..4).prop_map(|(mantissa, scale, shift)| {
            let mantissa = i128::from(mantissa) * 10i128.pow(shift);
            Value::numeric(Numeric::from_parts(mantissa, scale).unwrap())
        })
    };
    (one(), one())
}

fn columns() -> impl Strategy<Value = (Vec<Value>, Vec<Value>)> {
    prop::collection::vec(values::any_type(), 1..4).prop_flat_map(|types| {
        let row = |types: &[SqlType]| {
            types
                .iter()
                .map(|ty| values::value_or_null(*ty))
                .collect::<Vec<_>>()
        };
        // The second row repeats a prefix of the first, so that later columns decide too.
        let (a, b) = (row(&types), row(&types));
        (a, b, 0..types.len()).prop_map(|(a, b, shared)| {
            let b = a[..shared].iter().chain(&b[shared..]).cloned().collect();
            (a, b)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn order_of_keys_is_order_of_values((ty, a, b) in pair()) {
        prop_assert_eq!(encoded(&a).cmp(&encoded(&b)), a.order(&b), "{}: {:?} and {:?}", ty, a, b);
    }

    #[test]
    fn order_of_keys_is_order_of_numerics((a, b) in close_numerics()) {
        prop_assert_eq!(encoded(&a).cmp(&encoded(&b)), a.order(&b), "{:?} and {:?}", a, b);
    }

    #[test]
    fn order_of_concatenated_keys_is_order_column_by_column((a, b) in columns()) {
        let expected = a
            .iter()
            .zip(&b)
            .map(|(x, y)| x.order(y))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal);
        prop_assert_eq!(encode_all(&a).cmp(&encode_all(&b)), expected);
    }

    #[test]
    fn keys_decode_to_equal_values_and_leave_the_rest((ty, a, b) in pair()) {
        let mut bytes = Vec::new();
        encode(&a, &mut bytes);
        encode(&b, &mut bytes);
        let mut rest = bytes.as_slice();
        prop_assert!(decode(ty, &mut rest).unwrap().order(&a).is_eq());
        prop_assert_eq!(rest.to_vec(), encoded(&b));
        prop_assert!(decode(ty, &mut rest).unwrap().order(&b).is_eq());
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn random_bytes_are_a_key_or_refused(
        ty in values::any_type(),
        head in prop::sample::select(vec![vec![], vec![1], vec![1, 0x20], vec![1, 0x40], vec![1, 1]]),
        tail in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..24),
    ) {
        let bytes = [head, tail].concat();
        let mut rest = bytes.as_slice();
        match decode(ty, &mut rest) {
            Err(error) => prop_assert_eq!(error.state, SqlState::DATA_CORRUPTED),
            // Bytes that decode are canonical, but for the many NaNs and the zeros with a sign, and for a citext,
            // which is not asked for letters that are not small: which have a small form grows with Unicode.
            Ok(value) => {
                let canonical = encoded(&value);
                match ty.element().unwrap_or(ty) {
                    SqlType::Float4 | SqlType::Float8 | SqlType::Citext => {
                        let again = decode(ty, &mut canonical.as_slice()).unwrap();
                        prop_assert_eq!(again.order(&value), Ordering::Equal);
                    }
                    _ => prop_assert_eq!(canonical, bytes[..bytes.len() - rest.len()].to_vec()),
                }
            }
        }
    }

    #[test]
    fn every_string_with_the_prefix_is_below_its_successor(
        prefix in prop::collection::vec(prop_oneof![Just(255u8), any::<u8>()], 1..5),
        more in prop::collection::vec(prop_oneof![Just(255u8), any::<u8>()], 0..5),
    ) {
        let longer = [prefix.clone(), more].concat();
        if let Some(next) = successor(&prefix) {
            prop_assert!(longer < next);
            prop_assert!(next.len() <= prefix.len());
        } else {
            prop_assert!(prefix.iter().all(|b| *b == 255));
        }
    }
}
