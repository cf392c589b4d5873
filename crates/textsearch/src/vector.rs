//! A text as the words that are in it, with their positions: `tsvector`.
//!
//! Relies on: `words` for reading.  Promises: words in the order of their bytes, each once; what is kept as bytes compares, byte by
//! byte, as PostgreSQL compares vectors.  Does not: make vectors of texts (`make`).
//!
//! ```text
//!   size that PostgreSQL would need  u32 │ words  u32 │ per word: 00 with positions, 01 without │ its bytes │ 00
//!                                                               with: !(number of positions) u16 │ per position: !(place × 4 + weight) u16
//! ```
//! All numbers have their highest byte first; `!` turns bits, for what is larger comes first there.

use crate::error::{Error, Result};
use crate::words::{Reader, check_length, write_quoted};
use std::fmt;

/// No position is further.
pub const POSITION_MAX: u16 = 16383;
/// A word keeps so many.
pub const POSITIONS_MAX: usize = 256;
/// Words and positions of a vector take at most so much.
const BYTES_MAX: usize = (1 << 20) - 1;

/// A position and its weight, 3 (A) to 0 (D).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position(u16);

impl Position {
    /// This place, or the furthest there may be.
    pub fn new(place: u16, weight: u8) -> Position {
        Position(place.min(POSITION_MAX) << 2 | u16::from(weight & 3))
    }

    /// The furthest there is, without a weight.
    pub const fn at_end() -> Position {
        Position(POSITION_MAX << 2)
    }

    /// Where.
    pub fn place(self) -> u16 {
        self.0 >> 2
    }

    /// How much it counts.
    pub fn weight(self) -> u8 {
        (self.0 & 3) as u8
    }
}

/// A word and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lexeme {
    /// The word.
    pub word: String,
    /// In ascending order of places, each once; nothing if it is not known.
    pub positions: Vec<Position>,
}

/// Words in their order, each once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Vector {
    /// The words.
    pub lexemes: Vec<Lexeme>,
}

impl Vector {
    /// Of words in any order, some of them perhaps several times.
    ///
    /// # Errors
    /// What is too long.
    pub fn of(mut lexemes: Vec<Lexeme>) -> Result<Vector> {
        lexemes.sort_by(|a, b| a.word.cmp(&b.word));
        lexemes.dedup_by(|later, kept| {
            let same = later.word == kept.word;
            if same {
                kept.positions.append(&mut later.positions);
            }
            same
        });
        for lexeme in &mut lexemes {
            put_in_order(&mut lexeme.positions);
        }
        let vector = Vector { lexemes };
        vector.check()?;
        Ok(vector)
    }

    /// Refuses what PostgreSQL has no room for.
    ///
    /// # Errors
    /// That it is too long.
    pub fn check(&self) -> Result<()> {
        let bytes = self.word_bytes();
        match bytes > BYTES_MAX {
            true => Err(Error::TooLong(format!(
                "string is too long for tsvector ({bytes} bytes, max {BYTES_MAX} bytes)"
            ))),
            false => Ok(()),
        }
    }

    /// Reads the text of a vector.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Vector> {
        let mut reader = Reader::new(text, "tsvector");
        let mut lexemes = Vec::new();
        loop {
            reader.blanks();
            if reader.peek().is_none() {
                break;
            }
            let word = reader.word(false)?;
            check_length(&word)?;
            let positions = reader.positions()?;
            lexemes.push(Lexeme { word, positions });
        }
        Vector::of(lexemes)
    }

    /// How many bytes PostgreSQL needs for words and positions.
    fn word_bytes(&self) -> usize {
        self.lexemes.iter().fold(0, |before, lexeme| {
            let behind = before + lexeme.word.len();
            match lexeme.positions.len() {
                0 => behind,
                n => behind.next_multiple_of(2) + 2 + 2 * n,
            }
        })
    }

    /// As it is kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        let bytes = self.word_bytes();
        let mut out = Vec::with_capacity(16 + bytes + 2 * self.lexemes.len());
        let size = 8 + 4 * self.lexemes.len() + bytes;
        out.extend_from_slice(&(size as u32).to_be_bytes());
        out.extend_from_slice(&(self.lexemes.len() as u32).to_be_bytes());
        for lexeme in &self.lexemes {
            let positions = &lexeme.positions;
            out.push(u8::from(positions.is_empty()));
            out.extend_from_slice(lexeme.word.as_bytes());
            out.push(0);
            if !positions.is_empty() {
                out.extend_from_slice(&(!(positions.len() as u16)).to_be_bytes());
                for position in positions {
                    out.extend_from_slice(&(!position.0).to_be_bytes());
                }
            }
        }
        out
    }

    /// What [`Vector::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Option<Vector> {
        let mut lexemes = Vec::new();
        for found in Words::of(bytes)? {
            let (word, positions) = found?;
            lexemes.push(Lexeme {
                word: word.to_string(),
                positions: positions.collect(),
            });
        }
        Some(Vector { lexemes })
    }

    /// For the binary protocol: words, their number first, each with a zero byte behind and its positions.
    pub fn send(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&(self.lexemes.len() as u32).to_be_bytes());
        for lexeme in &self.lexemes {
            out.extend_from_slice(lexeme.word.as_bytes());
            out.push(0);
            out.extend_from_slice(&(lexeme.positions.len() as u16).to_be_bytes());
            for position in &lexeme.positions {
                let sent = u16::from(position.weight()) << 14 | position.place();
                out.extend_from_slice(&sent.to_be_bytes());
            }
        }
        out
    }

    /// What a client sent.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn receive(bytes: &[u8]) -> Result<Vector> {
        let ends = || Error::Malformed("insufficient data left in message".to_string());
        let number = |at: &mut usize| -> Result<u16> {
            let found = bytes.get(*at..*at + 2).ok_or_else(ends)?;
            *at += 2;
            Ok(u16::from_be_bytes([found[0], found[1]]))
        };
        let mut at = 0;
        let count = u32::from(number(&mut at)?) << 16 | u32::from(number(&mut at)?);
        let mut lexemes = Vec::new();
        for _ in 0..count {
            let rest = &bytes[at..];
            let end = rest.iter().position(|&byte| byte == 0).ok_or_else(ends)?;
            let word = std::str::from_utf8(&rest[..end]);
            let word = word.map_err(|_| Error::Malformed("invalid byte sequence".to_string()))?;
            if word.len() > crate::words::WORD_BYTES_MAX {
                return Err(Error::Malformed(
                    "invalid tsvector: lexeme too long".to_string(),
                ));
            }
            at += end + 1;
            let many = usize::from(number(&mut at)?);
            if many > POSITIONS_MAX {
                return Err(Error::Malformed(
                    "unexpected number of tsvector positions".into(),
                ));
            }
            let mut positions: Vec<Position> = Vec::new();
            for _ in 0..many {
                let sent = number(&mut at)?;
                let position = Position::new(sent & POSITION_MAX, (sent >> 14) as u8);
                let before = positions.last().map_or(0, |last| last.place());
                if position.place() <= before {
                    return Err(Error::Malformed(
                        "position information is misordered".into(),
                    ));
                }
                positions.push(position);
            }
            lexemes.push(Lexeme {
                word: word.to_string(),
                positions,
            });
        }
        Vector::of(lexemes)
    }

    /// The words that are this one, or begin with it.
    pub fn matching(&self, word: &str, prefix: bool) -> &[Lexeme] {
        let start = self.lexemes.partition_point(|l| l.word.as_str() < word);
        let rest = &self.lexemes[start..];
        let many = match prefix {
            true => rest.partition_point(|l| l.word.starts_with(word)),
            false => usize::from(rest.first().is_some_and(|l| l.word == word)),
        };
        &rest[..many]
    }

    /// How long the text was, as far as is known.
    pub fn length(&self) -> usize {
        self.lexemes.iter().map(|l| l.positions.len().max(1)).sum()
    }

    /// Without positions.
    pub fn strip(mut self) -> Vector {
        for lexeme in &mut self.lexemes {
            lexeme.positions.clear();
        }
        self
    }

    /// All positions, or those of some words, get this weight.
    pub fn set_weight(mut self, weight: u8, words: Option<&[&str]>) -> Vector {
        let set = |lexeme: &mut Lexeme| {
            for position in &mut lexeme.positions {
                *position = Position::new(position.place(), weight);
            }
        };
        match words {
            None => self.lexemes.iter_mut().for_each(set),
            Some(words) => {
                for word in words {
                    let found = self.lexemes.binary_search_by(|l| l.word.as_str().cmp(word));
                    if let Ok(at) = found {
                        set(&mut self.lexemes[at]);
                    }
                }
            }
        }
        self
    }

    /// Without these words.
    pub fn delete(mut self, words: &[&str]) -> Vector {
        let mut words = words.to_vec();
        words.sort_unstable();
        let gone = |l: &Lexeme| words.binary_search(&l.word.as_str()).is_ok();
        self.lexemes.retain(|lexeme| !gone(lexeme));
        self
    }

    /// What has one of these weights, a bit each.
    pub fn filter(mut self, weights: u8) -> Vector {
        self.lexemes.retain_mut(|lexeme| {
            let has = |position: &Position| weights & (1 << position.weight()) != 0;
            lexeme.positions.retain(has);
            !lexeme.positions.is_empty()
        });
        self
    }

    /// This text and another behind it.
    ///
    /// # Errors
    /// That they are too long together.
    pub fn concat(self, other: Vector) -> Result<Vector> {
        let places = self.lexemes.iter().flat_map(|l| l.positions.last());
        let behind = places.map(|last| last.place()).max().unwrap_or(0);
        let mut lexemes = self.lexemes;
        let own = lexemes.len();
        for mut lexeme in other.lexemes {
            for position in &mut lexeme.positions {
                let place = position.place().saturating_add(behind);
                *position = Position::new(place, position.weight());
            }
            // Beyond the furthest place there is no other.
            let at_end = |p: &Position| p.place() == POSITION_MAX;
            if let Some(last) = lexeme.positions.iter().position(at_end) {
                lexeme.positions.truncate(last + 1);
            }
            let own = lexemes[..own].binary_search_by(|l| l.word.cmp(&lexeme.word));
            if own.is_ok_and(|at| lexemes[at].positions.last().is_some_and(at_end)) {
                lexeme.positions.clear();
            }
            lexemes.push(lexeme);
        }
        Vector::of(lexemes)
    }
}

/// In ascending order, each place once with its greatest weight, not too many. At the furthest place, and when there are enough, nothing
/// more is looked at, weights neither.
fn put_in_order(positions: &mut Vec<Position>) {
    positions.sort_by_key(|p| p.place());
    let mut kept: Vec<Position> = Vec::with_capacity(positions.len().min(POSITIONS_MAX));
    for &position in positions.iter() {
        match kept.last_mut() {
            Some(last) if last.place() == position.place() => *last = (*last).max(position),
            Some(_) => {
                kept.push(position);
                if kept.len() == POSITIONS_MAX || position.place() == POSITION_MAX {
                    break;
                }
            }
            None => kept.push(position),
        }
    }
    *positions = kept;
}

/// The words of a vector as it is kept.
pub struct Words<'b> {
    rest: &'b [u8],
}

/// Positions of a word as it is kept.
#[derive(Clone)]
pub struct Places<'b>(&'b [u8]);

impl<'b> Words<'b> {
    /// None if these bytes are no vector's.
    pub fn of(bytes: &'b [u8]) -> Option<Words<'b>> {
        Some(Words {
            rest: bytes.get(8..)?,
        })
    }

    fn one(&mut self) -> Option<(&'b str, Places<'b>)> {
        let (&bare, rest) = self.rest.split_first()?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        let word = std::str::from_utf8(&rest[..end]).ok()?;
        let mut rest = &rest[end + 1..];
        let mut places: &[u8] = &[];
        if bare == 0 {
            let many = !u16::from_be_bytes([*rest.first()?, *rest.get(1)?]);
            let length = 2 * usize::from(many);
            places = rest.get(2..2 + length)?;
            rest = &rest[2 + length..];
        }
        self.rest = rest;
        Some((word, Places(places)))
    }
}

impl<'b> Iterator for Words<'b> {
    type Item = Option<(&'b str, Places<'b>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let found = self.one();
        if found.is_none() {
            self.rest = &[];
        }
        Some(found)
    }
}

impl Iterator for Places<'_> {
    type Item = Position;

    fn next(&mut self) -> Option<Position> {
        let (first, rest) = self.0.split_first_chunk::<2>()?;
        self.0 = rest;
        Some(Position(!u16::from_be_bytes(*first)))
    }
}

/// The letter of a weight.
pub fn letter(weight: u8) -> char {
    match weight {
        3 => 'A',
        2 => 'B',
        1 => 'C',
        _ => 'D',
    }
}

impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        for (at, lexeme) in self.lexemes.iter().enumerate() {
            if at > 0 {
                out.push(' ');
            }
            write_quoted(&lexeme.word, &mut out);
            for (at, position) in lexeme.positions.iter().enumerate() {
                out.push(if at == 0 { ':' } else { ',' });
                out.push_str(&position.place().to_string());
                if position.weight() > 0 {
                    out.push(letter(position.weight()));
                }
            }
        }
        f.write_str(&out)
    }
}
