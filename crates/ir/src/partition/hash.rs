//! The hash by which rows of hash partitions are divided: PostgreSQL's, so that files of its rows load partition by partition.
//!
//! Relies on: nothing.  Promises: for the types of [`is_hashable`], a row is where PostgreSQL 15 on a little-endian machine would
//! have it, for ever: what is where is not stored.  Does not: other types, whose hash there depends on how values are kept.
//!
//! Bytes are hashed by Bob Jenkins's lookup3 (public domain, 2006), begun with PostgreSQL's constants; a row's hash
//! combines those of its columns that are not NULL.

use quintet_base::{SqlType, Value, caseless};

/// What partitions begin each column's hash with.
const SEED: u64 = 0x7A5B_2236_7996_DCFD;
/// What each hash begins with, before the length is added.
const START: u32 = 0x9E37_79B9_u32.wrapping_add(3_923_095);
/// Mixed into a row's hash with each column.
const COMBINE: u64 = 0x49A0_F4DD_15E5_A8E3;

/// True for types whose values are hashed as PostgreSQL does.
pub fn is_hashable(ty: SqlType) -> bool {
    use SqlType::*;
    matches!(
        ty,
        Bool | Int2
            | Int4
            | Int8
            | Oid
            | Float4
            | Float8
            | Text
            | Varchar
            | Bpchar
            | Citext
            | Bytea
            | Date
            | Time
            | Timestamp
            | TimestampTz
            | Uuid
            | Inet
            | Cidr
            | MacAddr
    )
}

/// The hash of a row's key; of `char(n)` without trailing blanks.
pub(super) fn hash_of(keys: &[&Value]) -> u64 {
    let mut row = 0_u64;
    for key in keys.iter().filter(|key| !key.is_null()) {
        let spread = (row << 54).wrapping_add(row >> 7);
        let mixed = hash_of_value(key)
            .wrapping_add(COMBINE)
            .wrapping_add(spread);
        row ^= mixed;
    }
    row
}

fn hash_of_value(value: &Value) -> u64 {
    match value {
        Value::Bool(value) => of_word(u32::from(*value)),
        Value::Int2(value) => of_word(i32::from(*value).cast_unsigned()),
        Value::Int4(value) | Value::Date(value) => of_word(value.cast_unsigned()),
        Value::Oid(value) => of_word(*value),
        Value::Int8(value)
        | Value::Timestamp(value)
        | Value::TimestampTz(value)
        | Value::Time(value) => of_long(*value),
        Value::Float4(value) => of_float(f64::from(*value)),
        Value::Float8(value) => of_float(*value),
        Value::Text(text) => of_bytes(text.as_bytes()),
        Value::Bytea(bytes) => of_bytes(bytes),
        Value::Citext(text) => of_bytes(caseless::fold(text).as_bytes()),
        Value::Uuid(bytes) => of_bytes(bytes),
        Value::MacAddr(bytes) => of_bytes(bytes),
        Value::Inet(inet) => {
            let mut bytes = vec![inet.family().code(), inet.bits()];
            bytes.extend_from_slice(inet.address());
            of_bytes(&bytes)
        }
        other => panic!("{other:?} in a partition key: only hashable types are let in"),
    }
}

/// Small numbers have the hash that they have as `int4`.
fn of_long(value: i64) -> u64 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    of_word(low ^ if value >= 0 { high } else { !high })
}

fn of_float(value: f64) -> u64 {
    if value == 0.0 {
        return SEED; // either sign
    }
    let value = if value.is_nan() { f64::NAN } else { value };
    of_bytes(&value.to_le_bytes())
}

/// The three words of lookup3.
struct State(u32, u32, u32);

impl State {
    fn new(length: u32) -> State {
        let start = START.wrapping_add(length);
        let mut state = State(
            start.wrapping_add((SEED >> 32) as u32),
            start.wrapping_add(SEED as u32),
            start,
        );
        state.mix();
        state
    }

    fn mix(&mut self) {
        let State(a, b, c) = self;
        let turn = |x: &mut u32, y: &mut u32, z: &mut u32, by: u32| {
            *x = x.wrapping_sub(*z) ^ z.rotate_left(by);
            *z = z.wrapping_add(*y);
        };
        turn(a, b, c, 4);
        turn(b, c, a, 6);
        turn(c, a, b, 8);
        turn(a, b, c, 16);
        turn(b, c, a, 19);
        turn(c, a, b, 4);
    }

    fn finish(self) -> u64 {
        let State(mut a, mut b, mut c) = self;
        let turn = |x: &mut u32, y: u32, by: u32| {
            *x = (*x ^ y).wrapping_sub(y.rotate_left(by));
        };
        turn(&mut c, b, 14);
        turn(&mut a, c, 11);
        turn(&mut b, a, 25);
        turn(&mut c, b, 16);
        turn(&mut a, c, 4);
        turn(&mut b, a, 14);
        turn(&mut c, b, 24);
        (u64::from(b) << 32) | u64::from(c)
    }
}

fn of_word(word: u32) -> u64 {
    let mut state = State::new(4);
    state.0 = state.0.wrapping_add(word);
    state.finish()
}

/// The hash of some bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> u64 {
    let mut state = State::new(bytes.len() as u32);
    let word = |bytes: &[u8]| {
        let mut four = [0; 4];
        four[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(four)
    };
    let mut chunks = bytes.chunks_exact(12);
    for chunk in &mut chunks {
        state.0 = state.0.wrapping_add(word(&chunk[..4]));
        state.1 = state.1.wrapping_add(word(&chunk[4..8]));
        state.2 = state.2.wrapping_add(word(&chunk[8..]));
        state.mix();
    }
    let rest = chunks.remainder();
    let part = |from: usize| word(&rest[from.min(rest.len())..(from + 4).min(rest.len())]);
    state.0 = state.0.wrapping_add(part(0));
    state.1 = state.1.wrapping_add(part(4));
    // The lowest byte stays the length's.
    state.2 = state.2.wrapping_add(part(8) << 8);
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_base::Value;

    // Remainders by 1,000,003 as PostgreSQL 15 has them: which partition a row is in is not stored, so they stay.
    #[test]
    fn hashes_are_those_of_postgresql() {
        let of = |value: Value| hash_of(&[&value]) % 1_000_003;
        let found = [
            of(Value::Int4(1)),
            of(Value::Int8(-7)),
            of(Value::Int8(5_000_000_000)),
            of(Value::text("quintet")),
            of(Value::text("a text of more than twelve bytes")),
            of(Value::text("")),
            of(Value::Bool(true)),
            of(Value::Float8(1.5)),
            hash_of(&[&Value::Int4(3), &Value::Null, &Value::text("ä")]) % 1_000_003,
        ];
        assert_eq!(found, KEPT);
    }

    const KEPT: [u64; 9] = [
        875_018, 442_307, 426_258, 361_704, 481_530, 22_719, 875_018, 384_489, 507_860,
    ];
}
