//! Clients of one node: so many calls under way, each answer followed by the next call.
//!
//! Relies on: `frame`.  Promises: figures are of answers that came in the measured interval; with a node gone its calls
//! count as unknown and the clients come back.  Does not: pace.

use super::frame::{Frame, HostStats, VERSION, read, write};
use super::{NodesError, NodesWorkload};
use hdrhistogram::Histogram;
use quintet_nodes::workload::Transfers;
use quintet_nodes::{Call, Key, NodeId, Outcome};
use quintet_rt::{Clock, Rand, RealClock};
use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Latencies up to a minute, in microseconds.
const LATENCY_MICROS_MAX: u64 = 60_000_000;

/// When what is answered counts.
#[derive(Debug, Default)]
pub struct Window {
    /// Set by whoever measures, read by clients; nothing else hangs on it.
    pub measuring: AtomicBool,
    /// The same.
    pub over: AtomicBool,
    /// Answers so far, of all clients.
    pub answered: AtomicU64,
}

/// A call that was given in, and what became of it.
pub type Fate = (Vec<(NodeId, Key)>, Option<Outcome>);

/// What clients of a node saw.
#[derive(Debug)]
pub struct Seen {
    /// Committed.
    pub committed: u64,
    /// Raised.
    pub raised: u64,
    /// Nobody knows.
    pub unknown: u64,
    /// From giving in to answer.
    pub micros: Histogram<u64>,
    /// For the audit: calls that left marks, if that was asked.
    pub fates: Vec<Fate>,
}

/// Connects as a client.
pub fn connect(address: &str) -> io::Result<(TcpStream, BufReader<TcpStream>)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    write(&mut stream, &Frame::Client(VERSION))?;
    let reader = BufReader::with_capacity(1 << 16, stream.try_clone()?);
    Ok((stream, reader))
}

/// What a node has done.
pub fn ask(address: &str) -> Result<HostStats, NodesError> {
    let asked = || {
        let (mut stream, mut reader) = connect(address)?;
        write(&mut stream, &Frame::Ask)?;
        match read(&mut reader)? {
            Frame::Stats(stats) => Ok(stats),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    };
    asked().map_err(NodesError::system("a node does not say what it did"))
}

/// Runs calls one after the other, each answered.
pub fn run_all(address: &str, calls: Vec<Call>) -> Result<Vec<Outcome>, NodesError> {
    let run = || {
        let (mut stream, mut reader) = connect(address)?;
        let count = calls.len();
        let mut outcomes = vec![Outcome::Unknown; count];
        let mut left = count;
        let mut calls = (0..).zip(calls);
        let mut under_way = 0;
        while left > 0 {
            let more: Vec<(u64, Call)> = calls.by_ref().take(256 - under_way).collect();
            under_way += more.len();
            if !more.is_empty() {
                write(&mut stream, &Frame::Calls(more))?;
            }
            let Frame::Answers(answers) = read(&mut reader)? else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            for (number, outcome) in answers {
                outcomes[number as usize] = outcome;
                left -= 1;
                under_way -= 1;
            }
        }
        Ok(outcomes)
    };
    run().map_err(NodesError::system("a node does not answer"))
}

/// Keeps `outstanding` calls under way at a node until the window is over.
pub fn drive(
    address: &str,
    home: NodeId,
    workload: &NodesWorkload,
    outstanding: usize,
    seed: u64,
    window: &Arc<Window>,
) -> Seen {
    let mut calls = workload.build();
    let audit = matches!(workload, NodesWorkload::Transfers(..));
    let mut rand = Rand::seeded(seed);
    let mut seen = Seen {
        committed: 0,
        raised: 0,
        unknown: 0,
        micros: Histogram::new_with_bounds(1, LATENCY_MICROS_MAX, 3).expect("bounds in order"),
        fates: Vec::new(),
    };
    let mut number = 0;
    while !window.over.load(Ordering::Relaxed) {
        let Ok((mut stream, mut reader)) = connect(address) else {
            RealClock.sleep(Duration::from_millis(20));
            continue;
        };
        // When it was given in, and where its fate is written down.
        let mut under_way: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
        let mut room = outstanding;
        let result: io::Result<()> = (|| {
            loop {
                let now = RealClock.monotonic_nanos();
                let mut more = Vec::with_capacity(room);
                for _ in 0..room {
                    number += 1;
                    let call = calls.next(home, &mut rand);
                    if audit {
                        seen.fates.push((Transfers::marks(&call), None));
                    }
                    under_way.insert(number, (now, seen.fates.len().wrapping_sub(1)));
                    more.push((number, call));
                }
                write(&mut stream, &Frame::Calls(more))?;
                let Frame::Answers(answers) = read(&mut reader)? else {
                    return Err(io::ErrorKind::InvalidData.into());
                };
                room = answers.len();
                let now = RealClock.monotonic_nanos();
                let measuring = window.measuring.load(Ordering::Relaxed);
                window
                    .answered
                    .fetch_add(answers.len() as u64, Ordering::Relaxed);
                for (number, outcome) in answers {
                    let Some((began, fate)) = under_way.remove(&number) else {
                        continue;
                    };
                    if measuring {
                        match &outcome {
                            Outcome::Committed(_) => seen.committed += 1,
                            Outcome::Raised => seen.raised += 1,
                            Outcome::Unknown => seen.unknown += 1,
                        }
                        seen.micros.saturating_record((now - began) / 1_000);
                    }
                    if let Some(fate) = seen.fates.get_mut(fate).filter(|_| audit) {
                        fate.1 = Some(outcome);
                    }
                }
                if window.over.load(Ordering::Relaxed) {
                    return Ok(());
                }
            }
        })();
        if result.is_err() {
            seen.unknown += under_way.len() as u64;
        }
    }
    seen
}
