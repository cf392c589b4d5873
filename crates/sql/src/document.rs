//! Arguments of functions that make JSON of values of any type.
//!
//! Relies on: `ir::function` for the functions.  Promises: a `json` is marked, so that it is not taken for
//! text, and a row becomes an object with its fields' names.  Does not: have rows as values elsewhere.

use crate::coerce;
use crate::composite;
use crate::expr::Binder;
use crate::expr::and;
use crate::names::{self, inner};
use crate::row_value::{Row, is_null, unless};
use pg_query::NodeEnum;
use pg_query::protobuf::Node;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::aggregate::AggregateFunction;
use quintet_ir::cast::CastContext;
use quintet_ir::function::json_rows::POPULATE;
use quintet_ir::function::{Function, JSON_MARK, JSON_ROW, pairs};

/// Functions whose arguments are values of any type.
const MAKERS: &[&str] = &[
    "to_json",
    "to_jsonb",
    "json_build_array",
    "json_build_object",
    "jsonb_build_array",
    "jsonb_build_object",
];

impl Binder<'_, '_> {
    /// Binds a call that makes JSON; `None` if the name is none of theirs.
    ///
    /// # Errors
    /// As [`Binder::bind`].
    pub(crate) fn document(&self, name: &str, args: &[Node]) -> SqlResult<Option<Expr>> {
        match (name, args) {
            ("row_to_json", [row]) => match self.row(row)? {
                Some(row) => self.object(row).map(Some),
                None => {
                    let value = self.bind(row)?;
                    match value.ty().is_record() {
                        true => self.apply("to_json", vec![value]).map(Some),
                        false => Ok(None),
                    }
                }
            },
            ("json_populate_record" | "jsonb_populate_record", [base, document]) => {
                let (base, document) = (self.bind(base)?, self.bind(document)?);
                self.populated(name, &POPULATE, base, document).map(Some)
            }
            ("populate_record", [base, with]) if self.has_pairs() => {
                let (base, with) = (self.bind(base)?, self.bind(with)?);
                self.populated_of_pairs(base, with).map(Some)
            }
            ("hstore", [row]) if self.has_pairs() => {
                let value = self.bind(row)?;
                match (value.ty(), self.planner.shape_of(&value)) {
                    // As the name of the type.
                    (SqlType::Unknown | SqlType::Hstore, _) => {
                        coerce::explicit(self.planner, value, SqlType::Hstore, TypeMod::NONE)
                            .map(Some)
                    }
                    // Fields of no row are there, and NULL.
                    (ty, Some(shape)) if ty.is_record() => {
                        let none = Expr::Const(shape.prototype(), ty);
                        let args = vec![value, none];
                        self.apply(name, vec![Expr::Coalesce { args, ty }])
                            .map(Some)
                    }
                    _ => self.apply(name, vec![value]).map(Some),
                }
            }
            ("to_json" | "to_jsonb", [value]) => {
                let expr = match self.as_row(value)? {
                    Some(row) => self.object(row)?,
                    None => self.documented(self.bind(value)?)?,
                };
                match (name, expr.ty()) {
                    (_, SqlType::Unknown) => Err(SqlError::new(
                        SqlState::DATATYPE_MISMATCH,
                        "could not determine polymorphic type because input has type unknown",
                    )),
                    ("to_json", SqlType::Json) | ("to_jsonb", SqlType::Jsonb) => Ok(Some(expr)),
                    ("to_jsonb", SqlType::Json) => self.as_value(expr).map(Some),
                    _ => self.apply(name, vec![expr]).map(Some),
                }
            }
            (name, args) if MAKERS.contains(&name) => {
                let args = args.iter().map(|arg| self.part(arg));
                self.apply(name, args.collect::<SqlResult<_>>()?).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Binds the arguments of an aggregate; those of json_agg and its kin become documents.
    ///
    /// # Errors
    /// As [`Binder::bind`].
    pub(crate) fn aggregated(&self, name: &str, args: &[Node]) -> SqlResult<Vec<Expr>> {
        use AggregateFunction::*;
        let plain = || args.iter().map(|arg| self.bind(arg)).collect();
        let Some(function) = AggregateFunction::from_name(name) else {
            return plain();
        };
        match (function, args) {
            (JsonAgg | JsonbAgg, [value]) => Ok(vec![self.whole(value, function == JsonAgg)?]),
            (JsonObjectAgg | JsonbObjectAgg, [key, value]) => {
                let key = self.bind(key)?;
                let key = coerce::convert(self.planner, key, SqlType::Text, CastContext::Explicit)?;
                Ok(vec![key, self.whole(value, function == JsonObjectAgg)?])
            }
            _ => plain(),
        }
    }

    /// A record, or an array of them, made of JSON.
    ///
    /// # Errors
    /// `42804` if nobody knows which fields there are.
    pub(crate) fn populated(
        &self,
        name: &str,
        function: &'static Function,
        base: Expr,
        document: Expr,
    ) -> SqlResult<Expr> {
        let Some(shape) = self.planner.shape_of(&base) else {
            let message = match base.ty() {
                SqlType::Unknown | SqlType::Record => {
                    format!("could not determine row type for result of {name}")
                }
                _ => format!("first argument of {name} must be a row type"),
            };
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        };
        let wanted = match name.starts_with("jsonb") {
            true => SqlType::Jsonb,
            false => SqlType::Json,
        };
        let ty = match function.result {
            SqlType::RecordArray => shape.ty.array_of().unwrap_or(SqlType::RecordArray),
            _ => shape.ty,
        };
        Ok(Expr::Call {
            function,
            args: vec![
                Expr::Const(shape.prototype(), shape.ty),
                base,
                coerce::implicit(self.planner, document, wanted)?,
                Expr::Const(Value::text(name), SqlType::Text),
            ],
            ty,
        })
    }

    /// Whether there is the type `hstore`.
    fn has_pairs(&self) -> bool {
        let number = SqlType::Hstore.oid();
        self.planner.catalog().user_type(number).is_some()
    }

    /// A record with other fields, by an hstore.
    ///
    /// # Errors
    /// `42804` if nobody knows which fields there are.
    pub(crate) fn populated_of_pairs(&self, base: Expr, with: Expr) -> SqlResult<Expr> {
        let Some(shape) = self.planner.shape_of(&base) else {
            let message = "first argument must be a rowtype";
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        };
        Ok(Expr::Call {
            function: &pairs::POPULATE,
            args: vec![
                Expr::Const(shape.prototype(), shape.ty),
                base,
                coerce::implicit(self.planner, with, SqlType::Hstore)?,
            ],
            ty: shape.ty,
        })
    }

    /// A name that stands for a row, or ROW(…).
    fn as_row(&self, node: &Node) -> SqlResult<Option<Row>> {
        match inner(node) {
            Some(NodeEnum::ColumnRef(_) | NodeEnum::RowExpr(_)) => self.row(node),
            _ => Ok(None),
        }
    }

    /// An object with the fields of a row, as `json`.
    fn object(&self, row: Row) -> SqlResult<Expr> {
        let missing = row.missing.or_else(|| {
            let fields = row.fields.iter().map(|field| is_null(&field.expr));
            row.if_any.then(|| and(fields.collect()))
        });
        let catalog = self.planner.catalog();
        let own = row.table.filter(|_| row.of_relation);
        let own = own.and_then(|table| composite::type_of_rows(catalog, table));
        let own = match own {
            Some(SqlType::Composite(number)) => catalog.shape(number),
            _ => None,
        };
        let own = own.filter(|shape| shape.fields.len() == row.fields.len());
        let mut args = Vec::with_capacity(2 * row.fields.len());
        for (place, field) in row.fields.into_iter().enumerate() {
            let name = match &own {
                Some(shape) => shape.fields[place].name.to_string(),
                None => field.name,
            };
            args.push(Expr::Const(Value::text(&name), SqlType::Text));
            args.push(self.marked(coerce::settle(self.planner, field.expr)?)?);
        }
        Ok(unless(missing, self.apply(JSON_ROW, args)?))
    }

    fn as_value(&self, json: Expr) -> SqlResult<Expr> {
        coerce::convert(self.planner, json, SqlType::Jsonb, CastContext::Explicit)
    }

    /// What has a conversion to JSON of its own, converted.
    fn documented(&self, expr: Expr) -> SqlResult<Expr> {
        let ty = match expr.ty() {
            SqlType::Hstore => SqlType::Json,
            SqlType::HstoreArray => SqlType::JsonArray,
            _ => return Ok(expr),
        };
        coerce::convert(self.planner, expr, ty, CastContext::Explicit)
    }

    fn marked(&self, expr: Expr) -> SqlResult<Expr> {
        let expr = self.documented(expr)?;
        match expr.ty() {
            SqlType::Json => self.apply(JSON_MARK, vec![expr]),
            _ => Ok(expr),
        }
    }

    /// A value as a part of a document.
    fn part(&self, node: &Node) -> SqlResult<Expr> {
        let expr = match self.as_row(node)? {
            Some(row) => self.object(row)?,
            None => coerce::settle(self.planner, self.bind(node)?)?,
        };
        self.marked(expr)
            .map_err(self.planner.at(names::location(node)))
    }

    /// A value as a document of its own.
    fn whole(&self, node: &Node, plain: bool) -> SqlResult<Expr> {
        let expr = match self.as_row(node)? {
            Some(row) => self.object(row)?,
            None => coerce::settle(self.planner, self.bind(node)?)?,
        };
        let expr = self.documented(expr)?;
        match (expr.ty(), plain) {
            (SqlType::Json, true) | (SqlType::Jsonb, false) => Ok(expr),
            (SqlType::Json, false) => self.as_value(expr),
            (_, true) => self.apply("to_json", vec![expr]),
            (_, false) => self.apply("to_jsonb", vec![expr]),
        }
    }
}
