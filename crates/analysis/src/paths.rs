//! The paths of a mark for one call: its key's parts, computed from the arguments.
//!
//! Relies on: `footprint`.  Promises: a path for all rows that the mark means for these arguments, or a shorter
//! one that means more; equal values have equal parts, on every machine.  Does not: allocate per path.
//!
//! Hot path: run once per call and mark. Arguments and elements of arrays are looked at where they lie; keep
//! clones and general evaluation to the expressions that need them.

use crate::columns::Columns;
use crate::deeds::Effect;
use crate::expressions::slots;
use crate::footprint::{KeyPart, Mark, exprs_of, renumber};
use quintet_base::conflict::MAX_PARTS;
use quintet_base::{SqlType, Value, key};
use quintet_ir::ahead::{Over, Turns};
use quintet_ir::{DetachedHost, Expr, eval, eval_predicate, leaf};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Paths that one mark has in one call; a call with more means all rows that begin alike. A call of a hundred
/// rows still has a key for each; beyond that scheduling would cost more than it gains.
pub const PATHS_MAX: usize = 128;

/// A mark, ready to be evaluated.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The known beginning of the path.
    pub(crate) parts: Vec<Known>,
    /// Places renumbered: behind the arguments, outermost first.
    pub(crate) turns: Vec<Turns>,
    pub(crate) only_if: Vec<(Expr, bool)>,
    /// The footprint's places of the turns.
    pub(crate) origins: Vec<usize>,
    arguments: usize,
    /// Of a unique index in which a NULL is no key.
    pub(crate) of_index: bool,
    pub(crate) said: Said,
}

/// What paths say, in a form that can be compared.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// Of each part: it, and those before it that may be unknown; where one of them is, it is not asked for.
    pub terms: Vec<Arc<str>>,
    /// The turns, and the conditions.
    pub around: BTreeSet<Arc<str>>,
}

impl Said {
    fn new(parts: &[Known], turns: &[Turns], only_if: &[(Expr, bool)]) -> Said {
        let mut before = String::new();
        let mut terms = Vec::new();
        for Known { expr, partial, .. } in parts {
            let said = format!("{expr:?} {partial}");
            terms.push(Arc::from(format!("{said}{before}")));
            if *partial {
                before += " behind ";
                before += &said;
            }
        }
        let turns = turns.iter().map(|turns| Arc::from(format!("{turns:?}")));
        let conditions = only_if.iter();
        let conditions = conditions.map(|condition| Arc::from(format!("{condition:?}")));
        Said {
            terms,
            around: turns.chain(conditions).collect(),
        }
    }
}

/// A part whose value follows from the arguments.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub expr: Expr,
    /// Of the column.
    pub ty: SqlType,
    /// Unknown where it is NULL.
    pub partial: bool,
    /// It depends on the turn.
    pub iterated: bool,
}

impl Paths {
    /// Of one of a footprint's marks. A column that only takes values which no argument has a say in, as in
    /// `FOR d IN 1..10`, ends the path, unless it begins it: such a column tells no two calls apart.
    pub fn new(mark: &Mark, arguments: usize) -> Paths {
        let columns = mark.effect.columns(&mark.table);
        let mut mark = mark.clone();
        let of_constants = |part: &KeyPart| {
            let KeyPart::Iterated(expr) = part else {
                return false;
            };
            let mut used = Columns::new();
            slots(expr, &mut used);
            for turns in mark.turns.iter().rev() {
                if used.contains(&turns.place) {
                    exprs_of(&turns.over)
                        .into_iter()
                        .for_each(|expr| slots(expr, &mut used));
                }
            }
            used.iter().all(|place| *place >= arguments)
        };
        let known = mark.known().count().min(MAX_PARTS);
        let ends = (1..known).find(|place| of_constants(&mark.path[*place]));
        mark.path.truncate(ends.unwrap_or(known));
        mark.trim(arguments);
        let places: Vec<usize> = mark.turns.iter().map(|turns| turns.place).collect();
        let number = |place: usize| match places.iter().position(|known| *known == place) {
            Some(turn) => arguments + turn,
            None => place,
        };
        let numbered = |expr: &Expr| {
            let mut expr = expr.clone();
            renumber(&mut expr, &number);
            expr
        };
        let part = |(part, column): (&KeyPart, &usize)| {
            let expr = numbered(part.expr().expect("the path ends where it is not known"));
            let mut used = Columns::new();
            slots(&expr, &mut used);
            Known {
                expr,
                ty: mark.table.frame_type(*column),
                partial: matches!(part, KeyPart::Partial(_)),
                iterated: used.iter().any(|place| *place >= arguments),
            }
        };
        let turns = |turns: &Turns| Turns {
            place: number(turns.place),
            over: match &turns.over {
                Over::Integers {
                    lower,
                    upper,
                    step,
                    reverse,
                } => Over::Integers {
                    lower: numbered(lower),
                    upper: numbered(upper),
                    step: numbered(step),
                    reverse: *reverse,
                },
                Over::Elements(array) => Over::Elements(numbered(array)),
            },
        };
        let parts: Vec<Known> = mark.path.iter().zip(&columns).map(part).collect();
        let turns: Vec<Turns> = mark.turns.iter().map(turns).collect();
        let only_if = mark.only_if.iter();
        let only_if: Vec<(Expr, bool)> = only_if
            .map(|(condition, held)| (numbered(condition), *held))
            .collect();
        Paths {
            said: Said::new(&parts, &turns, &only_if),
            parts,
            turns,
            only_if,
            arguments,
            origins: places,
            of_index: match mark.effect {
                Effect::Claim(index) | Effect::Release(index) => {
                    !mark.table.indexes[index].nulls_equal
                }
                _ => false,
            },
        }
    }

    /// Places that the expressions see.
    pub fn places(&self) -> usize {
        self.arguments + self.turns.len()
    }

    /// Shows the path of each row, or of all rows that begin alike. `values`: the arguments, with room for
    /// [`Paths::places`].
    pub fn each(&self, values: &mut [Value], see: &mut dyn FnMut(&[u64])) {
        let mut buffer = [0; MAX_PARTS];
        if self.turns.is_empty() {
            if self.holds(values) != Some(false)
                && let Some(count) = self.path(values, &mut buffer, self.parts.len())
            {
                see(&buffer[..count]);
            }
            return;
        }
        if self
            .count(values, 0)
            .is_some_and(|count| count <= PATHS_MAX)
        {
            self.turn(0, values, see);
            return;
        }
        // Too many turns, or an error on the way to them: what does not depend on the turn.
        let first = self.parts.iter().position(|part| part.iterated);
        let places = values.len().min(self.places());
        values[self.arguments..places].fill(Value::Null);
        if let Some(count) = self.path(values, &mut buffer, first.unwrap_or(self.parts.len())) {
            see(&buffer[..count]);
        }
    }

    /// How many paths there are; `None`: too many, or not known.
    fn count(&self, values: &mut [Value], depth: usize) -> Option<usize> {
        if depth == self.turns.len() {
            return Some(1);
        }
        let mut count = 0;
        let mut known = true;
        self.values_of(depth, values, &mut |values| {
            match self.count(values, depth + 1) {
                Some(inner) => count += inner,
                None => known = false,
            }
            known && count <= PATHS_MAX
        })?;
        (known && count <= PATHS_MAX).then_some(count)
    }

    fn turn(&self, depth: usize, values: &mut [Value], see: &mut dyn FnMut(&[u64])) {
        if depth < self.turns.len() {
            // Counted before, so nothing is in the way.
            let _ = self.values_of(depth, values, &mut |values| {
                self.turn(depth + 1, values, see);
                true
            });
            return;
        }
        let mut buffer = [0; MAX_PARTS];
        if self.holds(values) != Some(false)
            && let Some(count) = self.path(values, &mut buffer, self.parts.len())
        {
            see(&buffer[..count]);
        }
    }

    /// Puts each value of a loop's variable into its place, as long as more are wanted. `None`: it is not
    /// known which there are.
    fn values_of(
        &self,
        depth: usize,
        values: &mut [Value],
        go_on: &mut dyn FnMut(&mut [Value]) -> bool,
    ) -> Option<()> {
        let Turns { place, over } = &self.turns[depth];
        match over {
            Over::Integers {
                lower,
                upper,
                step,
                reverse,
            } => {
                let bound = |expr: &Expr| value_of(expr, values).map(|value| value.as_i64());
                // A loop with a NULL for a bound, or no step, fails before its first turn.
                let (Some(first), Some(last), Some(step)) =
                    (bound(lower)?, bound(upper)?, bound(step)?)
                else {
                    return Some(());
                };
                if step <= 0 {
                    return Some(());
                }
                let mut at = first;
                while if *reverse { at >= last } else { at <= last } {
                    values[*place] = Value::Int4(i32::try_from(at).ok()?);
                    if !go_on(values) {
                        break;
                    }
                    at = if *reverse { at - step } else { at + step };
                }
            }
            Over::Elements(array) => {
                // Taken out, so that the values can be changed meanwhile.
                let Value::Array(array) = value_of(array, values)? else {
                    return Some(());
                };
                for value in array.values {
                    values[*place] = value;
                    if !go_on(values) {
                        break;
                    }
                }
            }
        }
        Some(())
    }

    /// Whether the conditions hold; `None`: not known.
    fn holds(&self, values: &[Value]) -> Option<bool> {
        let mut known = Some(true);
        for (condition, held) in &self.only_if {
            match eval_predicate(condition, &[], values, host()) {
                Ok(holds) if holds != *held => return Some(false),
                Ok(_) => {}
                Err(_) => known = None,
            }
        }
        known
    }

    /// The parts up to the first that is not known; `None`: there is no such key.
    fn path(&self, values: &[Value], into: &mut [u64; MAX_PARTS], most: usize) -> Option<usize> {
        for (place, part) in self.parts.iter().take(most).enumerate() {
            let computed;
            let value = match leaf(&part.expr, &[], values) {
                Some(value) => value,
                None => match eval(&part.expr, &[], values, host()) {
                    Ok(value) => {
                        computed = value;
                        &computed
                    }
                    Err(_) => return Some(place),
                },
            };
            if value.is_null() {
                // A row with a NULL in its key is not there. But who relies on this key to say for others,
                // too, that calls meet must find it.
                return (part.partial || !self.of_index).then_some(place);
            }
            into[place] = hashed(value, part.ty);
        }
        Some(most.min(self.parts.len()))
    }
}

fn value_of(expr: &Expr, values: &[Value]) -> Option<Value> {
    match leaf(expr, &[], values) {
        Some(value) => Some(value.clone()),
        None => eval(expr, &[], values, host()).ok(),
    }
}

/// Expressions of footprints ask nothing of a session.
fn host() -> &'static DetachedHost {
    static HOST: std::sync::LazyLock<DetachedHost> =
        std::sync::LazyLock::new(DetachedHost::default);
    &HOST
}

/// A value of a key's column as a part of a path: the same for values that compare equal.
pub fn hashed(value: &Value, ty: SqlType) -> u64 {
    if let Some(number) = value.as_i64() {
        return mixed(number as u64);
    }
    match value {
        Value::Text(text) => {
            let text = text.as_str();
            hashed_bytes(match ty {
                // Blanks at the end of char(n) do not count.
                SqlType::Bpchar => text.trim_end_matches(' '),
                _ => text,
            })
        }
        value => {
            let mut bytes = Vec::with_capacity(32);
            key::encode(value, &mut bytes);
            hashed_bytes(bytes)
        }
    }
}

fn hashed_bytes(bytes: impl AsRef<[u8]>) -> u64 {
    let bytes = bytes.as_ref();
    let chunks = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    chunks.fold(bytes.len() as u64, |hash, word| mixed(hash ^ word))
}

/// The whole number that a part was made of, where it was one.
pub(crate) fn number_of(part: u64) -> i64 {
    // The steps of `mixed` backwards, with the multiplicative inverses of its factors.
    let part = part ^ (part >> 31) ^ (part >> 62);
    let part = part.wrapping_mul(0x3196_42B2_D24D_8EC3);
    let part = part ^ (part >> 27) ^ (part >> 54);
    let part = part.wrapping_mul(0x96DE_1B17_3F11_9089);
    let part = part ^ (part >> 30) ^ (part >> 60);
    part.wrapping_sub(0x9E37_79B9_7F4A_7C15) as i64
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): every bit of the input moves every bit of
/// the result.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_whole_number_can_be_read() {
        let all = [0, 1, -1, 77, i64::MAX, i64::MIN, 1 << 31, -(1 << 40)];
        for number in all {
            let part = hashed(&Value::Int8(number), SqlType::Int8);
            assert_eq!(number_of(part), number);
        }
    }
}
