//! Keys that an INSERT … ON CONFLICT DO UPDATE of a table with triggers has written: none may be written twice.
//!
//! Relies on: `changes` for keys in arrays.  Promises: `21000` for a row in the way that the statement has added or changed itself, as
//! without triggers. Only keys that are proposed more than once are kept, so the arrays stay short.
//! Does not: see that a BEFORE trigger makes two keys alike that were not.

use super::Firing;
use super::rows::{by_key, sorted};
use crate::names::inner;
use crate::parse::parse_expression;
use crate::routine::changes::Kept;
use crate::routine::embed::Embedding;
use pg_query::NodeEnum;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::aggregate::AggregateFunction;
use quintet_ir::plan::Plan;
use quintet_ir::routine::Action;
use quintet_ir::statement::{Arbiter, OutputColumn};
use quintet_ir::window::WindowFunction;
use quintet_ir::{CompareOp, Expr};

/// What is known of the keys so far.
pub(super) struct Touched {
    kept: Kept,
    /// Numbers of the key's columns.
    key: Vec<usize>,
    /// The slot (boolean) of whether the row at hand has a key that is proposed more than once.
    again: usize,
}

impl Touched {
    /// The query of the rows proposed, in its order, with what `again` is of each.
    pub fn marked(
        &self,
        query: Plan,
        visible: &[(usize, SqlType)],
        into: &mut Vec<(usize, Expr)>,
    ) -> Plan {
        let width = visible.len();
        let count = Expr::Column(width + 1, SqlType::Int8);
        let one = Expr::Const(Value::Int8(1), SqlType::Int8);
        let again = Expr::Compare {
            op: CompareOp::Gt,
            left: Box::new(count),
            right: Box::new(one),
        };
        into.push((self.again, again));
        let places = visible.iter().enumerate();
        let key = places.filter(|(_, (number, _))| self.key.contains(number));
        let key = key.map(|(place, (_, ty))| Expr::Column(place, *ty));
        let all = WindowFunction::Aggregate(AggregateFunction::CountRows);
        let counted = by_key(query, width, key.collect(), all);
        sorted(counted, vec![Expr::Column(width, SqlType::Int8)])
    }
}

impl Embedding<'_, '_> {
    /// No key is touched yet; `None` if there is only one row.
    ///
    /// # Errors
    /// `0A000` for a key of which there are no arrays.
    pub(super) fn begin_touching(
        &mut self,
        firing: &Firing,
        arbiter: Arbiter,
        source: &Plan,
    ) -> SqlResult<Option<Touched>> {
        if matches!(source, Plan::Values { rows, .. } if rows.len() < 2) {
            return Ok(None);
        }
        let table = &firing.table;
        let key = match arbiter {
            Arbiter::Primary => table.key_columns(),
            Arbiter::Index(number) => table.indexes[number].columns.clone(),
        };
        // What is refused elsewhere.
        if key
            .iter()
            .any(|n| table.columns.get(*n).is_none_or(|c| c.hidden))
        {
            return Ok(None);
        }
        let columns = key.iter().enumerate().map(|(place, number)| OutputColumn {
            name: format!("c{place}"),
            ty: table.columns[*number].ty,
            modifier: TypeMod::NONE,
            origin: None,
        });
        let kept = self.begin_keeping(&columns.collect::<Vec<_>>())?;
        let again = self.variables.hidden(SqlType::Bool);
        Ok(Some(Touched { kept, key, again }))
    }

    /// The row with the key in these slots has been written.
    pub(super) fn touch(&mut self, touched: &Touched, slots: &[usize]) -> SqlResult<()> {
        let types = slots.iter().zip(touched.kept.types());
        let row = types.map(|(slot, ty)| Expr::Param(*slot, ty)).collect();
        let (_, steps) = self.apart(|this| this.keep(&touched.kept, row))?;
        self.add(Action::If {
            branches: vec![(Expr::Param(touched.again, SqlType::Bool), steps)],
            otherwise: Vec::new(),
        });
        Ok(())
    }

    /// Fails if it has.
    pub(super) fn refuse_touched(&mut self, touched: &Touched, slots: &[usize]) -> SqlResult<()> {
        let known = self.variables.numbered.len();
        let mut conditions = Vec::new();
        for (place, slot) in slots.iter().enumerate() {
            self.variables.numbered.push(Some(*slot));
            conditions.push(format!("r.c{place} = ${}", self.variables.numbered.len()));
        }
        let arrays: Vec<String> = touched.kept.numbers().map(|n| format!("${n}")).collect();
        let names: Vec<String> = (0..slots.len()).map(|place| format!("c{place}")).collect();
        let query = format!(
            "(SELECT 1 FROM pg_catalog.unnest({}) AS r ({}) WHERE {})",
            arrays.join(", "),
            names.join(", "),
            conditions.join(" AND ")
        );
        let parsed = parse_expression(&query)?;
        let found = match inner(&parsed) {
            Some(NodeEnum::SubLink(link)) => link.subselect.as_deref().and_then(inner).cloned(),
            _ => None,
        };
        let found = found.ok_or_else(|| SqlError::internal("a query is no query"))?;
        let (_, steps) = self.apart(|this| {
            let statement = this.plan_alone("", &found)?.statement;
            let body = vec![this.step(Action::Fail(Box::new(changed_twice())))];
            this.add(Action::ForRow {
                statement,
                into: Vec::new(),
                body,
            });
            Ok(())
        })?;
        self.variables.numbered.truncate(known);
        self.add(Action::If {
            branches: vec![(Expr::Param(touched.again, SqlType::Bool), steps)],
            otherwise: Vec::new(),
        });
        Ok(())
    }
}

fn changed_twice() -> SqlError {
    SqlError::new(
        SqlState::CARDINALITY_VIOLATION,
        "ON CONFLICT DO UPDATE command cannot affect row a second time",
    )
    .hint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
}
