//! The binder for scalar expressions: names, types and operators of the parser's tree become `Expr`.
//!
//! Relies on: `scope` for names, `coerce` for conversions, `ir::function` for operators.
//! Promises: evaluation needs no further decision: overloads are chosen, casts are placed,
//! BETWEEN, NULLIF and row comparisons are written out.  Does not: choose access paths.
//!
//! | file | forms |
//! |---|---|
//! | here | names, constants, casts, CASE and the other conditionals |
//! | `subscripts` | subscripts and fields, read and assigned |
//! | `operator` | operators, IN, ANY, BETWEEN, rows |
//! | `call` | functions, aggregates, sequences, CURRENT_… |
//! | `subquery` | subqueries inside expressions |

mod subscripts;

pub(crate) use subscripts::{json_assigned, json_index, pairs_have_one_subscript};

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
