//! A set of workers.
//!
//! Relies on: workers numbered from 0 without large gaps.  Promises: no memory of its own while it has
//! always been empty.  Does not: know how many workers there are.

/// A bit for each worker.
#[derive(Clone, Default, Debug)]
pub(crate) struct Set {
    words: Vec<u64>,
}

impl Set {
    pub fn insert(&mut self, at: u32) {
        let word = at as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (at % 64);
    }

    /// True if it was there.
    pub fn remove(&mut self, at: u32) -> bool {
        let was = self.contains(at);
        if was {
            self.words[at as usize / 64] &= !(1 << (at % 64));
        }
        was
    }

    pub fn contains(&self, at: u32) -> bool {
        let word = self.words.get(at as usize / 64).copied().unwrap_or(0);
        word >> (at % 64) & 1 == 1
    }

    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub fn clear(&mut self) {
        self.words.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_and_go_across_words() {
        let mut set = Set::default();
        assert!(set.is_empty() && !set.contains(70));
        for at in [0, 63, 64, 200] {
            set.insert(at);
            assert!(set.contains(at));
        }
        assert!(!set.remove(65));
        for at in [0, 63, 64, 200] {
            assert!(set.remove(at) && !set.remove(at));
        }
        assert!(set.is_empty());
    }
}
