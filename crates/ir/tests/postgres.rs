//! Functions, operators, casts and forms against what PostgreSQL 15 answers.
//!
//! Method: each line of `postgres.txt` is one call with typed arguments and PostgreSQL's answer.
//! The call is built as a binder would build it (`resolve`, casts where types differ), evaluated,
//! and printed through the cast to text. It is folded first, too: both must give the same.
//! `DEVIATIONS` lists the answers that differ on purpose or for now, with what we answer.
#![allow(clippy::unwrap_used)] // helpers of tests

use quintet_base::types::format_type;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::cast::{cast, cast_context, common_type};
use quintet_ir::function::{compare_type, resolve};
use quintet_ir::{CompareOp, DetachedHost, Expr, eval, fold};

const TABLE: &str = include_str!("postgres.txt");

/// (the call, what we answer, why)
const DEVIATIONS: &[(&str, &str, &str)] = &[(
    "|| | ichar '5' | text 'x'",
    "text '5x'",
    "PostgreSQL has two operators for this and takes neither",
)];

/// An array type, or a type with its modifier: `varchar(2)`, `int4[]`, `ichar` for `"char"`.
fn parse_type(text: &str) -> (SqlType, TypeMod) {
    if let Some(element) = text.strip_suffix("[]") {
        let (element, modifier) = parse_type(element);
        return (element.array_of().expect("an array type"), modifier);
    }
    let (name, modifier) = match text.split_once('(') {
        Some((name, rest)) => {
            let numbers: Vec<u16> = rest
                .trim_end_matches(')')
                .split(',')
                .map(|n| n.parse().unwrap())
                .collect();
            let modifier = match (name, numbers.as_slice()) {
                ("numeric", [p]) => TypeMod::precision_scale(*p, 0),
                ("numeric", [p, s]) => TypeMod::precision_scale(*p, *s as i16),
                (_, [n]) => TypeMod::length(u32::from(*n)),
                _ => panic!("modifier of {text}"),
            };
            (name, modifier)
        }
        None => (text, TypeMod::NONE),
    };
    let ty = match name {
        "ichar" => SqlType::InternalChar,
        "char" => SqlType::Bpchar,
        name => SqlType::from_name(name).unwrap_or_else(|| panic!("type {name}")),
    };
    (ty, modifier)
}

fn converted(input: Expr, to: SqlType, modifier: TypeMod) -> SqlResult<Expr> {
    if input.ty() == to && modifier == TypeMod::NONE {
        return Ok(input);
    }
    if cast_context(input.ty(), to).is_none() {
        return Err(SqlError::new(
            SqlState::CANNOT_COERCE,
            format!(
                "cannot cast type {} to {}",
                input.ty(),
                format_type(to, TypeMod::NONE)
            ),
        ));
    }
    Ok(Expr::Cast {
        input: Box::new(input),
        to,
        modifier,
        explicit: true,
    })
}

/// `type 'text'` or `type NULL`, as the constant that such a literal is.
fn argument(text: &str, host: &DetachedHost) -> SqlResult<Expr> {
    let (ty, literal) = text.split_once(" '").map_or_else(
        || (text.strip_suffix(" NULL").expect("NULL"), None),
        |(ty, rest)| (ty, Some(rest.strip_suffix('\'').expect("closed"))),
    );
    let (ty, modifier) = parse_type(ty);
    let value = match literal {
        None => Value::Null,
        Some(literal) => cast(
            Value::text(literal),
            SqlType::Unknown,
            ty,
            modifier,
            true,
            host,
        )?,
    };
    Ok(Expr::Const(value, ty))
}

fn all_to(args: Vec<Expr>, ty: SqlType) -> SqlResult<Vec<Expr>> {
    args.into_iter()
        .map(|arg| converted(arg, ty, TypeMod::NONE))
        .collect()
}

fn compare_op(symbol: &str) -> Option<CompareOp> {
    Some(match symbol {
        "=" => CompareOp::Eq,
        "<>" => CompareOp::Ne,
        "<" => CompareOp::Lt,
        "<=" => CompareOp::Le,
        ">" => CompareOp::Gt,
        ">=" => CompareOp::Ge,
        _ => return None,
    })
}

fn two(args: Vec<Expr>, ty: SqlType) -> SqlResult<(Box<Expr>, Box<Expr>)> {
    let mut args = all_to(args, ty)?.into_iter().map(Box::new);
    Ok((args.next().unwrap(), args.next().unwrap()))
}

/// Builds the expression that a binder would build for the call.
fn bind(name: &str, args: Vec<Expr>) -> SqlResult<Expr> {
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    if let Some(to) = name.strip_prefix("cast:") {
        let (to, modifier) = parse_type(to);
        return converted(args.into_iter().next().unwrap(), to, modifier);
    }
    if let Some(op) = compare_op(name) {
        let (left, right) = two(args, compare_type(op, types[0], types[1])?)?;
        return Ok(Expr::Compare { op, left, right });
    }
    Ok(match name {
        "and" => Expr::And(args),
        "or" => Expr::Or(args),
        "not" => Expr::Not(Box::new(args.into_iter().next().unwrap())),
        "distinct" => {
            let (left, right) = two(args, common_type(&types, "IS DISTINCT FROM")?)?;
            Expr::Distinct {
                left,
                right,
                negated: false,
            }
        }
        "coalesce" => {
            let ty = common_type(&types, "COALESCE")?;
            let args = all_to(args, ty)?;
            Expr::Coalesce { args, ty }
        }
        "greatest" | "least" => {
            let ty = common_type(&types, &name.to_uppercase())?;
            let args = all_to(args, ty)?;
            Expr::Extreme {
                greatest: name == "greatest",
                args,
                ty,
            }
        }
        "array" => {
            let element = common_type(&types, "ARRAY")?;
            let elements = all_to(args, element)?;
            Expr::Array { elements, element }
        }
        "in" | "not in" => {
            let mut args = all_to(args, common_type(&types, "IN")?)?;
            let input = Box::new(args.remove(0));
            Expr::InList {
                input,
                list: args,
                negated: name == "not in",
            }
        }
        _ if name.starts_with("any") || name.starts_with("all") => {
            let mut args = args.into_iter().map(Box::new);
            Expr::Quantified {
                input: args.next().unwrap(),
                op: compare_op(&name[3..]).unwrap(),
                array: args.next().unwrap(),
                all: name.starts_with("all"),
            }
        }
        _ => {
            let resolved = resolve(name, &types)?;
            let args = args.into_iter().zip(resolved.args);
            let args = args.map(|(arg, ty)| converted(arg, ty, TypeMod::NONE));
            Expr::Call {
                function: resolved.function,
                args: args.collect::<SqlResult<_>>()?,
                ty: resolved.result,
            }
        }
    })
}

/// The answer as the table writes it.
fn print(result: SqlResult<(Value, SqlType)>, host: &DetachedHost) -> String {
    let text = result.and_then(|(value, ty)| {
        let text = cast(value, ty, SqlType::Text, TypeMod::NONE, true, host)?;
        let ty = if ty == SqlType::Unknown {
            SqlType::Text
        } else {
            ty
        };
        Ok(match text.as_str() {
            Some(text) => format!("{ty} '{text}'"),
            None => format!("{ty} NULL"),
        })
    });
    text.unwrap_or_else(|error| format!("! {} {}", error.state, error.message))
}

fn answer(call: &str) -> String {
    let host = DetachedHost::default();
    let mut parts = call.split(" | ");
    let name = parts.next().unwrap();
    let bound = parts
        .map(|text| argument(text, &host))
        .collect::<SqlResult<Vec<_>>>()
        .and_then(|args| bind(name, args));
    let run = |expr: &Expr| eval(expr, &[], &[], &host).map(|value| (value, expr.ty()));
    let plain = print(bound.clone().and_then(|expr| run(&expr)), &host);
    let folded = print(bound.and_then(|expr| run(&fold(expr))), &host);
    assert_eq!(plain, folded, "folding changes {call}");
    plain
}

#[test]
fn every_call_answers_as_postgresql_does() {
    let mut wrong = vec![];
    let mut calls = 0;
    for line in TABLE
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
    {
        let (call, expected) = line.split_once(" => ").expect("a call and its answer");
        let expected = DEVIATIONS
            .iter()
            .find(|(deviating, _, _)| *deviating == call)
            .map_or(expected, |(_, ours, _)| ours);
        let got = answer(call);
        calls += 1;
        if got != expected {
            wrong.push(format!(
                "{call}\n    expected {expected}\n    got      {got}"
            ));
        }
    }
    assert!(calls > 2000, "the table has shrunk to {calls} calls");
    assert!(
        wrong.is_empty(),
        "{} of {calls} calls differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_deviation_is_about_a_call_of_the_table() {
    for (call, ours, reason) in DEVIATIONS {
        let line = TABLE
            .lines()
            .find(|l| l.strip_prefix(call).is_some_and(|r| r.starts_with(" => ")));
        let line = line.unwrap_or_else(|| panic!("{call} ({reason}) is not in the table"));
        assert!(
            !line.ends_with(&format!(" => {ours}")),
            "{call} no longer deviates"
        );
    }
}
