//! Strings of bits against texts of zeros and ones, which say what is meant in the plainest way.

use super::*;
use crate::key;
use crate::types::SqlType;
use crate::value::Value;

fn bits(text: &str) -> Bits {
    Bits::parse(text).unwrap()
}

fn text(bits: &Bits) -> String {
    let mut out = Vec::new();
    bits.write(&mut out);
    String::from_utf8(out).unwrap()
}

/// Of lengths around those of bytes.
fn texts() -> Vec<String> {
    let mut state = 1u32;
    let mut all = vec![String::new()];
    for length in [1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 64, 65] {
        all.push("0".repeat(length));
        all.push("1".repeat(length));
        for _ in 0..2 {
            let digit = |_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if state >> 31 == 0 { '0' } else { '1' }
            };
            all.push((0..length).map(digit).collect());
        }
    }
    all
}

#[test]
fn digits_are_read_as_they_are_written() {
    for digits in texts() {
        assert_eq!(text(&bits(&digits)), digits);
        assert_eq!(bits(&digits).len(), digits.len());
        assert_eq!(bits(&format!("b{digits}")), bits(&digits));
    }
    assert_eq!(text(&bits("x1aF")), "000110101111");
    assert_eq!(text(&bits("X")), "");
    for (refused, digit) in [("102", "2"), ("x1g", "g"), ("1é", "é"), (" 1", " ")] {
        let error = Bits::parse(refused).unwrap_err();
        assert_eq!(error.state, SqlState::INVALID_TEXT_REPRESENTATION);
        assert!(error.message.starts_with(&format!("\"{digit}\" is")));
    }
}

#[test]
fn parts_and_wholes_are_those_of_the_digits() {
    for a in texts() {
        for b in texts() {
            assert_eq!(text(&bits(&a).join(&bits(&b)).unwrap()), format!("{a}{b}"));
            let place = match a.is_empty() {
                true => 0,
                false => a.find(&b).map_or(0, |at| at + 1),
            };
            assert_eq!(bits(&a).position(&bits(&b)), place, "{b} in {a}");
        }
        let own = a.len();
        for start in -2..20i32 {
            for count in 0..20i32 {
                let from = (start - 1).clamp(0, own as i32) as usize;
                let to = (start - 1 + count).clamp(from as i32, (own as i32).max(from as i32));
                let part = bits(&a).substring(start, Some(count)).unwrap();
                assert_eq!(text(&part), a[from..to as usize], "{a} {start} {count}");
            }
        }
        for by in -70..70i32 {
            let gone = (by.unsigned_abs() as usize).min(own);
            let zeros = "0".repeat(gone);
            let moved = match by >= 0 {
                true => format!("{zeros}{}", &a[..own - gone]),
                false => format!("{}{zeros}", &a[gone..]),
            };
            assert_eq!(text(&bits(&a).shift(by)), moved, "{a} by {by}");
        }
    }
}

#[test]
fn numbers_keep_their_lowest_bits() {
    for number in [0, 1, -1, 44, -44, i64::MAX, i64::MIN, 1 << 40] {
        for count in [1, 3, 8, 12, 63, 64, 65, 72, 130] {
            let wide = format!("{:0>128b}", i128::from(number));
            let sign = if number < 0 { "1" } else { "0" };
            let wide = sign.repeat(100) + &wide[wide.len() - 128..];
            let made = Bits::of_integer(number, count).unwrap();
            assert_eq!(text(&made), wide[wide.len() - count..], "{number} {count}");
            let back = (count >= 64).then_some(number as u64);
            match count {
                64 => assert_eq!(made.to_integer(), back),
                65.. => assert_eq!(made.to_integer(), None),
                _ => assert!(made.to_integer().is_some_and(|low| low >> count == 0)),
            }
        }
    }
    assert!(Bits::of_integer(1, usize::MAX).is_err());
}

#[test]
fn keys_are_in_the_order_of_values_and_read_back() {
    let key = |text: &str| {
        let mut out = Vec::new();
        key::encode(&Value::Bits(bits(text)), &mut out);
        out
    };
    for a in texts() {
        let mut bytes: &[u8] = &key(&a);
        let back = key::decode(SqlType::VarBit, &mut bytes).unwrap();
        assert_eq!(back, Value::Bits(bits(&a)));
        assert!(bytes.is_empty());
        for b in texts() {
            let order = bits(&a).order(&bits(&b));
            assert_eq!(order, a.cmp(&b), "{a} and {b}");
            assert_eq!(order, key(&a).cmp(&key(&b)), "{a} and {b}");
        }
    }
}

#[test]
fn single_bits_and_all_of_them() {
    let some = bits("1011001110");
    assert_eq!(text(&some.invert()), "0100110001");
    assert_eq!(text(&some.and(&bits("1111100000")).unwrap()), "1011000000");
    assert_eq!(text(&some.or(&bits("1111100000")).unwrap()), "1111101110");
    assert_eq!(text(&some.xor(&bits("1111100000")).unwrap()), "0100101110");
    assert_eq!((some.count_ones(), some.invert().count_ones()), (6, 4));
    assert_eq!(
        text(&some.set(9, 1).unwrap().set(0, 0).unwrap()),
        "0011001111"
    );
    assert!(some.get(8).unwrap() && !some.get(9).unwrap());
    assert_eq!(
        text(&some.overlay(&bits("000"), 3, 1).unwrap()),
        "100001001110"
    );
    let state = |result: SqlResult<Bits>| result.unwrap_err().state;
    let short = bits("1");
    assert_eq!(
        state(some.and(&short)),
        SqlState::STRING_DATA_LENGTH_MISMATCH
    );
    assert_eq!(state(some.set(10, 1)), SqlState::ARRAY_SUBSCRIPT_ERROR);
    assert_eq!(state(some.set(-1, 1)), SqlState::ARRAY_SUBSCRIPT_ERROR);
    assert_eq!(state(some.set(1, 2)), SqlState::INVALID_PARAMETER_VALUE);
    assert_eq!(state(some.overlay(&short, 0, 1)), SqlState::SUBSTRING_ERROR);
    assert_eq!(
        state(some.substring(1, Some(-1))),
        SqlState::SUBSTRING_ERROR
    );
}
