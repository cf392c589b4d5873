//! The parser's answer.
//!
//! Relies on: `serde_json`.  Promises: what is not there is none, zero or empty, as the parser
//! leaves out what is zero.  Does not: know what the kinds of nodes mean.

use serde_json::{Map, Value};

/// A node: an object with one member, whose name is its kind.
#[derive(Clone, Copy)]
pub(crate) struct Json<'a> {
    /// The kind without what all kinds begin with: `stmt_if`, `var`.
    pub kind: &'a str,
    fields: Option<&'a Map<String, Value>>,
}

impl<'a> Json<'a> {
    /// A node of a value; one of no kind if it is none.
    pub(crate) fn of(value: &'a Value) -> Json<'a> {
        match value.as_object().and_then(|object| object.iter().next()) {
            Some((kind, fields)) => Json {
                kind: kind.strip_prefix("PLpgSQL_").unwrap_or(kind),
                fields: fields.as_object(),
            },
            None => Json {
                kind: "",
                fields: None,
            },
        }
    }

    fn field(&self, name: &str) -> Option<&'a Value> {
        self.fields?.get(name)
    }

    /// A node in it.
    pub(crate) fn node(&self, name: &str) -> Option<Json<'a>> {
        self.field(name).map(Json::of)
    }

    /// Nodes in it.
    pub(crate) fn nodes(&self, name: &str) -> Vec<Json<'a>> {
        self.values(name).iter().map(Json::of).collect()
    }

    /// The members of a list that are no nodes.
    pub(crate) fn values(&self, name: &str) -> &'a [Value] {
        self.field(name)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// A text.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.field(name)?.as_str()
    }

    /// A number; zero if it is not there.
    pub(crate) fn number(&self, name: &str) -> usize {
        self.field(name)
            .and_then(Value::as_u64)
            .and_then(|number| usize::try_from(number).ok())
            .unwrap_or(0)
    }

    /// A number that may be below zero; zero if it is not there.
    pub(crate) fn signed(&self, name: &str) -> i64 {
        self.field(name).and_then(Value::as_i64).unwrap_or(0)
    }

    /// A truth.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.field(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The text of an expression in it.
    pub(crate) fn expression(&self, name: &str) -> Option<&'a str> {
        self.node(name)?.query()
    }

    /// The text of an expression that it is.
    pub(crate) fn query(&self) -> Option<&'a str> {
        self.text("query")
    }
}
