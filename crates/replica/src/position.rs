//! A place in a server's write-ahead log.
//!
//! Relies on: nothing.  Promises: printed and read as PostgreSQL does it, `16/B374D848`.
//! Does not: compare places of different servers, which means nothing.

use std::fmt;

/// Bytes from the beginning of one server's write-ahead log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct WalPosition(pub u64);

impl WalPosition {
    /// Before everything; as something to confirm: nothing.
    pub const ZERO: WalPosition = WalPosition(0);

    /// Reads what PostgreSQL prints.
    pub fn parse(text: &str) -> Option<WalPosition> {
        let (high, low) = text.split_once('/')?;
        let high = u32::from_str_radix(high, 16).ok()?;
        let low = u32::from_str_radix(low, 16).ok()?;
        Some(WalPosition(u64::from(high) << 32 | u64::from(low)))
    }
}

impl fmt::Display for WalPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_reads_as_it_is_printed() {
        for number in [0, 1, 0xFFFF_FFFF, 0x16_B374_D848, u64::MAX] {
            let position = WalPosition(number);
            assert_eq!(WalPosition::parse(&position.to_string()), Some(position));
        }
        assert_eq!(WalPosition(0x16_B374_D848).to_string(), "16/B374D848");
        for text in ["", "16", "16/", "x/1", "1/100000000"] {
            assert_eq!(WalPosition::parse(text), None, "{text}");
        }
    }
}
