//! What the front end of stored procedures reads and refuses.
//!
//! The scripts next to this file have cases: a title, a text, and after `----` what comes out: the
//! printed tree, or the state, message, line and position of an error. What stands in a script
//! without CREATE is a body of a procedure without parameters.

mod nesting;
mod portals;
mod robustness;

use super::*;
use crate::parse::parse;
use pg_query::NodeEnum;

pub(super) fn routine(text: &str) -> SqlResult<Routine> {
    let parsed = parse(text)?;
    let Some(NodeEnum::CreateFunctionStmt(statement)) = parsed[0].node() else {
        panic!("no CREATE FUNCTION: {text}");
    };
    read(statement, parsed[0].source(), &|_| false)
}

fn outcome(text: &str) -> String {
    let text = if text.starts_with("CREATE") {
        text.to_string()
    } else {
        format!("CREATE PROCEDURE p() LANGUAGE plpgsql AS $$\n{text}\n$$")
    };
    match routine(&text) {
        Ok(tree) => tree.to_string(),
        Err(error) => {
            let mut lines = format!("{} {}\n", error.state, error.message);
            if let Some(detail) = &error.detail {
                lines += &format!("{detail}\n");
            }
            if let Some(position) = error.position {
                let rest: String = text.chars().skip(position as usize - 1).collect();
                lines += &format!("{position}: {}\n", rest.lines().next().unwrap_or_default());
            }
            lines
        }
    }
}

/// Runs a script; if anything differs, shows what the script should be then.
fn check(script: &str) {
    let mut now = String::new();
    for case in script.split("\n==== ") {
        let (title, rest) = case.split_once('\n').unwrap();
        let text = match rest.split_once("\n----\n") {
            Some((text, _)) => text,
            None => rest.trim_end(),
        };
        let separator = if now.is_empty() { "" } else { "\n==== " };
        now += &format!("{separator}{title}\n{text}\n----\n{}", outcome(text));
    }
    if now != script {
        let differ = now.lines().zip(script.lines()).position(|(a, b)| a != b);
        panic!(
            "from line {:?} on, as is now:\n{now}",
            differ.map(|n| n + 1)
        );
    }
}

#[test]
fn constructs() {
    check(include_str!("tests/constructs.txt"));
}

#[test]
fn names_and_scopes() {
    check(include_str!("tests/scopes.txt"));
}

#[test]
fn headers() {
    check(include_str!("tests/headers.txt"));
}

#[test]
fn refusals() {
    check(include_str!("tests/refusals.txt"));
}

#[test]
fn errors() {
    check(include_str!("tests/errors.txt"));
}

#[test]
fn new_order() {
    check(include_str!("tests/new_order.txt"));
}
