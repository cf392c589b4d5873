//! Requests under way: what is to be done, and who is to be told.
//!
//! Relies on: `front` numbers attempts.  Promises: each request is answered once; what a call's last attempt answered is
//! what its client gets, and only when the call is decided.  Does not: decide.

use crate::switchboard::{Request, Work};
use crate::told::Told;
use quintet_base::{SqlError, SqlState};
use quintet_front::{AttemptId, Call, CallId, Outcome, Token, WriteId};
use quintet_replica::{Answer, ClientCall, TooLarge};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// A request under way.
pub(super) struct Under {
    pub request: Request,
    /// Its runs.
    attempts: Vec<AttemptId>,
    /// What its last attempt answered.
    pub result: Option<Result<Answer, Told>>,
    /// What was recorded when it took place earlier.
    pub recorded: Option<Result<Answer, Told>>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Calls {
    under: HashMap<CallId, Under>,
    attempts: HashMap<AttemptId, CallId>,
    /// Modelled times of write sets that are still applied somewhere.
    services: HashMap<WriteId, Duration>,
    /// Clients' tokens as numbers.
    clients: HashMap<Arc<str>, u64>,
    /// Woken when a client's transaction has to go.
    kills: HashMap<AttemptId, Arc<Notify>>,
}

impl Calls {
    pub fn len(&self) -> usize {
        self.under.len()
    }

    /// Takes a request in, and gives what the front is told of it.
    pub fn submit(&mut self, call: CallId, request: Request) -> Option<Call> {
        let told = Call {
            call,
            session: request.session,
            keys: request.keys.clone(),
            access: request.access,
            pinned: request.pinned,
            interactive: matches!(request.work, Work::Transaction(_)),
            token: request.client.as_ref().map(|client| self.token(client)),
            cost: 1,
        };
        let under = Under {
            request,
            attempts: Vec::new(),
            result: None,
            recorded: None,
        };
        self.under.insert(call, under);
        Some(told)
    }

    fn token(&mut self, client: &ClientCall) -> Token {
        let next = self.clients.len() as u64;
        let known = self.clients.entry(Arc::clone(&client.token));
        Token {
            client: *known.or_insert(next),
            // Numbers grow, whatever their sign.
            number: (client.number as u64) ^ (1 << 63),
        }
    }

    /// A call is run; gives what it is, if it is still wanted.
    pub fn begin(&mut self, call: CallId, attempt: AttemptId) -> Option<&mut Under> {
        let under = self.under.get_mut(&call)?;
        self.attempts.insert(attempt, call);
        under.attempts.push(attempt);
        let service = under.request.service;
        if !service.is_zero() {
            self.services.insert(WriteId::Attempt(attempt), service);
        }
        Some(under)
    }

    pub fn get(&self, call: CallId) -> Option<&Under> {
        self.under.get(&call)
    }

    /// An attempt has ended with this.
    pub fn ended(&mut self, attempt: AttemptId, result: Result<Answer, Told>) {
        self.kills.remove(&attempt);
        let call = self.attempts.get(&attempt);
        if let Some(under) = call.and_then(|call| self.under.get_mut(call)) {
            under.result = Some(result);
        }
    }

    /// A client's transaction is over before its COMMIT.
    pub fn abandoned(&mut self, attempt: AttemptId) {
        let error = SqlError::new(
            SqlState::SERIALIZATION_FAILURE,
            "could not serialize access: the transaction was in the way of one that is committed",
        );
        self.ended(attempt, Err(error.into()));
    }

    /// What is recorded of a call.
    pub fn recorded(&mut self, call: CallId, answer: Option<Result<Answer, Told>>) {
        if let Some(under) = self.under.get_mut(&call) {
            under.recorded = answer;
        }
    }

    /// A transaction cannot be had at other replicas.
    pub fn too_large(&mut self, attempt: AttemptId, error: &TooLarge) {
        let error = SqlError::new(SqlState(*b"54000"), error.to_string());
        self.ended(attempt, Err(error.into()));
    }

    /// To be woken when the attempt has to go.
    pub fn kill_of(&mut self, attempt: AttemptId) -> Arc<Notify> {
        Arc::clone(self.kills.entry(attempt).or_default())
    }

    /// Wakes the client's transaction.
    pub fn kill(&mut self, attempt: AttemptId) -> bool {
        match self.kills.get(&attempt) {
            Some(kill) => {
                kill.notify_one();
                true
            }
            None => false,
        }
    }

    /// True if the client of an attempt lets statements run for a limited time only.
    pub fn has_limit(&self, attempt: AttemptId) -> bool {
        let call = self.attempts.get(&attempt);
        let under = call.and_then(|call| self.under.get(call));
        under.is_some_and(|under| under.request.settings.contains_key("statement_timeout"))
    }

    /// The modelled time of a write set's call.
    pub fn service(&self, write: WriteId) -> Duration {
        self.services.get(&write).copied().unwrap_or_default()
    }

    /// Nobody needs the write set any more.
    pub fn forget(&mut self, write: WriteId) {
        self.services.remove(&write);
        if let WriteId::Attempt(attempt) = write {
            self.attempts.remove(&attempt);
            self.kills.remove(&attempt);
        }
    }

    /// Tells those who wait how a call ended.
    pub fn answer(&mut self, call: CallId, joined: &[CallId], outcome: Outcome) {
        let Some(under) = self.under.remove(&call) else {
            return;
        };
        for attempt in &under.attempts {
            self.attempts.remove(attempt);
        }
        let reply = reply(under.result, under.recorded, outcome);
        for joined in joined {
            if let Some(other) = self.under.remove(joined) {
                // Who has gone needs no answer.
                let _ = other.request.reply.send(reply.clone());
            }
        }
        let _ = under.request.reply.send(reply);
    }

    /// A call will not be run, and was not.
    pub fn refuse(&mut self, call: CallId, error: SqlError) {
        if let Some(under) = self.under.remove(&call) {
            let _ = under.request.reply.send(Err(error.into()));
        }
    }
}

fn reply(
    result: Option<Result<Answer, Told>>,
    recorded: Option<Result<Answer, Told>>,
    outcome: Outcome,
) -> Result<Answer, Told> {
    let error = |state, message: &str| Err(SqlError::new(state, message).into());
    match outcome {
        Outcome::Done => match result {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(told)) => Err(told),
            None => Ok(Answer::default()),
        },
        Outcome::Repeated => recorded.unwrap_or_else(|| Ok(Answer::default())),
        Outcome::Refused => match result {
            Some(Err(told)) => Err(told),
            _ => error(SqlState(*b"40000"), "the transaction was undone"),
        },
        Outcome::Conflict => match result {
            Some(Err(told)) if told.state() == SqlState::SERIALIZATION_FAILURE => Err(told),
            _ => error(
                SqlState::SERIALIZATION_FAILURE,
                "could not serialize access due to concurrent update",
            ),
        },
        Outcome::Gone => error(
            SqlState::SERIALIZATION_FAILURE,
            "the replica of this transaction is gone; nothing of it remains",
        ),
        Outcome::Cancelled => error(
            SqlState(*b"57014"),
            "canceling statement due to user request",
        ),
    }
}
