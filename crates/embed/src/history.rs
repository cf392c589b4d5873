//! Moments of the past that can still be read: `quintet.as_of`.
//!
//! Relies on: `tc` keeps what a snapshot sees for as long as somebody holds it.  Promises: with a history of so many seconds every moment
//! within them can be read as it was, to the distance between two moments that are kept; where nothing was committed no moment is kept
//! anew. With a moment goes its schema: tables are there as they were.  Does not: survive a restart, or hold against a shortage of memory: what a snapshot needs may be gone then, and who
//! reads it is told so.
//!
//! ```text
//!   time ──┬─────────┬───┬────────────────┬──► now
//!       moment    moment moment        moment        each with a snapshot
//!          └── AS OF here reads the moment before ──┘
//! ```

use crate::database::{Inner, Schema};
use parking_lot::Mutex;
use quintet_base::limits::HISTORY_SECONDS_MAX;
use quintet_base::text_format::{self, FormatContext};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_rt::threads;
use quintet_tc::KeptSnapshot;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Moments are kept so many to the length of the history ...
const MOMENTS: u32 = 600;
/// ... but not closer to one another than this, and not farther away.
const STEP: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// What a session wants to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AsOf {
    /// So many microseconds before the transaction begins.
    Ago(i64),
    /// This moment, in microseconds as in a timestamptz.
    At(i64),
}

impl AsOf {
    /// A value of the setting: `-10s`, `-5 minutes`, or a timestamp; nothing: the present.
    ///
    /// # Errors
    /// `22007`, `22008` and the like.
    pub fn parse(text: &str, format: &FormatContext) -> SqlResult<Option<AsOf>> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        if let Some(span) = text.strip_prefix('-') {
            return match text_format::read(SqlType::Interval, span, format)? {
                Value::Interval(span) if span.months == 0 => {
                    const DAY: i64 = 86_400_000_000;
                    let days = i64::from(span.days).saturating_mul(DAY);
                    Ok(Some(AsOf::Ago(span.micros.saturating_add(days))))
                }
                _ => Err(SqlError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    "a history is not counted in months",
                )),
            };
        }
        match text_format::read(SqlType::TimestampTz, text, format)? {
            Value::TimestampTz(at) => Ok(Some(AsOf::At(at))),
            _ => Err(SqlError::internal("a timestamp that is none")),
        }
    }
}

/// A snapshot that was taken then.
#[derive(Clone)]
pub(crate) struct Moment {
    at: i64,
    /// What to read at.
    pub snapshot: KeptSnapshot,
    /// What tables were then.
    pub schema: Arc<Schema>,
}

impl Moment {
    /// The present, with the schema that goes with it.
    fn now(at: i64, database: &Inner) -> Moment {
        loop {
            database.wait_for_schema();
            let schema = database.schema();
            let snapshot = database.tc.keep();
            database.wait_for_schema();
            if Arc::ptr_eq(&schema, &database.schema()) {
                return Moment {
                    at,
                    snapshot,
                    schema,
                };
            }
        }
    }
}

/// See the module.
pub(crate) struct History {
    /// Microseconds; 0: none is kept.
    kept_for: i64,
    /// The oldest first.
    moments: Mutex<VecDeque<Moment>>,
}

impl History {
    /// One of this length.
    pub fn new(length: Duration) -> History {
        let length = length.min(Duration::from_secs(HISTORY_SECONDS_MAX));
        History {
            kept_for: i64::try_from(length.as_micros()).unwrap_or(i64::MAX),
            moments: Mutex::default(),
        }
    }

    /// Keeps the present as a moment, and lets go of those that are too old.
    pub fn note(&self, now: i64, database: &Inner) {
        let moment = Moment::now(now, database);
        let mut moments = self.moments.lock();
        let known = moments.back().map(|last| last.snapshot.timestamp());
        if known.is_none_or(|known| known < moment.snapshot.timestamp()) {
            moments.push_back(moment);
        }
        // One that was followed by another within the history's length is what its beginning reads.
        let begins = now - self.kept_for;
        while moments.get(1).is_some_and(|next| next.at <= begins) {
            moments.pop_front();
        }
    }

    /// What to read to see that moment.
    ///
    /// # Errors
    /// `55000` if no history is kept; `22023` if it does not have the moment.
    pub fn at(&self, as_of: AsOf, now: i64) -> SqlResult<Moment> {
        if self.kept_for == 0 {
            return Err(SqlError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "no history is kept",
            )
            .hint("Start the server with --history and a time, as in --history 10min."));
        }
        let at = match as_of {
            AsOf::Ago(span) => now.saturating_sub(span),
            AsOf::At(at) => at,
        };
        let refused = |message: &str| SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message);
        if at > now {
            return Err(refused("quintet.as_of lies in the future"));
        }
        let moments = self.moments.lock();
        let behind = moments.partition_point(|moment| moment.at <= at);
        let begins = moments.front().map_or(now, |first| first.at);
        match behind.checked_sub(1) {
            Some(place) if at >= now - self.kept_for => Ok(moments[place].clone()),
            _ => {
                let begins = Value::TimestampTz(begins.max(now - self.kept_for));
                let mut text = Vec::new();
                let format = FormatContext::default();
                text_format::write(&begins, SqlType::TimestampTz, &format, &mut text);
                let message = "quintet.as_of lies before the history that is kept";
                let begins = String::from_utf8_lossy(&text);
                Err(refused(message).detail(format!("It begins at {begins}.")))
            }
        }
    }
}

/// Keeps moments of a database, as long as somebody has it open.
pub(crate) fn keep(database: &Arc<Inner>) {
    let length = database.history.kept_for;
    if length == 0 {
        return;
    }
    let step = Duration::from_micros(length.unsigned_abs()) / MOMENTS;
    let step = step.clamp(STEP.0, STEP.1);
    let weak = Arc::downgrade(database);
    let clock = Arc::clone(&database.clock);
    database.history.note(clock.now_micros(), database);
    threads::spawn("history", move || {
        loop {
            clock.sleep(step);
            let Some(database) = weak.upgrade() else {
                return;
            };
            database.history.note(clock.now_micros(), &database);
        }
    });
}
