//! What an inverted index has entries for, and which of them a condition asks for.
//!
//! Relies on: `base::key`; the hash of `partition`, which is kept for ever.  Promises: if a condition is true for a value, the
//! value's elements are among those that [`wanted`] says it takes, all or any of them; equal elements have equal bytes, and
//! no element's bytes begin with another's.  Does not: tell whether a condition is true: rows that are found are asked
//! again; say what types there are operator classes for (`sql`).
//!
//! ```text
//!   array     each element as in keys; 03 if there is none        '{a,NULL}'  ─►  01 'a'  02
//!   jsonb     10 and the text   a key, or an element that is a string
//!             20 and the text, 30 and the number, 40 null, 41 false, 42 true   other values
//!                                                     '{"a": [1, "b"]}'  ─►  10 'a'  30 1  10 'b'
//!   hstore    10 and the key   each key; 60, the key, 00 and the text   each pair; 61 and the key   one of NULL
//!   whole     70 and the value as in keys: one element               7    ─►  70 7
//!   trigrams  the three bytes of each                               'at'  ─►  "  a" " at" "at "
//!   words     50 and the word                                    'a':1 'b':2  ─►  50 'a'  50 'b'
//!   paths     the hash of each value with the keys that lead to it: '{"a": [1, "b"]}'  ─►  #(a 1)  #(a 'b')
//!   long      04 and the hash, for what takes more than 128 bytes
//! ```

mod texts;

use crate::expr::Expr;
use crate::partition::hash_of_bytes;
use quintet_base::datum::Datum;
use quintet_base::json::Json;
use quintet_base::lexemes::query_of;
use quintet_base::lexemes::textsearch::Query;
use quintet_base::lexemes::textsearch::query::{Item, Op};
use quintet_base::lexemes::textsearch::vector::Words;
use quintet_base::pairs::Pairs;
use quintet_base::value::Array;
use quintet_base::{SqlType, Value, key};

/// What of a column's values has entries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Elements {
    /// The elements of an array: `array_ops`.
    OfArray,
    /// Keys and values of a document: `jsonb_ops`.
    OfJson,
    /// Values of a document with the keys that lead there: `jsonb_path_ops`.
    PathsOfJson,
    /// The words of a text: `tsvector_ops`.
    Words,
    /// Keys, and keys with their texts: `gin_hstore_ops`.
    OfPairs,
    /// The trigrams of a text: `gin_trgm_ops`.
    Trigrams,
    /// The value itself, of what has an order and no parts: the classes of `btree_gin`.
    Whole,
}

/// A condition that entries can answer. The column is on the left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Test {
    /// `@>`
    Contains,
    /// `<@`
    IsContained,
    /// `&&`
    Overlaps,
    /// `=`
    Equals,
    /// `?`
    HasKey,
    /// `?|`
    HasAny,
    /// `?&`
    HasAll,
    /// `@@`
    Matches,
    /// `~~`
    Like,
    /// `~~*`
    LikeAnyCase,
    /// `~`
    Pattern,
    /// `~*`
    PatternAnyCase,
    /// `%`
    Similar,
    /// `%>`
    HasWord,
    /// `%>>`
    HasStrictWord,
}

/// One condition on a column of an inverted index.
#[derive(Clone, Debug)]
pub struct Sought {
    /// Which of the columns that the index was asked for over.
    pub place: usize,
    /// The condition.
    pub test: Test,
    /// What the column is compared with; it sees the outer frame only.
    pub value: Expr,
}

/// Which elements a condition asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Nothing can be said: it may be true for any value but NULL.
    Anything,
    /// It is true for no value.
    Nothing,
    /// A value that has all of them, at least one; those that tell most first.
    All(Vec<Vec<u8>>),
    /// A value that has one of them, of at least one.
    Any(Vec<Vec<u8>>),
    /// A value that has so many of them, at least one.
    AtLeast(usize, Vec<Vec<u8>>),
    /// A value of whose elements this is true.
    Tree(Tree),
}

/// What is said of elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tree {
    /// This one is there.
    Element(Vec<u8>),
    /// One is there that begins with one of these.
    Prefix(Vec<Vec<u8>>),
    /// All of that is true.
    All(Vec<Tree>),
    /// Some of that is.
    Any(Vec<Tree>),
}

impl Tree {
    fn depth(&self) -> usize {
        match self {
            Tree::Element(_) | Tree::Prefix(_) => 0,
            // Bounded by what is made, below.
            Tree::All(parts) | Tree::Any(parts) => {
                1 + parts.iter().map(Tree::depth).max().unwrap_or(0)
            }
        }
    }
}

/// An array without elements.
const NO_ELEMENTS: u8 = 0x03;
/// A hash in the place of what is long.
const LONG: u8 = 0x04;
const JSON_KEY: u8 = 0x10;
const JSON_TEXT: u8 = 0x20;
const JSON_NUMBER: u8 = 0x30;
const JSON_NULL: u8 = 0x40;
const JSON_FALSE: u8 = 0x41;
const JSON_TRUE: u8 = 0x42;
const WORD: u8 = 0x50;
const WHOLE: u8 = 0x70;
const PAIR: u8 = 0x60;
const PAIR_OF_NULL: u8 = 0x61;

/// What is longer is kept as a hash: an entry is to be found, not to be read.
const ELEMENT_BYTES_MAX: usize = 128;

/// Parts of queries that nest deeper are not looked for.
const TREE_DEPTH_MAX: usize = 32;

impl Test {
    /// Every one of them.
    pub const ALL: [Test; 15] = [
        Test::Contains,
        Test::IsContained,
        Test::Overlaps,
        Test::Equals,
        Test::HasKey,
        Test::HasAny,
        Test::HasAll,
        Test::Matches,
        Test::Like,
        Test::LikeAnyCase,
        Test::Pattern,
        Test::PatternAnyCase,
        Test::Similar,
        Test::HasWord,
        Test::HasStrictWord,
    ];

    /// What an operator asks of a column on its left, and of one on its right.
    pub fn written(symbol: &str) -> (Option<Test>, Option<Test>) {
        let mut tests = Test::ALL.into_iter();
        let test = tests.find(|test| test.symbol() == symbol);
        let turned = match (test, symbol) {
            (Some(Test::Contains), _) => Some(Test::IsContained),
            (Some(Test::IsContained), _) => Some(Test::Contains),
            // A query may stand before what it is asked of.
            (Some(Test::Overlaps | Test::Equals | Test::Matches | Test::Similar), _) => test,
            (_, "<%") => Some(Test::HasWord),
            (_, "<<%") => Some(Test::HasStrictWord),
            _ => None,
        };
        (test, turned)
    }

    /// As SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Test::Contains => "@>",
            Test::IsContained => "<@",
            Test::Overlaps => "&&",
            Test::Equals => "=",
            Test::HasKey => "?",
            Test::HasAny => "?|",
            Test::HasAll => "?&",
            Test::Matches => "@@",
            Test::Like => "~~",
            Test::LikeAnyCase => "~~*",
            Test::Pattern => "~",
            Test::PatternAnyCase => "~*",
            Test::Similar => "%",
            Test::HasWord => "%>",
            Test::HasStrictWord => "%>>",
        }
    }
}

impl Elements {
    /// Whether entries answer the condition.
    pub fn answer(self, test: Test) -> bool {
        use Test::*;
        match self {
            Elements::OfArray => matches!(test, Contains | IsContained | Overlaps | Equals),
            Elements::OfJson | Elements::OfPairs => {
                matches!(test, Contains | HasKey | HasAny | HasAll)
            }
            Elements::PathsOfJson => test == Contains,
            Elements::Words => test == Matches,
            Elements::Whole => test == Equals,
            Elements::Trigrams => {
                let of_text =
                    matches!(test, Like | LikeAnyCase | Pattern | PatternAnyCase | Equals);
                of_text || matches!(test, Similar | HasWord | HasStrictWord)
            }
        }
    }

    /// The type of what a column of type `column` is compared with.
    pub fn compared(self, test: Test, column: SqlType) -> SqlType {
        match test {
            Test::HasKey => SqlType::Text,
            Test::HasAny | Test::HasAll => SqlType::TextArray,
            Test::Matches => SqlType::TsQuery,
            _ if self == Elements::Trigrams => SqlType::Text,
            _ => column,
        }
    }

    /// Whether a column may be of this type.
    pub fn fit(self, column: SqlType) -> bool {
        match self {
            Elements::OfArray => column.element().is_some(),
            Elements::OfJson | Elements::PathsOfJson => column == SqlType::Jsonb,
            Elements::Words => column == SqlType::TsVector,
            Elements::OfPairs => column == SqlType::Hstore,
            Elements::Trigrams => {
                matches!(column, SqlType::Text | SqlType::Varchar | SqlType::Citext)
            }
            Elements::Whole => column.element().is_none(),
        }
    }

    /// The elements of a value, each once, in the order of their bytes. NULL has none.
    pub fn of(self, value: &Value) -> Vec<Vec<u8>> {
        let mut found = self.listed(value);
        found.sort_unstable();
        found.dedup();
        found
    }

    fn listed(self, value: &Value) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        match (self, value) {
            (Elements::OfArray, Value::Array(array)) => {
                found.extend(array.values.iter().map(|value| element(array, value)));
                if found.is_empty() {
                    found.push(vec![NO_ELEMENTS]);
                }
            }
            (Elements::OfJson, Value::Jsonb(json)) => parts(json, true, &mut found),
            (Elements::PathsOfJson, Value::Jsonb(json)) => {
                paths(json, &mut Vec::new(), &mut found);
            }
            (Elements::OfPairs, Value::Bytea(bytes)) => {
                for (key, text) in Pairs::of_bytes(bytes).iter() {
                    found.push(json_key(key));
                    found.push(match text {
                        Some(text) => tagged(PAIR, &format!("{key}\0{text}")),
                        None => tagged(PAIR_OF_NULL, key),
                    });
                }
            }
            (Elements::Words, Value::Bytea(bytes)) => {
                let words = Words::of(bytes).into_iter().flatten().flatten();
                found.extend(words.map(|(word, _)| tagged(WORD, word)));
            }
            (Elements::Trigrams, Value::Text(text)) => found = texts::listed(text),
            (Elements::Whole, value) if !value.is_null() => {
                let mut whole = vec![WHOLE];
                match value {
                    // Of char(n) they count for nothing; of what else they do, rows are asked.
                    Value::Text(text) => {
                        key::encode_datum(Datum::Text(text.trim_end_matches(' ')), &mut whole);
                    }
                    value => key::encode(value, &mut whole),
                }
                found.push(short(whole));
            }
            _ => {}
        }
        found
    }
}

/// Which elements a value has that fulfils the condition with this one; `threshold`: see [`crate::function::trigram::threshold`].
pub fn wanted(elements: Elements, test: Test, with: &Value, threshold: f64) -> Wanted {
    let keys = |with: &Value| -> Vec<Vec<u8>> {
        let Value::Array(array) = with else {
            return Vec::new();
        };
        let texts = array.values.iter().filter_map(Value::as_str);
        texts.map(json_key).collect()
    };
    match (test, with) {
        (_, Value::Null) => Wanted::Nothing,
        (test, with) if elements == Elements::Trigrams => texts::wanted(test, with, threshold),
        (Test::Matches, Value::Bytea(bytes)) => asked(&query_of(bytes)),
        (Test::HasKey, Value::Text(text)) => Wanted::All(vec![json_key(text)]),
        (Test::HasAny, with) => any(keys(with)),
        (Test::HasAll, with) => all(keys(with)),
        (Test::Contains, Value::Array(array)) if array.values.iter().any(Value::is_null) => {
            Wanted::Nothing
        }
        // What has no elements is a part of everything.
        (Test::Contains, Value::Array(array)) if array.values.is_empty() => Wanted::Anything,
        (Test::Contains | Test::Equals, with) => all(elements.listed(with)),
        (Test::Overlaps | Test::IsContained, Value::Array(array)) => {
            let known = array.values.iter().filter(|value| !value.is_null());
            let mut found: Vec<Vec<u8>> = known.map(|value| element(array, value)).collect();
            if test == Test::IsContained {
                found.push(vec![NO_ELEMENTS]);
            }
            any(found)
        }
        _ => Wanted::Anything,
    }
}

/// What a query asks of words.
fn asked(query: &Query) -> Wanted {
    if query.items.is_empty() {
        return Wanted::Nothing;
    }
    // None: it may be true whatever words there are.
    let mut open: Vec<Option<Tree>> = Vec::new();
    for item in &query.items {
        let tree = match item {
            Item::Word(operand) if operand.prefix => {
                let mut begins = vec![WORD];
                key::encode_datum(Datum::Text(&operand.word), &mut begins);
                // Without what ends a text. Long words are hashes, of which nobody knows how they begin.
                begins.truncate(begins.len() - key::TEXT_END_BYTES);
                Some(Tree::Prefix(vec![begins, vec![LONG]]))
            }
            Item::Word(operand) => Some(Tree::Element(tagged(WORD, &operand.word))),
            Item::Op(Op::Not) => {
                open.pop();
                None
            }
            Item::Op(op) => {
                let (right, left) = (open.pop().flatten(), open.pop().flatten());
                match (left, right, op) {
                    (Some(left), Some(right), Op::Or) => Some(either(left, right)),
                    (_, _, Op::Or) => None,
                    (Some(left), Some(right), _) => Some(together(left, right)),
                    (left, right, _) => left.or(right),
                }
            }
        };
        open.push(tree.filter(|tree| tree.depth() <= TREE_DEPTH_MAX));
    }
    match open.pop().flatten() {
        Some(tree) => Wanted::Tree(tree),
        None => Wanted::Anything,
    }
}

fn either(left: Tree, right: Tree) -> Tree {
    let parts = |tree| match tree {
        Tree::Any(parts) => parts,
        tree => vec![tree],
    };
    let mut all = parts(left);
    all.extend(parts(right));
    Tree::Any(all)
}

fn together(left: Tree, right: Tree) -> Tree {
    let parts = |tree| match tree {
        Tree::All(parts) => parts,
        tree => vec![tree],
    };
    let mut all = parts(left);
    all.extend(parts(right));
    Tree::All(all)
}

fn all(mut found: Vec<Vec<u8>>) -> Wanted {
    found.sort_unstable();
    found.dedup();
    // Many documents have the same keys; values tell them apart.
    found.sort_by_key(|element| element.first() == Some(&JSON_KEY));
    match found.is_empty() {
        true => Wanted::Anything,
        false => Wanted::All(found),
    }
}

fn any(mut found: Vec<Vec<u8>>) -> Wanted {
    found.sort_unstable();
    found.dedup();
    match found.is_empty() {
        true => Wanted::Nothing,
        false => Wanted::Any(found),
    }
}

/// `char(n)` without its trailing blanks, as in keys.
fn element(array: &Array, value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(16);
    match value {
        Value::Text(text) if array.element == SqlType::Bpchar => {
            key::encode_datum(Datum::Text(text.trim_end_matches(' ')), &mut out);
        }
        value => key::encode(value, &mut out),
    }
    short(out)
}

fn json_key(text: &str) -> Vec<u8> {
    tagged(JSON_KEY, text)
}

fn tagged(tag: u8, text: &str) -> Vec<u8> {
    let mut out = vec![tag];
    key::encode_datum(Datum::Text(text), &mut out);
    short(out)
}

fn short(element: Vec<u8>) -> Vec<u8> {
    if element.len() <= ELEMENT_BYTES_MAX {
        return element;
    }
    let mut out = vec![LONG];
    out.extend_from_slice(&hash_of_bytes(&element).to_be_bytes());
    out
}

/// Keys and values of a document. A string that is an element is found as a key is, and so is a document that is a string: `?` asks
/// for either.
fn parts(json: &Json, is_element: bool, found: &mut Vec<Vec<u8>>) {
    match json {
        Json::Null => found.push(vec![JSON_NULL]),
        Json::Bool(false) => found.push(vec![JSON_FALSE]),
        Json::Bool(true) => found.push(vec![JSON_TRUE]),
        Json::Number(number) => {
            let mut out = vec![JSON_NUMBER];
            key::encode(&Value::numeric(number.clone()), &mut out);
            found.push(short(out));
        }
        Json::Text(text) if is_element => found.push(json_key(text)),
        Json::Text(text) => found.push(tagged(JSON_TEXT, text)),
        Json::Array(elements) => (elements.iter()).for_each(|part| parts(part, true, found)),
        Json::Object(pairs) => {
            for (name, value) in pairs {
                found.push(json_key(name));
                parts(value, false, found);
            }
        }
    }
}

/// The hash of each value with the keys that lead to it; arrays are no part of a path, so that an array contains its elements.
fn paths(json: &Json, path: &mut Vec<u8>, found: &mut Vec<Vec<u8>>) {
    let before = path.len();
    match json {
        Json::Array(elements) => (elements.iter()).for_each(|part| paths(part, path, found)),
        Json::Object(pairs) => {
            for (name, value) in pairs {
                key::encode_datum(Datum::Text(name), path);
                paths(value, path, found);
                path.truncate(before);
            }
        }
        scalar => {
            match scalar {
                Json::Text(text) => {
                    path.push(JSON_TEXT);
                    key::encode_datum(Datum::Text(text), path);
                }
                Json::Number(number) => {
                    path.push(JSON_NUMBER);
                    key::encode(&Value::numeric(number.clone()), path);
                }
                Json::Bool(true) => path.push(JSON_TRUE),
                Json::Bool(false) => path.push(JSON_FALSE),
                _ => path.push(JSON_NULL),
            }
            found.push(hash_of_bytes(path).to_be_bytes().to_vec());
            path.truncate(before);
        }
    }
}

#[cfg(test)]
mod tests;
