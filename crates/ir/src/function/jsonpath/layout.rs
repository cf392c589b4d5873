//! Where PostgreSQL keeps an object within its document: what `keyvalue()` tells objects apart by.
//!
//! Promises: the distance in bytes that PostgreSQL 15 would see.  Does not: keep anything that way.
//!
//! ```text
//! container   header 4, then 4 for each element, or for each key and each value, then their bytes in turn:
//!             keys first; strings as they are, numbers and containers begin at a multiple of 4
//! number      header 4, then 2 (4 if it is large or has many digits) and 2 for each group of four digits
//! ```

use quintet_base::{Json, Numeric};
use std::collections::HashMap;

/// Containers of a document by where they are in memory.
pub(super) type Places = HashMap<*const Json, u64>;

const HEADER: u64 = 4;
const ENTRY: u64 = 4;

/// Notes where each container of a document begins.
pub(super) fn note(document: &Json, places: &mut Places) {
    container(document, 0, places);
}

fn aligned(at: u64) -> u64 {
    at.next_multiple_of(4)
}

/// Where a container that begins here ends.
fn container(json: &Json, start: u64, places: &mut Places) -> u64 {
    places.insert(std::ptr::from_ref(json), start);
    match json {
        Json::Array(elements) => {
            let mut at = start + HEADER + ENTRY * elements.len() as u64;
            for element in elements {
                at = value(element, at, places);
            }
            at
        }
        Json::Object(pairs) => {
            let mut at = start + HEADER + 2 * ENTRY * pairs.len() as u64;
            at += pairs.iter().map(|(key, _)| key.len() as u64).sum::<u64>();
            for (_, own) in pairs {
                at = value(own, at, places);
            }
            at
        }
        _ => start,
    }
}

fn value(json: &Json, at: u64, places: &mut Places) -> u64 {
    match json {
        Json::Null | Json::Bool(_) => at,
        Json::Text(text) => at + text.len() as u64,
        Json::Number(number) => aligned(at) + number_bytes(number),
        Json::Array(_) | Json::Object(_) => container(json, aligned(at), places),
    }
}

/// Where the value of an object that `keyvalue()` made begins.
pub(super) fn value_of_pair(id: i64, key: &str) -> u64 {
    let names = "idkeyvalue".len() as u64;
    let start = aligned(HEADER + 6 * ENTRY + names);
    aligned(start + number_bytes(&Numeric::from_i64(id)) + key.len() as u64)
}

fn number_bytes(number: &Numeric) -> u64 {
    let text = number.to_string();
    let digits = text.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    // Groups of four digits, counted from the point; those of zeros at both ends are left out.
    let padded_whole = format!(
        "{}{whole}",
        "0".repeat(whole.len().next_multiple_of(4) - whole.len())
    );
    let missing = fraction.len().next_multiple_of(4) - fraction.len();
    let all = format!("{padded_whole}{fraction}{}", "0".repeat(missing));
    let groups: Vec<&str> = (0..all.len() / 4)
        .map(|at| &all[4 * at..4 * at + 4])
        .collect();
    let is_zero = |group: &&str| *group == "0000";
    let first = groups.iter().position(|group| !is_zero(group));
    let Some(first) = first else {
        return 4 + 2;
    };
    let last = groups
        .iter()
        .rposition(|group| !is_zero(group))
        .unwrap_or(first);
    let weight = (padded_whole.len() / 4) as i64 - 1 - first as i64;
    let is_short = fraction.len() <= 63 && (-64..=63).contains(&weight);
    let head = if is_short { 2 } else { 4 };
    4 + head + 2 * (last - first + 1) as u64
}
