//! Rows to their groups' aggregates, without making values of them.
//!
//! Relies on: `sieve` for formulas over stored rows and over frames.  Promises: a row is added as `aggregate` would add
//! it, or not at all: where a formula has no answer.  Does not: DISTINCT and ORDER BY inside a call, or calls of more
//! than one argument; there is no such gathering then.
//!
//! ```text
//!   row or frame ─► values, each computed once ─► image of the keys ─► group
//!                                            └──────────────────────► its aggregates
//! ```
//! Hot path: once for each row that is aggregated.

use crate::context::Env;
use crate::groups::Groups;
use crate::lean::push;
use crate::sieve::{over_frame, over_row, settled};
use quintet_base::datum::Datum;
use quintet_base::{SqlResult, SqlType};
use quintet_ir::aggregate::AggregateCall;
use quintet_ir::formula::{Formula, Scope};
use quintet_ir::{Expr, Plan};

/// Values of one row.
const VALUES_MAX: usize = 24;

/// Without an answer for more than one row of so many, asking does not pay.
const ROWS_FOR_EACH_MISS: u32 = 8;

/// What is computed of each row.
pub(crate) struct Gather {
    /// Each once.
    values: Vec<Formula>,
    /// The keys, by their numbers among the values.
    keys: Vec<(usize, SqlType)>,
    /// Of each call, FILTER and argument.
    calls: Vec<(Option<usize>, Option<usize>)>,
    over_rows: bool,
    answered: u32,
    missed: u32,
}

impl Gather {
    /// For the groups of an input, if everything has a formula.
    pub fn new(
        input: &Plan,
        keys: &[Expr],
        calls: &[AggregateCall],
        env: &Env<'_>,
    ) -> Option<Gather> {
        let plain =
            |call: &AggregateCall| !call.distinct && call.order.is_empty() && call.args.len() <= 1;
        if !calls.iter().all(plain) {
            return None;
        }
        let access = match input {
            Plan::Scan(access) if !env.whole_rows => Some(access),
            _ => None,
        };
        let mut known: Vec<String> = Vec::new();
        let mut values = Vec::new();
        let mut number = |expr: &Expr| {
            let expr = settled(expr, env.params, env.host);
            // Expressions have no equality; what looks the same is the same.
            let looks = format!("{expr:?}");
            if let Some(number) = known.iter().position(|known| *known == looks) {
                return Some(number);
            }
            let formula = match access {
                Some(access) => over_row(&expr, access),
                None => over_frame(&expr),
            };
            known.push(looks);
            values.push(formula?);
            Some(values.len() - 1)
        };
        let keys = keys.iter().map(|key| Some((number(key)?, key.ty())));
        let keys = keys.collect::<Option<Vec<_>>>()?;
        let mut each = Vec::with_capacity(calls.len());
        for call in calls {
            let filter = match &call.filter {
                Some(filter) => Some(number(filter)?),
                None => None,
            };
            let arg = match call.args.first() {
                Some(arg) => Some(number(arg)?),
                None => None,
            };
            each.push((filter, arg));
        }
        (values.len() <= VALUES_MAX).then_some(Gather {
            values,
            keys,
            calls: each,
            over_rows: access.is_some(),
            answered: 0,
            missed: 0,
        })
    }

    /// Whether stored rows are looked at, rather than frames.
    pub fn is_over_rows(&self) -> bool {
        self.over_rows
    }

    /// Whether most rows have an answer.
    pub fn pays(&self) -> bool {
        self.missed <= ROWS_FOR_EACH_MISS + self.answered / ROWS_FOR_EACH_MISS
    }

    /// Adds a row to its group; false: there is no answer, and nothing has happened.
    ///
    /// # Errors
    /// Those of the aggregates.
    #[inline]
    pub fn add(
        &mut self,
        scope: &Scope<'_>,
        calls: &[AggregateCall],
        groups: &mut Groups,
    ) -> SqlResult<bool> {
        let mut values = [Datum::Null; VALUES_MAX];
        for (place, formula) in values.iter_mut().zip(&self.values) {
            let Some(value) = formula.eval(scope) else {
                self.missed = self.missed.saturating_add(1);
                return Ok(false);
            };
            *place = value;
        }
        self.answered = self.answered.saturating_add(1);
        let image = groups.image();
        image.clear();
        for (number, ty) in &self.keys {
            push(values[*number], *ty, image);
        }
        let keys = self.keys.iter();
        let place = groups.place(keys.map(|(number, _)| values[*number].to_value()), calls);
        for (running, (filter, arg)) in groups.running(place).iter_mut().zip(&self.calls) {
            if let Some(filter) = filter
                && !matches!(values[*filter], Datum::Bool(true))
            {
                continue;
            }
            running
                .accumulator
                .add_datum(arg.map_or(Datum::Null, |number| values[number]))?;
        }
        Ok(true)
    }
}
