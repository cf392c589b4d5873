//! Calls in the order that sites have given them: who is after whom, who knows of whom, and who is in
//! whose way.
//!
//! Relies on: nothing.  Promises: a call is found by a new one with whose keys its own meet, at the sites
//! that know of it and at no others; what is after a call that goes, goes with it.
//! Does not: know time, workers or messages.
//!
//! A call that loses its place gets another one under a new number: a *place* is what this file is about.
//! Numbers grow, so whatever a place is after has a smaller one.

use hashbrown::{HashMap, HashSet};
use quintet_base::conflict::{ConflictKey, Modes, Space};

/// Number of a place.
pub(super) type PlaceId = u64;

/// Sites as bits.
pub(super) type Sites = u64;

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;
pub(super) type Set = HashSet<PlaceId, foldhash::fast::FixedState>;

/// One call at one place in the order.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) call: u64,
    pub(super) keys: Vec<ConflictKey>,
    /// What it comes directly after.
    pub(super) after: Vec<PlaceId>,
    /// And what comes directly after it.
    pub(super) before: Vec<PlaceId>,
    /// Who knows of it.
    pub(super) known: Sites,
    /// Places that it collides with, about which nothing is decided.
    pub(super) rivals: Vec<PlaceId>,
    /// All sites agree that it is here.
    pub(super) agreed: bool,
    /// The chain has been extended where this place is run.
    pub(super) extended: bool,
}

/// Where the places are that touch some rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bucket {
    /// Their path begins like this.
    First(Space, u64),
    /// They have no path.
    Whole(Space),
    /// Any of this space.
    All(Space),
}

/// All places that sites still compare calls with.
#[derive(Debug, Default)]
pub(super) struct Graph {
    modes: Modes,
    places: Map<PlaceId, Place>,
    buckets: Map<Bucket, Vec<PlaceId>>,
    next: PlaceId,
}

fn buckets_of(key: &ConflictKey) -> [Bucket; 2] {
    let narrow = match key.path().first() {
        Some(part) => Bucket::First(key.space, *part),
        None => Bucket::Whole(key.space),
    };
    [narrow, Bucket::All(key.space)]
}

impl Graph {
    pub(super) fn new(modes: Modes) -> Graph {
        Graph {
            modes,
            ..Graph::default()
        }
    }

    pub(super) fn get(&self, id: PlaceId) -> Option<&Place> {
        self.places.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: PlaceId) -> Option<&mut Place> {
        self.places.get_mut(&id)
    }

    /// Places that a site knows of and that these keys meet, the latest first.
    pub(super) fn met(&self, keys: &[ConflictKey], site: u32) -> Vec<PlaceId> {
        let mut found: Vec<PlaceId> = Vec::new();
        for key in keys {
            let looked_at = match key.path().first() {
                Some(part) => vec![Bucket::First(key.space, *part), Bucket::Whole(key.space)],
                None => vec![Bucket::All(key.space)],
            };
            let places = looked_at
                .iter()
                .filter_map(|bucket| self.buckets.get(bucket));
            for id in places.flatten() {
                let place = &self.places[id];
                let known = place.known >> site & 1 == 1;
                if known && place.keys.iter().any(|of| key.meets(of, &self.modes)) {
                    found.push(*id);
                }
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        found
    }

    /// A new place, which only this site knows of.
    pub(super) fn add(
        &mut self,
        call: u64,
        keys: Vec<ConflictKey>,
        after: Vec<PlaceId>,
        site: u32,
    ) -> PlaceId {
        let id = self.next;
        self.next += 1;
        for bucket in keys.iter().flat_map(buckets_of) {
            let places = self.buckets.entry(bucket).or_default();
            // Several keys of a call share a bucket.
            if places.last() != Some(&id) {
                places.push(id);
            }
        }
        for before in &after {
            let place = self.places.get_mut(before).expect("it is there");
            place.before.push(id);
        }
        let place = Place {
            call,
            keys,
            after,
            before: Vec::new(),
            known: 1 << site,
            rivals: Vec::new(),
            agreed: false,
            extended: false,
        };
        self.places.insert(id, place);
        id
    }

    /// The place is no more; nobody is its rival.
    pub(super) fn remove(&mut self, id: PlaceId) -> Place {
        let place = self.places.remove(&id).expect("it is there");
        for bucket in place.keys.iter().flat_map(buckets_of) {
            if let Some(places) = self.buckets.get_mut(&bucket) {
                places.retain(|other| *other != id);
                if places.is_empty() {
                    self.buckets.remove(&bucket);
                }
            }
        }
        for before in &place.after {
            if let Some(before) = self.places.get_mut(before) {
                before.before.retain(|other| *other != id);
                before.extended &= !before.before.is_empty();
            }
        }
        for rival in &place.rivals {
            if let Some(rival) = self.places.get_mut(rival) {
                rival.rivals.retain(|other| *other != id);
            }
        }
        place
    }

    /// Two places collide.
    pub(super) fn oppose(&mut self, a: PlaceId, b: PlaceId) {
        for (id, rival) in [(a, b), (b, a)] {
            let place = self.places.get_mut(&id).expect("it is there");
            place.rivals.push(rival);
        }
    }

    /// These places and all that they come after.
    pub(super) fn line(&self, from: &[PlaceId]) -> Set {
        self.reached(from, |place| &place.after)
    }

    /// The branch that begins with a place: it and all that come after it.
    pub(super) fn branch(&self, from: PlaceId) -> Set {
        self.reached(&[from], |place| &place.before)
    }

    fn reached(&self, from: &[PlaceId], next: fn(&Place) -> &Vec<PlaceId>) -> Set {
        let mut seen = Set::default();
        let mut open: Vec<PlaceId> = from.to_vec();
        while let Some(id) = open.pop() {
            if let Some(place) = self.places.get(&id)
                && seen.insert(id)
            {
                open.extend(next(place));
            }
        }
        seen
    }

    /// Of places, the latest first, those that no other of them comes after.
    pub(super) fn heads(&self, of: &[PlaceId]) -> Vec<PlaceId> {
        let mut covered = Set::default();
        let mut heads = Vec::new();
        for id in of {
            if covered.contains(id) {
                continue;
            }
            heads.push(*id);
            let mut open = vec![*id];
            while let Some(id) = open.pop() {
                if let Some(place) = self.places.get(&id)
                    && covered.insert(id)
                {
                    open.extend(&place.after);
                }
            }
        }
        heads
    }

    /// True if `a` is before `b` in what sites prefer: the longer branch, or else the smaller call.
    pub(super) fn preferred(&self, a: PlaceId, b: PlaceId) -> bool {
        let rank = |id: PlaceId| {
            let length = self.branch(id).len();
            (std::cmp::Reverse(length), self.places[&id].call)
        };
        rank(a) < rank(b)
    }

    /// All branches that cannot stay together with a line: they begin with rivals of its places.
    pub(super) fn opposed(&self, line: &Set) -> Set {
        let places = line.iter().filter_map(|id| self.places.get(id));
        let rivals: Vec<PlaceId> = places.flat_map(|place| &place.rivals).copied().collect();
        self.reached(&rivals, |place| &place.before)
    }

    /// Two rivals among these places, if there are any.
    pub(super) fn rivals_among(&self, line: &Set) -> Option<(PlaceId, PlaceId)> {
        // In the order of numbers, for a set's own order is nobody's business.
        let mut contested: Vec<PlaceId> = line
            .iter()
            .filter(|id| !self.places[*id].rivals.is_empty())
            .copied()
            .collect();
        contested.sort_unstable();
        contested.into_iter().find_map(|id| {
            let rivals = &self.places[&id].rivals;
            let rival = rivals.iter().find(|rival| line.contains(*rival))?;
            Some((id, *rival))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_base::conflict::Mode;

    fn key(path: &[u64]) -> ConflictKey {
        ConflictKey::new(Space(0), Mode(0), path)
    }

    fn graph() -> Graph {
        let mut modes = Modes::new();
        modes.declare(Space(0), Mode(0), Mode(0));
        Graph::new(modes)
    }

    #[test]
    fn a_site_finds_what_it_knows_of_and_what_meets() {
        let mut graph = graph();
        let a = graph.add(1, vec![key(&[1, 2])], vec![], 0);
        let b = graph.add(2, vec![key(&[1])], vec![a], 0);
        let c = graph.add(3, vec![key(&[])], vec![b], 0);
        let d = graph.add(4, vec![key(&[2])], vec![c], 1);
        assert_eq!(graph.met(&[key(&[1, 2])], 0), [c, b, a]);
        assert_eq!(graph.met(&[key(&[1, 3])], 0), [c, b]);
        assert_eq!(graph.met(&[key(&[])], 0), [c, b, a]);
        assert_eq!(graph.met(&[key(&[])], 1), [d]);
        assert_eq!(graph.heads(&[d, c, b, a]), [d]);
        graph.remove(c);
        assert!(graph.met(&[key(&[2])], 0).is_empty());
        assert_eq!(graph.heads(&[b, a]), [b]);
    }

    #[test]
    fn the_longer_branch_is_preferred_and_then_the_smaller_call() {
        let mut graph = graph();
        let root = graph.add(9, vec![key(&[1])], vec![], 0);
        let a = graph.add(2, vec![key(&[1])], vec![root], 0);
        let b = graph.add(1, vec![key(&[1])], vec![root], 1);
        graph.oppose(a, b);
        assert!(graph.preferred(b, a));
        let behind = graph.add(3, vec![key(&[1])], vec![a], 0);
        assert!(graph.preferred(a, b));
        let lines = (graph.line(&[behind]), graph.line(&[b]));
        assert!(graph.opposed(&lines.0).contains(&b) && !graph.opposed(&lines.0).contains(&a));
        assert!(graph.opposed(&lines.1).contains(&behind));
        assert_eq!(graph.rivals_among(&graph.line(&[a, b])), Some((a, b)));
        assert_eq!(graph.rivals_among(&lines.0), None);
        graph.remove(b);
        assert!(graph.get(a).unwrap().rivals.is_empty());
    }
}
