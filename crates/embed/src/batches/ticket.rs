//! A call in a batch, as its session and whoever runs it see it.
//!
//! Relies on: whoever takes the job answers it.  Promises: the session is woken by the answer, and when it is
//! called to run a lane; both are remembered if it does not wait at that moment.
//! Does not: know lines or lanes.

use super::Hold;
use crate::contention::Label;
use crate::lent::{Facts, LentHost};
use parking_lot::Mutex;
use quintet_base::conflict::ConflictKey;
use quintet_base::{Bytes, Level, Lsn, SequenceId, SpaceId, SqlError, Value};
use quintet_ir::Procedure;
use quintet_sql::command::Notice;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

/// Of which space, with which key.
pub(crate) type Row = (SpaceId, Bytes);

/// What is to be run.
pub(crate) struct Job {
    pub procedure: Arc<Procedure>,
    /// What its conflicts are counted by.
    pub label: Label,
    pub host: LentHost,
    /// Rows that its session has waited for, so that the call could be run.
    pub awaited: Vec<Row>,
    /// Set by whoever wants the call to end.
    pub cancel: Arc<AtomicBool>,
}

/// Which call it is.
pub(crate) struct Asked {
    /// Of its session, with the catalogue that it was planned with.
    pub facts: Arc<Facts>,
    pub level: Level,
    /// Among the classes of the schema at that level.
    pub number: usize,
    pub arguments: Vec<Value>,
}

/// What a call that was committed gives.
pub(crate) struct Landed {
    pub rows: Vec<Vec<Value>>,
    pub notices: Vec<Notice>,
    pub given: Vec<(SequenceId, i64)>,
    /// Its client may be told when the log is durable up to here, if it wants to know it safe.
    pub durable_at: Option<Lsn>,
}

/// What has become of a call.
pub(crate) enum Answer {
    /// It is committed.
    Landed(Box<Landed>),
    /// It has failed by itself; nothing of it remains.
    Failed(Box<SqlError>, Vec<Notice>),
    /// Others have these rows. Its session is to lock them, and to run the next lane then, with the call in it; what it conflicts
    /// with waits for the hold to go.
    Waits(Vec<Row>, Hold),
    /// Its session is to run it; nothing of it remains. What it conflicts with waits for the hold to go.
    PutOut(Box<Job>, Option<Hold>),
}

/// See the module.
pub(crate) struct Ticket {
    asked: Asked,
    keys: OnceLock<Vec<ConflictKey>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    job: Option<Box<Job>>,
    answer: Option<Answer>,
    answered: bool,
    called: bool,
    waker: Option<Waker>,
}

/// Over when there is an answer, or the session is to run a lane.
pub(crate) struct TicketWait(Arc<Ticket>);

impl Ticket {
    /// Of a call that is to be run.
    pub fn new(asked: Asked, job: Job) -> Ticket {
        Ticket {
            asked,
            keys: OnceLock::new(),
            state: Mutex::new(State {
                job: Some(Box::new(job)),
                ..State::default()
            }),
        }
    }

    /// Which call it is.
    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    /// What the call may touch.
    pub fn keys(&self) -> &[ConflictKey] {
        self.keys.get_or_init(|| {
            let Asked {
                facts,
                level,
                number,
                arguments,
            } = &self.asked;
            let schema = &facts.schema;
            let classes = schema.classes.at(*level, &schema.catalog);
            classes.keys(*number, &mut arguments.clone())
        })
    }

    /// The job, for who runs it.
    pub fn take_job(&self) -> Option<Box<Job>> {
        self.state.lock().job.take()
    }

    /// It is to be run later, after all.
    pub fn give_back(&self, job: Box<Job>) {
        self.state.lock().job = Some(job);
    }

    /// Tells the session what has become of it.
    pub fn answer(&self, answer: Answer) {
        self.change(|state| {
            state.answer = Some(answer);
            state.answered = true;
        });
    }

    /// The answer was to wait: another one is to come.
    pub fn reopen(&self) {
        self.state.lock().answered = false;
    }

    /// Has the session look whether there is a lane to run.
    pub fn call(&self) {
        self.change(|state| state.called = true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let waker = {
            let mut state = self.state.lock();
            change(&mut state);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The answer, once.
    pub fn take_answer(&self) -> Option<Answer> {
        self.state.lock().answer.take()
    }

    /// Whether there was an answer.
    pub fn is_answered(&self) -> bool {
        self.state.lock().answered
    }

    /// The wait.
    pub fn wait(self: &Arc<Ticket>) -> TicketWait {
        TicketWait(Arc::clone(self))
    }
}

impl Future for TicketWait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.state.lock();
        if state.answered || std::mem::take(&mut state.called) {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

/// Shared by a session, its line and the lane that runs it.
#[derive(Clone)]
pub(crate) struct Shared(pub Arc<Ticket>);

impl quintet_queue::Keyed for Shared {
    fn keys(&self) -> &[ConflictKey] {
        self.0.keys()
    }
}
