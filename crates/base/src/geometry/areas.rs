//! Boxes, paths and polygons.
//!
//! Relies on: `linear`.  Promises: PostgreSQL's answers.  Does not: have holes, or more than one ring.

use super::number::{
    above, add, at_least, at_most, below, div, is_zero, less, max, min, mul, same, sub,
};
use super::{Circle, Line, Point, Rectangle, Segment};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::value::float_order;
use std::sync::Arc;

pub(super) fn invalid(message: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message.to_string())
}

impl Rectangle {
    /// How wide it is.
    ///
    /// # Errors
    /// `22003`, as of all that computes here.
    pub fn width(self) -> SqlResult<f64> {
        sub(self.high.x, self.low.x)
    }

    /// How high it is.
    ///
    /// # Errors
    /// `22003`.
    pub fn height(self) -> SqlResult<f64> {
        sub(self.high.y, self.low.y)
    }

    /// Its area.
    ///
    /// # Errors
    /// `22003`.
    pub fn area(self) -> SqlResult<f64> {
        mul(self.width()?, self.height()?)
    }

    /// Its middle.
    ///
    /// # Errors
    /// `22003`.
    pub fn center(self) -> SqlResult<Point> {
        self.high.between(self.low)
    }

    /// From corner to corner.
    pub fn diagonal(self) -> Segment {
        Segment(self.high, self.low)
    }

    /// What becomes of its corners.
    ///
    /// # Errors
    /// What `change` says.
    pub fn map(self, change: impl Fn(Point) -> SqlResult<Point>) -> SqlResult<Rectangle> {
        Ok(Rectangle::new(change(self.high)?, change(self.low)?))
    }

    /// Both corners are the same.
    pub fn is_same(self, other: Rectangle) -> bool {
        self.high.is_at(other.high) && self.low.is_at(other.low)
    }

    /// Whether they have a point in common.
    pub fn overlaps(self, other: Rectangle) -> bool {
        at_most(self.low.x, other.high.x)
            && at_most(other.low.x, self.high.x)
            && at_most(self.low.y, other.high.y)
            && at_most(other.low.y, self.high.y)
    }

    /// Whether all of the other lies in it.
    pub fn contains(self, other: Rectangle) -> bool {
        at_least(self.high.x, other.high.x)
            && at_most(self.low.x, other.low.x)
            && at_least(self.high.y, other.high.y)
            && at_most(self.low.y, other.low.y)
    }

    /// Whether a point lies in it, without tolerance.
    pub fn contains_point(self, point: Point) -> bool {
        self.high.x >= point.x
            && self.low.x <= point.x
            && self.high.y >= point.y
            && self.low.y <= point.y
    }

    /// Left of it.
    pub fn is_left(self, other: Rectangle) -> bool {
        below(self.high.x, other.low.x)
    }

    /// Nothing of it is right of all of the other.
    pub fn is_over_left(self, other: Rectangle) -> bool {
        at_most(self.high.x, other.high.x)
    }

    /// Right of it.
    pub fn is_right(self, other: Rectangle) -> bool {
        above(self.low.x, other.high.x)
    }

    /// Nothing of it is left of all of the other.
    pub fn is_over_right(self, other: Rectangle) -> bool {
        at_least(self.low.x, other.low.x)
    }

    /// Below it.
    pub fn is_below(self, other: Rectangle) -> bool {
        below(self.high.y, other.low.y)
    }

    /// Nothing of it is above all of the other.
    pub fn is_over_below(self, other: Rectangle) -> bool {
        at_most(self.high.y, other.high.y)
    }

    /// Above it.
    pub fn is_above(self, other: Rectangle) -> bool {
        above(self.low.y, other.high.y)
    }

    /// Nothing of it is below all of the other.
    pub fn is_over_above(self, other: Rectangle) -> bool {
        at_least(self.low.y, other.low.y)
    }

    /// Below it, or touching it.
    pub fn is_below_or_at(self, other: Rectangle) -> bool {
        at_most(self.high.y, other.low.y)
    }

    /// Above it, or touching it.
    pub fn is_above_or_at(self, other: Rectangle) -> bool {
        at_least(self.low.y, other.high.y)
    }

    /// What both have in common.
    pub fn intersection(self, other: Rectangle) -> Option<Rectangle> {
        self.overlaps(other).then(|| Rectangle {
            high: Point::new(
                min(self.high.x, other.high.x),
                min(self.high.y, other.high.y),
            ),
            low: Point::new(max(self.low.x, other.low.x), max(self.low.y, other.low.y)),
        })
    }

    /// The least box around both.
    pub fn union(self, other: Rectangle) -> Rectangle {
        let [p, q] = [self, other];
        Rectangle {
            high: Point::new(max(p.high.x, q.high.x), max(p.high.y, q.high.y)),
            low: Point::new(min(p.low.x, q.low.x), min(p.low.y, q.low.y)),
        }
    }

    /// How far apart the middles are.
    ///
    /// # Errors
    /// `22003`.
    pub fn distance(self, other: Rectangle) -> SqlResult<f64> {
        self.center()?.distance(other.center()?)
    }

    /// Left, top, bottom, right.
    fn sides(self) -> [Segment; 4] {
        let upper_left = Point::new(self.low.x, self.high.y);
        let lower_right = Point::new(self.high.x, self.low.y);
        [
            Segment(self.low, upper_left),
            Segment(self.high, upper_left),
            Segment(self.low, lower_right),
            Segment(self.high, lower_right),
        ]
    }

    /// The distance to a point, and which of its points is nearest to that.
    ///
    /// # Errors
    /// `22003`.
    pub fn nearest(self, point: Point) -> SqlResult<(f64, Point)> {
        if self.contains_point(point) {
            return Ok((0.0, point));
        }
        nearest_of(self.sides().into_iter().map(|side| side.nearest(point)))
    }

    /// The same of a segment.
    ///
    /// # Errors
    /// `22003`.
    pub fn nearest_to_segment(self, segment: Segment) -> SqlResult<(f64, Point)> {
        if self.is_crossed(segment)? {
            let (_, point) = segment.nearest(self.center()?)?;
            return Ok((0.0, point));
        }
        let sides = self.sides().into_iter();
        nearest_of(sides.map(|side| side.nearest_to_segment(segment)))
    }

    /// Whether a segment has a point in common with it.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_crossed(self, segment: Segment) -> SqlResult<bool> {
        let Segment(p, q) = segment;
        if !Rectangle::around(&[p, q]).overlaps(self) {
            return Ok(false);
        }
        if self.contains_point(p) || self.contains_point(q) {
            return Ok(true);
        }
        any(self.sides(), |side| Ok(side.crossing(segment)?.is_some()))
    }

    /// Whether a line crosses one of its sides.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_crossed_by_line(self, line: Line) -> SqlResult<bool> {
        any(self.sides(), |side| {
            Ok(side.crossing_with_line(line)?.is_some())
        })
    }

    /// Whether all of a segment lies in it.
    pub fn contains_segment(self, segment: Segment) -> bool {
        self.contains_point(segment.0) && self.contains_point(segment.1)
    }

    /// The circle through its corners.
    ///
    /// # Errors
    /// `22003`.
    pub fn circle(self) -> SqlResult<Circle> {
        let center = self.center()?;
        let radius = center.distance(self.high)?;
        Ok(Circle { center, radius })
    }

    /// Its corners, from the lower left one by the upper left one.
    pub fn polygon(self) -> Polygon {
        let Rectangle { high, low } = self;
        let upper_left = Point::new(low.x, high.y);
        let lower_right = Point::new(high.x, low.y);
        Polygon::new(vec![low, upper_left, high, lower_right])
    }
}

/// The least distance, and the point with it; the first of several.
fn nearest_of(all: impl Iterator<Item = SqlResult<(f64, Point)>>) -> SqlResult<(f64, Point)> {
    let mut best: Option<(f64, Point)> = None;
    for one in all {
        let one = one?;
        if best.is_none_or(|best| less(one.0, best.0)) {
            best = Some(one);
        }
    }
    Ok(best.unwrap_or((f64::NAN, Point::new(f64::NAN, f64::NAN))))
}

fn any(
    sides: impl IntoIterator<Item = Segment>,
    mut found: impl FnMut(Segment) -> SqlResult<bool>,
) -> SqlResult<bool> {
    for side in sides {
        if found(side)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is put together has no more points: 64 MiB of them, as other values that are put together have. PostgreSQL's have room for
/// sixteen times as many.
pub(super) const POINTS_MAX: usize = 1 << 22;

pub(super) fn too_many_points() -> SqlError {
    SqlError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        "too many points requested".to_string(),
    )
}

/// Points in a row, joined by segments; the last with the first if it is closed. It has one point at least.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    points: Arc<[Point]>,
    closed: bool,
}

impl Path {
    /// The path through these points.
    pub fn new(points: Vec<Point>, closed: bool) -> Path {
        let points = points.into();
        Path { points, closed }
    }

    /// Its points.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Whether it ends where it begins.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The same points, open or closed.
    pub fn with_end(&self, closed: bool) -> Path {
        Path {
            points: Arc::clone(&self.points),
            closed,
        }
    }

    /// Its segments; of a closed one that from the last point to the first is first.
    fn segments(&self) -> impl Iterator<Item = Segment> {
        let last = self.points.last().zip(self.points.first());
        let closing = last.filter(|_| self.closed);
        let closing = closing.map(|(last, first)| Segment(*last, *first));
        let others = self.points.windows(2).map(|pair| Segment(pair[0], pair[1]));
        closing.into_iter().chain(others)
    }

    /// The area within; `None` of an open one.
    ///
    /// # Errors
    /// `22003`.
    pub fn area(&self) -> SqlResult<Option<f64>> {
        if !self.closed {
            return Ok(None);
        }
        let mut twice = 0.0;
        let behind = self.points.iter().cycle().skip(1);
        for (p, q) in self.points.iter().zip(behind) {
            twice = add(twice, mul(p.x, q.y)?)?;
            twice = sub(twice, mul(p.y, q.x)?)?;
        }
        Ok(Some(div(twice.abs(), 2.0)?))
    }

    /// Its length.
    ///
    /// # Errors
    /// `22003`.
    pub fn length(&self) -> SqlResult<f64> {
        let mut segments = self.segments();
        segments.try_fold(0.0, |sum, segment| add(sum, segment.length()?))
    }

    /// Whether two paths cross.
    ///
    /// # Errors
    /// `22003`.
    pub fn crosses(&self, other: &Path) -> SqlResult<bool> {
        let [own, others] = [self, other].map(|path| Rectangle::around(&path.points));
        if !own.overlaps(others) {
            return Ok(false);
        }
        any(self.segments(), |p| {
            any(other.segments(), |q| Ok(p.crossing(q)?.is_some()))
        })
    }

    /// How far apart they are; `None` where one has no segments.
    ///
    /// # Errors
    /// `22003`.
    pub fn distance(&self, other: &Path) -> SqlResult<Option<f64>> {
        let mut least = None;
        for p in self.segments() {
            for q in other.segments() {
                let (distance, _) = p.nearest_to_segment(q)?;
                least = Some(least.map_or(distance, |least| min(least, distance)));
            }
        }
        Ok(least)
    }

    /// How far a point is from it; nothing where it has no segments.
    ///
    /// # Errors
    /// `22003`.
    pub fn distance_to_point(&self, point: Point) -> SqlResult<f64> {
        let mut least: Option<f64> = None;
        for segment in self.segments() {
            let (distance, _) = segment.nearest(point)?;
            least = Some(match least {
                Some(least) if !less(distance, least) => least,
                _ => distance,
            });
        }
        Ok(least.unwrap_or(0.0))
    }

    /// Whether a point lies on it, or within it if it is closed.
    ///
    /// # Errors
    /// `22003`.
    pub fn contains(&self, point: Point) -> SqlResult<bool> {
        if self.closed {
            return is_within(point, &self.points);
        }
        let mut before = match self.points.first() {
            Some(first) => point.distance(*first)?,
            None => return Ok(false),
        };
        for segment in self.segments() {
            let behind = point.distance(segment.1)?;
            if same(add(before, behind)?, segment.length()?) {
                return Ok(true);
            }
            before = behind;
        }
        Ok(false)
    }

    /// One behind the other; `None` if one is closed.
    ///
    /// # Errors
    /// `54000` for too many points.
    pub fn joined(&self, other: &Path) -> SqlResult<Option<Path>> {
        if self.closed || other.closed {
            return Ok(None);
        }
        if self.points.len() + other.points.len() > POINTS_MAX {
            return Err(too_many_points());
        }
        let points = [self.points(), other.points()].concat();
        Ok(Some(Path::new(points, false)))
    }

    /// What becomes of its points.
    ///
    /// # Errors
    /// What `change` says.
    pub fn map(&self, change: impl Fn(Point) -> SqlResult<Point>) -> SqlResult<Path> {
        let points = self.points.iter().map(|point| change(*point));
        Ok(Path::new(points.collect::<SqlResult<_>>()?, self.closed))
    }

    /// What lies within it.
    ///
    /// # Errors
    /// `22023` of an open one.
    pub fn polygon(&self) -> SqlResult<Polygon> {
        match self.closed {
            true => Ok(Polygon {
                points: Arc::clone(&self.points),
            }),
            false => Err(invalid("open path cannot be converted to polygon")),
        }
    }
}

/// What lies within a ring of points. It has one point at least.
#[derive(Clone, Debug, PartialEq)]
pub struct Polygon {
    points: Arc<[Point]>,
}

impl Polygon {
    /// The polygon with these corners.
    pub fn new(points: Vec<Point>) -> Polygon {
        let points = points.into();
        Polygon { points }
    }

    /// Its corners.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The ring around it.
    pub fn path(&self) -> Path {
        Path {
            points: Arc::clone(&self.points),
            closed: true,
        }
    }

    /// The least box around it.
    pub fn bounds(&self) -> Rectangle {
        Rectangle::around(&self.points)
    }

    /// The mean of its corners, and of their distances from that.
    ///
    /// # Errors
    /// `22003`.
    pub fn circle(&self) -> SqlResult<Circle> {
        let count = self.points.len() as f64;
        let mut sum = Point::new(0.0, 0.0);
        for point in self.points.iter() {
            sum = sum.plus(*point)?;
        }
        let center = Point::new(div(sum.x, count)?, div(sum.y, count)?);
        let mut radius = 0.0;
        for point in self.points.iter() {
            radius = add(radius, point.distance(center)?)?;
        }
        let radius = div(radius, count)?;
        Ok(Circle { center, radius })
    }

    /// Whether a point lies in it or on its edge.
    ///
    /// # Errors
    /// `22003`.
    pub fn contains_point(&self, point: Point) -> SqlResult<bool> {
        is_within(point, &self.points)
    }

    /// Whether both have the same corners in the same turn, from whichever on, either way round.
    pub fn is_same(&self, other: &Polygon) -> bool {
        let (own, others) = (&self.points, &other.points);
        let count = own.len();
        if count != others.len() {
            return false;
        }
        let follows = |start: usize, step: usize| {
            let place = |number: usize| (start + number * step) % count;
            (0..count).all(|number| own[number].is_at(others[place(number)]))
        };
        let mut starts = (0..count).filter(|start| others[*start].is_at(own[0]));
        // Backwards is one less than once around.
        starts.any(|start| follows(start, 1) || follows(start, count - 1))
    }

    /// Whether they have a point in common.
    ///
    /// # Errors
    /// `22003`.
    pub fn overlaps(&self, other: &Polygon) -> SqlResult<bool> {
        if !self.bounds().overlaps(other.bounds()) {
            return Ok(false);
        }
        let [own, others] = [self, other].map(Polygon::path);
        let crosses = any(own.segments(), |p| {
            any(others.segments(), |q| Ok(p.crossing(q)?.is_some()))
        });
        Ok(crosses?
            || is_within(self.points[0], &other.points)?
            || is_within(other.points[0], &self.points)?)
    }

    /// Whether all of the other lies in it.
    ///
    /// # Errors
    /// `22003`.
    pub fn contains(&self, other: &Polygon) -> SqlResult<bool> {
        if !self.bounds().contains(other.bounds()) {
            return Ok(false);
        }
        for segment in other.path().segments() {
            if !self.contains_segment(segment)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether all of a segment lies in it. It is cut where an edge meets it; what is between two cuts lies where its middle does.
    fn contains_segment(&self, segment: Segment) -> SqlResult<bool> {
        let Segment(p, q) = segment;
        let mut cuts = vec![p, q];
        for side in self.path().segments() {
            cuts.extend(side.crossing(segment)?);
            for end in [side.0, side.1] {
                if segment.contains(end)? {
                    cuts.push(end);
                }
            }
        }
        let away = cuts.into_iter().map(|cut| Ok((p.distance(cut)?, cut)));
        let mut cuts: Vec<(f64, Point)> = away.collect::<SqlResult<_>>()?;
        cuts.sort_by(|a, b| float_order(a.0, b.0));
        for pair in cuts.windows(2) {
            let (p, q) = (pair[0].1, pair[1].1);
            // The tolerance of an edge is wider in its middle than that of the polygon.
            let along = any(self.path().segments(), |side| {
                Ok(side.contains(p)? && side.contains(q)?)
            });
            if !along? && !is_within(p.between(q)?, &self.points)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How far apart they are.
    ///
    /// # Errors
    /// `22003`.
    pub fn distance(&self, other: &Polygon) -> SqlResult<Option<f64>> {
        match self.overlaps(other)? {
            true => Ok(Some(0.0)),
            false => self.path().distance(&other.path()),
        }
    }

    /// How far a point is from it; nothing if it lies within.
    ///
    /// # Errors
    /// `22003`.
    pub fn distance_to_point(&self, point: Point) -> SqlResult<f64> {
        match is_within(point, &self.points)? {
            true => Ok(0.0),
            false => {
                let closing = Segment(self.points[0], self.points[self.points.len() - 1]);
                let sides = self.points.windows(2).map(|pair| Segment(pair[0], pair[1]));
                let sides = std::iter::once(closing).chain(sides);
                let (distance, _) = nearest_of(sides.map(|side| side.nearest(point)))?;
                Ok(distance)
            }
        }
    }
}

/// Whether a point lies within a ring or on it: how often the ring goes around it.
fn is_within(point: Point, ring: &[Point]) -> SqlResult<bool> {
    let mut around = 0;
    let Some(first) = ring.first() else {
        return Ok(false);
    };
    let first = first.minus(point)?;
    let mut before = first;
    for corner in ring.iter().skip(1) {
        let corner = corner.minus(point)?;
        match half_turns(corner, before)? {
            Some(turns) => around += turns,
            None => return Ok(true),
        }
        before = corner;
    }
    Ok(match half_turns(first, before)? {
        Some(turns) => around + turns != 0,
        None => true,
    })
}

/// How a segment crosses the axis of x right of the origin: 2 upwards, -2 downwards, half of that if it begins or ends there; `None`
/// if it goes through the origin.
fn half_turns(to: Point, from: Point) -> SqlResult<Option<i32>> {
    if is_zero(to.y) {
        if is_zero(to.x) {
            return Ok(None);
        }
        if above(to.x, 0.0) {
            return Ok(match is_zero(from.y) {
                true => above(from.x, 0.0).then_some(0),
                false => Some(if below(from.y, 0.0) { 1 } else { -1 }),
            });
        }
        return Ok(match is_zero(from.y) {
            true => below(from.x, 0.0).then_some(0),
            false => Some(0),
        });
    }
    let upwards = if above(to.y, 0.0) { 1 } else { -1 };
    if is_zero(from.y) {
        return Ok(Some(if below(from.x, 0.0) { 0 } else { upwards }));
    }
    let is_beyond = |number: f64| match upwards {
        1 => above(number, 0.0),
        _ => below(number, 0.0),
    };
    if is_beyond(from.y) {
        return Ok(Some(0));
    }
    if at_least(to.x, 0.0) && above(from.x, 0.0) {
        return Ok(Some(2 * upwards));
    }
    if below(to.x, 0.0) && at_most(from.x, 0.0) {
        return Ok(Some(0));
    }
    let side = sub(
        mul(sub(to.x, from.x)?, to.y)?,
        mul(sub(to.y, from.y)?, to.x)?,
    )?;
    if is_zero(side) {
        return Ok(None);
    }
    Ok(Some(if is_beyond(side) { 0 } else { 2 * upwards }))
}
