//! Views whose INSTEAD OF triggers do what a statement asks.
//!
//! Relies on: `view` for what a view shows; `routine::fire`, which hands those rows to the triggers and writes none.  Promises: to the planner
//! such a view is a table of its columns without keys, indexes or defaults; the rows of an UPDATE or DELETE are what its query gives, one
//! call for each.  Does not: lock what is below.

use super::{DELETE, INSERT, Target, UPDATE, possible};
use crate::catalog::Catalog;
use crate::from::Doing;
use crate::planner::Planner;
use crate::records::ViewRecord;
use crate::stored::defaults_of_view;
use crate::view::{query_of, rows_of_view};
use quintet_base::{SqlError, SqlResult, SqlType, TableId, Value};
use quintet_ir::Expr;
use quintet_ir::plan::Plan;
use std::sync::Arc;

/// Whether a relation has INSTEAD OF triggers for what a statement does.
pub(super) fn has_triggers(catalog: &Catalog, id: TableId, doing: Doing) -> bool {
    let mut triggers = catalog.triggers_of(id).iter();
    triggers.any(|trigger| {
        let fires = match doing {
            Doing::Insert => trigger.insert,
            Doing::Update => trigger.update,
            Doing::Delete => trigger.delete,
        };
        trigger.more.instead && fires
    })
}

/// Whether triggers do what an UPDATE, a DELETE and an INSERT ask of a view.
pub(crate) fn fired(catalog: &Catalog, view: TableId) -> [bool; 3] {
    [Doing::Update, Doing::Delete, Doing::Insert].map(|doing| has_triggers(catalog, view, doing))
}

/// What can be done to the rows of a relation, by itself or by INSTEAD OF triggers.
pub(crate) fn possible_with_triggers(planner: &Planner, id: TableId) -> i32 {
    let kinds = [
        (Doing::Insert, INSERT),
        (Doing::Update, UPDATE),
        (Doing::Delete, DELETE),
    ];
    let by_triggers = kinds
        .into_iter()
        .filter(|(doing, _)| has_triggers(planner.catalog(), id, *doing));
    by_triggers.fold(possible(planner, id), |all, (_, bit)| all | bit)
}

impl Target {
    /// A view whose triggers do what is asked.
    ///
    /// # Errors
    /// What the view's query says.
    pub(super) fn of_triggers(
        planner: &Planner,
        view: &ViewRecord,
        doing: Doing,
    ) -> SqlResult<Target> {
        let table = planner.catalog().triggered(view.id);
        let mut table = table.ok_or_else(|| SqlError::internal("a view is gone"))?;
        for (place, default) in defaults_of_view(planner.catalog(), view)? {
            Arc::make_mut(&mut table).columns[place].default = Some(default);
        }
        let shown = match doing {
            Doing::Insert => None,
            Doing::Update | Doing::Delete => {
                let planned = rows_of_view(planner, view, &*query_of(view)?)?;
                let columns = table.columns.iter().enumerate();
                let mut exprs: Vec<Expr> = columns
                    .map(|(n, column)| Expr::Column(n, column.ty))
                    .collect();
                // A table without a key has a number for each row.
                exprs.push(Expr::Const(Value::Int8(0), SqlType::Int8));
                Some(Plan::Project {
                    input: Box::new(planned.plan),
                    exprs,
                })
            }
        };
        Ok(Target {
            table,
            seen: None,
            shown,
        })
    }

    /// Whether triggers do what is asked.
    pub(super) fn is_fired(&self) -> bool {
        self.table.space == quintet_base::SpaceId(0)
    }
}
