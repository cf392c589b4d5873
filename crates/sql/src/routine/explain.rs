//! EXPLAIN PROCEDURE, EXPLAIN FUNCTION and EXPLAIN CALL: statements of our own.
//!
//! Relies on: the parser for DROP, which names routines in the same way.  Promises: a text with these words is
//! read by PostgreSQL's grammar but for the word EXPLAIN, places in it stay; nothing of DROP is
//! left once it is read.  Does not: print (`quintet_analysis` does).
//!
//! ```text
//!   EXPLAIN PROCEDURE pay(int)     what came
//!   DROP    PROCEDURE pay(int)     what the grammar reads
//!
//!   EXPLAIN CALL pay(7)            what came
//!           CALL pay(7)            what the grammar reads
//! ```

use super::create::find;
use crate::command::{Command, Planned};
use crate::names::inner;
use crate::parse;
use crate::planner::{NOTHING_DYNAMIC, Planner};
use crate::utility::text_column;
use pg_query::NodeEnum;
use pg_query::protobuf::{DropBehavior, DropStmt, ObjectType, ObjectWithArgs};
use quintet_base::{SqlError, SqlResult, SqlState};

/// The routine that is to be explained, as it was named.
#[derive(Clone, Debug)]
pub(crate) struct Explained {
    object: ObjectWithArgs,
    procedure: bool,
}

const WORD: &str = "EXPLAIN";

/// Same length, and read by the grammar with what follows.
const INSTEAD: &str = "DROP   ";

/// Same length, and nothing.
const NOTHING: &str = "       ";

/// A text with our statements in it as the grammar reads it, and where the second word of each begins; `None` if
/// there are none.
pub(crate) fn readable(text: &str) -> Option<(String, Vec<usize>)> {
    // Most texts have not even the word, and the others mostly begin with it.
    if !may_have_word(text) {
        return None;
    }
    let mut tokens = parse::scan(text).ok()?;
    let is_comment = |word: &str| word.starts_with("--") || word.starts_with("/*");
    tokens.retain(|&(start, end)| text.get(start..end).is_some_and(|word| !is_comment(word)));
    let word = |at: usize| {
        tokens
            .get(at)
            .and_then(|&(start, end)| text.get(start..end))
    };
    let is = |at: usize, wanted: &str| word(at).is_some_and(|w| w.eq_ignore_ascii_case(wanted));
    let begins = |at: &usize| {
        let first = *at == 0 || is(*at - 1, ";");
        let ours = ["PROCEDURE", "FUNCTION", "CALL"];
        first && is(*at, WORD) && ours.iter().any(|next| is(*at + 1, next))
    };
    let places: Vec<usize> = (0..tokens.len()).filter(begins).collect();
    if places.is_empty() {
        return None;
    }
    let mut readable = text.to_string();
    let place = |at: usize| tokens[at].0;
    for &at in &places {
        let instead = match is(at + 1, "CALL") {
            true => NOTHING,
            false => INSTEAD,
        };
        readable.replace_range(place(at)..place(at) + WORD.len(), instead);
    }
    // The second word: spaces before a statement are not part of it.
    let second = places.into_iter().map(|at| place(at + 1));
    Some((readable, second.collect()))
}

fn may_have_word(text: &str) -> bool {
    let mut words = text.as_bytes().windows(WORD.len());
    words.any(|word| word.eq_ignore_ascii_case(WORD.as_bytes()))
}

impl Explained {
    /// What the grammar read.
    ///
    /// # Errors
    /// `42601` for what only DROP may say.
    pub fn new(statement: &DropStmt) -> SqlResult<Explained> {
        let plain = !statement.missing_ok && statement.behavior() != DropBehavior::DropCascade;
        match statement.objects.as_slice() {
            [object] if plain => match inner(object) {
                Some(NodeEnum::ObjectWithArgs(object)) => Ok(Explained {
                    object: object.clone(),
                    procedure: statement.remove_type() == ObjectType::ObjectProcedure,
                }),
                _ => Err(SqlError::internal("a routine without a name")),
            },
            _ => Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                "EXPLAIN PROCEDURE and EXPLAIN FUNCTION name one routine and nothing else",
            )),
        }
    }
}

/// Finds the routine.
///
/// # Errors
/// `42883`, `42725`, `42809` as of DROP; what its body says against the schema as it is.
pub(crate) fn plan_explain(planner: &Planner, explained: &Explained) -> SqlResult<Planned> {
    let what = match explained.procedure {
        true => "procedure",
        false => "function",
    };
    let id = find(planner, &explained.object, what, Some(explained.procedure))?;
    let catalog = planner.catalog();
    let stored = catalog
        .routine(id)
        .ok_or_else(|| SqlError::internal("a routine that was found is gone"))?;
    let program = stored.program_within(catalog, planner.path(), &NOTHING_DYNAMIC)?;
    Ok(Planned {
        columns: vec![text_column("QUERY PLAN")],
        ..planner.command(Command::ExplainRoutine(program), "EXPLAIN")
    })
}
