//! format(): a template with values put into it.
//!
//! Relies on: `encoding` for quoting.  Promises: PostgreSQL's specifiers `%[n$][-][width]` with `s`, `I`,
//! `L`, `%%`, a width taken from an argument (`*`, `*n$`), and its errors.

use super::encoding::{literal, quoted_identifier};
use super::{Function, builtin as new, fail, str};
use crate::eval::Host;
use quintet_base::SqlType::{Text, Unknown};
use quintet_base::{SqlResult, SqlState, SqlType, Value, text_format};
use std::iter::Peekable;
use std::str::Chars;

/// What stands behind a percent sign.
#[derive(Default)]
struct Specifier {
    /// Which argument, from 1; none: the next one.
    place: Option<usize>,
    /// Blanks go behind.
    left: bool,
    width: Width,
}

/// How many characters a value takes at least.
#[derive(Default)]
enum Width {
    #[default]
    None,
    Given(usize),
    /// Of an argument: this one, or the next.
    Argument(Option<usize>),
}

pub(super) fn format(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let mut rest = str(args[0]).chars().peekable();
    let mut text = String::new();
    // Arguments begin behind the template.
    let mut next = 0;
    while let Some(character) = rest.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        if rest.next_if_eq(&'%').is_some() {
            text.push('%');
            continue;
        }
        let mut specifier = specifier(&mut rest)?;
        let Some(kind) = rest.next() else {
            return unterminated();
        };
        if !matches!(kind, 's' | 'I' | 'L') {
            let message = format!("unrecognized format() type specifier \"{kind}\"");
            let error = fail::<Value>(SqlState::INVALID_PARAMETER_VALUE, message);
            return error.map_err(|error| error.hint("For a single \"%\" use \"%%\"."));
        }
        let mut take = |place: Option<usize>| {
            next = place.unwrap_or(next + 1);
            match args.get(next) {
                Some(value) => Ok(value),
                None => fail(
                    SqlState::INVALID_PARAMETER_VALUE,
                    "too few arguments for format()",
                ),
            }
        };
        let width = match specifier.width {
            Width::None => 0,
            Width::Given(width) => width,
            Width::Argument(place) => {
                let width = width_of(take(place)?, host)?;
                specifier.left |= width < 0;
                usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX)
            }
        };
        let shown = shown(take(specifier.place)?, kind, host)?;
        pad(&mut text, &shown, width, specifier.left)?;
    }
    Ok(Value::text(&text))
}

fn specifier(rest: &mut Peekable<Chars>) -> SqlResult<Specifier> {
    let mut specifier = Specifier::default();
    // A number may be a place or a width; the dollar sign tells.
    if let Some(number) = number(rest)? {
        if rest.next_if_eq(&'$').is_none() {
            specifier.width = Width::Given(number);
            return Ok(specifier);
        }
        specifier.place = Some(place(number)?);
    }
    while rest.next_if_eq(&'-').is_some() {
        specifier.left = true;
    }
    if rest.next_if_eq(&'*').is_some() {
        specifier.width = Width::Argument(match number(rest)? {
            None => None,
            Some(number) if rest.next_if_eq(&'$').is_some() => Some(place(number)?),
            Some(_) => {
                return fail(
                    SqlState::INVALID_PARAMETER_VALUE,
                    "width argument position must be ended by \"$\"",
                );
            }
        });
    } else if let Some(number) = number(rest)? {
        specifier.width = Width::Given(number);
    }
    Ok(specifier)
}

fn number(rest: &mut Peekable<Chars>) -> SqlResult<Option<usize>> {
    let mut number: Option<i32> = None;
    while let Some(digit) = rest.peek().and_then(|character| character.to_digit(10)) {
        rest.next();
        let longer = number
            .unwrap_or(0)
            .checked_mul(10)
            .and_then(|number| number.checked_add(digit as i32));
        if longer.is_none() {
            return fail(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                "number is out of range",
            );
        }
        number = longer;
    }
    Ok(number.map(|number| number as usize))
}

fn place(number: usize) -> SqlResult<usize> {
    match number {
        0 => fail(
            SqlState::INVALID_PARAMETER_VALUE,
            "format specifies argument 0, but arguments are numbered from 1",
        ),
        number => Ok(number),
    }
}

fn unterminated<T>() -> SqlResult<T> {
    let error = fail(
        SqlState::INVALID_PARAMETER_VALUE,
        "unterminated format() type specifier",
    );
    error.map_err(|error| error.hint("For a single \"%\" use \"%%\"."))
}

/// A value as a width: NULL is none.
fn width_of(value: &Value, host: &dyn Host) -> SqlResult<i64> {
    if value.is_null() {
        return Ok(0);
    }
    let text = text_format::to_string(value, value.natural_type(), host.format());
    let width = text_format::read(SqlType::Int4, &text, host.format())?;
    Ok(width.as_i64().unwrap_or(0))
}

fn shown(value: &Value, kind: char, host: &dyn Host) -> SqlResult<String> {
    if value.is_null() {
        return match kind {
            's' => Ok(String::new()),
            'L' => Ok("NULL".to_string()),
            _ => fail(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "null values cannot be formatted as an SQL identifier",
            ),
        };
    }
    let text = text_format::to_string(value, value.natural_type(), host.format());
    Ok(match kind {
        'I' => quoted_identifier(&text),
        'L' => literal(&text).trim_start().to_string(),
        _ => text,
    })
}

fn pad(text: &mut String, shown: &str, width: usize, left: bool) -> SqlResult<()> {
    let blanks = width.saturating_sub(shown.chars().count());
    if blanks > super::text_edit::RESULT_BYTES_MAX {
        return fail(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            "requested length too large",
        );
    }
    let blanks = " ".repeat(blanks);
    match left {
        true => text.extend([shown, &blanks]),
        false => text.extend([&blanks, shown]),
    }
    Ok(())
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("format", &[Text], Text, format).lenient().stable(),
    new("format", &[Text, Unknown], Text, format)
        .variadic()
        .lenient()
        .stable(),
];
