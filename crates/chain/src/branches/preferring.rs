//! Which of two branches is preferred, which bets follow from that, and what is decided with what.
//!
//! Relies on: what `branches` keeps.  Promises: the same answer at all sites that know the same; work in proportion to the
//! branches that are looked at, none where there are no rivals.
//! Does not: change anything.

use super::{Branches, Place, Set};
use crate::offer::PlaceId;
use quintet_base::conflict::ConflictKey;

impl Branches {
    /// Places and all that they come after, directly or not.
    fn roots(&self, of: &[PlaceId]) -> Set {
        self.reached(of, |place| &place.before)
    }

    /// How many come after a place, directly or not, itself included.
    fn length(&self, of: PlaceId) -> usize {
        self.reached(&[of], |place| &place.behind).len()
    }

    fn reached(&self, from: &[PlaceId], next: fn(&Place) -> &Vec<PlaceId>) -> Set {
        let mut reached = Set::default();
        let mut open = from.to_vec();
        while let Some(id) = open.pop() {
            if let Some(place) = self.places.get(&id)
                && reached.insert(id)
            {
                open.extend(next(place));
            }
        }
        reached
    }

    /// True if rivals among what two places come after, or these and one of them, decide between them, too.
    pub fn is_decided_earlier(&self, a: PlaceId, b: PlaceId) -> bool {
        let (of_a, of_b) = (self.roots(&[a]), self.roots(&[b]));
        of_a.iter().any(|x| {
            let mut rivals = self.places[x].rivals.iter();
            rivals.any(|y| (*x, *y) != (a, b) && of_b.contains(y))
        })
    }

    /// Of what a new call meets, what it bets against: of two branches of which one will go, it joins the one that
    /// would be preferred now.
    pub fn bet_against(&mut self, keys: &[ConflictKey]) -> Vec<PlaceId> {
        if self.rival_pairs == 0 {
            return Vec::new();
        }
        self.open(keys);
        let mut met = self.keys.met(keys);
        met.retain(|id| self.is_there(*id));
        let line = self.roots(&met);
        let rivals = |id: &PlaceId| self.places[id].rivals.iter();
        let contested: Set = line
            .iter()
            .filter(|id| rivals(id).any(|rival| line.contains(rival)))
            .copied()
            .collect();
        if contested.is_empty() {
            return Vec::new();
        }
        met.sort_by_cached_key(|id| self.preference(*id));
        // What cannot stand together with those that it comes after.
        let mut opposed = Set::default();
        let mut against = Vec::new();
        for id in met {
            let roots = self.roots(&[id]);
            match roots.iter().any(|root| opposed.contains(root)) {
                true => against.push(id),
                false => {
                    let roots = roots.iter().filter(|root| contested.contains(*root));
                    opposed.extend(roots.flat_map(rivals));
                }
            }
        }
        against
    }

    /// The longest branch first, then the smallest number of a call.
    pub fn preference(&self, place: PlaceId) -> (std::cmp::Reverse<usize>, u64) {
        let length = self.length(place);
        (std::cmp::Reverse(length), self.places[&place].offer.call.0)
    }
}
