//! One site under the scheduler of chains: the real one, with modelled workers.
//!
//! Relies on: `chain::Scheduler`.  Promises: the scheduler is told just what a driver of real workers would
//! tell it, each thing after the messages that it takes; a worker runs what it is told to and nothing
//! else. With one more worker whenever none is idle, there are as many as anybody could want.
//! Does not: take any decision about order or place.
//!
//! ```text
//!   arrival ─► (look-up) ─► Submitted ─► Run ─message─► busy … ends ─message─► Executed ─► Answer
//!                               └► waits for others ─► waits for a worker ┘
//! ```
//!
//! With write sets that take time to apply every worker has its own copy (`Copies::PerWorker`); what a
//! call waits for write sets then counts as waiting for a worker.

use crate::agenda::Agenda;
use crate::feed::{Came, Feed};
use crate::plan::Plan;
use crate::run::{Mistake, Outcome};
use crate::settings::{Error, Placement, Policy, Settings, Workers};
use crate::tally::Tally;
use crate::time::Nanos;
use crate::trace::Ran;
use hashbrown::HashMap;
use quintet_base::conflict::{ConflictKey, Mode, Modes, Space};
use quintet_chain::{
    Access, CallId, Config, Copies, Effect, Event, Freshness, Holds, Scheduler, Submission,
    WorkerId, Wrote,
};
use quintet_rt::Rand;

enum Happening {
    Arrive,
    Submit { call: u64 },
    Start { call: u64, worker: WorkerId },
    End { call: u64 },
    Executed { call: u64 },
    Applied { call: u64, worker: WorkerId },
}

/// A call from its arrival until it has run.
struct Live {
    plan: Plan,
    work: Nanos,
    writes: bool,
    worker: Option<WorkerId>,
    /// Calls before it that have not run.
    missing: u32,
    /// Calls behind it.
    behind: Vec<u64>,
    /// When it was submitted, and when the last call before it had run.
    submitted: Nanos,
    ready: Nanos,
    began: Nanos,
}

/// A run under way.
struct Site<'a> {
    settings: &'a Settings,
    feed: Feed,
    agenda: Agenda<Happening>,
    scheduler: Scheduler,
    effects: Vec<Effect>,
    live: HashMap<u64, Live, foldhash::fast::FixedState>,
    tally: Tally,
    messages: Rand,
    /// Calls that each worker has; only without a bound.
    loads: Vec<u32>,
    /// Of those, the ones that have none.
    idle: u32,
    mistake: Option<Mistake>,
    trace: Option<Vec<Ran>>,
}

/// The key of every call that writes, when there is one writer at a time.
const ALL: Space = Space(0);

pub(crate) fn run(
    settings: &Settings,
    feed: Feed,
    mistake: Option<Mistake>,
    trace: bool,
    progress: &mut dyn FnMut(u64),
) -> Result<Outcome, Error> {
    let modes = match settings.policy {
        Policy::Centralised => {
            let mut modes = Modes::new();
            modes.declare(ALL, Mode(0), Mode(0));
            modes
        }
        _ => feed.source().modes(),
    };
    let copies = match settings.delays.apply.ms > 0.0 {
        true => Copies::PerWorker,
        false => Copies::One,
    };
    let config = Config {
        copies,
        // Nothing is refused: the queue may grow as long as the calls come.
        pending_max: usize::MAX,
        ..Config::new(modes)
    };
    let kinds = feed.source().kinds().len();
    let mut site = Site {
        settings,
        feed,
        agenda: Agenda::new(),
        scheduler: Scheduler::new(config),
        effects: Vec::new(),
        live: HashMap::default(),
        tally: Tally::new(kinds, Nanos::from_ms(settings.interval_ms)),
        messages: Feed::messages(settings),
        loads: Vec::new(),
        idle: 0,
        mistake,
        trace: trace.then(Vec::new),
    };
    site.run(progress)?;
    site.tally.close();
    Ok(Outcome {
        tally: site.tally,
        collisions: None,
        trace: site.trace.unwrap_or_default(),
    })
}

impl Site<'_> {
    fn run(&mut self, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
        let bound = self.settings.workers.bound();
        match self.settings.placement {
            Placement::Any => self.join(bound.unwrap_or(u32::MAX)),
            Placement::Chain => (0..bound.unwrap_or(1)).for_each(|_| self.join(1)),
        }
        self.next_arrival();
        while let Some(happening) = self.agenda.next() {
            self.happen(happening, progress)?;
        }
        Ok(())
    }

    fn happen(&mut self, happening: Happening, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
        match happening {
            Happening::Arrive => {
                self.arrive();
                self.next_arrival();
            }
            Happening::Submit { call } => self.submit(call)?,
            Happening::Start { call, worker } => self.start(call, worker),
            Happening::End { call } => self.end(call),
            Happening::Executed { call } => {
                self.executed(call)?;
                progress(self.tally.answered);
            }
            Happening::Applied { call, worker } => {
                let call = CallId(call);
                self.tell(Event::Applied { call, worker })?;
            }
        }
        Ok(())
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
        let look_up = match plan.looked_up {
            true => self.settings.delays.look_up.draw(&mut self.messages),
            false => Nanos::ZERO,
        };
        let live = Live {
            plan,
            work,
            writes,
            worker: None,
            missing: 0,
            behind: Vec::new(),
            submitted: now,
            ready: now,
            began: now,
        };
        self.live.insert(call, live);
        self.agenda.after(look_up, Happening::Submit { call });
    }

    fn submit(&mut self, call: u64) -> Result<(), Error> {
        let grows = self.settings.placement == Placement::Chain
            && self.settings.workers == Workers::Unbounded;
        if grows && self.idle == 0 {
            self.join(1);
        }
        let now = self.agenda.now();
        let live = self.live.get_mut(&call).expect("it came");
        live.submitted = now;
        let (plan, writes) = (&live.plan, live.writes);
        let mut keys = match (writes, self.settings.policy) {
            (false, _) => Vec::new(),
            (true, Policy::Centralised) => vec![ConflictKey::new(ALL, Mode(0), &[])],
            (true, _) => plan.keys.clone(),
        };
        if self.mistake == Some(Mistake::KeyForgotten) && call.is_multiple_of(8) {
            keys.pop();
        }
        let access = match writes {
            true => Access::Update,
            false => Access::ReadOnly,
        };
        self.tell(Event::Submitted(Submission {
            access,
            ..Submission::new(CallId(call), keys)
        }))
    }

    /// One more worker, or as many as it has slots.
    fn join(&mut self, slots: u32) {
        let worker = WorkerId(self.loads.len() as u32);
        self.loads.push(0);
        self.idle += 1;
        let joined = Event::WorkerJoined {
            worker,
            slots,
            holds: Holds::Everything,
            freshness: Freshness::Current,
        };
        self.scheduler.handle(joined, &mut self.effects);
        assert!(
            self.effects.is_empty(),
            "no call waits for a worker to join"
        );
    }

    /// Tells the scheduler, and does what it answers.
    fn tell(&mut self, event: Event) -> Result<(), Error> {
        self.scheduler.handle(event, &mut self.effects);
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Queue { call, worker } => self.queued(call.0, worker),
                Effect::Run { call, worker } => {
                    let way = self.way();
                    let call = call.0;
                    self.agenda.after(way, Happening::Start { call, worker });
                }
                Effect::Apply { call, worker, .. } => {
                    let call = call.0;
                    let time = self.settings.delays.apply.draw(&mut self.messages);
                    let way = self.way();
                    self.agenda
                        .after(way + time, Happening::Applied { call, worker });
                }
                Effect::Answer { call } => self.tally.answered(call.0, self.agenda.now()),
                Effect::Refuse { call, .. } => return Err(Error::Refused(call.0)),
                Effect::Cancel { .. } | Effect::Kill { .. } => {
                    unreachable!("nobody cancels a call here")
                }
            }
        }
        self.effects = effects;
        Ok(())
    }

    fn way(&mut self) -> Nanos {
        self.settings.delays.site_worker.draw(&mut self.messages)
    }

    /// The call has its place and its worker.
    fn queued(&mut self, call: u64, worker: WorkerId) {
        let load = &mut self.loads[worker.0 as usize];
        self.idle -= u32::from(*load == 0);
        *load += 1;
        let now = self.agenda.now();
        let mut missing = 0;
        for before in self.scheduler.after(CallId(call)) {
            // With copies of their own, calls that have run are pending until their write sets are applied.
            if let Some(before) = self.live.get_mut(&before.0) {
                before.behind.push(call);
                missing += 1;
            }
        }
        let live = self.live.get_mut(&call).expect("it was submitted");
        live.worker = Some(worker);
        live.missing = missing;
        live.ready = now;
        match missing {
            0 => self.tally.for_worker.up(now),
            _ => self.tally.for_others.up(now),
        }
    }

    fn start(&mut self, call: u64, worker: WorkerId) {
        let now = self.agenda.now();
        let live = self.live.get_mut(&call).expect("it was queued");
        assert_eq!(live.worker, Some(worker), "a call runs where it is queued");
        assert_eq!(live.missing, 0, "call {call} runs after those before it");
        live.began = now;
        self.tally.for_worker.down(now);
        // The message's time is nobody's waiting.
        let waited = (now - live.ready).0.saturating_sub(self.way_at_most());
        self.tally.got_worker(Nanos(waited));
        self.tally.busy.up(now);
        let work = self.live[&call].work;
        self.agenda.after(work, Happening::End { call });
    }

    /// A message's time that is surely longer than any.
    fn way_at_most(&self) -> u64 {
        2 * Nanos::from_ms(self.settings.delays.site_worker.ms).0
    }

    fn end(&mut self, call: u64) {
        self.tally.busy.down(self.agenda.now());
        let way = self.way();
        self.agenda.after(way, Happening::Executed { call });
    }

    fn executed(&mut self, call: u64) -> Result<(), Error> {
        let now = self.agenda.now();
        let live = self.live.remove(&call).expect("it ran");
        let worker = live.worker.expect("it ran somewhere");
        let load = &mut self.loads[worker.0 as usize];
        *load -= 1;
        self.idle += u32::from(*load == 0);
        for behind in &live.behind {
            let behind = self.live.get_mut(behind).expect("it waits for this one");
            behind.missing -= 1;
            if behind.missing == 0 {
                behind.ready = now;
                self.tally.for_others.down(now);
                self.tally.for_worker.up(now);
                self.tally.waited_for_others += now - behind.submitted;
            }
        }
        let wrote = match live.writes {
            true => Wrote::Something,
            false => Wrote::Nothing,
        };
        if let Some(trace) = &mut self.trace {
            trace.push(Ran {
                call,
                plan: live.plan,
                began: live.began,
                ended: live.began + live.work,
                committed: true,
                snapshot: 0,
                position: 0,
            });
        }
        let call = CallId(call);
        self.tell(Event::Executed { call, wrote })
    }
}
