//! The spaces of a table, by their numbers.
//!
//! Relies on: numbers that are used at one time are often neighbours.  Promises: finding one takes a look-up and an index; a copy with
//! one more or less shares all but [`GROUP`] of the others with what it is a copy of, so that spaces may come and go by the thousand.
//! Does not: change under whoever looks: it is replaced.

use super::Space;
use quintet_base::SpaceId;
use std::collections::HashMap;
use std::sync::Arc;

/// So many neighbours are together.
const GROUP: usize = 256;

/// Neighbours by the last bits of their numbers.
#[derive(Clone)]
struct Group {
    spaces: [Option<Arc<Space>>; GROUP],
    count: usize,
}

/// See the header. Nobody outside chooses the numbers.
#[derive(Clone, Default)]
pub(super) struct Spaces {
    groups: HashMap<u32, Arc<Group>, foldhash::fast::FixedState>,
}

fn place(space: SpaceId) -> (u32, usize) {
    let size = GROUP as u32;
    (space.0 / size, (space.0 % size) as usize)
}

impl Spaces {
    pub fn get(&self, space: SpaceId) -> Option<&Arc<Space>> {
        let (group, at) = place(space);
        self.groups.get(&group)?.spaces[at].as_ref()
    }

    pub fn put(&mut self, space: SpaceId, known: Arc<Space>) {
        let (group, at) = place(space);
        let empty = || {
            Arc::new(Group {
                spaces: [const { None }; GROUP],
                count: 0,
            })
        };
        let group = Arc::make_mut(self.groups.entry(group).or_insert_with(empty));
        group.count += usize::from(group.spaces[at].is_none());
        group.spaces[at] = Some(known);
    }

    /// Takes it out, if it is there.
    pub fn remove(&mut self, space: SpaceId) -> Option<Arc<Space>> {
        let (number, at) = place(space);
        self.get(space)?;
        let group = Arc::make_mut(self.groups.get_mut(&number)?);
        let removed = group.spaces[at].take();
        group.count -= 1;
        if group.count == 0 {
            self.groups.remove(&number);
        }
        removed
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (SpaceId, &Arc<Space>)> {
        self.groups.iter().flat_map(|(number, group)| {
            let places = group.spaces.iter().enumerate();
            places.filter_map(move |(at, space)| {
                Some((SpaceId(number * GROUP as u32 + at as u32), space.as_ref()?))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Listing, Wholeness};
    use quintet_index::OrderedIndex;
    use quintet_rt::Rand;
    use std::collections::BTreeMap;

    fn space() -> Arc<Space> {
        Arc::new(Space {
            ordered: OrderedIndex::new(),
            wholeness: Wholeness::new(true),
            listing: Listing::default(),
        })
    }

    #[test]
    fn copies_are_what_a_map_would_be() {
        let mut rand = Rand::seeded(7);
        let mut model: BTreeMap<SpaceId, Arc<Space>> = BTreeMap::new();
        let mut spaces = Spaces::default();
        let mut before = (spaces.clone(), model.clone());
        for step in 0..4_000 {
            let id = SpaceId((rand.next_u64() % 600) as u32 + (1 << 27) - 300);
            match rand.next_u64() % 3 {
                0 => {
                    let removed = spaces.remove(id).map(|space| Arc::as_ptr(&space));
                    let known = model.remove(&id).map(|space| Arc::as_ptr(&space));
                    assert_eq!(removed, known);
                }
                _ => {
                    let made = space();
                    spaces.put(id, Arc::clone(&made));
                    model.insert(id, made);
                }
            }
            if step % 500 == 0 {
                for (spaces, model) in [&before, &(spaces.clone(), model.clone())] {
                    let mut all: Vec<_> = spaces.iter().map(|(id, _)| id).collect();
                    all.sort();
                    assert_eq!(all, model.keys().copied().collect::<Vec<_>>());
                    for (id, known) in model {
                        assert!(Arc::ptr_eq(spaces.get(*id).unwrap(), known));
                    }
                }
                before = (spaces.clone(), model.clone());
            }
        }
        for id in model.keys() {
            assert!(spaces.remove(*id).is_some());
        }
        assert!(spaces.groups.is_empty());
    }
}
