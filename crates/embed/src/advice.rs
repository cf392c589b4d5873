//! What to do about what is in the way, in words.
//!
//! Relies on: the entries of `contention`, told with names.  Promises: the rules below, in this order, the same for the same
//! entries; every advice is something that this server offers.  Does not: change anything, or know what a program wants.
//!
//! | what is seen at a row | what is said |
//! |---|---|
//! | calls wait or lose, and meet calls | have them run in batches: `quintet.engine = queue`, or `auto` |
//! | somebody waits for a statement, or loses to one | its transaction holds the row over its client's round trips: make it a procedure, or shorter |
//! | a client is told 40001 | it must run its transaction again; a procedure called by itself is run again here |
//! | rings | write rows in one order |
//! | calls wait in line for this key | the line is as long as the row is hot: batches share a commit, or spread the row |

use crate::contention::{Kind, Told};
use std::collections::BTreeMap;

/// Rows that a report is about.
const ROWS_MAX: usize = 10;

/// A report of so many rows as matter, a line at a time. `place`: what to call an entry's row.
pub(crate) fn report(entries: &[Told], place: impl Fn(&Told) -> String) -> Vec<String> {
    let mut rows: BTreeMap<String, Vec<&Told>> = BTreeMap::new();
    for entry in entries {
        rows.entry(place(entry)).or_default().push(entry);
    }
    let harm = |entries: &[&Told]| -> u64 { entries.iter().map(|entry| entry.lost_micros).sum() };
    let mut rows: Vec<(String, Vec<&Told>)> = rows.into_iter().collect();
    rows.sort_by_key(|(_, entries)| std::cmp::Reverse(harm(entries)));
    if rows.is_empty() {
        return vec!["Nothing was in the way.".to_string()];
    }
    let mut lines = Vec::new();
    for (row, entries) in rows.iter().take(ROWS_MAX) {
        lines.push(headline(row, entries, harm(entries)));
        lines.extend(advice(entries).into_iter().map(|line| format!("  {line}")));
    }
    if rows.len() > ROWS_MAX {
        let rest = rows.len() - ROWS_MAX;
        lines.push(format!("{rest} more rows are in quintet_contention."));
    }
    lines
}

fn headline(row: &str, entries: &[&Told], harm: u64) -> String {
    let count = |kinds: &[Kind], word: &str| {
        let of_kind = entries.iter().filter(|entry| kinds.contains(&entry.kind));
        match of_kind.map(|entry| entry.events).sum::<u64>() {
            0 => None,
            1 => Some(format!("1 {word}")),
            number => Some(format!("{number} {word}s")),
        }
    };
    let counts = [
        count(&[Kind::Wait], "wait"),
        count(&[Kind::Line], "wait in line")
            .map(|text| text.replace("wait in lines", "waits in line")),
        count(&[Kind::Retry], "call run again")
            .map(|text| text.replace("call run agains", "calls run again")),
        count(&[Kind::Refused], "refusal"),
        count(&[Kind::Deadlock], "deadlock"),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let mut by: Vec<String> = Vec::new();
    for entry in entries {
        let text = match &entry.other {
            Some(other) => format!("{} with {}", entry.procedure.text, other.text),
            None => entry.procedure.text.to_string(),
        };
        if !by.contains(&text) && by.len() < 3 {
            by.push(text);
        }
    }
    let milliseconds = harm as f64 / 1e3;
    format!(
        "{row}: {}, {milliseconds:.1} ms lost, by {}",
        counts.join(", "),
        by.join("; ")
    )
}

fn note<'t>(list: &mut Vec<&'t str>, text: &'t str) {
    if !list.contains(&text) {
        list.push(text);
    }
}

fn advice(entries: &[&Told]) -> Vec<String> {
    let mut calls: Vec<&str> = Vec::new();
    let mut statements: Vec<&str> = Vec::new();
    for entry in entries {
        let contended = matches!(entry.kind, Kind::Wait | Kind::Retry);
        let meets_call = entry.other.as_ref().is_none_or(|other| other.is_call);
        if contended && entry.procedure.is_call && meets_call {
            note(&mut calls, &entry.procedure.text);
        }
        if let Some(other) = entry.other.as_ref().filter(|other| !other.is_call) {
            note(&mut statements, &other.text);
        }
    }
    let has = |kind: Kind| entries.iter().any(|entry| entry.kind == kind);
    let mut advice = Vec::new();
    if !calls.is_empty() {
        advice.push(format!(
            "Calls of {} meet here: SET quintet.engine = queue (or auto) has those that are pending together run as one \
             transaction, none of which loses; EXPLAIN CALL tells the engine and the keys.",
            calls.join(", ")
        ));
    }
    if !statements.is_empty() {
        advice.push(format!(
            "{} in a transaction of several statements holds the row until its client commits: make it a procedure, or \
             write this row last.",
            statements.join(", ")
        ));
    }
    if has(Kind::Refused) {
        advice.push(
            "Clients were told 40001 and must run their transactions again; a procedure that is called by itself is run \
             again by the server."
                .to_string(),
        );
    }
    if has(Kind::Deadlock) {
        advice.push("Rings of waits: write rows in one order in all transactions.".to_string());
    }
    if has(Kind::Line) {
        advice.push(
            "Calls wait in line for this key, one after another: quintet.engine = queue lets them share a commit; else \
             spread what they write over several rows."
                .to_string(),
        );
    }
    advice
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::Name;
    use quintet_base::{Bytes, SpaceId};

    fn name(text: &str) -> Name {
        Name {
            text: text.into(),
            is_call: text.chars().next().is_some_and(char::is_lowercase),
        }
    }

    fn told(kind: Kind, row: &str, procedure: &str, other: &str, micros: u64) -> Told {
        Told {
            kind,
            space: SpaceId(1),
            key: Bytes::copy_from_slice(row.as_bytes()),
            procedure: name(procedure),
            other: (!other.is_empty()).then(|| name(other)),
            events: 2,
            lost_micros: micros,
            excess_micros: 0,
            last: 0,
        }
    }

    /// Each rule once, and the order of rows by what they cost.
    #[test]
    fn each_rule_says_what_it_is_for() {
        let entries = [
            told(Kind::Wait, "stock 1", "new_order", "payment", 2_000),
            told(Kind::Retry, "stock 1", "payment", "new_order", 1_500),
            told(Kind::Wait, "till 1", "pay", "UPDATE", 90_000),
            told(Kind::Refused, "till 2", "UPDATE", "", 500),
            told(Kind::Deadlock, "till 3", "UPDATE", "", 400),
            told(Kind::Line, "till 4", "pay", "pay", 300),
        ];
        let place = |told: &Told| String::from_utf8_lossy(&told.key).into_owned();
        let lines = report(&entries, place);
        let begin = |line: &String| line.chars().take(58).collect::<String>();
        let lines: Vec<String> = lines.iter().map(begin).collect();
        assert_eq!(
            lines,
            [
                "till 1: 2 waits, 90.0 ms lost, by pay with UPDATE",
                "  UPDATE in a transaction of several statements holds the ",
                "stock 1: 2 waits, 2 calls run again, 3.5 ms lost, by new_o",
                "  Calls of new_order, payment meet here: SET quintet.engin",
                "till 2: 2 refusals, 0.5 ms lost, by UPDATE",
                "  Clients were told 40001 and must run their transactions ",
                "till 3: 2 deadlocks, 0.4 ms lost, by UPDATE",
                "  Rings of waits: write rows in one order in all transacti",
                "till 4: 2 waits in line, 0.3 ms lost, by pay with pay",
                "  Calls wait in line for this key, one after another: quin",
            ]
        );
        assert_eq!(report(&[], place), ["Nothing was in the way."]);
    }

    #[test]
    fn a_report_is_short() {
        let entries: Vec<Told> = (0..15)
            .map(|row| told(Kind::Wait, &format!("t {row:02}"), "p", "p", 1_000 - row))
            .collect();
        let lines = report(&entries, |told| {
            String::from_utf8_lossy(&told.key).into_owned()
        });
        assert_eq!(lines.len(), 2 * ROWS_MAX + 1);
        assert!(lines[0].starts_with("t 00: "), "{lines:?}");
        assert_eq!(lines[20], "5 more rows are in quintet_contention.");
    }
}
