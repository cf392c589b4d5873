//! The queue engine: calls become queues of operations, one for each lane, and lanes run their queues in order.
//!
//! Relies on: `batches` for the order of planners' parts, for commit and recovery.  Promises: the outcome is that of
//! the calls one after the other, by batch, planner and arrival. Nothing is locked, nothing validated, and no call is
//! undone: what may refuse a call is run before its writes (conservative), and a value that is missing stops one
//! lane, not the node.  Does not: run lanes on several threads; a node that has several is several nodes.
//!
//! Why no lane waits for ever: of all operations not yet done take the least by batch, planner, call and place in the
//! call. Everything before it in its lane is less, so it is done; the values it needs are made by lesser ones of its
//! call, checks too (`Call::new`), so they were sent.
//!
//! Hot path: `run_lane`.

use crate::batches::{BatchFinish, Engine};
use crate::call::{Call, CallId, Datum, LockKey, NodeId, Operation, Slot};
use crate::execute::{execute, key_of, skipped};
use crate::message::{Context, Ending, Message, Passed, Plan, Queues};
use crate::node::{Effects, Map, NodeConfig, Store, Writes};
use crate::overlay::Overlay;
use std::collections::{BTreeMap, VecDeque};

/// A planner's part of a batch.
type PartId = (u64, NodeId);

/// See the header.
pub struct Lanes {
    me: NodeId,
    nodes: usize,
    epoch: u64,
    lanes: Vec<VecDeque<Fragment>>,
    /// Lanes that have something to do, each once.
    ready: VecDeque<usize>,
    is_ready: Vec<bool>,
    parts: Map<PartId, Admitted>,
    /// Operations not yet done, and parts not yet come, by batch.
    open: BTreeMap<u64, Open>,
    /// Values that came before the part they are for.
    early: Map<PartId, Vec<Passed>>,
    overlay: Overlay,
}

struct Fragment {
    part: PartId,
    context: u32,
    operation: Operation,
}

#[derive(Default)]
struct Open {
    operations: usize,
    parts: usize,
}

struct Admitted {
    contexts: Vec<Running>,
}

struct Running {
    context: Context,
    slots: Vec<Option<Datum>>,
    /// Lanes whose first operation waits for a value of this call.
    waiting: Vec<usize>,
}

impl Running {
    fn has(&self, slot: Slot) -> bool {
        self.slots
            .get(usize::from(slot))
            .is_some_and(Option::is_some)
    }

    /// Whether a check failed; `None` while one is missing.
    fn raised(&self) -> Option<bool> {
        let mut raised = false;
        for slot in &self.context.checks {
            match self.slots.get(usize::from(*slot))? {
                None => return None,
                Some(verdict) => raised |= *verdict != Datum::Int(1),
            }
        }
        Some(raised)
    }
}

impl Lanes {
    /// Empty queues.
    pub fn new(config: NodeConfig) -> Lanes {
        let lanes = config.lanes.max(1);
        Lanes {
            me: config.me,
            nodes: usize::from(config.nodes),
            epoch: 0,
            lanes: (0..lanes).map(|_| VecDeque::new()).collect(),
            ready: VecDeque::new(),
            is_ready: vec![false; lanes],
            parts: Map::default(),
            open: BTreeMap::new(),
            early: Map::default(),
            overlay: Overlay::default(),
        }
    }

    fn lane_of(&self, key: LockKey) -> usize {
        let mixed = (key.1 ^ u64::from(key.0) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 32) as usize % self.lanes.len()
    }

    fn wake(&mut self, lane: usize) {
        if !std::mem::replace(&mut self.is_ready[lane], true) {
            self.ready.push_back(lane);
        }
    }

    fn deliver(&mut self, part: PartId, value: Passed) {
        let Some(admitted) = self.parts.get_mut(&part) else {
            self.early.entry(part).or_default().push(value);
            return;
        };
        // Peers are checked, not trusted: what does not fit is dropped.
        let Some(running) = admitted.contexts.get_mut(value.context as usize) else {
            return;
        };
        let Some(place) = running.slots.get_mut(usize::from(value.slot)) else {
            return;
        };
        *place = Some(value.value);
        for lane in std::mem::take(&mut running.waiting) {
            self.wake(lane);
        }
    }

    /// Runs a lane until it is empty or waits; returns how many operations that were.
    fn run_lane(
        &mut self,
        lane: usize,
        store: &mut dyn Store,
        values: &mut BTreeMap<(NodeId, u64), Vec<Passed>>,
        budget: usize,
    ) -> usize {
        let mut ran = 0;
        while ran < budget {
            let Some(fragment) = self.lanes[lane].front() else {
                return ran;
            };
            let part = fragment.part;
            let admitted = self.parts.get_mut(&part).expect("queued: its part is in");
            let running = &mut admitted.contexts[fragment.context as usize];
            let operation = &fragment.operation;
            let mut missing = false;
            operation.action.needs(|slot| missing |= !running.has(slot));
            let verdict = match operation.action.writes() {
                true => running.raised(),
                false => Some(false),
            };
            let (Some(raised), false) = (verdict, missing) else {
                running.waiting.push(lane);
                return ran;
            };
            let made = if raised {
                skipped(operation)
            } else {
                let key = key_of(operation, &running.slots);
                let record = self.overlay.read(part.0, key, store);
                let done = execute(operation, record.map(Vec::as_slice), &running.slots);
                if let Some(record) = done.write {
                    self.overlay.write(part.0, key, record, store);
                }
                done.made
            };
            let is_new = !made.is_empty();
            for (slot, value) in made {
                for (_, node, context) in running.context.deliver.iter().filter(|d| d.0 == slot) {
                    values.entry((*node, part.0)).or_default().push(Passed {
                        planner: part.1,
                        context: *context,
                        slot,
                        value: value.clone(),
                    });
                }
                running.slots[usize::from(slot)] = Some(value);
            }
            let woken = match is_new {
                true => std::mem::take(&mut running.waiting),
                false => Vec::new(),
            };
            for other in woken {
                self.wake(other);
            }
            self.lanes[lane].pop_front();
            let open = self
                .open
                .get_mut(&part.0)
                .expect("queued: its batch is open");
            open.operations -= 1;
            ran += 1;
        }
        if !self.lanes[lane].is_empty() {
            self.wake(lane);
        }
        ran
    }
}

impl Engine for Lanes {
    fn plan(&mut self, calls: &[(CallId, Call)], effects: &mut Effects) -> Vec<Plan> {
        let lanes = self.lanes.len();
        let empty = || Queues {
            contexts: Vec::new(),
            lanes: vec![Vec::new(); lanes],
        };
        let mut plans: Vec<Queues> = (0..self.nodes).map(|_| empty()).collect();
        for (number, (_, call)) in calls.iter().enumerate() {
            effects.work.planned += call.operations().len() as u64;
            let nodes = call.nodes();
            for node in &nodes {
                plans[node.index()].contexts.push(Context {
                    number: number as u32,
                    slots: call.slots(),
                    checks: call.checks().to_vec(),
                    deliver: Vec::new(),
                    answers: Vec::new(),
                });
            }
            // Who makes a slot, and who has been told that it will get it.
            let mut maker = vec![NodeId(0); usize::from(call.slots())];
            let mut writers: Vec<NodeId> = Vec::new();
            let mut needs: Vec<(Slot, NodeId)> = Vec::new();
            for (node, operation) in call.operations() {
                for slot in operation.action.makes() {
                    maker[usize::from(slot)] = *node;
                }
                if nodes.len() > 1 {
                    operation.action.needs(|slot| needs.push((slot, *node)));
                    if operation.action.writes() && !writers.contains(node) {
                        writers.push(*node);
                    }
                }
                let context = plans[node.index()].contexts.len() as u32 - 1;
                let lane = self.lane_of(operation.key.lock());
                plans[node.index()].lanes[lane].push((context, operation.clone()));
            }
            for check in call.checks() {
                needs.extend(writers.iter().map(|node| (*check, *node)));
            }
            needs.sort_unstable();
            needs.dedup();
            for (slot, node) in needs {
                let from = maker[usize::from(slot)];
                if from != node {
                    let context = plans[node.index()].contexts.len() as u32 - 1;
                    let last = plans[from.index()].contexts.last_mut();
                    let last = last.expect("the maker has operations of the call");
                    last.deliver.push((slot, node, context));
                }
            }
            for (place, slot) in call.answers().iter().enumerate() {
                let from = maker[usize::from(*slot)];
                let last = plans[from.index()].contexts.last_mut();
                let last = last.expect("the maker has operations of the call");
                last.answers.push((place as u16, *slot));
            }
        }
        plans.into_iter().map(Plan::Queues).collect()
    }

    fn admit(
        &mut self,
        epoch: u64,
        batch: u64,
        planner: NodeId,
        plan: Plan,
        store: &mut dyn Store,
    ) {
        self.epoch = epoch;
        let queues = match plan {
            Plan::Queues(queues) => queues,
            Plan::Parts(_) => Queues::default(),
        };
        let part = (batch, planner);
        let keys = queues.lanes.iter().flatten();
        let keys = keys.filter(|(_, operation)| operation.key_is_known());
        self.overlay
            .fetch(batch, keys.map(|(_, operation)| operation.key), store);
        let contexts = queues.contexts.into_iter().map(|context| Running {
            slots: vec![None; usize::from(context.slots)],
            context,
            waiting: Vec::new(),
        });
        let contexts = contexts.collect();
        self.parts.insert(part, Admitted { contexts });
        let open = self.open.entry(batch).or_default();
        open.parts += 1;
        for (lane, queue) in queues.lanes.into_iter().enumerate() {
            if queue.is_empty() || lane >= self.lanes.len() {
                continue;
            }
            open.operations += queue.len();
            let fragments = queue.into_iter().map(|(context, operation)| Fragment {
                part,
                context,
                operation,
            });
            let was_empty = self.lanes[lane].is_empty();
            self.lanes[lane].extend(fragments);
            if was_empty && !std::mem::replace(&mut self.is_ready[lane], true) {
                self.ready.push_back(lane);
            }
        }
        for value in self.early.remove(&part).into_iter().flatten() {
            self.deliver(part, value);
        }
    }

    fn message(
        &mut self,
        _from: NodeId,
        message: Message,
        _store: &mut dyn Store,
        _effects: &mut Effects,
    ) {
        if let Message::Values { batch, values, .. } = message {
            for value in values {
                self.deliver((batch, value.planner), value);
            }
        }
    }

    fn turn(&mut self, mut budget: usize, store: &mut dyn Store, effects: &mut Effects) -> bool {
        let mut values = BTreeMap::new();
        while budget > 0 {
            let Some(lane) = self.ready.pop_front() else {
                break;
            };
            self.is_ready[lane] = false;
            let ran = self.run_lane(lane, store, &mut values, budget);
            effects.work.executed += ran as u64;
            budget -= ran;
        }
        for ((node, batch), values) in values {
            let epoch = self.epoch;
            effects.sends.push((
                node,
                Message::Values {
                    epoch,
                    batch,
                    values,
                },
            ));
        }
        effects.work.fetched += self.overlay.take_fetched();
        !self.ready.is_empty()
    }

    fn finish(&mut self, batch: u64) -> Option<BatchFinish> {
        let open = self.open.get(&batch)?;
        if open.parts < self.nodes || open.operations > 0 {
            return None;
        }
        self.open.remove(&batch);
        let finished = self.overlay.finish(batch);
        let mut endings = Vec::with_capacity(self.nodes);
        for planner in 0..self.nodes {
            let part = self.parts.remove(&(batch, NodeId(planner as u16)));
            let contexts = part.into_iter().flat_map(|part| part.contexts);
            endings.push(contexts.filter_map(ending).collect());
        }
        Some(BatchFinish {
            writes: Writes {
                records: finished.records,
                notes: Vec::new(),
            },
            undo: finished.undo,
            endings,
        })
    }

    fn logged(&mut self, batch: u64) {
        self.overlay.forget(batch);
    }

    fn reset(&mut self) {
        let me = self.me;
        let mut config = NodeConfig::new(me, self.nodes as u16);
        config.lanes = self.lanes.len();
        *self = Lanes::new(config);
    }
}

/// What the planner is told of a call; `None` if there is nothing to tell.
fn ending(running: Running) -> Option<Ending> {
    let slots = &running.slots;
    // Only checks made here, or told because something is written here, are known.
    let known = running.context.checks.iter();
    let mut verdicts = known.filter_map(|slot| slots[usize::from(*slot)].as_ref());
    let raised = verdicts.any(|verdict| *verdict != Datum::Int(1));
    let answers = running.context.answers.iter();
    let answers: Vec<(u16, Datum)> = answers
        .map(|(place, slot)| {
            let value = slots[usize::from(*slot)].clone();
            (*place, value.unwrap_or(Datum::Null))
        })
        .collect();
    let number = running.context.number;
    (raised || !answers.is_empty()).then_some(Ending {
        number,
        raised,
        answers,
    })
}
