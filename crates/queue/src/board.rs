//! A set of conflict keys that tells whether another key meets one of them.
//!
//! Relies on: `base::conflict` for what meeting is.  Promises: [`Board::meets`] says what a comparison with each
//! key would say, or, where paths' hashes collide, "yes" once too often; its cost is that of the key's parts,
//! however many keys are there.  Does not: forget single keys; a board goes as a whole.
//!
//! ```text
//!   key a/b/c, mode m      node ""     below: m
//!                          node a      below: m
//!                          node a/b    below: m
//!                          node a/b/c  here:  m
//!
//!   a/b meets it, for `below` of a/b has m;  a/b/c/d, for `here` of a/b/c has it
//! ```

use quintet_base::conflict::{ConflictKey, MAX_PARTS, Modes, Space};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// See the module.
#[derive(Default)]
pub struct Board {
    nodes: HashMap<u64, Node, BuildHasherDefault<Same>>,
}

/// What is known of one path: sets of modes, a bit each.
#[derive(Clone, Copy, Default)]
struct Node {
    /// Of keys that end here.
    here: u64,
    /// Of keys that go on.
    below: u64,
}

impl Board {
    /// Adds a key.
    pub fn add(&mut self, key: &ConflictKey) {
        let path = key.path();
        let bit = 1 << key.mode.0;
        let places = places(key.space, path);
        for place in &places[..path.len()] {
            self.nodes.entry(*place).or_default().below |= bit;
        }
        self.nodes.entry(places[path.len()]).or_default().here |= bit;
    }

    /// True if the key meets one that is here.
    pub fn meets(&self, key: &ConflictKey, modes: &Modes) -> bool {
        if self.nodes.is_empty() {
            return false;
        }
        let against = modes.against(key.space, key.mode);
        if against == 0 {
            return false;
        }
        let path = key.path();
        let places = places(key.space, path);
        let node = |place: u64| self.nodes.get(&place).copied().unwrap_or_default();
        let above = places[..path.len()].iter();
        above
            .map(|place| node(*place).here)
            .any(|here| here & against != 0)
            || {
                let node = node(places[path.len()]);
                (node.here | node.below) & against != 0
            }
    }

    /// Nothing is here.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.nodes.clear();
    }
}

/// The hashes of a path's beginnings, from the space alone to the whole path; the rest is of no use.
fn places(space: Space, path: &[u64]) -> [u64; MAX_PARTS + 1] {
    let mut places = [0; MAX_PARTS + 1];
    let mut at = mix(u64::from(space.0) + 1);
    places[0] = at;
    for (place, part) in places[1..].iter_mut().zip(path) {
        at = mix(at ^ part.rotate_left(17)).wrapping_add(*part);
        *place = at;
    }
    places
}

/// The finalizer of a multiplicative hash: every bit of the input reaches every bit of the output.
fn mix(value: u64) -> u64 {
    let folded = u128::from(value ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
    (folded as u64) ^ ((folded >> 64) as u64)
}

/// What is looked up are hashes already.
#[derive(Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only whole hashes are looked up");
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_base::conflict::Mode;
    use quintet_rt::Rand;

    /// Goal: the board says what comparing with each key says. Random keys with few parts of few values, so
    /// that prefixes and equal paths are frequent; three modes of which two pairs conflict.
    #[test]
    fn it_meets_what_one_of_its_keys_meets() {
        let seed = Rand::from_os().next_u64();
        println!("seed {seed}");
        let mut rand = Rand::seeded(seed);
        let mut modes = Modes::new();
        for space in 0..2 {
            modes.declare(Space(space), Mode(0), Mode(1));
            modes.declare(Space(space), Mode(1), Mode(1));
        }
        modes.declare(Space(0), Mode(2), Mode(0));
        let (mut met, mut apart) = (0, 0);
        for _ in 0..500 {
            let mut random = || {
                let parts: Vec<u64> = (0..rand.below(4)).map(|_| rand.below(3)).collect();
                let space = Space(rand.below(3) as u32);
                ConflictKey::new(space, Mode(rand.below(3) as u8), &parts)
            };
            let keys: Vec<ConflictKey> = (0..6).map(|_| random()).collect();
            let mut board = Board::default();
            keys.iter().for_each(|key| board.add(key));
            for _ in 0..20 {
                let other = random();
                let expected = keys.iter().any(|key| key.meets(&other, &modes));
                assert_eq!(board.meets(&other, &modes), expected, "{other:?} {keys:?}");
                met += usize::from(expected);
                apart += usize::from(!expected);
            }
        }
        assert!(met > 1000 && apart > 1000, "both happen: {met}, {apart}");
    }

    #[test]
    fn a_cleared_board_meets_nothing() {
        let mut modes = Modes::new();
        modes.declare(Space(0), Mode(0), Mode(0));
        let key = ConflictKey::new(Space(0), Mode(0), &[7]);
        let mut board = Board::default();
        board.add(&key);
        assert!(board.meets(&key, &modes));
        board.clear();
        assert!(board.is_empty() && !board.meets(&key, &modes));
    }
}
