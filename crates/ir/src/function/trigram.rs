//! What PostgreSQL's extension `pg_trgm` brings: texts compared by their trigrams.
//!
//! Relies on: `textsearch::trigram`, the session's settings for thresholds.  Promises: PostgreSQL's numbers.  Does not: look into
//! indexes (`elements`).

use super::{Function, builtin as new, fail, str};
use crate::elements::Test;
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Float4, Text, TextArray};
use quintet_base::lexemes::textsearch::trigram::{Stretch, Trigram, similarity, trigrams};
use quintet_base::value::Array;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use std::cell::RefCell;
use std::rc::Rc;

/// The settings of the thresholds, each with its value when a session begins.
pub const THRESHOLDS: [(&str, f64); 3] = [SIMILARITY, WORD_SIMILARITY, STRICT_WORD_SIMILARITY];

const SIMILARITY: (&str, f64) = ("pg_trgm.similarity_threshold", 0.3);
const WORD_SIMILARITY: (&str, f64) = ("pg_trgm.word_similarity_threshold", 0.6);
const STRICT_WORD_SIMILARITY: (&str, f64) = ("pg_trgm.strict_word_similarity_threshold", 0.5);

fn of_setting((name, default): (&str, f64), host: &dyn Host) -> f64 {
    let value = host.setting(name);
    value
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// How much of the trigrams that it asks for a text must have to fulfil a condition.
pub fn threshold(test: Test, host: &dyn Host) -> f64 {
    match test {
        Test::Similar => of_setting(SIMILARITY, host),
        Test::HasWord => of_setting(WORD_SIMILARITY, host),
        Test::HasStrictWord => of_setting(STRICT_WORD_SIMILARITY, host),
        _ => 1.0,
    }
}

/// A text and its trigrams.
type Known = (String, Rc<[Trigram]>);

thread_local! {
    /// What stood on each side last: of many rows that are asked, one side is often the same.
    static LAST: RefCell<[Option<Known>; 2]> = const { RefCell::new([None, None]) };
}

/// Longer texts are not kept.
const KEPT_BYTES_MAX: usize = 4096;

fn of_side(side: usize, text: &str) -> Rc<[Trigram]> {
    if text.len() > KEPT_BYTES_MAX {
        return trigrams(text).into();
    }
    LAST.with_borrow_mut(|last| match &last[side] {
        Some((known, found)) if known == text => found.clone(),
        _ => {
            let found: Rc<[Trigram]> = trigrams(text).into();
            last[side] = Some((text.to_string(), found.clone()));
            found
        }
    })
}

fn alike(args: &[&Value]) -> f32 {
    similarity(&of_side(0, str(args[0])), &of_side(1, str(args[1])))
}

/// Ends a statement whose time is over.
fn look(host: &dyn Host) -> SqlResult<()> {
    match host.is_overdue() {
        true => fail(
            SqlState::QUERY_CANCELED,
            "canceling statement due to statement timeout",
        ),
        false => Ok(()),
    }
}

fn word(args: &[&Value], host: &dyn Host) -> SqlResult<f32> {
    Stretch::Any.similarity(str(args[0]), str(args[1]), || look(host))
}

fn strict_word(args: &[&Value], host: &dyn Host) -> SqlResult<f32> {
    Stretch::Words.similarity(str(args[0]), str(args[1]), || look(host))
}

fn turned<'a>(args: &[&'a Value]) -> [&'a Value; 2] {
    [args[1], args[0]]
}

fn number(number: f32) -> SqlResult<Value> {
    Ok(Value::Float4(number))
}

fn distance(alike: f32) -> SqlResult<Value> {
    number((1.0 - f64::from(alike)) as f32)
}

fn reaches(alike: f32, setting: (&str, f64), host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(f64::from(alike) >= of_setting(setting, host)))
}

fn show(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let all = trigrams(str(args[0])).into_iter();
    Ok(Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Text,
        values: all
            .map(|trigram: Trigram| Value::text(trigram.shown()))
            .collect(),
    })))
}

fn show_limit(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    number(of_setting(SIMILARITY, host) as f32)
}

fn set_limit(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let Value::Float4(limit) = args[0] else {
        return Err(SqlError::internal("a limit that is no number"));
    };
    host.set_setting(SIMILARITY.0, &limit.to_string(), false)?;
    number(*limit)
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("show_trgm", &[Text], TextArray, show),
    new("show_limit", &[], Float4, show_limit).stable(),
    new("set_limit", &[Float4], Float4, set_limit).volatile(),
    new("similarity", &[Text, Text], Float4, |args, _| {
        number(alike(args))
    }),
    new("word_similarity", &[Text, Text], Float4, |args, host| {
        number(word(args, host)?)
    }),
    new(
        "strict_word_similarity",
        &[Text, Text],
        Float4,
        |args, host| number(strict_word(args, host)?),
    ),
    new("similarity_op", &[Text, Text], Bool, IS_ALIKE).stable(),
    new("%", &[Text, Text], Bool, IS_ALIKE).stable(),
    new("word_similarity_op", &[Text, Text], Bool, IS_WORD).stable(),
    new("<%", &[Text, Text], Bool, IS_WORD).stable(),
    new(
        "word_similarity_commutator_op",
        &[Text, Text],
        Bool,
        HAS_WORD,
    )
    .stable(),
    new("%>", &[Text, Text], Bool, HAS_WORD).stable(),
    new(
        "strict_word_similarity_op",
        &[Text, Text],
        Bool,
        IS_STRICT_WORD,
    )
    .stable(),
    new("<<%", &[Text, Text], Bool, IS_STRICT_WORD).stable(),
    new(
        "strict_word_similarity_commutator_op",
        &[Text, Text],
        Bool,
        HAS_STRICT_WORD,
    )
    .stable(),
    new("%>>", &[Text, Text], Bool, HAS_STRICT_WORD).stable(),
    new("similarity_dist", &[Text, Text], Float4, FAR),
    new("<->", &[Text, Text], Float4, FAR),
    new("word_similarity_dist_op", &[Text, Text], Float4, FAR_WORD),
    new("<<->", &[Text, Text], Float4, FAR_WORD),
    new(
        "word_similarity_dist_commutator_op",
        &[Text, Text],
        Float4,
        FAR_FROM_WORD,
    ),
    new("<->>", &[Text, Text], Float4, FAR_FROM_WORD),
    new(
        "strict_word_similarity_dist_op",
        &[Text, Text],
        Float4,
        FAR_STRICT_WORD,
    ),
    new("<<<->", &[Text, Text], Float4, FAR_STRICT_WORD),
    new(
        "strict_word_similarity_dist_commutator_op",
        &[Text, Text],
        Float4,
        FAR_FROM_STRICT_WORD,
    ),
    new("<->>>", &[Text, Text], Float4, FAR_FROM_STRICT_WORD),
];

const IS_ALIKE: super::Body = |args, host| reaches(alike(args), SIMILARITY, host);
const IS_WORD: super::Body = |args, host| reaches(word(args, host)?, WORD_SIMILARITY, host);
const HAS_WORD: super::Body =
    |args, host| reaches(word(&turned(args), host)?, WORD_SIMILARITY, host);
const IS_STRICT_WORD: super::Body =
    |args, host| reaches(strict_word(args, host)?, STRICT_WORD_SIMILARITY, host);
const HAS_STRICT_WORD: super::Body = |args, host| {
    reaches(
        strict_word(&turned(args), host)?,
        STRICT_WORD_SIMILARITY,
        host,
    )
};
const FAR: super::Body = |args, _| distance(alike(args));
const FAR_WORD: super::Body = |args, host| distance(word(args, host)?);
const FAR_FROM_WORD: super::Body = |args, host| distance(word(&turned(args), host)?);
const FAR_STRICT_WORD: super::Body = |args, host| distance(strict_word(args, host)?);
const FAR_FROM_STRICT_WORD: super::Body = |args, host| distance(strict_word(&turned(args), host)?);
