//! Text to numbers by a template.
//!
//! Relies on: `number_template`.  Promises: what PostgreSQL reads: the text is walked piece by piece, a piece for a digit takes
//! one character, and so do letters that are no pieces; signs are looked for before the first digit and behind the last one.

use super::number_template::{Piece, Place, Template};
use quintet_base::{Numeric, SqlError, SqlResult, SqlState};

/// A number out of text by a template; `None` for no template.
///
/// # Errors
/// `22P02` for text without digits, `22003` for more digits than the template has, `0A000` for RN and EEEE.
pub(super) fn read(text: &str, template: &str) -> SqlResult<Option<Numeric>> {
    if template.is_empty() {
        return Ok(None);
    }
    let template = Template::parse(template)?;
    let unsupported = |what: &str| {
        let message = format!("\"{what}\" not supported for input");
        Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
    };
    if template.scientific {
        return unsupported("EEEE");
    }
    if template.roman {
        return unsupported("RN");
    }
    let shift = template.shift.unwrap_or(0);
    let mut reader = Reader {
        template: &template,
        text: text.as_bytes(),
        at: 0,
        sign: ' ',
        digits: String::new(),
        whole: 0,
        fraction: 0,
        in_fraction: false,
    };
    for piece in &template.pieces {
        if reader.at >= reader.text.len() {
            break;
        }
        reader.piece(*piece, text);
    }
    let digits = reader.digits.strip_suffix('.').unwrap_or(&reader.digits);
    let number = Numeric::parse(&format!("{}{digits}", reader.sign))?;
    let most = template.whole + shift;
    let magnitude = digits.split('.').next().unwrap_or_default();
    if magnitude.trim_start_matches('0').len() > most {
        let scale = reader.fraction;
        let bound = match most {
            0 => "1".to_string(),
            most => format!("10^{most}"),
        };
        return Err(SqlError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            "numeric field overflow",
        )
        .detail(format!(
            "A field with precision {}, scale {scale} must round to an absolute value less than {bound}.",
            most + scale
        )));
    }
    match template.shift {
        None => Ok(Some(number)),
        Some(shift) => {
            let power = Numeric::from_i64(10).power(&Numeric::from_i64(-(shift as i64)))?;
            number.mul(&power).map(Some)
        }
    }
}

struct Reader<'t> {
    template: &'t Template,
    text: &'t [u8],
    at: usize,
    /// A blank until one is read.
    sign: char,
    digits: String,
    whole: usize,
    fraction: usize,
    in_fraction: bool,
}

impl Reader<'_> {
    fn here(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Walks over a piece.
    fn piece(&mut self, piece: Piece, text: &str) {
        let takes_sign = |sign: u8, piece: Piece| match piece {
            Piece::Minus => sign == b'-',
            Piece::Plus => sign == b'+',
            _ => matches!(sign, b'-' | b'+'),
        };
        match piece {
            Piece::Digit(place) => {
                self.digit(place);
                self.at += 1;
            }
            Piece::Comma if !self.template.bare && self.here() == Some(b',') => self.at += 1,
            Piece::Comma | Piece::Mark | Piece::Roman { .. } => {}
            Piece::Currency => self.skip(1, text),
            Piece::Ordinal { .. } if self.template.has_point => {}
            Piece::Ordinal { .. } => self.skip(2, text),
            Piece::Minus | Piece::Plus | Piece::PlusMinus => match self.here() {
                Some(sign) if takes_sign(sign, piece) => {
                    self.sign = char::from(sign);
                    self.at += 1;
                }
                _ => self.skip(1, text),
            },
            Piece::Literal(_) => self.advance(text),
        }
    }

    fn advance(&mut self, text: &str) {
        self.at += 1;
        while self.at < text.len() && !text.is_char_boundary(self.at) {
            self.at += 1;
        }
    }

    /// Characters that no number has.
    fn skip(&mut self, most: usize, text: &str) {
        for _ in 0..most {
            match self.here() {
                Some(c) if !b"0123456789.,+-".contains(&c) => self.advance(text),
                _ => break,
            }
        }
    }

    /// Leaves the place at the last character that it has taken, or at one that it has not.
    fn digit(&mut self, place: Place) {
        if self.here() == Some(b' ') {
            self.at += 1;
        }
        let Some(c) = self.here() else { return };
        if self.sign == ' ' && place != Place::Point && self.whole + self.fraction == 0 {
            let found = match c {
                b'-' | b'+' => Some(char::from(c)),
                b'<' if self.template.angles => Some('-'),
                _ => None,
            };
            if let Some(sign) = found {
                self.sign = sign;
                self.at += 1;
            }
        }
        let Some(c) = self.here() else { return };
        let mut taken = false;
        if c.is_ascii_digit() {
            if self.in_fraction && self.fraction == self.template.fraction {
                return;
            }
            self.digits.push(char::from(c));
            match self.in_fraction {
                true => self.fraction += 1,
                false => self.whole += 1,
            }
            taken = true;
        } else if self.template.has_point && !self.in_fraction && c == b'.' {
            self.digits.push('.');
            self.in_fraction = true;
            taken = true;
        }
        if self.sign != ' ' || self.whole + self.fraction == 0 {
            return;
        }
        if self.template.anchor.is_some() {
            // Behind the last digit.
            match self.text.get(self.at + 1) {
                Some(sign @ (b'-' | b'+')) if taken => {
                    self.sign = char::from(*sign);
                    self.at += 1;
                }
                _ => {}
            }
        } else if !taken && (self.template.plus || self.template.minus) && matches!(c, b'-' | b'+')
        {
            self.sign = char::from(c);
        }
    }
}
