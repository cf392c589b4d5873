//! Numbers of sessions and of what they make in their temporary schemas, and what is there.
//!
//! Relies on: nothing.  Promises: no two sessions of a database that live have one number; no two that live anywhere in the house
//! have one block, and a block that comes back is the last one to be given again, for STORE may not have forgotten
//! its spaces yet.  Does not: know what is made; see `session::own`.

use parking_lot::Mutex;
use quintet_base::SpaceId;
use quintet_base::ids::TEMPORARY;
use quintet_sql::TemporaryRecords;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Which numbers of sessions are taken.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Given back, at most `highest`.
    free: BTreeSet<u32>,
    highest: u32,
}

impl Numbers {
    /// A number that nobody has.
    pub fn take(&self) -> u32 {
        let mut state = self.0.lock();
        state.free.pop_first().unwrap_or_else(|| {
            state.highest += 1;
            state.highest
        })
    }

    /// Nothing is there any more by this number.
    pub fn give_back(&self, number: u32) {
        self.0.lock().free.insert(number);
    }
}

/// What the sessions of a database have in their temporary schemas, as committed: whoever changes what everybody sees looks whether
/// anything there needs it.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<BTreeMap<u32, Arc<TemporaryRecords>>>);

impl Kept {
    /// What this session has from now on.
    pub fn put(&self, session: u32, records: &Arc<TemporaryRecords>) {
        let mut kept = self.0.lock();
        match records.is_empty() {
            true => kept.remove(&session),
            false => kept.insert(session, Arc::clone(records)),
        };
    }

    /// This session has nothing any more.
    pub fn remove(&self, session: u32) {
        self.0.lock().remove(&session);
    }

    /// What all others have.
    pub fn of_others(&self, session: u32) -> Vec<Arc<TemporaryRecords>> {
        let kept = self.0.lock();
        let others = kept.iter().filter(|(other, _)| **other != session);
        others.map(|(_, records)| Arc::clone(records)).collect()
    }
}

/// How many numbers a session is given at a time.
pub(crate) const BLOCK: u32 = 1 << 14;

/// How many blocks there are. The first is never given: it is where a plan takes its numbers from as long as the session has none.
const BLOCKS: u32 = (TEMPORARY.end - TEMPORARY.start) / BLOCK;

/// Which blocks of numbers for objects are whose.
#[derive(Debug, Default)]
pub(crate) struct Blocks(Mutex<Given>);

#[derive(Debug, Default)]
struct Given {
    taken: BTreeSet<u32>,
    last: u32,
}

/// A block that is nobody else's until it is dropped.
pub(crate) struct Block {
    place: u32,
    blocks: Arc<Blocks>,
}

impl Blocks {
    /// The first one given is behind this space, of which a crash may have left something.
    pub fn begin_behind(&self, space: SpaceId) {
        self.0.lock().last = space.0.saturating_sub(TEMPORARY.start) / BLOCK;
    }

    /// One that nobody has; `None` if all are taken.
    pub fn take(self: &Arc<Blocks>) -> Option<Block> {
        let mut given = self.0.lock();
        let behind = given.last;
        let mut all = (behind + 1..BLOCKS).chain(1..=behind);
        let place = all.find(|place| *place < BLOCKS && !given.taken.contains(place))?;
        given.taken.insert(place);
        given.last = place;
        Some(Block {
            place,
            blocks: Arc::clone(self),
        })
    }
}

impl Block {
    /// The numbers in it.
    pub fn numbers(&self) -> Range<u32> {
        let start = TEMPORARY.start + self.place * BLOCK;
        start..start + BLOCK
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.blocks.0.lock().taken.remove(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_given_once_until_it_comes_back() {
        let numbers = Numbers::default();
        assert_eq!([numbers.take(), numbers.take(), numbers.take()], [1, 2, 3]);
        numbers.give_back(2);
        numbers.give_back(1);
        assert_eq!([numbers.take(), numbers.take(), numbers.take()], [1, 2, 4]);
    }

    #[test]
    fn a_block_that_comes_back_is_the_last_to_be_given_again() {
        let blocks = Arc::<Blocks>::default();
        let start = |block: &Option<Block>| block.as_ref().map(|block| block.numbers().start);
        let at = |place: u32| Some(TEMPORARY.start + place * BLOCK);
        let first = blocks.take();
        assert_eq!(start(&first), at(1), "the first of all is never given");
        drop(first);
        let kept = blocks.take();
        assert_eq!(start(&kept), at(2));
        for place in 3..BLOCKS {
            assert_eq!(start(&blocks.take()), at(place));
        }
        assert_eq!(start(&blocks.take()), at(1));
        assert_eq!(
            start(&blocks.take()),
            at(3),
            "that of somebody who lives is passed over"
        );
        let all: Vec<Block> = std::iter::from_fn(|| blocks.take()).collect();
        assert_eq!(all.len() as u32, BLOCKS - 2);
        drop(all);
        blocks.begin_behind(SpaceId(TEMPORARY.start + 7 * BLOCK + 5));
        assert_eq!(start(&blocks.take()), at(8));
        blocks.begin_behind(SpaceId(TEMPORARY.end - 1));
        assert_eq!(start(&blocks.take()), at(1));
    }
}
