//! Sets of ranges against the sets of points that they are.

use super::*;
use crate::error::SqlState;
use crate::range::tests::{KINDS, all as all_ranges, set_of};
use crate::text_format::FormatContext;

/// Sets of at most two ranges, of a part of all ranges.
fn some(kind: RangeKind) -> Vec<Multirange> {
    let ranges: Vec<Range> = all_ranges(kind).into_iter().step_by(3).collect();
    let mut sets = Vec::new();
    for a in &ranges {
        for b in &ranges {
            let set = Multirange::new(kind, vec![a.clone(), b.clone()]);
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
    }
    sets
}

#[test]
fn what_operators_say_is_so_of_the_points() {
    for kind in KINDS {
        let sets = some(kind);
        for a in &sets {
            let of = |set: &Multirange| set_of(kind, |point| set.has(point));
            let set_a = of(a);
            let hull = set_of(kind, |point| a.hull().has(point));
            assert_eq!(hull & set_a, set_a);
            for b in &sets {
                let set_b = of(b);
                let both = format!("{a:?} and {b:?}");
                assert_eq!(a == b, set_a == set_b, "{both}");
                assert_eq!(a.order(b).is_eq(), a == b, "{both}");
                assert_eq!(a.contains(b), set_a & set_b == set_b, "{both}");
                assert_eq!(a.overlaps(b), set_a & set_b != 0, "{both}");
                assert_eq!(of(&a.union(b)), set_a | set_b, "{both}");
                assert_eq!(of(&a.intersection(b)), set_a & set_b, "{both}");
                assert_eq!(of(&a.difference(b)), set_a & !set_b, "{both}");
            }
        }
    }
}

#[test]
fn texts_are_read_and_written() {
    let read_as = |literal: &str| read(RangeKind::Int4, literal, &FormatContext::default());
    for (literal, shown) in [
        ("{}", "{}"),
        (" { } ", "{}"),
        ("{[5,7),[1,3)}", "{[1,3),[5,7)}"),
        ("{[1,3], empty ,[4,6]}", "{[1,7)}"),
        ("{(\"1\",3)}", "{[2,3)}"),
        ("{(,1),(\"5\",)}", "{(,1),[6,)}"),
    ] {
        let mut out = Vec::new();
        let set = read_as(literal).unwrap();
        write(&set, &FormatContext::default(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), shown, "{literal}");
    }
    for (literal, detail) in [
        ("[1,2)", "Missing left brace."),
        ("{[1,2)", "Unexpected end of input."),
        ("{[1,2", "Unexpected end of input."),
        ("{1}", "Expected range start."),
        ("{[1,2),}", "Expected range start."),
        ("{else}", "Expected range start."),
        ("{[1,2) [3,4)}", "Expected comma or end of multirange."),
        ("{} x", "Junk after closing right brace."),
    ] {
        let error = read_as(literal).unwrap_err();
        assert_eq!(error.state, SqlState::INVALID_TEXT_REPRESENTATION);
        assert_eq!(error.detail.as_deref(), Some(detail), "{literal}");
    }
}
