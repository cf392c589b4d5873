//! Subscripts and fields: of arrays, documents, hstores, figures and rows, read and assigned.
//!
//! Relies on: the binder for the value and for what stands in brackets.  Promises: what kind of subscript a value takes is decided here and
//! nowhere else.  Does not: look an element up, which functions of `ir` do.

use super::Binder;
use crate::coerce;
use crate::composite;
use crate::names::{self, inner, required};
use crate::planner::Planner;
use pg_query::NodeEnum;
use pg_query::protobuf::{self, Node};
use quintet_base::types::TypeFamily;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::cast::CastContext;
use quintet_ir::function::geometry;

impl Binder<'_, '_> {
    /// `document['key'][index]`: what `document #> '{key,index}'` gives.
    fn json_subscript(
        &self,
        document: Expr,
        indices: &[&protobuf::AIndices],
        location: i32,
    ) -> SqlResult<Expr> {
        let here = self.planner.at(location);
        let step = |indices: &&protobuf::AIndices| {
            let step = self.json_step(indices, location)?;
            coerce::convert(self.planner, step, SqlType::Text, CastContext::Assignment)
        };
        let path = Expr::Array {
            elements: indices.iter().map(step).collect::<SqlResult<_>>()?,
            element: SqlType::Text,
        };
        self.apply("#>", vec![document, path]).map_err(here)
    }

    /// A subscript of a document: an integer or a text.
    fn json_step(&self, indices: &protobuf::AIndices, location: i32) -> SqlResult<Expr> {
        let here = self.planner.at(location);
        let Some(index) = indices.uidx.as_deref().filter(|_| !indices.is_slice) else {
            return Err(here(SqlError::new(
                SqlState::DATATYPE_MISMATCH,
                "jsonb subscript does not support slices",
            )));
        };
        json_index(self.planner, self.bind(index)?).map_err(here)
    }

    /// The one subscript of an hstore.
    ///
    /// # Errors
    /// `0A000` for several, or a slice.
    fn pair_key(&self, indices: &[&protobuf::AIndices], location: i32) -> SqlResult<Expr> {
        let here = self.planner.at(location);
        let [only] = indices else {
            return Err(here(pairs_have_one_subscript()));
        };
        let index = only.uidx.as_deref().filter(|_| !only.is_slice);
        let index = index.ok_or_else(|| here(pairs_have_one_subscript()))?;
        let key = self.bind(index)?;
        coerce::convert(self.planner, key, SqlType::Text, CastContext::Assignment).map_err(here)
    }

    /// A part of a figure; none has parts that could be told apart by a second subscript.
    fn part_of_figure(&self, figure: Expr, mut places: Vec<Expr>) -> SqlResult<Expr> {
        match (places.pop(), places.is_empty(), figure.ty().part()) {
            (Some(place), true, _) => self.apply(geometry::PART, vec![figure, place]),
            (_, _, part) => Ok(Expr::null(part.unwrap_or(SqlType::Unknown))),
        }
    }

    /// A figure with another part where subscripts lead, which is the same if that is NULL.
    ///
    /// # Errors
    /// `42804` for a value of another type, `2202E` for several subscripts, `0A000` for a slice.
    pub(crate) fn figure_assignment(
        &self,
        whole: Expr,
        indices: &[&protobuf::AIndices],
        value: Expr,
        (column, location): (&str, i32),
    ) -> SqlResult<Expr> {
        let here = self.planner.at(location);
        let place = match indices {
            [only] if !only.is_slice => only.uidx.as_deref(),
            _ if indices.iter().any(|indices| indices.is_slice) => {
                return Err(here(slice_of_figure()));
            }
            _ => None,
        };
        let place = match place {
            Some(place) => self.bind(place)?,
            None => {
                let message = "wrong number of array subscripts";
                return Err(here(SqlError::new(
                    SqlState::ARRAY_SUBSCRIPT_ERROR,
                    message,
                )));
            }
        };
        with_part(self.planner, whole, place, value, column)
            .and_then(|(whole, arguments)| {
                let ty = whole.ty();
                let changed = self.apply(geometry::WITH_PART, arguments)?;
                Ok(Expr::Coalesce {
                    args: vec![changed, whole],
                    ty,
                })
            })
            .map_err(here)
    }

    /// An hstore with another text where the subscript leads.
    ///
    /// # Errors
    /// As [`Binder::pair_key`].
    pub(crate) fn pair_assignment(
        &self,
        whole: Expr,
        indices: &[&protobuf::AIndices],
        value: Expr,
        location: i32,
    ) -> SqlResult<Expr> {
        let key = self.pair_key(indices, location)?;
        let here = self.planner.at(location);
        let text = coerce::convert(self.planner, value, SqlType::Text, CastContext::Assignment);
        let text = text.map_err(&here)?;
        self.apply("[hstore]:=", vec![whole, key, text])
            .map_err(here)
    }

    /// A document with another value where subscripts lead.
    ///
    /// # Errors
    /// `42804` for subscripts or values of other types.
    pub(crate) fn json_assignment(
        &self,
        document: Expr,
        indices: &[&protobuf::AIndices],
        value: Expr,
        (column, location): (&str, i32),
    ) -> SqlResult<Expr> {
        let steps = indices
            .iter()
            .map(|indices| self.json_step(indices, location));
        let steps = steps.collect::<SqlResult<Vec<Expr>>>()?;
        json_assigned(self.planner, document, steps, value, column)
            .and_then(|arguments| self.apply("[jsonb]:=", arguments))
            .map_err(self.planner.at(location))
    }

    /// `array[index]`, `array[low:high]`.
    pub(crate) fn subscript(&self, indirection: &protobuf::AIndirection) -> SqlResult<Expr> {
        let node = required(indirection.arg.as_deref())?;
        let place = names::location(node);
        if let [part] = indirection.indirection.as_slice()
            && let Some(name) = names::string(part)
            && let Some(row) = self.row(node)?
        {
            return row.field(name).map_err(self.planner.at(place));
        }
        if let Some((last, before)) = indirection.indirection.split_last()
            && let Some(name) = names::string(last)
        {
            let value = match before {
                [] => self.bind(node)?,
                before => self.subscript(&protobuf::AIndirection {
                    arg: indirection.arg.clone(),
                    indirection: before.to_vec(),
                })?,
            };
            return self.field(&value, name).map_err(self.planner.at(place));
        }
        // Subscripts of a field stand behind it.
        let is_name = |part: &Node| names::string(part).is_some();
        if let Some(at) = indirection.indirection.iter().rposition(is_name) {
            let (before, behind) = indirection.indirection.split_at(at + 1);
            let value = self.subscript(&protobuf::AIndirection {
                arg: indirection.arg.clone(),
                indirection: before.to_vec(),
            })?;
            return self.subscripts(value, behind, place);
        }
        let value = self.bind(node)?;
        self.subscripts(value, &indirection.indirection, place)
    }

    /// A field of a value.
    fn field(&self, value: &Expr, name: &str) -> SqlResult<Expr> {
        let ty = value.ty();
        if !ty.is_record() {
            let message = format!(
                "column notation .{name} applied to type {ty}, which is not a composite type"
            );
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        let shape = self.planner.shape_of(value);
        let shape = shape.ok_or_else(|| composite::no_field(ty, name))?;
        let place = shape.fields.iter().position(|field| field.name == name);
        let place = place.ok_or_else(|| composite::no_field(ty, name))?;
        let known = &shape.fields[place];
        composite::field(value, place, known.ty)
    }

    fn subscripts(&self, array: Expr, parts: &[Node], place: i32) -> SqlResult<Expr> {
        let indices = parts.iter().map(|part| match inner(part) {
            Some(NodeEnum::AIndices(indices)) => Some(&**indices),
            _ => None,
        });
        let what = "a field of an expression";
        let Some(indices) = indices.collect::<Option<Vec<&protobuf::AIndices>>>() else {
            return Err(self.planner.unsupported(what, place));
        };
        if array.ty() == SqlType::Jsonb {
            return self.json_subscript(array, &indices, place);
        }
        if array.ty() == SqlType::Hstore {
            let key = self.pair_key(&indices, place)?;
            return self
                .apply("->", vec![array, key])
                .map_err(self.planner.at(place));
        }
        if indices.is_empty() {
            return Ok(array);
        }
        let here = self.planner.at(place);
        // The catalogue's vectors count from 0, and so do the arguments of a trigger.
        let from_zero = self.planner.variables.and_then(|known| known.from_zero);
        let is_argv = matches!(array, Expr::Param(slot, _) if Some(slot) == from_zero);
        let counts_from_zero = array.ty().is_vector() || is_argv;
        let from_one = |index: Expr| {
            let one = Expr::Const(Value::Int4(1), SqlType::Int4);
            self.apply("+", vec![index, one]).map_err(&here)
        };
        let bound = |node: Option<&Node>, without: i32| match node {
            None => Ok(Expr::Const(Value::Int4(without), SqlType::Int4)),
            Some(node) => {
                let index = self.bind(node)?;
                let index =
                    coerce::convert(self.planner, index, SqlType::Int4, CastContext::Assignment)
                        .map_err(&here)?;
                match counts_from_zero {
                    true => from_one(index),
                    false => Ok(index),
                }
            }
        };
        if let (SqlType::Name, [indices]) = (array.ty(), indices.as_slice())
            && !indices.is_slice
        {
            let upper = indices.uidx.as_deref();
            // The catalogue's names count from 0.
            let place = from_one(bound(upper, 0)?)?;
            let one = Expr::Const(Value::Int4(1), SqlType::Int4);
            let letter = self.apply("substr", vec![array, place, one]);
            let explicit = CastContext::Explicit;
            return letter
                .and_then(|letter| {
                    coerce::convert(self.planner, letter, SqlType::InternalChar, explicit)
                })
                .map_err(here);
        }
        if array.ty().part().is_some() {
            let places = indices.iter().map(|indices| match indices.is_slice {
                true => Err(here(slice_of_figure())),
                false => bound(indices.uidx.as_deref(), 0),
            });
            let places = places.collect::<SqlResult<Vec<Expr>>>()?;
            return self.part_of_figure(array, places).map_err(here);
        }
        if array.ty().element().is_none() {
            let message = format!(
                "cannot subscript type {} because it does not support subscripting",
                array.ty()
            );
            return Err(here(SqlError::new(SqlState::DATATYPE_MISMATCH, message)));
        }
        if indices.len() > quintet_base::array::DIMENSIONS_MAX {
            return Err(here(quintet_base::array::too_many_dimensions(
                indices.len(),
            )));
        }
        let is_slice = indices.iter().any(|indices| indices.is_slice);
        let mut arguments = vec![array];
        for indices in &indices {
            let (lower, upper) = (indices.lidx.as_deref(), indices.uidx.as_deref());
            match (is_slice, indices.is_slice) {
                // Beside a slice an index is a slice from 1.
                (true, false) => {
                    let one = Expr::Const(Value::Int4(1), SqlType::Int4);
                    arguments.extend([one, bound(upper, 1)?]);
                }
                (true, true) => {
                    arguments.extend([bound(lower, i32::MIN)?, bound(upper, i32::MAX)?]);
                }
                (false, _) => arguments.push(bound(upper, 1)?),
            }
        }
        let name = if is_slice { "[:]" } else { "[]" };
        self.apply(name, arguments).map_err(here)
    }
}

fn slice_of_figure() -> SqlError {
    let message = "slices of fixed-length arrays not implemented";
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// What the assignment of a part of a figure is called with, and the figure.
///
/// # Errors
/// `42804` for a value of another type than the part's.
fn with_part(
    planner: &Planner,
    whole: Expr,
    place: Expr,
    value: Expr,
    name: &str,
) -> SqlResult<(Expr, Vec<Expr>)> {
    let wanted = whole.ty().part().unwrap_or(SqlType::Unknown);
    let place = coerce::convert(planner, place, SqlType::Int4, CastContext::Assignment)?;
    let from = value.ty();
    let value = coerce::convert(planner, value, wanted, CastContext::Assignment);
    let value = value.map_err(|error| match error.state {
        SqlState::DATATYPE_MISMATCH | SqlState::CANNOT_COERCE => {
            let message = format!(
                "subscripted assignment to \"{name}\" requires type {wanted} but expression is of type {from}"
            );
            SqlError::new(SqlState::DATATYPE_MISMATCH, message)
                .hint("You will need to rewrite or cast the expression.")
        }
        _ => error,
    })?;
    Ok((whole.clone(), vec![whole, place, value]))
}

pub(crate) fn pairs_have_one_subscript() -> SqlError {
    let message = "hstore allows only one subscript";
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// A subscript of a document: an integer or a text.
///
/// # Errors
/// `42804` for another type.
pub(crate) fn json_index(planner: &Planner, index: Expr) -> SqlResult<Expr> {
    let ty = match index.ty() {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => SqlType::Int4,
        ty if ty.family() == TypeFamily::Text || ty == SqlType::Unknown => SqlType::Text,
        ty => {
            let message = format!("subscript type {ty} is not supported");
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message)
                .hint("jsonb subscript must be coercible to either integer or text."));
        }
    };
    coerce::convert(planner, index, ty, CastContext::Assignment)
}

/// What the assignment of a part of a document is called with.
///
/// # Errors
/// `42804` for a value that is no document.
pub(crate) fn json_assigned(
    planner: &Planner,
    document: Expr,
    steps: Vec<Expr>,
    value: Expr,
    name: &str,
) -> SqlResult<Vec<Expr>> {
    let from = value.ty();
    let of_array = steps.first().is_some_and(|step| step.ty() == SqlType::Int4);
    let texts = steps
        .into_iter()
        .map(|step| coerce::convert(planner, step, SqlType::Text, CastContext::Assignment));
    let steps = Expr::Array {
        elements: texts.collect::<SqlResult<_>>()?,
        element: SqlType::Text,
    };
    let value = coerce::convert(planner, value, SqlType::Jsonb, CastContext::Assignment);
    let value = value.map_err(|error| match error.state {
        SqlState::CANNOT_COERCE => SqlError::new(
            SqlState::DATATYPE_MISMATCH,
            format!(
                "subscripted assignment to \"{name}\" requires type jsonb but expression is of type {from}"
            ),
        )
        .hint("You will need to rewrite or cast the expression."),
        _ => error,
    })?;
    let of_array = Expr::Const(Value::Bool(of_array), SqlType::Bool);
    Ok(vec![document, steps, value, of_array])
}
