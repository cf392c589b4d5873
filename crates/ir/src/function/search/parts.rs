//! Vectors and queries taken apart and changed; tokens of a text, and what dictionaries say of them.
//!
//! Relies on: `quintet_textsearch`.  Promises: PostgreSQL's answers and errors.  Does not: know parsers and dictionaries of users.

use super::super::{Function, builtin as new, fail, str, unaccent, wrong_type};
use super::{array, config, query, session_config, vector};
use crate::eval::Host;
use quintet_base::SqlType::{
    self, Int2, Int4, InternalChar, RegConfig as Config, RegDictionary, Text, TextArray,
    TsQuery as Query, TsVector as Vector,
};
use quintet_base::lexemes::textsearch::dictionary::Meaning;
use quintet_base::lexemes::textsearch::token::{Kind, Tokens};
use quintet_base::lexemes::textsearch::vector::{Lexeme, letter};
use quintet_base::lexemes::textsearch::words::check_length;
use quintet_base::lexemes::textsearch::{self};
use quintet_base::lexemes::{told, vector_value};
use quintet_base::{SqlError, SqlResult, SqlState, Value};

/// The weight that a letter stands for.
fn weight(letter: &str) -> SqlResult<u8> {
    Ok(match letter {
        "A" | "a" => 3,
        "B" | "b" => 2,
        "C" | "c" => 1,
        "D" | "d" => 0,
        other => {
            return fail(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("unrecognized weight: \"{other}\""),
            );
        }
    })
}

/// The texts of an array without NULLs.
fn texts<'v>(value: &'v Value, what: &str) -> SqlResult<Vec<&'v str>> {
    let Value::Array(array) = value else {
        wrong_type(value)
    };
    let texts = array.values.iter().map(|value| {
        value.as_str().ok_or_else(|| {
            SqlError::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                format!("{what} array may not contain nulls"),
            )
        })
    });
    texts.collect()
}

/// Those of an array whose NULLs are no words.
fn some_texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(array) => array.values.iter().filter_map(Value::as_str).collect(),
        value => wrong_type(value),
    }
}

fn set_weight(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let weight = match str(args[1]) {
        "A" | "a" => 3,
        "B" | "b" => 2,
        "C" | "c" => 1,
        "D" | "d" => 0,
        other => {
            let code = other.bytes().next().unwrap_or(0) as i8;
            return fail(
                SqlState::INTERNAL_ERROR,
                format!("unrecognized weight: {code}"),
            );
        }
    };
    let words = args.get(2).map(|words| some_texts(words));
    let changed = vector(args[0]).set_weight(weight, words.as_deref());
    Ok(vector_value(&changed))
}

fn strip(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(vector_value(&vector(args[0]).strip()))
}

fn length(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Int4(vector(args[0]).lexemes.len() as i32))
}

fn nodes(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Int4(query(args[0]).items.len() as i32))
}

fn tree(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(match query(args[0]).indexable() {
        Some(query) => query.to_string(),
        None => "T".to_string(),
    }))
}

fn delete(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let words = match args[1] {
        Value::Text(word) => vec![word.as_str()],
        words => some_texts(words),
    };
    Ok(vector_value(&vector(args[0]).delete(&words)))
}

fn filter(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut weights = 0;
    for letter in texts(args[1], "weight")? {
        weights |= 1 << weight(letter)?;
    }
    Ok(vector_value(&vector(args[0]).filter(weights)))
}

fn to_array(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let words = vector(args[0]).lexemes.into_iter();
    let values = words.map(|lexeme| Value::text(lexeme.word));
    Ok(array(Text, values.collect()))
}

fn of_array(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut lexemes = Vec::new();
    for word in texts(args[0], "lexeme")? {
        if word.is_empty() {
            return fail(
                SqlState::ZERO_LENGTH_CHARACTER_STRING,
                "lexeme array may not contain empty strings",
            );
        }
        check_length(word).map_err(told)?;
        lexemes.push(Lexeme {
            word: word.to_string(),
            positions: Vec::new(),
        });
    }
    Ok(vector_value(
        &textsearch::Vector::of(lexemes).map_err(told)?,
    ))
}

/// Words with their positions and weights.
pub fn unnest(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let rows = vector(args[0]).lexemes.into_iter().map(|lexeme| {
        let places = lexeme
            .positions
            .iter()
            .map(|p| Value::Int2(p.place() as i16));
        let weights = lexeme
            .positions
            .iter()
            .map(|p| Value::text(letter(p.weight()).to_string()));
        let columns = match lexeme.positions.is_empty() {
            true => [Value::Null, Value::Null],
            false => [
                array(Int2, places.collect()),
                array(Text, weights.collect()),
            ],
        };
        let [places, weights] = columns;
        array(
            SqlType::Record,
            vec![Value::text(lexeme.word), places, weights],
        )
    });
    Ok(array(SqlType::Record, rows.collect()))
}

/// The only parser there is.
const PARSER: u32 = 3722;

fn check_parser(value: &Value) -> SqlResult<()> {
    match value {
        Value::Text(name) if matches!(name.as_str(), "default" | "pg_catalog.default") => Ok(()),
        Value::Oid(PARSER) => Ok(()),
        Value::Text(name) => fail(
            SqlState::UNDEFINED_OBJECT,
            format!("text search parser \"{}\" does not exist", name.as_str()),
        ),
        Value::Oid(number) => Err(SqlError::internal(format!(
            "cache lookup failed for text search parser {number}"
        ))),
        value => wrong_type(value),
    }
}

/// The tokens of a text.
pub fn parse(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    check_parser(args[0])?;
    let rows = Tokens::new(str(args[1])).map(|token| {
        let fields = vec![Value::Int4(token.kind.number()), Value::text(token.text)];
        array(SqlType::Record, fields)
    });
    Ok(array(SqlType::Record, rows.collect()))
}

/// The same by the number of the parser.
pub fn parse_numbered(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    parse(args, host)
}

/// The types of tokens that there are.
pub fn token_types(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    check_parser(args[0])?;
    let rows = Kind::ALL.iter().map(|(kind, alias, description)| {
        let fields = vec![
            Value::Int4(kind.number()),
            Value::text(*alias),
            Value::text(*description),
        ];
        array(SqlType::Record, fields)
    });
    Ok(array(SqlType::Record, rows.collect()))
}

/// Tokens and what becomes of them.
pub fn debug(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(debugged(config(args[0])?, str(args[1])))
}

/// The same by the session's configuration.
pub fn default_debug(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(debugged(session_config(host)?, str(args[0])))
}

fn debugged(config: textsearch::Config, text: &str) -> Value {
    let rows = Tokens::new(text).map(|token| {
        let asked = config.dictionary(token.kind);
        let number = asked.map(|dictionary| Value::Oid(dictionary.dictionary));
        let lexemes = match config.meaning(token.kind, token.text) {
            Meaning::None => Value::Null,
            Meaning::Stop => array(Text, Vec::new()),
            Meaning::Word(word) => array(Text, vec![Value::text(word)]),
        };
        let fields = vec![
            Value::text(token.kind.alias()),
            Value::text(token.kind.description()),
            Value::text(token.text),
            array(SqlType::RegDictionary, number.iter().cloned().collect()),
            number.unwrap_or(Value::Null),
            lexemes,
        ];
        array(SqlType::Record, fields)
    });
    array(SqlType::Record, rows.collect())
}

fn look_up(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let Value::Oid(number) = args[0] else {
        wrong_type(args[0])
    };
    if *number == unaccent::DICTIONARY.0 {
        let found = unaccent::looked_up(str(args[1]));
        return Ok(found.map_or(Value::Null, |bare| array(Text, vec![Value::Text(bare)])));
    }
    let Some(dictionary) = textsearch::Config::of_dictionary(*number) else {
        return Err(SqlError::internal(format!(
            "cache lookup failed for text search dictionary {number}"
        )));
    };
    Ok(match dictionary.looked_up(str(args[1])) {
        Meaning::None => Value::Null,
        Meaning::Stop => array(Text, Vec::new()),
        Meaning::Word(word) => array(Text, vec![Value::text(word)]),
    })
}

fn current_config(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Oid(session_config(host)?.number))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("setweight", &[Vector, InternalChar], Vector, set_weight),
    new(
        "setweight",
        &[Vector, InternalChar, TextArray],
        Vector,
        set_weight,
    ),
    new("strip", &[Vector], Vector, strip),
    new("length", &[Vector], Int4, length),
    new("numnode", &[Query], Int4, nodes),
    new("querytree", &[Query], Text, tree),
    new("ts_delete", &[Vector, Text], Vector, delete),
    new("ts_delete", &[Vector, TextArray], Vector, delete),
    new("ts_filter", &[Vector, TextArray], Vector, filter),
    new("tsvector_to_array", &[Vector], TextArray, to_array),
    new("array_to_tsvector", &[TextArray], Vector, of_array),
    new("ts_lexize", &[RegDictionary, Text], TextArray, look_up),
    new("get_current_ts_config", &[], Config, current_config).stable(),
];
