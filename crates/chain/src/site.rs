//! Several sites, each with all the data and a scheduler of its own, order calls at once and agree later.
//!
//! Relies on: channels between sites that lose nothing and keep their order; an agreement of all sites that
//! delivers every [`Choice`] that some site proposes, to all in one order (consensus is not ours).
//! Promises: of two calls that meet, one commits when it has seen the other, at whichever sites they came in;
//! the write sets of calls that meet are applied in one order everywhere; a call that loses its place is not
//! committed in it, and gets another.
//! Does not: lose sites; spread calls over the workers of a site (each [`SiteEffect::Run`] goes to a
//! [`crate::Scheduler`]); order calls that only read.
//!
//! ```text
//!              Submitted                                  at the other sites
//!                  │ after all it meets here, or bets
//!                  ▼
//!               Waiting ───────── Scheduled ────────────► known ── Seen ──┐
//!     lost: Cancel │ all that it comes after is here                     │
//!                  ▼                                                     │
//!               Running                                                  │
//!     lost: Kill   │ Executed                                            │
//!                  ▼                                                     │
//!               Executed: stalled until all sites have seen it ◄─────────┘ and no rival is left
//!     lost: Kill   │
//!                  ▼
//!               Commit ────────── Committed ────────────► Apply, when all it comes after was
//! ```
//!
//! Source: Gargamel, chapter 4 (Algorithm 2, Figures 4.2 to 4.6). Two homes that order calls that meet, neither
//! knowing the other's, are in *collision*. The home of the greater number proposes who wins, as it sees
//! it: the longer branch, then the smaller number. All that came after the loser loses with it, so one choice settles a branch. A new call
//! that meets both sides before the choice *bets* on the one that would win now.
//!
//! **Why all sites end with one order.** Who stands where is said by offers, which never change, and by choices,
//! which come in one order. An offer, or word of a commit, is held back until all that its home knew is known here, and
//! a choice until both its places are; so they mean the same everywhere. A place is committed when every site has seen it and
//! it has no rival. What a site gave a place before it saw this one was told before `Seen` was, so there is
//! no rival that home does not know of; and a choice against it would be one for a rival that is gone.

use crate::branches::{Branches, Place, Progress};
use crate::call::CallId;
use crate::offer::{Choice, Message, Offer, PlaceId, SiteEffect, SiteEvent, SiteId};
use quintet_base::conflict::{ConflictKey, Modes};
use std::collections::VecDeque;

/// What has happened at a site so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SiteCounts {
    /// Pairs of rivals that this site proposed a choice for.
    pub collisions: u64,
    /// Calls of this site that lost their place before they ran.
    pub cancels: u64,
    /// And while they ran, or when they had.
    pub kills: u64,
    /// Runs that ended before there was agreement.
    pub stalls: u64,
    /// Calls of this site that met both sides of a choice to come.
    pub bets: u64,
}

/// A site's part in the order of all calls.
#[derive(Debug)]
pub struct Site {
    id: SiteId,
    branches: Branches,
    /// By site: how many of its places are known here.
    seen: Vec<u64>,
    /// How many choices were taken in.
    chosen: u64,
    /// By site: what it said last that it knows.
    seen_by: Vec<Vec<u64>>,
    chosen_by: Vec<u64>,
    /// By site: what it said that has to wait.
    heard: Vec<VecDeque<Message>>,
    choices: VecDeque<Choice>,
    counts: SiteCounts,
}

impl Site {
    /// One of so many sites.
    pub fn new(id: SiteId, sites: u32, modes: Modes) -> Site {
        assert!(id.0 < sites, "sites are numbered from 0");
        let none = vec![0; sites as usize];
        Site {
            id,
            branches: Branches::new(modes),
            seen: none.clone(),
            chosen: 0,
            seen_by: vec![none.clone(); sites as usize],
            chosen_by: none,
            heard: vec![VecDeque::new(); sites as usize],
            choices: VecDeque::new(),
            counts: SiteCounts::default(),
        }
    }

    /// Takes in what happened; what is to be done is appended to `effects`, in order.
    pub fn handle(&mut self, event: SiteEvent, effects: &mut Vec<SiteEffect>) {
        match event {
            SiteEvent::Submitted { call, keys } => self.schedule(call, keys, effects),
            SiteEvent::Executed { place } => {
                if let Some(known) = self.branches.get_mut(place)
                    && known.progress == Progress::Running
                {
                    known.progress = Progress::Executed;
                    let agreed = self.is_agreed(place);
                    self.counts.stalls += u64::from(!agreed);
                }
            }
            SiteEvent::Heard { from, message } => {
                self.heard[from.0 as usize].push_back(message);
            }
            SiteEvent::Chosen(choice) => self.choices.push_back(choice),
        }
        while self.take_in(effects) || self.go_on(effects) {}
        let known_everywhere = (0..self.seen.len())
            .filter(|site| *site != self.id.0 as usize)
            .map(|site| self.chosen_by[site])
            .fold(self.chosen, u64::min);
        self.branches.forget_lost(known_everywhere);
    }

    /// Places that are not over here.
    pub fn pending(&self) -> usize {
        self.branches.len()
    }

    /// What happened so far.
    pub fn counts(&self) -> SiteCounts {
        self.counts
    }

    /// The calls that the one in this place comes directly after and that are not over here.
    pub fn after(&self, place: PlaceId) -> Vec<CallId> {
        let Some(place) = self.branches.get(place) else {
            return Vec::new();
        };
        let before = self.branches.before(&place.offer);
        before.map(|place| place.offer.call).collect()
    }

    /// Gives a call of this site its place behind all that it meets here.
    fn schedule(&mut self, call: CallId, keys: Vec<ConflictKey>, effects: &mut Vec<SiteEffect>) {
        let own = self.id.0 as usize;
        let mut offer = Offer {
            place: PlaceId {
                site: self.id,
                number: self.seen[own] + 1,
            },
            call,
            keys,
            seen: self.seen.clone(),
            chosen: self.chosen,
            against: Vec::new(),
        };
        let (_, against) = self.branches.bet(&offer);
        self.counts.bets += u64::from(!against.is_empty());
        offer.against = against;
        self.seen[own] += 1;
        let stands = self.branches.add(offer.clone());
        assert!(stands, "what is lost is known here: {offer:?}");
        effects.push(SiteEffect::Tell(Message::Scheduled(offer)));
    }

    /// Takes in one message or choice that need not wait. False if there is none.
    fn take_in(&mut self, effects: &mut Vec<SiteEffect>) -> bool {
        if let Some(choice) = self.choices.front().copied()
            && self.knows(choice.winner)
            && self.knows(choice.loser)
        {
            self.choices.pop_front();
            self.choose(choice, effects);
            return true;
        }
        for from in 0..self.heard.len() {
            let waits = match self.heard[from].front() {
                None => true,
                Some(Message::Scheduled(offer)) => self.lacks(&offer.seen, offer.chosen),
                Some(Message::Committed { seen, chosen, .. }) => self.lacks(seen, *chosen),
                Some(Message::Seen { .. }) => false,
            };
            if waits {
                continue;
            }
            match self.heard[from].pop_front().expect("it was looked at") {
                Message::Scheduled(offer) => self.heard_of(offer, effects),
                Message::Seen { seen, chosen } => {
                    self.seen_by[from] = seen;
                    self.chosen_by[from] = chosen;
                }
                Message::Committed { place, .. } => {
                    let place = self.branches.get_mut(place);
                    place.expect("a place that has no rival stands").committed = true;
                }
            }
            return true;
        }
        false
    }

    /// True if another site knew what is not known here.
    fn lacks(&self, seen: &[u64], chosen: u64) -> bool {
        let mut pairs = seen.iter().zip(&self.seen);
        chosen > self.chosen || pairs.any(|(its, ours)| its > ours)
    }

    fn knows(&self, place: PlaceId) -> bool {
        self.seen[place.site.0 as usize] >= place.number
    }

    /// Another site has given a call a place.
    fn heard_of(&mut self, offer: Offer, effects: &mut Vec<SiteEffect>) {
        let from = offer.place.site.0 as usize;
        assert_eq!(self.seen[from] + 1, offer.place.number, "{offer:?}");
        self.seen[from] += 1;
        if self.branches.add(offer.clone()) {
            let own = self.branches.rivals(&offer);
            let own = own.filter(|rival| rival.offer.place.site == self.id);
            let proposed: Vec<Choice> = own
                .filter(|rival| rival.offer.call > offer.call)
                .filter(|rival| !self.branches.is_decided_earlier(&rival.offer, &offer))
                .map(|rival| self.proposal(rival, &offer))
                .collect();
            self.counts.collisions += proposed.len() as u64;
            effects.extend(proposed.into_iter().map(SiteEffect::Propose));
        }
        self.tell_seen(effects);
    }

    fn proposal(&self, own: &Place, other: &Offer) -> Choice {
        let (ours, theirs) = (own.offer.place, other.place);
        let other = self.branches.get(theirs).expect("it was taken in");
        match self.branches.preference(own) < self.branches.preference(other) {
            true => Choice {
                winner: ours,
                loser: theirs,
            },
            false => Choice {
                winner: theirs,
                loser: ours,
            },
        }
    }

    fn tell_seen(&self, effects: &mut Vec<SiteEffect>) {
        effects.push(SiteEffect::Tell(Message::Seen {
            seen: self.seen.clone(),
            chosen: self.chosen,
        }));
    }

    /// Sites have agreed on a choice.
    fn choose(&mut self, choice: Choice, effects: &mut Vec<SiteEffect>) {
        self.chosen += 1;
        let stands = |place| self.branches.get(place).is_some();
        // An earlier choice may have settled it.
        let lost = match stands(choice.winner) && stands(choice.loser) {
            true => self.branches.lose(choice.loser, self.chosen),
            false => Vec::new(),
        };
        self.tell_seen(effects);
        for Place {
            offer, progress, ..
        } in lost
        {
            if offer.place.site != self.id {
                continue;
            }
            let (call, place) = (offer.call, offer.place);
            match progress {
                Progress::Waiting => {
                    self.counts.cancels += 1;
                    effects.push(SiteEffect::Cancel { call, place });
                }
                Progress::Running | Progress::Executed => {
                    self.counts.kills += 1;
                    effects.push(SiteEffect::Kill { call, place });
                }
            }
            self.schedule(call, offer.keys, effects);
        }
    }

    /// True if every site has seen a place of this one, and nothing stands against it.
    fn is_agreed(&self, place: PlaceId) -> bool {
        let own = self.id.0 as usize;
        let others = (0..self.seen.len()).filter(|site| *site != own);
        let mut seen = others.map(|site| self.seen_by[site][own] >= place.number);
        let offer = &self.branches.get(place).expect("it stands").offer;
        seen.all(|seen| seen) && self.branches.rivals(offer).next().is_none()
    }

    /// Runs, commits or applies the first for which it is time. False if there is none.
    fn go_on(&mut self, effects: &mut Vec<SiteEffect>) -> bool {
        let next = self.branches.iter().find(|(id, place)| {
            let own = id.site == self.id;
            let clear = || self.branches.before(&place.offer).next().is_none();
            match (own, place.progress) {
                (true, Progress::Waiting) => clear(),
                (true, Progress::Running) => false,
                (true, Progress::Executed) => self.is_agreed(*id),
                (false, _) => {
                    let rivals = || self.branches.rivals(&place.offer).next().is_some();
                    place.committed && clear() && !rivals()
                }
            }
        });
        let Some((id, place)) = next else {
            return false;
        };
        let (call, progress) = (place.offer.call, place.progress);
        match (id.site == self.id, progress) {
            (true, Progress::Waiting) => {
                let place = self.branches.get_mut(id).expect("it was found");
                place.progress = Progress::Running;
                effects.push(SiteEffect::Run { call, place: id });
            }
            (true, _) => {
                self.branches.finish(id);
                effects.push(SiteEffect::Commit { call });
                effects.push(SiteEffect::Tell(Message::Committed {
                    place: id,
                    seen: self.seen.clone(),
                    chosen: self.chosen,
                }));
            }
            (false, _) => {
                self.branches.finish(id);
                effects.push(SiteEffect::Apply { call });
            }
        }
        true
    }
}
