//! Functions on arrays: polymorphic, resolved by shape.
//!
//! Relies on: `cast::common_type` for the element type that all arguments share.  Promises: the
//! result's type follows the arguments'.  Does not: keep the lower bound of the
//! catalogue's vectors, which count from 0 wherever their type is known.

pub mod joined;
pub(crate) mod parts;

use super::hypothetical;
use super::text::count;
use super::{
    Function, Resolved, builtin as new, does_not_exist, fail, int, ordered, str, wrong_type,
};
use crate::cast::{common_type, is_implicit};
use crate::eval::Host;
use joined::{append, concatenate, fill, prepend};
use quintet_base::array::{Array, Dimension};
use quintet_base::types::TypeFamily;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Str, Value, text_format};

use parts::{Bounds, set_element, set_slice};

/// What a parameter or result is, relative to the element type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An array of the element type.
    Whole,
    /// The element type.
    Element,
    /// A type of its own.
    Fixed(SqlType),
}

use Kind::{Element, Fixed, Whole};
const INT: Kind = Fixed(SqlType::Int4);
const TEXT: Kind = Fixed(SqlType::Text);
const BOOL: Kind = Fixed(SqlType::Bool);

struct Polymorphic {
    function: Function,
    args: &'static [Kind],
    result: Kind,
}

const fn poly(
    name: &'static str,
    args: &'static [Kind],
    result: Kind,
    eval: super::Body,
) -> Polymorphic {
    // The declared types say nothing here; the expression node carries the result's.
    Polymorphic {
        function: new(name, &[], SqlType::Unknown, eval),
        args,
        result,
    }
}

impl Polymorphic {
    const fn lenient(mut self) -> Polymorphic {
        self.function = self.function.lenient();
        self
    }

    /// Its result lies in its argument.
    const fn in_place(mut self) -> Polymorphic {
        self.function = self.function.subscript();
        self
    }

    const fn stable(mut self) -> Polymorphic {
        self.function = self.function.stable();
        self
    }

    /// The element type that fits all arguments.
    fn element(&self, args: &[SqlType]) -> Option<SqlType> {
        let mut elements = vec![];
        for (&kind, &given) in self.args.iter().zip(args) {
            match kind {
                _ if given == SqlType::Unknown => {}
                Whole => elements.push(given.element()?),
                Element if given.element().is_some() => return None,
                Element => elements.push(given),
                Fixed(ty) if is_implicit(given, ty) => {}
                Fixed(_) => return None,
            }
        }
        if elements.is_empty() && self.args.contains(&Whole) {
            return None;
        }
        common_type(&elements, "ARRAY").ok()
    }

    fn resolve(&'static self, args: &[SqlType]) -> Option<Resolved> {
        let element = self.element(args)?;
        let place = |kind: &Kind| match kind {
            Whole => element.array_of(),
            Element => Some(element),
            Fixed(ty) => Some(*ty),
        };
        Some(Resolved {
            function: &self.function,
            args: self.args.iter().map(place).collect::<Option<_>>()?,
            result: place(&self.result)?,
        })
    }
}

pub(super) fn array(value: &Value) -> &Array {
    match value {
        Value::Array(array) => array,
        other => wrong_type(other),
    }
}

pub(super) fn make(element: SqlType, values: Vec<Value>) -> Value {
    Value::Array(Box::new(Array {
        shape: None,
        element,
        values,
    }))
}

/// One dimension of an array, by its number.
fn dimension(args: &[&Value]) -> Option<Dimension> {
    let number = usize::try_from(int(args[1]) - 1).ok()?;
    array(args[0]).dimensions().get(number).copied()
}

fn length(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(dimension(args).map_or(Value::Null, |one| Value::Int4(one.length)))
}

fn lower(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(dimension(args).map_or(Value::Null, |one| Value::Int4(one.lower)))
}

fn upper(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(dimension(args).map_or(Value::Null, |one| Value::Int4(one.upper())))
}

fn dimensions(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(match array(args[0]).dimensions().len() {
        0 => Value::Null,
        number => count(number),
    })
}

fn cardinality(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(count(array(args[0]).values.len()))
}

fn subscript(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(element(args[0], args[1]).clone())
}

/// `array[index]`: NULL where there is none.
pub(crate) fn element<'v>(array: &'v Value, index: &Value) -> &'v Value {
    index
        .as_i64()
        .map_or(&NULL, |index| element_at(array, index))
}

static NULL: Value = Value::Null;

/// The same for an index that is not NULL.
#[inline]
pub(crate) fn element_at(array: &Value, index: i64) -> &Value {
    match array {
        Value::Array(array) => array.at(index).unwrap_or(&NULL),
        _ => &NULL,
    }
}

fn nth(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let place = usize::try_from(int(args[1]) - 1).ok();
    let value = place.and_then(|place| array(args[0]).values.get(place));
    Ok(value.cloned().unwrap_or(Value::Null))
}

/// `array[i][j]`
fn deep_subscript(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let indices: Vec<i64> = args[1..].iter().map(|index| int(index)).collect();
    let whole = array(args[0]);
    let place = whole.dimensions().place(&indices);
    Ok(place.map_or(Value::Null, |place| whole.values[place].clone()))
}

/// `array[low:high]`, as far as the array goes; also with several such bounds.
fn slice(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let bounds = args[1..].chunks_exact(2);
    let bounds: Vec<Bounds> = bounds
        .map(|pair| (Some(int(pair[0])), Some(int(pair[1]))))
        .collect();
    let part = parts::slice(array(args[0]), &bounds);
    Ok(Value::Array(Box::new(part)))
}

/// The parts of an array with so many dimensions, as what FOREACH goes through.
fn slices(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let whole = array(args[0]);
    let parts = parts::slices(whole, int(args[1]) as i32)?;
    Ok(make(whole.element, parts))
}

/// Those of the elements, which ascend, that are not below one and not above another; NULL is no bound.
fn labels_between(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let [all, low, high] = args else {
        return Err(SqlError::internal("a range of labels has two bounds"));
    };
    let fits = |label: &&Value| {
        (low.is_null() || label.order(low).is_ge()) && (high.is_null() || label.order(high).is_le())
    };
    let Value::Array(all) = all else {
        return Ok(Value::Null);
    };
    let labels = all.values.iter().filter(fits).cloned().collect();
    Ok(make(all.element, labels))
}

fn null_subscript<T>() -> SqlResult<T> {
    fail(
        SqlState::NULL_VALUE_NOT_ALLOWED,
        "array subscript in assignment must not be null",
    )
}

/// An array with another element at a place, which it grows to reach. What the elements are is told by the
/// array, or by the new one.
fn with_element(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let [whole, indices @ .., new, one] = args else {
        return Err(SqlError::internal(
            "an element is assigned with an array of its type beside it",
        ));
    };
    if indices.iter().any(|index| index.is_null()) {
        return null_subscript();
    }
    let ((Value::Array(known), _) | (_, Value::Array(known))) = (whole, one) else {
        return Err(SqlError::internal("an array of no known type"));
    };
    let indices: Vec<i64> = indices.iter().map(|index| int(index)).collect();
    let mut all = Value::clone(whole);
    set_element(&mut all, known.element, &indices, Value::clone(new))?;
    Ok(all)
}

/// The same of several dimensions in a routine, where an array without elements gets none, and NULL does, as in PostgreSQL.
fn with_deep_element(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let is_empty = matches!(args[0], Value::Array(whole) if whole.values.is_empty());
    let count = args.len().saturating_sub(2);
    if is_empty && !args[1..count].iter().any(|index| index.is_null()) {
        return fail(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            "array subscript out of range",
        );
    }
    with_element(args, host)
}

/// An array whose elements within bounds are another array's first ones. A bit of the number behind it is set for
/// each bound that is not written.
fn with_slice(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let [whole, omitted, bounds @ .., from] = args else {
        return Err(SqlError::internal(
            "a slice is assigned with bounds and an array",
        ));
    };
    if bounds.iter().any(|bound| bound.is_null()) {
        return null_subscript();
    }
    let omitted = omitted.as_i64().unwrap_or(0);
    let bound = |at: usize| (omitted >> at & 1 == 0).then(|| int(bounds[at]));
    let bounds = (0..bounds.len()).step_by(2);
    let bounds: Vec<Bounds> = bounds.map(|at| (bound(at), bound(at + 1))).collect();
    let Value::Array(from) = from else {
        return Ok(match whole {
            Value::Null => make(SqlType::Unknown, Vec::new()),
            whole => Value::clone(whole),
        });
    };
    let mut all = match whole {
        Value::Array(whole) => whole.clone(),
        _ => Box::new(Array::new(from.element, Vec::new())),
    };
    set_slice(&mut all, &bounds, from)?;
    Ok(Value::Array(all))
}

/// The array that elements are looked for in, and what is added to a place to have a subscript.
fn searched(whole: &Value) -> SqlResult<(&Array, i64)> {
    let whole = array(whole);
    if whole.is_nested() {
        return Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "searching for elements in multidimensional arrays is not supported",
        ));
    }
    let shape = whole.shape.as_deref();
    let lower = shape.and_then(<[_]>::first).map_or(1, |one| one.lower);
    Ok((whole, i64::from(lower)))
}

fn position(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let (whole, lower) = searched(args[0])?;
    if whole.values.is_empty() {
        return Ok(Value::Null);
    }
    let start = match args.get(2) {
        None => i64::MIN,
        Some(Value::Null) => {
            return fail(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "initial position must not be null",
            );
        }
        Some(start) => int(start),
    };
    let mut values = (lower..).zip(&whole.values);
    let found = values.find(|(at, value)| *at >= start && value.order(args[1]).is_eq());
    Ok(found.map_or(Value::Null, |(at, _)| Value::Int4(at as i32)))
}

fn join(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    if args[0].is_null() || args[1].is_null() {
        return Ok(Value::Null);
    }
    let (array, separator) = (array(args[0]), str(args[1]));
    let null = args.get(2).copied().and_then(Value::as_str);
    let mut text = Str::default();
    let mut first = true;
    for value in &array.values {
        let printed = match value {
            Value::Null => match null {
                Some(null) => null.to_string(),
                None => continue,
            },
            value => text_format::to_string(value, array.element, host.format()),
        };
        if !first {
            text.push_str(separator);
        }
        first = false;
        text.push_str(&printed);
    }
    Ok(Value::Text(text))
}

/// The element type where the array itself may be NULL.
fn element_type(whole: &Value, element: &Value) -> SqlType {
    match (whole, element) {
        (Value::Array(array), _) => array.element,
        (_, Value::Null) => SqlType::Text,
        (_, value) => value.natural_type(),
    }
}

fn values(whole: &Value) -> &[Value] {
    match whole {
        Value::Null => &[],
        whole => &array(whole).values,
    }
}

fn remove(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let given = array(args[0]);
    if given.is_nested() {
        return Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "removing elements from multidimensional arrays is not supported",
        ));
    }
    let keeps = |value: &&Value| value.order(args[1]).is_ne();
    let kept: Vec<Value> = given.values.iter().filter(keeps).cloned().collect();
    let Some(shape) = given.shape.as_deref() else {
        return Ok(make(given.element, kept));
    };
    let one = Dimension {
        length: kept.len() as i32,
        ..shape[0]
    };
    Ok(Value::Array(Box::new(Array::shaped(
        given.element,
        kept,
        &[one],
    ))))
}

/// True if every element of `part` occurs in `whole`; NULL equals nothing.
fn includes(whole: &Value, part: &Value) -> bool {
    let has = |wanted: &Value| {
        let mut own = values(whole).iter();
        !wanted.is_null() && own.any(|value| value.order(wanted).is_eq())
    };
    values(part).iter().all(has)
}

fn contains(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(includes(args[0], args[1])))
}

fn is_contained(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(includes(args[1], args[0])))
}

fn overlaps(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let shared = |value: &Value| {
        let mut others = values(args[1]).iter();
        !value.is_null() && others.any(|other| other.order(value).is_eq())
    };
    Ok(Value::Bool(values(args[0]).iter().any(shared)))
}

pub(super) fn split(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let text = str(args[0]);
    let null = args.get(2).copied().and_then(Value::as_str);
    let part = |part: &str| match null == Some(part) {
        true => Value::Null,
        false => Value::text(part),
    };
    let parts = match args[1] {
        _ if text.is_empty() => vec![],
        // Without a separator every character is an element.
        Value::Null => text
            .chars()
            .map(|c| part(c.encode_utf8(&mut [0; 4])))
            .collect(),
        Value::Text(separator) if separator.is_empty() => vec![part(text)],
        separator => text.split(str(separator)).map(part).collect(),
    };
    Ok(make(SqlType::Text, parts))
}

fn replace(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let given = array(args[0]);
    let swapped = given.values.iter().map(|value| match value.order(args[1]) {
        std::cmp::Ordering::Equal => args[2].clone(),
        _ => value.clone(),
    });
    let swapped = given.with(given.element, swapped.collect());
    Ok(Value::Array(Box::new(swapped)))
}

fn positions(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let (whole, lower) = searched(args[0])?;
    let found = (lower..)
        .zip(&whole.values)
        .filter(|(_, value)| value.order(args[1]).is_eq())
        .map(|(at, _)| Value::Int4(at as i32));
    Ok(make(SqlType::Int4, found.collect()))
}

/// Without its last elements.
fn trimmed(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (given, fewer) = (array(args[0]), int(args[1]));
    let first = given.dimensions().first().copied().unwrap_or_default();
    let length = i64::from(first.length);
    if !(0..=length).contains(&fewer) {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return fail(SqlState::ARRAY_SUBSCRIPT_ERROR, message);
    }
    let last = i64::from(first.lower) + length - fewer - 1;
    let rest = parts::slice(given, &[(None, Some(last))][..usize::from(length > 0)]);
    Ok(Value::Array(Box::new(rest)))
}

fn bounds(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut text = String::new();
    for one in array(args[0]).dimensions().iter() {
        text.push_str(&format!("[{}:{}]", one.lower, one.upper()));
    }
    Ok(match text.is_empty() {
        true => Value::Null,
        false => Value::text(text),
    })
}

/// The number of bounds that a value is not below.
fn bucket(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    if array(args[1]).is_nested() {
        return fail(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            "thresholds must be one-dimensional array",
        );
    }
    if values(args[1]).iter().any(Value::is_null) {
        return fail(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "thresholds array must not contain NULLs",
        );
    }
    let below = values(args[1]).partition_point(|bound| bound.order(args[0]).is_le());
    Ok(count(below))
}

/// What one call may make out of nothing; PostgreSQL allows 134,217,727.
const FILL_MAX: usize = 1_000_000;
/// What arrays may become when they are put together: a statement's memory does not count values that nobody keeps.
const ELEMENTS_MAX: usize = 4_000_000;
const INTS: Kind = Fixed(SqlType::Int4Array);
const FLOAT: Kind = Fixed(SqlType::Float8);
const INT8: Kind = Fixed(SqlType::Int8);
const FLOATS: Kind = Fixed(SqlType::Float8Array);
const TEXTS: Kind = Fixed(SqlType::TextArray);

static FUNCTIONS: &[Polymorphic] = &[
    poly("array_length", &[Whole, INT], INT, length),
    poly("array_upper", &[Whole, INT], INT, upper),
    poly("array_lower", &[Whole, INT], INT, lower),
    poly("array_ndims", &[Whole], INT, dimensions),
    poly("cardinality", &[Whole], INT, cardinality),
    // A subscript; SQL has no name for it.
    poly("[]", &[Whole, INT], Element, subscript).in_place(),
    // An element by its place among all of them, whatever the dimensions are.
    poly("[nth]", &[Whole, INT], Element, nth),
    poly("[]", &[Whole, INT, INT], Element, deep_subscript),
    poly("[]", &[Whole, INT, INT, INT], Element, deep_subscript),
    poly("[]", &[Whole, INT, INT, INT, INT], Element, deep_subscript),
    poly(
        "[]",
        &[Whole, INT, INT, INT, INT, INT],
        Element,
        deep_subscript,
    ),
    poly(
        "[]",
        &[Whole, INT, INT, INT, INT, INT, INT],
        Element,
        deep_subscript,
    ),
    // Nor for the labels of an enum from one to another, of all of them.
    poly("[enum]", &[Whole, Element, Element], Whole, labels_between).lenient(),
    // Slices have no names either.
    poly("[:]", &[Whole, INT, INT], Whole, slice),
    poly("[:]", &[Whole, INT, INT, INT, INT], Whole, slice),
    poly("[:]", &[Whole, INT, INT, INT, INT, INT, INT], Whole, slice),
    poly(
        "[:]",
        &[Whole, INT, INT, INT, INT, INT, INT, INT, INT],
        Whole,
        slice,
    ),
    poly(
        "[:]",
        &[Whole, INT, INT, INT, INT, INT, INT, INT, INT, INT, INT],
        Whole,
        slice,
    ),
    poly(
        "[:]",
        &[
            Whole, INT, INT, INT, INT, INT, INT, INT, INT, INT, INT, INT, INT,
        ],
        Whole,
        slice,
    ),
    poly("[slices]", &[Whole, INT], Whole, slices),
    poly("[:]:=", &[Whole, INT, INT, INT, Whole], Whole, with_slice).lenient(),
    poly(
        "[:]:=",
        &[Whole, INT, INT, INT, INT, INT, Whole],
        Whole,
        with_slice,
    )
    .lenient(),
    poly(
        "[:]:=",
        &[Whole, INT, INT, INT, INT, INT, INT, INT, Whole],
        Whole,
        with_slice,
    )
    .lenient(),
    poly(
        "[:]:=",
        &[Whole, INT, INT, INT, INT, INT, INT, INT, INT, INT, Whole],
        Whole,
        with_slice,
    )
    .lenient(),
    poly(
        "[:]:=",
        &[
            Whole, INT, INT, INT, INT, INT, INT, INT, INT, INT, INT, INT, Whole,
        ],
        Whole,
        with_slice,
    )
    .lenient(),
    poly(
        "[:]:=",
        &[
            Whole, INT, INT, INT, INT, INT, INT, INT, INT, INT, INT, INT, INT, INT, Whole,
        ],
        Whole,
        with_slice,
    )
    .lenient(),
    poly("[]:=", &[Whole, INT, Element, Whole], Whole, with_element).lenient(),
    poly(
        "[]:=",
        &[Whole, INT, INT, Element, Whole],
        Whole,
        with_element,
    )
    .lenient(),
    poly(
        "[]:=",
        &[Whole, INT, INT, INT, Element, Whole],
        Whole,
        with_element,
    )
    .lenient(),
    poly(
        "[]:=",
        &[Whole, INT, INT, INT, INT, Element, Whole],
        Whole,
        with_element,
    )
    .lenient(),
    poly(
        "[]:=",
        &[Whole, INT, INT, INT, INT, INT, Element, Whole],
        Whole,
        with_element,
    )
    .lenient(),
    poly(
        "[]:=",
        &[Whole, INT, INT, INT, INT, INT, INT, Element, Whole],
        Whole,
        with_element,
    )
    .lenient(),
    poly(
        "[,]:=",
        &[Whole, INT, INT, Element, Whole],
        Whole,
        with_deep_element,
    )
    .lenient(),
    poly(
        "[,]:=",
        &[Whole, INT, INT, INT, Element, Whole],
        Whole,
        with_deep_element,
    )
    .lenient(),
    poly(
        "[,]:=",
        &[Whole, INT, INT, INT, INT, Element, Whole],
        Whole,
        with_deep_element,
    )
    .lenient(),
    poly(
        "[,]:=",
        &[Whole, INT, INT, INT, INT, INT, Element, Whole],
        Whole,
        with_deep_element,
    )
    .lenient(),
    poly(
        "[,]:=",
        &[Whole, INT, INT, INT, INT, INT, INT, Element, Whole],
        Whole,
        with_deep_element,
    )
    .lenient(),
    poly("array_position", &[Whole, Element], INT, position).lenient(),
    poly("array_position", &[Whole, Element, INT], INT, position).lenient(),
    poly("array_to_string", &[Whole, TEXT], TEXT, join).stable(),
    poly("array_to_string", &[Whole, TEXT, TEXT], TEXT, join)
        .lenient()
        .stable(),
    poly("array_append", &[Whole, Element], Whole, append).lenient(),
    poly("array_prepend", &[Element, Whole], Whole, prepend).lenient(),
    poly("array_cat", &[Whole, Whole], Whole, concatenate).lenient(),
    poly("array_remove", &[Whole, Element], Whole, remove).lenient(),
    poly("array_replace", &[Whole, Element, Element], Whole, replace).lenient(),
    poly("array_positions", &[Whole, Element], INTS, positions).lenient(),
    poly("array_fill", &[Element, INTS], Whole, fill).lenient(),
    poly("array_fill", &[Element, INTS, INTS], Whole, fill).lenient(),
    poly("trim_array", &[Whole, INT], Whole, trimmed),
    poly("array_dims", &[Whole], TEXT, bounds),
    poly("width_bucket", &[Element, Whole], INT, bucket),
    poly("string_to_array", &[TEXT, TEXT], TEXTS, split).lenient(),
    poly("string_to_array", &[TEXT, TEXT, TEXT], TEXTS, split).lenient(),
    // Ordered sets, of their sorted array and a fraction.
    poly("[mode]", &[Whole], Element, ordered::mode),
    poly("[disc]", &[Whole, FLOAT], Element, ordered::discrete),
    poly("[disc]", &[Whole, FLOATS], Whole, ordered::discrete),
    poly("[cont]", &[Whole, FLOAT], Element, ordered::continuous),
    poly("[cont]", &[Whole, FLOATS], Whole, ordered::continuous),
    // Rows that are not there, among all values of a key.
    poly(
        "[order]",
        &[Whole, Element, TEXT],
        INTS,
        hypothetical::by_key,
    )
    .lenient(),
    poly("[then]", &[INTS, INTS], INTS, hypothetical::then).lenient(),
    poly("[rank]", &[INTS], INT8, hypothetical::rank).lenient(),
    poly("[dense_rank]", &[INTS], INT8, hypothetical::dense_rank).lenient(),
    poly("[percent_rank]", &[INTS], FLOAT, hypothetical::percent_rank).lenient(),
    poly("[cume_dist]", &[INTS], FLOAT, hypothetical::cume_dist).lenient(),
    poly("||", &[Whole, Whole], Whole, concatenate).lenient(),
    poly("||", &[Whole, Element], Whole, append).lenient(),
    poly("||", &[Element, Whole], Whole, prepend).lenient(),
    poly("@>", &[Whole, Whole], BOOL, contains),
    poly("<@", &[Whole, Whole], BOOL, is_contained),
    poly("&&", &[Whole, Whole], BOOL, overlaps),
];

fn first_of_vector(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(match int(args[1]) {
        1 => Value::Int4(0),
        _ => Value::Null,
    })
}

fn length_of_vector(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(match int(args[1]) {
        1 => count(array(args[0]).values.len()),
        _ => Value::Null,
    })
}

fn last_of_vector(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(match length_of_vector(args, host)? {
        Value::Int4(length) => Value::Int4(length - 1),
        other => other,
    })
}

fn bounds_of_vector(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let length = array(args[0]).values.len() as i64;
    Ok(Value::text(format!("[0:{}]", length - 1)))
}

/// The functions that tell of bounds, for the catalogue's vectors: they count from 0, and have a dimension
/// even without elements.
pub(super) static OF_VECTORS: &[Function] = &[
    new("array_lower", &[INT2S, INT4], INT4, first_of_vector),
    new("array_lower", &[OIDS, INT4], INT4, first_of_vector),
    new("array_upper", &[INT2S, INT4], INT4, last_of_vector),
    new("array_upper", &[OIDS, INT4], INT4, last_of_vector),
    new("array_length", &[INT2S, INT4], INT4, length_of_vector),
    new("array_length", &[OIDS, INT4], INT4, length_of_vector),
    new("array_dims", &[INT2S], SqlType::Text, bounds_of_vector),
    new("array_dims", &[OIDS], SqlType::Text, bounds_of_vector),
];
const INT2S: SqlType = SqlType::Int2Vector;
const OIDS: SqlType = SqlType::OidVector;
const INT4: SqlType = SqlType::Int4;

/// True if some array function has this name.
pub(super) fn has(name: &str) -> bool {
    FUNCTIONS.iter().any(|f| f.function.name == name)
}

/// An array function; `None` if the name is none of them, or an operator without an array.
pub(super) fn resolve(name: &str, args: &[SqlType]) -> Option<SqlResult<Resolved>> {
    let no_array = args.iter().all(|ty| ty.element().is_none());
    let shared = super::is_operator(name) || name == "width_bucket";
    if shared && no_array || !has(name) {
        return None;
    }
    let of_vector = args.first().is_some_and(|ty| ty.is_vector());
    if of_vector && OF_VECTORS.iter().any(|f| f.name == name) {
        return None;
    }
    let mut fitting = FUNCTIONS
        .iter()
        .filter(|f| f.function.name == name && f.args.len() == args.len());
    let found = fitting.find_map(|f| f.resolve(args));
    let element = args.iter().find_map(|ty| ty.element());
    if let Some(element) = element.filter(|ty| found.is_some() && has_no_equality(*ty))
        && COMPARING.contains(&name)
    {
        let message = format!("could not identify an equality operator for type {element}");
        return Some(Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message)));
    }
    let untyped = found.is_none() && args.iter().all(|ty| *ty == SqlType::Unknown);
    Some(found.ok_or_else(|| match untyped {
        true => SqlError::new(
            SqlState::DATATYPE_MISMATCH,
            "could not determine polymorphic type because input has type unknown",
        ),
        false => does_not_exist(name, args),
    }))
}

/// What asks whether elements are equal.
const COMPARING: &[&str] = &[
    "array_position",
    "array_positions",
    "array_remove",
    "array_replace",
    "@>",
    "<@",
    "&&",
];

fn has_no_equality(ty: SqlType) -> bool {
    matches!(ty, SqlType::Json | SqlType::JsonPath) || ty.family() == TypeFamily::Geometry
}

/// Every array function as it resolves for arrays of one element type.
#[cfg(test)]
pub(super) fn samples(element: SqlType) -> Vec<Resolved> {
    let place = |kind: &Kind| match kind {
        Whole => element.array_of().expect("an element type"),
        Element => element,
        Fixed(ty) => *ty,
    };
    FUNCTIONS
        .iter()
        .map(|f| Resolved {
            function: &f.function,
            args: f.args.iter().map(place).collect(),
            result: place(&f.result),
        })
        .collect()
}
