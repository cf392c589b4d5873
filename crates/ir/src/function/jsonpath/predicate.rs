//! Conditions of a path.
//!
//! Promises: PostgreSQL's three values, of which `None` is unknown; an error within a condition makes it
//! unknown and is never told. In lax mode the first pair of operands that fits decides, in strict mode all
//! of them must be comparable.

use super::found::Found;
use super::run::{Outcome, Run};
use crate::function::pattern;
use quintet_base::jsonpath::{Binary, Chain, Item, Like};
use quintet_base::{Json, SqlError, SqlResult};
use std::cmp::Ordering;

/// A value of a condition; `None` is unknown.
type Truth = Option<bool>;

impl<'a> Run<'a, '_> {
    pub(super) fn condition(&mut self, chain: &Chain, value: &Found<'a>) -> SqlResult<Truth> {
        self.predicate(&chain[0], value)
    }

    pub(super) fn predicate(&mut self, item: &Item, value: &Found<'a>) -> SqlResult<Truth> {
        Ok(match item {
            Item::Binary(Binary::And, left, right) => match self.condition(left, value)? {
                Some(false) => Some(false),
                // An unknown left side leaves the right one to be looked at.
                left => match self.condition(right, value)? {
                    Some(true) => left,
                    right => right,
                },
            },
            Item::Binary(Binary::Or, left, right) => match self.condition(left, value)? {
                Some(true) => Some(true),
                left => match self.condition(right, value)? {
                    Some(false) => left,
                    right => right,
                },
            },
            Item::Not(inner) => self.condition(inner, value)?.map(|truth| !truth),
            Item::IsUnknown(inner) => Some(self.condition(inner, value)?.is_none()),
            Item::Exists(inner) => self.exists(inner, value)?,
            Item::Binary(Binary::StartsWith, left, right) => {
                self.pairs(left, Some(right), false, value, |_, whole, initial| {
                    let initial = initial.and_then(Found::as_text);
                    let texts = whole.as_text().zip(initial);
                    Ok(texts.map(|(whole, initial)| whole.starts_with(initial)))
                })?
            }
            Item::Binary(binary, left, right) => {
                self.pairs(left, Some(right), true, value, |run, a, b| match b {
                    Some(b) => run.compare(*binary, a, b),
                    None => Ok(None),
                })?
            }
            Item::Like(operand, like) => {
                self.pairs(operand, None, false, value, |_, text, _| {
                    like_text(text, like)
                })?
            }
            _ => return Err(SqlError::internal("a jsonpath condition that is none")),
        })
    }

    /// Errors of what runs here are not told.
    fn quietly<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let throws = std::mem::replace(&mut self.throws, false);
        let ran = run(self);
        self.throws = throws;
        ran
    }

    fn exists(&mut self, chain: &Chain, value: &Found<'a>) -> SqlResult<Truth> {
        if self.lax {
            let outcome = self.quietly(|run| run.item(chain, value, None))?;
            return Ok(match outcome {
                Outcome::Error => None,
                outcome => Some(outcome == Outcome::Found),
            });
        }
        // Strictly, only the whole list tells that there was no error.
        let found = self.quietly(|run| run.operand(chain, value, false))?;
        Ok(found.map(|found| !found.is_empty()))
    }

    fn pairs(
        &mut self,
        left: &Chain,
        right: Option<&Chain>,
        unwrap_right: bool,
        value: &Found<'a>,
        test: impl Fn(&Self, &Found<'a>, Option<&Found<'a>>) -> SqlResult<Truth>,
    ) -> SqlResult<Truth> {
        let Some(left) = self.quietly(|run| run.operand(left, value, true))? else {
            return Ok(None);
        };
        let right = match right {
            None => None,
            Some(right) => match self.quietly(|run| run.operand(right, value, unwrap_right))? {
                Some(right) => Some(right),
                None => return Ok(None),
            },
        };
        let (mut unknown, mut met) = (false, false);
        for a in &left {
            let count = right.as_ref().map_or(1, Vec::len);
            for at in 0..count {
                let b = right.as_ref().map(|right| &right[at]);
                self.look()?;
                match test(self, a, b)? {
                    None if !self.lax => return Ok(None),
                    None => unknown = true,
                    Some(true) if self.lax => return Ok(Some(true)),
                    Some(true) => met = true,
                    Some(false) => {}
                }
            }
        }
        Ok(match (met, unknown) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        })
    }

    fn compare(&self, binary: Binary, a: &Found<'a>, b: &Found<'a>) -> SqlResult<Truth> {
        let order = match (a, b) {
            (Found::Moment(a), Found::Moment(b)) => {
                match a.order(*b, self.with_zone, self.host)? {
                    Some(order) => order,
                    None => return Ok(None),
                }
            }
            _ => {
                let (x, y) = (a.as_scalar(), b.as_scalar());
                let is_null = |json: Option<&Json>| matches!(json, Some(Json::Null));
                match (x, y) {
                    (Some(Json::Null), Some(Json::Null)) => Ordering::Equal,
                    (Some(Json::Bool(x)), Some(Json::Bool(y))) => x.cmp(y),
                    (Some(Json::Number(x)), Some(Json::Number(y))) => x.cmp(y),
                    (Some(Json::Text(x)), Some(Json::Text(y))) => x.as_bytes().cmp(y.as_bytes()),
                    // A null differs from everything else and is neither above nor below it.
                    _ if is_null(x) || is_null(y) => {
                        return Ok(Some(binary == Binary::NotEqual));
                    }
                    _ => return Ok(None),
                }
            }
        };
        Ok(Some(match binary {
            Binary::Equal => order.is_eq(),
            Binary::NotEqual => order.is_ne(),
            Binary::Less => order.is_lt(),
            Binary::LessOrEqual => order.is_le(),
            Binary::Greater => order.is_gt(),
            _ => order.is_ge(),
        }))
    }
}

fn like_text(text: &Found, like: &Like) -> SqlResult<Truth> {
    match text.as_text() {
        Some(text) => pattern::like_regex(text, like).map(Some),
        None => Ok(None),
    }
}
