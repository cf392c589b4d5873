//! The index: from a conflict key to the pending calls that a new one must come directly after.
//!
//! Relies on: `frontiers`.  Promises: of two calls with keys that meet, the later finds the earlier, or one
//! that comes after it; all that it finds it meets; finding costs what the key costs, whatever is pending:
//! each entry is passed over once, by those that cover it. Two paths with one hash count as one, which adds
//! to what is found and takes nothing away.
//! Does not: hold calls of which nothing is pending, or those that only read.
//!
//! Source: the search of Gargamel's Algorithm 1, done by look-ups. (Its lines 14 and 15 say T_i where T_j is
//! meant: it is the call that was found that becomes a dependency, or whose dependencies are looked at.)
//!
//! ```text
//!            ┌ at ─ keys of this very path            a key of path w,d
//!   ()  ─────┤                                          finds  at (), at w     whole: it is below them
//!            └ below ─ keys of longer paths             finds  at w,d          and covers it
//!     ┌ at                                              finds  below w,d       and covers it
//!   w ┤                                                 stands at w,d
//!     └ below                                           stands below w, below ()
//!        ┌ at
//!    w,d ┤        (w, d and so on are hashes: a depth
//!        └ below   nobody has used has no frontiers)
//! ```
//!
//! What is covered at a path is covered for longer and shorter ones, too: whoever meets the covered key from
//! there meets the covering one. So once nobody needs to find a key at one frontier, it leaves all.
//!
//! **Joints.** Keys of one short path that do not conflict among themselves, as those of calls that read a
//! whole warehouse, are found by every key below that path, and none of these covers them. When they are many,
//! a void call takes their place: it comes after all of them, and who meets them comes after it alone.

use crate::call::Access;
use crate::calls::{Calls, NONE};
use crate::frontiers::{FrontierId, Frontiers};
use quintet_base::conflict::{ConflictKey, MAX_PARTS, Modes};

/// So many entries that others find and do not cover are joined. Fewer are cheaper than another call.
const JOINED_ABOVE: usize = 16;

/// Keys of this very path; or of longer ones.
const AT: u8 = 0;
const BELOW: u8 = 1;

/// All pending keys.
#[derive(Debug)]
pub(crate) struct Index {
    frontiers: Frontiers,
    /// By space: bit d is set once a key had d parts.
    depths: Vec<u8>,
}

const _: () = assert!(MAX_PARTS < 8, "a space's depths are the bits of a byte");

/// What a search is about, and what it found.
pub(crate) struct Search<'a> {
    pub calls: &'a mut Calls,
    pub modes: &'a Modes,
    /// Marks what was found.
    pub number: u64,
    /// Calls to come directly after.
    pub found: &'a mut Vec<u32>,
    /// Void calls that were made, each with its links.
    pub joints: &'a mut Vec<u32>,
}

/// The hash of each prefix of a key's path.
struct Prefixes {
    space: u32,
    hashes: [u64; MAX_PARTS + 1],
}

impl Prefixes {
    fn of(key: &ConflictKey) -> Prefixes {
        let mut hashes = [0; MAX_PARTS + 1];
        let mut hash = mix(u64::from(key.space.0), 0x2545_F491_4F6C_DD1D);
        hashes[0] = hash;
        for (at, part) in key.path().iter().enumerate() {
            hash = mix(hash, *part);
            hashes[at + 1] = hash;
        }
        Prefixes {
            space: key.space.0,
            hashes,
        }
    }

    fn frontier(&self, depth: usize, kind: u8) -> FrontierId {
        FrontierId {
            path: self.hashes[depth] ^ u64::from(kind).wrapping_mul(0x9FB2_1C65_1E98_DF25),
            space: self.space,
            place: (depth as u8) << 1 | kind,
        }
    }
}

/// Joins a hash and a part; the two halves of a product depend on all bits of both.
fn mix(hash: u64, part: u64) -> u64 {
    let product =
        u128::from(hash ^ 0xA076_1D64_78BD_642F) * u128::from(part ^ 0xE703_7ED1_A0B4_28DB);
    // A factor of zero would make the other's bits disappear.
    (product >> 64) as u64 ^ product as u64 ^ hash.rotate_left(29)
}

impl Index {
    pub fn new() -> Index {
        Index {
            frontiers: Frontiers::new(),
            depths: Vec::new(),
        }
    }

    /// Finds what a call must come directly after, and takes in its keys.
    pub fn enter(&mut self, slot: u32, search: &mut Search<'_>) {
        let keys = std::mem::take(&mut search.calls[slot].keys);
        for key in &keys {
            self.open(key, search);
        }
        for key in &keys {
            let against = search.modes.against(key.space, key.mode);
            if against == 0 {
                // Nobody will look for it; its place in the call's list is kept by `open`.
                continue;
            }
            let prefixes = Prefixes::of(key);
            let depth = key.path().len();
            let depths = self.depths[key.space.0 as usize];
            let shorter = depths & ((1 << depth) - 1);
            for prefix in bits(shorter) {
                self.find_at_prefix(prefixes.frontier(prefix, AT), key.mode.0, slot, search);
            }
            let here = prefixes.frontier(depth, AT);
            if let Some(first) = self.frontiers.find(here) {
                self.find(first, key.mode.0, slot, search);
                self.frontiers.cover(first, against);
            }
            if depths >> depth > 1 {
                let below = prefixes.frontier(depth, BELOW);
                if let Some(first) = self.frontiers.find(below) {
                    self.find(first, key.mode.0, slot, search);
                    self.frontiers.cover(first, against);
                    self.frontiers.tidy(first);
                }
            }
            let chain = search.calls[slot].links;
            let link = self
                .frontiers
                .add_key(here, slot, key.mode.0, against, chain);
            search.calls[slot].links = link;
            for prefix in bits(shorter) {
                let below = prefixes.frontier(prefix, BELOW);
                self.frontiers.add_sibling(below, link, key.mode.0, against);
            }
        }
        search.calls[slot].keys = keys;
    }

    /// Forgets the keys of a call.
    pub fn forget(&mut self, slot: u32, calls: &mut Calls) {
        let mut link = std::mem::replace(&mut calls[slot].links, NONE);
        while link != NONE {
            let next = self.frontiers.next_key(link);
            self.frontiers.forget_key(link);
            link = next;
        }
    }

    fn find(&self, first: u32, mode: u8, slot: u32, search: &mut Search<'_>) -> usize {
        let Search {
            calls,
            number,
            found,
            ..
        } = search;
        self.frontiers.look(first, mode, |other| {
            let call = &mut calls[other];
            if other != slot && call.mark != *number {
                call.mark = *number;
                found.push(other);
            }
        })
    }

    /// What stands at a shorter path is found by every key below it, and covered by none.
    fn find_at_prefix(&mut self, id: FrontierId, mode: u8, slot: u32, search: &mut Search<'_>) {
        let Some(first) = self.frontiers.find(id) else {
            return;
        };
        let mut own = false;
        let many = self
            .frontiers
            .look(first, mode, |other| own |= other == slot);
        // A call cannot come after what comes after it.
        if many > JOINED_ABOVE && !own {
            let Search { calls, joints, .. } = search;
            let links = self.frontiers.join(first, mode, JOINED_ABOVE, |members| {
                let joint = calls.add_void();
                for member in members {
                    calls.link(*member, joint);
                }
                joints.push(joint);
                joint
            });
            for link in links {
                calls[self.frontiers.call(link)].links = link;
            }
        }
        self.find(first, mode, slot, search);
    }

    /// Makes a depth known. Keys with more parts have not been entered below it so far.
    fn open(&mut self, key: &ConflictKey, search: &mut Search<'_>) {
        let (space, depth) = (key.space.0 as usize, key.path().len());
        if self.depths.len() <= space {
            self.depths.resize(space + 1, 0);
        }
        if self.depths[space] >> depth & 1 == 1 {
            return;
        }
        self.depths[space] |= 1 << depth;
        if self.depths[space] >> depth == 1 {
            return;
        }
        for (_, call) in search.calls.iter() {
            if call.access == Access::ReadOnly {
                continue;
            }
            let mut link = call.links;
            // The list has the last key first.
            for other in call.keys.iter().rev() {
                let against = search.modes.against(other.space, other.mode);
                if against == 0 {
                    continue;
                }
                if other.space == key.space
                    && other.path().len() > depth
                    && self.frontiers.is_known(link)
                {
                    let below = Prefixes::of(other).frontier(depth, BELOW);
                    self.frontiers
                        .add_sibling(below, link, other.mode.0, against);
                }
                link = self.frontiers.next_key(link);
            }
        }
    }

    /// Compares what is kept with what it is kept for.
    pub fn check(&self, calls: &Calls) {
        self.frontiers.check();
        if calls.iter().next().is_none() {
            assert_eq!(self.frontiers.len(), 0, "no call has no keys");
        }
    }
}

/// The numbers of the bits that are set.
fn bits(mut of: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = of.trailing_zeros();
        of &= of.wrapping_sub(1);
        (bit < 8).then_some(bit as usize)
    })
}
