//! Operators: symbols, comparisons, IN, ANY, BETWEEN, rows.
//!
//! Relies on: `ir::function` for overloads and for the type in which two types compare.
//! Promises: comparisons become `Compare` with both sides of one type; IN over a list becomes
//! `InList`; IN over rows becomes OR of ANDs, which `access` reads as a list of keys.
//! Does not: look into subqueries (`subquery`).

use crate::coerce;
use crate::composite;
use crate::ctid;
use crate::expr::{Binder, and, or};
use crate::names::{self, inner, required};
use crate::once::{once, once_if_large};
use crate::row_value::is_null;
use pg_query::NodeEnum;
use pg_query::protobuf::{AExpr, AExprKind, Node, RowExpr, SubLinkType};
use quintet_base::types::TypeFamily;
use quintet_base::value::Array;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::cast::{CastContext, common_type};
use quintet_ir::function::{self, compare_type, operator_symbol, state};
use quintet_ir::{CompareOp, Expr};

/// The comparison that a symbol stands for.
pub(crate) fn comparison(symbol: &str) -> Option<CompareOp> {
    Some(match symbol {
        "=" => CompareOp::Eq,
        "<>" | "!=" => CompareOp::Ne,
        "<" => CompareOp::Lt,
        "<=" => CompareOp::Le,
        ">" => CompareOp::Gt,
        ">=" => CompareOp::Ge,
        _ => return None,
    })
}

/// Whether one of them is a figure, which is compared by functions of its type.
fn has_figure<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> bool {
    let mut exprs = exprs.into_iter();
    exprs.any(|expr| expr.ty().family() == TypeFamily::Geometry)
}

/// A name or ROW(…); a call is not bound twice to see whether it is a row.
fn may_be_row(node: &Node) -> bool {
    matches!(
        inner(node),
        Some(NodeEnum::RowExpr(_) | NodeEnum::ColumnRef(_))
    )
}

/// `ROW(…)::type`, which IN takes for what is in it if it stands on both sides.
fn is_cast_row(node: &Node) -> bool {
    match inner(node) {
        Some(NodeEnum::TypeCast(cast)) => {
            let arg = cast.arg.as_deref().and_then(inner);
            matches!(arg, Some(NodeEnum::RowExpr(_)))
        }
        _ => false,
    }
}

impl Binder<'_, '_> {
    /// `left = right` of two rows, part by part.
    fn same_parts(&self, left: &Expr, right: &Expr) -> SqlResult<Expr> {
        let shapes = self
            .planner
            .shape_of(left)
            .zip(self.planner.shape_of(right));
        let Some((a, b)) = shapes.filter(|(a, b)| a.fields.len() == b.fields.len()) else {
            return self.compare(CompareOp::Eq, left.clone(), right.clone());
        };
        let pairs = a.fields.iter().zip(&b.fields).enumerate();
        let pairs = pairs.map(|(place, (a, b))| {
            let left = composite::field(left, place, a.ty)?;
            let right = composite::field(right, place, b.ty)?;
            self.same_type(CompareOp::Eq, left, right)
        });
        self.compare_pairs(CompareOp::Eq, &pairs.collect::<SqlResult<Vec<_>>>()?)
    }

    /// Binds what the grammar calls an operator expression.
    pub(crate) fn operator(&self, expr: &AExpr) -> SqlResult<Expr> {
        let location = expr.location;
        let here = self.planner.at(location);
        let symbol = names::built_in(&expr.name).ok_or_else(|| {
            self.planner
                .unsupported("an operator of another schema", location)
        })?;
        let right = required(expr.rexpr.as_deref())?;
        let Some(left) = expr.lexpr.as_deref() else {
            return self.prefix(symbol, right).map_err(here);
        };
        use AExprKind::*;
        match expr.kind() {
            AexprOp => {
                if let (Some(NodeEnum::RowExpr(a)), Some(NodeEnum::RowExpr(b))) =
                    (inner(left), inner(right))
                {
                    return self.rows(symbol, a, b, location);
                }
                if let (Some(NodeEnum::RowExpr(row)), Some(NodeEnum::SubLink(link))) =
                    (inner(left), inner(right))
                    && link.sub_link_type() == SubLinkType::ExprSublink
                {
                    return self.row_with_subquery(symbol, row, link);
                }
                if comparison(symbol).is_some()
                    && may_be_row(left)
                    && may_be_row(right)
                    && let Some(left) = self.row(left)?
                    && let Some(right) = self.row(right)?
                {
                    return self.compared_rows(symbol, left, right).map_err(here);
                }
                let (left, right) = (self.bind(left)?, self.bind(right)?);
                if symbol == "#=" && matches!(right.ty(), SqlType::Hstore | SqlType::Unknown) {
                    return self.populated_of_pairs(left, right).map_err(here);
                }
                self.binary(symbol, left, right).map_err(here)
            }
            AexprLike | AexprIlike | AexprSimilar => {
                let (left, right) = (self.bind(left)?, self.bind(right)?);
                self.binary(symbol, left, right).map_err(here)
            }
            AexprDistinct | AexprNotDistinct => {
                let negated = expr.kind() == AexprNotDistinct;
                if may_be_row(left)
                    && may_be_row(right)
                    && let Some(left) = self.row(left)?
                    && let Some(right) = self.row(right)?
                {
                    let same = self.indistinct_rows(left, right).map_err(here)?;
                    return Ok(match negated {
                        true => same,
                        false => Expr::Not(Box::new(same)),
                    });
                }
                let (left, right) = (self.bind(left)?, self.bind(right)?);
                if has_figure([&left, &right]) {
                    return self.distinct_figures(left, right, negated).map_err(here);
                }
                let (left, right) = self.same_type(CompareOp::Eq, left, right).map_err(here)?;
                Ok(Expr::Distinct {
                    left: Box::new(left),
                    right: Box::new(right),
                    negated,
                })
            }
            AexprNullif => {
                let (left, right) = (self.bind(left)?, self.bind(right)?);
                once(left, |left| self.null_if(left, right)).map_err(here)
            }
            AexprIn => self.in_list(left, right, symbol == "<>", location),
            AexprOpAny | AexprOpAll => {
                self.quantified(symbol, left, right, expr.kind() == AexprOpAll, location)
            }
            AexprBetween => self.between(left, right, false, location),
            AexprNotBetween => self.between(left, right, true, location),
            AexprBetweenSym | AexprNotBetweenSym => {
                self.between_symmetric(left, right, expr.kind() == AexprNotBetweenSym, location)
            }
            Undefined => Err(SqlError::internal("an operator of no kind")),
        }
    }

    /// `left`, unless it is equal to `right`; of the type in which they are compared, where there is one for both. Kinds of integers are
    /// compared with each other as they are, and so are kinds of floats and of dates.
    fn null_if(&self, left: &Expr, right: Expr) -> SqlResult<Expr> {
        if has_figure([left, &right]) {
            let ty = left.ty();
            let equal = self.compare(CompareOp::Eq, left.clone(), right)?;
            return Ok(Expr::Case {
                branches: vec![(equal, Expr::null(ty))],
                otherwise: Some(Box::new(left.clone())),
                ty,
            });
        }
        let (compared, right) = self.same_type(CompareOp::Eq, left.clone(), right)?;
        let as_they_are = |ty: SqlType| match ty {
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => 1,
            SqlType::Float4 | SqlType::Float8 => 2,
            SqlType::Date | SqlType::Timestamp | SqlType::TimestampTz => 3,
            _ => 0,
        };
        let kind = as_they_are(left.ty());
        let result = match kind > 0 && kind == as_they_are(compared.ty()) {
            true => left.clone(),
            false => compared.clone(),
        };
        let ty = result.ty();
        let equal = Expr::Compare {
            op: CompareOp::Eq,
            left: Box::new(compared),
            right: Box::new(right),
        };
        Ok(Expr::Case {
            branches: vec![(equal, Expr::null(ty))],
            otherwise: Some(Box::new(result)),
            ty,
        })
    }

    /// Whether two figures differ, by the `=` of their type.
    fn distinct_figures(&self, left: Expr, right: Expr, negated: bool) -> SqlResult<Expr> {
        once(left, |left| {
            let equal = self.compare(CompareOp::Eq, left.clone(), right.clone())?;
            let branches = vec![
                (is_null(left), is_null(&right)),
                (
                    is_null(&right),
                    Expr::Const(Value::Bool(false), SqlType::Bool),
                ),
            ];
            let same = Expr::Case {
                branches,
                otherwise: Some(Box::new(equal)),
                ty: SqlType::Bool,
            };
            Ok(match negated {
                true => same,
                false => Expr::Not(Box::new(same)),
            })
        })
    }

    fn prefix(&self, symbol: &str, right: &Node) -> SqlResult<Expr> {
        let right = self.bind(right)?;
        self.apply(symbol, vec![right])
    }

    /// `left symbol right`.
    pub(crate) fn binary(&self, symbol: &str, left: Expr, right: Expr) -> SqlResult<Expr> {
        match comparison(symbol) {
            Some(op) => self.compare(op, left, right),
            None => self.apply(symbol, vec![left, right]),
        }
    }

    /// A comparison.
    ///
    /// # Errors
    /// `42883` if the two types do not compare.
    pub(crate) fn compare(&self, op: CompareOp, left: Expr, right: Expr) -> SqlResult<Expr> {
        if has_figure([&left, &right]) {
            return self.apply(operator_symbol(op), vec![left, right]);
        }
        let (left, right) = self.same_type(op, left, right)?;
        Ok(Expr::Compare {
            op,
            left: Box::new(left),
            right: Box::new(right),
        })
    }

    pub(crate) fn same_type(
        &self,
        op: CompareOp,
        left: Expr,
        right: Expr,
    ) -> SqlResult<(Expr, Expr)> {
        if has_figure([&left, &right]) {
            return Ok((left, right));
        }
        let element = left.ty().element().filter(|_| left.ty() == right.ty());
        if let Some(element) = element.filter(|element| element.family() == TypeFamily::Geometry) {
            let what = match op {
                CompareOp::Eq | CompareOp::Ne => "an equality operator",
                _ => "a comparison function",
            };
            let message = format!("could not identify {what} for type {element}");
            return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message));
        }
        // A json, or the name of a cursor, is a text whose equality nobody has defined; an xid has no order.
        let plain = |ty: SqlType| {
            matches!(
                ty,
                SqlType::Unknown
                    | SqlType::Json
                    | SqlType::RefCursor
                    | SqlType::Cstring
                    | SqlType::JsonPath
                    | SqlType::Xid
            )
        };
        if left.ty().is_record() && right.ty().is_record() {
            return composite::compared(self.planner, left, right);
        }
        // An hstore is sorted, but by symbols of its own.
        let has_symbol =
            left.ty() != SqlType::Hstore || matches!(op, CompareOp::Eq | CompareOp::Ne);
        if left.ty() == right.ty() && !plain(left.ty()) && has_symbol {
            return Ok(ctid::compared(op, left, right));
        }
        let right = match op {
            CompareOp::Eq | CompareOp::Ne => self.beside(left.ty(), right)?,
            _ => right,
        };
        let ty = compare_type(op, left.ty(), right.ty())?;
        let left = coerce::implicit(self.planner, left, ty)?;
        let right = coerce::implicit(self.planner, right, ty)?;
        Ok(ctid::compared(op, left, right))
    }

    /// What stands behind an `=`: an integer that is compared with an xid, which it does not become anywhere else, is one.
    fn beside(&self, left: SqlType, right: Expr) -> SqlResult<Expr> {
        match (left, right.ty()) {
            (SqlType::Xid, SqlType::Int4) => self.apply(state::OF_INTEGER, vec![right]),
            _ => Ok(right),
        }
    }

    /// A function or operator by name over bound arguments.
    ///
    /// # Errors
    /// `42883` if there is none, `42725` if several fit.
    pub(crate) fn apply(&self, name: &str, args: Vec<Expr>) -> SqlResult<Expr> {
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let resolved = function::resolve(name, &types)?;
        let args: SqlResult<Vec<Expr>> = args
            .into_iter()
            .zip(&resolved.args)
            // `||` takes numbers as text, which no implicit conversion does: the choice is made.
            .map(|(arg, &ty)| coerce::convert(self.planner, arg, ty, CastContext::Explicit))
            .collect();
        Ok(Expr::Call {
            function: resolved.function,
            args: args?,
            ty: resolved.result,
        })
    }

    /// Row comparison: `=` and `<>` part by part, the others lexicographically.
    fn rows(
        &self,
        symbol: &str,
        left: &RowExpr,
        right: &RowExpr,
        location: i32,
    ) -> SqlResult<Expr> {
        let here = self.planner.at(location);
        let op = comparison(symbol).ok_or_else(|| {
            self.planner
                .unsupported(format!("operator {symbol} on rows"), location)
        })?;
        let (left, right) = (self.row_parts(left)?, self.row_parts(right)?);
        if left.len() != right.len() {
            return Err(self.planner.error(
                SqlState::SYNTAX_ERROR,
                "unequal number of entries in row expressions",
                location,
            ));
        }
        let pairs = left.into_iter().zip(right);
        let pairs: SqlResult<Vec<(Expr, Expr)>> =
            pairs.map(|(a, b)| self.same_type(op, a, b)).collect();
        self.compare_pairs(op, &pairs.map_err(&here)?)
    }

    /// The comparison of two rows whose parts have been made to fit.
    pub(crate) fn compare_pairs(&self, op: CompareOp, pairs: &[(Expr, Expr)]) -> SqlResult<Expr> {
        let part = |op, (a, b): &(Expr, Expr)| self.compare(op, a.clone(), b.clone());
        match op {
            CompareOp::Eq => Ok(and(pairs
                .iter()
                .map(|p| part(op, p))
                .collect::<SqlResult<_>>()?)),
            CompareOp::Ne => Ok(or(pairs
                .iter()
                .map(|p| part(op, p))
                .collect::<SqlResult<_>>()?)),
            _ => {
                let strict = match op {
                    CompareOp::Lt | CompareOp::Le => CompareOp::Lt,
                    _ => CompareOp::Gt,
                };
                let mut alternatives = Vec::with_capacity(pairs.len());
                for (n, pair) in pairs.iter().enumerate() {
                    let last = n + 1 == pairs.len();
                    let mut parts: Vec<Expr> = pairs[..n]
                        .iter()
                        .map(|p| part(CompareOp::Eq, p))
                        .collect::<SqlResult<_>>()?;
                    parts.push(part(if last { op } else { strict }, pair)?);
                    alternatives.push(and(parts));
                }
                Ok(or(alternatives))
            }
        }
    }

    fn in_list(&self, left: &Node, right: &Node, negated: bool, location: i32) -> SqlResult<Expr> {
        let here = self.planner.at(location);
        let items = required(names::list(right))?;
        if let Some(NodeEnum::RowExpr(row)) = inner(left) {
            let alternatives: SqlResult<Vec<Expr>> = items
                .iter()
                .map(|item| match inner(item) {
                    Some(NodeEnum::RowExpr(other)) => self.rows("=", row, other, location),
                    _ => Err(self.planner.unsupported("a row IN single values", location)),
                })
                .collect();
            let found = or(alternatives?);
            return Ok(if negated {
                Expr::Not(Box::new(found))
            } else {
                found
            });
        }
        let mut input = self.bind(left)?;
        let list: SqlResult<Vec<Expr>> = items
            .iter()
            .map(|item| self.beside(input.ty(), self.bind(item)?))
            .collect();
        let list = list?;
        let is_caseless = |expr: &Expr| expr.ty() == SqlType::Citext;
        let is_other = |expr: &Expr| !matches!(expr.ty(), SqlType::Citext | SqlType::Unknown);
        let all = || list.iter().chain([&input]);
        if has_figure(all()) {
            let (op, all): (_, fn(Vec<Expr>) -> Expr) = match negated {
                true => (CompareOp::Ne, and),
                false => (CompareOp::Eq, or),
            };
            let compared = list.iter();
            let compared = compared.map(|item| self.compare(op, input.clone(), item.clone()));
            return Ok(all(compared.collect::<SqlResult<_>>().map_err(here)?));
        }
        if all().any(is_caseless) && all().any(is_other) {
            return self.in_mixed_case(input, list, negated).map_err(here);
        }
        let mut ty = input.ty();
        for item in &list {
            if item.ty() != ty && item.ty() != SqlType::Unknown {
                ty = compare_type(CompareOp::Eq, ty, item.ty()).map_err(&here)?;
            }
        }
        if ty.is_record() {
            // As in PostgreSQL: what columns do not take part in is compared as values, unless it is alone.
            let constants = list.iter().filter(|item| !item.uses_columns()).count();
            let same = list.into_iter().zip(items).map(|(item, node)| {
                let by_parts = item.uses_columns() || constants == 1;
                let found = match by_parts && is_cast_row(left) && is_cast_row(node) {
                    true => self.same_parts(&input, &item),
                    false => self.compare(CompareOp::Eq, input.clone(), item),
                };
                found.map_err(&here)
            });
            let found = or(same.collect::<SqlResult<Vec<Expr>>>()?);
            return Ok(match negated {
                true => Expr::Not(Box::new(found)),
                false => found,
            });
        }
        if ty == SqlType::Unknown {
            ty = SqlType::Text;
        }
        input = coerce::implicit(self.planner, input, ty).map_err(&here)?;
        let list: SqlResult<Vec<Expr>> = list
            .into_iter()
            .zip(items)
            .map(|(item, node)| {
                coerce::implicit(self.planner, item, ty)
                    .map_err(self.planner.at(names::location(node)))
            })
            .collect();
        let (input, list) = ctid::among(input, list?);
        Ok(in_or_equal(input, list, negated))
    }

    /// As in PostgreSQL: what columns do not take part in becomes one type, unless it is alone; that decides whether case counts.
    fn in_mixed_case(&self, input: Expr, mut list: Vec<Expr>, negated: bool) -> SqlResult<Expr> {
        let constants = list.iter().filter(|item| !item.uses_columns());
        let types: Vec<SqlType> = [&input]
            .into_iter()
            .chain(constants)
            .map(Expr::ty)
            .collect();
        if types.len() > 2
            && let Ok(common) = common_type(&types, "IN")
        {
            for item in list.iter_mut().filter(|item| !item.uses_columns()) {
                *item = coerce::implicit(self.planner, item.clone(), common)?;
            }
        }
        let same = list.into_iter();
        let same = same.map(|item| self.compare(CompareOp::Eq, input.clone(), item));
        let found = or(same.collect::<SqlResult<Vec<Expr>>>()?);
        Ok(match negated {
            true => Expr::Not(Box::new(found)),
            false => found,
        })
    }

    fn between(&self, left: &Node, bounds: &Node, negated: bool, location: i32) -> SqlResult<Expr> {
        let here = self.planner.at(location);
        let [low, high] = required(names::list(bounds))? else {
            return Err(SqlError::internal("BETWEEN without two bounds"));
        };
        let (input, low, high) = (self.bind(left)?, self.bind(low)?, self.bind(high)?);
        let (first, second, both): (_, _, fn(Vec<Expr>) -> Expr) = match negated {
            true => (CompareOp::Lt, CompareOp::Gt, or),
            false => (CompareOp::Ge, CompareOp::Le, and),
        };
        once_if_large(input, |input| {
            let low = self.compare(first, input.clone(), low)?;
            Ok(both(vec![low, self.compare(second, input.clone(), high)?]))
        })
        .map_err(&here)
    }

    fn between_symmetric(
        &self,
        left: &Node,
        bounds: &Node,
        negated: bool,
        location: i32,
    ) -> SqlResult<Expr> {
        let here = self.planner.at(location);
        let [low, high] = required(names::list(bounds))? else {
            return Err(SqlError::internal("BETWEEN without two bounds"));
        };
        let (input, low, high) = (self.bind(left)?, self.bind(low)?, self.bind(high)?);
        let one_way = |input: &Expr, low: &Expr, high: &Expr| -> SqlResult<Expr> {
            Ok(and(vec![
                self.compare(CompareOp::Ge, input.clone(), low.clone())?,
                self.compare(CompareOp::Le, input.clone(), high.clone())?,
            ]))
        };
        let either = once_if_large(input, |input| {
            Ok(or(vec![
                one_way(input, &low, &high)?,
                one_way(input, &high, &low)?,
            ]))
        });
        let either = either.map_err(&here)?;
        Ok(if negated {
            Expr::Not(Box::new(either))
        } else {
            either
        })
    }

    /// `left symbol ANY|ALL (array)`.
    fn quantified(
        &self,
        symbol: &str,
        left: &Node,
        right: &Node,
        all: bool,
        location: i32,
    ) -> SqlResult<Expr> {
        let here = self.planner.at(location);
        let Some(op) = comparison(symbol) else {
            let word = if all { "ALL" } else { "ANY" };
            let (left, right) = (self.bind(left)?, self.bind(right)?);
            let name = format!("{symbol} {word}");
            return match function::is_known(&name) {
                true => self.apply(&name, vec![left, right]).map_err(here),
                false => Err(self
                    .planner
                    .unsupported(format!("operator {name} (array)"), location)),
            };
        };
        let mut input = self.bind(left)?;
        let mut array = self.bind(right)?;
        if input.ty() == SqlType::Unknown {
            let element = array.ty().element().unwrap_or(SqlType::Text);
            input = coerce::implicit(self.planner, input, element).map_err(&here)?;
        }
        if array.ty() == SqlType::Unknown {
            let ty = compare_type(op, input.ty(), SqlType::Unknown).map_err(&here)?;
            let wanted = ty
                .array_of()
                .ok_or_else(|| self.planner.unsupported(format!("type {ty}[]"), location))?;
            array = coerce::implicit(self.planner, array, wanted).map_err(&here)?;
        }
        let Some(element) = array.ty().element() else {
            return Err(self.planner.error(
                SqlState::WRONG_OBJECT_TYPE,
                "op ANY/ALL (array) requires array on right side",
                location,
            ));
        };
        if has_figure([&input]) {
            let one = Expr::null(element);
            self.compare(op, input, one).map_err(&here)?;
            let what = format!("operator {symbol} ANY and ALL (array) of type {element}");
            return Err(self.planner.unsupported(what, location));
        }
        let ty = compare_type(op, input.ty(), element).map_err(&here)?;
        input = coerce::implicit(self.planner, input, ty).map_err(&here)?;
        if let Some(list) = elements(&array)
            && ((op == CompareOp::Eq && !all) || (op == CompareOp::Ne && all))
            && !list.is_empty()
        {
            let list: SqlResult<Vec<Expr>> = list
                .into_iter()
                .map(|e| coerce::implicit(self.planner, e, ty))
                .collect();
            let (input, list) = ctid::among(input, list.map_err(&here)?);
            return Ok(in_or_equal(input, list, all));
        }
        if ty != element {
            let wanted = ty
                .array_of()
                .ok_or_else(|| self.planner.unsupported(format!("type {ty}[]"), location))?;
            array = coerce::implicit(self.planner, array, wanted).map_err(&here)?;
        }
        let (input, array) = ctid::beside_array(input, array);
        Ok(Expr::Quantified {
            input: Box::new(input),
            op,
            array: Box::new(array),
            all,
        })
    }
}

/// The elements of an array that is spelled out.
fn elements(array: &Expr) -> Option<Vec<Expr>> {
    match array {
        Expr::Array { elements, .. } => Some(elements.clone()),
        Expr::Const(Value::Array(array), _) => {
            let Array {
                element, values, ..
            } = &**array;
            Some(
                values
                    .iter()
                    .map(|v| Expr::Const(v.clone(), *element))
                    .collect(),
            )
        }
        _ => None,
    }
}

/// IN over one value is `=`.
fn in_or_equal(input: Expr, mut list: Vec<Expr>, negated: bool) -> Expr {
    if list.len() == 1 {
        return Expr::Compare {
            op: if negated {
                CompareOp::Ne
            } else {
                CompareOp::Eq
            },
            left: Box::new(input),
            right: Box::new(list.swap_remove(0)),
        };
    }
    Expr::InList {
        input: Box::new(input),
        list,
        negated,
    }
}
