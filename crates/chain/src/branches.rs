//! The places that a site knows, and how they stand to each other.
//!
//! Relies on: offers that come in the order of causes.  Promises: all sites that know two places say the same of
//! them; what a place meets is looked up by key, and how it stands to that is kept until one of the two is over.
//! Does not: run, commit or tell; [`crate::Site`] does, for the places that [`Branches::next_changed`] names.
//!
//! Of two places that meet, either one is *before* the other: the other's home knew it and did not bet
//! against it. Or they are *rivals*: one of them will lose its place.
//!
//! **What is kept.** Whoever comes after a place comes after all that the place comes after: of what is before a place
//! only the last ones are kept, from which the rest follow. They are over here before what is behind them is, and when they lose
//! their place, so does what is behind them.

mod keys;
mod preferring;

use crate::call::CallId;
use crate::offer::{Offer, PlaceId, SiteId};
use hashbrown::{HashMap, HashSet};
use keys::Keys;
use quintet_base::conflict::{ConflictKey, Modes};
use std::collections::BTreeSet;
use std::sync::Arc;

type State = foldhash::fast::FixedState;
type Set = HashSet<PlaceId, State>;

/// How far a place is at the site where it is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// Something that it comes after is not here; or it is run at another site.
    Waiting,
    Running,
    /// It has run, and there is no agreement yet: the thesis's stall.
    Executed,
}

/// A place that is not over.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub offer: Arc<Offer>,
    pub progress: Progress,
    /// It is committed where it ran.
    pub committed: bool,
    /// Those who come after it may begin at this site, though it is not over.
    passed_on: bool,
    /// What it comes after; what of that is over, or has lost its place, stays in the list.
    before: Vec<PlaceId>,
    behind: Vec<PlaceId>,
    rivals: Vec<PlaceId>,
    /// How many of `before` are not over here; and how many of those it has to wait for before it is run here.
    waits: usize,
    waits_to_run: usize,
    /// How many of `rivals` are left.
    rivals_left: usize,
}

impl Place {
    pub fn may_run(&self) -> bool {
        self.waits_to_run == 0
    }

    /// All that it comes after is over here, and nothing stands against it.
    pub fn is_clear(&self) -> bool {
        self.waits == 0 && self.rivals_left == 0
    }

    pub fn has_rivals(&self) -> bool {
        self.rivals_left > 0
    }
}

/// How an offer stands to the places that are known.
#[derive(Debug)]
pub(crate) struct Relations {
    /// The last ones that it comes after.
    pub before: Vec<PlaceId>,
    rivals: Vec<PlaceId>,
    /// The choice by which it has lost its place already.
    lost_by: Option<u64>,
}

impl Relations {
    /// It has lost its place by this choice, if not by an earlier one.
    pub fn lose(&mut self, at: u64) {
        let earliest = self.lost_by.map_or(at, |other| other.min(at));
        self.lost_by = Some(earliest);
    }
}

/// What is known at a site.
#[derive(Debug)]
pub(crate) struct Branches {
    own: SiteId,
    keys: Keys,
    places: HashMap<PlaceId, Place, State>,
    by_call: HashMap<CallId, PlaceId, State>,
    /// Places that were lost, and by the how manieth choice; the same in the order of choices.
    lost: HashMap<PlaceId, (Arc<Offer>, u64), State>,
    lost_by: BTreeSet<(u64, PlaceId)>,
    /// By site: places that are run there.
    loads: Vec<u32>,
    rival_pairs: usize,
    /// Places of which something has changed that they may have waited for.
    changed: BTreeSet<PlaceId>,
}

impl Branches {
    pub fn new(own: SiteId, sites: u32, modes: Modes) -> Branches {
        Branches {
            own,
            keys: Keys::new(modes),
            places: HashMap::default(),
            by_call: HashMap::default(),
            lost: HashMap::default(),
            lost_by: BTreeSet::new(),
            loads: vec![0; sites as usize],
            rival_pairs: 0,
            changed: BTreeSet::new(),
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

    /// In the order of their numbers.
    pub fn all(&self) -> Vec<PlaceId> {
        let mut all: Vec<PlaceId> = self.places.keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// Where a call is that is not over.
    pub fn of_call(&self, call: CallId) -> Option<PlaceId> {
        self.by_call.get(&call).copied()
    }

    /// Places that are run at a site and not over here.
    pub fn load(&self, site: SiteId) -> u32 {
        self.loads[site.0 as usize]
    }

    /// Something has changed for a place.
    pub fn change(&mut self, id: PlaceId) {
        self.changed.insert(id);
    }

    /// A place for which it may be time; each is named once for each change.
    pub fn next_changed(&mut self) -> Option<PlaceId> {
        self.changed.pop_first()
    }

    /// Makes room for keys of lengths that have not been seen.
    fn open(&mut self, new: &[ConflictKey]) {
        let Branches {
            keys, places, lost, ..
        } = self;
        keys.open(new, || {
            let standing = places
                .iter()
                .map(|(id, place)| (*id, &place.offer.keys[..]));
            let lost = lost.iter().map(|(id, (offer, _))| (*id, &offer.keys[..]));
            standing.chain(lost)
        });
    }

    /// How an offer stands to what is known. If what it comes after was lost by a choice that its home did not
    /// know, it is lost, too.
    pub fn relations(&mut self, offer: &Offer) -> Relations {
        self.open(&offer.keys);
        let mut relations = Relations {
            before: Vec::new(),
            rivals: Vec::new(),
            lost_by: None,
        };
        for id in self.keys.met(&offer.keys) {
            let is_before = comes_after(offer, id);
            if let Some((_, at)) = self.lost.get(&id) {
                if is_before && *at > offer.chosen {
                    relations.lose(*at);
                }
            } else if is_before {
                relations.before.push(id);
            } else {
                relations.rivals.push(id);
            }
        }
        let places = relations.before.iter().map(|id| &self.places[id]);
        let covered: Set = places.flat_map(|place| &place.before).copied().collect();
        relations.before.retain(|id| !covered.contains(id));
        relations
    }

    /// Takes in a place. If it is lost already this is false.
    pub fn add(&mut self, offer: Arc<Offer>, relations: Relations) -> bool {
        let (id, own) = (offer.place, self.own);
        self.keys.insert(id, &offer.keys);
        let Relations {
            before,
            rivals,
            lost_by,
        } = relations;
        if let Some(at) = lost_by {
            self.lost.insert(id, (offer, at));
            self.lost_by.insert((at, id));
            return false;
        }
        let here = offer.runs_at == own;
        let mut waits_to_run = 0;
        for before in &before {
            let before = self.places.get_mut(before).expect("it was found");
            before.behind.push(id);
            waits_to_run += usize::from(!(here && before.passed_on));
        }
        for rival in &rivals {
            let rival = self.places.get_mut(rival).expect("it was found");
            rival.rivals.push(id);
            rival.rivals_left += 1;
        }
        self.rival_pairs += rivals.len();
        self.loads[offer.runs_at.0 as usize] += 1;
        self.by_call.insert(offer.call, id);
        let place = Place {
            progress: Progress::Waiting,
            committed: false,
            passed_on: false,
            waits: before.len(),
            waits_to_run,
            rivals_left: rivals.len(),
            before,
            behind: Vec::new(),
            rivals,
            offer,
        };
        self.places.insert(id, place);
        self.changed.insert(id);
        true
    }

    /// A place has run here, and what comes after it may begin here, too.
    pub fn pass_on(&mut self, id: PlaceId) {
        let place = self.places.get_mut(&id).expect("it has run");
        place.passed_on = true;
        for behind in place.behind.clone() {
            if let Some(behind) = self.places.get_mut(&behind)
                && behind.offer.runs_at == self.own
            {
                behind.waits_to_run -= 1;
                self.changed.insert(behind.offer.place);
            }
        }
    }

    /// A place whose effects are here.
    pub fn finish(&mut self, id: PlaceId) -> Place {
        let place = self.take(id).expect("it is there");
        self.keys.remove(id, &place.offer.keys);
        for behind in &place.behind {
            if let Some(behind) = self.places.get_mut(behind) {
                behind.waits -= 1;
                let told = place.passed_on && behind.offer.runs_at == self.own;
                behind.waits_to_run -= usize::from(!told);
                self.changed.insert(behind.offer.place);
            }
        }
        place
    }

    fn take(&mut self, id: PlaceId) -> Option<Place> {
        let place = self.places.remove(&id)?;
        self.by_call.remove(&place.offer.call);
        self.loads[place.offer.runs_at.0 as usize] -= 1;
        self.rival_pairs -= place.rivals_left;
        for rival in &place.rivals {
            if let Some(rival) = self.places.get_mut(rival) {
                rival.rivals_left -= 1;
                self.changed.insert(rival.offer.place);
            }
        }
        Some(place)
    }

    /// The how manieth choice takes a place from a call, and from all that come after it.
    pub fn lose(&mut self, id: PlaceId, at: u64) -> Vec<Place> {
        let mut gone = Vec::new();
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            let Some(place) = self.take(id) else {
                continue;
            };
            assert!(
                !place.committed,
                "what is committed is never lost: {place:?}"
            );
            next.extend(&place.behind);
            self.lost.insert(id, (Arc::clone(&place.offer), at));
            self.lost_by.insert((at, id));
            gone.push(place);
        }
        gone.sort_unstable_by_key(|place| place.offer.place);
        gone
    }

    /// Every site knows this many choices: what was lost by then concerns no offer to come.
    pub fn forget_lost(&mut self, known_everywhere: u64) {
        while let Some((at, id)) = self.lost_by.first().copied()
            && at <= known_everywhere
        {
            self.lost_by.pop_first();
            let (offer, _) = self.lost.remove(&id).expect("it was lost");
            self.keys.remove(id, &offer.keys);
        }
        if self.places.is_empty() && self.lost.is_empty() {
            assert!(self.keys.is_empty(), "no place has no keys");
        }
    }

    /// The places that one comes directly after and that are not over here, all of them.
    pub fn before(&self, offer: &Offer) -> Vec<PlaceId> {
        let met = self.keys.met(&offer.keys).into_iter();
        let before =
            met.filter(|id| *id != offer.place && comes_after(offer, *id) && self.is_there(*id));
        before.collect()
    }

    fn is_there(&self, id: PlaceId) -> bool {
        self.places.contains_key(&id)
    }

    /// A later call of its chain is run where it is run.
    pub fn is_extended(&self, id: PlaceId) -> bool {
        let place = &self.places[&id];
        let behind = place.behind.iter().filter_map(|id| self.places.get(id));
        let mut there = behind.map(|behind| behind.offer.runs_at == place.offer.runs_at);
        there.any(|there| there)
    }

    /// What has to give way to a place, or it to them.
    pub fn rivals(&self, of: PlaceId) -> Vec<PlaceId> {
        let Some(place) = self.places.get(&of) else {
            return Vec::new();
        };
        let rivals = place.rivals.iter().copied();
        rivals.filter(|rival| self.is_there(*rival)).collect()
    }

    /// True if something that collides with a place has begun here: side by side they would be in each other's way,
    /// though one will be killed.
    pub fn has_begun_rival(&self, of: PlaceId) -> bool {
        let place = &self.places[&of];
        let rivals = place.rivals.iter().filter(|_| place.has_rivals());
        let mut rivals = rivals.filter_map(|rival| self.places.get(rival));
        rivals.any(|rival| rival.progress != Progress::Waiting)
    }
}

/// True if an offer comes after a place that it meets.
fn comes_after(offer: &Offer, place: PlaceId) -> bool {
    offer.seen[place.site.0 as usize] >= place.number && !offer.against.contains(&place)
}
