//! Ranges as bytes: as clients send them and rows keep them, and as keys.
//!
//! Relies on: `binary_format` and `key` for the bounds.  Promises: what is written reads back; the order of keys is
//! [`Range::order`], and no key begins another.  Does not: trust a length.
//!
//! ```text
//! sent, in rows   u8: 01 empty, 02 lower bound included, 04 upper one, 08 no lower bound, 10 no upper one;
//!                 of each bound that there is, the lower one first: i32 length and as many bytes
//! keys            empty: 00. Else 01, the lower bound: 00 if there is none, its value and 01 included, 02 excluded;
//!                 the upper one: FF if there is none, its value and 01 excluded, 02 included
//! ```

use super::{Bound, Range, RangeKind};
use crate::binary_format;
use crate::error::SqlResult;
use crate::key;
use crate::types::SqlType;
use crate::value::Value;

const EMPTY: u8 = 0x01;
const LOWER_INCLUDED: u8 = 0x02;
const UPPER_INCLUDED: u8 = 0x04;
const NO_LOWER: u8 = 0x08;
const NO_UPPER: u8 = 0x10;

const KEY_EMPTY: u8 = 0x00;
const KEY_BOUNDED: u8 = 0x01;
/// Below and above the first byte of every value.
const KEY_NO_LOWER: u8 = 0x00;
const KEY_NO_UPPER: u8 = 0xFF;
/// Behind the value of a bound: nearer to the values below, or above.
const KEY_NEARER_BELOW: u8 = 0x01;
const KEY_NEARER_ABOVE: u8 = 0x02;

/// Appends the form in which a range is sent and kept.
pub(crate) fn write_binary(range: &Range, out: &mut Vec<u8>) {
    let Some((lower, upper)) = range.bounds() else {
        out.push(EMPTY);
        return;
    };
    let flag = |bound: &Bound, none, included| match bound {
        Bound::Infinite => none,
        Bound::Included(_) => included,
        Bound::Excluded(_) => 0,
    };
    out.push(flag(lower, NO_LOWER, LOWER_INCLUDED) | flag(upper, NO_UPPER, UPPER_INCLUDED));
    for value in [lower, upper].into_iter().filter_map(Bound::value) {
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        binary_format::write(value, out);
        let length = (out.len() - at - 4) as i32;
        out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// Reads that form.
///
/// # Errors
/// `22P03`; what [`Range::new`] refuses.
pub(crate) fn read_binary(kind: RangeKind, bytes: &[u8]) -> SqlResult<Range> {
    let refuse = || binary_format::invalid(SqlType::Range(kind));
    let (&flags, mut rest) = bytes.split_first().ok_or_else(refuse)?;
    let mut bound = |none: u8, included: u8| {
        if flags & (EMPTY | none) != 0 {
            return Ok(Bound::Infinite);
        }
        let (length, after) = rest.split_first_chunk().ok_or_else(refuse)?;
        let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| refuse())?;
        let (value, after) = after.split_at_checked(length).ok_or_else(refuse)?;
        rest = after;
        let value = binary_format::read(kind.subtype(), value)?;
        Ok(match flags & included {
            0 => Bound::Excluded(value),
            _ => Bound::Included(value),
        })
    };
    let lower = bound(NO_LOWER, LOWER_INCLUDED)?;
    let upper = bound(NO_UPPER, UPPER_INCLUDED)?;
    if !rest.is_empty() {
        return Err(refuse());
    }
    match flags & EMPTY {
        0 => Range::new(kind, lower, upper),
        _ => Ok(Range::empty(kind)),
    }
}

/// Appends a range's key.
pub(crate) fn encode_key(range: &Range, out: &mut Vec<u8>) {
    let Some((lower, upper)) = range.bounds() else {
        out.push(KEY_EMPTY);
        return;
    };
    out.push(KEY_BOUNDED);
    let mut bound = |bound: &Bound, none, included, excluded| match bound {
        Bound::Infinite => out.push(none),
        Bound::Included(value) => {
            key::encode(value, out);
            out.push(included);
        }
        Bound::Excluded(value) => {
            key::encode(value, out);
            out.push(excluded);
        }
    };
    bound(lower, KEY_NO_LOWER, KEY_NEARER_BELOW, KEY_NEARER_ABOVE);
    bound(upper, KEY_NO_UPPER, KEY_NEARER_ABOVE, KEY_NEARER_BELOW);
}

/// Reads a key and advances past it. The bounds of a `numrange` come back as its keys do.
///
/// # Errors
/// `XX001`.
pub(crate) fn decode_key(kind: RangeKind, bytes: &mut &[u8]) -> SqlResult<Range> {
    let all = *bytes;
    match key::take(bytes)? {
        [KEY_EMPTY] => return Ok(Range::empty(kind)),
        [KEY_BOUNDED] => {}
        _ => return Err(key::corrupt()),
    }
    let mut bound = |none: u8, included: u8, excluded: u8| {
        if bytes.first() == Some(&none) {
            *bytes = &bytes[1..];
            return Ok(Bound::Infinite);
        }
        let value = key::decode(kind.subtype(), bytes)?;
        match (key::take(bytes)?, &value) {
            (_, Value::Null) => Err(key::corrupt()),
            ([side], _) if side == included => Ok(Bound::Included(value)),
            ([side], _) if side == excluded => Ok(Bound::Excluded(value)),
            _ => Err(key::corrupt()),
        }
    };
    let lower = bound(KEY_NO_LOWER, KEY_NEARER_BELOW, KEY_NEARER_ABOVE)?;
    let upper = bound(KEY_NO_UPPER, KEY_NEARER_ABOVE, KEY_NEARER_BELOW)?;
    let value = Range::new(kind, lower, upper).map_err(|_| key::corrupt())?;
    // Bounds that are written otherwise, or enclose nothing, are no key: a value has only one.
    let read = all.len() - bytes.len();
    let mut own = Vec::with_capacity(read);
    encode_key(&value, &mut own);
    match all.starts_with(&own) && own.len() == read {
        true => Ok(value),
        false => Err(key::corrupt()),
    }
}
