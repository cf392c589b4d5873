//! Large objects: descriptors, and how bytes lie in pages.
//!
//! Relies on: nothing.  Promises: PostgreSQL's numbers, bounds and errors; a page that is not there, and what a page lacks before the
//! next one, reads as zeros.  Does not: read or write rows: the routines in `quintet_sql::large_object` do.
//!
//! ```text
//!   place     0            2048           4096           6144
//!             ├─── page 0 ───┼─── page 1 ───┼─── page 2 ───┤ …      a row for each page that was written
//!                                              data ends ▲         the end of the last page is the object's
//! ```

use quintet_base::{SqlError, SqlResult, SqlState};
use std::any::Any;
use std::sync::Arc;

/// Bytes of a page.
pub const PAGE_BYTES: i64 = 2048;

/// No object is longer.
pub const BYTES_MAX: i64 = i32::MAX as i64 * PAGE_BYTES;

/// As many bytes come out of an object at once, as in PostgreSQL.
pub const READ_BYTES_MAX: i64 = 0x3fff_fffb;

/// What an object is opened for, as a number.
pub const WRITE: i32 = 0x2_0000;
/// See [`WRITE`].
pub const READ: i32 = 0x4_0000;

/// A session has so many descriptors at most.
const DESCRIPTORS_MAX: usize = 10_000;

/// A state that somebody has read, which the engine alone can read again.
pub type State = Arc<dyn Any + Send + Sync>;

/// What the next statement of a routine reads, as far as it is not run flat: those of large objects are not.
#[derive(Clone, Default, Debug)]
pub enum Moment {
    /// The newest state, as any statement.
    #[default]
    Newest,
    /// The same, which is to be kept for whoever opens an object with what was read.
    Kept,
    /// A state that was kept.
    Past(State),
}

/// A place in an object that is open.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// Of all that was opened in the session, the number of this.
    pub(crate) number: u64,
    /// Which object.
    pub object: u32,
    /// Where it stands.
    pub place: i64,
    /// It was opened for writing; for reading it always is.
    pub writes: bool,
    /// Where each statement has a snapshot of its own: what one that only reads goes on reading.
    pub reads: Option<State>,
}

/// The open descriptors of a transaction, by their numbers.
#[derive(Clone, Default, Debug)]
pub struct Descriptors(Vec<Option<Descriptor>>);

impl Descriptors {
    /// Opens one: its number, the lowest that is free.
    ///
    /// # Errors
    /// `53000` for too many.
    pub(crate) fn open(&mut self, descriptor: Descriptor) -> SqlResult<i32> {
        let free = self.0.iter().position(Option::is_none);
        let place = free.unwrap_or(self.0.len());
        if place >= DESCRIPTORS_MAX {
            return Err(SqlError::new(
                SqlState::INSUFFICIENT_RESOURCES,
                "too many large object descriptors are open",
            ));
        }
        match self.0.get_mut(place) {
            Some(slot) => *slot = Some(descriptor),
            None => self.0.push(Some(descriptor)),
        }
        Ok(i32::try_from(place).unwrap_or(i32::MAX))
    }

    /// One that is open.
    ///
    /// # Errors
    /// `42704`.
    pub fn get(&mut self, number: i32) -> SqlResult<&mut Descriptor> {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        match self.0.get_mut(place) {
            Some(Some(descriptor)) => Ok(descriptor),
            _ => Err(SqlError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("invalid large-object descriptor: {number}"),
            )),
        }
    }

    /// Closes one.
    ///
    /// # Errors
    /// As [`Descriptors::get`].
    pub fn close(&mut self, number: i32) -> SqlResult<()> {
        self.get(number)?;
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        self.0[place] = None;
        Ok(())
    }

    /// Closes those of an object.
    pub fn close_object(&mut self, object: u32) {
        self.retain(|descriptor| descriptor.object != object);
    }

    /// Closes all.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Closes those that were opened after so many.
    pub(crate) fn back_to(&mut self, opened: u64) {
        self.retain(|descriptor| descriptor.number <= opened);
    }

    fn retain(&mut self, keep: impl Fn(&Descriptor) -> bool) {
        for slot in &mut self.0 {
            *slot = slot.take().filter(&keep);
        }
    }
}

/// The place that a seek leads to.
///
/// # Errors
/// `22023`.
pub fn sought(from: i64, by: i64) -> SqlResult<i64> {
    let to = from.wrapping_add(by);
    match (0..=BYTES_MAX).contains(&to) {
        true => Ok(to),
        false => Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid large object seek target: {to}"),
        )),
    }
}

/// Refuses what an object can not be opened for; whether it is for writing.
///
/// # Errors
/// `22023`.
pub fn mode(flags: i32) -> SqlResult<bool> {
    if flags & (READ | WRITE) == 0 {
        let message = format!("invalid flags for opening a large object: {flags}");
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    Ok(flags & WRITE != 0)
}

/// Bytes of an object from a place on, so many at most: `pages` are those among which they are, in any order, each with its number;
/// `size` is the object's.
///
/// # Errors
/// `54000` for more than can be had at once.
pub fn read(from: i64, most: i64, size: i64, pages: &[(i64, &[u8])]) -> SqlResult<Vec<u8>> {
    let count = most.min(size.saturating_sub(from)).max(0);
    if count > READ_BYTES_MAX {
        return Err(too_large());
    }
    let end = from + count;
    let mut bytes = vec![0; usize::try_from(count).unwrap_or(0)];
    for (number, data) in pages {
        let start = number * PAGE_BYTES;
        let first = start.max(from);
        let last = (start + data.len() as i64).min(end);
        if first < last {
            let part = &data[(first - start) as usize..(last - start) as usize];
            bytes[(first - from) as usize..(last - from) as usize].copy_from_slice(part);
        }
    }
    Ok(bytes)
}

/// `54000`.
pub fn too_large() -> SqlError {
    let message = "large object read request is too large";
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

/// A page after bytes were written from a place of the object on; `old`: as it was.
pub fn written(old: &[u8], number: i64, at: i64, bytes: &[u8]) -> Vec<u8> {
    let start = number * PAGE_BYTES;
    let first = at.max(start);
    let last = at
        .saturating_add(bytes.len() as i64)
        .min(start + PAGE_BYTES);
    let mut page = old.to_vec();
    if first < last {
        let (from, to) = ((first - start) as usize, (last - start) as usize);
        if page.len() < to {
            page.resize(to, 0);
        }
        page[from..to].copy_from_slice(&bytes[(first - at) as usize..(last - at) as usize]);
    }
    page
}

/// A page with so many bytes: cut, or with zeros behind it.
pub fn cut(old: &[u8], length: i64) -> Vec<u8> {
    let mut page = old.to_vec();
    let length = length.clamp(0, PAGE_BYTES);
    page.resize(usize::try_from(length).unwrap_or(0), 0);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_number_is_given_and_what_was_opened_later_goes_first() {
        let mut open = Descriptors::default();
        let one = |number, object| Descriptor {
            number,
            object,
            place: 0,
            writes: false,
            reads: None,
        };
        let numbers: Vec<i32> = (0..4)
            .map(|number| open.open(one(number + 1, 7)).unwrap())
            .collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        open.close(1).unwrap();
        assert_eq!(open.close(1).unwrap_err().state, SqlState::UNDEFINED_OBJECT);
        assert_eq!(open.open(one(5, 8)).unwrap(), 1);
        open.back_to(3);
        assert!(open.get(0).is_ok() && open.get(1).is_err() && open.get(3).is_err());
        open.close_object(7);
        assert!((-1..5).all(|number| open.get(number).is_err()));
    }

    /// Writes, cuts and reads at random places against one piece of memory.
    #[test]
    fn pages_are_one_piece_of_memory() {
        use std::collections::BTreeMap;
        let mut seed = 7_u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let mut pages: BTreeMap<i64, Vec<u8>> = BTreeMap::new();
        let mut memory: Vec<u8> = Vec::new();
        for turn in 0..3_000 {
            let at = next(12_000) as i64;
            let count = next(5_000) as usize;
            if turn % 7 == 0 {
                memory.resize(at as usize, 0);
                let last = at / PAGE_BYTES;
                let page = pages.entry(last).or_default();
                *page = cut(page, at % PAGE_BYTES);
                pages.retain(|number, _| *number <= last);
            } else if count > 0 {
                let bytes = vec![turn as u8 | 1; count];
                let end = at as usize + count;
                memory.resize(memory.len().max(end), 0);
                memory[at as usize..end].copy_from_slice(&bytes);
                for number in at / PAGE_BYTES..=(end as i64 - 1) / PAGE_BYTES {
                    let page = pages.entry(number).or_default();
                    *page = written(page, number, at, &bytes);
                }
            }
            let size = pages.iter().next_back();
            let size = size.map_or(0, |(number, page)| number * PAGE_BYTES + page.len() as i64);
            assert_eq!(size, memory.len() as i64);
            let (from, most) = (next(14_000) as i64, next(9_000) as i64);
            let all: Vec<(i64, &[u8])> = pages.iter().map(|(n, page)| (*n, &page[..])).collect();
            let begin = memory.len().min(from as usize);
            let end = memory.len().min((from + most) as usize);
            assert_eq!(read(from, most, size, &all).unwrap(), memory[begin..end]);
        }
    }
}
