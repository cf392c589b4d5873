//! Dates, times and intervals by a template.

use super::template::{Case, DAYS, Field, MONTHS, Piece, ROMAN, in_case, pieces};
use quintet_base::datetime::{
    Civil, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, iso_week, split,
};
use quintet_base::{Interval, SqlError, SqlResult, SqlState};

/// Julian day of 2000-01-01.
const JULIAN_EPOCH: i64 = 2_451_545;

/// What a clock and a calendar show.
pub(super) struct Shown<'z> {
    year: i64,
    month: i64,
    day: i64,
    /// Since 2000-01-01; of an interval its days.
    days: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micro: i64,
    /// Seconds east, and a name.
    zone: Option<(i64, &'z str)>,
    is_interval: bool,
}

impl<'z> Shown<'z> {
    pub(super) fn of_timestamp(micros: i64, zone: Option<(i64, &'z str)>) -> Shown<'z> {
        let (days, time) = split(micros);
        let civil = Civil::from_days(days);
        Shown {
            year: civil.year,
            month: i64::from(civil.month),
            day: i64::from(civil.day),
            days,
            zone,
            is_interval: false,
            ..Shown::of_clock(time)
        }
    }

    pub(super) fn of_interval(interval: Interval) -> Shown<'z> {
        Shown {
            year: i64::from(interval.months / 12),
            month: i64::from(interval.months % 12),
            day: i64::from(interval.days),
            days: i64::from(interval.months) * 30 + i64::from(interval.days),
            ..Shown::of_clock(interval.micros)
        }
    }

    fn of_clock(micros: i64) -> Shown<'z> {
        Shown {
            year: 0,
            month: 0,
            day: 0,
            days: 0,
            hour: micros / MICROS_PER_HOUR,
            minute: micros / MICROS_PER_MINUTE % 60,
            second: micros / MICROS_PER_SECOND % 60,
            micro: micros % MICROS_PER_SECOND,
            zone: None,
            is_interval: true,
        }
    }

    /// By a template.
    ///
    /// # Errors
    /// `22007` for names of days in an interval.
    pub(super) fn print(&self, template: &str) -> SqlResult<String> {
        let mut out = String::new();
        for piece in pieces(template) {
            match piece {
                Piece::Separator(c) | Piece::Literal(c) => out.push(c),
                Piece::Exact => {}
                Piece::Field {
                    field,
                    bare,
                    ordinal,
                    ..
                } => {
                    let start = out.len();
                    self.field(field, bare, &mut out)?;
                    if let Some(case) = ordinal
                        && out[start..].ends_with(|c: char| c.is_ascii_digit())
                    {
                        let ending = ordinal_ending(&out[start..]);
                        out.push_str(&in_case(ending, case));
                    }
                }
            }
        }
        Ok(out)
    }

    fn weekday(&self) -> i64 {
        (self.days + 6).rem_euclid(7)
    }

    fn day_of_year(&self) -> i64 {
        if self.is_interval {
            return self.days;
        }
        let first = Civil {
            year: self.year,
            month: 1,
            day: 1,
        };
        self.days - first.to_days() + 1
    }

    /// Years as people count them: there is no year 0.
    fn counted_year(&self, year: i64) -> i64 {
        match self.is_interval || year > 0 {
            true => year,
            false => 1 - year,
        }
    }

    fn iso(&self) -> (i64, i64) {
        iso_week(self.days)
    }

    fn name(&self, name: &str, case: Case, padded: Option<usize>, out: &mut String) {
        let text = in_case(name, case);
        match padded {
            Some(width) => out.push_str(&format!("{text:<width$}")),
            None => out.push_str(&text),
        }
    }

    fn field(&self, field: Field, bare: bool, out: &mut String) -> SqlResult<()> {
        let number = |value: i64, width: usize, out: &mut String| {
            let width = if value < 0 { width + 1 } else { width };
            match bare {
                true => out.push_str(&value.to_string()),
                false => out.push_str(&format!("{value:0width$}")),
            }
        };
        let padded = |width: usize| (!bare).then_some(width);
        let no_interval = || match self.is_interval {
            false => Ok(()),
            true => Err(SqlError::new(
                SqlState::INVALID_DATETIME_FORMAT,
                "invalid format specification for an interval value",
            )
            .hint("Intervals are not tied to specific calendar dates.")),
        };
        let digits = |year: i64, count: u8, out: &mut String| {
            let year = self.counted_year(year);
            let shown = match count {
                4 => year,
                count => year % 10i64.pow(u32::from(count)),
            };
            number(shown, usize::from(count), out);
        };
        match field {
            Field::Hour12 => {
                let hour = self.hour % 12;
                number(if hour == 0 { 12 } else { hour }, 2, out);
            }
            Field::Hour24 => number(self.hour, 2, out),
            Field::Minute => number(self.minute, 2, out),
            Field::Second => number(self.second, 2, out),
            Field::Milli => out.push_str(&format!("{:03}", self.micro / 1000)),
            Field::Micro => out.push_str(&format!("{:06}", self.micro)),
            Field::Fraction(count) => {
                let unit = 10i64.pow(6 - u32::from(count));
                let width = usize::from(count);
                out.push_str(&format!("{:0width$}", self.micro / unit));
            }
            Field::SecondOfDay => {
                let seconds = self.hour * 3600 + self.minute * 60 + self.second;
                out.push_str(&seconds.to_string());
            }
            Field::Half(case, dots) => {
                let name = match (self.hour % 24 >= 12, dots) {
                    (true, false) => "PM",
                    (false, false) => "AM",
                    (true, true) => "P.M.",
                    (false, true) => "A.M.",
                };
                out.push_str(&in_case(name, case));
            }
            Field::YearWithComma => {
                let year = self.counted_year(self.year);
                match bare {
                    true => out.push_str(&format!("{},{:03}", year / 1000, year % 1000)),
                    false => out.push_str(&format!("{:0>1},{:03}", year / 1000, year % 1000)),
                }
            }
            Field::Year(count) => digits(self.year, count, out),
            Field::IsoYear(count) => digits(self.iso().0, count, out),
            Field::Era(case, dots) => {
                no_interval()?;
                let name = match (self.year <= 0, dots) {
                    (true, false) => "BC",
                    (false, false) => "AD",
                    (true, true) => "B.C.",
                    (false, true) => "A.D.",
                };
                out.push_str(&in_case(name, case));
            }
            Field::MonthName(case) | Field::MonthShort(case) => {
                no_interval()?;
                let name = MONTHS[self.month as usize - 1];
                match field {
                    Field::MonthName(_) => self.name(name, case, padded(9), out),
                    _ => self.name(&name[..3], case, None, out),
                }
            }
            Field::Month => number(self.month, 2, out),
            Field::DayName(case) | Field::DayShort(case) => {
                no_interval()?;
                let name = DAYS[self.weekday() as usize];
                match field {
                    Field::DayName(_) => self.name(name, case, padded(9), out),
                    _ => self.name(&name[..3], case, None, out),
                }
            }
            Field::DayOfYear => number(self.day_of_year(), 3, out),
            Field::IsoDayOfYear => {
                let day = (self.iso().1 - 1) * 7 + (self.weekday() + 6) % 7 + 1;
                number(day, 3, out);
            }
            Field::Day => number(self.day, 2, out),
            Field::Weekday => {
                no_interval()?;
                out.push_str(&(self.weekday() + 1).to_string());
            }
            Field::IsoWeekday => {
                no_interval()?;
                out.push_str(&((self.weekday() + 6) % 7 + 1).to_string());
            }
            Field::WeekOfMonth => out.push_str(&((self.day - 1) / 7 + 1).to_string()),
            Field::WeekOfYear => number((self.day_of_year() - 1) / 7 + 1, 2, out),
            Field::IsoWeek => number(self.iso().1, 2, out),
            Field::Century => {
                let century = match self.year {
                    year if self.is_interval => year / 100,
                    year if year > 0 => (year - 1) / 100 + 1,
                    year => (year - 100) / 100,
                };
                number(century, 2, out);
            }
            Field::Julian => out.push_str(&(self.days + JULIAN_EPOCH).to_string()),
            Field::Quarter => {
                if self.month > 0 {
                    out.push_str(&((self.month - 1) / 3 + 1).to_string());
                }
            }
            Field::Roman(case) => {
                // Of an interval whole years are December, those ago January, and a month ago is December.
                let month = match self.month {
                    0 if self.year == 0 => None,
                    0 => Some(if self.year > 0 { 11 } else { 0 }),
                    month => Some((month.rem_euclid(13) - 1) as usize),
                };
                if let Some(month) = month {
                    self.name(ROMAN[month], case, padded(4), out);
                }
            }
            Field::ZoneName(case) => {
                no_interval()?;
                if let Some((_, name)) = self.zone {
                    out.push_str(&in_case(name, case));
                }
            }
            Field::ZoneHour => {
                no_interval()?;
                let offset = self.zone.map_or(0, |zone| zone.0);
                let sign = if offset < 0 { '-' } else { '+' };
                out.push_str(&format!("{sign}{:02}", offset.abs() / 3600));
            }
            Field::ZoneMinute => {
                no_interval()?;
                let offset = self.zone.map_or(0, |zone| zone.0);
                out.push_str(&format!("{:02}", offset.abs() / 60 % 60));
            }
            Field::Offset => {
                no_interval()?;
                out.push_str(&offset_text(self.zone.map_or(0, |zone| zone.0)));
            }
        }
        Ok(())
    }
}

/// `+02`, `-05:30`.
fn offset_text(offset: i64) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let (hours, minutes) = (offset.abs() / 3600, offset.abs() / 60 % 60);
    match minutes {
        0 => format!("{sign}{hours:02}"),
        _ => format!("{sign}{hours:02}:{minutes:02}"),
    }
}

/// `ST`, `ND`, `RD` or `TH` for a number that ends in digits.
pub(super) fn ordinal_ending(digits: &str) -> &'static str {
    let mut last = digits.bytes().rev().filter(u8::is_ascii_digit);
    match (last.next(), last.next()) {
        (_, Some(b'1')) => "TH",
        (Some(b'1'), _) => "ST",
        (Some(b'2'), _) => "ND",
        (Some(b'3'), _) => "RD",
        _ => "TH",
    }
}
