//! Opening a directory, in words; and `quintet sql`, which needs little more.
//!
//! Relies on: `embed`.  Promises: a directory in use, damaged or foreign each ends with its own exit
//! code and a hint.  Does not: repair.

use crate::arguments::SqlArguments;
use crate::exit::{Code, Exit};
use crate::input::{FileReader, Input};
use crate::quantity::approximate;
use crate::shell::{Shell, Stop};
use quintet_embed::{
    Database, DatabaseConfig, Error, OpenReport, Recovery, RecoveryProgress, Warmed,
};
use quintet_rt::{Disk, OpenMode, RealClock, RealDisk};
use std::io::{BufReader, IsTerminal, Read, Write, stderr, stdin, stdout};
use std::path::Path;
use std::sync::Arc;

/// From so much log on, its rate says something about the machine.
const RATE_FROM_BYTES: u64 = 16 << 20;

/// How often a load says how far it is, in nanoseconds.
pub const PROGRESS_NS: u64 = 500_000_000;

/// Opens a directory.
///
/// # Errors
/// With code 3 if another process has it, else 4.
pub fn open(config: DatabaseConfig) -> Result<(Database, OpenReport), Exit> {
    open_telling(config, &mut |_| {}, |_| {})
}

/// As [`open`]; what takes long is told, see [`Database::open_telling`].
///
/// # Errors
/// As [`open`].
pub fn open_telling(
    config: DatabaseConfig,
    progress: &mut dyn FnMut(&RecoveryProgress),
    warmed: impl FnOnce(Warmed) + Send + 'static,
) -> Result<(Database, OpenReport), Exit> {
    let data = config.data.display().to_string();
    Database::open_telling(config, progress, warmed).map_err(|error| {
        let exit = Exit::from_error(code(&error), &format!("cannot open {data}"), &error);
        match &error {
            Error::InUse(_) => exit.hint(
                "A server or shell has it open. Talk to the server with psql, or stop it first.",
            ),
            Error::Format { .. } => {
                exit.hint("Name a directory that is empty, new, or made by this version.")
            }
            _ => exit,
        }
    })
}

/// The exit code that goes with an error of opening.
pub fn code(error: &Error) -> Code {
    match error {
        Error::InUse(_) => Code::InUse,
        _ => Code::Data,
    }
}

/// Closes, so that nothing committed is lost whatever the durability.
///
/// # Errors
/// With code 4.
pub fn close(database: &Database) -> Result<(), Exit> {
    database
        .close()
        .map_err(|error| Exit::from_error(Code::Data, "cannot close the database", &error))
}

/// What opening did, for humans: `new`, or what was replayed.
pub fn describe(report: &OpenReport) -> String {
    if report.created {
        return "new".into();
    }
    let OpenReport {
        recovery, seconds, ..
    } = report;
    let mut text = format!(
        "{} commits with {} changes replayed from {} of log in {seconds:.2} s",
        recovery.commits,
        recovery.changes,
        approximate(recovery.bytes()),
    );
    if let Some(rate) = rate(&report.recovery) {
        text.push_str(&format!(" ({}/s)", approximate(rate as u64)));
    }
    if report.log.cut_bytes > 0 {
        text.push_str(&format!(
            "; {} bytes of an unfinished write cut off",
            report.log.cut_bytes
        ));
    }
    if report.orphans > 0 {
        text.push_str(&format!("; {} unfinished tables removed", report.orphans));
    }
    text
}

/// Bytes of log in a second, if there was enough of it to tell.
fn rate(recovery: &Recovery) -> Option<f64> {
    let rate = recovery.bytes_per_second();
    (recovery.bytes() >= RATE_FROM_BYTES && rate > 0.0).then_some(rate)
}

/// How long the next recovery can be, for humans.
pub fn describe_bound(report: &OpenReport) -> String {
    let bytes = approximate(report.replay_bytes_max);
    let mut text = format!("a crash leaves at most {bytes} of log to replay");
    if let Some(rate) = rate(&report.recovery) {
        let seconds = report.replay_bytes_max as f64 / rate;
        text.push_str(&format!(", {seconds:.0} s at the rate of this time"));
    }
    text
}

/// Reads a whole text file.
///
/// # Errors
/// Usage: the file was named by the user.
pub fn read_text(path: &Path) -> Result<String, Exit> {
    let wrong = |error: &dyn std::error::Error| {
        Exit::from_error(
            Code::Usage,
            &format!("cannot read {}", path.display()),
            error,
        )
    };
    let file = RealDisk
        .open(path, OpenMode::Read)
        .map_err(|error| wrong(&error))?;
    let mut text = String::new();
    FileReader::new(file)
        .read_to_string(&mut text)
        .map_err(|error| wrong(&error))?;
    Ok(text)
}

/// `quintet sql`.
///
/// # Errors
/// With code 1 if a statement failed.
pub fn sql(arguments: &SqlArguments) -> Result<(), Exit> {
    let script = match &arguments.file {
        Some(path) => {
            let file = RealDisk.open(path, OpenMode::Read);
            let wrong = |error| {
                Exit::from_error(
                    Code::Usage,
                    &format!("cannot read {}", path.display()),
                    &error,
                )
            };
            Some((path.display().to_string(), file.map_err(wrong)?))
        }
        None => None,
    };
    let config = DatabaseConfig {
        memory_bytes: arguments.memory.0 as usize,
        durability: arguments.durability,
        ..DatabaseConfig::new(&arguments.data)
    };
    let (database, report) = open(config)?;
    let human = arguments.command.is_none() && script.is_none() && stdin().is_terminal();
    let (mut out, mut errors) = (stdout(), stderr());
    if human {
        let _ = writeln!(
            out,
            "quintet {} on {}: {}",
            env!("CARGO_PKG_VERSION"),
            arguments.data.display(),
            describe(&report)
        );
        let _ = writeln!(
            out,
            "Statements end with a semicolon; \\? helps, \\q quits."
        );
    }
    let mut shell = database
        .named(&arguments.database)
        .and_then(|database| Shell::open(database, Arc::new(RealClock), &mut out, &mut errors))
        .map_err(|error| Exit::from_error(Code::Failed, "cannot open a session", &error))?;
    shell.timing = arguments.timing;
    let result = match (&arguments.command, script) {
        (Some(text), _) => shell.text(text, &mut Input::script(BufReader::new(stdin()))),
        (None, Some((name, file))) => {
            let mut progress = Progress::new(file.len().unwrap_or(0));
            let mut input = Input::script(BufReader::new(FileReader::new(file)));
            let mut step = |bytes: u64| progress.step(bytes);
            shell.script(&mut input, &name, &mut step)
        }
        (None, None) if human => shell.interact(&mut Input::terminal(BufReader::new(stdin()))),
        (None, None) => shell.script(
            &mut Input::script(BufReader::new(stdin())),
            "stdin",
            &mut |_| {},
        ),
    };
    drop(shell);
    close(&database)?;
    result.map_err(|stop| match stop {
        // What failed has been told.
        Stop::Failed => Exit::new(Code::Failed, ""),
        Stop::Io(error) => Exit::from_error(Code::Failed, "input or output failed", &error),
    })
}

/// Tells a human at a terminal how far a load is, now and then.
pub struct Progress {
    total: u64,
    told_ns: u64,
    shown: bool,
}

impl Progress {
    /// Of a known total; 0 says unknown.
    pub fn new(total: u64) -> Progress {
        Progress {
            total,
            told_ns: now(),
            shown: false,
        }
    }

    /// So many are done.
    pub fn step(&mut self, done: u64) {
        if !stderr().is_terminal() || now() - self.told_ns < PROGRESS_NS {
            return;
        }
        self.told_ns = now();
        self.shown = true;
        let share = (done.min(self.total) * 100)
            .checked_div(self.total)
            .unwrap_or(0);
        // Progress is a courtesy: if it cannot be shown, the load goes on.
        let _ = write!(stderr(), "\r  {share:>3} % ");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(stderr(), "\r        \r");
        }
    }
}

fn now() -> u64 {
    quintet_rt::Clock::monotonic_nanos(&RealClock)
}
