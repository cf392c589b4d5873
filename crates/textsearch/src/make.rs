//! Texts as vectors and queries.
//!
//! Relies on: `token`, `dictionary`, `read`.  Promises: positions count the tokens that a dictionary was asked about; words that mean
//! nothing leave gaps, in phrases too.  Does not: know documents; the caller adds their texts one by one.

use crate::dictionary::{Config, Meaning};
use crate::error::Result;
use crate::query::{Item, Op, Operand, Query};
use crate::read::{self, Part, Read, Written};
use crate::token::Tokens;
use crate::vector::{Lexeme, POSITION_MAX, POSITIONS_MAX, Position, Vector};
use crate::words::WORD_BYTES_MAX;
use std::collections::BTreeMap;

/// Words of one text or several.
pub struct Maker {
    config: Config,
    place: usize,
    words: BTreeMap<String, Vec<Position>>,
    /// Words that were too long to be kept.
    pub too_long: usize,
}

impl Maker {
    /// Nothing yet.
    pub fn new(config: Config) -> Maker {
        Maker {
            config,
            place: 0,
            words: BTreeMap::new(),
            too_long: 0,
        }
    }

    /// Adds a text; phrases do not reach from one into the next.
    pub fn add(&mut self, text: &str) {
        let mut any = false;
        let (place, words, too_long) = (&mut self.place, &mut self.words, &mut self.too_long);
        each_word(self.config, text, place, too_long, &mut |place, word| {
            any = true;
            let positions = words.entry(word).or_default();
            let place = place.min(usize::from(POSITION_MAX)) as u16;
            let is_new = positions.last().is_none_or(|last| last.place() != place);
            // One less than vectors that are written may have.
            if is_new && positions.len() < POSITIONS_MAX - 1 {
                positions.push(Position::new(place, 0));
            }
        });
        self.place += usize::from(any);
    }

    /// What has come together.
    ///
    /// # Errors
    /// That it is too much.
    pub fn vector(self) -> Result<Vector> {
        let lexemes = self.words.into_iter();
        let vector = Vector {
            lexemes: lexemes
                .map(|(word, positions)| Lexeme { word, positions })
                .collect(),
        };
        vector.check()?;
        Ok(vector)
    }
}

/// Each word of a text with its place; `place` is that of the last one.
fn each_word(
    config: Config,
    text: &str,
    place: &mut usize,
    too_long: &mut usize,
    take: &mut dyn FnMut(usize, String),
) {
    for token in Tokens::new(text) {
        if token.text.len() > WORD_BYTES_MAX {
            *too_long += 1;
            continue;
        }
        match config.meaning(token.kind, token.text) {
            Meaning::None => {}
            Meaning::Stop => *place += 1,
            Meaning::Word(word) => {
                *place += 1;
                take(*place, word);
            }
        }
    }
}

/// A text as a vector.
///
/// # Errors
/// That it is too long.
pub fn vector(config: Config, text: &str) -> Result<Vector> {
    let mut maker = Maker::new(config);
    maker.add(text);
    maker.vector()
}

/// How a text is read as a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// With operators: `to_tsquery`.
    Operators,
    /// All of its words: `plainto_tsquery`.
    Plain,
    /// Its words one behind the other: `phraseto_tsquery`.
    Phrase,
    /// `websearch_to_tsquery`.
    Web,
}

/// A text as a query.
///
/// # Errors
/// What is wrong with it.
pub fn query(config: Config, style: Style, text: &str) -> Result<Read> {
    let op = match style {
        Style::Plain => Op::And,
        _ => Op::Phrase(1),
    };
    let mut meaning = |written: Written, parts: &mut Vec<Part>| {
        words_of(config, op, &written, parts);
        Ok(())
    };
    match style {
        Style::Operators => read::parse(text, &mut meaning),
        Style::Web => read::web(text, &mut meaning),
        Style::Plain | Style::Phrase => read::plain(text, &mut meaning),
    }
}

/// The text of a query itself.
///
/// # Errors
/// What is wrong with it.
pub fn plain_query(text: &str) -> Result<Read> {
    read::parse(text, &mut read::as_it_is)
}

/// The words of what was written as one operand.
fn words_of(config: Config, op: Op, written: &Written, parts: &mut Vec<Part>) {
    let (mut last, mut count) = (0, 0);
    let mut add = |part, parts: &mut Vec<Part>| {
        parts.push(part);
        if count > 0 {
            parts.push(Part::Item(Item::Op(op)));
        }
        count += 1;
    };
    each_word(config, &written.text, &mut 0, &mut 0, &mut |place, word| {
        // Words between that mean nothing; those at the beginning do not count.
        if last > 0 {
            (last + 1..place).for_each(|_| add(Part::Stop, parts));
        }
        last = place;
        let operand = Operand {
            word,
            prefix: written.prefix,
            weights: written.weights,
        };
        add(Part::Item(Item::Word(operand)), parts);
    });
    if count == 0 {
        parts.push(Part::Stop);
    }
}

/// One query behind another, so many places.
///
/// # Errors
/// That they are further away than may be.
pub fn phrase(left: Query, right: Query, distance: i64) -> Result<Query> {
    let distance = read::check_distance(distance)?;
    Ok(left.join(Op::Phrase(distance), right))
}
