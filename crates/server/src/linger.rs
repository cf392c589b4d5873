//! Whether a connection that has answered looks for its next message before its thread sleeps.
//!
//! Relies on: connections say when they are busy ([`Presence`]).  Promises: nobody lingers while there is not a
//! processor to spare, or longer than [`LINGER_NS`]; a client that thinks longer than that is soon not
//! waited for any more.  Does not: look; `connection` does, and lets others of its desk go on in between.
//!
//! ```text
//!             ┌──── message in time: patient again ───┐
//!             ▼                                       │
//!   answered ──► linger ──too long─► sleep ─► message ─► (the next 1, 3, 7 … 63 times: sleep at once)
//! ```
//! Waking a thread on a processor that sleeps costs more than a short statement (decision 10).

use quintet_base::Patience;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// How long is looked. A client that only waits for its answers is back sooner, even if its own processor
/// has to wake up.
const LINGER_NS: u64 = 100_000;

/// How many connections have something to do, or look whether they have.
#[derive(Debug, Default)]
pub(crate) struct Crowd(AtomicUsize);

/// One connection of the crowd.
#[derive(Debug)]
pub(crate) struct Presence {
    crowd: Arc<Crowd>,
    processors_to_spare: usize,
    is_busy: bool,
    /// What it has learned of its client.
    patience: Patience,
    /// When it has looked for long enough.
    until: u64,
}

impl Presence {
    pub fn new(crowd: Arc<Crowd>) -> Presence {
        Presence::with(crowd, spare())
    }

    fn with(crowd: Arc<Crowd>, processors_to_spare: usize) -> Presence {
        Presence {
            crowd,
            processors_to_spare,
            is_busy: false,
            patience: Patience::default(),
            until: 0,
        }
    }

    /// Whether it has something to do, or looks whether it has.
    pub fn set_busy(&mut self, is_busy: bool) {
        // The number is a hint for others; nothing is read on the strength of it.
        match (self.is_busy, is_busy) {
            (false, true) => self.crowd.0.fetch_add(1, Ordering::Relaxed),
            (true, false) => self.crowd.0.fetch_sub(1, Ordering::Relaxed),
            _ => return,
        };
        self.is_busy = is_busy;
    }

    /// Begins to look, if that is worth trying and there is a processor to spare; it is busy then.
    pub fn linger(&mut self, now: u64) -> bool {
        self.set_busy(false);
        // Two may get in at once; the first look sends one of them away.
        let room = self.crowd.0.load(Ordering::Relaxed) < self.processors_to_spare;
        if !room || !self.patience.has() {
            return false;
        }
        self.set_busy(true);
        self.until = now + LINGER_NS;
        true
    }

    /// After a look in vain, whether to look again; if not, it is not busy any more.
    pub fn looks_again(&mut self, now: u64) -> bool {
        let over = now >= self.until;
        if over {
            self.patience.learn(false);
        }
        let needed = self.crowd.0.load(Ordering::Relaxed) > self.processors_to_spare;
        self.set_busy(!over && !needed);
        self.is_busy
    }

    /// It has looked, and the message was there.
    pub fn found(&mut self) {
        self.patience.learn(true);
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.set_busy(false);
    }
}

/// Processors but one, which the client may need if it is on the same machine.
fn spare() -> usize {
    static SPARE: OnceLock<usize> = OnceLock::new();
    *SPARE.get_or_init(|| quintet_rt::threads::processors() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presences<const N: usize>(processors_to_spare: usize) -> [Presence; N] {
        let crowd = Arc::<Crowd>::default();
        [(); N].map(|()| Presence::with(Arc::clone(&crowd), processors_to_spare))
    }

    #[test]
    fn nobody_lingers_while_the_processors_are_needed() {
        let [mut one, mut other] = presences(1);
        assert!(one.linger(0), "it is alone");
        assert!(
            !other.linger(0),
            "one processor is to spare, and it is taken"
        );
        assert!(one.looks_again(1));
        other.set_busy(true);
        assert!(!one.looks_again(2), "the other needs it");
        assert!(!one.linger(3));
        drop(other);
        assert!(one.linger(4), "its patience was not tried");
        let [mut alone] = presences(0);
        assert!(!alone.linger(0), "the client needs the only processor");
    }

    #[test]
    fn who_lingers_sleeps_when_the_time_is_over() {
        let [mut one] = presences(1);
        assert!(one.linger(7));
        assert!(one.looks_again(7 + LINGER_NS - 1));
        assert!(!one.looks_again(7 + LINGER_NS));
        assert!(!one.linger(8), "in vain the last time");
        assert!(one.linger(9));
        one.found();
        one.set_busy(false);
        assert!(one.linger(10));
        assert_eq!(one.crowd.0.load(Ordering::Relaxed), 1);
    }
}
