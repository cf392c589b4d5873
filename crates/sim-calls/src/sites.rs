//! Several sites, each with a scheduler, workers and a full copy: the thesis's chapter 4, under the real state machine.
//!
//! Relies on: `chain::Site` for every decision: who comes after whom, who loses, where a call is run and when it commits;
//! `crew` for workers.  Promises: a site is told just what a driver of real sites would tell it, each thing after the
//! messages that it takes; messages of one site to another do not overtake each other; choices come to all sites
//! in one order.
//! Does not: decide anything; lose messages or sites.
//!
//! ```text
//!   arrival ─► (look-up) ─► Submitted ─► Tell ──inter-site──► Heard ─► Tell (seen) ──inter-site──► Heard
//!                               ├► Propose ──consensus──► Chosen, at all sites at once
//!                               └► Run ─► waits for a worker ─► busy … Executed ─► held ─► Commit ─► Answer
//!                                                                 Cancel, Kill: another place, from `Site`
//! ```
//!
//! Readings of the thesis, where it leaves a choice:
//!
//! * Sites agree on a place that collides with no other by having seen it, which takes a message and its answer; on one that
//!   does by a choice, which takes a consensus's time from the moment it is proposed. Its outcome is known everywhere at once.
//! * A chain is run where its first call is at home; a call that opens one while all workers of its home are taken
//!   goes to the site with the fewest calls ([`RunAt::Chain`]). With [`RunAt::Home`] every call is run at home.
//! * A call that is held back keeps its worker, and those behind it wait until it is committed, unless
//!   [`Begin::Executed`] says otherwise.
//! * Calls that only read run at home at once.

mod crew;

use crate::agenda::Agenda;
use crate::collisions::Collisions;
use crate::feed::{Came, Feed};
use crate::plan::Plan;
use crate::run::{Mistake, Outcome};
use crate::settings::{Begin, RunAt, Settings};
use crate::tally::Tally;
use crate::time::Nanos;
use crate::trace::Ran;
use crew::{Crew, Task};
use hashbrown::HashMap;
use quintet_chain::{CallId, Choice, Message, Site, SiteConfig, SiteEffect, SiteEvent, SiteId};
use quintet_rt::Rand;
use std::rc::Rc;

enum Happening {
    Arrive,
    Submit {
        call: u64,
    },
    Heard {
        from: u32,
        to: u32,
        message: Rc<Message>,
    },
    Chosen(Choice),
    /// A run ends; if it was killed meanwhile, nobody's.
    End {
        site: u32,
        task: Task,
    },
}

/// A call until it is answered.
struct Live {
    plan: Plan,
    work: Nanos,
    home: u32,
    writes: bool,
    /// Since when it has been waiting for others.
    waits_since: Nanos,
    /// Runs of it: none while it waits for others. There may be two for a while, if one site does not know yet that the
    /// call has lost the place that it runs there.
    runs: u32,
}

/// A call where it is run.
#[derive(Clone, Copy)]
struct Run {
    site: u32,
    step: Step,
    ready: Nanos,
    began: Nanos,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Only a worker is missing.
    Ready,
    Running,
    /// It has run, and may not commit yet.
    Held {
        since: Nanos,
    },
}

struct World<'a> {
    settings: &'a Settings,
    feed: Feed,
    agenda: Agenda<Happening>,
    sites: Vec<Site>,
    live: HashMap<u64, Live, foldhash::fast::FixedState>,
    runs: HashMap<Task, Run, foldhash::fast::FixedState>,
    crews: Vec<Crew>,
    /// When the last message from one site to another arrives.
    channels: Vec<Vec<Nanos>>,
    /// When the last choice is known.
    agreed: Nanos,
    tally: Tally,
    collisions: Collisions,
    messages: Rand,
    homes: Rand,
    mistake: Option<Mistake>,
    trace: Option<Vec<Ran>>,
    effects: Vec<SiteEffect>,
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
    let bound = settings.workers.bound();
    let kinds = feed.source().kinds().len();
    let modes = feed.source().modes();
    let site = |id: u32| {
        Site::with_config(SiteConfig {
            run_at: match settings.run_at {
                RunAt::Home => quintet_chain::RunAt::Home,
                RunAt::Chain => quintet_chain::RunAt::Chain { workers: bound },
            },
            begin: match settings.begin {
                Begin::Committed => quintet_chain::Begin::Committed,
                Begin::Executed => quintet_chain::Begin::Executed,
            },
            ..SiteConfig::new(SiteId(id), settings.sites, modes.clone())
        })
    };
    let count = settings.sites as usize;
    let mut world = World {
        settings,
        agenda: Agenda::new(),
        sites: (0..settings.sites).map(site).collect(),
        live: HashMap::default(),
        runs: HashMap::default(),
        crews: (0..count).map(|_| Crew::new(bound)).collect(),
        channels: vec![vec![Nanos::ZERO; count]; count],
        agreed: Nanos::ZERO,
        tally: Tally::new(kinds, Nanos::from_ms(settings.interval_ms)),
        collisions: Collisions::default(),
        messages: Feed::messages(settings),
        homes: Rand::seeded(settings.seed ^ HOMES),
        mistake,
        trace: trace.then(Vec::new),
        effects: Vec::new(),
        feed,
    };
    world.next_arrival();
    while let Some(happening) = world.agenda.next() {
        world.happen(happening);
        progress(world.tally.answered);
    }
    let pending: usize = world.sites.iter().map(Site::pending).sum();
    assert_eq!(pending, 0, "what is over everywhere is forgotten");
    world.tally.close();
    for site in &world.sites {
        world.collisions.add(&site.counts());
    }
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
            Happening::Submit { call } => self.submit(call),
            Happening::Heard { from, to, message } => {
                let message = Rc::unwrap_or_clone(message);
                let from = SiteId(from);
                self.event(to, SiteEvent::Heard { from, message });
            }
            Happening::Chosen(choice) => {
                for site in 0..self.settings.sites {
                    self.event(site, SiteEvent::Chosen(choice));
                }
            }
            Happening::End { site, task } => self.end(site, task),
        }
    }

    fn next_arrival(&mut self) {
        if let Some(gap) = self.feed.gap() {
            self.agenda.after(gap, Happening::Arrive);
        }
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
            writes,
            waits_since: now,
            runs: 0,
        };
        self.live.insert(call, live);
        self.agenda.after(look_up, Happening::Submit { call });
    }

    fn submit(&mut self, call: u64) {
        let now = self.agenda.now();
        let live = self.live.get_mut(&call).expect("it came");
        live.waits_since = now;
        self.tally.for_others.up(now);
        let (home, keys) = (live.home, live.plan.keys.clone());
        let call = CallId(call);
        let event = match live.writes {
            true => SiteEvent::Submitted { call, keys },
            false => SiteEvent::Asked {
                call,
                after: Vec::new(),
            },
        };
        self.event(home, event);
    }

    /// Tells a site, and does what it answers.
    fn event(&mut self, at: u32, event: SiteEvent) {
        let mut effects = std::mem::take(&mut self.effects);
        self.sites[at as usize].handle(event, &mut effects);
        for effect in effects.drain(..) {
            self.bring_about(at, effect);
        }
        self.effects = effects;
    }

    fn bring_about(&mut self, at: u32, effect: SiteEffect) {
        match effect {
            SiteEffect::Tell(message) => self.tell(at, message),
            SiteEffect::Propose(choice) => self.propose(choice),
            SiteEffect::Read { call } => self.ready(at, Task::Read(call)),
            SiteEffect::Run { call, place } => self.ready(at, Task::Place(call, place)),
            // It waits for others as before, in another place.
            SiteEffect::Cancel { .. } => {}
            SiteEffect::Kill { call, place } => self.kill(Task::Place(call, place)),
            SiteEffect::Commit { call, place } => self.commit(at, Task::Place(call, place)),
            SiteEffect::Answer { call } => {
                self.tally.answered(call.0, self.agenda.now());
                self.live.remove(&call.0);
            }
            // Write sets take no time here, as in the thesis.
            SiteEffect::Apply { .. } => {}
            SiteEffect::Gone { .. } => unreachable!("no site is lost here"),
        }
    }

    /// Sends a message to all other sites. Later ones do not overtake it.
    fn tell(&mut self, from: u32, mut message: Message) {
        if self.mistake == Some(Mistake::SeenTooEarly)
            && let Message::Seen { seen, .. } = &mut message
        {
            seen.fill(u64::MAX);
        }
        let (now, message) = (self.agenda.now(), Rc::new(message));
        for to in (0..self.settings.sites).filter(|to| *to != from) {
            let way = self.settings.delays.inter_site.draw(&mut self.messages);
            let channel = &mut self.channels[from as usize][to as usize];
            *channel = (now + way).max(*channel);
            let arrives = *channel;
            let message = Rc::clone(&message);
            self.agenda
                .after(arrives - now, Happening::Heard { from, to, message });
        }
    }

    /// All sites know the choice when they have agreed, in the order in which choices were proposed.
    fn propose(&mut self, choice: Choice) {
        let now = self.agenda.now();
        let time = self.settings.delays.consensus.draw(&mut self.messages);
        self.agreed = (now + time).max(self.agreed);
        self.agenda
            .after(self.agreed - now, Happening::Chosen(choice));
    }

    /// A call waits for nothing but a worker.
    fn ready(&mut self, at: u32, task: Task) {
        let now = self.agenda.now();
        let live = self.live.get_mut(&task.call().0);
        let live = live.expect("it is not answered");
        if live.runs == 0 {
            self.tally.waited_for_others += now - live.waits_since;
            self.tally.for_others.down(now);
        }
        live.runs += 1;
        self.tally.for_worker.up(now);
        let run = Run {
            site: at,
            step: Step::Ready,
            ready: now,
            began: now,
        };
        self.runs.insert(task, run);
        self.crews[at as usize].waiting.push_back(task);
        self.start(at);
    }

    fn end(&mut self, site: u32, task: Task) {
        let now = self.agenda.now();
        // It may have been killed.
        let Some(run) = self.runs.get_mut(&task) else {
            return;
        };
        match task {
            Task::Place(_, place) => {
                run.step = Step::Held { since: now };
                self.event(site, SiteEvent::Executed { place });
            }
            Task::Read(call) => {
                self.runs.remove(&task);
                self.live.remove(&call.0);
                self.tally.answered(call.0, now);
                self.free(site);
            }
        }
    }

    fn commit(&mut self, at: u32, task: Task) {
        let now = self.agenda.now();
        let run = self.runs.remove(&task).expect("it has run");
        let Step::Held { since } = run.step else {
            unreachable!("it commits when it has run");
        };
        self.collisions.stalled_seconds += (now - since).seconds();
        let call = task.call().0;
        if let Some(trace) = &mut self.trace {
            trace.push(Ran {
                call,
                plan: self.live[&call].plan.clone(),
                began: run.began,
                ended: now,
                committed: true,
                snapshot: 0,
                position: 0,
            });
        }
        self.free(at);
    }

    /// A call has lost the place in which it was run.
    fn kill(&mut self, task: Task) {
        let now = self.agenda.now();
        let run = self.runs.remove(&task).expect("it was to be run");
        // It may be over, in its other place.
        if let Some(live) = self.live.get_mut(&task.call().0) {
            live.runs -= 1;
            if live.runs == 0 {
                live.waits_since = now;
                self.tally.for_others.up(now);
            }
        }
        match run.step {
            // The crew will find it gone.
            Step::Ready => {
                self.tally.for_worker.down(now);
                return;
            }
            Step::Running => {}
            Step::Held { since } => self.collisions.stalled_seconds += (now - since).seconds(),
        }
        let time = now - run.began;
        self.tally.lost(time);
        self.collisions.killed_seconds += time.seconds();
        self.free(run.site);
    }
}
