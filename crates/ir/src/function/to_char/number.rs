//! Numbers by a template.
//!
//! Relies on: `number_template`.  Promises: what PostgreSQL prints, odd templates included: `9 0 . D , G S MI PL SG PR FM
//! TH RN EEEE V B L` and quoted text.  Does not: have a sign of a currency: L is a blank.
//!
//! A template is a row of pieces. The digits are printed one by one as the pieces that stand for digits come; left of the point a `9`
//! shows a blank until digits begin, and a sign that has no piece of its own stands directly before the first digit.

use super::number_template::{Anchor, Piece, Place, Template};
use super::print::ordinal_ending;
use quintet_base::{Numeric, SqlError, SqlResult, SqlState};

/// A number to be printed.
pub(super) enum Shown<'n> {
    Int4(i32),
    Int8(i64),
    Numeric(&'n Numeric),
    /// And how many digits it has.
    Float(f64, usize),
}

fn integer_out_of_range() -> SqlError {
    SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range")
}

impl Shown<'_> {
    fn numeric(&self) -> Numeric {
        match self {
            Shown::Int4(number) => Numeric::from_i64(i64::from(*number)),
            Shown::Int8(number) => Numeric::from_i64(*number),
            Shown::Numeric(number) => (*number).clone(),
            Shown::Float(number, _) => Numeric::from_f64(*number),
        }
    }

    /// As a Roman number has it.
    fn rounded(&self) -> SqlResult<i64> {
        let rounded = match self {
            // What is beyond has no Roman number either.
            Shown::Float(number, _) => return Ok(number.round_ties_even() as i64),
            Shown::Numeric(number) => number.round(0)?.to_i64(),
            other => other.numeric().to_i64(),
        };
        let is_int4 = |number: &i64| i32::try_from(*number).is_ok();
        rounded.filter(is_int4).ok_or_else(integer_out_of_range)
    }

    /// In one digit before the point, and a power of ten.
    fn scientific(&self, template: &Template) -> String {
        let text = match self {
            Shown::Float(number, _) if number.is_finite() => {
                with_exponent(&format!("{number:.0$e}", template.fraction))
            }
            Shown::Int4(number) => {
                with_exponent(&format!("{:.1$e}", f64::from(*number), template.fraction))
            }
            Shown::Float(..) => String::new(),
            _ => match self.numeric() {
                number if number.is_finite() => {
                    let digits = scientific_decimal(&number.abs().to_string(), template.fraction);
                    let sign = if number.is_negative() { "-" } else { "" };
                    sign.to_string() + &with_exponent(&digits)
                }
                _ => String::new(),
            },
        };
        match text.as_bytes() {
            [] => {
                let (whole, fraction) = ("#".repeat(template.whole), template.fraction + 4);
                format!(" {whole}.{}", "#".repeat(fraction))
            }
            [b'-', ..] => text,
            _ => format!(" {text}"),
        }
    }

    /// The digits with a point, as many as the template has room for, behind their sign.
    fn digits(&self, template: &mut Template) -> SqlResult<String> {
        let shift = template.shift.unwrap_or(0);
        template.whole += shift;
        let power = |most: usize| 10i64.checked_pow(shift.min(most) as u32);
        Ok(match self {
            Shown::Int4(number) => {
                let shifted = power(30).and_then(|power| i64::from(*number).checked_mul(power));
                let shifted = shifted.filter(|shifted| i32::try_from(*shifted).is_ok());
                with_zeros(shifted.ok_or_else(integer_out_of_range)?, template.fraction)
            }
            Shown::Int8(number) => {
                let shifted = power(30).and_then(|power| number.checked_mul(power));
                let shifted = shifted.ok_or_else(|| {
                    SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range")
                })?;
                with_zeros(shifted, template.fraction)
            }
            Shown::Numeric(number) => {
                let shifted = match shift {
                    0 => (*number).clone(),
                    _ => number.mul(&Numeric::from_i128(10i128.pow(shift.min(30) as u32)))?,
                };
                shifted.round(template.fraction as i32)?.to_string()
            }
            Shown::Float(number, digits) => {
                let shifted = number * 10f64.powi(shift as i32);
                let text = |number: f64, fraction: usize| match number {
                    _ if number.is_nan() => "NaN".to_string(),
                    f64::INFINITY => "Infinity".to_string(),
                    f64::NEG_INFINITY => "-Infinity".to_string(),
                    _ => format!("{number:.fraction$}"),
                };
                // No more digits than the number has.
                let whole = text(shifted.abs(), 0).len();
                template.fraction = template.fraction.min(digits.saturating_sub(whole));
                text(shifted, template.fraction)
            }
        })
    }
}

fn with_zeros(number: i64, fraction: usize) -> String {
    match fraction {
        0 => number.to_string(),
        _ => format!("{number}.{}", "0".repeat(fraction)),
    }
}

/// `1.5e3` with the sign of its exponent and at least two digits of it.
fn with_exponent(text: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// By a template.
///
/// # Errors
/// `42601` for a template that contradicts itself, `22003` for what is too large for it.
pub(super) fn print(value: &Shown, template: &str) -> SqlResult<String> {
    let mut template = Template::parse(template)?;
    if template.scientific {
        return Ok(value.scientific(&template));
    }
    if template.roman {
        let number = roman(value.rounded()?);
        return Printer::of_roman(&template, number).print();
    }
    let text = value.digits(&mut template)?;
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits.to_string()),
        None => (false, text),
    };
    let whole = digits.find('.').unwrap_or(digits.len());
    let (blanks, digits) = match whole > template.whole {
        true => {
            let (whole, fraction) = (template.whole, template.fraction);
            (0, format!("{}.{}", "#".repeat(whole), "#".repeat(fraction)))
        }
        false => (template.whole - whole, digits),
    };
    Printer::new(&template, digits, negative, blanks).print()
}

struct Printer<'t> {
    template: &'t Template,
    number: Vec<u8>,
    /// The next digit.
    at: usize,
    negative: bool,
    /// Pieces for digits that the number does not reach.
    blanks: usize,
    /// The sign is written, or not to be.
    signed: bool,
    angles: bool,
    anchor: Option<Anchor>,
    zeros_from: Option<usize>,
    /// The last digit that is not a padding zero; the point, if all behind it are.
    last: Option<usize>,
    count: usize,
    /// Digits begin.
    begun: bool,
    /// Pieces for digits so far.
    seen: usize,
    out: String,
}

impl<'t> Printer<'t> {
    fn new(template: &'t Template, number: String, negative: bool, blanks: usize) -> Printer<'t> {
        let bare = template.bare;
        let by_itself = template.plus || template.minus;
        let signed = match by_itself {
            true => template.minus,
            false => !negative && bare && template.anchor.is_none(),
        };
        // S before no digit is behind the last one.
        let anchor = match template.anchor {
            Some(Anchor::Before) if !by_itself && template.whole == template.before_sign => {
                Some(Anchor::Behind)
            }
            anchor => anchor,
        };
        let number = number.into_bytes();
        let point = number.iter().position(|&digit| digit == b'.');
        let last = point.filter(|_| bare && template.has_point).map(|point| {
            let behind = number[point + 1..].iter().rposition(|&digit| digit != b'0');
            let last = behind.map_or(point, |behind| point + 1 + behind);
            match template.zeros_to > blanks {
                true => last.max((number.len() - 1).min(template.zeros_to - blanks)),
                false => last,
            }
        });
        let mut count = (template.whole + template.fraction).wrapping_sub(1);
        if !signed && blanks == 0 {
            count = count.wrapping_add(1);
        }
        Printer {
            template,
            number,
            at: 0,
            negative,
            blanks,
            signed,
            angles: template.angles && (negative || !bare || by_itself),
            anchor,
            zeros_from: template.zeros_from,
            last,
            count,
            begun: false,
            seen: 0,
            out: String::new(),
        }
    }

    fn of_roman(template: &'t Template, number: String) -> Printer<'t> {
        Printer {
            signed: true,
            angles: false,
            anchor: None,
            zeros_from: None,
            last: None,
            ..Printer::new(template, number, false, 0)
        }
    }

    fn print(mut self) -> SqlResult<String> {
        let bare = self.template.bare;
        for piece in &self.template.pieces {
            match *piece {
                Piece::Digit(_) if self.template.roman => {}
                Piece::Digit(place) => self.digit(place),
                Piece::Comma if self.begun => self.out.push(','),
                Piece::Comma if bare => {}
                Piece::Comma => self.out.push(' '),
                Piece::Currency => self.out.push(' '),
                Piece::Minus if self.is_negative() => self.out.push('-'),
                Piece::Plus if self.is_positive() => self.out.push('+'),
                Piece::Minus | Piece::Plus if bare => {}
                Piece::Minus | Piece::Plus => self.out.push(' '),
                Piece::PlusMinus if self.is_negative() => self.out.push('-'),
                Piece::PlusMinus if self.is_positive() => self.out.push('+'),
                // A Roman number has no sign: the text ends.
                Piece::PlusMinus => self.out.push('\0'),
                Piece::Ordinal { upper } => self.ordinal(upper)?,
                Piece::Roman { upper } => {
                    let number = String::from_utf8_lossy(&self.number).into_owned();
                    let number = match upper {
                        true => number,
                        false => number.to_ascii_lowercase(),
                    };
                    self.out.push_str(&match bare {
                        true => number,
                        false => format!("{number:>15}"),
                    });
                }
                Piece::Mark => {}
                Piece::Literal(c) => self.out.push(c),
            }
        }
        // More pieces for digits than the number has end the text.
        if let Some(end) = self.out.find('\0') {
            self.out.truncate(end);
        }
        Ok(self.out)
    }

    fn is_negative(&self) -> bool {
        self.negative && !self.template.roman
    }

    fn is_positive(&self) -> bool {
        !self.negative && !self.template.roman
    }

    fn ordinal(&mut self, upper: bool) -> SqlResult<()> {
        let ends = !self.template.roman
            && self.number.first() != Some(&b'#')
            && !self.negative
            && !self.template.has_point;
        if !ends {
            return Ok(());
        }
        let number = String::from_utf8_lossy(&self.number).into_owned();
        if !number.ends_with(|c: char| c.is_ascii_digit()) {
            return Err(SqlError::new(
                SqlState::INVALID_TEXT_REPRESENTATION,
                format!("\"{number}\" is not a number"),
            ));
        }
        let ending = ordinal_ending(&number);
        self.out.push_str(&match upper {
            true => ending.to_string(),
            false => ending.to_ascii_lowercase(),
        });
        Ok(())
    }

    /// The zero before the point, which shows only where a `0` is.
    fn is_zero_before_point(&self) -> bool {
        self.zeros_from.is_none()
            && self.at == 0
            && self.number.first() == Some(&b'0')
            && self.template.fraction != 0
    }

    fn ends_with_point(&self) -> bool {
        self.last.is_some_and(|last| self.number[last] == b'.')
    }

    fn sign(&mut self) {
        let bare = self.template.bare;
        match (self.anchor, self.negative) {
            (Some(Anchor::Behind), _) => return,
            (Some(Anchor::Before), true) => self.out.push('-'),
            (Some(Anchor::Before), false) => self.out.push('+'),
            _ if self.angles => self.out.push(if self.negative { '<' } else { ' ' }),
            (None, true) => self.out.push('-'),
            (None, false) if bare => {}
            (None, false) => self.out.push(' '),
        }
        self.signed = true;
    }

    fn digit(&mut self, place: Place) {
        let bare = self.template.bare;
        self.begun = false;
        let is_reached = self.seen >= self.blanks || self.zeros_from == Some(self.seen);
        if !self.signed && is_reached && (!self.is_zero_before_point() || self.ends_with_point()) {
            self.sign();
        }
        if self.seen < self.blanks {
            if self.zeros_from.is_some_and(|from| from <= self.seen) {
                self.out.push('0');
                self.begun = true;
            } else if !bare {
                self.out.push(' ');
            }
        } else {
            let digit = self.number.get(self.at).copied();
            if digit == Some(b'.') {
                self.out.push('.');
            } else if self.last.is_some_and(|last| self.at > last) && place != Place::Zero {
                // Padding.
            } else if self.is_zero_before_point() {
                if !bare {
                    self.out.push(' ');
                } else if self.ends_with_point() {
                    self.out.push('0');
                }
            } else {
                self.out.push(digit.map_or('\0', char::from));
                self.begun = true;
            }
            if digit.is_some() {
                self.at += 1;
            }
        }
        let mut end = self
            .count
            .wrapping_add(usize::from(self.blanks > 0))
            .wrapping_add(usize::from(self.template.has_point));
        if self.last == Some(self.at) {
            end = self.seen;
        }
        if self.seen + 1 == end {
            if self.signed && self.angles {
                self.out.push(if self.negative { '>' } else { ' ' });
            } else if self.anchor == Some(Anchor::Behind) {
                self.out.push(if self.negative { '-' } else { '+' });
            }
        }
        self.seen += 1;
    }
}

/// `1.24e3` out of the digits of `1235.6`; halves are rounded up.
fn scientific_decimal(text: &str, digits: usize) -> String {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all: Vec<u8> = whole
        .bytes()
        .chain(fraction.bytes())
        .map(|b| b - b'0')
        .collect();
    let first = all.iter().position(|digit| *digit != 0);
    let exponent = first.map_or(0, |first| whole.len() as i64 - 1 - first as i64);
    let from = first.unwrap_or(all.len());
    let mut kept: Vec<u8> = all[from..].iter().copied().take(digits + 1).collect();
    kept.resize(digits + 1, 0);
    if all.get(from + digits + 1).is_some_and(|next| *next >= 5) {
        let last = kept.iter().rposition(|digit| *digit != 9);
        match last {
            Some(last) => {
                kept[last] += 1;
                kept[last + 1..].fill(0);
            }
            // As PostgreSQL has it: `10.0e+00`.
            None => {
                kept.fill(0);
                kept.insert(0, 1);
            }
        }
    }
    let shown: String = kept.iter().map(|digit| char::from(b'0' + digit)).collect();
    let (head, tail) = shown.split_at(shown.len() - digits);
    let point = if digits > 0 { "." } else { "" };
    format!("{head}{point}{tail}e{exponent}")
}

fn roman(number: i64) -> String {
    const PARTS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if !(1..4000).contains(&number) {
        return "#".repeat(15);
    }
    let mut rest = number;
    let mut out = String::new();
    for (worth, letters) in PARTS {
        while rest >= worth {
            out.push_str(letters);
            rest -= worth;
        }
    }
    out
}
