//! Strings of bits.
//!
//! Relies on: nothing.  Promises: PostgreSQL's `bit` and `bit varying`: what is refused, the order, and what operators
//! give.  Does not: know which of the two it is; the type stands beside the value, as that of text does.
//!
//! ```text
//! byte 0     how many bits of the last byte are none of its own, 0 to 7; they are zero
//! bytes 1..  the bits, the first one highest
//! ```

mod operations;
#[cfg(test)]
mod tests;

use crate::error::{SqlError, SqlResult, SqlState};
use std::cmp::Ordering;
use std::sync::Arc;

/// Most bits of one, as in PostgreSQL.
pub const BITS_MAX: usize = 83_886_080;

/// Bits in a byte.
const BYTE: usize = 8;

/// A `bit` or a `bit varying`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bits(Arc<[u8]>);

impl Bits {
    /// The first bits of as many bytes as it takes for them. What is behind them is of no account.
    ///
    /// # Errors
    /// `54000` for too many.
    ///
    /// # Panics
    /// If the bytes are not as many.
    pub fn new(count: usize, bytes: &[u8]) -> SqlResult<Bits> {
        assert_eq!(bytes.len(), count.div_ceil(BYTE), "bytes for {count} bits");
        if count > BITS_MAX {
            let message = format!("bit string length exceeds the maximum allowed ({BITS_MAX})");
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let unused = bytes.len() * BYTE - count;
        let mut all = Vec::with_capacity(1 + bytes.len());
        all.push(unused as u8);
        all.extend_from_slice(bytes);
        if let Some(last) = all[1..].last_mut() {
            *last = *last >> unused << unused;
        }
        Ok(Bits(all.into()))
    }

    /// How many there are.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.bytes().len() * BYTE - usize::from(self.0[0])
    }

    /// The bits, and zeros behind the last one up to a whole byte.
    pub fn bytes(&self) -> &[u8] {
        &self.0[1..]
    }

    /// How many of them are in the last byte, 0 if there is none.
    pub(crate) fn bits_of_last(&self) -> u8 {
        match self.bytes() {
            [] => 0,
            _ => BYTE as u8 - self.0[0],
        }
    }

    /// The one at a place that it has, counted from 0 at the left.
    fn at(&self, place: usize) -> bool {
        self.bytes()[place / BYTE] >> (BYTE - 1 - place % BYTE) & 1 == 1
    }

    /// The order of PostgreSQL: by the bits, and what begins another is below it.
    pub fn order(&self, other: &Bits) -> Ordering {
        let by_length = || self.len().cmp(&other.len());
        self.bytes().cmp(other.bytes()).then_with(by_length)
    }

    /// Appends the digits.
    pub fn write(&self, out: &mut Vec<u8>) {
        let digits = (0..self.len()).map(|place| b'0' + u8::from(self.at(place)));
        out.extend(digits);
    }

    /// Reads `101`, also with `b` in front, and of hexadecimal digits with `x`.
    ///
    /// # Errors
    /// `22P02`, `54000`.
    pub fn parse(text: &str) -> SqlResult<Bits> {
        let (width, digits, what) = match text.as_bytes().first() {
            Some(b'x' | b'X') => (4, &text[1..], "hexadecimal"),
            Some(b'b' | b'B') => (1, &text[1..], "binary"),
            _ => (1, text, "binary"),
        };
        let mut bytes = vec![0; (digits.len() * width).div_ceil(BYTE)];
        for (place, digit) in digits.chars().enumerate() {
            let value = digit.to_digit(1 << width).ok_or_else(|| {
                let message = format!("\"{digit}\" is not a valid {what} digit");
                SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
            })?;
            let first = place * width;
            bytes[first / BYTE] |= (value as u8) << (BYTE - width - first % BYTE);
        }
        Bits::new(digits.len() * width, &bytes)
    }

    /// The lowest bits of a number, filled up with its sign.
    ///
    /// # Errors
    /// `54000`.
    pub fn of_integer(number: i64, count: usize) -> SqlResult<Bits> {
        const ALL: usize = i64::BITS as usize;
        let whole = Bits::new(ALL, &number.to_be_bytes())?;
        if count <= ALL {
            return Ok(whole.slice(ALL - count, count));
        }
        let more = count.min(BITS_MAX + 1) - ALL;
        let sign = if number < 0 { u8::MAX } else { 0 };
        Bits::new(more, &vec![sign; more.div_ceil(BYTE)])?.join(&whole)
    }

    /// As many as there are, as the lowest of a number without a sign; `None` if it has no room for them.
    pub fn to_integer(&self) -> Option<u64> {
        let number = |sum: u64, place| sum << 1 | u64::from(self.at(place));
        (self.len() <= u64::BITS as usize).then(|| (0..self.len()).fold(0, number))
    }

    /// What a `bit(count)` column holds. A cast cuts and fills up, everything else refuses.
    ///
    /// # Errors
    /// `22026`.
    pub fn fit(self, count: usize, explicit: bool) -> SqlResult<Bits> {
        let own = self.len();
        if own == count {
            return Ok(self);
        }
        if !explicit {
            let message = format!("bit string length {own} does not match type bit({count})");
            return Err(SqlError::new(
                SqlState::STRING_DATA_LENGTH_MISMATCH,
                message,
            ));
        }
        if own > count {
            return Ok(self.slice(0, count));
        }
        let mut bytes = self.bytes().to_vec();
        bytes.resize(count.div_ceil(BYTE), 0);
        Bits::new(count, &bytes)
    }

    /// What a `bit varying(most)` column holds. A cast cuts, everything else refuses.
    ///
    /// # Errors
    /// `22001`.
    pub fn fit_varying(self, most: usize, explicit: bool) -> SqlResult<Bits> {
        if self.len() <= most {
            return Ok(self);
        }
        if !explicit {
            let message = format!("bit string too long for type bit varying({most})");
            return Err(SqlError::new(
                SqlState::STRING_DATA_RIGHT_TRUNCATION,
                message,
            ));
        }
        Ok(self.slice(0, most))
    }
}
