//! What comes of calls that sites have ordered differently.
//!
//! Relies on: `sites::graph` for who is in whose way.  Promises: of places that collide one stays, and sites
//! prefer the same; what loses its place is ordered again by its home, behind the winner.
//! Does not: order or run anything itself.
//!
//! ```text
//!   reach ─► oppose ─► vote … vote ─► agree ─┬─► agreed: its rivals' branches are undone
//!                                            └─► undo: it and what is behind it
//! ```

use super::graph::PlaceId;
use super::{Happening, Progress, Step, World};
use crate::run::Mistake;
use crate::time::Nanos;

impl World<'_> {
    /// Of places that a new call meets, leaves out those in branches that will not stay, as it seems.
    pub(super) fn bet(&mut self, mut met: Vec<PlaceId>) -> Vec<PlaceId> {
        loop {
            let line = self.graph.line(&met);
            let Some((a, b)) = self.graph.rivals_among(&line) else {
                return met;
            };
            let loser = match self.graph.preferred(a, b) {
                true => b,
                false => a,
            };
            let branch = self.graph.branch(loser);
            met.retain(|place| !branch.contains(place));
            self.collisions.bets += 1;
        }
    }

    /// News of a place arrives at a site.
    pub(super) fn reach(&mut self, id: PlaceId, site: u32) {
        let Some(place) = self.graph.get(id) else {
            return;
        };
        let home = self.live[&place.call].home;
        self.send(site, home, Happening::Vote { place: id });
        let place = self.graph.get(id).expect("it is there");
        let met = self.graph.met(&place.keys, site);
        let line = self.graph.line(&[id]);
        let branch = self.graph.branch(id);
        // Either this or what stands in such a branch will go anyway.
        let mut apart = self.graph.opposed(&line);
        let mut lost = false;
        // The earliest first: of a branch its beginning is what collides.
        for other in met.into_iter().rev() {
            // What is after this place comes later; what this place is after came earlier.
            if [&line, &branch, &apart]
                .iter()
                .any(|set| set.contains(&other))
            {
                continue;
            }
            let opposed = self.graph.get(other).expect("it was found");
            let call = self.graph.get(id).expect("it is there").call;
            let unseen = self.mistake == Some(Mistake::CollisionUnseen);
            if unseen && (call + opposed.call).is_multiple_of(8) {
                continue;
            }
            lost |= opposed.agreed;
            self.collisions.collisions += 1;
            self.graph.oppose(id, other);
            apart.extend(self.graph.branch(other));
        }
        let place = self.graph.get_mut(id).expect("it was there");
        place.known |= 1 << site;
        if lost {
            // The other one's place is settled.
            self.undo(id);
            return;
        }
        if self.progress[&id].site == site {
            self.arrived_one(id);
        }
    }

    /// A site has acknowledged a place, or a consensus's time is over: with the last of them there is an
    /// agreement.
    pub(super) fn vote(&mut self, id: PlaceId) {
        if let Some(progress) = self.progress.get_mut(&id) {
            progress.votes_missing -= 1;
            if progress.votes_missing == 0 {
                self.agree(id);
            }
        }
    }

    fn agree(&mut self, id: PlaceId) {
        let place = self.graph.get(id).expect("it has votes");
        let rivals = place.rivals.clone();
        let settled = |rival: &PlaceId| self.graph.get(*rival).is_some_and(|place| place.agreed);
        let stays = rivals
            .iter()
            .all(|rival| !settled(rival) && self.graph.preferred(id, *rival));
        if !stays {
            self.undo(id);
            return;
        }
        // One undone branch may contain another rival.
        for rival in rivals {
            if self.graph.get(rival).is_some() {
                self.undo(rival);
            }
        }
        let place = self.graph.get_mut(id).expect("a winner stays");
        place.agreed = true;
        self.if_done(id);
    }

    /// A place and what is behind it is given up; the calls are ordered again.
    fn undo(&mut self, id: PlaceId) {
        let now = self.agenda.now();
        let mut branch: Vec<PlaceId> = self.graph.branch(id).into_iter().collect();
        branch.sort_unstable();
        let mut freed = Vec::new();
        let mut again = Vec::new();
        for id in branch {
            let place = self.graph.remove(id);
            let progress = self.progress.remove(&id).expect("it was there");
            self.crews[progress.site as usize].load -= 1;
            again.push(place.call);
            match progress.step {
                Step::Waiting => self.tally.for_others.down(now),
                Step::Ready => self.tally.for_worker.down(now),
                Step::Running => {
                    self.collisions.killed_running += 1;
                    self.kill(&progress);
                    freed.push(progress.site);
                }
                Step::Held { since } => {
                    self.collisions.killed_stalled += 1;
                    self.collisions.stalled_seconds += (now - since).seconds();
                    self.kill(&progress);
                    freed.push(progress.site);
                }
                Step::Committed => unreachable!("what is committed is agreed"),
            }
            let begun = !matches!(progress.step, Step::Waiting | Step::Ready);
            self.collisions.cancelled += u64::from(!begun);
        }
        for call in again {
            self.agenda.after(Nanos::ZERO, Happening::Order { call });
        }
        for site in freed {
            self.free(site);
        }
    }

    fn kill(&mut self, progress: &Progress) {
        let time = self.agenda.now() - progress.began;
        self.tally.lost(time);
        self.collisions.killed_seconds += time.seconds();
    }
}
