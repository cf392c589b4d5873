//! A world that plays workers at random and judges every step by the reference: all pairs of calls compared
//! with [`ConflictKey::meets`].
//!
//! Relies on: the scheduler's doors.  Promises: it finds a call that runs too early, too late, twice, never, at
//! a worker that is full or lacks its data, or is answered twice or never; a write set out of order.
//! Does not: know how the scheduler finds anything.

use quintet_base::conflict::{ConflictKey, Modes};
use quintet_chain::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What may happen. Numbers choose among what is possible.
#[derive(Clone, Debug)]
pub enum Step {
    Submit {
        keys: Vec<ConflictKey>,
        access: Access,
        guarantee: Guarantee,
        after: Option<usize>,
        cost: u32,
    },
    End {
        which: usize,
        wrote: Wrote,
    },
    Apply {
        which: usize,
    },
    Cancel {
        which: usize,
    },
    Lose {
        which: usize,
    },
    Join {
        slots: u32,
        behind: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Queued,
    Running,
    /// Ended, with its effects at these workers or on the way.
    Ended,
    Gone,
}

#[derive(Debug)]
struct Known {
    submission: Submission,
    life: Life,
    worker: Option<WorkerId>,
    /// Where its effects are missing.
    missing: BTreeSet<WorkerId>,
    wrote: Wrote,
    answers: u32,
    runs: u32,
    cancelled: bool,
    /// Which place it got, counted from 1; 0 for none yet.
    place: u64,
}

#[derive(Debug)]
struct Place {
    slots: u32,
    /// Write sets on their way here.
    coming: VecDeque<usize>,
    /// It has had all before this many calls were executed.
    behind: bool,
    last: Position,
}

pub struct World {
    scheduler: Scheduler,
    /// What the judge holds to be true.
    modes: Modes,
    copies: Copies,
    calls: Vec<Known>,
    /// By call: the earlier ones whose keys its own meet.
    meets: Vec<Vec<bool>>,
    places: BTreeMap<WorkerId, Place>,
    workers_made: u32,
    places_given: u64,
    order: Order,
}

impl World {
    /// A scheduler that is told one thing and judged by another; the same, but for planted mistakes.
    pub fn new(told: Config, judged_by: Config) -> World {
        World {
            copies: judged_by.copies,
            scheduler: Scheduler::new(told),
            modes: judged_by.modes,
            calls: Vec::new(),
            meets: Vec::new(),
            places: BTreeMap::new(),
            workers_made: 0,
            places_given: 0,
            order: judged_by.order,
        }
    }

    /// Plays the steps, then ends whatever is left.
    pub fn play(&mut self, steps: &[Step]) -> Result<(), String> {
        self.step(&Step::Join {
            slots: 1,
            behind: false,
        })?;
        for step in steps {
            self.step(step)?;
        }
        // A worker for those that have none, and for those that are all behind.
        self.step(&Step::Join {
            slots: 1,
            behind: false,
        })?;
        for round in 0.. {
            let running = self.all(Life::Running);
            let coming = self.places.values().any(|place| !place.coming.is_empty());
            match (running.first(), coming) {
                (Some(_), _) => self.step(&Step::End {
                    which: round,
                    wrote: Wrote::Something,
                })?,
                (None, true) => self.step(&Step::Apply { which: round })?,
                (None, false) => break,
            }
        }
        for (number, known) in self.calls.iter().enumerate() {
            let answers = u32::from(known.runs > 0);
            if known.life != Life::Gone || known.answers != answers {
                return Err(format!("call {number} never ended: {known:?}"));
            }
        }
        match self.scheduler.pending() {
            0 => Ok(()),
            pending => Err(format!("{pending} calls are left over")),
        }
    }

    fn all(&self, life: Life) -> Vec<usize> {
        let lives = self.calls.iter().enumerate();
        lives
            .filter(|(_, known)| known.life == life)
            .map(|(at, _)| at)
            .collect()
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let event = match step {
            Step::Submit {
                keys,
                access,
                guarantee,
                after,
                cost,
            } => {
                let number = self.calls.len();
                let after = match (after, number) {
                    (Some(after), 1..) => vec![CallId((after % number) as u64)],
                    _ => Vec::new(),
                };
                let submission = Submission {
                    access: *access,
                    guarantee: *guarantee,
                    after,
                    cost: *cost,
                    ..Submission::new(CallId(number as u64), keys.clone())
                };
                let updates = |of: &Submission| of.access == Access::Update;
                let meets = |before: &Known| {
                    let mut all = submission.keys.iter();
                    let of = &before.submission;
                    updates(&submission)
                        && updates(of)
                        && all.any(|key| of.keys.iter().any(|of| key.meets(of, &self.modes)))
                };
                self.meets.push(self.calls.iter().map(meets).collect());
                self.calls.push(Known {
                    submission: submission.clone(),
                    life: Life::Queued,
                    worker: None,
                    missing: BTreeSet::new(),
                    wrote: Wrote::Something,
                    answers: 0,
                    runs: 0,
                    cancelled: false,
                    place: match self.order {
                        Order::Arrival => number as u64 + 1,
                        Order::ShortestMakespan { .. } | Order::Soonest { .. } => 0,
                    },
                });
                Event::Submitted(submission)
            }
            Step::End { which, wrote } => {
                let running = self.all(Life::Running);
                let Some(number) = pick(&running, *which) else {
                    return Ok(());
                };
                let wrote = match self.calls[number].submission.access {
                    Access::ReadOnly => Wrote::Nothing,
                    Access::Update => *wrote,
                };
                self.end(number, wrote);
                Event::Executed {
                    call: CallId(number as u64),
                    wrote,
                }
            }
            Step::Apply { which } => {
                let places: Vec<WorkerId> = self
                    .places
                    .iter()
                    .filter(|(_, place)| !place.coming.is_empty())
                    .map(|(worker, _)| *worker)
                    .collect();
                let Some(worker) = pick(&places, *which) else {
                    return Ok(());
                };
                let place = self.places.get_mut(&worker).unwrap();
                let number = place.coming.pop_front().unwrap();
                self.arrive(number, worker);
                Event::Applied {
                    call: CallId(number as u64),
                    worker,
                }
            }
            Step::Cancel { which } => {
                let pending: Vec<usize> = self
                    .calls
                    .iter()
                    .enumerate()
                    .filter(|(_, known)| matches!(known.life, Life::Queued | Life::Running))
                    .map(|(at, _)| at)
                    .collect();
                let Some(number) = pick(&pending, *which) else {
                    return Ok(());
                };
                Event::Cancelled {
                    call: CallId(number as u64),
                }
            }
            Step::Lose { which } => {
                let places: Vec<WorkerId> = self.places.keys().copied().collect();
                let Some(worker) = pick(&places, *which) else {
                    return Ok(());
                };
                self.places.remove(&worker);
                for number in 0..self.calls.len() {
                    let known = &mut self.calls[number];
                    known.missing.remove(&worker);
                    if known.life == Life::Ended && known.missing.is_empty() {
                        known.life = Life::Gone;
                    }
                    if known.worker == Some(worker) && known.life == Life::Running {
                        known.life = Life::Queued;
                        known.runs -= 1;
                    }
                    if known.worker == Some(worker) && known.life == Life::Queued {
                        known.worker = None;
                    }
                }
                Event::WorkerLost { worker }
            }
            Step::Join { slots, behind } => {
                let worker = WorkerId(self.workers_made);
                self.workers_made += 1;
                self.places.insert(
                    worker,
                    Place {
                        slots: *slots,
                        coming: VecDeque::new(),
                        behind: *behind,
                        last: Position(0),
                    },
                );
                Event::WorkerJoined {
                    worker,
                    slots: *slots,
                    holds: Holds::Everything,
                    freshness: match behind {
                        true => Freshness::Behind,
                        false => Freshness::Current,
                    },
                }
            }
        };
        let mut effects = Vec::new();
        self.scheduler.handle(event, &mut effects);
        for effect in &effects {
            self.judge(effect)
                .map_err(|fault| format!("{fault}, by {effect:?} of {effects:?}"))?;
        }
        self.scheduler.check();
        self.judge_waits()
    }

    fn end(&mut self, number: usize, wrote: Wrote) {
        let own = self.calls[number].worker.unwrap();
        let causal = self.calls[number].submission.guarantee == Guarantee::Causal;
        let known = &mut self.calls[number];
        known.wrote = wrote;
        known.life = Life::Ended;
        if self.copies == Copies::PerWorker && wrote == Wrote::Something {
            for (worker, place) in &mut self.places {
                if *worker != own || !causal {
                    known.missing.insert(*worker);
                    place.coming.push_back(number);
                }
            }
        }
        if known.missing.is_empty() {
            known.life = Life::Gone;
        }
    }

    fn arrive(&mut self, number: usize, worker: WorkerId) {
        let known = &mut self.calls[number];
        known.missing.remove(&worker);
        if known.missing.is_empty() {
            known.life = Life::Gone;
        }
    }

    fn keys_meet(&self, one: usize, other: usize) -> bool {
        let (earlier, later) = (one.min(other), one.max(other));
        earlier != later && self.meets[later][earlier]
    }

    /// Earlier calls that a call may have to come after, itself.
    fn met(&self, number: usize) -> impl Iterator<Item = usize> + '_ {
        let Known {
            submission, place, ..
        } = &self.calls[number];
        (0..self.calls.len()).filter(move |other| {
            let Known {
                submission: before,
                place: its_place,
                ..
            } = &self.calls[*other];
            // Calls that were cancelled before they had a place have none to compare.
            let earlier = *its_place > 0 && its_place < place;
            let named = *other < number && submission.after.contains(&before.call);
            named || earlier && self.keys_meet(number, *other)
        })
    }

    fn judge(&mut self, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Queue { call, worker } => {
                let known = &mut self.calls[call.0 as usize];
                known.worker = Some(*worker);
                if known.place == 0 {
                    self.places_given += 1;
                    known.place = self.places_given;
                }
                if self.places[worker].behind {
                    return Err(format!("call {} at a worker that is behind", call.0));
                }
            }
            Effect::Run { call, worker } => {
                let number = call.0 as usize;
                if self.calls[number].life != Life::Queued {
                    return Err(format!("run twice: {:?}", self.calls[number]));
                }
                if self.calls[number].worker != Some(*worker) {
                    return Err(format!("run elsewhere: {:?}", self.calls[number]));
                }
                for other in self.met(number) {
                    let before = &self.calls[other];
                    let over = match before.life {
                        Life::Queued | Life::Running => false,
                        Life::Ended => !before.missing.contains(worker),
                        Life::Gone => true,
                    };
                    if !over {
                        return Err(format!("call {number} did not wait for call {other}"));
                    }
                }
                self.calls[number].life = Life::Running;
                self.calls[number].runs += 1;
                let running = self.all(Life::Running);
                let here = running
                    .iter()
                    .filter(|at| self.calls[**at].worker == Some(*worker));
                if here.count() as u32 > self.places[worker].slots {
                    return Err(format!("worker {} is full", worker.0));
                }
            }
            Effect::Apply {
                call,
                worker,
                position,
            } => {
                let place = self.places.get_mut(worker).unwrap();
                if place.last >= *position {
                    return Err(format!("{position:?} after {:?}", place.last));
                }
                place.last = *position;
                if !place.coming.contains(&(call.0 as usize)) {
                    return Err(format!("call {} is not on its way there", call.0));
                }
            }
            Effect::Answer { call } => {
                let known = &mut self.calls[call.0 as usize];
                known.answers += 1;
                let total = known.submission.guarantee == Guarantee::Total;
                let over = match known.wrote == Wrote::Something && total {
                    true => known.life == Life::Gone,
                    false => matches!(known.life, Life::Ended | Life::Gone),
                };
                if !over || known.answers > 1 {
                    return Err(format!("answered too early or twice: {known:?}"));
                }
            }
            Effect::Cancel { call } => {
                let known = &mut self.calls[call.0 as usize];
                known.cancelled = true;
                known.life = Life::Gone;
                known.wrote = Wrote::Nothing;
                if known.runs > 0 {
                    return Err(format!("cancelled while it ran: {known:?}"));
                }
            }
            Effect::Kill { call, worker } => {
                let known = &self.calls[call.0 as usize];
                if known.life != Life::Running || known.worker != Some(*worker) {
                    return Err(format!("killed and not running: {known:?}"));
                }
            }
            Effect::Refuse { call, .. } => return Err(format!("call {} is refused", call.0)),
        }
        Ok(())
    }

    /// Nobody waits without a reason: for a slot, or for a call that it meets and whose effects are not there.
    /// Behind a call that left nothing, or was cancelled, it may wait for what that one waits for, and for
    /// what is on its way.
    fn judge_waits(&self) -> Result<(), String> {
        let on_their_way = self.places.values().any(|place| !place.coming.is_empty());
        // What some call met, or those met, and so on. A call may name one that gets its place later.
        let met: Vec<Vec<usize>> = (0..self.calls.len())
            .map(|at| self.met(at).collect())
            .collect();
        let mut behind_void = vec![false; self.calls.len()];
        let mut behind_pending = vec![false; self.calls.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for number in 0..self.calls.len() {
                for other in &met[number] {
                    let before = &self.calls[*other];
                    let left_nothing = before.cancelled || before.wrote == Wrote::Nothing;
                    let void = behind_void[*other] || left_nothing;
                    let pending = behind_pending[*other] || before.life != Life::Gone;
                    changed |= void && !behind_void[number] || pending && !behind_pending[number];
                    behind_void[number] |= void;
                    behind_pending[number] |= pending;
                }
            }
        }
        for (number, known) in self.calls.iter().enumerate() {
            if known.life != Life::Queued {
                continue;
            }
            let Some(worker) = known.worker else {
                let some_worker = self.places.values().any(|place| !place.behind);
                let has_place = known.place > 0 || self.order == Order::Arrival;
                if some_worker && has_place {
                    return Err(format!("call {number} has no worker"));
                }
                let lingers = |other: usize| {
                    let left =
                        self.calls[other].cancelled || self.calls[other].wrote == Wrote::Nothing;
                    (left || behind_void[other]) && (behind_pending[other] || on_their_way)
                };
                if !has_place && self.could_begin(number, lingers) {
                    return Err(format!("call {number} is held for nobody"));
                }
                continue;
            };
            let missing = met[number].iter().any(|other| {
                let before = &self.calls[*other];
                match before.life {
                    Life::Queued | Life::Running => true,
                    Life::Ended => before.missing.contains(&worker),
                    Life::Gone => false,
                }
            });
            let running = self.all(Life::Running);
            let here = running
                .iter()
                .filter(|at| self.calls[**at].worker == Some(worker));
            let free = (here.count() as u32) < self.places[&worker].slots;
            let excuse = behind_void[number] && (behind_pending[number] || on_their_way);
            if free && !missing && !excuse {
                return Err(format!("call {number} waits for nobody"));
            }
        }
        Ok(())
    }
}

impl World {
    /// True if a call without a place should have begun: all that it meets and that has a place is over, some worker
    /// has the effects and a slot, and nobody older may claim to be waited for. What was cancelled may linger.
    fn could_begin(&self, number: usize, lingers: impl Fn(usize) -> bool) -> bool {
        let Order::Soonest { sample, .. } = self.order else {
            return false;
        };
        let known = &self.calls[number];
        let held = |at: &usize| self.calls[*at].place == 0 && self.calls[*at].life == Life::Queued;
        let older: Vec<usize> = (0..number).filter(held).collect();
        if known.submission.access == Access::ReadOnly || older.len() >= sample {
            return false;
        }
        let meets = |at: &usize| {
            let named = known.submission.after.contains(&CallId(*at as u64));
            named || self.keys_meet(number, *at)
        };
        if older.iter().any(meets) {
            return false;
        }
        let all = (0..self.calls.len()).filter(|at| *at != number && !held(at));
        let met: Vec<usize> = all.filter(meets).collect();
        let runs = |at: &usize| matches!(self.calls[*at].life, Life::Queued | Life::Running);
        // Many readers of a prefix may be joined, and waited for together.
        if met.len() > 16 || met.iter().any(|at| runs(at) || lingers(*at)) {
            return false;
        }
        self.places.iter().any(|(worker, place)| {
            let running = self.all(Life::Running).into_iter();
            let here = running.filter(|at| self.calls[*at].worker == Some(*worker));
            let there = |at: &usize| {
                let other = &self.calls[*at];
                other.life == Life::Gone || !other.missing.contains(worker)
            };
            !place.behind && (here.count() as u32) < place.slots && met.iter().all(there)
        })
    }
}

fn pick<T: Copy>(among: &[T], which: usize) -> Option<T> {
    (!among.is_empty()).then(|| among[which % among.len()])
}
