//! What the fields of a date's text mean together.
//!
//! Relies on: `split` for the fields, `words` and `zone` for the names among them.  Promises: each
//! field is taken for what PostgreSQL takes it for, which depends on its form, on what was seen
//! before it and on the order of day and month; what is said twice is refused.  Does not: check
//! the range of the type, or word an error.

use super::parse::{DateOrder, Parsed, Refusal};
use super::split::{self, Field, Kind};
use super::words::{self, Label, Word};
use super::zone::{self, TimeZone};
use super::{
    Civil, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, days_in_month,
};

/// The Julian day of 2000-01-01.
const JULIAN_OF_2000: i64 = 2_451_545;
/// Offsets of zones end before 16 hours.
const OFFSET_HOURS_MAX: i64 = 15;

/// What has been said, as a set of bits.
type Said = u32;
const YEAR: Said = 1;
const MONTH: Said = 1 << 1;
const DAY: Said = 1 << 2;
const DAY_OF_YEAR: Said = 1 << 3;
const HOUR: Said = 1 << 4;
const MINUTE: Said = 1 << 5;
const SECOND: Said = 1 << 6;
const ZONE: Said = 1 << 7;
const SUMMER: Said = 1 << 8;
const RESERVED: Said = 1 << 9;
const HALF: Said = 1 << 10;
const ERA: Said = 1 << 11;
const WEEKDAY: Said = 1 << 12;
const DATE: Said = YEAR | MONTH | DAY;
const TIME: Said = HOUR | MINUTE | SECOND;

/// The transaction's clock, for `now` and `today`.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    /// The day in the session's zone, from 2000-01-01.
    pub(super) today: i64,
    /// The time of that day there, in microseconds.
    pub(super) time: i64,
}

/// A time of day as it was written.
pub(super) struct TimeOfDay {
    /// Microseconds.
    pub(super) micros: i64,
    pub(super) zone: Option<TimeZone>,
    /// The day, if the text has one.
    pub(super) day: Option<i64>,
}

/// Reads a moment from a text in lower case.
pub(super) fn moment(
    text: &str,
    order: DateOrder,
    clock: Option<Clock>,
) -> Result<Parsed, Refusal> {
    let fields = split::split(text).ok_or(Refusal::Syntax)?;
    let mut reader = Reader::new(order, clock);
    for (place, field) in fields.iter().enumerate() {
        let said = reader.field(*field)?;
        reader.expect_behind_t(&fields, place)?;
        if said & reader.said != 0 {
            return Err(Refusal::Syntax);
        }
        reader.said |= said;
    }
    let days = reader.day()?;
    let time = reader.time()?;
    if let Some(parsed) = reader.named {
        return Ok(parsed);
    }
    let days = days.ok_or(Refusal::Syntax)?;
    Ok(Parsed::Moment {
        days,
        time,
        zone: reader.zone_of()?,
    })
}

/// Reads a time of day from a text in lower case.
pub(super) fn time_of_day(
    text: &str,
    order: DateOrder,
    clock: Option<Clock>,
) -> Result<TimeOfDay, Refusal> {
    let fields = split::split(text).ok_or(Refusal::Syntax)?;
    let mut reader = Reader::new(order, clock);
    for place in 0..fields.len() {
        let said = reader.field_of_time(&fields, place)?;
        reader.expect_behind_t(&fields, place)?;
        if said & reader.said != 0 {
            return Err(Refusal::Syntax);
        }
        reader.said |= said;
    }
    let day = reader.day()?;
    let micros = reader.time()?;
    if !(0..=MICROS_PER_DAY).contains(&micros) {
        return Err(Refusal::Field);
    }
    if reader.said & TIME != TIME {
        return Err(Refusal::Syntax);
    }
    // What clocks of a zone show depends on the day.
    let by_day = reader.is_zone_named && matches!(&reader.zone, Some(zone) if !zone.is_fixed());
    if by_day && day.is_none() || reader.said & DATE != 0 && day.is_none() {
        return Err(Refusal::Syntax);
    }
    Ok(TimeOfDay {
        micros,
        zone: reader.zone_of()?,
        day,
    })
}

struct Reader {
    order: DateOrder,
    clock: Option<Clock>,
    said: Said,
    year: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    hour: i64,
    minute: i64,
    second: i64,
    /// Microseconds.
    fraction: i64,
    /// The year has one or two digits: its century is to be guessed.
    is_short_year: bool,
    is_month_a_word: bool,
    is_julian: bool,
    is_before_christ: bool,
    afternoon: Option<bool>,
    zone: Option<TimeZone>,
    /// The zone was written as a name of the database, which knows of summer itself.
    is_zone_named: bool,
    label: Option<Label>,
    /// A moment that has a name.
    named: Option<Parsed>,
}

impl Reader {
    fn new(order: DateOrder, clock: Option<Clock>) -> Reader {
        Reader {
            order,
            clock,
            said: 0,
            year: 0,
            month: 0,
            day: 0,
            day_of_year: 0,
            hour: 0,
            minute: 0,
            second: 0,
            fraction: 0,
            is_short_year: false,
            is_month_a_word: false,
            is_julian: false,
            is_before_christ: false,
            afternoon: None,
            zone: None,
            is_zone_named: false,
            label: None,
            named: None,
        }
    }

    fn has_all(&self, said: Said) -> bool {
        self.said & said == said
    }

    /// Takes a field of a moment; what it says.
    fn field(&mut self, field: Field<'_>) -> Result<Said, Refusal> {
        match field.kind {
            Kind::Date => self.date_or_zone(field.text),
            Kind::Time => {
                self.expect_time()?;
                let said = self.clock_time(field.text)?;
                match self.time_overflows() {
                    true => Err(Refusal::Field),
                    false => Ok(said),
                }
            }
            Kind::Offset { minus } => self.offset(field.text, minus),
            Kind::Number => match self.label.take() {
                Some(label) => self.labelled(label, field.text, self.said | DATE),
                None => self.plain_number(field.text),
            },
            Kind::Word => self.word(field.text),
            Kind::Signed { minus } => self.signed(field.text, minus),
        }
    }

    /// Takes a field of a time of day.
    fn field_of_time(&mut self, fields: &[Field<'_>], place: usize) -> Result<Said, Refusal> {
        let field = fields[place];
        let text = field.text;
        let last = fields[fields.len() - 1].kind;
        let is_first_of_several = place == 0 && fields.len() >= 2;
        match field.kind {
            Kind::Date
                if is_first_of_several && (last == Kind::Date || fields[1].kind == Kind::Time) =>
            {
                self.date(text)
            }
            Kind::Date if text.starts_with(|c: char| c.is_ascii_digit()) => {
                self.label = None;
                self.time_with_offset(text, self.said | DATE)
            }
            Kind::Date => self.zone_by_name(text),
            Kind::Time => {
                self.label = None;
                self.clock_time(text)
            }
            Kind::Offset { minus } => self.offset(text, minus),
            Kind::Number => match self.label.take() {
                Some(label) => self.labelled(label, text, self.said | DATE),
                None => self.number_of_time(text, is_first_of_several && last == Kind::Date),
            },
            Kind::Word => self.word_of_time(text),
            Kind::Signed { .. } => Err(Refusal::Syntax),
        }
    }

    fn number_of_time(&mut self, text: &str, may_be_date: bool) -> Result<Said, Refusal> {
        match text.find('.') {
            Some(_) if may_be_date => self.date(text),
            Some(point) if point > 2 => self.run_together(text, self.said | DATE),
            Some(_) => Err(Refusal::Syntax),
            None if text.len() > 4 => self.run_together(text, self.said | DATE),
            None => self.number(text, self.said | DATE),
        }
    }

    fn word_of_time(&mut self, text: &str) -> Result<Said, Refusal> {
        if zone::abbreviated(text).is_some() {
            return self.word(text);
        }
        match words::find(text) {
            Word::Now => {
                let clock = self.clock.ok_or_else(|| Refusal::Clock(text.to_string()))?;
                self.set_time(clock.time);
                Ok(TIME)
            }
            Word::Month(_) | Word::Weekday(_) | Word::Day(_) | Word::Epoch | Word::Infinity => {
                Err(Refusal::Syntax)
            }
            Word::Time => {
                self.label = Some(Label::Time);
                Ok(0)
            }
            _ => self.word(text),
        }
    }

    /// Behind a `t` stands something that may be a time.
    fn expect_behind_t(&self, fields: &[Field<'_>], place: usize) -> Result<(), Refusal> {
        let behind = fields.get(place + 1).map(|field| field.kind);
        let may_be_time = matches!(behind, Some(Kind::Number | Kind::Time | Kind::Date));
        match fields[place].kind == Kind::Word && self.label == Some(Label::Time) && !may_be_time {
            true => Err(Refusal::Syntax),
            false => Ok(()),
        }
    }

    /// A `t` may stand before what is to be read now, no other label.
    fn expect_time(&mut self) -> Result<(), Refusal> {
        match self.label.take() {
            None | Some(Label::Time) => Ok(()),
            Some(_) => Err(Refusal::Syntax),
        }
    }

    /// Parts held together by `-`, `/` or `.`: a date, or behind one a zone's name or a time in one
    /// number with an offset.
    fn date_or_zone(&mut self, text: &str) -> Result<Said, Refusal> {
        if self.label == Some(Label::Julian) {
            self.label = None;
            let digits = text
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(text.len());
            self.set_julian(integer(&text[..digits])?);
            let behind = &text[digits..];
            let minus = behind.starts_with('-');
            if !minus && !behind.starts_with('+') {
                return Err(Refusal::Syntax);
            }
            return Ok(self.offset(&behind[1..], minus)? | DATE | TIME);
        }
        if self.label.is_none() && !self.has_all(MONTH | DAY) {
            return self.date(text);
        }
        if self.label.is_some() || text.starts_with(|c: char| c.is_ascii_digit()) {
            self.expect_time()?;
            return self.time_with_offset(text, self.said);
        }
        self.zone_by_name(text)
    }

    /// `123456-08`.
    fn time_with_offset(&mut self, text: &str, said: Said) -> Result<Said, Refusal> {
        if self.has_all(TIME) {
            return Err(Refusal::Syntax);
        }
        let (time, offset) = text.split_once('-').ok_or(Refusal::Syntax)?;
        let zone = self.offset(offset, true)?;
        Ok(self.run_together(time, said)? | zone)
    }

    fn zone_by_name(&mut self, text: &str) -> Result<Said, Refusal> {
        let zone = TimeZone::by_name_or_rule(text);
        self.zone = Some(zone.ok_or_else(|| Refusal::Zone(text.to_string()))?);
        self.is_zone_named = true;
        Ok(ZONE)
    }

    /// A date whose parts are held together.
    fn date(&mut self, text: &str) -> Result<Said, Refusal> {
        let mut parts = Vec::with_capacity(3);
        let mut rest = text;
        while let Some(first) = rest.bytes().next() {
            let of_kind: fn(u8) -> bool = match first {
                b'0'..=b'9' => |byte| byte.is_ascii_digit(),
                b'a'..=b'z' => |byte| byte.is_ascii_lowercase(),
                _ => |byte| !byte.is_ascii_alphanumeric(),
            };
            let length = rest.bytes().position(|byte| !of_kind(byte));
            let (part, behind) = rest.split_at(length.unwrap_or(rest.len()));
            if first.is_ascii_alphanumeric() {
                parts.push(part);
            }
            rest = behind;
        }
        // Words first: a month by its name is no number's to take.
        let is_word = |part: &&str| part.starts_with(|c: char| c.is_ascii_lowercase());
        let mut said = 0;
        let mut add = |more: Said, before: Said| match (before | said) & more {
            0 => {
                said |= more;
                Ok(said)
            }
            _ => Err(Refusal::Syntax),
        };
        let before = self.said;
        for word in parts.iter().filter(|part| is_word(part)) {
            match words::find(word) {
                Word::Filler => {}
                Word::Month(month) => {
                    self.month = month;
                    self.is_month_a_word = true;
                    add(MONTH, before)?;
                }
                _ => return Err(Refusal::Syntax),
            }
        }
        let mut so_far = before | add(0, before)?;
        for number in parts.iter().filter(|part| !is_word(part)) {
            let more = self.number(number, so_far)?;
            so_far = before | add(more, before)?;
        }
        match so_far & !(DAY_OF_YEAR | ZONE) == DATE {
            true => Ok(said),
            false => Err(Refusal::Syntax),
        }
    }

    /// A number that no word before it explains.
    fn plain_number(&mut self, text: &str) -> Result<Said, Refusal> {
        let length = text.len();
        match text.find('.') {
            Some(_) if self.said & DATE == 0 => self.date(text),
            Some(point) if point > 2 => self.run_together(text, self.said),
            // Six digits and more are a date or a time, while one is missing.
            _ if length >= 6 && (self.said & DATE == 0 || self.said & TIME == 0) => {
                self.run_together(text, self.said)
            }
            _ => self.number(text, self.said),
        }
    }

    /// One part of a date, by what there is and by the order of day and month.
    fn number(&mut self, text: &str, said: Said) -> Result<Said, Refusal> {
        let length = text.len();
        let (whole, fraction) = match text.find('.') {
            Some(point) if point > 2 => return self.run_together(text, said | DATE),
            Some(point) => text.split_at(point),
            None => (text, ""),
        };
        let value = integer(whole)?;
        if !fraction.is_empty() {
            self.fraction = micros_of_fraction(fraction)?;
        }
        if length == 3 && said & DATE == YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(DAY_OF_YEAR | MONTH | DAY);
        }
        let is_long = length >= 3;
        let is_year_first = is_long || self.order == DateOrder::Ymd;
        let named_month = self.is_month_a_word;
        let what = match said & DATE {
            0 if is_year_first => YEAR,
            0 if self.order == DateOrder::Dmy => DAY,
            0 => MONTH,
            YEAR | DAY => MONTH,
            MONTH if named_month && is_year_first => YEAR,
            MONTH => DAY,
            part if part == YEAR | MONTH => {
                if named_month && is_long && self.is_short_year {
                    // The first number was the day.
                    self.day = self.year;
                    self.year = value;
                    self.is_short_year = false;
                    return Ok(DAY);
                }
                DAY
            }
            part if part == MONTH | DAY => YEAR,
            DATE => return self.run_together(text, said),
            _ => return Err(Refusal::Syntax),
        };
        match what {
            YEAR => {
                self.year = value;
                self.is_short_year = length <= 2;
            }
            MONTH => self.month = value,
            _ => self.day = value,
        }
        Ok(what)
    }

    /// `20240131`, `123456`, `123456.7`, `1234`.
    fn run_together(&mut self, text: &str, said: Said) -> Result<Said, Refusal> {
        let digits = match text.find('.') {
            Some(point) => {
                self.fraction = micros_of_fraction(&text[point..])?;
                &text[..point]
            }
            None => {
                if said & DATE != DATE && text.len() >= 6 {
                    let (year, rest) = text.split_at(text.len() - 4);
                    self.year = integer(year)?;
                    self.month = integer(&rest[..2])?;
                    self.day = integer(&rest[2..])?;
                    self.is_short_year |= year.len() == 2;
                    return Ok(DATE);
                }
                text
            }
        };
        if said & TIME == TIME || !matches!(digits.len(), 4 | 6) {
            return Err(Refusal::Syntax);
        }
        self.hour = integer(&digits[..2])?;
        self.minute = integer(&digits[2..4])?;
        self.second = integer(&digits[4..])?;
        Ok(TIME)
    }

    /// The number behind a label.
    fn labelled(&mut self, label: Label, text: &str, said: Said) -> Result<Said, Refusal> {
        let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
        let may_have_fraction = matches!(label, Label::Julian | Label::Time | Label::Second);
        if !fraction.is_empty() && !may_have_fraction {
            return Err(Refusal::Syntax);
        }
        if label == Label::Time {
            return match self.run_together(text, said)? {
                TIME => Ok(TIME),
                _ => Err(Refusal::Syntax),
            };
        }
        let value = integer(whole)?;
        let (place, what) = match label {
            Label::Year => (&mut self.year, YEAR),
            Label::Month if self.said & MONTH != 0 && self.said & HOUR != 0 => {
                (&mut self.minute, MINUTE)
            }
            Label::Month => (&mut self.month, MONTH),
            Label::Day => (&mut self.day, DAY),
            Label::Hour => (&mut self.hour, HOUR),
            Label::Minute => (&mut self.minute, MINUTE),
            Label::Second => {
                if !fraction.is_empty() {
                    self.fraction = micros_of_fraction(fraction)?;
                }
                (&mut self.second, SECOND)
            }
            Label::Julian => {
                self.set_julian(value);
                if fraction.is_empty() {
                    return Ok(DATE);
                }
                let part: f64 = fraction.parse().map_err(|_| Refusal::Syntax)?;
                self.set_time((part * MICROS_PER_DAY as f64) as i64);
                return Ok(DATE | TIME);
            }
            Label::Time | Label::Other => return Err(Refusal::Syntax),
        };
        *place = value;
        Ok(what)
    }

    /// `12:34`, `12:34:56`, `12:34:56.7`, and `34:56.7`, which has no hour.
    fn clock_time(&mut self, text: &str) -> Result<Said, Refusal> {
        let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
        let mut parts = whole.split(':');
        let mut next = || parts.next().map(integer).transpose();
        let (first, second, third) = (next()?, next()?, next()?);
        let is_over = next()?.is_none();
        let (Some(first), Some(second)) = (first, second) else {
            return Err(Refusal::Syntax);
        };
        (self.hour, self.minute, self.second) = match third {
            Some(third) => (first, second, third),
            None if fraction.is_empty() => (first, second, 0),
            None => (0, first, second),
        };
        self.fraction = match fraction {
            "" => 0,
            _ => micros_of_fraction(fraction)?,
        };
        if !is_over {
            return Err(Refusal::Syntax);
        }
        match self.minute > 59 || self.second > 60 {
            true => Err(Refusal::Field),
            false => Ok(TIME),
        }
    }

    /// The offset behind a sign.
    fn offset(&mut self, text: &str, minus: bool) -> Result<Said, Refusal> {
        let east = unsigned_offset(text)?;
        let east = if minus { -east } else { east };
        self.zone = Some(TimeZone::fixed(east));
        Ok(ZONE)
    }

    fn signed(&mut self, text: &str, minus: bool) -> Result<Said, Refusal> {
        if words::find(text) != Word::Infinity || !minus {
            return Err(Refusal::Syntax);
        }
        self.named = Some(Parsed::NegativeInfinity);
        Ok(RESERVED)
    }

    fn word(&mut self, text: &str) -> Result<Said, Refusal> {
        // A zone's abbreviation goes before everything else that the word may mean.
        if let Some(zone) = zone::abbreviated(text) {
            self.zone = Some(zone);
            return Ok(ZONE);
        }
        match words::find(text) {
            Word::Now => {
                let clock = self.clock.ok_or_else(|| Refusal::Clock(text.to_string()))?;
                self.set_day(clock.today);
                self.set_time(clock.time);
                self.named = Some(Parsed::Now);
                Ok(DATE | TIME | ZONE)
            }
            Word::Day(later) => {
                let clock = self.clock.ok_or_else(|| Refusal::Clock(text.to_string()))?;
                self.set_day(clock.today + later);
                Ok(DATE)
            }
            Word::Midnight => {
                self.set_time(0);
                self.zone = Some(TimeZone::utc());
                Ok(TIME | ZONE)
            }
            Word::Epoch => {
                self.named = Some(Parsed::Epoch);
                Ok(RESERVED)
            }
            Word::Infinity => {
                self.named = Some(Parsed::Infinity);
                Ok(RESERVED)
            }
            Word::Month(month) => {
                // What was taken for the month was the day.
                let is_day = self.said & (MONTH | DAY) == MONTH
                    && !self.is_month_a_word
                    && (1..=31).contains(&self.month);
                if is_day {
                    self.day = self.month;
                }
                self.is_month_a_word = true;
                self.month = month;
                Ok(if is_day { DAY } else { MONTH })
            }
            Word::Weekday(_) => Ok(WEEKDAY),
            Word::Half { afternoon } => {
                self.afternoon = Some(afternoon);
                Ok(HALF)
            }
            Word::Era { before } => {
                self.is_before_christ = before;
                Ok(ERA)
            }
            Word::Summer => Ok(SUMMER),
            Word::Label(label) => {
                self.label = Some(label);
                Ok(0)
            }
            Word::Time if !self.has_all(DATE) => Err(Refusal::Syntax),
            Word::Time => {
                self.label = Some(Label::Time);
                Ok(0)
            }
            Word::Filler => Ok(0),
            Word::Unknown => {
                self.zone = Some(TimeZone::by_name_or_rule(text).ok_or(Refusal::Syntax)?);
                self.is_zone_named = true;
                Ok(ZONE)
            }
        }
    }

    fn set_julian(&mut self, day: i64) {
        self.set_day(day - JULIAN_OF_2000);
        self.is_julian = true;
    }

    fn set_day(&mut self, days: i64) {
        let civil = Civil::from_days(days);
        self.year = civil.year;
        self.month = i64::from(civil.month);
        self.day = i64::from(civil.day);
        // Years of days that were counted need no century and no era.
        self.is_julian = true;
    }

    fn set_time(&mut self, micros: i64) {
        self.hour = micros / MICROS_PER_HOUR;
        self.minute = micros / MICROS_PER_MINUTE % 60;
        self.second = micros / MICROS_PER_SECOND % 60;
        self.fraction = micros % MICROS_PER_SECOND;
    }

    fn micros(&self) -> i64 {
        self.hour * MICROS_PER_HOUR
            + self.minute * MICROS_PER_MINUTE
            + self.second * MICROS_PER_SECOND
            + self.fraction
    }

    /// Second 60 and hour 24 carry over; nothing else does.
    fn time_overflows(&self) -> bool {
        self.minute > 59 || self.second > 60 || self.micros() > MICROS_PER_DAY
    }

    /// The day, if the text has a whole date.
    fn day(&mut self) -> Result<Option<i64>, Refusal> {
        if self.said & YEAR != 0 && !self.is_julian {
            self.year = match self.year {
                year if self.is_before_christ && year > 0 => 1 - year,
                year if self.is_before_christ || year < 0 => return Err(Refusal::Field),
                year @ 0..70 if self.is_short_year => year + 2000,
                year @ 70..100 if self.is_short_year => year + 1900,
                0 => return Err(Refusal::Field),
                year => year,
            };
        }
        if self.said & DAY_OF_YEAR != 0 {
            let january = Civil {
                year: self.year,
                month: 1,
                day: 1,
            };
            let civil = Civil::from_days(january.to_days() + self.day_of_year - 1);
            self.year = civil.year;
            self.month = i64::from(civil.month);
            self.day = i64::from(civil.day);
        }
        let bad_month = self.said & MONTH != 0 && !(1..=12).contains(&self.month);
        let bad_day = self.said & DAY != 0 && !(1..=31).contains(&self.day);
        if bad_month || bad_day {
            return Err(Refusal::FieldOrder);
        }
        if !self.has_all(DATE) {
            return Ok(None);
        }
        let month = self.month as u8;
        if self.day > i64::from(days_in_month(self.year, month)) {
            return Err(Refusal::Field);
        }
        let civil = Civil {
            year: self.year,
            month,
            day: self.day as u8,
        };
        Ok(Some(civil.to_days()))
    }

    /// Microseconds of the day.
    fn time(&mut self) -> Result<i64, Refusal> {
        if self.afternoon.is_some() && self.hour > 12 {
            return Err(Refusal::Field);
        }
        match self.afternoon {
            Some(true) if self.hour != 12 => self.hour += 12,
            Some(false) if self.hour == 12 => self.hour = 0,
            _ => {}
        }
        match self.time_overflows() {
            true => Err(Refusal::Field),
            false => Ok(self.micros()),
        }
    }

    fn zone_of(&mut self) -> Result<Option<TimeZone>, Refusal> {
        let zone = self.zone.take();
        if self.said & SUMMER == 0 {
            return Ok(zone);
        }
        // `MET DST` is an hour ahead of `MET`; a zone of the database needs no such help.
        match zone.and_then(|zone| zone.hour_ahead()) {
            Some(zone) if !self.is_zone_named => Ok(Some(zone)),
            _ => Err(Refusal::Syntax),
        }
    }
}

/// The value of digits; 0 for none.
fn integer(digits: &str) -> Result<i64, Refusal> {
    if digits.is_empty() {
        return Ok(0);
    }
    match digits.parse::<i32>() {
        Ok(value) => Ok(i64::from(value)),
        Err(_) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Err(Refusal::Field),
        Err(_) => Err(Refusal::Syntax),
    }
}

/// Microseconds of a part of a second that begins with its point.
fn micros_of_fraction(text: &str) -> Result<i64, Refusal> {
    if text == "." {
        return Ok(0);
    }
    let part: f64 = text.parse().map_err(|_| Refusal::Syntax)?;
    // The rounding of halves is the machine's, as it is PostgreSQL's.
    Ok((part * 1e6).round_ties_even() as i64)
}

/// Seconds east of Greenwich of an offset with its sign.
pub(super) fn signed_offset(text: &str) -> Result<i32, Refusal> {
    match text.strip_prefix('-') {
        Some(digits) => unsigned_offset(digits).map(|seconds| -seconds),
        None => unsigned_offset(text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Seconds of an offset behind its sign: `2`, `02`, `0230`, `02:30`, `02:30:15`.
fn unsigned_offset(text: &str) -> Result<i32, Refusal> {
    let mut rest = text;
    let mut next = |sign: &str| {
        let behind = rest.strip_prefix(sign)?;
        let length = behind.bytes().position(|byte| !byte.is_ascii_digit());
        let (digits, behind) = behind.split_at(length.unwrap_or(behind.len()));
        rest = behind;
        Some(digits)
    };
    let first = next("").unwrap_or_default();
    let second = next(":");
    let third = second.and_then(|_| next(":"));
    let part = |part: Option<&str>| match part {
        Some(part) => integer(part).map_err(|_| Refusal::Displacement),
        None => Ok(0),
    };
    let whole = part(Some(first))?;
    let (hours, minutes) = match second {
        None if rest.is_empty() && first.len() > 2 => (whole / 100, whole % 100),
        _ => (whole, part(second)?),
    };
    let seconds = part(third)?;
    if hours > OFFSET_HOURS_MAX || minutes > 59 || seconds > 59 {
        return Err(Refusal::Displacement);
    }
    if !rest.is_empty() {
        return Err(Refusal::Syntax);
    }
    Ok((hours * 3600 + minutes * 60 + seconds) as i32)
}
