//! Threads that run only while nobody else wants to.
//!
//! Relies on: Linux's scheduling class for idle work.  Promises: where there is no such class the thread stands back as
//! far as it can.  Does not: give the processor back; what such a thread does nobody may ever wait for.

#![allow(
    unsafe_code,
    reason = "the scheduling class of a thread is set by one call, which no library wraps"
)]

/// Lets the calling thread have a processor, from now on and for ever, only while no other thread wants it. One that wakes up
/// takes the processor away at once, as if it had been free; from a thread that merely stands back
/// ([`super::stand_back`]) it may get it as late as the next tick of the system's clock, after 4 ms.
pub fn only_when_idle() {
    #[cfg(target_os = "linux")]
    {
        let no_priority = libc::sched_param { sched_priority: 0 };
        // SAFETY: the parameter lives as long as the call; 0 is the calling thread.
        if unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const no_priority) } == 0 {
            return;
        }
    }
    super::stand_back();
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Policy of a thread, as the system tells it: the 41st field, 5 for idle work.
    fn policy() -> Option<u32> {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        fields.split_whitespace().nth(38)?.parse().ok()
    }

    #[test]
    fn only_the_calling_thread_is_told() {
        let before = policy();
        let inside = super::super::spawn("idle", || {
            only_when_idle();
            policy()
        });
        assert_eq!(inside.join().ok(), Some(Some(5)));
        assert_eq!(policy(), before);
    }
}
