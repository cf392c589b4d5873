//! Functions that are built in, as `pg_proc` lists them, and casts, as `pg_cast` does.
//!
//! Relies on: `functions.txt` and `casts.txt`, whose heads say how they are written; both are read when somebody
//! asks first.  Promises: PostgreSQL 15's numbers, names and types of what Quintet has, too.  Does not: know what a
//! function does (`quintet_ir::function` does), nor operators' and indexes' own functions.

use super::print::quoted;
use super::pseudo_types;
use super::routines::language_number;
use super::{Definition, OWNER, PG_CATALOG, flag, oid, short, text};
use crate::text_call::TextCall;
use quintet_base::types::format_type;
use quintet_base::value::Array;
use quintet_base::{SqlType, TypeMod, Value};
use std::sync::LazyLock;

pub(super) const RELATIONS: &[Definition] = &[Definition {
    name: "pg_cast",
    columns: &[
        "oid",
        "castsource",
        "casttarget",
        "castfunc",
        "castcontext",
        "castmethod",
    ],
    rows: |_| {
        let row = |line: &'static str| {
            let words: Vec<&str> = line.split(' ').collect();
            let (numbers, letters) = words.split_at(4);
            let numbers = numbers.iter().map(|word| oid(number(word)));
            numbers
                .chain(letters.iter().map(|letter| text(letter)))
                .collect()
        };
        lines(include_str!("casts.txt")).map(row).collect()
    },
}];

/// Numbers of functions of extensions begin here.
const OF_EXTENSIONS: u32 = 1 << 28;

/// A function that is built in.
pub(super) struct BuiltIn {
    pub number: u32,
    pub name: &'static str,
    source: &'static str,
    letters: &'static str,
    cost: f32,
    rows: f32,
    variadic: u32,
    defaults: i16,
    result: u32,
    pub arguments: Vec<u32>,
    /// With what it gives, if there is more than its arguments.
    all: Vec<u32>,
    modes: &'static str,
    names: Vec<&'static str>,
}

static FUNCTIONS: LazyLock<Vec<BuiltIn>> =
    LazyLock::new(|| lines(include_str!("functions.txt")).map(read).collect());

fn lines(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines().filter(|line| !line.starts_with('#'))
}

fn number(word: &str) -> u32 {
    word.parse().expect("a number")
}

/// The words of a list; `-` is an empty one.
fn list(word: &'static str) -> impl Iterator<Item = &'static str> {
    let given = Some(word).filter(|word| *word != "-");
    given.into_iter().flat_map(|word| word.split(','))
}

fn read(line: &'static str) -> BuiltIn {
    let mut words = line.split(' ');
    let mut next = || words.next().unwrap_or("-");
    let (own, name, source) = (number(next()), next(), next());
    BuiltIn {
        number: own,
        name,
        source: match source {
            "=" => name,
            "-" => "",
            source => source,
        },
        letters: next(),
        cost: next().parse().expect("a cost"),
        rows: next().parse().expect("a number of rows"),
        variadic: number(next()),
        defaults: next().parse().expect("a count"),
        result: number(next()),
        arguments: list(next()).map(number).collect(),
        all: list(next()).map(number).collect(),
        modes: Some(next()).filter(|word| *word != "-").unwrap_or_default(),
        names: list(next()).collect(),
    }
}

/// All of them, by their numbers.
pub(super) fn all() -> &'static [BuiltIn] {
    &FUNCTIONS
}

/// The one with this number.
pub(super) fn with_number(number: u32) -> Option<&'static BuiltIn> {
    let place = FUNCTIONS.binary_search_by_key(&number, |function| function.number);
    place.ok().map(|place| &FUNCTIONS[place])
}

/// Those with this name.
pub(super) fn named(name: &str) -> impl Iterator<Item = &'static BuiltIn> {
    FUNCTIONS
        .iter()
        .filter(move |function| function.name == name)
}

/// What a function of this name reads or prints; `None` if it does neither, or has to be told more.
pub(crate) fn reading_and_printing(name: &str) -> Option<TextCall> {
    // What prints a type's length takes a number, and prints no number.
    let of_lengths = name.ends_with("typmodout");
    if of_lengths || !name.ends_with("in") && !name.ends_with("out") {
        return None;
    }
    let known = |number| {
        let ty = SqlType::built_in_with_oid(number)?;
        let is_made_up = matches!(
            ty,
            SqlType::Unknown | SqlType::Void | SqlType::Record | SqlType::RecordArray
        );
        (!is_made_up).then_some(ty)
    };
    let cstring = SqlType::Cstring.oid();
    FUNCTIONS
        .iter()
        .filter(|function| function.name == name)
        .find_map(
            |function| match (function.arguments.as_slice(), function.result) {
                ([text], result) if *text == cstring => {
                    known(result).map(|ty| TextCall::Reads(ty, false))
                }
                ([text, _, _], result) if *text == cstring => {
                    known(result).map(|ty| TextCall::Reads(ty, true))
                }
                ([argument], result) if result == cstring => known(*argument).map(TextCall::Prints),
                _ => None,
            },
        )
}

fn type_name(number: u32) -> String {
    match SqlType::from_oid(number) {
        Some(ty) => format_type(ty, TypeMod::NONE),
        None => pseudo_types::shown(number).unwrap_or_else(|| number.to_string()),
    }
}

fn array(element: SqlType, values: impl Iterator<Item = Value>) -> Value {
    let values: Vec<Value> = values.collect();
    match values.is_empty() {
        true => Value::Null,
        false => Value::Array(Box::new(Array {
            shape: None,
            element,
            values,
        })),
    }
}

impl BuiltIn {
    fn is(&self, letter: char) -> bool {
        self.letters
            .get(3..)
            .is_some_and(|rest| rest.contains(letter))
    }

    fn letter(&self, place: usize) -> &'static str {
        self.letters.get(place..=place).unwrap_or_default()
    }

    /// The number of the type of an extension that it comes with.
    pub fn type_of_extension(&self) -> Option<u32> {
        let name = self.name;
        let mut types = ["citext", "hstore"].into_iter();
        let own = types.find(|own| name.starts_with(own) && self.number >= OF_EXTENSIONS)?;
        Some(SqlType::of_extension(own).first()?.oid())
    }

    /// A function that gives one value.
    pub fn is_plain(&self) -> bool {
        self.letter(0) == "f" && !self.is('r')
    }

    /// True if PostgreSQL has several of this name.
    pub fn shares_its_name(&self) -> bool {
        self.is('m')
    }

    /// As `regprocedure` prints it.
    pub fn signature(&self) -> String {
        let types: Vec<String> = self.arguments.iter().map(|ty| type_name(*ty)).collect();
        format!("{}({})", quoted(self.name), types.join(","))
    }

    /// Its row of `pg_proc`, in the order of that definition.
    pub fn row(&self) -> Vec<Value> {
        vec![
            oid(self.number),
            text(self.name),
            oid(PG_CATALOG),
            oid(OWNER),
            oid(language_number(if self.is('q') {
                "sql"
            } else {
                "internal"
            })),
            Value::Float4(self.cost),
            Value::Float4(self.rows),
            oid(self.variadic),
            text(self.letter(0)),
            flag(false),
            flag(self.is('l')),
            flag(self.is('s')),
            flag(self.is('r')),
            text(self.letter(1)),
            text(self.letter(2)),
            short(self.arguments.len()),
            Value::Int2(self.defaults),
            oid(self.result),
            Value::Array(Box::new(Array {
                shape: None,
                element: SqlType::Oid,
                values: self.arguments.iter().map(|ty| oid(*ty)).collect(),
            })),
            array(SqlType::Text, self.names.iter().map(|name| text(name))),
            array(SqlType::Oid, self.all.iter().map(|ty| oid(*ty))),
            array(
                SqlType::InternalChar,
                self.modes
                    .chars()
                    .map(|mode| text(mode.encode_utf8(&mut [0; 4]))),
            ),
            text(self.source),
            Value::Null,
            Value::Null,
        ]
    }

    /// What a function that describes routines says of it. Values of parameters that may be left out are not known.
    pub fn described(&self, function: &str) -> Option<String> {
        match function {
            "pg_get_function_arguments" | "pg_get_function_identity_arguments" => {
                Some(self.arguments_text())
            }
            "pg_get_function_result" => Some(self.result_text()),
            _ => None,
        }
    }

    fn parameters(&self) -> impl Iterator<Item = (char, Option<&'static str>, u32)> {
        let types = match self.all.is_empty() {
            true => &self.arguments,
            false => &self.all,
        };
        let mode = |place: usize| self.modes.chars().nth(place).unwrap_or('i');
        types.iter().enumerate().map(move |(place, &ty)| {
            let name = self
                .names
                .get(place)
                .copied()
                .filter(|name| !name.is_empty());
            (mode(place), name, ty)
        })
    }

    fn arguments_text(&self) -> String {
        let parameters = self.parameters().filter(|(mode, ..)| *mode != 't');
        let texts = parameters.map(|(mode, name, ty)| {
            let word = match mode {
                'o' => "OUT ",
                'b' => "INOUT ",
                'v' => "VARIADIC ",
                _ => "",
            };
            let name = name.map_or_else(String::new, |name| quoted(name) + " ");
            format!("{word}{name}{}", type_name(ty))
        });
        texts.collect::<Vec<_>>().join(", ")
    }

    fn result_text(&self) -> String {
        let columns = self.parameters().filter(|(mode, ..)| *mode == 't');
        let columns: Vec<String> = columns
            .map(|(_, name, ty)| format!("{} {}", quoted(name.unwrap_or_default()), type_name(ty)))
            .collect();
        match (columns.is_empty(), self.is('r')) {
            (false, _) => format!("TABLE({})", columns.join(", ")),
            (true, true) => format!("SETOF {}", type_name(self.result)),
            (true, false) => type_name(self.result),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read_in_the_order_of_numbers() {
        assert!(all().len() > 900);
        assert!(all().is_sorted_by_key(|function| function.number));
        let read = with_number(750).unwrap();
        assert_eq!(read.signature(), "array_in(cstring,oid,integer)");
        let lower = named("lower").next().unwrap();
        assert_eq!((lower.number, lower.shares_its_name()), (870, true));
        assert_eq!(lower.described("pg_get_function_result").unwrap(), "text");
    }
}
