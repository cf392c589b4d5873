//! All functions at once: whatever arguments of its types a function gets, it gives a value of its
//! result type or an error, and never panics.

use super::{BY_NAME, Function, array, range};
use crate::eval::eval;
use crate::expr::Expr;
use crate::fold::DetachedHost;
use proptest::prelude::*;
use quintet_base::lexemes::textsearch::{Vector, make};
use quintet_base::lexemes::{query_value, vector_value};
use quintet_base::network::Family;
use quintet_base::range::Bound;
use quintet_base::value::Array;
use quintet_base::{Bits, Figure, Inet, Multirange, Numeric, Range, RangeKind, SqlType, Value};

fn any_text() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-c%_\\\\ .*()é1-9]{0,8}".prop_map(Value::text),
        prop::sample::select(vec![
            "", "hex", "base64", "escape", "year", "epoch", "UTC", "g", "week"
        ])
        .prop_map(Value::text),
    ]
}

fn edges(values: &'static [i64]) -> impl Strategy<Value = i64> {
    prop_oneof![-5..10i64, prop::sample::select(values)]
}

/// Values of a type, the extreme ones often.
fn any_value(ty: SqlType) -> BoxedStrategy<Value> {
    const INT2: &[i64] = &[i16::MIN as i64, i16::MAX as i64];
    const INT4: &[i64] = &[i32::MIN as i64, i32::MAX as i64];
    const INT8: &[i64] = &[i64::MIN, i64::MAX];
    const FLOATS: &[f64] = &[
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        1e300,
        -1e-300,
        0.5,
    ];
    const NUMERICS: &[&str] = &[
        "NaN",
        "Infinity",
        "-Infinity",
        "0",
        "1e50",
        "-0.005",
        "12.50",
    ];
    // Days and microseconds of the calendar's ends, and the infinities beyond them.
    const DATES: &[i64] = &[i32::MIN as i64, -2_451_545, 2_145_031_948, i32::MAX as i64];
    const MOMENTS: &[i64] = &[
        i64::MIN,
        -211_813_488_000_000_000,
        9_223_371_331_199_999_999,
        i64::MAX,
    ];
    match ty {
        SqlType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        SqlType::Int2 => edges(INT2).prop_map(|v| Value::Int2(v as i16)).boxed(),
        SqlType::Int4 => edges(INT4).prop_map(|v| Value::Int4(v as i32)).boxed(),
        SqlType::Int8 => edges(INT8).prop_map(Value::Int8).boxed(),
        ty if ty.family() == quintet_base::types::TypeFamily::Geometry => {
            let count = match ty {
                SqlType::Point => 2,
                SqlType::Line | SqlType::Circle => 3,
                SqlType::Lseg | SqlType::Box => 4,
                _ => 6,
            };
            (
                prop::collection::vec(prop::sample::select(FLOATS), count),
                any::<bool>(),
            )
                .prop_map(move |(numbers, closed)| {
                    Value::figure(Figure::from_numbers(ty, closed, &numbers).unwrap())
                })
                .boxed()
        }
        SqlType::Money => edges(INT8).prop_map(Value::Money).boxed(),
        SqlType::Oid => edges(INT4).prop_map(|v| Value::Oid(v as u32)).boxed(),
        SqlType::Float4 => prop::sample::select(FLOATS)
            .prop_map(|v| Value::Float4(v as f32))
            .boxed(),
        SqlType::Float8 => prop::sample::select(FLOATS).prop_map(Value::Float8).boxed(),
        SqlType::Numeric => prop::sample::select(NUMERICS)
            .prop_map(|text| Value::numeric(Numeric::parse(text).unwrap()))
            .boxed(),
        SqlType::Bytea => prop::collection::vec(any::<u8>(), 0..5)
            .prop_map(|bytes| Value::Bytea(bytes.into()))
            .boxed(),
        SqlType::Date => edges(DATES).prop_map(|v| Value::Date(v as i32)).boxed(),
        SqlType::Timestamp => edges(MOMENTS).prop_map(Value::Timestamp).boxed(),
        SqlType::TimestampTz => edges(MOMENTS).prop_map(Value::TimestampTz).boxed(),
        SqlType::Uuid => any::<[u8; 16]>().prop_map(Value::Uuid).boxed(),
        SqlType::Bit | SqlType::VarBit => prop::collection::vec(any::<u8>(), 0..3)
            .prop_map(|bytes| {
                let count =
                    (8 * bytes.len()).saturating_sub(bytes.first().map_or(0, |b| b % 8).into());
                Value::Bits(Bits::new(count, &bytes).unwrap())
            })
            .boxed(),
        SqlType::RegConfig | SqlType::RegDictionary => {
            let numbers = vec![3748, 3765, 13163, 13164, 1];
            prop::sample::select(numbers).prop_map(Value::Oid).boxed()
        }
        SqlType::TsVector => {
            let texts = ["", "a", "a:1,2B b:16383", "'it''s' é:3A", "ab:1 ac:2"];
            let read = |text| vector_value(&Vector::parse(text).unwrap());
            prop::sample::select(texts.to_vec()).prop_map(read).boxed()
        }
        SqlType::TsQuery => {
            let texts = ["", "a", "a:*B & !b", "a <-> b | c", "!(a | b) <7> c"];
            let read = |text| query_value(&make::plain_query(text).unwrap().query);
            prop::sample::select(texts.to_vec()).prop_map(read).boxed()
        }
        SqlType::Citext => prop::sample::select(vec!["", "a", "A", "aBc", "é", "É"])
            .prop_map(|text| Value::Citext(text.into()))
            .boxed(),
        SqlType::Hstore => {
            let texts = ["", "a=>1", "a=>NULL", "ab=>1, b=>2", "a=>true, b=>1e3"];
            let read = |text| quintet_base::pairs::Pairs::parse(text).unwrap().to_value();
            prop::sample::select(texts.to_vec()).prop_map(read).boxed()
        }
        SqlType::Xid => any::<u32>().prop_map(Value::Oid).boxed(),
        SqlType::Tid => any::<i64>().prop_map(Value::Int8).boxed(),
        SqlType::MacAddr => any::<[u8; 6]>().prop_map(Value::MacAddr).boxed(),
        SqlType::Inet | SqlType::Cidr => (any::<bool>(), any::<[u8; 16]>(), 0u8..=128)
            .prop_map(move |(long, bytes, bits)| {
                let inet = match long {
                    true => Inet::new(Family::V6, &bytes, bits),
                    false => Inet::new(Family::V4, &bytes[..4], bits % 33),
                };
                let inet = inet.unwrap();
                Value::Inet(match ty {
                    SqlType::Cidr => inet.network(),
                    _ => inet,
                })
            })
            .boxed(),
        SqlType::Range(kind) => any_range(kind).prop_map(Value::range).boxed(),
        SqlType::Multirange(kind) => prop::collection::vec(any_range(kind), 0..4)
            .prop_map(move |ranges| Value::multirange(Multirange::new(kind, ranges)))
            .boxed(),
        SqlType::Interval => (edges(INT4), edges(INT4), edges(INT8))
            .prop_map(|(months, days, micros)| {
                Value::Interval(quintet_base::Interval {
                    months: months as i32,
                    days: days as i32,
                    micros,
                })
            })
            .boxed(),
        SqlType::Time => (0i64..=86_400_000_000).prop_map(Value::Time).boxed(),
        SqlType::TimeTz => (0i64..=86_400_000_000, -57_599i32..57_600)
            .prop_map(|(micros, offset)| {
                Value::TimeTz(quintet_base::datetime::TimeTz { micros, offset })
            })
            .boxed(),
        SqlType::Json => prop::sample::select(DOCUMENTS)
            .prop_map(Value::text)
            .boxed(),
        SqlType::Jsonb => prop::sample::select(DOCUMENTS)
            .prop_map(|text| Value::json(quintet_base::Json::parse(text).unwrap()))
            .boxed(),
        ty => match ty.element() {
            Some(element) => {
                let item = prop_oneof![Just(Value::Null), any_value(element)];
                prop::collection::vec(item, 0..4)
                    .prop_map(move |values| {
                        Value::Array(Box::new(Array {
                            shape: None,
                            element,
                            values,
                        }))
                    })
                    .boxed()
            }
            None => any_text().boxed(),
        },
    }
}

/// Bounds that are the wrong way round, or have no neighbour, leave the whole line.
fn any_range(kind: RangeKind) -> BoxedStrategy<Range> {
    let end = || {
        (0..3, any_value(kind.subtype())).prop_map(|(form, value)| match form {
            0 => Bound::Infinite,
            1 => Bound::Included(value),
            _ => Bound::Excluded(value),
        })
    };
    (end(), end())
        .prop_map(move |(lower, upper)| {
            let whole = || Range::new(kind, Bound::Infinite, Bound::Infinite);
            Range::new(kind, lower, upper).or_else(|_| whole()).unwrap()
        })
        .boxed()
}

const DOCUMENTS: &[&str] = &[
    "null",
    "[]",
    "{}",
    "1.50",
    "\"a\"",
    "[1, \"a\", null, {\"b\": [true]}]",
    "{\"a\": null, \"b\": {\"0\": [1, 2]}}",
];

/// Arguments of these types; NULLs among them if the function takes them.
fn any_arguments(types: Vec<SqlType>, strict: bool) -> BoxedStrategy<Vec<Value>> {
    types
        .into_iter()
        .map(|ty| match strict {
            true => any_value(ty),
            false => prop_oneof![1 => Just(Value::Null), 4 => any_value(ty)].boxed(),
        })
        .collect::<Vec<_>>()
        .boxed()
}

/// A function, types that it takes, and the type that it gives for them.
fn every_function() -> Vec<(&'static Function, Vec<SqlType>, SqlType)> {
    let plain = BY_NAME.values().flatten().map(|function| {
        let types = function.args.iter().map(|ty| match ty {
            SqlType::Unknown => SqlType::Float8,
            ty => *ty,
        });
        (*function, types.collect(), function.result)
    });
    let of_arrays = array::samples(SqlType::Int4)
        .into_iter()
        .map(|resolved| (resolved.function, resolved.args, resolved.result));
    let of_ranges = [RangeKind::Int4, RangeKind::Num, RangeKind::Date]
        .into_iter()
        .flat_map(range::samples)
        .map(|resolved| (resolved.function, resolved.args, resolved.result));
    plain.chain(of_arrays).chain(of_ranges).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn every_function_gives_its_type_or_an_error(
        (function, args, result) in prop::sample::select(every_function()).prop_flat_map(
            |(function, types, result)| {
                let arguments = any_arguments(types, function.strict);
                (Just(function), arguments, Just(result))
            }
        )
    ) {
        let call = Expr::Call {
            function,
            args: args.into_iter().map(|v| Expr::Const(v, SqlType::Unknown)).collect(),
            ty: result,
        };
        if let Ok(value) = eval(&call, &[], &[], &DetachedHost::default()) {
            let fits = value.is_null()
                || value.natural_type() == result
                || (value.as_str().is_some() && matches!(result, SqlType::Name | SqlType::Json))
                || (matches!(value, Value::Int8(_)) && result == SqlType::Tid)
                || (matches!(value, Value::Oid(_)) && (result.is_named_oid() || result == SqlType::Xid))
                || (matches!(value, Value::Bits(_)) && result == SqlType::Bit)
                || (matches!(value, Value::Bytea(_)) && result.is_bytes_within())
                // What marks a json has fields of its own.
                || result == SqlType::Record;
            prop_assert!(fits, "{:?} gave {:?}, not {}", function, value, result);
        }
    }
}

#[test]
fn no_two_functions_have_one_name_and_the_same_arguments() {
    for (name, functions) in BY_NAME.iter() {
        for (i, function) in functions.iter().enumerate() {
            let twin = functions[..i]
                .iter()
                .find(|other| other.args == function.args);
            assert!(twin.is_none(), "{name} of {:?} twice", function.args);
        }
    }
}
