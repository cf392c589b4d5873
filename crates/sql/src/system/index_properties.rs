//! What an index, its columns and its method can do: `pg_index_column_has_property` and its kin.
//!
//! Relies on: the catalogue.  Promises: PostgreSQL's answers for the methods that there are; NULL for what is no index,
//! column or property.  Does not: say what this engine does with an index, of which those of hash and brin are ordered, too.

use super::describe::Known;
use super::indexes::{IndexShape, shape};
use quintet_base::Value;

/// PostgreSQL's number of a method of indexes.
pub(super) const BTREE: u32 = 403;
/// See [`BTREE`].
pub(super) const HASH: u32 = 405;
/// See [`BTREE`].
pub(super) const GIST: u32 = 783;
/// See [`BTREE`].
pub(super) const SPGIST: u32 = 4000;
/// See [`BTREE`].
pub(super) const GIN: u32 = 2742;
/// See [`BTREE`].
pub(super) const BRIN: u32 = 3580;

/// The number of a method by its name; the usual one has none.
pub(super) fn method(name: Option<&str>) -> u32 {
    match name {
        Some("hash") => HASH,
        Some("gist") => GIST,
        Some("spgist") => SPGIST,
        Some("gin") => GIN,
        Some("brin") => BRIN,
        _ => BTREE,
    }
}

/// What a method is called.
pub(super) fn method_name(method: u32) -> &'static str {
    match method {
        HASH => "hash",
        GIST => "gist",
        SPGIST => "spgist",
        GIN => "gin",
        BRIN => "brin",
        _ => "btree",
    }
}

impl Known<'_> {
    /// What a function of this name says; `None`: it is none of these.
    pub(super) fn property(&self, function: &str, arguments: &[&Value]) -> Option<Value> {
        let number = |place: usize| match arguments.get(place) {
            Some(Value::Oid(number)) => *number,
            _ => 0,
        };
        let word = arguments.last()?.as_str().unwrap_or_default();
        let word = word.to_ascii_lowercase();
        let shape = || shape(self.context().catalog, number(0));
        let answer = match function {
            "pg_indexam_has_property" => of_method(number(0), &word),
            "pg_index_has_property" => shape().and_then(|shape| of_index(shape.method, &word)),
            "pg_index_column_has_property" => {
                let column = arguments[1]
                    .as_i64()
                    .and_then(|n| usize::try_from(n - 1).ok());
                shape().and_then(|shape| of_column(&shape, column?, &word))
            }
            _ => return None,
        };
        Some(answer.map_or(Value::Null, Value::Bool))
    }
}

fn of_method(method: u32, word: &str) -> Option<bool> {
    const WORDS: [&str; 5] = [
        "can_order",
        "can_unique",
        "can_multi_col",
        "can_exclude",
        "can_include",
    ];
    let has: &[&str] = match method {
        BTREE => &WORDS,
        HASH => &["can_exclude"],
        GIST => &["can_multi_col", "can_exclude", "can_include"],
        SPGIST => &["can_exclude", "can_include"],
        GIN | BRIN => &["can_multi_col"],
        _ => return None,
    };
    WORDS.contains(&word).then(|| has.contains(&word))
}

fn of_index(method: u32, word: &str) -> Option<bool> {
    const WORDS: [&str; 4] = ["clusterable", "index_scan", "bitmap_scan", "backward_scan"];
    let has: &[&str] = match method {
        BTREE => &WORDS,
        HASH => &WORDS[1..],
        GIST => &["clusterable", "index_scan", "bitmap_scan"],
        SPGIST => &["index_scan", "bitmap_scan"],
        _ => &["bitmap_scan"],
    };
    WORDS.contains(&word).then(|| has.contains(&word))
}

fn of_column(shape: &IndexShape, column: usize, word: &str) -> Option<bool> {
    if column >= shape.keys.len() + shape.included.len() {
        return None;
    }
    let ordered = shape.method == BTREE;
    let is_key = column < shape.keys.len();
    let (descends, nulls_first) = shape.directions.get(column).copied().unwrap_or_default();
    // Of what is only stored along nobody knows an order.
    let known = |has: bool| is_key.then_some(has);
    match word {
        "asc" => known(ordered && !descends),
        "desc" => known(ordered && descends),
        "nulls_first" => known(ordered && nulls_first),
        "nulls_last" => known(ordered && !nulls_first),
        "orderable" => Some(ordered && is_key),
        "distance_orderable" => Some(false),
        "returnable" => Some(ordered),
        "search_array" => known(ordered),
        "search_nulls" => known(ordered || shape.method == BRIN),
        _ => None,
    }
}
