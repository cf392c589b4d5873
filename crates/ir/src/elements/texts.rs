//! Which trigrams a condition on a text asks for.
//!
//! Relies on: `textsearch::trigram`; what regular expressions ask for.  Promises: as `elements` does.  Does not: ask the condition.

use super::{Test, Tree, Wanted, together};
use crate::function::{Required, required};
use quintet_base::Value;
use quintet_base::lexemes::textsearch::trigram::{
    Part, Trigram, needed, of_like, of_part, trigrams,
};

/// Each alternative of a regular expression is looked up by no more trigrams.
const OF_STRING_MAX: usize = 8;
/// With more of them, all in all, a regular expression is asked of every row.
const OF_PATTERN_MAX: usize = 256;

/// The trigrams of a text.
pub(super) fn listed(text: &str) -> Vec<Vec<u8>> {
    bytes(trigrams(text))
}

fn bytes(trigrams: Vec<Trigram>) -> Vec<Vec<u8>> {
    trigrams.into_iter().map(|one| one.0.to_vec()).collect()
}

/// Which of them a text has that fulfils the condition.
pub(super) fn wanted(test: Test, with: &Value, threshold: f64) -> Wanted {
    let Some(text) = with.as_str() else {
        return Wanted::Anything;
    };
    match test {
        Test::Like | Test::LikeAnyCase => all(bytes(of_like(text))),
        Test::Equals => all(listed(text)),
        Test::Pattern => of_pattern(text, false),
        Test::PatternAnyCase => of_pattern(text, true),
        Test::Similar | Test::HasWord | Test::HasStrictWord => {
            let found = listed(text);
            // Nothing is like a text without words, unless everything is.
            match (found.is_empty(), threshold > 0.0) {
                (_, false) => Wanted::Anything,
                (true, true) => Wanted::Nothing,
                (false, true) => Wanted::AtLeast(needed(found.len(), threshold), found),
            }
        }
        _ => Wanted::Anything,
    }
}

fn all(found: Vec<Vec<u8>>) -> Wanted {
    match found.is_empty() {
        true => Wanted::Anything,
        false => Wanted::All(found),
    }
}

fn of_pattern(pattern: &str, any_case: bool) -> Wanted {
    let found = required(pattern, any_case);
    let mut left = OF_PATTERN_MAX;
    let tree = found.and_then(|found| tree(&found, &mut left));
    match tree.filter(|tree| tree.depth() <= super::TREE_DEPTH_MAX) {
        Some(tree) => Wanted::Tree(tree),
        None => Wanted::Anything,
    }
}

/// `None`: no trigram is needed, or too many would have to be looked up.
fn tree(required: &Required, left: &mut usize) -> Option<Tree> {
    match required {
        Required::Chars(chars) => {
            let mut found = Vec::new();
            // The ends of the text are written as breaks.
            let (begins, ends) = (false, false);
            of_part(
                Part {
                    chars,
                    begins,
                    ends,
                },
                &mut found,
            );
            found.sort_unstable();
            found.dedup();
            // Those with blanks are many texts'.
            found.sort_by_key(|trigram| trigram.0[0] == b' ');
            found.truncate(OF_STRING_MAX);
            *left = left.checked_sub(found.len())?;
            let found: Vec<Tree> = bytes(found).into_iter().map(Tree::Element).collect();
            (!found.is_empty()).then_some(Tree::All(found))
        }
        Required::All(parts) => {
            let found = parts.iter().filter_map(|part| tree(part, left));
            found.reduce(together)
        }
        Required::Any(parts) => {
            let before = *left;
            let found: Option<Vec<Tree>> = parts.iter().map(|part| tree(part, left)).collect();
            let found = found?;
            // What all of them have tells enough, and is one stream instead of many.
            if let Some(common) = in_all(&found) {
                *left = before.saturating_sub(common.len());
                return Some(Tree::All(common));
            }
            Some(Tree::Any(found))
        }
    }
}

/// The elements that each of the alternatives asks for, if there are any.
fn in_all(alternatives: &[Tree]) -> Option<Vec<Tree>> {
    let parts = |tree: &Tree| match tree {
        Tree::All(parts) => parts.clone(),
        _ => Vec::new(),
    };
    let (first, rest) = alternatives.split_first()?;
    let mut common = parts(first);
    common.retain(|part| matches!(part, Tree::Element(_)));
    for other in rest {
        let other = parts(other);
        common.retain(|part| other.contains(part));
    }
    (!common.is_empty()).then_some(common)
}
