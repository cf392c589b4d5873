//! Circles.
//!
//! Relies on: `areas`, `linear`.  Promises: PostgreSQL's answers.  Does not: have circles that are stretched.

use super::areas::{POINTS_MAX, Polygon, invalid, too_many_points};
use super::number::{above, add, at_least, at_most, below, div, is_zero, mul, same, sub};
use super::{Circle, Point, Rectangle};
use crate::error::{SqlError, SqlResult, SqlState};
use std::f64::consts::PI;

impl Circle {
    /// Its area.
    ///
    /// # Errors
    /// `22003`.
    pub fn area(self) -> SqlResult<f64> {
        mul(mul(self.radius, self.radius)?, PI)
    }

    /// Twice the radius.
    ///
    /// # Errors
    /// `22003`.
    pub fn diameter(self) -> SqlResult<f64> {
        mul(self.radius, 2.0)
    }

    /// The circle at another place.
    ///
    /// # Errors
    /// What `change` says.
    pub fn moved(self, change: impl Fn(Point) -> SqlResult<Point>) -> SqlResult<Circle> {
        Ok(Circle {
            center: change(self.center)?,
            ..self
        })
    }

    /// Turned and stretched by a point.
    ///
    /// # Errors
    /// `22003`.
    pub fn times(self, by: Point) -> SqlResult<Circle> {
        Ok(Circle {
            center: self.center.times(by)?,
            radius: mul(self.radius, by.length()?)?,
        })
    }

    /// The other way round.
    ///
    /// # Errors
    /// `22003`, `22012`.
    pub fn over(self, by: Point) -> SqlResult<Circle> {
        Ok(Circle {
            center: self.center.over(by)?,
            radius: div(self.radius, by.length()?)?,
        })
    }

    /// Centre and radius are the same.
    pub fn is_same(self, other: Circle) -> bool {
        let nowhere = self.radius.is_nan() && other.radius.is_nan();
        let radius = nowhere || same(self.radius, other.radius);
        radius && self.center.is_at(other.center)
    }

    /// Whether they have a point in common.
    ///
    /// # Errors
    /// `22003`.
    pub fn overlaps(self, other: Circle) -> SqlResult<bool> {
        let apart = self.center.distance(other.center)?;
        Ok(at_most(apart, add(self.radius, other.radius)?))
    }

    /// Whether all of the other lies in it.
    ///
    /// # Errors
    /// `22003`.
    pub fn contains(self, other: Circle) -> SqlResult<bool> {
        let apart = self.center.distance(other.center)?;
        Ok(at_most(apart, sub(self.radius, other.radius)?))
    }

    /// Whether a point lies in it, without tolerance.
    ///
    /// # Errors
    /// `22003`.
    pub fn contains_point(self, point: Point) -> SqlResult<bool> {
        Ok(self.center.distance(point)? <= self.radius)
    }

    /// How far apart their edges are.
    ///
    /// # Errors
    /// `22003`.
    pub fn distance(self, other: Circle) -> SqlResult<f64> {
        let apart = self.center.distance(other.center)?;
        Ok(not_negative(sub(apart, add(self.radius, other.radius)?)?))
    }

    /// How far a point is from its edge; nothing if it lies within.
    ///
    /// # Errors
    /// `22003`.
    pub fn distance_to_point(self, point: Point) -> SqlResult<f64> {
        let apart = self.center.distance(point)?;
        Ok(not_negative(sub(apart, self.radius)?))
    }

    /// The same of a polygon.
    ///
    /// # Errors
    /// `22003`.
    pub fn distance_to_polygon(self, polygon: &Polygon) -> SqlResult<f64> {
        let apart = polygon.distance_to_point(self.center)?;
        Ok(not_negative(sub(apart, self.radius)?))
    }

    /// Left of it.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_left(self, other: Circle) -> SqlResult<bool> {
        Ok(below(self.right()?, other.left()?))
    }

    /// Nothing of it is right of all of the other.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_over_left(self, other: Circle) -> SqlResult<bool> {
        Ok(at_most(self.right()?, other.right()?))
    }

    /// Right of it.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_right(self, other: Circle) -> SqlResult<bool> {
        Ok(above(self.left()?, other.right()?))
    }

    /// Nothing of it is left of all of the other.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_over_right(self, other: Circle) -> SqlResult<bool> {
        Ok(at_least(self.left()?, other.left()?))
    }

    /// Below it.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_below(self, other: Circle) -> SqlResult<bool> {
        Ok(below(self.top()?, other.bottom()?))
    }

    /// Nothing of it is above all of the other.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_over_below(self, other: Circle) -> SqlResult<bool> {
        Ok(at_most(self.top()?, other.top()?))
    }

    /// Above it.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_above(self, other: Circle) -> SqlResult<bool> {
        Ok(above(self.bottom()?, other.top()?))
    }

    /// Nothing of it is below all of the other.
    ///
    /// # Errors
    /// `22003`.
    pub fn is_over_above(self, other: Circle) -> SqlResult<bool> {
        Ok(at_least(self.bottom()?, other.bottom()?))
    }

    fn left(self) -> SqlResult<f64> {
        sub(self.center.x, self.radius)
    }

    fn right(self) -> SqlResult<f64> {
        add(self.center.x, self.radius)
    }

    fn bottom(self) -> SqlResult<f64> {
        sub(self.center.y, self.radius)
    }

    fn top(self) -> SqlResult<f64> {
        add(self.center.y, self.radius)
    }

    /// The box whose corners lie on it.
    ///
    /// # Errors
    /// `22003`.
    pub fn rectangle(self) -> SqlResult<Rectangle> {
        let by = div(self.radius, 2f64.sqrt())?;
        let by = Point::new(by, by);
        Ok(Rectangle {
            high: self.center.plus(by)?,
            low: self.center.minus(by)?,
        })
    }

    /// So many points on it, from the leftmost one clockwise.
    ///
    /// # Errors
    /// `0A000` where it is a point, `22023` for less than two, `22003`.
    pub fn polygon(self, points: i32) -> SqlResult<Polygon> {
        if is_zero(self.radius) {
            let message = "cannot convert circle with radius zero to polygon";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if points < 2 {
            return Err(invalid("must request at least 2 points"));
        }
        if points as usize > POINTS_MAX {
            return Err(too_many_points());
        }
        let step = div(2.0 * PI, f64::from(points))?;
        let made = (0..points).map(|number| {
            let angle = mul(step, f64::from(number))?;
            Ok(Point::new(
                sub(self.center.x, mul(self.radius, angle.cos())?)?,
                add(self.center.y, mul(self.radius, angle.sin())?)?,
            ))
        });
        Ok(Polygon::new(made.collect::<SqlResult<_>>()?))
    }
}

fn not_negative(distance: f64) -> f64 {
    if distance < 0.0 { 0.0 } else { distance }
}
