//! Built-in functions and operators, found by name and argument types.
//!
//! Relies on: `cast` for which conversions happen by themselves; the families below for what the
//! functions do.  Promises: the overload chosen is the one PostgreSQL 15 chooses, among the
//! functions that Quintet has; a function is a pure function of its arguments and the [`Host`].
//! Does not: convert arguments (the binder puts the casts), or know GREATEST, COALESCE and the other
//! forms that are nodes of `expr`.
//!
//! | file | family |
//! |---|---|
//! | `choose` | the choice among overloads |
//! | `advisory` | advisory locks and `pg_sleep`, where they cannot be waited for |
//! | `arithmetic` | integers: operators, bits, abs, mod, sign |
//! | `float` | float4, float8 |
//! | `decimal` | numeric |
//! | `text`, `text_edit` | text and bytea: measures and searches; cutting, padding, replacing |
//! | `encoding` | bytes as text, quoting, digests |
//! | `extension` | what PostgreSQL's extensions `pgcrypto` and `uuid-ossp` bring |
//! | `caseless`, `pairs` | what the extensions `citext` and `hstore` bring |
//! | `format` | format() |
//! | `fuzzy` | what the extension `fuzzystrmatch` brings |
//! | `hash` | hashtext |
//! | `large_object` | what the routines of large objects are made of |
//! | `like`, `pattern` | LIKE; regular expressions |
//! | `record` | rows, as values and as text |
//! | `domain` | what a value of a domain must be |
//! | `calendar`, `timespan` | dates and timestamps; intervals and times of day |
//! | `json`, `jsonpath` | json and jsonb; paths into them |
//! | `search` | full text search: tsvector, tsquery |
//! | `geometry` | figures of the plane: point, box, circle and their kin |
//! | `money` | money |
//! | `network` | inet, cidr, macaddr |
//! | `place` | tid |
//! | `state` | xid |
//! | `bits` | bit, bit varying |
//! | `range` | ranges and multiranges: polymorphic, by their kind |
//! | `sets`, `json_rows` | functions that give rows; rows out of JSON |
//! | `array` | arrays: polymorphic, with a resolution of their own |
//! | `ordered` | what ordered-set aggregates take out of a sorted array |
//! | `hypothetical` | where a row would stand that is not there, for hypothetical-set aggregates |
//! | `variadic` | functions called with an array of their arguments |
//! | `trigram` | what the extension `pg_trgm` brings |
//! | `unaccent` | what the extension `unaccent` brings |
//! | `to_char` | `to_char`, `to_date`, `to_timestamp`, `to_number` |
//! | `math` | buckets, angles, digests and other rarities |
//! | `wire` | values as bytes: `int4send` and its kin |
//! | `compare` | `=`, `<` … as functions, and the type in which two types compare |
//! | `system` | session information, random numbers |
//! | `catalog` | what the catalogue says of its objects, sizes, privileges |

mod advisory;
pub(crate) mod arithmetic;
mod array;
pub use array::joined::NESTED;
pub use array::parts::set_element;
pub(crate) use array::{element, element_at};
mod bits;
mod calendar;
mod caseless;
mod catalog;
pub(crate) mod choose;
mod compare;
mod decimal;
mod degrees;
mod domain;
mod encoding;
pub mod extension;
pub(crate) mod float;
mod format;
mod fuzzy;
pub mod geometry;
mod hash;
pub mod hypothetical;
mod identifier;
pub mod information;
pub(crate) mod json;
pub mod json_rows;
pub mod jsonpath;
mod keywords;
pub mod large_object;
mod like;
pub(crate) use like::like;
mod math;
mod money;
mod network;
mod ordered;
pub mod pairs;
mod pattern;
pub use pattern::check_patterns;
pub(crate) use pattern::{Required, required};
pub mod place;
mod quantified;
pub(crate) mod range;
pub mod record;
mod search;
pub mod sets;
pub mod state;
mod system;
#[cfg(test)]
mod tests;
mod text;
pub(crate) mod text_edit;
pub(crate) mod timespan;
mod to_char;
pub mod trigram;
pub mod unaccent;
mod variadic;
mod wire;

use crate::cast::{Category, category};
use crate::eval::Host;
pub use choose::{Choice, choose_among};
use choose::{Signature, choose};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use compare::{compare_type, operator_symbol};
pub use domain::HOLDS as DOMAIN_HOLDS;
pub use encoding::quoted_identifier;
pub use json::make::{MARK as JSON_MARK, ROW as JSON_ROW, write_json};
pub use range::RANGES;
pub use system::{
    CURRENT_OF, HIDES_ROWS, IS_ALLOWED, IS_ONE_OF, IS_REPLICA, PUT_OFF, REFUSE_ROW, SAMPLED,
};
pub use variadic::{Called, other_call};

/// When a function gives the same answer for the same arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Volatility {
    /// Always; may be folded when the plan is made.
    Immutable,
    /// Within one statement.
    Stable,
    /// Never.
    Volatile,
}

/// A built-in function or operator.
pub struct Function {
    /// Name, or the operator's symbol.
    pub name: &'static str,
    /// Parameter types; `Unknown` stands for any type, taken as it comes. Empty for the array
    /// functions, whose types follow from each other.
    pub args: &'static [SqlType],
    /// The last parameter may be repeated.
    pub variadic: bool,
    /// Type of the result.
    pub result: SqlType,
    /// NULL if any argument is NULL, without being called.
    pub strict: bool,
    /// See [`Volatility`].
    pub volatility: Volatility,
    /// It is `array[index]`, whose result lies in the array.
    pub subscript: bool,
    /// What it does, over arguments that lie where they lie.
    pub eval: fn(&[&Value], &dyn Host) -> SqlResult<Value>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({:?})", self.name, self.args)
    }
}

/// What the functions of the families look like.
type Body = fn(&[&Value], &dyn Host) -> SqlResult<Value>;

/// A strict, immutable function: most are.
const fn builtin(
    name: &'static str,
    args: &'static [SqlType],
    result: SqlType,
    eval: Body,
) -> Function {
    Function {
        name,
        args,
        variadic: false,
        result,
        strict: true,
        volatility: Volatility::Immutable,
        subscript: false,
        eval,
    }
}

impl Function {
    const fn stable(mut self) -> Function {
        self.volatility = Volatility::Stable;
        self
    }

    const fn volatile(mut self) -> Function {
        self.volatility = Volatility::Volatile;
        self
    }

    /// Is called with NULLs, too.
    const fn lenient(mut self) -> Function {
        self.strict = false;
        self
    }

    const fn subscript(mut self) -> Function {
        self.subscript = true;
        self
    }

    const fn variadic(mut self) -> Function {
        self.variadic = true;
        self
    }

    fn signature(&self) -> Signature<'static> {
        Signature {
            args: self.args,
            variadic: self.variadic,
        }
    }

    /// Whether it is the same function, though it may stand somewhere else.
    pub fn is(&self, other: &Function) -> bool {
        let Function {
            name,
            args,
            variadic,
            result,
            strict,
            volatility,
            subscript: _,
            eval: _,
        } = other;
        (self.name, self.args, self.variadic) == (*name, *args, *variadic)
            && (self.result, self.strict, self.volatility) == (*result, *strict, *volatility)
    }

    /// True if the name is an operator's symbol.
    pub fn is_operator(&self) -> bool {
        is_operator(self.name)
    }
}

/// What a call by name resolved to.
#[derive(Debug)]
pub struct Resolved {
    /// The function.
    pub function: &'static Function,
    /// Types to convert each argument to.
    pub args: Vec<SqlType>,
    /// Type of the result.
    pub result: SqlType,
}

/// Every family's functions by name. Built once, read by the binder only.
static BY_NAME: LazyLock<BTreeMap<&'static str, Vec<&'static Function>>> = LazyLock::new(|| {
    let families = [
        arithmetic::FUNCTIONS,
        float::FUNCTIONS,
        degrees::FUNCTIONS,
        decimal::FUNCTIONS,
        text::FUNCTIONS,
        variadic::FUNCTIONS,
        text_edit::FUNCTIONS,
        encoding::FUNCTIONS,
        extension::FUNCTIONS,
        identifier::FUNCTIONS,
        information::FUNCTIONS,
        information::NAMES,
        format::FUNCTIONS,
        fuzzy::FUNCTIONS,
        hash::FUNCTIONS,
        like::FUNCTIONS,
        pattern::FUNCTIONS,
        quantified::FUNCTIONS,
        quantified::QUERIES,
        record::FUNCTIONS,
        domain::FUNCTIONS,
        calendar::FUNCTIONS,
        timespan::FUNCTIONS,
        to_char::FUNCTIONS,
        trigram::FUNCTIONS,
        unaccent::FUNCTIONS,
        json::FUNCTIONS,
        jsonpath::FUNCTIONS,
        math::FUNCTIONS,
        geometry::FUNCTIONS,
        money::FUNCTIONS,
        network::FUNCTIONS,
        place::FUNCTIONS,
        state::FUNCTIONS,
        bits::FUNCTIONS,
        range::CONSTRUCTORS,
        json::make::FUNCTIONS,
        system::FUNCTIONS,
        wire::FUNCTIONS,
        large_object::FUNCTIONS,
        advisory::FUNCTIONS,
        array::OF_VECTORS,
        caseless::FUNCTIONS,
        pairs::FUNCTIONS,
        pairs::ORDER,
        catalog::FUNCTIONS,
        catalog::ASKED,
        catalog::NAMED,
        catalog::PRIVILEGES,
        crate::partition::FUNCTIONS,
    ];
    let mut by_name: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let families = families.iter().chain(search::FAMILIES);
    for function in families.copied().flatten() {
        by_name.entry(function.name).or_default().push(function);
    }
    by_name
});

fn is_operator(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// True if some function (not operator) has this name; for messages and for telling a call from a
/// function-style cast.
pub fn is_function_name(name: &str) -> bool {
    !is_operator(name) && (BY_NAME.contains_key(name) || array::has(name) || range::has(name))
}

/// True if some function or operator has this name, whatever its arguments.
pub fn is_known(name: &str) -> bool {
    BY_NAME.contains_key(name) || range::has(name)
}

/// Finds the function or operator (`+`, `||`, `~~` …) that PostgreSQL would choose for these
/// argument types; `Unknown` stands for an untyped literal or parameter.
///
/// # Errors
/// `42883` if there is none, `42725` if several fit equally well.
pub fn resolve(name: &str, args: &[SqlType]) -> SqlResult<Resolved> {
    if let Some(resolved) = array::resolve(name, args) {
        return resolved;
    }
    if let Some(resolved) = compare::resolve(name, args) {
        return resolved;
    }
    if let Some(resolved) = range::resolve(name, args) {
        return resolved;
    }
    let candidates: Vec<&'static Function> = BY_NAME
        .get(name)
        .into_iter()
        .flatten()
        .copied()
        .filter(|function| function.signature().takes(args.len()))
        .collect();
    let signatures: Vec<Signature> = candidates.iter().map(|f| f.signature()).collect();
    match choose(&signatures, args, is_operator(name)) {
        Choice::One(number) => Ok(finish(candidates[number], args)),
        Choice::None if name == "||" => text::resolve_concatenation(args),
        Choice::None => Err(does_not_exist(name, args)),
        Choice::Several => Err(is_not_unique(name, args)),
    }
}

/// The function or operator of this name whose declared parameters are these. `given`: types of arguments,
/// for families that declare none.
pub fn declared(name: &str, declared: &[SqlType], given: &[SqlType]) -> Option<&'static Function> {
    let mut named = BY_NAME.get(name).into_iter().flatten().copied();
    let resolved = || resolve(name, given).ok().map(|resolved| resolved.function);
    named
        .find(|function| function.args == declared)
        .or_else(|| sets::declared(name, declared))
        .or_else(|| resolved().filter(|function| function.args == declared))
}

fn finish(function: &'static Function, args: &[SqlType]) -> Resolved {
    let types =
        args.iter()
            .enumerate()
            .map(|(i, &given)| match (function.signature().param(i), given) {
                (SqlType::Unknown, SqlType::Unknown) => SqlType::Text,
                // A number that prints as a name is the name where only the value is looked at.
                (SqlType::Unknown, given) if given.is_named_oid() || given.is_bytes_within() => {
                    SqlType::Text
                }
                (SqlType::Unknown, given)
                    if given.element().is_some_and(|element| {
                        element.is_named_oid() || element.is_bytes_within()
                    }) =>
                {
                    SqlType::TextArray
                }
                (SqlType::Unknown, given) => given,
                (declared, _) => declared,
            });
    Resolved {
        function,
        args: types.collect(),
        result: function.result,
    }
}

/// `name(types)` or `left op right`, as PostgreSQL's messages write a call.
fn describe(name: &str, args: &[SqlType]) -> String {
    match args {
        [right] if is_operator(name) => format!("{name} {right}"),
        [left, right] if is_operator(name) => format!("{left} {name} {right}"),
        _ => {
            let types: Vec<_> = args.iter().map(SqlType::to_string).collect();
            format!("{name}({})", types.join(", "))
        }
    }
}

/// `42883` for a call by name.
pub fn does_not_exist(name: &str, args: &[SqlType]) -> SqlError {
    let call = describe(name, args);
    let operator = is_operator(name);
    let message = match operator {
        true => format!("operator does not exist: {call}"),
        false => format!("function {call} does not exist"),
    };
    let kind = if operator { "operator" } else { "function" };
    // PostgreSQL counts the argument types of operators only.
    let (types, casts) = match operator && args.len() == 1 {
        true => ("argument type", "an explicit type cast"),
        false => ("argument types", "explicit type casts"),
    };
    SqlError::new(SqlState::UNDEFINED_FUNCTION, message).hint(format!(
        "No {kind} matches the given name and {types}. You might need to add {casts}."
    ))
}

/// `42725` for a call by name.
pub(crate) fn is_not_unique(name: &str, args: &[SqlType]) -> SqlError {
    let call = describe(name, args);
    let (kind, message) = if is_operator(name) {
        ("operator", format!("operator is not unique: {call}"))
    } else {
        ("function", format!("function {call} is not unique"))
    };
    SqlError::new(SqlState::AMBIGUOUS_FUNCTION, message).hint(format!(
        "Could not choose a best candidate {kind}. You might need to add explicit type casts."
    ))
}

/// True for the types that `||` takes as text.
fn is_string(ty: SqlType) -> bool {
    matches!(category(ty), Category::String | Category::Internal)
}

/// What a function says about an argument of a type it does not have: a bug in the binder.
#[cold]
fn wrong_type(value: &Value) -> ! {
    panic!("{value:?} as an argument: the binder let a wrong type through")
}

/// Any integer argument, widened.
fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| wrong_type(value))
}

/// A text argument.
fn str(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| wrong_type(value))
}

/// An error with a state and a message.
fn fail<T>(state: SqlState, message: impl Into<String>) -> SqlResult<T> {
    Err(SqlError::new(state, message))
}
