//! Multiranges as bytes: as clients send them and rows keep them, and as keys.
//!
//! Relies on: the forms of ranges.  Promises: what is written reads back; the order of keys is [`Multirange::order`], and
//! no key begins another.  Does not: trust a length or a count.
//!
//! ```text
//! sent, in rows   i32 ranges; of each: i32 length and the range
//! keys            the keys of the ranges, then 00: none of them is empty, so that each begins with 01
//! ```

use super::Multirange;
use crate::binary_format;
use crate::error::SqlResult;
use crate::key;
use crate::range::{self, RangeKind};
use crate::types::SqlType;

const KEY_END: u8 = 0x00;

/// Appends the form in which a multirange is sent and kept.
pub(crate) fn write_binary(set: &Multirange, out: &mut Vec<u8>) {
    out.extend_from_slice(&(set.ranges.len() as i32).to_be_bytes());
    for range in &set.ranges {
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        range::write_binary(range, out);
        let length = (out.len() - at - 4) as i32;
        out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// Reads that form.
///
/// # Errors
/// `22P03`; what ranges refuse.
pub(crate) fn read_binary(kind: RangeKind, bytes: &[u8]) -> SqlResult<Multirange> {
    let refuse = || binary_format::invalid(SqlType::Multirange(kind));
    let number = |bytes: &mut &[u8]| {
        let (number, rest) = bytes.split_first_chunk().ok_or_else(refuse)?;
        *bytes = rest;
        usize::try_from(i32::from_be_bytes(*number)).map_err(|_| refuse())
    };
    let mut rest = bytes;
    let count = number(&mut rest)?;
    let mut ranges = Vec::new();
    for _ in 0..count {
        let length = number(&mut rest)?;
        let (range, after) = rest.split_at_checked(length).ok_or_else(refuse)?;
        ranges.push(range::read_binary(kind, range)?);
        rest = after;
    }
    match rest {
        [] => Ok(Multirange::new(kind, ranges)),
        _ => Err(refuse()),
    }
}

/// Appends a multirange's key.
pub(crate) fn encode_key(set: &Multirange, out: &mut Vec<u8>) {
    for range in &set.ranges {
        range::encode_key(range, out);
    }
    out.push(KEY_END);
}

/// Reads a key and advances past it.
///
/// # Errors
/// `XX001`.
pub(crate) fn decode_key(kind: RangeKind, bytes: &mut &[u8]) -> SqlResult<Multirange> {
    let mut ranges = Vec::new();
    while bytes.first() != Some(&KEY_END) {
        ranges.push(range::decode_key(kind, bytes)?);
    }
    let [_] = key::take(bytes)?;
    let read = ranges.len();
    let in_order = ranges.windows(2).all(|two| two[0].order(&two[1]).is_lt());
    let value = Multirange::new(kind, ranges);
    // None is empty, meets another or stands before a lower one, or the key were not the value's only one.
    match in_order && value.ranges().len() == read {
        true => Ok(value),
        false => Err(key::corrupt()),
    }
}
