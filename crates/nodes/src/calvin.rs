//! Calvin (Thomson et al., SIGMOD 2012): calls get their locks in the order of the sequence, and every node that writes
//! for a call hears from all its other nodes before it does.
//!
//! Relies on: `batches` for sequence, commit and recovery, which it shares with the queues, undo instead of replay of
//! inputs included.  Promises: as `lanes`.  Does not: reconnoitre; groups are known before a call runs.
//!
//! Differences from the paper, all in its favour: sequencers close a batch when there is room instead of every 10 ms
//! (`BatchSize::Full` has the published way); a node gets its own part of a call instead of the whole; reads that nobody
//! needs are not sent along, only that they are done.
//!
//! ```text
//!   admitted ─► locks asked for, in order ─► all granted: runs ─Reads► nodes that write ─► all heard: writes, unlocks
//! ```

use crate::batches::{BatchFinish, Engine};
use crate::call::{Call, CallId, Datum, LockKey, NodeId, Slot};
use crate::message::{Ending, Message, Part, Plan};
use crate::node::{Effects, Map, NodeConfig, Store, Writes};
use crate::overlay::Overlay;
use crate::run::{Run, locks_of, parts_of};
use std::collections::{BTreeMap, VecDeque};

/// Batch, planner, number.
type Name = (u64, NodeId, u32);

/// See the header.
pub struct Calvin {
    config: NodeConfig,
    epoch: u64,
    /// In the order of the sequence.
    calls: Map<u64, Sequenced>,
    names: Map<Name, u64>,
    next: u64,
    locks: Map<LockKey, VecDeque<(u64, bool)>>,
    /// Calls that can go on.
    ready: VecDeque<u64>,
    early: Map<Name, Vec<Heard>>,
    open: BTreeMap<u64, Open>,
    overlay: Overlay,
    asked: u64,
}

struct Sequenced {
    name: Name,
    part: Part,
    run: Run,
    locks: Vec<(LockKey, bool)>,
    missing: usize,
    /// Other nodes of the call that have not said their last.
    unheard: Vec<NodeId>,
    raised_elsewhere: bool,
    has_said_last: bool,
    writes: bool,
}

struct Heard {
    from: NodeId,
    raised: bool,
    last: bool,
    values: Vec<(Slot, Datum)>,
}

#[derive(Default)]
struct Open {
    parts: usize,
    calls: usize,
    endings: Vec<Vec<Ending>>,
}

impl Calvin {
    /// Nothing sequenced.
    pub fn new(config: NodeConfig) -> Calvin {
        Calvin {
            config,
            epoch: 0,
            calls: Map::default(),
            names: Map::default(),
            next: 0,
            locks: Map::default(),
            ready: VecDeque::new(),
            early: Map::default(),
            open: BTreeMap::new(),
            overlay: Overlay::default(),
            asked: 0,
        }
    }

    fn hear(&mut self, id: u64, heard: Heard) {
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        for (slot, value) in heard.values {
            call.run.put(slot, value);
        }
        call.raised_elsewhere |= heard.raised;
        if heard.last {
            call.unheard.retain(|node| *node != heard.from);
        }
        if call.missing == 0 {
            self.ready.push_back(id);
        }
    }

    /// Goes on with a call that has its locks; returns how many operations that were.
    fn step(&mut self, id: u64, store: &mut dyn Store, effects: &mut Effects) -> u64 {
        let Some(call) = self.calls.get_mut(&id) else {
            return 0;
        };
        let (batch, planner, number) = call.name;
        let overlay = &mut self.overlay;
        let ran = call
            .run
            .advance(|key| overlay.read(batch, *key, store).cloned());
        let is_over = call.run.is_over() || call.raised_elsewhere;
        let made = call.run.take_made();
        let says_last = is_over && !call.has_said_last;
        for (node, writes) in &call.part.nodes {
            let needs = || call.part.deliver.iter().any(|(_, to)| to == node);
            if *node == self.config.me || call.has_said_last || !(*writes || needs()) {
                continue;
            }
            let wanted = |slot: &Slot| call.part.deliver.contains(&(*slot, *node));
            let values: Vec<_> = made.iter().filter(|m| wanted(&m.0)).cloned().collect();
            if values.is_empty() && !says_last {
                continue;
            }
            let reads = Message::Reads {
                epoch: self.epoch,
                batch,
                planner,
                number,
                raised: call.run.raised(),
                last: says_last,
                values,
            };
            effects.sends.push((*node, reads));
        }
        call.has_said_last |= says_last;
        if is_over && (!call.writes || call.unheard.is_empty()) {
            self.end(id, store);
        }
        ran
    }

    fn end(&mut self, id: u64, store: &mut dyn Store) {
        let call = self.calls.remove(&id).expect("it has just run");
        self.names.remove(&call.name);
        let (batch, planner, number) = call.name;
        let raised = call.run.raised() || call.raised_elsewhere;
        let answers = match raised {
            true => Vec::new(),
            false => call.run.answers(&call.part.answers),
        };
        let open = self.open.get_mut(&batch).expect("its batch is open");
        open.calls -= 1;
        if raised || !answers.is_empty() {
            open.endings[planner.index()].push(Ending {
                number,
                raised,
                answers,
            });
        }
        if !raised {
            for (key, record) in call.run.into_writes() {
                self.overlay.write(batch, key, record, store);
            }
        }
        for (key, _) in &call.locks {
            self.release(*key, id);
        }
    }

    fn release(&mut self, key: LockKey, id: u64) {
        let Some(queue) = self.locks.get_mut(&key) else {
            return;
        };
        let held = granted(queue);
        queue.retain(|(other, _)| *other != id);
        if queue.is_empty() {
            self.locks.remove(&key);
            return;
        }
        // One fewer before them: those that are granted now and were not.
        let now = granted(queue);
        let newly: Vec<u64> = queue
            .iter()
            .take(now)
            .skip(held - 1)
            .map(|(id, _)| *id)
            .collect();
        for id in newly {
            self.grant(id);
        }
    }

    fn grant(&mut self, id: u64) {
        let call = self.calls.get_mut(&id).expect("it waits for a lock");
        call.missing -= 1;
        if call.missing == 0 {
            self.ready.push_back(id);
        }
    }
}

/// How many at the head of a lock's queue hold it.
fn granted(queue: &VecDeque<(u64, bool)>) -> usize {
    let shared = queue.iter().take_while(|(_, exclusive)| !exclusive).count();
    shared.max(1).min(queue.len())
}

impl Engine for Calvin {
    fn plan(&mut self, calls: &[(CallId, Call)], effects: &mut Effects) -> Vec<Plan> {
        let mut plans: Vec<Vec<Part>> = vec![Vec::new(); usize::from(self.config.nodes)];
        for (number, (_, call)) in calls.iter().enumerate() {
            effects.work.planned += call.operations().len() as u64;
            for (node, part) in parts_of(number as u32, call) {
                plans[node.index()].push(part);
            }
        }
        plans.into_iter().map(Plan::Parts).collect()
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
        let parts = match plan {
            Plan::Parts(parts) => parts,
            Plan::Queues(_) => Vec::new(),
        };
        let keys = parts.iter().flat_map(|part| &part.operations);
        let keys = keys.filter(|operation| operation.key_is_known());
        self.overlay
            .fetch(batch, keys.map(|operation| operation.key), store);
        let nodes = usize::from(self.config.nodes);
        let open = self.open.entry(batch).or_default();
        open.parts += 1;
        open.calls += parts.len();
        open.endings.resize(nodes, Vec::new());
        for mut part in parts {
            let id = self.next;
            self.next += 1;
            let name = (batch, planner, part.number);
            let locks = locks_of(&part.operations);
            let me = self.config.me;
            let unheard = part.nodes.iter().map(|(node, _)| *node);
            let unheard = unheard.filter(|node| *node != me).collect();
            let call = Sequenced {
                name,
                run: Run::new(&mut part),
                missing: locks.len(),
                unheard,
                raised_elsewhere: false,
                has_said_last: false,
                writes: locks.iter().any(|(_, writes)| *writes),
                locks,
                part,
            };
            let locks = call.locks.clone();
            self.asked += locks.len() as u64;
            self.calls.insert(id, call);
            if locks.is_empty() {
                self.ready.push_back(id);
            }
            for (key, exclusive) in locks {
                let queue = self.locks.entry(key).or_default();
                queue.push_back((id, exclusive));
                if granted(queue) == queue.len() {
                    self.grant(id);
                }
            }
            if self.config.nodes > 1 {
                self.names.insert(name, id);
                for heard in self.early.remove(&name).into_iter().flatten() {
                    self.hear(id, heard);
                }
            }
        }
    }

    fn message(
        &mut self,
        from: NodeId,
        message: Message,
        _store: &mut dyn Store,
        _effects: &mut Effects,
    ) {
        if let Message::Reads {
            batch,
            planner,
            number,
            raised,
            last,
            values,
            ..
        } = message
        {
            let name = (batch, planner, number);
            let heard = Heard {
                from,
                raised,
                last,
                values,
            };
            match self.names.get(&name) {
                Some(id) => self.hear(*id, heard),
                // Its part has not come, or it ended because another node raised it.
                None => self.early.entry(name).or_default().push(heard),
            }
        }
    }

    fn turn(&mut self, budget: usize, store: &mut dyn Store, effects: &mut Effects) -> bool {
        effects.work.locks += std::mem::take(&mut self.asked);
        let mut ran = 0;
        while ran < budget as u64 {
            let Some(id) = self.ready.pop_front() else {
                break;
            };
            effects.work.runs += 1;
            let now = self.step(id, store, effects);
            effects.work.executed += now;
            ran += now.max(1);
        }
        effects.work.fetched += self.overlay.take_fetched();
        !self.ready.is_empty()
    }

    fn finish(&mut self, batch: u64) -> Option<BatchFinish> {
        let open = self.open.get(&batch)?;
        if open.parts < usize::from(self.config.nodes) || open.calls > 0 {
            return None;
        }
        let open = self.open.remove(&batch)?;
        self.early.retain(|name, _| name.0 > batch);
        let finished = self.overlay.finish(batch);
        Some(BatchFinish {
            writes: Writes {
                records: finished.records,
                notes: Vec::new(),
            },
            undo: finished.undo,
            endings: open.endings,
        })
    }

    fn logged(&mut self, batch: u64) {
        self.overlay.forget(batch);
    }

    fn reset(&mut self) {
        *self = Calvin::new(self.config);
    }
}
