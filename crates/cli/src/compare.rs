//! `quintet bench` of one target, or of several in turn.
//!
//! Relies on: `quintet_bench`.  Promises: all targets are loaded before the first is measured; they take turns,
//! and the report has the spread over the rounds; a password in a URL is shown nowhere.  Does not: start
//! a server; several embedded databases are open at once, each in a directory of its own.

use crate::arguments::{BenchCommand, CallArguments, CompareArguments, Target};
use crate::database::{close, open};
use crate::exit::{Code, Exit};
use crate::heap;
use crate::progress::{self, RunProgress};
use crate::scratch::Scratch;
use clap::Parser;
use quintet_bench::plot::{Line, svg};
use quintet_bench::{
    CallReport, CallRun, Comparison, Embedded, Error, Postgres, RunConfig, Stage, order,
};
use quintet_embed::{Database, DatabaseConfig};
use quintet_rt::{RealClock, RealDisk, disk::replace_file};
use quintet_workloads::Workload;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Rounds of a comparison unless told otherwise.
const ROUNDS: u32 = 3;

/// Most targets of one comparison: so many colours are told apart.
const TARGETS_MAX: usize = 4;

/// `quintet bench compare`: the command line of the workload that it names.
#[derive(Parser)]
#[command(name = "quintet bench")]
struct Named {
    #[command(subcommand)]
    command: BenchCommand,
}

/// What `quintet bench compare` asks for, as the workload's own command.
///
/// # Errors
/// Usage: no workload, or fewer than two targets. Ends the program as clap does if the workload's own options
/// are wrong.
pub fn named(arguments: &CompareArguments) -> Result<BenchCommand, Exit> {
    let mut words = arguments.options.clone();
    let mut workload = arguments.workload.clone();
    if let Some(at) = words.iter().position(|word| word == "--workload") {
        workload = words.get(at + 1).cloned();
        words.drain(at..words.len().min(at + 2));
    }
    let Some(workload) = workload else {
        return Err(usage("compare what? Name a workload, as --workload tpcc"));
    };
    let given = |word: &&String| *word == "--target" || word.starts_with("--target=");
    if words.iter().filter(given).count() < 2 {
        return Err(usage("a comparison needs --target at least twice"));
    }
    let words = ["quintet bench".to_owned(), workload]
        .into_iter()
        .chain(words);
    match Named::try_parse_from(words) {
        Ok(Named {
            command: BenchCommand::Compare(_) | BenchCommand::Ycsb(_),
        }) => Err(usage("only workloads of calls are compared; see --help")),
        Ok(named) => Ok(named.command),
        Err(error) => error.exit(),
    }
}

fn usage(message: &str) -> Exit {
    Exit::new(Code::Usage, message)
}

/// A target that is ready to be called.
enum Opened {
    Server(Box<Postgres>),
    Embedded(Box<Here>),
}

/// A database in this process.
struct Here {
    system: Embedded,
    database: Database,
    /// Gone at the end, if it was made for this.
    _scratch: Scratch,
}

impl Opened {
    fn new(target: &Target, arguments: &CallArguments) -> Result<Opened, Exit> {
        match target {
            Target::Url(url) => {
                let system = Postgres::new(url, arguments.level).map_err(failed)?;
                let system = system.with(arguments.session_settings());
                Ok(Opened::Server(Box::new(system)))
            }
            Target::Embedded => {
                let scratch = Scratch::new(arguments.data.as_deref())?;
                if arguments.populate_memory {
                    progress::say(&format!(
                        "asking the system for {} of memory",
                        arguments.memory
                    ));
                    heap::populate(arguments.memory)?;
                }
                let mut config = DatabaseConfig {
                    memory_bytes: arguments.memory.0 as usize,
                    durability: arguments.durability,
                    ..DatabaseConfig::new(scratch.path())
                };
                if let Some(lanes) = arguments.lanes {
                    config.lanes = usize::from(lanes);
                }
                let (database, _) = open(config)?;
                let group_reads = if arguments.group_reads { "on" } else { "off" };
                let mut settings = vec![("quintet.group_reads".into(), group_reads.into())];
                settings.extend(arguments.session_settings());
                Ok(Opened::Embedded(Box::new(Here {
                    system: Embedded::new(database.clone(), arguments.level).with(settings),
                    database,
                    _scratch: scratch,
                })))
            }
        }
    }

    fn run(
        &self,
        run: &CallRun,
        workload: &dyn Workload,
        tell: &mut dyn FnMut(Stage),
    ) -> Result<Option<CallReport>, Exit> {
        let clock = Arc::new(RealClock);
        let report = match self {
            Opened::Server(system) => run.execute(&**system, workload, clock, tell),
            Opened::Embedded(here) => run.execute(&here.system, workload, clock, tell),
        };
        report.map_err(failed)
    }

    fn close(self) -> Result<(), Exit> {
        match self {
            Opened::Server(_) => Ok(()),
            Opened::Embedded(here) => close(&here.database),
        }
    }
}

/// Measures a workload on its target, or on its targets in turn, and prints the report.
///
/// # Errors
/// With code 2 for targets that cannot be together, 1 if a run or a check failed.
pub fn measure(workload: &dyn Workload, arguments: &CallArguments) -> Result<(), Exit> {
    check(arguments)?;
    let opened = arguments.target.iter().map(|t| Opened::new(t, arguments));
    let opened = opened.collect::<Result<Vec<Opened>, Exit>>()?;
    let result = match &opened[..] {
        [only] => alone(only, workload, arguments),
        several => in_turn(several, workload, arguments),
    };
    opened.into_iter().try_for_each(Opened::close)?;
    result
}

fn check(arguments: &CallArguments) -> Result<(), Exit> {
    let targets = &arguments.target;
    if targets.len() > TARGETS_MAX {
        return Err(usage("at most four targets are compared"));
    }
    if targets.len() == 1 && arguments.rounds.is_some() {
        return Err(usage("--rounds are for several targets"));
    }
    let embedded = targets.iter().filter(|t| **t == Target::Embedded).count();
    if embedded > 1 && arguments.data.is_some() {
        return Err(usage(
            "--data names one directory, and --target embedded stands there twice",
        ));
    }
    Ok(())
}

fn alone(opened: &Opened, workload: &dyn Workload, arguments: &CallArguments) -> Result<(), Exit> {
    let mut run = run_of(&arguments.target[0], arguments);
    run.load |= arguments.data.is_none() && arguments.target[0] == Target::Embedded;
    let mut progress = RunProgress::new(String::new());
    let report = opened.run(&run, workload, &mut |stage| progress.tell(stage))?;
    drop(progress);
    let Some(mut report) = report else {
        return Ok(());
    };
    if let Some(path) = &arguments.plot {
        let name = named_system(&arguments.target[0], &report);
        let line = Line {
            name,
            runs: vec![report.curves()],
        };
        draw(path, &title(&report), &[line])?;
        if !arguments.timeline {
            report.timeline = None;
        }
    }
    print(match arguments.json {
        true => report.to_json(),
        false => report.to_string(),
    })
}

fn in_turn(
    opened: &[Opened],
    workload: &dyn Workload,
    arguments: &CallArguments,
) -> Result<(), Exit> {
    let targets = &arguments.target;
    let letter = |at: usize| char::from(b'A' + at as u8);
    for (at, target) in targets.iter().enumerate() {
        let mut run = run_of(target, arguments);
        run.run.seconds = 0.0;
        run.load |= arguments.data.is_none() && *target == Target::Embedded;
        if run.load || run.check {
            let mut progress = RunProgress::new(format!("{}: ", letter(at)));
            opened[at].run(&run, workload, &mut |stage| progress.tell(stage))?;
        }
    }
    if arguments.seconds == 0.0 {
        return Ok(());
    }
    let rounds = arguments.rounds.unwrap_or(ROUNDS);
    let mut reports: Vec<Vec<CallReport>> = vec![Vec::new(); targets.len()];
    for round in 0..rounds {
        for at in order(round, targets.len()) {
            let run = CallRun {
                load: false,
                seed: arguments.seed.wrapping_add(u64::from(round)),
                ..run_of(&targets[at], arguments)
            };
            let prefix = format!("round {}/{rounds}, {}: ", round + 1, letter(at));
            let mut progress = RunProgress::new(prefix);
            let report = opened[at].run(&run, workload, &mut |stage| progress.tell(stage))?;
            reports[at].extend(report);
        }
    }
    let named = targets.iter().map(target_name).zip(reports.clone());
    let mut comparison = Comparison::new(named.collect());
    if let Some(path) = &arguments.plot {
        let lines = targets.iter().zip(&reports).enumerate();
        let lines = lines.map(|(at, (target, reports))| Line {
            name: format!("{}: {}", letter(at), named_system(target, &reports[0])),
            runs: reports.iter().map(CallReport::curves).collect(),
        });
        let lines: Vec<Line> = lines.collect();
        draw(path, &title(&reports[0][0]), &lines)?;
        if !arguments.timeline {
            let runs = comparison
                .targets
                .iter_mut()
                .flat_map(|target| &mut target.rounds);
            runs.for_each(|run| run.timeline = None);
        }
    }
    print(match arguments.json {
        true => comparison.to_json(),
        false => comparison.to_string(),
    })
}

fn run_of(target: &Target, arguments: &CallArguments) -> CallRun {
    let intervals = arguments.timeline || arguments.plot.is_some();
    let embedded = *target == Target::Embedded;
    CallRun {
        run: RunConfig {
            threads: arguments.threads,
            outstanding: 1,
            rate: arguments.rate,
            timeline_seconds: intervals.then(|| f64::from(arguments.interval_ms) / 1000.0),
            warmup_seconds: arguments.warmup,
            seconds: arguments.seconds,
        },
        clients: arguments.clients,
        level: arguments.level,
        durability: embedded.then(|| arguments.durability.name()),
        target: if embedded { "embedded" } else { "wire" },
        seed: arguments.seed,
        load: arguments.load,
        check: arguments.check,
        as_is: arguments.as_is,
    }
}

/// As it was given, without a password.
fn target_name(target: &Target) -> String {
    let Target::Url(url) = target else {
        return "embedded".into();
    };
    let Some((scheme, rest)) = url.split_once("://") else {
        return "a server".into();
    };
    // What stands behind a question mark may hold a password, too.
    let rest = rest.split('?').next().unwrap_or_default();
    match rest.rsplit_once('@') {
        Some((who, place)) => {
            let user = who.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{place}")
        }
        None => format!("{scheme}://{rest}"),
    }
}

fn named_system(target: &Target, report: &CallReport) -> String {
    format!("{}, {}", report.system, target_name(target))
}

fn title(report: &CallReport) -> String {
    format!(
        "{} {}: {}; {} clients, {}",
        report.workload, report.mix, report.size, report.clients, report.level
    )
}

/// Writes a picture.
///
/// # Errors
/// With code 1.
pub fn draw(path: &Path, title: &str, lines: &[Line]) -> Result<(), Exit> {
    // A bare name is one of the current directory, which has a name of its own to be synced by.
    let path = Path::new(".").join(path);
    replace_file(&RealDisk, &path, svg(title, lines).as_bytes()).map_err(|error| {
        Exit::from_error(
            Code::Failed,
            &format!("cannot write {}", path.display()),
            &error,
        )
    })
}

fn print(text: String) -> Result<(), Exit> {
    writeln!(std::io::stdout(), "{text}")
        .map_err(|error| Exit::from_error(Code::Failed, "writing the report", &error))
}

fn failed(error: Error) -> Exit {
    Exit::from_error(Code::Failed, "the benchmark failed", &error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let shown = |url: &str| target_name(&Target::Url(url.into()));
        assert_eq!(
            shown("postgres://me:secret@host:5432/db?password=secret"),
            "postgres://me@host:5432/db"
        );
        assert_eq!(shown("postgres://me:a@b@host/db"), "postgres://me@host/db");
        assert_eq!(shown("postgres://host/db"), "postgres://host/db");
    }

    #[test]
    fn a_comparison_is_the_workloads_own_command_with_several_targets() {
        let of = |words: &[&str]| {
            let options = words.iter().map(|word| (*word).to_owned()).collect();
            named(&CompareArguments {
                workload: None,
                options,
            })
        };
        let words = [
            "--warehouses",
            "3",
            "--target",
            "embedded",
            "--workload",
            "tpcc",
        ];
        let command = of(&[&words[..], &["--target", "embedded", "--rounds", "2"]].concat());
        let Ok(BenchCommand::Tpcc(tpcc)) = command else {
            panic!("not tpcc")
        };
        assert_eq!((tpcc.warehouses, tpcc.calls.rounds), (3, Some(2)));
        assert_eq!(tpcc.calls.target.len(), 2);
        assert!(of(&words).is_err(), "one target");
        assert!(
            of(&["--target=embedded", "--target=embedded"]).is_err(),
            "no workload"
        );
        let kv = ["--workload", "compare", "--target", "a", "--target", "b"];
        assert!(of(&kv).is_err());
    }
}
