//! Intervals as text in the styles of `IntervalStyle`.
//!
//! Relies on: `text` for PostgreSQL's own style.  Promises: what PostgreSQL prints.  Does not: read; how an interval is read
//! does not depend on the style, but for signs in `sql_standard`, which are read as in the others.

use super::text::{write_fraction, write_interval};
use super::{Interval, MONTHS_PER_YEAR};
use std::io::Write;

/// How intervals print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IntervalStyle {
    /// `1 year 2 mons -3 days 04:05:06`.
    #[default]
    Postgres,
    /// `@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs`.
    PostgresVerbose,
    /// `+1-2 -3 +4:05:06`.
    SqlStandard,
    /// `P1Y2M-3DT4H5M6S`.
    Iso8601,
}

impl IntervalStyle {
    /// All of them.
    pub const ALL: [IntervalStyle; 4] = [
        IntervalStyle::Postgres,
        IntervalStyle::PostgresVerbose,
        IntervalStyle::SqlStandard,
        IntervalStyle::Iso8601,
    ];

    /// As SHOW has it.
    pub fn name(self) -> &'static str {
        match self {
            IntervalStyle::Postgres => "postgres",
            IntervalStyle::PostgresVerbose => "postgres_verbose",
            IntervalStyle::SqlStandard => "sql_standard",
            IntervalStyle::Iso8601 => "iso_8601",
        }
    }
}

/// The parts that are printed. Those of the time of day have one sign.
struct Parts {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    /// Microseconds.
    seconds: i64,
}

const MINUTE: i64 = 60_000_000;

impl Parts {
    fn of(interval: Interval) -> Parts {
        Parts {
            years: i64::from(interval.months / MONTHS_PER_YEAR),
            months: i64::from(interval.months % MONTHS_PER_YEAR),
            days: i64::from(interval.days),
            hours: interval.micros / (60 * MINUTE),
            minutes: interval.micros / MINUTE % 60,
            seconds: interval.micros % MINUTE,
        }
    }

    fn all(&self) -> [i64; 6] {
        [
            self.years,
            self.months,
            self.days,
            self.hours,
            self.minutes,
            self.seconds,
        ]
    }
}

/// Appends an interval as a style has it.
pub fn write_in_style(interval: Interval, style: IntervalStyle, out: &mut Vec<u8>) {
    let parts = Parts::of(interval);
    match style {
        IntervalStyle::Postgres => write_interval(interval, out),
        IntervalStyle::PostgresVerbose => verbose(&parts, out),
        IntervalStyle::SqlStandard => standard(&parts, out),
        IntervalStyle::Iso8601 => iso(&parts, out),
    }
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments) {
    out.write_fmt(text).expect("a Vec takes everything");
}

/// Seconds and as many digits of the fraction as there are, without a sign; `width`: of the whole seconds.
fn seconds(micros: i64, width: usize, out: &mut Vec<u8>) {
    let micros = micros.unsigned_abs();
    put(out, format_args!("{:0width$}", micros / 1_000_000));
    write_fraction(micros, out);
}

/// The sign of the first part is that of all, and said behind them.
fn verbose(parts: &Parts, out: &mut Vec<u8>) {
    out.push(b'@');
    let all = parts.all();
    let Some(first) = all.iter().find(|part| **part != 0) else {
        out.extend_from_slice(b" 0");
        return;
    };
    let ago = *first < 0;
    let names = ["year", "mon", "day", "hour", "min", "sec"];
    for (place, (part, name)) in all.into_iter().zip(names).enumerate() {
        if part == 0 {
            continue;
        }
        out.push(b' ');
        if (part < 0) != ago {
            out.push(b'-');
        }
        let is_second = place == 5;
        // Years and the like of -1 have an s in front of which the sign stays.
        let one = match is_second {
            true => part.unsigned_abs() == 1_000_000,
            false => part == if ago { -1 } else { 1 },
        };
        match is_second {
            true => seconds(part, 1, out),
            false => put(out, format_args!("{}", part.unsigned_abs())),
        }
        put(out, format_args!(" {name}{}", if one { "" } else { "s" }));
    }
    if ago {
        out.extend_from_slice(b" ago");
    }
}

fn standard(parts: &Parts, out: &mut Vec<u8>) {
    let all = parts.all();
    let (negative, positive) = (
        all.iter().any(|part| *part < 0),
        all.iter().any(|part| *part > 0),
    );
    let has_months = parts.years != 0 || parts.months != 0;
    let has_time = all[3..].iter().any(|part| *part != 0);
    let has_days = parts.days != 0;
    let clock = |out: &mut Vec<u8>| {
        let (hours, minutes) = (parts.hours.unsigned_abs(), parts.minutes.unsigned_abs());
        put(out, format_args!("{hours}:{minutes:02}:"));
        seconds(parts.seconds, 2, out);
    };
    let (years, months) = (parts.years.unsigned_abs(), parts.months.unsigned_abs());
    let days = parts.days.unsigned_abs();
    let is_plain = !(negative && positive) && !(has_months && (has_days || has_time));
    if !negative && !positive {
        out.push(b'0');
    } else if !is_plain {
        let sign = |parts: &[i64]| match parts.iter().any(|part| *part < 0) {
            true => '-',
            false => '+',
        };
        let [of_months, of_days, of_time] = [sign(&all[..2]), sign(&all[2..3]), sign(&all[3..])];
        put(
            out,
            format_args!("{of_months}{years}-{months} {of_days}{days} {of_time}"),
        );
        clock(out);
    } else {
        if negative {
            out.push(b'-');
        }
        if has_months {
            put(out, format_args!("{years}-{months}"));
        } else {
            if has_days {
                put(out, format_args!("{days} "));
            }
            clock(out);
        }
    }
}

fn iso(parts: &Parts, out: &mut Vec<u8>) {
    let all = parts.all();
    if all.iter().all(|part| *part == 0) {
        out.extend_from_slice(b"PT0S");
        return;
    }
    out.push(b'P');
    for (place, (part, letter)) in all.into_iter().zip("YMDHMS".chars()).enumerate() {
        if place == 3 && all[3..].iter().any(|part| *part != 0) {
            out.push(b'T');
        }
        if part == 0 {
            continue;
        }
        if part < 0 {
            out.push(b'-');
        }
        match place {
            5 => seconds(part, 1, out),
            _ => put(out, format_args!("{}", part.unsigned_abs())),
        }
        put(out, format_args!("{letter}"));
    }
}
