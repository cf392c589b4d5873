//! What the conductor is told, and by whom.
//!
//! Relies on: nothing.  Promises: plain data; what a replica's life says carries the number of that life.
//! Does not: say what follows.

use crate::pool::Pool;
use crate::switchboard::Request;
use crate::told::Told;
use quintet_front::{AttemptId, CallId, ReplicaId, Report, SessionId, WriteId};
use quintet_replica::{Answer, Item, Ran, Read, TooLarge};
use std::sync::Arc;
use tokio::sync::mpsc;

/// See the module.
pub(crate) enum Word {
    /// A client wants something.
    Request(CallId, Box<Request>),
    /// Nobody wants it any more.
    Cancel(CallId),
    /// A client has gone.
    SessionEnded(SessionId),
    /// From a replica.
    Replica {
        /// Which.
        replica: ReplicaId,
        /// Which of its lives.
        life: u64,
        /// What.
        news: News,
    },
    /// The front end stops.
    Stop,
}

/// What a replica, or somebody at work there, tells.
pub(crate) enum News {
    /// It is there.
    Reported {
        /// What it has.
        report: Report,
        /// Sessions there.
        pool: Arc<Pool>,
    },
    /// It is not there any more.
    Lost,
    /// Its stream has told all that happened before its report.
    CaughtUp,
    /// What its log tells.
    Item(Item),
    /// An attempt has ended.
    Ran {
        /// Which.
        attempt: AttemptId,
        /// How.
        ran: Ran,
    },
    /// A read has ended.
    Read {
        /// Which.
        attempt: AttemptId,
        /// How.
        read: Read,
    },
    /// A client's transaction has ended here and nothing of it is prepared.
    ReadEnded(AttemptId),
    /// A client has left its transaction, or was made to.
    Abandoned(AttemptId),
    /// An attempt was rolled back because nobody could apply what it wrote.
    TurnedAway {
        /// Which.
        attempt: AttemptId,
        /// Why.
        error: TooLarge,
    },
    /// What is recorded of a client's call.
    Asked {
        /// Which.
        call: CallId,
        /// Its answer, if it took place.
        recorded: Option<Result<Answer, Told>>,
    },
    /// COMMIT PREPARED has returned.
    Committed(AttemptId),
    /// ROLLBACK PREPARED has returned, or there was nothing.
    RolledBack(AttemptId),
    /// A write set is there.
    Applied {
        /// Whose.
        write: WriteId,
        /// Synced.
        durable: bool,
        /// Rows that were not found.
        missing: u64,
        /// How long it took.
        micros: u64,
    },
    /// All that was applied is synced.
    Hardened(u64),
    /// An apply waits for rows that these hold.
    Blocked(Vec<AttemptId>),
    /// A session there broke, or said what cannot be.
    Broken,
}

/// Tells the conductor what happens at a replica.
#[derive(Clone)]
pub(crate) struct Teller {
    words: mpsc::Sender<Word>,
    replica: ReplicaId,
    life: u64,
}

impl Teller {
    pub fn new(words: mpsc::Sender<Word>, replica: ReplicaId, life: u64) -> Teller {
        Teller {
            words,
            replica,
            life,
        }
    }

    fn word(&self, news: News) -> Word {
        Word::Replica {
            replica: self.replica,
            life: self.life,
            news,
        }
    }

    /// Waits for a place in the queue. False: nobody listens any more.
    pub async fn say(&self, news: News) -> bool {
        self.words.send(self.word(news)).await.is_ok()
    }

    /// Tells without waiting, also from where nothing can wait.
    pub fn tell(&self, news: News) {
        let (words, word) = (self.words.clone(), self.word(news));
        match words.try_send(word) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(word)) => {
                tokio::spawn(async move { words.send(word).await.ok() });
            }
            Err(mpsc::error::TrySendError::Closed(_)) => {}
        }
    }
}
