//! Who calls what, and what became of it.
//!
//! A call appends its number to the rows that it writes, so that what is lost, doubled or in another order shows.
//! Clients with a token repeat a call until they hear what became of it; for others it is unknown after the front end
//! has died.

use super::settings::Mistake;
use super::world::World;
use quintet_base::conflict::{ConflictKey, Mode, Space};
use quintet_front::{Access, Call, CallId, Event, Outcome, Policy, SessionId, Token};
use std::collections::BTreeMap;

/// How a call is, as its client knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Waiting,
    Answered(Outcome),
    /// The front end died before it answered.
    Unknown,
}

/// A call that a client made.
#[derive(Clone, Debug)]
pub struct Made {
    pub client: usize,
    pub rows: Vec<u64>,
    pub also_reads: Vec<u64>,
    pub writes: bool,
    pub interactive: bool,
    pub rolls_back: bool,
    pub fails: bool,
    pub token: Option<(u64, u64)>,
    pub state: State,
    /// How often it was submitted.
    pub submitted: u64,
    pub made_at: u64,
    pub answered_at: u64,
    /// What a read showed.
    pub read: Option<BTreeMap<u64, Vec<u64>>>,
}

impl Made {
    /// True if its client was told that it took effect.
    pub fn is_acknowledged(&self) -> bool {
        let done = matches!(
            self.state,
            State::Answered(Outcome::Done | Outcome::Repeated)
        );
        done && self.writes && !self.rolls_back
    }

    /// True if it must have left nothing.
    pub fn is_refused(&self) -> bool {
        let done = matches!(
            self.state,
            State::Answered(Outcome::Done | Outcome::Repeated)
        );
        matches!(self.state, State::Answered(_)) && (!done || self.rolls_back)
    }
}

/// A client.
#[derive(Debug)]
pub struct Client {
    /// The call that it waits for.
    pub current: Option<usize>,
    /// Under which numbers it is pending at the front end that lives.
    pub pending: Vec<CallId>,
    pub has_token: bool,
    pub number: u64,
}

impl World {
    /// A client does something, if it can.
    pub fn client_acts(&mut self) {
        let client = self.rng.below(self.clients.len());
        let of = &self.clients[client];
        match of.current {
            None if self.made.len() < self.settings.calls && !self.calm => self.make(client),
            None => {}
            Some(made) => {
                let of_pending = of.pending.clone();
                let may = self.made[made].token.is_some();
                let repeats = of.pending.is_empty() || (may && self.rng.one_in(8));
                if repeats && self.front.is_some() && self.clients[client].pending.len() < 3 {
                    self.submit(made);
                } else if !of_pending.is_empty() && !self.calm && self.rng.one_in(40) {
                    let call = of_pending[0];
                    self.tell(Event::Cancelled { call });
                }
            }
        }
    }

    fn make(&mut self, client: usize) {
        if self.front.is_none() {
            return;
        }
        let writes = !self.rng.one_in(3);
        let interactive = writes && self.settings.interactive && self.rng.one_in(6);
        let mut rows = Vec::new();
        for _ in 0..1 + self.rng.below(3) {
            let row = self.row();
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        if writes && !interactive && self.rng.one_in(30) {
            rows.clear();
        }
        let has_token = self.clients[client].has_token;
        let token = (has_token && writes && !interactive).then(|| {
            self.clients[client].number += 1;
            (client as u64, self.clients[client].number)
        });
        let also_reads = match writes {
            true => vec![self.row()],
            false => Vec::new(),
        };
        let made = Made {
            client,
            rows,
            also_reads,
            writes,
            interactive,
            rolls_back: interactive && self.rng.one_in(4),
            fails: writes && !interactive && self.rng.one_in(12),
            token,
            state: State::Waiting,
            submitted: 0,
            made_at: self.steps,
            answered_at: 0,
            read: None,
        };
        self.made.push(made);
        self.clients[client].current = Some(self.made.len() - 1);
        self.submit(self.made.len() - 1);
    }

    fn row(&mut self) -> u64 {
        let limit = match self.rng.one_in(2) {
            true => self.settings.hot,
            false => self.settings.rows,
        };
        self.rng.next() % limit.min(self.settings.rows)
    }

    fn submit(&mut self, made: usize) {
        self.made[made].submitted += 1;
        let of = self.made[made].clone();
        self.numbers += 1;
        let call = CallId(self.numbers);
        self.by_call.insert(call, made);
        self.clients[of.client].pending.push(call);
        let session = SessionId(u64::from(self.epoch) * 1_000 + of.client as u64);
        let mut keys: Vec<ConflictKey> = Vec::new();
        if of.interactive {
            keys.push(ConflictKey::new(Space(0), Mode(0), &[]));
        } else {
            for row in &of.rows {
                // Sometimes less is known than could be.
                let path = [row / 4, *row];
                let known = if self.rng.one_in(6) { 1 } else { 2 };
                keys.push(ConflictKey::new(Space(0), Mode(0), &path[..known]));
            }
            let incomplete = self.settings.policy == Policy::ChainsCertified
                || self.settings.mistake == Some(Mistake::KeysTooSmall);
            if incomplete && !keys.is_empty() && self.rng.one_in(2) {
                keys.pop();
            }
        }
        if let Some((client, _)) = of.token {
            keys.push(ConflictKey::new(Space(1), Mode(0), &[client]));
        }
        let pinned = of.interactive || self.rng.one_in(12);
        let access = match of.writes {
            true => Access::Update,
            false => Access::ReadOnly,
        };
        let call = Call {
            access,
            pinned,
            interactive: of.interactive,
            token: of.token.map(|(client, number)| Token { client, number }),
            ..Call::new(call, session, keys)
        };
        self.tell(Event::Submitted(call));
    }

    /// A client hears what became of a call.
    pub fn answered(&mut self, call: CallId, outcome: Outcome) {
        let Some(made) = self.by_call.remove(&call) else {
            panic!("call {} is answered twice", call.0);
        };
        let client = self.made[made].client;
        self.clients[client].pending.retain(|other| *other != call);
        // A repetition of what it knows already.
        if self.clients[client].current != Some(made) {
            return;
        }
        let again = outcome == Outcome::Cancelled && !self.clients[client].pending.is_empty();
        if again {
            return;
        }
        // The answer may be lost on its way.
        if self.made[made].token.is_some() && !self.calm && self.rng.one_in(6) {
            return;
        }
        let attempt = self.last_run.get(&call);
        let read = attempt.and_then(|attempt| self.saw.get(attempt)).cloned();
        let of = &mut self.made[made];
        // A repetition that was stopped says nothing of the first one.
        of.state = match outcome == Outcome::Cancelled && of.submitted > 1 {
            true => State::Unknown,
            false => State::Answered(outcome),
        };
        of.answered_at = self.steps;
        if !of.writes && outcome == Outcome::Done {
            of.read = Some(read.expect("it read"));
        }
        self.clients[client].current = None;
    }

    /// The front end has died: clients do not know what became of their calls.
    pub fn clients_lose_the_front(&mut self) {
        self.by_call.clear();
        for client in &mut self.clients {
            client.pending.clear();
            if let Some(made) = client.current
                && self.made[made].token.is_none()
            {
                self.made[made].state = State::Unknown;
                client.current = None;
            }
        }
    }
}
