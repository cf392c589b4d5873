//! What a call in line waits for.
//!
//! Relies on: whoever lets it go calls [`Turn::come`] once.  Promises: whoever asked before is woken, whoever
//! asks later is told at once.  Does not: know for whom the wait is; giving it up is the place's business.

use parking_lot::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// See the module.
#[derive(Default)]
pub(crate) struct Turn(Mutex<State>);

#[derive(Default)]
struct State {
    has_come: bool,
    waker: Option<Waker>,
}

/// Over when the turn has come.
pub(crate) struct TurnWait(Arc<Turn>);

impl Turn {
    /// True if there is nothing to wait for any more.
    pub fn has_come(&self) -> bool {
        self.0.lock().has_come
    }

    /// Ends the wait.
    pub fn come(&self) {
        let waker = {
            let mut state = self.0.lock();
            state.has_come = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The wait.
    pub fn wait(self: &Arc<Turn>) -> TurnWait {
        TurnWait(Arc::clone(self))
    }
}

impl Future for TurnWait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.0.lock();
        if state.has_come {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
