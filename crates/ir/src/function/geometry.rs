//! Figures of the plane: point, lseg, line, box, path, polygon, circle.
//!
//! Relies on: `base::geometry`.  Promises: PostgreSQL's operators and functions of these types, `=` and `<` among them, which say
//! something else of each: areas, lengths and counts of points are compared.  Does not: have an order that rows could be sorted
//! by, or equality that they could be grouped by; nor has PostgreSQL.

use super::{Function, builtin, wrong_type};
use crate::eval::Host;
use quintet_base::geometry::{
    Circle, Line, Path, Point, Polygon, Rectangle, Segment, above, at_least, at_most, below, known,
    same,
};
use quintet_base::{Figure, SqlError, SqlResult, SqlState, SqlType, Value};

/// What stands for a SQL type here.
trait Kind: Sized {
    const TYPE: SqlType;
    /// The value of an argument.
    fn of(value: &Value) -> Self;
    /// The value of a result.
    fn value(self) -> Value;
}

macro_rules! kinds {
    ($($kind:ident $figure:ident $ty:ident)*) => {
        $(impl Kind for $kind {
            const TYPE: SqlType = SqlType::$ty;

            fn of(value: &Value) -> Self {
                if let Value::Figure(figure) = value
                    && let Figure::$figure(found) = &**figure
                {
                    return found.clone();
                }
                wrong_type(value)
            }

            fn value(self) -> Value {
                Value::figure(Figure::$figure(self))
            }
        })*
    };
}

kinds! {
    Point Point Point
    Segment Segment Lseg
    Line Line Line
    Rectangle Box Box
    Path Path Path
    Polygon Polygon Polygon
    Circle Circle Circle
}

macro_rules! scalars {
    ($($kind:ident $ty:ident)*) => {
        $(impl Kind for $kind {
            const TYPE: SqlType = SqlType::$ty;

            fn of(value: &Value) -> Self {
                match value {
                    Value::$ty(found) => *found,
                    value => wrong_type(value),
                }
            }

            fn value(self) -> Value {
                Value::$ty(self)
            }
        })*
    };
}

scalars! { f64 Float8 bool Bool i32 Int4 }

/// What a function comes to: a value, none, or an error.
trait Answer {
    fn answer(self) -> SqlResult<Value>;
}

impl<K: Kind> Answer for K {
    fn answer(self) -> SqlResult<Value> {
        Ok(self.value())
    }
}

impl<K: Kind> Answer for Option<K> {
    fn answer(self) -> SqlResult<Value> {
        Ok(self.map_or(Value::Null, Kind::value))
    }
}

impl<A: Answer> Answer for SqlResult<A> {
    fn answer(self) -> SqlResult<Value> {
        self.and_then(Answer::answer)
    }
}

#[cold]
fn wrong_count(args: &[&Value]) -> ! {
    panic!("{args:?}: the binder let a wrong number of arguments through")
}

macro_rules! functions {
    ($($name:literal |$($arg:ident: $kind:ident),+| $result:ident: $body:expr;)*) => {
        &[$(builtin(
            $name,
            &[$(<$kind as Kind>::TYPE),+],
            <$result as Kind>::TYPE,
            |args, _: &dyn Host| {
                let [$($arg),+] = args else {
                    wrong_count(args)
                };
                $(let $arg = <$kind as Kind>::of($arg);)+
                Answer::answer($body)
            },
        )),*]
    };
}

type Compared = fn(f64, f64) -> bool;

fn by_length(p: Segment, how: Compared, q: Segment) -> SqlResult<bool> {
    Ok(how(p.length()?, q.length()?))
}

fn by_area(p: Rectangle, how: Compared, q: Rectangle) -> SqlResult<bool> {
    Ok(how(p.area()?, q.area()?))
}

fn by_size(p: Circle, how: Compared, q: Circle) -> SqlResult<bool> {
    Ok(how(p.area()?, q.area()?))
}

fn differs(p: f64, q: f64) -> bool {
    p != q && (p - q).abs() > 1.0E-6
}

fn moved(circle: Circle, by: Point) -> SqlResult<Circle> {
    circle.moved(|center| center.plus(by))
}

fn moved_back(circle: Circle, by: Point) -> SqlResult<Circle> {
    circle.moved(|center| center.minus(by))
}

/// Boxes around polygons, compared without tolerance.
fn bounds(p: &Polygon, q: &Polygon) -> (Rectangle, Rectangle) {
    (p.bounds(), q.bounds())
}

/// Corners on a circle, where nobody says how many.
const CORNERS: i32 = 12;

pub(super) static FUNCTIONS: &[Function] = functions! {
    // What is made of what.
    "point" |x: f64, y: f64| Point: Point::new(x, y);
    "point" |a: Segment| Point: a.0.between(a.1);
    "point" |a: Rectangle| Point: a.center();
    "point" |a: Circle| Point: a.center;
    "point" |a: Polygon| Point: a.circle().map(|circle| circle.center);
    "lseg" |p: Point, q: Point| Segment: Segment(p, q);
    "lseg" |a: Rectangle| Segment: a.diagonal();
    "line" |p: Point, q: Point| Line: Line::through(p, q);
    "box" |p: Point, q: Point| Rectangle: Rectangle::new(p, q);
    "box" |p: Point| Rectangle: Rectangle::new(p, p);
    "box" |a: Circle| Rectangle: a.rectangle();
    "box" |a: Polygon| Rectangle: a.bounds();
    "bound_box" |a: Rectangle, b: Rectangle| Rectangle: a.union(b);
    "path" |a: Polygon| Path: a.path();
    "polygon" |a: Rectangle| Polygon: a.polygon();
    "polygon" |a: Circle| Polygon: a.polygon(CORNERS);
    "polygon" |count: i32, a: Circle| Polygon: a.polygon(count);
    "polygon" |a: Path| Polygon: a.polygon();
    "circle" |center: Point, radius: f64| Circle: Circle { center, radius };
    "circle" |a: Rectangle| Circle: a.circle();
    "circle" |a: Polygon| Circle: a.circle();
    "pclose" |a: Path| Path: a.with_end(true);
    "popen" |a: Path| Path: a.with_end(false);

    // Measures.
    "area" |a: Rectangle| f64: a.area();
    "area" |a: Circle| f64: a.area();
    "area" |a: Path| f64: a.area();
    "center" |a: Rectangle| Point: a.center();
    "center" |a: Circle| Point: a.center;
    "@@" |a: Segment| Point: a.0.between(a.1);
    "@@" |a: Rectangle| Point: a.center();
    "@@" |a: Circle| Point: a.center;
    "@@" |a: Polygon| Point: a.circle().map(|circle| circle.center);
    "diagonal" |a: Rectangle| Segment: a.diagonal();
    "diameter" |a: Circle| f64: a.diameter();
    "radius" |a: Circle| f64: a.radius;
    "height" |a: Rectangle| f64: a.height();
    "width" |a: Rectangle| f64: a.width();
    "length" |a: Segment| f64: a.length();
    "length" |a: Path| f64: a.length();
    "@-@" |a: Segment| f64: a.length();
    "@-@" |a: Path| f64: a.length();
    "isclosed" |a: Path| bool: a.is_closed();
    "isopen" |a: Path| bool: !a.is_closed();
    "npoints" |a: Path| i32: a.points().len() as i32;
    "npoints" |a: Polygon| i32: a.points().len() as i32;
    "#" |a: Path| i32: a.points().len() as i32;
    "#" |a: Polygon| i32: a.points().len() as i32;
    "slope" |p: Point, q: Point| f64: p.slope(q);

    // Arithmetic.
    "+" |p: Point, q: Point| Point: p.plus(q);
    "-" |p: Point, q: Point| Point: p.minus(q);
    "*" |p: Point, q: Point| Point: p.times(q);
    "/" |p: Point, q: Point| Point: p.over(q);
    "+" |a: Rectangle, by: Point| Rectangle: a.map(|corner| corner.plus(by));
    "-" |a: Rectangle, by: Point| Rectangle: a.map(|corner| corner.minus(by));
    "*" |a: Rectangle, by: Point| Rectangle: a.map(|corner| corner.times(by));
    "/" |a: Rectangle, by: Point| Rectangle: a.map(|corner| corner.over(by));
    "+" |a: Path, by: Point| Path: a.map(|point| point.plus(by));
    "-" |a: Path, by: Point| Path: a.map(|point| point.minus(by));
    "*" |a: Path, by: Point| Path: a.map(|point| point.times(by));
    "/" |a: Path, by: Point| Path: a.map(|point| point.over(by));
    "+" |a: Circle, by: Point| Circle: moved(a, by);
    "-" |a: Circle, by: Point| Circle: moved_back(a, by);
    "*" |a: Circle, by: Point| Circle: a.times(by);
    "/" |a: Circle, by: Point| Circle: a.over(by);
    "+" |a: Path, b: Path| Path: a.joined(&b);

    // Where they meet.
    "#" |a: Segment, b: Segment| Point: a.crossing(b);
    "#" |a: Line, b: Line| Point: a.crossing(b);
    "#" |a: Rectangle, b: Rectangle| Rectangle: a.intersection(b);
    "##" |p: Point, a: Segment| Point: a.nearest(p).map(known);
    "##" |p: Point, a: Rectangle| Point: a.nearest(p).map(known);
    "##" |p: Point, a: Line| Point: a.nearest(p).map(known);
    "##" |a: Segment, b: Segment| Point: b.meeting_from(a);
    "##" |a: Segment, b: Rectangle| Point: b.nearest_to_segment(a).map(known);
    "##" |a: Line, b: Segment| Point: b.meeting_from_line(a);
    "?#" |a: Segment, b: Segment| bool: a.crossing(b).map(|at| at.is_some());
    "?#" |a: Segment, b: Rectangle| bool: b.is_crossed(a);
    "?#" |a: Segment, b: Line| bool: a.crossing_with_line(b).map(|at| at.is_some());
    "?#" |a: Path, b: Path| bool: a.crosses(&b);
    "?#" |a: Rectangle, b: Rectangle| bool: a.overlaps(b);
    "?#" |a: Line, b: Rectangle| bool: b.is_crossed_by_line(a);
    "?#" |a: Line, b: Line| bool: a.crossing(b).map(|at| at.is_some());

    // How far apart they are.
    "<->" |p: Point, q: Point| f64: p.distance(q);
    "<->" |p: Point, a: Segment| f64: a.nearest(p).map(|found| found.0);
    "<->" |p: Point, a: Path| f64: a.distance_to_point(p);
    "<->" |p: Point, a: Rectangle| f64: a.nearest(p).map(|found| found.0);
    "<->" |p: Point, a: Polygon| f64: a.distance_to_point(p);
    "<->" |p: Point, a: Line| f64: a.nearest(p).map(|found| found.0);
    "<->" |p: Point, a: Circle| f64: a.distance_to_point(p);
    "<->" |a: Segment, p: Point| f64: a.nearest(p).map(|found| found.0);
    "<->" |a: Segment, b: Segment| f64: a.nearest_to_segment(b).map(|found| found.0);
    "<->" |a: Segment, b: Rectangle| f64: b.nearest_to_segment(a).map(|found| found.0);
    "<->" |a: Segment, b: Line| f64: a.nearest_to_line(b).map(|found| found.0);
    "<->" |a: Path, p: Point| f64: a.distance_to_point(p);
    "<->" |a: Path, b: Path| f64: a.distance(&b);
    "<->" |a: Rectangle, p: Point| f64: a.nearest(p).map(|found| found.0);
    "<->" |a: Rectangle, b: Segment| f64: a.nearest_to_segment(b).map(|found| found.0);
    "<->" |a: Rectangle, b: Rectangle| f64: a.distance(b);
    "<->" |a: Polygon, p: Point| f64: a.distance_to_point(p);
    "<->" |a: Polygon, b: Polygon| f64: a.distance(&b);
    "<->" |a: Polygon, b: Circle| f64: b.distance_to_polygon(&a);
    "<->" |a: Line, p: Point| f64: a.nearest(p).map(|found| found.0);
    "<->" |a: Line, b: Segment| f64: b.nearest_to_line(a).map(|found| found.0);
    "<->" |a: Line, b: Line| f64: a.distance(b);
    "<->" |a: Circle, p: Point| f64: a.distance_to_point(p);
    "<->" |a: Circle, b: Polygon| f64: a.distance_to_polygon(&b);
    "<->" |a: Circle, b: Circle| f64: a.distance(b);

    // What lies in what.
    "<@" |p: Point, a: Segment| bool: a.contains(p);
    "<@" |p: Point, a: Path| bool: a.contains(p);
    "<@" |p: Point, a: Rectangle| bool: a.contains_point(p);
    "<@" |p: Point, a: Polygon| bool: a.contains_point(p);
    "<@" |p: Point, a: Line| bool: a.contains(p);
    "<@" |p: Point, a: Circle| bool: a.contains_point(p);
    "<@" |a: Segment, b: Rectangle| bool: b.contains_segment(a);
    "<@" |a: Segment, b: Line| bool: Ok(b.contains(a.0)? && b.contains(a.1)?);
    "<@" |a: Rectangle, b: Rectangle| bool: b.contains(a);
    "<@" |a: Polygon, b: Polygon| bool: b.contains(&a);
    "<@" |a: Circle, b: Circle| bool: b.contains(a);
    "@>" |a: Path, p: Point| bool: a.contains(p);
    "@>" |a: Rectangle, p: Point| bool: a.contains_point(p);
    "@>" |a: Rectangle, b: Rectangle| bool: a.contains(b);
    "@>" |a: Polygon, p: Point| bool: a.contains_point(p);
    "@>" |a: Polygon, b: Polygon| bool: a.contains(&b);
    "@>" |a: Circle, p: Point| bool: a.contains_point(p);
    "@>" |a: Circle, b: Circle| bool: a.contains(b);
    "&&" |a: Rectangle, b: Rectangle| bool: a.overlaps(b);
    "&&" |a: Polygon, b: Polygon| bool: a.overlaps(&b);
    "&&" |a: Circle, b: Circle| bool: a.overlaps(b);

    // Where they lie.
    "<<" |p: Point, q: Point| bool: below(p.x, q.x);
    "<<" |a: Rectangle, b: Rectangle| bool: a.is_left(b);
    "<<" |a: Polygon, b: Polygon| bool: { let (a, b) = bounds(&a, &b); a.high.x < b.low.x };
    "<<" |a: Circle, b: Circle| bool: a.is_left(b);
    ">>" |p: Point, q: Point| bool: above(p.x, q.x);
    ">>" |a: Rectangle, b: Rectangle| bool: a.is_right(b);
    ">>" |a: Polygon, b: Polygon| bool: { let (a, b) = bounds(&a, &b); a.low.x > b.high.x };
    ">>" |a: Circle, b: Circle| bool: a.is_right(b);
    "&<" |a: Rectangle, b: Rectangle| bool: a.is_over_left(b);
    "&<" |a: Polygon, b: Polygon| bool: { let (a, b) = bounds(&a, &b); a.high.x <= b.high.x };
    "&<" |a: Circle, b: Circle| bool: a.is_over_left(b);
    "&>" |a: Rectangle, b: Rectangle| bool: a.is_over_right(b);
    "&>" |a: Polygon, b: Polygon| bool: { let (a, b) = bounds(&a, &b); a.low.x >= b.low.x };
    "&>" |a: Circle, b: Circle| bool: a.is_over_right(b);
    "<<|" |p: Point, q: Point| bool: below(p.y, q.y);
    "<<|" |a: Rectangle, b: Rectangle| bool: a.is_below(b);
    "<<|" |a: Polygon, b: Polygon| bool: { let (a, b) = bounds(&a, &b); a.high.y < b.low.y };
    "<<|" |a: Circle, b: Circle| bool: a.is_below(b);
    "|>>" |p: Point, q: Point| bool: above(p.y, q.y);
    "|>>" |a: Rectangle, b: Rectangle| bool: a.is_above(b);
    "|>>" |a: Polygon, b: Polygon| bool: { let (a, b) = bounds(&a, &b); a.low.y > b.high.y };
    "|>>" |a: Circle, b: Circle| bool: a.is_above(b);
    "&<|" |a: Rectangle, b: Rectangle| bool: a.is_over_below(b);
    "&<|" |a: Polygon, b: Polygon| bool: { let (a, b) = bounds(&a, &b); a.high.y <= b.high.y };
    "&<|" |a: Circle, b: Circle| bool: a.is_over_below(b);
    "|&>" |a: Rectangle, b: Rectangle| bool: a.is_over_above(b);
    "|&>" |a: Polygon, b: Polygon| bool: { let (a, b) = bounds(&a, &b); a.low.y >= b.low.y };
    "|&>" |a: Circle, b: Circle| bool: a.is_over_above(b);
    "<^" |p: Point, q: Point| bool: below(p.y, q.y);
    "<^" |a: Rectangle, b: Rectangle| bool: a.is_below_or_at(b);
    ">^" |p: Point, q: Point| bool: above(p.y, q.y);
    ">^" |a: Rectangle, b: Rectangle| bool: a.is_above_or_at(b);
    "?-" |p: Point, q: Point| bool: same(p.y, q.y);
    "?-" |a: Segment| bool: same(a.0.y, a.1.y);
    "?-" |a: Line| bool: a.is_horizontal();
    "?|" |p: Point, q: Point| bool: same(p.x, q.x);
    "?|" |a: Segment| bool: same(a.0.x, a.1.x);
    "?|" |a: Line| bool: a.is_vertical();
    "?-|" |a: Segment, b: Segment| bool: a.is_perpendicular(b);
    "?-|" |a: Line, b: Line| bool: a.is_perpendicular(b);
    "?||" |a: Segment, b: Segment| bool: a.is_parallel(b);
    "?||" |a: Line, b: Line| bool: a.is_parallel(b);
    "ishorizontal" |p: Point, q: Point| bool: same(p.y, q.y);
    "ishorizontal" |a: Segment| bool: same(a.0.y, a.1.y);
    "ishorizontal" |a: Line| bool: a.is_horizontal();
    "isvertical" |p: Point, q: Point| bool: same(p.x, q.x);
    "isvertical" |a: Segment| bool: same(a.0.x, a.1.x);
    "isvertical" |a: Line| bool: a.is_vertical();
    "isperp" |a: Segment, b: Segment| bool: a.is_perpendicular(b);
    "isperp" |a: Line, b: Line| bool: a.is_perpendicular(b);
    "isparallel" |a: Segment, b: Segment| bool: a.is_parallel(b);
    "isparallel" |a: Line, b: Line| bool: a.is_parallel(b);

    // What is the same, and what is more.
    "~=" |p: Point, q: Point| bool: p.is_at(q);
    "~=" |a: Rectangle, b: Rectangle| bool: a.is_same(b);
    "~=" |a: Polygon, b: Polygon| bool: a.is_same(&b);
    "~=" |a: Circle, b: Circle| bool: a.is_same(b);
    "=" |a: Segment, b: Segment| bool: a.is_same(b);
    "=" |a: Path, b: Path| bool: a.points().len() == b.points().len();
    "=" |a: Rectangle, b: Rectangle| bool: by_area(a, same, b);
    "=" |a: Line, b: Line| bool: a.is_same(b);
    "=" |a: Circle, b: Circle| bool: by_size(a, same, b);
    "<>" |p: Point, q: Point| bool: !p.is_at(q);
    "<>" |a: Segment, b: Segment| bool: !a.is_same(b);
    "<>" |a: Circle, b: Circle| bool: by_size(a, differs, b);
    "<" |a: Segment, b: Segment| bool: by_length(a, below, b);
    "<" |a: Path, b: Path| bool: a.points().len() < b.points().len();
    "<" |a: Rectangle, b: Rectangle| bool: by_area(a, below, b);
    "<" |a: Circle, b: Circle| bool: by_size(a, below, b);
    "<=" |a: Segment, b: Segment| bool: by_length(a, at_most, b);
    "<=" |a: Path, b: Path| bool: a.points().len() <= b.points().len();
    "<=" |a: Rectangle, b: Rectangle| bool: by_area(a, at_most, b);
    "<=" |a: Circle, b: Circle| bool: by_size(a, at_most, b);
    ">" |a: Segment, b: Segment| bool: by_length(a, above, b);
    ">" |a: Path, b: Path| bool: a.points().len() > b.points().len();
    ">" |a: Rectangle, b: Rectangle| bool: by_area(a, above, b);
    ">" |a: Circle, b: Circle| bool: by_size(a, above, b);
    ">=" |a: Segment, b: Segment| bool: by_length(a, at_least, b);
    ">=" |a: Path, b: Path| bool: a.points().len() >= b.points().len();
    ">=" |a: Rectangle, b: Rectangle| bool: by_area(a, at_least, b);
    ">=" |a: Circle, b: Circle| bool: by_size(a, at_least, b);

    // Parts, counted from 0.
    "[figure]" |p: Point, place: i32| f64: part(&[p.x, p.y], place);
    "[figure]" |a: Segment, place: i32| Point: part(&[a.0, a.1], place);
    "[figure]" |a: Rectangle, place: i32| Point: part(&[a.high, a.low], place);
    "[figure]" |a: Line, place: i32| f64: part(&[a.a, a.b, a.c], place);
    "[figure]:=" |p: Point, place: i32, to: f64| Point:
        changed([p.x, p.y], place, to).map(|[x, y]| Point::new(x, y));
    "[figure]:=" |a: Segment, place: i32, to: Point| Segment:
        changed([a.0, a.1], place, to).map(|[p, q]| Segment(p, q));
    "[figure]:=" |a: Rectangle, place: i32, to: Point| Rectangle:
        changed([a.high, a.low], place, to).map(|[high, low]| Rectangle { high, low });
    "[figure]:=" |a: Line, place: i32, to: f64| Line:
        changed([a.a, a.b, a.c], place, to).map(|[a, b, c]| Line { a, b, c });
};

/// The part of a figure that a subscript names.
pub const PART: &str = "[figure]";
/// The figure with another part; the same if the part is NULL.
pub const WITH_PART: &str = "[figure]:=";

fn part<K: Copy>(parts: &[K], place: i32) -> Option<K> {
    let place = usize::try_from(place).ok()?;
    parts.get(place).copied()
}

fn changed<K, const N: usize>(mut parts: [K; N], place: i32, to: K) -> SqlResult<[K; N]> {
    let place = usize::try_from(place).ok();
    let part = place.and_then(|place| parts.get_mut(place));
    let message = "array subscript out of range";
    *part.ok_or_else(|| SqlError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message))? = to;
    Ok(parts)
}

/// One figure as another, where there is a cast.
pub(crate) fn convert(figure: &Figure, to: SqlType) -> Option<SqlResult<Figure>> {
    let made = match (figure, to) {
        (Figure::Segment(a), SqlType::Point) => a.0.between(a.1).map(Figure::Point),
        (Figure::Box(a), SqlType::Point) => a.center().map(Figure::Point),
        (Figure::Circle(a), SqlType::Point) => Ok(Figure::Point(a.center)),
        (Figure::Polygon(a), SqlType::Point) => a.circle().map(|a| Figure::Point(a.center)),
        (Figure::Point(a), SqlType::Box) => Ok(Figure::Box(Rectangle::new(*a, *a))),
        (Figure::Circle(a), SqlType::Box) => a.rectangle().map(Figure::Box),
        (Figure::Polygon(a), SqlType::Box) => Ok(Figure::Box(a.bounds())),
        (Figure::Box(a), SqlType::Lseg) => Ok(Figure::Segment(a.diagonal())),
        (Figure::Box(a), SqlType::Circle) => a.circle().map(Figure::Circle),
        (Figure::Polygon(a), SqlType::Circle) => a.circle().map(Figure::Circle),
        (Figure::Box(a), SqlType::Polygon) => Ok(Figure::Polygon(a.polygon())),
        (Figure::Circle(a), SqlType::Polygon) => a.polygon(CORNERS).map(Figure::Polygon),
        (Figure::Path(a), SqlType::Polygon) => a.polygon().map(Figure::Polygon),
        (Figure::Polygon(a), SqlType::Path) => Ok(Figure::Path(a.path())),
        _ => return None,
    };
    Some(made)
}
