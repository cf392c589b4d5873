//! How a session answers: done, paused, or wanting something from the caller.
//!
//! Relies on: nothing blocks inside a session; whatever must be waited for comes out as a
//! [`Pause`].  Promises: after a pause the same call goes on where it stopped.
//! Does not: know threads or an async runtime; a pause is a plain future.

use crate::advisory;
use crate::alarms;
use crate::batches::TicketWait;
use crate::chains::TurnWait;
use quintet_base::{SqlError, Value};
use quintet_ir::statement::OutputColumn;
use quintet_sql::command::CopyFormat;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What a session waits for: another transaction's row lock, an advisory lock, the end of a sleep, calls before it in line, a batch, room in memory, or
/// the disk.
pub struct Pause(pub(crate) Reason);

pub(crate) enum Reason {
    Row(quintet_tc::Wait),
    /// A row that a statement has come to while it ran.
    OfRun(quintet_tc::Wait),
    /// And when to look for a ring of waits.
    Advisory(advisory::Turn, alarms::Sleep),
    Turn(TurnWait),
    Sleep(alarms::Sleep),
    /// An answer from a batch, or a lane to be run.
    Batch(TicketWait),
    /// Sessions of the same thread that have something to do; `true`: they have had their moment.
    Others(bool),
    Disk(Pin<Box<dyn Future<Output = ()> + Send>>),
}

impl Pause {
    /// Blocks the thread until it is over.
    pub fn wait(self) {
        quintet_rt::block_on(self);
    }

    /// True if it is another transaction or the time that is waited for (and not the disk): a cancel request
    /// may interrupt it.
    pub fn is_interruptible(&self) -> bool {
        matches!(
            self.0,
            Reason::Row(_)
                | Reason::OfRun(_)
                | Reason::Advisory(..)
                | Reason::Sleep(_)
                | Reason::Turn(_)
                | Reason::Batch(_)
        )
    }

    /// True if the session itself fails the statement when it has waited for too long
    /// ([`Session::give_up_waiting`](crate::Session::give_up_waiting)); else a cancel request does.
    pub fn may_be_given_up(&self) -> bool {
        matches!(self.0, Reason::OfRun(_) | Reason::Advisory(..))
    }

    /// True if `lock_timeout` says how long it may take.
    pub fn is_for_a_lock(&self) -> bool {
        self.is_interruptible() && !matches!(self.0, Reason::Sleep(_))
    }
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            Reason::Row(wait) | Reason::OfRun(wait) => Pin::new(wait).poll(context),
            Reason::Advisory(turn, look) => match Pin::new(turn).poll(context) {
                Poll::Pending => Pin::new(look).poll(context),
                ready => ready,
            },
            Reason::Sleep(sleep) => Pin::new(sleep).poll(context),
            Reason::Turn(wait) => Pin::new(wait).poll(context),
            Reason::Batch(wait) => Pin::new(wait).poll(context),
            Reason::Others(true) => Poll::Ready(()),
            Reason::Others(waited) => {
                *waited = true;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Reason::Disk(durable) => durable.as_mut().poll(context),
        }
    }
}

/// How a step ended.
pub enum Step {
    /// The statement is done; its tag is what `CommandComplete` says (`None`: an empty statement).
    Done(Option<String>),
    /// `max_rows` rows were given; the portal has more.
    Suspended,
    /// The sink asked for a break; call again at once or when the network has room.
    Yielded,
    /// Wait, then make the same call again.
    Wait(Pause),
    /// COPY FROM STDIN has begun: feed `copy_data`, then `copy_done` or `copy_fail`.
    CopyIn {
        /// Fields per row.
        columns: usize,
        /// How they are written.
        format: CopyFormat,
    },
}

/// What the sink wants after a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// More.
    Continue,
    /// Enough for now.
    Break,
}

/// Takes the rows of a statement.
pub trait RowSink {
    /// The columns, before the first row, for statements whose columns the caller has not been
    /// told by `describe` (simple protocol, FETCH, EXECUTE, SHOW, EXPLAIN).
    fn columns(&mut self, columns: &[OutputColumn]);
    /// The columns of rows to come, if some of their values are written by their types alone: numbers of
    /// the catalogue's objects by names. Before the first row, and before rows that follow a wait.
    fn typed(&mut self, columns: &[OutputColumn]) {
        let _ = columns;
    }
    /// A row.
    fn row(&mut self, values: &[Value]) -> Result<Flow, SqlError>;
    /// A row that nobody else needs: its values may be taken out of it, unless there is an error.
    fn spare_row(&mut self, values: &mut Vec<Value>) -> Result<Flow, SqlError> {
        self.row(values)
    }
    /// COPY TO STDOUT begins.
    fn copy_begin(&mut self, columns: usize, format: &CopyFormat);
    /// One line (or header, trailer) of COPY TO STDOUT.
    fn copy_data(&mut self, data: &[u8]) -> Flow;
}

/// Where the session's transaction stands, as ReadyForQuery reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionStatus {
    /// None open.
    Idle,
    /// One open.
    Open,
    /// One open that failed; only ROLLBACK is accepted.
    Failed,
}
