//! Damaged texts, deep ones, and others at work while the parser is.
//!
//! A damaged text may be read or refused, but never for a bug's reason, and never with a panic.

use super::super::*;
use super::routine;
use proptest::prelude::*;
use quintet_base::SqlState;
use std::io::Write;

/// The text of the case of a script.
fn new_order() -> &'static str {
    let script = include_str!("new_order.txt");
    let text = script.split_once('\n').unwrap().1;
    text.split_once("\n----\n").unwrap().0
}

/// Words that change what a text means.
const WORDS: &[&str] = &[
    ";",
    "BEGIN",
    "END",
    "DECLARE",
    "IF",
    "THEN",
    "ELSE",
    "CASE",
    "WHEN",
    "LOOP",
    "FOR",
    "IN",
    "..",
    "INTO",
    "NULL",
    "NULL;",
    ":=",
    "=",
    "(",
    ")",
    "[",
    "]",
    ",",
    ".",
    "<<",
    ">>",
    "EXCEPTION",
    "RAISE",
    "USING",
    "RETURN",
    "PERFORM",
    "SELECT",
    "1",
    "i",
    "item",
    "total",
    "$1",
    "'x'",
    "\"",
    "'",
    "/*",
    "*/",
    "--",
    "\n",
    "#",
    "%",
    "%ROWTYPE",
    "%TYPE",
    "ALIAS FOR",
    "é",
    "$$",
    "int",
    "record",
    "EXECUTE",
    "CURSOR FOR",
    "REVERSE",
    "BY",
    "EXIT",
    "CONTINUE",
    "GET DIAGNOSTICS",
    "STRICT",
];

fn is_no_bug(text: &str) -> Result<(), TestCaseError> {
    // What is no CREATE any more is not ours.
    if let Ok(parsed) = crate::parse::parse(text)
        && let [one] = parsed.as_slice()
        && let Some(pg_query::NodeEnum::CreateFunctionStmt(statement)) = one.node()
        && let Err(error) = read(statement, one.source(), &|_| false)
    {
        prop_assert_ne!(
            error.state,
            SqlState::INTERNAL_ERROR,
            "{:?}\n{}",
            error,
            text
        );
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_damaged_body_is_read_or_refused(
        damage in proptest::collection::vec((any::<u16>(), 0_usize..4, 0..WORDS.len()), 1..4),
    ) {
        let text = new_order();
        let body = text.find("$$").unwrap() + 2;
        let tokens = crate::parse::scan(&text[body..text.len() - 2]).unwrap();
        let mut words: Vec<String> = Vec::new();
        let mut done = 0;
        for (start, end) in tokens {
            words.push(text[body + done..body + end].to_string());
            done = end.max(start);
        }
        for (place, kind, word) in damage {
            let at = usize::from(place) % words.len();
            match kind {
                0 => { words.remove(at); }
                1 => words.insert(at, format!(" {} ", WORDS[word])),
                2 => words[at] = format!(" {} ", WORDS[word]),
                _ => {
                    let other = words.len() - 1 - at;
                    words.swap(at, other);
                }
            }
        }
        is_no_bug(&format!("{}{} $$", &text[..body], words.concat()))?;
    }

    #[test]
    fn a_body_of_any_words_is_read_or_refused(
        words in proptest::collection::vec(0..WORDS.len(), 0..12),
    ) {
        let words: Vec<&str> = words.into_iter().map(|word| WORDS[word]).collect();
        let text = format!(
            "CREATE PROCEDURE p(i int) LANGUAGE plpgsql AS $_$ DECLARE x int; BEGIN {}; END $_$",
            words.join(" ")
        );
        is_no_bug(&text)?;
    }
}

#[test]
fn deep_nesting_is_refused() {
    for (open, close) in [
        ("BEGIN ", "END; "),
        ("IF true THEN ", "END IF; "),
        ("LOOP ", "END LOOP; "),
    ] {
        let body = |depth: usize| {
            let text = format!("{}{}", open.repeat(depth), close.repeat(depth));
            routine(&format!(
                "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN {text} END $$"
            ))
        };
        assert!(body(30).is_ok(), "{open}");
        for depth in [1_000, 100_000] {
            let state = body(depth).unwrap_err().state;
            assert!(
                matches!(state.as_str(), "54001" | "42601"),
                "{open} {state}"
            );
        }
    }
    let deep = format!("{}1{}", "(".repeat(50_000), ")".repeat(50_000));
    let text = format!("CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN PERFORM {deep}; END $$");
    let state = routine(&text).unwrap_err().state;
    assert!(matches!(state.as_str(), "54001" | "42601"), "{state}");
}

/// The parser takes standard error away from the process and takes what it finds there for an
/// error of its own, which it then frees although it is no memory of the heap. A thread that wrote
/// a line at the wrong moment ended the process.
#[test]
fn others_may_write_to_standard_error_meanwhile() {
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                std::io::stderr().write_all(b"\r").unwrap();
                std::thread::yield_now();
            }
        });
        for _ in 0..100 {
            routine(new_order()).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
