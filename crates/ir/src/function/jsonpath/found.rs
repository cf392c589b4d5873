//! What items of a path give.
//!
//! Promises: parts of documents are not copied while a path is followed.

use super::moment::Moment;
use crate::function::fail;
use quintet_base::{Json, Numeric, SqlResult, SqlState, Str};
use std::rc::Rc;

/// A value on the way.
#[derive(Clone, Debug)]
pub(super) enum Found<'a> {
    /// A part of a document.
    Part(&'a Json),
    /// A scalar that stands in none.
    Made(Json),
    /// A date or a time: a string that says more.
    Moment(Moment),
    /// What `keyvalue()` makes.
    Pair(Rc<Pair<'a>>),
}

/// `{"id": …, "key": …, "value": …}`
#[derive(Debug)]
pub(super) struct Pair<'a> {
    /// Tells objects apart.
    pub id: i64,
    pub key: Str,
    pub value: Found<'a>,
}

/// Documents that a path makes nest as deep as those that were read.
fn too_deep<T>() -> SqlResult<T> {
    fail(SqlState(*b"54001"), "stack depth limit exceeded")
}

impl<'a> Found<'a> {
    pub(super) fn number(number: Numeric) -> Found<'a> {
        Found::Made(Json::Number(number))
    }

    pub(super) fn bool(truth: bool) -> Found<'a> {
        Found::Made(Json::Bool(truth))
    }

    /// The scalar; a moment is none.
    pub(super) fn scalar(&self) -> Option<Json> {
        self.as_scalar().cloned()
    }

    pub(super) fn as_scalar(&self) -> Option<&Json> {
        match self {
            Found::Part(json) if json.is_scalar() => Some(json),
            Found::Made(json) => Some(json),
            _ => None,
        }
    }

    pub(super) fn as_number(&self) -> Option<&Numeric> {
        match self.as_scalar() {
            Some(Json::Number(number)) => Some(number),
            _ => None,
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match self.as_scalar() {
            Some(Json::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self, Found::Part(Json::Array(_)))
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self, Found::Part(Json::Object(_)) | Found::Pair(_))
    }

    /// What `type()` says.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Found::Part(json) => json.kind(),
            Found::Made(json) => json.kind(),
            Found::Moment(moment) => moment.kind(),
            Found::Pair(_) => "object",
        }
    }

    /// How many parts an array or an object has; `None` for what is neither.
    pub(super) fn parts(&self) -> Option<usize> {
        match self {
            Found::Part(Json::Array(elements)) => Some(elements.len()),
            Found::Part(Json::Object(pairs)) => Some(pairs.len()),
            Found::Pair(_) => Some(3),
            _ => None,
        }
    }

    /// The part at a place; of an object its value.
    pub(super) fn part(&self, place: usize) -> Option<Found<'a>> {
        match self {
            Found::Part(Json::Array(elements)) => elements.get(place).map(Found::Part),
            Found::Part(Json::Object(pairs)) => pairs.get(place).map(|pair| Found::Part(&pair.1)),
            Found::Pair(pair) => pair.part(place),
            _ => None,
        }
    }

    /// The value of a key of an object.
    pub(super) fn get(&self, key: &str) -> Option<Found<'a>> {
        match self {
            Found::Part(json) => json.get(key).map(Found::Part),
            Found::Pair(pair) => {
                let place = Pair::KEYS.iter().position(|own| *own == key)?;
                pair.part(place)
            }
            _ => None,
        }
    }

    /// Keys and values of an object.
    pub(super) fn pairs(&self) -> Vec<(Str, Found<'a>)> {
        match self {
            Found::Part(Json::Object(pairs)) => {
                let pairs = pairs.iter();
                pairs
                    .map(|(key, value)| (key.clone(), Found::Part(value)))
                    .collect()
            }
            Found::Pair(pair) => {
                let keys = Pair::KEYS.iter().enumerate();
                keys.filter_map(|(at, key)| Some((Str::from(*key), pair.part(at)?)))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// As a document.
    pub(super) fn into_json(self) -> SqlResult<Json> {
        self.document(0)
    }

    fn document(self, depth: usize) -> SqlResult<Json> {
        if depth > quintet_base::json::DEPTH_MAX {
            return too_deep();
        }
        Ok(match self {
            Found::Part(json) => json.clone(),
            Found::Made(json) => json,
            Found::Moment(moment) => Json::Text(Str::from(moment.to_string())),
            Found::Pair(pair) => {
                let pairs = Found::Pair(pair).pairs().into_iter();
                let pairs = pairs.map(|(key, value)| Ok((key, value.document(depth + 1)?)));
                Json::object(pairs.collect::<SqlResult<_>>()?)
            }
        })
    }
}

impl<'a> Pair<'a> {
    /// In the order of an object's keys.
    pub(super) const KEYS: [&'static str; 3] = ["id", "key", "value"];

    fn part(&self, place: usize) -> Option<Found<'a>> {
        match place {
            0 => Some(Found::number(Numeric::from_i64(self.id))),
            1 => Some(Found::Made(Json::Text(self.key.clone()))),
            2 => Some(self.value.clone()),
            _ => None,
        }
    }
}
