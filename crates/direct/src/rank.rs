//! Ranks: one number for a row's sort values, in the order of the rows as far as it goes.
//!
//! Relies on: what `Value::order` says of each type.  Promises: a row of a lower rank comes before one of a higher; rows of one rank
//! may still differ, and have to be compared.  Does not: know where the rows are.
//!
//! A rank has what the first sort value begins with in its upper half: the value itself, for integers and times, or the first
//! eight bytes of a text. Where that is all of the value, the second one's beginning is in the lower half.

use crate::sort::compare;
use quintet_base::Value;
use quintet_ir::plan::SortKey;

/// Below this, rows are compared right away.
const ROWS_FEW: usize = 24;

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Rank {
    upper: u64,
    lower: u64,
}

/// How values of one place are ordered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub descending: bool,
    pub nulls_first: bool,
}

impl Way {
    /// That of a key.
    pub fn of(key: &SortKey) -> Way {
        Way {
            descending: key.descending,
            nulls_first: key.nulls_first,
        }
    }
}

/// The rank of a row with these sort values.
pub(crate) fn rank<'v>(mut values: impl Iterator<Item = (&'v Value, Way)>) -> Rank {
    let Some((first, way)) = values.next() else {
        return Rank::default();
    };
    let (upper, is_whole) = beginning(first, way);
    let lower = match is_whole {
        true => values
            .next()
            .map_or(0, |(second, way)| beginning(second, way).0),
        false => 0,
    };
    Rank { upper, lower }
}

/// Sorts what has sort values by them; what is equal keeps its order.
pub(crate) fn sort<T>(items: &mut Vec<T>, keys: &[SortKey], values: impl Fn(&T) -> &[Value]) {
    let order = |a: &T, b: &T| compare(values(a), values(b), keys);
    let Ok(count) = u32::try_from(items.len()) else {
        return items.sort_by(order);
    };
    if items.len() < ROWS_FEW {
        return items.sort_by(order);
    }
    let ranks = (items.iter()).map(|item| rank(values(item).iter().zip(keys.iter().map(Way::of))));
    let mut places: Vec<(Rank, u32)> = ranks.zip(0..count).collect();
    places.sort_unstable_by(|a, b| {
        let by_rank = a.0.cmp(&b.0);
        let by_value = || order(&items[a.1 as usize], &items[b.1 as usize]);
        by_rank.then_with(by_value).then(a.1.cmp(&b.1))
    });
    let mut left: Vec<Option<T>> = std::mem::take(items).into_iter().map(Some).collect();
    let sorted = places.iter().map(|(_, place)| left[*place as usize].take());
    *items = sorted.flatten().collect();
}

/// What a value begins with, and whether whatever begins the same is equal to it.
fn beginning(value: &Value, way: Way) -> (u64, bool) {
    let signed = |value: i64| (value as u64) ^ (1 << 63);
    let bytes = |bytes: &[u8]| {
        let mut first = [0; 8];
        let len = bytes.len().min(8);
        first[..len].copy_from_slice(&bytes[..len]);
        u64::from_be_bytes(first)
    };
    let (beginning, is_whole) = match value {
        Value::Null => return (if way.nulls_first { 0 } else { u64::MAX }, false),
        Value::Bool(value) => (u64::from(*value), true),
        Value::Int2(value) => (signed(i64::from(*value)), true),
        Value::Int4(value) | Value::Date(value) => (signed(i64::from(*value)), true),
        Value::Int8(value) | Value::Timestamp(value) | Value::TimestampTz(value) => {
            (signed(*value), true)
        }
        Value::Time(value) => (signed(*value), true),
        Value::Oid(value) => (u64::from(*value), true),
        Value::Float4(value) => (of_float(f64::from(*value)), true),
        Value::Float8(value) => (of_float(*value), true),
        Value::Text(text) => {
            let first = bytes(text.as_bytes());
            // There is no zero in a text: what ends so has ended.
            (first, first & 0xff == 0)
        }
        Value::Bytea(value) => (bytes(value), false),
        Value::Uuid(value) => (bytes(value), false),
        _ => (0, false),
    };
    let turned = match way.descending {
        true => !beginning,
        false => beginning,
    };
    // NULL has one of these.
    (turned, is_whole && turned != 0 && turned != u64::MAX)
}

/// Bits in the order of floats: NaN is above everything, -0 equals 0.
fn of_float(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    let bits = (value + 0.0).to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_base::{Numeric, SqlType};
    use quintet_ir::Expr;
    use quintet_rt::Rand;

    /// Values of one type, with what is at its ends, and often the same one.
    fn value(kind: u64, rand: &mut Rand) -> Value {
        let pick = rand.next_u64();
        if pick.is_multiple_of(7) {
            return Value::Null;
        }
        let wide = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
        let wide = wide[(pick >> 8) as usize % wide.len()];
        let texts = [
            "",
            "a",
            "a\u{1}",
            "abcdefg",
            "abcdefgh",
            "abcdefgh\u{1}",
            "abcdefghi",
            "\u{10ffff}",
            "\u{10ffff}\u{10ffff}b",
        ];
        let text = texts[(pick >> 8) as usize % texts.len()];
        let floats = [
            f64::NAN,
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -0.0,
            0.0,
            f64::MIN_POSITIVE,
            2.5,
            f64::MAX,
            f64::INFINITY,
        ];
        let float = floats[(pick >> 8) as usize % floats.len()];
        match kind % 12 {
            0 => Value::Int8(wide),
            1 => Value::Int4(wide as i32),
            2 => Value::Int2(wide as i16),
            3 => Value::Bool(wide > 0),
            4 => Value::Date(wide as i32),
            5 => Value::TimestampTz(wide),
            6 => Value::Float8(float),
            7 => Value::Float4(float as f32),
            8 => Value::text(text),
            9 => Value::Bytea(vec![0; (pick >> 8) as usize % 11].into()),
            10 => Value::Numeric(Numeric::from_i64(wide)),
            _ => Value::Oid(wide as u32),
        }
    }

    fn key(at: usize, rand: &mut Rand) -> SortKey {
        let way = rand.next_u64();
        SortKey {
            expr: Expr::Column(at, SqlType::Int4),
            descending: way & 1 == 0,
            nulls_first: way & 2 == 0,
        }
    }

    #[test]
    fn a_lower_rank_comes_before_a_higher() {
        let mut rand = Rand::seeded(1);
        for _ in 0..200_000 {
            let kinds = [rand.next_u64(), rand.next_u64(), rand.next_u64()];
            let keys = [key(0, &mut rand), key(1, &mut rand), key(2, &mut rand)];
            let a = kinds.map(|kind| value(kind, &mut rand));
            let b = kinds.map(|kind| value(kind, &mut rand));
            let order = compare(&a, &b, &keys);
            let rank = |values: &[Value]| rank(values.iter().zip(keys.iter().map(Way::of)));
            let ranks = rank(&a).cmp(&rank(&b));
            assert!(ranks.is_eq() || ranks == order, "{a:?} {b:?} {keys:?}");
        }
    }

    #[test]
    fn sorting_by_ranks_is_sorting_by_values_and_equal_ones_keep_their_order() {
        let mut rand = Rand::seeded(2);
        for count in [0, 1, 23, 24, 100, 1_000, 5_000] {
            for _ in 0..12 {
                let kinds = [rand.next_u64(), rand.next_u64()];
                let keys = [key(0, &mut rand), key(1, &mut rand)];
                let row = |number| (kinds.map(|kind| value(kind, &mut rand)), number);
                let mut rows: Vec<([Value; 2], usize)> = (0..count).map(row).collect();
                let mut expected = rows.clone();
                expected.sort_by(|a, b| compare(&a.0, &b.0, &keys));
                sort(&mut rows, &keys, |row| &row.0);
                let numbers =
                    |rows: &[([Value; 2], usize)]| rows.iter().map(|row| row.1).collect::<Vec<_>>();
                assert_eq!(numbers(&rows), numbers(&expected));
            }
        }
    }

    #[test]
    fn ranks_of_different_integers_and_short_texts_differ() {
        let mut rand = Rand::seeded(3);
        let keys = [key(0, &mut rand), key(1, &mut rand)];
        let of = |a: Value, b: Value| rank([&a, &b].into_iter().zip(keys.iter().map(Way::of)));
        assert_ne!(
            of(Value::Int8(5), Value::Null),
            of(Value::Int8(6), Value::Null)
        );
        assert_ne!(
            of(Value::Int8(5), Value::text("a")),
            of(Value::Int8(5), Value::text("b"))
        );
        assert_ne!(
            of(Value::text("x"), Value::Int4(1)),
            of(Value::text("x"), Value::Int4(2))
        );
    }
}
