//! Several sites, each with a scheduler, workers and a full copy: the thesis's chapter 4.
//!
//! Relies on: `sites::graph`.  Promises: a call is ordered at once by the site it came to (its home), as that
//! site sees the order, and told to the others, who find out whether it collides with calls of theirs;
//! it commits when it has run, all it comes after is committed, and every site agrees on its place.
//! Two calls that conflict never both commit without one having seen the other.
//! Does not: lose messages or sites; use the scheduler of `chain`, which has no several sites yet: the order is
//! found by the rules of the thesis's Algorithm 2, here.
//!
//! ```text
//!   home: order ─► tell the others ──► each compares; acknowledges ──► agreed, or decided: the longest
//!           │                                                          branch stays, then the smallest
//!           └─► run where the chain is run ─► ended, held back ──► commit ─► write set to the others
//!                     │                             │
//!           not begun: cancelled        killed ◄────┘  the branch lost: it is ordered again at its homes,
//!           begun: killed                              behind the winner
//! ```
//!
//! Readings of the thesis, where it leaves a choice:
//!
//! * Agreement on a place takes a consensus's time from the moment the home has ordered it, and no less than
//!   it takes all acknowledgements to come back; its outcome is known everywhere at once.
//! * A branch runs where its first call is at home. A call that opens a branch while all workers of its home
//!   are taken goes to the site with the fewest calls per worker, if that has an idle one.
//! * A call that is held back keeps its worker, and those behind it wait until it is committed, unless
//!   [`Begin::Executed`] says otherwise.
//! * A bet: a call that conflicts with several branches of which one will stay is ordered behind the
//!   one that the decision would prefer now, and stays out of the way of the others until then.
//! * Calls that only read run at home at once.

mod graph;

use crate::agenda::Agenda;
use crate::collisions::Collisions;
use crate::feed::{Came, Feed};
use crate::plan::Plan;
use crate::run::{Mistake, Outcome};
use crate::settings::{Begin, Settings};
use crate::tally::Tally;
use crate::time::Nanos;
use crate::trace::Ran;
use graph::{Graph, PlaceId, Sites};
use hashbrown::HashMap;
use quintet_rt::Rand;
use std::collections::VecDeque;

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

enum Happening {
    Arrive,
    Order {
        call: u64,
    },
    Reach {
        place: PlaceId,
        site: u32,
    },
    /// One of the things happened without which there is no agreement on a place.
    Vote {
        place: PlaceId,
    },
    /// A run of a place, or of a call that only reads, ends.
    End {
        run: Run,
    },
    Visible {
        place: PlaceId,
        site: u32,
    },
    Answer {
        call: u64,
    },
}

/// What a worker has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Run {
    Place(PlaceId),
    /// A call that only reads.
    Read(u64),
}

/// A call until it is answered and everywhere.
struct Live {
    plan: Plan,
    work: Nanos,
    home: u32,
    came: Nanos,
}

/// How far a place has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// Something that it comes after is not there, or the site has not heard of it.
    Waiting,
    /// Only a worker is missing.
    Ready,
    Running,
    /// It has run, and may not commit yet.
    Held {
        since: Nanos,
    },
    Committed,
}

/// What the graph does not need to know of a place.
struct Progress {
    step: Step,
    /// Where it runs.
    site: u32,
    /// Write sets that are not there, and one for the news of itself.
    missing: u32,
    /// Acknowledgements, and one for the time that a consensus takes.
    votes_missing: u32,
    ordered: Nanos,
    ready: Nanos,
    began: Nanos,
    /// Who has its effects.
    visible: Sites,
}

/// Workers of a site, all alike.
#[derive(Default)]
struct Crew {
    free: u32,
    /// None: as many as are wanted.
    bound: Option<u32>,
    waiting: VecDeque<Run>,
    /// Places that are to run here.
    load: u32,
}

struct World<'a> {
    settings: &'a Settings,
    feed: Feed,
    agenda: Agenda<Happening>,
    graph: Graph,
    live: Map<u64, Live>,
    progress: Map<PlaceId, Progress>,
    crews: Vec<Crew>,
    /// When the last message from one site to another arrives: messages do not overtake each other.
    channels: Vec<Vec<Nanos>>,
    tally: Tally,
    collisions: Collisions,
    messages: Rand,
    homes: Rand,
    mistake: Option<Mistake>,
    trace: Option<Vec<Ran>>,
}

/// Apart from other streams of the seed.
const HOMES: u64 = 0x5a11_0004;

pub(crate) fn run(
    settings: &Settings,
    feed: Feed,
    mistake: Option<Mistake>,
    trace: bool,
    progress: &mut dyn FnMut(u64),
) -> Outcome {
    let sites = settings.sites as usize;
    let bound = settings.workers.bound();
    let crew = || Crew {
        free: bound.unwrap_or(0),
        bound,
        ..Crew::default()
    };
    let mut world = World {
        settings,
        agenda: Agenda::new(),
        graph: Graph::new(feed.source().modes()),
        live: Map::default(),
        progress: Map::default(),
        crews: (0..sites).map(|_| crew()).collect(),
        channels: vec![vec![Nanos::ZERO; sites]; sites],
        tally: Tally::new(
            feed.source().kinds().len(),
            Nanos::from_ms(settings.interval_ms),
        ),
        collisions: Collisions::default(),
        messages: Feed::messages(settings),
        homes: Rand::seeded(settings.seed ^ HOMES),
        mistake,
        trace: trace.then(Vec::new),
        feed,
    };
    world.next_arrival();
    while let Some(happening) = world.agenda.next() {
        world.happen(happening);
        progress(world.tally.answered);
    }
    assert!(world.progress.is_empty(), "what is everywhere is forgotten");
    world.tally.close();
    Outcome {
        tally: world.tally,
        collisions: Some(world.collisions),
        trace: world.trace.unwrap_or_default(),
    }
}

impl World<'_> {
    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrive => {
                self.arrive();
                self.next_arrival();
            }
            Happening::Order { call } => self.order(call),
            Happening::Reach { place, site } => self.reach(place, site),
            Happening::Vote { place } => self.vote(place),
            Happening::End { run } => self.end(run),
            Happening::Visible { place, site } => self.visible(place, site),
            Happening::Answer { call } => self.tally.answered(call, self.agenda.now()),
        }
    }

    fn next_arrival(&mut self) {
        if let Some(gap) = self.feed.gap() {
            self.agenda.after(gap, Happening::Arrive);
        }
    }

    fn others(&self, site: u32) -> impl Iterator<Item = u32> + use<> {
        (0..self.settings.sites).filter(move |other| *other != site)
    }

    /// Sends a message from one site to another, which happens there. Later ones do not overtake it.
    fn send(&mut self, from: u32, to: u32, happening: Happening) {
        let now = self.agenda.now();
        let way = self.settings.delays.inter_site.draw(&mut self.messages);
        let channel = &mut self.channels[from as usize][to as usize];
        *channel = (now + way).max(*channel);
        let arrives = *channel;
        self.agenda.after(arrives - now, happening);
    }

    fn way(&mut self) -> Nanos {
        self.settings.delays.site_worker.draw(&mut self.messages)
    }

    fn arrive(&mut self) {
        let now = self.agenda.now();
        let Came {
            call,
            plan,
            work,
            writes,
        } = self.feed.take();
        self.tally.arrived(call, plan.kind, work, now);
        let home = self.homes.below(u64::from(self.settings.sites)) as u32;
        let look_up = match plan.looked_up {
            true => self.settings.delays.look_up.draw(&mut self.messages),
            false => Nanos::ZERO,
        };
        let live = Live {
            plan,
            work,
            home,
            came: now,
        };
        self.live.insert(call, live);
        if writes {
            self.agenda.after(look_up, Happening::Order { call });
            return;
        }
        self.tally.for_worker.up(now);
        self.crews[home as usize].waiting.push_back(Run::Read(call));
        self.start(home);
    }

    /// A call gets a place in its home's order.
    fn order(&mut self, call: u64) {
        let now = self.agenda.now();
        let live = &self.live[&call];
        let (home, keys) = (live.home, live.plan.keys.clone());
        let met = self.graph.met(&keys, home);
        let met = self.bet(met);
        let after = self.graph.heads(&met);
        let site = self.place_for(home, &after);
        let missing = after
            .iter()
            .filter(|before| !self.is_there(**before, site))
            .count() as u32;
        let news = u32::from(site != home);
        self.collisions.ran_elsewhere += u64::from(news);
        let place = self.graph.add(call, keys, after, home);
        let progress = Progress {
            step: Step::Waiting,
            site,
            missing: missing + news,
            votes_missing: self.settings.sites,
            ordered: now,
            ready: now,
            began: now,
            visible: 0,
        };
        self.progress.insert(place, progress);
        self.crews[site as usize].load += 1;
        self.tally.for_others.up(now);
        let consensus = self.settings.delays.consensus.draw(&mut self.messages);
        self.agenda.after(consensus, Happening::Vote { place });
        for other in self.others(home) {
            self.send(home, other, Happening::Reach { place, site: other });
        }
        self.if_ready(place);
    }

    /// Of places that a new call meets, leaves out those in branches that will not stay, as it seems.
    fn bet(&mut self, mut met: Vec<PlaceId>) -> Vec<PlaceId> {
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

    /// A call that comes after a place may begin at a site, as far as that place is concerned.
    fn is_there(&self, before: PlaceId, site: u32) -> bool {
        let before = &self.progress[&before];
        let held = matches!(before.step, Step::Held { .. }) && before.site == site;
        before.visible >> site & 1 == 1 || (held && self.settings.begin == Begin::Executed)
    }

    /// Where a call runs that comes after these.
    fn place_for(&mut self, home: u32, after: &[PlaceId]) -> u32 {
        let open = after.iter().find(|before| {
            let place = self.graph.get(**before);
            place.is_some_and(|place| !place.extended)
        });
        if let Some(before) = open {
            let place = self.graph.get_mut(*before).expect("it was found");
            place.extended = true;
            return self.progress[before].site;
        }
        let crowded = |crew: &Crew| crew.bound.is_some_and(|bound| crew.load >= bound);
        if !crowded(&self.crews[home as usize]) {
            return home;
        }
        let sites = (0..self.settings.sites).filter(|site| !crowded(&self.crews[*site as usize]));
        sites
            .min_by_key(|site| self.crews[*site as usize].load)
            .unwrap_or(home)
    }

    /// News of a place arrives at a site.
    fn reach(&mut self, id: PlaceId, site: u32) {
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

    /// One thing less that a place waits for.
    fn arrived_one(&mut self, place: PlaceId) {
        let progress = self.progress.get_mut(&place).expect("it is there");
        progress.missing -= 1;
        self.if_ready(place);
    }

    fn if_ready(&mut self, place: PlaceId) {
        let now = self.agenda.now();
        let progress = self.progress.get_mut(&place).expect("it is there");
        if progress.missing > 0 || progress.step != Step::Waiting {
            return;
        }
        progress.step = Step::Ready;
        progress.ready = now;
        let site = progress.site;
        self.tally.waited_for_others += now - progress.ordered;
        self.tally.for_others.down(now);
        self.tally.for_worker.up(now);
        let crew = &mut self.crews[site as usize];
        crew.waiting.push_back(Run::Place(place));
        self.start(site);
    }

    /// Gives workers to those that wait.
    fn start(&mut self, site: u32) {
        let now = self.agenda.now();
        loop {
            let crew = &mut self.crews[site as usize];
            if crew.bound.is_some() && crew.free == 0 {
                return;
            }
            let Some(run) = crew.waiting.pop_front() else {
                return;
            };
            let (waits_since, call) = match run {
                Run::Read(call) => (self.live[&call].came, call),
                Run::Place(place) => {
                    // It may have lost its place while it waited.
                    let Some(progress) = self.progress.get_mut(&place) else {
                        continue;
                    };
                    progress.step = Step::Running;
                    progress.began = now;
                    let call = self.graph.get(place).expect("it is there").call;
                    (progress.ready, call)
                }
            };
            let crew = &mut self.crews[site as usize];
            crew.free = crew.free.saturating_sub(1);
            self.tally.for_worker.down(now);
            self.tally.got_worker(now - waits_since);
            self.tally.busy.up(now);
            let time = self.way() + self.live[&call].work;
            self.agenda.after(time, Happening::End { run });
        }
    }

    /// A worker is free again.
    fn free(&mut self, site: u32) {
        self.tally.busy.down(self.agenda.now());
        let crew = &mut self.crews[site as usize];
        crew.free += u32::from(crew.bound.is_some());
        self.start(site);
    }

    fn end(&mut self, run: Run) {
        let now = self.agenda.now();
        match run {
            Run::Read(call) => {
                let live = self.live.remove(&call).expect("it ran");
                self.tally.answered(call, now);
                self.free(live.home);
            }
            Run::Place(place) => {
                // A run that was killed ends as nobody's.
                if let Some(progress) = self.progress.get_mut(&place) {
                    progress.step = Step::Held { since: now };
                    if self.settings.begin == Begin::Executed {
                        let site = progress.site;
                        self.arrived_behind(place, site);
                    }
                    self.if_done(place);
                }
            }
        }
    }

    /// Commits a place that has run and is agreed.
    fn if_done(&mut self, id: PlaceId) {
        let now = self.agenda.now();
        let place = self.graph.get(id).expect("it is there");
        let progress = &self.progress[&id];
        let Step::Held { since } = progress.step else {
            return;
        };
        if !place.agreed {
            return;
        }
        let (after, site) = (&place.after, progress.site);
        let committed = |before: &PlaceId| {
            let before = self.progress.get(before);
            before.is_none_or(|before| before.visible >> site & 1 == 1)
        };
        if !after.iter().all(committed) {
            return;
        }
        let progress = self.progress.get_mut(&id).expect("it is there");
        progress.step = Step::Committed;
        self.collisions.stalled_seconds += (now - since).seconds();
        let (call, site, began) = (place.call, progress.site, progress.began);
        let home = self.live[&call].home;
        if let Some(trace) = &mut self.trace {
            trace.push(Ran {
                call,
                plan: self.live[&call].plan.clone(),
                began,
                ended: now,
                committed: true,
                snapshot: 0,
                position: 0,
            });
        }
        for other in self.others(site) {
            self.send(
                site,
                other,
                Happening::Visible {
                    place: id,
                    site: other,
                },
            );
            if other == home {
                self.send(site, other, Happening::Answer { call });
            }
        }
        if home == site {
            self.tally.answered(call, now);
        }
        self.crews[site as usize].load -= 1;
        self.visible(id, site);
        self.free(site);
    }

    /// A site has what a place has written.
    fn visible(&mut self, id: PlaceId, site: u32) {
        let progress = self.progress.get_mut(&id).expect("it is committed");
        progress.visible |= 1 << site;
        let told = progress.site == site && self.settings.begin == Begin::Executed;
        if !told {
            self.arrived_behind(id, site);
        } else {
            // Those behind it may have run already.
            for place in self.graph.get(id).expect("it is there").before.clone() {
                if self.progress[&place].site == site {
                    self.if_done(place);
                }
            }
        }
        self.forget(id);
    }

    /// What comes directly after a place and runs at a site waits for one thing less.
    fn arrived_behind(&mut self, id: PlaceId, site: u32) {
        for place in self.graph.get(id).expect("it is there").before.clone() {
            if self.progress[&place].site == site {
                self.arrived_one(place);
            }
        }
    }

    /// Forgets a place that is everywhere, once all that it came after is forgotten; and then those behind it.
    fn forget(&mut self, id: PlaceId) {
        let everywhere = u64::MAX >> (64 - self.settings.sites);
        let mut looked_at = vec![id];
        while let Some(id) = looked_at.pop() {
            let Some(place) = self.graph.get(id) else {
                continue;
            };
            let last = !place.after.iter().any(|of| self.graph.get(*of).is_some());
            if last && self.progress[&id].visible == everywhere {
                let place = self.graph.remove(id);
                self.progress.remove(&id);
                self.live.remove(&place.call);
                looked_at.extend(place.before);
            }
        }
    }

    /// A site has acknowledged a place, or a consensus's time is over: with the last of them there is an
    /// agreement.
    fn vote(&mut self, id: PlaceId) {
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
