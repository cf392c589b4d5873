//! Random types and values, for every property test of this crate.

#![allow(dead_code)] // each test binary takes what it needs

use proptest::prelude::*;
use quintet_base::array::Dimension;
use quintet_base::datetime::TimeTz;
use quintet_base::lexemes::textsearch::{Vector, make};
use quintet_base::lexemes::{query_value, vector_value};
use quintet_base::network::Family;
use quintet_base::pairs::Pairs;
use quintet_base::range::Bound;
use quintet_base::{
    Array, Bits, Figure, Inet, Interval, Json, Multirange, Numeric, Range, RangeKind, SqlType, Str,
    Value,
};

/// Every type whose values can be stored and sent, arrays included.
pub const TYPES: [SqlType; 92] = [
    SqlType::Point,
    SqlType::Lseg,
    SqlType::Line,
    SqlType::Box,
    SqlType::Path,
    SqlType::Polygon,
    SqlType::Circle,
    SqlType::PointArray,
    SqlType::BoxArray,
    SqlType::CircleArray,
    SqlType::Money,
    SqlType::MoneyArray,
    SqlType::InternalCharArray,
    SqlType::Tid,
    SqlType::TidArray,
    SqlType::Xid,
    SqlType::XidArray,
    SqlType::Citext,
    SqlType::CitextArray,
    SqlType::Hstore,
    SqlType::HstoreArray,
    SqlType::Bool,
    SqlType::Int2,
    SqlType::Int4,
    SqlType::Int8,
    SqlType::Float4,
    SqlType::Float8,
    SqlType::Numeric,
    SqlType::Text,
    SqlType::Varchar,
    SqlType::Bpchar,
    SqlType::Name,
    SqlType::InternalChar,
    SqlType::Bytea,
    SqlType::Date,
    SqlType::Timestamp,
    SqlType::TimestampTz,
    SqlType::Uuid,
    SqlType::Oid,
    SqlType::BoolArray,
    SqlType::Int2Array,
    SqlType::Int4Array,
    SqlType::Int8Array,
    SqlType::Float8Array,
    SqlType::NumericArray,
    SqlType::TextArray,
    SqlType::VarcharArray,
    SqlType::NameArray,
    SqlType::OidArray,
    SqlType::UuidArray,
    SqlType::TimestampArray,
    SqlType::TimestampTzArray,
    SqlType::DateArray,
    SqlType::Interval,
    SqlType::Time,
    SqlType::TimeTz,
    SqlType::Jsonb,
    SqlType::IntervalArray,
    SqlType::TimeArray,
    SqlType::TimeTzArray,
    SqlType::JsonbArray,
    SqlType::Float4Array,
    SqlType::ByteaArray,
    SqlType::BpcharArray,
    SqlType::Inet,
    SqlType::Cidr,
    SqlType::MacAddr,
    SqlType::TsVector,
    SqlType::TsQuery,
    SqlType::TsVectorArray,
    SqlType::TsQueryArray,
    SqlType::InetArray,
    SqlType::CidrArray,
    SqlType::MacAddrArray,
    SqlType::Bit,
    SqlType::VarBit,
    SqlType::BitArray,
    SqlType::VarBitArray,
    SqlType::Range(RangeKind::Int4),
    SqlType::Multirange(RangeKind::Int4),
    SqlType::Range(RangeKind::Int8),
    SqlType::Multirange(RangeKind::Int8),
    SqlType::Range(RangeKind::Num),
    SqlType::Multirange(RangeKind::Num),
    SqlType::Range(RangeKind::Ts),
    SqlType::Multirange(RangeKind::Ts),
    SqlType::Range(RangeKind::TsTz),
    SqlType::Multirange(RangeKind::TsTz),
    SqlType::Range(RangeKind::Date),
    SqlType::Multirange(RangeKind::Date),
    SqlType::RangeArray(RangeKind::Num),
    SqlType::MultirangeArray(RangeKind::Date),
];

pub fn any_type() -> impl Strategy<Value = SqlType> {
    prop::sample::select(TYPES.to_vec())
}

/// Few different characters, so that equal beginnings and special bytes meet often.
fn text() -> BoxedStrategy<String> {
    prop_oneof![
        "[ab{}\",\\\\ \t\u{1}\u{ff}ä]{0,6}",
        "(NULL|null|Null)",
        "\\PC{0,12}",
    ]
    .boxed()
}

fn numeric() -> BoxedStrategy<Numeric> {
    let digits = prop_oneof!["-?[0-9]{1,4}", "-?[0-9]{1,60}", "-?[19]0{0,30}"];
    let fraction = prop_oneof![Just(String::new()), "\\.[0-9]{1,4}", "\\.0{0,9}[0-9]{1,30}"];
    prop_oneof![
        20 => (digits, fraction).prop_map(|(d, f)| Numeric::parse(&(d + &f)).expect("digits")),
        1 => Just(Numeric::NAN),
        1 => Just(Numeric::INFINITY),
        1 => Just(Numeric::NEGATIVE_INFINITY),
    ]
    .boxed()
}

/// Days in PostgreSQL's calendar, and the infinities.
fn days() -> BoxedStrategy<i32> {
    prop_oneof![
        9 => -2_451_545i32..=2_145_031_948,
        9 => -40_000i32..40_000,
        1 => Just(i32::MAX),
        1 => Just(i32::MIN),
    ]
    .boxed()
}

/// Microseconds in PostgreSQL's range, and the infinities.
fn micros() -> BoxedStrategy<i64> {
    prop_oneof![
        9 => -211_813_488_000_000_000i64..9_223_371_331_200_000_000,
        9 => -3_000_000_000_000_000i64..3_000_000_000_000_000,
        1 => Just(i64::MAX),
        1 => Just(i64::MIN),
    ]
    .boxed()
}

/// Months, days and microseconds that print and read back.
fn interval() -> BoxedStrategy<Interval> {
    let parts = (
        prop_oneof![-40i32..40, any::<i32>()],
        prop_oneof![-40i32..40, any::<i32>()],
        prop_oneof![-90_000_000_000i64..90_000_000_000, any::<i64>()],
    );
    parts
        .prop_map(|(months, days, micros)| Interval {
            months,
            days,
            micros,
        })
        .boxed()
}

fn json() -> BoxedStrategy<Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        numeric()
            .prop_filter("finite", Numeric::is_finite)
            .prop_map(Json::Number),
        text().prop_map(|s| Json::Text(Str::from(s))),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let pair = (text().prop_map(Str::from), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Json::Array),
            prop::collection::vec(pair, 0..4).prop_map(Json::object),
        ]
    })
    .boxed()
}

/// A value of the type, not NULL.
pub fn value(ty: SqlType) -> BoxedStrategy<Value> {
    match ty {
        SqlType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        SqlType::Int2 => any::<i16>().prop_map(Value::Int2).boxed(),
        SqlType::Int4 => any::<i32>().prop_map(Value::Int4).boxed(),
        SqlType::Int8 => any::<i64>().prop_map(Value::Int8).boxed(),
        SqlType::Point
        | SqlType::Lseg
        | SqlType::Line
        | SqlType::Box
        | SqlType::Path
        | SqlType::Polygon
        | SqlType::Circle => figure(ty).prop_map(Value::figure).boxed(),
        SqlType::Money => any::<i64>().prop_map(Value::Money).boxed(),
        SqlType::Oid => any::<u32>().prop_map(Value::Oid).boxed(),
        SqlType::Float4 => prop_oneof![
            prop::num::f32::ANY,
            prop::sample::select(vec![0.0, -0.0, 1.0, f32::NAN, f32::INFINITY])
        ]
        .prop_map(Value::Float4)
        .boxed(),
        SqlType::Float8 => prop_oneof![
            prop::num::f64::ANY,
            prop::sample::select(vec![0.0, -0.0, 1.0, f64::NAN, f64::NEG_INFINITY])
        ]
        .prop_map(Value::Float8)
        .boxed(),
        SqlType::Numeric => numeric().prop_map(Value::numeric).boxed(),
        SqlType::InternalChar => "[a-z ]".prop_map(|s| Value::Text(Str::from(s))).boxed(),
        SqlType::Text | SqlType::Varchar | SqlType::Bpchar | SqlType::Name | SqlType::Unknown => {
            text().prop_map(|s| Value::Text(Str::from(s))).boxed()
        }
        SqlType::Bytea => prop::collection::vec(prop_oneof![Just(0), Just(255), any::<u8>()], 0..6)
            .prop_map(|b| Value::Bytea(b.into()))
            .boxed(),
        SqlType::Date => days().prop_map(Value::Date).boxed(),
        SqlType::Timestamp => micros().prop_map(Value::Timestamp).boxed(),
        SqlType::TimestampTz => micros().prop_map(Value::TimestampTz).boxed(),
        SqlType::Uuid => prop_oneof![any::<[u8; 16]>(), any::<u8>().prop_map(|b| [b; 16])]
            .prop_map(Value::Uuid)
            .boxed(),
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
        SqlType::Citext => text().prop_map(|s| Value::Citext(s.into())).boxed(),
        SqlType::Hstore => {
            let texts = [
                "",
                "a=>1",
                "a=>NULL",
                "ab=>1, b=>2",
                "a=>12",
                "\"\"=>\"\", é=>ü",
            ];
            let read = |text| Pairs::parse(text).unwrap().to_value();
            prop::sample::select(texts.to_vec()).prop_map(read).boxed()
        }
        SqlType::Xid => any::<u32>().prop_map(Value::Oid).boxed(),
        SqlType::Tid => any::<i64>().prop_map(Value::Int8).boxed(),
        SqlType::MacAddr => any::<[u8; 6]>().prop_map(Value::MacAddr).boxed(),
        SqlType::Bit | SqlType::VarBit => bits().prop_map(Value::Bits).boxed(),
        SqlType::Inet => inet().prop_map(Value::Inet).boxed(),
        SqlType::Cidr => inet().prop_map(|v| Value::Inet(v.network())).boxed(),
        SqlType::Range(kind) => range(kind).prop_map(Value::range).boxed(),
        SqlType::Multirange(kind) => prop::collection::vec(range(kind), 0..4)
            .prop_map(move |ranges| Value::multirange(Multirange::new(kind, ranges)))
            .boxed(),
        SqlType::Interval => interval().prop_map(Value::Interval).boxed(),
        SqlType::Time => (0i64..=86_400_000_000).prop_map(Value::Time).boxed(),
        SqlType::TimeTz => (0i64..=86_400_000_000, -57_599i32..57_600)
            .prop_map(|(micros, offset)| Value::TimeTz(TimeTz { micros, offset }))
            .boxed(),
        SqlType::Jsonb => json().prop_map(Value::json).boxed(),
        SqlType::Void => panic!("void has no values"),
        array => {
            let element = array.element().expect("all others are arrays");
            let bound = prop_oneof![3 => Just(1), 1 => -2..3];
            (
                prop::collection::vec(value_or_null(element), 0..5),
                prop::collection::vec(bound, 3),
                0..3usize,
            )
                .prop_map(move |(values, lowers, kind)| {
                    let count = values.len() as i32;
                    let lengths = match (kind, count) {
                        (1, 4) => vec![2, 2],
                        (1, _) => vec![1, count],
                        (2, _) => vec![count, 1, 1],
                        _ => vec![count],
                    };
                    let shape: Vec<Dimension> = (lengths.into_iter().zip(lowers))
                        .map(|(length, lower)| Dimension { lower, length })
                        .collect();
                    Value::Array(Box::new(Array::shaped(element, values, &shape)))
                })
                .boxed()
        }
    }
}

/// Figures of few different numbers.
fn figure(ty: SqlType) -> BoxedStrategy<Figure> {
    let number = prop::sample::select(vec![0.0, 1.0, -1.5, 1e300, f64::INFINITY]);
    let count = match ty {
        SqlType::Point => 2..3usize,
        SqlType::Line | SqlType::Circle => 3..4,
        SqlType::Lseg | SqlType::Box => 4..5,
        _ => 1..4,
    };
    (prop::collection::vec(number, 8), count, any::<bool>())
        .prop_map(move |(mut numbers, count, closed)| {
            match ty {
                SqlType::Path | SqlType::Polygon => numbers.truncate(2 * count),
                _ => numbers.truncate(count),
            }
            if ty == SqlType::Circle {
                numbers[2] = numbers[2].abs();
            }
            if ty == SqlType::Line {
                numbers[0] = 1.0;
            }
            Figure::from_numbers(ty, closed, &numbers).unwrap()
        })
        .boxed()
}

/// Bits of few different bytes, so that many begin with others.
fn bits() -> impl Strategy<Value = Bits> {
    let byte = prop::sample::select(vec![0u8, 1, 128, 255]);
    let bytes = prop::collection::vec(byte, 0..4);
    (bytes, 0..8usize).prop_map(|(bytes, less)| {
        let count = (8 * bytes.len()).saturating_sub(less);
        Bits::new(count, &bytes).unwrap()
    })
}

/// Addresses of few different bytes, so that many lie within the networks of others.
fn inet() -> impl Strategy<Value = Inet> {
    let byte = || prop::sample::select(vec![0u8, 1, 128, 255]);
    (any::<bool>(), prop::array::uniform16(byte()), 0u8..=128).prop_map(|(long, bytes, bits)| {
        match long {
            true => Inet::new(Family::V6, &bytes, bits),
            false => Inet::new(Family::V4, &bytes[..4], bits % 33),
        }
        .unwrap()
    })
}

/// Ranges of a kind; bounds that are the wrong way round change places.
fn range(kind: RangeKind) -> BoxedStrategy<Range> {
    let end = || {
        (0u8..6, value(kind.subtype())).prop_map(|(form, value)| match form {
            0 => Bound::Infinite,
            1 | 2 => Bound::Included(value),
            _ => Bound::Excluded(value),
        })
    };
    let range = (end(), end()).prop_map(move |(a, b)| {
        let ordered = Range::new(kind, a.clone(), b.clone());
        let ordered = ordered.or_else(|_| Range::new(kind, b, a));
        // At the ends of integers and of the calendar there is no next value.
        ordered.unwrap_or_else(|_| Range::empty(kind))
    });
    prop_oneof![1 => Just(Range::empty(kind)), 12 => range].boxed()
}

/// A value of the type, or now and then NULL.
pub fn value_or_null(ty: SqlType) -> BoxedStrategy<Value> {
    prop_oneof![6 => value(ty), 1 => Just(Value::Null)].boxed()
}

/// Equal in every respect that storing and sending must keep: value, NULLs, scale of numerics, sign
/// of zeros. NaN equals NaN.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float4(a), Value::Float4(b)) => {
            a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
        }
        (Value::Float8(a), Value::Float8(b)) => {
            a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
        }
        (Value::Numeric(a), Value::Numeric(b)) => a.to_string() == b.to_string(),
        (Value::Jsonb(a), Value::Jsonb(b)) => a.to_string() == b.to_string(),
        (Value::Figure(a), Value::Figure(b)) => format!("{a:?}") == format!("{b:?}"),
        (Value::Array(a), Value::Array(b)) => {
            a.element == b.element
                && a.values.len() == b.values.len()
                && a.values.iter().zip(&b.values).all(|(a, b)| same(a, b))
        }
        _ => a == b,
    }
}
