//! The places that a site knows, and how they stand to each other.
//!
//! Relies on: offers that come in the order of causes.  Promises: all sites that know two places say the same of
//! them.  Does not: scale as the index of one site does: what a call meets is searched among all that are known, as
//! in the thesis.
//!
//! Of two places that meet, either one is *before* the other: the other's home knew it and did not bet
//! against it. Or they are *rivals*: one of them will lose its place.

use crate::offer::{Offer, PlaceId, SiteId};
use quintet_base::conflict::Modes;
use std::collections::{BTreeMap, BTreeSet};

/// How far a place is at its home.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// Something that it comes after is not here; or it is another site's.
    Waiting,
    Running,
    /// It has run, and there is no agreement yet: the thesis's stall.
    Executed,
}

/// A place that is not over.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub offer: Offer,
    pub progress: Progress,
    /// Its home has committed it.
    pub committed: bool,
}

/// What is known at a site.
#[derive(Debug)]
pub(crate) struct Branches {
    modes: Modes,
    places: BTreeMap<PlaceId, Place>,
    /// Places that were lost, and by the how manieth choice.
    lost: BTreeMap<PlaceId, (Offer, u64)>,
}

impl Branches {
    pub fn new(modes: Modes) -> Branches {
        Branches {
            modes,
            places: BTreeMap::new(),
            lost: BTreeMap::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn get(&self, id: PlaceId) -> Option<&Place> {
        self.places.get(&id)
    }

    pub fn get_mut(&mut self, id: PlaceId) -> Option<&mut Place> {
        self.places.get_mut(&id)
    }

    pub fn iter(&self) -> impl Iterator<Item = (PlaceId, &Place)> {
        self.places.iter().map(|(id, place)| (*id, place))
    }

    /// Takes in a place. If what it comes after was lost by a choice that its home did not know, it is
    /// lost, too, and this is false.
    pub fn add(&mut self, offer: Offer) -> bool {
        let fatal = self.lost.values().filter(|(_, at)| *at > offer.chosen);
        let by = fatal
            .filter(|(lost, _)| self.is_before(lost, &offer))
            .map(|(_, at)| *at)
            .min();
        match by {
            Some(at) => {
                self.lost.insert(offer.place, (offer, at));
                false
            }
            None => {
                let place = Place {
                    offer,
                    progress: Progress::Waiting,
                    committed: false,
                };
                self.places.insert(place.offer.place, place);
                true
            }
        }
    }

    /// A place whose effects are here.
    pub fn finish(&mut self, id: PlaceId) {
        self.places.remove(&id);
    }

    /// The how manieth choice takes a place from a call, and from all after it whose homes did not know.
    pub fn lose(&mut self, id: PlaceId, at: u64) -> Vec<Place> {
        let mut gone = Vec::new();
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            let Some(place) = self.places.remove(&id) else {
                continue;
            };
            assert!(
                !place.committed,
                "what is committed is never lost: {place:?}"
            );
            let behind = self.places.values().filter(|other| {
                other.offer.chosen < at && self.is_before(&place.offer, &other.offer)
            });
            next.extend(behind.map(|other| other.offer.place));
            self.lost.insert(id, (place.offer.clone(), at));
            gone.push(place);
        }
        gone.sort_unstable_by_key(|place| place.offer.place);
        gone
    }

    /// Every site knows this many choices: what was lost by then concerns no offer to come.
    pub fn forget_lost(&mut self, known_everywhere: u64) {
        self.lost.retain(|_, (_, at)| *at > known_everywhere);
    }

    fn meet(&self, a: &Offer, b: &Offer) -> bool {
        let mut keys = a.keys.iter();
        keys.any(|key| b.keys.iter().any(|other| key.meets(other, &self.modes)))
    }

    /// True if `b` comes after `a`, directly.
    pub fn is_before(&self, a: &Offer, b: &Offer) -> bool {
        let SiteId(site) = a.place.site;
        a.place != b.place
            && b.seen[site as usize] >= a.place.number
            && !b.against.contains(&a.place)
            && self.meet(a, b)
    }

    /// True if one of the two has to lose its place.
    pub fn are_rivals(&self, a: &Offer, b: &Offer) -> bool {
        a.place != b.place && !self.is_before(a, b) && !self.is_before(b, a) && self.meet(a, b)
    }

    /// What a place comes directly after, of what is not over.
    pub fn before<'a>(&'a self, of: &'a Offer) -> impl Iterator<Item = &'a Place> + 'a {
        let places = self.places.values();
        places.filter(move |other| self.is_before(&other.offer, of))
    }

    /// What has to give way to a place, or it to them.
    pub fn rivals<'a>(&'a self, of: &'a Offer) -> impl Iterator<Item = &'a Place> + 'a {
        let places = self.places.values();
        places.filter(move |other| self.are_rivals(&other.offer, of))
    }

    /// A place and all that it comes after, directly or not.
    fn roots(&self, of: &Offer) -> BTreeSet<PlaceId> {
        let mut roots = BTreeSet::new();
        let mut next = vec![of];
        while let Some(offer) = next.pop() {
            if roots.insert(offer.place) {
                next.extend(self.before(offer).map(|place| &place.offer));
            }
        }
        roots
    }

    /// How many come after a place, directly or not, itself included.
    pub fn length(&self, of: PlaceId) -> usize {
        let mut branch = BTreeSet::new();
        let mut next = vec![of];
        while let Some(id) = next.pop() {
            let Some(place) = self.places.get(&id) else {
                continue;
            };
            if branch.insert(id) {
                let others = self.places.values();
                let behind = others.filter(|other| self.is_before(&place.offer, &other.offer));
                next.extend(behind.map(|other| other.offer.place));
            }
        }
        branch.len()
    }

    /// True if rivals among what two places come after, or these and one of them, decide between them, too.
    pub fn is_decided_earlier(&self, a: &Offer, b: &Offer) -> bool {
        let (of_a, of_b) = (self.roots(a), self.roots(b));
        of_a.iter().any(|x| {
            of_b.iter().any(|y| {
                let pair = (*x, *y) != (a.place, b.place);
                match (self.places.get(x), self.places.get(y)) {
                    (Some(x), Some(y)) => pair && self.are_rivals(&x.offer, &y.offer),
                    _ => false,
                }
            })
        })
    }

    /// Of what a new call meets, what it comes after, and what it bets against: of two branches of which one
    /// will go, it joins the one that would be preferred now.
    pub fn bet(&self, offer: &Offer) -> (Vec<PlaceId>, Vec<PlaceId>) {
        let met = self
            .places
            .values()
            .filter(|other| self.meet(&other.offer, offer));
        let mut met: Vec<&Place> = met.collect();
        met.sort_by_cached_key(|place| self.preference(place));
        let mut after: Vec<&Place> = Vec::new();
        let mut against = Vec::new();
        for place in met {
            let incompatible = after.iter().any(|taken| {
                let (a, b) = (&taken.offer, &place.offer);
                self.are_rivals(a, b) || self.is_decided_earlier(a, b)
            });
            match incompatible {
                true => against.push(place.offer.place),
                false => after.push(place),
            }
        }
        let after = after.iter().map(|place| place.offer.place).collect();
        (after, against)
    }

    /// The longest branch first, then the smallest number of a call.
    pub fn preference(&self, place: &Place) -> (std::cmp::Reverse<usize>, u64) {
        let length = self.length(place.offer.place);
        (std::cmp::Reverse(length), place.offer.call.0)
    }
}
