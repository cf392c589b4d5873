//! Conflict keys: which rows a call may touch, and how, said before it runs.
//!
//! Relies on: nothing.  Promises: two calls may conflict only if a key of one meets a key of the other
//! ([`ConflictKey::meets`]); a key that says less (a shorter path) meets no fewer.
//! Does not: derive keys from a routine (`analysis` does), or decide who waits for whom (`chain`, `queue`).
//!
//! ```text
//!   key = space   one order of rows: a table by its primary key, or an index by its columns
//!         mode    what is done to the rows there: which columns are read and which written
//!         path    the key's parts, as hashes, as far as they are known; none: any row of the space
//! ```
//!
//! Source: Gargamel, chapter 3 (the classifier); prefixes stand for values known only at run time (design, §3).

/// One order of rows in which paths are compared. Keys in different spaces never meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Space(pub u32);

/// What is done to the rows of a space. What a number means, and which modes of a space conflict, is said
/// by the [`Modes`] that came with it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mode(pub u8);

/// Parts that a path may have; a longer key's path is cut here, which loses parallelism and nothing else.
pub const MAX_PARTS: usize = 6;

/// Modes that a space may have; who needs more merges some, which loses parallelism and nothing else.
pub const MAX_MODES: usize = 64;

/// Rows that a call may touch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConflictKey {
    /// Of these rows.
    pub space: Space,
    /// Touched like this.
    pub mode: Mode,
    parts: u8,
    path: [u64; MAX_PARTS],
}

impl ConflictKey {
    /// A key; parts beyond [`MAX_PARTS`] are left out. Equal values must have equal parts; that unequal ones
    /// may have equal parts, too, costs parallelism only.
    pub fn new(space: Space, mode: Mode, parts: &[u64]) -> ConflictKey {
        let parts = &parts[..parts.len().min(MAX_PARTS)];
        let mut path = [0; MAX_PARTS];
        path[..parts.len()].copy_from_slice(parts);
        ConflictKey {
            space,
            mode,
            parts: parts.len() as u8,
            path,
        }
    }

    /// The parts that are known, in the order of the space.
    pub fn path(&self) -> &[u64] {
        &self.path[..self.parts as usize]
    }

    /// True if a row may be among those of both keys: same space, and one's path begins with the other's.
    pub fn overlaps(&self, other: &ConflictKey) -> bool {
        let common = self.path().len().min(other.path().len());
        self.space == other.space && self.path()[..common] == other.path()[..common]
    }

    /// True if calls with these keys may conflict: they overlap, in modes that conflict.
    pub fn meets(&self, other: &ConflictKey, modes: &Modes) -> bool {
        self.overlaps(other) && modes.conflict(self.space, self.mode, other.mode)
    }
}

/// Which modes of each space conflict. Symmetric.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Modes {
    /// By space, by mode: a bit for each mode it conflicts with.
    spaces: Vec<Vec<u64>>,
}

impl Modes {
    /// None conflict yet.
    pub fn new() -> Modes {
        Modes::default()
    }

    /// From now on these conflict, either way round.
    ///
    /// # Panics
    /// If a mode is not below [`MAX_MODES`].
    pub fn declare(&mut self, space: Space, a: Mode, b: Mode) {
        assert!(
            usize::from(a.0.max(b.0)) < MAX_MODES,
            "a space has at most {MAX_MODES} modes"
        );
        let at = space.0 as usize;
        if self.spaces.len() <= at {
            self.spaces.resize_with(at + 1, Vec::new);
        }
        let modes = &mut self.spaces[at];
        let needed = usize::from(a.0.max(b.0)) + 1;
        if modes.len() < needed {
            modes.resize(needed, 0);
        }
        modes[usize::from(a.0)] |= 1 << b.0;
        modes[usize::from(b.0)] |= 1 << a.0;
    }

    /// How many spaces there are: one more than the last of which anything was declared.
    pub fn spaces(&self) -> usize {
        self.spaces.len()
    }

    /// Bit m is set if this mode conflicts with mode m.
    pub fn against(&self, space: Space, mode: Mode) -> u64 {
        self.spaces
            .get(space.0 as usize)
            .and_then(|modes| modes.get(usize::from(mode.0)))
            .copied()
            .unwrap_or(0)
    }

    /// True if calls that touch the same row in these modes conflict.
    pub fn conflict(&self, space: Space, a: Mode, b: Mode) -> bool {
        self.against(space, a) >> b.0 & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOCK: Space = Space(3);
    const READ: Mode = Mode(0);
    const WRITE: Mode = Mode(1);

    fn modes() -> Modes {
        let mut modes = Modes::new();
        modes.declare(STOCK, WRITE, WRITE);
        modes.declare(STOCK, READ, WRITE);
        modes
    }

    #[test]
    fn a_shorter_path_overlaps_all_that_begin_with_it() {
        let key = |parts: &[u64]| ConflictKey::new(STOCK, WRITE, parts);
        assert!(key(&[1, 2]).overlaps(&key(&[1])));
        assert!(key(&[]).overlaps(&key(&[7, 8, 9])));
        assert!(!key(&[1, 2]).overlaps(&key(&[1, 3])));
        assert!(!key(&[1, 2]).overlaps(&ConflictKey::new(Space(4), WRITE, &[1, 2])));
    }

    #[test]
    fn a_long_path_is_cut_and_overlaps_no_less() {
        let long = ConflictKey::new(STOCK, WRITE, &[1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(long.path().len(), MAX_PARTS);
        assert!(long.overlaps(&ConflictKey::new(STOCK, WRITE, &[1, 2, 3, 4, 5, 6, 8])));
    }

    #[test]
    fn modes_conflict_both_ways_and_only_as_declared() {
        let modes = modes();
        assert!(modes.conflict(STOCK, READ, WRITE) && modes.conflict(STOCK, WRITE, READ));
        assert!(!modes.conflict(STOCK, READ, READ));
        assert!(!modes.conflict(Space(0), WRITE, WRITE));
        assert!(!modes.conflict(STOCK, Mode(9), WRITE));
        let reader = ConflictKey::new(STOCK, READ, &[1]);
        assert!(!reader.meets(&reader, &modes));
        assert!(reader.meets(&ConflictKey::new(STOCK, WRITE, &[]), &modes));
    }
}
