//! Several sites, each with a scheduler, workers and a full copy: the thesis's chapter 4.
//!
//! Relies on: `sites::graph` for the order, `agreement` for collisions, `crew` for workers.  Promises: a call is ordered at once by the site it came to (its home), as that
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

mod agreement;
mod crew;
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
use crew::{Crew, Run};
use graph::{Graph, PlaceId, Sites};
use hashbrown::HashMap;
use quintet_rt::Rand;

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
}
