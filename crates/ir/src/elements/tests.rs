//! Elements and what asks for them, by hand and by pairs of values.

use super::*;

fn json(text: &str) -> Value {
    Value::Jsonb(Json::parse(text).unwrap().into())
}

fn ints(values: &[Option<i32>]) -> Value {
    let values = values.iter().map(|v| v.map_or(Value::Null, Value::Int4));
    Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Int4,
        values: values.collect(),
    }))
}

/// True unless the elements show that the condition is false.
fn may_hold(elements: Elements, test: Test, value: &Value, with: &Value) -> bool {
    let own = elements.of(value);
    match wanted(elements, test, with, 1.0) {
        Wanted::Anything => true,
        Wanted::Nothing => false,
        Wanted::All(wanted) => wanted.iter().all(|one| own.contains(one)),
        Wanted::Any(wanted) => wanted.iter().any(|one| own.contains(one)),
        Wanted::AtLeast(count, wanted) => {
            wanted.iter().filter(|one| own.contains(one)).count() >= count
        }
        Wanted::Tree(tree) => may_be(&tree, &own),
    }
}

fn may_be(tree: &Tree, own: &[Vec<u8>]) -> bool {
    match tree {
        Tree::Element(one) => own.contains(one),
        Tree::Prefix(begins) => {
            let begins = |own: &Vec<u8>| begins.iter().any(|begin| own.starts_with(begin));
            own.iter().any(begins)
        }
        Tree::All(parts) => parts.iter().all(|part| may_be(part, own)),
        Tree::Any(parts) => parts.iter().any(|part| may_be(part, own)),
    }
}

/// Whatever a query is true of has the words that it asks for, long ones and beginnings of such, too.
#[test]
fn what_a_query_is_true_of_is_found() {
    use quintet_base::lexemes::textsearch::{Vector, make, run};
    use quintet_base::lexemes::{query_value, vector_value};
    let long = "x".repeat(200);
    let texts = ["", "a", "b", "ab", "a:1 b:2", "a:1 c:2 ab:3", "c", &long];
    let deep = format!("{}a{}", "(b & (c | ".repeat(60), "))".repeat(60));
    let asked = [
        "a",
        "a & b",
        "a | c",
        "!a",
        "a <-> b",
        "a:* & !b",
        "!a | c",
        "(a | c) & (b | ab)",
        "!(a & b) & c",
        "x:*",
        &long,
        &deep,
        "a & !!b",
    ];
    for (text, asked) in texts.iter().flat_map(|t| asked.iter().map(move |a| (t, a))) {
        let vector = Vector::parse(text).unwrap();
        let query = make::plain_query(asked).unwrap().query;
        let holds = run::matches(&vector, &query);
        let (own, with) = (vector_value(&vector), query_value(&query));
        let may = may_hold(Elements::Words, Test::Matches, &own, &with);
        assert!(may || !holds, "{text} @@ {asked}");
    }
}

#[test]
fn equal_elements_are_one_and_numbers_have_no_scale() {
    assert_eq!(
        Elements::OfArray.of(&ints(&[Some(1), None, Some(1)])).len(),
        2
    );
    let kinds = [Elements::OfJson, Elements::PathsOfJson];
    for kind in kinds {
        assert_eq!(kind.of(&json("[1.0, 1, 1.00]")).len(), 1);
        assert_eq!(kind.of(&json("{\"a\": 1.0}")), kind.of(&json("{\"a\": 1}")));
    }
    assert_eq!(Elements::OfArray.of(&Value::Null).len(), 0);
    assert_eq!(Elements::OfArray.of(&ints(&[])).len(), 1);
}

/// Whatever contains a document has its elements: all pairs of documents that have been made to contain one another.
#[test]
fn what_is_contained_is_found() {
    let texts = [
        "1",
        "\"a\"",
        "null",
        "true",
        "[]",
        "{}",
        "[1]",
        "[\"a\"]",
        "[[1]]",
        "[[1, 2], \"a\"]",
        "{\"a\": 1}",
        "{\"a\": 1.0, \"b\": [1, \"a\"]}",
        "{\"a\": {\"b\": \"a\"}}",
        "{\"a\": \"a\"}",
        "[{\"a\": 1}, {\"a\": {\"b\": \"a\", \"c\": null}}]",
        "[{\"a\": {\"b\": \"a\"}}]",
    ];
    for (one, other) in texts.iter().flat_map(|t| texts.iter().map(move |o| (t, o))) {
        let (whole, part) = (json(one), json(other));
        let holds = Json::parse(one)
            .unwrap()
            .contains_document(&Json::parse(other).unwrap());
        for kind in [Elements::OfJson, Elements::PathsOfJson] {
            let may = may_hold(kind, Test::Contains, &whole, &part);
            assert!(may || !holds, "{one} @> {other}");
        }
    }
}

#[test]
fn nulls_and_nothing_in_arrays() {
    let array = Elements::OfArray;
    let holds = |test, own: &[Option<i32>], with: &[Option<i32>]| {
        may_hold(array, test, &ints(own), &ints(with))
    };
    assert!(!holds(Test::Contains, &[None], &[None]));
    assert!(holds(Test::Contains, &[None], &[]));
    assert!(holds(Test::IsContained, &[], &[Some(1)]));
    assert!(holds(Test::IsContained, &[], &[]));
    assert!(!holds(Test::Overlaps, &[None], &[None]));
    assert!(!holds(Test::Overlaps, &[Some(1)], &[]));
    assert!(holds(Test::Equals, &[None, Some(1)], &[Some(1), None]));
    assert!(holds(Test::Equals, &[], &[]));
    assert!(!holds(Test::Equals, &[Some(1)], &[]));
}

#[test]
fn long_elements_are_hashes() {
    let long = "x".repeat(5000);
    let own = Elements::OfJson.of(&json(&format!("{{\"{long}\": \"{long}\"}}")));
    assert_eq!(own.len(), 2);
    assert!(own.iter().all(|element| element.len() == 9));
    let wanted = wanted(Elements::OfJson, Test::HasKey, &Value::text(&long), 1.0);
    let Wanted::All(wanted) = wanted else {
        panic!("{wanted:?}");
    };
    assert!(own.contains(&wanted[0]));
}

/// Patterns that match a text, and texts that are like it, ask for trigrams that it has.
#[test]
fn a_text_has_the_trigrams_of_what_it_matches() {
    let texts = [
        "",
        "a",
        "ab",
        "abc",
        "abcd",
        "The Quick-Brown",
        "foo bar baz",
        "foo_bar",
        "\u{c9}cole d'\u{c9}t\u{e9}",
        "50% off",
        "a\nb cd",
        "\u{130}stanbul",
    ];
    let likes = [
        "%",
        "abc",
        "ABC",
        "abc%",
        "%bcd",
        "%quick%brown",
        "foo_bar",
        "foo\\_bar",
        "%\\%%",
        "%\u{e9}cole%",
        "%o b%",
        "a_c%",
    ];
    let patterns = [
        "abc",
        "^abc",
        "abc$",
        "^abc$",
        "(foo|quick).*b",
        "fo+.bar",
        "\\mbar\\M",
        "[fq]o+",
        "b\\s?cd",
        "a.?b",
        "off$",
        "quick",
        "(?i)QUICK",
        "\u{e9}t",
        "b(a|c)+",
    ];
    let host = crate::fold::DetachedHost::default();
    for text in texts {
        let value = Value::text(text);
        let asked = |test: Test, symbol: &str, with: &str| {
            let with = Value::text(with);
            let types = [SqlType::Text, SqlType::Text];
            let function = crate::function::resolve(symbol, &types).unwrap().function;
            let holds = (function.eval)(&[&value, &with], &host).unwrap() == Value::Bool(true);
            let may = may_hold(Elements::Trigrams, test, &value, &with);
            assert!(may || !holds, "{text:?} {symbol} {with:?}");
        };
        for like in likes {
            asked(Test::Like, "~~", like);
            asked(Test::LikeAnyCase, "~~*", like);
        }
        for pattern in patterns {
            asked(Test::Pattern, "~", pattern);
            asked(Test::PatternAnyCase, "~*", pattern);
        }
    }
}
