//! The keys of one node against a sorted `Vec`.

use super::*;
use crate::ordered::{latch::Latch, separator::Separator};

const N: usize = 16;

/// A node, its latch and what it should hold. The separators stand for any keyed thing.
struct Model {
    latch: Latch,
    keys: Keys<Separator, N>,
    expected: Vec<Vec<u8>>,
}

impl Model {
    fn new() -> Self {
        Self {
            latch: Latch::new(),
            keys: Keys::new(),
            expected: Vec::new(),
        }
    }

    fn held(&self) -> Held<'_> {
        self.latch.view().unwrap().lock().unwrap()
    }

    #[track_caller]
    fn search(&self, key: &[u8]) -> (usize, bool) {
        let place = self.keys.search(key, &self.latch.view().unwrap()).unwrap();
        (place.at, place.found.is_some())
    }

    #[track_caller]
    fn toggle(&mut self, key: &[u8]) {
        let (at, found) = self.search(key);
        if found {
            let slot = self.keys.remove(&self.held(), at);
            // SAFETY: taken out just now, of a node that nobody else has.
            unsafe { Separator::free(slot) };
            self.expected.remove(at);
        } else if self.expected.len() < N {
            let slot = Separator::allocate(key);
            self.keys.insert(&self.held(), at, key, slot);
            self.expected.insert(at, key.to_vec());
        }
    }

    /// Asserts order and heads, and that `probe` is found where binary search finds it.
    #[track_caller]
    fn check(&self, probe: &[u8]) {
        self.keys.check(&self.held(), None, None);
        assert_eq!(self.keys.len(), self.expected.len());
        let expected = self
            .expected
            .binary_search_by(|key| key.as_slice().cmp(probe));
        let expected = match expected {
            Ok(at) => (at, true),
            Err(at) => (at, false),
        };
        assert_eq!(
            self.search(probe),
            expected,
            "{probe:?} in {:?}",
            self.expected
        );
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        for at in 0..self.keys.len() {
            // SAFETY: the model is the only user of its separators.
            unsafe { Separator::free(self.keys.slot(at)) };
        }
    }
}

/// Splitmix; the seeds are the numbers of the rounds, so every run is the same.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    /// Keys that collide: one of a few beginnings, of all lengths around where the prefix stops
    /// being in the node, and a short end of few and extreme bytes.
    fn key(&mut self) -> Vec<u8> {
        let begin = [0, 0, 1, 7, 8, 9, 39, 40, 41, 48, 100][self.below(11)];
        let mut key = vec![b'p'; begin];
        for _ in 0..self.below(11) {
            key.push([0, 0, 1, b'p', 0xff][self.below(5)]);
        }
        key
    }
}

/// Goal: a search finds what binary search over whole keys finds, whatever the prefix is.
/// Method: random keys that tie come and go; after each step a random key is looked for.
#[test]
fn a_search_agrees_with_binary_search() {
    let rounds = if cfg!(miri) { 3 } else { 200 };
    for round in 0..rounds {
        let mut random = Random(round);
        let mut model = Model::new();
        for _ in 0..if cfg!(miri) { 60 } else { 400 } {
            model.toggle(&random.key());
            model.check(&random.key());
        }
    }
}

/// Goal: a split and its undoing lose nothing, and look for a longer prefix when heads tie.
#[test]
fn halves_hold_what_the_whole_held() {
    let rounds = if cfg!(miri) { 3 } else { 200 };
    for round in 0..rounds {
        let mut random = Random(round);
        let (mut left, mut right) = (Model::new(), Model::new());
        while left.expected.len() < N {
            let key = random.key();
            if !left.expected.contains(&key) {
                left.toggle(&key);
            }
        }
        let whole = left.expected.clone();
        let middle = random.below(N + 1);
        left.keys
            .split(&left.held(), middle, &right.keys, &right.held());
        right.expected = left.expected.split_off(middle);
        left.check(&random.key());
        right.check(&random.key());

        left.keys.absorb(&left.held(), &right.keys, &right.held());
        right.keys.set_len(0);
        right.expected.clear();
        left.expected = whole;
        left.check(&random.key());
    }
}

#[test]
fn heads_are_told_apart_again_after_a_split() {
    let mut left = Model::new();
    left.toggle(b"a");
    for end in 1..=8_u8 {
        left.toggle(&[b"order/number/".as_slice(), &[end]].concat());
    }
    assert_eq!(left.keys.prefix_length(), 0, "nothing in common with \"a\"");
    let mut right = Model::new();
    left.keys.split(&left.held(), 1, &right.keys, &right.held());
    right.expected = left.expected.split_off(1);
    assert_eq!(right.keys.prefix_length(), b"order/number/".len());
    right.check(b"order/number/\x05");
}

#[test]
fn rising_inserts_are_noticed() {
    let mut model = Model::new();
    for key in 0..N as u8 - 2 {
        model.toggle(&[key]);
    }
    model.toggle(&[200]);
    assert_eq!(
        model.keys.division(5),
        5,
        "a run is divided where it goes on"
    );
    model.toggle(&[3, 3]);
    assert_eq!(model.keys.division(5), N / 2, "no run: halves");
    assert_eq!(model.keys.division(0), 0);
    assert_eq!(model.keys.division(N), N);
}

#[test]
fn heads_are_ordered_as_their_bytes() {
    assert_eq!(head_of(b"abcdefghij", 0), u64::from_be_bytes(*b"abcdefgh"));
    assert_eq!(
        head_of(b"abcdefghij", 5),
        u64::from_be_bytes(*b"fghij\0\0\0")
    );
    assert_eq!(head_of(b"abc", 1), u64::from_be_bytes(*b"bc\0\0\0\0\0\0"));
    assert_eq!(head_of(b"abcdefgh", 8), 0);
    assert_eq!(head_of(b"abc", 4), 0);
    assert_eq!(top(3), 0xffff_ff00_0000_0000);
}
