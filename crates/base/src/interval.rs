//! Lengths of time as PostgreSQL counts them: months, days and microseconds, side by side.
//!
//! Relies on: `datetime` for the calendar.  Promises: PostgreSQL's arithmetic: fractions of a
//! month go to days of 30 to the month, fractions of a day to the clock, and nothing else carries
//! over by itself.  Does not: have infinities (PostgreSQL 15 has none either).
//!
//! Two intervals compare as if months had 30 days and days 24 hours, so that `1 month` equals
//! `30 days` although they print differently.

mod style;
mod text;

pub(crate) use text::write_clock;

pub use style::{IntervalStyle, write_in_style};
pub use text::{format_interval, parse_interval, parse_interval_in, write_interval};

use crate::datetime::{
    self, Civil, Field, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND,
    TimeZone,
};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::numeric::Numeric;
use crate::types::{SqlType, TypeMod};
use std::cmp::Ordering;

/// Days that a month counts for where nothing says which month it is.
pub const DAYS_PER_MONTH: i64 = 30;
/// Months in a year.
pub const MONTHS_PER_YEAR: i32 = 12;

/// A length of time. Equality of the parts is not equality in SQL; [`Interval::order`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interval {
    /// Months and years.
    pub months: i32,
    /// Days and weeks.
    pub days: i32,
    /// Hours and less.
    pub micros: i64,
}

fn out_of_range() -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "interval out of range")
}

/// The parts that a type modifier keeps, by the bit that the grammar gives each.
mod part {
    pub const MONTH: i32 = 1 << 1;
    pub const YEAR: i32 = 1 << 2;
    pub const DAY: i32 = 1 << 3;
    pub const HOUR: i32 = 1 << 10;
    pub const MINUTE: i32 = 1 << 11;
    pub const SECOND: i32 = 1 << 12;
    /// No choice of parts.
    pub const ALL: i32 = 0x7FFF;
}

/// No choice of digits.
const PRECISION_ALL: i32 = 0xFFFF;

/// The parts and digits of an interval's modifier.
fn unpack(modifier: TypeMod) -> (i32, i32) {
    match modifier {
        TypeMod::NONE => (part::ALL, PRECISION_ALL),
        TypeMod(packed) => (packed >> 16 & part::ALL, packed & PRECISION_ALL),
    }
}

/// ` day to second(3)`: what `format_type` prints behind `interval`.
pub fn modifier_words(modifier: TypeMod) -> String {
    use part::*;
    let (parts, digits) = unpack(modifier);
    let words = match parts {
        p if p == YEAR => " year",
        p if p == MONTH => " month",
        p if p == DAY => " day",
        p if p == HOUR => " hour",
        p if p == MINUTE => " minute",
        p if p == SECOND => " second",
        p if p == YEAR | MONTH => " year to month",
        p if p == DAY | HOUR => " day to hour",
        p if p == DAY | HOUR | MINUTE => " day to minute",
        p if p == DAY | HOUR | MINUTE | SECOND => " day to second",
        p if p == HOUR | MINUTE => " hour to minute",
        p if p == HOUR | MINUTE | SECOND => " hour to second",
        p if p == MINUTE | SECOND => " minute to second",
        _ => "",
    };
    match digits {
        PRECISION_ALL => words.to_string(),
        digits => format!("{words}({digits})"),
    }
}

/// The modifier for the parts that the grammar names and, if given, digits of a second.
pub fn modifier(parts: i32, digits: Option<i32>) -> TypeMod {
    TypeMod(parts << 16 | digits.unwrap_or(PRECISION_ALL))
}

impl Interval {
    /// Microseconds only.
    pub fn from_micros(micros: i64) -> Interval {
        Interval {
            micros,
            ..Interval::default()
        }
    }

    /// Microseconds, with months of 30 days: what comparisons see.
    pub fn span(self) -> i128 {
        let days = i128::from(self.months) * i128::from(DAYS_PER_MONTH) + i128::from(self.days);
        days * i128::from(MICROS_PER_DAY) + i128::from(self.micros)
    }

    /// The order of SQL.
    pub fn order(self, other: Interval) -> Ordering {
        self.span().cmp(&other.span())
    }

    /// Some interval of this [`Interval::span`]: whole days in `days`, as many as fit.
    pub fn from_span(span: i128) -> Option<Interval> {
        let day = i128::from(MICROS_PER_DAY);
        let (days, micros) = (span.div_euclid(day), span.rem_euclid(day));
        let fit = |value: i128| value.clamp(i128::from(i32::MIN), i128::from(i32::MAX));
        // What days cannot hold goes to months, and what these cannot hold stays in microseconds.
        let month = i128::from(DAYS_PER_MONTH);
        let months = match i32::try_from(days) {
            Ok(_) => 0,
            Err(_) => fit(days / month),
        };
        let left = days - months * month;
        let days = fit(left);
        Some(Interval {
            months: i32::try_from(months).ok()?,
            days: i32::try_from(days).ok()?,
            micros: i64::try_from((left - days) * day + micros).ok()?,
        })
    }

    /// The sum.
    ///
    /// # Errors
    /// `22008` beyond the range.
    pub fn add(&self, other: Interval) -> SqlResult<Interval> {
        let sum = || {
            Some(Interval {
                months: self.months.checked_add(other.months)?,
                days: self.days.checked_add(other.days)?,
                micros: self.micros.checked_add(other.micros)?,
            })
        };
        sum().ok_or_else(out_of_range)
    }

    /// The opposite.
    ///
    /// # Errors
    /// `22008` for the smallest numbers, which have none.
    pub fn neg(&self) -> SqlResult<Interval> {
        let opposite = || {
            Some(Interval {
                months: self.months.checked_neg()?,
                days: self.days.checked_neg()?,
                micros: self.micros.checked_neg()?,
            })
        };
        opposite().ok_or_else(out_of_range)
    }

    /// The difference.
    ///
    /// # Errors
    /// `22008` beyond the range.
    pub fn sub(&self, other: Interval) -> SqlResult<Interval> {
        let difference = || {
            Some(Interval {
                months: self.months.checked_sub(other.months)?,
                days: self.days.checked_sub(other.days)?,
                micros: self.micros.checked_sub(other.micros)?,
            })
        };
        difference().ok_or_else(out_of_range)
    }

    /// So many times as long.
    ///
    /// # Errors
    /// `22008` beyond the range.
    pub fn mul(&self, factor: f64) -> SqlResult<Interval> {
        self.scaled(|part| part * factor)
    }

    /// So many times shorter.
    ///
    /// # Errors
    /// `22012` for 0, `22008` beyond the range.
    pub fn div(&self, divisor: f64) -> SqlResult<Interval> {
        if divisor == 0.0 {
            return Err(SqlError::new(
                SqlState::DIVISION_BY_ZERO,
                "division by zero",
            ));
        }
        self.scaled(|part| part / divisor)
    }

    /// Scales each part; what is no whole month goes to the days, what is no whole day to the clock.
    fn scaled(self, scale: impl Fn(f64) -> f64) -> SqlResult<Interval> {
        let whole = |value: f64| match value.is_finite() && value.abs() < 2_147_483_648.0 {
            true => Ok(value as i32),
            false => Err(out_of_range()),
        };
        // Six digits are all there are: what is beyond comes of the machine's fractions.
        let cut = |value: f64| (value * 1e6).round_ties_even() / 1e6;
        let (months, days) = (scale(f64::from(self.months)), scale(f64::from(self.days)));
        let (whole_months, mut whole_days) = (whole(months)?, whole(days)?);
        let more_days = cut((months - f64::from(whole_months)) * DAYS_PER_MONTH as f64);
        let day_seconds = (MICROS_PER_DAY / MICROS_PER_SECOND) as f64;
        let mut seconds =
            cut((days - f64::from(whole_days) + more_days - more_days.trunc()) * day_seconds);
        if seconds.abs() >= day_seconds {
            let carried = (seconds / day_seconds).trunc();
            whole_days = whole_days
                .checked_add(carried as i32)
                .ok_or_else(out_of_range)?;
            seconds -= carried * day_seconds;
        }
        whole_days = whole_days
            .checked_add(more_days as i32)
            .ok_or_else(out_of_range)?;
        let micros = (scale(self.micros as f64) + seconds * 1e6).round_ties_even();
        if !(micros.is_finite() && micros.abs() < 9.223_372_036_854_775e18) {
            return Err(out_of_range());
        }
        Ok(Interval {
            months: whole_months,
            days: whole_days,
            micros: micros as i64,
        })
    }

    /// Whole days out of the clock.
    ///
    /// # Errors
    /// `22008` beyond the range.
    pub fn justify_hours(self) -> SqlResult<Interval> {
        let carried = (self.micros / MICROS_PER_DAY) as i32;
        let mut days = self.days.checked_add(carried).ok_or_else(out_of_range)?;
        let mut micros = self.micros % MICROS_PER_DAY;
        if days > 0 && micros < 0 {
            (days, micros) = (days - 1, micros + MICROS_PER_DAY);
        } else if days < 0 && micros > 0 {
            (days, micros) = (days + 1, micros - MICROS_PER_DAY);
        }
        Ok(Interval {
            days,
            micros,
            ..self
        })
    }

    /// Whole months out of the days.
    ///
    /// # Errors
    /// `22008` beyond the range.
    pub fn justify_days(self) -> SqlResult<Interval> {
        let month = DAYS_PER_MONTH as i32;
        let mut months = self
            .months
            .checked_add(self.days / month)
            .ok_or_else(out_of_range)?;
        let mut days = self.days % month;
        if months > 0 && days < 0 {
            (months, days) = (months - 1, days + month);
        } else if months < 0 && days > 0 {
            (months, days) = (months + 1, days - month);
        }
        Ok(Interval {
            months,
            days,
            ..self
        })
    }

    /// Both, and one sign for all parts.
    ///
    /// # Errors
    /// `22008` beyond the range.
    pub fn justify(self) -> SqlResult<Interval> {
        let month = DAYS_PER_MONTH as i32;
        let days = i64::from(self.days) + self.micros / MICROS_PER_DAY;
        let mut micros = self.micros % MICROS_PER_DAY;
        let months = i64::from(self.months) + days / DAYS_PER_MONTH;
        let mut months = i32::try_from(months).map_err(|_| out_of_range())?;
        let mut days = (days % DAYS_PER_MONTH) as i32;
        if months > 0 && (days < 0 || days == 0 && micros < 0) {
            (months, days) = (months - 1, days + month);
        } else if months < 0 && (days > 0 || days == 0 && micros > 0) {
            (months, days) = (months + 1, days - month);
        }
        if days > 0 && micros < 0 {
            (days, micros) = (days - 1, micros + MICROS_PER_DAY);
        } else if days < 0 && micros > 0 {
            (days, micros) = (days + 1, micros - MICROS_PER_DAY);
        }
        Ok(Interval {
            months,
            days,
            micros,
        })
    }

    /// Drops the parts, and rounds to the digits, that a column's modifier does not keep.
    pub fn apply_modifier(self, modifier: TypeMod) -> Interval {
        use part::*;
        let (parts, digits) = unpack(modifier);
        let mut kept = self;
        if parts != ALL && parts != 0 {
            if parts & (DAY | HOUR | MINUTE | SECOND) == 0 {
                (kept.days, kept.micros) = (0, 0);
                if parts == YEAR {
                    kept.months -= kept.months % MONTHS_PER_YEAR;
                }
            } else if parts & SECOND == 0 {
                let unit = match () {
                    () if parts & MINUTE != 0 => MICROS_PER_MINUTE,
                    () if parts & HOUR != 0 => MICROS_PER_HOUR,
                    () => i64::MAX,
                };
                kept.micros = kept.micros / unit * unit;
            }
        }
        if (0..6).contains(&digits) {
            let unit = 10i64.pow(6 - digits as u32);
            let half = if kept.micros < 0 { -unit / 2 } else { unit / 2 };
            kept.micros = kept.micros.saturating_add(half) / unit * unit;
        }
        kept
    }

    /// `extract(field from interval)`.
    ///
    /// # Errors
    /// `0A000` for a field that intervals do not have.
    pub fn extract(self, field: Field) -> SqlResult<Numeric> {
        let years = i64::from(self.months / MONTHS_PER_YEAR);
        let months = i64::from(self.months % MONTHS_PER_YEAR);
        let in_minute = self.micros % MICROS_PER_MINUTE;
        let decimal = |mantissa: i64, scale| Numeric::from_parts(i128::from(mantissa), scale);
        Ok(Numeric::from_i64(match field {
            Field::Microseconds => in_minute,
            Field::Milliseconds => return decimal(in_minute, 3),
            Field::Second => return decimal(in_minute, 6),
            Field::Minute => self.micros / MICROS_PER_MINUTE % 60,
            Field::Hour => self.micros / MICROS_PER_HOUR,
            Field::Day => i64::from(self.days),
            Field::Month => months,
            Field::Quarter => months / 3 + 1,
            Field::Year => years,
            Field::Decade => years / 10,
            Field::Century => years / 100,
            Field::Millennium => years / 1000,
            Field::Epoch => {
                // A year is 365.25 days here, and only here.
                let quarters = years * 1461 + 4 * (months * DAYS_PER_MONTH + i64::from(self.days));
                let days = i128::from(quarters) * i128::from(MICROS_PER_DAY / 4);
                return Numeric::from_parts(days + i128::from(self.micros), 6);
            }
            _ => return Err(field.unsupported(SqlType::Interval)),
        }))
    }

    /// `date_trunc(field, interval)`.
    ///
    /// # Errors
    /// `0A000` for a field that is no unit of intervals.
    pub fn truncate(self, field: Field) -> SqlResult<Interval> {
        let floor = |unit: i64| Interval {
            micros: self.micros / unit * unit,
            ..self
        };
        let months = |unit: i32| Interval {
            months: self.months / unit * unit,
            ..Interval::default()
        };
        Ok(match field {
            Field::Microseconds => self,
            Field::Milliseconds => floor(1000),
            Field::Second => floor(MICROS_PER_SECOND),
            Field::Minute => floor(MICROS_PER_MINUTE),
            Field::Hour => floor(MICROS_PER_HOUR),
            Field::Day => Interval { micros: 0, ..self },
            Field::Month => months(1),
            Field::Quarter => months(3),
            Field::Year => months(MONTHS_PER_YEAR),
            Field::Decade => months(10 * MONTHS_PER_YEAR),
            Field::Century => months(100 * MONTHS_PER_YEAR),
            Field::Millennium => months(1000 * MONTHS_PER_YEAR),
            _ => return Err(field.not_cut(SqlType::Interval)),
        })
    }
}

fn timestamp_out_of_range() -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}

/// A day so many months later; the last of its month where that has no such day.
fn add_months(days: i64, months: i32) -> i64 {
    let civil = Civil::from_days(days);
    let month = civil.year * 12 + i64::from(civil.month) - 1 + i64::from(months);
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) as u8 + 1);
    let day = civil.day.min(datetime::days_in_month(year, month));
    Civil { year, month, day }.to_days()
}

/// `timestamp + interval`.
///
/// # Errors
/// `22008` beyond the range.
pub fn add_to_timestamp(micros: i64, interval: Interval) -> SqlResult<i64> {
    if datetime::is_infinite(micros) {
        return Ok(micros);
    }
    let moved = move_days(micros, interval)?;
    let moved = moved
        .checked_add(interval.micros)
        .filter(|moved| !datetime::is_infinite(*moved))
        .ok_or_else(timestamp_out_of_range)?;
    datetime::check_timestamp(moved)
}

/// The months and days of an interval.
fn move_days(micros: i64, interval: Interval) -> SqlResult<i64> {
    if interval.months == 0 && interval.days == 0 {
        return Ok(micros);
    }
    let (mut days, time) = datetime::split(micros);
    if interval.months != 0 {
        days = add_months(days, interval.months);
    }
    (days + i64::from(interval.days))
        .checked_mul(MICROS_PER_DAY)
        .and_then(|midnight| midnight.checked_add(time))
        .and_then(|moved| datetime::check_timestamp(moved).ok())
        .ok_or_else(timestamp_out_of_range)
}

/// `timestamptz + interval`: days and months by the calendar of the zone, the rest by the clock.
///
/// # Errors
/// `22008` beyond the range.
pub fn add_to_timestamptz(micros: i64, interval: Interval, zone: &TimeZone) -> SqlResult<i64> {
    if datetime::is_infinite(micros) {
        return Ok(micros);
    }
    let mut moved = micros;
    if interval.months != 0 || interval.days != 0 {
        let local = datetime::timestamptz_to_timestamp(micros, zone)?;
        moved = datetime::timestamp_to_timestamptz(move_days(local, interval)?, zone)?;
    }
    let moved = moved
        .checked_add(interval.micros)
        .filter(|moved| !datetime::is_infinite(*moved))
        .ok_or_else(timestamp_out_of_range)?;
    datetime::check_timestamp(moved)
}

/// `timestamp - timestamp`: days and a time of day.
///
/// # Errors
/// `22008` for infinities.
pub fn between(later: i64, earlier: i64) -> SqlResult<Interval> {
    if datetime::is_infinite(later) || datetime::is_infinite(earlier) {
        return Err(SqlError::new(
            SqlState::DATETIME_FIELD_OVERFLOW,
            "cannot subtract infinite timestamps",
        ));
    }
    let micros = later.checked_sub(earlier).ok_or_else(out_of_range)?;
    Interval::from_micros(micros).justify_hours()
}

/// `age(later, earlier)`: years, months and days as a calendar counts them.
///
/// # Errors
/// `22008` for infinities.
pub fn age(later: i64, earlier: i64) -> SqlResult<Interval> {
    if datetime::is_infinite(later) || datetime::is_infinite(earlier) {
        return Err(timestamp_out_of_range());
    }
    let is_negative = later < earlier;
    let (high, low) = match is_negative {
        true => (earlier, later),
        false => (later, earlier),
    };
    let (high_days, high_time) = datetime::split(high);
    let (low_days, low_time) = datetime::split(low);
    let (high_civil, low_civil) = (Civil::from_days(high_days), Civil::from_days(low_days));
    let mut months = (high_civil.year - low_civil.year) * 12 + i64::from(high_civil.month)
        - i64::from(low_civil.month);
    let mut days = i64::from(high_civil.day) - i64::from(low_civil.day);
    let mut micros = high_time - low_time;
    if micros < 0 {
        (micros, days) = (micros + MICROS_PER_DAY, days - 1);
    }
    if days < 0 {
        // The month that is borrowed from is the one of the earlier argument's date.
        let borrowed = datetime::days_in_month(low_civil.year, low_civil.month);
        (days, months) = (days + i64::from(borrowed), months - 1);
    }
    let age = Interval {
        months: i32::try_from(months).map_err(|_| out_of_range())?,
        days: days as i32,
        micros,
    };
    if is_negative { age.neg() } else { Ok(age) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Interval {
        parse_interval(text).expect(text)
    }

    #[test]
    fn fractions_go_to_the_next_smaller_part() {
        let shown = |interval: Interval| format_interval(interval);
        assert_eq!(shown(read("1 month").mul(1.5).unwrap()), "1 mon 15 days");
        assert_eq!(shown(read("1 day").div(3.0).unwrap()), "08:00:00");
        assert_eq!(shown(read("1.5 years")), "1 year 6 mons");
        assert_eq!(shown(read("0.25 days")), "06:00:00");
    }

    #[test]
    fn months_of_different_length_meet_at_their_ends() {
        let january = datetime::parse_timestamp("2024-01-31", datetime::DateOrder::Mdy).unwrap();
        let sum = add_to_timestamp(january, read("1 month")).unwrap();
        assert_eq!(datetime::format_timestamp(sum), "2024-02-29 00:00:00");
    }

    #[test]
    fn equal_spans_compare_equal() {
        assert!(read("1 month").order(read("30 days")).is_eq());
        assert!(read("1 day").order(read("24:00:01")).is_lt());
        let span = read("-1 month 3 hours").span();
        assert_eq!(Interval::from_span(span).unwrap().span(), span);
    }
}
