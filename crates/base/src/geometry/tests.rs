use super::*;
use crate::text_format::FormatContext;
use proptest::prelude::*;

fn shown(figure: &Figure) -> String {
    let mut out = Vec::new();
    write(figure, &FormatContext::default(), &mut out);
    String::from_utf8(out).unwrap()
}

/// What PostgreSQL 15 prints for what it reads.
#[test]
fn figures_are_read_in_all_their_forms() {
    let forms = [
        (SqlType::Point, " ( 1 , 2 ) ", "(1,2)"),
        (SqlType::Point, "1,2", "(1,2)"),
        (SqlType::Point, "(1e+300,-Inf)", "(1e+300,-Infinity)"),
        (SqlType::Lseg, "[(1,2),(3,4)]", "[(1,2),(3,4)]"),
        (SqlType::Lseg, "((1,2),(3,4))", "[(1,2),(3,4)]"),
        (SqlType::Lseg, "1,2,3,4", "[(1,2),(3,4)]"),
        (SqlType::Box, "(1,4),(3,2)", "(3,4),(1,2)"),
        (SqlType::Box, "((1,4),(3,2))", "(3,4),(1,2)"),
        (SqlType::Line, "{1, 2 ,3}", "{1,2,3}"),
        (SqlType::Line, "[(0,0),(0,5)]", "{-1,0,0}"),
        (SqlType::Line, "0,0,6,6", "{1,-1,0}"),
        (SqlType::Path, "((1,2),(3,4))", "((1,2),(3,4))"),
        (SqlType::Path, "(1,2,3,4)", "((1,2),(3,4))"),
        (SqlType::Path, "[1,2,3,4]", "[(1,2),(3,4)]"),
        (SqlType::Path, "[(1,2)]", "[(1,2)]"),
        (SqlType::Polygon, "(1,2),(3,4),(5,5)", "((1,2),(3,4),(5,5))"),
        (SqlType::Polygon, "1,2", "((1,2))"),
        (SqlType::Circle, "<(1,2),3>", "<(1,2),3>"),
        (SqlType::Circle, "((1,2),3)", "<(1,2),3>"),
        (SqlType::Circle, "(1,2),NaN", "<(1,2),NaN>"),
        (SqlType::Circle, "1,2,3", "<(1,2),3>"),
    ];
    for (ty, text, expected) in forms {
        let figure = read(ty, text).unwrap();
        assert_eq!(figure.ty(), ty);
        assert_eq!(shown(&figure), expected, "{text}");
    }
    let wrong = [
        (SqlType::Point, ""),
        (SqlType::Point, "(1,2"),
        (SqlType::Point, "(1,2)x"),
        (SqlType::Point, "(1 2)"),
        (SqlType::Lseg, "[(1,2),(3,4)"),
        (SqlType::Box, "[(1,2),(3,4)]"),
        (SqlType::Box, "(1,2)"),
        (SqlType::Line, "{0,0,1}"),
        (SqlType::Line, "[(1,1),(1,1)]"),
        (SqlType::Line, "{1,2}"),
        (SqlType::Path, "[(1,2),(3)]"),
        (SqlType::Path, "[]"),
        (SqlType::Polygon, "[(1,2),(3,4)]"),
        (SqlType::Circle, "<(1,2),-3>"),
        (SqlType::Circle, "<(1,2),3"),
    ];
    for (ty, text) in wrong {
        let error = read(ty, text).unwrap_err();
        assert_eq!(error.state, SqlState::INVALID_TEXT_REPRESENTATION, "{text}");
    }
    let error = read(SqlType::Point, "(1e400,1)").unwrap_err();
    assert_eq!(error.state, SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
}

#[test]
fn what_nobody_may_send_is_refused() {
    let mut sent = Vec::new();
    let circle = Circle {
        center: Point::new(1.0, 2.0),
        radius: -1.0,
    };
    Figure::Circle(circle).send(&mut sent);
    let kept = Figure::receive(SqlType::Circle, &sent).unwrap();
    assert!(kept.check().is_err());
    assert!(Figure::receive(SqlType::Point, &sent).is_err());
    assert!(Figure::receive(SqlType::Path, &[1, 0, 0, 0, 0]).is_err());
    assert!(Figure::receive(SqlType::Path, &[]).is_err());
    assert!(Figure::receive(SqlType::Polygon, &[0, 0, 0, 9, 1]).is_err());
    assert!(Figure::receive(SqlType::Polygon, &[0x7f, 0xff, 0xff, 0xff]).is_err());
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => (-4i8..=4).prop_map(f64::from),
        3 => prop::num::f64::NORMAL,
        1 => prop::sample::select(vec![f64::INFINITY, f64::NEG_INFINITY, 0.5, 1e-7]),
    ]
}

fn figure() -> impl Strategy<Value = Figure> {
    let types = [
        SqlType::Point,
        SqlType::Lseg,
        SqlType::Line,
        SqlType::Box,
        SqlType::Path,
        SqlType::Polygon,
        SqlType::Circle,
    ];
    let numbers = prop::collection::vec(number(), 8);
    (
        prop::sample::select(types.to_vec()),
        numbers,
        any::<bool>(),
        1..5usize,
    )
        .prop_map(|(ty, mut numbers, closed, points)| {
            numbers.truncate(match ty {
                SqlType::Point => 2,
                SqlType::Line | SqlType::Circle => 3,
                SqlType::Lseg | SqlType::Box => 4,
                _ => 2 * points,
            });
            if ty == SqlType::Circle {
                numbers[2] = numbers[2].abs();
            }
            if ty == SqlType::Line {
                numbers[0] = 1.0;
            }
            Figure::from_numbers(ty, closed, &numbers).unwrap()
        })
}

fn small() -> impl Strategy<Value = Point> {
    (-9i8..=9, -9i8..=9).prop_map(|(x, y)| Point::new(f64::from(x), f64::from(y)))
}

/// Whether a point lies in a convex polygon whose corners go round against the clock, by the side of each edge it is on.
fn is_left_of_all(point: Point, corners: &[Point]) -> bool {
    let behind = corners.iter().cycle().skip(1);
    (corners.iter().zip(behind))
        .all(|(p, q)| (q.x - p.x) * (point.y - p.y) - (q.y - p.y) * (point.x - p.x) >= 0.0)
}

proptest! {
    // Whatever is printed or sent reads back.
    #[test]
    fn printed_and_sent_figures_read_back(figure in figure()) {
        let text = shown(&figure);
        prop_assert_eq!(&read(figure.ty(), &text).unwrap(), &figure, "{}", text);
        let mut sent = Vec::new();
        figure.send(&mut sent);
        prop_assert_eq!(&Figure::receive(figure.ty(), &sent).unwrap(), &figure);
    }

    // No text makes the reader panic, and what it takes prints so that it reads back.
    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\](){}<>,0-9 .e+-]{0,24}") {
        for ty in [SqlType::Point, SqlType::Lseg, SqlType::Line, SqlType::Box, SqlType::Path, SqlType::Polygon, SqlType::Circle] {
            if let Ok(figure) = read(ty, &text) {
                prop_assert_eq!(read(ty, &shown(&figure)).unwrap(), figure);
            }
        }
    }

    // A polygon agrees with what the sides of a triangle say of a point.
    #[test]
    fn a_triangle_contains_what_is_on_one_side_of_all_edges(p in small(), q in small(), r in small(), at in small()) {
        let turn = (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x);
        prop_assume!(turn != 0.0);
        let corners = if turn > 0.0 { vec![p, q, r] } else { vec![p, r, q] };
        let triangle = Polygon::new(corners.clone());
        prop_assert_eq!(triangle.contains_point(at).unwrap(), is_left_of_all(at, &corners));
    }

    // Two triangles: one holds the other if and only if it holds its corners.
    #[test]
    fn a_triangle_contains_another_by_its_corners(corners in prop::collection::vec(small(), 6)) {
        let [a, b] = [&corners[..3], &corners[3..]].map(|three| Polygon::new(three.to_vec()));
        let turn = |c: &[Point]| (c[1].x - c[0].x) * (c[2].y - c[0].y) - (c[1].y - c[0].y) * (c[2].x - c[0].x);
        prop_assume!(turn(a.points()) != 0.0);
        let all = b.points().iter().all(|point| a.contains_point(*point).unwrap());
        prop_assert_eq!(a.contains(&b).unwrap(), all);
    }

    // The nearest point of a segment is on it, and none of a hundred others is nearer.
    #[test]
    fn no_point_of_a_segment_is_nearer_than_the_nearest(p in small(), q in small(), at in small()) {
        prop_assume!(p != q);
        let (distance, nearest) = Segment(p, q).nearest(at).unwrap();
        prop_assert!(Segment(p, q).contains(nearest).unwrap());
        for step in 0..=100 {
            let part = f64::from(step) / 100.0;
            let other = Point::new(p.x + part * (q.x - p.x), p.y + part * (q.y - p.y));
            prop_assert!(distance <= other.distance(at).unwrap() + 1e-9);
        }
    }

    // Multiplying and dividing by a point are each other's inverse.
    #[test]
    fn what_is_turned_turns_back(p in small(), by in small()) {
        prop_assume!(by != Point::new(0.0, 0.0));
        prop_assert!(p.times(by).unwrap().over(by).unwrap().is_at(p));
    }
}

/// One value may not take all memory there is.
#[test]
fn a_figure_that_is_put_together_has_so_many_points_at_most() {
    let unit = Circle {
        center: Point::new(0.0, 0.0),
        radius: 1.0,
    };
    let most = 1 << 22;
    let polygon = unit.polygon(most).unwrap();
    assert_eq!(polygon.points().len(), most as usize);
    let refused = unit.polygon(most + 1).unwrap_err();
    assert_eq!(refused.state, SqlState::PROGRAM_LIMIT_EXCEEDED);
    let half = Path::new(polygon.points().to_vec(), false);
    let refused = half.joined(&half).unwrap_err();
    assert_eq!(refused.state, SqlState::PROGRAM_LIMIT_EXCEEDED);
}
