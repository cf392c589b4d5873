//! What nodes say to one another.
//!
//! Relies on: serde and postcard for bytes.  Promises: [`decode`] refuses what is not a message and never
//! panics on it.  Does not: frame messages (drivers do).
//!
//! | message | engines | how many |
//! |---|---|---|
//! | `Hello` | queue, calvin | one to each node when a connection is made anew |
//! | `Plan` | queue, calvin | one of each planner to each other node, for each batch, empty ones too |
//! | `Values` | queue | one to a node for each turn in which values for it were made |
//! | `Reads` | calvin | one for each call, from each of its nodes to each other one |
//! | `Done` | queue, calvin | one of each node to each other, for each batch: logged, and the answers |
//! | `Execute`, `Voted`, `Prepare`, `Decide`, `Acked` | two-phase | for each call and each of its other nodes |
//! | `Pass` | two-phase | for each call and pair of nodes that passes a value |
//! | `Inquire` | two-phase | for each call in doubt after a crash |
//! | `Forward`, `Answered` | serial | for each call of several partitions that another node coordinates |

use crate::call::{Call, CallId, Datum, NodeId, Operation, Outcome, Slot};
use serde::{Deserialize, Serialize};

/// Where a node's log ends; for the agreement after a crash (`batches`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The epoch that the sender wants to begin.
    pub epoch: u64,
    /// The epoch of its log's last record.
    pub log_epoch: u64,
    /// The batch that epoch began after.
    pub base: u64,
    /// Its last durable batch.
    pub logged: u64,
    /// Its last batch that a crash cannot take back.
    pub synced: u64,
}

/// What a planner gives one node of one batch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Plan {
    /// Of the queue engine.
    Queues(Queues),
    /// Of Calvin.
    Parts(Vec<Part>),
}

/// Queues shipped whole.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Queues {
    /// Calls that have operations at the node.
    pub contexts: Vec<Context>,
    /// By lane, in order: the context's index, and the operation.
    pub lanes: Vec<Vec<(u32, Operation)>>,
}

/// What a node knows of a call while it runs operations of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Context {
    /// Its number in the planner's batch.
    pub number: u32,
    /// How many slots it has.
    pub slots: u16,
    /// Its checks, here and elsewhere; all must be there before it writes.
    pub checks: Vec<Slot>,
    /// Slots made here that others need, and which context it is there.
    pub deliver: Vec<(Slot, NodeId, u32)>,
    /// Slots made here that the client gets: which answer, which slot.
    pub answers: Vec<(u16, Slot)>,
}

/// A call's operations at one node, where the call is run as one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Its number in the planner's batch.
    pub number: u32,
    /// How many slots it has.
    pub slots: u16,
    /// Its operations here.
    pub operations: Vec<Operation>,
    /// All its nodes, and whether they write.
    pub nodes: Vec<(NodeId, bool)>,
    /// Slots made here that others need.
    pub deliver: Vec<(Slot, NodeId)>,
    /// Slots made here that the client gets.
    pub answers: Vec<(u16, Slot)>,
}

/// A value for a context of a batch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Passed {
    /// Who planned it.
    pub planner: NodeId,
    /// Which context of it at the node that gets this.
    pub context: u32,
    /// Which slot.
    pub slot: Slot,
    /// The value.
    pub value: Datum,
}

/// What a node knows of the end of a call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ending {
    /// Its number in the planner's batch.
    pub number: u32,
    /// One of its checks failed.
    pub raised: bool,
    /// Answers made there.
    pub answers: Vec<(u16, Datum)>,
}

/// A call under two-phase commit: its coordinator, and that one's number for the attempt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// Who decides.
    pub coordinator: NodeId,
    /// Never used twice by it.
    pub number: u64,
}

/// What a participant says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Vote {
    /// It ran; with prepare-at-once it is prepared. The answers made there.
    Yes(Vec<(u16, Datum)>),
    /// It lost to another call; run it again.
    Conflict,
    /// A check failed.
    Raised,
}

/// From node to node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Message {
    /// After a connection was made anew.
    Hello(Hello),
    /// A planner's part of a batch.
    Plan {
        /// In which epoch.
        epoch: u64,
        /// Of which batch.
        batch: u64,
        /// What.
        plan: Plan,
    },
    /// Values made by fragments.
    Values {
        /// In which epoch.
        epoch: u64,
        /// Of which batch.
        batch: u64,
        /// The values.
        values: Vec<Passed>,
    },
    /// What a participant of a call read.
    Reads {
        /// In which epoch.
        epoch: u64,
        /// Of which batch.
        batch: u64,
        /// Who planned it.
        planner: NodeId,
        /// Which call.
        number: u32,
        /// A check failed there.
        raised: bool,
        /// Nothing follows of this call from this node.
        last: bool,
        /// The values.
        values: Vec<(Slot, Datum)>,
    },
    /// A node has logged a batch.
    Done {
        /// In which epoch.
        epoch: u64,
        /// Which batch.
        batch: u64,
        /// The last batch that a crash there cannot take back; under `async` that is an earlier one.
        synced: u64,
        /// What became of the receiver's calls there.
        endings: Vec<Ending>,
    },
    /// Run this.
    Execute {
        /// Which call.
        attempt: Attempt,
        /// Its part there.
        part: Part,
        /// And prepare it, too.
        prepare: bool,
    },
    /// Values made by a participant.
    Pass {
        /// Which call.
        attempt: Attempt,
        /// The values.
        values: Vec<(Slot, Datum)>,
    },
    /// What a participant says.
    Voted {
        /// Which call.
        attempt: Attempt,
        /// What.
        vote: Vote,
    },
    /// Validate, and promise.
    Prepare {
        /// Which call.
        attempt: Attempt,
    },
    /// The end of a call.
    Decide {
        /// Which call.
        attempt: Attempt,
        /// Whether it took place.
        commit: bool,
    },
    /// A decision to commit is durable there.
    Acked {
        /// Which call.
        attempt: Attempt,
    },
    /// What became of a call?
    Inquire {
        /// Which call.
        attempt: Attempt,
    },
    /// A call for another coordinator.
    Forward {
        /// As the sender names it.
        id: CallId,
        /// The call.
        call: Call,
    },
    /// What became of it.
    Answered {
        /// As the receiver names it.
        id: CallId,
        /// How it ended.
        outcome: Outcome,
    },
}

/// A message, or several, as bytes.
pub fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    postcard::to_stdvec(message).expect("plain data can always be written")
}

/// Bytes as a message.
///
/// # Errors
/// They are none, or something follows.
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, postcard::Error> {
    let (message, rest) = postcard::take_from_bytes(bytes)?;
    match rest.is_empty() {
        true => Ok(message),
        false => Err(postcard::Error::DeserializeBadEncoding),
    }
}

impl Queues {
    fn is_sound(&self, nodes: u16) -> bool {
        let contexts = self.contexts.iter().all(|context| {
            let slot = |slot: &Slot| *slot < context.slots;
            context.checks.iter().all(slot)
                && context
                    .deliver
                    .iter()
                    .all(|(made, node, _)| slot(made) && node.0 < nodes)
                && context.answers.iter().all(|(_, made)| slot(made))
        });
        contexts
            && self.lanes.iter().flatten().all(|(context, operation)| {
                let context = self.contexts.get(*context as usize);
                context.is_some_and(|context| uses_below(operation, context.slots))
            })
    }
}

impl Part {
    fn is_sound(&self, nodes: u16) -> bool {
        self.nodes.iter().all(|(node, _)| node.0 < nodes)
            && self
                .deliver
                .iter()
                .all(|(slot, node)| *slot < self.slots && node.0 < nodes)
            && self.answers.iter().all(|(_, slot)| *slot < self.slots)
            && self
                .operations
                .iter()
                .all(|operation| uses_below(operation, self.slots))
    }
}

fn uses_below(operation: &Operation, slots: u16) -> bool {
    let mut sound = operation.action.makes().all(|slot| slot < slots);
    operation.action.needs(|slot| sound &= slot < slots);
    sound
}

impl Message {
    /// Whether its numbers fit together, for a cluster of so many nodes. What a peer sent is asked this before a node
    /// gets it.
    pub fn is_sound(&self, nodes: u16) -> bool {
        match self {
            Message::Plan { plan, .. } => match plan {
                Plan::Queues(queues) => queues.is_sound(nodes),
                Plan::Parts(parts) => parts.iter().all(|part| part.is_sound(nodes)),
            },
            Message::Values { values, .. } => values.iter().all(|value| value.planner.0 < nodes),
            Message::Reads { planner, .. } => planner.0 < nodes,
            Message::Execute { attempt, part, .. } => {
                attempt.coordinator.0 < nodes && part.is_sound(nodes)
            }
            Message::Pass { attempt, .. }
            | Message::Voted { attempt, .. }
            | Message::Prepare { attempt }
            | Message::Decide { attempt, .. }
            | Message::Acked { attempt }
            | Message::Inquire { attempt } => attempt.coordinator.0 < nodes,
            Message::Forward { call, .. } => call.clone().checked(nodes).is_ok(),
            Message::Hello(_) | Message::Done { .. } | Message::Answered { .. } => true,
        }
    }

    /// Its name, for counts.
    pub fn name(&self) -> &'static str {
        match self {
            Message::Hello(_) => "hello",
            Message::Plan { .. } => "plan",
            Message::Values { .. } => "values",
            Message::Reads { .. } => "reads",
            Message::Done { .. } => "done",
            Message::Execute { .. } => "execute",
            Message::Pass { .. } => "pass",
            Message::Voted { .. } => "voted",
            Message::Prepare { .. } => "prepare",
            Message::Decide { .. } => "decide",
            Message::Acked { .. } => "acked",
            Message::Inquire { .. } => "inquire",
            Message::Forward { .. } => "forward",
            Message::Answered { .. } => "answered",
        }
    }
}
