//! Figures as text: `(1,2)`, `[(1,2),(3,4)]`, `{1,2,3}`, `(3,4),(1,2)`, `((1,2),(3,4))`, `<(1,2),3>`.
//!
//! Relies on: what reads and prints floats.  Promises: PostgreSQL's output, and its input: parentheses around points, and around all
//! of them, may be left out; what is printed reads back.  Does not: say where in a text the mistake is; nor does PostgreSQL.

use super::{Circle, Figure, Line, Path, Point, Polygon, Rectangle, Segment};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::text_format::{FormatContext, float, is_blank};
use crate::types::SqlType;

/// Appends a figure.
pub fn write(figure: &Figure, context: &FormatContext, out: &mut Vec<u8>) {
    let mut writer = Writer { context, out };
    match figure {
        Figure::Point(point) => writer.point(*point),
        Figure::Segment(Segment(p, q)) => writer.points(b'[', &[*p, *q], b']'),
        Figure::Line(Line { a, b, c }) => {
            writer.out.push(b'{');
            writer.numbers(&[*a, *b, *c]);
            writer.out.push(b'}');
        }
        Figure::Box(Rectangle { high, low }) => writer.list(&[*high, *low]),
        Figure::Path(path) if !path.is_closed() => writer.points(b'[', path.points(), b']'),
        Figure::Path(path) => writer.points(b'(', path.points(), b')'),
        Figure::Polygon(polygon) => writer.points(b'(', polygon.points(), b')'),
        Figure::Circle(Circle { center, radius }) => {
            writer.out.push(b'<');
            writer.point(*center);
            writer.out.push(b',');
            writer.numbers(&[*radius]);
            writer.out.push(b'>');
        }
    }
}

struct Writer<'a> {
    context: &'a FormatContext,
    out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    fn numbers(&mut self, numbers: &[f64]) {
        for (place, number) in numbers.iter().enumerate() {
            if place > 0 {
                self.out.push(b',');
            }
            float::write_f64(*number, self.context.extra_float_digits, self.out);
        }
    }

    fn point(&mut self, point: Point) {
        self.out.push(b'(');
        self.numbers(&[point.x, point.y]);
        self.out.push(b')');
    }

    fn list(&mut self, points: &[Point]) {
        for (place, point) in points.iter().enumerate() {
            if place > 0 {
                self.out.push(b',');
            }
            self.point(*point);
        }
    }

    fn points(&mut self, open: u8, points: &[Point], close: u8) {
        self.out.push(open);
        self.list(points);
        self.out.push(close);
    }
}

/// Reads a figure of a type.
///
/// # Errors
/// `22P02`; `22003` for a number that is out of range.
pub fn read(ty: SqlType, text: &str) -> SqlResult<Figure> {
    let mut reader = Reader {
        ty,
        text,
        rest: text,
    };
    let figure = match ty {
        SqlType::Point => Figure::Point(reader.point()?),
        SqlType::Lseg => {
            let (points, _) = reader.points(2, Brackets::Allowed)?;
            Figure::Segment(Segment(points[0], points[1]))
        }
        SqlType::Box => {
            let (points, _) = reader.points(2, Brackets::Refused)?;
            Figure::Box(Rectangle::new(points[0], points[1]))
        }
        SqlType::Line => Figure::Line(reader.line()?),
        SqlType::Path => Figure::Path(reader.path()?),
        SqlType::Polygon => {
            let count = reader.count()?;
            let (points, _) = reader.points(count, Brackets::Refused)?;
            Figure::Polygon(Polygon::new(points))
        }
        _ => Figure::Circle(reader.circle()?),
    };
    match reader.rest.is_empty() {
        true => Ok(figure),
        false => Err(reader.invalid()),
    }
}

/// Whether `[` may stand before points, which makes them open.
#[derive(Clone, Copy, PartialEq)]
enum Brackets {
    Allowed,
    Refused,
}

struct Reader<'a> {
    ty: SqlType,
    text: &'a str,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn invalid(&self) -> SqlError {
        SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!(
                "invalid input syntax for type {}: \"{}\"",
                self.ty, self.text
            ),
        )
    }

    fn no_line(&self, why: &str) -> SqlError {
        SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid line specification: {why}"),
        )
    }

    fn blanks(&mut self) {
        self.rest = without_blanks(self.rest);
    }

    fn takes(&mut self, character: char) -> bool {
        match self.rest.strip_prefix(character) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn wants(&mut self, character: char) -> SqlResult<()> {
        match self.takes(character) {
            true => Ok(()),
            false => Err(self.invalid()),
        }
    }

    fn number(&mut self) -> SqlResult<f64> {
        self.blanks();
        let length = length_of_number(self.rest.as_bytes());
        let (number, rest) = self.rest.split_at(length);
        let read = float::read_f64(number);
        let value = read.map_err(|error| match error.state {
            SqlState::INVALID_TEXT_REPRESENTATION => self.invalid(),
            _ => error,
        })?;
        self.rest = rest;
        self.blanks();
        Ok(value)
    }

    /// `(x,y)` or `x,y`.
    fn point(&mut self) -> SqlResult<Point> {
        self.blanks();
        let is_enclosed = self.takes('(');
        let x = self.number()?;
        self.wants(',')?;
        let y = self.number()?;
        if is_enclosed {
            self.wants(')')?;
            self.blanks();
        }
        Ok(Point::new(x, y))
    }

    /// How many points there are, by the commas.
    fn count(&self) -> SqlResult<usize> {
        let commas = self.text.bytes().filter(|byte| *byte == b',').count();
        match commas % 2 {
            1 => Ok(commas.div_ceil(2)),
            _ => Err(self.invalid()),
        }
    }

    /// Whether the parenthesis here is not the first point's.
    fn is_around_all(&self) -> bool {
        let behind = without_blanks(&self.rest[1..]);
        behind.starts_with('(') || self.rest.rfind('(') == Some(0)
    }

    /// So many points, in parentheses, in brackets or in none; and whether it was brackets.
    fn points(&mut self, count: usize, brackets: Brackets) -> SqlResult<(Vec<Point>, bool)> {
        self.blanks();
        let is_open = self.takes('[');
        if is_open && brackets == Brackets::Refused {
            return Err(self.invalid());
        }
        let is_nested = !is_open && self.rest.starts_with('(') && self.is_around_all();
        if is_nested {
            self.rest = &self.rest[1..];
            self.blanks();
        }
        let mut points = Vec::new();
        for _ in 0..count {
            points.push(self.point()?);
            self.takes(',');
        }
        if is_open || is_nested {
            let closes = self.takes(')') || (is_open && self.takes(']'));
            if !closes {
                return Err(self.invalid());
            }
            self.blanks();
        }
        Ok((points, is_open))
    }

    fn path(&mut self) -> SqlResult<Path> {
        let count = self.count()?;
        self.blanks();
        let is_single = self.rest.starts_with('(') && self.rest.rfind('(') == Some(0);
        if is_single {
            self.rest = &self.rest[1..];
        }
        let (points, is_open) = self.points(count, Brackets::Allowed)?;
        if is_single {
            self.wants(')')?;
            self.blanks();
        }
        Ok(Path::new(points, !is_open))
    }

    /// `{A,B,C}`, or two points.
    fn line(&mut self) -> SqlResult<Line> {
        self.blanks();
        if !self.takes('{') {
            let (points, _) = self.points(2, Brackets::Allowed)?;
            // What comes behind the points is wrong before they are.
            if !self.rest.is_empty() {
                return Err(self.invalid());
            }
            return match points[0].is_at(points[1]) {
                true => Err(self.no_line("must be two distinct points")),
                false => Line::through(points[0], points[1]),
            };
        }
        let a = self.number()?;
        self.wants(',')?;
        let b = self.number()?;
        self.wants(',')?;
        let c = self.number()?;
        self.wants('}')?;
        self.blanks();
        if !self.rest.is_empty() {
            return Err(self.invalid());
        }
        let line = Line { a, b, c };
        match line.is_none() {
            true => Err(self.no_line("A and B cannot both be zero")),
            false => Ok(line),
        }
    }

    /// `<(x,y),r>`, `((x,y),r)`, `(x,y),r` or `x,y,r`.
    fn circle(&mut self) -> SqlResult<Circle> {
        self.blanks();
        let is_pointed = self.takes('<');
        let is_nested = !is_pointed
            && self.rest.starts_with('(')
            && without_blanks(&self.rest[1..]).starts_with('(');
        if is_nested {
            self.rest = &self.rest[1..];
        }
        let center = self.point()?;
        self.takes(',');
        let radius = self.number()?;
        if radius < 0.0 {
            return Err(self.invalid());
        }
        if is_pointed || is_nested {
            if !self.takes(')') && !self.takes('>') {
                return Err(self.invalid());
            }
            self.blanks();
        }
        Ok(Circle { center, radius })
    }
}

fn without_blanks(text: &str) -> &str {
    text.trim_start_matches(|c: char| u8::try_from(c).is_ok_and(is_blank))
}

/// How much of a text is a number.
fn length_of_number(text: &[u8]) -> usize {
    let sign = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let unsigned = &text[sign..];
    for word in ["infinity", "inf", "nan"] {
        let begins = unsigned.get(..word.len());
        if begins.is_some_and(|begins| begins.eq_ignore_ascii_case(word.as_bytes())) {
            return sign + word.len();
        }
    }
    let digits = |from: usize| {
        let rest = unsigned.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let mut length = digits(0);
    if unsigned.get(length) == Some(&b'.') {
        length += 1 + digits(length + 1);
    }
    if matches!(unsigned.get(length), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(unsigned.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits(length + 1 + signed);
        if exponent > 0 {
            length += 1 + signed + exponent;
        }
    }
    sign + length
}
