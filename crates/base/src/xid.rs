//! `xid`, a number of 32 bits without order.
//!
//! Relies on: nothing.  Promises: reads whatever PostgreSQL 15 reads, which is any text: as many digits as it begins with, in the
//! base that `0` and `0x` say, and 0 where there are none.  Does not: say whose number it is.

/// Reads a text, beyond 64 bits as the greatest number and down to 32 bits as they are.
pub fn read(text: &str) -> u32 {
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}');
    let (negative, text) = match text.strip_prefix('-') {
        Some(behind) => (true, behind),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let hex = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))
        .filter(|digits| digits.starts_with(|c: char| c.is_ascii_hexdigit()));
    let (base, digits) = match hex {
        Some(digits) => (16, digits),
        None if text.starts_with('0') => (8, text),
        None => (10, text),
    };
    let mut number = Some(0u64);
    for digit in digits.chars().map_while(|c| c.to_digit(base)) {
        number = number
            .and_then(|number| number.checked_mul(u64::from(base)))
            .and_then(|number| number.checked_add(u64::from(digit)));
    }
    match (number, negative) {
        (None, _) => u32::MAX,
        (Some(number), false) => number as u32,
        (Some(number), true) => number.wrapping_neg() as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn any_text_is_read() {
        for (text, number) in [
            ("", 0),
            ("42", 42),
            (" 0xfg", 15),
            ("0x", 0),
            ("010", 8),
            ("089", 0),
            ("-1", u32::MAX),
            ("4294967296", 0),
            ("99999999999999999999", u32::MAX),
            ("7 apples", 7),
            ("none", 0),
        ] {
            assert_eq!(read(text), number, "{text}");
        }
    }
}
