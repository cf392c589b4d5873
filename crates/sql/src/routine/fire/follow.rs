//! What a foreign key brings about where triggers wait for it.
//!
//! Relies on: `references::Waits`, which says where that is so; engines leave these keys' actions alone, and look when the transaction
//! commits whether anybody still refers to nothing.  Promises: rows that refer to one that goes or changes its key go or change by a statement
//! of their own, which fires their triggers; it is run as the owner of their table, past policies, before the AFTER triggers of the row
//! that brought it about. Keys may refer to one another in circles: each action is a routine of the program.  Does not: actions of a
//! row that goes to another partition (0A000).
//!
//! ```text
//!   row of the parent ──► AFTER … ROW ──► action(old key, new key) ──► DELETE or UPDATE of the child ──► its triggers, its actions
//! ```

use super::{Event, Firing, Seen, is_replica};
use crate::catalog::Catalog;
use crate::expr::and;
use crate::planner::PlanContext;
use crate::records::ForeignKeyRecord;
use crate::references;
use crate::routine::embed::Embedding;
use crate::routine::link::Linker;
use crate::row_security::PartOf;
use crate::row_value;
use crate::system::print::quoted;
use crate::variables::Variables;
use quintet_base::{ConstraintId, SqlError, SqlResult, TypeMod};
use quintet_ir::routine::{Action, Into, Output, Slot};
use quintet_ir::schema::TableDef;
use quintet_ir::{Expr, Guise, Object, ObjectKind, ReferentialAction, Routine};

/// An action of a foreign key.
pub(super) struct Follow {
    key: ConstraintId,
    /// The columns of the parent that are referred to.
    columns: Vec<usize>,
}

/// The actions that a change of a table brings about. `assigned`: the columns that an UPDATE sets, `None` if others may change, too.
pub(super) fn follows(table: &TableDef, event: Event, assigned: Option<&[usize]>) -> Vec<Follow> {
    let Some(references) = &table.references else {
        return Vec::new();
    };
    let brings = references.to(0).filter(|key| match event {
        Event::Insert => false,
        Event::Delete => key.on_delete == ReferentialAction::InSteps,
        Event::Update => {
            let changes = assigned.is_none_or(|columns| {
                (columns.iter()).any(|column| key.parent_columns.contains(column))
            });
            changes && key.on_update == ReferentialAction::InSteps
        }
    });
    let follow = brings.map(|key| Follow {
        key: key.id,
        columns: key.parent_columns.clone(),
    });
    follow.collect()
}

impl Embedding<'_, '_> {
    /// Does what follows from a change of one row.
    pub(super) fn follow(&mut self, firing: &Firing, event: Event, seen: &Seen) -> SqlResult<()> {
        let (follows, told) = match event {
            Event::Insert => return Ok(()),
            Event::Delete => (&firing.deletes, references::Event::Delete),
            Event::Update => (&firing.updates, references::Event::Update),
        };
        let visible = firing.visible();
        let values = |slots: &[usize], columns: &[usize]| -> SqlResult<Vec<Expr>> {
            let place = |column: &usize| visible.iter().position(|(number, _)| number == column);
            let value = |column| {
                let place = place(column).filter(|place| *place < slots.len());
                let place = place.ok_or_else(|| SqlError::internal("a key of a hidden column"))?;
                Ok(Expr::Param(slots[place], visible[place].1))
            };
            columns.iter().map(value).collect()
        };
        for follow in follows {
            let mut arguments = values(&seen.old, &follow.columns)?;
            // A NULL is nobody's parent.
            let is_there = |value| Expr::Not(Box::new(row_value::is_null(value)));
            let mut conditions: Vec<Expr> = arguments.iter().map(is_there).collect();
            if event == Event::Update {
                let new = values(&seen.new, &follow.columns)?;
                let same = arguments.iter().zip(&new).map(|(old, new)| Expr::Distinct {
                    left: Box::new(old.clone()),
                    right: Box::new(new.clone()),
                    negated: true,
                });
                conditions.push(Expr::Not(Box::new(and(same.collect()))));
                arguments.extend(new);
            }
            let routine = self.linker.number_of_action(follow.key, told);
            let call = self.step(Action::Call {
                routine,
                arguments,
                into: Into {
                    targets: Vec::new(),
                    strict: false,
                    silent: true,
                },
            });
            // What a replica writes has been followed elsewhere.
            conditions.push(Expr::Not(Box::new(is_replica()?)));
            self.add(Action::If {
                branches: vec![(Expr::And(conditions), vec![call])],
                otherwise: Vec::new(),
            });
        }
        Ok(())
    }
}

/// An action as a routine: its arguments are the parent's key as it was, and as it is if the row is still there.
///
/// # Errors
/// What planning its statement says.
pub(in crate::routine) fn action(
    id: ConstraintId,
    event: references::Event,
    context: &PlanContext,
    linker: &mut Linker,
) -> SqlResult<Routine> {
    let catalog = context.catalog;
    let gone = || SqlError::internal("a foreign key that is followed is not in the catalogue");
    let key = catalog.foreign_keys().find(|key| key.id == id);
    let key = key.ok_or_else(gone)?;
    let (child, parent) = catalog
        .table_by_id(key.child)
        .zip(catalog.table_by_id(key.parent))
        .ok_or_else(gone)?;
    let mut variables = Variables::default();
    let times = match event {
        references::Event::Delete => 1,
        references::Event::Update => 2,
    };
    for column in key.parent_columns.repeat(times) {
        let slot = variables.add_slot(Slot::hidden(parent.columns[column].ty), TypeMod::NONE);
        variables.numbered.push(Some(slot));
    }
    let arguments = variables.slots.len();
    let mut at = Embedding::new(context, variables, linker, true);
    // Whom policies show what, the statement that began it has said.
    at.part_of = PartOf::Steps;
    let planned = at.statement(&text(key, event, child))?;
    at.add(Action::Run {
        statement: planned.statement,
        into: Into {
            targets: Vec::new(),
            strict: false,
            silent: true,
        },
    });
    Ok(Routine {
        name: String::new(),
        slots: at.variables.slots,
        arguments,
        strict: false,
        guise: Some(Box::new(owner_of(child, catalog))),
        found: None,
        body: at.steps,
        output: Output::Nothing,
    })
}

fn owner_of(table: &TableDef, catalog: &Catalog) -> Guise {
    let object = Object {
        kind: ObjectKind::Table,
        number: table.id.0,
    };
    Guise {
        role: Some(catalog.roles().access_of(object).owner),
        settings: Vec::new(),
        trigger: true,
    }
}

/// The statement: $1 and so on are the key as it was, behind them as it is.
fn text(key: &ForeignKeyRecord, event: references::Event, child: &TableDef) -> String {
    let name = |column: &usize| quoted(&child.columns[*column].name);
    let relation = format!("{}.{}", quoted(&child.schema), quoted(&child.name));
    let count = key.columns.len();
    let each = |separator: &str, make: &dyn Fn(usize) -> String| -> String {
        let parts: Vec<String> = (0..count).map(make).collect();
        parts.join(separator)
    };
    let referring = each(" AND ", &|n| {
        format!("{} = ${}", name(&key.columns[n]), n + 1)
    });
    let (action, set) = match event {
        references::Event::Delete if !key.set.is_empty() => (key.on_delete, &key.set),
        references::Event::Delete => (key.on_delete, &key.columns),
        references::Event::Update => (key.on_update, &key.columns),
    };
    let to_all = |value: &str| -> String {
        let parts: Vec<String> = set
            .iter()
            .map(|c| format!("{} = {value}", name(c)))
            .collect();
        parts.join(", ")
    };
    let assigned = match (event, action) {
        (references::Event::Delete, 'c') => {
            return format!("DELETE FROM {relation} WHERE {referring}");
        }
        (references::Event::Update, 'c') => each(", ", &|n| {
            format!("{} = ${}", name(&key.columns[n]), count + n + 1)
        }),
        (_, 'n') => to_all("NULL"),
        _ => to_all("DEFAULT"),
    };
    format!("UPDATE {relation} SET {assigned} WHERE {referring}")
}
