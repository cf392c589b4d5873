//! Which slots, and which tables, a routine writes to.
//!
//! Relies on: operations say so.  Promises: a slot that is kept is at any time what the caller has put there.
//! Does not: look into statements, which write to no slot.

use super::Operation;
use crate::dynamic::DynamicRows;
use crate::routine::{Into, Routine};
use quintet_base::SpaceId;
use std::collections::BTreeSet;

/// The spaces of the tables that statements among the operations write to.
pub(super) fn spaces_written(operations: &[Operation]) -> BTreeSet<SpaceId> {
    let targets = operations.iter().filter_map(|operation| match operation {
        Operation::Run { statement, .. }
        | Operation::BeginRows(statement)
        | Operation::ReturnQuery(statement) => statement.target(),
        _ => None,
    });
    targets.map(|table| table.space).collect()
}

/// How many slots, from the first one on, none of the operations writes to.
pub(super) fn slots_kept(routine: &Routine, operations: &[Operation]) -> usize {
    let written = operations.iter().flat_map(written);
    let first = written.chain(routine.found).min();
    first.unwrap_or(routine.slots.len())
}

/// The slots that an operation writes to, but for FOUND. The flat forms of a statement write to no others.
pub(super) fn written(operation: &Operation) -> Vec<usize> {
    let targets = |into: &Into| into.targets.iter().map(|(slot, _)| *slot).collect();
    match operation {
        Operation::Assign { slot, value: _ }
        | Operation::AssignElement { slot, .. }
        | Operation::NextInteger {
            slot,
            end: _,
            elements: _,
        }
        | Operation::NextElement { slot, end: _ }
        | Operation::RowCount { slot }
        | Operation::Diagnose { slot, item: _ } => vec![*slot],
        Operation::Run { into, .. } | Operation::Call { into, .. } => targets(into),
        Operation::NextRow { into, end: _ } => into.iter().map(|(slot, _)| *slot).collect(),
        Operation::BeginGuard { slots, handlers: _ } => slots.to_vec(),
        Operation::Dynamic { statement, .. } => match &statement.rows {
            DynamicRows::Into { slots, .. } => slots.iter().map(|(slot, _)| *slot).collect(),
            DynamicRows::Forgotten
            | DynamicRows::Record
            | DynamicRows::Returned(_)
            | DynamicRows::Opened(_) => Vec::new(),
        },
        Operation::Jump(_)
        | Operation::Unless(..)
        | Operation::Leave { .. }
        | Operation::BeginIntegers { .. }
        | Operation::BeginRows(_)
        | Operation::BeginElements(_)
        | Operation::EndGuard
        | Operation::BeginState
        | Operation::EndState
        | Operation::Landmark(_)
        | Operation::Raise(_)
        | Operation::Reraise
        | Operation::Commit
        | Operation::Rollback
        | Operation::Fail(_)
        | Operation::Return(_)
        | Operation::ReturnNext(_)
        | Operation::ReturnQuery(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Expr;
    use crate::formula::Computed;
    use crate::routine::Slot;
    use quintet_base::{SqlType, Value};

    /// Goal: whatever an operation writes to counts, and so does FOUND. Method: each operation that writes, to one slot or
    /// to another one behind slot 2.
    #[test]
    fn slots_before_the_first_that_is_written_to_are_kept() {
        let null = || Expr::Const(Value::Null, SqlType::Int4);
        let into = |slot| Into {
            targets: vec![(2, null()), (slot, null())],
            ..Into::default()
        };
        type Writes<'a> = (&'a str, &'a dyn Fn(usize) -> Operation);
        let all: [Writes; 8] = [
            ("assign", &|slot| Operation::Assign {
                slot,
                value: Computed::new(null(), None),
            }),
            ("element", &|slot| Operation::AssignElement {
                slot,
                index: null(),
                value: null(),
            }),
            ("integers", &|slot| Operation::NextInteger {
                slot,
                end: 0,
                elements: Vec::new(),
            }),
            ("elements", &|slot| Operation::NextElement { slot, end: 0 }),
            ("call", &|slot| Operation::Call {
                routine: 0,
                arguments: Vec::new(),
                into: into(slot),
            }),
            ("rows", &|slot| Operation::NextRow {
                into: into(slot).targets,
                end: 0,
            }),
            ("guard", &|slot| Operation::BeginGuard {
                handlers: Vec::new(),
                slots: [2, slot],
            }),
            ("count", &|slot| Operation::RowCount { slot }),
        ];
        let slot = Slot {
            name: "v".into(),
            ty: SqlType::Int4,
            not_null: false,
        };
        let mut routine = Routine {
            name: "r".into(),
            slots: vec![slot; 5],
            arguments: 2,
            strict: false,
            guise: None,
            found: Some(3),
            body: Vec::new(),
            output: crate::routine::Output::Nothing,
        };
        for (name, operation) in all {
            assert_eq!(slots_kept(&routine, &[operation(1)]), 1, "{name}");
            let writes_two = matches!(name, "call" | "rows" | "guard");
            let behind = [operation(4), Operation::Jump(0)];
            let first = if writes_two { 2 } else { 3 };
            assert_eq!(slots_kept(&routine, &behind), first, "{name}");
        }
        routine.found = None;
        assert_eq!(slots_kept(&routine, &[Operation::EndGuard]), 5);
    }
}
