//! Words, queries and headlines as PostgreSQL 15 answered; properties of random ones; texts that are meant to take long.

use crate::dictionary::{CONFIGS, Config, ENGLISH, Meaning, SIMPLE};
use crate::headline::{Options, headline};
use crate::make::{self, Style};
use crate::query::Query;
use crate::rank::{self, WEIGHTS};
use crate::run::matches;
use crate::token::{Kind, Tokens};
use crate::vector::Vector;
use proptest::prelude::*;

fn tokens(text: &str) -> String {
    let shown = Tokens::new(text).map(|token| format!("{}:{}", token.kind.number(), token.text));
    shown.collect::<Vec<_>>().join("|")
}

fn vector(text: &str) -> Vector {
    Vector::parse(text).unwrap()
}

fn query(text: &str) -> Query {
    make::plain_query(text).unwrap().query
}

fn never() -> std::result::Result<(), ()> {
    Ok(())
}

#[test]
fn tokens_are_those_of_postgresql() {
    let known = [
        ("abc.com1/x", "19:abc.com1/x"),
        ("foo-bar-12", "16:foo-bar|11:foo|12:-|11:bar|12:-|22:12"),
        ("foo-12-bar", "1:foo|21:-12|12:-|1:bar"),
        ("a@b.com/path x", "4:a@b.com|19:/path|12: |1:x"),
        ("x.org:80/a?b=1", "5:x.org:80/a?b=1|6:x.org:80|18:/a?b=1"),
        ("a.b.cc a.b.c", "6:a.b.cc|12: |19:a.b.c"),
        ("<a,b> <b>", "12:<|1:a|12:,|1:b|12:> |13:<b>"),
        (
            "<script>a b</script>c",
            "13:<script>|12:a b|13:</script>|1:c",
        ),
        ("&amp; &#xaf; &a", "23:&amp;|12: |23:&#xaf;|12: |12:&|1:a"),
        ("-3.4.5 -3.4 1e5", "12:-|8:3.4.5|12: |20:-3.4|12: |7:1e5"),
        ("../x a/..", "12: ..|19:/x|12: |19:a/.."),
        (
            "a1-b2 а-б",
            "15:a1-b2|9:a1|12:-|9:b2|12: |17:а-б|10:а|12:-|10:б",
        ),
    ];
    for (text, shown) in known {
        match text {
            // At the beginning of a text two dots are a path.
            "../x a/.." => assert_eq!(tokens(&format!("z {text}")), format!("1:z|{shown}")),
            text => assert_eq!(tokens(text), shown, "{text}"),
        }
    }
}

#[test]
fn words_have_stems_and_some_mean_nothing() {
    let of = |config: Config, word: &str| config.looked_up(word);
    let word = |text: &str| Meaning::Word(text.to_string());
    assert_eq!(of(ENGLISH, "Running"), word("run"));
    assert_eq!(of(ENGLISH, "the"), Meaning::Stop);
    assert_eq!(of(SIMPLE, "The"), word("the"));
    let german = Config::by_name("german").unwrap();
    assert_eq!(of(german, "Häuser"), word("haus"));
    let russian = Config::by_name("russian").unwrap();
    assert_eq!(russian.meaning(Kind::AsciiWord, "dogs"), word("dog"));
    for config in CONFIGS {
        assert_eq!(Config::by_number(config.number).unwrap().name, config.name);
    }
}

#[test]
fn queries_are_made_of_texts() {
    let made = |config, style, text| make::query(config, style, text).unwrap().query.to_string();
    let web = |text| made(SIMPLE, Style::Web, text);
    assert_eq!(
        web("(foo bar) or (ding dong)"),
        "'foo' & 'bar' | 'ding' & 'dong'"
    );
    assert_eq!(web("-\"a b\" x or"), "!( 'a' <-> 'b' ) & 'x' & 'or'");
    let english = |style, text| made(ENGLISH, style, text);
    assert_eq!(
        english(Style::Phrase, "The cat of the dogs"),
        "'cat' <3> 'dog'"
    );
    assert_eq!(
        english(Style::Operators, "cats:*A & !(the | dogs)"),
        "'cat':*A & !'dog'"
    );
    assert_eq!(
        english(Style::Plain, "foo-bar"),
        "'foo-bar' & 'foo' & 'bar'"
    );
}

#[test]
fn phrases_count_places() {
    let holds = |text: &str, asked: &str| matches(&vector(text), &query(asked));
    assert!(holds("a:1 b:2 c:3", "a <-> b <-> c"));
    assert!(holds("a:1 b:2 c:3", "a <-> (b <-> c)"));
    assert!(!holds("a:1 b:3", "a <-> b"));
    assert!(holds("a:1 b:3", "a <2> b & !(a <-> b)"));
    assert!(holds("a:1 b:2", "!x <-> b"));
    assert!(!holds("a:1 b:2", "!a <-> b"));
    assert!(!holds("a b", "a <-> b"));
    assert!(holds("ab:1 ac:3", "a:* <2> ac"));
    assert!(holds("a:1A", "a:AB") && !holds("a:1", "a:AB") && holds("a", "a:AB"));
}

#[test]
fn ranks_and_headlines_are_those_of_postgresql() {
    let text = "The quick brown fox jumped over the lazy dogs and the fox ran";
    let vector = make::vector(ENGLISH, text).unwrap();
    let query = make::query(ENGLISH, Style::Operators, "fox & dog")
        .unwrap()
        .query;
    let rank = rank::rank(WEIGHTS, &vector, &query, 0, &mut never).unwrap();
    let covers = rank::rank_by_covers(WEIGHTS, &vector, &query, 0, &mut never).unwrap();
    assert_eq!(
        (rank.to_string(), covers.to_string()),
        RANKS.map(str::to_string).into()
    );
    let options = Options::parse("MaxWords=5, MinWords=2, StartSel=[, StopSel=]").unwrap();
    let shown = headline(ENGLISH, text, &query, &options, &mut never).unwrap();
    assert_eq!(shown, HEADLINE);
}

const RANKS: [&str; 2] = ["0.17994115", "0.053333335"];
const HEADLINE: &str = "[dogs] and the [fox]";

/// Each of these would take a very long time if what fails were tried again at each place, or an end to the stack.
#[test]
fn hostile_texts_and_queries_take_no_longer_than_others() {
    let many = 50_000;
    let pieces = [
        "a_", "a.", "a-", "/.", "<!--", "<a ", "&a", "a@", "a@b_", "1.", "1e", "<a \"", " ", "~/",
        "../", "a-1", ".a", "\u{301}", "x:", "a_b@", "://",
    ];
    for piece in pieces {
        let text = piece.repeat(many);
        let count: usize = Tokens::new(&text).map(|token| token.text.len()).sum();
        assert!(count >= text.len(), "{piece}");
    }
    let deep = format!("{}a{}", "(".repeat(many), ")".repeat(many));
    assert_eq!(query(&deep).to_string(), "'a'");
    let not = query(&format!("{}a", "!".repeat(many)));
    assert!(matches(&vector("a"), &not));
    let right = query(&format!(
        "{}a",
        "a <-> (".repeat(many) + "a" + &")".repeat(many) + " | "
    ));
    assert!(matches(&vector("a:1"), &right));
    assert_eq!(Query::from_bytes(&right.to_bytes()).unwrap(), right);
    assert_eq!(Query::receive(&right.send()).unwrap(), right);
    assert!(right.to_string().len() > many);
    assert!(right.indexable().is_some());
    make::query(ENGLISH, Style::Web, &"or -\" a ".repeat(many)).unwrap();
    assert!(make::plain_query(&"(".repeat(many)).is_err());
}

fn a_query() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["a", "b:*", "'c d'", "e:AB", "'it''s'", "é:C*"]);
    word.prop_map(str::to_string)
        .prop_recursive(5, 40, 2, |inner| {
            let op = prop::sample::select(vec![" & ", " | ", " <-> ", " <7> "]);
            prop_oneof![
                inner.clone().prop_map(|one| format!("!({one})")),
                (inner.clone(), op, inner).prop_map(|(l, op, r)| format!("({l}){op}({r})")),
            ]
        })
}

proptest! {
    #[test]
    fn tokens_cover_the_text(text in "[a-c1-3éж <>&/.:@_#=\"'!~+-]{0,40}") {
        // What is whole comes again in parts.
        let whole = [Kind::Url, Kind::NumHyphenated, Kind::AsciiHyphenated, Kind::Hyphenated];
        let parts = Tokens::new(&text).filter(|token| !whole.contains(&token.kind));
        prop_assert_eq!(parts.map(|token| token.text).collect::<String>(), text);
    }

    #[test]
    fn nothing_panics(text in "\\PC{0,60}") {
        let _ = Vector::parse(&text);
        let _ = Options::parse(&text);
        let vector = make::vector(ENGLISH, &text).unwrap();
        for style in [Style::Operators, Style::Plain, Style::Phrase, Style::Web] {
            if let Ok(read) = make::query(ENGLISH, style, &text) {
                matches(&vector, &read.query);
                let _ = rank::rank_by_covers(WEIGHTS, &vector, &read.query, 0, &mut never);
                let _ = headline(ENGLISH, &text, &read.query, &Options::default(), &mut never);
            }
        }
        let _ = Vector::receive(text.as_bytes());
        let _ = Query::receive(text.as_bytes());
    }

    #[test]
    fn vectors_read_back(text in "([a-c']{1,3}(:[1-9]{1,2}[A-D]?(,[1-9]{1,2})?)? ){0,6}") {
        if let Ok(vector) = Vector::parse(&text) {
            prop_assert_eq!(&Vector::parse(&vector.to_string()).unwrap(), &vector);
            prop_assert_eq!(&Vector::from_bytes(&vector.to_bytes()).unwrap(), &vector);
            prop_assert_eq!(&Vector::receive(&vector.send()).unwrap(), &vector);
        }
    }

    #[test]
    fn queries_read_back(text in a_query()) {
        let query = query(&text);
        prop_assert_eq!(&Query::from_bytes(&query.to_bytes()).unwrap(), &query);
        prop_assert_eq!(&Query::receive(&query.send()).unwrap(), &query);
        // `a | (b | c)` prints without parentheses, and so do others that mean the same.
        let again = self::query(&query.to_string());
        prop_assert_eq!(again.to_string(), query.to_string());
    }
}
