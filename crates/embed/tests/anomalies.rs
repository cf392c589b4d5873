//! Anomaly scripts: each runs at every level, and must come out as the level's definition demands.
//!
//! A script (`anomalies/*.script`) is a list of lines:
//!
//! ```text
//! # prose
//! setup: SQL                      run once, before
//! a: SQL                          session a runs it; a wait is remembered and resumed when it is over
//! a: name = SQL                   the same, keeping the first value of the result
//! anomaly: expression             SQL over kept values as :name; true means that it happened
//! verdict: forbidden from LEVEL   or: forbidden at every level
//! ```
//! Sessions begin with `begin` at the level under test. A session whose statement fails is out of the
//! game; an anomaly happened only if nobody it needed failed, so values that were never read are NULL.

#![allow(clippy::unwrap_used)]

use quintet_embed::{Client, Database, DatabaseConfig, Level, Pause, Progress};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

struct Player {
    client: Client,
    waiting: Option<(Pause, Option<String>, String)>,
    out: bool,
}

struct Game {
    players: BTreeMap<String, Player>,
    values: BTreeMap<String, Option<String>>,
    trace: String,
}

impl Game {
    fn step(&mut self, name: &str, keep: Option<String>, sql: &str) {
        let player = self.players.get_mut(name).expect("made before");
        if player.out {
            writeln!(self.trace, "{name}: {sql} -- skipped").unwrap();
            return;
        }
        assert!(
            player.waiting.is_none(),
            "the script lets {name} go on while it waits\n{}",
            self.trace
        );
        let progress = player.client.start(sql);
        self.take(name, keep, sql.to_string(), progress);
        self.resume_all();
    }

    fn take(
        &mut self,
        name: &str,
        keep: Option<String>,
        sql: String,
        progress: Result<Progress, quintet_base::SqlError>,
    ) {
        let player = self.players.get_mut(name).expect("made before");
        match progress {
            Ok(Progress::Done(answers)) => {
                let rows = answers
                    .last()
                    .map(|answer| answer.text_rows())
                    .unwrap_or_default();
                writeln!(self.trace, "{name}: {sql} -> {rows:?}").unwrap();
                if let Some(keep) = keep {
                    self.values
                        .insert(keep, rows.first().and_then(|row| row[0].clone()));
                }
            }
            Ok(Progress::Waiting(pause)) if pause.is_interruptible() => {
                writeln!(self.trace, "{name}: {sql} -- waits").unwrap();
                player.waiting = Some((pause, keep, sql));
            }
            Ok(Progress::Waiting(pause)) => {
                pause.wait();
                let progress = player.client.resume();
                self.take(name, keep, sql, progress);
            }
            Err(error) => {
                writeln!(self.trace, "{name}: {sql} -> {error}").unwrap();
                player.out = true;
                // What it holds must not keep the others waiting.
                let _ = player.client.query("rollback");
            }
        }
    }

    fn resume_all(&mut self) {
        loop {
            let mut ready = None;
            for (name, player) in &mut self.players {
                if let Some((pause, _, _)) = &mut player.waiting
                    && Pin::new(pause).poll(&mut Context::from_waker(Waker::noop()))
                        == Poll::Ready(())
                {
                    ready = Some(name.clone());
                    break;
                }
            }
            let Some(name) = ready else { return };
            let player = self.players.get_mut(&name).expect("just seen");
            let (_, keep, sql) = player.waiting.take().expect("just seen");
            let progress = player.client.resume();
            self.take(&name, keep, sql, progress);
        }
    }
}

/// Plays a script at a level; returns whether the anomaly happened, and the trace.
fn play(script: &str, level: Level) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let (db, _) = Database::open(DatabaseConfig::new(dir.path())).unwrap();
    let mut game = Game {
        players: BTreeMap::new(),
        values: BTreeMap::new(),
        trace: String::new(),
    };
    let mut anomaly = None;
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (who, what) = line.split_once(": ").expect("a line is `who: what`");
        match who {
            "setup" => {
                db.client().unwrap().query(what).unwrap();
            }
            "anomaly" => anomaly = Some(what.to_string()),
            "verdict" => {}
            player => {
                game.players
                    .entry(player.to_string())
                    .or_insert_with(|| Player {
                        client: db.client().unwrap(),
                        waiting: None,
                        out: false,
                    });
                let begin = format!("begin isolation level {level}");
                let what = if what == "begin" {
                    begin.as_str()
                } else {
                    what
                };
                let (keep, sql) = match what.split_once(" = ") {
                    Some((name, sql)) if name.chars().all(|c| c.is_ascii_alphanumeric()) => {
                        (Some(name.to_string()), sql)
                    }
                    _ => (None, what),
                };
                game.step(player, keep, sql);
            }
        }
    }
    for (name, player) in &game.players {
        assert!(
            player.waiting.is_none(),
            "{name} waits for ever\n{}",
            game.trace
        );
    }
    let mut condition = anomaly.expect("a script says what its anomaly is");
    while let Some(at) = condition.find(':') {
        let end = condition[at + 1..]
            .find(|c: char| !c.is_ascii_alphanumeric())
            .map_or(condition.len(), |length| at + 1 + length);
        let value = game.values.get(&condition[at + 1..end]).cloned().flatten();
        condition.replace_range(at..end, &value.unwrap_or_else(|| "null".into()));
    }
    let answers = db
        .client()
        .unwrap()
        .query(&format!("select {condition}"))
        .unwrap();
    let happened = answers[0].text_rows()[0][0].as_deref() == Some("t");
    writeln!(game.trace, "anomaly: {condition} -> {happened}").unwrap();
    (happened, game.trace)
}

fn check(name: &str, script: &str) {
    let verdict = script
        .lines()
        .find_map(|line| line.strip_prefix("verdict: "))
        .unwrap_or_else(|| panic!("{name} has no verdict"));
    let weakest = match verdict.strip_prefix("forbidden from ") {
        Some(level) => Level::parse(level).unwrap(),
        None => {
            assert_eq!(verdict, "forbidden at every level", "{name}");
            Level::ReadCommitted
        }
    };
    for level in Level::ALL {
        let (happened, trace) = play(script, level);
        let forbidden = level >= weakest;
        assert_eq!(
            happened,
            !forbidden,
            "{name} at {level}: {} and it {}\n{trace}",
            if forbidden {
                "forbidden"
            } else {
                "must be possible, or the script shows nothing"
            },
            if happened {
                "happened"
            } else {
                "did not happen"
            },
        );
    }
}

macro_rules! scripts {
    ($($name:ident),* $(,)?) => {$(
        #[test]
        fn $name() {
            check(stringify!($name), include_str!(concat!("anomalies/", stringify!($name), ".script")));
        }
    )*};
}

scripts!(
    dirty_write,
    dirty_read,
    intermediate_read,
    fuzzy_read,
    lost_update,
    read_skew,
    write_skew,
    write_skew_by_truncate,
    phantom,
    predicate_write_skew,
    long_fork,
    stale_read,
    orphan_by_delete,
    orphan_by_insert,
    orphan_by_key_change,
    orphan_by_cascade,
    orphan_by_late_check,
    orphan_by_action_in_steps,
    shared_late_key,
    overlapping_bookings,
);
