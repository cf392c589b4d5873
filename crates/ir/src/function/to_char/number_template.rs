//! A template for numbers, taken apart.
//!
//! Promises: PostgreSQL's pieces, and its refusal of those that do not go together.  Does not: print or read.

use quintet_base::{SqlError, SqlResult, SqlState};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// `9`, or `0` which shows zeros; or the point.
    Digit(Place),
    Comma,
    Currency,
    Minus,
    Plus,
    PlusMinus,
    Ordinal {
        upper: bool,
    },
    Roman {
        upper: bool,
    },
    /// What says something about the whole: FM, PR, S, V, B, EEEE.
    Mark,
    Literal(char),
}

/// What a piece has of the number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Nine,
    Zero,
    Point,
}

/// Where S puts the sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Anchor {
    Before,
    Behind,
}

#[derive(Default)]
pub(super) struct Template {
    pub pieces: Vec<Piece>,
    /// Digits before the point, and behind it.
    pub whole: usize,
    pub fraction: usize,
    /// Digits behind V: the number is shown so many powers of ten larger.
    pub shift: Option<usize>,
    pub has_point: bool,
    pub bare: bool,
    pub blank: bool,
    pub angles: bool,
    pub minus: bool,
    pub plus: bool,
    pub scientific: bool,
    pub roman: bool,
    pub anchor: Option<Anchor>,
    /// How many digits stand before S.
    pub before_sign: usize,
    /// The first `0` before the point: how many digits stand before it.
    pub zeros_from: Option<usize>,
    /// The last `0`: how many digits there are up to it.
    pub zeros_to: usize,
}

fn wrong(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, message)
}

/// Names of pieces, longest first; in small letters, too.
const NAMES: [&str; 16] = [
    "EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "SP", "TH", "B", "C", "D", "G", "L", "S", "V",
];

impl Template {
    /// # Errors
    /// `42601` for a template that contradicts itself.
    pub(super) fn parse(text: &str) -> SqlResult<Template> {
        let mut template = Template::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let here = |name: &&&str| {
                rest.get(..name.len())
                    .is_some_and(|head| head == **name || head == name.to_ascii_lowercase())
            };
            let name = match first {
                '9' => Some("9"),
                '0' => Some("0"),
                '.' => Some("."),
                ',' => Some(","),
                _ => NAMES.iter().find(here).copied(),
            };
            if let Some(name) = name {
                let piece = template.add(name, first.is_ascii_uppercase())?;
                template.pieces.push(piece);
                rest = &rest[name.len()..];
                continue;
            }
            let mut length = first.len_utf8();
            match first {
                '"' => {
                    let mut chars = rest[1..].chars();
                    while let Some(c) = chars.next().filter(|c| *c != '"') {
                        let escaped = if c == '\\' { chars.next() } else { None };
                        template.pieces.push(Piece::Literal(escaped.unwrap_or(c)));
                    }
                    length = rest.len() - chars.as_str().len();
                }
                '\\' if rest[1..].starts_with('"') => {
                    length = 2;
                    template.pieces.push(Piece::Literal('"'));
                }
                c => template.pieces.push(Piece::Literal(c)),
            }
            rest = &rest[length..];
        }
        Ok(template)
    }

    /// What a name adds to the template.
    fn add(&mut self, name: &str, upper: bool) -> SqlResult<Piece> {
        if self.scientific && name != "EEEE" {
            return Err(wrong("\"EEEE\" must be the last pattern used"));
        }
        let refuse = |message: &str| Err(wrong(message));
        let has_sign = self.anchor.is_some();
        Ok(match name {
            "9" | "0" if self.angles => {
                return Err(wrong(format!("\"{name}\" must be ahead of \"PR\"")));
            }
            "9" => {
                match (&mut self.shift, self.has_point) {
                    (Some(shift), _) => *shift += 1,
                    (None, true) => self.fraction += 1,
                    (None, false) => self.whole += 1,
                }
                Piece::Digit(Place::Nine)
            }
            "0" => {
                if self.has_point {
                    self.fraction += 1;
                } else {
                    self.zeros_from.get_or_insert(self.whole);
                    self.whole += 1;
                }
                self.zeros_to = self.whole + self.fraction;
                Piece::Digit(Place::Zero)
            }
            "." | "D" => {
                if self.has_point {
                    return refuse("multiple decimal points");
                }
                if self.shift.is_some() {
                    return refuse("cannot use \"V\" and decimal point together");
                }
                self.has_point = true;
                Piece::Digit(Place::Point)
            }
            "," | "G" => Piece::Comma,
            "L" => Piece::Currency,
            "B" => {
                self.blank |= self.whole + self.fraction == 0 && self.zeros_from.is_none();
                Piece::Mark
            }
            "FM" => {
                self.bare = true;
                Piece::Mark
            }
            "S" => {
                if has_sign {
                    return refuse("cannot use \"S\" twice");
                }
                if self.plus || self.minus || self.angles {
                    return refuse("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together");
                }
                self.anchor = Some(match self.has_point {
                    true => Anchor::Behind,
                    false => Anchor::Before,
                });
                self.before_sign = self.whole;
                Piece::Mark
            }
            "MI" | "PL" | "SG" if has_sign => {
                return Err(wrong(format!("cannot use \"S\" and \"{name}\" together")));
            }
            "MI" => {
                self.minus = true;
                Piece::Minus
            }
            "PL" => {
                self.plus = true;
                Piece::Plus
            }
            "SG" => {
                (self.minus, self.plus) = (true, true);
                Piece::PlusMinus
            }
            "PR" => {
                if has_sign || self.plus || self.minus {
                    return refuse("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together");
                }
                self.angles = true;
                Piece::Mark
            }
            "TH" => Piece::Ordinal { upper },
            "RN" => {
                self.roman = true;
                Piece::Roman { upper }
            }
            "V" => {
                if self.has_point {
                    return refuse("cannot use \"V\" and decimal point together");
                }
                self.shift.get_or_insert(0);
                Piece::Mark
            }
            "EEEE" => {
                if self.scientific {
                    return refuse("cannot use \"EEEE\" twice");
                }
                if self.blank
                    || self.bare
                    || has_sign
                    || self.angles
                    || self.minus
                    || self.plus
                    || self.roman
                    || self.shift.is_some()
                {
                    return Err(wrong("\"EEEE\" is incompatible with other formats").detail(
                        "\"EEEE\" may only be used together with digit and decimal point patterns.",
                    ));
                }
                self.scientific = true;
                Piece::Mark
            }
            _ => Piece::Mark,
        })
    }
}
