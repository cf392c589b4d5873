//! Conditions on the parameters of two calls under which they conflict.
//!
//! Relies on: `paths`.  Promises: two calls whose keys meet fulfil the condition; what is left out as implied
//! is implied.  Does not: look for everything that could be left out.
//!
//! A condition is a disjunction: any of its cases. A case says that parts of two paths are equal, for some turn of
//! the loops that they go through, where the conditions around both hold. It follows from another case that says
//! at least as much.
//!
//! ```text
//!   district  in_w_id, in_d_id ┐ same in_w_id and in_d_id   ◄── orders  in_w_id, in_d_id   (follows, is left out)
//!   district  in_w_id, in_d_id ┘
//! ```

use crate::classes::Side;
use crate::paths::{Known, Paths, hashed};
use crate::rule::Cause;
use crate::text::names::text_of;
use quintet_base::Value;
use quintet_ir::Expr;
use std::collections::BTreeSet;
use std::sync::Arc;

/// When calls of two routines conflict: if any of the cases holds. None: never.
#[derive(Clone, Debug, Default)]
pub struct Condition {
    /// In the order of the first routine's source.
    pub cases: Vec<Case>,
}

/// One way in which two calls conflict.
#[derive(Clone, Debug)]
pub struct Case {
    /// As a person would write it: `same in_w_id and in_d_id`; `always`.
    pub text: String,
    /// What they conflict over, and why; those that the case implies stand in it, too.
    pub over: BTreeSet<Over>,
    said: Said,
}

/// What two calls conflict over.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Over {
    /// A table, with what of it: `district (d_next_o_id)`.
    pub what: String,
    /// Why.
    pub cause: Cause,
}

/// What a case says, so that cases can be compared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Said {
    /// Terms of the first and of the second routine.
    equal: BTreeSet<(Arc<str>, Arc<str>)>,
    /// Turns and conditions of the first, and of the second.
    around: [BTreeSet<Arc<str>>; 2],
}

impl Said {
    /// The same with the two calls exchanged.
    fn mirrored(&self) -> Said {
        let exchanged = self.equal.iter().map(|(a, b)| (b.clone(), a.clone()));
        let [first, second] = self.around.clone();
        Said {
            equal: exchanged.collect(),
            around: [second, first],
        }
    }

    /// True if it holds whenever the other does.
    fn follows_from(&self, other: &Said) -> bool {
        self.equal.is_subset(&other.equal)
            && (0..2).all(|side| self.around[side].is_subset(&other.around[side]))
    }
}

impl Condition {
    /// Adds what two marks say, unless it can never hold.
    pub(crate) fn add(&mut self, one: &Side<'_>, other: &Side<'_>, over: Over) {
        let Some(mut said) = said(one.paths, other.paths) else {
            return;
        };
        let same = one.number == other.number;
        let mut sides = [one, other];
        if same && said.mirrored() < said {
            said = said.mirrored();
            sides = [other, one];
        }
        let follows = |said: &Said, from: &Said| {
            said.follows_from(from) || (same && said.follows_from(&from.mirrored()))
        };
        // It is covered by a case that says less; cases that say more are covered by it.
        if let Some(case) = (self.cases.iter_mut()).find(|case| follows(&case.said, &said)) {
            case.over.insert(over);
            return;
        }
        let mut new = Case {
            text: text(sides, same),
            over: BTreeSet::from([over]),
            said,
        };
        let (covered, kept) = (std::mem::take(&mut self.cases).into_iter())
            .partition::<Vec<Case>, _>(|case| follows(&new.said, &case.said));
        self.cases = kept;
        new.over
            .extend(covered.into_iter().flat_map(|case| case.over));
        self.cases.push(new);
    }

    /// True if such calls never conflict.
    pub fn is_never(&self) -> bool {
        self.cases.is_empty()
    }

    /// The whole condition on one line.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.cases.iter().map(|case| case.text.as_str()).collect();
        match texts.is_empty() {
            true => "never".to_string(),
            false => texts.join("; or "),
        }
    }
}

/// True if the first two paths meet wherever the last two do, or if those never meet. `same`: of calls of
/// one routine, which may be exchanged.
pub(crate) fn follows(paths: [&Paths; 2], from: [&Paths; 2], same: bool) -> bool {
    let Some(from) = said(from[0], from[1]) else {
        return true;
    };
    said(paths[0], paths[1]).is_some_and(|said| {
        said.follows_from(&from) || (same && said.mirrored().follows_from(&from))
    })
}

/// The parts that both know.
fn pairs<'a>(
    one: &'a Paths,
    other: &'a Paths,
) -> impl Iterator<Item = (usize, (&'a Known, &'a Known))> {
    one.parts.iter().zip(&other.parts).enumerate()
}

/// `None`: two constants differ, so the paths never meet.
fn said(one: &Paths, other: &Paths) -> Option<Said> {
    let mut said = Said::default();
    for (place, (a, b)) in pairs(one, other) {
        let is_null = |part: &Known| matches!(part.expr, Expr::Const(Value::Null, _));
        if one.of_index && (is_null(a) || is_null(b)) {
            return None;
        }
        if let (Expr::Const(first, _), Expr::Const(second, _)) = (&a.expr, &b.expr) {
            match hashed(first, a.ty) == hashed(second, b.ty) {
                true => continue,
                false => return None,
            }
        }
        let [one, other] = [one, other].map(|paths| Arc::clone(&paths.said.terms[place]));
        said.equal.insert((one, other));
    }
    said.around = [one, other].map(|paths| paths.said.around.clone());
    Some(said)
}

/// The words for a case.
fn text(sides: [&Side<'_>; 2], same: bool) -> String {
    let [one, other] = sides;
    let mut plain = Vec::new();
    let mut shared = Vec::new();
    let mut equations = Vec::new();
    for (_, (a, b)) in pairs(one.paths, other.paths) {
        if matches!((&a.expr, &b.expr), (Expr::Const(..), Expr::Const(..))) {
            continue;
        }
        let texts = [(one, a), (other, b)].map(|(side, part)| words(&part.expr, &side.names));
        if same && texts[0] == texts[1] {
            match a.iterated {
                true => shared.push(texts[0].clone()),
                false => plain.push(texts[0].clone()),
            }
            continue;
        }
        let [(first, first_note), (second, second_note)] =
            [(one, a), (other, b)].map(|(side, part)| noted(&part.expr, &side.names));
        let mut equation = match same {
            true => format!("{first} of one = {second} of the other"),
            false => {
                let named = |side: &Side<'_>, part: &Known, text: String| match part.expr {
                    Expr::Const(..) => text,
                    _ => format!("{}.{text}", side.routine),
                };
                format!("{} = {}", named(one, a, first), named(other, b, second))
            }
        };
        let notes = [first_note, second_note].into_iter().flatten();
        let notes: Vec<String> = notes.collect();
        if !notes.is_empty() {
            equation += &format!(" ({})", notes.join("; "));
        }
        equations.push(equation);
    }
    let mut texts = Vec::new();
    if !plain.is_empty() {
        texts.push(format!("same {}", list(&plain)));
    }
    if !shared.is_empty() {
        texts.push(format!("a shared {}", list(&shared)));
    }
    texts.extend(equations);
    let mut text = match texts.is_empty() {
        true => "always".to_string(),
        false => list(&texts),
    };
    for side in sides {
        let conditions = side.paths.only_if.iter().map(|(condition, held)| {
            let condition = text_of(condition, &side.names);
            match held {
                true => condition,
                false => format!("NOT ({condition})"),
            }
        });
        let conditions: Vec<String> = conditions.collect();
        if !conditions.is_empty() {
            let whose = match same {
                true => String::new(),
                false => format!(" in {}", side.routine),
            };
            let more = format!(", if {}{whose}", list(&conditions));
            if !text.ends_with(&more) {
                text += &more;
            }
        }
    }
    text
}

/// `a, b and c`.
pub(crate) fn list(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// An expression in words: what is unknown on some way is said behind it.
pub(crate) fn words(expr: &Expr, names: &[String]) -> String {
    match noted(expr, names) {
        (text, None) => text,
        (text, Some(note)) => format!("{text} ({note})"),
    }
}

/// The same in two.
fn noted(expr: &Expr, names: &[String]) -> (String, Option<String>) {
    if let Expr::Case {
        branches,
        otherwise: Some(otherwise),
        ..
    } = expr
        && let [(condition, value)] = branches.as_slice()
    {
        let is_null = |expr: &Expr| matches!(expr, Expr::Const(Value::Null, _));
        let condition = text_of(condition, names);
        if is_null(value) {
            return (words(otherwise, names), Some(format!("any if {condition}")));
        }
        if is_null(otherwise) {
            return (words(value, names), Some(format!("any unless {condition}")));
        }
    }
    (text_of(expr, names), None)
}
