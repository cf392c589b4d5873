//! The binder for scalar expressions: names, types and operators of the parser's tree become `Expr`.
//!
//! Relies on: `scope` for names, `coerce` for conversions, `ir::function` for operators.
//! Promises: evaluation needs no further decision: overloads are chosen, casts are placed,
//! BETWEEN, NULLIF and row comparisons are written out.  Does not: choose access paths.
//!
//! | file | forms |
//! |---|---|
//! | here | names, constants, casts, CASE and the other conditionals |
//! | `operator` | operators, IN, ANY, BETWEEN, rows |
//! | `call` | functions, aggregates, sequences, CURRENT_… |
//! | `subquery` | subqueries inside expressions |

use crate::coerce;
use crate::composite;
use crate::domain;
use crate::later_words::plain_call_of;
use crate::names::{self, inner, required};
use crate::once::once;
use crate::parse;
use crate::planner::Planner;
use crate::scope::{Scope, ScopeColumn};
use crate::types;
use crate::variables::{Conflict, Shape};
use crate::watch;
use pg_query::NodeEnum;
use pg_query::protobuf::{self, BoolExprType, BoolTestType, Node, NullTestType, a_const};
use quintet_base::types::TypeFamily;
use quintet_base::{Bits, Numeric, SqlError, SqlResult, SqlState, SqlType, Str, Value};
use quintet_ir::aggregate::AggregateCall;
use quintet_ir::cast::{CastContext, common_type};
use quintet_ir::expr::Truth;
use quintet_ir::function::geometry;
use quintet_ir::{CompareOp, Expr, depth};
use std::cell::{Cell, RefCell};

/// Places of aggregates in an expression that is not yet above its aggregation: the results of the
/// calls, in order. No frame is that wide.
pub(crate) const AGGREGATE_BASE: usize = 1 << 30;

/// Expressions up to this height are not counted.
const HEIGHT_UNSEEN: usize = 8;

/// How many parts others may have.
const PARTS_MAX: usize = 100_000;

/// How high the tree is of what is being bound.
#[derive(Default)]
pub(crate) struct Heights {
    here: Cell<usize>,
    most: Cell<usize>,
    rows: Cell<usize>,
    /// What is bound has been bound before.
    known: Cell<bool>,
}

/// How many rows may stand in one another: the text of one has all quotes of those in it twice.
const ROWS_MAX: usize = 24;

impl Heights {
    /// Binds parts of what has been bound as a whole: they are not counted again.
    pub fn known<T>(&self, bind: impl FnOnce() -> T) -> T {
        let around = self.known.replace(true);
        let bound = bind();
        self.known.set(around);
        bound
    }

    /// Binds a row.
    fn row<T>(&self, bind: impl FnOnce() -> SqlResult<T>) -> SqlResult<T> {
        let around = self.rows.get();
        if around == ROWS_MAX {
            return Err(parse::too_complex());
        }
        self.rows.set(around + 1);
        let bound = bind();
        self.rows.set(around);
        bound
    }

    /// Binds something; how many levels it has.
    fn of<T>(&self, bind: impl FnOnce() -> T) -> (T, usize) {
        let here = self.here.get() + 1;
        let around = self.most.replace(here);
        self.here.set(here);
        let bound = bind();
        let most = self.most.get();
        self.most.set(most.max(around));
        self.here.set(here - 1);
        (bound, most - here + 1)
    }
}

/// Binds expressions of one clause.
pub(crate) struct Binder<'b, 'a> {
    pub planner: &'b Planner<'a>,
    pub scope: &'b Scope,
    /// As messages call it.
    pub clause: &'static str,
    /// Aggregates met; `None` where they are not allowed.
    pub aggregates: Option<&'b RefCell<Vec<AggregateCall>>>,
    /// Arguments of GROUPING met, with its places; `None` where it is not allowed.
    pub groupings: Option<&'b RefCell<Vec<crate::grouping_sets::Marks>>>,
    /// Calls over windows met; `None` where they are not allowed.
    pub windows: Option<&'b crate::window::Windows>,
    /// Subqueries met; `None` where they are not supported.
    pub subqueries: Option<&'b crate::subquery::Subqueries>,
}

impl<'b, 'a> Binder<'b, 'a> {
    /// A binder for a clause without aggregates and subqueries.
    pub fn new(planner: &'b Planner<'a>, scope: &'b Scope, clause: &'static str) -> Binder<'b, 'a> {
        Binder {
            planner,
            scope,
            clause,
            aggregates: None,
            groupings: None,
            windows: None,
            subqueries: None,
        }
    }

    /// Binds an expression. What has no type of its own stays `Unknown`.
    ///
    /// # Errors
    /// As PostgreSQL's analysis.
    pub fn bind(&self, node: &Node) -> SqlResult<Expr> {
        watch::step()?;
        let (bound, height) = self.planner.heights.of(|| self.bind_node(node));
        let expr = bound?;
        // What is written out twice within what is written out twice becomes more than any memory holds.
        let counts = height >= HEIGHT_UNSEEN && !self.planner.heights.known.get();
        if counts && depth::has_more_parts(&expr, PARTS_MAX) {
            return Err(parse::too_complex());
        }
        Ok(expr)
    }

    fn bind_node(&self, node: &Node) -> SqlResult<Expr> {
        // To find it is to go down the left of all below.
        let place = || names::location(node);
        match required(inner(node))? {
            NodeEnum::AConst(constant) => self.constant(constant),
            NodeEnum::ParamRef(param) => {
                let (place, ty) = self.planner.param_type(param.number, param.location)?;
                Ok(Expr::Param(place, ty))
            }
            NodeEnum::ColumnRef(column) => match self.column(column) {
                Ok(found) => Ok(found),
                Err(error) => match self.row(node)? {
                    Some(row) => self.record(row),
                    None => Err(error),
                },
            },
            NodeEnum::AExpr(expr) => self.operator(expr),
            NodeEnum::BoolExpr(expr) => self.boolean_operator(expr),
            NodeEnum::FuncCall(call) => self.call(call),
            NodeEnum::TypeCast(cast) => self.cast(cast),
            NodeEnum::CaseExpr(case) => {
                let calls = &self.planner.calls;
                calls.under_condition(|| self.case(case))
            }
            NodeEnum::CoalesceExpr(coalesce) => {
                let calls = &self.planner.calls;
                let (args, ty) = calls.under_condition(|| {
                    self.common(&coalesce.args, "COALESCE", coalesce.location)
                })?;
                Ok(Expr::Coalesce { args, ty })
            }
            NodeEnum::MinMaxExpr(extreme) => {
                let greatest = extreme.op() == protobuf::MinMaxOp::IsGreatest;
                let what = if greatest { "GREATEST" } else { "LEAST" };
                let (args, ty) = self.common(&extreme.args, what, extreme.location)?;
                if ty.element().unwrap_or(ty).family() == TypeFamily::Geometry {
                    let message = format!("could not identify a comparison function for type {ty}");
                    let (state, place) = (SqlState::UNDEFINED_FUNCTION, extreme.location);
                    return Err(self.planner.error(state, message, place));
                }
                Ok(Expr::Extreme { greatest, args, ty })
            }
            NodeEnum::NullTest(test) => self.null_test(test),
            NodeEnum::BooleanTest(test) => self.truth_test(test),
            NodeEnum::AArrayExpr(array) => self.array(array),
            NodeEnum::SqlvalueFunction(function) => self.value_function(function),
            NodeEnum::SubLink(link) => self.subquery(link),
            NodeEnum::CollateClause(clause) => self.collate(clause),
            NodeEnum::RowExpr(_) => match self.planner.heights.row(|| self.row(node))? {
                Some(row) => self.record(row),
                None => Err(self.planner.unsupported("a row as a value", place())),
            },
            NodeEnum::AIndirection(indirection) => self.subscript(indirection),
            NodeEnum::SetToDefault(_) => Err(self.planner.error(
                SqlState::SYNTAX_ERROR,
                "DEFAULT is not allowed in this context",
                place(),
            )),
            NodeEnum::GroupingFunc(call) => self.grouping(call),
            NodeEnum::CurrentOfExpr(_) => {
                Err(self.planner.unsupported("WHERE CURRENT OF", place()))
            }
            NodeEnum::NamedArgExpr(_) => Err(self.planner.unsupported("a named argument", place())),
            NodeEnum::XmlExpr(_) | NodeEnum::XmlSerialize(_) => {
                Err(self.planner.unsupported("XML", place()))
            }
            NodeEnum::JsonObjectConstructor(_) | NodeEnum::JsonIsPredicate(_) => {
                Err(self.planner.unsupported("JSON", place()))
            }
            NodeEnum::JsonArrayConstructor(_)
            | NodeEnum::JsonFuncExpr(_)
            | NodeEnum::JsonParseExpr(_)
            | NodeEnum::JsonScalarExpr(_)
            | NodeEnum::JsonSerializeExpr(_)
            | NodeEnum::MergeSupportFunc(_) => match inner(node).and_then(plain_call_of) {
                Some(call) => self.call(&call),
                None => Err(self.planner.unsupported("JSON", place())),
            },
            _ => Err(self.planner.unsupported("this kind of expression", place())),
        }
    }

    /// Binds a condition.
    ///
    /// # Errors
    /// `42804` if it is no truth value.
    pub fn condition(&self, node: &Node) -> SqlResult<Expr> {
        let expr = self.bind(node)?;
        coerce::boolean(self.planner, expr, self.clause)
            .map_err(self.planner.at(names::location(node)))
    }

    fn constant(&self, constant: &protobuf::AConst) -> SqlResult<Expr> {
        if constant.isnull {
            return Ok(Expr::null(SqlType::Unknown));
        }
        Ok(match required(constant.val.as_ref())? {
            a_const::Val::Ival(integer) => Expr::Const(Value::Int4(integer.ival), SqlType::Int4),
            a_const::Val::Fval(float) => {
                number(&float.fval).map_err(self.planner.at(constant.location))?
            }
            a_const::Val::Boolval(boolean) => {
                Expr::Const(Value::Bool(boolean.boolval), SqlType::Bool)
            }
            a_const::Val::Sval(string) => Expr::Const(
                Value::Text(Str::from(string.sval.as_str())),
                SqlType::Unknown,
            ),
            a_const::Val::Bsval(bits) => {
                let read = Bits::parse(&bits.bsval).map_err(self.planner.at(constant.location))?;
                Expr::Const(Value::Bits(read), SqlType::Bit)
            }
        })
    }

    fn column(&self, column: &protobuf::ColumnRef) -> SqlResult<Expr> {
        let name = names::strings(&column.fields);
        if name.len() != column.fields.len() {
            return Err(self
                .planner
                .unsupported("a whole row as a value", column.location));
        }
        let found = self.resolve(&name, column.location);
        if let Ok(found) = &found {
            self.planner.names_column(found.origin);
        }
        let variable = match self.planner.variables {
            // A record that is nothing yet is NULL.
            Some(variables)
                if variables.whole(&name) == Some(&Shape::Unassigned) && found.is_err() =>
            {
                return Ok(Expr::null(SqlType::Record));
            }
            Some(variables) => variables.resolve(&name),
            None => Ok(None),
        };
        let in_subquery = self.planner.is_in_subquery()
            && (found.as_ref()).is_ok_and(|found| !matches!(found.expr, Expr::Outer(..)));
        let variables = self.planner.variables;
        let conflict = variables.map(|known| known.meant(&name, in_subquery));
        let conflict = conflict.unwrap_or_default();
        let found = match (found, variable) {
            (found, Ok(None)) => found,
            (Ok(found), Err(_)) => Ok(found),
            (found, Ok(Some(slot)))
                if conflict == Conflict::Variable
                    || found
                        .as_ref()
                        .is_err_and(|error| error.state != SqlState::AMBIGUOUS_COLUMN) =>
            {
                let (place, ty) = self.planner.slot(slot);
                return Ok(Expr::Param(place, ty));
            }
            (Ok(_), Ok(Some(_))) if conflict == Conflict::Error => {
                let message = format!("column reference \"{}\" is ambiguous", name.join("."));
                let error = SqlError::new(SqlState::AMBIGUOUS_COLUMN, message)
                    .detail("It could refer to either a PL/pgSQL variable or a table column.");
                return Err(self.planner.at(column.location)(error));
            }
            (found, Ok(Some(_))) => found,
            (Err(_), Err(error)) => return Err(self.planner.at(column.location)(error)),
        };
        let found = found?;
        if let Expr::Column(place, _) = found.expr {
            self.planner.name_column(place, column.location);
        }
        Ok(found.expr)
    }

    /// The column that a name means here, or else around the subquery at hand.
    fn resolve(&self, name: &[&str], location: i32) -> SqlResult<ScopeColumn> {
        let here = self.scope.resolve(self.planner, name, location);
        let wrong = match here {
            Ok(column) => return Ok(column.clone()),
            Err(wrong) => wrong,
        };
        let elsewhere = match wrong.state {
            SqlState::UNDEFINED_TABLE => true,
            SqlState::UNDEFINED_COLUMN => name.len() == 1,
            _ => false,
        };
        let found = match elsewhere {
            true => self.planner.outer_column(name, location)?,
            false => None,
        };
        found.ok_or(wrong)
    }

    fn boolean_operator(&self, expr: &protobuf::BoolExpr) -> SqlResult<Expr> {
        let what = match expr.boolop() {
            BoolExprType::AndExpr => "AND",
            BoolExprType::OrExpr => "OR",
            _ => "NOT",
        };
        let args: SqlResult<Vec<Expr>> = expr
            .args
            .iter()
            .enumerate()
            .map(|(number, arg)| {
                let bound = match number {
                    0 => self.bind(arg)?,
                    // Those before it may decide.
                    _ => self.planner.calls.under_condition(|| self.bind(arg))?,
                };
                coerce::boolean(self.planner, bound, what)
                    .map_err(self.planner.at(names::location(arg)))
            })
            .collect();
        let args = args?;
        Ok(match what {
            "AND" => and(args),
            "OR" => or(args),
            _ => Expr::Not(Box::new(required(args.into_iter().next())?)),
        })
    }

    fn cast(&self, cast: &protobuf::TypeCast) -> SqlResult<Expr> {
        let name = required(cast.type_name.as_ref())?;
        let arg = required(cast.arg.as_deref())?;
        let (ty, modifier, domain) = types::resolve_any(self.planner, name)?;
        // An array's elements know their type by the cast around it.
        if let (Some(NodeEnum::AArrayExpr(array)), Some(element)) = (inner(arg), ty.element()) {
            let made = self.array_of(array, element)?;
            let made = coerce::explicit(self.planner, made, ty, modifier)?;
            return match domain {
                Some(domain) => domain::checked(self.planner, domain, made),
                None => Ok(made),
            };
        }
        let expr = self.bind(arg)?;
        let cast = coerce::explicit(self.planner, expr, ty, modifier).map_err(self.planner.at(
            match cast.location {
                at if at >= 0 && !matches!(inner(arg), Some(NodeEnum::AConst(_))) => at,
                _ => names::location(arg),
            },
        ))?;
        match domain {
            Some(domain) => domain::checked(self.planner, domain, cast),
            None => Ok(cast),
        }
    }

    fn case(&self, case: &protobuf::CaseExpr) -> SqlResult<Expr> {
        match case.arg.as_deref() {
            None => self.branches(case, None),
            Some(arg) => once(self.bind(arg)?, |subject| {
                self.branches(case, Some(subject))
            }),
        }
    }

    /// A CASE whose conditions are what is compared with the subject, if there is one.
    fn branches(&self, case: &protobuf::CaseExpr, subject: Option<&Expr>) -> SqlResult<Expr> {
        let mut conditions = Vec::with_capacity(case.args.len());
        let mut results = Vec::with_capacity(case.args.len() + 1);
        for node in &case.args {
            let Some(NodeEnum::CaseWhen(when)) = inner(node) else {
                return Err(self.planner.unsupported("this form of CASE", case.location));
            };
            let tested = required(when.expr.as_deref())?;
            let here = self.planner.at(names::location(tested));
            let bound = self.bind(tested)?;
            conditions.push(match subject {
                None => coerce::boolean(self.planner, bound, "CASE/WHEN").map_err(here)?,
                Some(subject) => self
                    .compare(CompareOp::Eq, subject.clone(), bound)
                    .map_err(here)?,
            });
            results.push(self.bind(required(when.result.as_deref())?)?);
        }
        let otherwise = case
            .defresult
            .as_deref()
            .map(|node| self.bind(node))
            .transpose()?;
        // The first of types that convert into each other is taken, and that of ELSE comes before all.
        let has_otherwise = otherwise.is_some();
        let results = otherwise.into_iter().chain(results).collect();
        let (mut results, ty) = self.unify(results, "CASE", case.location)?;
        let otherwise = has_otherwise.then(|| Box::new(results.remove(0)));
        Ok(Expr::Case {
            branches: conditions.into_iter().zip(results).collect(),
            otherwise,
            ty,
        })
    }

    /// Binds expressions to their common type.
    fn common(&self, nodes: &[Node], what: &str, location: i32) -> SqlResult<(Vec<Expr>, SqlType)> {
        let args: SqlResult<Vec<Expr>> = nodes.iter().map(|node| self.bind(node)).collect();
        self.unify(args?, what, location)
    }

    /// Converts expressions to their common type.
    pub fn unify(
        &self,
        args: Vec<Expr>,
        what: &str,
        location: i32,
    ) -> SqlResult<(Vec<Expr>, SqlType)> {
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let here = self.planner.at(location);
        let ty = common_type(&types, what).map_err(&here)?;
        let args: SqlResult<Vec<Expr>> = args
            .into_iter()
            .map(|arg| coerce::implicit(self.planner, arg, ty))
            .collect();
        Ok((args.map_err(here)?, ty))
    }

    fn null_test(&self, test: &protobuf::NullTest) -> SqlResult<Expr> {
        let arg = required(test.arg.as_deref())?;
        let negated = test.nulltesttype() == NullTestType::IsNotNull;
        if let Some(NodeEnum::RowExpr(row)) = inner(arg) {
            let parts = row.args.iter().map(|part| self.is_null(part, negated));
            return Ok(and(parts.collect::<SqlResult<Vec<Expr>>>()?));
        }
        if let Some(NodeEnum::ColumnRef(_)) = inner(arg)
            && let Some(row) = self.row(arg)?
        {
            let parts = row.fields.into_iter().map(|field| Expr::IsNull {
                input: Box::new(field.expr),
                negated,
            });
            return Ok(and(parts.collect()));
        }
        let value = self.bind(arg)?;
        if value.ty().is_record() {
            return composite::null_test(value, negated);
        }
        Ok(Expr::IsNull {
            input: Box::new(value),
            negated,
        })
    }

    fn is_null(&self, node: &Node, negated: bool) -> SqlResult<Expr> {
        Ok(Expr::IsNull {
            input: Box::new(self.bind(node)?),
            negated,
        })
    }

    fn truth_test(&self, test: &protobuf::BooleanTest) -> SqlResult<Expr> {
        let (truth, negated, what) = match test.booltesttype() {
            BoolTestType::IsNotTrue => (Truth::True, true, "IS NOT TRUE"),
            BoolTestType::IsFalse => (Truth::False, false, "IS FALSE"),
            BoolTestType::IsNotFalse => (Truth::False, true, "IS NOT FALSE"),
            BoolTestType::IsUnknown => (Truth::Unknown, false, "IS UNKNOWN"),
            BoolTestType::IsNotUnknown => (Truth::Unknown, true, "IS NOT UNKNOWN"),
            BoolTestType::IsTrue | BoolTestType::Undefined => (Truth::True, false, "IS TRUE"),
        };
        let arg = required(test.arg.as_deref())?;
        let bound = self.bind(arg)?;
        let input = coerce::boolean(self.planner, bound, what)
            .map_err(self.planner.at(names::location(arg)))?;
        Ok(Expr::IsTruth {
            input: Box::new(input),
            truth,
            negated,
        })
    }

    fn array(&self, array: &protobuf::AArrayExpr) -> SqlResult<Expr> {
        if array.elements.is_empty() {
            return Err(self
                .planner
                .error(
                    SqlState::INDETERMINATE_DATATYPE,
                    "cannot determine type of empty array",
                    array.location,
                )
                .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
        }
        let (elements, element) = self.common(&array.elements, "ARRAY", array.location)?;
        self.finish_array(elements, element, array.location)
    }

    fn array_of(&self, array: &protobuf::AArrayExpr, element: SqlType) -> SqlResult<Expr> {
        let elements = array.elements.iter().map(|node| {
            let here = self.planner.at(names::location(node));
            if let Some(NodeEnum::AArrayExpr(part)) = inner(node) {
                return self.array_of(part, element);
            }
            let bound = self.bind(node)?;
            let element = match bound.ty().element() {
                // Arrays are parts of one with a dimension more.
                Some(_) => element.array_of().unwrap_or(element),
                None => element,
            };
            coerce::convert(self.planner, bound, element, CastContext::Explicit).map_err(here)
        });
        let elements = elements.collect::<SqlResult<Vec<Expr>>>()?;
        let nested = elements.iter().find(|part| part.ty().element().is_some());
        let element = nested.map_or(element, Expr::ty);
        if let Some(other) = elements.iter().find(|part| part.ty() != element) {
            let message = format!("cannot cast type {} to {element}", other.ty());
            return Err(self
                .planner
                .error(SqlState::CANNOT_COERCE, message, array.location));
        }
        self.finish_array(elements, element, array.location)
    }

    fn finish_array(
        &self,
        elements: Vec<Expr>,
        element: SqlType,
        location: i32,
    ) -> SqlResult<Expr> {
        if element.element().is_some() && !element.is_vector() {
            return Ok(Expr::Call {
                function: &quintet_ir::function::NESTED,
                args: elements,
                ty: element,
            });
        }
        if element.array_of().is_none() {
            return Err(self
                .planner
                .unsupported(format!("type {element}[]"), location));
        }
        Ok(Expr::Array { elements, element })
    }

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

    fn collate(&self, clause: &protobuf::CollateClause) -> SqlResult<Expr> {
        match names::built_in(&clause.collname) {
            // Text compares by its bytes here, which is what these two ask for.
            Some("C" | "POSIX" | "default" | "ucs_basic") => {
                self.bind(required(clause.arg.as_deref())?)
            }
            _ => {
                let name = names::strings(&clause.collname).join(".");
                Err(self
                    .planner
                    .unsupported(format!("collation \"{name}\""), clause.location))
            }
        }
    }
}

/// A number that is no int4: int8 if it is a small enough whole number, else numeric.
fn number(text: &str) -> SqlResult<Expr> {
    // `-2147483648` comes with its sign and is an int4 after all.
    if let Ok(value) = text.parse::<i32>() {
        return Ok(Expr::Const(Value::Int4(value), SqlType::Int4));
    }
    if let Ok(value) = text.parse::<i64>() {
        return Ok(Expr::Const(Value::Int8(value), SqlType::Int8));
    }
    let digits = whole_number(text);
    if let Some(value) = digits {
        return Ok(value);
    }
    Ok(Expr::Const(
        Value::numeric(Numeric::parse(text)?),
        SqlType::Numeric,
    ))
}

/// Hexadecimal, octal and binary numbers, and digits with underscores.
fn whole_number(text: &str) -> Option<Expr> {
    let plain: String = text.chars().filter(|&c| c != '_').collect();
    let lower = plain.to_ascii_lowercase();
    let value = if let Some(digits) = lower.strip_prefix("0x") {
        i64::from_str_radix(digits, 16).ok()?
    } else if let Some(digits) = lower.strip_prefix("0o") {
        i64::from_str_radix(digits, 8).ok()?
    } else if let Some(digits) = lower.strip_prefix("0b") {
        i64::from_str_radix(digits, 2).ok()?
    } else {
        plain.parse().ok()?
    };
    Some(match i32::try_from(value) {
        Ok(value) => Expr::Const(Value::Int4(value), SqlType::Int4),
        Err(_) => Expr::Const(Value::Int8(value), SqlType::Int8),
    })
}

/// The conjunction; its parts' own conjunctions are opened.
pub(crate) fn and(parts: Vec<Expr>) -> Expr {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Expr::And(inner) => flat.extend(inner),
            part => flat.push(part),
        }
    }
    match flat.len() {
        0 => Expr::Const(Value::Bool(true), SqlType::Bool),
        1 => flat.swap_remove(0),
        _ => Expr::And(flat),
    }
}

/// The disjunction.
pub(crate) fn or(mut parts: Vec<Expr>) -> Expr {
    match parts.len() {
        0 => Expr::Const(Value::Bool(false), SqlType::Bool),
        1 => parts.swap_remove(0),
        _ => Expr::Or(parts),
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
pub(crate) fn with_part(
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
