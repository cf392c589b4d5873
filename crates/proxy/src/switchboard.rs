//! What clients ask of the front end, and how they reach the one who decides.
//!
//! Relies on: `conductor`, which answers every request.  Promises: no more requests wait than the conductor's queue has
//! places; a client that goes is forgotten.  Does not: decide anything.
//!
//! ```text
//!   guests ── Request ──► conductor ── front ──► replicas
//!          ◄── reply ────
//! ```

use crate::conductor::Word;
use crate::config::ProxyConfig;
use crate::guest::stopped;
use crate::knowledge::{Call, Knowledge};
use crate::lease::Lease;
use crate::settings::Sent;
use crate::text::Description;
use crate::told::Told;
use parking_lot::Mutex;
use quintet_base::conflict::ConflictKey;
use quintet_base::limits::DESCRIPTIONS_MAX;
use quintet_base::text_format::FormatContext;
use quintet_base::{Level, SqlResult};
use quintet_front::{Access, CallId, SessionId};
use quintet_replica::{Answer, CallText, ClientCall};
use quintet_sql::{Catalog, Command, Parsed, PlanContext, plan};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// What is to be done for a client.
pub(crate) enum Work {
    /// Run a statement as a transaction of its own.
    Text(CallText),
    /// Lend a session for a transaction; the reply to the request follows at its end.
    Transaction(oneshot::Sender<Result<Lease, Told>>),
    /// Say what a statement takes and gives.
    Describe {
        /// The statement.
        sql: String,
        /// Types of its parameters, as far as they are known.
        types: Vec<u32>,
        /// To be told.
        described: oneshot::Sender<Result<Description, Told>>,
    },
}

/// Something a client wants.
pub(crate) struct Request {
    /// Who.
    pub session: SessionId,
    /// What it may touch, if it writes.
    pub keys: Vec<ConflictKey>,
    /// Whether it writes.
    pub access: Access,
    /// It runs at the primary.
    pub pinned: bool,
    /// What.
    pub work: Work,
    /// At which level.
    pub level: Level,
    /// With which settings.
    pub settings: Sent,
    /// Which call of its client it is.
    pub client: Option<ClientCall>,
    /// A modelled service time.
    pub service: Duration,
    /// To be told.
    pub reply: oneshot::Sender<Result<Answer, Told>>,
}

/// A statement, and the types of its parameters as far as they are known.
type Asked = (String, Vec<u32>);

/// See the module.
pub(crate) struct Switchboard {
    config: ProxyConfig,
    knowledge: Knowledge,
    words: mpsc::Sender<Word>,
    /// For planning statements without names of tables.
    empty: Catalog,
    parameters: Vec<(String, String)>,
    sessions: AtomicU64,
    calls: AtomicU64,
    descriptions: Mutex<HashMap<Asked, Arc<Description>>>,
}

impl Switchboard {
    /// In front of a conductor; `parameters` are what a replica reports at log-in.
    pub fn new(
        config: ProxyConfig,
        knowledge: Knowledge,
        parameters: Vec<(String, String)>,
        words: mpsc::Sender<Word>,
    ) -> SqlResult<Switchboard> {
        Ok(Switchboard {
            config,
            knowledge,
            words,
            empty: Catalog::load([])?,
            parameters,
            sessions: AtomicU64::new(1),
            calls: AtomicU64::new(1),
            descriptions: Mutex::default(),
        })
    }

    pub fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    pub fn everything(&self) -> Vec<ConflictKey> {
        self.knowledge.everything().to_vec()
    }

    /// The strongest level that transactions can have.
    pub fn strongest(&self) -> Level {
        Level::Snapshot
    }

    /// What clients are told at log-in.
    pub fn parameters(&self) -> Vec<(String, String)> {
        self.parameters.clone()
    }

    /// How long a client may idle in a transaction, holding up everybody who writes.
    pub fn idle_in_transaction(&self) -> Option<Duration> {
        self.config.idle_in_transaction
    }

    /// SHOW of what is the front end's own.
    pub fn shown(&self, name: &str) -> Option<String> {
        match name {
            "quintet.policy" => Some(self.config.policy_name().to_owned()),
            "quintet.guarantee" => Some(self.config.guarantee_name().to_owned()),
            "transaction_isolation" | "default_transaction_isolation" => {
                Some("repeatable read".to_owned())
            }
            _ => None,
        }
    }

    /// How long a call is to take at least.
    pub fn service(&self, call: Option<&Call>) -> Duration {
        let name = call.map(|call| self.knowledge.name(call));
        self.config.service.of(name)
    }

    /// A statement that names no table.
    pub fn plan(&self, parsed: &Parsed) -> SqlResult<Command> {
        let format = FormatContext::default();
        let context = PlanContext {
            catalog: &self.empty,
            schema: "public",
            user: quintet_sql::Who::SYSTEM,
            database: "quintet",
            format: &format,
            dynamic: &quintet_sql::NOTHING_DYNAMIC,
        };
        Ok(plan(parsed, &context, &[])?.command)
    }

    pub fn new_session(&self) -> SessionId {
        SessionId(self.sessions.fetch_add(1, Ordering::Relaxed))
    }

    /// Hands a request over; waits for a place in the queue.
    pub async fn submit(&self, request: Request) -> Result<CallId, Told> {
        let call = CallId(self.calls.fetch_add(1, Ordering::Relaxed));
        let word = Word::Request(call, Box::new(request));
        self.words.send(word).await.map_err(|_| stopped())?;
        Ok(call)
    }

    /// Nobody wants this any more.
    pub fn cancel(&self, call: CallId) {
        self.later(Word::Cancel(call));
    }

    pub fn end_session(&self, session: SessionId) {
        self.later(Word::SessionEnded(session));
    }

    /// Sends a word without waiting for it.
    fn later(&self, word: Word) {
        let words = self.words.clone();
        // If nobody listens any more there is nothing to be told.
        tokio::spawn(async move { words.send(word).await.ok() });
    }

    /// What a statement takes and gives, if that is known.
    pub fn described(&self, sql: &str, types: &[u32]) -> Option<Arc<Description>> {
        let known = self.descriptions.lock();
        known.get(&(sql.to_owned(), types.to_vec())).cloned()
    }

    /// Keeps what a statement takes and gives.
    pub fn learn(&self, sql: &str, types: &[u32], description: Description) -> Arc<Description> {
        let description = Arc::new(description);
        let mut known = self.descriptions.lock();
        if known.len() >= DESCRIPTIONS_MAX {
            known.clear();
        }
        known.insert((sql.to_owned(), types.to_vec()), Arc::clone(&description));
        description
    }
}
