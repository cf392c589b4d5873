//! Full text search: texts as vectors and queries, and whether one has what the other asks.
//!
//! Relies on: `quintet_textsearch`, through `base::lexemes`.  Promises: PostgreSQL's answers and errors; what depends on the session's
//! configuration is stable, what names one immutable.  Does not: use an index; that is the planner's.
//!
//! | file | what it holds |
//! |---|---|
//! | here | making vectors and queries, `@@` and the other operators |
//! | `parts` | taking them apart and changing them; tokens and dictionaries |
//! | `ranks` | `ts_rank`, `ts_headline` |

mod parts;
pub(super) mod ranks;

use super::{Body, Function, builtin as new, fail, int, json::json, str, wrong_type};
use crate::eval::Host;
pub(super) use parts::{debug, default_debug, parse, parse_numbered, token_types, unnest};
use quintet_base::SqlType::{
    self, Bool, Int4, Json as Plain, Jsonb, RegConfig as Config, Text, TsQuery as Query,
    TsVector as Vector,
};
use quintet_base::json::Node;
use quintet_base::lexemes::textsearch::make::{self, Maker, Style};
use quintet_base::lexemes::textsearch::query::Op;
use quintet_base::lexemes::textsearch::{self, run};
use quintet_base::lexemes::{config_named, query_of, query_value, told, vector_of, vector_value};
use quintet_base::{Json, SqlError, SqlResult, SqlState, Value};
use std::cell::RefCell;
use std::rc::Rc;

/// The bytes of a vector or a query.
fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::Bytea(bytes) => bytes,
        value => wrong_type(value),
    }
}

fn vector(value: &Value) -> textsearch::Vector {
    vector_of(bytes(value))
}

fn query(value: &Value) -> textsearch::Query {
    query_of(bytes(value))
}

/// Queries a thread remembers. A statement asks few of them, once per row.
const QUERIES_MAX: usize = 8;

/// Queries by their bytes, in the order of last use.
type Remembered = Vec<(Vec<u8>, Rc<textsearch::Query>)>;

thread_local! {
    static QUERIES: RefCell<Remembered> = const { RefCell::new(Vec::new()) };
}

/// The same for a query that is asked again and again.
fn remembered(value: &Value) -> Rc<textsearch::Query> {
    let bytes = bytes(value);
    QUERIES.with_borrow_mut(|known| {
        match known.iter().position(|(key, _)| key == bytes) {
            Some(at) => known[..=at].rotate_right(1),
            None => {
                known.truncate(QUERIES_MAX - 1);
                known.insert(0, (bytes.to_vec(), Rc::new(query_of(bytes))));
            }
        }
        known[0].1.clone()
    })
}

/// The configuration with this number.
fn config(value: &Value) -> SqlResult<textsearch::Config> {
    let Value::Oid(number) = value else {
        wrong_type(value)
    };
    textsearch::Config::by_number(*number).ok_or_else(|| {
        SqlError::internal(format!(
            "cache lookup failed for text search configuration {number}"
        ))
    })
}

/// The session's configuration.
fn session_config(host: &dyn Host) -> SqlResult<textsearch::Config> {
    let name = host.setting("default_text_search_config");
    let name = name.as_deref().unwrap_or("pg_catalog.english");
    config_named(name)
}

/// The configuration that a call names or the session has, and the arguments behind it.
fn config_and_rest<'v, 'a>(
    args: &'a [&'v Value],
    host: &dyn Host,
) -> SqlResult<(textsearch::Config, &'a [&'v Value])> {
    match args.split_first() {
        Some((Value::Oid(_), rest)) => Ok((config(args[0])?, rest)),
        _ => Ok((session_config(host)?, args)),
    }
}

/// Looks at the clock now and then.
struct Clock<'h> {
    host: &'h dyn Host,
    steps: u32,
}

impl Clock<'_> {
    const STEPS_BETWEEN_LOOKS: u32 = 256;

    fn look(&mut self) -> SqlResult<()> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(Self::STEPS_BETWEEN_LOOKS) && self.host.is_overdue() {
            return fail(
                SqlState::QUERY_CANCELED,
                "canceling statement due to statement timeout",
            );
        }
        Ok(())
    }
}

/// What a finished maker has, and that words were left out.
fn made(maker: Maker, host: &dyn Host) -> SqlResult<Value> {
    for _ in 0..maker.too_long.min(100) {
        let notice = SqlError::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            "word is too long to be indexed",
        );
        let detail = "Words longer than 2047 characters are ignored.";
        host.notice("NOTICE", notice.detail(detail));
    }
    Ok(vector_value(&maker.vector().map_err(told)?))
}

fn to_vector(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let (config, rest) = config_and_rest(args, host)?;
    let mut maker = Maker::new(config);
    maker.add(str(rest[0]));
    made(maker, host)
}

/// Which parts of a document are looked at.
#[derive(Clone, Copy, Default)]
struct Kinds {
    strings: bool,
    numbers: bool,
    truths: bool,
    keys: bool,
}

impl Kinds {
    const STRINGS: Kinds = Kinds {
        strings: true,
        numbers: false,
        truths: false,
        keys: false,
    };

    /// `"all"`, or an array of names.
    fn of(filter: &Json) -> SqlResult<Kinds> {
        let wrong = |message: String, hint: bool| {
            let error = SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message);
            match hint {
                true => error.hint(
                    "Possible values are: \"string\", \"numeric\", \"boolean\", \"key\", and \"all\".",
                ),
                false => error,
            }
        };
        let mut kinds = Kinds::default();
        let parts = match filter {
            Json::Array(parts) => &parts[..],
            scalar @ Json::Text(_) => std::slice::from_ref(scalar),
            Json::Object(_) => {
                return Err(wrong(
                    "wrong flag type, only arrays and scalars are allowed".into(),
                    false,
                ));
            }
            scalar => std::slice::from_ref(scalar),
        };
        for part in parts {
            let Json::Text(name) = part else {
                let message = "flag array element is not a string";
                return Err(wrong(message.into(), true));
            };
            match name.to_ascii_lowercase().as_str() {
                "all" => {
                    kinds = Kinds {
                        strings: true,
                        numbers: true,
                        truths: true,
                        keys: true,
                    }
                }
                "key" => kinds.keys = true,
                "string" => kinds.strings = true,
                "numeric" => kinds.numbers = true,
                "boolean" => kinds.truths = true,
                _ => {
                    let message = format!("wrong flag in flag array: \"{name}\"");
                    return Err(wrong(message, true));
                }
            }
        }
        Ok(kinds)
    }
}

fn add_document(document: &Json, kinds: Kinds, maker: &mut Maker) {
    match document {
        Json::Text(text) if kinds.strings => maker.add(text),
        Json::Number(number) if kinds.numbers => maker.add(&number.to_string()),
        Json::Bool(truth) if kinds.truths => maker.add(if *truth { "true" } else { "false" }),
        Json::Array(parts) => (parts.iter()).for_each(|part| add_document(part, kinds, maker)),
        Json::Object(pairs) => {
            for (key, value) in pairs {
                if kinds.keys {
                    maker.add(key);
                }
                add_document(value, kinds, maker);
            }
        }
        _ => {}
    }
}

/// The same of a document as it is written.
fn add_node(node: &Node<'_>, kinds: Kinds, maker: &mut Maker) {
    use quintet_base::json::Kind;
    match &node.kind {
        Kind::Text(text) if kinds.strings => maker.add(text),
        Kind::Number if kinds.numbers => maker.add(node.text),
        Kind::Bool(truth) if kinds.truths => maker.add(if *truth { "true" } else { "false" }),
        Kind::Array(parts) => (parts.iter()).for_each(|part| add_node(part, kinds, maker)),
        Kind::Object(pairs) => {
            for (key, value) in pairs {
                if kinds.keys {
                    maker.add(key);
                }
                add_node(value, kinds, maker);
            }
        }
        _ => {}
    }
}

fn document_to_vector(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let (config, rest) = config_and_rest(args, host)?;
    let kinds = match rest.get(1) {
        Some(filter) => Kinds::of(json(filter))?,
        None => Kinds::STRINGS,
    };
    let mut maker = Maker::new(config);
    match rest[0] {
        Value::Jsonb(document) => add_document(document, kinds, &mut maker),
        text => add_node(&quintet_base::json::parse(str(text))?, kinds, &mut maker),
    }
    made(maker, host)
}

fn to_query(style: Style, args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let (config, rest) = config_and_rest(args, host)?;
    let text = str(rest[0]);
    let read = make::query(config, style, text).map_err(told)?;
    if read.query.items.is_empty() {
        let message = match read.nothing {
            true => format!("text-search query doesn't contain lexemes: \"{text}\""),
            false => {
                "text-search query contains only stop words or doesn't contain lexemes, ignored"
                    .to_string()
            }
        };
        host.notice(
            "NOTICE",
            SqlError::new(SqlState::SUCCESSFUL_COMPLETION, message),
        );
    }
    Ok(query_value(&read.query))
}

pub(super) fn matches(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let found = run::matches(&vector(args[0]), &remembered(args[1]));
    Ok(Value::Bool(found))
}

fn matched_by(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    matches(&[args[1], args[0]], host)
}

fn text_matches(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let vector = make::vector(session_config(host)?, str(args[0])).map_err(told)?;
    Ok(Value::Bool(run::matches(&vector, &remembered(args[1]))))
}

fn text_matches_text(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let query = to_query(Style::Plain, &args[1..], host)?;
    text_matches(&[args[0], &query], host)
}

fn both(op: Op, args: &[&Value]) -> SqlResult<Value> {
    Ok(query_value(&query(args[0]).join(op, query(args[1]))))
}

fn not(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(query_value(&query(args[0]).negated()))
}

fn phrase(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let distance = args.get(2).map_or(1, |distance| int(distance));
    let joined = make::phrase(query(args[0]), query(args[1]), distance);
    Ok(query_value(&joined.map_err(told)?))
}

fn contains(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(query(args[0]).contains(&query(args[1]))))
}

fn is_contained(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    contains(&[args[1], args[0]], host)
}

fn concatenate(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let whole = vector(args[0]).concat(vector(args[1]));
    Ok(vector_value(&whole.map_err(told)?))
}

/// A binary operator of queries, under its symbol or a name.
const fn of_queries(name: &'static str, body: Body) -> Function {
    new(name, &[Query, Query], Query, body)
}

/// A function of a text that takes a configuration, if one is given.
macro_rules! with_config {
    ($name:literal, $($arg:ident),+ => $result:ident, $body:expr) => {
        [
            new($name, &[Config, $($arg),+], $result, $body),
            new($name, &[$($arg),+], $result, $body).stable(),
        ]
    };
}

static TO_VECTOR: [Function; 2] = with_config!("to_tsvector", Text => Vector, to_vector);
static OF_JSONB: [Function; 2] = with_config!("to_tsvector", Jsonb => Vector, document_to_vector);
static OF_JSON: [Function; 2] = with_config!("to_tsvector", Plain => Vector, document_to_vector);
static PARTS_OF_JSONB: [Function; 2] =
    with_config!("jsonb_to_tsvector", Jsonb, Jsonb => Vector, document_to_vector);
static PARTS_OF_JSON: [Function; 2] =
    with_config!("json_to_tsvector", Plain, Jsonb => Vector, document_to_vector);
static TO_QUERY: [Function; 2] = with_config!("to_tsquery", Text => Query, |args, host| to_query(
    Style::Operators,
    args,
    host
));
static PLAIN_TO_QUERY: [Function; 2] =
    with_config!("plainto_tsquery", Text => Query, |args, host| to_query(Style::Plain, args, host));
static PHRASE_TO_QUERY: [Function; 2] = with_config!("phraseto_tsquery", Text => Query, |args, host| to_query(
    Style::Phrase,
    args,
    host
));
static WEB_TO_QUERY: [Function; 2] = with_config!("websearch_to_tsquery", Text => Query, |args, host| to_query(
    Style::Web,
    args,
    host
));

static OPERATORS: &[Function] = &[
    new("@@", &[Vector, Query], Bool, matches),
    new("@@", &[Query, Vector], Bool, matched_by),
    new("@@", &[Text, Query], Bool, text_matches).stable(),
    new("@@", &[Text, Text], Bool, text_matches_text).stable(),
    new("@@@", &[Vector, Query], Bool, matches),
    new("@@@", &[Query, Vector], Bool, matched_by),
    new("ts_match_vq", &[Vector, Query], Bool, matches),
    new("ts_match_qv", &[Query, Vector], Bool, matched_by),
    new("ts_match_tq", &[Text, Query], Bool, text_matches).stable(),
    new("ts_match_tt", &[Text, Text], Bool, text_matches_text).stable(),
    new("||", &[Vector, Vector], Vector, concatenate),
    new("tsvector_concat", &[Vector, Vector], Vector, concatenate),
    of_queries("&&", |args, _| both(Op::And, args)),
    of_queries("tsquery_and", |args, _| both(Op::And, args)),
    of_queries("||", |args, _| both(Op::Or, args)),
    of_queries("tsquery_or", |args, _| both(Op::Or, args)),
    of_queries("<->", phrase),
    of_queries("tsquery_phrase", phrase),
    new("tsquery_phrase", &[Query, Query, Int4], Query, phrase),
    new("!!", &[Query], Query, not),
    new("tsquery_not", &[Query], Query, not),
    new("@>", &[Query, Query], Bool, contains),
    new("tsq_mcontains", &[Query, Query], Bool, contains),
    new("<@", &[Query, Query], Bool, is_contained),
    new("tsq_mcontained", &[Query, Query], Bool, is_contained),
];

/// All of them.
pub(super) static FAMILIES: &[&[Function]] = &[
    &TO_VECTOR,
    &OF_JSONB,
    &OF_JSON,
    &PARTS_OF_JSONB,
    &PARTS_OF_JSON,
    &TO_QUERY,
    &PLAIN_TO_QUERY,
    &PHRASE_TO_QUERY,
    &WEB_TO_QUERY,
    OPERATORS,
    parts::FUNCTIONS,
    ranks::FUNCTIONS,
    ranks::HEADLINES,
];

/// An array of values of one type.
fn array(element: SqlType, values: Vec<Value>) -> Value {
    Value::Array(Box::new(quintet_base::value::Array::new(element, values)))
}
