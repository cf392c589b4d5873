//! Addresses of the internet, networks of them, and of network cards.
//!
//! Relies on: `network::text` for how they are read and written.  Promises: PostgreSQL's `inet`, `cidr` and `macaddr`:
//! what is refused, the order, and what arithmetic gives.  Does not: look up names, or read addresses of eight bytes.
//!
//! An `inet` is an address and how many of its leading bits name the network; a `cidr` is one whose other bits are zero.

mod text;

use crate::error::{SqlError, SqlResult, SqlState};
use std::cmp::Ordering;

/// The two kinds of addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Family {
    /// Of 32 bits.
    V4,
    /// Of 128 bits.
    V6,
}

impl Family {
    /// Bytes of an address.
    pub fn bytes(self) -> usize {
        match self {
            Family::V4 => 4,
            Family::V6 => 16,
        }
    }

    /// Bits of an address.
    pub fn bits(self) -> u8 {
        match self {
            Family::V4 => 32,
            Family::V6 => 128,
        }
    }

    /// The number that stands for it on the wire and in hashes.
    pub fn code(self) -> u8 {
        match self {
            Family::V4 => 2,
            Family::V6 => 3,
        }
    }

    /// The family of a number.
    pub fn from_code(code: u8) -> Option<Family> {
        [Family::V4, Family::V6]
            .into_iter()
            .find(|family| family.code() == code)
    }
}

/// An `inet` or a `cidr`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Inet {
    family: Family,
    bits: u8,
    is_cidr: bool,
    /// Of the smaller family the first four, the others zero.
    bytes: [u8; 16],
}

fn refuse(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn out_of_range() -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "result is out of range",
    )
}

impl Inet {
    /// An address of as many bytes as its family has, with a length of the network within them; `None` if they are not.
    pub fn new(family: Family, address: &[u8], bits: u8) -> Option<Inet> {
        if address.len() != family.bytes() || bits > family.bits() {
            return None;
        }
        let mut bytes = [0; 16];
        bytes[..address.len()].copy_from_slice(address);
        Some(Inet {
            family,
            bits,
            is_cidr: false,
            bytes,
        })
    }

    /// The address as a number, in the lowest bits.
    fn number(self) -> u128 {
        u128::from_be_bytes(self.bytes) >> (128 - u32::from(self.family.bits()))
    }

    /// The same with another address, of which the family's bits count; an `inet`.
    fn with_number(self, number: u128) -> Inet {
        Inet {
            is_cidr: false,
            bytes: (number << (128 - u32::from(self.family.bits()))).to_be_bytes(),
            ..self
        }
    }

    /// All bits of the family.
    fn all(self) -> u128 {
        u128::MAX >> (128 - u32::from(self.family.bits()))
    }

    /// The bits behind those of the network.
    fn host_bits(self) -> u128 {
        self.all().checked_shr(u32::from(self.bits)).unwrap_or(0)
    }

    /// Its family.
    pub fn family(self) -> Family {
        self.family
    }

    /// How many bits name the network.
    pub fn bits(self) -> u8 {
        self.bits
    }

    /// True of a `cidr`.
    pub fn is_cidr(self) -> bool {
        self.is_cidr
    }

    /// The address, as long as its family has it.
    pub fn address(&self) -> &[u8] {
        &self.bytes[..self.family.bytes()]
    }

    /// The same as an `inet`.
    pub fn as_inet(self) -> Inet {
        Inet {
            is_cidr: false,
            ..self
        }
    }

    /// As a `cidr`, if no bit is set behind the network's.
    pub fn exact_cidr(self) -> Option<Inet> {
        (self.number() & self.host_bits() == 0).then_some(Inet {
            is_cidr: true,
            ..self
        })
    }

    /// The network that the address is in, a `cidr`.
    pub fn network(self) -> Inet {
        Inet {
            is_cidr: true,
            ..self.with_number(self.number() & !self.host_bits())
        }
    }

    /// The network's last address.
    pub fn broadcast(self) -> Inet {
        self.with_number(self.number() | self.host_bits())
    }

    /// The bits of the network as an address.
    pub fn netmask(self) -> Inet {
        self.whole(self.all() & !self.host_bits())
    }

    /// The other bits as an address.
    pub fn hostmask(self) -> Inet {
        self.whole(self.host_bits())
    }

    fn whole(self, number: u128) -> Inet {
        Inet {
            bits: self.family.bits(),
            ..self.with_number(number)
        }
    }

    /// The same with another length of the network, -1 for the greatest; a `cidr` loses what lies behind it.
    ///
    /// # Errors
    /// `22023` for a length that the family does not have.
    pub fn with_bits(self, bits: i32) -> SqlResult<Inet> {
        let given = match bits {
            -1 => Some(self.family.bits()),
            bits => u8::try_from(bits)
                .ok()
                .filter(|bits| *bits <= self.family.bits()),
        };
        let bits = given.ok_or_else(|| refuse(format!("invalid mask length: {bits}")))?;
        let changed = Inet { bits, ..self };
        Ok(match self.is_cidr {
            true => changed.network(),
            false => changed,
        })
    }

    /// The smallest network that both are in.
    ///
    /// # Errors
    /// `22023` for two families.
    pub fn merge(self, other: Inet) -> SqlResult<Inet> {
        if self.family != other.family {
            return Err(refuse("cannot merge addresses from different families"));
        }
        let bits = self.shared_bits(other).min(self.bits).min(other.bits);
        Ok(Inet { bits, ..self }.network())
    }

    /// How many leading bits of two addresses of one family are the same.
    fn shared_bits(self, other: Inet) -> u8 {
        let differ = u128::from_be_bytes(self.bytes) ^ u128::from_be_bytes(other.bytes);
        // At most 128, and of the smaller family no more than it has.
        (differ.leading_zeros() as u8).min(self.family.bits())
    }

    /// Whether the other, as a network, lies within this one or is the same.
    pub fn contains_or_equals(self, other: Inet) -> bool {
        self.bits <= other.bits && self.overlaps(other)
    }

    /// Whether the other, as a network, lies within this one, which is larger.
    pub fn contains(self, other: Inet) -> bool {
        self.bits < other.bits && self.overlaps(other)
    }

    /// Whether one network lies within the other.
    pub fn overlaps(self, other: Inet) -> bool {
        self.family == other.family && self.shared_bits(other) >= self.bits.min(other.bits)
    }

    /// Order by family, by the bits that both networks have, by the length of the network, and by what is left.
    pub fn order(self, other: Inet) -> Ordering {
        let network = |inet: Inet| inet.number() & !inet.host_bits();
        // The shorter of two networks that lie within each other has zeros where the longer one may not, so the networks'
        // addresses decide as the bits do that both have.
        (self.family.cmp(&other.family))
            .then_with(|| network(self).cmp(&network(other)))
            .then_with(|| self.bits.cmp(&other.bits))
            .then_with(|| self.number().cmp(&other.number()))
    }

    /// Every bit of the address turned.
    pub fn invert(self) -> Inet {
        self.with_number(!self.number())
    }

    /// The bits that both addresses have.
    ///
    /// # Errors
    /// `22023` for two families.
    pub fn and(self, other: Inet) -> SqlResult<Inet> {
        self.combined(other, "AND", |a, b| a & b)
    }

    /// The bits that either address has.
    ///
    /// # Errors
    /// `22023` for two families.
    pub fn or(self, other: Inet) -> SqlResult<Inet> {
        self.combined(other, "OR", |a, b| a | b)
    }

    fn combined(self, other: Inet, word: &str, with: fn(u128, u128) -> u128) -> SqlResult<Inet> {
        if self.family != other.family {
            let message = format!("cannot {word} inet values of different sizes");
            return Err(refuse(message));
        }
        let bits = self.bits.max(other.bits);
        Ok(Inet { bits, ..self }.with_number(with(self.number(), other.number())))
    }

    /// The address so far behind this one, or before it.
    ///
    /// # Errors
    /// `22003` if there is none.
    pub fn moved(self, by: i128) -> SqlResult<Inet> {
        let moved = self.number().checked_add_signed(by);
        let moved = moved.filter(|number| *number <= self.all());
        Ok(self.with_number(moved.ok_or_else(out_of_range)?))
    }

    /// How far this address is behind another.
    ///
    /// # Errors
    /// `22023` for two families, `22003` if it is further than a bigint says.
    pub fn distance(self, other: Inet) -> SqlResult<i64> {
        if self.family != other.family {
            return Err(refuse("cannot subtract inet values of different sizes"));
        }
        let (a, b) = (self.number(), other.number());
        let size = i128::try_from(a.abs_diff(b)).map_err(|_| out_of_range())?;
        let signed = if a < b { -size } else { size };
        i64::try_from(signed).map_err(|_| out_of_range())
    }
}

/// An address of a network card.
pub type MacAddr = [u8; 6];

pub use text::{
    abbreviated, host, parse_cidr, parse_inet, parse_mac, with_length, write, write_mac,
};

#[cfg(test)]
mod tests;
