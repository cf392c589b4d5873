//! `quintet classify`: footprints of procedures, and which calls of them conflict.
//!
//! Relies on: `sql` for reading the scripts into a catalogue in memory, `analysis` for everything that is said.
//! Promises: nothing is run, kept or connected to; the same scripts print the same.  Does not: read a data
//! directory, or rows.

use crate::arguments::ClassifyArguments;
use crate::database::read_text;
use crate::exit::{Code, Exit};
use quintet_analysis::report::why_no_key;
use quintet_analysis::{Cause, Classes, Footprint, Granularity, MarkText, Rule, report};
use quintet_base::Level;
use quintet_sql::Catalog;
use serde_json::{Value, json};
use std::io::Write;

/// `quintet classify`.
///
/// # Errors
/// With code 2 for a file that cannot be read or a workload that is none, 1 for a script that is wrong.
pub fn classify(arguments: &ClassifyArguments) -> Result<(), Exit> {
    let mut catalog = Catalog::load([]).map_err(|error| wrong("an empty catalogue", &error))?;
    for (name, text) in scripts(arguments)? {
        catalog = catalog
            .with_script(&text)
            .map_err(|error| wrong(&name, &error))?;
    }
    let mut footprints = Vec::new();
    let mut unknown = Vec::new();
    for (name, program) in catalog.programs() {
        let program = program.map_err(|error| wrong(&name, &error))?;
        match program.has_dynamic() {
            true => unknown.push(name),
            false => footprints.push(Footprint::of(&program)),
        }
    }
    if footprints.is_empty() && unknown.is_empty() {
        return Err(
            Exit::new(Code::Failed, "no procedure or function is created")
                .hint("Name the files with CREATE PROCEDURE or CREATE FUNCTION, too."),
        );
    }
    let rule = Rule {
        level: arguments.level,
        granularity: arguments.granularity,
    };
    let classes = Classes::new(footprints, rule);
    let text = match arguments.json {
        true => as_json(&classes, &unknown).to_string(),
        false => {
            let mut lines = report(&classes);
            lines.extend(unknown.iter().map(|name| {
                format!("{name} executes what is planned when it runs: it may touch anything")
            }));
            lines.join("\n")
        }
    };
    writeln!(std::io::stdout(), "{text}")
        .map_err(|error| Exit::from_error(Code::Failed, "writing the report", &error))
}

/// Names and texts of what is to be read.
fn scripts(arguments: &ClassifyArguments) -> Result<Vec<(String, String)>, Exit> {
    if let Some(wanted) = &arguments.workload {
        let mut texts = quintet_workloads::TEXTS.iter();
        let Some((name, schema, procedures)) = texts.find(|(name, ..)| name == wanted) else {
            let names: Vec<&str> = quintet_workloads::TEXTS.iter().map(|text| text.0).collect();
            let message = format!("there is no workload \"{wanted}\"");
            return Err(
                Exit::new(Code::Usage, message).hint(format!("One of {}.", names.join(", ")))
            );
        };
        let texts = [("schema", schema), ("procedures", procedures)];
        return Ok(texts
            .map(|(what, text)| (format!("the {what} of {name}"), text.to_string()))
            .into());
    }
    let text = |path: &std::path::PathBuf| Ok((path.display().to_string(), read_text(path)?));
    arguments.files.iter().map(text).collect()
}

fn wrong(name: &str, error: &quintet_base::SqlError) -> Exit {
    Exit::new(
        Code::Failed,
        format!("{name}: {} ({})", error.message, error.state),
    )
}

/// Everything for machines.
fn as_json(classes: &Classes, unknown: &[String]) -> Value {
    let rule = classes.rule();
    let names: Vec<&str> = classes.names().collect();
    let procedures = classes.footprints().enumerate().map(|(number, footprint)| {
        let marks = classes.standings(number).map(|(mark, standing)| {
            let text = MarkText::new(footprint, mark);
            json!({
                "line": mark.line,
                "table": mark.table.name,
                "effect": text.effect,
                "what": text.what,
                "key": text.key,
                "around": text.around,
                "gives_keys": why_no_key(classes, number, standing).is_empty(),
                "why_not": why_no_key(classes, number, standing),
            })
        });
        json!({ "name": names[number], "touches": marks.collect::<Vec<_>>() })
    });
    let mut pairs = Vec::new();
    for one in 0..names.len() {
        for other in one..names.len() {
            let condition = classes.condition(one, other);
            if condition.is_never() {
                continue;
            }
            let cases = condition.cases.iter().map(|case| {
                let over = |cause| -> Vec<&str> {
                    let over = case.over.iter().filter(|over| over.cause == cause);
                    over.map(|over| over.what.as_str()).collect()
                };
                json!({
                    "if": case.text,
                    "write_write": over(Cause::WriteWrite),
                    "read_write": over(Cause::ReadWrite),
                })
            });
            pairs.push(json!({
                "procedures": [names[one], names[other]],
                "condition": condition.text(),
                "cases": cases.collect::<Vec<_>>(),
            }));
        }
    }
    json!({
        "level": match rule.level {
            Level::Serializable => "serializable",
            Level::Snapshot => "snapshot",
            Level::ReadCommitted => "read committed",
        },
        "granularity": match rule.granularity {
            Granularity::Column => "column",
            Granularity::Row => "row",
            Granularity::Commit => "commit",
        },
        "procedures": procedures.collect::<Vec<_>>(),
        "conflicts": pairs,
        "anything": unknown,
    })
}
