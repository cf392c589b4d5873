//! How well a text answers a query.
//!
//! Relies on: `run`.  Promises: PostgreSQL's numbers, worked out in the same order and width of numbers.  Does not: stop by itself when
//! both are large: `tick` is asked now and then and may say so.

use crate::error::{Error, Result};
use crate::query::{Item, Op, Operand, Query};
use crate::run::{Answer, Found, answer};
use crate::vector::{POSITION_MAX, Position, Vector};

/// What D, C, B and A count.
pub const WEIGHTS: [f32; 4] = [0.1, 0.2, 0.4, 1.0];

/// Parts of a rank's last argument.
const LOG_LENGTH: i32 = 1;
const LENGTH: i32 = 2;
const DISTANCE: i32 = 4;
const WORDS: i32 = 8;
const LOG_WORDS: i32 = 16;
const OF_ITSELF: i32 = 32;

/// Beyond this distance words have next to nothing to do with each other.
const DISTANCE_MAX: u32 = 100;
/// The sum of 1/n² over all n.
const SQUARES: f64 = 1.64493406685;

/// Asked now and then.
pub type Tick<'t, E> = &'t mut dyn FnMut() -> std::result::Result<(), E>;

/// Weights out of an array, or those there are if one is negative.
///
/// # Errors
/// That one is too large.
pub fn weights(given: [f32; 4]) -> Result<[f32; 4]> {
    let mut weights = WEIGHTS;
    for (weight, given) in weights.iter_mut().zip(given) {
        if given >= 0.0 {
            *weight = given;
        }
        if *weight > 1.0 {
            return Err(Error::Invalid("weight out of range".to_string()));
        }
    }
    Ok(weights)
}

/// The words that are asked for, each once, in their order.
fn words(query: &Query) -> Vec<&Operand> {
    // Of those that are one word PostgreSQL keeps the one that comes first from behind, with its prefix.
    let mut found: Vec<&Operand> = query.operands().collect();
    found.reverse();
    found.sort_by(|a, b| a.word.cmp(&b.word));
    found.dedup_by(|a, b| a.word == b.word);
    found
}

/// A word without positions is at the end.
const AT_END: [Position; 1] = [Position::at_end()];

/// `ts_rank`: how often words are there, or how near each other.
///
/// # Errors
/// What `tick` says.
pub fn rank<E>(
    weights: [f32; 4],
    vector: &Vector,
    query: &Query,
    method: i32,
    tick: Tick<'_, E>,
) -> std::result::Result<f32, E> {
    let Some(last) = query.items.last() else {
        return Ok(0.0);
    };
    if vector.lexemes.is_empty() {
        return Ok(0.0);
    }
    let mut rank = match last {
        Item::Op(Op::And | Op::Phrase(_)) => by_nearness(weights, vector, query, tick)?,
        _ => by_number(weights, vector, query),
    };
    if rank < 0.0 {
        rank = 1e-20;
    }
    let (length, words) = (vector.length(), vector.lexemes.len());
    if method & LOG_LENGTH != 0 {
        rank = (f64::from(rank) / (((length + 1) as f64).ln() / 2f64.ln())) as f32;
    }
    if method & LENGTH != 0 {
        rank /= length as f32;
    }
    if method & WORDS != 0 {
        rank /= words as f32;
    }
    if method & LOG_WORDS != 0 {
        rank = (f64::from(rank) / (((words + 1) as f64).ln() / 2f64.ln())) as f32;
    }
    if method & OF_ITSELF != 0 {
        rank /= rank + 1.0;
    }
    Ok(rank)
}

fn by_number(weights: [f32; 4], vector: &Vector, query: &Query) -> f32 {
    let words = words(query);
    let mut rank = 0f32;
    for operand in &words {
        for lexeme in vector.matching(&operand.word, operand.prefix) {
            let positions = match lexeme.positions.is_empty() {
                true => &AT_END[..],
                false => &lexeme.positions,
            };
            let (mut sum, mut best, mut best_at) = (0f32, -1f32, 0);
            for (at, position) in positions.iter().enumerate() {
                let weight = weights[usize::from(position.weight())];
                sum += weight / ((at + 1) * (at + 1)) as f32;
                if weight > best {
                    (best, best_at) = (weight, at);
                }
            }
            let square = ((best_at + 1) * (best_at + 1)) as f32;
            let one = f64::from(best + sum - best / square) / SQUARES;
            rank = (f64::from(rank) + one) as f32;
        }
    }
    match words.is_empty() {
        true => rank,
        false => rank / words.len() as f32,
    }
}

fn by_nearness<E>(
    weights: [f32; 4],
    vector: &Vector,
    query: &Query,
    tick: Tick<'_, E>,
) -> std::result::Result<f32, E> {
    let words = words(query);
    if words.len() < 2 {
        return Ok(by_number(weights, vector, query));
    }
    let weight = |p: &Position| weights[usize::from(p.weight())];
    let mut rank = -1f32;
    // Of each word before, where it was last found.
    let mut known: Vec<(&[Position], bool)> = Vec::new();
    for operand in &words {
        let mut own: Option<(&[Position], bool)> = None;
        for lexeme in vector.matching(&operand.word, operand.prefix) {
            let (positions, bare) = match lexeme.positions.is_empty() {
                true => (&AT_END[..], true),
                false => (&lexeme.positions[..], false),
            };
            own = Some((positions, bare));
            for &(others, other_bare) in &known {
                tick()?;
                for one in positions {
                    for other in others {
                        let mut distance = u32::from(one.place().abs_diff(other.place()));
                        if distance == 0 && !bare && !other_bare {
                            continue;
                        }
                        if distance == 0 {
                            distance = u32::from(POSITION_MAX) + 1;
                        }
                        let nearness = nearness(distance);
                        let now = f64::from(weight(one) * weight(other) * nearness).sqrt() as f32;
                        rank = match rank < 0.0 {
                            true => now,
                            false => {
                                (1.0 - (1.0 - f64::from(rank)) * (1.0 - f64::from(now))) as f32
                            }
                        };
                    }
                }
            }
        }
        // A word that is not there has nothing near it.
        known.extend(own);
    }
    Ok(rank)
}

fn nearness(distance: u32) -> f32 {
    if distance > DISTANCE_MAX {
        return 1e-30;
    }
    let distance = f64::from(distance as f32);
    (1.0 / (1.005 + 0.05 * (distance / 1.5 - 2.0).exp())) as f32
}

/// A place of a text that has words of the query.
struct Place {
    position: Position,
    /// The numbers of the items that are those words.
    items: Vec<usize>,
}

/// A stretch that fulfils the query: its first place and its last one.
struct Cover {
    first: usize,
    last: usize,
}

/// `ts_rank_cd`: how short the stretches are that have everything.
///
/// # Errors
/// What `tick` says.
pub fn rank_by_covers<E>(
    weights: [f32; 4],
    vector: &Vector,
    query: &Query,
    method: i32,
    tick: Tick<'_, E>,
) -> std::result::Result<f32, E> {
    let places = places(vector, query);
    if places.is_empty() {
        return Ok(0.0);
    }
    let inverse = weights.map(|weight| 1.0 / f64::from(weight));
    let (mut rank, mut nearness, mut before, mut count) = (0f64, 0f64, 0f64, 0u32);
    let mut from = 0;
    while let Some(cover) = next_cover(&places, query, &mut from, tick)? {
        let within = &places[cover.first..=cover.last];
        let sum: f64 = within
            .iter()
            .map(|p| inverse[usize::from(p.position.weight())])
            .sum();
        let steps = (cover.last - cover.first) as i32;
        let first = i32::from(within[0].position.place());
        let last = i32::from(within[within.len() - 1].position.place());
        let mut others = (last - first) - steps;
        if others < 0 {
            others = steps / 2;
        }
        rank += f64::from(steps + 1) / sum / f64::from(1 + others);
        let middle = f64::from(last + first) / 2.0;
        if count > 0 && middle > before {
            nearness += 1.0 / (middle - before);
        }
        before = middle;
        count += 1;
    }
    let (length, words) = (vector.length() as f64, vector.lexemes.len() as f64);
    if method & LOG_LENGTH != 0 {
        rank /= (length + 1.0).ln();
    }
    if method & LENGTH != 0 {
        rank /= length;
    }
    if method & DISTANCE != 0 && count > 0 && nearness > 0.0 {
        rank /= f64::from(count) / nearness;
    }
    if method & WORDS != 0 {
        rank /= words;
    }
    if method & LOG_WORDS != 0 {
        rank /= (words + 1.0).ln() / 2f64.ln();
    }
    if method & OF_ITSELF != 0 {
        rank /= rank + 1.0;
    }
    Ok(rank as f32)
}

/// Where words of the query are, in order.
fn places(vector: &Vector, query: &Query) -> Vec<Place> {
    let mut found: Vec<(Position, &str, usize)> = Vec::new();
    for (number, item) in query.items.iter().enumerate() {
        let Item::Word(operand) = item else {
            continue;
        };
        for lexeme in vector.matching(&operand.word, operand.prefix) {
            for &position in &lexeme.positions {
                if operand.weights == 0 || operand.weights & (1 << position.weight()) != 0 {
                    found.push((position, &lexeme.word, number));
                }
            }
        }
    }
    found.sort_unstable();
    let mut places: Vec<Place> = Vec::new();
    // Words that are at one place are places of their own, but not items that are one word.
    let same = |a: &(Position, &str, usize), b: &(Position, &str, usize)| (a.0, a.1) == (b.0, b.1);
    for items in found.chunk_by(same) {
        places.push(Place {
            position: items[0].0,
            items: items.iter().map(|(.., item)| *item).collect(),
        });
    }
    places
}

/// The next stretch that fulfils the query: the shortest that ends where the first does that begins at `from` or behind.
fn next_cover<E>(
    places: &[Place],
    query: &Query,
    from: &mut usize,
    tick: Tick<'_, E>,
) -> std::result::Result<Option<Cover>, E> {
    let mut last_place = 0;
    let mut seen: Vec<Vec<u32>> = vec![Vec::new(); query.items.len()];
    loop {
        seen.iter_mut().for_each(Vec::clear);
        let mut last = None;
        for (at, place) in places.iter().enumerate().skip(*from) {
            tick()?;
            see(&mut seen, place);
            if fulfils(query, &seen) {
                if place.position.place() > last_place {
                    last_place = place.position.place();
                    last = Some(at);
                }
                break;
            }
        }
        let Some(last) = last else {
            return Ok(None);
        };
        seen.iter_mut().for_each(Vec::clear);
        for at in (*from..=last).rev() {
            tick()?;
            see(&mut seen, &places[at]);
            if fulfils(query, &seen) {
                *from = at + 1;
                return Ok(Some(Cover { first: at, last }));
            }
        }
        *from += 1;
    }
}

fn see(seen: &mut [Vec<u32>], place: &Place) {
    let at = u32::from(place.position.place());
    for &item in &place.items {
        seen[item].push(at);
    }
}

fn fulfils(query: &Query, seen: &[Vec<u32>]) -> bool {
    let mut find = |item: usize, _: &Operand, places: bool| match (seen[item].is_empty(), places) {
        (true, _) => Found::Nowhere,
        (false, false) => Found::Somewhere,
        (false, true) => {
            let mut at = seen[item].clone();
            at.sort_unstable();
            at.dedup();
            Found::At(at)
        }
    };
    answer(query, &mut find, Answer::No) == Answer::Yes
}
