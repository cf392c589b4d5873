//! Ranges and sets of ranges: polymorphic, resolved by their kind.
//!
//! Relies on: `base::range` and `base::multirange`, `choose` among what one kind has.  Promises: PostgreSQL's constructors,
//! functions and operators: a value beside a range must be of the range's own type, so that `numrange @> integer` is
//! nothing.  Does not: compare them by operators (`compare` does), or give rows: `unnest` reads the array of [`RANGES`].

use super::choose::{Choice, Signature, choose};
use super::{
    Body, Function, Resolved, builtin as new, does_not_exist, fail, is_not_unique, str, wrong_type,
};
use crate::eval::Host;
use quintet_base::range::Bound;
use quintet_base::value::Array;
use quintet_base::{Multirange, Range, RangeKind, SqlError, SqlResult, SqlState, SqlType, Value};
use std::borrow::Cow;

/// What a parameter or result is, relative to the kind.
#[derive(Clone, Copy)]
enum Kind {
    /// A range.
    One,
    /// A multirange.
    Set,
    /// What a range is made of.
    Element,
    /// An array of ranges.
    Ranges,
    /// A truth value.
    Truth,
    /// An integer.
    Int,
}

use Kind::{Element, Int, One, Ranges, Set, Truth};

impl Kind {
    fn of(self, kind: RangeKind) -> SqlType {
        match self {
            One => SqlType::Range(kind),
            Set => SqlType::Multirange(kind),
            Element => kind.subtype(),
            Ranges => SqlType::RangeArray(kind),
            Truth => SqlType::Bool,
            Int => SqlType::Int4,
        }
    }
}

struct Polymorphic {
    function: Function,
    args: &'static [Kind],
    result: Kind,
}

const fn poly(name: &'static str, args: &'static [Kind], result: Kind, eval: Body) -> Polymorphic {
    // The declared types say nothing here; the expression node carries the result's.
    Polymorphic {
        function: new(name, &[], SqlType::Unknown, eval),
        args,
        result,
    }
}

/// A multirange's ranges as an array; SQL has no name for it.
pub const RANGES: &str = "[ranges]";

/// The range, or the smallest with all values of a set.
fn hull(value: &Value) -> Cow<'_, Range> {
    match value {
        Value::Range(range) => Cow::Borrowed(range),
        Value::Multirange(set) => Cow::Owned(set.hull()),
        other => wrong_type(other),
    }
}

fn set(value: &Value) -> Cow<'_, Multirange> {
    match value {
        Value::Range(range) => Cow::Owned(Multirange::from(&**range)),
        Value::Multirange(set) => Cow::Borrowed(set),
        other => wrong_type(other),
    }
}

fn lower(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let hull = hull(args[0]);
    let value = hull.bounds().and_then(|(lower, _)| lower.value());
    Ok(value.cloned().unwrap_or_default())
}

fn upper(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let hull = hull(args[0]);
    let value = hull.bounds().and_then(|(_, upper)| upper.value());
    Ok(value.cloned().unwrap_or_default())
}

/// What is true of two ranges' or sets' hulls, and of bounds.
macro_rules! truths {
    ($($name:ident: |$args:ident| $truth:expr;)*) => {
        $(fn $name($args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
            Ok(Value::Bool($truth))
        })*
    };
}

fn lower_is(value: &Value, is: fn(&Bound) -> bool) -> bool {
    hull(value).bounds().is_some_and(|(lower, _)| is(lower))
}

fn upper_is(value: &Value, is: fn(&Bound) -> bool) -> bool {
    hull(value).bounds().is_some_and(|(_, upper)| is(upper))
}

truths! {
    is_empty: |args| hull(args[0]).is_empty();
    lower_inc: |args| lower_is(args[0], |bound| matches!(bound, Bound::Included(_)));
    upper_inc: |args| upper_is(args[0], |bound| matches!(bound, Bound::Included(_)));
    lower_inf: |args| lower_is(args[0], |bound| matches!(bound, Bound::Infinite));
    upper_inf: |args| upper_is(args[0], |bound| matches!(bound, Bound::Infinite));
    contains: |args| is_in(args[1], args[0]);
    is_contained: |args| is_in(args[0], args[1]);
    overlaps: |args| match (args[0], args[1]) {
        (Value::Range(a), Value::Range(b)) => a.overlaps(b),
        (a, b) => set(a).overlaps(&set(b)),
    };
    is_before: |args| hull(args[0]).is_before(&hull(args[1]));
    is_behind: |args| hull(args[1]).is_before(&hull(args[0]));
    ends_no_later: |args| hull(args[0]).ends_no_later(&hull(args[1]));
    begins_no_earlier: |args| hull(args[0]).begins_no_earlier(&hull(args[1]));
    is_adjacent: |args| hull(args[0]).is_adjacent(&hull(args[1]));
    eq: |args| args[0].order(args[1]).is_eq();
    ne: |args| args[0].order(args[1]).is_ne();
    lt: |args| args[0].order(args[1]).is_lt();
    le: |args| args[0].order(args[1]).is_le();
    ge: |args| args[0].order(args[1]).is_ge();
    gt: |args| args[0].order(args[1]).is_gt();
}

fn is_in(part: &Value, whole: &Value) -> bool {
    match (whole, part) {
        (Value::Range(whole), Value::Range(_) | Value::Multirange(_)) => {
            whole.contains(&hull(part))
        }
        (Value::Multirange(whole), Value::Range(part)) => whole.contains_range(part),
        (Value::Multirange(whole), Value::Multirange(part)) => whole.contains(part),
        (Value::Range(whole), value) => whole.has(value),
        (Value::Multirange(whole), value) => whole.has(value),
        (other, _) => wrong_type(other),
    }
}

fn compare(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Int4(args[0].order(args[1]) as i32))
}

fn union(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(match (args[0], args[1]) {
        (Value::Range(a), Value::Range(b)) => Value::range(a.union(b)?),
        (a, b) => Value::multirange(set(a).union(&set(b))),
    })
}

fn difference(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(match (args[0], args[1]) {
        (Value::Range(a), Value::Range(b)) => Value::range(a.difference(b)?),
        (a, b) => Value::multirange(set(a).difference(&set(b))),
    })
}

/// What both have: `*`, and what `range_intersect_agg` keeps of two values.
pub(crate) fn shared(a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Range(a), Value::Range(b)) => Value::range(a.intersection(b)),
        (a, b) => Value::multirange(set(a).intersection(&set(b))),
    }
}

fn intersection(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(shared(args[0], args[1]))
}

fn merge(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut all = args.iter().map(|arg| hull(arg).into_owned());
    let Some(first) = all.next() else {
        return Ok(Value::Null);
    };
    Ok(Value::range(
        all.fold(first, |all, range| all.merge(&range)),
    ))
}

fn as_set(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::multirange(set(args[0]).into_owned()))
}

fn ranges(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let set = set(args[0]);
    let values = set.ranges().iter().cloned().map(Value::range);
    Ok(Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Range(set.kind()),
        values: values.collect(),
    })))
}

static FUNCTIONS: &[Polymorphic] = &[
    poly("lower", &[One], Element, lower),
    poly("lower", &[Set], Element, lower),
    poly("upper", &[One], Element, upper),
    poly("upper", &[Set], Element, upper),
    poly("isempty", &[One], Truth, is_empty),
    poly("isempty", &[Set], Truth, is_empty),
    poly("lower_inc", &[One], Truth, lower_inc),
    poly("lower_inc", &[Set], Truth, lower_inc),
    poly("upper_inc", &[One], Truth, upper_inc),
    poly("upper_inc", &[Set], Truth, upper_inc),
    poly("lower_inf", &[One], Truth, lower_inf),
    poly("lower_inf", &[Set], Truth, lower_inf),
    poly("upper_inf", &[One], Truth, upper_inf),
    poly("upper_inf", &[Set], Truth, upper_inf),
    poly("range_merge", &[One, One], One, merge),
    poly("range_merge", &[Set], One, merge),
    poly("multirange", &[One], Set, as_set),
    poly(RANGES, &[Set], Ranges, ranges),
    poly("@>", &[One, One], Truth, contains),
    poly("@>", &[One, Set], Truth, contains),
    poly("@>", &[Set, One], Truth, contains),
    poly("@>", &[Set, Set], Truth, contains),
    poly("@>", &[One, Element], Truth, contains),
    poly("@>", &[Set, Element], Truth, contains),
    poly("<@", &[One, One], Truth, is_contained),
    poly("<@", &[One, Set], Truth, is_contained),
    poly("<@", &[Set, One], Truth, is_contained),
    poly("<@", &[Set, Set], Truth, is_contained),
    poly("<@", &[Element, One], Truth, is_contained),
    poly("<@", &[Element, Set], Truth, is_contained),
    poly("&&", &[One, One], Truth, overlaps),
    poly("&&", &[One, Set], Truth, overlaps),
    poly("&&", &[Set, One], Truth, overlaps),
    poly("&&", &[Set, Set], Truth, overlaps),
    poly("<<", &[One, One], Truth, is_before),
    poly("<<", &[One, Set], Truth, is_before),
    poly("<<", &[Set, One], Truth, is_before),
    poly("<<", &[Set, Set], Truth, is_before),
    poly(">>", &[One, One], Truth, is_behind),
    poly(">>", &[One, Set], Truth, is_behind),
    poly(">>", &[Set, One], Truth, is_behind),
    poly(">>", &[Set, Set], Truth, is_behind),
    poly("&<", &[One, One], Truth, ends_no_later),
    poly("&<", &[One, Set], Truth, ends_no_later),
    poly("&<", &[Set, One], Truth, ends_no_later),
    poly("&<", &[Set, Set], Truth, ends_no_later),
    poly("&>", &[One, One], Truth, begins_no_earlier),
    poly("&>", &[One, Set], Truth, begins_no_earlier),
    poly("&>", &[Set, One], Truth, begins_no_earlier),
    poly("&>", &[Set, Set], Truth, begins_no_earlier),
    poly("-|-", &[One, One], Truth, is_adjacent),
    poly("-|-", &[One, Set], Truth, is_adjacent),
    poly("-|-", &[Set, One], Truth, is_adjacent),
    poly("-|-", &[Set, Set], Truth, is_adjacent),
    poly("+", &[One, One], One, union),
    poly("+", &[Set, Set], Set, union),
    poly("-", &[One, One], One, difference),
    poly("-", &[Set, Set], Set, difference),
    poly("*", &[One, One], One, intersection),
    poly("*", &[Set, Set], Set, intersection),
];

/// What operators do, by the names of PostgreSQL's functions behind them.
static NAMED: &[Polymorphic] = &[
    poly("range_eq", &[One, One], Truth, eq),
    poly("range_ne", &[One, One], Truth, ne),
    poly("range_overlaps", &[One, One], Truth, overlaps),
    poly("range_contains_elem", &[One, Element], Truth, contains),
    poly("range_contains", &[One, One], Truth, contains),
    poly(
        "elem_contained_by_range",
        &[Element, One],
        Truth,
        is_contained,
    ),
    poly("range_contained_by", &[One, One], Truth, is_contained),
    poly("range_adjacent", &[One, One], Truth, is_adjacent),
    poly("range_before", &[One, One], Truth, is_before),
    poly("range_after", &[One, One], Truth, is_behind),
    poly("range_overleft", &[One, One], Truth, ends_no_later),
    poly("range_overright", &[One, One], Truth, begins_no_earlier),
    poly("range_union", &[One, One], One, union),
    poly("range_intersect", &[One, One], One, intersection),
    poly("range_minus", &[One, One], One, difference),
    poly("range_cmp", &[One, One], Int, compare),
    poly("range_lt", &[One, One], Truth, lt),
    poly("range_le", &[One, One], Truth, le),
    poly("range_ge", &[One, One], Truth, ge),
    poly("range_gt", &[One, One], Truth, gt),
    poly("multirange_eq", &[Set, Set], Truth, eq),
    poly("multirange_ne", &[Set, Set], Truth, ne),
    poly("range_overlaps_multirange", &[One, Set], Truth, overlaps),
    poly("multirange_overlaps_range", &[Set, One], Truth, overlaps),
    poly(
        "multirange_overlaps_multirange",
        &[Set, Set],
        Truth,
        overlaps,
    ),
    poly("multirange_contains_elem", &[Set, Element], Truth, contains),
    poly("multirange_contains_range", &[Set, One], Truth, contains),
    poly(
        "multirange_contains_multirange",
        &[Set, Set],
        Truth,
        contains,
    ),
    poly(
        "elem_contained_by_multirange",
        &[Element, Set],
        Truth,
        is_contained,
    ),
    poly(
        "range_contained_by_multirange",
        &[One, Set],
        Truth,
        is_contained,
    ),
    poly(
        "multirange_contained_by_multirange",
        &[Set, Set],
        Truth,
        is_contained,
    ),
    poly("range_adjacent_multirange", &[One, Set], Truth, is_adjacent),
    poly(
        "multirange_adjacent_multirange",
        &[Set, Set],
        Truth,
        is_adjacent,
    ),
    poly("multirange_adjacent_range", &[Set, One], Truth, is_adjacent),
    poly("range_before_multirange", &[One, Set], Truth, is_before),
    poly("multirange_before_range", &[Set, One], Truth, is_before),
    poly(
        "multirange_before_multirange",
        &[Set, Set],
        Truth,
        is_before,
    ),
    poly("range_after_multirange", &[One, Set], Truth, is_behind),
    poly("multirange_after_range", &[Set, One], Truth, is_behind),
    poly("multirange_after_multirange", &[Set, Set], Truth, is_behind),
    poly(
        "range_overleft_multirange",
        &[One, Set],
        Truth,
        ends_no_later,
    ),
    poly(
        "multirange_overleft_range",
        &[Set, One],
        Truth,
        ends_no_later,
    ),
    poly(
        "multirange_overleft_multirange",
        &[Set, Set],
        Truth,
        ends_no_later,
    ),
    poly(
        "range_overright_multirange",
        &[One, Set],
        Truth,
        begins_no_earlier,
    ),
    poly(
        "multirange_overright_range",
        &[Set, One],
        Truth,
        begins_no_earlier,
    ),
    poly(
        "multirange_overright_multirange",
        &[Set, Set],
        Truth,
        begins_no_earlier,
    ),
    poly("multirange_union", &[Set, Set], Set, union),
    poly("multirange_minus", &[Set, Set], Set, difference),
    poly("multirange_intersect", &[Set, Set], Set, intersection),
    poly("multirange_cmp", &[Set, Set], Int, compare),
    poly("multirange_lt", &[Set, Set], Truth, lt),
    poly("multirange_le", &[Set, Set], Truth, le),
    poly("multirange_ge", &[Set, Set], Truth, ge),
    poly("multirange_gt", &[Set, Set], Truth, gt),
    poly("range_contains_multirange", &[One, Set], Truth, contains),
    poly(
        "multirange_contained_by_range",
        &[Set, One],
        Truth,
        is_contained,
    ),
];

fn all() -> impl Iterator<Item = &'static Polymorphic> {
    FUNCTIONS.iter().chain(NAMED)
}

/// True if some function of ranges has this name.
pub(super) fn has(name: &str) -> bool {
    all().any(|f| f.function.name == name)
}

/// A function of ranges; `None` if no argument is one, or the name is none of theirs.
pub(super) fn resolve(name: &str, args: &[SqlType]) -> Option<SqlResult<Resolved>> {
    if !has(name) {
        return None;
    }
    let Some(kind) = args.iter().find_map(|ty| ty.range_kind()) else {
        return untyped(name, args).map(Err);
    };
    let types = |f: &Polymorphic| -> Vec<SqlType> { f.args.iter().map(|k| k.of(kind)).collect() };
    let fits = |types: &[SqlType]| {
        let mut both = types.iter().zip(args);
        types.len() == args.len()
            && both.all(|(wanted, given)| given == wanted || *given == SqlType::Unknown)
    };
    let candidates: Vec<(&Polymorphic, Vec<SqlType>)> = all()
        .filter(|f| f.function.name == name)
        .map(|f| (f, types(f)))
        .filter(|(_, types)| fits(types))
        .collect();
    let signatures: Vec<Signature> = candidates
        .iter()
        .map(|(_, types)| Signature {
            args: types,
            variadic: false,
        })
        .collect();
    Some(match choose(&signatures, args, super::is_operator(name)) {
        Choice::One(number) => {
            let (found, types) = &candidates[number];
            Ok(Resolved {
                function: &found.function,
                args: types.clone(),
                result: found.result.of(kind),
            })
        }
        Choice::None => Err(does_not_exist(name, args)),
        Choice::Several => Err(is_not_unique(name, args)),
    })
}

/// Why a call of which no type is known is none of these; `None` if it may be another's.
fn untyped(name: &str, args: &[SqlType]) -> Option<SqlError> {
    let known = args.iter().any(|ty| *ty != SqlType::Unknown);
    if known || matches!(name, "lower" | "upper") {
        return None;
    }
    let named = all().filter(|f| f.function.name == name);
    match named.filter(|f| f.args.len() == args.len()).count() {
        0 => None,
        1 => Some(SqlError::new(
            SqlState::DATATYPE_MISMATCH,
            "could not determine polymorphic type because input has type unknown",
        )),
        _ => Some(is_not_unique(name, args)),
    }
}

/// Every function of ranges as it resolves for one kind.
#[cfg(test)]
pub(super) fn samples(kind: RangeKind) -> Vec<Resolved> {
    all()
        .map(|f| Resolved {
            function: &f.function,
            args: f.args.iter().map(|k| k.of(kind)).collect(),
            result: f.result.of(kind),
        })
        .collect()
}

/// What a constructor's third argument says of the bounds: whether each is included.
fn flags(text: &Value) -> SqlResult<(bool, bool)> {
    if text.is_null() {
        return fail(
            SqlState::DATA_EXCEPTION,
            "range constructor flags argument must not be null",
        );
    }
    match str(text) {
        "[]" => Ok((true, true)),
        "[)" => Ok((true, false)),
        "(]" => Ok((false, true)),
        "()" => Ok((false, false)),
        _ => Err(
            SqlError::new(SqlState::SYNTAX_ERROR, "invalid range bound flags")
                .hint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\"."),
        ),
    }
}

fn construct(kind: RangeKind, args: &[&Value]) -> SqlResult<Value> {
    let (lower, upper) = args.get(2).map_or(Ok((true, false)), |text| flags(text))?;
    let bound = |value: &Value, included| match (value, included) {
        (Value::Null, _) => Bound::Infinite,
        (value, true) => Bound::Included(value.clone()),
        (value, false) => Bound::Excluded(value.clone()),
    };
    let range = Range::new(kind, bound(args[0], lower), bound(args[1], upper))?;
    Ok(Value::range(range))
}

fn construct_set(kind: RangeKind, args: &[&Value]) -> SqlResult<Value> {
    let mut ranges = Vec::with_capacity(args.len());
    for arg in args {
        match arg {
            Value::Range(range) => ranges.push(Range::clone(range)),
            Value::Null => {
                return fail(
                    SqlState::NULL_VALUE_NOT_ALLOWED,
                    "multirange values cannot contain null members",
                );
            }
            other => wrong_type(other),
        }
    }
    Ok(Value::multirange(Multirange::new(kind, ranges)))
}

/// The same with an array of the ranges.
fn construct_of_array(kind: RangeKind, args: &[&Value]) -> SqlResult<Value> {
    match args[0] {
        Value::Array(array) => construct_set(kind, &array.values.iter().collect::<Vec<_>>()),
        other => wrong_type(other),
    }
}

macro_rules! constructors {
    ($($kind:ident $subtype:ident $range:literal $set:literal $of_array:literal;)*) => {
        pub(super) static CONSTRUCTORS: &[Function] = &[
            $(
                new(
                    $range,
                    &[SqlType::$subtype, SqlType::$subtype],
                    SqlType::Range(RangeKind::$kind),
                    |args, _| construct(RangeKind::$kind, args),
                )
                .lenient(),
                new(
                    $range,
                    &[SqlType::$subtype, SqlType::$subtype, SqlType::Text],
                    SqlType::Range(RangeKind::$kind),
                    |args, _| construct(RangeKind::$kind, args),
                )
                .lenient(),
                new(
                    $set,
                    &[],
                    SqlType::Multirange(RangeKind::$kind),
                    |args, _| construct_set(RangeKind::$kind, args),
                ),
                new(
                    $set,
                    &[SqlType::Range(RangeKind::$kind)],
                    SqlType::Multirange(RangeKind::$kind),
                    |args, _| construct_set(RangeKind::$kind, args),
                ),
                new(
                    $set,
                    &[SqlType::Range(RangeKind::$kind), SqlType::Range(RangeKind::$kind)],
                    SqlType::Multirange(RangeKind::$kind),
                    |args, _| construct_set(RangeKind::$kind, args),
                )
                .variadic()
                .lenient(),
                new(
                    $of_array,
                    &[SqlType::RangeArray(RangeKind::$kind)],
                    SqlType::Multirange(RangeKind::$kind),
                    |args, _| construct_of_array(RangeKind::$kind, args),
                ),
            )*
        ];

        /// What makes a set of an array of ranges, by the name that makes it of ranges one by one.
        pub(super) fn of_array(name: &str) -> Option<&'static str> {
            match name {
                $($set => Some($of_array),)*
                _ => None,
            }
        }
    };
}

constructors! {
    Int4 Int4 "int4range" "int4multirange" "int4multirange()";
    Int8 Int8 "int8range" "int8multirange" "int8multirange()";
    Num Numeric "numrange" "nummultirange" "nummultirange()";
    Ts Timestamp "tsrange" "tsmultirange" "tsmultirange()";
    TsTz TimestampTz "tstzrange" "tstzmultirange" "tstzmultirange()";
    Date Date "daterange" "datemultirange" "datemultirange()";
}
