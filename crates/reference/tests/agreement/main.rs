//! The fast executor agrees with the reference: the same procedure over the same tables, from random
//! programs that are valid by construction.
//!
//! A difference prints the seed of its case; `QUINTET_AGREEMENT_SEED=seed` runs that case alone and prints
//! all of it. `QUINTET_AGREEMENT_CASES=n` runs so many cases.

mod broken;
mod case;
mod dice;
mod engine;
mod exprs;
mod listener;
mod plans;
mod planted;
mod routines;
mod tables;
mod walk;

use case::Case;
use quintet_ir::code::Code;
use quintet_ir::schema::TableRef;
use quintet_ir::{text, validate};

/// Some seconds in a debug build.
const CASES: u64 = 600;

/// An engine keeps all tables that it was ever given.
const CASES_PER_ENGINE: u64 = 1_000;

/// A planted mistake must be found by then.
const CASES_TO_FIND: u64 = 1_000;

/// Programs that are written and read.
const ROUND_TRIPS: u64 = 200;

/// Programs that each kind of fault is planted into.
const CASES_TO_BREAK: u64 = 40;

/// So many are shown at most.
const DIFFERENCES_MAX: usize = 8;

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// Goal: no program tells the two apart. Cases have seeds of their own, so one can be run alone.
#[test]
fn the_fast_executor_agrees_with_the_reference() {
    let mut direct = engine::open();
    if let Some(seed) = setting("QUINTET_AGREEMENT_SEED") {
        let case = Case::new(seed);
        println!("{}", case.describe());
        if let Some(difference) = case.difference(&direct, None) {
            panic!("{difference}");
        }
        return;
    }
    let cases = setting("QUINTET_AGREEMENT_CASES").unwrap_or(CASES);
    println!("cases 0..{cases}");
    let mut differences = Vec::new();
    for seed in 0..cases {
        if seed % CASES_PER_ENGINE == 0 {
            direct = engine::open();
        }
        if let Some(difference) = Case::new(seed).difference(&direct, None) {
            differences.push(format!("case {seed}: {difference}"));
            if differences.len() == DIFFERENCES_MAX {
                break;
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Goal: the comparison would notice a mistake: each of the planted ones is found, and soon.
#[test]
fn planted_mistakes_are_found() {
    for (name, plant) in planted::MISTAKES {
        let direct = engine::open();
        let mut seeds = 0..CASES_TO_FIND;
        let found = seeds.find(|seed| {
            let case = Case::new(*seed);
            case.difference(&direct, Some(*plant)).is_some()
        });
        println!("{name}: case {found:?}");
        assert!(found.is_some(), "nobody noticed that {name}");
    }
}

/// Goal: the random programs are valid, and each reads back as it was written.
#[test]
fn a_program_is_valid_and_reads_back_as_it_was_written() {
    for seed in 0..ROUND_TRIPS {
        let case = Case::new(seed);
        let tables = case.tables();
        let find = |schema: &str, name: &str| {
            let named = |table: &&TableRef| table.schema == schema && table.name == name;
            tables.iter().find(named).cloned()
        };
        let program = routines::program(case.routines);
        if let Err(fault) = validate::program(&program) {
            panic!("case {seed}: {fault} in\n{}", text::write(&program));
        }
        let text = text::write(&program);
        let back = text::read(&text, &find).unwrap_or_else(|error| {
            panic!("case {seed}: {error} of\n{text}");
        });
        let (before, after) = (
            format!("{:?}", program.routines),
            format!("{:?}", back.routines),
        );
        assert_eq!(before, after, "case {seed}: {text}");
        assert_eq!(text, text::write(&back), "case {seed}");
    }
}

/// Goal: what is no program is not taken for one. Every kind of fault is planted into some programs, and each
/// time the validator says so.
#[test]
fn broken_programs_are_found() {
    for (name, break_it) in broken::BREAKAGES {
        let mut found = 0;
        for seed in 0..CASES_TO_BREAK {
            let mut routines = Case::new(seed).routines;
            if !break_it(&mut routines) {
                continue;
            }
            let program = routines::program(routines);
            if validate::program(&program).is_ok() {
                panic!("{name}, case {seed}:\n{}", text::write(&program));
            }
            found += 1;
        }
        assert!(found > 0, "{name}: there was nothing to break");
    }
    for (name, break_it) in broken::BROKEN_CODE {
        let mut found = 0;
        for seed in 0..CASES_TO_BREAK {
            for routine in Case::new(seed).routines {
                let mut code = Code::new(&routine);
                if break_it(&mut code) {
                    let checked = validate::code(&code, &routine);
                    assert!(checked.is_err(), "{name}, case {seed}");
                    found += 1;
                }
            }
        }
        assert!(found > 0, "{name}: there was nothing to break");
    }
}
