//! How frontiers are kept: their table, the groups of each, the entries of each group.
//!
//! Relies on: nothing.  Promises: places are used again; a frontier is in the table while it has entries, and
//! after its last entry has gone until `tidy`.  Does not: know what an entry is covered by (`frontiers`).

use crate::calls::NONE;
use crate::frontiers::{FrontierId, Frontiers, Group, JOINED, Link};

impl Frontiers {
    /// Puts a frontier that is not there into the table.
    pub(super) fn insert(&mut self, first: u32) {
        if self.frontiers == self.buckets.len() {
            let doubled = vec![NONE; self.buckets.len() * 2];
            for mut at in std::mem::replace(&mut self.buckets, doubled) {
                while at != NONE {
                    let next = self.groups[at as usize].chain;
                    self.push(at);
                    at = next;
                }
            }
        }
        self.push(first);
        self.frontiers += 1;
    }

    fn push(&mut self, first: u32) {
        let bucket = self.bucket(self.groups[first as usize].id);
        let next = std::mem::replace(&mut self.buckets[bucket], first);
        self.groups[first as usize].chain = next;
    }

    fn remove(&mut self, first: u32) {
        let Group { id, chain, .. } = self.groups[first as usize];
        let bucket = self.bucket(id);
        let mut at = self.buckets[bucket];
        if at == first {
            self.buckets[bucket] = chain;
        } else {
            while self.groups[at as usize].chain != first {
                at = self.groups[at as usize].chain;
            }
            self.groups[at as usize].chain = chain;
        }
        self.frontiers -= 1;
    }

    /// Appends links, already chained among themselves, to a group.
    pub(super) fn append(&mut self, at: u32, head: u32, tail: u32) {
        let group = &mut self.groups[at as usize];
        let before = std::mem::replace(&mut group.tail, tail);
        if before == NONE {
            group.head = head;
        } else {
            self.links[before as usize].next = head;
        }
        self.links[head as usize].prev = before;
    }

    /// Gives a group a smaller mask; it may join another. Returns the group to look at next.
    pub(super) fn shrink(&mut self, first: u32, at: u32, shrunk: u64) -> u32 {
        let Group {
            mode,
            more,
            head,
            tail,
            ..
        } = self.groups[at as usize];
        let mut same = first;
        while same != NONE {
            let group = &self.groups[same as usize];
            if same != at && group.mode == mode && group.mask == shrunk {
                let next = self.empty_group(first, at);
                // The group that is joined may have moved up.
                let to = if next == first && same == more {
                    first
                } else {
                    same
                };
                self.append(to, head, tail);
                return next;
            }
            same = group.more;
        }
        self.groups[at as usize].mask = shrunk;
        more
    }

    /// Takes a group without its entries out of a frontier. Returns the group to look at next. If it is the
    /// only one, it stays, without entries.
    pub(super) fn empty_group(&mut self, first: u32, at: u32) -> u32 {
        let more = self.groups[at as usize].more;
        if at != first {
            let mut before = first;
            while self.groups[before as usize].more != at {
                before = self.groups[before as usize].more;
            }
            self.groups[before as usize].more = more;
            self.free_group(at);
            more
        } else if more != NONE {
            let chain = self.groups[first as usize].chain;
            self.groups[first as usize] = self.groups[more as usize];
            self.groups[first as usize].chain = chain;
            self.free_group(more);
            first
        } else {
            let group = &mut self.groups[first as usize];
            (group.head, group.tail) = (NONE, NONE);
            NONE
        }
    }

    /// Lets go of a frontier that has no entries.
    pub fn tidy(&mut self, first: u32) {
        let group = self.groups[first as usize];
        if group.head != NONE {
            return;
        }
        assert_eq!(group.more, NONE, "groups have entries");
        self.remove(first);
        self.free_group(first);
    }

    /// Every later key that meets this one finds another in its place.
    pub(super) fn forget_siblings(&mut self, link: u32) {
        let mut other = self.links[link as usize].sibling;
        while other != link {
            self.unlink(other);
            other = self.links[other as usize].sibling;
        }
    }

    /// Takes an entry out of its frontier; the link stays.
    pub(super) fn unlink(&mut self, at: u32) {
        let Link {
            frontier,
            next,
            prev,
            ..
        } = self.links[at as usize];
        self.links[at as usize].frontier = NONE;
        if frontier == NONE || frontier == JOINED {
            return;
        }
        if prev != NONE {
            self.links[prev as usize].next = next;
        }
        if next != NONE {
            self.links[next as usize].prev = prev;
        }
        if prev != NONE && next != NONE {
            return;
        }
        let mut group = frontier;
        loop {
            let here = &mut self.groups[group as usize];
            if (prev == NONE && here.head == at) || (next == NONE && here.tail == at) {
                break;
            }
            group = here.more;
        }
        let here = &mut self.groups[group as usize];
        if prev == NONE {
            here.head = next;
        }
        if next == NONE {
            here.tail = prev;
        }
        if here.head == NONE {
            self.empty_group(frontier, group);
            self.tidy(frontier);
        }
    }

    pub(super) fn new_group(&mut self, id: FrontierId, mode: u8, mask: u64) -> u32 {
        let group = Group {
            id,
            mode,
            mask,
            head: NONE,
            tail: NONE,
            more: NONE,
            chain: NONE,
        };
        if self.free_groups == NONE {
            self.groups.push(group);
            return (self.groups.len() - 1) as u32;
        }
        let at = self.free_groups;
        self.free_groups = self.groups[at as usize].more;
        self.groups[at as usize] = group;
        at
    }

    pub(super) fn free_group(&mut self, at: u32) {
        self.groups[at as usize].more = self.free_groups;
        self.free_groups = at;
    }

    pub(super) fn new_link(&mut self, call: u32) -> u32 {
        let at = match self.free_links {
            NONE => self.links.len() as u32,
            at => at,
        };
        let link = Link {
            call,
            frontier: NONE,
            next: NONE,
            prev: NONE,
            sibling: at,
            chain: NONE,
        };
        self.in_use += 1;
        if self.free_links == NONE {
            self.links.push(link);
        } else {
            self.free_links = self.links[at as usize].chain;
            self.links[at as usize] = link;
        }
        at
    }

    pub(super) fn free_link(&mut self, at: u32) {
        self.links[at as usize].chain = self.free_links;
        self.free_links = at;
        self.in_use -= 1;
    }

    /// Links in use.
    pub fn len(&self) -> usize {
        self.in_use
    }

    /// Compares what is kept with what it is kept for.
    pub fn check(&self) {
        let mut entries = 0;
        let there = |at: u32| (at != NONE).then_some(at);
        let firsts = self.buckets.iter().flat_map(|first| {
            std::iter::successors(there(*first), |at| there(self.groups[*at as usize].chain))
        });
        assert_eq!(firsts.clone().count(), self.frontiers, "all are counted");
        for first in firsts {
            let id = self.groups[first as usize].id;
            assert_eq!(self.find(id), Some(first), "it is found");
            let mut at = first;
            let mut seen = Vec::new();
            while at != NONE {
                let group = &self.groups[at as usize];
                assert_eq!(group.id, id, "groups of one frontier");
                assert!(group.mask != 0 && group.head != NONE, "{group:?}");
                assert!(!seen.contains(&(group.mode, group.mask)), "{group:?}");
                seen.push((group.mode, group.mask));
                let (mut link, mut prev) = (group.head, NONE);
                while link != NONE {
                    let entry = &self.links[link as usize];
                    assert_eq!((entry.frontier, entry.prev), (first, prev), "{entry:?}");
                    entries += 1;
                    (prev, link) = (link, entry.next);
                }
                assert_eq!(group.tail, prev, "{group:?}");
                at = group.more;
            }
        }
        let mut free = 0;
        let mut at = self.free_links;
        while at != NONE {
            free += 1;
            at = self.links[at as usize].chain;
        }
        assert_eq!(
            free + self.in_use,
            self.links.len(),
            "links are used or free"
        );
        assert!(entries <= self.in_use, "an entry has a link");
    }
}
