//! Runs seeds and tells of the first that fails.
//!
//! ```text
//! quintet-sim --seeds 100000 [--from N]     many
//! quintet-sim --seed N [--trace]            one, with everything that happened
//! ```
//! A seed that hangs, or that aborts the process, is named as well.

use quintet_rt::{Clock, RealClock, threads};
use quintet_sim::{Run, Seen, run, run_once};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Seeds between two lines of progress.
const PROGRESS: u64 = 1000;

/// A seed takes milliseconds; one that takes so long spins.
const HANGS_AFTER: Duration = Duration::from_secs(60);

/// The seed that runs now. Written by the main thread, read when something is wrong with it.
static AT: AtomicU64 = AtomicU64::new(0);

#[derive(Default)]
struct Asked {
    from: u64,
    seeds: u64,
    seed: Option<u64>,
    trace: bool,
}

fn asked(mut words: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut asked = Asked {
        seeds: 1000,
        ..Asked::default()
    };
    while let Some(word) = words.next() {
        let mut number = || {
            let text = words
                .next()
                .ok_or_else(|| format!("{word} wants a number"))?;
            text.parse().map_err(|_| format!("{text} is no number"))
        };
        match word.as_str() {
            "--seeds" => asked.seeds = number()?,
            "--from" => asked.from = number()?,
            "--seed" => asked.seed = Some(number()?),
            "--trace" => asked.trace = true,
            other => return Err(format!("unknown: {other}")),
        }
    }
    Ok(asked)
}

fn many(asked: &Asked) -> Option<Run> {
    let begun = RealClock.monotonic_nanos();
    let (mut seen, mut events) = (Seen::default(), 0);
    for done in 0..asked.seeds {
        AT.store(asked.from + done, Ordering::Relaxed);
        let run = run(asked.from + done, None);
        if run.failure.is_some() {
            return Some(run);
        }
        seen += run.seen;
        events += run.events;
        if (done + 1) % PROGRESS == 0 || done + 1 == asked.seeds {
            let seconds = (RealClock.monotonic_nanos() - begun) as f64 / 1e9;
            let rate = (done + 1) as f64 / seconds;
            println!("{} seeds, {events} events, {rate:.0} seeds/s", done + 1);
        }
    }
    for (name, count) in seen.counters() {
        println!("{name:>18} {count}");
    }
    None
}

/// Names the seed when the process is about to end without a word, or never.
fn watch() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        eprintln!("at seed {}:", AT.load(Ordering::Relaxed));
        told(panic);
    }));
    threads::spawn("watch", || {
        loop {
            let before = AT.load(Ordering::Relaxed);
            RealClock.sleep(HANGS_AFTER);
            if AT.load(Ordering::Relaxed) == before {
                eprintln!("seed {before} hangs");
                std::process::exit(1);
            }
        }
    });
}

fn main() -> ExitCode {
    let asked = match asked(std::env::args().skip(1)) {
        Ok(asked) => asked,
        Err(reason) => {
            eprintln!(
                "{reason}\nquintet-sim [--seeds COUNT] [--from SEED] | --seed SEED [--trace]"
            );
            return ExitCode::FAILURE;
        }
    };
    watch();
    // The grain is part of what a seed means.
    let grain = match cfg!(feature = "inside") {
        true => " --features inside",
        false => "",
    };
    let failed = match asked.seed {
        Some(seed) => {
            AT.store(seed, Ordering::Relaxed);
            let run = run_once(seed, None, if asked.trace { usize::MAX } else { 0 });
            println!("{run}");
            run.failure.map(|_| seed)
        }
        None => many(&asked).map(|run| {
            println!("{run}");
            run.seed
        }),
    };
    let Some(seed) = failed else {
        return ExitCode::SUCCESS;
    };
    println!("again: cargo run --release -p quintet-sim{grain} -- --seed {seed} --trace");
    ExitCode::FAILURE
}
