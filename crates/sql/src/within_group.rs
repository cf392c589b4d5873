//! WITHIN GROUP: `mode`, `percentile_disc`, `percentile_cont`.
//!
//! Relies on: `call` for the aggregate `array_agg`, `ir` for what is taken out of its array.  Promises: executors know nothing of
//! ordered sets.  Does not: ranks of rows that are not there (`rank(3) WITHIN GROUP`: 0A000), several keys, windows.
//!
//! ```text
//!   percentile_disc(f) WITHIN GROUP (ORDER BY x) FILTER (WHERE c)
//!     ─►  function of  array_agg(x ORDER BY x) FILTER (WHERE c AND x IS NOT NULL)  and of f
//! ```

use crate::coerce;
use crate::expr::Binder;
use crate::names::inner;
use crate::tree::{node, string};
use pg_query::NodeEnum;
use pg_query::protobuf::{BoolExpr, BoolExprType, FuncCall, NullTest, NullTestType};
use quintet_base::types::TypeFamily;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod};
use quintet_ir::Expr;

impl Binder<'_, '_> {
    /// Binds `name(direct arguments) WITHIN GROUP (ORDER BY key)`.
    pub(crate) fn within_group(&self, name: &str, call: &FuncCall) -> SqlResult<Expr> {
        let location = call.location;
        let arguments = match name {
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
        let gathered = FuncCall {
            funcname: vec![string("pg_catalog"), string("array_agg")],
            args: vec![key],
            agg_filter: Some(Box::new(filter)),
            agg_within_group: false,
            ..call.clone()
        };
        let mut array = self.call(&gathered)?;
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
        self.apply(function, args).map_err(here)
    }

    fn no_such(&self, name: &str, location: i32) -> SqlError {
        self.planner.error(
            SqlState::UNDEFINED_FUNCTION,
            format!("there is no ordered-set aggregate {name} for these arguments"),
            location,
        )
    }
}
