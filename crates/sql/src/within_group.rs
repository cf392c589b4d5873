//! WITHIN GROUP: `mode`, `percentile_disc`, `percentile_cont`, and where a row would stand that is not there: `rank`, `dense_rank`,
//! `percent_rank`, `cume_dist`.
//!
//! Relies on: `call` for the aggregate `array_agg`, `ir` for what is taken out of its array.  Promises: executors know nothing of
//! ordered sets.  Does not: windows.
//!
//! ```text
//!   percentile_disc(f) WITHIN GROUP (ORDER BY x) FILTER (WHERE c)
//!     ─►  function of  array_agg(x ORDER BY x) FILTER (WHERE c AND x IS NOT NULL)  and of f
//!   rank(a, b) WITHIN GROUP (ORDER BY x, y) FILTER (WHERE c)
//!     ─►  function of  array_agg(x) FILTER (WHERE c), a,  array_agg(y) FILTER (WHERE c), b
//! ```

use crate::call::direction;
use crate::coerce;
use crate::comparable;
use crate::composite;
use crate::expr::{AGGREGATE_BASE, Binder};
use crate::names::inner;
use crate::tree::{node, string};
use pg_query::NodeEnum;
use pg_query::protobuf::{
    BoolExpr, BoolExprType, CoercionForm, FuncCall, Node, NullTest, NullTestType, RowExpr,
};
use quintet_base::types::{TypeFamily, format_type};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::cast::common_type;
use quintet_ir::function::hypothetical::{DESCENDING, NULLS_FIRST};

impl Binder<'_, '_> {
    /// Binds `name(direct arguments) WITHIN GROUP (ORDER BY key)`.
    pub(crate) fn within_group(&self, name: &str, call: &FuncCall) -> SqlResult<Expr> {
        let location = call.location;
        if call.over.is_some() {
            let message = format!("OVER is not supported for ordered-set aggregate {name}");
            return Err(self
                .planner
                .error(SqlState::FEATURE_NOT_SUPPORTED, message, location));
        }
        let arguments = match name {
            "rank" | "dense_rank" | "percent_rank" | "cume_dist" => {
                return self.hypothetical(name, call);
            }
            "mode" => 0,
            "percentile_disc" | "percentile_cont" => 1,
            _ => return Err(self.planner.unsupported("WITHIN GROUP", location)),
        };
        let [key] = call.agg_order.as_slice() else {
            return Err(self.no_such(name, location));
        };
        if call.args.len() != arguments {
            return Err(self.no_such(name, location));
        }
        let Some(NodeEnum::SortBy(sort)) = inner(key) else {
            return Err(SqlError::internal("WITHIN GROUP without a key"));
        };
        let key = sort.node.clone().map(|node| *node).unwrap_or_default();
        let is_there = node(NodeEnum::NullTest(Box::new(NullTest {
            arg: Some(Box::new(key.clone())),
            nulltesttype: NullTestType::IsNotNull.into(),
            location,
            ..NullTest::default()
        })));
        let filter = match call.agg_filter.as_deref() {
            None => is_there,
            Some(filter) => node(NodeEnum::BoolExpr(Box::new(BoolExpr {
                boolop: BoolExprType::AndExpr.into(),
                args: vec![filter.clone(), is_there],
                location,
                ..BoolExpr::default()
            }))),
        };
        let mut gathered = FuncCall {
            funcname: vec![string("pg_catalog"), string("array_agg")],
            args: vec![key.clone()],
            agg_filter: Some(Box::new(filter)),
            agg_within_group: false,
            ..call.clone()
        };
        let known = self.aggregates.map_or(0, |all| all.borrow().len());
        let mut array = self.call(&gathered)?;
        // Arrays would become one of more dimensions: they are put into rows, and the one that is found is taken out.
        let within = self.gathered_arrays(&array);
        if within.is_some() {
            if let Some(all) = self.aggregates {
                all.borrow_mut().truncate(known);
            }
            gathered.args = vec![node(NodeEnum::RowExpr(Box::new(RowExpr {
                args: vec![key],
                row_format: CoercionForm::CoerceExplicitCall.into(),
                location,
                ..RowExpr::default()
            })))];
            array = self.call(&gathered)?;
        }
        let here = self.planner.at(location);
        let fractions = call.args.first().map(|arg| self.bind(arg)).transpose()?;
        let fractions = fractions.map(|fractions| {
            let wanted = match fractions.ty().element() {
                Some(_) => SqlType::Float8Array,
                None => SqlType::Float8,
            };
            coerce::implicit(self.planner, fractions, wanted).map_err(&here)
        });
        let fractions = fractions.transpose()?;
        if let Some(ty) = within
            && fractions
                .as_ref()
                .is_some_and(|it| it.ty().element().is_some())
        {
            let ty = format_type(ty, TypeMod::NONE);
            let message = format!("could not find array type for data type {ty}");
            return Err(here(SqlError::new(SqlState::UNDEFINED_OBJECT, message)));
        }
        let function = match name {
            "mode" => "[mode]",
            "percentile_disc" => "[disc]",
            _ => {
                let element = array.ty().element().unwrap_or(SqlType::Unknown);
                match element.family() {
                    _ if element == SqlType::Interval => {}
                    TypeFamily::Integer | TypeFamily::Float | TypeFamily::Exact => {
                        array = coerce::explicit(
                            self.planner,
                            array,
                            SqlType::Float8Array,
                            TypeMod::NONE,
                        )
                        .map_err(&here)?;
                    }
                    _ => return Err(self.no_such(name, location)),
                }
                "[cont]"
            }
        };
        let args = [array].into_iter().chain(fractions).collect();
        let found = self.apply(function, args).map_err(here)?;
        match within {
            Some(ty) => composite::field(&found, 0, ty),
            None => Ok(found),
        }
    }

    /// Binds `rank(direct arguments) WITHIN GROUP (ORDER BY keys)` and its kin.
    fn hypothetical(&self, name: &str, call: &FuncCall) -> SqlResult<Expr> {
        let location = call.location;
        let here = self.planner.at(location);
        if call.func_variadic {
            let message = "cannot use VARIADIC with WITHIN GROUP";
            return Err(self
                .planner
                .error(SqlState::SYNTAX_ERROR, message, location));
        }
        let mut places: Option<Expr> = None;
        let mut keys = Vec::with_capacity(call.agg_order.len());
        for key in &call.agg_order {
            let Some(NodeEnum::SortBy(sort)) = inner(key) else {
                return Err(SqlError::internal("WITHIN GROUP without a key"));
            };
            if !sort.use_op.is_empty() {
                return Err(self.planner.unsupported("ORDER BY … USING", sort.location));
            }
            let gathered = FuncCall {
                funcname: vec![string("pg_catalog"), string("array_agg")],
                args: sort.node.iter().map(|node| (**node).clone()).collect(),
                agg_order: Vec::new(),
                agg_within_group: false,
                ..call.clone()
            };
            let all = self.call(&gathered)?;
            if self.gathered_arrays(&all).is_some() {
                let what = "WITHIN GROUP (ORDER BY …) of an array";
                return Err(self.planner.unsupported(what, location));
            }
            keys.push((all, direction(sort.sortby_dir(), sort.sortby_nulls())));
        }
        let direct = call.args.iter().map(|arg| self.direct(arg, location));
        let direct = direct.collect::<SqlResult<Vec<Expr>>>()?;
        if direct.len() != keys.len() {
            let element = |(all, _): &(Expr, _)| all.ty().element().unwrap_or(SqlType::Unknown);
            let types = direct.iter().map(Expr::ty).chain(keys.iter().map(element));
            let types: Vec<&str> = types.map(SqlType::name).collect();
            let message = format!("function {name}({}) does not exist", types.join(", "));
            let error = self
                .planner
                .error(SqlState::UNDEFINED_FUNCTION, message, location);
            return Err(error.hint(format!(
                "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments (here {}) must match the number of ordering columns (here {}).",
                direct.len(),
                keys.len()
            )));
        }
        for (asked, (all, (descending, nulls_first))) in direct.into_iter().zip(keys) {
            let element = all.ty().element().unwrap_or(SqlType::Unknown);
            let common = common_type(&[element, asked.ty()], "WITHIN GROUP").map_err(&here)?;
            comparable::ordered(self.planner, common, location)?;
            let asked = coerce::implicit(self.planner, asked, common).map_err(&here)?;
            // Blanks at the end do not count.
            let compared = match common {
                SqlType::Bpchar | SqlType::Unknown => SqlType::Text,
                common => common,
            };
            let asked =
                coerce::explicit(self.planner, asked, compared, TypeMod::NONE).map_err(&here)?;
            let whole = compared.array_of().ok_or_else(|| {
                let what = format!("WITHIN GROUP of type {}", compared.name());
                self.planner.unsupported(what, location)
            })?;
            let all = coerce::explicit(self.planner, all, whole, TypeMod::NONE).map_err(&here)?;
            let mut how = String::new();
            how.extend(descending.then_some(DESCENDING));
            how.extend(nulls_first.then_some(NULLS_FIRST));
            let how = Expr::Const(Value::text(&how), SqlType::Text);
            let by_key = self
                .apply("[order]", vec![all, asked, how])
                .map_err(&here)?;
            places = Some(match places {
                None => by_key,
                Some(before) => self.apply("[then]", vec![before, by_key]).map_err(&here)?,
            });
        }
        let places = places.ok_or_else(|| self.no_such(name, location))?;
        self.apply(&format!("[{name}]"), vec![places]).map_err(here)
    }

    /// The type of what `array_agg` gathers, if these are arrays, which become one of more dimensions.
    fn gathered_arrays(&self, all: &Expr) -> Option<SqlType> {
        let (Expr::Column(place, _), Some(aggregates)) = (all, self.aggregates) else {
            return None;
        };
        let aggregates = aggregates.borrow();
        let call = place
            .checked_sub(AGGREGATE_BASE)
            .and_then(|place| aggregates.get(place));
        let key = call.and_then(|call| call.args.first())?.ty();
        key.element().map(|_| key)
    }

    /// A direct argument: of what is grouped by, without aggregates.
    fn direct(&self, node: &Node, location: i32) -> SqlResult<Expr> {
        let bound = self.bind(node)?;
        let mut columns = Vec::new();
        bound.collect_columns(&mut columns);
        match columns.iter().any(|&place| place >= AGGREGATE_BASE) {
            false => Ok(bound),
            true => Err(self.planner.error(
                SqlState::GROUPING_ERROR,
                "aggregate function calls cannot be nested",
                location,
            )),
        }
    }

    fn no_such(&self, name: &str, location: i32) -> SqlError {
        self.planner.error(
            SqlState::UNDEFINED_FUNCTION,
            format!("there is no ordered-set aggregate {name} for these arguments"),
            location,
        )
    }
}
