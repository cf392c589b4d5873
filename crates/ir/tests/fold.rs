//! Folding, against evaluation as the reference.
#![allow(clippy::unwrap_used)] // also in the functions that tests share

use proptest::prelude::*;
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::expr::Truth;
use quintet_ir::function::resolve;
use quintet_ir::{CompareOp, DetachedHost, Expr, eval, fold};

/// Grows an expression from a tape of choices; a tape at its end chooses leaves, so that shorter
/// tapes are smaller expressions.
struct Grower<'a> {
    tape: std::slice::Iter<'a, u8>,
    depth: usize,
}

impl Grower<'_> {
    fn choose(&mut self, options: u8) -> u8 {
        self.tape.next().map_or(0, |choice| choice % options)
    }

    fn nested<T>(&mut self, grow: impl Fn(&mut Self) -> T) -> T {
        self.depth += 1;
        let grown = grow(self);
        self.depth -= 1;
        grown
    }

    fn several(&mut self, grow: impl Fn(&mut Self) -> Expr) -> Vec<Expr> {
        let count = 2 + self.choose(2);
        (0..count).map(|_| self.nested(&grow)).collect()
    }

    fn op(&mut self) -> CompareOp {
        [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Ge][usize::from(self.choose(4))]
    }

    fn int(&mut self) -> Expr {
        let nodes = if self.depth > 6 { 6 } else { 13 };
        let call = |name: &str, args: Vec<Expr>| {
            let types: Vec<_> = args.iter().map(Expr::ty).collect();
            let resolved = resolve(name, &types).unwrap();
            Expr::Call {
                function: resolved.function,
                args,
                ty: resolved.result,
            }
        };
        let constant = |v: i32| Expr::Const(Value::Int4(v), SqlType::Int4);
        match self.choose(nodes) {
            0 => constant(1),
            1 => constant(0),
            2 => constant(i32::MAX),
            3 => Expr::null(SqlType::Int4),
            4 => Expr::Column(0, SqlType::Int4),
            5 => Expr::Param(0, SqlType::Int4),
            6..=8 => {
                let name = ["+", "-", "/", "*"][usize::from(self.choose(4))];
                call(name, vec![self.nested(Self::int), self.nested(Self::int)])
            }
            9 => call("abs", vec![self.nested(Self::int)]),
            10 => Expr::Coalesce {
                args: self.several(Self::int),
                ty: SqlType::Int4,
            },
            11 => Expr::Extreme {
                greatest: self.choose(2) == 0,
                args: self.several(Self::int),
                ty: SqlType::Int4,
            },
            _ => Expr::Case {
                branches: (0..=self.choose(3))
                    .map(|_| (self.nested(Self::bool), self.nested(Self::int)))
                    .collect(),
                otherwise: (self.choose(2) == 0).then(|| Box::new(self.nested(Self::int))),
                ty: SqlType::Int4,
            },
        }
    }

    fn text(&mut self) -> Expr {
        Expr::Cast {
            input: Box::new(self.nested(Self::int)),
            to: SqlType::Varchar,
            modifier: TypeMod::length(2),
            explicit: self.choose(2) == 0,
        }
    }

    fn bool(&mut self) -> Expr {
        let nodes = if self.depth > 6 { 4 } else { 13 };
        let boxed = |expr: Expr| Box::new(expr);
        match self.choose(nodes) {
            0 => Expr::Const(Value::Bool(true), SqlType::Bool),
            1 => Expr::Const(Value::Bool(false), SqlType::Bool),
            2 => Expr::null(SqlType::Bool),
            3 => Expr::Column(1, SqlType::Bool),
            4 => Expr::Compare {
                op: self.op(),
                left: boxed(self.nested(Self::int)),
                right: boxed(self.nested(Self::int)),
            },
            5 => Expr::Compare {
                op: self.op(),
                left: boxed(self.text()),
                right: boxed(self.text()),
            },
            6 => Expr::And(self.several(Self::bool)),
            7 => Expr::Or(self.several(Self::bool)),
            8 => Expr::Not(boxed(self.nested(Self::bool))),
            9 => Expr::IsNull {
                input: boxed(self.nested(Self::int)),
                negated: self.choose(2) == 0,
            },
            10 => Expr::IsTruth {
                input: boxed(self.nested(Self::bool)),
                truth: [Truth::True, Truth::False, Truth::Unknown][usize::from(self.choose(3))],
                negated: self.choose(2) == 0,
            },
            11 => Expr::InList {
                input: boxed(self.nested(Self::int)),
                list: self.several(Self::int),
                negated: self.choose(2) == 0,
            },
            _ => Expr::Quantified {
                input: boxed(self.nested(Self::int)),
                op: self.op(),
                array: boxed(Expr::Array {
                    elements: self.several(Self::int),
                    element: SqlType::Int4,
                }),
                all: self.choose(2) == 0,
            },
        }
    }
}

fn any_int() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        (-3..100i32).prop_map(Value::Int4),
        Just(Value::Int4(i32::MIN)),
    ]
}

fn any_bool() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::Bool)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Where the original gives a result, the folded expression gives the same one; where it fails,
    /// nothing is promised: FALSE AND an error is FALSE once folded, in any order.
    #[test]
    fn folding_never_changes_a_result(
        tape in proptest::collection::vec(any::<u8>(), 0..80),
        frame in (any_int(), any_bool()),
        param in any_int(),
    ) {
        let expr = Grower { tape: tape.iter(), depth: 0 }.bool();
        let folded = fold(expr.clone());
        let host = DetachedHost::default();
        let (frame, params) = ([frame.0, frame.1], [param]);
        let before = eval(&expr, &frame, &params, &host);
        let after = eval(&folded, &frame, &params, &host);
        prop_assert_eq!(folded.ty(), expr.ty());
        if let Ok(before) = before {
            prop_assert_eq!(Ok(before), after, "{:?} became {:?}", expr, folded);
        }
    }
}

fn constant(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Const(value, _) => Some(value.clone()),
        _ => None,
    }
}

fn cast_of(text: &str, to: SqlType) -> Expr {
    Expr::Cast {
        input: Box::new(Expr::Const(Value::text(text), SqlType::Text)),
        to,
        modifier: TypeMod::NONE,
        explicit: true,
    }
}

#[test]
fn what_depends_on_the_session_stays() {
    assert_eq!(
        constant(&fold(cast_of("2000-01-02", SqlType::Date))),
        Some(Value::Date(1))
    );
    for (text, ty) in [
        ("today", SqlType::Date),
        ("now", SqlType::Timestamp),
        ("2000-01-02", SqlType::TimestampTz),
    ] {
        assert_eq!(constant(&fold(cast_of(text, ty))), None, "{text} as {ty}");
    }
    for name in ["now", "random", "current_user", "gen_random_uuid"] {
        let resolved = resolve(name, &[]).unwrap();
        let call = Expr::Call {
            function: resolved.function,
            args: vec![],
            ty: resolved.result,
        };
        assert_eq!(constant(&fold(call)), None, "{name}()");
    }
}

#[test]
fn what_fails_stays_until_it_is_reached() {
    let folded = fold(cast_of("x", SqlType::Int4));
    assert!(constant(&folded).is_none());
    let case = Expr::Case {
        branches: vec![(Expr::Column(0, SqlType::Bool), folded)],
        otherwise: None,
        ty: SqlType::Int4,
    };
    let host = DetachedHost::default();
    let result = |value: bool| eval(&case, &[Value::Bool(value)], &[], &host);
    assert_eq!(result(false), Ok(Value::Null));
    assert_eq!(result(true).unwrap_err().state.as_str(), "22P02");
}
