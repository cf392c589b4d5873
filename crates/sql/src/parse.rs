//! The door to the parser: text to statements, and the parser's errors to ours.
//!
//! Relies on: `pg_query`, which is PostgreSQL's own grammar.  Promises: what PostgreSQL's grammar
//! accepts is accepted, an error has PostgreSQL's message and its position in characters; what
//! nests deeper than `base::stack` says is refused (54001) before anything but this file has seen the tree: the
//! parser's C code watches its own depth, and reading its tree, and measuring it, are given room by the length of the text.
//! Does not: look at names or types.
//!
//! A parser that is built without its `DEBUG` redirects the process's standard error while it runs (that
//! of `pg_query` 18.1 is built with it, and does not), so two parses at once could leave it redirected
//! for good. One lock around it prevents that; plans are cached by text, so nobody waits there in
//! earnest. What this process writes to standard error meanwhile would not arrive, and would even be
//! taken for an error of PL/pgSQL's parser, which then frees what it did not allocate: the same guard
//! holds the standard library's lock on it.

mod depth;

use crate::routine::{self, Explained};
use pg_query::NodeEnum;
use pg_query::protobuf::{self, TransactionStmtKind};
use quintet_base::{SqlError, SqlResult, SqlState, stack};
use std::io::StderrLock;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// PostgreSQL's statement_too_complex.
pub(crate) const TOO_COMPLEX: SqlState = SqlState(*b"54001");

/// One parser at a time; see the head of the file.
static PARSER: Mutex<()> = Mutex::new(());

/// Taken before any call of the parser, in this order; see the head of the file.
fn one_at_a_time() -> (MutexGuard<'static, ()>, StderrLock<'static>) {
    let parser = PARSER.lock().unwrap_or_else(PoisonError::into_inner);
    (parser, std::io::stderr().lock())
}

/// One statement: its tree and the text it came in.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The whole string that was parsed: positions count from its beginning.
    source: Arc<str>,
    /// Where in `source` the statement is.
    start: usize,
    end: usize,
    node: Option<NodeEnum>,
    /// Instead of a tree: a statement of our own.
    explained: Option<Explained>,
    /// It is what EXPLAIN CALL explains.
    explains_call: bool,
}

impl Parsed {
    /// A statement of no words.
    pub fn empty() -> Parsed {
        Parsed {
            source: Arc::from(""),
            start: 0,
            end: 0,
            node: None,
            explained: None,
            explains_call: false,
        }
    }

    /// The statement's own text, without what surrounds it.
    pub fn text(&self) -> &str {
        self.source[self.start..self.end].trim()
    }

    /// The line in which it begins, from 1.
    pub(crate) fn line(&self) -> u32 {
        let part = &self.source[self.start..self.end];
        let begin = self.start + part.len() - part.trim_start().len();
        let lines = self.source[..begin].matches('\n').count();
        u32::try_from(lines + 1).unwrap_or(u32::MAX)
    }

    /// True if there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.node.is_none() && self.explained.is_none()
    }

    /// True for what a failed transaction still takes: COMMIT, ROLLBACK, ROLLBACK TO.
    pub fn ends_transaction(&self) -> bool {
        use TransactionStmtKind::*;
        match &self.node {
            Some(NodeEnum::TransactionStmt(statement)) => matches!(
                statement.kind(),
                TransStmtCommit | TransStmtRollback | TransStmtRollbackTo
            ),
            _ => false,
        }
    }

    /// See [`crate::normalize()`].
    pub fn may_be_normalized(&self) -> bool {
        crate::normalize::may_be_normalized(self)
    }

    pub(crate) fn into_node(self) -> Option<NodeEnum> {
        self.node
    }

    pub(crate) fn node(&self) -> Option<&NodeEnum> {
        self.node.as_ref()
    }

    /// EXPLAIN PROCEDURE, EXPLAIN FUNCTION.
    pub(crate) fn explained(&self) -> Option<&Explained> {
        self.explained.as_ref()
    }

    /// EXPLAIN CALL: the node is the call.
    pub(crate) fn explains_call(&self) -> bool {
        self.explains_call
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }
}

/// Splits a string into its statements. Empty ones are left out.
///
/// # Errors
/// `42601` with PostgreSQL's message and the position, `54001` for too deep a nesting.
pub fn parse(text: &str) -> SqlResult<Vec<Parsed>> {
    let (tree, ours) = match routine::readable(text) {
        Some((readable, ours)) => (parse_tree(&readable)?, ours),
        None => (parse_tree(text)?, Vec::new()),
    };
    let source: Arc<str> = Arc::from(text);
    let statements = tree.stmts.into_iter().map(|raw| {
        let start = usize::try_from(raw.stmt_location).unwrap_or(0);
        let length = usize::try_from(raw.stmt_len).unwrap_or(0);
        let end = if length == 0 {
            source.len()
        } else {
            start + length
        };
        let mut node = raw.stmt.and_then(|node| node.node);
        let mut explained = None;
        let is_ours = ours.iter().any(|place| (start..end).contains(place));
        let explains_call = is_ours && matches!(node, Some(NodeEnum::CallStmt(_)));
        if let Some(NodeEnum::DropStmt(statement)) = &node
            && is_ours
        {
            explained = Some(Explained::new(statement)?);
            node = None;
        }
        Ok(Parsed {
            source: Arc::clone(&source),
            start,
            end,
            node,
            explained,
            explains_call,
        })
    });
    statements.collect()
}

fn parse_tree(text: &str) -> SqlResult<protobuf::ParseResult> {
    match run_parser(text) {
        Ok(tree) => Ok(tree),
        Err(pg_query::Error::Parse(message)) => Err(translate(text, &message)),
        Err(pg_query::Error::Decode(_)) => Err(too_complex()),
        Err(pg_query::Error::Conversion(_)) => Err(SqlError::new(
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            "invalid byte sequence for encoding \"UTF8\": 0x00",
        )),
        Err(other) => Err(SqlError::internal(other)),
    }
}

/// How many nodes may stand above one another: as many as ever fit into the parser's own stack, which is at most 2 MiB.
const LEVELS_READ_MAX: usize = 5_000;

/// Texts that cannot nest deeper are read on the stack as it is, and not measured.
const PLAIN_MAX: usize = 32;

fn run_parser(text: &str) -> Result<protobuf::ParseResult, pg_query::Error> {
    let most = depth::at_most(text);
    if most <= PLAIN_MAX {
        let _one_at_a_time = one_at_a_time();
        return pg_query::parse(text, 0).map(|result| result.protobuf);
    }
    let _ = GREETED.get_or_init(|| stack::before_leaving(greet));
    // A query in brackets is three nodes for two words.
    let levels = (most + most / 2).min(LEVELS_READ_MAX);
    stack::for_reading(levels, || {
        let tree = {
            let _one_at_a_time = one_at_a_time();
            pg_query::parse(text, 0)?.protobuf
        };
        match depth::of(&tree) > stack::DEPTH_MAX {
            // The tree goes here, where there is room for it.
            true => Err(pg_query::Error::Parse(TOO_DEEP.to_string())),
            false => Ok(tree),
        }
    })
}

static GREETED: OnceLock<()> = OnceLock::new();

/// On a stack that is not the thread's own, the parser takes what it was given on that: so it is called there once.
fn greet() {
    let _ = run_parser("");
}

/// Runs `work`, which makes plans, and may parse and print trees: see [`stack::for_planning`].
pub(crate) fn with_room<R>(work: impl FnOnce() -> R) -> R {
    let _ = GREETED.get_or_init(|| stack::before_leaving(greet));
    stack::for_planning(work)
}

/// What the parser says of what does not fit into its stack.
const TOO_DEEP: &str = "stack depth limit exceeded";

/// The same of a tree that does not fit into its message.
const TOO_DEEP_TO_WRITE: &str = "parse tree is nested too deeply";

/// And of a tree that is to be printed.
const TOO_DEEP_TO_READ: &str = "could not parse protobuf";

fn is_too_deep(message: &str) -> bool {
    message.starts_with(TOO_DEEP) || message.starts_with(TOO_DEEP_TO_WRITE)
}

pub(crate) fn too_complex() -> SqlError {
    SqlError::new(TOO_COMPLEX, TOO_DEEP)
        .hint("The statement nests its expressions or subqueries too deeply.")
}

/// The words of a text, comments too: where each begins and ends.
///
/// # Errors
/// `42601` with PostgreSQL's message, for quotes and comments without an end.
pub(crate) fn scan(text: &str) -> SqlResult<Vec<(usize, usize)>> {
    let tokens = {
        let _one_at_a_time = one_at_a_time();
        // Its quicker sister makes a slice from a null pointer if there are no words.
        pg_query::scan(text)
    };
    let tokens = match tokens {
        Ok(scanned) => scanned.tokens,
        Err(pg_query::Error::Scan(message)) => return Err(translate(text, &message)),
        Err(other) => return Err(SqlError::internal(other)),
    };
    let place = |token: &protobuf::ScanToken| {
        let start = usize::try_from(token.start).ok()?;
        Some((start, usize::try_from(token.end).ok()?))
    };
    Ok(tokens.iter().filter_map(place).collect())
}

/// What the parser of PL/pgSQL makes of one CREATE FUNCTION or PROCEDURE, or its message. The
/// statement must not be a trigger, nor have `#option` lines: the one yields no JSON, the other
/// prints to standard output.
///
/// # Errors
/// `54001` for too deep a nesting, `XX000` for an answer that cannot be read.
pub(crate) fn parse_plpgsql(text: &str) -> SqlResult<Result<serde_json::Value, String>> {
    let _one_at_a_time = one_at_a_time();
    match pg_query::parse_plpgsql(text) {
        Ok(answer) => Ok(Ok(answer)),
        Err(pg_query::Error::Parse(message)) if is_too_deep(&message) => Err(too_complex()),
        Err(pg_query::Error::Parse(message)) => Ok(Err(message)),
        Err(pg_query::Error::InvalidJson(message)) if message.contains("recursion limit") => {
            Err(too_complex())
        }
        Err(other) => Err(SqlError::internal(other)),
    }
}

/// A type from its text; none if it is no type.
pub(crate) fn parse_type(text: &str) -> Option<Box<protobuf::TypeName>> {
    let tree = run_parser(&format!("SELECT NULL::{text}\n")).ok()?;
    let [raw] = <[protobuf::RawStmt; 1]>::try_from(tree.stmts).ok()?;
    let Some(NodeEnum::SelectStmt(select)) = raw.stmt?.node else {
        return None;
    };
    // Whatever follows a type in a SELECT is no part of it.
    let bare = protobuf::SelectStmt {
        target_list: select.target_list.clone(),
        limit_option: select.limit_option,
        op: select.op,
        ..Default::default()
    };
    if *select != bare {
        return None;
    }
    let [target] = <[protobuf::Node; 1]>::try_from(bare.target_list).ok()?;
    let Some(NodeEnum::ResTarget(target)) = target.node else {
        return None;
    };
    match target.val?.node? {
        NodeEnum::TypeCast(cast) if target.name.is_empty() => {
            let of_null = matches!(cast.arg?.node?, NodeEnum::AConst(_));
            cast.type_name
                .filter(|_| of_null)
                .filter(|name| !name.setof)
                .map(Box::new)
        }
        _ => None,
    }
}

/// A scalar expression from its text, as the catalogue keeps defaults and checks.
///
/// # Errors
/// `XX001` if it is none.
pub(crate) fn parse_expression(text: &str) -> SqlResult<protobuf::Node> {
    let damaged = || SqlError::new(SqlState::DATA_CORRUPTED, "stored expression is damaged");
    let tree = run_parser(&format!("SELECT {text}"));
    let tree = tree.map_err(|error| match error {
        pg_query::Error::Parse(message) if is_too_deep(&message) => too_complex(),
        _ => damaged(),
    })?;
    let statement = tree.stmts.into_iter().next().and_then(|raw| raw.stmt);
    let Some(NodeEnum::SelectStmt(select)) = statement.and_then(|node| node.node) else {
        return Err(damaged());
    };
    let target = select.target_list.into_iter().next();
    match target.and_then(|node| node.node) {
        Some(NodeEnum::ResTarget(target)) => target.val.map(|node| *node).ok_or_else(damaged),
        _ => Err(damaged()),
    }
}

/// The text of an expression, for the catalogue. It has been bound: see [`deparse`].
pub(crate) fn expression_text(node: &protobuf::Node) -> SqlResult<String> {
    let target = protobuf::ResTarget {
        val: Some(Box::new(node.clone())),
        ..Default::default()
    };
    let select = protobuf::SelectStmt {
        target_list: vec![wrap(NodeEnum::ResTarget(Box::new(target)))],
        limit_option: protobuf::LimitOption::Default as i32,
        op: protobuf::SetOperation::SetopNone as i32,
        ..Default::default()
    };
    let text = deparse(NodeEnum::SelectStmt(Box::new(select)))?;
    Ok(text.trim_start_matches("SELECT ").to_string())
}

/// The text of a statement, made from its tree, which has been planned: what the planner refuses, as a type's
/// modifier that is no constant, ends the process here in builds with the library's own checks.
pub(crate) fn deparse(node: NodeEnum) -> SqlResult<String> {
    let tree = protobuf::ParseResult {
        version: 0,
        stmts: vec![protobuf::RawStmt {
            stmt: Some(Box::new(wrap(node))),
            stmt_location: 0,
            stmt_len: 0,
        }],
    };
    let _one_at_a_time = one_at_a_time();
    match pg_query::deparse(&tree, pg_query::DeparseOptions::default()) {
        Err(pg_query::Error::Parse(message))
            if is_too_deep(&message) || message.contains(TOO_DEEP_TO_READ) =>
        {
            Err(too_complex())
        }
        text => text.map_err(SqlError::internal),
    }
}

pub(crate) fn wrap(node: NodeEnum) -> protobuf::Node {
    protobuf::Node { node: Some(node) }
}

/// The position in characters from 1 of a byte offset.
pub(crate) fn position(source: &str, offset: usize) -> u32 {
    let before = source.get(..offset).unwrap_or(source);
    u32::try_from(before.chars().count() + 1).unwrap_or(u32::MAX)
}

/// The parser's message as an error with its state and place.
fn translate(text: &str, message: &str) -> SqlError {
    if is_too_deep(message) {
        return too_complex();
    }
    let unsupported = [
        "not implemented",
        "not supported",
        "cannot include schema elements",
    ];
    let state = if unsupported.iter().any(|words| message.contains(words)) {
        SqlState::FEATURE_NOT_SUPPORTED
    } else if message.starts_with("frame ") {
        // "frame start cannot be UNBOUNDED FOLLOWING" and the like.
        SqlState::WINDOWING_ERROR
    } else if message.starts_with("role name ") {
        // "none" and "public".
        SqlState::RESERVED_NAME
    } else {
        SqlState::SYNTAX_ERROR
    };
    let error = SqlError::new(state, message);
    match find_place(text, message) {
        Some(offset) => error.at(position(text, offset)),
        None => error,
    }
}

/// Where an error is. The binding keeps the parser's message only, which quotes the token it
/// stopped at; if that token occurs several times, the first prefix of the text that fails at it
/// tells which one it was.
fn find_place(text: &str, message: &str) -> Option<usize> {
    if message.ends_with("at end of input") {
        return Some(text.len());
    }
    let (_, near) = message.split_once(" at or near \"")?;
    let near = near.strip_suffix('"')?;
    if !message.starts_with("syntax error") {
        return text.rfind(near);
    }
    let mut places = scan(text).ok()?;
    places.retain(|&(start, end)| text.get(start..end) == Some(near));
    let fails_at = |end: usize| match text.get(..end).map(run_parser) {
        Some(Err(pg_query::Error::Parse(message))) => !message.ends_with("at end of input"),
        _ => false,
    };
    let first = places.partition_point(|&(_, end)| !fails_at(end));
    places.get(first).or(places.last()).map(|&(start, _)| start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_error(text: &str, state: &str, message: &str, position: Option<u32>) {
        let error = parse(text).unwrap_err();
        assert_eq!(error.state.as_str(), state, "{text}: {error}");
        assert_eq!(error.message, message, "{text}");
        assert_eq!(error.position, position, "{text}");
    }

    #[test]
    fn syntax_errors_have_the_position_of_the_token() {
        check_error(
            "SELEC 1",
            "42601",
            "syntax error at or near \"SELEC\"",
            Some(1),
        );
        check_error(
            "SELECT 1 +",
            "42601",
            "syntax error at end of input",
            Some(11),
        );
        check_error(
            "SELECT a b c",
            "42601",
            "syntax error at or near \"c\"",
            Some(12),
        );
        check_error(
            "SELECT c, b c c",
            "42601",
            "syntax error at or near \"c\"",
            Some(15),
        );
        check_error(
            "SELECT 'äöü' 1",
            "42601",
            "syntax error at or near \"1\"",
            Some(14),
        );
        check_error(
            "SELECT 'abc",
            "42601",
            "unterminated quoted string at or near \"'abc\"",
            Some(8),
        );
    }

    #[test]
    fn deep_nesting_is_refused_and_long_lists_are_not() {
        for text in [
            format!("SELECT {}1{}", "(".repeat(20_000), ")".repeat(20_000)),
            format!("SELECT {}a", "- ".repeat(3_000)),
            format!("SELECT 1{}", " + 1".repeat(3_000)),
            format!("SELECT {}1{}", "(SELECT ".repeat(300), ")".repeat(300)),
            format!("SELECT 1{}", " + 1".repeat(100_000)),
            format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(20_000)),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(
                matches!(error.state.as_str(), "54001" | "42601"),
                "{}",
                error
            );
        }
        for text in [
            format!("SELECT {}a", "- ".repeat(2_400)),
            format!("SELECT 1{}", " + 1".repeat(2_400)),
            format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(2_400)),
            format!("SELECT {}1{}", "(SELECT ".repeat(90), ")".repeat(90)),
        ] {
            let tree = parse(&text).unwrap();
            // Whoever plans has taken room for copies; throwing a tree away needs none.
            let again = stack::for_planning(|| tree.clone());
            drop((tree, again));
        }
        let list = vec!["1"; 50_000].join(",");
        assert!(parse(&format!("SELECT a FROM t WHERE a IN ({list})")).is_ok());
    }

    #[test]
    fn statements_keep_their_own_text() {
        let parsed = parse(" SELECT 1 ; ;\n SELECT 2 -- end").unwrap();
        let texts: Vec<_> = parsed.iter().map(Parsed::text).collect();
        assert_eq!(texts, ["SELECT 1", "SELECT 2 -- end"]);
        assert!(parse(" ; -- nothing").unwrap().is_empty());
    }

    #[test]
    fn expressions_survive_their_text() {
        for text in [
            "a > 0 AND b <> 'x'",
            "nextval('t_id_seq'::regclass)",
            "(1 + 2) * 3",
        ] {
            let again = expression_text(&parse_expression(text).unwrap()).unwrap();
            assert_eq!(again, text);
        }
    }
}
