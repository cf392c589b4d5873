//! `jsonb_path_query` and its kin, `@?` and `@@`.
//!
//! Relies on: `base::jsonpath` for reading paths.  Promises: PostgreSQL's answers and errors.  Does not: use
//! an index; that is the planner's.
//!
//! | file | what it holds |
//! |---|---|
//! | here | the functions |
//! | `run` | what a path gives |
//! | `predicate` | its conditions |
//! | `found` | what items give: parts of documents, and what is no part of any |
//! | `moment` | dates and times in documents |
//! | `layout` | where PostgreSQL keeps an object, which `keyvalue()` tells |
//!
//! A path is kept as its text; a thread remembers the paths it read last.

mod found;
mod layout;
mod moment;
mod predicate;
mod run;

use super::json::json;
use super::{Function, builtin as new, fail, str};
use crate::eval::Host;
use found::Found;
use quintet_base::SqlType::{self, Bool, JsonPath as Path, Jsonb};
use quintet_base::jsonpath::JsonPath;
use quintet_base::value::Array;
use quintet_base::{Json, SqlError, SqlResult, SqlState, Value};
use run::{Outcome, Run};
use std::cell::RefCell;
use std::rc::Rc;

/// Paths a thread keeps. A statement has few of them and asks for them once per row.
const CACHED_PATHS_MAX: usize = 8;

/// Paths by their text, in the order of last use.
type Cache = Vec<(String, Rc<JsonPath>)>;

thread_local! {
    static CACHE: RefCell<Cache> = const { RefCell::new(Vec::new()) };
}

fn path_of(text: &str) -> SqlResult<Rc<JsonPath>> {
    CACHE.with_borrow_mut(|cache| {
        match cache.iter().position(|(known, _)| known == text) {
            Some(at) => cache[..=at].rotate_right(1),
            None => {
                let path = Rc::new(JsonPath::parse(text)?);
                cache.truncate(CACHED_PATHS_MAX - 1);
                cache.insert(0, (text.to_string(), path));
            }
        }
        Ok(cache[0].1.clone())
    })
}

/// What a call is given.
struct Call<'v> {
    document: &'v Json,
    path: Rc<JsonPath>,
    vars: Option<&'v Json>,
    silent: bool,
    with_zone: bool,
}

/// The variables of a call that says none: there are some, but none has a name.
static NO_VARS: Json = Json::Object(Vec::new());

impl<'v> Call<'v> {
    fn of(args: &[&'v Value], with_zone: bool) -> SqlResult<Call<'v>> {
        Ok(Call {
            document: json(args[0]),
            path: path_of(str(args[1]))?,
            vars: Some(args.get(2).map_or(&NO_VARS, |vars| json(vars))),
            silent: args.get(3).and_then(|silent| silent.as_bool()) == Some(true),
            with_zone,
        })
    }

    /// An operator's: it knows no variables, and is silent.
    fn of_operator(args: &[&'v Value]) -> SqlResult<Call<'v>> {
        Ok(Call {
            vars: None,
            silent: true,
            ..Call::of(args, false)?
        })
    }

    fn run(&self, host: &dyn Host, found: Option<&mut Vec<Found<'v>>>) -> SqlResult<Outcome> {
        if let Some(vars) = self.vars
            && !matches!(vars, Json::Object(_))
        {
            let error = SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "\"vars\" argument is not an object",
            );
            return Err(error.detail(
                "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.",
            ));
        }
        let mut run = Run::new(self.document, self.vars, self.path.lax, host);
        run.throws = !self.silent;
        run.with_zone = self.with_zone;
        run.path(&self.path.body, found)
    }

    fn all(&self, host: &dyn Host) -> SqlResult<Vec<Found<'v>>> {
        let mut found = Vec::new();
        self.run(host, Some(&mut found))?;
        Ok(found)
    }

    fn exists(&self, host: &dyn Host) -> SqlResult<Value> {
        Ok(match self.run(host, None)? {
            Outcome::Error => Value::Null,
            outcome => Value::Bool(outcome == Outcome::Found),
        })
    }

    fn matches(&self, host: &dyn Host) -> SqlResult<Value> {
        if let [one] = self.all(host)?.as_slice() {
            match one.scalar() {
                Some(Json::Bool(truth)) => return Ok(Value::Bool(truth)),
                Some(Json::Null) => return Ok(Value::Null),
                _ => {}
            }
        }
        match self.silent {
            true => Ok(Value::Null),
            false => fail(
                SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED,
                "single boolean result is expected",
            ),
        }
    }

    fn rows(&self, host: &dyn Host) -> SqlResult<Value> {
        let found = self.all(host)?.into_iter();
        let values = found.map(|found| Ok(Value::json(found.into_json()?)));
        Ok(Value::Array(Box::new(Array {
            shape: None,
            element: Jsonb,
            values: values.collect::<SqlResult<_>>()?,
        })))
    }

    fn array(&self, host: &dyn Host) -> SqlResult<Value> {
        let found = self.all(host)?.into_iter();
        let elements = found.map(Found::into_json).collect::<SqlResult<_>>()?;
        Ok(Value::json(Json::Array(elements)))
    }

    fn first(&self, host: &dyn Host) -> SqlResult<Value> {
        match self.all(host)?.into_iter().next() {
            Some(found) => Ok(Value::json(found.into_json()?)),
            None => Ok(Value::Null),
        }
    }
}

fn exists_operator(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Call::of_operator(args)?.exists(host)
}

fn match_operator(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Call::of_operator(args)?.matches(host)
}

fn exists(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Call::of(args, false)?.exists(host)
}

fn exists_tz(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Call::of(args, true)?.exists(host)
}

fn matches(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Call::of(args, false)?.matches(host)
}

fn matches_tz(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Call::of(args, true)?.matches(host)
}

fn array(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Call::of(args, false)?.array(host)
}

fn array_tz(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Call::of(args, true)?.array(host)
}

fn first(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Call::of(args, false)?.first(host)
}

fn first_tz(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Call::of(args, true)?.first(host)
}

/// An array of the items: a row of each is made elsewhere.
pub(super) fn rows(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Call::of(args, false)?.rows(host)
}

/// The same with the session's time zone.
pub(super) fn rows_tz(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Call::of(args, true)?.rows(host)
}

/// Parameters of the functions: variables and silence may be left out.
pub(super) const TWO: &[SqlType] = &[Jsonb, Path];
pub(super) const THREE: &[SqlType] = &[Jsonb, Path, Jsonb];
pub(super) const FOUR: &[SqlType] = &[Jsonb, Path, Jsonb, Bool];

/// Names of the parameters, in their order.
pub const PARAMETERS: [&str; 4] = ["target", "path", "vars", "silent"];

/// What stands for a parameter that is left out.
pub fn default_of(place: usize) -> Value {
    match place {
        2 => Value::json(Json::Object(Vec::new())),
        _ => Value::Bool(false),
    }
}

/// True for the functions whose parameters are [`PARAMETERS`].
pub fn has_parameters(name: &str) -> bool {
    let is_set = matches!(name, "jsonb_path_query" | "jsonb_path_query_tz");
    let mut functions = FUNCTIONS.iter();
    is_set || functions.any(|function| function.name == name && function.args == FOUR)
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("@?", TWO, Bool, exists_operator),
    new("@@", TWO, Bool, match_operator),
    new("jsonb_path_exists_opr", TWO, Bool, exists_operator),
    new("jsonb_path_match_opr", TWO, Bool, match_operator),
    new("jsonb_path_exists", TWO, Bool, exists),
    new("jsonb_path_exists", THREE, Bool, exists),
    new("jsonb_path_exists", FOUR, Bool, exists),
    new("jsonb_path_exists_tz", TWO, Bool, exists_tz).stable(),
    new("jsonb_path_exists_tz", THREE, Bool, exists_tz).stable(),
    new("jsonb_path_exists_tz", FOUR, Bool, exists_tz).stable(),
    new("jsonb_path_match", TWO, Bool, matches),
    new("jsonb_path_match", THREE, Bool, matches),
    new("jsonb_path_match", FOUR, Bool, matches),
    new("jsonb_path_match_tz", TWO, Bool, matches_tz).stable(),
    new("jsonb_path_match_tz", THREE, Bool, matches_tz).stable(),
    new("jsonb_path_match_tz", FOUR, Bool, matches_tz).stable(),
    new("jsonb_path_query_array", TWO, Jsonb, array),
    new("jsonb_path_query_array", THREE, Jsonb, array),
    new("jsonb_path_query_array", FOUR, Jsonb, array),
    new("jsonb_path_query_array_tz", TWO, Jsonb, array_tz).stable(),
    new("jsonb_path_query_array_tz", THREE, Jsonb, array_tz).stable(),
    new("jsonb_path_query_array_tz", FOUR, Jsonb, array_tz).stable(),
    new("jsonb_path_query_first", TWO, Jsonb, first),
    new("jsonb_path_query_first", THREE, Jsonb, first),
    new("jsonb_path_query_first", FOUR, Jsonb, first),
    new("jsonb_path_query_first_tz", TWO, Jsonb, first_tz).stable(),
    new("jsonb_path_query_first_tz", THREE, Jsonb, first_tz).stable(),
    new("jsonb_path_query_first_tz", FOUR, Jsonb, first_tz).stable(),
];
