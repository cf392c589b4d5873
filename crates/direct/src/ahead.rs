//! What a call will read is announced before it begins (Solar's grouped reads).
//!
//! Relies on: `analysis`, which says which keys are known from the arguments; `tc`, which has the processor
//! fetch what is in memory and STORE what is not, all of it side by side.  Promises: the call does what it does without this, no
//! more and no less: an error in evaluating a key is left to the statement, and nothing is read.
//! Does not: announce ranges, or keys that the call must read for.
//!
//! ```text
//!   call new_order(…)   warehouse, district, customer, items, stocks   ─announce─► STORE: 23 reads under way
//!                       each statement reads as it always does         ◄─ read ──  most of them are there
//! ```

use crate::context::Context;
use crate::keys;
use quintet_base::{SpaceId, Value};
use quintet_ir::ahead::{LeanLookUp, LookUp, Over, Turns};
use quintet_ir::formula::Scope;
use quintet_ir::{Expr, Host, Program};
use quintet_tc::ANNOUNCED_TOGETHER;
use std::cell::Cell;

thread_local! {
    /// Memory of the keys of this thread's last call, for the next one.
    static SPARE: Cell<Option<(Vec<Place>, Vec<u8>)>> = const { Cell::new(None) };
}

/// Keys announced for one call. Beyond, a call is long enough not to be hurried, and reading ahead of it
/// would only displace what others need.
const KEYS_MAX: usize = 128;

/// The next call of a thread takes over the memory of one that has needed no more.
const KEPT_BYTES_MAX: usize = 1 << 14;

/// Of a key of a few integers.
const KEY_BYTES_USUAL: usize = 16;

/// The space of a key, and where it begins and ends.
type Place = (SpaceId, usize, usize);

/// Turns and keys of one look-up that are tried: a loop may have many turns and no key to announce.
const TRIED_MAX: usize = 4 * KEYS_MAX;

/// How many values [`announce`] has at once.
pub(crate) fn places(program: &Program) -> usize {
    program.ahead(quintet_analysis::look_ups).places
}

/// Announces what a call with these arguments, or with these slots when it begins, will read. They are the same
/// afterwards.
pub(crate) fn announce(program: &Program, arguments: &mut Vec<Value>, context: &Context<'_>) {
    let ahead = program.ahead(quintet_analysis::look_ups);
    if ahead.look_ups.is_empty() || !is_on(context.host) {
        return;
    }
    let given = arguments.len();
    arguments.resize_with(ahead.places.max(given), Value::default);
    let (keys, bytes) = SPARE.take().unwrap_or_else(|| {
        let bytes = Vec::with_capacity(KEYS_MAX / 4 * KEY_BYTES_USUAL);
        (Vec::with_capacity(KEYS_MAX / 4), bytes)
    });
    let mut found = Found {
        keys,
        bytes,
        tried: 0,
    };
    for look_up in &ahead.look_ups {
        found.tried = 0;
        // What cannot be evaluated is left out.
        let _ = found.add(look_up, &look_up.turns, arguments, context.host);
    }
    arguments.truncate(given);
    let Found {
        mut keys,
        mut bytes,
        ..
    } = found;
    if keys.len() > 1 {
        for places in keys.chunks(ANNOUNCED_TOGETHER) {
            let mut told: [(SpaceId, &[u8]); ANNOUNCED_TOGETHER] =
                [(SpaceId(0), &[]); ANNOUNCED_TOGETHER];
            for (told, (space, from, to)) in told.iter_mut().zip(places) {
                *told = (*space, &bytes[*from..*to]);
            }
            context.txn.announce(&told[..places.len()]);
        }
    }
    if bytes.capacity() <= KEPT_BYTES_MAX {
        keys.clear();
        bytes.clear();
        // A thread that is ending keeps nothing.
        let _ = SPARE.try_with(|place| place.set(Some((keys, bytes))));
    }
}

/// Whether the session wants reads announced.
pub(crate) fn is_on(host: &dyn Host) -> bool {
    host.reads_ahead()
}

fn space(look_up: &LookUp) -> SpaceId {
    match look_up.index {
        None => look_up.table.space,
        Some(index) => look_up.table.indexes[index].space,
    }
}

/// Keys, one behind the other.
struct Found {
    keys: Vec<Place>,
    bytes: Vec<u8>,
    /// Turns and keys of the look-up at hand.
    tried: usize,
}

impl Found {
    /// Adds the keys of a look-up for all turns of its loops; `None` if there is nothing more to add.
    fn add(
        &mut self,
        look_up: &LookUp,
        turns: &[Turns],
        slots: &mut [Value],
        host: &dyn Host,
    ) -> Option<()> {
        self.tried += 1;
        if self.tried > TRIED_MAX {
            return None;
        }
        let Some((outermost, inner)) = turns.split_first() else {
            return self.add_key(look_up, slots, host);
        };
        let value = |expr: &Expr, slots: &[Value]| quintet_ir::eval(expr, &[], slots, host).ok();
        match &outermost.over {
            Over::Elements(array) => {
                let Value::Array(array) = value(array, slots)? else {
                    return None;
                };
                for element in array.values {
                    slots[outermost.place] = element;
                    self.add(look_up, inner, slots, host)?;
                }
            }
            Over::Integers {
                lower,
                upper,
                step,
                reverse,
            } => {
                let integer = |expr: &Expr| match quintet_ir::leaf(expr, &[], slots) {
                    Some(value) => value.as_i64(),
                    None => value(expr, slots)?.as_i64(),
                };
                let (lower, upper, step) = (integer(lower)?, integer(upper)?, integer(step)?);
                let step = if *reverse { -step } else { step };
                let mut at = lower;
                while step != 0 && (if *reverse { at >= upper } else { at <= upper }) {
                    // The variables of such loops are integers.
                    match (&mut slots[outermost.place], i32::try_from(at).ok()?) {
                        (Value::Int4(place), at) => *place = at,
                        (place, at) => *place = Value::Int4(at),
                    }
                    self.add(look_up, inner, slots, host)?;
                    at += step;
                }
            }
        }
        Some(())
    }

    fn add_key(&mut self, look_up: &LookUp, slots: &[Value], host: &dyn Host) -> Option<()> {
        if self.keys.len() >= KEYS_MAX {
            return None;
        }
        if let Some(lean) = &look_up.lean {
            let from = self.bytes.len();
            let scope = Scope {
                row: None,
                slots,
                host,
            };
            match self.push_lean(lean, &scope) {
                Some(true) => self.keys.push((space(look_up), from, self.bytes.len())),
                Some(false) => self.bytes.truncate(from),
                None => {
                    self.bytes.truncate(from);
                    return self.add_evaluated(look_up, slots, host);
                }
            }
            return Some(());
        }
        self.add_evaluated(look_up, slots, host)
    }

    /// Appends a key; `Some(false)`: there is none to append; `None`: a formula has no answer.
    fn push_lean(&mut self, lean: &LeanLookUp, scope: &Scope<'_>) -> Option<bool> {
        for (condition, held) in &lean.only_if {
            if condition.holds(scope)? != *held {
                return Some(false);
            }
        }
        crate::lean::push_key(&lean.key, scope, &mut self.bytes)
    }

    fn add_evaluated(&mut self, look_up: &LookUp, slots: &[Value], host: &dyn Host) -> Option<()> {
        for (condition, held) in &look_up.only_if {
            if quintet_ir::eval_predicate(condition, &[], slots, host).ok()? != *held {
                return Some(());
            }
        }
        let table = &look_up.table;
        let columns = look_up.columns()?;
        let from = self.bytes.len();
        for (expr, &column) in look_up.key.iter().zip(columns) {
            let value = match quintet_ir::leaf(expr, &[], slots) {
                Some(value) => value,
                None => &quintet_ir::eval(expr, &[], slots, host).ok()?,
            };
            if value.is_null() {
                // No row, or a way on which the key is not known.
                self.bytes.truncate(from);
                return Some(());
            }
            keys::push(value, table.frame_type(column), &mut self.bytes);
        }
        self.keys.push((space(look_up), from, self.bytes.len()));
        Some(())
    }
}
