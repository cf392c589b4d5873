//! Exact decimal numbers with PostgreSQL's rules for scale.
//!
//! Relies on: `integer`, which holds mantissas of any size.  Promises: prints what PostgreSQL
//! prints, digit for digit, for addition, subtraction, multiplication, division, remainder,
//! rounding and square roots; equality, order and hash go by value, so `1.0 = 1.00`; no input makes
//! it panic or grow without bound.  Does not: know columns; precision and scale of a column are
//! applied with [`Numeric::apply_typmod`].
//!
//! A number is `mantissa / 10^scale` with a scale of 0 to 16383, which is also the number of digits
//! printed after the point: `1.10` is mantissa 110, scale 2. NaN and the infinities are beside it.
//!
//! Stored form ([`Numeric::to_bytes`]), canonical: equal bytes if and only if same value and scale.
//! ```text
//! byte 0     0..=63  finite, and this is the scale
//!            64      finite, scale in bytes 1..3 (u16 LE, at least 64)
//!            65 NaN   66 -Infinity   67 Infinity; nothing follows
//!            others are free for later forms
//! then       mantissa, two's complement, little-endian, shortest; nothing for zero
//! ```

mod arithmetic;
mod functions;
mod integer;

use crate::error::{SqlError, SqlResult, SqlState};
use integer::{Integer, Rounding};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Most digits before the decimal point, as in PostgreSQL.
pub const INTEGER_DIGITS_MAX: u32 = 131_072;

/// Most digits after the decimal point, as in PostgreSQL.
pub const SCALE_MAX: u16 = 16_383;

/// The furthest `round` and `trunc` look on either side of the point, as in PostgreSQL.
const RESULT_SCALE_MAX: i32 = 2_000;

/// Stored forms beyond the short scale; see the table above.
const FORM_LONG_SCALE: u8 = 64;
const FORM_NAN: u8 = 65;
const FORM_NEGATIVE_INFINITY: u8 = 66;
const FORM_INFINITY: u8 = 67;

/// PostgreSQL's `numeric`: 16 bytes, and no others for what most columns hold.
#[derive(Clone)]
pub struct Numeric(Kept);

/// How a number is kept. A finite one is `Short` if it can be.
#[derive(Clone)]
enum Kept {
    Short { mantissa: i64, scale: u16 },
    Long(Box<(Integer, u16)>),
    NegativeInfinity,
    Infinity,
    NaN,
}

const _: () = assert!(size_of::<Numeric>() == 16);

/// How it is computed with. The order of the variants is not the order of values; `cmp` ranks them.
#[derive(Clone)]
enum Form {
    Finite { mantissa: Integer, scale: u16 },
    NegativeInfinity,
    Infinity,
    NaN,
}

/// Bytes of the shortest two's complement; none for zero.
#[inline]
fn short_len(value: i64) -> usize {
    // One bit says the sign.
    let bits = 65 - (value ^ (value >> 63)).leading_zeros() as usize;
    match value {
        0 => 0,
        _ => bits.div_ceil(8),
    }
}

pub(crate) fn overflow() -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "value overflows numeric format",
    )
}

impl Numeric {
    /// Zero, scale 0.
    pub const ZERO: Numeric = Numeric(Kept::Short {
        mantissa: 0,
        scale: 0,
    });
    /// One, scale 0.
    pub const ONE: Numeric = Numeric(Kept::Short {
        mantissa: 1,
        scale: 0,
    });
    /// Not a number: equal to itself, above everything else.
    pub const NAN: Numeric = Numeric(Kept::NaN);
    /// Above every finite number.
    pub const INFINITY: Numeric = Numeric(Kept::Infinity);
    /// Below every finite number.
    pub const NEGATIVE_INFINITY: Numeric = Numeric(Kept::NegativeInfinity);

    /// Mantissa and scale, if it is finite and the mantissa fits.
    #[inline]
    pub fn as_short(&self) -> Option<(i64, u16)> {
        self.short()
    }

    /// The inverse of [`Numeric::as_short`]; the scale is at most [`SCALE_MAX`].
    #[inline]
    pub fn from_short(mantissa: i64, scale: u16) -> Numeric {
        debug_assert!(scale <= SCALE_MAX, "a scale of {scale}");
        Numeric(Kept::Short { mantissa, scale })
    }

    /// As [`Numeric::from_bytes`], for what is kept short; `None`: it is not, or is damaged.
    #[inline]
    pub fn short_from_bytes(bytes: &[u8]) -> Option<(i64, u16)> {
        let (&scale, rest) = bytes.split_first()?;
        if scale >= FORM_LONG_SCALE || rest.len() > 8 {
            return None;
        }
        let sign = match rest.last() {
            Some(last) if *last >= 0x80 => -1,
            _ => 0,
        };
        let bytes = rest.iter().rev();
        let mantissa = bytes.fold(sign, |wide: i64, byte| wide << 8 | i64::from(*byte));
        (short_len(mantissa) == rest.len()).then_some((mantissa, u16::from(scale)))
    }

    /// Appends the stored form of a number that is kept short.
    #[inline]
    pub fn write_short(mantissa: i64, scale: u16, out: &mut Vec<u8>) {
        match u8::try_from(scale) {
            Ok(scale) if scale < FORM_LONG_SCALE => out.push(scale),
            _ => {
                out.push(FORM_LONG_SCALE);
                out.extend_from_slice(&scale.to_le_bytes());
            }
        }
        out.extend_from_slice(&mantissa.to_le_bytes()[..short_len(mantissa)]);
    }

    #[inline]
    fn short(&self) -> Option<(i64, u16)> {
        match self.0 {
            Kept::Short { mantissa, scale } => Some((mantissa, scale)),
            _ => None,
        }
    }

    fn small(mantissa: i128, scale: u16) -> Numeric {
        Numeric::of(Integer::Small(mantissa), scale)
    }

    fn of(mantissa: Integer, scale: u16) -> Numeric {
        Numeric(match mantissa.to_i64() {
            Some(mantissa) => Kept::Short { mantissa, scale },
            None => Kept::Long(Box::new((mantissa, scale))),
        })
    }

    fn form(&self) -> Form {
        match &self.0 {
            Kept::Short { mantissa, scale } => Form::Finite {
                mantissa: Integer::Small(i128::from(*mantissa)),
                scale: *scale,
            },
            Kept::Long(long) => Form::Finite {
                mantissa: long.0.clone(),
                scale: long.1,
            },
            Kept::NegativeInfinity => Form::NegativeInfinity,
            Kept::Infinity => Form::Infinity,
            Kept::NaN => Form::NaN,
        }
    }

    /// A finite number, refused if it has more digits than the format holds.
    fn finite(mantissa: Integer, scale: u32) -> SqlResult<Numeric> {
        let scale_u16 = u16::try_from(scale).map_err(|_| overflow())?;
        if scale_u16 > SCALE_MAX {
            return Err(overflow());
        }
        // A small mantissa has at most 39 digits: only a big one can be too long.
        if matches!(mantissa, Integer::Big(_)) && mantissa.digits() > INTEGER_DIGITS_MAX + scale {
            return Err(overflow());
        }
        Ok(Numeric::of(mantissa, scale_u16))
    }

    /// An integer, scale 0.
    pub fn from_i64(value: i64) -> Numeric {
        Numeric::small(i128::from(value), 0)
    }

    /// An integer, scale 0.
    pub fn from_i128(value: i128) -> Numeric {
        Numeric::small(value, 0)
    }

    /// `mantissa / 10^scale`: `from_parts(110, 2)` is `1.10`.
    ///
    /// # Errors
    /// `22003` if the scale is beyond [`SCALE_MAX`].
    pub fn from_parts(mantissa: i128, scale: u16) -> SqlResult<Numeric> {
        Numeric::finite(Integer::Small(mantissa), u32::from(scale))
    }

    /// A double rounded to 15 significant digits, as PostgreSQL's cast does.
    pub fn from_f64(value: f64) -> Numeric {
        Numeric::from_scientific(value, &format!("{value:.14e}"))
    }

    /// A float rounded to 6 significant digits, as PostgreSQL's cast does.
    pub fn from_f32(value: f32) -> Numeric {
        Numeric::from_scientific(f64::from(value), &format!("{value:.5e}"))
    }

    fn from_scientific(value: f64, text: &str) -> Numeric {
        if value.is_nan() {
            return Numeric::NAN;
        }
        if value.is_infinite() {
            return if value > 0.0 {
                Numeric::INFINITY
            } else {
                Numeric::NEGATIVE_INFINITY
            };
        }
        // Trailing zeros of the digits are no information; "1.50000e3" is 1.5e3.
        let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        Numeric::parse(&format!("{digits}e{exponent}"))
            .expect("a double has at most 309 digits before and 340 after the point")
    }

    /// Reads text as PostgreSQL's input function does: blanks around, a sign, digits with a point
    /// anywhere, an exponent; or `NaN`, `Infinity`, `inf` in any case.
    ///
    /// # Errors
    /// `22P02` if it is no number, `22003` if it has too many digits.
    pub fn parse(text: &str) -> SqlResult<Numeric> {
        let invalid = || {
            SqlError::new(
                SqlState::INVALID_TEXT_REPRESENTATION,
                format!("invalid input syntax for type numeric: \"{text}\""),
            )
        };
        let body = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        let (negative, body) = match body.as_bytes().first() {
            Some(b'-') => (true, &body[1..]),
            Some(b'+') => (false, &body[1..]),
            _ => (false, body),
        };
        if body.eq_ignore_ascii_case("infinity") || body.eq_ignore_ascii_case("inf") {
            return Ok(if negative {
                Numeric::NEGATIVE_INFINITY
            } else {
                Numeric::INFINITY
            });
        }
        if body.eq_ignore_ascii_case("nan") && body.len() == text.trim().len() {
            return Ok(Numeric::NAN);
        }
        let (number, exponent) = match body.find(['e', 'E']) {
            Some(at) => (
                &body[..at],
                parse_exponent(&body[at + 1..]).ok_or_else(invalid)?,
            ),
            None => (body, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
            return Err(invalid());
        }
        // Leading zeros are stripped first, so that a long run of them is no overflow.
        let digits = format!("{}{fraction}", whole.trim_start_matches('0'));
        let scale = fraction.len() as i64 - exponent;
        if scale > i64::from(SCALE_MAX)
            || digits.len() as i64 - scale.max(0) > i64::from(INTEGER_DIGITS_MAX)
        {
            return Err(overflow());
        }
        let mut mantissa = Integer::from_digits(digits.as_bytes());
        if scale < 0 && !mantissa.is_zero() {
            if digits.len() as i64 - scale > i64::from(INTEGER_DIGITS_MAX) + SCALE_MAX as i64 {
                return Err(overflow());
            }
            mantissa = mantissa.scale_up(scale.unsigned_abs() as u32);
        }
        if negative {
            mantissa = mantissa.negate();
        }
        Numeric::finite(mantissa, scale.max(0) as u32)
    }

    /// Rounded to the nearest integer, a half away from zero; `None` if that is no `i64`.
    pub fn to_i64(&self) -> Option<i64> {
        match &self.form() {
            Form::Finite { mantissa, scale } => mantissa
                .scale_down(u32::from(*scale), Rounding::HalfAway)
                .to_i64(),
            _ => None,
        }
    }

    /// The nearest double; a number beyond the largest double gives an infinity.
    pub fn to_f64(&self) -> f64 {
        /// Integers up to here are exact in a double.
        const EXACT_INTEGER: i128 = 1 << 53;
        match &self.form() {
            // Both sides exact, so the one division rounds correctly. 10^22 is the largest power
            // of ten that a double holds exactly.
            Form::Finite {
                mantissa: Integer::Small(m),
                scale,
            } if (-EXACT_INTEGER..=EXACT_INTEGER).contains(m) && *scale <= 22 => {
                *m as f64 / 10f64.powi(i32::from(*scale))
            }
            Form::Finite { .. } => self
                .to_string()
                .parse()
                .expect("a printed number is a valid float literal"),
            Form::NegativeInfinity => f64::NEG_INFINITY,
            Form::Infinity => f64::INFINITY,
            Form::NaN => f64::NAN,
        }
    }

    /// Digits after the point, trailing zeros included; 0 for NaN and the infinities.
    pub fn scale(&self) -> u16 {
        match self.form() {
            Form::Finite { scale, .. } => scale,
            _ => 0,
        }
    }

    /// True for NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self.form(), Form::NaN)
    }

    /// True for everything but NaN and the infinities.
    pub fn is_finite(&self) -> bool {
        matches!(self.form(), Form::Finite { .. })
    }

    /// True for zero of any scale.
    pub fn is_zero(&self) -> bool {
        self.is_finite() && self.signum() == 0
    }

    /// True below zero.
    pub fn is_negative(&self) -> bool {
        self.signum() < 0
    }

    /// -1, 0 or 1; 1 for NaN, which sorts above everything.
    fn signum(&self) -> i32 {
        match &self.form() {
            Form::Finite { mantissa, .. } => mantissa.signum(),
            Form::NegativeInfinity => -1,
            Form::Infinity | Form::NaN => 1,
        }
    }

    /// The same value with the smallest scale that prints all of it.
    #[must_use]
    pub fn trim_scale(&self) -> Numeric {
        match &self.form() {
            Form::Finite { mantissa, scale } => {
                let (mantissa, stripped) = mantissa.strip_zeros(u32::from(*scale));
                Numeric::of(mantissa, scale - stripped as u16)
            }
            _ => self.clone(),
        }
    }

    /// Rounds to what a `numeric(precision, scale)` column holds; of a scale below zero, before the point.
    ///
    /// # Errors
    /// `22003` if it does not fit.
    pub fn apply_typmod(&self, precision: u16, scale: i16) -> SqlResult<Numeric> {
        let refuse = |detail: String| {
            SqlError::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                "numeric field overflow",
            )
            .detail(detail)
        };
        match &self.form() {
            Form::NaN => Ok(Numeric::NAN),
            Form::Infinity | Form::NegativeInfinity => Err(refuse(format!(
                "A field with precision {precision}, scale {scale} cannot hold an infinite value."
            ))),
            Form::Finite {
                mantissa,
                scale: own,
            } => {
                let by = i32::from(scale) - i32::from(*own);
                let mantissa = match by >= 0 {
                    true => mantissa.scale_up(by.unsigned_abs()),
                    false => mantissa.scale_down(by.unsigned_abs(), Rounding::HalfAway),
                };
                if mantissa.digits() > u32::from(precision) {
                    let whole = i32::from(precision) - i32::from(scale);
                    let bound = if whole == 0 {
                        "1".to_string()
                    } else {
                        format!("10^{whole}")
                    };
                    return Err(refuse(format!(
                        "A field with precision {precision}, scale {scale} must round to an \
                         absolute value less than {bound}."
                    )));
                }
                match u32::try_from(scale) {
                    Ok(scale) => Numeric::finite(mantissa, scale),
                    Err(_) => Numeric::finite(mantissa.scale_up(scale.unsigned_abs().into()), 0),
                }
            }
        }
    }

    /// True if [`Numeric::apply_typmod`] would give the same number. What takes longer to find out than to
    /// do is false.
    pub fn fits(&self, precision: u16, scale: i16) -> bool {
        let bound = 10_u64.checked_pow(u32::from(precision));
        self.short().is_some_and(|(mantissa, own)| {
            i32::from(own) == i32::from(scale)
                && bound.is_none_or(|bound| mantissa.unsigned_abs() < bound)
        })
    }

    /// The stored form; layout in the file header.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(12);
        self.write_bytes(&mut out);
        out
    }

    /// Appends the stored form.
    pub fn write_bytes(&self, out: &mut Vec<u8>) {
        if let Some((mantissa, scale)) = self.short() {
            return Numeric::write_short(mantissa, scale, out);
        }
        match &self.form() {
            Form::Finite { mantissa, scale } => {
                if *scale < u16::from(FORM_LONG_SCALE) {
                    out.push(*scale as u8);
                } else {
                    out.push(FORM_LONG_SCALE);
                    out.extend_from_slice(&scale.to_le_bytes());
                }
                mantissa.write_le_bytes(out);
            }
            Form::NaN => out.push(FORM_NAN),
            Form::NegativeInfinity => out.push(FORM_NEGATIVE_INFINITY),
            Form::Infinity => out.push(FORM_INFINITY),
        }
    }

    /// Reads the stored form; `None` for bytes that [`Numeric::to_bytes`] would not have written.
    pub fn from_bytes(bytes: &[u8]) -> Option<Numeric> {
        if let Some((mantissa, scale)) = Numeric::short_from_bytes(bytes) {
            return Some(Numeric::from_short(mantissa, scale));
        }
        let (&form, rest) = bytes.split_first()?;
        let (scale, mantissa) = match form {
            FORM_NAN if rest.is_empty() => return Some(Numeric::NAN),
            FORM_NEGATIVE_INFINITY if rest.is_empty() => return Some(Numeric::NEGATIVE_INFINITY),
            FORM_INFINITY if rest.is_empty() => return Some(Numeric::INFINITY),
            0..FORM_LONG_SCALE => (u16::from(form), rest),
            FORM_LONG_SCALE => {
                let (scale, mantissa) = rest.split_first_chunk::<2>()?;
                let scale = u16::from_le_bytes(*scale);
                (scale >= u16::from(FORM_LONG_SCALE)).then_some((scale, mantissa))?
            }
            _ => return None,
        };
        Numeric::finite(Integer::from_le_bytes(mantissa)?, u32::from(scale)).ok()
    }

    /// The finite number as sign and decimal digits without leading zeros, to be read with the
    /// scale; for the binary and key formats. `None` for NaN and the infinities.
    pub(crate) fn digits(&self) -> Option<(bool, String)> {
        match &self.form() {
            Form::Finite { mantissa, .. } => Some((mantissa.signum() < 0, mantissa.digit_string())),
            _ => None,
        }
    }

    /// The inverse of [`Numeric::digits`]: ASCII digits only.
    pub(crate) fn from_digits(negative: bool, digits: &[u8], scale: u32) -> SqlResult<Numeric> {
        if digits.len() > (INTEGER_DIGITS_MAX + u32::from(SCALE_MAX)) as usize {
            return Err(overflow());
        }
        let mantissa = Integer::from_digits(digits);
        let mantissa = if negative {
            mantissa.negate()
        } else {
            mantissa
        };
        Numeric::finite(mantissa, scale)
    }
}

/// An exponent's digits with an optional sign. What is absurdly large is cut to something that
/// still overflows.
fn parse_exponent(text: &str) -> Option<i64> {
    const ABSURD: i64 = 1_000_000_000;
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value = digits.parse::<i64>().unwrap_or(ABSURD).min(ABSURD);
    Some(if negative { -value } else { value })
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = self.form();
        let (mantissa, scale) = match &form {
            Form::Finite { mantissa, scale } => (mantissa, usize::from(*scale)),
            Form::NaN => return f.write_str("NaN"),
            Form::Infinity => return f.write_str("Infinity"),
            Form::NegativeInfinity => return f.write_str("-Infinity"),
        };
        if mantissa.signum() < 0 {
            f.write_str("-")?;
        }
        let digits = mantissa.digit_string();
        let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
        f.write_str(if whole.is_empty() { "0" } else { whole })?;
        if scale > 0 {
            write!(f, ".{fraction:0>scale$}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Numeric {
    fn eq(&self, other: &Numeric) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Numeric {}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Numeric) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Numeric {
    fn cmp(&self, other: &Numeric) -> Ordering {
        fn rank(n: &Numeric) -> u8 {
            match n.form() {
                Form::NegativeInfinity => 0,
                Form::Finite { .. } => 1,
                Form::Infinity => 2,
                Form::NaN => 3,
            }
        }
        if let (Some((a, scale_a)), Some((b, scale_b))) = (self.short(), other.short())
            && scale_a == scale_b
        {
            return a.cmp(&b);
        }
        match (&self.form(), &other.form()) {
            (
                Form::Finite {
                    mantissa: a,
                    scale: scale_a,
                },
                Form::Finite {
                    mantissa: b,
                    scale: scale_b,
                },
            ) => a
                .signum()
                .cmp(&b.signum())
                .then_with(|| match scale_a.cmp(scale_b) {
                    Ordering::Equal => a.cmp(b),
                    Ordering::Less => a.scale_up(u32::from(scale_b - scale_a)).cmp(b),
                    Ordering::Greater => a.cmp(&b.scale_up(u32::from(scale_a - scale_b))),
                }),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl Hash for Numeric {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.trim_scale().form() {
            Form::Finite { mantissa, scale } => (0u8, mantissa, scale).hash(state),
            Form::NegativeInfinity => 1u8.hash(state),
            Form::Infinity => 2u8.hash(state),
            Form::NaN => 3u8.hash(state),
        }
    }
}

impl From<i64> for Numeric {
    fn from(value: i64) -> Numeric {
        Numeric::from_i64(value)
    }
}
