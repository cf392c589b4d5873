//! Dates, timestamps and zones against what PostgreSQL 15 reads, prints and computes.
//!
//! The tables hold PostgreSQL's own output.

#![allow(clippy::unwrap_used)] // also in the functions that tests share

use proptest::prelude::*;
use quintet_base::datetime::{
    self, Civil, DateOrder, Field, TimeZone, format_date, format_timestamp, format_timestamptz,
};
use quintet_base::{SqlResult, SqlState, SqlType};

fn parse_date(text: &str) -> SqlResult<i32> {
    datetime::parse_date(text, DateOrder::Mdy)
}

fn parse_timestamp(text: &str) -> SqlResult<i64> {
    datetime::parse_timestamp(text, DateOrder::Mdy)
}

fn parse_timestamptz(text: &str, zone: &TimeZone) -> SqlResult<i64> {
    datetime::parse_timestamptz(text, DateOrder::Mdy, zone)
}

fn zone(name: &str) -> TimeZone {
    TimeZone::parse(name).unwrap()
}

/// (zone, microseconds since 2000-01-01 UTC, printed)
#[rustfmt::skip]
const MOMENTS: &[(&str, i64, &str)] = &[
    ("Asia/Kolkata", 0, "2000-01-01 05:30:00+05:30"),
    ("Pacific/Apia", -1, "1999-12-31 12:59:59.999999-11"),
    ("America/New_York", 1, "1999-12-31 19:00:00.000001-05"),
    ("Asia/Kolkata", -211813488000000000, "4714-11-24 05:53:28+05:53:28 BC"),
    ("Australia/Lord_Howe", 9223371331199999999, "294277-01-01 10:59:59.999999+11"),
    ("UTC", 757382400000000, "2024-01-01 00:00:00+00"),
    ("Pacific/Apia", -946684800000000, "1969-12-31 13:00:00-11"),
    ("America/New_York", 757382400000000, "2023-12-31 19:00:00-05"),
    ("America/New_York", 333936000000000, "2010-07-31 20:00:00-04"),
    ("Europe/Berlin", 7600000000000000, "2240-11-01 00:06:40+01"),
    ("Australia/Lord_Howe", 1069745505916865, "2033-11-24 18:31:45.916865+11"),
    ("America/New_York", -1289513866667470, "1959-02-19 20:42:13.33253-05"),
    ("UTC", 1285292933312962, "2040-09-23 01:48:53.312962+00"),
    ("UTC", 2530047976832633, "2080-03-03 23:06:16.832633+00"),
    ("Australia/Lord_Howe", -1323095332943789, "1958-01-27 19:31:07.056211+10"),
    ("UTC", 1022550809573779, "2032-05-27 01:53:29.573779+00"),
    ("Asia/Kolkata", -1722825746926463, "1945-05-29 03:47:33.073537+06:30"),
    ("UTC", 1852119432998693, "2058-09-09 13:37:12.998693+00"),
    ("America/New_York", 2714641649217319, "2086-01-08 06:07:29.217319-05"),
    ("Asia/Kolkata", 2363211741735783, "2074-11-20 05:12:21.735783+05:30"),
    ("UTC", 568293112776500, "2018-01-03 11:11:52.7765+00"),
    ("UTC", 1080218779835832, "2034-03-25 12:46:19.835832+00"),
    ("Pacific/Apia", 2855318673556606, "2090-06-25 05:04:33.556606+13"),
    ("UTC", 2612642464008295, "2082-10-15 22:01:04.008295+00"),
    ("Europe/Berlin", -2431060592787786, "1922-12-18 18:23:27.212214+01"),
    ("Europe/Berlin", -2678869334475309, "1915-02-10 14:37:45.524691+01"),
    ("UTC", 2400879464184376, "2076-01-29 22:57:44.184376+00"),
    ("Asia/Kolkata", -61012016306002, "1998-01-25 01:43:03.693998+05:30"),
    ("Asia/Kolkata", 2322888005985720, "2073-08-10 12:10:05.98572+05:30"),
    ("Pacific/Apia", -1240700467950099, "1960-09-06 13:58:52.049901-11"),
    ("Asia/Kolkata", -895506745011872, "1971-08-16 13:37:34.988128+05:30"),
    ("Asia/Kolkata", -350517824411571, "1988-11-22 07:26:15.588429+05:30"),
    ("UTC", -2958624433528279, "1906-03-31 15:52:46.471721+00"),
    ("Australia/Lord_Howe", -2234487953765649, "1929-03-12 06:54:06.234351+10"),
];

#[test]
fn moments_print_in_their_zone_and_read_back() {
    for (name, micros, expected) in MOMENTS {
        let zone = zone(name);
        assert_eq!(
            format_timestamptz(*micros, &zone),
            *expected,
            "{name} {micros}"
        );
        // The year 294277 exists on a clock east of Greenwich, but not as input.
        if !expected.starts_with("294277") {
            assert_eq!(
                parse_timestamptz(expected, &TimeZone::utc()).unwrap(),
                *micros
            );
        }
    }
}

/// (zone, what its clocks show, UTC), with the jumps of clocks: forward, the offset before the
/// jump counts; back, the one after it.
#[rustfmt::skip]
const LOCAL: &[(&str, &str, &str)] = &[
    ("Europe/Berlin", "2024-03-31 01:59:59", "2024-03-31 00:59:59"),
    ("Europe/Berlin", "2024-03-31 02:00", "2024-03-31 01:00:00"),
    ("Europe/Berlin", "2024-03-31 02:30", "2024-03-31 01:30:00"),
    ("Europe/Berlin", "2024-03-31 03:00", "2024-03-31 01:00:00"),
    ("Europe/Berlin", "2024-10-27 01:59", "2024-10-26 23:59:00"),
    ("Europe/Berlin", "2024-10-27 02:00", "2024-10-27 01:00:00"),
    ("Europe/Berlin", "2024-10-27 02:30", "2024-10-27 01:30:00"),
    ("Europe/Berlin", "2024-10-27 03:00", "2024-10-27 02:00:00"),
    ("America/New_York", "2024-11-03 01:30", "2024-11-03 06:30:00"),
    ("America/New_York", "2024-03-10 02:30", "2024-03-10 07:30:00"),
    ("Australia/Lord_Howe", "2024-04-07 01:45", "2024-04-06 15:15:00"),
    ("Australia/Lord_Howe", "2024-10-06 02:15", "2024-10-05 15:45:00"),
    ("Pacific/Apia", "2011-12-30 12:00", "2011-12-30 22:00:00"),
    ("Europe/Berlin", "1893-04-01 00:00", "1893-03-31 23:06:32"),
    ("Europe/Berlin", "15000-07-01 12:00", "15000-07-01 10:00:00"),
    ("Europe/Berlin", "294276-12-31 12:00", "294276-12-31 11:00:00"),
    ("Asia/Kolkata", "1941-10-01 00:30", "1941-09-30 19:00:00"),
    ("UTC", "2024-01-01 00:00", "2024-01-01 00:00:00"),
    ("America/New_York", "9999-12-31 23:59:59.999999", "10000-01-01 04:59:59.999999"),
    ("Europe/Berlin", "0044-03-15 12:00 BC", "0044-03-15 11:06:32 BC"),
];

#[test]
fn local_times_take_the_offset_that_postgresql_takes() {
    for (name, local, utc) in LOCAL {
        let micros = parse_timestamptz(local, &zone(name)).unwrap();
        assert_eq!(format_timestamp(micros), *utc, "{local} in {name}");
    }
}

const FIELDS: [&str; 19] = [
    "microseconds",
    "milliseconds",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
    "decade",
    "century",
    "millennium",
    "isoyear",
    "dow",
    "isodow",
    "doy",
    "julian",
    "epoch",
];

/// (timestamp, its FIELDS). One value is ours: PostgreSQL loses the microseconds of the epoch in the
/// last years of its range, where they do not fit 64 bits.
#[rustfmt::skip]
const EXTRACTED: &[(&str, &str)] = &[
    ("2024-03-31 12:34:56.789", "56789000 56789.000 56.789000 34 12 31 13 3 1 2024 202 21 3 2024 0 7 91 2460401.52426839120370370370 1711888496.789000"),
    ("1999-12-31 23:59:59.999999", "59999999 59999.999 59.999999 59 23 31 52 12 4 1999 199 20 2 1999 5 5 365 2451544.99999999998842592593 946684799.999999"),
    ("2000-01-01 00:00:00", "0 0.000 0.000000 0 0 1 52 1 1 2000 200 20 2 1999 6 6 1 2451545.0000000000000000000000000000 946684800.000000"),
    ("2024-12-30 00:00:00", "0 0.000 0.000000 0 0 30 1 12 4 2024 202 21 3 2025 1 1 365 2460675.0000000000000000000000000000 1735516800.000000"),
    ("2021-01-03 06:00:00", "0 0.000 0.000000 0 6 3 53 1 1 2021 202 21 3 2020 0 7 3 2459218.25000000000000000000 1609653600.000000"),
    ("0001-01-01 00:00:00 BC", "0 0.000 0.000000 0 0 1 52 1 1 -1 0 -1 -1 -2 6 6 1 1721060.0000000000000000000000000000 -62167219200.000000"),
    ("0044-03-15 10:00:00 BC", "0 0.000 0.000000 0 10 15 11 3 1 -44 -5 -1 -1 -44 5 5 74 1705428.41666666666666666667 -63517788000.000000"),
    ("0001-01-01 00:00:00", "0 0.000 0.000000 0 0 1 1 1 1 1 0 1 1 1 1 1 1 1721426.0000000000000000000000000000 -62135596800.000000"),
    ("1900-02-28 01:00:00", "0 0.000 0.000000 0 1 28 9 2 1 1900 190 19 2 1900 3 3 59 2415079.04166666666666666667 -2203974000.000000"),
    ("294276-12-31 23:59:59.999999", "59999999 59999.999 59.999999 59 23 31 52 12 4 294276 29427 2943 295 294276 0 7 366 109203527.99999999998842592593 9224318015999.999999"),
    ("4714-11-24 00:00:00 BC", "0 0.000 0.000000 0 0 24 48 11 4 -4714 -472 -48 -5 -4714 1 1 328 0.0000000000000000000000000000 -210866803200.000000"),
];

/// (date, its FIELDS from `day` on)
#[rustfmt::skip]
const EXTRACTED_DATES: &[(&str, &str)] = &[
    ("2024-02-29", "29 9 2 1 2024 202 21 3 2024 4 4 60 2460370 1709164800"),
    ("5874897-12-31", "31 1 12 4 5874897 587489 58749 5875 5874898 2 2 365 2147483493 185331706992000"),
    ("0044-03-15 BC", "15 11 3 1 -44 -5 -1 -1 -44 5 5 74 1705428 -63517824000"),
    ("4714-11-24 BC", "24 48 11 4 -4714 -472 -48 -5 -4714 1 1 328 0 -210866803200"),
    ("2000-01-01", "1 52 1 1 2000 200 20 2 1999 6 6 1 2451545 946684800"),
];

#[test]
fn fields_have_the_values_and_scales_of_postgresql() {
    for (text, expected) in EXTRACTED {
        let micros = parse_timestamp(text).unwrap();
        let values = FIELDS.map(|name| {
            let field = Field::parse(name, SqlType::Timestamp).unwrap();
            let value = datetime::extract_timestamp(field, micros).unwrap();
            value.unwrap().to_string()
        });
        assert_eq!(values.join(" "), *expected, "{text}");
    }
    for (text, expected) in EXTRACTED_DATES {
        let days = parse_date(text).unwrap();
        let values: Vec<String> = FIELDS[5..]
            .iter()
            .map(|name| {
                let field = Field::parse(name, SqlType::Date).unwrap();
                datetime::extract_date(field, days)
                    .unwrap()
                    .unwrap()
                    .to_string()
            })
            .collect();
        assert_eq!(values.join(" "), *expected, "{text}");
    }
}

/// (timestamp, it truncated to the first 13 FIELDS)
#[rustfmt::skip]
const TRUNCATED: &[(&str, &[&str; 13])] = &[
    ("2024-03-31 12:34:56.789", &["2024-03-31 12:34:56.789", "2024-03-31 12:34:56.789", "2024-03-31 12:34:56", "2024-03-31 12:34:00", "2024-03-31 12:00:00", "2024-03-31 00:00:00", "2024-03-25 00:00:00", "2024-03-01 00:00:00", "2024-01-01 00:00:00", "2024-01-01 00:00:00", "2020-01-01 00:00:00", "2001-01-01 00:00:00", "2001-01-01 00:00:00", ]),
    ("1999-12-31 23:59:59.999999", &["1999-12-31 23:59:59.999999", "1999-12-31 23:59:59.999", "1999-12-31 23:59:59", "1999-12-31 23:59:00", "1999-12-31 23:00:00", "1999-12-31 00:00:00", "1999-12-27 00:00:00", "1999-12-01 00:00:00", "1999-10-01 00:00:00", "1999-01-01 00:00:00", "1990-01-01 00:00:00", "1901-01-01 00:00:00", "1001-01-01 00:00:00", ]),
    ("2000-01-01 00:00:00", &["2000-01-01 00:00:00", "2000-01-01 00:00:00", "2000-01-01 00:00:00", "2000-01-01 00:00:00", "2000-01-01 00:00:00", "2000-01-01 00:00:00", "1999-12-27 00:00:00", "2000-01-01 00:00:00", "2000-01-01 00:00:00", "2000-01-01 00:00:00", "2000-01-01 00:00:00", "1901-01-01 00:00:00", "1001-01-01 00:00:00", ]),
    ("2024-12-30 00:00:00", &["2024-12-30 00:00:00", "2024-12-30 00:00:00", "2024-12-30 00:00:00", "2024-12-30 00:00:00", "2024-12-30 00:00:00", "2024-12-30 00:00:00", "2024-12-30 00:00:00", "2024-12-01 00:00:00", "2024-10-01 00:00:00", "2024-01-01 00:00:00", "2020-01-01 00:00:00", "2001-01-01 00:00:00", "2001-01-01 00:00:00", ]),
    ("2021-01-03 06:00:00", &["2021-01-03 06:00:00", "2021-01-03 06:00:00", "2021-01-03 06:00:00", "2021-01-03 06:00:00", "2021-01-03 06:00:00", "2021-01-03 00:00:00", "2020-12-28 00:00:00", "2021-01-01 00:00:00", "2021-01-01 00:00:00", "2021-01-01 00:00:00", "2020-01-01 00:00:00", "2001-01-01 00:00:00", "2001-01-01 00:00:00", ]),
    ("0001-01-01 00:00:00 BC", &["0001-01-01 00:00:00 BC", "0001-01-01 00:00:00 BC", "0001-01-01 00:00:00 BC", "0001-01-01 00:00:00 BC", "0001-01-01 00:00:00 BC", "0001-01-01 00:00:00 BC", "0002-12-27 00:00:00 BC", "0001-01-01 00:00:00 BC", "0001-01-01 00:00:00 BC", "0001-01-01 00:00:00 BC", "0001-01-01 00:00:00 BC", "0100-01-01 00:00:00 BC", "1000-01-01 00:00:00 BC", ]),
    ("0044-03-15 10:00:00 BC", &["0044-03-15 10:00:00 BC", "0044-03-15 10:00:00 BC", "0044-03-15 10:00:00 BC", "0044-03-15 10:00:00 BC", "0044-03-15 10:00:00 BC", "0044-03-15 00:00:00 BC", "0044-03-11 00:00:00 BC", "0044-03-01 00:00:00 BC", "0044-01-01 00:00:00 BC", "0044-01-01 00:00:00 BC", "0051-01-01 00:00:00 BC", "0100-01-01 00:00:00 BC", "1000-01-01 00:00:00 BC", ]),
    ("0001-01-01 00:00:00", &["0001-01-01 00:00:00", "0001-01-01 00:00:00", "0001-01-01 00:00:00", "0001-01-01 00:00:00", "0001-01-01 00:00:00", "0001-01-01 00:00:00", "0001-01-01 00:00:00", "0001-01-01 00:00:00", "0001-01-01 00:00:00", "0001-01-01 00:00:00", "0001-01-01 00:00:00 BC", "0001-01-01 00:00:00", "0001-01-01 00:00:00", ]),
    ("1900-02-28 01:00:00", &["1900-02-28 01:00:00", "1900-02-28 01:00:00", "1900-02-28 01:00:00", "1900-02-28 01:00:00", "1900-02-28 01:00:00", "1900-02-28 00:00:00", "1900-02-26 00:00:00", "1900-02-01 00:00:00", "1900-01-01 00:00:00", "1900-01-01 00:00:00", "1900-01-01 00:00:00", "1801-01-01 00:00:00", "1001-01-01 00:00:00", ]),
];

#[test]
fn truncation_gives_what_postgresql_gives() {
    for (text, expected) in TRUNCATED {
        let micros = parse_timestamp(text).unwrap();
        for (name, expected) in FIELDS.iter().zip(expected.iter()) {
            let field = Field::parse(name, SqlType::Timestamp).unwrap();
            let cut = datetime::date_trunc(field, micros).unwrap();
            assert_eq!(format_timestamp(cut), *expected, "{name} of {text}");
        }
    }
    let berlin = zone("Europe/Berlin");
    for (field, text, expected) in [
        (
            Field::Day,
            "2024-03-31 12:34:56.789",
            "2024-03-31 00:00:00+01",
        ),
        (Field::Hour, "2024-10-27 00:30+00", "2024-10-27 02:00:00+02"),
        (Field::Hour, "2024-10-27 01:30+00", "2024-10-27 02:00:00+01"),
        (Field::Year, "2024-07-01 12:00", "2024-01-01 00:00:00+01"),
        (Field::Day, "infinity", "infinity"),
    ] {
        let micros = parse_timestamptz(text, &berlin).unwrap();
        let cut = datetime::date_trunc_tz(field, micros, &berlin).unwrap();
        assert_eq!(
            format_timestamptz(cut, &berlin),
            expected,
            "{field:?} of {text}"
        );
    }
    let first = parse_timestamp("4714-11-24 12:00 BC").unwrap();
    let error = datetime::date_trunc(Field::Month, first).unwrap_err();
    assert_eq!(error.state, SqlState::DATETIME_FIELD_OVERFLOW);
}

#[test]
fn fields_of_the_zone_and_of_infinity() {
    let berlin = zone("Europe/Berlin");
    let moment = parse_timestamptz("2024-03-31 12:34:56.789", &berlin).unwrap();
    for (field, expected) in [
        (Field::Timezone, "7200"),
        (Field::TimezoneHour, "2"),
        (Field::TimezoneMinute, "0"),
        (Field::Hour, "12"),
        (Field::Epoch, "1711881296.789000"),
    ] {
        let value = datetime::extract_tz(field, moment, &berlin).unwrap();
        assert_eq!(value.unwrap().to_string(), expected);
    }
    let infinity = datetime::DATE_INFINITY;
    let year = datetime::extract_date(Field::Year, infinity).unwrap();
    assert_eq!(year.unwrap().to_string(), "Infinity");
    assert_eq!(datetime::extract_date(Field::Day, infinity).unwrap(), None);
    let past = datetime::TIMESTAMP_NEGATIVE_INFINITY;
    let epoch = datetime::extract_timestamp(Field::Epoch, past).unwrap();
    assert_eq!(epoch.unwrap().to_string(), "-Infinity");
    assert_eq!(
        datetime::extract_timestamp(Field::Hour, past).unwrap(),
        None
    );
}

#[test]
fn fields_that_a_type_lacks_are_refused() {
    let unknown = Field::parse("Foo", SqlType::Timestamp).unwrap_err();
    assert_eq!(unknown.state, SqlState::INVALID_PARAMETER_VALUE);
    assert_eq!(
        unknown.message,
        "unit \"foo\" not recognized for type timestamp without time zone"
    );
    let unsupported = datetime::extract_date(Field::Hour, 0).unwrap_err();
    assert_eq!(unsupported.state, SqlState::FEATURE_NOT_SUPPORTED);
    assert_eq!(
        unsupported.message,
        "unit \"hour\" not supported for type date"
    );
    let zoneless = datetime::extract_timestamp(Field::Timezone, 0).unwrap_err();
    assert_eq!(
        zoneless.message,
        "unit \"timezone\" not supported for type timestamp without time zone"
    );
    assert!(datetime::date_trunc(Field::Dow, 0).is_err());
    let dow = datetime::date_trunc(Field::Dow, datetime::TIMESTAMP_INFINITY);
    assert_eq!(dow.unwrap(), datetime::TIMESTAMP_INFINITY);
}

#[test]
fn dates_are_read_in_the_forms_that_clients_write() {
    for (text, expected) in [
        ("2024-01-31", "2024-01-31"),
        ("  2024-01-31  ", "2024-01-31"),
        ("20240131", "2024-01-31"),
        ("2024-1-5", "2024-01-05"),
        ("2024/01/31", "2024-01-31"),
        ("2024.01.31", "2024-01-31"),
        ("01/31/2024", "2024-01-31"),
        ("2024-Jan-05", "2024-01-05"),
        ("05-JAN-2024", "2024-01-05"),
        ("January 3, 2026", "2026-01-03"),
        ("Jan 3 2026", "2026-01-03"),
        ("jan-03-2026", "2026-01-03"),
        ("3 January 2026", "2026-01-03"),
        ("March 3,2026", "2026-03-03"),
        ("May/31/2024", "2024-05-31"),
        ("Mar 3, 2026 4:05 PM", "2026-03-03"),
        ("Mar 15, 0044 BC", "0044-03-15 BC"),
        ("0044-03-15 BC", "0044-03-15 BC"),
        ("0044-03-15 ad", "0044-03-15"),
        ("2024-01-31 12:34:56+02", "2024-01-31"),
        ("epoch", "1970-01-01"),
        ("Infinity", "infinity"),
        ("-infinity", "-infinity"),
        ("4714-11-24 BC", "4714-11-24 BC"),
        ("5874897-12-31", "5874897-12-31"),
        ("12024-07-01", "12024-07-01"),
        ("2024-02-29", "2024-02-29"),
    ] {
        assert_eq!(format_date(parse_date(text).unwrap()), expected, "{text:?}");
    }
}

#[test]
fn timestamps_are_read_in_the_forms_that_clients_write() {
    for (text, expected) in [
        ("2024-01-31", "2024-01-31 00:00:00"),
        ("2024-01-31 12:34", "2024-01-31 12:34:00"),
        ("2024-01-31 12:34:56.789", "2024-01-31 12:34:56.789"),
        ("2024-01-31T12:34:56.7891234Z", "2024-01-31 12:34:56.789123"),
        ("2024-01-31t12:34:56", "2024-01-31 12:34:56"),
        ("20240131T123456", "2024-01-31 12:34:56"),
        ("20240131 123456.5", "2024-01-31 12:34:56.5"),
        ("2024-01-31 12:34:56.", "2024-01-31 12:34:56"),
        ("2024-01-31 24:00:00", "2024-02-01 00:00:00"),
        ("2024-01-31 23:59:60", "2024-02-01 00:00:00"),
        ("2024-01-31 23:59:59.9999999", "2024-02-01 00:00:00"),
        ("2024-01-31 12:34:56.1234565", "2024-01-31 12:34:56.123456"),
        ("2024-01-31 12:34:56.1234575", "2024-01-31 12:34:56.123458"),
        ("2024-01-31 11:30 PM", "2024-01-31 23:30:00"),
        ("2024-01-31 12:30 am", "2024-01-31 00:30:00"),
        ("2024-01-31 12:30pm", "2024-01-31 12:30:00"),
        ("2024-01-31 12:34:56 BC", "2024-01-31 12:34:56 BC"),
        ("2024-01-31 BC 12:34:56", "2024-01-31 12:34:56 BC"),
        ("4714-11-24 BC", "4714-11-24 00:00:00 BC"),
        (
            "294276-12-31 23:59:59.999999",
            "294276-12-31 23:59:59.999999",
        ),
        ("epoch", "1970-01-01 00:00:00"),
    ] {
        let micros = parse_timestamp(text).unwrap();
        assert_eq!(format_timestamp(micros), expected, "{text:?}");
    }
    for (text, expected) in [
        ("2024-01-31 12:00+02", "2024-01-31 10:00:00+00"),
        ("2024-01-31 12:00 +0530", "2024-01-31 06:30:00+00"),
        ("2024-01-31 12:00+05:30", "2024-01-31 06:30:00+00"),
        ("2024-01-31 12:00-05:30:15", "2024-01-31 17:30:15+00"),
        ("2024-01-31 12:00-8", "2024-01-31 20:00:00+00"),
        ("2024-01-31 12:00 Europe/Berlin", "2024-01-31 11:00:00+00"),
        (
            "2024-01-31 12:00 america/argentina/buenos_aires",
            "2024-01-31 15:00:00+00",
        ),
        ("2024-01-31 12:00 PST", "2024-01-31 20:00:00+00"),
        ("2024-07-31 12:00 CEST", "2024-07-31 10:00:00+00"),
        ("2024-01-31T12:00Z", "2024-01-31 12:00:00+00"),
        ("2024-01-31 12:00 UTC", "2024-01-31 12:00:00+00"),
        ("2024-01-31+02", "2024-01-30 22:00:00+00"),
        ("2024-01-31Z", "2024-01-31 00:00:00+00"),
        ("2024-01-31 12:00+15:59", "2024-01-30 20:01:00+00"),
        ("infinity", "infinity"),
        ("-infinity", "-infinity"),
        ("epoch", "1970-01-01 00:00:00+00"),
    ] {
        let utc = TimeZone::utc();
        let micros = parse_timestamptz(text, &utc).unwrap();
        assert_eq!(format_timestamptz(micros, &utc), expected, "{text:?}");
    }
}

#[test]
fn what_is_no_date_is_refused_with_postgresqls_words() {
    use SqlState as S;
    let order = Some("Perhaps you need a different \"datestyle\" setting.");
    for (ty, text, state, message, hint) in [
        (
            SqlType::TimestampTz,
            "2024-01-31-0330",
            S::INVALID_DATETIME_FORMAT,
            "invalid input syntax for type timestamp with time zone: \"2024-01-31-0330\"",
            None,
        ),
        (
            SqlType::Date,
            "abc",
            S::INVALID_DATETIME_FORMAT,
            "invalid input syntax for type date: \"abc\"",
            None,
        ),
        (
            SqlType::Date,
            "2024-02-30",
            S::DATETIME_FIELD_OVERFLOW,
            "date/time field value out of range: \"2024-02-30\"",
            None,
        ),
        (
            SqlType::Date,
            "2023-02-29",
            S::DATETIME_FIELD_OVERFLOW,
            "date/time field value out of range: \"2023-02-29\"",
            None,
        ),
        (
            SqlType::Date,
            "2024-13-01",
            S::DATETIME_FIELD_OVERFLOW,
            "date/time field value out of range: \"2024-13-01\"",
            order,
        ),
        (
            SqlType::Date,
            "24-01-31",
            S::DATETIME_FIELD_OVERFLOW,
            "date/time field value out of range: \"24-01-31\"",
            order,
        ),
        (
            SqlType::Date,
            "0000-01-01",
            S::DATETIME_FIELD_OVERFLOW,
            "date/time field value out of range: \"0000-01-01\"",
            None,
        ),
        (
            SqlType::Date,
            "99999999999-01-01",
            S::DATETIME_FIELD_OVERFLOW,
            "date/time field value out of range: \"99999999999-01-01\"",
            None,
        ),
        (
            SqlType::Date,
            "5874898-01-01",
            S::DATETIME_FIELD_OVERFLOW,
            "date out of range: \"5874898-01-01\"",
            None,
        ),
        (
            SqlType::Date,
            "4714-11-23 BC",
            S::DATETIME_FIELD_OVERFLOW,
            "date out of range: \"4714-11-23 BC\"",
            None,
        ),
        (
            SqlType::Date,
            "2024-01",
            S::INVALID_DATETIME_FORMAT,
            "invalid input syntax for type date: \"2024-01\"",
            None,
        ),
        (
            SqlType::Date,
            "2024-01-31x",
            S::INVALID_DATETIME_FORMAT,
            "invalid input syntax for type date: \"2024-01-31x\"",
            None,
        ),
        (
            SqlType::Timestamp,
            "",
            S::INVALID_DATETIME_FORMAT,
            "invalid input syntax for type timestamp: \"\"",
            None,
        ),
        (
            SqlType::Timestamp,
            "12:34:56",
            S::INVALID_DATETIME_FORMAT,
            "invalid input syntax for type timestamp: \"12:34:56\"",
            None,
        ),
        (
            SqlType::Timestamp,
            "2024-01-31 12",
            S::INVALID_DATETIME_FORMAT,
            "invalid input syntax for type timestamp: \"2024-01-31 12\"",
            None,
        ),
        (
            SqlType::Timestamp,
            "2024-01-31 25:00",
            S::DATETIME_FIELD_OVERFLOW,
            "date/time field value out of range: \"2024-01-31 25:00\"",
            None,
        ),
        (
            SqlType::Timestamp,
            "2024-01-31 12:60",
            S::DATETIME_FIELD_OVERFLOW,
            "date/time field value out of range: \"2024-01-31 12:60\"",
            None,
        ),
        (
            SqlType::Timestamp,
            "294277-01-01",
            S::DATETIME_FIELD_OVERFLOW,
            "timestamp out of range: \"294277-01-01\"",
            None,
        ),
        (
            SqlType::TimestampTz,
            "294277-01-01",
            S::DATETIME_FIELD_OVERFLOW,
            "timestamp out of range: \"294277-01-01\"",
            None,
        ),
        (
            SqlType::TimestampTz,
            "2024-01-31 12:00+17",
            S::INVALID_TIME_ZONE_DISPLACEMENT,
            "time zone displacement out of range: \"2024-01-31 12:00+17\"",
            None,
        ),
        (
            SqlType::TimestampTz,
            "2024-01-31 12:00 Foo/Bar",
            S::INVALID_PARAMETER_VALUE,
            "time zone \"foo/bar\" not recognized",
            None,
        ),
        (
            SqlType::TimestampTz,
            "2024-01-31 12:00 FOO",
            S::INVALID_DATETIME_FORMAT,
            "invalid input syntax for type timestamp with time zone: \"2024-01-31 12:00 FOO\"",
            None,
        ),
    ] {
        let error = match ty {
            SqlType::Date => parse_date(text).map(i64::from),
            SqlType::Timestamp => parse_timestamp(text),
            _ => parse_timestamptz(text, &TimeZone::utc()),
        }
        .unwrap_err();
        assert_eq!((error.state, error.message.as_str()), (state, message));
        assert_eq!(error.hint.as_deref(), hint, "{text}");
    }
}

#[test]
fn what_asks_for_the_clock_is_read_by_it() {
    for (text, asks) in [
        (" NOW ", true),
        ("yesterday", true),
        ("Tomorrow 16:00", true),
        ("2024-01-31", false),
        ("know", false),
    ] {
        assert_eq!(datetime::asks_for_clock(text), asks, "{text}");
    }
    let error = parse_timestamptz("now", &TimeZone::utc()).unwrap_err();
    assert_eq!(error.state, SqlState::FEATURE_NOT_SUPPORTED);
    let berlin = zone("Europe/Berlin");
    let now = parse_timestamptz("2024-03-30 22:30:00+00", &berlin).unwrap();
    for (ty, text, expected) in [
        (SqlType::TimestampTz, "now", "2024-03-30 23:30:00+01"),
        (SqlType::TimestampTz, "tomorrow", "2024-03-31 00:00:00+01"),
        (SqlType::TimestampTz, "tomorrow noon", "none"),
        (
            SqlType::TimestampTz,
            "tomorrow 16:00",
            "2024-03-31 16:00:00+02",
        ),
        (SqlType::TimestampTz, "today 4pm utc", "none"),
        (
            SqlType::TimestampTz,
            "today 04:00 pm utc",
            "2024-03-30 17:00:00+01",
        ),
        (SqlType::TimestampTz, "now utc", "none"),
        (
            SqlType::Timestamp,
            "yesterday allballs",
            "2024-03-29 00:00:00",
        ),
        (SqlType::Timestamp, "now", "2024-03-30 23:30:00"),
        (SqlType::Date, "now", "2024-03-30"),
        (SqlType::Date, "tomorrow", "2024-03-31"),
        (SqlType::Time, "now", "23:30:00"),
        (SqlType::TimeTz, "now", "23:30:00+01"),
        (SqlType::Time, "today", "none"),
    ] {
        let read = datetime::parse_by_clock(ty, text, DateOrder::Mdy, &berlin, now);
        let context = quintet_base::text_format::FormatContext {
            zone: berlin.clone(),
            ..Default::default()
        };
        let shown = match read {
            Ok(value) => quintet_base::text_format::to_string(&value, ty, &context),
            Err(error) => {
                assert_eq!(error.state, SqlState::INVALID_DATETIME_FORMAT, "{text}");
                "none".to_string()
            }
        };
        assert_eq!(shown, expected, "{text}");
    }
}

/// (setting, name shown, 2024-01-01 00:00 there)
#[test]
fn zones_are_known_by_name_offset_and_rule() {
    for (setting, shown, printed) in [
        ("UTC", "UTC", "2024-01-01 00:00:00+00"),
        ("utc", "UTC", "2024-01-01 00:00:00+00"),
        ("europe/berlin", "Europe/Berlin", "2024-01-01 00:00:00+01"),
        ("EST", "EST", "2024-01-01 00:00:00-05"),
        ("PDT", "PDT", "2024-01-01 00:00:00-07"),
        ("+02", "<+02>-02", "2024-01-01 00:00:00+02"),
        ("5.5", "<+05:30>-05:30", "2024-01-01 00:00:00+05:30"),
        ("-03:30", "-03:30", "2024-01-01 00:00:00+03:30"),
        ("GMT-02:00", "GMT-02:00", "2024-01-01 00:00:00+02"),
    ] {
        let zone = zone(setting);
        assert_eq!(zone.name(), shown);
        let midnight = parse_timestamptz("2024-01-01", &zone).unwrap();
        assert_eq!(format_timestamptz(midnight, &zone), printed, "{setting}");
    }
    for setting in ["", "Foo/Bar", "99", "+1000", "12:34:56:78"] {
        let error = TimeZone::parse(setting).unwrap_err();
        assert_eq!(error.state, SqlState::INVALID_PARAMETER_VALUE, "{setting}");
        assert_eq!(
            error.message,
            format!("time zone \"{setting}\" not recognized")
        );
    }
    assert_eq!(TimeZone::default().name(), "UTC");
}

#[test]
fn dates_and_timestamps_convert_in_the_session_zone() {
    let zone = zone("America/New_York");
    let day = parse_date("2024-07-04").unwrap();
    let midnight = datetime::date_to_timestamptz(day, &zone).unwrap();
    assert_eq!(
        format_timestamptz(midnight, &TimeZone::utc()),
        "2024-07-04 04:00:00+00"
    );
    assert_eq!(datetime::timestamptz_to_date(midnight, &zone).unwrap(), day);
    assert_eq!(
        datetime::timestamptz_to_date(midnight - 1, &zone).unwrap(),
        day - 1
    );
    assert_eq!(datetime::timestamp_to_date(-1), -1);
    assert_eq!(
        datetime::date_to_timestamp(datetime::DATE_INFINITY).unwrap(),
        datetime::TIMESTAMP_INFINITY
    );
    let late = datetime::date_to_timestamp(parse_date("294277-01-01").unwrap()).unwrap_err();
    assert_eq!(late.state, SqlState::DATETIME_FIELD_OVERFLOW);
    assert_eq!(late.message, "date out of range for timestamp");
}

#[test]
fn seconds_round_to_the_digits_of_the_column() {
    for (text, digits, expected) in [
        ("1999-12-31 23:59:59.5", 0, "1999-12-31 23:59:59"),
        ("2000-01-01 00:00:00.5", 0, "2000-01-01 00:00:01"),
        ("2000-01-01 00:00:00.125", 2, "2000-01-01 00:00:00.13"),
        (
            "2024-01-01 00:00:00.123456",
            6,
            "2024-01-01 00:00:00.123456",
        ),
        ("infinity", 0, "infinity"),
    ] {
        let micros = parse_timestamp(text).unwrap();
        let rounded = datetime::round_timestamp(micros, digits).unwrap();
        assert_eq!(format_timestamp(rounded), expected, "{text}");
    }
}

/// The calendar against a walk day by day, over more than one cycle of 400 years on each side of
/// year 0.
#[test]
fn calendar_has_no_gap_and_no_double_day() {
    let mut expected = Civil {
        year: -500,
        month: 1,
        day: 1,
    };
    let start = expected.to_days();
    let mut days = start;
    while expected.year < 500 {
        assert_eq!(Civil::from_days(days), expected);
        assert_eq!(expected.to_days(), days);
        days += 1;
        if expected.day < datetime::days_in_month(expected.year, expected.month) {
            expected.day += 1;
        } else if expected.month < 12 {
            expected = Civil {
                month: expected.month + 1,
                day: 1,
                ..expected
            };
        } else {
            expected = Civil {
                year: expected.year + 1,
                month: 1,
                day: 1,
            };
        }
    }
    assert_eq!(days - start, 365_242 + 1, "1000 years with the leap year 0");
    assert_eq!(
        Civil::from_days(0),
        Civil {
            year: 2000,
            month: 1,
            day: 1
        }
    );
}

proptest! {
    #[test]
    fn every_date_reads_back(days in -2_451_545i32..=2_145_031_948) {
        prop_assert_eq!(parse_date(&format_date(days)).unwrap(), days);
    }

    #[test]
    fn every_moment_reads_back_in_every_zone(
        micros in -211_813_488_000_000_000i64 + 86_400_000_000..9_223_371_331_200_000_000 - 86_400_000_000,
        name in prop::sample::select(vec!["UTC", "Europe/Berlin", "Pacific/Apia", "+05", "America/New_York"]),
    ) {
        let zone = zone(name);
        let text = format_timestamptz(micros, &zone);
        prop_assert_eq!(parse_timestamptz(&text, &TimeZone::utc()).unwrap(), micros, "{}", text);
        prop_assert_eq!(parse_timestamp(&format_timestamp(micros)).unwrap(), micros);
    }

    #[test]
    fn local_time_and_moment_are_inverse_outside_the_jumps(
        micros in -3_000_000_000_000_000i64..3_000_000_000_000_000,
    ) {
        let zone = zone("America/New_York");
        let local = datetime::timestamptz_to_timestamp(micros, &zone).unwrap();
        let back = datetime::timestamp_to_timestamptz(local, &zone).unwrap();
        // An hour shown twice means its second pass.
        prop_assert!(back == micros || back - micros == datetime::MICROS_PER_HOUR);
    }

    #[test]
    fn any_text_is_a_date_or_refused(text in "[-+0-9:. TZ/aBpmcb]{0,24}", any in "\\PC{0,20}") {
        for text in [&text, &any] {
            for result in [
                parse_timestamp(text),
                parse_timestamptz(text, &TimeZone::utc()),
                parse_date(text).map(i64::from),
            ] {
                if let Err(error) = result {
                    prop_assert!(error.state.as_str().starts_with("22") || error.state == SqlState::FEATURE_NOT_SUPPORTED);
                }
            }
            let _ = TimeZone::parse(text);
        }
    }
}
