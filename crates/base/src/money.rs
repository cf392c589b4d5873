//! `money`: an amount of dollars and cents, as PostgreSQL has it where `lc_monetary` is `C`.
//!
//! Relies on: nothing.  Promises: reads what PostgreSQL 15 reads, prints what it prints (`-$1,234.50`), and refuses a result
//! of more than 64 bits of cents.  Does not: know other currencies, or settings of the session.

use crate::error::{SqlError, SqlResult, SqlState};
use crate::numeric::Numeric;

/// Digits behind the point.
const SCALE: u16 = 2;
/// Cents in a dollar.
pub const CENTS: i64 = 100;

fn invalid(text: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type money: \"{text}\""),
    )
}

fn out_of_range() -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "money out of range".to_string(),
    )
}

/// What is still to be read of an amount.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn blanks(&mut self) {
        while self
            .0
            .first()
            .is_some_and(|byte| crate::text_format::is_blank(*byte))
        {
            self.0 = &self.0[1..];
        }
    }

    fn takes(&mut self, byte: u8) -> bool {
        let found = self.0.first() == Some(&byte);
        if found {
            self.0 = &self.0[1..];
        }
        found
    }
}

/// Reads an amount: the sign may be before it, behind it or be parentheses, the `$` on either side; commas are passed over
/// wherever they stand among digits. The third digit behind the point rounds, further ones are not looked at.
///
/// # Errors
/// `22P02` for what is no amount, `22003` for one of more than 64 bits.
pub fn parse(text: &str) -> SqlResult<i64> {
    let mut rest = Rest(text.as_bytes());
    rest.blanks();
    rest.takes(b'$');
    rest.blanks();
    let mut negative = rest.takes(b'-') || rest.takes(b'(');
    if !negative {
        rest.takes(b'+');
    }
    rest.blanks();
    rest.takes(b'$');
    rest.blanks();

    let refuse = || {
        SqlError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value \"{text}\" is out of range for type money"),
        )
    };
    // Below zero there is one cent more.
    let mut cents: i64 = 0;
    let mut shift = |digit: u8| {
        cents = (cents.checked_mul(10))
            .and_then(|cents| cents.checked_sub(i64::from(digit)))
            .ok_or_else(refuse)?;
        Ok::<(), SqlError>(())
    };
    let mut behind = None;
    while let Some((&byte, after)) = rest.0.split_first() {
        match byte {
            b'0'..=b'9' if behind != Some(SCALE) => {
                shift(byte - b'0')?;
                behind = behind.map(|count: u16| count + 1);
            }
            b'.' if behind.is_none() => behind = Some(0),
            b',' => {}
            _ => break,
        }
        rest.0 = after;
    }
    for _ in behind.unwrap_or(0)..SCALE {
        shift(0)?;
    }
    if matches!(rest.0.first(), Some(b'5'..=b'9')) {
        cents = cents.checked_sub(1).ok_or_else(refuse)?;
    }
    while let [b'0'..=b'9', after @ ..] = rest.0 {
        rest.0 = after;
    }
    for &byte in rest.0 {
        match byte {
            b'-' => negative = true,
            b')' | b'+' | b'$' => {}
            byte if crate::text_format::is_blank(byte) => {}
            _ => return Err(invalid(text)),
        }
    }
    match negative {
        true => Ok(cents),
        false => cents.checked_neg().ok_or_else(refuse),
    }
}

/// Appends an amount as it is printed.
pub fn write(cents: i64, out: &mut Vec<u8>) {
    if cents < 0 {
        out.push(b'-');
    }
    out.push(b'$');
    let cents = cents.unsigned_abs();
    let dollars = (cents / CENTS as u64).to_string();
    for (place, digit) in dollars.bytes().enumerate() {
        if place > 0 && (dollars.len() - place).is_multiple_of(3) {
            out.push(b',');
        }
        out.push(digit);
    }
    let fraction = cents % CENTS as u64;
    out.extend_from_slice(format!(".{fraction:02}").as_bytes());
}

/// The sum of two amounts.
///
/// # Errors
/// `22003` if it has more than 64 bits.
pub fn add(left: i64, right: i64) -> SqlResult<i64> {
    left.checked_add(right).ok_or_else(out_of_range)
}

/// The difference of two amounts.
///
/// # Errors
/// As [`add`].
pub fn subtract(left: i64, right: i64) -> SqlResult<i64> {
    left.checked_sub(right).ok_or_else(out_of_range)
}

/// So many times an amount.
///
/// # Errors
/// As [`add`].
pub fn multiply(cents: i64, by: i64) -> SqlResult<i64> {
    cents.checked_mul(by).ok_or_else(out_of_range)
}

/// A part of an amount; what is less than a cent is cut off.
///
/// # Errors
/// `22012` if the divisor is zero, `22003` for the quotient of the lowest amount by -1, which PostgreSQL does not get to see.
pub fn divide(cents: i64, by: i64) -> SqlResult<i64> {
    match by {
        0 => Err(division_by_zero()),
        by => cents.checked_div(by).ok_or_else(out_of_range),
    }
}

/// What a multiplication or division by a float comes to, in cents; half a cent goes to the even one.
///
/// # Errors
/// As [`add`], also for NaN.
pub fn rounded(cents: f64) -> SqlResult<i64> {
    // 2^63 is exact in a double, and the first one too large.
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    let cents = cents.round_ties_even();
    match (-BOUND..BOUND).contains(&cents) {
        true => Ok(cents as i64),
        false => Err(out_of_range()),
    }
}

/// The error of a divisor that is zero.
pub fn division_by_zero() -> SqlError {
    SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero".to_string())
}

/// An amount as a number of dollars.
pub fn to_numeric(cents: i64) -> Numeric {
    Numeric::from_short(cents, SCALE)
}

/// A number of dollars as an amount; half a cent goes away from zero.
///
/// # Errors
/// `22003` if it has more than 64 bits of cents, `0A000` for NaN and the infinities.
pub fn from_numeric(dollars: &Numeric) -> SqlResult<i64> {
    if !dollars.is_finite() {
        let what = if dollars.is_nan() { "NaN" } else { "infinity" };
        let message = format!("cannot convert {what} to bigint");
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let cents = dollars.mul(&Numeric::from_i64(CENTS))?;
    cents.to_i64().ok_or_else(bigint_out_of_range)
}

/// Whole dollars as an amount.
///
/// # Errors
/// `22003` if it has more than 64 bits of cents.
pub fn from_integer(dollars: i64) -> SqlResult<i64> {
    dollars.checked_mul(CENTS).ok_or_else(bigint_out_of_range)
}

fn bigint_out_of_range() -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "bigint out of range".to_string(),
    )
}

/// An amount in English, with PostgreSQL's blanks.
pub fn in_words(cents: i64) -> String {
    const POWERS: [(u64, &str); 5] = [
        (1_000_000_000_000_000, "quadrillion"),
        (1_000_000_000_000, "trillion"),
        (1_000_000_000, "billion"),
        (1_000_000, "million"),
        (1_000, "thousand"),
    ];
    let absolute = cents.unsigned_abs();
    let (dollars, fraction) = (absolute / CENTS as u64, absolute % CENTS as u64);
    let mut words = String::new();
    if cents < 0 {
        words += "minus ";
    }
    for (power, name) in POWERS {
        let count = dollars / power % 1000;
        if count > 0 {
            words += &format!("{} {name} ", hundreds(count));
        }
    }
    let units = dollars % 1000;
    if units > 0 {
        words += &hundreds(units);
    }
    if dollars == 0 {
        words += "zero";
    }
    words += if dollars == 1 {
        " dollar and "
    } else {
        " dollars and "
    };
    words += &hundreds(fraction);
    words += if fraction == 1 { " cent" } else { " cents" };
    // ASCII only.
    let (first, rest) = words.split_at(1);
    first.to_ascii_uppercase() + rest
}

/// A number below a thousand.
fn hundreds(number: u64) -> String {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 10] = [
        "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    let (hundred, below) = (number / 100, number % 100);
    let of_tens = match below {
        below if below < 20 => SMALL[below as usize].to_string(),
        below if below % 10 == 0 => TENS[below as usize / 10].to_string(),
        below => format!(
            "{} {}",
            TENS[below as usize / 10],
            SMALL[below as usize % 10]
        ),
    };
    match (hundred, below) {
        (0, _) => of_tens,
        (hundred, 0) => format!("{} hundred", SMALL[hundred as usize]),
        // An "and" is said only where what follows is below twenty.
        (hundred, below) if below < 20 => {
            format!("{} hundred and {of_tens}", SMALL[hundred as usize])
        }
        (hundred, _) => format!("{} hundred {of_tens}", SMALL[hundred as usize]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(cents: i64) -> String {
        let mut out = Vec::new();
        write(cents, &mut out);
        String::from_utf8(out).unwrap()
    }

    // What is read is what PostgreSQL 15 prints for it.
    #[test]
    fn amounts_are_read_in_all_their_forms() {
        let forms = [
            ("", "$0.00"),
            ("$", "$0.00"),
            ("1.005", "$1.01"),
            ("1.0049", "$1.00"),
            ("($1,234.5)", "-$1,234.50"),
            ("- $1", "-$1.00"),
            ("$-1", "-$1.00"),
            ("1-", "-$1.00"),
            ("1-$+ )", "-$1.00"),
            ("1 $", "$1.00"),
            ("1,,2", "$12.00"),
            ("1.2,3", "$1.23"),
            ("1.23,7", "$1.24"),
            (" + 1 ", "$1.00"),
            ("-92233720368547758.08", "-$92,233,720,368,547,758.08"),
            ("92233720368547758.074", "$92,233,720,368,547,758.07"),
        ];
        for (text, expected) in forms {
            assert_eq!(shown(parse(text).unwrap()), expected, "{text}");
        }
        for text in ["--1", "1e5", "1.2.3", "(-1)", "1 2", "1-5", "x"] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.state, SqlState::INVALID_TEXT_REPRESENTATION, "{text}");
        }
        for text in [
            "92233720368547758.08",
            "92233720368547758.075",
            "-92233720368547758.085",
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.state, SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "{text}");
        }
    }

    #[test]
    fn results_of_more_than_64_bits_are_refused() {
        assert!(add(i64::MAX, 1).is_err());
        assert!(subtract(i64::MIN, 1).is_err());
        assert!(multiply(i64::MIN, -1).is_err());
        assert!(divide(i64::MIN, -1).is_err());
        assert!(divide(1, 0).is_err());
        assert!(rounded(f64::NAN).is_err());
        assert!(rounded(9.3e18).is_err());
        assert_eq!(rounded(2.5), Ok(2));
        assert!(from_integer(i64::MAX).is_err());
        assert!(from_numeric(&Numeric::parse("92233720368547758.08").unwrap()).is_err());
        assert!(from_numeric(&Numeric::NAN).is_err());
        assert_eq!(from_numeric(&Numeric::parse("-7.125").unwrap()), Ok(-713));
        assert_eq!(to_numeric(-150).to_string(), "-1.50");
    }

    #[test]
    fn amounts_are_spelled() {
        let spelled = [
            (
                123_456_789,
                "One million two hundred thirty four thousand five hundred sixty seven dollars and eighty nine cents",
            ),
            (-1, "Minus zero dollars and one cent"),
            (100, "One dollar and zero cents"),
            (100_000, "One thousand  dollars and zero cents"),
            (
                11_919,
                "One hundred and nineteen dollars and nineteen cents",
            ),
            (10_000, "One hundred dollars and zero cents"),
        ];
        for (cents, expected) in spelled {
            assert_eq!(in_words(cents), expected);
        }
    }

    proptest::proptest! {
        // Whatever is printed reads back.
        #[test]
        fn printed_amounts_read_back(cents: i64) {
            proptest::prop_assert_eq!(parse(&shown(cents)), Ok(cents));
        }
    }
}
