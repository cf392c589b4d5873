//! Ranges against the sets of points that they are.

use super::*;
use crate::numeric::Numeric;
use crate::text_format::FormatContext;

/// Points that tell all ranges with bounds from 0 to 3 apart: those, what is between, and far away on both sides.
fn points(kind: RangeKind) -> Vec<Value> {
    match kind {
        RangeKind::Int4 => (-9..=9).map(Value::Int4).collect(),
        RangeKind::Date => (-9..=9).map(Value::Date).collect(),
        _ => (-9..=9)
            .map(|half| Value::numeric(Numeric::from_parts(half * 5, 1).unwrap()))
            .collect(),
    }
}

fn bound_value(kind: RangeKind, number: i32) -> Value {
    match kind {
        RangeKind::Int4 => Value::Int4(number),
        RangeKind::Date => Value::Date(number),
        _ => Value::numeric(Numeric::from_i64(i64::from(number))),
    }
}

pub(crate) fn all(kind: RangeKind) -> Vec<Range> {
    let mut bounds = vec![Bound::Infinite];
    for number in 0..=3 {
        let value = bound_value(kind, number);
        bounds.extend([Bound::Included(value.clone()), Bound::Excluded(value)]);
    }
    let mut all = vec![Range::empty(kind)];
    for lower in &bounds {
        for upper in &bounds {
            match Range::new(kind, lower.clone(), upper.clone()) {
                Ok(range) if !all.contains(&range) => all.push(range),
                Ok(_) => {}
                Err(error) => assert_eq!(error.state, SqlState::DATA_EXCEPTION),
            }
        }
    }
    all
}

/// Which of the points are in a range, as bits.
pub(crate) fn set_of(kind: RangeKind, has: impl Fn(&Value) -> bool) -> u32 {
    let points = points(kind);
    let bits = points.iter().map(|point| u32::from(has(point)));
    bits.fold(0, |set, bit| set << 1 | bit)
}

pub(crate) const KINDS: [RangeKind; 3] = [RangeKind::Int4, RangeKind::Date, RangeKind::Num];

/// True if the ones are next to each other.
fn is_one_run(set: u32) -> bool {
    let low = set >> set.trailing_zeros().min(31);
    low & low.wrapping_add(1) == 0
}

#[test]
fn what_operators_say_is_so_of_the_points() {
    for kind in KINDS {
        let all = all(kind);
        for a in &all {
            let set_a = set_of(kind, |point| a.has(point));
            assert_eq!(a.is_empty(), set_a == 0, "{a:?}");
            for b in &all {
                let set_b = set_of(kind, |point| b.has(point));
                let both = format!("{a:?} and {b:?}");
                assert_eq!(a == b, set_a == set_b, "{both}");
                assert_eq!(a.order(b).is_eq(), a == b, "{both}");
                assert_eq!(a.order(b), b.order(a).reverse(), "{both}");
                assert_eq!(a.contains(b), set_a & set_b == set_b, "{both}");
                assert_eq!(a.overlaps(b), set_a & set_b != 0, "{both}");
                let shared = a.intersection(b);
                assert_eq!(set_of(kind, |p| shared.has(p)), set_a & set_b, "{both}");
                let merged = set_of(kind, |p| a.merge(b).has(p));
                assert!(is_one_run(merged), "{both}");
                assert_eq!(merged & (set_a | set_b), set_a | set_b, "{both}");
                match a.union(b) {
                    Ok(union) => {
                        assert_eq!(set_of(kind, |p| union.has(p)), set_a | set_b, "{both}");
                    }
                    Err(_) => assert!(!is_one_run(set_a | set_b), "{both}"),
                }
                match a.difference(b) {
                    Ok(rest) => {
                        assert_eq!(set_of(kind, |p| rest.has(p)), set_a & !set_b, "{both}");
                    }
                    Err(_) => assert!(!is_one_run(set_a & !set_b), "{both}"),
                }
                if set_a == 0 || set_b == 0 {
                    assert!(!a.is_before(b) && !a.is_adjacent(b) && !a.ends_no_later(b));
                    continue;
                }
                // The first point is the highest bit.
                let lowest = |set: u32| set.trailing_zeros();
                let highest = |set: u32| set.leading_zeros();
                assert_eq!(
                    a.is_before(b),
                    lowest(set_a) > 31 - highest(set_b),
                    "{both}"
                );
                assert_eq!(a.ends_no_later(b), lowest(set_a) >= lowest(set_b), "{both}");
                assert_eq!(
                    a.begins_no_earlier(b),
                    highest(set_a) >= highest(set_b),
                    "{both}"
                );
                let touch = set_a & set_b == 0 && is_one_run(set_a | set_b);
                assert_eq!(a.is_adjacent(b), touch, "{both}");
            }
        }
    }
}

fn text(range: &Range) -> String {
    let mut out = Vec::new();
    write(range, &FormatContext::default(), &mut out);
    String::from_utf8(out).unwrap()
}

fn read_as(kind: RangeKind, literal: &str) -> SqlResult<String> {
    read(kind, literal, &FormatContext::default()).map(|range| text(&range))
}

#[test]
fn texts_are_read_and_written() {
    for (kind, literal, shown) in [
        (RangeKind::Int4, " [1,5] ", "[1,6)"),
        (RangeKind::Int4, "(1,5)", "[2,5)"),
        (RangeKind::Int4, "(1,2)", "empty"),
        (RangeKind::Int4, "[,]", "(,)"),
        (RangeKind::Int4, "(\"1\", \\5 )", "[2,5)"),
        (RangeKind::Int4, " EMPTY\t", "empty"),
        (RangeKind::Num, "[1.10,1.1]", "[1.10,1.1]"),
        (RangeKind::Num, "[1,1)", "empty"),
        (
            RangeKind::Date,
            "[2020-01-01,infinity]",
            "[2020-01-01,infinity]",
        ),
        (
            RangeKind::Date,
            "(-infinity,2020-01-01]",
            "(-infinity,2020-01-02)",
        ),
        (
            RangeKind::Ts,
            "[2020-01-01,\"2020-01-02 10:00\")",
            "[\"2020-01-01 00:00:00\",\"2020-01-02 10:00:00\")",
        ),
    ] {
        assert_eq!(read_as(kind, literal).unwrap(), shown, "{literal}");
    }
}

#[test]
fn what_is_no_range_is_refused() {
    for (literal, detail) in [
        ("1,2", "Missing left parenthesis or bracket."),
        ("", "Missing left parenthesis or bracket."),
        ("[1 2)", "Missing comma after lower bound."),
        ("[1,2,3)", "Too many commas."),
        ("[1,2", "Unexpected end of input."),
        ("[1,\"2", "Unexpected end of input."),
        ("[1,2\\", "Unexpected end of input."),
        ("[1,2) x", "Junk after right parenthesis or bracket."),
        ("empty,", "Junk after \"empty\" key word."),
    ] {
        let error = read_as(RangeKind::Int4, literal).unwrap_err();
        assert_eq!(error.state, SqlState::INVALID_TEXT_REPRESENTATION);
        assert_eq!(error.detail.as_deref(), Some(detail), "{literal}");
    }
    for (kind, literal, state) in [
        (RangeKind::Int4, "[2,1]", SqlState::DATA_EXCEPTION),
        (
            RangeKind::Int4,
            "[1,2147483647]",
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        ),
        (
            RangeKind::Int8,
            "(9223372036854775807,)",
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        ),
        (
            RangeKind::Date,
            "[2000-01-01,5874897-12-31]",
            SqlState::DATETIME_FIELD_OVERFLOW,
        ),
        (
            RangeKind::Int4,
            "[a,b]",
            SqlState::INVALID_TEXT_REPRESENTATION,
        ),
    ] {
        assert_eq!(
            read_as(kind, literal).unwrap_err().state,
            state,
            "{literal}"
        );
    }
}
