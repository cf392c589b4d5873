//! What evaluation does beyond single calls: what is reached, what is asked of the session.
#![allow(clippy::unwrap_used)] // also in the functions that tests share

use quintet_base::text_format::FormatContext;
use quintet_base::value::Array;
use quintet_base::{SequenceId, SqlResult, SqlType, TypeMod, Value};
use quintet_ir::cast::cast;
use quintet_ir::function::resolve;
use quintet_ir::{CompareOp, DetachedHost, Expr, Host, eval, eval_predicate};
use std::cell::RefCell;

/// A session that remembers what was asked of it.
#[derive(Default)]
struct Session {
    format: FormatContext,
    asked: RefCell<Vec<String>>,
}

impl Session {
    fn note(&self, what: String) {
        self.asked.borrow_mut().push(what);
    }
}

impl Host for Session {
    fn transaction_time(&self) -> i64 {
        86_400_000_000
    }
    fn statement_time(&self) -> i64 {
        2
    }
    fn clock_time(&self) -> i64 {
        3
    }
    fn format(&self) -> &FormatContext {
        &self.format
    }
    fn setting(&self, name: &str) -> Option<String> {
        (name == "search_path").then(|| "public".to_string())
    }
    fn user(&self) -> &str {
        "ada"
    }
    fn database(&self) -> &str {
        "bank"
    }
    fn schema(&self) -> &str {
        "public"
    }
    fn random(&self) -> u64 {
        u64::MAX
    }
    fn nextval(&self, sequence: SequenceId) -> SqlResult<i64> {
        self.note(format!("nextval {sequence}"));
        Ok(41)
    }
    fn currval(&self, sequence: SequenceId) -> SqlResult<i64> {
        self.note(format!("currval {sequence}"));
        Ok(40)
    }
    fn lastval(&self) -> SqlResult<i64> {
        self.note("lastval".to_string());
        Ok(40)
    }
    fn setval(&self, sequence: SequenceId, value: i64, is_called: bool) -> SqlResult<i64> {
        self.note(format!("setval {sequence} {value} {is_called}"));
        Ok(value)
    }
    fn process_id(&self) -> i32 {
        77
    }
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    let types: Vec<_> = args.iter().map(Expr::ty).collect();
    let resolved = resolve(name, &types).unwrap();
    Expr::Call {
        function: resolved.function,
        args,
        ty: resolved.result,
    }
}

fn int(value: i32) -> Expr {
    Expr::Const(Value::Int4(value), SqlType::Int4)
}

fn text(value: &str) -> Expr {
    Expr::Const(Value::text(value), SqlType::Text)
}

fn bool(value: bool) -> Expr {
    Expr::Const(Value::Bool(value), SqlType::Bool)
}

fn division_by_zero() -> Expr {
    call("/", vec![int(1), int(0)])
}

fn run(expr: &Expr) -> Result<Value, String> {
    eval(expr, &[], &[], &Session::default()).map_err(|error| error.state.to_string())
}

#[test]
fn what_is_not_reached_does_not_fail() {
    let fails = Expr::IsNull {
        input: Box::new(division_by_zero()),
        negated: false,
    };
    assert_eq!(
        run(&Expr::And(vec![bool(false), fails.clone()])),
        Ok(Value::Bool(false))
    );
    assert_eq!(
        run(&Expr::Or(vec![bool(true), fails.clone()])),
        Ok(Value::Bool(true))
    );
    assert_eq!(
        run(&Expr::And(vec![bool(true), fails.clone()])),
        Err("22012".into())
    );
    let null = Expr::null(SqlType::Bool);
    assert_eq!(
        run(&Expr::And(vec![null, fails.clone()])),
        Err("22012".into())
    );
    let coalesce = Expr::Coalesce {
        args: vec![Expr::null(SqlType::Int4), int(5), division_by_zero()],
        ty: SqlType::Int4,
    };
    assert_eq!(run(&coalesce), Ok(Value::Int4(5)));
    let case = Expr::Case {
        branches: vec![(bool(false), division_by_zero()), (bool(true), int(6))],
        otherwise: Some(Box::new(division_by_zero())),
        ty: SqlType::Int4,
    };
    assert_eq!(run(&case), Ok(Value::Int4(6)));
}

#[test]
fn a_strict_function_fails_in_a_later_argument_even_after_a_null() {
    let sum = call("+", vec![Expr::null(SqlType::Int4), division_by_zero()]);
    assert_eq!(run(&sum), Err("22012".into()));
}

#[test]
fn a_call_with_many_arguments_sees_them_all() {
    let args = ["a", "b", "c", "d", "e", "f"].map(text).into();
    assert_eq!(run(&call("concat", args)), Ok(Value::text("abcdef")));
}

#[test]
fn a_predicate_holds_only_if_true() {
    let equals = |right: Expr| Expr::Compare {
        op: CompareOp::Eq,
        left: Box::new(Expr::Column(0, SqlType::Int4)),
        right: Box::new(right),
    };
    let holds = |expr: &Expr| {
        let params = [Value::Int4(7), Value::Null];
        eval_predicate(expr, &[Value::Int4(7)], &params, &Session::default())
    };
    assert_eq!(holds(&equals(Expr::Param(0, SqlType::Int4))), Ok(true));
    assert_eq!(holds(&equals(Expr::Param(1, SqlType::Int4))), Ok(false));
    assert_eq!(holds(&equals(int(8))), Ok(false));
    let missing = holds(&equals(Expr::Param(2, SqlType::Int4))).unwrap_err();
    assert_eq!(missing.state.as_str(), "42P02");
    assert_eq!(missing.message, "there is no parameter $3");
}

#[test]
fn the_session_answers_what_only_it_knows() {
    let ask = |name: &str, args: Vec<Expr>| run(&call(name, args));
    assert_eq!(ask("now", vec![]), Ok(Value::TimestampTz(86_400_000_000)));
    assert_eq!(
        ask("statement_timestamp", vec![]),
        Ok(Value::TimestampTz(2))
    );
    assert_eq!(ask("clock_timestamp", vec![]), Ok(Value::TimestampTz(3)));
    assert_eq!(ask("current_date", vec![]), Ok(Value::Date(1)));
    assert_eq!(ask("current_user", vec![]), Ok(Value::text("ada")));
    assert_eq!(ask("current_database", vec![]), Ok(Value::text("bank")));
    assert_eq!(ask("current_schema", vec![]), Ok(Value::text("public")));
    assert_eq!(ask("pg_backend_pid", vec![]), Ok(Value::Int4(77)));
    assert_eq!(
        ask("current_setting", vec![text("search_path")]),
        Ok(Value::text("public"))
    );
    assert_eq!(
        ask("current_setting", vec![text("nope")]),
        Err("42704".into())
    );
    assert_eq!(
        ask("current_setting", vec![text("nope"), bool(true)]),
        Ok(Value::Null)
    );
    let schemas = ask("current_schemas", vec![bool(true)]).unwrap();
    let position = call(
        "array_position",
        vec![
            Expr::Const(schemas, SqlType::NameArray),
            Expr::Const(Value::text("public"), SqlType::Name),
        ],
    );
    assert_eq!(run(&position), Ok(Value::Int4(2)));
    let Ok(Value::Float8(random)) = ask("random", vec![]) else {
        panic!("random() is a float");
    };
    assert!((0.0..1.0).contains(&random), "{random}");
    let Ok(Value::Uuid(uuid)) = ask("gen_random_uuid", vec![]) else {
        panic!("a uuid");
    };
    assert_eq!((uuid[6], uuid[8]), (0x4f, 0xbf), "version 4, variant 1");
    let Ok(Value::Text(version)) = ask("version", vec![]) else {
        panic!("a text");
    };
    assert!(
        version.starts_with("PostgreSQL 15.0 (Quintet "),
        "{version}"
    );
}

#[test]
fn sequences_are_asked_once_and_not_with_null() {
    let session = Session::default();
    let run = |expr: Expr| eval(&expr, &[], &[], &session).unwrap();
    let sequence = SequenceId(9);
    let set = |value: Expr| Expr::SetVal {
        sequence,
        value: Box::new(value),
        is_called: Box::new(bool(false)),
    };
    assert_eq!(run(Expr::NextVal(sequence)), Value::Int8(41));
    assert_eq!(run(Expr::CurrVal(sequence)), Value::Int8(40));
    assert_eq!(
        run(set(Expr::Const(Value::Int8(5), SqlType::Int8))),
        Value::Int8(5)
    );
    assert_eq!(run(set(Expr::null(SqlType::Int8))), Value::Null);
    assert_eq!(
        *session.asked.borrow(),
        ["nextval 9", "currval 9", "setval 9 5 false"]
    );
}

#[test]
fn clock_words_become_moments_of_the_transaction() {
    let session = Session::default();
    let check = |text: &str, to: SqlType, expected: Value| {
        let got = cast(
            Value::text(text),
            SqlType::Unknown,
            to,
            TypeMod::NONE,
            true,
            &session,
        );
        assert_eq!(got, Ok(expected), "{text} as {to}");
    };
    check("today", SqlType::Date, Value::Date(1));
    check("Tomorrow", SqlType::Date, Value::Date(2));
    check(
        "now",
        SqlType::TimestampTz,
        Value::TimestampTz(86_400_000_000),
    );
    check("yesterday", SqlType::Timestamp, Value::Timestamp(0));
}

#[test]
fn an_assignment_refuses_what_a_written_cast_cuts() {
    let host = DetachedHost::default();
    let to_varchar = |text: &str, explicit: bool| {
        let (from, to) = (SqlType::Text, SqlType::Varchar);
        cast(
            Value::text(text),
            from,
            to,
            TypeMod::length(2),
            explicit,
            &host,
        )
        .map_err(|error| format!("{} {}", error.state, error.message))
    };
    assert_eq!(to_varchar("abc", true), Ok(Value::text("ab")));
    assert_eq!(
        to_varchar("abc", false),
        Err("22001 value too long for type character varying(2)".to_string())
    );
    assert_eq!(to_varchar("ab ", false), Ok(Value::text("ab")));
}

#[test]
fn refusals_say_what_to_do() {
    let refusal = |name: &str, args: &[SqlType]| {
        let error = resolve(name, args).unwrap_err();
        (
            error.state.to_string(),
            error.hint.clone().unwrap().to_string(),
        )
    };
    let hint = |state: &str, hint: &str| (state.to_string(), hint.to_string());
    use SqlType::{Bool, Int4, Text, Unknown};
    assert_eq!(
        refusal("+", &[Int4, Text]),
        hint(
            "42883",
            "No operator matches the given name and argument types. You might need to add explicit type casts."
        )
    );
    assert_eq!(
        refusal("-", &[Text]),
        hint(
            "42883",
            "No operator matches the given name and argument type. You might need to add an explicit type cast."
        )
    );
    assert_eq!(
        refusal("foo", &[Bool]),
        hint(
            "42883",
            "No function matches the given name and argument types. You might need to add explicit type casts."
        )
    );
    assert_eq!(
        refusal("+", &[Unknown, Unknown]),
        hint(
            "42725",
            "Could not choose a best candidate operator. You might need to add explicit type casts."
        )
    );
}

/// Goal: a loop that appends to what it has ends with an error, and not with the machine's memory.
#[test]
fn what_is_put_together_has_a_bound() {
    let text = |bytes| Expr::Const(Value::text("x".repeat(bytes)), SqlType::Text);
    let bytes = |bytes| Expr::Const(Value::Bytea(vec![0; bytes].into()), SqlType::Bytea);
    let ints = |count| {
        let values = vec![Value::Int4(1); count];
        let element = SqlType::Int4;
        Expr::Const(
            Value::Array(Box::new(Array {
                shape: None,
                element,
                values,
            })),
            SqlType::Int4Array,
        )
    };
    let (half, more) = (32 << 20, (32 << 20) + 1);
    let (some, rest) = (2_000_000, 2_000_001);
    for (name, fits, too_much) in [
        (
            "||",
            vec![text(half), text(half)],
            vec![text(half), text(more)],
        ),
        (
            "||",
            vec![bytes(half), bytes(half)],
            vec![bytes(half), bytes(more)],
        ),
        (
            "concat",
            vec![text(half), text(half)],
            vec![text(half), text(more)],
        ),
        (
            "concat_ws",
            vec![text(0), text(half), text(half)],
            vec![text(1), text(half), text(half)],
        ),
        (
            "||",
            vec![ints(some), ints(some)],
            vec![ints(some), ints(rest)],
        ),
    ] {
        assert!(run(&call(name, fits)).is_ok(), "{name}");
        let error = run(&call(name, too_much)).unwrap_err();
        assert!(error.contains("54000"), "{name}: {error}");
    }
}
