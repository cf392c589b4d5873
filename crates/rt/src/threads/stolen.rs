//! How much of the machine's processors its host has given to others.
//!
//! Relies on: Linux's `/proc/stat`, to which a host tells it, as many do.  Promises: what is told, to a hundredth of a second.
//! Does not: see what a host does not tell: a processor that runs, but slower.

use std::time::Duration;

/// Units of time in the file: hundredths of a second, on every platform that Linux runs on.
const UNITS_PER_SECOND: u64 = 100;

/// Where the time stands in the first line: `cpu user nice system idle iowait irq softirq steal …`.
const FIELD: usize = 8;

/// Time for which a processor of this machine wanted to run and its host let something else run, since the machine was
/// started, all processors together. `None`: the system does not tell.
pub fn stolen() -> Option<Duration> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?)
}

fn parse(stat: &str) -> Option<Duration> {
    let mut fields = stat.lines().next()?.split_ascii_whitespace();
    let units: u64 = match fields.next()? {
        "cpu" => fields.nth(FIELD - 1)?.parse().ok()?,
        _ => return None,
    };
    let milliseconds = units.checked_mul(1000 / UNITS_PER_SECOND)?;
    Some(Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eighth_of_all_processors_times_is_what_was_stolen() {
        let stat =
            "cpu  1514484 16009 352478 2759532 50965 0 25257 117 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(parse(stat), Some(Duration::from_millis(1170)));
        for other in ["", "cpu 1 2 3 4 5 6 7\n", "intr 1 2 3 4 5 6 7 8 9\n"] {
            assert_eq!(parse(other), None, "{other:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_system_tells() {
        assert!(stolen().is_some());
    }
}
