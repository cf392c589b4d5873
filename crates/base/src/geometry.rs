//! Figures of the plane: `point`, `lseg`, `line`, `box`, `path`, `polygon`, `circle`.
//!
//! Relies on: IEEE arithmetic.  Promises: PostgreSQL 15's answers, its tolerance included: coordinates that differ by no more
//! than a millionth are the same wherever two figures are compared, but not in what a box or circle says of a point.  Does not:
//! know indexes; the order of figures is one for encodings alone, which no client sees.
//!
//! | file | what it holds |
//! |---|---|
//! | `number` | sums and products that do not leave the range; what is the same within the tolerance |
//! | `linear` | points, segments and lines: slopes, where they meet, how far apart they are |
//! | `areas` | boxes, circles, paths, polygons |
//! | `text` | what is read and printed |
//!
//! On the wire and in rows, all numbers big-endian:
//! ```text
//! point    x, y as float8               lseg     its two points
//! box      the upper right corner and the lower left one
//! line     A, B, C of Ax + By + C = 0   circle   its centre, its radius
//! path     01 if it is closed, else 00; i32 points; the points
//! polygon  i32 points; the points
//! ```

mod areas;
mod circle;
mod linear;
mod number;
#[cfg(test)]
mod tests;
mod text;

pub use areas::{Path, Polygon};
pub use linear::known;
pub use number::{above, at_least, at_most, below, same};
pub use text::{read, write};

use crate::binary_format::invalid;
use crate::error::{SqlError, SqlResult, SqlState};
use crate::types::SqlType;
use crate::value::float_order;
use number::{greater, max, min};
use std::cmp::Ordering;

/// A place.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

/// A straight way from one point to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment(pub Point, pub Point);

/// All points with `ax + by + c = 0`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Line {
    pub a: f64,
    pub b: f64,
    pub c: f64,
}

/// A rectangle along the axes, by its upper right and its lower left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Rectangle {
    pub high: Point,
    pub low: Point,
}

/// What is no further from a point than a radius.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Circle {
    pub center: Point,
    pub radius: f64,
}

/// A value of any of the types.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Figure {
    Point(Point),
    Segment(Segment),
    Line(Line),
    Box(Rectangle),
    Path(Path),
    Polygon(Polygon),
    Circle(Circle),
}

impl Point {
    /// The point with these coordinates.
    pub fn new(x: f64, y: f64) -> Point {
        Point { x, y }
    }
}

impl Rectangle {
    /// The box with two corners that are opposite each other.
    pub fn new(a: Point, b: Point) -> Rectangle {
        let [mut high, mut low] = [a, b];
        if !greater(a.x, b.x) {
            std::mem::swap(&mut high.x, &mut low.x);
        }
        if !greater(a.y, b.y) {
            std::mem::swap(&mut high.y, &mut low.y);
        }
        Rectangle { high, low }
    }

    /// The least box around points; of none at the origin.
    fn around(points: &[Point]) -> Rectangle {
        let first = points.first().copied().unwrap_or(Point::new(0.0, 0.0));
        let mut found = Rectangle {
            high: first,
            low: first,
        };
        for point in points {
            // Of zeros with either sign the first stays.
            found.high = Point::new(max(point.x, found.high.x), max(point.y, found.high.y));
            found.low = Point::new(min(point.x, found.low.x), min(point.y, found.low.y));
        }
        found
    }
}

impl Figure {
    /// Its type.
    pub fn ty(&self) -> SqlType {
        match self {
            Figure::Point(_) => SqlType::Point,
            Figure::Segment(_) => SqlType::Lseg,
            Figure::Line(_) => SqlType::Line,
            Figure::Box(_) => SqlType::Box,
            Figure::Path(_) => SqlType::Path,
            Figure::Polygon(_) => SqlType::Polygon,
            Figure::Circle(_) => SqlType::Circle,
        }
    }

    /// The numbers that it is made of, in the order in which they are sent.
    fn numbers(&self) -> Vec<f64> {
        let of_points = |points: &[Point]| points.iter().flat_map(|p| [p.x, p.y]).collect();
        match self {
            Figure::Point(p) => of_points(&[*p]),
            Figure::Segment(Segment(p, q)) => of_points(&[*p, *q]),
            Figure::Line(Line { a, b, c }) => vec![*a, *b, *c],
            Figure::Box(b) => of_points(&[b.high, b.low]),
            Figure::Path(path) => of_points(path.points()),
            Figure::Polygon(polygon) => of_points(polygon.points()),
            Figure::Circle(Circle { center, radius }) => vec![center.x, center.y, *radius],
        }
    }

    /// Whether it is a path that ends where it begins.
    fn is_closed_path(&self) -> bool {
        matches!(self, Figure::Path(path) if path.is_closed())
    }

    /// An order of figures of one type: number by number, what is short first, what is open before what is closed.
    pub fn order(&self, other: &Figure) -> Ordering {
        let [a, b] = [self, other].map(Figure::numbers);
        let mut pairs = a.iter().zip(&b).map(|(a, b)| float_order(*a, *b));
        let first = pairs.find(|order| order.is_ne());
        let types = || self.ty().oid().cmp(&other.ty().oid());
        let closed = || self.is_closed_path().cmp(&other.is_closed_path());
        types()
            .then_with(closed)
            .then_with(|| first.unwrap_or(Ordering::Equal))
            .then_with(|| a.len().cmp(&b.len()))
    }

    /// Shows `put` all that its order goes by: a byte for what is no number, each number after a 1, and what ends them.
    pub(crate) fn encode_key(&self, out: &mut Vec<u8>, put: impl Fn(f64, &mut Vec<u8>)) {
        out.push(u8::from(self.is_closed_path()));
        for number in self.numbers() {
            out.push(1);
            put(number, out);
        }
        out.push(0);
    }

    /// The figure of a type that is made of these numbers.
    pub fn from_numbers(ty: SqlType, closed: bool, numbers: &[f64]) -> Option<Figure> {
        let points: Vec<Point> = numbers
            .chunks_exact(2)
            .map(|pair| Point::new(pair[0], pair[1]))
            .collect();
        Some(match (ty, points.as_slice(), numbers) {
            (SqlType::Point, &[p], &[_, _]) => Figure::Point(p),
            (SqlType::Lseg, &[p, q], &[_, _, _, _]) => Figure::Segment(Segment(p, q)),
            (SqlType::Box, &[p, q], &[_, _, _, _]) => Figure::Box(Rectangle::new(p, q)),
            (SqlType::Line, _, &[a, b, c]) => Figure::Line(Line { a, b, c }),
            (SqlType::Circle, &[center], &[_, _, radius]) => {
                Figure::Circle(Circle { center, radius })
            }
            (SqlType::Path, [_, ..], _) if numbers.len().is_multiple_of(2) => {
                Figure::Path(Path::new(points, closed))
            }
            (SqlType::Polygon, [_, ..], _) if numbers.len().is_multiple_of(2) => {
                Figure::Polygon(Polygon::new(points))
            }
            _ => return None,
        })
    }

    /// Appends what is sent of it.
    pub fn send(&self, out: &mut Vec<u8>) {
        let numbers = self.numbers();
        if let Figure::Path(path) = self {
            out.push(u8::from(path.is_closed()));
        }
        if matches!(self, Figure::Path(_) | Figure::Polygon(_)) {
            let points = (numbers.len() / 2) as i32;
            out.extend_from_slice(&points.to_be_bytes());
        }
        for number in numbers {
            out.extend_from_slice(&number.to_be_bytes());
        }
    }

    /// Reads what was sent, or kept; what no client may send is looked at by [`Figure::check`].
    ///
    /// # Errors
    /// `22P03`.
    pub fn receive(ty: SqlType, bytes: &[u8]) -> SqlResult<Figure> {
        let (closed, bytes) = match (ty, bytes) {
            (SqlType::Path, [closed, bytes @ ..]) => (*closed != 0, bytes),
            (_, bytes) => (false, bytes),
        };
        let has_count = matches!(ty, SqlType::Path | SqlType::Polygon);
        let (bytes, count) = match bytes.split_first_chunk() {
            Some((count, bytes)) if has_count => (bytes, Some(i32::from_be_bytes(*count))),
            _ if has_count => return Err(invalid(ty)),
            _ => (bytes, None),
        };
        if count.is_some_and(|count| count <= 0) {
            return Err(refused(format!(
                "invalid number of points in external \"{ty}\" value"
            )));
        }
        let (numbers, rest) = bytes.as_chunks();
        let numbers: Vec<f64> = numbers
            .iter()
            .map(|number| f64::from_be_bytes(*number))
            .collect();
        let fits = count.is_none_or(|count| numbers.len() as i64 == 2 * i64::from(count));
        Figure::from_numbers(ty, closed, &numbers)
            .filter(|_| fits && rest.is_empty())
            .ok_or_else(|| invalid(ty))
    }

    /// Refuses what arithmetic may come to, but nobody may send.
    ///
    /// # Errors
    /// `22P03` for a circle with a radius below zero, and for what is no line.
    pub fn check(&self) -> SqlResult<()> {
        match self {
            Figure::Circle(circle) if circle.radius < 0.0 => Err(refused(
                "invalid radius in external \"circle\" value".to_string(),
            )),
            Figure::Line(line) if line.is_none() => Err(refused(
                "invalid line specification: A and B cannot both be zero".to_string(),
            )),
            _ => Ok(()),
        }
    }
}

fn refused(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
}
