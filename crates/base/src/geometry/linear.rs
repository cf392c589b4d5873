//! Points, segments and lines: slopes, where they meet, how far apart they are.
//!
//! Relies on: `number`.  Promises: PostgreSQL's answers to the last digit, which is why everything goes by a line through a point
//! with a slope, vertical ones having an infinite one.  Does not: order segments other than by their length.

use super::number::{add, div, hypot, is_zero, less, mul, same, sub, unsigned_zero};
use super::{Line, Point, Segment};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::value::float_order;

/// Whether two numbers are the same to the bit, or both are none.
fn equal(a: f64, b: f64) -> bool {
    float_order(a, b).is_eq()
}

impl Point {
    /// Within the tolerance; where a coordinate is NaN, the same.
    pub fn is_at(self, other: Point) -> bool {
        let numbers = [self.x, self.y, other.x, other.y];
        match numbers.iter().any(|number| number.is_nan()) {
            true => equal(self.x, other.x) && equal(self.y, other.y),
            false => same(self.x, other.x) && same(self.y, other.y),
        }
    }

    /// The sum of coordinates.
    ///
    /// # Errors
    /// `22003`, as of all that computes here.
    pub fn plus(self, by: Point) -> SqlResult<Point> {
        Ok(Point::new(add(self.x, by.x)?, add(self.y, by.y)?))
    }

    /// The difference of coordinates.
    ///
    /// # Errors
    /// `22003`.
    pub fn minus(self, by: Point) -> SqlResult<Point> {
        Ok(Point::new(sub(self.x, by.x)?, sub(self.y, by.y)?))
    }

    /// The product of two complex numbers: what turns and stretches.
    ///
    /// # Errors
    /// `22003`.
    pub fn times(self, by: Point) -> SqlResult<Point> {
        Ok(Point::new(
            sub(mul(self.x, by.x)?, mul(self.y, by.y)?)?,
            add(mul(self.x, by.y)?, mul(self.y, by.x)?)?,
        ))
    }

    /// Their quotient.
    ///
    /// # Errors
    /// `22003`, `22012`.
    pub fn over(self, by: Point) -> SqlResult<Point> {
        let square = add(mul(by.x, by.x)?, mul(by.y, by.y)?)?;
        let x = add(mul(self.x, by.x)?, mul(self.y, by.y)?)?;
        let y = sub(mul(self.y, by.x)?, mul(self.x, by.y)?)?;
        Ok(Point::new(div(x, square)?, div(y, square)?))
    }

    /// How far it is from the origin.
    ///
    /// # Errors
    /// `22003`.
    pub fn length(self) -> SqlResult<f64> {
        hypot(self.x, self.y)
    }

    /// How far apart two points are.
    ///
    /// # Errors
    /// `22003`.
    pub fn distance(self, other: Point) -> SqlResult<f64> {
        self.minus(other)?.length()
    }

    /// The slope of the line through both.
    ///
    /// # Errors
    /// `22003`.
    pub fn slope(self, other: Point) -> SqlResult<f64> {
        if same(self.x, other.x) {
            return Ok(f64::INFINITY);
        }
        if same(self.y, other.y) {
            return Ok(0.0);
        }
        div(sub(self.y, other.y)?, sub(self.x, other.x)?)
    }

    /// The slope of what is at right angles to that line.
    fn slope_across(self, other: Point) -> SqlResult<f64> {
        if same(self.x, other.x) {
            return Ok(0.0);
        }
        if same(self.y, other.y) {
            return Ok(f64::INFINITY);
        }
        div(sub(self.x, other.x)?, sub(other.y, self.y)?)
    }

    /// The point in the middle.
    ///
    /// # Errors
    /// `22003`.
    pub fn between(self, other: Point) -> SqlResult<Point> {
        Ok(Point::new(
            div(add(self.x, other.x)?, 2.0)?,
            div(add(self.y, other.y)?, 2.0)?,
        ))
    }
}

impl Segment {
    /// Both ends are the same, in this order.
    pub fn is_same(self, other: Segment) -> bool {
        self.0.is_at(other.0) && self.1.is_at(other.1)
    }

    /// Its length.
    ///
    /// # Errors
    /// `22003`.
    pub fn length(self) -> SqlResult<f64> {
        self.0.distance(self.1)
    }

    /// Its slope.
    ///
    /// # Errors
    /// `22003`.
    pub fn slope(self) -> SqlResult<f64> {
        self.0.slope(self.1)
    }

    /// The line that it is a part of.
    fn line(self) -> SqlResult<Line> {
        Line::new(self.0, self.slope()?)
    }

    /// Whether both have the same slope.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_parallel(self, other: Segment) -> SqlResult<bool> {
        Ok(same(self.slope()?, other.slope()?))
    }

    /// Whether they are at right angles.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_perpendicular(self, other: Segment) -> SqlResult<bool> {
        Ok(same(self.slope()?, other.0.slope_across(other.1)?))
    }

    /// Whether a point is on it: no further from both ends together than they are from each other.
    ///
    /// # Errors
    /// `22003`.
    pub fn contains(self, point: Point) -> SqlResult<bool> {
        let around = add(point.distance(self.0)?, point.distance(self.1)?)?;
        Ok(same(around, self.length()?))
    }

    /// Where a line crosses it.
    ///
    /// # Errors
    /// `22003`.
    pub fn crossing_with_line(self, line: Line) -> SqlResult<Option<Point>> {
        let Some(found) = self.line()?.crossing(line)? else {
            return Ok(None);
        };
        if !self.contains(found)? {
            return Ok(None);
        }
        // An end is itself, and not what comes out of the arithmetic.
        let mut ends = [self.0, self.1].into_iter();
        Ok(Some(ends.find(|end| end.is_at(found)).unwrap_or(found)))
    }

    /// Where two segments cross.
    ///
    /// # Errors
    /// `22003`.
    pub fn crossing(self, other: Segment) -> SqlResult<Option<Point>> {
        match self.crossing_with_line(other.line()?)? {
            Some(found) if other.contains(found)? => Ok(Some(found)),
            _ => Ok(None),
        }
    }

    /// The distance to a point, and which of its points is nearest to that.
    ///
    /// # Errors
    /// `22003`.
    pub fn nearest(self, point: Point) -> SqlResult<(f64, Point)> {
        let across = Line::new(point, self.0.slope_across(self.1)?)?;
        let (_, nearest) = self.nearest_to_line(across)?;
        Ok((nearest.distance(point)?, nearest))
    }

    /// The same of a line: where they cross, or an end.
    ///
    /// # Errors
    /// `22003`.
    pub fn nearest_to_line(self, line: Line) -> SqlResult<(f64, Point)> {
        if let Some(found) = self.crossing_with_line(line)? {
            return Ok((0.0, found));
        }
        let [(first, _), (second, _)] = [line.nearest(self.0)?, line.nearest(self.1)?];
        Ok(match first < second {
            true => (first, self.0),
            false => (second, self.1),
        })
    }

    /// The same of another segment.
    ///
    /// # Errors
    /// `22003`.
    pub fn nearest_to_segment(self, other: Segment) -> SqlResult<(f64, Point)> {
        if let Some(found) = self.crossing(other)? {
            return Ok((0.0, found));
        }
        let mut best = self.nearest(other.0)?;
        let mut see = |one: (f64, Point)| {
            if less(one.0, best.0) {
                best = one;
            }
        };
        see(self.nearest(other.1)?);
        see((other.nearest(self.0)?.0, self.0));
        see((other.nearest(self.1)?.0, self.1));
        Ok(best)
    }

    /// Which of its points is nearest to another segment; `None` where they are parallel.
    ///
    /// # Errors
    /// `22003`.
    pub fn meeting_from(self, other: Segment) -> SqlResult<Option<Point>> {
        if self.slope()? == other.slope()? {
            return Ok(None);
        }
        self.nearest_to_segment(other).map(known)
    }

    /// Which of its points is nearest to a line; `None` where they are parallel.
    ///
    /// # Errors
    /// `22003`.
    pub fn meeting_from_line(self, line: Line) -> SqlResult<Option<Point>> {
        if self.slope()? == line.slope()? {
            return Ok(None);
        }
        self.nearest_to_line(line).map(known)
    }
}

/// The point that is nearest, where a distance could be told.
pub fn known((distance, point): (f64, Point)) -> Option<Point> {
    (!distance.is_nan()).then_some(point)
}

impl Line {
    /// The line through a point with a slope.
    ///
    /// # Errors
    /// `22003`.
    pub fn new(point: Point, slope: f64) -> SqlResult<Line> {
        let line = |a, b, c| Line { a, b, c };
        if slope.is_infinite() {
            return Ok(line(-1.0, 0.0, point.x));
        }
        if slope == 0.0 {
            return Ok(line(0.0, -1.0, point.y));
        }
        let c = sub(point.y, mul(slope, point.x)?)?;
        Ok(line(slope, -1.0, unsigned_zero(c)))
    }

    /// The line through two points.
    ///
    /// # Errors
    /// `22023` if they are one point; `22003`.
    pub fn through(a: Point, b: Point) -> SqlResult<Line> {
        if a.is_at(b) {
            return Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "invalid line specification: must be two distinct points",
            ));
        }
        Line::new(a, a.slope(b)?)
    }

    /// Whether these numbers make no line.
    pub(super) fn is_none(self) -> bool {
        is_zero(self.a) && is_zero(self.b)
    }

    /// Along the axis of y.
    pub fn is_vertical(self) -> bool {
        is_zero(self.b)
    }

    /// Along the axis of x.
    pub fn is_horizontal(self) -> bool {
        is_zero(self.a)
    }

    fn slope(self) -> SqlResult<f64> {
        if is_zero(self.a) {
            return Ok(0.0);
        }
        if is_zero(self.b) {
            return Ok(f64::INFINITY);
        }
        div(self.a, -self.b)
    }

    fn slope_across(self) -> SqlResult<f64> {
        if is_zero(self.a) {
            return Ok(f64::INFINITY);
        }
        if is_zero(self.b) {
            return Ok(0.0);
        }
        div(self.b, self.a)
    }

    /// Where two lines cross; `None` of parallel ones.
    ///
    /// # Errors
    /// `22003`.
    pub fn crossing(self, other: Line) -> SqlResult<Option<Point>> {
        // The one by whose B is divided comes first.
        let (l, m) = match (is_zero(self.b), is_zero(other.b)) {
            (false, _) => (self, other),
            (true, false) => (other, self),
            (true, true) => return Ok(None),
        };
        if same(m.a, mul(l.a, div(m.b, l.b)?)?) {
            return Ok(None);
        }
        let above = sub(mul(l.b, m.c)?, mul(m.b, l.c)?)?;
        let below = sub(mul(l.a, m.b)?, mul(m.a, l.b)?)?;
        let x = div(above, below)?;
        let y = div(-add(mul(l.a, x)?, l.c)?, l.b)?;
        Ok(Some(Point::new(unsigned_zero(x), unsigned_zero(y))))
    }

    /// Whether they never cross.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_parallel(self, other: Line) -> SqlResult<bool> {
        Ok(self.crossing(other)?.is_none())
    }

    /// Whether they cross at right angles.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_perpendicular(self, other: Line) -> SqlResult<bool> {
        if is_zero(self.a) {
            return Ok(is_zero(other.b));
        }
        if is_zero(other.a) {
            return Ok(is_zero(self.b));
        }
        if is_zero(self.b) {
            return Ok(is_zero(other.a));
        }
        if is_zero(other.b) {
            return Ok(is_zero(self.a));
        }
        let product = div(mul(self.a, other.a)?, mul(self.b, other.b)?)?;
        Ok(same(product, -1.0))
    }

    /// Whether both have the same points.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_same(self, other: Line) -> SqlResult<bool> {
        let [p, q] = [self, other].map(|line| [line.a, line.b, line.c]);
        let pairs = || p.into_iter().zip(q);
        if p.iter().chain(&q).any(|number| number.is_nan()) {
            return Ok(pairs().all(|(p, q)| equal(p, q)));
        }
        let ratio = match pairs().find(|(_, q)| !is_zero(*q)) {
            Some((p, q)) => div(p, q)?,
            None => 1.0,
        };
        for (p, q) in pairs() {
            if !same(p, mul(ratio, q)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How far apart two lines are.
    ///
    /// # Errors
    /// `22003`.
    pub fn distance(self, other: Line) -> SqlResult<f64> {
        if self.crossing(other)?.is_some() {
            return Ok(0.0);
        }
        let counts = |number: f64| !is_zero(number) && !number.is_nan();
        let mut pairs = [(self.a, other.a), (self.b, other.b)].into_iter();
        let ratio = match pairs.find(|(p, q)| counts(*p) && counts(*q)) {
            Some((p, q)) => div(p, q)?,
            None => 1.0,
        };
        let between = sub(self.c, mul(ratio, other.c)?)?.abs();
        div(between, hypot(self.a, self.b)?)
    }

    /// The distance to a point, and which of its points is nearest to that; NaN where it cannot be told.
    ///
    /// # Errors
    /// `22003`.
    pub fn nearest(self, point: Point) -> SqlResult<(f64, Point)> {
        let across = Line::new(point, self.slope_across()?)?;
        match across.crossing(self)? {
            Some(found) => Ok((found.distance(point)?, found)),
            None => Ok((f64::NAN, point)),
        }
    }

    /// Whether a point is on it.
    ///
    /// # Errors
    /// `22003`.
    pub fn contains(self, point: Point) -> SqlResult<bool> {
        let found = add(mul(self.a, point.x)?, mul(self.b, point.y)?)?;
        Ok(is_zero(add(found, self.c)?))
    }
}
