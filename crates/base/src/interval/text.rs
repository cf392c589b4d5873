//! Intervals as text, in PostgreSQL's own style.
//!
//! Relies on: nothing but the parts.  Promises: reads `1 year 2 mons -3 days 04:05:06.7`, the
//! forms with words (`2 weeks ago`, `@ 1 minute`), SQL's `1-2 3 4:05:06` and ISO 8601's
//! `P1Y2M3DT4H5M6S`; prints IntervalStyle `postgres`.  Does not: print the other styles (`style`).
//!
//! A text is read from its end: a unit stands behind its number, and a number before a time of
//! day is days.

use super::{Interval, MONTHS_PER_YEAR, part, unpack};
use crate::datetime::{MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::types::TypeMod;
use std::io::Write;

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

const UNITS: &[(Unit, &[&str])] = &[
    (
        Unit::Microsecond,
        &[
            "us",
            "usec",
            "usecs",
            "usecond",
            "useconds",
            "microsecond",
            "microseconds",
        ],
    ),
    (
        Unit::Millisecond,
        &[
            "ms",
            "msec",
            "msecs",
            "msecond",
            "mseconds",
            "millisecond",
            "milliseconds",
        ],
    ),
    (Unit::Second, &["s", "sec", "secs", "second", "seconds"]),
    (Unit::Minute, &["m", "min", "mins", "minute", "minutes"]),
    (Unit::Hour, &["h", "hr", "hrs", "hour", "hours"]),
    (Unit::Day, &["d", "day", "days"]),
    (Unit::Week, &["w", "week", "weeks"]),
    (Unit::Month, &["mon", "mons", "month", "months"]),
    (Unit::Year, &["y", "yr", "yrs", "year", "years"]),
    (Unit::Decade, &["dec", "decs", "decade", "decades"]),
    (Unit::Century, &["c", "cent", "century", "centuries"]),
    (
        Unit::Millennium,
        &["mil", "mils", "millennium", "millennia"],
    ),
];

/// Why a text is refused.
enum Refusal {
    Syntax,
    Range,
}

impl Refusal {
    fn into_error(self, text: &str) -> SqlError {
        match self {
            Refusal::Syntax => SqlError::new(
                SqlState::INVALID_DATETIME_FORMAT,
                format!("invalid input syntax for type interval: \"{text}\""),
            ),
            Refusal::Range => SqlError::new(
                SqlState(*b"22015"),
                format!("interval field value out of range: \"{text}\""),
            ),
        }
    }
}

/// Reads an interval.
///
/// # Errors
/// `22007` if it is none, `22015` if a part is too large.
pub fn parse_interval(text: &str) -> SqlResult<Interval> {
    parse_interval_in(text, TypeMod::NONE)
}

/// Reads an interval where the type says which parts it has: a number without a unit counts the
/// smallest of them. The parts are not dropped here.
///
/// # Errors
/// As [`parse_interval`].
pub fn parse_interval_in(text: &str, modifier: TypeMod) -> SqlResult<Interval> {
    let body = text.trim().to_ascii_lowercase();
    let read = match body.strip_prefix('p') {
        Some(iso) => read_iso(iso),
        None => tokens(&body).and_then(|tokens| read_words(&tokens, unpack(modifier).0)),
    };
    read.map_err(|refusal| refusal.into_error(text))
}

/// A piece of the text.
enum Token<'a> {
    Word(&'a str),
    /// Sign, whole part, fraction.
    Number(Count<'a>),
    /// `[-]hours:minutes[:seconds]`.
    Clock(bool, &'a str),
    /// `[-]years-months`.
    YearMonth(bool, &'a str, &'a str),
}

#[derive(Clone, Copy)]
struct Count<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
}

impl Count<'_> {
    fn whole(self) -> Result<i64, Refusal> {
        let value = match self.whole {
            "" => 0,
            digits => digits.parse::<i64>().map_err(|_| Refusal::Range)?,
        };
        Ok(if self.negative { -value } else { value })
    }

    fn fraction(self) -> Result<f64, Refusal> {
        if self.fraction.is_empty() {
            return Ok(0.0);
        }
        let value: f64 = format!("0.{}", self.fraction)
            .parse()
            .map_err(|_| Refusal::Syntax)?;
        Ok(if self.negative { -value } else { value })
    }
}

fn digits_at(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, Refusal> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.bytes().next() {
        if first == b'@' || first == b',' {
            rest = rest[1..].trim_start();
            continue;
        }
        if first.is_ascii_alphabetic() {
            let end = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
            found.push(Token::Word(&rest[..end]));
            rest = rest[end..].trim_start();
            continue;
        }
        let negative = first == b'-';
        let body = match first {
            b'-' | b'+' => rest[1..].trim_start(),
            _ => rest,
        };
        let whole = digits_at(body);
        let after = &body[whole..];
        match after.bytes().next() {
            Some(b':') if whole > 0 => {
                let clock = |b: &u8| b.is_ascii_digit() || matches!(b, b':' | b'.');
                let end = body.bytes().take_while(clock).count();
                found.push(Token::Clock(negative, &body[..end]));
                rest = body[end..].trim_start();
            }
            Some(b'-') if whole > 0 && digits_at(&after[1..]) > 0 => {
                let end = digits_at(&after[1..]);
                found.push(Token::YearMonth(
                    negative,
                    &body[..whole],
                    &after[1..1 + end],
                ));
                rest = after[1 + end..].trim_start();
            }
            Some(b'.') => {
                let end = digits_at(&after[1..]);
                if whole + end == 0 {
                    return Err(Refusal::Syntax);
                }
                found.push(Token::Number(Count {
                    negative,
                    whole: &body[..whole],
                    fraction: &after[1..1 + end],
                }));
                rest = after[1 + end..].trim_start();
            }
            _ if whole > 0 => {
                found.push(Token::Number(Count {
                    negative,
                    whole: &body[..whole],
                    fraction: "",
                }));
                rest = after.trim_start();
            }
            _ => return Err(Refusal::Syntax),
        }
    }
    Ok(found)
}

/// The interval so far, in numbers that cannot overflow on the way.
#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    micros: i128,
    /// Which units have been met, one bit each.
    seen: u32,
}

impl Sum {
    fn mark(&mut self, units: &[Unit]) -> Result<(), Refusal> {
        for unit in units {
            let bit = 1 << *unit as u32;
            if self.seen & bit != 0 {
                return Err(Refusal::Syntax);
            }
            self.seen |= bit;
        }
        Ok(())
    }

    fn add_micros(&mut self, fraction: f64, unit: i64) {
        self.micros += (fraction * unit as f64).round_ties_even() as i128;
    }

    fn add_days(&mut self, fraction: f64, unit: f64) {
        let days = fraction * unit;
        self.days = self.days.saturating_add(days.trunc() as i64);
        self.add_micros(days - days.trunc(), MICROS_PER_DAY);
    }

    fn add(&mut self, count: Count, unit: Unit) -> Result<(), Refusal> {
        self.mark(&[unit])?;
        let (whole, fraction) = (count.whole()?, count.fraction()?);
        let clock = |sum: &mut Sum, unit: i64| {
            sum.micros += i128::from(whole) * i128::from(unit);
            sum.add_micros(fraction, unit);
        };
        let months = |sum: &mut Sum, months: i64| -> Result<(), Refusal> {
            let added = whole.checked_mul(months).ok_or(Refusal::Range)?;
            sum.months = sum.months.checked_add(added).ok_or(Refusal::Range)?;
            let part = (fraction * months as f64).round_ties_even() as i64;
            sum.months = sum.months.saturating_add(part);
            Ok(())
        };
        match unit {
            Unit::Microsecond => {
                self.micros += i128::from(whole);
                self.add_micros(fraction, 1);
            }
            Unit::Millisecond => clock(self, 1000),
            Unit::Second => clock(self, MICROS_PER_SECOND),
            Unit::Minute => clock(self, MICROS_PER_MINUTE),
            Unit::Hour => clock(self, MICROS_PER_HOUR),
            Unit::Day => {
                self.days = self.days.checked_add(whole).ok_or(Refusal::Range)?;
                self.add_micros(fraction, MICROS_PER_DAY);
            }
            Unit::Week => {
                let days = whole.checked_mul(7).ok_or(Refusal::Range)?;
                self.days = self.days.checked_add(days).ok_or(Refusal::Range)?;
                self.add_days(fraction, 7.0);
            }
            Unit::Month => {
                self.months = self.months.checked_add(whole).ok_or(Refusal::Range)?;
                self.add_days(fraction, super::DAYS_PER_MONTH as f64);
            }
            Unit::Year => months(self, 12)?,
            Unit::Decade => months(self, 120)?,
            Unit::Century => months(self, 1200)?,
            Unit::Millennium => months(self, 12_000)?,
        }
        Ok(())
    }

    fn add_clock(&mut self, negative: bool, text: &str, parts: i32) -> Result<(), Refusal> {
        self.mark(&[Unit::Hour, Unit::Minute, Unit::Second])?;
        let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
        let numbers: Result<Vec<i64>, Refusal> = clock
            .split(':')
            .map(|digits| digits.parse::<i64>().map_err(|_| Refusal::Syntax))
            .collect();
        let minutes_first = parts == part::MINUTE | part::SECOND || text.contains('.');
        let (hours, minutes, seconds) = match numbers?[..] {
            [minutes, seconds] if minutes_first => (0, minutes, seconds),
            [hours, minutes] => (hours, minutes, 0),
            [hours, minutes, seconds] => (hours, minutes, seconds),
            _ => return Err(Refusal::Syntax),
        };
        if minutes > 59 || seconds > 60 {
            return Err(Refusal::Range);
        }
        let whole = i128::from(hours) * i128::from(MICROS_PER_HOUR)
            + i128::from(minutes * MICROS_PER_MINUTE + seconds * MICROS_PER_SECOND);
        let fraction = Count {
            negative: false,
            whole: "",
            fraction,
        }
        .fraction()?;
        let micros = whole + (fraction * 1e6).round_ties_even() as i128;
        self.micros += if negative { -micros } else { micros };
        Ok(())
    }

    fn finish(self, negated: bool) -> Result<Interval, Refusal> {
        let sign = if negated { -1 } else { 1 };
        Ok(Interval {
            months: i32::try_from(self.months.saturating_mul(sign)).map_err(|_| Refusal::Range)?,
            days: i32::try_from(self.days.saturating_mul(sign)).map_err(|_| Refusal::Range)?,
            micros: i64::try_from(i128::from(sign) * self.micros).map_err(|_| Refusal::Range)?,
        })
    }
}

/// What a number without a unit counts.
fn default_unit(parts: i32) -> Unit {
    use part::*;
    match parts {
        p if p == YEAR => Unit::Year,
        p if p == MONTH || p == YEAR | MONTH => Unit::Month,
        p if p == DAY => Unit::Day,
        p if p & SECOND != 0 => Unit::Second,
        p if p & MINUTE != 0 => Unit::Minute,
        p if p & HOUR != 0 => Unit::Hour,
        _ => Unit::Second,
    }
}

fn read_words(tokens: &[Token], parts: i32) -> Result<Interval, Refusal> {
    let mut sum = Sum::default();
    let (mut unit, mut ago, mut is_empty) = (None, false, true);
    for token in tokens.iter().rev() {
        match *token {
            Token::Word("ago") => {
                ago = true;
                unit = None;
            }
            Token::Word(word) => {
                let known = UNITS.iter().find(|(_, names)| names.contains(&word));
                unit = Some(known.ok_or(Refusal::Syntax)?.0);
            }
            Token::Number(count) => {
                let of = match unit {
                    Some(unit) => unit,
                    None if parts == part::ALL => Unit::Second,
                    None => default_unit(parts),
                };
                sum.add(count, of)?;
                // What stands before hours without a unit are days.
                unit = Some(if of == Unit::Hour { Unit::Day } else { of });
                is_empty = false;
            }
            Token::Clock(negative, text) => {
                sum.add_clock(negative, text, parts)?;
                unit = Some(Unit::Day);
                is_empty = false;
            }
            Token::YearMonth(negative, years, months) => {
                sum.mark(&[Unit::Year, Unit::Month])?;
                let number = |digits: &str| digits.parse::<i64>().map_err(|_| Refusal::Range);
                let (years, months) = (number(years)?, number(months)?);
                if months >= i64::from(MONTHS_PER_YEAR) {
                    return Err(Refusal::Range);
                }
                let total = years
                    .checked_mul(12)
                    .and_then(|total| total.checked_add(months))
                    .ok_or(Refusal::Range)?;
                let total = if negative { -total } else { total };
                sum.months = sum.months.saturating_add(total);
                unit = Some(Unit::Month);
                is_empty = false;
            }
        }
    }
    if is_empty {
        return Err(Refusal::Syntax);
    }
    sum.finish(ago)
}

/// What stands behind the P of ISO 8601's form with designators.
fn read_iso(text: &str) -> Result<Interval, Refusal> {
    let mut sum = Sum::default();
    let (mut rest, mut is_time, mut is_empty) = (text, false, true);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('t') {
            if is_time || after.is_empty() {
                return Err(Refusal::Syntax);
            }
            (rest, is_time) = (after, true);
            continue;
        }
        let negative = rest.starts_with('-');
        let body = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        let whole = digits_at(body);
        let (count, after) = match body[whole..].strip_prefix('.') {
            Some(behind) => {
                let end = digits_at(behind);
                (
                    Count {
                        negative,
                        whole: &body[..whole],
                        fraction: &behind[..end],
                    },
                    &behind[end..],
                )
            }
            None => (
                Count {
                    negative,
                    whole: &body[..whole],
                    fraction: "",
                },
                &body[whole..],
            ),
        };
        if count.whole.is_empty() && count.fraction.is_empty() {
            return Err(Refusal::Syntax);
        }
        let unit = match (after.bytes().next(), is_time) {
            (Some(b'y'), false) => Unit::Year,
            (Some(b'm'), false) => Unit::Month,
            (Some(b'w'), false) => Unit::Week,
            (Some(b'd'), false) => Unit::Day,
            (Some(b'h'), true) => Unit::Hour,
            (Some(b'm'), true) => Unit::Minute,
            (Some(b's'), true) => Unit::Second,
            _ => return Err(Refusal::Syntax),
        };
        sum.add(count, unit)?;
        (rest, is_empty) = (&after[1..], false);
    }
    if is_empty {
        return Err(Refusal::Syntax);
    }
    sum.finish(false)
}

/// Appends an interval as PostgreSQL prints it.
pub fn write_interval(interval: Interval, out: &mut Vec<u8>) {
    let start = out.len();
    let mut before_negative = false;
    let parts = [
        (interval.months / MONTHS_PER_YEAR, "year"),
        (interval.months % MONTHS_PER_YEAR, "mon"),
        (interval.days, "day"),
    ];
    for (value, name) in parts {
        if value == 0 {
            continue;
        }
        if out.len() > start {
            out.push(b' ');
        }
        if before_negative && value > 0 {
            out.push(b'+');
        }
        let plural = if value == 1 { "" } else { "s" };
        write!(out, "{value} {name}{plural}").expect("a Vec takes everything");
        before_negative = value < 0;
    }
    if interval.micros == 0 && out.len() > start {
        return;
    }
    if out.len() > start {
        out.push(b' ');
    }
    if interval.micros < 0 {
        out.push(b'-');
    } else if before_negative {
        out.push(b'+');
    }
    write_clock(interval.micros.unsigned_abs(), out);
}

/// Appends `HH:MM:SS` with as many digits of the fraction as there are.
pub(crate) fn write_clock(micros: u64, out: &mut Vec<u8>) {
    let seconds = micros / MICROS_PER_SECOND as u64;
    write!(
        out,
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
    .expect("a Vec takes everything");
    write_fraction(micros, out);
}

/// Appends as many digits of a second's fraction as there are.
pub(super) fn write_fraction(micros: u64, out: &mut Vec<u8>) {
    let fraction = micros % MICROS_PER_SECOND as u64;
    if fraction != 0 {
        let digits = format!("{fraction:06}");
        out.push(b'.');
        out.extend_from_slice(digits.trim_end_matches('0').as_bytes());
    }
}

/// An interval as PostgreSQL prints it.
pub fn format_interval(interval: Interval) -> String {
    let mut out = Vec::new();
    write_interval(interval, &mut out);
    String::from_utf8(out).expect("intervals print as ASCII")
}
