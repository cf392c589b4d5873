//! DECLARE sections, and what the parser is told instead.
//!
//! Relies on: `tokens`.  Promises: the parser has no catalogue, so every type in a DECLARE section
//! is replaced before it sees it, by `int` for what has a single value and by `record` for what
//! has fields; a name that is no type of PostgreSQL's is taken for a table's. Lines stay what they
//! are. `#option` lines are refused here because the parser would print.
//! Does not: find the scope of a section; `read` meets them in order.
//!
//! A section begins at the word DECLARE where a statement can begin. SQL may have a column of that
//! name in such a place (`CASE WHEN a THEN declare END`): what follows is then no declaration, and
//! it is left alone.

use super::Failure;
use super::header;
use super::tokens::Tokens;
use super::tree::DataType;
use crate::names::strings;
use crate::variables::Conflict;
use crate::{parse, types};
use pg_query::protobuf::TypeName;
use quintet_base::SqlType;
use quintet_base::types::Any;
use std::collections::BTreeMap;
use std::ops::Range;

/// Words that PL/pgSQL keeps for itself, so that nothing is declared by their names.
const RESERVED: &[&str] = &[
    "all", "begin", "by", "case", "declare", "else", "end", "execute", "for", "foreach", "from",
    "if", "in", "into", "loop", "not", "null", "or", "strict", "then", "to", "using", "when",
    "while",
];

/// What `#variable_conflict` may say.
const CONFLICTS: &[(&str, Conflict)] = &[
    ("error", Conflict::Error),
    ("use_column", Conflict::Column),
    ("use_variable", Conflict::Variable),
];

/// What precedes a statement.
const BEFORE_STATEMENT: &[&str] = &[";", "begin", "then", "else", "loop", ">>"];

/// What a body declares, by the token of DECLARE.
#[derive(Default)]
pub(crate) struct Sections {
    /// The first token behind `#option` lines.
    pub start: usize,
    /// What they say of names that are a column's, too.
    pub conflict: Conflict,
    pub by_token: BTreeMap<usize, Section>,
}

/// What one DECLARE section declares.
pub(crate) struct Section {
    pub items: Vec<Item>,
    /// The token of BEGIN.
    pub end: usize,
}

/// One declaration.
pub(crate) struct Item {
    pub name: String,
    /// The token of its name.
    pub token: usize,
    pub kind: ItemKind,
}

/// What is declared.
pub(crate) enum ItemKind {
    /// Another name of something.
    Alias(Vec<String>),
    /// A cursor.
    Cursor(Box<DeclaredCursor>),
    /// A variable.
    Variable(Box<Declared>),
}

/// A cursor.
pub(crate) struct DeclaredCursor {
    /// The tokens of its query.
    pub query: Range<usize>,
    pub arguments: Vec<DeclaredArgument>,
    /// SCROLL or NO SCROLL.
    pub scroll: Option<bool>,
}

/// What a cursor takes.
pub(crate) struct DeclaredArgument {
    pub name: String,
    /// The token of its name.
    pub token: usize,
    pub data_type: DataType,
    pub fields: bool,
    /// The tokens of its type.
    types: Range<usize>,
}

/// A variable.
pub(crate) struct Declared {
    pub data_type: DataType,
    /// What the parser takes its type for.
    pub fields: bool,
    pub constant: bool,
    /// The collation that is named behind it.
    pub collation: Option<String>,
    pub not_null: bool,
    /// The tokens of its first value.
    pub default: Option<Range<usize>>,
    /// The tokens of its type.
    types: Range<usize>,
}

/// Finds the sections of a body.
pub(crate) fn sections(tokens: &Tokens) -> Result<Sections, Failure> {
    let (start, conflict) = options(tokens)?;
    let mut found = Sections {
        start,
        conflict,
        ..Sections::default()
    };
    // Whether the last variable of a name has fields, for `name%TYPE`.
    let mut with_fields = BTreeMap::new();
    let mut at = found.start;
    while at < tokens.len() {
        let begins = at == found.start || tokens.is_any(at - 1, BEFORE_STATEMENT);
        if begins
            && tokens.is(at, "declare")
            && let Some(section) = section(tokens, at + 1, &mut with_fields)?
        {
            let end = section.end;
            found.by_token.insert(at, section);
            at = end;
            continue;
        }
        at += 1;
    }
    Ok(found)
}

/// `#variable_conflict` lines, of which the last counts; others are refused.
fn options(tokens: &Tokens) -> Result<(usize, Conflict), Failure> {
    let mut conflict = Conflict::default();
    let mut at = 0;
    while tokens.is(at, "#") {
        let said = match tokens.is(at + 1, "variable_conflict") {
            true => CONFLICTS.iter().find(|(word, _)| tokens.is(at + 2, word)),
            false => None,
        };
        if let Some((_, means)) = said {
            conflict = *means;
        } else {
            let what = match tokens.text(at + 1) {
                "option" => "#option".to_string(),
                name => format!("#{name} {}", tokens.text(at + 2)),
            };
            return Err(Failure::unsupported(&what, tokens.start(at)));
        }
        at += 3;
    }
    Ok((at, conflict))
}

fn section(
    tokens: &Tokens,
    mut at: usize,
    with_fields: &mut BTreeMap<String, bool>,
) -> Result<Option<Section>, Failure> {
    let mut items = Vec::new();
    loop {
        if tokens.is(at, "begin") {
            return Ok(Some(Section { items, end: at }));
        }
        if tokens.is(at, "declare") {
            at += 1;
            continue;
        }
        let Some(name) = tokens.name(at).filter(|_| !tokens.is_any(at, RESERVED)) else {
            return Ok(None);
        };
        let token = at;
        let Some((kind, end)) = item(tokens, at + 1, with_fields)? else {
            return Ok(None);
        };
        if let ItemKind::Variable(declared) = &kind {
            with_fields.insert(name.clone(), declared.fields);
        }
        items.push(Item { name, token, kind });
        if !tokens.is(end, ";") {
            return Ok(None);
        }
        at = end + 1;
    }
}

/// What stands behind a name, and the token behind it.
fn item(
    tokens: &Tokens,
    at: usize,
    with_fields: &BTreeMap<String, bool>,
) -> Result<Option<(ItemKind, usize)>, Failure> {
    if tokens.is(at, "alias") && tokens.is(at + 1, "for") {
        let (names, end) = dotted(tokens, at + 2);
        return Ok((!names.is_empty()).then_some((ItemKind::Alias(names), end)));
    }
    let not = tokens.is(at, "no");
    let scrolls = tokens.is(at + usize::from(not), "scroll");
    let word = at + usize::from(not) + usize::from(scrolls);
    if tokens.is(word, "cursor") {
        return cursor(tokens, word + 1, scrolls.then_some(!not), with_fields);
    }
    let constant = tokens.is(at, "constant");
    let start = at + usize::from(constant);
    let mut at = start;
    while !tokens.is_any(at, &[";", "collate", "not", "default", "=", ":="]) {
        if at >= tokens.len() {
            return Ok(None);
        }
        at += 1;
    }
    let types = start..at;
    let Some((data_type, fields)) = data_type(tokens, &types, with_fields)? else {
        return Ok(None);
    };
    let mut declared = Declared {
        data_type,
        fields,
        constant,
        collation: None,
        not_null: false,
        default: None,
        types,
    };
    if tokens.is(at, "collate") {
        let (names, behind) = dotted(tokens, at + 1);
        declared.collation = Some(names.join("."));
        at = behind;
        declared.types.end = at;
    }
    if tokens.is(at, "not") && tokens.is(at + 1, "null") {
        declared.not_null = true;
        at += 2;
    }
    if tokens.is_any(at, &["default", "=", ":="]) {
        let end = tokens.find_outside(at + 1, &[";"]);
        declared.default = Some(at + 1..end);
        at = end;
    }
    Ok(Some((ItemKind::Variable(Box::new(declared)), at)))
}

/// What stands behind CURSOR, and the token behind it.
fn cursor(
    tokens: &Tokens,
    mut at: usize,
    scroll: Option<bool>,
    with_fields: &BTreeMap<String, bool>,
) -> Result<Option<(ItemKind, usize)>, Failure> {
    let mut arguments = Vec::new();
    if tokens.is(at, "(") {
        loop {
            let token = at + 1;
            let end = tokens.find_outside(token, &[",", ")"]);
            let (Some(name), true) = (tokens.name(token), token + 1 < end) else {
                return Ok(None);
            };
            let types = token + 1..end;
            let Some((data_type, fields)) = data_type(tokens, &types, with_fields)? else {
                return Ok(None);
            };
            arguments.push(DeclaredArgument {
                name,
                token,
                data_type,
                fields,
                types,
            });
            at = end;
            if tokens.is(at, ")") {
                break;
            }
        }
        at += 1;
    }
    if !tokens.is_any(at, &["for", "is"]) {
        return Ok(None);
    }
    let query = at + 1..tokens.find_outside(at + 1, &[";"]);
    let end = query.end;
    let is_one = !query.is_empty();
    let cursor = DeclaredCursor {
        query,
        arguments,
        scroll,
    };
    Ok(is_one.then_some((ItemKind::Cursor(Box::new(cursor)), end)))
}

/// Names with dots between them, `$1` too, and the token behind.
pub(crate) fn dotted(tokens: &Tokens, mut at: usize) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    loop {
        let name = match tokens.name(at) {
            Some(name) => name,
            None if tokens.text(at).starts_with('$') => tokens.text(at).to_string(),
            None => return (names, at),
        };
        names.push(name);
        at += 1;
        if !tokens.is(at, ".") {
            return (names, at);
        }
        at += 1;
    }
}

/// The type that some tokens name, and whether it has fields; none if they name none.
fn data_type(
    tokens: &Tokens,
    range: &Range<usize>,
    with_fields: &BTreeMap<String, bool>,
) -> Result<Option<(DataType, bool)>, Failure> {
    let (names, end) = dotted(tokens, range.start);
    if tokens.is(end, "%") && end < range.end {
        let array = end + 2 < range.end;
        let of_record = match names.as_slice() {
            [name] => with_fields.get(name).copied().unwrap_or(false),
            _ => false,
        };
        return Ok(if tokens.is(end + 1, "type") {
            Some((DataType::TypeOf { names, array }, of_record && !array))
        } else if tokens.is(end + 1, "rowtype") && !array {
            Some((DataType::RowOf { names }, true))
        } else if tokens.is(end + 1, "rowtype") {
            let here = tokens.start(range.start);
            return Err(Failure::unsupported("an array of rows", here));
        } else {
            None
        });
    }
    if range.is_empty() {
        return Ok(None);
    }
    let start = tokens.start(range.start);
    let written = tokens
        .source
        .get(start..tokens.end(range.end - 1))
        .unwrap_or_default();
    let Some(name) = parse::parse_type(written) else {
        return Ok(None);
    };
    // A scalar type or array of any keeps its text as written.
    let fields = !is_scalar(tokens, &name);
    match header::of_name(&name) {
        Ok(DataType::Named { name, .. }) => {
            let text = written.to_string();
            Ok(Some((DataType::Named { text, name }, fields)))
        }
        Ok(other) => Ok(Some((other, fields))),
        Err(error) => Err(Failure::at(error, start)),
    }
}

/// True for types that PostgreSQL has, enums, domains and arrays; the others are tables' as far as one can tell.
fn is_scalar(tokens: &Tokens, name: &TypeName) -> bool {
    if !name.array_bounds.is_empty() {
        return true;
    }
    let parts = strings(&name.names);
    let is_known = match parts.as_slice() {
        [name] | ["pg_catalog", name] => {
            // A record has fields, though expressions know it as a type.
            let known = SqlType::from_name(name).filter(|ty| *ty != SqlType::Record);
            known.is_some() || Any::from_name(name).is_some() || types::is_foreign(name)
        }
        _ => false,
    };
    is_known || (tokens.single)(&parts)
}

/// True if a parameter of this type has fields.
pub(crate) fn has_fields(tokens: &Tokens, data_type: &DataType) -> bool {
    match data_type {
        DataType::Named { name, .. } => !is_scalar(tokens, name),
        DataType::TypeOf { .. } => false,
        DataType::RowOf { .. } | DataType::Record => true,
    }
}

/// What the parser is told of a type.
pub(crate) fn plain_type(fields: bool, is_cursor: bool) -> &'static str {
    match (fields, is_cursor) {
        (true, _) => "record",
        (false, true) => "refcursor",
        (false, false) => "int",
    }
}

/// True for the type of a variable that OPEN, FETCH and CLOSE may name.
pub(crate) fn is_refcursor(data_type: &DataType) -> bool {
    let DataType::Named { name, .. } = data_type else {
        return false;
    };
    name.array_bounds.is_empty()
        && matches!(
            strings(&name.names).as_slice(),
            ["refcursor"] | ["pg_catalog", "refcursor"]
        )
}

/// The body up to a byte of it, with types that the parser knows.
pub(crate) fn plain(tokens: &Tokens, sections: &Sections, end: usize) -> String {
    let part = |from: usize, to: usize| tokens.source.get(from..to).unwrap_or_default();
    let mut text = String::new();
    let mut done = 0;
    let items = sections
        .by_token
        .values()
        .flat_map(|section| &section.items);
    let types = items.flat_map(|item| match &item.kind {
        ItemKind::Alias(_) => Vec::new(),
        ItemKind::Cursor(cursor) => {
            let arguments = cursor.arguments.iter();
            let plain =
                |argument: &DeclaredArgument| (argument.types.clone(), argument.fields, false);
            arguments.map(plain).collect()
        }
        ItemKind::Variable(declared) => {
            let is_cursor = is_refcursor(&declared.data_type);
            vec![(declared.types.clone(), declared.fields, is_cursor)]
        }
    });
    for (types, fields, is_cursor) in types {
        let start = tokens.start(types.start);
        let behind = tokens.end(types.end - 1);
        if behind > end {
            break;
        }
        text.push_str(part(done, start));
        text.push_str(plain_type(fields, is_cursor));
        let lines = part(start, behind).matches('\n').count();
        text.extend(std::iter::repeat_n('\n', lines));
        // What follows may be a word.
        text.push(' ');
        done = behind;
    }
    text.push_str(part(done, end));
    text
}
