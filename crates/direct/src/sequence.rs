//! Sequences: numbers given out once, whatever happens to who asked.
//!
//! Relies on: one process writes a database; nobody but this file writes [`SEQUENCE_SPACE`] while a
//! sequence exists.  Promises: a value is given only after the record that rules it out for ever is
//! durable; values of one sequence come in order.  Does not: take part in transactions: a rollback
//! gives no value back, and does not undo `setval`. Who restarts a sequence gives it another counter, in its definition.
//!
//! Values are reserved in blocks by a small transaction of its own. The next block is reserved when
//! half of the present one is used, and waited for only when it is needed, so that a busy sequence
//! seldom waits for the disk.
//!
//! ```text
//!   present  ├─────used─────┤──left──┤          next    ├──────────────────┤
//!                  half ▲ reserve next ─ ─ ─ ─ ─ ─ durable ─┘
//! ```
//!
//! The record, in [`SEQUENCE_SPACE`] under the number of the sequence's counter as 4 bytes big-endian; a sequence
//! without a record has not been used yet:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 1 | version, 1 |
//! | 1 | 1 | 1 if `last` may have been given, 0 if it is the next to give |
//! | 2 | 8 | `last`, little-endian |

use crate::translate::translate;
use parking_lot::Mutex;
use quintet_base::{Bytes, Level, Lsn, SequenceId, SpaceId, SqlError, SqlResult, SqlState};
use quintet_ir::{SequenceDef, SequenceState};
use quintet_tc::{Error, Strength, Tc, Txn, WaitPolicy};
use std::collections::HashMap;
use std::sync::Arc;

/// Where the records of sequences live.
pub const SEQUENCE_SPACE: SpaceId = SpaceId(2);

/// Values reserved at once: as many as PostgreSQL logs ahead. A crash loses at most two blocks.
const BLOCK_VALUES: u64 = 32;

const RECORD_VERSION: u8 = 1;
const RECORD_BYTES: usize = 10;

/// The sequences in use.
#[derive(Default)]
pub(crate) struct Sequences {
    counters: Mutex<HashMap<SequenceId, Arc<Mutex<Counter>>>>,
}

/// What is reserved for one sequence. Its mutex is held over the reserving transaction, so that
/// values come in order; that transaction waits for nobody who could wait for the mutex.
#[derive(Default)]
struct Counter {
    present: Option<Block>,
    ahead: Option<Block>,
    /// Of the definition that the blocks were made with; another one makes them void.
    shape: Option<Shape>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    increment: i64,
    min: i64,
    max: i64,
    cycle: bool,
}

struct Block {
    next: i64,
    left: u64,
    /// The values may be given once the log is durable up to here.
    durable_at: Option<Lsn>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Record {
    given: bool,
    last: i64,
}

impl Record {
    fn encode(self) -> Bytes {
        let mut out = vec![RECORD_VERSION, u8::from(self.given)];
        out.extend_from_slice(&self.last.to_le_bytes());
        Bytes::from(out)
    }

    fn decode(bytes: &[u8]) -> SqlResult<Record> {
        match bytes.split_first_chunk::<2>() {
            Some(([RECORD_VERSION, given @ (0 | 1)], last)) if bytes.len() == RECORD_BYTES => {
                let last = i64::from_le_bytes(last.try_into().expect("8 of 10 bytes"));
                Ok(Record {
                    given: *given == 1,
                    last,
                })
            }
            _ => Err(SqlError::new(
                SqlState::DATA_CORRUPTED,
                "a sequence's record is damaged",
            )),
        }
    }
}

/// A number that no value given so far is beyond, and whether it may have been given itself; `None` if the sequence
/// has not been used.
///
/// # Errors
/// What reading says.
pub fn reserved(txn: &Txn, id: SequenceId) -> SqlResult<Option<(i64, bool)>> {
    let stored = txn.get(SEQUENCE_SPACE, &record_key(id));
    let stored = stored.map_err(|error| translate(error, Level::Snapshot, &|_| None))?;
    let record = stored.as_deref().map(Record::decode).transpose()?;
    Ok(record.map(|record| (record.last, record.given)))
}

fn record_key(id: SequenceId) -> Bytes {
    Bytes::copy_from_slice(&id.0.to_be_bytes())
}

impl Sequences {
    fn counter(&self, id: SequenceId) -> Arc<Mutex<Counter>> {
        Arc::clone(self.counters.lock().entry(id).or_default())
    }

    /// See [`crate::Direct::nextval`].
    pub fn next(&self, sequence: &SequenceDef, tc: &Tc) -> SqlResult<i64> {
        let counter = self.counter(sequence.counter);
        let mut counter = counter.lock();
        let shape = Shape::of(sequence);
        if counter.shape != Some(shape) {
            *counter = Counter {
                shape: Some(shape),
                ..Counter::default()
            };
        }
        if counter.present.as_ref().is_none_or(|block| block.left == 0) {
            let block = match counter.ahead.take() {
                Some(block) => block,
                None => reserve(sequence, tc)?,
            };
            if let Some(lsn) = block.durable_at {
                tc.when_durable(lsn)
                    .wait()
                    .map_err(|source| failed(Error::Log(source), sequence))?;
            }
            counter.present = Some(block);
        }
        let block = counter.present.as_mut().expect("just filled");
        let value = block.next;
        block.left -= 1;
        // Never beyond the block's last value, which is within the bounds.
        block.next = value.wrapping_add(sequence.increment);
        if block.left == BLOCK_VALUES / 2 && counter.ahead.is_none() {
            // If this fails, so will the reservation when its values are needed, and is reported then.
            counter.ahead = reserve(sequence, tc).ok();
        }
        Ok(value)
    }

    /// See [`crate::Direct::sequence_state`].
    pub fn state(&self, sequence: &SequenceDef, tc: &Tc) -> SqlResult<SequenceState> {
        let counter = self.counter(sequence.counter);
        let counter = counter.lock();
        if counter.shape == Some(Shape::of(sequence))
            && let Some(block) = &counter.present
        {
            // A block that is there has given a value.
            let reserved = block.left + counter.ahead.as_ref().map_or(0, |block| block.left);
            return Ok(SequenceState {
                last: block.next.wrapping_sub(sequence.increment),
                is_called: true,
                reserved: reserved as i64,
            });
        }
        let found = reserved(&tc.begin(Level::Snapshot), sequence.counter)?;
        let (last, is_called) = found.unwrap_or((sequence.start, false));
        Ok(SequenceState {
            last,
            is_called,
            reserved: 0,
        })
    }

    /// See [`crate::Direct::setval`].
    pub fn set(&self, sequence: &SequenceDef, value: i64, given: bool, tc: &Tc) -> SqlResult<i64> {
        if !(sequence.min..=sequence.max).contains(&value) {
            return Err(SqlError::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!(
                    "setval: value {value} is out of bounds for sequence \"{}\" ({}..{})",
                    sequence.name, sequence.min, sequence.max
                ),
            ));
        }
        let counter = self.counter(sequence.counter);
        let mut counter = counter.lock();
        let write = |_: Option<Record>| Ok((Record { given, last: value }, ()));
        change(sequence, tc, write)?;
        *counter = Counter::default();
        Ok(value)
    }

    /// The counter of a sequence that was made anew, or restarts, begins.
    pub fn start(&self, sequence: &SequenceDef, next: i64, tc: &Tc) -> SqlResult<()> {
        self.set(sequence, next, false, tc).map(|_| ())
    }

    /// Nobody will ever count by it again.
    pub fn forget(&self, id: SequenceId) {
        self.counters.lock().remove(&id);
    }

    /// Removes the record with the transaction that drops the sequence.
    pub fn drop_in(&self, id: SequenceId, txn: &mut Txn) -> Result<(), Error> {
        txn.delete(SEQUENCE_SPACE, record_key(id))
    }
}

impl Shape {
    fn of(sequence: &SequenceDef) -> Shape {
        let SequenceDef {
            increment,
            min,
            max,
            cycle,
            ..
        } = *sequence;
        Shape {
            increment,
            min,
            max,
            cycle,
        }
    }
}

fn failed(error: Error, sequence: &SequenceDef) -> SqlError {
    translate(error, Level::ReadCommitted, &|_| {
        Some(sequence.name.clone())
    })
}

/// Reserves the next block; it may be given out once it is durable.
fn reserve(sequence: &SequenceDef, tc: &Tc) -> SqlResult<Block> {
    let (durable_at, (first, count)) = change(sequence, tc, |record| {
        let first = first_after(sequence, record)?;
        let room = if sequence.increment > 0 {
            first.abs_diff(sequence.max)
        } else {
            first.abs_diff(sequence.min)
        };
        let count = (room / sequence.increment.unsigned_abs())
            .saturating_add(1)
            .min(BLOCK_VALUES);
        let last = first + sequence.increment * (count as i64 - 1);
        Ok((Record { given: true, last }, (first, count)))
    })?;
    Ok(Block {
        next: first,
        left: count,
        durable_at,
    })
}

/// The value after what the record says.
fn first_after(sequence: &SequenceDef, record: Option<Record>) -> SqlResult<i64> {
    let record = record.unwrap_or(Record {
        given: false,
        last: sequence.start,
    });
    let within = |value: &i64| (sequence.min..=sequence.max).contains(value);
    let next = if record.given {
        record.last.checked_add(sequence.increment).filter(within)
    } else {
        Some(record.last).filter(within)
    };
    let (end, bound, again) = if sequence.increment > 0 {
        ("maximum", sequence.max, sequence.min)
    } else {
        ("minimum", sequence.min, sequence.max)
    };
    match next {
        Some(next) => Ok(next),
        None if sequence.cycle => Ok(again),
        None => Err(SqlError::new(
            SqlState::SEQUENCE_LIMIT_EXCEEDED,
            format!(
                "nextval: reached {end} value of sequence \"{}\" ({bound})",
                sequence.name
            ),
        )),
    }
}

/// Replaces the record in a transaction of its own.
fn change<T>(
    sequence: &SequenceDef,
    tc: &Tc,
    decide: impl FnOnce(Option<Record>) -> SqlResult<(Record, T)>,
) -> SqlResult<(Option<Lsn>, T)> {
    let key = record_key(sequence.counter);
    let mut txn = tc.begin(Level::ReadCommitted);
    loop {
        txn.begin_statement();
        match txn.lock(SEQUENCE_SPACE, &key, Strength::Exclusive, WaitPolicy::Queue) {
            Ok(()) => break,
            // Held only by other such transactions and by a commit that drops the sequence.
            Err(Error::Blocked(wait)) => wait.wait(),
            Err(Error::Stale) => {}
            Err(error) => return Err(failed(error, sequence)),
        }
    }
    let stored = txn
        .get(SEQUENCE_SPACE, &key)
        .map_err(|error| failed(error, sequence))?;
    let record = stored.map(|bytes| Record::decode(&bytes)).transpose()?;
    let (record, result) = decide(record)?;
    txn.put(SEQUENCE_SPACE, key, record.encode())
        .map_err(|error| failed(error, sequence))?;
    loop {
        match txn.commit(tc.durability()) {
            Ok(committed) => return Ok((committed.durable_at, result)),
            // Waits for room in memory, which the merge makes without anybody's help.
            Err(Error::Blocked(wait)) => wait.wait(),
            Err(error) => return Err(failed(error, sequence)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_base::SqlType;

    fn sequence(increment: i64, min: i64, max: i64, cycle: bool) -> SequenceDef {
        SequenceDef {
            id: SequenceId(1),
            counter: SequenceId(1),
            schema: "public".into(),
            name: "s".into(),
            ty: SqlType::Int8,
            start: if increment > 0 { min } else { max },
            increment,
            min,
            max,
            cycle,
            cache: 1,
            owned_by: None,
        }
    }

    #[test]
    fn records_read_back_and_damaged_ones_are_refused() {
        for record in [
            Record {
                given: true,
                last: -5,
            },
            Record {
                given: false,
                last: i64::MAX,
            },
        ] {
            assert_eq!(Record::decode(&record.encode()).unwrap(), record);
        }
        for bytes in [
            &b""[..],
            b"\x01\x01",
            b"\x02\x01\0\0\0\0\0\0\0\0",
            b"\x01\x02\0\0\0\0\0\0\0\0",
        ] {
            assert_eq!(
                Record::decode(bytes).unwrap_err().state,
                SqlState::DATA_CORRUPTED
            );
        }
    }

    #[test]
    fn the_value_after_a_record_keeps_to_the_bounds() {
        let given = |last| Some(Record { given: true, last });
        let up = sequence(3, 1, 10, false);
        assert_eq!(first_after(&up, None).unwrap(), 1);
        assert_eq!(
            first_after(
                &up,
                Some(Record {
                    given: false,
                    last: 4
                })
            )
            .unwrap(),
            4
        );
        assert_eq!(first_after(&up, given(4)).unwrap(), 7);
        let error = first_after(&up, given(10)).unwrap_err();
        assert_eq!(error.state, SqlState::SEQUENCE_LIMIT_EXCEEDED);
        assert_eq!(
            error.message,
            "nextval: reached maximum value of sequence \"s\" (10)"
        );
        assert_eq!(
            first_after(&sequence(3, 1, 10, true), given(10)).unwrap(),
            1
        );
        let down = sequence(-2, -9, -1, false);
        assert_eq!(first_after(&down, None).unwrap(), -1);
        assert_eq!(first_after(&down, given(-7)).unwrap(), -9);
        let error = first_after(&down, given(-9)).unwrap_err();
        assert_eq!(
            error.message,
            "nextval: reached minimum value of sequence \"s\" (-9)"
        );
        let edge = sequence(1, 1, i64::MAX, false);
        assert!(first_after(&edge, given(i64::MAX)).is_err());
    }
}
