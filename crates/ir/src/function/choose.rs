//! The choice among overloads, by PostgreSQL's rules (its manual's chapter "Type Conversion").
//!
//! Relies on: `cast` for implicit conversions and categories.  Promises: a pure function of the
//! candidates' and the arguments' types.  Does not: know names, or what the candidates do.
//!
//! ```text
//! exact match ──► (operators: an unknown side taken as the other) ──► all that convert implicitly
//!   ──► most exact ──► most exact or preferred ──► unknowns: one category, its preferred type
//!   ──► unknowns taken as the one known type ──► ambiguous
//! ```

use crate::cast::{self, Category, category, is_implicit, is_preferred};
use quintet_base::SqlType;
use quintet_base::SqlType::Unknown;

/// Parameter types of a candidate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signature<'a> {
    /// The types; `Unknown` takes any.
    pub(crate) args: &'a [SqlType],
    /// The last one may be repeated.
    pub(crate) variadic: bool,
}

/// The outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// This candidate.
    One(usize),
    /// None fits.
    None,
    /// Several fit equally well.
    Several,
}

impl Signature<'_> {
    /// True if it takes this many arguments.
    pub(crate) fn takes(&self, count: usize) -> bool {
        count == self.args.len() || (self.variadic && count > self.args.len())
    }

    /// The type of a parameter.
    pub(crate) fn param(&self, i: usize) -> SqlType {
        self.args[i.min(self.args.len() - 1)]
    }

    fn accepts(&self, args: &[SqlType]) -> bool {
        args.iter()
            .enumerate()
            .all(|(i, &arg)| self.param(i) == Unknown || is_implicit(arg, self.param(i)))
    }

    fn is_exactly(&self, args: &[SqlType]) -> bool {
        args.iter()
            .enumerate()
            .all(|(i, &arg)| self.param(i) == arg)
    }
}

/// Chooses among lists of parameters' types, each as long as the arguments. Two that are the same are
/// told apart by nobody.
pub fn choose_among(candidates: &[Vec<SqlType>], args: &[SqlType]) -> Choice {
    let signatures: Vec<Signature> = candidates
        .iter()
        .map(|types| Signature {
            args: types,
            variadic: false,
        })
        .collect();
    match choose(&signatures, args, false) {
        Choice::One(number) => {
            let same = candidates
                .iter()
                .filter(|other| **other == candidates[number]);
            match same.count() {
                1 => Choice::One(number),
                _ => Choice::Several,
            }
        }
        other => other,
    }
}

/// Chooses for these argument types, among candidates that all take so many arguments.
pub(crate) fn choose(candidates: &[Signature], args: &[SqlType], operator: bool) -> Choice {
    let exact = |args: &[SqlType]| candidates.iter().position(|c| c.is_exactly(args));
    if let Some(found) = exact(args) {
        return Choice::One(found);
    }
    if operator && let &[left, right] = args {
        let same = if left == Unknown { right } else { left };
        if (left == Unknown || right == Unknown)
            && let Some(found) = exact(&[same, same])
        {
            return Choice::One(found);
        }
    }
    let mut left: Vec<usize> = (0..candidates.len())
        .filter(|&i| candidates[i].accepts(args))
        .collect();
    if left.is_empty() {
        return Choice::None;
    }
    let known = |i: &usize| args[*i] != Unknown;
    keep_best(&mut left, |c| {
        (0..args.len())
            .filter(known)
            .filter(|&i| candidates[c].param(i) == args[i])
            .count()
    });
    keep_best(&mut left, |c| {
        (0..args.len())
            .filter(known)
            .filter(|&i| {
                let param = candidates[c].param(i);
                param == args[i] || (category(param) == category(args[i]) && is_preferred(param))
            })
            .count()
    });
    if let [one] = left[..] {
        return Choice::One(one);
    }
    keep_by_unknowns(candidates, &mut left, args);
    if let [one] = left[..] {
        return Choice::One(one);
    }
    choose_by_known(candidates, &left, args)
}

fn keep_best(left: &mut Vec<usize>, score: impl Fn(usize) -> usize) {
    let best = left.iter().map(|&c| score(c)).max().unwrap_or(0);
    left.retain(|&c| score(c) == best);
}

/// For each unknown argument, keeps the candidates of the one category that fits there (text if in
/// doubt), and of those the ones with its preferred type, if any. If the category is in doubt
/// anywhere, or nothing would be left, keeps all.
fn keep_by_unknowns(candidates: &[Signature], left: &mut Vec<usize>, args: &[SqlType]) {
    let unknowns = || (0..args.len()).filter(|&i| args[i] == Unknown);
    let mut wanted = vec![];
    for i in unknowns() {
        let categories = || left.iter().map(|&c| category(candidates[c].param(i)));
        let first = category(candidates[left[0]].param(i));
        let decided = if categories().any(|c| c == Category::String) {
            Category::String
        } else if categories().all(|c| c == first) {
            first
        } else {
            return;
        };
        let has_preferred = left.iter().any(|&c| {
            let param = candidates[c].param(i);
            category(param) == decided && is_preferred(param)
        });
        wanted.push((i, decided, has_preferred));
    }
    let kept: Vec<usize> = left
        .iter()
        .copied()
        .filter(|&c| {
            wanted.iter().all(|&(i, decided, has_preferred)| {
                let param = candidates[c].param(i);
                category(param) == decided && (!has_preferred || is_preferred(param))
            })
        })
        .collect();
    if !wanted.is_empty() && !kept.is_empty() {
        *left = kept;
    }
}

/// If all known arguments have one type, takes the unknown ones to be of it, too.
fn choose_by_known(candidates: &[Signature], left: &[usize], args: &[SqlType]) -> Choice {
    let mut known = args.iter().copied().filter(|&ty| ty != Unknown);
    let Some(ty) = known.next() else {
        return Choice::Several;
    };
    let has_unknown = args.contains(&Unknown);
    if !has_unknown || known.any(|other| other != ty) {
        return Choice::Several;
    }
    let mut fitting = left.iter().filter(|&&c| {
        (0..args.len()).all(|i| {
            let param = candidates[c].param(i);
            param == Unknown || cast::is_implicit(ty, param)
        })
    });
    match (fitting.next(), fitting.next()) {
        (Some(&one), None) => Choice::One(one),
        _ => Choice::Several,
    }
}
