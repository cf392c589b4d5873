//! Sizes and time spans as people write them: `2GiB`, `512MB`, `60s`, `5min`.
//!
//! Relies on: nothing.  Promises: a number without a unit is bytes, or seconds; what is printed can
//! be read back.  Does not: take fractions, signs or unknown units.

use serde::Deserialize;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "Written")]
pub struct Size(pub u64);

/// A length of time, in whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "Written")]
pub struct Span(pub u64);

/// In a file a quantity is a string with a unit or a bare number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Text(String),
}

/// Longest first, so that printing picks the largest unit that fits evenly.
const SIZE_UNITS: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

const SPAN_UNITS: &[(&str, u64)] = &[("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)];

/// Number and unit; `default` is the unit of a bare number.
fn parse(text: &str, units: &[(&str, u64)], default: u64) -> Option<u64> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = text[digits..].trim();
    let factor = if unit.is_empty() {
        default
    } else {
        units
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))?
            .1
    };
    number.checked_mul(factor)
}

fn print(value: u64, units: &[(&str, u64)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let fits = units
        .iter()
        .find(|(_, factor)| value >= *factor && value.is_multiple_of(*factor));
    let (name, factor) = fits.copied().unwrap_or(units[units.len() - 1]);
    write!(f, "{}{name}", value / factor)
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        parse(text, SIZE_UNITS, 1).map(Size).ok_or_else(|| {
            format!("\"{text}\" is not a size; write for example 512MiB, 2GiB or 4GB")
        })
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        parse(text, SPAN_UNITS, 1000).map(Span).ok_or_else(|| {
            format!("\"{text}\" is not a time span; write for example 500ms, 30s, 5min or 1h")
        })
    }
}

impl TryFrom<Written> for Size {
    type Error = String;

    fn try_from(written: Written) -> Result<Size, String> {
        match written {
            Written::Number(bytes) => Ok(Size(bytes)),
            Written::Text(text) => text.parse(),
        }
    }
}

impl TryFrom<Written> for Span {
    type Error = String;

    fn try_from(written: Written) -> Result<Span, String> {
        match written {
            Written::Number(seconds) => seconds.to_string().parse(),
            Written::Text(text) => text.parse(),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self.0, SIZE_UNITS, f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self.0, SPAN_UNITS, f)
    }
}

impl Span {
    /// As the standard library's type; zero means "no limit" to whoever takes a limit.
    pub fn limit(self) -> Option<Duration> {
        (self.0 > 0).then(|| Duration::from_millis(self.0))
    }

    /// As the standard library's type.
    pub fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

/// Bytes for eyes: three digits and a binary unit.
pub fn approximate(bytes: u64) -> String {
    let unit = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match unit.iter().find(|(_, factor)| bytes >= *factor) {
        Some((name, factor)) => format!("{:.1} {name}", bytes as f64 / *factor as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("2GiB", 2 << 30),
            ("2 gib", 2 << 30),
            ("512MB", 512_000_000),
            ("1TiB", 1 << 40),
            ("7b", 7),
        ] {
            assert_eq!(text.parse::<Size>(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "GiB", "-1", "1.5GiB", "2 giga", "99999999999TiB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn spans_are_read_with_their_units() {
        for (text, milliseconds) in [
            ("0", 0),
            ("60", 60_000),
            ("500ms", 500),
            ("5min", 300_000),
            ("2h", 7_200_000),
        ] {
            assert_eq!(text.parse::<Span>(), Ok(Span(milliseconds)), "{text}");
        }
        assert!("5 weeks".parse::<Span>().is_err());
        assert_eq!(Span(0).limit(), None);
    }

    #[test]
    fn what_is_printed_can_be_read_back() {
        for bytes in [0, 1, 1000, 1024, 1_500_000, 2 << 30, 3_000_000_000_000] {
            assert_eq!(Size(bytes).to_string().parse(), Ok(Size(bytes)));
        }
        for milliseconds in [0, 1, 1500, 60_000, 3_600_000] {
            assert_eq!(
                Span(milliseconds).to_string().parse(),
                Ok(Span(milliseconds))
            );
        }
        assert_eq!(Size(2 << 30).to_string(), "2GiB");
        assert_eq!(approximate(1_610_612_736), "1.5 GiB");
    }
}
