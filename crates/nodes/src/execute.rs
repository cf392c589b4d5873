//! One operation on one record: the meaning that all engines share.
//!
//! Relies on: `call`.  Promises: pure; a field beyond the record's end reads as null and cannot be changed.
//! Does not: know who else uses the record.

use crate::call::{Action, Datum, Field, How, Key, Operand, Operation, Record, Slot};

/// What an operation did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Done {
    /// The record that is there now, if it was written.
    pub write: Option<Record>,
    /// Slots made.
    pub made: Vec<(Slot, Datum)>,
    /// A check failed.
    pub raised: bool,
}

/// The key, once the slots it needs are there.
pub fn key_of(operation: &Operation, slots: &[Option<Datum>]) -> Key {
    let mut key = operation.key;
    if let Action::Insert {
        item: Some((slot, times)),
        ..
    } = &operation.action
    {
        let number = number(&slots[usize::from(*slot)]);
        key.item = key.item.wrapping_add((number as u64).wrapping_mul(*times));
    }
    key
}

fn number(value: &Option<Datum>) -> i64 {
    match value {
        Some(Datum::Int(number)) => *number,
        _ => 0,
    }
}

fn integer(operand: &Operand, slots: &[Option<Datum>]) -> i64 {
    match operand {
        Operand::Int(number) => *number,
        Operand::Text(_) => 0,
        Operand::Slot(slot) => number(&slots[usize::from(*slot)]),
        Operand::Times(slot, by) => number(&slots[usize::from(*slot)]).wrapping_mul(*by),
    }
}

fn field(record: Option<&[u8]>, field: Field) -> Datum {
    let Some(record) = record else {
        return Datum::Null;
    };
    match field {
        Field::Int(at) => integer_at(record, at).map_or(Datum::Null, Datum::Int),
        Field::Text(at, length) => {
            let at = usize::from(at);
            record
                .get(at..at + usize::from(length))
                .map_or(Datum::Null, |text| Datum::Text(text.to_vec()))
        }
    }
}

/// The integer field at a place.
pub fn integer_at(record: &[u8], at: u16) -> Option<i64> {
    let at = usize::from(at);
    let bytes = record.get(at..at + 8)?;
    bytes.try_into().ok().map(i64::from_le_bytes)
}

fn append(record: &mut Record, operand: &Operand, slots: &[Option<Datum>]) {
    match operand {
        Operand::Text(text) => record.extend_from_slice(text),
        Operand::Slot(slot) => match &slots[usize::from(*slot)] {
            Some(Datum::Text(text)) => record.extend_from_slice(text),
            other => record.extend_from_slice(&number(other).to_le_bytes()),
        },
        _ => record.extend_from_slice(&integer(operand, slots).to_le_bytes()),
    }
}

/// Runs an operation on the record at its key. All slots that it needs are there.
pub fn execute(operation: &Operation, record: Option<&[u8]>, slots: &[Option<Datum>]) -> Done {
    match &operation.action {
        Action::Read { take, check } => {
            let mut done = Done {
                made: taken(record, take),
                ..Done::default()
            };
            if let Some(check) = check {
                let holds = match (&check.at_least, record) {
                    (_, None) => false,
                    (None, Some(_)) => true,
                    (Some((at, least)), Some(record)) => integer_at(record, *at)
                        .is_some_and(|number| number >= integer(least, slots)),
                };
                done.raised = !holds;
                done.made.push((check.verdict, Datum::Int(holds.into())));
            }
            done
        }
        Action::Update { take, changes } => {
            let made = taken(record, take);
            let write = record.map(|record| {
                let mut record = record.to_vec();
                for change in changes {
                    let by = integer(&change.by, slots);
                    let Some(was) = integer_at(&record, change.at) else {
                        continue;
                    };
                    let now = match change.how {
                        How::Set => by,
                        How::Add => was.wrapping_add(by),
                        How::Restock if was >= by.saturating_add(10) => was.wrapping_sub(by),
                        How::Restock => was.wrapping_sub(by).wrapping_add(91),
                    };
                    let at = usize::from(change.at);
                    record[at..at + 8].copy_from_slice(&now.to_le_bytes());
                }
                record
            });
            Done {
                write,
                made,
                raised: false,
            }
        }
        Action::Insert { record: parts, .. } => {
            let mut record = Record::new();
            for part in parts {
                append(&mut record, part, slots);
            }
            Done {
                write: Some(record),
                ..Done::default()
            }
        }
    }
}

fn taken(record: Option<&[u8]>, take: &[(Field, Slot)]) -> Vec<(Slot, Datum)> {
    take.iter()
        .map(|(from, slot)| (*slot, field(record, *from)))
        .collect()
}

/// The slots of an operation that does not take place, because its call was raised.
pub fn skipped(operation: &Operation) -> Vec<(Slot, Datum)> {
    operation
        .action
        .makes()
        .map(|slot| (slot, Datum::Null))
        .collect()
}
