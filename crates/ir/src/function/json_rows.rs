//! Rows out of JSON: `jsonb_to_recordset` and its kin.
//!
//! Relies on: `sets` for records; `base::text_format`, which reads a part's text as its column's type.  Promises: PostgreSQL's
//! conversions: `null` and what is missing are NULL, an array becomes an array, anything else is read from its text.
//! Does not: know the modifiers of types; the planner converts what comes out.
//!
//! Arguments: the document, names of columns, and their types' numbers. The names of the functions are none that SQL can write.

use super::sets::records;
use super::{Function, builtin as new, fail, int, str, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{
    self, Int8Array, Json as Plain, Jsonb, RecordArray, Text, TextArray, Unknown,
};
use quintet_base::json::{Kind, Node, parse};
use quintet_base::text_format::{self, FormatContext};
use quintet_base::value::{Array, Dimension, Dimensions};
use quintet_base::{Json, Record, Shape, SqlError, SqlResult, SqlState, Value};
use std::sync::Arc;

/// The functions, by the names that SQL has for them.
pub static JSON_ROWS: [(&str, Function); 4] = [
    ("jsonb_to_record", tool("jsonb_to_record()", Jsonb, row)),
    (
        "jsonb_to_recordset",
        tool("jsonb_to_recordset()", Jsonb, rows),
    ),
    ("json_to_record", tool("json_to_record()", Plain, plain_row)),
    (
        "json_to_recordset",
        tool("json_to_recordset()", Plain, plain_rows),
    ),
];

/// A record out of an object: a prototype, a record for what is missing, the document, and what SQL calls the function.
pub static POPULATE: Function = populating("populate()", Unknown, populate);
/// An array of records out of an array of objects.
pub static POPULATE_ALL: Function = populating("populate_all()", RecordArray, populate_all);

const fn populating(name: &'static str, result: SqlType, body: Body) -> Function {
    new(name, &[Unknown, Unknown, Unknown, Text], result, body)
        .lenient()
        .stable()
}

/// Calls `body` with a document of either type.
fn with_document(
    document: &Value,
    body: &mut dyn FnMut(Part<'_>) -> SqlResult<Value>,
) -> SqlResult<Value> {
    match document {
        Value::Jsonb(json) => body(Part::Jsonb(json)),
        other => body(Part::Json(&parse(str(other))?)),
    }
}

fn populate(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let (Value::Record(prototype), base) = (args[0], args[1]) else {
        return Err(SqlError::internal("a record without a shape"));
    };
    if args[2].is_null() {
        return Ok(base.clone());
    }
    let columns = Columns::none(host);
    with_document(args[2], &mut |part| {
        if !part.is_object() {
            let what = if part.elements().is_some() {
                "an array"
            } else {
                "a scalar"
            };
            let message = format!("cannot call {} on {what}", str(args[3]));
            return fail(SqlState::INVALID_PARAMETER_VALUE, message);
        }
        let base = match base {
            Value::Record(base) => Some(&**base),
            _ => None,
        };
        columns.record(part, &prototype.shape, base)
    })
}

fn populate_all(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let (Value::Record(prototype), base) = (args[0], args[1]) else {
        return Err(SqlError::internal("a record without a shape"));
    };
    let element = prototype.shape.ty;
    if args[2].is_null() {
        return Ok(Value::Array(Box::new(Array {
            shape: None,
            element,
            values: Vec::new(),
        })));
    }
    let columns = Columns::none(host);
    with_document(args[2], &mut |part| {
        let name = str(args[3]);
        let Some(elements) = part.elements() else {
            let what = if part.is_object() {
                "an object"
            } else {
                "a scalar"
            };
            let message = format!("cannot call {name} on {what}");
            return fail(SqlState::INVALID_PARAMETER_VALUE, message);
        };
        let base = match base {
            Value::Record(base) => Some(&**base),
            _ => None,
        };
        let values = elements.into_iter().map(|part| match part.is_object() {
            true => columns.record(part, &prototype.shape, base),
            false => {
                let message = format!("argument of {name} must be an array of objects");
                fail(SqlState::INVALID_PARAMETER_VALUE, message)
            }
        });
        let values = values.collect::<SqlResult<_>>()?;
        Ok(Value::Array(Box::new(Array {
            shape: None,
            element,
            values,
        })))
    })
}

type Body = fn(&[&Value], &dyn Host) -> SqlResult<Value>;

const fn tool(name: &'static str, document: SqlType, body: Body) -> Function {
    let params: &'static [SqlType] = match document {
        Plain => &[Plain, TextArray, Int8Array],
        _ => &[Jsonb, TextArray, Int8Array],
    };
    new(name, params, RecordArray, body).lenient().stable()
}

/// A part of a document of either type.
#[derive(Clone, Copy)]
enum Part<'a> {
    Jsonb(&'a Json),
    Json(&'a Node<'a>),
}

impl<'a> Part<'a> {
    fn get(self, key: &str) -> Option<Part<'a>> {
        match self {
            Part::Jsonb(json) => json.get(key).map(Part::Jsonb),
            Part::Json(node) => node.get(key).map(Part::Json),
        }
    }

    fn is_object(self) -> bool {
        match self {
            Part::Jsonb(json) => matches!(json, Json::Object(_)),
            Part::Json(node) => matches!(node.kind, Kind::Object(_)),
        }
    }

    fn elements(self) -> Option<Vec<Part<'a>>> {
        match self {
            Part::Jsonb(Json::Array(elements)) => Some(elements.iter().map(Part::Jsonb).collect()),
            Part::Json(Node {
                kind: Kind::Array(elements),
                ..
            }) => Some(elements.iter().map(Part::Json).collect()),
            _ => None,
        }
    }

    fn is_null(self) -> bool {
        match self {
            Part::Jsonb(json) => matches!(json, Json::Null),
            Part::Json(node) => matches!(node.kind, Kind::Null),
        }
    }

    /// As JSON.
    fn document(self) -> String {
        match self {
            Part::Jsonb(json) => json.to_string(),
            Part::Json(node) => node.text.to_string(),
        }
    }

    /// Strings without their quotes.
    fn text(self) -> String {
        match self {
            Part::Jsonb(Json::Text(text)) => text.to_string(),
            Part::Json(Node {
                kind: Kind::Text(text),
                ..
            }) => text.clone(),
            other => other.document(),
        }
    }
}

/// Added to the number of a composite type, to tell it from an enum.
const COMPOSITE: i64 = 1 << 40;

/// The number that stands for a type among the arguments: that of an array of an enum is the enum's, below zero.
pub fn number_of(ty: SqlType) -> i64 {
    match ty {
        SqlType::EnumArray(number) => -i64::from(number),
        SqlType::Composite(number) => COMPOSITE + i64::from(number),
        SqlType::CompositeArray(number) => -COMPOSITE - i64::from(number),
        ty => i64::from(ty.oid()),
    }
}

fn type_of(number: i64) -> SqlResult<SqlType> {
    if let Ok(composite) = u32::try_from(number.abs() - COMPOSITE) {
        return Ok(match number > 0 {
            true => SqlType::Composite(composite),
            false => SqlType::CompositeArray(composite),
        });
    }
    let of_enum = u32::try_from(number.unsigned_abs())
        .map_err(|_| SqlError::internal("rows of JSON of an unknown type"))?;
    Ok(match SqlType::from_oid(of_enum) {
        _ if number < 0 => SqlType::EnumArray(of_enum),
        Some(known) => known,
        None => SqlType::Enum(of_enum),
    })
}

/// Columns as they were asked for.
struct Columns<'a> {
    names: Vec<&'a str>,
    types: Vec<SqlType>,
    format: &'a FormatContext,
}

impl<'a> Columns<'a> {
    fn of(args: &[&'a Value], host: &'a dyn Host) -> SqlResult<Columns<'a>> {
        let (Value::Array(names), Value::Array(types)) = (args[1], args[2]) else {
            return Err(SqlError::internal("rows of JSON without columns"));
        };
        let types = types.values.iter().map(|number| type_of(int(number)));
        Ok(Columns {
            names: names.values.iter().filter_map(Value::as_str).collect(),
            types: types.collect::<SqlResult<_>>()?,
            format: host.format(),
        })
    }

    fn none(host: &'a dyn Host) -> Columns<'a> {
        Columns {
            names: Vec::new(),
            types: Vec::new(),
            format: host.format(),
        }
    }

    fn row(&self, part: Part<'_>) -> SqlResult<Vec<Value>> {
        let columns = self.names.iter().zip(&self.types);
        columns
            .map(|(name, ty)| match part.get(name) {
                Some(part) => self.value(part, *ty, name),
                None => Ok(Value::Null),
            })
            .collect()
    }

    fn value(&self, part: Part<'_>, ty: SqlType, name: &str) -> SqlResult<Value> {
        // JSON's null is a value of jsonb, and no value of anything else, as it is in PostgreSQL.
        match (ty, part) {
            (Jsonb | Plain, part) if !part.is_null() => {
                text_format::read(ty, &part.document(), self.format)
            }
            (_, part) if part.is_null() => Ok(Value::Null),
            (SqlType::Composite(number), part) if part.is_object() => {
                let shape = self.format.objects.fields(number);
                let shape = shape.ok_or_else(|| SqlError::internal("a row of no known type"))?;
                self.record(part, &shape, None)
            }
            _ => match ty.element() {
                None => text_format::read(ty, &part.text(), self.format),
                Some(element) => {
                    let Some(elements) = part.elements() else {
                        return self.no_array(part, ty, name);
                    };
                    if matches!(elements.first(), Some(first) if first.elements().is_some())
                        && !matches!(element, Jsonb | Plain)
                    {
                        return self.nested(elements, element, name);
                    }
                    let values = elements
                        .into_iter()
                        .map(|part| self.value(part, element, name));
                    let values = values.collect::<SqlResult<_>>()?;
                    Ok(Value::Array(Box::new(Array {
                        shape: None,
                        element,
                        values,
                    })))
                }
            },
        }
    }

    /// An array of arrays.
    fn nested(&self, parts: Vec<Part<'_>>, element: SqlType, name: &str) -> SqlResult<Value> {
        let uneven = |detail: &str| {
            let message = "malformed JSON array";
            Err(SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message).detail(detail))
        };
        let (mut level, mut shape) = (parts, Dimensions::default());
        loop {
            let length = level.len() as i32;
            let outer: i32 = shape.iter().map(|one| one.length).product();
            let length = length / outer.max(1);
            shape.push(Dimension { lower: 1, length })?;
            let nested = level.iter().filter(|part| part.elements().is_some());
            match nested.count() {
                0 => break,
                count if count < level.len() => {
                    return uneven(
                        "Multidimensional arrays must have sub-arrays with matching dimensions.",
                    );
                }
                _ => {}
            }
            let inner = level.into_iter().filter_map(Part::elements);
            let inner: Vec<Vec<Part<'_>>> = inner.collect();
            let first = inner.first().map_or(0, Vec::len);
            if inner.iter().any(|part| part.len() != first) {
                return uneven(
                    "Multidimensional arrays must have sub-arrays with matching dimensions.",
                );
            }
            level = inner.into_iter().flatten().collect();
        }
        let values = level.into_iter();
        let values = values.map(|part| self.value(part, element, name));
        let values = values.collect::<SqlResult<Vec<Value>>>()?;
        let array = Array::shaped(element, values, &shape);
        Ok(Value::Array(Box::new(array)))
    }

    /// An object as a record, with what another one has for what it lacks.
    fn record(
        &self,
        part: Part<'_>,
        shape: &Arc<Shape>,
        base: Option<&Record>,
    ) -> SqlResult<Value> {
        let fields = shape.fields.iter().enumerate();
        let values = fields.map(|(place, field)| match part.get(&field.name) {
            Some(part) => {
                let value = self.value(part, field.ty, &field.name)?;
                text_format::coerce_length(value, field.ty, field.modifier, false)
            }
            None => Ok(base
                .and_then(|base| base.values.get(place))
                .cloned()
                .unwrap_or_default()),
        });
        Ok(Value::Record(Arc::new(Record {
            values: values.collect::<SqlResult<_>>()?,
            shape: Arc::clone(shape),
        })))
    }

    /// A string may be an array's text.
    fn no_array(&self, part: Part<'_>, ty: SqlType, name: &str) -> SqlResult<Value> {
        if matches!(
            part,
            Part::Jsonb(Json::Text(_))
                | Part::Json(Node {
                    kind: Kind::Text(_),
                    ..
                })
        ) {
            return text_format::read(ty, &part.text(), self.format);
        }
        let error = SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, "expected JSON array");
        Err(error.hint(format!("See the value of key \"{name}\".")))
    }

    fn no_columns(&self) -> Vec<Value> {
        self.types.iter().map(|_| Value::Null).collect()
    }
}

fn one(part: Part<'_>, columns: &Columns<'_>, name: &str) -> SqlResult<Value> {
    if part.is_object() {
        return records(vec![columns.row(part)?]);
    }
    let what = match part.elements() {
        Some(_) => "an array",
        None => "a scalar",
    };
    fail(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("cannot call {name} on {what}"),
    )
}

fn many(part: Part<'_>, columns: &Columns<'_>, name: &str) -> SqlResult<Value> {
    let Some(elements) = part.elements() else {
        let what = match part.is_object() {
            true => "an object",
            false => "a scalar",
        };
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("cannot call {name} on {what}"),
        );
    };
    let rows = elements.into_iter().map(|part| match part.is_object() {
        true => columns.row(part),
        false => fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("argument of {name} must be an array of objects"),
        ),
    });
    records(rows.collect::<SqlResult<_>>()?)
}

fn binary<'a>(args: &[&'a Value]) -> Option<Part<'a>> {
    match args[0] {
        Value::Jsonb(json) => Some(Part::Jsonb(json)),
        Value::Null => None,
        other => wrong_type(other),
    }
}

fn row(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let columns = Columns::of(args, host)?;
    match binary(args) {
        Some(part) => one(part, &columns, "jsonb_to_record"),
        None => records(vec![columns.no_columns()]),
    }
}

fn rows(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    match binary(args) {
        Some(part) => many(part, &Columns::of(args, host)?, "jsonb_to_recordset"),
        None => records(Vec::new()),
    }
}

fn plain_row(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let columns = Columns::of(args, host)?;
    match args[0].is_null() {
        true => records(vec![columns.no_columns()]),
        false => one(
            Part::Json(&parse(str(args[0]))?),
            &columns,
            "json_to_record",
        ),
    }
}

fn plain_rows(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    match args[0].is_null() {
        true => records(Vec::new()),
        false => many(
            Part::Json(&parse(str(args[0]))?),
            &Columns::of(args, host)?,
            "json_to_recordset",
        ),
    }
}
