//! A process that merges and checkpoints is killed twenty times at random moments; each time the
//! store is opened and compared with all that it may hold.
//!
//! The child is this test program again, running [`the_process_that_is_killed`]. Its work is a
//! function of the round, so parent and child need to agree on nothing but round numbers:
//!
//! ```text
//!  child    begin 8 ─ merge.. ─ begin 9 ─ merge.. ─ checkpoint(9) ─ stable 9 ─ begin 10 ─ mer╳
//!  allowed after the kill:  redo start in 9..=10; each record as after some round from there on
//! ```
#![allow(clippy::unwrap_used)]

use quintet_base::{Bytes, Lsn, SpaceId};
use quintet_dc::{Change, DataComponent, Direction, KeyRange, Operation, Record};
use quintet_dc_lsm::{LsmConfig, LsmStore};
use quintet_rt::{Clock, Rand, RealClock};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const KILLS: u32 = 20;
const DIRECTORY_VARIABLE: &str = "QUINTET_KILL_TEST_DIRECTORY";
const SPACES: [SpaceId; 3] = [SpaceId(1), SpaceId(2), SpaceId(3)];
/// Dropped in every tenth round, and made anew by the next one that writes into it.
const DROPPED: SpaceId = SpaceId(3);
const KEYS: u64 = 1500;
const ROUNDS_BETWEEN_CHECKPOINTS: u64 = 3;
/// Far more than one life has time for; ends a child whose parent is gone.
const ROUNDS_MAX: u64 = 1_000_000;

type Records = BTreeMap<Bytes, Record>;
type State = BTreeMap<SpaceId, Records>;

#[test]
fn a_store_killed_at_random_moments_keeps_what_it_answered_for() {
    let seed = Rand::from_os().next_u64();
    eprintln!("seed {seed} (the moments of the kills are the machine's)");
    let mut random = Rand::seeded(seed);
    let directory = tempfile::tempdir().unwrap();
    let mut state = State::new(); // at the redo start
    let mut redo_start = 0;
    let mut begun = 0; // the last round that any child began
    for kill in 0..KILLS {
        let child = start(directory.path());
        let lines = 1 + random.below(24);
        let pause = Duration::from_micros(random.below(40_000));
        let (last_begun, last_stable) = run_and_kill(child, lines, pause);
        begun = begun.max(last_begun);
        let least = redo_start.max(last_stable);

        let store = LsmStore::open(&config(directory.path())).unwrap();
        let found = store.redo_start().0;
        assert!(
            (least..=begun).contains(&found),
            "kill {kill}: redo start {found}, stable was {least}, begun {begun}"
        );
        for round in redo_start + 1..=found {
            apply(&mut state, round);
        }
        redo_start = found;
        verify(&store, &state, redo_start, begun, kill);
    }
    assert!(
        redo_start > u64::from(KILLS),
        "only {redo_start} rounds were made stable"
    );
}

/// Not a test of its own: the body of the child process, and nothing without the variable.
#[test]
fn the_process_that_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY_VARIABLE) else {
        return;
    };
    let store = LsmStore::open(&config(Path::new(&directory))).unwrap();
    let mut out = std::io::stdout();
    for round in store.redo_start().0 + 1..ROUNDS_MAX {
        writeln!(out, "\nbegin {round}").unwrap();
        out.flush().unwrap();
        for space in SPACES {
            if drops(round, space) {
                store.drop_space(space).unwrap();
            }
            store
                .merge(space, &mut run(round, space).into_iter())
                .unwrap();
        }
        if round.is_multiple_of(ROUNDS_BETWEEN_CHECKPOINTS) {
            store.checkpoint(Lsn(round)).unwrap();
            writeln!(out, "\nstable {round}").unwrap();
            out.flush().unwrap();
        }
    }
}

fn start(directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "the_process_that_is_killed",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(DIRECTORY_VARIABLE, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets the child say `lines` lines, waits a little, kills it; returns the last round it began and
/// the last it reported stable.
fn run_and_kill(mut child: Child, lines: u64, pause: Duration) -> (u64, u64) {
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let (mut begun, mut stable, mut said) = (0, 0, 0);
    let mut killed = false;
    loop {
        if said >= lines && !killed {
            RealClock.sleep(pause);
            child.kill().unwrap();
            killed = true;
        }
        // What it said before the kill is still in the pipe.
        let Some(Ok(line)) = output.next() else {
            break;
        };
        match line.split_once(' ') {
            Some(("begin", round)) => begun = round.parse().unwrap_or(begun),
            Some(("stable", round)) => stable = round.parse().unwrap_or(stable),
            _ => continue,
        }
        said += 1;
    }
    child.wait().unwrap();
    assert!(killed, "the child ended by itself after round {begun}");
    (begun, stable)
}

/// Each record must be as it was after some round from the redo start to the last that was begun.
fn verify(store: &LsmStore, state: &State, redo_start: u64, begun: u64, kill: u32) {
    let mut allowed: BTreeMap<(SpaceId, Bytes), Vec<Option<Record>>> = BTreeMap::new();
    let mut later = state.clone();
    for round in redo_start..=begun {
        if round > redo_start {
            apply(&mut later, round);
        }
        for space in SPACES {
            for key in (0..KEYS).map(key) {
                let record = later
                    .get(&space)
                    .and_then(|records| records.get(&key))
                    .cloned();
                let records = allowed.entry((space, key)).or_default();
                if round > redo_start && drops(round, space) {
                    records.push(None); // dropped, and the merge after it is lost
                }
                if !records.contains(&record) {
                    records.push(record);
                }
            }
        }
    }
    let generation = store.generation();
    for space in SPACES {
        let mut scan = generation
            .scan(space, &KeyRange::all(), Direction::Forward)
            .unwrap();
        let mut found = Records::new();
        while let Some((key, record)) = scan.next().unwrap() {
            assert!(found.last_key_value().is_none_or(|(last, _)| *last < key));
            found.insert(key, record);
        }
        for key in (0..KEYS).map(key) {
            let record = found.remove(&key);
            let allowed = &allowed[&(space, key.clone())];
            assert!(
                allowed.contains(&record),
                "kill {kill}, redo start {redo_start}, begun {begun}: space {space} {key:?} is \
                 {record:?}, not one of {allowed:?}"
            );
            assert_eq!(generation.get(space, &key).unwrap(), record);
        }
        assert!(found.is_empty(), "never merged: {found:?}");
    }
}

fn apply(state: &mut State, round: u64) {
    for space in SPACES {
        if drops(round, space) {
            state.remove(&space);
        }
        let records = state.entry(space).or_default();
        for operation in run(round, space) {
            match operation.change {
                Change::Put(value) => {
                    let (position, value) = (operation.position, value.into_bytes());
                    let key = operation.key.into_bytes();
                    records.insert(key, Record { position, value });
                }
                Change::Remove => {
                    records.remove(&*operation.key);
                }
            }
        }
    }
}

fn drops(round: u64, space: SpaceId) -> bool {
    space == DROPPED && round.is_multiple_of(10)
}

fn key(number: u64) -> Bytes {
    format!("{number:05}").into()
}

/// The run of a round: up to 150 keys, a fifth of them removed.
fn run(round: u64, space: SpaceId) -> Vec<Operation<'static>> {
    let mut random = Rand::seeded(round * 10 + u64::from(space.0));
    let mut run = BTreeMap::new();
    for _ in 0..random.below(150) {
        let change = if random.below(5) == 0 {
            Change::Remove
        } else {
            let length = random.below(200) as usize;
            Change::Put(vec![round as u8; length].into())
        };
        run.insert(key(random.below(KEYS)), change);
    }
    let operation = |(key, change): (Bytes, _)| Operation {
        key: key.into(),
        position: Lsn(round),
        change,
    };
    run.into_iter().map(operation).collect()
}

/// Compactions come as soon as there is something to compact.
fn config(directory: &Path) -> LsmConfig {
    LsmConfig {
        quiet: Duration::ZERO,
        ..LsmConfig::new(directory)
    }
}
