//! The calls a scheduler knows, and which of them come directly after which.
//!
//! Relies on: nothing.  Promises: a place in the table is used again, with its memory, once its call is
//! gone; a [`Ref`] to a call that is gone is known as such.  Does not: decide anything.

use crate::call::{Access, CallId, Guarantee, WorkerId};
use crate::set::Set;
use hashbrown::HashTable;
use quintet_base::conflict::ConflictKey;

/// No call, no worker, no link.
pub(crate) const NONE: u32 = u32::MAX;

/// A call, as long as it is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ref {
    pub slot: u32,
    generation: u32,
}

/// How far a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// No call is here.
    Free,
    /// It has no place among the others yet.
    Held,
    /// It has its place among the others, but no worker: none is there that could run it.
    Homeless,
    /// Something that it comes after is missing at its worker.
    Waiting,
    /// Nothing is missing; all slots of its worker are taken.
    Ready,
    /// Its worker has been told to run it.
    Running,
    /// It has ended; some workers lack its effects.
    Spreading,
}

/// A call.
#[derive(Debug)]
pub(crate) struct Call {
    pub id: CallId,
    generation: u32,
    pub state: State,
    pub access: Access,
    pub guarantee: Guarantee,
    /// It holds a place in the order and is not run: cancelled before it began, or never a call at all.
    pub void: bool,
    /// Cancelled while it runs, and not heard of since.
    pub killed: bool,
    /// A later call of its chain is queued at its worker.
    pub extended: bool,
    pub cost: u32,
    pub arrival: u64,
    /// Its place in the order.
    pub sequence: u64,
    /// When it will be done, by estimate, on the scheduler's own scale of cost.
    pub done_at: u64,
    pub worker: u32,
    /// The only worker that it may run at.
    pub pinned: Option<WorkerId>,
    /// How many of `before` are missing at `worker`; counts while it is waiting.
    pub waits: u32,
    pub keys: Vec<ConflictKey>,
    /// What it comes directly after.
    pub before: Vec<Ref>,
    /// What comes directly after it.
    pub behind: Vec<Ref>,
    /// Workers that lack its effects; counts while it is spreading.
    pub missing: Set,
    /// Its first registration in the index.
    pub links: u32,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    slots: Vec<Call>,
    free: Vec<u32>,
    by_id: HashTable<u32>,
    known: usize,
    /// The last search that found each. Apart, because a search looks at many that it has found already.
    marks: Vec<u64>,
}

impl Calls {
    /// How many calls are known, those not counted that hold a place only.
    pub fn len(&self) -> usize {
        self.known
    }

    /// Where a call of a client is.
    pub fn find(&self, id: CallId) -> Option<u32> {
        let slots = &self.slots;
        self.by_id
            .find(spread(id.0), |slot| slots[*slot as usize].id == id)
            .copied()
    }

    /// Takes in a call of a client.
    pub fn add(&mut self, id: CallId) -> u32 {
        let slot = self.add_void();
        let call = &mut self.slots[slot as usize];
        (call.id, call.void) = (id, false);
        let slots = &self.slots;
        self.by_id.insert_unique(spread(id.0), slot, |slot| {
            spread(slots[*slot as usize].id.0)
        });
        self.known += 1;
        slot
    }

    /// Takes in what holds a place only.
    pub fn add_void(&mut self) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Call::empty());
            self.marks.push(0);
            (self.slots.len() - 1) as u32
        });
        let call = &mut self.slots[slot as usize];
        call.state = State::Homeless;
        call.void = true;
        slot
    }

    /// What is here holds a place from now on and nothing else; its number may come again. Nobody runs it any
    /// more, so nobody is about to stop it either.
    pub fn make_void(&mut self, slot: u32) {
        self.forget_id(slot);
        let call = &mut self.slots[slot as usize];
        (call.void, call.killed) = (true, false);
    }

    /// Lets go of a call whose effects are everywhere.
    pub fn remove(&mut self, slot: u32) {
        self.forget_id(slot);
        self.slots[slot as usize].clear();
        self.free.push(slot);
    }

    fn forget_id(&mut self, slot: u32) {
        let id = std::mem::replace(&mut self.slots[slot as usize].id, NOBODY);
        let by_id = self.by_id.find_entry(spread(id.0), |at| *at == slot);
        if let Ok(entry) = by_id {
            entry.remove();
            self.known -= 1;
        }
    }

    /// Marks a call as found by a search; true if it was not yet.
    pub fn mark(&mut self, slot: u32, search: u64) -> bool {
        std::mem::replace(&mut self.marks[slot as usize], search) != search
    }

    /// The call that is here now.
    pub fn refer(&self, slot: u32) -> Ref {
        let generation = self.slots[slot as usize].generation;
        Ref { slot, generation }
    }

    /// The call, if it is still here.
    pub fn get(&self, of: Ref) -> Option<&Call> {
        let call = &self.slots[of.slot as usize];
        (call.generation == of.generation).then_some(call)
    }

    /// Puts one after another. Both are here.
    pub fn link(&mut self, before: u32, behind: u32) {
        let (of_before, of_behind) = (self.refer(before), self.refer(behind));
        self[before].behind.push(of_behind);
        self[behind].before.push(of_before);
    }

    /// Every call, by where it is.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Call)> {
        let slots = self.slots.iter().enumerate();
        slots
            .filter(|(_, call)| call.state != State::Free)
            .map(|(slot, call)| (slot as u32, call))
    }
}

impl std::ops::Index<u32> for Calls {
    type Output = Call;

    fn index(&self, slot: u32) -> &Call {
        &self.slots[slot as usize]
    }
}

impl std::ops::IndexMut<u32> for Calls {
    fn index_mut(&mut self, slot: u32) -> &mut Call {
        &mut self.slots[slot as usize]
    }
}

/// The number of what is no call of a client.
const NOBODY: CallId = CallId(u64::MAX);

impl Call {
    fn empty() -> Call {
        Call {
            id: NOBODY,
            generation: 0,
            state: State::Free,
            access: Access::Update,
            guarantee: Guarantee::Causal,
            void: false,
            killed: false,
            extended: false,
            cost: 0,
            arrival: 0,
            sequence: 0,
            done_at: 0,
            worker: NONE,
            pinned: None,
            waits: 0,
            keys: Vec::new(),
            before: Vec::new(),
            behind: Vec::new(),
            missing: Set::default(),
            links: NONE,
        }
    }

    /// Empties it; lists keep their memory.
    fn clear(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.state = State::Free;
        (self.void, self.killed, self.extended) = (false, false, false);
        self.worker = NONE;
        self.pinned = None;
        self.done_at = 0;
        self.keys = Vec::new();
        self.before.clear();
        self.behind.clear();
        self.missing.clear();
        assert_eq!(self.links, NONE, "the index has forgotten it");
    }
}

/// Numbers that clients count up spread over a table.
fn spread(number: u64) -> u64 {
    let product = u128::from(number ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
    (product >> 64) as u64 ^ product as u64
}
