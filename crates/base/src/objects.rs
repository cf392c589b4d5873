//! What the objects of a catalogue are called: the way from numbers to names and back.
//!
//! Relies on: nothing; a catalogue that is far above implements it.  Promises: values of `regclass`, `regtype`
//! and their kin print and read by the names that the session sees.  Does not: know what a catalogue is.
//!
//! Without a catalogue (tests, tools) numbers print as numbers, and no name is known.

use crate::error::{SqlError, SqlResult, SqlState};
use crate::record::Shape;
use crate::types::SqlType;
use crate::value::{EnumValue, Value};
use std::fmt;
use std::sync::Arc;

/// Answers questions about a catalogue as it is for one session.
pub trait Objects: Send + Sync {
    /// What the object of this kind (`RegClass`, `RegType` …) with this number is called.
    fn name(&self, kind: SqlType, number: u32) -> Option<String>;

    /// The number of the object of this kind that a text names.
    ///
    /// # Errors
    /// `42P01`, `42704`, `42883`, `3F000` if there is none; `42725` if there are several.
    fn number(&self, kind: SqlType, name: &str) -> SqlResult<u32>;

    /// The label at a place of an enum.
    fn label(&self, ty: u32, place: u32) -> Option<String>;

    /// The place of a label of an enum.
    ///
    /// # Errors
    /// `22P02` if it has none.
    fn place(&self, ty: u32, label: &str) -> SqlResult<u32>;

    /// What a composite type, or the rows of a relation, have, by the number of the type.
    fn fields(&self, _: u32) -> Option<Arc<Shape>> {
        None
    }

    /// The text with names where types and labels stand as marks ([`name_marked`]).
    fn named(&self, text: &str) -> Option<String>;

    /// What a function about the catalogue says: `pg_get_indexdef`, `obj_description` and the like.
    ///
    /// # Errors
    /// As the function's.
    fn describe(&self, function: &str, arguments: &[&Value]) -> SqlResult<Value>;
}

/// The catalogue that names come from, if there is one. Any two are equal: which one it is does not change what a
/// setting means.
#[derive(Clone, Default)]
pub struct ObjectNames(Option<Arc<dyn Objects>>);

impl ObjectNames {
    /// Names from this catalogue.
    pub fn of(objects: Arc<dyn Objects>) -> ObjectNames {
        ObjectNames(Some(objects))
    }

    /// The text of a number of this kind: `-` for none, the number itself if nothing has it.
    pub fn name(&self, kind: SqlType, number: u32) -> String {
        const NONE: u32 = 0;
        let known = self.0.as_ref();
        match number {
            NONE if matches!(kind, SqlType::RegOper | SqlType::RegOperator) => "0".to_string(),
            NONE => "-".to_string(),
            number => known
                .and_then(|objects| objects.name(kind, number))
                .unwrap_or_else(|| number.to_string()),
        }
    }

    /// The number of a text of this kind.
    ///
    /// # Errors
    /// As [`Objects::number`].
    pub fn number(&self, kind: SqlType, text: &str) -> SqlResult<u32> {
        if text == "-" {
            return Ok(0);
        }
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().map_err(|_| {
                SqlError::new(
                    SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                    format!("value \"{text}\" is out of range for type oid"),
                )
            });
        }
        match &self.0 {
            Some(objects) => objects.number(kind, text),
            None => Err(SqlError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("{kind} \"{text}\" does not exist"),
            )),
        }
    }

    /// The label at a place of an enum: a mark of it if nobody knows.
    pub fn label(&self, value: EnumValue) -> String {
        let known = self.0.as_ref();
        known
            .and_then(|objects| objects.label(value.ty, value.place))
            .unwrap_or_else(|| mark_label(value))
    }

    /// The place of a label of an enum.
    ///
    /// # Errors
    /// As [`Objects::place`].
    pub fn place(&self, ty: u32, label: &str) -> SqlResult<u32> {
        match &self.0 {
            Some(objects) => objects.place(ty, label),
            None => match read_mark(label.trim_matches(MARK)) {
                Some((known, Some(place))) if known == ty => Ok(place),
                _ => Err(no_label(&mark(ty), label)),
            },
        }
    }

    /// What a composite type, or the rows of a relation, have; `None` if nobody knows.
    pub fn fields(&self, number: u32) -> Option<Arc<Shape>> {
        self.0.as_ref()?.fields(number)
    }

    /// The text with names where types and labels stand as marks, if there is a catalogue.
    pub fn named(&self, text: String) -> String {
        let objects = self.0.as_ref().filter(|_| text.contains(MARK));
        objects
            .and_then(|objects| objects.named(&text))
            .unwrap_or(text)
    }

    /// The error with names where types and labels stand as marks.
    pub fn name_error(&self, mut error: SqlError) -> SqlError {
        let named = |text: Box<str>| Box::from(self.named(text.into()));
        error.message = self.named(std::mem::take(&mut error.message));
        error.detail = error.detail.take().map(named);
        error.hint = error.hint.take().map(named);
        error
    }

    /// True if there is a catalogue.
    pub fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// What a function about the catalogue says; NULL without one.
    ///
    /// # Errors
    /// As [`Objects::describe`].
    pub fn describe(&self, function: &str, arguments: &[&Value]) -> SqlResult<Value> {
        match &self.0 {
            Some(objects) => objects.describe(function, arguments),
            None => Ok(Value::Null),
        }
    }
}

/// `22P02` for a text that is no label of an enum.
pub fn no_label(name: &str, label: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input value for enum {name}: \"{label}\""),
    )
}

/// Stands on both sides of the number of a type whose name only the catalogue knows.
const MARK: char = '\u{1}';

/// What stands for the name of a user's type until [`name_marked`] has put it there: types are numbers where
/// there is no catalogue, and messages are made there, too.
pub fn mark(number: u32) -> String {
    format!("{MARK}{number}{MARK}")
}

/// The same for a label of an enum.
fn mark_label(value: EnumValue) -> String {
    format!("{MARK}{}.{}{MARK}", value.ty, value.place)
}

/// Whether [`name_marked`] may find something in a text.
pub fn is_marked(text: &str) -> bool {
    text.contains(MARK)
}

/// The number of a type, and the place of a label of it.
fn read_mark(inside: &str) -> Option<(u32, Option<u32>)> {
    match inside.split_once('.') {
        Some((ty, place)) => Some((ty.parse().ok()?, Some(place.parse().ok()?))),
        None => Some((inside.parse().ok()?, None)),
    }
}

/// The text with the names of types, and labels at their places, where there are marks; `None` if there are none.
pub fn name_marked(
    text: &str,
    name: impl Fn(u32, Option<u32>) -> Option<String>,
) -> Option<String> {
    if !text.contains(MARK) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(MARK) {
        out.push_str(before);
        let marked = behind.split_once(MARK).and_then(|(number, behind)| {
            let (ty, place) = read_mark(number)?;
            Some((name(ty, place)?, behind))
        });
        rest = match marked {
            Some((named, behind)) => {
                out.push_str(&named);
                behind
            }
            // A character of somebody's text.
            None => {
                out.push(MARK);
                behind
            }
        };
    }
    out.push_str(rest);
    Some(out)
}

impl PartialEq for ObjectNames {
    fn eq(&self, _: &ObjectNames) -> bool {
        true
    }
}

impl Eq for ObjectNames {}

impl fmt::Debug for ObjectNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "a catalogue"
        } else {
            "no catalogue"
        })
    }
}
