//! Which cursors of a body are its own affair, and which are portals of the session.
//!
//! Relies on: the tree and the words of the body.  Promises: a cursor that others could name, find open behind the routine's end or
//! find closed by something else than its CLOSE is a portal; a word that may be such a cursor's name is taken for one.
//! Does not: make either of them.
//!
//! A cursor is the routine's own if it has its query, goes to the next row only, is named nowhere but where cursors are, and each OPEN
//! of it is followed by its CLOSE in the same sequence, with nothing between them that leaves the sequence, ends a
//! transaction or takes an error. FOR opens and closes it by itself.

use super::tokens::Tokens;
use super::tree::{
    Block, FetchCount, OpenHow, Statement, StatementKind, Variable, VariableKind, VariableNumber,
};
use quintet_ir::dynamic::Direction;
use std::collections::BTreeSet;

/// What begins a statement about a cursor.
const ABOUT_CURSORS: &[&str] = &["open", "fetch", "move", "close"];

/// What precedes a statement.
const BEFORE_STATEMENT: &[&str] = &[";", "begin", "then", "else", "loop"];

/// The cursors with queries that are portals.
pub(crate) fn portals(
    tokens: &Tokens,
    variables: &[Variable],
    block: &Block,
) -> BTreeSet<VariableNumber> {
    let cursors = (0..variables.len()).map(VariableNumber);
    let is_portal = |cursor: &VariableNumber| {
        let variable = &variables[cursor.0];
        let named = || is_named(tokens, &variable.name);
        matches!(variable.kind, VariableKind::Cursor(_))
            && (named()
                || !keeps(&block.statements, *cursor, block.exception.is_some(), false)
                || handlers(block).any(|list| !keeps(list, *cursor, true, false)))
    };
    cursors.filter(is_portal).collect()
}

fn handlers(block: &Block) -> impl Iterator<Item = &[Statement]> {
    let handlers = block.exception.iter().flat_map(|it| &it.handlers);
    handlers.map(|handler| handler.statements.as_slice())
}

/// Whether a name stands where it could be the variable's value.
fn is_named(tokens: &Tokens, name: &str) -> bool {
    let mut begins = 0;
    let mut behind_into = false;
    for at in 0..tokens.len() {
        if at == 0 || tokens.is_any(at - 1, BEFORE_STATEMENT) {
            (begins, behind_into) = (at, false);
        }
        behind_into |= tokens.is(at, "into");
        if tokens.name(at).as_deref() != Some(name) || tokens.is(at + 1, ".") {
            continue;
        }
        let about_cursors = tokens.is_any(begins, ABOUT_CURSORS) && !behind_into;
        let is_argument = at > 0 && tokens.is_any(at - 1, &["(", ",", ":="]);
        let declared = tokens.is_any(at + 1, &["cursor", "scroll"])
            || (tokens.is(at + 1, "no") && tokens.is(at + 2, "scroll"));
        let current = at > 1 && tokens.is(at - 1, "of") && tokens.is(at - 2, "current");
        let looped = at > 2 && tokens.is(at - 1, "in") && tokens.is(at - 3, "for");
        if !((about_cursors && !is_argument) || declared || current || looped) {
            return true;
        }
    }
    false
}

/// Whether a sequence, and those inside it, leave a cursor as they found it.
fn keeps(list: &[Statement], cursor: VariableNumber, guarded: bool, looped: bool) -> bool {
    let mut rest = list.iter();
    while let Some(statement) = rest.next() {
        match &statement.kind {
            StatementKind::Open {
                cursor: opened,
                how: OpenHow::Bound(_),
                ..
            } if *opened == cursor => {
                if guarded || !closes(&mut rest, cursor) {
                    return false;
                }
            }
            StatementKind::Open { cursor: opened, .. } if *opened == cursor => return false,
            // Where it is closed without having been opened here, another sequence has.
            StatementKind::Close { cursor: closed, .. } if *closed == cursor => {
                if looped {
                    return false;
                }
            }
            kind => {
                if !is_next_only(kind, cursor) || (looped && is_about(kind, cursor)) {
                    return false;
                }
                let through =
                    matches!(kind, StatementKind::ForCursor { cursor: of, .. } if *of == cursor);
                let guarded = guarded
                    || matches!(kind, StatementKind::Block(block) if block.exception.is_some());
                let kept = |list: &[Statement]| keeps(list, cursor, guarded, looped || through);
                if !inner(kind).into_iter().all(kept) {
                    return false;
                }
            }
        }
    }
    true
}

/// Goes to the CLOSE of a cursor that has been opened; false if something else may end the sequence or the cursor before.
fn closes<'s>(rest: &mut impl Iterator<Item = &'s Statement>, cursor: VariableNumber) -> bool {
    for statement in rest {
        match &statement.kind {
            StatementKind::Close { cursor: closed, .. } if *closed == cursor => return true,
            kind => {
                let quiet = is_next_only(kind, cursor)
                    && !is_opening(kind, cursor)
                    && stays(std::slice::from_ref(statement), cursor, 0);
                if !quiet {
                    return false;
                }
            }
        }
    }
    false
}

fn is_opening(kind: &StatementKind, cursor: VariableNumber) -> bool {
    matches!(kind, StatementKind::Open { cursor: opened, .. } if *opened == cursor)
}

fn is_about(kind: &StatementKind, cursor: VariableNumber) -> bool {
    matches!(kind, StatementKind::Fetch { cursor: of, .. } if *of == cursor)
}

/// Whether statements go on behind themselves, inside of so many loops, and leave the cursor open.
fn stays(list: &[Statement], cursor: VariableNumber, loops: usize) -> bool {
    list.iter().all(|statement| {
        let kind = &statement.kind;
        let goes_on = match kind {
            StatementKind::Return(_)
            | StatementKind::Commit
            | StatementKind::Rollback
            | StatementKind::Call(_) => false,
            StatementKind::Exit { label, .. } | StatementKind::Continue { label, .. } => {
                label.is_none() && loops > 0
            }
            StatementKind::Close { cursor: closed, .. } => *closed != cursor,
            StatementKind::Open { cursor: opened, .. } => *opened != cursor,
            StatementKind::ForCursor { cursor: of, .. } => *of != cursor,
            StatementKind::Block(block) => block.exception.is_none(),
            kind => is_next_only(kind, cursor),
        };
        let loops = loops + usize::from(is_loop(kind));
        goes_on
            && inner(kind)
                .into_iter()
                .all(|list| stays(list, cursor, loops))
    })
}

fn is_next_only(kind: &StatementKind, cursor: VariableNumber) -> bool {
    match kind {
        StatementKind::Fetch {
            cursor: of,
            direction,
            count,
            target,
            ..
        } if *of == cursor => {
            *direction == Direction::Forward
                && matches!(count, FetchCount::Number(1))
                && target.is_some()
        }
        _ => true,
    }
}

fn is_loop(kind: &StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Loop { .. }
            | StatementKind::While { .. }
            | StatementKind::ForInteger { .. }
            | StatementKind::ForQuery { .. }
            | StatementKind::ForCursor { .. }
            | StatementKind::ForDynamic { .. }
            | StatementKind::ForEach { .. }
    )
}

/// The sequences inside a statement.
fn inner(kind: &StatementKind) -> Vec<&[Statement]> {
    match kind {
        StatementKind::Block(block) => {
            let own = std::iter::once(block.statements.as_slice());
            own.chain(handlers(block)).collect()
        }
        StatementKind::If {
            branches,
            otherwise,
        } => {
            let branches = branches.iter().map(|branch| branch.statements.as_slice());
            branches.chain([otherwise.as_slice()]).collect()
        }
        StatementKind::Case {
            arms, otherwise, ..
        } => {
            let arms = arms.iter().map(|arm| arm.statements.as_slice());
            arms.chain(otherwise.as_deref()).collect()
        }
        StatementKind::Loop { body, .. }
        | StatementKind::While { body, .. }
        | StatementKind::ForInteger { body, .. }
        | StatementKind::ForQuery { body, .. }
        | StatementKind::ForCursor { body, .. }
        | StatementKind::ForDynamic { body, .. }
        | StatementKind::ForEach { body, .. } => vec![body.as_slice()],
        _ => Vec::new(),
    }
}
