//! What a site hears of the others, and what it does about what they have agreed on.
//!
//! Relies on: `branches`.  Promises: nothing is taken in before what its sender knew is known here.
//! Does not: run or commit: that is `site`.
//!
//! **Lost sites.** Word of a lost site has its place among the choices, and is taken in when all that counts of what the
//! site told is: then all sites know the same of its places. Those that it was to run, and has not committed, are lost. A place
//! of its clients that another site runs stands; if it loses a choice later, the site to which its client went gives the
//! call another. Choices that the lost site should have proposed are proposed by the home of the rival, or by who runs the
//! place, or both: the second changes nothing.

use super::Site;
use crate::branches::{Place, Progress};
use crate::offer::{Choice, Message, Offer, PlaceId, SiteEffect, SiteId};
use std::sync::Arc;

/// What sites have agreed on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Verdict {
    Choice(Choice),
    Lost { site: SiteId, told: u64 },
}

impl Site {
    /// Takes in one message or verdict that need not wait. False if there is none.
    pub(super) fn take_in(&mut self, effects: &mut Vec<SiteEffect>) -> bool {
        let ready = match self.verdicts.front() {
            None => false,
            Some(Verdict::Choice(choice)) => [choice.winner, choice.loser]
                .iter()
                .all(|place| self.knows(*place) || self.is_untold(*place)),
            Some(Verdict::Lost { site, told }) => self.taken_in[site.0 as usize] >= *told,
        };
        if ready {
            match self.verdicts.pop_front().expect("it was looked at") {
                Verdict::Choice(choice) => self.choose(choice, effects),
                Verdict::Lost { site, told } => self.lose_site(site, told, effects),
            }
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
            self.taken_in[from] += 1;
            match self.heard[from].pop_front().expect("it was looked at") {
                Message::Scheduled(offer) => self.heard_of(offer, effects),
                Message::Seen { seen, chosen } => {
                    self.chosen_by[from] = chosen;
                    let before = std::mem::replace(&mut self.seen_by[from], seen);
                    for (home, before) in before.into_iter().enumerate() {
                        if self.seen_by[from][home] > before {
                            self.count_seen_of(home);
                        }
                    }
                }
                Message::Committed { place: id, .. } => {
                    let place = self.branches.get_mut(id);
                    let place = place.expect("a place that has no rival stands");
                    place.committed = true;
                    let call = place.offer.call;
                    self.branches.change(id);
                    self.answer(id, call, effects);
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

    /// How many messages of a site count, if there is word that it is lost.
    fn told(&self, from: SiteId) -> Option<u64> {
        self.verdicts.iter().find_map(|verdict| match verdict {
            Verdict::Lost { site, told } if *site == from => Some(*told),
            _ => None,
        })
    }

    /// True if the next message of a site counts.
    pub(super) fn counts_for(&self, from: SiteId) -> bool {
        let at = from.0 as usize;
        let heard = self.taken_in[at] + self.heard[at].len() as u64;
        !self.is_lost(from) && self.told(from).is_none_or(|told| heard < told)
    }

    /// True for a place of a lost site that nobody who is left has heard of, or will.
    fn is_untold(&self, place: PlaceId) -> bool {
        let from = place.site.0 as usize;
        let told = self.told(place.site);
        let all_in = told.is_some_and(|told| self.taken_in[from] >= told);
        (self.is_lost(place.site) || all_in) && !self.knows(place)
    }

    /// How many places of every site all others have seen.
    pub(super) fn count_seen(&mut self) {
        (0..self.seen.len()).for_each(|home| self.count_seen_of(home));
    }

    fn count_seen_of(&mut self, home: usize) {
        let others = self.others_alive().filter(|site| *site != home);
        let by_all = others.map(|site| self.seen_by[site][home]).min();
        // With no other site there is nobody to wait for.
        let by_all = by_all.unwrap_or(u64::MAX);
        let before = std::mem::replace(&mut self.seen_by_all[home], by_all);
        let site = SiteId(home as u32);
        for number in before.saturating_add(1)..=by_all.min(self.seen[home]) {
            self.branches.change(PlaceId { site, number });
        }
    }

    /// Another site has given a call a place.
    fn heard_of(&mut self, offer: Arc<Offer>, effects: &mut Vec<SiteEffect>) {
        let (id, from) = (offer.place, offer.place.site.0 as usize);
        assert_eq!(self.seen[from] + 1, id.number, "{offer:?}");
        self.seen[from] += 1;
        let mut relations = self.branches.relations(&offer);
        if let Some(at) = self.lost[offer.runs_at.0 as usize] {
            // Its home did not know who would run it, or there would be word of its commit before that.
            relations.lose(at);
        }
        if self.branches.add(Arc::clone(&offer), relations) {
            for rival in self.branches.rivals(id) {
                let of = &self.branches.get(rival).expect("it was found").offer;
                let orphan = self.is_lost(of.place.site);
                let ours = match orphan {
                    false => of.place.site == self.id && of.call > offer.call,
                    true => of.runs_at == self.id,
                };
                if ours && !self.branches.is_decided_earlier(rival, id) {
                    self.propose(rival, id, effects);
                }
            }
        }
        self.tell_seen(effects);
    }

    fn propose(&mut self, one: PlaceId, other: PlaceId, effects: &mut Vec<SiteEffect>) {
        self.counts.collisions += 1;
        let preferred = self.branches.preference(one) < self.branches.preference(other);
        let (winner, loser) = match preferred {
            true => (one, other),
            false => (other, one),
        };
        effects.push(SiteEffect::Propose(Choice { winner, loser }));
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
        // An earlier choice may have settled it, or it names what a lost site told nobody.
        let lost = match stands(choice.winner) && stands(choice.loser) {
            true => self.branches.lose(choice.loser, self.chosen),
            false => Vec::new(),
        };
        self.tell_seen(effects);
        self.place_anew(lost, effects);
    }

    /// Sites have agreed that one of them is lost.
    fn lose_site(&mut self, site: SiteId, told: u64, effects: &mut Vec<SiteEffect>) {
        assert!(site != self.id, "a site that the others gave up stops");
        let at = site.0 as usize;
        assert_eq!(self.taken_in[at], told, "no site has heard more");
        self.chosen += 1;
        self.lost[at] = Some(self.chosen);
        // What it told after that counts for nobody.
        self.heard[at].clear();
        let mut lost = Vec::new();
        for id in self.branches.all() {
            if let Some(place) = self.branches.get(id)
                && place.offer.runs_at == site
                && !place.committed
            {
                lost.extend(self.branches.lose(id, self.chosen));
            }
        }
        self.tell_seen(effects);
        self.count_seen();
        effects.push(SiteEffect::Gone { site });
        self.place_anew(lost, effects);
        for id in self.branches.all() {
            let runs_at = self.branches.get(id).expect("it stands").offer.runs_at;
            if id.site != site {
                continue;
            }
            for rival in self.branches.rivals(id) {
                if runs_at == self.id || rival.site == self.id {
                    self.propose(rival, id, effects);
                }
            }
        }
    }

    /// Calls that have lost their places here are given others, if that is for this site to do.
    fn place_anew(&mut self, lost: Vec<Place>, effects: &mut Vec<SiteEffect>) {
        for Place {
            offer, progress, ..
        } in lost
        {
            let (call, place) = (offer.call, offer.place);
            let here = offer.runs_at == self.id;
            if here {
                match progress {
                    Progress::Waiting => self.counts.cancels += 1,
                    Progress::Running => self.counts.kills += 1,
                    Progress::Executed => self.counts.late_kills += 1,
                }
                effects.push(match progress {
                    Progress::Waiting => SiteEffect::Cancel { call, place },
                    Progress::Running | Progress::Executed => SiteEffect::Kill { call, place },
                });
            }
            let orphan = self.is_lost(place.site);
            // Whose client it is now, gives it another place; if it is nobody's yet, that is a new call when it comes.
            if place.site == self.id || (orphan && self.adopted.remove(&call)) {
                self.schedule(call, offer.keys.clone(), effects);
            }
        }
    }
}
