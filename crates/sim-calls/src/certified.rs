//! One site under certification: calls run wherever there is a worker, and lose at their end if another has
//! written what they wrote (the thesis's 6.3.1). Round-robin, and Tashkent+ with its groups.
//!
//! Relies on: `certifier`, `groups`.  Promises: a call that loses runs again until it wins; a worker is
//! busy from the beginning of a run until its certificate is there.
//! Does not: certify calls that only read: they have nothing to lose.
//!
//! ```text
//!   arrival ─► waits for a worker ─message─► busy … ends ─broadcast─► certified ─► answer
//!                     ▲                        ▲                         │ lost
//!                     └──── Again::AtTheBack ──┴──── Again::AtOnce ──────┘
//! ```

use crate::agenda::Agenda;
use crate::certifier::Certifier;
use crate::feed::{Came, Feed};
use crate::groups::Groups;
use crate::plan::Plan;
use crate::run::{Mistake, Outcome};
use crate::settings::{Again, Policy, Settings};
use crate::tally::Tally;
use crate::time::Nanos;
use crate::trace::Ran;
use hashbrown::HashMap;
use quintet_rt::Rand;
use std::collections::VecDeque;

enum Happening {
    Arrive,
    Start { call: u64 },
    End { call: u64 },
    Certify { call: u64 },
}

struct Live {
    plan: Plan,
    work: Nanos,
    writes: bool,
    /// Its worker, under round-robin with a bound.
    worker: usize,
    /// Since when it has been waiting for a worker.
    waits_since: Nanos,
    began: Nanos,
    snapshot: u64,
}

/// Who gives calls to workers.
enum Balance {
    /// One worker for every call.
    Unbounded,
    /// In turn: each worker's calls, of which the first is running.
    Turn {
        next: usize,
        queues: Vec<VecDeque<u64>>,
    },
    /// By what fits into memory.
    Groups(Groups),
}

struct Site<'a> {
    settings: &'a Settings,
    feed: Feed,
    agenda: Agenda<Happening>,
    certifier: Certifier,
    balance: Balance,
    live: HashMap<u64, Live, foldhash::fast::FixedState>,
    tally: Tally,
    messages: Rand,
    mistake: Option<Mistake>,
    trace: Option<Vec<Ran>>,
}

pub(crate) fn run(
    settings: &Settings,
    feed: Feed,
    mistake: Option<Mistake>,
    trace: bool,
    progress: &mut dyn FnMut(u64),
) -> Outcome {
    let kinds = feed.source().kinds();
    let balance = match (settings.workers.bound(), settings.policy) {
        (None, _) => Balance::Unbounded,
        (Some(workers), Policy::Tashkent) => Balance::Groups(Groups::new(kinds, workers)),
        (Some(workers), _) => Balance::Turn {
            next: 0,
            queues: vec![VecDeque::new(); workers as usize],
        },
    };
    let mut site = Site {
        settings,
        agenda: Agenda::new(),
        certifier: Certifier::new(feed.source().row_modes()),
        balance,
        live: HashMap::default(),
        tally: Tally::new(kinds.len(), Nanos::from_ms(settings.interval_ms)),
        messages: Feed::messages(settings),
        mistake,
        trace: trace.then(Vec::new),
        feed,
    };
    site.next_arrival();
    while let Some(happening) = site.agenda.next() {
        match happening {
            Happening::Arrive => {
                site.arrive();
                site.next_arrival();
            }
            Happening::Start { call } => site.start(call),
            Happening::End { call } => site.end(call),
            Happening::Certify { call } => {
                site.certify(call);
                progress(site.tally.answered);
            }
        }
    }
    site.tally.close();
    Outcome {
        tally: site.tally,
        collisions: None,
        trace: site.trace.unwrap_or_default(),
    }
}

impl Site<'_> {
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
        let work = match self.settings.policy {
            Policy::Tashkent => Nanos((work.0 as f64 * self.settings.in_memory).round() as u64),
            _ => work,
        };
        let live = Live {
            plan,
            work,
            writes,
            worker: 0,
            waits_since: now,
            began: now,
            snapshot: 0,
        };
        self.live.insert(call, live);
        self.queue(call);
    }

    /// The call wants a worker.
    fn queue(&mut self, call: u64) {
        let now = self.agenda.now();
        let live = self.live.get_mut(&call).expect("it came");
        live.waits_since = now;
        self.tally.for_worker.up(now);
        match &mut self.balance {
            Balance::Unbounded => self.send(call),
            Balance::Turn { next, queues } => {
                let worker = *next;
                live.worker = worker;
                *next = (worker + 1) % queues.len();
                queues[worker].push_back(call);
                if queues[worker].len() == 1 {
                    self.send(call);
                }
            }
            Balance::Groups(groups) => {
                groups.add(call, live.plan.kind);
                self.send_grouped();
            }
        }
    }

    fn send_grouped(&mut self) {
        while let Balance::Groups(groups) = &mut self.balance {
            let Some(call) = groups.start() else { break };
            self.send(call);
        }
    }

    /// Sends the call to its worker, who is free.
    fn send(&mut self, call: u64) {
        let now = self.agenda.now();
        self.tally.for_worker.down(now);
        self.tally.got_worker(now - self.live[&call].waits_since);
        self.tally.busy.up(now);
        let way = self.way();
        self.agenda.after(way, Happening::Start { call });
    }

    fn way(&mut self) -> Nanos {
        self.settings.delays.site_worker.draw(&mut self.messages)
    }

    fn start(&mut self, call: u64) {
        let live = self.live.get_mut(&call).expect("it came");
        live.began = self.agenda.now();
        if live.writes {
            live.snapshot = self.certifier.begin();
        }
        let work = live.work;
        self.agenda.after(work, Happening::End { call });
    }

    fn end(&mut self, call: u64) {
        let way = match self.live[&call].writes {
            true => {
                let delays = &self.settings.delays;
                let order = delays.certify.draw(&mut self.messages);
                self.way() + order + self.settings.delays.apply.draw(&mut self.messages)
            }
            false => Nanos::ZERO,
        };
        self.agenda.after(way, Happening::Certify { call });
    }

    fn certify(&mut self, call: u64) {
        let now = self.agenda.now();
        let live = &self.live[&call];
        let blind = self.mistake == Some(Mistake::CertifierBlind) && call.is_multiple_of(8);
        let position = match live.writes {
            true if blind => self.certifier.unchecked(live.snapshot, &live.plan.writes),
            true => self.certifier.end(live.snapshot, &live.plan.writes),
            false => Some(0),
        };
        if let Some(trace) = &mut self.trace {
            trace.push(Ran {
                call,
                plan: live.plan.clone(),
                began: live.began,
                ended: now,
                committed: position.is_some(),
                snapshot: live.snapshot,
                position: position.unwrap_or(0),
            });
        }
        match position {
            Some(_) => {
                self.leave(call);
                self.live.remove(&call);
                self.tally.answered(call, now);
            }
            None => {
                self.tally.lost(now - live.began);
                match self.settings.again {
                    Again::AtOnce => self.start(call),
                    Again::AtTheBack => {
                        self.leave(call);
                        self.queue(call);
                    }
                }
            }
        }
    }

    /// The call's worker is free.
    fn leave(&mut self, call: u64) {
        self.tally.busy.down(self.agenda.now());
        let live = &self.live[&call];
        match &mut self.balance {
            Balance::Unbounded => {}
            Balance::Turn { queues, .. } => {
                let queue = &mut queues[live.worker];
                let first = queue.pop_front();
                assert_eq!(first, Some(call), "a worker runs the first of its queue");
                if let Some(next) = queue.front().copied() {
                    self.send(next);
                }
            }
            Balance::Groups(groups) => {
                groups.give_back(live.plan.kind);
                self.send_grouped();
            }
        }
    }
}
