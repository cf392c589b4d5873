//! Expressions as text.
//!
//! Relies on: the frame's names, given by whoever prints.  Promises: SQL that means the same, with
//! all parentheses and types written out as PostgreSQL does.  Does not: restore what the user
//! wrote; a folded constant prints as the constant.

use crate::expr::{Expr, Truth};
use crate::function::{Function, operator_symbol, quoted_identifier};
use crate::subquery::SubqueryForm;
use quintet_base::lexemes::textsearch::Config;
use quintet_base::text_format::{self, FormatContext};
use quintet_base::{SqlType, Value, types};

/// An expression over a frame with these names. A place beyond them prints as its number.
pub fn expr_text(expr: &Expr, names: &[String]) -> String {
    let text = |expr: &Expr| expr_text(expr, names);
    match expr {
        Expr::Const(value, ty) => constant_text(value, *ty),
        Expr::Param(number, _) => format!("${}", number + 1),
        Expr::Column(column, _) => names
            .get(*column)
            .filter(|name| !name.is_empty())
            .map_or_else(|| format!("#{column}"), Clone::clone),
        Expr::Outer(number, _) => format!("@{number}"),
        Expr::Subquery(subquery) => {
            let tested = texts(&subquery.tested, names).join(", ");
            // What the query does not look at is not computed for it.
            let given = subquery.outer.iter().map(|expr| match expr {
                Expr::Const(Value::Null, _) => "-".to_string(),
                expr => text(expr),
            });
            let given = given.collect::<Vec<String>>().join(", ");
            let what = match subquery.form {
                SubqueryForm::Value(0) => "SubPlan".to_string(),
                SubqueryForm::Value(column) => format!("SubPlan column {}", column + 1),
                SubqueryForm::Exists => "EXISTS SubPlan".to_string(),
                SubqueryForm::Array => "ARRAY SubPlan".to_string(),
                SubqueryForm::Compare { op, all } => {
                    let word = if all { "ALL" } else { "ANY" };
                    format!("{tested} {} {word} SubPlan", operator_symbol(op))
                }
            };
            match given.is_empty() {
                true => format!("({what})"),
                false => format!("({what} of {given})"),
            }
        }
        Expr::Call { function, args, .. } => call(function, &texts(args, names)),
        Expr::Compare { op, left, right } => {
            format!("({} {} {})", text(left), operator_symbol(*op), text(right))
        }
        Expr::Distinct {
            left,
            right,
            negated,
        } => {
            let not = if *negated { "NOT " } else { "" };
            format!("({} IS {not}DISTINCT FROM {})", text(left), text(right))
        }
        Expr::And(args) => format!("({})", texts(args, names).join(" AND ")),
        Expr::Or(args) => format!("({})", texts(args, names).join(" OR ")),
        Expr::Not(input) => format!("(NOT {})", text(input)),
        Expr::IsNull { input, negated } => {
            let not = if *negated { "NOT " } else { "" };
            format!("({} IS {not}NULL)", text(input))
        }
        Expr::IsTruth {
            input,
            truth,
            negated,
        } => {
            let not = if *negated { "NOT " } else { "" };
            let truth = match truth {
                Truth::True => "TRUE",
                Truth::False => "FALSE",
                Truth::Unknown => "UNKNOWN",
            };
            format!("({} IS {not}{truth})", text(input))
        }
        Expr::Case {
            branches,
            otherwise,
            ..
        } => {
            let mut out = "CASE".to_string();
            for (condition, result) in branches {
                out += &format!(" WHEN {} THEN {}", text(condition), text(result));
            }
            if let Some(otherwise) = otherwise {
                out += &format!(" ELSE {}", text(otherwise));
            }
            out + " END"
        }
        Expr::Coalesce { args, .. } => format!("COALESCE({})", texts(args, names).join(", ")),
        Expr::Extreme { greatest, args, .. } => {
            let name = if *greatest { "GREATEST" } else { "LEAST" };
            format!("{name}({})", texts(args, names).join(", "))
        }
        Expr::InList {
            input,
            list,
            negated,
        } => {
            let not = if *negated { "NOT " } else { "" };
            let list = texts(list, names).join(", ");
            format!("({} {not}IN ({list}))", text(input))
        }
        Expr::Quantified {
            input,
            op,
            array,
            all,
        } => {
            let word = if *all { "ALL" } else { "ANY" };
            let op = operator_symbol(*op);
            format!("({} {op} {word} ({}))", text(input), text(array))
        }
        Expr::Array { elements, .. } => format!("ARRAY[{}]", texts(elements, names).join(", ")),
        Expr::Cast {
            input,
            to,
            modifier,
            ..
        } => format!("({})::{}", text(input), types::format_type(*to, *modifier)),
        Expr::Routine { callee, args, .. } => {
            format!(
                "{}({})",
                quoted_identifier(&callee.name),
                texts(args, names).join(", ")
            )
        }
        Expr::NextVal(sequence) => format!("nextval({sequence})"),
        Expr::CurrVal(sequence) => format!("currval({sequence})"),
        Expr::SetVal {
            sequence,
            value,
            is_called,
        } => format!("setval({sequence}, {}, {})", text(value), text(is_called)),
    }
}

fn texts(exprs: &[Expr], names: &[String]) -> Vec<String> {
    exprs.iter().map(|expr| expr_text(expr, names)).collect()
}

fn call(function: &Function, args: &[String]) -> String {
    match (function.is_operator(), args) {
        (true, [array, subscript]) if function.name == "[]" => format!("({array})[{subscript}]"),
        (true, [left, right]) => format!("({left} {} {right})", function.name),
        (true, [right]) => format!("({} {right})", function.name),
        _ => format!("{}({})", quoted_identifier(function.name), args.join(", ")),
    }
}

/// A constant as a literal that reads back as the same value of the same type.
pub fn constant_text(value: &Value, ty: SqlType) -> String {
    let printed = match value {
        Value::Null => return format!("NULL::{ty}"),
        Value::Bool(value) => return value.to_string(),
        // The catalogue, which knows names of numbers, is not here; but these are built in.
        Value::Oid(number)
            if ty == SqlType::RegConfig
                && let Some(config) = Config::by_number(*number) =>
        {
            config.name.to_string()
        }
        value => text_format::to_string(value, ty, &FormatContext::default()),
    };
    // An integer or decimal literal has these types by itself, unless a sign stands before it.
    let bare = match value {
        Value::Int4(v) => *v >= 0,
        Value::Numeric(v) => v.is_finite() && !v.is_negative() && v.scale() > 0,
        _ => false,
    };
    match bare {
        true => printed,
        // `character` without a length would be character(1).
        false if ty == SqlType::Bpchar => format!("'{}'::bpchar", printed.replace('\'', "''")),
        false => format!("'{}'::{ty}", printed.replace('\'', "''")),
    }
}
