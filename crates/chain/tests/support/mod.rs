//! A driver for tests: reads scripts, plays workers, writes traces.
//!
//! Relies on: nothing but the scheduler's doors.  Promises: the same script gives the same trace.
//! Does not: judge; `world` does.
//!
//! ```text
//!   worker A [2] [behind] [holds 0,1]    joins, with so many slots
//!   submit t1 x y.z? [ro] [total] [after t0] [old] [cost 3] [pinned A]
//!   done t1 | nothing t1                 ended, with a write set or without
//!   applied t1 A    lost A    current A    cancel t1    move t1 A
//! ```
//!
//! A key is a path of letters, `*` for the empty one; with `?` it is read, otherwise written; `2:x` is in space 2.

#![allow(dead_code)] // each test file uses a part of it

pub mod world;

use quintet_base::conflict::{ConflictKey, Mode, Modes, Space};
use quintet_chain::*;
use std::fmt::Write;

pub const READ: Mode = Mode(0);
pub const WRITE: Mode = Mode(1);

/// Readers and writers in four spaces.
pub fn modes() -> Modes {
    let mut modes = Modes::new();
    for space in 0..4 {
        modes.declare(Space(space), READ, WRITE);
        modes.declare(Space(space), WRITE, WRITE);
    }
    modes
}

pub fn key(text: &str) -> ConflictKey {
    let (space, text) = text.split_once(':').unwrap_or(("0", text));
    let (mode, path) = match text.strip_suffix('?') {
        Some(path) => (READ, path),
        None => (WRITE, text),
    };
    let parts: Vec<u64> = match path {
        "*" => Vec::new(),
        path => path
            .split('.')
            .map(|part| {
                part.bytes()
                    .fold(7, |hash, byte| hash * 31 + u64::from(byte))
            })
            .collect(),
    };
    ConflictKey::new(Space(space.parse().unwrap()), mode, &parts)
}

pub fn call(text: &str) -> CallId {
    CallId(text.strip_prefix('t').unwrap().parse().unwrap())
}

fn worker(text: &str) -> WorkerId {
    WorkerId(u32::from(text.as_bytes()[0] - b'A'))
}

fn event(line: &str) -> Event {
    let mut words = line.split_whitespace();
    let verb = words.next().unwrap();
    let what = words.next().unwrap();
    match verb {
        "worker" => {
            let (mut slots, mut holds) = (1, Holds::Everything);
            let mut freshness = Freshness::Current;
            while let Some(word) = words.next() {
                match word {
                    "behind" => freshness = Freshness::Behind,
                    "holds" => {
                        let spaces = words.next().unwrap().split(',');
                        holds = Holds::Spaces(spaces.map(|s| Space(s.parse().unwrap())).collect());
                    }
                    number => slots = number.parse().unwrap(),
                }
            }
            Event::WorkerJoined {
                worker: worker(what),
                slots,
                holds,
                freshness,
            }
        }
        "submit" => {
            let mut submission = Submission::new(call(what), Vec::new());
            while let Some(word) = words.next() {
                match word {
                    "ro" => submission.access = Access::ReadOnly,
                    "total" => submission.guarantee = Guarantee::Total,
                    "old" => submission.arrival = 0,
                    "after" => submission.after.push(call(words.next().unwrap())),
                    "cost" => submission.cost = words.next().unwrap().parse().unwrap(),
                    "pinned" => submission.pinned = Some(worker(words.next().unwrap())),
                    text => submission.keys.push(key(text)),
                }
            }
            Event::Submitted(submission)
        }
        "done" | "nothing" => Event::Executed {
            call: call(what),
            wrote: match verb {
                "done" => Wrote::Something,
                _ => Wrote::Nothing,
            },
        },
        "applied" => Event::Applied {
            call: call(what),
            worker: worker(words.next().unwrap()),
        },
        "lost" => Event::WorkerLost {
            worker: worker(what),
        },
        "current" => Event::CaughtUp {
            worker: worker(what),
        },
        "cancel" => Event::Cancelled { call: call(what) },
        "move" => Event::Moved {
            call: call(what),
            pinned: words.next().map(worker),
        },
        other => panic!("no such event: {other}"),
    }
}

fn write_effect(out: &mut String, scheduler: &Scheduler, effect: &Effect) {
    let name = |worker: &WorkerId| char::from(b'A' + worker.0 as u8);
    let _ = match effect {
        Effect::Queue { call, worker } => {
            let after = scheduler.after(*call);
            let _ = write!(out, "  queue t{} at {}", call.0, name(worker));
            let after: Vec<String> = after.iter().map(|call| format!("t{}", call.0)).collect();
            match after.is_empty() {
                true => writeln!(out),
                false => writeln!(out, " after {}", after.join(" ")),
            }
        }
        Effect::Run { call, worker } => writeln!(out, "  run t{} at {}", call.0, name(worker)),
        Effect::Apply {
            call,
            worker,
            position,
        } => writeln!(
            out,
            "  apply t{} at {} as {}",
            call.0,
            name(worker),
            position.0
        ),
        Effect::Answer { call } => writeln!(out, "  answer t{}", call.0),
        Effect::Refuse { call, reason } => writeln!(out, "  refuse t{}: {reason:?}", call.0),
        Effect::Cancel { call } => writeln!(out, "  cancel t{}", call.0),
        Effect::Kill { call, worker } => writeln!(out, "  kill t{} at {}", call.0, name(worker)),
    };
}

/// Plays a script on a scheduler and checks the trace. Lines that begin with two spaces are effects.
pub fn check(config: Config, script: &str) {
    let mut scheduler = Scheduler::new(config);
    let script: Vec<&str> = script
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let margin = script[0].len() - script[0].trim_start().len();
    let script: Vec<&str> = script.iter().map(|line| &line[margin..]).collect();
    let mut trace = String::new();
    for line in script.iter().filter(|line| !line.starts_with("  ")) {
        let _ = writeln!(trace, "{line}");
        let mut effects = Vec::new();
        scheduler.handle(event(line), &mut effects);
        for effect in &effects {
            write_effect(&mut trace, &scheduler, effect);
        }
        scheduler.check();
    }
    let expected = script.join("\n") + "\n";
    assert!(trace == expected, "this is what happened:\n{trace}");
}
