//! Patterns by the array: `text LIKE ANY (patterns)`, `text !~ ALL (patterns)` and their kin.
//!
//! Relies on: `like` and `pattern` for one pattern.  Promises: what OR and AND of all of them would give, NULLs included; none
//! that comes after the one that decides is looked at.  Does not: compare (`Expr::Quantified`).

use super::{Function, builtin, like, pattern, search, text};
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Bpchar, Citext, Name, Text, TextArray, TsQueryArray, TsVector};
use quintet_base::{SqlResult, Value};

type One = fn(&[&Value], &dyn Host) -> SqlResult<Value>;

fn quantified(one: One, all: bool, args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let [input, Value::Array(patterns)] = args else {
        return Ok(Value::Null);
    };
    let mut unknown = false;
    for pattern in &patterns.values {
        if pattern.is_null() {
            unknown = true;
        } else if one(&[input, pattern], host)? == Value::Bool(!all) {
            return Ok(Value::Bool(!all));
        }
    }
    Ok(match unknown {
        true => Value::Null,
        false => Value::Bool(all),
    })
}

/// For each operator both ways, over each type that it takes on its left; citext has one without case.
macro_rules! operators {
    ($($any:literal $all:literal $one:path, $caseless:path;)*) => {
        &[$(
            operators!(@ $any $one, false, Text),
            operators!(@ $any $one, false, Bpchar),
            operators!(@ $any $one, false, Name),
            operators!(@ $any $caseless, false, Citext),
            operators!(@ $all $one, true, Text),
            operators!(@ $all $one, true, Bpchar),
            operators!(@ $all $one, true, Name),
            operators!(@ $all $caseless, true, Citext),
        )*]
    };
    (@ $name:literal $one:path, $is_all:literal, $left:ident) => {
        builtin($name, &[$left, TextArray], Bool, |args, host| quantified($one, $is_all, args, host))
    };
}

/// One query of several, or all of them.
pub(super) static QUERIES: &[Function] = &[
    builtin("@@ ANY", &[TsVector, TsQueryArray], Bool, |args, host| {
        quantified(search::matches, false, args, host)
    }),
    builtin("@@ ALL", &[TsVector, TsQueryArray], Bool, |args, host| {
        quantified(search::matches, true, args, host)
    }),
];

pub(super) static FUNCTIONS: &[Function] = operators! {
    "~~ ANY" "~~ ALL" like::is_like, like::is_ilike;
    "!~~ ANY" "!~~ ALL" like::is_not_like, like::is_not_ilike;
    "~~* ANY" "~~* ALL" like::is_ilike, like::is_ilike;
    "!~~* ANY" "!~~* ALL" like::is_not_ilike, like::is_not_ilike;
    "~ ANY" "~ ALL" pattern::is_match, pattern::is_match_any_case;
    "!~ ANY" "!~ ALL" pattern::is_no_match, pattern::is_no_match_any_case;
    "~* ANY" "~* ALL" pattern::is_match_any_case, pattern::is_match_any_case;
    "!~* ANY" "!~* ALL" pattern::is_no_match_any_case, pattern::is_no_match_any_case;
    "^@ ANY" "^@ ALL" text::starts_with, text::starts_with;
};
