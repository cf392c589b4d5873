//! What operators and functions do to strings of bits.

use super::{BYTE, Bits};
use crate::error::{SqlError, SqlResult, SqlState};

fn negative_length() -> SqlError {
    SqlError::new(
        SqlState::SUBSTRING_ERROR,
        "negative substring length not allowed",
    )
}

impl Bits {
    /// Some of the bits that it has.
    pub(super) fn slice(&self, from: usize, count: usize) -> Bits {
        let (first, by) = (from / BYTE, from % BYTE);
        let all = self.bytes();
        let byte = |place: usize| {
            let high = u16::from(all[first + place]) << BYTE;
            let low = u16::from(all.get(first + place + 1).copied().unwrap_or(0));
            ((high | low) << by >> BYTE) as u8
        };
        let bytes: Vec<u8> = (0..count.div_ceil(BYTE)).map(byte).collect();
        Bits::new(count, &bytes).expect("no longer than what it is a part of")
    }

    /// `||`.
    ///
    /// # Errors
    /// `54000`.
    pub fn join(&self, other: &Bits) -> SqlResult<Bits> {
        let (own, count) = (self.len(), self.len() + other.len());
        let by = own % BYTE;
        let mut bytes = self.bytes().to_vec();
        for byte in other.bytes() {
            match bytes.last_mut() {
                Some(last) if by > 0 => {
                    *last |= byte >> by;
                    bytes.push(byte << (BYTE - by));
                }
                _ => bytes.push(*byte),
            }
        }
        bytes.truncate(count.div_ceil(BYTE));
        Bits::new(count, &bytes)
    }

    fn zeros(count: usize) -> Bits {
        Bits::new(count, &vec![0; count.div_ceil(BYTE)]).expect("as many as another has")
    }

    fn combine(&self, other: &Bits, word: &str, with: fn(u8, u8) -> u8) -> SqlResult<Bits> {
        if self.len() != other.len() {
            let message = format!("cannot {word} bit strings of different sizes");
            return Err(SqlError::new(
                SqlState::STRING_DATA_LENGTH_MISMATCH,
                message,
            ));
        }
        let both = self.bytes().iter().zip(other.bytes());
        let bytes: Vec<u8> = both.map(|(a, b)| with(*a, *b)).collect();
        Bits::new(self.len(), &bytes)
    }

    /// `&`.
    ///
    /// # Errors
    /// `22026` if one is longer.
    pub fn and(&self, other: &Bits) -> SqlResult<Bits> {
        self.combine(other, "AND", |a, b| a & b)
    }

    /// `|`.
    ///
    /// # Errors
    /// As [`Bits::and`].
    pub fn or(&self, other: &Bits) -> SqlResult<Bits> {
        self.combine(other, "OR", |a, b| a | b)
    }

    /// `#`.
    ///
    /// # Errors
    /// As [`Bits::and`].
    pub fn xor(&self, other: &Bits) -> SqlResult<Bits> {
        self.combine(other, "XOR", |a, b| a ^ b)
    }

    /// `~`.
    pub fn invert(&self) -> Bits {
        let bytes: Vec<u8> = self.bytes().iter().map(|byte| !byte).collect();
        Bits::new(self.len(), &bytes).expect("as long as before")
    }

    /// `>>`; below zero the other way.
    pub fn shift(&self, by: i32) -> Bits {
        let own = self.len();
        let gone = (by.unsigned_abs() as usize).min(own);
        let zeros = Bits::zeros(gone);
        let joined = match by >= 0 {
            true => zeros.join(&self.slice(0, own - gone)),
            false => self.slice(gone, own - gone).join(&zeros),
        };
        joined.expect("as long as before")
    }

    /// `substring`, counted from 1; places that it does not have count as well.
    ///
    /// # Errors
    /// `22011` for a length below zero.
    pub fn substring(&self, start: i32, count: Option<i32>) -> SqlResult<Bits> {
        let own = self.len() as i64;
        let start = i64::from(start) - 1;
        let end = match count {
            Some(count) if count < 0 => return Err(negative_length()),
            Some(count) => (start + i64::from(count)).min(own),
            None => own,
        };
        let start = start.max(0);
        Ok(match end > start {
            true => self.slice(start as usize, (end - start) as usize),
            false => Bits::zeros(0),
        })
    }

    /// `overlay`: another in the place of some, counted from 1.
    ///
    /// # Errors
    /// `22011` for a place before the first; `22003`, `54000`.
    pub fn overlay(&self, other: &Bits, start: i32, count: i32) -> SqlResult<Bits> {
        if start <= 0 {
            return Err(negative_length());
        }
        let rest = start.checked_add(count).ok_or_else(|| {
            SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range")
        })?;
        let before = self.substring(1, Some(start - 1))?;
        before.join(other)?.join(&self.substring(rest, None)?)
    }

    /// `position`: where another is first found, counted from 1; 0 if nowhere.
    pub fn position(&self, wanted: &Bits) -> usize {
        let (own, count) = (self.len(), wanted.len());
        if own == 0 || count > own {
            return 0;
        }
        let is_there = |from: &usize| (0..count).all(|n| self.at(from + n) == wanted.at(n));
        (0..=own - count).find(is_there).map_or(0, |from| from + 1)
    }

    /// The place, if there is such a one.
    fn place(&self, place: i32) -> SqlResult<usize> {
        let found = usize::try_from(place).ok();
        found.filter(|place| *place < self.len()).ok_or_else(|| {
            let last = self.len() as i64 - 1;
            let message = format!("bit index {place} out of valid range (0..{last})");
            SqlError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
        })
    }

    /// `get_bit`, counted from 0.
    ///
    /// # Errors
    /// `2202E` for a place that it does not have.
    pub fn get(&self, place: i32) -> SqlResult<bool> {
        Ok(self.at(self.place(place)?))
    }

    /// `set_bit`.
    ///
    /// # Errors
    /// As [`Bits::get`]; `22023` if the new one is neither 0 nor 1.
    pub fn set(&self, place: i32, bit: i32) -> SqlResult<Bits> {
        let place = self.place(place)?;
        let mut bytes = self.bytes().to_vec();
        let mask = 1 << (BYTE - 1 - place % BYTE);
        match bit {
            0 => bytes[place / BYTE] &= !mask,
            1 => bytes[place / BYTE] |= mask,
            _ => {
                return Err(SqlError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    "new bit must be 0 or 1",
                ));
            }
        }
        Bits::new(self.len(), &bytes)
    }

    /// How many are set.
    pub fn count_ones(&self) -> i64 {
        let ones = self.bytes().iter().map(|byte| i64::from(byte.count_ones()));
        ones.sum()
    }
}
