//! Frontiers: for a path, the pending keys there that a later key may have to come directly after.
//!
//! Relies on: nothing.  Promises: a frontier that is empty takes no memory; a key is found, taken out and
//! covered in constant time, whatever stands beside it.
//! Does not: know paths or calls; a frontier is a number that `index` makes, an entry belongs to a number.
//!
//! ```text
//!   bucket ─ id ─► group ─ more ─► group         of one mode, and a mask: the modes that still have
//!                   │                │           to come directly after its entries
//!                   ▼                ▼
//!                 link ⇄ link      link          one entry each, in the order they came
//! ```
//!
//! **Covering.** When a key of mode m takes its place behind the entries of a frontier, a later key that
//! conflicts with m comes after the new one, and by that after them: so those modes leave the masks. An entry
//! whose mask is empty is forgotten. A writer covers what was there for everybody; a reader covers
//! a writer for writers only, and the next reader still finds the writer.
//!
//! Hot path: `warm`, `find`, `add`, `cover`. No allocation but by growth. With many calls pending all of it is
//! cache misses: the table is one of numbers, so that those of all keys of a call can be under way together
//! before the first is needed.

use crate::calls::NONE;

/// In no frontier itself: a joint stands there for it.
pub(super) const JOINED: u32 = NONE - 1;

/// Which frontier: a space, a depth in it and one of two kinds, exactly; and a path there, as a hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrontierId {
    pub path: u64,
    pub space: u32,
    pub place: u8,
}

/// What is entered: where, with which mode, and the modes that conflict with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub at: FrontierId,
    pub mode: u8,
    pub mask: u64,
}

/// Entries of one mode, at one frontier, that the same modes still have to come after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) id: FrontierId,
    pub(super) mode: u8,
    pub(super) mask: u64,
    pub(super) head: u32,
    pub(super) tail: u32,
    /// The frontier's next group; in a group that is free, the next free one.
    pub(super) more: u32,
    /// Of a frontier's first group: the next frontier of its bucket.
    pub(super) chain: u32,
}

/// A key's entry in a frontier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) call: u32,
    /// The first group of the frontier; [`JOINED`], or [`NONE`] if nobody has to find it there.
    pub(super) frontier: u32,
    pub(super) next: u32,
    pub(super) prev: u32,
    /// The key's entry in another frontier; all of a key are a ring.
    pub(super) sibling: u32,
    /// Of a key's first entry: the first one of the call's next key. In a link that is free, the next free one.
    pub(super) chain: u32,
}

/// All frontiers.
#[derive(Debug)]
pub(crate) struct Frontiers {
    /// By the low bits of a path's hash: a frontier's first group. Their number is a power of two.
    pub(super) buckets: Vec<u32>,
    pub(super) frontiers: usize,
    pub(super) groups: Vec<Group>,
    pub(super) free_groups: u32,
    pub(super) links: Vec<Link>,
    pub(super) free_links: u32,
    pub(super) in_use: usize,
}

impl Frontiers {
    pub fn new() -> Frontiers {
        Frontiers {
            buckets: vec![NONE; 64],
            frontiers: 0,
            groups: Vec::new(),
            free_groups: NONE,
            links: Vec::new(),
            free_links: NONE,
            in_use: 0,
        }
    }

    pub(super) fn bucket(&self, id: FrontierId) -> usize {
        id.path as usize & (self.buckets.len() - 1)
    }

    /// Looks where frontiers may be, without waiting for one before the next.
    pub fn warm(&self, ids: impl Iterator<Item = FrontierId> + Clone) {
        let firsts = ids.map(|id| self.buckets[self.bucket(id)]);
        let heads = firsts.map(|first| match self.groups.get(first as usize) {
            Some(group) => group.head,
            None => NONE,
        });
        let calls = heads.map(|head| match self.links.get(head as usize) {
            Some(link) => link.call,
            None => NONE,
        });
        std::hint::black_box(calls.fold(0, |sum, call| sum ^ call));
    }

    /// The frontier, if anything is there.
    pub fn find(&self, id: FrontierId) -> Option<u32> {
        let mut at = self.buckets[self.bucket(id)];
        while at != NONE {
            let group = &self.groups[at as usize];
            if group.id == id {
                return Some(at);
            }
            at = group.chain;
        }
        None
    }

    /// Adds an entry of a call as the first of a key, before the call's other keys. `found` is what
    /// [`Frontiers::find`] says.
    pub fn add_key(&mut self, entry: Entry, found: Option<u32>, call: u32, chain: u32) -> u32 {
        let link = self.new_link(call);
        self.links[link as usize].chain = chain;
        self.add(entry, found, link);
        link
    }

    /// Adds an entry of the same key in another frontier.
    pub fn add_sibling(&mut self, entry: Entry, of: u32) {
        let link = self.new_link(self.links[of as usize].call);
        let next = std::mem::replace(&mut self.links[of as usize].sibling, link);
        self.links[link as usize].sibling = next;
        let found = self.find(entry.at);
        self.add(entry, found, link);
    }

    fn add(&mut self, entry: Entry, found: Option<u32>, link: u32) {
        let Entry { at: id, mode, mask } = entry;
        let first = found.unwrap_or_else(|| {
            let first = self.new_group(id, mode, mask);
            self.insert(first);
            first
        });
        self.links[link as usize].frontier = first;
        // A frontier that was covered just now may have a group without entries, and only that one.
        if self.groups[first as usize].head == NONE {
            let group = &mut self.groups[first as usize];
            (group.mode, group.mask) = (mode, mask);
        }
        let mut at = first;
        loop {
            let group = &self.groups[at as usize];
            if group.mode == mode && group.mask == mask {
                break;
            }
            if group.more == NONE {
                let new = self.new_group(id, mode, mask);
                self.groups[at as usize].more = new;
                at = new;
                break;
            }
            at = group.more;
        }
        self.append(at, link, link);
    }

    /// Tells of the calls that a key of this mode must come directly after, and how many there were in the
    /// largest group. Nothing changes.
    pub fn look(&self, first: u32, mode: u8, mut tell: impl FnMut(u32)) -> usize {
        let mut at = first;
        let mut largest = 0;
        while at != NONE {
            let group = &self.groups[at as usize];
            if group.mask >> mode & 1 == 1 {
                let mut count = 0;
                let mut link = group.head;
                while link != NONE {
                    let entry = &self.links[link as usize];
                    tell(entry.call);
                    count += 1;
                    link = entry.next;
                }
                largest = largest.max(count);
            }
            at = group.more;
        }
        largest
    }

    /// A key of this mode takes its place behind all entries that conflict with it: what they still need to
    /// be found for shrinks. `against` are the modes that conflict with it.
    pub fn cover(&mut self, first: u32, against: u64) {
        let mut at = first;
        while at != NONE {
            let Group {
                mode, mask, more, ..
            } = self.groups[at as usize];
            let shrunk = mask & !against;
            if against >> mode & 1 == 0 || shrunk == mask {
                at = more;
            } else if shrunk == 0 {
                let mut link = self.groups[at as usize].head;
                // Empty, it moves up or stays the only one.
                at = self.empty_group(first, at);
                while link != NONE {
                    let next = self.links[link as usize].next;
                    self.links[link as usize].frontier = NONE;
                    self.forget_siblings(link);
                    link = next;
                }
            } else {
                at = self.shrink(first, at, shrunk);
            }
        }
    }

    /// Replaces the entries of the groups that a key of this mode meets, where they are many, by one of
    /// another call each. Those calls are told of with the call that stands for them.
    pub fn join(
        &mut self,
        first: u32,
        mode: u8,
        many: usize,
        mut stand_in: impl FnMut(&[u32]) -> u32,
    ) -> Vec<u32> {
        let mut made = Vec::new();
        let mut at = first;
        while at != NONE {
            let group = self.groups[at as usize];
            if group.mask >> mode & 1 == 1 {
                let mut calls = Vec::new();
                let mut links = Vec::new();
                let mut link = group.head;
                while link != NONE {
                    links.push(link);
                    calls.push(self.links[link as usize].call);
                    link = self.links[link as usize].next;
                }
                if calls.len() > many {
                    calls.sort_unstable();
                    calls.dedup();
                    let joint = stand_in(&calls);
                    for link in links {
                        self.links[link as usize].frontier = JOINED;
                    }
                    let link = self.new_link(joint);
                    self.links[link as usize].frontier = first;
                    let group = &mut self.groups[at as usize];
                    (group.head, group.tail) = (link, link);
                    made.push(link);
                }
            }
            at = group.more;
        }
        made
    }

    /// Whose entry it is.
    pub fn call(&self, link: u32) -> u32 {
        self.links[link as usize].call
    }

    /// The first entry of the call's next key.
    pub fn next_key(&self, link: u32) -> u32 {
        self.links[link as usize].chain
    }

    /// True if somebody may still have to find the key.
    pub fn is_known(&self, first: u32) -> bool {
        let mut link = first;
        loop {
            let entry = &self.links[link as usize];
            if entry.frontier != NONE {
                return true;
            }
            link = entry.sibling;
            if link == first {
                return false;
            }
        }
    }

    /// Forgets a key and its links.
    pub fn forget_key(&mut self, first: u32) {
        let mut link = first;
        loop {
            self.unlink(link);
            let next = self.links[link as usize].sibling;
            self.free_link(link);
            if next == first {
                return;
            }
            link = next;
        }
    }
}
