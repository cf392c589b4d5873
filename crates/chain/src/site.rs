//! Several sites, each with all the data and a scheduler of its own, order calls at once and agree later.
//!
//! Relies on: channels between sites that lose nothing and keep their order; an agreement of all sites that
//! delivers every [`Choice`] that some site proposes, and word of lost sites, to all in one order (consensus is not ours).
//! Promises: of two calls that meet, one commits when it has seen the other, at whichever sites they came in;
//! the write sets of calls that meet are applied in one order everywhere; a call that loses its place is not
//! committed in it, and gets another; whoever only reads waits for what it names and nothing else; what a lost site has
//! committed stays, if that counts ([`SiteEvent::Lost`]), and nothing else of what it ran.
//! Does not: spread calls over the workers of a site (each [`SiteEffect::Run`] goes to a [`crate::Scheduler`]); find out
//! that a site is lost, or take one back in; remember calls that are over.
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
//! that meets both sides before the choice *bets* on the one that would win now. The states above are those at the site
//! that runs the call: its home, or where its chain is run ([`RunAt`]).
//!
//! **Why all sites end with one order.** Who stands where is said by offers, which never change, and by choices,
//! which come in one order. An offer, or word of a commit, is held back until all that its sender knew is known here, and
//! a choice until both its places are; so they mean the same everywhere. A place is committed when every site has seen it and
//! it has no rival. What a site gave a place before it saw this one was told before `Seen` was, so there is
//! no rival that whoever runs it does not know of; and a choice against it would be one for a rival that is gone.

mod config;
mod deciding;
mod reads;

use crate::branches::{Branches, Progress};
use crate::call::CallId;
use crate::offer::{Message, Offer, PlaceId, SiteEffect, SiteEvent, SiteId};
pub use config::{Begin, RunAt, SiteConfig};
use deciding::Verdict;
use quintet_base::conflict::{ConflictKey, Modes};
use reads::Reads;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// What has happened at a site so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SiteCounts {
    /// Pairs of rivals that this site proposed a choice for.
    pub collisions: u64,
    /// Calls that were to be run here and lost their place before they were.
    pub cancels: u64,
    /// And while they ran.
    pub kills: u64,
    /// And when they had run.
    pub late_kills: u64,
    /// Runs that ended before there was agreement.
    pub stalls: u64,
    /// Calls of this site that met both sides of a choice to come.
    pub bets: u64,
    /// Calls of this site that were placed at another.
    pub sent_away: u64,
}

/// A site's part in the order of all calls.
#[derive(Debug)]
pub struct Site {
    id: SiteId,
    run_at: RunAt,
    begin: Begin,
    branches: Branches,
    reads: Reads,
    /// Calls of a lost site's clients that have come here.
    adopted: BTreeSet<CallId>,
    /// By site: how many of its places are known here.
    seen: Vec<u64>,
    /// How many choices were taken in, and lost sites.
    chosen: u64,
    /// By site: what it said last that it knows.
    seen_by: Vec<Vec<u64>>,
    chosen_by: Vec<u64>,
    /// By site: how many of its places all others have seen.
    seen_by_all: Vec<u64>,
    /// By site: what it said that has to wait, and how much was taken in.
    heard: Vec<VecDeque<Message>>,
    taken_in: Vec<u64>,
    /// By site: by the how manieth choice it was given up.
    lost: Vec<Option<u64>>,
    verdicts: VecDeque<Verdict>,
    counts: SiteCounts,
}

impl Site {
    /// One of so many sites, all of which run their own calls.
    pub fn new(id: SiteId, sites: u32, modes: Modes) -> Site {
        Site::with_config(SiteConfig::new(id, sites, modes))
    }

    /// One of several sites.
    pub fn with_config(config: SiteConfig) -> Site {
        let SiteConfig {
            id,
            sites,
            modes,
            run_at,
            begin,
        } = config;
        assert!(id.0 < sites, "sites are numbered from 0");
        let none = vec![0; sites as usize];
        let mut site = Site {
            id,
            run_at,
            begin,
            branches: Branches::new(id, sites, modes),
            reads: Reads::default(),
            adopted: BTreeSet::new(),
            seen: none.clone(),
            chosen: 0,
            seen_by: vec![none.clone(); sites as usize],
            chosen_by: none.clone(),
            seen_by_all: none.clone(),
            heard: vec![VecDeque::new(); sites as usize],
            taken_in: none,
            lost: vec![None; sites as usize],
            verdicts: VecDeque::new(),
            counts: SiteCounts::default(),
        };
        site.count_seen();
        site
    }

    /// Takes in what happened; what is to be done is appended to `effects`, in order.
    pub fn handle(&mut self, event: SiteEvent, effects: &mut Vec<SiteEffect>) {
        match event {
            SiteEvent::Submitted { call, keys } => self.submitted(call, keys, effects),
            SiteEvent::Asked { call, after } => self.asked(call, after, effects),
            SiteEvent::Executed { place } => self.executed(place),
            SiteEvent::Heard { from, message } => {
                if self.counts_for(from) {
                    self.heard[from.0 as usize].push_back(message);
                }
            }
            SiteEvent::Chosen(choice) => self.verdicts.push_back(Verdict::Choice(choice)),
            SiteEvent::Lost { site, told } => self.verdicts.push_back(Verdict::Lost { site, told }),
        }
        while self.take_in(effects) || self.go_on(effects) {}
        let others = self.others_alive();
        let known_everywhere = others.map(|site| self.chosen_by[site]).min();
        let known_everywhere = known_everywhere.map_or(self.chosen, |known| known.min(self.chosen));
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
        let before = self.branches.before(&place.offer).into_iter();
        let call = |id| self.branches.get(id).expect("it was found").offer.call;
        before.map(call).collect()
    }

    fn own(&self) -> usize {
        self.id.0 as usize
    }

    fn is_lost(&self, site: SiteId) -> bool {
        self.lost[site.0 as usize].is_some()
    }

    fn others_alive(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.seen.len()).filter(|site| *site != self.own() && self.lost[*site].is_none())
    }

    fn submitted(&mut self, call: CallId, keys: Vec<ConflictKey>, effects: &mut Vec<SiteEffect>) {
        match self.branches.of_call(call) {
            None => self.schedule(call, keys, effects),
            Some(place) => {
                let place = self.branches.get(place).expect("it is under way");
                match place.committed {
                    true => effects.push(SiteEffect::Answer { call }),
                    false => drop(self.adopted.insert(call)),
                }
            }
        }
    }

    fn asked(&mut self, call: CallId, after: Vec<CallId>, effects: &mut Vec<SiteEffect>) {
        let after = after.into_iter();
        let under_way = after.filter(|before| self.branches.of_call(*before).is_some());
        let under_way: BTreeSet<CallId> = under_way.collect();
        match under_way.is_empty() {
            true => effects.push(SiteEffect::Read { call }),
            false => self.reads.wait(call, under_way),
        }
    }

    fn executed(&mut self, place: PlaceId) {
        let Some(known) = self.branches.get_mut(place) else {
            return;
        };
        if known.progress != Progress::Running {
            return;
        }
        known.progress = Progress::Executed;
        if self.begin == Begin::Executed {
            self.branches.pass_on(place);
        }
        let agreed = self.is_agreed(place);
        self.counts.stalls += u64::from(!agreed);
        self.branches.change(place);
    }

    /// Gives a call of this site its place behind all that it meets here.
    fn schedule(&mut self, call: CallId, keys: Vec<ConflictKey>, effects: &mut Vec<SiteEffect>) {
        let own = self.own();
        let against = self.branches.bet_against(&keys);
        self.counts.bets += u64::from(!against.is_empty());
        let mut offer = Offer {
            place: PlaceId {
                site: self.id,
                number: self.seen[own] + 1,
            },
            call,
            keys,
            seen: self.seen.clone(),
            chosen: self.chosen,
            runs_at: self.id,
            against,
        };
        let relations = self.branches.relations(&offer);
        offer.runs_at = self.runs_at(&relations.before);
        self.counts.sent_away += u64::from(offer.runs_at != self.id);
        self.seen[own] += 1;
        let offer = Arc::new(offer);
        let stands = self.branches.add(Arc::clone(&offer), relations);
        assert!(stands, "what is lost is known here: {offer:?}");
        effects.push(SiteEffect::Tell(Message::Scheduled(offer)));
    }

    /// Which site runs a call that comes after these.
    fn runs_at(&self, before: &[PlaceId]) -> SiteId {
        let RunAt::Chain { workers } = self.run_at else {
            return self.id;
        };
        let alive = |site: &SiteId| !self.is_lost(*site);
        let mut open = before.iter().filter(|id| !self.branches.is_extended(**id));
        let chain = open.find_map(|id| {
            let site = self.branches.get(*id).expect("it was found").offer.runs_at;
            alive(&site).then_some(site)
        });
        if let Some(site) = chain {
            return site;
        }
        let load = |site: &SiteId| self.branches.load(*site);
        let is_free = |site: &SiteId| workers.is_none_or(|workers| load(site) < workers);
        if is_free(&self.id) {
            return self.id;
        }
        let sites = (0..self.seen.len() as u32).map(SiteId).filter(alive);
        let free = sites.filter(is_free).min_by_key(load);
        free.unwrap_or(self.id)
    }

    /// True if every site has seen a place, and nothing stands against it.
    fn is_agreed(&self, id: PlaceId) -> bool {
        let place = self.branches.get(id).expect("it stands");
        self.seen_by_all[id.site.0 as usize] >= id.number && !place.has_rivals()
    }

    /// Runs, commits or applies the first for which it is time. False if there is none.
    fn go_on(&mut self, effects: &mut Vec<SiteEffect>) -> bool {
        while let Some(id) = self.branches.next_changed() {
            let Some(place) = self.branches.get(id) else {
                continue;
            };
            let (call, here) = (place.offer.call, place.offer.runs_at == self.id);
            match (here, place.progress) {
                (true, Progress::Waiting)
                    if place.may_run() && !self.branches.has_begun_rival(id) =>
                {
                    let place = self.branches.get_mut(id).expect("it was found");
                    place.progress = Progress::Running;
                    effects.push(SiteEffect::Run { call, place: id });
                }
                (true, Progress::Executed) if place.is_clear() && self.is_agreed(id) => {
                    effects.push(SiteEffect::Commit { call, place: id });
                    effects.push(SiteEffect::Tell(Message::Committed {
                        place: id,
                        seen: self.seen.clone(),
                        chosen: self.chosen,
                    }));
                    self.answer(id, call, effects);
                    self.over(id, effects);
                }
                (false, _) if place.committed && place.is_clear() => {
                    effects.push(SiteEffect::Apply { call });
                    self.over(id, effects);
                }
                _ => continue,
            }
            return true;
        }
        false
    }

    /// The client of a call that is committed is told, if it is one of this site.
    fn answer(&mut self, id: PlaceId, call: CallId, effects: &mut Vec<SiteEffect>) {
        if self.adopted.remove(&call) || id.site == self.id {
            effects.push(SiteEffect::Answer { call });
        }
    }

    /// A place's effects are here.
    fn over(&mut self, id: PlaceId, effects: &mut Vec<SiteEffect>) {
        let call = self.branches.finish(id).offer.call;
        let free = self.reads.over(call).into_iter();
        effects.extend(free.map(|call| SiteEffect::Read { call }));
    }
}
