//! The log's lines about moving what was committed into STORE: that it fails, and that it works again.
//!
//! Relies on: being told of every failure and of the first success after it (`Database::watch_posts`), however
//! often that is.  Promises: the first failure has a line at once, a new reason soon, one that lasts now and
//! then; one line ends it.  Does not: tell of a failure that nobody has run into.
//!
//! ```text
//!   Fine ──failure: a line──► Failing ──success: a line──► Fine
//!                              └ a line each minute, or after some seconds if the reason is new
//! ```

use crate::quantity::Span;
use parking_lot::Mutex;
use quintet_embed::PostFailure;
use quintet_rt::{Clock, RealClock};
use std::time::Duration;

/// A failure that lasts is repeated this often.
const AGAIN_EVERY: Duration = Duration::from_secs(60);
/// Another reason waits so long, in case two of them take turns.
const OTHER_AFTER: Duration = Duration::from_secs(5);

/// See the header.
#[derive(Default)]
pub struct PostLog(Mutex<Option<Failing>>);

/// What is known while it fails.
struct Failing {
    since: Duration,
    attempts: u64,
    told: Duration,
    reason: String,
}

/// What is to be logged.
#[derive(PartialEq, Eq, Debug)]
enum Line {
    Fails { attempts: u64 },
    Works { attempts: u64, after: Duration },
}

impl PostLog {
    /// For `Database::watch_posts`.
    pub fn tell(&self, failure: Option<&PostFailure>) {
        let now = Duration::from_nanos(RealClock.monotonic_nanos());
        let reason = failure.map(|failure| &*failure.reason);
        match self.next(reason, now) {
            None => {}
            Some(Line::Fails { attempts }) => tracing::warn!(
                reason,
                attempts,
                "what was committed cannot be moved into the store; nothing is lost, but commits are refused when memory is full"
            ),
            Some(Line::Works { attempts, after }) => tracing::info!(
                failed = attempts,
                after = %Span(after.as_millis() as u64),
                "what was committed is moved into the store again"
            ),
        }
    }

    fn next(&self, reason: Option<&str>, now: Duration) -> Option<Line> {
        let mut state = self.0.lock();
        let Some(reason) = reason else {
            return state.take().map(|failing| Line::Works {
                attempts: failing.attempts,
                after: now - failing.since,
            });
        };
        let is_first = state.is_none();
        let failing = state.get_or_insert_with(|| Failing {
            since: now,
            attempts: 0,
            told: now,
            reason: String::new(),
        });
        failing.attempts += 1;
        let patience = match failing.reason == reason {
            true => AGAIN_EVERY,
            false => OTHER_AFTER,
        };
        if !is_first && now - failing.told < patience {
            return None;
        }
        failing.told = now;
        failing.reason = reason.to_owned();
        Some(Line::Fails {
            attempts: failing.attempts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_a_line_at_once_then_now_and_then_and_one_at_its_end() {
        let log = PostLog::default();
        let fails = |attempts| Some(Line::Fails { attempts });
        let works = |attempts, seconds| {
            let after = Duration::from_secs(seconds);
            Some(Line::Works { attempts, after })
        };
        let story = [
            (0, Some("eio"), fails(1)),
            (0, Some("eio"), None),
            (4, Some("doubt"), None),
            (5, Some("doubt"), fails(4)),
            (6, Some("eio"), None),
            (64, Some("doubt"), None),
            (65, Some("doubt"), fails(7)),
            (70, None, works(7, 70)),
            (71, None, None),
            (72, Some("eio"), fails(1)),
            (73, None, works(1, 1)),
        ];
        for (second, reason, expected) in story {
            let line = log.next(reason, Duration::from_secs(second));
            assert_eq!(line, expected, "at {second} s");
        }
    }
}
