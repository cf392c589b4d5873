//! From conflict keys to the places that they meet, at a site that knows many.
//!
//! Relies on: `base::conflict`.  Promises: every place with a key that meets one of those asked for, once; asking
//! costs what is found, whatever else is pending.
//! Does not: cover one place by another, as the index of a single site does: who is a rival of whom has to be
//! known of all places that meet.
//!
//! ```text
//!   of a path    at ─ keys of this very path       found by longer paths, and by this one
//!                below ─ keys of longer paths      found by this path; kept where keys of its length were seen
//! ```

use crate::offer::PlaceId;
use hashbrown::HashMap;
use quintet_base::conflict::{ConflictKey, MAX_PARTS, Mode, Modes};

/// Keys of one path, or below it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Bucket {
    /// Space and path; its mode is always the same.
    path: ConflictKey,
    below: bool,
}

/// The keys of all places.
#[derive(Debug)]
pub(super) struct Keys {
    modes: Modes,
    buckets: HashMap<Bucket, Vec<(PlaceId, Mode)>, foldhash::fast::FixedState>,
    /// By space: bit d is set once a key had d parts.
    depths: Vec<u8>,
}

const _: () = assert!(MAX_PARTS < 8, "a space's depths are the bits of a byte");

fn bucket(key: &ConflictKey, depth: usize, below: bool) -> Bucket {
    Bucket {
        path: ConflictKey::new(key.space, Mode(0), &key.path()[..depth]),
        below,
    }
}

impl Keys {
    pub fn new(modes: Modes) -> Keys {
        Keys {
            modes,
            buckets: HashMap::default(),
            depths: Vec::new(),
        }
    }

    fn depths(&self, key: &ConflictKey) -> u8 {
        let depths = self.depths.get(key.space.0 as usize);
        depths.copied().unwrap_or(0)
    }

    /// Where a key stands: at its path, and below every shorter one that is in use.
    fn buckets_of(&self, key: &ConflictKey) -> impl Iterator<Item = Bucket> + use<> {
        let (key, depth, depths) = (*key, key.path().len(), self.depths(key));
        let shorter = (0..depth).filter(move |shorter| depths >> shorter & 1 == 1);
        let below = shorter.map(move |shorter| bucket(&key, shorter, true));
        below.chain([bucket(&key, depth, false)])
    }

    /// Makes the lengths of these paths known; longer keys of `others`, which are all that are kept, have not been
    /// entered below such paths so far. To be done before anything of these keys is asked or taken in.
    pub fn open<'a, I>(&mut self, keys: &[ConflictKey], others: impl Fn() -> I)
    where
        I: Iterator<Item = (PlaceId, &'a [ConflictKey])>,
    {
        for key in keys {
            let (space, depth) = (key.space.0 as usize, key.path().len());
            if self.depths.len() <= space {
                self.depths.resize(space + 1, 0);
            }
            if self.depths[space] >> depth & 1 == 1 {
                continue;
            }
            self.depths[space] |= 1 << depth;
            if self.depths[space] >> depth == 1 {
                continue;
            }
            for (id, keys) in others() {
                let longer =
                    |other: &&ConflictKey| other.space == key.space && other.path().len() > depth;
                for other in keys.iter().filter(longer) {
                    let places = self.buckets.entry(bucket(other, depth, true));
                    places.or_default().push((id, other.mode));
                }
            }
        }
    }

    /// Takes in the keys of a place.
    pub fn insert(&mut self, id: PlaceId, keys: &[ConflictKey]) {
        for key in keys {
            for bucket in self.buckets_of(key) {
                let places = self.buckets.entry(bucket).or_default();
                places.push((id, key.mode));
            }
        }
    }

    /// Forgets the keys of a place.
    pub fn remove(&mut self, id: PlaceId, keys: &[ConflictKey]) {
        for key in keys {
            for bucket in self.buckets_of(key) {
                let places = self.buckets.get_mut(&bucket).expect("it was put there");
                let at = places.iter().position(|place| *place == (id, key.mode));
                places.swap_remove(at.expect("it was put there"));
                if places.is_empty() {
                    self.buckets.remove(&bucket);
                }
            }
        }
    }

    /// The places that keys meet, in the order of their numbers.
    pub fn met(&self, keys: &[ConflictKey]) -> Vec<PlaceId> {
        let mut found = Vec::new();
        for key in keys {
            let against = self.modes.against(key.space, key.mode);
            if against == 0 {
                continue;
            }
            let (depth, depths) = (key.path().len(), self.depths(key));
            let at = (0..=depth).filter(|shorter| depths >> shorter & 1 == 1);
            let at = at.map(|shorter| bucket(key, shorter, false));
            for bucket in at.chain([bucket(key, depth, true)]) {
                let places = self.buckets.get(&bucket);
                let places = places.map(Vec::as_slice).unwrap_or_default();
                let conflicting = places.iter().filter(|(_, mode)| against >> mode.0 & 1 == 1);
                found.extend(conflicting.map(|(id, _)| *id));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// True if nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::SiteId;
    use proptest::prelude::*;
    use quintet_base::conflict::Space;

    /// Two spaces, two modes of which one conflicts with itself and both with each other, paths of up to three parts.
    fn key() -> impl Strategy<Value = ConflictKey> {
        let path = prop::collection::vec(0..2u64, 0..4);
        (0..2u32, 0..2u8, path)
            .prop_map(|(space, mode, path)| ConflictKey::new(Space(space), Mode(mode), &path))
    }

    fn modes() -> Modes {
        let mut modes = Modes::new();
        for space in [Space(0), Space(1)] {
            modes.declare(space, Mode(0), Mode(0));
            modes.declare(space, Mode(0), Mode(1));
        }
        modes
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        // Places come and go; what is found is what a look at all of them finds.
        #[test]
        fn what_is_found_is_what_meets(
            steps in prop::collection::vec((prop::collection::vec(key(), 1..4), any::<bool>()), 1..30),
        ) {
            let modes = modes();
            let mut keys = Keys::new(modes.clone());
            let mut all: Vec<(PlaceId, Vec<ConflictKey>)> = Vec::new();
            for (number, (new, goes)) in steps.into_iter().enumerate() {
                keys.open(&new, || all.iter().map(|(id, keys)| (*id, &keys[..])));
                let meets = |old: &[ConflictKey]| {
                    old.iter().any(|old| new.iter().any(|key| key.meets(old, &modes)))
                };
                let met = all.iter().filter(|(_, old)| meets(old)).map(|(id, _)| *id);
                prop_assert_eq!(keys.met(&new), met.collect::<Vec<_>>());
                let id = PlaceId { site: SiteId(0), number: number as u64 };
                keys.insert(id, &new);
                all.push((id, new));
                if goes {
                    let (id, old) = all.remove(all.len() / 2);
                    keys.remove(id, &old);
                }
            }
            for (id, old) in all {
                keys.remove(id, &old);
            }
            prop_assert!(keys.is_empty());
        }
    }
}
