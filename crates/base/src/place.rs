//! Where a row is, `tid`: a number, of which clients see the lower 16 bits as the offset within a block and the rest as the block.
//!
//! Relies on: `error`.  Promises: what prints reads back as the same number; what PostgreSQL reads is read.
//! Does not: know which row a number stands for; it is the row's id, or its key if that is an integer.
//!
//! A block of PostgreSQL has 32 bits, and so has what clients receive in binary. Numbers beyond 48 bits print with a longer
//! block, and go as 8 bytes, which a client that takes 6 refuses.

use crate::error::{SqlError, SqlResult, SqlState};
use std::io::Write;

/// Bits of an offset.
const OFFSET_BITS: u32 = 16;
/// Bits of what has PostgreSQL's form.
const BITS: u32 = 48;

/// Appends the text of a place.
pub fn write(place: i64, out: &mut Vec<u8>) {
    let bits = place as u64;
    let (block, offset) = (bits >> OFFSET_BITS, bits as u16);
    write!(out, "({block},{offset})").expect("a Vec takes everything");
}

/// Reads such a text.
///
/// # Errors
/// `22P02` for anything else.
pub fn read(text: &str) -> SqlResult<i64> {
    let refuse = || {
        SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type tid: \"{text}\""),
        )
    };
    let parts = text.find('(').zip(text.find(')'));
    let inside = parts.and_then(|(from, to)| text.get(from + 1..to));
    let parts = inside.and_then(|inside| inside.split_once(','));
    let (block, offset) = parts.ok_or_else(refuse)?;
    let is_blank = |c: char| u8::try_from(c).is_ok_and(crate::text_format::is_blank);
    let block = block.trim_start_matches(is_blank);
    let block = match block.strip_prefix('-') {
        // Blocks below zero count from behind the last one of PostgreSQL's.
        Some(_) => block
            .parse::<i32>()
            .ok()
            .map(|block| u64::from(block as u32)),
        None => block.parse::<u64>().ok(),
    };
    let block = block.filter(|block| block >> (u64::BITS - OFFSET_BITS) == 0);
    let offset = offset.trim_start_matches(is_blank).parse::<u16>().ok();
    let (block, offset) = block.zip(offset).ok_or_else(refuse)?;
    Ok((block << OFFSET_BITS | u64::from(offset)) as i64)
}

/// Appends a place as clients receive it.
pub fn send(place: i64, out: &mut Vec<u8>) {
    let bytes = place.to_be_bytes();
    match (place as u64) >> BITS {
        0 => out.extend_from_slice(&bytes[2..]),
        _ => out.extend_from_slice(&bytes),
    }
}

/// Reads what [`send`] wrote, or what rows keep of an array; `None` for what has another length.
pub fn receive(bytes: &[u8]) -> Option<i64> {
    match bytes {
        [a, b, c, d, e, f] => Some(i64::from_be_bytes([0, 0, *a, *b, *c, *d, *e, *f])),
        _ => bytes.try_into().ok().map(i64::from_be_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::{read, receive, send, write};

    #[test]
    fn what_prints_reads_back() {
        for place in [
            0,
            1,
            65_535,
            65_536,
            1 << 40,
            1 << 48,
            i64::MAX,
            -1,
            i64::MIN,
        ] {
            let mut text = Vec::new();
            write(place, &mut text);
            let text = String::from_utf8(text).expect("digits");
            assert_eq!(read(&text).expect("reads"), place, "{text}");
            let mut bytes = Vec::new();
            send(place, &mut bytes);
            assert_eq!(receive(&bytes), Some(place), "{text}");
            assert_eq!(bytes.len() == 6, (0..1 << 48).contains(&place), "{text}");
        }
    }

    #[test]
    fn reads_as_postgresql_does() {
        assert_eq!(read("( 1, 2)").expect("blanks"), 65_538);
        assert_eq!(read("(-1,1)").expect("wraps"), 0xffff_ffff_0001);
        for text in [
            "",
            "()",
            "(1)",
            "(1,65536)",
            "(1,-1)",
            "1,2",
            "(a,1)",
            ")1,2(",
        ] {
            assert_eq!(read(text).expect_err(text).state.as_str(), "22P02");
        }
    }
}
