//! Footprints and conflict classes in print: `quintet classify`.
//!
//! Relies on: `classes`.  Promises: the same routines always print the same lines.  Does not: colour, or
//! fold long lines.

use crate::classes::{Classes, Standing, names_of, word};
use crate::condition::{list, words};
use crate::deeds::Effect;
use crate::footprint::{Footprint, KeyPart, Mark};
use crate::rule::{Cause, Granularity};
use crate::text::names::text_of;
use quintet_base::Level;
use quintet_ir::ahead::{Over, Turns};

/// A mark in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkText {
    /// `update`
    pub effect: &'static str,
    /// `district (d_next_o_id)`
    pub what: String,
    /// `d_w_id = in_w_id, d_id = in_d_id`; `any row`.
    pub key: String,
    /// `for i from 1 to 10`, `if in_c_id IS NULL`; empty: always.
    pub around: String,
}

impl MarkText {
    /// Of one of a footprint's marks.
    pub fn new(footprint: &Footprint, mark: &Mark) -> MarkText {
        let Mark {
            table,
            effect,
            path,
            ..
        } = mark;
        let columns = effect.columns(table);
        let what = match effect {
            Effect::Claim(index) | Effect::Release(index) => table.indexes[*index].name.clone(),
            Effect::Read(read) => {
                // By the key's columns rows are found; they never change.
                let key = table.key_columns();
                let rest = read.iter().filter(|column| !key.contains(column));
                match names_of(table, rest.copied()).as_str() {
                    "" => table.name.clone(),
                    names => format!("{} ({names})", table.name),
                }
            }
            Effect::Update(written) => {
                format!(
                    "{} ({})",
                    table.name,
                    names_of(table, written.iter().copied())
                )
            }
            _ => table.name.clone(),
        };
        let parts = path.iter().zip(&columns).map(|(part, column)| {
            let name = names_of(table, [*column]);
            match part {
                KeyPart::Exact(expr) | KeyPart::Iterated(expr) | KeyPart::Partial(expr) => {
                    format!("{name} = {}", words(expr, &footprint.names))
                }
                KeyPart::Range => format!("{name} in a range"),
                KeyPart::Unknown => format!("{name} unknown"),
            }
        });
        let key = match path.iter().all(|part| matches!(part, KeyPart::Unknown)) {
            true => match effect {
                Effect::Insert | Effect::InsertNumbered(_) => "a new row".to_string(),
                Effect::Claim(_) | Effect::Release(_) => "any key".to_string(),
                _ => "any row".to_string(),
            },
            false => parts.collect::<Vec<_>>().join(", "),
        };
        MarkText {
            effect: word(effect),
            what,
            key,
            around: around(footprint, mark),
        }
    }
}

fn around(footprint: &Footprint, mark: &Mark) -> String {
    let names = &footprint.names;
    let text = |expr| text_of(expr, names);
    let turns = mark.turns.iter().map(|Turns { place, over }| match over {
        Over::Integers {
            lower,
            upper,
            step,
            reverse,
        } => {
            let by = match text(step).as_str() {
                "1" => String::new(),
                step => format!(" by {step}"),
            };
            let down = if *reverse { " down" } else { "" };
            format!(
                "for {} from {}{down} to {}{by}",
                names[*place],
                text(lower),
                text(upper)
            )
        }
        Over::Elements(array) => format!("for {} in {}", names[*place], text(array)),
    });
    let conditions = mark.only_if.iter().map(|(condition, held)| match held {
        true => format!("if {}", text(condition)),
        false => format!("unless {}", text(condition)),
    });
    turns.chain(conditions).collect::<Vec<_>>().join(", ")
}

/// Why a mark gives no keys; empty: it does.
pub fn why_no_key(classes: &Classes, routine: usize, standing: Standing) -> String {
    match standing {
        Standing::Keyed => String::new(),
        Standing::Unopposed => "no key: no call conflicts with it".to_string(),
        Standing::CoveredElsewhere => {
            "no key: calls that meet here meet in another table, too".to_string()
        }
        Standing::CoveredBy(mark) => {
            let other = classes.standings(routine).nth(mark);
            let line = other.map_or(0, |(mark, _)| mark.line);
            match line {
                0 => "no key: another says as much".to_string(),
                line => format!("no key: what line {line} does says as much"),
            }
        }
    }
}

/// Everything, as lines.
pub fn report(classes: &Classes) -> Vec<String> {
    let mut lines = Vec::new();
    let rule = classes.rule();
    let counted = match rule.level {
        Level::Snapshot => "writes with writes",
        Level::ReadCommitted | Level::Serializable => "writes with writes and with reads",
    };
    let by = match rule.granularity {
        Granularity::Column => "by column",
        Granularity::Row => "by row",
        Granularity::Commit => "by row written and column read",
    };
    lines.push(format!(
        "Conflicts at {}: {counted}, {by}",
        rule.level.sql_name()
    ));
    lines.push(String::new());
    lines.extend(pairs(classes));
    for routine in 0..classes.footprints().count() {
        lines.push(String::new());
        lines.extend(of_routine(classes, routine));
    }
    lines
}

/// The pairs of routines whose calls may conflict.
pub fn pairs(classes: &Classes) -> Vec<String> {
    let names: Vec<&str> = classes.names().collect();
    let mut lines = Vec::new();
    let mut without = 0;
    for one in 0..names.len() {
        for other in one..names.len() {
            let condition = classes.condition(one, other);
            if condition.is_never() {
                without += 1;
                continue;
            }
            lines.push(format!("{} x {}", names[one], names[other]));
            for case in &condition.cases {
                lines.push(format!("  {}", case.text));
                for cause in [Cause::WriteWrite, Cause::ReadWrite] {
                    let over = case.over.iter().filter(|over| over.cause == cause);
                    let over: Vec<String> = over.map(|over| over.what.clone()).collect();
                    let word = match cause {
                        Cause::WriteWrite => "both write",
                        Cause::ReadWrite => "one reads, one writes",
                    };
                    if !over.is_empty() {
                        lines.push(format!("      {word} {}", list(&over)));
                    }
                }
            }
        }
    }
    match (lines.is_empty(), without) {
        (true, _) => lines.push("No two calls conflict.".to_string()),
        (false, 0) => {}
        (false, 1) => lines.push("The other pair never conflicts.".to_string()),
        (false, pairs) => lines.push(format!("The other {pairs} pairs never conflict.")),
    }
    lines
}

/// A routine's footprint, with what becomes of each mark.
fn of_routine(classes: &Classes, routine: usize) -> Vec<String> {
    let footprint = classes.footprints().nth(routine).expect("it was counted");
    let name = classes.names().nth(routine).unwrap_or_default();
    let mut lines = vec![name.to_string()];
    let texts: Vec<(MarkText, u32, String)> = (classes.standings(routine))
        .map(|(mark, standing)| {
            let why = why_no_key(classes, routine, standing);
            (MarkText::new(footprint, mark), mark.line, why)
        })
        .collect();
    if texts.is_empty() {
        lines.push("  touches no table".to_string());
    }
    for (text, line, why) in texts {
        let line = match line {
            0 => "        ".to_string(),
            line => format!("line {line:>3}"),
        };
        let mut said = format!("  {line}  {:<7} {}: {}", text.effect, text.what, text.key);
        if !text.around.is_empty() {
            said += &format!(", {}", text.around);
        }
        lines.push(said);
        let key = match why.is_empty() {
            true => "key",
            false => &why,
        };
        lines.push(format!("            {key}"));
    }
    lines
}
