//! The clients: what their sessions have written, and which calls they may ask for again.
//!
//! Relies on: nothing.  Promises: a session is known while it has calls or has not ended; a token while its last
//! call may not be at every replica, or its session has not ended.  Does not: keep answers; those are in the
//! replicas, written with the call's effects.

use crate::ids::{SessionId, Token};
use quintet_chain::CallId;
use std::collections::BTreeMap;

/// A session.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// Calls that write and are not at every replica.
    pub calls: Vec<CallId>,
    /// Positions of what it wrote, if some replica may lack it.
    pub writes: Vec<u64>,
    /// Tokens that its calls came with.
    pub tokens: Vec<u64>,
    pub ended: bool,
}

/// A client's last call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Last {
    pub number: u64,
    /// The call, while it is pending.
    pub pending: Option<CallId>,
    /// The position of its write set, once it has one.
    pub position: Option<u64>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    pub sessions: BTreeMap<SessionId, Session>,
    pub tokens: BTreeMap<u64, Last>,
}

impl Clients {
    pub fn session(&mut self, id: SessionId) -> &mut Session {
        self.sessions.entry(id).or_default()
    }

    /// The pending call that a call repeats.
    pub fn repeats(&self, token: Token) -> Option<CallId> {
        let last = self.tokens.get(&token.client)?;
        last.pending.filter(|_| last.number == token.number)
    }

    /// True if a call cannot have taken place: its client's previous call was made in this life of the front
    /// end, and clients count up.
    pub fn is_new(&self, token: Token) -> bool {
        let last = self.tokens.get(&token.client);
        last.is_some_and(|last| last.number < token.number)
    }

    /// A session lets go of what is over.
    pub fn tidy(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else {
            return;
        };
        if session.ended && session.calls.is_empty() {
            for client in &session.tokens {
                let last = self.tokens.get(client);
                if last.is_some_and(|last| last.pending.is_none()) {
                    self.tokens.remove(client);
                }
            }
            self.sessions.remove(&id);
        }
    }
}
