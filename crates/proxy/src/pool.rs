//! Sessions at one replica, used again and again.
//!
//! Relies on: `Runner` and `Applier` say whether they can be used again.  Promises: a session with a client's settings
//! serves only clients with the same; no more idle ones are kept than there are places to run.  Does not: outlive the
//! replica's loss: then another pool begins.

use crate::settings::Sent;
use parking_lot::Mutex;
use quintet_front::AttemptId;
use quintet_replica::{Applier, CancelKey, Error, Front, Runner, Server, Settings};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// A runner on loan.
pub(crate) struct Lent {
    pub runner: Runner,
    sent: Sent,
}

/// Attempts that are in a session now, and what it takes to stop them.
#[derive(Default)]
pub(crate) struct Running(Mutex<HashMap<AttemptId, CancelKey>>);

impl Running {
    pub fn begin(&self, attempt: AttemptId, key: CancelKey) {
        self.0.lock().insert(attempt, key);
    }

    pub fn end(&self, attempt: AttemptId) {
        self.0.lock().remove(&attempt);
    }

    pub fn key(&self, attempt: AttemptId) -> Option<CancelKey> {
        self.0.lock().get(&attempt).cloned()
    }

    /// The attempt in the session with this process.
    pub fn attempt(&self, process: i32) -> Option<AttemptId> {
        let running = self.0.lock();
        let mut known = running.iter();
        let found = known.find(|(_, key)| key.process() == process);
        found.map(|(attempt, _)| *attempt)
    }
}

/// See the module.
pub(crate) struct Pool {
    pub running: Running,
    server: Server,
    front: Front,
    connect_timeout: Duration,
    idle_max: usize,
    runners: Mutex<Vec<Lent>>,
    appliers: Mutex<Vec<Applier>>,
}

impl Pool {
    pub fn new(
        server: Server,
        front: Front,
        connect_timeout: Duration,
        idle_max: usize,
    ) -> Arc<Pool> {
        Arc::new(Pool {
            running: Running::default(),
            server,
            front,
            connect_timeout,
            idle_max,
            runners: Mutex::default(),
            appliers: Mutex::default(),
        })
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The front end, at its epoch there.
    pub fn front(&self) -> &Front {
        &self.front
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings::new(&self.front.application());
        settings.connect_timeout = self.connect_timeout;
        settings
    }

    /// A session with these settings.
    pub async fn runner(&self, sent: &Sent) -> Result<Lent, Error> {
        let known = {
            let mut runners = self.runners.lock();
            let at = runners.iter().rposition(|lent| lent.sent == *sent);
            at.map(|at| runners.swap_remove(at))
        };
        if let Some(lent) = known {
            return Ok(lent);
        }
        let mut settings = self.settings();
        for (name, value) in sent.iter() {
            settings = settings.with(name, value);
        }
        Ok(Lent {
            runner: Runner::connect(&self.server, &self.front, &settings).await?,
            sent: Arc::clone(sent),
        })
    }

    /// Takes a session back, if it can be used again.
    pub fn give_back(&self, lent: Lent) {
        let mut runners = self.runners.lock();
        if lent.runner.is_usable() {
            runners.push(lent);
            if runners.len() > self.idle_max {
                runners.remove(0);
            }
        }
    }

    /// A session that applies.
    pub async fn applier(&self) -> Result<Applier, Error> {
        if let Some(applier) = self.appliers.lock().pop() {
            return Ok(applier);
        }
        Applier::connect(&self.server, &self.front, &self.settings()).await
    }

    /// Takes a session that applies back.
    pub fn give_applier_back(&self, applier: Applier) {
        let mut appliers = self.appliers.lock();
        if applier.is_usable() && appliers.len() < self.idle_max {
            appliers.push(applier);
        }
    }
}
