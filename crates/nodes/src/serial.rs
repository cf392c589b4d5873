//! Calls one after the other on one map: what every engine's outcome is compared with.
//!
//! Relies on: `call`, `execute`.  Promises: easy to read.  Does not: anything fast.

use crate::call::{Call, Key, Outcome, Record};
use crate::execute::{execute, key_of};
use std::collections::BTreeMap;

/// Runs a call to its end.
pub fn run_serially(records: &mut BTreeMap<Key, Record>, call: &Call) -> Outcome {
    let mut slots = vec![None; usize::from(call.slots())];
    let mut writes: BTreeMap<Key, Record> = BTreeMap::new();
    for (_, operation) in call.operations() {
        let key = key_of(operation, &slots);
        let record = writes.get(&key).or_else(|| records.get(&key));
        let done = execute(operation, record.map(Vec::as_slice), &slots);
        if done.raised {
            return Outcome::Raised;
        }
        for (slot, value) in done.made {
            slots[usize::from(slot)] = Some(value);
        }
        if let Some(record) = done.write {
            writes.insert(key, record);
        }
    }
    records.extend(writes);
    let answers = call.answers().iter();
    Outcome::Committed(
        answers
            .map(|slot| slots[usize::from(*slot)].clone().expect("checked: made"))
            .collect(),
    )
}
